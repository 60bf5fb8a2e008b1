"""The database of `policies/airline`, from rows written by hand and a seed for what nobody cares about.

    python tests/airline_database.py > policies/airline/database.json

By hand: who the guests are, what they pay with and what they have booked, when each flight goes and what it costs.
From the seed: addresses, birthdays, free seats.  A flight costs the same on all days, so that a person can check a
price by head.  The shape of the records is that of τ-bench's airline, whose tools read it.
"""

from __future__ import annotations

import json
import random
import sys
from datetime import date, datetime, timedelta

NOW = datetime.fromisoformat("2026-02-10T12:00:00-05:00")
DAYS = [date(2026, 2, day) for day in range(8, 19)]
AIRPORTS = {
    "ATL": "Atlanta",
    "BOS": "Boston",
    "DEN": "Denver",
    "JFK": "New York",
    "MIA": "Miami",
    "ORD": "Chicago",
    "SEA": "Seattle",
    "SFO": "San Francisco",
}
# number, from, to, departure, arrival, fares of the three cabins
FLIGHTS = """
LW101 BOS ORD 06:30 08:45 80 120 300
LW102 ORD BOS 10:00 13:00 80 120 300
LW103 BOS ORD 13:30 15:45 80 120 300
LW104 ORD BOS 17:00 20:00 95 135 320
LW111 ORD SFO 10:15 15:00 110 160 420
LW112 SFO ORD 08:00 12:30 110 160 420
LW113 ORD SFO 17:00 21:45 110 160 420
LW114 SFO ORD 13:00 17:30 110 160 420
LW121 BOS SFO 09:00 15:30 150 220 560
LW122 SFO BOS 10:00 15:30 150 220 560
LW131 JFK MIA 14:00 17:15 90 140 350
LW132 MIA JFK 10:00 13:00 90 140 350
LW133 JFK MIA 18:30 21:45 100 155 380
LW134 MIA JFK 15:00 18:00 100 155 380
LW141 JFK DEN 09:30 14:00 120 170 430
LW142 DEN JFK 15:00 19:00 120 170 430
LW151 DEN SEA 16:00 19:00 70 110 280
LW152 SEA DEN 09:00 12:00 70 110 280
LW161 JFK SEA 08:00 14:15 160 230 590
LW162 SEA JFK 15:30 21:00 160 230 590
LW171 ATL BOS 08:30 11:00 85 130 320
LW172 BOS ATL 12:00 14:45 85 130 320
LW173 ATL BOS 17:30 20:00 85 130 320
LW181 ATL MIA 09:00 11:00 60 95 240
LW182 MIA ATL 12:00 14:00 60 95 240
LW191 DEN SFO 11:00 13:45 75 115 290
LW192 SFO DEN 14:45 17:30 75 115 290
LW201 BOS MIA 07:45 11:30 95 145 360
LW202 MIA BOS 12:30 16:15 95 145 360
LW211 ATL DEN 10:30 14:00 100 150 380
"""
# what is not as the clock would have it
SPECIAL = {
    ("LW201", 9): "cancelled",
    ("LW103", 11): "delayed",
    ("LW113", 11): "on time",
    ("LW131", 11): "on time",
    ("LW141", 11): "cancelled",
    ("LW151", 11): "delayed",
    ("LW171", 12): "delayed",
    ("LW191", 12): "delayed",
    ("LW201", 12): "cancelled",
    ("LW181", 13): "cancelled",
}
# first name, family name, number, tier, means of payment (what is left on a gift card or certificate)
USERS = """
Ana Ruiz 1107 regular card-3101 card-3102 gift-4101:300 gift-4102:120 gift-4103:80 gift-4104:60 cert-5101:150 \
cert-5102:100
Ben Okafor 2214 silver card-3201 gift-4201:500
Clara Novak 3321 gold card-3301 cert-5301:200
Dev Patel 4438 regular card-3401
Elif Demir 5545 regular card-3501 gift-4501:250
Finn Larsen 6652 silver card-3601
Grace Kim 7769 gold card-3701
Hugo Moreau 8876 regular gift-4801:900 cert-5801:100
Iris Haddad 9983 regular card-3901
Jonas Weber 1190 silver card-3111
Keiko Sato 1201 gold card-3112 gift-4112:60
Liam Doyle 1312 regular card-3113
Mara Silva 1423 regular card-3114
Noor Rahman 1534 silver gift-4115:700 card-3115
Oscar Lind 1645 regular card-3116
Petra Kovacs 1756 gold card-3117
Quinn Abbott 1867 regular card-3118 gift-4118:150
Rosa Marin 1978 regular card-3119
Sven Holt 2089 silver card-3120
Tara Nair 2190 regular card-3121
"""
# reference, guest (family name), trip, cabin, flights, travellers, made at, bags, charged bags, insurance, paid with
RESERVATIONS = """
C2GYE7 Ruiz 1 economy LW181@13 1 02-01T10:20 1 0 no card-3101
M3XPA7 Okafor 1 business LW101@15,LW111@15 2 02-02T16:05 4 0 no card-3201
KD4S1U Okafor 1 economy LW131@17 1 02-08T09:00 1 0 yes card-3201
Q8BXT2 Novak 2 economy LW121@13,LW122@18 1 02-03T11:45 2 0 yes card-3301
O5FHJ9 Novak 1 business LW152@9 1 01-20T08:30 0 0 no card-3301
Q4TLM8 Patel 1 basic_economy LW151@14 1 02-05T14:10 0 0 no card-3401
ZV7NC3 Patel 1 economy LW182@16 2 02-07T18:25 2 0 no card-3401
H2VNC6 Demir 1 economy LW131@14 2 02-04T12:00 2 0 no card-3501
I9QWK1 Demir 2 business LW161@12,LW162@17 1 01-30T07:15 1 0 yes card-3501
Z3HKQ6 Larsen 1 economy LW201@12 2 02-01T13:40 2 0 no card-3601
T1RUE5 Larsen 1 basic_economy LW172@8 1 01-25T20:00 0 0 no card-3601
Y4QHV8 Kim 1 economy LW121@16 1 02-03T15:30 1 0 no card-3701
J6PMD0 Kim 1 economy LW112@9 2 01-22T10:10 0 0 yes card-3701
W9RKE3 Moreau 2 economy LW101@13,LW102@16 1 02-06T09:50 1 0 no gift-4801
BX2LF8 Moreau 1 basic_economy LW134@15 1 02-05T17:35 0 0 no gift-4801
L9PNF3 Haddad 1 basic_economy LW133@13 1 02-04T10:05 0 0 yes card-3901
R0SVG4 Haddad 1 economy LW192@17 1 02-08T12:12 0 0 no card-3901
N5GZU2 Weber 1 business LW161@15 2 02-02T08:40 4 0 no card-3111
E3YKB7 Weber 1 economy LW104@12 1 02-06T19:55 2 0 no card-3111
D8FHQ5 Sato 1 economy LW142@13 1 02-03T14:20 1 0 no card-3112
SM6WA1 Sato 2 basic_economy LW171@14,LW172@17 1 02-07T11:30 2 0 no card-3112
T6BYJ1 Doyle 1 economy LW191@14 1 02-05T16:45 1 0 no card-3113
V2CHN9 Doyle 1 basic_economy LW192@16 1 02-05T16:50 0 0 no card-3113
J1KWS9 Silva 1 economy LW132@14 2 02-04T18:15 2 0 no card-3114
F9NLW1 Silva 1 business LW171@12 3 02-01T09:25 3 0 no card-3114
V7DTB4 Rahman 1 economy LW103@16 1 02-06T07:50 1 0 yes gift-4115
U3GXR6 Rahman 1 economy LW113@11 2 02-02T22:10 4 0 no gift-4115
R2MCX6 Lind 1 economy LW211@14 1 02-06T13:35 1 0 no card-3116
X0EPZ8 Lind 1 basic_economy LW114@9 1 01-28T06:40 0 0 no card-3116
U8WZK5 Kovacs 2 business LW101@9,LW102@13 1 01-31T17:00 2 0 no card-3117
X6MQD3 Kovacs 1 economy LW191@12 1 02-03T20:30 1 0 no card-3117
E6JRT1 Abbott 1 basic_economy LW202@15 1 02-09T11:00 0 0 no card-3118
B3SLG7 Abbott 1 basic_economy LW201@17 1 02-09T13:00 0 0 no card-3118
A5VDY2 Marin 1 basic_economy LW141@11 1 02-02T12:30 0 0 no card-3119
S4TBJ8 Marin 1 economy LW201@12 1 02-03T09:10 1 0 yes card-3119
P7CTM4 Holt 1 business LW122@14 1 02-04T21:20 1 0 no card-3120
G8UJN5 Holt 2 economy LW141@10,LW142@18 1 01-29T15:55 1 0 no card-3120
G1XNB9 Nair 1 economy LW162@14 1 02-05T08:05 1 0 yes card-3121
CW5OD2 Nair 1 basic_economy LW103@11 1 02-06T10:45 0 0 no card-3121
HT9IY0 Nair 2 economy LW111@12,LW112@16 2 02-08T14:15 2 0 no card-3121
"""
COMPANY = "Alma Bruno Celia Dario Edda Fritz".split()  # who travels along
KINDS = {"card": "credit_card", "gift": "gift_card", "cert": "certificate"}
TRIPS = {"1": "one_way", "2": "round_trip"}
CABINS = ("basic_economy", "economy", "business")


