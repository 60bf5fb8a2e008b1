"""What tools and fields are called by: the words of a sentence that its rules carry, and those that no rule does.

Every content word is carried by a tool, a field or a value of the rules, and every one of these is named by the
sentence or the headings above it; nothing else that the toolbox has is named as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from wb.domain.tools import Field, Tool, Toolbox, within
from wb.logic import cel, facts
from wb.logic import formula as F
from wb.logic.facts import Comparison, Fact, OneOf, Path, Scalar, Size
from wb.rules import operators, shapes, words
from wb.rules.lint import NUMBERS
from wb.rules.rule import Predicate, Rule
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
_SIGNED = re.compile(r"[~±≈] ?\d|\d ?[^\w\s.,;:!?)\]}'\"“”‘’`*$€£%‰–—/-]")  # "40°", "~2", "3†"
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
_CHOOSES = f"{_GIVEN} choose chooses select selects pick picks use uses"  # and of what was chosen
_CHOSEN = re.compile(r"\b(?:chosen|selected|given|provided)\b", re.I)
_ONE_COUNTS = re.compile(  # "1", and "one" where it is compared with; else it is a word like "a"
    r"(?<![\d.,])1(?![\d.,]*\d)(?:\.0+)?\b|"
    r"\b(?:least|most|than|exactly|over|under|below|above|exceed\w*|m(?:in|ax)imum(?: of)?) one\b"
)
_PARTS = re.compile(r"\b(?:and|or|but|nor|if|when\w*|where|while|once|unless)\b|[,;:()]", re.I)
_PERIOD = re.compile(
    r"\b(?:this|per|each|every|(?:in |within )?the (?:last|past)) (?:\d+ )?(?:minute|hour|day|week|month|year)s?\b",
    re.I,
)
_REACHED = (
    r"\b(?:once|as soon as|until|till|from|by|reach\w*|hits?|hitting|attain\w*|with|at|has|have|there (?:is|are)|"
    r"numbers?)\b"
)
_PARTS_OF = {"percent": r"%|\bper ?cent(?:age)?\b", "per mille": r"‰|\bper mille\b"}
_METRIC = {
    "mg": "milligram(?:me)?s?",
    "g": "gram(?:me)?s?",
    "kg": "kilogram(?:me)?s?",
    "mm": "millimet(?:er|re)s?",
    "cm": "centimet(?:er|re)s?",
    "m": "met(?:er|re)s?",
    "km": "kilomet(?:er|re)s?",
    "ml": "millilit(?:er|re)s?",
    "l": "lit(?:er|re)s?",
}
_FAMILIES = (
    _PARTS_OF,
    {unit: rf"\b{unit}s?\b" for unit in ("second", "minute", "hour", "day", "week", "month", "year")},
    {"dollars": r"\$|\b(?:dollars?|usd)\b", "euros": r"€|\b(?:euros?|eur)\b", "pounds": r"£|\b(?:pounds?|gbp)\b"},
    {unit: rf"\b{unit}\b" for unit in ("kb", "mb", "gb", "tb")},
    {unit: rf"\b(?:{unit}|{name})\b" for unit, name in _METRIC.items()},
)
_NUMBERS = ("integer", "number")
_THE = r"(?:the |an? |any |each |every |all |its |this |that )"
_IS = (
    r"(?:that|who|which|whose|with|is|are|was|were|be|been|has|have|had|of|aged|must|may|can|cannot|not|never|no|an?|the|"
    r"age|in|years) "
)
_MORE = (
    r"(?:over|above|beyond|exceed\w*|under|below|at|the|least|most|more|less|fewer|greater|larger|older|younger|longer|"
    r"higher|lower|smaller|shorter|than|minimum|maximum|of|up|to|not|no) "
)
_PEOPLE = frozenset(
    """user users customer customers client clients person persons people anyone anybody someone somebody everyone
    everybody nobody assistant agent you we i""".split()
)
_THEIRS = re.compile(r"\b(?:its|their|his|her|whose|where|(?:at|by|for|from|in|of|on|to|with) (?:which|whom))\b", re.I)
_LEVELS = 5  # of what lies within a field
_PLURAL = re.compile(r"(?<=[a-z]{2})(?:(?<=s|x|z)es|(?<=ch|sh)es|ies|(?<!s)s)\Z")
_MONEY = frozenset(map(stem, "dollar dollars euro euros pound pounds percent".split()))  # no field is called by it
_CONFIRM = re.compile(
    r"(?P<who>(?:the |an? |each |every )?(?:users?|customers?|clients?) (?:must|shall|should|needs? to|ha(?:s|ve) to) "
    r"(?:explicitly )?confirm) (?P<what>[^.:;()\"“”]+)\.?\Z",
    re.I,
)
_NOT_ALONE = re.compile(
    r"\b(?:no|not|or|either|neither|if|when\w*|where\w*|unless|except\w*|only|without|before|after|until|while|once|"
    r"that|which|who|whether|must|may|can|shall|should|will|is|are|has|have|\d+)\b|'",
    re.I,
)
_AND = re.compile(r",\s*(?:and\s+)?|\s+and\s+")
_SAID_OF = frozenset(map(stem, "banned forbidden prohibited allowed permitted required mandatory obligatory".split()))
_EMPTY = frozenset(stem(word) for word in _FILLER | _DIMENSIONS)
_OF_AN_ACT = frozenset(
    map(stem, "confirm confirmed explicit explicitly yes action detail details call request".split())
)


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
        for place in places(p, toolbox):
            texts += [place.field.name, place.field.description, *place.field.keywords]
            texts += [keyword for outer in place.within for keyword in outer.keywords]
        texts += [str(literal.value) for literal in shapes.literals(p)]
        texts += [_GIVEN for _, fact in shapes.leaves(p.test, True) if _given(fact)]
        texts += [_CHOOSES for field in fields(p, toolbox) if field.values and _CHOSEN.search(field.description)]
    return stems(" ".join(texts))


def confirming(text: str, rules: Sequence[Rule], used: Sequence[Predicate], toolbox: Toolbox) -> str:
    """A sentence without what has to be confirmed, where it says that alone, its one rule asks for a field that tells
    that the act was confirmed, and all of it are arguments of the call: "The user must confirm the order id and the
    reason"; else as it stands."""
    acts = {p.name for p in used if p.kind == "action"}
    match [rule.formula for rule in rules]:
        case [F.Always(F.Implies(F.Atom(act), F.Atom(fact)))] if act in acts and fact not in acts:
            pass
        case _:
            return text
    found = _CONFIRM.match(text.strip())
    tools = [t for p in used if p.kind == "action" for t in toolbox.tools if t.name in p.tools]
    read = [field for p in used for field in fields(p, toolbox)]
    if not found or len(tools) != 1 or len(read) != 1 or _NOT_ALONE.search(found["what"]):
        return text
    (tool,), (field,) = tools, read
    act = content(f"{tool.name} {tool.description}") | _OF_AN_ACT
    told = field.type == "boolean" and content(f"{field.name} {field.description}") <= act
    given = [stems(f"{a.name} {a.description} {'list' if a.type == 'array' else ''}") for a in tool.arguments]
    whole = all(any(content(part) <= one for one in given) for part in _AND.split(found["what"]))
    return f"{found['who']}." if told and whole and "confirm" in stems(field.name) else text


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
    if re.search(r"\d", operators.NUMERAL.sub(" ", text)) or _GROUPED.search(text) or _SIGNED.search(text):
        return ("a number that is not plain digits",)
    spoken |= {value for word, value in NUMBERS.items() if re.search(rf"\b{word}\b(?![- ](?:of|by|another)\b)", text)}
    told = {float(one.value) for p in used for one in shapes.literals(p) if type(one.value) in (int, float)}
    over = spoken - told - (set() if _ONE_COUNTS.search(text) else {1.0})
    why = [f"not accounted for: {n:g}" for n in sorted(over)]
    why += [f"not said by the sentence, but meant by its rule: {n:g}" for n in sorted(told - spoken)]
    return tuple(why)


