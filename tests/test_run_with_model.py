"""`wb run` with a model: a spent budget and an unknown model end it clearly, and what was answered is kept."""

import os
import subprocess
import sys
from pathlib import Path

import prompt_path
from loopback import Say, Scripted

ROOT = Path(__file__).resolve().parents[1]
KEY = "sk-planted-91c4"


def wb(artifacts: Path, server: Scripted, **environment: str) -> subprocess.CompletedProcess:
    """Stage 01 for the short policy, asked at the server."""
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "wb.cli",
            "run",
            "--policy",
            str(prompt_path.FOLDER),
            "--model",
            prompt_path.MODEL,
            "--to",
            "01_policy_extraction",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=os.environ
        | {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": KEY, "WB_ARTIFACTS": str(artifacts)}
        | environment,
    )


def test_a_spent_budget_ends_the_run_and_the_next_run_goes_on_from_what_was_answered(tmp_path) -> None:
    with Scripted(prompt_path.scripted) as server:
        stopped = wb(tmp_path, server, WB_MAX_CALLS="4")
        assert stopped.returncode != 0
        assert (
            "prompt 'extract_rules' may need 1 calls, 4 of 4 are spent; every finished reply is kept"
            in stopped.stdout + stopped.stderr
        )
        assert "Traceback" not in stopped.stdout + stopped.stderr
        assert len(server.requests) == 4 == len(list((tmp_path / "replies").glob("*.json")))
        whole = wb(tmp_path, server)
        assert whole.returncode == 0, whole.stdout + whole.stderr
        assert len(server.requests) == 10, (
            "one section, eight clauses, one of them asked again; none of the first four twice"
        )
    assert set(server.keys) == {f"Bearer {KEY}"}
    assert not [p for p in tmp_path.rglob("*") if p.is_file() and KEY in p.read_bytes().decode("utf-8", "replace")], (
        "the key is in no artifact"
    )


def test_an_unknown_model_ends_the_run_with_the_models_there_are(tmp_path) -> None:
    with Scripted(lambda request: Say("no such model", 404), models=("alpha", "beta")) as server:
        stopped = wb(tmp_path, server)
    assert stopped.returncode != 0
    assert "model must be one that the endpoint serves (alpha, beta); got 'scripted'" in " ".join(
        (stopped.stdout + stopped.stderr).split()
    )
    assert "Traceback" not in stopped.stdout + stopped.stderr
