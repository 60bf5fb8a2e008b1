"""What tools and fields are called by: the words of a sentence that its rules carry, and those that no rule does.

Every content word is carried by a tool, a field or a value of the rules, and every one of these is named by the
sentence or the headings above it; nothing else that the toolbox has is named as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from wb.domain.tools import Field, Tool, Toolbox
from wb.logic import facts
from wb.logic.facts import Comparison, Fact, Path, Scalar
from wb.rules import operators, shapes, words
from wb.rules.lint import NUMBERS
from wb.rules.rule import Predicate
from wb.rules.words import stem

# "Old" and "aged" beside a number; before a noun they tell one from others.
_OF_AGE = re.compile(
    r"\b((?:years?|months?|weeks?|days?|hours?)[ -])old\b|\baged(?= (?:\d+|over|under|below|above|at|less|more|from)\b)"
)
_ITS_ACT = re.compile(r"\b(?:tak(?:e|ing)|perform(?:ing)?) (?:the|this) action\b", re.I)
# What a tool is called by that tells something.
_TELLS = frozenset("get find show list read view fetch retrieve".split())
_ASKED = "check checks checked checking view views inspect inspects see sees"  # what is said of using such a tool
_GROUPED = re.compile(r"(?<![\d.,])[1-9]\d{0,2}(?:\.\d{3})+(?![\d,])")  # 10.000 may be ten, or ten thousand
_PERSON = "people|persons?|users?|customers?|clients?|anyone|anybody|someone|somebody|everyone|those|nobody|one"
_AGED = re.compile(
    rf"\b(?:{_PERSON}) (?:who (?:is|are) |that (?:is|are) |aged? )?(?:older|younger|over|under|above|below|of)\b", re.I
)
# What a sentence may say beside its tools, fields and quantities.
_FILLER = frozenset(
    """a an the this that these those any all every each some its his her their your our my of to for in on at by from
 with into onto as it they them he she who which whose whom what there here is are be been being am do does did
 done has have having can could may might must shall should ought need needs needed not no never
 cannot without unless except only if when where whenever once before after then than so and or always please than
 more less fewer most least under over above below up exceed exceeds exceeding beyond least greater larger smaller
 higher lower longer shorter older younger later earlier within maximum minimum limit limited limits
 allowed permitted forbidden prohibited required requires require mandatory obliged obligatory banned
 user users customer customers client clients person persons people anyone anybody someone somebody everyone everybody
 anything something nothing nobody one assistant agent you we i us himself herself themselves itself yourself
 prior long provided contain contains""".split()
)
_DIMENSIONS = frozenset(
    """age amount total size count number length duration price cost value quantity sum days hours minutes years weeks
 months mb gb kb usd eur at id is has can was""".split()
)
# What a description says beside a tool's verb and its object.
_ASIDE = re.compile(
    r"[,.;:(]|\b(?:to|for|from|with|without|in|on|at|of|by|that|which|who|whose|when|if|and|or)\b", re.I
)
_GIVEN = "give gives given provide provides provided"  # what is said of an argument that is no empty text
_FAMILIES = (
    {unit: rf"\b{unit}s?\b" for unit in ("second", "minute", "hour", "day", "week", "month", "year")},
    {"dollars": r"\$|\b(?:dollars?|usd)\b", "euros": r"€|\b(?:euros?|eur)\b", "pounds": r"£|\b(?:pounds?|gbp)\b"},
    {unit: rf"\b{unit}\b" for unit in ("kb", "mb", "gb", "tb")},
    {unit: rf"\b{unit}\b" for unit in ("mg", "g", "kg", "mm", "cm", "m", "km", "ml", "l")},
)
_EMPTY = frozenset(stem(word) for word in _FILLER | _DIMENSIONS)


def carried(used: Iterable[Predicate], toolbox: Toolbox) -> frozenset[str]:
    """The stems of all that the tools and fields of these predicates are called by."""
    texts: list[str] = []
    for p in used:
        texts += [f"{path.names[-1]} same per" for path in p.objects]
    for p in used:
        for name in p.tools:
            tool = next((t for t in toolbox.tools if t.name == name), None)
            if tool is not None:
                texts += [tool.name, *tool.keywords, _ASIDE.split(tool.description)[0]]
                texts += [_ASKED] if _telling(tool) else []
        for field in fields(p, toolbox):
            texts += [field.name, field.description, *field.keywords]
        texts += [str(literal.value) for literal in shapes.literals(p)]
        texts += [_GIVEN for _, fact in shapes.leaves(p.test, True) if _given(fact)]
    return stems(" ".join(texts))


def _telling(tool: Tool) -> bool:
    """Whether a tool is called by what it tells."""
    return tool.name.split("_")[0].lower() in _TELLS


def _given(fact: Fact | None) -> bool:
    """Whether a fact is that an argument of the call is no empty text."""
    match fact:
        case Comparison("!=", Path(("call", _)), Scalar("")):
            return True
    return False


def numbers(said: str, used: Sequence[Predicate]) -> tuple[str, ...]:
    """Numbers of the sentence that no test has, and those of tests that the sentence does not have."""
    text = said.lower()
    numerals = operators.NUMERAL.findall(text)
    spoken = {float(n.replace(",", "")) for n in numerals}
    if re.search(r"\d", operators.NUMERAL.sub(" ", text)) or _GROUPED.search(text):
        return ("a number that is not plain digits",)
    spoken |= {value for word, value in NUMBERS.items() if re.search(rf"\b{word}\b(?![- ](?:of|by|another)\b)", text)}
    told = {float(one.value) for p in used for one in shapes.literals(p) if type(one.value) in (int, float)}
    over = spoken - told - ({1.0} if not told & {1.0} else set())
    why = [f"not accounted for: {n:g}" for n in sorted(over)]
    why += [f"not said by the sentence, but meant by its rule: {n:g}" for n in sorted(told - spoken)]
    return tuple(why)


def fields(predicate: Predicate, toolbox: Toolbox) -> tuple[Field, ...]:
    """The declared fields that the predicate's test reads."""
    if predicate.test is None:
        return ()
    found = []
    for path in facts.paths(predicate.test):
        owners = (
            [toolbox.state]
            if path.names[0] == "state"
            else [t.arguments for t in toolbox.tools if not predicate.tools or t.name in predicate.tools]
        )
        found += [field for owner in owners for field in owner if field.name == path.names[1]]
    return tuple(found)


