"""Lints: rules that say something else than their sentence, each with a trace that shows it.

ShieldAgent's own example `(is_authorized AND has_legitimate_need) IMPLIES access_personal_data` is a
converse: it never forbids anything.  Every rule carries the modality of its sentence, so that such a
mistake can be decided: an action is *forbidden* by a rule when some trace breaks it that would keep
it had the action never been taken, and *required* when it is the other way round.

The trace of a finding is one on which rule and author part: expected "denied" it is allowed by the
rule, expected "allowed" it is denied.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from text_to_num import alpha2digit

from wb.logic import decide
from wb.logic import formula as F
from wb.logic.automaton import AutomatonError
from wb.logic.decide import Word
from wb.logic.facts import Comparison, Scalar
from wb.logic.formula import Formula
from wb.logic.syntax import render
from wb.rules.rule import Predicate, Rule, RuleSet

Suspicion = Literal["polarity", "never_fires", "forbids_always", "negative_name", "two_meanings", "undecided"]
NEGATION = re.compile(r"not|no|non|never|without|cannot|cant|lacks?|lacking|absent|missing")
PREFIXED = re.compile(r"un[a-z]{4,}|dis[a-z]{5,}")
AFFIRMED = tuple(  # how words begin that are no denial of what follows
    "under until unless unit uniq unif univ union undo unload unlock unpack "
    "distan discount display discuss distric distin disput disclo discover dispens discharg disburs dispatch "
    "dispos distrib disast discip diseas dissert dissol disturb disk".split()
)
NUMBER = re.compile(r"\d+(?:\.\d+)?")
WORD = re.compile(r"[a-z]+(?:-[a-z]+)?")
FUNCTION_WORDS = frozenset(
    "that this these those with without from into onto upon over under than then them they their there where when "
    "while which what whose whom will would shall should must have having been being does done before after only "
    "unless until every each also other another same such some both either neither about against between during "
    "through user users "
    "agent".split()
)
STEM = 4  # letters that two words must begin with alike to speak of one thing


@dataclass(frozen=True, slots=True)
class Finding:
    """One suspicion about a rule or a predicate, with the trace on which author and rule part.

    `expected` is what the author would expect of the trace ("" where there is none), `suggestion` the
    text of a formula that may have been meant.
    """

    kind: Suspicion
    rules: tuple[str, ...]
    message: str
    predicate: str = ""
    trace: Word | None = None
    expected: Literal["denied", "allowed", ""] = ""
    suggestion: str = ""


def of_rule(ruleset: RuleSet, rule: Rule, given: Sequence[Formula] = ()) -> tuple[Finding, ...]:
    """The findings about one rule: that it never fires, else that its polarity is wrong or that it forbids always.

    `given` are its physical rules, which hold on every trace.
    """
    given = bearing(given, rule.formula)
    try:
        never = never_fires(ruleset, rule, given)
        found = (never,) if never else (polarity(ruleset, rule, given), forbids_always(ruleset, rule, given))
    except AutomatonError as error:
        return (Finding("undecided", (rule.id,), f"the rule is too large to decide about: {error}"),)
    return tuple(finding for finding in found if finding is not None)


def forbidden(formula: Formula, action: str, given: Iterable[Formula] = ()) -> Word | None:
    """A shortest trace that breaks the formula only because the action is taken; None where none does."""
    return decide.shortest((F.Not(formula), _never(formula, action), *given))[0]


def required(formula: Formula, action: str, given: Iterable[Formula] = ()) -> Word | None:
    """A shortest trace that keeps the formula only because the action is taken; None where none does."""
    return decide.shortest((formula, F.Not(_never(formula, action)), *given))[0]


def polarity(ruleset: RuleSet, rule: Rule, given: Sequence[Formula] = ()) -> Finding | None:
    """A rule that forbids none of its actions, though its sentence forbids one (or asks nothing of any)."""
    actions = [predicate.name for predicate in ruleset.actions(rule)]
    if not actions or any(forbidden(rule.formula, action, given) for action in actions):
        return None
    if rule.modality == "oblige" and any(required(rule.formula, action, given) for action in actions):
        return None
    meant = _meant(rule, actions)
    trace, _ = decide.shortest((rule.formula, F.Not(meant), *given))
    says = "forbids none of its actions" if rule.modality != "oblige" else "neither requires nor forbids any action"
    return Finding(
        "polarity",
        (rule.id,),
        f"the sentence says {rule.modality}, but the rule {says}",
        trace=trace,
        expected="denied" if trace else "",
        suggestion=render(meant),
    )


def never_fires(ruleset: RuleSet, rule: Rule, given: Sequence[Formula] = ()) -> Finding | None:
    """A rule whose trigger can never hold, or that holds whatever happens."""
    background = F.conjunction(tuple(given))
    answer, says = decide.vacuous(rule.formula, background), "can never fire: what triggers it is excluded"
    if not answer:
        answer, says = decide.valid(rule.formula, background), "says nothing: it holds whatever happens"
    if not answer:
        return None
    done = F.conjunction(tuple(_true(rule.formula, predicate.name) for predicate in ruleset.actions(rule)))
    trace, _ = decide.shortest((F.Eventually(done), rule.formula, *given))
    why = " by " + ", ".join(render(part) for part in answer.core) if answer.core else ""
    return Finding("never_fires", (rule.id,), f"the rule {says}{why}", trace=trace, expected="denied" if trace else "")


def forbids_always(ruleset: RuleSet, rule: Rule, given: Sequence[Formula] = ()) -> Finding | None:
    """A rule with a condition that makes no difference: one of its actions is forbidden whatever holds."""
    if rule.modality == "forbid" and len(rule.predicates) == 1:
        return None
    for action in (predicate.name for predicate in ruleset.actions(rule)):
        taken = F.Eventually(_true(rule.formula, action))
        trace, _ = decide.shortest((taken, *given))
        if trace is not None and decide.shortest((taken, rule.formula, *given))[0] is None:
            return Finding(
                "forbids_always",
                (rule.id,),
                f"the rule never allows {action}, whatever its condition",
                action,
                trace,
                "allowed",
            )
    return None


def negative_names(ruleset: RuleSet) -> tuple[Finding, ...]:
    """Predicates named for what is not so and told by their names alone: what nobody recorded is then false, and reads
    as if it were so."""
    findings = []
    for predicate in ruleset.predicates:
        if predicate.test is None and negative(_own(predicate), acts=predicate.kind == "action"):
            rules = [rule for rule in ruleset.rules if predicate.name in rule.predicates]
            traces = [trace for rule in rules if (trace := _unrecorded(rule, predicate.name))]
            findings.append(
                Finding(
                    "negative_name",
                    tuple(rule.id for rule in rules),
                    "name a predicate for what is so, not for what is not: "
                    "as it is, what is not recorded counts as if it were so",
                    predicate.name,
                    traces[0] if traces else None,
                    "denied" if traces else "",
                )
            )
    return tuple(findings)


def _own(predicate: Predicate) -> str:
    """The name of a predicate without the words that each of its tools bears: a tool's own name denies nothing."""
    borne = set.intersection(*({*tool.split("_")} for tool in predicate.tools)) if predicate.tools else set()
    return "_".join(word for word in predicate.name.split("_") if word not in borne)


