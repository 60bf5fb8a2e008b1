"""A run makes each stage once, finds mistakes before it starts, and survives being killed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from functools import partial
from pathlib import Path

import pytest
import tiny

from wb.domain import policy
from wb.paths import Project, digest
from wb.runs import artifact, key, pipeline
from wb.runs.artifact import ArtifactError
from wb.runs.key import SourceError
from wb.runs.notebook import KernelError, NotebookError

STAGES = ["01_read", "02_count", "03_long", "04_join"]


def go(here, values=(), **span):
    """Run the project; the versions, and what happened to each stage."""
    events = []
    done = pipeline.run(here, pipeline.plan(here, dict(values), **span), events.append)
    return done, [(e.stage, e.what) for e in events if e.what != "running"]


def kept(*stages):
    return [(stage, "kept") for stage in stages]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A project whose four stages are made; a kernel specification `python3` that cannot start is in the way."""
    folder = tmp_path_factory.mktemp("finished")
    here = tiny.project(folder / "p")
    strange = folder / "jupyter" / "kernels" / "python3"
    strange.mkdir(parents=True)
    (strange / "kernel.json").write_text(
        json.dumps({"argv": ["false"], "display_name": "another's", "language": "python"}), "utf-8"
    )
    before = os.environ.get("JUPYTER_PATH")
    os.environ["JUPYTER_PATH"] = str(folder / "jupyter")
    yield here, go(here)
    os.environ.pop("JUPYTER_PATH") if before is None else os.environ.update(JUPYTER_PATH=before)


@pytest.fixture
def here(finished, tmp_path):
    """A copy of that project, to be changed."""
    root = shutil.copytree(finished[0].root, tmp_path / "p")
    return Project(root, root / "artifacts")


def edit(path, old, new):
    """Replace a text that occurs in a file."""
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def stale(here, **values):
    """The stages that a run would have to make, their inputs being as they are."""
    steps = pipeline.plan(here, values)
    newest = {s.stage: artifact.newest(here, s.stage) for s in steps}
    inputs = [pipeline.inputs_of(here, s, {name: newest[name] for name in s.notebook.reads}) for s in steps]
    return [i.stage for i in inputs if pipeline.lookup(here, i, lambda event: None) is None]


# ---- made once ------------------------------------------------------------------------------------


def test_a_run_makes_every_stage_by_its_own_interpreter(finished):
    done, events = finished[1]
    assert events == [(stage, "made") for stage in STAGES]
    assert done["04_join"].read("results.json") == {"both": [8, 2.0]}


def test_the_executed_notebook_lies_beside_its_artifacts(finished):
    done, _ = finished[1]
    cells = json.loads((done["02_count"].folder / "notebook.ipynb").read_text("utf-8"))["cells"]
    assert [c["execution_count"] for c in cells if c["cell_type"] == "code"] == [1, 2, 3]
    assert not any("p/artifacts" in json.dumps(v.manifest) for v in done.values()), "a manifest names no place"


def test_a_second_run_makes_nothing(finished, here):
    assert go(here)[1] == kept(*STAGES)


def test_a_project_may_move(here, tmp_path):
    root = here.root.rename(tmp_path / "moved")
    assert stale(Project(root, root / "artifacts")) == []


