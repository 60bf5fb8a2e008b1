"""A policy's tools as data over its records: results, refusals, nothing changed in place, an oracle."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import airline_tools
from oracles.airline_tools import Database

from wb.bench import guard_tests, live, service
from wb.bench.service import Answer, Service, ServiceError, differences
from wb.domain.trace import Call

FOLDER = ROOT / "policies" / "airline"
SERVICE = service.load(FOLDER)
RECORDS = SERVICE.records
TRAVELLER = {"first_name": "Iris", "last_name": "Haddad", "dob": "1978-09-24"}
LEG = {"flight_number": "LW103", "date": "2026-02-12"}
BOOKING: dict[str, Any] = {
    "user_id": "ana_ruiz_1107",
    "origin": "BOS",
    "destination": "ORD",
    "flight_type": "one_way",
    "cabin": "economy",
    "flights": [LEG],
    "passengers": [TRAVELLER, TRAVELLER],
    "payment_methods": [
        {"payment_id": "gift_card_4101", "amount": 200},
        {"payment_id": "certificate_5101", "amount": 100},
        {"payment_id": "credit_card_3101", "amount": 50},
    ],
    "total_baggages": 3,
    "nonfree_baggages": 1,
    "insurance": "yes",
}
LEGS = [{"flight_number": "LW101", "date": "2026-02-13"}, {"flight_number": "LW104", "date": "2026-02-16"}]
FLIGHTS = {"reservation_id": "W9RKE3", "cabin": "economy", "flights": LEGS, "payment_id": "gift_card_4801"}
DEAR = {"reservation_id": "H2VNC6", "cabin": "business", "flights": [{"flight_number": "LW133", "date": "2026-02-15"}]}
BAGS = {"reservation_id": "T6BYJ1", "total_baggages": 3, "nonfree_baggages": 2, "payment_id": "credit_card_3113"}
PEOPLE = {"reservation_id": "V7DTB4", "passengers": [TRAVELLER]}


def done(tool: str, began: Service = SERVICE, **arguments: Any) -> Answer:
    answer = began.call(tool, arguments)
    assert not answer.failed, answer.value
    return answer


def over(**kinds: Mapping[str, Any]) -> Service:
    """The airline's tools over other records."""
    return service.made(FOLDER / "service.yaml", {**RECORDS, **kinds})


def test_a_booking_is_priced_paid_and_kept() -> None:
    """Two seats at 120, insurance at 30 each, one bag at 50."""
    value, _, later = done("book_reservation", **BOOKING)
    after, row = later.records, value
    assert row["reservation_id"] == "HATHAT" and row["created_at"] == SERVICE.now
    assert row["flights"] == ({**LEG, "price": 120, "origin": "BOS", "destination": "ORD"},)
    assert row["payment_history"] == tuple(BOOKING["payment_methods"]) and "payment_methods" not in row
    methods = after["users"]["ana_ruiz_1107"]["payment_methods"]
    assert methods["gift_card_4101"]["amount"] == 100 and "certificate_5101" not in methods
    assert after["users"]["ana_ruiz_1107"]["reservations"] == ["C2GYE7", "HATHAT"]
    assert not list(differences(after["reservations"]["HATHAT"], row)) and "HATHAT" not in RECORDS["reservations"]
    assert RECORDS["users"]["ana_ruiz_1107"]["payment_methods"]["gift_card_4101"]["amount"] == 300
    card = {"payment_methods": [{"payment_id": "credit_card_3101", "amount": 350}]}
    assert done("book_reservation", later, **BOOKING | card).value["reservation_id"] == "HATHAU"


