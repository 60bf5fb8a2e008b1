"""What a contract says of a test and of a formula, and what fills its parameters: tables of cases, by hand checked."""

from __future__ import annotations

import ast
from itertools import batched

import pytest
from test_bearing import BOX as ORDERS
from test_bearing import ruleset

from wb.domain.tools import Field, Schema, Tool, Toolbox
from wb.guards import contract
from wb.guards.contract import Parameter
from wb.logic import cel, facts, syntax
from wb.logic import formula as F
from wb.rules.rule import Predicate, Rule, RuleSet

INT = {"type": "integer"}
STAY = {"type": "object", "properties": {"nights": INT, "of age": {"type": "boolean"}}}
PARTS = Field("parts", "array", schema=Schema({"type": "array", "items": INT}))
BOX = Toolbox(
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


def of(test: str, tools: str, about: str = "told") -> contract.Contract:
    """What is asked of `book` where it needs a test that reads calls of these tools."""
    known = (
        Predicate("book", "action", "", tools=("book",)),
        Predicate("p", "state", about, tools=tuple(tools.split()), test=cel.parse(test), keywords=("word",)),
    )
    rule = Rule("r", "", syntax.parse("ALWAYS (book IMPLIES p)"), "permit_only_if")
    return contract.contract(BOX.tool("book"), RuleSet(known, (rule,)), BOX.state)


def said(one: Parameter) -> str:
    """A parameter and what fills it; a count (#), loose (?), trusted (!), by a loop (~)."""
    filled = one.field or one.fact or cel.render(one.term)
    marks = "#" * (one.measure == "count") + "?" * one.loose + "!" * one.trusted + "~" * (one.loop is not None)
    return f"{one.name}:{one.type}={filled}" + f" of {one.tool}" * bool(one.tool) + marks


# A test and the tools whose calls it reads; the condition; what fills its parameters.
TESTS = r"""
state.member |
    member
    member:bool=state.member
!state.member |
    not member
    member:bool=state.member
state.member == false |
    not member
    member:bool=state.member
state.member != false |
    member
    member:bool=state.member
state.member == (state.age > 3) |
    member == (age > 3)
    member:bool=state.member, age:int=state.age
true == state.member |
    member
    member:bool=state.member
state.member != state.other |
    member != other
    member:bool=state.member, other:bool=state.other
state.age == 3 |
    age == 3
    age:int=state.age
state.level == 'x' |
    level == 'x'
    level:str=state.level
state.level != call.name | book
    level != name
    level:str=state.level, name:str=book.name
state.level < 'x' |
    p
    p:bool=p!
state.level == null |
    p
    p:bool=p!
state.height == 1.5 |
    p
    p:bool=p!
state.height < 2 |
    p
    p:bool=p!
state.age < 2.5 |
    p
    p:bool=p!
2 > state.age |
    age < 2
    age:int=state.age
state.age == state.years |
    age == years
    age:int=state.age, years:int=state.years
state.age + 1 > state.years - 2 |
    age + 1 > years - 2
    age:int=state.age, years:int=state.years
state.age - (state.years + 1) >= -3 |
    age - (years + 1) >= -3
    age:int=state.age, years:int=state.years
state.age - -3 >= 0 |
    age - (-3) >= 0
    age:int=state.age
state.age * 2 > 3 |
    age_2 > 3
    age_2:int=state.age * 2
state.any == 3 |
    any == 3
    any:int=state.any?
state.any == state.thing |
    p
    p:bool=p!
state.any + 1 > 3 |
    p
    p:bool=p!
state.any + state.thing > 3 |
    any_thing > 3
    any_thing:int=state.any + state.thing?
state.any + state.age > 3 |
    p
    p:bool=p!
state.any in [1, 2] |
    any == 1 or any == 2
    any:int=state.any?
state.any in ['a', 'b'] |
    any == 'a' or any == 'b'
    any:str=state.any
state.any in [1.5] |
    p
    p:bool=p!
state.any in [true] |
    p
    p:bool=p!
state.any in [] |
    p
    p:bool=p!
state.level in ['a', call.name] | book
    level == 'a' or level == name
    level:str=state.level, name:str=book.name
state.age in [1, state.years] |
    age == 1 or age == years
    age:int=state.age, years:int=state.years
state.age in [1, call.price] | book
    p
    p:bool=p!
state.member in [true, state.other] |
    member or member == other
    member:bool=state.member, other:bool=state.other
state.age > 3 ? state.member : state.level == 'x' |
    ((age > 3) and member) or (not (age > 3) and (level == 'x'))
    age:int=state.age, member:bool=state.member, level:str=state.level
state.age > 3 ? state.any : state.thing |
    ((age > 3) and any) or (not (age > 3) and thing)
    age:int=state.age, any:bool=state.any, thing:bool=state.thing
size(state.list) <= 3 |
    count_list <= 3
    count_list:int=state.list#
size(call.guests) <= 3 | pay
    count_pay_guests <= 3
    count_pay_guests:int=pay.guests#
size(call.guests) <= 3 | pay book
    count_guests <= 3
    count_guests:int=book.guests#
size(call.guests) <= 3 | pay look
    p
    p:bool=p!
size(call.guests) <= 3 && state.member | pay look
    p
    p:bool=p!
call.room == 1 || state.age > 3 | pay look
    p
    p:bool=p!
call.room == 1 | pay
    pay_room == 1
    pay_room:int=pay.room?
call.room == 1 && call.price < 3.5 | book
    (room == 1) and price_3_5
    room:int=book.room, price_3_5:bool=call.price < 3.5 of book!
call.room | book
    p
    p:bool=p!
call.stay.nights <= 2 | pay
    stay_nights <= 2
    stay_nights:int=call.stay.nights of pay?
call.stay["of age"] | book
    stay_of_age
    stay_of_age:bool=call.stay["of age"] of book
call.items[0] == 1 | book
    items_0 == 1
    items_0:int=call.items[0] of book?
timestamp(state.since) < now |
    since < now
    since:int=timestamp(state.since), now:int=now
timestamp(state.since) == timestamp('2026-01-01T00:00:00Z') |
    since == 1767225600000000000
    since:int=timestamp(state.since)
timestamp(state.since) + duration('1h') < now |
    since_duration_1h < now
    since_duration_1h:int=timestamp(state.since) + duration("1h"), now:int=now
now - timestamp(state.since) == duration('90m') |
    now_since == 5400000000000
    now_since:int=now - timestamp(state.since)
timestamp(state.since).getHours() < 3 |
    since_getHours < 3
    since_getHours:int=timestamp(state.since).getHours()
state.level.startsWith('x') |
    p
    p:bool=p!
!(state.level.startsWith('x')) |
    p
    p:bool=p!
state.level.startsWith('x') && state.age > 3 |
    level_startsWith_x and (age > 3)
    level_startsWith_x:bool=state.level.startsWith("x")!, age:int=state.age
state.level.startsWith('x') && has(state.age) |
    p
    p:bool=p!
state.level.startsWith('x') || state.member |
    level_startsWith_x or member
    level_startsWith_x:bool=state.level.startsWith("x")!, member:bool=state.member
has(call.room) && state.member | book
    has_room and member
    has_room:bool=has(call.room) of book!, member:bool=state.member
call.parts.all(p, p > 3) | book
    p
    p:bool=p~
call.parts.all(p, p > 3) && state.member | book
    parts_all_3 and member
    parts_all_3:bool=call.parts.all(p, p > 3) of book~, member:bool=state.member
sum(call.parts) > 3 | pay
    sum_parts > 3
    sum_parts:int=sum(call.parts) of pay?
sum(call.parts) > 3 | book
    sum_parts > 3
    sum_parts:int=sum(call.parts) of book~
call.price > 3.5 | book
    p
    p:bool=p!
call.room in call.parts | book
    p
    p:bool=p~
true |
    p
    p:bool=p!
state.age == 3 && true |
    (age == 3) and True
    age:int=state.age
state.class == 1 |
    class_2 == 1
    class_2:int=state.class?
state["of age"] == 1 |
    of_age == 1
    of_age:int=state["of age"]?
state["of age"] |
    of_age
    of_age:bool=state["of age"]
size(state["of age"]) == 1 |
    size_of_age == 1
    size_of_age:int=size(state["of age"])#
state.Result == 1 |
    Result_2 == 1
    Result_2:int=state.Result?
"""
# A rule and the tool; the condition; what fills its parameters that are no fields, and in which words.
FORMULAS = """
ALWAYS (cancel(o) IMPLIES ONCE get(o)) | cancel
    once_get
    ONCE get(call.order): so far, for the same order
ALWAYS (cancel(o) IMPLIES NOT ONCE charge(o)) | cancel
    not once_charge
    ONCE charge(call.order): so far, for the same order
ALWAYS (cancel(o) IMPLIES (ONCE get(o) OR blocked)) | cancel
    once_get or blocked
    ONCE get(call.order): so far, for the same order
ALWAYS (cancel(o) IMPLIES (ONCE get(o) AND NOT blocked)) | cancel
    once_get and (not blocked)
    ONCE get(call.order): so far, for the same order
ALWAYS (charge(o) IMPLIES card(o)) | charge
    how == 'card'
    -
ALWAYS (charge(o) IMPLIES (card(o) OR ONCE voucher(o))) | charge
    (how == 'card') or once_voucher
    ONCE voucher(call.order): so far, for the same order
ALWAYS (charge(o) IMPLIES ONCE (get(o) AND blocked)) | charge
    once_and_get_blocked
    ONCE (get(call.order) AND blocked): so far, for the same order
ALWAYS (cancel(o) IMPLIES (blocked IFF ONCE get(o))) | cancel
    blocked == once_get
    ONCE get(call.order): so far, for the same order
ALWAYS (cancel(o) IMPLIES (blocked XOR ONCE get(o))) | cancel
    not (blocked == once_get)
    ONCE get(call.order): so far, for the same order
ALWAYS COUNT[<= 1] charge(o) | charge
    not at_least_2_charge
    COUNT[>= 2] charge(call.order): so far, for the same order
ALWAYS (charge(o) IMPLIES COUNT[<= 3] charge(o)) | charge
    not at_least_4_charge
    COUNT[>= 4] charge(call.order): so far, for the same order
ALWAYS (charge(o) IMPLIES COUNT[<= 3, 24h] charge(o)) | charge
    not at_least_4_within_24h_charge
    COUNT[>= 4, 24h] charge(call.order): of the last 24h, for the same order!
ALWAYS (charge(o) IMPLIES ONCE[<= 24h] get(o)) | charge
    once_within_24h_get
    ONCE[<= 24h] get(call.order): of the last 24h, for the same order!
ALWAYS (charge(o) IMPLIES (ONCE[<= 24h] get(o) AND ONCE[<= 1h] blocked)) | charge
    once_within_24h_get and once_within_1h_blocked
    ONCE[<= 24h] get(call.order): of the last 24h, for the same order!; ONCE[<= 1h] blocked: of the last 1h!
ALWAYS (cancel(o) IMPLIES PREVIOUSLY get(o)) | cancel
    previously_get
    PREVIOUSLY get(call.order): so far, for the same order
ALWAYS (cancel(o) IMPLIES HISTORICALLY NOT charge(o)) | cancel
    historically_not_charge
    HISTORICALLY NOT charge(call.order): so far, for the same order
ALWAYS (cancel(o) IMPLIES (NOT charge(o) SINCE get(o))) | cancel
    since_not_charge_get
    NOT charge(call.order) SINCE get(call.order): so far, for the same order
ALWAYS NOT (ONCE cancel(o) AND ONCE charge(o)) | charge
    not (once_cancel and once_charge)
    ONCE cancel(call.order): so far, for the same order; ONCE charge(call.order): so far, for the same order
ALWAYS (ONCE charge(o) IMPLIES ONCE cancel(o)) | cancel
    -
    -
ALWAYS (cancel(o) IMPLIES NOT ONCE (charge(p) AND blocked)) | cancel
    not_once_and_charge_blocked
    NOT ONCE (charge(p) AND blocked): so far, for every p
ALWAYS (get(o) IMPLIES approved(o)) | get
    (level == 'manager') and (order != '')
    -
ALWAYS (cancel(o) IMPLIES approved(o)) | cancel
    approved
    approved(call.order): so far, for the same order
ALWAYS (cancel(o) IMPLIES charge(o)) | cancel
    charge
    charge(call.order): so far, for the same order
ALWAYS (cancel(o) IMPLIES (ONCE get(o) OR NOT ONCE charge(p))) | cancel
    once_get or not_once_charge
    ONCE get(call.order): so far, for the same order; NOT ONCE charge(p): so far, for every p
ALWAYS ((cancel(o) OR blocked) IMPLIES NOT ONCE charge(o)) | cancel
    not once_charge
    ONCE charge(call.order): so far, for the same order
ALWAYS (NOT cancel(o) OR NOT (ONCE charge(p) AND ONCE get(q))) | cancel
    not_once_charge or not_once_get
    NOT ONCE charge(p): so far, for every p; NOT ONCE get(q): so far, for every q
ALWAYS (NOT cancel(o) OR NOT ONCE charge(p) OR NOT ONCE get(q)) | cancel
    not_once_charge or not_once_get
    NOT ONCE charge(p): so far, for every p; NOT ONCE get(q): so far, for every q
ALWAYS (NOT cancel(o) OR NOT ONCE charge(p) OR ONCE get(p) OR blocked) | cancel
    or_not_once_charge_once_get or blocked
    NOT ONCE charge(p) OR ONCE get(p): so far, for every p
ALWAYS (cancel(o) IMPLIES false) | cancel
    False
    -
ALWAYS (cancel(o) IMPLIES (ONCE blocked AND NOT PREVIOUSLY ONCE blocked)) | cancel
    once_blocked and (not previously_once_blocked)
    ONCE blocked: so far; PREVIOUSLY ONCE blocked: so far
"""


@pytest.mark.parametrize(("text", "condition", "parameters"), list(batched(TESTS.strip().splitlines(), 3)))
def test_the_condition_and_parameters_of_a_test(text: str, condition: str, parameters: str) -> None:
    made = of(*text.rsplit("|", 1))
    assert [item.condition for item in made.items] == [condition.strip()]
    assert ", ".join(map(said, made.parameters)) == parameters.strip().removesuffix("-")


@pytest.mark.parametrize(("text", "condition", "parameters"), list(batched(FORMULAS.strip().splitlines(), 3)))
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
    made = of(test, tools)
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
    (one,) = of(test, "book" if "call" in test else "").parameters
    assert one.about == about
    assert one.words == (("word",) if one.fact else ())


def test_a_truth_without_words_is_called_by_its_test_and_one_without_a_test_by_its_name() -> None:
    assert [p.trusts for p in of("state.level < 'x'", "", "").parameters] == [('state.level < "x"',)]
    assert Parameter("p", "bool", "", fact="q").trusts == ("p",)


@pytest.mark.parametrize("filled", [(), ("field", "fact"), ("term", "past"), ("field", "term", "fact", "past")])
def test_a_parameter_is_filled_from_one_thing(filled: tuple[str, ...]) -> None:
    each = {"field": "state.a", "fact": "a", "term": facts.Path(("state", "a")), "past": F.Once(F.Atom("a"))}
    with pytest.raises(ValueError, match="one of field, term, fact and past; got"):
        Parameter("p", "bool", "", **{name: each[name] for name in filled})
    for name in filled:
        assert Parameter("p", "bool", "", **{name: each[name]}).trusted is (name == "fact")


def test_the_statements_of_a_contract() -> None:
    asked = ("ALWAYS (book IMPLIES few)", "ALWAYS (book IMPLIES adult)", "ALWAYS ((book AND NOT adult) IMPLIES false)")
    known = (
        Predicate("book", "action", "", tools=("book",)),
        Predicate("few", "state", "", tools=("book",), test=cel.parse("size(call.guests) <= 3")),
        Predicate("adult", "state", "", test=cel.parse("state.age >= 18")),
    )

    def made(*texts: str) -> contract.Contract:
        rules = [Rule(f"r{i}", t, syntax.parse(t), "forbid", clause=f"{i:012}.1") for i, t in enumerate(texts)]
        return contract.contract(BOX.tool("book"), RuleSet(known, tuple(rules)), BOX.state)

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
    assert [c.tool for c in contract.contracts(BOX, RuleSet(known, ()))] == ["book", "pay", "look"]


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
    names = contract._Names(BOX.tool("book"), RuleSet((), ()), BOX.state)
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
    names = contract._Names(BOX.tool("book"), RuleSet(tuple(known), ()), BOX.state)
    condition = names.expression(syntax.parse(text))
    called = {one.name: syntax.render(one.past) for one in names.parameters.values() if one.past is not None}
    for name in sorted(called, key=len, reverse=True):
        condition = condition.replace(name, f"[{called[name]}]")
    assert condition == said


GUARD = "def policy_book(age: int) -> Tuple[bool, str]:\n    return (age >= 18, 'said')\n"
WORDS = "Requires Ensures Refute Invariant Decreases Pure Assume ContractOnly Exsures Assert Fold Unfold Inhale Exhale"


@pytest.mark.parametrize("word", [*WORDS.split(), "Opaque"])
def test_a_guard_brings_no_word_of_a_contract(word: str) -> None:
    (function,) = ast.parse(GUARD.replace("    return", f"    {word}(age)\n    return")).body
    assert contract.own_contract(function) == [word]
    with pytest.raises(contract.VacuousContract, match=f"without contract statements was required; got .*{word}"):
        contract.stated(ast.unparse(function), of("state.age >= 18", ""))
    assert contract.own_contract(ast.parse(GUARD).body[0]) == []


def test_the_probe_stands_between_the_contract_and_the_code() -> None:
    made = of("state.age >= 18", "")
    lines = contract.probe(contract.assemble(GUARD, made)).splitlines()
    at = lines.index("def policy_book__probe(age: int) -> Tuple[bool, str]:")
    assert [line.strip().partition("(")[0] for line in lines[at + 1 :]] == ["Ensures", "Ensures", "Refute", "return "]
    assert lines[at + 3].strip() == "Refute(False)"
    alone = contract.probe(GUARD.replace("    return", "    Ensures(True)\n    x = 1\n    Requires(x)\n    return"))
    assert [line.strip().partition("(")[0] for line in alone.splitlines()[-5:]] == [
        "Ensures",
        "x = 1",
        "Requires",
        "Refute",
        "return ",
    ]


def test_a_guard_is_the_one_function_that_was_asked_for() -> None:
    made = of("state.age >= 18", "")
    for source in (GUARD.replace("policy_book", "policy_pay"), GUARD + GUARD, "", "x = 1", "def ("):
        with pytest.raises(contract.VacuousContract):
            contract.stated(source, made)
    documented = GUARD.replace("    return", '    "Says."\n    return')
    assert contract.stated(documented, made) == contract.stated(GUARD, made)
    assert "'b'" in contract.stated(GUARD.replace("    return", "    'a'\n    'b'\n    return"), made)
    assert "'a'" not in contract.stated(GUARD.replace("    return", "    'a'\n    'b'\n    return"), made)
