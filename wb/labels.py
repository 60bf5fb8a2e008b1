"""Labelled runs for learning weights: a policy's tuned benchmark cases, and no others.

The cases that a policy's words were written with in view may be learned from; all others are for
measuring.  A policy without a benchmark has no labelled runs (see `pseudo`).
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wb import action, mind2web
from wb.llm import LLM
from wb.mind2web import Case
from wb.tool import Toolbox
from wb.trace import Trace


@dataclass(frozen=True, slots=True)
class Labelled:
    """The runs with their labels; `unsure` counts the cases left out because they may be several things or none."""

    traces: tuple[Trace, ...] = ()
    unsure: int = 0


def runs(name_or_path: str | Path, toolbox: Toolbox, llm: LLM) -> Labelled:
    """The tuned cases of the policy of that name or place, each as a trace of one step; none without a benchmark."""
    return of_cases(mind2web.of_policy(name_or_path, "tuned").cases, toolbox, llm)


def of_cases(cases: Sequence[Case], toolbox: Toolbox, llm: LLM) -> Labelled:
    """The cases whose action is recognised surely, as labelled traces."""
    found = action.recognise([case.observation for case in cases], toolbox, llm)
    traces = tuple(Trace(c.id, r.steps, c.denied) for c, r in zip(cases, found, strict=True) if r.sure)
    return Labelled(traces, len(cases) - len(traces))
