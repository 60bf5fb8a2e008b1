"""A call is judged by its tool's code; what is missing, broken or unknown never lets it run."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.told import valuation

from wb.domain import tools
from wb.domain.tools import Field, Tool, Toolbox
from wb.domain.trace import Call, Step, Trace, permitted
from wb.guards import contract, examples, sandbox
from wb.guards.contract import assemble
from wb.guards.runtime import CallGuard, Guarded
from wb.logic import cel, semantics
from wb.rules import rulefile
from wb.rules.rule import Predicate, Rule, RuleSet

PREDICATES = (
    Predicate("book", "action", "", tools=("book",)),
    Predicate("pay", "action", "", tools=("pay",)),
    Predicate("adult", "state", "", test=cel.parse("state.age >= 18")),
    Predicate("few", "state", "", tools=("book",), test=cel.parse("size(call.guests) <= 2")),
    Predicate("special", "state", "", test=cel.parse('state.level == "gold"')),
    Predicate("confirmed", "state", ""),
)
TEXTS = (
    "ALWAYS (book IMPLIES adult)",
    "ALWAYS ((book AND NOT special) IMPLIES few)",
    "ALWAYS (book IMPLIES ONCE confirmed)",
    "ALWAYS (pay IMPLIES ONCE book)",
)
RULES = RuleSet(PREDICATES, tuple(Rule(f"r{i}", t, semantics.parse(t), "forbid") for i, t in enumerate(TEXTS, 1)))
TOOLS = Toolbox((Tool("book", arguments=(Field("guests", "array"),)), Tool("pay"), Tool("look")))
BOOK = """
def policy_book(age: int, level: str, count_guests: int, once_confirmed: bool) -> Tuple[bool, str]:
    if age < 18:
        return (False, "too young")
    if level != "gold" and count_guests > 2:
        return (False, "too many")
    if not once_confirmed:
        return (False, "not confirmed")
    return (True, "allowed")
