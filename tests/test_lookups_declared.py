"""What a source of a state field asks of calls is held against what `tools.json` declares of them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_lookups import Spy
from test_lookups_histories import field_of

from wb.domain import tools
from wb.domain.session import Session
from wb.domain.tools import ToolError
from wb.domain.validation import Validator
from wb.logic.objects import identity


def tool(name: str, mutating: bool = True, /, also: object = None, **arguments: object) -> dict:
    known = {one: {"type": kind} if isinstance(kind, str) else kind for one, kind in arguments.items()}
    closed = {} if also is None else {"additionalProperties": also}
    return {"name": name, "mutating": mutating, "parameters": {"type": "object", "properties": known, **closed}}


BOX = [
    tool("get", False, id="string"),
    tool("number", False, nr="integer"),
    tool("any", False, id={}),
    tool("got", False, order="string"),
    tool("set", order="string", nr="integer", level="string"),
    tool("pay", id="string", nr="integer", lines={"type": "array"}, patient={"properties": {"id": {"type": "string"}}}),
    tool("open", also=True, id="integer"),
]
BOX[5]["parameters"]["properties"]["patient"]["type"] = "object"


def box(source: object, *before: dict, listed: list = BOX) -> tools.Toolbox:  # noqa: B006
    state = [*before, {"name": "one", "type": "string", "from": source}]
    return tools.parse(json.dumps({"tools": listed, "state": state}))


CLOSED = [tool for tool in BOX if tool["name"] != "open"]
ORDER = {"name": "order", "type": "object", "properties": {"owner": {"type": "string"}, "n": {"type": "integer"}}}
WRONG = {
    "a name that no tool has": (
        {"lookup": "get", "arguments": {"id": "call.idd"}},
        "arguments.id: arguments of a tool were required, of ['id', 'level', 'lines', 'nr', 'order', 'patient']; got "
        "call.idd",
    ),
    "a name that no record has": (
        {"lookup": "get", "arguments": {"id": "call.patient.idd"}},
        "arguments.id: call.patient.idd: not declared in tools.json; call.patient has ['id']",
    ),
    "a list": (
        {"lookup": "get", "arguments": {"id": "call.lines"}},
        "a text, a number or a truth was required; got array",
    ),
    "a list where anything may come": ({"lookup": "any", "arguments": {"id": "call.lines"}}, "got array"),
    "another type": (
        {"lookup": "get", "arguments": {"id": "call.nr"}},
        "arguments.id: call.nr: string was required, as id of get is; got integer",
    ),
    "another type of the state": (
        {"lookup": "get", "arguments": {"id": "state.order.n"}},
        "state.order.n: string was required, as id of get is; got integer",
    ),
    "no such field of the state": (
        {"lookup": "get", "arguments": {"id": "state.order.id"}},
        "state.order.id: not declared in tools.json; state.order has ['owner', 'n']",
    ),
    "a change of another type": (
        {"lookup": "get", "arguments": {"id": "call.id"}, "changed_by": {"set": {"id": "call.nr"}}},
        "changed_by.set.id: call.nr: string was required, as id of get is; got integer",
    ),
    "a change by a name that its tool has not": (
        {"lookup": "get", "arguments": {"id": "call.id"}, "changed_by": {"set": {"id": "call.id"}}},
        "changed_by.set.id: call.id: not declared in tools.json; call has ['order', 'nr', 'level']",
    ),
    "what is given for another type": (
        {"lookup": "get", "arguments": {"id": "call.order"}, "given_by": ["open"]},
        "given_by.open.id: call.id: string was required, as id of get is; got integer",
    ),
    "what is given for one of two arguments": (
        {"lookup": "got", "arguments": {"order": "call.level"}, "given_by": ["set"]},
        'given_by: in changed_by which object the call changes was required, such as {"set": {"order": "call.order"}}; '
        "got set, which has order and level",
    ),
    "words that two tools use of two types": (
        {
            "said": "user",
            "arguments": {"id": "call.nr"},
            "used_by": {"pay": {"id": "call.nr"}, "set": {"id": "call.order"}},
        },
        "used_by.set.id: call.order: integer was required, as call.nr of pay is; got string",
    ),
    "words that the same call names otherwise": (
        {"said": "user", "arguments": {"id": "call.id"}, "used_by": {"pay": {"id": "call.nr"}}},
        "used_by.pay.id: call.nr: string was required, as call.id is; got integer",
    ),
    "words of what no call tells": ({"said": "user", "arguments": {"id": "call.idd"}}, "got call.idd"),
    "a deed's argument that its tool has not": (
        {"done": "set", "arguments": {"order": "call.id"}, "path": "lvl"},
        "from.path: call.lvl: not declared in tools.json; call has ['order', 'nr', 'level']",
    ),
    "a deed of another type": (
        {"done": "set", "arguments": {"order": "call.nr"}, "path": "level"},
        "arguments.order: call.nr: string was required, as order of set is; got integer",
    ),
    "what counts without a deed": (
        {"done": "set", "arguments": {"order": "call.id"}, "path": "level", "otherwise": "state.order.id"},
        "from.otherwise: state.order.id: not declared",
    ),
}
RIGHT = {
    "a part of an argument": {"lookup": "get", "arguments": {"id": "call.patient.id"}},
    "a part of a field": {"lookup": "get", "arguments": {"id": "state.order.owner"}},
    "anything": {"lookup": "any", "arguments": {"id": "call.nr"}},
    "of one tool a text, of another a number": {"lookup": "get", "arguments": {"id": "call.id"}},
    "a change by another name": {
        "lookup": "get",
        "arguments": {"id": "call.id"},
        "changed_by": {"set": {"id": "call.order"}},
    },
    "a change of a call that has the same name for something else": {
        "lookup": "number",
        "arguments": {"nr": "call.nr"},
        "changed_by": {"set": {"nr": "call.nr"}, "open": {"nr": "call.id"}},
    },
    "what is given for the one that is named": {
        "lookup": "got",
        "arguments": {"order": "call.level"},
        "changed_by": {"set": {"order": "call.order"}},
        "given_by": ["set"],
    },
    "what is given for its own argument": {"lookup": "got", "arguments": {"order": "call.id"}, "given_by": ["set"]},
    "words": {"said": "user", "arguments": {"id": "call.id"}, "used_by": {"pay": {"id": "call.id"}}},
    "a deed": {"done": "set", "arguments": {"order": "call.id"}, "path": "level", "otherwise": "state.order.owner"},
    "a tool that takes anything": {"done": "open", "arguments": {}, "path": "level"},
}


@pytest.mark.parametrize(("source", "why"), WRONG.values(), ids=WRONG)
def test_a_source_that_no_call_can_tell_is_refused_with_what_there_is(source: dict, why: str) -> None:
    closed = "open" not in json.dumps(source)
    with pytest.raises(ToolError) as refused:
        box(source, ORDER, listed=CLOSED if closed else BOX)
    assert str(refused.value).startswith("tools.json: state[1].from") and why in str(refused.value)


@pytest.mark.parametrize("source", RIGHT.values(), ids=RIGHT)
def test_a_source_that_a_call_can_tell_is_read(source: dict) -> None:
    assert box(source, ORDER).state[1].source is not None


def test_where_a_tool_takes_other_arguments_any_name_may_come() -> None:
    source = {"lookup": "get", "arguments": {"id": "call.idd"}}
    assert box(source, listed=BOX)
    with pytest.raises(ToolError, match="got call.idd"):
        box(source, listed=CLOSED)


# ---- objects that are named by values of several types -------------------------------------------------


def known(one: Session, tool: str, **arguments: object) -> tuple[object, str]:
    verdict = one.call(tool, arguments)
    assert verdict.decision == "allow", verdict.reason
    return field_of(one, "one")


LOOSE = [tool("get", False, id={}), tool("set", id={}, level="string"), tool("pay", id={}), tool("pay2", id={})]
NAMES = st.sampled_from([1, 2, "1", "2", "a", True, 1.5, "true"])


@settings(max_examples=200)
@given(NAMES, NAMES, NAMES)
def test_where_types_are_open_an_object_of_another_type_may_be_the_same(seen: object, changed: object, asked: object):
    """The oracle: what is named by the same type differs where the value does; of two types nobody can tell."""

    def kind(value: object) -> type:
        return float if type(value) is int else type(value)

    def may_be(one: object, other: object) -> bool:
        return kind(one) is not kind(other) or identity(one) == identity(other)

    look = {"lookup": "get", "arguments": {"id": "call.id"}, "changed_by": {"set": {"id": "call.id"}}}
    one = Session(Spy(validator=Validator(box(look, listed=LOOSE))))
    one.call("get", {"id": seen}), one.result("ok")
    one.call("set", {"id": changed}), one.result(None)
    assert known(one, "pay", id=seen)[0] == (None if may_be(seen, changed) else "ok")

    done = {"done": "set", "arguments": {"id": "call.id"}, "path": "level"}
    one = Session(Spy(validator=Validator(box(done, listed=LOOSE))))
    one.call("set", {"id": seen, "level": "old"}), one.result(None)
    one.call("set", {"id": changed, "level": "new"}), one.result(None)
    newest = "new" if identity(asked) == identity(changed) and kind(asked) is kind(changed) else None
    if newest is None and not may_be(asked, changed) and identity(asked) == identity(seen):
        newest = "old" if kind(asked) is kind(seen) else None
    assert known(one, "pay", id=asked)[0] == newest

    yes = {
        "said": "user",
        "arguments": {"id": "call.id"},
        "used_by": {tool: {"id": "call.id"} for tool in ("pay", "set")},
    }
    one = Session(Spy(validator=Validator(box(yes, listed=LOOSE))))
    one.say("user", "yes"), one.call("set", {"id": changed})
    assert known(one, "pay2", id=asked)[0] == (None if may_be(asked, changed) else "yes")


def test_an_argument_of_another_type_than_the_lookup_takes_is_not_asked() -> None:
    asked: list = []
    listed = [*BOX, tool("ship", id="integer")]
    look = {"lookup": "get", "arguments": {"id": "call.id"}, "changed_by": []}
    one = Session(Spy(validator=Validator(box(look, listed=listed))), ask=lambda *told: asked.append(told) or "ok")
    assert known(one, "ship", id=1) == (None, "call.id: string was required; got 1") and asked == []
    assert known(one, "pay", id="1") == ("ok", "")
