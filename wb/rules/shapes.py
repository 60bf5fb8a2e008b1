"""The forms of formulas and tests that the words of a sentence can be counted against, and the literals in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from wb.logic import cel, facts
from wb.logic import formula as F
from wb.logic.facts import (
    Comparison,
    Conjunction,
    Disjunction,
    Fact,
    Macro,
    Negation,
    Node,
    OneOf,
    Part,
    Path,
    Scalar,
    Variable,
)
from wb.logic.formula import Formula
from wb.logic.syntax import render
from wb.rules.rule import Predicate, Rule


def joins_literals(formula: Formula) -> bool:
    """Whether a formula joins literals by AND and OR alone, each now or before."""
    return all(isinstance(node, F.Atom | F.Not | F.Once | F.And | F.Or) for node in F.subformulas(formula))


def wider(predicates: Iterable[Predicate]) -> bool:
    """Whether a test is of another form than words can be counted against, such as one of two fields, a sum or a time,
    or of the items of a list: no narrower answer would say the same."""
    found = [fact for p in predicates if p.test is not None for _, fact in leaves(p.test, True)]
    return not all(map(_leaf, found))


def past(rules: Iterable[Rule], predicates: Iterable[Predicate]) -> bool:
    """Whether a rule asks for a fact that was so once, where the sentence may mean that it is so now."""
    states = {p.name for p in predicates if p.kind == "state"}
    return any(
        isinstance(node, F.Once | F.Since | F.Until | F.WeakUntil | F.Release) and states & set(F.atoms(node))
        for rule in rules
        for node in F.subformulas(rule.formula)
    )


def narrowed(rules: Iterable[Rule]) -> bool:
    """Whether a duty says how, by whom or with what: to do it otherwise may be forbidden, and no rule says that."""
    return any(
        isinstance(node, F.Eventually) and not isinstance(node.body, F.Atom)
        for rule in rules
        for node in F.subformulas(rule.formula)
    )


def banning(rules: Iterable[Rule]) -> bool:
    """Whether rules only forbid acts, whatever else is so."""
    return all(
        isinstance(r.formula, F.Always) and F.Not(F.Atom(n)) == r.formula.body for r in rules for n in r.predicates
    )


def brought_about(rules: Iterable[Rule], predicates: Iterable[Predicate]) -> tuple[str, ...]:
    """The facts that rules ask to be so at some time: no call is known to bring them about."""
    states = {p.name for p in predicates if p.kind == "state"}
    later = [n for rule in rules for n in F.subformulas(rule.formula) if isinstance(n, F.Eventually)]
    return tuple(dict.fromkeys(name for node in later for name in F.atoms(node) if name in states))


def foreign(rules: Iterable[Rule], used: Iterable[Predicate]) -> tuple[str, ...]:
    """The formulas and tests of other forms than those whose parts the words of a sentence can be counted against.

    A formula is `ALWAYS` of facts, of what was done once or has to follow, or has an act wait for one; no fact stands
    twice in it, and an act where it asks for something (`_placed`).  A test joins comparisons of a field, or of how
    many items it has, with literals; of the items of a list one comparison.
    """
    used = tuple(used)
    acts = frozenset(p.name for p in used if p.kind == "action")
    found = [render(rule.formula) for rule in rules if not (_counted(rule.formula) and _placed(rule.formula, acts))]
    found += [cel.render(p.test) for p in used if p.test is not None and not _simple(spread(p).test)]
    return tuple([f"no sentence is read into this form, a person may write it: {text}" for text in found])


def _placed(formula: Formula, acts: frozenset[str]) -> bool:
    """Whether each act of a formula stands where a sentence puts one: it asks for what is so or was done, it has to
    follow, it was done once before another one, or two are not done together."""
    match formula:
        case _ if not acts & {*F.atoms(formula)}:
            return True
        case F.Eventually(body) | F.Always(F.Eventually(body)):  # it is done once, or again and again
            return all(isinstance(node, F.Atom | F.And | F.Or) for node in F.subformulas(body))
        case F.Always(F.Not(F.Atom())):
            return True
        case F.Always(F.Implies(left, right)):
            parts = [*conjuncts(left)]
            asking_for = [one for one in parts if all(_names_act(a, {*acts}) for a in _alternatives(one, True))]
            beside = [one for one in parts if one not in asking_for]
            if not all(_past_acts(one, acts) for one in beside) or not _past_acts(right, acts):
                return False
            return bool(asking_for) or any(isinstance(node, F.Eventually) for node in F.subformulas(right))
        case F.Always(F.Not(body)):
            return all(_names_act(one, {*acts}) for one in conjuncts(body))
    return False


def _past_acts(formula: Formula, acts: frozenset[str]) -> bool:
    """Whether the acts of a formula are such as were done once, have to follow, or are not done now."""
    match formula:
        case F.Atom(name):
            return name not in acts
        case F.Once(F.Atom()) | F.Eventually() | F.Not(F.Atom()):
            return True
        case F.Not(F.Once(F.Atom())):
            return True
        case F.Not() | F.And() | F.Or() | F.Implies():
            return all(_past_acts(one, acts) for one in F.children(formula))
    return not acts & {*F.atoms(formula)}


def _counted(formula: Formula) -> bool:
    match formula:
        case F.Always(F.Eventually(body)) | F.Always(body) | F.Eventually(body):
            parts = (body,)
        case F.WeakUntil(left, right) | F.Until(left, right):
            parts = (left, right)
        case _:
            parts = (formula,)
    said = [name for part in parts for name in _atoms(part)]
    return None not in said and len(set(said)) == len(said)


def _atoms(formula: Formula) -> Iterator[str | None]:
    """The atoms of a formula of facts, as often as they stand in it; None for a part of another form."""
    match formula:
        case F.Atom(name) | F.Once(F.Atom(name)):
            yield name
        case F.Eventually(body) if F.propositional(body):
            yield from _atoms(body)
        case F.Not() | F.And() | F.Or() | F.Implies():
            for part in F.children(formula):
                yield from _atoms(part)
        case _:
            yield None


def _simple(test: Fact) -> bool:
    """Whether a test joins truths of fields and comparisons with literals; of a field in alternatives one alone."""
    facts_of = [fact for _, fact in leaves(test, True)]
    read = [path for fact in facts_of for path in facts.paths(fact)]
    apart = len(set(read)) == len(read) or not any(isinstance(node, Disjunction) for node in _inner(test))
    return apart and all(map(_leaf, facts_of))


def spread(predicate: Predicate) -> Predicate:
    """The predicate with what it asks of all items of a list, or of some, as if it asked that of a field of the list:
    `call.boxes.all(b, b.shut)` as `call.boxes.shut`.  What it says of how many of them is `gone_through`."""
    return predicate if predicate.test is None else replace(predicate, test=_spread(predicate.test))


def _spread(test: Fact) -> Fact:
    match test:
        case Negation(body):
            return Negation(_spread(body))
        case Conjunction(parts):
            return Conjunction(tuple(map(_spread, parts)))
        case Disjunction(parts):
            return Disjunction(tuple(map(_spread, parts)))
        case Macro("all" | "exists", Path(names), variable, body):
            return _of_items(body, variable, names) or test
    return test


def _of_items(body: Fact, variable: Variable, names: tuple[str, ...]) -> Fact | None:
    """One comparison of a field of what a macro goes through, as one of the list's; None for any other body."""
    match body:
        case Negation(inner):
            found = _of_items(inner, variable, names)
            return None if found is None else Negation(found)
        case Part():
            return _item(body, variable, names)
        case OneOf(item, options):
            path = _item(item, variable, names)
            return None if path is None else OneOf(path, options)
        case Comparison(op, left, Scalar() as right):
            path = _item(left, variable, names)
            return None if path is None else Comparison(op, path, right)
    return None