def _unrecorded(rule: Rule, name: str) -> Word | None:
    """A trace that the rule allows, but would not if the predicate's name were read without its negation."""
    flipped = F.substitute(rule.formula, {atom: F.Not(atom) for atom in _atoms(rule.formula, name)})
    try:
        return decide.shortest((rule.formula, F.Not(flipped), F.Always(F.Not(_true(rule.formula, name)))))[0]
    except AutomatonError:
        return None


def negative(name: str, acts: bool = False) -> bool:
    """Whether a predicate name holds a word of negation; what is done, such as to disconnect, is done and no denial."""
    words = name.split("_")
    prefixed = [word for word in words if PREFIXED.fullmatch(word) and not word.startswith(AFFIRMED)]
    return any(map(NEGATION.fullmatch, words)) or bool(prefixed and not acts)


def two_meanings(ruleset: RuleSet) -> tuple[Finding, ...]:
    """Predicates that one sentence takes otherwise than another: by its number, or by speaking of something else."""
    findings = []
    for predicate in ruleset.predicates:
        rules = [rule for rule in ruleset.rules if predicate.name in rule.predicates and _sentence(rule)]
        for rule, other in _by_number(ruleset, predicate.name, rules) or _by_words(ruleset, predicate.name, rules):
            trace = _both_true(ruleset, rule, predicate.name)
            findings.append(
                Finding(
                    "two_meanings",
                    (rule.id, other.id),
                    f"{_sentence(rule)!r} does not take {predicate.name} as {_sentence(other)!r} does",
                    predicate.name,
                    trace,
                    "denied" if trace else "",
                )
            )
    return tuple(findings)


