"""Progent (its public checkout) asked about recorded calls: `python judge_progent.py POLICY.json`.

The checkout is the folder that PROGENT names. A policy is a JSON object of tools, each with rows of priority, effect,
conditions by argument (JSON Schema) and fallback, as `update_security_policy` takes it; a tool that is not named is
denied. Progent turns whatever goes wrong while it checks into a denial, so that it has no errors of its own.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

sys.path.append(os.environ["PROGENT"])

from secagent.tool import ValidationError, check_tool_call, update_security_policy
from serve import Asked, Verdict, serve

POLICY = json.loads(Path(sys.argv[1]).read_text("utf-8"))
update_security_policy({tool: [tuple(row) for row in rows] for tool, rows in POLICY.items()})


def decide(call: Asked, before: list[Asked]) -> Verdict:
    """Deny where the check says so."""
    try:
        check_tool_call(call["tool"], call["arguments"])
    except ValidationError as refused:
        return "deny", str(refused).partition(". Please try")[0]
    return "allow", "a policy allows it"


if __name__ == "__main__":
    serve(decide)