def _item(node: Node, variable: Variable, names: tuple[str, ...]) -> Path | None:
    match node:
        case Part(of, Scalar(str(name))):
            outer = names if of == variable else (found := _item(of, variable, names)) and found.names
            return Path((*outer, name)) if outer else None
    return None


def gone_through(test: Fact | None, positive: bool) -> Iterator[tuple[bool, Path]]:
    """The lists of which a test asks something of their items, each with whether it asks it of all or of some."""
    for asked, fact in leaves(test, positive):
        match fact:
            case Macro("all" | "exists" as name, Path() as path):
                yield asked == (name == "all"), path


def apart(rules: Iterable[Rule], predicates: Iterable[Predicate]) -> tuple[list[Rule], list[Predicate]]:
    """The same rules over predicates of one fact each: what a test joins, the formula does."""
    every, joined = [], {}
    for p in predicates:
        if isinstance(p.test, Conjunction | Disjunction) or (isinstance(p.test, Negation) and not _leaf(p.test.body)):
            own: list[Predicate] = []
            joined[p.name] = _formula(p.test, p, own)
            every += own
        else:
            every.append(p)
    return [replace(rule, formula=F.substitute(rule.formula, _atoms_of(rule, joined))) for rule in rules], every


def _formula(test: Fact, p: Predicate, own: list[Predicate]) -> Formula:
    """What a test joins as a formula over predicates of one fact each, which are added to `own`."""
    match test:
        case Negation(body):
            return F.Not(_formula(body, p, own))
        case Conjunction(parts):
            return F.conjunction(tuple(_formula(part, p, own) for part in parts))
        case Disjunction(parts):
            return F.disjunction(tuple(_formula(part, p, own) for part in parts))
    own.append(replace(p, name=f"{p.name}_{len(own)}", test=test))
    return F.Atom(own[-1].name)


