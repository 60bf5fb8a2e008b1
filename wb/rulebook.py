"""Rules from many clauses joined into one set over one vocabulary of predicates."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from wb.formula import Atom, Constant, Formula, children
from wb.predicate import Predicate
from wb.rule import Rule, RuleSet, Undecided


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
