"""The questions that are to be decided of a policy, and the list of what was decided."""

import json
from dataclasses import replace

import pytest

from wb.domain import policy
from wb.domain.tools import Field, Tool, Toolbox
from wb.domain.trace import Verdict
from wb.guards import scenes, synthesis, toolguard
from wb.guards.contract import contracts
from wb.logic.syntax import parse
from wb.offline import reader
from wb.rules import check, decisions, questions, requirements, sentences
from wb.rules.rule import Predicate, Rule, RuleSet
from wb.runs import report, show

BOX = Toolbox((Tool("pay_invoice"), Tool("send_letter")), (Field("approved", "boolean"),))
SOURCE = policy.of_text("Never pay by moonlight. You must never send a letter. This page is old.", BOX)
READ = sentences.classify(SOURCE, reader.extracted(SOURCE))
PAY, SEND, OLD = READ.accounts
RULES = (
    ("forbid", "ALWAYS NOT pays"),
    ("forbid", "ALWAYS (known IMPLIES pays)"),
    ("oblige", "ALWAYS (known IMPLIES pays)"),
)


def suspected(*numbers: int) -> tuple[check.Suspected, ...]:
    """What `check` suspects of some of these rules."""
    pays, known = Predicate("pays", "action", "", tools=("pay_invoice",)), Predicate("known", "state", "")
    rules = tuple(
        Rule(f"r{n}", f"Sentence {n}.", parse(text), force, "action", f"s{n}", f"Sentence {n}.")
        for n, (force, text) in enumerate(RULES)
        if n in numbers
    )
    ruleset = RuleSet((pays, known), rules).without_unused()
    return check.suspected(check.check(ruleset), ruleset)


def test_every_open_sentence_is_asked_about_and_no_other() -> None:
    asked = questions.of_sentences(READ.accounts)
    assert [one.sentence for one in asked] == [one.id for one in READ.accounts if one.cls == "open"] == [PAY.id]
    assert asked[0].asks == PAY.reason and asked[0].kind == "presupposition" and PAY.unknown


@pytest.mark.parametrize(
    ("account", "kind", "run"),
    [
        (replace(PAY, unknown=False), "ambiguity", ()),
        (replace(PAY, apart=("pay_invoice is called",)), "ambiguity", ("pay_invoice is called",)),
        (PAY, "presupposition", ()),
        (replace(PAY, cls="waived"), None, ()),
    ],
)
def test_why_a_sentence_is_open_says_the_kind(account: sentences.Account, kind: str | None, run: tuple) -> None:
    asked = questions.of_sentences([account])
    assert [(one.kind, one.run) for one in asked] == ([(kind, run)] if kind else [])


def test_a_rule_that_says_the_opposite_of_its_sentence_is_a_logic_error_with_a_run() -> None:
    (found,) = suspected(1)
    assert found.kind == "logic error" and found.run and "forbids none" in found.reason
    account = replace(PAY, rules=("r1",))
    (asked,) = questions.of_sentences([account], [found])
    assert (asked.kind, asked.run) == ("logic error", found.run)
    assert questions.of_sentences([replace(SEND, rules=("r1",))], [found]) == (), "a person decided it, or nobody asks"


def test_rules_that_cannot_be_kept_together_are_a_contradiction_of_each() -> None:
    found = suspected(0, 2)
    assert {(one.rule, one.kind) for one in found} == {("r0", "contradiction"), ("r2", "contradiction")}
    assert check.questions(found) == {one.rule: one.reason for one in found}
    assert suspected(0) == ()


def test_an_example_against_the_rules_is_a_counterexample_and_a_dispute_a_contradiction() -> None:
    scene = scenes.Scene("send_letter", "i", "never send a letter", "allow", {"state": {"approved": True}, "now": ""})
    tried = [scenes.Tried(scene, Verdict("deny", "no"), fate) for fate in ("disagrees", "agrees", "unknown", "open")]
    (required,) = (one for one in contracts(BOX, READ.ruleset) if one.tool == "send_letter")
    draft = synthesis.Draft(required, (synthesis.Attempt("x", dissent=(f"{synthesis.UNABLE} s1", "a test is wrong")),))
    asked = toolguard.questions(tried, [draft], READ.accounts)
    assert [one.kind for one in asked] == ["counter-example", "presupposition", "contradiction"]
    assert asked[0].sentence == SEND.id and asked[0].run == ('state: {"approved": true}',)
    assert toolguard.questions(tried[1:], [replace(draft, attempts=(synthesis.Attempt("x"),))], READ.accounts) == ()


def test_words_of_two_sentences_or_of_none_name_no_sentence() -> None:
    assert questions.sentence("must  never send", READ.accounts) == SEND.id
    assert questions.sentence("ever", READ.accounts) == questions.sentence("elsewhere", READ.accounts) == ""
    assert questions.sentence(" ", [SEND]) == ""


def test_after_a_refinement_what_is_settled_is_gone_and_what_came_up_is_there() -> None:
    asked = questions.of_sentences(READ.accounts)
    settled, lost = replace(PAY, cls="rule"), replace(SEND, cls="open", reason="none of its rules is left")
    assert [one.sentence for one in questions.standing(asked, [settled, lost, OLD])] == [SEND.id]
    assert questions.standing(asked, READ.accounts) == asked


def test_requirements_are_what_was_decided_with_why_and_nothing_open() -> None:
    row = f'decisions:\n  - {{id: "{PAY.id}", text: "{PAY.text}", decision: waive, why: no moon here}}\n'
    after = sentences.classify(SOURCE, reader.extracted(SOURCE), decisions.loads(row, SOURCE))
    first, second = requirements.requirements(after.accounts, after.ruleset)
    assert (first.decision, first.by, first.why, first.requirements) == ("waived", "person", "no moon here", ())
    assert second.decision == "rule" and "send_letter" in second.requirements[0]
    assert [one.text for one in requirements.requirements(READ.accounts, READ.ruleset)] == [SEND.text]


def test_both_lists_come_back_from_their_files_and_are_shown() -> None:
    asked = (
        *questions.of_sentences(READ.accounts),
        questions.Question("", "<b>", "contradiction", "x", ("t",), ("a",)),
    )
    decided = requirements.requirements(READ.accounts, READ.ruleset)
    assert questions.from_json(json.loads(json.dumps(questions.to_json(asked)))) == asked
    assert requirements.from_json(json.loads(json.dumps(requirements.to_json(decided)))) == decided
    run = report.Outcome(questions=show.questions(asked), requirements=show.requirements(decided))
    page = str(report.macros().section("r", run, show.table(()), ""))
    assert "What has to be decided" in page and PAY.text in page and "&lt;b&gt;" in page and "<b>&lt;" not in page
    assert "What has to be decided" not in str(report.macros().section("r", report.Outcome(), show.table(()), ""))
