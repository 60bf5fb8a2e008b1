"""Replies that a person pastes in: for whoever has a chat window and no key.

Each question is written as a file, `PROMPT.DIGEST.md`, and waits until its answer stands beside it, as
`PROMPT.DIGEST.reply.json`.  What was pasted is checked and recorded as an endpoint's reply would be.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from wb.models import reading
from wb.models.endpoint import MalformedReply, Replies, Reply, asked
from wb.models.ledger import ModelError, Usage
from wb.models.prompt import Prompt
from wb.paths import digest, write_whole

PREFIX = "paste:"  # of a model's name: `paste:NAME`


class NotPasted(ModelError):
    """The reply to a question was not pasted yet; the message says where the question stands."""


class Pasted:
    """One person who carries questions to a model of their own: `folder` holds questions and pasted replies."""

    def __init__(self, name: str, folder: Path, replies: Replies) -> None:
        self.name, self.folder, self.replies = name, folder, replies

    def answer(self, prompt: Prompt, inputs: Mapping[str, object], schema: dict, *, anew: bool = False) -> Reply:
        """The pasted reply, from its recording where there is one.

        Raises:
            NotPasted: there is none yet; the question was written.
            MalformedReply: what was pasted is no JSON object.
        """
        request = asked(prompt, inputs, schema, self.name, {"temperature": 0.0})
        key = digest(request)
        recorded = self.replies.find(request)
        if recorded is not None:
            return self._answer(request, recorded["text"], key, Usage(replayed=1))
        stem = self.replies.path(request).name.removesuffix(".json")
        place = self.folder / f"{stem}.reply.json"
        if not place.is_file():
            self.folder.mkdir(parents=True, exist_ok=True)
            question = "\n\n".join(message["content"] for message in request["messages"])
            write_whole(self.folder / f"{stem}.md", question + "\n")
            raise NotPasted(f"paste the reply to {self.folder / stem}.md into {place.name} beside it, then run again")
        text = place.read_text("utf-8")
        found = self._answer(request, text, key, Usage(calls=1))
        self.replies.keep(request, {"text": text})
        return found

    def _answer(self, request: Mapping, text: str, key: str, usage: Usage) -> Reply:
        question = "\n".join(message["content"] for message in request["messages"])
        try:
            value = reading.answer(text, request["schema"], question)
        except reading.NotRead as error:
            raise MalformedReply(request["prompt"], text, str(error), usage, (), key) from None
        return Reply(value, usage, key, self.name)