"""
PAY = "def policy_pay(once_book: bool) -> Tuple[bool, str]:\n    if not once_book:\n        return (False, 'no booking')\n    return (True, 'allowed')\n"  # noqa: E501
LOOK = "def policy_look() -> Tuple[bool, str]:\n    return (True, 'no rule')\n"
CONTRACTS = {c.tool: c for c in contract.contracts(TOOLS, RULES)}


def entry(tool: str, source: str, grade: str = "proved") -> Guarded:
    return Guarded(CONTRACTS[tool], assemble(source, CONTRACTS[tool]), grade)


GUARDS = (entry("book", BOOK), entry("pay", PAY), entry("look", LOOK))
GUARD = CallGuard("g", RULES, GUARDS, frozenset({"proved"}))


def trace(*calls: Call, before: tuple[Step, ...] = (), **state: object) -> Trace:
    return Trace("t", (*before, Step(calls, state)))


def book(*guests: str) -> Call:
    return Call("book", {"guests": guests})


FINE = {"age": 18, "level": "gold", "confirmed": True}


@pytest.mark.parametrize(
    "state",
    [
        {**FINE, "age": None},
        {k: v for k, v in FINE.items() if k != "age"},
        {**FINE, "age": "18"},
        {**FINE, "age": True},
        {**FINE, "age": 18.5},
        {**FINE, "confirmed": "yes"},
    ],
)
def test_a_missing_or_mistyped_value_is_undecided_and_not_permitted(state: dict) -> None:
    verdict = GUARD.decide(trace(book("a"), **state))
    assert verdict.decision == "undecided" and not permitted(verdict)


def test_a_whole_number_is_an_integer_however_it_is_written() -> None:
    assert GUARD.decide(trace(book("a"), **{**FINE, "age": 18.0})).decision == "allow"
    assert GUARD.decide(trace(book("a"), **{**FINE, "age": 17.0})).violated == ("r1",)


def test_what_happened_before_counts() -> None:
    step = Step((book("a"),), FINE)
    assert GUARD.decide(trace(Call("pay"), before=(step,))).decision == "allow"
    assert GUARD.decide(trace(Call("pay"), before=(Step(),))).violated == ("r4",)


def test_every_call_of_a_step_is_judged_with_its_own_arguments() -> None:
    state = {**FINE, "level": "tin"}
    assert GUARD.decide(trace(book("a"), book("a", "b"), **state)).decision == "allow"
    assert GUARD.decide(trace(book("a"), book("a", "b", "c"), **state)).violated == ("r2",)


def test_a_step_without_a_call_is_allowed_and_says_so() -> None:
    assert GUARD.decide(trace(age=1)).reason == "the step calls no tool"


FIELDS = [f"f{i}" for i in range(16)]
MANY = RuleSet(
    (
        Predicate("book", "action", "", tools=("book",)),
        *(Predicate(name, "state", "", test=cel.parse(f"state.{name} >= {i}")) for i, name in enumerate(FIELDS)),
    ),
    (Rule("all", "", semantics.parse("ALWAYS (book IMPLIES (" + " AND ".join(FIELDS) + "))"), "forbid"),),
)


def lone(body: str, rules: RuleSet) -> CallGuard:
    """A guard of one tool with that body, accepted as it is."""
    (made,) = contract.contracts(Toolbox((Tool("book"),)), rules)
    return CallGuard("g", rules, (Guarded(made, f"{made.signature}\n{body}", "proved"),), frozenset({"proved"}))


@pytest.mark.parametrize("answer", [True, False])
def test_what_takes_too_many_completions_to_tell_is_undecided_with_all_that_is_unknown(answer: bool) -> None:
    """The code reads all sixteen unknown numbers and says the same each time: there are too many ways to be sure."""
    reads = "".join(f"    if {name} == {i}:\n        pass\n" for i, name in enumerate(FIELDS))
    verdict = lone(f"{reads}    return ({answer}, 'always')\n", MANY).decide(trace(Call("book")))
    assert verdict.decision == "undecided" and "completions were allowed" in verdict.reason
    assert verdict.missing == tuple(f"state.{name}" for name in FIELDS) and verdict.grade == "proved"


@pytest.mark.parametrize("answer", [True, False])
@pytest.mark.parametrize("test", ["age + 1 == 18", "age == age", "level < 'gold'"])
def test_code_whose_values_cannot_be_told_apart_decides_nothing_that_it_read_and_is_unknown(
    test: str, answer: bool
) -> None:
    """Both branches say the same, for the values that are tried; another one might be told otherwise."""
    body = f"    if {test}:\n        return ({answer}, 'a')\n    return ({answer}, 'b')\n"
    made = CONTRACTS["book"]
    one = CallGuard("g", RULES, (Guarded(made, f"{made.signature}\n{body}", "proved"),), frozenset({"proved"}))
    assert not one.programs["book"].exact >= {"age", "level"}
    field = test.split()[0]
    known = {name: value for name, value in FINE.items() if name != field}
    verdict = one.decide(trace(book("a"), **known))
    assert (verdict.decision, verdict.missing) == ("undecided", (f"state.{field}",))
    assert one.decide(trace(book("a"), **FINE)).decision == ("allow" if answer else "deny"), "all of it is known"


STATES = st.fixed_dictionaries(
    {},
    optional={
        "age": st.sampled_from((17, 18, None)),
        "level": st.sampled_from(("gold", "tin", None)),
        "confirmed": st.sampled_from((True, False, None)),
    },
)
STEPS = st.builds(
    Step,
    st.lists(st.sampled_from((book(), book("a", "b", "c"), Call("book"), Call("pay"))), max_size=2).map(tuple),
    STATES,
)


@settings(max_examples=150)
@given(st.lists(STEPS, max_size=2), st.sampled_from(("book", "pay")), st.data())
def test_the_guard_agrees_with_the_rules_semantics_on_every_completion(
    before: list, tool: str, data: st.DataObject
) -> None:
    """The oracle: LTLf on each way to fill in what the trace does not tell; the guard denies (allows) where all do.

    Unknown fields are filled with values, not predicates, so that what two predicates share stays shared.
    """
    call = data.draw(st.sampled_from((book("a"), book("a", "b", "c"), Call("book")))) if tool == "book" else Call("pay")
    given_ = Trace("t", (*before, Step((call,), data.draw(STATES))))
    outcomes = {all(_holds_now(rule, filled) for rule in RULES.rules) for filled in _filled(given_)}
    verdict = GUARD.decide(given_)
    if outcomes == {True}:
        assert verdict.decision in ("allow", "undecided")  # Kleene's past operators may know less, never more
    elif outcomes == {False}:
        assert verdict.decision in ("deny", "undecided")
    else:
        assert verdict.decision == "undecided"
    if len(given_.steps) == 1:
        assert verdict.decision == {(True,): "allow", (False,): "deny"}.get(tuple(outcomes), "undecided")


def _holds_now(rule: Rule, filled: list[dict[str, bool]]) -> bool:
    sets = [{n for n, v in row.items() if v} for row in filled]
    return semantics.holds(rule.formula.body, sets, at=len(sets) - 1)


def _filled(given_: Trace) -> list[list[dict[str, bool]]]:
    """Every completion of the valuations of a trace, step by step."""
    rows: list[list[dict[str, bool]]] = [[]]
    for step in given_.steps:
        known = valuation(PREDICATES, step)
        options: list[dict[str, bool]] = [{}]
        for name, value in known.items():
            options = [{**o, name: v} for o in options for v in ((value,) if value is not None else (False, True))]
        rows = [[*row, option] for row in rows for option in options]
    return rows


def test_the_sandboxed_code_is_what_is_judged() -> None:
    assert isinstance(GUARD.programs["book"], sandbox.Program) and "Ensures" in GUARDS[0].source


@pytest.mark.parametrize(
    ("text", "rows", "expected"),
    [
        ("ONCE a", [None, True], True),
        ("ONCE a", [None, False], None),
        ("ONCE a", [False, False], False),
        ("HISTORICALLY a", [False, True], False),
        ("HISTORICALLY a", [None, True], None),
        ("PREVIOUSLY a", [True, False], True),
        ("PREVIOUSLY a", [True], False),
        ("NOT ONCE a", [None], None),
    ],
)
def test_a_past_formula_is_unknown_only_where_the_unknown_matters(text: str, rows: list, expected: bool | None) -> None:
    assert semantics.table(semantics.parse(text), [{"a": value} for value in rows], semantics.KLEENE)[-1] is expected


def test_what_is_not_declared_a_whole_number_may_be_another_one() -> None:
    """No whole number lies between 5 and 6; 5.5 does, and what is missing may."""
    either = {"anyOf": [{"type": "integer"}, {"type": "number"}]}
    shape = {"type": "object", "properties": {"y": either, "n": {"type": "integer"}}}
    box = {"tools": [{"name": "act", "parameters": shape}]}
    text = """
predicates:
  act: {kind: action, tools: [act]}
  between: {kind: state, tools: [act], test: call.y > 5 && call.y < 6}
  never: {kind: state, tools: [act], test: call.n > 5 && call.n < 6}
rules:
  - {id: r, formula: ALWAYS (act IMPLIES NOT between), modality: forbid}
  - {id: w, formula: ALWAYS (act IMPLIES NOT never), modality: forbid}
"""
    rules, made = rulefile.loads(text), tools.parse(json.dumps(box))
    guards = [Guarded(one, examples.function(one, one.allows), "tested") for one in contract.contracts(made, rules)]
    session = CallGuard("g", rules, tuple(guards), frozenset({"tested"}), made).session()
    assert session.call("act", {"y": 5, "n": 5}).decision == session.call("act", {"y": 6}).decision == "allow"
    for arguments in ({"y": 5.5}, {}, {"n": 5}):
        verdict = session.call("act", arguments)
        assert verdict.decision == "undecided" and verdict.missing[0] == "act.y"
