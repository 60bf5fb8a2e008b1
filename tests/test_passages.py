"""What of a document is one passage, its label, paragraph and table, and whether it says how to act."""

import pytest

from wb.domain import policy as documents
from wb.domain.clauses import pieces
from wb.domain.tools import Tool, Toolbox
from wb.rules.passages import Passage, passages
from wb.rules.sentences import Account

SHED = """# Shed

First line. Second line.
Third line.

**Note.** A machine is red.
Another must be blue.

- One item must be here. It can wait.
- Two items are red.

Of both:

- a must not smoke

| Size | First week | Later |
|---|---|---|
| small | must be 5 | 3 |
| large | 9 | 7 |

## Terms used

Of all: Things are held.

| Colour | Meaning |
|---|---|
| red | never handed out |

After it.
"""


def read(text: str, **classes: str) -> list[Passage]:
    """The passages of a text whose sentences are all open, but for those with a word of another class in them."""
    policy = documents.of_text(text, Toolbox((Tool("lend", "Lend a machine."),)))
    told = []
    for n, one in enumerate(pieces(policy)):
        cls = next((c.replace("_", " ") for word, c in classes.items() if word in one.text), "open")
        told.append(Account(str(n), one.text, one.start, one.end, one.headings, cls, f"why {n}"))
    return list(passages(policy, told))


def test_sentences_and_rows_are_passages_with_their_titles_labels_and_paragraphs() -> None:
    found = {one.said: one for one in read(SHED)}
    assert list(found) == [
        "Shed",
        *("First line.", "Second line.", "Third line."),
        *("**Note.**", "A machine is red.", "Another must be blue."),
        *("One item must be here.", "It can wait.", "Two items are red.", "Of both:", "Of both: a must not smoke"),
        *("Size, First week, Later", "small, must be 5, 3", "large, 9, 7"),
        *("Terms used", "Of all:", "Things are held.", "Colour, Meaning", "red, never handed out", "After it."),
    ]
    assert all(SHED[one.start : one.end].split() for one in found.values())
    assert SHED[found["small, must be 5, 3"].start : found["small, must be 5, 3"].end] == "small | must be 5 | 3"
    paragraphs = [one.paragraph for one in found.values()]
    assert paragraphs == [0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]
    assert {one.label for one in list(found.values())[:4]} == {""}
    assert {one.label for one in list(found.values())[4:15]} == {"Note"}
    assert found["Things are held."].label == "Of all", "what it stands beside in the document"
    assert found["red, never handed out"].label == found["After it."].label == "", "a title ends a label"
    size, colour = found["Size, First week, Later"].table, found["Colour, Meaning"].table
    assert [one.table for one in found.values()] == [0] * 12 + [size] * 3 + [0, 0, 0, colour, colour, 0]
    assert size and colour and size != colour
    assert {said for said, one in found.items() if one.defines} == set(list(found)[17:])
    assert found["After it."].headings == ("Shed", "Terms used") and found["Shed"].headings == ()


def test_what_binds_is_neither_title_nor_label_nor_head_of_a_small_table() -> None:
    free = {one.said for one in read(SHED, small="rule") if not one.binds}
    assert free == {"Shed", "**Note.**", "Terms used", "Of all:", "Colour, Meaning"}


@pytest.mark.parametrize("label", ["**Note.**", "__Note.__"])
def test_a_label_stands_in_bold_and_no_long_sentence_does(label: str) -> None:
    found = read(f"# A\n\n{label} You must ask.\n\nYou must answer.\n")
    assert [(one.label, one.binds) for one in found] == [("", False), ("Note", False), ("Note", True), ("Note", True)]
    assert [one.label for one in read(f"# A\n\n**{'x ' * 31}.** You must ask.\n")] == [""] * 3


BINDS = {
    "Be friendly.": True,
    "Machines must be clean.": True,
    "Nothing goes out.": True,
    "It goes not back.": True,
    "It goes back only on Monday.": True,
    "The deposit goes back.": False,  # what happens by itself
    "The deposit will be returned.": False,
    "The deposit will not be returned.": True,
    "In winter, your deposit will go back.": False,
    "The desk is closed unless somebody is there.": True,
    "You can lend a machine.": False,  # a permission
    "If it rains, you can lend a machine.": False,
    "You can lend a machine only once.": True,
    "You can lend a machine if you must.": False,  # the force of another clause
    "You can lend a machine and must clean it.": True,
    "The member may keep it.": False,
    "Machines may be kept.": True,
    '"Loan" means a machine.': False,
    "We recommend gloves.": False,
    "The price depends on the size.": False,  # what is so; the next table tells it apart where it is no constraint
    "Machines are for members who have paid.": True,
    "Machines are for all.": True,
}
SETTLED = {
    "Machines are for members who have paid.": True,  # no constraint of itself, but policy of a tool
    "The price depends on the size.": True,
    "Machines must be clean.": False,
    "Machines are for all.": False,
}


def test_an_open_sentence_binds_that_may_say_how_to_act() -> None:
    found = {said: read(f"# A\n\n{said}\n")[1].binds for said in BINDS}
    assert found == BINDS
    for cls, expected in (("rule", True), ("duty", True), ("waived", False)):
        classes = {said.split()[0]: cls for said in BINDS}
        assert {read(f"# A\n\n{said}\n", **classes)[1].binds for said in BINDS} == {expected}, cls
    none = {said: read(f"# A\n\n{said}\n", **{said.split()[0]: "not_a_constraint"})[1].binds for said in SETTLED}
    assert none == SETTLED


def test_the_verb_of_a_passage_follows_its_first_modal() -> None:
    said = {"You can lend it.": "lend", "It must not be lent.": "lend", "It shall be cleaned.": "clean", "It is.": ""}
    assert {one: read(f"# A\n\n{one}\n")[1].verb for one in said} == said


def test_a_permission_binds_beside_what_binds_of_the_same_verb_in_its_paragraph() -> None:
    text = "# A\n\nSaws can be kept only at night. Drills can be {} at any time.{}"
    for verb, behind, bound in (("kept", "", True), ("held", "", False), ("kept", " Lamps can be kept.", True)):
        found = read(text.format(verb, behind), Drills="not_a_constraint")
        assert found[2].binds == bound, verb
    apart = read(text.format("kept", "").replace(". Drills", ".\n\nDrills"), Drills="not_a_constraint")
    assert not apart[2].binds


def test_a_row_binds_by_any_of_its_cells_and_has_the_account_of_the_first_that_does() -> None:
    table = "# A\n\n| Size | Week | Day |\n|---|---|---|\n| small | five | three |\n"
    for binding, place in (((), 0), (("five",), 1), (("three",), 2), (("five", "three"), 1), (("small", "five"), 0)):
        waived = {word: "waived" for word in ("small", "five", "three") if word not in binding}
        head, row = read(table, **waived)[1:]
        first = read(table.replace("| small", f"| {('small', 'five', 'three')[place]}"), **waived)[-1]
        assert row.binds == head.binds == bool(binding) and row.said == "small, five, three"
        assert int(row.account.reason.split()[1]) == int(first.account.reason.split()[1]) + place


def test_an_item_of_a_list_says_what_it_says_under_its_opening() -> None:
    text = "# A\n\nA machine may be lent only {}:\n\n- it is clean\n- the day goes well\n"
    assert [one.binds for one in read(text.format("if"))] == [False, True, True, True]
    text = "# A\n\nYou can find here:\n\n- it is clean\n- machines\n"
    assert [one.binds for one in read(text)][2:] == [False, False]
