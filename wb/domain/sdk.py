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
    """The major version of the SDK that is installed; `ToolError` where there is none that this was tried with."""
    try:
        version = metadata.version("mcp")
    except metadata.PackageNotFoundError:
        version = "none"
    if not re.match(r"(?:1\.(?:2[4-9]|[3-9]\d|\d{3,})|2\.\d+)\b", version):
        raise ToolError(f"the SDK {SUPPORTED} was required; got mcp {version}: run `pip install '{SUPPORTED}'`")
    return int(version[0])


def field(model: Any, name: str) -> Any:
    """A field of what the SDK read, by its name in version 2."""
    return getattr(model, name if major() > 1 else re.sub(r"_(\w)", lambda found: found[1].upper(), name))


def client(server: str | Sequence[str], *, seconds: float | None = None, errors: TextIO | None = None) -> Any:
    """What connects, when entered, to an address (Streamable HTTP) or a command, whose standard error goes to `errors`.

    It has `list_tools(cursor=…)`, `call_tool(name, arguments)` and `server_capabilities`; an answer may take `seconds`.
    """
    import mcp
    from mcp.client.streamable_http import streamable_http_client

    new = major() > 1
    if isinstance(server, str):
        transport = server if new else streamable_http_client(server)
    else:
        started = mcp.StdioServerParameters(command=server[0], args=list(server[1:]))
        transport = mcp.stdio_client(started, errlog=errors or sys.stderr)
    return mcp.Client(transport, cache=None, read_timeout_seconds=seconds) if new else _Client(transport, seconds)


def server(list_tools: Handler, call_tool: Handler) -> Any:
    """A server that offers tools and nothing else; it checks no arguments and leaves results as they are."""
    from mcp import types
    from mcp.server.lowlevel import Server

    if major() > 1:
        return Server("wb", on_list_tools=list_tools, on_call_tool=call_tool)

    async def list_all(request: Any) -> Any:
        return types.ServerResult(await list_tools(None, request.params))

    async def call(request: Any) -> Any:
        return types.ServerResult(await call_tool(None, request.params))

    made: Any = Server("wb")
    made.request_handlers |= {types.ListToolsRequest: list_all, types.CallToolRequest: call}
    return made


class _Client:
    """Version 1's session as version 2's client."""

    def __init__(self, transport: Any, seconds: float | None) -> None:
        self._transport, self._wait = transport, None if seconds is None else timedelta(seconds=seconds)

    async def __aenter__(self) -> _Client:
        import mcp

        async with contextlib.AsyncExitStack() as stack:
            reading, writing, *_ = await stack.enter_async_context(self._transport)
            session = await stack.enter_async_context(mcp.ClientSession(reading, writing, self._wait))
            self.server_capabilities = (await session.initialize()).capabilities
            self.call_tool, self.list_tools = session.call_tool, session.list_tools
            self._open = stack.pop_all()
        return self

    async def __aexit__(self, *error: Any) -> bool | None:
        return await self._open.__aexit__(*error)
