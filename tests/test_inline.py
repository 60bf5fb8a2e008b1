"""Schemas without references say what they said with them, as independent libraries read both."""

from __future__ import annotations

import json

import jsonschema
import jsonschema_rs
import openapi_schema_validator
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wb.domain import inline
from wb.domain.inline import Document, Mistake

NAMES = ["a", "b", "c"]
LEAVES = st.sampled_from([None, True, False, 0, 1, 2, 5, "", "a", "b", "abc"])
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
)
TYPES = ["string", "integer", "number", "boolean", "array", "object"]
BOUNDS = {
    "enum": st.lists(LEAVES, min_size=1, max_size=4, unique_by=repr),
    "minimum": st.integers(0, 3),
    "maximum": st.integers(0, 3),
    "minLength": st.integers(0, 2),
    "maxItems": st.integers(0, 2),
    "minProperties": st.integers(0, 2),
    "pattern": st.sampled_from(["a", "^b", "c$"]),
    "title": st.just("said"),
    "description": st.sampled_from(["one", "other"]),
    "example": LEAVES,
    "required": st.lists(st.sampled_from(NAMES), min_size=1, max_size=2, unique=True),
}
# what each dialect has beside them
OWN = {
    "OpenAPI 3.0": {"nullable": st.booleans(), "exclusiveMinimum": st.booleans(), "xml": st.just({"name": "x"})},
    "2020-12": {
        "const": LEAVES,
        "exclusiveMinimum": st.integers(0, 3),
        "nullable": st.booleans(),
        "dependentRequired": st.just({"a": ["b"]}),
    },
}


@st.composite
def schemas(draw, dialect, refs=(), level=3):
    """A schema of a dialect that may refer to others."""
    inner = schemas(dialect, refs, level - 1)
    several = st.lists(inner, min_size=1, max_size=3)
    truths = st.booleans() if dialect == "2020-12" else st.nothing()
    deeper = {
        "allOf": several,
        "anyOf": several,
        "oneOf": several,
        "not": inner,
        "items": inner,
        "properties": st.dictionaries(st.sampled_from(NAMES), inner | truths, max_size=3),
        "additionalProperties": st.booleans() | inner,
    }
    if dialect == "2020-12":
        deeper |= {
            "patternProperties": st.dictionaries(st.sampled_from(["a", "[bc]"]), inner, min_size=1, max_size=1),
            "unevaluatedProperties": st.booleans(),
            "prefixItems": several,
            "contains": inner,
            "if": inner,
            "then": inner,
            "dependentSchemas": st.dictionaries(st.sampled_from(NAMES), inner, max_size=1),
        }
    known = BOUNDS | OWN[dialect] | (deeper if level else {})
    keys = draw(st.lists(st.sampled_from(sorted(known)), max_size=4, unique=True))
    made = {key: draw(known[key]) for key in keys}
    if draw(st.booleans()):
        kinds = st.sampled_from(TYPES)
        listed = st.lists(kinds, min_size=1, max_size=2, unique=True) if dialect == "2020-12" else st.nothing()
        made["type"] = draw(kinds | listed)
    if refs and draw(st.integers(0, 3)) == 0:
        made["$ref"] = draw(st.sampled_from(refs))
        if dialect == "OpenAPI 3.0":  # nothing beside a $ref counts there, and the library has it otherwise
            made = {"$ref": made["$ref"]}
    return made


@st.composite
def documents(draw, dialect):
    """Some schemas, each of which may refer to those before it."""
    made, refs = {}, ()
    for i in range(draw(st.integers(1, 3))):
        made[f"s{i}"] = draw(schemas(dialect, refs))
        refs = (*refs, f"#/parts/s{i}")
    return {"parts": made, "allOf": [{"$ref": refs[-1]}]}


ANNOTATIONS = {
    "title": "x",
    "description": "x",
    "default": "x",
    "deprecated": True,
    "readOnly": True,
    "writeOnly": True,
}


def whole(document, dialect):
    return Document(document, dialect).schema(document, "#")


def accepts(schema, value):
    return jsonschema_rs.validator_for(schema, offline=True).is_valid(value)


@settings(max_examples=40)
@given(documents("2020-12"), st.lists(VALUES, min_size=5, max_size=10))
def test_without_references_a_schema_accepts_the_same(document, values):
    made = whole(document, "2020-12")
    assert "$ref" not in json.dumps(made)
    oracle = jsonschema.Draft202012Validator(document)
    for value in values:
        assert accepts(made, value) == oracle.is_valid(value), (document, made, value)


