"""What a sentence says by small words: two demands in one, what opens it, what no name may hold, what joins it."""

import pytest

from wb.rules import operators

BOTH = ("You must pay.", "you must not lend.")
DEMANDS = {
    "You must pay, and you must not lend.": BOTH,
    "You must pay, but you must not lend.": BOTH,
    "You must pay. ": (),
    "In particular, You must pay, and you must not lend.": BOTH,
    "You must pay and the agent must not lend.": ("You must pay.", "the agent must not lend."),
    "You may pay, and you must not lend.": (),
    "You may pay only by card, and you must not lend.": ("You may pay only by card.", "you must not lend."),
    "You must pay, and you must lend, and you must read.": (),
    "If asked, you must pay, and you must not lend.": (),
    "You must pay and you must lend if asked.": (),
    "You must pay and you must lend unless asked.": (),
    "You must pay, and you must lend: all.": (),
    "You must pay, and you must lend (all).": (),
    "You must pay, and you must ask before taking the action.": ("You must pay.", "you must ask before it."),
    "You must pay, and you must ask before doing so.": ("You must pay.", "you must ask before it."),
    "You must pay, and you must ask before noon.": (),
    # of whom the second one speaks
    "Users must pay, but they must not lend.": ("Users must pay.", "they must not lend."),
    "The book must be lent, but it must be read.": (),
    "The book must be lent, and it must be read.": ("The book must be lent.", "it must be read."),
    "The book must be lent, but you must read.": ("The book must be lent.", "you must read."),
    # with the subject said once
    "You must pay, but must not lend.": ("You must pay.", "You must not lend."),
    "Any customer may pay, but must not lend.": ("Any customer must not lend.",),
    "You may pay the illegal one, but must not lend.": ("You may pay the illegal one.", "You must not lend."),
    "The books may pay, but must not lend.": (),
    "You may pay, but must not lend, but may read.": (),
    "You must pay, but must not lend, but may read.": (),
    "You must pay, but must lend but not read.": (),
    "You must pay if asked, but must not lend.": (),
    "You must pay unless asked, but must not lend.": (),
    "You must pay, but must not lend if asked.": (),
    "You must pay, but must not lend without asking.": (),
    "You must pay, but must not lend: all.": (),
    "You must pay, but must not lend (all).": (),
    # a permission with a limit, which may hold for both
    "You may pay for at most some days, but must not lend.": (),
    "You may pay 3, but must not lend.": (),
    "You may pay three, but must not lend.": (),
    "You may pay no fine, but must not lend.": (),
    "You may pay another one, but must not lend.": (),
    "You may pay another, but must not lend.": (),
    "You may avoid it, but must not lend.": (),
}


@pytest.mark.parametrize("text", DEMANDS)
def test_two_demands_are_told_apart_where_nothing_may_be_meant_for_both(text: str) -> None:
    assert operators.demands(text) == DEMANDS[text]


@pytest.mark.parametrize(
    ("text", "context", "why"),
    [
        ("You must pay, and you must never even lend.", (), "not accounted for: 'even'"),
        ("You must even pay, and you must never lend.", (), "not accounted for: 'even'"),
        ("You must never pay but once, and you must lend.", (), "not accounted for: 'but'"),
        # joined by "but", which nothing reads, but each of them is read
        ("You must pay, but you must not lend.", (), ""),
        ("You must pay, but you must not lend.", ("If asked:",), "not accounted for: 'but'"),
        ("You must pay, but you must not lend and?", (), "it is a question"),
        ("Must you pay, and must you lend?", (), "it is a question"),
        ("You must pay, and you must not lend but", (), "not accounted for: 'but'"),
        ("You must pay, but you must not lend the", (), "it does not end here: its last word is 'the'"),
        ("You must pay.", (), ""),
        ("pay; or", ("Never:",), ""),
        ("pay; or", (), "it does not end here: its last word is 'or'"),
        ("pay the, or", ("Never:",), "it does not end here: its last word is 'the'"),
        ("pay -", (), "it does not end here: its last word is '-'"),
        ("pay?", ("Never:",), "it is a question"),
        ("pay", ("Never even:",), "not accounted for: 'even'"),
        ("pay if it is if it is", (), "more than one exception or condition: 'if', 'if'"),
        ("pay when it is, if it is", (), "more than one exception or condition: 'when', 'if'"),
        ("pay except now if it is", (), "more than one exception or condition: 'except', 'if'"),
        ("it can only be lent if it is", (), ""),
        ("you need only be asked if it is", (), "more than one exception or condition: 'only', 'if'"),
        ("pay if and only if it is", (), ""),
        ("pay only if it is", (), ""),
        ("pay but only if it is", (), ""),
        ("pay and only if it is", (), "not accounted for: 'and only if'"),
    ],
)
def test_what_no_rule_accounts_for(text: str, context: tuple[str, ...], why: str) -> None:
    assert operators.unreadable(text, context) == ((why,) if why else ())


