"""No hostile call is allowed, none raises or hangs, and every benign twin is allowed, whatever the guard."""

from __future__ import annotations

import io
import json
import math
import signal
from contextlib import contextmanager

import hostile_calls as corpus
import pytest
from hostile_calls import BENIGN, CASES, FINE, RULES, TOOLBOX, Case
from loopback import Say, Scripted
from test_baseline import asking

from wb.bench import baselines, recorded
from wb.domain import events, judging, policy
from wb.domain.events import EventError, Observation, Recognition
from wb.domain.session import Session, SessionError
from wb.domain.trace import Call, Step, Trace, Verdict, permitted
from wb.guards.contract import assemble, contracts
from wb.guards.runtime import CallGuard, Guarded
from wb.shield import circuit
from wb.shield.shield import Shield

POLICY = policy.of_text(corpus.POLICY, TOOLBOX)
CALLS = [case for case in CASES if case.state is FINE]  # the others are hostile in the state alone


def code_guard(name: str, grade: str, accepted: set[str]) -> CallGuard:
    """Code that denies where a condition of the contract fails, for every tool."""
    entries = []
    for made in contracts(TOOLBOX, RULES):
        tests = [f"    if not ({item.condition}):\n        return (False, {item.rule!r})\n" for item in made.items]
        code = f"{made.signature}\n{''.join(tests)}    return (True, 'no rule is broken')\n"
        entries.append(Guarded(made, assemble(code, made), grade))
    return CallGuard(name, RULES, tuple(entries), frozenset(accepted), TOOLBOX)


def shield() -> Shield:
    """One circuit an action, of all rules that mention it."""
    actions = [p.name for p in RULES.predicates if p.kind == "action"]
    by_action = {name: [r.id for r in RULES.rules if name in r.predicates] for name in actions}
    built = circuit.build(RULES, {name: ids for name, ids in by_action.items() if ids})
    return Shield(RULES.predicates, built, toolbox=TOOLBOX)


JUDGES = {
    "veriguard": code_guard("veriguard", "proved", {"proved"}),
    "toolguard": code_guard("toolguard", "tested", {"tested", "proved"}),
    "shieldagent": shield(),
}
KINDS = pytest.mark.parametrize("judge", JUDGES.values(), ids=JUDGES.keys())
SHOWN = Step((Call("show_total"),), FINE)


