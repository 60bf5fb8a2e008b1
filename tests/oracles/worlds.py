"""A circuit's probabilities by their definition: the oracle of the closed form, and the one place with the paper's
global Z."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import product
from typing import Literal, NamedTuple

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
