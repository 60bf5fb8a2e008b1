"""A reading accounts for its sentence or leaves it open: sentences with a word too many, beside their plain kin."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wb.domain import policy, tools
from wb.logic import cel
from wb.logic.formula import predicates
from wb.logic.syntax import parse, render
from wb.models.client import LLM
from wb.offline import norms
from wb.offline.engine import Offline
from wb.rules import accounting, extract, operators, sentences, words
from wb.rules.rule import Predicate, Rule

BOX = tools.parse(
    json.dumps(
        {
            "tools": [
                {
                    "name": "lend_book",
                    "description": "Lend a book to a reader.",
                    "keywords": ["lend a book", "borrow"],
                    "mutating": True,
                    "parameters": {
                        "type": "object",
                        "properties": {
                            "days": {"type": "integer", "description": "for how many days"},
                            "desk": {"type": "string", "enum": ["front", "back"], "description": "the desk"},
                        },
                    },
                },
                {"name": "open_vault", "description": "Open the vault.", "keywords": ["open the vault"]},
                {"name": "show_catalogue", "description": "Show the catalogue.", "keywords": ["catalogue"]},
            ],
            "state": [
                {"name": "age", "type": "integer", "description": "age of the reader in years", "keywords": ["age"]},
                {"name": "resident", "type": "boolean", "description": "the reader is a resident"},
                {"name": "card_blocked", "type": "boolean", "description": "the card of the reader is blocked"},
                {"name": "fines_paid", "type": "boolean", "description": "the reader has paid the fines"},
                {"name": "days_since_visit", "type": "integer", "description": "days since the last visit"},
            ],
        }
    )
)

READ = [
    "The assistant must not open the vault.",
    "Do not lend a book to a reader under 18.",
    "Do not lend a book to a resident.",
    "Books may be lent only to residents.",
    "Do not lend a book unless the reader has paid the fines.",
    "Do not lend a book if the card of the reader is blocked.",
    "Before opening the vault, the assistant must show the catalogue.",
    # the same to the eye
    "The assistant ｍｕｓｔ ｎｏｔ open the vault.",
    "The assistant m\u00adust not open the vault.",
    "Do not&nbsp;open the vault.",
]
OPEN = [
    # a word that changes what the sentence says
    "Do not lend a book even to a resident.",
    "Do not lend a book to readers, including residents.",
    "Do not lend a book to readers, save for residents.",
    "Do not lend a book to anyone but residents.",
    "Do not lend a book, barring residents.",
    "Do not lend a book whether or not the reader is a resident.",
    "Do not lend a book despite the reader being a resident.",
    "Do not lend a book twice.",
    "A book can be lent for at most 14 days at once.",
    "Do not lend a book only to residents.",
    "Not all residents may borrow.",
    # alternatives, and what is joined otherwise
    "Do not lend a book to readers under 18 or without paid fines.",
    "Do not lend a book to a resident under 18 or with a blocked card.",
    "Do not lend a book to a resident without paid fines unless the reader is 18 or older.",
    "Do not lend a book if the card is blocked and the reader is a resident or under 18.",
    # a word, a number or a field too many
    "Do not lend a rare book to a resident.",
    "Do not lend a book to a resident on Sundays.",
    "Do not lend a book for more than 30 days.",  # the reader of sentences takes the days since a visit
    "Do not lend a book for more than a term.",
    "Do not lend a book within 14 days.",
    "Do not lend a book 18 to a reader under 1,8.",
    # what looks like something else
    "No loans without a card",
    "**Loans only to residents**",
    "Lending a book to a resident is malpractice.",
    "Opening the vault counts as a violation.",
    "Opening the vault is out of the question.",
    "The assistant does not open the vault.",
    "The assistant may no longer open the vault.",
    "The assistant mustn´t open the vault.",
    "Could you please refrain from opening the vault?",
    "Do not lend a book for more than ~~50~~ 5 days.",
    "❌ Open the vault",
    # how, where, in what unit, which of several
    "Books must be lent at the front desk.",
    "Do not lend a book to a reader under 18 months old.",
    "Lend a book only after the reader has paid the fines.",
    "## At most 4 books\n\nReading is fun.",
    "Do not lend a book to a resident. Members too.",
    "| Reader | Borrow |\n|---|---|\n| resident | no |",
    "Refuse to lend a book to a reader that is not a resident.",
    # two limits, one of which may only say when the other one holds
    "A book may be lent to a reader under 18 for at most 14 days.",
    # what goes on, or speaks of another sentence
    "A book may not be lent if",
    "Paragraph 2.1 does not apply to residents.",
    "You may lend a book. This permission has been withdrawn.",
    "May a resident borrow? It isn't allowed.",
    # a statement or a permission that names what a tool does
    "Lending a book is the business of a librarian.",
    "Opening the vault is a thing of the past.",
    "You may lend a book with the approval of a librarian.",
    "You may lend a book to a reader of full age.",
    "Q: May residents open the vault? A: No.",
]
LISTS = [
    "The assistant must never:\n\n- open the vault\n- lend a book\n",
    "Nobody may do any of the following:\n\n- Open the vault.\n",
    "## What we never do\n\nOpen the vault.\n",
    "## Prohibited actions\n\n1. Open the vault.\n",
    "| Action | Allowed? |\n|---|---|\n| Open the vault | No |\n",
]


JOINED = [  # openings of a list and what joins its items, with whether they are read one by one
    ("A book may not be lent if", "or", True),
    ("A book may not be lent if:", "or", True),
    ("A book may not be lent if", "and", False),
    ("A book may be lent only if:", "and", True),
    ("A book may be lent only if", "or", False),
]


def classes(text: str) -> dict[str, str]:
    """The class of each sentence of a text, beside a rule that is read."""
    found = policy.of_text(f"{text}\n\nThe assistant must not show the catalogue to a resident.\n", BOX)
    llm = LLM(Offline(BOX))
    clauses = extract.clauses(found, llm, norms.constrains)
    read = sentences.classify(found, clauses, extract.rules(clauses, found, llm, norms.constrains))
    return {one.text: one.cls for one in read[:-1]}


@pytest.mark.parametrize("text", READ)
def test_a_plain_sentence_is_read(text: str) -> None:
    assert set(classes(text).values()) == {"rule"}


@pytest.mark.parametrize("text", OPEN)
def test_a_sentence_with_a_word_that_its_rules_do_not_carry_stays_open(text: str) -> None:
    assert "open" in classes(text).values()


@pytest.mark.parametrize("text", LISTS)
def test_what_stands_under_a_ban_is_never_a_duty(text: str) -> None:
    found = classes(text)
    assert "duty" not in found.values() and {"open", "rule"} & set(found.values())


WORDS = st.sampled_from("even but save twice rare unless not only or under 18 residents including, Sundays".split())


@given(st.sampled_from(READ[:5]), st.integers(1, 20), WORDS)
def test_a_word_put_in_anywhere_never_leaves_a_tool_free(text: str, at: int, word: str) -> None:
    """Whatever word comes in, the sentence is a rule or open; it is not passed over."""
    parts = text.split()
    at = min(at, len(parts) - 1)
    said = " ".join([*parts[:at], word, *parts[at:]])
    assert set(classes(said).values()) <= {"rule", "open"}, said


def test_reasons_name_the_words() -> None:
    found = policy.of_text("Do not lend a rare book to a resident.", BOX)
    llm = LLM(Offline(BOX))
    clauses = extract.clauses(found, llm, norms.constrains)
    rules = extract.rules(clauses, found, llm, norms.constrains)
    (why,) = accounting.unaccounted(clauses[0].text, (), rules.rules, rules.predicates, BOX)
    assert "'rare'" in why


@pytest.mark.parametrize(
    ("form", "cls"), [("ALWAYS ({0} IMPLIES {1})", "rule"), ("ALWAYS (NOT {1} IMPLIES NOT EVENTUALLY {0})", "open")]
)
def test_a_rule_that_no_guard_can_decide_leaves_its_sentence_open(form: str, cls: str) -> None:
    """Whoever read it: nothing would stop the call."""
    found = policy.of_text("Do not lend a book to a resident.", BOX)
    llm = LLM(Offline(BOX))
    clauses = extract.clauses(found, llm, norms.constrains)
    rules = extract.rules(clauses, found, llm, norms.constrains)
    act, fact = (next(p for p in rules.predicates if p.kind == kind).name for kind in ("action", "state"))
    (rule,) = rules.rules
    right = "NOT " * ("NOT" in render(rule.formula)) + fact
    other = replace(rules, rules=(replace(rule, formula=parse(form.format(act, f"({right})"))),))
    (account,) = sentences.classify(found, clauses, other)
    assert account.cls == cls and ("no guard can decide its rule" in account.reason) is (cls == "open")


@pytest.mark.parametrize("mark", ["yes", "Yes.", "✓", "✔", "x", "no", "✗", "●", "true", "always"])
def test_a_mark_in_a_table_is_never_passed_over(mark: str) -> None:
    """It says of its row what its column's title says, or forbids it; it bears on what the row names."""
    found = classes(f"| Place | Residents only | Must stay closed |\n|---|---|---|\n| the vault | {mark} | |\n")
    assert found[mark] == "open"


