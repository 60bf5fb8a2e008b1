"""An inspect_ai approver that asks a session, with the real package: its evaluations run, with a scripted model."""

from __future__ import annotations

import asyncio
import contextvars
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import library
import pytest
from inspect_ai import Task, eval
from inspect_ai.agent import as_tool, react
from inspect_ai.approval import ApprovalPolicy
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalSample, transcript
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelAPI,
    ModelOutput,
    execute_tools,
    modelapi,
)
from inspect_ai.solver import Generate, TaskState, generate, solver, use_tools
from inspect_ai.solver._task_state import set_sample_state
from inspect_ai.tool import Tool, ToolCall, ToolCallError, tool
from library import LOOK, SHORT, Desk

from wb.adapters import enforcement
from wb.adapters import inspect_ai as adapter
from wb.adapters.enforcement import Answer, Enforcer
from wb.domain.session import Session
from wb.domain.trace import Verdict


def tools(desk: Desk) -> list[Tool]:
    """The library's tools as inspect_ai has them."""

    @tool
    def lend_book() -> Tool:
        async def execute(days: int, note: str = "") -> str:
            """Lend a book.

            Args:
                days: For how long.
                note: A note.
            """
            return desk.lend_book(days, note)

        return execute

    @tool
    def get_reader() -> Tool:
        async def execute(reader: str) -> str:
            """Look a reader up.

            Args:
                reader: Who.
            """
            if reader == "late":
                raise TimeoutError("late")
            if reader == "nobody":
                raise FileNotFoundError("nobody")
            return json.dumps(desk.get_reader(reader))

        return execute

    @tool
    def pay_fine() -> Tool:
        async def execute(reader: str) -> str:
            """Take a fine.

            Args:
                reader: Whose.
            """
            return desk.pay_fine(reader)

        return execute

    @tool
    def close_card() -> Tool:
        async def execute(reader: str) -> str:
            """Close a card.

            Args:
                reader: Whose.
            """
            return desk.close_card(reader)

        return execute

    @tool
    def burn_book() -> Tool:
        async def execute() -> str:
            """Burn a book."""
            return desk.burn_book()

        return execute

    return [lend_book(), get_reader(), pay_fine(), close_card(), burn_book()]


def asks(*calls: tuple[str, dict[str, Any], str]) -> ModelOutput:
    """What the model says: calls of tools with arguments and ids."""
    made = [ToolCall(id=name, function=tool, arguments=given) for tool, given, name in calls]
    message = ChatMessageAssistant(content="", tool_calls=made, source="generate")
    return ModelOutput(model="scripted", choices=[ChatCompletionChoice(message=message, stop_reason="tool_calls")])


DONE = ModelOutput.from_content("scripted", "done")


@modelapi(name="scripted")
class Scripted(ModelAPI):
    """A model that says what is written, and counts no tokens: to count them, inspect_ai fetches a vocabulary."""

    def __init__(self, model_name: str, script: Sequence[ModelOutput] = (), **options: Any) -> None:
        super().__init__(model_name)
        self.script = iter(script)

    async def generate(self, input: Any, tools: Any, tool_choice: Any, config: Any) -> ModelOutput:
        return next(self.script).model_copy(deep=True)

    async def count_text_tokens(self, text: str) -> int:
        return len(text)


def evaluated(
    session: Callable[[], Session],
    script: Sequence[ModelOutput],
    tmp_path: Path,
    solve: Any,
    samples: Sequence[Sample] = (Sample(input="yes"),),
) -> list[EvalSample]:
    """The samples of an evaluation in which the model says what is written."""
    policy = ApprovalPolicy(adapter.guard(session), "*")
    task = Task(dataset=list(samples), solver=solve, approval=[policy])
    model = Model(
        Scripted("scripted", list(script)), GenerateConfig()
    )  # by name, all that is installed is looked through
    (log,) = eval(task, model=model, log_dir=str(tmp_path), display="none", max_samples=1)
    assert log.status == "success", log.error
    return log.samples


def conversed(session: Callable[[], Session], desk: Desk, *script: ModelOutput) -> dict[str, ChatMessageTool]:
    """What tools answer to a model that says what is written, where inspect_ai carries the calls out."""

    async def run() -> list[ChatMessage]:
        transcript()  # one of this conversation
        policy, messages = ApprovalPolicy(adapter.guard(session), "*"), [ChatMessageUser(content="hello")]
        for output in script:
            messages.append(output.model_copy(deep=True).message)
            messages += (await execute_tools(messages, tools(desk), approval=[policy])).messages
        return messages

    return answers(asyncio.run(run()))


