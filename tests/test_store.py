"""A stage in its notebook: what it may read and write, under a run and when a person steps through it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest
import tiny

from wb import paths
from wb.runs import artifact, pipeline, store
from wb.runs.artifact import ArtifactError
from wb.runs.figure import Figure, Look, Series


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A project whose artifacts `store.open` uses; outside IPython, so that no cell counts as executed."""
    monkeypatch.setenv("WB_ARTIFACTS", str(tmp_path / "artifacts"))
    return paths.project()


def finished(stage, **parameters):
    """A finished stage with one file."""
    opened = store.open(stage, parameters=parameters)
    opened.write("a.json", parameters)
    return opened.finish({"n": 1})


def test_what_a_stage_writes_the_next_one_reads(here):
    first = store.open("01_a", parameters={"model": "m"})
    first.write("a.json", {"x": [1, None]})
    first.write("b.txt", "text")
    first.write("c.bin", b"\x00")
    first.write("d.json", "a text")
    first.path("deep/e.txt").write_text("elsewhere", "utf-8")
    name = first.finish({"files": 5})
    second = store.open("02_b", parameters={"model": "m"}, reads=("01_a",))
    assert name == f"01_a/{second.upstream['01_a'].key} (`wb run` makes its own: there is no notebook of this name)"
    assert (
        second.read("01_a", "a.json") == {"x": [1, None]}
        and second.read("01_a", "b.txt") == "text"
        and second.read("01_a", "d.json") == "a text"
    )
    assert second.source("01_a", "c.bin").read_bytes() == b"\x00" and second.read("01_a", "deep/e.txt") == "elsewhere"


@pytest.mark.parametrize(
    "name", ["manifest.json", "notebook.ipynb", "../a.json", "/a.json", ".a.json", ".x/a.json", "."]
)
def test_a_stage_writes_only_files_of_its_own(here, name):
    with pytest.raises(ArtifactError, match="inside the stage's folder"):
        store.open("01_a", parameters={}).write(name, 1)


def test_a_stage_reads_only_what_it_named(here):
    finished("01_a")
    stage = store.open("02_b", parameters={})
    with pytest.raises(ArtifactError, match=r"02_b reads \[\], as reads=\(…\) says; '01_a' was asked for"):
        stage.read("01_a", "a.json")


def test_the_newest_version_for_the_same_model_is_read(here):
    finished("01_a", model="m", k=1), finished("01_a", model="m", k=2), finished("01_a", model="other", k=3)
    assert store.open("02_b", parameters={"model": "m"}, reads=("01_a",)).read("01_a", "a.json")["k"] == 2


def test_a_stage_without_its_upstream_says_what_to_run(here):
    finished("01_a", model="other")
    with pytest.raises(
        ArtifactError,
        match="a finished 01_a for model 'm' was required; there is none: run its notebook, or `wb run --to 01_a`",
    ):
        store.open("02_b", parameters={"model": "m"}, reads=("01_a",))


def test_a_stage_may_be_finished_twice_and_nothing_old_is_lost(here):
    stage = store.open("01_a", parameters={})
    stage.write("a.json", 1)
    first = stage.finish()
    stage.write("a.json", 2)
    second = stage.finish()
    assert first != second and {v.read("a.json") for v in artifact.versions(here, "01_a")} == {1, 2}


def test_a_version_records_what_is_not_in_its_key(here):
    finished("01_a", policy="web_tasks")
    manifest = artifact.newest(here, "01_a").manifest
    assert (
        manifest["mode"] == "interactive"
        and manifest["policy"]["name"] == manifest["parameters"]["policy"] == "web_tasks"
    )
    assert {"finished", "seconds", "peak_mib", "python", "packages"} <= manifest["recorded"].keys() and manifest[
        "recorded"
    ]["packages"]["numpy"]


def test_a_ledger_says_which_prompts_and_replies_were_used(here):
    from wb.models.ledger import Ledger, Usage

    ledger = Ledger("01_a")
    ledger.add("absent", Usage(calls=1), reply="d" * 64)
    stage = store.open("01_a", parameters={})
    stage.finish(ledger=ledger)
    version = artifact.newest(here, "01_a")
    assert version.read("ledger.json")["total"]["calls"] == 1 and version.manifest["replies"] == {"d" * 64: ""}


@pytest.mark.parametrize(("stage", "parameters"), [("02_b", {"k": 1}), ("01_a", {"k": 2}), ("01_a", {})])
def test_a_run_hands_over_exactly_the_notebooks_parameters(here, tmp_path, monkeypatch, stage, parameters):
    (tmp_path / store.HANDOVER).write_text(
        json.dumps({"stage": "01_a", "parameters": {"k": 1}, "upstream": {}}), "utf-8"
    )
    monkeypatch.setenv(store.HANDED_OVER, str(tmp_path))
    assert store.open("01_a", parameters={"k": 1}).folder == tmp_path
    with pytest.raises(
        ArtifactError, match="must be given the stage and all parameters of its notebook, '01_a' and {'k': 1}"
    ):
        store.open(stage, parameters=parameters)


