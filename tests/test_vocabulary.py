"""Which tools a phrase names and which field decides it, on a small toolbox where the answer can be seen by hand."""

from __future__ import annotations

import pytest

from wb.domain.tools import Field, Tool, Toolbox
from wb.logic import cel
from wb.offline import vocabulary
from wb.offline.conditions import Phrase

BOX = Toolbox(
    (
        Tool(
            "rent_boat",
            "Hire out a boat.",
            (
                Field("crew", "array", "the sailors"),
                Field("deposit", "number", "amount paid in advance"),
                Field("hull", "string", "kind of boat", values=("dinghy", "day_cruiser", "yacht")),
                Field("insured", "string", "", values=("yes", "no")),
            ),
            keywords=("boat rental", "charter"),
        ),
        Tool("sell_boat", "Sell a boat.", (Field("price", "number", "what it costs"),)),
        Tool("cancel_rental", "Cancel a rental.", (Field("rental_id", "string"),)),
        Tool("send_note", "Send a note.", (Field("readers", "array"), Field("body", "string", "text of the letter"))),
        Tool("weather", "Look up the weather of a place."),
    ),
    (
        Field("age", "integer", "age of the user in years"),
        Field("certificate", "boolean", "the user holds a sailing certificate", keywords=("licence",)),
        Field("no_debts", "boolean", "true without debts"),
        Field("consent_withdrawn", "boolean", "the user withdrew consent"),
        Field("knots", "number", "speed of the wind", keywords=("wind speed",)),
        Field("2nd visit", "boolean", ""),
    ),
)


@pytest.mark.parametrize(
    ("phrase", "tools", "residue"),
    [
        ("rent a boat", ("rent_boat",), ()),
        ("rent out a red boat", ("rent_boat",), ("red",)),
        ("hire a boat", ("rent_boat",), ()),
        ("charter a boat", ("rent_boat",), ()),
        ("sell a boat", ("sell_boat",), ()),
        ("sell a house", (), ()),
        ("dispatch a note", ("send_note",), ()),
        ("send a letter", (), ()),
        ("cancel the rental", ("cancel_rental",), ()),
        ("void the rental", ("cancel_rental",), ()),
        ("paint a boat", (), ()),
        ("call a tool", ("rent_boat", "sell_boat", "cancel_rental", "send_note", "weather"), ()),
        ("use any tool or function", ("rent_boat", "sell_boat", "cancel_rental", "send_note", "weather"), ()),
        ("", (), ()),
        ("the user", (), ()),
    ],
)
def test_a_verb_phrase_names_the_tools_that_have_its_verb_and_its_object(phrase, tools, residue) -> None:
    found = vocabulary.tools_for(phrase, BOX)
    assert (found.tools, found.residue) == (tools, residue)
    assert (found.score > 0) == bool(tools)


def test_titles_only_break_ties() -> None:
    box = Toolbox((Tool("open_red_door", "Open a door."), Tool("open_blue_door", "Open a door.")))
    both = vocabulary.tools_for("open a door", box)
    assert both.tools == ("open_red_door", "open_blue_door")
    assert vocabulary.tools_for("open a door", box, ("Blue things",)).tools == ("open_blue_door",)
    assert vocabulary.tools_for("open a red door", box, ("Blue things",)).tools == ("open_red_door",)
    assert vocabulary.tools_for("open a door", Toolbox()).tools == ()


def test_tools_are_known_by_what_they_do_and_are_about() -> None:
    assert vocabulary.changes(("update_rental",)) and not vocabulary.changes(("rent_boat",))
    assert vocabulary.changes(("rent_boat", "cancel_rental")) and not vocabulary.changes(())
    assert vocabulary.tools_called("Selling things", BOX).tools == ("sell_boat",)
    assert vocabulary.tools_called("Painting", BOX).tools == () == vocabulary.tools_called("", BOX).tools
    twice = Toolbox((Tool("sell_boat"), Tool("sell_house")))
    assert vocabulary.tools_called("Selling", twice).tools == ()
    assert vocabulary.tools_about("a boat", BOX) == ("rent_boat", "sell_boat")
    assert vocabulary.tools_about("charter", BOX) == ("rent_boat",) and vocabulary.tools_about("the", BOX) == ()
    assert vocabulary.tools_about("a big boat", BOX) == ("rent_boat", "sell_boat")
    assert vocabulary.names_head("sell a boat", ("sell_boat",), BOX)
    assert vocabulary.names_head("pay a charter", ("rent_boat",), BOX)
    assert not vocabulary.names_head("write a body", ("send_note",), BOX) and vocabulary.names_head("pay", (), BOX)
    assert {"rent", "boat", "crew", "deposit"} <= vocabulary.tool_words(BOX, ("rent_boat",))
    assert vocabulary.tool_words(BOX, ()) == frozenset()


