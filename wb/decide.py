"""Exact decisions about formulas and sets of them, each with its evidence.

Every question is asked as "is there a trace that satisfies all of these?".  A few formulas are
answered by a breadth-first search of the product of their automata, so that a trace found is a
shortest one.  For many, `bounded` looks for traces of length 1, 2, ...; where there is none it names
the few formulas to blame, whose product says that no length will do, or which is the next that may.
Each witness is checked again by `ltlf.holds`,
which shares no code with automata and solver.
"""
from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from wb import automaton
from wb import formula as F
from wb.automaton import Automaton, AutomatonError
from wb.bounded import Bounded
from wb.formula import Formula
from wb.ltlf import holds
from wb.steps import ALL, NONE, Steps, StepsError

Trace = tuple[frozenset[str], ...]
FEW = 4  # formulas whose product is searched at once
MAX_MOVES = 1024  # steps that formulas searched together tell apart
MAX_STATES = 20_000  # of their product
MAX_LENGTH = 32  # steps of a trace that many formulas satisfy together


@dataclass(frozen=True, slots=True)
class Answer:
    """Yes or no (its truth value), and why.

    `witness` is a shortest trace that shows it.  Where none does, `core` holds the formulas asked
    about and given that settle it, a minimal set: without any one of them the answer is another.
    """

    question: str
    yes: bool
    witness: Trace | None = None
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


def shortest(formulas: Iterable[Formula], solver: Bounded | None = None) -> tuple[Trace | None, tuple[Formula, ...]]:
    """A shortest trace that satisfies all formulas, and no others; or None and formulas that no trace satisfies.

    A `solver` keeps what it learned for the next question about some of the same formulas.
    `AutomatonError` when the formulas that have to be searched together are too many or too large.
    """
    formulas = tuple(dict.fromkeys(formulas))
    if len(formulas) <= FEW:
        with contextlib.suppress(AutomatonError):
            return _product_of(formulas), formulas
    with contextlib.nullcontext(solver) if solver else Bounded() as bounded:
        blamed: tuple[Formula, ...] = ()
        too_large: set[tuple[Formula, ...]] = set()
        length = 1
        while length <= MAX_LENGTH:
            trace, part = bounded.trace(formulas, length)
            if trace is not None:
                _recheck(formulas, trace)
                return trace, formulas
            blamed = tuple(dict.fromkeys(blamed + part))
            length += 1
            for suspects in {part, blamed} - too_large:
                try:
                    longer = _product_of(suspects)
                except AutomatonError:  # the next length may show a trace
                    too_large.add(suspects)
                    continue
                if longer is None:
                    return None, suspects
                length = max(length, len(longer))
    raise AutomatonError(f"undecided: no trace of up to {MAX_LENGTH} steps satisfies these {len(formulas)} formulas, and they are too many to show that none does")


def core(formulas: Sequence[Formula]) -> tuple[Formula, ...]:
    """Of formulas that no trace satisfies, a part that none does either, and of which every smaller part has one."""
    kept = list(formulas)
    for formula in formulas:
        rest = [other for other in kept if other is not formula]
        if shortest(rest)[0] is None:
            kept = rest
    return tuple(kept)


def _exists(question: str, target: tuple[Formula, ...], premises: Formula, *, yes: bool) -> Answer:
    """The answer to a question that a trace of the target and all premises answers with `yes`."""
    trace, searched = shortest((*target, *conjuncts(premises)))
    if trace is not None:
        return Answer(question, yes, trace)
    return Answer(question, not yes, None, tuple(formula for formula in core(searched) if formula not in target))


def _recheck(formulas: Sequence[Formula], trace: Trace) -> None:
    """The independent check of a witness; a failure is a defect of `automaton`, and is never passed on as an answer."""
    for formula in formulas:
        if not holds(formula, trace):
            raise AssertionError(f"automaton and definition disagree on {formula} for {trace}: please report this formula")


def _product_of(formulas: Sequence[Formula]) -> Trace | None:
    """A shortest trace that satisfies all formulas, with the fewest predicates true, None when there is none."""
    if not formulas:
        return (frozenset(),)
    trace = _product([automaton.compile(formula) for formula in formulas])
    if trace is not None:
        _recheck(formulas, trace)
    return trace


def _product(automata: Sequence[Automaton]) -> Trace | None:
    """A shortest trace that all automata accept, None when there is none."""
    moves = _moves(automata)
    start = (0,) * len(automata)
    came: dict[tuple, tuple | None] = {start: None}
    level = [start]
    while level:
        found = []
        for state in level:
            rows = [one.rows[q] for one, q in zip(automata, state, strict=True)]
            for letters, step in moves:
                then = tuple([row[letter] for row, letter in zip(rows, letters, strict=True)])
                if then in came:
                    continue
                came[then] = (state, step)
                if all([one.accepting[q] for one, q in zip(automata, then, strict=True)]):
                    return _path(came, then)
                if not any([one.settled[q] is False for one, q in zip(automata, then, strict=True)]):
                    found.append(then)
        level = found
        if len(came) > MAX_STATES:
            raise AutomatonError(f"at most {MAX_STATES} joint states are searched; these {len(automata)} formulas have more")
    return None


def _moves(automata: Sequence[Automaton]) -> list[tuple[tuple[int, ...], frozenset[str]]]:
    """Steps that some automaton tells apart, as its letter in each and a least step; fewest true predicates first."""
    names = dict.fromkeys(name for one in automata for name in one.names)
    blocks = {(): ALL}
    try:
        steps = Steps(tuple(names))
        for one in automata:
            classes = _classes(one, steps)
            blocks = {(*letters, letter): both for letters, block in blocks.items() for letter, part in classes
                      if (both := steps.both(block, part)) != NONE}
            if len(blocks) > MAX_MOVES:
                raise StepsError(f"at most {MAX_MOVES} kinds of steps are told apart; these {len(automata)} formulas have more")
    except StepsError as error:
        raise AutomatonError(str(error)) from None
    return sorted(((letters, steps.least(block)) for letters, block in blocks.items()), key=lambda move: len(move[1]))


def _classes(one: Automaton, steps: Steps) -> list[tuple[int, int]]:
    """The steps that move the automaton alike: a letter of each kind, and the set of steps."""
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


def _path(came: dict, state: tuple) -> Trace:
    """The steps that led to a state."""
    trace = []
    while came[state] is not None:
        state, step = came[state]
        trace.append(step)
    return tuple(reversed(trace))
