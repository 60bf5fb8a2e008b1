"""From a policy to guards in one call: the run of `wb run`, loaded; the same versions, the same verdicts.

Run by hand (`python -m pytest tests/whole_build.py`), not with the suite: the proofs of its policy take minutes where a
planted fault makes the solver diverge.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import prompt_path
import pytest
import recount

import wb
from wb.domain.events import loads
from wb.paths import project
from wb.runs import artifact

ROOT = Path(__file__).resolve().parents[1]
SMALL = ("-p", "mutants=4", "-p", "timeout_s=60")
HEAVY = ("torch", "plotly", "papermill", "nbformat", "sentence_transformers", "sklearn", "rich", "stormpy")


def environment(artifacts: Path) -> dict[str, str]:
    return {**os.environ, "WB_ARTIFACTS": str(artifacts), "PYTHONPATH": str(ROOT), "WB_REPLIES": "replay"}


def command(artifacts: Path, *words: str) -> subprocess.CompletedProcess:
    """A command of `wb` on artifacts of its own."""
    return subprocess.run(
        [sys.executable, "-m", "wb.cli", *words], cwd=ROOT, capture_output=True, text=True, env=environment(artifacts)
    )


@pytest.fixture(scope="session")
def short(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess]:
    """The seven stages on the short policy, its model's replies replayed: the artifacts, and what the run said."""
    artifacts = tmp_path_factory.mktemp("short")
    shutil.copytree(prompt_path.FOLDER / "replies", artifacts / "replies")
    shutil.copytree(prompt_path.FOLDER / "vectors", artifacts / "cache" / "embeddings")
    done = command(artifacts, "run", "--policy", str(prompt_path.FOLDER), "--model", prompt_path.MODEL, *SMALL)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return artifacts, done


@pytest.fixture
def built(short: tuple, monkeypatch: pytest.MonkeyPatch) -> wb.build.Built:
    monkeypatch.setenv("WB_ARTIFACTS", str(short[0]))
    monkeypatch.setenv("WB_REPLIES", "replay")
    return wb.build(prompt_path.FOLDER, prompt_path.MODEL, mutants=4, timeout_s=60.0)


def test_a_run_ends_with_what_came_of_this_policy_as_counted_again_from_its_files(short: tuple) -> None:
    artifacts, done = short
    said = [re.sub(r" \([^)]*\)", "", line) for line in done.stdout.splitlines()]
    expected = recount.recount(artifacts)
    assert [line for line in expected if line not in said] == [], done.stdout
    assert "was not run" not in done.stdout and done.stdout.count("not run") <= 1
    report = Path(re.search(r"^report +(\S+)", done.stdout, re.MULTILINE).group(1))
    assert report.is_file() and "-p runs=FILE" in done.stdout


def test_a_build_is_the_run_and_takes_what_it_made(built: wb.build.Built, short: tuple, capsys) -> None:
    here = project()
    assert {stage: version.key for stage, version in built.versions.items()} == {
        stage: artifact.newest(here, stage).key for stage in built.versions
    }
    assert len(built.versions) == 6 and not capsys.readouterr().err, "what is kept is not worth a word"
    newest = wb.build.newest(prompt_path.FOLDER)
    assert {s: v.key for s, v in newest.versions.items()} == {s: v.key for s, v in built.versions.items()}


def test_a_build_gives_the_verdicts_of_the_run(built: wb.build.Built) -> None:
    """The rows that 06 kept, loaded by hand, decide as the guards that `build` gives."""
    from wb.guards import contract, runtime, veriguard
    from wb.rules import rulefile, sentences

    read = {stage[:2]: version for stage, version in built.versions.items()}
    rules = rulefile.from_json(read["02"].read("rules.json"))
    required = contract.contracts(built.toolbox, rules)
    waiting = sentences.open_on(sentences.from_json(read["02"].read("sentences.json")))
    rows = runtime.from_rows(read["06"].read("guards.json"), required)
    by_hand = veriguard.proved_guard(rules, rows, built.toolbox, waiting)
    asked = 0
    for tool in built.toolbox.tools:
        for state in ({}, {"age": 10, "card_valid": False}, {"age": 40, "card_valid": True}):
            one, other = by_hand.session(), built.session()
            one.state(state), other.state(state)
            assert one.call(tool.name, {}) == other.call(tool.name, {})
            asked += 1
    assert asked >= 6


