"""Two peers' own examples, decided by them and by `wb`, each verdict beside the other and what one decision costs.

    python tests/bench/peers.py [FOLDER …]

The peers are cedarpy (Cedar's Rust engine; its album of photos) and toolguard's run time (its calculator: no division
by zero, no sum of numbers whose product is 365, no product with a number whose KDI value, which a read-only tool
tells, is 6.28).  Nothing in `wb` or its tests needs them; they are looked for in the environment and in the folders
that are named (`pip install -t FOLDER …`).  The guards of the calculator are written by hand on both sides: the peer
would ask a model.  Times are processor time of one decision, the best of several rounds.
"""

from __future__ import annotations

# ruff: noqa: E402
import asyncio
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1])]
sys.path += sys.argv[1:]

from wb.domain import tools
from wb.domain.session import Session
from wb.guards import contract, examples
from wb.guards.runtime import CallGuard, Guarded
from wb.rules import rulefile

CEDAR = """
permit(principal == User::"alice", action == Action::"view", resource in Album::"vacation");
forbid(principal, action, resource) when { context.hour > 22 };
"""
ENTITIES = [
    {"uid": {"type": "Photo", "id": "beach"}, "attrs": {}, "parents": [{"type": "Album", "id": "vacation"}]},
    {"uid": {"type": "Photo", "id": "desk"}, "attrs": {}, "parents": [{"type": "Album", "id": "work"}]},
    *({"uid": {"type": "Album", "id": name}, "attrs": {}, "parents": []} for name in ("vacation", "work")),
    *({"uid": {"type": "User", "id": name}, "attrs": {}, "parents": []} for name in ("alice", "bob")),
]
ALBUMS = {"beach": "vacation", "desk": "work"}
PHOTOS = {
    "tools": [
        {
            "name": "view",
            "mutating": False,
            "parameters": {
                "type": "object",
                "properties": {name: {"type": "string"} for name in ("user", "photo")},
                "required": ["user", "photo"],
            },
        }
    ],
    "state": [{"name": "album", "type": "string"}, {"name": "hour", "type": "integer"}],
}
PHOTO_RULES = """
predicates:
  view: {kind: action, tools: [view]}
  hers: {kind: state, tools: [view], test: 'call.user == "alice" && state.album == "vacation"'}
  late: {kind: state, test: state.hour > 22}
rules:
  - {id: hers, formula: ALWAYS (view IMPLIES hers), modality: permit_only_if}
  - {id: late, formula: ALWAYS (view IMPLIES NOT late), modality: forbid}
"""
ASKED = [(user, photo, hour) for user in ("alice", "bob") for photo in ("beach", "desk") for hour in (12, 23)]

NUMBERS = {"divide": ("g", "h"), "add": ("a", "b"), "multiply": ("a", "b"), "kdi": ("i",)}
CALCULATOR = {
    "tools": [
        {
            "name": name,
            "mutating": name != "kdi",
            "parameters": {
                "type": "object",
                "properties": {one: {"type": "number"} for one in taken},
                "required": list(taken),
            },
        }
        for name, taken in NUMBERS.items()
    ],
    "state": [
        {
            "name": f"kdi_{one}",
            "type": "number",
            "from": {"lookup": "kdi", "arguments": {"i": f"call.{one}"}, "changed_by": []},
        }
        for one in ("a", "b")
    ],
}
SUM_RULES = """
predicates:
  divide: {kind: action, tools: [divide]}
  by_zero: {kind: state, tools: [divide], test: call.h == 0.0}
  add: {kind: action, tools: [add]}
  year: {kind: state, tools: [add], test: call.a * call.b == 365.0}
  multiply: {kind: action, tools: [multiply]}
  odd: {kind: state, test: state.kdi_a == 6.28 || state.kdi_b == 6.28}
rules:
  - {id: zero, formula: ALWAYS (divide IMPLIES NOT by_zero), modality: forbid}
  - {id: year, formula: ALWAYS (add IMPLIES NOT year), modality: forbid}
  - {id: kdi, formula: ALWAYS (multiply IMPLIES NOT odd), modality: forbid}
"""
SUMS = [
    ("divide", {"g": 5.0, "h": 0.0}),
    ("divide", {"g": 10.0, "h": 2.0}),
    ("add", {"a": 5.0, "b": 73.0}),
    ("add", {"a": 5.0, "b": 4.0}),
    ("multiply", {"a": 2.0, "b": 73.0}),
    ("multiply", {"a": 22.0, "b": 2.0}),
    ("multiply", {"a": 3.0, "b": 73.0}),
]
THEIRS = {
    "divide": "async def guard_divide(api, g: float, h: float):\n"
    "    if h == 0:\n        raise PolicyViolationException('division by zero')\n",
    "add": "async def guard_add(api, a: float, b: float):\n"
    "    if a * b == 365:\n        raise PolicyViolationException('the product is 365')\n",
    "multiply": "async def guard_multiply(api, a: float, b: float):\n"
    "    if await api.kdi(a) == 6.28 or await api.kdi(b) == 6.28:\n"
    "        raise PolicyViolationException('a KDI value is 6.28')\n",
}
API = """
class Api:
    def __init__(self, delegate):
        self.delegate = delegate

    async def kdi(self, i):
        return await self.delegate.invoke("kdi", {"i": i}, float)
"""


