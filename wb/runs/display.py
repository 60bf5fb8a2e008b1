"""What a person sees of a run: one line that moves in a terminal, plain lines elsewhere, and tables."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Column, Table
from rich.text import Text

from wb.runs.pipeline import Notice

COLOURS = {
    "made": "green",
    "kept": "dim",
    "taken": "yellow",
    "waiting": "yellow",
    "damaged": "red",
    "changed": "yellow",
}


PIPED_COLUMNS = 200  # a table that nobody's terminal cuts
SHORT = 40  # characters of a cell that is never cut or folded
QUIET_S = 4.0  # where nothing moves, a line says after this time that the work goes on


def console(*, error: bool = False) -> Console:
    """Standard output, or standard error, as wide as the terminal or wide enough for a file."""
    found = Console(stderr=error)
    return found if found.is_terminal else Console(stderr=error, width=PIPED_COLUMNS)


class Display:
    """Shows the events of a run while it is open: stage, cell, elapsed time and what is done, in one moving line.

    Where the console is no terminal, each stage gets one plain line when it is done, and a line says every few
    seconds (`quiet`) where the work is and what is done there.
    """

    def __init__(self, stages: Sequence[str], console: Console, quiet: float = QUIET_S) -> None:
        self._console, self._quiet = console, quiet
        self._running: Notice | None = None
        self._began = 0.0
        self._closed = threading.Event()
        self._beat = threading.Thread(target=self._say_that_it_goes_on, daemon=True)
        self._width = max(map(len, stages), default=0)
        columns = (
            SpinnerColumn(),
            TextColumn(f"{{task.description:{self._width}}}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[where]}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[doing]}", table_column=Column(no_wrap=True, overflow="ellipsis"), markup=False),
        )
        self._progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._task = None

    def __enter__(self) -> Display:
        self._progress.start()
        if not self._console.is_terminal:
            self._beat.start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._closed.set()
        self._progress.stop()

    def __call__(self, event: Notice) -> None:
        """Show one event."""
        if event.what == "running":
            self._move(event)
            return
        self._running = None
        if event.what in ("made", "kept", "taken") and self._task is not None:
            self._progress.remove_task(self._task)
            self._task = None
        line = (
            Text(f"{event.stage:{self._width}}  ")
            .append(f"{event.what:7}", COLOURS[event.what])
            .append(f"  {event.note}")
        )
        self._console.print(line, soft_wrap=True, highlight=False)

    def _say_that_it_goes_on(self) -> None:
        while not self._closed.wait(self._quiet):
            event = self._running
            if event is not None:
                where = f"cell {event.cell} of {event.cells}, " if event.cells else "" if event.note else "starting, "
                doing = f": {event.note}" if event.note else ""
                line = f"{event.stage:{self._width}}  ...      {where}{time.monotonic() - self._began:.0f} s{doing}"
                self._console.print(line, soft_wrap=True, highlight=False, markup=False)

    def _move(self, event: Notice) -> None:
        if self._running is None:
            self._began = time.monotonic()
        self._running = event
        if self._task is None:
            self._task = self._progress.add_task(event.stage, total=None, where="", doing="")
        where = f"cell {event.cell}/{event.cells}" if event.cells else ""
        of = event.cells or None
        self._progress.update(self._task, completed=event.cell, total=of, where=where, doing=event.note)
        self._progress.refresh()


def table(rows: Sequence[Sequence[str]]) -> Table:
    """A table whose first row is its head; numbers stand to the right, and what is short is always whole."""
    made = Table(box=None, pad_edge=False)
    for number, name in enumerate(rows[0]):
        widest = max(len(row[number]) for row in rows)
        long = widest > SHORT
        side = "left" if number < 2 or long else "right"
        made.add_column(name, justify=side, no_wrap=not long, min_width=None if long else widest, overflow="fold")
    for row in rows[1:]:
        made.add_row(*map(Text, row), style="dim" if "published" in row[0] else None)
    return made


def versions(rows: Iterable[dict[str, object]]) -> Table:
    """The versions of a stage, one a line."""
    rows = list(rows)
    made = Table(box=None, pad_edge=False)
    for name in rows[0]:  # what names a version is always whole
        widest = max(len(str(row[name])) for row in (*rows, {name: name}))
        long = name == "summary"
        made.add_column(name, no_wrap=not long, min_width=None if long else widest, overflow="fold")
    for row in rows:
        made.add_row(*[Text(str(value)) for value in row.values()])
    return made
