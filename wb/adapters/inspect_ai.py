"""inspect_ai: an approver of tool calls.

    eval(task, approval=[ApprovalPolicy(guard(lambda: guards.session()), "*")])

Only `allow` approves; everything else rejects, with the refusal as the explanation, which the model is told.  Each
sample has a session of its own, which the function makes at its first call.  The approver sees calls before they run
and no results: these are told from the history, when the next call is asked about.  The calls of one message are one
step.

The words of the user are messages that came with the sample (`source="input"`) or that an operator wrote
(`"operator"`), in the sample's own conversation.  What else stands in the history as a user's message (a summary,
"please go on", what an agent tells another one) was written by nobody who could agree to anything.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from wb.adapters import enforcement
from wb.adapters.enforcement import Answer, Enforcer, words
from wb.domain.session import Session

if TYPE_CHECKING:
    from inspect_ai.approval import Approval, Approver
    from inspect_ai.model import ChatMessage
    from inspect_ai.tool import ToolCall, ToolCallView

USERS = ("input", "operator")
OWN = ("unknown", "parsing")  # what a tool says by `ToolError`, or that it was not called
UNCERTAIN = ("timeout", "cancelled", "limit")  # errors that do not say that a call was not done


def guard(session: Callable[[], Session]) -> Approver:
    """An approver that asks the session of the sample; `session` makes one.

    It is made for an `ApprovalPolicy`: those after it are asked of no call that it knows.
    """
    from inspect_ai.approval import approver
    from inspect_ai.log import transcript

    sessions: weakref.WeakKeyDictionary[Any, Session] = weakref.WeakKeyDictionary()

    @approver(name="wb")
    def wb() -> Approver:
        async def approve(message: str, call: ToolCall, view: ToolCallView, history: list[ChatMessage]) -> Approval:
            """Approve or reject by the session's verdict."""
            sample = transcript()
            try:
                if sample not in sessions:
                    sessions[sample] = session()
                enforcer = enforcement.enforcer(sessions[sample])
                answer = await _answer(enforcer, call, history)
            except Exception as error:
                verdict = enforcement.broken(call.function, error)
                answer = Answer(False, verdict, enforcement.refusal(call.function, verdict))
            return _approval(answer)

        return approve

    return wb()


async def _answer(enforcer: Enforcer, call: ToolCall, history: Sequence[ChatMessage]) -> Answer:
    """The answer to a call, once all that came before is told."""
    with enforcer.lock:
        problem = _hear(enforcer, history)
        model = [one for one in reversed(history) if one.role == "assistant"]
        asking = next((one for one in model if call.id in {asked.id for asked in one.tool_calls or ()}), None)
        key = call.id if asking is None else asking.id
        if key not in enforcer.steps:
            enforcer.steps.clear()  # the calls of one message come together
            enforcer.steps[key] = enforcer.step()
        step = enforcer.steps[key]
        if call.parse_error or (problem and not enforcer.session.observe):
            return enforcer.unread(call.function, "", call.parse_error or problem, step)
        known = enforcer.heard["call", call.id] = enforcer.own(call.id)
    return await enforcer.ask_async(call.function, call.arguments, known, step)


def _hear(enforcer: Enforcer, history: Sequence[ChatMessage]) -> str:
    """Tell the session what is new in the history; why that cannot be done."""
    own = _own(history)
    for message in history:
        if message.id is None:
            return "messages with ids were required"
        if message.role == "tool":
            _told(enforcer, message)
            continue
        spoken = message.role == "assistant" or (message.role == "user" and own and message.source in USERS)
        if not spoken or message.id in enforcer.heard:
            continue
        text = words(message.content)
        if problem := enforcer.told(message.role, text):
            return problem
        enforcer.heard[message.id] = text
    return ""


def _told(enforcer: Enforcer, message: Any) -> None:
    """Tell what a call gave that was asked about; one that ran out of time stays awaited."""
    known = enforcer.heard.pop(("call", message.tool_call_id), None)
    if known is None or (message.error is not None and message.error.type in UNCERTAIN):
        return
    value = enforcement.content(words(message.content))
    if message.error is not None:
        enforcer.refused(message.function, value, known, message.error.type in OWN)
    else:
        enforcer.done(value, known)


def _own(history: Sequence[ChatMessage]) -> bool:
    """Whether a history is that of the sample's own conversation, not of an agent that another one speaks with."""
    from inspect_ai.solver._task_state import sample_state

    state = sample_state()
    first = next((one for one in history if one.role == "user"), None)
    return state is not None and first is not None and first.id in {one.id for one in state.messages}


def _approval(answer: Answer) -> Approval:
    from inspect_ai.approval import Approval

    said = {"decision": answer.verdict.decision, "violated": list(answer.verdict.violated)}
    if answer.runs:
        return Approval(decision="approve", explanation=answer.verdict.reason, metadata=said)
    return Approval(decision="reject", explanation=answer.refusal, metadata=said)
