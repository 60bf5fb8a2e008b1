"""Trying generated code that nobody has accepted yet, and having its types checked: each in a process of its own.

The language of guards (`sandbox`) is the first wall and needs no process; this is the second one, for the tests that
come before a guard is accepted.  The process holds itself to limits that only root could take back, before it reads
any generated code, and one that it cannot set ends it: at most `SECONDS` of processor time and `WAIT_S` of any time,
`MEMORY` bytes of address space, and no file descriptor beyond the three it was started with, so that it can open
no file, pipe or socket, and hence no connection.  No file that it holds can grow, and no new process can be started
(that limit alone does not bind root).  It has no variable of its caller's environment, so no key.

What this is not: a wall against code that already runs as it likes.  Without root nothing here hides the file system
or the network, and what could raise its own limits would be free again.  Any end of the process but a complete answer
is a reason not to accept what it ran.

The type checker's word (`typed`): ToolGuard repairs guards by what pyright says of syntax and types (Sec. 3.2).  The
language of guards lets pass what it cannot be wrong about at run time; a type checker also sees a way through a
function that ends without an answer, and a comparison that can never be true.  basedpyright and no other, because it is
pyright, as the paper has it, and brings its own runtime as a package.  It executes nothing of what it reads; all
sources of a round are read in one run.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations, islice, product
from pathlib import Path
from typing import Any, NamedTuple

from wb.guards import sandbox
from wb.guards.sandbox import Answered, Argument
from wb.paths import ROOT

SECONDS, WAIT_S = 20, 120  # of processor time, and by the clock on a machine that is busy with other work
MEMORY = 512 << 20  # bytes
LIMIT = 200_000  # completions tried for values on which two guards differ: about a second
COMMAND = (sys.executable, "-S", "-s", "-P", "-m", "wb.guards.trial")
LIMITS = (
    (resource.RLIMIT_CPU, SECONDS),
    (resource.RLIMIT_AS, MEMORY),
    (resource.RLIMIT_FSIZE, 0),
    (resource.RLIMIT_CORE, 0),
    (resource.RLIMIT_NPROC, 0),
    (resource.RLIMIT_NOFILE, 3),
)

CHECKER = (sys.executable, "-m", "basedpyright", "--outputjson", "--project")
HEAD = "from typing import Tuple\n"  # what the signature of a guard names
SETTINGS = {
    "typeCheckingMode": "standard",
    "reportUnnecessaryComparison": "error",
    "pythonVersion": "3.12",
    "include": ["*.py"],
}
Typed = Mapping[str, tuple[str, ...]]  # what the type checker says, by source


class TrialFailed(RuntimeError):
    """The process gave no whole answer: over a limit, killed, or not held to one; the message says which."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Arguments on which a guard does not do what is wanted, what was wanted, and what came."""

    arguments: dict[str, Argument]
    wanted: bool
    got: str


def answers(
    tried: Sequence[tuple[str, Sequence[Mapping[str, Argument]]]],
) -> tuple[tuple[Answered | str, ...] | TrialFailed, ...]:
    """For each source and its rows of arguments the answers, as `sandbox.tried` gives them.

    One process runs them all; where it ends early, the source that it ended at failed, and the rest has a new one.
    """
    rows = [{"source": source, "cases": [dict(case) for case in cases]} for source, cases in tried]
    return tuple(
        one if isinstance(one, TrialFailed) else tuple([a if isinstance(a, str) else (a[0], a[1]) for a in one])
        for one in _all(rows)
    )


def _all(rows: Sequence[Mapping[str, object]]) -> list[Any]:
    """What came of each row, of as many processes as it takes; of one at which a process ended, why."""
    done: list[Any] = []
    while len(done) < len(rows):
        found, ended = _run(rows[len(done) :])
        done += found
        if ended and not found:
            done.append(TrialFailed(ended))
    return done


class Compared(NamedTuple):
    """A guard, the function that says what is wanted, the values to try of each argument, and the arguments to go out
    from where there are more than `LIMIT` ways to combine them."""

    source: str
    wanted: str
    points: Mapping[str, Sequence[Argument]]
    around: Sequence[Mapping[str, Argument]] = ()


def differences(compared: Sequence[Compared]) -> tuple[Difference | None | TrialFailed, ...]:
    """For each the first values, in a fixed order, at which a guard decides otherwise than wanted, or breaks; None for
    none, also where these are too many to try and none was found near the arguments to go out from."""
    rows = [
        {**one._asdict(), "points": {n: list(v) for n, v in one.points.items()}, "around": list(map(dict, one.around))}
        for one in compared
    ]
    return tuple(one if isinstance(one, TrialFailed) else Difference(*one) if one else None for one in _all(rows))


def _run(rows: Sequence[Mapping[str, object]]) -> tuple[list[list], str]:
    """What the process answered, a row each, and why it ended before the last one; empty where it did not."""
    text = "".join(f"{json.dumps(row)}\n" for row in rows)
    with tempfile.TemporaryDirectory(prefix="trial-") as folder:
        output, code = _output(COMMAND, folder, {"PYTHONPATH": str(ROOT)}, WAIT_S, text.encode())
    lines = output.split(b"\n")[:-1]  # a line without an end is no answer
    ended = f"did not end within {WAIT_S} s" if code is None else f"ended with code {code}"
    why = "" if len(lines) == len(rows) else f"the process that tried it {ended}"
    return [json.loads(line) for line in lines[: len(rows)]], why


