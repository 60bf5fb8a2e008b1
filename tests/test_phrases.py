"""Clauses taken apart by hand: the plain action, who and what it is narrowed to, conditions and their negations."""

from __future__ import annotations

import pytest

from wb.offline import conditions, phrases
from wb.offline.conditions import Earlier, Either, Every, Negated, Phrase

P, N = Phrase, Negated


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("is verified", P("is verified")),
        ("is not verified", N(P("is verified"))),
        ("has not yet paid", N(P("has paid"))),
        ("isn't open", N(P("is open"))),
        ("cannot pay", N(P("can pay"))),
        ("can not pay", N(P("can pay"))),
        ("has no card", N(P("has card"))),
        ("lacks a card", N(P("has a card"))),
        ("there is no room", N(P("there is room"))),
        ("not a member", N(P("a member"))),
        ("no longer a member", N(P("a member"))),
        ("without a card", N(P("a card"))),
        ("none of the rooms is free", N(P("any of the rooms is free"))),
        ("nobody is there", N(P("anyone is there"))),
        ("nothing is booked", N(P("anything is booked"))),
        ("is inactive for two years", P("is inactive for two years")),
        ("approved without a review", N(P("approved has a review"))),
        ("was approved without a review", P("was approved without a review")),
        ("says that it is not open", P("says that it is not open")),
        ("neither paid nor signed", Every((N(P("paid")), N(P("signed"))))),
        ("the user is a member and has paid", Every((P("the user is a member"), P("has paid", "the user")))),
        ("is a member or has paid", Either((P("is a member"), P("has paid")))),
        ("is a member, or is old and has paid", Either((P("is a member"), Every((P("is old"), P("has paid")))))),
        ("red or blue", P("red or blue")),
        ('says "yes" and is old', Every((P('says "yes"'), P("is old")))),
        ("either is old or is ill", Either((P("is old"), P("is ill")))),
        (" is old. ", P("is old")),
    ],
)
def test_a_condition_is_read_with_its_negations(text: str, expected: conditions.Condition) -> None:
    assert conditions.parse(text) == expected


def test_a_condition_knows_its_subject_and_what_it_is_about() -> None:
    assert conditions.parse("is old", about="the user") == P("is old", "the user")
    assert conditions.parse("the card is old", about="the user") == P("the card is old")
    assert conditions.subject("the old card is lost") == "the old card" and conditions.subject("is lost") == ""


def test_conditions_are_mapped_and_their_leaves_listed() -> None:
    one = Every((P("a"), N(P("b")), Earlier(Either((P("c"), P("d"))))))
    assert [leaf.text for leaf in conditions.phrases_of(one)] == ["a", "b", "c", "d"] == sorted("dcba")
    assert conditions.phrases_of(None) == () and conditions.mapped(None, N) is None
    upper = conditions.mapped(one, lambda leaf: P(leaf.text.upper()))
    assert upper == Every((P("A"), N(P("B")), Earlier(Either((P("C"), P("D"))))))
    assert conditions.mapped(N(P("a")), N) == P("a"), "no double negation"
    assert conditions.negate(conditions.negate(P("a"))) == P("a")
    assert conditions.every([]) is None and conditions.every([P("a")]) == P("a")
    assert conditions.every((P("a"), P("b"))) == Every((P("a"), P("b")))


@pytest.mark.parametrize(
    ("text", "main", "peeled"),
    [
        ("book a room if the user has paid", "book a room", [("if", "the user has paid")]),
        ("book a room only if he paid", "book a room", [("only_if", "he paid")]),
        ("book a room if and only if he paid", "book a room", [("iff", "he paid")]),
        ("book a room only after he paid", "book a room", [("only_after", "he paid")]),
        ("book a room unless it is full", "book a room", [("unless", "it is full")]),
        ("book a room except on Sundays", "book a room", [("except", "on Sundays")]),
        ("book a room as long as it is free", "book a room", [("provided", "it is free")]),
        ("book a room without asking", "book a room", [("without", "asking")]),
        ("book a room before asking", "book a room", [("before", "asking")]),
        ("book a room until it is full", "book a room", [("until", "it is full")]),
        ("book a room once the user paid", "book a room", [("after", "the user paid")]),
        ("book a room regardless of the price", "book a room", [("regardless", "the price")]),
        ("book a room if he paid unless it is full", "book a room", [("if", "he paid"), ("unless", "it is full")]),
        ("ask if he paid", "ask if he paid", []),
        ("book a room once per day", "book a room once per day", []),
        ("book a room two days before arrival", "book a room two days before arrival", []),
        ("reply without undue delay", "reply without undue delay", []),
        ("use the data that he provided by mail", "use the data that he provided by mail", []),
        ("do one of the following: pay", "do one of the following: pay", []),
        ("book a room (if free)", "book a room (if free)", []),
        ('say "if" twice', 'say "if" twice', []),
        ("book a room after 2020", "book a room after 2020", []),
    ],
)
def test_clauses_behind_the_main_one_are_peeled_by_their_marker(text: str, main: str, peeled: list) -> None:
    assert conditions.peel(text) == (main, tuple(peeled))


