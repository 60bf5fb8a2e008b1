"""Whether what somebody said is a yes: a named fact with an engine, for sessions that look it up.

`tools.json` declares the fact as a read-only tool that no agent has, and a field of the state as what it gives:

    {"name": "says_yes", "mutating": false, "parameters": …}                            four texts, given by the field
    {"name": "reply", "type": "object", …, "from": {"said": "user", "to": "assistant", "used_by": ["cancel"]}}
    {"name": "agreed", "type": "boolean", "from": {"lookup": "says_yes", "arguments": {"id": "call.id",
        "question": "state.reply.question", "answer": "state.reply.answer", "later": "state.reply.later"}}}

    session = guards.session(ask=answers.reader(llm))

Every argument but these three texts is something that the yes must be about.  The engine is the session's `ask`
function, so that what it gives is on record, has a time limit and names itself in the log as the field's origin; it is
trusted, not proved.  One prompt role, `read_answer`, answers; the offline engine knows a closed list of phrases.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import pydantic

from wb.domain.lookups import Ask
from wb.domain.trace import Value
from wb.models.client import LLM

TEXTS = ("question", "answer", "later")


class AnswerRead(pydantic.BaseModel):
    """The reply: whether the answer says yes to all that is asked, and to just these things."""

    model_config = pydantic.ConfigDict(extra="forbid")

    agrees: Literal["yes", "no", "unclear"]
    reason: str


def reader(llm: LLM, fact: str = "says_yes", otherwise: Ask | None = None) -> Ask:
    """What a session asks: the fact of that name is read by the engine, every other lookup is `otherwise`'s.

    The function gives True or False.

    Raises:
        ValueError: by the function; the answer is unclear, the three texts were not given, or nobody answers another
            lookup.
        ModelError: by the function; no usable reply.
    """

    def ask(tool: str, arguments: dict[str, Value]) -> object:
        if tool != fact:
            if otherwise is None:
                raise ValueError(f"only {fact} is answered here; got {tool}")
            return otherwise(tool, arguments)
        return _read(llm, fact, arguments)

    return ask


def _read(llm: LLM, fact: str, arguments: Mapping[str, Value]) -> bool:
    texts = {name: arguments.get(name) for name in TEXTS}
    if not all(type(text) is str for text in texts.values()):
        raise ValueError(f"{fact}: the texts {list(TEXTS)} were required; got {sorted(arguments)}")
    about = {name: value for name, value in arguments.items() if name not in TEXTS}
    found = llm.ask("read_answer", AnswerRead, **texts, about=about)
    if found.agrees == "unclear":
        raise ValueError(f"whether the answer is a yes is unclear: {found.reason[:300]}")
    return found.agrees == "yes"
