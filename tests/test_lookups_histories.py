"""Fields with a source over random and hand-made histories: of what overlaps, only what is sure whatever the order."""

from __future__ import annotations

import json
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_lookups import Spy

from wb.domain import lookups, tools
from wb.domain.session import Session, SessionError
from wb.domain.validation import Known, Validator


def tool(name: str, mutating: bool, **arguments: str) -> dict:
    known = {argument: {"type": kind} for argument, kind in arguments.items()}
    return {
        "name": name,
        "mutating": mutating,
        "parameters": {"type": "object", "properties": known, "required": list(known)},
    }


TOOLS = [
    tool("get", False, id="string"),
    tool("put", True, id="string", level="string"),
    tool("make", True, level="string"),
    tool("spoil", True),
    tool("pay", True, id="string"),
    tool("touch", True, id="string"),
]
LEVEL = {"done": "put", "arguments": {"id": "call.id"}, "path": "level"}
MADE = {"result": "make", "changed_by": ["spoil"]}
BESIDE = {"lookup": "get", "arguments": {"id": "call.id"}, "changed_by": ["make", "put", "touch"]}
OWN = {"result": "make"}


def spy(**sources: dict) -> Spy:
    state = [{"name": name, "type": "string", "from": source} for name, source in sources.items()]
    state = [{"name": "usual", "type": "string"}, *state]
    return Spy(validator=Validator(tools.parse(json.dumps({"tools": TOOLS, "state": state}))))


def told(script: str, one: Session) -> None:
    """Calls by their names, `put:a` with that level in step 1, and their results: `a` done, `-a` failed, `|` a step."""
    step = 1
    for said in script.split():
        if said == "|":
            step += 1
        elif said[0] == "-":
            one.result(None, said[1:], error=True)
        elif ":" in said:
            name, _, level = said.partition(":")
            known = {"put": {"id": "x", "level": level}, "make": {"level": level}}.get(name, {})
            one.call(name, known, step=step, call_id=level)
        else:
            one.result(said, said)


def read(one: Session, name: str) -> tuple[object, str]:
    """What the field is at a call of its own step, or why it is unknown."""
    one.call("pay", {"id": "x"}, step=1000)
    return field_of(one, name)


def field_of(one: Session, name: str) -> tuple[object, str]:
    """What a field is now for the last call, or why it is unknown."""
    told = Known(dict(one._state), dict(one._strange))
    filled = one._lookups.fill(told, one.judge.asked[-1].calls[-1], [name], None)
    return filled.values.get(name), filled.strange.get(name, "")


DONE = {  # what is told, what is known then, and why not
    "one": ("put:a a", "a", ""),
    "one after the other": ("put:a a put:b b", "b", ""),
    "one after the other, in two steps": ("put:a a | put:b b", "b", ""),
    "the first fails": ("put:a -a put:b b", "b", ""),
    "the second fails": ("put:a a put:b -b", "a", ""),
    "the second fails, asked for together": ("put:a put:b -b a", "a", ""),
    "results in the other order": ("put:a put:b b a", None, "which of put (call b, call a) was done later"),
    "results in their order, which tells nothing of the deeds": ("put:a put:b a b", None, "was done later"),
    "one of two without a result": ("put:a put:b b |", None, "put, which may change it, has no result yet"),
    "both without a result": ("put:a put:b |", None, "put, which may change it, has no result yet"),
    "one whose step is over without a result": ("put:a |", None, "put, which may change it, has no result yet"),
    "its result came late": ("put:a | a", "a", ""),
    "its error came late": ("put:a | -a", None, "no call of put was done"),
    "an error came late, and leaves the one before": ("put:a a | put:b | -b", "a", ""),
    "a newer one is done, and an older one may still come": ("put:a | put:b b", None, "has no result yet"),
    "a late result is told of a deed that may be the newest": ("put:a | put:b b a", None, "was done later"),
    "a third one ends the doubt": ("put:a put:b b a put:c c", "c", ""),
}


@pytest.mark.parametrize(("script", "value", "why"), DONE.values(), ids=DONE)
def test_of_calls_that_were_done_the_newest_counts_or_none(script: str, value: str | None, why: str) -> None:
    one = Session(spy(level=LEVEL))
    told(script, one)
    found, said = read(one, "level")
    assert found == value and why in said and bool(said) is (value is None)


@pytest.mark.parametrize(("script", "value", "why"), DONE.values(), ids=DONE)
def test_a_literal_counts_where_no_call_was_done_and_nowhere_else(script: str, value: str | None, why: str) -> None:
    one = Session(spy(level=LEVEL | {"otherwise": "'none'"}))
    assert read(one, "level") == ("none", "")
    told(script, one)
    assert read(one, "level")[0] == ("none" if why == "no call of put was done" else value)


def test_calls_that_were_done_together_and_tell_the_same_tell_it() -> None:
    one = Session(spy(level=LEVEL))
    one.call("put", {"id": "x", "level": "low"}, 1, call_id="a"), one.call("put", {"id": "x", "level": "low"}, 1)
    one.result(None), one.result(None, "a")
    assert read(one, "level")[0] == "low"


