"""What a sentence asks of several facts together, put together from its parts and compared with its rules by truth.

A sentence is cut at its one condition or exception, each fact is placed in the part whose words it has, with the
negations of its own clause, and the parts are joined as the sentence's force says:

    A only if C, not A unless C:   NOT M OR C          not A if C:    NOT (M AND C)
    if C, it must be D:            NOT C OR D          D must be so unless C:  D OR C

where M are the facts that narrow what the act is done to.  What cannot be put together so stays open.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations

from wb.domain.tools import Toolbox
from wb.logic import formula as F
from wb.logic import semantics
from wb.logic.formula import Formula
from wb.rules import called, operators, shapes, signs
from wb.rules.rule import Predicate, Rule

_ONLY_IF = re.compile(
    r"\bonly (?:if|when|where|after|once)\b|\bonly (?:be )?(?:[a-z]+ ){1,5}?(?:if|when|where|after|once)\b|"
    r"\bprovided that\b|\brequires? that\b",
    re.I,
)
_UNLESS = re.compile(r"\b(?:unless|except (?:if|when|where))\b", re.I)
_IF = re.compile(r"\b(?:if|when|where)\b", re.I)
_ONLY_WHO = re.compile(r"\A\W*only (?P<who>[^,;]+?) (?:may|can)\b(?P<rest>[^,;]*)\Z", re.I)
_ONLY_TO = re.compile(r"\bonly (?:to|for|with|by|from|in|on|at)\b", re.I)
_BANS = re.compile(r",? and (?=(?:do not|don't|never|must not)\b)", re.I)
_BANNED = re.compile(
    r"\A\W*(?:[a-z]+ ){0,3}?(?:do not|don't|never|must never|must not|may not|should not|cannot|can not|shall not)\b",
    re.I,
)
_DEMANDS = re.compile(r"\b(?:must|shall|should|needs? to|ha(?:s|ve) to)\b", re.I)
_PARTS = re.compile(r",? (?:and|or|but)\b|,(?!\d)", re.I)
_SIDE_BY_SIDE = re.compile(r",(?!\d)|[/&+|–—]|\s-\s|\b(?:plus|then|also)\b", re.I)  # joined, and nobody says how
_OTHER = re.compile(
    r"\b(?:without|except|only|neither|nor|either|both|until|before|whether|than one|as long as|so long as|whenever|"
    r"once|while|provided|given that|in case|after|since|because|not (?:so|true|the case)|"
    r"it (?:is|was|can|could|may|must)\b[^,]*\bthat)\b|[;:()]",
    re.I,
)
_MODAL = re.compile(r"\b(?:must|shall|should|may|can|cannot|needs?|ha(?:s|ve) to|is to|are to)\b", re.I)
_BANS_IT = re.compile(
    r"\b(?:do not|don't|never|must never|must not|mustn't|may not|should not|cannot|can not|can't|shall not|"
    r"(?:is|are) not (?:to|allowed|permitted)|no [a-z]+ (?:may|can|must|shall))\b|\A\W*(?:no|never)\b",
    re.I,
)
_UNSURE = ("what it asks of several facts could not be held against its sentence",)
_WRONG = ("what it asks of several facts is not what its sentence makes of them",)
_MOST = 5  # facts of one sentence
Truth = Callable[[frozenset[str]], bool]  # of a world, the facts that are so in it


class _Unsure(ValueError):
    """What a sentence makes of its facts cannot be told."""


def together(said: str, rules: Sequence[Rule], used: Sequence[Predicate], toolbox: Toolbox) -> tuple[str, ...]:
    """Why rules that ask several facts of an act are not what a sentence says; empty if they are, or ask one alone."""
    known = {p.name: p for p in used}
    acts = {name for name, p in known.items() if p.kind == "action"}
    for act in acts:
        asked = [one for rule in rules if (one := _asked(rule.formula, act)) is not None]
        atoms = list(dict.fromkeys(name for one in asked for name in _atoms(one)))
        if len(atoms) < 2:
            continue
        if len(atoms) > _MOST or not all(map(_plainly, asked)):
            return _UNSURE
        try:
            meant = _meant(said, [known[name] for name in atoms], toolbox)
        except _Unsure:
            return _UNSURE
        for size in range(len(atoms) + 1):
            for world in map(frozenset, combinations(atoms, size)):  # of one step, in which what was once is so now
                if all(semantics.holds(one, (world,)) for one in asked) is not meant(world):
                    return _WRONG
    return ()


def _asked(formula: Formula, act: str) -> Formula | None:
    """What a rule asks of its act, over facts alone; None of a rule of another act or form."""
    match formula:
        case F.Always(F.Implies(left, right)):
            given = tuple(one for one in shapes.conjuncts(left) if one != F.Atom(act))
            here = F.Atom(act) in shapes.conjuncts(left)
            return (F.Implies(F.conjunction(given), right) if given else right) if here else None
        case F.Always(F.Not(body)) if F.Atom(act) in shapes.conjuncts(body):
            given = tuple(one for one in shapes.conjuncts(body) if one != F.Atom(act))
            return F.Not(F.conjunction(given)) if given else None
    return None


def _atoms(formula: Formula) -> Iterator[str]:
    for node in F.subformulas(formula):
        if isinstance(node, F.Atom):
            yield node.name


def _plainly(formula: Formula) -> bool:
    """Whether a formula joins what is so now, or was done once."""
    match formula:
        case F.Atom() | F.Once(F.Atom()):
            return True
        case F.Not() | F.And() | F.Or() | F.Implies():
            return all(map(_plainly, F.children(formula)))
    return False


def _meant(said: str, facts_of: Sequence[Predicate], toolbox: Toolbox) -> Truth:
    """What a sentence asks of these facts."""
    text = said.rstrip(" .")
    if only := _ONLY_WHO.match(text):
        if _IF.search(text) or _UNLESS.search(text) or operators.NEGATION.search(text):
            raise _Unsure
        who, rest = _placed(only["who"], only["rest"], facts_of, toolbox)
        if not rest or not who:
            raise _Unsure
        narrow = _joined(only["rest"], rest, toolbox, narrow=True)
        return _either(_turned(narrow), _joined(only["who"], who, toolbox, narrow=True))
    if not any(marker.search(text) for marker in (_ONLY_IF, _UNLESS, _IF)):
        return _plain(text, facts_of, toolbox)
    kind, main, side = _cut(text)
    if _OTHER.search(side) or _OTHER.search(main) or _MODAL.search(side):
        raise _Unsure
    here, there = _placed(main, side, facts_of, toolbox)
    if not there:
        raise _Unsure
    condition = _joined(side, there, toolbox)
    banned = len(operators.NEGATION.findall(main))
    if banned > 1 or bool(banned) != bool(_BANS_IT.search(main)) or (kind == "only" and _DEMANDS.search(main)):
        raise _Unsure
    narrow = _joined(operators.NEGATION.sub(" ", main), here, toolbox, narrow=True) if here else None
    if kind == "only" and not banned:
        return _either(_turned(narrow), condition) if narrow else condition
    if kind == "unless" and banned:
        return _either(_turned(narrow), condition) if narrow else condition
    if kind == "unless" and narrow and _DEMANDS.search(main):
        return _either(narrow, condition)
    if kind == "if" and banned:
        return _turned(_both(narrow, condition) if narrow else condition)
    if kind == "if" and narrow and _DEMANDS.search(main):
        return _either(_turned(condition), narrow)
    raise _Unsure


def _plain(text: str, facts_of: Sequence[Predicate], toolbox: Toolbox) -> Truth:
    """What a sentence without a condition asks: bans side by side, each of all that narrows it, or one thing alone that
    something may be done to."""
    only = _ONLY_TO.search(text)
    if only and not operators.NEGATION.search(text):
        here, there = _placed(text[: only.start()], text[only.end() :], facts_of, toolbox)
        if not there or _OTHER.search(text[only.end() :]):
            raise _Unsure
        asked = _joined(text[only.end() :], there, toolbox, narrow=True)
        narrow = _joined(text[: only.start()], here, toolbox, narrow=True) if here else None
        return _either(_turned(narrow), asked) if narrow else asked
    bans = _BANS.split(text)
    if _OTHER.search(text) or not all(_BANNED.match(ban) for ban in bans):
        raise _Unsure
    mine: dict[str, list[Predicate]] = {ban: [] for ban in bans}
    for p in facts_of:
        mine[_clause(bans, p, facts_of, toolbox)].append(p)
    if not all(mine.values()):
        raise _Unsure
    asked = [
        _turned(_joined(_BANNED.sub(" ", ban, count=1), found, toolbox, narrow=True)) for ban, found in mine.items()
    ]
    return lambda world: all(one(world) for one in asked)


def _cut(text: str) -> tuple[str, str, str]:
    """How the one condition or exception of a sentence works, the rest, and the condition."""
    only = list(_ONLY_IF.finditer(text))
    bare = _ONLY_IF.sub(" ", text)
    unless = list(_UNLESS.finditer(text))
    if len(only) + len(unless) + (0 if unless else len(_IF.findall(bare))) != 1:
        raise _Unsure
    if only:
        kind, at = "only", only[0]
    elif unless:
        kind, at = "unless", unless[0]
    else:
        kind, at = "if", next(_IF.finditer(text))
    if at.start() > 0 and text[: at.start()].strip(" ,"):
        return kind, f"{text[: at.start()]}", text[at.end() :]
    side, comma, main = text[at.end() :].partition(",")
    if not comma or kind == "only":
        raise _Unsure
    return kind, main, side


def _placed(
    main: str, side: str, facts_of: Sequence[Predicate], toolbox: Toolbox
) -> tuple[list[Predicate], list[Predicate]]:
    """The facts that the rest of a sentence speaks of, and those of its condition."""
    here, there = [], []
    for p in facts_of:
        fact = next((fact for _, fact in shapes.leaves(p.test, True)), None)
        where = signs.standing(p, fact, main, side, toolbox, facts_of)
        if where is None:
            raise _Unsure
        (here if where is main else there).append(p)
    return here, there


def _joined(text: str, facts_of: Sequence[Predicate], toolbox: Toolbox, *, narrow: bool = False) -> Truth:
    """What a part of a sentence says of its facts, each with the sign of its own clause, joined as the part joins them;
    what narrows a thing twice does so with both."""
    ors, ands = re.search(r"\bor\b", text, re.I), re.search(r"\b(?:and|but)\b", text, re.I)
    if ors and ands:
        raise _Unsure
    if ors and len(facts_of) < 2:
        raise _Unsure
    said = [_said(text, p, facts_of, toolbox) for p in facts_of]
    if len(said) < 2:
        return said[0]
    if not ors and not ands and (not narrow or _SIDE_BY_SIDE.search(text)):
        raise _Unsure
    return (lambda world: any(one(world) for one in said)) if ors else (lambda world: all(one(world) for one in said))


def _said(text: str, p: Predicate, beside: Sequence[Predicate], toolbox: Toolbox) -> Truth:
    """One fact as the clause that speaks of it says it."""
    clauses = [part for part in _PARTS.split(text) if part.strip()]
    leaves = list(shapes.leaves(p.test, True))
    if len(leaves) != 1:
        raise _Unsure
    asked, fact = leaves[0]
    limit, clause = shapes.number(fact), _clause(clauses, p, beside, toolbox)
    if len(beside) > len(clauses) and operators.NEGATION.search(clause):
        raise _Unsure
    odd = bool(len(operators.NEGATION.findall(clause)) % 2)
    if limit is not None:
        told = signs.compared(clause, limit[1])
        if len(told) != 1:
            raise _Unsure
        (op,) = told
        if limit[0] not in (op, signs.TURNED[op]):
            raise _Unsure
        positive = (limit[0] == op) == asked
    elif p.kind == "action" or shapes.truth(fact):
        positive = p.kind == "action" or asked == shapes.affirms(fact)
    else:
        raise _Unsure
    name, positive = p.name, positive != odd
    return lambda world: (name in world) is positive


def _clause(clauses: Sequence[str], p: Predicate, beside: Sequence[Predicate], toolbox: Toolbox) -> str:
    """The one clause that has the number of a fact, or most of its words."""
    fact = next((fact for _, fact in shapes.leaves(p.test, True)), None)
    limit = shapes.number(fact)
    if limit is not None:
        has = [clause for clause in clauses if limit[1] in operators.spoken(clause)]
        found = has[0] if len(has) == 1 else None
    else:
        found = next((c for mine in called.telling(p, beside, toolbox) if (c := _most(clauses, mine))), None)
    if found is None:
        raise _Unsure
    return found


def _most(clauses: Iterable[str], own: frozenset[str]) -> str | None:
    """The one clause that has most of the words; None where none has, or two have as many."""
    counted = sorted(((len(own & called.stems(clause)), clause) for clause in clauses), reverse=True)
    if not counted or not counted[0][0] or (len(counted) > 1 and counted[1][0] == counted[0][0]):
        return None
    return counted[0][1]


def _either(one: Truth, other: Truth) -> Truth:
    return lambda world: one(world) or other(world)


def _both(one: Truth, other: Truth) -> Truth:
    return lambda world: one(world) and other(world)


def _turned(one: Truth) -> Truth:
    return lambda world: not one(world)
