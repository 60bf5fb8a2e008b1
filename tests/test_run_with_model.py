"""`wb run` with a model: a spent budget and an unknown model end it clearly, and what was answered is kept."""

import json
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


def asked(server: Scripted, since: int = 0) -> str:
    """The prompts of the requests, in their order."""
    return " ".join(one["response_format"]["json_schema"]["name"] for one in server.requests[since:])


def test_a_spent_budget_ends_the_run_and_the_next_run_goes_on_from_what_was_answered(tmp_path) -> None:
    with Scripted(prompt_path.scripted) as server:
        stopped = wb(tmp_path, server, WB_MAX_CALLS="5")
        assert stopped.returncode != 0
        assert (
            "prompt 'read_formulas' may need 1 calls, 5 of 5 are spent; every finished reply is kept"
            in stopped.stdout + stopped.stderr
        )
        assert "Traceback" not in stopped.stdout + stopped.stderr
        assert len(server.requests) == 5 == len(list((tmp_path / "replies").glob("*.json")))
        whole = wb(tmp_path, server)
        assert whole.returncode == 0, whole.stdout + whole.stderr
        assert asked(server) == (
            "write_vocabulary correct_bindings bind_vocabulary relate_statements read_formulas read_formulas "
            "read_formulas read_cases read_cases add_vocabulary bind_vocabulary read_formulas read_cases "
            "read_conditions judge_runs judge_rules judge_rules"
        ), "one binding wrong and one reply malformed at first, one entry missing; none of the first five twice"
    assert set(server.keys) == {f"Bearer {KEY}"}
    assert not [p for p in tmp_path.rglob("*") if p.is_file() and KEY in p.read_bytes().decode("utf-8", "replace")], (
        "the key is in no artifact"
    )


def test_questions_that_failed_are_asked_again_alone_by_the_next_run(tmp_path) -> None:
    """The second reader's last question and the third's only one are answered with no JSON: one sentence is open."""

    def failing(request: dict) -> Say:
        told = dict(prompt_path.BLOCK.findall(request["messages"][1]["content"]))
        name = request["response_format"]["json_schema"]["name"]
        if name == "read_conditions" or (name == "read_cases" and told["statements"].count('"id"') == 1):
            return Say("I cannot say.")
        return prompt_path.scripted(request)

    def opened() -> list[str]:
        kept = sorted(tmp_path.glob("01_policy_extraction/*/sentences.json"), key=lambda path: path.stat().st_mtime)
        return [row["text"] for row in json.loads(kept[-1].read_text("utf-8")) if row["cls"] == "open"]

    with Scripted(failing) as server:
        first = wb(tmp_path, server)
        assert first.returncode == 0, first.stdout + first.stderr
        assert asked(server, 13).startswith("read_cases read_cases read_conditions read_conditions"), "again, in vain"
        before = len(server.requests)
        assert opened() == ["Do not reserve a room for a reader whose open fines are above 20 euros."]
        server.steps = prompt_path.scripted
        second = wb(tmp_path, server)
        assert second.returncode == 0 and "made" in second.stderr, second.stdout + second.stderr
        assert asked(server, before) == "read_cases read_cases read_conditions judge_rules judge_rules"
        assert opened() == []
        third = wb(tmp_path, server)
        assert third.returncode == 0 and "kept" in third.stderr and len(server.requests) == before + 5
    ledgers = [json.loads(path.read_text("utf-8")) for path in tmp_path.glob("01_policy_extraction/*/ledger.json")]
    assert sorted(row["failed"] for row in ledgers) == [0, 4]


def test_an_unknown_model_ends_the_run_with_the_models_there_are(tmp_path) -> None:
    with Scripted(lambda request: Say("no such model", 404), models=("alpha", "beta")) as server:
        stopped = wb(tmp_path, server)
    assert stopped.returncode != 0
    assert "model must be one that the endpoint serves (alpha, beta); got 'scripted'" in " ".join(
        (stopped.stdout + stopped.stderr).split()
    )
    assert "Traceback" not in stopped.stdout + stopped.stderr
