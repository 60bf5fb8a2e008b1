"""What has the sound of a statement or of a permission and is a demand is never lost: items of conditions, windows of
time, measures, duties of somebody, discretion."""

from __future__ import annotations

import pytest

from wb.domain import document, policy
from wb.domain.tools import Field, Tool, Toolbox
from wb.rules import sentences, words
from wb.rules.rule import RuleSet

BOX = Toolbox((Tool("lend_boat", "Lend a boat.", (Field("boat", "string"),)), Tool("print_map", mutating=False)))
CONDITIONS = (
    "A boat is lent when ALL of the following are met:",
    "A boat is lent if:",
    "A boat is lent, if the following is so:",
    "Boats go out only where:",
    "Boats go out unless one of these applies:",
    "A captain gets a boat as long as:",
    "The conditions for a captain are:",
    "Boats go out where these hold:",
)
DESCRIPTIONS = ("The club has three rooms:", "The harbour looks like this:", "Our history in short:")


def classes(text: str) -> dict[str, str]:
    """The class of each sentence of which no engine took a clause."""
    return {one.text: one.cls for one in sentences.classify(policy.of_text(text, BOX), (), RuleSet())}


@pytest.mark.parametrize("opening", CONDITIONS)
def test_the_items_of_a_condition_are_no_statements_and_no_permissions(opening: str) -> None:
    items = ("the sea is calm;", "the captain is able to swim;", "for example, the club is rich.")
    found = classes(f"{opening}\n\n" + "\n".join(f"- {item}" for item in items))
    assert words.conditional(opening) and all(found[item] == "open" for item in items), found


@pytest.mark.parametrize("opening", DESCRIPTIONS)
def test_the_items_of_a_description_are_statements(opening: str) -> None:
    found = classes(f"{opening}\n\n- the hall is large;\n- the sea is calm.")
    assert not words.conditional(opening) and set(found.values()) == {"not a constraint"}, found


def test_marked_paragraphs_behind_a_condition_are_its_items_and_what_follows_is_not() -> None:
    found = classes(
        "The club lends its boats, if:\n\n(A) The sea is calm; and\n\n(B) The crew is rested.\n\nThe sky is blue."
    )
    assert found["(A) The sea is calm; and"] == found["(B) The crew is rested."] == "open"
    assert found["The sky is blue."] == "not a constraint"
    found = classes("The club has these rooms:\n\n(A) The hall is large.\n\n(B) The bar is small.")
    assert set(found.values()) == {"not a constraint"}
    found = classes("A boat is lent, if:\n\n(A) The sea is calm.\n\n(2) The bar is small.")
    assert found["(A) The sea is calm."] == "open" and found["The bar is small."] == "not a constraint"


@pytest.mark.parametrize(
    "text",
    [
        "A feast may take place between 09:00 and 16:00.",
        "A feast may take place at 9 p.m.",
        "The feast takes place between 10 a.m. and 4 p.m.",
        "The usual mast is 2200mm long.",
        "The box is 30 cm wide.",
        "The crate weighs 12 kg.",
        "The tank holds 5 litres.",
        "Water is kept at 4 °C.",
        "A sauna may be heated to 90 degrees.",
        "On return, it is the duty of the crew to clear the deck.",
        "Clearing the deck is the responsibility of the crew.",
        "The crew is responsible for promptly clearing the deck.",
        "A berth can be given away at the sole discretion of the club.",
        "Berths are given away at its absolute discretion.",
    ],
)
def test_a_window_a_measure_a_duty_and_a_discretion_are_no_statements(text: str) -> None:
    assert classes(text) == {text: "open"}


@pytest.mark.parametrize(
    "text",
    [
        "The bar is open from 8 a.m. to 8 p.m.",
        "The harbour was built between the wars.",
        "The path runs between the hall and the bar.",
        "The club has 3 rooms.",
        "The kiln burns at 900 degrees.",
        "The king was held responsible for losing the ship.",
    ],
)
def test_hours_numbers_and_places_of_a_statement_demand_nothing(text: str) -> None:
    assert classes(text) == {text: "not a constraint"}


TWO = Toolbox((Tool("approve_order", "Approve an order."), Tool("ship_order", "Ship an order."), Tool("hum_tune")))


@pytest.mark.parametrize(
    ("text", "tools"),
    [
        ("At least two must approve before it leaves.", ("approve_order", "ship_order", "hum_tune")),
        ("At least two must approve the order before they ship it.", ("approve_order", "ship_order")),
        ("At least two must approve as before.", ("approve_order",)),
    ],
)
def test_what_is_to_come_later_and_no_tool_is_known_by_may_be_what_any_tool_does(text: str, tools: tuple) -> None:
    (one,) = sentences.classify(policy.of_text(text, TWO), (), RuleSet())
    assert (one.cls, one.tools) == ("open", tools)


@pytest.mark.parametrize("amount", ["one of the", "**one of** the", "any of the", "all of the", "either of"])
def test_a_list_is_opened_by_a_sentence_of_what_follows_that_ends_with_a_full_stop(amount: str) -> None:
    text = f"A boat must meet {amount} following conditions to be lent.\n\n- The boat is dry.\n- The boat is red.\n"
    found = document.parse(text).sentences
    assert [one.kind for one in found] == ["stem", "item", "item"] and all(one.stems for one in found[1:])
    alone = document.parse(text.partition("\n")[0] + "\n\nThe sky is blue.\n").sentences
    assert [one.kind for one in alone] == ["prose", "prose"]
