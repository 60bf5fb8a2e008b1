"""Which tools a rule bears on, and what is left of it at a call.

A rule `ALWAYS body` bears on a tool when calling the tool can make `body` false at the last step: by what it asks of
the present call, or by what has happened so far, for a call that is made now is among it.  What is left is
propositional over predicates of that step and past subformulas, whose value the steps so far decide.  The objects
that the call names take the place of variables, as in `get(call.id)`; a variable that the call does not name stays,
and means all objects.  A rule about later steps has no such form: it is monitored, not guarded, and said to be so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from wb.domain.tools import Toolbox
from wb.logic import formula as f
from wb.logic.formula import Formula
from wb.logic.syntax import render
from wb.rules.rule import Modality, Predicate, Rule, RuleSet

# what names objects, by the declared type of the argument
_KINDS = {"string": "a text", "integer": "a number", "number": "a number", "boolean": "a truth"}


@dataclass(frozen=True, slots=True)
class Unguarded:
    """A rule that no tool guard can decide, and why."""

    rule: str
    reason: str


def unguarded(toolbox: Toolbox, ruleset: RuleSet) -> tuple[Unguarded, ...]:
    """The rules that are in no tool's contract, or of which a part is in none, each with its reason."""
    found = []
    for rule in ruleset.rules:
        parts = _parts(rule.formula)
        for part in parts:
            one = replace(rule, formula=part)
            guarded = any(bearing(one, tool.name, ruleset) is not None for tool in toolbox.tools)
            why = _loose(one, ruleset) or _mixed(one, toolbox, ruleset) or _counted_across(one)
            if why := why or ("" if guarded else _why(one, ruleset)):
                said = f"of {render(part)}: " if len(parts) > 1 else ""
                found.append(Unguarded(rule.id, said + why))
                break
    return tuple(found)


def bearing(rule: Rule, tool: str, ruleset: RuleSet) -> Formula | None:
    """What must hold at a step that calls the tool; None where the call cannot break the rule."""
    whole = each_step(rule.formula)
    bodies = [whole] if whole is not None else list(filter(None, map(each_step, _parts(rule.formula))))
    residual: Formula = f.TRUE
    for body in bodies if rule.type == "action" else ():
        residual = both(residual, _residual(body, tool, ruleset))
    return None if residual == f.TRUE else residual


def guards(formula: Formula, predicates: Iterable[Predicate], toolbox: Toolbox) -> bool:
    """Whether a call of some tool can break the formula over these predicates."""
    names, rule = f.predicates(formula), Rule("r", "", formula, "oblige")
    ruleset = RuleSet(tuple(p for p in predicates if p.name in names), (rule,))
    return any(bearing(rule, tool.name, ruleset) is not None for tool in toolbox.tools)


def _residual(body: Formula, tool: str, ruleset: RuleSet) -> Formula:
    """What is left of what a rule asks of each step, at one that calls the tool."""
    told = {p.name: p for p in ruleset.predicates if tool in p.tools}
    mine = {name: own_objects(p) for name, p in told.items() if p.kind == "action"}
    now = _present(body)
    present = [atom for name in sorted(now) if (atom := f.Atom(name)).predicate in mine]
    named = [_named(atom, told[atom.predicate]) for atom in present]
    for atom in [atom for name in sorted(_breaking(body)) if (atom := f.Atom(name)).predicate in told]:
        objects = _named(atom, told[atom.predicate])
        beside = atom.name in now and not present  # what else is done at the step may make it matter
        if objects not in named and (beside or _alone(f.instance(body, objects), mine, ruleset) != f.TRUE):
            named.append(objects)
    least = [one for i, one in enumerate(named) if not any(_within(o, one, j < i) for j, o in enumerate(named))]
    residual: Formula = f.TRUE
    for objects in least:
        meant = f.instance(body, objects)
        residual = both(residual, _fold(meant, _made(meant, mine)))
    return residual


