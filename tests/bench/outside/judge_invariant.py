"""Invariant (invariant-ai, its local interpreter) asked about recorded calls: `python judge_invariant.py POLICY.gr`.

Each call waits while the messages before it are the trace; the records are policy parameters. Limits are the package's.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

os.environ["LOCAL_POLICY"] = "1"  # before the import: else it asks a server

from invariant.analyzer import LocalPolicy
from serve import Asked, Verdict, serve

POLICY = LocalPolicy.from_string(Path(sys.argv[1]).read_text("utf-8"))

KINDS = ("certificate", "credit_card", "gift_card")
BLANK = dict.fromkeys(("cabin", "insurance", "created_at", "flight_type", "origin", "destination"), "")
BLANK |= {"passengers": [], "flights": [], "total_baggages": 0}  # every rule reads its records before it knows the tool


def records(call: Asked) -> dict[str, Any]:
    """The policy's parameters: the records, with those of their parts that the language cannot take out itself."""
    state, flights = call["state"], call["state"]["flights"]
    user = state["user"] or {"payment_methods": {}, "membership": ""}
    rows = [state["reservation"], *state["user_reservations"]]
    wanted = [*(one for row in rows if row for one in row["flights"]), *call["arguments"].get("flights", ())]
    keys = [f"{one['flight_number']}|{one['date']}" for one in wanted]
    own = {kind: [k for k, one in user["payment_methods"].items() if one["source"] == kind] for kind in KINDS}
    legs = [f"{one['flight_number']}|{one['date']}" for one in (state["reservation"] or {"flights": ()})["flights"]]
    status = {key: (flights.get(key) or {"status": "unknown"})["status"] for key in keys}
    told = {"user": user, "reservation": state["reservation"] or BLANK, "role": state.get("role", "")}
    told |= {"user_reservations": state["user_reservations"]}
    told |= {f"{kind}s": ids for kind, ids in own.items()}
    return told | {"call": call["id"], "flights": flights, "legs": legs, "status": status}


def decide(call: Asked, before: list[Asked]) -> Verdict:
    """Deny where a rule is raised on the waiting call."""
    function = {"name": call["tool"], "arguments": call["arguments"]}
    waiting = {"role": "assistant", "content": None, "tool_calls": [{"id": call["id"], "type": "function"}]}
    waiting["tool_calls"][0]["function"] = function
    found = POLICY.analyze_pending(before, [waiting], **records(call))
    reasons = dict.fromkeys(str(error.args[0] if error.args else error) for error in found.errors)
    return ("deny", "; ".join(reasons)) if reasons else ("allow", "no rule is raised")


if __name__ == "__main__":
    serve(decide)
