"""The airline's guards of a person's decisions: on the 61 guard tests, and on random calls beside an oracle."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from airline_oracle import broken
from bench import airline
from conftest import ROOT

from wb.bench import guard_tests, service
from wb.bench.guard_tests import GuardTest
from wb.domain import policy
from wb.domain.events import Say
from wb.domain.trace import Call
from wb.guards.runtime import CallGuard
from wb.rules import decisions, sentences

FOLDER = ROOT / "policies" / "airline"
SERVICE = service.load(FOLDER)
TESTS = guard_tests.load(FOLDER / "guard_tests.yaml")
TROUBLED = ("ana_ruiz_1107", "finn_larsen_6652", "mara_silva_1423", "petra_kovacs_1756", "rosa_marin_1978")
CABINS = ("basic_economy", "economy", "business")


@pytest.fixture(scope="module")
def guard() -> CallGuard:
    read = policy.load(FOLDER)
    decided = decisions.load(decisions.place(FOLDER), read)
    return airline.guarded("airline", read.toolbox, decisions.own(decided, read.toolbox))


def test_every_decision_is_about_a_sentence_as_it_now_stands() -> None:
    read = policy.load(FOLDER)
    made, stale = sentences.settled(read, decisions.load(decisions.place(FOLDER), read))
    assert stale == () and Counter(one.decision for one in made) == {
        "rule": 29,
        "waive": 8,
        "not a constraint": 37,
    }


def test_the_guards_of_the_decisions_pass_every_test(guard: CallGuard) -> None:
    rows = guard_tests.run(guard, TESTS, SERVICE)
    assert [(row.test.name, row.outcome, row.verdict.reason) for row in rows if row.outcome != "passed"] == []
    assert sum(row.named for row in rows) == 35  # the tier makes no difference: it is denied for what does


def test_without_what_is_looked_up_no_call_is_allowed(guard: CallGuard) -> None:
    for test in TESTS:
        session = guard.session(run=test.name, clock=lambda: SERVICE.now)
        session.replay(event for event in guard_tests.history(test, SERVICE)[0] if isinstance(event.what, Say))
        assert session.call(test.call.tool, test.call.arguments).decision != "allow", test.name


def some(one: random.Random, known: list[Any], many: int) -> list[Any]:
    return [one.choice(known) for _ in range(many)]


def legs(one: random.Random, row: dict[str, Any] | None) -> list[dict[str, str]]:
    """Those of a reservation, often with one changed, or others."""
    numbers, day = list(SERVICE.records["flights"]), f"2026-02-{one.randint(9, 15):02}"
    if row is None or one.random() < 0.2:
        return [{"flight_number": number, "date": day} for number in some(one, numbers, one.randint(1, 2))]
    found = [{"flight_number": leg["flight_number"], "date": leg["date"]} for leg in row["flights"]]
    if one.random() < 0.6:
        found[-1] = {**found[-1], "date": day}
    return found


def random_call(one: random.Random) -> Call:
    user = SERVICE.records["users"][one.choice(list(SERVICE.records["users"]))]
    means = [*user["payment_methods"], "gift_card_4101", "certificate_5801"]
    name = one.choice(user["reservations"])
    row = SERVICE.records["reservations"][name]
    people = [{"first_name": f"P{i}", "last_name": "Q", "dob": "1990-01-01"} for i in range(one.randint(1, 6))]
    bags = one.randint(0, 6)
    match one.choice(("book", "flights", "bags", "people", "cancel", "certificate")):
        case "book":
            return Call(
                "book_reservation",
                {
                    "user_id": user["user_id"],
                    "origin": "BOS",
                    "destination": "ORD",
                    "flight_type": "one_way",
                    "cabin": one.choice(CABINS),
                    "flights": legs(one, None),
                    "passengers": people,
                    "payment_methods": [
                        {"payment_id": paid, "amount": 1} for paid in set(some(one, means, one.randint(1, 5)))
                    ],
                    "total_baggages": bags,
                    "nonfree_baggages": one.randint(0, bags // 2),
                    "insurance": "no",
                },
            )
        case "flights":
            return Call(
                "update_reservation_flights",
                {
                    "reservation_id": name,
                    "cabin": one.choice(CABINS),
                    "flights": legs(one, row),
                    "payment_id": one.choice(means),
                },
            )
        case "bags":
            return Call(
                "update_reservation_baggages",
                {
                    "reservation_id": name,
                    "total_baggages": bags,
                    "nonfree_baggages": one.randint(0, bags // 2),
                    "payment_id": one.choice(means),
                },
            )
        case "people":
            return Call("update_reservation_passengers", {"reservation_id": name, "passengers": people[:3]})
        case "cancel":
            return Call("cancel_reservation", {"reservation_id": name})
    user = SERVICE.records["users"][one.choice(TROUBLED)]
    return Call("send_certificate", {"user_id": user["user_id"], "amount": one.choice((50, 100)) * one.randint(1, 2)})


def story(one: random.Random, call: Call) -> tuple[Say | Call, ...]:
    """A dialogue in which everything is said that has to be; the reason, a complaint and a change may be there."""
    given: Any = call.arguments
    user = given.get("user_id") or SERVICE.records["reservations"][given["reservation_id"]]["user_id"]
    name = given.get("reservation_id") or one.choice(SERVICE.records["users"][user]["reservations"])
    why = one.choice(("the doctor forbids it", "I have other plans", "there is a hurricane"))
    wish = one.choice(("I want compensation.", "I want compensation.", "Thank you."))
    named = " ".join(
        f"{leg['flight_number']} {leg['date']}" for leg in given.get("flights", ()) if isinstance(leg, dict)
    )
    people = " ".join(f"{person['first_name']} {person['last_name']}" for person in given.get("passengers", ()))
    asked = f"Shall I cancel, book or change {name} {named} {people} {given.get('payment_id', '')}, without insurance?"
    before: tuple[Say | Call, ...] = (
        Say("user", f"{user}, {name}: {why}. {wish}"),
        Call("get_reservation_details", {"reservation_id": name}),
    )
    if call.tool == "send_certificate" and one.random() < 0.5:
        before += (Call("cancel_reservation", {"reservation_id": name}),)
    return (*before, Say("assistant", asked), Say("user", "Yes, please."))


def test_random_calls_are_decided_as_an_oracle_decides_them(guard: CallGuard) -> None:
    """The oracle has the gold's items in Python; none of it is a rule, and no rule was read by it."""
    one, found = random.Random(61), Counter()
    for number in range(300):
        call = random_call(one)
        test = GuardTest.model_construct(
            name=f"random {number}",
            item="",
            expect="allow",
            history=story(one, call),
            tool=call.tool,
            arguments=call.arguments,
        )
        wrong = broken(test, SERVICE.records)
        verdict = guard_tests.tried(guard, test, SERVICE)
        assert (verdict.decision == "deny") is bool(wrong), (call, wrong, verdict.reason)
        assert verdict.decision != "undecided", (call, verdict.reason)
        found[call.tool, verdict.decision] += 1
    assert len(found) == 12 and min(found.values()) >= 2, found
