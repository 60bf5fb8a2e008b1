"""One notebook executed by papermill, in a kernel of the interpreter that is running.

A kernel specification named `python3` may belong to another environment (papermill issues 638, 761),
so none is looked up: the kernel is started from `sys.executable`.  papermill saves the executed
notebook after every cell, also when one fails.
"""
from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path

START_S = 120  # seconds for a kernel to answer; a loaded machine needs ten
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class KernelError(ValueError):
    """A notebook could not be executed to its end; the message names the cell and its error."""


def check() -> None:
    """Raise `KernelError` where no kernel can be started."""
    missing = [name for name in ("ipykernel", "papermill", "nbclient") if find_spec(name) is None]
    if missing:
        raise KernelError(f"a kernel needs the packages ipykernel, papermill and nbclient; {missing} are missing: run `python3 go.py run`")


def execute(text: str, path: Path, output: Path, *, parameters: Mapping[str, object], environment: Mapping[str, str],
            on_cell: Callable[[int, int], None]) -> None:
    """Execute a notebook, given by its text, in the folder of its path and save it with its results at `output`.

    `environment` is added to the kernel's; `on_cell(number, total)` is called before each cell.

    Raises:
        KernelError: a cell failed, or the kernel did not start or died.
    """
    import nbformat
    from papermill import execute_notebook
    from papermill.engines import papermill_engines
    from papermill.exceptions import PapermillExecutionError
    papermill_engines.register("wb", _engine())
    try:
        execute_notebook(nbformat.reads(text, as_version=4), output, parameters=dict(parameters), cwd=path.parent, engine_name="wb",
                         kernel_name="python3", kernel_manager_class=_manager(environment), start_timeout=START_S,
                         progress_bar=False, on_cell=on_cell, name=path.name)
    except PapermillExecutionError as error:
        raise KernelError(f"{path.stem}, cell {error.cell_index + 1}: {_reason(error)}") from None
    except RuntimeError as error:  # nbclient's for a kernel that does not answer, or died
        raise KernelError(f"{path.stem}: its kernel must start and live to the last cell; {error}") from None


def _reason(error: object) -> str:
    """What went wrong in a cell: a message says all of an error that `wb` defines, others bring their traceback."""
    modules = Path(__file__).parent.glob("*.py")
    ours = error.ename == "ValueError" or any(f"class {error.ename}(" in path.read_text(encoding="utf-8") for path in modules)
    return f"{error.ename}: {error.evalue}" if ours else "\n".join(COLOURS.sub("", line) for line in error.traceback)


def _engine() -> type:
    """papermill's engine, telling the number of each cell before it runs."""
    from papermill.engines import NBClientEngine

    class Told(NBClientEngine):
        """An engine with two more options, `on_cell` and the notebook's `name`."""

        @classmethod
        def execute_managed_notebook(cls, nb_man: object, kernel_name: str, **options: object) -> object:
            """Run the cells, as papermill does."""
            on_cell, start = options.pop("on_cell"), nb_man.cell_start

            def told(cell: object, cell_index: int = 0, **rest: object) -> None:
                on_cell(cell_index + 1, len(nb_man.nb.cells))
                start(cell, cell_index, **rest)

            nb_man.cell_start = told
            nb_man.nb.metadata.papermill["input_path"] = options.pop("name")  # papermill would put the notebook itself
            return super().execute_managed_notebook(nb_man, kernel_name, **options)

    return Told


def _manager(environment: Mapping[str, str]) -> type:
    """A kernel manager for this interpreter, with these variables."""
    from jupyter_client.kernelspec import KernelSpec
    from jupyter_client.manager import AsyncKernelManager
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", "--log-level=CRITICAL"]

    class Here(AsyncKernelManager):
        """Starts this interpreter, whatever kernel specifications are installed."""

        @property
        def kernel_spec(self) -> KernelSpec:
            """The specification of a kernel that is this interpreter."""
            return KernelSpec(argv=command, display_name="this Python", language="python", env=dict(environment),
                              metadata={"supported_encryption": ["curve"]})

    return Here
