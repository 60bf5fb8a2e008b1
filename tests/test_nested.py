"""Readings of fields within objects and lists: which come into force, and that no wrong one does.

The wrong ones were written before the accounting read such fields."""

from __future__ import annotations

import itertools
import json
import re

import pytest
from bench import gold

from wb.domain import policy, tools
from wb.domain.clauses import clause_of
from wb.logic import cel
from wb.logic.syntax import parse
from wb.rules import sentences
from wb.rules.rule import Predicate, Rule, RuleSet
from wb.rules.sentences import Account


def _object(description: str = "", /, **fields: dict) -> dict:
    return {"type": "object", "description": description, "properties": fields}


def _list(description: str, **fields: dict) -> dict:
    return {"type": "array", "description": description, "items": {"type": "object", "properties": fields}}


def _one(kind: str, description: str = "", *values: str) -> dict:
    return {"type": kind, "description": description} | ({"enum": list(values)} if values else {})


BOX = tools.parse(
    json.dumps(
        {
            "tools": [
                {
                    "name": "rent_out_machine",
                    "description": "Rent out a machine.",
                    "mutating": True,
                    "parameters": {
                        "type": "object",
                        "properties": {
                            "machine_id": _one("string"),
                            "deposit": _object(
                                "the deposit",
                                amount=_one("number", "in euros"),
                                method=_one("string", "how it is paid", "cash", "card", "transfer"),
                            ),
                            "driver": _object(
                                "who drives",
                                age=_one("integer", "in years"),
                                licensed=_one("boolean"),
                                hired=_one("boolean"),
                            ),
                            "attachments": _list(
                                "what is mounted",
                                kind=_one("string", "", "bucket", "hammer", "fork"),
                                secured=_one("boolean"),
                                weight=_one("integer", "in kg"),
                            ),
                            "helpers": _list("", age=_one("integer", "in years"), trained=_one("boolean")),
                        },
                    },
                },
                {
                    "name": "extend_rental",
                    "description": "Extend a rental.",
                    "mutating": True,
                    "parameters": {
                        "type": "object",
                        "properties": {
                            "rental_id": _one("string"),
                            "period": _object("how long", days=_one("integer"), weeks=_one("integer")),
                        },
                    },
                },
                {"name": "close_rental", "description": "Close a rental.", "mutating": True},
                {"name": "get_machine", "description": "Get the state of a machine.", "mutating": False},
                {"name": "scrap_machine", "description": "Scrap a machine.", "mutating": True},
            ],
            "state": [
                {
                    "name": "machine",
                    **_object(
                        "the machine",
                        status=_one("string", "", "ready", "broken", "parked"),
                        serviced=_one("boolean"),
                        weight=_one("integer", "in kg"),
                        tank=_object("", sealed=_one("boolean"), level=_one("integer", "in percent")),
                    ),
                },
                {
                    "name": "trailer",
                    **_object(
                        "the trailer",
                        status=_one("string", "", "ready", "taken"),
                        braked=_one("boolean"),
                        serviced=_one("boolean"),
                        weight=_one("integer", "in kg"),
                    ),
                },
                {
                    "name": "rental",
                    **_object(
                        "the rental",
                        status=_one("string", "", "open", "overdue", "settled"),
                        fee=_one("number", "in euros"),
                        penalty=_one("number", "in euros"),
                        signed=_one("boolean"),
                        remarks=_list("", urgent=_one("boolean")),
                    ),
                },
                {
                    "name": "renter",
                    **_object(
                        "who rents",
                        tier=_one("string", "", "basic", "trusted"),
                        blocked=_one("boolean"),
                        insured=_one("boolean"),
                        debt=_one("number", "in euros"),
                        age=_one("integer", "in years"),
                    ),
                },
            ],
        }
    )
)
ACTS = {
    "rent": "rent_out_machine",
    "extend": "extend_rental",
    "close": "close_rental",
    "look": "get_machine",
    "scrap": "scrap_machine",
}
# Each sentence with its right reading, whether that is in force by itself, and wrong ones, tests in {}.
CASES = {
    "A machine may be rented out only if it is serviced.": (
        "ALWAYS (rent IMPLIES {state.machine.serviced})",
        """ALWAYS (rent IMPLIES {state.trailer.serviced}) | ALWAYS (rent IMPLIES NOT {state.machine.serviced})
        ALWAYS (rent IMPLIES {!state.machine.serviced}) | ALWAYS (scrap IMPLIES {state.machine.serviced})
        ALWAYS ({state.machine.serviced} IMPLIES rent) | ALWAYS (rent IMPLIES {state.machine.tank.sealed})
        ALWAYS (rent IMPLIES {state.machine.status == "ready"}) | ALWAYS (rent IMPLIES ONCE look)""",
    ),
    "Do not rent out a machine that is broken.": (
        'ALWAYS (rent IMPLIES {state.machine.status != "broken"})',
        """ALWAYS (rent IMPLIES {state.machine.status == "broken"}) | ALWAYS NOT rent
        ALWAYS (rent IMPLIES {state.machine.status != "parked"})
        ALWAYS (scrap IMPLIES {state.machine.status != "broken"})
        ALWAYS (rent IMPLIES {state.trailer.status != "taken"})
        ALWAYS (rent IMPLIES {state.machine.status == "ready"})
        ALWAYS (rent IMPLIES {state.machine.status in ["ready"]})""",
    ),
    "Never rent out a machine whose tank is not sealed.": (
        "ALWAYS (rent IMPLIES {state.machine.tank.sealed})",
        """ALWAYS (rent IMPLIES NOT {state.machine.tank.sealed}) | ALWAYS (rent IMPLIES {state.machine.serviced})
        ALWAYS (rent IMPLIES {state.machine.tank.level > 0})
        ALWAYS (extend IMPLIES {state.machine.tank.sealed})""",
    ),
    "A machine must not be rented out if its status is parked.": (
        'ALWAYS (rent IMPLIES {state.machine.status != "parked"})',
        """ALWAYS (rent IMPLIES {state.machine.status == "parked"})
        ALWAYS (rent IMPLIES {state.trailer.status != "taken"})
        ALWAYS (rent IMPLIES {state.rental.status != "settled"})
        ALWAYS (rent IMPLIES {state.machine.status != "broken"})""",
    ),
    "A machine may be rented out only if the deposit is at least 200 euros.": (
        "ALWAYS (rent IMPLIES {call.deposit.amount >= 200})",
        """ALWAYS (rent IMPLIES {call.deposit.amount <= 200}) | ALWAYS (rent IMPLIES {call.deposit.amount > 200})
        ALWAYS (rent IMPLIES {call.deposit.amount >= 20}) | ALWAYS (rent IMPLIES {state.rental.fee >= 200})
        ALWAYS (rent IMPLIES {state.renter.debt >= 200}) | ALWAYS (rent IMPLIES {call.deposit.amount < 200})
        ALWAYS (rent IMPLIES {call.deposit.method == "cash"})""",
    ),
    "Rent out a machine only if the driver is at least 18 years old.": (
        "ALWAYS (rent IMPLIES {call.driver.age >= 18})",
        """ALWAYS (rent IMPLIES {state.renter.age >= 18}) | ALWAYS (rent IMPLIES {call.driver.age > 18})
        ALWAYS (rent IMPLIES {call.driver.age <= 18}) | ALWAYS (rent IMPLIES {call.helpers.all(h, h.age >= 18)})
        ALWAYS (rent IMPLIES {call.driver.licensed})""",
    ),
    "A machine must not be rented out if the renter is blocked.": (
        "ALWAYS (rent IMPLIES NOT {state.renter.blocked})",
        """ALWAYS (rent IMPLIES {state.renter.blocked}) | ALWAYS (rent IMPLIES NOT {state.renter.insured})
        ALWAYS ({state.renter.blocked} IMPLIES EVENTUALLY rent)
        ALWAYS (rent IMPLIES NOT ONCE {state.renter.blocked})""",
    ),
    "Do not extend a rental that is overdue.": (
        'ALWAYS (extend IMPLIES {state.rental.status != "overdue"})',
        """ALWAYS (extend IMPLIES {state.rental.status == "overdue"})
        ALWAYS (close IMPLIES {state.rental.status != "overdue"})
        ALWAYS (extend IMPLIES {state.rental.status != "open"})
        ALWAYS (extend IMPLIES {state.rental.status == "settled"})""",
    ),
    "A rental may be closed only if its status is settled.": (
        'ALWAYS (close IMPLIES {state.rental.status == "settled"})',
        """ALWAYS (close IMPLIES {state.rental.status == "open"})
        ALWAYS (close IMPLIES {state.rental.status != "settled"})
        ALWAYS (close IMPLIES {state.machine.status == "ready"})
        ALWAYS (extend IMPLIES {state.rental.status == "settled"})
        ALWAYS (close IMPLIES {state.rental.status in ["settled", "open"]})""",
    ),
    "Do not rent out a machine unless the rental is signed.": (
        "ALWAYS (rent IMPLIES {state.rental.signed})",
        """ALWAYS (rent IMPLIES NOT {state.rental.signed}) | ALWAYS (extend IMPLIES {state.rental.signed})
        ALWAYS ({state.rental.signed} IMPLIES EVENTUALLY rent) | ALWAYS (rent IMPLIES {state.machine.serviced})
        ALWAYS NOT rent""",
    ),
    "Do not extend a rental whose fee is over 900 euros.": (
        "ALWAYS (extend IMPLIES {state.rental.fee <= 900})",
        """ALWAYS (extend IMPLIES {state.rental.fee >= 900}) | ALWAYS (extend IMPLIES {state.rental.fee < 900})
        ALWAYS (extend IMPLIES {state.rental.penalty <= 900}) | ALWAYS (extend IMPLIES {state.renter.debt <= 900})
        ALWAYS (extend IMPLIES {state.rental.fee <= 90}) | ALWAYS (extend IMPLIES {state.rental.fee > 900})""",
    ),
    "A machine may be rented out with at most 3 attachments.": (
        "ALWAYS (rent IMPLIES {size(call.attachments) <= 3})",
        """ALWAYS (rent IMPLIES {size(call.attachments) >= 3}) | ALWAYS (rent IMPLIES {size(call.attachments) < 3})
        ALWAYS (rent IMPLIES {size(call.helpers) <= 3}) | ALWAYS (rent IMPLIES {size(call.attachments) <= 4})
        ALWAYS (rent IMPLIES {size(call.attachments) == 3})""",
    ),
    "Rent out a machine only if all attachments are secured.": (
        "ALWAYS (rent IMPLIES {call.attachments.all(a, a.secured)})",
        """ALWAYS (rent IMPLIES {call.attachments.exists(a, a.secured)})
        ALWAYS (rent IMPLIES {!call.attachments.all(a, a.secured)})
        ALWAYS (rent IMPLIES {call.helpers.all(h, h.trained)})
        ALWAYS (rent IMPLIES {call.attachments.all(a, !a.secured)})
        ALWAYS (rent IMPLIES {call.attachments.exists_one(a, a.secured)})""",
    ),
    "Do not rent out a machine if any helper is under 16.": (
        "ALWAYS (rent IMPLIES NOT {call.helpers.exists(h, h.age < 16)})",
        """ALWAYS (rent IMPLIES {call.helpers.exists(h, h.age >= 16)})
        ALWAYS (rent IMPLIES NOT {call.helpers.all(h, h.age < 16)})
        ALWAYS (rent IMPLIES {call.helpers.all(h, h.age < 16)})
        ALWAYS (rent IMPLIES {call.helpers.all(h, h.age > 16)})
        ALWAYS (rent IMPLIES {state.renter.age >= 16}) | ALWAYS (rent IMPLIES {call.driver.age >= 16})
        ALWAYS (rent IMPLIES NOT {call.helpers.exists(h, h.age <= 16)})""",
    ),
    "A machine must not be rented out if no helper is trained.": (
        "ALWAYS (rent IMPLIES {call.helpers.exists(h, h.trained)})",
        """ALWAYS (rent IMPLIES {call.helpers.all(h, h.trained)})
        ALWAYS (rent IMPLIES NOT {call.helpers.exists(h, h.trained)})
        ALWAYS (rent IMPLIES {call.helpers.all(h, !h.trained)})""",
    ),
    "Rent out a machine only if it is serviced and the rental is signed.": (
        "ALWAYS (rent IMPLIES {state.machine.serviced} AND {state.rental.signed})",
        """ALWAYS (rent IMPLIES {state.machine.serviced} OR {state.rental.signed})
        ALWAYS (rent IMPLIES {state.machine.serviced})
        ALWAYS (rent IMPLIES {state.trailer.serviced} AND {state.rental.signed})
        ALWAYS (rent IMPLIES {state.rental.signed})
        ALWAYS (rent IMPLIES {state.machine.serviced} AND NOT {state.rental.signed})""",
    ),
    "Do not rent out a machine unless it is serviced or the renter is insured.": (
        "ALWAYS (rent IMPLIES {state.machine.serviced} OR {state.renter.insured})",
        """ALWAYS (rent IMPLIES {state.machine.serviced} AND {state.renter.insured})
        ALWAYS (rent IMPLIES {state.renter.insured})
        ALWAYS (rent IMPLIES {state.machine.serviced} OR NOT {state.renter.insured})
        ALWAYS (rent IMPLIES {state.trailer.serviced} OR {state.renter.insured})""",
    ),
    "Do not rent out a machine if its weight is over 900 kg unless the driver is licensed.": (
        "ALWAYS (rent IMPLIES {state.machine.weight <= 900} OR {call.driver.licensed})",
        """ALWAYS (rent IMPLIES {state.machine.weight <= 900}) | ALWAYS (rent IMPLIES {call.driver.licensed})
        ALWAYS (rent IMPLIES {state.machine.weight <= 900} AND {call.driver.licensed})
        ALWAYS (rent IMPLIES {state.machine.weight > 900} OR {call.driver.licensed})
        ALWAYS (rent IMPLIES {state.trailer.weight <= 900} OR {call.driver.licensed})
        ALWAYS (rent IMPLIES {state.machine.weight <= 900} OR {call.driver.hired})
        ALWAYS (rent IMPLIES {state.machine.weight <= 900} OR NOT {call.driver.licensed})""",
    ),
    "Never rent out a machine to a renter under 21 unless the driver is licensed.": (
        "ALWAYS (rent IMPLIES {state.renter.age >= 21} OR {call.driver.licensed})",
        """ALWAYS (rent IMPLIES {state.renter.age >= 21})
        ALWAYS (rent IMPLIES {call.driver.age >= 21} OR {call.driver.licensed})
        ALWAYS (rent IMPLIES {state.renter.age < 21} OR {call.driver.licensed})
        ALWAYS (rent IMPLIES {state.renter.age >= 21} AND {call.driver.licensed})
        ALWAYS (rent IMPLIES {state.renter.age > 21} OR {call.driver.licensed})""",
    ),
    "Before renting out a machine, check the state of the machine.": (
        "ALWAYS (rent IMPLIES ONCE look)",
        """ALWAYS (look IMPLIES ONCE rent) | ALWAYS (rent IMPLIES {state.machine.status == "ready"})
        ALWAYS (rent IMPLIES {state.machine.serviced}) | ALWAYS (rent IMPLIES EVENTUALLY look)""",
    ),
}
# More that are right; those of `ASIDE` stay open, each for a reason that a reader can see.
MORE = {
    "Never rent out a machine that is parked.": 'ALWAYS (rent IMPLIES {state.machine.status != "parked"})',
    "A broken machine must not be rented out.": 'ALWAYS (rent IMPLIES {state.machine.status != "broken"})',
    "A machine may only be rented out if the tank of the machine is sealed.": (
        "ALWAYS (rent IMPLIES {state.machine.tank.sealed})"
    ),
    "Do not extend a rental unless it is signed.": "ALWAYS (extend IMPLIES {state.rental.signed})",
    "An overdue rental must not be extended.": 'ALWAYS (extend IMPLIES {state.rental.status != "overdue"})',
    "Do not close a rental while it is open.": 'ALWAYS (close IMPLIES {state.rental.status != "open"})',
    "Extend a rental only if the penalty of the rental is below 50 euros.": (
        "ALWAYS (extend IMPLIES {state.rental.penalty < 50})"
    ),
    "Never rent out a machine if the renter has a debt of more than 100 euros.": (
        "ALWAYS (rent IMPLIES {state.renter.debt <= 100})"
    ),
    "A machine may be rented out only if the renter is insured.": "ALWAYS (rent IMPLIES {state.renter.insured})",
    "Do not rent out a machine if the driver is not licensed.": "ALWAYS (rent IMPLIES {call.driver.licensed})",
    "A machine must not be rented out if the driver is hired.": "ALWAYS (rent IMPLIES NOT {call.driver.hired})",
    "Do not rent out a machine with more than 2 helpers.": "ALWAYS (rent IMPLIES {size(call.helpers) <= 2})",
    "Rent out a machine only with at least one helper.": "ALWAYS (rent IMPLIES {size(call.helpers) >= 1})",
    "Rent out a machine only if every helper is trained.": "ALWAYS (rent IMPLIES {call.helpers.all(h, h.trained)})",
    "Do not rent out a machine if any attachment is over 80 kg.": (
        "ALWAYS (rent IMPLIES NOT {call.attachments.exists(a, a.weight > 80)})"
    ),
    "Rent out a machine only if each helper is at least 16 years old.": (
        "ALWAYS (rent IMPLIES {call.helpers.all(h, h.age >= 16)})"
    ),
    "Do not extend a rental if the rental has more than 4 remarks.": (
        "ALWAYS (extend IMPLIES {size(state.rental.remarks) <= 4})"
    ),
    "Do not extend a rental if any remark of the rental is urgent.": (
        "ALWAYS (extend IMPLIES NOT {state.rental.remarks.exists(n, n.urgent)})"
    ),
    "Scrap a machine only if its status is broken.": 'ALWAYS (scrap IMPLIES {state.machine.status == "broken"})',
    "Do not scrap a machine whose status is ready or parked.": (
        'ALWAYS (scrap IMPLIES {!(state.machine.status in ["ready", "parked"])})'
    ),
}
ASIDE = {
    "Do not rent out a machine unless it is serviced or the renter is insured.": "'or' beside a rule",
    "Do not rent out a machine if its weight is over 900 kg unless the driver is licensed.": "more than one exception",
    "A machine may only be rented out if the tank of the machine is sealed.": "more than one exception or condition",
    "Do not close a rental while it is open.": "'while'",
}
WRONG = [(text, one.strip()) for text, (_, told) in CASES.items() for row in told.split("\n") for one in row.split("|")]
RIGHT = {text: right for text, (right, _) in CASES.items()} | MORE