class Place(NamedTuple):
    """A declared field and, where it lies within others, these, outermost first; then its name is its path through
    them, as in `order.status`, and `last` what it is called in the innermost one."""

    field: Field
    within: tuple[Field, ...] = ()
    last: str = ""


def places(predicate: Predicate, toolbox: Toolbox) -> tuple[Place, ...]:
    """The declared fields that the predicate's test reads."""
    paths = facts.paths(predicate.test) if predicate.test is not None else ()
    return tuple(place for path in paths for place in declared(path.names, predicate.tools, toolbox))


def declared(names: Sequence[str], tools: Sequence[str], toolbox: Toolbox) -> tuple[Place, ...]:
    """The declared fields at a path that begins with `state` or `call`: of a call one for each of these tools that has
    it, or for each tool where there are none.  Empty where nothing is declared there."""
    owners = _owners(names[0], tools, toolbox)
    return tuple(place for owner in owners for place in _below(owner, ()) if _path(place) == tuple(names[1:]))


def _owners(root: str, tools: Sequence[str], toolbox: Toolbox) -> list[tuple[Field, ...]]:
    mine = [tool.arguments for tool in toolbox.tools if not tools or tool.name in tools]
    return [toolbox.state] if root == "state" else mine


def _path(place: Place) -> tuple[str, ...]:
    return (*(outer.name for outer in place.within), place.last)


