"""From a formula of past and future to its minimal deterministic automaton on finite traces.

The truth of all future subformulas at a step follows from the step and their truth at the next one:
the formula is a deterministic automaton that reads backwards.  Its states are found first, every
operator evaluated for all letters at once as one integer; the forward automaton then follows sets of
them and is minimal by construction (Brzozowski 1962).  Past subformulas are remembered forwards, as
bits of the forward state.  A future formula below a past operator is guessed by a letter of its own,
checked by the formula, and the guess is projected away.

A letter is a step seen through at most `MAX_LETTERS` predicates: bit i is the truth of `names[i]`.
"""
from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from wb import formula as F
from wb.formula import Formula

MAX_LETTERS = 8  # predicates
MAX_VECTORS = 4096  # truth vectors of the future subformulas
MAX_STATES = 5000


class AutomatonError(ValueError):
    """The formula needs more predicates or states than an explicit automaton may have."""


@dataclass(frozen=True)
class Automaton:
    """State 0 is where a trace starts; `rows[state][letter]` is the next state.

    `accepting[state]` says whether a trace that ends there satisfies the formula (False in state 0,
    which no trace ends in: traces have at least one step).
    """

    names: tuple[str, ...]
    rows: tuple[tuple[int, ...], ...]
    accepting: tuple[bool, ...]

    def letter(self, step: Collection[str]) -> int:
        """The letter of a step, a set of predicate names."""
        return sum(1 << i for i, name in enumerate(self.names) if name in step)

    def accepts(self, trace: Sequence[Collection[str]]) -> bool:
        """Whether a non-empty trace satisfies the formula."""
        state = 0
        for step in trace:
            state = self.rows[state][self.letter(step)]
        return self.accepting[state]

    @cached_property
    def settled(self) -> tuple[bool | None, ...]:
        """For each state the verdict that every longer trace has, None where it still can change."""
        sinks = {q: self.accepting[q] for q, row in enumerate(self.rows) if all(then == q for then in row)}
        nexts = {sinks.get(then) for then in self.rows[0]}
        return (nexts.pop() if len(nexts) == 1 else None, *(sinks.get(q) for q in range(1, len(self.rows))))


def compile(formula: Formula, names: Sequence[str] | None = None) -> Automaton:
    """The minimal automaton of a formula, over its own predicates (sorted) or over the given ones.

    Two formulas with the same meaning over the same names have equal automata.
    `AutomatonError` beyond `MAX_LETTERS` predicates or `MAX_STATES` states.
    """
    program = _Program(formula)
    names = tuple(sorted(program.atoms)) if names is None else tuple(names)
    missing = program.atoms.keys() - set(names)
    if missing:
        raise ValueError(f"names must hold every predicate of the formula; {sorted(missing)} are missing from {names}")
    if len(names) > MAX_LETTERS:
        raise AutomatonError(f"an explicit automaton reads at most {MAX_LETTERS} predicates; got {len(names)}: {', '.join(names)}")
    if program.mixed:
        return Automaton(names, *_without_guesses(formula, names))
    return Automaton(names, *_explicit(program, names))


class _Program:
    """A formula as instructions on sets of letters, operands first; instruction i writes register i.

    `future` and `past` list the registers (and whether they are negated) whose truth one step later,
    or one earlier, an instruction reads: bit `slot` of its input.
    """

    def __init__(self, formula: Formula) -> None:
        nodes = F.subformulas(formula)
        self.shift = len(nodes) + 1  # where the bits of the past begin in the input
        self.code: list[tuple[int, int, int, int]] = []
        self.atoms: dict[str, int] = {}
        self.future: list[tuple[int, bool]] = []
        self.past: list[tuple[int, bool]] = []
        self.mixed = False
        places: dict[Formula, int] = {}
        ahead: set[int] = set()
        for place, node in enumerate(nodes):
            parts = [places[child] for child in F.children(node)]
            places[node] = place
            self._add(node, place, *parts)
            if isinstance(node, F.FUTURE) or not ahead.isdisjoint(parts):
                self.mixed |= isinstance(node, F.PAST)
                ahead.add(place)

    def _add(self, node: Formula, place: int, a: int = 0, b: int = 0) -> None:
        code, tracks, negated = CODES[type(node)]
        slot = 0
        if code == ATOM:
            self.atoms[node.name] = place
        elif code == CONSTANT:
            a = int(node.value)
        elif tracks:
            past = isinstance(node, F.PAST)
            tracked = self.past if past else self.future
            slot = len(tracked) + (self.shift if past else 0)
            tracked.append((place if tracks == "itself" else a, negated))
        self.code.append((code, a, b, slot))

    def run(self, atoms: dict[int, int], full: int, given: int) -> list[int]:
        """The letters that make each register true, given the bits of the steps beside this one."""
        out: list[int] = []
        for place, (code, a, b, slot) in enumerate(self.code):
            if code == ATOM:
                value = atoms[place]
            elif code < TEMPORAL:
                value = _connective(code, a, b, out, full)
            else:
                value = _temporal(code, a, b, out, full, given >> slot & 1)
            out.append(value)
        return out