def database() -> dict[str, object]:
    """Airports, flights, users and reservations, and the time at which they are so."""
    seeded = random.Random(10)
    flights = dict(_flight(row.split(), seeded) for row in FLIGHTS.split("\n") if row)
    users = dict(_user(row.split(), seeded) for row in USERS.split("\n") if row)
    reservations = dict(_reservation(row.split(), flights, users, seeded) for row in RESERVATIONS.split("\n") if row)
    return {
        "now": NOW.isoformat(),
        "airports": AIRPORTS,
        "flights": flights,
        "users": users,
        "reservations": reservations,
    }


def _flight(row: list[str], seeded: random.Random) -> tuple[str, dict]:
    number, origin, destination, departs, arrives, *fares = row
    prices = dict(zip(CABINS, map(int, fares), strict=True))
    return number, {
        "flight_number": number,
        "origin": origin,
        "destination": destination,
        "scheduled_departure_time_est": f"{departs}:00",
        "scheduled_arrival_time_est": f"{arrives}:00",
        "dates": {str(day): _on(day, number, departs, arrives, prices, seeded) for day in DAYS},
    }


def _on(day: date, number: str, departs: str, arrives: str, prices: dict[str, int], seeded: random.Random) -> dict:
    leaves, lands = f"{day}T{departs}:00", f"{day}T{arrives}:00"
    seats = {cabin: seeded.randint(6, 20) for cabin in CABINS}
    match SPECIAL.get((number, day.day)) or _status(day, departs, arrives):
        case "landed":
            return {"status": "landed", "actual_departure_time_est": leaves, "actual_arrival_time_est": lands}
        case "flying":
            return {"status": "flying", "actual_departure_time_est": leaves, "estimated_arrival_time_est": lands}
        case "on time":
            return {"status": "on time", "estimated_departure_time_est": leaves, "estimated_arrival_time_est": lands}
        case "delayed":
            later = [(datetime.fromisoformat(one) + timedelta(hours=5)).isoformat() for one in (leaves, lands)]
            return {
                "status": "delayed",
                "estimated_departure_time_est": later[0],
                "estimated_arrival_time_est": later[1],
            }
        case "cancelled":
            return {"status": "cancelled"}
    return {"status": "available", "available_seats": seats, "prices": prices}


