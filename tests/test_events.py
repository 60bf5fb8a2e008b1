"""Recorded runs as JSON lines: what is read, what is written, and what is refused with its line."""

from __future__ import annotations

import dataclasses
import io
import json
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wb.domain.events import Asked, Event, EventError, Observation, Result, Run, Say, State, dump, loads, read
from wb.domain.trace import Call

SAMPLE = """\
{"run": "a", "say": {"role": "user", "text": "Pay 5 € to Ann."}, "step": 0, "time": "2024-05-15T15:00:00Z"}
{"run": "b", "turn": {"task": "book", "previous_actions": ["click"], "state": {"age": 17}}}

{"run": "a", "state": {"balance": 7, "roles": ["owner", null]}, "step": 1}
{"run": "a", "call": {"tool": "pay", "arguments": {"to": "Ann", "n": 5.0}}, "label": "allow", "call_id": "p", "step": 1}
{"run": "a", "call": {"tool": "look", "arguments": {}}, "step": 1}
{"run": "a", "result": null}
{"run": "a", "result": [true, 1, "x"], "call_id": "p", "error": true}
"""
A = (
    Event("a", Say("user", "Pay 5 € to Ann."), 0, "2024-05-15T15:00:00Z"),
    Event("a", State({"balance": 7, "roles": ("owner", None)}), 1),
    Event("a", Asked(Call("pay", {"to": "Ann", "n": 5.0}), "allow", "p"), 1),
    Event("a", Asked(Call("look", {})), 1),
    Event("a", Result(None)),
    Event("a", Result((True, 1, "x"), failed=True, call_id="p")),
)
B = (Event("b", Observation("book", previous_actions=("click",), state={"age": 17})),)


def call(run: str = "a", **beside: object) -> str:
    return json.dumps({"run": run, "call": {"tool": "pay", "arguments": {}}} | beside)


def written(events: list[Event]) -> str:
    file = io.StringIO()
    dump(events, file)
    return file.getvalue()


def test_runs_are_told_apart_and_come_in_the_order_of_their_first_event() -> None:
    assert loads(SAMPLE) == (Run("a", A), Run("b", B))


