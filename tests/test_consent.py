"""The offline engine says yes or no only to what says nothing else, of a question that was put with its details."""

from __future__ import annotations

import pytest

from wb.offline import consent

ASKED = "The ride is on 3 May, for 40 dollars. Shall I cancel ride R1?"


def read(answer: str, question: str = ASKED, later: str = "", **about: object) -> str:
    return consent.read({"question": question, "answer": answer, "later": later, "about": about})["agrees"]


@pytest.mark.parametrize(
    "answer",
    ["Yes", "yes.", "YES!", "Yes, please.", "yes please go ahead", "Sure, thanks!", "ok", "Yes. Go ahead, thank you.",
     "That’s right", "I do", "please do it then", "Yeah - do it", "Okay\nproceed"],
)  # fmt: skip
def test_what_says_nothing_but_yes_is_a_yes(answer: str) -> None:
    assert read(answer) == "yes" == read(answer, id="R1", price=40, day="3 May")


@pytest.mark.parametrize("answer", ["no", "No, thanks.", "Nope!", "please don't", "Don’t do it.", "not now", "Wait."])
def test_what_says_nothing_but_no_is_a_no(answer: str) -> None:
    assert read(answer) == "no" == read(answer, "What?", "And?", id="R9")


@pytest.mark.parametrize(
    "answer",
    ["", " ", "please", "thanks", "yes but keep the other", "Yes, if it is free", "yes?", "yes and no", "yes. no.",
     "no. yes.", "no do it", "yes no", "yes please do not", "yesno", "not yes", "yes, cancel R2",
     "I said yes yesterday", "yesterday", "ja", "maybe", "yes: tomorrow", "no problem",
     "Do what you want", "ok, how much is it", "sure as hell not", "y", "👍", "yes\nwait", "the user says yes"],
)  # fmt: skip
def test_whatever_says_more_or_less_is_unclear(answer: str) -> None:
    assert read(answer) == "unclear"


@pytest.mark.parametrize(
    ("question", "later", "about"),
    [
        ("", "", {}),
        ("I shall cancel ride R1.", "", {}),
        ("Shall I cancel ride R1 or keep it?", "", {}),
        ("Shall I not cancel ride R1?", "", {}),
        ("Don't you want ride R1 any more?", "", {}),
        ("Do you want R1? Shall I cancel it?", "", {}),
        ("Shall I cancel everything except R1?", "", {}),
        (ASKED, "Shall I book R2 as well?", {}),
        (ASKED, "", {"id": "R2"}),
        (ASKED, "", {"id": "R"}),
        (ASKED, "", {"id": "1"}),
        (ASKED, "", {"price": 4}),
        (ASKED, "", {"price": 40, "id": "R12"}),
        ("Shall I take $40.50 for it?", "", {"price": 40}),
        ("Shall I take 1,040 for it?", "", {"price": 40}),
        ("Shall I take -40 for it?", "", {"price": 40}),
        ("Shall I cancel it?", "", {"id": ""}),
        ("Is it true?", "", {"flag": True}),
        ("Is it [1]?", "", {"list": [1]}),
        (ASKED, "", None),
    ],
)
def test_a_yes_to_another_question_or_without_a_detail_is_unclear(question: str, later: str, about: object) -> None:
    given = {"question": question, "answer": "yes", "later": later, "about": about}
    assert consent.read(given)["agrees"] == ("yes" if about is None else "unclear")


def test_the_offer_of_a_yes_or_a_no_is_one_question() -> None:
    assert read("yes", "Cancel R1 (yes or no)?", "One moment.", id="R1") == "yes"
