"""What the words of a sentence tell that nothing was read from: why it may be left aside, or why it stays open."""

from __future__ import annotations

import json

import pytest

from wb.domain import tools
from wb.domain.tools import Field, Tool, Toolbox
from wb.rules import words

BOX = Toolbox(
    (
        Tool("book_room", "Book a room.", (Field("guests", "integer"),), keywords=("reserve a suite",)),
        Tool("send_note", "Send a note.", (Field("text", "string", "words for the reader"),), mutating=False),
        Tool("cancel_room", "Cancel a room.", (Field("room", "string"),)),
        Tool("open_vault", "Open the vault."),
    )
)
BEARING = words.Bearing(BOX)


def said(text: str, **more: object) -> tuple[str, bool]:
    return words.verdict(text, BEARING, **more)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("May a guest bring a dog?", "a question"),
        ("For example, a guest brings a dog.", "an example"),
        ("E.g. dogs and cats.", "an example"),
        ('A "guest" is somebody who stays here.', "a definition"),
        ("Breakfast counts as a meal.", "a definition"),
        ("The house includes a garden.", "a definition"),
        ("We recommend the garden.", "advice"),
        ("Consider visiting the garden.", "advice"),
        ("Guests need not bring towels.", "an exemption, or a right kept"),
        ("The house reserves the right to paint its doors.", "an exemption, or a right kept"),
        ("The garden is green.", "a statement without force, exception or limit"),
        ("The garden is usually open within a day.", "a statement of what usually is so"),
        ("Guests may also use the garden.", "a permission"),
        ("Green gardens", "names a thing, says nothing of it"),
        ("If it rains, the garden is green.", "a statement without force, exception or limit"),
        ("When it rains, some paths are green.", "a statement without force, exception or limit"),
        ("The lawn will be watered by the gardener.", "a statement without force, exception or limit"),
        ("The garden will turn green.", "a statement without force, exception or limit"),
    ],
)
def test_a_sentence_is_left_aside_for_a_reason_in_it(text: str, reason: str) -> None:
    assert said(text) == (reason, True)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Guests must pay.", "the words of a constraint that was not read (must)"),
        ("Guests shall never smoke.", "the words of a constraint that was not read (shall, never)"),
        ("Must a guest never pay?", "the words of a constraint that was not read (must, never)"),
        ("For example, you must pay.", "the words of a constraint that was not read (must)"),
        ("Dogs are not allowed in.", "the words of a constraint that was not read (not allowed, are not allowed)"),
        ("Refunds are not made.", "the words of a constraint that was not read (are not made)"),
        ("Tips aren't usually paid out.", "the words of a constraint that was not read (aren't usually paid)"),
        ("Dogs are not let in.", "the words of a constraint that was not read (are not let)"),
        ("Probably not.", "the answer to a question that was not read"),
        ("A: no.", "the answer to a question that was not read"),
        ("Close the garden at nine.", "an order that was not read (close)"),
        ("If it rains, close the garden.", "an order that was not read (close)"),
        ("The room is not green or blue.", "a negation that was not read (not)"),
        ("Only the garden is green.", "a limit or an exception that was not read (only)"),
        ("The garden is 5% green.", "a limit or an exception that was not read (5%)"),
        ("Guests keep dogs outside.", None),
        ("Users bring a dog.", "says what users do"),
        ("It also applies to dogs.", "it adds to another sentence"),
        ("This extends to a wet dog.", "it adds to another sentence"),
        ("This covers wet dogs.", "it adds to another sentence"),
        ("So is a wet dog.", "it adds to another sentence"),
        ("A wet dog falls under this.", "it adds to another sentence"),
        ("For this rule, a wet dog is a cat.", "it adds to another sentence"),
        ("Rule 3 applies to dogs.", "it says where another passage holds (rule 3 applies)"),
        ("Rooms we book are green.", "says something of what book_room does"),
        ("Green gardens with trees and some flowers.", "nothing was read from it, and nothing in its words says that it is no constraint"),  # noqa: E501
        ("Sending a note is nice.", "says what 'sending' is"),
        ("If the lawn is dry, have them water it.", "an order that was not read, behind a condition or an aim"),
        ("If it rains, phone the owner, who has a roof.", "an order that was not read, behind a condition or an aim"),
        ("To water the lawn use the barrel.", "an order that was not read, behind a condition or an aim"),
        ("If the lawn is wet: Ring the owner.", "an order that was not read, behind a condition or an aim"),
        ("If it rains, the lawn will be mown.", "says what will be done (will be mown)"),
        ("They will mow the lawn.", "says what will be done (they will mow)"),
    ],
)  # fmt: skip
def test_a_sentence_stays_open_for_a_reason_in_it(text: str, reason: str | None) -> None:
    told, aside = said(text)
    assert not aside and (reason is None or told == reason)


