"""Calls whose results are awaited, may never come or say what nobody expected: a verdict is right whatever comes, and a
recording gives the verdicts that the session gave.

`python tests/test_awaited.py 20000` compares that many random conversations; a number before it is the first.
"""

from __future__ import annotations

import io
import json
import random
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))

import test_same_object as same  # noqa: E402

from wb.bench import recorded  # noqa: E402
from wb.domain import events, judging, session, tools  # noqa: E402
from wb.domain.events import Asked, Event, Lookup, Result, Say, State  # noqa: E402
from wb.domain.judging import Judge  # noqa: E402
from wb.domain.session import AWAITED, Session, SessionError  # noqa: E402
from wb.domain.trace import Call, Step  # noqa: E402
from wb.guards import contract, examples  # noqa: E402
from wb.guards.runtime import CallGuard, Guarded  # noqa: E402
from wb.logic import cel  # noqa: E402
from wb.logic.formula import TIME  # noqa: E402
from wb.logic.semantics import Past  # noqa: E402
from wb.logic.syntax import parse  # noqa: E402
from wb.logic.times import SECOND  # noqa: E402
from wb.rules import rulefile  # noqa: E402
from wb.rules.rule import Predicate, RuleSet  # noqa: E402
from wb.rules.truths import heeded  # noqa: E402
from wb.shield import circuit  # noqa: E402
from wb.shield.shield import Shield  # noqa: E402

BOX = {
    "tools": [
        {
            "name": name,
            "mutating": name != "get",
            "parameters": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
        }
        for name in ("get", "set", "check", "cancel", "pay")
    ],
    "state": [
        {"name": "version", "type": "integer", "from": {"lookup": "get", "arguments": {"id": "call.id"}}},
        {"name": "last", "type": "string", "from": {"done": "set", "arguments": {}, "path": "id"}},
    ],
}
RULES = """
predicates:
  check: {kind: action, tools: [check], objects: [call.id]}
  cancel: {kind: action, tools: [cancel], objects: [call.id]}
  pay: {kind: action, tools: [pay], objects: [call.id]}
  paid: {kind: action, tools: [pay]}
  new: {kind: state, test: "state.version > 0"}
  mine: {kind: state, test: 'state.last != "b"'}
rules:
  - {id: checked, formula: "ALWAYS (pay(o) IMPLIES ONCE check(o))", modality: forbid}
  - {id: cancelled, formula: "ALWAYS (pay(o) IMPLIES NOT ONCE cancel(o))", modality: forbid}
  - {id: few, formula: "ALWAYS (cancel(o) IMPLIES COUNT[<= 2] cancel(o))", modality: forbid}
"""
SOURCED = """
  - {id: new, formula: "ALWAYS (paid IMPLIES new)", modality: forbid}
  - {id: mine, formula: "ALWAYS (paid IMPLIES mine)", modality: forbid}
"""


def guard(text: str = RULES, box: dict = BOX) -> CallGuard:
    """The guard whose code is what the rules ask."""
    made, rules = tools.parse(json.dumps(box)), rulefile.loads(text)
    entries = [Guarded(one, examples.function(one, one.allows), "tested") for one in contract.contracts(made, rules)]
    return CallGuard("by hand", rules, tuple(entries), frozenset({"tested"}), made)


GUARD, LOOKING = guard(), guard(RULES + SOURCED)
A = {"id": "a"}


# ---- by hand ----------------------------------------------------------------------------------------


def test_a_call_whose_result_is_awaited_satisfies_nothing_and_forbids_all_that_it_may() -> None:
    one = Session(GUARD)
    assert one.call("check", A, call_id="1").decision == "allow"
    waiting = one.call("pay", A)
    assert waiting.decision == "undecided" and not waiting.violated and "(checked)" in waiting.reason
    assert "check (call 1) has no result yet; tell it with `result`" in waiting.reason
    one.result("fine", "1")
    assert one.call("pay", A).decision == "allow"
    assert one.call("cancel", A, call_id="2").decision == "allow"
    waiting = one.call("pay", A)
    assert waiting.decision == "undecided" and "(cancelled); cancel (call 2) has no result yet" in waiting.reason
    one.result("no", "2", error=True)
    assert one.call("pay", A).decision == "allow"


