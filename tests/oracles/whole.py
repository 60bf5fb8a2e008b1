"""The way of dba463f to a verdict: all that happened is evaluated again for each call, conditions at each denial.

What the monitors of a session must agree with, and what they are measured against.  It knows no toolbox and no open
sentence, reads the first of a step's calls of a tool, and gives the reason of the first branch that ran.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wb.domain.trace import Call, Step, Trace, Value, Verdict
from wb.guards import sandbox
from wb.guards.contract import Contract, Parameter
from wb.guards.runtime import CallGuard, Guarded, condition
from wb.guards.sandbox import Program, TooMany
from wb.logic import evaluation
from wb.logic import formula as f
from wb.logic.formula import Formula
from wb.rules.rule import Predicate, RuleSet

PYTHON = {"int": int, "bool": bool, "str": str}


def decide(guard: CallGuard, trace: Trace) -> Verdict:
    """The verdict on the one call of the trace's last step, which has an accepted guard."""
    (call,) = trace.steps[-1].calls
    entry = next(g for g in guard.guarded if g.contract.tool == call.tool)
    return judge(entry, guard.programs[call.tool], values(entry.contract, guard.ruleset, trace, call))


def truth(predicate: Predicate, step: Step) -> bool | None:
    """Whether the predicate holds at the step; None where the step does not tell."""
    if predicate.kind == "action":
        return any(call.tool in predicate.tools for call in step.calls)
    if predicate.test is None:
        known = step.state.get(predicate.name)
        return known if isinstance(known, bool) else None
    calls = [call for call in step.calls if not predicate.tools or call.tool in predicate.tools]
    return evaluation.holds(predicate.test, {"state": step.state, "call": calls[0].arguments if calls else {}})


def valuation(predicates: tuple[Predicate, ...], step: Step) -> dict[str, bool | None]:
    """The truth of every predicate at one step, by name."""
    return {predicate.name: truth(predicate, step) for predicate in predicates}


def values(contract: Contract, ruleset: RuleSet, trace: Trace, call: Call) -> dict[str, sandbox.Value | None]:
    """What is known of each parameter at the call, the last step of the trace; None where it is not.

    The call's own arguments are read even where the step calls the same tool twice.
    """
    last = trace.steps[-1]
    step = Step((call, *(c for c in last.calls if c is not call)), last.state, last.text)
    before = (
        [valuation(ruleset.predicates, s) for s in trace.steps[:-1]] if any(p.past for p in contract.parameters) else []
    )
    return {p.name: _known(p, ruleset, step, before) for p in contract.parameters}


def judge(entry: Guarded, program: Program, known: Mapping[str, sandbox.Value | None]) -> Verdict:
    """The verdict that the code gives: *deny* only if it denies whatever the unknown values are."""
    unknown = {n: program.points[n] for n, v in known.items() if v is None}
    told = {n: v for n, v in known.items() if v is not None}
    tool, grade = entry.contract.tool, entry.grade
    answers: dict[bool, str] = {}
    read: dict[str, None] = {}
    try:
        for chosen, outcome in sandbox.completions(program.run, told, unknown):
            allowed, reason = _answer(outcome)
            answers.setdefault(allowed, reason)
            read |= dict.fromkeys(chosen)
            if len(answers) == 2:
                break
    except (TypeError, NameError, ValueError) as error:
        return Verdict("deny", f"{tool}: its guard broke: {type(error).__name__}: {error}", grade="error")
    except TooMany as error:
        return Verdict("undecided", f"{tool}: {error}", grade=grade)
    if len(answers) == 2 or (read and not program.exact):
        return Verdict("undecided", f"{tool}: it depends on what is not known: {', '.join(read)}", grade=grade)
    if True in answers:
        return Verdict("allow", f"{tool}: {answers[True]}", grade=grade)
    return Verdict("deny", f"{tool}: {_spoken(entry.contract, answers[False])}", violated(entry.contract, known), grade)


