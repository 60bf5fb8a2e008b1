"""No negation vanishes: each word of negation becomes a connective, or leaves its sentence open and is named."""

from pathlib import Path

import pytest
from test_subject_negation import verdict

from wb.domain.policy import Clause
from wb.domain.tools import Field, Tool, Toolbox
from wb.logic.syntax import render
from wb.offline import conditions, grounding, negation, norms
from wb.offline.conditions import Either, Every, Negated, Phrase, parse


def flag(name, description, *keywords):
    return Field(name, "boolean", description, (), keywords)


BOX = Toolbox(
    (
        Tool(
            "ship_order",
            "Ship an order.",
            (
                Field("insurance", "boolean", "whether it is insured"),
                Field("parcels", "integer", "the number of parcels"),
            ),
            ("ship",),
        ),
        Tool("refund_order", "Refund an order.", (), ("refund",)),
    ),
    (
        flag("paid", "the order has been paid", "paid"),
        flag("approved", "the order has been approved", "approval"),
        flag("has_damage", "the order has damage", "damage"),
        flag("somebody_objects", "somebody objects", "objects"),
        flag("cost", "the order has a cost", "cost"),
        flag("unpaid_fees", "the buyer has fees that are not paid", "unpaid fees", "fees"),
        flag("consent_withdrawn", "the buyer has withdrawn consent", "consent"),
        flag("opted_in", "the buyer has opted in", "opted in"),
        flag("embargo_lifted", "the embargo on the order has been lifted", "embargo"),
    ),
)


def read(text, box=BOX):
    found = [grounding.ground(norm, box) for norm in norms.norms(Clause("c", text, 0, len(text)))]
    return [render(r.formula) for g in found for r in g.readings], [g.reason for g in found if g.reason]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Orders must be shipped at no cost.", "'no' in 'ship Orders at no cost' was not understood"),
        ("Orders may only be shipped at no cost.", "'no' in 'at no cost' was not understood"),
        ("Ship the order without insurance.", "'without' in 'ship the order without insurance' was not understood"),
        (
            "If the buyer says that he has not paid, do not ship the order.",
            "'not' in 'the buyer says that he has not paid' was not understood",
        ),
        ("Not all orders may be shipped.", "'not' in 'Not all orders may' was not understood"),
        ("It is not allowed not to ship an order.", "'not' in 'allowed not to ship' was not understood"),
        ("No user must not ship an order.", "'no' in 'No user must not' was not understood"),
    ],
)
def test_a_negation_that_nothing_reads_leaves_its_sentence_open_and_is_named(text, reason):
    formulas, reasons = read(text)
    assert formulas == []
    assert [r.lower() for r in reasons] == [reason.lower()]


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("No more than five parcels may be shipped.", "ALWAYS (ship_order IMPLIES parcels_at_most_5)"),
        ("An order may be shipped only if nobody objects.", "ALWAYS (ship_order IMPLIES NOT somebody_objects)"),
        ("None of the orders may be shipped.", "ALWAYS NOT ship_order"),
        (
            "An order that is neither paid nor approved must not be shipped.",
            "ALWAYS (ship_order IMPLIES paid OR approved)",
        ),
        ("An order not yet paid must not be shipped.", "ALWAYS (ship_order IMPLIES paid)"),
        ("Unpaid orders must not be shipped.", "ALWAYS (ship_order IMPLIES paid)"),
        ("Only orders with no damage may be shipped.", "ALWAYS (ship_order IMPLIES NOT has_damage)"),
        ("Orders with damage may under no circumstances be shipped.", "ALWAYS (ship_order IMPLIES NOT has_damage)"),
        ("A buyer with unpaid fees must not refund an order.", "ALWAYS (refund_order IMPLIES NOT unpaid_fees)"),
    ],
)
def test_a_negation_that_is_read_is_a_connective(text, formula):
    assert read(text) == ([formula], [])


@pytest.mark.parametrize(
    "text", ["No approval is required to ship an order.", "Refunding an order requires no approval."]
)
def test_what_is_not_required_is_not_forbidden(text):
    assert read(text) == ([], [])


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("A buyer without consent must not be shipped an order.", "consent_withdrawn"),
        ("A buyer who opted out must not refund an order.", "opted_in"),
        ("An order under an embargo must not be shipped.", "embargo_lifted"),
        ("A buyer with fees must not refund an order.", "unpaid_fees"),
    ],
)
def test_a_field_that_says_the_contrary_does_not_decide_a_phrase(text, field):
    assert {verdict(text, BOX, {f"state.{field}": value}) for value in (True, False)} == {"open"}


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("is neither open nor full", Every((Negated(Phrase("is open")), Negated(Phrase("is full"))))),
        ("a crate without a lid", Negated(Phrase("a crate has a lid"))),
        ("the crate is no longer sealed", Negated(Phrase("the crate is sealed"))),
        ("contains unread mail", Phrase("contains unread mail")),
        ("unjustified or disproportionate", Phrase("unjustified or disproportionate")),
        ("invalid", Negated(Phrase("valid"))),
        ("is open or is not full", Either((Phrase("is open"), Negated(Phrase("is full"))))),
    ],
)
def test_a_condition_keeps_its_negation(text, condition):
    assert parse(text) == condition


def test_words_of_negation_are_found_and_those_that_are_none_are_not():
    found = [
        negation.inside(t)
        for t in (
            "at no cost",
            "never paid",
            "isn't paid",
            "lacking a lid",
            "not more than five crates",
            "without undue delay",
            "a notice",
            "knot",
            "non-member",
        )
    ]
    assert found == ["no", "never", "isn't", "lacking", "", "", "", "", ""]


def test_a_sentence_is_compared_with_itself_without_each_negation():
    assert list(negation.without_each("A crate without a lid must not leave.")) == [
        ("without", "crate without a lid", "A crate with a lid must not leave."),
        ("not", "must not leave", "A crate without a lid must leave."),
    ]


def test_no_leaf_of_the_gold_sentences_holds_a_word_of_negation():
    for line in (Path(__file__).parent / "gold" / "sentences.tsv").read_text("utf-8").splitlines()[1:]:
        text = line.split("\t")[0]
        for norm in norms.norms(Clause("c", text, 0, len(text))):
            for leaf in (*conditions.phrases_of(norm.when), *conditions.phrases_of(norm.requires)):
                assert norm.reason or not negation.inside(leaf.text), text


OPPOSITES = """invalid:valid inactive:active incomplete:complete ineligible:eligible absent:present unsafe:safe
    incorrect:correct unclear:clear illegal:legal unable:able unpaid:paid unfit:fit unlawful:lawful untrue:true
    insufficient:sufficient unpainted:painted nonresident:resident non-resident:resident unopened:opened""".split()


def test_a_word_with_the_prefix_of_its_opposite_has_one() -> None:
    for line in OPPOSITES:
        word, _, other = line.partition(":")
        assert negation.opposite(f"the form is {word} now") == f"the form is {other} now"
        assert negation.opposite(f"{word.capitalize()} forms") == f"{other} forms"
    for text in ("the uncle is united", "a valid form", "until then", "nonce"):
        assert negation.opposite(text) is None
