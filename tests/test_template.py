"""A rule to begin with: the facts that a sentence names, no others, and a rule that can be saved as it stands."""

from __future__ import annotations

from dataclasses import replace

import pytest
import yaml

from wb.domain import policy as documents
from wb.domain.tools import Field, Schema, Tool, Toolbox
from wb.logic import cel
from wb.rules import decisions, template
from wb.rules.decisions import DecisionError
from wb.rules.rule import Predicate
from wb.rules.sentences import Account

MEMBER = {"type": "object", "properties": {"age": {"type": "integer"}, "good_standing": {"type": "boolean"}}}
LOAN = Tool("lend_item", "Lend an item.", (Field("copies", "integer"), Field("note", "string")))
BOX = Toolbox(
    tools=(LOAN, Tool("renew_loan", "Renew a loan.")),
    state=(
        Field("holds_card", "boolean", keywords=("cardholder",)),
        Field("fines", "number", "what is owed"),
        Field("kind", "string", values=("book", "laptop")),
        Field("overdue_items", "array"),
        Field("branch", "string"),
        Field("member", "object", schema=Schema(MEMBER)),
    ),
)
NAMED = {
    "May be borrowed by cardholders in good standing.": {"holds_card": "state.holds_card"}
    | {"member_good_standing": "state.member.good_standing"},
    "No renewal while fines exceed $10.50.": {"fines": "state.fines OP 10.50"},
    "Fines of $1,000 bar all loans.": {"fines": "state.fines OP 1000"},
    "Fines of 5 or 10 bar all loans.": {"fines": "state.fines OP VALUE"},
    "One kind of thing is the laptop.": {"kind": 'state.kind == "laptop"'},
    "Any kind of thing may be lent, a laptop or a book.": {"kind": "state.kind OP VALUE"},
    "Whoever has 3 overdue items must return them.": {"overdue_items": "size(state.overdue_items) OP 3"},
    "The member must be of age 18.": {"member_age": "state.member.age OP 18"},
    "Every branch decides.": {"branch": "state.branch OP VALUE"},
    "A member is welcome.": {},
    "The carded wool is soft.": {},
    "Nothing is said here.": {},
}


def account(text: str, *tools: str, unknown: bool = False) -> Account:
    return Account("0123456789ab", text, 0, len(text), (), "open", "not read", tools=tools, unknown=unknown)


@pytest.mark.parametrize(("text", "tests"), NAMED.items(), ids=NAMED.keys())
def test_a_template_has_the_facts_that_the_sentence_names_and_no_others(text: str, tests: dict[str, str]) -> None:
    one = account(text, "lend_item", "renew_loan")
    assert {name: row["test"] for name, row in template.facts(one, BOX).items()} == tests
    made = yaml.safe_load(template.template(one, BOX))
    assert list(made["predicates"]) == ["does_it", *tests]
    assert made["predicates"]["does_it"] == {"kind": "action", "tools": ["lend_item", "renew_loan"]}
    assert list(made["rules"][0]) == ["formula"], "the formula says its modality"


@pytest.mark.parametrize("text", NAMED)
def test_a_template_is_a_rule_or_asks_how_a_fact_is_compared(text: str) -> None:
    source = documents.of_text(text, BOX)
    (piece,) = documents.pieces(source)
    one = replace(account(piece.text, "lend_item"), id=documents.identities((piece,))[0])
    begun = template.template(one, BOX)
    if NAMED[text]:  # what a fact means for the act is no guess to be saved
        with pytest.raises(DecisionError, match=r"line \d+: (predicates|rules)"):
            decisions.decide(one, "rule", "as it stands", begun, source)
        assert "# OP: of a rule, IMPLIES" in begun
        begun = begun.replace("does_it OP", "does_it IMPLIES")
        if any(" OP " in test for test in NAMED[text].values()):
            return
    made = decisions.decide(one, "rule", "as it stands", begun, source)
    (rule,) = decisions.own([made], BOX).rules
    assert rule.modality == ("permit_only_if" if NAMED[text] else "forbid")


def test_arguments_are_facts_of_the_one_tool_that_is_meant() -> None:
    text = "At most 3 copies may go out."
    (row,) = template.facts(account(text, "lend_item"), BOX).values()
    assert row == {"kind": "state", "tools": ["lend_item"], "test": "call.copies OP 3"}
    assert not template.facts(account(text, "lend_item", "renew_loan"), BOX)
    assert not template.facts(account(text, "lend_item", unknown=True), BOX), "it may be about another tool"


def test_a_fact_of_the_vocabulary_comes_first_and_stands_once() -> None:
    known = [
        Predicate("is_cardholder", "state", "", ("cardholder",), (), cel.parse("state.holds_card")),
        Predicate("asked_twice", "state", "", (), (), None, (), "Was it asked twice?", ("user",)),
        Predicate("lends", "action", "", ("cardholders",), ("lend_item",)),
    ]
    found = template.facts(account("Cardholders only.", "lend_item"), BOX, known)
    assert found == {"is_cardholder": {"kind": "state", "test": "state.holds_card"}}
    asked = template.facts(account("Only where it was asked twice.", "lend_item"), BOX, known)
    assert asked == {"asked_twice": {"kind": "state", "question": "Was it asked twice?", "of": ["user"]}}
