"""Action circuits: the rules of one action as a Markov logic network, and the relative safety condition.

ShieldAgent, Eqs. 4 and 5.  With every state predicate known only two worlds remain, the action taken
or not, so that P1 - P0 = tanh(D/2) with D the weighted count of rules kept by taking the action minus
those kept by leaving it.  Where predicates are unknown, D is that of every way to fill them in for all
rules together which the physical rules leave possible, and P1 - P0 the interval of these.  Physical
rules (R_p of Eq. 2) speak of the step as it is asked for, and are the only ones that may rule a way
out: what an action rule forbids is no evidence that it is not so.  That no rule tells the two worlds
apart is a state of its own and not a zero.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from wb.logic import automaton
from wb.logic import formula as F
from wb.logic.automaton import AutomatonError
from wb.logic.formula import Formula
from wb.logic.objects import Slices, Told
from wb.rules import residual
from wb.rules.rule import Rule, RuleSet
from wb.shield import elimination
from wb.shield.conformal import NOWHERE, Zone
from wb.shield.elimination import WIDTH, Algebra, Table, TooWide

Certainty = Literal["decisive", "indecisive", "undecided", "contradictory"]
HARD = math.inf
FIRST = {"hard": HARD, "learned": 1.0, "soft": 0.5}  # weights before anything is learned
PLACES = 1 << WIDTH  # states and letters that an automaton is followed through at once; with more it may be anywhere
WORKED = 1 << 10  # of one whose entries are worked out when they are read, at some microseconds each
ROUNDING = 1e-12  # of D: bounds that are nearer to each other are one number
NONE: Mapping[str, Any] = MappingProxyType({})


class Kept(NamedTuple):
    """Whether a rule is kept when the action is taken, and when it is not, all else equal."""

    taken: bool
    left: bool


@dataclass(frozen=True, slots=True)
class Circuit:
    """The rules that speak of one action, each with a weight >= 0; a weight of `HARD` admits no breach.

    `laws` are its physical rules, which have no weight: a step that breaks one does not occur.
    """

    action: str
    rules: tuple[Rule, ...]
    weights: tuple[float, ...]
    laws: tuple[Rule, ...] = ()

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
    unknown could change D), contradictory (hard rules forbid both worlds, or physical rules all that may
    be so).  `violated` are the rules surely broken by taking the action and kept by leaving it,
    `unknown` those that fare in several ways.  `wide`: too many unknowns hang together, and the bounds
    are those of rules that are independent of one another, never too narrow.  `impossible`: contradictory by
    physical rules.
    """

    low: float
    high: float
    state: Certainty
    violated: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    wide: bool = False
    impossible: bool = False


def build(
    ruleset: RuleSet, by_action: Mapping[str, Sequence[str]], weights: Mapping[str, Mapping[str, float]] | None = None
) -> dict[str, Circuit]:
    """The circuit of every action, from the ids of its rules (`cluster.by_action`) and its weights by rule id.

    Each circuit has weights of its own (theta_a); a rule without one weighs what its force says (`FIRST`), a hard rule
    always, a soft rule no more than that, and a physical rule has none.
    """
    rules = {rule.id: rule for rule in ruleset.rules}
    found = {}
    for action, ids in by_action.items():
        mine = tuple(rules[i] for i in ids if rules[i].type == "action")
        weighed = (weights or {}).get(action, {})
        laws = tuple(rules[i] for i in ids if rules[i].type == "physical")
        own = tuple(_weight(r, weighed) for r in mine)
        found[action] = Circuit(action, mine, own, laws)
    return found


def _weight(rule: Rule, weighed: Mapping[str, float]) -> float:
    """What a rule weighs: a hard one more than anything, a soft one at most what it weighed at first, whatever was
    learned, so that none denies alone."""
    if rule.force == "hard":
        return HARD
    weight = weighed.get(rule.id, FIRST[rule.force])
    return min(weight, FIRST["soft"]) if rule.force == "soft" else weight