@pytest.mark.parametrize("apart", [True, False])
def test_a_late_error_is_not_done_and_spoils_nothing(apart: bool) -> None:
    one = Session(GUARD)
    step = [None, None] if apart else [1, 1]
    one.call("check", A, step[0], call_id="1")
    assert one.call("pay", {"id": "b"}, step[1], call_id="2").violated == ("checked",)
    one.result("timed out", "1", error=True)
    denied = one.call("pay", A)
    assert denied.violated == ("checked",) and "no result" not in denied.reason
    one.call("check", A, call_id="3")
    one.result("fine", "3")
    assert one.call("pay", A).decision == "allow"


def test_a_denied_call_that_ran_is_what_a_later_rule_sees() -> None:
    for failed, broken in ((False, ("cancelled",)), (True, ())):
        one = Session(GUARD)
        one.call("check", A)
        one.call("cancel", {"id": "a", "why": 1}), one.result("cancelled", error=failed)  # it does not fit: denied
        assert one.call("pay", A).violated == broken


def test_a_field_waits_for_the_call_that_may_change_it_in_later_steps_too() -> None:
    one = Session(LOOKING)
    one.call("check", A), one.call("get", A), one.result(1), one.call("set", A, call_id="1")
    one.call("get", A), one.result(2)
    waiting = one.call("pay", A)
    assert waiting.decision == "undecided" and "set, which may change it, has no result yet" in waiting.reason
    one.result("failed", "1", error=True)
    one.call("set", A), one.result("x"), one.call("get", A), one.result(2)
    assert one.call("pay", A).decision == "allow"


def test_of_two_calls_that_were_done_the_one_that_was_asked_for_last_counts() -> None:
    one = Session(LOOKING)
    one.call("check", A)
    one.call("set", A, 1, call_id="1"), one.call("set", {"id": "b"}, 1, call_id="2")
    one.result("b", "2"), one.result("a", "1"), one.call("get", A), one.result(1)
    assert one.call("pay", A).decision != "allow"


PLAIN = """
predicates:
  check: {kind: action, tools: [check]}
  pay: {kind: action, tools: [pay]}
rules:
  - {id: checked, formula: "ALWAYS (pay IMPLIES ONCE check)", modality: forbid}
"""


@pytest.mark.parametrize("text", [PLAIN, RULES], ids=["plain", "objects"])
@pytest.mark.parametrize("kind", [guard, lambda text: weighed(rulefile.loads(text))], ids=["guard", "shield"])
def test_a_forked_watch_remembers_the_same_and_goes_its_own_way(kind, text: str) -> None:
    check, pay = Step((Call("check", A),)), Step((Call("pay", A),))
    one = kind(text).watch()
    other = one.fork()
    other.remember(check)
    assert [watch.judge(pay).decision for watch in (one, other, other.fork())] == ["deny", "allow", "allow"]


def test_a_forked_monitor_knows_the_time_and_what_was() -> None:
    for text, times in (("ONCE a", ({}, {})), ("ONCE[<= 5s] a", ({TIME: 7 * SECOND}, {TIME: 9 * SECOND}))):
        one = Past(parse(text))
        before = one.fork()
        one.step({"a": True, **times[0]})
        assert one.fork().peek({"a": False, **times[1]}) == (True,) and before.peek({"a": False}) == (False,)
    assert one.fork().peek({"a": False, TIME: 0}) == one.peek({"a": False, TIME: 0}) == (None,), "time ran backwards"


def test_a_test_of_any_call_s_arguments_minds_every_tool() -> None:
    named = Predicate("to_a", "state", "", test=cel.parse('call.id == "a"'), tools=("pay",))
    assert heeded([named]) == {"pay"} and heeded([named, replace(named, name="any", tools=())]) is None


