"""How a tool guard judges a call at run time: parameter values from the trace, answers from the code.

The proof covers the guard's code alone.  What surrounds it is here and is part of the trusted base:
filling the parameters (`values`), refusing values of another type (a bool is no int), trying out
unknown ones, and denying wherever there is no accepted guard or it breaks (SPEC 4 s, v, x).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from wb.domain.trace import Call, Grade, Step, Trace, Value, Verdict, lookup
from wb.guards import sandbox
from wb.guards.contract import Contract, Parameter, VacuousContract, assemble
from wb.guards.sandbox import Program, TooMany, UnsafeSource
from wb.logic import formula as f
from wb.logic.formula import Formula
from wb.rules.rule import RuleSet, truth, valuation

PYTHON = {"int": int, "bool": bool, "str": str}


@dataclass(frozen=True, slots=True)
class Guarded:
    """One tool's guard: the source that was judged, how well (`grade`), and why not better."""

    contract: Contract
    source: str
    grade: Grade
    reason: str = ""


@dataclass(frozen=True)
class CallGuard:
    """A guard over all tools: each call of the last step is judged by its tool's code.

    Only sources of an accepted grade are run; a tool without one is denied.
    """

    name: str
    ruleset: RuleSet
    guarded: tuple[Guarded, ...]
    accepted: frozenset[Grade]
    programs: Mapping[str, Program] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        loaded = {g.contract.tool: _load(g) for g in self.guarded if g.grade in self.accepted}
        object.__setattr__(self, "programs", {tool: p for tool, p in loaded.items() if p is not None})

    def decide(self, trace: Trace) -> Verdict:
        """The verdict on the last step: deny if any call is denied, allow if all are allowed."""
        calls = trace.steps[-1].calls
        if not calls:
            return Verdict("allow", "the step calls no tool")
        verdicts = [self._judge(trace, call) for call in calls]
        for decision in ("deny", "undecided"):
            found = [v for v in verdicts if v.decision == decision]
            if found:
                violated = tuple(dict.fromkeys(rule for v in found for rule in v.violated))
                return Verdict(decision, "; ".join(v.reason for v in found), violated, found[0].grade)
        return verdicts[0]

    def _judge(self, trace: Trace, call: Call) -> Verdict:
        entry = next((g for g in self.guarded if g.contract.tool == call.tool), None)
        if entry is None:
            return Verdict("deny", f"{call.tool}: there is no guard for this tool")
        program = self.programs.get(call.tool)
        if program is None and entry.grade in self.accepted:
            return Verdict("deny", f"{call.tool}: its guard cannot be run", grade="error")
        if program is None:
            return Verdict(
                "deny",
                f"{call.tool}: its guard is {entry.grade}, {' or '.join(sorted(self.accepted))} "
                f"was required ({entry.reason or 'no reason kept'})",
                grade=entry.grade,
            )
        return judge(entry, program, values(entry.contract, self.ruleset, trace, call))


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


def condition(contract: Contract, expression: str) -> Program:
    """A condition of the contract as a program over the same parameters."""
    return sandbox.load(f"{contract.signature}\n    return ({expression}, '')\n")


def past(formula: Formula, steps: Sequence[Mapping[str, bool | None]]) -> bool | None:
    """A past formula's truth at the last step, Kleene's: None where it depends on what is not known."""
    row = f.fold(formula, lambda node, below: _row(node, below, steps))
    return row[-1]


def to_row(entry: Guarded) -> dict[str, str]:
    """A guard as it is kept: its tool, grade, reason, proved source and that source's hash."""
    return {
        "tool": entry.contract.tool,
        "grade": entry.grade,
        "reason": entry.reason,
        "source": entry.source,
        "sha256": hashlib.sha256(entry.source.encode()).hexdigest(),
    }


def from_rows(rows: Sequence[dict[str, str]], required: Sequence[Contract]) -> tuple[Guarded, ...]:
    """The kept guards for the contracts that the rules give today; a tool without a row has no guard."""
    kept = {row["tool"]: row for row in rows}
    return tuple(from_row(kept[c.tool], c) for c in required if c.tool in kept)


def from_row(row: dict[str, str], contract: Contract) -> Guarded:
    """A kept guard for the contract that the rules give today; `error` where it proved another one.

    The hash shows that the source is the one that was judged, the contract's lines that it was judged
    against these rules.
    """
    if hashlib.sha256(row["source"].encode()).hexdigest() != row["sha256"]:
        return Guarded(contract, row["source"], "error", "the source was changed after it was judged")
    if row["grade"] in ("proved", "tested") and not _states(row["source"], contract):
        return Guarded(contract, row["source"], "error", f"it was {row['grade']} against another contract")
    return Guarded(contract, row["source"], row["grade"], row["reason"])


def _states(source: str, contract: Contract) -> bool:
    """Whether the source carries exactly the contract's statements."""
    try:
        return assemble(sandbox.strip(source), contract) == source
    except (VacuousContract, SyntaxError):
        return False


def _load(entry: Guarded) -> Program | None:
    try:
        return sandbox.load(entry.source)
    except UnsafeSource:
        return None


def _known(
    parameter: Parameter, ruleset: RuleSet, step: Step, before: Sequence[Mapping[str, bool | None]]
) -> sandbox.Value | None:
    if parameter.past is not None:
        return past(parameter.past, [*before, valuation(ruleset.predicates, step)])
    if parameter.fact is not None:
        return truth(ruleset.predicate(parameter.fact), step)
    return _typed(lookup(step, parameter.field), parameter)


def _typed(value: Value, parameter: Parameter) -> sandbox.Value | None:
    if parameter.measure == "count":
        return len(value) if isinstance(value, (list, tuple, Mapping)) else None
    return value if type(value) is PYTHON[parameter.type] else None


def _answer(outcome: object) -> sandbox.Outcome:
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