REFUSED = [
    ("book_reservation", BOOKING | change, why)
    for change, why in (
        ({"user_id": "nobody"}, "user not found"),
        ({"flights": [LEG | {"flight_number": "LW999"}]}, "flight LW999 not found"),
        ({"flights": [LEG | {"date": "2027-01-01"}]}, "not found on date 2027-01-01"),
        ({"flights": [LEG | {"date": "2026-02-11"}]}, "not available on date 2026-02-11"),
        ({"passengers": [TRAVELLER] * 30}, "not enough seats on flight LW103"),
        ({"payment_methods": [{"payment_id": "gift_card_1", "amount": 350}]}, "payment method gift_card_1 not found"),
        ({"payment_methods": [{"payment_id": "gift_card_4104", "amount": 350}]}, "not enough balance"),
        ({"nonfree_baggages": 2}, "total price is 400, but paid 350"),
        ({"cabin": "first"}, "its arguments were required; cabin"),
        ({"flights": [{"date": "2026-02-12"}]}, "flights[0].flight_number"),
        ({"passengers": None}, "passengers: array was required"),
        ({"more": 1}, "more: one of the arguments"),
    )
] + [
    ("update_reservation_flights", FLIGHTS | {"payment_id": "certificate_5801"}, "certificate cannot be used to"),
    ("update_reservation_flights", DEAR | {"payment_id": "gift_card_4501"}, "gift card balance is not enough"),
    ("update_reservation_flights", FLIGHTS | {"payment_id": "none"}, "payment method not found"),
    ("update_reservation_passengers", PEOPLE | {"passengers": [TRAVELLER] * 2}, "number of passengers does not match"),
    ("cancel_reservation", {"reservation_id": "AAAAAA"}, "reservation not found"),
    ("drop_database", {}, "a tool was required"),
    *(
        ("calculate", {"expression": text}, "")
        for text in (
            "__import__('os')",
            "2 ** 9",
            "9 // 2",
            "1 / 0",
            "(" * 250 + ")" * 250,
            "-" * 299,
            "",
            "1 2",
            "2(3)",
            "$string($records.users)",
            "$.users",
            "*",
            "(1).(2)(3)",
        )
    ),
    ("calculate", {"expression": "1" * 301}, "an arithmetic expression of at most 300 characters"),
]


@pytest.mark.parametrize(("tool", "arguments", "why"), REFUSED)
def test_a_refused_call_changes_nothing(tool: str, arguments: dict[str, Any], why: str) -> None:
    answer = SERVICE.call(tool, arguments)
    assert answer.failed and answer.after is SERVICE
    assert str(answer.value).startswith("Error: ") and why in str(answer.value)


def test_seats_are_enough_for_as_many_as_travel() -> None:
    flight = RECORDS["flights"]["LW103"]
    day = {**flight["dates"]["2026-02-12"], "available_seats": {"economy": 1}}
    full = over(flights={"LW103": {**flight, "dates": {"2026-02-12": day}}})
    single = {"passengers": [TRAVELLER], "payment_methods": [{"payment_id": "credit_card_3101", "amount": 200}]}
    assert not full.call("book_reservation", BOOKING | single).failed
    assert full.call("book_reservation", BOOKING).value == "Error: not enough seats on flight LW103"


def test_changes_are_paid_by_their_difference() -> None:
    answer = done("update_reservation_flights", **FLIGHTS)
    assert [leg["price"] for leg in answer.value["flights"]] == [120, 135], "a kept leg keeps its price in its cabin"
    assert answer.value["payment_history"][-1] == {"payment_id": "gift_card_4801", "amount": 15}
    assert answer.after.records["users"]["hugo_moreau_8876"]["payment_methods"]["gift_card_4801"]["amount"] == 885
    other = done("update_reservation_flights", **FLIGHTS | {"cabin": "business"}).value
    assert [leg["price"] for leg in other["flights"]] == [300, 320] and other["cabin"] == "economy", "as the benchmark"
    first = done("update_reservation_baggages", **BAGS)
    assert first.value["payment_history"][-1]["amount"] == 100
    assert done("update_reservation_baggages", first.after, **BAGS).value == first.value, "bags are paid once"
    fewer = done("update_reservation_baggages", first.after, **BAGS | {"nonfree_baggages": 0})
    assert fewer.value["payment_history"] == first.value["payment_history"]
    row = done("cancel_reservation", reservation_id="P7CTM4").value
    assert row["status"] == "cancelled" and sum(paid["amount"] for paid in row["payment_history"]) == 0
    assert done("update_reservation_passengers", **PEOPLE).value["passengers"] == (TRAVELLER,)


