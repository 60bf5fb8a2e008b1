"""Joint inference: what is unknown of several rules and physical rules together, against its enumeration."""

from __future__ import annotations

import random

import pytest
from oracles import worlds

from wb.logic import formula as F
from wb.logic.formula import Always, Atom, Not
from wb.rules.rule import Rule
from wb.shield import circuit
from wb.shield.circuit import HARD, Circuit

BINARY = (F.And, F.Or, F.Implies, F.Implies, F.Iff, F.Xor)


def body(rng: random.Random, names: list[str]) -> F.Formula:
    """A formula over some of the names, each once."""
    if len(names) == 1:
        return Not(Atom(names[0])) if rng.random() < 0.4 else Atom(names[0])
    at = rng.randint(1, len(names) - 1)
    return rng.choice(BINARY)(body(rng, names[:at]), body(rng, names[at:]))


def case(rng: random.Random, hard: bool = True) -> tuple[Circuit, dict, dict, dict]:
    """A circuit over up to 16 predicates, and what is known, likely, and another truth where the action is left."""
    names = [f"p{i}" for i in range(rng.randint(1, 15))]
    rules, laws = [], []
    for i in range(rng.randint(1, 10)):
        some = rng.sample(names, min(len(names), rng.randint(1, 4)))
        rules.append(Rule(f"r{i}", "", Always(body(rng, ["act", *some])), "permit_only_if"))
    for i in range(rng.randint(0, 6)):
        some = rng.sample(names, min(len(names), rng.randint(1, 3)))
        laws.append(Rule(f"law{i}", "", Always(body(rng, some)), "oblige", "physical"))
    weights = [HARD if hard and rng.random() < 0.1 else rng.choice([1.0, rng.random() * 3]) for _ in rules]
    kinds = {name: rng.choice(["known", "unknown", "likely"]) for name in names}
    evidence = {n: rng.random() < 0.5 for n, kind in kinds.items() if kind == "known"}
    likely = {n: rng.choice([0.0, 1.0, rng.random()]) for n, kind in kinds.items() if kind == "likely"}
    left = {n: rng.choice([False, None]) for n in names if rng.random() < 0.1}
    likely = {n: p for n, p in likely.items() if n not in left}
    return Circuit("act", tuple(rules), tuple(weights), tuple(laws)), evidence, likely, left


def said(c: Circuit, evidence: dict, likely: dict, left: dict) -> circuit.Inference:
    rules = (*c.rules, *c.laws)
    machines = circuit.automata(rules)
    fares = {r.id: circuit.faring(machines[r.id], "act", circuit.START, evidence, left) for r in rules}
    return circuit.infer(c, fares, likely)


@pytest.mark.parametrize("soft", [False, True])
def test_inference_is_the_enumeration_of_what_may_be_so(soft):
    rng, seen, undecided = random.Random(7 + soft), 0, 0
    while seen < 500:
        c, evidence, likely, left = case(rng)
        likely = likely if soft else {}
        try:
            expected = worlds.bounds(c, evidence, likely, left)
        except ValueError:
            continue
        found = said(c, evidence, likely, left)
        seen += 1
        assert not found.wide
        if expected is None:
            assert found.state == "contradictory" and circuit.safe(found) is None
            continue
        assert (found.low, found.high) == pytest.approx(expected, abs=1e-9)
        assert (found.state == "undecided") == (expected[1] - expected[0] > 1e-12)
        undecided += found.state == "undecided"
    assert undecided > 50