ATOM, CONSTANT, NOT, AND, OR, XOR, IMPLIES, IFF, TEMPORAL = range(9)
NEXT, WEAK_NEXT, EVENTUALLY, ALWAYS, UNTIL, RELEASE, WEAK_UNTIL = range(TEMPORAL, TEMPORAL + 7)
# instruction, what is remembered from the step beside ("" nothing), whether its negation is: false is the value at the end
CODES = {
    F.Atom: (ATOM, "", False), F.Constant: (CONSTANT, "", False), F.Not: (NOT, "", False), F.And: (AND, "", False),
    F.Or: (OR, "", False), F.Xor: (XOR, "", False), F.Implies: (IMPLIES, "", False), F.Iff: (IFF, "", False),
    F.Next: (NEXT, "body", False), F.WeakNext: (WEAK_NEXT, "body", True), F.Eventually: (EVENTUALLY, "itself", False),
    F.Always: (ALWAYS, "itself", True), F.Until: (UNTIL, "itself", False), F.Release: (RELEASE, "itself", True),
    F.WeakUntil: (WEAK_UNTIL, "itself", True), F.Previously: (NEXT, "body", False), F.Once: (EVENTUALLY, "itself", False),
    F.Historically: (ALWAYS, "itself", True), F.Since: (UNTIL, "itself", False),
}


def _connective(code: int, a: int, b: int, out: list[int], full: int) -> int:
    """The letters of a connective from those of its operands."""
    if code == NOT:
        return full ^ out[a]
    if code == AND:
        return out[a] & out[b]
    if code == OR:
        return out[a] | out[b]
    if code == IMPLIES:
        return full ^ out[a] | out[b]
    if code == CONSTANT:
        return full if a else 0
    return out[a] ^ out[b] ^ (full if code == IFF else 0)


def _temporal(code: int, a: int, b: int, out: list[int], full: int, beside: int) -> int:
    """The letters of a temporal operator; `beside` is the remembered truth one step later (or earlier)."""
    if code == ALWAYS:
        return 0 if beside else out[a]
    if code == EVENTUALLY:
        return full if beside else out[a]
    if code == NEXT:
        return full if beside else 0
    if code == WEAK_NEXT:
        return 0 if beside else full
    if code == UNTIL:
        return out[b] | out[a] if beside else out[b]
    if code == WEAK_UNTIL:
        return out[b] if beside else out[b] | out[a]
    return out[b] & out[a] if beside else out[b]  # RELEASE