def test_there_are_three_certificates_for_a_user_and_three_bookings() -> None:
    began = SERVICE
    for number in (3221322, 3221323, 3221324):
        answer = done("send_certificate", began, user_id="tara_nair_2190", amount=50)
        assert answer.value == f"Certificate certificate_{number} added to user tara_nair_2190 with amount 50."
        began = answer.after
    fourth = began.call("send_certificate", {"user_id": "tara_nair_2190", "amount": 50})
    assert fourth.value == "Error: Too many certificates"


def test_searches_show_what_is_for_sale() -> None:
    direct = done("search_direct_flight", origin="BOS", destination="ORD", date="2026-02-11").value
    assert [flight["flight_number"] for flight in direct] == ["LW101"], "LW103 is delayed"
    assert direct[0]["prices"]["economy"] == 120 and "dates" not in direct[0]
    pairs = done("search_onestop_flight", origin="BOS", destination="SFO", date="2026-02-12").value
    numbers = [[flight["flight_number"] for flight in pair] for pair in pairs]
    assert numbers == [["LW101", "LW111"], ["LW101", "LW113"], ["LW103", "LW113"]]
    assert all(flight["date"] == "2026-02-12" for pair in pairs for flight in pair)
    assert done("search_direct_flight", origin="BOS", destination="XXX", date="2026-02-12").value == ()


def test_a_change_overnight_is_on_the_next_day_and_shown_as_on_the_first() -> None:
    def flight(number: str, origin: str, destination: str, departs: str, arrives: str) -> dict[str, Any]:
        dates = {
            f"2026-02-1{day}": {"status": "available", "available_seats": {"economy": day}, "prices": {"economy": day}}
            for day in (1, 2)
        }
        place = {"flight_number": number, "origin": origin, "destination": destination, "dates": dates}
        return {**place, "scheduled_departure_time_est": departs, "scheduled_arrival_time_est": arrives}

    flights = {
        "A1": flight("A1", "A", "B", "23:00:00", "01:00:00+1"),
        "B1": flight("B1", "B", "C", "06:00:00", "08:00:00"),
    }
    search = {"origin": "A", "destination": "C"}
    (pair,) = done("search_onestop_flight", over(flights=flights), **search, date="2026-02-11").value
    assert [leg["date"] for leg in pair] == ["2026-02-11", "2026-02-12"]
    assert [leg["prices"] for leg in pair] == [{"economy": 1}, {"economy": 1}], "as in the benchmark"
    assert done("search_onestop_flight", over(flights=flights), **search, date="2026-02-12").value == ()


@pytest.mark.parametrize(
    ("expression", "value"),
    [("2 + 2", 4.0), ("(350 - 122) * 2", 456.0), ("1 / 3", 0.33), ("-(2) - -3.5", 1.5), (" 2*3", 6.0)],
)
def test_arithmetic_is_worked_out(expression: str, value: float) -> None:
    assert done("calculate", expression=expression).value == value


def test_reading_tools_change_nothing() -> None:
    for tool, arguments, value in (
        ("get_user_details", {"user_id": "tara_nair_2190"}, RECORDS["users"]["tara_nair_2190"]),
        ("get_reservation_details", {"reservation_id": "G1XNB9"}, RECORDS["reservations"]["G1XNB9"]),
        ("list_all_airports", {}, RECORDS["airports"]),
        ("think", {"thought": "?"}, ""),
        ("transfer_to_human_agents", {"summary": "?"}, "Transfer successful"),
    ):
        answer = done(tool, **arguments)
        assert answer.after is SERVICE and not list(differences(answer.value, value))


