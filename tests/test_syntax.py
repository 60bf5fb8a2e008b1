"""The text of formulas: round trips, precedence, errors that point at their place, hostile input."""

import pickle
import time

import pytest
from formulas import BINARY, UNARY
from hypothesis import given, settings
from hypothesis import strategies as st

from wb.logic import formula as F
from wb.logic.syntax import MAX_DEPTH, MAX_LENGTH, STYLES, FormulaError, parse, render

a, b, c = F.Atom("a"), F.Atom("b"), F.Atom("c")


def depth(formula):
    return F.fold(formula, lambda node, below: 1 + max(below) if below else 0)


def formulas(names="abc"):
    leaves = st.one_of(st.sampled_from([F.Atom(n) for n in names]), st.booleans().map(F.Constant))
    return st.recursive(
        leaves,
        lambda below: st.one_of(
            st.builds(lambda op, x: op(x), st.sampled_from(UNARY), below),
            st.builds(lambda op, x, y: op(x, y), st.sampled_from(BINARY), below, below),
        ),
        max_leaves=12,
    )


@given(formulas(), st.sampled_from(STYLES))
@settings(max_examples=500, deadline=None)
def test_every_formula_is_read_back_from_its_text(formula, style):
    assert parse(render(formula, style)) == formula


@pytest.mark.parametrize(
    "text, full",
    [
        ("ALWAYS a IMPLIES b", "(ALWAYS a) IMPLIES b"),
        ("NOT a UNTIL b AND c", "((NOT a) UNTIL b) AND c"),
        ("a AND b XOR c OR a IMPLIES b IFF c", "((((a AND b) XOR c) OR a) IMPLIES b) IFF c"),
        ("a IMPLIES b IMPLIES c", "a IMPLIES (b IMPLIES c)"),
        ("a UNTIL b SINCE c", "a UNTIL (b SINCE c)"),
        ("a OR b OR c", "(a OR b) OR c"),
        ("G(a & !b -> F c)", "ALWAYS ((a AND (NOT b)) IMPLIES (EVENTUALLY c))"),
        ("□(¬a ∨ ○b) ∧ ⊖⟐⊟c", "(ALWAYS ((NOT a) OR (NEXT b))) AND (PREVIOUSLY (ONCE (HISTORICALLY c)))"),
        ("N a W b R c U true", "(WEAK_NEXT a) WEAK_UNTIL (b RELEASE (c UNTIL true))"),
        ("a && b || ~c => a <=> b ^ ⊤", "(((a AND b) OR (NOT c)) IMPLIES a) IFF (b XOR true)"),
    ],
)
def test_precedence_and_spellings_are_as_documented(text, full):
    assert parse(text) == parse(full)


@pytest.mark.parametrize(
    "text, column, words",
    [
        ("", 1, "got the end of the text"),
        ("a b", 3, "expected an operator"),
        ("a AND", 6, "expected a predicate"),
        ("(a OR b", 1, "expected ')' for this '('"),
        ("a)", 2, "no '(' before it"),
        ("a and b", 3, "written in capitals, AND"),
        ("a AND Paid", 7, "[a-z][a-z0-9_]*"),
        ("a AND \u0430", 7, "CYRILLIC SMALL LETTER A"),
        ("ALWAYS (a IMPLIES )", 19, "expected a predicate"),
        ("a <- b", 3, "LESS-THAN SIGN"),
    ],
)
def test_an_error_names_its_column_and_what_was_expected(text, column, words):
    with pytest.raises(FormulaError) as caught:
        parse(text)
    message = str(caught.value)
    assert f"column {column}:" in message and words in message
    assert message.splitlines()[-1].index("^") == column + 1, "the caret stands under the column, two to the right"


def test_an_error_shows_the_line_it_is_on():
    with pytest.raises(FormulaError, match=r"line 3, column 4.*\n  OR OR b\n     \^"):
        parse("a\n  AND b\nOR OR b")


@pytest.mark.parametrize(
    "text",
    [
        "(" * 100_000,
        "!" * 99_999 + "a",
        "a" * 1_000_000,
        "a & " * 24_999 + "a",
        "a->" * 33_000 + "a",
        "(a)" * 30_000,
        "((((a",
        " " * 99_999,
        "G" * 50_000,
        b"a",
        None,
        "\x00",
        "a\ud800",
    ],
)
def test_hostile_text_is_refused_clearly_and_fast(text):
    start = time.process_time()
    with pytest.raises(FormulaError) as caught:
        parse(text)
    assert time.process_time() - start < 2.0
    assert len(str(caught.value)) < 600


@given(st.text(max_size=60) | st.text(alphabet="abGFXUWR()!&|-><^ NOTAD\n~∧□", max_size=60))
@settings(max_examples=500, deadline=None)
def test_any_text_is_a_formula_or_a_formula_error(text):
    try:
        formula = parse(text)
    except FormulaError as error:
        assert str(error)
    else:
        assert parse(render(formula)) == formula


def test_bounds_are_reached_before_they_are_refused():
    assert depth(parse("!" * MAX_DEPTH + "a")) == MAX_DEPTH
    assert parse("a".ljust(MAX_LENGTH)) == a
    with pytest.raises(FormulaError, match="nested"):
        parse("!" * (MAX_DEPTH + 1) + "a")


def test_formulas_nested_deeper_than_the_stack_still_compare_and_print():
    one, two = a, a
    for _ in range(5000):
        one, two = F.Not(one), F.Not(two)
    assert one == two and hash(one) == hash(two) and one != F.Not(two)
    assert depth(one) == 5000 and repr(one).startswith("Not(Not(") and render(one, "ascii") == "!" * 5000 + "a"


def test_equality_tells_operators_apart_and_survives_pickling():
    assert F.And(a, b) != F.Or(a, b) and hash(F.And(a, b)) != hash(F.Or(a, b))
    whole = F.Always(F.Implies(F.And(a, b), F.Since(c, a)))
    assert pickle.loads(pickle.dumps(whole)) == whole


@pytest.mark.parametrize("name", ["A", "1a", "a-b", "", "a b", "true", "é"])
def test_a_predicate_name_has_small_letters_digits_and_underscores(name):
    with pytest.raises(ValueError):
        F.Atom(name)


@pytest.mark.parametrize(
    ("texts", "formula"),
    [
        ("NOT a|! a|!a|~a", F.Not(a)),
        ("ALWAYS a|G a|GLOBALLY a", F.Always(a)),
        ("EVENTUALLY a|F a|FINALLY a", F.Eventually(a)),
        ("NEXT a|X a", F.Next(a)),
        ("WEAK_NEXT a|N a|WX a", F.WeakNext(a)),
        ("ONCE a|O a", F.Once(a)),
        ("HISTORICALLY a|H a", F.Historically(a)),
        ("PREVIOUSLY a|Y a", F.Previously(a)),
        ("a UNTIL b|a U b", F.Until(a, b)),
        ("a RELEASE b|a R b", F.Release(a, b)),
        ("a WEAK_UNTIL b|a W b", F.WeakUntil(a, b)),
        ("a SINCE b|a S b", F.Since(a, b)),
        ("a AND b|a & b|a && b", F.And(a, b)),
    ],
)
def test_an_operator_is_read_from_its_word_its_letter_and_its_signs(texts, formula):
    assert {parse(text) for text in texts.split("|")} == {formula}