def _below(those: Iterable[Field], outer: tuple[Field, ...]) -> Iterator[Place]:
    """The fields and all that lie within them, at most so deep as a prompt shows them."""
    for field in those:
        name = ".".join((*(one.name for one in outer), field.name))
        yield Place(replace(field, name=name) if outer else field, outer, field.name)
        if len(outer) < _LEVELS:
            yield from _below(within(field), (*outer, field))


def untested(used: Iterable[Predicate], toolbox: Toolbox) -> tuple[str, ...]:
    """Facts without a test whose names say a declared field of the state."""
    loose = [(p.name, stems(p.name)) for p in used if p.kind == "state" and p.test is None]
    named = [(name, field.name) for name, words in loose for field in toolbox.state if stems(field.name) <= words]
    return tuple(f"{name!r} has no test, and state.{field} is declared" for name, field in dict.fromkeys(named))


def told(used: Iterable[Predicate], toolbox: Toolbox) -> tuple[str, ...]:
    """The names and descriptions of all fields that the predicates read."""
    return tuple(text for p in used for field in fields(p, toolbox) for text in named_by(field))


def fields(predicate: Predicate, toolbox: Toolbox) -> tuple[Field, ...]:
    """The same without what they lie within."""
    return tuple(place.field for place in places(predicate, toolbox))


def undeclared(used: Iterable[Predicate], toolbox: Toolbox) -> tuple[str, ...]:
    """Tests of what lies within a field where tools.json declares nothing of that name, of a call for one of its tools,
    or where a list lies between."""
    found = []
    for p in used:
        plain = facts.paths(p.test) if p.test is not None else ()
        for path in facts.paths(shapes.spread(p).test) if p.test is not None else ():
            owners = [(tool,) for tool in p.tools] if path.names[0] == "call" and p.tools else [()]
            those = [declared(path.names, owner, toolbox) for owner in owners] if len(path.names) > 2 else []
            lists = any(one.type == "array" for each in those for place in each for one in place.within)
            if not all(those) or (lists and path in plain):
                said = f"{cel.render(p.test)}, for nothing is declared at {'.'.join(path.names)}"
                found.append(f"no sentence is read into this form, a person may write it: {said}")
    return tuple(dict.fromkeys(found))


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


_COMPARING = frozenset(
    """over under above below beyond within exceed exceeds exceeding greater larger smaller higher lower longer shorter
 older younger later earlier maximum minimum limit limits limited""".split()
) | (operators.UNITS - NUMBERS.keys() - set("item items number amount size count age".split()))
_ONE = re.compile(
    r"(?<!\bno )(?<!\bany )(?<!\bevery )(?<!\beach )(?<!\bthe )(?<!\bthis )(?<!\bthat )(?<!\bwhich )"
    r"\bone (?!of\b|another\b|who\b|that\b|which\b|or\b|and\b|is\b|has\b|may\b|must\b|can\b|cannot\b)[a-z]|"
    r"(?<![\w.,-])1(?![\w.,-])",
    re.I,
)
_WAS = re.compile(  # but not what was done: "an order that was paid"
    r"\bhad\b|\b(?:was|(?:has|have) been) (?!(?:\w+ly )?\w+(?:ed|en|wn|de|ld|id|pt|nt|ght|ung)\b)\w+", re.I
)
_BACK = F.Once | F.Since | F.Previously | F.Historically | F.Recently


def idle(said: str, rules: Sequence[Rule], used: Sequence[Predicate], carried: frozenset[str]) -> tuple[str, ...]:
    """Words of comparison, units and "one" where the rules compare and count nothing, and what was so where they do not
    look back: a test of yes or no stands for none of them."""
    nodes = [node for rule in rules for node in F.subformulas(rule.formula)]
    counts = any(shapes.counts(rule.formula) for rule in rules)
    found: list[str] = []
    if not counts and not any(shapes.compares(p.test) for p in used if p.test is not None):
        tokens = re.findall(r"[a-z]+", said.lower())
        found += [token for token in tokens if token in _COMPARING and stem(token) not in carried]
        found += [m.group().split()[0].lower() for m in _ONE.finditer(said)]
    if not any(isinstance(node, _BACK) for node in nodes):
        found += [m.group().lower() for m in _WAS.finditer(said)]
    return (f"not accounted for: {', '.join(map(repr, dict.fromkeys(found)))}",) if found else ()


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
        for place in places(p, toolbox):
            if not _said(place, spoken) or (place.within and not _about(place, said, headings, toolbox)):
                read[place.field] = None
    return tuple(tools), tuple(read)


