"""What the offline engine writes when it is asked for a guard, and how it corrects one.

The offline answers to `write_guard` and `repair_guard`.  Correcting is a search: the one-place changes
of `mutant`, kept when more examples come out right.  That mends a wrong comparison, an edge off by
one, a negation too many or a wrong field; it cannot invent a missing requirement, and then says so by
giving the code back as it was.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence

from wb import mutant, sandbox
from wb.examples import Example, failures

EDITS = 3  # corrections in one go


def repair(inputs: Mapping[str, object]) -> dict[str, object]:
    """The reply to `repair_guard`: the code with up to three one-place changes, or as it was."""
    cases = [Example("boundary", "", tuple(row["arguments"].items()), row["allowed"])
             for row in (*inputs["complaints"], *inputs["examples"]) if row["allowed"] is not None and row["arguments"]]
    return {"code": corrected(str(inputs["code"]), cases), "uncovered": []}


def corrected(code: str, cases: Sequence[Example]) -> str:
    """The code after the changes that make most cases right, one at a time, each better than before."""
    best, wrong = code, _wrong(code, cases)
    for _ in range(EDITS):
        if not wrong:
            break
        scored = [(_wrong(m.source, cases), m.source) for m in mutant.mutants(best)]
        fewest = min(scored, key=lambda pair: pair[0], default=(wrong, best))
        if fewest[0] >= wrong:
            break
        wrong, best = fewest
    return best


def _wrong(code: str, cases: Sequence[Example]) -> int:
    try:
        return len(failures(sandbox.load(code), cases))
    except sandbox.UnsafeSource:
        return len(cases) + 1
