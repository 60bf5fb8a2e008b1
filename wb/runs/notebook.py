"""A stage's notebook: read without running it, and executed by papermill.

A notebook is one stage; its name is the stage's.  Exactly one cell is tagged `parameters` and holds
literals only (papermill's convention), and one call `store.open("STAGE", …, reads=(…))` says which
earlier stages it reads.  All of that comes from the text, so that a mistake is found before anything
runs; papermill itself only warns of a parameter that no cell declares.

A kernel specification named `python3` may belong to another environment (papermill issues 638, 761),
so none is looked up: the kernel is started from `sys.executable`.  It is spoken to over sockets in a
folder of its own: a free TCP port may be somebody else's by the time that the kernel takes it.
papermill saves the executed notebook after every cell, also when one fails.
"""

from __future__ import annotations

import ast
import json
import logging
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from wb import paths
from wb.runs import progress

NUMBER = r"-?\d+(?:\.\d+)?"
ANNOTATED = re.compile(rf"(?P<name>\w+)[^#]*#.*?(?P<range>{NUMBER}\.\.(?:{NUMBER})?)(?![.\d])")  # x = 2  # of y, 0..9
SAFE_USES = ("write", "draw", "alike", "finish", "path", "replies", "cache")


class NotebookError(ValueError):
    """A notebook, or a value for its parameters, is not what a run needs; nothing was run."""


@dataclass(frozen=True, slots=True)
class Notebook:
    """What a run must know of a notebook. `defaults` are its parameters and their values, `cells` its
    other code, `reads` the stages it reads, `files` the files it takes from each; None: any of them.
    `ranges` are the first LOW..HIGH, or LOW.., in the comments on its numbers: what these may be.
    `text` is the whole file as it was read: it is what runs, whatever is saved meanwhile."""

    stage: str
    path: Path
    defaults: Mapping[str, object]
    cells: tuple[str, ...]
    reads: tuple[str, ...]
    files: Mapping[str, tuple[str, ...] | None]
    ranges: Mapping[str, str]
    text: str


def find(folder: Path) -> tuple[Notebook, ...]:
    """The notebooks `NN_name.ipynb` of a folder in their order, each checked.

    Raises:
        NotebookError: there is none, one is malformed, or one reads a stage that does not come before it.
    """
    notebooks = tuple(load(path) for path in sorted(folder.glob("[0-9][0-9]_*.ipynb")))
    if not notebooks:
        raise NotebookError(f"notebooks named like 01_name.ipynb were required; got none in {folder}")
    for position, notebook in enumerate(notebooks):
        earlier = [n.stage for n in notebooks[:position]]
        late = [name for name in notebook.reads if name not in earlier]
        if late:
            raise NotebookError(f"{notebook.path.name}: may read only earlier stages {earlier}; it reads {late}")
    return notebooks


def load(path: Path) -> Notebook:
    """One notebook; `NotebookError` says what was required and what was got."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotebookError(f"a notebook was required at {path}; there is none") from None
    return _parsed(path, text)


@lru_cache(maxsize=64)
def _parsed(path: Path, text: str) -> Notebook:
    """The notebook that a text is; the same text is read once in a process."""
    cells = [cell for cell in _cells(text, path) if cell["cell_type"] == "code"]
    tagged = [cell for cell in cells if "parameters" in cell.get("metadata", {}).get("tags", [])]
    if len(tagged) != 1:
        raise NotebookError(f"{path.name}: exactly one code cell tagged 'parameters' was required; got {len(tagged)}")
    code = tuple(source(cell) for cell in cells if cell is not tagged[0])
    opening = _opening(code, path)
    reads = _reads(opening, path)
    defaults, files = literals(source(tagged[0]), path), _files(code, reads)
    return Notebook(path.stem, path, defaults, code, reads, files, _ranges(source(tagged[0]), defaults), text)


def _ranges(parameters: str, defaults: Mapping[str, object]) -> dict[str, str]:
    rows = (row for row in map(ANNOTATED.match, parameters.splitlines()) if row)
    return {row["name"]: row["range"] for row in rows if type(defaults.get(row["name"])) in (int, float)}


def source(cell: Mapping[str, object]) -> str:
    """The text of a cell, which the file keeps as one string or as lines."""
    text = cell.get("source", "")
    return text if isinstance(text, str) else "".join(text)


def trees(cells: Iterable[str]) -> tuple[ast.Module, ...]:
    """The syntax trees of cells, without IPython's magics; a cell that does not parse has none."""
    found = []
    for cell in cells:
        plain = "\n".join("" if line.lstrip().startswith(("%", "!", "?")) else line for line in cell.splitlines())
        try:
            found.append(ast.parse(plain))
        except SyntaxError:
            continue
    return tuple(found)


