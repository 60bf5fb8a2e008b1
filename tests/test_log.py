"""The log: one file a month, short dated entries, and a table of today's figures that is made from their file."""

import re

import pytest
from bench import figures
from conftest import ROOT

MONTHS = sorted((ROOT / "log").glob("*.md"))
LINES, COLUMNS = 15, 120


def entries(text: str) -> list[tuple[str, list[str]]]:
    """The title of each entry and its lines that are not empty; a row of a table is a line."""
    _, *parts = re.split(r"^## ", text, flags=re.M)
    rows = [[line for line in part.split("\n") if line.strip()] for part in parts]
    return [(title, lines) for title, *lines in rows]


def faults(name: str, text: str) -> list[str]:
    """What is wrong with a month's file."""
    found = entries(text)
    months = [title for title, _ in found if not re.match(rf"{name}-\d\d(?:, [\w ]+)?: ", title)]
    days = [title[:10] for title, _ in found]
    long = [title for title, lines in found if len(lines) > LINES]
    wide = [line for line in text.split("\n") if len(line) > COLUMNS and not line.startswith(("|", "## "))]
    return [*months, *long, *wide, *([] if days == sorted(days) else ["not in order"])]


def test_today_s_figures_stand_in_the_log_as_their_file_has_them() -> None:
    text = (ROOT / "LOG.md").read_text("utf-8")
    rows = [line for line in text.split("\n") if line.startswith("|")]
    assert "\n".join(rows) + "\n" == figures.table()
    assert len(rows) == 2 + len(figures.MEASURES)
    assert all(f"(log/{path.name})" in text for path in MONTHS) and MONTHS


@pytest.mark.parametrize("path", MONTHS, ids=lambda path: path.stem)
def test_an_entry_is_short_and_dated(path) -> None:
    text = path.read_text("utf-8")
    assert entries(text) and faults(path.stem, text) == []


@pytest.mark.parametrize(
    "text",
    [
        "## 2026-10-01: of another month\n\nx\n",
        "## long ago\n\nx\n",
        "## 2026-11-02: late\n\nx\n\n## 2026-11-01: early\n\nx\n",
        "## 2026-11-01: long\n\n" + "x\n" * 16,
        "## 2026-11-01: long with a table\n\n" + "x\n" * 8 + "\n" + "| a |\n" * 8,
        "## 2026-11-01: wide\n\n" + "x" * 121 + "\n",
    ],
)
def test_what_an_entry_may_not_be_is_told(text: str) -> None:
    assert faults("2026-11", text)
