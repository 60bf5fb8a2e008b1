"""The shared values: tools, traces, predicates, rules, verdicts. Every accept has a reject."""

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wb.domain import tools
from wb.domain.trace import Call, Step, Trace, Verdict, permitted
from wb.logic import cel
from wb.logic.formula import Always, And, Atom, Implies, Not, Or, atoms, conjunction, disjunction, subformulas
from wb.rules import truths
from wb.rules.rule import Predicate, Rule, RuleSet

AGE = Predicate("of_age", "state", "at least 18", test=cel.parse("state.age >= 18"))
PAY = Predicate("pay", "action", "pays", tools=("pay",))


def test_both_shapes_of_tools_json_give_the_same_tools() -> None:
    bare = {
        "name": "pay",
        "description": "Pays.",
        "parameters": {"type": "object", "properties": {"amount": {"type": "number"}}, "required": ["amount"]},
    }
    wrapped = {"type": "function", "function": bare}
    expected = tools.parse(json.dumps([bare])).tools
    assert tools.parse(json.dumps([wrapped])).tools == expected
    assert tools.parse(json.dumps({"tools": [bare]})).tools == expected
    assert expected[0].arguments[0] == tools.Field("amount", "number", required=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "JSON was required"),
        ("3", "a list of tools"),
        ('[{"description": "x"}]', "'name'"),
        ('[{"name": "a"}, {"name": "a"}]', "name of its own"),
        ('[{"name": "state"}]', "tools[0]: a tool of another name was required"),
        ('[{"name": "a", "parameters": {"properties": {"n": {"type": "date"}}}}]', "'type' must be one of"),
        ('[{"name": "a", "keywords": "x"}]', "list of texts"),
        ('{"tools": [], "state": [{"type": "integer"}]}', "state[0]"),
    ],
)
def test_a_malformed_tools_json_says_where_and_what(text: str, message: str) -> None:
    with pytest.raises(tools.ToolError, match=message.replace("[", r"\[").replace("]", r"\]")):
        tools.parse(text)


@pytest.mark.parametrize(
    ("op", "value", "field", "expected"),
    [
        (">=", 18, 18, True),
        (">=", 18, 17, False),
        ("<", 18, 17, True),
        ("<", 18, 18, False),
        ("<=", 5, 5, True),
        (">", 5, 5, False),
        ("==", True, True, True),
        ("==", True, False, False),
        ("==", True, None, None),
        (">=", 18, None, None),
        (">=", 18, "18", None),
        (">=", 1, True, None),
        ("==", True, 1, None),
        ("in", ("a", "b"), "b", True),
        ("in", ("a", "b"), "c", False),
        ("!=", "a", "b", True),
    ],
)
def test_a_test_holds_by_its_table_and_unknown_stays_unknown(op, value, field, expected) -> None:
    limit = json.dumps(value)
    known = Predicate("p", "state", "", test=cel.parse(f"state.x {op} {limit}"))
    assert truth(known, Step(state={} if field is None else {"x": field})) is expected


def truth(predicate: Predicate, step: Step, call: Call | None = None) -> bool | None:
    return truths.reader(predicate)(step, call)


def test_a_count_measures_items_and_nothing_else() -> None:
    few = Predicate("few", "state", "", tools=("book",), test=cel.parse("size(call.guests) <= 2"))
    found = [truth(few, Step((Call("book", {"guests": v}),))) for v in ([1, 2], (1, 2), [1, 2, 3], 1, {}, "a")]
    assert found == [True, True, False, None, None, None]


def test_a_test_reads_the_call_that_is_asked_about_or_all_of_the_step_where_they_agree() -> None:
    few = Predicate("few", "state", "", tools=("book", "hold"), test=cel.parse("size(call.guests) <= 2"))
    free = replace(few, tools=())
    small, large, other = Call("book", {"guests": [1]}), Call("hold", {"guests": [1, 2, 3]}), Call("pay", {"sum": 1})
    for test in (few, free):
        assert truth(test, Step((small, large)), small) is True
        assert truth(test, Step((small, large)), large) is False
        assert truth(test, Step((small, large))) is None, "the calls differ"
        assert truth(test, Step((small, small))) is True
        assert truth(test, Step((small, other))) is None, "a rule may mean the other call"
        assert truth(test, Step((other,))) is None
        assert truth(test, Step((small, other)), other) is None, "the call itself does not tell"


def test_a_value_outside_its_enumeration_is_unknown_for_each_tool_by_itself() -> None:
    box = tools.Toolbox(
        (
            tools.Tool("book", arguments=(tools.Field("room", "integer", values=("1", "2")),)),
            tools.Tool("hold", arguments=(tools.Field("room", "integer"),)),
        ),
        (tools.Field("role", "string", values=("nurse", "physician")),),
    )
    listed = tools.enumerations(box)
    first = truths.reader(Predicate("p", "state", "", tools=("book", "hold"), test=cel.parse("call.room == 1")), listed)
    told = [first(Step(), Call(tool, {"room": room})) for tool in ("book", "hold") for room in (1, 2, 3, "1")]
    assert told == [True, False, None, None, True, False, False, None]
    nurse = truths.reader(Predicate("p", "state", "", test=cel.parse('state.role != "nurse"')), listed)
    assert [nurse(Step(state={"role": r}), None) for r in ("nurse", "physician", "visitor")] == [False, True, None]


