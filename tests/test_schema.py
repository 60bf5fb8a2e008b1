"""What a check of values says word for word, at its limits and of what is no value; and what is left of a call."""

from __future__ import annotations

import json
import math
from collections import OrderedDict

import pytest

from wb.domain import schema, tools
from wb.domain.schema import LARGEST, Unfit, compiled, got, named, plain
from wb.domain.tools import Field, Tool, Toolbox
from wb.domain.trace import Call, Step, Trace
from wb.domain.validation import Known, Refused, Validator, fitting, stranger


class Text(str):
    """A text that is none of JSON's."""


def nested(levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "null"),
        ([1], "array"),
        ((1,), "array"),
        ({}, "object"),
        (True, "true"),
        (False, "false"),
        (1.5, "1.5"),
        ("a", '"a"'),
        ("x" * 90, '"' + "x" * 79 + "…"),
        (7, "7"),
        (LARGEST - 1, "9223372036854775807"),
        (LARGEST, "one of more than 64 bits"),
        (-LARGEST, "-9223372036854775808"),
        (-LARGEST - 1, "one of more than 64 bits"),
        (Text("a"), "Text"),
        (OrderedDict(), "OrderedDict"),
        (type("y" * 90, (), {})(), "y" * 80),
    ],
)
def test_what_was_got_is_told_and_asked_nothing(value: object, shown: str) -> None:
    assert got(value) == shown


