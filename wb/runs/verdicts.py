"""What guards say of recorded calls (`wb judge`), and what another version of a policy changes (`wb diff`): sentences,
the rules and guards that follow, and recorded calls; as JSON and as tables for a terminal.

A sentence is the same where its words and what it is read with are (`Account.id`).  What is left of both documents is
paired by equal words, then by similar ones, in a block of the document that changed.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from wb.bench import evaluate
from wb.bench.recorded import Judged
from wb.domain import events
from wb.domain.events import Label
from wb.domain.judging import Judge
from wb.domain.tools import Toolbox
from wb.guards import contract, synthesis
from wb.guards.runtime import CallGuard, Guarded
from wb.logic import cel
from wb.logic.syntax import render
from wb.logic.wording import shortened
from wb.rules.rule import Rule, RuleSet
from wb.rules.rule import toolbox as with_questions
from wb.rules.sentences import Account, open_on
from wb.runs.cards import Table, count, listed

SHOWN = 100  # characters of a sentence in a table
MOST = 8  # reasons of a kind
LIKE = 0.6  # of the characters in common, from which on two sentences are versions of one
PAIRS = 40_000  # of sentences that are compared with each other
LABELS = {"deny": ("violating", "deny", "allow"), "allow": ("compliant", "allow", "deny")}  # called; right, wrong
DECISIONS = {"allow": "allowed", "deny": "denied", "undecided": "undecided"}
Denied = tuple[str, Label | None]  # a tool and a label
What = Literal["new", "gone", "changed", "in another place", "read otherwise"]


def row(judged: Judged, quotes: Mapping[str, str], sentences: Mapping[str, str]) -> dict[str, object]:
    """One call as a JSON object; `quotes` are the sentences of rules by rule, `sentences` texts by sentence."""
    verdict = judged.verdict
    own = dict(zip(verdict.violated, verdict.quotes, strict=False))
    return {
        "run": judged.run,
        "index": judged.index,
        "tool": judged.tool,
        "decision": verdict.decision,
        "violated": [{"rule": rule, "quote": quotes.get(rule) or own.get(rule, "")} for rule in verdict.violated],
        "missing": list(verdict.missing),
        "open": [{"sentence": name, "text": sentences.get(name, "")} for name in verdict.open],
        "grade": verdict.grade,
        "reason": verdict.reason,
        **({"answers": [events.to_json(one) for one in judged.answers]} if judged.answers else {}),
        **({"queries": judged.queries} if judged.queries else {}),
        **({"seconds": round(judged.seconds, 6)} if judged.seconds is not None else {}),
        **({"label": judged.label} if judged.label is not None else {}),
    }


def headline(judged: Iterable[Judged], policy: str) -> str:
    """The first line: the policy, how many calls are undecided, and how those of each label came out."""
    return f"{policy}: {words(tally(judged))}"


def tables(
    judged: Iterable[Judged], quotes: Mapping[str, str], sentences: Mapping[str, str], policy: str = ""
) -> tuple[Table, ...]:
    """The decisions by tool, beside the labels where there are any, and what they rest on; the first table names the
    policy."""
    judged = tuple(judged)
    stopped = [j.verdict for j in judged if j.verdict.decision != "allow"]
    size = f"{count(len(judged), 'call')} in {count(len({j.run for j in judged}), 'run')}"
    names = sorted({j.tool for j in judged})
    by_tool = [(name or "(not one for sure)", [j for j in judged if j.tool == name]) for name in names]
    made = [_decisions("tool", [*by_tool, ("all", judged)], f"{policy}: {size}" if policy else size)]
    if any(j.label for j in judged):
        rows = ((f"to {label}", [j for j in judged if j.label == label]) for label in ("deny", "allow"))
        made.append(_decisions("label", rows, _right(judged)))
    made += [
        _counted("Rules that were broken", (quotes.get(name, name) for v in stopped for name in v.violated)),
        _counted("Open sentences", (sentences.get(name, name) for v in stopped for name in v.open)),
        _counted("Facts that would decide", (name for v in stopped for name in v.missing)),
    ]
    return tuple(table for table in made if table.rows)


def denied(judged: Judged) -> tuple[Denied, ...]:
    """The tool and the label of a call that was denied; none for another."""
    return ((judged.tool, judged.label),) if judged.verdict.decision == "deny" else ()


def unguarded(denials: Counter[Denied], guard: Judge) -> tuple[str, ...]:
    """A line that says how many denials say nothing of the call, because its tool has no guard that may run."""
    tools = guard.unguarded if isinstance(guard, CallGuard) else frozenset()
    empty = Counter({pair: n for pair, n in denials.items() if pair[0] in tools})
    if not empty:
        return ()
    right = sum(n for (_, label), n in empty.items() if label == "deny")
    labelled = f" ({right} of them labelled deny)" if any(label for _, label in empty) else ""
    says = f"{empty.total()} of {count(denials.total(), 'denial')}{labelled} say nothing of the call: its tool has no "
    return (f"{says}{' or '.join(sorted(guard.accepted, reverse=True))} guard, so that every call of it is denied",)


def _decisions(head: str, rows: Iterable[tuple[str, Sequence[Judged]]], title: str) -> Table:
    numbers = ((name, len(group), Counter(j.verdict.decision for j in group)) for name, group in rows)
    counts = ((name, n, *(of[kind] for kind in ("allow", "deny", "undecided"))) for name, n, of in numbers)
    return listed(f"{head}, calls, allowed, denied, undecided", counts, title)


def _right(judged: Sequence[Judged]) -> str:
    """The rates of what was rightly denied and rightly allowed: an undecided call, which does not run, is neither."""
    rates, counts = [], tally(judged)
    for label, (called, right, _) in LABELS.items():
        hits, n = counts[label, right], total(counts, label)
        value, low, high = evaluate.wilson(hits, n)
        if value is not None:
            interval = f"{100 * value:.1f} % [{100 * low:.0f}, {100 * high:.0f}]"
            rates.append(f"{called} {DECISIONS[right]} {hits} of {n}: {interval}")
    return "; ".join(rates)


def _counted(title: str, texts: Iterable[str]) -> Table:
    counts = Counter(texts)
    more = [("", f"and {len(counts) - MOST} more")] if len(counts) > MOST else []
    rows = [(n, shortened(text, SHOWN)) for text, n in counts.most_common(MOST)]
    return listed("times, what", [*rows, *more], title)


# ---- calls under rules as they stand ---------------------------------------------------------------------------------


def recounting(toolbox: Toolbox, ruleset: RuleSet, accounts: Iterable[Account]) -> CallGuard:
    """A guard that decides as the rules do, before any is written or proved; what open sentences hold is undecided.

    The code of each tool is made from its rules alone, one early return a rule, as it is for those that a person wrote:
    a decision about a sentence is seen at once, in the time that judging takes.  What a run makes of the same rules is
    judged by its own guards (`wb judge`), after refinement; a guard that is not accepted denies every call.
    """
    box = with_questions(toolbox, ruleset)
    required = contract.contracts(box, ruleset)
    guards = tuple(Guarded(one, contract.assemble(synthesis.of_rules(one), one), "tested") for one in required)
    return CallGuard("recount", ruleset, guards, frozenset({"tested"}), box, open_on(accounts))


def tally(judged: Iterable[Judged]) -> Counter[tuple[str | None, str]]:
    """How many calls there are of each label, None where there is none, and decision."""
    return Counter((one.label, one.verdict.decision) for one in judged)


def words(counts: Counter[tuple[str | None, str]]) -> str:
    """A tally in one line: how many of the labelled calls are undecided, which do not run, then how those of each label
    came out; of calls without any label how many are undecided."""
    of = {label: total(counts, label) for label in LABELS}
    if not any(of.values()):
        return f"{counts[None, 'undecided']} of {counts.total()} calls undecided, none of them labelled"
    parts = [f"{sum(counts[label, 'undecided'] for label in of)} of {sum(of.values())} labelled calls undecided"]
    for label, (called, right, wrong) in LABELS.items():
        numbers = (f"{counts[label, one]} {DECISIONS[one]}" for one in (right, wrong, "undecided"))
        parts.append(f"of {of[label]} {called} {', '.join(numbers)}")
    return "; ".join(parts)


def total(counts: Counter[tuple[str | None, str]], label: str) -> int:
    """The calls of that label."""
    return sum(counts[label, one] for one in DECISIONS)


def held(judged: Iterable[Judged]) -> Counter[str]:
    """How many calls each open sentence holds, by its id."""
    return Counter(name for one in judged if one.verdict.decision == "undecided" for name in one.verdict.open)


# ---- two versions of a policy ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Side:
    """What a run read of one version: the class of each sentence, and the rules."""

    sentences: Sequence[Account]
    rules: RuleSet

    def of(self, account: Account | None) -> tuple[str, ...]:
        """The rules of a sentence as text."""
        heirs = {parent: rule for rule in self.rules.rules for parent in (*rule.parents, rule.id)}
        names = account.rules if account is not None else ()
        return tuple(dict.fromkeys(rendered(heirs[name], self.rules) for name in names if name in heirs))


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


def rendered(rule: Rule, ruleset: RuleSet) -> str:
    """A rule as text, its predicates' tests with it."""
    tests = [(p.name, p.test) for p in map(ruleset.predicate, rule.predicates) if p.test is not None]
    where = "; ".join(f"{name}: {cel.render(test)}" for name, test in tests)
    return render(rule.formula) + (f" where {where}" if where else "")


