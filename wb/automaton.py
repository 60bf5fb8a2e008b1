"""From a formula of past and future to its minimal deterministic automaton on finite traces.

The automaton of `backward` is turned around: a state is the set of backward states from which the
rest of the trace would satisfy the formula, which makes the result minimal by construction
(Brzozowski 1962).  Past subformulas are remembered forwards, as bits of the state, and equal states
are merged (Moore 1956).

A letter is a step seen through at most `MAX_TESTS` tests: bit i is the truth of test i.  The tests of
a formula with few predicates are its predicates; of one with many its largest propositional parts.
"""
from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from wb import backward, steps
from wb import formula as F
from wb.backward import AutomatonError, Program
from wb.formula import Formula

__all__ = ["Automaton", "AutomatonError", "compile", "reader"]

MAX_TESTS = 8  # predicates, or propositional parts
MAX_STATES = 5000

Rows = Sequence[Sequence[int]]


@dataclass(frozen=True)
class Automaton:
    """State 0 is where a trace starts; `rows[state][letter]` is the next state.

    `accepting[state]` says whether a trace that ends there satisfies the formula (False in state 0
    before the first step: traces have at least one).  Bit i of a letter is the truth of `tests[i]`,
    which is the predicate `names[i]` unless there are more than `MAX_TESTS` of them.
    """

    names: tuple[str, ...]
    rows: tuple[tuple[int, ...], ...]
    accepting: tuple[bool, ...]
    tests: tuple[Formula, ...] = ()

    @property
    def inputs(self) -> tuple[Formula, ...]:
        """The propositional test of each bit of a letter."""
        return self.tests or tuple(F.Atom(name) for name in self.names)

    @cached_property
    def letter(self) -> Callable[[Collection[str]], int]:
        """The function from a step (a set of predicate names) to its letter."""
        return reader(self.inputs)

    def accepts(self, trace: Sequence[Collection[str]]) -> bool:
        """Whether a non-empty trace satisfies the formula."""
        state, letter = 0, self.letter
        for step in trace:
            state = self.rows[state][letter(step)]
        return self.accepting[state]

    @cached_property
    def settled(self) -> tuple[bool | None, ...]:
        """For each state the verdict that every longer trace has too, None where it can still change."""
        sinks = {q: self.accepting[q] for q, row in enumerate(self.rows) if all(then == q for then in row)}
        nexts = {sinks.get(then) for then in self.rows[0]}
        return (nexts.pop() if len(nexts) == 1 else None, *(sinks.get(q) for q in range(1, len(self.rows))))


def compile(formula: Formula, names: Sequence[str] | None = None) -> Automaton:
    """The minimal automaton of a formula, over its own predicates (sorted) or over the given ones.

    Two formulas with the same meaning over the same names, at most `MAX_TESTS`, have equal automata.
    `AutomatonError` beyond `MAX_TESTS` tests or `MAX_STATES` states.
    """
    program = backward.program(formula)
    names = tuple(sorted(program.atoms)) if names is None else tuple(names)
    missing = set(program.atoms).difference(names)
    if missing:
        raise ValueError(f"names must hold every predicate of the formula; {sorted(missing)} are missing from {names}")
    if len(names) > MAX_TESTS:
        return _abstract(formula, names)
    rows, accepting = _guessed(formula, names) if program.mixed else _explicit(program, names)
    return Automaton(names, rows, accepting)


def reader(tests: Sequence[Formula]) -> Callable[[Collection[str]], int]:
    """A function from a step to its letter: bit i says whether the propositional test i holds there."""
    names = tuple(dict.fromkeys(name for test in tests for name in F.atoms(test)))
    shown = {F.Not: "(not {})", F.And: "({} and {})", F.Or: "({} or {})", F.Xor: "({} != {})", F.Implies: "({1} or not {0})",
             F.Iff: "({} == {})"}

    def show(node: Formula, parts: tuple[str, ...]) -> str:
        if isinstance(node, F.Atom):
            return f"(n{names.index(node.name)} in s)"
        return str(node.value) if isinstance(node, F.Constant) else shown[type(node)].format(*parts)

    body = "|".join(f"({F.fold(test, show)}<<{i})" for i, test in enumerate(tests)) or "0"
    held = ",".join(f"n{i}=names[{i}]" for i in range(len(names)))
    return eval(f"lambda s{',' + held if held else ''}: {body}", {"names": names})