def test_an_order_in_a_row_with_a_cell_that_is_not_read_is_no_duty() -> None:
    found = classes("| Action | Minors |\n|---|---|\n| open the vault | ✗ |\n")
    assert found["open the vault"] == found["✗"] == "open"


@pytest.mark.parametrize(("opening", "word", "apart"), JOINED)
def test_a_list_is_read_with_its_opening_whatever_that_ends_with(opening: str, word: str, apart: bool) -> None:
    text = f"{opening}\n\n- the card of the reader is blocked, {word}\n- the reader is a resident.\n"
    found = classes(text)
    assert len(found) == 3 and set(found.values()) == ({"rule"} if apart else {"open"})


ACT = Predicate("act", "action", "", tools=("lend_book",))
TURNED = [  # a sentence, the test that it means, and others that a reply may bring along
    ("Do not lend a book to a reader under 18.", "state.age >= 18", ["state.age <= 18", "state.age < 18"]),
    ("Do not lend a book to a reader over 60.", "state.age <= 60", ["state.age > 60", "state.age != 60"]),
    ("A book may be lent only to a reader at least 18 years old.", "state.age >= 18", ["state.age <= 18"]),
    ("A book may not be lent for more than 5 days.", "call.days <= 5", ["call.days != 5", "call.days > 5"]),
    ("A book must not be lent to a reader of 40 or older.", "state.age < 40", ["state.age >= 40"]),
    ("A book must be lent for at most three days.", "call.days <= 3", ["call.days >= 3", "call.days < 3"]),
    ("Do not lend a book to a reader under 12 or over 90.", "", ["state.age >= 12 || state.age > 90"]),
    ("Do not lend a book to a resident under 18.", "", ["state.resident || state.age >= 18"]),
]


