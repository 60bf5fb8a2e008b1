"""The first source of a guard: blind to the contract, held against it, and open until somebody else decides."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from wb.domain import policy as documents
from wb.domain.policy import Clause
from wb.domain.tools import parse
from wb.guards import contract, evidence, reading, runtime, synthesis, toolguard
from wb.logic import cel, semantics
from wb.logic.formula import Always, And, Implies, Not
from wb.models.client import LLM
from wb.models.endpoint import Reply
from wb.models.ledger import ModelError, Usage
from wb.models.prompt import Prompt
from wb.offline import engine
from wb.rules import items, rule, rulefile, sentences
from wb.rules.rule import Predicate, Rule, RuleSet
from wb.rules.sentences import Account

ROPE, BELAY, MEMBERS = (
    "Do not rent out a rope if the length is more than 60.",
    "Rent out a rope only after the belay test.",
    "You must not rent a rope to somebody who is not a member.",
)
TEXT = " ".join((ROPE, BELAY, MEMBERS))


def fields(**of: str) -> dict[str, object]:
    return {name: {"type": kind, "description": f"the {name}"} for name, kind in of.items()}


RENT = fields(length="integer", colour="string", guests="array", weight="number")
CLIMBER = {"name": "climber", "type": "object", "properties": fields(age="integer")}
BOX = parse(
    json.dumps(
        {
            "tools": [
                {"name": "rent_rope", "parameters": {"type": "object", "properties": RENT}},
                {
                    "name": "test_belay",
                    "description": "Do the belay test.",
                    "parameters": {"type": "object", "properties": fields(points="integer")},
                },
            ],
            "state": [{"name": "member", "type": "boolean"}, {"name": "colour", "type": "string"}, CLIMBER],
        }
    )
)
SOURCE = documents.of_text(TEXT, BOX)
PREDICATES = (
    Predicate("rents", "action", "", tools=("rent_rope",)),
    Predicate("tested", "action", "", tools=("test_belay",)),
    Predicate("long", "state", "", tools=("rent_rope",), test=cel.parse("call.length > 60")),
    Predicate("heavy", "state", "", tools=("rent_rope",), test=cel.parse("call.weight > 9")),
    Predicate("young", "state", "", test=cel.parse("state.climber.age < 18")),
    Predicate("crowd", "state", "", tools=("rent_rope",), test=cel.parse("size(call.guests) > 4")),
    Predicate("joined", "state", "", test=cel.parse("state.member")),
    Predicate("well", "state", "", tools=("test_belay",), test=cel.parse("call.points > 9")),
    Predicate("odd", "state", "", tools=("rent_rope",), test=cel.parse("call.guests.exists(g, g == 'x')")),
)
FORMULAS = {
    "right": "ALWAYS (rents IMPLIES NOT long)",
    "reversed": "ALWAYS (rents IMPLIES long)",
    "belay": "ALWAYS (rents IMPLIES ONCE tested)",
    "heavy": "ALWAYS (rents IMPLIES NOT heavy)",
    "young": "ALWAYS (rents IMPLIES NOT young)",
    "crowd": "ALWAYS (rents IMPLIES NOT crowd)",
    "members": "ALWAYS (rents IMPLIES joined)",
    "strangers": "ALWAYS (rents IMPLIES NOT joined)",
    "odd": "ALWAYS (rents IMPLIES NOT odd)",
    "passed": "ALWAYS (rents IMPLIES ONCE well)",
}
SAYS = {
    "right": "if length > 60:",
    "belay": "if not called_test_belay:",
    "heavy": "if weight > 9:",
    "young": "if climber_age < 18:",
    "crowd": "if count_guests > 4:",
}


def account(text: str, cls: str = "rule", grade: str = "agreed 2 of 2") -> Account:
    at = TEXT.index(text)
    name = {ROPE: "c1", BELAY: "c2", MEMBERS: "c1"}[text]
    return Account(
        name, text, at, at + len(text), (), cls, "", ("r",) if cls == "rule" else (), ("rent_rope",), "", grade
    )


class Author:
    """An engine that answers with these bodies in turn, or as the offline engine does; it stands for any author."""

    def __init__(self, *bodies: str | None, name: str = "author", **more: object) -> None:
        self.bodies, self.name, self.more, self.asked = list(bodies), name, more, []

    def answer(self, prompt: Prompt, inputs: Mapping[str, object], schema: dict) -> Reply:
        prompt.render(**inputs)
        self.asked.append((prompt.name, inputs))
        if not self.bodies:
            value = engine.repair(inputs) if prompt.name == "repair_guard" else engine.write(inputs, BOX)
        elif (body := self.bodies.pop(0)) is None:
            raise ModelError("no reply came")
        else:
            code = body if body.startswith("def") else f"{inputs['signature']}\n    {body}\n"
            value = {"code": code, "uncovered": [], **self.more}
        return Reply(value, Usage(), None, self.name)


def body(condition: str) -> str:
    return f"{condition}\n        return (False, 'c1')\n    return (True, 'allowed')"


def ruleset(name: str) -> RuleSet:
    formula = semantics.parse(FORMULAS[name])
    return RuleSet(PREDICATES, (Rule("r", ROPE, formula, "forbid", clause="c1", quote=ROPE),)).without_unused()


def first(name: str, *authors: Author, grade: str = "agreed 2 of 2", **given: object) -> tuple:
    """The draft of the tool and its readings, under one rule, which is read from the sentence about ropes."""
    rules = ruleset(name)
    required = contract.contracts(BOX, rules)[:1]
    told = {"rent_rope": (Clause("c1", ROPE, 0, len(ROPE)),)}
    more = {"mapped": (), "accounts": [account(ROPE, grade=grade)], "clauses": told["rent_rope"]} | given
    (draft,), found = reading.first(required, told, [LLM(one, workers=1) for one in authors], SOURCE, rules, **more)
    return draft, found


def settled(draft: synthesis.Draft, author: Author) -> synthesis.Draft:
    told = {"rent_rope": (Clause("c1", ROPE, 0, len(ROPE)),)}
    return synthesis.synthesise([draft], synthesis.reviser(told, LLM(author)))[0]


def test_a_reversed_contract_stays_a_finding_although_the_guard_was_turned_round() -> None:
    author = Author(body(SAYS["right"]), body("if length <= 60:"))
    draft, ((read,),) = first("reversed", author)
    assert (read.state, read.compared, read.independent) == ("differs", ("r",), True)
    values = dict(read.arguments)
    assert set(values) == {"length"} and read.allowed is (values["length"] <= 60), "values on which both part"
    turned = settled(draft, author)
    assert turned.passed == ("language", "tests", "branches") and "length <= 60" in turned.source, (
        "the repair fits the contract"
    )
    guard = synthesis.guarded(replace(turned, passed=(*turned.passed, synthesis.PROOF)))
    assert guard.grade == "tested" and guard.reason.startswith(runtime.UNSETTLED)
    assert f"length={values['length']}" in guard.reason and "differs on 1" in guard.second
    rows = toolguard.to_rows([turned], ruleset("reversed"), {})
    (kept,) = toolguard.drafts(rows, [turned.contract])
    assert kept.findings == turned.findings and kept.second == turned.second, "the next stage knows it too"


def test_a_right_contract_is_no_finding_and_the_first_source_is_the_guard() -> None:
    author = Author(body(SAYS["right"]))
    draft, ((read,),) = first("right", author)
    assert read.state == "agrees" and draft.findings == () and draft.second == "a second reading agrees on 1 of 1 items"
    assert [name for name, _ in author.asked] == ["write_source"]
    assert draft.source.startswith("def policy_rent_rope(length: int) -> ") and "if length > 60" in draft.source
    assert settled(draft, author).complaints == ()


def test_its_author_sees_all_that_is_declared_and_nothing_of_the_contract() -> None:
    shown = []
    for name in FORMULAS:
        author = Author(body(SAYS["right"]))
        first(name, author)
        shown.append(json.dumps(author.asked[0]))
    assert len(set(shown)) == 1, "the same for every contract"
    assert "climber_age" in shown[0] and "count_guests" in shown[0] and "called_test_belay" in shown[0]
    assert not any(word in shown[0] for word in ("Ensures", "IMPLIES", "odd", "length <"))


@pytest.mark.parametrize("name", SAYS)
def test_each_kind_of_declared_value_is_compared_and_a_wrong_source_is_told(name: str) -> None:
    (right,) = first(name, Author(body(SAYS[name])))[1][0]
    assert right.state == ("not compared" if name == "heavy" else "agrees")
    for wrong in (body(SAYS[name].replace("if ", "if not (").replace(":", "):")), "return (True, 'allowed')"):
        draft, ((read,),) = first(name, Author(wrong, wrong))
        assert read.state == "differs" and draft.findings, wrong
    strict = body("if member:")
    assert first(name, Author(strict, strict))[1][0][0].state == "differs"


def test_an_edge_that_is_off_by_one_is_told_with_the_edge() -> None:
    (read,) = first("right", Author(body("if length >= 60:")))[1][0]
    assert (dict(read.arguments), read.allowed) == ({"length": 60}, False)


@pytest.mark.parametrize(
    ("author", "why"),
    [
        (Author(body(SAYS["right"])), "which nothing declares"),
        (Author(body(SAYS["right"]), uncovered=["c1"]), "cannot express c1"),
    ],
)
def test_what_cannot_be_expressed_is_not_compared_and_no_agreement(author: Author, why: str) -> None:
    draft, ((read,),) = first("odd", author)
    assert read.state == "not compared" and (why in read.reason or read.uncovered) and not draft.findings
    assert draft.second == "a second reading agrees on 0 of 1 items"
    assert [name for name, _ in author.asked] == ["write_source", "write_guard"], "its author is told the words now"


def test_an_item_of_which_one_rule_cannot_be_compared_agrees_with_nothing() -> None:
    """Two rules of one sentence, of which nothing declares what one reads: the other one alone is no agreement."""
    both = [
        Rule(name, ROPE, semantics.parse(FORMULAS[of]), "forbid", clause="c1", quote=ROPE)
        for name, of in (("r", "right"), ("r_odd", "odd"))
    ]
    rules = RuleSet(PREDICATES, tuple(both)).without_unused()
    told, required = {"rent_rope": (Clause("c1", ROPE, 0, len(ROPE)),)}, contract.contracts(BOX, rules)[:1]
    read = replace(account(ROPE), rules=("r", "r_odd"))
    author = LLM(Author(body(SAYS["right"]), body(SAYS["right"])), workers=1)
    more = {"mapped": (), "accounts": [read], "clauses": told["rent_rope"]}
    (draft,), found = reading.first(required, told, [author], SOURCE, rules, **more)
    ((row,),) = found
    assert (row.state, row.compared) == ("not compared", ("r",)) and "which nothing declares" in row.reason
    assert reading.compared(found) == frozenset() and draft.second == "a second reading agrees on 0 of 1 items"


@pytest.mark.parametrize(
    ("name", "code", "why"),
    [
        ("heavy", "if weight > 9:", "weight: may be fractions, tried at whole numbers"),
        ("heavy", "if weight >= 10:", "weight: may be fractions"),  # 9.5 is between
        (
            "right",
            "if length > 60 or (length == weight and weight - climber_age == 999 and climber_age == 7):",
            "length, weight, climber_age: told apart by more than constants",
        ),
        ("passed", "if not called_test_belay:", "which nothing declares"),  # not any call, but one that was passed
    ],
)
def test_values_that_were_tried_alike_are_no_agreement_where_others_may_differ(name: str, code: str, why: str) -> None:
    (read,) = first(name, Author(body(code), body(code)))[1][0]
    assert read.state == "not compared" and why in read.reason


@pytest.mark.parametrize(
    "reply", [None, "def f(:", "import os", "def f(x: int) -> Tuple[bool, str]:\n    return (True, '')\n"]
)
def test_a_reply_that_is_no_source_agrees_with_nothing(reply: str | None) -> None:
    draft, ((read,),) = first("right", Author(reply, body(SAYS["right"])))
    assert read.state == "not compared" and read.reason and draft.second == "a second reading agrees on 0 of 1 items"
    assert (draft.source == synthesis.UNANSWERED) is (reply is None), "the contract is not shown before"


def test_another_blind_reader_that_agrees_with_the_contract_settles_it_and_one_that_differs_does_not() -> None:
    wrong, right = body("if length > 61:"), body(SAYS["right"])
    draft, (rows,) = first("right", Author(wrong, name="R1"), Author(right, name="R2"), Author(name="R3"))
    assert [(r.by, r.state) for r in rows] == [("R1", "differs"), ("R2", "agrees")] and draft.findings == ()
    assert "length > 61" in draft.source, "the first source is the guard's all the same, and its tests see it"
    draft, (rows,) = first("right", Author(wrong, name="R1"), Author(wrong, name="R2"))
    assert [r.state for r in rows] == ["differs", "differs"] and len(draft.findings) == 1


def test_one_grammar_that_wrote_both_is_no_second_reading_and_the_grade_says_so() -> None:
    at = TEXT.index(MEMBERS)
    told = {"clauses": (Clause("c1", MEMBERS, at, at + len(MEMBERS)),)}
    told["accounts"] = [account(MEMBERS, grade="parsed")]
    draft, ((read,),) = first("members", Author(name="offline"), **told)
    assert read.state == "agrees" and not read.independent and draft.second == reading.GRAMMAR
    draft, ((read,),) = first("strangers", Author(name="offline"), **told)
    assert read.state == "differs" and draft.findings, "a disagreement counts whoever wrote it"
    told["accounts"] = [account(MEMBERS)]
    assert first("members", Author(name="offline"), **told)[1][0][0].independent, "others read the rule"


def test_open_sentences_are_told_too_and_what_they_deny_is_no_disagreement() -> None:
    accounts = [account(ROPE), account(BELAY, "open")]
    author = Author(body(SAYS["right"]), body("if not called_test_belay:"))
    draft, ((ropes,), (belay,)) = first("right", author, accounts=accounts)
    assert ropes.state == "agrees" and belay.sentences == (BELAY,) and belay.state == "not compared"
    assert "open sentences alone" in belay.reason and not draft.findings
    assert "called_test_belay" not in draft.source, "what is open is in no rule of the guard"


def test_the_seal_binds_what_a_second_reading_says() -> None:
    draft, _ = first("right", Author(body(SAYS["right"])))
    rules, guard = ruleset("right"), synthesis.guarded(settled(draft, Author()))
    (row,) = evidence.to_rows([guard], rules, {})
    (kept,) = evidence.from_rows([row], [draft.contract], rules, {})
    assert kept == guard and kept.second
    (forged,) = evidence.from_rows([row | {"second": "a second reading agrees on 9 of 9"}], [draft.contract], rules, {})
    assert "its seal is not one of this key" in forged.reason


BOATS = Path(__file__).parent / "fixtures" / "boats"  # read by three blind models, its first sources written by one


class Recorded:
    """The model that wrote the first sources of the boat house."""

    name = "recorded"

    def __init__(self, rows: list[dict]) -> None:
        self.rows = {(row["tool"], *row["sentences"]): row for row in rows}

    def answer(self, prompt: Prompt, inputs: Mapping[str, object], schema: dict) -> Reply:
        row = self.rows[inputs["tool"]["name"], *(one["text"] for one in inputs["sentences"])]
        return Reply({"code": row["source"], "uncovered": row["uncovered"]}, Usage(), None, self.name)


def test_a_models_sources_agree_with_what_models_read_and_with_no_rule_that_is_reversed_or_left_out() -> None:
    kept = json.loads((BOATS / "read.json").read_text("utf-8"))
    rules, accounts = rulefile.from_json(kept["rules"]), sentences.from_json(kept["sentences"])
    source = rule.asking(documents.load(BOATS), rules)
    mapped, clauses = items.items(source, accounts), documents.from_json(kept["clauses"])

    def states(*changed: Rule) -> list[str]:
        ruleset = replace(rules, rules=changed)
        required = contract.contracts(source.toolbox, ruleset)
        more = {"mapped": mapped, "accounts": accounts, "clauses": clauses}
        return [rows[0].state for rows in reading.first(required, {}, [LLM(model)], source, ruleset, **more)[1]]

    model = Recorded(kept["sources"])
    assert states(*rules.rules) == ["agrees"] * 9
    for one in rules.rules:
        body = one.formula.body
        turned = Not(And(body.body.left, Not(body.body.right))) if isinstance(body, Not) else None
        turned = turned or Implies(body.left, Not(body.right))
        wrong = replace(one, formula=Always(turned))
        assert "differs" in states(*(wrong if each is one else each for each in rules.rules)), one.text
        assert "differs" in states(*(each for each in rules.rules if each is not one)), one.text
