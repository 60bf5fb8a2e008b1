"""Types of facts: a mistake names the path and its declared type; what is not declared is no mistake."""

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_facts import any_fact

from wb.logic import types
from wb.logic.cel import parse
from wb.logic.types import mistakes

CALL = {
    "passengers": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "age": {"type": "string"},
                "name": {"type": ["string", "null"]},
                "bags": {"type": "integer"},
            },
        },
    },
    "price": {"type": "number"},
    "count": {"type": "integer"},
    "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    "paid": {"type": "boolean"},
    "cabin": {"type": "string", "enum": ["economy", "first"]},
    "free": {},
    "either": {"type": ["integer", "string"]},
    "prices": {"type": "object", "additionalProperties": {"type": "integer"}},
    "limits": {"type": "array", "items": {"type": "number"}},
}
STATE = {"now": {"type": "string"}, "user": {"type": "object", "properties": {"level": {"type": "string"}}}}

MISTAKEN = [
    ("call.passengers.all(p, p.age >= 18)", "call.passengers[].age: string in tools.json; compared with an integer"),
    ("call.passengers[0].age == 18", "call.passengers[].age: string in tools.json; compared with an integer"),
    (
        "call.passengers.all(p, p.weight > 1)",
        "call.passengers[].weight: not declared in tools.json; call.passengers[] has",
    ),
    ("call.seats == 1", "call.seats: not declared in tools.json; call has"),
    ("state.user.tier == 'gold'", "state.user.tier: not declared in tools.json; state.user has ['level']"),
    ("call.price.currency == 'EUR'", "call.price: number in tools.json; asked for its currency"),
    ("call.note", "call.note: string in tools.json; used as a fact"),
    ("!(call.count) || true", "call.count: integer in tools.json; used as a fact"),
    ("call.count ? true : false", "call.count: integer in tools.json; used as a fact"),
    ("call.passengers.all(p, p.name)", "call.passengers[].name: string in tools.json; used as a fact"),
    ("call.count.all(x, true)", "call.count: integer in tools.json; gone through by all"),
    (
        "size(call.note) < 3",
        "call.note: string in tools.json; counted: size of a text is not known, write size(string(",
    ),
    ("size(call.count) < 3", "call.count: integer in tools.json; counted"),
    ("call.cabin == 'business'", "call.cabin: has the values ['economy', 'first'] in tools.json; got ['business']"),
    ("call.cabin in ['first', 'business']", "call.cabin: has the values ['economy', 'first'] in tools.json"),
    ("call.note in [1, 2]", "call.note: string in tools.json; compared with an integer"),
    ("call.note == call.count", "call.note: string in tools.json; compared with an integer"),
    ("call.passengers < call.passengers", "call.passengers: array in tools.json; put in order"),
    ("call.note + 1 == 2", "call.note: string in tools.json; computed with by + and an integer"),
    ("call.price * 2 < 10", "call.price: number in tools.json; * is of two integers or of two doubles"),
    ("call.count + 1.5 < 10.0", "call.count: integer in tools.json; + is of two integers or of two doubles"),
    ("-call.note == 1", "call.note: string in tools.json; negated"),
    ("sum(call.passengers.map(p, p.age)) > 1", "call.passengers[].age: string in tools.json; given to sum in a list"),
    ("sum(call.passengers) > 1", "call.passengers[]: object in tools.json; given to sum in a list"),
    ("call.count.startsWith('a')", "call.count: integer in tools.json; given to startsWith"),
    ("timestamp(call.count) < now", "call.count: integer in tools.json; given to timestamp"),
    ("1 in call.note", "call.note: string in tools.json; asked what is in it"),
    ("size(call.prices) == 1", "call.prices: object in tools.json; counted"),
    ("call.prices.all(p, p == 'x')", "call.prices: object in tools.json; gone through by all"),
    ("1 in call.prices", "an integer; looked for among the names of a record"),
    ("call.passengers['first'] == 1", "call.passengers: array in tools.json; asked for its first"),
    ("call.passengers[call.note] == 1", "call.note: string in tools.json; used as a place in a list"),
    ("call.prices[call.count] == 1", "call.count: integer in tools.json; used as a name in a record"),
    ("call.prices['x'] == 'y'", "call.prices.x: integer in tools.json; compared with a text"),
    (
        "call.passengers.filter(p, p.age > 1) == []",
        "call.passengers[].age: string in tools.json; compared with an integer",
    ),
    ("call.passengers.map(p, p.age)[0] == 1", "call.passengers[].age: string in tools.json; compared with an integer"),
]
FINE = [
    "call.passengers.all(p, p.age >= '18' && p.bags + 1 > 2)",
    "call.free == 1 && call.free.deep[0] == 'x'",
    "call.either == 1 || call.either == 'a'",
    "call.note == null || has(call.note)",
    "call.prices[call.note] > 1 && call.prices.any < 2",
    "call.price > 2 && double(call.price) * 2.0 < 10.0",
    "call.count * 2 < 10 && call.count < 1.5",
    "sum(call.limits) <= 3 && max(call.limits) < call.price",
    "now - timestamp(call.note) < duration('24h')",
    "size(string(call.note)) < 3 && size(call.passengers) > 0",
    "call.cabin == 'first' && call.cabin in ['economy']",
    "'a' in call.prices && call.count in [1, 2]",
    "call.paid && call.paid == (call.count > 1)",
    "state.user.level == 'gold' && state.user == state.user",
]


