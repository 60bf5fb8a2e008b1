"""A kernel is the interpreter that runs, or a clear error."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import tiny
from jupyter_client.provisioning.local_provisioner import LocalPortCache

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
    assert seen == [(number, 4, "A stage") for number in (1, 2, 3, 4)]


def test_a_long_step_is_said_while_it_goes_on_and_no_longer(tmp_path):
    step = "from wb.runs.progress import Progress\nstep = Progress('proofs', every_s=0)\nstep(0, 2)\nstep(1, 2)\n"
    tiny.notebook(tmp_path / "01_a.ipynb", parameters="k = 1", code=[f"{step}step(2, 2)\nprint('more')", "k"])
    seen = seen_in(tmp_path, {"PYTHONPATH": str(tiny.ROOT)})
    notes = [note for cell, _, note in seen if cell == 3]
    assert notes[0] == notes[-1] == "A stage" and "proofs: 1 of 2, 0 s" in notes[1:-1], notes
    assert [note for cell, _, note in seen if cell > 3] == ["A stage"]


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


def test_a_cell_is_told_with_its_heading_and_with_how_far_a_long_step_is(tmp_path):
    code = [
        "1 + 1",
        "from wb.runs import progress\nsaid = progress.Progress('proofs', every_s=0)\nsaid(3, 40)",
        "said(40, 40)",
    ]
    tiny.notebook(
        tmp_path / "01_a.ipynb", parameters="k = 1", code=code, markdown="# A stage\n\n## All guards in one go"
    )
    assert seen_in(tmp_path, {"PYTHONPATH": str(tiny.ROOT)}) == [
        (1, 5, "A stage"),
        (2, 5, "A stage"),
        (3, 5, "A stage"),
        (4, 5, "A stage"),
        (4, 5, "proofs: 3 of 40, 0 s"),
        (5, 5, "A stage"),
    ]


def test_a_kernel_takes_no_port_and_leaves_no_socket_behind(tmp_path, monkeypatch):
    taken(monkeypatch, always=True)
    asked = "from ipykernel import get_connection_info as told\nprint('ip=' + told(unpack=True)['ip'])"
    tiny.notebook(tmp_path / "01_a.ipynb", parameters="k = 1", code=[asked])
    seen_in(tmp_path)
    folder = Path(re.search(r"ip=([^\\]+)", (tmp_path / "out.ipynb").read_text("utf-8"))[1]).parent
    assert folder.name.startswith("wb-") and not folder.exists()


def test_sockets_whose_paths_would_be_too_long_are_put_elsewhere(tmp_path, monkeypatch):
    deep = tmp_path / ("long" * 25)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    with notebook._sockets() as folder:
        assert folder.parent == Path("/tmp") and folder.stat().st_mode & 0o77 == 0


def test_over_tcp_a_port_that_is_taken_meanwhile_is_tried_again_and_not_for_ever(tmp_path, monkeypatch):
    tiny.notebook(tmp_path / "01_a.ipynb", parameters="k = 1", code=["print(k)"])
    monkeypatch.setattr(notebook, "_sockets", lambda: contextlib.nullcontext(None))
    taken(monkeypatch, always=False)
    assert len(seen_in(tmp_path)) == 3
    taken(monkeypatch, always=True)
    with pytest.raises(KernelError, match="01_a: its kernel must start and live to the last cell; Kernel died"):
        seen_in(tmp_path)


def seen_in(folder, environment=None):
    """What `on_cell` is told of the notebook of a folder while it runs."""
    seen = []
    path, out = folder / "01_a.ipynb", folder / "out.ipynb"
    told = {"environment": environment or {}, "on_cell": lambda *cell: seen.append(cell)}
    notebook.execute(text(folder), path, out, parameters={}, **told)
    return seen


def taken(monkeypatch, *, always):
    """Another program has the port that is found first (or each that is found) by the time it is to be bound."""
    other = socket.create_server(("127.0.0.1", 0))
    found = LocalPortCache.find_available_port
    ports = iter([other])  # and keeps the other program alive

    def late(self, ip):
        return other.getsockname()[1] if always or next(ports, None) else found(self, ip)

    monkeypatch.setattr(LocalPortCache, "find_available_port", late)