def test_a_guard_sees_the_flights_and_the_trips_as_they_were() -> None:
    asked = Call("send_certificate", {"user_id": "petra_kovacs_1756", "amount": 50})
    change = {"reservation_id": "X6MQD3", "cabin": "economy", "payment_id": "credit_card_3117"}
    legs = [{"flight_number": "LW191", "date": "2026-02-13"}]
    after = done("update_reservation_flights", **change, flights=legs).after
    seen = after.observable(asked)
    assert [trip["reservation_id"] for trip in seen["trips"]] == ["U8WZK5", "X6MQD3"]
    assert seen["trips"][1]["flights"][0]["date"] == "2026-02-12"
    assert {name: flight["status"] for name, flight in seen["flights"].items()} == {
        "LW101|2026-02-09": "landed",
        "LW102|2026-02-13": "available",
        "LW191|2026-02-12": "delayed",
        "LW191|2026-02-13": "available",
    }
    nobody = Call("send_certificate", {"user_id": "nobody", "amount": 1})
    assert after.observable(nobody) == {"flights": {}, "trips": ()}


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda one: st.lists(one, max_size=2)
)
names = st.sampled_from([*BOOKING, "reservation_id", "payment_id", "amount", "expression", "date"])


@settings(deadline=None)
@given(st.sampled_from(sorted(SERVICE.tools)), st.dictionaries(names, plain))
def test_no_arguments_break_a_tool_or_change_the_records_that_it_was_given(tool: str, arguments: dict) -> None:
    kept = json.dumps(RECORDS["reservations"]["T6BYJ1"])
    for one in (SERVICE, replace(SERVICE, validator=service.Validator())):  # of declared arguments, and of any
        answer = one.call(tool, arguments)
        assert answer.failed is (str(answer.value).startswith("Error") and answer.after is one)
    assert json.dumps(RECORDS["reservations"]["T6BYJ1"]) == kept


def all_calls() -> list[tuple[str, dict[str, Any]]]:
    """Every call of the guard tests, of the tasks and of the refusals above."""
    tests, tasks = guard_tests.load(FOLDER / "guard_tests.yaml"), live.load(FOLDER / "tasks.yaml").tasks
    made = [call for one in tests for call in (*one.history, one.call) if isinstance(call, Call)]
    made += [call for one in tasks for call in (*one.expect, *one.script) if isinstance(call, Call)]
    return [(call.tool, dict(call.arguments or {})) for call in made] + [(tool, given) for tool, given, _ in REFUSED]


def test_the_tools_do_what_the_same_tools_in_python_do() -> None:
    """Result, refusal in words, records after it and state before it, on all calls that this folder names."""
    database = Database(**RECORDS)
    calls, refused = all_calls(), 0
    for tool, asked in calls:
        ours, theirs = SERVICE.call(tool, asked), airline_tools.call(database, tool, asked)
        assert ours.failed is theirs.failed, (tool, asked, ours.value, theirs.value)
        refused += ours.failed
        if ours.failed:
            worded = "arguments were required" not in str(theirs.value) and tool != "calculate"
            assert ours.value == theirs.value or not worded, (ours.value, theirs.value)
            continue
        after = {name: getattr(theirs.database, name) for name in RECORDS}
        assert list(differences(ours.value, theirs.value)) == list(differences(ours.after.records, after)) == []
        seen = airline_tools.observable(database, database, Call(tool, asked))
        assert list(differences(SERVICE.observable(Call(tool, asked)), seen)) == []
    assert len(calls) > 250 and refused > 20


@pytest.mark.parametrize(
    "text", ["[]", "{", '{"now": 1}', '{"now": ""}', '{"now": 1, "users": {}}', '{"now": "", "users": []}', '""']
)
def test_a_file_that_is_no_database_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "database.json").write_text(text, "utf-8")
    with pytest.raises(ServiceError, match="required"):
        service.records(tmp_path / "database.json")


SHELF = {"now": "2026-01-01T00:00:00", "books": {"b1": {"title": "Ash", "out": False}}}


def shelf(tmp_path: Path, **tools: Any) -> Service:
    (tmp_path / "service.yaml").write_text(json.dumps({"tools": tools}), "utf-8")
    return service.made(tmp_path / "service.yaml", SHELF)


def test_a_record_that_changes_to_null_is_gone_and_one_with_a_new_id_is_there(tmp_path: Path) -> None:
    drop = {"gives": "null", "changes": '{"books": {$call.id: null, "b2": {"title": "Fir"}}}'}
    answer = shelf(tmp_path, drop=drop).call("drop", {"id": "b1"})
    assert (answer.value, answer.failed, answer.after.records["books"]) == (None, False, {"b2": {"title": "Fir"}})
    assert answer.after.began == SHELF and answer.after.changing == {"drop"}


