"""The notebooks keep their shape: thin, told in words, with nothing defined and no output kept."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

from wb.domain import policy
from wb.domain.policy import pieces
from wb.offline import reader
from wb.paths import Project
from wb.runs import key, notebook, pipeline

ROOT = Path(__file__).parents[1]
STAGES = (
    "01_policy_extraction 02_vagueness_scoring 03_spectral_clustering 04_weight_learning 05_tool_guards "
    "06_nagini_verification 07_evaluation"
).split()
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def cells(path: Path, kind: str = "code") -> list[dict]:
    return [cell for cell in json.loads(path.read_text("utf-8"))["cells"] if cell["cell_type"] == kind]


def code(path: Path) -> list[str]:
    return [notebook.source(cell) for cell in cells(path)]


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def test_there_are_seven_stages_in_their_order():
    assert [path.stem for path in NOTEBOOKS] == STAGES
    assert [book.stage for book in notebook.find(ROOT / "notebooks")] == STAGES


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
class TestShape:
    def test_it_starts_with_a_title_and_ends_with_words_or_with_what_this_policy_showed(self, path):
        all_cells = json.loads(path.read_text("utf-8"))["cells"]
        assert notebook.source(all_cells[0]).startswith("# ")
        showing = notebook.source(all_cells[-1]).endswith("\nshow.findings(showed)")
        assert showing is (path.stem[:2] in ("03", "04", "07")) is not (all_cells[-1]["cell_type"] == "markdown")

    def test_exactly_one_cell_is_tagged_parameters_and_names_policy_and_model(self, path):
        book = notebook.load(path)
        assert isinstance(book.defaults["policy"], str) and book.defaults["model"] == "offline"

    def test_no_output_counter_or_foreign_kernel_is_kept(self, path):
        assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells(path))
        assert json.loads(path.read_text("utf-8"))["metadata"]["kernelspec"]["name"] == "python3"

    def test_every_cell_has_an_id_of_its_own(self, path):
        ids = [cell["id"] for cell in json.loads(path.read_text("utf-8"))["cells"]]
        assert len(set(ids)) == len(ids)

    def test_it_is_thin(self, path):
        texts = code(path)
        assert len(json.loads(path.read_text("utf-8"))["cells"]) <= 30
        assert max(len(lines(text)) for text in texts) <= 15 and sum(len(lines(text)) for text in texts) <= 120

    def test_it_says_three_words_for_each_line_of_code(self, path):
        words = sum(len(notebook.source(cell).split()) for cell in cells(path, "markdown"))
        assert words >= 3 * sum(len(lines(text)) for text in code(path))

    def test_its_words_are_true_of_any_policy(self, path):
        """What holds for one policy or benchmark alone is shown by a cell, where it applies."""
        words = [notebook.source(cell) for cell in cells(path, "markdown")]
        said = "\n".join(text for text in words if not text.startswith("# "))  # the head names its sources
        lone = r"SeeAct|inspect_ev|\b(six|\d+) (rules|tasks|of these cases|cases)\b|on the handbook|fraction of a s"
        assert not re.findall(lone, re.sub(r"for the web handbook these are .*?\.", "", said))

    def test_the_points_of_every_figure_are_kept_beside_it(self, path):
        used = re.findall(r"(\S*)plots\.([a-z_]+)", "\n".join(code(path)))
        drawn = [name for before, name in used if before == "stage.draw("]
        others = {name for _, name in used} - {*drawn, "of_csv", "clusters"}
        assert not others and len(set(drawn)) == len(drawn), "stage.draw keeps them, once each"

    def test_it_defines_nothing(self, path):
        found = [
            node
            for tree in notebook.trees(code(path))
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        ]
        assert not [node.name for node in found], "definitions belong in wb"
        assert len(notebook.trees(code(path))) == len(code(path)), "every cell parses"

    def test_it_shows_values_and_prints_nothing(self, path):
        calls = [
            ast.unparse(node.func)
            for tree in notebook.trees(code(path))
            for node in ast.walk(tree)
            if isinstance(node, ast.Call)
        ]
        assert "print" not in calls and not any(call.endswith(").show") for call in calls)
        ends = [tree.body[-1] for tree in notebook.trees(code(path))]
        shown = sum(isinstance(end, ast.Expr) for end in ends)
        assert shown >= len(ends) - 3, "all but parameters, opening and assertions end in what they show"

    def test_no_assertion_is_about_a_figure_of_merit(self, path):
        for tree in notebook.trees(code(path)):
            for node in ast.walk(tree):
                if isinstance(node, ast.Assert):
                    said = ast.unparse(node.test)
                    assert not {"survived", "vagueness", "losses"} & set(re.findall(r"\w+", said)), "that is a finding"

    def test_it_imports_modules_of_wb(self, path):
        nodes = [node for tree in notebook.trees(code(path)) for node in ast.walk(tree)]
        packages = {(node.module or "").split(".")[0] for node in nodes if isinstance(node, ast.ImportFrom)}
        packages |= {alias.name.split(".")[0] for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        assert packages == {"wb"}
        places = [
            ROOT.joinpath(*node.module.split("."), alias.name)
            for node in nodes
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        ]
        assert not [str(place) for place in places if not place.with_suffix(".py").exists()], "modules, not names"

    def test_its_stage_is_given_every_parameter_by_its_name(self, path):
        calls = [
            node
            for tree in notebook.trees(code(path))
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "store.open"
        ]
        given = next(k.value for k in calls[0].keywords if k.arg == "parameters")
        assert isinstance(given, ast.Dict), "a literal {name: value, …}"
        assert {ast.literal_eval(k): ast.unparse(v) for k, v in zip(given.keys, given.values, strict=True)} == {
            n: n for n in notebook.load(path).defaults
        }

    def test_the_files_it_reads_are_known(self, path):
        assert None not in notebook.load(path).files.values(), "two literals, so that only what is read re-runs it"

    def test_its_modules_exist_and_are_followed(self, path):
        assert {"runs.store", "runs.artifact", "runs.key"} <= key.modules(notebook.load(path).cells, ROOT / "wb").keys()


def test_the_sentences_that_are_counted_first_are_those_that_get_a_class(tmp_path):
    (tmp_path / "policy.md").write_text("| Room | Limit |\n| --- | --- |\n| Hall | No more than 8 guests. |\n", "utf-8")
    (tmp_path / "tools.json").write_text('[{"name": "book_hall"}]', "utf-8")
    source = policy.load(str(tmp_path))
    assert len(source.sentences) < len(pieces(source)) == len(reader.extracted(source).extracts)
    (counted,) = [text for text in code(NOTEBOOKS[0]) if "show.counts(source.source" in text]
    assert "sentences=len(documents.pieces(source))" in counted


def test_a_plan_of_all_stages_finds_no_mistake():
    assert [step.stage for step in pipeline.plan(Project(ROOT, ROOT / "artifacts"), {})] == STAGES
