"""Text out of HTML and PDF, and the blocks of a Markdown text.

HTML becomes Markdown with the same headings, lists and tables; a PDF becomes its lines, joined to
paragraphs: the stored text that sentences then point into.  All text is kept, also what a page does not
show: that is named as hidden.  What is no text, an image, a script or a scanned page, is named with its place.
Blocks are told by markdown-it-py, each of their lines with its exact place; what
stands inside a paragraph is left as it is written.
"""

from __future__ import annotations

import logging
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from html.parser import HTMLParser
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from wb.domain import visible
from wb.logic.wording import shortened

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from pypdf import PageObject
    from pypdf.generic import StreamObject

DEEPEST = 64  # levels of Markdown: a quotation is one, a list with its item two
WIDEST = 64  # columns of a table
LARGEST = 32_000_000  # bytes of a PDF
PAGES = 2_000  # of a PDF
DRAWN = 100_000  # operations that draw a page
SHEETS = 1_000_000  # characters of the style sheets of a page
PATIENCE = 40  # seconds for all pages


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
    rules = {"table": ends[:2], "fence": ends, "hr": ends, "heading": ends[:3]}
    rules |= {name: [] for name in ("reference", "lheading", "paragraph")}
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
# What an element ends that was left open, up to the element that holds it.
_TABLE = {"table"}
_IMPLIED = {
    "li": ({"li"}, {"ul", "ol", "menu"}),
    "dt": ({"dt", "dd"}, {"dl"}),
    "dd": ({"dt", "dd"}, {"dl"}),
    "td": ({"td", "th"}, _TABLE),
    "th": ({"td", "th"}, _TABLE),
    "tr": ({"tr", "td", "th"}, _TABLE),
    **{part: ({"tbody", "thead", "tfoot", "tr", "td", "th"}, _TABLE) for part in ("tbody", "thead", "tfoot")},
    "option": ({"option"}, {"select", "datalist"}),
}
_HOLDS_PARAGRAPHS = {"td", "th", "caption", "button", "object", "template"}
_OPTIONAL_END = {"p", "li", "dt", "dd", "td", "th", "tr", "tbody", "thead", "tfoot", "option", "body", "html"}


class DocumentError(ValueError):
    """A document cannot be read; the message says what was required and what was got."""


def limit(required: str, most: int, got: int, advice: str = "split it") -> None:
    """Refuse more than `most`; {} in what was `required` stands for that, and `advice` is what to do.

    Raises:
        DocumentError: there is more.
    """
    if got > most:
        raise DocumentError(f"{required.format(f'{most:,}')} required; got {got:,}: {advice}")


class _Block(NamedTuple):
    """A paragraph, heading, item or table of the Markdown that is made; `reason` says why it is not to be read."""

    text: str
    reason: str = ""


def of_html(markup: str) -> tuple[str, tuple[tuple[int, int, str], ...]]:
    """The Markdown text of an HTML page, and its spans that are no part of the document: (start, end, reason).

    Headings, paragraphs, nested lists and tables are kept; navigation and the page footer are in the
    text and named as such, and so is what the page does not show, as a line behind its block; an image, a
    script and a style sheet have an empty span.

    Raises:
        DocumentError: lists are nested too deep, a table is too wide, or what is hidden has no end.
    """
    if markup.find("-->", max(0, markup.rfind("<!--"))) < 0 <= markup.rfind("<!--"):
        raise DocumentError("an end --> of the last comment <!-- was required; got none: it hides all that follows")
    whole = markup.rfind(">") + 1  # a tag without an end is text, and costs html.parser quadratic time
    page = _Page(_sheets(markup))
    page.feed(markup[:whole] + markup[whole:].replace("<", "&lt;"))
    page.close()
    page.finish()
    for _, first in page.asides:  # never closed: what follows it is read
        page.blocks[first:] = [
            block._replace(reason="") if block.text and block.reason in _ASIDE.values() else block
            for block in page.blocks[first:]
        ]
    parts, spans, length = [], [], 0
    for block in page.blocks:
        if block.reason:
            spans.append((length, length + len(block.text), block.reason))
        parts.append(f"{block.text}\n\n" if block.text else "")
        length += len(parts[-1])
    return "".join(parts), tuple(spans)


