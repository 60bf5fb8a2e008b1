"""A tool's guard by its policy items: which rules and sentences make up each, and how well each is kept.

ToolGuard (Sec. 3.2) has one function a policy item, and the tool's guard is their conjunction.  Here the tool's guard
is one function, whose contract states each item's rules: what is proved of the whole is proved of each item.  Where the
whole is not accepted, each item gets a function of its own (`alone`, judged by `toolguard.item_by_item`), and those
that are accepted, all of them, are put together again (`conjunction`).

An item of which a sentence is open is a *stub*, whatever its other rules are worth; one without accepted code is an
*error*.  Neither lets a call through.  What `rules.items` maps is for people, so that not every sentence that bears on
a tool stands there: one that does not is an item of its own.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from wb.domain.trace import GRADES, Grade
from wb.guards import sandbox
from wb.guards.contract import Contract

if TYPE_CHECKING:
    from wb.rules.items import Item
    from wb.rules.sentences import Account

WORDS = {"proved": "proved", "bounded": "bounded", "tested": "tested", "stub": "open", "error": "error"}
UNJUDGED = "nothing was judged of it yet"
NAMED = 2  # items that are named where they are counted


@dataclass(frozen=True, slots=True)
class Part:
    """One policy item of one tool's guard: its sentences word for word, the ids of its rules and of its open sentences,
    and how well it is kept.

    `stub` is the grade of an item with an open sentence, and of no other; `reason` says why it is not better.
    """

    name: str
    sentences: tuple[str, ...]
    rules: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    grade: Grade = "error"
    reason: str = UNJUDGED

    def __post_init__(self) -> None:
        if self.grade not in GRADES or (self.grade == "stub") is not bool(self.open):
            raise ValueError(f"the grade stub was required of items with open sentences alone; got {self!r}")
        if not self.rules and not self.open:
            raise ValueError(f"an item with a rule or an open sentence was required; got {self!r}")


def parts(required: Contract, mapped: Iterable[Item], readings: Sequence[Account]) -> tuple[Part, ...]:
    """The items of a tool's guard in the order of the document, not judged yet; each rule and open sentence is in one.

    A rule that no sentence is known of is an item by itself, which comes last.
    """
    items = [item for item in mapped if item.tool == required.tool]
    texts = {item.rule: item.text for item in required.items}
    groups: dict[object, list[Account]] = {}
    for reading in readings:
        if (reading.cls == "open" and required.tool in reading.tools) or texts.keys() & reading.rules:
            at = reading.start
            within = (i for i, one in enumerate(items) if any(r.start <= at < r.end for r in one.references))
            item = next(within, None)
            groups.setdefault(reading.id if item is None else item, []).append(reading)
    found = [_part(items[k].name if isinstance(k, int) else "", group, texts) for k, group in groups.items()]
    known = {rule for part in found for rule in part.rules}
    return (*found, *(Part(_name(text), (text,), (rule,)) for rule, text in texts.items() if rule not in known))


def _part(name: str, group: Sequence[Account], texts: Mapping[str, str]) -> Part:
    named = {rule for one in group for rule in one.rules}
    waiting = [one for one in group if one.cls == "open"]
    said = tuple(" ".join(one.text.split()) for one in group)
    why = f"open: {'; '.join(dict.fromkeys(one.reason for one in waiting))}" if waiting else UNJUDGED
    rules, open_ = tuple(rule for rule in texts if rule in named), tuple(one.id for one in waiting)
    return Part(name or _name(said[0]), said, rules, open_, "stub" if waiting else "error", why)


def _name(text: str) -> str:
    """What an item is called that nobody named: its first words."""
    return " ".join(re.findall(r"[\w'$%-]+", text)[:8]) or "without a word"


def alone(required: Contract, rules: Iterable[str]) -> Contract:
    """The contract of these rules alone, of the parameters that they read."""
    wanted = set(rules)
    items = tuple(item for item in required.items if item.rule in wanted)
    read = {node.id for item in items for node in ast.walk(sandbox.parse(item.condition)) if isinstance(node, ast.Name)}
    return Contract(required.tool, tuple(p for p in required.parameters if p.name in read), items)


def conjunction(required: Contract, sources: Sequence[str]) -> str:
    """One function that allows what all of them allow, and says of the first that denies why.

    Each source is a guard of some rules of the contract.  Where one allows, the next one is asked: it stands there.

    Raises:
        UnsafeSource: a source is no guard, or they are too large together.
    """
    text = f"{required.signature}\n    return (True, 'allowed')\n"
    for source in reversed(sources):
        function, rest = sandbox.check(source), sandbox.check(text)
        allowing = sum(isinstance(node, ast.Return) and not _denies(node) for node in ast.walk(function))
        if allowing * sum(1 for _ in ast.walk(rest)) > sandbox.LARGEST:
            raise sandbox.UnsafeSource(f"at most {sandbox.LARGEST} nodes of syntax were required; got more together")
        rest.body = _then(function.body, rest.body)
        text = sandbox.text(rest)
    sandbox.check(text)
    return text


def _denies(node: ast.Return) -> bool:
    """Whether an answer is a denial whatever the arguments are."""
    match node.value:
        case ast.Tuple([ast.Constant(False), _]):
            return True
    return False


def _then(body: Sequence[ast.stmt], rest: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The statements, going on with the rest wherever they allow."""
    found: list[ast.stmt] = []
    for statement in body:
        match statement:
            case ast.If(test, inner, orelse):
                found.append(ast.If(test, _then(inner, rest), _then(orelse, rest)))
            case ast.Return(ast.Tuple([ast.Constant(True), _])):
                found += rest
            case ast.Return(ast.Tuple([decision, reason])) if not _denies(statement):
                denied = ast.Return(ast.Tuple([ast.Constant(False), reason], ast.Load()))
                found += [ast.If(ast.UnaryOp(ast.Not(), decision), [denied], []), *rest]
            case _:
                found.append(statement)
    return found


