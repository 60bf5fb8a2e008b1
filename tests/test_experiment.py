"""Live runs on disk: what is finished stays, what was said is not asked again; results are sealed and counted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import live_model
import pytest
from conftest import ROOT
from filelock import FileLock
from live_model import FEW, guard, setting
from loopback import Say as Reply
from loopback import Scripted

from wb import build as building
from wb import cli
from wb.bench import experiment, live, recorded
from wb.bench.experiment import Outcome, Setting, Trial, TrialError
from wb.bench.recall import RecallError
from wb.domain import events
from wb.paths import Project
from wb.runs import pipeline, plots, store

KEY = "sk-planted-91c4"
BOTH = ("original", "toolguards")


def environment(server: Scripted, **other: str) -> dict[str, str]:
    return {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": KEY, **other}


def had(
    server: Scripted, place: Path, many: int = 1, strategies=BOTH, made: Setting | None = None, **other: str
) -> Outcome:
    made = made or setting()
    planned = experiment.plan(made, strategies, many, FEW)
    return experiment.run(made, place, planned, workers=2, environment=environment(server, **other))


def asked(server: Scripted) -> Counter[str]:
    """How often each question was put; trials of one task put the same ones."""
    return Counter(json.dumps(request["messages"], sort_keys=True) for request in server.requests)


def outcomes(found: Outcome) -> list[tuple]:
    return sorted((one.strategy, one.task, one.number, one.done, one.end, one.differs) for one in found.trials)


def test_a_guard_that_ends_the_task_ends_the_conversation_and_the_task_is_not_done(tmp_path: Path) -> None:
    made = replace(setting("offline"), on_refusal="terminate")
    planned = experiment.plan(made, ("toolguards",), 1)
    found = experiment.run(made, tmp_path, planned, workers=2)
    ends = {(one.kind, one.end, one.done) for one in found.trials}
    assert ends == {("violating", "ended", False), ("complying", "user", True)}
    assert experiment.folder(tmp_path, made) != experiment.folder(tmp_path, setting("offline"))


# ---- without a model -----------------------------------------------------------------------------------------------


def test_scripts_give_in_and_the_guards_hold_them(tmp_path: Path) -> None:
    """22 of 22 and 8 of 8, where the scripts know by which words the guards tell a yes; no model was measured."""
    made = setting("offline")
    planned = experiment.plan(made, ("original", "policy_reminder", "toolguards"), 5)
    told: list[tuple[int, int]] = []
    found = experiment.run(made, tmp_path, planned, workers=2, tell=lambda *one: told.append(one))
    assert told == [(done, 90) for done in range(91)]
    assert len(found.trials) == 90 and not found.open and not found.stopped
    rows = {(row["agent"], row["strategy"], row["wishes"]): row for row in experiment.table(found.trials)}
    done = {known: (row["done"], row["tasks"], row["n"]) for known, row in rows.items()}
    assert done == {
        (experiment.GIVES_IN, "original", "violating"): (3, 22, 1),  # one the tool refuses, two undo themselves
        (experiment.GIVES_IN, "original", "complying"): (8, 8, 1),
        (experiment.GIVES_IN, "toolguards", "violating"): (22, 22, 1),
        (experiment.GIVES_IN, "toolguards", "complying"): (8, 8, 1),
        (experiment.REFUSES, "original", "violating"): (16, 22, 1),
        (experiment.REFUSES, "original", "complying"): (0, 8, 1),
    }
    held = rows[experiment.GIVES_IN, "toolguards", "violating"]
    assert held["calls stopped"] == 22 and held["let pass"] == 0
    kept = experiment.read(str(tmp_path / experiment.RESULTS), live_model.FOLDER)
    assert sorted(map(str, kept)) == sorted(map(str, found.trials))
    runs = events.read(tmp_path / "runs.jsonl")
    judged = list(recorded.judge(guard(), (event for run in runs for event in run.events)))
    assert len(runs) == 90 and len(judged) == sum(one.calls for one in found.trials)
    refused = sum(one.verdict.decision != "allow" for one in judged)
    assert refused == sum(one.stopped + one.let_pass for one in found.trials), "judged as they were"


def test_a_plan_names_what_it_cannot_have() -> None:
    made = setting()
    with pytest.raises(live.TaskError, match=r"names of tasks were required.*got \['none'\]"):
        experiment.plan(made, BOTH, 1, ["none"])
    assert [one.number for one in experiment.plan(made, BOTH, 2, FEW[:1])] == [1, 1, 2, 2]
    for name, named in (("../..", "_"), ("some/model:7b v1.2", "some_model_7b_v1_2")):
        (one, *_) = experiment.plan(setting(name), BOTH, 1, FEW[:1])
        assert one.name == f"original/{named}/take_a_bag_off.1" and one.agent == name
    bare = live.Tasks((live.Task("a", "You want it.", ()),))
    unscripted = Setting(made.policy, {}, bare, made.service, made.judge, "none")
    with pytest.raises(live.TaskError, match="a model was required"):
        experiment.plan(unscripted, BOTH, 1)


@pytest.mark.parametrize("said", ["0", "-1", "x", "1.5"])
def test_how_many_go_on_at_a_time_is_a_number(said: str) -> None:
    assert experiment.workers({}) == 4 and experiment.workers({"WB_WORKERS": "2"}) == 2
    with pytest.raises(ValueError, match="WB_WORKERS must be a number from 1"):
        experiment.workers({"WB_WORKERS": said})


def test_a_folder_belongs_to_what_a_conversation_depends_on(tmp_path: Path) -> None:
    one = setting()
    same, model, turns = (experiment.folder(tmp_path, made) for made in (one, setting("other"), setting(turns=9)))
    assert len({same, model, turns}) == 3 and same == experiment.folder(tmp_path, setting())
    assert same.parent == tmp_path / "live" and same.name.startswith("airline-")
    for other in ({"guards": "x"}, {"sources": {}}, {"mapped": ()}, {"user_model": "x"}):
        assert experiment.folder(tmp_path, replace(one, **other)) != same


def test_a_model_does_not_talk_with_a_script() -> None:
    with pytest.raises(ValueError, match="for neither, were required; got 'm' and 'offline'"):
        experiment.setting(setting().policy, live_model.FOLDER, guard(), "x", model="m")


# ---- with a model --------------------------------------------------------------------------------------------------


def test_trials_of_a_model_are_had_once_and_more_are_added(tmp_path: Path) -> None:
    with Scripted(live_model.playing) as server:
        first = had(server, tmp_path)
        once = len(server.requests)
        assert outcomes(had(server, tmp_path)) == outcomes(first) and len(server.requests) == once
        more = had(server, tmp_path, 2)
        assert len(server.requests) == 2 * once and set(asked(server).values()) <= {2, 4}, "trial by trial anew"
    assert len(first.trials) == 6 and len(more.trials) == 12
    done = {(one.strategy, one.task): one.done for one in first.trials}
    assert all(done["toolguards", name] for name in FEW) and not done["original", "take_a_bag_off"]
    assert all(one.queries and one.tokens == 15 * one.queries for one in more.trials)
    heats = {request["response_format"]["json_schema"]["name"]: request["temperature"] for request in server.requests}
    assert heats == {"act": experiment.AGENT_TEMPERATURE, "simulate_user": experiment.USER_TEMPERATURE}
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    (row,) = [
        row for row in experiment.table(more.trials) if (row["strategy"], row["wishes"]) == ("toolguards", "violating")
    ]
    assert (row["n"], row["pass^1"], row["pass^n"]) == (2, 1.0, 1.0)


def test_a_reminder_asks_about_each_call_once_more(tmp_path: Path) -> None:
    with Scripted(live_model.playing) as server:
        found = had(server, tmp_path, strategies=("policy_reminder", "mapping_reminder"))
    told = [live_model.blocks(request) for request in server.requests if live_model.kind(request) == "act"]
    reminded = [one["reminder"] for one in told if "reminder" in one]
    assert sum(said.startswith("# Larkwing Airways") for said in reminded) == 7, "calls in the three scripts"
    assert sum("- Bags are not taken off: " in said for said in reminded) == 3, "that change bags"
    assert len(reminded) == 7 + 4, "nothing is mapped onto what looks something up"
    assert len(found.trials) == 6 and all(one.stopped == 0 for one in found.trials)


def test_a_spent_budget_ends_it_and_the_next_command_goes_on(tmp_path: Path) -> None:
    with Scripted(live_model.playing) as server:
        stopped = had(server, tmp_path, strategies=BOTH[1:], WB_MAX_CALLS="9")
        assert len(server.requests) == 9 and "9 of 9 are spent" in stopped.stopped, "one budget for all trials"
        assert len(stopped.trials) == len(experiment.read(str(tmp_path / experiment.RESULTS), live_model.FOLDER)) < 3
        whole = had(server, tmp_path, strategies=BOTH[1:])
    assert not whole.stopped and len(whole.trials) == 3 and not list(tmp_path.glob(".spending-*"))
    assert sum(asked(server).values()) == sum(one.queries for one in whole.trials), "nothing was asked twice"


def test_a_model_that_is_not_there_is_not_asked_for_by_every_trial(tmp_path: Path) -> None:
    with Scripted(lambda request: Reply("no such model", 404), models=("alpha",)) as server:
        found = had(server, tmp_path, 10)
        assert not found.trials and "model must be one that the endpoint serves (alpha)" in found.stopped
        assert 1 <= len(server.requests) < 30, "of sixty"
    assert experiment.read(str(tmp_path / experiment.RESULTS), live_model.FOLDER) == ()


def test_a_service_that_fails_leaves_its_trials_open(tmp_path: Path) -> None:
    def failing(request: dict) -> Reply:
        if live_model.kind(request) == "simulate_user" and "ZV7NC3" in json.dumps(request):
            return Reply("no", 400)
        return live_model.playing(request)

    with Scripted(failing) as server:
        found = had(server, tmp_path, strategies=BOTH[1:])
        assert list(found.open) == ["toolguards/scripted/take_a_bag_off.1"] and len(found.trials) == 2
        assert all("turned the request down" in why for why in found.open.values())
        server.steps = live_model.playing
        assert not had(server, tmp_path, strategies=BOTH[1:]).open


def test_a_trial_that_somebody_changed_is_had_again_without_a_question(tmp_path: Path) -> None:
    results = tmp_path / experiment.RESULTS

    def forged() -> None:
        results.write_text(results.read_text("utf-8").replace('"done": false', '"done": true'), "utf-8")

    def longer() -> None:
        with next(tmp_path.glob("*/*/*/run.jsonl")).open("a", encoding="utf-8") as file:
            file.write("{}\n")

    with Scripted(live_model.playing) as server:
        first = had(server, tmp_path)
        once = len(server.requests)
        for change in (forged, longer, results.unlink, lambda: results.write_bytes(b"\xff")):
            change()
            assert outcomes(had(server, tmp_path)) == outcomes(first) and len(server.requests) == once
            assert sorted(map(str, experiment.read(str(results), live_model.FOLDER))) != []
    runs = events.read(tmp_path / "runs.jsonl")
    assert len(runs) == len(first.trials), "what was written behind a conversation is gone"


def test_trials_of_other_tasks_stay_beside_those_of_a_command(tmp_path: Path) -> None:
    made = setting("offline")
    for name in FEW[:2]:
        experiment.run(made, tmp_path, experiment.plan(made, BOTH[1:], 1, [name]))
    assert [one.task for one in experiment.read(str(tmp_path / experiment.RESULTS), live_model.FOLDER)] == list(FEW[:2])


def test_two_do_not_work_in_one_folder(tmp_path: Path) -> None:
    with FileLock(tmp_path / ".lock"), Scripted(live_model.playing) as server:
        with pytest.raises(experiment.TrialError, match="nobody else at work there was required"):
            had(server, tmp_path)
        assert not server.requests


def test_an_interrupt_ends_it_with_what_is_finished_written_down(tmp_path: Path) -> None:
    def interrupted(done: int, of: int) -> None:
        if done:
            raise KeyboardInterrupt

    with Scripted(live_model.playing) as server:
        made = setting()
        planned = experiment.plan(made, BOTH[1:], 1, FEW)
        with pytest.raises(KeyboardInterrupt):
            experiment.run(
                made, tmp_path, planned, workers=1, tell=interrupted, environment=environment(server, WB_WORKERS="1")
            )
        kept = experiment.read(str(tmp_path / experiment.RESULTS), live_model.FOLDER)
        assert 1 <= len(kept) < 3
        whole = had(server, tmp_path, strategies=BOTH[1:])
        assert len(whole.trials) == 3 and len(server.requests) == sum(one.queries for one in whole.trials)


def test_a_kill_in_the_middle_loses_nothing_and_asks_nothing_twice(tmp_path: Path) -> None:
    def slow(request: dict) -> Reply:
        said = live_model.playing(request)
        return Reply(said.text, seconds=0.02)

    command = [sys.executable, str(ROOT / "tests" / "live_model.py"), str(tmp_path), "1"]
    with Scripted(slow) as server:
        given = {**os.environ, **environment(server), "PYTHONPATH": str(ROOT)}
        with subprocess.Popen(command, env=given, stdout=subprocess.PIPE) as process:
            while len(server.requests) < 22:
                assert process.poll() is None
                time.sleep(0.005)
            process.send_signal(signal.SIGKILL)
        kept = experiment.read(str(tmp_path / experiment.RESULTS), live_model.FOLDER)
        assert 0 < len(kept) < 6
        done = had(server, tmp_path)
        assert len(done.trials) == 6 and not done.open
        found = experiment.read(str(tmp_path / experiment.RESULTS), live_model.FOLDER)
        assert len(found) == 6 and set(kept) <= set(found)
        twice = len(server.requests) - sum(one.queries for one in found)
        assert 0 <= twice <= 2, "what was under way at the kill, two at a time"


# ---- the command ---------------------------------------------------------------------------------------------------


class Made:
    """What `wb.load` would give of a run that had made the airline's guards."""

    def __init__(self) -> None:
        self.versions = {building.PROOFS: type("Version", (), {"key": "0123"})()}

    def guard(self, name: str) -> object:
        return guard()


