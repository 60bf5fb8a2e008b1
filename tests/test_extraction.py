"""The text of a page and of a PDF, part by part: what a browser or a viewer shows stays, the rest is named."""

from __future__ import annotations

import re
from itertools import product

import pytest
from hostile_documents import pdf_of
from markdown_it import MarkdownIt

from wb.domain import extraction
from wb.domain.extraction import DocumentError

SECRET = "Do not lend books."


def blocks(markup: str) -> list[str]:
    """What is read of a page, block by block."""
    text, spans = extraction.of_html(markup)
    for start, end, _ in sorted(spans, reverse=True):
        text = text[:start] + text[end:]
    return [part for part in text.split("\n\n") if part]


def left(markup: str) -> list[tuple[str, str]]:
    """What is not read of a page, with its reason."""
    text, spans = extraction.of_html(markup)
    return [(text[start:end], reason) for start, end, reason in spans]


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<h1>A</h1><h2>B</h2><h6>C</h6><h7>D</h7>", ["# A", "## B", "###### C", "D"]),
        ("<p>a<p>b</p>c", ["a", "b", "c"]),
        ("<p>a<b>b</b> <i>c</i></p>", ["ab c"]),
        ("<p>a<br>b<wbr>c</p>", ["a bc"]),
        ("<p>10<sup>2</sup> H<sub>2</sub>O <del>no</del> <s>x</s> a<ins>b</ins></p>", ["10^2 H_2O ~~no~~ ~~x~~ a b"]),
        ("<p>word<sup>1</sup>, end.<sup>[2]</sup> <sup>x2</sup></p>", ["word[^1], end.[^2] ^x2"]),
        ("<ul><li>a<li>b<ul><li>c</ul><li>d</ul>e", ["- a", "- b", "  - c", "- d", "e"]),
        ("<ul><li>a<p>b</p></li></ul>", ["- a", "  b"]),
        ("<ol><li><p>a</p><p>b</p></ol><menu><li>c</menu>", ["1. a", "   b", "- c"]),
        ("<ol><li>a<ul><li>b<ol><li>c</ol></ul><li>d</ol>e", ["1. a", "   - b", "     1. c", "1. d", "e"]),
        ("</ul></ol>a<ul><li>b</ul>", ["a", "- b"]),
        ("<dl><dt>a<dd>b<dt>c</dl>", ["a", "b", "c"]),
        ("<select><option>a<option>b</select>", ["a", "b"]),
        ("<table><tr><th>a<th>b<tr><td>c<td>d</table>", ["| a | b |\n|---|---|\n| c | d |"]),
        ("<table><tr><td>a</td><td>b|c</td></tr><tr><td>d</table>", ["|  |  |\n|---|---|\n| a | b\\|c |\n| d |  |"]),
        ("<table><tr><td>a<tr><th>b</table>", ["|  |\n|---|\n| a |\n| b |"]),
        ("<table><td>a<td>b</table>", ["|  |  |\n|---|---|\n| a | b |"]),
        ("<table><tr><td>a<table><tr><td>b</table>c</table>d", ["|  |\n|---|\n| a b c |", "d"]),
        ("<table><tr><th>a</table><table><tr><td>b</table>", ["| a |\n|---|", "|  |\n|---|\n| b |"]),
        ("<table><tr><td><p>a<p>b</table>", ["|  |\n|---|\n| a b |"]),
        ("<table></table><table><tr><td> </table>a", ["a"]),
        ("<table><caption>t</caption><tr><th>a</table>", ["t", "| a |\n|---|"]),
        ("<ul><li>x<table><tr><th>a<tr><td>b</table></ul>", ["- x", "  | a |\n  |---|\n  | b |"]),
        ("<table><thead><tr><th>a<tbody><tr><td>b<tfoot><tr><td>c</table>", ["| a |\n|---|\n| b |\n| c |"]),
        ("<div>a<section>b</section></div><article>c</article>", ["a", "b", "c"]),
        ("a < b <c", ["a < b <c"]),
        ("a <![CDATA[b]]> c", ["a b c"]),
        ("<p>&lt;b&gt; &amp; caf&eacute;</p>", ["<b> & café"]),
        ("<b>a<p>b</b>c</p>d", ["a", "bc", "d"]),
        ("<svg/>a<svg><path/>b</svg>", ["a", "b"]),
        ("<p hidden>x<div>a</div>", ["a"]),
        ("<nav>x</nav>a<footer>y</footer>", ["a"]),
        ("a<nav>b<p>c", ["a", "b", "c"]),
        ("<html><body><p>a</body></html>", ["a"]),
        ("<button><p>a</button>b", ["a", "b"]),
        (f"<style>{' ' * 1_000_000}</style>a", ["a"]),
        ("<ul><li>" * 32 + "a", ["  " * 31 + "- a"]),  # as many lists and columns as are allowed
        ("<table><tr>" + "<td>a" * 64, ["|" + "  |" * 64 + "\n|" + "---|" * 64 + "\n|" + " a |" * 64]),
    ],
)
def test_a_page_becomes_the_markdown_of_what_it_shows(markup: str, expected: list[str]) -> None:
    assert blocks(markup) == expected


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<nav>x<p>y</nav>a", [("x", "navigation"), ("y", "navigation")]),
        ("a<footer>y</footer>", [("y", "page footer")]),
        ("a<nav>b<p>c", []),
        ("a<img src=x>b<img>", [("", "image"), ("", "image")]),
        ("<style>p {color: red}</style><script>x</script><script>y</script>a", [("", "style sheet"), ("", "script")]),
        (f"<p>a <i hidden>{SECRET}</i> b</p>", [(SECRET, "hidden: hidden")]),
        (f"<p>a <i hidden>x<b>y</i>z</b> {SECRET}</p>", [("xy", "hidden: hidden")]),
        (f"<div hidden><p>{SECRET}</p><p>x</p></div>", [(f"{SECRET} x", "hidden: hidden")]),
        ("<div hidden><!-- c --><br>d</div>", [("c d", "hidden: hidden")]),
        (f"<!-- {SECRET} -->", [(SECRET, "hidden: comment")]),
        ("<!---->a", []),
        (f"<p title='{SECRET}'>a</p>", [(SECRET, "hidden: title of p")]),
        ("<p title='two words'>a</p>", []),
        (f"<input type=HIDDEN value='{SECRET}'>", [(SECRET, "hidden: value of input")]),
        (f"<input type=text value='{SECRET}'>", []),
        (f"<iframe srcdoc='{SECRET}'></iframe>", [(SECRET, "hidden: srcdoc of iframe")]),
        (f"<table summary='{SECRET}'><tr><td>a</table>", [(SECRET, "hidden: summary of table")]),
        ("<style>.x:nth-child(2) {display: none}</style>", [("", "style sheet"), (".x:nth-child(2)", "hidden: style rule, not applied")]),  # noqa: E501
        (f"<style>.x {{display: none}}</style><p class='y x'>{SECRET}</p>", [("", "style sheet"), (SECRET, "hidden: display:none by the style .x")]),  # noqa: E501
        (f"<style>#x > p {{opacity: 0}}</style><div id=x><p>{SECRET}</div>", [("", "style sheet"), (SECRET, "hidden: opacity:0 by the style #x > p")]),  # noqa: E501
        ("<style>* {display: none}</style><html><body>a", [("", "style sheet")]),
        ("<!-- <style>p {display: none}</style> -->", [("<style>p {display: none}</style>", "hidden: comment")]),
        (f"<p hidden title='a b c'>{SECRET}", [("a b c", "hidden: title of p"), (SECRET, "hidden: hidden")]),
    ],
)  # fmt: skip
def test_what_is_not_read_of_a_page_is_named(markup: str, expected: list[tuple[str, str]]) -> None:
    assert left(markup) == expected


