"""A circuit's probabilities by their definition: the oracle of the closed form, and the one place with the paper's
global Z."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import product
from typing import Literal, NamedTuple

import numpy as np

from wb.logic import formula as F
from wb.rules.rule import Rule
from wb.shield.circuit import HARD, Circuit


class Worlds(NamedTuple):
    """The probability mass of the worlds with the action taken and with it left."""

    taken: float
    left: float


def enumerate_worlds(
    circuit: Circuit,
    keeps: Callable[[Rule, frozenset[str]], bool],
    evidence: Mapping[str, bool],
    *,
    partition: Literal["conditional", "global"] = "conditional",
) -> Worlds:
    """Eq. 4 by its definition: every assignment of the circuit's predicates, 2^n worlds.

    A predicate absent from the evidence is summed out.  `conditional` normalises over the worlds that
    agree with the evidence, so that the two masses sum to 1; `global` over all worlds, as the paper's
    constant Z does.  Worlds that break a hard rule have no mass.

    Raises:
        ValueError: no world has mass: the hard rules contradict each other or the evidence.
    """
    names = sorted({name for rule in circuit.rules for name in rule.predicates} | {circuit.action})
    mass, total = {True: 0.0, False: 0.0}, 0.0
    for values in product((False, True), repeat=len(names)):
        world = dict(zip(names, values, strict=True))
        weight = _mass(circuit, keeps, frozenset(n for n, true in world.items() if true))
        agrees = all(world[n] == v for n, v in evidence.items() if n in world and n != circuit.action)
        total += weight if agrees or partition == "global" else 0.0
        mass[world[circuit.action]] += weight if agrees else 0.0
    if total == 0:
        raise ValueError(f"at least one world with mass was required; the hard rules of {circuit.action!r} leave none")
    return Worlds(mass[True] / total, mass[False] / total)


def _mass(circuit: Circuit, keeps: Callable[[Rule, frozenset[str]], bool], world: frozenset[str]) -> float:
    kept = [keeps(rule, world) for rule in circuit.rules]
    if any(w == HARD and not k for w, k in zip(circuit.weights, kept, strict=True)):
        return 0.0
    return math.exp(sum(w for w, k in zip(circuit.weights, kept, strict=True) if k and w != HARD))


def bounds(
    circuit: Circuit,
    evidence: Mapping[str, bool],
    likely: Mapping[str, float],
    left: Mapping[str, bool | None],
) -> tuple[float, float] | None:
    """The least and largest P1 - P0 by enumeration of every way to fill in what is unknown; None where none is lawful.

    Rules are `ALWAYS body` without temporal operators in the body.  A way that breaks a law with the action taken does
    not occur.  Of each way to fill in the unknowns without a probability, the value is the mean of tanh(D/2) over the
    likely ones, given the laws.  `left` are predicates with another truth, or an unknown of their own, where the action
    is left.  `ValueError` where hard rules contradict each other in a way that occurs.
    """
    rules = (*circuit.rules, *circuit.laws)
    names = sorted({n for rule in rules for n in rule.predicates} - {circuit.action})
    free = [n for n in names if n not in evidence and n not in likely]
    free += [f"{n} without" for n in names if n in left and left[n] is None]
    soft = [n for n in names if n in likely and n not in evidence]
    grid = np.meshgrid(*[[False, True]] * (len(free) + len(soft)), indexing="ij") if free or soft else []
    truth = {n: np.reshape(g, (2 ** len(free), 2 ** len(soft))) for n, g in zip([*free, *soft], grid, strict=True)}
    shape = (2 ** len(free), 2 ** len(soft))
    taken = {n: truth[n] if n in truth else np.full(shape, evidence[n]) for n in names}
    without = {
        n: taken[n] if n not in left else truth[f"{n} without"] if left[n] is None else np.full(shape, left[n])
        for n in names
    }
    worlds = (taken | {circuit.action: np.full(shape, True)}, without | {circuit.action: np.full(shape, False)})
    occurs = np.all([_true(r.formula.body, worlds[0], shape) for r in circuit.laws] or [np.full(shape, True)], axis=0)
    gains = [
        _true(r.formula.body, worlds[0], shape) * 1 - _true(r.formula.body, worlds[1], shape) for r in circuit.rules
    ]
    weighed = [(w, g) for w, g in zip(circuit.weights, gains, strict=True)]
    hard = [g for w, g in weighed if w == HARD]
    against, in_favour = (np.any([g == sign for g in hard] or [np.full(shape, False)], axis=0) for sign in (-1, 1))
    if (against & in_favour & occurs).any():
        raise ValueError("hard rules that agree were required")
    value = np.tanh(sum((w * g for w, g in weighed if w != HARD), np.zeros(shape)) / 2)
    value = np.where(against, -1.0, np.where(in_favour, 1.0, value))
    chance = [np.where(truth[n], likely[n], 1 - likely[n]) for n in soft]
    mass = occurs * np.prod(chance or [np.ones(shape)], axis=0)
    kept = mass.sum(axis=1) > 0
    means = (value * mass).sum(axis=1)[kept] / mass.sum(axis=1)[kept]
    return (float(means.min()), float(means.max())) if kept.any() else None


def _true(body: F.Formula, world: Mapping[str, np.ndarray], shape: tuple[int, int]) -> np.ndarray:
    """The truth of a formula without temporal operators in each world."""
    match body:
        case F.Atom(name):
            return world[name]
        case F.Constant(value):
            return np.full(shape, value)
        case F.Not(inner):
            return ~_true(inner, world, shape)
    one, other = (_true(part, world, shape) for part in (body.left, body.right))
    return {F.And: one & other, F.Or: one | other, F.Implies: ~one | other, F.Iff: one == other, F.Xor: one != other}[
        type(body)
    ]
