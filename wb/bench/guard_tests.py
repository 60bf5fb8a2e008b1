"""Guard tests: calls written by hand with what led to them, each to be allowed or denied (ToolGuard, Sec. 3.2).

A file (YAML or JSON) is an object whose `tests` are a list.  A test has a `name`, the `item` of the gold that it is
about, `expect` (allow or deny), the `sentence` that a denied call breaks, `history`, `tool` and `arguments`; `twin`
names the test that is to be decided the other way.  The history is a list of one-key objects: `user` and `assistant`
are texts, any other key is a tool with its arguments, whose call was done.

Each test runs in a session of its own on a service of its own (`wb.bench.service`): what the history calls is done
there, read-only tools answer from it, its clock is the session's.  The guard judges the last call alone; what
came before happened, whatever it says of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic

from wb import paths
from wb.bench import service
from wb.bench.service import Service, content, fitting
from wb.domain.events import Asked, Event, Label, Result, Say, State
from wb.domain.jsonl import Strict
from wb.domain.judging import Judge
from wb.domain.session import Session
from wb.domain.trace import Call, Verdict

Outcome = Literal["passed", "failed", "undecided", "error"]
SPEAKERS = ("user", "assistant")
FILE = "guard_tests.yaml"


class GuardTestError(ValueError):
    """A file of guard tests is not what it must be; the message says where, what was required and what was got."""


def _happened(row: Any) -> Say | Call:
    """A text by its speaker or a call by its tool, from an object of one key."""
    if not isinstance(row, dict) or len(row) != 1:
        raise ValueError(f"one key a call or text was required; got {row!r:.80}")
    ((kind, given),) = row.items()
    if type(given) is not (str if kind in SPEAKERS else dict):
        raise ValueError(f"a text of {' or '.join(SPEAKERS)}, or a tool's arguments, was required; got {kind}")
    return Say(kind, given) if kind in SPEAKERS else Call(kind, given)


def as_call(row: Any) -> Call:
    """A call, from an object whose one key is its tool; raises ValueError for anything else."""
    if isinstance(happened := _happened(row), Say):
        raise ValueError(f"a call was required; got a text of {happened.role}")
    return happened


History = tuple[Annotated[Say | Call, pydantic.PlainValidator(_happened)], ...]


class GuardTest(Strict, frozen=True):
    """A call and what led to it. `history` holds a text by its speaker or a call that was done; `sentence` is what the
    call breaks, word for word, empty where it is to be allowed."""

    name: str = pydantic.Field(min_length=1)
    item: str
    expect: Label
    history: History
    tool: str
    arguments: dict[str, Any]
    sentence: str = ""
    twin: str = ""

    @property
    def call(self) -> Call:
        """The call that is tested."""
        return Call(self.tool, self.arguments)

    @pydantic.model_validator(mode="after")
    def _checked(self) -> GuardTest:
        if (self.expect == "deny") is not bool(self.sentence):
            raise ValueError("a sentence was required where a call is to be denied, and nowhere else")
        return self


class _File(Strict):
    tests: tuple[GuardTest, ...]


@dataclass(frozen=True, slots=True)
class Tried:
    """A test and a guard's verdict on its call."""

    test: GuardTest
    verdict: Verdict

    @property
    def outcome(self) -> Outcome:
        """Whether the verdict is the expected one; a call that was denied because something broke is an *error*,
        whatever was expected, and one that is undecided neither passes nor fails."""
        if self.verdict.grade == "error":
            return "error"
        if self.verdict.decision == "undecided":
            return "undecided"
        return "passed" if self.verdict.decision == self.test.expect else "failed"

    @property
    def named(self) -> bool:
        """Whether the call was denied for the sentence that it breaks."""
        return self.verdict.decision == "deny" and self.test.sentence in self.verdict.quotes


def load(path: str | Path) -> tuple[GuardTest, ...]:
    """The tests of a file.

    Raises:
        GuardTestError: it is not of the form above, or a name stands there twice or names no twin.
        OSError: there is no such file.
    """
    rows = fitting(_File, content(path, GuardTestError), path, GuardTestError).tests
    names = Counter(row.name for row in rows)
    for row in rows:
        if names[row.name] > 1 or (row.twin and row.twin not in names):
            raise GuardTestError(f"{path}: a name of its own and a known twin were required; got {row.name}")
    return rows


def run(judge: Judge, tests: Iterable[GuardTest], began: Service) -> tuple[Tried, ...]:
    """The guard's verdict on the call of every test, each on the service as it is at first."""
    return tuple(Tried(test, tried(judge, test, began)) for test in tests)


def tried(judge: Judge, test: GuardTest, began: Service) -> Verdict:
    """The guard's verdict on the call of one test.

    Raises:
        GuardTestError: a call of the history is one that the tools refuse.
    """
    events, after = history(test, began)
    session = Session(judge, run=test.name, ask=after.ask, clock=lambda: after.now, ask_all=True)  # names every rule
    session.replay(events)
    session.state(after.observable(test.call))
    return session.call(test.call.tool, test.call.arguments)


def history(test: GuardTest, began: Service) -> tuple[tuple[Event, ...], Service]:
    """What happened before the call, as events, and the service after it.

    Raises:
        GuardTestError: a call of the history is one that the tools refuse.
    """
    now, after, found = began.now, began, []
    for step, what in enumerate(test.history):
        if isinstance(what, Say):
            found.append(Event(test.name, what, step, now))
            continue
        state = State(after.observable(what))
        answer = after.call(what.tool, what.arguments)
        if answer.failed:
            raise GuardTestError(f"{test.name}: a call that the tools do was required; got {answer.value}")
        after = answer.after
        found += [Event(test.name, one, step, now) for one in (state, Asked(what), Result(answer.value))]
    return tuple(found), after


def rows(place: Path, judges: Iterable[Judge]) -> list[dict[str, object]]:
    """A row for each of the guards (the paper's Table 4): tests passed, the share of them over tools (least, most,
    mean), and failures: calls to be allowed that were denied, calls to be denied that were allowed, and others, which
    are undecided or broke. None where no tests and service stand in the policy's folder or beside its document.

    Raises:
        GuardTestError, ServiceError: a file is not what it must be.
    """
    folder = paths.folder(place)
    if not (folder / FILE).is_file() or not (folder / service.FILE).is_file():
        return []
    tests, began = load(folder / FILE), service.load(folder)
    return [summed(judge.name, run(judge, tests, began)) for judge in judges]


def summed(guard: str, tried: Sequence[Tried]) -> dict[str, object]:
    """One row of `rows`."""
    outcomes: dict[str, list[Outcome]] = {}
    for row in tried:
        outcomes.setdefault(row.test.call.tool, []).append(row.outcome)
    shares = [some.count("passed") / len(some) for some in outcomes.values()]
    failed = Counter(row.test.expect for row in tried if row.outcome == "failed")
    return {
        "guard": guard,
        "tests": len(tried),
        "passed": sum(row.outcome == "passed" for row in tried),
        "TPR min": min(shares, default=None),
        "TPR max": max(shares, default=None),
        "TPR mean": sum(shares) / len(shares) if shares else None,
        "compliance failed": failed["allow"],
        "violation failed": failed["deny"],
        "other": sum(row.outcome in ("undecided", "error") for row in tried),
    }
