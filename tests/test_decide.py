"""Decisions against brute force over all short traces, and their evidence."""

import itertools
import random

import pytest
from formulas import random_formula

from wb.logic import decide
from wb.logic import formula as F
from wb.logic.semantics import holds, parse

STEPS = [frozenset(s) for s in ((), "a", "b", "ab")]
SHORT = [trace for length in (1, 2, 3) for trace in itertools.product(STEPS, repeat=length)]


def brute(formula):
    """A shortest trace of up to three steps that satisfies the formula, or None."""
    return next((trace for trace in SHORT if holds(formula, trace)), None)


def test_a_witness_is_as_short_as_brute_force_finds():
    rng = random.Random(2)
    for _ in range(250):
        formula, given = random_formula(rng, 2, "ab"), random_formula(rng, 2, "ab")
        answer, short = decide.satisfiable(formula, given), brute(F.And(formula, given))
        if short is not None:
            assert answer and len(answer.witness) == len(short) and holds(F.And(formula, given), answer.witness)
        elif answer:
            assert len(answer.witness) > 3 and holds(F.And(formula, given), answer.witness)
        else:
            assert answer.witness is None and answer.core


def test_implication_equivalence_and_contradiction_agree_with_each_other_and_with_brute_force():
    rng = random.Random(3)
    for _ in range(200):
        one, two = random_formula(rng, 2, "ab"), random_formula(rng, 2, "ab")
        there, back = decide.implies(one, two), decide.implies(two, one)
        assert bool(decide.equivalent(one, two)) == (bool(there) and bool(back))
        assert bool(decide.contradictory(one, two)) == bool(decide.implies(one, F.Not(two)))
        for answer, formula in ((there, F.And(one, F.Not(two))), (back, F.And(two, F.Not(one)))):
            short = brute(formula)
            assert not (answer and short), (one, two)
            assert answer or holds(formula, answer.witness)
            assert answer or short is None or len(answer.witness) == len(short)


@pytest.mark.parametrize(
    "one, two, expected",
    [
        ("ALWAYS (a AND b IMPLIES NOT c)", "ALWAYS (a AND b AND d IMPLIES NOT c)", True),
        ("ALWAYS (a IMPLIES b)", "ALWAYS (b IMPLIES a)", False),
        ("ALWAYS (a IMPLIES NEXT b)", "ALWAYS (a IMPLIES EVENTUALLY b)", True),
        ("ALWAYS (a IMPLIES PREVIOUSLY b)", "ALWAYS (a IMPLIES ONCE b)", True),
        ("ALWAYS (a IMPLIES ONCE b)", "ALWAYS (a IMPLIES PREVIOUSLY b)", False),
    ],
)
def test_rules_imply_each_other_as_they_read(one, two, expected):
    answer = decide.implies(parse(one), parse(two))
    assert bool(answer) == expected and (answer.witness is None) == expected


def test_a_core_loses_its_answer_without_any_one_of_its_formulas():
    given = parse(
        "ALWAYS (a IMPLIES b) AND ALWAYS (b IMPLIES c) AND ALWAYS (d IMPLIES NOT a) AND ALWAYS (c IMPLIES NOT e)"
    )
    answer = decide.contradictory(parse("EVENTUALLY (a AND e)"), parse("ALWAYS (f OR NOT f)"), given)
    assert answer and len(answer.core) == 4
    for left_out in answer.core:
        rest = F.conjunction(tuple(f for f in answer.core if f != left_out))
        assert decide.satisfiable(rest)


@pytest.mark.parametrize(
    "rule, given, expected",
    [
        ("ALWAYS (a AND NOT a IMPLIES b)", "true", True),
        ("ALWAYS (a IMPLIES b)", "true", False),
        ("ALWAYS (a AND b IMPLIES c)", "ALWAYS NOT (a AND b)", True),
        ("EVENTUALLY (a OR true)", "true", True),
        ("ALWAYS (a AND PREVIOUSLY a IMPLIES b)", "ALWAYS (a IMPLIES WEAK_NEXT NOT a)", True),
    ],
)
def test_a_rule_is_vacuous_when_it_can_never_fire(rule, given, expected):
    answer = decide.vacuous(parse(rule), parse(given))
    assert bool(answer) == expected
    assert expected or holds(F.Eventually(decide.trigger(parse(rule))), answer.witness)


def test_valid_and_its_counterexample():
    assert decide.valid(parse("ALWAYS a OR EVENTUALLY NOT a"))
    answer = decide.valid(parse("EVENTUALLY a"))
    assert not answer and answer.witness == (frozenset(),)
