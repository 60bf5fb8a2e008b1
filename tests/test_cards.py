"""Tables and cards as HTML and as plain text: each part by hand, and hostile text in every one of them."""

from __future__ import annotations

import io
import re
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from wb.runs import cards
from wb.runs.cards import Badge, Card, Cards, Note, Quote, Source, Stack

NASTY = "<script>alert(1)</script> & \"x\" 'y' {{ 7 * 6 }} <img src=x onerror=alert(1)> [bold]z[/bold] \x1b[31m \u202e"
HEAD = str(cards._macros().head())


class Pair(NamedTuple):
    """A row as a named tuple."""

    one: int
    two: str


@pytest.mark.parametrize(
    ("value", "text", "markup"),
    [
        ("a<b", "a<b", "a&lt;b"),
        (True, "yes", "yes"),
        (False, "no", "no"),
        (3, "3", "3"),
        (0.123456, "0.1235", "0.1235"),
        (float("nan"), "", ""),
        (None, "", ""),
        (("a", "b<"), "a; b<", "<ul><li>a</li><li>b&lt;</li></ul>"),
        (("a",), "a", "a"),
        ((), "", ""),
        (["a", 1], "a; 1", "a; 1"),
        ({"x": 1, "y": "z"}, "x=1, y='z'", "x=1, y=&#39;z&#39;"),
        (Quote("a<"), "a<", "<q>a&lt;</q>"),
        (Quote(""), "", ""),
        (("c1", Quote("a")), "c1; a", "c1 <q>a</q>"),
        (Source(""), "", ""),
    ],
)
def test_a_value_in_both_forms(value: object, text: str, markup: str) -> None:
    assert (cards.to_text(value), str(cards.to_html(value))) == (text, markup)


def test_code_is_set_as_code() -> None:
    short, long = (cards.to_html(Source(text)) for text in ("a<b" + "x" * (cards.PROSE - 3), "x" * (cards.PROSE + 1)))
    assert short.startswith("<code") and "white-space:nowrap" in short and ">a&lt;b" in short
    assert "white-space:normal" in long
    program = cards.to_html(Source("if x:\n    '</pre>'\n", "python"))
    assert "<pre" in program and "color:" in program and "class=" not in program.replace('class="highlight"', "")
    assert program.count("</pre>") == 1


@pytest.mark.parametrize(
    ("words", "colour"),
    [
        ("allow proved rule refuted guarded proved_for", cards.GREEN),
        ("deny error survived blocked", cards.RED),
        ("undecided open tested bounded unsettled proved,_1_open", cards.AMBER),
        ("duty permit_only_if free", cards.BLUE),
        ("waived oblige", cards.VIOLET),
        ("anything", cards.GREY),
    ],
)
def test_a_word_has_the_colour_of_its_kind(words: str, colour: str) -> None:
    for word in words.replace("proved_for", "proved-for").split():
        text = word if word in cards.COLOURS else word.replace("_", " ").replace("-", " ")
        assert cards.badge_colour(text) == colour and f"background-color:{colour}" in cards.to_html(Badge(text))
    assert len({cards.GREEN, cards.RED, cards.AMBER, cards.BLUE, cards.VIOLET, cards.GREY}) == 6


def test_a_table_has_a_head_a_body_and_a_title() -> None:
    shown = cards.table([{"a": "x", "n": 2}, {"a": None, "n": 0.5}], title="T<")
    page = shown.inner()
    assert page.count("<th ") == 2 == page.count("wbSort(this)") and page.count("<td ") == 4
    assert ">T&lt;</caption>" in page and re.findall(r'data-value="([^"]*)"', page) == ["2", "0.5"]
    assert repr(shown).split() == ["T<:", "a", "n", "x", "2", "0.5"]
    assert shown._repr_html_() == shown.html() == HEAD + str(page) and "<caption" not in cards.table([{"k": 3}]).inner()
    assert "function(head)" in HEAD and list(shown.frame["n"]) == [2, 0.5]


