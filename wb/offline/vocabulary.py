"""The words of a toolbox: which tools the words of an act name, and which field decides a fact.

Everything that is domain vocabulary comes from names, keywords and descriptions in `tools.json`.  Words are bound only
where a tool's name and keywords, or one field, take up *all* of them; else they are not understood (`Unbound`), and
the sentence is open.  A field is told by all of its name or of a keyword, never by a part.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from wb.domain.tools import Field, Tool, Toolbox, within
from wb.logic.facts import Comparison, Path, Scalar, Size
from wb.offline import lexicon
from wb.offline.grammar import Leaf, Limit, Unread
from wb.offline.lexicon import root, roots
from wb.rules.rule import Predicate

_SYNONYMS = lexicon.synonyms()
_HOLDING, _STANDING = lexicon.rooted("holding"), lexicon.rooted("standing")
_SIGNS = {"$": roots("dollar dollars usd"), "€": roots("euro euros eur"), "£": roots("pound pounds gbp")}
_COINS = frozenset().union(*_SIGNS.values())
_ALTERING, _GENERIC = lexicon.rooted("altering"), lexicon.words("generic")
_MONEY, _AGE = lexicon.rooted("money"), lexicon.rooted("age")
_LOOKUP, _NEGATIVE = lexicon.rooted("lookup"), lexicon.words("negative")


class Unbound(Unread):
    """Words that no tool and no field takes up."""


class Act(NamedTuple):
    """The tools that the words of an act name, any of them, and words that they do not know, which narrow it."""

    words: str
    tools: tuple[str, ...]
    rest: tuple[str, ...] = ()

    @property
    def known(self) -> frozenset[str]:
        """The roots of the words that the tools take up."""
        return roots(self.words) - frozenset(map(root, self.rest))


@dataclass(frozen=True, slots=True)
class Literal:
    """A predicate, and whether it is meant negated."""

    predicate: Predicate
    positive: bool = True


class _Candidate(NamedTuple):
    """A field with its path, and the tool whose calls it is an argument of."""

    path: Path
    owners: tuple[str, ...]
    field: Field


class _Words(NamedTuple):
    """The roots of a tool's or field's name, of all its text, of each keyword, and the verbs a tool is called by."""

    name: frozenset[str]
    every: frozenset[str]
    keywords: frozenset[frozenset[str]]
    verbs: frozenset[str] = frozenset()


@lru_cache(maxsize=4_000)
def _of_tool(name: str, description: str, keywords: tuple[str, ...]) -> _Words:
    spoken = frozenset(map(roots, keywords)) - {frozenset()}
    named = tuple(map(root, lexicon.tokens(name)))
    opening = tuple(map(root, lexicon.content(description)[:1]))
    return _Words(frozenset(named), roots(f"{name} {description} {' '.join(keywords)}"), spoken, {*named[:1], *opening})


def tool_words(tool: Tool) -> _Words:
    """The roots by which a tool is known."""
    return _of_tool(tool.name, tool.description, tool.keywords)


@lru_cache(maxsize=4_000)
def field_words(field: Field) -> _Words:
    """The roots by which a field is known."""
    spoken = frozenset(map(roots, field.keywords)) - {frozenset()}
    named = frozenset(map(root, lexicon.tokens(field.name)))
    return _Words(named, lexicon.nouns(f"{field.description} {' '.join(field.keywords)}") | named, spoken)


def changing(toolbox: Toolbox) -> frozenset[str]:
    """The tools that may change something: all but those that only look something up, by their verbs."""
    return frozenset(tool.name for tool in toolbox.tools if not tool_words(tool).verbs <= _LOOKUP)


def about(text: str, toolbox: Toolbox) -> tuple[str, ...]:
    """The tools that a text may speak of: by all the things in a tool's name, or all of a keyword of several words.

    None where no tool's own verb is among its words: things alone do not tell which act is meant, and what is done to
    them may be done by a tool that does not name them.
    """
    said, found, meant = {*map(root, lexicon.tokens(text))}, [], False
    verbs = said.union(*(_SYNONYMS.get(word, ()) for word in said))
    for tool in toolbox.tools:
        first, *things = map(root, lexicon.tokens(tool.name))
        known = tool_words(tool)
        named = bool(things) and {*things} <= said
        spoken = any(len(k) > 1 and k <= said for k in known.keywords) or (not things and first in said)
        if named or spoken:
            found.append(tool.name)
            meant |= spoken or not verbs.isdisjoint({first, *known.verbs})
    return tuple(found) if meant else ()


# ---- acts -------------------------------------------------------------------------------------


def act(words: str, toolbox: Toolbox) -> Act:
    """The tools that are called by the verb of an act and know what it is done to.

    A verb alone names the tools whose names begin with it.  Of several tools the one whose words fit best is meant.

    Raises:
        Unbound: no tool, or several that fit as well.
    """
    said = [root(word) for word in lexicon.content(words)]
    if not said or words.split()[0] in lexicon.STOP or (len(said) == 1 and {"it", "them"} & {*words.split()}):
        raise Unbound(f"no act is named by {words!r}")
    verb, things = said[0], frozenset(said[1:])
    best: list[tuple[float, str, frozenset[str]]] = []
    for tool in toolbox.tools:
        known = tool_words(tool)
        spoken = frozenset().union(*(k for k in known.keywords if k <= {verb, *things}))
        alike = _SYNONYMS.get(verb, frozenset()) & known.verbs
        if verb not in known.verbs | spoken and not alike:
            continue
        if not things:
            first = next(iter(map(root, lexicon.tokens(tool.name))), "")
            best += [(1.0, tool.name, frozenset())] if verb == first or frozenset({verb}) in known.keywords else []
            continue
        named = things & (known.name | spoken)
        if not named:
            continue
        fit = len(named) + (0.3 if verb in known.verbs | spoken else 0) + len(known.name & {*said}) / len(known.name)
        best.append((round(fit, 6), tool.name, things - named))
    if not best:
        raise Unbound(f"no tool performs {lexicon.name(words)!r}")
    top = max(fit for fit, _, _ in best)
    fits = [(name, rest) for fit, name, rest in best if fit == top]
    if len(fits) > 1 and things:
        raise Unbound(f"{lexicon.name(words)!r} may be any of the tools {', '.join(name for name, _ in fits)}")
    left = tuple(word for word in lexicon.content(words)[1:] if any(root(word) in rest for _, rest in fits))
    return Act(words, tuple(name for name, _ in fits), left)


def of_thing(thing: str, limit: Limit, toolbox: Toolbox) -> str:
    """The one tool whose name or keyword is a thing, and which has an argument that a limit on the thing measures.

    Raises:
        Unbound: no tool, or several.
    """
    said, found = roots(thing), []
    for tool in toolbox.tools if said else ():
        known = tool_words(tool)
        if said <= known.name | frozenset().union(*(k for k in known.keywords if k <= said)):
            try:
                of = literal(Leaf("", thing, limit), toolbox, (tool.name,)).predicate
            except Unbound:
                continue
            found += [tool.name] if of.tools else []
    if len(found) != 1:
        raise Unbound(f"one tool with a limit on {thing!r} was required; got {', '.join(found) or 'none'}")
    return found[0]


def done(words: str, toolbox: Toolbox) -> Predicate:
    """What happened before: the act of a tool, in the active or the passive, or by a keyword that says all of it.

    Raises:
        Unbound: no tool does it.
    """
    said = roots(words)
    spoken = [
        t for t in toolbox.tools if any(k <= said for k in tool_words(t).keywords) and said <= tool_words(t).every
    ]
    content = lexicon.content(words)
    for order in (content, (*content[-1:], *content[:-1])):
        try:
            found = act(" ".join(order), toolbox)
        except Unbound:
            continue
        if not found.rest:
            return action(found, toolbox)
    if len(spoken) == 1:
        return action(Act(words, (spoken[0].name,)), toolbox)
    raise Unbound(f"no tool performs {lexicon.name(words)!r}")


def action(found: Act, toolbox: Toolbox) -> Predicate:
    """The predicate that one of the tools of an act is called."""
    if len(found.tools) > 1:
        text = lexicon.sentence(found.words)
        return Predicate(lexicon.name(found.words), "action", text, lexicon.keywords(found.words), found.tools)
    tool = toolbox.tool(found.tools[0])
    text = tool.description or lexicon.sentence(tool.name)
    return Predicate(
        predicate_name(tool.name),
        "action",
        text,
        lexicon.keywords(f"{tool.name} {' '.join(tool.keywords)}"),
        (tool.name,),
    )


# ---- facts ------------------------------------------------------------------------------------


def literal(leaf: Leaf, toolbox: Toolbox, tools: Sequence[str] = (), around: Set[str] = frozenset()) -> Literal:
    """The predicate of a leaf: a test on a field of the state or, where one tool is meant, on an argument.

    `around` are roots that the sentence has already used up: those of its act.

    Raises:
        Unbound: no field takes up all of the words, or several do.
    """
    candidates = [one for one in _candidates(toolbox, tools) if _of_whom(leaf, one.field)]
    used = frozenset(around) | frozenset().union(*(tool_words(toolbox.tool(name)).name for name in tools))
    if leaf.limit is not None:
        return _numeric(leaf, leaf.limit, candidates, used)
    if any(tool_words(toolbox.tool(name)).verbs & _ALTERING for name in tools):
        candidates = [one for one in candidates if not one.owners]  # its arguments say what the thing will be
    used |= roots(leaf.about)
    said = roots(leaf.words)
    for words in dict.fromkeys((said, said - _HOLDING, said - _HOLDING - _STANDING)):
        fits = list(_fits(leaf, words, candidates, used)) if words else []
        best = max((score for score, _ in fits), default=0)
        chosen = [predicate for score, predicate in fits if score == best]
        if len(chosen) == 1:
            return Literal(chosen[0])
        if chosen:
            raise Unbound(f"several fields may decide {leaf.words!r}: {', '.join(p.name for p in chosen)}")
    raise Unbound(f"no field decides {lexicon.name(leaf.words) if said else leaf.words!r}")


def _of_whom(leaf: Leaf, field: Field) -> bool:
    """Whether a field may be of the persons that a leaf speaks of: of an agent, or a guest, only where it says so."""
    said = {word.removesuffix("s") for word in lexicon.tokens(f"{leaf.words} {leaf.about}") if word in lexicon.PERSONS}
    return said - _GENERIC <= {word.removesuffix("s") for word in lexicon.tokens(f"{field.name} {field.description}")}


def _candidates(toolbox: Toolbox, tools: Sequence[str]) -> Iterator[_Candidate]:
    """The fields of the state and, of one tool, its arguments, and what lies within objects."""
    owners = [("state", (), field) for field in toolbox.state]
    if len(tools) == 1:
        owners += [("call", tuple(tools), field) for field in toolbox.tool(tools[0]).arguments]
    for owner, of, outer in owners:
        for field in _below(outer):
            yield _Candidate(Path((owner, *field.name.split("."))), of, field)


def _below(field: Field, levels: int = 3) -> Iterator[Field]:
    """A field and, of an object, all that lies within it, each named by its path: `order`, `order.status`."""
    yield field
    for inner in within(field) if field.type == "object" and levels else ():
        yield from _below(replace(inner, name=f"{field.name}.{inner.name}"), levels - 1)


def _fits(
    leaf: Leaf, words: frozenset[str], candidates: Sequence[_Candidate], used: frozenset[str]
) -> Iterator[tuple[float, Predicate]]:
    """The tests that take up all of the words, and how well each does."""
    for path, owners, field in candidates:
        known = field_words(field)
        shared = words & known.every
        values = [value for value in field.values if roots(value) and roots(value) <= words]
        if field.type == "string" and len(values) == 1 and words <= known.every | roots(values[0]) | used | _HOLDING:
            name = lexicon.name(f"{predicate_name(field.name)} is {values[0]}")
            text = lexicon.sentence(f"{field.name} is {values[0]}")
            test = Comparison("==", path, Scalar(values[0]))
            yield 1 + len(shared), Predicate(name, "state", text, lexicon.keywords(leaf.words), owners, test)
        if field.type != "boolean" or words != shared or _negative(field, leaf):
            continue
        spoken = max((len(k) for k in known.keywords if k <= words | used and k & words), default=0)
        whole = known.name <= words | used and bool(known.name & words)
        if spoken or whole:
            told = lexicon.keywords(f"{field.name} {' '.join(field.keywords)}")
            text = field.description or lexicon.sentence(field.name)
            score = whole + spoken + len(words & known.name) / len(known.name) + 0.1 * len(shared)
            yield round(score, 6), Predicate(predicate_name(field.name), "state", text, told, owners, path)


def _negative(field: Field, leaf: Leaf) -> bool:
    """Whether a field is true of what is not there, or not so, and the words are not: it says the opposite of them."""
    first = re.split(r"[,;.:(]", field.description)[0]
    said = {*map(root, lexicon.tokens(leaf.words))}
    return any(word in _NEGATIVE and root(word) not in said for word in lexicon.tokens(f"{field.name} {first}"))


def predicate_name(name: str) -> str:
    """The name of a tool or field as that of a predicate."""
    plain = re.sub(r"\W+", "_", name).strip("_").lower()
    return plain if plain[:1].isalpha() else f"f_{plain}"


def _numeric(leaf: Leaf, limit: Limit, candidates: Sequence[_Candidate], used: frozenset[str]) -> Literal:
    """The test of a limit; below and above are turned into at least and at most, negated."""
    words, about = lexicon.nouns(limit.words), roots(leaf.about)
    head = [word for word in lexicon.tokens(leaf.about) if word != "aged"][-1:]  # "a user under 18", "aged 12"
    aged = not limit.unit and words <= _AGE and bool(words or about & _AGE or {*head} & lexicon.PERSONS)
    found = []
    for path, owners, field in candidates:
        score = _measures(field, words, about, used, limit, aged=aged)
        found += [(score, path, owners, field)] if score else []
    best = max((score for score, *_ in found), default=0)
    fits = [each for each in found if each[0] == best]
    if len(fits) != 1:
        raise Unbound(f"one field that {limit.op} {limit.value:g} {limit.words} measures was required; got {len(fits)}")
    ((_, path, owners, field),) = fits
    if isinstance(limit.value, int) and not abs(limit.value) < 2**63:
        raise Unbound("a number of 64 bits was required")
    op, positive = {"<": (">=", False), ">": ("<=", False)}.get(limit.op, (limit.op, True))
    relation = "at most" if op == "<=" else "at least"
    number = re.sub(r"\W", "_", f"{limit.value:g}")
    name = f"{predicate_name(field.name)}_{relation.replace(' ', '_')}_{number}"
    text = f"{(field.description or field.name).rstrip('.')}: {relation} {limit.value:g}"
    told = lexicon.keywords(f"{field.name} {' '.join(field.keywords)}")
    test = Comparison(op, Size(path) if field.type == "array" else path, Scalar(limit.value))
    return Literal(Predicate(name, "state", text, told, owners, test), positive)


def _measures(
    field: Field, words: frozenset[str], about: frozenset[str], used: frozenset[str], limit: Limit, *, aged: bool
) -> float:
    """How well a number or a list fits a limit; 0 where a word is left over or none speaks for it."""
    known = field_words(field)
    if field.type not in ("integer", "number", "array") or (field.type == "array" and (limit.unit or aged)):
        return 0
    if aged:
        return 2.0 if known.name & {"age", "aged"} else 0
    money = limit.unit in _SIGNS and bool(known.every & _MONEY) and known.every & _COINS <= _SIGNS[limit.unit]
    if (limit.unit and not money) or not words <= known.every | used | (_MONEY if money else frozenset()):
        return 0
    if not (words & known.every or (money and not words - used)):
        return 0
    spare = about - known.every - used
    own = words | about if not words - _MONEY else words
    score = len(own & known.name) + 0.4 * len(own & known.every) + money
    return score if not spare or words - used - _MONEY else 0
