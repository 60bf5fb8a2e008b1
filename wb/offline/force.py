"""Whether a sentence demands nothing: a heading, a definition, a statement.  What is doubtful is not recognised.

A statement says who or what does, is or has something, and has none of the words of force, limit, exception, negation
or advice that `lexicon.yaml` lists; it names no tool's act, and stands under no opening that has such words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from wb.domain.tools import Toolbox
from wb.offline import lexicon, vocabulary

_DOUBTFUL = lexicon.words("doubtful")
_SINGLE = frozenset(word for word in _DOUBTFUL if "-" not in word)
_SEVERAL = tuple(word.replace("-", " ") for word in _DOUBTFUL if "-" in word)
_FORBIDDING, _TITULAR, _ORDERS = lexicon.words("forbidding"), lexicon.words("titular"), lexicon.words("orders")
_REVERSING, _GLOSSARY = lexicon.words("reversing"), lexicon.words("glossary")
_COPULAS, _OPENING = lexicon.words("copulas"), lexicon.words("opening")
_UNLIKE = re.compile(lexicon.entry("unlike"))
_FORCE = frozenset(
    "MUST MAY CAN NEED NOT NEVER NO NOBODY ONLY FORBIDDEN REQUIRES ONLYIF ONLYAFTER UNLESS UNTIL".split()
)
_MEANS = "|".join(sorted(lexicon.entry("defining"), key=len, reverse=True))
_QUOTED = re.compile(rf"(?:(?:an?|the)\s+)?[\"“”«][^\"“”»]+[\"”»]\s+(?:{_MEANS})\s", re.I)
_COUNTS = re.compile(r"(?:in this [a-z]+,\s+)?[a-z]+ing\b[^,;]*\bcounts as\b[^,;]*", re.I)
_NO_SUCH = re.compile(r"an? [\w-]+ is not an? [\w-]+|[a-z]+ing\b[\w ,-]* is not [a-z]+ing", re.I)
_SIGNS = re.compile(r"[?!$€£%❌✗✘🚫⛔🛑✔✓☐☑:;]|\d\s*\+")


def forbids(openings: Iterable[str]) -> str:
    """A word of the openings (titles, stems, labels, cells) that may forbid, limit or ask for what stands there."""
    return _first(openings, _FORBIDDING | _TITULAR, _FORCE)


def title(text: str) -> str:
    """A word of a title that demands something by itself, "No smoking"; empty for one that only says what follows."""
    return _first([text], _FORBIDDING, _FORCE)


def reverses(openings: Iterable[str]) -> str:
    """A word of the openings that may make an exception, or the opposite, of a sentence that stands there."""
    return _first(openings, _REVERSING, frozenset("IF NOT NEVER NO ONLYIF ONLY".split()))


def _first(openings: Iterable[str], words: frozenset[str], types: frozenset[str]) -> str:
    tokens = (token for text in openings for token in lexicon.tokenize(text))
    return next((str(token) for token in tokens if token.type in types or words & {*token.split()}), "")


def thing(text: str) -> bool:
    """Whether words only name a thing, as in a cell: no verb of an order, no number, nothing doubtful."""
    words = re.findall(r"[a-z][a-z'-]*", text.lower())
    return (
        bool(words) and len(words) < 6 and words[0] not in _ORDERS and not _doubt(text) and not re.search(r"\d", text)
    )


def explains(text: str, headings: Iterable[str]) -> bool:
    """Whether words say what a term in bold means, in a glossary."""
    listed = any({*lexicon.tokens(heading)} & _GLOSSARY for heading in headings)
    told = re.fullmatch(r"\*\*[^*]+\*\*:?(?P<rest>[^;:]+)", text.strip())
    return listed and told is not None and not _doubt(told["rest"])


def _doubt(text: str) -> bool:
    """Whether words may forbid, limit, except or ask for something."""
    words = re.findall(r"[a-z][a-z'-]*", text.lower().replace("’", "'"))
    said = f" {' '.join(words)} "
    several = any(f" {phrase} " in said for phrase in _SEVERAL)
    force = any(token.type in _FORCE for token in lexicon.tokenize(text))
    return bool({*words} & _SINGLE) or several or force or bool(_SIGNS.search(text) or _UNLIKE.search(said))


def harmless(text: str, toolbox: Toolbox) -> str:
    """Why a sentence demands nothing, "a definition" or "a statement …"; empty where that is doubtful."""
    plain = re.sub(r"[*_`]", "", " ".join(text.split())).rstrip(" .")
    types = {token.type for token in lexicon.tokenize(plain)}
    if _QUOTED.match(plain) or _COUNTS.fullmatch(plain):
        return "" if types & _FORCE else "a definition"
    if _NO_SUCH.fullmatch(plain) and not types & (_FORCE - {"NOT"}):
        return "a definition"
    words = re.findall(r"[a-z][a-z'-]*", plain.lower())
    if not words or _doubt(plain) or not _indicative(words, toolbox) or _named(plain, toolbox):
        return ""
    return "a statement without force, exception or limit"


def _indicative(words: list[str], toolbox: Toolbox) -> bool:
    """Whether words say who or what does something: nobody is told to do it."""
    first = words[0]
    called = {lexicon.root(lexicon.tokens(tool.name)[0]) for tool in toolbox.tools if lexicon.tokens(tool.name)}
    finite = any(word in _COPULAS for word in words[1:]) or any(
        re.fullmatch(r"[a-z]{2,}(?:s|ed)", w) for w in words[1:]
    )
    if first in _OPENING:
        return finite
    if first.endswith("s") and not first.endswith(("ss", "us", "is")) and first not in _ORDERS:
        return len(words) > 2  # "refunds take": what is told to be done has no ending
    return first not in _ORDERS and lexicon.root(first) not in called and any(w in _COPULAS for w in words[1:6])


def _named(plain: str, toolbox: Toolbox) -> bool:
    """Whether a sentence may speak of what a tool does: it has its verb and a thing of its name."""
    said = {*map(lexicon.root, lexicon.tokens(plain))}
    for tool in toolbox.tools:
        known = vocabulary.tool_words(tool)
        verb = lexicon.root(lexicon.tokens(tool.name)[0])
        alike = lexicon.synonyms().get(verb, frozenset()) | {verb}
        if alike & said and (known.name - {verb}) & said - alike:
            return True
    return False
