"""Where the modal of a sentence stands and what it does, by tables."""

import pytest

from wb.offline import modality
from wb.offline.modality import MainClause

SPLIT = {
    "You must not lend it.": ("You", "forbid", "must not", "lend it"),
    "Never lend it.": ("", "forbid", "Never", "lend it"),
    "Under no circumstances may an agent lend it.": (
        *("", "forbid"),
        *("Under no circumstances may an agent", "lend it"),
    ),
    "You may, under no circumstances, lend it.": ("You", "forbid", "must never", "lend it"),
    "You must not lend it under any circumstances.": ("You", "forbid", "must not", "lend it"),
    "Late forms will not be accepted.": ("Late forms", "forbid", "must not", "be accepted"),
    "It is strictly forbidden to smoke.": ("It", "forbid", "is strictly forbidden to", "smoke"),
    "It is not possible to lend it.": ("It", "ban", "is not possible", "to lend it"),
    "Not allowed on Sundays": ("This", "ban", "is not allowed", "on Sundays"),
    "This is prohibited on Sundays": ("This", "ban", "is prohibited", "on Sundays"),
    "Entry is denied to minors.": ("Entry", "ban", "is prohibited", "for minors"),
    "A member need not pay.": ("A member", "exempt", "need not", "pay"),
    "A card is required.": ("A card", "needed", "is required", ""),
    "Staff are expected to pay.": ("Staff", "oblige", "are expected to", "pay"),
    "Members need to pay.": ("Members", "oblige", "need to", "pay"),
    "Members need a card to enter.": ("Members", "oblige", "must", "have a card to enter"),
    "A member who may enter must pay.": ("A member who may enter", "oblige", "must", "pay"),
    "The user, who may smoke, must pay.": ("The user, who may smoke", "oblige", "must", "pay"),
    "It requires a card.": ("It", "requires", "requires", "a card"),
    "A loan needs the written consent of the owner.": (
        *("A loan", "requires"),
        *("requires", "the written consent of the owner"),
    ),
    "Loans are subject to approval.": ("Loans", "requires", "requires", "approval"),
    "You may lend it.": ("You", "permit", "may", "lend it"),
    "Allowed only for members": ("This", "permit", "is allowed", "only for members"),
    "A lamp is lent only if it works.": ("A lamp", "permit", "", "be lent only if it works"),
    "Only lamps are lent at night.": ("Only lamps", "permit", "", "be lent at night"),
    "The hall is accessible only on Mondays.": ("The hall", "permit", "may", "be accessed only on Mondays"),
    "The hall is available only on Mondays.": ("The hall", "permit", "is available", "only on Mondays"),
    "No refunds are given on Mondays.": ("No refunds", "permit", "may", "be given on Mondays"),
    "The hall is for members only.": ("The hall", "permit", "is allowed", "only for members"),
    "The hall is reserved for members.": ("The hall", "permit", "is allowed", "only for members"),
    "The hall is limited to members.": ("The hall", "permit", "is allowed", "only for members"),
    "The hall is limited to 20 people.": None,  # a number, and nobody
    "Lend a lamp.": ("", "imperative", "", "Lend a lamp"),
    "lend a lamp": ("", "imperative", "", "lend a lamp"),
    "Please lend a lamp.": ("", "imperative", "Please", "lend a lamp"),
    "Only lend lamps.": ("", "imperative", "", "Only lend lamps"),
    "Re-book a room.": ("", "imperative", "", "Re-book a room"),
    "Be sure to lock the door.": ("", "imperative", "Always", "lock the door"),
    "Be sure that it is locked.": ("", "imperative", "", "Ensure that it is locked"),
    "Check the door first, and only then open it.": (
        *("", "imperative", ""),
        "Check the door first, and only then open it",
    ),
    "Pick the fields that must be filled.": ("", "imperative", "", "Pick the fields that must be filled"),
    "Polish the lamp.": ("", "imperative", "", "Polish the lamp"),  # a verb that is in no list, before an article
    "Polish it": None,
    "Near the lamp": None,
    "Lamps are lent.": None,
    "A lend of a lamp": None,
    "Lend is a word.": None,
    "Lending a lamp": None,
    "Lend": None,
    'The word "must" is short.': None,
    "The rooms (which may be red) are clean.": None,
    "It opens in May 2020.": None,
}


