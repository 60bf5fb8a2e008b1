"""The words of a toolbox: which tools an action phrase names, and which words it leaves over.

Everything that is domain vocabulary comes from names, keywords, descriptions and examples in
`tools.json`; only groups of everyday verbs ("change", "modify") are built in.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from wb import phrases
from wb.tool import Field, Tool, Toolbox

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
approve authorize""".splitlines()
SYNONYMS = {phrases.root(word): frozenset(phrases.root(w) for w in group.split()) for group in _GROUPS for word in group.split()}
CHANGING = frozenset(phrases.root(w) for w in "change modify update edit alter adjust amend revise upgrade switch cancel void delete remove erase".split())
SPEECH = frozenset(phrases.root(w) for w in "ask tell inform deny list collect explain provide say answer respond reply mention describe remind greet warn refuse".split())
_HOLLOW = frozenset(phrases.root(w) for w in "class information info detail type kind".split())  # heads that add nothing: "room type"
_ANY_TOOL = frozenset(phrases.root(w) for w in "tool api function action".split())


@dataclass(frozen=True, slots=True)
class Words:
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
    words = phrases.content(phrase)
    if not words or not toolbox.tools:
        return Action(phrase, ())
    roots = [phrases.root(w) for w in words]
    if roots[0] in ("cal", "mak", "us", "tak", "call", "make", "use", "take", "perform", "invok") and set(roots[1:]) & _ANY_TOOL and len(set(roots[1:])) <= 2:
        return Action(phrase, tuple(t.name for t in toolbox.tools), (), 1.0)
    index, rarity = _index(toolbox), _rarity(toolbox)
    around = phrases.roots(" ".join(scope))
    best: list[tuple[float, Tool]] = []
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
    left = tuple(w for i, (w, r) in enumerate(zip(words, roots, strict=True)) if r not in known and not (i == 0 and verb_group))
    return Action(phrase, tuple(t.name for t in chosen), left, top)


def changes(names: Sequence[str]) -> bool:
    """Whether a tool changes a thing that is there: its arguments then say what the thing will be, not what it is."""
    return any(phrases.root(phrases.tokens(name)[0]) in CHANGING for name in names)


def tools_called(phrase: str, toolbox: Toolbox) -> Action:
    """The one tool whose name begins with the verb of a title, whatever its object is called."""
    words = phrases.content(phrase)
    found = tuple(t.name for t in toolbox.tools if words and phrases.root(phrases.tokens(t.name)[0]) == phrases.root(words[0]))
    return Action(phrase, found if len(found) == 1 else ())


def names_head(phrase: str, names: Sequence[str], toolbox: Toolbox) -> bool:
    """Whether the last content word of a phrase is in the tools' names or a keyword, not only in their arguments."""
    words = phrases.content(phrase)
    index = _index(toolbox)
    last = phrases.root(words[-1])
    return len(words) == 1 or any(last in index[n].strong or any(last in k for k in index[n].phrases) for n in names)


def tools_about(noun: str, toolbox: Toolbox) -> tuple[str, ...]:
    """The tools named after the head of a noun phrase, or with it as a keyword."""
    roots = [phrases.root(w) for w in phrases.content(noun)]
    if not roots:
        return ()
    index = _index(toolbox)
    for wanted in (set(roots), {roots[-1]}):
        found = tuple(t.name for t in toolbox.tools if wanted <= index[t.name].strong)
        if found:
            return found
    return tuple(t.name for t in toolbox.tools if frozenset(roots) in index[t.name].phrases)


def tool_words(toolbox: Toolbox, names: Sequence[str]) -> frozenset[str]:
    """Every root in the vocabulary of these tools."""
    index = _index(toolbox)
    return frozenset().union(*(index[n].strong | index[n].weak for n in names)) if names else frozenset()


@lru_cache(maxsize=4_000)
def field_words(field: Field) -> Words:
    """The roots of a field: of its name, and of its description and keywords."""
    name = frozenset(phrases.root(w) for w in phrases.tokens(field.name))
    spoken = frozenset(phrases.roots(k) for k in field.keywords) - {frozenset()}
    return Words(name, phrases.roots(f"{field.description} {' '.join(field.keywords)}"), frozenset(), spoken)


def _score(roots: list[str], words: Words, rarity: dict[str, float], around: frozenset[str]) -> float:
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
    hits = 0.5 * len(given - named) + sum(rarity.get(r, 1.0) for r in named) + 0.8 * len((objects & spoken) - named) + 0.2 * len(objects & words.weak - named - spoken)
    if objects and not (named or given or objects & spoken or (verb in words.verbs and objects & words.weak and len(words.strong) == 1)):
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


def _index(toolbox: Toolbox) -> dict[str, Words]:
    return _indexed(_Same(toolbox))


def _rarity(toolbox: Toolbox) -> dict[str, float]:
    return _rarities(_Same(toolbox))


@lru_cache(maxsize=16)
def _indexed(same: _Same) -> dict[str, Words]:
    return {tool.name: _tool_words(tool) for tool in same.toolbox.tools}


def _tool_words(tool: Tool) -> Words:
    name = [phrases.root(w) for w in phrases.tokens(tool.name)]
    spoken = frozenset(phrases.roots(k) for k in tool.keywords)
    described = phrases.roots(f"{tool.description} {' '.join(tool.examples)} {' '.join(tool.keywords)} {' '.join(a.name for a in tool.arguments)}")
    opening = phrases.content(tool.description)[:1]
    return Words(frozenset(name), described, frozenset((name[0], *(phrases.root(w) for w in opening))), spoken - {frozenset()},
                 phrases.roots(" ".join(a.name for a in tool.arguments)))


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
