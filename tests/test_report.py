"""One file holds the figures of a run, or of several, and asks for nothing outside."""

from __future__ import annotations

import json
import re
import shutil

import pytest
import tiny

from wb.paths import Project
from wb.runs import artifact, report
from wb.runs.artifact import ArtifactError
from wb.runs.key import Inputs

ROUNDS = [
    {"round": i, "rules": 9 - i, "predicates": 8 - i, "vagueness": 0.6 - i / 10, "vagueness_max": 0.9} for i in range(3)
]
GRAPH = {"groups": [["a", "b"], ["c"]], "edges": [{"a": "a", "b": "b", "together": True, "cosine": 0.3}]}
CIRCUITS = [{"action": "pay", "rules": ["r1", "r2"], "weights": [1.2, 0.3], "losses": [0.4, 0.2], "source": "real"}]
METHODS = [
    {
        "method": "veriguard",
        "split": "all",
        "n": 200,
        "accuracy": 0.96,
        "precision": 0.97,
        "recall": None,
        "fpr": 0.02,
        "undecided": 3,
        "queries": 0,
        "seconds": 1.25,
        "published": False,
        "intervals": {"accuracy": [0.92, 0.98]},
    },
    {
        "method": "guardagent",
        "model": "GPT-4",
        "split": "all",
        "n": 200,
        "accuracy": 0.9,
        "precision": 1.0,
        "recall": 0.8,
        "fpr": None,
        "published": True,
    },
    {"method": "direct", "split": "all", "n": 0, "reason": "it needs a model", "published": False},
]
FILES = {
    "02_vagueness_scoring": {"rounds.json": ROUNDS},
    "03_spectral_clustering": {"graph.json": GRAPH},
    "04_weight_learning": {"weights.json": CIRCUITS},
    "07_evaluation": {
        "results.json": {
            "methods": METHODS,
            "bare": [{"method": "keywords", "split": "all", "n": 7, "accuracy": 0.5}, METHODS[1]],
        }
    },
}


def run(here, k=1, files=FILES):
    """The versions of one run, each made from the one before; returns the last."""
    upstream, made = {}, None
    for stage, values in files.items():
        inputs = Inputs(stage, "batch", {"k": k, "model": "offline"}, "p", (), {}, {name: {} for name in upstream})
        made = tiny.version(
            here, inputs, {name: json.dumps(value) for name, value in values.items()}, upstream=upstream
        )
        upstream = {stage: made.key}
    return made


@pytest.fixture
def here(tmp_path):
    return Project(tmp_path, tmp_path / "artifacts")


def text(here, *versions):
    return report.page({f"run {n} {v.key}": artifact.followed(here, v) for n, v in enumerate(versions)})


def test_a_run_is_followed_through_its_manifests(here):
    one, other = run(here, 1), run(here, 2)
    found = artifact.followed(here, one)
    assert list(found) == list(FILES) and found["07_evaluation"] == one
    assert (
        {v.manifest["parameters"]["k"] for v in found.values()}
        == {1}
        != {v.manifest["parameters"]["k"] for v in artifact.followed(here, other).values()}
    )


def test_every_figure_is_drawn_and_every_table_shown(here):
    page = text(here, run(here))
    for drawing in report.DRAWINGS:
        assert f'id="{drawing.draw.__name__}"' in page
    assert (
        "96.0 [92, 98]" in page
        and "guardagent (GPT-4), published" in page
        and "direct was not run: it needs a model" in page
    )
    assert page.count("guardagent (GPT-4), published</td>") == 1 and "<h3>The bare sentences alone</h3>" in page


def test_nothing_outside_is_asked_for(here):
    page = text(here, run(here))
    assert not re.search(r"""<(?:script|link|img|iframe)[^>]+(?:src|href)=""", page) and "default-src 'none'" in page


def test_runs_are_laid_over_one_another(here):
    one, other = run(here, 1), run(here, 2)
    drawn = re.search(r'Plotly\.newPlot\(\s*"rule_count",\s*(\[.*?\]),\s*\{', text(here, one, other), re.DOTALL)
    assert [curve["name"] for curve in json.loads(drawn.group(1))] == [f"run 0 {one.key}", f"run 1 {other.key}"]


def test_what_a_run_lacks_is_said(here):
    page = text(here, run(here, files={k: v for k, v in FILES.items() if not k.startswith("03")}))
    assert (
        "predicate graph: no graph.json of stage 03" in page
        and 'id="predicate_graph"' not in page
        and 'id="loss"' in page
    )


def test_a_run_is_found_by_key_folder_or_as_the_newest(here, tmp_path):
    one, other = run(here, 1), run(here, 2)
    assert (
        report.find(here, one.key[:8]) == report.find(here, str(one.folder)) == one and report.find(here, None) == other
    )
    with pytest.raises(
        ArtifactError, match=f"a run must be one of .*{one.key}.* of 07_evaluation, .*got 'zz', which fits 0"
    ):
        report.find(here, "zz")
    with pytest.raises(ArtifactError, match="there is none: run `wb run` first"):
        report.find(Project(tmp_path, tmp_path / "none"), None)


def test_a_browser_draws_all_of_it_without_a_request(here, tmp_path):
    from playwright.sync_api import sync_playwright

    path = tmp_path / "report.html"
    path.write_text(text(here, run(here, 1), run(here, 2)), "utf-8")
    chromium = shutil.which("chromium")
    assert chromium, "Debian's chromium is needed: apt-get install chromium"
    asked = []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: asked.append(str(error)))
        page.goto(path.as_uri())
        page.wait_for_function(
            f"document.querySelectorAll('.js-plotly-plot .gtitle').length >= {len(report.DRAWINGS)}", timeout=60_000
        )
        browser.close()
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
