"""Contracts come from formulas alone, hold both sides, and are refused where they would prove nothing.

The tables `tables/contract_*.txt` were checked by hand: a test (and the tools whose calls it reads) or a rule and its
tool; the condition; and what fills its parameters.
"""

from __future__ import annotations

import ast
import importlib.util
import itertools
import re
from pathlib import Path

import pytest
from conftest import table
from hypothesis import given
from hypothesis import strategies as st
from test_bearing import BOX as ORDERS
from test_bearing import ruleset

from wb.domain.tools import Field, Schema, Tool, Toolbox
from wb.guards import contract, faults, sandbox
from wb.guards.contract import Parameter
from wb.logic import cel, evaluation, facts, semantics, syntax
from wb.logic import formula as F
from wb.rules import binding, residual
from wb.rules.rule import Predicate, Rule, RuleSet

PREDICATES = (
    Predicate("book", "action", "", tools=("book",)),
    Predicate("pay", "action", "", tools=("pay",)),
    Predicate("dream", "action", ""),
    Predicate("adult", "state", "", test=cel.parse("state.age >= 18")),
    Predicate("teen", "state", "", test=cel.parse("state.age >= 13")),
    Predicate("few", "state", "", tools=("book",), test=cel.parse("size(call.guests) <= 5")),
    Predicate("special", "state", "", test=cel.parse('state.level in ["gold", "silver"]')),
    Predicate("cheap", "state", "", tools=("book",), test=cel.parse("call.price <= 100")),
    Predicate("confirmed", "state", ""),
)
TOOLS = Toolbox(
    (
        Tool(
            "book",
            arguments=(
                Field("guests", "array"),
                Field("price", "number"),
                Field("parts", "array", schema=Schema({"type": "array", "items": {"type": "integer"}})),
            ),
        ),
        Tool("pay"),
        Tool("look"),
    )
)


def rules(*texts: str) -> RuleSet:
    return RuleSet(PREDICATES, tuple(Rule(f"r{i}", t, semantics.parse(t), "forbid") for i, t in enumerate(texts, 1)))


def of(tool: str, *texts: str) -> contract.Contract:
    return contract.contract(TOOLS.tool(tool), rules(*texts), TOOLS.state)


def test_what_two_bindings_must_agree_on_is_one_truth_that_the_evaluator_tells() -> None:
    disputed = binding.both([cel.parse("state.age > 3"), cel.parse("state.age >= 4.5")])
    made = contract.contract(
        TOOLS.tool("book"),
        RuleSet(
            (PREDICATES[0], Predicate("old", "state", "", test=disputed)),
            (Rule("r1", "x", semantics.parse("ALWAYS (book IMPLIES old)"), "forbid"),),
        ),
        TOOLS.state,
    )
    assert [(one.name, one.type, one.test) for one in made.parameters] == [("old", "bool", disputed)]
    known = [evaluation.compiled(disputed)({"age": age}, {}) for age in (3, 4, 5, None)]
    assert known == [False, None, True, None]


def test_a_rule_gives_an_ensures_of_its_own_and_a_part_of_the_allow_side() -> None:
    made = of("book", "ALWAYS (book IMPLIES adult)", "ALWAYS (book IMPLIES confirmed)")
    assert made.signature == "def policy_book(age: int, confirmed: bool) -> Tuple[bool, str]:"
    assert made.lines() == (
        "Ensures(Implies(Result()[0], age >= 18))",
        "Ensures(Implies(Result()[0], confirmed))",
        "Ensures(Implies((age >= 18) and confirmed, Result()[0]))",
    )


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("ALWAYS (book IMPLIES NOT adult)", "not (age >= 18)"),
        ("ALWAYS (NOT book)", "False"),
        (
            "ALWAYS ((book AND special) IMPLIES few)",
            "(not (level == 'gold' or level == 'silver')) or (count_guests <= 5)",
        ),
        ("ALWAYS (book IMPLIES cheap)", "cheap"),
        ("ALWAYS (book IMPLIES ONCE confirmed)", "once_confirmed"),
        ("(NOT book) WEAK_UNTIL confirmed", "once_confirmed"),
        ("NOT EVENTUALLY book", "False"),
        ("ALWAYS (NOT (book AND pay))", "not pay"),
        ("ALWAYS (book IMPLIES (adult XOR confirmed))", "not ((age >= 18) == confirmed)"),
    ],
)
def test_a_condition_says_what_is_left_of_the_rule_at_a_call(text: str, condition: str) -> None:
    assert [i.condition for i in of("book", text).items] == [condition]


