"""The type checker reads all drafts of a round in one run; whatever goes wrong with it is a complaint."""

from __future__ import annotations

import os
import sys
import time

import pytest
from hostile_code import BOOK, SIGNATURE, of

from wb.guards import synthesis, trial
from wb.guards.synthesis import Attempt, Draft

RIGHT = of("if age < 18:", "    return (False, 'c1')")
OPEN_END = f"{SIGNATURE}\n    if age >= 18:\n        return (True, 'allowed')\n"
NEVER = of("if age == 'x':", "    return (False, 'c1')")
BROKEN = f"{SIGNATURE}\n    if age >= 18\n        return (True, 'allowed')\n"


@pytest.fixture(scope="module")
def told() -> trial.Typed | str:
    """One run for all."""
    return trial.typed([RIGHT, OPEN_END, NEVER, BROKEN])


def drafts(*sources: str) -> list[Draft]:
    return [Draft(BOOK, (Attempt(source),)) for source in sources]


def test_what_is_wrong_is_told_with_its_line_and_what_is_right_has_nothing_against_it(told) -> None:
    assert not isinstance(told, str), told
    assert told[RIGHT] == ()
    assert told[OPEN_END][0].startswith("line 1: ") and "reportReturnType" in told[OPEN_END][0]
    assert told[NEVER][0].startswith("line 2: ") and "reportUnnecessaryComparison" in told[NEVER][0]
    assert told[BROKEN][0].startswith("line 2: ") and "syntax" in told[BROKEN][0]


def fake(folder, text: str) -> tuple[str, ...]:
    program = folder / "checker.py"
    program.write_text(text, "utf-8")
    return sys.executable, str(program)


COUNTING = """
import json, pathlib, sys
folder = pathlib.Path(sys.argv[1])
with open({log!r}, "a") as log:
    log.write("run\\n")
print(json.dumps({{"generalDiagnostics": [], "summary": {{"filesAnalyzed": len(list(folder.glob("*.py")))}}}}))
"""


def test_one_run_a_round_and_none_for_what_was_read_before(tmp_path) -> None:
    log = tmp_path / "log"
    _, check = synthesis.types(fake(tmp_path, COUNTING.format(log=str(log))))
    assert check(drafts(RIGHT, NEVER)) == [(), ()] and check(drafts(NEVER)) == [()]
    assert log.read_text() == "run\n"
    check(drafts(NEVER, OPEN_END))
    assert log.read_text() == "run\nrun\n"


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("raise SystemExit(3)", "ended with code 3 and no report"),
        ("print('no json')", "no report"),
        ("print('[]')", "no report"),
        ('print(\'{"generalDiagnostics": [], "summary": {"filesAnalyzed": 0}}\')', "no report"),
        ("import time; time.sleep(60)", "it did not end within 1 s"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "no report"),
    ],
)
def test_a_checker_that_fails_is_a_complaint_and_never_a_pass(tmp_path, program: str, why: str) -> None:
    _, check = synthesis.types(fake(tmp_path, program), seconds=1)
    for _ in range(2):
        ((complaint,),) = check(drafts(RIGHT))
        assert why in complaint.said and complaint.message == "the type checker's word was required; it gave none"
    (draft,) = synthesis.checked(drafts(RIGHT), [("types", check), ("tests", synthesis.tests)])
    assert synthesis.guarded(draft).grade == "error"


def test_a_checker_that_is_not_there_is_a_complaint() -> None:
    _, check = synthesis.types(("/no/such/program",))
    assert "could not be started" in check(drafts(RIGHT))[0][0].said


def test_what_it_started_ends_with_it(tmp_path) -> None:
    mark = tmp_path / "pid"
    text = f"""
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
open({str(mark)!r}, "w").write(str(child.pid))
time.sleep(60)
"""
    assert isinstance(trial.typed([RIGHT], fake(tmp_path, text), 2), str)
    child = int(mark.read_text())
    for _ in range(50):
        if not _runs(child):
            return
        time.sleep(0.1)
    raise AssertionError("what the checker started still runs")


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
        return stat.read().rpartition(")")[2].split()[0] != "Z"
