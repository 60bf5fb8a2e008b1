"""ToolGuard: per tool, examples first, then code, then tests, repaired until they pass (Sec. 3.2).

A candidate is *tested*: it is right on every example computed from the rules, which is evidence and no
proof.  `veriguard` takes the candidates on to proofs.
"""
from __future__ import annotations

from collections.abc import Sequence

from wb.examples import examples
from wb.guarding import CallGuard, Guarded
from wb.rule import RuleSet
from wb.synthesis import TESTED, Draft, Revise, guarded, synthesise


def candidates(drafts: Sequence[Draft], revise: Revise, *, max_rounds: int = 3) -> tuple[Draft, ...]:
    """The drafts after language checks, tests and at most `max_rounds` repairs."""
    return synthesise(drafts, TESTED, revise, max_rounds=max_rounds)


def tested_guard(ruleset: RuleSet, guards: Sequence[Guarded]) -> CallGuard:
    """The guard that runs tested candidates, and denies where there is none."""
    return CallGuard("toolguard", ruleset, tuple(guards), frozenset({"tested", "proved"}))


def to_row(draft: Draft) -> dict[str, object]:
    """A candidate as it is kept: tool, source, grade, examples, and every attempt with its complaints."""
    entry = guarded(draft)
    return {"tool": draft.contract.tool, "source": draft.source, "grade": entry.grade, "reason": entry.reason,
            "examples": examples(draft.contract), "attempts": draft.attempts, "rules": [i.rule for i in draft.contract.items]}