@pytest.mark.parametrize(
    "text",
    [
        "ALWAYS (pay IMPLIES adult)",
        "ALWAYS (adult IMPLIES confirmed)",
        "ALWAYS (pay IMPLIES ONCE book)",
        "ALWAYS (book IMPLIES EVENTUALLY pay)",
        "EVENTUALLY book",
        "ALWAYS (confirmed IMPLIES book)",
    ],
)
def test_a_rule_that_the_call_cannot_break_is_not_in_its_contract(text: str) -> None:
    assert of("book", text).items == ()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("ALWAYS (book IMPLIES EVENTUALLY pay)", "later step"),
        ("ALWAYS (dream IMPLIES adult)", "no tool carries out dream"),
        ("ALWAYS (adult IMPLIES teen)", "names no action"),
        ("ALWAYS (confirmed IMPLIES book)", "no call of a tool can break it"),
    ],
)
def test_a_rule_that_no_guard_can_decide_is_named_with_its_reason(text: str, reason: str) -> None:
    found = residual.unguarded(TOOLS, rules(text, "ALWAYS (book IMPLIES adult)"))
    assert [(u.rule, reason in u.reason) for u in found] == [("r1", True)]


def test_a_tool_that_no_rule_concerns_must_be_allowed() -> None:
    assert of("look", "ALWAYS (book IMPLIES adult)").lines() == ("Ensures(Result()[0])",)


def test_a_tool_that_is_forbidden_outright_must_be_denied() -> None:
    assert of("book", "ALWAYS (NOT book)", "ALWAYS (book IMPLIES adult)").lines()[-1] == "Ensures(not Result()[0])"


def test_two_fields_of_one_name_are_two_parameters() -> None:
    predicates = (
        Predicate("book", "action", "", tools=("book",)),
        Predicate("a", "state", "", test=cel.parse("state.age > 1")),
        Predicate("b", "state", "", tools=("book",), test=cel.parse("call.age > 2")),
        Predicate("c", "state", "", test=cel.parse("state.class == 1")),
    )
    rule = Rule("r", "", semantics.parse("ALWAYS (book IMPLIES (a AND b AND c))"), "forbid")
    made = contract.contract(Tool("book"), RuleSet(predicates, (rule,)))
    assert [p.name for p in made.parameters] == ["age", "age_2", "class_2"]


BODIES = st.recursive(
    st.sampled_from([F.Atom(p.name) for p in PREDICATES if p.name != "dream"]),
    lambda inner: st.one_of(
        st.builds(F.Not, inner),
        st.builds(F.Once, inner),
        st.builds(F.And, inner, inner),
        st.builds(F.Or, inner, inner),
        st.builds(F.Implies, inner, inner),
        st.builds(F.Xor, inner, inner),
        st.builds(F.Iff, inner, inner),
    ),
    max_leaves=6,
)


def reads_now(body: F.Formula) -> bool:
    """Whether `book` is read at the step itself: past subformulas are told, not decided, at a call."""
    if isinstance(body, F.Once):
        return False
    return body == F.Atom("book") or any(reads_now(child) for child in F.children(body))


@given(BODIES, st.lists(st.frozensets(st.sampled_from(("pay", "confirmed", "cheap", "book"))), max_size=2), st.data())
def test_a_condition_is_true_exactly_where_the_rule_holds_at_the_call(
    body: F.Formula, before: list, data: st.DataObject
) -> None:
    """The oracle is LTLf's own evaluator on sets of true predicates; the condition is run as Python."""
    ruleset = RuleSet(PREDICATES, (Rule("r", "", F.Always(body), "forbid"),))
    made = contract.contract(TOOLS.tool("book"), ruleset)
    values = {
        "age": data.draw(st.sampled_from((12, 13, 17, 18))),
        "level": data.draw(st.sampled_from(("gold", "tin"))),
        "count_guests": data.draw(st.sampled_from((5, 6))),
    }
    now = {"book"} | set(data.draw(st.frozensets(st.sampled_from(("pay", "confirmed", "cheap")))))
    now |= {
        name
        for name, true in (
            ("adult", values["age"] >= 18),
            ("teen", values["age"] >= 13),
            ("special", values["level"] == "gold"),
            ("few", values["count_guests"] <= 5),
        )
        if true
    }
    trace = [*before, now]
    expected = semantics.holds(body, trace, at=len(trace) - 1)
    if not made.items:
        assert expected or not reads_now(body)
        return
    given_ = {
        p.name: values[p.name]
        if p.field
        else p.fact in now
        if p.fact
        else semantics.holds(p.past, trace, at=len(trace) - 1)
        for p in made.parameters
    }
    assert eval(made.items[0].condition, {}, given_) is expected


