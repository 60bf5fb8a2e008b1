"""What `tools.json` may say, and what is said of one that is not understood."""

from __future__ import annotations

import copy
import json
import pickle

import pytest
from conftest import ROOT, shared
from hypothesis import given
from hypothesis import strategies as st

from wb.domain import tools as tool
from wb.domain.tools import Field, ToolError

ORDER = {
    "type": "object",
    "description": "an order",
    "properties": {
        "lines": {"type": "array", "items": {"type": "object", "properties": {"pieces": {"type": "integer"}}}}
    },
    "x-note": [1],
}


def one(**row: object) -> tool.Tool:
    return tool.parse(json.dumps([{"name": "pay", **row}])).tools[0]


def argument(**schema: object) -> Field:
    return one(parameters={"type": "object", "properties": {"value": schema}}).arguments[0]


@pytest.mark.parametrize(
    ("place", "tools", "state"),
    [
        ("policies/handbook/tools.json", 9, 6),
        ("policies/retail/tools.json", 16, 13),
        ("policies/retail/tools.bare.json", 16, 0),
        ("common/tau_airline/tools.json", 14, 0),
    ],
)
def test_the_tools_of_other_projects_are_read_whole(place, tools, state):
    text = shared("data", *place.split("/")).read_text("utf-8")
    box, data = tool.parse(text), json.loads(text)
    rows = [row.get("function", row) for row in (data["tools"] if isinstance(data, dict) else data)]
    assert (len(box.tools), len(box.state)) == (tools, state)
    for found, row in zip(box.tools, rows, strict=True):
        schemas = row.get("parameters", {}).get("properties", {})
        assert (found.name, found.description) == (row["name"], row.get("description", "")) and found.mutating is None
        assert {a.name: json.loads(json.dumps(a.schema)) for a in found.arguments} == schemas
        assert [a.name for a in found.arguments if a.required] == [
            name for name in schemas if name in row["parameters"].get("required", [])
        ]
        assert all(
            a.type == schemas[a.name]["type"] and a.values == tuple(schemas[a.name].get("enum", ()))
            for a in found.arguments
        )


def test_the_tools_of_another_benchmark_are_read_with_their_types():
    suites = json.loads(shared("data", "common", "agentdojo", "tools.json").read_text("utf-8"))
    boxes = {name: tool.parse(json.dumps(rows)) for name, rows in suites.items()}
    send = boxes["workspace"].tool("send_email")
    assert {a.name: a.type for a in send.arguments}["attachments"] == "array", "an array or null"
    assert {len(box.tools) for box in boxes.values()} == {11, 24, 28}


def test_our_own_tools_keep_their_words():
    box = tool.parse((ROOT / "policies" / "web_tasks" / "tools.json").read_text("utf-8"))
    assert (len(box.tools), len(box.state)) == (63, 26) and "add to cart" in box.tool("shop").keywords


def test_the_schema_of_nested_arguments_is_kept_and_never_changes():
    found = argument(**ORDER)
    assert json.loads(json.dumps(found.schema)) == ORDER and found.type == "object"
    assert found.schema["properties"]["lines"]["items"]["properties"]["pieces"]["type"] == "integer"
    for change in (
        lambda s: s.update(a=1),
        lambda s: s["properties"].clear(),
        lambda s: s.pop("type"),
        lambda s: s["properties"].__setitem__("a", 1),
        lambda s: s["x-note"].append(2),
    ):
        with pytest.raises((TypeError, AttributeError)):
            change(found.schema)
    box = tool.parse(json.dumps([{"name": "pay", "parameters": {"properties": {"value": ORDER}}}]))
    assert pickle.loads(pickle.dumps(box)) == copy.deepcopy(box) == box and hash(box) == hash(copy.copy(box))
    assert pickle.loads(pickle.dumps(found)).schema == found.schema == copy.deepcopy(found).schema


def test_a_field_made_by_hand_needs_no_schema():
    assert (
        Field("amount", "number") == Field("amount", "number", schema=tool.Schema({"type": "number"}))
        and Field("amount", "number").schema == {}
    )


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({}, None),
        ({"mutating": None}, None),
        ({"mutating": True}, True),
        ({"mutating": False}, False),
        ({"annotations": {"readOnlyHint": True}}, False),
        ({"annotations": {"readOnlyHint": False}}, True),
        ({"annotations": {"title": "Pay", "destructiveHint": False}}, None),
        ({"annotations": None}, None),
        ({"mutating": True, "annotations": {"readOnlyHint": False}}, True),
    ],
)
def test_a_tool_may_say_whether_it_changes_anything(row, expected):
    assert one(**row).mutating is expected


