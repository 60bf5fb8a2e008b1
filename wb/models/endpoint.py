"""An OpenAI-compatible endpoint as an engine: requests recorded, retried, budgeted, never leaking the key.

The `openai` client's own retries are off: each retry is counted against the budget and named in the
ledger.  Where a service does not know a parameter (`response_format`, `max_tokens`, `temperature`), the
request is sent again without it; the wanted JSON schema stands in the message too.

Replies are recorded as one JSON file a request, named by the digest of what was asked, so that they can be
shared, compared by line and replayed.  In `replay` the network is never touched and a missing reply is an
error that names the prompt; `auto` reads what is there and records the rest; `record` asks anew and
replaces.  Keys and addresses of endpoints are no part of a record.

The answer is the one JSON object in a reply, whatever stands around it: thoughts, prose, code fences.  What a model
thought is no answer: where a reply has the marks of a thought, the answer stands behind the last one that closes.  An
object counts if it has the declared shape; two that differ are none.  One that stands in prose and in the question as
well may be a quotation of it, such as of what an agent said, and is none either.
"""

from __future__ import annotations

import copy
import email.utils
import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import jsonschema_rs
import pydantic

from wb.logic import escapes
from wb.logic.wording import shortened
from wb.models.ledger import Account, Amount, Budget, ModelError, Price, Usage
from wb.models.prompt import Prompt
from wb.paths import digest, discard, write_whole

if TYPE_CHECKING:
    import openai
    import tenacity

Mode = Literal["auto", "replay", "record"]
MODES = ("auto", "replay", "record")


class MissingReply(ModelError):
    """Replay was asked for, and this request was never recorded."""

    fatal = True


class CorruptReply(ModelError):
    """A recorded file does not hold the request that its name stands for."""

    fatal = True


class _Message(pydantic.BaseModel, strict=True):
    content: str | None = None
    refusal: str | None = None


class _Choice(pydantic.BaseModel, strict=True):
    message: _Message
    finish_reason: str | None = None


class Counts(pydantic.BaseModel, strict=True):
    """The tokens that a service says it used."""

    prompt_tokens: pydantic.NonNegativeInt
    completion_tokens: pydantic.NonNegativeInt


class Completion(pydantic.BaseModel, strict=True):
    """The part of a chat completion that is read, all else is ignored. `usage` in any other shape is none."""

    choices: list[_Choice] = pydantic.Field(min_length=1)
    model: str | None = None
    usage: Counts | None | object = None


class _Reply(pydantic.BaseModel):
    """What was answered: its text, and whatever else was recorded with it."""

    model_config = pydantic.ConfigDict(extra="allow")
    text: str


class _Record(pydantic.BaseModel):
    request: dict
    reply: _Reply
    digest: str


@dataclass(frozen=True, slots=True)
class Replies:
    """A folder of recorded replies and how it is used."""

    folder: Path
    mode: Mode = "auto"

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ValueError(f"mode must be one of {list(MODES)}; got {self.mode!r}")

    def find(self, request: Mapping[str, object]) -> dict | None:
        """The recorded reply to a request, or None where it has to be asked.

        Raises:
            MissingReply: in `replay`, when there is none.
            CorruptReply: in `replay`, when the file is damaged; elsewhere it is asked for again.
        """
        if self.mode == "record":
            return None
        path = self.path(request)
        try:
            if path.exists() and not path.is_file():  # a folder, or what never ends
                return self._corrupt(path, "it is no file")
            record = _Record.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            return self._missing(request)
        except OSError as error:
            return self._corrupt(path, f"it cannot be read: {error.strerror}")
        except pydantic.ValidationError as error:
            return self._corrupt(path, f"it holds no request with its reply: {error.errors()[0]['msg']}")
        if record.request != request:
            return self._corrupt(path, "it holds another request")
        reply = record.reply.model_dump()
        if record.digest != digest([request, reply]):
            return self._corrupt(path, "its digest is not that of the request and the reply in it")
        return reply

    def keep(self, request: Mapping[str, object], reply: Mapping[str, object]) -> None:
        """Record a reply: whole or not at all, also when the process is killed."""
        self.folder.mkdir(parents=True, exist_ok=True)
        record = {"request": request, "reply": reply, "digest": digest([request, reply])}
        text = json.dumps(record, indent=1, ensure_ascii=False, sort_keys=True)
        if not (path := self.path(request)).is_file():
            discard(path)
        write_whole(path, text + "\n")

    def path(self, request: Mapping[str, object]) -> Path:
        """Where the reply to a request is kept: `PROMPT.DIGEST.json`, so that a folder can be read by eye."""
        return self.folder / f"{request['prompt']}.{digest(request)[:32]}.json"

    def _missing(self, request: Mapping[str, object]) -> None:
        if self.mode == "replay":
            raise MissingReply(
                f"replay needs a recorded reply to prompt {request['prompt']!r} from model {request['model']!r}; "
                f"{self.path(request).name} is not in {self.folder}; record it with mode 'auto' and a model"
            )

    def _corrupt(self, path: Path, problem: str) -> None:
        if self.mode == "replay":
            raise CorruptReply(
                f"{path.name} must hold the reply that its name stands for; {problem}; "
                "delete it and record it again with mode 'auto'"
            )


