"""The words of a toolbox: which tools an action phrase names, and which words it leaves over.

Everything that is domain vocabulary comes from names, keywords, descriptions and examples in
`tools.json`; only groups of everyday verbs ("change", "modify") are built in.

State phrases read as tests: "under 18" on an age, "at most five guests" on a list, "is verified" on a flag.

A phrase is grounded only if a field takes up every content word of it (the residue check); otherwise
it stays an ungrounded predicate, whose truth is unknown.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache

from wb.domain.tools import Field, Tool, Toolbox, within
from wb.logic.facts import Comparison, OneOf, Path, Scalar, Size
from wb.offline import lexicon, negation
from wb.offline.conditions import Phrase
from wb.offline.lexicon import Quantity
from wb.rules import called
from wb.rules.rule import Predicate

_GROUPS = """change modify update edit alter adjust amend revise upgrade switch
buy purchase acquire
delete remove erase
search find look browse lookup
send issue dispatch offer grant give
get obtain retrieve fetch collect gather
create add make
cancel void
show display present
begin start open
stop end finish
share disclose reveal
submit file post publish
pay transfer
select choose pick
download save
inform notify tell alert
confirm verify validate check
approve authorize
construct build make""".splitlines()
SYNONYMS = {
    lexicon.root(word): frozenset(lexicon.root(w) for w in group.split()) for group in _GROUPS for word in group.split()
}
CHANGING = frozenset(
    lexicon.root(w)
    for w in (
        "change modify update edit alter adjust amend revise upgrade switch cancel void delete remove erase"
    ).split()
)
SPEECH = frozenset(
    lexicon.root(w)
    for w in (
        "ask tell inform deny list collect explain provide say answer respond reply mention describe remind greet "
        "warn refuse"
    ).split()
)
_HOLLOW = frozenset(
    lexicon.root(w) for w in "class information info detail type kind".split()
)  # heads that add nothing: "room type"
_PROVIDES = frozenset(lexicon.root(w) for w in "provide give supply submit".split())
_GIVING = re.compile(
    r"\b(?:provide|give|supply|submit|contain|include|state|specify|indicate|show|name|identify)s?\b", re.I
)
_DETAILS = frozenset(lexicon.root(w) for w in "particulars details information".split())
_CHOSEN = frozenset(lexicon.root(w) for w in "chosen selected given provided".split())
_CHOOSES = frozenset(lexicon.root(w) for w in "choose select provide give use pick".split())  # "provides a card"
_LOOKS = frozenset(lexicon.root(w) for w in "check view inspect see".split())
_TELLS = frozenset(lexicon.root(w) for w in "get find show list read view fetch retrieve".split())
_OF = re.compile(r"\w+ of \w", re.I)
_DOES = frozenset(lexicon.root(w) for w in "accept make perform process conduct effect".split())
_MAKING = re.compile(
    r"(?:let|make|start|begin|perform|conduct|do|put|place|add|create)s?\s+(?:an?\s+)?(?P<what>[a-z]+)\b(?=\s+begin\b|\s+"
    r"(?:of|on|for|to|with|from|in)\b|\s*[.,:;]|\Z)",
    re.I,
)
_BEING = re.compile(r"\b(?:is|are|was|were|be|been|has|have|had|having|holds?|owns?)\b", re.I)
_LIST = re.compile(
    r"(?:to|at|for)?\s*(?:either\s+)?(?P<numbers>\d{1,9}(?:,\s+\d{1,9})*,?\s+or\s+\d{1,9})\s+(?P<unit>[a-z][a-z/ ]*)",
    re.I,
)
_OTHERS = frozenset(("other", "another", "others"))
_ANY_TOOL = frozenset(lexicon.root(w) for w in "tool api function action".split())


@dataclass(frozen=True, slots=True)
class Roots:
    """The roots of one tool or field: of its name, of all its text, the verbs a tool is called by, and
    the roots of each keyword, which counts where a phrase holds all of it."""

    strong: frozenset[str]
    weak: frozenset[str]
    verbs: frozenset[str] = frozenset()
    phrases: frozenset[frozenset[str]] = frozenset()
    arguments: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Action:
    """The tools that a phrase names, any of them, and the words that no tool's vocabulary holds."""

    phrase: str
    tools: tuple[str, ...]
    residue: tuple[str, ...] = ()
    score: float = 0.0


