"""Traces of one given length by a SAT solver: for sets of formulas too wide for a product of automata.

Every subformula has one literal a step, tied to those of its operands by the definition of its
operator on a trace of that length (Biere et al. 2003, on finite traces).  Formulas are asked for by
assumption, so that one solver a length serves many questions, and an answer of none names the
formulas to blame.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from math import inf
from types import TracebackType

from wb.logic import formula as F
from wb.logic.formula import Formula

Word = tuple[frozenset[str], ...]
TRUE = 1  # the literal of the constant; its negation is false


class OutOfTime(ValueError):
    """The time that was given to questions is over; those that are left were not answered."""


class Bounded:
    """Solvers for traces of every length asked for; close it, or use it in a `with` statement.

    Past `until` (of `time.monotonic`) every question is refused: `OutOfTime`.
    """

    def __init__(self, until: float = inf) -> None:
        self.until = until
        self._lengths: dict[int, _Length] = {}

    def __enter__(self) -> Bounded:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def trace(self, formulas: Sequence[Formula], length: int) -> tuple[Word | None, tuple[Formula, ...]]:
        """A trace of that many steps that satisfies all formulas, no predicate of which could be false alone.

        With None, no trace of that length satisfies even the formulas returned, any fewer of which one does.
        """
        return self._at(length).solve(formulas)

    def together(
        self, wanted: Collection[Formula], formulas: Sequence[Formula], length: int
    ) -> tuple[Word | None, tuple[Formula, ...]]:
        """A trace of that many steps of all formulas and of many of those wanted, and which of them it satisfies."""
        left = tuple(dict.fromkeys(wanted))
        while left:
            trace, blamed = self._at(length).some((*left, *formulas))
            if trace is not None:
                return trace, left
            fewer = tuple(formula for formula in left if formula not in blamed)
            if len(fewer) == len(left):
                break
            left = fewer
        return None, ()

    def _at(self, length: int) -> _Length:
        if time.monotonic() > self.until:
            raise OutOfTime("undecided: the time for questions was over")
        if length not in self._lengths:
            self._lengths[length] = _Length(length)
        return self._lengths[length]

    def close(self) -> None:
        """Free the solvers."""
        for one in self._lengths.values():
            one.solver.delete()
        self._lengths.clear()


class _Length:
    """The formulas seen so far, written as clauses about traces of one length."""

    def __init__(self, length: int) -> None:
        from pysat.solvers import Solver

        self.length = length
        self.solver = Solver(name="glucose4", bootstrap_with=[[TRUE]])
        self.top = TRUE
        self.rows: dict[Formula, tuple[int, ...]] = {F.TRUE: (TRUE,) * length, F.FALSE: (-TRUE,) * length}
        self.atoms: dict[str, tuple[int, ...]] = {}

    def solve(self, formulas: Sequence[Formula]) -> tuple[Word | None, tuple[Formula, ...]]:
        roots = {self.row(formula)[0]: formula for formula in formulas}
        if not self.solver.solve(assumptions=list(roots)):
            return None, tuple(roots[literal] for literal in self._blamed(list(roots)))
        return self._trimmed(list(roots), {name for formula in formulas for name in F.atoms(formula)}), ()

    def some(self, formulas: Sequence[Formula]) -> tuple[Word | None, frozenset[Formula]]:
        """Any trace of all formulas; or None and some that no trace satisfies. Neither is the least."""
        roots = {self.row(formula)[0]: formula for formula in formulas}
        if not self.solver.solve(assumptions=list(roots)):
            return None, frozenset(roots[literal] for literal in self.solver.get_core() or roots)
        true = set(self.solver.get_model())
        names = {name for formula in formulas for name in F.atoms(formula)}
        steps = range(self.length)
        return tuple(frozenset(n for n in names if self.atoms[n][step] in true) for step in steps), frozenset()

    def _blamed(self, roots: list[int]) -> list[int]:
        """A minimal part of the roots that cannot hold together."""
        kept = list(self.solver.get_core() or roots)
        for literal in tuple(kept):
            rest = [other for other in kept if other != literal]
            if not self.solver.solve(assumptions=rest):
                kept = rest
        return kept

    def _trimmed(self, roots: list[int], names: set[str]) -> Word:
        """The trace found, with predicates made false one by one while all roots still hold."""
        places = [(literal, name, step) for name in sorted(names) for step, literal in enumerate(self.atoms[name])]
        true, kept = set(self.solver.get_model()), list(roots)
        for literal, _, _ in places:
            if literal in true and self.solver.solve(assumptions=[*kept, -literal]):
                true = set(self.solver.get_model())
            kept.append(literal if literal in true else -literal)
        return tuple(
            frozenset(name for literal, name, at in places if at == step and literal in true)
            for step in range(self.length)
        )

    def row(self, formula: Formula) -> tuple[int, ...]:
        """The literals of a formula at every step."""
        if formula not in self.rows:
            for node in F.subformulas(formula):
                if node not in self.rows:
                    self.rows[node] = self._row(node, *(self.rows[child] for child in F.children(node)))
        return self.rows[formula]

    def _row(self, node: Formula, left: tuple[int, ...] = (), right: tuple[int, ...] = ()) -> tuple[int, ...]:
        match node:
            case F.Atom(name):
                self.atoms[name] = tuple(self._new() for _ in range(self.length))
                return self.atoms[name]
            case F.Not():
                return tuple(-literal for literal in left)
            case F.And():
                return tuple(map(self._both, left, right))
            case F.Or():
                return tuple(map(self._either, left, right))
            case F.Implies():
                return tuple(self._either(-one, two) for one, two in zip(left, right, strict=True))
            case F.Iff():
                return tuple(map(self._same, left, right))
            case F.Xor():
                return tuple(-self._same(one, two) for one, two in zip(left, right, strict=True))
            case F.Next():
                return (*left[1:], -TRUE)
            case F.WeakNext():
                return (*left[1:], TRUE)
            case F.Previously():
                return (-TRUE, *left[:-1])
            case F.Once() | F.Historically() | F.Since():
                return self._carried(node, left, right)
        return self._carried(node, left[::-1], right[::-1])[::-1]

    def _carried(self, node: Formula, left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
        """The literals of an operator that carries its truth from one step to the next one of the rows."""
        out: list[int] = []
        for i, one in enumerate(left):
            two = right[i] if right else 0
            match node:
                case F.Eventually() | F.Once():
                    out.append(self._either(one, out[-1] if out else -TRUE))
                case F.Always() | F.Historically():
                    out.append(self._both(one, out[-1] if out else TRUE))
                case F.Until() | F.Since():
                    out.append(self._either(two, self._both(one, out[-1] if out else -TRUE)))
                case F.WeakUntil():
                    out.append(self._either(two, self._both(one, out[-1] if out else TRUE)))
                case F.Release():
                    out.append(self._both(two, self._either(one, out[-1] if out else TRUE)))
                case _:
                    raise TypeError(f"a formula of wb.logic.formula was required; got {type(node).__name__}")
        return tuple(out)

    def _new(self) -> int:
        self.top += 1
        return self.top

    def _both(self, one: int, two: int) -> int:
        if TRUE in (one, two) or one == two:
            return two if one == TRUE else one
        if -TRUE in (one, two) or one == -two:
            return -TRUE
        out = self._new()
        self.solver.append_formula([[-out, one], [-out, two], [out, -one, -two]])
        return out

    def _either(self, one: int, two: int) -> int:
        return -self._both(-one, -two)

    def _same(self, one: int, two: int) -> int:
        return self._either(self._both(one, two), self._both(-one, -two))
