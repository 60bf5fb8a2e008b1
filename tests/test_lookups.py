"""State fields with a source: filled from what was seen or asked for, never from before a change, else unknown."""

from __future__ import annotations

import io
import json
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from bench import airline
from hypothesis import example, given, settings
from hypothesis import strategies as st

from wb.bench import recorded
from wb.domain import events, lookups, tools
from wb.domain.events import Asked, Event, EventError, Result, State
from wb.domain.session import Session, SessionError
from wb.domain.tools import ToolError
from wb.domain.trace import Call, Step, Verdict
from wb.domain.validation import Validator
from wb.guards.contract import assemble, contract
from wb.guards.runtime import CallGuard, Guarded
from wb.rules import rulefile
from wb.shield import circuit
from wb.shield.shield import Shield

ID = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
TOOLS = [
    {"name": "get", "mutating": False, "parameters": ID},
    {"name": "who", "mutating": False},
    {"name": "set", "parameters": ID},
    {"name": "touch", "parameters": ID},
    {"name": "post", "parameters": {"type": "object", "properties": ID["properties"]}},
]
ORDER = {
    "name": "order",
    "type": "object",
    "properties": {"version": {"type": "integer"}, "owner": {"type": "string"}},
    "required": ["version"],
    "from": {"lookup": "get", "arguments": {"id": "call.id"}, "changed_by": ["set", "touch"], "given_by": ["set"]},
}
STATE = [
    {"name": "now", "type": "string", "from": "clock"},
    {"name": "answer", "type": "string", "from": {"said": "user"}},
    {"name": "yes", "type": "string", "from": {"said": "user", "used_by": ["post"]}},
    {"name": "words", "type": "array", "items": {"type": "string"}, "from": {"said": "user"}},
    {"name": "level", "type": "string", "enum": ["tin", "gold"], "from": {"result": "who", "path": "card.level"}},
    ORDER,
    {"name": "owner", "type": "object", "from": {"lookup": "get", "arguments": {"id": "state.order.owner"}}},
    {"name": "told", "type": "integer"},
    {
        "name": "last",
        "type": "string",
        "from": {"done": "touch", "arguments": {}, "path": "id", "otherwise": "state.order.owner"},
    },
]


def box(state: list = STATE, listed: list = TOOLS) -> tools.Toolbox:  # noqa: B006
    return tools.parse(json.dumps({"tools": listed, "state": state}))


@dataclass
class Spy:
    """A judge that stands for any guard: it denies `deny` alone, and keeps the steps that it saw."""

    name: str = "spy"
    validator: Validator = field(default_factory=lambda: Validator(box()))
    asked: list[Step] = field(default_factory=list)
    remembered: list[Step] = field(default_factory=list)
    deny: str = ""

    def watch(self) -> Spy:
        return self

    def judge(self, step: Step) -> Verdict:
        self.asked.append(step)
        tool = step.calls[-1].tool
        if tool == "post" and "order" not in step.state:
            return Verdict("undecided", "so", missing=("state.order",))
        return Verdict("deny" if tool == self.deny else "allow", "so")

    def remember(self, step: Step) -> None:
        self.remembered.append(step)

    def evidence(self, tool: str) -> str:
        return ""

    def trusted(self, tool: str) -> tuple:
        return ()

    def minds(self, tool: str) -> bool:
        return False

    def ordered(self, tool: str, other: str) -> bool:
        return False

    def reads(self, tool: str, before: object = ()) -> tuple[str, ...]:
        return tuple(one.name for one in self.validator.toolbox.state)


def apart() -> Spy:
    """A spy in whose domain a change is of one object alone."""
    order = ORDER | {"from": ORDER["from"] | {"changed_by": dict.fromkeys(("set", "touch"), {"id": "call.id"})}}
    used = {"said": "user", "arguments": {"id": "call.id"}, "used_by": {"post": {"id": "call.id"}}}
    changed = {"order": order, "yes": {"name": "yes", "type": "string", "from": used}}
    return Spy(validator=Validator(box([changed.get(field["name"], field) for field in STATE])))


def known(one: Session, tool: str = "get", **arguments: object) -> dict:
    """The state in which such a call is judged."""
    one.call(tool, arguments or {"id": "a"})
    return dict(one.judge.asked[-1].state)


