"""What a judge is shown of a conversation, step by step as it was, and what a session remembers and puts on record."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from test_lookups_told import VALIDATOR, called

from wb.domain import events, session, tools
from wb.domain.events import Recognition
from wb.domain.session import Session, SessionError
from wb.domain.trace import Call, Step, Verdict
from wb.domain.validation import Validator


def shown(step: Step) -> str:
    """`a+b@1"text"`: its calls, what was known and what was said; behind it, in brackets, its parts."""
    calls = "+".join(call.tool for call in step.calls) or "-"
    known = f"@{step.state['s']}" if "s" in step.state else ""
    said = f'"{step.text}"' if step.text else ""
    parts = f"[{' '.join(map(shown, step.each))}]" if step.each is not None else ""
    return f"{calls}{known}{said}{parts}"


@dataclass
class Spy:
    """Denies `bad` and what begins with it, knows nothing of `hm`, minds all but `look`; keeps what it is shown."""

    name: str = "spy"
    validator: Validator = field(default_factory=Validator)
    asked: list[str] = field(default_factory=list)
    said: str = "so"

    def watch(self) -> Watch:
        return Watch(self, ())

    def evidence(self, tool: str) -> str:
        return f"of {tool}"

    def trusted(self, tool: str) -> tuple[str, ...]:
        return (tool,)

    def reads(self, tool: str, before: object = ()) -> tuple[str, ...]:
        return ()

    def minds(self, tool: str) -> bool:
        return tool != "look"


@dataclass
class Watch:
    spy: Spy
    past: tuple[str, ...]

    def judge(self, step: Step) -> Verdict:
        self.spy.asked.append(" ".join((*self.past, ">", shown(step))))
        tool = step.calls[-1].tool
        if "wish" in tool:  # allowed where something was done
            return Verdict("allow" if any("do" in one for one in self.past) else "deny", self.spy.said)
        return Verdict("deny" if tool[:3] == "bad" else "undecided" if tool == "hm" else "allow", self.spy.said)

    def remember(self, step: Step) -> None:
        self.past = (*self.past, shown(step))

    def fork(self) -> Watch:
        return Watch(self.spy, self.past)


def told(script: str, **options: object) -> tuple[Session, list[str], list[Verdict]]:
    """A session that was told, and what the judge was shown for each call, the worlds of one joined by `;`.

    `a` a call, `a/1` one of step 1, `a#x` one with that id; `=` a result of the last one and `!` its error, `x=` and
    `x!` of that id; `s1` a state, `u.Yes` and `b.Yes` words of user and assistant, `turn.a`, `turn.a|b` a turn.
    """
    spy, verdicts, each = Spy(), [], []
    one = Session(spy, **options)
    for word in script.split():
        spy.asked.clear()
        if word[1:2] == ".":
            one.say({"u": "user", "b": "assistant"}[word[0]], word[2:])
        elif word[0] == "s" and word[1:].isdigit():
            one.state({"s": int(word[1:])})
        elif word.startswith("turn."):
            steps = tuple(Step((Call(name),), one._state) for name in word[5:].split("|"))
            verdicts.append(one.turn(Recognition(steps, "")))
        elif word[-1] in "=!":
            one.result("r", word[:-1] or None, word[-1] == "!")
        else:
            name, _, call_id = word.partition("#")
            name, _, step = name.partition("/")
            verdicts.append(one.call(name, {}, int(step) if step else None, call_id=call_id or None))
        if spy.asked and not word.startswith("turn."):
            each.append(" ; ".join(spy.asked))
    return one, each, verdicts


OVER = "undecided: a: step 1 was over before this call, by what was said or known since; name another one"
SHOWN = [  # what is told, what the judge is shown at the last call, and what is said of it
    ("a", "> a", "allow: so"),
    ("a b", "a > b", "allow: so"),
    ("a bad c", "a - > c", "allow: so"),
    ("a hm c", "a - > c", "allow: so"),
    ("a = b", "a > b", "allow: so"),
    ("a ! b", "- > b", "allow: so"),
    ("bad = b", "bad > b", "allow: so"),
    ("bad ! b", "- > b", "allow: so"),
    ("a/1 b/1", "> a+b", "allow: so"),
    ("a/1 b/1 c/2", "a+b > c", "allow: so"),
    ("a/1 b/1 c", "a+b > c", "allow: so"),
    ("a/1 bad/1 c/1", "> a+c", "allow: so"),
    ("a/1 ! b/1", "> b", "allow: so"),
    ("a/1 b/1 ! c/1", "> a+c", "allow: so"),
    ("a/1 bad/1 = c/1", "> a+bad+c", "allow: so"),
    ("a/1 = b/1 = c/1", "> a+b+c", "allow: so"),
    ("s1 a", "> a@1", "allow: so"),
    ("s1 a s2 b", "a@1 > b@2", "allow: so"),
    ("s1 a/1 s2 b/1", "-@1[] > a+b@2[a@1 b@2]", "allow: so"),
    ("s1 a/1 s2 b/1 c/1", "-@1[] > a+b+c@2[a@1 b@2 c@2]", "allow: so"),
    ("s1 a/1 s2 b/1 c/2", "-@1[] a+b[a@1 b@2] > c@2", "allow: so"),
    ("s1 a/1 s1 b/1", "> a+b@1", "allow: so"),
    ("s1 a/1 s2 s1 b/1", "-@1[] -@2[] > a+b@1[a@1 -@2 b@1]", "allow: so"),
    ("s1 a/1 s2 s3 b/1", "-@1[] -@2[] > a+b@3[a@1 -@2 b@3]", "allow: so"),
    ("s1 a/1 s2 s3 b/1 c/2", "-@1[] -@2[] a+b[a@1 -@2 b@3] > c@3", "allow: so"),
    ("s1 a/1 s2 bad/1 c/1", "-@1[] > a+c@2[a@1 -@2 c@2]", "allow: so"),
    ("s1 a/1 s2 bad/1 c/2", "-@1[] a[a@1 -@2] > c@2", "allow: so"),
    ("s1 bad/1 s2 b/1", "-@1[] > b@2[-@1 b@2]", "allow: so"),
    ("s1 bad/1 s2 b/1 c/2", "-@1[] b[-@1 b@2] > c@2", "allow: so"),
    ("s1 a/1 s2 b/1 ! c/1", "-@1[] > a+c@2[a@1 -@2 c@2]", "allow: so"),
    ("s1 a/1 s2 b/1 ! c/2", "-@1[] a[a@1 -@2] > c@2", "allow: so"),
    ("s1 s2 a", "-@1 > a@2", "allow: so"),
    ("s1 s2 s2 s3 a", "-@1 -@2 > a@3", "allow: so"),
    ("s1 s1 a", "> a@1", "allow: so"),
    ("s1 a s2 s3 b", "a@1 -@2 > b@3", "allow: so"),
    ("s1 b.Hi a", '> a@1"Hi"', "allow: so"),
    ("b.Hi a", '> a"Hi"', "allow: so"),
    ("b.Hi u.Yes a", '-"Hi" > a', "allow: so"),
    ("u.Hi a", "> a", "allow: so"),
    ("b.Hi b.Ho a", '-"Hi" > a"Ho"', "allow: so"),
    ("s1 b.Hi s2 a", '-@1 > a@2"Hi"', "allow: so"),
    ("s1 b.Hi s2 u.Yes a", '-@1 -@1"Hi" > a@2', "allow: so"),
    ("s1 b.Hi u.Yes s2 a", '-@1"Hi" > a@2', "allow: so"),
    ("a/1 b.Hi b/1", "> a+b", "allow: so"),
    ("a/1 b.Hi b/2", 'a > b"Hi"', "allow: so"),
    ("a/1 b.Hi u.Yes b/2", 'a -"Hi" > b', "allow: so"),
    ("a/1 u.Yes b/1", "> a+b", "allow: so"),
    ("b.Hi a/1 b/1", '> a+b"Hi"', "allow: so"),
    ("b.Hi a/1 b/1 c", 'a+b"Hi" > c', "allow: so"),
    ("b.Hi bad/1 b/1 c", 'b"Hi" > c', "allow: so"),
    ("do#x wish", "do > wish ; - > wish", "undecided: so; do (call x) has no result yet; tell it with `result`"),
    ("do#x x= wish", "do > wish", "allow: so"),
    ("do#x x! wish", "- > wish", "deny: so"),
    ("look#x wish", "look > wish", "deny: so"),
    ("do#x a wish", "do a > wish ; - a > wish", "undecided: so; do (call x) has no result yet; tell it with `result`"),
    ("do#x a x= wish", "do a > wish", "allow: so"),
    ("do#x a x! wish", "- a > wish", "deny: so"),
    ("do/1#x wish/1", "> do+wish ; > wish", "deny: so"),
    (
        "do/1#x do/1#y wish/2",
        "do+do > wish ; do > wish ; do > wish ; - > wish",
        "undecided: so; do (call x) has no result yet; tell it with `result`; "
        "do (call y) has no result yet; tell it with `result`",
    ),
    ("do/1#x do/1#y x= wish/2", "do+do > wish ; do > wish", "allow: so"),
    ("do/1#x do/1#y x= y! wish/2", "do > wish", "allow: so"),
    ("do/1#x wish/2 x! wish/2", "- > wish", "deny: so"),
    ("bad#x wish", "- > wish", "deny: so"),
    ("bad#x x= wish", "bad > wish", "deny: so"),
    ("bad#x b x= wish", "- b > wish", "deny: so"),
    ("do b ! wish", "do - > wish", "allow: so"),
    ("do b c ! d", "do b - > d", "allow: so"),
    ("turn.a b", "a > b", "allow: so"),
    ("turn.a|b c", "a > c ; b > c", "allow: so"),
    ("turn.a|a c", "a > c", "allow: so"),
    ("turn.bad b", "> b", "allow: so"),
    ("turn.a|bad c", "> c", "allow: so"),
    ("s1 turn.a b", "a@1 > b@1", "allow: so"),
    ("s1 b.Hi turn.a b", "a@1 > b@1", "allow: so"),
    (
        "a/1 turn.a b/1",
        "a a > b",
        OVER.replace("a:", "b:"),
    ),
    (
        "turn.do|a wish",
        "do > wish ; a > wish",
        "undecided: so; a turn in free text before it may have been several things",
    ),
    ("turn.do|do wish", "do > wish", "allow: so"),
    (
        "do#x turn.a wish",
        "do a > wish ; - a > wish",
        "undecided: so; do (call x) has no result yet; tell it with `result`",
    ),
    ("do#x turn.a x= wish", "do a > wish", "allow: so"),
    ("bad/1#z a/1 = b/1 = bad/1 z= c/1", "> bad+a+b+c", "allow: so"),
    ("bad/1#z a/1 = b/1 = bad/1 z! c/1", "> a+b+c", "allow: so"),
    (
        "s1 a/1#x s2 s3 b/1#y x! c/1",
        "-@1[] -@2[] > b+c@3[-@1 -@2 b@3 c@3] ; -@1[] -@2[] > c@3[-@1 -@2 -@3 c@3]",
        "allow: so",
    ),
    ("a/1 b.Hi u.Yes a/1", 'a -"Hi" > a', OVER),
    ("a/1 b.Hi u.Yes a/1 a/1", 'a -"Hi" > a', OVER),
    ("a/1 b.Hi u.Yes a/1 a/2 b/2", 'a -"Hi" - > a+b', "allow: so"),
    ("a/1 b a/1", "a b > a", OVER),
    ("a/1 b a/1 a/1", "a b > a", OVER),
    ("a/1 b a/1 a/2 b/2", "a b - > a+b", "allow: so"),
    ("a/1 u.What b.Well a/1", "> a+a", "allow: so"),
    ("s1 do/1#x s2 a/1 x! wish/1", "-@1[] > a+wish@2[-@1 a@2 wish@2]", "deny: so"),
    ("s1 do/1#x s2 a/1 x= wish/2", "-@1[] do+a[do@1 a@2] > wish@2", "allow: so"),
]


@pytest.mark.parametrize(("script", "found", "said"), SHOWN, ids=lambda one: str(one)[:40])
def test_what_a_judge_is_shown(script: str, found: str, said: str) -> None:
    one, each, verdicts = told(script)
    assert each[-1] == found and f"{verdicts[-1].decision}: {verdicts[-1].reason}" == said
    record = io.StringIO()
    assert told(script, record=record)[1] == each, "with a record as without one"
    assert told(script, ask=lambda tool, arguments: None)[1] == each


def test_of_more_results_than_can_be_allowed_for_nothing_is_sure() -> None:
    one, each, verdicts = told("do#1 do#2 do#3 do#4 wish")
    assert len(each[-1].split(" ; ")) == 16 and verdicts[-1].decision == "undecided"
    one, each, verdicts = told(" ".join(f"look#{number}" for number in range(12)) + " wish")
    assert len(each[-1].split(" ; ")) == 1 and verdicts[-1].decision == "deny", "what nothing minds is not awaited"
    one, _, verdicts = told("do#1 do#2 do#3 do#4 a#5 b")
    named = "do (call 1), do (call 2), do (call 3), do (call 4), a (call 5)"
    assert verdicts[-2].decision == "allow" and verdicts[-1].decision == "undecided"
    assert (
        verdicts[-1].reason == f"{named} have no result yet, and at most 4 may be waited for; tell them with `result`"
    )
    one.result("r", "1")
    assert one.call("b").decision == "allow"


LOST = [  # what is told, and why nothing is allowed from then on; "" where something is
    ("a b", ""),
    ("a/1 b.x u.y !", "call 0 failed after its step was over, so what is remembered did not happen"),
    ("a/1 b.x u.y =", ""),
    ("bad/1 b.x u.y !", ""),
    ("bad/1 b.x u.y =", "call 0 was not allowed and ran all the same, so what is remembered did not happen"),
    ("look/1 b.x u.y !", ""),
    ("bad#x b x=", "call x was not allowed and ran all the same, so what is remembered did not happen"),
    ("bad#x b x!", ""),
    ("bad#x x=", ""),
    ("turn.a|b turn.a|b turn.a|b turn.a|b c", ""),
    ("turn.a|b turn.a|b turn.a|b turn.a|b turn.a|b c", "turns in free text may have been more than 16 things"),
    ("turn.a|look turn.a|look c", ""),
    ("a#1 turn.a|b turn.a|b turn.a|b c", ""),
    ("a#1 turn.a|b turn.a|b turn.a|b turn.a|b c", "turns in free text may have been more than 16 things"),
]


@pytest.mark.parametrize(("script", "why"), LOST)
def test_what_ends_permission_and_what_does_not(script: str, why: str) -> None:
    record = io.StringIO()
    for options in ({}, {"record": record}):
        if "turn" in script and options:  # what a record cannot hold is lost in any case
            continue
        one, _, _ = told(script, **options)
        verdict = one.call("c")
        assert (verdict.decision, verdict.reason) == (("undecided", f"c: {why}") if why else ("allow", "so"))
        assert one.call("bad").decision == "deny"


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("=", "a call without a result was required; got one of no call"),
        ("a = =", "a call without a result was required; got one of 0"),
        ("a b x=", "a call without a result was required; got one of x"),
        ("a#x x= x=", "a call without a result was required; got one of x"),
        ("a#x a#x", 'a call id of its own was required; got "x"'),
        ("a#x x= a#x", 'a call id of its own was required; got "x"'),
        ("a#x b a#x", 'a call id of its own was required; got "x"'),
        ("a#x b x= a#x", 'a call id of its own was required; got "x"'),
    ],
)
def test_what_does_not_fit_to_the_conversation_is_refused(script: str, why: str) -> None:
    options = {"record": io.StringIO()} if script.endswith("a#x") else {}  # what was answered is known of a record
    with pytest.raises(SessionError) as refused:
        told(script, **options)
    assert str(refused.value) == why


def test_a_result_of_no_call_is_an_error_and_ends_nothing_unless_it_may_be_one() -> None:
    for script, lost in (
        ("=", False),
        ("!", False),
        ("a = =", False),
        ("a = !", True),
        ("a x!", True),
        ("a x=", False),
    ):
        *before, last = script.split()
        one, _, _ = told(" ".join(before))
        with pytest.raises(SessionError, match="a call without a result was required"):
            one.result("r", last[:-1] or None, last[-1] == "!")
        assert (one.call("b").decision == "allow") is not lost, script


# ---- what is put on record --------------------------------------------------------------------------


def rows(to: io.StringIO) -> list[dict]:
    return [json.loads(line) for line in to.getvalue().splitlines()]


def test_each_decision_is_logged_whole() -> None:
    log = io.StringIO()
    one, _, _ = told("a/1 bad hm#x bad", log=log, run="r1", observe=True)
    found = rows(log)
    for row in found:
        assert datetime.fromisoformat(row.pop("time")).utcoffset() == timedelta(0)
    same = {"run": "r1", "reason": "so", "violated": [], "quotes": [], "missing": [], "open": [], "grade": "none"}
    assert found == [
        same
        | {"step": step, "index": index, "tool": tool, "decision": decision, "arguments": {}, "guard": "spy"}
        | {"evidence": f"of {tool}", "trusted": [tool], "observed": True}
        for index, (step, tool, decision) in enumerate(
            [(1, "a", "allow"), (None, "bad", "deny"), (None, "hm", "undecided"), (None, "bad", "deny")]
        )
    ]
    quiet = io.StringIO()
    told("a", log=quiet)
    assert "observed" not in rows(quiet)[0] and "origins" not in rows(quiet)[0]


def test_the_same_verdict_is_written_once_and_so_many_are_kept() -> None:
    judge, same = Spy(), Verdict("allow", "the same")
    judge.watch = lambda: judge  # type: ignore[method-assign]
    judge.judge, judge.remember, written = lambda step: same, lambda step: None, []  # type: ignore[attr-defined]
    judge.evidence = lambda tool: written.append(tool) or ""  # type: ignore[func-returns-value,method-assign]
    one = Session(judge, log=io.StringIO())
    for _ in range(3):
        one.call("a"), one.call("b")
    assert written == ["a", "b"]
    for i in range(session.WRITTEN - 2):
        one.call(f"t{i}")
    one.call("a")
    assert written.count("a") == 1 and len(one._written) == session.WRITTEN
    one.call("last"), one.call("a")
    assert written.count("a") == 2 and len(one._written) == 2


def test_what_is_told_stands_on_record_in_its_order() -> None:
    record = io.StringIO()
    clock = lambda: datetime(2026, 1, 31, 9, tzinfo=timezone(timedelta(hours=1)))  # noqa: E731
    told("s1 u.Hi b.Well a/3#x x= bad !", record=record, clock=clock, run="r1")
    at = {"run": "r1", "time": "2026-01-31T09:00:00+01:00"}
    assert rows(record) == [
        at | {"state": {"s": 1}},
        at | {"say": {"role": "user", "text": "Hi"}},
        at | {"say": {"role": "assistant", "text": "Well"}},
        at | {"call": {"tool": "a", "arguments": {}}, "step": 3, "call_id": "x"},
        at | {"result": "r", "call_id": "x"},
        at | {"call": {"tool": "bad", "arguments": {}}},
        at | {"result": "r", "error": True},
    ]


@pytest.mark.parametrize("clock", [lambda: "soon", lambda: 7, lambda: None, lambda: 1 / 0])
def test_a_clock_that_tells_no_time_is_none(clock) -> None:
    record = io.StringIO()
    told("a", record=record, clock=clock)
    assert rows(record) == [{"run": "session", "call": {"tool": "a", "arguments": {}}}]


def test_without_a_clock_it_is_now() -> None:
    record = io.StringIO()
    told("a", record=record)
    assert abs(datetime.fromisoformat(rows(record)[0]["time"]) - datetime.now(UTC)) < timedelta(minutes=5)


@pytest.mark.parametrize(("step", "number"), [(None, None), (3, 3), ("4", 4), ("x", ""), ("1.5", "")])
def test_the_step_of_a_record_is_a_number(step: object, number: object) -> None:
    record = io.StringIO()
    one = Session(Spy(), record=record)
    if number == "":
        with pytest.raises(SessionError, match="a step that a record can hold was required; got "):
            one.call("a", step=step)
        assert not record.getvalue() and Session(Spy()).call("a", step=step).decision == "allow"
    else:
        one.call("a", step=step)
        assert rows(record)[0].get("step") == number


class Full(io.StringIO):
    """A record that can be written so many times."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times

    def write(self, text: str) -> int:
        self.times -= 1
        if self.times < 0:
            raise OSError(28, "No space left on device")
        return super().write(text)


