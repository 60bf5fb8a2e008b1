"""The tools of τ-bench's airline (Yao et al., 2024) over a database that nobody changes.

A tool is a function of a database and the call's arguments to what it gives and the database after it.  Whoever keeps
the old database still has it: nothing in it is changed, what differs is made anew.  `call` does a call by name and says
a refusal as the benchmark does, as a text that begins with "Error"; the database is then the one before.

The tools check what the benchmark's own check (seats, balances, sums) and no rule of a policy.  As there, a change of
cabin leaves the cabin of the record, a booking takes no seat away, and cancelling gives nothing back to a gift card.
`wb.bench.tau_replay` compares what they give with recorded runs; what no run shows (a full
flight, an empty gift card, too many certificates) is held against nothing.

A database file is one JSON object: `now` (ISO 8601), `airports` (city by code), `flights`, `users` and `reservations`,
each record by its id.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date as Day
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from wb.domain import jsonl
from wb.domain.trace import Call, Value

BOOKED = ("HATHAT", "HATHAU", "HATHAV")  # what new reservations are called, in order
CERTIFICATES = ("certificate_3221322", "certificate_3221323", "certificate_3221324")
HANDS_OVER = "transfer_to_human_agents"  # the tool that ends a conversation
BAG, INSURANCE = 50, 30  # US dollars: a bag that is charged, insurance for one passenger
LONGEST, ARITHMETIC = 300, set("0123456789+-*/(). ")
OPERATORS: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}

Record = Mapping[str, Any]
Records = Mapping[str, Record]


class DatabaseError(ValueError):
    """A file is no database; the message says what was required and what was got."""


class Refused(ValueError):
    """A tool does not do what it was asked for; the message is what it says."""


@dataclass(frozen=True, slots=True)
class Database:
    """The airline's records by their ids, and the time at which they are so."""

    now: str
    flights: Records = field(default_factory=dict)
    users: Records = field(default_factory=dict)
    reservations: Records = field(default_factory=dict)
    airports: Mapping[str, str] = field(default_factory=dict)


class Answer(NamedTuple):
    """What a call gave, whether it failed, and the database after it."""

    value: Value
    failed: bool
    database: Database


def load(path: str | Path) -> Database:
    """The database of a file.

    Raises:
        DatabaseError: it is no JSON object with these five keys.
        OSError: there is no such file.
    """
    names = ("now", "flights", "users", "reservations", "airports")
    try:
        found = jsonl.value(Path(path).read_text("utf-8"))
    except ValueError as error:
        raise DatabaseError(f"{path}: {error}") from None
    kinds = {name: str if name == "now" else dict for name in names}
    if not isinstance(found, dict) or {name: type(one) for name, one in found.items()} != kinds:
        raise DatabaseError(f"{path}: an object with a text 'now' and objects {names[1:]} was required")
    return Database(**found)


def call(database: Database, tool: str, arguments: Mapping[str, Value]) -> Answer:
    """Do a call. What is refused, and arguments that the tool cannot take, give a text and change nothing."""
    try:
        if tool not in TOOLS:
            raise Refused(f"a tool was required, one of {sorted(TOOLS)}; got {tool!r}")
        value, after = TOOLS[tool](database, **arguments)
        return Answer(value, False, after)
    except Refused as error:
        return Answer(f"Error: {error}", True, database)
    except (TypeError, KeyError, AttributeError, IndexError, ValueError, OverflowError) as error:
        return Answer(f"Error: {tool}: its arguments were required; {type(error).__name__}: {error}", True, database)


def told(database: Database, began: Database, asked: Call) -> dict[str, Value]:
    """What a guard is told of the records beside what it can look up, at a call.

    `flights` are those of the call and of its user's reservations as they are on their day, by "NUMBER|DATE"; `trips`
    those reservations as they were when the conversation began.
    """
    row, user = _concerned(database, asked)
    trips = reservations_of(began, user)
    legs = (*_legs(asked.arguments or {}), *_legs(row))
    legs += tuple(leg for one in (*reservations_of(database, user), *trips) for leg in _legs(one))
    return {"flights": flights_of(database, legs), "trips": trips}


