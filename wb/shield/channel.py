"""Soft evidence of what is read: how likely a predicate is true, given what a page or a state said of it.

What is read may be missing or wrong.  Of runs in which somebody also knows what was so, a channel counts how often a
predicate is read as true, as false or not at all where it is true, and where it is false (of all predicates together),
and how often each is true.  By Bayes' rule that gives the probability of each predicate from what is read, which is
soft evidence of a circuit (`circuit.infer`, Jeffrey's rule).  It covers state predicates that read the state; what a
call says, and what was done, is certain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from wb.logic import facts
from wb.rules.rule import Predicate

Told = Mapping[str, bool | None]
FEW = 0.5  # of each count before anything is counted (Krichevsky & Trofimov 1981)


@dataclass(frozen=True, slots=True)
class Channel:
    """By predicate the probability, 0..1, that it is true where it is read as true, as false, and not at all."""

    chances: Mapping[str, tuple[float, float, float]]

    def __post_init__(self) -> None:
        rows = self.chances.items()
        if bad := {name: row for name, row in rows if len(row) != len(PLACE) or not all(0 <= p <= 1 for p in row)}:
            raise ValueError(f"three probabilities in 0..1 were required of each predicate; got {bad}")

    def soften(self, told: Told) -> tuple[dict[str, bool | None], dict[str, float]]:
        """What is read without the predicates that are covered, and the probability of each of these given it."""
        likely = {name: row[PLACE[told.get(name)]] for name, row in self.chances.items()}
        return {name: None if name in likely else true for name, true in told.items()}, likely


PLACE = {True: 0, False: 1, None: 2}


def covered(predicates: Iterable[Predicate]) -> tuple[str, ...]:
    """The predicates that what is read of the state tells."""
    return tuple(
        p.name
        for p in predicates
        if p.kind == "state" and (p.test is None or any(path.names[0] == "state" for path in facts.paths(p.test)))
    )


def counted(names: Sequence[str], pairs: Iterable[tuple[Told, Told]]) -> Channel:
    """The channel of pairs of what is read of a step and what is so; a predicate of which no truth is known is left
    out, and so stays as it is read."""
    reads: Counter[tuple[bool, bool | None]] = Counter()
    truths: Counter[tuple[str, bool]] = Counter()
    for told, true in pairs:
        for name in names:
            if (so := true.get(name)) is not None:
                reads[so, told.get(name)] += 1
                truths[name, so] += 1
    totals = {so: sum(reads[so, read] + FEW for read in PLACE) for so in (True, False)}
    rows = {}
    for name in names:
        if truths[name, True] + truths[name, False]:
            masses = [
                [(truths[name, so] + FEW) * (reads[so, read] + FEW) / totals[so] for so in (True, False)]
                for read in PLACE
            ]
            rows[name] = tuple(mine / (mine + other) for mine, other in masses)
    return Channel(rows)
