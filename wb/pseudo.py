"""Pseudo-labels: simulated runs of a circuit's action where nobody has labelled real ones.

ShieldAgent trains its weights on real or simulated data (Sec. 3.2.4, after the pseudo-learning of
Kang & Li 2024).  Here situations are drawn that keep all rules of a circuit, by random walk from a
random start (WalkSAT, Selman & Kautz 1993), and each is then changed as little as it takes to break
one rule.  The label is what the rules themselves say: such examples can show that learning works
and balance the weights of one circuit, never that a rule is right; they are marked `simulated`.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from wb import circuit
from wb.automaton import Automaton
from wb.circuit import Circuit, Outcome
from wb.predicate import Predicate
from wb.rule import Rule
from wb.trace import Trace
from wb.weights import Examples, differences, observed

Steps = tuple[dict[str, bool], ...]
LENGTH = 2  # steps: one past and the present, the least in which "before" has a meaning
FLIPS = 400  # of the random walk, after which a start is given up


def examples(circuits: Mapping[str, Circuit], predicates: Sequence[Predicate], traces: Sequence[Trace], known: Sequence[Rule],
             *, seed: int = 0, pairs: int = 100) -> dict[str, Examples]:
    """For each circuit its labelled runs where there are any that are decided, else simulated ones."""
    found, rng = {}, np.random.default_rng(seed)
    for action, of in circuits.items():
        real = observed(of, predicates, traces)
        found[action] = real if len(real.labels) else simulated(of, known, rng, pairs=pairs)
    return found


def simulated(of: Circuit, known: Sequence[Rule], rng: np.random.Generator, *, pairs: int = 100) -> Examples:
    """Up to `pairs` safe situations and as many with one rule broken, consistent with the `known` physical rules.

    The broken rule goes round the rules that mention the action.  Situations that the walk does not
    find (rules that cannot be kept together) are left out.
    """
    focus = [rule for rule in of.rules if of.action in rule.predicates]
    names = sorted({name for rule in of.rules for name in rule.predicates} | {of.action})
    laws = [rule for rule in known if set(rule.predicates) <= set(names)]
    machines = circuit.automata((*of.rules, *laws))
    if not focus or any(machine is None for machine in machines.values()):
        return Examples(np.zeros((0, len(of.rules)), dtype=int), np.zeros(0, dtype=int), "simulated")
    rows, labels = [], []
    for i in range(pairs):
        start = tuple({name: bool(rng.integers(2)) for name in names} for _ in range(LENGTH))
        safe = _walk(start, lambda steps: _broken(of, machines, laws, steps), of.action, rng)
        rule = focus[i % len(focus)]
        unsafe = safe and _walk(safe, lambda steps: _held(of, machines, laws, rule, steps), of.action, rng)
        for steps, label in ((safe, 1), (unsafe, -1)):
            if steps:
                rows.append(differences(of, machines, steps))
                labels.append(label)
    return Examples(np.array(rows, dtype=int).reshape(len(labels), len(of.rules)), np.array(labels, dtype=int), "simulated")


def _walk(steps: Steps, wrong: Callable[[Steps], list[Rule]], action: str, rng: np.random.Generator) -> Steps | None:
    """Flip one predicate of one wrong rule at a time until nothing is wrong; None if that takes too long."""
    for _ in range(FLIPS):
        rules = wrong(steps)
        if not rules:
            return steps
        rule = rules[rng.integers(len(rules))]
        at, name = rng.integers(LENGTH), rule.predicates[rng.integers(len(rule.predicates))]
        if at == LENGTH - 1 and name == action:
            continue
        steps = tuple({**step, name: not step[name]} if i == at else step for i, step in enumerate(steps))
    return None


def _broken(of: Circuit, machines: Mapping[str, Automaton | None], laws: Sequence[Rule], steps: Steps) -> list[Rule]:
    """The rules broken by taking the action here, and the physical rules broken at all."""
    return [r for r in (*of.rules, *laws) if not all(o.taken for o in _outcomes(of, machines, r, steps))]


def _held(of: Circuit, machines: Mapping[str, Automaton | None], laws: Sequence[Rule], focus: Rule, steps: Steps) -> list[Rule]:
    """The focus rule while taking the action does not break it, and the physical rules that are broken."""
    held = [focus] if _outcomes(of, machines, focus, steps) != {Outcome(False, True)} else []
    return held + [r for r in laws if not all(o.taken for o in _outcomes(of, machines, r, steps))]


def _outcomes(of: Circuit, machines: Mapping[str, Automaton | None], rule: Rule, steps: Steps) -> frozenset[Outcome]:
    return circuit.outcomes(machines[rule.id], of.action, steps)