# ---- what fills a field -----------------------------------------------------------------------------


def test_each_source_fills_its_field() -> None:
    one = Session(Spy(), clock=lambda: "2024-05-15T15:00:00-05:00")
    one.say("user", "Hello."), one.say("assistant", "Yes?"), one.say("user", "Go on.")
    one.state({"told": 7})
    one.call("who"), one.result({"card": {"level": "gold"}})
    one.call("get", {"id": "a"}), one.result({"version": 3, "owner": "b"})
    one.call("get", {"id": "b"}), one.result({"version": 9})
    assert known(one) == {
        "now": "2024-05-15T15:00:00-05:00",
        "answer": "Go on.",
        "yes": "Go on.",
        "words": ("Hello.", "Go on."),
        "level": "gold",
        "told": 7,
        "order": {"version": 3, "owner": "b"},
        "owner": {"version": 9},
        "last": "b",
    }
    one.call("touch", {"id": "z"}), one.result(None)
    assert known(one)["last"] == "z"


def test_a_field_that_comes_from_elsewhere_cannot_be_told() -> None:
    one = Session(Spy(), ask=lambda tool, arguments: {"version": 2})
    one.state({"order": {"version": 1}, "level": "gold", "told": 7})
    assert known(one)["order"] == {"version": 2}
    assert "level" not in known(one)
    assert known(one)["told"] == 7
    silent = Session(Spy())
    silent.state({"order": {"version": 1}})
    verdict = silent.call("post", {"id": "a"})
    assert verdict.decision == "undecided" and "state.order" in verdict.reason


@pytest.mark.parametrize(
    ("told", "read"),
    [({"order": {"version": 1}}, False), ({"order": 3}, False), ({"order": None}, True), ({"told": 1}, True)],
    ids=["told", "told as what it is not", "told as not known", "not told"],
)
def test_the_reason_says_that_what_was_told_is_not_read(told: dict, read: bool) -> None:
    one = Session(Spy())
    one.state(told)
    reason = one.call("post", {"id": "a"}).reason
    why = 'so; state.order: no result of get was seen for id="a", and nothing can be asked'
    assert reason == (why if read else f"{why}; what is told of it is not read, for it comes from get")
    one.state({})
    assert one.call("post", {"id": "a"}).reason == why, "it is told no more"


# ---- never from before a change ------------------------------------------------------------------

OPERATION = st.one_of(
    st.tuples(st.just("ask"), st.sampled_from(["get", "set", "touch", "post"]), st.sampled_from("ab"), st.booleans()),
    st.tuples(st.sampled_from(["run", "answer"]), st.integers(0, 5)),
)


@settings(max_examples=400)
@given(st.lists(OPERATION, max_size=25), st.booleans())
def test_what_is_filled_is_what_the_world_holds(script: list, alone: bool) -> None:
    """The oracle is a world of its own: a call runs at some moment between its question and its result, at the latest
    when its step is over. Whatever the session fills is what the world holds at that moment; or it is unknown.

    Whether a change is said to be of one object alone or not."""
    world, one, step, calls = {"a": 0, "b": 0}, Session(apart() if alone else Spy()), 0, []

    def run(made: dict) -> None:
        if "gave" not in made:
            world[made["id"]] += made["tool"] in ("set", "touch")
            made["gave"] = {"version": world[made["id"]]} if made["tool"] in ("get", "set") else None

    for kind, *what in script:
        if kind == "ask":
            tool, name, begins = what
            if begins:
                step += 1
                [run(made) for made in calls]
            verdict = one.call(tool, {"id": name}, step=step, call_id=str(len(one.judge.asked)))
            found = one.judge.asked[-1].state.get("order")
            assert found is None or found == {"version": world[name]}
            if verdict.decision == "allow":
                calls.append({"tool": tool, "id": name, "name": str(len(one.judge.asked) - 1)})
        elif calls:
            made = calls[what[0] % len(calls)]
            run(made)
            if kind == "answer":
                one.result(made["gave"], made["name"])
                calls.remove(made)


