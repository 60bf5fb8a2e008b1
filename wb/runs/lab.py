"""Copies of the notebooks for a person to step through: the tracked ones are never edited by use.

    lab.copies(paths.project(), {"policy": "NAME", "max_rounds": "3"}).folder

The copies for a policy lie in `artifacts/lab/<policy>/`, their parameters filled in.  A copy as it was made, whatever
its cells have shown since, is made anew when the notebook or the parameters have changed; the one before goes to
`earlier/`.  A copy whose cells a person changed stays.  What was made stands in `.made.json`: a digest of each copy's
cells.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from wb import paths
from wb.paths import Project
from wb.runs import notebook, pipeline, store
from wb.runs.notebook import Notebook, NotebookError

MADE, EARLIER = ".made.json", "earlier"


class Copies(NamedTuple):
    """The folder of the copies, the policy that they name, and what a person should know of them, a line each."""

    folder: Path
    policy: str
    lines: tuple[str, ...]


def copies(here: Project, values: Mapping[str, str]) -> Copies:
    """Copies of all notebooks with these parameters (texts, as `wb run` takes them), made or brought up to date.

    Raises:
        ValueError: whatever `wb run` refuses of the parameters, before anything is written.
    """
    steps = pipeline.plan(here, values)
    source = next(filter(None, (store.policy_of(here, step.parameters) for step in steps)), None)
    name = source.name if source else "no policy"
    away = f"-{paths.digest(str(source.path))[:6]}" if source and source.path.parent != here.policies.resolve() else ""
    folder = here.artifacts / "lab" / f"{name}{away}"
    folder.mkdir(parents=True, exist_ok=True)
    record = folder / MADE
    made = json.loads(record.read_text("utf-8")) if record.is_file() else {}
    lines = [_copied(folder, step.notebook, notebook.filled(step.notebook, step.given), made) for step in steps]
    paths.write_whole(record, json.dumps(made, indent=1))
    return Copies(folder, name, tuple(filter(None, lines)))


def _copied(folder: Path, book: Notebook, wanted: str, made: dict[str, str]) -> str:
    """Bring one copy up to date, and what there is to say of it; `made` is what the record says, and is kept so."""
    path, new = folder / book.path.name, _cells(wanted)
    before = path.read_text("utf-8") if path.exists() else None
    mine = None if before is None else _cells(before)
    if mine == new:
        made[path.name] = paths.digest(new)
        return ""
    if mine is not None and made.get(path.name) != paths.digest(mine):
        differing = [n for n, (one, other) in enumerate(zip_longest(mine, new), 1) if one != other]
        where = f"in cell {', '.join(map(str, differing))} it is not {book.path} with these parameters"
        return f"{path}: kept as you changed it: {where}; rename it to get the new one"
    if before is not None:
        old = folder / EARLIER / f"{path.stem}-{paths.digest(before)[:8]}.ipynb"
        old.parent.mkdir(exist_ok=True)
        os.replace(path, old)
    paths.write_whole(path, wanted)
    made[path.name] = paths.digest(new)
    return f"{path}: made anew, {book.path.name} or its parameters changed; the one before: {old}" if before else ""


def _cells(text: str) -> list[list[object]]:
    """What a person may change of a notebook, kind and text of each cell; [] where it is none, so that it is kept."""
    try:
        return [[cell["cell_type"], notebook.source(cell).rstrip()] for cell in json.loads(text)["cells"]]
    except (ValueError, KeyError, TypeError, AttributeError):
        return []


def command(here: Project, folder: Path, options: Sequence[str]) -> list[str]:
    """The arguments of JupyterLab for a folder of copies, in a workspace of its own, with further options of it.

    Raises:
        NotebookError: an option that JupyterLab does not have.
    """
    from jupyterlab.labapp import LabApp

    known = {name for names in (*LabApp.aliases, *LabApp.flags) for name in ([names] if type(names) is str else names)}
    for option in options:
        name = option.lstrip("-").partition("=")[0]
        if option.startswith("-") and "." not in name and name not in {*known, "help", "help-all", "version"}:
            raise NotebookError(
                f"--policy, --model, -p NAME=VALUE or an option of `jupyter lab` was required; got {option!r}"
            )
    root = here.root if folder.is_relative_to(here.root) else here.artifacts
    place = f"/lab/workspaces/{quote(folder.name)}/tree/{quote(folder.relative_to(root).as_posix())}"
    hidden = "--ContentsManager.hide_globs=['notebooks', '__pycache__', '*.pyc', '*~']"  # the tracked ones
    return [f"--ServerApp.root_dir={root}", f"--LabApp.default_url={place}", hidden, *options]
