"""What a rule was understood to say: in English, and by a run that it denies and one that it allows.

Both are made from the formula and from the tests of its predicates, never from the words that the rule was read from
or that somebody wrote beside it, so that a reader sees a misreading.  The English can be read in one way only: what is
made of several parts stands in brackets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from wb.domain.tools import Source, Toolbox
from wb.logic import automaton, decide, facts, objects, times, wording
from wb.logic import formula as f
from wb.logic.decide import Word
from wb.logic.formula import Formula
from wb.rules import physical, residual
from wb.rules.rule import Predicate, Rule, RuleSet

OBJECTS = 2  # that a rule about objects is shown on
SAID = {
    f.Not: "it is not so that {}",
    f.And: "{} and {}",
    f.Or: "{} or {}",
    f.Xor: "either {} or {}, not both",
    f.Implies: "if {}, then {}",
    f.Iff: "{} exactly where {}",
    f.Next: "there is a next step, and at it {}",
    f.WeakNext: "at the next step, if there is one, {}",
    f.Eventually: "now or later {}",
    f.Always: "now and always later {}",
    f.Until: "{} until {}, which comes",
    f.Release: "up to and including where {}, or for ever, {}",
    f.WeakUntil: "{} until {}, or for ever",
    f.Previously: "there is a step before, and at it {}",
    f.Once: "now or earlier {}",
    f.Historically: "now and always earlier {}",
    f.Since: "{} ever since {}",
}
FROM = {  # where a field of the state comes from, by the kind of its source
    "clock": "the time of the call",
    "said": "said by the {}",
    "result": "the newest result of {}",
    "lookup": "looked up by {}",
    "done": "told by the newest {} that was done",
    "question": "answered from what the {} said",
    "step": "of the present step",
    "seen": "read from what the {} shows",
    "detect": "whether {} is found in a text",
    "operation": "given by {}",
    "origin": "where the value comes from, of what the {} said and what tools gave",
}
COMPOUND = facts.Conjunction | facts.Disjunction | facts.Negation | facts.Choice | facts.Macro


@dataclass(frozen=True, slots=True)
class Shown:
    """A run in words, a text for each step; or, where there is none to show, the reason why."""

    steps: tuple[str, ...] = ()
    reason: str = ""


def words(rule: Rule, ruleset: RuleSet) -> str:
    """The rule in English: `Whenever rent_boat is called, can swim is true.`"""
    formula = rule.formula
    among = f.variables(formula)
    every = f"for every {' and every '.join(among)}: " if among else ""
    match formula:
        case f.Always(f.Implies(left, right)):
            said = f"whenever {_part(left, ruleset)}, {_last(right, ruleset)}"
        case f.Always(f.Not(body)) if f.counted(body) is None and not isinstance(body, f.Recently):
            said = f"never {_last(body, ruleset)}"
        case f.Always(body):
            said = f"always {_last(body, ruleset)}"
        case _:
            said = f"over the whole run: {_last(formula, ruleset)}"
    said = f"{every}{said}."
    return said[0].upper() + said[1:]


def fact(predicate: Predicate, of: Sequence[str] = (), *, positive: bool = True) -> str:
    """A predicate in English, as it holds and as it does not: by its tools or its test, else by its name alone."""
    there = f" for {' and '.join(f'object {one}' if one.isdecimal() else one for one in of)}" if of else ""
    name = f"“{predicate.name.replace('_', ' ')}”"
    if predicate.kind == "action":
        match predicate.tools:
            case ():
                return f"{name} is {'' if positive else 'not '}done{there} (no tool does it)"
            case (tool,):
                return f"{tool} is {'' if positive else 'not '}called{there}"
            case tools:
                return f"{'one' if positive else 'none'} of {', '.join(tools)} is called{there}"
    if predicate.test is None:
        return f"{name} {'holds' if positive else 'does not hold'}{there} (no field tells it)"
    said = wording.words(predicate.test if positive else facts.Negation(predicate.test))
    where = f" in the call of {' or '.join(predicate.tools)}" if predicate.tools else ""
    where = where or (" in the call" if predicate.reads_call else "")
    return f"({said}){where}{there}" if isinstance(predicate.test, COMPOUND) else f"{said}{where}{there}"


def asked(formula: Formula, ruleset: RuleSet) -> str:
    """What a formula asks of the step at which it stands, in English: `number of guests is at most 8`."""
    return _last(formula, ruleset)


def denied(rule: Rule, ruleset: RuleSet, toolbox: Toolbox) -> Shown:
    """A shortest run whose last step the rule denies; the reason where no call breaks it."""
    alone = [one.reason for one in residual.unguarded(toolbox, RuleSet(ruleset.predicates, (rule,)))]
    if alone:
        return Shown(reason=f"no call is denied: {alone[0]}")
    about, given, act, single = _asked(rule, ruleset, toolbox)
    wanted = (f.conjunction((f.Not(about), act, single)), f.And(f.Not(about), act), f.Not(about))
    return _found(rule, ruleset, wanted, given, "nothing that can happen breaks it")


def allowed(rule: Rule, ruleset: RuleSet, toolbox: Toolbox) -> Shown:
    """A shortest run that the rule allows, one in which it has something to say where there is such a one."""
    about, given, act, single = _asked(rule, ruleset, toolbox)
    fires = decide.trigger(rule.formula)
    fires = f.Eventually(f.disjunction(_copies(fires))) if fires is not None else f.TRUE
    most = (single, act, fires)
    wanted = [f.conjunction((about, *most[i:])) for i in range(len(most) + 1)]
    return _found(rule, ruleset, wanted, given, "nothing that can happen keeps it")


def bound(rule: Rule, ruleset: RuleSet, toolbox: Toolbox) -> tuple[tuple[str, str], ...]:
    """Each predicate of the rule, in order, with what its truth is told by, and what tells that."""
    sources = {field.name: field.source for field in toolbox.state}
    found = []
    for one in (ruleset.predicate(name) for name in rule.predicates):
        if one.kind == "action":
            told = f"calls of {', '.join(one.tools)}" if one.tools else "no tool"
        elif one.test is None:
            told = "no field"
        else:
            told = f"{', '.join(dict.fromkeys(_path(path, sources) for path in facts.paths(one.test))) or 'nothing'}"
            told += f" of {', '.join(one.tools)}" if one.tools else ""
        told += f", for each {', '.join('.'.join(path.names) for path in one.objects)}" if one.objects else ""
        found.append((one.name, told))
    return tuple(found)


def _path(path: facts.Path, sources: Mapping[str, Source | None]) -> str:
    """A path as it is written, with where the field of the state comes from, if it says so."""
    written, source = ".".join(path.names), sources.get(path.names[1]) if path.names[0] == "state" else None
    return f"{written} ({FROM[source.kind].format(' or '.join((source.of, *source.or_of)))})" if source else written


def _part(node: Formula, ruleset: RuleSet) -> str:
    """A part of a formula in English: a predicate as it is, what has parts of its own in brackets."""
    said = _last(node, ruleset)
    alone = isinstance(node, f.Constant | f.Atom) or (isinstance(node, f.Not) and isinstance(node.body, f.Atom))
    return said if alone else f"({said})"


def _last(node: Formula, ruleset: RuleSet) -> str:
    """The same where it goes on to the end, and needs no brackets."""
    match node:
        case f.Constant(value):
            return "anything" if value else "nothing"
        case f.Atom():
            return fact(ruleset.predicate(node.predicate), node.objects)
        case f.Not(f.Atom() as atom):
            return fact(ruleset.predicate(atom.predicate), atom.objects, positive=False)
        case f.Not(f.Recently(f.Not(body), 1, within)):
            return f"for the last {times.written(within)}, now included, always {_part(body, ruleset)}"
        case f.Recently(body, often, within) | f.Not(f.Recently(body, often, within)):
            most = isinstance(node, f.Not)
            often = f"{_often(often, most)} " if often > 1 else "at no time " * most
            return f"{often}within the last {times.written(within)}, now included, {_part(body, ruleset)}"
    counted = f.counted(node.body if isinstance(node, f.Not) else node)
    if counted is not None:
        return f"{_often(counted[0], isinstance(node, f.Not))}, now included, {_part(counted[1], ruleset)}"
    return SAID[type(node)].format(*(_part(child, ruleset) for child in f.children(node)))


def _often(least: int, most: bool) -> str:
    """A number of times as a lower bound, or as the upper bound that its negation is."""
    times = least - most
    return f"at {'most' if most else 'least'} {'once' if times == 1 else f'{times} times'}"


def _asked(rule: Rule, ruleset: RuleSet, toolbox: Toolbox) -> tuple[Formula, Formula, Formula, Formula]:
    """The formula, about a few objects where it is about any; what holds anyway; that a tool of it is called; and that
    a step has one call."""
    mine = [ruleset.predicate(name) for name in rule.predicates]
    fixed = {p.name: value for p in mine if (value := physical.constant(p, toolbox)) is not None}
    known = [f.Always(f.Atom(name) if value else f.Not(f.Atom(name))) for name, value in fixed.items()]
    known.append(physical.relevant(physical.rules(mine, toolbox), rule.formula))
    if f.variables(rule.formula):
        known += [one.formula for one in physical.about(mine, [str(i + 1) for i in range(OBJECTS)])]
    about = f.conjunction(_copies(rule.formula))
    tools = {name: set(ruleset.predicate(f.Atom(name).predicate).tools) for name in f.atoms(about)}
    calls = [f.Atom(n) for n in tools if ruleset.predicate(f.Atom(n).predicate).kind == "action" and tools[n]]
    act = f.Eventually(f.disjunction(tuple(calls))) if calls else f.TRUE
    apart = [(a, b) for a, b in combinations(calls, 2) if a.objects != b.objects or not tools[a.name] & tools[b.name]]
    single = f.conjunction(
        tuple(f.Always(f.Not(f.And(a, b))) for a, b in apart if a.objects and b.objects or not (a.objects or b.objects))
    )
    return about, f.conjunction(tuple(known)), act, single


def _copies(formula: Formula) -> tuple[Formula, ...]:
    return objects.instances(formula, OBJECTS) if f.variables(formula) else (formula,)


def _found(rule: Rule, ruleset: RuleSet, wanted: Sequence[Formula], given: Formula, none: str) -> Shown:
    """A shortest run of the first wanted formula that has any, in words."""
    try:
        for one in wanted:
            trace = decide.satisfiable(one, given).witness
            if trace is not None:
                return Shown(_steps(trace, rule, ruleset))
    except automaton.AutomatonError as error:
        return Shown(reason=f"none can be shown: {error}")
    return Shown(reason=none)


def _steps(trace: Word, rule: Rule, ruleset: RuleSet) -> tuple[str, ...]:
    return steps(trace, (rule.formula,), ruleset)


def steps(trace: Word, formulas: Sequence[Formula], ruleset: RuleSet) -> tuple[str, ...]:
    """A run in English, a text for each step: what is called, and what is known then, as it holds or does not."""
    names = [n for formula in formulas for one in _copies(formula) for n in f.atoms(one)]
    atoms = [(f.Atom(name), ruleset.predicate(f.Atom(name).predicate)) for name in dict.fromkeys(names)]
    numbers: dict[str, str] = {}  # of the objects, in the order in which they come

    def said(atom: f.Atom, one: Predicate, true: bool) -> str:
        return fact(one, [numbers.setdefault(name, str(len(numbers) + 1)) for name in atom.objects], positive=true)

    found = []
    for step in trace:
        acts = [said(atom, one, True) for atom, one in atoms if one.kind == "action" and atom.name in step]
        known = [said(atom, one, atom.name in step) for atom, one in atoms if one.kind == "state"]
        at = next((f"after {name.removeprefix(f.TIME)}: " for name in step if name.startswith(f.TIME)), "")
        found.append(at + "; ".join((*(acts or ["nothing that the rule speaks of is done"]), *known)))
    return tuple(found)
