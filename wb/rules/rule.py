"""Rules: LTLf formulas over predicates, each tied to the sentence it came from.

ShieldAgent's rule tuple r = [P_r, T_r, phi_r, t_r] (Sec. 3.1) with the sentence's modality and its
verbatim span beside it; a rule set with its predicates is the paper's ASPM (P, R, ·), Eq. 2.
Rules are read and written as JSON here, and as text that a person edits in `rulefile`.

Predicates: the vocabulary of rules, and how their truth is read off a step.

ShieldAgent's predicate record (Sec. 3.1): a positive snake_case name, a description and keywords;
an *action* predicate is true when the agent calls one of its tools, a *state* predicate is a fact
about the user, the session or the arguments.  A state predicate with a `Test` is *grounded*: its
truth follows from one field.  Without a test it is unknown unless the step's state holds it by name.

Rules from many clauses joined into one set over one vocabulary of predicates.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from wb.domain.trace import Call, Step, Value, reading
from wb.logic import formula
from wb.logic.formula import Atom, Constant, Formula, atoms, children

Kind = Literal["action", "state"]
Operator = Literal["==", "!=", "<", "<=", ">", ">=", "in"]
COMPARE = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda value, options: value in options,
}


@dataclass(frozen=True, slots=True)
class Test:
    """`field OP value`, e.g. `state.age >= 18` or `count(book.guests) <= 8`.

    `field` is `state.NAME` or `TOOL.ARGUMENT`; `measure` compares the value itself or how many
    items it holds.
    """

    __test__ = False  # not a pytest class
    field: str
    op: Operator
    value: bool | int | float | str | tuple[str, ...]
    measure: Literal["value", "count"] = "value"

    def __post_init__(self) -> None:
        if self.op not in COMPARE:
            raise ValueError(f"op must be one of {list(COMPARE)}; got {self.op!r}")
        if "." not in self.field:
            raise ValueError(f"field must be state.NAME or TOOL.ARGUMENT; got {self.field!r}")

    def __str__(self) -> str:
        subject = f"count({self.field})" if self.measure == "count" else self.field
        return f"{subject} {self.op} {self.value!r}"


@dataclass(frozen=True, slots=True)
class Predicate:
    """One proposition of a rule set, true, false or unknown at each step."""

    name: str
    kind: Kind
    description: str
    keywords: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    test: Test | None = None

    def __post_init__(self) -> None:
        if not formula.NAME.match(self.name):
            raise ValueError(f"a predicate name must match [a-z][a-z0-9_]*; got {self.name!r}")
        if self.kind not in ("action", "state"):
            raise ValueError(f"kind must be 'action' or 'state'; got {self.kind!r}")
        if self.kind == "state" and self.tools:
            raise ValueError(f"only an action predicate has tools; {self.name!r} has {self.tools}")


Reader = Callable[[Step, Call | None], bool | None]


def reader(predicate: Predicate, enumerations: Mapping[str, tuple[str, ...]] = MappingProxyType({})) -> Reader:
    """The predicate as a function of a step and the call that is asked about (None where none is): `truth`, compiled.

    An action predicate is closed-world over the step's calls: what was not called was not done; without a tool it is
    unknown, for nobody can see it done.  A test of an argument reads the call that is asked about where that is a call
    of its tool, else the step's calls of the tool: where they differ, it is unknown.  `enumerations` names the values
    that a field may have, by its path: the test of any other value is unknown.
    """
    if predicate.kind == "action":
        tools = predicate.tools
        if not tools:
            return lambda step, call: None

        def done(step: Step, call: Call | None) -> bool:
            for one in step.calls:
                if one.tool in tools:
                    return True
            return False

        return done
    if predicate.test is None:
        name = predicate.name

        def told(step: Step, call: Call | None) -> bool | None:
            known = step.state.get(name)
            return known if isinstance(known, bool) else None

        return told
    path = predicate.test.field
    return reading(path, passing(predicate.test), enumerations.get(path, ()))


def truth(predicate: Predicate, step: Step, call: Call | None = None) -> bool | None:
    """Whether the predicate holds at the step; None where the step does not tell."""
    return reader(predicate)(step, call)


def source(predicate: Predicate) -> str:
    """What tells the predicate's truth: the field that its test reads, else its own name."""
    return predicate.test.field if predicate.test is not None else predicate.name


def passing(test: Test) -> Callable[[Value], bool | None]:
    """The test as a function of its field's value: None where that is absent, of another type, or no finite number."""
    compare, limit = COMPARE[test.op], test.value
    wanted = limit[0] if isinstance(limit, tuple) and limit else limit
    exact = bool if isinstance(wanted, bool) else str if isinstance(wanted, str) else None

    def scalar(value: Value) -> bool | None:
        return compare(value, limit) if type(value) is exact else None

    def number(value: Value) -> bool | None:
        kind = type(value)
        return compare(value, limit) if kind is int or (kind is float and math.isfinite(value)) else None

    plain = number if exact is None else scalar
    if test.measure == "value":
        return plain
    return lambda value: plain(len(value)) if isinstance(value, (list, tuple, Mapping)) else None


