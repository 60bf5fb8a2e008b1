"""The numbers of a sentence are those of its rules: none lost, none added, in whatever unit or word."""

from __future__ import annotations

import pytest

from wb.domain.document import Sentence
from wb.logic import cel
from wb.logic.syntax import parse
from wb.rules import quantities
from wb.rules.rule import Predicate

RULE = parse("ALWAYS (rent IMPLIES kept)")


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("No more than twenty-five guests, 1,200 euros, or 2.5 hours.", {25, 1200, 2.5}),
        ("(2) Three boats at most, or two.", {3}),
        ("3. A boat at the 4th pier.", set()),
    ],
)
def test_the_quantities_of_a_text_are_its_numbers_in_digits_or_words(text: str, numbers: set[float]) -> None:
    assert quantities.numbers(text) == numbers


@pytest.mark.parametrize(
    ("text", "test", "described", "why"),
    [
        ("A boat is rented for at most 7 days.", "call.days <= 7", "", ""),
        ("A boat is rented for at most seven days.", "call.hours <= 168", "", ""),
        ("A boat is rented for at most 7 days.", "call.days <= 6", "", "number 7"),
        ("A boat is rented for at most 7 days.", "call.long", "at most 7 days", ""),
        ("A boat is rented for a week.", "call.days <= 5", "", "a test has 5"),
        ("A boat is rented for a week.", "call.days <= 5", "at most 5 days", ""),
        ("A boat is rented once.", "call.days <= 1", "", ""),
        ("A boat is rented for two days.", "call.days <= 2", "", ""),
        ("A boat is rented for two days.", "call.days <= 3", "", "a test has 3"),
        ("If two ask for it, a boat is rented for a week.", "call.days <= 7", "7 days", ""),
    ],
)
def test_the_numbers_of_a_sentence_are_those_of_its_rules(text: str, test: str, described: str, why: str) -> None:
    kept = Predicate("kept", "state", described, tools=("rent",), test=cel.parse(test))
    act = Predicate("rent", "action", "", tools=("rent",))
    found = quantities.strange(Sentence(text, 0, len(text)), [RULE], [act, kept])
    assert why in found and bool(found) == bool(why)
    assert quantities.strange(Sentence(text, 0, len(text)), [], [act, kept]) == "", "no rule, no number of it"
