"""Examples from a sentence's own words: read apart from its rule, and what a rule is held to by them."""

from __future__ import annotations

import pytest

from wb.domain.tools import Field, Tool, Toolbox
from wb.guards import boundaries, contract, examples
from wb.guards.boundaries import Boundary
from wb.logic import cel, semantics
from wb.rules.items import Item, Reference
from wb.rules.rule import Predicate, Rule, RuleSet
from wb.rules.sentences import Account

LIMITS = {  # what a sentence names, what it does not, and whether what it names is banned
    "You can borrow at most five items.": ((5, 4), (6, 7), False),
    "No more than 12 open tabs.": ((12, 11), (13, 14), False),
    "Loans run for up to 1,000 steps.": ((1000, 999), (1001, 1002), None),
    "Restricted items may be lent only to readers who are at least 16.": ((16, 17), (15, 14), False),
    "Lend only to readers of 16 or older.": ((16, 17), (15, 14), False),
    "A reader under 18 must not borrow films.": ((17, 16), (18, 19), True),
    "Never lend to readers younger than 12.": ((11, 10), (12, 13), True),
    "Do not reserve a room for a reader whose fines are above $20.": ((21, 22), (20, 19), True),
    "Do not send a letter to 21 or more readers.": ((21, 22), (20, 19), True),
    "A reader aged 12 or younger may not borrow films.": ((12, 11), (13, 14), True),
    "Fines above 50 need a librarian.": ((51, 52), (50, 49), None),
    "Readers over 65 may borrow films.": ((66, 67), (65, 64), None),
    "A reader without a card may borrow at most two items.": ((2, 1), (3, 4), None),
}
NONE = (
    "You can borrow films.",
    "You can borrow at most five items and at most two films.",
    "You can borrow 3 films for at most 14 days.",
    "You can borrow at most five items unless a librarian agrees.",
    "You can borrow at most five items each month.",
    "At most 20 % of the fine is waived.",
    "At most 2.5 litres.",
    "A reader may borrow not over 5 items.",
    "A loan may be changed up to 24 hours before its end.",
    "",
)


@pytest.mark.parametrize("text", LIMITS)
def test_a_limit_is_read_with_its_edge_and_its_side(text: str) -> None:
    found = boundaries.limit(text)
    assert (found.inside, found.outside, found.banned) == LIMITS[text]


@pytest.mark.parametrize("text", NONE)
def test_what_its_words_alone_do_not_tell_gives_no_limit(text: str) -> None:
    assert boundaries.limit(text) is None


def test_a_negation_above_a_sentence_leaves_it_unread() -> None:
    text = "Lend at most five items."
    assert boundaries.limit(text, "under Lending") is not None
    assert boundaries.limit(text, "under What the desk must not do") is None


VALUES = ("adult", "young adult", "child", "guest_child")
LISTED = {
    "Only an adult may borrow films.": (("adult",), False),
    "A child must not borrow films.": (("child",), True),
    "A young adult must not borrow films.": (("young adult",), True),
    "A guest child must not borrow films.": (("guest_child",), True),
    "A child may borrow films.": None,
    "A child must not borrow films unless it is with an adult.": None,
    "Anybody may borrow films.": None,
    "Only a child: an adult may not.": None,
}


@pytest.mark.parametrize("text", LISTED)
def test_the_values_that_a_sentence_names_are_read_the_longest_first(text: str) -> None:
    found = boundaries.listed(text, VALUES)
    assert (None if found is None else (found.inside, found.banned)) == LISTED[text]
    assert found is None or set(found.inside) | set(found.outside) == set(VALUES)


BOX = Toolbox(
    (Tool("lend", arguments=(Field("items", "array"), Field("days", "integer", "for how many days"))),),
    (
        Field("age", "integer"),
        Field("fines", "integer"),
        Field("card", "boolean"),
        Field("kind", "string", values=("adult", "child", "guest")),
    ),
)
LEND = Predicate("lend", "action", "", tools=("lend",))


def asked(text: str, formula: str, **tests: str) -> dict[str, str]:
    """The questions about a rule that was read from a sentence."""
    ruleset = rules(text, formula, **tests)
    return boundaries.questions((account(text),), ruleset, BOX)


def account(text: str, **changes: object) -> Account:
    return Account("0" * 12, text, 0, len(text), (), "rule", "", ("r1",), ("lend",), **changes)


def rules(text: str, formula: str, clause: str = "c1", **tests: str) -> RuleSet:
    told = tuple(
        Predicate(name, "state", "", tools=("lend",) if "call." in test else (), test=cel.parse(test))
        for name, test in tests.items()
    )
    return RuleSet((LEND, *told), (Rule("r1", text, semantics.parse(formula), "forbid", clause=clause, quote=text),))


