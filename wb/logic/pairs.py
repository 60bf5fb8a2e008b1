"""How every two of many rules relate: implied, equivalent, contradictory.

Rules of one shape, equal up to the names, order and signs of their predicates, have one automaton;
pairs of the same shapes that share their predicates in the same way have one answer.  It is searched
once, in the product of two small automata, and given to all of them.  Rules that share no predicate
are not compared: they are independent unless one of them holds always or never.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, NamedTuple

from wb.logic import automaton
from wb.logic.automaton import AutomatonError
from wb.logic.formula import Formula, windows

if TYPE_CHECKING:
    import numpy

BOTH, FIRST, SECOND, NEITHER = 1, 2, 4, 8  # which of two formulas some trace satisfies: bits of a relation
TWISTED = 3  # predicates up to which orders and signs are tried


@dataclass(frozen=True, slots=True)
class Relations:
    """Pairs of formulas by their indices; only pairs that share a predicate are compared.

    `equivalent` and `contradictory` hold (i, j) with i < j; `implied` holds (stronger, weaker) and
    leaves out the equivalent ones.  `undecided` are formulas that no explicit automaton has; they
    take part in no pair.
    """

    compared: int
    equivalent: tuple[tuple[int, int], ...]
    implied: tuple[tuple[int, int], ...]
    contradictory: tuple[tuple[int, int], ...]
    undecided: tuple[int, ...] = ()


class _Shape(NamedTuple):
    """Rows and accepting states over literals, and for each literal its predicate's place and whether it is negated."""

    rows: tuple[tuple[int, ...], ...]
    accepting: tuple[bool, ...]
    literals: tuple[tuple[int, int], ...]

    @property
    def allowed(self) -> tuple[bool, ...] | None:
        """For an invariant, which says the same of every step, the letters that it allows; None for another formula."""
        if len(self.rows) != 3 or len(set(self.rows)) != 2 or self.rows[0] not in self.rows[1:]:
            return None
        state = self.rows.index(self.rows[0], 1)
        return (
            tuple(then == state for then in self.rows[0])
            if self.accepting[state] and set(self.rows[3 - state]) == {3 - state}
            else None
        )


def relations(formulas: Sequence[Formula]) -> Relations:
    """The relations of all pairs of formulas that share a predicate."""
    shapes, shape_of, literals, undecided = _read(formulas)
    first, second = _sharing(literals)
    codes = _relate(shapes, shape_of, literals, first, second)
    there, back = codes & FIRST == 0, codes & SECOND == 0  # the first implies the second; the second the first

    def listed(mask: numpy.ndarray, left: numpy.ndarray, right: numpy.ndarray) -> tuple[tuple[int, int], ...]:
        return tuple(zip(left[mask].tolist(), right[mask].tolist(), strict=True))

    return Relations(
        len(first),
        listed(there & back, first, second),
        listed(there & ~back, first, second) + listed(back & ~there, second, first),
        listed(codes & BOTH == 0, first, second),
        undecided,
    )


def _read(formulas: Sequence[Formula]) -> tuple[list[_Shape], numpy.ndarray, numpy.ndarray, tuple[int, ...]]:
    """The distinct shapes, each formula's shape, and its literals as 2 * predicate + sign, -1 where it has no more."""
    import numpy as np

    by_code: dict[tuple, tuple[int, tuple[tuple[int, int], ...]] | None] = {}
    by_rows: dict[tuple, int] = {}
    shapes: list[_Shape] = []
    predicates: dict[str, int] = {}
    shape_of = np.zeros(len(formulas), np.int64)
    literals = np.full((len(formulas), automaton.MAX_TESTS), -1)
    undecided = []
    for i, formula in enumerate(formulas):
        if windows(formula):
            undecided.append(i)
            continue
        read = automaton.program(formula)
        code = tuple(read.code)
        if code not in by_code:
            by_code[code] = _known(formula, tuple(read.atoms), by_rows, shapes)
        known = by_code[code]
        if known is None:
            undecided.append(i)
            continue
        names = list(read.atoms)
        shape_of[i] = known[0]
        for j, (place, sign) in enumerate(known[1]):
            literals[i, j] = 2 * predicates.setdefault(names[place], len(predicates)) + sign
    return shapes, shape_of, literals, tuple(undecided)