@pytest.mark.parametrize(("said", "right", "wrong"), TURNED)
def test_a_limit_in_another_direction_than_the_sentence_says_is_not_accounted_for(said, right, wrong) -> None:
    for test in filter(None, (right, *wrong)):
        p = Predicate("fine", "state", "", tools=("lend_book",) if "call." in test else (), test=cel.parse(test))
        rule = Rule("r", "", parse("ALWAYS (act IMPLIES fine)"), "forbid")
        why = accounting.unaccounted(said, (), (rule,), (ACT, p), BOX)
        assert (why == ()) == (test == right), (test, why)


def test_facts_under_a_ban_are_each_negated() -> None:
    resident = Predicate("resident", "state", "", test=cel.parse("state.resident"))
    adult = Predicate("adult", "state", "", test=cel.parse("state.age >= 18"))
    for text, fine in (
        ("NOT resident OR adult", True),
        ("resident OR adult", False),
        ("NOT (resident OR adult)", False),
    ):
        rule = Rule("r", "", parse(f"ALWAYS (act IMPLIES ({text}))"), "forbid")
        said = "Do not lend a book to a resident under 18."
        assert (accounting.unaccounted(said, (), (rule,), (ACT, resident, adult), BOX) == ()) is fine, text


@pytest.mark.parametrize(
    ("said", "forms", "fine"),
    [
        ("Do not lend a book to a resident under 18.", ["act IMPLIES NOT resident", "act IMPLIES adult"], False),
        ("Do not lend a book to a resident under 18.", ["act IMPLIES adult", "resident IMPLIES EVENTUALLY act"], False),
        ("Do not lend a book to a resident under 18.", ["act IMPLIES (NOT resident OR adult)"], True),
        (
            "Do not lend a book to residents or readers under 18.",
            ["act IMPLIES NOT resident", "act IMPLIES adult"],
            True,
        ),
        ("Lend a book only to a resident of at least 18.", ["act IMPLIES resident", "act IMPLIES adult"], True),
    ],
)
def test_one_demand_is_no_two_rules_about_one_act(said: str, forms: list[str], fine: bool) -> None:
    resident = Predicate("resident", "state", "", test=cel.parse("state.resident"))
    adult = Predicate("adult", "state", "", test=cel.parse("state.age >= 18"))
    rules = [Rule(f"r{k}", "", parse(f"ALWAYS ({form})"), "forbid") for k, form in enumerate(forms)]
    why = accounting.unaccounted(said, (), rules, (ACT, resident, adult), BOX)
    assert (why == ()) == fine, why