LONGEST_WAIT_S = 120.0
NOTHING, UNLIMITED = Usage(), Budget()
LARGEST = 16_000_000  # bytes of a reply: none of a few thousand tokens comes near
FINISHED = ("stop", "length", "content_filter", "tool_calls", "function_call", None)
SECRET = 12  # characters: a shorter key (`x`, `test`) is none, it stands in ordinary text by chance


@dataclass(frozen=True, slots=True)
class Reply:
    """An engine's reply: a JSON object, what it took, the digest of its recording (None: not recorded),
    who answered, and what went wrong on the way. `renewable`: it was read from a recording that may be asked anew."""

    value: Mapping[str, object]
    usage: Usage = Usage()
    digest: str | None = None
    engine: str = ""
    events: tuple[str, ...] = ()
    renewable: bool = False


class MalformedReply(ModelError):
    """A reply that is not JSON, or not of the declared type; `renewable` as in `Answer`."""

    def __init__(
        self,
        prompt: str,
        text: str,
        problem: str,
        usage: Usage = NOTHING,
        events: tuple[str, ...] = (),
        digest: str | None = None,
        renewable: bool = False,
    ) -> None:
        super().__init__(
            f"prompt {prompt!r} needs a reply of its declared type; {problem}; got {shortened(text, 200)!r}",
            usage,
            events,
        )
        self.text, self.problem, self.digest, self.renewable = text, problem, digest, renewable


class TruncatedReply(ModelError):
    """The reply was cut at the largest number of tokens allowed."""


class Unreachable(ModelError):
    """Every attempt failed: time-outs, dropped connections, 429s or server errors."""


class Rejected(ModelError):
    """The endpoint refused this request, for instance because it is too long."""


class Refused(ModelError):
    """The endpoint refuses every request: a wrong key, no permission, no credit."""

    fatal = True


class UnknownModel(ModelError):
    """The endpoint does not serve the model; the message names those it lists."""

    fatal = True


class _Again(Exception):
    """One failed attempt that may succeed later. `after_s` is what the server asked to wait, if it did."""

    def __init__(self, problem: str, after_s: float | None = None) -> None:
        super().__init__(problem)
        self.after_s = after_s


