"""The main job on real input: the seven notebooks, cold, from the handbook to the table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import wb

ROOT = Path(__file__).resolve().parents[1]
STAGES = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))


def newest(artifacts: Path, stage: str, name: str) -> object:
    """A file of the newest version of a stage."""
    folder = max((p.parent for p in artifacts.glob(f"{stage}/*/manifest.json")), key=lambda p: p.stat().st_mtime)
    return json.loads((folder / name).read_text("utf-8"))


@pytest.fixture(scope="module")
def cold(handbook):
    """All seven stages on the handbook, from nothing."""
    return handbook


@pytest.fixture(scope="module")
def rows(cold):
    """The table of `07_evaluation`, by method and split."""
    shown = wb(cold[0], "show", "07_evaluation", "--json").stdout
    methods = json.loads(shown[: shown.rindex("largest")])["methods"]
    return {(row["method"], row["split"]): row for row in methods if not row["published"]}


def test_every_stage_leaves_its_results_and_its_executed_notebook(cold):
    artifacts, done = cold
    for stage in STAGES:
        (folder,) = (p.parent for p in artifacts.glob(f"{stage}/*/manifest.json"))
        cells = json.loads((folder / "notebook.ipynb").read_text("utf-8"))["cells"]
        assert all(cell["execution_count"] for cell in cells if cell["cell_type"] == "code")
        assert json.loads((folder / "manifest.json").read_text("utf-8"))["mode"] == "batch"
    report = Path(done.stdout.split("\nreport ", 1)[1].split()[0])
    assert report.suffix == ".html" and report.stat().st_size > 1_000_000


@pytest.mark.parametrize(("split", "n", "least"), [("tuned", 99, 0.95), ("other", 101, 0.92)])
def test_the_proved_guards_decide_the_official_cases(rows, split, n, least):
    row = rows["veriguard", split]
    assert row["n"] == n and row["queries"] == 0
    assert row["accuracy"] >= least and row["recall"] >= least
    assert row["accuracy"] > rows["keywords", split]["accuracy"]


def test_undecided_turns_are_counted_among_the_denied(rows):
    counts = rows["veriguard", "all"]["counts"]
    assert (
        sum(counts[name] for name in ("tp", "fp", "fn", "tn")) == 200
        and counts["undecided"] <= counts["tp"] + counts["fp"]
    )


def test_methods_that_need_a_model_are_not_run_and_say_why(cold):
    results = newest(cold[0], "07_evaluation", "results.json")
    said = json.dumps(results)
    for method in ("direct", "rule_traverse", "guardagent"):
        (line,) = (line for line in cold[1].stdout.splitlines() if line.startswith("not run "))
        assert method in said and method in line and "none was given (model = 'offline')" in line


def test_every_guard_is_proved_and_no_fault_gets_past_its_contract(cold):
    guards = newest(cold[0], "06_nagini_verification", "guards.json")
    fates = [row["fate"] for row in newest(cold[0], "07_evaluation", "mutants.json")]
    assert {row["grade"] for row in guards} == {"proved"}
    assert len(fates) >= 20 and set(fates) <= {"refuted", "equivalent"}


def test_refinement_takes_three_rounds_to_fewer_and_clearer_rules(cold):
    curve = newest(cold[0], "02_vagueness_scoring", "rounds.json")
    assert len(curve) - 1 >= 3
    assert curve[-1]["rules"] < curve[0]["rules"] and curve[-1]["vagueness"] < curve[0]["vagueness"]


def test_a_second_run_makes_nothing_and_one_round_draws_another_curve(cold):
    artifacts, _ = cold
    before = newest(artifacts, "02_vagueness_scoring", "rounds.json")
    again = wb(artifacts, "run")
    assert again.returncode == 0 and again.stdout.count(" kept ") + again.stderr.count(" kept ") == len(STAGES)
    other = wb(artifacts, "run", "-p", "max_rounds=1", "--to", "02_vagueness_scoring")
    assert other.returncode == 0, other.stderr[-2000:]
    curve = newest(artifacts, "02_vagueness_scoring", "rounds.json")
    assert len(curve) == 2 and curve == before[:2] and curve[-1]["vagueness"] > before[-1]["vagueness"]


def test_the_largest_process_stays_under_four_gigabytes(cold):
    kilobytes = int(cold[1].stdout.rsplit("largest", 1)[1])
    assert kilobytes < 4 * 1024 * 1024