def _loose(rule: Rule, ruleset: RuleSet) -> str:
    """Why a rule can be broken by calls of any tool: what nothing done makes matter reads calls of no tool by name."""
    body = each_step(rule.formula)
    if rule.type != "action" or body is None or _alone(body, {}, ruleset) == f.TRUE:
        return ""
    read = [ruleset.predicate(f.Atom(name).predicate) for name in sorted(_breaking(body))]
    name = next((p.name for p in read if p.reads_call and not p.tools), "")
    return f"{name} reads calls of any tool: say in its `tools` of which" if name else ""


def _mixed(rule: Rule, toolbox: Toolbox, ruleset: RuleSet) -> str:
    """Why an object of a rule is never the same: calls name it by values of different types."""
    kinds: dict[str, dict[str, str]] = {}
    arguments = {tool.name: {one.name: one.type for one in tool.arguments} for tool in toolbox.tools}
    for atom in map(f.Atom, f.atoms(rule.formula)):
        predicate = ruleset.predicate(atom.predicate)
        for term, path in zip(atom.objects, predicate.objects, strict=False):
            for tool in predicate.tools if len(path.names) == 2 else ():
                if kind := _KINDS.get(arguments.get(tool, {}).get(path.names[1], "")):
                    kinds.setdefault(term, {}).setdefault(kind, f"{tool}.{path.names[1]}")
    for term, found in kinds.items():
        if len(found) > 1:
            return (
                f"{term} is {' and '.join(f'{kind} in {of}' for kind, of in found.items())}, which are never the same"
            )
    return ""


def _counted_across(rule: Rule) -> str:
    """Why a count cannot be told: the calls of a step are counted one by one, and no step lies between them."""
    if any(isinstance(node, f.Previously) for body in f.bodies(rule.formula) for node in f.subformulas(body)):
        return "it counts by what was so at the step before, which is not told of several calls of one step: say ONCE"
    return ""


def _named(atom: f.Atom, predicate: Predicate) -> dict[str, str]:
    """What the call that is judged says of an atom's variables."""
    return dict(zip(atom.objects, own_objects(predicate), strict=False))


def _made(body: Formula, mine: Mapping[str, tuple[str, ...]]) -> frozenset[str]:
    """The present atoms that the call itself makes true."""
    atoms = [atom for name in _present(body) if (atom := f.Atom(name)).predicate in mine]
    return frozenset(atom.name for atom in atoms if atom.objects in ((), mine[atom.predicate]))


def _alone(body: Formula, mine: Mapping[str, tuple[str, ...]], ruleset: RuleSet) -> Formula:
    """What is left of a body where nothing else is done at the step: with more, what else is done is judged by it."""
    true = _made(body, mine)
    acts = {name for name in _present(body) if ruleset.predicate(f.Atom(name).predicate).kind == "action"}
    return _fold(body, true, frozenset(acts) - true)


def own_objects(predicate: Predicate) -> tuple[str, ...]:
    """What tells the predicate's objects at a call that is judged, as it stands in a formula."""
    return tuple(".".join(path.names) for path in predicate.objects)


def _parts(formula: Formula) -> tuple[Formula, ...]:
    """The formulas that together say what a rule asks of each step, which is the rule itself where it is one demand."""
    match formula:
        case f.And(left, right):
            return (*_parts(left), *_parts(right))
        case f.Always(f.And(left, right)):
            return (*_parts(f.Always(left)), *_parts(f.Always(right)))
        case _:
            return (formula,)


def _within(one: dict[str, str], other: dict[str, str], before: bool) -> bool:
    """Whether a choice of objects says at most what the other does; of equal ones that which comes first."""
    return one.items() < other.items() or (before and one == other)


def each_step(formula: Formula) -> Formula | None:
    """What the formula asks of each step, in past form; None where it speaks of later steps.

    `NOT a WUNTIL z` is `ALWAYS(a IMPLIES ONCE z)`: the first `a` needs a `z` no later, and then all do.
    `ALWAYS(a IMPLIES NOT NEXT EVENTUALLY a)` is `ALWAYS(a IMPLIES COUNT[<= 1] a)`: no `a` has another one after it.
    """
    match formula:
        case f.Always(f.Implies(f.Atom() as first, f.Not(f.Next(f.Eventually(second))))) if first == second:
            return f.Implies(first, f.Not(f.at_least(2, first)))
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
            sides = (each_step(left), each_step(right))
            return None if None in sides else f.And(*sides)
        case _:
            return None


