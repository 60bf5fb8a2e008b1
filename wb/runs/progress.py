"""How far a long work is: a run is one line that moves in a terminal and plain lines elsewhere, a long step of a
notebook one line in its cell."""

from __future__ import annotations

import html
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:  # not when a notebook is run: it has no terminal
    from rich.console import Console

BAR = "<progress"  # the first of a line while its step goes on, and not when it is over
COLOURS = {"made": "green", "kept": "dim", "damaged": "red"} | dict.fromkeys(("taken", "waiting", "changed"), "yellow")
PIPED_COLUMNS = 200  # a table that nobody's terminal cuts
QUIET_S = 3.0  # where nothing moves, a line says after this time that the work goes on

About = Literal["running", "made", "kept", "taken", "waiting", "damaged", "changed"]


@dataclass(frozen=True, slots=True)
class Notice:
    """What a run has to say while it goes on. While a stage is running, `cell` of `cells` is given, and `note` says
    what is done there."""

    stage: str
    what: About
    cell: int = 0
    cells: int = 0
    note: str = ""


Tell = Callable[[Notice], None]


def console(*, error: bool = False) -> Console:
    """Standard output, or standard error, as wide as the terminal or wide enough for a file."""
    from rich.console import Console

    made = Console(stderr=error)
    return made if made.is_terminal else Console(stderr=error, width=PIPED_COLUMNS)


class Display:
    """Shows the events of a run while it is open: stage, cell, elapsed time and what is done, in a moving line for each
    stage at work.

    Where the console is no terminal, each stage gets one plain line when it is done, and a line says every few
    seconds (`quiet`) where the work is and what is done there.
    """

    def __init__(self, stages: Sequence[str], console: Console, quiet: float = QUIET_S) -> None:
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
        from rich.table import Column

        self._console, self._quiet = console, quiet
        self._running: dict[str, tuple[Notice, float]] = {}  # by stage, with when it began
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
        self._tasks: dict[str, int] = {}

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
        from rich.text import Text

        if event.what == "running":
            self._move(event)
            return
        self._running.pop(event.stage, None)
        if event.what in ("made", "kept", "taken") and event.stage in self._tasks:
            self._progress.remove_task(self._tasks.pop(event.stage))
        words = (f"{event.stage:{self._width}}  ", (f"{event.what:7}", COLOURS[event.what]), f"  {event.note}")
        self._console.print(Text.assemble(*words), soft_wrap=True, highlight=False)

    def _report_progress(self) -> None:
        wait = min(self._quiet, 0.5)  # the first line is soon: what was imported before it took seconds
        while not self._closed.wait(wait):
            wait = self._quiet
            for event, began in tuple(self._running.values()):
                where = f"cell {event.cell} of {event.cells}, " if event.cells else "" if event.note else "starting, "
                doing = f": {event.note}" if event.note else ""
                line = f"{event.stage:{self._width}}  ...      {where}{time.monotonic() - began:.0f} s{doing}"
                self._console.print(line, soft_wrap=True, highlight=False, markup=False)

    def _move(self, event: Notice) -> None:
        _, began = self._running.get(event.stage, (event, time.monotonic()))
        self._running[event.stage] = event, began
        if event.stage not in self._tasks:
            self._tasks[event.stage] = self._progress.add_task(event.stage, total=None, where="", doing="")
        task, where = self._tasks[event.stage], f"cell {event.cell}/{event.cells}" if event.cells else ""
        self._progress.update(task, completed=event.cell, total=event.cells or None, where=where, doing=event.note)
        self._progress.refresh()


@dataclass(slots=True)
class Progress:
    """A line in the notebook that says how far a long step is; what stays in the file is its last state.

        verifier = nagini.Verifier(cache=…, tell=progress.Progress("proofs"))

    It is called with how many are done, and of how many; where all are, the next call begins a line of its own,
    in the cell that runs then.  Outside a notebook it says nothing.
    """

    what: str
    every_s: float = 0.3
    _line: object = field(default=None, init=False)
    _began: float = field(default=0.0, init=False)
    _said: float = field(default=0.0, init=False)

    def __call__(self, done: int, of: int) -> None:
        """Show that `done` of `of` are done."""
        now = time.monotonic()
        if self._line is None:
            if done >= of:
                return  # nothing had to be waited for
            self._began = now
        took = now - self._began
        if done >= of:
            self._say(f"{self.what}: {of} in {took:.1f} s", "")
            self._line = None
        elif self._line is None or now - self._said >= self.every_s:
            self._said = now
            bar = f'{BAR} max="{of}" value="{done}"></progress> '
            self._say(f"{self.what}: {done} of {of}, {took:.0f} s", bar)

    def _say(self, text: str, bar: str) -> None:
        if not hasattr(shell(), "kernel"):
            return
        from IPython.display import display

        said = {"text/plain": text, "text/html": bar + html.escape(text)}
        if self._line is None:
            self._line = display(said, raw=True, display_id=True)
        else:
            self._line.update(said, raw=True)


def line(text: str) -> None:
    """A line in the notebook that runs; outside a notebook, nothing."""
    if hasattr(shell(), "kernel"):
        from IPython.display import display

        display({"text/plain": text, "text/html": html.escape(text)}, raw=True)


def going_on(outputs: Iterable[Mapping[str, object]]) -> str:
    """What the last long step that goes on says in a cell's outputs; "" where none does."""
    said = [output.get("data", {}) for output in outputs]
    lines = [data["text/plain"] for data in said if str(data.get("text/html", "")).startswith(BAR)]
    return str(lines[-1]) if lines else ""


def shell() -> object | None:
    """The session's IPython, if this runs in one; that of a notebook has a `kernel`."""
    return sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