def _said(place: Place, spoken: frozenset[str], *, strictly: bool = False) -> bool:
    """Whether a field is named by its own name, a keyword, its description or one of its values; `strictly` not by its
    description, and by a name that is a mere size or amount only where that is said."""
    field, name = place.field, content(place.last) | (stems(place.last) & _SAID_OF)
    told = [*map(content, field.keywords), *(() if strictly else (content(field.description) - _MONEY,))]
    values = [v for v in field.values if content(v) and content(v) <= spoken]
    own = stems(place.last) <= spoken if strictly and not name else name <= spoken
    return own or any(one <= spoken for one in told if one) or bool(values)


def _about(place: Place, said: str, headings: Sequence[str], toolbox: Toolbox) -> bool:
    """Whether a sentence names all that a field lies within, or the field by words that are its own."""
    return _outer_named(place, said, headings) or described(place, said) or alone(place, said, toolbox)


def _outer_named(place: Place, said: str, headings: Sequence[str]) -> bool:
    """Whether a sentence names all that a field lies within, by its name or a keyword; of the outermost one the heading
    next above the sentence may."""
    here = nouns(said)
    above = here | nouns(words.plain(" / ".join(headings[-1:])))
    texts = [(here if i else above, (outer.name, *outer.keywords)) for i, outer in enumerate(place.within)]
    return all(any(nouns(one) <= known for one in names if nouns(one)) for known, names in texts)


def described(place: Place, said: str) -> bool:
    """Whether a sentence says all of a field's description, which has more than one word."""
    told = content(place.field.description)
    return len(told) > 1 and told <= stems(said)


def alone(place: Place, said: str, toolbox: Toolbox) -> bool:
    """Whether a sentence says all of the own name of a field within others, of several words or with one of its values,
    and no other field of the toolbox is called by these words or has such a value."""
    name, spoken = content(place.last), stems(said)
    if not name or not name <= spoken or len(_own(place, spoken)) < 2:
        return False
    told = {value for value in place.field.values if content(value) and content(value) <= spoken}
    given = [a for t in toolbox.tools for a in t.arguments]
    rivals = (
        {_path(one) for one in _below(those, ()) if _called(one, name, told) and not _holds(one, place)}
        for those in (toolbox.state, given)
    )
    return sum(map(len, rivals)) == 1


def _own(place: Place, spoken: frozenset[str]) -> frozenset[str]:
    """The words of a field's own name, and of its values that are said."""
    values = [value for value in place.field.values if content(value) <= spoken]
    return content(" ".join((place.last, *values)))


def _called(place: Place, name: frozenset[str], values: Set[str]) -> bool:
    """Whether what a field is called by has all words of a name, or it has one of the values."""
    return name <= content(" ".join(named_by(place.field))) or bool(values & set(place.field.values))


@lru_cache(maxsize=10_000)
def nouns(text: str) -> frozenset[str]:
    """The words of a text, parts of names too, each without the ending of its plural."""
    text = re.sub(r"([a-z])([A-Z])", r"\1 \2", text.replace("’", "'")).replace("_", " ").lower()
    return frozenset(map(singular, re.findall(r"[a-z]+", re.sub(r"'s\b|'(?=\s|\Z)", "", text))))


def singular(word: str) -> str:
    return re.sub(_PLURAL, lambda m: "y" if m.group() == "ies" else "", word)


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


def others(said: str, used: Sequence[Predicate], toolbox: Toolbox, headings: Sequence[str] = ()) -> tuple[str, ...]:
    """Tools and fields that the sentence names as well as those that the rules mean: which is meant is not known."""
    spoken, found = stems(said), []
    tools = {name for p in used if p.kind == "action" for name in p.tools}
    for one in tools:
        found += [t.name for t in toolbox.tools if t.name not in tools and stems(one) < stems(t.name)]
    read = {place.field.name: place for p in used for place in places(p, toolbox)}
    numbers = [n for p in used for n in _sizes(p, toolbox)]
    near = _near(tools, toolbox)
    for name, mine in read.items():
        told, counted = [*map(content, named_by(mine.field))], dict(numbers).get(name)
        for other in near:
            if other.field.name in read or _encloses(mine, other) or _encloses(other, mine):
                continue
            if counted is not None and not _behind(said, counted, other):
                continue  # "at most five bags" counts nothing else
            if not mine.within and not other.within:
                found += [other.field.name] if _as_well(other.field, mine.field, told, spoken) else []
            elif _owned(mine, other, said) and _means(other, mine, told, said, headings, toolbox):
                found.append(other.field.name)
    return (f"it may as well mean {', '.join(dict.fromkeys(found))}",) if found else ()