@pytest.mark.parametrize(
    ("text", "main", "adjuncts"),
    [
        ("If the user paid, book a room", "book a room", [("if", "the user paid")]),
        ("If the user paid, then book a room", "book a room", [("if", "the user paid")]),
        ("If he paid, unless it is full, book a room", "book a room", [("if", "he paid"), ("unless", "it is full")]),
        ("If he paid, if it is free, book a room", "book a room", [("if", "he paid"), ("if", "it is free")]),
        ("If he paid, and it is free, book a room", "book a room", [("if", "he paid, and it is free")]),
        ("If he paid, rooms", "If he paid, rooms", []),
        ("If he paid, the bed, the key must be given", "the bed, the key must be given", [("if", "he paid")]),
        ("Only if he paid, book a room", "Only if he paid, book a room", []),
        ("Book a room, if free", "Book a room, if free", []),
        ("Before the day (Monday, say), you must pay", "you must pay", [("before", "the day (Monday, say)")]),
    ],
)  # fmt: skip
def test_a_clause_in_front_is_told_from_the_main_one(text: str, main: str, adjuncts: list) -> None:
    assert conditions.leading(text) == (main, tuple(adjuncts))


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        ("Users", (True, None)),
        ("the agent", (True, None)),
        ("Users or customers", (True, None)),
        ("No one", (True, None)),
        ("An order", (False, None)),
        ("the user's order", (False, None)),
        ("Orders of users", (False, None)),
        ("Users under 18", (True, P("under 18"))),
        ("Verified users", (True, P("Verified"))),
        ("The current user", (True, None)),
        ("Users who have paid", (True, P("have paid", "the user"))),
        ("A user without a card", (True, N(P("has a card")))),
        ("Users with a card", (True, P("has a card"))),
        ("Verified users with a card", (True, Every((P("Verified"), P("has a card"))))),
    ],
)
def test_a_subject_is_a_neutral_actor_and_what_narrows_it(subject: str, expected: tuple) -> None:
    assert phrases.of_actor(subject) == expected


@pytest.mark.parametrize("subject", "employees|a nurse|students who pay|minors|staff with keys".split("|"))
def test_a_word_for_somebody_who_acts_is_a_person(subject: str) -> None:
    assert phrases.is_person(subject)


@pytest.mark.parametrize("subject", "fees|the list|errors|a constant|orders|the sector".split("|"))
def test_a_thing_is_no_person(subject: str) -> None:
    assert not phrases.is_person(subject)


@pytest.mark.parametrize(
    ("phrase", "core", "found"),
    [
        ("book a room", "book a room", []),
        ("book a room that is free", "book a room", [P("a room is free")]),
        ("book a room which the user has seen", "book a room", [P("the user has seen a room")]),
        ("book a room for users under 18", "book a room", [P("under 18")]),
        ("make sure that it is open", "make sure that it is open", []),
        ("pay a fee above $500", "pay a fee", [P("above $500", "a fee")]),
        ("send a note to more than 20 readers", "send a note", [P("more than 20 readers", "a note")]),
        ("sell a boat without a deck", "sell a boat", [N(P("boat has a deck"))]),
        ("use a file given by a guest", "use a file", [P("a file is given by a guest")]),
    ],
)
def test_an_object_is_told_from_what_narrows_it(phrase: str, core: str, found: list) -> None:
    assert phrases.of_object(phrase) == (core, found)


@pytest.mark.parametrize("word", "to for from in on at with into by".split())
def test_a_preposition_behind_a_number_is_not_what_is_counted(word: str) -> None:
    assert phrases.of_object(f"put more than 5 {word} boxes") == (f"put {word} boxes", [P("more than 5", "put")])
    assert phrases.of_object("put more than 5 per box") == ("put", [P("more than 5 per box", "put")])
    assert phrases.of_object("put more than 5 boxes") == ("put boxes", [P("more than 5 boxes", "put boxes")])