def placed(
    ruleset: RuleSet, weights: Mapping[str, Mapping[str, float]], laws: Mapping[str, Sequence[str]]
) -> dict[str, Circuit]:
    """The circuits of those weights and physical rules, by action, where they hold what Alg. 3 puts into them.

    Whatever its clusters are, no two state predicates of one rule are parted: with the rules of an action come all that
    share a state predicate with one of them, and so on.

    Raises:
        ValueError: a circuit leaves out such a rule, holds one that is not there or of the other type, or a physical
            rule binds what is done to what is so.
    """
    known, kinds = {rule.id: rule for rule in ruleset.rules}, {p.name: p.kind for p in ruleset.predicates}
    for of, type_ in ((weights, "action"), (laws, "physical")):
        for action, row in of.items():
            strange = sorted(i for i in row if i not in known or known[i].type != type_)
            if strange or kinds.get(action) != "action" or action not in weights:
                raise ValueError(
                    f"a circuit of an act, of {type_} rules of the file, was required; got {action}: {strange}"
                )
    mixed = [r.id for r in ruleset.rules if r.type == "physical" and len({kinds[name] for name in r.predicates}) > 1]
    if mixed:
        raise ValueError(f"physical rules that bind facts or acts to each other were required; got {mixed}")
    by_action = {action: (*row, *laws.get(action, ())) for action, row in weights.items()}
    for action in (name for name, kind in kinds.items() if kind == "action"):
        mine = set(by_action.get(action, ()))
        names = {name for i in mine for name in known[i].predicates if kinds[name] == "state"} | {action}
        if lost := [r.id for r in ruleset.rules if r.id not in mine and not names.isdisjoint(r.predicates)]:
            raise ValueError(f"all rules that bear on {action} were required in its circuit; it leaves out {lost}")
    return build(ruleset, by_action, weights)


@dataclass(frozen=True, slots=True)
class Monitor:
    """An automaton of a rule: `rows[state][letter]` is the next state, `kept[state]` whether the rule is kept there.

    Bit i of a letter is the truth of `names[i]`.  A rule that asks something of each step by itself is kept at a step
    that does it, whatever was broken before; any other one unless it is permanently violated.  Without `memory` each
    step is judged by itself alone.  `places` bounds the pairs of a state and a letter that are read at once.
    """

    names: tuple[str, ...]
    rows: Sequence[Sequence[int]]
    kept: Sequence[bool]
    memory: bool = True
    places: int = PLACES


SEEN = 1024  # ways in which a rule fared that are kept


@dataclass(frozen=True, slots=True)
class _Worked:
    """A table whose entries are worked out when they are read."""

    entry: Callable[[int], Any]

    def __getitem__(self, key: int) -> Any:
        return self.entry(key)


def automata(rules: Iterable[Rule]) -> dict[str, Monitor | None]:
    """Each rule's automaton by rule id; None for one about objects, which has `Slices`, and for one beyond an
    automaton's limits that speaks of later steps or of windows in time, which stays undecided."""
    return {rule.id: None if objects(rule.formula) else _compiled(rule.formula) for rule in rules}


def _compiled(formula: Formula) -> Monitor | None:
    each = residual.each_step(formula)
    if each is not None and len(F.atoms(each)) > automaton.MAX_TESTS:
        return _remembering(each)
    try:
        made = automaton.compile(formula if each is None else F.Eventually(F.And(each, F.Not(F.Next(F.TRUE)))))
    except AutomatonError:
        return None if each is None else _remembering(each)
    if each is not None:
        return Monitor(made.names, made.rows, made.accepting, _remembers(each))
    kept = tuple([verdict is not False for verdict in made.settled])
    return (
        Monitor(made.names, made.rows, kept)
        if not made.tests
        else Monitor(made.names, _through(made), kept, places=WORKED)
    )


