"""Agents on LangGraph held to a session's verdicts, with the real package: stopped, told why, and corrected."""

from __future__ import annotations

import asyncio
import io
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Annotated, Any

import airline_server
import library
import pytest
from bench import airline
from conftest import shared
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    HumanMessage,
    HumanMessageChunk,
    SystemMessage,
    ToolMessage,
)
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphBubbleUp
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedState, ToolNode, tools_condition
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command, interrupt
from library import LOOK, SHORT, Desk

from wb.adapters import enforcement
from wb.adapters import langgraph as adapter
from wb.bench import tau
from wb.domain.session import Session
from wb.logic.syntax import parse
from wb.rules.rule import Rule, RuleSet
from wb.shield import circuit
from wb.shield.shield import Shield

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


FINAL = "Nothing is lent after the card was closed."


def closing(kind: str, **options: Any) -> Session:
    """A session under a rule by which what is done later may forbid what was done before it."""
    acts = library.PREDICATES[:4]
    rule = Rule("r", FINAL, parse("ALWAYS (lend_book IMPLIES NOT ONCE close_card)"), "forbid", quote=FINAL)
    rules = RuleSet(acts, (rule,))
    if kind == "guard":
        return Session(airline.guarded("library", library.BOX, rules), **options)
    return Session(Shield(acts, circuit.build(rules, {"lend_book": ("r",)}), toolbox=library.BOX), **options)


@both
@pytest.mark.parametrize("kind", ["guard", "shield"])
@pytest.mark.parametrize(
    ("order", "first", "after"),
    [
        (("lend", "close"), {"lend"}, {"lend", "close"}),  # together, the card may be closed before the book is lent
        (("close", "lend"), {"close"}, {"close"}),
        (("lend", "look"), {"lend", "look"}, {"lend", "look"}),  # no rule of lending speaks of it
        (("look", "close"), {"look", "close"}, {"look", "close"}),
        (("close", "look"), {"look", "close"}, {"look", "close"}),
    ],
)
def test_a_call_does_not_run_beside_one_whose_verdict_may_rest_on_it(sync, kind, order, first, after) -> None:
    calls = {
        "lend": call("lend_book", {"days": 3}, "lend"),
        "close": call("close_card", {"reader": "r"}, "close"),
        "look": call("get_reader", {"reader": "r"}, "look"),
    }
    session, desk = closing(kind), Desk()
    script = [says(*(calls[name] for name in order)), DONE]
    found = {m.tool_call_id: m for m in run(agent(adapter.tool_node(structured(desk), session), script), sync=sync)}
    assert {name for name in order if found[name].status == "success"} == first
    one_by_one = [*[says(calls[name]) for name in order], DONE]
    alone = run(agent(adapter.tool_node(structured(Desk()), closing(kind)), one_by_one), sync=sync)
    assert {m.tool_call_id for m in alone if m.status == "success"} == after
    if order == ("lend", "close"):
        assert "lend_book has no result yet, and its verdict may rest on this call" in found["close"].content
        watched = run(agent(adapter.tool_node(structured(Desk()), closing(kind, observe=True)), script), sync=sync)
        assert {m.status for m in watched} == {"success"}, "where it is only observed, all runs"


@both
@pytest.mark.parametrize("strategy", ["halt and replan", "replan", "block", "terminate"])
def test_an_action_runs_whole_or_not_at_all_where_that_is_asked_for(sync: bool, strategy: str) -> None:
    session, desk = library.session(on_refusal=strategy), Desk()
    script = [
        says(*(call("lend_book", {"days": days}, str(days)) for days in (1, 99, 2))),
        says(call("lend_book", {"days": 3}, "3")),
        DONE,
    ]
    run(agent(adapter.tool_node(structured(desk), session), script), sync=sync)
    ran = {"halt and replan": {1, 2, 3}, "terminate": set()}.get(strategy, {3})
    assert {days for _, days in desk.done} == ran
    run(agent(adapter.tool_node(structured(desk), session), script[:1] + script[2:]), sync=sync)  # resumed before it
    assert {days for _, days in desk.done} == ran


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


# ---- the wrapper by itself ------------------------------------------------------------------------------


def asking(*calls: dict[str, Any], id: str = "m1", **options: Any) -> AIMessage:
    return AIMessage(options.pop("text", ""), id=id, tool_calls=list(calls), **options)