def _output(
    command: Sequence[str], folder: str | Path, environment: Mapping[str, str], seconds: float, text: bytes = b""
) -> tuple[bytes, int | None]:
    """What a process wrote, and its exit code, None where it did not end in time; nothing that it started goes on.

    Raises:
        OSError: it cannot be started.
    """
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    apart = {"start_new_session": True}  # what it starts, such as node, has to end with it
    with subprocess.Popen(command, **pipes, **apart, cwd=folder, env=environment) as process:
        try:
            return process.communicate(text, timeout=seconds)[0], process.returncode
        except subprocess.TimeoutExpired as late:
            return late.output or b"", None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def typed(sources: Sequence[str], command: Sequence[str] = CHECKER, seconds: float = WAIT_S) -> Typed | str:
    """What the type checker says against each source, with the line; why it said nothing, where it did not."""
    with tempfile.TemporaryDirectory(prefix="types-") as place:
        folder = Path(place).resolve()
        (folder / "pyrightconfig.json").write_text(json.dumps(SETTINGS), encoding="utf-8")
        for i, source in enumerate(sources):
            (folder / f"guard_{i}.py").write_bytes((HEAD + source).encode(errors="surrogatepass"))
        environment = {"PATH": "", "HOME": str(folder), "NODE_OPTIONS": "--max-old-space-size=1024"}
        try:
            report, code = _output((*command, str(folder)), folder, environment, seconds)
        except OSError as error:
            return f"it could not be started: {error}"
    if code is None:
        return f"it did not end within {seconds:g} s"
    try:
        return _reported(json.loads(report), sources)
    except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
        return f"it ended with code {code} and no report: {type(error).__name__}"


def _reported(report: Mapping, sources: Sequence[str]) -> Typed:
    """The errors of a report, by source."""
    if report["summary"]["filesAnalyzed"] != len(sources):
        raise ValueError(f"{len(sources)} files were to be read; got {report['summary']['filesAnalyzed']}")
    errors: dict[str, list[str]] = {source: [] for source in sources}
    for row in sorted(report["generalDiagnostics"], key=lambda row: "rule" in row):  # what cannot be read comes first
        if row["severity"] == "error":
            number = int(Path(row["file"]).stem.removeprefix("guard_"))
            line = row["range"]["start"]["line"] + 1 - HEAD.count("\n")
            message = " ".join(row["message"].split())
            errors[sources[number]].append(f"line {line}: {message} ({row.get('rule', 'syntax')})")
    return {source: tuple(rows) for source, rows in errors.items()}


def confine(limits: Sequence[tuple[int, int]] = LIMITS) -> None:
    """Hold this process to the limits, or to lower ones that it has; there is no way back.

    Raises:
        OSError, ValueError: the machine does not know one of them.
    """
    for kind, most in limits:
        hard = resource.getrlimit(kind)[1]
        bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (bound, bound))


def main() -> int:
    """Read rows from standard input, and only then generated code; answer each row with a line."""
    confine()
    for line in sys.stdin:
        row = json.loads(line)
        print(json.dumps(_differing(row) if "wanted" in row else list(_answered(row))), flush=True)
    return 0


def _answered(row: Mapping) -> Iterator[Answered | str]:
    program = sandbox.load(row["source"])
    return (sandbox.tried(program, case) for case in row["cases"])


def _differing(row: Mapping) -> tuple[dict[str, Argument], bool, str] | None:
    tested, wanted = sandbox.load(row["source"]), sandbox.load(row["wanted"])

    def wrong(**values: Argument) -> tuple[bool, tuple[bool, str]]:
        allowed, got = bool(wanted.run(**values)[0]), sandbox.tried(tested, values)
        if isinstance(got, str):
            return True, (allowed, got)
        return got[0] is not allowed, (allowed, f"{'allowed' if got[0] else 'denied'}: {got[1]}")

    try:
        for chosen, (breaks, told) in sandbox.completions(wrong, {}, row["points"], limit=LIMIT):
            if breaks:
                return {**{n: v[0] for n, v in row["points"].items()}, **chosen}, *told
    except sandbox.TooMany:
        for values in islice(_near(row["around"], row["points"]), LIMIT):
            breaks, told = wrong(**values)
            if breaks:
                return values, *told
    return None


def _near(around: Sequence[Mapping], points: Mapping[str, Sequence[Argument]]) -> Iterator[dict[str, Argument]]:
    """Those arguments with one of them, then two of them, moved to each of their values."""
    for moved in (1, 2):
        for names in combinations(points, moved):
            for values in product(*(points[name] for name in names)):
                yield from ({**one, **dict(zip(names, values, strict=True))} for one in around)


if __name__ == "__main__":
    sys.exit(main())