def test_a_change_of_what_nobody_can_tell_is_of_all() -> None:
    free = {"name": "touch", "parameters": {"type": "object", "properties": ID["properties"]}}
    order = ORDER | {"from": ORDER["from"] | {"changed_by": {"touch": {"id": "call.id"}, "set": {}}, "given_by": []}}
    validator = Validator(box([order], [*TOOLS[:3], free, *TOOLS[4:]]))
    for tool, told, left in (("touch", {"id": "b"}, 1), ("touch", {}, 0), ("set", {"id": "b"}, 0)):
        one = Session(Spy(validator=validator))
        one.call("get", {"id": "a"}), one.result({"version": 1})
        one.call(tool, told), one.result(None)
        assert len(known(one)) == left, tool


# ---- bad answers -------------------------------------------------------------------------------------


def cyclic() -> dict:
    one: dict = {"version": 1}
    one["self"] = one
    return one


def broken(error: BaseException):
    def ask(tool: str, arguments: dict) -> object:
        raise error

    return ask


class Mute(Exception):
    """An error that breaks when it is asked what it says, by an error of any kind."""

    def __str__(self) -> str:
        raise self.args[0]

    __repr__ = __str__


BAD = {
    "another type": (lambda *_: {"version": "3"}, "version: integer was required"),
    "a list": (lambda *_: [1], "object was required; got array"),
    "a missing part": (lambda *_: {}, "version: a value was required"),
    "nothing": (lambda *_: None, "a value was required; got none"),
    "a cycle": (lambda *_: cyclic(), "nested at most"),
    "ten megabytes": (lambda *_: {"version": 1, "x": [0] * 200_000}, "at most 100000 values"),
    "no JSON": (lambda *_: {"version": object()}, "a JSON value was required; got object"),
    "an error": (broken(KeyError("x")), "the tool failed"),
    "an exit": (broken(SystemExit(1)), "the tool failed"),
    "an error that breaks": (broken(Mute(RuntimeError())), "the tool failed: it cannot be checked: Mute"),
    "an error of one": (broken(KeyError(Mute(ValueError()))), "the tool failed: it cannot be checked: KeyError"),
    "an error of a long number": (broken(KeyError(10**5000)), "the tool failed: it cannot be checked: KeyError"),
    "an error that exits": (broken(Mute(SystemExit())), "the tool failed: it cannot be checked: Mute"),
    "an error in half a character": (broken(ValueError("\ud800")), r"ValueError: \ud800"),
    "silence": (lambda *_: time.sleep(5), "an answer within 0.1 s was required"),
}


@pytest.mark.parametrize(("ask", "why"), BAD.values(), ids=BAD)
def test_a_bad_answer_is_unknown_with_its_reason_and_disturbs_nothing_else(ask, why: str) -> None:
    one = Session(Spy(), ask=ask, timeout_s=0.1)
    one.state({"told": 7})
    one.call("who"), one.result({"card": {"level": "gold"}})
    start = time.monotonic()
    verdict = one.call("post", {"id": "a"})
    assert time.monotonic() - start < 3
    assert verdict.decision == "undecided" and "state.order: " in verdict.reason and why in verdict.reason
    state = one.judge.asked[-1].state
    assert state["level"] == "gold" and state["told"] == 7 and "order" not in state


