"""Calls whose results are awaited, may never come or say what nobody expected: a verdict is right whatever comes, and a
recording gives the verdicts that the session gave.

`python tests/test_awaited.py 20000` compares that many random conversations; a number before it is the first.
"""

from __future__ import annotations

import io
import json
import random
import sys
from itertools import product
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import test_same_object as same  # noqa: E402

from wb.bench import recorded  # noqa: E402
from wb.domain import events, session, tools  # noqa: E402
from wb.domain.session import AWAITED, SEVERE, Judge, Session  # noqa: E402
from wb.domain.trace import Call, Step  # noqa: E402
from wb.guards import contract, examples  # noqa: E402
from wb.guards.runtime import CallGuard, Guarded  # noqa: E402
from wb.rules import rulefile  # noqa: E402
from wb.rules.rule import RuleSet  # noqa: E402
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
    assert waiting.decision == "deny" and waiting.violated == ("checked",)
    assert "check (call 1) has no result yet; tell it with `result`" in waiting.reason
    one.result("fine", "1")
    assert one.call("pay", A).decision == "allow"
    assert one.call("cancel", A, call_id="2").decision == "allow"
    waiting = one.call("pay", A)
    assert waiting.violated == ("cancelled",) and "cancel (call 2) has no result yet" in waiting.reason
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


def test_a_call_without_an_id_counts_until_an_error_is_told_and_too_late_an_error_ends_permission() -> None:
    one = Session(GUARD)
    one.call("check", A)
    assert one.call("pay", A).decision == "allow"
    one = Session(GUARD)
    one.call("check", A), one.result("no", error=True)
    assert one.call("pay", A).violated == ("checked",)
    one = Session(GUARD)
    one.call("check", A)
    one.say("assistant", "Checked."), one.say("assistant", "Or not.")
    one.result("no", error=True)
    ended = one.call("pay", A)
    assert ended.decision == "undecided" and "failed after its step was over" in ended.reason


def test_only_calls_that_may_matter_are_awaited() -> None:
    one = Session(GUARD)
    one.call("check", A), one.result("fine")
    for number in range(3 * AWAITED):
        assert one.call("get", A, call_id=f"get {number}").decision == "allow"
    assert one.call("pay", A).decision == "allow", "no rule speaks of reading"
    for number in range(AWAITED + 1):
        assert one.call("check", {"id": str(number)}, call_id=str(number)).decision == "allow"
    many = one.call("get", A)
    assert many.decision == "undecided" and f"at most {AWAITED} may be waited for" in many.reason
    assert "check (call 0), check (call 1)" in many.reason
    one.result("fine", "3")
    assert one.call("get", A).decision == "allow"


def test_what_ran_although_it_was_not_allowed_has_happened() -> None:
    for failed in (False, True):
        one = Session(GUARD)
        one.call("check", A)
        assert one.call("pay", {"id": "c"}, 1, call_id="1").decision == "deny"
        for name in ("x", "y"):
            one.call("cancel", A, 1, call_id=name), one.result("done", name)
        assert one.call("cancel", A, 1, call_id="3").decision == "deny"
        one.result("done", "1", error=failed)
        assert [call.tool for call in one._present.calls] == ["pay"] * (not failed) + ["cancel"] * 2, "in its place"
    one = Session(GUARD)
    assert one.call("pay", A, call_id="1").decision == "deny"
    one.call("get", A)
    one.result("paid", "1")
    late = one.call("get", A)
    assert late.decision == "undecided" and "call 1 was not allowed and ran all the same" in late.reason


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


# ---- whatever comes ---------------------------------------------------------------------------------


class Told:
    """What happened in a conversation, kept apart from any session: its steps, and of each call whether it was done,
    None where nobody knows."""

    def __init__(self, judge: Judge) -> None:
        self.judge, self.steps = judge, []

    def open(self) -> list[list]:
        return [call for _, calls in self.steps for call in calls if call[1] is None]

    def expected(self, call: Call, counts: bool) -> str:
        """The most severe decision on a call of the last step, in all worlds, each told from its beginning."""
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
            found.add(session.judged(watch, Step((*last.calls, call), last.state)).decision)
        return min(found, key=SEVERE.index)


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
    many, waited = compared(range(250))
    assert many > 1000 and waited > 500


if __name__ == "__main__":
    first, last = map(int, sys.argv[-2:]) if len(sys.argv) > 2 else (0, int(sys.argv[1]))
    print("{} verdicts compared, {} of them while a result was awaited: 0 differ".format(*compared(range(first, last))))
