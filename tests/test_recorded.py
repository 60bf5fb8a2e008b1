"""Recorded calls are facts: what was executed happened, what failed did not, and a split goes by the run's name."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wb.bench import baselines, compare, evaluate, mind2web, recorded
from wb.bench.recorded import Judged, RunsError
from wb.domain import events, judging, session, tools
from wb.domain.events import EventError, Observation, Recognition
from wb.domain.tools import Field, Tool, Toolbox
from wb.domain.trace import Call, Step, Trace, Verdict
from wb.domain.validation import Validator
from wb.models.client import LLM
from wb.offline.engine import Offline


def text(*lines: dict) -> str:
    return "\n".join(json.dumps(line) for line in lines)


def call(tool: str, run: str = "a", **beside: object) -> dict:
    return {"run": run, "call": {"tool": tool, "arguments": {}}, **beside}


def result(run: str = "a", **beside: object) -> dict:
    return {"run": run, "result": "done", **beside}


@dataclass
class Spy:
    """Denies `bad`; keeps every trace that it is asked about."""

    name: str = "spy"
    asked: list[Trace] = field(default_factory=list)
    validator: Validator = field(default_factory=Validator)

    def watch(self) -> SpyWatch:
        return SpyWatch(self)

    def evidence(self, tool: str) -> str:
        return ""

    def trusted(self, tool: str) -> tuple:
        return ()

    def reads(self, tool: str) -> tuple:
        return ()

    def minds(self, tool: str) -> bool:
        return True

    def decide(self, trace: Trace) -> Verdict:
        return judging.decide(self, trace)


@dataclass
class SpyWatch:
    """The steps that were remembered, in full."""

    spy: Spy
    past: tuple[Step, ...] = ()

    def judge(self, step: Step) -> Verdict:
        self.spy.asked.append(Trace("seen", (*self.past, step)))
        return Verdict("deny" if step.calls[-1].tool == "bad" else "allow", "by hand")

    def remember(self, step: Step) -> None:
        self.past = (*self.past, step)

    def fork(self) -> SpyWatch:
        return SpyWatch(self.spy, self.past)


def seen(*lines: dict) -> tuple[list[Judged], list[list[list[str]]]]:
    """The verdicts, and for each call the tools of every step that the guard was shown."""
    spy = Spy()
    judged = list(recorded.judge(spy, [e for run in events.loads(text(*lines)) for e in run.events]))
    return judged, [[[c.tool for c in step.calls] for step in trace.steps] for trace in spy.asked]


def test_what_was_executed_happened_whatever_the_guard_says() -> None:
    judged, shown = seen(call("bad"), result(), call("pay"), result())
    assert [j.verdict.decision for j in judged] == ["deny", "allow"]
    assert shown == [[["bad"]], [["bad"], ["pay"]]]


def test_what_failed_did_not_happen_although_the_guard_allowed_it() -> None:
    _, shown = seen(call("pay"), result(error=True), call("pay"))
    assert shown[1] == [[], ["pay"]]


@pytest.mark.parametrize(("tool", "before"), [("pay", ["pay"]), ("bad", [])])
def test_without_a_result_a_call_was_done_if_the_guard_allows_it(tool: str, before: list[str]) -> None:
    assert seen(call(tool), call("look"))[1][1] == [before, ["look"]]


def test_calls_of_one_step_are_judged_in_order_with_the_executed_ones_before() -> None:
    _, shown = seen(
        *(call("pay", step=0), result(error=True), call("bad", step=0), result(), call("look", step=0), result()),
        call("pay"),
    )
    assert shown == [[["pay"]], [["bad"]], [["bad", "look"]], [["bad", "look"], ["pay"]]]


def test_calls_that_were_asked_for_together_are_judged_whatever_comes_of_those_before() -> None:
    """As in a session: the result of one is not known when the next is judged, and later is."""
    lines = [call("pay", step=0, call_id="x"), call("bad", step=0, call_id="y"), call("look", step=0, call_id="z")]
    _, shown = seen(*lines, result(call_id="x", error=True), result(call_id="y"), result(call_id="z"), call("pay"))
    assert shown[0] == [["pay"]] and shown[-1] == [["bad", "look"], ["pay"]]
    assert sorted(shown[1:3]) == [[["bad"]], [["pay", "bad"]]]
    assert sorted(shown[3:5]) == [[["look"]], [["pay", "look"]]], "what was denied was not done, as far as is known"


def test_words_that_no_call_follows_are_a_step_and_a_field_that_changes_within_a_step_is_forgotten() -> None:
    spy = Spy()
    lines = [
        {"run": "a", "say": {"role": "assistant", "text": "hello"}},
        {"run": "a", "say": {"role": "user", "text": "pay"}},
        {"run": "a", "state": {"one": 1, "two": 2}},
        call("pay", step=3),
        {"run": "a", "state": {"one": 1, "two": 3}},
        call("look", step=3),
        call("look", step=4),
    ]
    list(recorded.judge(spy, events.loads(text(*lines))[0].events))
    assert spy.asked[0].steps == (Step((), {}, "hello"), Step((Call("pay"),), {"one": 1, "two": 2}, ""))
    assert [step.state for step in spy.asked[2].steps[1:3]] == [{"one": 1, "two": 2}, {"one": 1}]


CALLS = [(("call", "pay"), 3, False), (("state", {"one": 1}), None, False)]


@pytest.mark.parametrize("second", [(("call", "bad"), 3, False), (("call", "look"), 3, True)])
def test_a_step_forgets_what_changed_before_a_call_that_was_denied_or_failed(second: tuple) -> None:
    """The same in a session and in its recording: whatever came of the call, it was asked for in another state."""
    script = [(("state", {"one": 1, "two": 2}), None, False), *CALLS, second, (("call", "look"), 4, False)]
    live, replayed = both(script)
    apart = (Step((Call("pay"),), {"one": 1, "two": 2}), Step((), {"one": 1}))
    assert live.asked[2].steps[1] == replayed.asked[2].steps[1] == Step((Call("pay"),), {"one": 1}, each=apart)


def test_true_is_not_one_where_a_state_changes_within_a_step() -> None:
    calls = [(("call", "pay"), 3, False), (("state", {"one": True}), None, False), (("call", "look"), 3, False)]
    live, replayed = both([(("state", {"one": 1}), None, False), *calls, (("call", "look"), 4, False)])
    assert live.asked[2].steps[1].state == replayed.asked[2].steps[1].state == {}


@pytest.mark.parametrize("step", [None, 3])
def test_a_state_in_which_no_call_was_asked_for_is_not_forgotten(step: int | None) -> None:
    """A fact that was true for a while was true once, whether or not a call was made meanwhile."""
    passing = [(("state", {"one": n}), None, False) for n in (1, 2, 2)]
    live, replayed = both([*passing, (("call", "pay"), step, False), *passing, (("call", "look"), step, False)])
    before = [one.state for one in live.asked[1].steps]
    assert live.asked == replayed.asked
    assert before == [{"one": n} for n in (1, 2, 1, 2)]


@pytest.mark.parametrize("between", [[], [2]])
def test_what_was_known_before_words_were_answered_is_remembered(between: list[int]) -> None:
    """A state in which words were said is remembered with them, and once more by itself where another came before
    their answer, as that one is."""
    told = [(("state", {"one": n}), None, False) for n in (1, *between, 3)]
    ask, answer = ((("say", role), None, False) for role in ("assistant", "user"))
    live, replayed = both([told[0], ask, *told[1:-1], answer, told[-1], (("call", "pay"), None, False)])
    known = [one.state["one"] for one in live.asked[0].steps]
    assert list(dict.fromkeys(known)) == [1, *between, 3] and known.count(1) == 1 + len(between)
    assert live.asked == replayed.asked


@pytest.mark.parametrize(("tool", "failed"), [("bad", False), ("pay", True)])
@pytest.mark.parametrize("named", [{"call_id": "x"}, {}])
def test_a_result_that_comes_too_late_and_says_otherwise_ends_permission(tool: str, failed: bool, named: dict) -> None:
    """What was executed in spite of a denial, or failed after it was taken as done, is not what is remembered.

    Of a call with an id nobody knows before its result whether it was done, so that this is no surprise."""
    between = [call("look", call_id="y"), result(call_id="y")] if named else [{"run": "a", "say": SAID}] * 2
    late, good = result(error=failed, **named), result(error=not failed, **named)
    for answer, decision in ((late, "undecided"), (good, "allow")):
        judged, shown = seen(call(tool, **named), *between, answer, call("pay"))
        awaited = bool(named) and tool == "pay"
        assert judged[-1].verdict.decision == ("allow" if awaited else decision)
        assert [shown[-1][0]] == ([["pay"]] if answer is good else [[]]) or not awaited


SAID = {"role": "assistant", "text": "words"}
EVENT = st.one_of(
    st.sampled_from(["pay", "bad", "look"]).map(lambda tool: ("call", tool)),
    st.sampled_from(["user", "assistant"]).map(lambda role: ("say", role)),
    st.dictionaries(st.sampled_from(["one", "two"]), st.integers(0, 2)).map(lambda fields: ("state", fields)),
)


@given(st.lists(st.tuples(EVENT, st.one_of(st.none(), st.integers(0, 2)), st.booleans()), max_size=12))
def test_a_recording_of_what_the_guard_allowed_is_judged_as_the_session_was(script: list) -> None:
    """What was allowed has a result, an error or none; what was not allowed has none, as when the guard was there."""
    live, replayed = both(script)
    assert replayed.asked == live.asked


def both(script: list) -> tuple[Spy, Spy]:
    """What a guard is asked in a session of these events, (kind and what, step, failed), and in its recording."""
    live, replayed, lines = Spy(), Spy(), []
    talk = session.Session(live)
    for (kind, what), step, failed in script:
        if kind == "say":
            talk.say(what, "words")
            lines.append({"run": "a", "say": {"role": what, "text": "words"}})
        elif kind == "state":
            talk.state(what)
            lines.append({"run": "a", "state": what})
        else:
            lines.append(call(what, **({} if step is None else {"step": step})))
            if talk.call(what, {}, step).decision == "allow":
                talk.result("done", error=failed)
                lines.append(result(error=failed))
    if lines:
        list(recorded.judge(replayed, events.loads(text(*lines))[0].events))
    return live, replayed


def test_what_stands_before_a_line_that_is_refused_is_judged(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text(text(call("pay"), result(), call("bad"), result(), call("look")) + '\n{"run": NaN}\n', "utf-8")
    found = recorded.judge(Spy(), events.stream(path))
    assert [next(found).tool for _ in range(3)] == ["pay", "bad", "look"]
    with pytest.raises(EventError, match="line 6: a finite number was required"):
        next(found)


def test_runs_that_are_interleaved_keep_to_themselves() -> None:
    judged, shown = seen(call("pay"), call("look", "b"), call("look"), call("pay", "b"))
    assert sorted((j.run, j.index, j.tool) for j in judged) == [
        ("a", 0, "pay"),
        ("a", 1, "look"),
        ("b", 0, "look"),
        ("b", 1, "pay"),
    ]
    assert [["pay"], ["look"]] in shown and [["look"], ["pay"]] in shown


def test_a_turn_in_free_text_is_recognised_first() -> None:
    turn = {"run": "a", "turn": {"task": "pay or look"}}
    happened = events.loads(text(turn, turn, call("look")))[0].events
    both = Recognition((Step((Call("pay"),)), Step((Call("bad"),))), "either")
    one = Recognition((Step((Call("pay"),)),), "sure")
    spy = Spy()
    judged = list(recorded.judge(spy, happened, lambda turns: [both, one]))
    assert [(j.index, j.tool, j.verdict.decision) for j in judged] == [
        (0, "", "undecided"),
        (1, "pay", "allow"),
        (2, "look", "allow"),
    ]
    assert [[c.tool for c in s.calls] for s in spy.asked[-1].steps] == [["pay"], ["look"]]
    with pytest.raises(RunsError, match=r"run 'a' \(line 1\) has a free-text turn"):
        list(recorded.judge(Spy(), happened))


def test_what_a_turn_in_free_text_tells_is_read_as_the_guard_s_tools_declare_it() -> None:
    spy = Spy(validator=Validator(Toolbox((Tool("pay"),), (Field("age", "integer"), Field("vip", "boolean")))))
    one = Recognition((Step((Call("pay"),), {"age": "old", "vip": True}),), "sure")
    happened = events.loads(text({"run": "a", "turn": {"task": "pay"}}))[0].events
    assert [j.verdict.decision for j in recorded.judge(spy, happened, lambda turns: [one])] == ["allow"]
    assert spy.asked[0].steps == (Step((Call("pay"),), {"vip": True}),)


def test_the_split_goes_by_the_name_and_the_seed_alone() -> None:
    names = [f"run {n}" for n in range(2000)]
    sides = [recorded.part(name) for name in names]
    assert 900 < sides.count("learning") < 1100 and set(sides) == {"learning", "held out"}
    assert sides == [recorded.part(name) for name in names] != [recorded.part(name, 1) for name in names]


def files(folder: Path) -> str:
    lines = [call("pay", f"r{n}", label="deny" if n % 3 else "allow") for n in range(40)]
    (folder / "one.jsonl").write_text(text(*lines[:20]), "utf-8")
    (folder / "two.jsonl").write_text(text(*lines[20:]), "utf-8")
    return f"{folder / 'one.jsonl'}, {folder / 'two.jsonl'}"


def test_learning_and_measuring_share_no_run(tmp_path: Path) -> None:
    runs = files(tmp_path)
    whole = recorded.benchmark(tmp_path, runs=runs)
    taught = recorded.learning(tmp_path, Toolbox((Tool("pay"),)), None, runs=runs)
    assert {trace.id for trace in taught.traces} == whole.tuned
    held = {case.id for case in recorded.benchmark(tmp_path, "held out", runs=runs).cases}
    assert held and whole.tuned and held | whole.tuned == {case.id for case in whole.cases}
    assert not held & whole.tuned and len(whole.cases) == 40
    assert all(trace.denied == (int(trace.id[1:-2]) % 3 > 0) for trace in taught.traces)
    with pytest.raises(RunsError, match="split must be one of"):
        recorded.benchmark(tmp_path, "tuned", runs=runs)


def test_runs_of_two_files_have_names_of_their_own_and_some_call_a_label(tmp_path: Path) -> None:
    one = files(tmp_path).split(",")[0]
    with pytest.raises(RunsError, match=r"'r0' again \(line 1\)"):
        recorded.read(f"{one},{one}")
    (tmp_path / "bare.jsonl").write_text(text(call("pay")), "utf-8")
    with pytest.raises(RunsError, match="a label was required"):
        recorded.read(str(tmp_path / "bare.jsonl"))
    with pytest.raises(EventError, match="readable file"):
        recorded.read(str(tmp_path / "absent.jsonl"))


def test_a_labelled_call_is_learned_with_what_was_done_before_it() -> None:
    lines = [call("look"), result(), call("bad", label="deny"), call("pay", label="allow"), result(error=True)]
    (run,) = events.loads(text(*lines, call("pay", label="allow")))
    traces = list(recorded.labelled([run]))
    assert [t.denied for t in traces] == [True, False, False]
    assert [[c.tool for s in t.steps for c in s.calls] for t in traces] == [
        ["look", "bad"],
        ["look", "pay"],
        ["look", "pay"],
    ]


def test_what_a_result_tells_of_the_state_is_learned_with_a_call_as_it_is_judged() -> None:
    """A field from a result, in learning as where the run is judged: 04 and 07 see one state."""
    weight = {"name": "grams", "type": "integer", "from": {"result": "weigh", "path": "grams"}}
    box = tools.parse(json.dumps({"tools": [{"name": "weigh"}, {"name": "fly"}], "state": [weight]}))
    lines = [
        call("fly", label="deny"),
        call("weigh"),
        {"run": "a", "result": {"grams": 900}},
        call("fly", label="allow"),
    ]
    (run,) = events.loads(text(*lines))
    assert [dict(t.steps[-1].state) for t in recorded.labelled([run], box)] == [{}, {"grams": 900}]
    assert [dict(t.steps[-1].state) for t in recorded.labelled([run])] == [{}, {}], "without a toolbox nothing says so"


def test_a_baseline_sees_the_words_the_call_and_the_state() -> None:
    lines = [
        {"run": "a", "say": {"role": "user", "text": "pay it"}},
        {"run": "a", "state": {"age": 9}},
        call("look"),
        {"run": "a", "call": {"tool": "pay", "arguments": {"sum": 3}}, "label": "deny"},
    ]
    (run,) = events.loads(text(*lines))
    assert list(recorded.seen(run)) == [
        ("a#1", Observation("pay it", "", ("look()",), "pay(sum=3)", "", {"age": 9}), True)
    ]


def test_a_baseline_sees_what_results_told_as_a_guard_does_and_nothing_before_they_came() -> None:
    weight = {"name": "grams", "type": "integer", "from": {"result": "weigh", "path": "grams"}}
    box = tools.parse(json.dumps({"tools": [{"name": "weigh"}, {"name": "fly"}], "state": [weight]}))
    lines = [
        {"run": "a", "state": {"age": 9, "grams": 1}},  # what is told of a field with a source, no guard reads
        call("fly", label="deny"),
        {"run": "a", "call": {"tool": "weigh", "arguments": {}}, "call_id": "w"},
        call("fly", label="deny"),
        {"run": "a", "result": {"grams": 900}, "call_id": "w"},
        call("fly", label="allow"),
    ]
    (run,) = events.loads(text(*lines))
    turns = [turn for _, turn, _ in recorded.seen(run, box)]
    assert [dict(turn.state) for turn in turns] == [{"age": 9, "grams": one} for one in (None, None, 900)]
    assert [turn.previous_actions for turn in turns] == [(), ("weigh()",), ('weigh() gave {"grams": 900}',)]
    rows = [baselines.shown(baselines.observed(turn))[0] for turn in turns]
    assert [(row["known"], row.get("not known")) for row in rows] == [
        ({"age": 9}, ["grams"]),
        ({"age": 9}, ["grams"]),
        ({"age": 9, "grams": 900}, None),
    ]


def test_a_baseline_is_told_nothing_of_fields_that_a_broken_recording_cannot_tell() -> None:
    weight = {"name": "grams", "type": "integer", "from": {"result": "weigh", "path": "grams"}}
    box = tools.parse(json.dumps({"tools": [{"name": "weigh"}, {"name": "fly"}], "state": [weight]}))
    made = (
        events.Asked(Call("weigh", {})),
        events.Result({"grams": 9}, False, "odd"),
        events.Asked(Call("fly", {}), "deny"),
    )
    run = SimpleNamespace(id="a", events=[events.Event("a", one) for one in made])  # a `Run` would refuse it
    assert [dict(turn.state) for _, turn, _ in recorded.seen(run, box)] == [{"grams": None}]


def test_the_table_of_a_notebook_counts_what_the_replay_judged(tmp_path: Path) -> None:
    benchmark = recorded.benchmark(tmp_path, runs=files(tmp_path))
    done = compare.measured(Spy(), benchmark, compare.recognised(benchmark, Toolbox(), _Engine()))
    by_part = {row["split"]: row for row in compare.counted([done], benchmark)}
    assert set(by_part) == {"all", "learning", "held out"} and by_part["all"]["n"] == 40
    assert by_part["all"]["counts"] == {"tp": 0, "fp": 0, "fn": 26, "tn": 14, "undecided": 0}
    again = recorded.outcomes(recorded.judge(Spy(), (e for run in benchmark.runs for e in run.events)))
    assert evaluate.confusion(again) == evaluate.confusion(done.outcomes)
    assert [o.case for o in done.outcomes] == [case.id for case in benchmark.cases]
    assert "held out; 26 are to be denied" in str(benchmark)


def test_the_last_call_of_a_run_is_counted_with_its_run_whatever_is_judged_first(tmp_path: Path) -> None:
    lines = [call(tool, run, label="deny") for run in ("x", "y") for tool in ("pay", "bad")]
    (tmp_path / "runs.jsonl").write_text(text(*lines[:1], *lines[2:], lines[1]), "utf-8")
    benchmark = recorded.benchmark(tmp_path, runs=str(tmp_path / "runs.jsonl"))
    done = compare.measured(Spy(), benchmark, compare.recognised(benchmark, Toolbox(), _Engine()))
    assert [o.case for o in done.outcomes] == ["x#0", "x#1", "y#0", "y#1"] == [case.id for case in benchmark.cases]
    assert [o.verdict.decision for o in done.outcomes] == ["allow", "deny"] * 2


class _Engine:
    """An engine with a ledger, which nothing asks."""

    class ledger:
        class total:
            queries = 0


def test_without_recorded_runs_a_policy_is_measured_on_its_own_benchmark(tmp_path: Path) -> None:
    (tmp_path / "policy.md").write_text("Ask first.", "utf-8")
    assert recorded.benchmark(tmp_path) == mind2web.Benchmark() == recorded.benchmark(tmp_path, "tuned")
    box = Toolbox((Tool("pay"),))
    assert recorded.learning(tmp_path, box, LLM(Offline(box))) == mind2web.Labelled(())
    tuned = recorded.benchmark("web_tasks", "tuned")
    assert tuned == mind2web.of_policy("web_tasks", "tuned") and {case.id for case in tuned.cases} == tuned.tuned


def test_the_labelled_runs_beside_a_policy_are_its_own_and_others_that_are_given_win(tmp_path: Path) -> None:
    (tmp_path / "policy.md").write_text("Ask first.", "utf-8")
    given = files(tmp_path)
    (tmp_path / "labelled.jsonl").write_text(text(*(call("pay", f"own{n}", label="deny") for n in range(12))), "utf-8")
    own = recorded.benchmark(tmp_path)
    assert len(own.cases) == 12 and len(recorded.benchmark(tmp_path, runs=given).cases) == 40
    box = Toolbox((Tool("pay"),))
    sides = [recorded.learning(tmp_path, box, None, side=side).traces for side in recorded.SPLITS]
    assert {trace.id for trace in sides[0]} == own.tuned and all(sides)
    assert {trace.id for side in sides for trace in side} == {case.id for case in own.cases}
    (tmp_path / "labelled.jsonl").write_text(text(call("pay", "r1")), "utf-8")
    with pytest.raises(RunsError, match="at least one call with a label was required"):
        recorded.benchmark(tmp_path)


def test_the_labelled_runs_of_a_single_document_bear_its_name(tmp_path: Path) -> None:
    (tmp_path / "desk.md").write_text("Ask first.", "utf-8")
    (tmp_path / "labelled.jsonl").write_text(text(call("pay", "r1", label="deny")), "utf-8")
    assert not recorded.benchmark(tmp_path / "desk.md").cases
    (tmp_path / "labelled.jsonl").rename(tmp_path / "desk.labelled.jsonl")
    assert len(recorded.benchmark(tmp_path / "desk.md").cases) == 1
