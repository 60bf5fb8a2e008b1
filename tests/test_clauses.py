"""Quotations and ids of sentences on documents small enough to be read by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wb.domain import document, policy
from wb.domain.document import Sentence
from wb.domain.tools import Toolbox

TEXT = "# House\n\nDo not run.\n\n## Pool\n\nYou must:\n\n- swim;\n- sing.\n\nDo not run.\n\n| who | what |\n|---|---|\n| guest | may swim |\n"  # noqa: E501


def house(text: str = TEXT) -> policy.Policy:
    return policy.of_text(text, Toolbox())


def test_a_quotation_is_found_wherever_it_stands() -> None:
    text = 'He  said "no".\nHe said “no”. It\'s on, it’s on.'
    assert [text[a:b] for a, b in policy.occurrences('He said "no".', text, 0, len(text))] == [
        'He  said "no".',
        "He said “no”.",
    ]
    assert len(policy.occurrences("it's on", text, 0, len(text))) == 1
    assert policy.occurrences("aa", "aaa", 0, 3) == ((0, 2), (1, 3)) and policy.occurrences("aa", "aaa", 1, 3) == (
        (1, 3),
    )
    assert policy.occurrences(" ", "a b", 0, 3) == () == policy.occurrences("a.b", "axb", 0, 3)


def test_ids_are_of_the_words_and_what_they_are_read_with() -> None:
    base = Sentence("Do  not run.", 0, 12, "paragraph", ("House",))
    same = Sentence("Do not\nrun.", 50, 61, "paragraph", ("House",))
    first, second = policy.identities([base, same])
    assert second == f"{first}-2" and len(first) == 12 and policy.identities([same])[0] == first
    others = [
        Sentence("Do not run!", 0, 12, "paragraph", ("House",)),
        Sentence("Do not run.", 0, 12, "paragraph", ("Pool",)),
        Sentence("Do not run.", 0, 12, "paragraph", ("House",), stems=("You must:",)),
        Sentence("Do not run.", 0, 12, "paragraph", ("House",), label="Note"),
        Sentence("Do not run.", 0, 12, "paragraph", ("House",), column="what"),
        Sentence("Do not run.", 0, 12, "paragraph", ("House",), row=(("who", "guest"),)),
    ]
    assert len({*policy.identities([base, *others])}) == 7


def said(text: str, kind: str = "prose", *headings: str) -> Sentence:
    return Sentence(text, 0, len(text), kind, headings or ("House",))


@pytest.mark.parametrize(
    ("first", "second", "behind"),
    [
        (said("May guests bring dogs?"), said("No."), True),
        (said("Guests may bring dogs."), said("No."), False),
        (said("May guests bring dogs?"), said("No.", "prose", "Pool"), False),
        (said("Weigh the crate.", "step"), said("Seal the crate.", "step"), True),
        (said("Weigh the crate.", "item"), said("Seal the crate.", "item"), False),
        (said("A crate is sealed."), said("Otherwise, weigh the crate."), True),
        (said("A crate is sealed."), said("Do not open it."), True),
        (said("A crate is sealed."), said("Do not open a crate."), False),
        (said("May guests bring dogs?"), said("Items", "heading"), False),
        (said("May guests bring dogs?"), said("x", "gap"), False),
    ],
)
def test_an_id_covers_what_stands_before_where_the_words_are_not_understood_without_it(
    first: Sentence, second: Sentence, behind: bool
) -> None:
    assert policy.following([first, second]) == ("", first.text if behind else "")
    alone, other = policy.identities([second])[0], replace(first, text=f"So: {first.text}", said="")
    under, changed = (policy.identities([one, second])[1] for one in (first, other))
    assert (under != alone) is behind is (under != changed)
    hidden = Sentence("<!-- x -->", 20, 30, "gap", first.headings, label="hidden: comment")
    assert policy.following([first, hidden, second])[2] == ("" if not behind else first.text), "nobody sees it"


def test_a_clause_has_what_its_sentence_is_read_with() -> None:
    one = Sentence("run", 3, 6, "item", ("House",), stems=("You must:",), label="Note", row=(("who", "guest"),))
    made = policy.clause_of(one, "c1")
    assert (made.id, made.text, made.start, made.end) == ("c1", "run", 3, 6)
    assert made.headings == ("House",) and made.context == ("You must:", "Note", "guest")
    assert policy.clause_of(Sentence("run", 3, 6, "item")).context == ()


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        (Sentence("x", 0, 1, "paragraph"), ""),
        (Sentence("x", 0, 1, "paragraph", ("A", "B")), "under A / B"),
        (Sentence("x", 0, 1, "item", ("A",), stems=("You  must:",)), "under A, in the list “You must:”"),
        (Sentence("x", 0, 1, "paragraph", label="Note"), "after “Note:”"),
        (Sentence("x", 0, 1, "gap", label="code"), ""),
        (Sentence("x", 0, 1, "cell", column="what"), "in the column “what”"),
        (Sentence("x", 0, 1, "cell", row=(("who", "guest"), ("", "b"), ("z", " "))),
         "in the row with who “guest”, “b”"),
    ],
)  # fmt: skip
def test_where_a_sentence_stands(sentence: Sentence, words: str) -> None:
    assert policy.standing(sentence) == words
    asked = policy.standing(sentence, "May  I?")
    assert asked == f"{words}, behind “May I?”".removeprefix(", ")


def test_pieces_are_the_sentences_and_what_was_skipped_in_order() -> None:
    one = house(f"{TEXT}\n```\nsome code here\n```\n\nThe end is near.\n")
    found = policy.pieces(one)
    assert [p.start for p in found] == sorted(p.start for p in found)
    (gap,) = (p for p in found if p.kind == "gap" and "some code" in p.text)
    assert gap.label and gap.headings == ("House", "Pool") and gap.text == one.text[gap.start : gap.end]
    assert list(policy.named(one).values()) == [p.text for p in found]
    assert set(document.SILENT).isdisjoint(p.label for p in found if p.kind == "gap")