def answers(messages: Sequence[ChatMessage]) -> dict[str, ChatMessageTool]:
    return {str(m.tool_call_id): m for m in messages if isinstance(m, ChatMessageTool)}


def test_calls_run_only_where_they_are_allowed_and_the_model_is_told_why(tmp_path: Path) -> None:
    """Two samples of an evaluation, each with a session of its own."""
    made: list[Session] = []
    desk = Desk()

    def session() -> Session:
        made.append(library.session())
        return made[-1]

    script = [
        asks(("lend_book", {"days": 15}, "a")),
        asks(("lend_book", {"days": 14}, "b"), ("pay_fine", {"reader": "r"}, "c")),
        asks(("burn_book", {}, "d")),
        asks(("get_reader", {"reader": "r"}, "e")),
        asks(("pay_fine", {"reader": "r"}, "f")),
        asks(("close_card", {"reader": "r"}, "g")),
        asks(("close_card", {"reader": "r"}, "h")),
        DONE,
        asks(("pay_fine", {"reader": "r"}, "a")),
        asks(("close_card", {"reader": "r"}, "b")),
        DONE,
    ]
    solve = [use_tools(*tools(desk)), generate(tool_calls="loop")]
    one, two = evaluated(session, script, tmp_path, solve, [Sample(input="yes"), Sample(input="no")])
    found = answers(one.messages)
    assert {name for name, message in found.items() if message.error is None} == {"b", "e", "f", "g"}
    assert {m.error.type for m in found.values() if m.error} == {"approval"}
    assert f"“{SHORT}”" in found["a"].error.message and "days is at most 14" in found["a"].error.message
    assert f"“{LOOK}”" in found["c"].error.message and "there is no such tool" in found["d"].error.message
    assert "state.words" in found["h"].error.message, "the yes that came with the sample is used up"
    assert all(m.error for m in answers(two.messages).values()) and len(made) == 2
    assert [name for name, *_ in desk.done] == ["lend_book", "get_reader", "pay_fine", "close_card"]
    said = [event.metadata["decision"] for event in one.events if event.event == "approval"]
    assert said == ["deny", "allow", "deny", "deny", "allow", "allow", "allow", "undecided"]


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("lend_book", {"days": 3, "note": 7}, "note: string was required"),
        ("lend_book", {"days": "3"}, "days: integer was required"),
        ("lend_book", {}, "days: a value was required"),
        ("get_reader", {"reader": None}, "string was required"),
        ("lend_book", {"days": float("nan")}, "finite"),
        ("burn_book", {}, "there is no such tool"),
        ("close_card", {"reader": "r"}, "state.words"),
    ],
)
def test_what_does_not_fit_does_not_run(tool: str, arguments: dict, told: str) -> None:
    desk = Desk()
    found = conversed(library.session, desk, asks((tool, arguments, "a")))
    assert found["a"].error.type == "approval" and told in found["a"].error.message and not desk.done


def test_calls_that_inspect_ai_could_not_parse_do_not_run() -> None:
    desk, odd = Desk(), asks(("lend_book", {"days": 3}, "a"))
    odd.message.tool_calls[0].parse_error = "half an object"
    assert conversed(library.session, desk, odd)["a"].error.type == "parsing" and not desk.done


def test_what_failed_was_not_done_and_what_ran_out_of_time_is_not_known() -> None:
    for reader, kind, told in (("nobody", "file_not_found", LOOK), ("late", "timeout", "has no result yet")):
        desk = Desk()
        script = [asks(("get_reader", {"reader": reader}, "a")), asks(("pay_fine", {"reader": "r"}, "b"))]
        found = conversed(library.session, desk, *script)
        assert found["a"].error.type == kind and told in found["b"].error.message and not desk.done


def test_calls_of_one_message_do_not_know_how_the_others_ended() -> None:
    desk = Desk()
    calls = (("get_reader", {"reader": "r"}, "a"), ("pay_fine", {"reader": "r"}, "b"))
    found = conversed(library.session, desk, asks(*calls), asks(("pay_fine", {"reader": "r"}, "c")))
    assert found["a"].error is None and "get_reader (call a) has no result yet" in found["b"].error.message
    assert found["c"].error is None and desk.done == [("get_reader", "r"), ("pay_fine", "r")]


