"""The gate of refinement: a proposed change is made only with a proof that the rules still mean the same.

ShieldAgent (Sec. 3.2.3) trusts its model to split, rename, merge and drop rules.  Here a proposal,
whoever made it, takes effect only with a certificate from `decide`, given the physical rules; what
is refused is kept with the trace that tells the two apart.  Modality, clause and quotation of a rule
stay; a rule that is absorbed is named among the parents of the one that absorbs it.  A rule that the
others never let fire is not absorbed: it is a conflict, and both sentences stay rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Literal, NamedTuple, get_args

from wb.logic import decide, syntax
from wb.logic.automaton import AutomatonError
from wb.logic.formula import (
    NAME,
    TRUE,
    Always,
    Atom,
    Eventually,
    Formula,
    Iff,
    Not,
    conjunction,
    disjunction,
    fold,
    predicates,
    rebuild,
    substitute,
    variables,
)
from wb.rules import physical, residual
from wb.rules.rule import Force, Predicate, Rule, RuleSet, rename

FORCES = get_args(Force)  # strongest first
NEGATIVE = re.compile(
    r"not|no|non|never|without|cannot|[a-z]+n't|un[a-z]{4,}|dis[a-z]{5,}|lacks?|lacking|absent|missing"
)


@dataclass(frozen=True, slots=True)
class Change:
    """One proposal and its fate. `before` and `after` name rules or predicates; `certificate` says why an
    accepted one is exact, or why another was refused; `loss` what an accepted one gave up, mostly nothing."""

    kind: Literal["split", "clarify", "merge", "prune", "bind", "correct", "settle"]
    before: tuple[str, ...]
    after: tuple[str, ...]
    accepted: bool
    certificate: str
    reason: str = ""
    loss: str = ""


class Gated(NamedTuple):
    """The rule set after a proposal (the same one if it was refused), and the record of it."""

    ruleset: RuleSet
    change: Change


def split(
    ruleset: RuleSet, rule: Rule, parts: Sequence[tuple[str, str]], known: Sequence[Rule], reason: str = ""
) -> Gated:
    """Put (text, formula) parts in the place of a rule if together they mean what it means.

    `known` are the physical rules.  One part is a rewriting.  Each part keeps the rule's modality,
    clause and quotation, and must hold an action predicate if the rule does.
    """
    ids = tuple(f"{rule.id}_{i}" for i in range(1, len(parts) + 1)) if len(parts) > 1 else (rule.id,)
    record = Change("split", (rule.id,), ids, False, "", reason)
    try:
        formulas = tuple(syntax.parse(formula) for _, formula in parts)
    except syntax.FormulaError as error:
        return Gated(ruleset, replace(record, certificate=f"no formula: {error}"))
    problem = _unfit(ruleset, rule, formulas, ids)
    if problem:
        return Gated(ruleset, replace(record, certificate=problem))
    background = physical.relevant(known, rule.formula, *formulas)
    problem = _unproved(decide.equivalent, conjunction(formulas), rule.formula, background)
    if problem:
        return Gated(ruleset, replace(record, certificate=f"not equivalent: {problem}"))
    parents = (rule.id, *rule.parents) if len(parts) > 1 else rule.parents
    made = tuple(
        replace(rule, id=i, text=text or rule.text, formula=formula, parents=parents)
        for i, (text, _), formula in zip(ids, parts, formulas, strict=True)
    )
    problem = _held_to_less([rule], made, ruleset, background)
    if problem:
        return Gated(ruleset, replace(record, certificate=problem))
    place = ruleset.rules.index(rule)
    rules = (*ruleset.rules[:place], *made, *ruleset.rules[place + 1 :])
    certificate = (
        f"{' AND '.join(f'({syntax.render(f)})' for f in formulas)} is equivalent to {syntax.render(rule.formula)}"
    )
    return Gated(replace(ruleset, rules=rules), replace(record, accepted=True, certificate=certificate))


def clarify(ruleset: RuleSet, name: str, new_name: str, description: str, reason: str = "") -> Gated:
    """Rename and describe a predicate; what it is bound to (tools, test, kind) stays, so truth does too.

    A new name may not be taken, and may not turn the old one round ("paid" into "unpaid").  Where
    nothing binds the predicate its words are all its meaning: new words must be as negative as the old
    ones, and unless they hold the old ones the change is recorded as a loss.
    """
    record = Change("clarify", (name,), (new_name,), False, "", reason)
    taken = {p.name for p in ruleset.predicates} - {name}
    if not NAME.match(new_name) or new_name in taken:
        problem = "is taken by another predicate" if new_name in taken else "does not match [a-z][a-z0-9_]*"
        return Gated(ruleset, replace(record, certificate=f"the name {new_name!r} {problem}"))
    if new_name != name and negations(name) % 2 != negations(new_name) % 2:
        return Gated(
            ruleset,
            replace(record, certificate=f"{new_name!r} may turn {name!r} round: one is negative, the other is not"),
        )
    if not description.strip():
        return Gated(ruleset, replace(record, certificate="a description was required; got none"))
    old = ruleset.predicate(name)
    new = replace(old, name=new_name, description=description.strip())
    bound = bool(old.tools) if old.kind == "action" else old.test is not None
    if not bound and old.kind == "state" and new_name != name:
        problem = f"{name!r} is told by the field of its name: another name would bind it to something else"
        return Gated(ruleset, replace(record, certificate=problem))
    kept = bound or old.description.rstrip(".") in new.description
    if not bound and negations(old.description) % 2 != negations(new.description) % 2:
        return Gated(
            ruleset,
            replace(
                record,
                certificate=f"{description!r} may turn {old.description!r} round: one is negative, the other is not",
            ),
        )
    certificate = "a renaming: the predicate is bound to what it was bound to" if bound else "a renaming"
    loss = (
        ""
        if kept
        else f"nothing binds this predicate: that {description!r} means {old.description!r} is the proposer's word"
    )
    return Gated(exchange(ruleset, {name: new}), replace(record, accepted=True, certificate=certificate, loss=loss))


def merge(ruleset: RuleSet, keep: str, drop: str, negated: bool, known: Sequence[Rule], reason: str = "") -> Gated:
    """Replace a predicate by another, or by its negation, if the physical rules force them to agree at every step."""
    record = Change("merge", (keep, drop), (keep,), False, "", reason)
    if keep == drop or ruleset.predicate(keep).kind != ruleset.predicate(drop).kind:
        return Gated(ruleset, replace(record, certificate="two predicates of one kind were required"))
    if ruleset.predicate(keep).objects or ruleset.predicate(drop).objects:
        return Gated(ruleset, replace(record, certificate="predicates without objects were required"))
    target: Formula = Not(Atom(keep)) if negated else Atom(keep)
    claim = Always(Iff(Atom(drop), target))
    problem = _unproved(decide.implies, TRUE, claim, physical.relevant(known, claim))
    if problem:
        return Gated(ruleset, replace(record, certificate=f"nothing forces {syntax.render(claim)}: {problem}"))
    rules = tuple(replace(r, formula=affirmative(substitute(r.formula, {Atom(drop): target}))) for r in ruleset.rules)
    merged = _joined(ruleset.predicate(keep), ruleset.predicate(drop), negated)
    predicates = tuple(merged if p.name == keep else p for p in ruleset.predicates if p.name != drop)
    return Gated(
        replace(ruleset, predicates=predicates, rules=rules),
        replace(record, accepted=True, certificate=f"{syntax.render(claim)} holds by what both are bound to"),
    )


def prune(ruleset: RuleSet, rule: Rule, because: Sequence[Rule], known: Sequence[Rule], reason: str = "") -> Gated:
    """Drop a rule that others imply; the first of these takes it among its parents.

    A rule that the others imply because they forbid all that it speaks of stays: that is a conflict.
    """
    others = tuple(r for r in because if r.id != rule.id)
    record = Change("prune", (rule.id, *(r.id for r in others)), tuple(r.id for r in others), False, "", reason)
    if not others or "physical" in {r.type for r in (rule, *others)}:  # what is said to be so enforces nothing
        return Gated(
            ruleset, replace(record, certificate="other rules that imply this action rule were required; got none")
        )
    if weaker := [r.id for r in others if FORCES.index(r.force) > FORCES.index(rule.force)]:
        return Gated(
            ruleset, replace(record, certificate=f"{', '.join(weaker)} can be outweighed where {rule.id} cannot")
        )
    background = physical.relevant(known, rule.formula, *(r.formula for r in others))
    problem = _unproved(decide.implies, conjunction(tuple(r.formula for r in others)), rule.formula, background)
    if problem:
        return Gated(ruleset, replace(record, certificate=f"not implied: {problem}"))
    problem = _fires_never(rule, others, ruleset, background) or _held_to_less([rule], others, ruleset, background)
    if problem:
        return Gated(ruleset, replace(record, certificate=problem))
    heir = replace(others[0], parents=tuple(dict.fromkeys((*others[0].parents, rule.id, *rule.parents))))
    rules = tuple(heir if r.id == heir.id else r for r in ruleset.rules if r.id != rule.id)
    certificate = (
        f"{' AND '.join(f'({syntax.render(r.formula)})' for r in others)} implies {syntax.render(rule.formula)}"
    )
    return Gated(replace(ruleset, rules=rules), replace(record, accepted=True, certificate=certificate))


def redundant(formulas: dict[str, Formula], given: Formula) -> dict[str, str]:
    """The rules, by name, that one other of them requires, each with that one: of equals the later one.

    In this order each is required by one that is not yet named; none is where it is too large to decide.
    """
    gone: dict[str, str] = {}
    for weak, strong in permutations(reversed(formulas), 2):
        if not {weak, strong} & gone.keys() and not _unproved(decide.implies, formulas[strong], formulas[weak], given):
            gone[weak] = strong
    return gone


def _fires_never(rule: Rule, others: Sequence[Rule], ruleset: RuleSet, background: Formula = TRUE) -> str:
    """That a rule can fire, but never while the others are kept, in words; empty where it still can.

    A rule ALWAYS (trigger IMPLIES ...) fires where its trigger holds, another where one of its actions is taken.
    """
    actions = disjunction(tuple(Atom(action.name) for action in ruleset.actions(rule)))
    fired = Eventually(decide.trigger(rule.formula) or actions)
    try:
        kept = decide.contradictory(fired, conjunction(tuple(r.formula for r in others)), background)
        if not kept or decide.contradictory(fired, rule.formula, background):
            return ""
    except AutomatonError as error:
        return f"too large to decide whether it can still fire ({error})"
    names = ", ".join(r.id for r in others)
    return f"a conflict: {rule.id} can never fire while {names} {'is' if len(others) == 1 else 'are'} kept"


def _held_to_less(before: Sequence[Rule], after: Sequence[Rule], ruleset: RuleSet, background: Formula) -> str:
    """Which tool's calls guards would be held to less by the rules after than by those before; empty for none.

    A guard keeps what a rule asks of a call and nothing of what it asks for later or of other calls of its step, so
    that rules of the same meaning may be kept otherwise.
    """
    for tool in sorted({tool for p in ruleset.predicates for tool in p.tools}):
        asked = [
            tuple(part for rule in rules if (part := residual.bearing(rule, tool, ruleset)) is not None)
            for rules in (before, after)
        ]
        old, new = (Always(conjunction(parts)) for parts in asked)
        if asked[0] and (problem := _unproved(decide.implies, new, old, background)):
            return f"calls of {tool} would be held to less: {problem}"
    return ""


def exchange(ruleset: RuleSet, by: dict[str, Predicate]) -> RuleSet:
    """The rule set with predicates replaced by others of, perhaps, another name."""
    names = {old: new.name for old, new in by.items() if old != new.name}
    rules = tuple(replace(r, formula=rename(r.formula, names)) for r in ruleset.rules) if names else ruleset.rules
    return replace(ruleset, predicates=tuple(by.get(p.name, p) for p in ruleset.predicates), rules=rules)


def affirmative(formula: Formula) -> Formula:
    """The formula without double negations."""

    def once(node: Formula, below: tuple) -> Formula:
        if isinstance(node, Not) and isinstance(below[0], Not):
            return below[0].body
        return rebuild(node, below) if below else node

    return fold(formula, once)


def negations(words: str) -> int:
    """How many words of a predicate's name or description look negative."""
    return sum(bool(NEGATIVE.fullmatch(word)) for word in re.findall(r"[a-z]+(?:'t)?", words.lower()))