def _through(made: automaton.Automaton) -> Sequence[Sequence[int]]:
    """The rows of an automaton that reads tests of many predicates, by what is true of the predicates."""

    def then(row: Sequence[int], letter: int) -> int:
        return row[made.letter({name for i, name in enumerate(made.names) if letter >> i & 1})]

    return [_Worked(partial(then, row)) for row in made.rows]


def _remembering(body: Formula) -> Monitor | None:
    """The automaton of a formula of the past over any number of predicates: its states are the truths of what is
    remembered, worked out when they are reached; None where windows in time are among it."""
    try:
        read = automaton.program(body)
    except AutomatonError:
        return None
    names, size = tuple(read.atoms), len(read.past)

    def then(state: int, letter: int) -> int:
        beside = [state >> size - i & 1 for i in range(size)]  # the last is slot ~0
        out = automaton.evaluate(read.code, [letter >> i & 1 for i in range(len(names))], beside, 1)
        now = sum((out[place] ^ negated) << i for i, (place, negated) in enumerate(read.past))
        return now << 1 | out[-1]

    rows = _Worked(lambda state: _Worked(partial(then, state)))
    return Monitor(names, rows, _Worked(lambda state: state & 1 == 1), size > 0, WORKED)


def _remembers(body: Formula) -> bool:
    return any(isinstance(node, F.PAST) for node in F.subformulas(body))


def objects(formula: Formula) -> bool:
    """Whether an atom of the formula names objects."""
    return any("(" in name for name in F.atoms(formula))


START = frozenset((0,))  # where every automaton is before the first step
ANYWHERE: frozenset[int] = frozenset()  # where one may be of which too much is unknown
ANY = frozenset((Kept(True, True), Kept(False, True), Kept(True, False)))


@dataclass(frozen=True, eq=False, slots=True)
class Factor:
    """How a rule may fare for each way to fill in the unknowns in `scope`, in their order.

    An unknown is named after its predicate, and `NAME if left` where it is another truth when the action is left.
    """

    scope: tuple[str, ...]
    rows: Mapping[tuple[bool, ...], frozenset[Kept]]

    @property
    def outcomes(self) -> frozenset[Kept]:
        """All the ways in which it may fare."""
        return frozenset().union(*self.rows.values())


Fares = frozenset[Kept] | Factor


def outcomes(machine: Monitor | None, action: str, steps: Sequence[Mapping[str, bool | None]]) -> frozenset[Kept]:
    """How a rule may fare when the action is taken, or left, at the last of the steps.

    A step maps predicates to True, False or None; what is None or absent may be either, at each step
    anew.  A rule is *kept* unless this step breaks it, or one that speaks of later steps is permanently violated: what
    a later step can still mend (RV-LTL's "currently false") is no breach yet.
    """
    found = fares(machine, action, steps)
    return found.outcomes if isinstance(found, Factor) else found


def fares(machine: Monitor | None, action: str, steps: Sequence[Mapping[str, bool | None]]) -> Fares:
    """`outcomes`, by what is not known of the last step where that matters."""
    states = START
    for step in steps[:-1]:
        states = advanced(machine, states, step)
    return faring(machine, action, states, steps[-1])


def advanced(machine: Monitor | None, states: frozenset[int], step: Mapping[str, bool | None]) -> frozenset[int]:
    """Where the rule's automaton may be after the step, from where it may have been before it."""
    if machine is None:
        return states
    return _reached(machine, states, step) if machine.memory else START


def _reached(machine: Monitor, states: frozenset[int], step: Mapping[str, bool | None]) -> frozenset[int]:
    if _ways(machine.names, states, step) > machine.places:
        return ANYWHERE
    letters = _letters(machine.names, step)
    return frozenset([machine.rows[state][letter] for letter in letters for state in states])


