"""A sentence of which it cannot be told how often it negates accounts for no rule: neither for one nor its opposite."""

import pytest

from wb.domain.tools import Field, Tool, Toolbox
from wb.logic import cel
from wb.logic.syntax import parse
from wb.rules import accounting, negations, signs
from wb.rules.rule import Predicate, Rule

BOX = Toolbox(
    (Tool("discard_card", "Discard a card."), Tool("keep_card", "Keep a card.")),
    (Field("expired", "boolean", "the card is expired"), Field("age", "integer", "age of the card in days")),
)
USED = (
    *(Predicate(name, "action", "", tools=(name,)) for name in ("discard_card", "keep_card")),
    Predicate("expired", "state", "", test=cel.parse("state.expired")),
    Predicate("old", "state", "", test=cel.parse("state.age > 5")),
)
TOLD = {  # what the sentence asks for, and its opposite
    "Do not keep a card if it is expired.": ("keep_card IMPLIES NOT expired", "keep_card IMPLIES expired"),
    "A card may only be kept if it is expired.": ("keep_card IMPLIES expired", "keep_card IMPLIES NOT expired"),
    "Do not keep a card if its age is over 5 days.": ("keep_card IMPLIES NOT old", "keep_card IMPLIES old"),
}
UNTOLD = {
    # "discard" may be a negated "card"
    "Do not discard a card if it is expired.": ("discard_card IMPLIES NOT expired", "discard_card IMPLIES expired"),
    "A card may only be discarded if it is expired.": (
        "discard_card IMPLIES expired",
        "discard_card IMPLIES NOT expired",
    ),
    "Do not discard a card if its age is over 5 days.": ("discard_card IMPLIES NOT old", "discard_card IMPLIES old"),
    # two demands in one
    "A card must be kept and must not be expired.": ("keep_card IMPLIES NOT expired", "keep_card IMPLIES expired"),
    "A card must be expired and must NOT be kept.": ("keep_card IMPLIES expired", "keep_card IMPLIES NOT expired"),
    "A card must be expired, and never keep it.": ("keep_card IMPLIES expired", "keep_card IMPLIES NOT expired"),
    "A card must be expired and don't keep it.": ("keep_card IMPLIES expired", "keep_card IMPLIES NOT expired"),
    **{
        f"A card must be expired and {never} be kept.": ("keep_card IMPLIES expired", "keep_card IMPLIES NOT expired")
        for never in ("must never", "shall not", "should never", "may not", "is to not")
    },
    "Keep a card and do not keep it if it is expired.": ("keep_card IMPLIES NOT expired", "keep_card IMPLIES expired"),
}


def why(said: str, form: str, partial: bool) -> tuple[str, ...]:
    rule = Rule("r", "", parse(f"ALWAYS ({form})"), "forbid")
    return accounting.unaccounted(said, (), [rule], USED, BOX, partial=partial)


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("said", TOLD)
def test_where_it_can_be_told_the_one_is_accounted_for_and_the_opposite_is_not(said: str, partial: bool) -> None:
    right, opposite = TOLD[said]
    assert why(said, right, partial) == () != why(said, opposite, partial)


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("said", UNTOLD)
def test_where_it_cannot_be_told_neither_is_accounted_for(said: str, partial: bool) -> None:
    for form in UNTOLD[said]:
        assert negations.UNTOLD in why(said, form, partial), form


def test_not_only_is_told_by_no_count() -> None:
    """The words alone are refused by `operators` before anything is counted; by the signs too."""
    rule = Rule("r", "", parse("ALWAYS (keep_card IMPLIES NOT expired)"), "forbid")
    assert signs.signed("Not only keep a card if expired.", [rule], USED, frozenset()) == (negations.UNTOLD,)


def test_a_rule_of_an_act_alone_has_no_sign_to_count() -> None:
    for said, form, fine in (
        ("Never discard a card.", "ALWAYS NOT discard_card", True),
        ("Never discard a card.", "EVENTUALLY discard_card", False),
        ("You must discard a card.", "EVENTUALLY discard_card", True),
        ("You must discard a card.", "ALWAYS NOT discard_card", False),
    ):
        rule = Rule("r", "", parse(form), "forbid")
        assert (accounting.unaccounted(said, (), [rule], USED, BOX) == ()) is fine, (said, form)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("Never keep a card.", ()),
        ("Never keep a card, no exceptions.", ("not accounted for: 'no exceptions'",)),
        ("Keep no card without exception.", ("not accounted for: 'without exception'",)),
        ("Do not keep a card for not insured users.", ()),
        ("Do not keep a card for no reason.", ("it says no twice: 'not', 'no'",)),
    ],
)
def test_a_no_that_is_said_twice_is_named(said: str, why: tuple[str, ...]) -> None:
    assert negations.repeated(said) == why


@pytest.mark.parametrize(
    ("said", "whole", "bears"),
    [
        ("Do not keep a card before it is expired.", 2, 2),
        ("Before it is expired, do not keep a card.", 2, 2),
        ("A card must not be expired before it is kept.", 2, 1),
        ("Before it is kept, a card must not be expired.", 2, 1),
        ("A card must be expired before it is kept.", 0, 0),
        ("A card must not be expired.", 1, 1),
        ("Do not keep a card before it is shown.", 2, None),  # on which side the fact stands is not said
        ("Before noon, do not keep a card before it is expired.", 2, None),
    ],
)
def test_before_negates_what_stands_behind_it(said: str, whole: int, bears: int | None) -> None:
    assert negations.counted(said, frozenset()) == whole
    assert negations.bearing(said, whole, USED[2]) == bears
