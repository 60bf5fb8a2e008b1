"""τ-bench's airline policy as a reviewer decided it: recorded calls, and the benchmark's own solutions against it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from bench import read_airline
from conftest import shared

from wb.guards.runtime import CallGuard
from wb.rules import decisions, sentences

shared("data")

MISS = (10, "cancel_reservation", '{"reservation_id": "H9ZU1C"}')  # economy, no insurance; no recorded run does it


def guard(place: Path, **options: bool) -> CallGuard:
    return read_airline.guard(read_airline.written(place / "airline", read_airline.reviewed(**options)))


@pytest.fixture(scope="module")
def reviewed(tmp_path_factory) -> CallGuard:
    return guard(tmp_path_factory.mktemp("reviewed"))


def outcomes(judge: CallGuard) -> Counter[tuple[bool, str]]:
    return Counter((row.denied, row.outcome) for row in read_airline.judged(judge))


def test_every_decision_is_about_a_sentence_as_it_stands(tmp_path: Path) -> None:
    read = read_airline.policy(read_airline.written(tmp_path / "airline", read_airline.reviewed(consent=True)))
    made, stale = sentences.settled(read, decisions.load(decisions.place(tmp_path / "airline"), read))
    assert stale == () and Counter(one.decision for one in made) == {"rule": 21, "waive": 10, "not a constraint": 20}


def test_each_violating_call_is_denied_for_its_sentence_and_each_compliant_one_allowed(reviewed: CallGuard) -> None:
    rows = tuple(read_airline.judged(reviewed))
    assert Counter((row.denied, row.outcome) for row in rows) == {(True, "deny rightly"): 23, (False, "allow"): 47}
    assert [row.id for row in rows if set(row.named) != set(row.wanted)] == []


def test_before_the_labels_were_seen_two_bookings_were_allowed_and_an_illness_was_not_heard(tmp_path: Path) -> None:
    """What was added after the first measurement is told apart: those two calls break the trip that they are for."""
    assert outcomes(guard(tmp_path, late=False)) == {
        (True, "deny rightly"): 21,
        (True, "allow"): 2,
        (False, "allow"): 46,
        (False, "deny"): 1,
    }


def test_with_consent_no_violating_call_is_allowed(tmp_path: Path) -> None:
    found = outcomes(guard(tmp_path, consent=True))
    assert found == {
        (True, "deny rightly"): 23,
        (False, "allow"): 21,
        (False, "deny"): 25,
        (False, "undecided"): 1,
    }


def test_solutions_against_the_policy_are_found_unaided(reviewed: CallGuard) -> None:
    """All that the data list, and one that no recorded run does, so that nobody labelled it."""
    listed, found = read_airline.listed(), tuple(read_airline.conflicts(reviewed))
    assert len(listed) == 6 and {one.key for one in found} == listed.keys() | {MISS}
    assert {one.verdict.decision for one in found} == {"deny"} and all(one.verdict.quotes for one in found)
    state = next(one.state for one in found if one.key == MISS)
    assert "H9ZU1C: economy, insurance no, made 2024-05-01" in state


def test_recorded_calls_of_a_solution_are_denied_where_the_data_list_them_and_nowhere_else(reviewed: CallGuard) -> None:
    found = read_airline.recorded_conflicts(reviewed)
    assert found == {("listed", "deny"): 17, ("not listed", "allow"): 38}


def test_without_the_sentence_on_cancelling_its_calls_are_not_found(tmp_path: Path) -> None:
    rows = [row for row in read_airline.reviewed() if row["id"] != read_airline.GROUNDS]
    judge = read_airline.guard(read_airline.written(tmp_path / "airline", rows))
    assert {one.call.tool for one in read_airline.conflicts(judge)} == {"send_certificate"}
    assert outcomes(judge)[True, "allow"] == 5
