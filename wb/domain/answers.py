"""Whether what somebody said is a yes to an act: named facts with an engine, for sessions that look them up.

`tools.json` declares each fact as a read-only tool that no agent has, and a field of the state as what it gives:

    {"name": "may_cancel", "mutating": false, "parameters": …}          three texts, and what the yes must be about
    {"name": "reply", "type": "object", …, "from": {"said": "user", "to": "assistant", "used_by": ["cancel"]}}
    {"name": "agreed", "type": "boolean", "from": {"lookup": "may_cancel", "arguments": {"id": "call.id",
        "question": "state.reply.question", "answer": "state.reply.answer", "later": "state.reply.later"},
        "changed_by": []}}

    session = guards.session(ask=answers.reader(llm, {"may_cancel": "cancel"}))

The act is said in the words that a question has for it; every argument but these three texts is a detail that the yes
must be about.  The engine is the session's `ask` function, so that what it gives is on record, has a time limit and
names itself in the log as the field's origin; it is trusted, not proved.  One prompt role, `read_answer`, answers; the
offline engine knows a closed list of phrases and one form of question.
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


def reader(llm: LLM, acts: Mapping[str, str], otherwise: Ask | None = None) -> Ask:
    """What a session asks: `acts` names the facts and the act of each; every other lookup is `otherwise`'s.

    The function gives True or False.

    Raises:
        ValueError: by the function; the answer is unclear, the three texts were not given, or nobody answers another
            lookup.
        ModelError: by the function; no usable reply.
    """
    known = dict(acts)

    def ask(tool: str, arguments: dict[str, Value]) -> object:
        if tool in known:
            return _read(llm, known[tool], arguments)
        if otherwise is None:
            raise ValueError(f"only {sorted(known)} are answered here; got {tool}")
        return otherwise(tool, arguments)

    return ask


def _read(llm: LLM, act: str, arguments: Mapping[str, Value]) -> bool:
    texts = {name: arguments.get(name) for name in TEXTS}
    if not all(type(text) is str for text in texts.values()):
        raise ValueError(f"the texts {list(TEXTS)} were required; got {sorted(arguments)}")
    about = {name: value for name, value in arguments.items() if name not in TEXTS}
    found = llm.ask("read_answer", AnswerRead, **texts, act=act, about=about)
    if found.agrees == "unclear":
        raise ValueError(f"whether the answer is a yes is unclear: {found.reason[:300]}")
    return found.agrees == "yes"