class _TurnedDown(Exception):
    """The endpoint turned the attempt down before a model worked on it, so no tokens were used."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass(frozen=True, slots=True)
class _Course:
    """What happened to one question so far; both lists only grow."""

    usages: list[Usage] = field(default_factory=list)
    events: list[str] = field(default_factory=list)

    @property
    def usage(self) -> Usage:
        return sum(self.usages, Usage())


def asked(
    prompt: Prompt, inputs: Mapping[str, object], schema: dict, model: str, settings: Mapping[str, object]
) -> dict:
    """Everything that decides a reply, as JSON values: what a recording is keyed by."""
    system, *others = prompt.render(**inputs)
    wanted = "Reply with one JSON object that matches this JSON schema, and nothing else:\n" + json.dumps(
        schema, ensure_ascii=False, sort_keys=True
    )
    messages = [{"role": "system", "content": f"{system['content']}\n\n{wanted}"}, *others]
    return {
        "prompt": prompt.name,
        "model": model,
        "messages": messages,
        "schema": schema,
        "settings": dict(settings),
    }


def read(request: Mapping, text: str, usage: Usage, events: tuple[str, ...] = (), renewable: bool = False) -> Reply:
    """What a model's text answers to a request.

    Raises:
        MalformedReply: it is no JSON object, or not exactly one.
    """
    key, question = digest(request), "\n".join(m["content"] for m in request["messages"] if m["role"] != "assistant")
    try:
        value = json_answer(text, request["schema"], question)
    except NotRead as error:
        raise MalformedReply(request["prompt"], text, str(error), usage, events, key, renewable) from None
    return Reply(value, usage, key, request["model"], events, renewable)


class Endpoint:
    """One model of an OpenAI-compatible service. Without `base_url`, the `openai` client's default.

    `retries` follow a failed attempt after `wait_s`, doubling, or what Retry-After says up to two
    minutes; `timeout_s` bounds each attempt, `max_tokens` each reply.  `spending` is a file through which
    several processes share the budget.
    """

    def __init__(
        self,
        model: str,
        *,
        replies: Replies,
        base_url: str | None = None,
        api_key: str | None = None,
        budget: Budget = UNLIMITED,
        price: Price | None = None,
        timeout_s: float = 120.0,
        retries: int = 4,
        max_tokens: int = 4096,
        temperature: float = 0.0,
        wait_s: float = 1.0,
        spending: Path | None = None,
    ) -> None:
        if budget.money is not None and price is None:
            raise ValueError(f"a budget of money ({budget.money}) needs the model's price per million tokens; got none")
        self.name, self.replies, self.account, self.price = model, replies, Account(budget, spending), price or Price()
        self.timeout_s, self.retries, self.wait_s = timeout_s, retries, wait_s
        self.max_tokens, self.settings = max_tokens, {"temperature": temperature}
        self._base_url, self._key, self._client, self._lock = base_url, api_key or "", None, threading.Lock()
        self._unknown: frozenset[str] = frozenset()  # parameters that this service turned down

    def __repr__(self) -> str:
        return f"Endpoint({self.name!r})"  # never the key

    def recording_in(self, folder: Path) -> Endpoint:
        """The same service, budget and connections, with its recordings in another folder."""
        self._connected()  # so that it is shared
        other = copy.copy(self)
        other.replies = Replies(folder, self.replies.mode)
        return other

    def answer(self, prompt: Prompt, inputs: Mapping[str, object], schema: dict, *, anew: bool = False) -> Reply:
        """The model's reply, from its recording where there is one; `anew` asks again and replaces a recording.

        Raises:
            ModelError: no reply (see the subclasses); MalformedReply: a reply that is no JSON object.
        """
        request = self.request(prompt, inputs, schema)
        again = anew and self.replies.mode != "replay"
        reply, course = None if again else self.replies.find(request), _Course()
        if reply is not None:
            return read(request, reply["text"], Usage(replayed=1), renewable=self.replies.mode == "auto")
        if self.replies.mode == "auto" and not again and self.replies.path(request).exists():
            course.events.append("its recording is damaged; asked anew")
        reply = self._ask(request, course)
        self.replies.keep(request, reply)
        return read(request, reply["text"], course.usage, tuple(course.events))

    def request(self, prompt: Prompt, inputs: Mapping[str, object], schema: dict) -> dict:
        """Everything that decides the reply, as JSON values: what a recording is keyed by.

        `max_tokens` is no part of it: a reply that it cut is never recorded.
        """
        return asked(prompt, inputs, schema, self.name, self.settings)

    def _ask(self, request: dict, course: _Course) -> dict:
        """The reply from the network, with retries; `course` records each attempt."""
        from tenacity import Retrying, retry_if_exception_type, stop_after_attempt

        def note(state: tenacity.RetryCallState) -> None:
            course.events.append(
                f"retry {state.attempt_number} after {state.next_action.sleep:g} s: "
                f"{self._safe(state.outcome.exception())}"
            )
            course.usages.append(Usage(retries=1))

        attempts = Retrying(
            stop=stop_after_attempt(self.retries + 1),
            retry=retry_if_exception_type(_Again),
            wait=self._wait,
            before_sleep=note,
            reraise=True,
        )
        try:
            return attempts(self._attempt, request, course)
        except _Again as error:
            raise Unreachable(
                f"prompt {request['prompt']!r} got no reply from {self.name!r} in {self.retries + 1} attempts; "
                f"the last: {self._safe(error)}",
                course.usage,
                tuple(course.events),
            ) from None
        except ModelError as error:
            error.usage, error.events = course.usage, tuple(course.events)
            raise

    def _wait(self, state: tenacity.RetryCallState) -> float:
        """Seconds before the next attempt: what the server asked for, else doubling from `wait_s`."""
        asked = state.outcome.exception().after_s
        if asked is not None and asked > LONGEST_WAIT_S:
            raise Unreachable(
                f"{self.name!r} asks to wait {asked:g} s, at most {LONGEST_WAIT_S:g} s are waited; run again later"
            )
        return asked if asked is not None else min(self.wait_s * 2 ** (state.attempt_number - 1), LONGEST_WAIT_S)

    def _attempt(self, request: dict, course: _Course) -> dict:
        """One request within the budget. What an attempt without a reply cost is unknown: its worst case counts."""
        most = sum(len(m["content"].encode("utf-8")) + 16 for m in request["messages"]) + len(
            json.dumps(request["schema"])
        )
        worst = Usage(1, most, self.max_tokens, self.price.of(most, self.max_tokens))
        self.account.reserve(_amount(worst), f"prompt {request['prompt']!r}")
        used, started = worst, time.monotonic()
        try:
            body = _completion(self._send(request, course), self._safe)
            used = self._usage(body, worst, course)
            return self._reply(body, request)
        except _TurnedDown as turned:
            used = Usage(calls=1)
            raise turned.error from None
        finally:
            self.account.settle(_amount(worst), _amount(used))
            course.usages.append(used + Usage(seconds=round(time.monotonic() - started, 3)))

    def _send(self, request: dict, course: _Course) -> bytes:
        """The endpoint's body for one attempt."""
        import httpx2
        import openai

        late = _Again(f"no reply within {self.timeout_s:g} s")
        deadline = time.monotonic() + self.timeout_s
        try:
            with self._connected().chat.completions.with_streaming_response.create(
                **self._parameters(request)
            ) as response:
                body = bytearray()
                for chunk in response.iter_bytes():
                    body += chunk
                    if len(body) > LARGEST:
                        raise Rejected(f"a reply of at most {LARGEST} bytes was required; {self.name!r} sent more")
                    if time.monotonic() > deadline:
                        raise late
            return bytes(body)
        except (openai.APITimeoutError, httpx2.TimeoutException):
            raise late from None
        except (openai.APIConnectionError, httpx2.HTTPError) as error:
            raise _Again(f"the connection failed: {self._safe(error.__cause__ or error)}") from None
        except openai.APIStatusError as error:
            raise self._status(error, course) from None

    def _parameters(self, request: dict) -> dict:
        """The request as the service takes it."""
        shape = {"type": "json_schema", "json_schema": {"name": request["prompt"], "schema": request["schema"]}}
        wanted = {
            "model": request["model"],
            "messages": request["messages"],
            "response_format": shape,
            "max_tokens": self.max_tokens,
            **request["settings"],
        }
        if "max_tokens" in self._unknown:
            wanted["max_completion_tokens"] = self.max_tokens
        return {name: value for name, value in wanted.items() if name not in self._unknown}

    def _status(self, error: openai.APIStatusError, course: _Course) -> Exception:
        """What an HTTP error status means: try again, or which error it is."""
        status, text = error.status_code, self._safe(error.message)
        problem = f"HTTP {status}: {text}"
        if status >= 500 or status == 408:
            return _Again(problem, _retry_after(error.response.headers))
        if status == 404:
            return _TurnedDown(
                UnknownModel(
                    f"model must be one that the endpoint serves ({self._listed()}); got {self.name!r}: {problem}"
                )
            )
        if status in (401, 402, 403) or "insufficient_quota" in text:
            return _TurnedDown(
                Refused(
                    f"the endpoint must accept the key in OPENAI_API_KEY and have credit for it; it refused: {problem}"
                )
            )
        if status in (409, 429):
            return _TurnedDown(_Again(problem, _retry_after(error.response.headers)))
        named = next(
            (
                name
                for name in ("response_format", "max_tokens", "temperature")
                if name in text and name not in self._unknown
            ),
            None,
        )
        if status in (400, 422) and named:
            self._unknown |= {named}
            return _TurnedDown(_Again(f"{problem}; sent again without {named!r}", 0.0))
        return _TurnedDown(Rejected(f"{self.name!r} turned the request down: {problem}"))

    def _usage(self, body: Completion, worst: Usage, course: _Course) -> Usage:
        """What the endpoint counted; its worst case where it does not count."""
        counts = body.usage
        if not isinstance(counts, Counts):
            course.events.append("the endpoint reports no usage; the worst case was counted")
            return worst
        used = Usage(
            1,
            counts.prompt_tokens,
            counts.completion_tokens,
            self.price.of(counts.prompt_tokens, counts.completion_tokens),
        )
        if used.prompt_tokens + used.completion_tokens > worst.prompt_tokens + worst.completion_tokens:
            course.events.append(
                f"the endpoint counts {used.prompt_tokens + used.completion_tokens} tokens, more than the possible "
                f"{worst.prompt_tokens + worst.completion_tokens}"
            )
        return used

    def _reply(self, body: Completion, request: dict) -> dict:
        """The part of a body that is recorded, its text as it came; a reply that is cut, empty or holds the key is an
        error and is not recorded."""
        choice = body.choices[0]
        text, finish = choice.message.content or "", choice.finish_reason
        finish = finish if finish in FINISHED else "another"  # whatever a service says there is recorded
        if finish == "length":
            raise TruncatedReply(
                f"prompt {request['prompt']!r} needs a whole reply; it was cut at {self.max_tokens} tokens; "
                f"raise max_tokens (WB_REPLY_TOKENS); it began {self._safe(shortened(text, 120))!r}"
            )
        if not text:
            why = choice.message.refusal or f"finish_reason {finish!r}"
            raise Rejected(
                f"prompt {request['prompt']!r} needs a reply; {self.name!r} gave an empty one: {self._safe(why)}"
            )
        if self._holds(text):
            raise Rejected(
                f"prompt {request['prompt']!r} needs a reply that can be kept; {self.name!r} gave one "
                "that holds the key in OPENAI_API_KEY"
            )
        counts = body.usage.model_dump() if isinstance(body.usage, Counts) else dict.fromkeys(Counts.model_fields)
        return {
            "text": text.encode("utf-8", "replace").decode("utf-8"),
            "finish_reason": finish,
            "model": self._safe(body.model or ""),
            "usage": counts,
        }

    def _connected(self) -> openai.OpenAI:
        """The client, made at the first request."""
        import openai

        with self._lock:
            if self._client is None:
                # a service on one's own machine needs no key, the client insists on one
                self._client = openai.OpenAI(
                    api_key=self._key or "none", base_url=self._base_url, max_retries=0, timeout=self.timeout_s
                )
            return self._client

    def _listed(self) -> str:
        """The models that the endpoint lists, for a message."""
        import openai

        try:
            names = sorted(model.id for model in self._connected().models.list().data)
        except (openai.OpenAIError, TypeError, AttributeError):
            return "it lists none"
        return ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "") or "it lists none"

    def _holds(self, text: str) -> bool:
        """Whether a text holds the key, also under escapes of JSON in JSON, or nests them too deep to say."""
        try:
            return len(self._key) >= SECRET and any(self._key in one for one in escapes.resolved(text))
        except ValueError:
            return True

    def _safe(self, text: object, longest: int | None = 300) -> str:
        """A text for messages and logs, without the key; never for what is parsed."""
        plain = str(text).replace(self._key, "[key]") if self._key else str(text)
        if self._holds(plain):
            return "[a text that holds the key]"
        return plain[:longest]


