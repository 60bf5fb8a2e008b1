"""What one policy showed of learning and of methods, in sentences made from its numbers; intervals are 95 %."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import permutations

from wb.bench import evaluate
from wb.bench.evaluate import Scored
from wb.domain.trace import permitted
from wb.rules.rule import RuleSet


def learning(
    before: Sequence[Scored], after: Sequence[Scored], rows: Iterable[Mapping], ruleset: RuleSet, lightest: float
) -> tuple[str, ...]:
    """What learning changed on the same calls, none of them learned from: `before` with all weights 1, `after` with
    those of the circuits' `rows` (`weights.row`), of which one up to `lightest` denies nothing alone."""
    real = [row for row in rows if row["source"] == "real"]
    pairs = [(row["action"], *pair) for row in real for pair in zip(row["weights"], row["rules"], strict=True)]
    rules = {rule.id: rule for rule in ruleset.rules}
    weighed = [(w, rules[name]) for action, w, name in sorted(pairs) if action in rules[name].predicates]
    light = [f"“{rule.quote or rule.text}” ({weight:.2f})" for weight, rule in weighed if weight <= lightest]
    test, named = evaluate.mcnemar(after, before), "; ".join(light) or "none"
    return (
        f"{len(light)} of {len(weighed)} weights with labels let their rule be broken alone: {named}",
        f"{sum(row['undecided'] for row in real)} labelled calls taught nothing, as a fact of their rules was not told",
        f"learning made {test.only_first} of {len(before)} held-out calls right and {test.only_second} wrong "
        f"(McNemar p = {test.p:.2g})",
        f"held out, all weights 1: {rates(before)}",
        f"held out, learned weights: {rates(after)}",
    )


def methods(outcomes: Mapping[str, Sequence[Scored]], learned: Collection[str]) -> tuple[str, ...]:
    """How guards, by name, differ on the same calls: those that were not `learned` from, where there are any."""
    held = {name: [one for one in some if one.case not in learned] for name, some in outcomes.items()}
    kept = held if any(held.values()) else outcomes
    if not any(kept.values()):
        return ("no labelled call was judged, so nothing tells the guards apart",)
    return (*(f"{name}: {rates(some)}" for name, some in kept.items()), *_apart(kept))


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


def rates(some: Sequence[Scored]) -> str:
    """How many calls are right, and both kinds of mistake."""
    if not some:
        return "no labelled call was judged"
    n, (right, low, high) = evaluate.confusion(some), evaluate.rates(evaluate.confusion(some))["accuracy"]
    return (
        f"{100 * right:.1f} % of {n.n} right [{100 * low:.0f}, {100 * high:.0f}], {n.fn} of {n.fn + n.tp} to deny let "
        f"run, {n.fp} of {n.fp + n.tn} to allow stopped; {n.undecided} undecided"
    )
