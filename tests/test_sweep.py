"""A sweep makes what runs one by one make, each shared stage once, and survives what ends a worker or itself."""

from __future__ import annotations

import csv
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from functools import partial

import psutil
import pytest
import tiny
from conftest import ROOT

from wb.paths import Project
from wb.runs import artifact, pipeline, sweep
from wb.runs.key import SourceError
from wb.runs.notebook import NotebookError

POLICIES, FACTORS = ("rules", "more", "less"), ("1", "2", "3", "4")
GRID = {"policy": POLICIES, "factor": FACTORS}
ASKED = [*(word for name in POLICIES for word in ("--policy", name)), "-p", "factor=1,2,3,4", "--to", "2"]


@pytest.fixture
def here(tmp_path):
    """A project of four stages and three policies."""
    made = tiny.project(tmp_path / "p")
    for name, text in (("more", "You must not run or shout in here.\n"), ("less", "Walk.\n")):
        (made.policies / name).mkdir()
        (made.policies / name / "policy.md").write_text(text, "utf-8")
    return made


def edit(here, old, new):
    """Replace a text in 02_count.ipynb."""
    path = here.notebooks / "02_count.ipynb"
    assert old in path.read_text("utf-8")
    path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")


def start(here, *options):
    """A sweep in a process group of its own, as a terminal starts it."""
    return subprocess.Popen(
        tiny.command("sweep", *options),
        cwd=here.root,
        env=tiny.environment(here),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )


def wait_for(condition, seconds=180):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
    return found


def kernels(run):
    """The kernels that the workers of a sweep are at work with, each with its worker."""
    try:
        under = psutil.Process(run.pid).children(recursive=True)
        return [(child, child.parent()) for child in under if "ipykernel_launcher" in child.cmdline()]
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return []


def made(artifacts, *stages):
    """Every version by stage and key: the files' digests and all else of its manifest but the time."""
    found = {}
    for version in (v for stage in stages for v in artifact.versions(Project(artifacts, artifacts), stage)):
        timed = ("recorded", "notebook", "seal", "digest")
        assert version.ours and version.final and not version.damaged()
        found[version.stage, version.key] = {k: v for k, v in version.manifest.items() if k not in timed}
    return found


# ---- the grid -------------------------------------------------------------------------------------------------------


def test_points_that_agree_in_all_that_a_stage_depends_on_share_it(here):
    points = sweep.plan(here, GRID)
    nodes = {node.id: node for point in points for node in point.nodes}
    counts = [sum(node.step.stage.startswith(number) for node in nodes.values()) for number in ("01", "02", "03", "04")]
    assert len(points) == 12 and counts == [3, 12, 3, 12]
    assert len({node.name for node in nodes.values()}) == 30, "nodes are named by what sets them apart"
    assert "03_long more" in {node.name for node in nodes.values()}
    assert "04_join more, factor = 3" in {node.name for node in nodes.values()}


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ({"factr": ("1", "2")}, NotebookError, "no notebook declares 'factr'"),
        ({"factor": ("1", "many")}, NotebookError, "factor must be of type int, like its default 2; got 'many'"),
        ({"factor": ("9", "10")}, NotebookError, "factor must be in 1..9, as the comment on it says; got '10'"),
        ({"share": ("0.5", "1", "1.0")}, NotebookError, "each value may be given once; share = 1.0 is there twice"),
        ({"policy": ("rules", "absent")}, SourceError, "got 'absent'"),
    ],
)
def test_a_value_that_a_run_refuses_is_refused_before_anything_starts(here, values, error, message):
    with pytest.raises(error, match=message):
        sweep.plan(here, values)


def test_mistakes_beside_any_of_the_policies_are_told_before_anything_starts(here):
    (here.policies / "less" / "decisions.yaml").write_text("decisions: 3\n", "utf-8")
    with pytest.raises(ValueError, match="decisions"):
        sweep.plan(here, GRID)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-p", "factor=1,x"), "factor must be of type int, like its default 2; got 'x'"),
        (("-p", "factor=1,,2"), "factor must be of type int, like its default 2; got ''"),
        (("-p", "policy=rules,more"), "a folder or a document; got 'rules,more'"),
        (("--policy", "rules", "-p", "policy=more"), "'policy' came twice"),
        (("--workers", "2", "--scheduler", "tcp://h:1"), "either --workers or --scheduler may be given"),
    ],
)
def test_the_command_refuses_what_it_cannot_carry_out(here, words, message):
    done = tiny.wb(here, "sweep", *words)
    assert done.returncode == 2 and message in done.stderr and not list(here.artifacts.iterdir())


def test_only_one_module_imports_dask():
    pattern = re.compile(r"^\s*(?:import|from) (?:dask|distributed)\b", re.M)
    users = {path.name for path in (ROOT / "wb").rglob("*.py") if pattern.search(path.read_text("utf-8"))}
    assert users == {"sweep.py"}


# ---- carried out ----------------------------------------------------------------------------------------------------