UNDER = "A reader under 18 must not borrow films."
MOST = "You can borrow at most five items."
CHILD = "A child must not borrow films."
FINE = {
    "a limit": (UNDER, "ALWAYS (lend IMPLIES adult)", {"adult": "state.age >= 18"}),
    "a ban": (UNDER, "ALWAYS (lend IMPLIES NOT young)", {"young": "state.age < 18"}),
    "a count": (MOST, "ALWAYS (lend IMPLIES few)", {"few": "size(call.items) <= 5"}),
    "in some circumstances": (
        UNDER,
        "ALWAYS ((lend AND card) IMPLIES adult)",
        {"adult": "state.age >= 18", "card": "state.card"},
    ),
    "a requirement": (
        "Fines above 50 need a card.",
        "ALWAYS ((lend AND high) IMPLIES card)",
        {"high": "state.fines > 50", "card": "state.card"},
    ),
    "a value": (CHILD, "ALWAYS (lend IMPLIES NOT child)", {"child": 'state.kind == "child"'}),
    "values alone": (
        "Only an adult may borrow films.",
        "ALWAYS (lend IMPLIES adult)",
        {"adult": 'state.kind == "adult"'},
    ),
    "no one input": (
        UNDER,
        "ALWAYS (lend IMPLIES adult AND paid)",
        {"adult": "state.age >= 17", "paid": "state.fines <= 3"},
    ),
}
WRONG = {
    "one off": (UNDER, "ALWAYS (lend IMPLIES adult)", {"adult": "state.age >= 19"}, "17, 16"),
    "one off below": (UNDER, "ALWAYS (lend IMPLIES adult)", {"adult": "state.age >= 17"}, "under 18"),
    "the other side": (UNDER, "ALWAYS (lend IMPLIES young)", {"young": "state.age < 18"}, "18, 19 comply"),
    "an edge": (UNDER, "ALWAYS (lend IMPLIES adult)", {"adult": "state.age > 18"}, "18, 19 comply"),
    "one value alone": (MOST, "ALWAYS (lend IMPLIES few)", {"few": "size(call.items) == 5"}, "5, 4 comply"),
    "all but one": (MOST, "ALWAYS (lend IMPLIES few)", {"few": "size(call.items) != 6"}, "6, 7 do not"),
    "another number": (MOST, "ALWAYS (lend IMPLIES few)", {"few": "size(call.items) <= 50"}, "at most five"),
    "what allows all": (MOST, "ALWAYS (lend IMPLIES few)", {"few": "size(call.items) >= 0"}, "6, 7 do not"),
    "what denies all": (
        MOST,
        "ALWAYS (lend IMPLIES few)",
        {"few": "size(call.items) <= 5 && size(call.items) > 9"},
        "5, 4 comply",
    ),
    "a requirement one off": (
        "Fines above 50 need a card.",
        "ALWAYS ((lend AND high) IMPLIES card)",
        {"high": "state.fines >= 50", "card": "state.card"},
        "are decided differently",
    ),
    "another value": (CHILD, "ALWAYS (lend IMPLIES NOT child)", {"child": 'state.kind == "guest"'}, "child"),
    "the converse": (CHILD, "ALWAYS (lend IMPLIES child)", {"child": 'state.kind == "child"'}, "adult, guest comply"),
}


@pytest.mark.parametrize(("text", "formula", "tests"), FINE.values(), ids=FINE)
def test_a_rule_that_says_its_sentence_has_no_question(text: str, formula: str, tests: dict) -> None:
    assert asked(text, formula, **tests) == {}


@pytest.mark.parametrize(("text", "formula", "tests", "said"), WRONG.values(), ids=WRONG)
def test_a_rule_that_says_something_else_has_one(text: str, formula: str, tests: dict, said: str) -> None:
    (why,) = asked(text, formula, **tests).values()
    assert "by its own words" in why and said in why


def test_what_a_person_decided_is_not_asked_about_and_neither_is_what_no_input_tells() -> None:
    wrong = rules(UNDER, "ALWAYS (lend IMPLIES adult)", clause="decided-0123456789ab", adult="state.age >= 21")
    assert boundaries.questions((account(UNDER),), wrong, BOX) == {}
    days = "Lend for at most 14 days."
    for unit, many in (("days", 0), ("weeks", 0)):  # weeks are not what the argument counts
        text = days.replace("days", unit)
        right = rules(text, "ALWAYS (lend IMPLIES short)", short="call.days <= 14")
        assert len(boundaries.questions((account(text),), right, BOX)) == many
    wrong = rules(days, "ALWAYS (lend IMPLIES short)", short="call.days <= 15")
    assert len(boundaries.questions((account(days),), wrong, BOX)) == 1


def test_examples_fail_a_guard_that_allows_everything_and_one_that_denies_everything() -> None:
    required = contract.contract(
        BOX.tool("lend"), rules(MOST, "ALWAYS (lend IMPLIES few)", few="size(call.items) <= 5")
    )
    parameter, bound = boundaries.read(MOST, required, BOX)
    told = boundaries.illustrated(required, parameter, bound)
    assert [dict(case) for case in told.compliance] == [{"count_items": 5}, {"count_items": 4}]
    assert [dict(case) for case in told.violations] == [{"count_items": 6}, {"count_items": 7}]
    everything, nothing = (examples.program(required, text) for text in ("True", "False"))
    assert all(everything.run(**dict(case))[0] for case in told.violations), "which are to be denied"
    assert not any(nothing.run(**dict(case))[0] for case in told.compliance), "which are to be allowed"


def test_an_item_shows_the_examples_of_its_sentence() -> None:
    ruleset = rules(MOST, "ALWAYS (lend IMPLIES few)", few="size(call.items) <= 5")
    item = Item("lend", "most", MOST, (Reference(MOST, 0, len(MOST)),), ("r1",))
    shown = boundaries.examples_of(item, (account(MOST),), ruleset, BOX)
    assert shown.compliance == ("count_items=5", "count_items=4")
    assert shown.violations == ("count_items=6", "count_items=7")
    elsewhere = Item("lend", "other", "x", (Reference("x", 90, 91),))
    assert boundaries.examples_of(elsewhere, (account(MOST),), ruleset, BOX) == elsewhere


def test_a_boundary_whose_side_is_not_told_may_be_either() -> None:
    bound = Boundary("over 65", (66, 67), (65, 64), None)
    assert bound.ways == (((66, 67), (65, 64)), ((65, 64), (66, 67)))