def test_a_yes_is_used_up_by_a_call_that_ran_against_the_verdict() -> None:
    said = {"name": "yes", "type": "string", "from": {"said": "user", "used_by": ["pay"]}}
    rule = "  - {id: asked, formula: 'ALWAYS (paid IMPLIES agreed)', modality: forbid}\n"
    text = RULES.replace("rules:", "  agreed: {kind: state, test: 'state.yes == \"yes\"'}\nrules:") + rule
    one = Session(guard(text, BOX | {"state": [said]}))
    one.say("user", "yes")
    assert one.call("pay", A).violated == ("checked",)
    one.result("paid")
    one.call("check", A), one.result("fine")
    assert one.call("pay", A).decision == "undecided"


# ---- whatever comes ---------------------------------------------------------------------------------


class Told:
    """What happened in a conversation, kept apart from any session: its steps, and of each call whether it was done,
    None where nobody knows."""

    def __init__(self, judge: Judge) -> None:
        self.judge, self.steps = judge, []

    def open(self) -> list[list]:
        return [call for _, calls in self.steps for call in calls if call[1] is None]

    def expected(self, call: Call, counts: bool) -> str:
        """The decision on a call of the last step in all worlds, each told from its beginning; undecided if not one."""
        awaited, found = self.open(), set()
        if counts and sum(self.judge.minds(made.tool) for made, _ in awaited) > AWAITED:
            return "undecided"
        for truths in product((True, False), repeat=len(awaited)):
            world = {id(one): truth for one, truth in zip(awaited, truths, strict=True)}
            steps = [
                Step(tuple(one[0] for one in calls if world.get(id(one), one[1])), state) for state, calls in self.steps
            ]
            watch = self.judge.watch()
            for step in steps[:-1]:
                watch.remember(step)
            last = steps[-1]
            found.add(judging.judged(watch, Step((*last.calls, call), last.state)).decision)
        return found.pop() if len(found) == 1 else "undecided"


def talked(rng: random.Random, judge: Judge, call: object, states: list[dict]) -> tuple[int, int]:
    """A random conversation: how many verdicts were compared, and of how many calls a result was awaited then."""
    record, told, compared, waited = io.StringIO(), Told(judge), 0, 0
    one, verdicts, answered = Session(judge, record=record, clock=lambda: None), [], set()
    names: dict[str, list] = {}
    for number in range(rng.randint(2, 6)):
        state = rng.choice(states)
        one.state(state)
        told.steps.append((state, []))
        for _ in range(rng.choice((1, 1, 2, 3))):
            made = call(rng)
            name = rng.choice((None, f"c{len(verdicts)}", f"c{len(verdicts)}"))
            if len(told.open()) > AWAITED + 2:
                name = None
            wanted = told.expected(made, True)
            waited += bool(told.open())
            verdict = one.call(made.tool, dict(made.arguments), number, call_id=name)
            assert verdict.decision == wanted, (verdict, told.steps, made)
            verdicts.append(verdict)
            compared += 1
            allowed = verdict.decision == "allow"
            mine = [made, None if allowed and name else allowed]
            told.steps[-1][1].append(mine)
            if name is None and rng.random() < 0.3:
                failed = rng.random() < 0.5
                one.result("x", error=failed)
                mine[1] = not failed
            elif name is not None:
                names[name] = mine
            for other in [each for each in names if rng.random() < 0.3]:
                late = all(names[other] is not each for each in told.steps[-1][1])
                if names[other][1] is None or not late:
                    failed = rng.random() < 0.5
                    one.result("x", other, failed)
                    names.pop(other)[1] = not failed
                    answered.add(other)
    happened = [event for run in events.loads(record.getvalue()) for event in run.events]
    assert list(Session(judge, run="session").replay(happened)) == verdicts
    assert [each.verdict for each in recorded.judge(judge, happened)] == verdicts
    return compared, waited


def weighed(rules: RuleSet) -> Shield:
    """A shield of the rules, one circuit an action."""
    names = [p.name for p in rules.predicates if p.kind == "action"]
    circuits = {name: [r.id for r in rules.rules if name in r.predicates] for name in names}
    return Shield(rules.predicates, circuit.build(rules, {name: ids for name, ids in circuits.items() if ids}))


