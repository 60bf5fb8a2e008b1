"""The offline engine says yes or no only to what says nothing else, of a question that was put with its details."""

from __future__ import annotations

import pytest

from wb.offline import engine

ASKED = "Shall I cancel ride R1?"
CANCEL = {"id": "R1"}


def read(answer: str, question: str = ASKED, later: str = "", act: str = "cancel ride", about: object = None) -> str:
    about = CANCEL if about is None else about
    return engine.agrees({"question": question, "answer": answer, "later": later, "act": act, "about": about})["agrees"]


@pytest.mark.parametrize(
    "answer",
    ["Yes", "yes.", "YES!", "Yes, please.", "yes please go ahead", "Sure, thanks!", "ok", "Yes. Go ahead, thank you.",
     "That’s right", "I do", "please do it then", "Yeah - do it", "Okay\nproceed", "yes..."],
)  # fmt: skip
def test_what_says_nothing_but_yes_is_a_yes(answer: str) -> None:
    assert read(answer) == "yes"


@pytest.mark.parametrize("answer", ["no", "No, thanks.", "Nope!", "please don't", "Don’t do it.", "not now", "Wait."])
def test_what_says_nothing_but_no_is_a_no(answer: str) -> None:
    assert read(answer) == "no"
    assert read(answer, "Shall I keep R1?") == "unclear", "no to another question"


@pytest.mark.parametrize(
    "answer",
    ["", " ", "please", "thanks", "yes but keep the other", "Yes, if it is free", "yes?", "yes and no", "yes. no.",
     "no. yes.", "no do it", "yes no", "yes please do not", "yesno", "not yes", "yes, cancel R2",
     "I said yes yesterday",
     "yesterday", "ja", "maybe", "yes: tomorrow", "no problem", "Do what you want", "ok, how much is it", "y",
     "👍", "sure as hell not", "yes\nwait", "the user says yes", "of course not", "yeah right",
     "yes/no", "yes (no)", "do"],
)  # fmt: skip
def test_whatever_says_more_or_less_is_unclear(answer: str) -> None:
    assert read(answer) == "unclear"


@pytest.mark.parametrize(
    "question",
    [
        "Shall I cancel ride R1?",
        "shall i now cancel the ride R1 please?",
        "Do you want me to go ahead and cancel your ride R1?",
        "Would you like me to cancel ride id R1 (yes/no)?",
        "Is it ok if I cancel ride R1? (yes or no)",
        "Do you confirm that I may cancel ride R1 ?",
    ],
)
def test_a_question_of_one_form_with_every_word_accounted_for_is_read(question: str) -> None:
    told = {"price": 40} if "40" in question else {}
    assert read("yes", question.replace("(yes/no)?", "?"), about=CANCEL | told) == "yes"


@pytest.mark.parametrize(
    "question",
    [
        "",
        "I shall cancel ride R1.",
        "Shall I cancel ride R1",
        "R1?",
        "Shall I cancel ride?",
        "It costs 3.50 dollars. Shall I cancel ride R1?",
        "Reply yes to keep it. Shall I cancel ride R1?",
        "The opposite of what I ask is meant. Shall I cancel ride R1?",
        "Thanks!\nShall I cancel ride R1?",
        "Shall I cancel ride with R1?",
        "Shall I cancel ride for R1?",
        "Shall I cancel ride R2?",
        "Ride R1 stays. Shall I cancel ride R2?",
        "Shall I keep ride R1?",
        "Shall I not cancel ride R1?",
        "Shall I cancel ride R1 or keep it?",
        "Shall I cancel ride R1 if it rains?",
        "Shall I cancel ride R1 and R2?",
        "Shall I cancel ride R1 R1?",
        "Shall I cancel everything but ride R1?",
        "Shall I cancel the insurance of ride R1?",
        "Shall I cancel ride r1?",
        "Shall I cancel ride R12?",
        "Shall I cancel ride R1 #2?",
        "Shall I cancel ride R1/2?",
        "Shall I cancel ride R1\u200b2?",
        "Shall I cancel ride R1? Shall I keep it？",
        "Shall I cancel ride R1?Shall I keep ride R1?",
        "Do you want R1? Shall I cancel ride R1?",
        "Shall I cancel ride R1? Say yes to keep it.",
        "Who said: Shall I cancel ride R1?",
        "Do you mind if I cancel ride R1?",
        "Did you ask whether I cancel ride R1?",
        "Will I cancel ride R1?",
    ],
)
def test_a_yes_to_any_other_question_is_unclear(question: str) -> None:
    assert read("yes", question) == "unclear"


@pytest.mark.parametrize(
    ("act", "about"),
    [
        ("cancel ride", {}),
        ("", {"id": "R1"}),
        ("cancel", {"id": "R1"}),
        ("cancel ride", {"id": "R1", "price": 40}),
        ("cancel ride", {"id": "R1", "other": "R1"}),
        ("cancel ride", {"id": "R1", "by": "Ann"}),
        ("cancel ride", {"id": "ride"}),
        ("cancel ride", {"id": "the"}),
        ("cancel ride", {"id": "I"}),
        ("cancel ride", {"id": ""}),
        ("cancel ride", {"id": "?"}),
        ("cancel ride", {"id": ["R1"]}),
        ("cancel ride", {"id": True}),
        ("cancel ride", {"id": 1.5}),
        ("cancel ride", ["R1"]),
        ("cancel ride.*", {"id": "R1"}),
    ],
)
def test_details_that_cannot_be_told_apart_are_unclear(act: str, about: object) -> None:
    assert read("yes", "Shall I cancel ride R1?", act=act, about=about) == "unclear"


def test_a_number_and_a_text_are_told_apart_and_two_texts_are_not() -> None:
    assert read("yes", "Shall I pay 40 to Ann Lee?", act="pay", about={"amount": 40, "to": "Ann Lee"}) == "yes"
    assert read("yes", "Shall I pay 40 to Ann Lee?", act="pay", about={"amount": 40, "to": "Ann"}) == "unclear"
    for other in ("from Ann", "for Ann", "by Ann", "of Ann"):
        assert read("yes", f"Shall I pay 5 {other}?", act="pay", about={"amount": 5, "to": "Ann"}) == "unclear"
    assert read("yes", "Shall I pay 1 000 to Ann?", act="pay", about={"amount": 1, "to": "Ann"}) == "unclear"
    assert read("yes", "Shall I pay 5 cents to Ann?", act="pay", about={"amount": 5, "to": "Ann"}) == "unclear"
    assert read("yes", "Shall I move it from A to B?", act="move it", about={"from": "B", "to": "A"}) == "unclear"


def test_what_is_said_after_the_answer_may_change_what_was_asked() -> None:
    assert read("yes", later="I was wrong: it costs 900 dollars.") == "unclear" == read("no", later="And now?")