def _status(day: date, departs: str, arrives: str) -> str:
    if day != NOW.date():
        return "landed" if day < NOW.date() else "available"
    clock = f"{NOW:%H:%M}"
    return "on time" if departs > clock else "flying" if arrives > clock else "landed"


def _user(row: list[str], seeded: random.Random) -> tuple[str, dict]:
    first, last, number, tier, *means = row
    name = f"{first}_{last}_{number}".lower()
    return name, {
        "user_id": name,
        "name": {"first_name": first, "last_name": last},
        "address": {
            "address1": f"{seeded.randint(1, 900)} {seeded.choice(('Elm', 'Lake', 'Mill', 'Park'))} Street",
            "address2": f"Apt {seeded.randint(1, 60)}",
            "city": seeded.choice(sorted(AIRPORTS.values())),
            "country": "USA",
            "zip": f"{seeded.randint(10000, 99999)}",
        },
        "email": f"{first}.{last}@example.com".lower(),
        "dob": _birthday(seeded),
        "payment_methods": dict(_means(one) for one in means),
        "saved_passengers": [],
        "membership": tier,
        "reservations": [],
    }


def _named(text: str) -> str:
    """What a means of payment is called."""
    kind, _, number = text.partition(":")[0].partition("-")
    return f"{KINDS[kind]}_{number}"


