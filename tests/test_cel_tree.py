"""The syntax of CEL: the trees and the places of mistakes that its grammar gives, read by an independent parser."""

from __future__ import annotations

import random

import pytest
from oracles import cel_grammar

from wb.logic import cel
from wb.logic.cel import NoCel, Token, Tree

WORDS = [
    *("a", "b", "x.y", "1", "2.5", ".5", "1e3", "0x1F", "7u", "'s'", '"t"', "r'q'", "b'z'", '"""m"""', "'\\''", "'\\"),
    *("true", "null", "in", "inn", "(", ")", "[", "]", "{", "}", ",", ":", "?", ".", "!", "-", "+", "*", "/", "%"),
    *("==", "!=", "<", "<=", ">", ">=", "&&", "||", "=", "&", "'", "é", " ", "//c\n", "\n", "f(", "f()", "a.b(", "x{"),
]
VALUES = ["a", "1", "'s'", "x.y", "true", "2.5", "null", "[]", "{}", "f()", "M{}", ".g", "b'z'", "7u"]
FORMS = [
    *("({})", "!{}", "-{}", "{}?{}:{}", "{}.n", "{}[{}]", "{}.m({}, {})", "f({})", "[{},{},]", "{{{}:{}, {}:{}}}"),
    *("{}{{k:{},j:{}}}", ".f({})", "{{{}:{},}}", *(f"{{}} {sign} {{}}" for sign in cel.BINARY)),
]


def shape(node: Tree | Token) -> tuple:
    """What a part is, its parts, and where it begins."""
    if isinstance(node, Token):
        return node.text, node.start
    return node.data, tuple(map(shape, node.children)), node.start


def read(text: str) -> tuple | int | None:
    """The tree of a text, or the place where it is none."""
    try:
        return shape(cel.tree(text))
    except NoCel as error:
        return error.at


def written(draw: random.Random, depth: int) -> str:
    """A text of the language."""
    if depth == 0:
        return draw.choice(VALUES)
    form = draw.choice(FORMS)
    inner = form.replace("{{", "").replace("}}", "").count("{}")
    return form.format(*(written(draw, depth - 1 if draw.random() < 0.8 else 0) for _ in range(inner)))


@pytest.mark.parametrize("seed", range(4))
def test_any_text_has_the_tree_or_the_mistake_that_the_grammar_gives(seed: int) -> None:
    draw, trees = random.Random(seed), 0
    for number in range(600):
        if number % 2:
            text = "".join(draw.choice(WORDS) + draw.choice(["", " "]) for _ in range(draw.randint(0, 9)))
        else:
            text = written(draw, draw.randint(0, 4))
            if draw.random() < 0.3:  # one character is another one
                at = draw.randrange(len(text))
                text = text[:at] + draw.choice(["", draw.choice(WORDS)]) + text[at + 1 :]
        wanted = cel_grammar.tree(text)
        assert read(text) == wanted, text
        trees += isinstance(wanted, tuple)
    assert 150 < trees < 450, "texts that are CEL and texts that are none were required"


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("", None),
        ("a +", None),
        ("(a", None),
        ("a ? b", None),
        ("a b", 2),
        ("a ? b ? c : d : e", 6),
        ("!-a", 1),
        ("-!a", 1),
        ("f(a,)", 4),
        ("{a}", 2),
        ("{a: b: c}", 5),
        ("M{1: a}", 2),
        ("(a, b)", 2),
        ("a[b, c]", 3),
        ("(a]", 2),
        ("a.true", 2),
        ("a = b", 2),
        ("'a", 0),
        ("a)", 1),
        ("a : b", 2),
    ],
)
def test_a_mistake_is_where_the_first_word_stands_that_cannot_go_on(text: str, at: int | None) -> None:
    assert read(text) == at == cel_grammar.tree(text)


def test_operators_hold_as_strongly_as_the_language_says() -> None:
    told = {
        "a || b && c": "disjunction(name(a) conjunction(name(b) name(c)))",
        "a - b - c": "arithmetic(arithmetic(name(a) - name(b)) - name(c))",
        "-a.b[c]": "minus(index(select(name(a) b) name(c)))",
        "a ? b : c ? d : e": "conditional(name(a) name(b) conditional(name(c) name(d) name(e)))",
        "(a && b) && c && d": "conjunction(conjunction(name(a) name(b)) name(c) name(d))",
        "a < b + c * d": "comparison(name(a) < arithmetic(name(b) + arithmetic(name(c) * name(d))))",
        "a in b == c": "comparison(one_of(name(a) name(b)) == name(c))",
    }

    def said(node: Tree | Token) -> str:
        return node.text if isinstance(node, Token) else f"{node.data}({' '.join(map(said, node.children))})"

    assert {text: said(cel.tree(text)) for text in told} == told


def test_a_part_begins_at_its_first_word_and_what_it_stands_in_at_the_bracket_around_it() -> None:
    whole = cel.tree("  (a + b) * c")
    assert (whole.start, whole.children[0].start, whole.children[0].outer) == (2, 3, 2)


@pytest.mark.parametrize(
    "text", ["(" * 9000 + "a" + ")" * 9000, "[" * 9000 + "]" * 9000, "-" * 9000 + "a", "a?b:" * 9000 + "c"]
)
def test_no_text_is_too_deep_to_be_read(text: str) -> None:
    assert isinstance(cel.tree(text), Tree)
