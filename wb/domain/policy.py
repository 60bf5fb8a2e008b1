"""A policy: one document, the toolbox that stands beside it, and the clauses read from it.

A `Clause` is ShieldAgent's policy block (Sec. 3.2.2, App. C.2.1): the verbatim description with its
place in the document (the reference), the definitions and the scope it is read with.  What must be accounted for are
its `pieces`: every sentence, and what the reader of documents skipped.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from wb import paths
from wb.domain import document, tools, visible
from wb.domain.document import DocumentError
from wb.domain.document import read as read_document
from wb.domain.jsonl import utf8
from wb.domain.visible import HIDDEN
from wb.paths import ROOT

NAMES = ("policy.md", "policy.txt", "policy.html", "policy.htm", "policy.pdf")

_LISTED = re.compile(r"\A\s*(?:[-*+•–—‣◦]|\(?(?:\d{1,3}|[a-z]|[ivx]{1,5})[.)])\s+", re.I)
_DASHES, _APOSTROPHES = re.compile("[-‐‑‒–—―−]"), re.compile("['’‘]")
_LINE = r"(?<=[^\W\d_])[-‐\u00ad][ \t]*\n[ \t]*(?=[^\W\d_])"  # a word goes on in the next line
_PARTED = re.compile(_LINE)
# A word with its hyphens, apostrophes, sign and decimal signs, or one other sign.
_TOKEN = re.compile(
    rf"(?:(?<!\w)[-‐‑‒–—―−](?=\d))?\w(?:\w|[.,](?=\d)(?<=\d.)|['’‘](?=\w)|[-‐‑‒–—―−](?=\w)|{_LINE})*|\S"
)
_DIGIT = re.compile(r"\s*\d")
_BACK = re.compile(r"\A\W*that\b|\b(?:it|this|these|those|they|them|otherwise|such|instead|however)\b", re.I)
_MARK = re.compile(r"[\"“”„«»*_`-]")


class PolicyError(ValueError):
    """A policy cannot be used; the message says what was required, what was got and what to do."""


@dataclass(frozen=True, slots=True)
class Policy:
    """A document (`text`, the stored text that every span points into) and the tools it is about.

    `digest` covers the text and the toolbox file: the same digest, the same policy.  `seen` is the text as a reader
    sees it, each of its characters with its place.
    """

    name: str
    text: str
    source: str
    toolbox: tools.Toolbox
    digest: str
    sentences: tuple[document.Sentence, ...] = ()
    skipped: tuple[document.Skipped, ...] = ()
    seen: visible.Seen = field(default=visible.plain(""), repr=False)

    def __post_init__(self) -> None:
        if self.text and not self.seen.text:
            object.__setattr__(self, "seen", visible.plain(self.text))


@dataclass(frozen=True, slots=True)
class Clause:
    """One constraint of a policy: `policy.text[start:end] == text`; `said` is what a reader sees of it.

    `headings` are the titles it stands under, outermost first.  `context` is what its grammar leans
    on: the stems of its lists (each ends with a colon), then its run-in label, then the other cells
    of its table row.  `definitions` are the sentences that define its terms, `references` those that it points to,
    verbatim; `scope` says when it applies, empty where the document does not say.
    """

    id: str
    text: str
    start: int
    end: int
    headings: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    definitions: tuple[str, ...] = ()
    scope: str = ""
    said: str = ""
    references: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "said", self.said or self.text)


def load(name_or_path: str | Path, *, document: str | None = None) -> Policy:
    """The policy of that name under `policies/`, in a folder, or in a single file.

    A folder holds a document (policy.md, .txt, .html or .pdf, or any name where it is the only one; else
    the name is given as `document`) and, where there are tools, `tools.json`; a single document takes the
    `tools.json` beside it.

    Raises:
        PolicyError: there is no such policy, no document, or more than one; it is empty, not UTF-8
            or of another kind; `tools.json` is malformed.
    """
    path = place(name_or_path)
    text_path = _document(path, document) if path.is_dir() else path
    try:
        read = read_document(text_path)
    except DocumentError as error:
        raise PolicyError(str(error)) from None
    tools_path = _beside(path)
    box = _toolbox(tools_path)
    digest = hashlib.sha256(read.text.encode("utf-8"))
    digest.update(paths.content(tools_path) if tools_path.exists() else b"")
    name = path.name if path.is_dir() else path.stem
    return Policy(name, read.text, text_path.name, box, digest.hexdigest(), read.sentences, read.skipped, read.seen)


def toolbox(name_or_path: str | Path) -> tools.Toolbox:
    """The tools of a policy without its document; none where no `tools.json` stands beside it.

    Raises:
        PolicyError: there is no such policy, or `tools.json` is malformed.
    """
    return _toolbox(_beside(place(name_or_path)))


def toolfile(name_or_path: str | Path) -> str:
    """The text of a policy's `tools.json` as it is; that of no tools where there is none.

    Raises:
        PolicyError: there is no such policy, or the file is not UTF-8.
    """
    return _text(_beside(place(name_or_path)))


def _beside(path: Path) -> Path:
    """Where the tools of a folder or document stand."""
    return paths.folder(path) / "tools.json"


def _toolbox(file: Path) -> tools.Toolbox:
    try:
        return tools.parse(_text(file), source=str(file))
    except tools.ToolError as error:
        raise PolicyError(str(error)) from None


def _text(file: Path) -> str:
    try:
        return utf8(paths.content(file)) if file.exists() else "[]"
    except (ValueError, OSError) as error:
        raise PolicyError(f"{file}: {getattr(error, 'strerror', None) or error}") from None


def of_text(text: str, toolbox: tools.Toolbox, *, name: str = "text") -> Policy:
    """A policy from a Markdown text in memory, for trying out a sentence.

    Raises:
        PolicyError: the text cannot be read (`document.parse`) or is no Unicode text.
    """
    try:
        read, digest = document.parse(text), hashlib.sha256(text.encode("utf-8")).hexdigest()
    except DocumentError as error:
        raise PolicyError(f"{name}: {error}") from None
    except UnicodeEncodeError as error:
        raise PolicyError(f"{name}: Unicode text was required; got half a character at offset {error.start}") from None
    return Policy(name, text, name, toolbox, digest, read.sentences, read.skipped, read.seen)


def place(name_or_path: str | Path, policies: Path = ROOT / "policies") -> Path:
    """The folder or document that a name or path means (`paths.policy`); `PolicyError` where there is none."""
    try:
        return paths.policy(name_or_path, policies)
    except FileNotFoundError as error:
        raise PolicyError(str(error)) from None


def _document(folder: Path, name: str | None) -> Path:
    if name is not None:
        path = folder / name
        if path.is_file():
            return path
        raise PolicyError(f"{folder}: the document {name!r} was asked for; got files {_files(folder)}")
    found = [folder / candidate for candidate in NAMES if (folder / candidate).is_file()]
    if not found:  # a folder with one document needs no certain name
        kinds = {Path(candidate).suffix for candidate in NAMES}
        like = [p for p in folder.iterdir() if p.suffix.lower() in kinds and p.is_file()]
        others = [p for p in like if p.stem.lower() != "readme"]
        found = others if len(others) == 1 else []
    if len(found) == 1:
        return found[0]
    wanted = "one of " + ", ".join(NAMES)
    if found:
        raise PolicyError(
            f"{folder}: exactly {wanted} was required; got {[p.name for p in found]}; name one with document="
        )
    raise PolicyError(f"{folder}: a policy document, {wanted}, was required; got files {_files(folder)}")


def _files(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())[:12]


def to_json(clauses: tuple[Clause, ...]) -> list[dict[str, object]]:
    """Clauses as JSON, for `clauses.json`."""
    return [{field: getattr(clause, field) for field in Clause.__slots__} for clause in clauses]


def from_json(rows: list[dict[str, object]]) -> tuple[Clause, ...]:
    """Clauses from what `to_json` gave."""
    listed = ("headings", "context", "definitions", "references")
    return tuple(
        Clause(**{name: tuple(value) if name in listed else value for name, value in row.items()}) for row in rows
    )


# ---- parts that are read on their own -------------------------------------------------------------


def clause_of(sentence: document.Sentence, id: str = "") -> Clause:
    """A sentence of the document as a clause, with the stems, the label and the row it is read with."""
    context = (*sentence.stems, *([sentence.label] if sentence.label else ()), *(cell for _, cell in sentence.row))
    return Clause(id, sentence.text, sentence.start, sentence.end, sentence.headings, context, said=sentence.said)


def occurrences(quote: str, text: str, start: int, end: int) -> tuple[tuple[int, int], ...]:
    """Every place of a quotation in a part of the text, also overlapping ones; blanks and marks may differ."""
    words = [re.sub(r"['’‘]", "['’‘]", re.sub(r'["“”]', '["“”]', re.escape(word))) for word in quote.split()]
    places = re.compile(rf"(?=({r'\s+'.join(words)}))")
    return tuple(m.span(1) for m in places.finditer(text, start, end)) if words else ()


def near(quote: str, text: str, start: int, end: int) -> tuple[tuple[int, int], ...]:
    """Every place of a quotation that differs from the text only in blanks, quotation marks, dashes, case, its own list
    marker, and words that are parted at the end of a line; every word and number, and any other sign, is the same."""
    wanted = _tokens(_LISTED.sub("", quote))
    if not any(c.isalnum() for token, _, _ in wanted for c in token):
        return ()
    there = [(token, start + a, start + b) for token, a, b in _tokens(text[start:end])]
    words = [token for token, _, _ in wanted]
    size, said = len(words), [token for token, _, _ in there]
    places = (i for i in range(len(said) - size + 1) if said[i : i + size] == words)
    return tuple((there[i][1], there[i + size - 1][2]) for i in places)


def _tokens(text: str) -> list[tuple[str, int, int]]:
    """The words, numbers and signs of a text, each as it is compared and with its place; quotation marks, and dashes
    that stand between words, are none, and a word that is parted at the end of a line is one."""
    found: list[tuple[str, int, int]] = []
    quoted = 0
    for one in _TOKEN.finditer(text):
        token = _APOSTROPHES.sub("'", _DASHES.sub("-", _PARTED.sub("", one.group()))).casefold()
        at, end = one.span()
        number = found and found[-1][0][-1].isdigit() and _DIGIT.match(text, end)
        if token == "'" and text[end : end + 1].isalnum() and not text[max(at - 1, 0) : at].isalnum():
            quoted += 1  # it opens a quotation
        elif token == "'" and quoted:
            quoted -= 1
        elif not _MARK.fullmatch(token) or (token == "-" and number):
            found.append((token, at, end))
    return found


def identities(sentences: Iterable[document.Sentence]) -> tuple[str, ...]:
    """The ids of sentences by their words and what these are read with, blanks folded: the titles above, list openings,
    the run-in label, the rest of the row and its columns, and what stands before where that counts (`following`).  The
    same in the same context is numbered in order."""
    every = tuple(sentences)
    seen: Counter[str] = Counter()
    found = []
    for one, before in zip(every, following(every), strict=True):
        read = (one.text, *one.headings), one.stems, (one.label, one.column), *one.row
        read = (*read, (before,)) if before else read
        folded = [[" ".join(text.split()) for text in part] for part in read]
        key = hashlib.sha256(json.dumps(folded).encode("utf-8")).hexdigest()[:12]
        seen[key] += 1
        found.append(key if seen[key] == 1 else f"{key}-{seen[key]}")
    return tuple(found)


def following(every: Sequence[document.Sentence]) -> tuple[str, ...]:
    """The words before each sentence that are not understood without them: the question of an answer, the step before a
    step, and what one that points back ("this", "otherwise") points to; empty for any other."""
    found, last = [], None
    for one in every:
        hidden = one.kind == "gap" and one.label.startswith(HIDDEN)
        near = last is not None and last.headings == one.headings and one.kind not in ("gap", "heading")
        counts = near and (
            last.said.rstrip().endswith("?") or one.kind == last.kind == "step" or _BACK.search(one.said) is not None
        )
        found.append(last.text if last is not None and counts else "")
        last = last if hidden else one
    return tuple(found)


def named(policy: Policy) -> dict[str, str]:
    """The text of every sentence and skipped part of a policy, by its id."""
    every = pieces(policy)
    return dict(zip(identities(every), (one.text for one in every), strict=True))


def standing(sentence: document.Sentence, before: str = "") -> str:
    """Where a sentence stands, in words: the titles above, list openings, the run-in label, row and column, and what it
    follows (`following`)."""
    row = ", ".join(f"{title} “{cell}”" if title else f"“{cell}”" for title, cell in sentence.row if cell.strip())
    parts = (
        f"under {' / '.join(sentence.headings)}" if sentence.headings else "",
        *(f"in the list “{stem}”" for stem in sentence.stems),
        f"after “{sentence.label}:”" if sentence.label and sentence.kind != "gap" else "",
        f"in the column “{sentence.column}”" if sentence.column else "",
        f"in the row with {row}" if row else "",
        f"behind “{before}”" if before else "",
    )
    return " ".join(", ".join(part for part in parts if part).split())


def pieces(policy: Policy) -> tuple[document.Sentence, ...]:
    """The sentences of a policy, and between them what the reader of documents skipped, with its reason as label."""
    gaps = [part for part in policy.skipped if part.reason not in document.SILENT]
    found: list[document.Sentence] = []
    headings: tuple[str, ...] = ()
    for part in sorted([*policy.sentences, *gaps], key=lambda part: (part.start, part.end)):
        if isinstance(part, document.Skipped):
            text = policy.text[part.start : part.end]
            part = document.Sentence(text, part.start, part.end, "gap", headings, label=part.reason)
        headings = part.headings
        found.append(part)
    return tuple(found)
