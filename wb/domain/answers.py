"""Questions about a conversation: what is asked, what a model answers, and whether somebody said what it quotes.

`tools.json` declares each such fact as a field of the state, and whose words count, such as a yes to an act:

    {"name": "agreed", "type": "boolean", "from": {"question": "Has the customer agreed to cancel?", "of": ["user"],
        "permits": true, "arguments": {"id": "call.id"}, "used_by": ["cancel"]}}

An answer is believed as far as it can be checked: its value has the type that is declared, and the words that it rests
on stand in what a speaker said whose words count (`Conversation.quoted`).  That these words mean so is trusted.

`session(answer=answers.about(llm))` has one prompt role, `answer_question`, answer; the offline engine knows a closed
list of phrases and one form of question.  What it gives is on record, has a time limit and names itself in the verdict.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import pydantic

from wb.domain import schema
from wb.domain.trace import Call, Value

if TYPE_CHECKING:
    from wb.models.client import LLM

LONGEST = 4000  # characters of one result of a tool that are shown: its words do not count, and they are paid for
KEPT = 1024  # texts and calls of a conversation; of a longer one nothing is asked, for what is cut may matter


class Made(NamedTuple):
    """A call that ran, with its result so far and how many texts stand before it; `failed` where that is an error."""

    tool: str
    arguments: Mapping[str, Value] | None
    result: Value = None
    failed: bool = False
    after: int = 0


class Question(NamedTuple):
    """What a state field asks of a conversation, at a call.

    `type` is one of `boolean`, `string` (then `values` are all that it may be), `integer` and `number`; `of` are those
    whose words count, `about` the object that is asked about, by name.  `texts` are pairs of who spoke and what, `call`
    is what the agent wants to do now.
    """

    field: str
    text: str
    type: str
    values: tuple[str, ...]
    of: tuple[str, ...]
    about: Mapping[str, Value]
    texts: tuple[tuple[str, str], ...]
    calls: tuple[Made, ...]
    call: Call | None = None


class Answer(NamedTuple):
    """The value, None where the conversation does not tell it; the words that do; why; and who answers."""

    value: Any
    quotation: str = ""
    reason: str = ""
    by: str = ""


Answering = Callable[[Question], Answer]


@dataclass(slots=True)
class Conversation:
    """What was said and done so far. `newest` is when each last spoke."""

    newest: dict[str, int] = field(default_factory=dict)
    texts: list[tuple[str, str]] = field(default_factory=list)
    calls: list[Made] = field(default_factory=list)
    # when who said what, all blanks one; calls without a result, by where they stand
    _folded: list[tuple[int, str, str]] = field(default_factory=list, init=False, repr=False, compare=False)
    _running: dict[int | str, int] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def full(self) -> bool:
        """Whether more happened than is kept."""
        return len(self.texts) + len(self.calls) > KEPT

    def say(self, role: str, text: str, now: int) -> None:
        """Somebody said something."""
        if not self.full:
            self.newest[role] = now
            self.texts.append((role, text))
            self._folded.append((now, role, f" {' '.join(text.split())} "))

    def call(self, name: int | str, call: Call) -> None:
        """A call runs."""
        if not self.full:
            self._running[name] = len(self.calls)
            self.calls.append(Made(call.tool, call.arguments, after=len(self.texts)))

    def result(self, name: int | str, value: object, failed: bool) -> None:
        """What a call gave."""
        place = self._running.pop(name, None)
        if place is not None:
            try:
                found = schema.plain(value)
            except schema.Unfit as error:
                found = f"no JSON value: {error}"
            self.calls[place] = self.calls[place]._replace(result=found, failed=failed)

    def quoted(self, quotation: str, of: Collection[str], since: int) -> bool:
        """Whether one of these speakers said that since then, word for word and not across texts; blanks are all one.

        A word counts as a whole: who disagrees has not said “agree”.
        """
        words = " ".join(quotation.split())
        return bool(words) and any(
            now > since and role in of and words in text and stands(words, text) for now, role, text in self._folded
        )


def stands(words: str, text: str) -> bool:
    """Whether the words stand in the text, in which there is more at either end, without a part of another word."""
    start = text.find(words)
    while start >= 0:
        if not re.match(r"\w", text[start - 1]) and not re.match(r"\w", text[start + len(words)]):
            return True
        start = text.find(words, start + 1)
    return False


class Answered(pydantic.BaseModel, extra="forbid"):
    """The reply: the value, null where nothing settles it, and who said so in which words."""

    value: bool | int | float | str | None
    quotation: str
    speaker: str
    reason: str


def about(llm: LLM, examples: Callable[[Question], list[dict[str, object]]] = lambda _: []) -> Answering:
    """What answers a session's questions; `examples` are words that answered one before (`workflows`).

    Raises:
        ModelError: by the function; no usable reply.
    """

    def answer(question: Question) -> Answer:
        call = question.call
        wanted = {"calls": call.tool, "with": call.arguments} if call is not None else {}
        asked = {"question": question.text, "type": question.type, "values": list(question.values)}
        asked |= {"of": list(question.of), "about": dict(question.about) or wanted}
        happened = list(_shown(question))
        found = llm.ask("answer_question", Answered, **asked, conversation=happened, examples=examples(question))
        if found.quotation and found.speaker not in question.of:
            who = f"words of {' or '.join(question.of)} were required; got some of {found.speaker!r}"
            return Answer(None, reason=who, by=llm.name)
        return Answer(found.value, found.quotation, found.reason, llm.name)

    return answer


def _shown(question: Question):
    """What was said and done, in its order."""
    calls = list(question.calls)
    for place, (role, text) in enumerate(question.texts):
        while calls and calls[0].after <= place:
            yield _row(calls.pop(0))
        yield {"who": role, "says": text}
    yield from map(_row, calls)


def _row(made: Made) -> dict[str, object]:
    result = json.dumps(made.result, ensure_ascii=False)
    result = result if len(result) <= LONGEST else f"{result[:LONGEST]}…"
    came = "failed" if made.failed else "result"
    return {"calls": made.tool, "with": made.arguments, came: result}
