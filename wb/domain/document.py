"""Documents as text with blocks and sentences, every sentence at its exact place in the stored text.

Markdown and plain text are kept byte for byte and parsed by markdown-it-py; HTML (beautifulsoup4) and
PDF (pypdf) are first turned into such a text, which is then the stored one.  A sentence carries what
it is read with: headings, the stems of the lists it stands in, a run-in label, its table row.
Legal enumerators, "(a)" and "(i)" in paragraphs of their own, nest like lists.

Where sentences end: a small set of rules over one block of text, offsets native.

A full stop ends a sentence unless it belongs to an abbreviation, an initial, a number or an open
quotation or parenthesis.  Splitting is done inside blocks only; on raw Markdown no splitter works.

Text out of HTML and PDF: the stored text that sentences then point into.

HTML becomes Markdown with the same headings, lists and tables; a PDF becomes its lines, joined to
paragraphs.  Layout, images and links are dropped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

_END = re.compile(r"[.!?]+[\"'”’)\]*_]*(?=\s|\Z)")
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|viz|approx|incl|excl|Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|Inc|Ltd|Co|Corp|Dept|Fig|Eq|Sec|Art|Ch|Vol|pp?|"
    r"no|nos|para|al|U\.S|U\.K|E\.U|a\.m|p\.m)|\b[A-Z])\Z",
    re.I,
)
_SOFT = re.compile(r"\b(?:etc|a\.m|p\.m|U\.S|U\.K|E\.U|Inc|Ltd|Co|Corp|Jr|Sr|al)\Z", re.I)
_OPENER = re.compile(r"\s+[\"'“‘(\[*_]*[A-Z0-9]")


def spans(text: str) -> list[tuple[int, int]]:
    """(start, end) of each sentence, without the blanks around it; they never overlap."""
    cuts, start = [], 0
    for mark in _END.finditer(text):
        if _ends(text, mark, start):
            cuts.append((start, mark.end()))
            start = mark.end()
    cuts.append((start, len(text)))
    trimmed = [(i + len(text[i:j]) - len(text[i:j].lstrip()), i + len(text[i:j].rstrip())) for i, j in cuts]
    return [(i, j) for i, j in trimmed if j > i]


def _ends(text: str, mark: re.Match[str], start: int) -> bool:
    """Whether the punctuation at `mark` closes the sentence that began at `start`."""
    rest = text[mark.end() :]
    if rest.strip() and not _OPENER.match(rest):
        return False
    before = text[start : mark.start()]
    if _open(text[start : mark.end()]):
        return False
    if mark.group().startswith(".") and _ABBREVIATION.search(before):
        next_word = rest.strip()[:1]
        if _SOFT.search(before):
            return next_word.isupper() or not next_word
        return not rest.strip()
    return True


def _open(text: str) -> bool:
    """Whether a double quotation mark or a parenthesis is still open at the end of the text."""
    if len(text) > 600:  # an unbalanced mark must not swallow a page
        return False
    return text.count('"') % 2 == 1 or text.count("“") > text.count("”") or text.count("(") > text.count(")")


_SKIP = {"script", "style", "head", "nav", "footer", "noscript", "template", "svg"}
_BLOCKS = {
    "p",
    "div",
    "section",
    "article",
    "main",
    "body",
    "html",
    "blockquote",
    "dd",
    "dt",
    "dl",
    "header",
    "figure",
    "figcaption",
    "pre",
    "address",
    "aside",
    "form",
    "fieldset",
    "[document]",
}


class ExtractionError(ValueError):
    """A file holds no text that can be read; the message says what was required and what was got."""


def of_html(markup: str) -> str:
    """The Markdown text of an HTML page: headings, paragraphs, nested lists and tables."""
    from bs4 import BeautifulSoup

    lines: list[str] = []
    _element(BeautifulSoup(markup, "html.parser"), lines, 0)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"


def of_pdf(path: Path) -> str:
    """The text of a PDF, lines joined to paragraphs; `ExtractionError` when it holds none (a scan)."""
    from pypdf import PdfReader
    from pypdf.errors import PdfReadError

    try:
        reader = PdfReader(path)
        pages = [page.extract_text() for page in reader.pages]
    except PdfReadError as error:
        raise ExtractionError(f"{path.name}: a readable PDF was required; got {error}") from None
    text = _paragraphs("\n".join(pages))
    if not text.strip():
        raise ExtractionError(
            f"{path.name}: a PDF with a text layer was required; got {len(pages)} pages without text (a scan?)"
        )
    return text


def _element(node: object, lines: list[str], depth: int) -> None:
    """Append the Markdown lines of one element; `depth` counts the lists around it."""
    run: list[str] = []
    for child in node.children:
        name = child.name
        if name is None:
            if type(child).__name__ == "NavigableString":
                run.append(str(child))
        elif name in _SKIP:
            continue
        elif re.fullmatch(r"h[1-6]", name):
            _flush(run, lines, depth)
            lines += ["", f"{'#' * int(name[1])} {_words(child.get_text(' '))}", ""]
        elif name in ("ul", "ol"):
            _flush(run, lines, depth)
            _items(child, lines, depth)
        elif name == "table":
            _flush(run, lines, depth)
            _table(child, lines)
        elif name in _BLOCKS:
            _flush(run, lines, depth)
            _element(child, lines, depth)
        else:
            run.append("\n" if name == "br" else child.get_text())
    _flush(run, lines, depth)


def _items(node: object, lines: list[str], depth: int) -> None:
    lines.append("")
    for item in node.find_all("li", recursive=False):
        inner: list[str] = []
        _element(item, inner, 0)
        kept = [line for line in inner if line.strip()] or [""]
        pad = "    " * depth
        lines.append(f"{pad}- {kept[0]}")
        for line in kept[1:]:
            nested = line.lstrip().startswith("- ")
            lines += [f"{pad}  {line}"] if nested else ["", f"{pad}  {line}"]
    lines.append("")


def _table(node: object, lines: list[str]) -> None:
    rows = [
        [_words(cell.get_text(" ")).replace("|", "/") for cell in row.find_all(["td", "th"])]
        for row in node.find_all("tr")
    ]
    rows = [row for row in rows if row]
    if not rows:
        return
    width = max(map(len, rows))
    rows = [row + [""] * (width - len(row)) for row in rows]
    lines += [
        "",
        *(f"| {' | '.join(row)} |" for row in rows[:1]),
        "|" + "---|" * width,
        *(f"| {' | '.join(row)} |" for row in rows[1:]),
        "",
    ]


def _flush(run: list[str], lines: list[str], depth: int) -> None:
    text = _words("".join(run))
    run.clear()
    if text:
        lines += [text] if depth else ["", text, ""]


def _words(text: str) -> str:
    return " ".join(text.split())


def _paragraphs(text: str) -> str:
    """Lines that continue a sentence joined to one paragraph; words cut at a line end made whole."""
    text = re.sub(r"(\w)-\n(?=[a-z])", r"\1", text.replace("\r", "\n"))
    lines = [line.strip() for line in text.split("\n")]
    joined: list[str] = []
    for line in lines:
        opens = re.match(r"(\(?[a-z0-9]{1,3}\)|\d+(\.\d+)*\.?\s|[•‣◦▪–-]\s)", line)
        previous = joined[-1] if joined else ""
        goes_on = previous and not re.search(r"[.:;!?]\Z", previous) and len(previous) > 45
        if line and goes_on and not opens:
            joined[-1] = f"{previous} {line}"
        else:
            joined.append(line if not re.match(r"[•‣◦▪]\s", line) else f"- {line[2:]}")
    return "\n\n".join(line for line in joined if line) + "\n"


Kind = Literal["prose", "item", "stem", "cell", "heading"]
FORMATS = {".md": "markdown", ".markdown": "markdown", ".txt": "text", ".html": "html", ".htm": "html", ".pdf": "pdf"}
_ENUMERATOR = re.compile(r"(\((?:[a-z]{1,4}|\d{1,2})\)|[a-z]\)|\d{1,2}\)|\d{1,2}(?:\.\d{1,2})+\.?|[•‣◦▪·–—])\s+")
_ROMAN = re.compile(r"[ivx]+\Z")
_LABEL = re.compile(r"([A-Z][\w'’/&-]*(?:[ ,]+[\w'’/&()-]+){0,6}):\s+(?=\S)")
_NO_LABEL = re.compile(
    r"\b(?:must|may|can|cannot|should|shall|will|if|when|following|is|are|means|not|only|do|any|e\.g|i\.e)\b", re.I
)
_BOLD_LINE = re.compile(r"(?:\*\*|__)([^*_]+)(?:\*\*|__):?\Z")


class DocumentError(ValueError):
    """A document cannot be read; the message says what was required and what was got."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a document: `document.text[start:end] == text`.

    `stems` are the list openings above it, outermost first, each with the colon it ends with;
    `label` is the run-in title of its paragraph ("Payment: …"); `row` the other cells of its table
    row as (column, cell).
    """

    text: str
    start: int
    end: int
    kind: Kind = "prose"
    headings: tuple[str, ...] = ()
    stems: tuple[str, ...] = ()
    label: str = ""
    row: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """A stored text and its sentences, in order and without overlap."""

    text: str
    sentences: tuple[Sentence, ...]


@dataclass(frozen=True, slots=True)
class _Piece:
    """Text of one block with the place of each of its characters in the stored text."""

    content: str
    places: tuple[int, ...]

    def part(self, start: int, end: int | None = None) -> _Piece:
        return _Piece(self.content[start:end], self.places[start:end])


def read(path: Path) -> Document:
    """The document in a file, by its suffix.

    Raises:
        DocumentError: no such file, another kind of file, empty, not UTF-8, or a PDF without text.
    """
    if path.suffix.lower() not in FORMATS:
        raise DocumentError(
            f"{path.name}: a document must be one of {sorted(FORMATS)}; got {path.suffix or 'no suffix'!r}"
        )
    if not path.is_file():
        raise DocumentError(f"{path}: a document file was required; there is none")
    text = _stored_text(path)
    if not text.strip():
        raise DocumentError(
            f"{path.name}: a document with text was required; got an empty one ({path.stat().st_size} bytes)"
        )
    return parse(text, titles=FORMATS[path.suffix.lower()] in ("text", "pdf"))


def parse(text: str, *, titles: bool = False) -> Document:
    """The sentences of a Markdown or plain text; `titles`: a short line alone is a heading."""
    from markdown_it import MarkdownIt

    reader = _Reader(text, titles)
    markdown = MarkdownIt("commonmark").enable("table").disable(["code", "html_block"])
    for token in markdown.parse(text):
        reader.take(token)
    used = {stem for sentence in reader.found for stem in sentence.stems}
    return Document(
        text,
        tuple(
            s if s.kind != "stem" or any(u.endswith(s.text) for u in used) else replace(s, kind="prose")
            for s in reader.found
        ),
    )


def _stored_text(path: Path) -> str:
    kind = FORMATS[path.suffix.lower()]
    if kind == "pdf":
        pass

        return of_pdf(path)
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DocumentError(
            f"{path.name}: UTF-8 text was required; got byte 0x{data[error.start]:02x} at offset {error.start}"
        ) from None
    if kind == "html":
        pass

        return of_html(text)
    return text


class _Reader:
    """Walks the tokens of one text and collects its sentences; lives only inside `parse`."""

    def __init__(self, text: str, titles: bool) -> None:
        self.text, self.titles = text, titles
        self.line_starts = [0, *(m.end() for m in re.finditer(r"\r\n|\n|\r", text))]
        self.found: list[Sentence] = []
        self.headings: list[tuple[int, str]] = []
        self.level = 0
        self.lists: list[str] = []
        self.last = ""
        self.legal: list[tuple[str, str]] = []
        self.header: list[str] = []
        self.cells: list[_Piece] = []
        self.in_head = False
        self.cursor = 0

    def take(self, token: object) -> None:
        """One token of markdown-it: keep track of where we are, and read inline text."""
        match token.type:
            case "heading_open":
                self.level = int(token.tag[1])
            case "heading_close":
                self.level, self.legal, self.last = 0, [], ""
            case "bullet_list_open" | "ordered_list_open":
                self.lists.append(self.last if self.last.endswith(":") else "")
            case "bullet_list_close" | "ordered_list_close":
                self.lists.pop()
                self.last = self.last if self.last.endswith(":") and not self.lists else ""
            case "list_item_open":
                self.last, self.legal = "", []
            case "thead_open" | "thead_close":
                self.in_head = token.type == "thead_open"
            case "tr_open":
                self.cells, self.cursor = [], self.line_starts[token.map[0]]
            case "tr_close":
                self._row()
            case "td_open" | "th_open":
                self.level = -1
            case "td_close" | "th_close":
                self.level = 0
            case "inline":
                self._inline(token)

    def _inline(self, token: object) -> None:
        if self.level == -1:
            piece = self._placed(token.content, self.cursor)
            self.cursor = (piece.places[-1] + 1) if piece.places else self.cursor
            self.cells.append(piece)
            return
        piece = self._placed(token.content, self.line_starts[token.map[0]])
        if self.level:
            self._heading(self.level, piece)
        elif self._is_title(piece.content):
            self._heading(6, piece)
        else:
            for part in _split_enumerated(piece):
                self._paragraph(part)

    def _placed(self, content: str, cursor: int) -> _Piece:
        """The block's text with each character found again in the stored text, line by line."""
        kept, places = [], []
        for line in content.split("\n"):
            at = self.text.find(line, cursor)
            if at < 0:  # an escaped pipe in a table cell, a tab made of spaces: walk character by character
                at, line = cursor, ""
                span = _walk(self.text, cursor, content)
                if span is None:
                    continue
                at, line = span[0], self.text[span[0] : span[1]]
            if kept:
                kept.append("\n")
                places.append(at - 1 if at else 0)
            kept.extend(line)
            places.extend(range(at, at + len(line)))
            cursor = at + len(line)
        return _Piece("".join(kept), tuple(places))

    def _is_title(self, content: str) -> bool:
        bold = _BOLD_LINE.match(content.strip())
        words = content.split()
        short = "\n" not in content and 0 < len(words) <= 8 and not re.search(r"[.:;,!?]\Z", content.strip())
        return not self.lists and bool(bold or (self.titles and short and content[:1].isupper()))

    def _heading(self, level: int, piece: _Piece) -> None:
        title = re.sub(r"[*`]|^__|__$", "", piece.content).strip(" :#")
        self.headings = [h for h in self.headings if h[0] < level] + [(level, title)]
        self.legal, self.last = [], ""
        if piece.places:
            self._add(piece, "heading", headings=tuple(h for _, h in self.headings[:-1]))

    def _paragraph(self, piece: _Piece) -> None:
        marker = _ENUMERATOR.match(piece.content)
        if marker:
            self._enter(marker.group(1))
            piece = piece.part(marker.end())
        elif not self.lists:
            self.legal = []
        content = piece.content.rstrip()
        label = _LABEL.match(content)
        if label and _NO_LABEL.search(label.group(1)):
            label = None
        name = label.group(1) if label else ""
        if label:
            piece = piece.part(label.end())
        ends_open = content.endswith(":")
        stems = tuple(s for s in (*self.lists, *(opening for _, opening in self.legal)) if s)
        found = spans(piece.content)
        for i, (start, end) in enumerate(found):
            kind = "stem" if ends_open and i == len(found) - 1 else "item" if self.lists or marker else "prose"
            self._add(piece.part(start, end), kind, label=name, stems=stems)
        last = piece.content[slice(*found[-1])] if found else content
        self.last = f"{name}: {last}" if name and ends_open else last if ends_open else ""

    def _enter(self, marker: str) -> None:
        """Place an enumerator: back to the level of its kind, or one level deeper after a colon."""
        word = marker.strip("().")
        kinds = {"roman"} if len(word) > 1 and _ROMAN.match(word) else {"letter"} if word.isalpha() else {"digit"}
        if len(word) == 1 and _ROMAN.match(word):
            kinds = {"roman"} if self.last.endswith(":") and self.legal else {"letter", "roman"}
        if not word or not word[0].isalnum():
            kinds = {"bullet"}
        open_kinds = [kind for kind, _ in self.legal]
        same = next((k for k in reversed(open_kinds) if k in kinds), None)
        if same and not (self.last.endswith(":") and kinds == {"roman"} and same != "roman"):
            self.legal = self.legal[: open_kinds.index(same) + 1]
        else:
            self.legal = [*self.legal, (sorted(kinds)[0], self.last if self.last.endswith(":") else "")]

    def _row(self) -> None:
        if self.in_head:
            self.header = [piece.content for piece in self.cells]
            return
        titles = [*self.header, *[""] * len(self.cells)]
        for i, piece in enumerate(self.cells):
            row = tuple((titles[j], other.content) for j, other in enumerate(self.cells) if j != i)
            for start, end in spans(piece.content):
                self._add(piece.part(start, end), "cell", row=row)

    def _add(self, piece: _Piece, kind: Kind, **context: object) -> None:
        headings = context.pop("headings", tuple(h for _, h in self.headings))
        start, end = piece.places[0], piece.places[-1] + 1
        found = Sentence(self.text[start:end], start, end, kind, headings, **context)
        if not self.found or found.start >= self.found[-1].end:
            self.found.append(found)


def _split_enumerated(piece: _Piece) -> list[_Piece]:
    """One piece a line that opens with an enumerator; a block without them stays whole."""
    starts = [0]
    for newline in re.finditer("\n", piece.content):
        if _ENUMERATOR.match(piece.content, newline.end()):
            starts.append(newline.end())
    ends = [*(s - 1 for s in starts[1:]), len(piece.content)]
    return [piece.part(start, end) for start, end in zip(starts, ends, strict=True) if end > start]


def _walk(text: str, cursor: int, wanted: str) -> tuple[int, int] | None:
    """The span from `cursor` whose characters are those of `wanted`, ignoring blanks and backslashes."""
    letters = [c for c in wanted if not c.isspace() and c != "\\"]
    if not letters:
        return None
    start = text.find(letters[0], cursor)
    at = start
    for letter in letters:
        at = text.find(letter, at)
        if at < 0 or at - start > 3 * len(wanted) + 8:
            return None
        at += 1
    return start, at