GUARDED = [
    {"name": "get", "mutating": False, "parameters": ID},
    {"name": "pay", "parameters": ID},
    {"name": "ping"},
]
READ = [
    {
        "name": "order",
        "type": "object",
        "properties": {
            "card": {"type": "object", "properties": {"level": {"type": "integer"}}},
            "lines": {"type": "array", "items": {"type": "object", "properties": {"cents": {"type": "integer"}}}},
        },
        "from": {"lookup": "get", "arguments": {"id": "call.id"}},
    },
    {"name": "age", "type": "integer"},
]
RULES = """
predicates:
  pay: {kind: action, tools: [pay]}
  ping: {kind: action, tools: [ping]}
  level: {kind: state, test: state.order.card.level >= 2}
  cheap: {kind: state, test: "sum(state.order.lines.map(l, l.cents)) <= 100"}
  adult: {kind: state, test: state.age >= 18}
rules:
  - {id: level, formula: ALWAYS (pay IMPLIES level), modality: permit_only_if}
  - {id: cheap, formula: ALWAYS (pay IMPLIES cheap), modality: permit_only_if}
  - {id: adult, formula: "ALWAYS ((pay OR ping) IMPLIES adult)", modality: permit_only_if}
"""
FINE = {"card": {"level": 3}, "lines": [{"cents": 60}, {"cents": 40}]}
LEVEL, LINES = "state.order.card.level", "state.order.lines"
BROKEN = {  # a record that is not as it was declared, the paths that are named, and what is said of it
    "a missing path": (lambda: {"lines": []}, (LEVEL,), ""),
    "a missing part of a list": (lambda: FINE | {"lines": [{"cents": 5}, {}]}, (LINES,), ""),
    "a wrong type": (lambda: FINE | {"card": {"level": "3"}}, (LEVEL, LINES), "card.level: integer was required"),
    "a list where a record was declared": (lambda: [FINE], (LEVEL, LINES), "object was required; got array"),
    "a list inside": (lambda: FINE | {"card": [3]}, (LEVEL, LINES), "card: object was required; got array"),
    "a text of ten megabytes": (lambda: "a" * 10**7, (LEVEL, LINES), "object was required"),
    "ten megabytes of numbers": (lambda: FINE | {"x": [0] * 5_000_000}, (LEVEL, LINES), "at most 100000 values"),
    "ten megabytes of lines": (lambda: FINE | {"lines": [{"cents": 0}] * 700_000}, (LEVEL, LINES), "at most 100000"),
    "a cycle": (lambda: FINE | {"x": cyclic()}, (LEVEL, LINES), "nested at most"),
    "nothing": (lambda: None, (LEVEL, LINES), "a value was required; got none"),
    "silence": (lambda: time.sleep(5), (LEVEL, LINES), "an answer within 0.05 s was required"),
    "an error": (lambda: {}["x"], (LEVEL, LINES), "the tool failed"),
}
ASKED_ALONE = ("silence", "an error")  # what only a function that is asked can do


@pytest.fixture(scope="module")
def judges() -> dict[str, CallGuard | Shield]:
    """A guard and a shield of the same rules over a record that is looked up."""
    toolbox, rules = box(READ, GUARDED), rulefile.loads(RULES)
    made = [contract(tool, rules, toolbox.state) for tool in toolbox.tools]
    kept = [Guarded(one, assemble(airline.code(one), one), "tested") for one in made]
    actions = {name: [rule.id for rule in rules.rules if name in rule.predicates] for name in ("pay", "ping")}
    return {
        "guard": CallGuard("guard", rules, tuple(kept), frozenset({"tested"}), toolbox),
        "shield": Shield(rules.predicates, circuit.build(rules, actions), toolbox=toolbox),
    }


@pytest.mark.parametrize("judge", ["guard", "shield"])
@pytest.mark.parametrize(
    ("way", "bad"),
    [
        (way, bad)
        for way in ("asked", "given", "recorded")
        for bad in BROKEN
        if way == "asked" or bad not in ASKED_ALONE
    ],
)
def test_a_bad_record_is_undecided_with_its_path_and_disturbs_nothing_else(judges, judge: str, way: str, bad: str):
    """As a session asks for it, as the agent's own call gives it, and as a recording holds it."""
    make, paths, why = BROKEN[bad]
    read = [Call("get", {"id": name}) for name in "ab"] * (way != "asked")
    calls = [*read, Call("pay", {"id": "a"}), Call("ping", {}), *read[1:], Call("pay", {"id": "b"})]
    began = time.monotonic()

    def gives(call: Call) -> object:
        return None if call.tool != "get" else FINE if call.arguments["id"] == "b" else make()

    if way == "recorded":
        happened = [State({"age": 30}), *[what for call in calls for what in (Asked(call), Result(gives(call)))]]
        found = [one.verdict for one in recorded.judge(judges[judge], [Event("r", what) for what in happened])]
    else:
        ask = (lambda tool, arguments: gives(Call(tool, arguments))) if way == "asked" else None
        one, found = judges[judge].session(ask=ask, timeout_s=0.05), []
        one.state({"age": 30})
        for call in calls:
            found.append(one.call(call.tool, call.arguments))
            one.result(gives(call))
    first, ping, second = [verdict for verdict, call in zip(found, calls, strict=True) if call.tool != "get"]
    assert time.monotonic() - began < 4
    assert first.decision == "undecided" and why in first.reason
    assert tuple(path for path in (LEVEL, LINES) if any(path in fact for fact in first.missing)) == paths
    assert (ping.decision, second.decision) == ("allow", "allow")