@lru_cache(maxsize=10_000)  # the names and descriptions of tools are read for each sentence anew
def stems(text: str) -> frozenset[str]:
    """The stems of all words, parts of names and of words with a hyphen too."""
    text = re.sub(r"([a-z])([A-Z])", r"\1 \2", text.replace("’", "'")).lower()
    text = re.sub(r"\be-(?=mail)", "e", re.sub(r"'s\b|'(?=\s|\Z)", "", text))
    return frozenset(stem(w) for token in re.findall(r"[a-z]+(?:-[a-z]+)*", text) for w in (token, *token.split("-")))


def left_over(said: str, used: Iterable[Predicate], toolbox: Toolbox) -> tuple[str, ...]:
    """The content words of a sentence that no tool and no field of these predicates has."""
    return _left(words.plain(" ".join(operators.demands(said) or (said,))), carried(used, toolbox))


def unnamed(
    said: str, used: Iterable[Predicate], toolbox: Toolbox, headings: Sequence[str]
) -> tuple[tuple[str, ...], tuple[Field, ...]]:
    """The tools that rules over these predicates speak of, and the fields that they read, which a sentence under these
    headings does not name.

    Of a tool's name or keyword the sentence or the heading next above it has a word, and all those above it the rest.
    """
    return _unnamed(words.plain(said), tuple(used), toolbox, headings)


def unspent(said: str, carried: frozenset[str]) -> tuple[str, ...]:
    left = _left(said, carried)
    return (f"not accounted for: {', '.join(map(repr, left))}",) if left else ()