def tables(count: int) -> tuple[int, ...]:
    """For each of `count` predicates the set of letters that make it true: bit L is letter L."""
    full = (1 << (1 << count)) - 1
    return tuple(full // ((1 << (1 << i)) + 1) << (1 << i) for i in range(count))


def _explicit(program: _Program, names: tuple[str, ...]) -> tuple[tuple[tuple[int, ...], ...], tuple[bool, ...]]:
    """Rows and accepting states of an unmixed formula."""
    moves, vectors = _backward(program, names)
    classes = [(1 << (1 << len(names))) - 1]
    for blocks in moves.values():
        if len(blocks) > 1:
            classes = [both for one in classes for part in blocks.values() if (both := one & part)]
    classes.sort(key=lambda letters: letters & -letters)  # by least letter, so that states are numbered in one way
    narrow, accepting = _forward(program, moves, vectors, classes)
    if program.past:
        narrow, accepting = _merged(narrow, accepting)
    column = [0] * (1 << len(names))
    for i, letters in enumerate(classes):
        while letters:
            low = letters & -letters
            column[low.bit_length() - 1] = i
            letters ^= low
    return tuple(tuple([row[i] for i in column]) for row in narrow), accepting


def _backward(program: _Program, names: tuple[str, ...]) -> tuple[dict[tuple[int, int], dict[int, int]], list[int]]:
    """For each bits of the past and index of a truth vector one step later: which letters give which new bits.

    The vectors (index 0 is the end of the trace) hold the truth of `future`, then of the formula itself.
    """
    full = (1 << (1 << len(names))) - 1
    sets = dict(zip(names, tables(len(names)), strict=True))
    atoms = {place: sets[name] for name, place in program.atoms.items()}
    kept = [*program.future, (len(program.code) - 1, False)]
    bits = [(1 << i, *one) for i, one in enumerate(kept)] + [(1 << i + program.shift, *one) for i, one in enumerate(program.past)]
    low = (1 << program.shift) - 1
    vectors, pasts = [0], [0]
    known_vectors, known_pasts = set(), {0}
    moves: dict[tuple[int, int], dict[int, int]] = {}
    todo = [(0, 0)]
    while todo:
        past, index = todo.pop()
        values = program.run(atoms, full, past | vectors[index])
        blocks = {0: full}
        for bit, place, negated in bits:
            blocks = _split(blocks, bit, values[place] ^ full if negated else values[place])
        moves[past, index] = blocks
        for code in blocks:
            vector, then = code & low, code & ~low
            if vector not in known_vectors:
                known_vectors.add(vector)
                todo.extend((p, len(vectors)) for p in pasts)
                vectors.append(vector)
            if then not in known_pasts:
                known_pasts.add(then)
                pasts.append(then)
                todo.extend((then, v) for v in range(len(vectors)))
        if len(moves) > MAX_VECTORS:
            raise AutomatonError(f"an explicit automaton follows at most {MAX_VECTORS} truth vectors; the formula needs more: nest fewer operators")
    return moves, vectors


def _split(blocks: dict[int, int], bit: int, letters: int) -> dict[int, int]:
    """Every block of letters cut in two: those in `letters` get the bit."""
    out = {}
    for code, block in blocks.items():
        inside = block & letters
        if inside:
            out[code | bit] = inside
        if inside != block:
            out[code] = block ^ inside
    return out


def _forward(program: _Program, moves: dict, vectors: list[int], classes: list[int]) -> tuple[list[list[int]], tuple[bool, ...]]:
    """Rows over letter classes and accepting states: a state is a set of vectors and the bits of the past."""
    count, low = len(vectors), (1 << program.shift) - 1
    index = {vector: i for i, vector in enumerate(vectors) if i}
    root = 1 << len(program.future)
    start = (sum(1 << i for i in range(1, count) if vectors[i] & root), 0)
    found, order, rows = {start: 0}, [start], []
    back: dict[int, list[tuple[int, list[int]]]] = {}
    for good, past in order:
        if past not in back:
            back[past] = [_column(moves, past, letters, count, low, index) for letters in classes]
        row = []
        for then, to in back[past]:
            now = 0
            for i, j in enumerate(to):
                now |= (good >> j & 1) << i
            state = (now, then)
            if state not in found:
                found[state] = len(order)
                order.append(state)
            row.append(found[state])
        rows.append(row)
        if len(order) > MAX_STATES:
            raise AutomatonError(f"an explicit automaton has at most {MAX_STATES} states; the formula needs more")
    return rows, tuple(bool(good & 1) for good, _ in order)


def _column(moves: dict, past: int, letters: int, count: int, low: int, index: dict[int, int]) -> tuple[int, list[int]]:
    """What one class of letters does: the bits of the past after it, and the vector now for each vector later."""
    codes = [next(code for code, block in moves[past, i].items() if block & letters) for i in range(count)]
    return codes[0] & ~low, [index[code & low] for code in codes]


def _merged(rows: list, accepting: tuple[bool, ...]) -> tuple[list[list[int]], tuple[bool, ...]]:
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


def _without_guesses(formula: Formula, names: tuple[str, ...]) -> tuple[tuple[tuple[int, ...], ...], tuple[bool, ...]]:
    """Rows and accepting states of a formula that looks ahead below a past operator."""
    guesses: dict[str, Formula] = {}

    def guess(node: Formula, parts: tuple[Formula, ...]) -> Formula:
        if not isinstance(node, F.PAST):
            return F.rebuild(node, parts)
        return F.rebuild(node, tuple(named(part) if _looks_ahead(part) else part for part in parts))

    def named(part: Formula) -> Formula:
        name = next(f"guess{i}" for i in range(len(names) + len(guesses) + 1) if f"guess{i}" not in (*names, *guesses))
        guesses[name] = part
        return F.Atom(name)

    main = F.fold(formula, guess)
    checked = F.conjunction((main, *(F.Always(F.Iff(F.Atom(name), part)) for name, part in guesses.items())))
    if len(names) + len(guesses) > MAX_LETTERS + 4:
        raise AutomatonError(f"at most {MAX_LETTERS + 4} predicates and future formulas below past operators; got {len(names) + len(guesses)}")
    rows, accepting = _explicit(_Program(checked), (*names, *guesses))
    return _projected(rows, accepting, 1 << len(names))


def _looks_ahead(formula: Formula) -> bool:
    return any(isinstance(node, F.FUTURE) for node in F.subformulas(formula))


def _projected(rows: Sequence[Sequence[int]], accepting: tuple[bool, ...], letters: int) -> tuple[tuple[tuple[int, ...], ...], tuple[bool, ...]]:
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
            raise AutomatonError(f"an explicit automaton has at most {MAX_STATES} states; the formula needs more")
    merged, yes = _merged(out, tuple(any(accepting[q] for q in subset) for subset in order))
    return tuple(map(tuple, merged)), yes