def faring(
    machine: Monitor | None,
    action: str,
    states: frozenset[int],
    step: Mapping[str, bool | None],
    left: Mapping[str, bool | None] = NONE,
) -> Fares:
    """`fares` at a step, from where the rule's automaton may be before it.

    `left` are the other predicates that are another truth where the action is left: what else the same call does.
    """
    if machine is None or not states:
        return ANY
    rows, kept = machine.rows, machine.kept
    taken = without = 0
    unknown: dict[str, tuple[int, int]] = {}  # the bits of each, with the action and without it
    for i, name in enumerate(machine.names):
        here, bit = True if name == action else step.get(name), 1 << i
        own = name in left or name == action
        there = False if name == action else left.get(name, here)
        if here is None:
            unknown[name] = (bit, 0 if own else bit)
        if own and there is None:
            unknown[f"{name} if left"] = (0, bit)
        taken |= bit if here else 0
        without |= bit if there else 0
    if len(unknown) > WIDTH or len(states) << len(unknown) > machine.places:
        return ANY
    found = {}
    for values in product((False, True), repeat=len(unknown)):
        one, other = taken, without
        for (a, b), true in zip(unknown.values(), values, strict=True):
            if true:
                one, other = one | a, other | b
        found[values] = frozenset([Kept(kept[rows[state][one]], kept[rows[state][other]]) for state in states])
    return _least(tuple(unknown), found)


def _least(scope: tuple[str, ...], rows: Mapping[tuple[bool, ...], frozenset[Kept]]) -> Fares:
    """The same without the unknowns that make no difference."""
    for name in scope:
        i = scope.index(name)
        if all(rows[v] == rows[(*v[:i], True, *v[i + 1 :])] for v in rows if not v[i]):
            rows = {(*v[:i], *v[i + 1 :]): found for v, found in rows.items() if not v[i]}
            scope = (*scope[:i], *scope[i + 1 :])
    return Factor(scope, rows) if scope else rows[()]


def _ways(names: Sequence[str], states: frozenset[int], step: Mapping[str, bool | None]) -> int:
    """The pairs of a state and a letter that a step may be."""
    return len(states) << sum([step.get(name) is None for name in names])


def _letters(names: Sequence[str], step: Mapping[str, bool | None]) -> tuple[int, ...]:
    """The letters that a step may be, one for every way to fill in its unknowns."""
    letters = (0,)
    for i, name in enumerate(names):
        value = step.get(name)
        bits = (0, 1 << i) if value is None else (value << i,)
        letters = tuple([letter | bit for letter in letters for bit in bits])
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
        if self.automaton is None:
            return (None,), memory
        step = dict(zip(self.names, letter, strict=True))
        kept = {self.automaton.kept[state] for state in _reached(self.automaton, memory, step)}
        return (kept.pop() if len(kept) == 1 else None,), advanced(self.automaton, memory, step)

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
            return ANY
        taken = sum(1 << i for i, name in enumerate(self.names) if F.Atom(name).predicate in acts)
        found = frozenset((Kept(True, True),))
        for memory, letter in slices.ways(step):
            mine = self._faring(taken, memory, dict(zip(self.names, letter, strict=True)))
            if mine != {Kept(False, False)} and any(one.taken != one.left for one in mine):
                found = frozenset([Kept(a.taken and b.taken, a.left and b.left) for a in found for b in mine])
        return found

    def _faring(self, taken: int, states: frozenset[int], step: Mapping[str, bool | None]) -> frozenset[Kept]:
        kept, rows = self.automaton.kept, self.automaton.rows
        if not states or _ways(self.names, states, step) > self.automaton.places:
            return ANY
        return frozenset(
            [
                Kept(kept[rows[state][letter]], kept[rows[state][letter & ~taken]])
                for letter in _letters(self.names, step)
                for state in states
            ]
        )


GAINS = {frozenset((Kept(a, b),)): int(a) - int(b) for a in (True, False) for b in (True, False)}
LAWFUL = {fares: 0 for fares in GAINS if all(one.taken for one in fares)}  # of a physical rule that is surely kept
AGAINST, FOR = 1, 2  # hard rules that only leaving the action keeps, or only taking it: D is infinite