INT = {"type": "integer"}
STAY = {"type": "object", "properties": {"nights": INT, "of age": {"type": "boolean"}}}
PARTS = Field("parts", "array", schema=Schema({"type": "array", "items": INT}))
WIDE = Toolbox(
    (
        Tool(
            "book",
            arguments=(
                Field("room", "integer"),
                Field("guests", "array"),
                Field("price", "number"),
                Field("name", "string"),
                PARTS,
                Field("stay", "object", schema=Schema(STAY)),
            ),
        ),
        Tool("pay", arguments=(Field("room", "string"), PARTS)),
        Tool("look"),
    ),
    (
        *(Field(name, "integer") for name in ("age", "years")),
        *(Field(name, "boolean") for name in ("member", "other")),
        *(Field(name, "string") for name in ("level", "since", "now")),
        Field("height", "number"),
        Field("list", "array"),
    ),
)


def of_test(test: str, tools: str = "", about: str = "told") -> contract.Contract:
    """What is asked of `book` where it needs a test that reads calls of these tools."""
    known = (
        Predicate("book", "action", "", tools=("book",)),
        Predicate("p", "state", about, tools=tuple(tools.split()), test=cel.parse(test), keywords=("word",)),
    )
    rule = Rule("r", "", syntax.parse("ALWAYS (book IMPLIES p)"), "permit_only_if")
    return contract.contract(WIDE.tool("book"), RuleSet(known, (rule,)), WIDE.state)


def said(one: Parameter) -> str:
    """A parameter and what fills it; a count (#), loose (?), trusted (!), by a loop (~)."""
    filled = one.field or one.fact or cel.render(one.term)
    marks = "#" * (one.measure == "count") + "?" * one.loose + "!" * one.trusted + "~" * (one.loop is not None)
    return f"{one.name}:{one.type}={filled}" + f" of {one.tool}" * bool(one.tool) + marks


@pytest.mark.parametrize(("text", "condition", "parameters"), table("contract_tests.txt", 3))
def test_the_condition_and_parameters_of_a_test(text: str, condition: str, parameters: str) -> None:
    made = of_test(*text.rsplit("|", 1))
    assert [item.condition for item in made.items] == [condition.strip()]
    assert ", ".join(map(said, made.parameters)) == parameters.strip().removesuffix("-")


@pytest.mark.parametrize(("text", "condition", "parameters"), table("contract_formulas.txt", 3))
def test_the_condition_and_parameters_of_a_formula(text: str, condition: str, parameters: str) -> None:
    formula, _, tool = text.rpartition(" | ")
    made = contract.contract(ORDERS.tool(tool), ruleset(formula), ORDERS.state)
    assert [item.condition for item in made.items] == [condition.strip()] * (condition.strip() != "-")
    back = [one for one in made.parameters if one.past is not None]
    over = [p.about.removeprefix("over the steps ").removesuffix(": ") for p in back]
    found = [f"{syntax.render(p.past)}: {about}{'!' * p.trusted}" for p, about in zip(back, over, strict=True)]
    assert "; ".join(found) == parameters.strip().removesuffix("-")
    assert all((p.type, p.timed, p.measured) == ("bool", p.trusted, False) for p in back)


TRUSTED = [  # a test, the tools that it reads calls of, and the truths that are taken on trust for it
    ("state.level < 'x'", "", "told"),
    ("state.level.startsWith('x') && state.age > 3", "", 'state.level.startsWith("x")'),
    ("state.age > 3 && state.member", "", ""),
    ("call.parts.all(p, p > 3)", "book", ""),
    ("call.parts.all(p, p > 3 && state.level < 'x')", "book", 'state.level < "x"'),
    ("call.guests.all(g, g.lowerAscii() < 'x')", "book", 'call.guests.map(g, g.lowerAscii() < "x")'),
    ("call.parts.all(p, p > 3) && has(call.room)", "book", "has(call.room)"),
    ("call.parts.all(p, p > 3)", "pay", "told"),
]