def test_a_name_is_shown_as_it_is_or_quoted() -> None:
    for name in ("a", "", "a b", "x" * 80):
        assert named(name) == name
    for name, shown in (("x" * 81, '"' + "x" * 79 + "…"), ("a\n", '"a\\n"'), ("é", '"\\u00e9"')):
        assert named(name) == shown


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (None, None),
        (True, True),
        ("é", "é"),
        (1.0, 1),
        (-0.0, 0),
        (0.5, 0.5),
        (LARGEST - 1, LARGEST - 1),
        (-LARGEST, -LARGEST),
        (float(-LARGEST), -LARGEST),
        ([1, (2,)], (1, (2,))),
        ({"a": [{}]}, {"a": ({},)}),
    ],
)
def test_a_value_is_copied_as_json(value: object, found: object) -> None:
    made = plain(value)
    assert made == found and type(made) is type(found)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (Text("a"), "a JSON value was required; got Text"),
        ({1}, "a JSON value was required; got set"),
        (OrderedDict(), "a JSON value was required; got OrderedDict"),
        (LARGEST, "an integer of at most 64 bits was required; got one of more than 64 bits"),
        (-LARGEST - 1, "an integer of at most 64 bits was required; got one of more than 64 bits"),
        (float(LARGEST), "an integer of at most 64 bits was required; got one of more than 64 bits"),
        ({"a": [1e300]}, "an integer of at most 64 bits was required; got one of more than 64 bits"),
        (math.nan, "a finite number was required; got nan"),
        (-math.inf, "a finite number was required; got -inf"),
        ("\ud800", 'whole Unicode characters were required; got "\\ud800"'),
        ({1: 2}, "string was required; got 1"),
        ({Text("a"): 2}, "string was required; got Text"),
        (nested(101), "JSON nested at most 100 levels was required; got more"),
        ({"a": nested(100)}, "JSON nested at most 100 levels was required; got more"),
        ([0] * 100_001, "JSON of at most 100000 values was required; got more"),
        ([[0] * 50_000, [0] * 49_999], "JSON of at most 100000 values was required; got more"),
        ({"a": [0] * 100_000}, "JSON of at most 100000 values was required; got more"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_is_no_json_is_refused_for_its_reason(value: object, why: str) -> None:
    with pytest.raises(Unfit) as refused:
        plain(value)
    assert str(refused.value) == why


def test_the_largest_values_are_read() -> None:
    assert plain(nested(100)) and plain({"a": nested(99)})
    assert len(plain([0] * 100_000)) == 100_000 and plain([[0] * 50_000, [0] * 49_998])


@pytest.mark.parametrize(
    ("wanted", "value", "why"),
    [
        ({"type": "string"}, 1, "string was required; got 1"),
        ({"type": ["string", "null"]}, 1, "null or string was required; got 1"),
        ({"enum": ["a", 1]}, "b", 'one of "a", 1 was required; got "b"'),
        ({"required": ["a"]}, {}, "a: a value was required; got none"),
        ({"properties": {"b": {"required": ["a"]}}}, {"b": {}}, "b.a: a value was required; got none"),
        ({"properties": {"a": False}}, {"a": 1}, "a: no value was required; got 1"),
        (
            {"anyOf": [{"type": "string"}, {"type": "null"}]},
            1,
            "string was required; got 1; or null was required; got 1",
        ),
        (
            {"properties": {"z": {}}, "additionalProperties": False},
            {"a": 1, "b": 2},
            'no "a", "b" was required; got one',
        ),
        ({"minItems": 2}, [1], "minItems 2 was required; got array of size 1"),
        ({"minProperties": 2}, {"a": 1}, "minProperties 2 was required; got object of size 1"),
        ({"minimum": 3}, 1, "minimum 3 was required; got 1"),
        ({"maxLength": 1}, "ab", 'maxLength 1 was required; got "ab"'),
        (
            {"items": {"type": "string"}},
            ["a", 1, [2]],
            "[1]: string was required; got 1; [2]: string was required; got array",
        ),
        ({"properties": {"a": {"items": {"type": "string"}}}}, {"a": [1]}, "a[0]: string was required; got 1"),
        (
            {"anyOf": [{"type": kind} for kind in ("string", "null", "array", "object", "boolean")]},
            1,
            "; or ".join(f"{kind} was required; got 1" for kind in ("string", "null", "array", "object")),
        ),
    ],
)
def test_what_a_schema_required_is_said_with_its_place(wanted: dict, value: object, why: str) -> None:
    with pytest.raises(Unfit) as refused:
        compiled(wanted)(value)
    assert str(refused.value) == why


def test_long_reasons_are_cut() -> None:
    for wanted, value, most in (
        ({"properties": {"p" * 90: {"type": "string"}}}, {"p" * 90: 1}, "p" * 80 + ": string was required; got 1"),
        ({"required": ["p" * 90]}, {}, "p" * 80 + ": a value was required; got none"),
        ({"enum": [f"{i:03}" for i in range(99)]}, 1, None),
        ({"properties": {"z": {}}, "additionalProperties": False}, {f"{i:03}": 1 for i in range(99)}, None),
        ({"pattern": "^" + "a" * 200}, "b", "pattern ^" + "a" * 99 + ' was required; got "b"'),
    ):
        with pytest.raises(Unfit) as refused:
            compiled(wanted)(value)
        told = str(refused.value)
        listed = ", ".join(f'"{i:03}"' for i in range(99))[:200]
        assert told == most or told.startswith((f"one of {listed} was required", f"no {listed} was required")), told
    with pytest.raises(Unfit) as refused:
        compiled({"items": {"type": "string"}})([1] * 99)
    assert len(str(refused.value)) == 400


def test_a_schema_that_cannot_be_read_fits_nothing_and_says_where() -> None:
    assert schema.problem({"type": "string"}) == "" == schema.problem({})
    assert schema.problem({"pattern": "("}).startswith("cannot be read: ")
    told = schema.problem({"properties": {"a": {"type": 7}}})
    assert told.startswith("cannot be read: #/properties/a/type: ")
    assert schema.problem({"$ref": "https://example.com/x"}).startswith("cannot be read: ")
    assert schema.problem({"type": "x" * 300}).startswith("cannot be read: #/type: ")
    with pytest.raises(Unfit) as refused:
        compiled({"properties": {"a": {"type": 7}}})({})
    assert str(refused.value) == f"its schema {told}"


def test_what_broke_in_a_check_is_told_and_cut() -> None:
    assert schema.why(Unfit("no")) == "no"
    assert schema.why(ValueError("no")) == "it cannot be checked: ValueError: no"
    assert len(schema.why(ValueError("x" * 400))) == 300


class Mute(Exception):
    """An error that breaks when it is asked what it says, by an error of any kind."""

    def __str__(self) -> str:
        raise self.args[0]


class Lying(Unfit):
    """An error of a kind that is believed elsewhere, which is not asked here."""

    def __str__(self) -> str:
        return "x" * 10**6


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("no"), "ValueError: no"),
        (Mute(RuntimeError("no")), "Mute"),
        (Mute(SystemExit(1)), "Mute"),
        (KeyError(10**5000), "KeyError"),
        (KeyError("\ud800"), "KeyError: '\\ud800'"),
        (ValueError("\ud800"), "ValueError: \\ud800"),
        (Lying("no"), "Lying: " + "x" * 493),
    ],
)
def test_whatever_was_raised_is_told_in_a_few_whole_words(error: BaseException, said: str) -> None:
    assert schema.said(error) == said
    assert schema.why(error) == f"it cannot be checked: {said}"[:300]


# ---- calls ------------------------------------------------------------------------------------------