def tools_for(phrase: str, toolbox: Toolbox, scope: Sequence[str] = ()) -> Action:
    """The tools that a verb phrase names; none where no tool has both its verb and its object.

    `scope` (titles) only breaks ties.  The residue are content words of the phrase that stand in no
    name, keyword, description or example of the tools: they narrow the action.
    """
    words = lexicon.content(re.sub(r"\Amake sure\b", "ensure", phrase, flags=re.I))  # which makes nothing
    if not words or not toolbox.tools:
        return Action(phrase, ())
    roots = [lexicon.root(w) for w in words]
    if (
        roots[0] in ("cal", "mak", "us", "tak", "call", "make", "use", "take", "perform", "invok")
        and set(roots[1:]) & _ANY_TOOL
        and re.search(r"\b(?:an?|any|all|every|each|no|other|another|one)\b|s\Z", phrase, re.I)
        and len(set(roots[1:])) <= 2
    ):
        return Action(phrase, tuple(t.name for t in toolbox.tools), (), 1.0)
    index, rarity = _index(toolbox), _rarity(toolbox)
    around = lexicon.roots(" ".join(scope))
    best: list[tuple[float, Tool]] = []
    if len(roots) == 1 and (called := tuple(t.name for t in toolbox.tools if _opens(t) == roots[0])):
        return Action(phrase, called, (), 1.0)  # a verb alone is any tool that is called by it
    for tool in toolbox.tools:
        score = _score(roots, index[tool.name], rarity, around)
        if score > 0:
            best.append((round(score, 3), tool))
    if not best:
        return Action(phrase, ())
    top = max(score for score, _ in best)
    chosen = [tool for score, tool in best if score == top]
    known = frozenset().union(*(index[t.name].strong | index[t.name].weak for t in chosen))
    verb_group = SYNONYMS.get(roots[0], frozenset((roots[0],)))
    known |= _HOLLOW
    left = tuple(
        w for i, (w, r) in enumerate(zip(words, roots, strict=True)) if r not in known and not (i == 0 and verb_group)
    )
    return Action(phrase, tuple(t.name for t in chosen), left, top)


def _opens(tool: Tool) -> str:
    """The root of the word that a tool's name begins with."""
    return lexicon.root(lexicon.tokens(tool.name)[0])


def looked_up(phrase: str, toolbox: Toolbox) -> tuple[str, ...]:
    """The one tool that tells what a phrase says to check ("check its status": get_details, "Get the status …"); none
    where several or none do."""
    verb, *objects = [lexicon.root(w) for w in lexicon.content(phrase)] or [""]
    if verb not in _LOOKS or not objects:
        return ()
    found = tuple(
        tool.name
        for tool in toolbox.tools
        if _opens(tool) in _TELLS and {*objects} <= lexicon.roots(re.split(r"[.,;(]", tool.description)[0])
    )
    return found if len(found) == 1 else ()


def changes(names: Sequence[str]) -> bool:
    """Whether a tool changes a thing that is there: its arguments then say what the thing will be, not what it is."""
    return any(lexicon.root(lexicon.tokens(name)[0]) in CHANGING for name in names)


def tools_called(phrase: str, toolbox: Toolbox) -> Action:
    """The one tool whose name begins with the verb of a title, whatever its object is called."""
    words = lexicon.content(phrase)
    found = tuple(
        t.name for t in toolbox.tools if words and lexicon.root(lexicon.tokens(t.name)[0]) == lexicon.root(words[0])
    )
    return Action(phrase, found if len(found) == 1 else ())


def tools_of_noun(text: str, toolbox: Toolbox) -> tuple[str, ...]:
    """The one tool whose name begins with the verb of a title's noun, and which knows all of its words: "Repair of
    boats", repair_boat; none of another title."""
    if not _OF.match(text):
        return ()
    verb, *others = [lexicon.root(w) for w in lexicon.content(text)] or [""]
    found = [
        t.name for t in toolbox.tools if others and _opens(t) == verb and {*others} <= tool_words(toolbox, [t.name])
    ]
    return tuple(found) if len(found) == 1 else ()


def tool_by_noun(phrase: str, toolbox: Toolbox) -> Action:
    """The one tool that is called by a noun where the phrase has the verb, or the other way round: "accept
    repairs", repair_boat; "bury a corpse", "Let a burial begin".  No word of the phrase is left over."""
    verb, *others = [lexicon.root(w) for w in lexicon.content(phrase)] or [""]
    found = []
    for tool in toolbox.tools if verb else ():
        known = tool_words(toolbox, (tool.name,))
        done = verb in _DOES and _opens(tool) in others
        if {*others} <= known and (done or verb == _makes(tool)):
            found.append(tool.name)
    return Action(phrase, tuple(found) if len(found) == 1 else ())


