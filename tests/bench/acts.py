"""Of forty turns that name a ruled thing, which act the offline engine, or a model, takes each for.

    python tests/bench/acts.py [--model NAME --replies FOLDER]

Replies of a model lie in the folder, and are asked for where they do not (`paste:ME` writes questions beside it). The
turns stand in `tests/tables/acts.txt`, written before any was run: thirty do something else with the thing (read,
compare, look), ten do what is ruled. A turn is *right* where its act alone is recognised, *undecided* where several
acts or none are, else *misread*.
"""

from __future__ import annotations

# ruff: noqa: E402
import argparse
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from wb.domain import policy
from wb.domain.events import Observation, recognise
from wb.models import client
from wb.offline.engine import Offline

TABLE = ROOT / "tests" / "tables" / "acts.txt"
OTHERS = 30  # the first turns of the table, which do something else


def turns() -> tuple[tuple[str, Observation], ...]:
    """The turns, each with its act."""
    lines = [line for line in TABLE.read_text("utf-8").splitlines() if line and not line.startswith("#")]
    rows = [[part.strip() for part in line.split("|")] for line in lines]
    return tuple((act, Observation(task, "", (), action, said, {})) for act, task, action, said in rows)


def main() -> int:
    """Print a line for each turn that is not right, then the counts."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--model", default="offline")
    parser.add_argument("--replies", type=Path, default=ROOT / "artifacts" / "replies")
    args = parser.parse_args()
    toolbox, rows, table = policy.load("web_tasks").toolbox, turns(), Counter()
    model = client.connect(args.model, offline=Offline(toolbox), replies_dir=args.replies)
    found = recognise([turn for _, turn in rows], toolbox, model)
    for i, ((act, turn), one) in enumerate(zip(rows, found, strict=True)):
        got = [call.tool for step in one.steps for call in step.calls]
        kind = "right" if got == [act] else "misread" if one.sure else "undecided"
        table["something else" if i < OTHERS else "ruled act", kind] += 1
        if kind != "right":
            print(f"{kind}: {act} | {turn.task[:60]} | {', '.join(got) or '-'}")
    for (group, kind), many in sorted(table.items()):
        print(f"{group:15} {kind:10} {many}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
