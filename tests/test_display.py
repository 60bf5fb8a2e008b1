"""A terminal sees one moving line, anything else one plain line a stage."""

from __future__ import annotations

import io
import time

import pytest
from rich.console import Console

from wb.runs import display
from wb.runs.pipeline import Notice

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
    with display.Display(["01_a", "02_bb"], console) as tell:
        for event in EVENTS:
            tell(event)
    return text.getvalue()


def test_without_a_terminal_each_stage_gets_one_plain_line():
    assert shown(False).strip().splitlines() == ["01_a   made     abc in 2.0 s", "02_bb  kept     [def]"]


def test_without_a_terminal_a_line_says_that_the_work_goes_on():
    text = io.StringIO()
    console = Console(file=text, force_terminal=False, width=100)
    with display.Display(["01_a"], console, quiet=0.05) as tell:
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
    assert (
        "01_a" in text
        and "cell 2/3" in text
        and "How [vague]?" in text
        and "0:00:00" in text
        and "made     abc in 2.0 s" in text
    )


@pytest.mark.parametrize("rows", [[("method", "n")], [("method", "n"), ("[bold]x", "1")]])
def test_a_table_shows_its_cells_as_they_are(rows):
    console = Console(file=io.StringIO(), width=80)
    console.print(display.table(rows))
    assert all(cell in console.file.getvalue() for row in rows for cell in row)


def test_versions_are_listed_whole_and_only_their_summary_is_folded():
    made = display.versions({"key": key, "n": 12, "summary": "word " * 20} for key in ("a" * 12, "b" * 30))
    out = io.StringIO()
    Console(file=out, width=60).print(made)
    lines = out.getvalue().splitlines()
    assert lines[0].split() == ["key", "n", "summary"] and len(lines) > 5
    assert lines[1].startswith(f"{'a' * 12} ") and any(line.startswith("b" * 30) for line in lines)
    assert sum(line.count("word") for line in lines) == 40 and all(len(line) <= 60 for line in lines)


def test_numbers_stand_to_the_right_of_a_name_and_a_kind():
    made = display.table(
        [("method", "split", "n", "accuracy"), ("a", "all", "5", "90"), ("b (published)", "", "-", "1")]
    )
    assert [column.justify for column in made.columns] == ["left", "left", "right", "right"]
    assert all(column.no_wrap for column in made.columns)
    assert [row.style for row in made.rows] == [None, "dim"]


def test_a_long_cell_leaves_the_short_ones_whole() -> None:
    text = io.StringIO()
    rows = [("tool", "was", "is"), ("issue_permit", "proved for 3 rules", "tested " * 60)]
    Console(file=text, width=80).print(display.table(rows))
    (head, first, *rest) = text.getvalue().splitlines()
    assert head.split() == ["tool", "was", "is"] and "issue_permit  proved for 3 rules  tested" in first
    assert sum(line.count("tested") for line in (first, *rest)) == 60
