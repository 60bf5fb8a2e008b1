"""State phrases read as tests: "under 18" on an age, "at most five guests" on a list, "is verified" on a flag.

A phrase is grounded only if a field takes up every content word of it (the residue check); otherwise
it stays an ungrounded predicate, whose truth is unknown.
"""
from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from wb import phrases, quantities, vocabulary
from wb.conditions import Phrase
from wb.predicate import Predicate, Test
from wb.quantities import Quantity
from wb.tool import Field, Toolbox

_MONEY = frozenset(phrases.root(w) for w in "price amount total cost fee sum payment value usd dollar eur euro gbp pound money".split())
_AGE = frozenset(phrases.root(w) for w in "age old year aged".split())
_IMPLIED = frozenset(phrases.root(w) for w in "year old older younger age aged per total".split())
_HOLDING = frozenset(phrases.root(w) for w in "hold own possess have get remain become active valid currently".split())


@dataclass(frozen=True, slots=True)
class Literal:
    """A predicate, and whether it is meant negated."""

    predicate: Predicate
    positive: bool = True


def literal(phrase: Phrase, toolbox: Toolbox, tools: Sequence[str] = (), around: frozenset[str] = frozenset()) -> Literal:
    """The predicate of a phrase: a test on a state field, or on an argument where one tool is meant.

    `around` are roots that the sentence has already used up (its action, its titles).  What a thing *is*
    is never read off the arguments of a tool that changes it; a limit on a number is.
    """
    quantity = quantities.find(phrase.text)
    candidates = _candidates(toolbox, tools)
    if quantity is not None and quantity.value is not None:
        return _numeric(phrase, quantity, candidates, around)
    words = [phrases.root(w) for w in phrases.content(phrase.text)]
    wanted = [w for w in words if w not in _HOLDING] or words
    if vocabulary.changes(tools):
        candidates = _candidates(toolbox, ())
    found = _enumerated(phrase, candidates, around) or _flag(wanted, candidates, around)
    if found is not None:
        return found
    return Literal(ungrounded(phrase.text))


def ungrounded(text: str) -> Predicate:
    """A state predicate that no field decides."""
    return Predicate(phrases.name(text), "state", sentence(text), keywords(text))


def _candidates(toolbox: Toolbox, tools: Sequence[str]) -> list[tuple[str, Field]]:
    found = [(f"state.{field.name}", field) for field in toolbox.state]
    if len(tools) == 1:
        found += [(f"{tools[0]}.{field.name}", field) for field in toolbox.tool(tools[0]).arguments]
    return found


def _flag(words: list[str], candidates: list[tuple[str, Field]], around: frozenset[str]) -> Literal | None:
    """A boolean field whose text takes up all the words, and whose name or a keyword they hold."""
    best: tuple[float, str, Field] | None = None
    for path, field in candidates:
        if field.type != "boolean" or not words:
            continue
        known = vocabulary.field_words(field)
        if any(w not in known.strong and w not in known.weak and w not in around for w in words):
            continue
        score = _fit(set(words), known)
        if score >= 0.5 and (best is None or score > best[0]):
            best = (score, path, field)
    if best is None:
        return None
    _, path, field = best
    return Literal(Predicate(field_name(field), "state", field.description or sentence(field.name), keywords(f"{field.name} {' '.join(field.keywords)}"),
                             test=Test(path, "==", True)))


def _fit(words: set[str], known: vocabulary.Words) -> float:
    """How much of a field the words name: the part of its name, or 1 and more for a whole keyword."""
    spoken = max((len(k) for k in known.phrases if k <= words), default=0)
    named = len(words & known.strong) / len(known.strong)
    return named + spoken + 0.1 * len(words & known.weak) / len(words)


def field_name(field: Field) -> str:
    """The name of a field as that of a predicate."""
    plain = re.sub(r"\W+", "_", field.name).strip("_").lower()
    return plain if plain[:1].isalpha() else f"f_{plain}"