def _sheets(markup: str) -> str:
    """The style sheets inside a page, wherever they stand."""
    bare = re.sub(r"<!--.*?-->", "", markup, flags=re.DOTALL)
    sheets = "\n".join(re.findall(r"<style\b[^<>]*>(.*?)(?:</style|\Z)", bare, re.I | re.DOTALL))
    advice = "leave out what the text does not need"
    limit("style sheets of at most {} characters were", SHEETS, len(sheets), advice)
    return sheets


def of_pdf(path: Path) -> tuple[str, tuple[tuple[int, int, str], ...]]:
    """The text of a PDF, lines joined to paragraphs, and the spans that are no part of it: (start, end, reason).

    A page without text (an image, a scan) has an empty span where it stands.  Text that a page draws invisibly, in
    white or without a size is a line behind the page.

    Raises:
        DocumentError: no PDF, a broken, too large or encrypted one, or none of its pages has text.
    """
    limit("a PDF of at most {} bytes was", LARGEST, path.stat().st_size)
    try:
        pages = _pages(path)
    except DocumentError:
        raise
    except (Exception, MemoryError, RecursionError) as error:  # a foreign reader: if it breaks, nothing is read
        reason = shortened(f"{type(error).__name__} {error}", 200)
        raise DocumentError(f"a readable PDF was required; got {reason}: save it anew, or give its text") from None
    if not any(shown.strip() for shown, _ in pages):
        unseen = f", {sum(bool(u.strip()) for _, u in pages)} with invisible text" if any(u for _, u in pages) else ""
        raise DocumentError(
            f"a PDF with a text layer was required; got {len(pages)} pages without text{unseen} (a scan?)"
        )
    text, spans = "", []
    for blank, run in groupby(pages, key=lambda page: not page[0].strip()):
        run = list(run)
        if blank:
            spans += [(len(text), len(text), "page without text")] * len(run)
        else:
            text = f"{text}{'\n' if text else ''}{_paragraphs('\n'.join(shown for shown, _ in run))}"
        for _, unseen in run:
            if line := " ".join(unseen.split()):
                text = f"{text}\n" if text else ""
                spans.append((len(text), len(text) + len(line), "hidden: drawn invisibly"))
                text = f"{text}{line}\n"
    return text, tuple(spans)


def _pages(path: Path) -> list[tuple[str, str]]:
    """Of each page of a PDF the text that is seen and the text that is not."""
    from pypdf import PdfReader

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # what it complains of on the way is no answer
    texts, length, pages, began = [], 0, PdfReader(path).pages, time.monotonic()
    limit("a PDF of at most {} pages was", PAGES, len(pages))
    for number, page in enumerate(pages, 1):
        texts.append(tuple(map(_unicode, _drawn(page, number))))
        length += sum(map(len, texts[-1]))
        if length > 2_000_000 or time.monotonic() - began > PATIENCE:
            wanted = f"a PDF of at most 2,000,000 characters, read in {PATIENCE} s, was required"
            raise DocumentError(f"{wanted}; got more by page {number}: split it")
    return texts


def _drawn(page: PageObject, number: int) -> tuple[str, str]:
    """The text that a page shows and that which it draws invisibly: in mode 3, white, or without a size."""
    from pypdf.generic import ContentStream, NameObject

    content = page.get_contents()
    if content is None:
        return page.extract_text(), ""
    drawn = [(content, None), *((ContentStream(form, page.pdf), form) for form in _forms(page))]
    limit(f"page {number}: at most {{}} bytes of drawing were", 8_000_000, sum(len(s.get_data()) for s, _ in drawn))
    operations = [stream.operations for stream, _ in drawn]
    limit(f"page {number}: at most {{}} drawing operations were", DRAWN, sum(map(len, operations)))
    unseen = [_unseen(operation) for operation in operations]
    if not any(unseen):
        return page.extract_text(), ""
    texts = []
    for keep in (False, True):
        for (stream, form), drawing, invisible in zip(drawn, operations, unseen, strict=True):
            shown = [op for i, op in enumerate(drawing) if op[1] not in _SHOWS or (i in invisible) == keep]
            stream.operations = shown
            if form is None:
                page[NameObject("/Contents")] = stream
            else:
                form.set_data(stream.get_data())
        texts.append(page.extract_text())
    return texts[0], texts[1]


