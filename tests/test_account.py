"""Every character of a document is read, skipped with a reason, or the document is refused."""

from __future__ import annotations

import random
import time
from html.parser import HTMLParser
from io import BytesIO

import pytest
from conftest import ROOT, shared
from hostile_documents import drawn_pdf
from hypothesis import example, given, settings
from hypothesis import strategies as st

from wb.domain import document, extraction, policy
from wb.domain.extraction import DocumentError


def covered(read: document.Document) -> None:
    """Sentences and skipped spans, each in order, cover the text: each character once, no word as blank or markup."""
    at = 0
    shown = [part for part in read.skipped if not part.reason.startswith("hidden: ")]
    hidden = [part for part in read.skipped if part.reason.startswith("hidden: ")]
    parts = sorted((part.start, part.end) for part in (*read.sentences, *shown))
    for part in hidden:  # inside another span, or a span of its own
        inside = any(start <= part.start and part.end <= end for start, end in parts if start < end)
        parts = parts if inside else sorted([*parts, (part.start, part.end)])
    for start, end in parts:
        assert start == at, f"{read.text[at:start]!r} is neither read nor skipped, or {read.text[start:at]!r} is both"
        at = end
    assert at == len(read.text)
    assert all(s.text == read.text[s.start : s.end] for s in read.sentences)
    assert [s.start for s in read.skipped] == sorted(s.start for s in read.skipped)
    for part in read.skipped:
        kept = read.text[part.start : part.end]
        assert part.reason != "blank" or kept.isspace()
        assert part.reason != "markup" or not any(letter.isalpha() for letter in kept)


def reasons(read: document.Document) -> dict[str, str]:
    return {read.text[s.start : s.end].strip(): s.reason for s in read.skipped if s.reason not in ("blank", "markup")}


@pytest.mark.parametrize(
    "text",
    [
        "- " * 10 + "x\n\nYou must not run.",
        "".join("  " * i + f"- item {i}\n" for i in range(12)) + "\nYou must not run.",
        "> " * 12 + "x\n\nYou must not run.",
        "> - " * 8 + "x\n\nYou must not run.",
    ],
)
def test_a_list_ten_deep_drops_nothing_after_it(text):
    read = document.parse(text)
    covered(read)
    assert read.sentences[-1].text == "You must not run." and any(
        "x" in s.text or s.text == "item 11" for s in read.sentences
    )


def test_a_deep_item_knows_the_openings_of_its_lists():
    text = "".join("  " * i + f"- level {i}:\n" for i in range(14)) + "  " * 14 + "- run"
    assert document.parse(text).sentences[-1].stems == tuple(f"level {i}:" for i in range(14))


def test_what_is_skipped_has_its_reason():
    text = (
        "---\ntitle: House\ntags:\n  - a\n---\n\n# Fees\n\nPayment: By card.\n\n(a) In cash.\n\n"
        "[ref]: http://x\n\n```\ncode\n```\n\n"
        "| Thing | Rule |\n|---|---|\n| Ball | One. |\n"
    )
    read = document.parse(text)
    covered(read)
    assert reasons(read) == {
        "---\ntitle: House\ntags:\n  - a\n---": "front matter",
        "Payment:": "label",
        "(a)": "enumerator",
        "[ref]: http://x": "link definition",
        "```\ncode\n```": "code fence",
        "Thing": "column title",
        "Rule": "column title",
    }
    assert [s.text for s in read.sentences] == ["Fees", "By card.", "In cash.", "Ball", "One."]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("```\nYou must not run.\n", "You must not run."),
        ("- a\n\n  ~~~\n  You must not run.\n\nb", "You must not run."),
        ("``` You must not run.", "You must not run."),
        ("---\nRooms: You must not run.\n---\n", "Rooms: You must not run."),
        ("| You must not run. |\n|---|\n", "You must not run."),
        ("| a |\n|---|\n| b | You must not run. |\n", "You must not run."),
        ("a <!-- You must not run.", "a <!-- You must not run."),
        ("`<!-- You must` not run. -->", "`<!-- You must` not run. -->"),
        ("```\n<!--\n```\nYou must not run.", "You must not run."),
        ("1. 1\n", "1"),
        ("- - a\n", "a"),
        ("> a\n> - a\n", "a"),
        ("# # a\n", "# a"),
        ("| a | a |\n|-|-|\n| a | a |\n", "a"),
    ],
)
def test_what_might_be_a_rule_is_read(text, kept):
    read = document.parse(text)
    covered(read)
    assert kept in [s.text for s in read.sentences]