@pytest.mark.parametrize("judge", ["guard", "shield"])
def test_beside_a_bad_record_what_is_surely_broken_is_denied(judges, judge: str) -> None:
    one = judges[judge].session(ask=lambda *_: [FINE])
    one.state({"age": 12})
    verdict = one.call("pay", {"id": "a"})
    assert verdict.decision == "deny" and "adult" in verdict.violated


def test_a_bad_result_is_unknown_until_a_good_one_comes() -> None:
    one = Session(Spy())
    for value in ({"card": [1]}, {"card": {"level": "lead"}}, "gold", cyclic(), [0] * 200_000):
        one.call("who"), one.result(value)
        assert "level" not in known(one)
    one.call("who"), one.result({"card": {"level": "gold"}})
    assert known(one)["level"] == "gold"


@pytest.mark.parametrize(
    ("seen", "now", "known_there"),
    [
        ({"id": "a"}, {"id": "a"}, True),
        ({"id": "a"}, {"id": "b"}, False),  # it is of another one
        ({"id": "a"}, {}, True),  # this call names none
        ({"id": "a", "page": 1}, {"id": "a", "page": 2}, False),  # whatever the argument is for
    ],
)
def test_a_result_tells_nothing_of_a_call_that_names_another_object(seen: dict, now: dict, known_there: bool) -> None:
    """Inspect W1, release W2: a field that is the newest result of a tool is of what that call named."""
    many = {"type": "object", "properties": {"id": {"type": "string"}, "page": {"type": "integer"}}}
    listed = [{"name": "get", "mutating": False, "parameters": many}, {"name": "post", "parameters": many}]
    age = {"name": "age", "type": "integer", "from": {"result": "get", "path": "age", "changed_by": []}}
    one = Session(Spy(validator=Validator(box([age], listed))))
    one.call("get", seen), one.result({"age": 200})
    one.call("post", now)
    assert dict(one.judge.asked[-1].state) == ({"age": 200} if known_there else {})
    other = {"type": "object", "properties": {"id": {"type": "string", "description": "of the invoice"}}}
    apart = [listed[0], {"name": "post", "parameters": other}]
    two = Session(Spy(validator=Validator(box([age], apart))))
    two.call("get", {"id": "a"}), two.result({"age": 200})
    two.call("post", {"id": "b"})
    assert dict(two.judge.asked[-1].state) == {"age": 200}, "what is declared otherwise names another kind of thing"
    one.call("get", now), one.result({"age": 3})
    one.call("post", now)
    assert dict(one.judge.asked[-1].state) == {"age": 3}, "its own result came"


def test_a_session_keeps_so_many_objects_and_no_more() -> None:
    one = Session(Spy(), ask=lambda tool, arguments: {"version": 1})
    grown = []
    for start in (0, 2, 4):
        for number in range(start * lookups.KEPT, (start + 2) * lookups.KEPT):
            one.call("get", {"id": str(number)})
            one.result({"version": 1})
            one.judge.asked.clear(), one.judge.remembered.clear()
        grown.append(sys.getallocatedblocks())
    assert grown[2] - grown[1] < 2000


# ---- tools.json ------------------------------------------------------------------------------------

