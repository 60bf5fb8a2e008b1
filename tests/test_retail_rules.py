"""A retail policy's rules as data, on calls of our own: half break a rule, and the guard says which."""

from __future__ import annotations

import pytest
from bench import retail
from conftest import shared

from wb.domain.session import Session
from wb.domain.trace import Verdict
from wb.guards import contract
from wb.guards.runtime import CallGuard

shared("data", "policies", "retail")
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
    return retail.guard()


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
    (NONE, [("think", {"thought": "x"})], "Hello.", ("R02",)),
    (NONE, [("get_user_details", {"user_id": "ann"})], "Hello.", ("R02", "R04")),
    (READ, [cancel("Q")], "Yes.", ("R05",)),
    (TOLD, [(HOME[0], HOME[1] | {"user_id": "bob"})], "Yes.", ("R05_profile",)),
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
    (READ, [swap(), cancel()], "Yes.", ("R21_after",)),
    (READ, [swap(), send()], "Yes.", ("R13_modify", "R21_after")),
    (READ, [swap(), swap("gold")], "Yes.", ("R13_modify", "R21", "R21_after")),
    (READ, [swap(of="D"), swap("gold", of="D")], "Yes.", ("R13_exchange",)),
    (READ, [send("D")], "Yes.", ("R17",)),
    (READ, [("exchange_delivered_order_items", swap()[1])], "Yes.", ("R31",)),
]


def said(
    guard: CallGuard, before: str, calls: list, words: str, agent: str = "Are these all items?", **told: object
) -> Verdict:
    """The verdict on the last of the calls; those before it are done, each after a yes of its own."""
    one = Session(guard, ask=lambda tool, given: WORLD[tool][next(iter(given.values()))])
    one.state({"request_in_scope": True, **told})
    if before != NONE:
        one.call(*LOCATE), one.result("ann")
    for name in "PDCQ" if before == READ else "":
        assert one.call("get_order_details", {"order_id": name}).decision == "allow"
        one.result(WORLD["get_order_details"][name])
    one.say("assistant", agent)
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


def test_a_transfer_within_the_scope_is_denied_and_one_beyond_it_allowed(guard) -> None:
    assert said(guard, READ, [HELP], "Help!").violated == ("R10",)
    assert said(guard, READ, [HELP], "Help!", request_in_scope=False).decision == "allow"
    assert said(guard, READ, [HELP], "Help!", request_in_scope=None).decision == "undecided"


def test_without_the_reminder_nothing_is_swapped_and_another_reason_is_refused(guard) -> None:
    assert said(guard, READ, [swap()], "Yes.", agent="Fine.").violated == ("R23",)
    refused = said(guard, READ, [cancel(reason="a whim")], "Yes.")
    assert (refused.decision, refused.grade) == ("deny", "error") and "no longer needed" in refused.reason


def test_every_rule_that_a_guard_can_hold_is_said_and_every_rule_is_one_of_them() -> None:
    assert set(retail.GOLD) == set(retail.guardable()) and len(retail.GOLD) == 35
    assert {rule for rules in retail.GOLD.values() for rule in rules} == {rule.id for rule in retail.rules().rules}


def test_every_rule_is_broken_by_some_call() -> None:
    """R10 and R23 by calls of their own tests; a call that breaks R16 does not fit the tool's schema either."""
    assert {rule for *_, broken in CALLS for rule in broken} | {"R10", "R23", "R16"} == {
        rule.id for rule in retail.rules().rules
    }


def test_how_much_of_each_guard_is_trusted() -> None:
    made = contract.contracts(retail.toolbox(), retail.rules())
    found = {one.tool: (len(one.items), len(one.parameters), len(one.trusted)) for one in made if len(one.items) > 2}
    assert found == {
        "cancel_pending_order": (8, 8, 1),
        "exchange_delivered_order_items": (12, 16, 3),
        "modify_pending_order_address": (8, 8, 1),
        "modify_pending_order_items": (14, 17, 3),
        "modify_pending_order_payment": (11, 13, 2),
        "modify_user_address": (3, 4, 1),
        "return_delivered_order_items": (7, 10, 1),
    }


def test_of_what_is_not_known_no_rule_is_called_broken(guard) -> None:
    """The order is not known, so it is not told whose it is: another one's, as the user that was located shows?"""
    one = Session(guard)
    one.call(*LOCATE), one.result("ann")
    one.say("user", "No.")
    verdict = one.call(*cancel())
    assert (verdict.decision, verdict.violated) == ("deny", ("R06", "R15_checked"))


def test_of_items_of_several_products_the_session_has_to_be_told(guard) -> None:
    tool, given = swap()
    several = (tool, given | {"item_ids": ["shirt", "shoe"], "new_item_ids": ["red", "boot2"]})
    assert said(guard, READ, [several], "Yes.").decision == "undecided"
    told = {"same_product": True, "new_items_available": True}
    assert said(guard, READ, [several], "Yes.", **told).decision == "allow"
    assert said(guard, READ, [several], "Yes.", **told | {"same_product": False}).violated == ("R25",)