# ---- stepped through, in a kernel ------------------------------------------------------------------


def papermill(project, stage, folder, *options):
    """Plain papermill, as a person calls it, from another folder."""
    line = [
        sys.executable,
        "-m",
        "papermill",
        "--no-progress-bar",
        str(project.notebooks / f"{stage}.ipynb"),
        "out.ipynb",
        *options,
    ]
    return subprocess.run(line, cwd=folder, env=tiny.environment(project), capture_output=True, text=True, timeout=120)


def test_plain_papermill_writes_the_version_that_a_run_would(tmp_path):
    """The same cells from a fresh session, in their order, with the same parameters: the run that follows keeps it."""
    project = tiny.project(tmp_path / "p")
    policy = str(shutil.copytree(project.policies / "rules", tmp_path / "elsewhere" / "rules"))
    first = papermill(project, "01_read", tmp_path, "-p", "policy", policy)
    second = papermill(project, "02_count", tmp_path, "-p", "policy", policy, "-p", "factor", "5")
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    (version,) = artifact.versions(project, "02_count")
    assert version.read("count.json") == 20 and version.manifest["mode"] == "batch"
    assert (
        version.manifest["parameters"]["factor"] == 5
        and {"count", "models.prompt", "runs.artifact", "runs.key"} <= version.manifest["modules"].keys()
    )
    assert version.manifest["upstream"]["01_read"]["key"] == artifact.newest(project, "01_read").key
    assert f"02_count/{version.key}'" in (tmp_path / "out.ipynb").read_text("utf-8"), "no reason why it would differ"
    assert f"policy {policy}, model offline" in (tmp_path / "out.ipynb").read_text("utf-8")
    ran = tiny.wb(project, "run", "--policy", policy, "-p", "factor=5", "--to", "2")
    assert f"02_count  kept     {version.key}" in ran.stderr, ran.stderr
    assert ran.stderr.startswith(f"policy {policy}, model offline\n")


def cells(path):
    return json.loads(path.read_text("utf-8"))["cells"]


def stepped(project, folder, change=lambda texts: texts):
    """The cells of 01_read, changed, executed one after the other in one session; what `finish` said."""
    texts = change(["".join(one["source"]) for one in cells(project.notebooks / "01_read.ipynb")[1:]])
    script = (
        "from IPython.core.interactiveshell import InteractiveShell\nimport sys\nshell = InteractiveShell.instance()\n"
        "for cell in sys.argv[1:]:\n    done = shell.run_cell(cell, store_history=True)\n"
        "    done.raise_error()\nsys.stderr.write(str(done.result))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *texts],
        cwd=project.notebooks,
        env={**tiny.environment(project), "IPYTHONDIR": str(folder)},
        capture_output=True,
        text=True,
    )
    return done.stderr or done.stdout


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda texts: [*texts[:3], "text = text.upper()", texts[3]], "execution 4 of this session was not the cell"),
        (lambda texts: [texts[0], texts[1], texts[1], *texts[2:]], "execution 3 of this session was not the cell"),
        (lambda texts: ["other = 1", *texts], "execution 1 of this session was not the cell"),
        (lambda texts: [*texts[:2], 'model = "offline"', *texts[2:]], "execution 3 of this session"),
        (lambda texts: [*texts[:2], f"import os; os.utime('.')\n{texts[2]}", texts[3]], "execution 3 of this"),
        (lambda texts: [*texts[:3], "open('../policies/rules/policy.md', 'a').write('x')", texts[3]], "its policy or"),
        (lambda texts: [*texts[:3], "open('../wb/paths.py', 'a').write('#')", texts[3]], "the code of wb changed"),
    ],
)
def test_what_a_run_would_not_do_makes_an_interactive_version_and_says_why(tmp_path, change, why):
    project = tiny.project(tmp_path / "p")
    said = stepped(project, tmp_path, change)
    assert why in said.partition("(`wb run` makes its own: ")[2], said
    step = pipeline.plan(project, {}, last="1")[0]
    assert [v.manifest["mode"] for v in artifact.versions(project, "01_read")] == ["interactive"]
    assert pipeline.lookup(project, pipeline.inputs_of(project, step, {}), lambda event: None) is None