def test_what_is_hidden_stands_behind_the_block_it_stood_in() -> None:
    text, spans = extraction.of_html(f"<p>one <i hidden>{SECRET}</i>two</p><p>three</p>")
    assert text == f"one two\n\n{SECRET}\n\nthree\n\n"
    assert spans == ((9, 9 + len(SECRET), "hidden: hidden"),)


@pytest.mark.parametrize(
    ("markup", "message"),
    [
        ("a <!-- b", "an end --> of the last comment"),
        ("<!-- a --> <!-- b", "an end --> of the last comment"),
        ("<div hidden>a", "an end of <div> was required"),
        ("<ul><li>" * 33, "lists nested at most 32 deep"),
        ("<table><tr>" + "<td>a" * 65, "a table of at most 64 columns"),
        (
            f"<style>{' ' * 1_000_001}</style>a",
            "style sheets of at most 1,000,000 characters were required; got 1,000,001",
        ),
    ],
)
def test_a_page_that_cannot_be_read_whole_is_refused(markup: str, message: str) -> None:
    with pytest.raises(DocumentError, match=message):
        extraction.of_html(markup)


def page(tmp_path, *drawn: str, **more: bytes) -> tuple[str, tuple[tuple[int, int, str], ...]]:
    path = tmp_path / "house.pdf"
    content = "BT /F1 12 Tf 14 TL 50 750 Td " + " ".join(drawn) + " ET"
    path.write_bytes(pdf_of(content.encode("latin-1"), **more))
    return extraction.of_pdf(path)


