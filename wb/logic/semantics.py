"""The meaning of formulas over finite traces, in any algebra of truth, and monitors of running ones.

A trace is a non-empty sequence of steps, a step the set of predicate names that are true in it
(De Giacomo & Vardi, IJCAI 2013, Sec. 2).  `NEXT` is strong: false at the last step; `PREVIOUSLY` is
strong: false at the first.  `holds` is written from the definition alone and is the evaluator that
every witness of `decide` is checked by; the verdicts of a running trace are those of Bauer, Leucker
& Schallhart's RV-LTL, read on finite traces.

Windows in time are those of metric temporal logic, read at steps (Alur & Henzinger 1993; MonPoly, Basin et al. 2015),
in whole nanoseconds: `ONCE[<= d] a` looks at this step and at those at most `d` before it, the bound included.  A step
without a time lies between the times that were told before and after it; where these leave open whether it lies in a
window, that is unknown.  Once time has run backwards, no window tells of any step but the present one.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, product
from typing import Any, Literal

from wb.logic import automaton
from wb.logic import formula as F
from wb.logic.formula import Formula
from wb.logic.syntax import FormulaError as FormulaError  # these three for whoever evaluates
from wb.logic.syntax import parse as parse
from wb.logic.syntax import render as render
from wb.logic.times import duration, written

KEPT = 4096
Valuation = Collection[str]
RunningVerdict = Literal["permanently_true", "currently_true", "currently_false", "permanently_false"]
VERDICTS: tuple[RunningVerdict, ...] = ("permanently_true", "currently_true", "currently_false", "permanently_false")


@dataclass(frozen=True, slots=True)
class Truths:
    """An algebra of truth: what the operators are computed in.

    `told` reads the truths of predicates off a step; `no`, `both` and `either` are negation, conjunction and
    disjunction, from which all other operators follow.
    """

    true: Any
    false: Any
    told: Callable[[Any, Sequence[str]], tuple]
    no: Callable[[Any], Any]
    both: Callable[[Any, Any], Any]
    either: Callable[[Any, Any], Any]
    time: Callable[[Any], object]  # what a step tells of its time, in nanoseconds
    partial: bool  # whether None is a truth, unknown


def _and(x: bool | None, y: bool | None) -> bool | None:
    return False if x is False or y is False else None if x is None or y is None else True


def _or(x: bool | None, y: bool | None) -> bool | None:
    return True if x is True or y is True else None if x is None or y is None else False


def _not(x: bool | None) -> bool | None:
    return None if x is None else not x


def at(nanoseconds: int) -> str:
    """The name that tells the time of a step that is a set of names: so long after the start, as in `@24h`."""
    return F.TIME + written(nanoseconds)


def _dated(step: Valuation) -> int | None:
    told = next((duration(name[1:]) for name in step if name.startswith(F.TIME)), None)
    return told.nanoseconds if told is not None else None


TWO = Truths(
    True,
    False,
    lambda step, names: tuple([n in step for n in names]),
    operator.not_,
    operator.and_,
    operator.or_,
    _dated,
    partial=False,
)
"""True or false; a step is the set of names true in it, its time told by the name that `at` gives."""
KLEENE = Truths(
    True,
    False,
    lambda step, names: tuple(map(step.get, names)),
    _not,
    _and,
    _or,
    lambda step: step.get(F.TIME),
    partial=True,
)
"""Kleene's strong three values, None for unknown; a step maps names to truths, and what it leaves out is unknown.
Its time stands under `formula.TIME`."""

BEGUN, LOST = -math.inf, math.inf  # the last time that was told before the first step, and once time ran backwards


def clock(told: object, last: float) -> tuple[float, bool]:
    """The last time that is known at a step, and whether it is the step's own.

    `told` is what the step tells, `last` what was known before it.
    """
    if last == LOST or type(told) is not int:
        return last, False
    return (told, True) if told >= last else (LOST, False)


def holds(formula: Formula, trace: Sequence[Valuation], at: int = 0) -> bool:
    """Whether the formula is true at step `at` (0 is the first) of a non-empty trace."""
    if not 0 <= at < len(trace):
        raise ValueError(
            f"a step of the trace was required, 0 to {len(trace) - 1}; got {at}"
            if trace
            else "a trace has at least one step; got none"
        )
    return table(formula, trace)[at]


def table(formula: Formula, trace: Sequence, truths: Truths = TWO) -> tuple:
    """The truth of the formula at every step of a trace: the definition, in any algebra."""
    return F.fold(formula, lambda node, below: _row(node, below, trace, truths))


class Past:
    """Formulas of past operators followed along a running trace, in any algebra.

    A step costs the same however many came before it, and what is remembered is one truth for each past operator,
    which must be hashable, and of a window the times of the last steps that count, as many as it counts to; beside it
    at most `KEPT` results of steps are kept so that equal ones cost one look-up.  What it gives, one truth a formula,
    equals `table` on the steps read so far and the one asked about, at its last place.

    Raises:
        ValueError: a formula speaks of later steps, so that its truth now is not known now, or of a window in time,
            of which unknown must be a truth.
    """

    __slots__ = (
        "_code",
        "_constants",
        "_keeps",
        "_last",
        "_memory",
        "_plain",
        "_roots",
        "_seen",
        "_start",
        "_still",
        "_truths",
        "_windows",
        "formulas",
        "names",
    )

    def __init__(self, *formulas: Formula, truths: Truths = KLEENE) -> None:
        nodes = tuple(dict.fromkeys(node for formula in formulas for node in F.subformulas(formula)))
        later = [type(node).__name__ for node in nodes if isinstance(node, F.FUTURE)]
        if later:
            raise ValueError(f"formulas of past operators were required; got {later[0]}")
        if not truths.partial and any(isinstance(node, F.Recently) for node in nodes):
            raise ValueError("windows in time are followed in three truths, unknown among them; got two")
        self.formulas, self._truths = formulas, truths
        self.names = tuple([node.name for node in nodes if isinstance(node, F.Atom)])
        back = [node for node in nodes if isinstance(node, F.PAST) and not _remembered(node)]
        # Registers: what is remembered, the predicates, the constants, then every other node, operands first.
        place: dict[Formula, int] = {}
        memory = {node: i for i, node in enumerate(back)}
        for node in (*(node for node in nodes if isinstance(node, F.Atom)), F.TRUE, F.FALSE):
            place[node] = len(back) + len(place)
        self._constants = (truths.true, truths.false)
        code, start = [], []
        for node in nodes:
            if node in place:
                continue
            at = tuple(place[child] for child in F.children(node))
            if _remembered(node):
                place[node] = memory[node.body]
                continue
            if isinstance(node, F.Previously):
                place[node] = memory[node]
                start.append(truths.false)
                continue
            if isinstance(node, F.PAST):
                first, rule = carried(node, truths)
                start.append(first)
                at = (memory[node], *at)
            else:
                rule = partial(POINTWISE[type(node)], truths)
            place[node] = len(back) + len(self.names) + 2 + len(code)
            code.append((rule, at))
        self._code, self._roots, self._seen = tuple(code), tuple([place[formula] for formula in formulas]), {}
        self._memory = self._start = tuple(start)
        self._keeps = tuple(place[node.body if isinstance(node, F.Previously | F.Recently) else node] for node in back)
        windows = [node for node in back if isinstance(node, F.Recently)]
        self._windows = tuple([(memory[node], node.times, node.within) for node in windows])
        self._plain = tuple([place for node, place in memory.items() if not isinstance(node, F.Recently)])
        self._last, self._still = BEGUN, {}

    def fresh(self) -> Past:
        """The same formulas before the first step; what was compiled and worked out is shared."""
        other = object.__new__(Past)
        for name in self.__slots__:
            setattr(other, name, getattr(self, name))
        other._memory, other._last = self._start, BEGUN
        return other

    def fork(self) -> Past:
        """The same formulas after the same steps, to be followed further apart from these."""
        other = self.fresh()
        other._memory, other._last = self._memory, self._last
        return other

    def alike(self, other: Past) -> bool:
        """Whether the other, of the same formulas, remembers the same, so that no step tells the two apart."""
        return self._memory == other._memory and self._last == other._last

    @property
    def timed(self) -> bool:
        """Whether it has windows in time."""
        return bool(self._windows)

    @property
    def start(self) -> tuple:
        """What is remembered before the first step."""
        return self._start

    def after(self, memory: tuple, letter: tuple, last: float = BEGUN, known: bool = False) -> tuple[tuple, tuple]:
        """The formulas' truths at a step, and what is remembered after it, from what was remembered before it.

        The letter holds the truths of `names` at the step; what is known of its time is what `clock` gives.
        """
        if self._windows:
            return self._timed(memory, letter, last, known)
        key = (memory, letter)
        return self._seen.get(key) or self._work(key)

    def still(self, memory: tuple, letter: tuple) -> bool:
        """Whether one formula is true, and nothing else is remembered, after steps of that letter at any times."""
        if not self._windows:
            return self.after(memory, letter) == ((True,), memory)
        key = (tuple([memory[i] for i in self._plain]), letter)
        if key not in self._still:
            if len(self._still) >= KEPT:
                self._still.clear()
            seen = product(*[(truth,) if i in self._plain else VIEWS for i, truth in enumerate(memory)])
            wanted = tuple([truth if i in self._plain else False for i, truth in enumerate(memory)])
            found = [self._seen.get((one, letter)) or self._work((one, letter)) for one in seen]
            self._still[key] = all(one == ((True,), wanted) for one in found)
        return self._still[key]

    def pruned(self, memory: tuple, last: float) -> tuple:
        """What is remembered without what no window reaches after that time."""
        kept = list(memory)
        for i, _, within in self._windows:
            kept[i] = _pruned(memory[i], last, within)
        return tuple(kept)

    def undated(self, memory: tuple) -> bool:
        """Whether the next time that is told says something of what is remembered."""
        return any(memory[i][1][-1:] == (LOST,) for i, _, _ in self._windows)

    def dated(self, memory: tuple, now: int) -> tuple:
        """What is remembered once that time was told."""
        kept = list(memory)
        for i, _, _ in self._windows:
            after, before = memory[i]
            kept[i] = after, tuple([now if time == LOST else time for time in before])
        return tuple(kept)

    @property
    def last(self) -> float:
        """The last time that is known, as `clock` has it."""
        return self._last

    def peek(self, step: object) -> tuple:
        """The formulas' truths if this were the next step; nothing is remembered."""
        letter = self._truths.told(step, self.names)
        if self._windows:
            return self._timed(self._memory, letter, *clock(self._truths.time(step), self._last))[0]
        key = (self._memory, letter)
        return (self._seen.get(key) or self._work(key))[0]

    def step(self, step: object) -> tuple:
        """Read the next step, and give the formulas' truths there."""
        letter = self._truths.told(step, self.names)
        if self._windows:
            self._last, known = clock(self._truths.time(step), self._last)
            if known and self.undated(self._memory):
                self._memory = self.dated(self._memory, self._last)
            truths, self._memory = self._timed(self._memory, letter, self._last, known)
            return truths
        key = (self._memory, letter)
        truths, self._memory = self._seen.get(key) or self._work(key)
        return truths

    def _timed(self, memory: tuple, letter: tuple, last: float, known: bool) -> tuple[tuple, tuple]:
        """`after` with windows: what they reach of the past is worked out of the times, all else is as without."""
        seen = list(memory)
        for i, times, within in self._windows:
            seen[i] = _reached(memory[i], last, known, times, within)
        key = (tuple(seen), letter)
        truths, kept = self._seen.get(key) or self._work(key)
        after = list(kept)
        for i, times, within in self._windows:
            after[i] = memory[i] if kept[i] is False else _counted(memory[i], kept[i], last, known, times, within)
        return truths, tuple(after)

    def _work(self, key: tuple) -> tuple:
        """The truths and what is to be remembered, from what is remembered and what the step tells; kept."""
        read = [*key[0], *key[1], *self._constants]
        for rule, at in self._code:
            read.append(rule(*[read[i] for i in at]))
        if len(self._seen) >= KEPT:
            self._seen.clear()
        found = self._seen[key] = (tuple([read[i] for i in self._roots]), tuple([read[i] for i in self._keeps]))
        return found


