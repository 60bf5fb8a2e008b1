"""Operations: what can be asked, of whom, to learn one state field at a call, and which of them is next.

ShieldAgent's Algorithm 1 as a loop over what decides, for every kind of guard (`session`): a call is judged by what is
known; of what is not, the cheapest operation that can still change the verdict is run; the call is judged again.  It
ends when the call is decided, when nothing that could be asked can change the verdict, or at a cap on operations; what
is undecided then stays so and does not run (SPEC section 4, k).

*Search* asks a read-only tool, *Binary-Check* a question about the conversation, *Detect* a local detector
(`detectors`), an *operation* of the user's own a function that the session was made with.  What follows from what is
known, by a guard's rules and automata (*Formal-Verify*), costs nothing: it is the judging that stands before each
operation.  What an operation gave is an event of the record, so that a replay runs none of them again.  One that hangs,
raises, gives what does not fit, or disagrees with another that tells the same, leaves its field unknown, with the
reason.
"""

from __future__ import annotations

import queue
import re
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, Protocol

from wb.domain import schema
from wb.domain.events import Answer, Lookup
from wb.domain.trace import Verdict

if TYPE_CHECKING:
    from wb.domain.judging import Judge

Kind = Literal["detect", "search", "operation", "binary-check"]
# where a field's `cost` says nothing, in any unit
COSTS: dict[Kind, float] = {"detect": 0.1, "search": 1.0, "operation": 1.0, "binary-check": 10.0}
MOST = 64  # operations at one call
HANGING = 8  # operations without an answer in time that may still be running; with more, nothing is asked
TEXTS = re.compile(r'"(?:[^"\\]|\\.)*"')  # in which nothing is named


@dataclass(frozen=True, slots=True)
class Operation:
    """One way to learn a state field: what it costs, and what runs it and gives the event that it comes to.

    `tells` are the fields that may be known by it, its own among them and those that are told by that; `of` is the tool
    that is asked, or the field that is.
    """

    kind: Kind
    field: str
    cost: float
    tells: frozenset[str]
    run: Callable[[], Lookup | Answer]
    of: str = ""


class Remembered(Protocol):
    """What earlier conversations left of use to this one (`workflows.Workflows`)."""

    def order(self, judge: Judge, tool: str) -> Mapping[str, float]:
        """How useful what was asked at calls of a tool was, 0..1, by its name (`Operation.of`)."""


def cheapest(
    open: Iterable[Operation], wanted: Collection[str] | None, useful: Mapping[str, float] = MappingProxyType({})
) -> Operation | None:
    """The cheapest operation that tells a field that is wanted, of any where that is None; of equal ones that which
    was `useful` most often, 0..1, before, and the first."""
    found = [one for one in open if wanted is None or not one.tells.isdisjoint(wanted)]
    return min(found, key=lambda one: (one.cost, -useful.get(one.of, 1.0)), default=None)


def deciding(verdict: Verdict) -> Collection[str] | None:
    """The names of what can still change a verdict; None where it does not say, so that anything may.

    A decided one stays (a guard decides only what holds whatever is not known), and so does one that only an open
    sentence keeps from being allowed.
    """
    if verdict.decision != "undecided" or (verdict.open and not verdict.missing):
        return ()
    return set(re.findall(r"\w+", TEXTS.sub("", " ".join(verdict.missing)))) if verdict.missing else None


class Runner:
    """Runs what may hang: each in a thread of its own, and no longer than so many seconds."""

    def __init__(self) -> None:
        self._hanging: list[threading.Thread] = []
        self.silent = False  # whether the last one gave no answer in time

    def run(
        self, who: str, seconds: float, function: Callable[..., object], given: Sequence[object]
    ) -> tuple[object, str]:
        """What the function gives in that time, or why it gave nothing."""
        self.silent = False
        self._hanging = [thread for thread in self._hanging if thread.is_alive()]
        if len(self._hanging) >= HANGING:
            return None, f"{HANGING} questions before it still have no answer"
        answer: queue.SimpleQueue[tuple[object, str]] = queue.SimpleQueue()
        thread = threading.Thread(target=_run, args=(who, function, given, answer), daemon=True)
        started = time.monotonic()
        thread.start()
        try:
            return answer.get(timeout=max(0.0, started + seconds - time.monotonic()))
        except queue.Empty:
            self._hanging.append(thread)
            self.silent = True
            return None, f"an answer within {seconds:g} s was required; got none"


def _run(who: str, function: Callable[..., object], given: Sequence[object], answer: queue.SimpleQueue) -> None:
    try:
        answer.put((function(*given), ""))
    except BaseException as error:  # also what ends a thread: the session gets its reason, not a silence
        answer.put((None, f"{who} failed: {schema.why(error)}"))