def infer(circuit: Circuit, fares: Mapping[str, Fares], likely: Mapping[str, float] = NONE) -> Inference:
    """P1 - P0 of the circuit's action, from how each of its rules and physical rules may fare (by rule id).

    Exact by elimination of the unknowns that rules share: the least and largest tanh(D/2) over all ways to
    fill them in that keep the physical rules.  What is unknown of one rule alone (several outcomes for one
    way: of the steps before, or of objects) is filled in for each rule apart.  Beyond `WIDTH` unknowns that
    hang together the bounds are those of independent rules (`Inference.wide`).

    `likely` is soft evidence: the probability, 0..1, of unknown predicates, independent of one another
    unless physical rules bind them.  What it covers gives the expectation of tanh(D/2) given that the
    physical rules hold, instead of bounds (Jeffrey's rule: weights of rules say nothing of what is so).

    Raises:
        ValueError: no outcome is given for a rule, or a probability is not one.
    """
    missing = [rule.id for rule in (*circuit.rules, *circuit.laws) if not fares.get(rule.id)]
    if missing:
        raise ValueError(f"at least one outcome was required for rule {missing[0]!r}; got none")
    if strange := {name: p for name, p in likely.items() if not 0 <= p <= 1}:
        raise ValueError(f"probabilities in 0..1 were required; got {strange}")
    laws = [law for rule in circuit.laws if (law := _law(fares[rule.id])).scope or not law.rows]
    gains = {rule.id: GAINS.get(fares[rule.id]) for rule in circuit.rules}
    open_laws = any(fares[rule.id] == ANY for rule in circuit.laws)  # over too many unknowns to tell whether they hold
    if None not in gains.values() and not laws and not open_laws:
        return _closed(
            [(r.id, w, g) for r, w in zip(circuit.rules, circuit.weights, strict=True) if (g := gains[r.id])]
        )
    return _joint(circuit, fares, laws, likely, open_laws)


def _closed(apart: Sequence[tuple[str, float, int]]) -> Inference:
    """What a circuit says of which nothing is unknown: Eq. 4 has two worlds, and D is a sum over the rules that tell
    them apart (id, weight, and how much better it fares with the action taken)."""
    difference, hard = 0.0, 0
    for _, weight, gain in apart:
        if weight == HARD:
            hard |= (0, FOR, AGAINST)[gain]
        else:
            difference += weight * gain
    violated = tuple([name for name, _, gain in apart if gain == -1])
    if hard == AGAINST | FOR:
        return Inference(-1.0, 1.0, "contradictory", violated)
    value = relative((difference, -HARD, HARD)[hard])
    return Inference(value, value, "decisive" if apart else "indecisive", violated)


class Compiled:
    """A circuit compiled to tables: how each rule fares is looked up by where its automaton is and by what is true and
    what is not known of its predicates, as numbers, and worked out (`faring`) the first time.

    `places` say where in `at` each rule's states stand; `left` as of `faring`.
    """

    def __init__(
        self,
        circuit: Circuit,
        machines: Mapping[str, Monitor | None],
        places: Mapping[str, int],
        left: Mapping[str, bool | None] = NONE,
    ) -> None:
        self.circuit, self.left = circuit, left
        weighed = zip(circuit.rules, circuit.weights, strict=True)
        rules = [*((rule, weight, GAINS) for rule, weight in weighed), *((law, 0.0, LAWFUL) for law in circuit.laws)]
        named = {name for rule, *_ in rules for name in rule.predicates if name != circuit.action}
        self.bits = {name: 1 << i for i, name in enumerate(sorted(named))}
        self.rules = [
            (rule.id, *rest, places[rule.id], machines[rule.id], sum(self.bits.get(n, 0) for n in rule.predicates), {})
            for rule, *rest in rules
        ]

    def infer(
        self, at: Sequence[frozenset[int]], step: Mapping[str, bool | None], likely: Mapping[str, float] = NONE
    ) -> Inference:
        """What `infer` says of the step, from where the automata are."""
        true = unknown = 0
        for name, bit in self.bits.items():
            if value := step.get(name):
                true |= bit
            elif value is None:
                unknown |= bit
        fares, apart, sure = {}, [], True
        for name, weight, gains, place, machine, mask, seen in self.rules:
            key = at[place], true & mask, unknown & mask
            found = seen.get(key)
            if found is None:
                one = faring(machine, self.circuit.action, at[place], step, self.left)
                found = one, gains.get(one)
                if len(seen) < SEEN:
                    seen[key] = found
            fares[name], gain = found
            if gain:
                apart.append((name, weight, gain))
            elif gain is None:
                sure = False
        return _closed(apart) if sure else infer(self.circuit, fares, likely)