def _joined(keep: Predicate, drop: Predicate, negated: bool) -> Predicate:
    """The kept predicate with the other's words; its test, or the other's where only that has one."""
    words = tuple(dict.fromkeys((*keep.keywords, *drop.keywords))) if not negated else keep.keywords
    bound = drop if keep.test is None and drop.test is not None and not negated else keep
    return replace(keep, keywords=words, test=bound.test, tools=bound.tools)


def _unfit(ruleset: RuleSet, rule: Rule, formulas: Sequence[Formula], ids: Sequence[str]) -> str:
    """Why the parts cannot be rules of this set; empty where they can."""
    if not formulas:
        return "at least one part was required; got none"
    if any(variables(f) for f in (rule.formula, *formulas)):
        return "rules without variables were required"
    names = {p.name for p in ruleset.predicates}
    strange = sorted({n for f in formulas for n in predicates(f)} - names)
    if strange:
        return f"predicates of the rule set were required; got {strange}"
    actions = {p.name for p in ruleset.predicates if p.kind == "action"}
    if rule.type == "action" and not all(actions & set(predicates(f)) for f in formulas):
        return "an action rule needs an action predicate in each part (Sec. 3.1)"
    taken = {r.id for r in ruleset.rules} - {rule.id}
    return f"the ids {sorted(taken & set(ids))} are taken" if taken & set(ids) else ""


def _unproved(question: Callable[..., decide.Answer], *formulas: Formula) -> str:
    """Why the answer is not yes: the steps' true predicates in a shortest witness; empty where it is yes."""
    try:
        answer = decide.counting_calls(question, *formulas)
    except AutomatonError as error:
        return f"too large to decide ({error})"
    if answer:
        return ""
    return (
        "; then ".join(", ".join(sorted(step)) or "nothing true" for step in answer.witness or ()) + " tells them apart"
    )