def _means(text: str) -> tuple[str, dict]:
    name, amount = _named(text), text.partition(":")[2]
    kind, number = text[:4], name[-4:]
    if kind == "card":
        return name, {"source": "credit_card", "brand": "visa", "last_four": number, "id": name}
    return name, {"source": KINDS[kind], "amount": int(amount), "id": name}


def _reservation(row: list[str], flights: dict, users: dict, seeded: random.Random) -> tuple[str, dict]:
    name, last, trip, cabin, legs, many, made, bags, charged, insurance, paid = row
    user = next(one for one in users.values() if one["name"]["last_name"] == last)
    user["reservations"].append(name)
    parts = [_leg(leg, cabin, flights) for leg in legs.split(",")]
    people = [{**user["name"], "dob": user["dob"]}]
    people += [{"first_name": first, "last_name": last, "dob": _birthday(seeded)} for first in COMPANY[: int(many) - 1]]
    price = int(many) * (sum(part["price"] for part in parts) + 30 * (insurance == "yes")) + 50 * int(charged)
    return name, {
        "reservation_id": name,
        "user_id": user["user_id"],
        "origin": parts[0]["origin"],
        "destination": parts[-1]["destination"] if trip == "1" else parts[len(parts) // 2 - 1]["destination"],
        "flight_type": TRIPS[trip],
        "cabin": cabin,
        "flights": parts,
        "passengers": people,
        "payment_history": [{"payment_id": _named(paid), "amount": price}],
        "created_at": f"2026-{made}:00-05:00",
        "total_baggages": int(bags),
        "nonfree_baggages": int(charged),
        "insurance": insurance,
    }


def _leg(text: str, cabin: str, flights: dict) -> dict:
    number, _, day = text.partition("@")
    flight = flights[number]
    fares = next(one["prices"] for one in flight["dates"].values() if "prices" in one)
    return {
        "origin": flight["origin"],
        "destination": flight["destination"],
        "flight_number": number,
        "date": f"2026-02-{int(day):02}",
        "price": fares[cabin],
    }


def _birthday(seeded: random.Random) -> str:
    return str(date(1950, 1, 1) + timedelta(days=seeded.randrange(18000)))


def written() -> str:
    """The file: one line a record."""
    parts = []
    for name, value in database().items():
        if name in ("now", "airports"):
            parts.append(f'"{name}": {json.dumps(value)}')
        else:
            rows = ",\n".join(f'  "{key}": {json.dumps(row)}' for key, row in value.items())
            parts.append(f'"{name}": {{\n{rows}\n}}')
    return "{" + ",\n".join(parts) + "}\n"


if __name__ == "__main__":
    sys.stdout.write(written())