def kdi(i: float) -> float:
    """The KDI value of a number."""
    return 3.14 * i


def guard(box: dict, text: str) -> CallGuard:
    """The guard whose code is what the rules ask."""
    made, rules = tools.parse(json.dumps(box)), rulefile.loads(text)
    entries = [Guarded(one, examples.function(one, one.allows), "tested") for one in contract.contracts(made, rules)]
    return CallGuard("by hand", rules, tuple(entries), frozenset({"tested"}), made)


def microseconds(decide: Callable[[], object], times: int = 2000, rounds: int = 5) -> float:
    """Processor time of one decision, the least of several rounds."""
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        for _ in range(times):
            decide()
        best = min(best, time.process_time() - start)
    return best / times * 1e6


def photos() -> None:
    """Cedar's album: every question asked of both."""
    try:
        from cedarpy import PolicySet, is_authorized
    except ImportError:
        print("cedarpy is not installed")
        return
    policies, session = PolicySet.from_str(CEDAR), Session(guard(PHOTOS, PHOTO_RULES))

    def cedar(user: str, photo: str, hour: int) -> bool:
        request = {
            "principal": f'User::"{user}"',
            "action": 'Action::"view"',
            "resource": f'Photo::"{photo}"',
            "context": {"hour": hour},
        }
        return is_authorized(request, policies, ENTITIES).allowed

    def ours(user: str, photo: str, hour: int) -> bool:
        session.state({"album": ALBUMS[photo], "hour": hour})
        return session.call("view", {"user": user, "photo": photo}).decision == "allow"

    alike = sum(cedar(*one) == ours(*one) for one in ASKED)
    theirs, mine = (microseconds(partial(decide, *ASKED[0])) for decide in (cedar, ours))
    print(f"album: {alike} of {len(ASKED)} alike; cedarpy {theirs:.1f} µs (policies parsed before), wb {mine:.1f} µs")


def calculator() -> None:
    """ToolGuard's calculator: every call asked of both."""
    try:
        from toolguard.runtime import PolicyViolationException, ToolFunctionsInvoker, load_toolguards_from_memory
        from toolguard.runtime.data_types import (
            FileTwin,
            RuntimeDomain,
            ToolGuardCodeResult,
            ToolGuardsCodeGenerationResult,
            ToolGuardSpec,
        )
    except ImportError:
        print("toolguard is not installed")
        return
    empty = FileTwin(file_name="calc_types.py", content="")
    domain = RuntimeDomain(
        app_name="calculator",
        app_types=empty,
        app_api_class_name="Api",
        app_api=FileTwin(file_name="calc_api.py", content=""),
        app_api_size=1,
        app_api_impl_class_name="Api",
        app_api_impl=FileTwin(file_name="calc_api_impl.py", content=API),
    )
    top = "from toolguard.runtime import PolicyViolationException\n\n\n"
    made = {
        name: ToolGuardCodeResult(
            tool=ToolGuardSpec(tool_name=name, policy_items=[]),
            guard_fn_name=f"guard_{name}",
            guard_file=FileTwin(file_name=f"calc_guard_{name}.py", content=top + code),
            item_guard_files=[],
            test_files=[],
        )
        for name, code in THEIRS.items()
    }
    result = ToolGuardsCodeGenerationResult(out_dir=Path(), domain=domain, tools=made)
    invoker, session = ToolFunctionsInvoker([kdi]), Session(guard(CALCULATOR, SUM_RULES), ask=lambda _, a: kdi(**a))
    loop = asyncio.new_event_loop()
    with load_toolguards_from_memory(result) as runtime:

        async def asked(name: str, arguments: dict) -> bool:
            try:
                await runtime.guard_toolcall(name, arguments, invoker)
            except PolicyViolationException:
                return False
            return True

        def theirs(name: str, arguments: dict) -> bool:
            return loop.run_until_complete(asked(name, arguments))

        def ours(name: str, arguments: dict) -> bool:
            return session.call(name, arguments).decision == "allow"

        for one in ((1.0,), (2.0,), (3.0,), (22.0,), (73.0,)):
            session.call("kdi", {"i": one[0]}), session.result(kdi(*one))
        alike = sum(theirs(*one) == ours(*one) for one in SUMS)
        print(f"calculator: {alike} of {len(SUMS)} alike", end="")
        for name, arguments in (SUMS[1], SUMS[3], SUMS[6]):

            async def many(name: str = name, arguments: dict = arguments) -> None:
                for _ in range(1000):
                    await asked(name, arguments)

            peer = microseconds(lambda many=many: loop.run_until_complete(many()), 2) / 1000
            mine = microseconds(partial(ours, name, arguments))
            print(f"; {name}: toolguard {peer:.1f} µs, wb {mine:.1f} µs", end="")
        print(f"\na call of no declared tool: toolguard {'allows' if theirs('erase', {}) else 'denies'}", end="")
        print(f", wb {'allows' if ours('erase', {}) else 'denies'}")
    loop.close()


def main() -> None:
    photos()
    calculator()
    print(f"an empty function of Python takes {microseconds(lambda: None, 100_000):.3f} µs here")


if __name__ == "__main__":
    main()
