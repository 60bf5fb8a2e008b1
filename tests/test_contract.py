"""Contracts come from formulas alone, hold both sides, and are refused where they would prove nothing."""

import ast
import importlib.util
import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wb.domain.tools import Field, Schema, Tool, Toolbox
from wb.guards import contract, faults, sandbox
from wb.logic import cel, evaluation, semantics
from wb.logic import formula as f
from wb.rules import residual
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


@pytest.mark.parametrize(
    ("test", "tools", "condition"),
    [
        ("state.member", (), "member"),
        ("!state.member", (), "not member"),
        ("state.member == false", (), "not member"),
        ("18 <= state.age", (), "age >= 18"),
        ("call.room in [1, 2]", (), "room == 1 or room == 2"),
        (
            'state.age >= 18 && (state.member || state.level != "tin")',
            (),
            "(age >= 18) and (member or (level != 'tin'))",
        ),
        ("size(call.guests) <= 3", ("book",), "count_guests <= 3"),
        ("call.room <= 2", ("pay",), "pay_room <= 2"),
        ("call.room <= 2", ("pay", "book"), "room <= 2"),
    ],
)
def test_a_test_that_nagini_computes_is_computed_from_its_fields(test, tools, condition) -> None:
    made = of_one(test, tools)
    assert [item.condition for item in made.items] == [condition]
    read, program = cel.parse(test), sandbox.load(f"{made.signature}\n    return ({condition}, '')\n")
    points = {"int": (0, 1, 2, 3, 17, 18), "bool": (False, True), "str": ("tin", "gold")}
    for values in itertools.product(*(points[p.type] for p in made.parameters)):
        known: dict[str, dict[str, object]] = {"state": {}, "call": {}}
        for parameter, value in zip(made.parameters, values, strict=True):
            owner, _, name = parameter.field.partition(".")
            known["state" if owner == "state" else "call"][name] = (
                [None] * value if parameter.measure == "count" else value
            )
        assert program.run(*values)[0] is evaluation.holds(read, known), (test, values)


@pytest.mark.parametrize(
    ("test", "tools"),
    [
        ("state.height >= 1.5", ()),
        ("call.price <= 100", ("book",)),
        ('state.level < "tin"', ()),
        ("call.room <= state.age", ("book",)),
        ("call.room <= 2", ("pay", "look")),
        ("has(call.room)", ("book",)),
        ("call.rooms.all(r, r <= 2)", ("book",)),
        ("call.room == null", ("book",)),
        ("sum(call.prices) <= 1.5", ("book",)),
        ("state.seen == state.shown", ()),
    ],
)
def test_a_test_that_nagini_does_not_compute_is_a_fact_that_is_told(test, tools) -> None:
    made = of_one(test, tools)
    assert [item.condition for item in made.items] == ["p"]
    (parameter,) = made.parameters
    assert (parameter.fact, parameter.test, parameter.type) == ("p", cel.parse(test), "bool")


TERMS = [
    # the test, its condition, what fills the parameters that are neither fields nor past
    ("call.stay.nights <= 2", "stay_nights <= 2", {"stay_nights": "call.stay.nights"}),
    ('state["of age"]', "of_age", {"of_age": 'state["of age"]'}),
    ("call.guests[0] == 'x'", "guests_0 == 'x'", {"guests_0": "call.guests[0]"}),
    ("sum(call.parts) <= 100", "sum_parts <= 100", {"sum_parts": "sum(call.parts)"}),
    (
        "sum(call.parts) == size(call.parts) + 3",
        "sum_parts == count_parts + 3",
        {"sum_parts": "sum(call.parts)"},
    ),
    (
        "size(call.parts.filter(p, p > 3)) <= 1",
        "size_parts_filter_3 <= 1",
        {"size_parts_filter_3": "size(call.parts.filter(p, p > 3))"},
    ),
    (
        'now - timestamp(state.since) < duration("24h")',
        "now_since < 86400000000000",
        {"now_since": "now - timestamp(state.since)"},
    ),
    (
        "timestamp(call.day) > now",
        "day > now",
        {"day": "timestamp(call.day)", "now": "now"},
    ),
    (
        "state.member || state.height >= 1.5",
        "member or height_1_5",
        {"height_1_5": "state.height >= 1.5"},
    ),
    (
        "call.level.lowerAscii() in ['a', 'b']",
        "level_lowerAscii == 'a' or level_lowerAscii == 'b'",
        {"level_lowerAscii": "call.level.lowerAscii()"},
    ),
    (
        "(size(call.parts) > 2) == state.member",
        "(count_parts > 2) == member",
        {},
    ),
    ("state.member ? call.room <= 2 : call.room <= 1", "(member and (room <= 2)) or (not member and (room <= 1))", {}),
]


