"""A policy: one document, the toolbox that stands beside it, and the clauses read from it.

A `Clause` is ShieldAgent's policy block (Sec. 3.2.2, App. C.2.1): the verbatim description with its
place in the document (the reference), the definitions and the scope it is read with.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from wb import paths
from wb.domain import document, tools, visible
from wb.paths import ROOT

TROUBLE = (tools.ToolError, document.DocumentError)
NAMES = ("policy.md", "policy.txt", "policy.html", "policy.htm", "policy.pdf")


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
    of its table row.  `definitions` are the sentences that define its terms, verbatim; `scope` says
    when it applies, empty where the document does not say.
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
    folder = path if path.is_dir() else path.parent
    text_path = _document(folder, document) if path.is_dir() else path
    tools_path = folder / "tools.json"
    try:
        read = _read(text_path)
        box = _toolbox(tools_path)
    except TROUBLE as error:
        raise PolicyError(str(error)) from None
    digest = hashlib.sha256(read.text.encode("utf-8"))
    digest.update(tools_path.read_bytes() if tools_path.is_file() else b"")
    name = folder.name if path.is_dir() else text_path.stem
    return Policy(name, read.text, text_path.name, box, digest.hexdigest(), read.sentences, read.skipped, read.seen)


def toolbox(name_or_path: str | Path) -> tools.Toolbox:
    """The tools of a policy without its document; none where no `tools.json` stands beside it.

    Raises:
        PolicyError: there is no such policy, or `tools.json` is malformed.
    """
    path = place(name_or_path)
    try:
        return _toolbox((path if path.is_dir() else path.parent) / "tools.json")
    except tools.ToolError as error:
        raise PolicyError(str(error)) from None


def toolfile(name_or_path: str | Path) -> str:
    """The text of a policy's `tools.json` as it is; that of no tools where there is none.

    Raises:
        PolicyError: there is no such policy, or the file is not UTF-8.
    """
    path = place(name_or_path)
    file = (path if path.is_dir() else path.parent) / "tools.json"
    try:
        return _utf8(file) if file.is_file() else "[]"
    except tools.ToolError as error:
        raise PolicyError(str(error)) from None


def of_text(text: str, toolbox: tools.Toolbox, *, name: str = "text") -> Policy:
    """A policy from a Markdown text in memory, for trying out a sentence.

    Raises:
        PolicyError: the text cannot be read (`document.parse`) or is no Unicode text.
    """
    try:
        read, digest = document.parse(text), hashlib.sha256(text.encode("utf-8")).hexdigest()
    except document.DocumentError as error:
        raise PolicyError(f"{name}: {error}") from None
    except UnicodeEncodeError as error:
        raise PolicyError(f"{name}: Unicode text was required; got half a character at offset {error.start}") from None
    return Policy(name, text, name, toolbox, digest, read.sentences, read.skipped, read.seen)


def _toolbox(path: Path) -> tools.Toolbox:
    return tools.parse(_utf8(path), source=str(path)) if path.is_file() else tools.Toolbox()


def _read(path: Path) -> document.Document:
    return document.read(path)


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
        found = [
            p for p in folder.iterdir() if p.suffix.lower() in kinds and p.is_file() and p.stem.lower() != "readme"
        ]
        if len(found) != 1:
            found = []
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


def _utf8(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise tools.ToolError(
            f"{path}: UTF-8 text was required; got byte 0x{error.object[error.start]:02x} at offset {error.start}"
        ) from None


def to_json(clauses: tuple[Clause, ...]) -> list[dict[str, object]]:
    """Clauses as JSON, for `clauses.json`."""
    return [{field: getattr(clause, field) for field in Clause.__slots__} for clause in clauses]


def from_json(rows: list[dict[str, object]]) -> tuple[Clause, ...]:
    """Clauses from what `to_json` gave."""
    listed = ("headings", "context", "definitions")
    return tuple(
        Clause(**{name: tuple(value) if name in listed else value for name, value in row.items()}) for row in rows
    )