def test_what_counts_without_a_call_is_not_known_while_one_is_awaited() -> None:
    one = Session(spy(level=LEVEL | {"otherwise": "state.usual"}))
    one.state({"usual": "low"})
    assert read(one, "level")[0] == "low"
    told("put:b |", one)
    assert "put, which may change it, has no result yet" in read(one, "level")[1]
    one.result(None, "b", error=True)
    assert read(one, "level")[0] == "low"


def test_a_call_without_an_id_that_fails_when_its_step_is_over_leaves_nothing_known() -> None:
    one = Session(spy(level=LEVEL))
    one.call("put", {"id": "x", "level": "a"}), one.result(None)
    one.call("put", {"id": "x", "level": "b"}), one.say("assistant", "."), one.say("assistant", ".")
    assert one._lookups._running == {}
    one.result(None, error=True)
    assert "failed after its step was over" in read(one, "level")[1]
    one._spoilt = ""
    one.call("put", {"id": "x", "level": "c"}), one.result(None)
    assert read(one, "level")[0] == "c"


RESULT = {  # B3: a result of what changes another field as well is as old as its question
    "alone": ("make:ok ok", "ok"),
    "changed while it ran": ("make:ok spoil:s s ok", None),
    "changed before": ("spoil:s s make:ok ok", "ok"),
    "changed since": ("make:ok ok spoil:s s", None),
    "changed while it ran, in another step": ("make:ok | spoil:s s ok", None),
    "the newer one counts": ("make:a a make:b b", "b"),
}


@pytest.mark.parametrize(("script", "value"), RESULT.values(), ids=RESULT)
@pytest.mark.parametrize("beside", [{}, {"seen": BESIDE}], ids=["alone", "beside a field that it changes"])
def test_a_result_counts_from_when_it_was_asked_for(script: str, value: str | None, beside: dict) -> None:
    one = Session(spy(made=MADE, **beside))
    told(script, one)
    assert read(one, "made")[0] == value


@pytest.mark.parametrize("beside", [{}, {"seen": BESIDE}], ids=["alone", "beside a field that it changes"])
def test_a_result_of_what_changes_the_field_itself_is_the_newest_word(beside: dict) -> None:
    one = Session(spy(own=OWN, **beside))
    told("make:a a", one)
    assert field_of(one, "own")[0] == "a"
    told("spoil:s make:b s b", one)
    assert read(one, "own")[0] is None


# ---- the world, of a few calls, in every order -------------------------------------------------------


def acts(calls: list[str], ids: str) -> st.SearchStrategy[list]:
    """Calls of some of the tools, most of them of the step before and with an id, and what comes of them."""
    call = st.tuples(
        st.just("call"),
        st.sampled_from(calls),
        st.sampled_from(ids),
        st.sampled_from("ab"),
        st.sampled_from([False, False, True]),
        st.sampled_from([True, True, True, False]),
    )
    return st.lists(
        st.one_of(call, st.tuples(st.sampled_from(["run", "answer", "answer", "fail"]), st.integers(0, 3))), max_size=20
    )


FEW = st.one_of(acts(["put", "put", "pay"], "x"), acts(["make", "make", "spoil", "pay"], "x"))


@settings(max_examples=500)
@given(st.one_of(FEW, acts(["get", "put", "make", "spoil", "touch", "pay"], "xy")))
def test_what_is_filled_is_what_the_world_holds_of_deeds_and_results(script: list) -> None:
    """The oracle is a world of its own, in which a call runs at some moment between its question and its result, at
    the latest when its step is over; one that fails does nothing, whenever that is told.

    Whatever is filled is what the world holds then, or it is unknown.
    """
    one, step = Session(spy(level=LEVEL, made=MADE, own=OWN, seen=BESIDE)), 0
    held: dict = {"put": {}, "get": {"x": "0", "y": "0"}, "own": None}
    newest, spoilt, ticks = {"number": -1, "gave": None, "ran": -1}, -1, iter(range(1000))
    calls: list[dict] = []
    fails: set[str] = set()
    for kind, *what in script:  # what will fail is known to the world beforehand
        if kind == "fail":
            fails.add(str(what[0]))

    def run(made: dict) -> None:
        if "gave" in made:
            return
        nonlocal spoilt
        made["gave"], made["ran"], name, level = None, next(ticks), made["id"], made["level"]
        if made["tool"] == "get":
            made["gave"] = held["get"][name]
        elif not made["fails"]:
            if made["tool"] == "put":
                held["put"][name] = level
            if made["tool"] in ("put", "touch", "make"):
                held["get"] = dict.fromkeys("xy", f"{len(one.judge.asked)}") | (
                    {} if made["tool"] == "make" else {other: held["get"][other] for other in "xy" if other != name}
                )
            if made["tool"] == "make":
                made["gave"] = held["own"] = f"{level}{made['call_id']}"
            elif made["tool"] == "spoil":
                spoilt = made["ran"]
            if made["tool"] in ("put", "touch", "spoil", "pay"):
                held["own"] = "spoilt"

    for kind, *what in script:
        if kind == "call":
            name, of, level, begins, named = what
            if begins:
                step += 1
                [run(made) for made in calls]
                calls = [made for made in calls if made["call_id"] is not None]
            call_id = f"c{len(one.judge.asked)}" if named else None
            known = {"put": {"id": of, "level": level}, "make": {"level": level}, "spoil": {}}.get(name, {"id": of})
            if not one.call(name, known, step=step, call_id=call_id).decision == "allow":
                continue
            found = one.judge.asked[-1].state
            assert found.get("level", held["put"].get(of)) == held["put"].get(of)
            assert found.get("seen", held["get"].get(of)) == held["get"].get(of)
            truth = newest["gave"] if newest["ran"] > spoilt else "spoilt"
            assert found.get("made", truth) == truth, "the result of the newest call that has one"
            assert found.get("own", held["own"]) == held["own"]
            fails_too = str(len(calls)) in fails and named and name != "get"
            made = {"tool": name, "id": of, "level": level, "call_id": call_id, "fails": fails_too}
            calls.append(made | {"number": len(one.judge.asked)})
        elif calls:
            made = calls[what[0] % len(calls)]
            if made["call_id"] is None:
                continue
            run(made)
            if kind != "run":
                one.result(made["gave"], made["call_id"], error=made["fails"])
                calls.remove(made)
                if made["tool"] == "make" and not made["fails"] and made["number"] > newest["number"]:
                    newest = made


