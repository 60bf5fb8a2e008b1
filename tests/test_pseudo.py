"""Simulated situations are labelled as the rules say, by their definition and not by their automata."""

from __future__ import annotations

import numpy as np
import pytest

from wb.domain.trace import Call, Step, Trace
from wb.logic import cel, syntax
from wb.rules import physical
from wb.rules.rule import Predicate, Rule
from wb.shield import descent, weights
from wb.shield.circuit import Circuit

TEXTS = (
    "ALWAYS (act IMPLIES grown)",
    "ALWAYS (act IMPLIES NOT barred)",
    "ALWAYS (act IMPLIES ONCE asked)",
    "ALWAYS (other IMPLIES teen)",
)
RULES = tuple(Rule(f"r{i}", t, syntax.parse(t), "permit_only_if") for i, t in enumerate(TEXTS, 1))
CIRCUIT = Circuit("act", RULES, (1.0,) * 4)
KNOWN = physical.rules(
    [
        Predicate("grown", "state", "", test=cel.parse("state.age >= 18")),
        Predicate("teen", "state", "", test=cel.parse("state.age >= 15")),
    ]
)


def test_half_are_safe_and_each_unsafe_one_breaks_a_rule_of_the_action():
    found = weights.simulated(CIRCUIT, KNOWN, np.random.default_rng(0), pairs=30)
    assert found.source == "simulated" and len(found.labels) == 60 and found.labels.sum() == 0
    safe, unsafe = found.differences[found.labels == 1], found.differences[found.labels == -1]
    assert (safe == 0).all() and (unsafe.min(axis=1) == -1).all()
    assert (unsafe[:, :3].min(axis=0) == -1).all(), "every rule of the action gets its turn"
    assert (unsafe[:, 3] == 0).all(), "a rule without the action cannot be broken by it"


def test_the_same_seed_gives_the_same_examples():
    one, same = (weights.simulated(CIRCUIT, KNOWN, np.random.default_rng(1), pairs=20) for _ in range(2))
    assert (one.differences == same.differences).all() and (one.labels == same.labels).all()


def test_labelled_runs_are_taken_where_there_are_any_and_simulated_ones_elsewhere():
    predicates = (
        Predicate("act", "action", "", tools=("act",)),
        Predicate("other", "action", "", tools=("other",)),
        Predicate("grown", "state", "", test=cel.parse("state.age >= 18")),
        Predicate("teen", "state", "", test=cel.parse("state.age >= 15")),
    )
    circuits = {"act": Circuit("act", RULES[:1], (1.0,)), "other": Circuit("other", RULES[3:], (1.0,))}

    def run(state, denied):
        return Trace("t", (Step((Call("act"),), state),), denied)

    traces = [run({"age": 17}, True), run({"age": 20}, False), run({}, True), run({"age": 20}, None)]
    found = weights.examples(circuits, predicates, traces, KNOWN, pairs=5)
    assert found["act"].source == "real" and found["other"].source == "simulated"
    assert (
        found["act"].differences.tolist() == [[-1], [0]]
        and found["act"].labels.tolist() == [-1, 1]
        and found["act"].undecided == 1
    )
    row = weights.row(circuits["act"], found["act"], descent.learn_all({"": found["act"]}, (0, 1), epochs=5)[""])
    assert (row["rules"], row["examples"], row["unsafe"], row["undecided"], len(row["losses"])) == (["r1"], 2, 1, 1, 6)


def test_learned_weights_deny_every_single_breach():
    found = weights.simulated(CIRCUIT, KNOWN, np.random.default_rng(0), pairs=60)
    fit = weights.best(descent.learn_all({"": found}, (0, 1), epsilon=-0.2, margin=0.2)[""])
    assert fit.losses[-1] < fit.losses[0]
    assert all(np.tanh(-w / 2) < -0.2 for w in fit.weights[:3])


@pytest.mark.parametrize(
    "texts", [("ALWAYS (other IMPLIES teen)",), ("ALWAYS NOT act", "ALWAYS (act OR grown)", "ALWAYS act")]
)
def test_without_a_breach_or_without_a_safe_situation_there_are_no_examples(texts):
    rules = tuple(Rule(f"r{i}", t, syntax.parse(t), "oblige") for i, t in enumerate(texts))
    found = weights.simulated(Circuit("act", rules, (1.0,) * len(rules)), (), np.random.default_rng(0), pairs=3)
    assert len(found.labels) == 0 and found.differences.shape == (0, len(rules))