@pytest.mark.parametrize("broken", [lambda: None, lambda: 1 / 0], ids=["none", "raises"])
def test_without_a_session_nothing_runs(broken: Callable[[], Any]) -> None:
    desk = Desk()
    found = conversed(broken, desk, asks(("lend_book", {"days": 3}, "a")))
    assert "the decision broke" in found["a"].error.message and not desk.done


def test_observing_approves_and_logs() -> None:
    log, desk = io.StringIO(), Desk()
    script = [asks(("lend_book", {"days": 99}, "a")), asks(("burn_book", {}, "b"))]
    found = conversed(lambda: library.session(log=log, observe=True), desk, *script)
    assert [m.error for m in found.values()] == [None, None]
    rows = [json.loads(line) for line in log.getvalue().splitlines()]
    assert [(row["decision"], row["observed"]) for row in rows] == [("deny", True)] * 2


def test_words_that_no_user_wrote_are_not_heard_as_the_user_s(tmp_path: Path) -> None:
    """A message in the user's place that a solver wrote, and what an agent tells the agent that it calls."""
    desk = Desk()

    @solver
    def goes_on() -> Any:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            state.messages.append(ChatMessageUser(content="yes"))
            return await generate(state, tool_calls="loop")

        return solve

    script, no = [asks(("close_card", {"reader": "r"}, "a")), DONE], [Sample(input="no")]
    (sample,) = evaluated(library.session, script, tmp_path, [use_tools(*tools(desk)), goes_on()], no)
    assert not desk.done and "closed only where" in answers(sample.messages)["a"].error.message

    helper = react(name="helper", description="It helps.", tools=tools(desk), submit=False)
    boss = react(name="boss", tools=[as_tool(helper)], submit=False)
    declared = {**library.TOOLS, "tools": [*library.TOOLS["tools"], library._tool("helper", False, input=library.TEXT)]}
    guard = library.airline.guarded("h", library.tools.parse(json.dumps(declared)), library.RULES)
    log = io.StringIO()

    def session() -> Session:
        one = Session(guard, log=log)
        one.state({"card_blocked": False})
        return one

    evaluated(session, [asks(("helper", {"input": "yes"}, "x")), *script, DONE], tmp_path, boss, no)
    decided = [(row["tool"], row["decision"]) for row in map(json.loads, log.getvalue().splitlines())]
    assert not desk.done and decided[0] == ("helper", "allow") and decided[1][0] == "close_card", decided


# ---- part by part -----------------------------------------------------------------------------------


def of_sample(work: Callable[[], Any], *messages: ChatMessage) -> Any:
    """What is done in a sample of these messages."""

    def inside() -> Any:
        set_sample_state(SimpleNamespace(messages=list(messages)))  # type: ignore[arg-type]
        return work()

    return contextvars.copy_context().run(inside)


def hearing(session: Session) -> tuple[Enforcer, list[tuple], list[tuple]]:
    """The session's enforcer, and what it is told from here on: words and results."""
    words: list[tuple] = []
    results: list[tuple] = []
    session.say = lambda *told: words.append(told)  # type: ignore[method-assign]
    session.result = lambda *told: results.append(told)  # type: ignore[method-assign]
    return enforcement.enforcer(session), words, results


FIRST = ChatMessageUser(content="hello", source="input", id="u1")


@pytest.mark.parametrize(
    ("message", "heard"),
    [
        (ChatMessageUser(content="yes", source="input", id="2"), [("user", "yes")]),
        (ChatMessageUser(content="yes", source="operator", id="2"), [("user", "yes")]),
        (ChatMessageUser(content="yes", source="generate", id="2"), []),
        (ChatMessageUser(content="yes", id="2"), []),
        (ChatMessageUser(content="", source="input", id="2"), []),
        (ChatMessageAssistant(content="yes", source="generate", id="2"), [("assistant", "yes")]),
        (ChatMessageAssistant(content="yes", id="2"), [("assistant", "yes")]),
        (ChatMessageSystem(content="yes", source="input", id="2"), []),
        (ChatMessageTool(content="yes", source="input", tool_call_id="c", id="2"), []),
    ],
)
def test_who_is_heard(message: ChatMessage, heard: list) -> None:
    """The user in the sample's own conversation alone; each message once."""
    history = [FIRST, message]
    for sample in (history, [message], []):
        enforcer, words, _ = hearing(library.session())
        for _ in range(2):
            assert of_sample(lambda e=enforcer: adapter._hear(e, history), *sample) == ""
        own = FIRST in sample
        assert words == [("user", "hello")] * own + [one for one in heard if own or one[0] == "assistant"]
    enforcer, words, _ = hearing(library.session())
    assert adapter._hear(enforcer, history) == "" and words == [one for one in heard if one[0] == "assistant"]
    assert of_sample(lambda: adapter._own([message]), message) is (message.role == "user")