def _remembered(node: Formula) -> bool:
    """Whether what was so one step before is what the operand remembers: false before the first step, as it is."""
    return isinstance(node, F.Previously) and isinstance(node.body, F.Once | F.Since)


Counted = tuple[tuple[float, ...], tuple[float, ...]]
"""The last steps that count: the times that those of them lie after which count for certain, and the times that all of
them lie before, `LOST` where none was told since."""
NEVER: Counted = ((), ())
VIEWS = tuple([(full, None) for full in (True, False, None)])  # the second matters where the step itself may count


def _reached(counted: Counted, last: float, known: bool, times: int, within: int) -> tuple[bool | None, bool | None]:
    """Whether at least `times` steps that count lie within the time before now, and whether `times` - 1 do."""
    if last == LOST:
        return None, True if times == 1 else None
    (after, before), since, found = counted, last - within, []
    for often in (times, times - 1):
        if often == 0 or (known and len(after) >= often and after[-often] >= since):
            found.append(True)
        else:
            found.append(None if len(before) >= often and before[-often] >= since else False)
    return tuple(found)


def _counted(counted: Counted, true: bool | None, last: float, known: bool, times: int, within: int) -> Counted:
    """The steps that count with one more that does or may, as many as are needed, and none that is too old."""
    after, before = _pruned(counted, last, within)
    if last == LOST:
        return NEVER
    if true is True:
        after = (*after, last)[-times:]
    return after, (*before, last if known else LOST)[-times:]


