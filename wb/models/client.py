"""One door to models: a prompt and its inputs in, a reply of a declared type out.

Two kinds of engine answer the same requests: `Endpoint`, any OpenAI-compatible service, and the
deterministic offline engine, which is handed in as a value.  A malformed reply is asked for once
more with what was wrong, then raised; it is never patched.  A recorded exchange that ends so does not
count as recorded: it is asked again from its start.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Protocol, TypeVar

import pydantic

from wb.models import prompt as prompts
from wb.models.endpoint import Endpoint, MalformedReply, Replies, Reply
from wb.models.ledger import Budget, Ledger, ModelError, Price, Unanswered
from wb.models.pasted import PREFIX, Pasted
from wb.models.prompt import Prompt

Form = TypeVar("Form", bound=pydantic.BaseModel)
OnProgress = Callable[[str, int, int], None]


class Engine(Protocol):
    """Anything that answers prompts."""

    name: str

    def answer(self, prompt: Prompt, inputs: Mapping[str, object], schema: dict) -> Reply:
        """A JSON object that should match the schema, with what it took."""


class LLM:
    """An engine with a ledger: asks, checks the type of each reply, counts."""

    def __init__(
        self, engine: Engine, ledger: Ledger | None = None, workers: int = 4, progress: OnProgress | None = None
    ) -> None:
        if workers < 1:
            raise ValueError(f"workers must be 1 or more; got {workers}")
        self.engine, self.ledger, self.workers = engine, ledger or Ledger(), workers
        self.progress = progress or (lambda prompt, done, total: None)

    @property
    def name(self) -> str:
        """The name of the engine; every artifact made from its replies carries it."""
        return self.engine.name

    def ask(self, prompt_name: str, reply_type: type[Form], **inputs: object) -> Form:
        """The reply to `prompts/PROMPT_NAME.md` with these inputs (JSON values).

        Raises:
            ModelError: no usable reply; subclasses say why. A malformed one was asked for twice.
        """
        prompt = prompts.load(prompt_name)
        try:
            return self._exchange(prompt, reply_type, inputs)
        except MalformedReply as error:
            if not error.renewable:
                self._failed(prompt, error)
                raise
            self._note(prompt, error, f"its recording failed; asked anew: {error.problem}")
        try:
            return self._exchange(prompt, reply_type, inputs, anew=True)
        except MalformedReply as error:
            self._failed(prompt, error)
            raise

    def ask_all(
        self, prompt_name: str, reply_type: type[Form], batch: Iterable[Mapping[str, object]]
    ) -> list[Form | Unanswered]:
        """The replies to many requests, in their order, at most `workers` at a time.

        Every finished reply is kept whatever happens to the others.

        Raises:
            ModelError: one that would meet all further requests too (`fatal`: a spent budget, an unknown
                model, a missing recording), once the requests under way have finished.
        """
        rows = list(batch)
        replies: list[Form | Unanswered] = [Unanswered(prompt_name, "not asked")] * len(rows)
        pool = ThreadPoolExecutor(max_workers=self.workers)
        try:
            futures = {pool.submit(self.ask, prompt_name, reply_type, **row): i for i, row in enumerate(rows)}
            for done, future in enumerate(as_completed(futures), 1):
                error = future.exception()
                if isinstance(error, ModelError) and not error.fatal:
                    replies[futures[future]] = Unanswered(prompt_name, str(error))
                elif error is not None:
                    raise error
                else:
                    replies[futures[future]] = future.result()
                self.progress(prompt_name, done, len(rows))
        finally:  # after an error or an interrupt, what is under way is finished and kept, the rest not asked
            pool.shutdown(wait=True, cancel_futures=True)
        return replies

    def _exchange(self, prompt: Prompt, reply_type: type[Form], inputs: Mapping[str, object], **how: bool) -> Form:
        """A reply, asked for once more where the first is malformed; `MalformedReply` where the second is too."""
        try:
            return self._once(prompt, reply_type, inputs, **how)
        except MalformedReply as error:
            self._note(prompt, error, f"asked again: {error.problem}")
            corrected = prompt.corrected(error.text, error.problem)
        return self._once(corrected, reply_type, inputs, **how)

    def _once(self, prompt: Prompt, reply_type: type[Form], inputs: Mapping[str, object], **how: bool) -> Form:
        """One reply, checked; its usage and whatever went wrong in the ledger."""
        try:
            answer = self.engine.answer(prompt, inputs, schema(reply_type), **how)
        except MalformedReply:
            raise
        except ModelError as error:
            self._failed(prompt, error)
            raise
        try:
            reply = reply_type.model_validate(answer.value)
        except pydantic.ValidationError as error:
            raise MalformedReply(
                prompt.name,
                json.dumps(answer.value, ensure_ascii=False),
                _problems(error),
                answer.usage,
                answer.events,
                answer.digest,
                answer.renewable,
            ) from None
        self.ledger.add(
            prompt.name,
            answer.usage,
            prompt_digest=prompt.digest,
            engine=answer.engine,
            reply=answer.digest,
            events=answer.events,
        )
        return reply

    def _note(self, prompt: Prompt, error: ModelError, event: str, *, failed: bool = False) -> None:
        """Count what an attempt without a usable reply took; one that is asked again names its recording."""
        self.ledger.add(
            prompt.name,
            error.usage,
            prompt_digest=prompt.digest,
            engine=self.name,
            reply=error.digest if isinstance(error, MalformedReply) and not failed else None,
            failed=failed,
            events=(*error.events, event),
        )

    def _failed(self, prompt: Prompt, error: ModelError) -> None:
        self._note(prompt, error, f"failed: {error}", failed=True)


def connect(
    model: str,
    *,
    offline: Engine | None,
    replies_dir: str | Path,
    ledger: Ledger | None = None,
    workers: int = 4,
    progress: OnProgress | None = None,
    environment: Mapping[str, str] | None = None,
    temperature: float = 0.0,
) -> LLM:
    """The model of that name: `offline` is the engine given, any other name is asked at the endpoint, at that
    temperature.

    The endpoint is told by the environment (default: the process's): OPENAI_BASE_URL, OPENAI_API_KEY;
    WB_REPLIES (auto, replay, record); the budget WB_MAX_CALLS, WB_MAX_TOKENS, WB_MAX_COST, shared by all
    processes with the same file WB_SPENDING; WB_PRICE (`PROMPT,COMPLETION`, money per million tokens);
    WB_TIMEOUT (seconds a request); WB_REPLY_TOKENS (at most this many a reply); WB_WORKERS (requests at a time).

    Raises:
        ValueError: a setting that cannot be read, or neither an endpoint nor recorded replies.
    """
    model = model.split(",")[0]  # of several readers, the first does all else
    if model == "offline":
        return LLM(offline, ledger, workers, progress)
    env = os.environ if environment is None else environment
    replies = Replies(Path(replies_dir), env.get("WB_REPLIES", "auto"))
    if model.startswith(PREFIX) and replies.mode != "replay":
        name = re.sub(r"[^\w.-]", "_", model.removeprefix(PREFIX))
        return LLM(Pasted(model, Path(replies_dir).parent / "questions" / name, replies), ledger, 1, progress)
    if replies.mode != "replay" and not env.get("OPENAI_API_KEY") and not env.get("OPENAI_BASE_URL"):
        raise ValueError(
            f"model must be 'offline', or a model of an endpoint named by OPENAI_API_KEY or OPENAI_BASE_URL, "
            f"or WB_REPLIES=replay with recorded replies; got model {model!r} and none of these"
        )
    budget = Budget(
        _number(env, "WB_MAX_CALLS", int), _number(env, "WB_MAX_TOKENS", int), _number(env, "WB_MAX_COST", float)
    )
    endpoint = Endpoint(
        model,
        base_url=env.get("OPENAI_BASE_URL"),
        api_key=env.get("OPENAI_API_KEY"),
        replies=replies,
        budget=budget,
        price=_price(env.get("WB_PRICE", "")),
        timeout_s=_number(env, "WB_TIMEOUT", float) or 120.0,
        max_tokens=_number(env, "WB_REPLY_TOKENS", int) or 4096,
        temperature=temperature,
        spending=Path(env["WB_SPENDING"]) if env.get("WB_SPENDING") else None,
    )
    named = _number(env, "WB_WORKERS", int)
    return LLM(endpoint, ledger, workers if named is None else named, progress)


def schema(reply_type: type[pydantic.BaseModel]) -> dict:
    """The JSON schema of a reply as it is sent: without pydantic's titles, which repeat the names and are paid for."""
    return _untitled(reply_type.model_json_schema())


def _untitled(value: object) -> object:
    if isinstance(value, dict):
        return {k: _untitled(v) for k, v in value.items() if k != "title" or not isinstance(v, str)}
    return [_untitled(item) for item in value] if isinstance(value, list) else value


def _number(env: Mapping[str, str], name: str, kind: type) -> int | float | None:
    text = env.get(name, "")
    try:
        return kind(text) if text else None
    except ValueError:
        raise ValueError(f"{name} must be a number ({kind.__name__}); got {text!r}") from None


def _price(text: str) -> Price | None:
    """`0.15,0.60` is money per million tokens of prompt and of completion."""
    if not text:
        return None
    try:
        prompt, completion = (float(part) for part in text.split(","))
    except ValueError:
        raise ValueError(
            f"WB_PRICE must be PROMPT,COMPLETION in money per million tokens, such as 0.15,0.60; got {text!r}"
        ) from None
    return Price(prompt, completion)


def _problems(error: pydantic.ValidationError) -> str:
    """What a reply's fields lacked, one line each, without the values' addresses."""
    rows = error.errors(include_url=False, include_context=False)
    return "; ".join(
        f"{'.'.join(str(p) for p in row['loc']) or 'the reply'}: {row['msg']}, got {str(row['input'])[:80]!r}"
        for row in rows[:8]
    )