def undone(said: str, rules: Iterable[Rule], used: Sequence[Predicate], toolbox: Toolbox) -> tuple[str, ...]:
    """Fields that tell now what a rule asks to have been done once, where the sentence names them as well: a door that
    was closed may be open again."""
    once = {name for rule in rules for node in F.subformulas(rule.formula) for name in _once(node)}
    spoken, found = stems(said), []
    for p in used:
        done = frozenset().union(*(content(name) for name in p.tools)) if p.name in once else frozenset()
        for place in _near((), toolbox) if done else ():
            name = content(place.last)
            if place.field.type == "boolean" and name and name <= spoken and name <= done:
                found.append(place.field.name)
    return (f"it may as well mean {', '.join(dict.fromkeys(found))}, now",) if found else ()


def _once(node: F.Formula) -> Iterator[str]:
    if isinstance(node, F.Once | F.Since):
        yield from F.atoms(node)


def _near(tools: Iterable[str], toolbox: Toolbox) -> list[Place]:
    """The fields that a call of these tools can tell, its own and those of the state, and all that lies within them."""
    given = [a for t in toolbox.tools if t.name in set(tools) for a in t.arguments]
    names = {a.name for a in given}
    known = [field for field in toolbox.state if not tools or _looked_up(field) <= names]
    return [*_below((*known, *given), ())]


def _looked_up(field: Field) -> set[str]:
    """The arguments without which a call does not tell a field that is looked up for it."""
    nodes = [node for _, node in field.source.arguments] if field.source is not None else []
    paths = [node for node in nodes if isinstance(node, Path)]
    return {path.names[1] for path in paths if path.names[0] == "call"}


def _encloses(one: Place, other: Place) -> bool:
    """Whether a field is another one, or the other one lies within it."""
    return _path(one) == _path(other)[: len(_path(one))]


def _holds(one: Place, other: Place) -> bool:
    """Whether a field lies within another one."""
    return _encloses(one, other) and _path(one) != _path(other)


def _as_well(other: Field, field: Field, told: Sequence[frozenset[str]], spoken: frozenset[str]) -> bool:
    """Whether a sentence names another field as well as the one that is read, none of which lies within others."""
    name, values = content(other.name), [v for v in other.values if content(v) and content(v) <= spoken]
    if not (values or name <= spoken) or any(name < one <= spoken for one in told):
        return False
    return bool(len(name) > 1 if other.type != field.type else values or (name and not other.values))


def _owned(mine: Place, other: Place, said: str) -> bool:
    """Whether the sentence may say of what another field lies within what it says of one: it says of nothing, or of
    that too."""
    of = owners(mine, said) - nouns(mine.last)
    return not of or not of <= _nouns_of(mine) or bool(of & _nouns_of(other))


def _means(
    other: Place, mine: Place, told: Sequence[frozenset[str]], said: str, headings: Sequence[str], toolbox: Toolbox
) -> bool:
    """The same as `_as_well` where one of both lies within others: with all names of its path."""
    spoken, name = stems(said), content(other.field.name)
    whole, also = described(mine, said), described(other, said)
    if other.field.type == "object" or (not (other.within or also) and any(name < one <= spoken for one in told)):
        return False
    if whole or _said(mine, spoken, strictly=True):
        of = content(" ".join(outer.name for outer in mine.within))
        if not (also or _said(other, spoken, strictly=True)):
            return False
        if not other.within and name <= of and not other.field.values:
            return False
    own = not _outer_named(mine, said, headings)  # its own words alone name it
    if own and len(name) < 2 and not _alike(other.field, mine.field):
        return False
    if not content(other.last):  # a size or an amount, which need not be said
        unsaid = not content(mine.last) and not stems(mine.last) <= spoken and other.field.type in _NUMBERS
        if not unsaid and not stems(other.last) <= spoken:
            return False
    last = content(other.last) if len(_own(other, spoken)) > 1 else frozenset()
    same = bool(last) and last <= spoken and (own or content(mine.field.name) <= last)
    return _said(other, spoken) and (not other.within or same or _about(other, said, headings, toolbox))


def _alike(one: Field, other: Field) -> bool:
    """Whether two fields tell things of one kind."""
    kinds = one.type == other.type or {one.type, other.type} <= {*_NUMBERS}
    return kinds and bool(one.values) == bool(other.values)


def _nouns_of(place: Place) -> frozenset[str]:
    """What a sentence may say that a field is of: what it lies within, or itself."""
    names = [name for outer in place.within for name in (outer.name, *outer.keywords)]
    return nouns(" ".join((*names, place.last)))