def test_a_tool_that_the_sentence_does_not_name_is_not_what_it_is_about() -> None:
    """A sentence about what a reader may have is not one about another tool that has the noun in its name."""
    limit = Predicate("few", "state", "", test=cel.parse("state.age <= 3"))
    rule = Rule("r", "", parse("ALWAYS (act IMPLIES few)"), "permit_only_if")
    for tool, named in (("open_vault", True), ("lend_book", False)):
        act = Predicate("act", "action", "", tools=(tool,))
        why = accounting.unaccounted("A reader can borrow at the age of at most 3.", (), (rule,), (act, limit), BOX)
        assert any("open_vault" in one for one in why) == named and bool(why) == named


def test_the_headings_name_the_rest_of_a_tool_that_the_sentence_begins_to_name() -> None:
    """A heading gives no word of the sentence a meaning, and one further up gives no tool to a section of another."""
    resident = Predicate("resident", "state", "", test=cel.parse("state.resident"))
    rule = Rule("r", "", parse("ALWAYS (act IMPLIES NOT resident)"), "forbid")
    for said, tool, headings, fine in (
        ("No books for residents.", "lend_book", ("Lend",), True),
        ("No books for residents.", "lend_book", (), False),
        ("No books for residents.", "lend_book", ("Visits",), False),
        ("Not for residents.", "lend_book", ("House", "Lend a book"), True),
        ("Not for residents.", "lend_book", ("Lend a book", "Vault"), False),
        ("Not for residents.", "open_vault", ("Lend a book", "Vault"), False),
        ("No smoking for residents.", "lend_book", ("Lend a book",), False),
        ("Residents must not borrow.", "open_vault", ("Open the vault",), False),
    ):
        act = Predicate("act", "action", "", tools=(tool,))
        why = accounting.unaccounted(said, (), (rule,), (act, resident), BOX, headings=headings)
        assert (why == ()) is fine, (said, tool, headings, why)