def compared(seeds: range) -> tuple[int, int]:
    """Random rules about objects and time, and random conversations under their guards and shields."""
    counts = [0, 0]
    for seed in seeds:
        rng = random.Random(seed)
        rules = same.random_rule(rng, timed=seed % 3 == 0)
        judge = same.generated(rules) if seed % 2 else weighed(rules)
        values = rng.sample(same.VALUES, rng.randint(1, 3))
        states = [
            {"p": p, **({"now": f"2026-03-01T12:00:0{second}Z"} if second is not None else {})}
            for p in (True, False)
            for second in (0, 2, 5, None)
        ]
        found = talked(rng, judge, lambda rng, v=values: same.random_call(rng, v, 0.1), states)
        counts = [a + b for a, b in zip(counts, found, strict=True)]
    return tuple(counts)


def test_a_verdict_is_right_whatever_comes_and_a_recording_gives_it_again() -> None:
    many, waited = compared(range(150))
    assert many > 600 and waited > 300


# ---- a recording goes on as it was ------------------------------------------------------------------

TIMES = st.sampled_from([None, "2026-03-01T12:00:00Z", "2026-03-01T13:00:00Z"])
NAMES = st.sampled_from("ab")
ARGUMENTS = st.one_of(NAMES.map(lambda name: {"id": name}), st.sampled_from([{}, {"id": 1}, {"id": "a", "x": 1}]))
CALLS = st.builds(
    lambda tool, given, step, named: ("call", tool, given, step, named),
    st.sampled_from(["get", "set", "check", "cancel", "pay", "pay", "strange"]),
    ARGUMENTS,
    st.one_of(st.none(), st.integers(0, 2)),
    st.booleans(),
)
HAPPENED = st.one_of(
    CALLS,
    CALLS,
    st.tuples(st.just("result"), st.integers(0, 3), st.booleans()),
    st.tuples(st.just("result"), st.just(0), st.just(False)),
    st.tuples(st.just("say"), st.sampled_from(["user", "assistant"])),
    st.tuples(st.just("state"), st.dictionaries(st.sampled_from(["version", "told"]), st.integers(0, 1))),
    st.tuples(st.just("lookup"), NAMES, st.sampled_from([1, 0, None])),
)


def recording(script: list, times: list) -> list[Event]:
    """The events of a script, with results for calls that have none yet alone: each of the newest four, by its id."""
    found, waiting, last = [], [], None
    for number, ((kind, *what), time) in enumerate(zip(script, times, strict=False)):
        match kind, what:
            case "call", (tool, given, step, named):
                last = f"c{number}" if named else None
                waiting = [*(one for one in waiting if one is not None), last]
                found.append(Event("r", Asked(Call(tool, given), None, last), step, time))
            case "result", (back, failed) if back < len(waiting):
                name = waiting.pop(-1 - back)
                found.append(Event("r", Result(1, failed, name), None, time))
            case "say", (role,):
                found.append(Event("r", Say(role, "words"), None, time))
            case "state", (values,):
                found.append(Event("r", State(values), None, time))
            case "lookup", (name, value):
                problem = None if value is not None else "none"
                found.append(Event("r", Lookup("get", {"id": name}, value, problem), None, time))
    return found


@pytest.mark.parametrize("judge", [GUARD, LOOKING], ids=["told", "sourced"])
@settings(max_examples=150, deadline=None)
@example([("call", "cancel", {"id": "a", "x": 1}, None, False), ("result", 0, False)], [None] * 20, A)
@example([("call", "get", A, None, False), ("result", 0, False), ("call", "strange", {}, None, True)], [None] * 20, A)
@given(st.lists(HAPPENED, max_size=14), st.lists(TIMES, min_size=20, max_size=20), st.just(A))
def test_what_is_replayed_goes_on_as_the_whole_is_judged(judge, script: list, times: list, last: dict) -> None:
    before = recording(script, times)
    asked = Event("r", Asked(Call("pay", last)), None, times[-1])
    verdicts = [one.verdict for one in recorded.judge(judge, [*before, asked])]
    one = Session(judge, clock=lambda: times[-1])
    assert list(one.replay(before)) == verdicts[:-1]
    assert one.call("pay", dict(last)) == verdicts[-1]
    again = Session(judge, clock=lambda: times[-1])
    for event in before:
        again.replay([event])
    assert again.call("pay", dict(last)) == verdicts[-1]