def owners(place: Place, said: str) -> frozenset[str]:
    """The nouns of which a sentence says what a field tells: "the order is delivered", "the order's status", "status of
    the order", "a delivered order", "an order over 50 euros"; none where it says "it" or says it in another way."""
    spoken = stems(said)
    values = [v for v in place.field.values if content(v) and content(v) <= spoken]
    told = content(" ".join((place.last, *place.field.keywords, *values)))
    if described(place, said) and not content(place.last) <= spoken:
        told |= content(_ASIDE.split(place.field.description)[0])
    text = said.lower().replace("’", "'")
    words = [re.escape(w) for w in dict.fromkeys(re.findall(r"[a-z]+(?:-[a-z]+)*", text)) if stems(w) & told]
    found: list[str] = []
    if words:
        leaf = rf"(?:{'|'.join(words)})\b"
        found += re.findall(rf"\b([a-z]+) (?:{_IS})*{leaf}", text)
        found += re.findall(rf"\b([a-z]+)'s? {leaf}", text)
        found += re.findall(rf"\b{leaf} of {_THE}*([a-z]+)\b", text)
        found += re.findall(rf"\b{leaf} ([a-z]+)\b", text)
    if place.field.type in _NUMBERS:
        found += re.findall(rf"\b([a-z]+) (?:{_IS})*(?:{_MORE})+ *[$€£]?(?:\d|(?:{'|'.join(NUMBERS)})\b)", text)
    own = stems(" ".join(values))
    none = _FILLER - _PEOPLE | {*NUMBERS}
    return frozenset(singular(w) for w in found if w not in none and not stems(w) & own)


def elsewhere(said: str, used: Sequence[Predicate], toolbox: Toolbox, headings: Sequence[str] = ()) -> tuple[str, ...]:
    """Fields within others, where the sentence says what they tell of something else, or an amount of nothing that
    it names; and lists of which the number that is said does not count the items."""
    spoken, found = stems(said), []
    names = [name for p in used if p.kind == "action" for name in p.tools]
    acts, verbs = nouns(" ".join(names)), {name.split("_")[0].lower() for name in names}
    verbs = verbs if operators.bans(said) else frozenset()
    set_to = {verb for verb in verbs if re.search(rf"\b{verb} to \d", said, re.I)}  # "only be set to 30"
    for p in used:
        for place in places(p, toolbox):
            of = owners(place, said) - set_to if place.within else frozenset()
            unsaid = place.within and not content(place.last) and not stems(place.last) <= spoken
            aside = of and not of & _nouns_of(place)
            if place.within and not _outer_named(place, said, headings):
                of, aside = _told_of(place, of, acts if _THEIRS.search(said) else frozenset())
            if aside or (unsaid and not of):
                of = {word for word in of if len(word) > 1}
                whose = f"says it of {', '.join(sorted(of))}" if of else "does not say of what"
                found.append(f"its rule reads {place.field.name}, and the sentence {whose}")
        counted = dict(_sizes(p, toolbox))
        for place in places(p, toolbox):
            if place.field.name in counted and not _behind(said, counted[place.field.name], place):
                found.append(f"how many {place.field.name} is not said: {counted[place.field.name]:g}")
    return tuple(dict.fromkeys(found))


def _told_of(place: Place, of: frozenset[str], acts: frozenset[str]) -> tuple[frozenset[str], bool]:
    """Of what else than itself a sentence tells a field that its own words alone name, and whether that is something
    that neither it nor what it lies within is of, by their descriptions.  `acts` are the words of the act that "its" or
    "whose" may point to."""
    within = nouns(" ".join(outer.description for outer in place.within)) | _nouns_of(place)
    mine = within | nouns(place.field.description)
    others = of - nouns(f"{place.last} {place.field.description}")
    astray = bool(acts) and not acts & mine
    return others | (acts if astray else frozenset()), bool(others - mine) or astray


def _sizes(p: Predicate, toolbox: Toolbox) -> list[tuple[str, float]]:
    """The lists whose items a test counts, by name, each with the number that it compares with."""
    found = []
    for _, fact in shapes.leaves(p.test, True) if p.test is not None else ():
        match fact:
            case Comparison(limit=(Size(Path() as path), _, Scalar(value))) if type(value) in (int, float):
                found += [(one.field.name, float(value)) for one in declared(path.names, p.tools, toolbox)]
    return found