@pytest.mark.parametrize(
    ("said", "forms", "fine"),
    [
        (
            "Lend a book if and only if the reader is a resident.",
            ["{} IMPLIES resident", "resident IMPLIES F {}"],
            True,
        ),
        ("Lend a book if and only if the reader is a resident.", ["{} IMPLIES resident"], False),
        ("Lend a book if and only if the reader is a resident.", ["resident IMPLIES F {}"], False),
        ("Lend a book if and only if the reader is a resident.", ["{} IMPLIES resident", "adult IMPLIES F {}"], False),
        (
            "Lend a book if and only if the reader is a resident.",
            ["{} IMPLIES NOT resident", "NOT resident IMPLIES F {}"],
            False,
        ),
        (
            "Lend a book if, and only if, the reader is a resident.",
            ["{} IMPLIES resident", "resident IMPLIES F {}"],
            False,
        ),
        ("Lend a book only if the reader is a resident.", ["{} IMPLIES resident"], True),
        ("In particular, do not lend a book to a resident.", ["{} IMPLIES NOT resident"], True),
        ("Do not lend a book, in particular to a resident.", ["{} IMPLIES NOT resident"], False),
        ("In particular, remember to lend a book only to a resident.", ["{} IMPLIES resident"], True),
        ("Do not lend a book to a resident who can remember.", ["{} IMPLIES NOT resident"], False),
        ("Remember not to lend a book to a resident.", ["{} IMPLIES NOT resident"], False),
    ],
)
def test_both_ways_and_openings_are_read_where_they_say_no_more(said: str, forms: list[str], fine: bool) -> None:
    resident = Predicate("resident", "state", "", test=cel.parse("state.resident"))
    adult = Predicate("adult", "state", "", test=cel.parse("state.age >= 18"))
    written = [form.format("act").replace(" F ", " EVENTUALLY ") for form in forms]
    rules = [Rule(f"r{k}", "", parse(f"ALWAYS ({form})"), "forbid") for k, form in enumerate(written)]
    assert (accounting.unaccounted(said, (), rules, (ACT, resident, adult), BOX) == ()) is fine


@pytest.mark.parametrize(
    ("said", "test", "fine"),
    [
        ("To lend a book, the user must provide a desk.", 'call.desk != ""', True),
        ("To lend a book, the user must provide a desk.", 'call.desk == ""', False),
        ("To lend a book, the user must provide a desk.", 'call.desk == "front"', False),
        ("Do not lend a book without a desk.", 'call.desk != ""', True),
        ("Do not lend a book without a desk.", 'call.desk == ""', False),
    ],
)
def test_an_argument_that_is_no_empty_text_was_given(said: str, test: str, fine: bool) -> None:
    named = Predicate("desk", "state", "", tools=("lend_book",), test=cel.parse(test))
    rule = Rule("r", "", parse("ALWAYS (act IMPLIES desk)"), "oblige")
    assert (accounting.unaccounted(said, (), (rule,), (ACT, named), BOX) == ()) is fine


def test_a_word_that_only_looks_negated_hides_no_wrong_sign() -> None:
    """Two negations ("not", "unless") ask for the fact; a rule that forbids it is not the sentence's."""
    box = tools.Toolbox((BOX.tool("lend_book"),), (tools.Field("insured", "boolean", "the reader is insured"),))
    act = Predicate("lend", "action", "", tools=("lend_book",))
    fact = Predicate("insured", "state", "", test=cel.parse("state.insured"))
    for formula, fine in (("ALWAYS (lend IMPLIES insured)", True), ("ALWAYS (lend IMPLIES NOT insured)", False)):
        rule = Rule("r", "", parse(formula), "forbid")
        said = "Do not lend a book unless the reader is insured."
        assert (accounting.unaccounted(said, (), (rule,), (act, fact), box) == ()) == fine


KINDS_OF_UNITS = (
    ("seconds", "minutes", "hours", "days", "weeks", "months", "years"),
    ("dollars", "euros", "pounds"),
    ("kb", "mb", "gb", "tb"),
    ("mg", "g", "kg", "mm", "cm", "m", "km", "ml", "l"),
)


@pytest.mark.parametrize("family", KINDS_OF_UNITS, ids=lambda family: family[0])
def test_a_number_in_another_unit_than_its_field_is_not_accounted_for(family: tuple[str, ...]) -> None:
    """Each unit against each other one of its kind, and against itself."""
    act = Predicate("lend", "action", "", tools=("lend_book",))
    few = Predicate("few", "state", "", test=cel.parse("state.extent <= 3"))
    rule = Rule("r", "", parse("ALWAYS (lend IMPLIES few)"), "permit_only_if")
    for own in family:
        box = tools.Toolbox((BOX.tool("lend_book"),), (tools.Field("extent", "integer", f"extent in {own}"),))
        for said in family:
            text = f"A book may be lent only if the extent is at most 3 {said}."
            why = accounting.unaccounted(text, (), (rule,), (act, few), box)
            assert any(one.startswith("extent is in") for one in why) == (said != own), (own, said, why)