def _joint(
    circuit: Circuit, fares: Mapping[str, Fares], laws: list[Table], likely: Mapping[str, float], open_laws: bool
) -> Inference:
    factors = {rule.id: _factor(fares[rule.id]) for rule in circuit.rules}
    tables = [(factors[r.id], w) for r, w in zip(circuit.rules, circuit.weights, strict=True)]
    possible, consistent = {i: _gains(one.outcomes) for i, one in factors.items()}, _consistent(laws)
    if consistent is False:
        return Inference(-1.0, 1.0, "contradictory", impossible=True)
    consistent = None if open_laws else consistent
    near, wide = laws if likely else _touching(laws, factors.values()), consistent is None
    try:
        possible = {i: _lawful(one, near) if len(possible[i]) > 1 else possible[i] for i, one in factors.items()}
        bounds = [_bound(tables, near, likely, pick) for pick in (min, max)]
    except TooWide:
        wide, alone = True, [(_factor(one.outcomes), w) for one, w in tables]
        bounds = [_bound(alone, [], NONE, pick) for pick in (min, max)]
    if consistent is None and None not in bounds:
        bounds[0] = -1.0  # what is known may be against the laws, which allows nothing
    violated = tuple([name for name, found in possible.items() if found == {-1}])
    unknown = tuple([name for name, found in possible.items() if len(found) > 1])
    low, high = bounds
    if low is None or high is None:
        return Inference(-1.0, 1.0, "contradictory", violated, unknown, wide)
    if high - low < ROUNDING:
        known: Certainty = "indecisive" if all(found == {0} for found in possible.values()) else "decisive"
        return Inference(low, low, known, violated, unknown, wide)
    return Inference(low, high, "undecided", violated, unknown, wide)


def _consistent(laws: Sequence[Table]) -> bool | None:
    """Whether the physical rules leave anything possible; None where too many unknowns hang together to tell."""
    if any(all((true,) * len(law.scope) in law.rows for law in laws) for true in (False, True)):
        return True
    try:
        return bool(elimination.eliminate(laws, LEAST).rows)
    except TooWide:
        return None


def _touching(laws: Sequence[Table], factors: Iterable[Factor]) -> list[Table]:
    """The physical rules that share an unknown with a rule, or with another one that does."""
    names = {name for one in factors for name in one.scope}
    while more := {n for law in laws if not names.isdisjoint(law.scope) for n in law.scope} - names:
        names |= more
    return [law for law in laws if not names.isdisjoint(law.scope)]


