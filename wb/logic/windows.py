"""Windows in time, decided without time: each becomes a predicate, with laws of what it may be, and times afterwards.

The laws hold on every trace with times, so that formulas which no trace satisfies together with them are satisfied by
none with times either.  A trace that does satisfy them is one of the formulas where times can be found for its steps:
what its windows hold bounds the time between two steps, and such bounds are met or not (Dechter, Meiri & Pearl 1991).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from wb.logic import formula as F
from wb.logic import semantics
from wb.logic.automaton import AutomatonError
from wb.logic.formula import Formula
from wb.logic.times import SECOND

Word = tuple[frozenset[str], ...]
MOST = 32  # steps that a window counts in what is decided


@dataclass(frozen=True, slots=True)
class Untimed:
    """Formulas without their windows.

    `formulas` are theirs, in order; `windows` the predicate of each window and the window, whose body is without
    windows too.  Under `laws` they say no more than before; under `at_once` (or `apart`) as well they say what they
    say of steps that are all at one time (or further apart than all windows are long).
    """

    formulas: tuple[Formula, ...]
    windows: Mapping[str, F.Recently]
    laws: tuple[Formula, ...]
    at_once: tuple[Formula, ...]
    apart: tuple[Formula, ...]


def untimed(formulas: Sequence[Formula]) -> Untimed:
    """The formulas with a predicate in place of each window; `AutomatonError` where one counts beyond `MOST`."""
    taken = {name for formula in formulas for name in F.atoms(formula)}
    found: dict[F.Recently, str] = {}
    plain: dict[Formula, Formula] = {}

    def named(window: F.Recently) -> F.Atom:
        if window not in found:
            number = len(found) + 1
            while f"window_{number}" in taken:
                number += len(taken) + 1
            found[window] = f"window_{number}"
        return F.Atom(found[window])

    def cut(node: Formula, below: tuple[Formula, ...]) -> Formula:
        node = F.rebuild(node, below)
        if not isinstance(node, F.Recently):
            return node
        if node.times > MOST:
            raise AutomatonError(f"undecided: a window that counts to at most {MOST} was required; got {node.times}")
        for fewer in range(1, node.times):  # how many of the steps count is known of each number
            named(F.Recently(node.body, fewer, node.within))
        return named(node)

    for formula in formulas:
        plain[formula] = F.fold(formula, cut) if F.windows(formula) else formula
    families: dict[tuple[Formula, int], list[F.Atom]] = {}
    for window in sorted(found, key=lambda one: one.times):
        families.setdefault((window.body, window.within), []).append(F.Atom(found[window]))
    laws = [F.Always(_counting(body, counts)) for (body, _), counts in families.items()]
    for (one, shorter), (other, longer) in permutations(families, 2):
        if shorter <= longer:
            laws.append(F.Always(_between(one, families[one, shorter], other, families[other, longer])))
    sure = [(F.Atom(name), window) for window, name in found.items()]
    return Untimed(
        tuple([plain[formula] for formula in formulas]),
        {name: window for window, name in found.items()},
        tuple(laws),
        tuple([F.Always(F.Iff(name, F.at_least(window.times, window.body))) for name, window in sure]),
        tuple([F.Always(F.Iff(name, window.body if window.times == 1 else F.FALSE)) for name, window in sure]),
    )


def _counting(body: Formula, counts: Sequence[F.Atom]) -> Formula:
    """What holds of the windows that reach 1, 2, … steps of a body: a step adds one, and else they only lose some."""
    laws = [F.Implies(body, counts[0])]
    for count, fewer in zip(counts, (None, *counts), strict=False):
        added = body if fewer is None else F.And(body, F.Previously(fewer))
        laws.append(F.Implies(count, F.Or(added, F.Previously(count))))
        laws += [F.Implies(count, fewer)] if fewer is not None else []
    return F.conjunction(tuple(laws))


def _between(one: Formula, ones: Sequence[F.Atom], other: Formula, others: Sequence[F.Atom]) -> Formula:
    """What a window says of another that is as long or longer: it reaches all that came no earlier than what the first
    reaches, and so at least as many steps where every step that counts for the first counts for it."""
    more = F.conjunction(tuple([F.Implies(a, b) for a, b in zip(ones, others, strict=False)]))
    if one == other:
        return more
    latest = F.Implies(F.And(F.Since(F.Not(one), other), ones[0]), others[0])
    return F.And(latest, F.Implies(F.Historically(F.Implies(one, other)), more))


def dated(trace: Word, windows: Mapping[str, F.Recently]) -> Word | None:
    """The trace with times for its steps, such that each window holds where its predicate does; None if there are none.

    Whole seconds beyond a window's end are tried before nanoseconds.
    """
    for beyond in (SECOND, 1):
        bounds = _bounds(trace, windows, beyond)
        found = _times(len(trace), bounds) if bounds is not None else None
        if found is not None:
            return tuple([_without(step, windows) | {semantics.at(at)} for step, at in zip(trace, found, strict=True)])
    return None


def _without(step: frozenset[str], windows: Mapping[str, F.Recently]) -> frozenset[str]:
    return frozenset([name for name in step if name not in windows])


def _bounds(trace: Word, windows: Mapping[str, F.Recently], beyond: int) -> list[tuple[int, int, int]] | None:
    """(i, j, d) for each bound "step i is at most d later than step j"; None where a window counts what was not."""
    bounds = [(i, i + 1, 0) for i in range(len(trace) - 1)]
    for name, window in windows.items():
        held = [i for i, yes in enumerate(semantics.table(window.body, trace)) if yes]
        for i, step in enumerate(trace):
            before = [j for j in held if j <= i]
            if len(before) >= window.times:
                first = before[-window.times]
                bounds.append((i, first, window.within) if name in step else (first, i, -window.within - beyond))
            elif name in step:
                return None
    return bounds


def _times(steps: int, bounds: Sequence[tuple[int, int, int]]) -> list[int] | None:
    """The earliest times from 0 within the bounds; None where they cannot be met (Bellman-Ford)."""
    found = [0] * steps
    for _ in range(steps + 1):
        moved = False
        for later, earlier, most in bounds:
            if found[later] - found[earlier] > most:
                found[earlier], moved = found[later] - most, True
        if not moved:
            return found
    return None