def _behind(said: str, number: float, place: Place) -> bool:
    """Whether what a field is called stands right behind a number, or behind "or more" after it, somewhere."""
    figures = [m.end() for m in operators.NUMERAL.finditer(said) if float(m.group().replace(",", "")) == number]
    spelt = [m.end() for w, n in NUMBERS.items() if n == number for m in re.finditer(rf"\b{w}\b", said, re.I)]
    texts = [re.sub(r"\A (?:or|and) (?:more|fewer|less)\b", "", said[at:], flags=re.I) for at in (*figures, *spelt)]
    behind = [nouns(" ".join(re.findall(r"[\w-]+", text)[:2])) for text in texts]
    names = [nouns(name) for name in (place.last, *place.field.keywords)]
    return any(name and name <= words for name in names for words in behind)


def units(said: str, used: Sequence[Predicate], toolbox: Toolbox) -> tuple[str, ...]:
    """Units of the sentence that the fields of its numbers do not have, where these have another of the kind, or one of
    another kind ("for 7 days" of a length in metres)."""
    for p in used:
        measured = any(type(one.value) is not str for one in shapes.literals(p))
        for field in fields(p, toolbox) if measured else ():
            told, own = _units(said), _units(_about_field(field))
            if told and own and told.keys().isdisjoint(own) and field.type in ("integer", "number"):
                both = (", ".join(sorted(unit for units in some.values() for unit in units)) for some in (own, told))
                return ("{} is in {}, the sentence in {}".format(field.name, *both),)
    for family in _FAMILIES:
        told = {unit for unit, words in family.items() if re.search(words, said, re.I)}
        for p in used:
            for field in (
                fields(p, toolbox) if told and any(type(one.value) is not str for one in shapes.literals(p)) else ()
            ):
                own = {unit for unit, words in family.items() if re.search(words, _about_field(field), re.I)}
                if not own and family is _PARTS_OF:
                    return (f"the sentence is in {', '.join(sorted(told))}, and {field.name} is not said to be",)
                if own and not own & told and field.type in ("integer", "number"):
                    return (f"{field.name} is in {', '.join(sorted(own))}, the sentence in {', '.join(sorted(told))}",)
                if own and (others := _alike_in(family, field, p, said, toolbox)):
                    return (f"it may as well mean {', '.join(others)}, which is in such a unit too",)
    return ()


def _units(text: str) -> dict[int, frozenset[str]]:
    """The units that a text names, by the place of their kind."""
    found = {
        k: frozenset(unit for unit, words in family.items() if re.search(words, text, re.I))
        for k, family in enumerate(_FAMILIES)
    }
    return {k: units for k, units in found.items() if units}


def _about_field(field: Field) -> str:
    """The words that tell of a field, without the time that it counts within ("batches this week")."""
    return _PERIOD.sub(" ", f"{field.name} {field.description} {' '.join(field.keywords)}".replace("_", " "))


def _alike_in(family: Mapping[str, str], field: Field, p: Predicate, said: str, toolbox: Toolbox) -> tuple[str, ...]:
    """Other fields of the tools that are measured in such units, where the sentence says no more of the one that is
    read than its unit."""
    units = {stem(word) for unit in family for word in (unit, f"{unit}s")}
    if (content(field.name) - units) & stems(said):
        return ()
    given = _below((a for t in toolbox.tools if t.name in p.tools for a in t.arguments), ())
    near = [place.field for place in given if place.field.name != field.name]
    texts = {a.name: _about_field(a) for a in near}
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


def numbered(said: str, used: Sequence[Predicate], toolbox: Toolbox) -> tuple[str, ...]:
    """Numbers that a rule has of a field which the words beside them do not name: "7 people" of a price; of several
    numbers, one in another unit than its field, or whose part of the sentence says nothing of its field alone."""
    found = [
        (field, one[1])
        for p in used
        for _, fact in shapes.leaves(p.test, True)
        if (one := shapes.number(fact)) is not None
        for field in fields(replace(p, test=fact), toolbox)
    ]
    for field, n in found:
        counted = re.search(rf"\b(?:{_written(n)}) (?:\w+ )?(times|people|persons|items)\b", said, re.I)
        if counted and stem(counted[1].lower()) not in stems(_about_field(field)):
            return (f"{n:g} is of {counted[1]}, and {field.name} is not said to be",)
    if len({n for _, n in found}) < 2:
        return ()
    near = [a for tool in toolbox.tools if any(tool.name in p.tools for p in used) for a in tool.arguments]
    for field, n in found:
        parts = [part for part in _PARTS.split(said) if re.search(rf"(?<![\d.])(?:{_written(n)})\b", part, re.I)]
        others = [other for other, _ in found if other.name != field.name]
        if any(_measured_otherwise(part, field, near) for part in parts):
            return (f"{n:g} is in another unit than {field.name}",)
        if others and (len(parts) != 1 or not _alone(field, others) & {*stems(parts[0]), *_named_units(parts[0])}):
            return (f"whether {n:g} is of {field.name} is not told by the words beside it",)
    return ()


