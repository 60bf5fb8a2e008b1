"""The web handbook from its text to refined rules, circuits and a shield: what each step must show of it."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from oracles.told import valuation

from wb.domain import policy
from wb.domain.trace import Call, Step, Trace
from wb.logic import storm
from wb.logic.formula import conjunction
from wb.logic.semantics import holds
from wb.models.client import LLM
from wb.models.embeddings import Encoder
from wb.offline import reader
from wb.offline.engine import Offline
from wb.rules import physical, refine
from wb.shield import circuit, cluster, shield


@pytest.fixture(scope="module")
def handbook():
    return policy.load("web_tasks")


@pytest.fixture(scope="module")
def encoder(vectors):
    return Encoder(cache=vectors)


@pytest.fixture(scope="module")
def llm(handbook, encoder):
    return LLM(Offline(handbook.toolbox, encoder))


@pytest.fixture(scope="module")
def extracted(handbook, llm):
    return reader.extracted(handbook).ruleset


@pytest.fixture(scope="module")
def rounds(extracted, llm, encoder, handbook):
    return refine.refine(extracted, llm, encoder, toolbox=handbook.toolbox, max_rounds=6)


@pytest.fixture(scope="module")
def guard(rounds, handbook, encoder):
    rules = rounds[-1].ruleset
    vectors = encoder.encode([refine.describe(p) for p in cluster.states(rules)])
    groups = cluster.clusters(cluster.graph(rules, vectors, 0.6)).groups
    return shield.Shield(rules.predicates, circuit.build(rules, cluster.by_action(rules, groups)))


def situations(handbook, count: int, seed: int = 0, known: float = 0.9) -> list[Trace]:
    """Random runs of one to three steps: some tools called; each value is known with a probability."""
    rng = random.Random(seed)
    values = {
        "boolean": lambda f: rng.random() < 0.5,
        "integer": lambda f: rng.choice([2, 8, 9, 10, 11, 12, 13, 15, 17, 18, 20, 21, 30, 31, 500, 501, 2001]),
        "number": lambda f: rng.choice([24.9, 25, 499, 500, 501, 1000, 1001]),
        "string": lambda f: rng.choice(f.values or ("x",)),
        "array": lambda f: ["x"] * rng.choice([1, 8, 10, 11, 20, 21]),
        "object": lambda f: {},
    }

    def some(fields):
        return {f.name: values[f.type](f) for f in fields if rng.random() < known}

    def step():
        tools = rng.sample(handbook.toolbox.tools, rng.choice([0, 1, 1, 1, 2]))
        return Step(tuple(Call(t.name, some(t.arguments)) for t in tools), some(handbook.toolbox.state))

    return [Trace(f"t{i}", tuple(step() for _ in range(rng.randint(1, 3)))) for i in range(count)]


def test_refinement_runs_three_rounds_and_ends_with_fewer_rules_and_less_vagueness(rounds):
    rows = [r.row() for r in rounds]
    assert sum(any(c["accepted"] for c in row["changes"]) for row in rows) >= 3
    assert rows[-1]["rules"] < rows[0]["rules"] and rows[-1]["predicates"] <= rows[0]["predicates"]
    assert rows[-1]["vagueness"] < rows[0]["vagueness"] - 0.03
    assert all(later["vagueness"] <= earlier["vagueness"] + 1e-6 for earlier, later in pairwise(rows))


def test_stopping_after_one_round_changes_the_curve(rounds, extracted, llm, encoder, handbook):
    one = refine.refine(extracted, llm, encoder, toolbox=handbook.toolbox, max_rounds=1)
    assert len(one) == 2 and one[-1].row()["vagueness"] > rounds[-1].row()["vagueness"]


def test_the_refined_rules_say_of_every_situation_what_the_extracted_ones_said(rounds, extracted, handbook):
    def breaches(ruleset, trace):
        states = [frozenset(n for n, v in valuation(ruleset.predicates, step).items() if v) for step in trace.steps]
        return not holds(conjunction(tuple(r.formula for r in ruleset.rules)), states)

    found = [(breaches(extracted, t), breaches(rounds[-1].ruleset, t)) for t in situations(handbook, 400, known=1.0)]
    assert all(a == b for a, b in found) and 0 < sum(a for a, _ in found)


def test_every_extracted_rule_lives_on_or_is_named_by_its_heir_and_keeps_its_sentence(rounds, extracted, handbook):
    refined = rounds[-1].ruleset
    assert {r.id for r in extracted.rules} <= {i for r in refined.rules for i in (r.id, *r.parents)}
    assert all(r.quote in handbook.text and r.clause for r in refined.rules)
    assert {t for p in refined.predicates for t in p.tools} == {t for p in extracted.predicates for t in p.tools}


def test_the_twins_of_the_handbook_are_found(rounds):
    pruned = [c.before for r in rounds for c in r.changes if c.kind == "prune" and c.accepted]
    assert len(pruned) >= 5
    refused = [set(c.before) for r in rounds for c in r.changes if c.kind == "merge" and not c.accepted]
    assert refused, "pairs that sound alike are proposed, and refused without proof"


def test_changing_a_limit_moves_exactly_the_situations_between(guard, handbook):
    def decision(age):
        return guard.decide(Trace("t", (Step((Call("book_hotel"),), {"age": age}),))).decision

    assert [decision(age) for age in (17, 18, 20, 21)] == ["deny", "allow", "allow", "allow"]
    assert guard.decide(Trace("t", (Step((Call("book_hotel"),), {}),))).decision == "undecided"


def test_the_rules_verdicts_on_random_runs_agree_with_storm(guard, handbook):
    rules = list({r.id: r for c in guard.circuits.values() for r in c.rules}.values())
    names = {p.name for p in guard.predicates}
    traces = situations(handbook, 40, seed=2)
    states = [[frozenset(n for n, v in valuation(guard.predicates, s).items() if v) for s in t.steps] for t in traces]
    assert names and storm.check([r.formula for r in rules], states) == [
        [holds(r.formula, s) for s in states] for r in rules
    ]


def test_physical_rules_of_the_handbook_hold_in_every_situation(extracted, handbook):
    known = physical.rules(extracted.predicates, handbook.toolbox)
    assert known
    for trace in situations(handbook, 200, seed=3):
        for step in trace.steps:
            values = valuation(extracted.predicates, step)
            for rule in known:
                if None not in [values[n] for n in rule.predicates]:
                    assert holds(rule.formula, [frozenset(n for n, v in values.items() if v)]), rule.text
