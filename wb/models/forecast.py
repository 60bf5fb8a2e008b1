"""What a run would ask of a model, before anything is asked: its questions rendered, with answers of another engine.

Calls and tokens are an estimate: later questions depend on what a model answers to earlier ones, and four bytes are
taken for a token.  What is recorded already is not counted.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping

from wb.models.endpoint import Endpoint, Reply
from wb.models.ledger import Price, Usage
from wb.models.prompt import Prompt

BYTES = 4  # of English, for one token of today's models


class Forecast:
    """An engine that counts what an endpoint would be asked, and answers as another engine does (`answers`, which may
    be replaced by one that knows more)."""

    def __init__(self, endpoint: Endpoint, answers: object) -> None:
        self.name, self._endpoint, self.answers = endpoint.name, endpoint, answers
        self._rows: dict[str, Usage] = {}
        self._lock = threading.Lock()

    def answer(self, prompt: Prompt, inputs: Mapping[str, object], schema: dict) -> Reply:
        """The other engine's reply; the question is counted unless a reply to it is recorded."""
        request = self._endpoint.request(prompt, inputs, schema)
        reply = self.answers.answer(prompt, inputs, schema)
        sent = sum(_tokens(message["content"]) for message in request["messages"])
        got = _tokens(json.dumps(dict(reply.value), ensure_ascii=False))
        recorded = self._endpoint.replies.path(request).exists() and self._endpoint.replies.mode != "record"
        asked = Usage(replayed=1) if recorded else Usage(1, sent, got, self.price.of(sent, got))
        with self._lock:
            self._rows[prompt.name] = self._rows.get(prompt.name, Usage()) + asked
        return reply

    @property
    def price(self) -> Price:
        """Money per million tokens; 0 where none is known."""
        return self._endpoint.price

    @property
    def rows(self) -> dict[str, Usage]:
        """What would be asked, by prompt, in the order of the first question of each."""
        with self._lock:
            return dict(self._rows)

    @property
    def total(self) -> Usage:
        """The sum over all prompts."""
        return sum(self.rows.values(), Usage())


def _tokens(text: str) -> int:
    return -(-len(text.encode("utf-8")) // BYTES)
