"""What a stage's result depends on, as one digest: its key.

Covered: parameters, the policy's files, code cells, the `wb` modules that they use (followed through
imports), and the files taken from earlier stages.  Not covered: Markdown, outputs, package versions.
Prompts and recorded replies are known only after a run: they are recorded with the result and
compared when it is looked up, so that a changed prompt re-runs only the stages that read it.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from wb import paths
from wb.paths import digest
from wb.runs import notebook

ASKS = ("ask", "ask_all", "load")
IMPORT = re.compile(
    r"^[ \t]*(from[ \t]+wb\b[^\n(\\]*(?:\([^)#]*\)|\\\n[^\n]*)?|import[ \t][^\n#]*\bwb\.[\w.]+)", re.MULTILINE
)
WORKER = re.compile(r"""["'](?:wb\.([\w.]+)|(\w+)\.py)["']""")


class SourceError(ValueError):
    """There is no policy where one was named."""


@dataclass(frozen=True, slots=True)
class Source:
    """A policy as a key sees it: a name and the digest of its files, wherever they lie."""

    name: str
    digest: str
    path: Path


@dataclass(frozen=True, slots=True)
class Inputs:
    """All that is known before a stage runs and that its result depends on.

    `upstream` holds, for each stage read, the digests of the files taken from it: what an earlier
    stage recomputed to the same bytes re-runs nothing.
    """

    stage: str
    mode: str
    parameters: Mapping[str, object]
    policy: str
    cells: tuple[str, ...]
    modules: Mapping[str, str]
    upstream: Mapping[str, Mapping[str, str]]

    @property
    def static(self) -> str:
        """The digest of all of it."""
        return digest([self.stage, self.mode, self.parameters, self.policy, self.cells, self.modules, self.upstream])


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


RECORDED = ".jsonl"


def policy(value: str, policies: Path) -> Source:
    """The policy that a parameter names, found as `wb.paths.policy` finds it, like all that reads it.

    Its digest covers the files at the top of the folder, or the document with the `tools.json`, the decisions,
    the edits of items and the vocabulary beside it; not logs, records and recordings (`.jsonl`), which are told apart
    or none of a policy.

    Raises:
        SourceError: there is none.
    """
    try:
        path = paths.policy(value, policies)
    except FileNotFoundError as error:
        raise SourceError(str(error)) from None
    # a link keeps its own name and what stands beside it, as all that reads the policy has it
    path = path.parent.resolve() / path.name if path.name not in ("", "..") else path.resolve()
    names = ("decisions.yaml", "items.yaml", "vocabulary.yaml")
    beside = [path, path.with_name("tools.json"), *(paths.beside(path, name) for name in names)]
    files = [p for p in path.iterdir() if p.is_file()] if path.is_dir() else beside
    read = (p for p in files if p.is_file() and not p.name.startswith(".") and p.suffix != RECORDED)
    found = {p.name: file_digest(p) for p in read}
    return Source(path.name if path.is_dir() else path.stem, digest(found), path)


def cell_digests(cells: Iterable[str]) -> tuple[str, ...]:
    """The digest of each code cell that holds anything, whatever space ends it."""
    return tuple(digest(cell.strip())[:16] for cell in cells if cell.strip())


def modules(cells: Iterable[str], package: Path) -> dict[str, str]:
    """The `wb` modules that code uses, directly or through another one, by dotted name, with the digest of each."""
    found: dict[str, str] = {}
    waiting = set(_imported_by(tuple(cells)))
    while waiting:
        name = waiting.pop()
        path = _place(package, name)
        if name not in found and path.is_file():
            text = path.read_text(encoding="utf-8")
            found[name] = _text_digest(text + _data(path))
            waiting |= _used(text, name.rpartition(".")[0])
    return dict(sorted(found.items()))


def digests(names: Iterable[str], package: Path) -> dict[str, str]:
    """The digest of each of these `wb` modules as it is now; those that are gone are left out."""
    paths = {name: _place(package, name) for name in sorted(names)}
    return {n: digest(p.read_text(encoding="utf-8") + _data(p)) for n, p in paths.items() if p.is_file()}


def prompts(names: Iterable[str], package: Path, folder: Path) -> dict[str, str]:
    """The prompts that modules name in `ask("NAME", …)`, `ask_all("NAME", …)` or `prompt.load("NAME")`,
    with the digest of each: an upper bound, for a stage that keeps no ledger."""
    texts = (_place(package, name).read_text(encoding="utf-8") for name in names)
    return prompt_digests((asked for text in texts for asked in _asked(text)), folder)


def prompt_digests(names: Iterable[str], folder: Path) -> dict[str, str]:
    """The digest of each prompt file; those that do not exist are left out."""
    files = {name: path for name in sorted(set(names)) if (path := folder / f"{name}.md").is_file()}
    texts = {name: path.read_text(encoding="utf-8") for name, path in files.items()}
    return {name: hashlib.sha256(text.encode("utf-8")).hexdigest() for name, text in texts.items()}


def _place(package: Path, name: str) -> Path:
    """The file of a module by its dotted name: a module, or the `__init__` of a folder."""
    path = package.joinpath(*name.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _data(path: Path) -> str:
    """The grammar, word list or form that a module reads, which is named as it is: it changes what the module does."""
    beside = (path.with_suffix(suffix) for suffix in (".lark", ".yaml"))
    return "".join(one.read_text(encoding="utf-8") for one in beside if one.is_file())


_text_digest = lru_cache(maxsize=1024)(digest)


@lru_cache(maxsize=64)
def _imported_by(cells: tuple[str, ...]) -> frozenset[str]:
    """What may be `wb` modules in the import statements of cells."""
    return frozenset(name for tree in notebook.trees(cells) for name in _imported(tree))


@lru_cache(maxsize=1024)
def _used(text: str, folder: str) -> frozenset[str]:
    """Names that may be `wb` modules in a module's import statements, and those it starts as a worker
    (`"wb.NAME"`, `"NAME.py"` beside it). Only the statements are parsed: a whole package in a few milliseconds."""
    statements = "\n".join(re.sub(r"[\s\\]+", " ", found) for found in IMPORT.findall(text))
    workers = {named or f"{folder}.{beside}".lstrip(".") for named, beside in WORKER.findall(text)}
    return frozenset(_imported(ast.parse(statements)) | workers)


def _asked(text: str) -> set[str]:
    """The literal names of prompts that a module asks."""
    calls = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) and node.args)
    asking = [call.args[0] for call in calls if getattr(call.func, "attr", getattr(call.func, "id", "")) in ASKS]
    return {one.value for one in asking if isinstance(one, ast.Constant) and isinstance(one.value, str)}


def _imported(tree: ast.Module) -> set[str]:
    """Dotted names of `wb` modules, and of what may be one, in the import statements of a tree, wherever they stand."""
    named: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "wb":
            named |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names if alias.name.startswith("wb.")}
    parts = (name.split(".")[1:] for name in named)
    return {".".join(path[:end]) for path in parts for end in range(1, len(path) + 1)}
