"""Tables and cards in their three forms, each part by hand."""

from __future__ import annotations

import html
from typing import NamedTuple

import pytest

from wb.runs import cards
from wb.runs.cards import Badge, Card, Cards, Note, Quote, Source, Table

NAN = float("nan")


class Pair(NamedTuple):
    """A row as a named tuple."""

    one: int
    two: str


def bare(page: str) -> str:
    return page.replace(cards.STYLE, "").replace(cards.SORT, "")


@pytest.mark.parametrize(
    ("value", "text", "markup", "markdown"),
    [
        ("a<b", "a<b", "a&lt;b", "a&lt;b"),
        (True, "yes", "yes", "yes"),
        (False, "no", "no", "no"),
        (3, "3", "3", "3"),
        (0.123456, "0.1235", "0.1235", "0.1235"),
        (NAN, "", "", ""),
        (None, "", "", ""),
        (("a", "b"), "a; b", "<ul><li>a</li><li>b</li></ul>", "a; b"),
        (("a",), "a", "a", "a"),
        ((), "", "", ""),
        (["a", 1], "a; 1", "a; 1", "a; 1"),
        ({"x": 1, "y": "z"}, "x=1, y='z'", "x=1, y=&#x27;z&#x27;", "x=1, y='z'"),
        (Quote("a"), "a", "<q>a</q>", "“a”"),
        (Quote(""), "", "", "“”"),
        (("c1", Quote("a")), "c1; a", "c1 <q>a</q>", "c1 “a”"),
        (Source(""), "", "", "``"),
    ],
)
def test_a_value_in_its_three_forms(value: object, text: str, markup: str, markdown: str) -> None:
    assert cards.to_text(value) == text
    assert cards.to_html(value) == markup
    assert cards._markdown(value) == markdown


def test_code_is_set_as_code() -> None:
    short, long = cards.to_html(Source("a<b")), cards.to_html(Source("x" * (cards.PROSE + 1)))
    assert short.startswith("<code") and "white-space:nowrap" in short and ">a&lt;b</code>" in short
    assert "white-space:normal" in long and "white-space:nowrap" in cards.to_html(Source("x" * cards.PROSE))
    program = cards.to_html(Source("if x:\n    pass\n", "python"))
    assert "<pre" in program and "color:" in program and "class=" not in program.replace('class="highlight"', "")
    assert cards._markdown(Source("a`b")) == "`aˋb`"
    assert cards._markdown(Source("x = '```'\n", "python")) == "\n\n```python\nx = '` ` `'\n```"


@pytest.mark.parametrize(
    ("text", "colour"),
    [(word, cards.GREEN) for word in "allow proved rule refuted guarded".split()]
    + [(word, cards.RED) for word in "deny error survived blocked".split()]
    + [(word, cards.AMBER) for word in "undecided open tested bounded unsettled".split()]
    + [(word, cards.BLUE) for word in "duty permit_only_if free".split()]
    + [(word, cards.VIOLET) for word in "waived oblige".split()]
    + [("anything", cards.GREY), ("proved for 2 rules", cards.GREEN), ("proved, 1 open", cards.AMBER)],
)
def test_a_word_has_the_colour_of_its_kind(text: str, colour: str) -> None:
    assert cards.badge_colour(text) == colour and f"background-color:{colour}" in cards.to_html(Badge(text))


def test_colours_are_apart() -> None:
    colours = {cards.GREEN, cards.RED, cards.AMBER, cards.BLUE, cards.VIOLET, cards.GREY}
    assert len(colours) == 6


def test_a_table_has_a_head_a_body_and_a_title() -> None:
    shown = cards.table([{"a": "x", "n": 2}, {"a": None, "n": 0.5}], title="T<")
    page = bare(shown.html())
    assert page.count("<th ") == 2 and page.count("<td ") == 4 and page.count("<tr>") == 3
    assert ">T&lt;</caption>" in page and cards.WIDE in page and cards.TALL not in page
    assert 'data-value="2"' in page and 'data-value="0.5"' in page and page.count("data-value") == 2
    assert shown.markdown().splitlines() == [
        "**T&lt;**", "", "| a | n |", "| --- | --- |", "| x | 2 |", "|  | 0.5 |",
    ]  # fmt: skip
    assert repr(shown).splitlines()[0] == "T<" and repr(shown).split()[1:] == ["a", "n", "x", "2", "0.5"]
    assert shown._repr_html_() == shown.html() and shown._repr_markdown_() == shown.markdown()