WRONG = {
    "another word": ("noon", "'clock', or an object with one of"),
    "two kinds": ({"said": "user", "result": "get"}, "an object with one of"),
    "an empty list of tools": ({"result": []}, "must be a name; got list []"),
    "one of two that is no tool": ({"result": ["get", "nobody"]}, "must be of tools that are declared; got ['nobody']"),
    "a lookup of two tools": ({"lookup": ["get", "who"], "arguments": {}}, "must be a name; got list"),
    "no such tool": ({"result": "nobody"}, "must be of tools that are declared; got ['nobody']"),
    "a tool that may change something": ({"lookup": "set", "arguments": {"id": "call.id"}}, '"mutating": false'),
    "an unknown key": ({"result": "get", "each": 1}, "got ['each']"),
    "a missing argument": ({"lookup": "get"}, "those of get, ['id'], were required"),
    "an argument too many": ({"lookup": "who", "arguments": {"id": "call.id"}}, "those of who"),
    "no path": ({"result": "get", "path": "a ||"}, "a path in the result"),
    "a fact for a path": ({"result": "get", "path": "a == 1"}, "a path in the result"),
    "a fact for an argument": (
        {"lookup": "get", "arguments": {"id": "call.id == 1"}},
        "it was required; got a fact: str",
    ),
    "a literal for an argument": (
        {"lookup": "get", "arguments": {"id": "'a'"}},
        "from.arguments.id: call.NAME, or state.NAME of a field before it was required; got a literal: str \"'a'\"",
    ),
    "a number for an argument": ({"lookup": "get", "arguments": {"id": 1}}, "was required, as a text; got int 1"),
    "a later field": ({"lookup": "get", "arguments": {"id": "state.later"}}, "state fields declared before, []"),
    "no list": ({"result": "get", "changed_by": "set"}, "must be of tools that are declared; got str"),
    "a strange user of words": ({"said": "user", "used_by": ["nobody"]}, "got ['nobody']"),
    "an unknown key of words": ({"said": "user", "path": "x"}, "only ['arguments', 'used_by'] was required"),
    "a strange changer": ({"result": "get", "changed_by": ["nobody"]}, "got ['nobody']"),
    "another argument of what is changed": (
        {"lookup": "get", "arguments": {"id": "call.id"}, "changed_by": {"set": {"name": "call.id"}}},
        "from.changed_by.set: the names in \"arguments\" beside it, ['id'], were required, or {} for any object; got",
    ),
    "an object of a result": ({"result": "get", "changed_by": {"set": {"id": "call.id"}}}, "beside it, [], were"),
    "an object of words that are of none": (
        {"said": "user", "used_by": {"set": {"id": "call.id"}}},
        'from.used_by.set: the names in "arguments" beside it, [], were required, or {} for any object; got dict '
        '{"id": "call.id"}: "arguments": {"id": "call.id"} beside it would say of which object of a call the words are',
    ),
    "no names of an object": ({"said": "user", "used_by": {"set": "call.id"}}, 'an object such as {"id": "call.id"} '),
    "an object by what is known": (
        {"said": "user", "arguments": {"id": "call.id"}, "used_by": {"set": {"id": "state.told"}}},
        "state fields declared before, []",
    ),
    "arguments of words that are none": ({"said": "user", "arguments": ["call.id"]}, "an object such as"),
    "no argument of what was done": ({"done": "set"}, "an argument of set was required"),
}


@pytest.mark.parametrize(("source", "why"), WRONG.values(), ids=WRONG)
def test_a_source_that_is_none_is_refused_with_its_place(source: object, why: str) -> None:
    with pytest.raises(ToolError) as refused:
        box([{"name": "one", "type": "string", "from": source}])
    assert str(refused.value).startswith("tools.json: state[0].from") and why in str(refused.value)


LITERALS = {  # a field, what it is where nothing was done, and what that is or why it is refused
    "a text": ({"type": "string"}, "'none'", "none"),
    "a text in JSON's quotes": ({"type": "string"}, '"none"', "none"),
    "one of several": ({"type": "string", "enum": ["tin", "gold"]}, "'tin'", "tin"),
    "none of several": ({"type": "string", "enum": ["tin", "gold"]}, "'lead'", 'one of "tin", "gold" was required'),
    "a number": ({"type": "integer"}, "0", 0),
    "a number below 0": ({"type": "number"}, "-1.5", -1.5),
    "a whole number of another kind": ({"type": "integer"}, "2.0", 2),
    "a number that is none": ({"type": "integer"}, "2.5", "that fits one was required: integer was required; got 2.5"),
    "a truth": ({"type": "boolean"}, "false", False),
    "a truth that is none": ({"type": "boolean"}, "0", "boolean was required; got 0"),
    "a number in words": ({"type": "integer"}, "'0'", 'integer was required; got "0"'),
    "nothing": ({"type": ["integer", "null"]}, "null", """such as "0", "false" or "'none'", was required; got a lit"""),
    "a number that is no text": ({"type": "integer"}, 0, "was required, as a text; got int 0"),
    "a text without quotes": ({"type": "string"}, "none", "or a literal in CEL, such as "),
    "a fact": ({"type": "boolean"}, "call.id == 'a'", "was required; got a fact"),
    "a computation": ({"type": "integer"}, "size(call.id)", "was required; got a computation"),
    "an integer beyond 64 bits": ({"type": "integer"}, "9" * 19, "an integer has at most 64 bits"),
}


