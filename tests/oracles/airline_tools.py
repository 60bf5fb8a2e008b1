"""The tools of τ-bench's airline (Yao et al., 2024) in Python, over an immutable database: an oracle for
`policies/airline/service.yaml`, older than it and sharing nothing with it.

A tool is a function of a database and the call's arguments to its result and the database after it."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date as Day
from datetime import timedelta
from typing import Any, NamedTuple

from wb.domain.trace import Call, Value

RESERVATIONS = ("HATHAT", "HATHAU", "HATHAV")  # the ids of new reservations, in order
CERTIFICATES = ("certificate_3221322", "certificate_3221323", "certificate_3221324")
HANDS_OVER = "transfer_to_human_agents"  # the tool that ends a conversation
BAG, INSURANCE = 50, 30  # US dollars: a bag that is charged, insurance for one passenger
BOOKING = frozenset(
    "user_id origin destination flight_type cabin flights passengers payment_methods total_baggages "
    "nonfree_baggages insurance".split()
)
LONGEST, ARITHMETIC = 300, set("0123456789+-*/(). ")  # characters of an expression
OPERATORS: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}

Record = Mapping[str, Any]
Records = Mapping[str, Record]


class Refused(ValueError):
    """A tool does not do what it was asked for; the message is its answer."""


@dataclass(frozen=True, slots=True)
class Database:
    """The airline's records by their ids, and the time of that state."""

    now: str
    flights: Records = field(default_factory=dict)
    users: Records = field(default_factory=dict)
    reservations: Records = field(default_factory=dict)
    airports: Mapping[str, str] = field(default_factory=dict)


class Answer(NamedTuple):
    """The result of a call, whether it failed, and the database after it."""

    value: Value
    failed: bool
    database: Database


def call(database: Database, tool: str, arguments: Mapping[str, Value] | None) -> Answer:
    """Do a call. A refusal, and arguments that the tool cannot take, give a text and change nothing."""
    try:
        if tool not in TOOLS:
            raise Refused(f"a tool was required, one of {sorted(TOOLS)}; got {tool!r}")
        value, after = TOOLS[tool](database, **arguments or {})
        return Answer(value, False, after)
    except Refused as error:
        return Answer(f"Error: {error}", True, database)
    except (TypeError, KeyError, AttributeError, IndexError, ValueError, OverflowError) as error:
        return Answer(f"Error: {tool}: its arguments were required; {type(error).__name__}: {error}", True, database)


def observable(database: Database, initial: Database, asked: Call) -> dict[str, Value]:
    """The state fields of a guard at a call, beside its lookups.

    `flights` are those of the call and of its user's reservations as they are on their day, by "NUMBER|DATE"; `trips`
    those reservations at the beginning of the conversation.
    """
    row, user = _concerned(database, asked)
    trips = reservations_of(initial, user)
    return {"flights": _flights(database, asked.arguments or {}, row, *reservations_of(database, user), *trips)} | {
        "trips": trips
    }


def before(database: Database, asked: Call) -> dict[str, Value]:
    """The records that a call concerns, under the names of `tau.STATE`; null where there are none."""
    row, user = _concerned(database, asked)
    rows = () if row or asked.tool != "send_certificate" else reservations_of(database, user)
    return {
        "user": {**database.users[user], "user_id": user} if user in database.users else None,
        "reservation": row or None,
        "flights": _flights(database, asked.arguments or {}, row, *rows),
        "user_reservations": rows or None,
    }


def _concerned(database: Database, asked: Call) -> tuple[Record, str]:
    """The reservation that a call names, empty where there is none, and the user whom it concerns."""
    given = asked.arguments or {}
    row = database.reservations.get(str(given.get("reservation_id")), {})
    return row, str(given.get("user_id") or row.get("user_id", ""))


def reservations_of(database: Database, user: str) -> tuple[Record, ...]:
    """The reservations of a user."""
    listed = database.users.get(user, {}).get("reservations", ())
    return tuple(database.reservations[name] for name in listed if name in database.reservations)


def _flights(database: Database, *rows: Record) -> dict[str, Value]:
    """The flights of calls and reservations as they are on their day, by "NUMBER|DATE"; without unknown ones."""
    legs = {
        (str(leg.get("flight_number")), str(leg.get("date")))
        for row in rows
        if isinstance(row.get("flights"), tuple | list)
        for leg in row["flights"]
        if isinstance(leg, Mapping)
    }
    return {
        f"{number}|{day}": {name: part for name, part in _on(flight, day).items() if name != "flight_number"}
        for number, day in sorted(legs)
        if day in (flight := database.flights.get(number, {})).get("dates", ())
    }


# ---- tools that read ------------------------------------------------------------------------------------------------


def _calculate(database: Database, expression: str) -> tuple[Value, Database]:
    """The value of an arithmetic expression, to two decimals."""
    if len(expression) > LONGEST or not set(expression) <= ARITHMETIC:
        raise Refused(f"an arithmetic expression of at most {LONGEST} characters was required")
    try:
        return round(float(_number(ast.parse(expression.strip(), mode="eval").body)), 2), database
    except (SyntaxError, ZeroDivisionError, RecursionError) as error:
        raise Refused(str(error)) from None


