"""`policies/airline` as data: its gold and its guard tests are complete, well formed and true to handbook, tools and
database."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cache
from typing import Any

import pytest
import yaml
from conftest import ROOT, shared

from wb.domain import tools
from wb.domain.trace import Call
from wb.domain.validation import Validator

FOLDER = ROOT / "policies" / "airline"
POLICY = (FOLDER / "policy.md").read_text("utf-8")
GOLD = json.loads((FOLDER / "gold.json").read_text("utf-8"))
ITEMS = {item["id"]: item for item in GOLD["items"]}
DATABASE = json.loads((FOLDER / "database.json").read_text("utf-8"))
TESTS = {row["name"]: row for row in yaml.safe_load((FOLDER / "guard_tests.yaml").read_text("utf-8"))["tests"]}
BOX = tools.parse((FOLDER / "tools.json").read_text("utf-8"))
MUTATING = {tool.name for tool in BOX.tools if tool.mutating}
SPOKEN = {"user", "assistant"}


@cache
def validator() -> Validator:
    return Validator(BOX)


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9$']+", text.lower())


def runs_of(text: str, many: int = 6) -> set[tuple[str, ...]]:
    found = words(text)
    return {tuple(found[i : i + many]) for i in range(len(found) - many + 1)}


def test_there_are_the_counts_of_the_paper() -> None:
    assert len(TESTS) == 61 and Counter(row["expect"] for row in TESTS.values()) == {"allow": 25, "deny": 36}
    assert len(BOX.tools) == 14 and {row["tool"] for row in TESTS.values()} == MUTATING and len(MUTATING) == 6
    assert all(tool.mutating is not None for tool in BOX.tools)
    assert {tool for item in ITEMS.values() for tool in item["mutating"]} == MUTATING


def test_every_word_of_the_handbook_is_mapped_or_said_to_have_nothing_to_do_with_tools() -> None:
    """The spans are cut out of the text, the longest first; headings are left."""
    mapped = {span for item in ITEMS.values() for span in item["references"]}
    unmapped = {row["text"] for row in GOLD["unmapped"]}
    assert not mapped & unmapped and all(row["why"] for row in GOLD["unmapped"])
    left = POLICY
    for span in sorted(mapped | unmapped, key=len, reverse=True):
        assert POLICY.count(span) == 1, span
        left = left.replace(span, "")
    assert [line for line in left.splitlines() if re.search(r"\w", line) and not line.startswith("#")] == []


def test_items_are_named_once_and_tell_mutating_from_read_only_tools() -> None:
    assert len(ITEMS) == len(GOLD["items"])
    names = {tool.name for tool in BOX.tools}
    for item in ITEMS.values():
        assert item["kind"] in ("before_call", "history", "archived") and item["name"] and item["description"]
        assert set(item["mutating"]) <= MUTATING and set(item["read_only"]) <= names - MUTATING
        assert item["mutating"] or item["read_only"]
        assert item["references"] and ("why" in item) is (item["kind"] == "archived")


def test_the_items_that_a_guard_can_hold_to_have_tests_or_are_told_apart_here() -> None:
    tested = {row["item"] for row in TESTS.values()}
    assert {name for name, item in ITEMS.items() if item["kind"] != "archived"} - tested == {
        "guest_id_first",  # the call itself names the guest, so that no story without the id leads to it
        "booking_id_first",
        "cancel_reason_first",
        "traveller_details",  # the schema of the tool demands them
    }


def test_the_words_are_not_those_of_the_policy_with_the_same_limits() -> None:
    theirs = shared("data", "common", "tau_airline")
    own = POLICY + (FOLDER / "tools.json").read_text("utf-8")
    assert not runs_of(own) & runs_of((theirs / "policy.md").read_text("utf-8"))
    described = " . ".join(re.findall(r'"description": "([^"]*)"', (theirs / "tools.json").read_text("utf-8")))
    assert not runs_of(" . ".join(re.findall(r'"description": "([^"]*)"', own))) & runs_of(described)


def test_the_tools_take_what_those_of_the_benchmark_take() -> None:
    theirs = tools.parse((shared("data", "common", "tau_airline") / "tools.json").read_text("utf-8"))
    found, wanted = [
        {tool.name: {(one.name, one.type, one.required, one.values) for one in tool.arguments} for tool in box.tools}
        for box in (BOX, theirs)
    ]
    assert found == wanted


def test_the_records_of_the_database_belong_together() -> None:
    users, reservations, flights = DATABASE["users"], DATABASE["reservations"], DATABASE["flights"]
    assert (len(users), len(reservations), len(flights)) == (20, 40, 30)
    assert [(user, name) for user, row in users.items() for name in row["reservations"]] == sorted(
        ((row["user_id"], name) for name, row in reservations.items()), key=lambda one: list(users).index(one[0])
    )
    for row in reservations.values():
        assert row["payment_history"][0]["payment_id"] in users[row["user_id"]]["payment_methods"]
        for leg in row["flights"]:
            dates = flights[leg["flight_number"]]["dates"].values()
            assert leg["date"] in flights[leg["flight_number"]]["dates"]
            assert {day["prices"][row["cabin"]] for day in dates if "prices" in day} == {leg["price"]}, "on all days"
        each = sum(leg["price"] for leg in row["flights"]) + 30 * (row["insurance"] == "yes")
        total = len(row["passengers"]) * each + 50 * row["nonfree_baggages"]
        assert sum(paid["amount"] for paid in row["payment_history"]) == total
        legs = row["flights"]
        assert all(a["destination"] == b["origin"] for a, b in zip(legs, legs[1:], strict=False))
        assert legs[0]["origin"] == row["origin"]
        end = row["origin"] if row["flight_type"] == "round_trip" else row["destination"]
        assert legs[-1]["destination"] == end and row["destination"] in {leg["destination"] for leg in legs}
    assert all(flight["origin"] in DATABASE["airports"] for flight in flights.values())


@pytest.mark.parametrize("name", TESTS)
def test_a_guard_test_is_well_formed(name: str) -> None:
    row: dict[str, Any] = TESTS[name]
    deny = row["expect"] == "deny"
    assert set(row) == {"name", "item", "expect", "twin", "history", "tool", "arguments"} | (
        {"sentence"} if deny else set()
    )
    assert TESTS[row["twin"]]["expect"] != row["expect"] and TESTS[row["twin"]]["tool"] == row["tool"]
    assert row["tool"] in ITEMS[row["item"]]["mutating"]
    assert not deny or row["sentence"] in ITEMS[row["item"]]["references"]
    calls = [(row["tool"], row["arguments"])]
    for event in row["history"]:
        ((kind, told),) = event.items()
        assert kind not in SPOKEN or isinstance(told, str)
        if kind not in SPOKEN:
            calls.append((kind, told))
    for tool, arguments in calls:
        assert type(validator().call(tool, arguments)) is Call, (tool, arguments)
        assert exist(arguments)


def exist(arguments: dict[str, Any]) -> bool:
    """Whether the ids that a call names stand in the database."""
    users = DATABASE["users"]
    means = {name for user in users.values() for name in user["payment_methods"]}
    paid = [one["payment_id"] for one in arguments.get("payment_methods", ())] + [arguments.get("payment_id")]
    return (
        arguments.get("user_id", next(iter(users))) in users
        and arguments.get("reservation_id", "Q4TLM8") in DATABASE["reservations"]
        and set(paid) <= means | {None}
        and all(
            one["date"] in DATABASE["flights"][one["flight_number"]]["dates"] for one in arguments.get("flights", ())
        )
    )


def test_a_call_that_names_nothing_known_is_noticed() -> None:
    assert not exist({"user_id": "nobody"}) and not exist({"reservation_id": "AAAAAA"})
    assert not exist({"payment_id": "credit_card_0"})


@pytest.mark.parametrize("name", [name for name, row in TESTS.items() if row["tool"] != "book_reservation"])
def test_the_guest_of_a_story_is_the_one_whom_the_call_concerns(name: str) -> None:
    row = TESTS[name]
    given = row["arguments"]
    user = given.get("user_id") or DATABASE["reservations"][given["reservation_id"]]["user_id"]
    assert user in row["history"][0]["user"]