def _explicit(program: Program, names: tuple[str, ...]) -> tuple[tuple[tuple[int, ...], ...], tuple[bool, ...]]:
    """Rows and accepting states of an unmixed formula over its predicates."""
    width = 1 << len(names)
    moves, vectors = backward.moves(program, names)
    classes = [(1 << width) - 1]
    for blocks in moves.values():
        if len(blocks) > 1:
            classes = [both for one in classes for part in blocks.values() if (both := one & part)]
    if len(classes) > 1:
        classes.sort(key=lambda letters: letters & -letters)  # so that states are numbered in one way
    narrow, accepting = _forward(program, moves, vectors, classes)
    if program.past:
        narrow, accepting = _merged(narrow, accepting)
    column = [0] * width
    for i, letters in enumerate(classes):
        while letters:
            low = letters & -letters
            column[low.bit_length() - 1] = i
            letters ^= low
    return tuple([tuple([row[i] for i in column]) for row in narrow]), accepting


def _forward(program: Program, moves: dict, vectors: list[int], classes: list[int]) -> tuple[list[list[int]], tuple[bool, ...]]:
    """Rows over letter classes and accepting states: a state is a set of vectors and the bits of the past."""
    ahead, behind = len(program.future), len(program.past)
    root, memory = 1 << ahead + behind, (1 << behind) - 1 << ahead
    index = {vector: i for i, vector in enumerate(vectors) if i}
    start = (sum([1 << i for i, vector in enumerate(vectors) if i and vector & root]), 0)
    found, order, rows = {start: 0}, [start], []
    steps_of: dict[int, list[tuple[int, list[int]]]] = {}
    for good, past in order:
        if past not in steps_of:
            steps_of[past] = [_column(moves, past, letters, len(vectors), memory, index) for letters in classes]
        row = []
        for then, backs in steps_of[past]:
            now = 0
            for bit, back in backs:
                if good & back:
                    now |= bit
            state = (now, then)
            if state not in found:
                found[state] = len(order)
                order.append(state)
            row.append(found[state])
        rows.append(row)
        if len(order) > MAX_STATES:
            raise AutomatonError(f"an automaton has at most {MAX_STATES} states; the formula needs more")
    return rows, tuple([good & 1 == 1 for good, _ in order])


def _column(moves: dict, past: int, letters: int, count: int, memory: int, index: dict[int, int]) -> tuple[int, list[tuple[int, int]]]:
    """One class of letters: the past bits after it, and for each vector later (as a bit) the vector now (as a bit)."""
    backs = []
    for i in range(count):
        for now, block in moves[past, i].items():
            if block & letters:
                backs.append((1 << i, 1 << index[now & ~memory]))
                break
    return now & memory, backs


def _merged(rows: Rows, accepting: Sequence[bool]) -> tuple[list[list[int]], tuple[bool, ...]]:
    """The same automaton with equal states merged (Moore 1956), numbered in the order of their letters."""
    group = [int(yes) for yes in accepting]
    count = 0
    while count != len(set(group)):
        count = len(set(group))
        seen: dict[tuple, int] = {}
        group = [seen.setdefault((group[q], *[group[then] for then in row]), len(seen)) for q, row in enumerate(rows)]
    found, order = {group[0]: 0}, [0]
    out: list[list[int]] = []
    for q in order:
        for then in rows[q]:
            if group[then] not in found:
                found[group[then]] = len(order)
                order.append(then)
        out.append([found[group[then]] for then in rows[q]])
    return out, tuple(accepting[q] for q in order)