FOREIGN = (
    "min([call.amount, 3]) <= 3",
    "call.amount - 3 <= 3",
    "size(string(call.amount)) <= 3",
    "call.amount <= 3 ? true : true",
    "(call.amount <= 3) == (call.amount <= 3)",
    "call.amount <= 3 * 3",
    "-call.amount <= 3",
    "call.amount * 0 <= 3",
    "call.amount % 4 <= 3",
    "call.amount <= 3 || call.amount > 3",
    "!(call.amount > 3 && call.amount < 3) || call.amount == 3",
    "call.people.exists(p, p.age >= 3)",
    "call.people.all(p, p.age >= 3)",
    "call.people[0].age >= 3",
    "max(call.people.map(p, p.age)) >= 3",
    "call.person.amount <= 3",
)
FORMS = {
    "ALWAYS (act IMPLIES few)": True,
    "ALWAYS NOT act": True,
    "ALWAYS NOT (act AND few)": True,
    "ALWAYS (act IMPLIES (NOT few OR other))": True,
    "ALWAYS (act IMPLIES ONCE few)": True,
    "ALWAYS (few IMPLIES EVENTUALLY act)": True,
    "NOT act WEAK_UNTIL few": True,
    "ALWAYS (act IMPLIES few OR PREVIOUSLY few)": False,
    "ALWAYS (act IMPLIES NEXT few)": False,
    "ALWAYS (act IMPLIES few OR ONCE act)": False,
    "ALWAYS (act IMPLIES few OR NOT few)": False,
    "ALWAYS ((act AND few) IMPLIES few)": False,
    "ALWAYS (act IMPLIES ONCE (few OR other))": False,
    "ALWAYS (act IMPLIES ALWAYS few)": False,
    "EVENTUALLY ALWAYS (act IMPLIES few)": False,
    "ALWAYS (act IMPLIES (few SINCE other))": False,
    "ALWAYS (act IMPLIES EVENTUALLY ONCE few)": False,
}


@pytest.mark.parametrize("test", FOREIGN)
def test_a_test_of_a_form_that_words_cannot_be_counted_against_is_a_persons_to_write(test: str) -> None:
    """Each names the number and the field of its sentence and says something else, or may."""
    act = Predicate("act", "action", "", tools=("lend_book",))
    fine = Predicate("fine", "state", "", tools=("lend_book",), test=cel.parse(test))
    rule = Rule("r", "", parse("ALWAYS (act IMPLIES fine)"), "forbid")
    (why,) = accounting.unaccounted("Do not lend a book of an amount above 3.", (), (rule,), (act, fine), BOX)
    assert why.startswith("no sentence is read into this form") and cel.render(fine.test) in why


@pytest.mark.parametrize(("formula", "known"), FORMS.items())
def test_a_formula_of_a_form_that_words_cannot_be_counted_against_is_a_persons_to_write(formula, known) -> None:
    act = Predicate("act", "action", "", tools=("lend_book",))
    rest = [Predicate(name, "state", "", test=cel.parse(f"state.{name}")) for name in ("few", "other")]
    rule = Rule("r", "", parse(formula), "forbid")
    why = accounting.unaccounted("Do not lend a book.", (), (rule,), (act, *rest), BOX)
    assert any(one.startswith("no sentence is read into this form") for one in why) is not known


