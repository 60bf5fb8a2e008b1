"""Physical rules: what must hold between predicates because of the fields and tools behind them.

ShieldAgent keeps physical rules R_p beside action rules (Sec. 3.1) and has a model write them.  Here
they are computed: two tests of one field stand in a relation that trying enough values (`samples`)
decides (age >= 18 implies age >= 15, two values of one enumeration exclude each other), and an action
predicate implies another when its tools are among the other's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, permutations, product

from wb.domain.tools import Field, Toolbox, nullable
from wb.logic.evaluation import holds
from wb.logic.facts import Path, Size, terms
from wb.logic.formula import (
    Always,
    And,
    Atom,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    atoms,
    conjunction,
    disjunction,
    substitute,
)
from wb.logic.worlds import assigned, samples
from wb.rules.rule import Predicate, Rule, RuleSet
from wb.rules.truths import source


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


def enumerated(predicates: Iterable[Predicate], toolbox: Toolbox) -> tuple[Formula, ...]:
    """What the declared values of a field leave possible, all its predicates together: a value that is not declared
    makes each of them unknown, so that it tells no readings apart."""
    groups: dict[object, list[Predicate]] = {}
    for one in predicates:
        if one.kind == "state" and isinstance(one.term, Path):
            groups.setdefault((one.term, frozenset(one.tools)), []).append(one)
    found = []
    for (term, _), rows in groups.items():
        fields = bound(rows[0], toolbox)
        values = fields[0].schema.get("enum") or fields[0].values if fields else _within(rows[0], toolbox)
        if len(rows) < 2 or not values or any(one.schema.get("enum") != fields[0].schema.get("enum") for one in fields):
            continue
        worlds = [*_without(term), *(assigned(term, value) for value in values if value is not None)]
        null = {term: (None,)} if any(nullable(one) for one in fields) else {}  # then null is one of its values
        states = {tuple(holds(one.test, world, null) for one in rows) for world in worlds} - {(None,) * len(rows)}
        options = [
            conjunction(tuple(_signed(p, t) for p, t in zip(rows, truths, strict=True) if t is not None))
            for truths in sorted(states, key=str)
        ]
        if options and len(states) < 2 ** len(rows):
            found.append(Always(disjunction(tuple(options))))
    return tuple(found)


def _without(term: Path | Size) -> list[dict[str, object]]:
    """The values in which what the term measures is left out, or null: `has` and comparisons with null know these."""
    path = term.of if isinstance(term, Size) else term
    around: dict[str, object] = {}
    for name in reversed(path.names[:-1]):
        around = {name: around}
    return [around, assigned(path, None)]


def _signed(predicate: Predicate, truth: bool) -> Formula:
    return Atom(predicate.name) if truth else Not(Atom(predicate.name))


def _within(predicate: Predicate, toolbox: Toolbox) -> Sequence[object]:
    """The declared values of a field that lies within an object of the state; none where they are not declared."""
    term = predicate.term
    if not isinstance(term, Path) or term.names[0] != "state":
        return ()
    schema: object = {"properties": {field.name: field.schema for field in toolbox.state}}
    for name in term.names[1:]:
        inside = schema.get("properties") if isinstance(schema, Mapping) else None
        schema = inside.get(name) if isinstance(inside, Mapping) else None
    return schema.get("enum", ()) if isinstance(schema, Mapping) else ()


def beside(ruleset: RuleSet, toolbox: Toolbox | None = None) -> RuleSet:
    """The rule set with the physical rules between its predicates added after its own."""
    return replace(ruleset, rules=(*ruleset.rules, *rules(ruleset.predicates, toolbox)))


def about(predicates: Iterable[Predicate], tried: Sequence[str], *, all: bool = True) -> tuple[Rule, ...]:
    """What must hold between predicates of those objects: what binds two predicates of the same calls binds them for
    each object; `cancel` holds where `cancel(1)` or `cancel(2)` does, and there alone where these are `all` objects."""
    rows = [p for p in predicates if p.objects]
    chosen = {p.name: list(product(tried, repeat=len(p.objects))) for p in rows}
    laws = [
        (
            f"{p.name} is of one of {', '.join(tried)}",
            (Iff if all else Implies)(disjunction(tuple(_of(p, objects) for objects in chosen[p.name])), Atom(p.name)),
        )
        for p in rows
    ]
    for left, right in permutations(rows, 2):
        relation = _of_one(left, right) if left.objects == right.objects else None
        if relation is not None:
            said = _sentence(left, right, relation)
            for objects in chosen[left.name]:
                by = {Atom(p.name): _of(p, objects) for p in (left, right)}
                laws.append((f"{said}, for {', '.join(objects)}", substitute(relation, by)))
    return tuple(
        Rule(id=f"object_{i}", text=text, formula=Always(law), modality="oblige", type="physical")
        for i, (text, law) in enumerate(laws, 1)
    )


def _of(predicate: Predicate, objects: Sequence[str]) -> Atom:
    return Atom(f"{predicate.name}({', '.join(objects)})")


def _of_one(left: Predicate, right: Predicate) -> Formula | None:
    """What the first says of the second for one object: false of both where no call names it, so no more than that."""
    a, b = Atom(left.name), Atom(right.name)
    if right.kind == "action":
        return Implies(a, b) if set(left.tools) <= set(right.tools) else None
    if left.kind == "state" and left.name < right.name:
        relation = between(left, right)
        return relation if isinstance(relation, Implies | Not) else None
    return None


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
    if left.term is None or (left.term, frozenset(left.tools)) != (right.term, frozenset(right.tools)):
        return None
    values = _tried(left, toolbox, right)
    worlds = [*values, *_without(left.term)] if values else []
    seen = {(holds(left.test, known), holds(right.test, known)) for known in worlds}
    each = [[(True, False) if truth is None else (truth,) for truth in pair] for pair in seen - {(None, None)}]
    return _relation(a, b, {pair for one, other in each for pair in product(one, other)})  # unknown may be either


def constant(predicate: Predicate, toolbox: Toolbox | None = None) -> bool | None:
    """The truth that a test has whatever its one field holds (`true`, `state.age > 3 || state.age <= 3`); None where
    it depends on that."""
    if predicate.test is None:
        return None
    measured = terms(predicate.test)
    values = [{}] if not measured else _tried(predicate, toolbox) if len(measured) == 1 else []
    seen = {holds(predicate.test, known) for known in values}
    seen |= {holds(predicate.test, known) for known in _without(measured[0])} - {None} if values and measured else set()
    return seen.pop() if len(seen) == 1 else None


def _related(predicates: Sequence[Predicate]) -> list[tuple[int, int]]:
    """The pairs of positions, in order, that share a field and measure or a tool; all others are free of each other."""
    by: dict[object, list[int]] = {}
    for i, predicate in enumerate(predicates):
        term = [(predicate.term, frozenset(predicate.tools))] if predicate.term is not None else []
        for key in predicate.tools if predicate.kind == "action" else term:
            by.setdefault(key, []).append(i)
    return sorted({pair for places in by.values() for pair in combinations(places, 2)})


def bound(predicate: Predicate, toolbox: Toolbox | None) -> tuple[Field, ...]:
    """The fields that the one path of a test stands for, as the toolbox declares them: of each tool its own."""
    term = predicate.term.of if isinstance(predicate.term, Size) else predicate.term
    if toolbox is None or term is None or len(term.names) != 2:
        return ()
    root, name = term.names
    mine = [t.arguments for t in toolbox.tools if not predicate.tools or t.name in predicate.tools]
    return tuple(f for fields in ([toolbox.state] if root == "state" else mine) for f in fields if f.name == name)


def _tried(one: Predicate, toolbox: Toolbox | None, *others: Predicate) -> list[dict[str, object]]:
    """Values of a predicate's one term that meet every combination of truths of its test and of others' of it."""
    fields = bound(one, toolbox)
    whole = isinstance(one.term, Size) or (bool(fields) and all(field.type == "integer" for field in fields))
    tests = (predicate.test for predicate in (one, *others))
    return [assigned(one.term, value) for value in samples(one.term, *tests, whole=whole)]


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


def _sentence(left: Predicate, right: Predicate, relation: Formula) -> str:
    cause = "tools" if left.kind == "action" else source(left)
    kind = {Implies: "implies", Iff: "is bound to", Not: "excludes"}.get(type(relation), "is bound to")
    pair = (right, left) if isinstance(relation, Implies) and relation.left == Atom(right.name) else (left, right)
    return f"{pair[0].name} {kind} {pair[1].name} (by {cause})"
