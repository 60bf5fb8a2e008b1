"""The command line: quick, quiet where nobody watches, one message for a mistake."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import tiny
import typer
from conftest import ROOT

from wb import cli
from wb.runs import artifact, pipeline
from wb.runs.key import Inputs

INPUTS = Inputs("02_count", "batch", {"policy": "rules", "model": "offline", "factor": 2}, "p", ("c",), {}, {})
METHODS = [
    {
        "method": "veriguard",
        "split": "all",
        "n": 200,
        "accuracy": 0.96,
        "precision": 0.97,
        "recall": 0.95,
        "fpr": 0.02,
        "undecided": 3,
        "queries": 0,
        "seconds": 1.25,
        "published": False,
        "intervals": {"accuracy": [0.92, 0.98]},
    },
    {"method": "direct", "split": "all", "n": 0, "accuracy": None, "reason": "it needs a model", "published": False},
]


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A tiny project with two versions of 02, and with 04 finished like an evaluation; nothing was executed."""
    here = tiny.project(tmp_path_factory.mktemp("cli") / "p")
    tiny.version(here, INPUTS, {"count.json": "8"})
    tiny.version(here, replace(INPUTS, parameters={**INPUTS.parameters, "factor": 3}), {"count.json": "12"})
    tiny.version(here, replace(INPUTS, stage="04_join"), {"results.json": json.dumps({"methods": METHODS})})
    return here


def test_help_is_there_before_half_a_second():
    def once():
        run = subprocess.Popen([sys.executable, "-m", "wb.cli", "--help"], stdout=subprocess.DEVNULL, cwd=tiny.ROOT)
        _, status, used = os.wait4(run.pid, 0)
        assert status == 0
        return used.ru_utime + used.ru_stime  # one process that waits for nothing: on an idle machine, the elapsed time

    assert min(once() for _ in range(3)) < 0.5


def test_help_imports_nothing_heavy():
    script = (
        "import sys, wb.cli\nprint([n for n in ('papermill', 'plotly', 'torch', 'numpy', 'rich', 'yaml', "
        "'wb.pipeline') if n in sys.modules])"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tiny.ROOT
        ).stdout.strip()
        == "[]"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["run", "-p", "factr=3"],
            "wb: a parameter must be one of ['factor', 'model', 'policy', 'share', 'strict']; no notebook declares "
            "'factr'",
        ),
        (["run", "-p", "factor=x"], "wb: 02_count.ipynb: factor must be of type int, like its default 2; got 'x'"),
        (
            ["run", "--policy", "absent"],
            "['rules'], a folder or a document; got 'absent', and nothing is there",
        ),
        (
            ["show", "9"],
            "wb: a stage must be one of ['01_read', '02_count', '03_long', '04_join'], or its number; got '9'",
        ),
        (
            ["show", "01_read", "--json"],
            "wb: a finished 01_read was required; there is none: run its notebook, or `wb run --to 01_read`, first",
        ),
        (["report", "zz"], "got 'zz', which fits 0"),
    ],
)
def test_a_mistake_ends_in_one_message_and_code_two(here, arguments, message):
    done = tiny.wb(here, *arguments)
    assert (
        done.returncode == 2
        and message in done.stderr
        and "Traceback" not in done.stderr
        and done.stderr.count("\n") == 1
        and not done.stdout
    )


@pytest.mark.parametrize(
    ("pairs", "message"),
    [(["k"], "takes NAME=VALUE; got 'k'"), (["1=2"], "takes NAME=VALUE"), (["k=1", "k=2"], "'k' came twice")],
)
def test_a_parameter_is_a_name_and_a_value_given_once(pairs, message):
    with pytest.raises(ValueError, match=message):
        cli._values(pairs)


def test_a_value_may_hold_an_equals_sign():
    assert cli._values(["k=a=b"], policy="p", model=None) == {"k": "a=b", "policy": "p"}


def test_a_notebook_without_its_parameters_cell_stops_the_run(here, tmp_path):
    other = tiny.project(tmp_path / "p")
    path = other.notebooks / "03_long.ipynb"
    path.write_text(path.read_text("utf-8").replace('"tags": ["parameters"]', '"tags": []'), "utf-8")
    done = tiny.wb(other, "run")
    assert (
        done.returncode == 2
        and done.stderr == "wb: 03_long.ipynb: exactly one code cell tagged 'parameters' was required; got 0\n"
    )
    assert not list(other.artifacts.glob("*/*"))


def test_show_lists_versions_and_what_changed(here):
    done = tiny.wb(here, "show", "2")
    assert done.returncode == 0 and "02_count: 2 versions" in done.stdout and "parameter factor: 2 -> 3" in done.stdout
    keys = [line.split()[0] for line in done.stdout.splitlines()[2:4]]
    assert "parameter factor: 3 -> 2" in tiny.wb(here, "show", "2", *keys).stdout
    assert "01_read: 0 versions" in tiny.wb(here, "show").stdout


