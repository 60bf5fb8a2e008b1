"""A proxy between an agent and an MCP server, by the official SDK: tools are listed through, calls pass the guards.

The agent starts the proxy as its server, over standard input and output; the proxy starts or reaches the real one.  One
connection is one conversation.

| of MCP | what the proxy does |
|---|---|
| `tools/list` | asks the server anew each time and passes on, page by page, the tools that are as at the start |
| `tools/call` | asks the session; an allowed call is passed on, a refused one gets a result with `isError`: why |
| resources, prompts, completion, logging | neither offered nor passed: no rule speaks of them; told at the start |
| what the server asks the agent for (sampling, elicitation, roots) | answered with an error |
| progress, notifications | not passed |

With `offer` the agent gets three tools more, under the same session (ShieldAgent, Section 3.3, packs its shield so):
`wb_verdict` judges a call that it has in mind, `wb_operations` lists what can be asked for it, and `wb_operation` runs
one: searches, checks of the conversation, detectors and functions of the session's; what follows from what is known,
the rules' automata, is in each verdict.  An agent names a call and a field, and nothing that it says is a fact: the
call is not made, and rules and state stay as they are.

The tools that the server lists at the start, compared with `tools.json` before a person's eyes, are the tools of the
conversation: one that is listed otherwise later, in its schema or in words that an agent would follow, or that was not
there, is withheld and told, and calls of it are refused from then on (the next start compares anew).

A conversation has no words here, so that fields told by what somebody said are unknown.  Read-only tools that a field
is looked up by are asked of the same server.  A server that dies, hangs or answers what is no result leaves the call
awaited: nobody knows whether it was done.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from wb.adapters import enforcement
from wb.adapters.enforcement import Enforcer
from wb.domain import sources
from wb.domain.events import Answer, Lookup
from wb.domain.schema import named
from wb.domain.session import Considered, Session, SessionError
from wb.domain.tools import Toolbox, ToolError
from wb.domain.trace import Value
from wb.domain.validation import stranger

SECONDS = 60.0  # for one answer of the server
FEATURES = ("resources", "prompts", "completions", "logging")  # what a server may offer beside tools
CHANGED = "the server lists this tool otherwise than at the start; it is withheld, and its calls are refused"
SAID = {"title", "description", "default", "keywords", "examples", "x-name"}  # what a schema says and does not ask
_CALL = {
    "tool": {"type": "string", "description": "the tool of the call"},
    "arguments": {"type": "object", "description": "its arguments"},
}
_FIELD = {"field": {"type": "string", "description": "the field of the operation, as wb_operations lists it"}}


def _offered(said: str, required: Sequence[str], **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {**_CALL, **more}, "required": list(required)}
    return {"description": said, "inputSchema": schema, "annotations": {"readOnlyHint": True}}


OFFERED = {
    "wb_verdict": _offered(
        "Whether a call would be allowed now, why, and what would comply. It is not made.", ["tool"]
    ),
    "wb_operations": _offered("What can be asked to decide a call, and what is known without.", ["tool"]),
    "wb_operation": _offered("Ask one thing to decide a call.", ["tool", "field"], **_FIELD),
}
Ask = Callable[[str, dict[str, Value]], object]


def serve(
    make: Callable[[Ask], Session], server: str | Sequence[str], *, seconds: float = SECONDS, offer: bool = False
) -> None:
    """Speak MCP over standard input and output until the agent hangs up.

    `make` makes the session, of what answers its lookups; `server` is an address (Streamable HTTP) or a command with
    its arguments.  Standard error gets a line for each thing that a person should know: what is not passed on, and
    where the server's tools are not those of `tools.json`.  `offer` offers the shield and its operations as tools.

    Raises:
        ToolError: no server answers there.
    """
    asyncio.run(_serve(make, server, seconds, offer))


async def _serve(make: Callable[[Ask], Session], server: str | Sequence[str], seconds: float, offer: bool) -> None:
    from mcp.server.stdio import stdio_server

    client = sources.mcp_client(server, seconds=seconds)
    try:
        async with asyncio.timeout(seconds):
            await client.__aenter__()
    except Exception as error:  # a broad catch: whatever a foreign server makes the SDK raise becomes a message
        raise ToolError(f"an MCP server that answers was required; got {_told(error)}") from None
    try:
        session = make(_asking(client, asyncio.get_running_loop(), seconds))
        proxy = Proxy(session, client, seconds, offer)
        for line in await proxy.differences():
            print(line, file=sys.stderr)
        mine = proxy.server()
        async with stdio_server() as (reading, writing):
            await mine.run(reading, writing, mine.create_initialization_options())
    finally:
        await client.__aexit__(None, None, None)


class Proxy:
    """One conversation between an agent and the server that a client of the SDK is connected to."""

    def __init__(self, session: Session, client: Any, seconds: float = SECONDS, offer: bool = False) -> None:
        self.enforcer: Enforcer = enforcement.enforcer(session)
        self.client, self.seconds, self.offered = client, seconds, OFFERED if offer else {}
        self.first: dict[str, str] | None = None  # the tools as first listed whole, each as JSON
        self.changed: set[str] = set()

    def server(self) -> Any:
        """The server that the agent speaks with."""
        return sources.mcp_server(self.list_tools, self.call_tool)

    async def list_tools(self, context: Any, params: Any) -> Any:
        """The tools of the server that are as at the start, one page, and before them what is offered beside."""
        from mcp import types

        if self.first is None:
            self._remember(await sources.pages(self.client))
        cursor = params.cursor if params is not None else None
        page = await self.client.list_tools(cursor=cursor)
        mine = [types.Tool.model_validate({"name": name, **row}) for name, row in self.offered.items() if not cursor]
        same = [one for one in page.tools if self._as_first(one) and one.name not in self.offered]
        return types.ListToolsResult(tools=[*mine, *same], nextCursor=sources.mcp_field(page, "next_cursor"))

    def _remember(self, tools: Sequence[Any]) -> None:
        """Take these as the tools of the conversation; of two with one name the first."""
        self.first = {}
        for tool in tools:
            self.first.setdefault(tool.name, _whole(tool))

    def _as_first(self, tool: Any) -> bool:
        """Whether a tool is as at the start; if not, this is told once and its calls are refused from then on."""
        if (self.first or {}).get(tool.name) == _whole(tool):
            return True
        if tool.name not in self.changed:
            self.changed.add(tool.name)
            print(f"{named(tool.name)}: {CHANGED}", file=sys.stderr)
        return False

    async def call_tool(self, context: Any, params: Any) -> Any:
        """The result of an allowed call, or why it was not made."""
        arguments = {} if params.arguments is None else params.arguments
        if params.name in self.offered:
            return await self._considered(params.name, arguments)
        if params.name in self.changed:
            return _failed(f"{named(params.name)}: {CHANGED}")
        call_id = enforcement.new_id()
        answer = await self.enforcer.ask_async(params.name, arguments, call_id)
        if not answer.runs:
            return _failed(answer.refusal)
        try:
            async with asyncio.timeout(self.seconds):
                result = await self.client.call_tool(params.name, arguments)
        except Exception as error:  # whatever it was, it does not say whether the call was done
            return _failed(f"{params.name} was called, and it is not known whether it was done: {_told(error)}")
        if sources.mcp_field(result, "is_error"):
            value = given(result)
            self.enforcer.refused(params.name, value, call_id, not enforcement.UNCERTAIN.search(str(value)))
        else:
            self.enforcer.done(given(result), call_id)
        return result

    async def _considered(self, name: str, given: Mapping[str, Any]) -> Any:
        """What is said of a call that the agent has in mind."""
        from mcp import types

        tool, arguments, field = given.get("tool"), given.get("arguments", {}), given.get("field")
        wanted = set(self.offered[name]["inputSchema"]["properties"])
        if type(tool) is not str or type(arguments) is not dict or set(given) - wanted:
            return _failed(f"{name}: a tool's name and its arguments were required; got {sorted(given)}")
        if name == "wb_operation" and type(field) is not str:
            return _failed(f"{name}: the field of an operation was required; got {type(field).__name__}")
        if self.enforcer.ended:
            return _failed(self.enforcer.ended)
        run = None if name == "wb_verdict" else (field,) if name == "wb_operation" else ()
        try:
            found = await asyncio.to_thread(self.enforcer.session.consider, tool, arguments, run)
        except SessionError as error:
            return _failed(f"{name}: {error}")
        row = {**self.enforcer.explained(tool, found.verdict), **_operations(found)}
        text = json.dumps(row, ensure_ascii=False, default=str)
        block = {"content": [{"type": "text", "text": text}], "structuredContent": json.loads(text)}
        return types.CallToolResult.model_validate(block)

    async def differences(self) -> tuple[str, ...]:
        """What of the server is not passed on, and where its tools are not those of `tools.json`.

        Raises:
            ToolError: it does not list its tools.
        """
        offered = self.client.server_capabilities
        told = [f"{name}: offered by the server and not passed on" for name in FEATURES if getattr(offered, name, None)]
        try:
            async with asyncio.timeout(self.seconds):
                tools = await sources.pages(self.client)
        except Exception as error:
            raise ToolError(f"an MCP server that lists its tools was required; got {_told(error)}") from None
        self._remember(tools)
        if any(
            sources.mcp_field(tool, "output_schema") for tool in tools
        ):  # what the SDK checks results with is slow to load
            await asyncio.to_thread(importlib.import_module, "jsonschema")
        told += [
            f"{tool.name}: the proxy offers its own tool of that name" for tool in tools if tool.name in self.offered
        ]
        return (*told, *different(self.enforcer.session.judge.validator.toolbox, tools))


def _whole(tool: Any) -> str:
    """All that a server says of a tool."""
    return json.dumps(tool.model_dump(mode="json"), sort_keys=True)


def _operations(found: Considered) -> dict[str, Any]:
    """What was asked for a call, with what it gave, and what can still be asked."""
    asked = [{"of": getattr(one, "tool", ""), **_given(one)} for one in found.asked]
    still = [{"field": one.field, "kind": one.kind, "cost": one.cost, "of": one.of} for one in found.open]
    return {"asked": asked, "operations": still}


def _given(one: Lookup | Answer) -> dict[str, Any]:
    return {"gave": one.value} if one.problem is None else {"problem": one.problem}


def different(toolbox: Toolbox, listed: Sequence[Any]) -> tuple[str, ...]:
    """Where the tools that a server lists are not those of the toolbox, a line each."""
    known, found = {tool.name: tool for tool in toolbox.tools}, {tool.name for tool in listed}
    lines = [f"{name}: the server has no such tool" for name in known if name not in found]
    for tool in listed:
        mine = known.get(tool.name)
        if mine is None:
            lines.append(f"{stranger(tool.name, known)} in tools.json; its calls are refused")
            continue
        draft = sources.draft(tool)
        if draft.mistake:
            lines.append(f"{tool.name}: the schema of its arguments cannot be read: {draft.mistake}")
            continue
        theirs, ours = _arguments(draft.row["parameters"]), _arguments(mine.schema)
        lines += [f"{tool.name}.{name}: only the server has this argument" for name in theirs if name not in ours]
        lines += [f"{tool.name}.{name}: only tools.json has this argument" for name in ours if name not in theirs]
        lines += [
            f"{tool.name}.{name}: the server says {_shown(theirs[name])}, tools.json {_shown(ours[name])}"
            for name in theirs
            if name in ours and theirs[name] != ours[name]
        ]
        hint = draft.row.get("mutating")
        if hint is True and mine.mutating is False:
            lines.append(f"{tool.name}: the server says that it changes something, tools.json that it does not")
    return tuple(lines)


def given(result: Any) -> Value:
    """What a tool gave: its structured content, else its text, which may be the JSON of an object or list; null where
    it is neither."""
    structured = sources.mcp_field(result, "structured_content")
    if structured is not None:
        return structured
    texts = [block.text for block in result.content if getattr(block, "type", "") == "text"]
    return enforcement.content("\n".join(texts)) if texts else None


def _asking(client: Any, loop: asyncio.AbstractEventLoop, seconds: float) -> Ask:
    """What answers a session's lookups: the server's own read-only tools."""

    def ask(tool: str, arguments: dict[str, Value]) -> object:
        asked = asyncio.run_coroutine_threadsafe(client.call_tool(tool, arguments), loop)
        result = asked.result(seconds)
        if sources.mcp_field(result, "is_error"):
            raise LookupError(f"{tool} answered an error: {given(result)}"[:300])
        return given(result)

    return ask


def _arguments(schema: Mapping[str, Any]) -> dict[str, Any]:
    """What a schema asks of each argument, without what is only said of it, and whether it must be there."""
    required = schema.get("required", ())
    return {name: (name in required, _plain(one)) for name, one in schema.get("properties", {}).items()}


def _plain(schema: Any) -> Any:
    """A schema as JSON, without the words that ask nothing."""
    if isinstance(schema, Mapping):
        return {key: _plain(one) for key, one in schema.items() if key not in SAID}
    return [_plain(one) for one in schema] if isinstance(schema, list | tuple) else schema


def _shown(argument: tuple[bool, Any]) -> str:
    required, schema = argument
    return f"{json.dumps(schema, sort_keys=True)[:200]}{', required' if required else ''}"


def _failed(text: str) -> Any:
    from mcp import types

    return types.CallToolResult.model_validate({"content": [{"type": "text", "text": text}], "isError": True})


def _told(error: BaseException) -> str:
    """What went wrong: the first single error of a group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return "no answer in time" if isinstance(error, TimeoutError) else enforcement.said(error)