def _atoms_of(rule: Rule, joined: Mapping[str, Formula]) -> dict[Formula, Formula]:
    return {F.Atom(name): formula for name, formula in joined.items() if name in F.atoms(rule.formula)}


def _leaf(fact: Fact) -> bool:
    match fact:
        case Path():
            return True
        case OneOf(item, options):  # a truth is one of two
            return isinstance(item, Path) and not any(type(one.value) is bool for one in options)
        case Comparison(limit=limit, right=Scalar()):  # a field first; texts and truths stand in no order
            return limit is not None and (limit[1] in ("==", "!=") or type(limit[2].value) in (int, float))
    return False


def _inner(test: Fact) -> Iterator[Fact]:
    yield test
    for part in facts.children(test):
        yield from _inner(part)


def implied(formula: Formula) -> Iterator[tuple[Formula, Formula]]:
    """What a rule asks for where something is so: the two sides of `ALWAYS (a IMPLIES b)`; nothing for another form."""
    match formula:
        case F.Always(F.Implies(left, right)):
            yield left, right


def limited(formula: Formula) -> tuple[int, str] | None:
    """How often an act may be done, and which: of `ALWAYS (a IMPLIES COUNT[<= n] a)`; None for another form."""
    match formula:
        case F.Always(F.Implies(F.Atom(act), F.Not(F.Next(F.Eventually(F.Atom(again)))))) if act == again:
            return 1, act
        case F.Always(F.Implies(F.Atom(act), F.Not(F.Once() as body))):
            often = F.counted(body)
            return (often[0] - 1, act) if often is not None and often[1] == F.Atom(act) and often[0] > 1 else None
    return None


def asking(formula: Formula, acts: set[str]) -> Formula:
    """A formula as what an act asks for, `ALWAYS (act IMPLIES what)`, in whichever way it is said; itself where it asks
    nothing of an act."""
    match formula:
        case F.Not(F.Eventually(body)):
            return asking(F.Always(F.Not(body)), acts)
        case F.Always(body):
            parts = tuple(_alternatives(body, True))
            named = [one.body for one in parts if isinstance(one, F.Not) and _names_act(one.body, acts)]
            asked = tuple(one for one in parts if not (isinstance(one, F.Not) and _names_act(one.body, acts)))
            whole = F.Implies(F.conjunction(tuple(named)), F.disjunction(asked))
            plain = isinstance(body, F.Implies) and any(_names_act(one, acts) for one in conjuncts(body.left))
            said = plain and isinstance(body.right, F.Atom | F.And | F.Or | F.Implies | F.Once)
            return formula if not named or not asked or said else F.Always(whole)
    return formula


