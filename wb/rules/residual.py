"""Which tools a rule bears on, and what is left of it at a call.

A rule `ALWAYS body` bears on a tool when calling the tool can make `body` false at the last step.  What
is left is propositional over predicates of that step and past subformulas, whose value the steps so
far decide.  The objects that the call names take the place of variables, as in `get(call.id)`; a variable
that the call does not name stays, and means all objects.  A rule about later steps has no such form: it is
monitored, not guarded, and said to be so.
"""

from __future__ import annotations

from dataclasses import dataclass

from wb.domain.tools import Toolbox
from wb.logic import formula as f
from wb.logic.formula import Formula
from wb.rules.rule import Predicate, Rule, RuleSet


@dataclass(frozen=True, slots=True)
class Unguarded:
    """A rule that no tool guard can decide, and why."""

    rule: str
    reason: str


def unguarded(toolbox: Toolbox, ruleset: RuleSet) -> tuple[Unguarded, ...]:
    """The rules that are in no tool's contract, each with its reason."""
    found = []
    for rule in ruleset.rules:
        if not any(bearing(rule, tool.name, ruleset) is not None for tool in toolbox.tools):
            found.append(Unguarded(rule.id, _why(rule, ruleset)))
    return tuple(found)


def bearing(rule: Rule, tool: str, ruleset: RuleSet) -> Formula | None:
    """What must hold at a step that calls the tool; None where the call cannot break the rule."""
    body = _body(rule.formula)
    if rule.type != "action" or body is None:
        return None
    mine = {p.name: own_objects(p) for p in ruleset.predicates if p.kind == "action" and tool in p.tools}
    taken = [atom for name in sorted(_present(body)) if (atom := f.Atom(name)).predicate in mine]
    if not taken:
        return None
    named = [dict(zip(atom.objects, mine[atom.predicate], strict=False)) for atom in taken]
    least = [one for i, one in enumerate(named) if not any(_within(o, one, j < i) for j, o in enumerate(named))]
    residual: Formula = f.TRUE
    for objects in least:
        told = f.instance(body, objects)
        true = [atom for name in _present(told) if (atom := f.Atom(name)).predicate in mine]
        true = [atom for atom in true if atom.objects in ((), mine[atom.predicate])]
        residual = _and(residual, _fold(told, frozenset(atom.name for atom in true)))
    return None if residual == f.TRUE else residual


def own_objects(predicate: Predicate) -> tuple[str, ...]:
    """What tells the predicate's objects at a call that is judged, as it stands in a formula."""
    return tuple(".".join(path.names) for path in predicate.objects)


def _within(one: dict[str, str], other: dict[str, str], before: bool) -> bool:
    """Whether a choice of objects says at most what the other does; of equal ones that which comes first."""
    return one.items() < other.items() or (before and one == other)


def _body(formula: Formula) -> Formula | None:
    """What the formula asks of each step, in past form; None where it speaks of later steps.

    `NOT a WUNTIL z` is `ALWAYS(a IMPLIES ONCE z)`: the first `a` needs a `z` no later, and then all do.
    """
    match formula:
        case f.Always(body) if not any(isinstance(s, f.FUTURE) for s in f.subformulas(body)):
            return body
        case f.Not(f.Eventually(body)) if not any(isinstance(s, f.FUTURE) for s in f.subformulas(body)):
            return f.Not(body)
        case f.WeakUntil(f.Not(first), second) | f.Or(f.Until(f.Not(first), second), f.Always(f.Not(_))):
            parts = (first, second)
            if any(isinstance(s, f.FUTURE) for p in parts for s in f.subformulas(p)):
                return None
            same = not isinstance(formula, f.Or) or formula.right == f.Always(f.Not(first))
            return f.Implies(first, f.Once(second)) if same else None
        case f.And(left, right):
            both = (_body(left), _body(right))
            return None if None in both else f.And(*both)
        case _:
            return None


def _present(formula: Formula) -> set[str]:
    """The atoms that are read at the current step, outside past subformulas."""
    if isinstance(formula, f.PAST):
        return set()
    if isinstance(formula, f.Atom):
        return {formula.name}
    return set().union(*(_present(child) for child in f.children(formula)), set())


def _fold(formula: Formula, true: frozenset[str]) -> Formula:
    """The formula with those atoms true now, constants folded away."""
    match formula:
        case f.Atom(name):
            return f.TRUE if name in true else formula
        case f.Not(body):
            return _not(_fold(body, true))
        case f.And(left, right):
            return _and(_fold(left, true), _fold(right, true))
        case f.Or(left, right):
            return _or(_fold(left, true), _fold(right, true))
        case f.Implies(left, right):
            return _or(_not(_fold(left, true)), _fold(right, true))
        case f.Iff(left, right):
            return _iff(_fold(left, true), _fold(right, true))
        case f.Xor(left, right):
            return _not(_iff(_fold(left, true), _fold(right, true)))
        case _:
            return formula  # a constant, or a past subformula: its value comes from the trace


def _not(body: Formula) -> Formula:
    match body:
        case f.Constant(value):
            return f.Constant(not value)
        case f.Not(inner):
            return inner
        case _:
            return f.Not(body)


def _and(left: Formula, right: Formula) -> Formula:
    if f.FALSE in (left, right):
        return f.FALSE
    return right if left == f.TRUE else left if right in (f.TRUE, left) else f.And(left, right)


def _or(left: Formula, right: Formula) -> Formula:
    if f.TRUE in (left, right):
        return f.TRUE
    return right if left == f.FALSE else left if right in (f.FALSE, left) else f.Or(left, right)


def _iff(left: Formula, right: Formula) -> Formula:
    for one, other in ((left, right), (right, left)):
        if isinstance(one, f.Constant):
            return other if one.value else _not(other)
    return f.TRUE if left == right else f.Iff(left, right)


def _why(rule: Rule, ruleset: RuleSet) -> str:
    if rule.type != "action":
        return "it states a fact about the world, which no call can break"
    if _body(rule.formula) is None:
        return "it asks for a later step, which is not known before the call"
    actions = ruleset.actions(rule)
    if not actions:
        return "it names no action"
    if not any(p.tools for p in actions):
        return f"no tool carries out {', '.join(p.name for p in actions)}"
    return "no call of a tool can break it"
