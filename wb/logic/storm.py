"""The only door to Storm: recorded traces as Markov chains, rules as their properties.

A trace is a chain of its steps that ends in an absorbing state without the label `alive`; a formula
is rewritten so that its meaning on the infinite chain is its meaning on the finite trace (De Giacomo
& Vardi, IJCAI 2013, Sec. 4).  Traces checked together are disjoint chains of one model.  A past
subformula is a future one of the reversed trace: Storm checks it there at every state, and its truth
becomes a label of the forward chain (and the other way round), innermost first, so that any mixture
of past and future is decided by Storm alone.

Storm gives its heap back to the system after each check unless the allocator is told to keep it,
which makes a check ten times slower now and then: `check` tells it so before it starts.
"""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from wb.logic import decide, semantics
from wb.logic import formula as F
from wb.logic.automaton import AutomatonError
from wb.logic.formula import Formula

MIRROR = {F.Previously: F.Next, F.Once: F.Eventually, F.Historically: F.Always, F.Since: F.Until}
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, KEEP = -1, -3, 1 << 30  # glibc malloc.h; bytes


def check(formulas: Sequence[Formula], traces: Sequence[Sequence[Collection[str]]]) -> list[list[bool]]:
    """Whether each formula holds at the first step of each trace, by Storm: one row a formula.

    All traces are checked in one model a formula; `ValueError` for a trace without steps.
    """
    if not all(traces):
        raise ValueError("a trace has at least one step; got one with none")
    if not formulas or not traces:
        return [[] for _ in formulas]
    chains = _Chains([len(trace) for trace in traces])
    names = sorted({name for formula in formulas for name in F.atoms(formula)})
    plain = {F.Atom(name): F.Atom(f"a{i}") for i, name in enumerate(names)}  # a label of Storm's has no brackets
    labels = {plain[F.Atom(name)].name: [name in step for trace in traces for step in trace] for name in names}
    return [chains.at_starts(chains.truths(F.substitute(formula, plain), labels)) for formula in formulas]


class Opinion(NamedTuple):
    """What the definition here (`ours`) and Storm (`theirs`) say of a formula on a trace."""

    formula: Formula
    trace: tuple[frozenset[str], ...]
    ours: bool
    theirs: bool


def opinions(formulas: Sequence[Formula]) -> tuple[Opinion, ...]:
    """A second opinion on each formula: on a shortest trace that breaks it, and on a shortest that keeps it.

    A formula that no trace breaks, or none keeps, has one trace; one that is too large to be decided has none, nor has
    one with windows in time, which Storm does not know.
    """
    asked = []
    formulas = [formula for formula in formulas if not F.windows(formula)]
    for formula in formulas:
        try:
            shown = (decide.satisfiable(F.Not(formula)).witness, decide.satisfiable(formula).witness)
        except AutomatonError:
            continue
        asked += [(formula, tuple(trace)) for trace in shown if trace]
    traces = list(dict.fromkeys(trace for _, trace in asked))
    place = {trace: i for i, trace in enumerate(traces)}
    found = dict(zip(formulas, check(formulas, traces), strict=True))
    return tuple(Opinion(f, trace, semantics.holds(f, trace), found[f][place[trace]]) for f, trace in asked)


