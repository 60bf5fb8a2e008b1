"""A model's own replies for a retail policy, read again and executed on the gold's calls: how much of them is left."""

from __future__ import annotations

from collections import Counter

from bench import written
from conftest import shared

from wb.rules import sentences

shared("data", "policies", "retail")
IN_FORCE = {
    "R10.1",
    "R15.1",
    "R15.2",
    "R17.1",
    "R17.2",
    "R23.1",
    "R27.1",
    "R36.1",
    "R26.1",
    "R28.1",
    "R28.2",
    "R29.1",
    "R31.1",
    "R31.2",
    "R32.1",
    "R35.1",
}


def test_the_replies_hold_no_sentence_of_the_document() -> None:
    kept = " ".join(written.FILE.read_text("utf-8").split())
    long = [s.text for s in written.read().source.sentences if len(s.text) > 60]
    assert len(long) > 30 and not [text for text in long if " ".join(text.split()) in kept]


def test_every_statement_finds_the_reply_that_was_written_for_it() -> None:
    one = written.read()
    assert len(one.clauses) == 34
    unasked = {u.clause: u.reason.split(":")[0] for u in one.written.undecided if "nobody was asked" in u.reason}
    assert not [u for u in one.written.undecided if "no reply" in u.reason]
    assert unasked == {
        "c7": "no third reply",  # a slip of form was mended, and now what it leaves out is asked
        "c17": "no second reply",  # the checks find other faults with them than when the replies were written
    }


def test_the_rules_as_they_were_written_are_mostly_right_and_none_is_inverted() -> None:
    came = written.judged(written.read().written)
    assert {name: what for name, what in came.items() if what != "right"} == {
        "R06.1": "deny / undecided",  # a second rule of its sentence has no field
        "R21.2": "deny / deny",  # of the same order: the form of a reply has no objects
        "R24.1": "deny / undecided",  # the sentence says more than the gold: another option, which has no field
        "R33.1": "deny / undecided",
    }
    assert len(came) == 35


def test_of_the_rules_that_stay_none_is_inverted_and_few_are_left() -> None:
    one = written.read()
    assert sentences.counted(one.accounts) == {
        "rule": 12,
        "open": 32,
        "not a constraint": 15,
        "duty": 0,
        "waived": 0,
    }
    came = written.judged(one.kept)
    assert {name for name, what in came.items() if what == "right"} == IN_FORCE
    assert Counter(came.values()) == {"right": 16, "absent": 19}


def test_no_violating_call_is_allowed_and_each_rule_in_force_denies_its_own() -> None:
    said = written.in_force(written.read())
    assert len(said) == 70 and {said[f"{name}-violating"] for name in IN_FORCE} == {"deny"}
    assert Counter(said.values()) == {"undecided": 52, "deny": 18}
    assert not [run for run, what in said.items() if what == "deny" and run.endswith("-complying")]


def test_words_are_offered_for_no_sentence_where_no_words_alone_are_missing() -> None:
    draft = written.offered_words()
    assert (draft.lines, draft.brought) == ((), ()) and written.chosen("words").kept == written.read().kept


def test_with_all_that_a_person_decided_every_violating_call_is_denied_and_almost_every_other_allowed() -> None:
    now = written.chosen("words", "accept", "edit", "waive", seconds=0.5)
    came = written.judged(now.kept, now.accounts)
    assert Counter(came.values()) == {"right": 35} and sentences.counted(now.accounts)["open"] == 0
    said = written.in_force(now)
    assert Counter((run.rpartition("-")[2], what) for run, what in said.items()) == {
        ("violating", "deny"): 35,
        ("complying", "allow"): 34,
        ("complying", "undecided"): 1,
    }