def _number(node: ast.expr) -> int | float:
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.UnaryOp(op=ast.UAdd() | ast.USub() as sign, operand=inner):
            return _number(inner) * (-1 if isinstance(sign, ast.USub) else 1)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            return OPERATORS[type(op)](_number(left), _number(right))
    raise Refused("an arithmetic expression was required")


def _search_direct(database: Database, origin: str, destination: str, date: str) -> tuple[Value, Database]:
    """The flights for sale from one airport to another on a day, in the order of the database."""
    wanted = (origin, destination)
    flights = [one for one in database.flights.values() if (one["origin"], one["destination"]) == wanted]
    return tuple(_on(flight, date) for flight in flights if _for_sale(flight, date)), database


def _search_onestop(database: Database, origin: str, destination: str, date: str) -> tuple[Value, Database]:
    """The pairs of flights for sale with one change, the second on the day on which the first one lands.

    As in the benchmark, the second one is shown as it is on the day on which the first one departs.
    """
    pairs = []
    for first in database.flights.values():
        if first["origin"] != origin or not _for_sale(first, date):
            continue
        lands = str(first["scheduled_arrival_time_est"])
        day = str(Day.fromisoformat(date) + timedelta(days=1)) if "+1" in lands else date
        for second in database.flights.values():
            if (second["origin"], second["destination"]) != (first["destination"], destination):
                continue
            if lands <= second["scheduled_departure_time_est"] and _for_sale(second, day) and date in second["dates"]:
                pairs.append(({**_on(first, date), "date": date}, {**_on(second, date), "date": day}))
    return tuple(pairs), database


# ---- tools that change records --------------------------------------------------------------------------------------


def _book(database: Database, **booking: Any) -> tuple[Value, Database]:
    """A new reservation, paid from the user's profile."""
    if booking.keys() != BOOKING:
        raise TypeError(f"{sorted(BOOKING)}; got {sorted(booking)}")
    user, people = _record(database.users, booking["user_id"], "user"), len(booking["passengers"])
    legs = tuple(_priced(database, leg, booking["cabin"], people) for leg in booking["flights"])
    each = sum(leg["price"] for leg in legs) + INSURANCE * (booking["insurance"] == "yes")
    total, payments = people * each + BAG * booking["nonfree_baggages"], booking["payment_methods"]
    methods = user["payment_methods"]
    for payment in payments:
        name = payment["payment_id"]
        if name not in methods:
            raise Refused(f"payment method {name} not found")
        if methods[name]["source"] != "credit_card" and methods[name]["amount"] < payment["amount"]:
            raise Refused(f"not enough balance in payment method {name}")
    paid = sum(payment["amount"] for payment in payments)
    if paid != total:
        raise Refused(f"payment amount does not add up, total price is {total}, but paid {paid}")
    name = _unused(RESERVATIONS, database.reservations, "reservations")
    row = {part: value for part, value in booking.items() if part != "payment_methods"}
    row |= {"reservation_id": name, "created_at": database.now, "flights": legs}
    row |= {"passengers": tuple(booking["passengers"]), "payment_history": tuple(payments)}
    for payment in payments:
        methods = _charged(methods, payment["payment_id"], payment["amount"])
    user = {**user, "payment_methods": methods, "reservations": (*user["reservations"], name)}
    return row, _with(_with(database, "users", booking["user_id"], user), "reservations", name, row)


def _cancel(database: Database, reservation_id: str) -> tuple[Value, Database]:
    """The reservation, cancelled and paid back."""
    row = _record(database.reservations, reservation_id, "reservation")
    back = tuple({**payment, "amount": -payment["amount"]} for payment in row["payment_history"])
    row = {**row, "payment_history": (*row["payment_history"], *back), "status": "cancelled"}
    return row, _with(database, "reservations", reservation_id, row)


def _update_bags(
    database: Database, reservation_id: str, total_baggages: int, nonfree_baggages: int, payment_id: str
) -> tuple[Value, Database]:
    """The reservation with other bags; those that are charged more than before are paid."""
    row = _record(database.reservations, reservation_id, "reservation")
    price = BAG * max(0, nonfree_baggages - row["nonfree_baggages"])
    row = {**row, "total_baggages": total_baggages, "nonfree_baggages": nonfree_baggages}
    return _paid(database, row, payment_id, price)


def _update_flights(
    database: Database, reservation_id: str, cabin: str, flights: Sequence[Record], payment_id: str
) -> tuple[Value, Database]:
    """The reservation with other flights. A leg that stays in the cabin of the record keeps its price."""
    row = _record(database.reservations, reservation_id, "reservation")
    people = len(row["passengers"])
    same = {(leg["flight_number"], leg["date"]): leg for leg in row["flights"] if cabin == row["cabin"]}
    legs = tuple(
        same.get((leg["flight_number"], leg["date"])) or _priced(database, leg, cabin, people) for leg in flights
    )
    price = people * (sum(leg["price"] for leg in legs) - sum(leg["price"] for leg in row["flights"]))
    return _paid(database, {**row, "flights": legs}, payment_id, price)