def _makes(tool: Tool) -> str:
    """The root of what a tool makes or lets begin, by its description; empty for another one."""
    found = _MAKING.match(tool.description)
    return lexicon.root(found["what"].lower()) if found else ""


def names_head(phrase: str, names: Sequence[str], toolbox: Toolbox) -> bool:
    """Whether the last content word of a phrase is in the tools' names or a keyword, not only in their arguments."""
    words = lexicon.content(phrase)
    index = _index(toolbox)
    last = lexicon.root(words[-1])
    return len(words) == 1 or any(last in index[n].strong or any(last in k for k in index[n].phrases) for n in names)


def tools_about(noun: str, toolbox: Toolbox) -> tuple[str, ...]:
    """The tools named after the head of a noun phrase, or with it as a keyword."""
    roots = [lexicon.root(w) for w in lexicon.content(noun)]
    if not roots:
        return ()
    index = _index(toolbox)
    for wanted in (set(roots), {roots[-1]}):
        found = tuple(t.name for t in toolbox.tools if wanted <= index[t.name].strong)
        if found:
            return found
    return tuple(t.name for t in toolbox.tools if frozenset(roots) in index[t.name].phrases)


def knows(noun: str, name: str, toolbox: Toolbox) -> bool:
    """Whether a tool's words hold all of a noun phrase, and its name or a keyword the head as it stands: an objector is
    no objection."""
    words = lexicon.content(noun)
    tool = toolbox.tool(name)
    called = {lexicon.lemma(word) for word in lexicon.tokens(f"{name} {' '.join(tool.keywords)}")}
    return {lexicon.root(w) for w in words} <= tool_words(toolbox, (name,)) and lexicon.lemma(words[-1]) in called


def tool_words(toolbox: Toolbox, names: Sequence[str]) -> frozenset[str]:
    """Every root in the vocabulary of these tools."""
    index = _index(toolbox)
    return frozenset().union(*(index[n].strong | index[n].weak for n in names)) if names else frozenset()


@lru_cache(maxsize=4_000)
def field_words(field: Field) -> Roots:
    """The roots of a field: of its name, and of its description and keywords."""
    name = frozenset(lexicon.root(w) for w in lexicon.tokens(field.name))
    spoken = frozenset(lexicon.roots(k) for k in field.keywords) - {frozenset()}
    told = f"{field.description} {' '.join(field.keywords)}"
    told += " ".join(f" {word[:-2]}" for word in lexicon.tokens(told) if word.endswith("ly"))  # explicitly: explicit
    return Roots(name, lexicon.roots(told), frozenset(), spoken)


def _score(roots: list[str], words: Roots, rarity: dict[str, float], around: frozenset[str]) -> float:
    """How well a tool fits a verb and its object; 0 where one of the two is not in its vocabulary."""
    verb, objects = roots[0], set(roots[1:])
    group = SYNONYMS.get(verb, frozenset((verb,)))
    if verb not in words.weak and verb not in words.strong and not group & words.verbs:
        return 0.0
    said = frozenset(roots)
    spoken = {root for keyword in words.phrases if keyword <= said for root in keyword}
    exact = verb in words.verbs or verb in spoken
    if not exact and not group & words.verbs:
        return 0.0
    named = objects & words.strong
    given = objects & words.arguments
    hits = (
        0.5 * len(given - named)
        + sum(rarity.get(r, 1.0) for r in named)
        + 0.8 * len((objects & spoken) - named)
        + 0.2 * len(objects & words.weak - named - spoken)
    )
    if not objects and not exact:
        return 0.0  # a verb alone is no other verb's act
    if objects and not (
        named or given or objects & spoken or (verb in words.verbs and objects & words.weak and len(words.strong) == 1)
    ):
        return 0.0
    covered = len(words.strong & set(roots)) / (len(words.strong) or 1)
    return 1.0 + hits + (0.3 if exact else 0.0) + 0.5 * covered + 0.05 * len(around & words.strong)