def sentences(old: Side, new: Side) -> tuple[Change, ...]:
    """The sentences that are not as they were, in the order of the new document, those that are gone last."""
    before = {account.id: account for account in old.sentences}
    same = {account.id for account in new.sentences} & before.keys()
    gone = [account for account in old.sentences if account.id not in same]
    earlier = {name: before[name] for name in same}
    earlier |= _pairs(gone, [account for account in new.sentences if account.id not in same])
    changes: list[Change] = []
    for account in new.sentences:
        was = earlier.get(account.id)
        rules = old.of(was), new.of(account)
        if was is None:
            what: What = "new"
        elif was.text != account.text:
            what = "changed"
        elif was.cls != account.cls or rules[0] != rules[1]:
            what = "read otherwise"
        elif account.id not in same:
            what = "in another place"
        else:
            continue
        changes.append(Change(what, was, account, *rules))
    paired = {account.id for account in earlier.values()}
    return (*changes, *(Change("gone", each, None, old.of(each)) for each in gone if each.id not in paired))


def _pairs(gone: Sequence[Account], came: Sequence[Account]) -> dict[str, Account]:
    """By id of a sentence that came: the one that it is a version of."""
    paired: dict[str, Account] = {}
    blocks: list[tuple[Sequence[Account], Sequence[Account]]] = []
    match = difflib.SequenceMatcher(None, [a.text for a in gone], [a.text for a in came], autojunk=False)
    for what, i, j, k, m in match.get_opcodes():
        if what == "equal":
            paired |= {new.id: old for old, new in zip(gone[i:j], came[k:m], strict=True)}
        elif what == "replace":
            blocks.append((gone[i:j], came[k:m]))
    for block in blocks:
        for ratio, new, old in sorted(_alike(*block), key=lambda row: -row[0]):
            if ratio >= LIKE and new.id not in paired and old not in paired.values():
                paired[new.id] = old
    return paired


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
    rows = []
    claims, bearing = (old.claims(), new.claims()), (_bearing(old), _bearing(new))
    for tool in sorted({*claims[0], *claims[1]}):
        was, now = (side.get(tool, {}) for side in bearing)
        gone, came = (tuple(a[key] for key in a if key not in b) for a, b in ((was, now), (now, was)))
        before, after = (side.get(tool, "no such tool") for side in claims)
        if before != after or gone or came:
            rows.append(Followed(tool, before, after, gone, came))
    return tuple(rows)