def declared(names: Iterable[str], known: Iterable[str]) -> None:
    """Raise `NotebookError` for a name that is none of the parameters known."""
    known = sorted({*known})
    for name in names:
        if name not in known:
            raise NotebookError(
                f"a parameter must be one of {known}; no notebook declares {name!r} among those that run"
            )


def typed(notebook: Notebook, name: str, text: str) -> object:
    """The value that a text of the command line stands for, in the type of the parameter's default.

    Raises:
        NotebookError: the text is no value of that type.
    """
    return text if isinstance(notebook.defaults[name], str) else fitting(notebook, name, _value(text), text)


def fitting(notebook: Notebook, name: str, value: object, given: object) -> object:
    """A value in the type of the parameter's default, a whole number as a float where that is one; `given` is what the
    message tells.

    Raises:
        NotebookError: the value is not of that type, or not in the range that the comment on the parameter gives.
    """
    default = notebook.defaults[name]
    if isinstance(default, float) and type(value) is int:
        value = float(value)
    if default is not None and type(value) is not type(default):
        wanted = f"of type {type(default).__name__}, like its default {default!r}"
        raise NotebookError(f"{notebook.path.name}: {name} must be {wanted}; got {given!r}")
    if declared := notebook.ranges.get(name):
        low, high = declared.split("..")
        if not float(low) <= value <= float(high or "inf"):
            wanted = f"in {declared}, as the comment on it says"
            raise NotebookError(f"{notebook.path.name}: {name} must be {wanted}; got {given!r}")
    return value