class _Same:
    """A toolbox compared by identity: hashing one with thousands of keywords at each call would be slow."""

    __slots__ = ("toolbox",)

    def __init__(self, toolbox: Toolbox) -> None:
        self.toolbox = toolbox

    def __hash__(self) -> int:
        return id(self.toolbox)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.toolbox is self.toolbox


def _index(toolbox: Toolbox) -> dict[str, Roots]:
    return _indexed(_Same(toolbox))


def _rarity(toolbox: Toolbox) -> dict[str, float]:
    return _rarities(_Same(toolbox))


@lru_cache(maxsize=16)
def _indexed(same: _Same) -> dict[str, Roots]:
    return {tool.name: _tool_words(tool) for tool in same.toolbox.tools}


def _tool_words(tool: Tool) -> Roots:
    name = [lexicon.root(w) for w in lexicon.tokens(tool.name)]
    spoken = frozenset(lexicon.roots(k) for k in tool.keywords)
    described = lexicon.roots(
        " ".join((tool.description, *tool.examples, *tool.keywords, *(a.name for a in tool.arguments)))
    )
    opening = lexicon.content(tool.description)[:1]
    return Roots(
        frozenset(name),
        described,
        frozenset((name[0], *(lexicon.root(w) for w in opening))),
        spoken - {frozenset()},
        lexicon.roots(" ".join(a.name for a in tool.arguments)),
    )


@lru_cache(maxsize=16)
def _rarities(same: _Same) -> dict[str, float]:
    """How telling a root is: the fewer tools have it in their names, the more."""
    index = _indexed(same)
    total = len(index)
    counts: dict[str, int] = {}
    for words in index.values():
        for root in words.strong:
            counts[root] = counts.get(root, 0) + 1
    return {root: 0.5 + math.log(1 + total / count) / math.log(1 + total) for root, count in counts.items()}


_MONEY = frozenset(
    lexicon.root(w) for w in "price amount total cost fee sum payment value usd dollar eur euro gbp pound money".split()
)
_AGE = frozenset(lexicon.root(w) for w in "age old year aged".split())
_IMPLIED = frozenset(lexicon.root(w) for w in "year old older younger age aged per total".split())
_HAVING = frozenset(lexicon.root(w) for w in "hold own possess have get remain become".split())
_HOLDING = _HAVING | {lexicon.root(w) for w in "active valid currently".split()}


@dataclass(frozen=True, slots=True)
class Literal:
    """A predicate, and whether it is meant negated."""

    predicate: Predicate
    positive: bool = True


def literal(
    phrase: Phrase, toolbox: Toolbox, tools: Sequence[str] = (), around: frozenset[str] = frozenset()
) -> Literal:
    """The predicate of a phrase: a test on a state field, or on an argument where one tool is meant.

    `around` are roots that the sentence has already used up (its action, its titles).  What a thing *is*
    is never read off the arguments of a tool that changes it; a limit on a number is.
    """
    if len(tools) == 1 and (argument := given(phrase.text, toolbox.tool(tools[0]))):
        return Literal(argument)
    quantity = lexicon.find(phrase.text)
    candidates = _said(phrase, _candidates(toolbox, tools), toolbox, tools, around)
    if quantity is not None and quantity.value is not None:
        return _numeric(phrase, quantity, candidates, around)
    if listed := _listed(phrase, candidates):
        return Literal(listed)
    words = [lexicon.root(w) for w in lexicon.content(phrase.text)]
    if changes(tools):
        candidates = [(path, field) for path, field in candidates if path.startswith("state.")]
    signs = negation.signs(phrase.text)
    found = _enumerated(phrase, candidates, around)
    says = _says(phrase.text, around)
    for left in (_HAVING, _HOLDING):  # "a valid card" is a field of that name before it is any card
        found = found or _flag([w for w in words if w not in left] or words, signs, candidates, around, says)
    if found is not None:
        return found
    opposite = negation.opposite(phrase.text)
    if opposite and (
        found := _flag(
            [lexicon.root(w) for w in lexicon.content(opposite)], negation.signs(opposite), candidates, around
        )
    ):
        return replace(found, positive=not found.positive)
    return Literal(ungrounded(phrase.text))


