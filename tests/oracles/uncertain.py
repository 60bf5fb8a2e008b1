"""Rules on traces whose predicates are not known but only likely.

Each predicate of each step is true with a probability of its own, independently of all others (the
tuple-independent reading of soft evidence, such as a detector's).  The probability that a rule holds is
then exact by carrying the distribution over the states of its automaton from step to step: L steps
cost L products of a small matrix, where enumeration would cost 2^(L k) traces.  Storm computes the
same number on a branching chain (`by_storm`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from wb.logic import automaton, storm
from wb.logic import formula as F
from wb.logic.automaton import Automaton, AutomatonError
from wb.logic.formula import Formula
from wb.logic.semantics import VERDICTS, RunningVerdict, verdicts

if TYPE_CHECKING:
    import numpy

Likely = Mapping[str, float]


def probability(formula: Formula, trace: Sequence[Likely]) -> float:
    """The probability, 0..1, that the formula holds on a trace of predicate probabilities.

    A predicate that a step does not name is false there.  `ValueError` for an empty trace or a
    probability outside 0..1, `AutomatonError` for a formula over too many predicates.
    """
    compiled = _explicit(formula)
    carried = _carried(compiled, trace)
    return float(sum(p for p, yes in zip(carried, compiled.accepting, strict=True) if yes))


def distribution(formula: Formula, trace: Sequence[Likely]) -> dict[RunningVerdict, float]:
    """The probability of each of the four verdicts on the running trace; they sum to 1."""
    compiled = _explicit(formula)
    found = dict.fromkeys(VERDICTS, 0.0)
    for p, verdict in zip(_carried(compiled, trace), verdicts(compiled), strict=True):
        found[verdict] += float(p)
    return found


def _explicit(formula: Formula) -> Automaton:
    compiled = automaton.compile(formula)
    if compiled.tests:
        raise AutomatonError(
            f"at most {automaton.MAX_TESTS} uncertain predicates are carried exactly; got {len(compiled.names)}"
        )
    return compiled


def _carried(compiled: Automaton, trace: Sequence[Likely]) -> numpy.ndarray:
    """The distribution over the automaton's states after the trace, shape (states,)."""
    import numpy as np

    if not trace:
        raise ValueError("a trace has at least one step; got none")
    states, letters = len(compiled.rows), len(compiled.rows[0])
    moves = np.zeros((states * letters, states))
    moves[np.arange(states * letters), np.array(compiled.rows).ravel()] = 1.0
    here = np.zeros(states)
    here[0] = 1.0
    for i, step in enumerate(trace):
        weights = np.ones(1)
        for name in compiled.names:  # letter weights, bit i of a letter is names[i]
            p = step.get(name, 0.0)
            if not 0.0 <= p <= 1.0 or math.isnan(p):
                raise ValueError(f"a probability in 0..1 was required for {name!r} at step {i}; got {p!r}")
            weights = np.concatenate([weights * (1.0 - p), weights * p])
        here = np.outer(here, weights).ravel() @ moves
    return here


def by_storm(formula: Formula, trace: Sequence[Mapping[str, float]]) -> float:
    """The probability, 0..1, that a formula holds on a trace of independent predicate probabilities, by Storm.

    The chain branches over the predicates that may be true at each step; its states remember the
    truths of the past subformulas, which become labels.  `ValueError` where a past operator looks at
    the future: the branches do not know it yet.
    """
    nodes = F.subformulas(formula)
    past = [node for node in nodes if isinstance(node, F.PAST)]
    if any(isinstance(inner, F.FUTURE) for node in past for inner in F.subformulas(node)):
        raise ValueError("a formula whose past operators look only at the past was required")
    layers = _layers(formula, trace, past)
    labels = {node: F.Atom(f"sub{i}") for i, node in enumerate(past)}
    return _branching(layers, F.substitute(formula, labels), labels)


def _layers(formula: Formula, trace: Sequence[Mapping[str, float]], past: list[Formula]) -> list[dict]:
    """For each step its states, what is true there, each with the probabilities of the states that lead to it."""
    layers: list[dict[frozenset, dict[frozenset, float]]] = []
    plain = [node for node in F.subformulas(formula) if isinstance(node, F.Atom)]
    inner = [node for node in dict.fromkeys(part for one in past for part in F.subformulas(one))]
    for step in trace:
        likely = [(frozenset(), 1.0)]
        for atom in plain:
            p = step.get(atom.name, 0.0)
            likely = [(true | {atom}, q * p) for true, q in likely if p > 0] + [
                (true, q * (1 - p)) for true, q in likely if p < 1
            ]
        layer: dict[frozenset, dict[frozenset, float]] = {}
        for before in layers[-1] if layers else [None]:
            for true, q in likely:
                layer.setdefault(_remembered(inner, true, before), {})[before] = q
        layers.append(layer)
    return layers


def _remembered(nodes: list[Formula], true: frozenset, before: frozenset | None) -> frozenset:
    """What holds at a step: its predicates and, operands first, every node of the past, given what held before it."""
    now = set(true)
    held = before or frozenset()
    for node in nodes:
        match node:
            case F.Atom() | F.Constant():
                holds = node in now or node == F.TRUE
            case F.Previously(body):
                holds = body in held
            case F.Once(body):
                holds = body in now or node in held
            case F.Historically(body):
                holds = body in now and (before is None or node in held)
            case F.Since(left, right):
                holds = right in now or (left in now and node in held)
            case _:
                holds = _plain(type(node), *(part in now for part in F.children(node)))
        if holds:
            now.add(node)
    return frozenset(now)


def _plain(kind: type, left: bool, right: bool = False) -> bool:
    return {
        F.Not: not left,
        F.And: left and right,
        F.Or: left or right,
        F.Xor: left != right,
        F.Implies: right or not left,
        F.Iff: left == right,
    }[kind]


def _branching(layers: list[dict], formula: Formula, labels: Mapping[Formula, Formula]) -> float:
    """Storm's probability of the formula on the layers, asked from a state before the first of them."""
    import stormpy

    numbers = {
        (i, state): n
        for n, (i, state) in enumerate(((i, state) for i, layer in enumerate(layers) for state in layer), 1)
    }
    rows: dict[int, dict[int, float]] = {n: {} for n in range(len(numbers) + 1)}
    for (i, state), n in numbers.items():
        for before, p in layers[i][state].items():
            rows[numbers[i - 1, before] if i else 0][n] = p
    end = len(numbers) + 1
    for (i, _), n in numbers.items():
        if i == len(layers) - 1:
            rows[n] = {end: 1.0}
    rows[end] = {end: 1.0}
    true = {f"p_{name}": [] for name in F.atoms(formula)}
    for (_, state), n in numbers.items():
        for node in state:
            label = f"p_{labels.get(node, node).name}" if isinstance(labels.get(node, node), F.Atom) else ""
            if label in true:
                true[label].append(n)
    model = storm.chain(rows, {**true, "alive": list(range(1, end)), "any": list(range(end + 1)), "init": [0]})
    found = stormpy.parse_properties(f"P=? [ X {storm.ltl(formula)} ]")[0]
    return float(stormpy.model_checking(model, found, only_initial_states=True).get_value(0))
