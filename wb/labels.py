"""Labelled runs of a policy, for learning weights: the benchmark's tuned cases where the policy has any.

A policy folder with a file `tuned_ids.txt` was written with those Mind2Web-SC cases in view; they
and no others may be learned from.  A policy without the file has no labelled runs (see `pseudo`).
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wb import action, mind2web, policy
from wb.llm import LLM
from wb.tool import Toolbox
from wb.trace import Trace

TUNED = "tuned_ids.txt"


@dataclass(frozen=True, slots=True)
class Labelled:
    """The runs with their labels; `unsure` counts the cases left out because they may be several things or none."""

    traces: tuple[Trace, ...] = ()
    unsure: int = 0


def runs(name_or_path: str | Path, toolbox: Toolbox, llm: LLM) -> Labelled:
    """The tuned cases of the policy of that name or folder, each as a trace of one step; none without a file of ids."""
    place = policy.place(name_or_path)
    ids = (place if place.is_dir() else place.parent) / TUNED
    if not ids.is_file():
        return Labelled()
    return of_cases(mind2web.cases("tuned", tuned=mind2web.tuned_ids(ids)), toolbox, llm)


def of_cases(cases: Sequence[mind2web.Case], toolbox: Toolbox, llm: LLM) -> Labelled:
    """The cases whose action is recognised surely, as labelled traces."""
    found = action.recognise([case.observation for case in cases], toolbox, llm)
    traces = tuple(Trace(c.id, r.steps, c.denied) for c, r in zip(cases, found, strict=True) if r.sure)
    return Labelled(traces, len(cases) - len(traces))