def _amount(usage: Usage) -> Amount:
    return Amount(usage.calls, usage.prompt_tokens + usage.completion_tokens, usage.cost)


def _completion(body: bytes, safe: Callable[[object], str]) -> Completion:
    """A response body as a chat completion."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise _Again(f"the body is not JSON: {body[:120]!r}") from None
    if not isinstance(value, dict):
        raise _Again(f"the body is no JSON object: {body[:120]!r}")
    try:
        return Completion.model_validate(value)
    except pydantic.ValidationError:
        raise _Again(f"no chat completion: {safe(json.dumps(value))}") from None


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait by the Retry-After header (seconds or a date), None without one."""
    text = headers.get("retry-after", "")
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except ValueError:
        return None


# ---- the answer in a reply -----------------------------------------------------------------------

# <think>, <seed:think>, [THINK], ◁think▷, <|begin_of_thought|>, <|channel|>analysis<|message|>
_NAME = r"(?:\w+:)?(?:(?:inner_)?think(?:ing)?|thoughts?|reason(?:ing)?|reflection|analysis|scratchpad|monologue)"
_OPENS = re.compile(
    rf"<{_NAME}\b[^<>]*>|\[{_NAME}\]|◁{_NAME}▷|<\|begin_of_{_NAME}\|>|<\|channel\|>\s*(?:analysis|commentary)\b", re.I
)
_CLOSES = re.compile(
    rf"</{_NAME}\s*>|\[/{_NAME}\]|◁/{_NAME}▷|<\|end_of_{_NAME}\|>|<\|channel\|>\s*final\s*<\|message\|>", re.I
)
_OBJECT = re.compile(r"\{(?=(\s*[\"}])?)")
_BLANK = re.compile(r"[\s\\]+")
BRACES = 200  # of prose, in a reply; looking at each takes time