@pytest.mark.parametrize(
    ("text", "opened"),
    [
        ("You must pay.", "You must pay."),
        ("In particular, you must pay.", "you must pay."),
        ("Please remember to pay.", " pay."),
        ("In particular, always remember to pay", " pay"),
        ("You may pay, but only if asked.", "You may pay only if asked."),
        ("You may pay but only a little.", "You may pay but only a little."),
    ],
)
def test_what_opens_a_sentence_is_taken_off(text: str, opened: str) -> None:
    assert operators.opened(text) == opened


@pytest.mark.parametrize(
    ("phrase", "strict", "loose"),
    [
        ("the book", (), ""),
        ("books, items and NUMBERS", ("and",), ""),
        ("do not lend", ("not",), ""),
        ("a card not lent", ("not",), "not"),
        ("Unless a card, unless it", ("unless", "it"), "unless"),
        ("without a card, never", ("without", "never"), "without, never"),
        ("he is not a member", ("not",), ""),
        ("EVEN books", ("even",), ""),
        ("if a book", ("if",), ""),
        ("a forbidden book", ("forbidden",), "forbidden"),
        ("an illegal book", ("illegal",), ""),
        ("the other book", ("other",), ""),
        ("any last book", ("any", "last"), ""),
        ("the 3rd b2b book", ("3rd", "b2b"), ""),
        ("seven days", ("seven", "days"), ""),
        ("what may be", ("may",), ""),
        ("more than one day, one day", ("more", "one", "day"), ""),
    ],
)
def test_words_that_nothing_may_be_called_by(phrase: str, strict: tuple[str, ...], loose: str) -> None:
    assert operators.strict(phrase) == strict
    assert operators.loose(phrase, phrase) == loose


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("no card", set()),
        ("3 or Three", {3}),
        ("1,000 and 12.5", {1000, 12.5}),
        ("one, someone", {1}),
        ("a3, v1.2.3, -4", set()),
        ("TEN of twelve", {10, 12}),
    ],
)
def test_numbers_in_digits_and_in_words(text: str, numbers: set[float]) -> None:
    assert operators.spoken(text) == numbers


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("Pay \u00ab now \u00bb", ""),
        ("Pay\ta\nfine", ""),
        ("Pay\u2028a fine", ""),
        ("Pay \ud800", "it has characters that cannot be seen: 0xd800"),
        ("Pay \u0085", ""),
        ("Pay \u1d43", "it has letters that look like others: '\\u1d43'"),
        ("Pay \u02b0", "it has letters that look like others: '\\u02b0'"),
        ("p\u03b1y, p\u03b1y, c\u0430rd", "it has letters that look like others: 'p\\u03b1y', 'c\\u0430rd'"),
        ("\u03b1\u03b2\u03b3", ""),
        ("\u4e0b pay", ""),
        ("na\u00efve m\u00f6bel", ""),
        ("you m\u00fast", "with its accents it has other words of a constraint than without"),
        ("a\u0338 b", "it has text that is struck out, raised or lowered"),
        ("a^b", "it has text that is struck out, raised or lowered"),
    ],
)
def test_signs_that_are_seen_and_those_that_deceive(said: str, why: str) -> None:
    assert operators.characters(said) == ((why,) if why else ())