@pytest.mark.parametrize("failed", [False, True])
@pytest.mark.parametrize("ran", [Call("cancel", {"id": "a", "x": 1}), Call("strange", A)], ids=str)
def test_what_was_executed_is_replayed_whatever_this_guard_says_of_it(ran: Call, failed: bool) -> None:
    """A call that a guard of today would not have allowed, and one of a tool that it does not know."""
    calls = [Call("check", A), Call("set", A), Call("get", A)]
    before = [Event("r", what) for call in calls for what in (Asked(call), Result(1))]
    happened = [*before, Event("r", Asked(ran)), Event("r", Result(1, failed))]
    one = Session(LOOKING)
    assert one.replay(happened)[-1].decision == "deny"
    (*_, last) = recorded.judge(LOOKING, [*happened, Event("r", Asked(Call("pay", A)))])
    verdict = one.call("pay", A)
    assert verdict == last.verdict
    if ran.tool == "cancel" and not failed:
        assert verdict.violated == ("cancelled",)
    else:
        assert verdict.decision == "undecided" and "what get gave may have changed since" in verdict.reason
    one = Session(LOOKING)
    one.replay(before)
    assert one.call("pay", A).decision == "allow", "without it"


# ---- recordings that are none -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("happened", "said"),
    [
        (
            [{"run": "r", "say": {"role": "user", "text": "x"}}],
            r"as wb\.domain\.events\.stream\(FILE\) reads them; got",
        ),
        ("runs.jsonl", r"as wb\.domain\.events\.stream\(FILE\) reads them; got \"r\""),
        (7, "events of a session were required; got TypeError"),
        (
            [Event("r", Say("user", "x")), Event("s", Say("user", "x"))],
            'events of one run were required; got one of "s"',
        ),
        ([Event("r", Result(1))], "result: a call before it in its run was required; got none"),
        ([Event("r", Asked(Call("get", A), None, "x"))] * 2, "a call id of its own was required"),
    ],
)
def test_half_a_recording_allows_nothing_from_then_on(happened: object, said: str) -> None:
    one = Session(GUARD)
    one.call("check", A)
    assert one.call("pay", A).decision == "allow"
    with pytest.raises(SessionError, match=said):
        one.replay(happened)
    verdict = one.call("pay", A)
    assert verdict.decision == "undecided" and "what was recorded before could not be taken in" in verdict.reason
    assert one.call("pay", {"id": "b"}).decision == "deny", "what is forbidden stays so"


def test_a_file_that_breaks_off_allows_nothing_and_a_whole_one_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "record.jsonl"
    one = Session(GUARD, record=path)
    one.call("check", A), one.result("fine")
    again = Session(GUARD)
    assert [each.decision for each in again.replay(events.stream(path))] == ["allow"]
    assert again.call("pay", A).decision == "allow"
    path.write_text(path.read_text("utf-8") + '{"run": "sess', "utf-8")
    again = Session(GUARD)
    with pytest.raises(SessionError, match="line 3"):
        again.replay(events.stream(path))
    assert again.call("pay", A).decision == "undecided"


def test_recordings_are_judged_in_the_order_of_their_file() -> None:
    rows = [
        Event(run, Asked(Call("get", A), label))
        for run, label in zip("abab", ("allow", None, None, "deny"), strict=True)
    ]
    found = [(one.run, one.index, one.label) for one in recorded.judge(GUARD, rows)]
    assert found == [("a", 0, "allow"), ("b", 0, None), ("a", 1, None), ("b", 1, "deny")]


# ---- what cannot be written, and what calls back ------------------------------------------------------


class Failing(io.StringIO):
    """A file on a disk that is full when it is told so."""

    full = False

    def write(self, text: str) -> int:
        if self.full:
            raise OSError("no space left")
        return super().write(text)