def _pruned(counted: Counted, last: float, within: int) -> Counted:
    """The steps that count without those that are too old."""
    if last == LOST:
        return NEVER
    after, before = counted
    return tuple([t for t in after if t >= last - within]), tuple([t for t in before if t >= last - within])


class Monitor:
    """One formula followed along a running trace, at the same cost for every step.

    `verdict` is "permanently_true" or "permanently_false" when no continuation can change it, else
    "currently_true" or "currently_false": what `holds` says of the trace so far.  Before the first
    step there is no trace yet: "currently_false" unless every trace has the same verdict.
    `automaton.AutomatonError` when the formula has too many predicates to follow.
    """

    def __init__(self, formula: Formula) -> None:
        compiled = automaton.compile(formula)
        self._letter = compiled.letter
        rows: list[list] = [[] for _ in compiled.rows]  # a row holds the rows that follow, and its verdict last
        for row, nexts, verdict in zip(rows, compiled.rows, verdicts(compiled), strict=True):
            row += [rows[then] for then in nexts] + [verdict]
        self._row = self._start = rows[0]

    def step(self, state: Valuation) -> RunningVerdict:
        """Read one step, the set of names true in it, and give the verdict on the trace so far."""
        self._row = row = self._row[self._letter(state)]
        return row[-1]

    @property
    def verdict(self) -> RunningVerdict:
        """The verdict on the steps read so far."""
        return self._row[-1]

    def reset(self) -> None:
        """Forget every step."""
        self._row = self._start


