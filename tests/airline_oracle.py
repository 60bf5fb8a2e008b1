"""An oracle for the airline's handbook: which items a call breaks, in Python, from the gold's descriptions alone.

It shares nothing with guards and rules: it reads the database, the arguments and what the guest wrote.  What the
dialogue alone tells (a yes, the offer of insurance, ids that were asked for) it does not judge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wb.bench.guard_tests import GuardTest
from wb.bench.service import Records
from wb.domain.events import Say
from wb.domain.trace import Call

FREE = {"regular": (0, 1, 2), "silver": (1, 2, 3), "gold": (2, 3, 3)}
CABINS = ("basic_economy", "economy", "business")


def status(database: Records, leg: Mapping[str, Any]) -> str:
    return database["flights"][leg["flight_number"]]["dates"][leg["date"]]["status"]


def kinds(user: Mapping[str, Any], paid: list[str]) -> list[str]:
    return [user["payment_methods"][name]["source"] for name in paid if name in user["payment_methods"]]


def charged_right(user: Mapping[str, Any], cabin: str, people: int, given: Mapping[str, Any]) -> bool:
    free = FREE[user["membership"]][CABINS.index(cabin)] * people
    return given["nonfree_baggages"] == max(0, given["total_baggages"] - free)


def ends(database: Records, legs: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    flights = [database["flights"][leg["flight_number"]] for leg in legs]
    return flights[0]["origin"], flights[-1]["destination"]


def stops(database: Records, legs: Sequence[Mapping[str, Any]]) -> set[str]:
    return {database["flights"][leg["flight_number"]]["destination"] for leg in legs}


def broken(test: GuardTest, database: Records) -> set[str]:
    """The items of kind before_call, and those on cancelling and worth, that the call breaks."""
    given: Any = test.call.arguments
    row = database["reservations"].get(given.get("reservation_id"), {})
    user = database["users"][given.get("user_id") or row["user_id"]]
    said = " ".join(what.text for what in test.history if isinstance(what, Say) and what.role == "user").lower()
    changed = any(isinstance(what, Call) and not what.tool.startswith(("get_", "search_")) for what in test.history)
    match test.call.tool:
        case "book_reservation":
            paid = [one["payment_id"] for one in given["payment_methods"]]
            found = {
                "five_travellers": len(given["passengers"]) <= 5,
                "only_available": all(status(database, leg) == "available" for leg in given["flights"]),
                "one_certificate": kinds(user, paid).count("certificate") <= 1,
                "one_credit_card": kinds(user, paid).count("credit_card") <= 1,
                "three_gift_cards": kinds(user, paid).count("gift_card") <= 3,
                "stored_payment": set(paid) <= set(user["payment_methods"]),
                "bag_allowance": charged_right(user, given["cabin"], len(given["passengers"]), given),
                "traveller_details": all(one["first_name"] and one["dob"] for one in given["passengers"]),
            }
        case "update_reservation_flights":
            old = [(leg["flight_number"], leg["date"]) for leg in row["flights"]]
            new = [(leg["flight_number"], leg["date"]) for leg in given["flights"]]
            added = [leg for leg in given["flights"] if (leg["flight_number"], leg["date"]) not in old]
            found = {
                "fixed_basic_economy": row["cabin"] != "basic_economy" or old == new,
                "same_trip": ends(database, row["flights"]) == ends(database, given["flights"])
                and row["destination"] in stops(database, given["flights"]),
                "only_available": all(status(database, leg) == "available" for leg in added),
                "card_for_flights": "certificate" not in kinds(user, [given["payment_id"]]),
                "stored_payment": given["payment_id"] in user["payment_methods"],
            }
        case "update_reservation_baggages":
            found = {
                "bags_only_added": given["total_baggages"] >= row["total_baggages"],
                "bag_allowance": charged_right(user, row["cabin"], len(row["passengers"]), given),
                "stored_payment": given["payment_id"] in user["payment_methods"],
            }
        case "update_reservation_passengers":
            found = {"as_many_travellers": len(given["passengers"]) == len(row["passengers"])}
        case "cancel_reservation":
            day = row["created_at"] >= "2026-02-09T12:00:00-05:00"
            called_off = any(status(database, leg) == "cancelled" for leg in row["flights"])
            covered = row["insurance"] == "yes" and ("doctor" in said or "hurricane" in said)
            found = {
                "cancel_grounds": row["cabin"] == "business" or day or called_off or covered,
                "unflown": all(status(database, leg) not in ("flying", "landed") for leg in row["flights"]),
            }
        case _:
            trip = next(database["reservations"][name] for name in user["reservations"] if name.lower() in said)
            off = {status(database, leg) for leg in trip["flights"]}
            worth, delay = given["amount"] / len(trip["passengers"]), "delayed" in off
            found = {
                "compensation_for": user["membership"] != "regular"
                or trip["insurance"] == "yes"
                or trip["cabin"] == "business",
                "cancelled_amount": delay or ("cancelled" in off and worth == 100),
                "delayed_amount": not delay or (worth == 50 and changed),
                "compensation_asked": "compensation" in said,
            }
    return {item for item, kept in found.items() if not kept}