@pytest.mark.parametrize(
    ("file", "old", "new", "stages"),
    [
        ("notebooks/02_count.ipynb", "# A stage", "# Another title", []),
        ("notebooks/02_count.ipynb", '"execution_count": null', '"execution_count": 7', []),
        (
            "notebooks/02_count.ipynb",
            '"outputs": []',
            '"outputs": [{"output_type": "stream", "name": "stdout", "text": "x"}]',
            [],
        ),
        ("notebooks/02_count.ipynb", "# 1..9", "# a comment on a parameter", []),
        ("notebooks/02_count.ipynb", "factor = 2", "factor = 4", ["02_count"]),
        ("notebooks/02_count.ipynb", "n = count", "n  = count", ["02_count"]),
        ("wb/count.py", "split()", "split(None)", ["02_count"]),
        ("wb/models/prompt.py", "One task", "A task", ["02_count"]),
        ("wb/domain/trace.py", "import", "import", []),
        ("wb/domain/tools.py", "one", "a", []),
        ("prompts/count.md", "Count", "Count all", ["02_count"]),
        ("prompts/other.md", "Other", "Another", []),
        ("policies/rules/policy.md", "run", "walk", STAGES),
    ],
)
def test_a_change_re_runs_only_what_depends_on_it(here, file, old, new, stages):
    edit(here.root / file, old, new)
    assert stale(here) == stages


def test_what_is_recomputed_to_the_same_re_runs_nothing_further(here):
    edit(here.package / "count.py", "split()", "split(None)")
    assert go(here)[1] == [*kept("01_read"), ("02_count", "made"), *kept("03_long", "04_join")]


def test_a_parameter_re_runs_its_stage_and_what_follows_and_going_back_nothing(here):
    done, events = go(here, {"factor": "3"})
    assert events == [*kept("01_read"), ("02_count", "made"), *kept("03_long"), ("04_join", "made")]
    assert done["04_join"].read("results.json") == {"both": [12, 2.0]}
    assert go(here)[1] == kept(*STAGES)
    assert artifact.newest(here, "04_join").read("results.json") == {"both": [8, 2.0]}, (
        "what was used last is the newest"
    )


def test_a_policy_elsewhere_is_the_same_policy(here, tmp_path, monkeypatch):
    shutil.copytree(here.policies / "rules", tmp_path / "rules")
    monkeypatch.chdir(tmp_path)
    assert stale(here, policy="./rules") == []
    assert pipeline.plan(here, {"policy": "./rules"})[0].given == {"policy": str(tmp_path / "rules")}


def test_a_policy_of_the_project_may_be_named_by_its_path(here, monkeypatch):
    """The kernel, which works in another folder, is told its name."""
    monkeypatch.chdir(here.policies.parent)
    for path in ("policies/rules", "./policies/rules", str(here.policies / "rules")):
        assert stale(here, policy=path) == []
        assert pipeline.plan(here, {"policy": path})[0].given == {"policy": "rules"}
    assert pipeline.plan(here, {"policy": "policies/rules/policy.md"})[0].given == {
        "policy": str(here.policies / "rules" / "policy.md")
    }


def test_a_damaged_artifact_is_told_and_made_again(here):
    version = artifact.newest(here, "02_count")
    (version.folder / "count.json").write_text("9\n", "utf-8")
    assert go(here)[1] == [*kept("01_read"), ("02_count", "damaged"), ("02_count", "made"), *kept("03_long", "04_join")]
    assert artifact.newest(here, "02_count").read("count.json") == 8


def test_a_damaged_manifest_is_told_and_made_again(here):
    edit(artifact.newest(here, "03_long").folder / "manifest.json", '"strict": false', '"strict": true')
    assert go(here)[1] == [*kept("01_read", "02_count"), ("03_long", "damaged"), ("03_long", "made"), *kept("04_join")]


def test_a_damaged_notebook_is_told_and_made_again(here):
    edit(artifact.newest(here, "02_count").folder / "notebook.ipynb", "A stage", "A page")
    assert go(here)[1] == [*kept("01_read"), ("02_count", "damaged"), ("02_count", "made"), *kept("03_long", "04_join")]


