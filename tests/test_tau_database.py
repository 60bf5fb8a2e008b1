"""τ-bench's airline tools over a frozen database: what each gives, refuses and leaves as it was."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st

from wb.bench import tau_database
from wb.bench.tau_database import Answer, Database, DatabaseError, call
from wb.domain.trace import Call

DATABASE = tau_database.load(ROOT / "policies" / "airline" / "database.json")
TRAVELLER = {"first_name": "Iris", "last_name": "Haddad", "dob": "1978-09-24"}
BOOKING: dict[str, Any] = {
    "user_id": "ana_ruiz_1107",
    "origin": "BOS",
    "destination": "ORD",
    "flight_type": "one_way",
    "cabin": "economy",
    "flights": [{"flight_number": "LW103", "date": "2026-02-12"}],
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
FULL = replace(  # a certificate is left that nobody may send, and seats for one alone
    DATABASE,
    flights={
        **DATABASE.flights,
        "LW103": {
            **DATABASE.flights["LW103"],
            "dates": {
                "2026-02-12": {
                    "status": "available",
                    "available_seats": {"economy": 1, "business": 9, "basic_economy": 9},
                    "prices": {"economy": 120, "business": 300, "basic_economy": 80},
                }
            },
        },
    },
)


def done(tool: str, database: Database = DATABASE, **arguments: Any) -> Answer:
    answer = call(database, tool, arguments)
    assert not answer.failed, answer.value
    return answer


def test_a_booking_is_priced_paid_and_kept() -> None:
    """Two seats at 120, insurance at 30 each, one bag at 50."""
    answer = done("book_reservation", **BOOKING)
    after, made = answer.database, answer.value
    assert made["reservation_id"] == "HATHAT" and made["created_at"] == DATABASE.now
    assert made["flights"] == (
        {"flight_number": "LW103", "date": "2026-02-12", "price": 120, "origin": "BOS", "destination": "ORD"},
    )
    means = after.users["ana_ruiz_1107"]["payment_methods"]
    assert means["gift_card_4101"]["amount"] == 100 and "certificate_5101" not in means
    assert after.users["ana_ruiz_1107"]["reservations"] == ("C2GYE7", "HATHAT")
    assert after.reservations["HATHAT"] == made and "HATHAT" not in DATABASE.reservations
    assert DATABASE.users["ana_ruiz_1107"]["payment_methods"]["gift_card_4101"]["amount"] == 300
    again = done(
        "book_reservation", after, **BOOKING | {"payment_methods": [{"payment_id": "credit_card_3101", "amount": 350}]}
    )
    assert again.value["reservation_id"] == "HATHAU"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"user_id": "nobody"}, "user not found"),
        ({"flights": [{"flight_number": "LW999", "date": "2026-02-12"}]}, "flight LW999 not found"),
        ({"flights": [{"flight_number": "LW103", "date": "2027-01-01"}]}, "not found on date 2027-01-01"),
        ({"flights": [{"flight_number": "LW103", "date": "2026-02-11"}]}, "not available on date 2026-02-11"),
        ({"passengers": [TRAVELLER] * 30}, "not enough seats on flight LW103"),
        ({"payment_methods": [{"payment_id": "gift_card_1", "amount": 350}]}, "payment method gift_card_1 not found"),
        ({"payment_methods": [{"payment_id": "gift_card_4104", "amount": 350}]}, "not enough balance"),
        ({"nonfree_baggages": 2}, "total price is 400, but paid 350"),
        ({"cabin": "first"}, "its arguments were required; KeyError"),
        ({"flights": [{"date": "2026-02-12"}]}, "its arguments were required; KeyError"),
        ({"passengers": None}, "its arguments were required; TypeError"),
        ({"more": 1}, "its arguments were required; TypeError"),
    ],
)
def test_a_booking_that_cannot_be_made_changes_nothing(change: dict[str, Any], why: str) -> None:
    answer = call(DATABASE, "book_reservation", BOOKING | change)
    assert answer.failed and answer.database is DATABASE
    assert str(answer.value).startswith("Error: ") and why in str(answer.value)


def test_a_seat_is_enough_for_one() -> None:
    one = BOOKING | {"passengers": [TRAVELLER], "payment_methods": [{"payment_id": "credit_card_3101", "amount": 200}]}
    assert not call(FULL, "book_reservation", one).failed
    assert call(FULL, "book_reservation", BOOKING).value == "Error: not enough seats on flight LW103"


def test_a_kept_leg_keeps_its_price_in_its_cabin_and_the_difference_is_paid() -> None:
    legs = [{"flight_number": "LW101", "date": "2026-02-13"}, {"flight_number": "LW104", "date": "2026-02-16"}]
    asked = {"reservation_id": "W9RKE3", "cabin": "economy", "flights": legs, "payment_id": "gift_card_4801"}
    answer = done("update_reservation_flights", **asked)
    assert [leg["price"] for leg in answer.value["flights"]] == [120, 135]
    assert answer.value["payment_history"][-1] == {"payment_id": "gift_card_4801", "amount": 15}
    assert answer.database.users["hugo_moreau_8876"]["payment_methods"]["gift_card_4801"]["amount"] == 885
    other = done("update_reservation_flights", **asked | {"cabin": "business"})
    assert [leg["price"] for leg in other.value["flights"]] == [300, 320]
    assert other.value["cabin"] == "economy"  # as in the benchmark
    poor = call(answer.database, "update_reservation_flights", asked | {"payment_id": "certificate_5801"})
    assert poor.value == "Error: certificate cannot be used to update reservation"


def test_a_gift_card_with_too_little_on_it_pays_no_change() -> None:
    legs = [{"flight_number": "LW133", "date": "2026-02-15"}]
    asked = {"reservation_id": "H2VNC6", "cabin": "business", "flights": legs, "payment_id": "gift_card_4501"}
    assert call(DATABASE, "update_reservation_flights", asked).value == "Error: gift card balance is not enough"


def test_bags_are_paid_once() -> None:
    asked = {"reservation_id": "T6BYJ1", "total_baggages": 3, "nonfree_baggages": 2, "payment_id": "credit_card_3113"}
    first = done("update_reservation_baggages", **asked)
    assert first.value["payment_history"][-1]["amount"] == 100
    second = done("update_reservation_baggages", first.database, **asked)
    assert second.value == first.value
    fewer = done("update_reservation_baggages", first.database, **asked | {"nonfree_baggages": 0})
    assert fewer.value["payment_history"] == first.value["payment_history"]


def test_what_is_cancelled_is_paid_back_and_says_so() -> None:
    row = done("cancel_reservation", reservation_id="P7CTM4").value
    assert row["status"] == "cancelled" and sum(paid["amount"] for paid in row["payment_history"]) == 0
    assert call(DATABASE, "cancel_reservation", {"reservation_id": "AAAAAA"}).value == "Error: reservation not found"


def test_travellers_are_replaced_by_as_many() -> None:
    row = done("update_reservation_passengers", reservation_id="V7DTB4", passengers=[TRAVELLER]).value
    assert row["passengers"] == (TRAVELLER,)
    two = {"reservation_id": "V7DTB4", "passengers": [TRAVELLER, TRAVELLER]}
    assert call(DATABASE, "update_reservation_passengers", two).value == "Error: number of passengers does not match"


def test_there_are_three_certificates_for_a_user() -> None:
    database = DATABASE
    for number in (3221322, 3221323, 3221324):
        answer = done("send_certificate", database, user_id="tara_nair_2190", amount=50)
        assert answer.value == f"Certificate certificate_{number} added to user tara_nair_2190 with amount 50."
        database = answer.database
    assert call(database, "send_certificate", {"user_id": "tara_nair_2190", "amount": 50}).failed


def test_searches_show_what_is_for_sale() -> None:
    direct = done("search_direct_flight", origin="BOS", destination="ORD", date="2026-02-11").value
    assert [flight["flight_number"] for flight in direct] == ["LW101"]  # LW103 is delayed
    assert direct[0]["prices"]["economy"] == 120 and "dates" not in direct[0]
    pairs = done("search_onestop_flight", origin="BOS", destination="SFO", date="2026-02-12").value
    assert [[flight["flight_number"] for flight in pair] for pair in pairs] == [
        ["LW101", "LW111"],
        ["LW101", "LW113"],
        ["LW103", "LW113"],
    ]
    assert all(flight["date"] == "2026-02-12" for pair in pairs for flight in pair)
    assert done("search_direct_flight", origin="BOS", destination="XXX", date="2026-02-12").value == ()


def overnight(number: str, origin: str, destination: str, departs: str, arrives: str) -> dict[str, Any]:
    dates = {
        f"2026-02-1{day}": {"status": "available", "available_seats": {"economy": day}, "prices": {"economy": 10 * day}}
        for day in (1, 2)
    }
    return {
        "flight_number": number,
        "origin": origin,
        "destination": destination,
        "scheduled_departure_time_est": departs,
        "scheduled_arrival_time_est": arrives,
        "dates": dates,
    }


def test_a_change_overnight_is_on_the_next_day_and_shown_as_on_the_first() -> None:
    flights = {
        "A1": overnight("A1", "A", "B", "23:00:00", "01:00:00+1"),
        "B1": overnight("B1", "B", "C", "06:00:00", "08:00:00"),
    }
    (pair,) = done("search_onestop_flight", Database("", flights), origin="A", destination="C", date="2026-02-11").value
    assert [flight["date"] for flight in pair] == ["2026-02-11", "2026-02-12"]
    assert [flight["prices"] for flight in pair] == [{"economy": 10}, {"economy": 10}]  # as in the benchmark
    later = {"origin": "A", "destination": "C", "date": "2026-02-12"}
    assert done("search_onestop_flight", Database("", flights), **later).value == ()


@pytest.mark.parametrize(
    ("expression", "value"),
    [("2 + 2", 4.0), ("(350 - 122) * 2", 456.0), ("1 / 3", 0.33), ("-(2) - -3.5", 1.5), (" 2*3", 6.0)],
)
def test_arithmetic_is_worked_out(expression: str, value: float) -> None:
    assert done("calculate", expression=expression).value == value


@pytest.mark.parametrize(
    "expression",
    ["__import__('os')", "2 ** 9", "9 // 2", "1 / 0", "(" * 250 + ")" * 250, "-" * 299, "", "1 2", "1" * 301, "2(3)"],
)
def test_what_is_no_arithmetic_is_refused(expression: str) -> None:
    assert call(DATABASE, "calculate", {"expression": expression}).failed


def test_there_is_no_other_tool() -> None:
    answer = call(DATABASE, "drop_database", {})
    assert answer.failed and "a tool was required" in str(answer.value)


def test_reading_tools_change_nothing() -> None:
    for tool, arguments in (
        ("get_user_details", {"user_id": "tara_nair_2190"}),
        ("get_reservation_details", {"reservation_id": "G1XNB9"}),
        ("list_all_airports", {}),
        ("think", {"thought": "?"}),
        ("transfer_to_human_agents", {"summary": "?"}),
        ("calculate", {"expression": "1"}),
    ):
        assert done(tool, **arguments).database is DATABASE


def test_a_guard_is_told_of_the_flights_and_of_the_trips_as_they_were() -> None:
    asked = Call("send_certificate", {"user_id": "petra_kovacs_1756", "amount": 50})
    legs = [{"flight_number": "LW191", "date": "2026-02-13"}]
    change = {"reservation_id": "X6MQD3", "cabin": "economy", "flights": legs, "payment_id": "credit_card_3117"}
    after = done("update_reservation_flights", **change).database
    told = tau_database.told(after, DATABASE, asked)
    assert [trip["reservation_id"] for trip in told["trips"]] == ["U8WZK5", "X6MQD3"]
    assert told["trips"][1]["flights"][0]["date"] == "2026-02-12"
    assert {name: flight["status"] for name, flight in told["flights"].items()} == {
        "LW101|2026-02-09": "landed",
        "LW102|2026-02-13": "available",
        "LW191|2026-02-12": "delayed",
        "LW191|2026-02-13": "available",
    }
    nobody = tau_database.told(after, DATABASE, Call("send_certificate", {"user_id": "nobody", "amount": 1}))
    assert nobody == {"flights": {}, "trips": ()}


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda one: st.lists(one, max_size=2)
)


@given(
    st.sampled_from(sorted(tau_database.TOOLS)),
    st.dictionaries(st.sampled_from([*BOOKING, "reservation_id", "payment_id", "amount", "expression", "date"]), plain),
)
def test_no_arguments_break_a_tool_or_change_the_database_that_it_was_given(
    tool: str, arguments: dict[str, Any]
) -> None:
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
