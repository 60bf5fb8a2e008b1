"""One rule in three forms: automaton, generated Python decision, hard-weight circuit; do they answer alike?

A rule ALWAYS (body) whose body looks only back can be decided at every call.  The three forms come
about by separate paths: the automaton from the formula's backward states, the decision as source text
that is run (past subformulas are remembered from call to call), the circuit as the worlds that keep
the rule when its weight admits no breach (ShieldAgent, Eq. 4, theta to infinity).  They are compared
on every trace there is: a search over the states of automaton and decision together ends after
finitely many, and shows the shortest trace on which two forms part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations

from oracles.worlds import enumerate_worlds
from wb.logic import automaton
from wb.logic import formula as F
from wb.logic.automaton import Automaton
from wb.logic.decide import Word
from wb.logic.formula import Formula
from wb.logic.semantics import holds
from wb.rules.rule import Rule
from wb.shield.circuit import HARD, Circuit

SHOWN = {
    F.Not: "(not {0})",
    F.And: "({0} and {1})",
    F.Or: "({0} or {1})",
    F.Xor: "({0} is not {1})",
    F.Implies: "({1} or not {0})",
    F.Iff: "({0} is {1})",
    F.Once: "({0} or before[{2}])",
    F.Historically: "({0} and before[{2}])",
    F.Since: "({1} or ({0} and before[{2}]))",
    F.Previously: "before[{2}]",
}
Memory = tuple[bool, ...]


class FormError(ValueError):
    """The rule has no such form; the message says what was required."""


@dataclass(frozen=True, slots=True)
class Written:
    """A decision as Python source: `decide(now, before)` gives (allowed, remembered).

    `now` holds the truth of each of `names`, `before` what the last call remembered, `start` before
    the first call.  The source holds indices only, never a name.
    """

    names: tuple[str, ...]
    source: str
    start: Memory

    def function(self) -> Callable[[tuple[bool, ...], Memory], tuple[bool, Memory]]:
        """The decision, ready to be called."""
        scope: dict[str, Callable] = {}
        exec(self.source, {"__builtins__": {}}, scope)
        return scope["decide"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Whether the forms answer alike on every trace; if not, a shortest trace and what each says of its last step.

    An answer is True where taking `action` in the last step breaks the rule and leaving it would not
    (with `action` "", where the step breaks the rule).
    """

    agree: bool
    trace: Word | None = None
    action: str = ""
    answers: tuple[tuple[str, bool], ...] = ()

    def __bool__(self) -> bool:
        return self.agree


def write(formula: Formula) -> Written:
    """The decision that a rule ALWAYS (body) makes at every call; `FormError` where the body looks ahead."""
    match formula:
        case F.Always(body) if not any(isinstance(node, F.FUTURE) for node in F.subformulas(body)):
            pass
        case _:
            raise FormError(
                "a rule ALWAYS (body) whose body looks only back was required: no other can be decided at a call"
            )
    names = tuple(sorted(F.atoms(body)))
    past = [node for node in F.subformulas(body) if isinstance(node, F.PAST)]
    kept = [node.body if isinstance(node, F.Previously) else node for node in past]
    lines, place = [], {}
    for node in F.subformulas(body):
        parts = [place[child] for child in F.children(node)]
        place[node] = f"t{len(place)}"
        lines.append(f"    {place[node]} = {_expression(node, parts, names, past)}")
    remembered = ", ".join(place[node] for node in kept) + ("," if kept else "")
    source = "\n".join(["def decide(now, before):", *lines, f"    return {place[body]}, ({remembered})"]) + "\n"
    return Written(names, source, tuple(isinstance(node, F.Historically) for node in past))


def compare(
    rule: Rule, actions: tuple[str, ...], decision: Written | None = None, machine: Automaton | None = None
) -> Comparison:
    """Whether automaton, generated decision and hard-weight circuit of a rule answer alike on every trace.

    `decision` and `machine` are those of the rule unless others are given to be held against it.
    `FormError` or `automaton.AutomatonError` where the rule has no such form.
    """
    decision = decision or write(rule.formula)
    machine = machine or automaton.compile(rule.formula)
    function, steps = decision.function(), tuple(_steps(machine.names))
    seen, level = {(0, decision.start)}, [((0, decision.start), ())]
    while level:
        found = []
        for (state, memory), trace in level:
            for step in steps:
                now = (*trace, step)
                parted = _parted(
                    rule,
                    actions,
                    machine,
                    state,
                    lambda names, memory=memory: function(tuple(n in names for n in decision.names), memory),
                    now,
                )
                if parted is not None:
                    return parted
                allowed, remembered = function(tuple(name in step for name in decision.names), memory)
                then = (machine.rows[state][machine.letter(step)], remembered)
                if allowed and then not in seen:
                    seen.add(then)
                    found.append((then, now))
        level = found
    return Comparison(True)


def _parted(
    rule: Rule, actions: tuple[str, ...], machine: Automaton, state: int, decide: Callable, trace: Word
) -> Comparison | None:
    """How the forms part on the last step of a trace, None where they agree."""
    step = trace[-1]

    def by_automaton(names: frozenset[str]) -> bool:
        return machine.settled[machine.rows[state][machine.letter(names)]] is False

    def by_decision(names: frozenset[str]) -> bool:
        return not decide(names)[0]

    answers = (
        ("automaton", by_automaton(step)),
        ("decision", by_decision(step)),
        ("circuit", not _keeps(rule, trace[:-1])(rule, step)),
    )
    if len({said for _, said in answers}) > 1:
        return Comparison(False, trace, "", answers)
    for action in step.intersection(actions):
        left = step - {action}
        answers = (
            ("automaton", by_automaton(step) and not by_automaton(left)),
            ("decision", by_decision(step) and not by_decision(left)),
            ("circuit", _denied(rule, action, trace)),
        )
        if len({said for _, said in answers}) > 1:
            return Comparison(False, trace, action, answers)
    return None


def _denied(rule: Rule, action: str, trace: Word) -> bool:
    """Whether the circuit of the rule alone, its weight hard, gives leaving the action all probability."""
    evidence = {name: name in trace[-1] for name in rule.predicates if name != action}
    try:
        masses = enumerate_worlds(Circuit(action, (rule,), (HARD,)), _keeps(rule, trace[:-1]), evidence)
    except ValueError:  # both worlds break the rule: taking the action is not to blame
        return False
    return masses.taken == 0.0


def _keeps(rule: Rule, before: Word) -> Callable[[Rule, frozenset[str]], bool]:
    return lambda _, world: holds(rule.formula, (*before, world))


def _expression(node: Formula, parts: list[str], names: tuple[str, ...], past: list[Formula]) -> str:
    if isinstance(node, F.Atom):
        return f"now[{names.index(node.name)}]"
    if isinstance(node, F.Constant):
        return str(node.value)
    padded = [*parts, ""][:2]
    return SHOWN[type(node)].format(*padded, past.index(node) if node in past else "")


def _steps(names: tuple[str, ...]) -> Iterator[frozenset[str]]:
    """Every step over the names, fewest true ones first."""
    for count in range(len(names) + 1):
        yield from map(frozenset, combinations(names, count))