@contextmanager
def within(seconds: float):
    """An error where the block takes longer, as one that never ends would."""

    def late(*_: object) -> None:
        raise AssertionError(f"more than {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def decided(judge, case: Case) -> Verdict:
    return judge.decide(Trace("t", (SHOWN, Step((Call(case.tool, case.arguments),), case.state))))


def twin(judge, case: Case) -> Verdict:
    return judge.decide(Trace("t", (SHOWN, Step((Call(case.twin, BENIGN[case.twin]),), FINE))))


def test_the_corpus_is_large_and_its_cases_differ() -> None:
    assert len(CALLS) >= 300 and len({case.name for case in CASES}) == len(CASES)
    assert sum(corpus.is_json(case.arguments) for case in CASES if type(case.tool) is str) >= 100


@KINDS
def test_no_hostile_call_is_allowed_and_none_raises(judge) -> None:
    for case in CASES:
        with within(5):
            verdict = decided(judge, case)
        assert not permitted(verdict), (case.name, verdict)
        if case.state is FINE and case.tool is case.twin:
            assert (verdict.decision, verdict.grade) == ("deny", "error") and "required" in verdict.reason, case.name
        assert permitted(twin(judge, case)), case.name


@KINDS
def test_a_session_survives_every_hostile_call_and_allows_the_twin_after_it(judge) -> None:
    log = io.StringIO()
    for case in CASES:
        one = Session(judge, log=log)
        with within(5):
            one.state(FINE)
            assert permitted(one.call("show_total"))
            one.state(case.state)
            verdict = one.call(case.tool, case.arguments)
            assert not permitted(verdict), (case.name, verdict)
            one.state(FINE)
            assert permitted(one.call(case.twin, BENIGN[case.twin])), case.name
    rows = [json.loads(line) for line in log.getvalue().splitlines()]
    assert len(rows) == 3 * len(CASES) and all(row["reason"] for row in rows)


@KINDS
def test_a_hostile_value_in_a_past_step_ends_no_later_decision(judge) -> None:
    for case in CASES:
        past = Step((Call(case.tool, case.arguments),), case.state)
        with within(5):
            verdict = judge.decide(Trace("t", (SHOWN, past, Step((Call(case.twin, BENIGN[case.twin]),), FINE))))
        assert permitted(verdict), (case.name, verdict)


@KINDS
def test_recorded_calls_are_judged_alike(judge) -> None:
    """What an agent can send as JSON, through the reader and the judge of recorded runs."""
    found = [case for case in CASES if type(case.tool) is str and type(case.state) is dict]
    found = [case for case in found if corpus.is_json(case.arguments) and corpus.is_json(case.state)]
    for case in found:
        lines = [
            {"state": FINE},
            {"call": {"tool": "show_total", "arguments": {}}},
            {"state": case.state},
            {"call": {"tool": case.tool, "arguments": case.arguments}},
            {"state": FINE},
            {"call": {"tool": case.twin, "arguments": BENIGN[case.twin]}},
        ]
        text = "\n".join(json.dumps({"run": "a", **line}) for line in lines)
        try:
            (run,) = events.loads(text)
        except EventError as error:
            assert "line 4" in str(error) and "required" in str(error), case.name
            continue
        first, hostile, benign = recorded.judge(judge, run.events)
        assert permitted(first.verdict) and permitted(benign.verdict) and not permitted(hostile.verdict), case.name
        assert (hostile.verdict.decision, hostile.verdict.reason) == (
            decided(judge, case).decision,
            decided(judge, case).reason,
        )
    assert len(found) > 100


@pytest.mark.parametrize(
    "line",
    [
        '{"tool": "upload_file", "arguments": {"name": "a", "size_mb": 99, "kind": "pdf", "size_mb": 1}}',
        '{"tool": "upload_file", "tool": "show_total", "arguments": {}}',
        '{"tool": "upload_file", "arguments": {"name": "a", "size_mb": NaN, "kind": "pdf"}}',
        '{"tool": "upload_file", "arguments": {"name": "a", "size_mb": 1e999, "kind": "pdf"}}',
        '{"tool": "upload_file", "arguments": {"owner": {"team": "a", "team": "b"}}}',
    ],
)
def test_a_line_with_a_key_twice_or_a_number_that_is_none_is_refused_by_its_number(line: str) -> None:
    with pytest.raises(EventError, match=r"line 2: .* was required"):
        events.loads('{"run": "a", "state": {}}\n{"run": "a", "call": ' + line + "}")


# ---- baselines ------------------------------------------------------------------------------------


def test_keywords_allow_no_hostile_call_and_every_twin() -> None:
    guard = baselines.Keywords(POLICY)
    assert {link.field for link in guard.links} == {"age", "agreed", "balance"}
    for case in CASES:
        if "role" not in case.name:  # no sentence of the document speaks of it
            with within(5):
                assert not permitted(decided(guard, case)), case.name
        assert permitted(twin(guard, case)), case.name


def yes(request: dict) -> Say:
    """A model that finds nothing wrong, whatever it is asked."""
    asked = "\n".join(message["content"] for message in request["messages"])
    code = [line for line in asked.splitlines() if line.strip().startswith("def check(")]
    if code:
        return Say(json.dumps({"code": f"{code[-1].strip()}\n    return (True, 'fine')\n"}))
    replies = (
        {"decision": "allow", "violated": [], "reason": "fine"},
        {"violated": "no", "reason": "fine"},
        {"sentences": [], "steps": []},
    )
    shown = json.dumps(request).replace("\\", "")
    return Say(json.dumps(next(reply for reply in replies if all(f'"{key}"' in shown for key in reply))))


@pytest.mark.parametrize("kind", ["direct", "rule_traverse", "guardagent"])
def test_a_model_that_allows_everything_is_not_asked_about_a_hostile_call(kind: str, tmp_path) -> None:
    with Scripted(yes) as server:
        llm = asking(server, tmp_path)
        guard = {
            "direct": lambda: baselines.Direct(POLICY, llm),
            "rule_traverse": lambda: baselines.RuleTraverse(RULES, llm, TOOLBOX),
            "guardagent": lambda: baselines.GuardAgent(POLICY, llm),
        }[kind]()
        with within(20):
            traces = [Trace("t", (SHOWN, Step((Call(c.tool, c.arguments),), c.state))) for c in CALLS]
            assert {v.decision for v in guard.decide_all(traces)} == {"deny"} and not server.requests
        for tool in BENIGN:
            assert permitted(guard.decide(Trace("t", (SHOWN, Step((Call(tool, BENIGN[tool]),), FINE)))))
        assert server.requests


# ---- order, and what was done ---------------------------------------------------------------------

ORDER, TOTAL = Call("place_order", BENIGN["place_order"]), Call("show_total")


def by_session(judge, calls) -> list[bool]:
    one = Session(judge)
    one.state(FINE)
    return [permitted(one.call(call.tool, call.arguments, step=1)) for call in calls]


def by_recording(judge, calls) -> list[bool]:
    lines = [{"call": {"tool": call.tool, "arguments": call.arguments}, "step": 1} for call in calls]
    text = "\n".join(json.dumps({"run": "a", **line}) for line in [{"state": FINE}, *lines])
    return [permitted(one.verdict) for one in recorded.judge(judge, events.loads(text)[0].events)]


@KINDS
def test_what_must_come_before_may_not_come_later_in_the_same_step(judge) -> None:
    for route in (by_session, by_recording):
        assert route(judge, (ORDER, TOTAL)) == [False, True], "not done yet when the order is asked for"
        assert route(judge, (TOTAL, ORDER)) == [True, True]
        assert route(judge, (ORDER, TOTAL, ORDER)) == [False, True, True]
    assert not permitted(judge.decide(Trace("t", (Step((ORDER, TOTAL), FINE),))))
    assert permitted(judge.decide(Trace("t", (Step((TOTAL, ORDER), FINE),))))


@KINDS
def test_every_call_of_a_turn_in_free_text_is_judged(judge) -> None:
    """Only the last one used to be, with the others taken as done."""
    turn = events.loads(json.dumps({"run": "a", "turn": {"task": "t", "state": FINE}}))[0].events
    for calls, allowed in ((("send_message", "show_total"), False), (("show_total", "show_total"), True)):
        step = Step(tuple(Call(tool, None) for tool in calls), FINE)
        (found,) = recorded.judge(judge, turn, lambda turns, step=step: [Recognition((step,), "sure")])
        assert permitted(found.verdict) is allowed, "who is written to is not known"


@KINDS
@pytest.mark.parametrize("why", ["denied", "failed", "not fitting"])
def test_a_call_that_was_only_attempted_was_not_done(judge, why: str) -> None:
    one = Session(judge)
    one.state(FINE)
    if why == "failed":
        assert permitted(one.call("show_total"))
        one.result("no", error=True)
    else:
        assert not permitted(one.call("show_total" if why == "not fitting" else "place_order", {"of": 1}))
    assert one.call("place_order", BENIGN["place_order"]).violated == ("shown",)


def test_a_baseline_sees_what_was_done_and_not_what_was_attempted() -> None:
    def call(tool: str, **beside: object) -> dict:
        return {"run": "a", "call": {"tool": tool, "arguments": {}}, **beside}

    def result(**beside: object) -> dict:
        return {"run": "a", "result": "x", **beside}

    lines = [
        call("one"),
        call("two", label="deny"),
        *(call("three"), result(error=True)),
        *(call("four", label="deny"), result()),
        *(call("five", call_id="f"), call("six"), result(call_id="f", error=True)),
        call("last", label="allow"),
    ]
    (run,) = events.loads("\n".join(map(json.dumps, lines)))
    *_, (_, seen, _) = recorded.seen(run)
    assert seen == Observation("", "", ("one()", 'four() gave "x"', "six()"), "last()", "", {})


# ---- the door -------------------------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize(
    ("tool", "changed", "reason"),
    [
        ("upload_file", {"size_mb": math.nan}, "upload_file: size_mb: a finite number was required; got nan"),
        ("place_order", {"total": []}, "place_order: total: integer was required; got array"),
        ("place_order", {"items": {"x": ["a"]}}, "place_order: items: array was required; got object"),
        ("place_order", {"items": [{"sku": "a"}, {}]}, "place_order: items[1].sku: a value was required; got none"),
        (
            "place_order",
            {"day": "today"},
            "place_order: day: pattern ^[0-9]{4}-[0-9]{2}-[0-9]{2}$ was required; got",
        ),
        ("place_order", {"total": 10**30}, "place_order: total: an integer of at most 64 bits was required; got one "),
        ("upload_file", {"kind": "рdf"}, 'upload_file: kind: one of "pdf", "png" was required; got "\\u0440df"'),
        ("send_message", {"cc": []}, "send_message: cc: one of the arguments to, text was required"),
        ("send_message", {"to": 1, "text": 2}, "send_message: to: array was required; got 1; text: string was requir"),
    ],
)
def test_a_refusal_says_what_was_required_and_got(judge, tool: str, changed: dict, reason: str) -> None:
    one = Session(judge)
    one.state(FINE)
    one.call("show_total")
    assert one.call(tool, BENIGN[tool] | changed).reason.startswith(reason)