def _enumerated(phrase: Phrase, candidates: list[tuple[str, Field]], around: frozenset[str]) -> Literal | None:
    """A field one or more of whose values the phrase names."""
    text = " ".join(phrases.tokens(phrase.text.replace("/", " ")))
    for path, field in candidates:
        named, rest = [], f" {text} "
        for value in sorted(field.values, key=len, reverse=True):
            spelled = " ".join(phrases.tokens(value))
            if len(spelled) > 1 and spelled not in ("yes", "no") and f" {spelled} " in rest:
                named.append(value)
                rest = rest.replace(f" {spelled} ", " ")
        known = vocabulary.field_words(field)
        left = [r for r in map(phrases.root, phrases.content(rest)) if r not in known.strong | known.weak | around | _HOLDING]
        if named and not left:
            values = tuple(v for v in field.values if v in named)
            test = Test(path, "==", values[0]) if len(values) == 1 else Test(path, "in", values)
            return Literal(Predicate(phrases.name(f"{field_name(field)} is {' or '.join(values)}"), "state", sentence(phrase.text), keywords(phrase.text), test=test))
        if {"yes", "no"} == set(field.values) and not named:
            words = [r for r in map(phrases.root, phrases.content(text)) if r not in _HOLDING]
            if words and all(w in known.strong | around for w in words) and any(w in known.strong for w in words):
                return Literal(Predicate(phrases.name(f"{field_name(field)} is yes"), "state", sentence(phrase.text), keywords(phrase.text), test=Test(path, "==", "yes")))
    return None


def _numeric(phrase: Phrase, quantity: Quantity, candidates: list[tuple[str, Field]], around: frozenset[str]) -> Literal:
    """The test that a comparison stands for; negated forms are turned into at least / at most."""
    rest = f"{phrase.text[:quantity.start]} {phrase.text[quantity.end:]} {'' if quantity.unit in ('$', '%') else quantity.unit}"
    words = {phrases.root(w) for w in phrases.content(rest)}
    person = quantity.person or (words and words <= _IMPLIED and not phrase.about)
    wanted = (words - _IMPLIED) | (_AGE if person else frozenset())
    about = phrases.roots(phrase.about)
    best: tuple[float, str, Field] | None = None
    for path, field in candidates:
        score = _numeric_score(field, wanted, about, around, quantity, person)
        if score > 0 and (best is None or score > best[0]):
            best = (score, path, field)
    op, positive = {"<": (">=", False), ">": ("<=", False), "<=": ("<=", True), ">=": (">=", True), "==": ("==", True)}[quantity.op]
    relation = {"<=": "at_most", ">=": "at_least", "==": "exactly"}[op]
    number = f"{quantity.value:g}".replace(".", "_") if quantity.value < 1e6 else str(quantity.value)
    if best is None:
        unit = {"$": " usd", "%": " percent"}.get(quantity.unit, "")
        noun = "age" if person else " ".join(phrases.content(rest)) or " ".join(phrases.content(phrase.about)) or "value"
        name = phrases.name(f"{noun} {relation.replace('_', ' ')} {number}{unit}", most=14)
        return Literal(Predicate(name, "state", sentence(f"{phrase.about} {phrase.text}".strip()), keywords(f"{phrase.about} {phrase.text}")), positive)
    _, path, field = best
    measure = "count" if field.type == "array" else "value"
    name = f"{field_name(field)}_{relation}_{number}"
    description = f"{(field.description or field.name).rstrip('.')}: {relation.replace('_', ' ')} {quantity.value:g}"
    return Literal(Predicate(name, "state", description, keywords(f"{field.name} {' '.join(field.keywords)}"), test=Test(path, op, quantity.value, measure)), positive)


def _numeric_score(field: Field, wanted: frozenset[str] | set[str], about: frozenset[str], around: frozenset[str], quantity: Quantity, person: bool) -> float:
    """How well a number or a list fits; 0 where a word is left over or no word speaks for it."""
    if field.type not in ("integer", "number", "array") or (field.type == "array" and (quantity.unit or person)):
        return 0.0
    known = vocabulary.field_words(field)
    strong, every = known.strong, known.strong | known.weak
    if person:
        return 2.0 if strong & _AGE and not (wanted - _AGE - every - around) else 0.0
    if quantity.unit == "$" and not every & _MONEY:
        return 0.0
    money = 1.0 if quantity.unit == "$" else 0.0
    if [w for w in wanted if w not in every and w not in around and not (money and w in _MONEY)]:
        return 0.0
    hits = len(wanted & strong) + 0.4 * len(wanted & (known.weak - strong)) + 0.3 * len(about & every)
    return hits + money if (wanted & every or money) else 0.0


def sentence(text: str) -> str:
    """A phrase as a sentence, for a description."""
    plain = re.sub(r"\s+", " ", text).strip(" .,;")
    return f"{plain[:1].upper()}{plain[1:]}." if plain else ""


def keywords(text: str) -> tuple[str, ...]:
    """The lemmas of a phrase, at most eight, for the keywords of a predicate."""
    return tuple(dict.fromkeys(phrases.lemma(w) for w in phrases.content(text)))[:8]