@pytest.mark.parametrize(
    ("tool", "why"),
    [
        ({"gives": "$records.books.b9"}, "a result, and changed records by kind"),
        ({"gives": "1", "changes": '{"pens": {}}'}, r"of \['books'\]"),
        ({"gives": "1", "changes": '{"now": {"x": 1}}'}, r"of \['books'\]"),
        ({"gives": "1", "changes": '{"books": 1}'}, "and id, were required"),
        ({"gives": "1", "changes": '{"books": {"b1": "x"}}'}, "and id, were required"),
        ({"gives": "1", "changes": '{"books": {"b1": {"f": function(){1}}}}'}, "JSON|required"),
        ({"gives": "1", "changes": "[1]"}, "and id, were required"),
        ({"gives": "function($x) { $x }"}, "a JSON value was required"),
        ({"gives": "1 / 0"}, "it breaks"),
        ({"gives": "$now()"}, "it breaks"),
        ({"gives": "$random()"}, "it breaks"),
        ({"gives": "$error('the shelf is locked')"}, "^Error: the shelf is locked$"),
        ({"gives": "1", "let": "$f := function($x) { $f($x) }; $f(1)"}, "imeout"),
        ({"gives": "1", "let": "$f := function($x) { 1 + $f($x) }; $f(1)"}, "it breaks"),
    ],
)
def test_what_gives_no_result_is_refused(tool: dict[str, str], why: str, tmp_path: Path) -> None:
    made = shelf(tmp_path, read=tool)
    answer = made.call("read", {})
    assert answer.failed and answer.after is made
    with pytest.raises(LookupError, match=why.removeprefix("^Error: ")):
        made.ask("read", {})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("tools: [", "YAML was required"),
        ("{}", "tools: Field required"),
        ("tools: {}", "at least 1"),
        ("tools: {read: {}}", "gives: Field required"),
        ("tools: {read: {gives: '1 +'}}", "read: JSONata was required"),
        ("functions: '$x :='\ntools: {read: {gives: '1'}}", "JSONata was required"),
        ("tools: {read: {gives: '1', runs: 'x'}}", "read.runs: Extra inputs"),
        ("tools: {fly: {gives: '1'}}", r"tools of tools.json were required; got \['fly'\]"),
    ],
)
def test_a_file_that_is_no_service_is_refused(text: str, why: str, tmp_path: Path) -> None:
    for name in ("tools.json", "database.json"):
        shutil.copy(FOLDER / name, tmp_path / name)
    (tmp_path / "service.yaml").write_text(text, "utf-8")
    with pytest.raises(ServiceError, match=why):
        service.load(tmp_path)


def test_a_state_that_is_no_object_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ServiceError, match="an object was required"):
        replace(shelf(tmp_path, read={"gives": "1"}), state="[1]").observable(Call("read"))


def test_many_threads_ask_one_service(tmp_path: Path) -> None:
    calls = [("search_direct_flight", {"origin": "BOS", "destination": "ORD", "date": "2026-02-11"})] * 8
    calls += [("book_reservation", BOOKING), ("cancel_reservation", {"reservation_id": "P7CTM4"})] * 8
    alone = [SERVICE.call(*one).value for one in calls]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda one: SERVICE.call(*one).value, calls)) == alone


@pytest.mark.parametrize(
    ("left", "right", "places"),
    [
        (1, 1, []),
        (1, 2, ["."]),
        (True, 1, ["."]),
        (True, True, []),
        (2, 2.0, []),
        ({"a": {"b": 1}}, {"a": {"b": 2, "c": 3}}, ["a.b", "a.c"]),
        ({"a": ({"b": 1}, {"b": 2})}, {"a": [{"b": 2}, {"b": 1}]}, ["a.b"]),
        ({"a": (1,)}, {"a": (1, 2)}, ["a"]),
        ((), {}, ["."]),
        ("", None, ["."]),
    ],
)
def test_differences_are_named_by_their_place(left: object, right: object, places: list[str]) -> None:
    assert list(differences(left, right)) == list(differences(right, left)) == places
