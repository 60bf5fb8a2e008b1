"""Agents on LangGraph held to a session's verdicts, with the real package: stopped, told why, and corrected."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any

import airline_server
import library
import pytest
from bench import airline
from conftest import shared
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedState, ToolNode, tools_condition
from langgraph.types import Command, interrupt
from library import LOOK, SHORT, Desk

from wb.adapters import langgraph as adapter
from wb.bench import tau
from wb.domain.session import Session

Script = Sequence[AIMessage | Callable[[list[Any]], AIMessage]]


def call(name: str, arguments: dict[str, Any], id: str = "c1") -> dict[str, Any]:
    return {"name": name, "args": arguments, "id": id, "type": "tool_call"}


def says(*calls: dict[str, Any], text: str = "") -> AIMessage:
    return AIMessage(content=text, tool_calls=list(calls))


def agent(node: Any, script: Script, **options: Any) -> Any:
    """A graph whose model says what is written: a message, or what a function makes of those before."""
    lines: Iterator[Any] = iter(script)

    def model(state: MessagesState) -> dict[str, Any]:
        said = next(lines)
        return {"messages": [said(state["messages"]) if callable(said) and not isinstance(said, AIMessage) else said]}

    graph = StateGraph(MessagesState)
    graph.add_node("model", model)
    graph.add_node("tools", node)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition, {"tools": "tools", END: END})
    graph.add_edge("tools", "model")
    return graph.compile(**options)


def run(graph: Any, text: str = "hello", *, sync: bool = True, **options: Any) -> list[ToolMessage]:
    given = {"messages": [HumanMessage(text)]}
    found = graph.invoke(given, **options) if sync else asyncio.run(graph.ainvoke(given, **options))
    return [message for message in found["messages"] if isinstance(message, ToolMessage)]


def direct(node: ToolNode, *messages: Any) -> list[ToolMessage]:
    """What the node answers to a state that keeps messages as they are."""
    graph = StateGraph(dict)
    graph.add_node("tools", node)
    graph.add_edge(START, "tools")
    return graph.compile().invoke({"messages": list(messages)})["messages"]


def structured(desk: Desk) -> list[StructuredTool]:
    return [StructuredTool.from_function(function) for function in desk.tools.values()]


both = pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])
DONE = AIMessage("done")


@both
def test_an_agent_is_stopped_and_corrected_by_an_airline_s_guards(sync: bool) -> None:
    """It asks for three bags of which none costs, is told what the sentence asks, and pays for two."""
    shared("data")
    done = []

    def update_reservation_baggages(
        reservation_id: str, total_baggages: int, nonfree_baggages: int, payment_id: str
    ) -> dict[str, Any]:
        """Change the bags."""
        done.append((total_baggages, nonfree_baggages))
        return airline_server.RESERVATION | {"total_baggages": total_baggages, "nonfree_baggages": nonfree_baggages}

    def asked(tool: str, arguments: dict[str, Any]) -> Any:
        return getattr(airline_server, tool)(**arguments)

    def corrected(messages: list[Any]) -> AIMessage:
        (refusal,) = [m for m in messages if isinstance(m, ToolMessage)]
        assert refusal.status == "error" and "(bags_charged)" in refusal.content
        return says(call("update_reservation_baggages", {**bags, "nonfree_baggages": 2}, "c2"))

    bags = {"reservation_id": "R1", "total_baggages": 3, "nonfree_baggages": 0, "payment_id": "card1"}
    session = Session(airline.guard(), ask=asked, clock=lambda: tau.TIME, timeout_s=20)
    tools = [StructuredTool.from_function(update_reservation_baggages)]
    script = [says(call("update_reservation_baggages", bags)), corrected, DONE]
    first, second = run(agent(adapter.tool_node(tools, session), script), sync=sync)
    assert (first.status, second.status, done) == ("error", "success", [(3, 2)])
    quote = next(rule.quote or rule.text for rule in airline.rules_of("rules.yaml").rules if rule.id == "bags_charged")
    assert quote in first.content, "word for word"


@both
def test_only_what_is_allowed_runs_and_what_was_said_is_heard(sync: bool) -> None:
    session, desk = library.session(), Desk()
    script = [
        says(call("lend_book", {"days": 15}, "a"), call("lend_book", {"days": 3}, "b"), text="I lend."),
        says(call("pay_fine", {"reader": "r"}, "c"), call("burn_book", {}, "d")),
        says(call("get_reader", {"reader": "r"}, "e")),
        says(call("pay_fine", {"reader": "r"}, "f"), call("close_card", {"reader": "r"}, "g")),
        says(call("close_card", {"reader": "r"}, "h")),
        DONE,
    ]
    found = {
        m.tool_call_id: m for m in run(agent(adapter.tool_node(structured(desk), session), script), "yes", sync=sync)
    }
    assert {name for name, m in found.items() if m.status == "success"} == {"b", "e", "f", "g"}
    assert f"“{SHORT}”" in found["a"].content and "days is at most 14" in found["a"].content
    assert f"“{LOOK}”" in found["c"].content and "there is no such tool" in found["d"].content
    assert "state.words" in found["h"].content, "the yes is used up"
    names = [name for name, *_ in desk.done]
    assert names[:2] == ["lend_book", "get_reader"] and set(names[2:]) == {"pay_fine", "close_card"}


@both
def test_parallel_calls_are_decided_in_the_order_of_the_message(sync: bool) -> None:
    """Whichever thread comes first: the fine is asked for before the reader was looked up, or while that goes on."""
    for order, told in (((1, 0), "looked up"), ((0, 1), "get_reader (call find) has no result yet")):
        session, desk = library.session(), Desk()
        calls = [call("get_reader", {"reader": "r"}, "find"), call("pay_fine", {"reader": "r"}, "pay")]
        script = [says(*(calls[i] for i in order)), says(call("pay_fine", {"reader": "r"}, "again")), DONE]
        found = {m.tool_call_id: m for m in run(agent(adapter.tool_node(structured(desk), session), script), sync=sync)}
        assert found["pay"].status == "error" and told in found["pay"].content
        assert found["again"].status == "success", "the result was told by its id"


@both
def test_what_fails_was_not_done(sync: bool) -> None:
    session, desk = library.session(), Desk()
    node = adapter.tool_node(structured(desk), session, handle_tool_errors=True)
    script = [says(call("get_reader", {"reader": "nobody"}, "a")), says(call("pay_fine", {"reader": "r"}, "b")), DONE]
    assert [m.status for m in run(agent(node, script), sync=sync)] == ["error", "error"] and not desk.done
    other = library.session()
    raising = adapter.tool_node(structured(desk), other, handle_tool_errors=False)
    with pytest.raises(KeyError):
        run(agent(raising, [says(call("get_reader", {"reader": "nobody"}, "a"))]), sync=sync)
    assert other.call("pay_fine", {"reader": "r"}).decision == "deny", "it is known that the reader was not looked up"


@both
@pytest.mark.parametrize("handled", [True, False])
def test_what_fails_in_a_tool_that_changes_something_may_have_been_done(sync: bool, handled: bool) -> None:
    def pay_fine(again: bool = False) -> str:
        """Take a fine."""
        if not again:
            raise ValueError("the answer cannot be read")
        return "paid"

    for atomic in (False, True):
        session = library.paid_once(atomic)
        node = adapter.tool_node([StructuredTool.from_function(pay_fine)], session, handle_tool_errors=handled)
        if handled:
            run(agent(node, [says(call("pay_fine", {})), DONE]), sync=sync)
        else:
            with pytest.raises(ValueError, match="cannot be read"):
                run(agent(node, [says(call("pay_fine", {}))]), sync=sync)
        assert (session.call("pay_fine").decision == "allow") is (atomic and not handled), "a message tells no class"


@both
def test_observing_lets_pass_and_logs(sync: bool) -> None:
    log, desk = io.StringIO(), Desk()
    script = [says(call("lend_book", {"days": 99}, "a"), call("burn_book", {}, "b")), DONE]
    node = adapter.tool_node(structured(desk), library.session(log=log, observe=True))
    assert [m.status for m in run(agent(node, script), sync=sync)] == ["success", "success"]
    rows = [json.loads(line) for line in log.getvalue().splitlines()]
    assert [(row["decision"], row["observed"]) for row in rows] == [("deny", True)] * 2


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("lend_book", {"days": "3"}, "days: integer was required"),
        ("lend_book", {"days": float("nan")}, "finite"),
        ("lend_book", {}, "days: a value was required"),
        ("LEND_BOOK", {"days": 3}, "is spelt otherwise"),
        ("close_card", {"reader": "a"}, "Reason: close_card: “A card is closed only where the reader says yes.”"),
    ],
)
def test_what_does_not_fit_does_not_run(tool: str, arguments: dict, told: str) -> None:
    desk = Desk()
    (message,) = run(agent(adapter.tool_node(structured(desk), library.session()), [says(call(tool, arguments)), DONE]))
    assert message.status == "error" and told in message.content and not desk.done, message.content


# ---- what was written and what is run -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ('{"days": 40, "days": 3}', "each key once was required"),
        ('{"days": 3', "JSON was required"),
        ('{"days": 30}', "arguments as the model wrote them were required"),
        ('{"days": 3}', ""),
    ],
)
def test_arguments_that_were_repaired_do_not_run(written: str, told: str) -> None:
    raw = {"tool_calls": [{"id": "c1", "type": "function", "function": {"name": "lend_book", "arguments": written}}]}
    desk = Desk()
    whole = AIMessage("", tool_calls=[call("lend_book", {"days": 3})], additional_kwargs=raw)
    (message,) = run(agent(adapter.tool_node(structured(desk), library.session()), [whole, DONE]))
    assert told in message.content and (message.status == "success") is (not told) is bool(desk.done)


def test_arguments_of_a_stream_that_broke_off_do_not_run() -> None:
    desk = Desk()
    chunk = {"name": "lend_book", "args": '{"days": 3, "note": "unti', "id": "c1", "index": 0}
    broken = AIMessageChunk("", id="m1", tool_call_chunks=[chunk])
    assert broken.tool_calls[0]["args"]["days"] == 3, "the package repairs it"
    (message,) = direct(adapter.tool_node(structured(desk), library.session()), broken)
    assert message.status == "error" and "JSON was required" in message.content and not desk.done


def test_an_id_that_stands_twice_runs_nothing() -> None:
    desk = Desk()
    twice = says(call("lend_book", {"days": 3}), call("lend_book", {"days": 4}))
    found = run(agent(adapter.tool_node(structured(desk), library.session()), [twice, DONE]))
    assert not desk.done and all("an id of its own in its message was required" in m.content for m in found)


def test_another_wrapper_cannot_change_what_was_decided() -> None:
    """Its request says three days where forty are asked for, or the other way round."""
    desk, guarded = Desk(), adapter.Guarded(library.session())

    def changed(request: Any, execute: Any) -> Any:
        return guarded.wrap(request.override(tool_call={**request.tool_call, "args": {"days": 14}}), execute)

    node = ToolNode(structured(desk), wrap_tool_call=changed)
    (message,) = run(agent(node, [says(call("lend_book", {"days": 3})), DONE]))
    assert message.status == "error" and "the call as it was decided was required" in message.content and not desk.done


def test_messages_must_have_ids_and_stay_as_they_were() -> None:
    desk = Desk()
    node = ToolNode(structured(desk), wrap_tool_call=adapter.Guarded(library.session()).wrap)
    asking = says(call("lend_book", {"days": 3}))

    def told(*messages: Any) -> str:
        return direct(node, *messages)[0].content

    assert "messages with ids were required" in told(HumanMessage("hi"), asking)
    named = AIMessage("", id="m1", tool_calls=asking.tool_calls)
    assert told(HumanMessage("no", id="h1"), named) == "lent for 3 days"
    other = AIMessage("", id="m2", tool_calls=[call("lend_book", {"days": 3}, "c2")])
    assert "is not as the session was told of it" in told(HumanMessage("yes", id="h1"), other)
    assert told(HumanMessage("no", id="h1"), other) == "lent for 3 days"
    assert told(AIMessage("", id="m3", tool_calls=[call("lend_book", {"days": 3}, "c3")])) == "lent for 3 days"
    assert len(desk.done) == 3


def test_calls_without_a_message_do_not_run() -> None:
    """Tool calls handed to the node as they are, with no state: what the user said since is not known."""
    desk = Desk()
    graph = StateGraph(list)
    graph.add_node("tools", adapter.tool_node(structured(desk), library.session()))
    graph.add_edge(START, "tools")
    found = graph.compile().invoke([call("lend_book", {"days": 3})])
    (message,) = found["messages"] if isinstance(found, dict) else found
    assert "the message that asks for it was required in the state" in message.content and not desk.done


# ---- what LangGraph does beside ------------------------------------------------------------------------


def test_each_conversation_has_its_own_session() -> None:
    desk, sessions = Desk(), {"a": library.session(), "b": library.session()}
    node = adapter.tool_node(structured(desk), lambda r: sessions[r.runtime.config["configurable"]["thread_id"]])
    look = [says(call("get_reader", {"reader": "r"}, "1")), says(call("pay_fine", {"reader": "r"}, "2")), DONE]
    pay = [says(call("pay_fine", {"reader": "r"}, "1")), DONE]
    statuses = [
        [m.status for m in run(agent(node, script), config={"configurable": {"thread_id": name}})]
        for name, script in (("a", look), ("b", pay))
    ]
    assert statuses == [["success", "success"], ["error"]]


def test_a_call_that_was_interrupted_is_decided_anew_and_the_first_stays_awaited() -> None:
    session, seen = library.session(), []

    def get_reader(reader: str) -> str:
        """Ask a person first."""
        seen.append(interrupt("may I?"))
        return reader

    node = adapter.tool_node([StructuredTool.from_function(get_reader)], session)
    script = [says(call("get_reader", {"reader": "r"})), DONE]
    graph = agent(node, script, checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    graph.invoke({"messages": [HumanMessage("hi")]}, config)
    assert session.call("pay_fine", {"reader": "r"}).decision == "undecided", "nobody knows whether it was done"
    found = graph.invoke(Command(resume="yes"), config)
    assert found["messages"][-2].status == "success" and seen == ["yes"]
    assert session.call("pay_fine", {"reader": "r"}).decision == "allow"


def test_tools_that_read_the_state_or_answer_by_a_command_are_told_as_well() -> None:
    session = library.session()

    def get_reader(reader: str, state: Annotated[dict, InjectedState]) -> Any:
        """What is injected is no argument of the agent's."""
        assert state["messages"]
        return Command(update={"messages": [ToolMessage('{"level": 2}', tool_call_id="c1")]})

    desk = Desk()
    tools = [StructuredTool.from_function(get_reader), StructuredTool.from_function(desk.pay_fine)]
    script = [says(call("get_reader", {"reader": "r"})), says(call("pay_fine", {"reader": "r"}, "c2")), DONE]
    assert [m.status for m in run(agent(adapter.tool_node(tools, session), script))] == ["success", "success"]


def test_a_cancelled_graph_leaves_its_call_awaited() -> None:
    session = library.session()

    async def get_reader(reader: str) -> str:
        """It takes a while."""
        await asyncio.sleep(60)
        return reader

    node = adapter.tool_node([StructuredTool.from_function(coroutine=get_reader)], session)
    graph = agent(node, [says(call("get_reader", {"reader": "r"}))])

    async def cancelled() -> None:
        task = asyncio.create_task(graph.ainvoke({"messages": [HumanMessage("hi")]}))
        await asyncio.sleep(0.3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert "has no result yet" in session.call("pay_fine", {"reader": "r"}).reason


@both
def test_a_call_of_the_first_message_of_all_is_decided_and_made(sync: bool) -> None:
    desk = Desk()
    node = adapter.tool_node(structured(desk), library.session())
    graph = StateGraph(MessagesState)
    graph.add_node("tools", node)
    graph.add_edge(START, "tools")
    given = {"messages": [says(call("lend_book", {"days": 3}, "a"))]}
    made = graph.compile()
    made.invoke(given) if sync else asyncio.run(made.ainvoke(given))
    assert desk.done == [("lend_book", 3)]
