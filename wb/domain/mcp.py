"""The tools of a running MCP server, by the official SDK: what `tools/list` answers, page by page.

| in MCP | in `tools.json` |
|---|---|
| `name`, `description` | the same |
| `inputSchema` | `parameters`, without references (`wb.domain.inline`) |
| `annotations.readOnlyHint` | `mutating`, its opposite; nothing where the server gives no hint |

A server is a command that speaks over its standard input and output, or an address (Streamable HTTP).  A command is
started as the user wrote it, with the few variables of the environment that the SDK hands down, and ended afterwards.
Nothing but `tools/list` is asked.  A hint is the word of the server, and its texts are data.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from typing import Any

from wb.domain import inline, jsonl
from wb.domain.tools import Draft, ToolError

SECONDS = 60.0  # for starting a server and all its pages
PAGES = 1000
OLD = ("draft-03", "draft-04", "draft-06", "draft-07")  # in these nothing beside a `$ref` counts


def drafts(server: str | Sequence[str], source: str, *, seconds: float = SECONDS) -> tuple[Draft, ...]:
    """The tools of a server, an address or a command with its arguments.

    Raises:
        ToolError: no server answers there, or not as it must.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        try:
            listed = asyncio.run(_listed(server, log, seconds))
        except ToolError as error:
            raise ToolError(f"{source}: {error}") from None
        except Exception as error:  # a broad catch: what a foreign server makes the SDK raise becomes a message
            log.seek(0)
            last = next((line for line in reversed(log.read()[-5000:].splitlines()) if line.strip()), "")
            last_words = f"; the server said {jsonl.shown(last)}" if last else ""
            if isinstance(server, str):
                last_words = " (a document is read from a file)"
            raise ToolError(
                f"{source}: an MCP server that lists its tools was required; got {_cause(error, seconds)}{last_words}"
            ) from None
    return tuple(map(draft, listed))


async def _listed(server: str | Sequence[str], log: Any, seconds: float) -> list[Any]:
    """All pages of `tools/list`."""
    import mcp

    if isinstance(server, str):
        transport: Any = server
    else:
        command, *arguments = server
        transport = mcp.stdio_client(mcp.StdioServerParameters(command=command, args=arguments), errlog=log)
    listed: list[Any] = []
    async with asyncio.timeout(seconds), mcp.Client(transport, cache=None) as client:
        cursor, seen = None, set()
        while cursor not in seen and len(seen) < PAGES:
            seen.add(cursor)
            page = await client.list_tools(cursor=cursor)
            listed += page.tools
            if (cursor := page.next_cursor) is None:
                return listed
    raise ToolError(f"a last page among {PAGES}, and none twice, was required of tools/list; got cursor after cursor")


def draft(tool: Any) -> Draft:
    """One tool, or what cannot be read of the schema of its arguments."""
    dialect = tool.input_schema.get("$schema")
    old = isinstance(dialect, str) and any(name in dialect for name in OLD)
    try:
        schema = inline.arguments(
            inline.Document(tool.input_schema, "draft-7" if old else "2020-12").schema(tool.input_schema, "#")
        )
    except inline.Mistake as error:
        return Draft(tool.name, place="inputSchema", mistake=str(error))
    row = {"name": tool.name, "description": tool.description or ""}
    hint = tool.annotations.read_only_hint if tool.annotations else None
    if hint is not None:
        row["mutating"] = not hint
    row["parameters"] = ({} if dialect is None else {"$schema": dialect}) | schema
    notes = ("the server itself says that it changes nothing",) if hint else ()
    return Draft(tool.name, row, "tools/list", notes)


def _cause(error: BaseException, seconds: float) -> str:
    """What went wrong: the first single error of a group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, TimeoutError):
        return f"no answer within {seconds:g} s"
    return f"{type(error).__name__}: {error}"[:300]