class NotRead(ValueError):
    """A reply in which there is not exactly one answer; the message says what was found."""


def json_answer(text: str, schema: dict, question: str = "") -> dict:
    """The JSON object that a reply gives to a question, as it stands there.

    A reply that is nothing but JSON, in a code fence or not, is taken as it is, of whatever shape; in any other one the
    object has to match the schema, have a property that it declares, and not stand in the question.

    Raises:
        NotRead: there is no such object, there are two that differ, or it cannot be told.
    """
    try:
        value = _load(_unfenced(text))
    except ValueError as error:
        value = _only(text, json.dumps(schema), f"not JSON: {error}")
        if _quoted(value, question):
            raise NotRead("the one JSON object in it stands in the question as well: it may be quoted") from None
    except RecursionError:
        raise NotRead("not JSON: it is nested too deeply") from None
    if not isinstance(value, dict):
        raise NotRead(f"a JSON object was required; got {type(value).__name__}")
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")  # half a surrogate pair could not be written anywhere
    except ValueError as error:
        raise NotRead(f"not JSON: {error}") from None
    return value


def _only(text: str, schema: str, problem: str) -> dict:
    """The one object of the shape outside thoughts; `problem` is why the whole text is none."""
    opened, closed = (list(marks.finditer(text)) for marks in (_OPENS, _CLOSES))
    start = closed[-1].end() if closed else 0
    found = [] if opened and opened[-1].start() >= start else _objects(text[start:], schema)
    ahead = text[: opened[0].start()] if opened else text[:start]
    if closed and any(one not in found for one in _objects(ahead, schema)):
        raise NotRead("an answer stands before the end of a thought, and not the same one behind it")
    if not found:
        raise NotRead(f"{problem}, and no JSON object of the declared shape stands in it outside a thought")
    if any(one != found[0] for one in found):
        raise NotRead(f"one JSON object was required; got {len(found)} that differ")
    return found[0]


