"""What a person sees of a run that goes on: one line that moves in a terminal, plain lines elsewhere."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Column
from rich.text import Text

from wb.runs.pipeline import Notice

COLOURS = {
    **{"made": "green", "kept": "dim", "damaged": "red"},
    **dict.fromkeys(("taken", "waiting", "changed"), "yellow"),
}
PIPED_COLUMNS = 200  # a table that nobody's terminal cuts
QUIET_S = 4.0  # where nothing moves, a line says after this time that the work goes on


def console(*, error: bool = False) -> Console:
    """Standard output, or standard error, as wide as the terminal or wide enough for a file."""
    made = Console(stderr=error)
    return made if made.is_terminal else Console(stderr=error, width=PIPED_COLUMNS)


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
        self._beat = threading.Thread(target=self._report_progress, daemon=True)
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
        words = (f"{event.stage:{self._width}}  ", (f"{event.what:7}", COLOURS[event.what]), f"  {event.note}")
        self._console.print(Text.assemble(*words), soft_wrap=True, highlight=False)

    def _report_progress(self) -> None:
        while not self._closed.wait(self._quiet):
            if (event := self._running) is not None:
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
        self._progress.update(
            self._task, completed=event.cell, total=event.cells or None, where=where, doing=event.note
        )
        self._progress.refresh()