@pytest.mark.parametrize(
    ("said", "fields", "read", "fine"),
    [
        ("Do not lend a book of more than 10.000 pages.", {"pages": "pages"}, "call.pages <= 10", False),
        ("Do not lend a book of more than 0.125 pages.", {"pages": "pages"}, "call.pages <= 0.125", True),
        ("Do not lend a book for less than 8 minutes.", {"minutes": "minutes"}, "call.minutes >= 8", True),
        (
            "Do not lend a book for less than 8 minutes.",
            {"minutes": "minutes until it is there", "seconds": "how long it is lent"},
            "call.minutes >= 8",
            False,
        ),
        (
            "Do not lend a book for less than 8 minutes of loan.",
            {"loan_minutes": "minutes of the loan", "seconds": "how long it takes"},
            "call.loan_minutes >= 8",
            True,
        ),
        ("Do not lend a book to people younger than 18.", {"age": "age of the reader"}, "call.age >= 18", True),
        ("Do not lend a book to people younger than 18.", {"user_age": "age"}, "call.user_age >= 18", True),
        (
            "Do not lend a book to people younger than 18.",
            {"book_age": "age of the book"},
            "call.book_age >= 18",
            False,
        ),
    ],
)
def test_a_number_is_compared_with_the_field_that_the_sentence_says(said, fields, read, fine) -> None:
    arguments = tuple(tools.Field(name, "integer", about) for name, about in fields.items())
    box = tools.Toolbox((tools.Tool("lend_book", "Lend a book.", arguments),))
    act = Predicate("act", "action", "", tools=("lend_book",))
    limit = Predicate("limit", "state", "", tools=("lend_book",), test=cel.parse(read))
    rule = Rule("r", "", parse("ALWAYS (act IMPLIES limit)"), "forbid")
    assert (accounting.unaccounted(said, (), (rule,), (act, limit), box) == ()) is fine


@pytest.mark.parametrize(
    "forms",
    [
        "notify notifies notified notifying",
        "change changes changed changing",
        "cancel cancels cancelled cancelling cancellation",
        "book books booked booking bookings",
        "agree agrees agreed agreement",
        "permit permits permitted permitting",
        "pay pays paid payment",
        "party parties",
    ],
)
def test_the_forms_of_a_word_have_one_stem(forms: str) -> None:
    assert len({words.stem(word) for word in forms.split()}) == 1


def test_other_words_have_other_stems() -> None:
    apart = "notify note change chance cancel candle book boot agree age permit perfume pay party class classify"
    assert len({words.stem(word) for word in apart.split()}) == len(apart.split())


def rules_of(*formulas: str) -> tuple[Rule, ...]:
    return tuple(Rule(f"r{i}", "t", parse(text), "forbid") for i, text in enumerate(formulas))


ACTS = (
    Predicate("lend", "action", "", tools=("lend_book",)),
    Predicate("open", "action", "", tools=("open_vault",)),
    Predicate("show", "action", "", tools=("show_catalogue",)),
    Predicate("resident", "state", "", test=cel.parse("state.resident")),
    Predicate("paid", "state", "", test=cel.parse("state.fines_paid")),
)
NEVER = "ALWAYS NOT open"


@pytest.mark.parametrize(
    ("text", "formulas"),
    [
        ("You may lend a book but must not open the vault.", [NEVER]),
        ("The assistant can show the catalogue, but cannot open the vault.", [NEVER]),
        ("You must not lend a book but must show the catalogue.", ["ALWAYS NOT lend", "EVENTUALLY show"]),
        ("You must not lend a book, but you must show the catalogue.", ["ALWAYS NOT lend", "EVENTUALLY show"]),
        ("Users must not lend a book, but they must show the catalogue.", ["ALWAYS NOT lend", "EVENTUALLY show"]),
        ("A book may be lent, but only if the fines are paid.", ["ALWAYS (lend IMPLIES paid)"]),
        ("A book may be lent but only to residents.", None),  # these stay with a person
        ("A book may be lent but not if the fines are paid.", None),
        ("A book may be lent to all but residents.", None),
        ("Nobody but residents may borrow.", None),
        ("You may lend a book but not open the vault.", None),
        ("You can but lend a book.", None),
    ],
)
def test_but_between_two_demands_and_before_only_if_is_accounted_for(text: str, formulas: list[str] | None) -> None:
    found = accounting.unaccounted(text, (), rules_of(*(formulas or [NEVER])), ACTS, BOX)
    assert ("'but'" in str(found)) if formulas is None else not found, found
    assert bool(operators.unreadable(text, ())) is (formulas is None), "asked back where an answer may help"