def test_a_sentence_lies_where_its_words_stand_and_not_where_they_stand_first():
    assert document.parse("1. 1\n").sentences[0].start == 3
    assert document.parse("| a\\|b | b |\n|-|-|\n| b\\|a | a |\n").sentences[-1].start == 28


WORDS = st.sampled_from(
    [
        "You must not run.",
        "a",
        "1",
        "-",
        "Fees: pay",
        "(a) x",
        "(i) y:",
        "| z |",
        "\\|",
        "[a](b)",
        "[^1]",
        "[r]: x",
        "**B**",
        "__c__",
        "`d`",
        "e.g. f",
        "<b>g</b>",
        "\u00a0",
        "\u2028",
        "\u200b",
        "é",
        "\ufeff",
        "日本語。",
        "\U0001f600",
        "\u202e",
        "\x00",
        "\x0b",
        "\x85",
        "]",
        "&amp;",
        "~~~",
        "```",
        "!",
        "x" * 300,
        "\t",
    ]
)
LINES = st.lists(WORDS, max_size=4).map(" ".join)
OPENERS = st.sampled_from(
    [
        "",
        "",
        "- ",
        "* ",
        "+ ",
        "1. ",
        "10) ",
        "> ",
        ">",
        "  ",
        "    ",
        "\t",
        "# ",
        "###### ",
        "- - ",
        "> - ",
        "| ",
        "   - ",
    ]
)
BLOCKS = st.one_of(
    st.tuples(st.lists(OPENERS, max_size=5).map("".join), LINES).map("".join),
    LINES.map(lambda line: f"```py\n{line}\n```"),
    LINES.map(lambda line: f"<div>\n{line}\n</div>"),
    LINES.map(lambda line: f"[^1]: {line}"),
    st.lists(LINES, min_size=1, max_size=3).map(
        lambda cells: (
            "| " + " | ".join(cells) + " |\n" + "|---" * len(cells) + "|\n| " + " | ".join(cells[::-1]) + " | more |"
        )
    ),
    st.tuples(LINES, st.sampled_from("=-*_")).map(lambda pair: f"{pair[0]}\n{pair[1] * 3}"),
)
MARKDOWN = st.tuples(
    st.lists(BLOCKS, max_size=8), st.sampled_from(["\n", "\n\n", "\r\n", "\r", "\n  ", "\n\t", "\n> "])
).map(lambda pair: pair[1].join(pair[0]))


@settings(max_examples=400)
@given(
    MARKDOWN | st.text(max_size=80) | st.text(alphabet="ab. :;()[]*_`#-|>\n\r\t\"'1i\\é~=<&", max_size=100),
    st.booleans(),
)
@example("- ```\n  a\n\nb", False)
@example("---\na: b\n---", True)
@example("\xa0 \0\n===", False)
@example("\xa0 You must not run.\n===\n# \xa0 a #\n", False)
@example("a\r\n- b\r\r\n|c|\r\n|-|\r\n", False)
def test_sentences_and_what_is_skipped_cover_any_text(text, titles):
    covered(document.parse(text, titles=titles))


def test_documents_at_hand_are_covered():
    data = shared("data")
    for path in (
        *(ROOT / "policies" / "web_tasks").glob("*.md"),
        ROOT / "README.md",
        ROOT / "LOG.md",
        *(ROOT / "book").glob("*.md"),
        *(ROOT / "log").glob("*.md"),
        *data.glob("policies/*/[pa]*.[mth]*"),
        *data.glob("common/tau_airline/*.md"),
    ):
        covered(document.read(path))


N = 20_000
HOSTILE = {
    "lists without end": "- " * N + "x",
    "quotations without end": ">" * N + "x",
    "quotations and lists": "> - " * N + "x",
    "deep and long": ("- " * 30 + "x\n") * 100,
    "deep and lazy": ">" * 60 + "a\n" + "b\n" * 100,
    "open brackets": "[" * N,
    "stars": "*a " * N,
    "full stops": "." * N,
    "closers": ".)" * N,
    "stops with blanks": ". " * N,
    "abbreviations": "e.g. " * N,
    "open parentheses": "(a. " * N,
    "open quotations": '"a. ' * N,
    "a label": "A" + " a" * N,
    "blanks": "A:" + " " * N,
    "fences": "```x\n" * 2000,
    "fences in lists": "- ```x\n" * 1000,
    "fences ever shorter": "".join("`" * i + "x\n" for i in range(200, 2, -1)),
    "link definitions": "[a]: b\n" * 1000,
    "half definitions": "[a\n" * 1000,
    "list openings": "a:\n- b\n\n" * 1000,
    "a wide table": "|a" * N + "|\n" + "|-" * N + "|\n",
    "a full table": "|a" * 64 + "|\n" + "|-" * 64 + "|\n" + ("|x" * 64 + "|\n") * 40,
    "one long word": "x" * 500_000,
    "nothing but marks": "#" * N,
    "half front matter": "---\n" + "a: b\n" * 2000,
    "marks above a letter": "a" + "\u0301" * N,
    "null": "\0" * N,
    "lines": "x\n" * 4000,
    "carriage returns": "a\r" * 4000,
    "enumerators": "(i) x:\n\n" * 1000,
    "too long": "x " * 600_000,
}