def _objects(text: str, schema: str) -> list[dict]:
    """The outermost JSON objects of the shape.

    Raises:
        NotRead: something begins as an object and is none: what stands in it must not be taken for the answer.
    """
    found, at, braces = [], 0, 0
    while begins := _OBJECT.search(text, at):
        try:
            value, at = _DECODER.raw_decode(text, begins.start())
        except RecursionError:
            raise NotRead("not JSON: it is nested too deeply") from None
        except ValueError as error:
            if begins[1]:
                raise NotRead(f"not JSON: {error}") from None
            at, braces = begins.end(), braces + 1
            if braces > BRACES:
                raise NotRead(f"not JSON: {error}") from None
            continue
        if _fits(value, schema):
            found.append(value)
    return found


def _quoted(value: dict, question: str) -> bool:
    """Whether an object stands in the question, in whatever blanks, also inside a JSON text."""
    said = _BLANK.sub("", question)
    return any(_BLANK.sub("", json.dumps(value, ensure_ascii=plain)) in said for plain in (True, False))


def _unfenced(text: str) -> str:
    """A reply without the one code fence around it that services without JSON schemas like to put there."""
    plain = text.strip()
    fenced = plain.startswith("```") and plain.endswith("```") and "\n" in plain and plain.count("```") == 2
    return plain[plain.index("\n") : -3] if fenced else plain


def _fits(value: dict, schema: str) -> bool:
    validator, names = _validator(schema)
    return bool(value.keys() & names) and validator.is_valid(value)


@cache
def _validator(schema: str) -> tuple[jsonschema_rs.Validator, frozenset[str]]:
    """What holds an object against the schema, and the properties that it declares."""
    declared = json.loads(schema)
    return jsonschema_rs.validator_for(declared, offline=True), frozenset(declared.get("properties", {}))


def _once(pairs: list[tuple[str, object]]) -> dict:
    """An object none of whose keys stands twice: the second one would silently be the answer."""
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError(f"a key stands twice among {[name for name, _ in pairs]}")
    return value


_DECODER = json.JSONDecoder(object_pairs_hook=_once)


def _load(text: str) -> object:
    return _DECODER.decode(text)
