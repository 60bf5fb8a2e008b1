"""The official SDK of MCP, of its major version 1 or 2: a client of a server, a server of tools, what is read of both.

The two differ in who connects and in how fields are spelt (`isError`, `is_error`); everything else passes through.
Another version is refused: what it would take a refusal for is not known.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from functools import lru_cache
from importlib import metadata
from typing import Any, TextIO

from wb.domain.tools import ToolError

SUPPORTED = "mcp>=1.24,<3"  # as in pyproject.toml
Handler = Callable[[Any, Any], Awaitable[Any]]  # of the connection's context and a request's parameters


@lru_cache
def major() -> int:
    """The major version of the SDK that is installed.

    Raises:
        ToolError: there is none, or one that nothing here was tried with.
    """
    try:
        version = metadata.version("mcp")
    except metadata.PackageNotFoundError:
        version = "none"
    found = re.match(r"(?:1\.(?:2[4-9]|[3-9]\d|\d{3,})|2\.\d+)\b", version)
    if found is None:
        raise ToolError(f"the SDK {SUPPORTED} was required; got mcp {version}: run `pip install '{SUPPORTED}'`")
    return int(version[0])


def field(model: Any, name: str) -> Any:
    """A field of what the SDK read, by its name in version 2."""
    return getattr(model, name if major() > 1 else re.sub(r"_(\w)", lambda found: found[1].upper(), name))


def client(server: str | Sequence[str], *, seconds: float | None = None, errors: TextIO | None = None) -> Any:
    """A client that connects when it is entered, to an address (Streamable HTTP) or a command with its arguments.

    It has `list_tools(cursor=…)`, `call_tool(name, arguments)` and `server_capabilities`; an answer may take so many
    seconds.  What a command says on its standard error goes to `errors`.
    """
    import mcp

    new, transport = major() > 1, server
    if not isinstance(server, str):
        command, *arguments = server
        started = mcp.StdioServerParameters(command=command, args=arguments)
        transport = mcp.stdio_client(started, errlog=errors or sys.stderr)
    elif not new:
        from mcp.client.streamable_http import streamable_http_client

        transport = streamable_http_client(server)
    return mcp.Client(transport, cache=None, read_timeout_seconds=seconds) if new else _Client(transport, seconds)


def server(list_tools: Handler, call_tool: Handler) -> Any:
    """A server that offers tools and nothing else; it checks no arguments and leaves results as they are."""
    from mcp import types
    from mcp.server.lowlevel import Server

    if major() > 1:
        return Server("wb", on_list_tools=list_tools, on_call_tool=call_tool)
    made: Any = Server("wb")
    for request, handler in ((types.ListToolsRequest, list_tools), (types.CallToolRequest, call_tool)):
        made.request_handlers[request] = _answering(handler)
    return made


def failed(text: str) -> Any:
    """The result of a call that was refused or went wrong, with the reason."""
    from mcp import types

    return types.CallToolResult.model_validate({"content": [{"type": "text", "text": text}], "isError": True})


def _answering(handler: Handler) -> Callable[[Any], Awaitable[Any]]:
    from mcp import types

    async def answer(request: Any) -> Any:
        return types.ServerResult(await handler(None, request.params))

    return answer


class _Client:
    """Version 1's session as version 2's client."""

    def __init__(self, transport: Any, seconds: float | None) -> None:
        self._transport, self._seconds = transport, seconds

    async def __aenter__(self) -> _Client:
        import mcp

        wait = None if self._seconds is None else timedelta(seconds=self._seconds)
        async with contextlib.AsyncExitStack() as stack:
            reading, writing, *_ = await stack.enter_async_context(self._transport)
            session = await stack.enter_async_context(mcp.ClientSession(reading, writing, wait))
            self.server_capabilities = (await session.initialize()).capabilities
            self.call_tool, self._list_tools = session.call_tool, session.list_tools
            self._open = stack.pop_all()
        return self

    async def __aexit__(self, *error: Any) -> bool | None:
        return await self._open.__aexit__(*error)

    async def list_tools(self, *, cursor: str | None = None) -> Any:
        from mcp import types

        return await self._list_tools(params=types.PaginatedRequestParams(cursor=cursor))