HID = f"({SECRET}) Tj T*"


UNSEEN = (
    f"3 Tr {HID} 0 Tr", f"7 Tr {HID} 0 Tr", f"1 g {HID} 0 g", f"1 1 1 rg {HID} 0 g", f"0 0 0 0 k {HID} 0 g",
    f"0.99 g {HID} 0 g", f"/F1 0.4 Tf {HID} /F1 12 Tf", f"1 sc {HID} 0 sc", f"1 1 1 scn {HID} 0 scn",
    f"q 3 Tr {HID} Q", f"0.01 0 0 0.01 50 700 Tm {HID} 1 0 0 1 50 600 Tm", f"3 Tr [({SECRET})] TJ T* 0 Tr",
    f"3 Tr ({SECRET}) ' 0 Tr",
)  # fmt: skip
SEEN = (
    f"0 Tr {HID}", f"1 Tr {HID} 0 Tr", f"0.5 g {HID} 0 g", f"1 1 0 rg {HID} 0 g", f"0 0 0 1 k {HID}",
    f"/F1 6 Tf {HID}", f"1 0 0 1 50 700 Tm {HID}", f"q 3 Tr Q {HID}", f"Q {HID}", f"0.98 g {HID} 0 g",
    f"0.02 0 0 0 k {HID} 0 g", f"0.01 0 0 0.01 9 9 Tm ET BT 50 500 Td {HID}",
)  # fmt: skip


@pytest.mark.parametrize("drawn", UNSEEN + SEEN)
def test_text_that_a_page_draws_unseen_is_told_apart(drawn: str, tmp_path) -> None:
    text, spans = page(tmp_path, "(The vault is shut.) Tj T*", drawn, "(It opens at nine.) Tj T*")
    assert [(text[a:b], why) for a, b, why in spans] == [(SECRET, "hidden: drawn invisibly")] * (drawn in UNSEEN)
    assert all(sentence in text for sentence in ("The vault is shut.", "It opens at nine.", SECRET))


