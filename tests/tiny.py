"""A tiny project of its own for the tests of the store: a copy of `wb`, a policy and notebooks."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from wb.paths import Project
from wb.runs import artifact
from wb.runs.artifact import Version
from wb.runs.key import Inputs

ROOT = Path(__file__).resolve().parents[1]
PARAMETERS = 'policy = "rules"\nmodel = "offline"\n'
COUNT = '''from wb.models import prompt


def words(text):
    """How many words a text has."""
    return len(text.split())


def ask(name):
    return prompt.load(name)


def asked():
    return ask("count")
'''


def notebook(path: Path, *, parameters: str, code: list[str], markdown: str = "# A stage") -> None:
    """Write a notebook with one parameters cell."""

    def cell(kind: str, number: int, text: str, **metadata: object) -> dict:
        extra = {"outputs": [], "execution_count": None} if kind == "code" else {}
        return {"cell_type": kind, "id": f"c{number}", "metadata": metadata, "source": text, **extra}

    cells = [cell("markdown", 0, markdown), cell("code", 1, parameters, tags=["parameters"])]
    cells += [cell("code", number, text) for number, text in enumerate(code, 2)]
    spec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    path.write_text(
        json.dumps({"cells": cells, "metadata": {"kernelspec": spec}, "nbformat": 4, "nbformat_minor": 5}), "utf-8"
    )


def opening(stage: str, names: str, reads: str = "()") -> str:
    """The cell that opens a stage with these parameters."""
    given = ", ".join(f'"{name}": {name}' for name in names.split())
    return f'from wb.runs import store\nstage = store.open("{stage}", parameters={{{given}}}, reads={reads})'


def project(folder: Path) -> Project:
    """Four stages: 01 reads the policy, 02 counts by a module with a prompt, 03 takes 01 only, 04 joins 02 and 03."""
    here = Project(folder, folder / "artifacts")
    for part in (here.notebooks, here.prompts, here.policies / "rules", here.artifacts):
        part.mkdir(parents=True)
    shutil.copytree(ROOT / "wb", here.package, ignore=shutil.ignore_patterns("__pycache__"))
    (here.package / "count.py").write_text(COUNT, "utf-8")
    (here.prompts / "count.md").write_text("Count.", "utf-8")
    (here.prompts / "other.md").write_text("Other.", "utf-8")
    (here.policies / "rules" / "policy.md").write_text("You must not run.\n", "utf-8")
    notebook(
        here.notebooks / "01_read.ipynb",
        parameters=PARAMETERS,
        code=[
            opening("01_read", "policy model"),
            'from pathlib import Path\nfolder = Path("../policies") / policy\n'
            'text = (folder if folder.exists() else Path(policy)).joinpath("policy.md").read_text()',
            'stage.write("text.json", text)\nstage.write("length.json", len(text.split()))\n'
            'stage.finish({"characters": len(text)})',
        ],
    )
    notebook(
        here.notebooks / "02_count.ipynb",
        parameters=PARAMETERS + "factor = 2  # 1..9\n",
        code=[
            opening("02_count", "policy model factor", '("01_read",)') + "\nfrom wb import count",
            'n = count.words(stage.read("01_read", "text.json")) * factor\nstage.write("count.json", n)\n'
            'stage.finish({"count": n})',
        ],
    )
    notebook(
        here.notebooks / "03_long.ipynb",
        parameters=PARAMETERS + "share = 0.5\nstrict = False\n",
        code=[
            opening("03_long", "policy model share strict", '("01_read",)'),
            'stage.write("long.json", stage.read("01_read", "length.json") * share)\nstage.finish()',
        ],
    )
    notebook(
        here.notebooks / "04_join.ipynb",
        parameters=PARAMETERS,
        code=[
            opening("04_join", "policy model", '("02_count", "03_long")'),
            'both = [stage.read("02_count", "count.json"), stage.read("03_long", "long.json")]\n'
            'stage.write("results.json", {"both": both})\nstage.finish()',
        ],
    )
    return here


def wb(here: Project, *arguments: str, **options: object) -> subprocess.CompletedProcess:
    """Run the command `wb` of that project in a process of its own."""
    return subprocess.run(
        command(*arguments),
        env=environment(here),
        capture_output=True,
        text=True,
        timeout=120,
        **{"cwd": here.root, **options},
    )


def command(*arguments: str) -> list[str]:
    """The command line of `wb`."""
    return [sys.executable, "-m", "wb.cli", *arguments]


def environment(here: Project) -> dict[str, str]:
    """The variables under which that project's own `wb` is imported, and no other."""
    return {**os.environ, "PYTHONPATH": str(here.root), "WB_ARTIFACTS": str(here.artifacts)}


def version(
    here: Project,
    inputs: Inputs,
    files: dict[str, str],
    *,
    upstream: dict[str, str] | None = None,
    policy: str = "rules",
    **recorded: object,
) -> Version:
    """A finished version with these files, made without a kernel."""
    done = {
        "summary": {"n": 1},
        "recorded": {
            "finished": "2026-01-01T00:00:00+00:00",
            "seconds": 1.0,
            "packages": {},
            "python": "3.12",
            **recorded,
        },
    }
    place = artifact.workplace(here, inputs.stage)
    for name, text in files.items():
        path = place.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
    try:
        return artifact.seal(
            here,
            place.folder,
            inputs,
            policy={"name": policy, "digest": inputs.policy},
            upstream=upstream or {},
            done=done,
        )
    finally:
        place.lock.release()