def given(text: str, tool: Tool) -> Predicate | None:
    """That an argument of a tool is no empty text, of a phrase that says to provide what it is, or that what the tool
    makes contains it, all words of which are the argument's: "provide a parcel number", "the parcel label must contain
    the name"; None where no argument, or several, are that."""
    found = _GIVING.search(text)
    if not found or not lexicon.roots(text[: found.start()]) <= _tool_words(tool).strong | _tool_words(tool).weak:
        return None
    if not (lexicon.content(text[: found.start()]) or lexicon.root(found.group().lower()) in _PROVIDES):
        return None  # nobody is asked to provide it
    words = {r for r in map(lexicon.root, lexicon.content(text[found.end() :])) if r not in _DETAILS}
    fields = []
    for field in tool.arguments if words else ():
        known = field_words(field)
        if field.type == "string" and not field.values and words <= known.strong | known.weak:
            fields += [field] if lexicon.roots(field.name) - {"id"} <= words | lexicon.roots(text) else []
    if len(fields) != 1:
        return None
    (field,) = fields
    return Predicate(
        f"{field_name(field)}_given",
        "state",
        sentence(text),
        keywords(text),
        tools=(tool.name,),
        test=Comparison("!=", Path(("call", field.name)), Scalar("")),
    )


def ungrounded(text: str) -> Predicate:
    """A state predicate that no field decides."""
    return Predicate(lexicon.name(text), "state", sentence(text), keywords(text))


def _candidates(toolbox: Toolbox, tools: Sequence[str]) -> list[tuple[str, Field]]:
    """The fields of the state and, of one tool, its arguments, each with its path, and what lies within objects."""
    found = [("state", field) for field in toolbox.state]
    found += [(tools[0], field) for field in toolbox.tool(tools[0]).arguments] if len(tools) == 1 else []
    return [(f"{owner}.{field.name}", field) for owner, outer in found for field in _below(outer)]


def _below(field: Field, levels: int = 3) -> Iterator[Field]:
    """A field and, of an object, all that lies within it, each named by its path: `order`, `order.status`."""
    yield field
    for inner in within(field) if field.type == "object" and levels else ():
        yield from _below(replace(inner, name=f"{field.name}.{inner.name}"), levels - 1)


def _said(
    phrase: Phrase,
    candidates: list[tuple[str, Field]],
    toolbox: Toolbox,
    tools: Sequence[str],
    around: frozenset[str],
) -> list[tuple[str, Field]]:
    """The candidates without those that lie within an object that nobody speaks of: the status of an order is not that
    of a payment.  A field whose whole description is said is spoken of, and one that words of its own alone name
    (`called.alone`).  An argument's name alone speaks of nothing, the name of the tool does."""
    index = _index(toolbox)
    given = frozenset().union(*(index[name].arguments - index[name].strong for name in tools))
    said = lexicon.roots(f"{phrase.text} {phrase.about}") | (around - given)
    return [
        (path, field)
        for path, field in candidates
        if lexicon.roots(field.name.rpartition(".")[0]) <= said
        or (len(told := lexicon.roots(field.description)) > 1 and told <= said)
        or _alone(path, phrase, toolbox)
    ]


def _alone(path: str, phrase: Phrase, toolbox: Toolbox) -> bool:
    """Whether a phrase names the field at a path within others by words that no other field has."""
    read, owners = _place(path)
    those = called.declared(read.names, owners, toolbox) if len(read.names) > 2 else ()
    return any(called.alone(place, f"{phrase.about} {phrase.text}", toolbox) for place in those)


def _says(text: str, around: Set[str]) -> bool:
    """Whether a phrase says something of a thing: it has a verb, or words that are new, and not one noun alone."""
    words = [w for w in lexicon.tokens(text) if w not in lexicon.DETERMINERS | _OTHERS | {"or", "and"}]
    new = {lexicon.root(w) for w in words if w not in lexicon.STOP} - around
    return len(words) > 1 and bool(new or _BEING.search(text))


def _place(path: str) -> tuple[Path, tuple[str, ...]]:
    """A field as facts read it, and the tools whose calls it is an argument of."""
    owner, *names = path.split(".")
    return (Path(("state", *names)), ()) if owner == "state" else (Path(("call", *names)), (owner,))


_DESCRIBED = 0.1  # what words of its description alone make a field fit better than another one