NULLABLE = tools.Toolbox(
    (tools.Tool("waive"),),
    tuple(
        tools.Field(
            name,
            "string",
            values=listed,
            schema=tools.Schema({"type": declared}),
            source=source,
        )
        for name, listed, declared, source in (
            ("debt", (), ("string", "null"), None),
            ("kind", ("fee", "fine"), ("string", "null"), None),
            ("plain", (), "string", None),
            ("read", (), ("string", "null"), tools.Source("said", "user")),  # null is what was not found
        )
    ),
)


@pytest.mark.parametrize(
    ("test", "of_null", "of_a_text"),
    [
        ("state.debt == null", True, False),
        ("state.debt != null", False, True),
        ("state.kind == null", True, False),
        ('state.kind != null && state.kind == "fee"', False, True),
        ('state.debt == "fee"', None, True),  # equal to null alone
        ("has(state.debt)", None, True),
        ("state.plain == null", None, False),
        ("state.read != null", None, True),
    ],
)
def test_a_null_is_a_value_where_a_told_field_is_declared_to_have_one(test, of_null, of_a_text) -> None:
    told = truths.reader(Predicate("p", "state", "", test=cel.parse(test)), tools.enumerations(NULLABLE))
    name = re.search(r"state\.(\w+)", test).group(1)
    assert told(Step(state={name: None}), None) is of_null
    assert told(Step(state={name: "fee"}), None) is of_a_text
    assert told(Step(), None) is None
    strange = told(Step(state={name: "strange"}), None)
    assert strange is None if name == "kind" else strange is (False if '"fee"' in test else of_a_text)


def test_truth_is_read_off_a_step_and_absence_is_unknown() -> None:
    step = Step((Call("pay", {"amount": 3}),), {"age": 20})
    assert {name: read(step, None) for name, read in truths.readers((AGE, PAY)).items()} == {
        "of_age": True,
        "pay": True,
    }
    assert {name: read(Step(), None) for name, read in truths.readers((AGE, PAY)).items()} == {
        "of_age": None,
        "pay": False,
    }


def test_a_free_state_predicate_is_read_by_name_only_when_boolean() -> None:
    free = Predicate("consented", "state", "the user consented")
    assert truth(free, Step(state={"consented": False})) is False
    assert truth(free, Step(state={"consented": "yes"})) is None


@pytest.mark.parametrize(
    "build",
    [
        lambda: Predicate("Bad", "state", ""),
        lambda: Predicate("a", "other", ""),
        lambda: Predicate("a", "state", "", tools=("t",)),
        lambda: Predicate("a", "state", "", tools=("t",), test=cel.parse("state.age == 1")),
        lambda: Predicate("a", "action", "", tools=("t",), test=cel.parse("call.age == 1")),
        lambda: Predicate("a", "state", "", test="state.age == 1"),
        lambda: Trace("t", ()),
        lambda: Atom("A"),
        lambda: Verdict("maybe", "x"),
        lambda: Verdict("allow", ""),
        lambda: Verdict("allow", "ok", ("r1",)),
    ],
)
def test_impossible_values_cannot_be_built(build) -> None:
    with pytest.raises(ValueError):
        build()


def test_a_rule_set_refuses_what_does_not_fit() -> None:
    rule = Rule("r1", "pay only of age", Always(Implies(Atom("pay"), Atom("of_age"))), "permit_only_if")
    rules = RuleSet((AGE, PAY), (rule,))
    assert rules.actions(rule) == (PAY,) and rule.predicates == ("pay", "of_age")
    with pytest.raises(ValueError, match="not declared"):
        RuleSet((AGE,), (rule,))
    with pytest.raises(ValueError, match="id of its own"):
        RuleSet((AGE, PAY), (rule, rule))
    with pytest.raises(ValueError, match="name of its own"):
        RuleSet((AGE, AGE), ())


@pytest.mark.parametrize(("decision", "runs"), [("allow", True), ("deny", False), ("undecided", False)])
def test_only_allow_runs_the_action(decision, runs) -> None:
    assert permitted(Verdict(decision, "because")) is runs


formulas = st.recursive(
    st.sampled_from("abc").map(Atom),
    lambda inner: st.one_of(
        inner.map(Not),
        inner.map(Always),
        st.tuples(inner, inner).map(lambda p: And(*p)),
        st.tuples(inner, inner).map(lambda p: Or(*p)),
    ),
    max_leaves=12,
)


@given(formulas)
def test_subformulas_come_before_the_formulas_that_hold_them(formula) -> None:
    order = subformulas(formula)
    assert order[-1] == formula and len(set(order)) == len(order)
    assert set(atoms(formula)) == {f.name for f in order if isinstance(f, Atom)}


def test_operators_with_the_same_operands_differ() -> None:
    a, b = Atom("a"), Atom("b")
    assert And(a, b) != Or(a, b) and And(a, b) == And(a, b)
    assert conjunction(()) != disjunction(()) and conjunction((a,)) == a == disjunction((a,))
