"""Results of live runs: sealed, of the policy as it is, counted by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import ROOT

from wb.bench import trials
from wb.bench.trials import Trial, TrialError
from wb.paths import Project
from wb.runs import pipeline, plots, store

ABOUT = {"policy": "p"}


def trial(task: str, number: int, done: bool, **other: object) -> Trial:
    row = {"kind": "violating", "strategy": "original", "agent": "m", "end": "user", "stopped": 0, "let_pass": 1}
    counts = {"turns": 3, "calls": 2, "queries": 5, "tokens": 9, "seconds": 0.5}
    places = () if done else ("users.x",)
    return Trial(**{"task": task, "number": number, "done": done, "differs": places, **row, **counts, **other})


SOME = (
    trial("a", 1, True),
    trial("a", 2, True),
    trial("a", 3, False),
    trial("b", 1, True),
    trial("b", 2, False, end="turns"),
    trial("c", 1, True, kind="complying"),
    trial("a", 1, True, strategy="toolguards", stopped=2, let_pass=0),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "policy.md").write_text("Be kind.", "utf-8")
    (tmp_path / "tasks.yaml").write_text("tasks", "utf-8")
    return tmp_path


def kept(folder: Path, some: tuple[Trial, ...] = SOME, name: str = "results.json") -> str:
    about = ABOUT | {"sources": trials.sources(folder)}
    (folder / name).write_text(trials.to_json(some, about), "utf-8")
    return str(folder / name)


def test_results_come_back_and_nothing_comes_of_no_file(folder: Path) -> None:
    assert trials.read(kept(folder), folder) == SOME and trials.read("", folder) == () == trials.read(" , ", folder)
    both = f"{kept(folder, SOME[:2], 'one.json')}, {kept(folder, SOME[2:], 'two.json')}"
    assert trials.read(both, folder) == SOME


def test_pass_k_stands_beside_its_n_and_kinds_of_wishes_apart() -> None:
    first, second, third = trials.table(SOME)
    assert (first["strategy"], first["wishes"], first["tasks"], first["n"], first["trials"]) == (
        "original",
        "violating",
        2,
        2,
        5,
    )
    assert first["done"] == 3 and first["broken off"] == 1 and first["let pass"] == 5 and first["calls stopped"] == 0
    assert first["pass^1"] == pytest.approx((2 / 3 + 1 / 2) / 2) and first["pass^n"] == pytest.approx((1 / 3 + 0) / 2)
    assert (second["wishes"], second["pass^1"], third["strategy"], third["calls stopped"]) == (
        "complying",
        1.0,
        "toolguards",
        2,
    )
    backwards = [row["strategy"] for row in trials.table(SOME[::-1])]
    assert backwards == ["original", "original", "toolguards"], "in the paper's order"
    assert trials.table(()) == [] and trials.curves(()) == {}


def test_a_curve_names_n_and_ends_there() -> None:
    found = trials.curves(SOME)
    assert list(found) == ["original, m (n = 2)", "toolguards, m (n = 1)"]
    assert found["original, m (n = 2)"] == [
        {"k": 1, "pass": pytest.approx(7 / 12)},
        {"k": 2, "pass": pytest.approx(1 / 6)},
    ]
    assert list(trials.curves(SOME, "complying")) == ["original, m (n = 1)"]
    drawn = plots.pass_k(found)
    assert [list(line.x) for line in drawn.data] == [[1, 2], [1]] and plots.empty(plots.pass_k({}))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda text: text.replace('"done": false', '"done": true', 1), "sealed with your key were required"),
        (lambda text: json.dumps({**json.loads(text), "seal": "0" * 64}), "sealed with your key were required"),
        (lambda text: text[:-20], "that `wb live` wrote were required"),
        (lambda text: "[]", "that `wb live` wrote were required"),
        (lambda text: "[" * 100_000, "that `wb live` wrote were required"),
        (lambda text: json.dumps({"about": {}, "trials": []}), "that `wb live` wrote were required"),
    ],
)
def test_results_that_somebody_wrote_are_not_believed(folder: Path, change, why: str) -> None:
    path = Path(kept(folder))
    path.write_text(change(path.read_text("utf-8")), "utf-8")
    with pytest.raises(TrialError, match=why):
        trials.read(str(path), folder)


def test_results_are_of_the_policy_as_it_is_now_and_each_trial_stands_once(folder: Path) -> None:
    path = kept(folder)
    with pytest.raises(TrialError, match="again"):
        trials.read(f"{path},{kept(folder, name='same.json')}", folder)
    with pytest.raises(TrialError, match="a file that `wb live` wrote was required"):
        trials.read(str(folder / "none.json"), folder)
    assert trials.read(path, folder / "policy.md") == SOME, "a document has what stands beside it"
    (folder / "tasks.yaml").write_text("others", "utf-8")
    with pytest.raises(TrialError, match="as its files are now were required"):
        trials.read(path, folder)


def test_the_digests_of_what_stands_beside_a_policy_tell_files_apart(folder: Path) -> None:
    first = trials.sources(folder)
    assert sorted(first) == ["policy.md", "tasks.yaml"]
    (folder / "database.json").write_text("{}", "utf-8")
    (folder / "other.txt").write_text("x", "utf-8")
    assert sorted(trials.sources(folder)) == ["database.json", "policy.md", "tasks.yaml"]
    assert sorted(trials.sources(folder / "other.txt")) == ["database.json", "other.txt", "policy.md", "tasks.yaml"]


def test_a_run_is_given_results_by_their_full_path_and_keyed_by_what_they_hold(folder: Path, monkeypatch) -> None:
    (folder / "tools.json").write_text('[{"name": "book_hall"}]', "utf-8")
    path, here = Path(kept(folder)), Project(ROOT, folder / "artifacts")
    monkeypatch.chdir(folder)
    last = pipeline.plan(here, {"policy": str(folder), "live": path.name})[-1]
    assert last.stage == "07_evaluation" and last.given["live"] == str(path.resolve())
    first = store.keyed(last.parameters, None)["live"]
    assert str(folder) not in first and first.startswith("results.json:")
    path.write_text(trials.to_json(SOME[:2], ABOUT | {"sources": trials.sources(folder)}), "utf-8")
    assert store.keyed(last.parameters, None)["live"] != first
    path.write_text("{}", "utf-8")
    with pytest.raises(TrialError, match="that `wb live` wrote were required"):
        pipeline.plan(here, {"policy": str(folder), "live": path.name})
