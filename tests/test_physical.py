"""Physical rules against all values of the field that the two tests could see."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from operator import eq, ge, gt, le, lt, ne

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wb.domain.tools import Field, Schema, Tool, Toolbox
from wb.logic import cel, evaluation
from wb.logic.formula import Always, And, Atom, Constant, Iff, Implies, Not, Or
from wb.logic.semantics import holds
from wb.rules import physical
from wb.rules.rule import Predicate, Rule, RuleSet

INTEGER = Toolbox(state=(Field("x", "integer"),))


def state(name: str, op: str, value, field: str = "state.x", tools: tuple[str, ...] = ()) -> Predicate:
    return Predicate(name, "state", "", tools=tools, test=cel.parse(f"{field} {op} {json.dumps(value)}"))


def meaning(formula, p: bool, q: bool) -> bool:
    """Truth of a propositional formula over p and q, by its own small table."""
    match formula:
        case Atom("p"):
            return p
        case Atom("q"):
            return q
        case Not(body):
            return not meaning(body, p, q)
        case And(a, b):
            return meaning(a, p, q) and meaning(b, p, q)
        case Or(a, b):
            return meaning(a, p, q) or meaning(b, p, q)
        case Implies(a, b):
            return not meaning(a, p, q) or meaning(b, p, q)
        case Iff(a, b):
            return meaning(a, p, q) == meaning(b, p, q)
    raise AssertionError(formula)


MEANING = {"==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
tests_of_numbers = st.tuples(st.sampled_from(sorted(MEANING)), st.integers(-4, 4))


@given(left=tests_of_numbers, right=tests_of_numbers, whole=st.booleans())
def test_a_relation_of_numbers_allows_exactly_the_pairs_that_occur(left, right, whole):
    p, q = state("p", *left), state("q", *right)
    values = range(-9, 10) if whole else [v / 4 for v in range(-36, 37)]
    occur = {(MEANING[left[0]](v, left[1]), MEANING[right[0]](v, right[1])) for v in values}
    relation = physical.between(p, q, INTEGER if whole else None)
    allowed = {(a, b) for a in (True, False) for b in (True, False) if relation is None or meaning(relation, a, b)}
    assert allowed == occur


def test_an_older_age_limit_implies_a_younger_one():
    rules = physical.rules([state("adult", ">=", 18), state("teen", ">=", 15)])
    assert [r.formula for r in rules] == [Always(Implies(Atom("adult"), Atom("teen")))]
    assert rules[0].type == "physical" and "adult implies teen" in rules[0].text


def test_over_integers_more_than_17_is_at_least_18_and_over_numbers_it_is_not():
    pair = state("p", ">", 17), state("q", ">=", 18)
    assert physical.between(*pair, INTEGER) == Iff(Atom("p"), Atom("q"))
    assert physical.between(*pair) == Implies(Atom("q"), Atom("p"))


ROLES = Toolbox(state=(Field("x", "string", values=("nurse", "physician", "administrator")),))


def test_two_values_of_one_field_exclude_each_other_and_never_fill_an_enumeration():
    pair = state("p", "==", "red"), state("q", "==", "blue")
    assert physical.between(*pair) == Not(And(Atom("p"), Atom("q")))
    declared = Toolbox(state=(Field("x", "string", values=("red", "blue")),))
    assert physical.between(*pair, declared) == Not(And(Atom("p"), Atom("q")))


def test_who_is_neither_nurse_nor_physician_need_not_be_the_administrator():
    administrator, staff = state("p", "==", "administrator"), state("q", "in", ("nurse", "physician"))
    assert physical.between(administrator, staff, ROLES) == Not(And(Atom("p"), Atom("q")))
    assert physical.between(administrator, state("q", "!=", "administrator"), ROLES) == Iff(Atom("p"), Not(Atom("q")))


def test_true_and_false_of_one_field_are_each_other_s_negation():
    assert physical.between(state("p", "==", True), state("q", "==", False)) == Iff(Atom("p"), Not(Atom("q")))


def test_counts_are_compared_by_how_many_items_there_are():
    pair = state("p", "<=", 5, "size(call.items)", ("t",)), state("q", "<", 4, "size(call.items)", ("t",))
    assert physical.between(*pair) == Implies(Atom("q"), Atom("p"))
    assert physical.between(pair[0], replace(pair[1], tools=("t", "u"))) is None, "another tool's items"


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (("a",), ("a",), Iff(Atom("p"), Atom("q"))),
        (("a",), ("a", "b"), Implies(Atom("p"), Atom("q"))),
        (("a", "b"), ("b",), Implies(Atom("q"), Atom("p"))),
        (("a",), ("b",), None),
        ((), ("b",), None),
        ((), (), None),
    ],
)
def test_actions_are_bound_by_their_tools(left, right, expected):
    assert (
        physical.between(Predicate("p", "action", "", tools=left), Predicate("q", "action", "", tools=right))
        == expected
    )


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (state("p", ">=", 18), state("q", ">=", 18, "state.y")),
        (state("p", ">=", 18), state("q", "<=", 3, "size(state.x)")),
        (state("p", ">=", 18), Predicate("q", "state", "")),
        (state("p", ">=", 18), Predicate("q", "action", "", tools=("t",))),
    ],
)
def test_different_fields_measures_or_kinds_are_not_bound(left, right):
    assert physical.between(left, right) is None


def test_physical_rules_stand_beside_the_rule_set_s_own():
    own = Rule("r1", "", Always(Implies(Atom("act"), Atom("p"))), "permit_only_if")
    ruleset = RuleSet((Predicate("act", "action", ""), state("p", ">=", 18), state("q", ">=", 15)), (own,))
    both = physical.beside(ruleset)
    assert both.rules[0] == own and [r.type for r in both.rules] == ["action", "physical"]


def test_a_test_that_is_always_true_or_always_false_is_a_constant():
    for test, expected in {
        "true": True,
        "false": False,
        "state.x > 3 || state.x <= 3": True,
        "state.x > 3 && state.x < 2": False,
        "state.x > 3": None,
        "state.x > 3 || state.y <= 3": None,
    }.items():
        assert physical.constant(Predicate("p", "state", "", test=cel.parse(test)), INTEGER) is expected, test
    assert physical.constant(Predicate("p", "state", "")) is None
    between = Predicate("p", "state", "", test=cel.parse("state.x > 3 && state.x < 4"))
    assert physical.constant(between, INTEGER) is False and physical.constant(between) is None


def test_what_one_fact_says_of_another_for_one_object_is_no_more_than_that():
    few, more = state("a", "<=", 3), state("b", "<=", 5)
    assert physical._of_one(few, more) == Implies(Atom("a"), Atom("b"))
    assert physical._of_one(more, few) is None, "each pair once, in the order of the names"
    assert physical._of_one(few, state("b", "<=", 3)) is None, "no two of the same"
    assert physical._of_one(few, state("b", ">", 3)) is None
    assert physical._of_one(few, state("b", ">", 5)) in (
        Not(And(Atom("a"), Atom("b"))),
        Implies(Atom("a"), Not(Atom("b"))),
    )
    pay = Predicate("pay", "action", "", tools=("pay",))
    both = Predicate("any", "action", "", tools=("pay", "lend"))
    assert physical._of_one(pay, both) == Implies(Atom("pay"), Atom("any")) and physical._of_one(both, pay) is None
    assert physical._of_one(pay, few) is None


def test_an_argument_may_be_left_out_or_null_whatever_is_declared():
    """Of a field of the state that is left out nothing is known, so that nothing has to be told of it."""
    schema = {"enum": ["illness", "weather", None], "type": ["string", "null"]}
    box = Toolbox(tools=(Tool("t", "", (Field("x", "string", values=("illness", "weather"), schema=schema),)),))
    tests = {"g": "has(call.x)", "i": "call.x == 'illness'", "s": "call.x != null"}
    rows = [Predicate(name, "state", "", tools=("t",), test=cel.parse(test)) for name, test in tests.items()]
    background = And(physical.given(physical.rules(rows, box)), And(*physical.enumerated(rows, box), Constant(True)))
    for arguments in ({}, {"x": None}, {"x": "illness"}, {"x": "weather"}):
        known = [evaluation.holds(one.test, {"call": arguments}) for one in rows]
        for truths in product(*[(False, True) if truth is None else (truth,) for truth in known]):
            step = frozenset(one.name for one, truth in zip(rows, truths, strict=True) if truth)
            assert holds(background, [step]), (arguments, step)
    both = [rows[1], replace(rows[1], name="w", test=cel.parse("call.x == 'weather'"))]
    assert not holds(physical.enumerated(both, box)[0], [frozenset()]), "one of the declared values where it is known"
    assert physical.constant(rows[0], box) is None


@pytest.mark.parametrize("null", [True, False])
def test_an_enumeration_leaves_its_null_possible_where_it_has_one(null: bool) -> None:
    """Two readings that part at a null must not be held to be the same."""
    declared = Schema({"type": ["string", "null"], "enum": ["gold", "basic", None]} if null else {"type": "string"})
    box = Toolbox(state=(Field("level", "string", values=("gold", "basic"), schema=declared),))
    rows = [
        Predicate(name, "state", "", test=cel.parse(test))
        for name, test in (
            ("nul", "state.level == null"),
            ("gold", 'state.level == "gold"'),
            ("basic", 'state.level == "basic"'),
        )
    ]
    (law,) = physical.enumerated(rows, box)
    worlds = [dict(zip(("nul", "gold", "basic"), truths, strict=True)) for truths in product((True, False), repeat=3)]
    left = [world for world in worlds if holds(law, ({name for name in world if world[name]},))]
    assert {"nul": False, "gold": True, "basic": False} in left and {"nul": False, "gold": False, "basic": True} in left
    assert any(world["nul"] for world in left) is null