@pytest.mark.parametrize(("rows", "more"), [(cards.ROWS, 0), (cards.ROWS + 1, 1), (40, 28)])
def test_a_table_scrolls_and_is_cut_beyond_a_number_of_rows(rows: int, more: int) -> None:
    shown = cards.table({"n": i} for i in range(rows))
    assert ("max-height" in shown.inner()) == bool(more) and shown.inner().count("<tr>") == rows + 1
    lines = repr(shown).splitlines()
    assert len(lines) == 1 + cards.ROWS + bool(more) and (lines[-1] == f"… and {more} more rows") == bool(more)
    console = Console(file=io.StringIO())
    console.print(shown)
    assert len(console.file.getvalue().splitlines()) == rows + 1, "a terminal gets all of it"


def test_what_is_empty_says_so() -> None:
    assert cards.table([], title="T").inner() == "<em>T: nothing to show</em>"
    assert cards.table([], none="<none>").inner() == "<em>&lt;none&gt;</em>" == Cards((), none="<none>").inner().strip()
    assert repr(cards.table([], title="T", none="none")) == "T:\nnone" and repr(cards.table([])) == "nothing to show"
    assert repr(Cards(())) == "nothing to show"


def test_rows_are_mappings_named_tuples_or_dataclasses_and_columns_are_picked_ordered_and_named() -> None:
    for row in ({"one": 1, "two": "x"}, Pair(1, "x")):
        assert dict(cards.mapping(row)) == {"one": 1, "two": "x"}
    assert cards.mapping(Badge("x")) == {"text": "x"}
    assert cards.table([{"a": 1}, {"b": 2}]).columns == ("a", "b")
    assert cards.table([Pair(1, "x")], "two", "one", one="θ").columns == ("two", "θ")
    assert cards.listed("a, b", [("x", 1)], "T") == cards.table([{"a": "x", "b": 1}], title="T")


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (("1", "2.5", "1e-3", "1,000", "-", "97.0 [92, 99]", 1, -2, None, ""), "number"),
        (("1", "x"), ""),
        (("1 x",), ""),
        (("01_policy", "02_rules"), ""),
        (("3–9",), ""),
        ((None, ""), ""),
        (("x" * cards.PROSE,), ""),
        (("x" * (cards.PROSE + 1), 3, None, Badge("z"), Source("y" * 90)), "prose"),
    ],
)
def test_a_column_is_set_by_what_is_in_it(values: tuple[object, ...], kind: str) -> None:
    shown = cards.table({"a": value} for value in values)
    assert shown.kinds == (kind,) and shown.inner().count(f'<td class="{kind}"') == len(values)
    assert f'class="{kind}" style="text-align:{"right" if kind == "number" else "left"}' in shown.inner()


CARD = Card("T<", "proved", (("rules", "r<"), ("none", ""), ("code", Source("x")), ("nothing", ())))


def test_cards_leave_out_what_says_nothing_and_count_the_rest() -> None:
    page = CARD.inner()
    assert page.count("<tr>") == 2 and "T&lt;" in page and "r&lt;" in page and "none" not in page
    assert f"background-color:{cards.GREEN}" in page and "background-color" not in Card("x").inner()
    assert repr(CARD) == "T< [proved]\n  rules: r<\n  code: x" and repr(Card("x")) == "x"
    two = cards.first([CARD, Card("x"), CARD, CARD, CARD], 2, "")
    assert two.inner().count('<div class="wb card"') == 2 and two.html().rstrip().endswith("<em>and 3 more</em>")
    assert repr(two) == f"{CARD!r}\n\nx\n\nand 3 more" and "more" not in cards.first([CARD], 1, "").inner()
    both = Stack((Note("first"), cards.table([{"x": 1}], title="second")))
    assert both.inner().index("first") < both.inner().index("second") and repr(both).startswith("first\n\nsecond")


