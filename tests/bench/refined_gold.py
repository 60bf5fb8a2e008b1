"""What refinement makes of the foreign documents as models read them, against their gold: before, after, and changed.

    python tests/bench/refined_gold.py RUN_FOLDER … [--rules]

A folder is the artifacts of a run to `02_vagueness_scoring` of a document of `../shared/data/policies`, by that name.
The gold and its judges are those of `gold.py`; facts that are asked at run time are not answered there, so that a rule
over one is judged by its form.
"""

from __future__ import annotations

# ruff: noqa: E402
import argparse
import json
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1])]

from bench import airline, gold

from wb.domain import policy as documents
from wb.rules import rule, rulefile, sentences


def newest(artifacts: Path, stage: str, name: str) -> Path:
    """The folder of the newest finished version of a stage for a policy.

    Raises:
        FileNotFoundError: there is none.
    """
    found = [
        one
        for one in artifacts.glob(f"{stage}/*/manifest.json")
        if Path(str(json.loads(one.read_text("utf-8"))["parameters"]["policy"])).name == name
    ]
    if not found:
        raise FileNotFoundError(f"{artifacts}: a finished {stage} of {name} was required; got none")
    return max(found, key=lambda one: one.stat().st_mtime).parent


def reading(folder: Path, clauses: Path, name: str) -> gold.Reading:
    """What a stage left in force of a document."""
    ruleset = rulefile.from_json(json.loads((folder / "rules.json").read_text("utf-8")))
    source = rule.asking(documents.load(airline.SHARED / "policies" / name), ruleset)
    accounts = sentences.from_json(json.loads((folder / "sentences.json").read_text("utf-8")))
    found = documents.from_json(json.loads((clauses / "clauses.json").read_text("utf-8")))
    return gold.Reading(source, found, ruleset, ruleset, accounts)


def decided(of: gold.Reading) -> dict[str, str]:
    """The decision on the last call of each run of the gold by the rules alone: what a dropped rule demanded is still
    demanded by what implies it."""
    guard = airline.guarded(of.source.name, of.source.toolbox, of.kept)
    return {k: guard.session().replay(one.events)[-1].decision for k, one in gold.runs(of.source.name).items()}


def main() -> None:
    """Figures before and after of each document, and every call of the gold that is decided otherwise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--policy", required=True)
    parser.add_argument("--rules", action="store_true")
    asked = parser.parse_args()
    for artifacts in asked.folders:
        first, second = (
            newest(artifacts, stage, asked.policy) for stage in ("01_policy_extraction", "02_vagueness_scoring")
        )
        states = [reading(folder, first, asked.policy) for folder in (first, second)]
        for label, state in zip(("read", "refined"), states, strict=True):
            print(label, sentences.counted(state.accounts), "lost", len(gold.lost(state)))
            print("  in force:", gold.figures(state, state.kept))
            print("  calls, with the open sentences:", gold.in_force(state))
        before, after = map(decided, states)
        for run in before:
            if before[run] != after[run]:
                print(f"  {run}: {before[run]} -> {after[run]}")
        if asked.rules:
            for row in gold.judge(states[-1], states[-1].kept):
                print(f"  {row.verdict:8} {row.by:5} {dict(row.came)} {row.rule.text[:90]}")


if __name__ == "__main__":
    main()