def _flag(
    words: list[str],
    signs: frozenset[str],
    candidates: list[tuple[str, Field]],
    around: frozenset[str],
    says: bool = True,
) -> Literal | None:
    """A boolean field whose text takes up all the words, and whose name or a keyword they hold: of a phrase that says
    something of a thing half of the name, of a thing alone all of it; none where two fit as well.

    A field that is true of what is not there ("no_card") decides a positive phrase negated; one with
    other signs than the phrase ("consent withdrawn", "opted out") does not decide it.
    """
    found: list[tuple[float, str, Field, bool]] = []
    for path, field in candidates:
        if field.type != "boolean" or not words:
            continue
        known = field_words(field)
        if any(w not in known.strong and w not in known.weak and w not in around for w in words):
            continue
        denied = _signs(field)
        absent = bool(denied) and denied <= negation.ABSENCE and not signs and negation.denied(field.name) <= {*words}
        score = _fit(set(words), known)
        enough = score >= 0.5 and (says or _named_in_full(field, {*words} | around))
        if enough and (denied == signs or absent):
            found.append((score, path, field, not absent))
    best = max(found, key=lambda one: one[0], default=None)
    rivals = [one for one in found if one is not best and best is not None and best[0] - one[0] <= _DESCRIBED]
    if best is None or (rivals and not _named_in_full(best[2], {*words} | around)):
        return None
    _, path, field, positive = best
    read, owners = _place(path)
    return Literal(
        Predicate(
            field_name(field),
            "state",
            field.description or sentence(field.name),
            keywords(f"{field.name} {' '.join(field.keywords)}"),
            tools=owners,
            test=read,
        ),
        positive,
    )


def _named_in_full(field: Field, said: Set[str]) -> bool:
    """Whether all words of a field's name, or of a keyword, are said."""
    return lexicon.roots(field.name) <= said or any(keyword <= said for keyword in field_words(field).phrases)


def _signs(field: Field) -> frozenset[str]:
    """The signs of a field: of its name and of the first clause of its description."""
    first = re.split(r"[,;.(]|\b(?:and|or|that|which|who)\b", field.description)[0]
    return negation.signs(f"{field.name} {first}")


def _fit(words: set[str], known: Roots) -> float:
    """How much of a field the words name: the part of its name, or 1 and more for a whole keyword."""
    spoken = max((len(k) for k in known.phrases if k <= words), default=0)
    named = len(words & known.strong) / len(known.strong)
    return named + spoken + _DESCRIBED * len(words & known.weak) / len(words)


def field_name(field: Field) -> str:
    """The name of a field as that of a predicate."""
    plain = re.sub(r"\W+", "_", field.name).strip("_").lower()
    return plain if plain[:1].isalpha() else f"f_{plain}"


def _enumerated(phrase: Phrase, candidates: list[tuple[str, Field]], around: frozenset[str]) -> Literal | None:
    """A field one or more of whose values the phrase names; of several the one whose own name is said, else none."""
    about = lexicon.roots(phrase.about)
    found: list[tuple[int, Literal]] = []
    for path, field in candidates:
        words = {*map(lexicon.root, lexicon.content(phrase.text)), *about}
        if one := _valued(phrase, path, field, around):
            found.append((len(field_words(field).strong & (words | around)), one))
    best = max((score for score, _ in found), default=0)
    fits = [one for score, one in found if score == best]
    return fits[0] if len(fits) == 1 else None


def _valued(phrase: Phrase, path: str, field: Field, around: frozenset[str]) -> Literal | None:
    """That a field has one of its values that the phrase names, or, of one that is yes or no, that it is yes."""
    text = " ".join(lexicon.tokens(phrase.text.replace("/", " ")))
    named, rest = [], f" {text} "
    for value in sorted(field.values, key=len, reverse=True):
        spelled = " ".join(lexicon.tokens(value))
        if len(spelled) > 1 and spelled not in ("yes", "no") and f" {spelled} " in rest:
            named.append(value)
            rest = rest.replace(f" {spelled} ", " ")
    known = field_words(field)
    light = _HOLDING | (_CHOOSES if (known.strong | known.weak) & _CHOSEN else frozenset())
    said = known.strong | known.weak | around | light
    if named and not [r for r in map(lexicon.root, lexicon.content(rest)) if r not in said]:
        options = tuple(Scalar(v) for v in field.values if v in named)
        read, owners = _place(path)
        test = Comparison("==", read, options[0]) if len(options) == 1 else OneOf(read, options)
        name = f"{field_name(field)} is {' or '.join(v for v in field.values if v in named)}"
    elif {"yes", "no"} == set(field.values) and not named:
        words = [r for r in map(lexicon.root, lexicon.content(text)) if r not in _HOLDING]
        if not words or not all(w in known.strong | around for w in words) or not {*words} & known.strong:
            return None
        read, owners = _place(path)
        test, name = Comparison("==", read, Scalar("yes")), f"{field_name(field)} is yes"
    else:
        return None
    return Literal(
        Predicate(lexicon.name(name), "state", sentence(phrase.text), keywords(phrase.text), tools=owners, test=test)
    )


