"""What an agent did and what was known at the time: calls, steps, traces; and what a guard says of a call.

A step is one turn of the agent: the tool calls it makes (none for a plain message) and the state
that a guard may read just before them.  Values are JSON values; an absent field is unknown, which
is neither true nor false.

Every guard answers one question in one type, the verdict.  A guard that is missing, unproved, crashing
or undecided does not allow: only `allow` runs the action, and each verdict carries its reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol, get_args

Value = bool | int | float | str | None | tuple | Mapping


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call with its arguments; None where only the tool is known, as of a turn in free text."""

    tool: str
    arguments: Mapping[str, Value] | None = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Step:
    """One turn: its calls, the state fields known before them, and the agent's own words.

    Where its calls were not all asked for in one state, that of the last is its `state`, and `each` has every call, and
    every state in which none was done, as a step of its own.  A state that passed within a step, and is remembered
    before its calls because together they have no order, has an empty one.
    """

    calls: tuple[Call, ...] = ()
    state: Mapping[str, Value] = field(default_factory=dict)
    text: str = ""
    each: tuple[Step, ...] | None = None

    @property
    def in_order(self) -> tuple[Step, ...]:
        """Its calls as steps of their own; itself where that is no other."""
        if self.each is not None:
            return self.each
        if len(self.calls) < 2:
            return (self,)
        return tuple([Step((call,), self.state, self.text) for call in self.calls])


@dataclass(frozen=True, slots=True)
class Trace:
    """A recorded run. `denied` is the label of its last step: True to be denied, None unlabelled."""

    id: str
    steps: tuple[Step, ...]
    denied: bool | None = None

    def __post_init__(self) -> None:
        if not self.steps:
            raise ValueError(f"a trace has at least one step; {self.id!r} has none")


Decision = Literal["allow", "deny", "undecided"]
Grade = Literal["error", "stub", "tested", "bounded", "proved"]  # of a guard and of each of its items, worst first
GRADES: tuple[Grade, ...] = get_args(Grade)


class Quoted(Protocol):
    """A sentence of the policy, by its id."""

    id: str
    text: str


class Open(NamedTuple):
    """An open sentence: one that may forbid a call, and that no rule says completely."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a guard says of a call: decision, reason, and what may be claimed of what said so (`runtime.claim`).

    `violated` are the ids of all rules that the call breaks, `quotes` their sentences in the same order; `missing`
    are the facts that would decide an undecided call; `open` are the ids of the open sentences that bear on it.
    """

    decision: Decision
    reason: str
    violated: tuple[str, ...] = ()
    grade: str = "none"
    quotes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    open: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.decision not in ("allow", "deny", "undecided"):
            raise ValueError(f"decision must be allow, deny or undecided; got {self.decision!r}")
        if not self.reason:
            raise ValueError(f"a verdict needs a reason; {self.decision!r} came without one")
        if self.violated and self.decision != "deny":
            raise ValueError(f"violated rules imply 'deny'; got {self.decision!r} with {self.violated}")
        if self.open and self.decision == "allow":
            raise ValueError(f"an open sentence that bears on a call excludes 'allow'; got it with {self.open}")


class Guard(Protocol):
    """Anything that judges the last step of a trace; `judging.Judge` is one that also follows a conversation."""

    name: str

    def decide(self, trace: Trace) -> Verdict:
        """The verdict on the trace's last step, given the steps before it."""


def permitted(verdict: Verdict) -> bool:
    """Whether the action may run: only on `allow`; undecided fails closed."""
    return verdict.decision == "allow"