def test_what_another_hand_wrote_with_all_digests_right_is_told_and_made_again(here):
    version = artifact.newest(here, "02_count")
    (version.folder / "count.json").write_text("9\n", "utf-8")
    forge(version, outputs={**version.manifest["outputs"], "count.json": sized(version.folder / "count.json")})
    forged = artifact.newest(here, "02_count")
    assert forged.read("count.json") == 9 and not forged.damaged() and not forged.ours
    assert go(here)[1] == [
        *kept("01_read"),
        ("02_count", "damaged"),
        ("02_count", "made"),
        *kept("03_long", "04_join"),
    ]
    assert artifact.newest(here, "02_count").read("count.json") == 8
    forge(artifact.newest(here, "01_read"), summary={"characters": 1})
    with pytest.raises(ArtifactError, match="--from needs a finished 01_read"):
        go(here, first="02_count")


def forge(version, **changes):
    """Write a manifest anew as somebody would who knows how it is made, but has no key."""
    manifest = {**version.manifest, **changes}
    text = artifact.dumps({**manifest, "digest": digest(manifest)}, "manifest")
    (version.folder / "manifest.json").write_text(text, "utf-8")


def sized(path):
    return {"sha256": key.file_digest(path), "bytes": path.stat().st_size}


def test_a_stage_whose_prover_gave_no_answer_is_tried_again_and_replaced(here):
    book = here.notebooks / "02_count.ipynb"
    finish = 'stage.finish({\\"count\\": n}'
    lost = ", unanswered=int((stage.project.root / 'dead').exists()))"
    edit(book, finish + ")", finish + lost)
    (here.root / "dead").touch()
    again = [*kept("01_read"), ("02_count", "made"), *kept("03_long", "04_join")]
    assert go(here)[1] == again and not artifact.newest(here, "02_count").final
    assert go(here)[1] == again, "a version that is not final is never kept"
    (here.root / "dead").unlink()
    assert go(here)[1] == again and artifact.newest(here, "02_count").final
    assert go(here)[1] == kept(*STAGES)


# ---- mistakes, before anything runs ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "span", "message"),
    [
        (
            {"factr": "3"},
            {},
            r"must be one of \['factor', 'model', 'policy', 'share', 'strict'\]; no notebook declares 'factr'",
        ),
        ({"share": "0.1"}, {"last": "2"}, "no notebook declares 'share'"),
        ({"factor": "many"}, {}, "02_count.ipynb: factor must be of type int, like its default 2; got 'many'"),
        ({"strict": "1"}, {}, "strict must be of type bool"),
        ({}, {"first": "5"}, "a stage must be one of .*, or its number; got '5'"),
        ({}, {"first": "3", "last": "02_count"}, "--from must not come after --to; got 03_long and 02_count"),
    ],
)
def test_a_value_that_fits_no_notebook_is_refused(finished, values, span, message):
    with pytest.raises(NotebookError, match=message):
        pipeline.plan(finished[0], values, **span)


def test_a_policy_that_is_not_there_is_refused(finished):
    with pytest.raises(SourceError, match=r"one of \['rules'\], a folder or a document; got 'absent'"):
        pipeline.plan(finished[0], {"policy": "absent"})


@pytest.mark.parametrize(("text", "message"), [("", "empty"), (b"\xff\xfe\x00You", "UTF-8"), (None, "policy document")])
def test_a_policy_that_cannot_be_read_stops_the_run_before_a_kernel_starts(here, text, message):
    path = here.policies / "rules" / "policy.md"
    path.unlink() if text is None else path.write_bytes(text if isinstance(text, bytes) else text.encode())
    started = time.monotonic()
    with pytest.raises(ValueError, match=message):
        go(here)
    assert time.monotonic() - started < 2


def test_all_mistakes_of_a_persons_decisions_are_told_before_anything_runs(here):
    beside = here.policies / "rules" / "decisions.yaml"
    beside.write_text(
        "decisions:\n  - {text: You must not run., decision: waive}\n  - {text: No., decision: waive, why: x}\n"
    )
    with pytest.raises(ValueError) as caught:
        pipeline.plan(here, {})
    first, second = str(caught.value).splitlines()
    assert "line 2: decisions.0: a reason 'why' was required" in first and "none that says 'No.'" in second
    beside.write_text("decisions:\n  - {text: You must not run., decision: waive, why: the floor is wet}\n")
    assert len(pipeline.plan(here, {})) == 4


