"""Progent (its public checkout) asked about recorded calls: `python judge_progent.py POLICY.json`.

The checkout is the folder that PROGENT names. A policy is a JSON object of tools, each with rows of priority, effect,
conditions by argument (JSON Schema) and fallback, as `update_security_policy` takes it; a tool that is not named is
denied. A folder holds a policy a role: Progent sees no role, and an agent is started with its own policy. Progent turns
whatever goes wrong while it checks into a denial, so that it has no errors of its own.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

sys.path.append(os.environ["PROGENT"])

from secagent.tool import ValidationError, check_tool_call, update_security_policy
from serve import Asked, Verdict, serve

PLACE, STARTED = Path(sys.argv[1]), [""]


def start(path: Path) -> None:
    """Put a policy in force."""
    policy = json.loads(path.read_text("utf-8"))
    update_security_policy({tool: [tuple(row) for row in rows] for tool, rows in policy.items()})


if PLACE.is_file():
    start(PLACE)


def decide(call: Asked, before: list[Asked]) -> Verdict:
    """Deny where the check says so."""
    if PLACE.is_dir() and STARTED[0] != (role := call["state"]["role"]):
        start(PLACE / f"{role}.json")
        STARTED[0] = role
    try:
        check_tool_call(call["tool"], call["arguments"])
    except ValidationError as refused:
        return "deny", str(refused).partition(". Please try")[0]
    return "allow", "a policy allows it"


if __name__ == "__main__":
    serve(decide)