def bearing(given: Sequence[Formula], formula: Formula) -> tuple[Formula, ...]:
    """The formulas of `given` that share a predicate with the formula, or with one that does."""
    known, left, found = set(F.atoms(formula)), list(given), []
    while True:
        near = [one for one in left if known.intersection(F.atoms(one))]
        if not near:
            return tuple(found)
        found += near
        left = [one for one in left if one not in near]
        known.update(name for one in near for name in F.atoms(one))


def _never(formula: Formula, action: str) -> Formula:
    return F.substitute(formula, dict.fromkeys(_atoms(formula, action), F.FALSE))


def _atoms(formula: Formula, predicate: str) -> tuple[F.Atom, ...]:
    """The atoms of a predicate in a formula, whatever their objects."""
    return tuple([atom for atom in map(F.Atom, F.atoms(formula)) if atom.predicate == predicate])


def _true(formula: Formula, predicate: str) -> Formula:
    """That a predicate of a formula is true of one of the objects that the formula names."""
    return F.disjunction(_atoms(formula, predicate))


def _meant(rule: Rule, actions: Sequence[str]) -> Formula:
    """What the sentence may have meant: its action only where the condition holds, or required where it does."""
    act = F.disjunction(tuple(_true(rule.formula, action) for action in actions))
    match rule.formula:
        case F.Always(F.Implies(left, right)) if rule.modality == "oblige" and set(actions) & set(F.predicates(left)):
            return F.Always(F.Implies(right, F.Eventually(act)))
        case F.Always(F.Implies(left, right)) if set(actions) & set(F.predicates(right)):
            return (
                F.Always(F.Implies(act, left))
                if rule.modality == "permit_only_if"
                else F.Always(F.Implies(left, F.Not(act)))
            )
    return F.Always(F.Not(act)) if rule.modality != "oblige" else F.Eventually(act)


def _sentence(rule: Rule) -> str:
    return rule.quote or rule.text


def _both_true(ruleset: RuleSet, rule: Rule, name: str) -> Word | None:
    """A trace that the rule allows, with the predicate and the rule's actions true in one step."""
    wanted = (name, *(predicate.name for predicate in ruleset.actions(rule)))
    done = F.conjunction(tuple(_true(rule.formula, one) for one in wanted))
    try:
        return decide.shortest((F.Eventually(done), rule.formula))[0]
    except AutomatonError:
        return None


def _by_number(ruleset: RuleSet, name: str, rules: Sequence[Rule]) -> list[tuple[Rule, Rule]]:
    """Rules whose sentence has a number that none of their tests has, where another's has this predicate's number."""
    value = _value(ruleset, name)
    if value is None:
        return []
    alike = [rule for rule in rules if value in _numbers(rule)]
    others = [
        rule
        for rule in rules
        if _numbers(rule) - {_value(ruleset, p) for p in rule.predicates} and value not in _numbers(rule)
    ]
    return [(rule, alike[0]) for rule in others] if alike else []


def _value(ruleset: RuleSet, name: str) -> float | None:
    match ruleset.predicate(name).test:
        case Comparison(limit=(_, _, Scalar(value, type="int" | "double"))):
            return float(value)
    return None


def _numbers(rule: Rule) -> set[float]:
    return {float(found) for found in NUMBER.findall(alpha2digit(_sentence(rule).lower(), "en", 0))}


def _by_words(ruleset: RuleSet, name: str, rules: Sequence[Rule]) -> list[tuple[Rule, Rule]]:
    """State predicates that one rule's sentence calls by name, another's by no word of name, description, keywords."""
    predicate = ruleset.predicate(name)
    called = _stems(name.replace("_", " "))
    if predicate.kind != "state" or predicate.test is not None or not called:
        return []
    known = called | _stems(f"{predicate.description} {' '.join(predicate.keywords)}")
    named = [rule for rule in rules if called <= _stems(_sentence(rule))]
    return [(rule, named[0]) for rule in rules if not known & _stems(_sentence(rule))] if named else []


def _stems(text: str) -> set[str]:
    words = [re.sub(r"^(?:un|dis|non|in)(?=[a-z]{4})", "", word) for word in WORD.findall(text.lower())]
    return {word[:STEM] for word in words if len(word) >= STEM and word not in FUNCTION_WORDS}