def test_with_a_worker_killed_it_makes_what_runs_one_by_one_make(here, tmp_path):
    for text in POLICIES:
        for factor in FACTORS:
            steps = pipeline.plan(here, {"policy": text, "factor": factor}, last="2")
            pipeline.run(Project(here.root, tmp_path / "single"), steps, lambda notice: None)
    run, lines, times = start(here, *ASKED, "--workers", "2"), [], [time.monotonic()]

    def listen():
        for line in run.stderr:
            lines.append(line)
            times.append(time.monotonic())

    listener = threading.Thread(target=listen)
    listener.start()
    wait_for(lambda: len(artifact.versions(here, "02_count")) >= 2)
    kernel, worker = wait_for(lambda: kernels(run))[0]
    finished = {v.folder: v.folder.stat().st_ino for s in ("01_read", "02_count") for v in artifact.versions(here, s)}
    worker.kill()
    out = run.stdout.read()
    listener.join()
    assert run.wait(60) == 0, "".join(lines)
    both = ("01_read", "02_count")
    assert made(here.artifacts, *both) == made(tmp_path / "single", *both) and len(made(here.artifacts, *both)) == 15
    assert {folder: folder.stat().st_ino for folder in finished} == finished, "what was finished stayed as it was"
    keys = re.findall(r" made +(\w+) in", "".join(lines))
    assert len(keys) == len(set(keys)), "nothing was made twice"
    assert not list(here.artifacts.glob("*/.damaged*"))
    wait_for(lambda: not kernel.is_running() or kernel.status() == psutil.STATUS_ZOMBIE, 20)
    assert max(later - earlier for earlier, later in zip(times[1:], times[2:], strict=False)) < 5
    [path] = here.artifacts.glob("sweeps/*/table.csv")
    rows = list(csv.DictReader(path.read_text("utf-8").splitlines()))
    assert [(row["policy"], row["factor"]) for row in rows] == [(p, f) for p in POLICIES for f in FACTORS]
    assert [int(row["count"]) for row in rows] == [words * factor for words in (4, 8, 1) for factor in (1, 2, 3, 4)]
    assert {row["key"] for row in rows} == {key for stage, key in made(here.artifacts, "02_count")}
    assert str(path) in out and "sweep:" in out and next(here.artifacts.glob("reports/*.html"))


def test_ctrl_c_keeps_what_is_finished_and_the_same_command_goes_on(here):
    edit(here, "n = count", "import time; time.sleep(60 if factor > 1 and not Path('now').exists() else 0)\\nn = count")
    edit(here, "from wb import count", "from wb import count\\nfrom pathlib import Path")
    words = ("-p", "factor=1,2,3", "--to", "2")
    run = start(here, *words)
    try:
        wait_for(lambda: len(artifact.versions(here, "02_count")) == 1 and len(kernels(run)) == 2)
        left = kernels(run)
    finally:
        os.killpg(run.pid, signal.SIGINT)
        _, said = run.communicate(timeout=60)
    assert run.returncode == 130 and "Traceback" not in said, said
    assert "wb: stopped after 2 of 4 stages, which are kept. The same command goes on from there" in said
    wait_for(lambda: not any(kernel.is_running() for kernel, _ in left), 20)
    (here.notebooks / "now").touch()
    again = tiny.wb(here, "sweep", *words)
    assert again.returncode == 0, again.stderr
    assert [again.stderr.count(f" {what} ") for what in ("kept", "made")] == [2, 2], again.stderr
    assert len(artifact.versions(here, "02_count")) == 3


def test_a_point_that_fails_leaves_the_others_alone_and_a_scheduler_may_be_given(here):
    from dask import distributed

    edit(here, "n = count", "assert factor != 2, 'no two'\\nn = count")
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster:
        words = ("-p", "factor=1,2,3", "--to", "2", "--scheduler", cluster.scheduler_address)
        done = tiny.wb(here, "sweep", *words)
    assert done.returncode == 1 and len(artifact.versions(here, "02_count")) == 2, done.stderr
    assert done.stderr.count("AssertionError: no two") >= 1 and "The notebook up to there" in done.stderr
    [path] = here.artifacts.glob("sweeps/*/table.csv")
    rows = list(csv.DictReader(path.read_text("utf-8").splitlines()))
    assert [(row["factor"], row["count"], bool(row["failed"])) for row in rows] == [
        ("1", "4", False),
        ("2", "", True),
        ("3", "12", False),
    ]


def test_a_scheduler_that_is_not_there_is_told(here):
    done = tiny.wb(here, "sweep", "--to", "1", "--scheduler", "tcp://127.0.0.1:9")
    assert done.returncode == 2 and "--scheduler: a running one was required at tcp://127.0.0.1:9" in done.stderr


def test_a_version_that_is_lost_or_that_another_key_sealed_is_no_result(here, tmp_path, monkeypatch):
    [point] = sweep.plan(here, {"policy": ("rules",)}, last="1")
    version = pipeline.run(here, [node.step for node in point.nodes], lambda notice: None)["01_read"]

    class Future:
        """What Dask hands back of a stage that ended well."""

        def exception(self):
            return None

        def result(self):
            return version

    assert sweep._ended([Future()]) is version
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("WB_KEY", str(tmp_path / "other.key"))
        assert "sealed with your key" in sweep._ended([Future()])
    shutil.rmtree(version.folder)
    assert "sealed with your key" in sweep._ended([Future()])