@pytest.mark.parametrize(
    ("phrase", "verbs"),
    [
        ("book a room", ("book a room",)),
        ("buy or rent a car", ("buy a car", "rent a car")),
        ("buy, rent or sell a car", ("buy a car", "rent a car", "sell a car")),
        ("stop and book a room", ("stop", "book a room")),
        ("book a room and send a note", ("book a room", "send a note")),
        ("book a room, send a note, and sell the boat", ("book a room", "send a note", "sell the boat")),
        ("book rooms and report cards", ("book rooms and report cards",)),
        ("book a room (and send a note)", ("book a room (and send a note)",)),
        ("buy/sell the boat", ("buy the boat", "sell the boat")),
        ("please never book a room", ("book a room",)),
    ],
)
def test_coordinated_verbs_are_taken_apart(phrase: str, verbs: tuple[str, ...]) -> None:
    assert phrases.split_verbs(phrase) == verbs


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("placing an order", ("place an order",)),
        ("any action that matters (booking a room, sending a note or selling boats)", ("book a room", "send a note", "sell boats")),  # noqa: E501
        ("the order is placed", ("place order",)),
        ("being paid by card", ("pay by card",)),
        ("the user books a room", ("book a room",)),
        ("room changes", ("change room",)),
    ],
)  # fmt: skip
def test_an_event_names_actions(words: str, found: tuple[str, ...]) -> None:
    assert phrases.event(words) == found


@pytest.mark.parametrize(
    ("subject", "rest", "acts"),
    [
        ("A room", "be booked", ("book room",)),
        ("The letter", "be signed and sent", ("sign letter", "send letter")),
        ("The agent", "book a room", ("book a room",)),
        ("", "sell the boat", ("sell the boat",)),
    ],
)
def test_the_actions_of_a_clause_are_active(subject: str, rest: str, acts: tuple[str, ...]) -> None:
    assert phrases.actions(subject, rest)[0] == acts


def test_duties_take_their_objects_apart() -> None:
    assert phrases.duties("", "obtain the name, the date and the place") == (
        ("obtain the name", "obtain the date", "obtain the place"),
        [],
    )
    assert phrases.duties("The letter", "be signed") == (("sign letter",), [])
    assert phrases.first_then("first ask the user, then book a room") == (("ask the user",), ("book a room",))
    assert phrases.first_then("first ask the user") == (("ask the user",), ())


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("be booked", ("book", "")), ("be made by mail", ("make", "by mail")), ("not be sent", ("send", "")),
        ("be limited", None), ("be need", None), ("book a room", None), ("be old", None), ("get paid", ("pay", "")),
    ],
)  # fmt: skip
def test_a_passive_is_known_by_its_participle(rest: str, expected: tuple[str, str] | None) -> None:
    assert phrases.passive(rest) == expected


def test_it_stands_for_the_thing_before_it() -> None:
    assert phrases.resolve(P("it is open"), "the vault") == P("the vault is open")
    assert phrases.resolve(P("it is open"), "the user") == P("it is open") == phrases.resolve(P("it is open"), "")
    assert phrases.antecedent("The vault", "be opened") == "The vault"
    assert phrases.antecedent("The agent", "open the vault") == "the vault"
    assert phrases.antecedent("", "ask the user") == "" == phrases.antecedent("", "")
    assert phrases.put_in("open it", (("if", "the vault is shut"),)) == "open the vault"
    assert phrases.put_in("open it", (("if", "the user is old"),)) == "open it" == phrases.put_in("open it", ())


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ('A "minor" is a user under 18.', ("minor", P("under 18"))),
        ("The term adult means a person over 17.", ("adult", P("over 17"))),
        ("A room is a place.", None),
        ("A user is a person.", None),
    ],
)
def test_a_definition_says_what_a_term_says_of_a_person(sentence: str, found: tuple | None) -> None:
    assert phrases.defined(sentence) == found


def test_small_parts_of_a_clause() -> None:
    assert phrases.head_noun("send a note to the old man") == "the old man" and phrases.head_noun("room") == ""
    assert phrases.head_noun("send notes") == "notes" and phrases.bare("all of it") == "of it"
    assert phrases.noun_of("the room has been paid,") == "the room" and phrases.noun_of("rooms") == "rooms"
    assert phrases.is_doer("applicants", ("apply for a job",)) and not phrases.is_doer("guests", ("apply",))
    assert phrases.lacks("a reader without a card") and not phrases.lacks("a reader without a card who pays")
    assert phrases.as_verb("return of goods") == "return goods" and phrases.as_verb("any booking") == "book"
    assert phrases.happened("asking the user") == Earlier(P("ask the user"))
    assert phrases.happened("asking the user and booking a room") == Every(
        (Earlier(P("ask the user")), Earlier(P("book a room")))
    )
    assert phrases.happened("having first asked the user") == Earlier(P("asked the user"))
    assert phrases.happened("prior consent") == P("consent")
