"""Soft evidence: a channel by Bayes' rule, joint inference of many steps at once, and what a shield makes of it."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import worlds
from test_inference import case
from test_shield import PREDICATES, RULES, shield, trace

from wb.domain.trace import Trace
from wb.logic.formula import Always, Atom, Implies
from wb.logic.syntax import parse
from wb.rules.rule import Predicate, Rule
from wb.shield import channel, circuit, descent, elimination, weights
from wb.shield import shield as shields
from wb.shield.channel import Channel
from wb.shield.circuit import HARD, Circuit

ACT = Predicate("act", "action", "", tools=("act",))


def fares(of: Circuit, evidence: dict) -> dict:
    rules = (*of.rules, *of.laws)
    machines = circuit.automata(rules)
    return {r.id: circuit.faring(machines[r.id], of.action, circuit.START, evidence) for r in rules}


def test_many_steps_at_once_are_the_enumeration_of_each():
    """500 circuits with physical rules, hard rules among some, against all ways to fill in their predicates."""
    rng, draw, seen, soft = random.Random(23), np.random.default_rng(23), 0, 0
    while seen < 500:
        of, evidence, _, _ = case(rng, hard=seen % 2 == 1)
        unknown = {n for r in (*of.rules, *of.laws) for n in r.predicates} - {"act", *evidence}
        likely = {name: draw.choice([0.0, 1.0, *draw.random(3)], 3) for name in unknown}
        try:
            expected = [worlds.bounds(of, evidence, {n: float(p[i]) for n, p in likely.items()}, {}) for i in range(3)]
        except ValueError:
            continue
        seen += 1
        with np.errstate(invalid="ignore", divide="ignore"):
            said = circuit.expectation(of, fares(of, evidence), likely)
        found = np.broadcast_to(np.nan if said is None else said, 3)
        for value, one in zip(found, expected, strict=True):
            if one is None or one[1] - one[0] > 1e-12:  # all, or part, of what may be so is a contradiction
                assert np.isnan(value)
            else:
                assert value == pytest.approx(one[0], abs=1e-9)
                soft += bool(unknown)
    assert soft > 600


def test_what_is_not_likely_to_a_known_degree_gives_no_expectation():
    rule = Rule("r", "", Always(Implies(Atom("act"), Atom("p"))), "permit_only_if")
    of = Circuit("act", (rule,), (1.0,))
    assert circuit.ways(of, fares(of, {}), {}) == {} and circuit.expectation(of, fares(of, {}), {}) is None
    assert circuit.ways(of, fares(of, {}), {"p": 0.75}) == {(0,): 0.75, (-1,): 0.25}
    assert circuit.ways(of, fares(of, {"p": False}), {}) == {(-1,): 1.0}


def test_rules_that_may_fare_in_too_many_ways_are_refused_and_leave_bounds():
    rules = tuple(Rule(f"r{i}", "", parse(f"ALWAYS (act IMPLIES p{i})"), "permit_only_if") for i in range(20))
    of, likely = Circuit("act", rules, tuple((i + 2) ** 0.5 for i in range(20))), {f"p{i}": 0.9 for i in range(20)}
    with pytest.raises(elimination.TooWide, match="entries"):
        circuit.expectation(of, fares(of, {}), likely)
    found = circuit.infer(of, fares(of, {}), likely)
    assert found.wide and found.state == "undecided" and circuit.safe(found, -0.4) is None


@given(
    prior=st.floats(0.05, 0.95),
    right=st.tuples(st.floats(0.5, 0.9), st.floats(0.5, 0.9)),
    missing=st.floats(0.02, 0.1),
)
def test_a_channel_is_bayes_rule_on_its_counts(prior, right, missing):
    n = 20_000
    pairs = []
    for so, share, hit in ((True, prior, right[0]), (False, 1 - prior, right[1])):
        for read, part in ((so, hit), (None, missing), (not so, 1 - hit - missing)):
            pairs += [({"p": read}, {"p": so})] * max(round(n * share * part), 1)
    row = channel.counted(("p",), pairs).chances["p"]
    for place, so_if, not_if in (
        (0, right[0], 1 - right[1] - missing),
        (1, 1 - right[0] - missing, right[1]),
        (2, missing, missing),
    ):
        so, other = prior * max(so_if, 0), (1 - prior) * max(not_if, 0)
        assert row[place] == pytest.approx(so / (so + other), abs=0.02)


def test_a_channel_covers_what_the_state_tells_and_nothing_that_was_done():
    assert channel.covered((*PREDICATES, ACT)) == ("grown", "agreed")
    made = channel.counted(("p", "q"), [({"p": True}, {"p": True, "q": None})])
    assert set(made.chances) == {"p"}, "of q no truth is known: it stays as it is read"
    assert made.soften({"p": None, "q": False, "act": True}) == (
        {"p": None, "q": False, "act": True},
        {"p": made.chances["p"][2]},
    )
    with pytest.raises(ValueError, match="probabilities in"):
        Channel({"p": (0.5, 1.5, 0.5)})


SURE = Channel({"grown": (0.99, 0.3, 0.9), "agreed": (1.0, 0.0, 0.5)})
PAY, MINOR, UNREAD = (trace(("ask", {}), ("pay", state)) for state in ({"age": 18}, {"age": 3}, {}))


def test_a_shield_over_a_channel_decides_by_the_expectation_and_names_what_was_read():
    plain = shield(-0.2)
    soft = shields.Shield(PREDICATES, plain.circuits, -0.2, channel=SURE)
    assert [plain.decide(one).decision for one in (PAY, MINOR, UNREAD)] == ["allow", "deny", "undecided"]
    assert [soft.decide(one).decision for one in (PAY, MINOR, UNREAD)] == ["allow", "deny", "allow"]
    assert soft.decide(MINOR).violated == ("r1",)
    assert soft.bounds(MINOR) == pytest.approx((0.7 * circuit.relative(-1),) * 2)
    again = shields.from_json(json.loads(json.dumps(shields.to_json(soft))))
    assert again.channel == SURE and again.evidence("pay") == soft.evidence("pay") != plain.evidence("pay")


@pytest.mark.parametrize("epsilon", [-0.2, -1.0])
def test_a_channel_reads_no_fact_that_a_hard_rule_needs(epsilon):
    circuits = {name: replace(of, weights=(HARD, *of.weights[1:])) for name, of in shield().circuits.items()}
    for over in (None, SURE, Channel({"grown": (1.0, 0.0, 1.0)})):
        one = shields.Shield(PREDICATES, circuits, epsilon, channel=over)
        assert [one.decide(run).decision for run in (PAY, MINOR, UNREAD)] == ["allow", "deny", "undecided"]
        assert one.decide(UNREAD).missing == ("state.age",)


def test_examples_over_a_channel_are_the_ways_that_rules_may_fare():
    of = circuit.build(RULES, {"pay": ("r1", "r2")})["pay"]
    runs = [Trace("a#1", MINOR.steps, True), Trace("b#1", PAY.steps, False), Trace("c#1", UNREAD.steps, False)]
    hard, soft = (weights.observed(of, PREDICATES, runs, one) for one in (None, SURE))
    assert hard.undecided == 1 and hard.differences.tolist() == [[-1, 0], [0, 0]]
    assert soft.undecided == 0 and soft.labels.tolist() == [-1, 1, 1]
    parts = [
        dict(zip(map(tuple, soft.differences[i : i + 2].tolist()), soft.chances[i : i + 2], strict=True))
        for i in soft.starts
    ]
    assert [part[-1, 0] for part in parts] == pytest.approx([0.7, 0.01, 0.1])
    together = descent.joined([soft, soft])
    assert together.starts.tolist() == [0, 2, 4, 6, 8, 10] and len(together.labels) == 6
    assert descent.joined([hard, hard]).labels.tolist() == [-1, 1, -1, 1]


def test_the_pull_is_chosen_on_folds_that_were_not_learned_from():
    """A rule that cries wolf in every fold is to be let go of; one that did so in a single fold is not."""
    rng = np.random.default_rng(0)
    wolf = [descent.Examples(np.full((12, 1), -1), np.full(12, 1), "real") for _ in range(3)]
    one = {"a": (1.0,)}
    assert descent.pull([{"a": some} for some in wolf], one, (np.inf, 1e-3), epsilon=-0.4, margin=0.3) == 1e-3
    odd = [descent.Examples(np.full((3, 1), -1), np.array([1, 1, -1]), "real")]
    odd += [descent.Examples(np.full((3, 1), -1), rng.choice([-1], 3), "real") for _ in range(3)]
    assert descent.pull([{"a": some} for some in odd], one, (np.inf, 1e-3), epsilon=-0.4, margin=0.3) == np.inf
    assert descent.learned_at({"a": wolf[0]}, one, np.inf, epsilon=-0.4) == {"a": (1.0,)}
    with pytest.raises(ValueError, match="two folds or more"):
        descent.pull([{"a": wolf[0]}], one, (np.inf,), epsilon=-0.4, margin=0.3)