def wrapped(session: Session, state: Any, asked: dict[str, Any], result: Any = "made", **options: Any) -> Any:
    """What the wrapper gives for a call of that state, where the tool gives a result or raises it."""

    def execute(request: ToolCallRequest) -> Any:
        if isinstance(result, BaseException):
            raise result
        return result

    return adapter.Guarded(session, **options).wrap(ToolCallRequest(asked, None, state, None), execute)


def hearing(session: Session) -> tuple[list[tuple], list[tuple]]:
    """What the session is told from here on: words and results."""
    words: list[tuple] = []
    results: list[tuple] = []
    session.say = lambda *told: words.append(told)  # type: ignore[method-assign]
    session.result = lambda *told: results.append(told)  # type: ignore[method-assign]
    return words, results


LOOKED = call("get_reader", {"reader": "r"})
ANSWER = ToolMessage('{"level": 2}', tool_call_id="c1")
FAILED = ToolMessage("no", tool_call_id="c1", status="error")


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (ANSWER, ({"level": 2}, "c1", False)),
        ([ANSWER], ({"level": 2}, "c1", False)),
        (Command(update={"messages": [ANSWER]}), ({"level": 2}, "c1", False)),
        (Command(update=[ANSWER]), ({"level": 2}, "c1", False)),
        ([Command(update={"messages": [HumanMessage("x"), ANSWER]})], ({"level": 2}, "c1", False)),
        ([Command(update={"seen": 1}), ANSWER], ({"level": 2}, "c1", False)),
        (FAILED, ("no", "c1", True)),
        ([ANSWER, FAILED], (None, "c1", False)),
        ([ANSWER, ANSWER, ANSWER], (None, "c1", False)),
        ([], (None, "c1", False)),
        ("text", (None, "c1", False)),
        (Command(update={"messages": "x"}), (None, "c1", False)),
        (Command(update={"messages": [HumanMessage("x")]}), (None, "c1", False)),
        (Command(goto="x"), (None, "c1", False)),
        (ValueError("no"), ("ValueError: no", "c1", True)),
        (GraphBubbleUp(), None),
        (TimeoutError(), None),
    ],
)
def test_what_a_tool_gave_is_what_its_one_message_says(result: Any, told: tuple | None) -> None:
    session = library.session()
    _, results = hearing(session)
    if isinstance(result, BaseException):
        with pytest.raises(type(result)):
            wrapped(session, [asking(LOOKED)], LOOKED, result)
    else:
        assert wrapped(session, [asking(LOOKED)], LOOKED, result) is result
    assert results == ([] if told is None else [told])


@pytest.mark.parametrize("atomic", [False, True])
def test_a_message_of_an_error_does_not_say_whose_it_is(atomic: bool) -> None:
    session, pay = library.paid_once(atomic), call("pay_fine", {})
    _, results = hearing(session)
    wrapped(session, [asking(pay)], pay, FAILED)
    assert results == []


@pytest.mark.parametrize(
    ("state", "options"),
    [
        ([asking(LOOKED)], {}),
        ((asking(LOOKED),), {}),
        ({"messages": [asking(LOOKED)]}, {}),
        ({"chat": [asking(LOOKED)]}, {"messages": "chat"}),
        (SimpleNamespace(messages=[asking(LOOKED)]), {}),
    ],
)
def test_messages_are_found_in_any_state(state: Any, options: dict) -> None:
    assert wrapped(library.session(), state, LOOKED, ANSWER, **options) is ANSWER


@pytest.mark.parametrize(
    "state", [{}, None, {"chat": [asking(LOOKED)]}, [], [HumanMessage("x", id="1")], [asking()], [asking(id="2")]]
)
def test_a_call_that_no_message_asks_for_is_not_made_but_where_it_is_only_observed(state: Any) -> None:
    found = wrapped(library.session(), state, LOOKED, ANSWER)
    assert "the message that asks for it was required" in found.content
    assert (found.status, found.name, found.tool_call_id) == ("error", "get_reader", "c1")
    log = io.StringIO()
    assert wrapped(library.session(observe=True, log=log), state, LOOKED, ANSWER) is ANSWER
    assert [json.loads(line)["step"] for line in log.getvalue().splitlines()] == [0]


