"""How far a long step is, as one line in the notebook that runs it."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

BAR = "<progress"  # the first of a line while its step goes on, and not when it is over


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
        if _shell() is None:
            return
        from IPython.display import display

        said = {"text/plain": text, "text/html": bar + html.escape(text)}
        if self._line is None:
            self._line = display(said, raw=True, display_id=True)
        else:
            self._line.update(said, raw=True)


def going_on(outputs: Iterable[Mapping[str, object]]) -> str:
    """What the last long step that goes on says in a cell's outputs; "" where none does."""
    said = [output.get("data", {}) for output in outputs]
    lines = [data["text/plain"] for data in said if str(data.get("text/html", "")).startswith(BAR)]
    return str(lines[-1]) if lines else ""


def _shell() -> object | None:
    """The notebook's shell, if this runs in one."""
    if "IPython" not in sys.modules:
        return None
    from IPython import get_ipython

    shell = get_ipython()
    return shell if shell is not None and hasattr(shell, "kernel") else None
