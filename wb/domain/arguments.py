"""The arguments of a call that an agent speaks of in free text: typed, and each with the words that tell it.

VeriGuard extracts the arguments of its policy function from the agent's output by a model (Sec. 3.3.1), outside of
what it proves (SPEC section 4, x). Here a value counts as far as it can be checked: its type is the tool's, its
quotation stands in one text of the agent word for word, and the value itself stands in the quotation: a text as it
is written, a number in digits. Of a truth the quotation alone is checked, and that a word beside a number makes it
another one ("5 million") is not seen. Lists and objects are not known, for nothing shows that they are whole.
Anything else is not known, which decides nothing, and an argument that is not named is not known either
(`values.PartialArguments`). That the words mean so is trusted, and each is named in the reason of the verdict.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import pydantic

from wb.domain.tools import Tool
from wb.domain.trace import Value
from wb.logic.values import PartialArguments

if TYPE_CHECKING:
    from wb.models.client import LLM

NUMBER = re.compile(r"[-+]?\d+(?:\.(?!\d{3}\Z)\d+)?")  # in digits; 1.000 may be a thousand
OPENS, CLOSES = ("Ps", "Pi", "Sc"), ("Pe", "Pf", "Sc")  # signs around a word: brackets, quotes, currencies
QUOTES, ENDS = "\"'", ".,;:!?\"'"


class Argument(pydantic.BaseModel, extra="forbid"):
    """One argument of a reply, with the words that tell it."""

    name: str
    value: Value
    quotation: str


class Arguments(pydantic.BaseModel, extra="forbid"):
    """The reply: the arguments that the words tell, each at most once."""

    arguments: list[Argument]


class Mention(NamedTuple):
    """A tool that an agent speaks of, and its texts: what it is about to do, and what it said."""

    tool: Tool
    target_action: str
    agent_output: str


class Extraction(NamedTuple):
    """The arguments that are known, None where none is, and what says so, for the reason of a verdict."""

    arguments: PartialArguments | None = None
    by: str = ""


def extracted(turns: Sequence[Mention], llm: LLM) -> list[Extraction]:
    """What each turn tells of its tool's arguments (prompt `extract_arguments`), in order: a query for each that has
    parameters.  A reply that fails, or says a thing twice, tells nothing."""
    batch = [
        {
            "tool": turn.tool.name,
            "description": turn.tool.description,
            "parameters": {one.name: dict(one.schema) for one in turn.tool.arguments},
            "target_action": turn.target_action,
            "agent_output": turn.agent_output,
        }
        for turn in turns
        if turn.tool.arguments
    ]
    replies = iter(llm.ask_all("extract_arguments", Arguments, batch) if batch else ())
    return [_extraction(one, next(replies), llm.engine.name) if one.tool.arguments else Extraction() for one in turns]


def _extraction(turn: Mention, reply: object, by: str) -> Extraction:
    if not isinstance(reply, Arguments):
        return Extraction()
    known = quoted(reply.arguments, (turn.target_action, turn.agent_output))
    said = ", ".join(f"{one.name} “{one.quotation}”" for one in reply.arguments if one.name in known)
    return Extraction(known, f"arguments of {turn.tool.name} by {by}: {said}") if known else Extraction()


def quoted(given: Iterable[Argument], texts: Sequence[str]) -> PartialArguments:
    """The arguments whose words stand in one of the texts, and whose values stand in their words, both as whole words
    between blanks: what is a part of a longer word, number, date or range in the text is not there."""
    rows = list(given)
    names = [one.name for one in rows]
    said = [text.split() for text in texts]
    found = PartialArguments()
    for one in rows:
        words = one.quotation.split()
        places = [(text, at) for text in said for at in _places(words, text)]
        if places and names.count(one.name) == 1 and all(holds(text, at, len(words), one.value) for text, at in places):
            found[one.name] = one.value
    return found


def holds(text: Sequence[str], at: int, many: int, value: Value) -> bool:
    """Whether a text or number stands in those words of a text; letters may be large or small."""
    match value:
        case bool():
            return True
        case int() | float():
            return any(number(text, i) == value for i in range(at, at + many))
        case str():
            words = [word.casefold() for word in text[at : at + many]]
            return bool(_places(value.casefold().split(), words))
        case _:
            return False  # nothing shows that a list or an object is whole


def _places(words: Sequence[str], text: Sequence[str]) -> list[int]:
    """Where words stand in a text, one after the other; around the first and the last there may be signs."""
    wanted, many = _inside(words), len(words)
    if not any(map(str.isalnum, "".join(wanted))):
        return []
    return [i for i in range(len(text) - many + 1) if _inside(text[i : i + many]) == wanted]


def _inside(words: Sequence[str]) -> list[str]:
    """Words with the signs that stand between them."""
    return [word if 0 < i < len(words) - 1 else bare(word) for i, word in enumerate(words)]


def bare(word: str) -> str:
    """A word without the brackets, quotes, currencies and ends of sentences around it."""
    start, end = 0, len(word)
    while start < end and (unicodedata.category(word[start]) in OPENS or word[start] in QUOTES):
        start += 1
    while start < end and (unicodedata.category(word[end - 1]) in CLOSES or word[end - 1] in ENDS):
        end -= 1
    return word[start:end]


def number(text: Sequence[str], at: int) -> int | float | None:
    """The number that a word of a text is; None where it is none, or its neighbours make it another one: a group of
    digits, or a sign by itself."""
    word = bare(text[at])
    before, after = (text[i] if 0 <= i < len(text) else "" for i in (at - 1, at + 1))
    if not NUMBER.fullmatch(word) or bare(before).isdigit() or bare(after)[:1].isdigit():
        return None
    if before and not any(map(str.isalnum, before)) or after and not any(map(str.isalnum, after)):
        return None
    return float(word) if "." in word else int(word)