@pytest.mark.parametrize(
    "shown",
    [
        cards.table([{NASTY: NASTY}], title=NASTY),
        cards.table([{"a": part} for part in (Quote(NASTY), Badge(NASTY), Source(NASTY), (NASTY, Quote(NASTY)))]),
        cards.table([], title=NASTY, none=NASTY),
        Card(NASTY, NASTY, ((NASTY, NASTY), ("code", Source(NASTY, "python")), ("list", (NASTY, NASTY)))),
        Cards((), none=NASTY),
        Stack((Note(NASTY), Card(NASTY))),
        Note(NASTY),
    ],
    ids=lambda shown: type(shown).__name__,
)
def test_what_comes_from_outside_is_text_in_every_form(shown: object) -> None:
    page = str(shown.inner())
    assert not re.search(r"<(script|img|a|b)\b", page) and "&lt;" in page and not re.search(r"<[^>]+\bonerror", page)
    assert "42" not in page.replace("1424", ""), "a template in it is not run"
    for text in (repr(shown), terminal(shown)):
        assert "alert(1)" in text and "[bold]" in text and "\x1b" not in text and "\u202e" not in text
        assert "wb.runs" not in text


def terminal(shown: object) -> str:
    console = Console(file=io.StringIO(), width=1000, color_system=None)
    console.print(shown if hasattr(shown, "__rich_console__") else repr(shown), markup=False)
    return console.file.getvalue()


@pytest.mark.parametrize("shown", [CARD, cards.table([{"a": "x", "n": 2, "p": "y " * 60, "b": Badge("z")}], title="T")])
def test_a_viewer_that_drops_style_sheets_and_scripts_still_breaks_no_row(shown: object) -> None:
    page = str(shown.inner())
    cells = re.findall(r"<t[dh]\b[^>]*>", page)
    assert cells and all("white-space:" in cell and "text-align:" in cell for cell in cells)
    assert all("nowrap" in cell for cell in cells if "<th" in cell or 'class="number"' in cell or 'class=""' in cell)
    assert all("background-color:" in tag and "color:#ffffff" in tag for tag in re.findall("<span class[^>]*>", page))


@given(st.text(max_size=40))
@settings(max_examples=40, deadline=None)
def test_no_text_breaks_out_of_a_cell(text: str) -> None:
    page = str(cards.table([{"a": text, "b": 1}]).inner())
    assert page.count("<td") == 2 and page.count("<") == 2 * page.count("</")
    assert len(page.split("<tbody>")[1].split("</td>")) == 3


def test_in_a_terminal_numbers_stand_to_the_right_published_rows_are_dim_and_short_cells_whole() -> None:
    rows = [("a", "5", "word " * 40), ("b (published)", "-", "w")]
    (grid,) = cards.listed("method, n, what", rows)._rendered(rows)
    assert [column.justify for column in grid.columns] == ["left", "right", "left"]
    assert [row.style for row in grid.rows] == [None, "dim"]
    console = Console(file=io.StringIO(), width=50)
    console.print(cards.listed("tool, was, is", [("issue_permit", "proved for 3 rules", "tested " * 60)], "T"))
    title, head, first, *rest = console.file.getvalue().splitlines()
    assert title == "T:" and head.split() == ["tool", "was", "is"]
    assert "issue_permit  proved for 3 rules  tested" in first
    assert sum(line.count("tested") for line in (first, *rest)) == 60
    console = Console(file=io.StringIO(), width=20)
    console.print(
        cards.listed("tool, why", [("issue_permit", "since then it costs $10/day, and $100/week for a member")]),
        crop=False,
    )
    assert "$10/day," in console.file.getvalue() and "$100/week" in console.file.getvalue()


def test_names_in_addresses_and_numbers_with_their_nouns() -> None:
    assert cards.anchor("a b<'é.1_-") == "a_b__é.1_-" and (cards.count(1, "call"), cards.count(2, "call")) == (
        "1 call",
        "2 calls",
    )