def _update_passengers(database: Database, reservation_id: str, passengers: Sequence[Record]) -> tuple[Value, Database]:
    """The reservation with other passengers, as many as before."""
    row = _record(database.reservations, reservation_id, "reservation")
    if len(passengers) != len(row["passengers"]):
        raise Refused("number of passengers does not match")
    row = {**row, "passengers": tuple(passengers)}
    return row, _with(database, "reservations", reservation_id, row)


def _send_certificate(database: Database, user_id: str, amount: int | float) -> tuple[Value, Database]:
    """A new certificate in the user's profile."""
    user = _record(database.users, user_id, "user")
    name = _unused(CERTIFICATES, user["payment_methods"], "certificates")
    methods = {**user["payment_methods"], name: {"source": "certificate", "amount": amount, "id": name}}
    after = _with(database, "users", user_id, {**user, "payment_methods": methods})
    return f"Certificate {name} added to user {user_id} with amount {amount}.", after


def _record(records: Records, name: str, kind: str) -> Record:
    if name not in records:
        raise Refused(f"{kind} not found")
    return records[name]


def _with(database: Database, kind: str, name: str, record: Record) -> Database:
    """The database with another record of that kind and name."""
    return replace(database, **{kind: {**getattr(database, kind), name: record}})


def _unused(names: Sequence[str], taken: Mapping[str, object], kind: str) -> str:
    name = next((name for name in names if name not in taken), None)
    if name is None:
        raise Refused(f"Too many {kind}")
    return name


def _for_sale(flight: Record, day: str) -> bool:
    return flight["dates"].get(day, {}).get("status") == "available"


def _on(flight: Record, day: str) -> dict[str, Any]:
    """A flight as it is on one day."""
    return {name: value for name, value in flight.items() if name != "dates"} | dict(flight["dates"][day])


def _priced(database: Database, leg: Record, cabin: str, people: int) -> Record:
    """A leg with its price for one passenger, where there are seats for all."""
    number, day = leg["flight_number"], leg["date"]
    flight = _record(database.flights, number, f"flight {number}")
    if day not in flight["dates"]:
        raise Refused(f"flight {number} not found on date {day}")
    if not _for_sale(flight, day):
        raise Refused(f"flight {number} not available on date {day}")
    if flight["dates"][day]["available_seats"][cabin] < people:
        raise Refused(f"not enough seats on flight {number}")
    price = flight["dates"][day]["prices"][cabin]
    return {**leg, "price": price, "origin": flight["origin"], "destination": flight["destination"]}


def _paid(database: Database, row: Record, payment_id: str, price: int) -> tuple[Value, Database]:
    """The reservation and the database once the price is paid by its user, or paid back."""
    user = database.users[row["user_id"]]
    method = _record(user["payment_methods"], payment_id, "payment method")
    if method["source"] == "certificate":
        raise Refused("certificate cannot be used to update reservation")
    if method["source"] == "gift_card" and method["amount"] < price:
        raise Refused("gift card balance is not enough")
    if price:
        row = {**row, "payment_history": (*row["payment_history"], {"payment_id": payment_id, "amount": price})}
    user = {**user, "payment_methods": _charged(user["payment_methods"], payment_id, price)}
    return row, _with(_with(database, "users", row["user_id"], user), "reservations", row["reservation_id"], row)


def _charged(methods: Records, name: str, amount: int | float) -> Records:
    """The payment methods after one was charged: a gift card has less on it, a certificate is gone."""
    match methods[name]["source"]:
        case "gift_card":
            return {**methods, name: {**methods[name], "amount": methods[name]["amount"] - amount}}
        case "certificate":
            return {other: method for other, method in methods.items() if other != name}
    return methods


TOOLS: Mapping[str, Callable[..., tuple[Value, Database]]] = {
    "book_reservation": _book,
    "calculate": _calculate,
    "cancel_reservation": _cancel,
    "get_reservation_details": lambda db, reservation_id: (_record(db.reservations, reservation_id, "reservation"), db),
    "get_user_details": lambda db, user_id: (_record(db.users, user_id, "user"), db),
    "list_all_airports": lambda db: (db.airports, db),
    "search_direct_flight": _search_direct,
    "search_onestop_flight": _search_onestop,
    "send_certificate": _send_certificate,
    "think": lambda db, thought: ("", db),
    HANDS_OVER: lambda db, summary: ("Transfer successful", db),
    "update_reservation_baggages": _update_bags,
    "update_reservation_flights": _update_flights,
    "update_reservation_passengers": _update_passengers,
}
CHANGING = frozenset(name for name in TOOLS if name.startswith(("book_", "cancel_", "send_", "update_")))