LONG = {  # in one sentence
    "open brackets", "stars", "fences", "full stops", "closers", "stops with blanks", "abbreviations",
    "open parentheses",
    "open quotations", "a label", "one long word", "marks above a letter", "null", "nothing but marks", "lines",
    "carriage returns", "fences ever shorter", "half front matter", "half definitions", "deep and lazy",
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_is_read_or_refused_in_two_seconds(name):
    start = time.process_time()
    try:
        covered(document.parse(HOSTILE[name]))
    except DocumentError as error:
        assert name in (
            "lists without end",
            "quotations without end",
            "quotations and lists",
            "a wide table",
            "too long",
            *LONG,
        )
        assert "required; got" in str(error) and len(str(error)) < 300
    assert time.process_time() - start < 2


HTML = {
    "elements without end": "<div>" * N + "x",
    "lists without end": "<ul><li>" * N + "x",
    "items without end": "<ul>" + "<li>a" * 2000,
    "tables without end": "<table><tr><td>a" * 2000,
    "a wide table": "<table><tr>" + "<td>a" * 3000,
    "comments without end": "<p>a</p><!--" * N,
    "sections without end": "<![CDATA[" * 1000 + "a",
    "a script without end": "<p>a</p><script>b",
    "less than": "<" * N,
    "half tags": "<a " * 2000 + "a",
    "half entities": "&#" * N,
    "hidden without end": "<p>a<noscript>You must not run.",
    "ends alone": "</p></ul></table></nav>" * 2000 + "a",
    "spans": "<span>" * N + "a",
    "asides": "<nav>" * 2000 + "a",
    "headings": "<h1>" * N + "a",
}


@pytest.mark.parametrize("name", HTML)
def test_a_hostile_page_is_read_or_refused_in_two_seconds(name, tmp_path):
    (tmp_path / "a.html").write_text(HTML[name], "utf-8")
    start = time.process_time()
    try:
        covered(document.read(tmp_path / "a.html"))
    except DocumentError as error:
        assert name in (
            "lists without end",
            "a wide table",
            "comments without end",
            "a script without end",
            "hidden without end",
            "half entities",
            "less than",
            "sections without end",
            "half tags",
        )
        assert "required; got" in str(error) and len(str(error)) < 300
    assert time.process_time() - start < 2


TAGS = (
    "p div ul ol li table tr td th b span h2 nav footer blockquote dl dd center details summary option caption main"
).split()
PARTS = st.one_of(
    st.sampled_from([f"<{t}>" for t in TAGS] + [f"</{t}>" for t in TAGS]),
    st.sampled_from(
        [
            "<br>",
            "<img alt=x>",
            "<!-- c -->",
            "<script>s</script>",
            "&amp;",
            "|",
            "```",
            "# ",
            "- ",
            "[r]: x",
            "1. ",
            "---",
        ]
    ),
    st.integers(0, 999).map(lambda n: f" word{n}. "),
)


class Shown(HTMLParser):
    """The words that a page shows, by the tags alone."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.script = False

    def handle_starttag(self, tag, attrs):
        self.script = tag == "script"

    def handle_endtag(self, tag):
        self.script = False

    def handle_data(self, data):
        self.words += [] if self.script else [word for word in data.split() if word.startswith("word")]


@settings(max_examples=300)
@given(st.lists(PARTS, max_size=30).map("".join))
@example("<table><tr><td>word1.<td>word2.</table>")
@example("<table><tr><td>word1.<table><td>word2.")
@example("<ul><div><li>word1.</li></div>word2.</ul>")
@example("<h2>word1.<p>word2.")
def test_every_word_that_a_page_shows_is_read_or_skipped_with_a_reason(page):
    shown = Shown()
    shown.feed(page)
    shown.close()
    text, spans = extraction.of_html(page)
    read = document._parse(text, titles=False, converted=True, known=tuple(document.Skipped(*span) for span in spans))
    covered(read)
    assert sorted(word for word in text.split() if word.startswith("word")) == sorted(shown.words)
    assert {s.reason for s in read.skipped} <= {
        "blank",
        "markup",
        "enumerator",
        "label",
        "column title",
        "navigation",
        "page footer",
        "image",
        "script",
        "hidden: comment",
    }


@pytest.mark.parametrize(
    ("page", "texts"),
    [
        (
            "<table><tr><td>Guest</td><td>must not delete a file.</td></tr></table>",
            ["Guest", "must not delete a file."],
        ),
        ("<ul><div><li>No dogs.</li></div>No cats.</ul>", ["No dogs.", "No cats."]),
        ("<ul><li>No dogs.<li>No cats.</ul>", ["No dogs.", "No cats."]),
        ("<span><p>No dogs.</p><p>No cats.</p></span>", ["No dogs.", "No cats."]),
        ("<p>```</p><p>No dogs.</p>", ["```", "No dogs."]),
        ("<p>[Rule]: never</p>", ["[Rule]: never"]),
        ("<h2>Fees<p>You must pay.", ["Fees", "You must pay."]),
        ("<nav>Home<p>You must pay.", ["Home", "You must pay."]),
        ("<table><tr><th>a<td>x | y</table>", ["a", "x \\| y"]),
        ("<p>No dogs.</p><b You must pay.", ["No dogs.", "<b You must pay."]),
        ("<table><tr><td>No dogs.", ["No dogs."]),
        ("<ul><li>Do not:<table><tr><td>run</td></tr></table></ul>", ["Do not:", "run"]),
    ],
)
def test_a_page_is_read_as_it_is_shown(page, texts, tmp_path):
    (tmp_path / "a.html").write_text(page, "utf-8")
    read = document.read(tmp_path / "a.html")
    covered(read)
    assert [s.text for s in read.sentences] == texts


def test_navigation_footer_and_images_are_named_and_not_read(tmp_path):
    (tmp_path / "a.html").write_text(
        "<nav><a>Home</a></nav><p>You must <img alt='not'> run.</p><footer>Imprint</footer>", "utf-8"
    )
    read = document.read(tmp_path / "a.html")
    assert [s.text for s in read.sentences] == ["You must run."]
    assert {(read.text[s.start : s.end], s.reason) for s in read.skipped} >= {
        ("Home", "navigation"),
        ("", "image"),
        ("Imprint", "page footer"),
    }


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "a.md",
            "```\nYou must not run.\n```\n",
            "a.md: a document with sentences was required; got nothing but code fence",
        ),
        ("a.html", "<nav>Home</nav>", "a.html: .* got nothing but navigation"),
        ("a.md", "- " * 200 + "x", "a.md: line 1: lists and quotations nested at most 32 deep"),
        ("a.md", "x" * 1_000_001, "at most 1,000,000 characters was required; got 1,000,001"),
    ],
)
def test_a_document_of_which_nothing_is_read_is_refused(name, text, message, tmp_path):
    (tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(policy.PolicyError, match=message):
        policy.load(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "message"), [("- " * 200 + "x", "nested at most 32 deep"), ("a\ud800", "half a character at offset 1")]
)
def test_a_text_in_memory_that_cannot_be_read_is_no_policy(text, message):
    with pytest.raises(policy.PolicyError, match=message):
        policy.of_text(text, policy.tools.Toolbox())


def test_a_page_of_a_pdf_without_text_is_named(tmp_path):
    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter()
    for lines in (["You must ring."], [], ["Dogs are not allowed."]):
        writer.append(PdfReader(BytesIO(drawn_pdf(*lines))))
    writer.write(tmp_path / "a.pdf")
    read = document.read(tmp_path / "a.pdf")
    covered(read)
    assert [s.text for s in read.sentences] == ["You must ring.", "Dogs are not allowed."]
    assert [(s.start, s.end) for s in read.skipped if s.reason == "page without text"] == [(15, 15)]


def test_a_broken_pdf_is_read_or_refused(tmp_path):
    data, rng = drawn_pdf("You must ring."), random.Random(1)
    for _ in range(150):
        broken = bytearray(data)
        for _ in range(rng.randint(1, 12)):
            broken[rng.randrange(len(broken))] = rng.randrange(256)
        (tmp_path / "b.pdf").write_bytes(broken[: rng.choice([len(broken), rng.randrange(len(broken))])])
        try:
            covered(document.read(tmp_path / "b.pdf"))
        except DocumentError as error:
            assert "required; got" in str(error)


@given(st.lists(st.text(alphabet="ab1 .-•(\n", max_size=60), max_size=6))
def test_joining_the_lines_of_a_pdf_keeps_every_letter(lines):
    text = "\n".join(lines)
    assert "".join(filter(str.isalnum, extraction._paragraphs(text))) == "".join(filter(str.isalnum, text))
