"""What the policies of a shop and an airline want to say of a call, as facts."""

import pytest

from wb.logic.cel import parse, render
from wb.logic.evaluation import holds
from wb.logic.facts import FactError

NOW = "2024-05-15T15:00:00-05:00"
BOOKING = {
    "user_id": "mia",
    "cabin": "economy",
    "flights": [
        {"number": "H1", "date": "2024-05-20", "price": 100},
        {"number": "H2", "date": "2024-05-21", "price": 50},
    ],
    "passengers": [{"first": "Ann", "born": "1990-04-05"}, {"first": "Bob", "born": "2015-01-01"}],
    "payments": [{"id": "card_1", "amount": 120}, {"id": "certificate_9", "amount": 30}],
    "bags": {"total": 3, "nonfree": 1},
    "insurance": "no",
}
ORDER = {
    "id": "#W1",
    "status": "pending",
    "user": "mia",
    "created_at": "2024-05-15T03:10:19",
    "items": [
        {"id": "1", "product": "p1", "price_cents": 4999},
        {"id": "2", "product": "p2", "price_cents": 250},
    ],
    "paid": [{"method": "card_1", "cents": 5249}],
}
STATE = {
    "now": NOW,
    "user": {
        "id": "mia",
        "email": " Mia@Example.COM ",
        "level": "gold",
        "methods": {
            "card_1": {"source": "card"},
            "gift_2": {"source": "gift", "cents": 9000},
            "certificate_9": {"source": "certificate", "cents": 3000},
        },
    },
    "order": ORDER,
    "products": {
        "p1": {
            "variants": {
                "1": {"available": True, "price_cents": 4999},
                "11": {"available": True, "price_cents": 5500},
                "12": {"available": False, "price_cents": 1},
            }
        }
    },
    "refunds": [],
}