class _Chains:
    """Disjoint chains of the given lengths (steps) and the truth of formulas at each of their states."""

    def __init__(self, lengths: list[int]) -> None:
        self.lengths = lengths
        self.size = sum(lengths)
        self.starts = [sum(lengths[:i]) for i in range(len(lengths))]

    def at_starts(self, truths: list[bool]) -> list[bool]:
        """The truth at the first step of each trace."""
        return [truths[start] for start in self.starts]

    def truths(self, formula: Formula, labels: dict[str, list[bool]]) -> list[bool]:
        """The truth of the formula at every step of every trace, in the order of the traces."""
        labels = dict(labels)

        def one_way(node: Formula, parts: tuple[Formula, ...]) -> Formula:
            """The node without a change of direction below it: a part that looks the other way becomes a label."""
            past = isinstance(node, F.PAST) or (not isinstance(node, F.FUTURE) and all(map(_past, parts)))
            return F.rebuild(node, tuple(label(part) if (_future if past else _past)(part) else part for part in parts))

        def label(part: Formula) -> Formula:
            name = next(f"sub{i}" for i in range(len(labels) + 1) if f"sub{i}" not in labels)
            labels[name] = self._solve(part, labels)
            return F.Atom(name)

        return self._solve(F.fold(formula, one_way), labels)

    def _solve(self, formula: Formula, labels: dict[str, list[bool]]) -> list[bool]:
        """Storm's answer at every state; a formula of the past is asked of the reversed chains."""
        import stormpy

        past = _past(formula)
        order = self._reversed() if past else range(self.size)
        used = {name: [labels[name][i] for i in order] for name in F.atoms(formula)}
        text = f"P=? [ {ltl(_mirror(formula) if past else formula)} ]"
        model = self._model(used, self.lengths)
        result = stormpy.model_checking(model, stormpy.parse_properties(text)[0], only_initial_states=False)
        values = result.get_value_vector()[: self.size]
        truths = [value > 0.5 for value in values]
        return [truths[i] for i in order] if past else truths

    def _reversed(self) -> list[int]:
        return [
            start + length - 1 - i
            for start, length in zip(self.starts, self.lengths, strict=True)
            for i in range(length)
        ]

    def _model(self, labels: dict[str, list[bool]], lengths: list[int]) -> object:
        """One absorbing end state behind all chains; the first state is called initial because Storm wants one."""
        end = self.size
        lasts = {start + length - 1 for start, length in zip(self.starts, lengths, strict=True)}
        rows = {state: {end if state in lasts else state + 1: 1.0} for state in range(end)} | {end: {end: 1.0}}
        true = {f"p_{name}": [i for i, yes in enumerate(row) if yes] for name, row in labels.items()}
        return chain(rows, {**true, "alive": list(range(end)), "any": list(range(end + 1)), "init": [0]})


def chain(rows: Mapping[int, Mapping[int, float]], labels: Mapping[str, list[int]]) -> object:
    """Storm's model of a chain: rows[state][next] is a probability; each label holds at its states."""
    from stormpy.datastructures import BitVector, SparseMatrixBuilder
    from stormpy.models import SparseDtmc, SparseModelComponents, StateLabeling

    _keep_memory()
    size = len(rows)
    builder = SparseMatrixBuilder[float](size, size, 0)
    for state in range(size):
        for then, p in sorted(rows[state].items()):
            builder.add_next_value(state, then, p)
    labelling = StateLabeling(size)
    for label, states in labels.items():
        labelling.add_label(label)
        labelling.set_states(label, BitVector(size, sorted(states)))
    return SparseDtmc[float](SparseModelComponents[float](builder.build(), labelling))


def _past(formula: Formula) -> bool:
    return any(isinstance(node, F.PAST) for node in F.subformulas(formula))


def _future(formula: Formula) -> bool:
    return any(isinstance(node, F.FUTURE) for node in F.subformulas(formula))


def _mirror(formula: Formula) -> Formula:
    """The future formula that says on the reversed trace what a formula of the past says on the trace."""
    return F.fold(formula, lambda node, parts: MIRROR.get(type(node), type(node))(*parts) if parts else node)


def ltl(formula: Formula) -> str:
    """Storm's text of a future formula, true on the endless chain where the formula is on the trace."""
    return F.fold(formula, _operator)


def _operator(node: Formula, parts: tuple[str, ...]) -> str:
    match node:
        case F.Constant(value):
            return '"any"' if value else '!"any"'
        case F.Atom(name):
            return f'"p_{name}"'
        case F.Not():
            return f"!({parts[0]})"
        case F.Next():
            return f'(X ("alive" & {parts[0]}))'
        case F.WeakNext():
            return f'(X (!"alive" | {parts[0]}))'
        case F.Eventually():
            return f'(F ("alive" & {parts[0]}))'
        case F.Always():
            return f'(G (!"alive" | {parts[0]}))'
    return _pair(node, *parts)


def _pair(node: Formula, left: str, right: str) -> str:
    match node:
        case F.And():
            return f"({left} & {right})"
        case F.Or():
            return f"({left} | {right})"
        case F.Implies():
            return f"(!{left} | {right})"
        case F.Iff():
            return f"(({left} & {right}) | (!{left} & !{right}))"
        case F.Xor():
            return f"(({left} & !{right}) | (!{left} & {right}))"
        case F.Until():
            return f'({left} U ("alive" & {right}))'
        case F.Release():
            return f'!((!{left}) U ("alive" & !{right}))'
        case F.WeakUntil():
            return f'!((!{right}) U ("alive" & !{left} & !{right}))'
    raise TypeError(f"a future operator was required; got {type(node).__name__}")


@cache
def _keep_memory() -> None:
    """Ask glibc to keep freed memory; where there is no glibc Storm is only slower."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    mallopt(M_TRIM_THRESHOLD, KEEP)
    mallopt(M_MMAP_THRESHOLD, KEEP)
