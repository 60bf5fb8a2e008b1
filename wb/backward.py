"""A formula as a deterministic automaton that reads a trace from its end to its start.

The truth of all future subformulas at a step follows from the step and from their truth at the next
one (De Giacomo & Vardi, IJCAI 2013, Sec. 3: the alternating automaton, its transitions made
explicit).  Every operator is evaluated once, as one integer, for all letters and all truths of its
neighbours together.  Past subformulas take their truth one step earlier as a further input.
`automaton` turns the result around.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from wb import formula as F
from wb.formula import Formula

MAX_INPUTS = 18  # tests and temporal operators together: tables have 2 to that power bits
MAX_MOVES = 5000

ATOM, CONSTANT, NOT, NEXT, WEAK_NEXT, EVENTUALLY, ALWAYS, AND, OR, XOR, IMPLIES, IFF, UNTIL, RELEASE, WEAK_UNTIL = range(15)
# instruction, and for a temporal one which truth is tracked from step to step, so that False is its value beyond
# the end: of the operand or of the formula itself, and whether of its negation
CODES = {
    F.Atom: (ATOM, "", False), F.Constant: (CONSTANT, "", False), F.Not: (NOT, "", False), F.And: (AND, "", False),
    F.Or: (OR, "", False), F.Xor: (XOR, "", False), F.Implies: (IMPLIES, "", False), F.Iff: (IFF, "", False),
    F.Next: (NEXT, "body", False), F.WeakNext: (WEAK_NEXT, "body", True), F.Eventually: (EVENTUALLY, "self", False),
    F.Always: (ALWAYS, "self", True), F.Until: (UNTIL, "self", False), F.Release: (RELEASE, "self", True),
    F.WeakUntil: (WEAK_UNTIL, "self", True), F.Previously: (NEXT, "body", False), F.Once: (EVENTUALLY, "self", False),
    F.Historically: (ALWAYS, "self", True), F.Since: (UNTIL, "self", False),
}


class AutomatonError(ValueError):
    """The formula needs more tests or states than an explicit automaton may have."""


class Program(NamedTuple):
    """A formula as instructions on tables, operands first: instruction i writes register i.

    A table is an integer with a bit for every letter together with every truth of the tracked
    registers one step later (`future`) or earlier (`past`), each (register, whether negated).
    """

    code: list[tuple[int, int, int, int]]
    atoms: dict[str, int]
    future: list[tuple[int, bool]]
    past: list[tuple[int, bool]]
    mixed: bool


def program(formula: Formula) -> Program:
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
    return Program(code, atoms, future, past, mixed)


def _evaluate(code: list[tuple[int, int, int, int]], letters: Sequence[int], beside: Sequence[int], full: int) -> list[int]:
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


def moves(read: Program, names: tuple[str, ...]) -> tuple[dict[tuple[int, int], dict[int, int]], list[int]]:
    """What every letter does: {(past bits before, index of a truth vector after): {bits now: letters}}.

    The bits now are those of the tracked registers, the past ones above the future ones, and on top
    that of the formula itself; a vector is the future ones and the formula's.  Vector 0 is the end.
    """
    count, ahead, behind = len(names), len(read.future), len(read.past)
    if count + ahead + behind > MAX_INPUTS:
        raise AutomatonError(f"an automaton is built from at most {MAX_INPUTS} predicates and temporal operators; got {count + ahead + behind}")
    inputs = tables(count + ahead + behind)
    whole = (1 << (1 << count + ahead + behind)) - 1
    values = _evaluate(read.code, [inputs[names.index(name)] for name in read.atoms], inputs[count:], whole)
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
            raise AutomatonError(f"an automaton is built from at most {MAX_MOVES} truth vectors; the formula has more: nest fewer operators")
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