def satisfies(test: Test, value: Value) -> bool | None:
    """Whether a value passes the test; None where it does not tell."""
    return passing(test)(value)


def valuation(predicates: tuple[Predicate, ...], step: Step, call: Call | None = None) -> dict[str, bool | None]:
    """The truth of every predicate at one step, by name."""
    return {predicate.name: truth(predicate, step, call) for predicate in predicates}


Modality = Literal["forbid", "permit_only_if", "oblige"]
RuleType = Literal["action", "physical"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `clause` names the clause it was read from, `quote` is that clause's verbatim text,
    `parents` the rules that a refinement made it from."""

    id: str
    text: str
    formula: Formula
    modality: Modality
    type: RuleType = "action"
    clause: str = ""
    quote: str = ""
    parents: tuple[str, ...] = ()

    @property
    def predicates(self) -> tuple[str, ...]:
        """The names of the predicates in the rule's formula (P_r)."""
        return atoms(self.formula)


@dataclass(frozen=True, slots=True)
class Undecided:
    """A clause that states a constraint which no rule could be read from, and why."""

    clause: str
    quote: str
    reason: str


@dataclass(frozen=True, slots=True)
class RuleSet:
    """Predicates, the rules over them, and what stayed undecided."""

    predicates: tuple[Predicate, ...] = ()
    rules: tuple[Rule, ...] = ()
    undecided: tuple[Undecided, ...] = ()

    def __post_init__(self) -> None:
        names = [p.name for p in self.predicates]
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            raise ValueError(f"every predicate needs a name of its own; got {twice} more than once")
        ids = [r.id for r in self.rules]
        if len(set(ids)) < len(ids):
            raise ValueError(
                f"every rule needs an id of its own; got {sorted({i for i in ids if ids.count(i) > 1})} more than once"
            )
        known = set(names)
        for rule in self.rules:
            missing = [n for n in rule.predicates if n not in known]
            if missing:
                raise ValueError(f"rule {rule.id!r} uses predicates that are not declared: {missing}")

    def predicate(self, name: str) -> Predicate:
        """The predicate of that name; `KeyError` when there is none."""
        for predicate in self.predicates:
            if predicate.name == name:
                return predicate
        raise KeyError(f"no predicate {name!r} in this rule set")

    def actions(self, rule: Rule) -> tuple[Predicate, ...]:
        """The action predicates of a rule."""
        found = (self.predicate(name) for name in rule.predicates)
        return tuple(p for p in found if p.kind == "action")

    def without_unused(self) -> RuleSet:
        """The same rules with only the predicates that they use."""
        used = {name for rule in self.rules for name in rule.predicates}
        return replace(self, predicates=tuple(p for p in self.predicates if p.name in used))


@dataclass(frozen=True, slots=True)
class RuleDraft:
    """A rule without its id, and the predicates it names."""

    rule: Rule
    predicates: tuple[Predicate, ...]


def collect(drafts: Sequence[RuleDraft], undecided: Sequence[Undecided]) -> RuleSet:
    """One rule set: predicates that say the same are one, and no two share a name.

    Two predicates say the same if both have the same test, the same tools, or, without either, the
    same kind and name. Rules are numbered within their clause: c4.1, c4.2.
    """
    known: dict[object, Predicate] = {}
    names: set[str] = set()
    rules: list[Rule] = []
    counts: dict[str, int] = {}
    for draft in drafts:
        renamed = {p.name: _shared(p, known, names) for p in draft.predicates}
        formula = rename(draft.rule.formula, {old: new.name for old, new in renamed.items()})
        if any(r.formula == formula and r.clause == draft.rule.clause for r in rules):
            continue
        counts[draft.rule.clause] = counts.get(draft.rule.clause, 0) + 1
        rules.append(replace(draft.rule, id=f"{draft.rule.clause}.{counts[draft.rule.clause]}", formula=formula))
    return RuleSet(tuple(known.values()), tuple(rules), tuple(undecided))


def rename(formula: Formula, names: dict[str, str]) -> Formula:
    """The formula with its predicates renamed; a name that is not listed stays."""
    if isinstance(formula, Atom):
        return Atom(names.get(formula.name, formula.name))
    if isinstance(formula, Constant):
        return formula
    return type(formula)(*(rename(child, names) for child in children(formula)))


def _shared(predicate: Predicate, known: dict[object, Predicate], names: set[str]) -> Predicate:
    """The predicate of the set that says the same, else this one under a free name."""
    key = predicate.test or (frozenset(predicate.tools) or None) or (predicate.kind, predicate.name)
    if key not in known:
        name, number = predicate.name, 2
        if name in names and predicate.test is not None and not predicate.test.field.startswith("state."):
            name = f"{predicate.test.field.partition('.')[0].lower()}_{name}"
        base = name
        while name in names:
            name, number = f"{base}_{number}", number + 1
        names.add(name)
        known[key] = replace(predicate, name=name)
    return known[key]
