"""The numbers of a sentence beside those of its rules: another one in the place of one is held, a lone one is told."""

import pytest

from wb.domain import policy as documents
from wb.domain.policy import pieces
from wb.domain.tools import Toolbox
from wb.logic import cel
from wb.logic.syntax import parse
from wb.rules import extract
from wb.rules.rule import Predicate


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("At most three guests, or 2.5 kg, for 1,200 dollars.", {3, 2.5, 1200}),
        ("(2) A boat is rented for seven days.", {7}),
        ("As 640.3(b) and § 26-12 say, within 8 weeks.", {8}),
        ("See 12.3(a)(1): no more than twenty-one.", {21}),
    ],
)
def test_quantities_are_read_and_places_of_a_document_are_not(text: str, numbers: set) -> None:
    assert extract.quantities(text) == numbers


@pytest.mark.parametrize(
    ("text", "test", "swapped", "note"),
    [
        ("A boat is rented for at most 7 days.", "call.days <= 7", False, ""),
        ("A boat is rented for at most 7 days.", "call.days <= 8", True, "8"),
        ("A boat is rented for at most seven days.", "call.hours <= 168", False, ""),
        ("No contact within 12 months.", "call.hours > 8784", False, ""),
        ("No contact within a year.", "call.days > 365", False, "365"),
        ("Rules for the 3 boats.", "call.days <= 7", True, "7"),
        ("The boat holds 4 people.", "state.large", False, "4"),
    ],
)
def test_a_number_in_the_place_of_another_is_held(text: str, test: str, swapped: bool, note: str) -> None:
    (piece,) = [one for one in pieces(documents.of_text(f"# Boats\n\n{text}\n", Toolbox())) if one.kind != "heading"]
    rent = Predicate("rent", "action", "a boat is rented", tools=("rent",))
    found = extract.numbers_of(
        piece, [parse("ALWAYS (rent IMPLIES f)")], [rent, Predicate("f", "state", "it fits", test=cel.parse(test))]
    )
    assert bool(found.swapped) is swapped
    assert note in found.note and bool(found.note) is bool(note)
