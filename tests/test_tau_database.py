"""τ-bench's airline tools over an immutable database: results, refusals, and nothing changed in place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st

from wb.bench import tau_database
from wb.bench.tau_database import Answer, Database, DatabaseError, call, differences
from wb.domain.trace import Call

DATABASE = tau_database.load(ROOT / "policies" / "airline" / "database.json")
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


def done(tool: str, database: Database = DATABASE, **arguments: Any) -> Answer:
    answer = call(database, tool, arguments)
    assert not answer.failed, answer.value
    return answer


def test_a_booking_is_priced_paid_and_kept() -> None:
    """Two seats at 120, insurance at 30 each, one bag at 50."""
    after, row = done("book_reservation", **BOOKING).database, done("book_reservation", **BOOKING).value
    assert row["reservation_id"] == "HATHAT" and row["created_at"] == DATABASE.now
    assert row["flights"] == ({**LEG, "price": 120, "origin": "BOS", "destination": "ORD"},)
    assert row["payment_history"] == tuple(BOOKING["payment_methods"]) and "payment_methods" not in row
    methods = after.users["ana_ruiz_1107"]["payment_methods"]
    assert methods["gift_card_4101"]["amount"] == 100 and "certificate_5101" not in methods
    assert after.users["ana_ruiz_1107"]["reservations"] == ("C2GYE7", "HATHAT")
    assert after.reservations["HATHAT"] == row and "HATHAT" not in DATABASE.reservations
    assert DATABASE.users["ana_ruiz_1107"]["payment_methods"]["gift_card_4101"]["amount"] == 300
    card = {"payment_methods": [{"payment_id": "credit_card_3101", "amount": 350}]}
    assert done("book_reservation", after, **BOOKING | card).value["reservation_id"] == "HATHAU"


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
        ({"cabin": "first"}, "its arguments were required; KeyError"),
        ({"flights": [{"date": "2026-02-12"}]}, "its arguments were required; KeyError"),
        ({"passengers": None}, "its arguments were required; TypeError"),
        ({"more": 1}, "its arguments were required; TypeError"),
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
        )
    ),
    ("calculate", {"expression": "1" * 301}, "an arithmetic expression of at most 300 characters"),
]


@pytest.mark.parametrize(("tool", "arguments", "why"), REFUSED)
def test_a_refused_call_changes_nothing(tool: str, arguments: dict[str, Any], why: str) -> None:
    answer = call(DATABASE, tool, arguments)
    assert answer.failed and answer.database is DATABASE
    assert str(answer.value).startswith("Error: ") and why in str(answer.value)


def test_seats_are_enough_for_as_many_as_travel() -> None:
    flight = DATABASE.flights["LW103"]
    day = {**flight["dates"]["2026-02-12"], "available_seats": {"economy": 1}}
    full = Database(DATABASE.now, {"LW103": {**flight, "dates": {"2026-02-12": day}}}, DATABASE.users, {})
    single = {"passengers": [TRAVELLER], "payment_methods": [{"payment_id": "credit_card_3101", "amount": 200}]}
    assert not call(full, "book_reservation", BOOKING | single).failed
    assert call(full, "book_reservation", BOOKING).value == "Error: not enough seats on flight LW103"


def test_changes_are_paid_by_their_difference() -> None:
    answer = done("update_reservation_flights", **FLIGHTS)
    assert [leg["price"] for leg in answer.value["flights"]] == [120, 135], "a kept leg keeps its price in its cabin"
    assert answer.value["payment_history"][-1] == {"payment_id": "gift_card_4801", "amount": 15}
    assert answer.database.users["hugo_moreau_8876"]["payment_methods"]["gift_card_4801"]["amount"] == 885
    other = done("update_reservation_flights", **FLIGHTS | {"cabin": "business"}).value
    assert [leg["price"] for leg in other["flights"]] == [300, 320] and other["cabin"] == "economy", "as the benchmark"
    first = done("update_reservation_baggages", **BAGS)
    assert first.value["payment_history"][-1]["amount"] == 100
    assert done("update_reservation_baggages", first.database, **BAGS).value == first.value, "bags are paid once"
    fewer = done("update_reservation_baggages", first.database, **BAGS | {"nonfree_baggages": 0})
    assert fewer.value["payment_history"] == first.value["payment_history"]
    row = done("cancel_reservation", reservation_id="P7CTM4").value
    assert row["status"] == "cancelled" and sum(paid["amount"] for paid in row["payment_history"]) == 0
    assert done("update_reservation_passengers", **PEOPLE).value["passengers"] == (TRAVELLER,)


def test_there_are_three_certificates_for_a_user_and_three_bookings() -> None:
    database = DATABASE
    for number in (3221322, 3221323, 3221324):
        answer = done("send_certificate", database, user_id="tara_nair_2190", amount=50)
        assert answer.value == f"Certificate certificate_{number} added to user tara_nair_2190 with amount 50."
        database = answer.database
    fourth = call(database, "send_certificate", {"user_id": "tara_nair_2190", "amount": 50})
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
    (pair,) = done("search_onestop_flight", Database("", flights), **search, date="2026-02-11").value
    assert [leg["date"] for leg in pair] == ["2026-02-11", "2026-02-12"]
    assert [leg["prices"] for leg in pair] == [{"economy": 1}, {"economy": 1}], "as in the benchmark"
    assert done("search_onestop_flight", Database("", flights), **search, date="2026-02-12").value == ()


@pytest.mark.parametrize(
    ("expression", "value"),
    [("2 + 2", 4.0), ("(350 - 122) * 2", 456.0), ("1 / 3", 0.33), ("-(2) - -3.5", 1.5), (" 2*3", 6.0)],
)
def test_arithmetic_is_worked_out(expression: str, value: float) -> None:
    assert done("calculate", expression=expression).value == value


def test_reading_tools_change_nothing() -> None:
    for tool, arguments, value in (
        ("get_user_details", {"user_id": "tara_nair_2190"}, DATABASE.users["tara_nair_2190"]),
        ("get_reservation_details", {"reservation_id": "G1XNB9"}, DATABASE.reservations["G1XNB9"]),
        ("list_all_airports", {}, DATABASE.airports),
        ("think", {"thought": "?"}, ""),
        ("transfer_to_human_agents", {"summary": "?"}, "Transfer successful"),
    ):
        answer = done(tool, **arguments)
        assert answer.database is DATABASE and answer.value == value


def test_a_guard_sees_the_flights_and_the_trips_as_they_were() -> None:
    asked = Call("send_certificate", {"user_id": "petra_kovacs_1756", "amount": 50})
    change = {"reservation_id": "X6MQD3", "cabin": "economy", "payment_id": "credit_card_3117"}
    legs = [{"flight_number": "LW191", "date": "2026-02-13"}]
    after = done("update_reservation_flights", **change, flights=legs).database
    seen = tau_database.observable(after, DATABASE, asked)
    assert [trip["reservation_id"] for trip in seen["trips"]] == ["U8WZK5", "X6MQD3"]
    assert seen["trips"][1]["flights"][0]["date"] == "2026-02-12"
    assert {name: flight["status"] for name, flight in seen["flights"].items()} == {
        "LW101|2026-02-09": "landed",
        "LW102|2026-02-13": "available",
        "LW191|2026-02-12": "delayed",
        "LW191|2026-02-13": "available",
    }
    nobody = Call("send_certificate", {"user_id": "nobody", "amount": 1})
    assert tau_database.observable(after, DATABASE, nobody) == {"flights": {}, "trips": ()}


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda one: st.lists(one, max_size=2)
)
names = st.sampled_from([*BOOKING, "reservation_id", "payment_id", "amount", "expression", "date"])


@given(st.sampled_from(sorted(tau_database.TOOLS)), st.dictionaries(names, plain))
def test_no_arguments_break_a_tool_or_change_the_database_that_it_was_given(tool: str, arguments: dict) -> None:
    kept = json.dumps(DATABASE.reservations["T6BYJ1"])
    answer = call(DATABASE, tool, arguments)
    assert answer.failed is (str(answer.value).startswith("Error") and answer.database is DATABASE)
    assert json.dumps(DATABASE.reservations["T6BYJ1"]) == kept


@pytest.mark.parametrize(
    "text", ["[]", "{", '{"now": 1}', '{"now": "", "flights": {}, "users": {}, "reservations": {}}']
)
def test_a_file_that_is_no_database_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "database.json").write_text(text, "utf-8")
    with pytest.raises(DatabaseError, match="required"):
        tau_database.load(tmp_path / "database.json")


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
