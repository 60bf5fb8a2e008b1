"""What another version of a policy changes: its sentences, the rules and guards that follow, and recorded calls.

A sentence is the same where its words and what it is read with are (`Account.id`).  What is left of both documents is
paired by equal words, then by similar ones, in a block of the document that changed.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from wb.bench.recorded import Judged
from wb.guards.runtime import CallGuard
from wb.logic import cel
from wb.logic.syntax import render
from wb.rules.rule import Rule, RuleSet
from wb.rules.sentences import Account

What = Literal["new", "gone", "changed", "in another place", "read otherwise"]
Rows = tuple[tuple[str, ...], ...]
LIKE = 0.6  # of the characters in common, from which on two sentences are versions of one
PAIRS = 40_000  # of sentences that are compared with each other
SHOWN = 100  # characters of a sentence in a table


@dataclass(frozen=True, slots=True)
class Side:
    """What a run read of one version: the class of each sentence, and the rules."""

    sentences: Sequence[Account]
    rules: RuleSet

    def of(self, account: Account | None) -> tuple[str, ...]:
        """The rules of a sentence as text."""
        heirs = {parent: rule for rule in self.rules.rules for parent in (*rule.parents, rule.id)}
        found = [heirs[name] for name in (account.rules if account is not None else ()) if name in heirs]
        return tuple(dict.fromkeys(said(rule, self.rules) for rule in found))


@dataclass(frozen=True, slots=True)
class Change:
    """One sentence that is not as it was; `before` and `after` are its rules as text."""

    what: What
    old: Account | None
    new: Account | None
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


class Followed(NamedTuple):
    """What became of one tool's guard: what may be claimed of it, and the sentences whose rules bear on it in one
    version alone."""

    tool: str
    before: str
    after: str
    gone: tuple[str, ...]
    new: tuple[str, ...]


class Otherwise(NamedTuple):
    """One recorded call that the two versions decide differently."""

    old: Judged
    new: Judged


def said(rule: Rule, ruleset: RuleSet) -> str:
    """A rule as text, its predicates' tests with it."""
    tests = [(p.name, p.test) for p in map(ruleset.predicate, rule.predicates) if p.test is not None]
    where = "; ".join(f"{name}: {cel.render(test)}" for name, test in tests)
    return render(rule.formula) + (f" where {where}" if where else "")


def sentences(old: Side, new: Side) -> tuple[Change, ...]:
    """The sentences that are not as they were, in the order of the new document, those that are gone last."""
    before = {account.id: account for account in old.sentences}
    kept = {account.id for account in new.sentences} & before.keys()
    gone = [account for account in old.sentences if account.id not in kept]
    came = [account for account in new.sentences if account.id not in kept]
    was = {one.id: before[one.id] for one in new.sentences if one.id in kept} | _pairs(gone, came)
    found: list[Change] = []
    for account in new.sentences:
        earlier = was.get(account.id)
        rules = old.of(earlier), new.of(account)
        same = earlier is not None and earlier.cls == account.cls and rules[0] == rules[1]
        if earlier is None:
            what: What = "new"
        elif earlier.text != account.text:
            what = "changed"
        elif not same:
            what = "read otherwise"
        elif account.id not in kept:
            what = "in another place"
        else:
            continue
        found.append(Change(what, earlier, account, *rules))
    paired = {account.id for account in was.values()}
    return (*found, *(Change("gone", one, None, old.of(one)) for one in gone if one.id not in paired))


def _pairs(gone: Sequence[Account], came: Sequence[Account]) -> dict[str, Account]:
    """By id of a sentence that came: the one that it is a version of."""
    found: dict[str, Account] = {}
    left: list[tuple[Sequence[Account], Sequence[Account]]] = []
    match = difflib.SequenceMatcher(None, [one.text for one in gone], [one.text for one in came], autojunk=False)
    for what, i, j, k, m in match.get_opcodes():
        if what == "equal":
            found |= {new.id: old for old, new in zip(gone[i:j], came[k:m], strict=True)}
        elif what == "replace":
            left.append((gone[i:j], came[k:m]))
    for some, others in left:
        for ratio, new, old in sorted(_alike(some, others), key=lambda row: -row[0]):
            if ratio >= LIKE and new.id not in found and old not in found.values():
                found[new.id] = old
    return found


def _alike(gone: Sequence[Account], came: Sequence[Account]) -> Iterator[tuple[float, Account, Account]]:
    """How alike sentences of a block are; of a large one those alone that stand at the same place of it."""
    wide = len(gone) * len(came) <= PAIRS
    for i, new in enumerate(came):
        match = difflib.SequenceMatcher(None, b=new.text, autojunk=False)
        for old in gone if wide else gone[i : i + 1]:
            match.set_seq1(old.text)
            if match.quick_ratio() >= LIKE:
                yield match.ratio(), new, old