def _left(said: str, carried: frozenset[str]) -> tuple[str, ...]:
    text = re.sub(r"\be-(?=mail)", "e", re.sub(r"'s\b|'(?=\s|\Z)", "", said.lower()))
    text = _OF_AGE.sub(r"\1", _ITS_ACT.sub(" ", re.sub(r"\b[a-z]+n't\b", " ", text)))
    left = [
        token
        for token in re.findall(r"[a-z]+(?:-[a-z]+)*", text)
        if token not in _FILLER
        and token not in operators.UNITS
        and stem(token) not in carried
        and not all(part in _FILLER or stem(part) in carried for part in token.split("-"))
    ]
    return tuple(dict.fromkeys(left))


def not_said(said: str, used: Iterable[Predicate], toolbox: Toolbox, headings: Sequence[str]) -> tuple[str, ...]:
    tools, read = _unnamed(said, used, toolbox, headings)
    found = dict.fromkeys((*tools, *(field.name for field in read)))
    return (f"not said by the sentence, but meant by its rule: {', '.join(found)}",) if found else ()


def _unnamed(
    said: str, used: Iterable[Predicate], toolbox: Toolbox, headings: Sequence[str]
) -> tuple[tuple[str, ...], tuple[Field, ...]]:
    spoken, titled = stems(said), stems(words.plain(" / ".join(headings)))
    nearest = spoken | stems(words.plain(" / ".join(headings[-1:])))
    tools: list[str] = []
    read: dict[Field, None] = {}
    for name in dict.fromkeys(name for p in used if p.kind == "action" for name in p.tools):
        tool = next((t for t in toolbox.tools if t.name == name), None)
        told = _names(tool, toolbox, spoken) if tool is not None else []
        together = [_shared(p.tools, toolbox) for p in used if p.kind == "action" and name in p.tools]
        if not any(one & nearest and one <= spoken | titled for one in (*told, *together)):
            tools.append(name)
    for p in used:
        for field in fields(p, toolbox):
            name = content(field.name)
            told = [name, *map(content, (*field.keywords, field.description))]
            values = [v for v in field.values if content(v) and content(v) <= spoken]
            if not any(one <= spoken for one in told if one or one is name) and not values:
                read[field] = None
    return tuple(tools), tuple(read)


def _names(tool: Tool, toolbox: Toolbox, spoken: frozenset[str]) -> list[frozenset[str]]:
    """What a tool may be named by: its name, also without words of quantity if no other tool has the rest, its
    keywords, and, in a sentence that speaks of checking, what it tells."""
    core = content(tool.name) - frozenset(map(stem, operators.UNITS))
    others = [content(one.name) for one in toolbox.tools if one.name != tool.name]
    found = [content(tool.name), *map(content, tool.keywords)]
    found += [] if any(core <= one for one in others) else [core]
    if _telling(tool) and spoken & stems(_ASKED):
        found.append(content(_ASIDE.split(tool.description)[0]) - stems(" ".join(_TELLS)))
    return [one for one in found if one]


def _shared(names: Sequence[str], toolbox: Toolbox) -> frozenset[str]:
    """What the names of several tools have in common, if no other tool has it too: they are named together by it."""
    common = frozenset.intersection(*map(content, names)) if len(names) > 1 else frozenset()
    return frozenset() if any(common <= content(t.name) for t in toolbox.tools if t.name not in names) else common


def others(said: str, used: Sequence[Predicate], toolbox: Toolbox) -> tuple[str, ...]:
    """Tools and fields that the sentence names as well as those that the rules mean: which is meant is not known."""
    spoken, found = stems(said), []
    tools = {name for p in used if p.kind == "action" for name in p.tools}
    for one in tools:
        found += [t.name for t in toolbox.tools if t.name not in tools and stems(one) < stems(t.name)]
    read = [field for p in used for field in fields(p, toolbox)]
    near = [*toolbox.state, *(a for t in toolbox.tools if t.name in tools for a in t.arguments)]
    for field in read:
        told = [*map(content, (field.name, *field.keywords, field.description))]
        for other in near:
            name, values = content(other.name), [v for v in other.values if content(v) and content(v) <= spoken]
            if other in read or not (values or name <= spoken) or any(name < one <= spoken for one in told):
                continue
            if len(name) > 1 if other.type != field.type else values or (name and not other.values):
                found.append(other.name)
    return (f"it may as well mean {', '.join(dict.fromkeys(found))}",) if found else ()