def _listed(phrase: Phrase, candidates: list[tuple[str, Field]]) -> Predicate | None:
    """That a number is one of those that a phrase lists and nothing else, "30, 50 or 80 km/h": of the one field whose
    text has the words of their unit; None where none, or several, have."""
    found = _LIST.fullmatch(phrase.text.strip())
    unit = lexicon.roots(found["unit"]) if found else frozenset()
    fits = []
    for path, field in candidates if unit else ():
        known = field_words(field)
        fits += [(path, field)] if field.type in ("integer", "number") and unit <= known.strong | known.weak else []
    if len(fits) != 1:
        return None
    ((path, field),) = fits
    read, owners = _place(path)
    numbers = tuple(dict.fromkeys(lexicon.number(one) for one in re.findall(r"\d+", found["numbers"])))
    name = f"{field_name(field)}_is_{'_or_'.join(map(str, numbers))}"
    told = (sentence(phrase.text), keywords(phrase.text))
    return Predicate(name, "state", *told, tools=owners, test=OneOf(read, tuple(map(Scalar, numbers))))


def _numeric(
    phrase: Phrase, quantity: Quantity, candidates: list[tuple[str, Field]], around: frozenset[str]
) -> Literal:
    """The test that a comparison stands for; negated forms are turned into at least / at most."""
    unit = "" if quantity.unit in ("$", "%") else quantity.unit
    rest = f"{phrase.text[: quantity.start]} {phrase.text[quantity.end :]} {unit}"
    words = {lexicon.root(w) for w in lexicon.content(rest)}
    person = quantity.person or (words and words <= _IMPLIED and not phrase.about)
    wanted = (words - _IMPLIED) | (_AGE if person else frozenset())
    about = lexicon.roots(phrase.about)
    best: tuple[float, str, Field] | None = None
    for path, field in candidates:
        score = _numeric_score(field, wanted, about, around, quantity, person)
        if score > 0 and abs(quantity.value) < 2**63 and (best is None or score > best[0]):
            best = (score, path, field)
    op, positive = {"<": (">=", False), ">": ("<=", False), "<=": ("<=", True), ">=": (">=", True), "==": ("==", True)}[
        quantity.op
    ]
    relation = {"<=": "at_most", ">=": "at_least", "==": "exactly"}[op]
    number = f"{quantity.value:g}".replace(".", "_") if quantity.value < 1e6 else str(quantity.value)
    if best is None:
        unit = {"$": " usd", "%": " percent"}.get(quantity.unit, "")
        noun = (
            "age" if person else " ".join(lexicon.content(rest)) or " ".join(lexicon.content(phrase.about)) or "value"
        )
        name = lexicon.name(f"{noun} {relation.replace('_', ' ')} {number}{unit}", most=14)
        return Literal(
            Predicate(
                name,
                "state",
                sentence(f"{phrase.about} {phrase.text}".strip()),
                keywords(f"{phrase.about} {phrase.text}"),
            ),
            positive,
        )
    _, path, field = best
    read, owners = _place(path)
    measured = Size(read) if field.type == "array" else read
    name = f"{field_name(field)}_{relation}_{number}"
    description = f"{(field.description or field.name).rstrip('.')}: {relation.replace('_', ' ')} {quantity.value:g}"
    return Literal(
        Predicate(
            name,
            "state",
            description,
            keywords(f"{field.name} {' '.join(field.keywords)}"),
            tools=owners,
            test=Comparison(op, measured, Scalar(quantity.value)),
        ),
        positive,
    )


def _numeric_score(
    field: Field,
    wanted: frozenset[str] | set[str],
    about: frozenset[str],
    around: frozenset[str],
    quantity: Quantity,
    person: bool,
) -> float:
    """How well a number or a list fits; 0 where a word is left over or no word speaks for it."""
    if field.type not in ("integer", "number", "array") or (field.type == "array" and (quantity.unit or person)):
        return 0.0
    known = field_words(field)
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
    return tuple(dict.fromkeys(lexicon.lemma(w) for w in lexicon.content(text)))[:8]
