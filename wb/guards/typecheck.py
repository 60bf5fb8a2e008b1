"""The type checker's word on generated guards: basedpyright, all drafts of a round in one run, in a process of its own.

ToolGuard repairs guards by what pyright says of syntax and types (Sec. 3.2).  The language of guards (`sandbox`) lets
pass what it cannot be wrong about at run time; a type checker also sees a way through a function that ends without an
answer, and a comparison that can never be true.  basedpyright and no other, because it is pyright, as the paper has it,
and brings its own runtime as a package: no node has to be there and nothing is downloaded.

It executes nothing of what it reads.  Whatever goes wrong with it is a complaint, never a pass.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from wb.guards import synthesis
from wb.guards.synthesis import Check, Complaint, Draft

NAME = "types"
SECONDS = 120  # by the clock, on a machine that is busy with other work
MOST = 3  # complaints about one source that its author is told
COMMAND = (sys.executable, "-m", "basedpyright", "--outputjson", "--project")
HEAD = "from typing import Tuple\n"  # what the signature of a guard names
SETTINGS = {
    "typeCheckingMode": "standard",
    "reportUnnecessaryComparison": "error",
    "pythonVersion": "3.12",
    "include": ["*.py"],
}
Found = Mapping[str, tuple[str, ...]]  # by source


def check(command: Sequence[str] = COMMAND, seconds: float = SECONDS) -> Check:
    """The check of a round's drafts; a source is looked at once, however often it comes again."""
    known: dict[str, tuple[Complaint, ...]] = {}

    def types(drafts: Sequence[Draft]) -> list[tuple[Complaint, ...]]:
        asked = list(dict.fromkeys(draft.source for draft in drafts if draft.source not in known))
        if asked:
            told = found(asked, command, seconds)
            if isinstance(told, str):
                failed = Complaint(NAME, "the type checker's word was required; it gave none", said=told)
                return [known.get(draft.source, (failed,)) for draft in drafts]
            known.update({source: _complaints(told[source]) for source in asked})
        return [known[draft.source] for draft in drafts]

    return NAME, types


def checks() -> tuple[Check, ...]:
    """What a candidate has to pass, in order: the language of guards, the type checker, the tests."""
    (language, tests) = synthesis.TESTED
    return language, check(), tests


def _complaints(told: Sequence[str]) -> tuple[Complaint, ...]:
    return tuple(Complaint(NAME, f"code without errors of type was required; got {one}") for one in told[:MOST])


def found(sources: Sequence[str], command: Sequence[str] = COMMAND, seconds: float = SECONDS) -> Found | str:
    """What the type checker says against each source, with the line; why it said nothing, where it did not."""
    with tempfile.TemporaryDirectory(prefix="types-") as place:
        folder = Path(place).resolve()
        (folder / "pyrightconfig.json").write_text(json.dumps(SETTINGS), encoding="utf-8")
        for i, source in enumerate(sources):
            text = (HEAD + source).encode(errors="surrogatepass")
            (folder / f"guard_{i}.py").write_bytes(text)
        try:
            process = subprocess.Popen(
                (*command, str(folder)),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=folder,
                env={"PATH": "", "HOME": str(folder), "NODE_OPTIONS": "--max-old-space-size=1024"},
                start_new_session=True,  # it starts node, which has to end with it
            )
        except OSError as error:
            return f"it could not be started: {error}"
        try:
            report, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            return f"it did not end within {seconds:g} s"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        try:
            return _read(json.loads(report), sources)
        except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
            return f"it ended with code {process.returncode} and no report: {type(error).__name__}"


def _read(report: Mapping, sources: Sequence[str]) -> Found:
    """The errors of a report, by source."""
    if report["summary"]["filesAnalyzed"] != len(sources):
        raise ValueError(f"{len(sources)} files were to be read; got {report['summary']['filesAnalyzed']}")
    told: dict[str, list[str]] = {source: [] for source in sources}
    for one in sorted(report["generalDiagnostics"], key=lambda one: "rule" in one):  # what cannot be read comes first
        if one["severity"] == "error":
            number = int(Path(one["file"]).stem.removeprefix("guard_"))
            line = one["range"]["start"]["line"] + 1 - HEAD.count("\n")
            said = " ".join(one["message"].split())
            told[sources[number]].append(f"line {line}: {said} ({one.get('rule', 'syntax')})")
    return {source: tuple(those) for source, those in told.items()}
