"""A model's own replies for two documents, read again and executed on the gold's calls: how much of them is left."""

from __future__ import annotations

from collections import Counter

import pytest
from bench import gold, written
from conftest import shared

from wb.rules import sentences

shared("data", "policies")
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


@pytest.mark.parametrize("name", written.DOCUMENTS)
def test_the_replies_hold_no_sentence_of_the_document(name: str) -> None:
    kept = " ".join(written.file(name, "replies.jsonl").read_text("utf-8").split())
    source = written.read(name).source
    long = [words for s in source.sentences if len(s.text) > 60 for words in (s.text, s.said)]
    assert len(long) > 60 and not [text for text in long if " ".join(text.split()) in kept]


def test_every_statement_finds_the_reply_that_was_written_for_it() -> None:
    one = written.read("retail")
    assert len(one.clauses) == 34
    unasked = {u.clause: u.reason.split(":")[0] for u in one.written.undecided if "nobody was asked" in u.reason}
    assert not [u for u in one.written.undecided if "no reply" in u.reason]
    assert unasked == {
        "c7": "no third reply",  # a slip of form was mended, and now what it leaves out is asked
        "c17": "no second reply",  # the checks find other faults with them than when the replies were written
    }


def test_the_rules_as_they_were_written_are_mostly_right_and_none_is_inverted() -> None:
    one = written.read("retail")
    came = written.judged(one, one.written)
    assert {name: what for name, what in came.items() if what != "right"} == {
        "R06.1": "deny / undecided",  # a second rule of its sentence has no field
        "R21.2": "deny / deny",  # of the same order: the form of a reply has no objects
        "R24.1": "deny / undecided",  # the sentence says more than the gold: another option, which has no field
        "R33.1": "deny / undecided",
    }
    assert len(came) == 35


def test_most_of_the_shops_rules_are_bound_to_their_tools_and_fields_as_written() -> None:
    one = written.read("retail")
    assert Counter(gold.bound(one, one.written).values()) == {"rightly": 29, "not": 5}
    assert Counter(gold.bound(one, one.kept).values()) == {"rightly": 16, "not": 18}


def test_of_the_rules_that_stay_none_is_inverted_and_few_are_left() -> None:
    one = written.read("retail")
    assert sentences.counted(one.accounts) == {
        "rule": 12,
        "open": 32,
        "not a constraint": 15,
        "duty": 0,
        "waived": 0,
    }
    came = written.judged(one, one.kept)
    assert {name for name, what in came.items() if what == "right"} == IN_FORCE
    assert Counter(came.values()) == {"right": 16, "absent": 19}


def test_no_violating_call_is_allowed_and_each_rule_in_force_denies_its_own() -> None:
    said = gold.decided(written.read("retail"))
    assert len(said) == 70 and {said[f"{name}-violating"] for name in IN_FORCE} == {"deny"}
    assert Counter(said.values()) == {"undecided": 52, "deny": 18}
    assert not [run for run, what in said.items() if what == "deny" and run.endswith("-complying")]


def test_words_are_offered_for_no_sentence_where_no_words_alone_are_missing() -> None:
    one = written.read("retail")
    draft = written.drafted(one)
    assert (draft.lines, draft.brought) == ((), ()) and written.chosen("retail", "words").kept == one.kept


def test_with_all_that_a_person_decided_every_violating_call_is_denied_and_almost_every_other_allowed() -> None:
    now = written.chosen("retail", "words", "accept", "edit", "waive", seconds=0.5)
    came = written.judged(now, now.kept)
    assert Counter(came.values()) == {"right": 35} and sentences.counted(now.accounts)["open"] == 0
    assert gold.in_force(now) == {
        ("violating", "deny"): 35,
        ("complying", "allow"): 34,
        ("complying", "undecided"): 1,
    }


def test_of_the_handbook_every_statement_finds_its_reply_and_no_sentence_becomes_a_rule_by_itself() -> None:
    one = written.read("handbook")
    assert (len(one.clauses), len(one.written.rules), len(one.kept.rules)) == (79, 48, 3)
    assert not [u for u in one.written.undecided if "nobody was asked" in u.reason or "no reply" in u.reason]
    assert sentences.counted(one.accounts) == {"rule": 0, "open": 120, "not a constraint": 74, "duty": 0, "waived": 0}
    assert gold.lost(one) == () and written.drafted(one).lines == ()
    assert gold.in_force(one) == {("violating", "undecided"): 10, ("complying", "undecided"): 10}


def test_of_the_handbooks_rules_as_they_were_written_none_is_inverted_and_those_bound_are_right() -> None:
    one = written.read("handbook")
    rows = gold.judge(one, one.written)
    assert Counter((row.by, row.verdict) for row in rows) == {
        ("calls", "right"): 6,
        ("calls", "misread"): 1,  # nobody lets another into an account: the gold lets a manager approve it
        ("form", "right"): 10,
        ("form", "misread"): 31,
    }
    assert gold.bound(one, one.written) == {
        "H06.1": "not",  # the gold itself names no tool, nor of the two that follow
        "H06.2": "not",
        "H07.1": "not",  # no rule was written: what is sensitive is left to judgement
        "H13.1": "not",  # of a mail no field says whether it is confidential or leaves
        "H14.2": "rightly",
        "H19.1": "rightly",
        "H29.1": "not",  # no field says to what a service gives access
        "H31.1": "rightly",
        "H39.1": "wrongly",  # beside its field also where the codes go, which the sentence says and the gold does not
        "H68.1": "rightly",
    }
    assert written.judged(one, one.written) == {
        "H06.1": "allow / allow",
        "H06.2": "allow / allow",
        "H07.1": "absent",
        "H13.1": "right",
        "H14.2": "deny / deny",
        "H19.1": "right",
        "H29.1": "undecided / allow",
        "H31.1": "right",
        "H39.1": "right",
        "H68.1": "right",
    }


def test_with_what_a_person_accepts_of_the_handbook_seven_of_ten_are_denied_and_nothing_is_allowed_meanwhile() -> None:
    now = written.chosen("handbook", "words", "accept")
    assert sentences.counted(now.accounts) == {"rule": 4, "open": 116, "not a constraint": 74, "duty": 0, "waived": 0}
    said = gold.decided(now)
    denied = {"H07.1", "H13.1", "H19.1", "H29.1", "H31.1", "H39.1", "H68.1"}  # two by the rule of another sentence
    assert {run for run, what in said.items() if what == "deny"} == {f"{one}-violating" for one in denied}
    assert Counter(said.values()) == {"deny": 7, "undecided": 13}
    assert {one for one, what in gold.bound(now, now.kept).items() if what == "rightly"} == {"H19.1", "H31.1", "H68.1"}