def test_decisions_without_effect_are_told(here):
    beside = here.policies / "rules" / "decisions.yaml"
    assert pipeline.stale(here, pipeline.plan(here, {})) == ()
    entry = "  - {id: %s, text: You must not run., decision: waive, why: the floor is wet}\n"
    read = policy.load(here.policies / "rules")
    [name] = [one for one, text in policy.named(read).items() if text == "You must not run."]
    beside.write_text("decisions:\n" + entry % name)
    assert pipeline.stale(here, pipeline.plan(here, {})) == ()
    beside.write_text("decisions:\n" + entry % "0123456789ab")
    [told] = pipeline.stale(here, pipeline.plan(here, {}))
    assert told.startswith(f"{beside}: 0123456789ab has no effect") and told.endswith("“You must not run.”")
    beside.write_text("words: []\n")
    with pytest.raises(ValueError, match="no key 'words' was required"):
        pipeline.plan(here, {})


def test_a_file_that_upstream_does_not_write_is_named(here):
    edit(here.notebooks / "04_join.ipynb", "long.json", "short.json")
    with pytest.raises(
        NotebookError, match=r"04_join.ipynb reads \['short.json'\] of 03_long, which wrote \['long.json'\]"
    ):
        go(here)


# ---- failures -------------------------------------------------------------------------------------


def test_a_failing_cell_is_named_and_everything_finished_is_kept(here):
    edit(here.notebooks / "03_long.ipynb", "stage.finish()", "raise ValueError('share must be in 0..1; got 2')")
    with pytest.raises(
        KernelError,
        match=r"03_long, cell 4: ValueError: share must be in 0..1; got 2\nThe notebook up to there: .*failed",
    ) as error:
        go(here)
    partial = Path(str(error.value).rsplit(": ", 1)[1])
    assert (
        "share must be" in partial.read_text("utf-8") and artifact.versions(here, "03_long")[0].read("long.json") == 2.0
    )
    assert not list((here.artifacts / "03_long").glob(".making-*"))


def test_an_unexpected_error_brings_its_traceback_and_no_finish_is_an_error(here):
    edit(here.notebooks / "03_long.ipynb", "stage.finish()", "1 / 0")
    with pytest.raises(KernelError, match="(?s)03_long, cell 4: .*Traceback.*ZeroDivisionError: division by zero"):
        go(here)
    edit(here.notebooks / "03_long.ipynb", "1 / 0", "pass")
    with pytest.raises(NotebookError, match="03_long.ipynb must call stage.finish"):
        go(here)


def test_a_dead_kernel_is_an_error_and_not_a_hang(here):
    edit(here.notebooks / "03_long.ipynb", "stage.finish()", "import os; os._exit(1)")
    with pytest.raises(KernelError, match="03_long.*[kK]ernel"):
        go(here)


def test_what_changed_while_it_ran_is_made_again_by_the_next_run(here):
    edit(here.notebooks / "02_count.ipynb", "n = count", "open('../wb/count.py', 'a').write('#')\\nn = count")
    assert ("02_count", "changed") in go(here, last="2")[1]
    edit(here.notebooks / "02_count.ipynb", "open('../wb/count.py', 'a').write('#')", "pass")
    assert go(here, last="2")[1] == [*kept("01_read"), ("02_count", "made")]


def test_from_takes_what_is_finished_and_says_if_it_is_old(here):
    edit(here.package / "count.py", "split()", "split(None)")
    assert go(here, first="4")[1] == [("02_count", "taken"), *kept("04_join")]
    with pytest.raises(
        ArtifactError, match="--from needs a finished 02_count with these parameters; there is none: run without --from"
    ):
        go(here, {"factor": "7"}, first="04_join")


# ---- killed, and two at once ----------------------------------------------------------------------


