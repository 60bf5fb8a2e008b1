"""The benchmark of rules runs, and its goals hold with room to spare for a busy machine."""

import json
import subprocess
import sys

from conftest import ROOT


def test_the_benchmark_runs_without_peers_and_keeps_its_goals():
    run = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "bench" / "rules.py"), "--quick", "--json"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    rows = {row["what"]: row for row in json.loads(run.stdout)}
    assert len(rows) == 16
    late = {what: row["wb_us"] for what, row in rows.items() if row["wb_us"] > 4 * row.get("goal_us", float("inf"))}
    assert not late, "the figures to quote come from the full benchmark; these are far beyond its goals"
    assert all(row["wb_us"] < 2 for what, row in rows.items() if what.startswith("step "))
    assert next(row for what, row in rows.items() if what.startswith("Storm"))["one_by_one_ratio"] > 8


def test_the_benchmark_of_rules_about_objects_is_flat_and_agrees_with_its_peer():
    run = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "bench" / "objects.py"), "--quick", "--json"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    rows = json.loads(run.stdout)
    assert len(rows) == 24 and not any(row.get("differ") for row in rows)
    for few, many, long, wide in zip(*[iter(row["wb_us"] for row in rows)] * 4, strict=True):
        assert max(few, many, long, wide) < 5 * min(few, many, long, wide), "a step costs by what it names alone"