@pytest.mark.parametrize(
    ("message", "heard"),
    [
        (HumanMessage("a", id="1"), [("user", "a")]),
        (HumanMessage("a", id="1", name="helper"), [("user", "helper: a")]),
        (HumanMessageChunk("a", id="1"), [("user", "a")]),
        (HumanMessage("", id="1"), []),
        (AIMessage("a", id="1"), [("assistant", "a")]),
        (AIMessageChunk("a", id="1"), [("assistant", "a")]),
        (SystemMessage("a", id="1"), []),
        (ToolMessage("a", id="1", tool_call_id="c0"), []),
        (ToolMessage("a", tool_call_id="c0"), []),
    ],
)
def test_who_is_heard(message: Any, heard: list) -> None:
    """Once, and nothing that stands behind the message that asks."""
    session = library.session()
    words, _ = hearing(session)
    state = [message, asking(LOOKED, text="I look.", id="9"), HumanMessage("later", id="10")]
    for _ in range(2):
        assert wrapped(session, state, LOOKED, ANSWER) is ANSWER
        assert words == [*heard, ("assistant", "I look.")]


@pytest.mark.parametrize("name", [None, "", 7])
def test_a_message_that_is_heard_has_an_id(name: Any) -> None:
    state = [SimpleNamespace(type="human", content="x", id=name), asking(LOOKED)]
    found = wrapped(library.session(), state, LOOKED, ANSWER)
    assert "messages with ids were required" in found.content
    assert wrapped(library.session(observe=True), state, LOOKED, ANSWER) is ANSWER


def test_where_words_cannot_be_told_no_call_runs() -> None:
    class Deaf(Session):
        def say(self, role: str, text: str) -> None:
            raise OSError(28, "No space left on device")

    found = wrapped(Deaf(library.GUARD), [HumanMessage("x", id="1"), asking(LOOKED)], LOOKED, ANSWER)
    assert "what was said cannot be told to the session: OSError" in found.content
    assert enforcement.enforcer(session := Deaf(library.GUARD)).heard == {} and not session.observe


def test_of_two_messages_that_ask_by_one_id_the_later_one_counts() -> None:
    session = library.session()
    first, second = asking(LOOKED, id="1"), asking(call("lend_book", {"days": 3}), id="2")
    assert wrapped(session, [first, second], second.tool_calls[0], ANSWER) is ANSWER
    found = wrapped(library.session(), [first, second], LOOKED, ANSWER)
    assert "the call as it was decided was required" in found.content


def test_a_call_that_was_made_as_another_one_was_not_done_itself() -> None:
    """It was allowed, and something else is asked for in its place: nobody waits for its result."""
    for observe in (False, True):
        log = io.StringIO()
        session = library.session(log=log, observe=observe)
        other = {**LOOKED, "args": {"reader": "s"}}
        found = wrapped(session, [asking(LOOKED)], other, ANSWER)
        rows = [json.loads(line) for line in log.getvalue().splitlines()]
        if observe:
            assert found is ANSWER and [row["arguments"] for row in rows] == [{"reader": "r"}, {"reader": "s"}]
            assert [row["step"] for row in rows] == [0, 1]
            continue
        assert found.status == "error" and len(rows) == 2
        after = session.call("pay_fine", {"reader": "r"})
        assert after.decision == "deny" and "no result yet" not in after.reason
        renamed = {**LOOKED, "name": "pay_fine"}
        assert wrapped(library.session(), [asking(LOOKED)], renamed, ANSWER).status == "error"


def test_what_is_refused_stays_so_whatever_is_asked_in_its_place() -> None:
    long = call("lend_book", {"days": 40})
    found = wrapped(library.session(), [asking(long)], {**long, "args": {"days": 3}}, ANSWER)
    assert f"“{SHORT}”" in found.content


def test_arguments_that_are_no_json_are_observed_once() -> None:
    odd, log = call("lend_book", {"days": float("nan")}), io.StringIO()
    assert wrapped(library.session(observe=True, log=log), [asking(odd)], odd, ANSWER) is ANSWER
    (row,) = map(json.loads, log.getvalue().splitlines())
    assert (row["decision"], row["arguments"]) == ("deny", None)


def raw(arguments: Any, id: str = "c1") -> dict:
    return {"id": id, "function": {"name": "get_reader", "arguments": arguments}}


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ([raw('{"reader": "r"}')], ""),
        ([raw('{"reader": "s"}')], "arguments as the model wrote them were required"),
        ([raw('{"reader": "s"}', id="c2")], ""),
        ([raw('{"reader": "r"}'), raw('{"reader": "s"}')], "arguments as the model wrote them were required"),
        ([raw("{", id="c2"), raw("{")], "JSON was required"),
        ([raw({"reader": "s"})], ""),
        ([{"id": "c1"}, "no raw call"], ""),
        ([{"id": "c1", "function": None}], ""),
    ],
)
def test_what_the_model_wrote_is_what_is_run(written: list, told: str) -> None:
    message = asking(LOOKED, additional_kwargs={"tool_calls": written})
    found = wrapped(library.session(), [message], LOOKED, ANSWER)
    assert found is ANSWER if not told else told in found.content


