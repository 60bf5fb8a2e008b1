"""Text out of HTML and PDF, and the blocks of a Markdown text.

HTML becomes Markdown with the same headings, lists and tables; a PDF becomes its lines, joined to
paragraphs: the stored text that sentences then point into.  All text that a page shows is kept.  What is
no text, an image or a scanned page, is named with its place; scripts, styles and the like, which no page
shows, are dropped.  Blocks are told by markdown-it-py, each of their lines with its exact place; what
stands inside a paragraph is left as it is written.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from html.parser import HTMLParser
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock

DEEPEST = 64  # levels of Markdown: a quotation is one, a list with its item two


@dataclass(frozen=True, slots=True)
class Piece:
    """Text of one block with the place of each of its characters in the stored text."""

    content: str
    places: tuple[int, ...]

    @classmethod
    def of(cls, text: str, lines: list[tuple[int, int]]) -> Piece:
        """The lines of a block, each from its start to its end, without the blanks around the whole."""
        places = [
            i for k, (start, end) in enumerate(lines) for i in (*([lines[k - 1][1]] if k else []), *range(start, end))
        ]
        content = "".join(text[i] for i in places)
        first = len(content) - len(content.lstrip(" \t\n"))
        last = len(content.rstrip(" \t\n"))
        return cls(content[first:last], tuple(places[first:last]))

    def part(self, start: int, end: int | None = None) -> Piece:
        return Piece(self.content[start:end], self.places[start:end])


@cache
def parser(converted: bool, fences: bool) -> MarkdownIt:
    """A parser of blocks alone, which notes in `env["lines"]` where the text of each line of a block begins."""
    from markdown_it import MarkdownIt, rules_block

    ends = ["paragraph", "reference", "blockquote", "list"]
    rules = {
        "table": ends[:2],
        "fence": ends,
        "hr": ends,
        "reference": [],
        "heading": ends[:3],
        "lheading": [],
        "paragraph": [],
    }
    made = MarkdownIt("commonmark", {"maxNesting": DEEPEST}).enable("table").disable(["code", "html_block", "inline"])
    for name, ended in rules.items():
        made.block.ruler.at(name, _noted(name, getattr(rules_block, name)), {"alt": ended})
    if converted:
        made.disable(["blockquote", "reference", "hr", "lheading"])
    return made if fences else made.disable("fence")


def _noted(name: str, rule: Callable[..., bool]) -> Callable[..., bool]:
    """A rule of markdown-it that notes the lines it takes: (its name, where their text begins)."""

    def run(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        if not rule(state, start, end, silent):
            return False
        if not silent:
            for line in range(start, state.line):
                begin = state.bMarks[line] + state.tShift[line]
                before = state.src[state.bMarks[line] : begin]
                blanks = len(before) - len(before.rstrip(" \t"))  # characters; columns would count a tab as several
                indent = max(0, min(blanks, state.sCount[line] - state.blkIndent)) if name == "paragraph" else 0
                state.env["lines"][line] = (name, begin - indent)
        return True

    return run


_HIDDEN = {"script", "style", "title", "template", "noscript"}
_ASIDE = {"nav": "navigation", "footer": "page footer"}
_INLINE = set(
    """
        a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark meter output q rp rt ruby
        s samp small span strike strong sub sup time tt u var wbr
    """.split()
)
# Elements without which their text would say something else: raised, lowered, struck out, put in.
_MARKS = {"sup": "^", "sub": "_", "del": "~~", "s": "~~", "strike": "~~", "ins": " "}
_DEEPEST = 32  # lists in lists, as many as a document is read with


class ExtractionError(ValueError):
    """A file holds no text that can be read; the message says what was required and what was got."""


class _Block(NamedTuple):
    """A paragraph, heading, item or table of the Markdown that is made; `reason` says why it is not to be read."""

    text: str
    reason: str = ""


def of_html(markup: str) -> tuple[str, tuple[tuple[int, int, str], ...]]:
    """The Markdown text of an HTML page, and its spans that are no part of the document: (start, end, reason).

    Headings, paragraphs, nested lists and tables are kept; navigation and the page footer are in the
    text and named as such; an image has an empty span.

    Raises:
        ExtractionError: lists are nested too deep, or a script or the like has no end.
    """
    if markup.find("-->", max(0, markup.rfind("<!--"))) < 0 <= markup.rfind("<!--"):
        raise ExtractionError("an end --> of the last comment <!-- was required; got none: it hides all that follows")
    whole = markup.rfind(">") + 1  # a tag without an end is text, and costs html.parser quadratic time
    page = _Page()
    page.feed(markup[:whole] + markup[whole:].replace("<", "&lt;"))
    page.close()
    page.finish()
    if page.hidden:
        raise ExtractionError(f"an end of <{page.hidden[0]}> was required; got none: it hides all that follows")
    for _, first in page.asides:  # never closed: what follows it is read
        page.blocks[first:] = [block._replace(reason="") if block.text else block for block in page.blocks[first:]]
    parts, spans, length = [], [], 0
    for block in page.blocks:
        if block.reason:
            spans.append((length, length + len(block.text), block.reason))
        parts.append(f"{block.text}\n\n" if block.text else "")
        length += len(parts[-1])
    return "".join(parts), tuple(spans)


def of_pdf(path: Path) -> tuple[str, tuple[int, ...]]:
    """The text of a PDF, lines joined to paragraphs, and where in it pages without text stand (an image, a scan).

    Raises:
        ExtractionError: no PDF, a broken or an encrypted one, or none of its pages has text.
    """
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    try:
        pages = [page.extract_text() for page in PdfReader(path).pages]
    except (
        PyPdfError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        ArithmeticError,
        RecursionError,
        NotImplementedError,
    ) as error:
        raise ExtractionError(f"{path.name}: a readable PDF was required; got {type(error).__name__} {error}") from None
    if not any(page.strip() for page in pages):
        raise ExtractionError(
            f"{path.name}: a PDF with a text layer was required; got {len(pages)} pages without text (a scan?)"
        )
    text, empty = "", []
    for blank, run in groupby(pages, key=lambda page: not page.strip()):
        run = list(run)
        text, empty = (
            (text, [*empty, *[len(text)] * len(run)])
            if blank
            else (f"{text}{'\n' if text else ''}{_paragraphs('\n'.join(run))}", empty)
        )
    return text, tuple(empty)


class _Page(HTMLParser):
    """Collects the blocks of a page as its tags and texts come; depth is counted, so that no page is too deep."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[_Block] = []
        self.words: list[str] = []
        self.hidden: list[str] = []
        self.asides: list[tuple[str, int]] = []  # with the number of blocks before it
        self.lists = 0
        self.item = False  # an item has begun and has no text yet
        self.heading = 0
        self.rows: list[list[list[str]]] | None = None  # rows of cells of texts
        self.titled = False
        self.tables = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin an element: a block ends the one before it."""
        if self.hidden:
            self.hidden += [tag] * (tag == self.hidden[0])
        elif tag in _HIDDEN:
            self.hidden = [tag]
        elif tag == "img":
            self.blocks.append(_Block("", "image"))
        elif tag == "br":
            self.words.append("\n")
        elif tag in _MARKS:
            self.words.append(_MARKS[tag])
        elif tag not in _INLINE:
            self._begin(tag)

    def _begin(self, tag: str) -> None:
        self.flush()
        if tag in _ASIDE:
            self.asides.append((tag, len(self.blocks)))
        elif tag == "table":
            self.tables += 1
            self.rows = self.rows if self.tables > 1 else []
            self.titled = self.titled and self.tables > 1
        elif tag == "tr" and self.tables == 1:
            self.rows.append([])
        elif tag in ("td", "th") and self.tables == 1:
            self.rows = self.rows or [[]]
            self.rows[-1].append([])
            self.titled |= tag == "th" and len(self.rows) == 1
        elif tag in ("ul", "ol", "menu"):
            self.lists += 1
            if self.lists > _DEEPEST:
                raise ExtractionError(
                    f"line {self.getpos()[0]}: lists nested at most {_DEEPEST} deep were required; "
                    "got deeper ones: flatten them"
                )
        elif tag == "li":
            self.item = True
        elif re.fullmatch("h[1-6]", tag):
            self.heading = int(tag[1])

    def handle_endtag(self, tag: str) -> None:
        """End an element; an end without a beginning only ends the block."""
        if self.hidden:
            self.hidden = self.hidden[tag == self.hidden[-1] :]
            return
        if tag in _INLINE or tag == "br":
            self.words += ["~~"] * (_MARKS.get(tag) == "~~")
            return
        self.flush()
        if self.asides and tag == self.asides[-1][0]:
            self.asides.pop()
        elif tag == "table" and self.tables:
            self.tables -= 1
            if not self.tables:
                self._end_table()
        elif tag in ("ul", "ol", "menu"):
            self.lists, self.item = max(0, self.lists - 1), False
        elif re.fullmatch("h[1-6]", tag):
            self.heading = 0

    def handle_data(self, data: str) -> None:
        """Text, unless nothing shows it."""
        if not self.hidden:
            self.words.append(data)

    def unknown_decl(self, data: str) -> None:
        """A CDATA section: browsers show nothing of it in HTML, but its text may be meant."""
        self.words.append(data.removeprefix("CDATA["))

    def flush(self) -> None:
        """End the block: what was gathered becomes a cell's text, a heading, an item or a paragraph."""
        text = " ".join("".join(self.words).split())
        self.words.clear()
        if not text:
            return
        if self.rows and self.rows[-1]:
            self.rows[-1][-1].append(text)
        else:
            self._put(f"{'#' * self.heading} {text}" if self.heading else text)
        self.item, self.heading = False, 0

    def finish(self) -> None:
        """End the page, and the table that nothing closed."""
        self.flush()
        if self.tables:
            self._end_table()

    def _put(self, text: str) -> None:
        pad = "  " * max(0, self.lists - self.item)
        self.blocks.append(
            _Block(f"{pad}{'- ' if self.item else ''}{text}", _ASIDE[self.asides[-1][0]] if self.asides else "")
        )
        self.item = False

    def _end_table(self) -> None:
        found, self.rows = (
            [[" ".join(cell).replace("|", "\\|") for cell in row] for row in self.rows or [] if row],
            None,
        )
        width = max(map(len, found), default=0)
        rows = found if self.titled else [[], *found]
        lines = ["| " + " | ".join([*row, *[""] * (width - len(row))]) + " |" for row in rows]
        if any(map(any, found)):
            pad = "  " * max(self.lists, self.item)
            self._put(f"\n{pad}".join([lines[0], "|" + "---|" * width, *lines[1:]]))


def _paragraphs(text: str) -> str:
    """Lines that continue a sentence joined to one paragraph; words cut at a line end made whole."""
    text = re.sub(r"(\w)-\n(?=[a-z])", r"\1", text.replace("\r", "\n"))
    joined: list[list[str]] = []
    for line in filter(None, map(str.strip, text.split("\n"))):
        opens = re.match(r"(\(?[a-z0-9]{1,3}\)|\d+(\.\d+)*\.?\s|[•‣◦▪–-]\s)", line)
        goes_on = (
            joined
            and not joined[-1][-1].endswith((".", ":", ";", "!", "?"))
            and sum(map(len, joined[-1][-46:])) + len(joined[-1]) > 46
        )
        if goes_on and not opens:
            joined[-1].append(line)
        else:
            joined.append([line if not re.match(r"[•‣◦▪]\s", line) else f"- {line[2:]}"])
    return "\n\n".join(" ".join(lines) for lines in joined) + "\n"
