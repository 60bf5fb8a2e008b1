"""Sets of steps against truth tables."""

import itertools
import random

import pytest
from formulas import random_formula

from wb.logic import formula as F
from wb.logic.bdd import ALL, NONE, StepsError, StepSets, possible
from wb.logic.semantics import holds, parse

PLAIN = (F.Not,), (F.And, F.Or, F.Xor, F.Implies, F.Iff)
EVERY = [frozenset(s) for n in range(5) for s in itertools.combinations("abcd", n)]


def test_a_set_of_steps_is_the_truth_table_of_its_formula():
    rng = random.Random(1)
    for _ in range(300):
        one, two = (random_formula(rng, 4, "abcd", *PLAIN) for _ in range(2))
        steps = StepSets("abcd")
        first, second = steps.of(one), steps.of(two)
        true = [step for step in EVERY if holds(one, [step])]
        assert (first == second) == all(holds(F.Iff(one, two), [step]) for step in EVERY)
        assert (steps.both(first, second) == NONE) == (not any(holds(F.And(one, two), [step]) for step in EVERY))
        assert (first == NONE) == (not true) and (first == ALL) == (len(true) == 16)
        if true:
            assert steps.least(first) in true and len(steps.least(first)) == min(map(len, true))


def test_the_possible_truths_of_tests_are_those_that_some_step_has():
    rng = random.Random(2)
    for _ in range(100):
        tests = [random_formula(rng, 3, "abcd", *PLAIN) for _ in range(3)]
        seen = {sum(holds(test, [step]) << i for i, test in enumerate(tests)) for step in EVERY}
        found = possible(tests)
        assert set(found) == seen
        for code, step in found.items():
            assert code == sum(holds(test, [step]) << i for i, test in enumerate(tests))


def test_what_is_too_large_or_temporal_is_refused():
    with pytest.raises(StepsError, match="at most 100 combinations"):
        possible([F.Atom(f"p{i}") for i in range(10)], limit=100)
    with pytest.raises(ValueError, match="operator Always"):
        StepSets("a").of(parse("ALWAYS a"))
    with pytest.raises(ValueError, match="empty"):
        StepSets("a").least(NONE)
