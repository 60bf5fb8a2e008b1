"""Examples of what a tool's guard must do: compliance, violation and boundary cases, before any code.

ToolGuard writes tests first, one an example (Sec. 3.2).  Its examples come from a model; these are
computed from the contract's conditions, so they are right wherever the rules are: for each rule a
case that breaks it alone, and around one allowed case every input moved to each value that the
conditions tell apart.  They are values that `tools.json` declares, and of what is read of one text alone, those that
one text gives: inputs that can occur together.  By the same values it is known what a denied call would have to be
(`required`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Literal

from wb.domain.judging import Judge
from wb.guards import sandbox
from wb.guards.contract import Contract, Parameter, function
from wb.guards.runtime import CallGuard, condition
from wb.guards.sandbox import Answered, Argument, Program, TooMany, UnsafeSource
from wb.logic import evaluation, facts
from wb.logic.facts import Node, Path

ExampleKind = Literal["compliance", "violation", "boundary"]
LONGEST = 300  # characters of what a rule asks of a denied call; a longer text helps nobody


@dataclass(frozen=True, slots=True)
class Example:
    """Arguments of a guard and the decision they must get; `rule` is the one that a violation breaks."""

    kind: ExampleKind
    rule: str
    arguments: tuple[tuple[str, Argument], ...]
    allowed: bool


def examples(contract: Contract) -> tuple[Example, ...]:
    """Compliance first, then a violation of each rule, then boundary values; each case once.

    Empty where the contract is too large to be run: nothing passes tests that are not there.
    """
    try:
        return _examples(contract, program(contract, contract.allows))
    except UnsafeSource:
        return ()


def _examples(contract: Contract, allows: Program) -> tuple[Example, ...]:
    calm = _found(contract, allows)
    rows = [] if calm is None else [Example("compliance", "", tuple(calm.items()), True)]
    for item in contract.items:
        broken = f"not ({item.condition})"
        alone = " and ".join([broken, *(f"({c})" for c in contract.conditions if c != item.condition)])
        case = _found(contract, program(contract, alone)) or _found(contract, program(contract, broken))
        if case is not None:
            rows.append(Example("violation", item.rule, tuple(case.items()), False))
    told = _told(contract)
    for name, values in _declared(contract, allows.points).items() if calm is not None else ():
        for value in values:
            if (moved := _together({**calm, name: value}, {name}, told)) is not None:
                rows.append(Example("boundary", "", tuple(moved.items()), bool(allows.run(**moved)[0])))
    first = {row.arguments: row for row in reversed(rows)}
    return tuple(row for row in rows if first[row.arguments] is row)


def allowed(contract: Contract) -> dict[str, Argument] | None:
    """Arguments of a call that a contract allows; None where there are none, or too many to try."""
    try:
        return _found(contract, program(contract, contract.allows))
    except UnsafeSource:
        return None


def program(contract: Contract, expression: str) -> Program:
    """A condition over the contract's parameters as a program; its points are those of all conditions."""
    loaded = condition(contract, expression)
    met = points(contract, *(function(contract, c) for c in (*contract.conditions, expression)))
    return Program(loaded.name, loaded.types, loaded.run, met, loaded.exact)


def points(contract: Contract, *sources: str) -> dict[str, tuple[Argument, ...]]:
    """The values that tell the sources apart and that the contract's `Requires` let in: no count is negative."""
    counts = {p.name for p in contract.parameters if p.measure == "count"}
    found = sandbox.points(*sources)
    return {n: tuple(v for v in values if n not in counts or v >= 0) for n, values in found.items()}


def failures(tested: Program, cases: Sequence[Example]) -> tuple[tuple[Example, str], ...]:
    """The examples that a guard gets wrong, each with what it did instead."""
    return wrong(cases, [sandbox.tried(tested, dict(case.arguments)) for case in cases])


def noticed(source: str, cases: Sequence[Example]) -> bool:
    """Whether a guard's source gets an example wrong; raises UnsafeSource where it is none."""
    return bool(failures(sandbox.load(source), cases))


def wrong(cases: Sequence[Example], answers: Sequence[Answered | str]) -> tuple[tuple[Example, str], ...]:
    """The examples that got another answer than they must, each with what it was; `answers` are of `sandbox.tried`."""
    found = []
    for case, got in zip(cases, answers, strict=True):
        if isinstance(got, str):
            found.append((case, got))
        elif got[0] is not case.allowed:
            found.append((case, f"{'allowed' if got[0] else 'denied'}: {got[1]}"))
    return tuple(found)


def answer(source: str, arguments: Sequence[tuple[str, Argument]]) -> tuple[bool, str]:
    """What a guard's source says of the arguments."""
    return sandbox.load(source).run(**dict(arguments))


