"""What a guarded call costs beside the same call of the package alone, in one run.

    python tests/bench/adapters.py [--quick] [--json] [--load POLICY]

The guard has the rules of `library`; the tool does nothing.  Plain and guarded calls take turns; of each, the best of
several rounds counts, in microseconds of processor time, with what an empty Python call takes here.  With `--load`, how
long a process takes from `import wb` to a decision by the guards of a finished run.
"""

from __future__ import annotations

# ruff: noqa: E402
import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import library

from wb.adapters import functions, inspect_ai, langgraph, mcp, openai
from wb.adapters.enforcement import NotAllowed

Timed = Callable[[int], float]  # so many calls to the seconds of processor time that they took
ALLOWED, DENIED = {"days": 3}, {"days": 30}


def lend_book(days: int) -> str:
    """A tool that does nothing."""
    return "lent"


def each(call: Callable[[int], Any]) -> Timed:
    """Calls with their numbers, one after the other."""

    def timed(times: int) -> float:
        began = time.process_time()
        for number in range(times):
            call(number)
        return time.process_time() - began

    return timed


def each_async(call: Callable[[int], Awaitable[Any]]) -> Timed:
    """The same of coroutines, in one loop that runs already."""

    def timed(times: int) -> float:
        async def run() -> float:
            began = time.process_time()
            for number in range(times):
                await call(number)
            return time.process_time() - began

        return asyncio.get_event_loop().run_until_complete(run())

    return timed


def of_functions(arguments: dict) -> tuple[Timed, Timed]:
    """A decorated function beside the function."""
    guarded = functions.guard(library.session())(lend_book)

    def call(number: int) -> None:
        try:
            guarded(**arguments)
        except NotAllowed:
            pass

    return each(lambda number: lend_book(**arguments)), each(call)


def of_openai(arguments: dict) -> tuple[Timed, Timed]:
    """`Tools.run` beside the loop that everybody writes."""
    from openai.types.chat import ChatCompletionMessage

    text = json.dumps(arguments)
    tools = openai.Tools(library.session(), {"lend_book": lend_book})

    def message(number: int) -> ChatCompletionMessage:
        function = {"name": "lend_book", "arguments": text}
        call = {"id": f"call_{number}_{time.perf_counter_ns()}", "type": "function", "function": function}
        return ChatCompletionMessage.model_validate({"role": "assistant", "content": None, "tool_calls": [call]})

    def plain(number: int) -> list[dict]:
        calls = message(number).tool_calls
        return [
            {"role": "tool", "tool_call_id": call.id, "content": lend_book(**json.loads(call.function.arguments))}
            for call in calls
        ]

    return each(plain), each(lambda number: tools.run([message(number)]))


def of_langgraph(arguments: dict) -> tuple[Timed, Timed]:
    """A `ToolNode` with the wrapper beside one without, each in a graph of one node."""
    from langchain_core.messages import AIMessage
    from langgraph.graph import START, StateGraph
    from langgraph.prebuilt import ToolNode

    def graph(node: Any) -> Callable[[int], Any]:
        made = StateGraph(dict)
        made.add_node("tools", node)
        made.add_edge(START, "tools")
        compiled = made.compile()

        def call(number: int) -> Any:
            name = f"call_{number}_{time.perf_counter_ns()}"
            asked = {"name": "lend_book", "args": arguments, "id": name, "type": "tool_call"}
            return compiled.invoke({"messages": [AIMessage("", id=f"m{name}", tool_calls=[asked])]})

        return call

    guarded = langgraph.tool_node([lend_book], library.session())
    return each(graph(ToolNode([lend_book]))), each(graph(guarded))


def of_mcp(arguments: dict) -> tuple[Timed, Timed]:
    """The proxy's answer to a call beside the client's own call of the same server, in one process."""
    from mcp import Client
    from mcp.server.mcpserver import MCPServer

    server = MCPServer("desk")

    async def lend_book(days: int) -> str:
        return "lent"

    server.tool(structured_output=False)(lend_book)  # a coroutine function: threads would blur the figure
    client = Client(server, cache=None)
    asyncio.get_event_loop().run_until_complete(client.__aenter__())
    proxy = mcp.Proxy(library.session(), client)
    params = SimpleNamespace(name="lend_book", arguments=arguments)
    return (
        each_async(lambda number: client.call_tool("lend_book", arguments)),
        each_async(lambda number: proxy.call_tool(None, params)),
    )


