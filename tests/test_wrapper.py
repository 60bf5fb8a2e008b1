"""The wrapper around a proved core (SPEC, section 4, v): whatever JSON an agent and its environment give, the guard
answers, and allows only what the rule's words allow of the values as they were given."""

import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_veriguard import BOOK, RIGHT, RULES, TOOLS

from wb.domain.trace import Call, Step, Trace
from wb.guards import contract, runtime
from wb.guards.runtime import Guarded

GUARD = runtime.accepting("veriguard", RULES, (Guarded(BOOK, contract.assemble(RIGHT, BOOK), "proved"),), TOOLS)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=4),
    st.sampled_from([17, 18, 19, 18.0, 17.5, 10**400, "gold", "GOLD", "18", True, math.inf]),
)
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=7) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
)
NEAR = {  # what the rules tell apart
    "age": st.sampled_from([17, 18, 30]),
    "level": st.sampled_from(["gold", "tin"]),
    "guests": st.integers(4, 7).map(lambda many: [0] * many),
}


def an_object(*names: str) -> st.SearchStrategy[dict]:
    """Objects with any of the names, and others."""
    named = st.fixed_dictionaries({}, optional=dict.fromkeys(names, JSON))
    near = st.fixed_dictionaries({name: NEAR[name] for name in names})
    others = st.dictionaries(st.text(max_size=3), JSON, max_size=2)
    return near | st.builds(lambda extra, own: {**extra, **own}, others, named)


def permitted(state: dict, arguments: dict) -> bool:
    """The two rules as a person reads them, of values as they stand: adults; at most five guests unless gold."""
    age, guests = state.get("age"), arguments.get("guests")
    adult = type(age) in (int, float) and age >= 18
    return adult and (state.get("level") == "gold" or (type(guests) is list and len(guests) <= 5))


@settings(deadline=None, max_examples=400)
@given(an_object("age", "level"), an_object("guests"))
@example({"age": True, "level": "gold"}, {"guests": []})
@example({"age": "30", "level": "gold"}, {"guests": []})
@example({"age": 30, "level": ["gold"]}, {"guests": "abc"})
@example({"age": 30}, {"guests": {"a": 1}})
@example({"age": math.nan, "level": "gold"}, {})
def test_any_json_is_answered_and_nothing_unread_is_allowed(state: dict, arguments: dict) -> None:
    verdict = GUARD.decide(Trace("t", (Step((Call("book", arguments),), state),)))
    assert verdict.decision in ("allow", "deny", "undecided") and verdict.reason
    assert verdict.decision != "allow" or permitted(state, arguments)


@given(JSON)
def test_arguments_or_a_state_that_are_no_object_are_never_allowed(value: object) -> None:
    if isinstance(value, dict):
        return
    rows = [({"guests": []}, value)]
    rows += [(value, {"age": 30, "level": "gold"})] if value is not None else []  # None: not known, which is allowed
    for arguments, state in rows:
        verdict = GUARD.decide(Trace("t", (Step((Call("book", arguments),), state),)))
        assert verdict.decision != "allow"


@pytest.mark.parametrize(
    ("state", "arguments", "decision"),
    [
        ({"age": 18, "level": "gold"}, {"guests": [1] * 9}, "allow"),
        ({"age": 18, "level": "tin"}, {"guests": [1] * 5}, "allow"),
        ({"age": 18, "level": "tin"}, {"guests": [1] * 6}, "deny"),
        ({"age": 17}, {}, "deny"),
        ({"age": 18}, {"guests": [1] * 6}, "undecided"),
        ({"level": "gold"}, {"guests": []}, "undecided"),
        ({"age": 18}, {"guests": None}, "deny"),
    ],
)
def test_what_is_read_is_decided(state: dict, arguments: dict, decision: str) -> None:
    assert GUARD.decide(Trace("t", (Step((Call("book", arguments),), state),))).decision == decision