def test_a_main_clause_is_taken_apart_at_its_modal() -> None:
    expected = {text: clause and MainClause(*clause) for text, clause in SPLIT.items()}
    assert {text: modality.split(modality.plain(text)) for text in SPLIT} == expected


MAIN = {
    "You may smoke, but you must pay.": ("You may smoke", "you must pay."),
    "If it rains, you may smoke, and must pay; a guest cannot.": (
        *("If it rains, you may smoke", "If it rains, you must pay", "If it rains, a guest cannot."),
    ),
    "He may go; so he must.": ("He may go", "he must."),
    "A member may enter and must pay.": ("A member may enter", "A member must pay."),
    "You may go, but when it rains you must stay.": ("You may go", "when it rains you must stay."),
    "If it is cold, you may go, but when it rains you must stay.": (
        *("If it is cold, you may go", "when it rains you must stay."),
    ),
    "A card is valid and a stamp is needed.": ("A card is valid", "a stamp is needed."),
    "A and B may go.": ("A and B may go.",),
    "You may go, and those who must pay.": ("You may go, and those who must pay.",),
    "You may go, and one two three four five six seven must.": (
        *("You may go", "one two three four five six seven must."),
    ),
    "You may go, and one two three four five six seven eight must.": (
        "You may go, and one two three four five six seven eight must.",
    ),
    "(You may go, but you must pay)": ("(You may go, but you must pay)",),
    'The rule "go, but you must pay" holds.': ('The rule "go, but you must pay" holds.',),
}


@pytest.mark.parametrize("text", MAIN)
def test_a_sentence_is_cut_into_its_main_clauses(text: str) -> None:
    assert modality.main_clauses(text) == MAIN[text]


@pytest.mark.parametrize(
    ("stem", "item", "expected"),
    [
        ("Agents must", "You may not smoke", "You may not smoke"),
        ("Members may:", "PIN codes", "Members may PIN codes"),
        ("Members may:", "A lamp", "Members may a lamp"),
        ("Members may:", "Old lamps", "Members may old lamps"),
        ("If it rains:", "Lock the door", "If it rains, lock the door"),
        ("If it rains:", "You may not smoke", "If it rains, you may not smoke"),
        ("For members of our club:", "Lamps", "For members of our club, lamps"),
        ("Doors:", "Keys", "Keys"),  # a title
        ("One two three four five six:", "Keys", "Keys"),
        ("One two three four five six seven:", "Keys", "One two three four five six seven keys"),
        ("Allowed if one of the following is true:", "PIN given", "Allowed if PIN given"),
        ("Enter if any of the following applies:", "Snow falls", "Enter if snow falls"),
        ("You may do any of the following things at night:", "Sing", "You may sing at night"),
    ],
)
def test_an_item_is_read_under_its_stem(stem: str, item: str, expected: str) -> None:
    assert modality.under_stem(stem, item) == expected


CUES = {
    *("A key is needed.", "Leaving requires a key.", "You may go only if you paid.", "Nobody may go.", "Few can go."),
    *("The door may be opened without asking.", "You may go but not smoke.", "You may only go.", "At most two lamps."),
    *("You may go home with only one.", "The agent will not go.", "They are at most red.", "You may take up to 3."),
    *("You must go.", "Lamps shall.", "It may go, unless it rains."),
}
NO_CUES = {
    *(
        "No key is needed.",
        "Leaving requires no key.",
        "You may go.",
        "You may go without asking.",
        "It will not rain.",
    ),
    *("A member need not pay.", "Lamps here.", "You may take up to it.", "Dogs may be walked.", "Lamps are red."),
    "You may walk home with them all and only then.",
}


def test_a_constraint_has_its_words_and_a_permission_or_an_exemption_has_not() -> None:
    assert {text for text in CUES | NO_CUES if modality.cue(modality.plain(text))} == CUES


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("**Bold** _it_ `x`", "Bold it x"),
        ("“Quoted” isn’t ‘so’", "\"Quoted\" isn't 'so'"),
        ("> Title;", "Title"),
        ("a [link](http://x) and ![pic](y)", "a link and pic"),
        ("No-one (see below) may go.", "No one may go"),
        ("a\\_b snake_case", "a_b snake_case"),
        ("You may go; and", "You may go"),
        ("x  y\n z", "x y z"),
    ],
)
def test_marks_are_no_words(text: str, expected: str) -> None:
    assert modality.plain(text) == expected