@pytest.mark.parametrize(("test", "tools", "trusts"), TRUSTED)
def test_what_is_taken_on_trust_is_named(test: str, tools: str, trusts: str) -> None:
    made = of_test(test, tools)
    assert ", ".join(one for p in made.parameters for one in p.trusts) == trusts
    assert made.trusted == tuple(p for p in made.parameters if p.trusts)
    assert made.measured == tuple(p for p in made.parameters if not p.trusts)
    assert made.looped == tuple(p for p in made.parameters if p.loop is not None)


@pytest.mark.parametrize(
    ("test", "about"),
    [
        ("state.age > 3", "value of state.age"),
        ("size(call.guests) > 3", "count of book.guests"),
        ("now - timestamp(state.since) < duration('1h')", "now - timestamp(state.since) in nanoseconds"),
        ("timestamp(call.name) == timestamp('2026-01-01T00:00:00Z')", "timestamp(call.name) in nanoseconds"),
        ("call.stay.nights < 3", "call.stay.nights"),
        ("state.any + state.thing > 3", "state.any + state.thing"),
        ("state.level < 'x'", "told"),
    ],
)
def test_what_a_parameter_is_about(test: str, about: str) -> None:
    (one,) = of_test(test, "book" if "call" in test else "").parameters
    assert one.about == about
    assert one.words == (("word",) if one.fact else ())


def test_a_truth_without_words_is_called_by_its_test_and_one_without_a_test_by_its_name() -> None:
    assert [p.trusts for p in of_test("state.level < 'x'", "", "").parameters] == [('state.level < "x"',)]
    assert Parameter("p", "bool", "", fact="q").trusts == ("p",)


@pytest.mark.parametrize("filled", [(), ("field", "fact"), ("term", "past"), ("field", "term", "fact", "past")])
def test_a_parameter_is_filled_from_one_thing(filled: tuple[str, ...]) -> None:
    each = {"field": "state.a", "fact": "a", "term": facts.Path(("state", "a")), "past": F.Once(F.Atom("a"))}
    with pytest.raises(ValueError, match="one of field, term, fact and past; got"):
        Parameter("p", "bool", "", **{name: each[name] for name in filled})
    for name in filled:
        assert Parameter("p", "bool", "", **{name: each[name]}).trusted is (name == "fact")


def test_a_count_is_never_negative_wherever_it_comes_from() -> None:
    assert of_test("size(call.parts.filter(p, p > 3)) <= 1", "book").requires == ("size_parts_filter_3 >= 0",)


def test_the_statements_of_a_contract() -> None:
    asked = ("ALWAYS (book IMPLIES few)", "ALWAYS (book IMPLIES adult)", "ALWAYS ((book AND NOT adult) IMPLIES false)")
    known = (
        Predicate("book", "action", "", tools=("book",)),
        Predicate("few", "state", "", tools=("book",), test=cel.parse("size(call.guests) <= 3")),
        Predicate("adult", "state", "", test=cel.parse("state.age >= 18")),
    )

    def made(*texts: str) -> contract.Contract:
        rules = [Rule(f"r{i}", t, syntax.parse(t), "forbid", clause=f"{i:012}.1") for i, t in enumerate(texts)]
        return contract.contract(WIDE.tool("book"), RuleSet(known, tuple(rules)), WIDE.state)

    one = made(*asked)
    assert one.lines() == (
        "Requires(count_guests >= 0)",
        "Ensures(Implies(Result()[0], count_guests <= 3))",
        "Ensures(Implies(Result()[0], age >= 18))",
        "Ensures(Implies((count_guests <= 3) and (age >= 18), Result()[0]))",
    )
    assert [item.rule for item in one.items] == ["r0", "r1", "r2"] and one.items[0].text == asked[0]
    assert one.items[1].condition == one.items[2].condition and one.conditions == ("count_guests <= 3", "age >= 18")
    assert (one.allows, made().allows, made().lines()) == (
        "(count_guests <= 3) and (age >= 18)",
        "True",
        ("Ensures(Result()[0])",),
    )
    none = made("ALWAYS NOT book", asked[1])
    assert none.lines() == (
        "Ensures(Implies(Result()[0], False))",
        "Ensures(Implies(Result()[0], age >= 18))",
        "Ensures(not Result()[0])",
    )
    assert contract.Contract("a-b.c", (), ()).signature == "def policy_a_b_c() -> Tuple[bool, str]:"
    assert [c.tool for c in contract.contracts(WIDE, RuleSet(known, ()))] == ["book", "pay", "look"]


