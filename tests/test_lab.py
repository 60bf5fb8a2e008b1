"""Copies of the notebooks: filled in, refreshed where nobody changed them, and otherwise kept."""

from __future__ import annotations

import json
import shutil

import pytest
import tiny

from wb.runs import artifact, notebook, pipeline
from wb.runs.notebook import NotebookError


@pytest.fixture
def here(tmp_path):
    return tiny.project(tmp_path / "p")


def edited(path, old, new):
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def shown(path):
    """The copy as JupyterLab saves it once its cells ran: with outputs, counters and more metadata."""
    data = json.loads(path.read_text("utf-8"))
    for cell in data["cells"]:
        if cell["cell_type"] == "code":
            cell |= {"execution_count": 1, "outputs": [{"output_type": "stream", "name": "stdout", "text": ["x\n"]}]}
    data["metadata"]["language_info"] = {"name": "python", "version": "3.12"}
    path.write_text(json.dumps(data), "utf-8")


def tracked(here):
    return {path.name: path.read_bytes() for path in here.notebooks.iterdir()}


def test_copies_are_filled_in_by_type_and_the_tracked_ones_stay(here):
    before = tracked(here)
    made = pipeline.copies(here, {"model": "m", "factor": "7", "share": "1"})
    assert made == (here.artifacts / "lab" / "rules", "rules", ()) and tracked(here) == before
    books = notebook.find(made.folder)
    assert [book.stage for book in books] == ["01_read", "02_count", "03_long", "04_join"]
    assert books[1].defaults == {"policy": "rules", "model": "m", "factor": 7}
    assert books[2].defaults["share"] == 1.0 and type(books[2].defaults["share"]) is float
    assert "factor = 7  # 1..9" in books[1].text and books[1].cells == notebook.load(books[1].path).cells
    assert all(book.cells == notebook.load(here.notebooks / book.path.name).cells for book in books)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"factr": "3"}, "no notebook declares 'factr'"),
        ({"factor": "abc"}, "02_count.ipynb: factor must be of type int, like its default 2; got 'abc'"),
        ({"policy": "none"}, "a policy must be a name under policies/"),
    ],
)
def test_what_a_run_refuses_makes_no_copy(here, values, why):
    with pytest.raises(ValueError, match=why):
        pipeline.copies(here, values)
    assert not (here.artifacts / "lab").exists()


def test_a_text_of_any_characters_is_the_value_of_the_copy(here):
    model = "a\"b'c\\d\né€"
    made = pipeline.copies(here, {"model": model})
    assert all(book.defaults["model"] == model for book in notebook.find(made.folder))


def test_literals_of_several_lines_are_replaced_whole(tmp_path):
    tiny.notebook(
        tmp_path / "01_a.ipynb",
        parameters='é = "ü"; k = (\n  1,  # one\n  2)  # two\nz = 3',
        code=["from wb.runs import store\nstage = store.open('01_a', parameters={})\nstage.finish()"],
    )
    book = notebook.load(tmp_path / "01_a.ipynb")
    text = notebook.filled(book, {"é": "x", "k": (5,)})
    assert notebook.source(json.loads(text)["cells"][1]) == 'é = "x"; k = (5,)  # two\nz = 3'


def test_an_unchanged_copy_follows_the_notebook_and_the_parameters(here):
    folder = pipeline.copies(here, {}).folder
    shown(folder / "02_count.ipynb")
    ran = (folder / "02_count.ipynb").read_bytes()
    assert pipeline.copies(here, {}).lines == () and (folder / "02_count.ipynb").read_bytes() == ran, (
        "nothing new: it stays"
    )
    edited(here.notebooks / "02_count.ipynb", "# A stage", "# Another stage")
    (line,) = pipeline.copies(here, {}).lines
    assert "made anew, 02_count.ipynb or its parameters changed; the one before: " in line
    assert "# Another stage" in (folder / "02_count.ipynb").read_text("utf-8")
    (earlier,) = (folder / "earlier").iterdir()
    assert earlier.read_bytes() == ran and str(earlier) in line
    (line,) = pipeline.copies(here, {"factor": "3"}).lines
    assert notebook.load(folder / "02_count.ipynb").defaults["factor"] == 3


