"""The office of `policies/office`: what its head wants of each call, and recorded runs labelled so.

It shares nothing with `wb`: neither the document nor a rule is read.  The intent is that of SOURCE.md, in Python; a
seeded draw makes the requests; what whoever labelled them got wrong, and the facts that the recording misses, are drawn
as well and known.

    python tests/oracles/office.py > policies/office/labelled.jsonl
"""

from __future__ import annotations

import json
import random
import sys
from dataclasses import dataclass

SEED = 20260302
RUNS = 400
SLIPS = 0.05  # of all labels, in either part, the other one was written down
UNTOLD = 0.03  # of all facts, the recording does not tell

Facts = dict[str, object]


@dataclass(frozen=True)
class Request:
    """A call with what was true of it; `deny` is the intent, `slip` whether the label says the opposite, and
    `untold` are the facts that the recording misses."""

    tool: str
    words: str
    arguments: Facts
    state: Facts
    deny: bool
    slip: bool = False
    untold: tuple[str, ...] = ()


def intent(tool: str, call: Facts, state: Facts, checked: bool) -> bool:
    """Whether the head of the office wants the call denied; `checked` is whether an identity was checked before."""
    match tool:
        case "pay_invoice":
            undelivered = not (state["delivery_confirmed"] or state["prepayment_agreed"])
            unordered = not (state["purchase_order"] or state["late_fee_due"])
            diverted = state["bank_details_changed"] and not state["called_back"]
            return undelivered or unordered or diverted or (call["amount"] > 5000 and not state["head_approved"])
        case "place_order":
            large = call["amount"] > 1000
            unpaid = (state["budget_used_up"] or large) and not state["head_approved"]
            unweighed = large and not (state["three_offers"] or state["framework_contract"])
            return unpaid or unweighed or state["supplier_blocked"]
        case "book_trip":
            risky = (state["travel_warning"] or call["fare"] > 2000) and not state["line_manager_agrees"]
            return risky or (call["days_ahead"] < 14) + (call["fare"] > 800) + call["first_class"] >= 2
        case "send_document":
            named = state["names_a_person"] and not state["person_consented"]
            exposed = call["outside"] and (state["confidential"] or named)
            return exposed or (call["recipients"] > 20) + state["weekend"] + (call["megabytes"] > 10) >= 2
        case "hand_out_key":
            return not checked or ((state["overdue_key"] or not state["room_free"]) and not state["caretaker_agrees"])
        case "accept_gift":
            return (call["value"] > 50 and not state["head_approved"]) or state["bidder"]
    return False


def requests(draw: random.Random) -> list[Request]:
    """The requests of one run, one or two, each with the look-up that goes before it."""

    def often(p: float) -> bool:
        return draw.random() < p

    def request(tool: str) -> list[Request]:
        name = draw.choice(["Adler", "Brunner", "Costa", "Dvorak", "Egger", "Fuchs"])
        checked = False
        found = []
        match tool:
            case "pay_invoice":
                amount = draw.choice([120, 340, 480, 650, 900, 1800, 4200, 5600, 8000])
                call = {"supplier": name, "amount": amount}
                state = {
                    "delivery_confirmed": (delivered := often(0.8)),
                    "prepayment_agreed": often(0.1 if delivered else 0.5),
                    "purchase_order": (ordered := often(0.75)),
                    "late_fee_due": often(0.15 if ordered else 0.6),
                    "bank_details_changed": (changed := often(0.15)),
                    "called_back": changed and often(0.4),
                    "head_approved": often(0.7 if amount > 5000 else 0.2),
                    "two_signatures": often(0.3),
                }
                words = f"Please pay the invoice of {name}, ${amount}."
            case "place_order":
                amount = draw.choice([60, 250, 700, 1200, 2400, 3800])
                call = {"article": draw.choice(["desk", "chairs", "paper", "laptop", "lamp"]), "amount": amount}
                state = {
                    "budget_used_up": often(0.15),
                    "head_approved": often(0.8 if amount > 1000 else 0.2),
                    "three_offers": often(0.6),
                    "framework_contract": often(0.3),
                    "supplier_blocked": often(0.08),
                }
                words = f"We need the {call['article']}; place the order for ${amount}."
            case "book_trip":
                call = {
                    "destination": draw.choice(["Bern", "Lyon", "Oslo", "Turin", "Graz"]),
                    "days_ahead": draw.choice([2, 5, 9, 14, 20, 28, 35, 50, 60]),
                    "fare": draw.choice([180, 320, 450, 600, 780, 950, 1300, 2400]),
                    "first_class": often(0.3),
                }
                state = {
                    "travel_warning": often(0.2),
                    "line_manager_agrees": often(0.5),
                    "travel_form": often(0.4),
                }
                words = f"Book me a trip to {call['destination']} in {call['days_ahead']} days, ${call['fare']}."
            case "send_document":
                call = {
                    "title": draw.choice(["minutes", "contract", "roster", "budget", "survey"]),
                    "recipients": draw.choice([1, 3, 8, 15, 20, 25, 60]),
                    "outside": often(0.4),
                    "megabytes": draw.choice([0.2, 1, 4, 9, 12, 40]),
                }
                state = {
                    "confidential": often(0.25),
                    "names_a_person": (names := often(0.35)),
                    "person_consented": names and often(0.4),
                    "weekend": often(0.3),
                }
                words = f"Send the {call['title']} to {call['recipients']} people."
            case "hand_out_key":
                checked = often(0.85)
                found = [Request("check_identity", f"This is {name}.", {"person": name}, {}, False)] * checked
                call = {"person": name, "room": draw.choice(["1.04", "2.11", "archive", "lab"])}
                state = {
                    "room_free": often(0.85),
                    "overdue_key": often(0.15),
                    "caretaker_agrees": often(0.3),
                    "deposit_paid": often(0.35),
                }
                words = f"{name} wants the key of room {call['room']}."
            case _:
                call = {"giver": name, "value": draw.choice([5, 15, 30, 45, 50, 60, 120])}
                state = {"head_approved": often(0.4), "bidder": often(0.2)}
                words = f"{name} has brought a gift worth ${call['value']}."
        deny = bool(intent(tool, call, state, checked))
        slip, untold = often(SLIPS), tuple(fact for fact in state if often(UNTOLD))
        return [*found, Request(tool, words, call, state, deny, slip, untold)]

    tools = ["pay_invoice", "place_order", "book_trip", "send_document", "hand_out_key", "accept_gift"]
    return [one for tool in draw.sample(tools, draw.choice([1, 2])) for one in request(tool)]


def runs(seed: int = SEED, count: int = RUNS) -> dict[str, list[Request]]:
    """The recorded runs by name."""
    draw = random.Random(seed)
    return {f"office-{number:03d}": requests(draw) for number in range(count)}


def lines(recorded: dict[str, list[Request]]) -> list[dict[str, object]]:
    """The events of the runs, one a line; a call to be denied by its label was not done, and has no result."""
    found: list[dict[str, object]] = []
    for run, asked in recorded.items():
        for one in asked:
            label = "deny" if one.deny != one.slip else "allow"
            labelled = {} if one.tool == "check_identity" else {"label": label}
            told = {fact: value for fact, value in one.state.items() if fact not in one.untold}
            found.append({"run": run, "say": {"role": "user", "text": one.words}})
            found.append({"run": run, "state": told})
            found.append({"run": run, "call": {"tool": one.tool, "arguments": one.arguments}, **labelled})
            found += [{"run": run, "result": "done"}] * (label == "allow")
    return found


if __name__ == "__main__":
    sys.stdout.writelines(json.dumps(line) + "\n" for line in lines(runs()))