def classed(text: str, formula: str, title: str = "Renting") -> Account:
    """What becomes of a sentence that was read so."""
    tests = list(dict.fromkeys(re.findall(r"\{(.*?)\}(?=[ )]|\Z)", formula)))
    act = next(name for name in ACTS if re.search(rf"\b{name}\b", formula))
    for i, test in enumerate(tests):
        formula = formula.replace("{" + test + "}", f"fact_{i}")
    source = policy.of_text(f"# {title}\n\n{text}", BOX)
    (one,) = (s for s in source.sentences if s.kind != "heading")
    rule = Rule("c.1", text, parse(formula), "forbid", "action", "c", text)
    facts = [
        Predicate(f"fact_{i}", "state", f"fact {i}", (), (ACTS[act],) * ("call." in test), cel.parse(test))
        for i, test in enumerate(tests)
    ]
    acts = [Predicate(n, "action", n, (), (ACTS[n],)) for n in rule.predicates if n in ACTS]
    accounts = sentences.classify(source, [clause_of(one, "c")], RuleSet((*acts, *facts), (rule,)), (), ())
    return next(a for a in accounts if a.text == one.text)


@pytest.mark.parametrize(("text", "wrong"), WRONG)
def test_no_wrong_reading_of_a_field_within_another_comes_into_force(text: str, wrong: str) -> None:
    assert wrong != RIGHT[text]
    account = classed(text, wrong)
    assert account.cls == "open" and not account.rules, account.reason