def test_show_compares_versions_of_one_policy_and_names_that_of_the_others(tmp_path):
    here = tiny.project(tmp_path / "p")

    def made(policy, factor):
        inputs = replace(INPUTS, policy=policy, parameters={**INPUTS.parameters, "factor": factor})
        return tiny.version(here, inputs, {"count.json": f"{factor}"}, policy=policy).key

    first, other = made("bank", 2), made("office", 5)
    alone = tiny.wb(here, "show", "2").stdout
    assert "the newest is the only one of its policy, office" in alone and "parameter" not in alone
    second = made("bank", 3)
    shown = tiny.wb(here, "show", "2").stdout
    assert f"from {first} to {second} (bank):" in shown and "parameter factor: 2 -> 3" in shown
    assert [line.split()[:2] for line in shown.splitlines()[2:5]] == [
        [second, "bank"],
        [other, "office"],
        [first, "bank"],
    ]
    named = tiny.wb(here, "show", "2", other, second).stdout
    assert f"from {other} to {second} (office, bank):" in named and "policy name: office -> bank" in named


def test_show_json_is_the_newest_manifest_with_methods_at_the_top(here):
    told = json.loads(tiny.wb(here, "show", "04_join", "--json").stdout)
    assert (
        told["methods"] == METHODS and told["manifest"]["stage"] == "04_join" and told["results"]["methods"] == METHODS
    )
    assert json.loads(tiny.wb(here, "show", "2", "--json").stdout)["manifest"]["parameters"]["factor"] == 3


def test_a_report_lands_where_it_is_wanted(here, tmp_path):
    done = tiny.wb(here, "report", "--out", str(tmp_path / "deep" / "r.html"))
    assert done.returncode == 0 and done.stdout.strip() == str(tmp_path / "deep" / "r.html")
    assert "<!doctype html>" in (tmp_path / "deep" / "r.html").read_text("utf-8")


def test_figures_of_runs_land_where_they_are_wanted_or_among_the_exports(here, tmp_path):
    one, other = (version.key for version in artifact.versions(here, "02_count"))
    done = tiny.wb(here, "export", one, other, "--out", str(tmp_path / "deep" / "f"))
    assert done.returncode == 0 and done.stdout.strip() == str(tmp_path / "deep" / "f" / "index.html"), done.stderr
    index = (tmp_path / "deep" / "f" / "index.html").read_text("utf-8")
    assert all(text in index for text in (one, other, "factor = 2", "factor = 3"))
    assert tiny.wb(here, "export", one).stdout.startswith(str(here.artifacts / "exports"))
    wrong = tiny.wb(here, "export", "zz")
    assert wrong.returncode == 2 and "got 'zz', which fits 0" in wrong.stderr


def test_a_run_ends_with_the_table_and_the_report(here, tmp_path, capsys):

    cli._conclude(here, {"04_join": artifact.newest(here, "04_join")})
    told = capsys.readouterr().out
    assert "veriguard" in told and "96.0 [92, 98]" in told and "not run          direct: it needs a model" in told
    path = told.split("report  ")[-1].strip()
    assert path.startswith(str(here.artifacts / "reports")) and path.endswith(".html")
    page = Path(path)
    whole = page.read_bytes()
    again = partial(cli._report, here, [artifact.newest(here, "04_join")], None)
    written = page.stat().st_mtime_ns
    assert again() == page and page.stat().st_mtime_ns == written, "a whole report is kept"
    for damaged in (whole[:1000], whole.replace(b"96.0", b"99.0"), whole + b" ", b"", whole[:-2], b"\xff" + whole):
        page.write_bytes(damaged)
        assert again() == page and page.read_bytes() == whole
    template = here.package / "runs" / "report.html"
    template.write_text(template.read_text("utf-8") + "{# another look #}", "utf-8")
    assert again() != page, "another template makes another page"


def test_an_unexpected_error_keeps_its_traceback(here, tmp_path):
    other = tiny.project(tmp_path / "p")
    (other.package / "runs" / "artifact.py").write_text("1 / 0\n", "utf-8")
    done = tiny.wb(other, "show")
    assert done.returncode == 1 and "Traceback" in done.stderr and "ZeroDivisionError" in done.stderr


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path):
    """No traceback: where it is, what was required, what was got, what to do."""
    (tmp_path / "file").write_text("", "utf-8")
    environment = {**os.environ, "WB_ARTIFACTS": str(tmp_path / "file"), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "wb.cli", "run"], cwd=tmp_path, capture_output=True, text=True, env=environment
    )
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "a place that can be read and written was required" in done.stderr and "WB_ARTIFACTS" in done.stderr


def test_the_package_is_the_command():
    """Where the environment's folder of commands is not at hand."""
    done = subprocess.run([sys.executable, "-m", "wb", "--help"], capture_output=True, text=True)
    assert done.returncode == 0 and "Usage" in done.stdout


def test_ctrl_c_after_the_last_stage_says_that_the_run_is_finished(here, monkeypatch, capsys):
    """While the tables and the report are made: nothing is lost, and no traceback is shown."""

    def interrupted(here: object, done: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli.paths, "project", lambda: here)
    monkeypatch.setattr(pipeline, "run", lambda here, steps, tell: {})
    monkeypatch.setattr(cli, "_conclude", interrupted)
    with pytest.raises(typer.Exit) as ended:
        cli.run()
    assert ended.value.exit_code == cli.STOPPED
    said = capsys.readouterr().err
    assert said.startswith("policy rules, model offline\n")
    assert said.endswith("wb: stopped after the run was finished; `wb report` writes its report\n")
