"""The runner of guard tests: what passes, fails, is undecided or broke; and the airline's 61 tests against guards that
know nothing and against an oracle of their own."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from airline_oracle import broken
from conftest import ROOT

from wb.bench import guard_tests, service
from wb.bench.guard_tests import GuardTest, GuardTestError
from wb.domain import tools
from wb.domain.events import Asked, Result, Say
from wb.domain.trace import Call, Step, Verdict
from wb.domain.validation import Validator

FOLDER = ROOT / "policies" / "airline"
TESTS = guard_tests.load(FOLDER / "guard_tests.yaml")
BY_NAME = {test.name: test for test in TESTS}
SERVICE = service.load(FOLDER)
VALIDATOR = Validator(tools.parse((FOLDER / "tools.json").read_text("utf-8")))


@dataclass
class Same:
    """A judge that says the same of every call, and its own watch."""

    verdict: Verdict
    name: str = "same"
    validator: Validator = VALIDATOR

    def watch(self) -> Same:
        return self

    def judge(self, step: Step) -> Verdict:
        return self.verdict

    def remember(self, step: Step) -> None:
        pass

    def evidence(self, tool: str) -> str:
        return ""

    def trusted(self, tool: str) -> tuple:
        return ()

    def reads(self, tool: str, before: object = ()) -> tuple[str, ...]:
        return ()

    def minds(self, tool: str) -> bool:
        return False


@pytest.mark.parametrize(
    ("verdict", "allow", "deny"),
    [
        (Verdict("allow", "whatever it is"), "passed", "failed"),
        (Verdict("deny", "whatever it is"), "failed", "passed"),
        (Verdict("undecided", "nobody knows"), "undecided", "undecided"),
        (Verdict("deny", "it broke", grade="error"), "error", "error"),
    ],
)
def test_a_guard_that_answers_alike_fails_what_it_should_not_say(verdict: Verdict, allow: str, deny: str) -> None:
    outcomes = Counter((row.test.expect, row.outcome) for row in guard_tests.run(Same(verdict), TESTS, SERVICE))
    assert outcomes == {("allow", allow): 25, ("deny", deny): 36}


def test_what_failed_is_told_apart_in_one_row_a_guard(tmp_path: Path) -> None:
    assert guard_tests.rows(tmp_path, [Same(Verdict("allow", "so it is"))]) == []
    allowing, denying, unsure = guard_tests.rows(
        FOLDER, [Same(Verdict(said, "so it is"), said) for said in ("allow", "deny", "undecided")]
    )
    assert guard_tests.rows(FOLDER / "policy.md", [Same(Verdict("allow", "so it is"), "allow")]) == [allowing]
    counts = ("guard", "tests", "passed", "compliance failed", "violation failed", "other")
    assert [allowing[name] for name in counts] == ["allow", 61, 25, 0, 36, 0]
    assert [denying[name] for name in counts] == ["deny", 61, 36, 25, 0, 0]
    assert [unsure[name] for name in counts] == ["undecided", 61, 0, 0, 0, 61] and unsure["TPR max"] == 0
    shares = [6 / 17, 5 / 11, 5 / 13, 3 / 7, 2 / 5, 4 / 8]  # to be allowed, of each of the six tools
    assert allowing["TPR mean"] == pytest.approx(sum(shares) / 6)
    assert (allowing["TPR min"], allowing["TPR max"]) == (min(shares), max(shares))
    assert denying["TPR min"] == 1 - max(shares) and guard_tests.summed("x", ())["TPR mean"] is None


def test_a_denial_for_another_sentence_is_told_apart() -> None:
    test = BY_NAME["book_six_travellers"]
    for quote, named in ((test.sentence, True), ("Another sentence.", False)):
        verdict = Verdict("deny", "so it is", ("rule",), quotes=(quote,))
        (tried,) = guard_tests.run(Same(verdict), [test], SERVICE)
        assert tried.outcome == "passed" and tried.named is named


@pytest.mark.parametrize("test", TESTS, ids=BY_NAME)
def test_what_happened_before_a_call_can_happen(test: GuardTest) -> None:
    happened, after = guard_tests.history(test, SERVICE)
    said = [event.what for event in happened if isinstance(event.what, Say)]
    assert said == [what for what in test.history if isinstance(what, Say)]
    results = [event.what for event in happened if isinstance(event.what, Result)]
    assert len(results) == sum(isinstance(event.what, Asked) for event in happened)
    assert not any(result.failed for result in results) and after.now == SERVICE.now


# What the tools themselves would refuse, whatever a guard says.
REFUSED = {
    "book_with_a_friends_card": "payment method credit_card_3501 not found",
    "book_a_delayed_flight": "flight LW103 not available on date 2026-02-11",
    "book_a_flight_in_the_air": "flight LW211 not available on date 2026-02-10",
    "economy_moves_to_a_closed_flight": "flight LW131 not available on date 2026-02-11",
    "round_trip_keeps_a_leg_paid_by_certificate": "certificate cannot be used to update reservation",
    "bag_on_a_card_that_is_not_stored": "payment method not found",
    "a_traveller_is_added": "number of passengers does not match",
    "a_traveller_is_left_out": "number of passengers does not match",
}


@pytest.mark.parametrize("test", TESTS, ids=BY_NAME)
def test_the_tools_do_every_call_but_those_that_they_check_themselves(test: GuardTest) -> None:
    """So that sums, seats and balances are right, and nothing but the handbook speaks against a call."""
    _, after = guard_tests.history(test, SERVICE)
    answer = after.call(test.call.tool, test.call.arguments)
    assert answer.failed is (test.name in REFUSED)
    assert not answer.failed or answer.value == f"Error: {REFUSED[test.name]}"


# ---- the tests themselves -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("test", TESTS, ids=BY_NAME)
def test_a_violation_breaks_its_item_alone_and_a_compliant_call_none(test: GuardTest) -> None:
    words = {"confirm", "offer_insurance"}  # the dialogue alone tells
    assert broken(test, SERVICE.records) == ({test.item} - words if test.expect == "deny" else set())


# ---- files ----------------------------------------------------------------------------------------------------------

ROW = {"name": "one", "item": "x", "expect": "allow", "history": [], "tool": "think", "arguments": {"thought": "?"}}


def written(place: Path, *rows: Mapping[str, Any]) -> Path:
    path = place / "tests.yaml"
    path.write_text(json.dumps({"tests": rows}), "utf-8")
    return path


def test_a_file_of_one_test_is_read(tmp_path: Path) -> None:
    (test,) = guard_tests.load(written(tmp_path, ROW | {"history": [{"user": "Hello"}, {"think": {"thought": "a"}}]}))
    assert test.history == (Say("user", "Hello"), Call("think", {"thought": "a"}))
    assert test.call == Call("think", {"thought": "?"})


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([ROW | {"expect": "maybe"}], "'allow' or 'deny'"),
        ([ROW | {"expect": "deny"}], "a sentence was required"),
        ([ROW | {"sentence": "x"}], "a sentence was required"),
        ([ROW | {"more": 1}], "Extra inputs"),
        ([ROW | {"history": [{"user": "a", "assistant": "b"}]}], "one key a call or text"),
        ([ROW | {"history": [{"user": {}}]}], "a text of user or assistant"),
        ([ROW | {"history": [{"think": "a"}]}], "a tool's arguments"),
        ([ROW, {**ROW, "history": [], "arguments": {"thought": "!"}}], "a name of its own"),
        ([ROW | {"twin": "two"}], "a known twin"),
    ],
)
def test_a_file_that_is_no_file_of_tests_is_refused(rows: list[dict[str, Any]], why: str, tmp_path: Path) -> None:
    with pytest.raises(GuardTestError, match=why):
        guard_tests.load(written(tmp_path, *rows))


def test_text_that_is_no_yaml_is_refused_and_a_history_that_cannot_happen(tmp_path: Path) -> None:
    path = tmp_path / "tests.yaml"
    path.write_text("tests: [", "utf-8")
    with pytest.raises(GuardTestError, match="YAML was required"):
        guard_tests.load(path)
    path = written(tmp_path, ROW | {"history": [{"get_user_details": {"user_id": "nobody"}}]})
    with pytest.raises(GuardTestError, match="user not found"):
        guard_tests.run(Same(Verdict("allow", "so it is")), guard_tests.load(path), SERVICE)


def test_every_test_stands_on_a_database_of_its_own() -> None:
    kept = json.dumps([SERVICE.records["users"], SERVICE.records["reservations"]])
    guard_tests.run(Same(Verdict("allow", "so it is")), TESTS, SERVICE)
    assert json.dumps([SERVICE.records["users"], SERVICE.records["reservations"]]) == kept
