"""Which answers may let a call through: a truth that is not among the helpful ones never makes a formula hold."""

import random

import pytest
from formulas import random_formula, random_trace
from hypothesis import given
from hypothesis import strategies as st

from wb.domain import tools
from wb.logic.semantics import holds
from wb.logic.syntax import parse
from wb.rules import rule
from wb.rules.rule import Predicate, Rule, RuleSet


@given(st.randoms(use_true_random=False))
def test_what_is_not_helpful_never_makes_a_formula_hold(rng: random.Random) -> None:
    formula, steps = random_formula(rng, 4, "abc"), list(random_trace(rng, "abc", 4))
    for name, signs in rule.helpful([formula]).items():
        at = rng.randrange(len(steps))
        for value in {True, False} - signs:
            before, after = list(steps), list(steps)
            before[at] = steps[at] - {name} if value else steps[at] | {name}
            after[at] = steps[at] | {name} if value else steps[at] - {name}
            assert holds(formula, before) or not holds(formula, after), f"{name} to {value} helped"


@pytest.mark.parametrize(
    ("formula", "permits"),
    [
        ("ALWAYS (pay IMPLIES agreed)", (True,)),
        ("ALWAYS (pay IMPLIES NOT agreed)", (False,)),
        ("ALWAYS ((pay AND agreed) IMPLIES NOT agreed)", (False,)),
        ("ALWAYS (pay IFF agreed)", None),
        ("ALWAYS (pay IMPLIES (agreed XOR ONCE agreed))", None),
    ],
)
def test_an_answer_that_can_only_deny_needs_no_quotation(formula: str, permits: tuple | None) -> None:
    box = tools.parse('{"tools": [{"name": "pay"}]}')
    agreed = Predicate("agreed", "state", "agreed", question="Did they agree?")
    used = (Predicate("pay", "action", "pay", tools=("pay",)), agreed)
    (field,) = rule.toolbox(box, RuleSet(used, (Rule("r", "", parse(formula), "oblige"),))).state
    assert field.source.permits == permits
    # a field that was made before the rules were known is made anew
    assert rule.toolbox(
        rule.toolbox(box, RuleSet(used)), RuleSet(used, (Rule("r", "", parse(formula), "oblige"),))
    ).state == (field,)