def of_inspect(arguments: dict) -> tuple[Timed, Timed]:
    """The approver beside one that approves all, each asked as inspect_ai asks."""
    from inspect_ai.approval import ApprovalPolicy, auto_approver
    from inspect_ai.approval._policy import policy_approver
    from inspect_ai.log import transcript
    from inspect_ai.model import ChatMessageAssistant, ChatMessageTool
    from inspect_ai.tool import ToolCall, ToolCallView

    transcript()

    def asking(approver: Any) -> Callable[[int], Awaitable[Any]]:
        asked = policy_approver([ApprovalPolicy(approver, "*")])

        history: list[Any] = []

        def call(number: int) -> Awaitable[Any]:
            one = ToolCall(f"call_{number}_{time.perf_counter_ns()}", "lend_book", arguments)
            history[1:] = [ChatMessageAssistant(content="", tool_calls=[one])]
            found = asked("", one, ToolCallView(), list(history))
            history[:] = [ChatMessageTool(content="lent", tool_call_id=one.id)]  # what it gave, told at the next one
            return found

        return call

    session = library.session()
    return each_async(asking(auto_approver())), each_async(asking(inspect_ai.guard(lambda: session)))


WAYS = {
    "function": of_functions,
    "openai": of_openai,
    "langgraph": of_langgraph,
    "mcp": of_mcp,
    "inspect_ai": of_inspect,
}


def measured(make: Callable[[dict], tuple[Timed, Timed]], arguments: dict, times: int, rounds: int) -> dict[str, float]:
    """Microseconds a call, plain and guarded, the best of rounds that take turns."""
    plain, guarded = make(arguments)
    plain(20), guarded(20)
    found = [(plain(times), guarded(times)) for _ in range(rounds)]
    best = [min(one) / times * 1e6 for one in zip(*found, strict=True)]
    return {"plain": best[0], "guarded": best[1], "overhead": best[1] - best[0]}


def empty() -> float:
    """Microseconds of an empty Python call."""
    nothing = each(lambda number: None)
    return min(nothing(100_000) for _ in range(5)) / 100_000 * 1e6


def within_langgraph(times: int) -> dict[str, float]:
    """Microseconds of a thread that an allowed call spends in the guard and what it calls, the tool's own time taken
    off, in a graph: the median and the best tenth. Two readings of the clock are in it."""
    from langchain_core.messages import AIMessage
    from langgraph.graph import START, StateGraph
    from langgraph.prebuilt import ToolNode

    guarded, spent = langgraph.Guarded(library.session()), []

    def wrap(request: Any, execute: Callable[[Any], Any]) -> Any:
        tool = [0]

        def timed(one: Any) -> Any:
            began = time.thread_time_ns()
            found = execute(one)
            tool[0] = time.thread_time_ns() - began
            return found

        began = time.thread_time_ns()
        found = guarded.wrap(request, timed)
        spent.append((time.thread_time_ns() - began - tool[0]) / 1000)
        return found

    made = StateGraph(dict)
    made.add_node("tools", ToolNode([lend_book], wrap_tool_call=wrap))
    made.add_edge(START, "tools")
    graph = made.compile()
    for number in range(times):
        call = {"name": "lend_book", "args": ALLOWED, "id": f"c{number}", "type": "tool_call"}
        graph.invoke({"messages": [AIMessage("", id=f"m{number}", tool_calls=[call])]})
    spent.sort()
    return {"median": spent[len(spent) // 2], "best tenth": spent[len(spent) // 10]}


def loaded(policy: str) -> dict[str, float]:
    """Seconds of processor time of the import, of the guards, of a first decision and of all three; beside them what
    pydantic and one model of its own take, which is in the import; the best of five processes."""
    other = (
        "import time; a = time.process_time(); import pydantic\nclass One(pydantic.BaseModel):\n    x: int\n"
        "print(time.process_time() - a)"
    )
    code = (
        "import time; a = time.process_time(); import wb; wb.load; b = time.process_time()\n"
        f"guards = wb.load({policy!r}); c = time.process_time()\n"
        "session = guards.session(); session.call(guards.toolbox.tools[0].name, {}); d = time.process_time()\n"
        "import sys; print(b - a, c - b, d - c, d - a, 'torch' in sys.modules)"
    )
    rows = []
    for _ in range(5):
        beside = subprocess.run([sys.executable, "-c", other], capture_output=True, text=True, check=True).stdout
        said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
        *times, torch = said.stdout.split()
        assert torch == "False"
        rows.append([float(one) for one in (*times, beside)])
    names = ("import", "load", "first decision", "together", "pydantic alone")
    return dict(zip(names, map(min, zip(*rows, strict=True)), strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--load", metavar="POLICY")
    given = parser.parse_args()
    asyncio.set_event_loop(asyncio.new_event_loop())
    times, rounds = (50, 3) if given.quick else (300, 7)
    found: dict[str, Any] = {"empty call": {"us": empty()}}
    for name, make in WAYS.items():
        for kind, arguments in (("allowed", ALLOWED), ("denied", DENIED)):
            found[f"{name}, {kind}"] = measured(make, arguments, times, rounds)
    found["within langgraph"] = within_langgraph(times * rounds)
    if given.load:
        found["load, s"] = loaded(given.load)
    if given.json:
        print(json.dumps(found, indent=1))
        return
    for name, row in found.items():
        print(f"{name:22}" + "".join(f"{what:>16} {value:9.3f}" for what, value in row.items()))


if __name__ == "__main__":
    main()