def before(database: Database, asked: Call) -> dict[str, Value]:
    """The records that a call concerns, under the names of `wb.bench.tau.STATE`; null where there are none."""
    row, user = _concerned(database, asked)
    rows = () if row or asked.tool != "send_certificate" else reservations_of(database, user)
    legs = (*_legs(asked.arguments or {}), *_legs(row), *(leg for one in rows for leg in _legs(one)))
    return {
        "user": {**database.users[user], "user_id": user} if user in database.users else None,
        "reservation": row or None,
        "flights": flights_of(database, legs),
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


def flights_of(database: Database, legs: Iterable[tuple[str, str]]) -> dict[str, Value]:
    """Flights as they are on their day, by "NUMBER|DATE"; without those that are not known."""
    return {
        f"{number}|{day}": {name: one for name, one in _on(flight, day).items() if name != "flight_number"}
        for number, day in sorted(set(legs))
        if day in (flight := database.flights.get(number, {})).get("dates", ())
    }


def _legs(row: Record) -> tuple[tuple[str, str], ...]:
    flights = row.get("flights")
    legs = flights if isinstance(flights, tuple | list) else ()
    return tuple((str(leg.get("flight_number")), str(leg.get("date"))) for leg in legs if isinstance(leg, Mapping))


# ---- tools that read --------------------------------------------------------------------------------------------


def calculate(database: Database, expression: str) -> tuple[Value, Database]:
    """The value of an arithmetic expression, to two decimals."""
    if not set(expression) <= ARITHMETIC:
        raise Refused("invalid characters in expression")
    if len(expression) > LONGEST:
        raise Refused(f"an expression of at most {LONGEST} characters was required; got {len(expression)}")
    try:
        return round(float(_worked_out(ast.parse(expression.strip(), mode="eval").body)), 2), database
    except (SyntaxError, ZeroDivisionError, RecursionError) as error:
        raise Refused(str(error)) from None


def _worked_out(node: ast.expr) -> int | float:
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.UnaryOp(op=ast.UAdd() | ast.USub() as sign, operand=inner):
            return _worked_out(inner) * (-1 if isinstance(sign, ast.USub) else 1)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            return OPERATORS[type(op)](_worked_out(left), _worked_out(right))
    raise Refused("an arithmetic expression was required")


def get_reservation_details(database: Database, reservation_id: str) -> tuple[Value, Database]:
    """The record of a reservation."""
    return _found(database.reservations, reservation_id, "reservation"), database


def get_user_details(database: Database, user_id: str) -> tuple[Value, Database]:
    """The profile of a user."""
    return _found(database.users, user_id, "user"), database


def list_all_airports(database: Database) -> tuple[Value, Database]:
    """The cities by the codes of their airports."""
    return database.airports, database


def search_direct_flight(database: Database, origin: str, destination: str, date: str) -> tuple[Value, Database]:
    """The flights for sale from one airport to another on a day, in the order of the database."""
    found = [
        _on(flight, date)
        for flight in database.flights.values()
        if (flight["origin"], flight["destination"]) == (origin, destination) and _for_sale(flight, date)
    ]
    return tuple(found), database


def search_onestop_flight(database: Database, origin: str, destination: str, date: str) -> tuple[Value, Database]:
    """The pairs of flights for sale with one change, the second on the day on which the first one lands.

    As in the benchmark, the second one is shown as it is on the day on which the first one departs.
    """
    found = []
    for first in database.flights.values():
        if first["origin"] != origin or not _for_sale(first, date):
            continue
        lands = str(first["scheduled_arrival_time_est"])
        day = str(Day.fromisoformat(date) + timedelta(days=1)) if "+1" in lands else date
        for second in database.flights.values():
            if (second["origin"], second["destination"]) != (first["destination"], destination):
                continue
            if lands <= second["scheduled_departure_time_est"] and _for_sale(second, day) and date in second["dates"]:
                found.append(({**_on(first, date), "date": date}, {**_on(second, date), "date": day}))
    return tuple(found), database


def think(database: Database, thought: str) -> tuple[Value, Database]:
    """Nothing."""
    return "", database


def transfer_to_human_agents(database: Database, summary: str) -> tuple[Value, Database]:
    """A word that it is done."""
    return "Transfer successful", database


# ---- tools that change records ----------------------------------------------------------------------------------


def book_reservation(
    database: Database,
    user_id: str,
    origin: str,
    destination: str,
    flight_type: str,
    cabin: str,
    flights: Sequence[Record],
    passengers: Sequence[Record],
    payment_methods: Sequence[Record],
    total_baggages: int,
    nonfree_baggages: int,
    insurance: str,
) -> tuple[Value, Database]:
    """A new reservation, paid from the user's profile."""
    user = _found(database.users, user_id, "user")
    legs = tuple(_priced(database, leg, cabin, len(passengers)) for leg in flights)
    each = sum(leg["price"] for leg in legs) + INSURANCE * (insurance == "yes")
    total = len(passengers) * each + BAG * nonfree_baggages
    means = user["payment_methods"]
    for paid in payment_methods:
        name = paid["payment_id"]
        if name not in means:
            raise Refused(f"payment method {name} not found")
        if means[name]["source"] != "credit_card" and means[name]["amount"] < paid["amount"]:
            raise Refused(f"not enough balance in payment method {name}")
    given = sum(paid["amount"] for paid in payment_methods)
    if given != total:
        raise Refused(f"payment amount does not add up, total price is {total}, but paid {given}")
    name = _unused(BOOKED, database.reservations)
    made = {
        "reservation_id": name,
        "user_id": user_id,
        "origin": origin,
        "destination": destination,
        "flight_type": flight_type,
        "cabin": cabin,
        "flights": legs,
        "passengers": tuple(passengers),
        "payment_history": tuple(payment_methods),
        "created_at": database.now,
        "total_baggages": total_baggages,
        "nonfree_baggages": nonfree_baggages,
        "insurance": insurance,
    }
    for paid in payment_methods:
        means = _charged(means, paid["payment_id"], paid["amount"])
    user = {**user, "payment_methods": means, "reservations": (*user["reservations"], name)}
    return made, _with(_with(database, "users", user_id, user), "reservations", name, made)


def cancel_reservation(database: Database, reservation_id: str) -> tuple[Value, Database]:
    """The reservation, cancelled; what was paid is paid back."""
    row = _found(database.reservations, reservation_id, "reservation")
    back = tuple({**paid, "amount": -paid["amount"]} for paid in row["payment_history"])
    row = {**row, "payment_history": (*row["payment_history"], *back), "status": "cancelled"}
    return row, _with(database, "reservations", reservation_id, row)


def update_reservation_baggages(
    database: Database, reservation_id: str, total_baggages: int, nonfree_baggages: int, payment_id: str
) -> tuple[Value, Database]:
    """The reservation with other bags; those that are charged more than before are paid."""
    row = _found(database.reservations, reservation_id, "reservation")
    price = BAG * max(0, nonfree_baggages - row["nonfree_baggages"])
    row = {**row, "total_baggages": total_baggages, "nonfree_baggages": nonfree_baggages}
    return _paid(database, row, payment_id, price)


def update_reservation_flights(
    database: Database, reservation_id: str, cabin: str, flights: Sequence[Record], payment_id: str
) -> tuple[Value, Database]:
    """The reservation with other flights. One that stays in the cabin of the record keeps its price."""
    row = _found(database.reservations, reservation_id, "reservation")
    many = len(row["passengers"])
    kept = {(leg["flight_number"], leg["date"]): leg for leg in row["flights"] if cabin == row["cabin"]}
    legs = tuple(
        kept.get((leg["flight_number"], leg["date"])) or _priced(database, leg, cabin, many) for leg in flights
    )
    price = many * (sum(leg["price"] for leg in legs) - sum(leg["price"] for leg in row["flights"]))
    return _paid(database, {**row, "flights": legs}, payment_id, price)


def update_reservation_passengers(
    database: Database, reservation_id: str, passengers: Sequence[Record]
) -> tuple[Value, Database]:
    """The reservation with other passengers, as many as before."""
    row = _found(database.reservations, reservation_id, "reservation")
    if len(passengers) != len(row["passengers"]):
        raise Refused("number of passengers does not match")
    row = {**row, "passengers": tuple(passengers)}
    return row, _with(database, "reservations", reservation_id, row)


def send_certificate(database: Database, user_id: str, amount: int | float) -> tuple[Value, Database]:
    """A new certificate in the user's profile."""
    user = _found(database.users, user_id, "user")
    name = _unused(CERTIFICATES, user["payment_methods"])
    made = {"source": "certificate", "amount": amount, "id": name}
    user = {**user, "payment_methods": {**user["payment_methods"], name: made}}
    return (
        f"Certificate {name} added to user {user_id} with amount {amount}.",
        _with(database, "users", user_id, user),
    )


def _found(records: Records, name: str, kind: str) -> Record:
    if name not in records:
        raise Refused(f"{kind} not found")
    return records[name]


def _with(database: Database, kind: str, name: str, record: Record) -> Database:
    """The database with another record of that kind and name."""
    return replace(database, **{kind: {**getattr(database, kind), name: record}})


def _unused(names: Sequence[str], known: Mapping[str, object]) -> str:
    for name in names:
        if name not in known:
            return name
    raise Refused("Too many reservations" if names is BOOKED else "Too many certificates")


def _for_sale(flight: Record, day: str) -> bool:
    return flight["dates"].get(day, {}).get("status") == "available"


def _on(flight: Record, day: str) -> dict[str, Any]:
    """A flight as it is on one day."""
    return {name: value for name, value in flight.items() if name != "dates"} | dict(flight["dates"][day])


def _priced(database: Database, leg: Record, cabin: str, many: int) -> Record:
    """A leg with its price for one passenger, where there are seats for all."""
    number, day = leg["flight_number"], leg["date"]
    flight = database.flights.get(number)
    if flight is None:
        raise Refused(f"flight {number} not found")
    if day not in flight["dates"]:
        raise Refused(f"flight {number} not found on date {day}")
    if not _for_sale(flight, day):
        raise Refused(f"flight {number} not available on date {day}")
    if flight["dates"][day]["available_seats"][cabin] < many:
        raise Refused(f"not enough seats on flight {number}")
    price = flight["dates"][day]["prices"][cabin]
    return {**leg, "price": price, "origin": flight["origin"], "destination": flight["destination"]}


def _paid(database: Database, row: Record, payment_id: str, price: int) -> tuple[Value, Database]:
    """The reservation and the database once the price is paid by its user, or paid back."""
    user = database.users[row["user_id"]]
    means = user["payment_methods"].get(payment_id)
    if means is None:
        raise Refused("payment method not found")
    if means["source"] == "certificate":
        raise Refused("certificate cannot be used to update reservation")
    if means["source"] == "gift_card" and means["amount"] < price:
        raise Refused("gift card balance is not enough")
    if price:
        paid = {"payment_id": payment_id, "amount": price}
        row = {**row, "payment_history": (*row["payment_history"], paid)}
    charged = {**user, "payment_methods": _charged(user["payment_methods"], payment_id, price)}
    return row, _with(_with(database, "users", row["user_id"], charged), "reservations", row["reservation_id"], row)


def _charged(means: Records, name: str, amount: int | float) -> Records:
    """The means of payment after one was charged: a gift card has less on it, a certificate is gone."""
    match means[name]["source"]:
        case "gift_card":
            return {**means, name: {**means[name], "amount": means[name]["amount"] - amount}}
        case "certificate":
            return {other: one for other, one in means.items() if other != name}
    return means


Tool = Callable[..., tuple[Value, Database]]
TOOLS: Mapping[str, Tool] = MappingProxyType(
    {
        one.__name__: one
        for one in (
            book_reservation,
            calculate,
            cancel_reservation,
            get_reservation_details,
            get_user_details,
            list_all_airports,
            search_direct_flight,
            search_onestop_flight,
            send_certificate,
            think,
            transfer_to_human_agents,
            update_reservation_baggages,
            update_reservation_flights,
            update_reservation_passengers,
        )
    }
)
