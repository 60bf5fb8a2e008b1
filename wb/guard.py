"""Verdicts and what may run: every guard answers one question in one type.

A guard that is missing, unproved, crashing or undecided does not allow (SPEC 4 s): only `allow`
runs the action, and each verdict carries its reason.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from wb.trace import Trace

Decision = Literal["allow", "deny", "undecided"]
Grade = Literal["proved", "bounded", "tested", "stub", "error", "none"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a guard says of a trace's last step: decision, reason, violated rules, evidence grade."""

    decision: Decision
    reason: str
    violated: tuple[str, ...] = ()
    grade: Grade = "none"

    def __post_init__(self) -> None:
        if self.decision not in ("allow", "deny", "undecided"):
            raise ValueError(f"decision must be allow, deny or undecided; got {self.decision!r}")
        if not self.reason:
            raise ValueError(f"a verdict needs a reason; {self.decision!r} came without one")
        if self.violated and self.decision != "deny":
            raise ValueError(f"violated rules imply 'deny'; got {self.decision!r} with {self.violated}")


class Guard(Protocol):
    """Anything that judges the last step of a trace."""

    name: str

    def decide(self, trace: Trace) -> Verdict:
        """The verdict on the trace's last step, given the steps before it."""


def permitted(verdict: Verdict) -> bool:
    """Whether the action may run: only on `allow`; undecided fails closed."""
    return verdict.decision == "allow"
