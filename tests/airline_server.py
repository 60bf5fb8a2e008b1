"""An airline's MCP server for the tests: one reservation, one customer; what is changed is written down.

python airline_server.py FILE
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

try:
    from mcp.server.mcpserver import MCPServer
except ImportError:  # version 1 of the SDK
    from mcp.server.fastmcp import FastMCP as MCPServer

RESERVATION = {
    "reservation_id": "R1",
    "user_id": "u1",
    "origin": "AAA",
    "destination": "BBB",
    "flight_type": "one_way",
    "cabin": "economy",
    "flights": [{"origin": "AAA", "destination": "BBB", "flight_number": "F1", "date": "2024-06-01", "price": 100}],
    "passengers": [{"first_name": "A", "last_name": "B", "dob": "1990-01-01"}],
    "payment_history": [{"payment_id": "card1", "amount": 100}],
    "created_at": "2024-05-01T10:00:00",
    "total_baggages": 1,
    "nonfree_baggages": 0,
    "insurance": "no",
}
USER = {"membership": "regular", "payment_methods": {"card1": {"source": "credit_card"}}, "reservations": ["R1"]}


def get_reservation_details(reservation_id: str) -> dict[str, Any]:
    """A reservation."""
    if reservation_id != "R1":
        raise ValueError("no such reservation")
    return RESERVATION


def get_user_details(user_id: str) -> dict[str, Any]:
    """A customer."""
    return USER


def update_reservation_baggages(
    reservation_id: str, total_baggages: int, nonfree_baggages: int, payment_id: str
) -> dict[str, Any]:
    """Change the bags of a reservation."""
    changed = {"total_baggages": total_baggages, "nonfree_baggages": nonfree_baggages}
    if len(sys.argv) > 1:
        with Path(sys.argv[1]).open("a", encoding="utf-8") as file:
            file.write(json.dumps(changed) + "\n")
    return RESERVATION | changed


def drop_table(name: str) -> str:
    """A tool that no policy knows."""
    raise SystemExit("it was called")


def transfer_to_human_agents(summary: str) -> str:
    """The server dies of it."""
    os._exit(3)


if __name__ == "__main__":
    server = MCPServer("airline")
    for tool in (
        get_reservation_details,
        get_user_details,
        update_reservation_baggages,
        drop_table,
        transfer_to_human_agents,
    ):
        server.tool(structured_output=False)(tool)
    server.run()
