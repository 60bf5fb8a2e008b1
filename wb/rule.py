"""Rules: LTLf formulas over predicates, each tied to the sentence it came from.

ShieldAgent's rule tuple r = [P_r, T_r, phi_r, t_r] (Sec. 3.1) with the sentence's modality and its
verbatim span beside it; a rule set with its predicates is the paper's ASPM (P, R, ·), Eq. 2.
Rules are read and written as JSON here, and as text that a person edits in `rulefile`.
"""
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from wb.formula import Formula, atoms
from wb.predicate import Predicate

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
            raise ValueError(f"every rule needs an id of its own; got {sorted({i for i in ids if ids.count(i) > 1})} more than once")
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
