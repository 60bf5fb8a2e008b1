"""Physical rules: what must hold between predicates because of the fields and tools behind them.

ShieldAgent keeps physical rules R_p beside action rules (Sec. 3.1) and has a model write them.  Here
they are computed: two tests of one field stand in a relation that trying every interesting value
decides (age >= 18 implies age >= 15, two values of one enumeration exclude each other), and an action
predicate implies another when its tools are among the other's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from wb.domain.tools import Field, Toolbox
from wb.logic.formula import Always, And, Atom, Formula, Iff, Implies, Not, Or, atoms, conjunction
from wb.rules.rule import Predicate, Rule, RuleSet, Test, satisfies


def rules(predicates: Iterable[Predicate], toolbox: Toolbox | None = None) -> tuple[Rule, ...]:
    """One physical rule for each pair of predicates that are bound to each other by their groundings.

    With a toolbox, the field's type sharpens the relation: over integers `x > 17` is `x >= 18`.  An enumeration
    stays open: a value that is not declared may come, and nothing follows from the declared ones being excluded.
    """
    found, rows = [], tuple(predicates)
    for left, right in ((rows[i], rows[j]) for i, j in _related(rows)):
        relation = between(left, right, toolbox)
        if relation is not None:
            found.append(
                Rule(
                    id=f"physical_{len(found) + 1}",
                    text=_sentence(left, right, relation),
                    formula=Always(relation),
                    modality="oblige",
                    type="physical",
                )
            )
    return tuple(found)


def beside(ruleset: RuleSet, toolbox: Toolbox | None = None) -> RuleSet:
    """The rule set with the physical rules between its predicates added after its own."""
    return replace(ruleset, rules=(*ruleset.rules, *rules(ruleset.predicates, toolbox)))


def given(physical: Iterable[Rule]) -> Formula:
    """The conjunction of physical rules, as the background of a decision; `true` for none."""
    return conjunction(tuple(rule.formula for rule in physical))


def relevant(physical: Iterable[Rule], *formulas: Formula) -> Formula:
    """The part of the background that can bear on the formulas: rules all of whose predicates occur in them.

    Relations are computed for every pair, so a chain through a third predicate adds nothing.
    """
    names = {name for formula in formulas for name in atoms(formula)}
    return given(rule for rule in physical if names.issuperset(rule.predicates))


def between(left: Predicate, right: Predicate, toolbox: Toolbox | None = None) -> Formula | None:
    """The strongest relation that always holds between two predicates; None where nothing binds them."""
    a, b = Atom(left.name), Atom(right.name)
    if left.kind != right.kind:
        return None
    if left.kind == "action":
        return _between_tools(a, b, frozenset(left.tools), frozenset(right.tools))
    if (
        left.test is None
        or right.test is None
        or (left.test.field, left.test.measure) != (right.test.field, right.test.measure)
    ):
        return None
    points = tuple(_points(left.test, right.test, bound(left.test, toolbox)))
    seen = {(satisfies(left.test, v), satisfies(right.test, v)) for v in points}
    return _relation(a, b, {pair for pair in seen if None not in pair})


def _related(predicates: Sequence[Predicate]) -> list[tuple[int, int]]:
    """The pairs of positions, in order, that share a field and measure or a tool; all others are free of each other."""
    by: dict[object, list[int]] = {}
    for i, predicate in enumerate(predicates):
        for key in predicate.tools if predicate.test is None else [(predicate.test.field, predicate.test.measure)]:
            by.setdefault(key, []).append(i)
    return sorted({pair for places in by.values() for pair in combinations(places, 2)})


def bound(test: Test, toolbox: Toolbox | None) -> Field | None:
    """The field that a test reads, as the toolbox declares it; None where it does not."""
    if toolbox is None:
        return None
    owner, _, name = test.field.partition(".")
    fields = toolbox.state if owner == "state" else next((t.arguments for t in toolbox.tools if t.name == owner), ())
    return next((field for field in fields if field.name == name), None)


def _between_tools(a: Atom, b: Atom, left: frozenset[str], right: frozenset[str]) -> Formula | None:
    if not left or not right:
        return None
    if left == right:
        return Iff(a, b)
    if left < right:
        return Implies(a, b)
    return Implies(b, a) if right < left else None


def _relation(a: Atom, b: Atom, seen: set[tuple[bool, bool]]) -> Formula | None:
    """The conjunction of the clauses that rule out the unseen pairs; None if all or none are seen."""
    clauses = {
        (True, False): Implies(a, b),
        (False, True): Implies(b, a),
        (True, True): Not(And(a, b)),
        (False, False): Or(a, b),
    }
    missing = [pair for pair in clauses if pair not in seen]
    if len(missing) in (0, 4):
        return None
    if missing == [(True, False), (False, True)]:
        return Iff(a, b)
    if missing == [(True, True), (False, False)]:
        return Iff(a, Not(b))
    return conjunction(tuple(clauses[pair] for pair in missing))


def _points(left: Test, right: Test, field: Field | None) -> Iterator[object]:
    """Values that meet every combination of two tests: constants, their neighbours, gaps, and one other."""
    constants = [v for test in (left, right) for v in (test.value if isinstance(test.value, tuple) else (test.value,))]
    if left.measure == "count":
        yield from ([None] * n for n in range(int(max(constants)) + 2))
    elif all(isinstance(v, bool) for v in constants):
        yield from (False, True)
    elif all(isinstance(v, str) for v in constants):
        yield from dict.fromkeys((*(field.values if field else ()), *constants, "\0another value"))
    elif all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in constants):
        yield from _numbers(sorted(set(constants)), whole=field is not None and field.type == "integer")


def _numbers(constants: list[float], *, whole: bool) -> Iterator[float]:
    """The constants and one value of every gap: neighbours over integers, midpoints and ends otherwise."""
    if whole:
        yield from sorted({math.floor(c) + step for c in constants for step in (-1, 0, 1, 2)})
        return
    yield from constants
    yield from ((low + high) / 2 for low, high in zip(constants, constants[1:], strict=False))
    yield from (constants[0] - 1, constants[-1] + 1)


def _sentence(left: Predicate, right: Predicate, relation: Formula) -> str:
    cause = "tools" if left.kind == "action" else str(left.test.field)
    kind = {Implies: "implies", Iff: "is bound to", Not: "excludes"}.get(type(relation), "is bound to")
    pair = (right, left) if isinstance(relation, Implies) and relation.left == Atom(right.name) else (left, right)
    return f"{pair[0].name} {kind} {pair[1].name} (by {cause})"