def test_of_deeds_that_overlap_only_what_every_order_tells_is_known() -> None:
    """Three deeds, in every order of their questions and results: what is told is what each possible order of the
    deeds themselves gives."""
    events = [(when, name) for when in ("asked", "over") for name in "abc"]
    for order in permutations(events):
        if any(order.index(("asked", name)) > order.index(("over", name)) for name in "abc"):
            continue
        level = dict(zip("abc", "112", strict=True))
        last = {
            names[-1]
            for names in permutations("abc")
            if all(
                order.index(("asked", one)) < order.index(("over", other))
                for at, one in enumerate(names)
                for other in names[at + 1 :]
            )
        }
        one = Session(spy(level=LEVEL))
        for when, name in order:
            if when == "asked":
                one.call("put", {"id": "x", "level": level[name]}, step=1, call_id=name)
            else:
                one.result(None, name)
        possible = {level[name] for name in last}
        assert read(one, "level")[0] == (possible.pop() if len(possible) == 1 else None), order


# ---- more than is kept --------------------------------------------------------------------------------


@pytest.mark.parametrize("named", [False, True])
def test_a_change_that_is_under_way_is_not_forgotten_for_other_calls(named: bool) -> None:
    """B3: after more calls than are waited for, none of which can change it."""
    one = Session(spy(seen=BESIDE))
    one.call("touch", {"id": "x"}, call_id="S")
    for number in range(lookups.KEPT + 80):
        one.call("get", {"id": "y"}, call_id=f"c{number}" if named else None)
        one.judge.asked.clear()
    one.call("get", {"id": "x"}), one.result("ok")
    assert "touch, which may change it, has no result yet" in read(one, "seen")[1]
    try:
        one.result(None, "S")
    except SessionError:  # of so many calls it is not known any more
        assert named
    assert "may have changed" in read(one, "seen")[1]


def test_a_result_that_a_session_does_not_wait_for_any_more_makes_stale_all_the_same() -> None:
    one = Session(spy(seen=BESIDE))
    one.call("touch", {"id": "x"}, call_id="S")
    for number in range(lookups.KEPT + 80):
        one.call("pay", {"id": "y"}, call_id=f"c{number}")
        one.judge.asked.clear()
    one.call("get", {"id": "x"}), one.result("ok")
    assert "touch, which may change it, has no result yet" in read(one, "seen")[1], "pay changes nothing of it"
    with pytest.raises(SessionError, match="got one of S"):
        one.result(None, "S")
    assert "may have changed" in read(one, "seen")[1]


def test_of_more_changes_under_way_than_are_kept_nothing_is_known_for_good() -> None:
    one = Session(spy(seen=BESIDE, level=LEVEL, made=MADE))
    for number in range(lookups.KEPT):
        one.call("put", {"id": "z", "level": "a"}, call_id=f"c{number}")
        one.judge.asked.clear()
    assert "put, which may change it, has no result yet" in read(one, "seen")[1], "as many are waited for"
    one.call("touch", {"id": "z"}, call_id="d"), one.call("get", {"id": "x"}), one.result("ok")
    for name in ("seen", "level"):
        assert f"more than {lookups.KEPT} calls have no result yet, put among them" in read(one, name)[1]
    one.call("make", {"level": "a"}), one.result("a")
    assert read(one, "made")[0] == "a", "none of these may change it"