def start(here, *options):
    """A run as from a terminal: the background job of a shell, where these tests may be, is deaf to Ctrl-C."""
    return subprocess.Popen(
        tiny.command("run", *options),
        cwd=here.root,
        env=tiny.environment(here),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )


def wait_for(condition, seconds=180):  # a loaded machine takes a minute to start two kernels
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def test_a_killed_run_loses_no_finished_stage(tmp_path):
    here = tiny.project(tmp_path / "p")
    edit(here.notebooks / "02_count.ipynb", "n = count", "import time; time.sleep(3)\\nn = count")
    run = start(here)
    try:
        wait_for(lambda: list(here.artifacts.glob("02_count/.making-*/notebook.ipynb")))
    finally:
        run.send_signal(signal.SIGKILL)
        run.communicate()
    assert len(artifact.versions(here, "01_read")) == 1 and artifact.versions(here, "02_count") == ()
    edit(here.notebooks / "02_count.ipynb", "import time; time.sleep(3)", "pass")
    assert go(here, last="2")[1] == [*kept("01_read"), ("02_count", "made")]


def test_ctrl_c_says_what_was_kept_and_the_same_command_goes_on(tmp_path):
    here = tiny.project(tmp_path / "p")
    edit(here.notebooks / "02_count.ipynb", "n = count", "import time; time.sleep(60)\\nn = count")
    run = start(here)
    try:
        wait_for(lambda: list(here.artifacts.glob("02_count/.making-*/notebook.ipynb")))
        time.sleep(3)  # into the cell
    finally:
        run.send_signal(signal.SIGINT)
        out, said = run.communicate(timeout=60)
    (kept_one,) = artifact.versions(here, "01_read")
    assert run.returncode == 130 and "Traceback" not in said, said
    assert f"wb: stopped in 02_count; kept: 01_read ({kept_one.key})" in said
    assert "The same command goes on from there" in said
    assert not list((here.artifacts / "02_count").glob(".making-*")), "the workplace is gone, as its kernel is"
    edit(here.notebooks / "02_count.ipynb", "import time; time.sleep(60)", "pass")
    assert go(here, last="2")[1] == [*kept("01_read"), ("02_count", "made")]


def test_a_run_that_nobody_watches_is_never_silent_for_five_seconds(tmp_path):
    here = tiny.project(tmp_path / "p")
    edit(here.notebooks / "02_count.ipynb", "n = count", "import time; time.sleep(6)\\nn = count")
    run = start(here, "--to", "2")
    began, gaps = time.monotonic(), []
    for _ in run.stderr:
        gaps.append(time.monotonic() - began)
        began = time.monotonic()
    assert run.wait(timeout=60) == 0
    assert max(gaps[1:]) < 5, gaps  # what comes before the first line is the interpreter's start


def test_two_runs_at_once_share_the_work(tmp_path):
    here = tiny.project(tmp_path / "p")
    runs = [start(here, "--to", "2"), start(here, "--to", "2")]
    said = [run.communicate(timeout=120)[1] for run in runs]
    assert [run.returncode for run in runs] == [0, 0], said
    assert [len(artifact.versions(here, stage)) for stage in STAGES[:2]] == [1, 1]
    assert sum(text.count(" made ") for text in said) == 2, said
    assert not [p for p in here.artifacts.glob("*/.*") if p.is_dir()]


def test_a_folder_that_is_named_from_here_reaches_the_kernel_by_its_whole_path(here, tmp_path, monkeypatch):
    shutil.copytree(here.policies / "rules", tmp_path / "hire")
    monkeypatch.chdir(tmp_path)
    for named, wanted in (
        ("hire", str(tmp_path / "hire")),
        ("rules", "rules"),
        (str(here.policies / "rules"), "rules"),
    ):
        for step in pipeline.plan(here, {"policy": named}):
            assert step.parameters.get("policy", wanted) == wanted