@pytest.mark.parametrize(("field", "text", "found"), LITERALS.values(), ids=LITERALS)
def test_a_literal_counts_without_a_call_if_it_fits_its_field(field: dict, text: object, found: object) -> None:
    source = {"done": "touch", "arguments": {}, "path": "id", "otherwise": text}
    state = [{"name": "one", **field, "from": source}]
    if type(found) is str and " " in found:
        with pytest.raises(ToolError) as refused:
            box(state)
        assert str(refused.value).startswith("tools.json: state[0].from.otherwise: ") and found in str(refused.value)
    else:
        value = known(Session(Spy(validator=Validator(box(state)))))["one"]
        assert value == found and type(value) is type(found)


# ---- recorded and replayed ----------------------------------------------------------------------------

SAID = st.sampled_from(["user", "assistant"]).map(lambda role: ("say", role))
TOLD = st.integers(0, 2).map(lambda value: ("state", {"told": value}))
ASKED = st.tuples(
    st.just("call"),
    st.sampled_from(["get", "who", "set", "touch", "post"]),
    st.sampled_from("ab"),
    st.one_of(st.none(), st.integers(0, 2)),
    st.sampled_from(["given", "failed", "none"]),
)


READ_A = ("call", "get", "a", None, "given")


@settings(max_examples=150)
@example([("call", "post", "a", None, "none"), ("say", "assistant"), ("say", "user"), READ_A], True, False)
@given(st.lists(st.one_of(SAID, TOLD, ASKED), max_size=15), st.booleans(), st.booleans())
def test_a_recorded_session_is_judged_and_goes_on_as_it_was(script: list, asks: bool, alone: bool) -> None:
    answers, made = iter(range(100)), apart if alone else Spy
    spies = [made(), made(), made()]
    spies[0].deny = spies[1].deny = spies[2].deny = "set"
    ask = (lambda tool, arguments: {"version": next(answers), "owner": "b"}) if asks else None
    record, ticks = io.StringIO(), iter(range(1000))
    clock = lambda: f"2024-05-15T15:{next(ticks) // 60:02}:00Z"  # noqa: E731
    live = Session(spies[0], run="a", record=record, ask=ask, clock=clock, ask_all=True)
    for kind, *what in script:
        if kind == "say":
            live.say(what[0], f"words {len(record.getvalue())}")
        elif kind == "state":
            live.state(what[0])
        else:
            tool, name, step, result = what
            verdict = live.call(tool, {"id": name}, step)
            if verdict.decision == "allow" and result != "none":
                live.result({"version": len(record.getvalue())}, error=result == "failed")
    happened = [event for run in events.loads(record.getvalue()) for event in run.events]
    again, other = Session(spies[1], run="a"), spies[2]
    again.replay(happened)
    assert again.judge.asked == live.judge.asked
    list(recorded.judge(other, happened))
    assert other.asked == live.judge.asked
    for one in (live, again):
        one._lookups.ask, one._record_to, one._clock = None, None, lambda: "2025-01-01T00:00:00Z"
        one.call("post", {"id": "a"})
    assert again.judge.asked == live.judge.asked and again.judge.remembered == live.judge.remembered