@pytest.mark.parametrize(("rows", "tall", "more"), [(cards.ROWS, False, 0), (cards.ROWS + 1, True, 1)])
def test_a_table_scrolls_and_is_cut_beyond_a_number_of_rows(rows: int, tall: bool, more: int) -> None:
    shown = cards.table({"n": i} for i in range(rows))
    assert (cards.TALL in shown.html()) == tall
    lines = shown.markdown().splitlines()
    assert len(lines) == 2 + cards.ROWS + 2 * more and (f"and {more} more rows" in lines[-1]) == bool(more)


def test_an_empty_table_says_so() -> None:
    assert cards.table([], title="T").html() == "<em>T: nothing to show</em>"
    assert cards.table([], none="<none>").html() == "<em>&lt;none&gt;</em>"
    assert (
        cards.table([], none="none").markdown()
        == "*none*"
        == cards.table([]).markdown().replace("nothing to show", "none")
    )
    assert cards.table([], title="T", none="none").markdown() == "**T**\n\n*none*"
    assert repr(cards.table([], title="T", none="none")) == "T\nnone" and repr(cards.table([])) == "nothing to show"


def test_rows_may_be_mappings_named_tuples_or_dataclasses() -> None:
    for row in ({"one": 1, "two": "x"}, Pair(1, "x")):
        assert dict(cards.mapping(row)) == {"one": 1, "two": "x"}
    assert cards.mapping(Badge("x")) == {"text": "x"}
    assert list(cards.table([{"a": 1}, {"b": 2}]).frame.columns) == ["a", "b"]
    assert list(cards.table([Pair(1, "x")], "two").frame.columns) == ["two"]


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (("1", "2.5"), "number"), (("1e-3",), "number"), (("1,000",), "number"), (("-",), "number"), (("1", "x"), ""),
        (("1 x",), ""), (("x" * cards.PROSE,), ""), (("x" * (cards.PROSE + 1),), "prose"),
        (("", "1"), "number"), ((), ""),
    ],
)  # fmt: skip
def test_a_column_is_set_by_what_is_in_it(texts: tuple[str, ...], kind: str) -> None:
    assert cards.table({"a": text} for text in texts)._kind("a") == kind if texts else kind == ""


CARD = Card("T<", "proved", (("rules", "r<"), ("none", ""), ("code", Source("x")), ("nothing", ())))


def test_a_card_leaves_out_what_says_nothing() -> None:
    page = CARD.inner()
    assert page.count("<tr>") == 2 and "T&lt;" in page and "r&lt;" in page and "none" not in page
    assert f"background-color:{cards.GREEN}" in page and "background-color" not in Card("x").inner()
    assert CARD.html() == f'{cards.STYLE}<div class="wb card" style="{cards.FRAME}">{page}</div>'
    assert CARD.markdown() == "**T&lt;** *proved*\n\nrules: r&lt;\n\ncode: `x`" and Card("x").markdown() == "**x**"
    assert repr(CARD) == "T< [proved]\n  rules: r<\n  code: x" and repr(Card("x")) == "x"


def test_cards_stand_under_one_another_and_count_the_rest() -> None:
    two = Cards((CARD, Card("x")), 3)
    assert bare(two.html()).count('<div class="wb card"') == 2 and two.html().endswith("<em>and 3 more</em>")
    assert two.html().count(cards.STYLE) == 1 and "more" not in Cards((CARD,)).html()
    assert two.markdown() == f"{CARD.markdown()}\n\n---\n\n**x**\n\n---\n\n*and 3 more*"
    assert repr(two) == f"{CARD!r}\n\nx\n\nand 3 more"
    none = Cards(())
    assert (none.html(), none.markdown(), repr(none)) == (
        "<em>nothing to show</em>",
        "*nothing to show*",
        "nothing to show",
    )


def test_a_note_is_a_sentence() -> None:
    note = Note("a < *b*")
    assert (note.html(), note.markdown(), repr(note)) == ("<p>a &lt; *b*</p>", "a &lt; \\*b\\*", "a < *b*")


@pytest.mark.parametrize("sign", "\\`*_[]|#~!$")
def test_signs_of_markdown_are_escaped(sign: str) -> None:
    assert cards._safe(f"a{sign}b") == f"a\\{sign}b" and html.unescape(cards._safe("a  <b>\n")) == "a <b>"


def test_a_table_is_a_frame() -> None:
    assert isinstance(cards.table([{"a": 1}]), Table) and cards.table([{"a": 1}]).frame["a"][0] == 1


def test_a_stack_shows_its_parts_in_their_order_in_each_form() -> None:
    both = cards.Stack((Note("first <b>"), cards.table([{"x": 1}], title="second")))
    assert bare(both.html()).index("first &lt;b&gt;") < bare(both.html()).index("second")
    assert both.markdown() == f"{both.parts[0].markdown()}\n\n{both.parts[1].markdown()}"
    assert repr(both).startswith("first <b>\n\nsecond") and both._repr_html_() == both.html()