GIVEN = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}
BOX = tools.parse(
    json.dumps(
        {
            "tools": [
                {"name": "shut", "parameters": GIVEN},
                {"name": "bare", "parameters": {"type": "object", "additionalProperties": False}},
                {"name": "open", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}},
                {"name": "more", "parameters": {"type": "object", "patternProperties": {"^x": {"type": "integer"}}}},
                {
                    "name": "refs",
                    "parameters": {
                        "type": "object",
                        "properties": {"a": {"$ref": "#/definitions/n"}, "b": {"type": "string"}},
                        "definitions": {"n": {"type": "integer"}},
                    },
                },
            ],
            "state": [{"name": "s", "type": "string"}, {"name": "n", "type": "integer"}],
        }
    )
)
MADE = Validator(BOX)


@pytest.mark.parametrize(
    ("tool", "arguments", "found"),
    [
        ("shut", {"a": 1}, Call("shut", {"a": 1})),
        ("shut", {"a": 1.0, "b": "x"}, Call("shut", {"a": 1, "b": "x"})),
        ("shut", {}, Refused(Call("shut", {}), {}, "a: a value was required; got none")),
        ("shut", {"a": "x"}, Refused(Call("shut", {}), {"a": "x"}, 'a: integer was required; got "x"')),
        (
            "shut",
            {"a": "x", "b": "y"},
            Refused(Call("shut", {"b": "y"}), {"a": "x", "b": "y"}, 'a: integer was required; got "x"'),
        ),
        (
            "shut",
            {"a": 1, "c": 2},
            Refused(Call("shut", {"a": 1}), {"a": 1, "c": 2}, "c: one of the arguments a, b was required"),
        ),
        ("bare", {"c": 2}, Refused(Call("bare", {}), {"c": 2}, "c: no argument was required")),
        (
            "shut",
            {"a": 1, "é": 2},
            Refused(Call("shut", {"a": 1}), {"a": 1, "é": 2}, '"\\u00e9": one of the arguments a, b was required'),
        ),
        (
            "shut",
            {"a": 1, "x" * 90: 2},
            Refused(
                Call("shut", {"a": 1}), {"a": 1, "x" * 90: 2}, "x" * 80 + ": one of the arguments a, b was required"
            ),
        ),
        ("shut", {"a": {1}}, Refused(Call("shut", {}), None, "a: a JSON value was required; got set")),
        (
            "shut",
            {"a": 1, "x" * 90: {1}},
            Refused(Call("shut", {"a": 1}), None, "x" * 80 + ": a JSON value was required; got set"),
        ),
        (
            "shut",
            {"a": 1, "é": {1}},
            Refused(Call("shut", {"a": 1}), None, '"\\u00e9": a JSON value was required; got set'),
        ),
        ("shut", {"a": 1, 7: 1}, Refused(Call("shut", {"a": 1}), None, "7: string was required; got 7")),
        ("shut", {"a": 1, "": {1}}, Refused(Call("shut", {"a": 1}), None, '"": a JSON value was required; got set')),
        ("shut", [], Refused(Call("shut"), None, "arguments by name, a dict, were required; got array")),
        ("open", {"c": 2}, None),
        ("more", {"x1": 1}, Call("more", {"x1": 1})),
        ("more", {"x1": "a"}, Refused(Call("more", {}), {"x1": "a"}, 'x1: integer was required; got "a"')),
        ("refs", {"a": 1}, Call("refs", {"a": 1})),
        (
            "refs",
            {"a": "x", "b": "y"},
            Refused(Call("refs", {"b": "y"}), {"a": "x", "b": "y"}, 'a: integer was required; got "x"'),
        ),
        ("none", {"a": [1]}, Call("none", {"a": (1,)})),
        ("none", {"a": {1}}, Refused(Call("none", {}), None, "a: a JSON value was required; got set")),
        ("none", 7, Refused(Call("none"), None, "arguments by name, a dict, were required; got 7")),
        (
            "\ud800",
            {},
            Refused(Call(""), None, 'the name of a tool: whole Unicode characters were required; got "\\ud800"'),
        ),
        (7, {}, Refused(Call(""), None, "the name of a tool was required; got 7")),
        (Text("shut"), {"a": 1}, Refused(Call(""), None, "the name of a tool was required; got Text")),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_call_is_read_or_refused_with_what_fits_of_it(tool: object, arguments: object, found: object) -> None:
    made = MADE.call(tool, arguments)
    if found is None:
        found = Refused(Call("open", {}), {"c": 2}, "c: one of the arguments a was required")
    assert type(made) is type(found) and made == found
    assert fitting(made) == (found if type(found) is Call else found.call)
    if type(found) is Refused:
        name = found.call.tool
        assert made.why == (f"{name}: {found.reason}" if name else found.reason)


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({}, Known({}, {})),
        ({"s": "a", "n": 1.0, "other": [1]}, Known({"s": "a", "n": 1, "other": (1,)}, {})),
        ({"s": None}, Known({"s": None}, {})),
        ({"s": 1, "n": 2}, Known({"n": 2}, {"s": "string was required; got 1"})),
        ({"s": None, "n": "x"}, Known({"s": None}, {"n": 'integer was required; got "x"'})),
        ({"other": {1}, "n": 2}, Known({"n": 2}, {"other": "a JSON value was required; got set"})),
        ({7: 1, "n": 2}, Known({"n": 2}, {"": "the name of a field was required; got 7"})),
        ([], Known({}, {"": "fields by name, a dict, were required; got array"})),
        (None, Known({}, {"": "fields by name, a dict, were required; got null"})),
    ],
    ids=str,
)
def test_a_state_is_read_as_far_as_it_fits(fields: object, found: Known) -> None:
    made = MADE.state(fields)
    assert made == found and type(made) is Known
    assert MADE.step(Step((), fields, "x")) == Step((), found.values, "x")


