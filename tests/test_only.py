"""What "only", "at most" and their like demand, by tables: the actions, what narrows them, what they require."""

import pytest

from wb.offline import modality, only
from wb.offline.conditions import Every, Negated, Phrase
from wb.offline.only import Exclusive

P = Phrase
ONLY = {
    "Only members may enter the hall.": Exclusive(("enter the hall",), [], [P("members")]),
    "Only members who have paid may enter the hall.": Exclusive(("enter the hall",), [], [P("members who have paid")]),
    "Only one lamp may be lent.": Exclusive(("lend lamp",), [], [P("at most one lamp")]),
    "Only a single lamp may be lent per day.": Exclusive(("lend lamp",), [], [P("at most a single lamp per day")]),
    "Only two members may enter.": Exclusive(("enter",), [], [P("at most two members")]),
    "Only clean lamps may be lent.": Exclusive(("lend lamps",), [], [P("clean", "clean lamps")]),
    "Only lamps that are clean may be lent to a member.": Exclusive(
        ("lend lamps to a member",), [], [P("lamps are clean")]
    ),
    "A lamp may only be lent.": Exclusive(("lend lamp",), [], [], True, ("lend lamp", (P("lamp"),))),
    "A clean lamp may only be lent once a day.": Exclusive(
        ("lend clean lamp",), [], [P("at most once a day", "lend clean lamp")]
    ),
    "The lamp is only allowed to be lent at night.": Exclusive(("lend lamp",), [], [P("at night")], True),
    "The hall may only be entered by members.": Exclusive(("enter hall",), [], [P("by members")], True),
    "You may only lend lamps that are clean.": Exclusive(("lend lamps",), [], [P("lamps are clean")]),
    "You may only lend two lamps.": Exclusive(("lend lamps",), [], [P("at most two lamps")]),
    "You may only lend a single lamp.": Exclusive(("lend lamp",), [], [P("at most one lamp")]),
    "You may only lend 12 lamps.": Exclusive(("lend lamps",), [], [P("at most 12 lamps")]),
    "You may only lend a lamp twice per month.": Exclusive(
        ("lend a lamp",), [], [P("at most twice per month", "lend a lamp")]
    ),
    "You may only lend lamps to members who have paid.": Exclusive(
        ("lend lamps to members",), [], [P("members have paid")]
    ),
    "You may only lend lamps.": Exclusive(("lend lamps",), [], [], True, ("lend lamps", (P("lamps"),))),
    "You may only lend old lamps.": Exclusive(
        ("lend old lamps",), [], [], True, ("lend lamps", (P("old", "old lamps"),))
    ),
    "You may only lend old red lamps.": Exclusive(
        ("lend old red lamps",), [], [], True, ("lend lamps", (P("old red", "old red lamps"),))
    ),
    "You may only sing.": Exclusive(("sing",), [], [], True, ("sing", ())),
    "Members who have paid may only lend clean lamps.": Exclusive(
        ("lend clean lamps",),
        [P("Members"), P("Members have paid")],
        [],
        True,
        ("lend lamps", (P("clean", "clean lamps"),)),
    ),
    "You may lend only clean lamps.": Exclusive(("lend lamps",), [], [P("clean", "clean lamps")]),
    "You may lend only lamps.": Exclusive(("lend lamps",), [], [P("lamps")]),
    "You may lend only lamps from the shelf.": Exclusive(("lend lamps",), [], [P("lamps from the shelf")]),
    "You may lend only the lamp mended here.": Exclusive(("lend lamp",), [], [P("lamp mended here")]),
    "Members who have paid may lend only lamps.": Exclusive(
        ("lend lamps",), [P("Members"), P("Members have paid")], [P("lamps")]
    ),
    "You may lend a lamp only to members.": Exclusive(("lend a lamp",), [], [P("to members")]),
    "You may lend a lamp only with a card.": Exclusive(("lend a lamp",), [], [P("a card")]),
    "You may lend a lamp only for a walk.": Exclusive(("lend a lamp",), [], [P("for a walk")]),
    "You may lend a lamp only on Mondays.": Exclusive(("lend a lamp",), [], [P("on Mondays")]),
    "The only lamp may be lent.": None,
    "You may lend the only lamp.": None,
    "You may read-only files.": None,
    "You may lend a lamp.": None,
}


@pytest.mark.parametrize("text", ONLY)
def test_only_is_read_where_it_stands(text: str) -> None:
    assert only.only(modality.split(modality.plain(text))) == ONLY[text]


LIMITS = {
    "An order can contain at most ten items.": Exclusive(("the order",), [], [P("at most ten items", "order")]),
    "A bag must weigh less than 10 kg.": Exclusive(("the bag",), [], [P("less than 10 kg", "bag")]),
    "A room may have at most one bed, at most two chairs and at least one lamp.": Exclusive(
        ("the room",),
        [],
        [Every((P("at most one bed", "room"), P("at most two chairs", "room"), P("at least one lamp", "room")))],
    ),
    "A file may be kept for at most 30 days.": Exclusive(("keep file",), [], [P("at most 30 days", "file")]),
    "A lamp may be lent to a member for at most 3 days.": Exclusive(
        ("lend lamp to a member",), [], [P("at most 3 days", "a member")]
    ),
    "You may lend up to 3 lamps.": Exclusive(("lend lamps",), [], [P("up to 3 lamps", "lend lamps")]),
    "You may lend at least 3 lamps.": Exclusive(("lend lamps",), [], [P("at least 3 lamps", "lend lamps")]),
    "You may lend exactly 3 lamps.": Exclusive(("lend lamps",), [], [P("exactly 3 lamps", "lend lamps")]),
    "You may cancel up to two days before the trip.": Exclusive((), [], []),  # that is at least
    "You may lend more than 3 lamps.": None,
    "You may lend lamps.": None,
}
DENIED = {
    "An order must not contain more than ten items.": Exclusive(
        ("the order",), [], [Negated(P("more than ten items", "order"))]
    ),
    "A bag must not exceed 10 kg.": Exclusive(("the bag",), [], [Negated(P("exceed 10 kg", "bag"))]),
    "A room must not be old.": Exclusive(("the room",), [], [Negated(P("room is old"))]),
    "It must not be old.": None,
    "A lamp must not be lent.": None,
    "You must not lend up to 3 lamps.": None,
}


@pytest.mark.parametrize("text", [*LIMITS, *DENIED])
def test_a_limit_is_one_of_a_thing_or_of_an_action(text: str) -> None:
    found = only.limit(modality.split(modality.plain(text)), negated=text in DENIED)
    assert found == {**LIMITS, **DENIED}[text]


def test_a_state_that_is_demanded_is_a_positive_statement() -> None:
    for subject, rest, said in (
        ("The room", "be clean", P("The room is clean")),
        ("All rooms", "be clean", P("All rooms are clean")),
        ("The rooms", "already be clean", P("The rooms already are clean")),
        ("A room", "have at most two beds", P("at most two beds", "room")),
        ("", "be clean", P("is clean")),
    ):
        assert only.state_of(subject, rest) == said


def test_a_thing_is_the_only_trace_of_its_actions() -> None:
    assert only.nouns("no room") == only.nouns("the the room") == only.nouns(" A room ") == ("the room",)
    assert only.nouns("it") == only.nouns("They") == only.nouns("") == ()
