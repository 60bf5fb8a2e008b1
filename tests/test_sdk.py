"""The MCP SDK of either major version: the proxy's tests that need nothing of one of them alone.

They run with the version that is installed; with another one, laid into a folder:

    pip install --target FOLDER --no-deps 'mcp<2' httpx-sse
    PYTHONPATH=FOLDER python -m pytest tests/test_sdk.py
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import os
import socket
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, shared

from wb.domain import sources
from wb.domain.tools import ToolError

HTTP = """
try:
    from mcp.server.mcpserver import MCPServer
    options = {}
except ImportError:
    from mcp.server.fastmcp import FastMCP as MCPServer
    options = {"port": PORT}
server = MCPServer("boats", **options)

@server.tool()
def rent(days: int) -> str:
    "Rent a boat."
    return "rented"

server.run("streamable-http", **({} if options else {"port": PORT}))
"""


def here(*command: str) -> list[str]:
    """A command with the modules of this process: the SDK hands no PYTHONPATH on to what it starts."""
    return ["env", f"PYTHONPATH={os.environ.get('PYTHONPATH', ROOT)}", sys.executable, *command]


def text(result: Any) -> str:
    """What a result says."""
    return "\n".join(block.text for block in result.content)


def refused(result: Any) -> bool:
    """Whether a result says that it is an error."""
    return sources.mcp_field(result, "is_error")


def test_an_agent_behind_the_proxy_is_stopped_and_corrected(tmp_path: Path) -> None:
    """Agent, proxy and server are three processes of the same SDK."""
    shared("data")
    done = tmp_path / "done.jsonl"
    done.touch()
    proxy = here(str(ROOT / "tests" / "airline_proxy.py"), str(done))
    bags = {"reservation_id": "R1", "total_baggages": 3, "nonfree_baggages": 0, "payment_id": "card1"}

    async def run() -> None:
        with (tmp_path / "errors.txt").open("w") as log:
            async with sources.mcp_client(proxy, seconds=60, errors=log) as agent:
                assert "update_reservation_baggages" in {tool.name for tool in await sources.pages(agent)}
                first = await agent.call_tool("update_reservation_baggages", bags)
                assert refused(first) and not done.read_text() and "(bags_charged)" in text(first), text(first)
                wrong = await agent.call_tool("update_reservation_baggages", {**bags, "total_baggages": "three"})
                assert refused(wrong) and not done.read_text(), "wb's own check, and not the SDK's, says what is wrong"
                second = await agent.call_tool("update_reservation_baggages", {**bags, "nonfree_baggages": 2})
                assert not refused(second), text(second)
                assert [json.loads(line) for line in done.read_text().splitlines()] == [
                    {"total_baggages": 3, "nonfree_baggages": 2}
                ]
                strange = await agent.call_tool("drop_table", {"name": "users"})
                assert refused(strange) and "there is no such tool" in text(strange)
                found = await agent.call_tool("get_reservation_details", {"reservation_id": "R1"})
                assert not refused(found) and "card1" in text(found)
                dying = await agent.call_tool("transfer_to_human_agents", {"summary": "x"})
                assert refused(dying) and "it is not known whether it was done" in text(dying)
                after = await agent.call_tool("update_reservation_baggages", {**bags, "nonfree_baggages": 2})
                assert refused(after) and len(done.read_text().splitlines()) == 1

    asyncio.run(asyncio.wait_for(run(), 200))
    told = (tmp_path / "errors.txt").read_text()
    assert "drop_table: there is no such tool in tools.json; its calls are refused" in told
    assert "book_reservation: the server has no such tool" in told and "Traceback" not in told


def test_tools_are_drawn_up_of_a_command_and_of_an_address(tmp_path: Path) -> None:
    command = here(str(ROOT / "tests" / "airline_server.py"))
    found = {draft.name: draft for draft in sources.served(command, "it", seconds=60)}
    required = found["update_reservation_baggages"].row["parameters"]["required"]
    assert {"reservation_id", "payment_id"} <= set(required)
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
    server = subprocess.Popen([sys.executable, "-c", HTTP.replace("PORT", str(port))], stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while socket.socket().connect_ex(("127.0.0.1", port)) and time.monotonic() < deadline:
            time.sleep(0.2)
        (boat,) = sources.served(f"http://127.0.0.1:{port}/mcp", "it", seconds=60)
        assert boat.name == "rent" and list(boat.row["parameters"]["properties"]) == ["days"]
    finally:
        server.kill()
        server.wait()


@pytest.mark.parametrize("version", ["1.24.0", "1.30.0", "1.100.2", "2.0.0", "2.3.0", "2.4.0rc1"])
def test_both_major_versions_are_taken(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: version)
    assert sources.mcp_major.__wrapped__() == int(version[0])


@pytest.mark.parametrize("version", ["0.9.1", "1.2.1", "1.9.4", "1.23.3", "3.0.0", "20.0", "12.1", "2", "none", ""])
def test_any_other_version_is_refused_before_anything_is_asked(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    sources.mcp_major()  # so that what was known before is not believed
    monkeypatch.setattr(sources, "mcp_major", sources.mcp_major.__wrapped__)
    monkeypatch.setattr(importlib.metadata, "version", lambda name: version)
    message = f"the SDK mcp>=1.24,<3 was required; got mcp {version}: run `pip install 'mcp>=1.24,<3'`"
    for asked in (
        lambda: sources.mcp_client(["true"]),
        lambda: sources.mcp_client("http://127.0.0.1:1"),
        lambda: sources.mcp_server(None, None),
        lambda: sources.mcp_field(None, "is_error"),
    ):
        with pytest.raises(ToolError) as raised:
            asked()
        assert str(raised.value) == message
    with pytest.raises(ToolError) as raised:
        sources.served(["true"], "it")
    assert str(raised.value) == f"it: {message}"


def test_without_the_sdk_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", absent)
    with pytest.raises(ToolError, match="got mcp none: run `pip install"):
        sources.mcp_major.__wrapped__()


def test_the_range_is_the_one_that_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert sources.SUPPORTED in project["project"]["dependencies"]