@pytest.mark.parametrize("text", RIGHT)
def test_a_right_reading_comes_into_force_or_says_why_not(text: str) -> None:
    account = classed(text, RIGHT[text])
    if text in ASIDE:
        assert account.cls == "open" and ASIDE[text] in account.reason
    else:
        assert account.cls == "rule", account.reason


# What a sentence asks of the items of a list: of how many of them, and what; None where it may mean either.
OF_ITEMS = {
    "Rent out a machine only if no helper is under 16.": ("all", "call.helpers", "age >= 16", "age < 16"),
    "Do not rent out a machine unless every helper is trained.": ("all", "call.helpers", "trained", ""),
    "Do not rent out a machine unless any helper is trained.": None,
    "Rent out a machine only if any helper is trained.": None,
    "Do not rent out a machine if all helpers are under 16.": ("exists", "call.helpers", "age >= 16", "age < 16"),
    "Every helper must be trained when a machine is rented out.": ("all", "call.helpers", "trained", ""),
    "No helper may be under 16 when a machine is rented out.": ("all", "call.helpers", "age >= 16", "age < 16"),
    "A machine must not be rented out with any attachment that is not secured.": (
        "all",
        "call.attachments",
        "secured",
        "",
    ),
    "A machine must not be rented out with an attachment that is not secured.": None,
    "If any helper is not trained, a machine must not be rented out.": ("all", "call.helpers", "trained", ""),
    "If no helper is trained, do not rent out a machine.": ("exists", "call.helpers", "trained", ""),
    "If all helpers are trained, a machine may be rented out.": None,
    "A machine may be rented out if any helper is trained.": None,
    "Do not rent out a machine if not all helpers are trained.": None,
    "Do not rent out a machine if all helpers are not trained.": None,
    "Do not rent out a machine if any helper or the driver is under 16.": None,
    "Do not rent out a machine if the driver is hired and any helper is under 16.": None,
    "Nobody may rent out a machine if every attachment is a hammer.": (
        "exists",
        "call.attachments",
        'kind != "hammer"',
        'kind == "hammer"',
    ),
}


