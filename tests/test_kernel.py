"""A kernel is the interpreter that runs, or a clear error."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import tiny

from wb.runs import notebook
from wb.runs.notebook import KernelError


def test_without_the_packages_of_a_kernel_the_error_says_what_to_do():
    script = f"import sys; sys.path.insert(0, {str(tiny.ROOT)!r})\nfrom wb.runs import notebook\nnotebook.check()"
    done = subprocess.run([sys.executable, "-S", "-c", script], capture_output=True, text=True)
    assert "['ipykernel', 'papermill', 'nbclient'] are missing: run `python3 go.py run`" in done.stderr
    notebook.check()


def text(folder):
    return (folder / "01_a.ipynb").read_text("utf-8")


def test_a_cell_runs_in_this_interpreter_with_the_variables_given(tmp_path):
    code = ["import os, sys\nprint(sys.executable, os.environ['GIVEN'], k)"]
    tiny.notebook(tmp_path / "01_a.ipynb", parameters="k = 1", code=code)
    seen = []
    notebook.execute(
        text(tmp_path),
        tmp_path / "01_a.ipynb",
        tmp_path / "out.ipynb",
        parameters={"k": 2},
        environment={"GIVEN": "x"},
        on_cell=lambda *cell: seen.append(cell),
    )
    assert f"{sys.executable} x 2" in (tmp_path / "out.ipynb").read_text("utf-8")
    assert (
        json.loads((tmp_path / "out.ipynb").read_text("utf-8"))["metadata"]["papermill"]["input_path"] == "01_a.ipynb"
    )
    assert seen == [(number, 4) for number in (1, 2, 3, 4)]


def test_a_failing_cell_leaves_the_cells_before_it(tmp_path):
    tiny.notebook(
        tmp_path / "01_a.ipynb",
        parameters="k = 1",
        code=["print('be' + 'fore')", "raise KeyError('x')", "print('after')"],
    )
    with pytest.raises(KernelError, match="(?s)01_a, cell 4: .*KeyError"):
        notebook.execute(
            text(tmp_path),
            tmp_path / "01_a.ipynb",
            tmp_path / "out.ipynb",
            parameters={},
            environment={},
            on_cell=lambda *cell: None,
        )
    assert '"before\\n"' in (tmp_path / "out.ipynb").read_text("utf-8")