def violated(contract: Contract, known: Mapping[str, sandbox.Value | None]) -> tuple[str, ...]:
    """The rules whose condition is definitely false, whatever the unknown values are."""
    told = {n: v for n, v in known.items() if v is not None}
    found = []
    for item in contract.items:
        program = condition(contract, item.condition)
        unknown = {n: program.points[n] for n, v in known.items() if v is None}
        try:
            holds = any(outcome[0] for _, outcome in sandbox.completions(program.run, told, unknown))
        except TooMany:
            continue  # the call stays denied; only this rule's name is missing from the reason
        if not holds:
            found.append(item.rule)
    return tuple(found)


def past(formula: Formula, steps: Sequence[Mapping[str, bool | None]]) -> bool | None:
    """A past formula's truth at the last step, Kleene's: None where it depends on what is not known."""
    row = f.fold(formula, lambda node, below: _row(node, below, steps))
    return row[-1]


def _known(
    parameter: Parameter, ruleset: RuleSet, step: Step, before: Sequence[Mapping[str, bool | None]]
) -> sandbox.Value | None:
    if parameter.past is not None:
        return past(parameter.past, [*before, valuation(ruleset.predicates, step)])
    if parameter.fact is not None:
        return truth(ruleset.predicate(parameter.fact), step)
    owner, _, name = parameter.field.partition(".")
    calls = [call.arguments for call in step.calls if call.tool == owner]
    record = step.state if owner == "state" else calls[0] if calls else {}
    return _typed(record.get(name), parameter)


def _typed(value: Value, parameter: Parameter) -> sandbox.Value | None:
    if parameter.measure == "count":
        return len(value) if isinstance(value, (list, tuple)) else None
    return value if type(value) is PYTHON[parameter.type] else None


def _answer(outcome: object) -> sandbox.Answered:
    match outcome:
        case (bool() as allowed, str() as reason) if isinstance(outcome, tuple):
            return allowed, reason
        case _:
            raise ValueError(f"a guard answers (bool, str); got {outcome!r}")


def _spoken(contract: Contract, reason: str) -> str:
    """The sentence where the code's reason names its clause (short texts prove faster), else the reason."""
    said = next((item.text for item in contract.items if item.clause == reason), "")
    return f"{said} ({reason})" if said else reason


def _row(node: Formula, below: tuple, steps: Sequence[Mapping[str, bool | None]]) -> tuple[bool | None, ...]:
    """The truth of a node at every step, from the rows of its operands."""
    match node:
        case f.Constant(value):
            return (value,) * len(steps)
        case f.Atom(name):
            return tuple(step.get(name) for step in steps)
        case f.Not():
            return tuple(_not(x) for x in below[0])
        case f.And():
            return tuple(_and(x, y) for x, y in zip(*below, strict=True))
        case f.Or():
            return tuple(_or(x, y) for x, y in zip(*below, strict=True))
        case f.Implies():
            return tuple(_or(_not(x), y) for x, y in zip(*below, strict=True))
        case f.Iff() | f.Xor():
            equal = (None if None in (x, y) else x == y for x, y in zip(*below, strict=True))
            return tuple(equal if isinstance(node, f.Iff) else (_not(x) for x in equal))
        case f.Previously():
            return (False, *below[0][:-1])
    return _carried(node, below)


def _carried(node: Formula, below: tuple) -> tuple[bool | None, ...]:
    """The operators that carry a truth from earlier steps."""
    found: list[bool | None] = []
    then: bool | None = isinstance(node, f.Historically)
    for now in zip(*below, strict=True):
        match node:
            case f.Once():
                then = _or(now[0], then)
            case f.Historically():
                then = _and(now[0], then)
            case f.Since():
                then = _or(now[1], _and(now[0], then))
            case _:
                raise ValueError(f"a formula of past operators was required; got {type(node).__name__}")
        found.append(then)
    return tuple(found)


def _not(x: bool | None) -> bool | None:
    return None if x is None else not x


def _and(x: bool | None, y: bool | None) -> bool | None:
    return False if False in (x, y) else None if None in (x, y) else True


def _or(x: bool | None, y: bool | None) -> bool | None:
    return True if True in (x, y) else None if None in (x, y) else False