@pytest.mark.parametrize(("test", "condition", "filled"), TERMS, ids=[row[0] for row in TERMS])
def test_what_nagini_need_not_look_into_is_one_parameter(test, condition, filled) -> None:
    made = of_one(test, ("book",) if "call." in test else ())
    assert [item.condition for item in made.items] == [condition]
    assert {p.name: cel.render(p.term) for p in made.parameters if p.term is not None} == filled
    sandbox.load(f"{made.signature}\n    return ({condition}, '')\n")
    trusted = {p.name for p in made.trusted}
    assert trusted == {"height_1_5"} & set(filled)
    assert {p.name for p in made.measured} == {p.name for p in made.parameters} - trusted


def test_a_count_is_never_negative_wherever_it_comes_from() -> None:
    assert of_one("size(call.parts.filter(p, p > 3)) <= 1", ("book",)).requires == ("size_parts_filter_3 >= 0",)


def of_one(test: str, tools: tuple[str, ...]) -> contract.Contract:
    """The contract of one rule that asks for one test."""
    predicates = (PREDICATES[0], Predicate("p", "state", "", tools=tools, test=cel.parse(test)))
    rule = Rule("r", "", semantics.parse("ALWAYS (book IMPLIES p)"), "permit_only_if")
    return contract.contract(TOOLS.tool("book"), RuleSet(predicates, (rule,)), TOOLS.state)


BODIES = st.recursive(
    st.sampled_from([f.Atom(p.name) for p in PREDICATES if p.name != "dream"]),
    lambda inner: st.one_of(
        st.builds(f.Not, inner),
        st.builds(f.Once, inner),
        st.builds(f.And, inner, inner),
        st.builds(f.Or, inner, inner),
        st.builds(f.Implies, inner, inner),
        st.builds(f.Xor, inner, inner),
        st.builds(f.Iff, inner, inner),
    ),
    max_leaves=6,
)


def reads_now(body: f.Formula) -> bool:
    """Whether `book` is read at the step itself: past subformulas are told, not decided, at a call."""
    if isinstance(body, f.Once):
        return False
    return body == f.Atom("book") or any(reads_now(child) for child in f.children(body))


@given(BODIES, st.lists(st.frozensets(st.sampled_from(("pay", "confirmed", "cheap", "book"))), max_size=2), st.data())
def test_a_condition_is_true_exactly_where_the_rule_holds_at_the_call(
    body: f.Formula, before: list, data: st.DataObject
) -> None:
    """The oracle is LTLf's own evaluator on sets of true predicates; the condition is run as Python."""
    ruleset = RuleSet(PREDICATES, (Rule("r", "", f.Always(body), "forbid"),))
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
    with pytest.raises(contract.VacuousContract, match="required"):
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


def test_the_probe_asks_whether_anything_is_reachable() -> None:
    probe = contract.probe(contract.assemble(GUARD, of("book", "ALWAYS (book IMPLIES adult)")))
    assert "def policy_book__probe(" in probe and probe.index("Refute(False)") > probe.rindex("Ensures(")
    assert probe.index("Refute(False)") < probe.index("    if "), "before the code, whose returns end it"


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


@pytest.mark.parametrize(
    "word", ["Assume", "ContractOnly", "Exsures", "Assert", "Fold", "Unfold", "Inhale", "Exhale", "Opaque"]
)
def test_a_source_that_uses_a_word_of_contracts_is_found_out(word):
    source = f"def policy_x(age: int) -> Tuple[bool, str]:\n    {word}(age)\n    return (True, 'fine')\n"
    (function,) = ast.parse(source).body
    assert contract.own_contract(function) == [word]
    assert contract.own_contract(ast.parse(source.replace(word, "print")).body[0]) == []


def test_the_name_of_a_formula_has_sixty_letters_at_the_most():
    long = f.Atom("a" * 80)
    names = [contract.slug(one) for one in (f.at_least(3, long), f.Recently(long, 2, 10**9), f.Once(long))]
    assert [len(name) for name in names] == [60] * 3 and len({*names}) == 3
