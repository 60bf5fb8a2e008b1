"""A retail policy's rules as data, on calls of our own: half break a rule, and the guard says which."""

from __future__ import annotations

import json

import pytest
from bench import airline
from conftest import ROOT, shared

from wb.domain import tools
from wb.domain.session import Session
from wb.domain.trace import Verdict
from wb.guards.contract import assemble, contract
from wb.guards.runtime import CallGuard, Guarded
from wb.rules import rulefile

FILES = ROOT / "tests" / "fixtures" / "retail"
TOOLS = shared("data", "policies", "retail", "tools.bare.json")
ADDRESS = {name: "x" for name in ("address1", "address2", "city", "state", "country", "zip")}


def order(status: str, user: str = "ann") -> dict:
    items = [("shirt", "cotton", 10.5), ("shirt_b", "cotton", 10), ("shoe", "boot", 20)]
    listed = [{"item_id": item, "product_id": product, "price": price} for item, product, price in items]
    return {
        "status": status,
        "user_id": user,
        "items": listed,
        "payment_history": [{"payment_method_id": "card", "amount": 30.5}],
    }


WORLD = {
    "get_order_details": {
        "P": order("pending"),
        "D": order("delivered"),
        "C": order("cancelled"),
        "Q": order("pending", "bob"),
    },
    "get_user_details": {
        name: {
            "payment_methods": {
                "card": {"source": "credit_card"},
                "paypal": {"source": "paypal"},
                "rich": {"source": "gift_card", "balance": 100},
                "poor": {"source": "gift_card", "balance": 5.5},
            }
        }
        for name in ("ann", "bob")
    },
    "get_product_details": {
        "cotton": {
            "product_id": "cotton",
            "variants": {
                "shirt": {"available": True, "price": 10.5},
                "red": {"available": True, "price": 12},
                "gold": {"available": True, "price": 500},
                "gone": {"available": False, "price": 1},
            },
        }
    },
}


@pytest.fixture(scope="module")
def guard() -> CallGuard:
    own = json.loads((FILES / "state.json").read_text("utf-8"))
    given = [tool.get("function", tool) for tool in json.loads(TOOLS.read_text("utf-8"))]
    listed = [{**tool, "mutating": tool["name"] not in own["read_only"]} for tool in given]
    box = tools.parse(json.dumps({"tools": listed, "state": own["state"]}))
    rules = rulefile.load(FILES / "rules.yaml")
    made = [contract(tool, rules, box.state) for tool in box.tools]
    entries = [Guarded(one, assemble(airline.code(one), one), "tested") for one in made]
    return CallGuard("retail", rules, tuple(entries), frozenset({"tested"}), box)


def swap(new: str = "red", pay: str = "card", old: str = "shirt", of: str = "P") -> tuple:
    tool = "modify_pending_order_items" if of != "D" else "exchange_delivered_order_items"
    return tool, {"order_id": of, "item_ids": [old], "new_item_ids": [new], "payment_method_id": pay}


def cancel(of: str = "P", reason: str = "no longer needed") -> tuple:
    return "cancel_pending_order", {"order_id": of, "reason": reason}


def back(pay: str = "card", of: str = "D") -> tuple:
    return "return_delivered_order_items", {"order_id": of, "item_ids": ["shirt"], "payment_method_id": pay}


def pay(method: str, of: str = "P") -> tuple:
    return "modify_pending_order_payment", {"order_id": of, "payment_method_id": method}


def send(of: str = "P") -> tuple:
    return "modify_pending_order_address", {"order_id": of, **ADDRESS}


