"""How an outside guardrail is asked: runs as JSON lines on standard input, verdicts as JSON lines on standard output.

A run is {"run", "messages", "calls"}: messages as OpenAI has them, with every call that was made; a call is {"id",
"message" (its index), "tool", "arguments", "state" (records before it), "now"}.  A verdict is {"id", "decision",
"reason", "seconds"}: allow, deny, or error, where the guardrail raised what is no denial of its own.
Standard library only: each guardrail runs in an environment of its own.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

Asked = dict[str, Any]
Verdict = tuple[str, str]  # decision and reason
EMPTY = {"reservation": None, "user": None, "flights": {}, "user_reservations": []}


def serve(decide: Callable[[Asked, list[Asked]], Verdict]) -> None:
    """Ask about each call, given the messages before it; what `decide` raises is an error."""
    for line in sys.stdin:
        run = json.loads(line)
        for call in run["calls"]:
            call["state"] = EMPTY | {name: value for name, value in call["state"].items() if value is not None}
            began = time.perf_counter()
            try:
                decision, reason = decide(call, run["messages"][: call["message"]])
            except Exception as error:  # whatever it is: it is counted as an error of the guardrail
                decision, reason = "error", f"{type(error).__name__}: {str(error)[:200]}"
            row = {"id": call["id"], "decision": decision, "reason": reason}
            print(json.dumps(row | {"seconds": time.perf_counter() - began}), flush=True)