@pytest.mark.parametrize(
    ("limit", "most", "message"),
    [
        ("LARGEST", 100, "at most 100 bytes was required; got"),
        ("PAGES", 0, "at most 0 pages was required; got 1"),
        ("DRAWN", 3, "page 1: at most 3 drawing operations were required; got"),
        ("PATIENCE", -1, "got more by page 1: split it"),
    ],
)
def test_a_pdf_beyond_a_limit_is_refused_by_name(limit: str, most: int, message: str, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(extraction, limit, most)
    with pytest.raises(DocumentError, match=message):
        page(tmp_path, "(The vault is shut.) Tj")


def test_a_limit_that_is_just_reached_is_kept(tmp_path, monkeypatch) -> None:
    drawn = ["(The vault is shut.) Tj"]
    page(tmp_path, *drawn)
    monkeypatch.setattr(extraction, "LARGEST", (tmp_path / "house.pdf").stat().st_size)
    monkeypatch.setattr(extraction, "PAGES", 1)
    monkeypatch.setattr(extraction, "DRAWN", 6)  # BT, Tf, TL, Td, Tj, ET
    assert "The vault is shut." in page(tmp_path, *drawn)[0]


def test_a_pdf_of_which_nothing_is_seen_is_refused_with_what_it_has(tmp_path) -> None:
    with pytest.raises(DocumentError, match=r"got 1 pages without text \(a scan\?\)"):
        page(tmp_path, "")
    with pytest.raises(DocumentError, match="got 1 pages without text, 1 with invisible text"):
        page(tmp_path, f"3 Tr {HID}")


LONG = "a line of a paragraph that is as long as lines of it are"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([LONG, "goes on"], [f"{LONG} goes on"]),
        ([f"{LONG}.", "Next"], [f"{LONG}.", "Next"]),
        ([f"{LONG}:", "next"], [f"{LONG}:", "next"]),
        (["short", "next"], ["short", "next"]),
        ([LONG, "a) item", "1.2 item", "• item", "– item"], [LONG, "a) item", "1.2 item", "- item", "– item"]),
        ([f"{LONG} hyphen-", "ated"], [f"{LONG} hyphenated"]),
        ([f"{LONG} non-", "European"], [f"{LONG} non- European"]),
        ([LONG, "", "  goes on  "], [f"{LONG} goes on"]),
        (["x" * 46, "y"], ["x" * 46 + " y"]),
        (["x" * 45, "y"], ["x" * 45, "y"]),
    ],
)
def test_lines_are_joined_where_a_sentence_goes_on(lines: list[str], expected: list[str]) -> None:
    assert re.split("\n\n", extraction._paragraphs("\n".join(lines)).rstrip("\n")) == expected


LINES = ["a", "- a", "  b", "1. a", "> a", "> - b", "***", "```", "# a", "| a |", "|---|", "", "===", "    c", "[a]: b"]


def test_blocks_end_where_the_library_ends_them() -> None:
    """Every text of three of these lines; what is added to its parser only notes where text begins."""
    ours = extraction.parser(False, True)
    plain = MarkdownIt("commonmark").enable("table").disable(["code", "html_block", "inline"])
    for lines in product(LINES, repeat=3):
        text = "\n".join(lines)
        found, wanted = ours.parse(text, {"lines": {}}), plain.parse(text)
        assert [(t.type, t.map, t.content) for t in found] == [(t.type, t.map, t.content) for t in wanted], text


CLOSED = [  # with the ends that may be left out, and without
    "<ul><li>a</li><li>b</li></ul>",
    "<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>",
    "<ol><li><p>a</p></li><li><p>b</p></li></ol>",
    "<dl><dt>a</dt><dd>b</dd><dd>c</dd><dt>d</dt><dd>e</dd></dl>",
    "<dl><dt><i>a</i></dt><dd><p>b</p></dd></dl>",
    "<ul><li><dl><dt>a</dt><dd>b</dd></dl></li><li>c</li></ul>",
    "<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>c</td><td>d</td></tr></tbody></table>",
    "<table><tbody><tr><td>a</td></tr></tbody><tfoot><tr><td>b</td></tr></tfoot></table>",
    "<table><tr><th>a</th><td>b</td></tr><tr><td>c</td><td>d</td></tr></table>",
    "<table><tr><td>a<ul><li>b</li></ul></td><td>c</td></tr></table>",
    "<select><option>a</option><option>b</option></select>",
]


@pytest.mark.parametrize("markup", CLOSED)
def test_an_end_that_may_be_left_out_is_as_good_as_there(markup: str) -> None:
    bare = re.sub("</(?:li|dt|dd|td|th|tr|thead|tbody|tfoot|option)>", "", markup)
    page = "<body>{}<p>Do not lend books.</p></body>"
    assert blocks(page.format(bare)) == blocks(page.format(markup)) and left(bare) == left(markup)
    assert blocks(page.format(markup))[-1] == SECRET
