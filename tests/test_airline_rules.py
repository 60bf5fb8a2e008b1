"""An airline's policy as data (rules in YAML, sources in JSON) on recorded calls: what is denied, for which rule."""

from __future__ import annotations

from collections import Counter

import pytest
from bench import airline
from conftest import shared

from wb.domain.events import Asked, Lookup, Result, Say, State
from wb.domain.session import Session
from wb.guards.runtime import CallGuard

shared("data")


@pytest.fixture(scope="module")
def guard() -> CallGuard:
    return airline.guard()


@pytest.fixture(scope="module")
def rows(guard: CallGuard) -> tuple[airline.Row, ...]:
    return tuple(airline.judged(guard))


def test_each_violating_call_is_denied_for_its_rules_and_each_compliant_one_allowed(rows) -> None:
    assert airline.counted(rows) == Counter({("violating", "deny"): 23, ("compliant", "allow"): 47})
    assert [row.id for row in rows if tuple(sorted(row.verdict.violated)) != row.rules] == []


def test_from_recorded_results_alone_nothing_is_allowed_that_is_to_be_denied(guard: CallGuard) -> None:
    """Agents changed what they had not read, or had read before another change: then the guard does not know."""
    found = airline.counted(airline.judged(guard, lookups=False))
    assert found == Counter(
        {
            ("violating", "deny"): 7,
            ("violating", "undecided"): 16,
            ("compliant", "allow"): 19,
            ("compliant", "undecided"): 28,
        }
    )


def test_a_live_session_decides_as_the_recording_is_judged(guard: CallGuard, rows) -> None:
    """The database is asked through a function; what is denied is told as it was recorded, and never done."""
    decided = {}
    for run in airline.runs():
        holds: dict[tuple, object] = {}
        one = Session(
            guard, ask=lambda tool, given, holds=holds: holds[tool, *given.values()], clock=lambda: airline.tau.TIME
        )
        for event in run.events:
            match event.what:
                case Say(role, text):
                    one.say(role, text)
                case State(values):
                    one.state(dict(values))
                case Lookup(tool, arguments, value):
                    holds[tool, *arguments.values()] = value
                case Asked(call, _, call_id):
                    decided[call_id] = one.call(call.tool, dict(call.arguments), event.step, call_id=call_id)
                case Result(value, failed, call_id):
                    one.result(value, call_id, failed)
    assert {row.id: (row.verdict.decision, row.verdict.violated) for row in rows if not row.denied} == {
        row.id: (decided[row.id].decision, decided[row.id].violated) for row in rows if not row.denied
    }
    assert {decided[row.id].decision for row in rows if row.denied} == {"deny"}


def test_consent_is_asked_for_and_used_up() -> None:
    """A second row: the labels leave consent out. Where the user's newest words are no yes, nothing is allowed."""
    found = {row.id: row.verdict.decision for row in airline.judged(airline.guard("consent.yaml"))}
    said = Counter((row["confirmation"], found[name]) for name, row in airline.labels().items())
    assert said == Counter(
        {
            ("explicit_yes", "allow"): 30,
            ("explicit_yes", "undecided"): 13,
            ("no_yes", "deny"): 8,
            ("no_yes", "undecided"): 13,
            ("yes_without_listing", "allow"): 5,
            ("consent_without_yes", "undecided"): 1,
        }
    )


def test_how_much_of_each_guard_is_trusted() -> None:
    found = {made.tool: (len(made.items), len(made.parameters), len(made.trusted)) for made in airline.contracts()}
    assert {tool: counts for tool, counts in found.items() if counts[0]} == {
        "book_reservation": (8, 9, 3),
        "cancel_reservation": (2, 6, 3),
        "send_certificate": (2, 3, 2),
        "update_reservation_baggages": (3, 5, 1),
        "update_reservation_flights": (7, 9, 5),
        "update_reservation_passengers": (1, 2, 0),
    }
