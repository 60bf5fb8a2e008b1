"""ToolGuard: per tool, examples first, then code, then tests, repaired until they pass (Sec. 3.2).

A candidate is *tested*: it is right on every example computed from the rules, which is evidence and no
proof.  `veriguard` takes the candidates on to proofs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wb.domain.tools import Toolbox
from wb.domain.trace import Quoted
from wb.guards import evidence
from wb.guards.contract import Contract
from wb.guards.evidence import Open
from wb.guards.examples import examples
from wb.guards.runtime import CallGuard, Guarded
from wb.guards.synthesis import TESTED, Attempt, Draft, Revise, guarded, synthesise
from wb.rules.rule import RuleSet


def candidates(drafts: Sequence[Draft], revise: Revise, *, max_rounds: int = 3) -> tuple[Draft, ...]:
    """The drafts after language checks, tests and at most `max_rounds` repairs."""
    return synthesise(drafts, TESTED, revise, max_rounds=max_rounds)


def tested_guard(
    ruleset: RuleSet,
    guards: Sequence[Guarded],
    toolbox: Toolbox | None = None,
    open: Mapping[str, Sequence[Quoted]] | None = None,
) -> CallGuard:
    """The guard that runs tested candidates, and denies where there is none; `toolbox` and `open` as in `CallGuard`."""
    return CallGuard("toolguard", ruleset, tuple(guards), frozenset({"tested", "proved"}), toolbox, open or {})


def drafts(rows: Sequence[Mapping[str, object]], required: Sequence[Contract]) -> tuple[Draft, ...]:
    """What `to_rows` kept, as drafts for the contracts of today; a tool without one gets an empty draft."""
    kept = {row["tool"]: Attempt(str(row["code"]), dissent=_dissent(row)) for row in rows}
    return tuple(Draft(c, (kept.get(c.tool, Attempt("# there is no candidate\n")),)) for c in required)


def _dissent(row: Mapping[str, object]) -> tuple[str, ...]:
    """What the author of a kept candidate says against what is asked of it."""
    newest = row["attempts"][-1] if row.get("attempts") else {}
    return newest.dissent if isinstance(newest, Attempt) else tuple(newest.get("dissent", ()))


def to_rows(drafts: Sequence[Draft], ruleset: RuleSet, open: Open) -> list[dict[str, object]]:
    """Candidates as they are kept: what `evidence.from_rows` reads, the bare code, the examples and every attempt."""
    kept = evidence.to_rows([guarded(draft) for draft in drafts], ruleset, open)
    return [
        {
            **row,
            "code": draft.source,
            "rules": [item.rule for item in draft.contract.items],
            "examples": examples(draft.contract),
            "attempts": draft.attempts,
        }
        for row, draft in zip(kept, drafts, strict=True)
    ]