def units(said: str, used: Sequence[Predicate], toolbox: Toolbox) -> tuple[str, ...]:
    """Units of the sentence that the fields of its numbers do not have, where these have another of the kind."""
    for family in _FAMILIES:
        told = {unit for unit, words in family.items() if re.search(words, said, re.I)}
        for p in used:
            for field in (
                fields(p, toolbox) if told and any(type(one.value) is not str for one in shapes.literals(p)) else ()
            ):
                text = f"{field.name} {field.description} {' '.join(field.keywords)}".replace("_", " ")
                own = {unit for unit, words in family.items() if re.search(words, text, re.I)}
                if own and not own & told and field.type in ("integer", "number"):
                    return (f"{field.name} is in {', '.join(sorted(own))}, the sentence in {', '.join(sorted(told))}",)
                if own and (others := _alike_in(family, field, p, said, toolbox)):
                    return (f"it may as well mean {', '.join(others)}, which is in such a unit too",)
    return ()


def _alike_in(family: Mapping[str, str], field: Field, p: Predicate, said: str, toolbox: Toolbox) -> tuple[str, ...]:
    """Other fields of the tools that are measured in such units, where the sentence says no more of the one that is
    read than its unit."""
    units = {stem(word) for unit in family for word in (unit, f"{unit}s")}
    if (content(field.name) - units) & stems(said):
        return ()
    near = [a for t in toolbox.tools if t.name in p.tools for a in t.arguments if a.name != field.name]
    texts = {a.name: f"{a.name} {a.description} {' '.join(a.keywords)}".replace("_", " ") for a in near}
    numbers = {a.name for a in near if a.type in ("integer", "number")}
    return tuple(
        name
        for name, text in texts.items()
        if name in numbers and any(re.search(one, text, re.I) for one in family.values())
    )


def aged(said: str, used: Iterable[Predicate], toolbox: Toolbox) -> tuple[str, ...]:
    """Fields named after a thing, where the sentence tells the age of a person."""
    if not _AGED.search(said):
        return ()
    people, found = stems(_PERSON.replace("?", "").replace("|", " ")), []
    for p in used:
        if any(shapes.number(fact) is not None for _, fact in shapes.leaves(p.test, True)):
            read = [field for field in fields(p, toolbox) if "age" in stems(field.name)]
            found += [field.name for field in read if content(field.name) - people]
    return (f"it tells the age of a person: {', '.join(found)} may be that of a thing",) if found else ()


def content(text: str) -> frozenset[str]:
    """The stems of a name or a text without filler, dimensions and units."""
    return stems(text) - _EMPTY


def values(said: str, used: Iterable[Predicate], toolbox: Toolbox) -> tuple[str, ...]:
    """The values of enumerations that the rules mean and the sentence does not say."""
    spoken, found = stems(said), []
    for p in used:
        listed = {value for field in fields(p, toolbox) for value in field.values}
        found += [value for _, value in shapes.measured(p.test) if value in listed] if p.test is not None else []
    found = [value for value in dict.fromkeys(found) if not stems(value) <= spoken]
    return (f"not said by the sentence, but meant by its rule: {', '.join(map(repr, found))}",) if found else ()


def named_by(field: Field) -> tuple[str, ...]:
    """All that a field may be called by."""
    return (field.name, field.description, *field.keywords)


def names_of(p: Predicate, toolbox: Toolbox, said: str) -> frozenset[str]:
    """The stems of what an act's tools may be called by in a sentence."""
    own = [t for t in toolbox.tools if t.name in p.tools]
    return frozenset().union(*(name for t in own for name in _names(t, toolbox, stems(said))))
