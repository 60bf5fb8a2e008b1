"""The meaning of formulas over finite traces, and monitors of running ones.

A trace is a non-empty sequence of steps, a step the set of predicate names that are true in it
(De Giacomo & Vardi, IJCAI 2013, Sec. 2).  `NEXT` is strong: false at the last step; `PREVIOUSLY` is
strong: false at the first.  `holds` is written from the definition alone and is the evaluator that
every witness of `decide` is checked by; the verdicts of a running trace are those of Bauer, Leucker
& Schallhart's RV-LTL, read on finite traces.
"""
from __future__ import annotations

from collections.abc import Collection, Sequence

from wb import formula as F
from wb.formula import Formula
from wb.syntax import FormulaError, parse, render

__all__ = ["FormulaError", "holds", "parse", "render", "table"]

Step = Collection[str]


def holds(formula: Formula, trace: Sequence[Step], at: int = 0) -> bool:
    """Whether the formula is true at step `at` (0 is the first) of a non-empty trace."""
    if not 0 <= at < len(trace):
        raise ValueError(f"a step of the trace was required, 0 to {len(trace) - 1}; got {at}" if trace else
                         "a trace has at least one step; got none")
    return table(formula, trace)[at]


def table(formula: Formula, trace: Sequence[Step]) -> tuple[bool, ...]:
    """The truth of the formula at every step of a trace."""
    return F.fold(formula, lambda node, below: _row(node, below, trace))


def _row(node: Formula, below: tuple, trace: Sequence[Step]) -> tuple[bool, ...]:
    """The truth of a node at every step, from the rows of its operands."""
    match node:
        case F.Constant(value):
            return (value,) * len(trace)
        case F.Atom(name):
            return tuple(name in step for step in trace)
        case F.Not():
            return tuple(not x for x in below[0])
        case F.And():
            return tuple(x and y for x, y in zip(*below, strict=True))
        case F.Or():
            return tuple(x or y for x, y in zip(*below, strict=True))
        case F.Xor():
            return tuple(x != y for x, y in zip(*below, strict=True))
        case F.Implies():
            return tuple(y or not x for x, y in zip(*below, strict=True))
        case F.Iff():
            return tuple(x == y for x, y in zip(*below, strict=True))
        case F.Next():
            return (*below[0][1:], False)
        case F.WeakNext():
            return (*below[0][1:], True)
        case F.Previously():
            return (False, *below[0][:-1])
    return _run(node, below)


def _run(node: Formula, below: tuple) -> tuple[bool, ...]:
    """The operators that carry a truth from step to step: later ones from the end, past ones from the start."""
    match node:
        case F.Eventually():
            return _backward(False, below, lambda then, x: x or then)
        case F.Always():
            return _backward(True, below, lambda then, x: x and then)
        case F.Until():
            return _backward(False, below, lambda then, x, y: y or (x and then))
        case F.WeakUntil():
            return _backward(True, below, lambda then, x, y: y or (x and then))
        case F.Release():
            return _backward(True, below, lambda then, x, y: y and (x or then))
        case F.Once():
            return _forward(False, below, lambda then, x: x or then)
        case F.Historically():
            return _forward(True, below, lambda then, x: x and then)
        case F.Since():
            return _forward(False, below, lambda then, x, y: y or (x and then))
    raise TypeError(f"a formula of wb.formula was required; got {type(node).__name__}")


def _forward(value: bool, below: tuple, rule: object) -> tuple[bool, ...]:
    out = []
    for now in zip(*below, strict=True):
        value = rule(value, *now)
        out.append(value)
    return tuple(out)


def _backward(value: bool, below: tuple, rule: object) -> tuple[bool, ...]:
    return _forward(value, tuple(row[::-1] for row in below), rule)[::-1]