@pytest.mark.parametrize("name", [None, "1"])
@pytest.mark.parametrize("ends", [True, False])
def test_an_error_that_cannot_be_recorded_is_taken_back_all_the_same(name: str | None, ends: bool) -> None:
    record = Failing()
    one = Session(GUARD, record=record)
    one.call("check", A, call_id=name)
    record.full = True
    with pytest.raises(SessionError, match="a record that can be written was required; got OSError: no space left"):
        one.result("no", name, error=True)
    record.full = not ends
    assert one.call("pay", A).violated == ("checked",)
    free = one.call("get", A)
    assert free.decision == "undecided" and "the record is not whole: OSError: no space left" in free.reason
    with pytest.raises(SessionError, match="a record that can be written was required"):
        one.say("user", "go on")
    assert len(record.getvalue().splitlines()) == 1, "what stands in it is what came before"


def test_a_result_that_no_record_can_hold_may_be_told_again() -> None:
    record = io.StringIO()
    one = Session(GUARD, record=record)
    one.call("check", A, call_id="1")
    with pytest.raises(SessionError, match="what a record can hold was required"):
        one.result(object(), "1")
    assert "(checked); check (call 1) has no result" in one.call("pay", A).reason, "it is awaited still"
    one.result("fine", "1")
    assert one.call("pay", A).decision == "allow"
    one.call("check", {"id": "b"}), one.result(ValueError("broken"), error=True)
    assert one.call("pay", {"id": "b"}).violated == ("checked",)
    assert json.loads(record.getvalue().splitlines()[-2])["result"] == "ValueError: broken"


@pytest.mark.parametrize("name", [None, "1"])
def test_a_call_whose_decision_was_not_logged_is_not_on_record(name: str | None) -> None:
    log, record = Failing(), io.StringIO()
    one = Session(LOOKING, log=log, record=record, ask=lambda tool, given: 1)
    one.call("set", A), one.result(1)
    log.full = True
    with pytest.raises(SessionError, match="a log that can be written was required"):
        one.call("check", A, call_id=name)
    log.full = False
    live = one.call("pay", A)
    assert live.violated == ("checked",)
    (run,) = events.loads(record.getvalue())
    again = Session(LOOKING)
    assert again.replay(run.events)[-1] == live
    assert one.call("check", A, call_id=name).decision == "allow", "asked for again under the same id"


def test_a_refused_call_that_no_record_can_hold_is_logged_and_its_error_is_nobody_elses() -> None:
    record, log = io.StringIO(), io.StringIO()
    one = Session(GUARD, record=record, log=log)
    one.call("check", A), one.result("fine"), one.call("cancel", A)
    assert one.call("get", {"id": float("nan")}).decision == "deny"
    one.result("denied", error=True)
    assert one.call("pay", A).violated == ("cancelled",), "the cancellation was not taken back"
    assert [json.loads(row)["index"] for row in log.getvalue().splitlines()] == [0, 1, 2, 3]
    assert one.call("get", {"id": float("nan")}).decision == "deny"
    one.result("it ran")
    assert "a call ran that cannot be put on record" in one.call("get", A).reason


def test_a_record_holds_the_step_and_the_time_that_a_call_was_judged_by() -> None:
    record, ticks = io.StringIO(), iter([None, "2026-03-01T12:00:00Z", "8 o'clock", "2026-03-01T12:00:00Z"])
    one = Session(GUARD, record=record, clock=lambda: next(ticks))
    for step in ("1", 1):
        one.call("check", A, step=step)
    assert len(one._present.calls) == 2, "they share the step that stands in the record"
    assert [json.loads(row) for row in record.getvalue().splitlines()] == [
        {"run": "session", "call": {"tool": "check", "arguments": A}, "step": 1},
        {"run": "session", "call": {"tool": "check", "arguments": A}, "step": 1, "time": "2026-03-01T12:00:00Z"},
    ]
    for step in ("one", -1):
        with pytest.raises(SessionError, match="a step that a record can hold was required"):
            one.call("check", A, step=step)
    assert one.call("pay", A).decision == "allow", "nothing was lost"