@pytest.mark.parametrize(("text", "told"), MISTAKEN, ids=[row[0] for row in MISTAKEN])
def test_a_mistake_names_the_path_and_what_is_declared(text, told):
    found = mistakes(parse(text), STATE, CALL)
    assert any(told in one for one in found), found


@pytest.mark.parametrize("text", FINE)
def test_what_fits_is_no_mistake(text):
    assert mistakes(parse(text), STATE, CALL) == ()


@pytest.mark.parametrize("text", [row[0] for row in MISTAKEN if "call.c" in row[0] or "call.n" in row[0]])
def test_nothing_is_wrong_where_nothing_is_declared(text):
    assert mistakes(parse(text)) == ()


schemas = st.recursive(
    st.sampled_from(
        [{}, {"type": "integer"}, {"type": "string"}, {"type": 5}, {"enum": [1, "a"]}, 7, {"type": "array"}]
    ),
    lambda inner: (
        st.builds(lambda items: {"type": "array", "items": items}, inner)
        | st.builds(
            lambda fields: {"type": "object", "properties": fields},
            st.dictionaries(st.sampled_from(["a", "b", "age"]), inner, max_size=3),
        )
    ),
    max_leaves=6,
)


@given(any_fact, st.dictionaries(st.sampled_from(["a", "b", "age", "x9"]), schemas, max_size=4))
def test_any_fact_is_checked_against_any_schema(fact, declared):
    assert all(isinstance(one, str) and one for one in mistakes(fact, declared, declared))


NULL = {"type": "null"}


@pytest.mark.parametrize(
    ("schema", "null"),
    [
        ({"type": ["string", "null"]}, True),
        ({"type": ["string", "null"], "enum": ["a", None]}, True),
        (NULL, True),
        ({"anyOf": [{"type": "string"}, NULL]}, True),
        ({"oneOf": [{"type": ["integer", "null"]}, {"type": "string"}], "description": "d"}, True),
        ({"type": ["string", "null"], "enum": ["a", "b"]}, False),
        ({"type": ["string", "null"], "const": "a"}, False),
        ({"type": ["string", "null"], "not": NULL}, False),
        ({"type": "string", "anyOf": [{"type": "string"}, NULL]}, False),
        ({"anyOf": [{"type": "string"}, NULL], "allOf": [{"type": "string"}]}, False),
        ({"oneOf": [NULL, {"type": ["string", "null"]}]}, False),
        ({"oneOf": [NULL, {}]}, False),
        ({"$ref": "#/d", "type": ["string", "null"]}, False),
        ({"type": "string"}, False),
        ({}, False),
        ({"enum": [None, "a"]}, False),
        (None, False),
    ],
)
def test_a_value_may_be_null_where_its_whole_schema_says_so(schema: object, null: bool) -> None:
    assert types.nullable(schema) is null
    if null and isinstance(schema, dict):
        assert jsonschema.Draft202012Validator(schema).is_valid(None)