def _bound(
    tables: Sequence[tuple[Factor, float]], laws: list[Table], likely: Mapping[str, float], pick: Callable
) -> float | None:
    """The least (`min`) or largest (`max`) P1 - P0 of all that may be so; None where hard rules contradict in it all.

    Where they contradict in a part of it, either world may be the one, and the bound is -1 or 1.
    """
    unknown = sorted({n for one, _ in tables for n in one.scope} | {n for law in laws for n in law.scope})
    chances = [_chance(name, likely[name]) for name in unknown if name in likely]
    if not chances:
        rows = [Table(one.scope, {v: _best(g, w, pick) for v, g in one.rows.items()}) for one, w in tables]
        found = elimination.eliminate([*rows, *laws], LEAST if pick is min else MOST).rows.get((), {})
        values = [_value(hard, d, pick) for hard, d in found.items()]
        return pick(values) if found.keys() - {AGAINST | FOR} else None
    rest = tuple([name for name in unknown if name not in likely])
    masses = [Table(one.scope, {v: _mass(g, w, pick) for v, g in one.rows.items()}) for one, w in tables]
    given = [Table(law.scope, {v: {(0, 0.0): 1.0} for v in law.rows}) for law in laws]
    found = elimination.eliminate([*masses, *given, *chances], MASS, keep=rest).rows.values()
    sums = [(one, sum(one.values())) for one in found]
    means = [sum(p * _value(*key, pick) for key, p in one.items()) / total for one, total in sums if total > 0]
    consistent = any(key[0] != AGAINST | FOR and p > 0 for one in found for key, p in one.items())
    return pick(means) if consistent else None


def _joined(one: tuple[int, float], other: tuple[int, float]) -> tuple[int, float]:
    return one[0] | other[0], round(one[1] + other[1], 12)


MASS = Algebra(_joined, operator.mul, operator.add, {(0, 0.0): 1.0})
LEAST, MOST = (Algebra(operator.or_, operator.add, pick, {0: 0.0}) for pick in (min, max))


def _value(hard: int, difference: float, pick: Callable) -> float:
    return pick(-1.0, 1.0) if hard == AGAINST | FOR else relative((difference, -HARD, HARD)[hard])


def _best(outcomes: frozenset[Kept], weight: float, pick: Callable) -> dict[int, float]:
    """The hard rules' part and the other part of D for one way to fill in a rule's unknowns."""
    gains = _gains(outcomes)
    return {(0, FOR, AGAINST)[g]: 0.0 for g in gains} if weight == HARD else {0: weight * pick(gains)}


def _mass(outcomes: frozenset[Kept], weight: float, pick: Callable) -> dict[tuple[int, float], float]:
    """The same as a mass of 1 on what D gets from the rule; of several outcomes the one that is the bound's."""
    gain = pick(_gains(outcomes))
    return {((0, FOR, AGAINST)[gain], 0.0): 1.0} if weight == HARD else {(0, weight * gain): 1.0}


def _chance(name: str, probability: float) -> Table:
    return Table((name,), {(True,): {(0, 0.0): probability}, (False,): {(0, 0.0): 1.0 - probability}})


def ways(circuit: Circuit, fares: Mapping[str, Fares], likely: Mapping[str, Any] = NONE) -> dict[tuple[int, ...], Any]:
    """How the rules may fare together: by the difference of each (kept if the action is taken minus if it is left, -1,
    0 or 1) the probability, given that the physical rules hold.  Empty where what is not likely to a known degree
    matters, or physical rules leave nothing possible.

    `likely` holds probabilities as of `infer`, or an array of them for each unknown, of as many steps: then so do the
    results, nan where nothing is possible.  The rules' weights play no part, so that weights can be learned from it.

    Raises:
        TooWide: more than `WIDTH` unknowns hang together.
    """
    laws = [
        Table(law.scope, {v: {0: 1.0} for v in law.rows}) for rule in circuit.laws for law in [_law(fares[rule.id])]
    ]
    tables, base = [], 0
    for i, rule in enumerate(circuit.rules):
        one = _factor(fares[rule.id])
        rows = {v: _gains(found) for v, found in one.rows.items()}
        if any(len(gains) > 1 for gains in rows.values()):
            return {}
        codes = {v: (min(gains) + 1) * 3**i for v, gains in rows.items()}
        if len(set(codes.values())) == 1:
            base += next(iter(codes.values()))
        else:
            tables.append(Table(one.scope, {v: {code: 1.0} for v, code in codes.items()}))
    names = {name for table in (*tables, *laws) for name in table.scope}
    if names - likely.keys():
        return {}
    chances = [Table((n,), {(True,): {0: likely[n]}, (False,): {0: 1.0 - likely[n]}}) for n in sorted(names)]
    found = elimination.eliminate([*tables, *laws, *chances], CODES).rows.get((), {})
    total = sum(found.values())
    if isinstance(total, float | int) and not total:
        return {}
    return {_decoded(base + code, len(circuit.rules)): p / total for code, p in found.items()}