def test_messages_must_have_ids_and_words_must_be_told() -> None:
    nameless = FIRST.model_copy(update={"id": None})
    enforcer, words, _ = hearing(library.session())
    assert adapter._hear(enforcer, [nameless]) == "messages with ids were required" and not words

    def full(*told: str) -> None:
        raise OSError(28, "No space left on device")

    enforcer.session.say = full  # type: ignore[method-assign]
    spoken = ChatMessageAssistant(content="yes", id="2")
    told = "what was said cannot be told to the session: OSError: [Errno 28] No space left on device"
    assert adapter._hear(enforcer, [spoken]) == told and enforcer.heard == {}


CALL = ToolCall(id="c", function="get_reader", arguments={"reader": "r"})
ASKING = ChatMessageAssistant(content="", tool_calls=[CALL], id="m")


def decided(session: Session, call: ToolCall, *history: ChatMessage) -> Answer:
    return asyncio.run(adapter._answer(enforcement.enforcer(session), call, history))


def test_what_cannot_be_told_or_read_does_not_run_but_where_it_is_only_observed() -> None:
    nameless = ASKING.model_copy(update={"id": None})
    for observe in (False, True):
        answer = decided(library.session(observe=observe), CALL, nameless)
        assert answer.runs is observe and ("messages with ids were required" in answer.refusal) is not observe
        odd = ToolCall(id="c", function="get_reader", arguments={}, parse_error="half an object")
        for history in ((ASKING,), (nameless,)):
            answer = decided(library.session(observe=observe), odd, *history)
            assert not answer.runs and "half an object" in answer.refusal


def test_calls_of_one_message_are_one_step_and_others_are_not() -> None:
    log = io.StringIO()
    session = library.session(log=log)
    calls = [ToolCall(id=name, function="lend_book", arguments={"days": 1}) for name in "abcd"]
    first = ChatMessageAssistant(content="", tool_calls=calls[:2], id="1")
    second = ChatMessageAssistant(content="", tool_calls=calls[2:3], id="2")
    user = ChatMessageUser(content="x", id="3")
    for call, history in zip(calls, ((first,), (first, user), (first, second), (first, second)), strict=True):
        assert decided(session, call, *history).runs
        assert len(enforcement.enforcer(session).steps) == 1
    assert [json.loads(line)["step"] for line in log.getvalue().splitlines()] == [0, 0, 1, 2]
    assert set(enforcement.enforcer(session).steps) == {"d"}, "no message asks for it"


READ, CHANGE = ("get_reader", library.session), ("pay_fine", lambda: library.paid_once(True))


@pytest.mark.parametrize("tool", [READ, CHANGE, ("pay_fine", lambda: library.paid_once(False))])
@pytest.mark.parametrize(
    "kind", [None, "unknown", "parsing", "timeout", "cancelled", "limit", "permission", "file_not_found", "approval"]
)
def test_what_came_of_a_call_is_told_once(tool: Any, kind: Any) -> None:
    name, made = tool
    enforcer, _, results = hearing(made())
    enforcer.heard["call", "c"] = "c"
    error = None if kind is None else ToolCallError(kind, "no")
    message = ChatMessageTool(content='{"level": 2}', tool_call_id="c", function=name, error=error, id="t")
    for _ in range(2):
        assert adapter._hear(enforcer, [message]) == ""
    sure = kind not in ("timeout", "cancelled", "limit")
    told = kind is None or (sure and (name == "get_reader" or (tool is CHANGE and kind in ("unknown", "parsing"))))
    assert results == [({"level": 2}, "c", kind is not None)] * told
    assert (
        adapter._hear(enforcer, [message.model_copy(update={"tool_call_id": "other"})]) == "" and len(results) == told
    )


def test_an_answer_becomes_an_approval_with_what_was_decided() -> None:
    verdict = Verdict("deny", "no", ("r1",))
    found = adapter._approval(Answer(False, verdict, "It was not run."))
    assert (found.decision, found.explanation) == ("reject", "It was not run.")
    assert found.metadata == {"decision": "deny", "violated": ["r1"]}
    found = adapter._approval(Answer(True, verdict))
    assert (found.decision, found.explanation) == ("approve", "no")
    assert found.metadata == {"decision": "deny", "violated": ["r1"]}
