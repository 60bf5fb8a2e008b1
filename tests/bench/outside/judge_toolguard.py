"""ToolGuard's published run time asked about recorded calls: `python judge_toolguard.py FOLDER < runs.jsonl`.

The guards of FOLDER are written by a person in the form that the package generates; its build would ask a model. A call
of a tool without a guard is allowed, as the package does. Read-only tools answer from the records before the call.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from serve import Asked, Verdict, serve
from toolguard.runtime import PolicyViolationException, ToolFunctionsInvoker, load_toolguards_from_memory
from toolguard.runtime.data_types import (
    FileTwin,
    RuntimeDomain,
    ToolGuardCodeResult,
    ToolGuardsCodeGenerationResult,
    ToolGuardSpec,
)

FOLDER = Path(sys.argv[1])
sys.path.append(str(FOLDER))  # what several items share
STATE: dict[str, Any] = {}  # the records before the call that waits


def get_user_details(user_id: str) -> dict:
    """The profile of the user of the call."""
    return STATE["user"]


def get_reservation_details(reservation_id: str) -> dict:
    """A reservation of the user of the call."""
    return {row["reservation_id"]: row for row in (STATE["reservation"], *STATE["user_reservations"]) if row}[
        reservation_id
    ]


def get_flight_status(flight_number: str, date: str) -> dict:
    """The record of a flight on a day."""
    return STATE["flights"].get(f"{flight_number}|{date}") or {"status": "unknown", "origin": "", "destination": ""}


def get_role() -> str:
    """The role of the agent."""
    return STATE["role"]


def file(path: Path) -> FileTwin:
    return FileTwin(file_name=path.name, content=path.read_text("utf-8"))


def guards_of(path: Path) -> Iterator[tuple[str, ToolGuardCodeResult]]:
    """The guards that a file defines, each with its tool."""
    for name in re.findall(r"^async def guard_(\w+)", path.read_text("utf-8"), re.M):
        spec, code = ToolGuardSpec(tool_name=name, policy_items=[]), file(path)
        yield (
            name,
            ToolGuardCodeResult(
                tool=spec, guard_fn_name=f"guard_{name}", guard_file=code, item_guard_files=[], test_files=[]
            ),
        )


(API,) = FOLDER.glob("*_api.py")
NAME = API.stem.removesuffix("_api")
DOMAIN = RuntimeDomain(
    app_name=NAME,
    app_types=FileTwin(file_name=f"{NAME}_types.py", content=""),
    app_api_class_name=NAME.title(),
    app_api=FileTwin(file_name=f"{NAME}_declared.py", content=""),
    app_api_size=1,
    app_api_impl_class_name=NAME.title(),
    app_api_impl=file(API),
)
TOOLS = {name: one for path in sorted(FOLDER.glob("guard_*.py")) for name, one in guards_of(path)}
INVOKER = ToolFunctionsInvoker([get_user_details, get_reservation_details, get_flight_status, get_role])

if __name__ == "__main__":
    loop = asyncio.new_event_loop()
    with load_toolguards_from_memory(
        ToolGuardsCodeGenerationResult(out_dir=Path(), domain=DOMAIN, tools=TOOLS)
    ) as guards:

        def decide(call: Asked, before: list[Asked]) -> Verdict:
            """Allow what raises nothing, deny what raises a violation; anything else that is raised is an error."""
            STATE.clear()
            STATE.update(call["state"])
            try:
                loop.run_until_complete(guards.guard_toolcall(call["tool"], call["arguments"], INVOKER))
            except PolicyViolationException as violation:
                return "deny", str(violation)
            return "allow", "no item is violated"

        serve(decide)