@settings(max_examples=40)
@given(documents("OpenAPI 3.0"), st.lists(VALUES, min_size=5, max_size=10))
def test_the_dialect_of_openapi_3_0_says_the_same_in_json_schema(document, values):
    made = whole(document, "OpenAPI 3.0")
    assert not {"$ref", "nullable", "xml", "example"} & set(json.dumps(made).split('"'))
    oracle = openapi_schema_validator.OAS30Validator(document)
    for value in values:
        assert accepts(made, value) == oracle.is_valid(value), (document, made, value)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (
            [{"type": "object", "properties": {"a": {}}, "required": ["a"]}, {"properties": {"b": {}}}],
            {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a"]},
        ),
        ([{"type": ["number", "null"]}, {"type": ["integer", "string", "null"]}], {"type": ["null", "integer"]}),
        ([{"properties": {"a": {"minimum": 1}}}, {"properties": {"a": {"maximum": 2}}}], None),
        ([{"minimum": 1}, {"minimum": 2}], {"minimum": 1, "allOf": [{"minimum": 2}]}),
        ([{"type": "string"}, {"type": "integer"}], {"type": "string", "allOf": [{"type": "integer"}]}),
        (
            [{"properties": {"a": {}}}, {"properties": {"b": {}}, "required": ["b"], "additionalProperties": False}],
            {
                "properties": {"b": {}, "a": {}},
                "required": ["b"],
                "allOf": [{"properties": {"b": {}}, "required": ["b"], "additionalProperties": False}],
            },
        ),
        (
            [{"properties": {"a": {}}, "additionalProperties": False}, {"properties": {"b": {}}, "required": ["b"]}],
            {
                "properties": {"a": {}},
                "additionalProperties": False,
                "allOf": [{"properties": {"b": {}}, "required": ["b"]}],
            },
        ),
        ([True, {"title": "x"}], {"title": "x"}),
        ([{"properties": {"a": True}}, {"properties": {"a": {"minimum": 1}}}], {"properties": {"a": {"minimum": 1}}}),
        ([{"properties": {"a": True}}, {"properties": {"a": True}}], {"properties": {"a": True}}),
        ([{"properties": {"a": {}}}, {"properties": {"a": False}}], {"properties": {"a": False}}),
        ([False, {"type": "string"}], {"type": "string", "allOf": [False]}),
        *(([{key: said}, {key: "other"}], {key: said}) for key, said in ANNOTATIONS.items()),
        (
            [{"minimum": 1}, {"exclusiveMinimum": True}],  # in draft 4 a truth says nothing without its own bound
            {"minimum": 1, "allOf": [{"exclusiveMinimum": True}]},
        ),
        ([{"const": True}, {"const": 1}], {"const": True, "allOf": [{"const": 1}]}),
    ],
)
def test_parts_become_one_schema_where_that_says_the_same(parts, expected):
    assert inline.merged({"allOf": parts}) == (expected or {"properties": {"a": {"minimum": 1, "maximum": 2}}})


NAMED = {"x": {"type": "string", "description": "of x"}, "$ref": "#/x", "description": "own", "maxLength": 3}
STRING = {"type": "string", "format": "date", "pattern": "a", "minLength": 1, "maxLength": 9, "enum": ["a"]}
STRING |= {"title": "t", "description": "d", "default": "a", "readOnly": True}
LIST = {"type": "array", "minItems": 1, "maxItems": 2, "uniqueItems": True}
UNREAD = {"x-note": 1, "example": 2, "xml": {}, "discriminator": {}}