def _names_act(formula: Formula, acts: set[str]) -> bool:
    return isinstance(formula, F.Atom) and formula.name in acts


def _alternatives(formula: Formula, positive: bool) -> Iterator[Formula]:
    """The formulas of which one at least has to hold, where the formula holds, or does not."""
    match formula, positive:
        case (F.Or(left, right), True) | (F.And(left, right), False):
            yield from _alternatives(left, positive)
            yield from _alternatives(right, positive)
        case (F.Implies(left, right), True):
            yield from _alternatives(left, False)
            yield from _alternatives(right, True)
        case (F.Not(body), _):
            yield from _alternatives(body, not positive)
        case (F.Constant(value), _):
            yield from () if value != positive else (formula,)
        case _:
            yield formula if positive else F.Not(formula)


def bare(formula: Formula) -> Formula:
    """The formula without its objects, what limits how often an act is done as what is about that act, and an act that
    waits, `NOT act WEAK_UNTIL first`, as what is the same: `ALWAYS (act IMPLIES ONCE first)`."""
    bare = F.substitute(
        formula, {a: F.Atom(a.predicate) for a in F.subformulas(formula) if isinstance(a, F.Atom) and a.objects}
    )
    match bare:
        case F.WeakUntil(F.Not(F.Atom() as act), F.Atom() as first):
            return F.Always(F.Implies(act, F.Once(first)))
    often = limited(bare)
    return bare if often is None else F.Always(F.Not(F.Atom(often[1])))


def literals(predicate: Predicate) -> tuple[Scalar, ...]:
    """The literals of the predicate's test."""
    found, waiting = [], [predicate.test] if predicate.test is not None else []
    while waiting:
        node = waiting.pop()
        waiting += facts.children(node)
        found += [node] if isinstance(node, Scalar) else []
    return tuple(found)


def compares(test: Fact) -> bool:
    """Whether a test compares amounts, counts, computes, or looks for one of several items."""
    waiting: list[facts.Node] = [test]
    while waiting:
        node = waiting.pop()
        waiting += facts.children(node)
        match node:
            case (
                Comparison("<" | "<=" | ">" | ">=")
                | facts.Size()
                | facts.Arithmetic()
                | facts.Function()
                | facts.Macro()
            ):
                return True
            case Scalar(value) if type(value) in (int, float):
                return True
    return False


def counts(formula: Formula) -> bool:
    """Whether a formula says how often, or within what time."""
    return bool(F.windows(formula) or F.bodies(formula) or limited(formula))


def measured(test: Fact | None) -> tuple[tuple[Path, str], ...]:
    """The fields that a test reads, each with the text that it compares it with; "" for none or no text."""
    found: list[tuple[Path, str]] = []
    for _, fact in leaves(test, True):
        match fact:
            case Comparison("==" | "!=", Path() as path, Scalar(str(value))):
                found.append((path, value))
            case OneOf(Path() as path, options):
                found += [(path, str(one.value)) for one in options]
            case _:
                found += [(path, "") for path in facts.paths(fact)]
    return tuple(dict.fromkeys(found))


def twice(rules: Sequence[Rule], used: Iterable[Predicate]) -> bool:
    """Whether two rules speak of one act: it has to meet both, where a sentence may mean the one if the other."""
    acts = {p.name for p in used if p.kind == "action"}
    return any(acts & set(one.predicates) & set(other.predicates) for one, other in combinations(rules, 2))