def test_the_cells_of_the_notebook_make_the_version_of_a_run(tmp_path):
    """Also with the parameters given twice; not once more where `finish` is executed again in the same session."""
    project = tiny.project(tmp_path / "p")
    twice = stepped(project, tmp_path, lambda texts: [*texts, texts[-1]])
    assert "not exactly the cells of 01_read.ipynb were executed, once each from a fresh session" in twice
    said = stepped(project, tmp_path, lambda texts: ['model = "x"', *texts])
    assert "makes its own" not in said, said
    step = pipeline.plan(project, {}, last="1")[0]
    found = pipeline.lookup(project, pipeline.inputs_of(project, step, {}), lambda event: None)
    assert found is not None and said.endswith(f"01_read/{found.key}"), said


def test_a_whole_number_for_a_float_runs_and_is_no_version_of_a_run(tmp_path):
    project = tiny.project(tmp_path / "p")
    assert tiny.wb(project, "run", "--to", "1").returncode == 0
    done = papermill(project, "03_long", tmp_path, "-p", "share", "2")
    (version,) = artifact.versions(project, "03_long")
    assert done.returncode == 0 and version.manifest["mode"] == "interactive"
    assert "(`wb run` makes its own: it takes share as 2.0; here it was 2)" in (tmp_path / "out.ipynb").read_text(
        "utf-8"
    )


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (("factr", "3"), "a parameter must be one of ['factor', 'model', 'policy']; no notebook declares 'factr'"),
        (("factor", "abc"), "02_count.ipynb: factor must be of type int, like its default 2; got 'abc'"),
        (("factor", "2.5"), "02_count.ipynb: factor must be of type int, like its default 2; got 2.5"),
        (("factor", "True"), "02_count.ipynb: factor must be of type int, like its default 2; got True"),
        (("factor", "10"), "02_count.ipynb: factor must be in 1..9, as the comment on it says; got 10"),
        (("policy", "7"), "02_count.ipynb: policy must be of type str, like its default 'rules'; got 7"),
        (("policy", "none"), "a policy must be a name under policies/, one of ['rules'], a folder or a document; got"),
    ],
)
def test_papermill_is_refused_what_a_run_is_refused(tmp_path, given, why):
    project = tiny.project(tmp_path / "p")
    done = papermill(project, "02_count", tmp_path, "-p", *given)
    assert done.returncode == 1 and why in done.stderr and not artifact.versions(project, "02_count"), done.stderr


LINGERING = """import time
kernel = get_ipython().kernel
asked = kernel.shell_handlers["kernel_info_request"]
async def lingering(*given):
    await asked(*given)
    time.sleep(2)
kernel.shell_handlers["kernel_info_request"] = lingering"""


@pytest.mark.parametrize("finishes", [False, True])
def test_a_kernel_that_is_ended_after_its_notebook_tells_of_no_interruption(tmp_path, finishes):
    """papermill asks a kernel what it is and then interrupts and ends it; here it is caught still answering."""
    project = tiny.project(tmp_path / "p")
    last = "stage.finish()" if finishes else "1"
    code = [tiny.opening("05_last", "policy"), LINGERING, last]
    tiny.notebook(project.notebooks / "05_last.ipynb", parameters='policy = "rules"', code=code)
    done = papermill(project, "05_last", tmp_path)
    assert done.returncode == 0 and ("KeyboardInterrupt" in done.stderr) != finishes, done.stderr


