"""Predicates: the vocabulary of rules, and how their truth is read off a step.

ShieldAgent's predicate record (Sec. 3.1): a positive snake_case name, a description and keywords;
an *action* predicate is true when the agent calls one of its tools, a *state* predicate is a fact
about the user, the session or the arguments.  A state predicate with a `Test` is *grounded*: its
truth follows from one field.  Without a test it is unknown unless the step's state holds it by name.
"""
from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from wb import formula
from wb.trace import Step, Value, lookup

Kind = Literal["action", "state"]
Operator = Literal["==", "!=", "<", "<=", ">", ">=", "in"]
COMPARE = {"==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
           ">": operator.gt, ">=": operator.ge, "in": lambda value, options: value in options}


@dataclass(frozen=True, slots=True)
class Test:
    """`field OP value`, e.g. `state.age >= 18` or `count(book.guests) <= 8`.

    `field` is `state.NAME` or `TOOL.ARGUMENT`; `measure` compares the value itself or how many
    items it holds.
    """

    __test__ = False  # not a pytest class
    field: str
    op: Operator
    value: bool | int | float | str | tuple[str, ...]
    measure: Literal["value", "count"] = "value"

    def __post_init__(self) -> None:
        if self.op not in COMPARE:
            raise ValueError(f"op must be one of {list(COMPARE)}; got {self.op!r}")
        if "." not in self.field:
            raise ValueError(f"field must be state.NAME or TOOL.ARGUMENT; got {self.field!r}")

    def __str__(self) -> str:
        subject = f"count({self.field})" if self.measure == "count" else self.field
        return f"{subject} {self.op} {self.value!r}"


@dataclass(frozen=True, slots=True)
class Predicate:
    """One proposition of a rule set, true, false or unknown at each step."""

    name: str
    kind: Kind
    description: str
    keywords: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    test: Test | None = None

    def __post_init__(self) -> None:
        if not formula.NAME.match(self.name):
            raise ValueError(f"a predicate name must match [a-z][a-z0-9_]*; got {self.name!r}")
        if self.kind not in ("action", "state"):
            raise ValueError(f"kind must be 'action' or 'state'; got {self.kind!r}")
        if self.kind == "state" and self.tools:
            raise ValueError(f"only an action predicate has tools; {self.name!r} has {self.tools}")


def truth(predicate: Predicate, step: Step) -> bool | None:
    """Whether the predicate holds at the step; None where the step does not tell.

    An action predicate is closed-world over the step's calls: what was not called was not done.
    """
    if predicate.kind == "action":
        return any(call.tool in predicate.tools for call in step.calls)
    if predicate.test is None:
        known = step.state.get(predicate.name)
        return known if isinstance(known, bool) else None
    return satisfies(predicate.test, lookup(step, predicate.test.field))


def satisfies(test: Test, value: Value) -> bool | None:
    """Whether a value passes the test; None where the value is absent or of another type."""
    if test.measure == "count":
        value = len(value) if isinstance(value, (list, tuple, Mapping)) else None
    if value is None:
        return None
    wanted = test.value[0] if isinstance(test.value, tuple) and test.value else test.value
    if isinstance(wanted, bool) != isinstance(value, bool) or isinstance(wanted, str) != isinstance(value, str):
        return None
    return bool(COMPARE[test.op](value, test.value))


def valuation(predicates: tuple[Predicate, ...], step: Step) -> dict[str, bool | None]:
    """The truth of every predicate at one step, by name."""
    return {predicate.name: truth(predicate, step) for predicate in predicates}