def test_a_record_holds_what_was_asked_before_the_call(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    one = Session(Spy(), run="r", record=path, ask=lambda *_: {"version": 1}, clock=lambda: "2024-05-15T15:00:00Z")
    one.call("post", {"id": "a"}, step=4, call_id="x"), one.result({"done": [1]}, "x")
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert [next(key for key in events.KINDS if key in row) for row in rows] == ["lookup", "call", "result"]
    assert rows[0]["lookup"] == {"tool": "get", "arguments": {"id": "a"}, "value": {"version": 1}}
    assert {row["time"] for row in rows} == {"2024-05-15T15:00:00Z"} and rows[1]["call_id"] == "x"
    (run,) = events.read(path)
    copied = io.StringIO()
    events.dump(run.events, copied)
    assert copied.getvalue() == path.read_text("utf-8")


def test_what_cannot_be_recorded_does_not_happen(tmp_path: Path) -> None:
    one = Session(Spy(), record=tmp_path / "no" / "such.jsonl")
    for act in (lambda: one.call("who"), lambda: one.say("user", "x"), lambda: one.state({"told": 1})):
        with pytest.raises(SessionError, match="a record that can be written was required"):
            act()


def test_a_replay_of_what_is_no_session_is_refused() -> None:
    for what in (Result(1), events.Observation("task")):
        with pytest.raises(SessionError):
            Session(Spy()).replay([Event("a", what)])


@pytest.mark.parametrize(
    "line",
    [
        '{"run": "a", "lookup": {"tool": "get"}}',
        '{"run": "a", "lookup": {"tool": "get", "arguments": {}, "value": 1, "problem": "none"}}',
        '{"run": "a", "lookup": {"tool": "get", "arguments": {}, "problem": ""}}',
        '{"run": "a", "lookup": {"tool": "get", "arguments": {}}, "label": "deny"}',
    ],
)
def test_a_lookup_that_is_none_is_refused(line: str) -> None:
    with pytest.raises(EventError, match="line 1"):
        events.loads(line)


def test_a_log_says_where_values_come_from() -> None:
    log = io.StringIO()
    one = Session(Spy(), log=log, ask=lambda *_: {"version": 1})
    one.call("post", {"id": "a"}), one.call("post", {"id": "a"})
    first, _ = map(json.loads, log.getvalue().splitlines())
    assert first["origins"]["order"] == 'get(id="a"), which was asked' and first["origins"]["now"] == "the clock"


def test_threads_share_a_session() -> None:
    log, one = io.StringIO(), None
    one = Session(Spy(), log=log, ask=lambda tool, arguments: {"version": 1})

    def work(name: str) -> None:
        for number in range(100):
            one.say("user", name)
            one.call("post", {"id": "a"}, call_id=f"{name}{number}")
            one.result({}, f"{name}{number}")

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    [thread.start() for thread in threads], [thread.join() for thread in threads]
    rows = [json.loads(line) for line in log.getvalue().splitlines()]
    assert [row["index"] for row in rows] == list(range(400)) and {row["decision"] for row in rows} == {"allow"}


def test_the_clock_is_changed_by_no_call() -> None:
    """A call that failed after its step was over makes nothing unknown that only the clock tells."""
    one = Session(Spy(validator=Validator(box([STATE[0]]))))
    one.call("touch", {"id": "a"}), one.say("assistant", "Done."), one.say("user", "Go on.")
    one.result("no", error=True)
    assert one.call("touch", {"id": "a"}).decision == "allow"


@pytest.mark.parametrize(
    ("source", "other", "moves"),
    [
        ({"done": "set", "arguments": {}, "path": "x", "otherwise": "'no'"}, "set", True),
        ({"done": "set", "arguments": {}, "path": "x", "otherwise": "'no'"}, "get", False),
        ({"result": "set", "path": "x", "changed_by": ["vote"]}, "set", True),  # it tells the field
        ({"result": "get", "path": "x"}, "get", False),  # and only reads
        ({"operation": "screen", "arguments": {}}, "set", True),
        ({"operation": "screen", "arguments": {}}, "get", False),
    ],
)
def test_a_call_that_may_change_what_another_s_guard_reads_is_ordered_after_it(source, other, moves) -> None:
    """Adapters that run calls at once hold it back (`Session.ordered`)."""
    given = {"type": "object", "properties": {"x": {"type": "string"}}}
    listed = [{"name": name, "mutating": name != "get", "parameters": given} for name in ("vote", "set", "get")]
    field = {"name": "frozen", "type": "string", "from": source}
    session = Session(Spy(validator=Validator(tools.parse(json.dumps({"tools": listed, "state": [field]})))))
    assert session.ordered("vote", other) is moves and (session.minds(other) or not moves)
