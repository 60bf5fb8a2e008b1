"""What fits a schema, as another library says, and comes out plain."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from wb.domain import schema, tools
from wb.domain.schema import Unfit, compiled, plain
from wb.domain.tools import Field, Tool, Toolbox
from wb.domain.trace import Call, Step, Trace
from wb.domain.validation import Refused, Validator

ATOMS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([0.0, 1.0, -0.0, 0.5, 2.5, 1e18]),
    st.sampled_from(["", "a", "ab", "é", "abc"]),
)
VALUES = st.recursive(
    ATOMS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)),
    max_leaves=6,
)
TYPES = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])


def keywords(inner: st.SearchStrategy) -> st.SearchStrategy:
    """One keyword and what it says."""
    some = {
        "type": st.one_of(TYPES, st.lists(TYPES, min_size=1, max_size=3, unique=True)),
        "enum": st.lists(ATOMS, min_size=1, max_size=3),
        "items": st.one_of(inner, st.booleans()),
        "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
        "required": st.lists(st.sampled_from("abc"), max_size=2, unique=True),
        "additionalProperties": st.one_of(inner, st.booleans()),
        "anyOf": st.lists(inner, min_size=1, max_size=2),
        "minimum": st.sampled_from([0, 0.5]),
        "exclusiveMaximum": st.sampled_from([1, 2.5]),
        "maxLength": st.integers(0, 2),
        "minItems": st.integers(0, 2),
        "description": st.just("words"),
        "pattern": st.just("^a"),
        "oneOf": st.lists(inner, min_size=1, max_size=2),
        "not": inner,
        "const": st.sampled_from([[1], {"a": 1}, 1, True]),
        "uniqueItems": st.booleans(),
        "patternProperties": st.fixed_dictionaries({"^a": inner}),
    }
    return st.one_of([st.tuples(st.just(name), said) for name, said in some.items()])


def schemas(inner: st.SearchStrategy) -> st.SearchStrategy:
    return st.lists(keywords(inner), max_size=3).map(dict)


SCHEMAS = schemas(schemas(st.sampled_from([{}, {"type": "string"}, {"type": "integer"}])))


def lists(value: object) -> object:
    return json.loads(json.dumps(value))


@settings(max_examples=600)
@given(SCHEMAS, VALUES)
def test_a_value_fits_exactly_where_the_library_says_so(wanted: dict, value: object) -> None:
    fits = Draft202012Validator(wanted).is_valid(value)
    try:
        found = compiled(wanted)(value)
    except Unfit as error:
        assert not fits and " required; got " in str(error), error
    else:
        assert fits and lists(found) == value


@pytest.mark.parametrize("value", [1e300, -(2.0**63) * 2, 2**63, -(2**63) - 1, [1e300], {"a": 2**64}])
def test_whole_numbers_have_64_bits(value: object) -> None:
    assert "64 bits was required" in str(attempt(compiled({}), value))
    assert plain((2**63 - 1, -(2.0**63), 1.5e300 % 1)) == (2**63 - 1, -(2**63), 0)


@given(VALUES)
def test_a_plain_value_is_the_same_and_nobody_elses(value: object) -> None:
    found = plain(value)
    assert lists(found) == value
    assert not isinstance(value, dict | list) or found is not value
    assert plain(found) == found


@pytest.mark.parametrize(
    ("levels", "fits"), [(schema.jsonl.DEEPEST, True), (schema.jsonl.DEEPEST + 1, False), (100_000, False)]
)
def test_depth_and_size_are_bounded(levels: int, fits: bool) -> None:
    value: object = []
    for _ in range(levels - 1):
        value = [value]
    assert isinstance(attempt(plain, value), Unfit) is not fits
    assert isinstance(attempt(plain, ["x"] * schema.MOST), tuple)
    start = time.process_time()
    assert "100000 values" in str(attempt(plain, ["x"] * (schema.MOST + 1)))
    twice: object = ["x"]
    for _ in range(60):
        twice = [twice, twice]
    assert "100000 values" in str(attempt(plain, twice))
    assert time.process_time() - start < 5


def attempt(check, value: object) -> object:
    try:
        return check(value)
    except Unfit as error:
        return error


def box(parameters: dict) -> Validator:
    return Validator(tools.parse(json.dumps([{"name": "t", "parameters": parameters}])))


TEXT = {"type": "string"}


@pytest.mark.parametrize(
    ("parameters", "fits", "not_"),
    [
        ({"properties": {"a": TEXT}}, [{}, {"a": "x"}], [{"b": "x"}, {"a": 1}, {"a": None}]),
        ({"properties": {"a": {}}}, [{"a": 1}, {"a": None}, {"a": {"x": [1]}}], [{"b": 1}]),
        ({"properties": {"a": TEXT}, "required": ["a"]}, [{"a": "x"}], [{}, {"A": "x"}]),
        ({"properties": {"a": TEXT}, "additionalProperties": True}, [{"b": 1}, {"a": "x", "b": []}], [{"a": 1}]),
        ({"properties": {}, "additionalProperties": {"type": "integer"}}, [{"b": 1}], [{"b": "x"}]),
        ({"properties": {}, "additionalProperties": False}, [{}], [{"b": 1}]),
        ({"properties": {}, "additionalProperties": {"type": "string", "pattern": "^x"}}, [{"b": "xy"}], [{"b": "y"}]),
        ({"properties": {"a": {"additionalProperties": {"not": TEXT}}}}, [{"a": {"b": 1}}], [{"a": {"b": "y"}}]),
        (
            {"properties": {"a": {}, "b": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
            [{"a": 1}, {"b": 1}],
            [{}],
        ),
        (
            {"properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"enum": ["p", "q"]}}},
            [{"a": "p"}],
            [{"a": "r"}, {"a": 1}],
        ),
        ({"properties": {"a": {"$ref": "https://example.invalid/x.json"}}}, [], [{}, {"a": "p"}]),
        ({"properties": {"a": {"type": "string", "pattern": "["}}}, [], [{}, {"a": "p"}]),
        ({"properties": {"a": {"type": "array", "items": {"type": "date"}}}}, [], [{}, {"a": []}, {"a": ["x"]}]),
        ({"properties": {"a": {"anyOf": [TEXT, {"type": "null"}]}}}, [{"a": None}, {"a": "x"}], [{"a": 1}]),
    ],
)
def test_arguments_fit_what_the_tool_declares(parameters: dict, fits: list, not_: list) -> None:
    checks = box(parameters)
    assert [one for one in fits if lists(getattr(checks.call("t", one), "arguments", None)) != one] == []
    for one in not_:
        found = checks.call("t", one)
        assert type(found) is Refused and found.reason and lists(found.given) == one, one
        fitting = checks.call("t", found.call.arguments)
        assert fitting == found.call or " required" in fitting.reason or "cannot be read" in fitting.reason


def test_a_refused_call_names_each_misfit_and_keeps_what_fits() -> None:
    parameters = {"properties": {"a": TEXT, "n": {"type": "integer"}, "o": {"type": "object"}}, "required": ["a"]}
    found = box(parameters).call("t", {"a": "x", "n": "y", "o": {}, "z": 1})
    assert found.call == Call("t", {"a": "x", "o": {}})
    assert found.reason == 'n: integer was required; got "y"; z: one of the arguments a, n, o was required'


def test_what_a_pattern_of_names_asks_is_asked_of_each_argument_of_a_refused_call() -> None:
    parameters = {"properties": {"a": TEXT}, "required": ["a"], "patternProperties": {"^n": {"type": "integer"}}}
    found = box(parameters).call("t", {"n1": 1.0, "n2": "y", "other": 2})
    assert type(found) is Refused and found.call == Call("t", {"n1": 1, "other": 2})
    assert "n2: integer was required" in found.reason


def test_a_field_made_by_hand_is_checked_by_its_type_and_values() -> None:
    checks = Validator(
        Toolbox(
            (Tool("t", arguments=(Field("room", "integer", values=("1", "2")), Field("to", "array", required=True))),),
            (Field("role", "string", values=("a", "b")), Field("age", "integer")),
        )
    )
    assert checks.call("t", {"room": 1.0, "to": ["x"]}) == Call("t", {"room": 1, "to": ("x",)})
    for bad in ({"room": 3, "to": []}, {"room": "1", "to": []}, {"room": 1}):
        assert type(checks.call("t", bad)) is Refused
    values, strange = checks.state({"role": "c", "age": 30.0, "other": [1], "none": None})
    assert values == {"age": 30, "other": (1,), "none": None} and list(strange) == ["role"]


def test_without_a_toolbox_values_need_only_be_json() -> None:
    assert Validator().call("any", {"x": [1, {"y": None}]}) == Call("any", {"x": (1, {"y": None})})
    assert type(Validator().call("any", {"x": {1}})) is Refused


def test_of_a_trace_the_calls_of_its_last_step_say_whether_it_may_run() -> None:
    one = Validator(Toolbox((Tool("t", arguments=(Field("a", "integer"),)),), (Field("n", "integer"),)))
    fits, odd, strange = Call("t", {"a": 1}), Call("t", {"a": "x"}), Call("fly", {})
    for calls, whys in (((fits,), 0), ((odd,), 1), ((strange,), 1), ((fits, odd, strange), 2), ((), 0)):
        for before in ((), (Step((odd, strange), {"n": "x"}),), (Step((fits,), {"n": 3}),)):
            told, why = one.trace(Trace("r", (*before, Step(calls, {"n": 2}, "words"))))
            assert bool(why) == bool(whys), why
            assert ("a: " in why) == (odd in calls) and ("fly" in why) == (strange in calls)
            assert told.id == "r" and len(told.steps) == len(before) + 1
            assert (told.steps[-1].state, told.steps[-1].text) == ({"n": 2}, "words")
            assert len(told.steps[-1].calls) == len(calls) and all(type(c) is Call for c in told.steps[-1].calls)
            assert dict(told.steps[0].state) == (
                {"n": 2} if not before else {"n": 3} if fits in before[0].calls else {}
            )


def test_nothing_is_required_of_arguments_that_nobody_told() -> None:
    checks = box({"properties": {"a": TEXT}, "required": ["a"]})
    assert checks.asked(Call("t", None)) == Call("t") and type(checks.asked(Call("t"))) is Refused


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"tools": [\n {"name": "a",\n  "parameters": {"properties": {"x": {},\n  "x": {}}}}]}', 4),
        ('{"tools": [{"name": "a: {\\"name\\":", "description": "{"}],\n\n "tools": []}', 3),
        ('[{"name": "a"},\n {"name": "b", "n\\u0061me": "c"}]', 2),
    ],
)
def test_a_key_twice_in_tools_json_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(tools.ToolError, match=rf"each key once was required; got .* twice \(at line {line}\)"):
        tools.parse(text)


SAME = [
    (1, 1, True),
    (1, 2, False),
    (1, True, False),
    (1, 1.0, False),
    (1, "1", False),
    (None, None, True),
    ((1, (2, "a")), (1, (2, "a")), True),
    ((1, (2, "a")), (1, (2, "b")), False),
    ((1,), (1, 2), False),
    ((), {}, False),
    ({"a": 1, "b": (True,)}, {"b": (True,), "a": 1}, True),
    ({"a": 1, "b": (True,)}, {"b": (1,), "a": 1}, False),
    ({"a": 1}, {"a": 1, "b": 1}, False),
    ({"a": 1}, {"b": 1}, False),
]


@pytest.mark.parametrize(("one", "other", "expected"), SAME)
def test_two_values_are_the_same_in_json_or_not(one: object, other: object, expected: bool) -> None:
    assert schema.same(one, other) is schema.same(other, one) is expected


def test_a_schema_that_cannot_be_read_says_why() -> None:
    assert schema.problem({"type": "integer"}) == "" == schema.problem({})
    assert schema.problem({"type": "number!"}).startswith("cannot be read: #/type: ")
    assert schema.problem({"pattern": "("}).startswith("cannot be read: ")
