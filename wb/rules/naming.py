"""Which tools a text names: by an act and the thing that it is done to, as people name them.

A tool is known by its *acts* (the verb of its name, those that its description begins with) and its *things* (the head
of its name, for English compounds end in their head; the object of its description).  A sentence names a tool by an act
with a thing; a title also by an act alone, or, without any act, by the thing.  The lists here are of general English;
what a domain calls its acts and things comes from its tools.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from wb.domain.tools import Field, Tool, Toolbox
from wb.rules.words import plain, stem

_ACTS = tuple(
    (frozenset(map(stem, wide.split())), frozenset(map(stem, narrow.split())))
    for wide, narrow in (  # whoever does one of the first does any of the second too; these mean each other alone
        ("make create place open register start add", ""),
        ("change update modify edit alter amend adjust", "correct replace swap exchange move switch upgrade downgrade"),
        ("", "replace swap exchange switch"),
        ("cancel delete remove revoke terminate void annul", ""),
        ("send give grant issue mail deliver", ""),
        ("transfer hand forward escalate", ""),
        ("return refund reimburse", ""),
        ("get show list search find look view read fetch retrieve query display", ""),
    )
)
_READING = _ACTS[-1][0] | frozenset(map(stem, "calculate compute think check verify count".split()))
_PARTICLES = (
    (re.compile(r"\bcall(?=(?:s|ed|ing)? (?:\w+ ){0,3}off\b)", re.I), "cancel"),
    (re.compile(r"\b(?:take|taken|takes|took|taking)(?= (?:\w+ ){0,3}over\b)", re.I), "transfer"),
    (re.compile(r"\bset(?:s|ting)? up\b", re.I), "create"),
    (re.compile(r"\b(?:send|give)s? back\b", re.I), "return"),
)
_DETERMINERS = frozenset(
    "a an the all any each every one two this that these those no some another whole new old existing".split()
)
_PREPOSITIONS = frozenset(
    """of for to with from in on at by into onto over under about through after before and that which who so as where
    when whose while off up out""".split()
)
_EMPTY = frozenset(stem(w) for w in "id number total amount type list detail details info information it".split())
_LESS = frozenset(
    """a an the all any each every one this that these those no some of for to with from in on at by into and or our
    your their its his her my we you how what when""".split()
)
_AUXILIARIES = frozenset("is are be can may must shall should will cannot to".split())
_LIGHT = frozenset(stem(w) for w in "make do take have give get set".split())
_SUBORDINATE = re.compile(
    r"(?<!\bsure )\b(?:that|which|who|whose|whom|because|whether|where|although)\b[^,;.:]*|"
    r"\b(?:if|unless|until|when|while|once)\b(?![^,;.:]*\b(?:wants?|wish(?:es)?|asks?|requests?|likes?)\b)[^,;.:]*|"
    r"\b(?:of|after|since|from) being \w+",
    re.I,
)
_TOOLS = re.compile(r"\b(?:tool|function|action)s?\b", re.I)
_LEADING = re.compile(
    r"\A\W*(?:(?:if|when|once|after|before|in|for|on|at|unless)\b[^,]*,\s*)?(?:please |then |always )?", re.I
)
_NUMBERING = re.compile(r"\A\W*(?:\d[\d.]*|[a-z]\))[.):]*\s+", re.I)


@dataclass(frozen=True, slots=True)
class Known:
    """What one tool is known by, in stems.

    `phrases` are the full names of its things, of two words or more; `words` those of its name and what it is for,
    `values` those that its arguments are told with, `told` all of them.  `changes`: whether it changes anything; where
    nobody says, its verb does.
    """

    tool: str
    changes: bool
    acts: frozenset[str]
    things: frozenset[str]
    phrases: tuple[tuple[str, ...], ...]
    words: frozenset[str]
    values: tuple[frozenset[str], ...]
    told: frozenset[str]


class Naming:
    """What texts name of the tools of a toolbox."""

    def __init__(self, toolbox: Toolbox) -> None:
        own = {tool.name: _acts(tool) for tool in toolbox.tools}
        taken = frozenset(stem(_parts(tool.name)[0]) for tool in toolbox.tools)
        self.known = tuple(_known(tool, _widened(own[tool.name], taken)) for tool in toolbox.tools)

    def titled(self, title: str) -> frozenset[str]:
        """The tools that a title names: by an act with nothing that the tool does not know, or, where the tool changes
        something, by its thing alone."""
        text = _NUMBERING.sub("", _joined(title))
        verbs, said = _verbs(text), _content(text)
        active = verbs & frozenset().union(*(one.acts for one in self.known), *(w | n for w, n in _ACTS))
        found = set()
        for one in self.known:
            acts = verbs & one.acts
            by_act = acts and said - acts <= one.words and (acts - _LIGHT or said - acts)
            by_thing = one.changes and (_phrase(text, one) or (said & one.things and said <= one.words))
            if by_act or (by_thing and not active):
                found.add(one.tool)
        return frozenset(found)

    def knowing(self, label: str, among: Iterable[str]) -> frozenset[str]:
        """Of the tools, those that at least half of a label's words are told of."""
        said = _content(_joined(label))
        return frozenset(
            one.tool for one in self.known if one.tool in set(among) and said and 2 * len(said & one.told) >= len(said)
        )

    def taking(self, thing: str) -> frozenset[str]:
        """The tools one of whose arguments is told with all words of a thing."""
        said = _content(_joined(thing))
        return frozenset(one.tool for one in self.known if said and any(said <= value for value in one.values))

    def named(self, sentence: str) -> frozenset[str]:
        """The tools that a sentence names outside of what it says of other things: by an act with a thing."""
        text = _SUBORDINATE.sub(" ", _joined(sentence))
        acts, said = _verbs(text), _content(text)
        speaks = bool(_TOOLS.search(text))
        return frozenset(
            one.tool
            for one in self.known
            if acts & one.acts and (said & one.things or (speaks and (said & one.words) - one.acts))
        )

    def changing(self, sentence: str = "") -> frozenset[str]:
        """The tools that change something; of a sentence that lists acts in brackets, those that do one of them."""
        listed = _verbs(" ".join(re.findall(r"\(([^)]*)\)", sentence)))
        every = frozenset(one.tool for one in self.known if one.changes)
        return frozenset(one.tool for one in self.known if one.tool in every and one.acts & listed) or every

    def handling(self, thing: str) -> frozenset[str]:
        """The tools that change something and whose name or description has a thing."""
        return frozenset(one.tool for one in self.known if one.changes and stem(thing.lower()) in one.words)

    def ordered(self, sentence: str) -> frozenset[str]:
        """The tools that a sentence in the imperative orders to use."""
        text = _joined(sentence)
        rest = text[m.end() :] if (m := _LEADING.match(text)) else text
        found = re.match(r"(?![a-z]+(?:ing|ed)\b)[a-z]+", rest, re.I)
        first = stem(found[0].lower()) if found else ""
        said = _content(rest)
        return frozenset(one.tool for one in self.known if first in one.acts and said & one.things)

    def wordy(self, tool: Tool) -> bool:
        """Whether a tool takes nothing but free text: no number, value of a list, or id."""
        return all(a.type == "string" and not a.values and _parts(a.name)[-1] != "id" for a in tool.arguments)

    def opened(self, sentence: str) -> frozenset[str]:
        """The tools whose thing a sentence begins with, by its full name: it is what the sentence is about."""
        said = _stems(re.sub(r"\A\W*(?:an?|the|our|all|every|each|any) ", "", _joined(sentence), flags=re.I))
        return frozenset(one.tool for one in self.known if any(said[: len(p)] == p for p in one.phrases))