@pytest.mark.parametrize("head", ["Don'ts", "Exclusions", "No", "Limits", "Out of bounds"])
def test_what_stands_behind_a_label_that_forbids_stays_open(head: str) -> None:
    wanted = f"a thing named behind {head!r}", False
    for text in ("Dogs in the garden.", "Dogs on a wet lawn", "Wet dogs"):
        assert said(text, label=head) == wanted and said(text, label="Dogs", fragment=True)[0] != wanted[0]
        assert not said(f"{head}: {text}")[1] and not said(f"**{head}:** {text}")[1]
    assert said(f"{head}: Dogs in the garden.") == wanted


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("If dry water the lawn.", "an order that was not read, behind a condition or an aim"),
        (
            "Attempt to call the owner.",
            "nothing was read from it, and nothing in its words says that it is no constraint",
        ),
        ("Request that the lawn be mown.", None),
    ],
)
def test_a_fragment_that_is_more_than_a_name_stays_open(text: str, reason: str | None) -> None:
    told, aside = said(text, fragment=True)
    assert not aside and (reason is None or told == reason)
    for name in ("Green gardens", "Right of access.", "Review of a denial of access.", "Time and manner of access."):
        assert said(name, fragment=True) == ("names a thing, says nothing of it", True)


FIELDS = Toolbox(
    BOX.tools,
    (
        Field("room_quiet", "boolean", "the room is quiet"),
        Field("guest", "object", schema=tools.Schema({"type": "object", "properties": {"late": {"type": "boolean"}}})),
        Field("season", "string", values=("high season", "winter")),
    ),
)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("A room under the roof counts as quiet.", "room_quiet"),
        ("Rooms under the roof are quiet.", "room_quiet"),
        ("A room with two doors is considered quiet.", "room_quiet"),
        ("Guests with two bags are always late.", "late"),
        ("July is high season.", "high season"),
        ("Here July means winter.", "winter"),
        ("A room is quiet if its window is shut.", "room_quiet"),
        ("Late means after midnight.", "late"),
        ("A guest is late when the bell has rung.", "late"),
        ("The garden is quiet.", ""),
        ("A room under the roof is nice.", ""),
        ("A quiet room has one door.", ""),
        ("Guests may be late.", ""),
        ("July is high.", ""),
    ],
)
def test_what_says_when_a_field_holds_is_no_mere_statement(text: str, name: str) -> None:
    bearing = words.Bearing(FIELDS)
    assert bearing.told_of(text) == name and words.Bearing(BOX).told_of(text) == ""
    if name:
        assert words.verdict(text, bearing) == (f"it says of what {name!r} is so", False)


def test_what_stands_around_a_sentence_counts() -> None:
    assert said("The dogs", opening="Guests must not bring:") == (
        "the words of a constraint that was not read (must)",
        False,
    )
    assert said("Small dogs", title="Prohibited") == ("a thing named under the title 'Prohibited'", False)
    assert said("Small dogs", title="Welcome") == ("names a thing, says nothing of it", True)
    assert said("Small dogs and their many owners", fragment=True) == ("names a thing, says nothing of it", True)
    assert said("Small dogs, 3 of them", fragment=True) == ("a limit without a verb", False)