def _known(formula: Formula, names: tuple[str, ...], by_rows: dict, shapes: list[_Shape]) -> tuple[int, tuple] | None:
    """The number of the formula's shape, a new one if need be, and its literals; None for a formula too large."""
    try:
        compiled = automaton.compile(formula, names)
    except AutomatonError:
        return None
    if compiled.tests:
        return None
    shape = _twisted(compiled.rows, compiled.accepting, len(names))
    key = (shape.rows, shape.accepting)
    if key not in by_rows:
        by_rows[key] = len(shapes)
        shapes.append(shape)
    return by_rows[key], shape.literals


def _twisted(rows: tuple[tuple[int, ...], ...], accepting: tuple[bool, ...], width: int) -> _Shape:
    """The least of the automata that differ from this one by the order and the signs of the predicates."""
    if width > TWISTED:
        return _Shape(rows, accepting, tuple((place, 0) for place in range(width)))
    best = None
    for order in permutations(range(width)):
        for signs in range(1 << width):
            letters = [
                sum((letter >> i & 1 ^ signs >> i & 1) << place for i, place in enumerate(order))
                for letter in range(1 << width)
            ]
            found = (
                *_renumbered(rows, accepting, letters),
                tuple((place, signs >> i & 1) for i, place in enumerate(order)),
            )
            best = found if best is None or found < best else best
    return _Shape(*best)


def _renumbered(
    rows: Sequence[Sequence[int]], accepting: Sequence[bool], letters: Sequence[int]
) -> tuple[tuple, tuple]:
    """The automaton with other letters, its states numbered in the order they are met."""
    number, order, out = {0: 0}, [0], []
    for state in order:
        row = rows[state]
        nexts = []
        for letter in letters:
            then = row[letter]
            if then not in number:
                number[then] = len(order)
                order.append(then)
            nexts.append(number[then])
        out.append(tuple(nexts))
    return tuple(out), tuple([accepting[state] for state in order])


