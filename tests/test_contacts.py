"""What blind readers made of documents at first contact, replayed: what is in force, denied and allowed stays so."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from bench import airline_readings, readings, wrong_readers
from conftest import shared

FOLDER = Path(readings.__file__).parents[1] / "fixtures" / "readings"
KEPT = ("right", "undecided", "too weak", "too strict", "inverted", "not in force")
CALLS = ("violating deny", "violating allow", "complying allow", "complying deny")


@pytest.mark.parametrize(
    ("name", "rules", "calls"),
    [
        ("carpentries-suspension", (26, 1, 1, 0, 0, 0), (65, 1, 73, 0)),
        ("rust-outoftree", (23, 0, 4, 2, 0, 1), (61, 3, 16, 6)),
        ("nara-rooms", (22, 5, 2, 1, 0, 0), (76, 0, 28, 1)),
    ],
)
def test_rules_that_nobody_decided_stand_as_at_first_contact(name: str, rules: tuple, calls: tuple) -> None:
    text = readings.text(FOLDER / name)
    found = readings.measure(text, readings.MODES[3], readings.answers(FOLDER / name / "answers.jsonl"))
    assert tuple(found.get(key, 0) for key in KEPT) == rules
    assert tuple(found.get(key, 0) for key in CALLS) == calls


def test_two_decisions_of_a_person_allow_most_of_what_two_open_sentences_held() -> None:
    folder = FOLDER / "rust-outoftree"
    found = readings.measure(readings.text(folder), readings.MODES[-1], readings.answers(folder / "answers.jsonl"))
    assert found["complying allow"] == 65 and found["sentences"]["open"] == 0


def test_one_reader_that_is_wrong_puts_nothing_in_force_and_judges_see_most_shared_omissions() -> None:
    import random

    one = wrong_readers.read(FOLDER / "nara-rooms")
    wrong = wrong_readers.replies(one, random.Random(1), 60)
    assert sum(wrong.values()) == 60 and {kind for _, kind in wrong} == {"open"}
    assert set(wrong_readers.entries(one, random.Random(1), 30)) == {"disputed"}
    made, changed, numbers = wrong_readers.omitted(one, random.Random(1))
    assert len(changed) == 22 and numbers == {"not caught by the numbers": 22}
    assert wrong_readers.judged(one, made, changed) == {"wrong doubted": 22, "right passed": 21}


@pytest.mark.parametrize(
    ("trust", "calls"),
    [("agreed", (16, 6, 1, 18, 27, 2)), ("assumed", (16, 6, 1, 43, 2, 2)), ("person", (0, 23, 0, 0, 47, 0))],
)
def test_the_airline_is_read_without_a_rule_by_hand(trust: str, calls: tuple) -> None:
    shared("data")
    judge, accounts = airline_readings.guard(airline_readings.extracted(airline_readings.Mode("", 3, trust)))
    found = airline_readings.counted(tuple(airline_readings.judged(judge)))
    keys = ("violating deny", "violating undecided", "violating allow")
    keys += ("compliant allow", "compliant undecided", "compliant deny")
    assert tuple(found.get(key, 0) for key in keys) == calls
    assert trust == "person" or Counter(one.cls for one in accounts)["open"] == 1