@pytest.mark.parametrize("text", OF_ITEMS)
def test_of_all_or_of_some_items_is_asked_what_the_sentence_asks_of_them(text: str) -> None:
    right = OF_ITEMS[text]
    asked = [right[1:]] if right else [("call.helpers", "trained", ""), ("call.helpers", "age >= 16", "age < 16")]
    came = set()
    for path, so, not_so in asked:
        for how, fact, sign in itertools.product(("all", "exists"), (so, not_so), ("", "NOT ")):
            said = f"x.{fact}" if fact else f"!x.{so}"
            of_all = (how == "all") == (not sign)
            if classed(text, f"ALWAYS (rent IMPLIES {sign}{{{path}.{how}(x, {said})}})").cls == "rule":
                came.add(("all" if of_all else "exists", (fact == so) == (not sign)))
    assert came == ({(right[0], True)} if right else set())


# Two objects of one name, a thing and a person without a field, and amounts that no word but their money tells.
TWINS = tools.parse(
    json.dumps(
        {
            "tools": [
                {
                    "name": "ship_order",
                    "description": "Ship an order.",
                    "mutating": True,
                    "parameters": {
                        "type": "object",
                        "properties": {
                            "address": _object("where it goes", verified=_one("boolean")),
                            "payment": _object("", amount=_one("number", "in euros"), fee=_one("number", "in euros")),
                        },
                    },
                }
            ],
            "state": [
                {
                    "name": "order",
                    **_object(
                        paid=_one("boolean"),
                        address=_object(verified=_one("boolean")),
                        customer=_object(verified=_one("boolean")),
                        items=_list("", fragile=_one("boolean")),
                    ),
                },
                {"name": "customer", **_object(verified=_one("boolean"), age=_one("integer", "in years"))},
                {"name": "store", **_object(insured=_one("boolean"), age=_one("integer", "in years"))},
                {"name": "balance", **_one("number", "in euros")},
            ],
        }
    )
)
AMBIGUOUS = [
    ("Do not ship an order unless the customer is verified.", "{state.order.customer.verified}", "may as well mean"),
    ("Do not ship an order unless the customer is verified.", "{state.customer.verified}", "may as well mean"),
    ("Do not ship an order unless the address is verified.", "{state.order.address.verified}", "may as well mean"),
    ("Do not ship an order unless the address is verified.", "{call.address.verified}", "may as well mean"),
    (
        "Do not ship an order from the store unless the user is insured.",
        "{state.store.insured}",
        "reads store.insured, and the sentence says it of user",
    ),
    ("Do not ship an order of a store to clients under 18.", "{state.store.age >= 18}", "says it of client"),
    ("Do not ship an order over 500 euros.", "{state.balance <= 500}", "meant by its rule: balance"),
    ("Do not ship an order if the payment is over 500 euros.", "{call.payment.fee <= 500}", "its rule: payment.fee"),
    ("Do not ship an order if any item is fragile.", "{!state.order.items.fragile}", "nothing is declared at"),
    ("Do not ship an order unless its owner is paid.", "{state.order.owner.paid}", "nothing is declared at"),
    ("If the order is paid, ship it.", "{state.order.paid}", "it asks for an act"),
    ("The agent must ship an order when it is paid.", "{state.order.paid}", "it asks for an act"),
    (
        "Ship an order only if the order is paid and the store is insured.",
        "{state.order.paid || state.store.insured}",
        "'and' beside a rule",
    ),
    (
        "Ship an order only if the order is paid and the store is insured.",
        "{state.order.paid && !state.store.insured}",
        "the sentence denies nothing, but its rule wants",
    ),
]


