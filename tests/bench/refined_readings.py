"""What refinement makes of documents that were read before: decisions left to a person, and gold rules in force.

    python tests/bench/refined_readings.py --model "offline" | "A,B,C" --replies FOLDER TEXT [TEXT ...]

A text is a folder as of `readings.py`, with what readers of that time replied.  The first model proposes, the others
read blind, as in notebook 02.  Of each gold rule stands what its own sentences' rules decide, before and after.
"""

from __future__ import annotations

# ruff: noqa: E402
import argparse
import json
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1])]

from bench import readings
from bench.planted_readings import Patient, told

from wb.models import client, embeddings
from wb.offline import engine
from wb.rules import extract, refine, sentences
from wb.rules.rereading import State
from wb.rules.sentences import Classified


def main() -> None:
    """A line a text and round, and the gold rules whose verdict changed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("texts", nargs="+", type=Path)
    parser.add_argument("--model", default="offline")
    parser.add_argument("--replies", type=Path, required=True)
    parser.add_argument("--changes", action="store_true")
    asked, waiting = parser.parse_args(), 0
    for folder in asked.texts:
        one = readings.text(folder)
        found = readings.extracted(one, readings.MODES[3])
        classed = sentences.classify(one.policy, found)
        encoder = embeddings.Encoder(cache=asked.replies.parent / "embeddings")
        offline = engine.Offline(found.toolbox, encoder)
        models = [
            Patient(client.connect(name, offline=offline, replies_dir=asked.replies).engine, workers=1)
            for name in asked.model.split(",")
        ]
        panel = None if asked.model == "offline" else extract.panel(models[1:] or models)
        state = State(classed.ruleset, found, classed.accounts)
        options = {"max_rounds": 3, "budget": 60, "policy": one.policy, "panel": panel}
        try:
            rounds = refine.refine(state, models[0], encoder, toolbox=found.toolbox, **options)
        except client.NotPasted:
            waiting += 1
            continue
        said, last = readings.answers(folder / "answers.jsonl"), rounds[-1].state
        after = Classified(sentences.refined(last.accounts, last.ruleset), last.ruleset)
        old = readings.counted(one, found, classed, said, "read")
        new = readings.counted(one, last.found, after, said, "refined")
        for row in (old, new):
            print(json.dumps({k: v for k, v in row.items() if k != "detail"}))
        for was, now in zip(old["detail"], new["detail"], strict=True):
            if was[1] != now[1]:
                print(f"  {one.name} {was[0]}: {was[1]} -> {now[1]}")
        for each in rounds:
            print("  ", each.number, each.measures(), each.refined.measures() if each.refined else "")
            if asked.changes:
                print("\n".join(f"     {line}" for line in told([c for c in each.changes if c.kind != "clarify"])))
    if waiting:
        raise SystemExit(f"{waiting} texts wait, {len(client.waiting(asked.replies, asked.model))} questions")


if __name__ == "__main__":
    main()