@KINDS
def test_an_argument_that_is_missing_is_named(judge) -> None:
    verdict = Session(judge).call("send_message", {"text": "x"})
    assert verdict.reason == "send_message: to: a value was required; got none"


@KINDS
def test_what_is_unknown_because_it_does_not_fit_is_said(judge) -> None:
    call = Call("send_message", BENIGN["send_message"])
    for state, said in (
        ({**FINE, "agreed": "yes"}, 'state.agreed: boolean was required; got "yes"'),
        ({**FINE, "role": "admin"}, 'state.role: one of "owner", "guest" was required; got "admin"'),
        ([], "state: fields by name, a dict, were required; got array"),
    ):
        one = Session(judge)
        one.state(state)
        for verdict in (one.call(*vars_of(call)), judge.decide(Trace("t", (Step((call,), state),)))):
            assert verdict.decision == "undecided" and verdict.reason.endswith(said)
    other = Session(judge)
    other.state({**FINE, "age": "x", "agreed": None})
    assert "state.age" not in other.call(*vars_of(call)).reason, "it has no part in it"


def vars_of(call: Call) -> tuple:
    return call.tool, call.arguments


@KINDS
def test_a_whole_number_with_a_point_is_an_integer(judge) -> None:
    state = {**FINE, "age": 30.0, "balance": 80}
    fine = judge.decide(
        Trace("t", (SHOWN, Step((Call("place_order", BENIGN["place_order"] | {"total": 40.0}),), state)))
    )
    dear = judge.decide(
        Trace("t", (SHOWN, Step((Call("place_order", BENIGN["place_order"] | {"total": 501.0}),), state)))
    )
    assert permitted(fine) and "cheap" in dear.violated


@KINDS
def test_what_the_agent_changes_afterwards_does_not_change_what_was_judged(judge) -> None:
    arguments = {"to": ["ann"], "text": "x"}
    one = Session(judge)
    one.state(FINE)
    assert permitted(one.call("send_message", arguments, step=1))
    arguments["to"] += ["bob"] * 50
    assert one._present.calls[0].arguments == {"to": ("ann",), "text": "x"}


def test_only_texts_are_said_and_a_failure_is_true_or_false() -> None:
    one = Session(JUDGES["veriguard"])
    for told in ((corpus.Fatal(), "x"), ("assistant", corpus.Fatal()), (corpus.Text("user"), "x")):
        with pytest.raises(SessionError, match="two texts"):
            one.say(*told)
    one.call("show_total")
    with pytest.raises(SessionError, match="whether it failed"):
        one.result("x", error=corpus.Yes())


def test_a_judge_that_gives_no_verdict_denies() -> None:
    class Silent:
        def judge(self, step: Step) -> None:
            return None

    verdict = judging.judged(Silent(), Step((Call("show_total"),)))
    assert (verdict.decision, verdict.grade) == ("deny", "error") and "a verdict was required" in verdict.reason
