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
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import pydantic

from wb.domain.answers import stands
from wb.domain.tools import Tool
from wb.domain.trace import Value
from wb.logic.values import PartialArguments

if TYPE_CHECKING:
    from wb.models.client import LLM

NUMBER = re.compile(  # in digits; one with other signs in it is none, as a date, a range, 1,000, 1.000 or 1 000
    r"(?<![\w.,/:'’−-])(?<!\d\s)[-+]?\d+(?:\.(?!\d{3}(?!\d))\d+)?(?!\w|[.,/:'’-]\d|\s\d)"
)


class Argument(pydantic.BaseModel):
    """One argument of a reply, with the words that tell it."""

    model_config = pydantic.ConfigDict(extra="forbid")

    name: str
    value: Value
    quotation: str


class Arguments(pydantic.BaseModel):
    """The reply: the arguments that the words tell, each at most once."""

    model_config = pydantic.ConfigDict(extra="forbid")

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
    asked = [turn for turn in turns if turn.tool.arguments]
    replies = iter(
        llm.ask_all(
            "extract_arguments",
            Arguments,
            [
                {
                    "tool": turn.tool.name,
                    "description": turn.tool.description,
                    "parameters": {one.name: dict(one.schema) for one in turn.tool.arguments},
                    "target_action": turn.target_action,
                    "agent_output": turn.agent_output,
                }
                for turn in asked
            ],
        )
        if asked
        else ()
    )
    return [
        _extraction(turn, next(replies), llm.engine.name) if turn.tool.arguments else Extraction() for turn in turns
    ]


def _extraction(turn: Mention, reply: object, by: str) -> Extraction:
    if not isinstance(reply, Arguments):
        return Extraction()
    known = quoted(reply.arguments, (turn.target_action, turn.agent_output))
    said = ", ".join(f"{one.name} “{one.quotation}”" for one in reply.arguments if one.name in known)
    return Extraction(known, f"arguments of {turn.tool.name} by {by}: {said}") if known else Extraction()


def quoted(given: Iterable[Argument], texts: Sequence[str]) -> PartialArguments:
    """The arguments whose words stand in one of the texts, and whose values stand in their words."""
    rows = list(given)
    names = [one.name for one in rows]
    whole = [f" {' '.join(text.split())} " for text in texts]
    found = PartialArguments()
    for one in rows:
        words = " ".join(one.quotation.split())
        if (
            names.count(one.name) == 1
            and words
            and any(stands(words, text) for text in whole)
            and holds(words, one.value)
        ):
            found[one.name] = one.value
    return found


def holds(words: str, value: Value) -> bool:
    """Whether a text or number stands in the words; letters may be large or small."""
    match value:
        case None:
            return False
        case bool():
            return True
        case int() | float():
            return any((float if "." in digits else int)(digits) == value for digits in NUMBER.findall(words))
        case str():
            text = " ".join(value.split())
            return bool(text) and stands(text.casefold(), f" {words.casefold()} ")
        case _:
            return False  # nothing shows that a list or an object is whole
