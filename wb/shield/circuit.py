"""Action circuits: the rules of one action as a Markov logic network, and the relative safety condition.

ShieldAgent, Eqs. 4 and 5.  With every state predicate known only two worlds remain, the action taken
or not, so that P1 - P0 = tanh(D/2) with D the weighted count of rules kept by taking the action minus
those kept by leaving it.  An unknown predicate makes D an interval.  That no rule tells
the two worlds apart is a state of its own and not a zero.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple

from wb.logic import automaton
from wb.logic import formula as F
from wb.logic.automaton import AutomatonError
from wb.logic.formula import Formula
from wb.logic.objects import Slices, Told
from wb.rules import residual
from wb.rules.rule import Rule, RuleSet

Certainty = Literal["decisive", "indecisive", "undecided", "contradictory"]
HARD = math.inf


class Kept(NamedTuple):
    """Whether a rule is kept when the action is taken, and when it is not, all else equal."""

    taken: bool
    left: bool


@dataclass(frozen=True, slots=True)
class Circuit:
    """The rules that speak of one action, each with a weight >= 0; a weight of `HARD` admits no breach."""

    action: str
    rules: tuple[Rule, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.rules) != len(self.weights):
            raise ValueError(f"one weight a rule was required ({len(self.rules)}); got {len(self.weights)}")
        bad = [w for w in self.weights if not w >= 0]
        if bad:
            raise ValueError(f"weights must be >= 0 (a negative one would reward a breach); got {bad}")


@dataclass(frozen=True, slots=True)
class Inference:
    """What a circuit says of taking its action now.

    `low` and `high` bound P1 - P0, in -1..1; they are equal when nothing that matters is unknown.
    `state`: decisive (some rule tells taking from leaving), indecisive (none does), undecided (an
    unknown could change D), contradictory (hard rules forbid both worlds).  `violated` are the rules
    surely broken by taking the action and kept by leaving it, `unknown` those that may be.
    """

    low: float
    high: float
    state: Certainty
    violated: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def build(
    ruleset: RuleSet, by_action: Mapping[str, Sequence[str]], weights: Mapping[str, Mapping[str, float]] | None = None
) -> dict[str, Circuit]:
    """The circuit of every action, from the ids of its rules (`cluster.by_action`) and its weights by rule id.

    Each circuit has weights of its own (theta_a); a rule without one weighs 1.
    """
    rules = {rule.id: rule for rule in ruleset.rules}
    weights = weights or {}
    return {
        action: Circuit(action, tuple(rules[i] for i in ids), tuple(weights.get(action, {}).get(i, 1.0) for i in ids))
        for action, ids in by_action.items()
    }


class Monitor(NamedTuple):
    """An automaton of a rule: `rows[state][letter]` is the next state, `kept[state]` whether the rule is kept there.

    A rule that asks something of each step by itself is kept at a step that does it, whatever was broken before; any
    other one unless it is permanently violated.
    """

    names: tuple[str, ...]
    rows: tuple[tuple[int, ...], ...]
    kept: tuple[bool, ...]


def automata(rules: Iterable[Rule]) -> dict[str, Monitor | None]:
    """Each rule's automaton by rule id; None for a rule over too many predicates, which stays undecided, and for one
    about objects, which has `Slices`."""
    return {rule.id: None if objects(rule.formula) else _compiled(rule.formula) for rule in rules}


def _compiled(formula: Formula) -> Monitor | None:
    each = residual.each_step(formula)
    try:
        made = automaton.compile(formula if each is None else F.Eventually(F.And(each, F.Not(F.Next(F.TRUE)))))
    except AutomatonError:
        return None
    kept = made.accepting if each is not None else tuple([verdict is not False for verdict in made.settled])
    return None if made.tests else Monitor(made.names, made.rows, kept)


def objects(formula: Formula) -> bool:
    """Whether an atom of the formula names objects."""
    return any("(" in name for name in F.atoms(formula))


START = frozenset((0,))  # where every automaton is before the first step


def outcomes(machine: Monitor | None, action: str, steps: Sequence[Mapping[str, bool | None]]) -> frozenset[Kept]:
    """How a rule may fare when the action is taken, or left, at the last of the steps.

    A step maps predicates to True, False or None; what is None or absent may be either, at each step
    anew.  A rule is *kept* unless this step breaks it, or one that speaks of later steps is permanently violated: what
    a later step can still mend (RV-LTL's "currently false") is no breach yet.
    """
    states = START
    for step in steps[:-1]:
        states = advanced(machine, states, step)
    return faring(machine, action, states, steps[-1])


def advanced(machine: Monitor | None, states: frozenset[int], step: Mapping[str, bool | None]) -> frozenset[int]:
    """Where the rule's automaton may be after the step, from where it may have been before it."""
    if machine is None:
        return states
    letters = _letters(machine.names, step)
    return frozenset([machine.rows[state][letter] for letter in letters for state in states])


def faring(
    machine: Monitor | None,
    action: str,
    states: frozenset[int],
    step: Mapping[str, bool | None],
    left: Mapping[str, bool | None] = MappingProxyType({}),
) -> frozenset[Kept]:
    """`outcomes` at a step, from where the rule's automaton may be before it.

    `left` are the other predicates that are another truth where the action is left: what else the same call does.
    """
    if machine is None:
        return frozenset((Kept(True, True), Kept(False, True), Kept(True, False)))
    return frozenset(
        Kept(machine.kept[machine.rows[state][taken]], machine.kept[machine.rows[state][without]])
        for taken, without in _both(machine.names, {**step, action: True}, {**left, action: False})
        for state in states
    )


def _both(
    names: Sequence[str], step: Mapping[str, bool | None], left: Mapping[str, bool | None]
) -> tuple[tuple[int, int], ...]:
    """The letters that a step may be, with the action and without it, one pair for every way to fill in unknowns."""
    pairs = ((0, 0),)
    for i, name in enumerate(names):
        taken = _bits(step.get(name), i)
        ways = [(a, b) for a in taken for b in (_bits(left[name], i) if name in left else (a,))]
        pairs = tuple([(one | a, other | b) for one, other in pairs for a, b in ways])
    return pairs


def _bits(value: bool | None, i: int) -> tuple[int, ...]:
    return (0, 1 << i) if value is None else (value << i,)


def _letters(names: Sequence[str], step: Mapping[str, bool | None]) -> tuple[int, ...]:
    """The letters that a step may be, one for every way to fill in its unknowns."""
    letters = (0,)
    for i, name in enumerate(names):
        letters = tuple(letter | bit for letter in letters for bit in _bits(step.get(name), i))
    return letters


class Followed:
    """The automaton of a rule about objects, as `Slices` follows it for each choice of them."""

    start, timed = START, False

    def __init__(self, formula: Formula) -> None:
        self.automaton = _compiled(formula)
        self.names = self.automaton.names if self.automaton is not None else F.atoms(formula)

    def after(
        self, memory: frozenset[int], letter: tuple, last: float = 0, known: bool = False
    ) -> tuple[tuple, frozenset[int]]:
        """Whether the rule is kept, and where the automaton may be, after a step with those truths."""
        then = advanced(self.automaton, memory, dict(zip(self.names, letter, strict=True)))
        if self.automaton is None:
            return (None,), then
        kept = {self.automaton.kept[state] for state in then}
        return (kept.pop() if len(kept) == 1 else None,), then

    def still(self, memory: frozenset[int], letter: tuple) -> bool:
        """Whether the rule can be kept for certain, and nothing changes, after such steps."""
        return self.after(memory, letter) == ((True,), memory)

    def pruned(self, memory: frozenset[int], last: float) -> frozenset[int]:
        """What is remembered, all of which matters."""
        return memory

    def undated(self, memory: frozenset[int]) -> bool:
        """That no time says anything of it."""
        return False

    def dated(self, memory: frozenset[int], now: int) -> frozenset[int]:
        """What is remembered."""
        return memory

    def faring(self, acts: Collection[str], slices: Slices, step: Told) -> frozenset[Kept]:
        """`outcomes` at a step, from what was followed before it: of all objects that the action makes a difference to.

        `acts` are the action and what else the same call does.  Objects for which the rule is broken either way make
        no difference.
        """
        if self.automaton is None:
            return faring(None, "", START, {})
        taken = sum(1 << i for i, name in enumerate(self.names) if F.Atom(name).predicate in acts)
        found = frozenset((Kept(True, True),))
        for memory, letter in slices.ways(step):
            mine = self._faring(taken, memory, dict(zip(self.names, letter, strict=True)))
            if mine != {Kept(False, False)} and any(one.taken != one.left for one in mine):
                found = frozenset([Kept(a.taken and b.taken, a.left and b.left) for a in found for b in mine])
        return found

    def _faring(self, taken: int, states: frozenset[int], step: Mapping[str, bool | None]) -> frozenset[Kept]:
        kept, rows = self.automaton.kept, self.automaton.rows
        return frozenset(
            [
                Kept(kept[rows[state][letter]], kept[rows[state][letter & ~taken]])
                for letter in _letters(self.names, step)
                for state in states
            ]
        )


def infer(circuit: Circuit, outcomes: Mapping[str, frozenset[Kept]]) -> Inference:
    """P1 - P0 of the circuit's action, from the outcomes that each rule may still have (by rule id).

    A rule with one possible outcome is known.  The bounds are exact when the rules' unknowns are
    independent, and never too narrow otherwise.
    """
    gains = {rule.id: _gains(rule, outcomes) for rule in circuit.rules}
    hard = [gains[r.id] for r, w in zip(circuit.rules, circuit.weights, strict=True) if w == HARD]
    soft = [(w, gains[r.id]) for r, w in zip(circuit.rules, circuit.weights, strict=True) if w != HARD]
    low = relative(_bound(min(g) for g in hard) or sum(w * min(g) for w, g in soft))
    high = relative(_bound((max(g) for g in hard), up=True) or sum(w * max(g) for w, g in soft))
    violated = tuple(name for name, g in gains.items() if g == {-1})
    unknown = tuple(name for name, g in gains.items() if len(g) > 1)
    return Inference(low, high, _state(gains, hard), violated, unknown)


def relative(difference: float) -> float:
    """P1 - P0 = tanh(D/2) of two worlds whose log-weights differ by D; -1 or 1 for an infinite D."""
    return math.tanh(difference / 2)


def safe(inference: Inference, epsilon: float = 0.0) -> bool | None:
    """Eq. 5: whether P1 - P0 >= epsilon; None where an unknown decides it or hard rules contradict.

    Without a decisive rule the difference is 0, so that any epsilon <= 0 permits.
    """
    if not -1 <= epsilon <= 1:
        raise ValueError(f"epsilon bounds a difference of probabilities and must be in -1..1; got {epsilon}")
    if inference.state == "contradictory" or (inference.low < epsilon <= inference.high):
        return None
    return inference.low >= epsilon


def lightest(epsilon: float) -> float:
    """The weight that a rule must exceed to deny alone: where -tanh(w/2) = epsilon; 0 for an epsilon of 0 or more."""
    return HARD if epsilon <= -1 else 2 * math.atanh(-epsilon) if epsilon < 0 else 0.0


def _gains(rule: Rule, outcomes: Mapping[str, frozenset[Kept]]) -> frozenset[int]:
    """How much better the rule may fare with the action taken: -1, 0 or 1."""
    possible = outcomes.get(rule.id)
    if not possible:
        raise ValueError(f"at least one outcome was required for rule {rule.id!r}; got none")
    return frozenset(int(o.taken) - int(o.left) for o in possible)


def _bound(extremes: Iterable[int], up: bool = False) -> float:
    """The infinite D that hard rules force at one end of the interval, 0 where they force none."""
    found = set(extremes)
    first, second = (1, -1) if up else (-1, 1)
    return first * HARD if first in found else second * HARD if second in found else 0.0


def _state(gains: Mapping[str, frozenset[int]], hard: list[frozenset[int]]) -> Certainty:
    known = {next(iter(g)) for g in hard if len(g) == 1}
    if {-1, 1} <= known:
        return "contradictory"
    if any(len(g) > 1 for g in gains.values()):
        return "undecided"
    return "decisive" if any(g != {0} for g in gains.values()) else "indecisive"
