"""Whole traces against many rules at once, one machine word for many steps.

The truths of a subformula at all steps of a trace are the bits of one integer, the last step lowest:
NEXT is a shift, UNTIL the carry of an addition (Baldor & Niu 2012 evaluate LTL so), SINCE a doubling
prefix the other way.  Rules of one shape (equal up to the names of their predicates) are evaluated
together: their integers are fields of one long integer, each with a free bit above it that stops the
carry.  Several traces are further fields.

Traces are boolean arrays of shape (steps, predicates); `matrix` makes one from sets of names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from wb.logic import automaton
from wb.logic.automaton import (
    ALWAYS,
    AND,
    ATOM,
    CONSTANT,
    EVENTUALLY,
    IFF,
    IMPLIES,
    NEXT,
    NOT,
    OR,
    RELEASE,
    UNTIL,
    WEAK_NEXT,
    WEAK_UNTIL,
    XOR,
)
from wb.logic.formula import Formula

if TYPE_CHECKING:
    import numpy

TOGETHER = 4  # rules of one shape from which on they share one integer
CHUNK = 1 << 25  # bytes of one integer
SOURCE = {
    NOT: "m^{0}",
    AND: "{0}&{1}",
    OR: "{0}|{1}",
    XOR: "{0}^{1}",
    IMPLIES: "(m^{0})|{1}",
    IFF: "m^{0}^{1}",
    NEXT: "({0}<<1)&m",
    WEAK_NEXT: "(({0}<<1)|low)&m",
    EVENTUALLY: "(((m+{0})^m^{0})>>1)&m",
    ALWAYS: "m^((((m+(m^{0}))^{0})>>1)&m)",
    UNTIL: "(((({0}|{1})+{1})^({0}|{1})^{1})>>1)&m",
}


class Batch:
    """Many formulas compiled together for whole traces. `names` are the columns of the arrays it reads."""

    def __init__(self, formulas: Sequence[Formula], names: Sequence[str] | None = None) -> None:
        import numpy as np

        programs = [automaton.program(formula) for formula in formulas]
        used = tuple(dict.fromkeys(name for read in programs for name in read.atoms))
        self.names = used if names is None else tuple(names)
        missing = set(used).difference(self.names)
        if missing:
            raise ValueError(f"names must hold every predicate of the formulas; {sorted(missing)} are missing")
        self.formulas = tuple(formulas)
        place = {name: i for i, name in enumerate(self.names)}
        shapes: dict[tuple, list[int]] = {}
        for i, read in enumerate(programs):
            shapes.setdefault(tuple(read.code), []).append(i)
        self._wide = []  # (function, rules, columns of shape (predicates, rules))
        alone: list[int] = []
        for code, rules in shapes.items():
            if len(rules) < TOGETHER:
                alone += rules
                continue
            columns = np.array([[place[name] for name in programs[i].atoms] for i in rules], np.intp).T
            self._wide.append((_function([(code, range(len(columns)))], len(columns)), np.array(rules), columns))
        self._alone = np.array(alone, np.intp)
        self._narrow = _function(
            [(programs[i].code, [place[name] for name in programs[i].atoms]) for i in alone], len(self.names)
        )

    def holds(self, traces: Sequence[numpy.ndarray]) -> numpy.ndarray:
        """Whether each formula holds at the first step of each trace: bool, shape (traces, formulas).

        A trace is a bool array of shape (steps >= 1, len(names)).
        """
        import numpy as np

        if not len(traces):
            return np.empty((0, len(self.formulas)), bool)
        some = max(1, CHUNK // max(1, (max(map(len, traces)) // 8 + 1) * len(self.formulas)))
        return np.concatenate([self._holds(traces[i : i + some]) for i in range(0, len(traces), some)])

    def _holds(self, traces: Sequence[numpy.ndarray]) -> numpy.ndarray:
        import numpy as np

        out = np.empty((len(traces), len(self.formulas)), bool)
        packed, masks, first = _packed(traces, len(self.names))
        for function, rules, columns in self._wide:
            fields = [_number(packed[:, column]) for column in columns]
            out[:, rules] = _first_bits(function(fields, *_mask(masks, len(rules)))[0], len(rules), packed, first)
        if len(self._alone):
            whole = self._narrow([_number(packed[:, i]) for i in range(len(self.names))], *_mask(masks, 1))
            rows = [_first_bits(one, 1, packed, first)[:, 0] for one in whole]
            out[:, self._alone] = np.array(rows).T
        return out


def matrix(trace: Sequence[Collection[str]], names: Sequence[str]) -> numpy.ndarray:
    """The bool array (steps, predicates) of a trace of name sets; names not asked for are left out."""
    import numpy as np

    place = {name: i for i, name in enumerate(names)}
    out = np.zeros((len(trace), len(names)), bool)
    for row, step in zip(out, trace, strict=True):
        row[[place[name] for name in step if name in place]] = True
    return out


def holds_all(formulas: Sequence[Formula], traces: Sequence[Sequence[Collection[str]]]) -> numpy.ndarray:
    """Whether each formula holds on each trace of name sets: bool, shape (traces, formulas)."""
    batch = Batch(formulas)
    return batch.holds([matrix(trace, batch.names) for trace in traces])


def since(left: int, right: int, mask: int) -> int:
    """The bits of `left SINCE right`, fields of `mask`: each run of `left` is doubled until none is longer."""
    runs, shift = left, 1
    while runs:
        right |= runs & right >> shift
        runs &= runs >> shift
        shift <<= 1
    return right & mask


def _function(rules: Sequence[tuple[Sequence[tuple[int, int, int, int]], Sequence[int]]], count: int) -> Callable:
    """One function from the numbers of `count` inputs, the mask and its low bits to the number of each rule.

    A rule is its instructions and the input of each of its predicates; equal subformulas are evaluated once.
    """
    known: dict[str, str] = {}
    lines: list[str] = []
    roots = []
    for code, inputs in rules:
        registers: list[str] = []
        for op, a, b, slot in code:
            source = _source(
                op, a, slot, registers[a] if op > CONSTANT else "", registers[b] if op > CONSTANT else "", inputs
            )
            if source not in known:
                known[source] = f"t{len(known)}"
                lines.append(f"{known[source]}={source}")
            registers.append(known[source])
        roots.append(registers[-1])
    body = "\n ".join([*lines, f"return ({','.join(roots)}{',' if roots else ''})"])
    scope: dict[str, object] = {"since": since}
    exec(f"def evaluate(x,m,low):\n {body}", scope)  # indices and register names only: no text of a rule enters
    return scope["evaluate"]


def _source(op: int, a: int, slot: int, left: str, right: str, inputs: Sequence[int]) -> str:
    """The expression of one instruction over registers; a negative slot means that it looks back."""
    if op == ATOM:
        return f"x[{inputs[a]}]"
    if op == CONSTANT:
        return "m" if a else "0"
    if slot < 0:
        return {
            NEXT: f"({left}>>1)&m",
            EVENTUALLY: f"since(m,{left},m)",
            ALWAYS: f"m^since(m,m^{left},m)",
            UNTIL: f"since({left},{right},m)",
        }[op]
    if op == RELEASE:
        return "m^(" + SOURCE[UNTIL].format(f"(m^{left})", f"(m^{right})") + ")"
    if op == WEAK_UNTIL:
        return "m^(" + SOURCE[UNTIL].format(f"(m^{right})", f"(m^({left}|{right}))") + ")"
    return SOURCE[op].format(left, right)


def _packed(traces: Sequence[numpy.ndarray], count: int) -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
    """The traces as bytes (trace, predicate, byte), their masks (trace, byte) and where each first step's bit is."""
    import numpy as np

    for trace in traces:
        if trace.ndim != 2 or trace.shape[0] < 1 or trace.shape[1] != count or trace.dtype != bool:
            raise ValueError(
                f"a bool array of shape (steps >= 1, {count}) was required; got {trace.dtype} {trace.shape}"
            )
    lengths = np.array([len(trace) for trace in traces])
    width = int(lengths.max()) // 8 + 1  # bytes: one bit more than steps, at least
    packed = np.zeros((len(traces), count, width), np.uint8)
    for i, trace in enumerate(traces):
        rows = np.packbits(trace[::-1], axis=0, bitorder="little").T
        packed[i, :, : rows.shape[1]] = rows
    masks = np.packbits(np.arange(8 * width) < lengths[:, None], axis=1, bitorder="little")
    return packed, masks, lengths - 1


def _number(fields: numpy.ndarray) -> int:
    return int.from_bytes(fields.tobytes(), "little")


def _mask(masks: numpy.ndarray, rules: int) -> tuple[int, int]:
    """The bits in use of every field of every trace, and the lowest of each."""
    mask = _number(masks.repeat(rules, axis=0))
    return mask, mask & ~(mask << 1)


def _first_bits(number: int, rules: int, packed: numpy.ndarray, first: numpy.ndarray) -> numpy.ndarray:
    """The bit of the first step in every field: bool, shape (traces, rules)."""
    import numpy as np

    traces, width = len(packed), packed.shape[2]
    fields = np.frombuffer(number.to_bytes(traces * rules * width, "little"), np.uint8).reshape(traces, rules, width)
    return fields[np.arange(traces), :, first >> 3] >> (first & 7).astype(np.uint8)[:, None] & 1 == 1