def disjunctive(formula: Formula) -> bool:
    """Whether what a call asks for holds already where one of several facts does: it takes all of them to break it."""
    match formula:
        case F.Always(F.Implies(left, right)):
            return isinstance(left, F.And) or isinstance(right, F.Or | F.Implies) or _nested(right)
        case F.Always(F.Not(F.And())):
            return True
    return False


def _nested(formula: Formula) -> bool:
    return any(
        isinstance(node, F.Or | F.Implies) or (isinstance(node, F.Not) and isinstance(node.body, F.And))
        for node in F.subformulas(formula)
    )


def freeing(formula: Formula, acts: set[str]) -> tuple[tuple[bool, str], ...] | None:
    """The facts any of which frees the act of a rule, each with its sign; None for a rule of another form."""
    match formula:
        case F.Always(F.Implies(left, right)):
            given = [one for one in conjuncts(left) if not (isinstance(one, F.Atom) and one.name in acts)]
            parts = [*(F.Not(one) for one in given), *_alternatives(right, True)]
            found = [_literal(part) for part in parts]
            return None if None in found else tuple(found)
    return None


def demanded(formula: Formula) -> tuple[tuple[bool, str], ...]:
    """The facts that a rule asks for together, each with its sign; none of a rule of another form."""
    match formula:
        case F.Always(F.Implies(_, F.And() as right)):
            found = [_literal(part) for part in conjuncts(right)]
            return () if None in found else tuple(found)
    return ()


def conjuncts(formula: Formula) -> Iterator[Formula]:
    match formula:
        case F.And(left, right):
            yield from conjuncts(left)
            yield from conjuncts(right)
        case _:
            yield formula


def _literal(formula: Formula) -> tuple[bool, str] | None:
    match formula:
        case F.Atom(name):
            return True, name
        case F.Once(body) | F.Eventually(body):
            return _literal(body)
        case F.Not(body):
            inner = _literal(body)
            return None if inner is None else (not inner[0], inner[1])
    return None


def leaves(test: Fact | None, positive: bool) -> Iterator[tuple[bool, Fact | None]]:
    """The facts that a test joins, each with whether it is asked for; without a test the predicate itself, as None."""
    match test:
        case Negation(body):
            yield from leaves(body, not positive)
        case Conjunction(parts) | Disjunction(parts):
            for part in parts:
                yield from leaves(part, positive)
        case _:
            yield positive, test


def number(fact: Fact | None) -> tuple[str, float] | None:
    """The operator and the number that a fact compares with."""
    match fact:
        case Comparison(limit=(_, op, Scalar(value))) if type(value) in (int, float):
            return op, float(value)
    return None


def literals_of(formula: Formula, several: bool) -> Iterator[tuple[bool, str]]:
    """The signs and names of the facts that a call asks for: of one alone, or of `several`; none for another shape."""
    match formula:
        case F.Always(F.Implies(F.Atom(), right)):
            found = tuple(joined(right, True))
            yield from found if several or len(found) == 1 else ()


def joined(formula: Formula, positive: bool) -> Iterator[tuple[bool, str]]:
    """The signs and names of the literals that AND and OR join, each now or once."""
    match formula:
        case F.Atom(name):
            yield positive, name
        case F.Not(body):
            yield from joined(body, not positive)
        case F.Once(body):
            yield from joined(body, positive)
        case F.And(left, right) | F.Or(left, right):
            yield from joined(left, positive)
            yield from joined(right, positive)


def truth(fact: Fact | None) -> bool:
    """Whether a fact is a field's being true or having a value, or an action; of a comparison of sizes not."""
    match fact:
        case None | Path() | OneOf():
            return True
        case Comparison("==" | "!=", Path(), Scalar(value)):
            return not isinstance(value, int | float) or isinstance(value, bool)
    return False


def affirms(fact: Fact | None) -> bool:
    """Whether a fact says that something is so, and not that it is not; of another comparison yes."""
    match fact:
        case Comparison(op, _, Scalar(value)):
            return (op == "==") == (value is not False and value != "")
    return True