def _bearing(guard: CallGuard) -> dict[str, dict[str, str]]:
    """By tool: the sentences that bear on it, by what their rules say of it; open ones by their words."""
    rules = {rule.id: rendered(rule, guard.ruleset) for rule in guard.ruleset.rules}
    return {
        tool: {rules[item.rule]: loaded.quotes[item.rule] for item in loaded.entry.contract.items}
        | {f"open: {each.text}": f"{each.text} (open)" for each in guard.open.get(tool, ())}
        for tool, loaded in guard.loaded.items()
    }


def calls(old: Iterable[Judged], new: Iterable[Judged]) -> tuple[Otherwise, ...]:
    """The calls of the same recording that are decided otherwise, those that are allowed now first."""
    before = {judged.id: judged for judged in old}
    both = (Otherwise(before[judged.id], judged) for judged in new if judged.id in before)
    rows = [row for row in both if row.old.verdict.decision != row.new.verdict.decision]
    return tuple(sorted(rows, key=lambda row: row.new.verdict.decision != "allow"))


def changed(
    changes: Sequence[Change], followed: Sequence[Followed], otherwise: Sequence[Otherwise] = (), policies: str = ""
) -> tuple[Table, ...]:
    """What changed, as tables that name both policies; none where nothing did."""
    sentences = [
        (each.id, c.what, c.old.cls if c.old else "", c.new.cls if c.new else "", shortened(each.text, SHOWN))
        for c in changes
        if (each := c.new or c.old)
    ]
    rules = [f"- {rule}" for c in changes for rule in c.before if rule not in c.after]
    rules += [f"+ {rule}" for c in changes for rule in c.after if rule not in c.before]
    guards = [(f.tool, f.before, f.after, *(shortened("; ".join(texts), SHOWN) for texts in f[3:])) for f in followed]
    both = ((old.verdict.decision, new, new.verdict) for old, new in otherwise)
    calls = [(n.id, n.tool, was, now.decision, n.label, shortened(now.reason, SHOWN)) for was, n, now in both]
    bearing = "sentences that no longer bear on it, sentences that do now"
    made = (
        listed("sentence, what, was, is, text", sentences, f"{count(len(changes), 'sentence')} not as before"),
        listed("rule", ((rule,) for rule in dict.fromkeys(rules)), "Rules that went (-) and came (+)"),
        listed(f"tool, was, is, {bearing}", guards, f"{count(len(followed), 'guard')} not as before"),
        listed("call, tool, was, is, label, reason", calls, f"{count(len(otherwise), 'call')} decided otherwise"),
    )
    of = f"{policies}: " if policies else ""
    return tuple(replace(table, title=f"{of}{table.title}") for table in made if table.rows)


def to_json(
    changes: Sequence[Change], followed: Sequence[Followed], otherwise: Sequence[Otherwise] = ()
) -> Mapping[str, object]:
    """The same as JSON values."""

    def side(account: Account | None, rules: tuple[str, ...]) -> dict[str, object] | None:
        return account and {"id": account.id, "text": account.text, "class": account.cls, "rules": rules}

    return {
        "sentences": [{"what": c.what, "old": side(c.old, c.before), "new": side(c.new, c.after)} for c in changes],
        "guards": [row._asdict() for row in followed],
        "calls": [
            {"run": o.new.run, "index": o.new.index, "tool": o.new.tool, "label": o.new.label}
            | {side: {"decision": j.verdict.decision, "reason": j.verdict.reason} for side, j in o._asdict().items()}
            for o in otherwise
        ],
    }