def _sharing(literals: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    """The pairs of rows that have a predicate in common."""
    import numpy as np

    rows, places = np.nonzero(literals >= 0)
    has = np.zeros((len(literals), int(literals.max(initial=-1)) // 2 + 1), np.float32)
    has[rows, literals[rows, places] // 2] = 1
    return np.nonzero(np.triu(has @ has.T > 0, 1))


def _relate(
    shapes: list[_Shape], shape_of: numpy.ndarray, literals: numpy.ndarray, first: numpy.ndarray, second: numpy.ndarray
) -> numpy.ndarray:
    """The relation of each pair, an integer of the bits above."""
    import numpy as np

    width = max((len(shape.literals) for shape in shapes), default=0)
    pattern = np.zeros(len(first), np.int64)
    for b in range(width):
        right = literals[second, b]
        for a in range(width):
            left = literals[first, a]
            same = (left >= 0) & (right >= 0) & (left >> 1 == right >> 1)
            pattern += same * (1 + 2 * a + ((left ^ right) & 1)) * (2 * width + 1) ** b
    patterns, pattern_of = _distinct(pattern)
    keys, key_of = _distinct((pattern_of * len(shapes) + shape_of[first]) * len(shapes) + shape_of[second])
    rest, two = np.divmod(keys, max(1, len(shapes)))
    pattern_at, one = np.divmod(rest, max(1, len(shapes)))
    shared = [_shared(int(code), width) for code in patterns]
    return _answers(shapes, shared, pattern_at, one, two)[key_of]


def _distinct(values: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    """The distinct numbers (>= 0), sorted, and each value's place among them; counted where that beats sorting."""
    import numpy as np

    top = int(values.max(initial=0))
    if top > 16 * len(values) + 1000:
        return np.unique(values, return_inverse=True)
    found = np.flatnonzero(np.bincount(values, minlength=1)) if len(values) else np.zeros(0, np.int64)
    place = np.zeros(top + 1, np.int64)
    place[found] = np.arange(len(found))
    return found, place[values]


def _answers(
    shapes: list[_Shape], shared: list[tuple], pattern_at: numpy.ndarray, one: numpy.ndarray, two: numpy.ndarray
) -> numpy.ndarray:
    """The relation of each distinct question: shapes `one` and `two`, predicates shared as the pattern says."""
    import numpy as np

    allowed = [shape.allowed for shape in shapes]
    widths = np.array([len(shape.literals) for shape in shapes], np.int64)
    tables = np.zeros((len(shapes), 1 << int(widths.max(initial=0))), bool)
    for row, letters in zip(tables, allowed, strict=True):
        row[: len(letters or ())] = letters or ()
    plain = np.array([letters is not None for letters in allowed], bool)
    alike = [_alike(shape) for shape in shapes]
    out = np.zeros(len(one), np.int64)
    groups, group_of = _distinct(((pattern_at * 9 + widths[one]) * 9 + widths[two]) * 2 + (plain[one] & plain[two]))
    inside = np.split(np.argsort(group_of, kind="stable"), np.cumsum(np.bincount(group_of))[:-1]) if len(one) else []
    for code, here in zip(groups.tolist(), inside, strict=True):
        rest, invariant = divmod(code, 2)
        moves = _letters(rest // 9 % 9, rest % 9, shared[rest // 81])
        if invariant:
            out[here] = _invariants(tables[one[here]], tables[two[here]], np.array(moves))
        else:
            out[here] = [
                _relation(shapes[a], shapes[b], {(alike[a][x], alike[b][y]) for x, y in moves})
                for a, b in zip(one[here].tolist(), two[here].tolist(), strict=True)
            ]
    return out


def _invariants(one: numpy.ndarray, two: numpy.ndarray, moves: numpy.ndarray) -> numpy.ndarray:
    """The relations of invariants, given which letters each allows, shape (questions, letters): no search is needed."""
    left, right = one[:, moves[:, 0]], two[:, moves[:, 1]]
    both, first, second = (left & right).any(1), (left & ~right).any(1), (right & ~left).any(1)
    return both * BOTH + first * FIRST + second * SECOND + (~left.all(1) & ~right.all(1)) * NEITHER


def _shared(code: int, width: int) -> tuple[tuple[int, int] | None, ...]:
    """For each literal of the second formula the literal of the first with its predicate, and whether signs differ."""
    out = []
    for _ in range(width):
        code, digit = divmod(code, 2 * width + 1)
        out.append(divmod(digit - 1, 2) if digit else None)
    return tuple(out)


def _relation(one: _Shape, two: _Shape, steps: set[tuple[int, int]]) -> int:
    """Which of both, the first only, the second only and neither some trace satisfies."""
    seen, todo, found = {(0, 0)}, [(0, 0)], 0
    while todo:
        p, q = todo.pop()
        row_p, row_q = one.rows[p], two.rows[q]
        for left, right in steps:
            then = (row_p[left], row_q[right])
            if then not in seen:
                seen.add(then)
                todo.append(then)
                found |= ((NEITHER, SECOND), (FIRST, BOTH))[one.accepting[then[0]]][two.accepting[then[1]]]
                if found == BOTH | FIRST | SECOND | NEITHER:
                    return found
    return found


def _letters(one: int, two: int, shared: tuple) -> list[tuple[int, int]]:
    """The letters that two formulas can read in one step."""
    free = [b for b in range(two) if shared[b] is None]
    out = []
    for letter in range(1 << one + len(free)):
        right = sum((letter >> one + i & 1) << b for i, b in enumerate(free))
        for b in range(two):
            if shared[b] is not None:
                a, opposite = shared[b]
                right |= (letter >> a & 1 ^ opposite) << b
        out.append((letter & (1 << one) - 1, right))
    return out


def _alike(shape: _Shape) -> list[int]:
    """For each letter the first one that moves every state alike."""
    columns = list(zip(*shape.rows, strict=True))
    first: dict[tuple, int] = {}
    return [first.setdefault(column, letter) for letter, column in enumerate(columns)]
