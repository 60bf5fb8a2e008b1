"""Closed schemas: what is declared inside of an argument fits, and nothing else that is not allowed in words."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from test_validation import SCHEMAS, VALUES, attempt, box, lists

from wb.domain import schema
from wb.domain.schema import Unfit, compiled
from wb.domain.tools import Field, Toolbox
from wb.domain.validation import Refused, Validator

WHOLE = {"type": "integer"}
HEAD = {"type": "object", "properties": {"a": WHOLE}}
CARD = {"type": "object", "properties": {"n": WHOLE, "next": {"$ref": "#/$defs/card"}}}
PERSON = {"type": "object", "properties": {"kind": {"const": "p"}, "card": {"type": "object", "properties": {"n": {}}}}}
FIRM = {"type": "object", "properties": {"kind": {"const": "f"}, "tax": WHOLE}}

INSIDE = {  # the schema of one argument, what fits it, and what does not
    "an object": (HEAD, [{}, {"a": 1}], [{"x": 1}, {"a": 1, "x": None}, {"A": 1}]),
    "nothing declared": ({**HEAD, "properties": {}}, [{}], [{"x": 1}]),
    "no list of properties": ({"type": "object"}, [{}, {"x": {"y": 1}}], []),
    "others allowed": ({**HEAD, "additionalProperties": True}, [{"x": []}, {"a": 1, "x": 1}], [{"a": "1"}]),
    "others of a kind": ({**HEAD, "additionalProperties": HEAD}, [{"x": {"a": 1}}], [{"x": 1}, {"x": {"y": 1}}]),
    "others refused": ({**HEAD, "additionalProperties": False}, [{"a": 1}], [{"x": 1}]),
    "others by another word": ({**HEAD, "unevaluatedProperties": True}, [{"x": 1}], []),
    "names by a pattern": ({**HEAD, "patternProperties": {"^x": WHOLE}}, [{"x1": 1}], [{"x1": "1"}, {"y": 1}]),
    "in a list": ({"type": "array", "items": HEAD}, [[], [{"a": 1}, {}]], [[{"a": 1}, {"x": 1}], [{"x": 1}]]),
    "in lists of lists": ({"items": {"items": HEAD}}, [[[{"a": 1}]]], [[[{"x": 1}]]]),
    "by place in a list": ({"prefixItems": [WHOLE, HEAD]}, [[1, {"a": 1}], [1]], [[1, {"x": 1}]]),
    "in an object": ({"properties": {"h": HEAD}}, [{"h": {"a": 1}}], [{"h": {"x": 1}}, {"x": 1}]),
    "in what has a pattern": ({"patternProperties": {"^h": HEAD}}, [{"h": {"a": 1}}, {"o": 1}], [{"h": {"x": 1}}]),
    "or nothing": ({"anyOf": [HEAD, {"type": "null"}]}, [None, {"a": 1}], [{"x": 1}]),
    "in all of some": ({"allOf": [HEAD, {"properties": {"b": {}}}]}, [{"a": 1, "b": 2}], [{"a": 1, "x": 2}]),
    "beside all of some": ({**HEAD, "allOf": [{"required": ["a"]}]}, [{"a": 1}], [{"a": 1, "x": 2}, {}]),
    "one of two": ({"oneOf": [PERSON, FIRM]}, [{"kind": "f", "tax": 1}], [{"kind": "f", "x": 1}]),
    "within one of two": (
        {"oneOf": [PERSON, FIRM]},
        [{"kind": "p", "card": {"n": 1}}],
        [{"kind": "p", "card": {"n": 1, "x": 1}}],
    ),
    "one of two, or any": ({"anyOf": [FIRM, {"type": "object"}]}, [{"x": 1}], [1]),
    "some of its names": ({**HEAD, "anyOf": [{"required": ["a"]}, {}]}, [{}, {"a": 1}], [{"x": 1}]),
    "where something holds": (
        {**HEAD, "if": {"required": ["a"]}, "then": {"properties": {"b": HEAD}}},
        [{"a": 1, "b": {"a": 1}}],
        [{"a": 1, "x": 1}, {"a": 1, "b": {"x": 1}}],
    ),
    "with another name": (
        {**HEAD, "dependentSchemas": {"a": {"properties": {"b": {}}}}},
        [{"a": 1, "b": 1}],
        [{"x": 1}],
    ),
    "not what is open": ({"not": HEAD}, [1, "x"], [{"x": 1}, {"a": 1}]),  # closed within, `not` would let {"x": 1} in
    "closed parts overlap": (  # closed, each way would fit one value alone
        {"oneOf": [{"properties": {"h": HEAD}}, {"properties": {"h": {"properties": {"b": {}}}}}]},
        [],
        [{"h": {"a": 1}}, {"h": {"b": 1}}, {"h": {}}],
    ),
    "a reference": ({"$ref": "#/$defs/card"}, [{"n": 1}], [{"x": 1}]),
    "a reference in other letters": ({"$ref": "#/%24defs/c%61rd"}, [{"n": 1}], [{"x": 1}, {"n": "1"}]),
    "a reference that is followed by name": (  # what cannot be followed here declares nothing
        {"$defs": {"h": {**HEAD, "$anchor": "h"}}, "properties": {"b": {"$ref": "#h"}}},
        [{"b": {}}],
        [{"b": {"a": 1}}, {"b": {"x": 1}}, {"x": 1}],
    ),
    "a reference to itself": (
        {"items": {"$ref": "#/$defs/card"}},
        [[{"n": 1, "next": {"n": 2, "next": {}}}]],
        [[{"n": 1, "next": {"n": 2, "next": {"x": 1}}}]],
    ),
    "more than a reference": (
        {"allOf": [{"$ref": "#/$defs/card"}], "properties": {"b": {}}},
        [{"n": 1, "b": 1, "next": {"n": 1}}],
        [{"n": 1, "x": 1}, {"b": 1, "next": {"b": 1}}],
    ),
}
OLD = ("an object", "a reference", "a reference to itself", "more than a reference", "in a list", "names by a pattern")


@pytest.mark.parametrize(("dialect", "name"), [*[("", one) for one in INSIDE], *[("draft-07", one) for one in OLD]])
def test_what_is_declared_inside_fits_and_nothing_else(dialect: str, name: str) -> None:
    inside, fits, not_ = INSIDE[name]
    root = {"$schema": f"http://json-schema.org/{dialect}/schema#"} if dialect else {}
    checks = box({**root, "properties": {"h": inside}, "$defs": {"card": CARD}})
    for one in fits:
        assert lists(getattr(checks.call("t", {"h": one}), "arguments", None)) == {"h": one}, one
    for one in not_:
        found = checks.call("t", {"h": one})
        assert type(found) is Refused and found.call.arguments == {} and found.reason, one


def test_what_is_not_declared_is_named_with_what_to_do() -> None:
    guests = {"type": "array", "items": HEAD}
    checks = box({"properties": {"guests": guests, "b": {"type": "string"}}, "required": ["b"]})
    found = checks.call("t", {"guests": [{"a": 1}, {"x": 1}], "b": "y"})
    assert type(found) is Refused and found.call.arguments == {"b": "y"}
    assert found.reason == (
        'guests[1]: no "x" was required; got one (tools.json declares none: name it in `properties` there, '
        "or allow others by `additionalProperties`)"
    )
    wrong = checks.call("t", {"guests": [{"a": "1", "x": 1}], "b": "y"})
    assert wrong.reason == 'guests[0].a: integer was required; got "1"', "first what the schema itself says"


@settings(max_examples=300)
@given(SCHEMAS, VALUES)
def test_a_closed_schema_lets_nothing_in_that_the_schema_does_not(wanted: dict, value: object) -> None:
    closed = attempt(compiled(wanted, closed=True), value)
    if not isinstance(closed, Unfit):
        assert closed == attempt(compiled(wanted), value)
    assert schema.problem(schema.closing(wanted)) == "", "it can be read still"
    before = json.dumps(wanted)
    assert schema.closing(wanted) is not wanted and json.dumps(wanted) == before


def test_the_state_and_what_tools_give_may_say_more_than_is_declared() -> None:
    checks = Validator(Toolbox((), (Field("h", "object", schema=HEAD),)))
    assert checks.state({"h": {"a": 1, "x": 2}, "o": 3}).values == {"h": {"a": 1, "x": 2}, "o": 3}
    assert checks.one("h", {"a": 1, "x": 2}) == {"a": 1, "x": 2}
    assert "h" in checks.state({"h": {"a": "1", "x": 2}}).strange
