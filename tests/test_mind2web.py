"""The importer of Mind2Web-SC: the official file, whole, and nothing a guard must not see."""

import dataclasses
import hashlib
import json
from pathlib import Path

import pytest
from conftest import shared

from wb.bench import compare, mind2web
from wb.bench.mind2web import BenchmarkError, cases, locate, tuned_ids
from wb.domain import events

TUNED = tuned_ids(Path(__file__).parents[1] / "policies" / "web_tasks" / "tuned_ids.txt")


def test_the_official_file_has_200_cases_half_of_them_tuned_on() -> None:
    every, tuned, other = (cases(split, tuned=TUNED) for split in ("all", "tuned", "other"))
    assert (len(every), len(tuned), len(other)) == (200, 99, 101)
    assert [c.id for c in every] == [f"m2w-{i}" for i in range(200)]
    assert {c.id for c in tuned} | {c.id for c in other} == {c.id for c in every}


def test_half_of_the_official_cases_are_to_be_denied() -> None:
    assert sum(c.denied for c in cases(tuned=TUNED)) == 100


def test_the_tuned_half_is_what_the_development_data_says() -> None:
    rows = [json.loads(line) for line in shared("data", "mind2web_sc", "cases.jsonl").read_text("utf-8").splitlines()]
    found = {c.id: c for c in cases("tuned", tuned=TUNED)}
    assert set(found) == {row["id"] for row in rows}
    for row in rows:
        seen = found[row["id"]].observation
        assert seen.task == row["task"] and seen.website == row["website"] and seen.state == row["user_info"]
        assert list(seen.previous_actions) == row["previous_actions"] and seen.target_action == row["target_action"]
        assert seen.agent_output == "\n".join(row["agent_output"]) and found[row["id"]].denied is bool(row["label"])


def test_a_case_shows_a_guard_no_domain_no_violation_and_no_label() -> None:
    fields = {field.name for field in dataclasses.fields(cases(tuned=TUNED)[0].observation)}
    assert fields == {"task", "website", "previous_actions", "target_action", "agent_output", "state"}
    assert all(
        set(c.observation.state) == {"age", "domestic", "dr_license", "vaccine", "membership"}
        for c in cases(tuned=TUNED)
    )


def test_another_file_than_the_official_one_is_refused(tmp_path: Path) -> None:
    changed = tmp_path / "sample_labeled_all.json"
    changed.write_bytes(locate().read_bytes().replace(b'"label": 0', b'"label": 1', 1))
    with pytest.raises(BenchmarkError, match="sha256 e8802eb6ad86… was required; got"):
        cases(tuned=TUNED, path=changed)


def test_the_known_hash_is_that_of_the_installed_file() -> None:
    assert hashlib.sha256(locate().read_bytes()).hexdigest() == mind2web.SHA256


def test_an_absent_package_is_named_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mind2web, "PACKAGE", "a_package_that_is_not_there")
    with pytest.raises(BenchmarkError, match="'a_package_that_is_not_there' was required .* install it with pip"):
        locate()


def test_a_tuned_id_that_is_no_case_is_refused() -> None:
    with pytest.raises(BenchmarkError, match="m2w-0 … m2w-199 were required; got \\['m2w-200'\\]"):
        cases(tuned={*TUNED, "m2w-200"})


def test_an_unknown_split_is_refused() -> None:
    with pytest.raises(ValueError, match="split must be all, tuned or other; got 'dev'"):
        cases("dev", tuned=TUNED)


def test_the_tuned_ids_hold_no_text() -> None:
    text = (Path(__file__).parents[1] / "policies" / "web_tasks" / "tuned_ids.txt").read_text("utf-8")
    assert all(line.startswith("m2w-") and line[4:].isdigit() for line in text.split())


def test_published_results_are_those_of_the_paper() -> None:
    methods = {"hard-coded rules": "Hardcoded Safety Rules", "guardagent": "GuardAgent"}
    lines = shared("papers", "veriguard.txt").read_text("utf-8").partition("Table 2:")[2].splitlines()
    for one in mind2web.PUBLISHED:
        model = "" if one.model == "no model" else f" ({one.model.replace('4o', '40')}"  # the text was read off a page
        start = (methods.get(one.method, one.method) + model).casefold()
        (line,) = [line for line in lines if line.casefold().startswith(start)]
        figures = line.split("\t")[4:7]
        assert figures == [f"{100 * value:.1f}" for value in (one.accuracy, one.precision, one.recall)]
        assert one.n == 200 and one.source == "VeriGuard, Table 2"


def test_what_is_said_of_the_official_cases_is_said_of_no_others():
    official, none = mind2web.Benchmark(cases("tuned", tuned=TUNED)[:2]), mind2web.Benchmark()
    own = mind2web.Benchmark(runs=events.loads('{"run": "a", "say": {"role": "user", "text": "hi"}}'))
    assert "SeeAct" in official.about and "Mind2Web" in str(official)
    assert not any("Mind2Web" in str(other) + other.about or "SeeAct" in other.about for other in (none, own))
    assert sum(bool(row["published"]) for row in compare.table([], official)) == len(mind2web.PUBLISHED)
    assert not any(row["published"] for other in (none, own) for row in compare.table([], other))