def test_rules_sentences_shield_and_guards_are_there(built: wb.build.Built) -> None:
    assert (
        set(built.guards) == {"veriguard", "toolguard", "shieldagent"} and built.shield is built.guards["shieldagent"]
    )
    assert built.rules.rules and {rule for s in built.sentences for rule in s.rules} <= {
        r.id for r in built.rules.rules
    }
    with pytest.raises(ValueError, match=r"one of \['shieldagent', 'toolguard', 'veriguard'\]; got 'none'"):
        built.session("none")


def test_a_session_judges_and_logs(built: wb.build.Built) -> None:
    log = io.StringIO()
    session = built.session(log=log)
    session.state({"age": 40, "card_valid": True})
    verdict = session.call("no_such_tool", {})
    assert verdict.decision == "deny" and json.loads(log.getvalue())["decision"] == "deny"


def test_an_unchanged_policy_is_there_at_once_and_nothing_heavy_is_imported(short: tuple) -> None:
    """Processor time of the call alone, the best of three processes: on an idle machine, the elapsed time."""
    code = (
        "import sys, time, wb\n"
        "began = time.process_time()\n"
        f"wb.build({str(prompt_path.FOLDER)!r}, {prompt_path.MODEL!r}, mutants=4, timeout_s=60.0)\n"
        "first, began = time.process_time() - began, time.process_time()\n"
        f"wb.build({str(prompt_path.FOLDER)!r}, {prompt_path.MODEL!r}, mutants=4, timeout_s=60.0)\n"
        f"print(first, time.process_time() - began, [n for n in {HEAVY} if n in sys.modules])"
    )
    rows = []
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment(short[0]))
        assert done.returncode == 0, done.stderr
        rows.append(done.stdout.split(maxsplit=2))
    assert {row[2].strip() for row in rows} == {"[]"}
    assert min(float(row[1]) for row in rows) < 0.3