def _forms(page: PageObject) -> list[StreamObject]:
    """The drawings that a page is made of beside its own, also those inside of them, each once."""
    forms, waiting = {}, [page]
    while waiting:
        resources = waiting.pop().get("/Resources")
        resources = resources.get_object() if resources is not None else {}
        named = resources.get("/XObject")
        for named_form in named.get_object().values() if named is not None else ():
            form = named_form.get_object()
            if form.get("/Subtype") == "/Form" and id(form) not in forms:
                forms[id(form)] = form
                waiting.append(form)
    return list(forms.values())


_SHOWS = (b"Tj", b"TJ", b"'", b'"')


def _unseen(operations: Sequence[tuple[Sequence[object], bytes]]) -> set[int]:
    """The operations that draw text nobody sees."""
    state, saved, unseen = {"mode": 0, "white": False, "size": 1.0, "scale": 1.0}, [], set()
    for i, (operands, operator) in enumerate(operations):
        numbers = [float(operand) for operand in operands if isinstance(operand, int | float)]
        match operator:
            case b"q":
                saved.append(dict(state))
            case b"Q" if saved:
                state = saved.pop()
            case b"Tr" if numbers:
                state["mode"] = int(numbers[0])
            case b"Tf" if numbers:
                state["size"] = abs(numbers[-1])
            case b"Tm" if len(numbers) == 6:
                state["scale"] = max(map(abs, numbers[:4]))
            case b"BT":
                state["scale"] = 1.0
            case b"rg" | b"g" | b"sc" | b"scn":
                state["white"] = len(numbers) in (1, 3) and all(n >= 0.99 for n in numbers)
            case b"k":
                state["white"] = len(numbers) == 4 and all(n <= 0.01 for n in numbers)
            case _ if operator in _SHOWS:
                if state["mode"] in (3, 7) or state["white"] or state["size"] * state["scale"] < 0.5:
                    unseen.add(i)
    return unseen