def difference(one: Program, other: Program, over: Mapping[str, tuple[Argument, ...]]) -> dict[str, Argument] | None:
    """Arguments on which two guards decide differently, tried over all those values; None where there are none.

    Raises:
        TooMany: the values could not all be tried, so nothing is known.
    """

    def differ(**values: Argument) -> tuple[bool, str]:
        return bool(one.run(**values)[0]) != bool(other.run(**values)[0]), ""

    for chosen, (differs, _) in sandbox.completions(differ, {}, over, limit=200_000):
        if differs:
            return {**{n: v[0] for n, v in over.items()}, **chosen}
    return None


def _found(contract: Contract, wanted: Program) -> dict[str, Argument] | None:
    """Arguments that can occur together, for which the program is true; None where there are none, or too many to
    try."""
    told, points = _told(contract), _declared(contract, wanted.points)
    with suppress(TooMany):
        for chosen, (true, _) in sandbox.completions(wanted.run, {}, points):
            if true:
                whole = _together({**{n: v[-1] for n, v in points.items()}, **chosen}, set(chosen), told)
                if whole is not None:
                    return whole
    return None


Told = tuple[str, str, Callable[[Argument], object]]  # a text, another value that is read of it alone, and how


def _told(contract: Contract) -> list[Told]:
    """Which values are read of which text, alone."""
    read: dict[Path, list[tuple[Parameter, Node]]] = {}
    for one in contract.parameters:
        owner, _, field = (one.field or "").partition(".")
        node = one.term or one.test or Path(("state" if owner == "state" else "call", field))
        if one.past is None and one.loop is None and one.measure == "value" and len(facts.paths(node)) == 1:
            read.setdefault(facts.paths(node)[0], []).append((one, node))
    return [
        (text.name, other.name, partial(_read, evaluation.reading(node), path))
        for path, rows in read.items()
        for text in [one for one, _ in rows if one.type == "str" and len(path.names) == 2][:1]
        for other, node in rows
    ]


def _read(reading: Callable[[object, object], object], path: Path, text: Argument) -> object:
    """What comes of reading a node where its one path is that text."""
    given = {path.names[0]: {path.names[1]: text}}
    return reading(given.get("state"), given.get("call"))


def _together(values: dict[str, Argument], fixed: set[str], told: Sequence[Told]) -> dict[str, Argument] | None:
    """The values with what a text among them decides; None where that contradicts one that is fixed."""
    whole = dict(values)
    for text, name, read in told:
        got = read(whole[text])
        if got is not None and got != whole[name]:
            if name in fixed or name == text:
                return None
            whole[name] = got
    return whole


def _declared(contract: Contract, points: Mapping[str, Sequence[Argument]]) -> dict[str, tuple[Argument, ...]]:
    """The values that are declared, with one of an enumeration for all that no rule names; all, where none is."""
    found = {}
    for one in contract.parameters:
        met, (least, most) = points[one.name], one.within
        fits = [v for v in met if (v in one.values or not one.values)]
        fits = [v for v in fits if one.type != "int" or (least is None or v >= least) and (most is None or v <= most)]
        found[one.name] = (*fits, *[v for v in one.values if v not in met][:1]) or tuple(met)
    return found


def required(judge: Judge, tool: str, violated: Collection[str]) -> tuple[str, ...]:
    """What each of the broken rules asks of a call of the tool, in their order, each text once, none of over `LONGEST`.

    A guard allows a call only where what each of its rules asks holds, so what the broken ones ask is what is missing:
    data for the agent, not a promise.  It is said in English from the formula and its tests, never from the sentence.
    Empty where the judge has no contract that says it (a shield), where a rule allows no call of the tool at all, or
    where no call was found that the guard's code allows.
    """
    from wb.rules import understood  # at the first refusal, so that guards are there sooner

    entry = judge.loaded.get(tool) if isinstance(judge, CallGuard) else None
    if entry is None or entry.program is None:
        return ()
    contract = entry.entry.contract
    items = {item.rule: item for item in contract.items}
    if not items.keys() >= set(violated) or any(items[rule].condition == "False" for rule in violated):
        return ()
    values = allowed(contract)
    answered = "" if values is None else sandbox.tried(entry.program, {name: values[name] for name in entry.names})
    if isinstance(answered, str) or not answered[0]:
        return ()
    where = f" in the call of {tool}"
    texts = (understood.asked(items[rule].residual, judge.ruleset).removesuffix(where) for rule in violated)
    return tuple([text for text in dict.fromkeys(texts) if len(text) <= LONGEST])