def test_the_name_is_one_thing_however_it_is_reached() -> None:
    code = (
        "import wb; first = wb.build; import wb.build; from wb import build\n"
        "assert first is build is wb.build and callable(build) and build.Built\n"
        "try: wb.absent\nexcept AttributeError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout == "module 'wb' has no attribute 'absent'\n", done.stderr


def test_a_policy_that_is_not_there_or_a_parameter_that_nobody_declares_is_named() -> None:
    with pytest.raises(ValueError, match="got 'nowhere', and nothing is there"):
        wb.build("nowhere")
    with pytest.raises(ValueError, match="no notebook declares 'mutant'"):
        wb.build("web_tasks", mutant=3)
    assert wb.build.newest(prompt_path.FOLDER, "a model that nobody ran") is None


# ---- wb judge ---------------------------------------------------------------------------------------


def lines(*rows: dict) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture(scope="session")
def recorded(short: tuple, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of two calls each for the tools of the short policy, labelled."""
    tools = [
        tool.name for tool in __import__("wb.domain.policy", fromlist=["load"]).load(prompt_path.FOLDER).toolbox.tools
    ]
    path = tmp_path_factory.mktemp("runs") / "runs.jsonl"
    rows = []
    for run, label in (("one", "allow"), ("two", "deny")):
        rows.append({"run": run, "state": {"age": 40, "card_valid": label == "allow"}})
        for tool in (tools[0], "no_such_tool"):
            rows.append({"run": run, "call": {"tool": tool, "arguments": {}}, "label": label})
            rows.append({"run": run, "result": "done"})
    path.write_text(lines(*rows), "utf-8")
    return path


@pytest.mark.parametrize("guard", ["veriguard", "toolguard", "shieldagent"])
def test_judge_gives_one_line_a_call_as_the_guard_decides(built, short, recorded, guard) -> None:
    done = command(short[0], "judge", str(prompt_path.FOLDER), str(recorded), "--guard", guard, "--json")
    assert done.returncode == 0 and not done.stderr, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["run"], row["index"]) for row in rows] == [("one", 0), ("one", 1), ("two", 0), ("two", 1)]
    wanted = {"run", "index", "tool", "decision", "violated", "missing", "open", "grade"}
    assert all(wanted <= row.keys() for row in rows)
    assert [row["decision"] for row in rows if row["tool"] == "no_such_tool"] == ["deny", "deny"]
    judged = list(built.judge(recorded, guard))
    assert [row["decision"] for row in rows] == [j.verdict.decision for j in judged]
    for row in rows:
        assert all(item["quote"] for item in row["violated"]) and all(item["text"] for item in row["open"])
        assert not (row["open"] and row["decision"] == "allow")


def test_judge_without_json_counts_and_compares_with_the_labels(short, recorded) -> None:
    done = command(short[0], "judge", str(prompt_path.FOLDER), str(recorded))
    assert done.returncode == 0, done.stderr
    assert "4 calls in 2 runs:" in done.stdout and "no_such_tool" in done.stdout
    assert re.search(r"\d of 4 labelled calls decided as labelled: [\d.]+ % \[\d+, \d+\]", done.stdout)
    assert re.search(r"^to allow +2", done.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"run": "a", "call": {"tool": "lend", "arguments": {"n": NaN}}}', "line 1: a finite number was required"),
        ('{"run": "a"}', "exactly one of say, state, call, result, turn was required"),
        ("not json", "JSON was required"),
        (None, "a readable file was required"),
    ],
)
def test_judge_refuses_what_it_cannot_use(short, tmp_path, text, message) -> None:
    path = tmp_path / "runs.jsonl"
    if text is not None:
        path.write_text(text + "\n", "utf-8")
    done = command(short[0], "judge", str(prompt_path.FOLDER), str(path), "--json")
    assert done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr and not done.stdout


def test_judge_knows_its_guards_and_says_what_it_takes_as_done(short, recorded) -> None:
    done = command(short[0], "judge", str(prompt_path.FOLDER), str(recorded), "--guard", "nobody")
    assert done.returncode == 2 and "a guard must be one of" in done.stderr
    told = " ".join(command(short[0], "judge", "--help").stdout.split())
    assert "one that was executed there" in told and "has happened" in told


def test_the_same_file_is_measured_by_the_notebooks_and_both_agree(short, recorded) -> None:
    artifacts, _ = short
    words = ("--policy", str(prompt_path.FOLDER), "--model", prompt_path.MODEL, *SMALL, "-p", f"runs={recorded}")
    done = command(artifacts, "run", *words)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    (version,) = [
        v
        for v in artifact.versions(project().__class__(ROOT, artifacts), "07_evaluation")
        if v.manifest["parameters"]["runs"]
    ]
    rows = {(r["method"], r["split"]): r for r in version.read("results.json")["methods"] if not r.get("reason")}
    judged = [
        json.loads(x)
        for x in command(artifacts, "judge", str(prompt_path.FOLDER), str(recorded), "--json").stdout.splitlines()
    ]
    counts = rows["veriguard", next(s for m, s in rows if m == "veriguard")]["counts"]
    assert sum(r["counts"]["tp"] for (m, s), r in rows.items() if m == "veriguard" and s != "all") == sum(
        j["label"] == "deny" and j["decision"] != "allow" for j in judged
    )
    assert counts and "not run" not in done.stdout.split("veriguard")[0]
    assert not any(r["published"] for r in version.read("results.json")["methods"])
    assert loads(recorded.read_text("utf-8"))
