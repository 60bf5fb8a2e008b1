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
from wb.domain.trace import Call
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


@given(VALUES)
def test_a_plain_value_is_the_same_and_nobody_elses(value: object) -> None:
    found = plain(value)
    assert lists(found) == value
    assert not isinstance(value, dict | list) or found is not value
    assert plain(found) == found


def test_the_size_of_a_value_is_counted_as_often_as_it_stands_there() -> None:
    value: object = []
    for _ in range(100_000):
        value = [value]
    start = time.process_time()
    assert "nested at most 100 levels" in str(attempt(plain, value))
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


@given(VALUES, VALUES)
def test_two_values_are_the_same_where_their_json_is(one: object, other: object) -> None:
    def written(value: object) -> str:
        return json.dumps(plain(value), sort_keys=True)

    for first, second in (
        (one, other),
        (one, one),
        ([one, 1], [one, True]),
        ([one], [one, one]),
        ({"a": one}, {"a": one, "b": None}),
    ):
        same = written(first) == written(second)
        assert schema.same(plain(first), plain(second)) is schema.same(plain(second), plain(first)) is same