def verdicts(compiled: automaton.Automaton) -> tuple[RunningVerdict, ...]:
    """The verdict of each state of an automaton."""
    return tuple(
        f"{'currently' if settled is None else 'permanently'}_{str(yes if settled is None else settled).lower()}"
        for yes, settled in zip(compiled.accepting, compiled.settled, strict=True)
    )


def _row(node: Formula, below: tuple, trace: Sequence, t: Truths) -> tuple:
    """The truth of a node at every step, from the rows of its operands."""
    match node, below:
        case F.Atom(name), _:
            return tuple([truth for step in trace for truth in t.told(step, (name,))])
        case F.Constant(value), _:
            return (t.true if value else t.false,) * len(trace)
        case F.Next(), (row,):
            return (*row[1:], t.false)
        case F.WeakNext(), (row,):
            return (*row[1:], t.true)
        case F.Previously(), (row,):
            return (t.false, *row[:-1])
        case F.Recently(), (row,):
            return _within(node, row, trace, t)
    if type(node) in POINTWISE:
        return tuple(map(partial(POINTWISE[type(node)], t), *below))
    start, rule = carried(node, t)
    if isinstance(node, F.PAST):
        return tuple(accumulate(zip(*below, strict=True), lambda then, now: rule(then, *now), initial=start))[1:]
    rows = tuple(row[::-1] for row in below)
    return tuple(accumulate(zip(*rows, strict=True), lambda then, now: rule(then, *now), initial=start))[:0:-1]


