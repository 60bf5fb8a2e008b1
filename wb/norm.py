"""Norms: what one clause demands, before its words are tied to tools and fields.

With A an action, C = `when` and R = `requires` (absent: nothing permits A):

    forbid, permit_only_if:  ALWAYS (A IMPLIES (NOT C OR R))
    oblige:                  ALWAYS (C IMPLIES EVENTUALLY A)
"""
from __future__ import annotations

from dataclasses import dataclass

from wb.conditions import Condition
from wb.rule import Modality


@dataclass(frozen=True, slots=True)
class Norm:
    """What one clause says of some actions.

    `actions` are verb phrases ("place an order"), or "the" and a noun when the clause speaks of a thing
    ("the order" of "an order can contain …"); any of them is meant.  `scope` holds the titles that stand over the
    clause, outermost first: they help to ground an action, and name it when `actions` is empty.
    A norm with a `reason` is undecided and has no reading.  `review` names a doubtful reading.
    `terms` are the defined words that the clause may use for a condition.
    """

    clause: str
    quote: str
    modality: Modality
    actions: tuple[str, ...] = ()
    when: Condition | None = None
    requires: Condition | None = None
    scope: tuple[str, ...] = ()
    reason: str = ""
    review: str = ""
    terms: tuple[tuple[str, Condition], ...] = ()