def filled(notebook: Notebook, values: Mapping[str, object]) -> str:
    """The notebook's text with these values in its parameters cell, whose comments stay."""
    data = json.loads(notebook.text)
    cell = next(one for one in data["cells"] if "parameters" in one.get("metadata", {}).get("tags", ()))
    lines = source(cell).encode("utf-8").split(b"\n")
    for node in reversed(ast.parse(source(cell)).body):
        name, old = (node.target if isinstance(node, ast.AnnAssign) else node.targets[0]).id, node.value
        if name in values:
            new = json.dumps(values[name], ensure_ascii=False) if type(values[name]) is str else repr(values[name])
            start, end = lines[old.lineno - 1][: old.col_offset], lines[old.end_lineno - 1][old.end_col_offset :]
            lines[old.lineno - 1 : old.end_lineno] = [start + new.encode("utf-8") + end]
    cell["source"] = b"\n".join(lines).decode("utf-8").splitlines(keepends=True)
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def _value(text: str) -> object:
    """A Python literal, a bool in any case, or the text itself."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _cells(text: str, path: Path) -> list[dict]:
    try:
        data = json.loads(text)
    except ValueError as error:
        raise NotebookError(f"{path.name}: a notebook in JSON was required; got {error}") from None
    if not isinstance(data, dict) or not isinstance(data.get("cells"), list):
        raise NotebookError(f"{path.name}: a notebook of format 4 with a list 'cells' was required; got none")
    language = data.get("metadata", {}).get("kernelspec", {}).get("language", "python")
    if language != "python":
        raise NotebookError(f"{path.name}: a notebook for a Python kernel was required; got one for {language!r}")
    return data["cells"]


def literals(text: str, path: Path) -> dict[str, object]:
    """The assignments of a parameters cell; `NotebookError` where it does anything else."""
    found: dict[str, object] = {}
    try:
        for node in ast.parse(text).body:
            match node:
                case (
                    ast.Assign(targets=[ast.Name(id=name)], value=value)
                    | ast.AnnAssign(target=ast.Name(id=name), annotation=ast.Name(), value=ast.expr() as value)
                ):
                    found[name] = ast.literal_eval(value)
                case _:
                    got = ast.unparse(node)
                    raise NotebookError(f"{path.name}: the parameters cell may hold only 'name = literal'; got {got!r}")
    except NotebookError:
        raise
    except (SyntaxError, ValueError) as error:
        raise NotebookError(f"{path.name}: every parameter must be a literal; {error}") from None
    return found


def _opening(code: tuple[str, ...], path: Path) -> ast.Call:
    """The one call `store.open(…)`, which must name the notebook's own stage."""
    called = [node for tree in trees(code) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    calls = [call for call in called if ast.unparse(call.func) == "store.open"]
    if len(calls) != 1:
        raise NotebookError(f"{path.name}: one call store.open({path.stem!r}, …) was required; got {len(calls)}")
    name = calls[0].args[0].value if calls[0].args and isinstance(calls[0].args[0], ast.Constant) else None
    if name != path.stem:
        raise NotebookError(f"{path.name}: store.open must be given the stage {path.stem!r}; got {name!r}")
    return calls[0]


def _reads(opening: ast.Call, path: Path) -> tuple[str, ...]:
    for keyword in opening.keywords:
        if keyword.arg == "reads":
            try:
                return tuple(ast.literal_eval(keyword.value))
            except ValueError:
                got = ast.unparse(keyword.value)
                raise NotebookError(f"{path.name}: reads must be a literal tuple of stages; got {got}") from None
    return ()


def _files(code: tuple[str, ...], reads: tuple[str, ...]) -> dict[str, tuple[str, ...] | None]:
    """The files taken from each stage read, where every use of the stage can be followed; else None."""
    nodes = [node for tree in trees(code) for node in ast.walk(tree)]
    given = [node for node in nodes if isinstance(node, ast.Assign)]
    opened = [node for node in given if ast.unparse(node.value).startswith("store.open(")]
    names = {target.id for node in opened for target in node.targets if isinstance(target, ast.Name)}
    uses = [n for n in nodes if isinstance(n, ast.Name) and n.id in names and isinstance(n.ctx, ast.Load)]
    safe = [n for n in nodes if isinstance(n, ast.Attribute) and n.value in uses and n.attr in SAFE_USES]
    pairs = [pair for node in nodes if (pair := _pair(node, names)) and pair[0] in reads]
    known = len(names) == 1 and len(safe) + len(pairs) == len(uses)
    return {name: tuple(sorted({file for stage, file in pairs if stage == name})) if known else None for name in reads}


def _pair(node: ast.AST, names: set[str]) -> tuple[str, str] | None:
    """Stage and file of a call `stage.read("STAGE", "FILE")`, or of `stage.source(…)`."""
    match node:
        case ast.Call(ast.Attribute(ast.Name(of), "read" | "source"), [ast.Constant(stage), ast.Constant(file)], []):
            return (str(stage), str(file)) if of in names else None
    return None


START_S = 120  # seconds for a kernel to answer; a loaded machine needs ten
STARTS = 3  # over TCP: another process may take a port between its choice and its use
SOCKETS = ("kernel.json", "kernel-ipc-5")  # the longer name bounds the folder: a socket's path has about 100 characters
OnCell = Callable[[int, int, str], None]
HEADING = re.compile(r"^#{1,6} +(.*\S)", re.MULTILINE)
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class KernelError(ValueError):
    """A notebook could not be executed to its end; the message names the cell and its error."""


class Awaiting(KernelError):
    """A notebook cannot go on before a person has pasted a reply to a question; nothing failed."""


def check() -> None:
    """Raise `KernelError` where no kernel can be started."""
    missing = [name for name in ("ipykernel", "papermill", "nbclient") if find_spec(name) is None]
    if missing:
        wanted = "a kernel needs the packages ipykernel, papermill and nbclient"
        raise KernelError(f"{wanted}; {missing} are missing: run `python3 go.py run`")


def execute(
    text: str,
    path: Path,
    output: Path,
    *,
    parameters: Mapping[str, object],
    environment: Mapping[str, str],
    on_cell: OnCell,
) -> None:
    """Execute a notebook, given by its text, in the folder of its path and save it with its results at `output`.

    `environment` is added to the kernel's; `on_cell(number, total, what is done)` is called before each cell, and
    whenever a long step in it says how far it is.

    Raises:
        KernelError: a cell failed, or the kernel did not start or died.
        KeyboardInterrupt: Ctrl-C; the kernel was shut down.
    """
    with _sockets() as folder, tempfile.TemporaryFile() as errors:  # a kernel that is ended may well complain of it
        for left in reversed(range(1 if folder else STARTS)):
            busy = _Busy()
            try:
                _executed(text, path, output, parameters, _manager(environment, busy, folder, errors), busy, on_cell)
                return
            except KeyboardInterrupt:
                # The cell's task is left behind and finds its kernel dead; asyncio would tell that with a traceback.
                logging.getLogger("asyncio").setLevel(logging.CRITICAL)
                raise
            except RuntimeError as error:  # nbclient's for a kernel that does not answer, or died
                if busy.stopped:
                    raise KeyboardInterrupt from None
                if busy.began or not left:
                    errors.seek(0)
                    last = errors.read()[-2000:].decode("utf-8", "replace").strip()
                    why = f"{path.stem}: its kernel must start and live to the last cell; {error}"
                    raise KernelError("\n".join(filter(None, (why, last)))) from None


def _executed(
    text: str, path: Path, output: Path, parameters: Mapping[str, object], manager: type, busy: _Busy, on_cell: OnCell
) -> None:
    import nbformat
    from papermill import execute_notebook
    from papermill.engines import papermill_engines
    from papermill.exceptions import PapermillExecutionError

    papermill_engines.register("wb", _engine(busy))
    kernel = {"kernel_name": "python3", "kernel_manager_class": manager, "start_timeout": START_S}
    told = {"engine_name": "wb", "progress_bar": False, "on_cell": on_cell, "name": path.name}
    book, given = nbformat.reads(text, as_version=4), dict(parameters)
    try:
        execute_notebook(book, output, parameters=given, cwd=path.parent, **kernel, **told)
    except PapermillExecutionError as error:
        if busy.stopped:
            raise KeyboardInterrupt from None
        kind = Awaiting if error.ename == "NotPasted" else KernelError
        raise kind(f"{path.stem}, cell {error.cell_index + 1}: {_reason(error)}") from None


@contextmanager
def _sockets() -> Iterator[Path | None]:
    """A new folder for a kernel's sockets, gone at the end; None where they are no files, or their paths too long."""
    import zmq

    room = getattr(zmq, "IPC_PATH_MAX_LEN", 0) if os.name == "posix" and zmq.has("ipc") else 0
    places = (place for place in (tempfile.gettempdir(), "/tmp") if os.access(place, os.W_OK | os.X_OK))
    for place in places:
        if len(os.fsencode(os.path.join(place, "wb-12345678", SOCKETS[1]))) < room:
            with paths.scratch(place) as folder:
                yield folder
            return
    yield None


@dataclass(slots=True)
class _Busy:
    """The last cell that began (`began`: whether one did), whether it is running `now`, whether its kernel was shut
    down meanwhile (`stopped`): nbclient does that on Ctrl-C, and what a long `step` that goes on says."""

    at: int = 0
    began: bool = False
    now: bool = False
    stopped: bool = False
    step: str = ""


def _reason(error: object) -> str:
    """What went wrong in a cell: a message says all of an error that `wb` defines, others bring their traceback."""
    texts = (path.read_text(encoding="utf-8") for path in Path(__file__).parents[1].rglob("*.py"))
    known = error.ename in ("ValueError", "OSError", "PermissionError")
    ours = known or any(f"class {error.ename}(" in text for text in texts)
    return f"{error.ename}: {error.evalue}" if ours else "\n".join(COLOURS.sub("", line) for line in error.traceback)


def _engine(busy: _Busy) -> type:
    """papermill's engine, telling the number of each cell before it runs, and what is done in it."""
    from papermill.engines import NBClientEngine

    class Told(NBClientEngine):
        """An engine with two more options, `on_cell` and the notebook's `name`."""

        @classmethod
        def execute_managed_notebook(cls, nb_man: object, kernel_name: str, **options: object) -> object:
            """Run the cells, as papermill does."""
            on_cell, start, complete = options.pop("on_cell"), nb_man.cell_start, nb_man.cell_complete
            heard, cells = nb_man.autosave_cell, nb_man.nb.cells

            def told(cell: object, cell_index: int = 0, **rest: object) -> None:
                on_cell(cell_index + 1, len(cells), doing(cells, cell_index))
                start(cell, cell_index, **rest)
                busy.at, busy.began, busy.now, busy.step = cell_index, True, True, ""

            def listened() -> None:  # papermill calls it for every message of the kernel
                heard()
                step = progress.going_on(cells[busy.at].get("outputs", ())) if busy.now else ""
                if busy.now and (step or busy.step):  # one that is over is said no longer
                    on_cell(busy.at + 1, len(cells), step or doing(cells, busy.at))
                busy.step = step

            def over(*cell: object, **rest: object) -> None:
                busy.now = False
                complete(*cell, **rest)

            nb_man.cell_start, nb_man.cell_complete, nb_man.autosave_cell = told, over, listened
            nb_man.nb.metadata.papermill["input_path"] = options.pop("name")  # papermill would put the notebook itself
            return super().execute_managed_notebook(nb_man, kernel_name, **options)

    return Told


def doing(cells: Sequence[Mapping[str, object]], index: int) -> str:
    """What a cell is there for: the heading that it stands under, "" where there is none."""
    for cell in reversed(cells[: index + 1]):
        if cell["cell_type"] == "markdown" and (found := HEADING.search(source(cell))):
            return found[1]
    return ""


def _manager(environment: Mapping[str, str], busy: _Busy, sockets: Path | None, errors: IO[bytes]) -> type:
    """A kernel manager for this interpreter, with these variables and its sockets in this folder; None: over TCP.
    What a kernel writes to its standard error goes to `errors`."""
    from jupyter_client.kernelspec import KernelSpec
    from jupyter_client.manager import AsyncKernelManager

    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", "--log-level=CRITICAL"]

    class Here(AsyncKernelManager):
        """Starts this interpreter, whatever kernel specifications are installed."""

        def __init__(self, **options: object) -> None:
            where = {"transport": "ipc", "connection_file": str(sockets / SOCKETS[0])} if sockets else {}
            super().__init__(**where, **options)

        async def start_kernel(self, **named: object) -> None:
            """Start the kernel."""
            await super().start_kernel(**{**named, "stderr": errors})

        async def shutdown_kernel(self, *options: object, **named: object) -> None:
            """Shut the kernel down, and keep in mind whether that was in the middle of a cell."""
            busy.stopped |= busy.now
            await super().shutdown_kernel(*options, **named)

        @property
        def kernel_spec(self) -> KernelSpec:
            """The specification of a kernel that is this interpreter."""
            about = {"display_name": "this Python", "language": "python", "env": dict(environment)}
            return KernelSpec(argv=command, **about, metadata={"supported_encryption": ["curve"]})

    return Here
