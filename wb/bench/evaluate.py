"""How good guards are on labelled turns: confusion, rates with intervals, and whether two methods differ.

The positive class is *deny*.  An undecided verdict does not permit, so it counts as a denial and is
counted apart as well.  Rates are fractions 0..1; a rate without a denominator is None, not 0.
Intervals are Wilson's (1927) at 95 %; two methods on the same turns are compared by McNemar's exact
test (1947), which looks only at the turns on which just one of them is right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import permutations
from typing import NamedTuple

from wb.bench.mind2web import Case, Published
from wb.domain.events import Recognition, agreed
from wb.domain.trace import Guard, Trace, Verdict, permitted
from wb.rules.rule import RuleSet

CONFIDENCE = 0.95
RATES = ("accuracy", "precision", "recall", "fpr")


@dataclass(frozen=True, slots=True)
class Scored:
    """One judged turn: its id, whether it is to be denied (the label), and the verdict."""

    case: str
    denied: bool
    verdict: Verdict

    @property
    def right(self) -> bool:
        """Whether what happens is what the label says: the action runs, or it does not."""
        return permitted(self.verdict) != self.denied


@dataclass(frozen=True, slots=True)
class Confusion:
    """Counts with *deny* as the positive class; `undecided` of them were neither allowed nor denied."""

    tp: int
    fp: int
    fn: int
    tn: int
    undecided: int = 0

    @property
    def n(self) -> int:
        """All turns."""
        return self.tp + self.fp + self.fn + self.tn


class Rate(NamedTuple):
    """A fraction with its 95 % interval; all None where nothing was counted."""

    value: float | None
    low: float | None
    high: float | None


class McNemar(NamedTuple):
    """Turns that only the first or only the second method got right, and the exact two-sided p-value."""

    only_first: int
    only_second: int
    p: float


def judge(recognition: Recognition, guard: Guard, *, name: str = "turn") -> Verdict:
    """A guard's verdict on a turn that may be several things; see `turns.agreed`."""
    return agreed(recognition, lambda step: guard.decide(Trace(name, (step,))))


def run(guard: Guard, cases: Sequence[Case], recognitions: Sequence[Recognition]) -> tuple[Scored, ...]:
    """The guard's verdict on every case, given what each turn was recognised as."""
    return tuple(Scored(c.id, c.denied, judge(r, guard, name=c.id)) for c, r in zip(cases, recognitions, strict=True))


def confusion(outcomes: Iterable[Scored]) -> Confusion:
    """The counts over these outcomes."""
    cells: Counter[str] = Counter()
    for outcome in outcomes:
        stopped = not permitted(outcome.verdict)
        cells[("t" if stopped == outcome.denied else "f") + ("p" if stopped else "n")] += 1
        cells["undecided"] += outcome.verdict.decision == "undecided"
    return Confusion(*(cells[name] for name in ("tp", "fp", "fn", "tn", "undecided")))


def rates(counts: Confusion) -> dict[str, Rate]:
    """Accuracy, precision, recall and false positive rate (allowed turns that were stopped)."""
    return {
        "accuracy": wilson(counts.tp + counts.tn, counts.n),
        "precision": wilson(counts.tp, counts.tp + counts.fp),
        "recall": wilson(counts.tp, counts.tp + counts.fn),
        "fpr": wilson(counts.fp, counts.fp + counts.tn),
    }


def wilson(hits: int, n: int) -> Rate:
    """hits / n with Wilson's 95 % score interval."""
    if n == 0:
        return Rate(None, None, None)
    from scipy.stats import binomtest

    interval = binomtest(hits, n).proportion_ci(CONFIDENCE, method="wilson")
    return Rate(hits / n, float(interval.low), float(interval.high))


def mcnemar(first: Sequence[Scored], second: Sequence[Scored]) -> McNemar:
    """The exact test that two methods are right equally often on the same turns; p is 1 when they never differ.

    Raises:
        ValueError: the two did not judge the same turns in the same order.
    """
    if [o.case for o in first] != [o.case for o in second]:
        got = f"{len(first)} and {len(second)} outcomes that differ"
        raise ValueError(f"two methods on the same cases in the same order were required; got {got}")
    pairs = [(a.right, b.right) for a, b in zip(first, second, strict=True)]
    only_first, only_second = pairs.count((True, False)), pairs.count((False, True))
    if only_first + only_second == 0:
        return McNemar(0, 0, 1.0)
    from scipy.stats import binomtest

    return McNemar(only_first, only_second, float(binomtest(only_first, only_first + only_second, 0.5).pvalue))


def rows(
    method: str,
    outcomes: Sequence[Scored],
    tuned: Collection[str],
    *,
    queries: int,
    seconds: float,
    parts: tuple[str, str] = ("tuned", "other"),
) -> list[dict[str, object]]:
    """The method's rows of the result table: all cases, and the two `parts` apart; one row where all are alike.

    `queries` and `seconds` are those of the whole run; a split gets its share by its number of cases.
    """
    splits = {part: [o for o in outcomes if (o.case in tuned) is (part == parts[0])] for part in parts}
    if all(splits.values()):
        splits = {"all": list(outcomes), **splits}
    found = []
    for split, some in splits.items():
        if some:
            counts, share = confusion(some), len(some) / len(outcomes)
            measured = rates(counts)
            cost = {"queries": round(queries * share), "seconds": seconds * share}
            row = _row(method, split, counts.n, {name: rate.value for name, rate in measured.items()})
            row |= {"undecided": counts.undecided, **cost, "counts": asdict(counts)}
            intervals = {name: (rate.low, rate.high) for name, rate in measured.items() if rate.value is not None}
            found.append(row | {"intervals": intervals})
    return found