LOCATE, HOME = ("find_user_id_by_email", {"email": "a"}), ("modify_user_address", {"user_id": "ann", **ADDRESS})
HELP = ("transfer_to_human_agents", {"summary": "x"})
NONE, READ, TOLD = "nothing before", "located and read", "located alone"
# What was before, the calls (the last one is decided), the user's words, and the rules that it breaks
CALLS = [
    (READ, [cancel()], "Yes.", ()),
    (READ, [cancel(reason="ordered by mistake")], "yes, please", ()),
    (READ, [swap()], "Yes.", ()),
    (READ, [swap("gold")], "Yes.", ()),
    (READ, [swap("red", "rich")], "Yes.", ()),
    (READ, [swap("red", "poor")], "Yes.", ()),
    (READ, [swap(of="D")], "Yes.", ()),
    (READ, [swap("gold", "card", of="D")], "Yes.", ()),
    (READ, [back()], "Yes.", ()),
    (READ, [back("rich")], "Yes.", ()),
    (READ, [pay("paypal")], "Yes.", ()),
    (READ, [pay("rich")], "Yes.", ()),
    (READ, [send()], "Yes.", ()),
    (TOLD, [HOME], "Yes.", ()),
    (READ, [swap(of="D"), cancel()], "Yes.", ()),
    (NONE, [HOME], "Yes.", ("R02",)),
    (READ, [cancel()], "No.", ("R06",)),
    (TOLD, [cancel()], "Yes.", ("R15_checked",)),
    (READ, [cancel("D")], "Yes.", ("R15",)),
    (READ, [cancel("C")], "Yes.", ("R12", "R15")),
    (READ, [swap("gone")], "Yes.", ("R24",)),
    (READ, [swap("boot2")], "Yes.", ("R25",)),
    (READ, [swap("gold", "poor")], "Yes.", ("R27",)),
    (READ, [swap("red", "else")], "Yes.", ("R26",)),
    (READ, [back("paypal")], "Yes.", ("R30",)),
    (READ, [back(of="P")], "Yes.", ("R28",)),
    (READ, [pay("card")], "Yes.", ("R19",)),
    (READ, [pay("poor")], "Yes.", ("R20",)),
    (READ, [swap(), cancel()], "Yes.", ("R21",)),
    (READ, [swap(), send()], "Yes.", ("R13_modify",)),
]


def said(guard: CallGuard, before: str, calls: list, words: str, **told: object) -> Verdict:
    """The verdict on the last of the calls; those before it are done, each after a yes of its own."""
    one = Session(guard, ask=lambda tool, given: WORLD[tool][next(iter(given.values()))])
    one.state({"request_in_scope": True, **told})
    if before != NONE:
        one.call(*LOCATE), one.result("ann")
    for name in "PDCQ" if before == READ else "":
        assert one.call("get_order_details", {"order_id": name}).decision == "allow"
        one.result(WORLD["get_order_details"][name])
    one.say("assistant", "Are these all items?")
    for call in calls:
        one.say("user", words if call is calls[-1] else "Yes.")
        verdict = one.call(*call)
        if call is not calls[-1]:
            assert verdict.decision == "allow"
            one.result({})
    return verdict


@pytest.mark.parametrize(("before", "calls", "words", "broken"), CALLS)
def test_a_call_is_decided_as_the_policy_says(guard, before: str, calls: list, words: str, broken: tuple) -> None:
    verdict = said(guard, before, calls, words)
    assert (verdict.decision, verdict.violated) == ("deny" if broken else "allow", broken), verdict.reason


def test_a_transfer_within_the_scope_is_denied_and_a_foreign_order_never_allowed(guard) -> None:
    assert said(guard, READ, [HELP], "Help!").violated == ("R10",)
    foreign = said(guard, READ, [cancel("Q")], "Yes.")
    assert foreign.decision == "undecided" and "state.by_name" in foreign.reason


def test_of_items_of_several_products_the_session_has_to_be_told(guard) -> None:
    tool, given = swap()
    several = (tool, given | {"item_ids": ["shirt", "shoe"], "new_item_ids": ["red", "boot2"]})
    assert said(guard, READ, [several], "Yes.").decision == "undecided"
    told = {"same_product": True, "new_items_available": True}
    assert said(guard, READ, [several], "Yes.", **told).decision == "allow"
    assert said(guard, READ, [several], "Yes.", **told | {"same_product": False}).violated == ("R25",)