def guards(old: CallGuard, new: CallGuard) -> tuple[Followed, ...]:
    """The tools whose guard or claim is not what it was, by name."""
    found = []
    before, after, was, now = old.claims(), new.claims(), _bearing(old), _bearing(new)
    for tool in sorted({*before, *after}):
        mine, yours = was.get(tool, {}), now.get(tool, {})
        gone, came = (tuple(a[key] for key in a if key not in b) for a, b in ((mine, yours), (yours, mine)))
        row = Followed(tool, before.get(tool, "no such tool"), after.get(tool, "no such tool"), gone, came)
        if row.before != row.after or gone or came:
            found.append(row)
    return tuple(found)


def _bearing(guard: CallGuard) -> dict[str, dict[str, str]]:
    """By tool: the sentences that bear on it, by what their rules say of it; open ones by their words."""
    found: dict[str, dict[str, str]] = {}
    rules = {rule.id: rule for rule in guard.ruleset.rules}
    for tool, one in guard.loaded.items():
        items = one.entry.contract.items
        found[tool] = {said(rules[item.rule], guard.ruleset): one.quotes[item.rule] for item in items}
        found[tool] |= {f"open: {each.text}": f"{each.text} (open)" for each in guard.open.get(tool, ())}
    return found


def calls(old: Iterable[Judged], new: Iterable[Judged]) -> tuple[Otherwise, ...]:
    """The calls of the same recording that are decided otherwise, those that are allowed now first."""
    before = {judged.id: judged for judged in old}
    found = [
        Otherwise(before[judged.id], judged)
        for judged in new
        if judged.id in before and before[judged.id].verdict.decision != judged.verdict.decision
    ]
    return tuple(sorted(found, key=lambda row: row.new.verdict.decision != "allow"))


def tables(
    changes: Sequence[Change], followed: Sequence[Followed], otherwise: Sequence[Otherwise] = ()
) -> tuple[tuple[str, Rows], ...]:
    """What changed, as tables with titles; none where nothing did."""
    found: list[tuple[str, Rows]] = []
    if changes:
        head = ("sentence", "what", "was", "is", "text")
        rows = [_row(change) for change in changes]
        found.append((f"{len(changes)} {_many(changes, 'sentence')} not as before", (head, *rows)))
    rules = [(f"{sign} {rule}",) for c in changes for sign, rule in _changed(c)]
    if rules:
        found.append(("Rules that went (-) and came (+)", (("rule",), *dict.fromkeys(rules))))
    if followed:
        head = ("tool", "was", "is", "sentences that no longer bear on it", "sentences that do now")
        rows = [(f.tool, f.before, f.after, _short("; ".join(f.gone)), _short("; ".join(f.new))) for f in followed]
        found.append((f"{len(followed)} {_many(followed, 'guard')} not as before", (head, *rows)))
    if otherwise:
        head = ("call", "tool", "was", "is", "label", "reason")
        rows = [
            (o.new.id, o.new.tool, o.old.verdict.decision, o.new.verdict.decision, o.new.label or "", _reason(o))
            for o in otherwise
        ]
        found.append((f"{len(otherwise)} {_many(otherwise, 'call')} decided otherwise", (head, *rows)))
    return tuple(found)


def to_json(
    changes: Sequence[Change], followed: Sequence[Followed], otherwise: Sequence[Otherwise] = ()
) -> Mapping[str, object]:
    """The same as JSON values."""
    return {
        "sentences": [
            {
                "what": c.what,
                **{
                    side: None if one is None else {"id": one.id, "text": one.text, "class": one.cls, "rules": rules}
                    for side, one, rules in (("old", c.old, c.before), ("new", c.new, c.after))
                },
            }
            for c in changes
        ],
        "guards": [row._asdict() for row in followed],
        "calls": [
            {"run": o.new.run, "index": o.new.index, "tool": o.new.tool, "label": o.new.label}
            | {side: {"decision": j.verdict.decision, "reason": j.verdict.reason} for side, j in o._asdict().items()}
            for o in otherwise
        ],
    }


def _row(change: Change) -> tuple[str, ...]:
    old, new = change.old, change.new
    one = new or old
    return (one.id, change.what, old.cls if old else "", new.cls if new else "", _short(one.text))


def _changed(change: Change) -> Iterator[tuple[str, str]]:
    for sign, mine, other in (("-", change.before, change.after), ("+", change.after, change.before)):
        yield from ((sign, rule) for rule in mine if rule not in other)


def _reason(row: Otherwise) -> str:
    return _short(row.new.verdict.reason)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


def _many(rows: Sequence[object], what: str) -> str:
    return f"{what}{'s' * (len(rows) != 1)}"