def _guessed(formula: Formula, names: tuple[str, ...]) -> tuple[tuple[tuple[int, ...], ...], tuple[bool, ...]]:
    """Rows and accepting states of a formula that looks ahead below a past operator.

    What lies ahead is guessed by a letter of its own, required to be right, and projected away.
    """
    guesses: dict[Formula, Formula] = {}

    def guess(node: Formula, parts: tuple[Formula, ...]) -> Formula:
        if not isinstance(node, F.PAST):
            return F.rebuild(node, parts)
        return F.rebuild(node, tuple(_named(part, guesses, names, "guess") if _looks_ahead(part) else part for part in parts))

    main = F.fold(formula, guess)
    checked = F.conjunction((main, *(F.Always(F.Iff(name, part)) for part, name in guesses.items())))
    everything = (*names, *(name.name for name in guesses.values()))
    rows, accepting = _explicit(backward.program(checked), everything)
    return _projected(rows, accepting, 1 << len(names))


def _looks_ahead(formula: Formula) -> bool:
    return any(isinstance(node, F.FUTURE) for node in F.subformulas(formula))


def _named(part: Formula, known: dict[Formula, Formula], taken: Collection[str], stem: str) -> Formula:
    """The predicate that stands for a part, a new one where it has none yet."""
    if part not in known:
        count = len(known)
        while f"{stem}{count}" in taken:
            count += len(taken) + 1
        known[part] = F.Atom(f"{stem}{count}")
    return known[part]


def _projected(rows: Rows, accepting: Sequence[bool], letters: int) -> tuple[tuple[tuple[int, ...], ...], tuple[bool, ...]]:
    """The automaton that forgets all but the first letters, by the subset construction."""
    dead = {q for q, row in enumerate(rows) if q and not accepting[q] and all(then == q for then in row)}
    start = frozenset([0])
    found, order, out = {start: 0}, [start], []
    for subset in order:
        row = []
        for letter in range(letters):
            nexts = frozenset(then for q in subset for then in rows[q][letter::letters]) - dead
            if nexts not in found:
                found[nexts] = len(order)
                order.append(nexts)
            row.append(found[nexts])
        out.append(row)
        if len(order) > MAX_STATES:
            raise AutomatonError(f"an automaton has at most {MAX_STATES} states; the formula needs more")
    merged, yes = _merged(out, [any(accepting[q] for q in subset) for subset in order])
    return tuple(map(tuple, merged)), yes


def _abstract(formula: Formula, names: tuple[str, ...]) -> Automaton:
    """The automaton whose letters are the truths of the largest propositional parts of the formula."""
    parts: dict[Formula, Formula] = {}

    def cut(node: Formula, below: tuple[tuple[Formula, bool], ...]) -> tuple[Formula, bool]:
        """The node with its propositional operands named, unless it is propositional itself."""
        if all(plain for _, plain in below) and not isinstance(node, F.PAST + F.FUTURE):
            return node, True
        return F.rebuild(node, tuple(_named(part, parts, (), "part") if plain and not isinstance(part, F.Constant) else part
                                     for part, plain in below)), False

    main, plain = F.fold(formula, cut)
    main = _named(main, parts, (), "part") if plain else main
    if len(parts) > MAX_TESTS:
        raise AutomatonError(f"an automaton reads at most {MAX_TESTS} predicates or propositional parts; "
                             f"got {len(names)} predicates in {len(parts)} parts: split the rule")
    try:
        possible = steps.possible(parts)
    except steps.StepsError as error:
        raise AutomatonError(str(error)) from None
    inner = compile(main, tuple(name.name for name in parts.values()))
    least = min(possible)
    rows = [[row[letter if letter in possible else least] for letter in range(len(row))] for row in inner.rows]
    merged, accepting = _merged(rows, inner.accepting)
    return Automaton(names, tuple(map(tuple, merged)), accepting, tuple(parts))
