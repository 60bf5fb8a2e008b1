"""A terminal sees one moving line, anything else one plain line a stage."""

from __future__ import annotations

import io
import time

from rich.console import Console

from wb.runs import progress
from wb.runs.progress import Notice

EVENTS = [
    Notice("01_a", "running"),
    Notice("01_a", "running", 1, 3),
    Notice("01_a", "running", 2, 3, "How [vague]?"),
    Notice("01_a", "made", note="abc in 2.0 s"),
    Notice("02_bb", "kept", note="[def]"),
]


def shown(terminal):
    text = io.StringIO()
    console = Console(file=text, force_terminal=terminal, width=100, color_system=None)
    with progress.Display(["01_a", "02_bb"], console) as tell:
        for event in EVENTS:
            tell(event)
    return text.getvalue()


def test_without_a_terminal_each_stage_gets_one_plain_line():
    assert shown(False).strip().splitlines() == ["01_a   made     abc in 2.0 s", "02_bb  kept     [def]"]


def test_without_a_terminal_a_line_says_that_the_work_goes_on():
    text = io.StringIO()
    console = Console(file=text, force_terminal=False, width=100)
    with progress.Display(["01_a"], console, quiet=0.05) as tell:
        tell(Notice("01_a", "running"))
        time.sleep(0.12)
        tell(Notice("01_a", "running", 2, 9, "proofs: [3] of 40, 1 s"))
        time.sleep(0.12)
        tell(Notice("01_a", "made", note="x"))
        time.sleep(0.12)
    lines = text.getvalue().splitlines()
    assert "starting" in lines[0] and any(line.endswith(" s: proofs: [3] of 40, 1 s") for line in lines)
    assert any("cell 2 of 9, 0 s" in line for line in lines)
    assert lines[-1] == "01_a  made     x", "nothing moves after the end"


def test_a_terminal_sees_stage_cell_and_time():
    text = shown(True)
    for words in ("01_a", "cell 2/3", "How [vague]?", "0:00:00", "made     abc in 2.0 s"):
        assert words in text


def test_of_two_stages_at_work_each_has_its_line_and_one_that_ends_does_not_silence_the_other():
    text = io.StringIO()
    with progress.Display(["01_a", "02_bb"], Console(file=text, force_terminal=False, width=100), quiet=0.05) as tell:
        tell(Notice("01_a", "running", 1, 3))
        tell(Notice("02_bb", "running", 2, 9))
        time.sleep(0.12)
        tell(Notice("01_a", "made", note="x"))
        time.sleep(0.12)
    before, after = text.getvalue().split("01_a   made     x\n")
    assert "cell 1 of 3" in before and "cell 2 of 9" in before
    assert "cell 2 of 9" in after and "01_a" not in after
