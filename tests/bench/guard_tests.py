"""How many of the airline's 61 guard tests the guards pass: as the handbook is read, and as a person decided it.

    python tests/bench/guard_tests.py [--proved] [--reviewed-only]
    python tests/bench/guard_tests.py --prove

Runs the stages up to the guards (with `--proved` up to their proofs), first on the handbook without `decisions.yaml`,
then with it; what is kept from an earlier run is not made again.  With `--prove` only code that says the rules of the
decisions is proved, one tool after the other.
"""

from __future__ import annotations

# ruff: noqa: E402
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from bench import airline

from wb import paths
from wb.bench import guard_tests, service
from wb.domain import policy as documents
from wb.guards import contract, evidence, runtime
from wb.guards.runtime import CallGuard
from wb.rules import decisions, rulefile, sentences
from wb.rules.sentences import Account
from wb.runs import pipeline

FOLDER = ROOT / "policies" / "airline"


def guard(policy: Path, proved: bool) -> tuple[CallGuard, tuple[Account, ...]]:
    """The guards of a run of the policy, and what became of its sentences."""
    here = paths.project()
    steps = pipeline.plan(here, {"policy": str(policy), "model": "offline"}, last="6" if proved else "5")
    made = {stage[:2]: version for stage, version in pipeline.run(here, steps, lambda event: None).items()}
    box, rules = documents.toolbox(str(policy)), rulefile.from_json(made["02"].read("rules.json"))
    read = sentences.from_json(made["02"].read("sentences.json"))
    rows = made["06"].read("guards.json") if proved else made["05"].read("candidates.json")
    waiting = sentences.open_on(read)
    kept = evidence.from_rows(rows, contract.contracts(box, rules), rules, waiting)
    accepted = frozenset({"proved"} if proved else {"tested", "proved"})
    return runtime.CallGuard("guards", rules, kept, accepted, box, waiting), read


def prove() -> None:
    box = documents.toolbox(str(FOLDER))
    decided = decisions.load(decisions.place(FOLDER), documents.load(FOLDER))
    for made in contract.contracts(box, decisions.own(decided, box)):
        airline.prove([made])


def main() -> None:
    if "--prove" in sys.argv:
        return prove()
    proved = "--proved" in sys.argv
    database = service.load(FOLDER)
    tests = guard_tests.load(FOLDER / "guard_tests.yaml")
    with tempfile.TemporaryDirectory() as place:
        bare = Path(place) / "airline"
        shutil.copytree(FOLDER, bare)
        (bare / "decisions.yaml").unlink()
        titles = {"as it is read": bare, "as a person decided": FOLDER}
        for title, folder in list(titles.items())["--reviewed-only" in sys.argv :]:
            judge, read = guard(folder, proved)
            rows = guard_tests.run(judge, tests, database)
            classes, grades = Counter(one.cls for one in read), Counter(one.grade for one in judge.guarded)
            print(f"{title}: {dict(classes)}; {dict(grades)}")
            for label in ("allow", "deny"):
                print(f"  {label}: {dict(Counter(row.outcome for row in rows if row.test.expect == label))}")
            print(f"  denied for the sentence of the test: {sum(row.named for row in rows)}")
            for row in rows:
                if row.outcome == "failed":
                    print(f"  {row.test.name}: {row.verdict.decision}: {row.verdict.reason}")


if __name__ == "__main__":
    main()