class Calling(io.StringIO):
    """A file, or a clock, that asks the session for a call while it is at work."""

    one: Session | None = None
    refused = 0

    def __call__(self) -> str:
        if self.one is not None:
            try:
                self.one.call("pay", A)
            except SessionError as error:
                assert "a session that is not at work was required" in str(error)
                self.refused += 1
        return "2026-01-01T00:00:00Z"

    def write(self, text: str) -> int:
        self()
        return super().write(text)


@pytest.mark.parametrize("through", ["clock", "log", "record"])
def test_what_a_session_calls_may_not_call_it(through: str) -> None:
    inside = Calling()
    one = Session(GUARD, **({"record": io.StringIO()} if through == "clock" else {}), **{through: inside})
    one.call("check", A)
    for _ in range(2):
        one.call("cancel", {"id": "b"})
    inside.one = one
    assert one.call("cancel", {"id": "b"}).violated == ("few",) and inside.refused
    assert one.call("pay", A).decision == "allow" and one._index == 5
    one.say("user", "go on"), one.state({"told": 1})
    text = {"clock": one._record_to, "record": inside}.get(through)
    if text is not None:
        again = Session(GUARD)
        assert [each.decision for each in again.replay(events.loads(text.getvalue())[0].events)][-1] == "allow"


def test_a_recording_that_calls_the_session_is_refused() -> None:
    one = Session(GUARD)

    def happened() -> Iterator[Event]:
        yield Event("r", Asked(Call("check", A)))
        one.call("pay", A)

    with pytest.raises(SessionError, match="a session that is not at work was required"):
        one.replay(happened())
    assert one.call("pay", A).decision == "undecided"


def test_an_ask_function_that_calls_the_session_is_not_answered_in_time() -> None:
    one = Session(LOOKING, ask=lambda tool, given: one.call("pay", A), timeout_s=0.05)
    one.call("check", A), one.call("set", A), one.result(1)
    verdict = one.call("pay", A)
    assert verdict.decision == "undecided" and "an answer within 0.05 s was required" in verdict.reason


@pytest.mark.parametrize("name", ["\x1b[2Jpay", "pay\u202e", "p\u200bay", "\u3164", "pay\n", "z" * 500])
def test_a_tool_s_name_stands_escaped_in_the_reason(name: str) -> None:
    judges = (GUARD, weighed(rulefile.loads(RULES)))
    for judge in judges:
        reason = Session(judge).call(name, A).reason.replace("…", "")
        assert reason.isascii() and reason.isprintable() and "there is no such tool" in reason and len(reason) < 150
    assert "pay: " in Session(GUARD).call("pay", {}).reason


if __name__ == "__main__":
    first, last = map(int, sys.argv[-2:]) if len(sys.argv) > 2 else (0, int(sys.argv[1]))
    print("{} verdicts compared, {} of them while a result was awaited: 0 differ".format(*compared(range(first, last))))


