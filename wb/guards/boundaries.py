"""Examples of what a sentence says, from its own words and not from its rule: the limit or the values that it names.

ToolGuard (Sec. 3.1) has a model write examples of compliance and violation from the policy's text, so that a test is
not the rule's echo.  Here a closed list of English phrases reads them offline, apart from the grammar that makes the
rules.  A limit ("at most five") gives values that comply and values that violate, up to its edge; so do the values of
an enumeration that a sentence with "only" or a ban names.  The guard of the sentence's rules must in *some*
circumstances, values of all its other inputs, allow the ones and deny the others: one that allows everything fails the
violations, one that denies everything the compliance.  Where a limit's words do not tell which side of it is
forbidden, either may be.

A sentence with two numbers, an exception, a second negation, or no one input that the number can be of gives no
example: nothing is said of its rule then.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from wb.domain.tools import DeclaredValues, Toolbox, enumerations
from wb.guards import contract, examples, sandbox
from wb.guards.contract import Contract, Parameter
from wb.guards.sandbox import Argument, Program, TooMany, UnsafeSource
from wb.rules import decisions, words
from wb.rules.items import Item
from wb.rules.rule import RuleSet
from wb.rules.sentences import Account

MOST = 20_000  # circumstances that are tried before nothing is said
_WORDS = "one two three four five six seven eight nine ten eleven twelve".split()
_NUMBERS = {word: number for number, word in enumerate(_WORDS, 1)}
_N = rf"[$€£]?\s?(?P<n>\d+(?:,\d{{3}})*(?![\d.,]*\d)|{'|'.join(_WORDS)})\b(?!\s?%|\s+percent)"
_SIDES = {  # what the words name: the numbers up to a limit, from it on, above it, below it
    "to": r"at (?:the )?most|up to|(?:no|not) (?:more|older|larger|greater|longer|higher) than|a maximum of",
    "from": r"at (?:the )?least|(?:no|not) (?:less|fewer|younger|smaller|shorter|lower) than|a minimum of",
    "above": r"above|over|(?:more|older|larger|greater|longer|higher) than|exceed(?:s|ing)?",
    "below": r"below|under|(?:less|fewer|younger|smaller|shorter|lower) than",
}
_BEFORE = [
    (side, re.compile(rf"(?<!\bnot )(?<!\bno )\b(?:{said})\s+(?:the )?(?:ages? (?:of )?)?{_N}", re.I))
    for side, said in _SIDES.items()
]
_AFTER = [
    ("from", re.compile(rf"\b{_N}(?:\s+\w+){{0,2}}?\s+(?:or|and) (?:more|older|over|above)\b", re.I)),
    ("to", re.compile(rf"\b{_N}(?:\s+\w+){{0,2}}?\s+(?:or|and) (?:fewer|less|younger|under|below)\b", re.I)),
]
_COUNTED = re.compile(rf"\d[\d.,]*|\b(?:{'|'.join(_WORDS[1:])})\b", re.I)
_UNIT = re.compile(r"\s*-?\s*(?P<unit>second|minute|hour|day|night|week|month)s?\b", re.I)
_BAN = re.compile(
    r"\b(?:must|may|can|shall|should|could) ?not\b|\b(?:can't|mustn't|never)\b|\b(?:do not|don't)\b|"
    r"\b(?:is|are) not (?:allowed|permitted)\b|\b(?:forbidden|prohibited)\b",
    re.I,
)
_NEGATION = re.compile(
    r"\b(?:not|cannot|never|no|none|nobody|neither|nor|without|forbidden|prohibited)\b|n't\b|\bno[- ]one\b", re.I
)
_EXCEPTION = re.compile(
    r"\b(?:unless|except\w*|otherwise|other than|save for|instead|rather|apart from|but|twice|times|each|every|per|"
    r"total|together|until|whichever|even|before|prior|ahead|ago)\b|%",
    re.I,
)
_ASKS = re.compile(r"\b(?:needs?|requires?|required|asks?|if|when|where|whose|once|for|of|with)\b", re.I)
_ONLY = re.compile(r"\bonly\b", re.I)


@dataclass(frozen=True, slots=True)
class Boundary:
    """Values of one input of a guard that a sentence tells apart, as its words say (`words`): those of `inside` are
    what it names, those of `outside` are not.

    `banned` says whether what it names is what it forbids; None where its words do not tell.
    """

    words: str
    inside: tuple[Argument, ...]
    outside: tuple[Argument, ...]
    banned: bool | None

    @property
    def ways(self) -> tuple[tuple[tuple[Argument, ...], tuple[Argument, ...]], ...]:
        """What may comply and what violate: one way where the words tell, else both."""
        named, others = (self.inside, self.outside), (self.outside, self.inside)
        return (named, others) if self.banned is None else (others,) if self.banned else (named,)


@dataclass(frozen=True, slots=True)
class Illustrated:
    """What complies with a sentence and what violates it: each is arguments of the guard of its rules."""

    boundary: Boundary
    compliance: tuple[tuple[tuple[str, Argument], ...], ...]
    violations: tuple[tuple[tuple[str, Argument], ...], ...]


def limit(text: str, place: str = "") -> Boundary | None:
    """The one limit that a sentence names; None where there is none, or it is not told by these words alone.

    `place` says where it stands: a title or list opening with a negation may turn what it says.
    """
    said = words.plain(text)
    found = [(side, one) for side, pattern in (*_BEFORE, *_AFTER) for one in pattern.finditer(said)]
    if len({one.start("n") for _, one in found}) != 1 or _EXCEPTION.search(said) or _NEGATION.search(place):
        return None
    side, one = found[0]
    rest = f"{said[: one.start()]} # {said[one.end() :]}"
    if _COUNTED.search(rest):
        return None
    number = int(one["n"].replace(",", "")) if one["n"][0].isdigit() else _NUMBERS[one["n"].lower()]
    edge, step = {"to": (number, -1), "from": (number, 1), "above": (number + 1, 1), "below": (number - 1, -1)}[side]
    shown = " ".join(one[0].split())
    unit = _UNIT.match(said[one.end("n") :])
    return Boundary(
        f"{shown} {unit['unit']}" if unit else shown,
        (edge, edge + step),
        (edge - step, edge - 2 * step),
        _banned(rest, side in ("to", "from")),
    )


def listed(text: str, values: Sequence[str], place: str = "") -> Boundary | None:
    """The values of an enumeration that a sentence names, where it says that they alone, or all others, comply."""
    said = words.plain(text).lower()
    if _EXCEPTION.search(said) or _NEGATION.search(place) or re.search(r"[;:]", said):
        return None
    rest, named = said, []
    for value in sorted(values, key=len, reverse=True):  # "basic economy" names no "economy"
        pattern = rf"\b{re.escape(' '.join(re.split(r'[_ -]+', value.lower())))}\b"
        if value and re.search(pattern, rest):
            rest = re.sub(pattern, "#", rest)
            named.append(value)
    others = tuple(value for value in values if value not in named)
    banned = _banned(rest, False)
    if not named or not others or banned is None:
        return None
    return Boundary(", ".join(v for v in values if v in named), tuple(v for v in values if v in named), others, banned)


def _banned(said: str, bounding: bool) -> bool | None:
    """Whether what a sentence names is what it forbids, by the rest of its words; None where they do not tell.

    `bounding` says that it is named by words that a limit is set with, such as "at most", so that it complies where
    nothing else is asked for.
    """
    negations = len(_NEGATION.findall(said))
    if re.search(r"\b(?:needs?|requires?|required|asks?)\b", said, re.I):
        return None
    if negations == 0:
        before = said.partition("#")[0]
        return False if _ONLY.search(said) or (bounding and not _ASKS.search(before)) else None
    return True if negations == 1 and len(_BAN.findall(said)) == 1 and not _ONLY.search(said) else None


def read(text: str, required: Contract, toolbox: Toolbox, place: str = "") -> tuple[Parameter, Boundary] | None:
    """What a sentence tells apart, and the one input of a guard that it can be told of; None where there is none."""
    numbers = [p for p in required.parameters if p.type == "int" and p.measured]
    bound = limit(text, place)
    if bound is not None and len(numbers) == 1:
        (one,) = numbers
        unit = bound.words.rpartition(" ")[2]
        timed = any(unit == word for word in ("second", "minute", "hour", "day", "night", "week", "month"))
        fits = not timed or unit in f"{one.name} {one.about}".lower()
        counts = one.measure != "count" or min(*bound.inside, *bound.outside) >= 0
        return (one, bound) if fits and counts and "nanoseconds" not in one.about else None
    declared = enumerations(toolbox)
    texts = [(p, _values(p, declared)) for p in required.parameters if p.type == "str" and p.measured]
    if bound is None and not numbers and len(texts) == 1 and texts[0][1]:
        apart = listed(text, texts[0][1], place)
        return (texts[0][0], apart) if apart is not None else None
    return None


def _values(parameter: Parameter, declared: DeclaredValues) -> tuple[str, ...]:
    """The values of an enumeration that fills a parameter, texts alone; none for any other."""
    owner, _, name = (parameter.field or "").partition(".")
    found = tuple(declared.get((owner, name), ()))
    return found if all(isinstance(one, str) for one in found) else ()


def illustrated(required: Contract, one: Parameter, bound: Boundary) -> Illustrated | None:
    """Circumstances in which the rules of a contract allow what complies and deny what violates; None where there are
    none, so that they say something else.

    Raises:
        TooMany, UnsafeSource: the circumstances could not all be tried.
    """
    program = examples.program(required, required.allows)
    others = {name: values for name, values in program.points.items() if name != one.name}
    for good, bad in bound.ways:
        fits = partial(_fits, program, one.name, good, bad)
        for chosen, (right, _) in sandbox.completions(fits, {}, others, limit=MOST):
            if right:
                rest = {**{name: values[-1] for name, values in others.items()}, **chosen}
                rows = [[tuple({**rest, one.name: value}.items()) for value in side] for side in (good, bad)]
                told = replace(bound, banned=good == bound.outside)
                return Illustrated(told, tuple(rows[0]), tuple(rows[1]))
    return None


def _fits(
    program: Program, name: str, good: Sequence[Argument], bad: Sequence[Argument], **others: Argument
) -> tuple[bool, str]:
    """Whether a program allows each of the first values of an input and none of the others, all else being as it is."""
    allowed = all(program.run(**others, **{name: value})[0] for value in good)
    return allowed and not any(program.run(**others, **{name: value})[0] for value in bad), ""


def questions(readings: Iterable[Account], ruleset: RuleSet, toolbox: Toolbox) -> dict[str, str]:
    """What a person has to decide about a rule, by its id: the examples of its sentence's own words speak against it.

    Of a sentence that a person decided nothing is asked.
    """
    found: dict[str, str] = {}
    for reading in readings:
        for tool in reading.tools:
            told = apart(reading, tool, ruleset, toolbox)
            if told is None:
                continue
            required, one, bound = told
            try:
                fine = illustrated(required, one, bound) is not None
            except (TooMany, UnsafeSource):
                continue
            if not fine:
                said = f"by its own words (“{bound.words}”) {_sides(bound)}"
                why = f"{said} as {one.about or one.name}, whatever else holds; its rule does not say so"
                found |= dict.fromkeys(reading.rules, why)
    return found


def examples_of(item: Item, readings: Iterable[Account], ruleset: RuleSet, toolbox: Toolbox) -> Item:
    """A policy item with the examples of its sentences' own words, where they give any."""
    good: list[str] = []
    bad: list[str] = []
    for reading in readings:
        mine = any(one.start <= reading.start < one.end for one in item.references)
        found = apart(reading, item.tool, ruleset, toolbox) if mine else None
        if found is None:
            continue
        try:
            told = illustrated(*found)
        except (TooMany, UnsafeSource):
            continue
        if told is not None:
            good += [_shown(case) for case in told.compliance]
            bad += [_shown(case) for case in told.violations]
    return replace(item, compliance=(*item.compliance, *good), violations=(*item.violations, *bad))


def apart(
    reading: Account, tool: str, ruleset: RuleSet, toolbox: Toolbox
) -> tuple[Contract, Parameter, Boundary] | None:
    """The guard of the rules of a sentence for a tool, and what the sentence tells apart of one of its inputs."""
    mine = tuple(rule for rule in ruleset.rules if rule.id in reading.rules)
    if not mine or reading.cls != "rule" or any(decisions.decided(rule.clause) for rule in mine):
        return None
    required = contract.contract(toolbox.tool(tool), replace(ruleset, rules=mine), toolbox.state)
    found = read(reading.text, required, toolbox, reading.place) if required.items else None
    return None if found is None else (required, *found)


def _sides(bound: Boundary) -> str:
    """What complies and what violates, in words."""
    good, bad = bound.ways[0]
    told = f"{', '.join(map(str, good))} {{}} {', '.join(map(str, bad))} {{}}"
    how = ("and", "are decided differently") if bound.banned is None else ("comply and", "do not")
    return told.format(*how)


def _shown(case: Iterable[tuple[str, Argument]]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in case)