def read(text: str, *tools: str, about: str = "", around: frozenset[str] = frozenset()) -> tuple[str, bool]:
    """The test that a phrase stands for, and whether it is meant as it stands."""
    found = vocabulary.literal(Phrase(text, about), BOX, tools, around)
    test = found.predicate.test
    return (cel.render(test) if test else "", found.positive)


@pytest.mark.parametrize(
    ("text", "test", "positive"),
    [
        ("has a sailing certificate", "state.certificate", True),
        ("holds a licence", "state.certificate", True),
        ("has a fishing certificate", "", True),
        ("has debts", "state.no_debts", False),
        ("withdrew consent", "state.consent_withdrawn", True),
        ("gave consent", "", True),
        ("2nd visit", 'state["2nd visit"]', True),
        ("under 18", "state.age >= 18", False),
        ("at least 18 years old", "state.age >= 18", True),
        ("over 65", "state.age <= 65", False),
        ("aged at most 30", "state.age <= 30", True),
        ("exactly 30 years old", "state.age == 30", True),
        ("wind speed above 20", "state.knots <= 20", False),
        ("speed of at least 20.5", "state.knots >= 20.5", True),
        ("more than $500", "", False),
        ("more than 5 cats", "", False),
        ("is tired", "", True),
    ],
)
def test_a_phrase_is_read_as_a_test_on_a_field_or_on_none(text: str, test: str, positive: bool) -> None:
    assert read(text) == (test, positive)


@pytest.mark.parametrize(
    ("text", "tool", "test", "positive"),
    [
        ("more than 3 sailors", "rent_boat", "size(rent_boat.crew) <= 3", False),
        ("at most $500", "rent_boat", "rent_boat.deposit <= 500", True),
        ("at least $5", "sell_boat", "sell_boat.price >= 5", True),
        ("at most $500", "send_note", "", True),
        ("a yacht", "rent_boat", "rent_boat.hull == 'yacht'", True),
        ("a dinghy or a yacht", "rent_boat", "rent_boat.hull in ['dinghy', 'yacht']", True),
        ("a day cruiser", "rent_boat", "rent_boat.hull == 'day_cruiser'", True),
        ("a red yacht", "rent_boat", "", True),
        ("is insured", "rent_boat", "rent_boat.insured == 'yes'", True),
        ("a yacht", "sell_boat", "", True),
        ("under 18", "rent_boat", "state.age >= 18", False),
    ],
)
def test_arguments_are_read_where_one_tool_is_meant(text: str, tool: str, test: str, positive: bool) -> None:
    found, meant = read(text, tool)
    assert (found.replace('"', "'"), meant) == (test.replace(f"{tool}.", "call."), positive)
    assert read(text, "rent_boat", "sell_boat")[0] in ("", read(text)[0]), "of two tools no argument is read"


def test_what_the_sentence_has_used_up_is_no_residue() -> None:
    assert read("a red yacht", "rent_boat", around=frozenset({"red"}))[0] != ""
    assert read("3 or more readers", "send_note", about="a note")[0] == "size(call.readers) >= 3"


def test_a_predicate_says_its_words() -> None:
    one = vocabulary.literal(Phrase("more than 5 cats"), BOX).predicate
    assert (one.name, one.description, one.test) == ("cats_at_most_5", "More than 5 cats.", None)
    one = vocabulary.literal(Phrase("more than $500.5"), BOX).predicate
    assert one.name == "value_at_most_500_5_usd"
    one = vocabulary.literal(Phrase("at least 18 years old"), BOX).predicate
    assert (one.name, one.description) == ("age_at_least_18", "age of the user in years: at least 18")
    one = vocabulary.literal(Phrase("under 18"), Toolbox()).predicate
    assert (one.name, one.test) == ("age_at_least_18", None)
    one = vocabulary.ungrounded("is a good  friend,")
    assert (one.name, one.kind, one.description) == ("good_friend", "state", "Is a good friend.")
    assert vocabulary.field_name(BOX.state[-1]) == "f_2nd_visit" and vocabulary.sentence(" ") == ""
    assert vocabulary.keywords("booked rooms, booked " + " ".join(f"x{c}" for c in "bcdefghij")) == (
        "book", "room", "xb", "xc", "xd", "xe", "xf", "xg",
    )  # fmt: skip


def flag(name: str, description: str = "", *keywords: str) -> Field:
    return Field(name, "boolean", description, keywords=keywords)


