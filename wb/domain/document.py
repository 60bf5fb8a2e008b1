"""Documents as text with blocks and sentences, every sentence at its exact place in the stored text.

Markdown and plain text are kept byte for byte and parsed by markdown-it-py; HTML (html.parser) and
PDF (pypdf) are first turned into such a text, which is then the stored one.  A sentence carries what
it is read with: headings, the stems of the lists it stands in, a run-in label, its table row.
Legal enumerators, "(a)" and "(i)" in paragraphs of their own, nest like lists.

Sentences end inside one block: a full stop ends one unless it belongs to an abbreviation, an initial, a
number or an open quotation or parenthesis.  Nothing passes in silence: each character lies in one sentence
or in one skipped span with its reason.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from wb import paths
from wb.domain import extraction, visible
from wb.domain.extraction import DEEPEST, WIDEST, DocumentError, Piece, limit
from wb.domain.jsonl import utf8
from wb.domain.visible import HIDDEN, Edit, Seen
from wb.logic.wording import shortened

_END = re.compile(r"(?<![.!?])[.!?]++[\"'”’)\]*_]*+(?=\s|\Z)")  # possessive: linear in the text
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|viz|approx|incl|excl|Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|Inc|Ltd|Co|Corp|Dept|Fig|Eq|"
    r"Sec|Art|Ch|Vol|pp?|no|nos|para|al|U\.S|U\.K|E\.U|a\.m|p\.m)|(?<!/)(?<!\d )\b[A-Z])\Z",
    re.I,
)
_SOFT = re.compile(r"\b(?:etc|a\.m|p\.m|U\.S|U\.K|E\.U|Inc|Ltd|Co|Corp|Jr|Sr|al)\Z", re.I)
_LONGEST = 8  # letters of the longest abbreviation, the break before it included
_BLACK = re.compile(r"\S")
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
    """Whether the punctuation at `mark` closes the sentence that began at `start`, told from a bounded part of it."""
    after = _BLACK.search(text, mark.end())
    if after and not _OPENER.match(text, mark.end()):
        return False
    if mark.end() - start <= 600 and _open(text[start : mark.end()]):  # an unbalanced mark must not swallow a page
        return False
    before = text[max(start, mark.start() - _LONGEST) : mark.start()]
    if mark.group().startswith(".") and _ABBREVIATION.search(before):
        if _SOFT.search(before):
            return after is None or after.group().isupper()
        return after is None
    return True


def _open(text: str) -> bool:
    """Whether a double quotation mark or a parenthesis is still open at the end of the text."""
    return text.count('"') % 2 == 1 or text.count("“") > text.count("”") or text.count("(") > text.count(")")


if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

SentenceKind = Literal["prose", "item", "step", "stem", "cell", "heading"]  # a step is an item of a numbered list
LONGEST = 1_000_000  # characters of a text, a long book
SENTENCE = 5_000  # characters of a sentence with all that it is read with
READ = 8 * LONGEST  # characters of all sentences, each with all that it is read with
SILENT = frozenset({"blank", "markup", "enumerator", "tag", "link address", "footnote mark", "invisible character"})
FORMATS = {".md": "markdown", ".markdown": "markdown", ".txt": "text", ".html": "html", ".htm": "html", ".pdf": "pdf"}
_OPEN = re.compile(  # how a text ends that goes on in the list after it
    r"(?:[:,–—]|\s-|\b(?:if|unless|when|where|while|before|after|until|that|which|who|than|and|or|but|not|only|except|the|"
    r"an?|to|of|for|by|with|without|from|in|on|at|as|is|are|be|any|following))\Z|"
    r"\b(?:one|any|either|all|both|each|some)\W+of\W+(?:the\W+)?following\b[^.:;!?]*\.\Z",
    re.I,
)
_ENDS = " ,.–—-"  # what a text that goes on in a list ends with, beside a colon
_ENUMERATOR = re.compile(r"(\((?:[a-z]{1,4}|\d{1,2})\)|[a-z]\)|\d{1,2}\)|\d{1,2}(?:\.\d{1,2})+\.?|[•‣◦▪·–—])\s+")
_ROMAN = re.compile(r"[ivx]+\Z")
_LABEL = re.compile(r"([A-Z][\w'’/&-]*(?:[ ,]+[\w'’/&()-]+){0,6}):\s+(?=\S)")
_NO_LABEL = re.compile(
    r"\b(?:must|may|can|cannot|should|shall|will|if|when|following|is|are|means|not|only|do|any|e\.g|i\.e)\b", re.I
)
_FRONT_MATTER = re.compile(
    r"---[ \t]*\r?\n(?=[A-Za-z_])(?:[A-Za-z_][\w.-]*[ \t]*:.*\n|[ \t]+\S.*\n|-[ \t].*\n|#.*\n)+---[ \t\r]*(?:\n|\Z)"
)
_MARKUP = re.compile(r"[-+*>#|=:_]+|[-+*>]*\d{1,9}[.)]")
_PIPE = re.compile(r"(?<!\\)\|")
_BOLD_LINE = re.compile(r"(?:\*\*|__)([^*_]+)(?:\*\*|__):?\Z")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a document: `document.text[start:end] == text`.

    `said` is what a reader sees of it, without what is hidden in it: words are compared there, and quoted from `text`.
    `stems` are the list openings above it, outermost first, each with a colon at its end;
    `label` is the run-in title of its paragraph ("Payment: …"); `row` the other cells of its table
    row as (column, cell), `column` the title of its own.
    """

    text: str
    start: int
    end: int
    kind: SentenceKind = "prose"
    headings: tuple[str, ...] = ()
    stems: tuple[str, ...] = ()
    label: str = ""
    row: tuple[tuple[str, str], ...] = ()
    column: str = ""
    said: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "said", self.said or self.text)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A span of a document that is no part of a sentence, and why; "hidden: …" where no reader sees it.

    What is hidden may lie inside a sentence.  Labels and column titles are kept with the sentences that are read
    with them.  An image of a page
    in HTML and a page of a PDF without text have an empty span, at the place where they stand.
    """

    start: int
    end: int
    reason: str


@dataclass(frozen=True, slots=True)
class Document:
    """A stored text, its sentences and what was skipped: together they cover the text, each character once.

    Both are in order and without overlap, but for hidden text, which may also lie inside another span.  `seen` is the
    text as a reader sees it.
    """

    text: str
    sentences: tuple[Sentence, ...]
    skipped: tuple[Skipped, ...] = ()
    seen: Seen = field(default_factory=lambda: visible.plain(""))


def read(path: Path) -> Document:
    """The document in a file, by its suffix.

    Raises:
        DocumentError: no such file, another kind of file, empty, not UTF-8, too long or nested too deep, a PDF that
            cannot be read or has no text, or nothing in it is a sentence.
    """
    if path.suffix.lower() not in FORMATS:
        raise DocumentError(
            f"{path.name}: a document must be one of {sorted(FORMATS)}; got {path.suffix or 'no suffix'!r}"
        )
    if not path.is_file():
        raise DocumentError(f"{path}: a document file was required; there is none")
    kind = FORMATS[path.suffix.lower()]
    plain, converted = kind in ("text", "pdf"), kind in ("html", "pdf")
    try:
        text, known = _stored_text(path, kind)
        if not text.strip():
            raise DocumentError(f"a document with text was required; got an empty one ({path.stat().st_size} bytes)")
        document = _parse(text, titles=plain, converted=converted, known=known, markup=kind == "markdown")
        if not document.sentences:
            reasons = ", ".join(sorted({part.reason for part in document.skipped} - {"blank", "markup"}))
            raise DocumentError(f"a document with sentences was required; got nothing but {reasons or 'markup'}")
    except DocumentError as error:
        raise DocumentError(f"{path.name}: {error}") from None
    return document


def parse(text: str, *, titles: bool = False, seen: bool = False) -> Document:
    """The sentences of a Markdown or plain text, and what was skipped; `titles`: a short line alone is a heading.

    A code fence is skipped, unless nothing closes it: then what follows is read.  `seen`: the text is already what a
    reader sees, such as a part of `Document.seen`, and no mark in it hides anything.

    Raises:
        DocumentError: longer than `LONGEST`, nested deeper than `DEEPEST`, a table wider than `WIDEST`, a sentence
            longer than `SENTENCE`, hidden text without an end.
    """
    return _parse(text, titles=titles, markup=None if seen else True)


def _parse(
    text: str, *, titles: bool, converted: bool = False, known: tuple[Skipped, ...] = (), markup: bool | None = False
) -> Document:
    """`converted` text knows headings, lists and tables only; what is `known` to be skipped is not read; `markup` may
    hide text, and with None the text is seen as it is."""
    limit("a text of at most {} characters was", LONGEST, len(text))
    front = None if converted else _FRONT_MATTER.match(text)
    said = front and re.search(r"[.!?][\"')]*[ \t\r]*$", front.group(), re.MULTILINE)
    if front and not said:  # sentences are read, wherever they stand
        known = (Skipped(0, front.end(), "front matter"),)
    base = text.replace("\r\n", " \n").replace("\r", "\n").replace("\0", "\ufffd")  # as long as the text: places stay
    hidden = [part for part in known if part.reason.startswith(HIDDEN)]
    known = tuple(part for part in known if part not in hidden)
    for part in known:
        base = f"{base[: part.start]}{re.sub(r'[^\n]', ' ', base[part.start : part.end])}{base[part.end :]}"
    try:
        edits = [Edit(part.start, part.end, "", part.reason) for part in hidden]
        seen = visible.plain(base) if markup is None else visible.read(base, markup=markup, known=edits)
    except visible.VisibleError as error:
        raise DocumentError(str(error)) from None
    reader = _Reader(seen.text, titles)
    reader.walk(extraction.parser(converted, not converted), 0, len(seen.text))
    _all_read(seen.text, reader)
    used = {stem.removesuffix(":") for sentence in reader.sentences for stem in sentence.stems}
    used |= {stem.partition(": ")[2] for stem in used}  # without the label that a stem is read with
    sentences = tuple(_placed(s, text, base, seen, used) for s in reader.sentences)
    _bounded(text, sentences)
    skipped = [Skipped(*_place(seen, s.start, s.end), s.reason) for s in reader.skipped]
    taken = sorted((s.start, s.end) for s in (*sentences, *skipped, *known))
    left = [edit for edit in seen.left if edit.reason.startswith(HIDDEN) or not _inside(edit, taken)]
    skipped += [Skipped(edit.start, edit.end, edit.reason) for edit in left]
    return Document(text, sentences, _account(text, sentences, (*known, *skipped)), seen)


def _place(seen: Seen, start: int, end: int) -> tuple[int, int]:
    if start < end:
        return seen.span(start, end)
    at = seen.places[start] if start < len(seen.places) else seen.places[-1] + 1 if seen.places else 0
    return at, at


def _placed(sentence: Sentence, text: str, base: str, seen: Seen, used: set[str]) -> Sentence:
    """A sentence of the seen text at its place in the document."""
    start, end = seen.span(sentence.start, sentence.end)
    said = text[start:end] if sentence.text == base[start:end] else sentence.text
    kind = "prose" if sentence.kind == "stem" and sentence.text.rstrip(f"{_ENDS}:") not in used else sentence.kind
    return replace(sentence, text=text[start:end], start=start, end=end, kind=kind, said=said)


def _inside(edit: Edit, taken: list[tuple[int, int]]) -> bool:
    at = bisect_right(taken, (edit.start, len(taken) and taken[-1][1] + edit.end)) - 1
    return at >= 0 and edit.start < taken[at][1]


def _bounded(text: str, sentences: tuple[Sentence, ...]) -> None:
    """Refuse a document with a sentence too long to be read, or with too much that sentences are read with."""
    total = 0
    for sentence in sentences:
        cells = [part for pair in sentence.row for part in pair]
        context = (*sentence.stems, *sentence.headings, sentence.label, sentence.column, *cells)
        size = len(sentence.said) + sum(map(len, context))
        total += size
        if size <= SENTENCE and total <= READ:
            continue
        line = f"line {text.count(chr(10), 0, sentence.start) + 1}"
        beside = "with the titles, openings and cells it is read with,"
        if size > SENTENCE:
            wanted = f"a sentence of at most {SENTENCE:,} characters, {beside} was required"
            raise DocumentError(f"{line}: {wanted}; got {size:,} from {shortened(sentence.text, 20)!r}: split it")
        wanted = f"sentences of at most {READ:,} characters, each {beside} were required"
        raise DocumentError(f"{line}: {wanted}; got more: shorten what is read again with each")


def _stored_text(path: Path, kind: str) -> tuple[str, tuple[Skipped, ...]]:
    """The text of a file, and the spans of it that its format says are no part of the document."""
    if kind == "pdf":
        text, spans = extraction.of_pdf(path)
        return text, tuple(Skipped(*span) for span in spans)
    limit("a file of at most {} bytes was", 16 * LONGEST, path.stat().st_size)
    try:
        text = utf8(paths.content(path, 16 * LONGEST))
    except ValueError as error:
        raise DocumentError(str(error)) from None
    limit("a file of at most {} characters was", 4 * LONGEST, len(text))  # markup included
    text, spans = extraction.of_html(text) if kind == "html" else (text, ())
    return text, tuple(Skipped(*span) for span in spans)


def _gaps(text: str, spans: Iterable[tuple[int, int, str]]) -> Iterator[tuple[int, int]]:
    """The blanks and the words of a text that lie in no span, in order; the spans are sorted."""
    cursor = 0
    for start, end, _ in (*spans, (len(text), len(text), "")):
        for gap in re.finditer(r"\s+|\S+", text[cursor:start]):
            yield cursor + gap.start(), cursor + gap.end()
        cursor = max(cursor, end)


def _all_read(text: str, reader: _Reader) -> None:
    """Refuse a text with words that nobody took: they stand deeper than the parser goes."""
    for begin, end in _gaps(text, sorted((part.start, part.end, "") for part in (*reader.sentences, *reader.skipped))):
        if not text[begin:end].isspace() and not _MARKUP.fullmatch(text, begin, end):
            line = f"line {text.count(chr(10), 0, begin) + 1}"
            wanted = f"lists and quotations nested at most {DEEPEST // 2} deep were required"
            raise DocumentError(f"{line}: {wanted}; got deeper ones before {text[begin : begin + 40]!r}: flatten them")


def _account(text: str, sentences: tuple[Sentence, ...], known: Iterable[Skipped]) -> tuple[Skipped, ...]:
    """All that lies in no sentence, in order, with its reason."""
    spans = sorted([*((s.start, s.end, "") for s in sentences), *((s.start, s.end, s.reason) for s in known)])
    skipped = [Skipped(*span) for span in spans if span[2]]
    skipped += [Skipped(i, j, "blank" if text[i:j].isspace() else "markup") for i, j in _gaps(text, spans)]
    return tuple(sorted(skipped, key=lambda part: (part.start, part.end)))


class _Reader:
    """Walks the tokens of one text and collects its sentences; lives only inside `parse`."""

    def __init__(self, text: str, titles: bool) -> None:
        self.text, self.titles = text, titles
        self.sentences: list[Sentence] = []
        self.skipped: list[Skipped] = []
        self.headings: list[tuple[int, str]] = []
        self.level = 0
        self.lists: list[str] = []
        self.items: list[SentenceKind] = ["item"]  # what stands outside of lists has an enumerator
        self.last = ""
        self.legal: list[tuple[str, str]] = []

    def walk(self, markdown: MarkdownIt, start: int, end: int) -> None:
        """Read the text from `start` to `end`."""
        text = self.text[start:end]
        env: dict[str, dict[int, tuple[str, int]]] = {"lines": {}}
        tokens = markdown.parse(text, env)
        breaks = [i for i, letter in enumerate(text) if letter == "\n"]
        ends = [start + i for i in (*breaks, len(text))]
        lines = {line: (start + begin, ends[line]) for line, (_, begin) in env["lines"].items()}
        for line, (name, _) in env["lines"].items():
            if name == "reference":
                self.skipped.append(Skipped(*lines[line], "link definition"))
        for token in tokens:
            self._take(token, [lines[line] for line in range(*(token.map or (0, 0))) if line in lines])

    def _take(self, token: Token, lines: list[tuple[int, int]]) -> None:
        """One token of markdown-it, with the spans of its lines: keep track of where we are, and read inline text."""
        match token.type:
            case "heading_open":
                self.level = int(token.tag[1])
            case "heading_close":
                self.level, self.legal, self.last = 0, [], ""
            case "bullet_list_open" | "ordered_list_open":
                self.lists.append(self.last if self.last.endswith(":") else "")
                self.items.append("step" if token.type == "ordered_list_open" else "item")
            case "bullet_list_close" | "ordered_list_close":
                self.lists.pop()
                self.items.pop()
                self.last = self.last if self.last.endswith(":") and not self.lists else ""
            case "list_item_open":
                self.last, self.legal = "", []
            case "table_open":
                self._table([lines[0], *lines[2:]])
            case "td_open" | "th_open":
                self.level = -1
            case "td_close" | "th_close":
                self.level = 0
            case "fence":
                self._fence(token, lines)
            case "inline" if self.level >= 0:
                self._inline(token, lines)

    def _inline(self, token: Token, lines: list[tuple[int, int]]) -> None:
        if token.type == "inline" and self.level and len(lines) == 1:  # "# Title #": between the marks
            start, end = lines[0]
            start += re.match("(?:#{1,6}(?=[ \t]|\\Z))?[ \t]*", self.text[start:end]).end()
            start = max(start, self.text.find(token.content, start, end))  # after blanks that only Unicode knows
            lines = [(start, start + len(token.content))]
        piece = Piece.of(self.text, lines)
        if self.level:
            self._heading(self.level, piece)
        elif self._is_title(piece.content):
            self._heading(6, piece)
        else:
            for part in _split_enumerated(piece):
                self._paragraph(part)

    def _fence(self, token: Token, lines: list[tuple[int, int]]) -> None:
        """Code is skipped. What follows a mark that nothing closes is no code: it is read."""
        mark, last = token.markup, self.text[slice(*lines[-1])].strip(" \t")
        if len(lines) > 1 and len(last) >= len(mark) and not last.strip(mark[0]):
            self.skipped.append(Skipped(lines[0][0], lines[-1][1], "code fence"))
            return
        start = lines[0][0] + len(mark)
        self.skipped.append(Skipped(lines[0][0], start, "code fence"))
        self.walk(extraction.parser(False, False), start, lines[-1][1])

    def _is_title(self, content: str) -> bool:
        bold = _BOLD_LINE.match(content.strip())
        words = content.split()
        short = "\n" not in content and 0 < len(words) <= 8 and not re.search(r"[.:;,!?]\Z", content.strip())
        return not self.lists and bool(bold or (self.titles and short and content[:1].isupper()))

    def _heading(self, level: int, piece: Piece) -> None:
        title = re.sub(r"[*`]|^__|__$", "", piece.content).strip(" :#")
        self.headings = [h for h in self.headings if h[0] < level] + [(level, title)]
        self.legal, self.last = [], ""
        if piece.places:
            self._add(piece, "heading", headings=tuple(h for _, h in self.headings[:-1]))

    def _paragraph(self, piece: Piece) -> None:
        marker = _ENUMERATOR.match(piece.content)
        if marker:
            self._enter(marker.group(1))
            self._leave(piece.part(0, marker.end(1)), "enumerator")
            piece = piece.part(marker.end())
        elif not self.lists:
            self.legal = []
        content = piece.content.rstrip()
        label, name = _LABEL.match(content), ""
        if label and not _NO_LABEL.search(label.group(1)):
            name = label.group(1)
            self._leave(piece.part(0, label.end(1) + 1), "label")
            piece = piece.part(label.end())
        ends_open = _OPEN.search(content) is not None
        stems = tuple(s for s in (*self.lists, *(opening for _, opening in self.legal)) if s)
        places = spans(piece.content)
        for i, (start, end) in enumerate(places):
            kind = "stem" if ends_open and i == len(places) - 1 else self.items[-1] if marker or self.lists else "prose"
            self._add(piece.part(start, end), kind, label=name, stems=stems)
        last = piece.content[slice(*places[-1])] if places else content
        opening = f"{last.rstrip(_ENDS).removesuffix(':')}:" if ends_open else ""
        self.last = f"{name}: {opening}" if name and ends_open else opening

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

    def _table(self, lines: list[tuple[int, int]]) -> None:
        rows = [self._cells(*line) for line in lines]
        header = [] if len(rows) == 1 else rows.pop(0)
        line = f"line {self.text.count(chr(10), 0, lines[0][0]) + 1}"
        limit(f"{line}: a table of at most {{}} columns was", WIDEST, max(map(len, (header, *rows))))
        self.skipped += [Skipped(c.places[0], c.places[-1] + 1, "column title") for c in header if c.content]
        for cells in rows:
            titles = [*(cell.content for cell in header), *[""] * len(cells)]
            for i, piece in enumerate(cells):
                row = tuple((titles[j], other.content) for j, other in enumerate(cells) if j != i)
                for start, end in spans(piece.content):
                    self._add(piece.part(start, end), "cell", row=row, column=titles[i])

    def _cells(self, start: int, end: int) -> list[Piece]:
        """The cells of a table's line, also those for which it has no column."""
        pipes = [start + pipe.start() for pipe in _PIPE.finditer(self.text[start:end])]
        parts = zip([start, *(at + 1 for at in pipes)], [*pipes, end], strict=True)
        cells = [Piece.of(self.text, [part]) for part in parts]
        first = 1 if not cells[0].content else 0
        return cells[first:-1] if len(cells) > first + 1 and not cells[-1].content else cells[first:]

    def _add(self, piece: Piece, kind: SentenceKind, **context: object) -> None:
        headings = context.pop("headings", tuple(h for _, h in self.headings))
        start, end = piece.places[0], piece.places[-1] + 1
        self.sentences.append(Sentence(self.text[start:end], start, end, kind, headings, **context))

    def _leave(self, piece: Piece, reason: str) -> None:
        self.skipped.append(Skipped(piece.places[0], piece.places[-1] + 1, reason))


def _split_enumerated(piece: Piece) -> list[Piece]:
    """One piece a line that opens with an enumerator; a block without them stays whole."""
    lines = (newline.end() for newline in re.finditer("\n", piece.content))
    starts = [0, *(at for at in lines if _ENUMERATOR.match(piece.content, at))]
    ends = [*(s - 1 for s in starts[1:]), len(piece.content)]
    return [piece.part(start, end) for start, end in zip(starts, ends, strict=True) if end > start]
