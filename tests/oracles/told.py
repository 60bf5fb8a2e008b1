"""What a step tells of every predicate, by name."""

from __future__ import annotations

from collections.abc import Iterable

from wb.domain.trace import Call, Step
from wb.rules.rule import Predicate
from wb.rules.truths import readers


def valuation(predicates: Iterable[Predicate], step: Step, call: Call | None = None) -> dict[str, bool | None]:
    """The truth of every predicate at one step; None where the step does not tell."""
    return {name: read(step, call) for name, read in readers(predicates).items()}