def expectation(circuit: Circuit, fares: Mapping[str, Fares], likely: Mapping[str, Any]) -> Any:
    """P1 - P0 over soft evidence, as `infer` has it where that covers all that matters; of many steps at once where
    `likely` holds arrays.  None as `ways` is empty, nan where hard or physical rules contradict.

    Raises:
        TooWide: more than `WIDTH` unknowns hang together, or rules may fare in more than 2 ** `WIDTH` ways.
    """
    found = ways(circuit, fares, likely)
    sums = {row: sum(w * gain for w, gain in zip(circuit.weights, row, strict=True) if gain) for row in found}
    return sum(p * relative(sums[row]) for row, p in found.items()) if found else None


CODES = Algebra(operator.add, operator.mul, operator.add, {0: 1.0})  # of a rule's difference a digit to the base 3


def _decoded(code: int, rules: int) -> tuple[int, ...]:
    return tuple([code // 3**i % 3 - 1 for i in range(rules)])


def _law(fares: Fares) -> Table:
    """The ways to fill in a physical rule's unknowns in which it is kept at the step as it is asked for."""
    one = _factor(fares)
    kept = {v: {0: 0.0} for v, found in one.rows.items() if any(o.taken for o in found)}
    return Table(one.scope, kept)


def _factor(fares: Fares) -> Factor:
    return fares if isinstance(fares, Factor) else Factor((), {(): fares})


def _gains(outcomes: Iterable[Kept]) -> frozenset[int]:
    """How much better a rule may fare with the action taken: -1, 0 or 1."""
    return frozenset([int(o.taken) - int(o.left) for o in outcomes])


def _lawful(one: Factor, laws: list[Table]) -> frozenset[int]:
    """The gains of a rule that the physical rules leave possible."""
    free = Table(one.scope, dict.fromkeys(one.rows, {0: 0.0}))
    left = elimination.eliminate([*laws, free], LEAST, keep=one.scope)
    order = [left.scope.index(name) for name in one.scope]
    return _gains(o for v in left.rows for o in one.rows[tuple([v[i] for i in order])])


def relative(difference: float) -> float:
    """P1 - P0 = tanh(D/2) of two worlds whose log-weights differ by D; -1 or 1 for an infinite D."""
    return math.tanh(difference / 2)


def safe(inference: Inference, epsilon: float = 0.0, zone: Zone = NOWHERE) -> bool | None:
    """Eq. 5: whether P1 - P0 >= epsilon, or as a zone has it; None where an unknown decides it, hard rules contradict
    or the zone decides nothing.

    Without a decisive rule the difference is 0, so that any epsilon <= 0 permits.
    """
    if not -1 <= epsilon <= 1:
        raise ValueError(f"epsilon bounds a difference of probabilities and must be in -1..1; got {epsilon}")
    return None if inference.state == "contradictory" else zone.safe(inference.low, inference.high, epsilon)


def lightest(epsilon: float) -> float:
    """The weight that a rule must exceed to deny alone: where -tanh(w/2) = epsilon; 0 for an epsilon of 0 or more."""
    return HARD if epsilon <= -1 else 2 * math.atanh(-epsilon) if epsilon < 0 else 0.0
