"""From a formula of past and future to its minimal deterministic automaton on finite traces.

The truth of all future subformulas at a step follows from the step and from their truth at the next one
(De Giacomo & Vardi, IJCAI 2013, Sec. 3: the alternating automaton, its transitions made explicit), which
gives a deterministic automaton that reads a trace from its end.  Every operator is evaluated once, as one
integer, for all letters and all truths of its neighbours together.  Turned around, a state is the set of
backward states from which the rest of the trace would satisfy the formula, which makes the result minimal
by construction (Brzozowski 1962).  Past subformulas are remembered forwards, as bits of the state, and
equal states are merged (Moore 1956).

A letter is a step seen through at most `MAX_TESTS` tests: bit i is the truth of test i.  The tests of
a formula with few predicates are its predicates; of one with many its largest propositional parts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from wb.logic import bdd
from wb.logic import formula as F
from wb.logic.formula import Formula

MAX_INPUTS = 18  # tests and temporal operators together: tables have 2 to that power bits
MAX_MOVES = 5000

ATOM, CONSTANT, NOT, NEXT, WEAK_NEXT, EVENTUALLY, ALWAYS, AND, OR, XOR, IMPLIES, IFF, UNTIL, RELEASE, WEAK_UNTIL = (
    range(15)
)
# instruction, and for a temporal one which truth is tracked from step to step, so that False is its value beyond
# the end: of the operand or of the formula itself, and whether of its negation
CODES = {
    F.Atom: (ATOM, "", False),
    F.Constant: (CONSTANT, "", False),
    F.Not: (NOT, "", False),
    F.And: (AND, "", False),
    F.Or: (OR, "", False),
    F.Xor: (XOR, "", False),
    F.Implies: (IMPLIES, "", False),
    F.Iff: (IFF, "", False),
    F.Next: (NEXT, "body", False),
    F.WeakNext: (WEAK_NEXT, "body", True),
    F.Eventually: (EVENTUALLY, "self", False),
    F.Always: (ALWAYS, "self", True),
    F.Until: (UNTIL, "self", False),
    F.Release: (RELEASE, "self", True),
    F.WeakUntil: (WEAK_UNTIL, "self", True),
    F.Previously: (NEXT, "body", False),
    F.Once: (EVENTUALLY, "self", False),
    F.Historically: (ALWAYS, "self", True),
    F.Since: (UNTIL, "self", False),
}


class AutomatonError(ValueError):
    """The formula needs more tests or states than an explicit automaton may have."""


class Instructions(NamedTuple):
    """A formula as instructions on tables, operands first: instruction i writes register i.

    A table is an integer with a bit for every letter together with every truth of the tracked
    registers one step later (`future`) or earlier (`past`), each (register, whether negated).
    """

    code: list[tuple[int, int, int, int]]
    atoms: dict[str, int]
    future: list[tuple[int, bool]]
    past: list[tuple[int, bool]]
    mixed: bool


def program(formula: Formula) -> Instructions:
    """The instructions of a formula, one for each of its nodes."""
    code: list[tuple[int, int, int, int]] = []
    atoms: dict[str, int] = {}
    future: list[tuple[int, bool]] = []
    past: list[tuple[int, bool]] = []
    places: dict[int, int] = {}  # by identity: hashing a node costs more than evaluating it twice
    ahead: set[int] = set()
    mixed = False
    stack: list[tuple[Formula, bool]] = [(formula, False)]
    while stack:
        node, expanded = stack.pop()
        if id(node) in places:
            continue
        kind = type(node)
        if kind is F.Recently:
            raise AutomatonError("a window in time needs more states than an automaton has")
        op, tracks, negated = CODES[kind]
        if op > CONSTANT and not expanded:
            stack.append((node, True))
            stack += [(node.body, False)] if op < AND else [(node.right, False), (node.left, False)]
            continue
        place = places[id(node)] = len(code)
        if op <= CONSTANT:
            a = atoms.setdefault(node.name, len(atoms)) if op == ATOM else int(node.value)
            code.append((op, a, 0, 0))
            continue
        a = places[id(node.body if op < AND else node.left)]
        b = a if op < AND else places[id(node.right)]
        slot = 0
        if tracks:
            backward = kind in F.PAST
            mixed = mixed or (backward and (a in ahead or b in ahead))
            tracked = past if backward else future
            slot = ~len(past) if backward else len(future)
            tracked.append((a if tracks == "body" else place, negated))
        if (tracks and slot >= 0) or a in ahead or b in ahead:
            ahead.add(place)
        code.append((op, a, b, slot))
    return Instructions(code, atoms, future, past, mixed)


def evaluate(
    code: list[tuple[int, int, int, int]], letters: Sequence[int], beside: Sequence[int], full: int
) -> list[int]:
    """The table of every register, from those of the predicates and of the tracked truths one step beside."""
    out: list[int] = []
    for op, a, b, slot in code:
        if op == ATOM:
            value = letters[a]
        elif op == AND:
            value = out[a] & out[b]
        elif op == OR:
            value = out[a] | out[b]
        elif op == NOT:
            value = full ^ out[a]
        elif op == IMPLIES:
            value = full ^ out[a] | out[b]
        elif op == ALWAYS:
            value = out[a] & ~beside[slot]
        elif op == EVENTUALLY:
            value = out[a] | beside[slot]
        elif op == NEXT:
            value = beside[slot]
        elif op == UNTIL:
            value = out[b] | out[a] & beside[slot]
        elif op == WEAK_UNTIL:
            value = out[b] | out[a] & ~beside[slot]
        elif op == RELEASE:
            value = out[b] & (out[a] | full ^ beside[slot])
        elif op == WEAK_NEXT:
            value = full ^ beside[slot]
        elif op == CONSTANT:
            value = full if a else 0
        else:
            value = out[a] ^ out[b] ^ (full if op == IFF else 0)
        out.append(value)
    return out


def tables(count: int) -> list[int]:
    """For each of `count` inputs the table of the numbers below 2 ** count that have its bit."""
    full = (1 << (1 << count)) - 1
    return [full // ((1 << (1 << i)) + 1) << (1 << i) for i in range(count)]


def moves(read: Instructions, names: tuple[str, ...]) -> tuple[dict[tuple[int, int], dict[int, int]], list[int]]:
    """What every letter does: {(past bits before, index of a truth vector after): {bits now: letters}}.

    The bits now are those of the tracked registers, the past ones above the future ones, and on top
    that of the formula itself; a vector is the future ones and the formula's.  Vector 0 is the end.
    """
    count, ahead, behind = len(names), len(read.future), len(read.past)
    if count + ahead + behind > MAX_INPUTS:
        raise AutomatonError(
            f"an automaton is built from at most {MAX_INPUTS} predicates and temporal operators; "
            f"got {count + ahead + behind}"
        )
    inputs = tables(count + ahead + behind)
    whole = (1 << (1 << count + ahead + behind)) - 1
    values = evaluate(read.code, [inputs[names.index(name)] for name in read.atoms], inputs[count:], whole)
    tracked = [*read.future, *reversed(read.past), (-1, False)]
    kept = [(1 << i, values[place] ^ whole if negated else values[place]) for i, (place, negated) in enumerate(tracked)]
    width, full = 1 << count, (1 << (1 << count)) - 1
    here, memory = (1 << ahead) - 1, (1 << behind) - 1 << ahead
    vectors, pasts, seen = [0], [0], set()
    found: dict[tuple[int, int], dict[int, int]] = {}
    todo = [(0, 0)]
    while todo:
        past, index = todo.pop()
        place = (past | vectors[index] & here) * width
        blocks = {0: full}
        for bit, table in kept:
            blocks = _split(blocks, bit, table >> place & full)
        found[past, index] = blocks
        for now in blocks:
            if now & ~memory not in seen:
                seen.add(now & ~memory)
                todo += [(before, len(vectors)) for before in pasts]
                vectors.append(now & ~memory)
            if now & memory not in pasts:
                pasts.append(now & memory)
                todo += [(now & memory, i) for i in range(len(vectors))]
        if len(found) > MAX_MOVES:
            raise AutomatonError(
                f"an automaton is built from at most {MAX_MOVES} truth vectors; the formula has more: "
                "nest fewer operators"
            )
    return found, vectors


def _split(blocks: dict[int, int], bit: int, letters: int) -> dict[int, int]:
    """Every block of letters cut in two: the part in `letters` gets the bit."""
    out = {}
    for code, block in blocks.items():
        inside = block & letters
        if inside:
            out[code | bit] = inside
        if inside != block:
            out[code] = block ^ inside
    return out


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
    read = program(formula)
    names = tuple(sorted(read.atoms)) if names is None else tuple(names)
    missing = set(read.atoms).difference(names)
    if missing:
        raise ValueError(f"names must hold every predicate of the formula; {sorted(missing)} are missing from {names}")
    if len(names) > MAX_TESTS:
        return _abstract(formula, names)
    rows, accepting = _guessed(formula, names) if read.mixed else _explicit(read, names)
    return Automaton(names, rows, accepting)


def reader(tests: Sequence[Formula]) -> Callable[[Collection[str]], int]:
    """A function from a step to its letter: bit i says whether the propositional test i holds there."""
    names = tuple(dict.fromkeys(name for test in tests for name in F.atoms(test)))
    shown = {
        F.Not: "(not {})",
        F.And: "({} and {})",
        F.Or: "({} or {})",
        F.Xor: "({} != {})",
        F.Implies: "({1} or not {0})",
        F.Iff: "({} == {})",
    }

    def show(node: Formula, parts: tuple[str, ...]) -> str:
        if isinstance(node, F.Atom):
            return f"(n{names.index(node.name)} in s)"
        return str(node.value) if isinstance(node, F.Constant) else shown[type(node)].format(*parts)

    body = "|".join(f"({F.fold(test, show)}<<{i})" for i, test in enumerate(tests)) or "0"
    held = ",".join(f"n{i}=names[{i}]" for i in range(len(names)))
    return eval(f"lambda s{',' + held if held else ''}: {body}", {"names": names})


def _explicit(read: Instructions, names: tuple[str, ...]) -> tuple[tuple[tuple[int, ...], ...], tuple[bool, ...]]:
    """Rows and accepting states of an unmixed formula over its predicates."""
    width = 1 << len(names)
    table, vectors = moves(read, names)
    classes = [(1 << width) - 1]
    for blocks in table.values():
        if len(blocks) > 1:
            classes = [both for one in classes for part in blocks.values() if (both := one & part)]
    if len(classes) > 1:
        classes.sort(key=lambda letters: letters & -letters)  # so that states are numbered in one way
    narrow, accepting = _forward(read, table, vectors, classes)
    if read.past:
        narrow, accepting = _merged(narrow, accepting)
    column = [0] * width
    for i, letters in enumerate(classes):
        while letters:
            low = letters & -letters
            column[low.bit_length() - 1] = i
            letters ^= low
    return tuple([tuple([row[i] for i in column]) for row in narrow]), accepting


def _forward(
    program: Instructions, moves: dict, vectors: list[int], classes: list[int]
) -> tuple[list[list[int]], tuple[bool, ...]]:
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


def _column(
    moves: dict, past: int, letters: int, count: int, memory: int, index: dict[int, int]
) -> tuple[int, list[tuple[int, int]]]:
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
        return F.rebuild(
            node, tuple(_named(part, guesses, names, "guess") if _looks_ahead(part) else part for part in parts)
        )

    main = F.fold(formula, guess)
    checked = F.conjunction((main, *(F.Always(F.Iff(name, part)) for part, name in guesses.items())))
    everything = (*names, *(name.name for name in guesses.values()))
    rows, accepting = _explicit(program(checked), everything)
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


def _projected(
    rows: Rows, accepting: Sequence[bool], letters: int
) -> tuple[tuple[tuple[int, ...], ...], tuple[bool, ...]]:
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
        return F.rebuild(
            node,
            tuple(
                _named(part, parts, (), "part") if plain and not isinstance(part, F.Constant) else part
                for part, plain in below
            ),
        ), False

    main, plain = F.fold(formula, cut)
    main = _named(main, parts, (), "part") if plain else main
    if len(parts) > MAX_TESTS:
        raise AutomatonError(
            f"an automaton reads at most {MAX_TESTS} predicates or propositional parts; "
            f"got {len(names)} predicates in {len(parts)} parts: split the rule"
        )
    try:
        possible = bdd.possible(parts)
    except bdd.StepsError as error:
        raise AutomatonError(str(error)) from None
    inner = compile(main, tuple(name.name for name in parts.values()))
    least = min(possible)
    rows = [[row[letter if letter in possible else least] for letter in range(len(row))] for row in inner.rows]
    merged, accepting = _merged(rows, inner.accepting)
    return Automaton(names, tuple(map(tuple, merged)), accepting, tuple(parts))