NAMES = [
    ("a", "a"),
    ("NOT a", "not_a"),
    ("ONCE (a AND NOT b)", "once_and_a_not_b"),
    ("a SINCE b", "since_a_b"),
    ("COUNT[>= 3] a", "at_least_3_a"),
    ("COUNT[>= 3, 24h] a", "at_least_3_within_24h_a"),
    ("ONCE[<= 24h] a", "once_within_24h_a"),
    ("a IMPLIES true", "implies_a_true"),
    ("a IMPLIES false", "implies_a_false"),
]


@pytest.mark.parametrize(("text", "name"), NAMES)
def test_a_formula_has_a_name(text: str, name: str) -> None:
    assert contract.slug(syntax.parse(text)) == name


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ONCE a", "over the steps so far"),
        ("ONCE[<= 24h] a", "over the steps of the last 24h"),
        ("ONCE[<= 24h] ONCE[<= 1h] a", "over the steps so far, and those of the last 1h and of the last 24h"),
        ("ONCE (ONCE[<= 1h] a AND ONCE[<= 1h] b)", "over the steps so far, and those of the last 1h"),
    ],
)
def test_which_steps_a_formula_speaks_of(text: str, said: str) -> None:
    assert contract.over(syntax.parse(text)) == said


def test_a_later_step_is_no_condition() -> None:
    names = contract._Names(WIDE.tool("book"), RuleSet((), ()), WIDE.state)
    with pytest.raises(ValueError, match="propositional with past; got Next"):
        names.expression(F.Next(F.TRUE))
    assert names.expression(F.Not(F.TRUE)) == "not True" and names.expression(F.FALSE) == "False"
    assert names.expression(F.And(F.Not(F.TRUE), F.Or(F.TRUE, F.FALSE))) == "(not True) and (True or False)"


APART = [  # what must hold of all objects, and its condition, the names of parameters as what fills them
    ("ONCE a(r) OR ONCE a(s)", "[ONCE a(r)] or [ONCE a(s)]"),
    ("ONCE a(r) OR ONCE b(r)", "[ONCE a(r) OR ONCE b(r)]"),
    ("ONCE a(r) OR member", "[ONCE a(r)] or member"),
    ("ONCE c(r, s) OR ONCE c(s, t) OR ONCE a(r)", "[ONCE c(r, s) OR ONCE c(s, t) OR ONCE a(r)]"),
    ("ONCE a(r) OR ONCE a(s) OR ONCE c(r, s)", "[ONCE a(r) OR ONCE a(s) OR ONCE c(r, s)]"),
    ("ONCE a(r) OR ONCE a(s) OR ONCE c(s, t) OR ONCE b(t)", "[ONCE a(r)] or [ONCE a(s) OR ONCE c(s, t) OR ONCE b(t)]"),
    ("NOT (ONCE a(r) AND ONCE a(s))", "[NOT ONCE a(r)] or [NOT ONCE a(s)]"),
    ("NOT (ONCE a(r) AND member)", "[NOT ONCE a(r)] or (not member)"),
    ("NOT (ONCE a(r) OR member)", "([NOT ONCE a(r)] and (not member))"),
    ("NOT (ONCE a(r) OR member) OR ONCE a(s)", "([NOT ONCE a(r)] and (not member)) or [ONCE a(s)]"),
]


@pytest.mark.parametrize(("text", "said"), APART)
def test_what_shares_no_object_stands_apart(text: str, said: str) -> None:
    known = [Predicate(name, "action", "", tools=(name,), objects=(facts.Path(("call", "x")),)) for name in "ab"]
    known += [
        Predicate("c", "action", "", tools=("c",), objects=(facts.Path(("call", "x")), facts.Path(("call", "y"))))
    ]
    known += [Predicate("member", "state", "")]
    names = contract._Names(WIDE.tool("book"), RuleSet(tuple(known), ()), WIDE.state)
    condition = names.expression(syntax.parse(text))
    called = {one.name: syntax.render(one.past) for one in names.parameters.values() if one.past is not None}
    for name in sorted(called, key=len, reverse=True):
        condition = condition.replace(name, f"[{called[name]}]")
    assert condition == said


