"""What a reader sees of a text: each way to hide is named, what is shown stays, and characters keep their places."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest

from wb.domain import visible
from wb.domain.visible import HIDDEN, VisibleError

SECRET = "Do not lend."


def seen(text: str) -> str:
    return visible.read(text, markup=True).text


def told(text: str) -> list[str]:
    return [edit.reason for edit in visible.read(text, markup=True).left]


# of the HTML standard: elements whose content a browser does not lay out as text of the page
UNSEEN = "script style template noscript title iframe object video audio canvas datalist noframes noembed rp".split()


@pytest.mark.parametrize("tag", UNSEEN)
def test_an_element_without_text_of_the_page_is_hidden_with_its_name(tag: str) -> None:
    text = f"One <{tag}>{SECRET}</{tag}> two."
    assert SECRET not in seen(text) and seen(text).split() == ["One", "two."]
    [reason] = told(text)
    assert reason.startswith(HIDDEN) and tag in reason.replace("style sheet", "style").replace("page ", "")
    assert visible.hidden(tag, {}) == reason


SAYING = ("title", "alt", "placeholder", "aria-label", "aria-description", "content", "label", "summary")


@pytest.mark.parametrize("name", SAYING)
def test_an_attribute_that_says_something_is_told_and_a_single_word_is_not(name: str) -> None:
    assert told(f'One <i {name}="{SECRET}">two</i>.') == [f"{HIDDEN}{name}", "tag"]
    assert told(f'One <i {name}="two">two</i>.') == ["tag", "tag"]
    assert told(f'One <i data-{name}="{SECRET}">two</i>.') == ["tag", "tag"]


@pytest.mark.parametrize(
    "style",
    [
        "clip:rect(0, 0, 0, 0)", "clip:rect(1px,1px,1px,1px)", "clip-path:circle(0)", "clip-path:inset(50%)",
        "content-visibility:hidden", "filter:opacity(0%)", "transform:scalex(0)", "transform:scale(0, 0)",
        "position:fixed;top:-100em", "position:absolute;right:-500vw", "position:absolute;bottom:-2000px",
        "overflow:clip;max-height:0", "overflow:hidden auto;max-width:0px", "overflow:hidden;height:0",
        "background-color:white;color:#ffffff", "background:black;color:#000", "COLOR: White; background: #FFF",
        "/* a:b */display:/* c */none", "visibility:hidden!important",
        "color:hsl(0, 100%, 50%);background:rgb(255, 0, 0)", "display:n\\6f ne", "content:';';display:none",
    ],
)  # fmt: skip
def test_a_style_that_hides_is_told_by_its_property(style: str) -> None:
    why = visible.hiding(visible.declarations(style))
    assert why and why.split(":")[0] in style.lower()
    assert visible.hidden("p", {"style": style}) == HIDDEN + why
    assert SECRET not in seen(f'One <i style="{style}">{SECRET}</i> two.')


@pytest.mark.parametrize(
    "style",
    [
        "", "display:block", "clip:auto", "clip-path:inset(10%)", "filter:opacity(50%)", "transform:scale(0.5)",
        "position:relative;left:-9999px", "position:absolute;left:-99px", "left:-9999px", "overflow:hidden;height:1px",
        "overflow:visible;height:0", "height:0", "color:white;background:black", "color:white", "background:white",
        "opacity:0.1", "font-size:10px", "text-indent:-10px", "--display:none",
        f"display:{'(' * 20_000}none", "color:inherit;background:inherit",
        "color:rgb(255, 255, 255);background:rgb(255, 255, 254)",
    ],
)  # fmt: skip
def test_a_style_that_shows_is_no_reason(style: str) -> None:
    assert visible.hiding(visible.declarations(style)) == ""
    assert visible.hidden("p", {"style": style}) == ""
    assert SECRET in seen(f'One <i style="{style}">{SECRET}</i> two.')


PATH = (("html", {}), ("nav", {"class": "a b", "id": "n"}), ("div", {"class": "c"}), ("p", {"lang": "en"}))


@pytest.mark.parametrize(
    ("selector", "means"),
    [
        ("p", True), ("*", True), ("P", True), ("div", False), ("nav p", True), ("nav > p", False), ("div > p", True),
        ("html > nav div p", True), ("html > div p", False), (".a p", True), (".a.b p", True), (".a.c p", False),
        ("#n p", True), ("#m p", False), ("nav#n.b > .c > p", True), ("p[lang]", True), ("p[lang=en]", True),
        ('p[lang="en"]', True), ("p[lang='de']", False), ("p[dir]", False), ("p p", False), ("[lang] p", False),
        ("nav > * > p", True), ("nav > nav p", False), ("#n .c p[lang]", True), ("div nav p", False),
    ],
)  # fmt: skip
def test_a_selector_means_what_it_means_in_a_browser(selector: str, means: bool) -> None:
    (found,), unread = visible.sheet(f"{selector} {{ display: none }}")
    assert not unread and visible.selected(found, PATH) is means
    assert found.reason == f"{HIDDEN}display:none by the style {selector}".replace("'", '"')
    assert not visible.selected(found, ())


@pytest.mark.parametrize(
    ("sheet", "found", "unread"),
    [
        ("p { color: red }", 0, 0),
        ("p { display: none } .x, #y { opacity: 0 }", 3, 0),
        ("p + p, p:nth-child(2) { display: none }", 0, 2),
        ("p:hover { display: none } p::before { display: none }", 0, 0),
        ("@media screen { p { display: none } } @media print { p { display: none } }", 1, 0),
        ("@media only screen { @media print { p { display: none } } div { display: none } }", 1, 0),
        ("@media print { @media screen { p { display: none } } } div { display: none }", 1, 0),
        ("@supports (x) { p { display: none } } @layer a { p { display: none } }", 2, 0),
        ("@import 'x'; p { display: none }", 1, 0),
        ("/* p { display: none } */ <!-- p { display: none } -->", 1, 0),
        ("} p { display: none }", 1, 0),
        ("p { display: none", 1, 0),
    ],
)
def test_a_sheet_has_the_selectors_that_hide_on_a_screen(sheet: str, found: int, unread: int) -> None:
    assert tuple(map(len, visible.sheet(sheet))) == (found, unread)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mu<b>st</b>", "must"),
        ("one<br>two", "one two"),
        ("one<div>two</div>three", "one\n\ntwo\n\nthree"),
        ("<p>one</p>", "one"),
        ("one<img alt='x'>two", "onetwo"),
        ("one<em/>two", "onetwo"),
        ("one <unknown>two", "one <unknown>two"),
        ("a <i hidden>b<i>c</i>d</i> e", "a  e"),
        ("`<b>` and <b>c</b>", "`<b>` and c"),
        ("``a ` <b>`` <b>c</b>", "``a ` <b>`` c"),
        ("` <b>c</b>", "` c"),
        ("`a\n\n<b>b</b>`", "`a\n\nb`"),
        ("```\n<b>\n```\n<b>c</b>", "```\n<b>\n```\nc"),
        ("~~~\n<b>\n~~~\n<b>c</b>", "~~~\n<b>\n~~~\nc"),
        ("```\n<b>c</b>", "```\nc"),
        ("\\<b>c", "\\<b>c"),
        ("see [here](http://a.example) now", "see here now"),
        ("see [a [b](x) c](y)", "see a b c"),
        ("see ](x)", "see ](x)"),
        ("see ![picture](x.png) now", "see  now"),
        ("see ![pic [b](x) <b>c</b>](x.png) now", "see  now"),
        ("[one\n\ntwo](x)", "[one\n\ntwo](x)"),
        ("caf&eacute; &#65;&amp;&nbsp;b", "café A&amp; b"),
        ("10<sup>2</sup> and word<sup>2</sup>", "10<sup>2</sup> and word"),
        ("<?php x ?>a<!DOCTYPE html>b<![CDATA[ > ]]>c", "abc"),
        ("a <!-- b --> c <!--> d <!---> e", "a  c  d  e"),
        ("a <!-- b", "a <!-- b"),
        ("a\0<b>b</b>", "a\ufffdb"),
        ("a\u200bb\u00a0c", "ab c"),
        ("\uff21\U0001d41b\ufb01", "Abfi"),
    ],
)
def test_what_is_seen_of_a_text(text: str, expected: str) -> None:
    found = visible.read(text, markup=True)
    assert found.text == expected
    assert len(found.places) == len(found.text) and list(found.places) == sorted(found.places)


def test_a_span_of_what_is_seen_is_a_piece_of_the_document_and_back() -> None:
    text = "must n&#111;t <i hidden>x</i>open <b>it</b>"
    found = visible.read(text, markup=True)
    at = found.text.index("not")
    assert text[slice(*found.span(at, at + 3))] == "n&#111;t"
    assert text[slice(*found.span(at + 1, at + 2))] == "&#111;"
    at = found.text.index("open")
    assert text[slice(*found.span(at, at + 4))] == "open"
    assert found.within(*found.span(at, at + 4)) == (at, at + 4)
    plain = visible.plain("abc")
    assert plain.span(1, 3) == (1, 3) == plain.within(1, 3) and not plain.left


@pytest.mark.parametrize("text", ["<!-- a\n\nb", "one\n\n  <!-- a", "<div hidden>a", "one <i hidden>a<i>b</i>"])
def test_hidden_text_without_an_end_is_refused_with_its_line(text: str) -> None:
    line = 1 + text.partition("<")[0].count("\n")
    with pytest.raises(VisibleError, match=f"line {line}: an end .* was required"):
        visible.read(text, markup=True)


def test_a_hidden_line_goes_whole_and_a_sentence_runs_on_around_it() -> None:
    assert seen("must not\n<!-- x -->\nopen it") == "must not\nopen it"
    assert seen("It is shut.\n<!-- x -->\nOpen it") == "It is shut.\n\nOpen it"
    assert seen("must not\n<div hidden>x</div>\nopen it") == "must not\nopen it"
    assert told("must <!-- a\n\nb --> not") == [f"{HIDDEN}perhaps a comment"]
    assert told("must <!-- a\nb --> not") == [f"{HIDDEN}comment"]


def test_what_is_known_to_be_left_out_is_neither_looked_into_nor_seen() -> None:
    text = "one <b>tw\u200b</b>\u200b three"
    known = visible.Edit(4, 14, "", f"{HIDDEN}note")
    found = visible.read(text, markup=False, known=[known])
    assert (found.text, found.left) == ("one  three", (known, visible.Edit(14, 15, "", "invisible character")))


ENDLESS = {
    "fences": "```a\n",
    "fences of two kinds": "```a\n~~~b\n",
    "ticks": "`` ` ",
    "comments": "<!-- ",
    "elements": "<b>",
    "hidden elements": "<b hidden>",
    "closing elements": "</b>",
    "half elements": "<b ",
    "images": "![a](b ",
    "links": "[a](b 'c ",
    "footnotes": "[^a",
    "escapes": "\\`",
    "blank lines and ticks": "`a\n\n",
    "quotations": "> ```\n",
}


@pytest.mark.parametrize("name", ENDLESS)
def test_marks_that_never_end_are_read_in_a_second(name: str) -> None:
    """Of 20,000 of them none looks for its end through all of the text again: that would be ten times as slow."""
    began = time.process_time()
    with suppress(VisibleError):  # what hides all that follows is refused
        visible.read(ENDLESS[name] * 20_000, markup=True)
    assert time.process_time() - began < 2