# what is said, its text, values that make it false: where they stand and what they are
SAID = [
    ("at most five passengers", "size(call.passengers) <= 5", "call.passengers", [{"first": "x"}] * 6),
    ("every amount is positive", "call.payments.all(p, p.amount > 0)", "call.payments.0.amount", 0),
    (
        "payments come to the price of all flights for all passengers",
        "sum(call.payments.map(p, p.amount)) == sum(call.flights.map(f, f.price)) - 0",
        "call.payments.0.amount",
        121,
    ),
    (
        "at most one travel certificate",
        'size(call.payments.filter(p, state.user.methods[p.id].source == "certificate")) <= 1',
        "state.user.methods.card_1.source",
        "certificate",
    ),
    (
        "every payment method is in the profile",
        "call.payments.all(p, p.id in state.user.methods)",
        "call.payments.1.id",
        "x",
    ),
    (
        "non-free bags are those beyond two",
        "call.bags.nonfree == (call.bags.total > 2 ? call.bags.total - 2 : 0)",
        "call.bags.total",
        5,
    ),
    ("the booking is for the user", "call.user_id == state.user.id", "call.user_id", "bob"),
    (
        "ordered within 24 hours",
        'now - timestamp(state.order.created_at + "-05:00") < duration("24h")',
        "state.now",
        "2024-05-17T15:00:00-05:00",
    ),
    (
        "no flight has left",
        'call.flights.all(f, timestamp(f.date + "T00:00:00-05:00") > now)',
        "call.flights.1.date",
        "2024-05-14",
    ),
    ("flights are in order", "call.flights[0].date <= call.flights[1].date", "call.flights.1.date", "2024-05-01"),
    (
        "the order is pending or delivered",
        'state.order.status in ["pending", "delivered"]',
        "state.order.status",
        "lost",
    ),
    (
        "the refund goes to the original payment method",
        "state.order.paid.exists(p, p.method == call.payments[0].id)",
        "call.payments.0.id",
        "card_2",
    ),
    (
        "the item is of the order",
        'state.order.items.exists(i, i.id == "1" && i.product == "p1")',
        "state.order.items.0.product",
        "p9",
    ),
    (
        "the new item is available",
        'state.products["p1"].variants[call.new_item].available',
        "call.new_item",
        "12",
    ),
    (
        "the gift card covers the difference",
        "state.user.methods[call.method].cents >= "
        "state.products.p1.variants[call.new_item].price_cents - state.order.items[0].price_cents",
        "state.user.methods.gift_2.cents",
        100,
    ),
    ("exactly one payment is above 100", "call.payments.exists_one(p, p.amount > 100)", "call.payments.1.amount", 101),
    ("insurance is declined or paid", 'call.insurance == "no" || size(call.payments) > 2', "call.insurance", "yes"),
    (
        "the address is ours",
        'state.user.email.trim().lowerAscii().endsWith("@example.com")',
        "state.user.email",
        "mia@other.com",
    ),
    (
        "the dearest item costs less than 50.00",
        "max(state.order.items.map(i, i.price_cents)) < 5000",
        "state.order.items.1.price_cents",
        9000,
    ),
    (
        "all items of one product",
        "state.order.items.all(i, i.product != state.order.items[0].product || i.id == state.order.items[0].id)",
        "state.order.items.1.product",
        "p1",
    ),
    (
        "nobody is under five",
        'call.passengers.all(p, timestamp(p.born + "T00:00:00Z") + duration("43800h") <= now)',
        "call.passengers.1.born",
        "2023-01-01",
    ),
    ("a note was given", "has(call.note) && size(string(call.note)) <= 200", "call.note", "x" * 201),
    ("the amounts are even", "call.payments.all(p, p.amount % 2 == 0)", "call.payments.1.amount", 31),
    ("no refund yet", "size(state.refunds) == 0", "state.refunds", [1]),
    (
        "a quarter at most is paid by certificate",
        "sum(call.payments.filter(p, p.id.startsWith('certificate')).map(p, p.amount)) * 4 "
        "<= sum(call.payments.map(p, p.amount))",
        "call.payments.1.amount",
        90,
    ),
    (
        "the order number has its sign",
        "state.order.id.startsWith('#W') && !state.order.id.contains(' ')",
        "state.order.id",
        "#W 1",
    ),
    (
        "only on working days",
        "now.getDayOfWeek('America/New_York') in [1, 2, 3, 4, 5]",
        "state.now",
        "2024-05-18T15:00:00-05:00",
    ),
    (
        "members get three bags, others one",
        'call.bags.total <= (state.user.level == "gold" ? 3 : 1)',
        "state.user.level",
        "none",
    ),
]


def values(place: str = "", value: object = None) -> dict:
    """The values at which all is true, with another one at that place; with `...` nothing is there."""
    call = {**BOOKING, "new_item": "11", "method": "gift_2", "note": "thanks"}
    return changed({"state": STATE, "call": call}, place.split("."), value) if place else {"state": STATE, "call": call}


def changed(inside: object, place: list[str], value: object) -> object:
    head, *rest = place
    key = int(head) if isinstance(inside, list) else head
    if not rest and value is ...:
        return {k: v for k, v in inside.items() if k != key}
    new = value if not rest else changed(inside[key], rest, value)
    return {**inside, key: new} if isinstance(inside, dict) else [new if i == key else v for i, v in enumerate(inside)]


@pytest.mark.parametrize(("text", "place", "value"), [row[1:] for row in SAID], ids=[row[0] for row in SAID])
def test_what_policies_say_can_be_said(text, place, value):
    fact = parse(text)
    assert parse(render(fact)) == fact
    assert holds(fact, values()) is True
    assert holds(fact, values(place, value)) is False
    assert holds(fact, values(place, [7] if isinstance(value, str) else "x")) is not True, "of another type"


if __name__ == "__main__":
    known = 0
    for _, text, *_ in SAID:
        try:
            known += parse(text) is not None
        except FactError:
            pass
    print(f"{known} of {len(SAID)} can be said")