POINTS = {"int": (0, 1, 2, 3, 17), "bool": (False, True), "str": ("x", "a", "y")}
FIELD = re.compile(r"\w+:\w+=\w+\.\w+#?")
FIELDS = [row for row in table("contract_tests.txt", 3) if all(map(FIELD.fullmatch, row[2].strip().split(", ")))]


@pytest.mark.parametrize("row", FIELDS, ids=lambda row: row[0])
def test_a_condition_over_fields_alone_decides_as_the_evaluator(row: tuple[str, ...]) -> None:
    test, _, tools = row[0].rpartition("|")
    made, read = of_test(test, tools), cel.parse(test)
    program = sandbox.load(f"{made.signature}\n    return ({row[1].strip()}, '')\n")
    for values in itertools.product(*(POINTS[p.type] for p in made.parameters)):
        known: dict[str, dict[str, object]] = {"state": {}, "call": {}}
        for parameter, value in zip(made.parameters, values, strict=True):
            owner, _, name = parameter.field.partition(".")
            counted = [None] * value if parameter.measure == "count" else value
            known["state" if owner == "state" else "call"][name] = counted
        assert program.run(*values)[0] is evaluation.holds(read, known), values


GUARD = """
def policy_book(age: int) -> Tuple[bool, str]:
    if age < 18:
        return (False, "young")
    return (True, "allowed")
"""


def test_the_contract_goes_into_the_guard_and_comes_off_again() -> None:
    put = contract.assemble(GUARD, of("book", "ALWAYS (book IMPLIES adult)"))
    assert "Ensures(Implies(Result()[0], age >= 18))" in put
    assert sandbox.load(put).run(18) == sandbox.load(GUARD).run(18) == (True, "allowed")


@pytest.mark.parametrize("docstring", ["", '    """Says what it is for."""\n', '    "a"\n    """b"""\n'])
def test_a_guard_with_a_docstring_keeps_its_first_statement(docstring: str) -> None:
    made, header = of("book", "ALWAYS (book IMPLIES adult)"), GUARD.splitlines()[1] + "\n"
    put = contract.assemble(GUARD.replace(header, header + docstring), made)
    plain = contract.assemble(GUARD, made)
    for age in (17, 18):
        assert (
            sandbox.load(put).run(age)
            == sandbox.load(plain).run(age)
            == (age == 18, "allowed" if age == 18 else "young")
        )
    assert put.count("if age < 18:") == 1 and "Says" not in put
    assert put == plain or "'b'" in put, "only the docstring is left out"


@pytest.mark.parametrize(
    "guard",
    [
        GUARD.replace("policy_book", "policy_pay"),
        GUARD.replace("    if", "    Ensures(True)\n    if"),
        GUARD.replace("    if", "    Assume(age > 20)\n    if"),
        GUARD + GUARD,
        "def (",
    ],
)
def test_a_guard_with_another_name_or_a_contract_of_its_own_is_refused(guard: str) -> None:
    with pytest.raises(sandbox.UnsafeSource, match="required"):
        contract.assemble(guard, of("book", "ALWAYS (book IMPLIES adult)"))


def test_no_word_of_nagini_s_contracts_gets_into_a_guard_that_may_run() -> None:
    spec = importlib.util.find_spec("nagini_contracts.contracts")
    tree = ast.parse(Path(spec.origin).read_text("utf-8"))
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    assert {"Assume", "Unfold", "Declassify", "Acc"} <= set(names) and len(names) > 50
    made = of("book", "ALWAYS (book IMPLIES adult)")
    for name in names:
        with pytest.raises((contract.VacuousContract, sandbox.UnsafeSource)):
            sandbox.load(contract.assemble(GUARD.replace("    if", f"    {name}(age > 20)\n    if"), made))