def under(found: Iterable[Part], grade: str, reason: str = "") -> tuple[Part, ...]:
    """The items of a guard of that grade: each is worth as much as the whole, or more where it was judged so apart."""
    return tuple(_under(one, grade, reason) for one in found)


def _under(one: Part, grade: str, reason: str) -> Part:
    if one.open or grade not in GRADES:
        return one
    if GRADES.index(one.grade) > GRADES.index(grade) or (one.grade == grade and one.reason != UNJUDGED):
        return one
    return replace(one, grade=grade, reason="" if grade == "proved" else reason)


def at_most(found: Iterable[Part], grade: Grade, reason: str) -> tuple[Part, ...]:
    """The items, none of them worth more than that grade."""
    most = GRADES.index(grade)
    return tuple(
        one if one.open or GRADES.index(one.grade) <= most else replace(one, grade=grade, reason=reason)
        for one in found
    )


def failed(found: Iterable[Part], accepted: Iterable[str]) -> tuple[Part, ...]:
    """The items with rules whose code is not of an accepted grade."""
    known = frozenset(accepted)
    return tuple(one for one in found if one.rules and not one.open and one.grade not in known)


def said(found: Iterable[Part]) -> str:
    """What may be said of items, such as "3 items proved, 1 open (item: Read it back)"; empty for none."""
    rows = tuple(found)
    best = max((GRADES.index(one.grade) for one in rows if one.grade != "stub"), default=0)
    words = []
    for grade in sorted({one.grade for one in rows}, key=GRADES.index, reverse=True):
        names = [one.name for one in rows if one.grade == grade]
        items = "" if words else f"item{'s' * (len(names) != 1)} "
        count = f"{len(names)} {items}{WORDS[grade]}"
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        worse = grade in ("stub", "error") or GRADES.index(grade) < best
        words.append(f"{count} (item: {'; '.join(names[:NAMED])}{more})" if worse else count)
    return ", ".join(words)


def counted(found: Iterable[Part]) -> dict[str, int]:
    """How many items are of each grade, those of none left out, best first."""
    kinds = Counter(one.grade for one in found)
    return {f"items {WORDS[grade]}": kinds[grade] for grade in reversed(GRADES) if kinds[grade]}


def to_json(found: Iterable[Part]) -> list[dict[str, object]]:
    """Items as JSON values, a row each."""
    return [{k: list(v) if isinstance(v, tuple) else v for k, v in asdict(one).items()} for one in found]


def from_json(rows: Iterable[Mapping[str, object]]) -> tuple[Part, ...]:
    """Items from what `to_json` gave; `ValueError`, `TypeError` or `AttributeError` where rows are not of that form."""
    return tuple(Part(**{k: tuple(v) if isinstance(v, list) else v for k, v in row.items()}) for row in rows)