def _unicode(text: str) -> str:
    """The text with halves of characters joined, or told where they stand alone."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class _Page(HTMLParser):
    """Collects the blocks of a page as its tags and texts come; depth is counted, so that no page is too deep."""

    def __init__(self, sheets: str = "") -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[_Block] = []
        self.words: list[str] = []
        self.path: list[visible.Element] = []
        self.opened: Counter[str] = Counter()
        self.veil: tuple[int, str] | None = None  # the place in the path of what hides, and why it does
        self.secret: list[str] = []
        self.later: list[_Block] = []  # what is hidden, behind the block it stands in
        self.asides: list[tuple[str, int]] = []  # with the number of blocks before it
        self.lists: list[str] = []  # the marks of the lists that are open: bullets or numbers
        self.item = False  # an item has begun and has no text yet
        self.heading = 0
        self.rows: list[list[list[str]]] | None = None  # rows of cells of texts
        self.titled = False
        self.tables = 0
        self.hiding: dict[str, list[visible.Selector]] = {}
        selectors, unread = visible.sheet(sheets)
        for selector in selectors:
            innermost = selector.parts[-1]
            self.hiding.setdefault((innermost.names or (innermost.tag,))[0], []).append(selector)
        if sheets:
            self.blocks.append(_Block("", "style sheet"))
        self.blocks += [_Block(selector, "hidden: style rule, not applied") for selector in unread]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element without content: only where the page's language has such a thing."""
        self.handle_starttag(tag, attrs)
        if tag in ("script", "style") or self.opened["svg"] or self.opened["math"]:
            self.handle_endtag(tag)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin an element: a block ends the one before it."""
        if self._imply(tag) and not self.veil:
            self.flush()
        attributes = {name: value or "" for name, value in reversed(attrs)}
        why = "" if self.veil else self._why(tag, attributes)
        if tag not in visible.VOID:
            self.path.append((tag, attributes))
            self.opened[tag] += 1
        if self.veil:
            self.secret.append("" if tag in _INLINE else " ")
            return
        self._spoken(tag, attributes)
        if why:
            if tag not in visible.VOID:
                if tag not in _INLINE and tag not in ("script", "style", "template", "noscript"):
                    self.flush()
                self.veil = (len(self.path) - 1, why)
        elif tag == "img":
            self.blocks.append(_Block("", "image"))
        elif tag == "br":
            self.words.append("\n")
        elif tag in _MARKS:
            self.words.append(_MARKS[tag])
        elif tag not in _INLINE:
            self._begin(tag)

    def _why(self, tag: str, attributes: dict[str, str]) -> str:
        """Why an element is not shown, by itself or by a style sheet."""
        if why := visible.hidden(tag, attributes):
            return why
        if not self.hiding or tag in ("html", "body"):
            return ""
        path = [*self.path[-250:], (tag, attributes)]
        keys = (tag, "*", f"#{attributes.get('id', '')}", *(f".{c}" for c in set(attributes.get("class", "").split())))
        known = (selector for key in keys for selector in self.hiding.get(key, ()))
        return next((selector.reason for selector in known if visible.selected(selector, path)), "")

    def _spoken(self, tag: str, attributes: dict[str, str]) -> None:
        """Texts of attributes, which a page does not show, or not to everybody."""
        keys = [*visible.SPOKEN, "srcdoc", *(["value"] if attributes.get("type", "").lower() == "hidden" else ())]
        for key in keys if attributes else ():
            text = " ".join(attributes.get(key, "").split())
            if len(text.split()) > 2:
                self.later.append(_Block(text, f"hidden: {key} of {tag}"))

    def _imply(self, tag: str) -> bool:
        """End what a new element ends: an item the item before it, a block the paragraph it stands in."""
        ended, holders = _IMPLIED.get(tag, (set(), set()))
        if tag not in _INLINE and tag not in visible.VOID - {"hr"} and tag not in ("script", "style", "template"):
            ended, holders = ended | {"p"}, holders | _HOLDS_PARAGRAPHS - ended
        if not any(self.opened[name] for name in ended):
            return False
        first = None
        for i in range(len(self.path) - 1, -1, -1):
            if self.path[i][0] in holders:
                break
            if self.path[i][0] in ended:
                first = i
        if first is not None:
            self._cut(first)
        return first is not None

    def _cut(self, at: int) -> None:
        """Leave the elements of the path from that one on."""
        for name, _ in self.path[at:]:
            self.opened[name] -= 1
        del self.path[at:]
        self._unveil()

    def _unveil(self) -> None:
        """Keep what was hidden, once the element that hides it has ended."""
        if self.veil and len(self.path) <= self.veil[0]:
            text, reason = " ".join("".join(self.secret).split()), self.veil[1]
            code = reason in ("hidden: script", "hidden: style sheet")
            if code and reason == "hidden: script" and not any(b.reason == "script" for b in self.blocks):
                self.blocks.append(_Block("", "script"))
            if text and not code:
                self.later.append(_Block(text, reason))
            self.veil = None
            self.secret.clear()

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
            limit(f"line {self.getpos()[0]}: a table of at most {{}} columns was", WIDEST, len(self.rows[-1]))
        elif tag in ("ul", "ol", "menu"):
            self.lists.append("1. " if tag == "ol" else "- ")
            deep = f"line {self.getpos()[0]}: lists nested at most {{}} deep were"
            limit(deep, _DEEPEST, len(self.lists), "flatten them")
        elif tag == "li":
            self.item = True
        elif re.fullmatch("h[1-6]", tag):
            self.heading = int(tag[1])

    def handle_endtag(self, tag: str) -> None:
        """End an element; an end without a beginning only ends the block."""
        veiled, at = self.veil, None
        if self.opened[tag] and tag not in ("html", "body"):
            at = next(i for i in range(len(self.path) - 1, -1, -1) if self.path[i][0] == tag)
            if tag not in _INLINE:
                self._cut(at)
            elif veiled is None or at >= veiled[0]:
                self._cut(at)
            else:  # an inline element that ends inside of what is hidden ends alone
                del self.path[at]
                self.opened[tag] -= 1
                self.veil = (veiled[0] - 1, veiled[1])
        if self.veil or (veiled and at is not None and at >= veiled[0]):
            self.secret += [" "] * bool(self.veil)
            return
        if tag in _INLINE or tag == "br":
            self.words += ["~~"] * (_MARKS.get(tag) == "~~")
            if tag == "sup":
                self._footnote()
            return
        self.flush()
        if self.asides and tag == self.asides[-1][0]:
            self.asides.pop()
        elif tag == "table" and self.tables:
            self.tables -= 1
            if not self.tables:
                self._end_table()
        elif tag in ("ul", "ol", "menu"):
            self.lists, self.item = self.lists[:-1], False
        elif re.fullmatch("h[1-6]", tag):
            self.heading = 0

    def _footnote(self) -> None:
        """Mark a raised number or sign behind a word as the footnote mark that it is."""
        at = next((i for i in range(len(self.words) - 1, max(-1, len(self.words) - 9), -1) if self.words[i] == "^"), -1)
        raised = "".join(self.words[at + 1 :]).strip().strip("[]()") if at >= 0 else ""
        if re.fullmatch(r"\d{1,3}|[*†‡§a-z]", raised) and visible.notes(("".join(self.words[:at][-3:]))[-12:]):
            self.words[at:] = [f"[^{raised}]"]

    def handle_data(self, data: str) -> None:
        """Text, shown or not."""
        (self.secret if self.veil else self.words).append(data)

    def handle_comment(self, data: str) -> None:
        """A comment is hidden text."""
        if self.veil:
            self.secret.append(f" {data} ")
        elif text := " ".join(data.split()):
            self.later.append(_Block(text, "hidden: comment"))

    def unknown_decl(self, data: str) -> None:
        """A CDATA section: browsers show nothing of it in HTML, but its text may be meant."""
        self.handle_data(data.removeprefix("CDATA["))

    def flush(self) -> None:
        """End the block: what was gathered becomes a cell's text, a heading, an item or a paragraph."""
        text = " ".join("".join(self.words).split())
        self.words.clear()
        if text:
            if self.rows and self.rows[-1]:
                self.rows[-1][-1].append(text)
            else:
                self._put(f"{'#' * self.heading} {text}" if self.heading else text)
            self.item, self.heading = False, 0
        if not self.tables:
            self._tell()

    def _tell(self) -> None:
        """What was hidden in the block that ended."""
        self.blocks += self.later
        self.later.clear()

    def finish(self) -> None:
        """End the page, and what nothing closed.

        Raises:
            DocumentError: what is hidden has no end.
        """
        if self.veil and self.path[self.veil[0]][0] not in _OPTIONAL_END:
            raise DocumentError(
                f"an end of <{self.path[self.veil[0]][0]}> was required; got none: it hides all that follows"
            )
        self._cut(0)
        self.flush()
        if self.tables:
            self._end_table()

    def _put(self, text: str) -> None:
        mark = (self.lists or ["- "])[-1] if self.item else ""
        pad = self._pad()[: -len(mark) or None]
        self.blocks.append(_Block(f"{pad}{mark}{text}", _ASIDE[self.asides[-1][0]] if self.asides else ""))
        self.item = False

    def _pad(self) -> str:
        """The blanks before what stands in the innermost list."""
        return " " * sum(map(len, self.lists))

    def _end_table(self) -> None:
        cells = [[" ".join(cell).replace("|", "\\|") for cell in row] for row in self.rows or [] if row]
        self.rows = None
        width = max(map(len, cells), default=0)
        rows = cells if self.titled else [[], *cells]
        lines = ["| " + " | ".join([*row, *[""] * (width - len(row))]) + " |" for row in rows]
        if any(map(any, cells)):
            pad = self._pad() or "  " * self.item
            self._put(f"\n{pad}".join([lines[0], "|" + "---|" * width, *lines[1:]]))
        self._tell()


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