@pytest.mark.parametrize("change", ["cell", "parameter", "more", "broken", "unrecorded"])
def test_a_copy_that_a_person_changed_is_kept_and_that_is_said(here, change):
    folder = pipeline.copies(here, {}).folder
    path = folder / "02_count.ipynb"
    if change == "broken":
        path.write_text("not a notebook", "utf-8")
    elif change == "more":
        data = json.loads(path.read_text("utf-8"))
        data["cells"].append(data["cells"][-1])
        path.write_text(json.dumps(data), "utf-8")
    elif change == "unrecorded":
        (folder / pipeline.MADE).unlink()
        edited(here.notebooks / "02_count.ipynb", "# A stage", "# Another stage")
    else:
        edited(path, *(("* factor", "* factor * 1") if change == "cell" else ("factor = 2", "factor = 3")))
    kept = path.read_bytes()
    for _ in range(2):
        (line,) = pipeline.copies(here, {}).lines
        where = {"cell": "4", "parameter": "2", "more": "5", "broken": "1, 2, 3, 4", "unrecorded": "1"}[change]
        assert path.read_bytes() == kept and f"{path}: kept as you changed it: in cell {where} it is not " in line
        assert line.endswith("02_count.ipynb with these parameters; rename it to get the new one")
    path.rename(folder / "mine.ipynb")
    assert pipeline.copies(here, {}).lines == () and "factor = 2" in path.read_text("utf-8")


def test_each_policy_has_a_folder_of_its_own(here, tmp_path):
    other = shutil.copytree(here.policies / "rules", tmp_path / "elsewhere" / "rules")
    folders = {
        pipeline.copies(here, {"policy": text}).folder for text in ("rules", str(other), str(other / "policy.md"))
    }
    assert len(folders) == 3 and {folder.parent for folder in folders} == {here.artifacts / "lab"}
    assert sorted(notebook.load(folder / "01_read.ipynb").defaults["policy"] for folder in folders) == sorted(
        ["rules", str(other), str(other / "policy.md")]
    )


def test_a_copy_that_is_executed_writes_the_version_of_a_run(here, tmp_path):
    given = {"policy": str(shutil.copytree(here.policies / "rules", tmp_path / "rules")), "factor": "4"}
    folder = pipeline.copies(here, given).folder
    for stage in ("01_read", "02_count"):
        path = folder / f"{stage}.ipynb"
        environment = {**tiny.environment(here), "WB_HANDOVER": ""}
        notebook.execute(
            path.read_text("utf-8"), path, path, parameters={}, environment=environment, on_cell=lambda *cell: None
        )
    (made,) = artifact.versions(here, "02_count")
    ran = tiny.wb(here, "run", "--policy", given["policy"], "-p", "factor=4", "--to", "2")
    assert f"02_count  kept     {made.key}" in ran.stderr, ran.stderr
    assert pipeline.copies(here, given).lines == (), "what was only executed was not changed"


def test_jupyterlab_shows_the_copies_and_hides_the_tracked_ones(here):
    folder = here.artifacts / "lab" / "my rules"
    line = pipeline.command(here, folder, ["--no-browser", "--ServerApp.port=1", "--port", "8889", "-y"])
    assert line[:2] == [
        f"--ServerApp.root_dir={here.root}",
        "--LabApp.default_url=/lab/workspaces/my%20rules/tree/artifacts/lab/my%20rules",
    ]
    assert "'notebooks'" in line[2] and line[3:] == ["--no-browser", "--ServerApp.port=1", "--port", "8889", "-y"]
    for wrong in ("--polciy", "-q", "--policies=x"):
        with pytest.raises(NotebookError, match="or an option of `jupyter lab` was required; got '" + wrong):
            pipeline.command(here, folder, [wrong])
    elsewhere = pipeline.command(here.__class__(here.root, here.root.parent / "a"), here.root.parent / "a/lab/x", [])
    assert elsewhere[0].endswith("/a") and elsewhere[1].endswith("/lab/workspaces/x/tree/lab/x")
