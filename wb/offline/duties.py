"""Duties as restrictions of a call: what an argument tells, what was confirmed, what has to be enough, how often.

A duty in the passive, or about a thing, names no act ("a crate must be sealed"): it restricts the one tool that has an
argument for it, and none where two have.  All content words of the duty belong to that argument or its tool, else the
duty stays without an act.
"""

from __future__ import annotations

import re

from wb.domain.tools import Field, Tool, Toolbox
from wb.logic.facts import Comparison, Path
from wb.offline import lexicon, negation, vocabulary
from wb.offline.conditions import Phrase
from wb.rules.rule import Predicate

_MODAL = r"\b(?:must|shall|should|ha(?:s|ve) to|needs? to)(?: always| also)? be "
_PASSIVE = re.compile(_MODAL + r"(?:\w+ly )?(?:\w+ed|made|kept|built|written|sent|held|shown|given|worn|drawn)\b", re.I)
_CONFIRMS = re.compile(r"\A(?:explicitly |first )*confirm\s+(?P<what>\w.*)\Z", re.I)
_HOLLOW = lexicon.roots("action detail details explicit explicitly yes call request step operation list")
_OBTAINED = re.compile(
    r"\A(?:obtain|get|receive|have|has|secure)\s+(?P<what>.+?)(?:\s+(?:in order )?to (?:proceed|continue|go ahead))?\Z",
    re.I,
)
_ENOUGH = re.compile(
    r"\A(?P<who>.*?)\b(?:has|have|holds?|contains?)?\s*(?:enough|sufficient)\s+(?P<what>\w+(?: \w+)?)\s+"
    r"to (?:cover|pay|meet|match)\s+(?P<need>.+)\Z",
    re.I,
)
_OFTEN = re.compile(r"at most (?P<often>once|twice|[\w]+ times)\Z", re.I)
_CALLING = re.compile(
    r"(?:call|use|invoke)\s+(?:the\s+)?(?P<what>\w.*?)(?P<tool>\s+(?:tool|function|api|action)s?)?\Z", re.I
)


def confirmed(text: str, tool: Tool, toolbox: Toolbox) -> Predicate | None:
    """That the act is confirmed, of a phrase that says to confirm arguments of its call, "confirm the order id": one
    field tells of a confirmation, and it is that of the act; all words are those of arguments."""
    found = _CONFIRMS.match(text)
    words = lexicon.roots(found["what"]) if found else frozenset()
    given = frozenset().union(*(_all(field) for field in tool.arguments))
    if not words or not words <= given:
        return None
    fields = [field for field in toolbox.state if _of_the_act(field, tool)]
    return _flag(fields[0], text) if len(fields) == 1 else None


def _of_the_act(field: Field, tool: Tool) -> bool:
    """Whether a field tells that an act was confirmed, and not that something else was."""
    confirm = lexicon.root("confirm")
    said = lexicon.roots(field.name) | lexicon.roots(field.description)
    known = _HOLLOW | lexicon.roots(f"{tool.name} {tool.description}") | {confirm}
    named = confirm in lexicon.roots(field.name)
    return field.type == "boolean" and named and said <= known and not negation.signs(field.name)


def _all(field: Field) -> frozenset[str]:
    known = vocabulary.field_words(field)
    return known.strong | known.weak | (lexicon.roots("list") if field.type == "array" else frozenset())


def _flag(field: Field, text: str) -> Predicate:
    said = field.description or vocabulary.sentence(field.name)
    return Predicate(
        vocabulary.field_name(field), "state", said, vocabulary.keywords(text), test=Path(("state", field.name))
    )


def obtained(text: str, toolbox: Toolbox) -> Predicate | None:
    """That something was obtained, where a field of the state tells it in all of its words: it is so at the call."""
    found = _OBTAINED.match(text.strip())
    one = vocabulary.literal(Phrase(found["what"]), toolbox) if found else None
    told = one is not None and one.positive and isinstance(one.predicate.test, Path)
    return one.predicate if told else None