def modality(formula: Formula) -> Modality | None:
    """What a formula is called: a ban, a condition for an act, or a duty; None where it does not say it, because it
    neither holds at each step nor speaks of a later one."""
    match formula:
        case f.Always(f.Not()) | f.Always(f.Implies(_, f.Not(f.Atom()))):
            return "forbid"
        case _ if each_step(formula) is not None:
            return "permit_only_if"
        case _ if any(isinstance(s, f.FUTURE) and not isinstance(s, f.Always) for s in f.subformulas(formula)):
            return "oblige"
    return None


def _present(formula: Formula) -> set[str]:
    """The atoms that are read at the current step, outside past subformulas."""
    if isinstance(formula, f.PAST):
        return set()
    if isinstance(formula, f.Atom):
        return {formula.name}
    return set().union(*(_present(child) for child in f.children(formula)), set())


def _breaking(formula: Formula, wanted: bool = True) -> set[str]:
    """The atoms that, being true now, can make a formula false (true, where it is not wanted), past parts included."""
    match formula:
        case f.Atom(name):
            return set() if wanted else {name}
        case f.Not(body):
            return _breaking(body, not wanted)
        case f.Implies(left, right):
            return _breaking(left, not wanted) | _breaking(right, wanted)
        case f.Previously():
            return set()
        case f.Iff() | f.Xor():
            return set().union(*(_breaking(part, sign) for part in f.children(formula) for sign in (True, False)))
        case _:
            return set().union(*(_breaking(part, wanted) for part in f.children(formula)), set())


def _fold(formula: Formula, true: frozenset[str], false: frozenset[str] = frozenset()) -> Formula:
    """The formula with those atoms true and those false now, constants folded away."""

    def fold(part: Formula) -> Formula:
        return _fold(part, true, false)

    match formula:
        case f.Atom(name):
            return f.TRUE if name in true else f.FALSE if name in false else formula
        case f.Not(body):
            return negated(fold(body))
        case f.And(left, right):
            return both(fold(left), fold(right))
        case f.Or(left, right):
            return either(fold(left), fold(right))
        case f.Implies(left, right):
            return either(negated(fold(left)), fold(right))
        case f.Iff(left, right):
            return _iff(fold(left), fold(right))
        case f.Xor(left, right):
            return negated(_iff(fold(left), fold(right)))
        case _:
            return formula  # a constant, or a past subformula: its value comes from the trace


def negated(body: Formula) -> Formula:
    """The opposite of a formula, constants folded away."""
    match body:
        case f.Constant(value):
            return f.Constant(not value)
        case f.Not(inner):
            return inner
        case _:
            return f.Not(body)


def both(left: Formula, right: Formula) -> Formula:
    """The conjunction of two formulas, constants folded away."""
    if f.FALSE in (left, right):
        return f.FALSE
    return right if left == f.TRUE else left if right in (f.TRUE, left) else f.And(left, right)


def either(left: Formula, right: Formula) -> Formula:
    """The disjunction of two formulas, constants folded away."""
    if f.TRUE in (left, right):
        return f.TRUE
    return right if left == f.FALSE else left if right in (f.FALSE, left) else f.Or(left, right)


def _iff(left: Formula, right: Formula) -> Formula:
    for one, other in ((left, right), (right, left)):
        if isinstance(one, f.Constant):
            return other if one.value else negated(other)
    return f.TRUE if left == right else f.Iff(left, right)


def _why(rule: Rule, ruleset: RuleSet) -> str:
    if rule.type != "action":
        return "it states a fact about the world, which no call can break"
    if each_step(rule.formula) is None:
        return "it asks for a later step, which is not known before the call"
    actions = ruleset.actions(rule)
    if not actions:
        return "it names no action"
    if not any(p.tools for p in actions):
        return f"no tool carries out {', '.join(p.name for p in actions)}"
    if any(isinstance(node, f.Previously) for node in f.subformulas(rule.formula)):
        return "what it asks of a call shows only at the step after"
    return "no call of a tool can break it"