def test_a_file_is_read_like_a_text(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    for data in (
        SAMPLE.encode(),
        SAMPLE.replace("\n", "\r\n").encode(),
        SAMPLE.encode("utf-8-sig"),
        SAMPLE.strip().encode(),
    ):
        path.write_bytes(data)
        assert read(path) == loads(SAMPLE)
    path.write_bytes(b"\n \n")
    assert read(path) == loads("") == ()


def test_a_line_is_an_object_and_nothing_that_dump_adds() -> None:
    event = Event("a", Asked(Call("pay", {"to": ("Ann",)}), "deny", "p"), 3)
    said = {
        "run": "a",
        "call": {"tool": "pay", "arguments": {"to": ["Ann"]}},
        "label": "deny",
        "call_id": "p",
        "step": 3,
    }
    assert json.loads(written([event])) == said
    assert json.loads(written([Event("a", Result(None))])) == {"run": "a", "result": None}


def test_a_turn_has_the_fields_of_an_observation() -> None:
    turn = json.loads(written([Event("a", Observation("book"))]))["turn"]
    assert list(turn) == [field.name for field in dataclasses.fields(Observation)]


def test_a_line_separator_inside_a_text_ends_no_line(tmp_path: Path) -> None:
    event = Event("a", Say("user", "one\u2028two\x85three\x0bfour\r\nfive\rsix"))
    assert loads(written([event])) == (Run("a", (event,)),)
    (tmp_path / "runs.jsonl").write_text(written([event]), "utf-8")
    assert read(tmp_path / "runs.jsonl") == (Run("a", (event,)),)


REJECTS = {
    "no JSON": ("{", "JSON was required"),
    "two objects": ('{"run": "a", "result": 1} {}', "JSON was required"),
    "a list": ('["a"]', 'a JSON object was required; got ["a"]'),
    "no run": ('{"say": {"role": "user", "text": "x"}}', "run was required"),
    "run is empty": (call(""), "run: a text that is not empty was required"),
    "run is a number": ('{"run": 1, "state": {}}', "run: a valid string was required; got 1"),
    "nothing happened": (
        '{"run": "a", "step": 1}',
        "exactly one of say, state, call, result, lookup, answer, lost, turn was required; got none",
    ),
    "lost without a reason": ('{"run": "a", "lost": ""}', "lost: a reason was required"),
    "two things": ('{"run": "a", "state": {}, "result": 1}', "exactly one of"),
    "unknown key": (call(lable="deny"), "only keys of the format were required; got lable"),
    "unknown key in say": ('{"run": "a", "say": {"role": "u", "text": "x", "x": 1}}', "got say.x"),
    "unknown key in call": ('{"run": "a", "call": {"tool": "t", "args": {}}}', "call.arguments was required"),
    "unknown key in turn": ('{"run": "a", "turn": {"task": "t", "label": 1}}', "got turn.label"),
    "say is a text": ('{"run": "a", "say": "x"}', 'say: a valid object was required; got "x"'),
    "text is a number": (
        '{"run": "a", "say": {"role": "u", "text": 1}}',
        "say.text: a valid string was required; got 1",
    ),
    "no role": ('{"run": "a", "say": {"text": "x"}}', "say.role was required"),
    "state is a list": ('{"run": "a", "state": []}', "state: a valid object was required; got []"),
    "state is null": ('{"run": "a", "state": null}', "state: a valid object was required; got null"),
    "arguments are a list": ('{"run": "a", "call": {"tool": "t", "arguments": []}}', "call.arguments: a valid object"),
    "no arguments": ('{"run": "a", "call": {"tool": "t"}}', "call.arguments was required"),
    "tool is null": ('{"run": "a", "call": {"tool": null, "arguments": {}}}', "call.tool: a valid string"),
    "no task": ('{"run": "a", "turn": {"website": "x"}}', "turn.task was required"),
    "an action is a number": (
        '{"run": "a", "turn": {"task": "t", "previous_actions": [1]}}',
        "turn.previous_actions.0",
    ),
    "label is another": (call(label="block"), "label: 'allow' or 'deny' was required; got \"block\""),
    "label is true": (call(label=True), "label: 'allow' or 'deny' was required; got true"),
    "label is null": (call(label=None), "label: 'allow' or 'deny' was required; got null"),
    "label beside a text": (
        '{"run": "a", "say": {"role": "u", "text": "x"}, "label": "deny"}',
        "label: call beside it",
    ),
    "error beside a call": (call(error=True), "error: result beside it was required; got call"),
    "call_id beside a state": ('{"run": "a", "state": {}, "call_id": "p"}', "call_id: call or result beside it"),
    "error is a text": (call() + '\n{"run": "a", "result": 1, "error": "no"}', "line 2: error: a valid boolean"),
    "step is a text": (call(step="1"), "step: a valid integer was required"),
    "step is a fraction": (call(step=1.0), "step: a valid integer was required; got 1.0"),
    "step is true": (call(step=True), "step: a valid integer was required; got true"),
    "step is below 0": (call(step=-1), "step: a number from 0 was required; got -1"),
    "call_id is a number": (call(call_id=1), "call_id: a valid string was required; got 1"),
    "time is a number": (call(time=0), "time: a valid string was required; got 0"),
    "time is no time": (call(time="yesterday"), "time: ISO 8601 such as 2024-05-15T15:00:00Z was required"),
    "time is no day": (call(time="2024-02-30"), "time: ISO 8601"),
    "time is no hour": (call(time="2024-05-15T25:00Z"), "time: ISO 8601"),
    "time with another letter": (call(time="2024-05-15x10:00"), "time: ISO 8601"),
    "time is a week": (call(time="2024-W20-3"), "time: ISO 8601"),
    "a key twice": ('{"run": "a", "run": "b", "state": {}}', 'each key once was required; got "run" twice'),
    "a key twice inside": (
        '{"run": "a", "state": {"x": [{"y": 1, "y": 1}]}}',
        'each key once was required; got "y" twice',
    ),
    "NaN": ('{"run": "a", "state": {"x": NaN}}', "a finite number was required; got NaN"),
    "-Infinity": ('{"run": "a", "state": {"x": [-Infinity]}}', "a finite number was required; got -Infinity"),
    "a number beyond floats": ('{"run": "a", "state": {"x": 1e999}}', "a finite number was required"),
    "a number of 5000 digits": ('{"run": "a", "state": {"x": ' + "1" * 5000 + "}}", "1000 digits"),
    "half a character": ('{"run": "a", "state": {"x": "\\ud800"}}', "whole Unicode characters were required"),
    "half a character in a key": ('{"run": "a", "state": {"\\udc00": 1}}', "whole Unicode characters were required"),
    "101 levels": ('{"run": "a", "result": ' + "[" * 100 + "]" * 100 + "}", "at most 100 levels was required"),
    "100,000 levels": ('{"run": "a", "result": ' + "[" * 100_000 + "]" * 100_000 + "}", "at most 100 levels"),
    "a result without a call": (
        '{"run": "a", "result": 1}',
        "result: a call before it in its run was required; got none",
    ),
    "a result of another run's call": (call("b") + '\n{"run": "a", "result": 1}', "line 2: result: a call before it"),
    "a result of no call": (
        call(call_id="p") + '\n{"run": "a", "result": 1, "call_id": "q"}',
        "line 2: call_id: that of a call",
    ),
    "a call_id of another run": (
        f'{call("b", call_id="p")}\n{call()}\n{{"run": "a", "result": 1, "call_id": "p"}}',
        "line 3: call_id: that of a call before it was required",
    ),
    "a result before its call": (
        '{"run": "a", "result": 1, "call_id": "p"}\n' + call(call_id="p"),
        "line 1: result: a call",
    ),
    "two calls of one name": (
        call(call_id="p") + "\n" + call(call_id="p"),
        'line 2: call_id: one of its own was required; got "p"',
    ),
    "two results of one call": (call() + '\n{"run": "a", "result": 1}' * 2, "line 3: result: one a call was required"),
}


@pytest.mark.parametrize(("text", "message"), REJECTS.values(), ids=REJECTS)
def test_what_is_not_of_the_format_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(EventError) as caught:
        loads(text, source="file.jsonl")
    assert str(caught.value).startswith("file.jsonl, line ") and message in str(caught.value)
    assert len(str(caught.value)) < 400 and str(caught.value).isascii()


@pytest.mark.parametrize(
    ("line", "run"),
    [
        ('{"run": "b", "say": {"role": "u"}}', ' (run "b")'),
        ('{"run": "é", "result": 1}', ' (run "\\u00e9")'),
        ('{"run": "b", "call": {"tool": "t", "arguments": {}}, "time": "noon"}', ' (run "b")'),
        ('{"run": 3, "state": {}}', " (run 3)"),
        ('{"run": "' + "b" * 500 + '"}', "bbb…)"),
        ('{"say": {"role": "u", "text": "b"}}', ""),
        ('["run"]', ""),
        ('{"run": "b", "state": {}', ""),
    ],
)
def test_what_is_refused_is_of_a_run_where_its_line_tells_one(line: str, run: str) -> None:
    with pytest.raises(EventError) as caught:
        loads(call("a") + "\n" + line, source="file.jsonl")
    assert str(caught.value).startswith("file.jsonl, line 2: ") and str(caught.value).endswith(run)
    assert ("(run" in str(caught.value)) is bool(run)


def test_each_event_knows_its_line() -> None:
    found = [event.line for run in loads(call("a") + "\n\n" + call("b") + "\n" + call("a")) for event in run.events]
    assert found == [1, 4, 3]


def test_the_line_number_counts_empty_lines() -> None:
    with pytest.raises(EventError, match="^runs, line 9: "):
        loads(SAMPLE + '{"run": "a"}')


ACCEPTS = {  # neighbours of what is refused
    "100 levels": '{"run": "a", "call": {"tool": "t", "arguments": {"x": ' + "[" * 97 + "]" * 97 + "}}}",
    "a pair of halves": '{"run": "a", "say": {"role": "u", "text": "\\ud83d\\ude00"}}',
    "a key once in each object": '{"run": "a", "state": {"x": {"x": 1}}}',
    "NaN as a text": '{"run": "a", "state": {"x": "NaN"}}',
    "a day": call(time="2024-05-15"),
    "a time with its zone": call(time="2024-05-15T15:00:00.123456789-05:00"),
    "a null result": call() + '\n{"run": "a", "result": null}',
    "no error": call() + '\n{"run": "a", "result": 1, "error": false}',
    "a carriage return between tokens": '{"run": "a",\r"state": {}}',
    "one name in two runs": call("a", call_id="p") + "\n" + call("b", call_id="p"),
    "results in another order": f"{call(call_id='p')}\n{call()}\n"
    '{"run": "a", "result": 1, "call_id": "p"}\n{"run": "a", "result": 2}',
}


@pytest.mark.parametrize("text", ACCEPTS.values(), ids=ACCEPTS)
def test_what_is_of_the_format_is_read(text: str) -> None:
    assert sum(len(run.events) for run in loads(text)) == text.count("\n") + 1


def test_a_file_that_is_not_utf8_or_not_there_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_bytes(call().encode() + b'\n{"run": "\xff"}')
    with pytest.raises(EventError, match="runs.jsonl, line 2: UTF-8 text was required; got byte 0xff at column 10"):
        read(path)
    path.write_bytes(call().encode("utf-16"))
    with pytest.raises(EventError, match="line 1: UTF-8 text was required"):
        read(path)
    for absent in (tmp_path / "none.jsonl", tmp_path):
        with pytest.raises(EventError, match="a readable file was required"):
            read(absent)


def test_a_run_that_no_file_could_say_cannot_be_built() -> None:
    with pytest.raises(EventError, match="at least one event"):
        Run("a", ())
    with pytest.raises(EventError, match="events of its own were required; got one of 'b'"):
        Run("a", B)
    with pytest.raises(EventError, match="a call before it"):
        Run("a", (Event("a", Result(1)),))
    with pytest.raises(EventError, match="'allow' or 'deny'"):
        Asked(Call("pay"), "block")
    with pytest.raises(ValueError, match="not JSON compliant"):
        written([Event("a", State({"x": float("nan")}))])


def test_the_text_of_a_file_is_not_held_beside_its_events(tmp_path: Path) -> None:
    path, size = tmp_path / "runs.jsonl", 100_000
    path.write_text("".join(f'{{"run": "a", "say": {{"role": "u", "text": "{"x" * size}"}}}}\n' for _ in range(100)))
    tracemalloc.start()
    runs = read(path)
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(runs[0].events) == 100 and held >= 100 * size
    assert peak < 1.2 * path.stat().st_size


texts = st.text(max_size=5)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(texts, values, max_size=3)
turns = st.builds(Observation, texts, texts, st.lists(texts, max_size=3).map(tuple), texts, texts, objects)
anything = st.builds(Say, texts, texts) | st.builds(State, objects) | turns
steps = st.none() | st.integers(0, 9)
times = st.none() | st.datetimes().map(lambda t: t.isoformat()) | st.dates().map(str)


@st.composite
def recorded(draw: st.DrawFn) -> list[Event]:
    """Events of up to three runs, interleaved; each result answers a call that waits for one."""
    events: list[Event] = []
    waiting: dict[str, list[str]] = {"a": [], "b": [], "ü": []}
    named = 0
    for run, kind in draw(
        st.lists(st.tuples(st.sampled_from(sorted(waiting)), st.sampled_from(["call", "result", "other"])))
    ):
        what = draw(anything)
        if kind == "call":
            named += 1
            label = draw(st.sampled_from(["allow", "deny", None]))
            what = Asked(Call(draw(texts), draw(objects)), label, f"c{named}")
            waiting[run].append(f"c{named}")
        elif kind == "result" and waiting[run]:
            answered = waiting[run].pop(draw(st.integers(0, len(waiting[run]) - 1)))
            what = Result(draw(values), draw(st.booleans()), answered)
        events.append(Event(run, what, draw(steps), draw(times)))
    return events


@given(recorded())
def test_what_is_written_is_read_back_by_run(events: list[Event]) -> None:
    runs = loads(written(events))
    order = list(dict.fromkeys(event.run for event in events))
    assert [run.id for run in runs] == order
    assert repr(runs) == repr(tuple(Run(r, tuple(e for e in events if e.run == r)) for r in order))  # tells 1 from 1.0


@given(recorded())
def test_runs_written_one_after_the_other_are_the_same_runs(events: list[Event]) -> None:
    runs = loads(written(events))
    assert loads(written([event for run in runs for event in run.events])) == runs


def test_a_result_without_an_id_is_of_the_last_call_whether_that_has_one_or_not() -> None:
    lines = [
        json.dumps({"run": "a", "call": {"tool": "t", "arguments": {}}, **with_id})
        for with_id in ({}, {"call_id": "x"})
    ]
    result = json.dumps({"run": "a", "result": 1})
    assert len(loads("\n".join((*lines, result)))[0].events) == 3
    with pytest.raises(EventError, match="one a call was required"):
        loads("\n".join((*lines, result, json.dumps({"run": "a", "result": 1, "call_id": "x"}))))
