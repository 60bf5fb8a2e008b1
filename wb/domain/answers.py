"""Questions about a conversation answered by an engine: `session(answer=answers.about(llm))`.

`tools.json` declares each such fact as a field of the state, and whose words count, such as a yes to an act:

    {"name": "agreed", "type": "boolean", "from": {"question": "Has the customer agreed to cancel?", "of": ["user"],
        "permits": true, "arguments": {"id": "call.id"}, "used_by": ["cancel"]}}

One prompt role, `answer_question`, answers; the offline engine knows a closed list of phrases and one form of question.
What it gives is on record, has a time limit and names itself in the verdict; it is trusted, not proved.
"""

from __future__ import annotations

import json

import pydantic

from wb.domain.questions import Answer, Answering, Made, Question
from wb.models.client import LLM

LONGEST = 4000  # characters of one result of a tool that are shown: its words do not count, and they are paid for


class Answered(pydantic.BaseModel):
    """The reply: the value, null where nothing settles it, and who said so in which words."""

    model_config = pydantic.ConfigDict(extra="forbid")

    value: bool | int | float | str | None
    quotation: str
    speaker: str
    reason: str


def about(llm: LLM) -> Answering:
    """What answers a session's questions.

    Raises:
        ModelError: by the function; no usable reply.
    """

    def answer(question: Question) -> Answer:
        found = llm.ask(
            "answer_question",
            Answered,
            question=question.text,
            type=question.type,
            values=list(question.values),
            of=list(question.of),
            about=dict(question.about) or _wanted(question),
            conversation=list(_shown(question)),
        )
        if found.quotation and found.speaker not in question.of:
            who = f"words of {' or '.join(question.of)} were required; got some of {found.speaker!r}"
            return Answer(None, reason=who, by=llm.name)
        return Answer(found.value, found.quotation, found.reason, llm.name)

    return answer


def _wanted(question: Question) -> dict[str, object]:
    """The call that the agent wants to make."""
    return {"calls": question.call.tool, "with": question.call.arguments} if question.call is not None else {}


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