@pytest.mark.parametrize(
    ("text", "force"),
    [
        ("You must pay.", "must"), ("You need not pay.", ""), ("It is not required to pay.", ""),
        ("It is not limited to dogs.", ""), ("Smoking is prohibited.", "prohibited"),
        ("Rooms are off-limits.", "off-limits"),
        ("Please do not smoke.", "please do not"), ("The agent will ask.", "agent will"),
        ("The agent will be asked.", ""),
        ("Rooms aren't sold.", "aren't sold"), ("A room that is not sold is free.", ""),
        ("Ensure that it is shut.", "ensure"),
        ("We try to ensure peace.", ""), ("🚫 dogs", "🚫"), ("They are to be shut.", "are to be"), ("It is green.", ""),
        ("You doesn't need to pay.", ""), ("Guests can’t pay.", "can't"), ("**Never** pay.", "never"),
    ],
)  # fmt: skip
def test_words_of_force(text: str, force: str) -> None:
    assert words.forced(text) == force


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("can’t", "can't"), ("**bold** and `code`", "bold and code"), ("two\n lines", "two lines"),
        ("can-not", "cannot"), ("_so_", "so"), ("‘quoted’", "'quoted'"), ("ﬁne", "fine"), ("non\u2010stop", "non-stop"),
    ],
)  # fmt: skip
def test_plain_words(text: str, plain: str) -> None:
    assert words.plain(text) == plain


def test_tools_share_words_with_a_text() -> None:
    assert BEARING.sharing("Guests like it.") == ("book_room",)
    assert BEARING.sharing("Reserve a suite for them.") == ("book_room",) and not BEARING.sharing("A suite is nice.")
    assert BEARING.sharing("Open it, or send them away.") == ("send_note", "open_vault")
    assert BEARING.sharing("The words for a reader.") == () != BEARING.touching("The words for a reader.")
    assert BEARING.named("Send them away.") == () and BEARING.named("Send them away.", whole=False) == ("send_note",)
    assert BEARING.named("Send a note.") == ("send_note",) and BEARING.named("Reserve a suite.") == ("book_room",)
    assert BEARING.named("Cancel or book rooms") == ("book_room", "cancel_room")
    assert BEARING.permitted("The agent may book rooms.") and BEARING.permitted("You can also reserve a suite.")
    assert not BEARING.permitted("The agent may rest.") and not BEARING.permitted("Book a room.")
    assert BEARING.mutating() == ("book_room", "cancel_room", "open_vault")
    assert BEARING.ordered({"open_vault", "book_room", "x"}) == ("book_room", "open_vault")


def test_a_word_of_more_than_half_of_the_tools_names_none() -> None:
    box = Toolbox(tuple(Tool(f"{verb}_room") for verb in ("book", "cancel", "clean")) + (Tool("send_note"),))
    assert words.Bearing(box).sharing("The room") == ()
    assert words.Bearing(Toolbox(box.tools[1:])).sharing("The note") == ("send_note",)
    half = Toolbox((*box.tools[1:], Tool("sell_note")))
    assert words.Bearing(half).sharing("The room") == ("cancel_room", "clean_room")


@pytest.mark.parametrize("inside", [[{"name": "amount"}], "amount", None, {"amount": {"description": "in euros"}}])
def test_what_is_told_of_an_argument_is_read_whatever_form_it_has(inside: object) -> None:
    row = {"name": "pay", "parameters": {"type": "object", "properties": {"sum": {"properties": inside}}}}
    bearing = words.Bearing(tools.parse(json.dumps([row, {"name": "sing"}])))
    assert bearing.touching("The amount is told.") == (("pay",) if isinstance(inside, dict) else ())