@pytest.mark.parametrize(
    ("dialect", "document", "expected"),
    [
        ("2020-12", NAMED, {"type": "string", "description": "own", "maxLength": 3}),
        *((dialect, NAMED, NAMED["x"]) for dialect in ("OpenAPI 3.0", "draft-7")),
        *((dialect, one, one) for dialect in ("2020-12", "draft-7", "OpenAPI 3.0") for one in (STRING, LIST)),
        *(("2020-12", {key: value} | UNREAD, {key: value}) for key, value in ANNOTATIONS.items()),
        ("OpenAPI 3.0", {"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ("OpenAPI 3.0", {"type": "string", "nullable": False}, {"type": "string"}),
        ("OpenAPI 3.0", {"nullable": True}, {}),
        ("OpenAPI 3.0", {"minimum": 1, "exclusiveMinimum": True}, {"exclusiveMinimum": 1}),
        ("OpenAPI 3.0", {"maximum": 1, "exclusiveMaximum": True}, {"exclusiveMaximum": 1}),
        ("OpenAPI 3.0", {"minimum": 1, "exclusiveMinimum": False}, {"minimum": 1}),
        ("OpenAPI 3.0", {"maximum": 1, "exclusiveMaximum": False}, {"maximum": 1}),
        ("OpenAPI 3.0", {"exclusiveMinimum": True}, {}),
    ],
)
def test_what_a_dialect_says_of_a_value_is_said_in_json_schema(dialect, document, expected):
    assert whole(document, dialect) == expected


def test_draft_7_keeps_its_own_keywords():
    document = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "definitions": {"b": {"required": ["b"]}},
        "dependencies": {"a": ["c"], "c": {"$ref": "#/definitions/b"}},
        "properties": {"b": {"items": [{"type": "integer"}], "additionalItems": {"type": "string"}}},
    }
    made = whole(document, "draft-7")
    assert made["dependencies"] == {"a": ["c"], "c": {"required": ["b"]}}
    oracle = jsonschema.Draft7Validator(document)
    values = [{}, {"a": 1}, {"a": 1, "c": 1}, {"a": 1, "b": [], "c": 1}, {"b": [1, "x"]}, {"b": ["x"]}, {"b": [1, 1]}]
    expected = [oracle.is_valid(value) for value in values]
    assert [accepts({**made, "$schema": document["$schema"]}, value) for value in values] == expected
    assert set(expected) == {True, False}


def test_a_property_that_is_only_read_need_not_be_sent():
    schema = {
        "properties": {"id": {"type": "integer", "readOnly": True}, "name": {"type": "string"}},
        "required": ["id", "name"],
    }
    document = {"base": schema, "allOf": [{"$ref": "#/base"}, {"required": ["id"]}]}
    assert Document(document, "OpenAPI 3.0", sent=True).schema(document, "#")["required"] == ["name"]
    assert whole(document, "OpenAPI 3.0")["required"] == ["id", "name"]


def deep(levels):
    made = {"type": "string"}
    for _ in range(levels):
        made = {"items": made}
    return made


def growing(levels):
    parts = {"s0": {"type": "string"}}
    for i in range(levels):
        parts[f"s{i + 1}"] = {"anyOf": [{"$ref": f"#/parts/s{i}"}] * 4}
    return {"parts": parts, "$ref": f"#/parts/s{levels}"}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"$ref": "#"}, r"#/\$ref: a \$ref without a cycle was required; got # -> #"),
        (
            {"properties": {"a": {"$ref": "#/x"}}, "x": {"items": {"$ref": "#/x"}}},
            r"#/x/items/\$ref: a \$ref without a cycle .* #/x -> #/x",
        ),
        ({"x": {"$ref": "#/y"}, "y": {"not": {"$ref": "#/x"}}, "$ref": "#/x"}, "#/x -> #/y -> #/x"),
        (
            {"$ref": "other.yaml#/x"},
            r"#/\$ref: a \$ref into the same document, '#/…', was required; got \"other.yaml#/x\"",
        ),
        ({"$ref": "https://example.org/x"}, "nothing else is fetched"),
        ({"$ref": "#name"}, "into the same document"),
        ({"$ref": 3}, "into the same document"),
        ({"items": {"$ref": "#/absent"}}, r"#/items/\$ref: a \$ref to a part of the document .* nothing is there"),
        ({"items": {"$ref": "#/allOf/x"}, "allOf": [True]}, "nothing is there"),
        ({"$ref": "#/title", "title": "x"}, '#/title: a schema, an object, was required; got "x"'),
        ({"properties": {"a/b": 3}}, "#/properties/a~1b: a schema, an object, was required; got 3"),
        ({"properties": []}, "#/properties: an object was required"),
        ({"allOf": {}}, "#/allOf: a list was required"),
        *(
            (of({key: "x"}), rf"#.*/\{key}: references by \$ref alone were required; got \{key}")
            for key in ("$dynamicRef", "$recursiveRef", "$anchor", "$dynamicAnchor", "$recursiveAnchor")
            for of in (dict, lambda one: {"items": one})
        ),
        ({"items": {"$id": "x"}}, r"#/items/\$id"),
        ({"$schema": "x", "$id": "y", "items": {"$schema": "x"}}, r"#/items/\$schema: references by"),
        ({"$schema": "x", "items": {"$ref": "#"}}, "a .ref without a cycle was required; got # -> #"),
        (deep(60), "nested at most 50 levels were required"),
        (
            {"items": {"$ref": "#/x"}, "anyOf": [{"$ref": "#/x"}, deep(5) | {"not": {"$ref": "#/x"}}], "x": deep(48)},
            "nested at most 50 levels were required",
        ),
        (growing(15), "at most 500000 values were required"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_place(document, message):
    with pytest.raises(Mistake, match=message) as refused:
        whole(document, "2020-12")
    assert str(refused.value).startswith("#") and len(str(refused.value)) < 500


def test_many_references_to_one_schema_are_no_cycle():
    assert accepts(whole(growing(4), "2020-12"), "x") and not accepts(whole(growing(4), "2020-12"), 1)


@settings(max_examples=30)
@given(st.data())
def test_an_argument_has_one_type(data):
    kinds = data.draw(st.lists(st.sampled_from([*TYPES, "null"]), min_size=1, unique=True))
    schema = {"type": kinds, **data.draw(schemas("2020-12", level=1).filter(lambda s: "type" not in s))}
    made = inline.argument(schema)
    assert len(set(made.get("type", [])) - {"null"}) <= 1
    for value in data.draw(st.lists(VALUES, min_size=5, max_size=5)):
        assert accepts(made, value) == accepts(schema, value)


# one schema a keyword, with values of which it accepts some
KEYWORDS = {
    "enum": (["a"], ["a", "b"]),
    "const": (1, [1, 2]),
    "type": ("string", ["a", 1]),
    "format": ("date", ["2024-01-01", "x"]),
    "pattern": ("^a", ["ab", "b"]),
    "minLength": (2, ["ab", "a"]),
    "maxLength": (1, ["a", "ab"]),
    "minimum": (2, [2, 1]),
    "maximum": (2, [2, 3]),
    "exclusiveMinimum": (2, [3, 2]),
    "exclusiveMaximum": (2, [1, 2]),
    "multipleOf": (2, [4, 3]),
    "minItems": (1, [[1], []]),
    "maxItems": (1, [[1], [1, 2]]),
    "uniqueItems": (True, [[1, 2], [1, 1]]),
    "minProperties": (1, [{"a": 1}, {}]),
    "maxProperties": (1, [{"a": 1}, {"a": 1, "b": 1}]),
    "required": (["a"], [{"a": 1}, {}]),
    "dependentRequired": ({"a": ["b"]}, [{"a": 1, "b": 1}, {"a": 1}]),
    "dependentSchemas": ({"a": {"required": ["b"]}}, [{"a": 1, "b": 1}, {"a": 1}]),
    "properties": ({"a": {"type": "string"}}, [{"a": "x"}, {"a": 1}]),
    "patternProperties": ({"^a": {"type": "string"}}, [{"ab": "x"}, {"ab": 1}]),
    "additionalProperties": (False, [{}, {"a": 1}]),
    "unevaluatedProperties": (False, [{}, {"a": 1}]),
    "propertyNames": ({"maxLength": 1}, [{"a": 1}, {"ab": 1}]),
    "items": ({"type": "string"}, [["a"], [1]]),
    "prefixItems": ([{"type": "string"}], [["a", 1], [1]]),
    "unevaluatedItems": (False, [[], [1]]),
    "contains": ({"type": "string"}, [["a", 1], [1]]),
    "not": ({"type": "string"}, [1, "a"]),
    "anyOf": ([{"type": "string"}, {"const": 1}], ["a", 2]),
    "oneOf": ([{"type": "string"}, {"const": "a"}], ["b", "a"]),
    "allOf": ([{"type": "string"}, {"minLength": 2}], ["ab", "a"]),
}


@pytest.mark.parametrize("keyword", KEYWORDS)
def test_each_keyword_counts_behind_a_reference_as_an_independent_library_has_it(keyword):
    said, values = KEYWORDS[keyword]
    document = {"parts": {"one": {keyword: said}}, "properties": {"x": {"$ref": "#/parts/one"}}}
    made = whole(document, "2020-12")
    assert "$ref" not in json.dumps(made)
    oracle = jsonschema.Draft202012Validator({keyword: said}, format_checker=jsonschema.FormatChecker())
    answers = [oracle.is_valid(value) for value in values]
    reader = jsonschema_rs.validator_for(made, offline=True, validate_formats=True)
    assert [reader.is_valid({"x": value}) for value in values] == answers == [True, False]


@pytest.mark.parametrize(
    ("schema", "right", "wrong"),
    [
        ({"contains": {"const": 1}, "minContains": 2}, [1, 1], [1]),
        ({"contains": {"const": 1}, "maxContains": 1}, [1, 2], [1, 1]),
        ({"if": {"type": "string"}, "then": {"minLength": 2}}, "ab", "a"),
        ({"if": {"type": "string"}, "else": {"minimum": 2}}, 2, 1),
    ],
)
def test_keywords_that_are_read_with_one_another_stay_together(schema, right, wrong):
    made = whole({"parts": {"one": schema}, "$ref": "#/parts/one"}, "2020-12")
    assert accepts(made, right) and not accepts(made, wrong)
    together = inline.merged({"allOf": [schema, {"title": "x"}]})
    apart = inline.merged({"allOf": [schema, schema]})
    assert "allOf" not in together and accepts(together, right) and not accepts(together, wrong)
    assert accepts(apart, right) and not accepts(apart, wrong)


def test_arguments_with_several_types_are_ways():
    assert inline.argument(True) == {} and inline.argument(False) == {"not": {}}
    assert inline.argument({"type": ["string", "null"]}) == {"type": ["string", "null"]}
    both = {"type": ["string", "integer"], "anyOf": [{"const": 1}], "allOf": [{"title": "x"}]}
    assert inline.argument(both) == {
        "anyOf": [{"type": "string"}, {"type": "integer"}],
        "allOf": [{"title": "x"}, {"anyOf": [{"const": 1}]}],
    }
    assert inline.arguments({"type": "object", "properties": {"a": {"type": ["string", "integer"]}}}) == {
        "type": "object",
        "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "integer"}]}},
    }
    assert inline.arguments({"type": "object"}) == {"type": "object"}


COUNTED = [  # a document, and how many values it is: each schema, each value that is kept, as often as it is read
    ({}, 1),
    ({"type": "string"}, 2),
    ({"enum": ["a", "b"]}, 4),
    ({"enum": [["a"], {"b": "c"}]}, 6),
    ({"not": {"not": {}}}, 3),
    ({"anyOf": [{}, True, {"type": "string"}]}, 5),
    ({"properties": {"a": {"type": "string"}, "b": {"$ref": "#/properties/a"}}}, 6),
    ({"x": {"not": {}}, "properties": {n: {"$ref": "#/x"} for n in "abc"}}, 10),
    ({"x": {"unread": [1, 2]}, "unread": [1, 2]}, 1),
]


@pytest.mark.parametrize(("document", "size"), COUNTED)
def test_a_document_is_as_many_values_as_are_read_of_it(document, size, monkeypatch):
    monkeypatch.setattr(inline, "MOST", size)
    whole(document, "2020-12")
    monkeypatch.setattr(inline, "MOST", size - 1)
    with pytest.raises(Mistake, match=f"at most {size - 1} values were required"):
        whole(document, "2020-12")


def test_a_reference_is_followed_to_an_object():
    document = Document(
        {"a": {"$ref": "#/b"}, "b": {"$ref": "#/c"}, "c": {"x": 1}, "d": {"$ref": "#/e"}, "e": 3}, "2020-12"
    )
    assert document.followed({"$ref": "#/a"}, "#") == ({"x": 1}, "#/c")
    assert document.followed({"x": 2}, "#/here") == ({"x": 2}, "#/here")
    for found, message in (
        ({"$ref": "#/d"}, "#/e: an object was required; got 3"),
        (3, "#/here: an object was required; got 3"),
        ({"$ref": "#/absent"}, r"#/here/\$ref: a \$ref to a part of the document"),
    ):
        with pytest.raises(Mistake, match=message):
            document.followed(found, "#/here")
    round_ = Document({"a": {"$ref": "#/b"}, "b": {"$ref": "#/a"}}, "2020-12")
    with pytest.raises(Mistake, match=r"without a cycle was required; got #/a -> #/b -> #/a"):
        round_.followed({"$ref": "#/a"}, "#")