def number(name: str, description: str = "", kind: str = "integer") -> Field:
    return Field(name, kind, description)


BETTER = [  # a phrase, the fields in any order, the one that it is read as, and whether as it stands
    ("has a card", [flag("card"), flag("valid_card")], "state.card", True),
    ("has a valid card", [flag("card"), flag("valid_card")], "state.valid_card", True),
    ("has a valid card", [flag("card")], "state.card", True),
    ("has a card", [flag("valid_card")], "state.valid_card", True),  # half of its name
    ("has a card", [flag("valid_club_card")], "", True),  # a third of its name
    ("has a driving licence", [flag("permit", "", "driving licence"), flag("licence")], "state.permit", True),
    ("has a driving licence", [flag("permit", "driving licence")], "", True),  # told, and neither name nor keyword
    (
        "has a driving licence",
        [flag("permit", "driving licence"), flag("driving_licence_old")],
        "state.driving_licence_old",
        True,
    ),
    ("is a member", [flag("member", "pays a fee"), flag("member_fee", "member")], "state.member", True),
    ("no card", [flag("no_card"), flag("card")], "state.no_card", True),
    ("has a card", [flag("no_card")], "state.no_card", False),
    ("has a card", [flag("card", "the user has one, and is not a guest")], "state.card", True),
    ("has a card", [flag("card", "the user has none")], "state.card", False),
    ("is a guest", [number("guest")], "", True),
    ("more than 3 boats", [number("count", "of boats"), number("boats_owned")], "state.boats_owned <= 3", False),
    ("more than 3 boats", [number("count", "of boats"), number("count_2", "of cars")], "state.count <= 3", False),
    ("more than $3", [number("fee"), number("age")], "state.fee <= 3", False),
    ("more than $3", [number("count"), number("number", "in euros")], "state.number <= 3", False),
    ("more than $3 for boats", [number("fee"), number("boat_fee")], "state.boat_fee <= 3", False),
    ("over 18 days", [number("days"), number("age")], "state.days <= 18", False),
    ("at least 2.5 boats", [number("boats", "", "number")], "state.boats >= 2.5", True),
    ("at least 9223372036854775807 boats", [number("boats")], "state.boats >= 9223372036854775807", True),
    ("at least 9223372036854775808 boats", [number("boats")], "", True),  # no number of 64 bits
    ("more than 3 boats", [flag("boats"), number("boats_named", "", "string")], "", False),
    ("at most $18", [number("costs", "", "array"), number("fee")], "state.fee <= 18", True),
]


@pytest.mark.parametrize(("text", "fields", "test", "positive"), BETTER)
def test_of_several_fields_the_one_that_fits_best_is_read(text: str, fields: list, test: str, positive: bool) -> None:
    for order in (fields, fields[::-1]):
        found = vocabulary.literal(Phrase(text), Toolbox((), tuple(order)))
        shown = cel.render(found.predicate.test) if found.predicate.test else ""
        assert (shown, found.positive) == (test, positive)


def named(name: str, description: str = "", *keywords: str) -> Tool:
    return Tool(name, description, (), keywords)


CLOSER = [  # a phrase, tools in any order, and the ones that it names
    ("open an account", [named("open_account"), named("open_savings_account")], ["open_account"]),
    ("open a savings account", [named("open_account"), named("open_savings_account")], ["open_savings_account"]),
    ("open account number", [named("open_account"), named("open_account_number")], ["open_account_number"]),
    ("send the report", [named("send_mail", "", "report"), named("send_note", "Send a report.")], ["send_mail"]),
    ("send the report", [named("send_note", "Send a report.")], []),  # told of, and not its thing
    ("send the report", [named("send", "Send a report.")], ["send"]),  # unless it has no other
    ("post the report", [named("send_note", "Post a report.", "report")], ["send_note"]),
    ("send the report", [named("send_note", "", "report card")], []),  # a part of a keyword is none
    ("lodge a guest", [named("house_guest", "Lodge a guest."), named("lodge_guest")], ["lodge_guest"]),
    ("take any action", [named("a"), named("b")], ["a", "b"]),
    ("take any action now or later", [named("a"), named("b")], []),
    ("take a photo", [named("take_photo"), named("use_tool")], ["take_photo"]),
]


@pytest.mark.parametrize(("phrase", "tools", "expected"), CLOSER)
def test_of_several_tools_the_one_that_fits_best_is_named(phrase: str, tools: list, expected: list) -> None:
    for order in (tools, tools[::-1]):
        assert sorted(vocabulary.tools_for(phrase, Toolbox(tuple(order))).tools) == expected
