"""What a person sees of a run: one line that moves in a terminal, plain lines elsewhere, and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from wb.runs.pipeline import Event

COLOURS = {
    "made": "green",
    "kept": "dim",
    "taken": "yellow",
    "waiting": "yellow",
    "damaged": "red",
    "changed": "yellow",
}


class Display:
    """Shows the events of a run while it is open: stage, cell and elapsed time in one moving line.

    Where the console is no terminal, each stage gets one plain line when it is done.
    """

    def __init__(self, stages: Sequence[str], console: Console) -> None:
        self._console = console
        self._width = max(map(len, stages), default=0)
        columns = (
            SpinnerColumn(),
            TextColumn(f"{{task.description:{self._width}}}"),
            BarColumn(bar_width=24),
            TextColumn("cell"),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        self._progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._task = None

    def __enter__(self) -> Display:
        self._progress.start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._progress.stop()

    def __call__(self, event: Event) -> None:
        """Show one event."""
        if event.what == "running":
            self._move(event)
            return
        if event.what in ("made", "kept", "taken") and self._task is not None:
            self._progress.remove_task(self._task)
            self._task = None
        line = (
            Text(f"{event.stage:{self._width}}  ")
            .append(f"{event.what:7}", COLOURS[event.what])
            .append(f"  {event.note}")
        )
        self._console.print(line, soft_wrap=True, highlight=False)

    def _move(self, event: Event) -> None:
        if self._task is None:
            self._task = self._progress.add_task(event.stage, total=None)
        self._progress.update(self._task, completed=event.cell, total=event.cells or None)
        self._progress.refresh()


def table(rows: Sequence[Sequence[str]]) -> Table:
    """A table whose first row is its head; numbers stand to the right."""
    made = Table(box=None, pad_edge=False)
    for number, name in enumerate(rows[0]):
        made.add_column(name, justify="left" if number < 2 else "right", no_wrap=True)
    for row in rows[1:]:
        made.add_row(*map(Text, row), style="dim" if "published" in row[0] else None)
    return made


def versions(rows: Iterable[dict[str, object]]) -> Table:
    """The versions of a stage, one a line."""
    rows = list(rows)
    return table([tuple(rows[0]), *(tuple(str(value) for value in row.values()) for row in rows)])