def not_run(method: str, reason: str) -> dict[str, object]:
    """The row of a method that could not be run, with the reason."""
    return _row(method, "all", 0, {}) | {"reason": reason}


def published(row: Published) -> dict[str, object]:
    """The row of a published result; what the source does not report is None."""
    rates = {"accuracy": row.accuracy, "precision": row.precision, "recall": row.recall}
    about = {"model": row.model, "published": True, "source": row.source}
    return _row(row.method, "all", row.n, rates) | about


def _row(method: str, split: str, n: int, rates: dict[str, float | None]) -> dict[str, object]:
    empty = dict.fromkeys((*RATES, "undecided", "queries", "seconds"))
    return {"method": method, "split": split, "n": n, **empty, **rates, "published": False}


def by_rule(outcomes: Iterable[Scored]) -> dict[str, dict[str, int]]:
    """For each rule that a verdict names as violated: how many of those turns were to be denied, and how many not."""
    table: dict[str, dict[str, int]] = {}
    for outcome in outcomes:
        for rule in outcome.verdict.violated:
            counts = table.setdefault(rule, {"denied": 0, "allowed": 0})
            counts["denied" if outcome.denied else "allowed"] += 1
    return dict(sorted(table.items()))


def mistakes(outcomes: Iterable[Scored]) -> list[dict[str, object]]:
    """The turns that were judged wrongly: id, label, decision and reason."""
    wrong = ((o.case, "deny" if o.denied else "allow", o.verdict) for o in outcomes if not o.right)
    return [{"case": c, "label": label, "decision": v.decision, "reason": v.reason} for c, label, v in wrong]


# ---- what a policy showed, in sentences made from its numbers; intervals are 95 % -----------------------------------


def findings_of_learning(
    before: Sequence[Scored], after: Sequence[Scored], rows: Iterable[Mapping], ruleset: RuleSet, lightest: float
) -> tuple[str, ...]:
    """What learning changed on the same calls, none of them learned from: `before` with all weights 1, `after` with
    those of the circuits' `rows` (`weights.row`), of which one up to `lightest` denies nothing alone."""
    real = [row for row in rows if row["source"] == "real"]
    pairs = [(row["action"], *pair) for row in real for pair in zip(row["weights"], row["rules"], strict=True)]
    rules = {rule.id: rule for rule in ruleset.rules}
    weighed = [(w, rules[name]) for action, w, name in sorted(pairs) if action in rules[name].predicates]
    light = [f"“{rule.quote or rule.text}” ({weight:.2f})" for weight, rule in weighed if weight <= lightest]
    test, named = mcnemar(after, before), "; ".join(light) or "none"
    return (
        f"{len(light)} of {len(weighed)} weights with labels let their rule be broken alone: {named}",
        f"{sum(row['undecided'] for row in real)} labelled calls taught nothing, as a fact of their rules was not told",
        f"learning made {test.only_first} of {len(before)} held-out calls right and {test.only_second} wrong "
        f"(McNemar p = {test.p:.2g})",
        f"held out, all weights 1: {counted(before)}",
        f"held out, learned weights: {counted(after)}",
    )


def findings_of_methods(outcomes: Mapping[str, Sequence[Scored]], learned: Collection[str]) -> tuple[str, ...]:
    """How guards, by name, differ on the same calls: those that were not `learned` from, where there are any."""
    held = {name: [one for one in some if one.case not in learned] for name, some in outcomes.items()}
    kept = held if any(held.values()) else outcomes
    if not any(kept.values()):
        return ("no labelled call was judged, so nothing tells the guards apart",)
    return (*(f"{name}: {counted(some)}" for name, some in kept.items()), *_apart(kept))


def _apart(kept: Mapping[str, Sequence[Scored]]) -> Iterable[str]:
    """For each pair of guards, what one stops and the other lets run."""
    for first, second in permutations(kept, 2):
        pairs = list(zip(kept[first], kept[second], strict=True))
        apart = [one for one, other in pairs if permitted(other.verdict) and not permitted(one.verdict)]
        for kind, right in (("rightly", True), ("wrongly", False)):
            if some := [one for one in apart if one.denied is right]:
                yield f"{first} {kind} stops {len(some)} that {second} lets run, most often by {_reasons(some)}"
        if first < second and all(permitted(one.verdict) == permitted(other.verdict) for one, other in pairs):
            yield f"{first} and {second} decide all {len(pairs)} calls alike: this policy does not tell them apart"


def _reasons(some: Iterable[Scored]) -> str:
    """The sentences by which calls were stopped, without one the reason up to its details: the three most frequent."""
    verdicts = [one.verdict for one in some]
    stops = Counter(why for v in verdicts for why in [f"“{q}”" for q in v.quotes] or [v.reason.partition(" (")[0]])
    return "; ".join(f"{why} ({n})" for why, n in stops.most_common(3))


def counted(some: Sequence[Scored]) -> str:
    """How many calls are right, and both kinds of mistake."""
    if not some:
        return "no labelled call was judged"
    n, (right, low, high) = confusion(some), rates(confusion(some))["accuracy"]
    wrong = f"{n.fn} of {n.fn + n.tp} to deny let run, {n.fp} of {n.fp + n.tn} to allow stopped"
    return f"{100 * right:.1f} % of {n.n} right [{100 * low:.0f}, {100 * high:.0f}], {wrong}; {n.undecided} undecided"
