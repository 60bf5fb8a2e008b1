"""Rules on traces whose predicates are not known but only likely.

Each predicate of each step is true with a probability of its own, independently of all others (the
tuple-independent reading; SPEC's soft evidence of a detector).  The probability that a rule holds is
then exact by carrying the distribution over the states of its automaton from step to step: L steps
cost L products of a small matrix, where enumeration would cost 2^(L k) traces.  Storm computes the
same number on a branching chain (`storm.probability`) and is the oracle of the tests.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from wb.logic import automaton
from wb.logic.automaton import Automaton, AutomatonError
from wb.logic.formula import Formula
from wb.logic.semantics import VERDICTS, Verdict, verdicts

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


def distribution(formula: Formula, trace: Sequence[Likely]) -> dict[Verdict, float]:
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