@pytest.mark.parametrize(
    "stated",
    [
        "Ensures(True)",
        "Ensures(Implies(Result()[0], True))",
        "Ensures(Implies(Result()[0], x or not x))",
        "Requires(False)\n    Ensures(Result()[0])",
        "Requires(y > 3)\n    Requires(y < 2)\n    Ensures(Result()[0])",
        "Requires(x)\n    Ensures(x)",
        "Assume(False)\n    Ensures(Result()[0])",
        "pass",
        "Ensures(Implies(Result()[0], x >= 'a'))",
        "while True:\n        pass\n    Ensures(Result()[0])",
        "Exsures(Exception, True)\n    Ensures(Result()[0])",
    ],
)
def test_a_contract_that_would_prove_anything_is_refused(stated: str) -> None:
    with pytest.raises(contract.VacuousContract, match="required"):
        faults.refuse(f"def policy(x: bool, y: int) -> Tuple[bool, str]:\n    {stated}\n    return (True, '')\n")


def test_a_decorator_that_trusts_the_body_is_refused() -> None:
    with pytest.raises(contract.VacuousContract, match="ContractOnly"):
        faults.refuse("@ContractOnly\ndef policy(x: bool) -> Tuple[bool, str]:\n    Ensures(not Result()[0])\n")


@pytest.mark.parametrize(
    "stated",
    [
        "Ensures(Result()[0])",
        "Ensures(Implies(Result()[0], y >= 18))",
        "Requires(y >= 0)\n    Ensures(Implies(x, Result()[0]))",
    ],
)
def test_a_contract_that_some_answer_breaks_is_accepted(stated: str) -> None:
    faults.refuse(f"def policy(x: bool, y: int) -> Tuple[bool, str]:\n    {stated}\n    return (True, '')\n")


@pytest.mark.parametrize(
    "texts",
    list(
        itertools.combinations(
            [
                "ALWAYS (book IMPLIES adult)",
                "ALWAYS (NOT book)",
                "ALWAYS (book IMPLIES few)",
                "ALWAYS (book IMPLIES ONCE confirmed)",
            ],
            2,
        )
    ),
)
def test_no_contract_made_of_rules_is_vacuous(texts: tuple[str, ...]) -> None:
    made = of("book", *texts)
    faults.refuse(contract.assemble(f"{made.signature}\n    return (True, '')\n", made))


def test_a_contract_over_many_inputs_is_settled_once_it_was_seen_true_and_false() -> None:
    names = [f"x{i}" for i in range(15)]
    parity = " != ".join(["(Result()[0]", *(f"({name}" for name in names[:-1])]) + f" != {names[-1]}" + ")" * len(names)
    inputs = ", ".join(f"{name}: bool" for name in names)
    faults.refuse(f"def policy({inputs}) -> Tuple[bool, str]:\n    Ensures({parity})\n    return (True, '')\n")


WORDS = "Requires Ensures Refute Invariant Decreases Pure Assume ContractOnly Exsures Assert Fold Unfold Inhale Exhale"


@pytest.mark.parametrize("word", [*WORDS.split(), "Opaque"])
def test_a_guard_brings_no_word_of_a_contract(word: str) -> None:
    (function,) = ast.parse(GUARD.replace("    if", f"    {word}(age)\n    if")).body
    assert contract.own_contract(function) == [word]
    with pytest.raises(contract.VacuousContract, match=f"without contract statements was required; got .*{word}"):
        contract.stated(ast.unparse(function), of("book", "ALWAYS (book IMPLIES adult)"))
    assert contract.own_contract(ast.parse(GUARD).body[0]) == []


def test_the_probe_stands_between_the_contract_and_the_code() -> None:
    made = of("book", "ALWAYS (book IMPLIES adult)")
    lines = contract.probe(contract.assemble(GUARD, made)).splitlines()
    at = lines.index("def policy_book__probe(age: int) -> Tuple[bool, str]:")
    heads = [line.strip().partition("(")[0] for line in lines[at + 1 : at + 5]]
    assert heads == ["Ensures", "Ensures", "Refute", "if age < 18:"] and lines[at + 3].strip() == "Refute(False)"
    alone = contract.probe(GUARD.replace("    if", "    Ensures(True)\n    x = 1\n    Requires(x)\n    if"))
    heads = [line.strip().partition("(")[0] for line in alone.splitlines()[-7:]]
    assert heads == ["Ensures", "x = 1", "Requires", "Refute", "if age < 18:", "return ", "return "]


def test_the_name_of_a_formula_has_sixty_letters_at_the_most():
    long = F.Atom("a" * 80)
    names = [contract.slug(one) for one in (F.at_least(3, long), F.Recently(long, 2, 10**9), F.Once(long))]
    assert [len(name) for name in names] == [60] * 3 and len({*names}) == 3