def _acts(tool: Tool) -> frozenset[str]:
    """The verbs of a tool: the first word of its name, and the words of its description before any determiner."""
    verbs = [word for word in _opening(tool)[0] if word != "or"]
    return frozenset(stem(word) for word in (_parts(tool.name)[0], *verbs))


def _opening(tool: Tool) -> tuple[list[str], list[str]]:
    """The verbs that a description begins with, those that go with a preposition left out, and what follows them."""
    head = re.findall(r"[a-z]+|,", _first(tool.description))
    marked = next((k for k, word in enumerate(head) if word in _DETERMINERS | _PREPOSITIONS), len(head))
    at = marked if head[marked : marked + 1] and head[marked] in _DETERMINERS and marked <= 4 else 1
    verbs = [word for word, after in zip(head[:at], [*head[1:], ""], strict=False) if after not in _PREPOSITIONS]
    return verbs, head[at:]


def _widened(acts: frozenset[str], taken: frozenset[str]) -> frozenset[str]:
    """The acts with their synonyms; a verb that is some tool's own means that tool alone."""
    meant = [wide | narrow if acts & wide else narrow if not wide and acts & narrow else () for wide, narrow in _ACTS]
    return acts | frozenset().union(*meant) - taken


def _known(tool: Tool, acts: frozenset[str]) -> Known:
    name, objects = _parts(tool.name)[1:], _objects(tool)
    goal = _goal(tool.description) if "to" in name else ()
    heads = {name[-1] if name else "", *(phrase[-1] for phrase in objects), *goal}
    inner = [w for a in tool.arguments if stem(_parts(a.name)[-1]) in {stem(h) for h in heads} for w in _inner(a)]
    told = " ".join((tool.name, tool.description, *(text for a in tool.arguments for text in _texts(a))))
    return Known(
        tool.name,
        tool.mutating if tool.mutating is not None else stem(_parts(tool.name)[0]) not in _READING,
        acts,
        frozenset(stem(w) for w in (*heads, *inner)) - _EMPTY - {""},
        tuple(tuple(map(stem, phrase)) for phrase in objects if len(phrase) > 1),
        frozenset(_stems(f"{tool.name} {_first(tool.description)} {' '.join(tool.keywords)}")),
        tuple(frozenset(_stems(" ".join(_texts(a)))) for a in tool.arguments),
        frozenset(_stems(told)),
    )


