"""OpenAI tool calls: the messages of a chat in, the `tool` messages of the calls out.

    tools = Tools(session, {"lend_book": lend_book})
    while True:
        message = client.chat.completions.create(model=MODEL, messages=messages, tools=SCHEMAS).choices[0].message
        messages.append(message)
        if not message.tool_calls:
            break
        messages += tools.run(messages)    # one `tool` message a call; only allowed calls were made

Messages are what the client returns or dicts of the same keys.  The texts of user and assistant are told to the
session, each once.  The calls of one message are one step.  Arguments are one JSON object, each key once: what is not
is refused, and nothing is repaired.  A refused call gets a `tool` message as every other, whose text says why.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, NamedTuple

from wb.adapters import enforcement
from wb.adapters.enforcement import Answer, Current, Enforcer, of, spoken
from wb.adapters.functions import JSON, plain
from wb.domain import schema

Message = dict[str, str]  # a `tool` message: role, tool_call_id, content
SPEAKERS = ("user", "assistant")


class _Asked(NamedTuple):
    """A tool call as the model wrote it: its id, the name of its tool, and the text of its arguments."""

    id: str
    name: object
    text: object
    known: str  # by its id in the session
    problem: str = ""


class Tools:
    """Functions by the names of tools, called only where the session allows it.

    `session` is one, or a function without arguments that tells the one of the present conversation.  Of one
    conversation the list of messages may only grow.
    """

    def __init__(self, session: Current, functions: Mapping[str, Callable[..., Any]]) -> None:
        self.session, self.functions = session, dict(functions)

    def run(self, messages: Sequence[Any]) -> list[Message]:
        """Make the calls that the last message asks for, one after the other; a `tool` message for each.

        Raises:
            ValueError: the last message is none of the assistant.
            TypeError: a function that would be called is a coroutine function: `arun` calls it.
        """
        enforcer, calls, problem = self._begin(messages)
        step, found = enforcer.step(), []
        for call in calls:
            if inspect.iscoroutinefunction(self._function(call)):
                raise TypeError(f"{call.name}: a function that is no coroutine function was required; use `arun`")
        asked = ((call, self._asked(enforcer, call, problem, step)) for call in calls)
        for call, answer in list(asked) if enforcer.whole else asked:
            function, answer = self._function(call), enforcer.still(answer, call.name, call.known, step)
            if not answer.runs or function is None:
                found.append(_refused(enforcer, call, answer))
                continue
            try:
                with enforcer.made(call.name, call.known, function):
                    value = function(**enforcer.whole_numbers(call.name, json.loads(call.text)))
            except Exception as error:  # whatever a tool raises is told to the model
                found.append(_message(call, f"The call failed: {enforcement.said(error)}"))
            else:
                found.append(_returned(enforcer, call, value))
        return found

    async def arun(self, messages: Sequence[Any]) -> list[Message]:
        """The same with allowed calls under way together: they are decided in their order before any begins, and those
        on which a verdict may rest are made in it, each when the one before it has ended.

        Functions that are no coroutine functions run in threads.
        """
        enforcer, calls, problem = self._begin(messages)
        step, running = enforcer.step(), []
        for call in calls:
            arguments, answer = _read(enforcer, call, problem, step)
            answer = answer or await enforcer.ask_async(call.name, arguments, call.known, step, in_order=True)
            running.append((call, answer))
        turns = asyncio.Lock()  # those that wait get it in the order in which they came
        minds = [type(call.name) is not str or enforcer.session.minds(call.name) for call, _ in running]
        orders = [turns if mind else nullcontext() for mind in minds]
        made = [self._made(enforcer, *one, step, order) for one, order in zip(running, orders, strict=True)]
        return list(await asyncio.gather(*made))

    def _asked(self, enforcer: Enforcer, call: _Asked, problem: str, step: int) -> Answer:
        arguments, answer = _read(enforcer, call, problem, step)
        return answer or enforcer.ask(call.name, arguments, call.known, step, in_order=True)

    async def _made(
        self, enforcer: Enforcer, call: _Asked, answer: Answer, step: int, order: AbstractAsyncContextManager[Any]
    ) -> Message:
        async with order:
            function, answer = self._function(call), enforcer.still(answer, call.name, call.known, step)
            if not answer.runs or function is None:
                return _refused(enforcer, call, answer)
            given = enforcer.whole_numbers(call.name, json.loads(call.text))
            waits = inspect.iscoroutinefunction(function)
            try:
                with enforcer.made(call.name, call.known, function):
                    value = await (function(**given) if waits else asyncio.to_thread(function, **given))
            except Exception as error:  # whatever a tool raises is told to the model
                return _message(call, f"The call failed: {enforcement.said(error)}")
            return _returned(enforcer, call, value)

    def _function(self, call: _Asked) -> Callable[..., Any] | None:
        return self.functions.get(call.name) if type(call.name) is str else None

    def _begin(self, messages: Sequence[Any]) -> tuple[Enforcer, tuple[_Asked, ...], str]:
        """What the last message asks for, once all texts are told; why nothing of it may be believed."""
        if not messages or of(messages[-1], "role") != "assistant":
            raise ValueError("messages that end with one of the assistant were required: append what the client gave")
        enforcer = enforcement.enforcer(self.session)
        problem, calls = _hear(enforcer, messages), of(messages[-1], "tool_calls") or ()
        ids = [str(of(call, "id")) for call in calls]
        found = [
            _asked(call, enforcer.own(one), one in ids[:i])
            for i, (call, one) in enumerate(zip(calls, ids, strict=True))
        ]
        return enforcer, tuple(found), problem


def _hear(enforcer: Enforcer, messages: Sequence[Any]) -> str:
    """Tell the session what is new in the messages; why they cannot be those of the conversation so far."""
    said = [(role, _spoken(one, role)) for one in messages if (role := of(one, "role")) in SPEAKERS]
    with enforcer.lock:
        before = enforcer.heard.setdefault("messages", [])
        if said[: len(before)] != before:
            return "the messages of before are not those that the session was told of: the list may only grow"
        for role, text in said[len(before) :]:
            if problem := enforcer.told(role, text):
                return problem
            before.append((role, text))
        return ""


def _spoken(message: Any, role: str) -> str:
    """What a message says, also where that stands beside its content."""
    audio = of(message, "audio")
    heard = None if audio is None else of(audio, "transcript") or "[audio, not read]"
    beside = [one for one in (of(message, "refusal"), heard) if isinstance(one, str)]
    return "\n".join(filter(None, (spoken(message, role), *beside)))


def _asked(call: Any, known: str, again: bool) -> _Asked:
    """A tool call; `again` where another one of its message has its id."""
    function, name = of(call, "function"), str(of(call, "id"))
    if function is None:
        problem = "a function call with arguments by name was required"
        return _Asked(name, of(of(call, "custom"), "name"), "", known, problem)
    problem = "an id of its own in its message was required" if again else ""
    return _Asked(name, of(function, "name"), of(function, "arguments"), known, problem)


def _read(enforcer: Enforcer, call: _Asked, problem: str, step: int) -> tuple[Any, Answer | None]:
    """The arguments of a call, or its refusal where they cannot be read or what was said before is not known."""
    why = call.problem or ("" if enforcer.session.observe else problem)
    try:
        if not why:
            return enforcement.parsed(call.text), None
    except ValueError as error:
        why = str(error)
    return None, enforcer.unread(call.name, call.text, why, step)


def _refused(enforcer: Enforcer, call: _Asked, answer: Answer) -> Message:
    """The message of a call that is not made; one that is allowed but that no function makes was not done."""
    if not answer.runs:
        return _message(call, answer.refusal)
    enforcer.done("no such function", call.known, True)
    return _message(call, f"The call failed: there is no function for {schema.got(call.name)}")


def _returned(enforcer: Enforcer, call: _Asked, value: object) -> Message:
    """The message of a call that was made, once what it gave is told."""
    enforcer.done(plain(value), call.known)
    return _message(call, _text(value))


def _message(call: _Asked, text: str) -> Message:
    return {"role": "tool", "tool_call_id": call.id, "content": text}


def _text(value: object) -> str:
    """What a function gave as the model reads it: a text as it is, else JSON, else what Python says."""
    if isinstance(value, str):
        return value
    try:
        return JSON.dump_json(value).decode()
    except (ValueError, RecursionError):
        return str(value)
