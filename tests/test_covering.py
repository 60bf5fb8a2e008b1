"""One number covers another one where a sentence says so of both in full, and in that direction."""

from __future__ import annotations

import pytest

from wb.domain.tools import Field, Tool, Toolbox
from wb.logic import cel
from wb.logic.syntax import parse
from wb.rules import accounting
from wb.rules.rule import Predicate, Rule

BOX = Toolbox(
    (Tool("ship_crate", "Ship a crate.", (Field("crate_id", "string", "the crate"),)),),
    (
        Field("voucher_balance", "number", "balance of the voucher"),
        Field("balance", "number", "balance of the account"),
        Field("freight_price", "number", "price of the freight"),
        Field("price", "number", "price of the crate"),
        Field("way", "string", "the chosen way to pay", ("voucher", "cash")),
        Field("note", "string", "a note"),
    ),
)
SAID = "The voucher must have enough balance to cover the freight price"
COVERS = "state.voucher_balance >= state.freight_price"


def left(said: str, test: str, formula: str = "ALWAYS (ship IMPLIES covered)") -> tuple[str, ...]:
    """Why a sentence under "Ship a crate" is not accounted for by a rule whose fact `covered` has that test."""
    predicates = [
        Predicate("ship", "action", "", (), ("ship_crate",)),
        Predicate("covered", "state", "", test=cel.parse(test)),
        Predicate("voucher", "state", "", test=cel.parse('state.way == "voucher"')),
    ]
    rule = Rule("r", said, parse(formula), "permit_only_if")
    return accounting.unaccounted(said, (), [rule], predicates, BOX, headings=("Ship a crate",))


READ = [
    (f"To ship a crate, {SAID.lower()}.", "ALWAYS (ship IMPLIES covered)"),
    (
        f"{SAID.replace('enough', 'sufficient').replace('cover', 'meet')}, to ship a crate.",
        "ALWAYS (ship IMPLIES covered)",
    ),
    (
        "If the user provides a voucher, it must have enough balance to cover the freight price.",
        "ALWAYS (ship IMPLIES NOT voucher OR covered)",
    ),
]


@pytest.mark.parametrize(("said", "formula"), READ)
def test_what_has_to_cover_something_is_at_least_that(said: str, formula: str) -> None:
    assert left(said, COVERS, formula) == ()


@pytest.mark.parametrize(
    "test",
    [
        "state.freight_price >= state.voucher_balance",
        "state.voucher_balance > state.freight_price",
        "state.voucher_balance <= state.freight_price",
        "state.voucher_balance >= state.price",
        "state.balance >= state.freight_price",
        "state.balance >= state.price",
        "state.voucher_balance == state.freight_price",
        "state.voucher_balance >= state.voucher_balance",
        "state.voucher_balance + 1 >= state.freight_price",
        "state.voucher_balance >= state.freight_price || state.balance >= state.price",
        "!(state.voucher_balance >= state.freight_price)",
    ],
)
def test_another_comparison_of_two_numbers_stays_open(test: str) -> None:
    assert left(READ[0][0], test)


@pytest.mark.parametrize(
    ("said", "formula"),
    [
        (READ[0][0], "ALWAYS (ship IMPLIES NOT covered)"),
        (READ[2][0], "ALWAYS (ship IMPLIES voucher OR covered)"),
        (READ[2][0], "ALWAYS (ship IMPLIES voucher AND covered)"),
        (
            "To ship a crate, the voucher must not have enough balance to cover the freight price.",
            "ALWAYS (ship IMPLIES covered)",
        ),
        (
            "To ship a crate, the voucher must have more balance than the freight price.",
            "ALWAYS (ship IMPLIES covered)",
        ),
        (
            "To ship a crate, the voucher must have enough balance to cover half the freight price.",
            "ALWAYS (ship IMPLIES covered)",
        ),
        ("To ship a crate, the voucher must have enough balance to cover the price.", "ALWAYS (ship IMPLIES covered)"),
        ("To ship a crate, it must have enough balance to cover the freight price.", "ALWAYS (ship IMPLIES covered)"),
        (
            "To ship a crate, the voucher must have enough notes to cover the freight price.",
            "ALWAYS (ship IMPLIES covered)",
        ),
        (
            "To ship a crate, the voucher must have enough balance to cover the freight price twice.",
            "ALWAYS (ship IMPLIES covered)",
        ),
        (
            "To ship a crate, the voucher must have enough balance to cover the freight price unless noted.",
            "ALWAYS (ship IMPLIES covered)",
        ),
    ],
)
def test_what_says_another_thing_stays_open(said: str, formula: str) -> None:
    assert left(said, COVERS, formula)
