"""Exact decisions about formulas and sets of them, each with its evidence.

Every question is asked as "is there a trace that satisfies all of these?" and answered by a
breadth-first search of the product of their automata, so that a trace found is a shortest one, with
as few predicates true as its steps allow.  Of a large set only those formulas enter the product that
a candidate trace violates: no trace for some of them is none for all, and a trace for some of them
that happens to satisfy the rest is a shortest for all.  Each witness is checked again by
`ltlf.holds`, which shares no code with the automata.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from wb import automaton
from wb import formula as F
from wb.automaton import Automaton, AutomatonError
from wb.formula import Formula
from wb.ltlf import holds

Trace = tuple[frozenset[str], ...]
MAX_JOINT = 14  # predicates of all formulas that are searched together


@dataclass(frozen=True, slots=True)
class Answer:
    """Yes or no (its truth value), and why.

    `witness` is a shortest trace that shows it, None where no trace does; `core` is then a minimal
    set of the formulas asked about (and given) that settles it: without any one of them it fails.
    """

    question: str
    yes: bool
    witness: Trace | None = None
    core: tuple[Formula, ...] = ()

    def __bool__(self) -> bool:
        return self.yes


def satisfiable(formula: Formula, given: Formula = F.TRUE) -> Answer:
    """Whether some trace satisfies the formula and `given`; the trace, or a core that no trace satisfies."""
    return _exists("satisfiable", (formula,), given, yes=True)


def valid(formula: Formula, given: Formula = F.TRUE) -> Answer:
    """Whether every trace that satisfies `given` satisfies the formula; else a shortest that does not."""
    return _exists("valid", (F.Not(formula),), given, yes=False)


def implies(first: Formula, second: Formula, given: Formula = F.TRUE) -> Answer:
    """Whether every trace of the first and `given` is one of the second; else a shortest that is not."""
    return _exists("implies", (F.Not(second), *conjuncts(first)), given, yes=False)


def equivalent(first: Formula, second: Formula, given: Formula = F.TRUE) -> Answer:
    """Whether both hold on the same traces of `given`; else a shortest trace that tells them apart."""
    return _exists("equivalent", (F.Xor(first, second),), given, yes=False)


def contradictory(first: Formula, second: Formula, given: Formula = F.TRUE) -> Answer:
    """Whether no trace satisfies both and `given`; else a shortest that does."""
    return _exists("contradictory", (*conjuncts(first), *conjuncts(second)), given, yes=False)


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


def shortest(formulas: Iterable[Formula], given: Iterable[Formula] = ()) -> tuple[Trace | None, tuple[Formula, ...]]:
    """A shortest trace that satisfies all, and the formulas that were searched together to find it.

    With None for the trace, no trace satisfies even the formulas returned.
    `AutomatonError` when too many formulas with too many predicates had to be searched together.
    """
    chosen = list(dict.fromkeys(formulas))
    others = [formula for formula in dict.fromkeys(given) if formula not in set(chosen)]
    compiled: dict[Formula, Automaton] = {}
    while True:
        for formula in chosen:
            if formula not in compiled:
                compiled[formula] = automaton.compile(formula)
        trace = _product([compiled[formula] for formula in chosen])
        if trace is None:
            return None, tuple(chosen)
        violated = next((formula for formula in others if not holds(formula, trace)), None)
        if violated is None:
            _recheck(chosen, trace)
            return trace, tuple(chosen)
        chosen.append(violated)
        others.remove(violated)


def _exists(question: str, formulas: tuple[Formula, ...], given: Formula, *, yes: bool) -> Answer:
    """The answer to a question that a trace of all formulas and `given` answers with `yes`."""
    trace, searched = shortest(formulas, conjuncts(given))
    if trace is not None:
        return Answer(question, yes, trace)
    return Answer(question, not yes, None, _minimal(searched))


def _minimal(formulas: Sequence[Formula]) -> tuple[Formula, ...]:
    """A subset that no trace satisfies, and of which every proper part has one."""
    core = list(formulas)
    for formula in formulas:
        rest = [other for other in core if other != formula]
        if rest and shortest(rest)[0] is None:
            core = rest
    return tuple(core)


def _recheck(formulas: Sequence[Formula], trace: Trace) -> None:
    for formula in formulas:
        if not holds(formula, trace):
            raise AssertionError(f"automaton and definition disagree on {formula} for {trace}: please report this formula")


def _product(automata: Sequence[Automaton]) -> Trace | None:
    """A shortest trace that all automata accept, None when there is none."""
    names = sorted({name for one in automata for name in one.names})
    if len(names) > MAX_JOINT:
        raise AutomatonError(f"at most {MAX_JOINT} predicates can be searched together; got {len(names)}")
    moves = _joint_letters(automata, names)
    start = (0,) * len(automata)
    came: dict[tuple, tuple | None] = {start: None}
    level = [start]
    while level:
        found = []
        for state in level:
            rows = [one.rows[q] for one, q in zip(automata, state, strict=True)]
            for letter, parts in moves:
                then = tuple([row[part] for row, part in zip(rows, parts, strict=True)])
                if then in came:
                    continue
                came[then] = (state, letter)
                found.append(then)
                if all(one.accepting[q] for one, q in zip(automata, then, strict=True)):
                    return _path(came, state, letter, names)
        level = [state for state in found if not any(one.settled[q] is False for one, q in zip(automata, state, strict=True))]
    return None


def _joint_letters(automata: Sequence[Automaton], names: list[str]) -> list[tuple[int, tuple[int, ...]]]:
    """Steps that differ for some automaton, each with its letter in every one; fewest true predicates first."""
    places = [[names.index(name) for name in one.names] for one in automata]
    seen: dict[tuple[int, ...], int] = {}
    columns = [list(zip(*one.rows, strict=True)) for one in automata]
    same = [[column.index(this) for this in column] for column in columns]  # the first letter that moves alike
    for letter in sorted(range(1 << len(names)), key=int.bit_count):
        parts = tuple([alike[sum((letter >> p & 1) << i for i, p in enumerate(place))]
                       for alike, place in zip(same, places, strict=True)])
        seen.setdefault(parts, letter)
    return [(letter, parts) for parts, letter in seen.items()]


def _path(came: dict, state: tuple, letter: int, names: list[str]) -> Trace:
    """The steps that led to a state, and one more."""
    letters = [letter]
    while came[state] is not None:
        state, letter = came[state]
        letters.append(letter)
    return tuple(frozenset(name for i, name in enumerate(names) if letter >> i & 1) for letter in reversed(letters))
