"""What a step of a rule about objects costs, beside reelay in one run.

    python tests/bench/objects.py [--quick] [--json]

The peer comes with `pip install .[bench]`; where it is absent that is said, and its columns are left out.  Both sides
are asked for the verdict at every step, of the same events; the best of N runs over all of them, process CPU.  What a
side is given is made outside its clock: reelay a record of texts, `wb` what its readers make of a call.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1])]

from wb.logic.formula import TIME  # noqa: E402
from wb.logic.objects import NOBODY, Among, Slices, only  # noqa: E402
from wb.logic.syntax import parse  # noqa: E402
from wb.logic.times import SECOND  # noqa: E402

RULES = {
    "cancel(r) IMPLIES ONCE get(r)": "forall[x]. ({tool: cancel, r: *x} -> once{tool: get, r: *x})",
    "cancel(r) IMPLIES NOT PREVIOUSLY ONCE cancel(r)": (
        "forall[x]. ({tool: cancel, r: *x} -> not (pre (once{tool: cancel, r: *x})))"
    ),
    "cancel(r) IMPLIES PREVIOUSLY (NOT cancel(r) SINCE get(r))": (
        "forall[x]. ({tool: cancel, r: *x} -> pre ((not {tool: cancel, r: *x}) since {tool: get, r: *x}))"
    ),
    "cancel(r) IMPLIES COUNT[<= 3] cancel(r)": "",  # reelay counts nothing
    "cancel(r) IMPLIES ONCE[<= 10m] get(r)": "forall[x]. ({tool: cancel, r: *x} -> once[0:600]{tool: get, r: *x})",
    "cancel(r) IMPLIES COUNT[<= 3, 10m] cancel(r)": "",
}
Event = tuple[str, str]


def events(steps: int, objects: int) -> list[Event]:
    """Calls of two tools on so many objects, each object touched early on, so that all are alive."""
    rng = random.Random(objects)
    first = [("get", f"o{i}") for i in range(objects)]
    return first + [(rng.choice(("get", "cancel")), f"o{rng.randrange(objects)}") for _ in range(steps)]


def told(event: Event) -> dict[str, Among]:
    """What the readers make of a call."""
    tool, named = event
    return {"get": NOBODY, "cancel": NOBODY} | {tool: only((named,))}


def timed(work: Callable[[], list], rounds: int, steps: int) -> tuple[float, list]:
    """Microseconds a step, the best of so many rounds, and what came out of the last."""
    found, out = float("inf"), []
    for _ in range(rounds):
        start = time.process_time()
        out = work()
        found = min(found, 1e6 * (time.process_time() - start) / steps)
    return found, out


def ours(text: str, happened: list[Event]) -> Callable[[], list]:
    rule, steps = Slices(parse(text)), [told(event) for event in happened]
    if rule.timed:  # reelay's steps are a second apart too
        steps = [step | {TIME: second * SECOND} for second, step in enumerate(steps)]

    def work() -> list:
        slices = rule.fresh()
        return [slices.step(step) for step in steps]

    return work


def reelay(pattern: str, happened: list[Event]) -> Callable[[], list] | None:
    try:
        import reelay
    except ImportError as error:
        print(f"reelay is absent ({error}): pip install .[bench]", file=sys.stderr)
        return None
    steps = [{"tool": tool, "r": named} for tool, named in happened]

    def work() -> list:
        monitor = reelay.discrete_timed_monitor(pattern=pattern, semantics="boolean", condense=False)
        return [monitor.update(step)["value"] for step in steps]

    return work


def main() -> None:
    """Measure everything and print one row each."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="few rounds: to see that it runs, not to be quoted")
    options.add_argument("--json", action="store_true")
    chosen = options.parse_args()
    rows = []
    for text, pattern in RULES.items():
        for objects, steps in ((50, 5000), (1000, 10_000), (1000, 40_000), (10_000, 10_000)):
            happened = events(steps // (10 if chosen.quick else 1), objects)
            rounds = 1 if chosen.quick else 5
            cost, said = timed(ours(text, happened), rounds, len(happened))
            row = {"what": f"{text}, {objects} objects, {len(happened)} steps", "wb_us": cost, "goal_us": 2.0}
            peer = reelay(pattern, happened) if pattern else None
            if peer is not None:
                row["reelay_us"], others = timed(peer, rounds, len(happened))
                row["differ"] = sum(one is not other for one, other in zip(said, others, strict=True))
            rows.append(row)
    if chosen.json:
        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        rest = "  ".join(f"{key} {value:,.2f}" for key, value in row.items() if key not in ("what", "wb_us"))
        print(f"{row['what']:90} {row['wb_us']:8,.2f} us  {rest}")


if __name__ == "__main__":
    main()
