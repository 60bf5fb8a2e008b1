"""A model's own replies for τ-bench's airline policy, read again and executed on the recorded calls: in a first
pass none of the labels' rules could be said in the form that the prompt then gave, so that no violating call is denied,
and no other one either; in a second pass they could."""

from __future__ import annotations

from collections import Counter

import pytest
from bench import read_airline, tau_replies, written
from conftest import shared

from wb.domain.policy import Clause
from wb.guards.runtime import CallGuard
from wb.rules import extract, sentences, shapes
from wb.rules.rule import RuleDraft

shared("data")
BOOKING = {
    "user_id": "a",
    "origin": "SFO",
    "destination": "JFK",
    "flight_type": "one_way",
    "cabin": "economy",
    "flights": [{"flight_number": "HAT001", "date": "2024-05-20"}],
    "payment_methods": [],
    "total_baggages": 0,
    "nonfree_baggages": 0,
    "insurance": "no",
}
PERSON = {"first_name": "A", "last_name": "B", "dob": "1990-01-01"}
UNDECIDED = {(True, "undecided"): 23, (False, "undecided"): 47}


def outcomes(judge: CallGuard) -> Counter[tuple[bool, str]]:
    return Counter((row.denied, row.outcome) for row in read_airline.judged(judge))


@pytest.mark.parametrize("folder", tau_replies.PASSES)
def test_the_replies_hold_no_sentence_of_the_document(folder: str) -> None:
    kept = " ".join((tau_replies.FIXTURES / folder / "replies.jsonl").read_text("utf-8").split())
    long = [s.text for s in tau_replies.read().source.sentences if len(s.text) > 60]
    assert len(long) > 30 and not [text for text in long if text in kept]


def test_every_statement_finds_its_reply_some_no_later_one_and_one_sentence_becomes_a_rule_by_itself() -> None:
    one = tau_replies.read()
    unasked = {u.clause: u.reason.split(":")[0] for u in one.written.undecided if "nobody was asked" in u.reason}
    assert not [u for u in one.written.undecided if "no reply" in u.reason]
    # the checks find faults with c6, c11 and c34 that they did not find, or say them in other words than when the
    # replies were written; of the others a slip of form was mended, and now what they leave out is asked as well
    assert {name for name, why in unasked.items() if why == "no second reply"} == {"c6", "c11", "c34"}
    third = {name for name, why in unasked.items() if why == "no third reply"}
    assert third == {"c7", "c13", "c14", "c16", "c17", "c20", "c21", "c29"} and len(unasked) == 11
    assert (len(one.clauses), len(one.written.rules), len(one.kept.rules)) == (39, 80, 16)
    assert sentences.counted(one.accounts) == {"rule": 1, "open": 46, "not a constraint": 20, "duty": 0, "waived": 0}
    assert [a.text.split()[-1] for a in one.accounts if a.cls == "rule"] == ["passengers."]
    assert written.drafted(one).lines == ()


def test_executed_as_written_the_rules_deny_a_sixth_passenger_and_none_of_the_labelled_calls() -> None:
    judge = tau_replies.guard(tau_replies.read(), whole=True)
    told = [judge.session().call("book_reservation", {**BOOKING, "passengers": [PERSON] * many}) for many in (5, 6)]
    assert [(one.decision, one.violated) for one in told] == [("undecided", ()), ("deny", ("c10.1",))]
    assert outcomes(judge) == outcomes(tau_replies.guard(tau_replies.read())) == UNDECIDED


def test_a_person_who_accepts_every_right_reading_has_three_rules() -> None:
    now = tau_replies.chosen(seconds=0.3)
    held = {(r.clause, r.formula) for r in now.kept.rules}
    assert sentences.counted(now.accounts)["rule"] == 3 and len(held) == len(now.kept.rules) == 67
    assert {a.text.split()[-1] for a in now.accounts if a.cls == "rule"} == {"passengers.", "bags."}
    told = tau_replies.guard(now).session().call("book_reservation", {**BOOKING, "passengers": [PERSON] * 6})
    assert told.decision == "deny"


SECOND = tau_replies.PASSES[1]
RIGHTLY = {(True, "deny rightly"): 15, (True, "deny otherwise"): 2, (True, "undecided"): 6}


def test_of_a_second_pass_all_first_questions_have_replies_and_one_sentence_becomes_a_rule_by_itself() -> None:
    one = tau_replies.read(SECOND)
    later = {u.clause: u.reason.split(":")[0] for u in one.written.undecided if "nobody was asked" in u.reason}
    assert later == dict.fromkeys(("c6", "c12"), "no second reply")  # the checks say their faults in other words now
    assert not [u for u in one.written.undecided if "no reply" in u.reason and u.clause not in later]
    assert (len(one.clauses), len(one.written.rules), len(one.kept.rules)) == (38, 75, 4)
    assert sentences.counted(one.accounts) == {"rule": 1, "open": 46, "not a constraint": 20, "duty": 0, "waived": 0}
    assert outcomes(tau_replies.guard(one)) == UNDECIDED
    assert sum("no sentence is read into this form" in a.reason for a in one.accounts if a.cls == "open") == 16


def test_executed_as_written_the_second_pass_denies_fifteen_for_the_right_rule_and_wrongly_for_want_of_a_yes() -> None:
    one = tau_replies.read(SECOND)
    said = tau_replies.saying(one, one.written)
    rows = list(read_airline.judged(tau_replies.guard(one, whole=True), said))
    found = Counter((row.denied, row.outcome) for row in rows)
    assert found == {**RIGHTLY, (False, "deny"): 18, (False, "undecided"): 29}
    wrong = {rule for row in rows if row.outcome == "deny" for rule in row.verdict.violated}
    assert {said[rule][0] for rule in wrong} == {read_airline.CONSENT}  # which the labels leave out
    rest = tau_replies.unasked(one)
    rows = list(read_airline.judged(tau_replies.guard(rest, whole=True), tau_replies.saying(rest, rest.written)))
    found = Counter((row.denied, row.outcome) for row in rows)
    assert found == {(True, "deny rightly"): 15, (True, "undecided"): 8, (False, "undecided"): 47}


def test_a_person_who_accepts_with_one_word_has_what_the_draft_offers_in_force() -> None:
    now = tau_replies.chosen(folder=SECOND, seconds=0.3)
    assert sentences.counted(now.accounts)["rule"] == 17  # five more were chosen, which the draft does not offer
    rows = list(read_airline.judged(tau_replies.guard(now), tau_replies.saying(now, now.kept)))
    found = Counter((row.denied, row.outcome) for row in rows)
    violating = {(True, "deny rightly"): 10, (True, "deny otherwise"): 4, (True, "undecided"): 9}
    assert found == {**violating, (False, "deny"): 18, (False, "undecided"): 29}


def test_every_rule_that_the_reviewer_wrote_can_now_be_said_in_a_reply_and_most_wait_for_a_person() -> None:
    box, wide = tau_replies.read().source.toolbox, []
    for row in (one for one in read_airline.reviewed() if one.get("rules")):
        said = [{"name": name, **one} for name, one in row["predicates"].items()]
        for rule in row["rules"]:
            reply = extract.RuleReply.model_validate({"text": "", "predicates": said, **rule})
            draft = extract._draft(Clause("c1", row["text"], 0, 1), reply, box)
            assert isinstance(draft, RuleDraft), draft
            wide.append(shapes.wider(draft.predicates))
    assert Counter(wide) == {True: 28, False: 2}