@pytest.mark.parametrize("key", ["parameters", "inputSchema", "input_schema"])
def test_the_schema_of_the_arguments_stands_under_any_of_its_names(key):
    assert one(
        **{
            key: {
                "type": "object",
                "properties": {"a": {"type": "integer"}},
                "required": ["a"],
                "additionalProperties": False,
            }
        }
    ).arguments == (Field("a", "integer", required=True),)


def test_what_agents_tools_also_carry_is_ignored():
    plain = one(description="Pays.", parameters={"type": "object", "properties": {"a": {"type": "integer"}}})
    assert plain == one(
        description="Pays.",
        strict=True,
        title="Pay",
        outputSchema={},
        cache_control={"type": "x"},
        _meta={},
        parameters={
            "type": "object",
            "$defs": {},
            "additionalProperties": False,
            "properties": {"a": {"type": "integer", "title": "A", "default": None, "minimum": 1}},
        },
    )
    assert tool.parse('{"$schema": "x", "_meta": {}, "tools": []}') == tool.Toolbox()


@pytest.mark.parametrize(
    ("schema", "kind", "values"),
    [
        ({}, "string", ()),
        ({"type": ["integer", "null"]}, "integer", ()),
        ({"anyOf": [{"type": "array", "items": {}}, {"type": "null"}]}, "array", ()),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, "string", ()),
        ({"oneOf": [{"type": ["integer", "null"]}, {"type": "integer", "minimum": 3}]}, "integer", ()),
        ({"anyOf": [{"type": ["integer", "array"]}, {"type": "integer"}]}, "string", ()),
        ({"anyOf": [{"type": []}, {"type": {}}, {"type": "integer"}]}, "string", ()),
        ({"$ref": "#/$defs/x"}, "string", ()),
        ({"type": "string", "enum": ["a", None]}, "string", ("a",)),
        ({"type": "integer", "enum": [1, 2]}, "integer", ("1", "2")),
        ({"description": None}, "string", ()),
    ],
)
def test_the_type_and_the_values_of_an_argument_are_those_of_its_schema(schema, kind, values):
    assert (argument(**schema).type, argument(**schema).values) == (kind, values)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"tools.json: JSON was required; got .* at column 2"),
        ("3", "a list of tools, or an object .* got int 3"),
        ("{}", "a list of tools"),
        ('{"tools": {}}', "a list of tools"),
        ('{"tools": [], "state": 3}', "lists 'tools' and 'state'"),
        ('{"tools": [], "sate": []}', r"'tools' and 'state' were required; got \['sate'\] as well"),
        ('[{"name": "a", "name": "b"}]', "each key once was required; got .name. twice"),
        ('{"tools": [], "tools": []}', "each key once"),
        (
            '[{"name": "a", "parameters": {"properties": {"x": {}, "x": {}}}}]',
            "each key once was required; got .x. twice",
        ),
        ('[{"name": "a", "n": NaN}]', "a finite number was required; got NaN"),
        ("[" * 100_000, "JSON nested at most 100 levels was required"),
        ('[{"name": "a", "n": ' + "9" * 5000 + "}]", "at most 1000 digits were required; got one of 5000"),
        ("[3]", r"tools\[0\]: an object with a 'name' .* got int 3"),
        ('[{"name": "a"}, {"name": 3}]', r"tools\[1\]: an object with a 'name'"),
        ('[{"name": "a b"}]', "of letters, digits and _"),
        ('[{"name": "a\\n"}]', "of letters, digits and _"),
        ('[{"name": "a", "description": 3}]', r"tools\[0\]: 'description' must be a valid string; got int 3"),
        ('[{"name": "a", "description": "\\ud800"}]', "whole Unicode characters were required"),
        ('[{"name": "a", "keywords": "x"}]', "'keywords' must be a list of texts; got str"),
        ('[{"name": "a", "keywords": [[1]]}]', r"'keywords' must be a list of texts; got list \[\[1\]\]"),
        ('[{"name": "a", "examples": {}}]', "'examples' must be a list of texts"),
        ('[{"name": "a", "mutating": "yes"}]', "'mutating' must be a valid boolean; got str"),
        ('[{"name": "a", "mutating": 1}]', "'mutating' must be a valid boolean; got int 1"),
        ('[{"name": "a", "annotations": {"readOnlyHint": 1}}]', "'annotations.readOnlyHint' must be a valid boolean"),
        ('[{"name": "a", "mutating": true, "annotations": {"readOnlyHint": true}}]', "must not both be true"),
        ('[{"name": "a", "parameters": 3}]', "'parameters' must be an object; got int 3"),
        (
            '[{"name": "a", "parameters": {}, "inputSchema": {}}]',
            r"one schema of the arguments was required; got \['parameters', 'inputSchema'\]",
        ),
        ('[{"name": "a", "parameters": {"properties": []}}]', "'parameters.properties' must be an object; got list"),
        ('[{"name": "a", "parameters": {"properties": {"x": 3}}}]', "'parameters.properties.x' must be an object"),
        (
            '[{"name": "a", "parameters": {"properties": {"x y": {}}}}]',
            "the name of an argument must be of letters, digits and _; got 'x y'",
        ),
        ('[{"name": "a", "parameters": {"required": "x"}}]', "'parameters.required' must be a list of texts; got str"),
        (
            '[{"name": "a", "parameters": {"properties": {"x": {"type": "date"}}}}]',
            r"tools\[0\].x: 'type' must be one of \['boolean', .*\], with 'null' or without; got \"date\"",
        ),
        (
            '[{"name": "a", "parameters": {"properties": {"x": {"type": ["string", "integer"]}}}}]',
            "'type' must be one of",
        ),
        ('[{"name": "a", "parameters": {"properties": {"x": {"type": 3}}}}]', "'type' must be"),
        ('[{"name": "a", "parameters": {"properties": {"x": {"type": []}}}}]', "'type' must be one of"),
        ('[{"name": "a", "parameters": {"properties": {"x": {"enum": "q"}}}}]', "'enum' must be a list of texts"),
        ('{"tools": [], "state": [{"type": "integer"}]}', r"state\[0\]: an object with a 'name'"),
        ('{"tools": [], "state": [{"name": "a", "keywords": 3}]}', r"state\[0\]: 'keywords' must be a list of texts"),
    ],
)
def test_a_file_that_is_not_understood_says_where_what_was_required_and_what_was_got(text, message):
    with pytest.raises(ToolError, match=message) as refused:
        tool.parse(text)
    assert str(refused.value).startswith("tools.json: ") and len(str(refused.value)) < 400


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
    | st.sampled_from(["string", "array", "pay", "null"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                (
                    "name type function parameters properties required enum description keywords "
                    "mutating annotations readOnlyHint tools state anyOf x"
                ).split()
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(
    JSON
    | st.lists(
        st.fixed_dictionaries(
            {"name": st.just("pay")},
            optional={
                "parameters": JSON,
                "keywords": JSON,
                "mutating": JSON,
                "annotations": JSON,
                "description": JSON,
                "function": JSON,
            },
        )
    )
)
def test_any_json_is_a_toolbox_or_an_error(data):
    try:
        box = tool.parse(json.dumps(data))
    except ToolError as error:
        assert str(error)
    else:
        assert all(a.type in tool.TYPES for t in box.tools for a in t.arguments)


@pytest.mark.parametrize("key", ["arguments", "args", "params", "properties", "inputs", "schema"])
def test_arguments_under_another_key_are_refused_and_not_left_out(key: str) -> None:
    with pytest.raises(ToolError, match=f"'parameters' was required for the JSON schema of its arguments; got '{key}'"):
        one(**{key: [{"name": "amount", "type": "number"}]})
    assert [a.name for a in one(parameters={"properties": {"amount": {}}}, strict=True).arguments] == ["amount"]


def test_a_reference_in_place_of_the_arguments_is_refused() -> None:
    """Beside it draft 7 reads nothing, so that every argument would pass."""
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$ref": "#/definitions/any",
        "definitions": {"any": {}},
    }
    schema |= {"type": "object", "properties": {"amount": {"type": "integer", "maximum": 10}}, "required": ["amount"]}
    for key in ("parameters", "inputSchema", "input_schema"):
        with pytest.raises(ToolError, match=r"tools\[0\]: an object with 'properties' was required.*got a '\$ref'"):
            tool.parse(json.dumps([{"name": "pay", key: schema}]))
        assert tool.parse(json.dumps([{"name": "pay", key: {k: v for k, v in schema.items() if k != "$ref"}}])).tools
