"""Sixty turns in free text for the web handbook, most of them look-alikes: what its guards decide.

    python tests/bench/look_alikes.py

The turns and the expected answers (`tests/look_alikes.tsv`) were written and committed before any of them was run.  A
*look-alike* shares words with a group that a rule is about and is no case of it; its user lacks what the rule asks for.
"""

from __future__ import annotations

# ruff: noqa: E402
import sys
from collections import Counter
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1])]

from wb.bench import compare, evaluate
from wb.domain import policy
from wb.domain.events import Observation, recognise
from wb.models.client import LLM
from wb.models.embeddings import Encoder
from wb.offline import reader
from wb.offline.engine import Offline

FILE = Path(__file__).parents[1] / "look_alikes.tsv"
HAS = {"age": 30, "domestic": True, "dr_license": True, "vaccine": True, "membership": True}
LACKS = {
    "film": {"domestic": False},
    "flight": {"vaccine": False},
    "car": {"dr_license": False},
    "hotel": {"age": 17},
    "job": {"age": 14},
    "shop": {"membership": False},
}


def turns() -> list[tuple[str, str, str, Observation]]:
    """Kind, group, expected decision and turn."""
    rows = [row.split("\t") for row in FILE.read_text("utf-8").splitlines() if not row.startswith("#")]
    return [
        (kind, group, expected, Observation(task, site, state=HAS | ({} if kind == "plain, has" else LACKS[group])))
        for kind, group, expected, site, task in rows
    ]


def main() -> None:
    handbook, rows = policy.load("web_tasks"), turns()
    engine = LLM(Offline(handbook.toolbox, Encoder()))
    guard = compare.shortcut(handbook, engine, reader.extracted).guard
    counts: dict[tuple[str, str], Counter[str]] = {}
    found = recognise([turn for *_, turn in rows], handbook.toolbox, engine)
    for (kind, group, expected, turn), recognition in zip(rows, found, strict=True):
        decision = evaluate.judge(recognition, guard).decision
        what = "right" if decision == expected else decision
        for key in ((kind, group), (kind, "all"), ("all", "all")):
            counts.setdefault(key, Counter())[what] += 1
        if what != "right":
            tools = sorted({call.tool for step in recognition.steps for call in step.calls})
            print(f"{decision:9} {expected:5} {kind:11} {group:6} {turn.task}  <- {tools}")
    for (kind, group), came in counts.items():
        print(f"{kind:11} {group:6} {came.total():3} turns: {dict(came)}")


if __name__ == "__main__":
    main()