@pytest.mark.parametrize(
    ("name", "known", "why"),
    [
        ("a", (), "a: there is no such tool"),
        ("A", ("b", "a"), "A: there is no such tool; a is spelt otherwise"),
        (7, ("a",), "the name of a tool was required; got 7"),
    ],
)
def test_a_stranger_is_told(name: object, known: tuple, why: str) -> None:
    assert stranger(name, known) == why


def test_of_a_trace_every_call_of_the_last_step_is_held_against_the_tools() -> None:
    first, unread = Step((Call("none"),)), Call("shut", {"a": "x"})
    fine, why = MADE.trace(Trace("t", (first, Step((Call("shut", {"a": 1.0}), Call("shut", None))))))
    assert why == "" and fine.steps == (first, Step((Call("shut", {"a": 1}), Call("shut", None))))
    left, why = MADE.trace(Trace("t", (Step((unread,)), Step((unread, Call("Shut"), Call("more", {}))))))
    assert why == 'shut: a: integer was required; got "x"; Shut: there is no such tool; shut is spelt otherwise'
    assert left.steps[0] == Step((Call("shut", {}),))
    told, why = MADE.trace(Trace("r", (Step((unread,), {"n": "x"}), Step((), {"n": 2.0, "s": 3}, "words"))))
    assert why == "" and told == Trace("r", (Step((Call("shut", {}),)), Step((), {"n": 2}, "words")))
    assert Validator().trace(Trace("t", (Step((Call("Shut"),)),)))[1] == ""
    assert Validator(Toolbox()).trace(Trace("t", (Step((Call("Shut"),)),)))[1] == "Shut: there is no such tool"
    assert MADE.asked(Call("shut", None)) == Call("shut", None) and type(MADE.asked(Call(7, None))) is Refused


def test_a_toolbox_that_is_made_by_hand_is_read_by_types_and_values() -> None:
    box = Toolbox(
        (Tool("t", arguments=(Field("a", "integer", required=True), Field("b", "string", values=("x", "y")))),),
        (Field("s", "string", values=("x",)), Field("n", "integer")),
    )
    made = Validator(box)
    assert made.toolbox is box and made.tools == {"t"} and Validator().tools is None
    assert made.call("t", {"a": 1, "b": "x"}) == Call("t", {"a": 1, "b": "x"})
    assert Validator().call("any", {"x": [1, {"y": None}]}) == Call("any", {"x": (1, {"y": None})})
    assert type(Validator().call("any", {"x": {1}})) is Refused
    numbered = Validator(Toolbox((Tool("t", arguments=(Field("room", "integer", values=("1", "2")),)),)))
    assert numbered.call("t", {"room": 1.0}) == Call("t", {"room": 1})
    assert type(numbered.call("t", {"room": 3})) is Refused is type(numbered.call("t", {"room": "1"}))
    assert made.call("t", {"b": "x"}).reason == "a: a value was required; got none"
    assert made.call("t", {"a": 1, "b": "z"}).reason == 'b: one of "x", "y" was required; got "z"'
    assert made.state({"s": "y", "n": 1}) == Known({"n": 1}, {"s": 'one of "x" was required; got "y"'})
    assert made.one("s", "x") == "x" and made.one("other", [1]) == (1,)
