"""A full disk, a place that cannot be written, an end by signal: one sentence, nothing lost, nothing left behind."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from functools import partial
from pathlib import Path

import pytest
import tiny

from wb import paths
from wb.paths import Project
from wb.runs import artifact

STAGES = 4
# Root reads and writes whatever the modes say: without its capabilities it is a user as any other.
PLAIN = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []


def run(here: Project, *words: str, largest: int | None = None, **variables: str) -> subprocess.CompletedProcess:
    """A `wb` command of that project; no file may grow beyond `largest` bytes."""

    def limited() -> None:
        if largest is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))

    return subprocess.run(
        [*PLAIN, *tiny.command(*(words or ("run",)))],
        env={**tiny.environment(here), **variables},
        cwd=here.root,
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=limited,
    )


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Project:
    here = tiny.project(tmp_path_factory.mktemp("faults") / "p")
    assert run(here).returncode == 0
    return here


@pytest.fixture
def here(finished: Project, tmp_path: Path) -> Project:
    root = shutil.copytree(finished.root, tmp_path / "p", symlinks=True)
    yield Project(root, root / "artifacts")
    for path in (root, *root.rglob("*")):  # so that it can be removed
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)


def empty(here: Project) -> None:
    shutil.rmtree(here.artifacts)
    here.artifacts.mkdir()


def of(here: Project, stage: str, name: str = "manifest.json") -> Path:
    return artifact.newest(here, stage).folder / name


def replaced_by_a_file(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)
    path.write_text("x")


def replaced_by_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def told(done: subprocess.CompletedProcess) -> str:
    """The one sentence that a command ended with."""
    assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
    return [line for line in done.stderr.splitlines() if line.startswith("wb: ")][-1]


# ---- places -----------------------------------------------------------------------------------------

PLACES = {
    "artifacts is a file": (lambda here: replaced_by_a_file(here.artifacts), "Not a directory"),
    "a stage is a file": (lambda here: replaced_by_a_file(here.artifacts / "02_count"), "File exists"),
    "nothing may be written": (lambda here: (empty(here), here.artifacts.chmod(0o555)), "Permission denied"),
    "artifacts may not be entered": (lambda here: here.artifacts.chmod(0), "Permission denied"),
    "a stage may not be entered": (lambda here: (here.artifacts / "02_count").chmod(0), "Permission denied"),
    "a manifest may not be read": (lambda here: of(here, "02_count").chmod(0), "Permission denied"),
    "a file may not be read": (lambda here: of(here, "02_count", "count.json").chmod(0), "Permission denied"),
    "the reports are a file": (lambda here: replaced_by_a_file(here.artifacts / "reports"), "File exists"),
    "a notebook may not be read": (lambda here: (here.notebooks / "02_count.ipynb").chmod(0), "Permission denied"),
    "the policy may not be read": (lambda here: (here.policies / "rules" / "policy.md").chmod(0), "Permission denied"),
}


@pytest.mark.parametrize(("fault", "why"), PLACES.values(), ids=PLACES.keys())
def test_a_place_that_cannot_be_used_is_named_in_one_sentence(here: Project, fault, why: str) -> None:
    fault(here)
    said = told(run(here))
    assert why in said and str(here.root) in said


def test_a_folder_in_the_place_of_a_manifest_is_set_aside_and_its_version_made_again(here: Project) -> None:
    made = of(here, "02_count").parent
    replaced_by_a_folder(made / "manifest.json")
    done = run(here)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    assert of(here, "02_count").parent == made and len(list(made.parent.glob(".damaged-*"))) == 1


def test_a_finished_run_may_lie_where_nothing_may_be_written(here: Project) -> None:
    subprocess.run(["chmod", "-R", "a-w", str(here.artifacts)], check=True)
    for words in (("run",), ("show",), ("report",)):
        done = run(here, *words)
        assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr


def test_a_key_that_cannot_be_made_is_told_before_anything_runs(here: Project) -> None:
    empty(here)
    assert "WB_KEY names another one" in told(run(here, WB_KEY="/proc/none/seal.key"))


@pytest.mark.parametrize("largest", [0, 3_000])
def test_a_full_disk_ends_in_one_sentence_and_the_next_run_is_right(here: Project, largest: int) -> None:
    """A limit on the size of files stands for the disk: which file is the first too large is another each time."""
    empty(here)
    assert "too large" in told(run(here, largest=largest)), "what could not be written is told"
    assert not list(here.artifacts.rglob(".making-*")) and not list(here.artifacts.rglob(".writing-*"))
    assert right(here)


def right(here: Project) -> bool:
    """Whether a run ends well, with the result of an undisturbed one and nothing half made."""
    done = run(here)
    assert done.returncode == 0, done.stderr
    whole = [v for stage in here.notebooks.glob("*.ipynb") for v in artifact.versions(here, stage.stem)]
    assert all(not v.damaged() and v.ours for v in whole) and len({v.stage for v in whole}) == STAGES
    return artifact.newest(here, "04_join").read("results.json") == {"both": [8, 2.0]}


# ---- dates ------------------------------------------------------------------------------------------


def test_a_date_in_the_future_makes_nothing_the_newest_or_everlasting(here: Project) -> None:
    old = artifact.newest(here, "02_count")
    run(here, "run", "-p", "factor=3", "--to", "2")
    assert artifact.newest(here, "02_count") != old
    later = time.time() + 10**7
    os.utime(old.folder / "manifest.json", (later, later))
    assert artifact.newest(here, "02_count") != old
    left = artifact.workplace(here, "02_count")
    left.lock.release()
    os.utime(left.folder, (later, later))
    assert artifact.sweep(here, "02_count") == 1 and not left.folder.exists()


# ---- signals ----------------------------------------------------------------------------------------


def listed(field: str) -> list[tuple[int, str]]:
    """Each process and one of its fields."""
    told = subprocess.run(["ps", "-eo", f"pid=,{field}="], stdout=subprocess.PIPE, text=True).stdout
    return [(int(line.split()[0]), line.split()[1]) for line in told.splitlines()]


def descendants(pid: int) -> set[int]:
    """The processes that a process started, and those that these started."""
    rows = [(child, int(parent)) for child, parent in listed("ppid")]
    found, new = set(), {pid}
    while new:
        new = {child for child, parent in rows if parent in new} - found
        found |= new
    return found


def alive(pids: set[int]) -> set[int]:
    return {pid for pid, state in listed("stat") if pid in pids and not state.startswith("Z")}


@pytest.mark.parametrize(("sign", "moment"), [(signal.SIGTERM, 3.0), (signal.SIGINT, 1.5), (signal.SIGKILL, 4.5)])
def test_nothing_outlives_a_run_that_was_ended_and_the_next_is_right(here: Project, sign: int, moment: float) -> None:
    empty(here)
    began = subprocess.Popen(
        tiny.command("run"),
        cwd=here.root,
        env=tiny.environment(here),
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    time.sleep(moment)
    started = descendants(began.pid)
    began.send_signal(sign)
    told = began.communicate(timeout=30)[1]
    assert "Traceback" not in told
    if sign != signal.SIGKILL and began.returncode != 0:
        assert began.returncode in (130, -sign) and not list(here.artifacts.rglob(".making-*"))
    deadline = time.monotonic() + 3
    while alive(started) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not alive(started)
    assert right(here)


def test_what_a_killed_process_left_in_the_temporary_folder_goes_at_the_next_use(tmp_path: Path) -> None:
    code = "import os, sys; from wb import paths; s = paths.scratch(sys.argv[1]); print(s.__enter__()); os._exit(9)"
    environment = {**os.environ, "PYTHONPATH": str(paths.ROOT)}
    line = [tiny.sys.executable, "-c", code, str(tmp_path)]
    left = Path(subprocess.run(line, env=environment, capture_output=True, text=True).stdout.strip())
    assert left.is_dir() and left.parent == tmp_path
    with paths.scratch(str(tmp_path)) as mine:
        assert not left.exists() and mine.is_dir()
        with paths.scratch(str(tmp_path)) as other:
            assert mine.is_dir() and other != mine, "the folder of a process that lives stays"
    assert not list(tmp_path.iterdir()) and tempfile.gettempdir()


def test_a_prover_ends_with_the_process_that_started_it_and_takes_its_folder_along(tmp_path: Path) -> None:
    code = (
        "import os, sys, time; from wb.guards import nagini; w = nagini._Worker(); "
        "print(w.process.pid, w.process.args and os.readlink(f'/proc/{w.process.pid}/cwd'), flush=True); time.sleep(60)"
    )
    environment = {**os.environ, "PYTHONPATH": str(paths.ROOT), "TMPDIR": str(tmp_path)}
    began = subprocess.Popen([tiny.sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True)
    pid, folder = began.stdout.readline().split(maxsplit=1)
    assert Path(folder.strip()).is_dir() and json.loads(pid) in alive({int(pid)})
    began.kill()
    began.wait()
    deadline = time.monotonic() + 3
    while alive({int(pid)}) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not alive({int(pid)}) and not Path(folder.strip()).exists()