PAIRS = """
    Any lawn may be mown save the wet ones. | Anybody may save the file.
    All lawns may be mown but those that are wet. | The lawn is wet, but green.
    Everybody but a child may come. | Everybody may come.
    Lawns may be mown insofar as they are dry. | Lawns may be mown.
    All lawns minus the wet ones are mown. | All lawns are mown.
    Lawns excluding wet ones may be mown. | Lawns may be mown by the gardener.
    Lawns may be mown, wet ones aside. | Some lawns may be mown.
    Unbooked rooms may rest. | Unbooked rooms may also rest.
    Only illness counts as a reason. | Illness counts as a reason.
    Illness alone means a reason. | Illness means a reason.
    Nothing other than illness counts as a reason. | A cold counts as an illness.
    A reason is defined as illness, never as rain. | A reason is defined as illness.
    The term excludes rain. | The term covers rain.
    The sole reasons are rain and snow. | The reasons are rain and snow.
    Rain hardly counts as a reason. | Rain counts as a reason.
    The list is exhaustive. | The list is long.
    Water means rain, period. | Water means rain in this period.
    The sauna is for those who are 18 or older. | The sauna is for those who like it.
    The pool is for visitors aged 18. | The pool is for visitors.
    A choir consists of six singers or fewer. | A choir consists of one or more singers.
    The slide is for over-12s. | The slide is for everybody.
    Saunas are an 18+ thing. | Saunas are a nice thing.
    The top speed is 80. | The top is green.
    The top speed is eighty. | The top of the hill is bare.
    Seven singers are too many. | The hall was too small.
    A nap lasts an hour, tops. | The tops of the trees are bare.
    We have zero tolerance for rain. | We have some tolerance for rain.
    A choir is to have a hall. | The aim of a choir is to have a hall.
    Singers are to keep time. | The hall is to the left.
    Singers are not to shout. | The best way is to sing.
    A choir will have a hall. | The garden will have been green.
    Every singer will sing. | The wind will sing.
    Singers will sing. | Birds will sing.
    A hall is indispensable. | A hall is nice.
    A hall is essential for a choir. | An essential part of a choir is its hall.
    It is vital that they sing. | The vital signs are green.
    It is important to sing. | The hall is important.
    A hall is a precondition of singing. | A hall is a place of singing.
    Forget about singing. | The song about singing is nice.
    Rain does not count. | The rain counts.
    The owner has the final say. | The owner has a house.
    Notes are out of bounds. | The lawn is out of sight.
    Rooms are verboten. | Dogs are verboten animals of the house.
    Booking rooms depends on the weather. | The lawn depends on the weather.
    Rooms are for members. | Lawns are for members.
    Bookable are the rooms of the house. | Likeable are the dogs of the house.
    A note does not count as a letter. | A dog counts as a pet.
"""


@pytest.mark.parametrize("pair", [line.strip() for line in PAIRS.strip().splitlines()])
def test_words_of_exception_limit_and_demand_hold_a_sentence_open_and_their_neighbours_do_not(pair: str) -> None:
    restricts, plain = pair.split(" | ")
    assert not said(restricts)[1], said(restricts)
    assert said(plain)[1], said(plain)


@pytest.mark.parametrize("head", ["Don'ts", "No-gos", "Taboos", "Bans", "Nevers", "Exclusions", "We refuse",
                                  "Verboten", "Out of bounds",
                                  "Things to avoid", "Red lines", "Not covered",
                                  "Deny list"])  # fmt: skip
def test_a_head_that_forbids_holds_open_what_stands_under_it(head: str) -> None:
    assert words.forbids(head) and not said(head)[1]
    assert not said("small dogs", title=head)[1] and not said("small dogs", opening=f"{head}:")[1]
    assert not said("Dogs may also come.", title=head)[1], "a permission among what is forbidden"


@pytest.mark.parametrize("head", ["Dos", "Banquets", "Covered", "What we like", "Rooms", "Abandoned"])
def test_a_head_that_names_a_thing_forbids_nothing(head: str) -> None:
    assert not words.forbids(head) and said(head)[1]
    assert said("small dogs", title=head)[1] and said("small dogs", opening=f"{head}:")[1]


def test_a_question_forbids_nothing_by_its_head() -> None:
    assert words.forbids("What do we refuse") and not words.forbids("What do we refuse?")