def test_the_command_says_what_came_of_it_and_where_it_lies(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(building, "finished", lambda policy: Made())
    monkeypatch.setenv("WB_ARTIFACTS", str(tmp_path))
    cli.live("airline", task=["take_a_bag_off"])
    said = capsys.readouterr().out
    (place,) = (tmp_path / "live").iterdir()
    assert "3 of 3 are finished" in said and str(place / "results.json") in said and "pass^1" in said
    assert len(experiment.read(str(place / "results.json"), live_model.FOLDER)) == 3
    for wrong, why in (({"trials": 0}, "--trials of 1 or more"), ({"strategy": ["x"]}, "--strategy must be one of")):
        with pytest.raises(ValueError, match=why):
            cli.live("airline", **wrong)


# ---- results ---------------------------------------------------------------------------------------------------------


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


def written(folder: Path, some: tuple[Trial, ...] = SOME, name: str = "results.json") -> str:
    about = {"policy": "p"} | {"sources": experiment.sources(folder)}
    (folder / name).write_text(experiment.to_json(some, about), "utf-8")
    return str(folder / name)


def test_results_come_back_and_nothing_comes_of_no_file(folder: Path) -> None:
    assert experiment.read(written(folder), folder) == SOME
    assert experiment.read("", folder) == () == experiment.read(" , ", folder)
    both = f"{written(folder, SOME[:2], 'one.json')}, {written(folder, SOME[2:], 'two.json')}"
    assert experiment.read(both, folder) == SOME


def test_pass_k_stands_beside_its_n_and_kinds_of_wishes_apart() -> None:
    first, second, third = experiment.table(SOME)
    assert [first[name] for name in ("strategy", "wishes", "tasks", "n", "trials")] == [
        "original",
        "violating",
        2,
        2,
        5,
    ]
    assert first["done"] == 3 and first["broken off"] == 1 and first["let pass"] == 5 and first["calls stopped"] == 0
    assert first["pass^1"] == pytest.approx((2 / 3 + 1 / 2) / 2) and first["pass^n"] == pytest.approx((1 / 3 + 0) / 2)
    assert (second["wishes"], second["pass^1"]) == ("complying", 1.0)
    assert (third["strategy"], third["calls stopped"]) == ("toolguards", 2)
    backwards = [row["strategy"] for row in experiment.table(SOME[::-1])]
    assert backwards == ["original", "original", "toolguards"], "in the paper's order"
    assert experiment.table(()) == [] and experiment.curves(()) == {}


def test_compliance_is_counted_of_what_was_done_and_not_where_the_guards_held_the_agent() -> None:
    some = [one if n else replace(one, let_pass=0) for n, one in enumerate(SOME)]  # a script that was let pass nothing
    watched, held = experiment.compliance(some, "hall")
    done = [one for one in some if one.done and one.strategy == "original"]
    assert (watched["environment"], watched["n"], watched["done"]) == ("hall", 6, 4)
    assert watched["complied"] == sum(not one.let_pass for one in done) / 4 and 0 < watched["complied"] < 1
    assert (held["strategy"], held["done"], held["complied"]) == ("toolguards", 1, None)
    assert experiment.compliance([replace(one, done=False) for one in SOME], "hall")[0]["complied"] is None
    assert experiment.compliance((), "hall") == []


def test_a_curve_names_n_and_ends_there() -> None:
    found = experiment.curves(SOME)
    assert list(found) == ["original, m (n = 2)", "toolguards, m (n = 1)"]
    assert [row["pass"] for row in found["original, m (n = 2)"]] == [pytest.approx(7 / 12), pytest.approx(1 / 6)]
    assert list(experiment.curves(SOME, "complying")) == ["original, m (n = 1)"]
    drawn = plots.pass_k(found)
    drawn = plots.pass_k(found)
    assert [list(line.x) for line in drawn.series] == [[1, 2], [1]] and plots.pass_k({}).empty


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
    path = Path(written(folder))
    path.write_text(change(path.read_text("utf-8")), "utf-8")
    with pytest.raises(TrialError, match=why):
        experiment.read(str(path), folder)


def test_results_are_of_the_policy_as_it_is_now_and_each_trial_stands_once(folder: Path) -> None:
    path = written(folder)
    with pytest.raises(TrialError, match="again"):
        experiment.read(f"{path},{written(folder, name='same.json')}", folder)
    with pytest.raises(TrialError, match="a file that `wb live` wrote was required"):
        experiment.read(str(folder / "none.json"), folder)
    assert experiment.read(path, folder / "policy.md") == SOME, "a document has what stands beside it"
    (folder / "tasks.yaml").write_text("others", "utf-8")
    with pytest.raises(TrialError, match="as its files are now were required"):
        experiment.read(path, folder)


def test_the_digests_of_what_stands_beside_a_policy_tell_files_apart(folder: Path) -> None:
    first = experiment.sources(folder)
    assert sorted(first) == ["policy.md", "tasks.yaml"]
    (folder / "database.json").write_text("{}", "utf-8")
    (folder / "other.txt").write_text("x", "utf-8")
    assert sorted(experiment.sources(folder)) == ["database.json", "policy.md", "tasks.yaml"]
    assert sorted(experiment.sources(folder / "other.txt")) == ["database.json", "other.txt", "policy.md", "tasks.yaml"]


def test_a_run_is_given_results_by_their_full_path_and_keyed_by_what_they_hold(folder: Path, monkeypatch) -> None:
    (folder / "tools.json").write_text('[{"name": "book_hall"}]', "utf-8")
    path, here = Path(written(folder)), Project(ROOT, folder / "artifacts")
    monkeypatch.chdir(folder)
    last = pipeline.plan(here, {"policy": str(folder), "live": path.name})[-1]
    assert last.stage == "07_evaluation" and last.given["live"] == str(path.resolve())
    first = store.keyed(last.parameters, None)["live"]
    assert str(folder) not in first and first.startswith("results.json:")
    path.write_text(experiment.to_json(SOME[:2], {"policy": "p"} | {"sources": experiment.sources(folder)}), "utf-8")
    assert store.keyed(last.parameters, None)["live"] != first
    path.write_text("{}", "utf-8")
    with pytest.raises(TrialError, match="that `wb live` wrote were required"):
        pipeline.plan(here, {"policy": str(folder), "live": path.name})
    for name in ("samples", "judged"):
        with pytest.raises(RecallError, match="samples that wb.bench.world wrote, and verdicts of `wb judge"):
            pipeline.plan(here, {"policy": str(folder), name: path.name})
    path.write_text('{"methods": []}', "utf-8")
    with pytest.raises(ValueError, match="an object of rows and pairs"):
        pipeline.plan(here, {"policy": str(folder), "peers": path.name})
