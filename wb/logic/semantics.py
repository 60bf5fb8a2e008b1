"""The meaning of formulas over finite traces, and monitors of running ones.

A trace is a non-empty sequence of steps, a step the set of predicate names that are true in it
(De Giacomo & Vardi, IJCAI 2013, Sec. 2).  `NEXT` is strong: false at the last step; `PREVIOUSLY` is
strong: false at the first.  `holds` is written from the definition alone and is the evaluator that
every witness of `decide` is checked by; the verdicts of a running trace are those of Bauer, Leucker
& Schallhart's RV-LTL, read on finite traces.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Literal

from wb.logic import automaton
from wb.logic import formula as F
from wb.logic.formula import Formula
from wb.logic.syntax import FormulaError, parse, render

if TYPE_CHECKING:
    import numpy

__all__ = ["FormulaError", "Monitor", "Monitors", "VERDICTS", "Verdict", "holds", "parse", "render", "table"]

Step = Collection[str]
Verdict = Literal["permanently_true", "currently_true", "currently_false", "permanently_false"]
VERDICTS: tuple[Verdict, ...] = ("permanently_true", "currently_true", "currently_false", "permanently_false")


def holds(formula: Formula, trace: Sequence[Step], at: int = 0) -> bool:
    """Whether the formula is true at step `at` (0 is the first) of a non-empty trace."""
    if not 0 <= at < len(trace):
        raise ValueError(
            f"a step of the trace was required, 0 to {len(trace) - 1}; got {at}"
            if trace
            else "a trace has at least one step; got none"
        )
    return table(formula, trace)[at]


def table(formula: Formula, trace: Sequence[Step]) -> tuple[bool, ...]:
    """The truth of the formula at every step of a trace."""
    return F.fold(formula, lambda node, below: _row(node, below, trace))


class Monitor:
    """One formula followed along a running trace, at the same cost for every step.

    `verdict` is "permanently_true" or "permanently_false" when no continuation can change it, else
    "currently_true" or "currently_false": what `holds` says of the trace so far.  Before the first
    step there is no trace yet: "currently_false" unless every trace has the same verdict.
    `automaton.AutomatonError` when the formula has too many predicates to follow.
    """

    def __init__(self, formula: Formula) -> None:
        compiled = automaton.compile(formula)
        self.formula = formula
        self._letter = compiled.letter
        rows: list[list] = [[] for _ in compiled.rows]  # a row holds the rows that follow, and its verdict last
        for row, nexts, verdict in zip(rows, compiled.rows, verdicts(compiled), strict=True):
            row += [rows[then] for then in nexts] + [verdict]
        self._row = self._start = rows[0]

    def step(self, state: Step) -> Verdict:
        """Read one step, the set of names true in it, and give the verdict on the trace so far."""
        self._row = row = self._row[self._letter(state)]
        return row[-1]

    @property
    def verdict(self) -> Verdict:
        """The verdict on the steps read so far."""
        return self._row[-1]

    def reset(self) -> None:
        """Forget every step."""
        self._row = self._start


class Monitors:
    """Many formulas followed along one running trace; a step costs about as much as one gather from a table.

    `step` gives one code a formula, an index into `VERDICTS`.
    """

    def __init__(self, formulas: Sequence[Formula]) -> None:
        import numpy as np

        compiled = [automaton.compile(formula) for formula in formulas]
        tests = tuple(dict.fromkeys(test for one in compiled for test in one.inputs))
        self.formulas = tuple(formulas)
        self._names = {test.name: i for i, test in enumerate(tests) if isinstance(test, F.Atom)}
        self._others = [(i, automaton.reader((test,))) for i, test in enumerate(tests) if not isinstance(test, F.Atom)]
        place = {test: i for i, test in enumerate(tests)}
        most = max((len(one.inputs) for one in compiled), default=0)
        self._bits = np.zeros(
            (most, len(tests) + 1), np.int32
        )  # row j holds the tests' truths as bit j; the last is never true
        self._reads = np.full((most, len(compiled)), self._bits.shape[1] - 1)
        nexts, codes, starts = [], [], []
        for i, one in enumerate(compiled):
            self._reads[: len(one.inputs), i] = [place[test] for test in one.inputs]
            base, width = len(nexts), len(one.rows[0])
            nexts += [base + then * width for row in one.rows for then in row]
            codes += [VERDICTS.index(verdict) for verdict in verdicts(one) for _ in range(width)]
            starts.append(base)
        self._reads += np.arange(most)[:, None] * self._bits.shape[1]
        self._nexts, self._codes = np.array(nexts, np.intp), np.array(codes, np.int8)
        self._start = np.array(starts, np.intp)
        self._at = self._start.copy()

    def step(self, state: Step) -> numpy.ndarray:
        """Read one step and give the verdicts on the trace so far, codes of shape (formulas,)."""

        true = [self._names[name] for name in state if name in self._names]
        true += [i for i, holds_at in self._others if holds_at(state)]
        self._bits[:] = 0
        for j, row in enumerate(self._bits):
            row[true] = 1 << j
        letters = self._bits.take(self._reads).sum(0)
        self._at = self._nexts.take(self._at + letters)
        return self._codes.take(self._at)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdict of each formula on the steps read so far."""
        return tuple(VERDICTS[code] for code in self._codes[self._at])

    def reset(self) -> None:
        """Forget every step."""
        self._at = self._start.copy()


def verdicts(compiled: automaton.Automaton) -> tuple[Verdict, ...]:
    """The verdict of each state of an automaton."""
    return tuple(
        f"{'currently' if settled is None else 'permanently'}_{str(yes if settled is None else settled).lower()}"
        for yes, settled in zip(compiled.accepting, compiled.settled, strict=True)
    )


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
