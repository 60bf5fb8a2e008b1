"""What a recording tells of lookups: the newest counts, and where it contradicts itself nothing does."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_lookups import Spy
from test_lookups_histories import LEVEL, TOOLS

from wb.bench import recorded
from wb.domain import events, tools
from wb.domain.events import Event, Recognition
from wb.domain.lookups import Lookups
from wb.domain.session import Session
from wb.domain.trace import Call, Step
from wb.domain.validation import Validator

GET = {"lookup": "get", "arguments": {"id": "call.id"}}
SLOW = GET | {"changed_by": []}  # what nothing changes
FAST = GET | {"changed_by": ["touch"]}
SEEN = [{"name": name, "type": "string", "from": source} for name, source in (("slow", SLOW), ("fast", FAST))]


def spy(*state: dict, listed: list = TOOLS) -> Spy:  # noqa: B006
    return Spy(validator=Validator(tools.parse(json.dumps({"tools": listed, "state": list(state)}))))


def happened(script: str) -> list[Event]:
    """Events: `tool` a call of x, `tool=r` one with that result, `tool!` one that fails, `tool~` one without a result,
    `?v` a lookup of x with that answer, `?` one with a problem, `:tool` a late result."""
    rows: list[dict] = []
    step, called = 0, set()
    for said in script.split():
        if said.startswith("?"):
            told = {"value": said[1:]} if said[1:] else {"problem": "down"}
            rows.append({"lookup": {"tool": "get", "arguments": {"id": "x"}, **told}})
        elif said.startswith(":"):
            rows.append({"result": None, "call_id": said[1:]})
        elif said == "turn":
            rows.append({"turn": {"task": "do"}})
        else:
            name, _, result = said.rstrip("!~").partition("=")
            step += 1
            known = {"put": {"id": "x", "level": "a"}, "make": {"level": "a"}, "spoil": {}}.get(name, {"id": "x"})
            call_id = f"{name}{step}" * (name in called) or name
            called.add(name)
            rows.append({"call": {"tool": name, "arguments": known}, "call_id": call_id, "step": step})
            if not said.endswith("~"):
                rows.append(
                    {"result": result or None, "call_id": call_id} | ({"error": True} if said[-1] == "!" else {})
                )
    text = "\n".join(json.dumps({"run": "a", **row}) for row in rows)
    return [event for run in events.loads(text) for event in run.events]


def both(made: Spy, script: str, name: str) -> tuple[object, str]:
    """What a field is at the last call, and why not: as `wb judge` has it, and as a session that replays it."""
    told = happened(script)
    judge, one = Spy(validator=made.validator), Session(Spy(validator=made.validator), run="a")
    found: dict = {}
    fill = Lookups.fill

    def kept(self, *args):
        found["last"] = fill(self, *args)
        return found["last"]

    Lookups.fill = kept
    try:
        list(recorded.judge(judge, told))
        judged = found["last"]
        one.replay(told)
        replayed = found["last"]
    finally:
        Lookups.fill = fill
    assert (judged.values, judged.strange) == (replayed.values, replayed.strange)
    return judged.values.get(name), judged.strange.get(name, "")


NEWEST = {  # A3 W1
    "a lookup after a result": ("get=old ?new pay~", "new", ""),
    "a lookup after a lookup": ("?old pay ?new pay~", "new", ""),
    "a lookup after one for a call that failed": ("?old pay! ?new pay~", "new", ""),
    "a result after a lookup": ("?old pay get=new pay~", "new", ""),
    "a result alone": ("get=old pay~", "old", ""),
    "a problem after a result": ("get=old ? pay~", None, "was asked: down"),
    "a problem after a lookup": ("?old pay ? pay~", None, "was asked: down"),
    "a problem is of its call alone": ("get=old ? pay pay~", "old", ""),
    "the same twice": ("?one ?one pay~", "one", ""),
    "two answers": ("?no ?one pay~", None, "recorded twice, with different answers"),
    "a problem and an answer": ("? ?one pay~", None, "recorded twice, with different answers"),
    "an answer and a problem": ("?one ? pay~", None, "recorded twice, with different answers"),
    "two answers, and what was seen before": ("get=old ?no ?one pay pay~", None, "may have changed since"),
    "two answers, and a newer one": ("?no ?one pay ?new pay~", "new", ""),
}


@pytest.mark.parametrize(("script", "value", "why"), NEWEST.values(), ids=NEWEST)
@pytest.mark.parametrize("name", ["slow", "fast"])
def test_the_newest_lookup_that_is_recorded_counts(script: str, value: str | None, why: str, name: str) -> None:
    found, said = both(spy(*SEEN), script, name)
    assert found == value and why in said and bool(said) is (value is None)


CROSSED = {  # B3 W10: the lookup was recorded while something ran that may change it
    "before the change": ("?one touch pay~", None, "may have changed since"),
    "after it": ("touch ?one pay~", "one", ""),
    "between it and its result": ("touch~ ?one :touch pay~", None, "recorded before the result of touch"),
    "between it and its late result": ("touch~ spoil ?one :touch pay~", None, "recorded before the result of touch"),
    "between another call and its result": ("spoil~ ?one :spoil pay~", "one", ""),
}


@pytest.mark.parametrize(("script", "value", "why"), CROSSED.values(), ids=CROSSED)
def test_a_lookup_that_is_recorded_while_a_change_runs_is_none(script: str, value: str | None, why: str) -> None:
    found, said = both(spy(*SEEN), script, "fast")
    assert found == value and why in said and bool(said) is (value is None)


def test_a_field_that_was_seen_before_is_read_again_when_its_question_is_asked_for_another() -> None:
    answers = iter(["1", "2", "3"])
    one = Session(spy(*SEEN), ask=lambda *_: next(answers))
    one.call("pay", {"id": "x"})
    assert one.judge.asked[-1].state == {"slow": "1", "fast": "1"}
    one.call("touch", {"id": "x"}), one.result(None)
    one.call("pay", {"id": "x"})
    assert one.judge.asked[-1].state == {"slow": "2", "fast": "2"}, "slow was not changed, but something newer was seen"


def test_what_is_told_by_another_field_follows_what_is_read_again() -> None:
    far = {"name": "far", "type": "string", "from": GET | {"arguments": {"id": "state.slow"}, "changed_by": []}}
    held, asked = {"x": "a", "a": "1", "b": "2"}, []
    one = Session(spy(SEEN[0], far, SEEN[1]), ask=lambda _, known: asked.append(known["id"]) or held[known["id"]])
    one.call("pay", {"id": "x"}), one.call("touch", {"id": "x"}), one.result(None)
    assert one.judge.asked[-2].state == {"slow": "a", "far": "1", "fast": "a"}
    held["x"] = "b"
    one.call("pay", {"id": "x"})
    assert one.judge.asked[-1].state == {"slow": "b", "far": "2", "fast": "b"} and asked == ["x", "a", "x", "b"]


ACT = st.tuples(st.sampled_from(["get", "touch", "put", "spoil", "pay"]), st.sampled_from("xy"), st.booleans())
MANY = [
    *SEEN,
    {"name": "far", "type": "string", "from": GET | {"arguments": {"id": "state.slow"}}},
    {"name": "near", "type": "string", "from": GET | {"arguments": {"id": "state.fast"}, "changed_by": ["spoil"]}},
    {"name": "newest", "type": "string", "from": {"result": "get", "changed_by": ["put"]}},
]


@settings(max_examples=150)
@given(st.lists(ACT, max_size=14), st.lists(st.sampled_from(["x", "y", "z", None]), min_size=60, max_size=60))
def test_live_replayed_and_judged_all_read_the_same(script: list, told: list) -> None:
    """Five fields that share one lookup, go stale apart, and are told by one another; some answers fail."""
    answers, record = iter(told * 20), io.StringIO()

    def ask(*_: object) -> str:
        answer = next(answers)
        if answer is None:
            raise OSError("down")
        return answer

    live = Session(spy(*MANY), run="a", record=record, ask=ask, ask_all=True)
    for name, of, fails in script:
        known = {"put": {"id": of, "level": "a"}, "spoil": {}}.get(name, {"id": of})
        live.call(name, known), live.result(of, error=fails)
    told_of = [event for run in events.loads(record.getvalue()) for event in run.events]
    again, other = Session(spy(*MANY), run="a"), spy(*MANY)
    again.replay(told_of), list(recorded.judge(other, told_of))
    assert again.judge.asked == live.judge.asked == other.asked


TURNS = {  # B3 W9: what the turn is recognised as, and what is left of what was seen before it
    "surely a change": ([["touch"]], {"slow": "old"}),
    "surely no change": ([["pay"]], {"slow": "old", "fast": "old"}),
    "one of two": ([["get"], ["pay"]], {"slow": "old"}),
    "nothing": ([], {"slow": "old"}),
}


@pytest.mark.parametrize(("readings", "left"), TURNS.values(), ids=TURNS)
def test_a_turn_in_free_text_may_change_what_any_tool_may(readings: list, left: dict) -> None:
    judge = spy(*SEEN)
    steps = tuple(Step(tuple(Call(name, None) for name in names), {"fast": "told"}) for names in readings)
    list(recorded.judge(judge, happened("get=old turn pay~"), lambda turns: [Recognition(steps, "") for _ in turns]))
    assert judge.asked[-1].state == left
    assert all(step.state.get("fast") != "told" for step in judge.asked), "it comes from elsewhere"


def test_a_turn_that_is_denied_for_sure_changes_nothing() -> None:
    judge = spy(*SEEN)
    judge.deny = "touch"
    one = Recognition((Step((Call("touch", None),)),), "")
    list(recorded.judge(judge, happened("get=old turn pay~"), lambda turns: [one]))
    assert judge.asked[-1].state == {"slow": "old", "fast": "old"}


@pytest.mark.parametrize(
    ("script", "level"),
    [("put pay~", "a"), ("put turn pay~", None), ("turn pay~", None), ("turn put pay~", "a"), ("?one turn pay~", None)],
)
def test_a_turn_in_free_text_may_be_a_deed_and_use_up_what_was_said(script: str, level: str | None) -> None:
    yes = {"name": "yes", "type": "string", "from": {"said": "user", "used_by": ["touch"]}}
    judge = spy(*SEEN, {"name": "level", "type": "string", "from": LEVEL}, yes)
    told = [Event("a", events.Say("user", "Yes.")), *happened(script)]
    list(recorded.judge(judge, told, lambda turns: [Recognition((), "") for _ in turns]))
    state = judge.asked[-1].state
    assert state.get("level") == level and ("yes" in state) is ("turn" not in script) and "fast" not in state


def test_a_lookup_with_arguments_that_no_field_asks_with_tells_nothing() -> None:
    judge = spy(*SEEN, {"name": "newest", "type": "string", "from": {"result": "get", "changed_by": []}})
    told = happened("get=old pay~")
    told.insert(2, Event("a", events.Lookup("get", {"ID": "x"}, "new")))
    list(recorded.judge(judge, told))
    assert judge.asked[-1].state == dict.fromkeys(("slow", "fast", "newest"), "old")
    told[2] = Event("a", events.Lookup("get", {"id": "x"}, "new"))
    list(recorded.judge(judge, told))
    assert judge.asked[-1].state == dict.fromkeys(("slow", "fast", "newest"), "new")
