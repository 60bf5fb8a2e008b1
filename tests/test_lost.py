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


CLUB = Toolbox(
    (
        Tool(
            "launch_balloon",
            "Launch a balloon.",
            (Field("balloon", "string"), Field("gas", "string", values=("helium", "air"))),
        ),
        Tool("admit_visitor", "Let a visitor in.", (Field("name", "string"),)),
        Tool("hum_tune"),
    ),
    (Field("visitor_insured", "boolean"), Field("balloon_torn", "boolean"), Field("tune_of_user", "boolean")),
)


def club(text: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    """The class of each sentence of which no engine took a clause, and the tools that it bears on."""
    found = sentences.classify(policy.of_text(text, CLUB), (), RuleSet())
    return {one.text: (one.cls, one.tools) for one in found}


@pytest.mark.parametrize("form", ["# {}\n\n- {}\n", "{}:\n\n- {}\n- a hat\n", "**{}**\n\n1. {}\n2. a hat\n"])
@pytest.mark.parametrize("item", ["torn balloons", "a balloon in a storm", "helium", "visitor badges"])
def test_a_thing_that_a_tool_handles_is_open_under_any_head_but_one_of_what_there_is(form: str, item: str) -> None:
    for head in ("Showstoppers", "Kiss of death", "Think again"):
        assert club(form.format(head, item))[item][0] == "open", head
    for head in ("What we offer", "Services", "Types of balloons"):
        assert torn(item) or club(form.format(head, item))[item][0] == "not a constraint", head
    assert club(form.format("Showstoppers", "a cup of tea"))["a cup of tea"][0] == "not a constraint"


def torn(item: str) -> bool:
    """Whether an item speaks of what a field tells: it is open wherever it stands."""
    return "torn" in item


def test_a_statement_under_a_short_head_is_open_where_it_is_of_what_a_tool_handles() -> None:
    said = "the balloon is on the lawn"
    assert club(f"Red flags:\n\n- {said}\n")[said][0] == "open"
    for head in ("We have a garden and here is what you see in it:", "# Garden", "Services:"):
        assert club(f"{head}\n\n- {said}\n")[said][0] == "not a constraint"


@pytest.mark.parametrize(
    ("text", "tools"),
    [
        ("Nothing torn is launched.", ("launch_balloon",)),
        ("An uninsured one stays outside.", ("launch_balloon", "admit_visitor", "hum_tune")),
        ("A torn balloon stays on the ground.", ("launch_balloon", "admit_visitor", "hum_tune")),
        ("Insured visitors may walk in.", ("launch_balloon", "admit_visitor", "hum_tune")),
        ("Launches stop at dusk.", ("launch_balloon",)),
        ("A launch takes two hands.", ("launch_balloon",)),
        ("Entry is conditional on a ticket.", None),
        ("Entry is contingent upon a ticket.", None),
        ("The offer of a balloon expires at night.", ("launch_balloon",)),
    ],
)
def test_what_a_field_tells_and_what_ends_an_act_is_no_mere_statement(text: str, tools: tuple[str, ...] | None) -> None:
    (found,) = club(text).values()
    assert found[0] == "open" and (tools is None or found[1] == tools), found


@pytest.mark.parametrize(
    "text",
    [
        "The balloon is red.",
        "The visitor came by bus.",
        "An insurance company built the hall.",
        "Nothing beats a clear night, as is well known.",
        "The tune of the user is nice.",
        "Usually a torn balloon is mended by the owner.",
        "The record tells who is insured, what is torn, and which of helium and air there is.",
        "The offer expires at night.",
    ],
)
def test_a_description_is_no_demand_though_it_shares_a_word(text: str) -> None:
    assert club(text) == {text: ("not a constraint", ())}


@pytest.mark.parametrize(
    "condition",
    [
        "provided you are insured", "providing the sky is clear", "on the understanding that the sky is clear",
        "in the event that the owner agrees", "given a ticket", "assuming it is day", "with the owner's leave",
        "once you have a ticket", "subject to the weather", "pending a check", "while it is day", "upon request",
    ],
)  # fmt: skip
def test_a_permission_with_a_condition_behind_it_is_open_and_without_one_is_none(condition: str) -> None:
    for may in ("You may launch a balloon", "Visitors may also walk in the garden", "Helium can be had"):
        assert club(f"{may} {condition}.")[f"{may} {condition}."][0] == "open"
        assert club(f"{may}.")[f"{may}."][0] == "not a constraint"


@pytest.mark.parametrize("form", ["# {}\n\n{}", "**{}**\n\n{}", "{}\n\n{}", "{} {}", "Q: {}\n\n{}"])
def test_the_answer_to_a_question_of_what_may_or_has_to_be_is_open(form: str) -> None:
    for asks, answer in (
        ("Can children launch a balloon?", "With a parent."),
        ("Is a ticket asked of a visitor?", "Yes."),
        ("How long does a launch take?", "A week."),
        ("Do I show a ticket to launch?", "Always."),
        ("May visitors come late?", "We are afraid not."),
    ):
        assert club(form.format(asks, answer))[answer][0] == "open", asks
    for asks, answer in (
        ("Why is the balloon red?", "It is made of silk."),
        ("When was the balloon built?", "It was built by the founders."),
        ("Can I park there?", "The yard is large."),
        ("Who is the owner?", "A family of potters."),
    ):
        assert club(form.format(asks, answer))[answer][0] == "not a constraint", asks
