"""Probabilities of rules against enumeration of every trace and against Storm."""

import itertools
import math
import random

import pytest
from formulas import BINARY, UNARY, random_formula
from oracles.uncertain import by_storm, distribution, probability

from wb.logic import formula as F
from wb.logic.automaton import AutomatonError
from wb.logic.semantics import holds, parse


def enumerated(formula, trace, names="ab"):
    """The definition: the probabilities of all traces on which the formula holds, added up."""
    steps = [frozenset(s) for n in range(len(names) + 1) for s in itertools.combinations(names, n)]
    total = 0.0
    for certain in itertools.product(steps, repeat=len(trace)):
        if holds(formula, certain):
            total += math.prod(
                row[n] if n in step else 1 - row[n] for row, step in zip(trace, certain, strict=True) for n in names
            )
    return total


def random_row(rng, names="ab"):
    return {name: rng.choice([0.0, 1.0, rng.random(), rng.random()]) for name in names}


def test_the_probability_is_the_sum_over_all_traces_of_past_and_future_rules():
    rng = random.Random(1)
    for _ in range(120):
        formula = random_formula(rng, 3, "ab")
        trace = [random_row(rng) for _ in range(rng.randint(1, 4))]
        assert probability(formula, trace) == pytest.approx(enumerated(formula, trace), abs=1e-12), formula


def test_storm_computes_the_same_probability():
    rng = random.Random(2)
    future = tuple(op for op in UNARY if op not in F.PAST), tuple(op for op in BINARY if op not in F.PAST)
    past = tuple(op for op in UNARY if op not in F.FUTURE), tuple(op for op in BINARY if op not in F.FUTURE)
    for _ in range(60):
        inner = random_formula(rng, 2, "abc", *past)  # future over past: what a rule about a call looks like
        formula = F.substitute(random_formula(rng, 2, "ab", *future), {F.Atom("a"): inner})
        trace = [random_row(rng, "abc") for _ in range(rng.randint(1, 8))]
        assert by_storm(formula, trace) == pytest.approx(probability(formula, trace), abs=1e-9), formula
    with pytest.raises(ValueError, match="look only at the past"):
        by_storm(parse("ONCE NEXT a"), [{"a": 0.5}])


def test_certain_predicates_give_the_verdict_of_the_definition():
    rng = random.Random(3)
    for _ in range(100):
        formula = random_formula(rng, 3, "ab")
        trace = [{name for name in "ab" if rng.random() < 0.5} for _ in range(4)]
        assert probability(formula, [dict.fromkeys(step, 1.0) for step in trace]) == float(holds(formula, trace))


def test_a_known_case_and_its_verdicts():
    rule = parse("ALWAYS (pays IMPLIES of_age)")
    assert probability(rule, [{"pays": 1.0, "of_age": 0.9}, {"pays": 0.5, "of_age": 0.8}]) == pytest.approx(
        0.9 * (1 - 0.5 * 0.2)
    )
    found = distribution(parse("EVENTUALLY a"), [{"a": 0.25}, {"a": 0.5}])
    assert found["permanently_true"] == pytest.approx(1 - 0.75 * 0.5) and sum(found.values()) == pytest.approx(1.0)
    assert found["currently_false"] == pytest.approx(0.375)


@pytest.mark.parametrize(
    "trace, words",
    [([], "at least one step"), ([{"a": 1.5}], "0..1"), ([{"a": math.nan}], "0..1"), ([{"a": -0.1}], "0..1")],
)
def test_what_is_no_probability_is_refused(trace, words):
    with pytest.raises(ValueError, match=words):
        probability(parse("a"), trace)


def test_too_many_uncertain_predicates_are_a_clear_error():
    with pytest.raises(AutomatonError, match="at most 8 uncertain predicates"):
        probability(F.disjunction(tuple(F.Atom(f"p{i}") for i in range(20))), [{}])