@pytest.mark.parametrize(
    ("text", "formulas"),
    [
        # what is only allowed is forbidden, or what is forbidden is left out, turned, or put on the other act
        ("You may lend a book but must not open the vault.", ["ALWAYS NOT lend", NEVER]),
        ("You may lend a book but must not open the vault.", ["ALWAYS NOT lend"]),
        ("You may lend a book but must not open the vault.", ["EVENTUALLY open"]),
        ("You must not lend a book but must show the catalogue.", ["ALWAYS NOT lend"]),
        ("You must not lend a book, and you must show the catalogue.", ["EVENTUALLY lend", "ALWAYS NOT show"]),
        ("You must not lend a book but must show the catalogue.", ["EVENTUALLY lend", "ALWAYS NOT show"]),
        ("A book may be lent, but only if the fines are paid.", ["ALWAYS (lend IMPLIES NOT paid)"]),
        ("A book may be lent, but only if the fines are paid.", ["ALWAYS NOT lend"]),
        # a limit, a condition or an exception that may be meant for both sides, or is hidden in one
        ("Residents may lend a book but must not open the vault.", [NEVER]),
        ("Residents must not lend a book, but they must show the catalogue.", ["ALWAYS NOT lend", "EVENTUALLY show"]),
        ("A resident must not lend a book, but they must not open the vault.", ["ALWAYS NOT lend", NEVER]),
        ("You may lend five books but must not open the vault.", [NEVER]),
        ("You may lend a book to residents only but must not open the vault.", [NEVER]),
        ("You may do nothing but must not open the vault.", [NEVER]),
        ("You may open anything but the vault but must not open the vault.", [NEVER]),
        ("You may lend a book but must not open the vault unless the fines are paid.", [NEVER]),
        ("If the fines are paid, you may lend a book but must not open the vault.", [NEVER]),
        ("You may lend a book but must not open the vault, save for residents.", [NEVER]),
        ("You must not open the vault but for residents must.", [NEVER]),
        ("You may lend a book but then must not open the vault.", [NEVER]),
    ],
)
def test_but_hides_no_exception_and_turns_nothing_round(text: str, formulas: list[str]) -> None:
    assert accounting.unaccounted(text, (), rules_of(*formulas), ACTS, BOX)


TURNED = [  # a sentence, a rule, and whether it says the opposite: never offered to be accepted by one word
    ("A book must not be lent for more than 9 days.", "ALWAYS (act IMPLIES days_at_most_9)", False),
    ("A book must not be lent for more than 9 days.", "ALWAYS (act IMPLIES NOT days_at_most_9)", True),
    ("At least 2 must sign before a book is lent.", "ALWAYS (act IMPLIES NOT signed_at_least_2 OR ONCE other)", True),
    ("At least 2 must sign before a book is lent.", "ALWAYS (act IMPLIES signed_at_least_2)", False),
    ("If at least 2 sign, a book may be lent only by hand.", "ALWAYS (act IMPLIES NOT signed_at_least_2 OR x)", False),
    ("Lend a book only after the vault was opened.", "ALWAYS (lends IMPLIES ONCE opens)", False),
    ("Lend a book only after the vault was opened.", "ALWAYS (opens IMPLIES ONCE lends)", True),
    ("The choice must be other than the usual one.", "ALWAYS (act IMPLIES NOT usual)", False),
]


@pytest.mark.parametrize(("said", "form", "wrong"), TURNED)
def test_a_reading_that_says_the_opposite_is_told_from_one_that_lacks_words(said: str, form: str, wrong: bool) -> None:
    formula = parse(form)
    used = [
        Predicate(name, "action", "", (), tools)
        if (tools := {"act": (), "other": (), "lends": ("lend_book",), "opens": ("open_vault",)}.get(name)) is not None
        else Predicate(name, "state", "")
        for name in predicates(formula)
    ]
    rule = Rule("c.1", said, formula, "permit_only_if", "action", "c", said)
    assert bool(accounting.turned(said, (), [rule], used, BOX)) == wrong