@pytest.mark.parametrize(("text", "test", "why"), AMBIGUOUS)
def test_what_the_words_do_not_tell_from_something_else_stays_open(
    text: str, test: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = _shipping(text, test, monkeypatch)
    assert account.cls == "open" and why in account.reason, account.reason


@pytest.mark.parametrize(
    ("text", "test"),
    [
        ("Do not ship an order if the payment is over 500 euros.", "{call.payment.amount <= 500}"),
        ("Do not ship an order if the fee of the payment is over 5 euros.", "{call.payment.fee <= 5}"),
        (
            "Ship an order only if the order is paid and the store is insured.",
            "{state.order.paid && state.store.insured}",
        ),
        ("Do not ship an order to customers under 18.", "{state.customer.age >= 18}"),
    ],
)
def test_what_they_tell_comes_into_force(text: str, test: str, monkeypatch: pytest.MonkeyPatch) -> None:
    account = _shipping(text, test, monkeypatch)
    assert account.cls == "rule", account.reason


def _shipping(text: str, test: str, monkeypatch: pytest.MonkeyPatch) -> Account:
    monkeypatch.setattr("test_nested.BOX", TWINS)
    monkeypatch.setitem(ACTS, "ship", "ship_order")
    return classed(text, f"ALWAYS (ship IMPLIES {test})")


SAID = tools.parse(
    json.dumps(
        {
            "tools": [{"name": "close_rental", "description": "Close a rental.", "mutating": True}],
            "state": [
                {
                    "name": "rental",
                    **_object(
                        billing=_object(
                            settled=_one("boolean", "the rental is settled in full"),
                            noted=_one("boolean", "the rental"),
                        )
                    ),
                }
            ],
        }
    )
)


def test_a_field_whose_whole_description_is_said_is_named_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it lies within (the billing) needs no word of its own then; a description of one word names nothing."""
    monkeypatch.setattr("test_nested.BOX", SAID)
    text = "A rental may be closed only if the rental is settled in full."
    assert classed(text, "ALWAYS (close IMPLIES {state.rental.billing.settled})", "Closing").cls == "rule"
    assert classed(text, "ALWAYS (close IMPLIES {state.rental.billing.noted})", "Closing").cls == "open"
    assert classed(f"{text[:-9]}.", "ALWAYS (close IMPLIES {state.rental.billing.settled})", "Closing").cls == "open"
    monkeypatch.setattr(gold.documents, "load", lambda _: policy.of_text(f"# Closing\n\n{text}", SAID))
    tests = [cel.render(one.test) for one in gold.read.__wrapped__("").kept.predicates if one.test is not None]
    assert tests == ["state.rental.billing.settled"]


# Fields that words of their own name: what they lie within is named nowhere.
OWN_FILE = {
    "tools": [
        {
            "name": "open_gate",
            "description": "Open a gate.",
            "mutating": True,
            "parameters": {
                "type": "object",
                "properties": {"gate": _one("string"), "work": _object(kind=_one("string", "", "paint", "weld"))},
            },
        },
        {
            "name": "load_barge",
            "description": "Load a barge.",
            "mutating": True,
            "parameters": {"type": "object", "properties": {"barge_id": _one("string")}},
        },
    ],
    "state": [
        {
            "name": "sensors",
            **_object(
                "sensors of the gate",
                smoke_alarm=_one("boolean", "the smoke alarm of the gate is on"),
                water=_object("the water at the gate", no3_mg=_one("integer", "dissolved nitrate in mg")),
                jammed=_one("boolean"),
            ),
        },
    ],
}
OWN = tools.parse(json.dumps(OWN_FILE))
SMOKE, NITRATE, KIND = (
    "NOT {state.sensors.smoke_alarm}",
    "{state.sensors.water.no3_mg <= 50}",
    'call.work.kind == "weld"',
)
NAMED = [
    ("Do not open a gate if the smoke alarm is on.", "open", SMOKE),
    ("Do not load a barge if the smoke alarm is on.", "load", SMOKE),
    ("Do not load a barge if the smoke alarm of the gate is on.", "load", SMOKE),
    ("Do not open a gate if its smoke alarm is on.", "open", SMOKE),
    ("A gate may only be opened if the smoke alarm is on.", "open", "{state.sensors.smoke_alarm}"),
    ("Do not open a gate if the dissolved nitrate is above 50 mg.", "open", NITRATE),
    ("Do not load a barge if the dissolved nitrate is above 50 mg.", "load", NITRATE),
    ("Opening a gate is forbidden when its dissolved nitrate is above 50 mg.", "open", NITRATE),
    ("A gate with more than 50 mg of dissolved nitrate must not be opened.", "open", NITRATE),
    ("Do not open a gate if the kind of the work is weld.", "open", "NOT {" + KIND + "}"),
    ("Do not open a gate if the kind is weld.", "open", "NOT {" + KIND + "}"),
]
OTHERWISE = [  # of something else, in part, or another thing of the same
    ("Do not load a barge if its smoke alarm is on.", "load", SMOKE, "says it of barge"),
    ("Do not load a barge whose smoke alarm is on.", "load", SMOKE, "says it of barge"),
    ("Do not load a barge in which the smoke alarm is on.", "load", SMOKE, "says it of barge"),
    ("Do not load a barge if the smoke alarm of the barge is on.", "load", SMOKE, "says it of barge"),
    ("Do not load a barge if the barge's smoke alarm is on.", "load", SMOKE, "says it of barge"),
    ("Do not load a barge with more than 50 mg of dissolved nitrate.", "load", NITRATE, "says it of barge"),
    ("Do not load a barge if its dissolved nitrate is above 50 mg.", "load", NITRATE, "says it of barge"),
    ("Do not load a barge if the dissolved nitrate of the barge is above 50 mg.", "load", NITRATE, "it of barge"),
    ("Do not open a gate if the alarm is on.", "open", SMOKE, "not said by the sentence"),
    ("Do not open a gate if the smoke is on.", "open", SMOKE, "not said by the sentence"),
    ("Do not open a gate if the nitrate is above 50 mg.", "open", NITRATE, "not said by the sentence"),
    ("Do not open a gate if it is jammed.", "open", "NOT {state.sensors.jammed}", "not said by the sentence"),
    ("Do not open a gate if the smoke alarm is on.", "open", "{state.sensors.smoke_alarm}", "denies"),
    (
        "Do not open a gate if the dissolved nitrate is above 50 mg.",
        "open",
        "{state.sensors.water.no3_mg > 50}",
        "limit",
    ),
    ("Do not open a gate of the kind weld.", "open", "NOT {" + KIND + "}", "says it of gate"),
    ("Do not open a gate for weld.", "open", "NOT {" + KIND + "}", "not said by the sentence"),
]
ALSO = {  # a second field that the sentence may mean, and the sentences that it leaves open
    "hall": (_object("", smoke_alarm=_one("boolean")), "smoke alarm"),
    "smoke": (_object("", alarm=_one("boolean")), "smoke alarm"),
    "alert": (_one("boolean", "the smoke alarm is on"), "smoke alarm"),
    "probe": (_object("", reading=_one("integer", "dissolved nitrate in mg")), "nitrate"),
    "nitrate_mg": (_one("integer", "dissolved nitrate in mg"), "nitrate"),
    "task": (_object("", kind=_one("string", "", "weld", "saw")), "kind is"),
}


def _at_the_gate(text: str, formula: str, box: tools.Toolbox, monkeypatch: pytest.MonkeyPatch) -> tuple[Account, list]:
    """What becomes of a reading, and the tests that are in force where the offline engine reads the sentence."""
    monkeypatch.setattr("test_nested.BOX", box)
    monkeypatch.setitem(ACTS, "open", "open_gate")
    monkeypatch.setitem(ACTS, "load", "load_barge")
    monkeypatch.setattr(gold.documents, "load", lambda _: policy.of_text(f"# Rules\n\n{text}", box))
    kept = gold.read.__wrapped__("").kept
    return classed(text, formula, "Rules"), [cel.render(p.test) for p in kept.predicates if p.test is not None]


@pytest.mark.parametrize(("text", "act", "fact"), NAMED)
def test_a_field_is_named_by_words_that_are_its_own(
    text: str, act: str, fact: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    account, tests = _at_the_gate(text, f"ALWAYS ({act} IMPLIES {fact})", OWN, monkeypatch)
    assert account.cls == "rule", account.reason
    assert tests == re.findall(r"\{(.*)\}", fact)


@pytest.mark.parametrize(("text", "act", "fact", "why"), OTHERWISE)
def test_a_field_is_not_named_by_less_or_of_something_else(
    text: str, act: str, fact: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    account, tests = _at_the_gate(text, f"ALWAYS ({act} IMPLIES {fact})", OWN, monkeypatch)
    assert account.cls == "open" and why in account.reason, account.reason
    assert not tests or why in ("denies", "limit")  # there the engine reads the sentence rightly


@pytest.mark.parametrize("name", ALSO)
def test_where_two_fields_fit_the_sentence_stays_open(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    more, what = ALSO[name]
    box = tools.parse(json.dumps(OWN_FILE | {"state": [*OWN_FILE["state"], {"name": name, **more}]}))
    found = [one for one in NAMED if what in one[0] and "of the gate" not in one[0]]
    assert found
    for text, act, fact in found:
        account, tests = _at_the_gate(text, f"ALWAYS ({act} IMPLIES {fact})", box, monkeypatch)
        assert account.cls == "open" and not tests, (text, tests)


PACE_FILE = {
    "tools": [
        {
            "name": "set_pace",
            "description": "Set the pace of a belt.",
            "mutating": True,
            "parameters": {
                "type": "object",
                "properties": {"pace": _object("the pace", rpm=_one("integer", "pace in turns"))},
            },
        }
    ],
    "state": [{"name": "belt", **_object("the belt", worn=_one("boolean"), spare=_one("integer", "in days"))}],
}
PACE = tools.parse(json.dumps(PACE_FILE))
ONE_OF = "{call.pace.rpm in [30, 50, 80]}"


@pytest.mark.parametrize(
    ("text", "right", "engine"),
    [
        ("The pace may only be set to 30, 50 or 80 turns.", ONE_OF, True),
        ("The pace must not be set to 30, 50 or 80 turns.", f"NOT {ONE_OF}", True),
        ("The pace may be set to 30, 50 or 80 turns.", "", False),  # a permission
        ("The pace may only be set to 30, 50 and 80 turns.", ONE_OF, False),
        ("The pace may only be set to 30, 50 or 80 kilos.", "", False),
        ("The pace may only be set to more than 30, 50 or 80 turns.", "", False),
        ("The pace may only be set to 30, 50 or 90 turns.", "", None),
    ],
)
def test_a_number_that_is_one_of_a_list_is_read_as_that(
    text: str, right: str, engine: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("test_nested.BOX", PACE)
    monkeypatch.setitem(ACTS, "set", "set_pace")
    monkeypatch.setattr(gold.documents, "load", lambda _: policy.of_text(f"# Rules\n\n{text}", PACE))
    kept = gold.read.__wrapped__("").kept
    tests = [cel.render(p.test) for p in kept.predicates if p.test is not None]
    assert engine is None or tests == [ONE_OF[1:-1]] * engine
    twice = json.loads(json.dumps(PACE_FILE).replace("in days", "in turns"))
    monkeypatch.setattr(
        gold.documents, "load", lambda _: policy.of_text(f"# Rules\n\n{text}", tools.parse(json.dumps(twice)))
    )
    assert not any(p.test is not None for p in gold.read.__wrapped__("").kept.predicates), "two fields are in turns"
    said = (
        ONE_OF,
        f"NOT {ONE_OF}",
        "{call.pace.rpm in [30, 50]}",
        "{call.pace.rpm >= 30}",
        "{state.belt.spare in [30, 50, 80]}",
    )
    assert [one for one in said if classed(text, f"ALWAYS (set IMPLIES {one})", "Rules").cls == "rule"] == [
        right
    ] * bool(right)