def test_what_cannot_be_put_on_record_takes_effect_and_allows_nothing_from_then_on() -> None:
    why = "a record that can be written was required; got OSError: [Errno 28] No space left on device"
    full = Full(2)
    one = Session(Spy(), record=full)
    one.call("a"), one.result("r")
    for tell in (lambda: one.say("user", "x"), lambda: one.state({"s": 1}), lambda: one.say("user", "y")):
        with pytest.raises(SessionError) as refused:
            tell()
        assert str(refused.value) == why
    verdict = one.call("b")
    assert verdict.decision == "undecided" and verdict.reason.startswith("b: the record is not whole: OSError")
    assert one.judge.asked[-1] == "a > b@1" and len(rows(full)) == 2
    half = Session(Spy(), record=Full(0))
    with pytest.raises(SessionError, match="a record that can be written was required"):
        half.call("a")
    assert half.call("b").decision == "undecided" and half.judge.asked[-1] == "> b", "it was not done"


@pytest.mark.parametrize("before", [b"", b"{}\n", b"{}", b'{"torn'])
def test_a_line_is_appended_to_a_file_and_what_was_torn_stays_apart(before: bytes, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(before)
    for to in (path, str(path)):
        told("a", log=to)
    kept = before + b"\n" * (before[-1:] not in (b"", b"\n"))
    data = path.read_bytes()
    assert data.startswith(kept) and data[len(kept) :].count(b"\n") == 2
    assert [json.loads(line)["tool"] for line in data[len(kept) :].splitlines()] == ["a", "a"]


def test_a_call_that_no_record_can_hold_is_denied_as_if_it_had_not_been_asked_for() -> None:
    record, log = io.StringIO(), io.StringIO()
    one = Session(Spy(), record=record, log=log)
    one.call("a"), one.call("b", {"x": float("nan")}, call_id="x")
    assert one.judge.asked == ["> a"] and [row["call"]["tool"] for row in rows(record)] == ["a"]
    assert [(row["tool"], row["index"], row["arguments"]) for row in rows(log)] == [("a", 0, {}), ("b", 1, None)]
    one.result("no", "x", error=True)
    assert one.call("c").decision == "allow" and one.judge.asked[-1] == "a > c"
    one.call("b", {"x": float("nan")})
    with pytest.raises(SessionError):
        one.result("ran"), one.result("ran")
    assert "a call ran that cannot be put on record" in one.call("d").reason


# ---- how much is kept -------------------------------------------------------------------------------


def test_the_limits() -> None:
    """They are said in the documents; whoever moves one moves these as well."""
    assert (session.AWAITED, session.WRITTEN, session.PASSED) == (4, 64, 64)
    assert (session.TOGETHER, session.UNANSWERED) == (256, 1024)


@pytest.mark.parametrize("more", [0, 1])
def test_as_many_states_as_are_kept_are_of_the_present_step(more: int) -> None:
    one, _, _ = told("s0 a/1")
    for i in range(1, session.PASSED + 2 + more):
        one.state({"s": i})
    assert len(one._passed) == (0 if more else session.PASSED)
    verdict = one.call("b", step=1)
    assert ("step 1 was over before this call" in verdict.reason) is bool(more) is (verdict.decision != "allow")
    assert one.judge.asked[-1].rpartition("> ")[2].startswith("b@" if more else "a+b@")


@pytest.mark.parametrize("more", [0, 1])
def test_as_many_calls_are_of_one_step_as_are_told_apart(more: int) -> None:
    one, _, verdicts = told(" ".join(["a/1"] * (session.TOGETHER + more)))
    assert [one.decision for one in verdicts] == ["allow"] * session.TOGETHER + ["undecided"] * more
    assert len(one._asked) == session.TOGETHER
    assert (one.call("b", step=2).decision == "allow") is not more


@pytest.mark.parametrize("more", [0, 1])
def test_as_many_results_are_waited_for_as_are_kept(more: int) -> None:
    one = Session(Spy())
    for i in range(session.UNANSWERED + more):
        one.call("look", call_id=str(i))
    one.say("assistant", "x"), one.say("user", "y")
    assert len(one._late) == session.UNANSWERED and one._forgot is bool(more)
    if more:
        with pytest.raises(SessionError, match="a call without a result was required"):
            one.result("r", "0")
        assert "call 0 has a result, which is not known any more or never was" in one.call("c").reason
    else:
        one.result("r", "0")
        assert one.call("c").decision == "allow"


def test_a_call_without_an_id_is_remembered_until_another_is_the_last() -> None:
    one, _, _ = told("a b.x u.y")
    assert list(one._late) == [0]
    one.call("b")
    assert list(one._late) == []
    one, _, _ = told("a b.x u.y", record=io.StringIO())
    one.call("b", {"x": float("nan")})
    assert list(one._late) == []


@pytest.mark.parametrize("timeout_s", [0.5, 1, 3600.0])
def test_a_time_is_any_number_of_seconds_above_nought(timeout_s: float) -> None:
    assert Session(Spy(), timeout_s=timeout_s).call("a").decision == "allow"
    for wrong in (0, 0.0, -timeout_s, float("nan"), float("inf"), 10**400, "1", True, None):
        with pytest.raises(ValueError, match="timeout_s: seconds above 0, at most .* were required; got"):
            Session(Spy(), timeout_s=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("script", [one for one, *_ in SHOWN if "turn" not in one])
def test_what_is_replayed_is_shown_as_it_was_and_goes_on_alike(script: str) -> None:
    record, asked = io.StringIO(), []
    one, _, verdicts = told(script, record=record)
    other = Session(Spy(), run="other", ask=lambda *given: asked.append(given))
    happened = [event for run in events.loads(record.getvalue()) for event in run.events]
    assert list(other.replay(happened)) == verdicts
    for each in (one, other):
        each.judge.asked.clear()
        each.call("wish", step=1), each.say("assistant", "x"), each.call("last")
    assert one.judge.asked == other.judge.asked and not asked
    assert (one._made.keys(), one._late.keys()) == (other._made.keys(), other._late.keys())
    for row in rows(record):
        if "result" in row and "call_id" in row:
            with pytest.raises(SessionError, match="a call id of its own was required"):
                other.call("a", call_id=row["call_id"])


def test_what_makes_nothing_allowed_is_put_on_record_once() -> None:
    record = io.StringIO()
    told(" ".join(["a/1"] * (session.TOGETHER + 3)), record=record)
    assert [row["lost"] for row in rows(record) if "lost" in row] == [
        "at most 256 calls and states of one step were required; got more"
    ]


def test_what_a_turn_tells_of_a_field_that_comes_from_elsewhere_is_not_read() -> None:
    """Nor does it hold what was told of another field."""
    said = {"name": "yes", "type": "string", "from": {"said": "user"}}
    declared = {"tools": [{"name": "a", "mutating": True}], "state": [{"name": "told", "type": "string"}, said]}
    spy, seen = Spy(validator=Validator(tools.parse(json.dumps(declared)))), []
    spy.watch = lambda: Seen(seen)
    one = Session(spy)
    for state in ({"told": "x", "yes": "y"}, {"yes": "y"}, {"told": "x"}):
        assert one.turn(Recognition((Step((Call("a", {}),), state),), "")).decision == "allow"
    assert seen == [{"told": "x"}, {"told": "x"}, {}, {}, {"told": "x"}, {"told": "x"}]


TURNS = [  # turns, each what it may be, and what is known of `a` after them
    ((), "1"),
    (("pay:a",), "1"),
    (("touch:b",), "1"),
    (("touch:a",), None),
    (("bad touch:a",), "1"),
    (("touch:b|pay:a",), None),
    (("bad pay:b|pay:a",), None),
    (("",), None),
    (("touch:b", "touch:a"), None),
    (("touch:b", "touch:c"), "1"),
]


@pytest.mark.parametrize(("turned", "left"), TURNS)
def test_what_a_turn_may_have_changed_is_not_known_any_more(turned: tuple[str, ...], left: str | None) -> None:
    """A sure one that is allowed was done, one that is not was not; an unsure one may have been anything."""
    spy, seen = Spy(validator=VALIDATOR), []
    spy.watch, spy.reads = lambda: Seen(seen), lambda tool: ("order",)
    one = Session(spy)
    one.call("get", {"id": "a"})
    one.result("1")
    for each in turned:
        bad = each.startswith("bad ")
        steps = [Step((called(of),), {"told": "bad" if bad else "x"}) for of in each[4 * bad :].split("|") if of]
        assert one.turn(Recognition(tuple(steps), "")).decision == (
            "deny" if bad else "allow" if steps else "undecided"
        )
    assert one.call("pay", {"id": "a"}).decision == "allow"
    assert seen[-1].get("order") == left


@pytest.mark.parametrize(("told", "decision"), [("x", "undecided"), ("bad", "deny")])
def test_a_turn_of_what_is_lost_is_not_allowed(told: str, decision: str) -> None:
    spy = Spy(validator=VALIDATOR)
    spy.watch = lambda: Seen([])
    one = Session(spy)
    one.lost("the line was cut")
    verdict = one.turn(Recognition((Step((called("pay:a"),), {"told": told}),), ""))
    assert (verdict.decision, verdict.reason) == (decision, "the line was cut" if decision == "undecided" else "so")


def test_a_session_asks_where_it_has_fields_to_ask_for_and_somebody_to_ask() -> None:
    with_fields, without = Spy(validator=VALIDATOR), Spy()
    asks = [Session(spy, ask=ask).asks for spy in (with_fields, without) for ask in (lambda *_: None, None)]
    assert asks == [True, False, False, False]


def test_what_a_call_failed_with_is_put_on_record_in_words() -> None:
    record = io.StringIO()
    one = Session(Spy(), record=record)
    for value, error in (({"a": [1, None]}, False), ({"a": [1, None]}, True), (RuntimeError("no"), True)):
        one.call("a")
        one.result(value, error=error)
    found = [json.loads(line) for line in record.getvalue().splitlines()]
    values = [row["result"] for row in found if "result" in row]
    assert values[:2] == [{"a": [1, None]}] * 2 and "no" in values[2]
    with pytest.raises(SessionError, match="what a record can hold"):
        one.call("a"), one.result(RuntimeError("no"))


def test_what_is_replayed_is_known_to_have_happened_and_nothing_comes_between(tmp_path: Path) -> None:
    record = io.StringIO()
    one = Session(Spy(), record=record)
    one.call("a", call_id="x"), one.result(1, "x"), one.call("b", call_id="y")
    (path := tmp_path / "run.jsonl").write_text(record.getvalue(), "utf-8")
    happened = list(events.stream(path))
    again = Session(Spy())
    assert [verdict.decision for verdict in again.replay(happened)] == ["allow", "allow"]
    for name in "xy":
        with pytest.raises(SessionError, match="a call id of its own"):
            again.call("c", call_id=name)

    def meanwhile(each: Session, after: int):
        for number, event in enumerate(happened):
            if number == after:
                each.say("user", "wait")
            yield event

    for after in range(len(happened)):
        each = Session(Spy())
        with pytest.raises(SessionError, match="a session that is not at work"):
            each.replay(meanwhile(each, after))


def test_the_clock_is_asked_where_a_field_or_a_record_needs_the_time() -> None:
    state = [{"name": "yes", "type": "string", "from": {"said": "user"}}]
    timed = [*state, {"name": "now", "type": "string", "from": "clock"}]
    for fields, record, times in ((state, None, 0), (timed, None, 1), (state, io.StringIO(), 1), ([], None, 0)):
        validator = Validator(tools.parse(json.dumps({"tools": [{"name": "a", "mutating": True}], "state": fields})))
        asked: list[int] = []
        one = Session(Spy(validator=validator), record=record, clock=lambda asked=asked: asked.append(1))
        one.call("a", {})
        assert len(asked) == times


@dataclass
class Seen:
    """Allows everything unless it is told `bad`, and keeps the states that it is shown."""

    states: list[dict]

    def judge(self, step: Step) -> Verdict:
        self.states.append(dict(step.state))
        return Verdict("deny" if step.state.get("told") == "bad" else "allow", "so")

    def remember(self, step: Step) -> None:
        self.states.append(dict(step.state))

    def fork(self) -> Seen:
        return self
