"""How verdicts are made, joined and told, each by itself; and which cannot be made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from wb.domain import judging
from wb.domain.judging import decide, explained, held, joined, judged, refused, said, turn
from wb.domain.trace import Call, Open, Step, Trace, Verdict, permitted
from wb.domain.validation import Refused, Validator

ALLOW, DENY, UNSURE = Verdict("allow", "fine"), Verdict("deny", "no", ("r",)), Verdict("undecided", "perhaps")


@dataclass
class Spy:
    """A judge that answers by the name of the tool, and keeps what it is shown."""

    answers: dict[str, Any] = field(default_factory=dict)
    seen: list[tuple] = field(default_factory=list)
    validator: Validator = field(default_factory=Validator)
    name: str = "spy"

    def watch(self) -> Spy:
        return self

    def judge(self, step: Step) -> Any:
        self.seen.append(("judge", [call.tool for call in step.calls], dict(step.state), step.text))
        found = self.answers.get(step.calls[-1].tool, ALLOW)
        if isinstance(found, Exception):
            raise found
        return found

    def remember(self, step: Step) -> None:
        self.seen.append(("remember", [call.tool for call in step.calls], dict(step.state), step.text))
        if "broken" in [call.tool for call in step.calls]:
            raise ValueError("gone")


def step(*names: str, **state: Any) -> Step:
    return Step(tuple(Call(name) for name in names), state, "said")


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (DENY, DENY),
        ("allow", Verdict("deny", 'b: the decision broke: a verdict was required; got "allow"', grade="error")),
        (None, Verdict("deny", "b: the decision broke: a verdict was required; got null", grade="error")),
        (ValueError("no"), Verdict("deny", "b: the decision broke: ValueError: no", grade="error")),
    ],
)
def test_what_a_judge_answers_is_a_verdict_whatever_it_is(answer: Any, found: Verdict) -> None:
    assert judged(Spy({"b": answer}), step("a", "b", "b")) == found


def test_a_call_that_does_not_fit_is_denied_for_its_reason() -> None:
    assert refused(Refused(Call("a"), None, "no")) == Verdict("deny", "a: no", grade="error")


def test_what_refuses_to_be_shown_is_told_by_its_type() -> None:
    class Silent:
        def __str__(self) -> str:
            raise RuntimeError

    assert said(Silent()) == "Silent" and said("x" * 300) == "str: " + "x" * 195


def test_a_trace_is_judged_step_by_step_and_call_by_call() -> None:
    spy = Spy({"no": DENY, "hm": UNSURE})
    assert decide(spy, Trace("t", (step("x", s=1), step("y"), step("a", "no", "hm", "b", s=2)))) == DENY
    assert spy.seen == [
        ("remember", ["x"], {"s": 1}, "said"),
        ("remember", ["y"], {}, "said"),
        ("judge", ["a"], {"s": 2}, "said"),
        ("judge", ["a", "no"], {"s": 2}, "said"),
        ("judge", ["a", "hm"], {"s": 2}, "said"),
        ("judge", ["a", "b"], {"s": 2}, "said"),
    ]
    assert decide(spy, Trace("t", (step("broken"), step("a")))) == Verdict(
        "deny", "what was done cannot be read: ValueError: gone", grade="error"
    )
    assert turn(spy, Validator(), step()) == Verdict("allow", "the step calls no tool")
    assert turn(spy, Validator(), step("a")) == ALLOW and turn(spy, Validator(), step("a", "hm")) == UNSURE
    odd = Step((Call("a", {"x": {1}}),), {"s": {1}})
    assert turn(spy, Validator(), odd) == Verdict("deny", "a: x: a JSON value was required; got set", grade="error")
    missed = Spy({"a": Verdict("undecided", "so", missing=("state.s",))})
    why = "so; state.s: a JSON value was required; got set"
    assert turn(missed, Validator(), Step((Call("a"),), {"s": {1}})).reason == why


@pytest.mark.parametrize(
    ("verdicts", "found"),
    [
        ([ALLOW, UNSURE, DENY], DENY),
        ([DENY, UNSURE], DENY),
        ([ALLOW, UNSURE, ALLOW], UNSURE),
        ([ALLOW, ALLOW], ALLOW),
        (
            [
                Verdict("deny", "a", ("r", "s"), "tested", ("R.", "S.")),
                Verdict("deny", "b", ("s", "t"), "proved", ("S.", "T.")),
                Verdict("allow", "c", grade="stub"),
            ],
            Verdict("deny", "a; b", ("r", "s", "t"), "tested", ("R.", "S.", "T.")),
        ),
        (
            [Verdict("deny", "a", ("r",), "tested"), Verdict("deny", "a", ("s",), "error", ("S.",))],
            Verdict("deny", "a", ("r", "s"), "error", ("r", "S.")),
        ),
        (
            [Verdict("deny", "a", ("r",), "proved"), Verdict("deny", "b", ("s",), "tested")],
            Verdict("deny", "a; b", ("r", "s"), "proved"),
        ),
        (
            [
                Verdict("undecided", "a", missing=("x", "y"), open=("o",)),
                Verdict("undecided", "b", missing=("y", "z"), open=("o", "p")),
            ],
            Verdict("undecided", "a; b", missing=("x", "y", "z"), open=("o", "p")),
        ),
    ],
)
def test_of_several_calls_the_severest_verdict_counts(verdicts: list[Verdict], found: Verdict) -> None:
    assert joined(verdicts) == found
    assert joined(verdicts[:1]) is verdicts[0]


def test_verdicts_that_say_too_little_of_their_rules_cannot_be_joined() -> None:
    with pytest.raises(ValueError, match="shorter"):
        joined([Verdict("deny", "a", ("r", "s"), quotes=("R.",)), DENY])


@pytest.mark.parametrize(
    ("missing", "strange", "state", "told"),
    [
        ((), {"a": "no"}, {}, ""),
        (("state.a",), {"a": "no"}, {}, "; state.a: no"),
        (("state.ab",), {"a": "no"}, {}, ""),
        (("state.a",), {"b": "no", "": "none"}, {}, "; state: none"),
        (
            ("timestamp(state.a.b)",),
            {},
            {"a": {"b": "soon"}},
            '; state.a.b: a time such as 2026-01-31T09:00:00Z was required; "soon" is no time',
        ),
        (("timestamp(state.a.b)",), {}, {"a": {"b": "2026-01-31T09:00:00Z"}}, ""),
        (("timestamp(state.a.b)",), {}, {"a": {"b": 7}}, ""),
        (("timestamp(state.a.b)",), {}, {"a": "soon"}, ""),
        (("timestamp(state.a.b)",), {}, {}, ""),
        (("now", "now + 1"), {}, {}, f"; state.now: {judging.NOW}"),
        (("timestamp(state.now)",), {}, {"now": None}, f"; state.now: {judging.NOW}"),
        (("now",), {"now": "no"}, {}, "; state.now: no"),
        (("now",), {}, {"now": 7}, ""),
    ],
)
def test_what_is_missed_is_explained_where_the_state_tells_it(
    missing: tuple, strange: dict, state: dict, told: str
) -> None:
    one = Verdict("undecided", "so", missing=missing)
    found = explained(one, strange, state)
    assert found.reason == f"so{told}" and (found is one) is (not told)
    denied = Verdict("deny", "so", missing=missing)
    assert explained(denied, strange, state) is denied


@pytest.mark.parametrize(
    ("verdict", "names", "found"),
    [
        (ALLOW, "", ALLOW),
        (
            ALLOW,
            "a",
            Verdict("undecided", "t: a sentence that may forbid it is open: “Text a.” (a)", open=("a",)),
        ),
        (
            UNSURE,
            "ab",
            Verdict(
                "undecided",
                "perhaps; 2 sentences that may forbid it are open: “Text a.” (a); “Text b.” (b)",
                open=("a", "b"),
            ),
        ),
        (DENY, "a", Verdict("deny", "no", ("r",), open=("a",))),
    ],
)
def test_open_sentences_hold_what_would_be_allowed(verdict: Verdict, names: str, found: Verdict) -> None:
    assert held(verdict, "t", [Open(name, f"Text {name}.") for name in names]) == found


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"decision": "maybe"}, "decision must be allow, deny or undecided; got 'maybe'"),
        ({"reason": ""}, "a verdict needs a reason; 'deny' came without one"),
        ({"decision": "allow", "violated": ("r",)}, "violated rules imply 'deny'"),
        ({"decision": "undecided", "violated": ("r",)}, "violated rules imply 'deny'"),
        ({"decision": "allow", "open": ("o",)}, "an open sentence that bears on a call excludes 'allow'"),
    ],
)
def test_a_verdict_that_contradicts_itself_is_none(given: dict, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Verdict(**{"decision": "deny", "reason": "so", **given})


def test_a_verdict_is_what_it_says() -> None:
    for decision in ("allow", "deny", "undecided"):
        assert permitted(Verdict(decision, "so")) is (decision == "allow")
        assert Verdict(decision, "so").grade == "none"
    assert Verdict("deny", "so", ("r",), open=("o",)) and Verdict("undecided", "so", open=("o",))


def test_a_trace_has_a_step_and_a_step_has_its_calls_in_order() -> None:
    with pytest.raises(ValueError, match="a trace has at least one step; 't' has none"):
        Trace("t", ())
    assert Trace("t", (step(),)).denied is None
    for one in (step(), step("a", s=1)):
        assert one.in_order == (one,) and one.in_order[0] is one
    assert step("a", "b", s=1).in_order == (step("a", s=1), step("b", s=1))
    assert len(step("a", "b", "c").in_order) == 3
    assert Step((Call("a"),), each=()).in_order == () and Step(each=(step("a"),)).in_order == (step("a"),)
