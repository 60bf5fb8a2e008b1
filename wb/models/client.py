"""One door to models: a prompt and its inputs in, a reply of a declared type out.

Engines of four kinds answer the same requests: `Endpoint`, any OpenAI-compatible service; `Pasted`, a person with a
chat window and no key; `Forecast`, which counts what an endpoint would be asked; and the deterministic offline engine,
which is handed in as a value.  A malformed reply is asked for once more with what was wrong, then raised; it is never
patched.  A recorded exchange that ends so does not count as recorded: it is asked again from its start.
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

from wb import paths
from wb.models import prompt as prompts
from wb.models.endpoint import Endpoint, MalformedReply, Replies, Reply, asked, read
from wb.models.ledger import Budget, Ledger, ModelError, Price, Unanswered, Usage
from wb.models.prompt import Prompt
from wb.paths import digest, write_whole

Form = TypeVar("Form", bound=pydantic.BaseModel)
OnProgress = Callable[[str, int, int], None]
BYTES = 4  # of English, for one token of today's models
PREFIX = "paste:"  # of the name of a model whose replies are pasted: `paste:NAME`


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
            if isinstance(self.engine, Pasted):
                first = self.engine.malformed(prompt.name, error)
        try:
            reply = self._once(corrected, reply_type, inputs, **how)
        except MalformedReply as error:
            if isinstance(self.engine, Pasted):
                self._failed(prompt, error)
                raise NotPasted(f"another reply was required: {self.engine.malformed(prompt.name, error)}") from None
            raise
        if isinstance(self.engine, Pasted):
            first.unlink(missing_ok=True)
        return reply

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
        if isinstance(self.engine, Pasted):
            self.engine.place(prompt.name, str(answer.digest), "problem.txt").unlink(missing_ok=True)
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


class NotPasted(ModelError):
    """The reply to a question was not pasted yet; the message says where the question stands."""


class Pasted:
    """One person who carries questions to a model of their own.

    Each question is written into `folder` as `PROMPT.DIGEST.md`, and waits until its answer stands beside it, as
    `PROMPT.DIGEST.reply.json`.  What was pasted is checked and recorded as an endpoint's reply would be.  What is wrong
    with a malformed one stands beside it (`.problem.txt`) until that file is replaced by a reply that can be used, or
    the question that corrects it has one.
    """

    price = Price()

    def __init__(self, name: str, folder: Path, replies: Replies, trial: str = "") -> None:
        self.name, self.folder, self.replies, self.trial = name, folder, replies, trial

    def recording_in(self, folder: Path) -> Pasted:
        """The same person, with recordings in another folder: a question of one trial is no question of another."""
        return Pasted(self.name, self.folder, Replies(folder, self.replies.mode), f".{digest(folder.parts[-4:])[:8]}")

    def answer(self, prompt: Prompt, inputs: Mapping[str, object], schema: dict, *, anew: bool = False) -> Reply:
        """The pasted reply, from its recording where there is one.

        Raises:
            NotPasted: there is none yet; the question was written.
            MalformedReply: what was pasted is no JSON object.
        """
        request = self.request(prompt, inputs, schema)
        recorded = self.replies.find(request)
        question = self.place(prompt.name, digest(request), "md")
        place = question.with_suffix(".reply.json")
        own = place.is_file() and not place.is_symlink()  # no other file's text gets among the replies
        text = paths.content(place).decode("utf-8", "replace") if own else None
        if recorded is not None and text in (None, recorded["text"]):  # else it was pasted anew
            return read(request, recorded["text"], Usage(replayed=1))
        if text is None:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_whole(question, "\n\n".join(message["content"] for message in request["messages"]) + "\n")
            raise NotPasted(f"paste the reply to {question} into {place.name} beside it, then run again")
        reply = read(request, text, Usage(calls=1))
        self.replies.keep(request, {"text": text})
        return reply

    def request(self, prompt: Prompt, inputs: Mapping[str, object], schema: dict) -> dict:
        """Everything that decides a reply, as JSON values."""
        return asked(prompt, inputs, schema, self.name, {"temperature": 0.0})

    def place(self, prompt: str, asked: str, ending: str) -> Path:
        """A file of a question, which the digest of its request names."""
        return self.folder / f"{prompt}.{asked[:32]}{self.trial}.{ending}"

    def malformed(self, prompt: str, error: MalformedReply) -> Path:
        """Keep what is wrong with a pasted reply; the file that says it."""
        place = self.place(prompt, str(error.digest), "problem.txt")
        self.folder.mkdir(parents=True, exist_ok=True)
        write_whole(place, f"{error.problem}\n")
        return place


def _questions(replies_dir: Path, models: str) -> list[Path]:
    names = [re.sub(r"[^\w.-]", "_", one.removeprefix(PREFIX)) for one in models.split(",") if one.startswith(PREFIX)]
    return [path for name in names for path in sorted((Path(replies_dir).parent / "questions" / name).glob("*.md"))]


def waiting(replies_dir: Path, models: str) -> list[Path]:
    """The questions that wait for a pasted reply, of such models among several ("A,B")."""
    return [path for path in _questions(replies_dir, models) if not path.with_suffix(".reply.json").exists()]


def awaited(replies_dir: Path, models: str) -> tuple[str, ...]:
    """What waits for a person who pastes replies: how many questions and where, then each pasted reply that was
    malformed and why; empty where nothing does."""
    wait = waiting(replies_dir, models)
    wrong = [
        f"{one.with_suffix('.reply.json')} is malformed: {problem.read_text('utf-8').strip()}"
        for one in _questions(replies_dir, models)
        if (problem := one.with_suffix(".problem.txt")).is_file()
    ]
    folders = ", ".join(str(folder) for folder in dict.fromkeys(one.parent for one in wait))
    how = "paste the reply to each NAME.md beside it, as NAME.reply.json; the same command goes on from there"
    return (*([f"{len(wait)} wait in {folders}: {how}"] if wait else ()), *wrong)


class Forecast:
    """An engine that counts what an endpoint would be asked, and answers as another engine does (`answers`, which may
    be replaced by one that knows more).

    Calls and tokens are an estimate: later questions depend on what a model answers to earlier ones, and four bytes are
    taken for a token.  What is recorded already is not counted.
    """

    def __init__(self, endpoint: Endpoint, answers: object) -> None:
        self.name, self._endpoint, self.answers = endpoint.name, endpoint, answers
        self.ledger = Ledger()

    def answer(self, prompt: Prompt, inputs: Mapping[str, object], schema: dict) -> Reply:
        """The other engine's reply; the question is counted unless a reply to it is recorded."""
        request = self._endpoint.request(prompt, inputs, schema)
        reply = self.answers.answer(prompt, inputs, schema)
        sent = sum(_tokens(message["content"]) for message in request["messages"])
        got = _tokens(json.dumps(dict(reply.value), ensure_ascii=False))
        recorded = self._endpoint.replies.path(request).exists() and self._endpoint.replies.mode != "record"
        asked = Usage(replayed=1) if recorded else Usage(1, sent, got, self.price.of(sent, got))
        self.ledger.add(prompt.name, asked)
        return reply

    @property
    def price(self) -> Price:
        """Money per million tokens; 0 where none is known."""
        return self._endpoint.price


def _tokens(text: str) -> int:
    return -(-len(text.encode("utf-8")) // BYTES)


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