def test_a_session_is_keyed_by_the_cells_that_were_executed(tmp_path):
    project = tiny.project(tmp_path / "p")
    script = (
        "from IPython.core.interactiveshell import InteractiveShell\nimport sys\nshell = InteractiveShell.instance()\n"
        "for cell in sys.argv[1:]:\n    shell.run_cell(cell, store_history=True)\n"
    )
    opening = "from wb.runs import store\nstage = store.open('01_read', parameters={})"
    one = [opening, "x = 1", "stage.write('x.json', 1)", "stage.finish()"]
    for cells in (one, [one[0], "x = 2", *one[2:]], [one[1], one[0], *one[2:]], one):
        done = subprocess.run(
            [sys.executable, "-c", script, *cells],
            env={**tiny.environment(project), "IPYTHONDIR": str(tmp_path)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
    found = artifact.versions(project, "01_read")
    assert (
        len(found) == 3
        and len({tuple(v.manifest["cells"]) for v in found}) == 3
        and all(len(v.manifest["cells"]) == 4 for v in found)
    )


def test_a_key_names_a_policy_and_runs_by_what_they_are_and_not_by_where_they_lie(here, tmp_path):
    from wb.runs import key

    for name, text in (("a.jsonl", "1"), ("b.jsonl", "2")):
        (tmp_path / name).write_text(text, "utf-8")
    runs = f"{tmp_path}/a.jsonl,{tmp_path}/b.jsonl"
    found = store.keyed({"policy": "elsewhere/bank", "runs": runs, "k": 3}, key.Source("bank", "d", tmp_path))
    digests = [key.file_digest(tmp_path / name)[:16] for name in ("a.jsonl", "b.jsonl")]
    assert found == {"policy": "bank", "runs": f"a.jsonl:{digests[0]},b.jsonl:{digests[1]}", "k": 3}
    assert digests[0] != digests[1] and store.keyed({"k": 3, "runs": ""}, None) == {"k": 3, "runs": ""}
    assert store.described(None) == {"name": "", "digest": ""}
    assert store.described(key.Source("bank", "d", tmp_path)) == {"name": "bank", "digest": "d"}


def test_a_stage_has_a_folder_for_what_may_be_deleted_and_one_for_replies(here):
    stage = store.open("01_a", parameters={})
    made = stage.cache("deep/proofs")
    assert made.is_dir() and made == here.artifacts / "cache" / "deep" / "proofs" == stage.cache("deep/proofs")
    assert stage.replies == here.replies


def drawing(runs, **options):
    """A figure of one point a run."""
    return Figure("T", tuple(Series(Look("#000000"), [1], [value], name) for name, value in runs.items()), note="n")


def test_a_figure_is_kept_as_a_sealed_csv_of_what_is_drawn(here):
    stage = store.open("01_a", parameters={"policy": "web_tasks", "model": "m"})
    figure = stage.draw(drawing, {"a": 2.5})
    stage.finish()
    (made,) = artifact.versions(here, "01_a")
    assert made.read("figures/drawing.csv") == figure.csv() and "2.5" in figure.csv() and made.ours
    (made.folder / "figures" / "drawing.csv").write_text(figure.csv().replace("2.5", "9"), "utf-8")
    assert made.damaged() == ["figures/drawing.csv"]
    with pytest.raises(ArtifactError, match="must have the digest"):
        made.read("figures/drawing.csv")


def kept(value, stage="01_a", **parameters):
    opened = store.open(stage, parameters={"policy": "web_tasks", "model": "offline", "k": 1, "n": 1} | parameters)
    opened.write("a.json", value)
    opened.finish()
    return opened


def test_kept_runs_that_differ_in_one_parameter_are_laid_over_this_one_by_it(here):
    alone = kept(1).alike(drawing, "a.json", 1)
    assert [s.name for s in alone.series] == ["web_tasks"] and "no other kept run differs" in alone.note
    kept(10, k=10)
    kept(2, k=2)
    kept(3, k=3, n=3)
    kept(4, policy="airline", k=4)
    kept(5, stage="02_b", k=5)
    figure = kept(1).alike(drawing, "a.json", 1)
    assert [(s.name, s.y) for s in figure.series] == [("k = 1", [1]), ("k = 2", [2]), ("k = 10", [10])]
    assert figure.note == "web_tasks: runs that differ in k. n"
    kept(6, n=6)
    names = [s.name for s in kept(1).alike(drawing, "a.json", 1).series]
    assert names == ["k = 1, n = 1", "k = 2", "k = 10", "n = 6"]


def test_a_run_of_other_code_or_text_or_a_damaged_or_forged_one_is_not_laid_over(here, monkeypatch):
    kept(2, k=2)
    stage = kept(1)

    def names():
        return [s.name for s in stage.alike(drawing, "a.json", 1).series]

    (made,) = [v for v in artifact.versions(here, "01_a") if v.manifest["parameters"]["k"] == 2]
    assert names() == ["k = 1", "k = 2"]
    assert [s.name for s in stage.alike(drawing, "b.json", 1).series] == ["web_tasks"], "it has no such file"
    with monkeypatch.context() as patch:
        patch.setattr(store.key, "digests", lambda names, package: {"other": "code"})
        assert names() == ["web_tasks"]
    with monkeypatch.context() as patch:
        patch.setattr(store, "described", lambda source: {"name": "web_tasks", "digest": "another text"})
        assert names() == ["web_tasks"]
    with monkeypatch.context() as patch:
        patch.setattr(artifact.Version, "ours", False)
        assert names() == ["web_tasks"]
    (made.folder / "a.json").write_text("3", "utf-8")
    assert names() == ["web_tasks"]


def test_a_key_covers_the_labelled_runs_beside_a_policy_where_a_stage_reads_runs_and_is_given_none(here, tmp_path):
    from wb.runs import key

    source, own = key.Source("bank", "d", tmp_path), tmp_path / "labelled.jsonl"
    assert store.keyed({"runs": ""}, source)["runs"] == ""
    own.write_text("1", "utf-8")
    found = store.keyed({"runs": ""}, source)["runs"]
    assert found == f"labelled.jsonl:{key.file_digest(own)[:16]}" and "runs" not in store.keyed({"k": 3}, source)
    own.write_text("2", "utf-8")
    assert store.keyed({"runs": ""}, source)["runs"] not in (found, "")
    (tmp_path / "a.jsonl").write_text("1", "utf-8")
    assert store.keyed({"runs": f"{tmp_path}/a.jsonl"}, source)["runs"].startswith("a.jsonl:"), (
        "those that are given win"
    )