def test_a_record_whose_last_line_was_torn_stays_readable_for_what_comes_after(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    one = Session(GUARD, record=path)
    one.call("check", A), one.call("get", A)
    path.write_text(path.read_text("utf-8").rstrip("\n"), "utf-8")
    again = Session(GUARD, record=path)
    again.replay(events.stream(path))
    assert again.call("pay", A).decision == "allow"
    assert [event.what.call.tool for event in events.stream(path)] == ["check", "get", "pay"]


@pytest.mark.parametrize("end", [KeyboardInterrupt, SystemExit])
def test_a_record_that_was_interrupted_is_not_whole_and_allows_nothing(end: type[BaseException]) -> None:
    class Ending:
        ends = False

        def write(self, text: str) -> int:
            if self.ends:
                raise end
            return len(text)

        def flush(self) -> None:
            pass

    record = Ending()
    one = Session(GUARD, record=record)
    assert one.call("check", A).decision == "allow"
    record.ends = True
    with pytest.raises(end):
        one.result("no", error=True)
    record.ends = False
    later = one.call("get", A)
    assert later.decision == "undecided" and "the record is not whole" in later.reason


@pytest.mark.parametrize("answer", [object(), float("nan"), "\ud800", {1: 2}])
def test_an_answer_that_no_record_can_hold_is_unknown_with_its_reason(answer: object) -> None:
    record = io.StringIO()
    one = Session(LOOKING, record=record, ask=lambda tool, arguments: answer)
    one.call("check", A), one.result("fine")
    verdict = one.call("pay", A)
    assert verdict.decision == "undecided" and "state.version" in verdict.reason
    kept = [event.what for run in events.loads(record.getvalue()) for event in run.events]
    assert any(isinstance(what, Lookup) and what.problem for what in kept)


def test_an_awaited_id_is_never_another_call_s() -> None:
    one = Session(GUARD)
    one.call("cancel", A, call_id="1")
    for number in range(session.UNANSWERED + 6):
        one.call("get", A, call_id=f"g{number}")
    with pytest.raises(SessionError, match="a call id of its own"):
        one.call("get", A, call_id="1")
    assert one.call("pay", A).decision != "allow"


def looked_up(**changed: object) -> CallGuard:
    """A guard of `pay` by what `get` says of the same id, which `set` and `swap` may change as told."""
    text = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
    both = {**text, "properties": {"id": {"type": "string"}, "order": {"type": "string"}}}
    rows = [("get", False, text), ("set", True, text), ("pay", True, text), ("swap", True, both)]
    source = {"lookup": "get", "arguments": {"id": "call.id"}, "path": "is", **changed}
    box = {
        "tools": [{"name": name, "mutating": changes, "parameters": given} for name, changes, given in rows],
        "state": [{"name": "st", "type": "string", "from": source}],
    }
    rules = """
predicates:
  paid: {kind: action, tools: [pay]}
  ok: {kind: state, test: 'state.st == "ok"'}
rules:
  - {id: ok, formula: "ALWAYS (paid IMPLIES ok)", modality: forbid}
"""
    return guard(rules, box)


@pytest.mark.parametrize("denials", [3, 1100])
def test_a_denied_call_that_ran_makes_stale_what_it_changes_however_many_were_denied_since(denials: int) -> None:
    one = Session(looked_up(changed_by=["set"]))
    assert one.call("set", {"id": "a", "more": 1}, 1, call_id="s").decision == "deny"
    for number in range(denials):
        assert one.call("strange", {}, 1 + number // 200).decision == "deny"
    one.call("get", A, 20), one.result({"is": "ok"})
    assert one.call("pay", A, 21).decision == "allow", "as far as anybody knows"
    one.result("set", "s")
    assert one.call("pay", A, 22).decision == "undecided"


def test_what_a_call_gives_is_of_the_object_that_it_is_said_to_change() -> None:
    one = Session(looked_up(changed_by={"swap": {"id": "call.order"}}, given_by=["swap"]))
    one.call("swap", {"id": "a", "order": "b"}), one.result({"is": "ok"})
    assert one.call("pay", A).decision == "undecided"
    assert one.call("pay", {"id": "b"}).decision == "allow"


def test_what_makes_nothing_allowed_is_on_record(tmp_path: Path) -> None:
    """A record tells a session, and whoever judges it, no less than the session that it is of was told."""

    def contradicted(one: Session) -> None:
        one.result("done", "1")
        with pytest.raises(SessionError, match="a call without a result was required"):
            one.result("no", "1", error=True)

    for number, told in enumerate((contradicted, lambda one: one.lost("the agent was restarted"), lambda one: None)):
        one = Session(GUARD, record=tmp_path / f"{number}.jsonl")
        assert one.call("get", A, call_id="1").decision == "allow"
        told(one)
        happened = list(events.stream(tmp_path / f"{number}.jsonl"))
        again = Session(GUARD)
        again.replay(happened)
        there, here = again.call("get", A), one.call("get", A)
        assert (there.decision, there.reason) == (here.decision, here.reason)
        assert (here.decision == "allow") is (number == 2), here


def test_a_reason_in_words_is_required_for_what_is_lost() -> None:
    for why in ("", None, 3):
        with pytest.raises(SessionError, match="a reason in words was required"):
            Session(GUARD).lost(why)