def _objects(tool: Tool) -> list[tuple[str, ...]]:
    """The objects of the verb that a description begins with, each without its determiner, up to a preposition."""
    phrases: list[list[str]] = [[]]
    for word in _opening(tool)[1]:
        if word in _PREPOSITIONS:
            break
        if word in ("or", ","):
            phrases.append([])
        elif word not in _DETERMINERS - {"new"}:
            phrases[-1].append(word)
    return [tuple(phrase) for phrase in phrases if phrase]


def _goal(description: str) -> tuple[str, ...]:
    """Whom or what something is handed to, by a description."""
    found = re.search(r"\bto (?:an?|the) (\w+)", _first(description))
    return (found[1],) if found else ()


def _inner(field: Field) -> list[str]:
    """The heads of the names inside of an argument."""
    found, waiting = [], [field.schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            found += [_parts(name)[-1] for name in part.get("properties", {})]
            waiting += part.values()
    return found


def _texts(field: Field) -> list[str]:
    return [field.name, field.description, *field.keywords, *_inner(field)]


def _first(description: str) -> str:
    """The first sentence of a description, in small letters."""
    return re.split(r"[.;:(]", description.strip().lower(), maxsplit=1)[0]


def _parts(name: str) -> list[str]:
    return re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower()) or [name]


def _joined(text: str) -> str:
    """The words of a text, verbs of two words as one."""
    said = re.sub(r"'s\b", "", plain(text))
    for pattern, verb in _PARTICLES:
        said = pattern.sub(verb, said)
    return said


def _verbs(text: str) -> frozenset[str]:
    """The stems of words that may be an act here: no noun behind a determiner, no participle without its auxiliary."""
    said = re.findall(r"[a-z]+|[,;:.]", text.lower())
    found = set()
    for k, word in enumerate(said):
        before = said[max(0, k - 4) : k]
        if word.endswith("ings") or (word.endswith("ing") and {*before[-2:]} & (_DETERMINERS | {"of", "on", "per"})):
            continue
        if (word.endswith("ed") or word == "made") and not {*before} & _AUXILIARIES:
            continue
        found.add(stem(word))
    return frozenset(found)


def _content(text: str) -> frozenset[str]:
    return frozenset(stem(w) for w in re.findall(r"[a-z]{2,}", text.lower()) if w not in _LESS) - _EMPTY


def _stems(text: str) -> tuple[str, ...]:
    text = re.sub(r"([a-z])([A-Z])", r"\1 \2", text).replace("_", " ").lower()
    return tuple(stem(w) for w in re.findall(r"[a-z]{2,}", text))


def _phrase(text: str, one: Known) -> bool:
    said = f" {' '.join(_stems(text))} "
    return any(f" {' '.join(phrase)} " in said for phrase in one.phrases)