def _measured_otherwise(part: str, field: Field, near: Iterable[Field]) -> bool:
    """Whether a part of a sentence has a unit of no kind that a field has, but of one that it or one `near` tells."""
    told, own = _units(part), _units(_about_field(field))
    if not told or not told.keys().isdisjoint(own):
        return False
    beside = (_units(_about_field(a)) for a in near if a.name != field.name)
    return bool(own) or any(not told.keys().isdisjoint(one) for one in beside)


def _alone(field: Field, others: Iterable[Field]) -> set[str]:
    """The words and units that tell of a field, and not of the others."""
    mine, *rest = ({*stems(_about_field(one)), *_named_units(_about_field(one))} for one in (field, *others))
    return mine.difference(*rest)


def _named_units(text: str) -> set[str]:
    return {f"in {unit}" for units in _units(text).values() for unit in units}


def _written(n: float) -> str:
    """A number as a sentence may write it, for a pattern."""
    plain = [f"{n:g}", f"{n:,.0f}" if n == int(n) else f"{n:,}"]
    return "|".join([*map(re.escape, dict.fromkeys(plain)), *(word for word, value in NUMBERS.items() if value == n)])


def reached(said: str, used: Iterable[Predicate]) -> tuple[str, ...]:
    """Numbers that a test has for themselves alone, where the sentence may mean them and more: "once there are 80"."""
    leaves = [fact for p in used for _, fact in shapes.leaves(p.test, True)]
    found = [one[1] for fact in leaves if (one := shapes.number(fact)) is not None and one[0] in ("==", "!=")]
    listed = [one.value for fact in leaves if isinstance(fact, OneOf) for one in fact.options]
    found += [float(value) for value in listed if type(value) in (int, float)]
    told = [n for n in found if re.search(rf"{_REACHED}[^,;]*?\b(?:{_written(n)})\b", said, re.I)]
    return tuple(f"{n:g} and more, or less, may be meant, and its rule has it as {n:g} alone" for n in told)


def values(said: str, used: Iterable[Predicate], toolbox: Toolbox) -> tuple[str, ...]:
    """The values of enumerations that the rules mean and the sentence does not say."""
    spoken, found = stems(said), []
    for p in used:
        listed = {value for field in fields(p, toolbox) for value in field.values}
        found += [value for _, value in shapes.measured(p.test) if value in listed]
    found = [value for value in dict.fromkeys(found) if not stems(value) <= spoken]
    return (f"not said by the sentence, but meant by its rule: {', '.join(map(repr, found))}",) if found else ()


def named_by(field: Field) -> tuple[str, ...]:
    """All that a field may be called by."""
    return (field.name, field.description, *field.keywords)


def names_of(p: Predicate, toolbox: Toolbox, said: str) -> frozenset[str]:
    """The stems of what an act's tools may be called by in a sentence."""
    own = [t for t in toolbox.tools if t.name in p.tools]
    return frozenset().union(*(name for t in own for name in _names(t, toolbox, stems(said))))


def own(p: Predicate, toolbox: Toolbox, *, named: bool = False) -> frozenset[str]:
    """The words of the fields that a predicate tests, and of the values that it compares them with; of an act those of
    its tools.  `named`: without what describes the fields, or what they lie within."""
    if p.kind == "action":
        tools = [t for t in toolbox.tools if t.name in p.tools]
        return frozenset().union(*(content(name) for t in tools for name in (t.name, *t.keywords)))
    if named:
        texts = [path.names[-1] for path in (facts.paths(p.test) if p.test is not None else ())]
        texts += [keyword for f in fields(p, toolbox) for keyword in f.keywords]
    else:
        texts = [text for f in fields(p, toolbox) for text in named_by(f)]
    own = frozenset().union(*map(content, texts))
    return own | frozenset().union(*(content(value) for _, value in shapes.measured(p.test)))


def telling(p: Predicate, beside: Sequence[Predicate], toolbox: Toolbox) -> tuple[frozenset[str], ...]:
    """The words that tell a fact from those beside it, the surest first: of its names that they do not have, all that
    they do not have, all of its own."""
    others = [one for one in beside if one is not p]
    mine, theirs = own(p, toolbox), frozenset().union(*(own(one, toolbox) for one in others))
    names = own(p, toolbox, named=True)
    return names - frozenset().union(*(own(one, toolbox, named=True) for one in others)), mine - theirs, mine
