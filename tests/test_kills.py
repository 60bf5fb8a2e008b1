"""Killed at any step of generation, no unfinished guard lets a call run, and the next run is right (`kills.py`)."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from conftest import ROOT


@pytest.fixture(scope="module")
def rows() -> list[dict]:
    """Every seventeenth step; `python tests/kills.py` tries them all."""
    done = subprocess.run(
        [sys.executable, "tests/kills.py", "--every", "17"], cwd=ROOT, capture_output=True, text=True, timeout=400
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_kill_at_a_step_leaves_what_was_finished_before_and_nothing_else(rows) -> None:
    whole, *tried = rows
    assert whole["allowed"] == [] and len(whole["stages"]) == 2 and whole["steps"] > 50
    killed = [row for row in tried if row["deed"] == "killed"]
    assert len(killed) >= 4 and {row["ended"] for row in killed} == {-9}
    assert all(row["same"] for row in killed), "what is there is the whole version or none"
    left = [len(row["left"]) for row in killed]
    assert left == sorted(left) and left[0] == 0 and left[-1] == 1


def test_no_call_is_ever_allowed_by_what_was_left(rows) -> None:
    assert [row["allowed"] for row in rows] == [[]] * len(rows)


def test_what_a_model_or_a_test_runner_left_without_an_answer_is_never_final(rows) -> None:
    failed = {(row["step"], row["deed"]): row for row in rows[1:] if row["deed"] != "killed"}
    assert failed["the test runner", "killed at each start"]["left"] == []
    assert failed["the model", "drops each connection"]["left"] == []
    assert failed["the model", "says no code"]["ended"] == 0, "that is an answer, and its guards are errors"


def test_the_next_run_is_right(rows) -> None:
    again = [row for row in rows if "next" in row]
    assert len(again) >= 3 and all(row["next"] == 0 and row["right"] for row in again)