def _within(node: F.Recently, row: tuple, trace: Sequence, t: Truths) -> tuple:
    """The truth of a window at every step: of how many steps up to it are the body and the nearness true together."""
    times, last = [], BEGUN
    for step in trace:
        last, known = clock(t.time(step), last)
        times.append((last, known))
        if not known and not t.partial:
            raise ValueError("times that do not run backwards were required, one at every step; got none at a step")

    def near(i: int, j: int) -> Any:
        """Whether step j lies at most so long before step i, by the times told; one told behind i is no less."""
        if i == j:
            return t.true
        (now, known), then = times[i], times[j][0]
        before = next((time for time, told in times[j:] if told), LOST)
        return t.false if now - before > node.within else t.true if known and now - then <= node.within else None

    def counted(i: int) -> Any:
        lost = times[i][0] == LOST
        least = [t.true] + [t.false] * node.times  # whether that many count
        for j in range(i + 1):
            here = t.both(row[j], near(i, j)) if not lost or i == j else None
            for many in range(node.times, 0, -1):
                least[many] = t.either(least[many], t.both(here, least[many - 1]))
        return t.either(least[-1], None) if lost else least[-1]

    return tuple([counted(i) for i in range(len(trace))])


POINTWISE: dict[type, Callable] = {
    F.Not: lambda t, x: t.no(x),
    F.And: lambda t, x, y: t.both(x, y),
    F.Or: lambda t, x, y: t.either(x, y),
    F.Implies: lambda t, x, y: t.either(t.no(x), y),
    F.Iff: lambda t, x, y: t.both(t.either(t.no(x), y), t.either(t.no(y), x)),
    F.Xor: lambda t, x, y: t.either(t.both(x, t.no(y)), t.both(y, t.no(x))),
}


def carried(node: Formula, t: Truths) -> tuple:
    """How an operator carries a truth from step to step, past ones forwards and later ones backwards.

    The truth beyond the first (last) step, and the rule from that of the neighbour and those of the operands.
    """
    match node:
        case F.Once() | F.Eventually():
            return t.false, lambda then, x: t.either(x, then)
        case F.Historically() | F.Always():
            return t.true, lambda then, x: t.both(x, then)
        case F.Since():
            return t.false, lambda then, x, y: t.either(y, t.both(x, then))
        case F.Recently():  # of what the window held before: `Past`
            return NEVER, lambda then, x: t.either(then[0], t.both(x, then[1]))
        case F.Until():
            return t.false, lambda then, x, y: t.either(y, t.both(x, then))
        case F.WeakUntil():
            return t.true, lambda then, x, y: t.either(y, t.both(x, then))
        case F.Release():
            return t.true, lambda then, x, y: t.both(y, t.either(x, then))
    raise TypeError(f"a formula of wb.logic.formula was required; got {type(node).__name__}")
