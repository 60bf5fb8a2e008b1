"""A verdict that depends on a time says why there is none: no zone, no time, or one that ran backwards."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wb.bench import recorded
from wb.domain import events, lookups, tools
from wb.domain.judging import decide, explained
from wb.domain.trace import Call, Step, Trace, Verdict
from wb.guards import contract, examples
from wb.guards.runtime import BACKWARDS, CallGuard, Guarded
from wb.logic import times
from wb.rules import rulefile

RULES = """
predicates:
  check: {kind: action, tools: [check], objects: [call.id]}
  pay: {kind: action, tools: [pay], objects: [call.id]}
  refund: {kind: action, tools: [refund]}
  checked: {kind: action, tools: [check]}
  fine: {kind: state, test: now < timestamp(state.order.until)}
rules:
  - {id: r1, formula: "ALWAYS (pay(o) IMPLIES ONCE[<= 1h] check(o))", modality: permit_only_if}
  - {id: r2, formula: "ALWAYS (pay(o) IMPLIES fine)", modality: permit_only_if}
  - {id: r3, formula: "ALWAYS (refund IMPLIES ONCE[<= 1h] checked)", modality: permit_only_if}
"""
ID = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
BOX = {
    "tools": [{"name": name, "parameters": ID} for name in ("check", "pay", "refund")],
    "state": [
        {"name": "now", "type": "string", "from": "clock"},
        {"name": "order", "type": "object", "properties": {"until": {"type": "string"}}},
    ],
}
LATE = "2027-01-01T00:00:00Z"


@pytest.fixture(scope="module")
def guard() -> CallGuard:
    return made(BOX)


def made(listed: dict) -> CallGuard:
    box, rules = tools.parse(json.dumps(listed)), rulefile.loads(RULES)
    kept = [Guarded(one, examples.function(one, one.allows), "tested") for one in contract.contracts(box, rules)]
    return CallGuard("g", rules, tuple(kept), frozenset({"tested"}), box)


SAID = {  # the time of a check, that of what comes after it, until when it may; and what is said of the time
    "all is well": ("2026-01-01T00:00:00Z", "2026-01-01T00:30:00+00:00", LATE, ""),
    "no zone": ("2026-01-01T00:00:00", "2026-01-01T00:30:00", LATE, 'required; "2026-01-01T00:30:00" has no zone'),
    "a date": ("2026-01-01T00:00:00Z", "2026-01-02", LATE, 'required; "2026-01-02" has no zone'),
    "backwards": ("2026-01-01T00:30:00Z", "2026-01-01T00:00:00Z", LATE, BACKWARDS),
}
UNTIL = {
    "no time": (
        "tomorrow",
        'state.order.until: a time such as 2026-01-31T09:00:00Z was required; "tomorrow" is no time',
    ),
    "no zone": ("2027-01-01T00:00:00", 'state.order.until: a time such as 2026-01-31T09:00:00Z was required; "2027-'),
    "no such day": ("2027-02-30T00:00:00Z", "is no time"),
}


def verdict(guard: CallGuard, first: str, then: str, until: str, tool: str, way: str) -> Verdict:
    if way == "live":
        ticks = iter([first, then])
        one = guard.session(clock=lambda: next(ticks))
        one.state({"order": {"until": until}})
        one.call("check", {"id": "a"})
        return one.call(tool, {"id": "a"})
    rows = [
        {"state": {"order": {"until": until}}},
        {"call": {"tool": "check", "arguments": {"id": "a"}}, "time": first},
        {"call": {"tool": tool, "arguments": {"id": "a"}}, "time": then},
    ]
    text = "\n".join(json.dumps({"run": "r", **row}) for row in rows)
    return list(recorded.judge(guard, [e for run in events.loads(text) for e in run.events]))[-1].verdict


@pytest.mark.parametrize("way", ["live", "recorded"])
@pytest.mark.parametrize("tool", ["pay", "refund"])
@pytest.mark.parametrize(("first", "then", "until", "why"), SAID.values(), ids=SAID)
def test_a_time_that_tells_nothing_is_named(guard, first: str, then: str, until: str, why: str, tool: str, way: str):
    found = verdict(guard, first, then, until, tool, way)
    assert found.decision == ("undecided" if why else "allow") and why in found.reason
    assert ("state.now" in found.reason) is bool(why)


@pytest.mark.parametrize("tool", ["pay", "refund"])
def test_a_call_without_a_time_says_where_one_is_told(guard, tool: str) -> None:
    """As a recording without `time` and as a clock that fails; where nothing comes from a clock, that is said."""
    rows = [{"call": {"tool": name, "arguments": {"id": "a"}}} for name in ("check", tool)]
    text = "\n".join(json.dumps({"run": "r", **row}) for row in rows)
    happened = [e for run in events.loads(text) for e in run.events]
    told = list(recorded.judge(guard, happened))[-1].verdict
    broken = guard.session(clock=lambda: None)
    broken.call("check", {"id": "a"})
    assert told == broken.call(tool, {"id": "a"}) and told.decision == "undecided"
    assert told.reason.endswith(f"; state.now: {lookups.TIMELESS}") and '"time": "2026' in told.reason
    plain = made({**BOX, "state": BOX["state"][1:]}).session()
    plain.call("check", {"id": "a"})
    assert '"from": "clock"' in plain.call(tool, {"id": "a"}).reason


@pytest.mark.parametrize("way", ["live", "recorded"])
@pytest.mark.parametrize(("until", "why"), UNTIL.values(), ids=UNTIL)
def test_a_text_that_is_no_time_is_named_with_its_place(guard, until: str, why: str, way: str) -> None:
    found = verdict(guard, "2026-01-01T00:00:00Z", "2026-01-01T00:30:00Z", until, "pay", way)
    assert found.decision == "undecided" and why in found.reason and "state.now:" not in found.reason


def test_once_time_ran_backwards_it_is_said_of_every_window(guard) -> None:
    ticks = iter([f"2026-01-01T00:{minutes}:00Z" for minutes in ("30", "20", "40", "50")])
    one = guard.session(clock=lambda: next(ticks))
    one.state({"order": {"until": LATE}})
    one.call("check", {"id": "a"}), one.call("check", {"id": "b"})
    assert BACKWARDS in one.call("pay", {"id": "a"}).reason
    assert BACKWARDS in one.call("refund", {"id": "a"}).reason


def test_a_trace_is_told_alike(guard) -> None:
    steps = [Step((Call(tool, {"id": "a"}),), {"now": "2026-01-01", "order": {}}) for tool in ("check", "refund")]
    assert "has no zone" in decide(guard, Trace("t", tuple(steps), None)).reason


def test_only_what_is_not_known_is_explained() -> None:
    state = {"now": "2026-01-01"}
    for known in (
        Verdict("allow", "so"),
        Verdict("deny", "so"),
        Verdict("undecided", "so", missing=("state.nowhere",)),
    ):
        assert explained(known, {}, state) == known
    asked = Verdict("undecided", "so", missing=("ONCE[<= 1h] check by state.now",))
    assert explained(asked, {}, {"now": LATE}) == asked
    assert explained(asked, {}, {}) == replace(
        asked,
        reason='so; state.now: a time was required; got none: {"name": "now", "type": "string", "from": "clock"} in '
        "tools.json is one",
    )
    assert explained(asked, {"now": "it is late"}, {}).reason == "so; state.now: it is late"
    quoted = Verdict("undecided", "so", missing=('state.text == "call me \\"now\\" or now"',))
    assert explained(quoted, {}, {}) == quoted, "a text asks for no time"
    assert explained(asked, {}, state) == replace(
        asked, reason='so; state.now: a time such as 2026-01-31T09:00:00Z was required; "2026-01-01" has no zone'
    )


@given(st.datetimes(), st.sampled_from(["", "Z", "+01:00", "-05:30"]), st.sampled_from(["T", " "]))
def test_a_time_has_no_problem_where_it_is_a_moment(when, zone: str, between: str) -> None:
    text = when.isoformat(between) + zone
    assert (times.problem(text) == "") is (times.timestamp(text) is not None)
    if not zone:
        assert times.problem(text) == "has no zone"
    assert times.problem(f"{text}x") == "is no time" and times.problem("9" * 10_000) == "is no time"
