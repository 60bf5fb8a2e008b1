"""LangGraph: a wrapper of tool calls for `ToolNode`, and for whatever else takes `wrap_tool_call`.

    node = tool_node(tools, session)                         # or, with more of one's own:
    guarded = Guarded(session)
    node = ToolNode(tools, wrap_tool_call=guarded.wrap, awrap_tool_call=guarded.awrap)

A refused call gets a `ToolMessage` of status `error`, whose text says why; its tool is not called.  The calls of one
message of the model are one step, and are all decided, in their order, when the first of them comes.  `ToolNode` runs
them at the same time, so each is judged as if those before it were done or not, and one that an earlier one's verdict
may rest on is refused (`Enforcer.ask`): it has to be asked for in a later message.  The texts of
human and model in the state are told to the session, each once: messages are told apart by their ids, which
`add_messages` gives them.  A call that is made again (a retry, a node that runs anew after an interrupt) is another
call, decided by what is known then.  Where the message still has the text that its arguments were parsed from, it must
be plain JSON and say the same; LangChain repairs what a stream left half, and throws the text away.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from wb.adapters import enforcement
from wb.adapters.enforcement import Answer, Current, Enforcer, of, words
from wb.domain import schema
from wb.domain.trace import Verdict

if TYPE_CHECKING:
    from langgraph.prebuilt import ToolNode
    from langgraph.prebuilt.tool_node import ToolCallRequest

MODEL = ("ai", "AIMessageChunk")
SPEAKERS = {"human": "user", "HumanMessageChunk": "user", **dict.fromkeys(MODEL, "assistant")}
KEPT = 64  # messages of the model whose decisions are kept


class _Decided(NamedTuple):
    """A call of a message as it was judged, its id in the session, and the answer."""

    name: object
    arguments: object
    known: str
    answer: Answer


def tool_node(tools: Sequence[Any], session: Current, **options: Any) -> ToolNode:
    """A `ToolNode` of these tools whose calls the session decides; options are those of `ToolNode`."""
    from langgraph.prebuilt import ToolNode

    guarded = Guarded(session, options.get("messages_key", "messages"))
    return ToolNode(tools, wrap_tool_call=guarded.wrap, awrap_tool_call=guarded.awrap, **options)


class Guarded:
    """What stands around each call of a tool.

    `session` is one, or a function that tells the one of a `ToolCallRequest`, such as by its `thread_id`; `messages` is
    the key of the messages in the graph's state.
    """

    def __init__(self, session: Current, messages: str = "messages") -> None:
        self.session, self.messages = session, messages

    def wrap(self, request: ToolCallRequest, execute: Callable[[ToolCallRequest], Any]) -> Any:
        """The result of an allowed call, or a message that says why it was not made."""
        enforcer = enforcement.enforcer(self.session, request)
        decided = self._decide(enforcer, request)
        if not decided.answer.runs:
            return _refused(request, decided.answer)
        with _made(enforcer, decided):
            result = execute(request)
        return _told(enforcer, decided, result)

    async def awrap(self, request: ToolCallRequest, execute: Callable[[ToolCallRequest], Awaitable[Any]]) -> Any:
        """The same for a graph that runs asynchronously."""
        enforcer = enforcement.enforcer(self.session, request)
        waits = enforcer.session.asks
        decided = await asyncio.to_thread(self._decide, enforcer, request) if waits else self._decide(enforcer, request)
        if not decided.answer.runs:
            return _refused(request, decided.answer)
        with _made(enforcer, decided):
            result = await execute(request)
        return _told(enforcer, decided, result)

    def _decide(self, enforcer: Enforcer, request: ToolCallRequest) -> _Decided:
        """What was decided of the call, with those of its message."""
        call, state = request.tool_call, request.state
        messages = state if isinstance(state, list | tuple) else of(state, self.messages) or ()
        with enforcer.lock:
            at = _asking(messages, call["id"])
            problem = "" if at is not None else "the message that asks for it was required in the state"
            problem = problem or _hear(enforcer, messages[: at + 1])
            if problem and not enforcer.session.observe:
                return _unread(enforcer, call, problem)
            if at is None:
                return _asked(enforcer, call, enforcer.step())
            if sum(one["id"] == call["id"] for one in messages[at].tool_calls) > 1:
                return _unread(enforcer, call, "an id of its own in its message was required")
            waiting = _message(enforcer, messages[at])
            found = waiting.pop(call["id"], None)
            if found is None and (why := enforcer.heard.get(("refused", messages[at].id))):
                verdict = Verdict("deny", "another call of the same action was not allowed")
                return _Decided(call["name"], None, "", Answer(False, verdict, why))
            if found is None:  # it was made before
                return _asked(enforcer, call, enforcer.step())
        if not found.answer.runs or (found.name == call["name"] and _same(found.arguments, call["args"])):
            return found
        if found.arguments is None:  # no JSON, and only observed
            return found
        enforcer.done("it was not made", found.known, True)
        if enforcer.session.observe:
            return _asked(enforcer, call, enforcer.step())
        return _unread(enforcer, call, "the call as it was decided was required; got another name or other arguments")


def _message(enforcer: Enforcer, message: Any) -> dict[object, _Decided]:
    """The calls of a message that were decided and not made yet, by their ids; all are decided the first time."""
    waiting = enforcer.steps.get(message.id)
    if waiting is None:
        while len(enforcer.steps) >= KEPT:
            del enforcer.steps[next(iter(enforcer.steps))]
        step = enforcer.step()
        waiting = enforcer.steps[message.id] = {}
        for call in message.tool_calls:
            problem = _raw(message, call)
            waiting[call["id"]] = _unread(enforcer, call, problem, step) if problem else _asked(enforcer, call, step)
        for name, one in waiting.items():
            waiting[name] = one._replace(answer=enforcer.still(one.answer, one.name, one.known or None, step))
        if enforcer.whole and (refused := [one.answer.refusal for one in waiting.values() if not one.answer.runs]):
            enforcer.heard["refused", message.id] = refused[0]  # whichever of its calls is asked again
    return waiting


def _asked(enforcer: Enforcer, call: Any, step: int) -> _Decided:
    known = enforcer.own(str(call["id"]))
    arguments = _plain(call["args"])
    return _Decided(call["name"], arguments, known, enforcer.ask(call["name"], call["args"], known, step))


def _unread(enforcer: Enforcer, call: Any, why: str, step: int | None = None) -> _Decided:
    return _Decided(call["name"], _plain(call["args"]), "", enforcer.unread(call["name"], "", why, step))


def _plain(arguments: object) -> object:
    """The arguments as nobody can change them any more; None where they are no JSON."""
    try:
        return schema.plain(arguments)
    except ValueError:
        return None


def _same(judged: object, present: object) -> bool:
    found = _plain(present)
    return found is not None and schema.same(judged, found)


def _asking(messages: Sequence[Any], call_id: object) -> int | None:
    """Where the last message of the model stands that asks for the call."""
    for at in range(len(messages) - 1, -1, -1):
        if of(messages[at], "type") in MODEL:
            for call in of(messages[at], "tool_calls") or ():
                if call["id"] == call_id:
                    return at
    return None


def _hear(enforcer: Enforcer, messages: Sequence[Any]) -> str:
    """Tell the session what is new in the messages; why they cannot be those of the conversation so far."""
    for message in messages:
        role = SPEAKERS.get(of(message, "type"))
        if role is None:
            continue
        name, text = message.id, enforcement.spoken(message, role)
        if type(name) is not str or not name:
            return "messages with ids were required: let `add_messages` keep them in the state"
        known = enforcer.heard.get(name)
        if known is not None and known != text:
            return f"message {schema.named(name)} is not as the session was told of it"
        if known is None:
            if problem := enforcer.told(role, text):
                return problem
            enforcer.heard[name] = text
    return ""


def _raw(message: Any, call: Any) -> str:
    """Why the text that the arguments were parsed from does not say the same; empty where it does or is not there."""
    written = [
        (raw.get("id"), of(raw.get("function"), "arguments"))
        for raw in message.additional_kwargs.get("tool_calls", ())
        if isinstance(raw, dict)
    ]
    written += [(raw.get("id"), raw.get("args")) for raw in getattr(message, "tool_call_chunks", ())]
    for name, text in written:
        if name != call["id"] or not isinstance(text, str):
            continue
        try:
            if not _same(enforcement.parsed(text), call["args"]):
                return "arguments as the model wrote them were required; got others"
        except ValueError as error:
            return str(error)
    return ""


def _refused(request: ToolCallRequest, answer: Answer) -> Any:
    from langchain_core.messages import ToolMessage

    call = request.tool_call
    return ToolMessage(answer.refusal, name=call["name"], tool_call_id=call["id"], status="error")


@contextmanager
def _made(enforcer: Enforcer, decided: _Decided) -> Iterator[None]:
    """Around an allowed call: one that raised was not done, as far as that can be known; one that an interrupt left may
    have been."""
    from langgraph.errors import GraphBubbleUp

    try:
        yield
    except GraphBubbleUp:
        raise
    except BaseException as error:
        enforcer.failed(decided.name, error, decided.known)
        raise


def _told(enforcer: Enforcer, decided: _Decided, result: Any) -> Any:
    """The result of a call, once it is told: the text of its message; null where there is none."""
    told = [one for each in (result if isinstance(result, list) else [result]) for one in _messages(each)]
    value = enforcement.content(words(told[0].content)) if len(told) == 1 else None
    if len(told) == 1 and told[0].status == "error":  # of which error it was made is not told
        enforcer.refused(decided.name, value, decided.known, False)
    else:
        enforcer.done(value, decided.known)
    return result


def _messages(result: Any) -> list[Any]:
    """The tool messages in what a tool gave: itself, or those of a `Command`."""
    if of(result, "type") == "tool":
        return [result]
    update = of(result, "update")
    inside = of(update, "messages") if isinstance(update, dict) else update
    return [one for one in (inside if isinstance(inside, list) else ()) if of(one, "type") == "tool"]
