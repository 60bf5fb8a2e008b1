"""Exact decisions about formulas and sets of them, each with its evidence.

Every question is asked as "is there a trace that satisfies all of these?".  A few formulas are
answered by a breadth-first search of the product of their automata, so that a trace found is a
shortest one.  For many, a SAT solver (`sat`) looks for traces of length 1, 2, ...; where there is none it
names the few formulas to blame, whose product says that no length will do, or which is the next that may.
Windows in time are decided without time: each becomes a predicate, with laws of what it may be, and times afterwards.
Each witness is checked again by `semantics.holds`, which shares no code with automata and solver.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from wb.logic import automaton, semantics
from wb.logic import formula as F
from wb.logic.automaton import Automaton, AutomatonError
from wb.logic.bdd import ALL, NONE, StepsError, StepSets
from wb.logic.formula import Formula
from wb.logic.sat import Bounded, Word
from wb.logic.semantics import holds, table
from wb.logic.times import SECOND

FEW = 4  # formulas whose product is searched at once
LEAST_EFFORT, MAX_EFFORT = 500, 100_000  # sets of steps that are met with one another in the search of a product
ALL_EFFORT = 1_000_000  # in all searches for one answer
TOGETHER = 6  # steps of a trace that is to satisfy many formulas at once
MAX_LENGTH = 32  # steps of a trace that many formulas satisfy together
COUNTED = 32  # steps that a window counts in what is decided


@dataclass(frozen=True, slots=True)
class Answer:
    """Yes or no (its truth value), and why.

    `witness` is a shortest trace that shows it.  Where none does, `core` holds the formulas asked
    about and given that settle it, a minimal set: without any one of them the answer is another.
    """

    question: str
    yes: bool
    witness: Word | None = None
    core: tuple[Formula, ...] = ()

    def __bool__(self) -> bool:
        return self.yes


def satisfiable(formula: Formula, given: Formula = F.TRUE) -> Answer:
    """Whether some trace satisfies the formula and `given`; the trace, or a core that no trace satisfies."""
    return _exists("satisfiable", (), F.And(formula, given), yes=True)


def valid(formula: Formula, given: Formula = F.TRUE) -> Answer:
    """Whether every trace that satisfies `given` satisfies the formula; else a shortest that does not."""
    return _exists("valid", (F.Not(formula),), given, yes=False)


def implies(first: Formula, second: Formula, given: Formula = F.TRUE) -> Answer:
    """Whether every trace of the first and `given` is one of the second; else a shortest that is not.

    The core is made of premises: parts of the first and of `given`.
    """
    return _exists("implies", (F.Not(second),), F.And(first, given), yes=False)


def equivalent(first: Formula, second: Formula, given: Formula = F.TRUE) -> Answer:
    """Whether both hold on the same traces of `given`; else a shortest trace that tells them apart."""
    there, back = implies(first, second, given), implies(second, first, given)
    apart = [answer.witness for answer in (there, back) if answer.witness is not None]
    core = tuple(dict.fromkeys(there.core + back.core))
    return Answer("equivalent", not apart, min(apart, key=len), ()) if apart else Answer("equivalent", True, None, core)


def counting_calls(
    question: Callable[[Formula, Formula, Formula], Answer], first: Formula, second: Formula, given: Formula = F.TRUE
) -> Answer:
    """What `implies` or `equivalent` answers of formulas whose `COUNT`s count calls: a step may add any number to one.

    A yes that rests on a step adding one at most is a no without a witness.  Counts of one body are ordered, never
    fall and are reached by what has been; nothing else is taken to follow from what is counted.
    """
    answer = question(first, second, given)
    counts = dict.fromkeys(node for part in (first, second) for node in F.subformulas(part) if _counts(node))
    if not answer or not counts:
        return answer
    taken = {name for part in (first, second, given) for name in F.atoms(part)}
    names = {node: F.Atom(_fresh(f"count_{k}", taken)) for k, node in enumerate(counts, 1)}
    laws = []
    for node, name in names.items():
        times, body, within = _counts(node)
        laws.append(F.Implies(name, F.Once(body)))
        laws += [F.Implies(F.Previously(name), name)] if within is None else []
        for other, fewer in names.items():
            less, same, longer = _counts(other)
            reached = longer is None or (within is not None and within <= longer)
            laws += [F.Implies(name, fewer)] if other != node and same == body and less <= times and reached else []
    free = [F.substitute(part, names) for part in (first, second, F.conjunction(tuple(map(F.Always, laws))))]
    answer = question(free[0], free[1], F.And(given, free[2]))
    return answer if answer else Answer(answer.question, False)


def _counts(node: Formula) -> tuple[int, Formula, int | None] | None:
    """How often something is to have held at the least, twice or more, what, and within which time (None: ever)."""
    if isinstance(node, F.Recently):
        return (node.times, node.body, node.within) if node.times > 1 else None
    found = F.counted(node)
    return (*found, None) if found is not None and found[0] > 1 else None


def _fresh(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def contradictory(first: Formula, second: Formula, given: Formula = F.TRUE) -> Answer:
    """Whether no trace satisfies both and `given`; else a shortest that does."""
    return _exists("contradictory", (), F.conjunction((first, second, given)), yes=False)


def vacuous(rule: Formula, given: Formula = F.TRUE) -> Answer:
    """Whether the rule can never fire where `given` holds; else a shortest trace on which it does.

    A rule ALWAYS (trigger IMPLIES …) fires where its trigger holds; any other formula where it is
    violated: it can never fire when it is valid.
    """
    found = trigger(rule)
    return _exists("vacuous", (F.Not(rule) if found is None else F.Eventually(found),), given, yes=False)


def trigger(rule: Formula) -> Formula | None:
    """The left side of a rule ALWAYS (left IMPLIES right); None for a formula of another shape."""
    match rule:
        case F.Always(F.Implies(left, _)):
            return left
    return None


def conjuncts(formula: Formula) -> tuple[Formula, ...]:
    """The formulas that a conjunction joins, left to right and without repetition; none for `true`."""
    parts: dict[Formula, None] = {}
    stack = [formula]
    while stack:
        node = stack.pop()
        if isinstance(node, F.And):
            stack += [node.right, node.left]
        elif node != F.TRUE:
            parts[node] = None
    return tuple(parts)


def shortest(formulas: Iterable[Formula], solver: Bounded | None = None) -> tuple[Word | None, tuple[Formula, ...]]:
    """A shortest trace that satisfies all formulas, and no others; or None and formulas that no trace satisfies.

    A `solver` keeps what it learned for the next question about some of the same formulas.  A trace of windows in time
    has times, and is a shortest where all others are.
    `AutomatonError` when the formulas that have to be searched together are too many or too large, or no times can be
    found for the steps of the trace that was.
    """
    formulas = tuple(dict.fromkeys(formulas))
    return _dated(formulas, solver) if any(map(F.windows, formulas)) else _shortest(formulas, solver)


def _dated(formulas: tuple[Formula, ...], solver: Bounded | None) -> tuple[Word | None, tuple[Formula, ...]]:
    """`shortest` of formulas with windows in time."""
    plain = untimed(formulas)
    for given in ((), plain.at_once, plain.apart):
        trace, part = _shortest(tuple(dict.fromkeys((*plain.formulas, *plain.laws, *given))), solver)
        if trace is None and not given:
            return None, tuple([one for one, bare in zip(formulas, plain.formulas, strict=True) if bare in part])
        found = dated(trace, plain.windows) if trace is not None else None
        if found is not None:
            _recheck(formulas, found)
            return found, formulas
    raise AutomatonError("undecided: no times were found for the steps of a trace that would show it")


def _shortest(formulas: tuple[Formula, ...], solver: Bounded | None) -> tuple[Word | None, tuple[Formula, ...]]:
    """`shortest` of formulas without windows in time."""
    if len(formulas) <= FEW:
        with contextlib.suppress(AutomatonError):
            return _product_of(formulas), formulas
    with contextlib.nullcontext(solver) if solver else Bounded() as bounded:
        blamed: tuple[Formula, ...] = ()
        length, effort, spent = 1, LEAST_EFFORT, 0
        while length <= MAX_LENGTH:
            trace, part = bounded.trace(formulas, length)
            if trace is not None:
                _recheck(formulas, trace)
                return trace, formulas
            blamed = tuple(dict.fromkeys(blamed + part))
            length += 1
            for suspects in dict.fromkeys((part, blamed)) if spent < ALL_EFFORT else ():
                spent += effort
                try:
                    longer = _product_of(suspects, effort)
                except AutomatonError:  # the next length may show a trace, or more effort that there is none
                    continue
                if longer is None:
                    return None, suspects
                length = max(length, len(longer))
            effort = min(2 * effort, MAX_EFFORT)
    raise AutomatonError(
        f"undecided: no trace of up to {MAX_LENGTH} steps satisfies these {len(formulas)} formulas, and they are "
        "too many to show that none does"
    )


def together(
    wanted: Sequence[Formula], formulas: Sequence[Formula], solver: Bounded, length: int = TOGETHER
) -> frozenset[Formula]:
    """Wanted formulas each of which some trace of that many steps satisfies, beside all `formulas`; not always all."""
    plain = untimed((*wanted, *formulas))
    meant = dict(zip(plain.formulas, wanted, strict=False))
    others = (*plain.formulas[len(wanted) :], *plain.laws)
    found: set[Formula] = set()
    while len(found) < len(wanted):
        left = [bare for bare, formula in meant.items() if formula not in found]
        trace, kept = solver.together(left, others, length)
        if trace is not None and plain.windows:
            trace = dated(trace, plain.windows)
        if trace is None:
            break
        _recheck((*[meant[bare] for bare in kept], *formulas), trace)
        found.update(meant[bare] for bare in kept)
    return frozenset(found)


def core(formulas: Sequence[Formula], solver: Bounded | None = None) -> tuple[Formula, ...]:
    """Of formulas that no trace satisfies, a part that none does either, and of which every smaller part has one."""
    kept = list(formulas)
    for formula in formulas:
        rest = [other for other in kept if other is not formula]
        if shortest(rest, solver)[0] is None:
            kept = rest
    return tuple(kept)


def _exists(question: str, target: tuple[Formula, ...], premises: Formula, *, yes: bool) -> Answer:
    """The answer to a question that a trace of the target and all premises answers with `yes`."""
    trace, searched = shortest((*target, *conjuncts(premises)))
    if trace is not None:
        return Answer(question, yes, trace)
    return Answer(question, not yes, None, tuple(formula for formula in core(searched) if formula not in target))


def _recheck(formulas: Sequence[Formula], trace: Word) -> None:
    """The independent check of a witness; a failure is a defect of `automaton`, and is never passed on as an answer."""
    for formula in formulas:
        if not holds(formula, trace):
            raise AssertionError(
                f"automaton and definition disagree on {formula} for {trace}: please report this formula"
            )


def _product_of(formulas: Sequence[Formula], effort: int = MAX_EFFORT) -> Word | None:
    """A shortest trace that satisfies all formulas, with the fewest predicates true, None when there is none."""
    if not formulas:
        return (frozenset(),)
    trace = _product([automaton.compile(formula) for formula in formulas], effort)
    if trace is not None:
        _recheck(formulas, trace)
    return trace


def _product(automata: Sequence[Automaton], effort: int) -> Word | None:
    """A shortest trace that all automata accept, None when there is none; `AutomatonError` beyond the effort."""
    try:
        return _searched(_Product(automata, effort))
    except StepsError as error:
        raise AutomatonError(str(error)) from None


class _Product:
    """The states of several automata together, and what leads from one to the next: a set of steps."""

    def __init__(self, automata: Sequence[Automaton], effort: int) -> None:
        self.automata = tuple(automata)
        self.effort = effort
        self.steps = StepSets(tuple(dict.fromkeys(name for one in automata for name in one.names)))
        self._letters = [_letters(one, self.steps) for one in automata]
        self._live: dict[tuple[int, int], list[tuple[int, int]]] = {}

    def nexts(self, state: tuple[int, ...]) -> dict[tuple[int, ...], int]:
        """The states after this one from which all automata may still accept, each with the steps to it."""
        blocks = {(): ALL}
        for place in enumerate(state):
            parts = self._nexts(*place)
            self.effort -= len(blocks) * len(parts)
            if self.effort < 0:
                raise AutomatonError(
                    f"at most {MAX_EFFORT} sets of steps are met in one search; these {len(state)} formulas need more"
                )
            blocks = {
                (*then, to): both
                for then, block in blocks.items()
                for to, part in parts
                if (both := self.steps.both(block, part)) != NONE
            }
        return blocks

    def _nexts(self, i: int, q: int) -> list[tuple[int, int]]:
        """The live states after state q of automaton i, each with the steps to it."""
        if (i, q) not in self._live:
            sets: dict[int, int] = {}
            for letter, part in self._letters[i]:
                then = self.automata[i].rows[q][letter]
                if self.automata[i].settled[then] is not False:
                    sets[then] = self.steps.either(sets.get(then, NONE), part)
            self._live[i, q] = list(sets.items())
        return self._live[i, q]

    def accepts(self, state: tuple[int, ...]) -> bool:
        """Whether all automata accept a trace that ends here."""
        return all([one.accepting[q] for one, q in zip(self.automata, state, strict=True)])


def _searched(product: _Product) -> Word | None:
    start = (0,) * len(product.automata)
    came: dict[tuple[int, ...], tuple[tuple[int, ...], int] | None] = {start: None}
    level = [start]
    while level:
        found = []
        for state in level:
            for then, steps in product.nexts(state).items():
                if then not in came:
                    came[then] = (state, steps)
                    found.append(then)
        ends = [_path(came, state, product.steps) for state in found if product.accepts(state)]
        if ends:
            return min(ends, key=lambda trace: sum(map(len, trace)))
        level = found
    return None


def _letters(one: Automaton, steps: StepSets) -> list[tuple[int, int]]:
    """A letter of each kind that moves the automaton in its own way, and the set of its steps."""
    blocks = {0: ALL}
    for i, test in enumerate(one.inputs):
        inside = steps.of(test)
        halves = [(letter | 1 << i, steps.both(block, inside)) for letter, block in blocks.items()]
        halves += [(letter, steps.without(block, inside)) for letter, block in blocks.items()]
        blocks = {letter: half for letter, half in halves if half != NONE}
    kinds: dict[tuple[int, ...], tuple[int, int]] = {}
    for letter, block in blocks.items():
        column = tuple([row[letter] for row in one.rows])
        first, sofar = kinds.get(column, (letter, NONE))
        kinds[column] = (first, steps.either(sofar, block))
    return list(kinds.values())


def _path(came: dict, state: tuple[int, ...], steps: StepSets) -> Word:
    """The steps that led to a state, each with the fewest predicates true."""
    trace = []
    while came[state] is not None:
        state, some = came[state]
        trace.append(steps.least(some))
    return tuple(reversed(trace))


# ---- windows in time -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Untimed:
    """Formulas without their windows.

    The laws hold on every trace with times, so that formulas which no trace satisfies together with them are satisfied
    by none with times either.  A trace that does satisfy them is one of the formulas where times can be found for its
    steps: what its windows hold bounds the time between two steps, and such bounds are met or not (Dechter, Meiri &
    Pearl 1991).
    `formulas` are theirs, in order; `windows` the predicate of each window and the window, whose body is without
    windows too.  Under `laws` they say no more than before; under `at_once` (or `apart`) as well they say what they
    say of steps that are all at one time (or further apart than all windows are long).
    """

    formulas: tuple[Formula, ...]
    windows: Mapping[str, F.Recently]
    laws: tuple[Formula, ...]
    at_once: tuple[Formula, ...]
    apart: tuple[Formula, ...]


def untimed(formulas: Sequence[Formula]) -> Untimed:
    """The formulas with a predicate in place of each window; `AutomatonError` where one counts beyond `COUNTED`."""
    taken = {name for formula in formulas for name in F.atoms(formula)}
    found: dict[F.Recently, str] = {}
    plain: dict[Formula, Formula] = {}

    def named(window: F.Recently) -> F.Atom:
        if window not in found:
            number = len(found) + 1
            while f"window_{number}" in taken:
                number += len(taken) + 1
            found[window] = f"window_{number}"
        return F.Atom(found[window])

    def cut(node: Formula, below: tuple[Formula, ...]) -> Formula:
        node = F.rebuild(node, below)
        if not isinstance(node, F.Recently):
            return node
        if node.times > COUNTED:
            raise AutomatonError(f"undecided: a window that counts to at most {COUNTED} was required; got {node.times}")
        for fewer in range(1, node.times):  # how many of the steps count is known of each number
            named(F.Recently(node.body, fewer, node.within))
        return named(node)

    for formula in formulas:
        plain[formula] = F.fold(formula, cut) if F.windows(formula) else formula
    families: dict[tuple[Formula, int], list[F.Atom]] = {}
    for window in sorted(found, key=lambda one: one.times):
        families.setdefault((window.body, window.within), []).append(F.Atom(found[window]))
    laws = [F.Always(_counting(body, counts)) for (body, _), counts in families.items()]
    for (one, shorter), (other, longer) in permutations(families, 2):
        if shorter <= longer:
            laws.append(F.Always(_between(one, families[one, shorter], other, families[other, longer])))
    sure = [(F.Atom(name), window) for window, name in found.items()]
    return Untimed(
        tuple([plain[formula] for formula in formulas]),
        {name: window for window, name in found.items()},
        tuple(laws),
        tuple([F.Always(F.Iff(name, F.at_least(window.times, window.body))) for name, window in sure]),
        tuple([F.Always(F.Iff(name, window.body if window.times == 1 else F.FALSE)) for name, window in sure]),
    )


def _counting(body: Formula, counts: Sequence[F.Atom]) -> Formula:
    """What holds of the windows that reach 1, 2, … steps of a body: a step adds one, and else they only lose some."""
    laws = [F.Implies(body, counts[0])]
    for count, fewer in zip(counts, (None, *counts), strict=False):
        added = body if fewer is None else F.And(body, F.Previously(fewer))
        laws.append(F.Implies(count, F.Or(added, F.Previously(count))))
        laws += [F.Implies(count, fewer)] if fewer is not None else []
    return F.conjunction(tuple(laws))


def _between(one: Formula, ones: Sequence[F.Atom], other: Formula, others: Sequence[F.Atom]) -> Formula:
    """What a window says of another that is as long or longer: it reaches all that came no earlier than what the first
    reaches, and so at least as many steps where every step that counts for the first counts for it."""
    more = F.conjunction(tuple([F.Implies(a, b) for a, b in zip(ones, others, strict=False)]))
    if one == other:
        return more
    latest = F.Implies(F.And(F.Since(F.Not(one), other), ones[0]), others[0])
    return F.And(latest, F.Implies(F.Historically(F.Implies(one, other)), more))


def dated(trace: Word, windows: Mapping[str, F.Recently]) -> Word | None:
    """The trace with times for its steps, such that each window holds where its predicate does; None if there are none.

    Whole seconds beyond a window's end are tried before nanoseconds.
    """
    for beyond in (SECOND, 1):
        bounds = _bounds(trace, windows, beyond)
        found = _times(len(trace), bounds) if bounds is not None else None
        if found is not None:
            return tuple([_without(step, windows) | {semantics.at(at)} for step, at in zip(trace, found, strict=True)])
    return None


def _without(step: frozenset[str], windows: Mapping[str, F.Recently]) -> frozenset[str]:
    return frozenset([name for name in step if name not in windows])


def _bounds(trace: Word, windows: Mapping[str, F.Recently], beyond: int) -> list[tuple[int, int, int]] | None:
    """(i, j, d) for each bound "step i is at most d later than step j"; None where a window counts what was not."""
    bounds = [(i, i + 1, 0) for i in range(len(trace) - 1)]
    for name, window in windows.items():
        held = [i for i, yes in enumerate(table(window.body, trace)) if yes]
        for i, step in enumerate(trace):
            before = [j for j in held if j <= i]
            if len(before) >= window.times:
                first = before[-window.times]
                bounds.append((i, first, window.within) if name in step else (first, i, -window.within - beyond))
            elif name in step:
                return None
    return bounds


def _times(steps: int, bounds: Sequence[tuple[int, int, int]]) -> list[int] | None:
    """The earliest times from 0 within the bounds; None where they cannot be met (Bellman-Ford)."""
    found = [0] * steps
    for _ in range(steps + 1):
        moved = False
        for later, earlier, most in bounds:
            if found[later] - found[earlier] > most:
                found[earlier], moved = found[later] - most, True
        if not moved:
            return found
    return None