@pytest.mark.parametrize(("text", "id", "runs"), [('{"reader": "r"}', "c1", True), ('{"reader": "s', "c1", False)])
def test_what_came_in_pieces_is_what_is_run(text: str, id: str, runs: bool) -> None:
    chunk = {"name": "get_reader", "args": text, "id": id, "index": 0}
    message = AIMessageChunk("", id="m1", tool_call_chunks=[chunk])
    asked = {**message.tool_calls[0], "args": {"reader": "r"}}
    message.tool_calls[0]["args"] = {"reader": "r"}
    assert (wrapped(library.session(), [message], asked, ANSWER) is ANSWER) is runs


def test_the_decisions_of_so_many_messages_are_kept() -> None:
    log = io.StringIO()
    session = library.session(log=log)
    pair = call("lend_book", {"days": 1}, "a"), call("lend_book", {"days": 2}, "b")
    state: list[Any] = []
    for i in range(adapter.KEPT + 1):
        state.append(asking(*({**one, "id": f"{one['id']}{i}"} for one in pair), id=f"m{i}"))
        assert wrapped(session, state, state[-1].tool_calls[0], ANSWER) is ANSWER
        one = enforcement.enforcer(session)
        assert list(one.steps) == [f"m{n}" for n in range(max(0, i - 63), i + 1)]
        assert list(one.steps[f"m{i}"]) == [f"b{i}"], "the other one is decided, and waits to be made"
    rows = [json.loads(line) for line in log.getvalue().splitlines()]
    assert [row["step"] for row in rows] == [i for i in range(adapter.KEPT + 1) for _ in range(2)]
    assert wrapped(session, state, state[1].tool_calls[1], ANSWER) is ANSWER and len(log.getvalue().splitlines()) == 130
    assert wrapped(session, state, state[1].tool_calls[1], ANSWER) is ANSWER
    again = [json.loads(line) for line in log.getvalue().splitlines()][130:]
    assert [row["step"] for row in again] == [65], "made once more, it is another call"


@pytest.mark.parametrize("asks", [False, True])
def test_only_a_session_that_may_have_to_wait_is_asked_in_a_thread(asks: bool) -> None:
    threads = []

    class Where(Session):
        def call(self, *given: Any, **options: Any) -> Any:
            threads.append(threading.current_thread() is threading.main_thread())
            return super().call(*given, **options)

    async def execute(request: Any) -> Any:
        return ANSWER

    session = Where(library.GUARD, ask=lambda name, arguments: None) if asks else Where(library.GUARD)
    session.state({"card_blocked": False})
    request = ToolCallRequest(LOOKED, None, [asking(LOOKED)], None)
    assert asyncio.run(adapter.Guarded(session).awrap(request, execute)) is ANSWER
    assert threads == [not asks]


def test_a_node_finds_its_messages_by_their_key() -> None:
    desk = Desk()
    node = adapter.tool_node(structured(desk), library.session(), messages_key="chat")
    graph = StateGraph(dict)
    graph.add_node("tools", node)
    graph.add_edge(START, "tools")
    graph.compile().invoke({"chat": [asking(call("lend_book", {"days": 3}))]})
    assert desk.done == [("lend_book", 3)]


def test_only_a_message_of_the_model_asks_for_a_call() -> None:
    call = {"name": "look", "args": {"id": "a"}, "id": "x"}
    asking = AIMessage("", tool_calls=[call], id="m")
    other = SimpleNamespace(type="human", tool_calls=[call])
    assert adapter._asking([asking, HumanMessage("Go on.")], "x") == 0 == adapter._asking([asking, other], "x")
    assert adapter._asking([other], "x") is None is adapter._asking([asking], "y")
    assert adapter._asking([asking, AIMessage("", tool_calls=[call])], "x") == 1, "the last one"


def test_arguments_are_those_that_the_model_wrote() -> None:
    call = {"name": "look", "args": {"id": "a"}, "id": "x"}
    for text, wrong in (('{"id": "a"}', ""), ('{"id": "b"}', "arguments as the model wrote them"), ("{", "got")):
        for name in ("x", "y"):
            raw = {"id": name, "function": {"name": "look", "arguments": text}, "type": "function"}
            message = AIMessage("", tool_calls=[call], additional_kwargs={"tool_calls": [raw]})
            said = adapter._raw(message, call)
            assert said == "" if name == "y" or not wrong else wrong in said
    assert adapter._raw(AIMessage("", tool_calls=[call]), call) == ""