def enough(text: str, toolbox: Toolbox) -> Predicate | None:
    """That one number is at least another one: "a card has enough balance to cover the price"; both fields of the state
    are named in full, and no other field is."""
    found = _ENOUGH.match(text.strip())
    if not found:
        return None
    held = _number(lexicon.roots(f"{found['who']} {found['what']}"), toolbox)
    need = _number(lexicon.roots(found["need"]), toolbox)
    if held is None or need is None or held == need:
        return None
    test = Comparison(">=", Path(("state", held.name)), Path(("state", need.name)))
    name = lexicon.name(f"{held.name} at least {need.name}")
    return Predicate(name, "state", vocabulary.sentence(text), vocabulary.keywords(text), test=test)


def _number(words: frozenset[str], toolbox: Toolbox) -> Field | None:
    """The one number of the state that the words name in full, and whose words hold all of them."""
    found = [
        field
        for field in toolbox.state
        if field.type in ("integer", "number") and words and words <= _all(field) and lexicon.roots(field.name) <= words
    ]
    return found[0] if len(found) == 1 else None


def told(quote: str, duty: str, toolbox: Toolbox) -> tuple[str, Phrase] | None:
    """The tool that a duty in the passive restricts, and what its argument has to tell; None where no argument, or one
    of several tools, takes up all of the duty's words with its tool."""
    if not _PASSIVE.search(quote):
        return None
    words = [lexicon.root(w) for w in lexicon.content(duty)]
    found = []
    for tool in toolbox.tools:
        around = vocabulary.tool_words(toolbox, (tool.name,))
        for field in tool.arguments if tool.mutating is not False else ():
            if field.type == "boolean" and negation.signs(field.name) == negation.signs(duty) == frozenset():
                own = _all(field)
                alike = {w for w in words if vocabulary.SYNONYMS.get(w, frozenset()) & own}
                mine = lexicon.roots(field.name) <= {*words} or _described(field) <= {*words} | _near(words)
                if mine and {*words} <= own | alike | around:
                    found.append((tool.name, Phrase(field.description or field.name)))
    return found[0] if len(found) == 1 else None


def _described(field: Field) -> frozenset[str]:
    """What a description says; nothing is said by one that is not there."""
    return lexicon.roots(field.description) or frozenset(("",))


def _near(words: list[str]) -> frozenset[str]:
    return frozenset().union(*(vocabulary.SYNONYMS.get(w, frozenset()) for w in words))


def measuring(limit: Phrase, toolbox: Toolbox) -> tuple[str, ...]:
    """The tools with an argument that a limit on a thing measures, all words of both being those of the argument."""
    quantity = lexicon.find(limit.text)
    if quantity is None or not limit.about:
        return ()
    found = []
    for tool in toolbox.tools:
        if tool.mutating is False:
            continue
        one = vocabulary.literal(limit, toolbox, (tool.name,)).predicate
        read = [path.names[1] for path in _paths(one) if path.names[0] == "call"]
        own = [_all(field) for field in tool.arguments if field.name in read]
        if own and lexicon.roots(limit.about) <= own[0]:
            found.append(tool.name)
    return tuple(found)


def _paths(predicate: Predicate) -> tuple[Path, ...]:
    match predicate.test:
        case Comparison(_, Path() as path, _):
            return (path,)
    return ()


def often(required: Phrase) -> int | None:
    """How often a tool may be called at most, of what is said of calling it: "at most once" of "call the tool"; None
    of another limit, and of what is done to a thing, for each of which it may be done so often."""
    found = _OFTEN.match(required.text.strip())
    if not found or not calls(required.about):
        return None
    word = found["often"].lower().partition(" ")[0]
    number = {"once": 1, "twice": 2}.get(word) or lexicon.number(word)
    return int(number) if number else None


def calls(action: str) -> bool:
    """Whether an act is the calling of a tool, which is done to no thing."""
    found = _CALLING.match(action)
    return found is not None and bool(found["tool"])


def called(action: str) -> str:
    """What is called, of "call the exchange tool": "exchange"; empty for another act."""
    found = _CALLING.match(action)
    return found["what"] if found and (found["tool"] or re.match(r"call|invoke", action, re.I)) else ""
