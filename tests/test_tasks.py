"""Tasks for live runs: the airline's thirty, and files that are none."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, shared

from wb.bench import tasks, tau_database, tau_replay
from wb.bench.tasks import TaskError
from wb.domain.events import Say
from wb.domain.trace import Call

FOLDER = ROOT / "policies" / "airline"
LISTED = tasks.load(tasks.place(FOLDER))
DATABASE = tau_database.load(FOLDER / "database.json")
TEXT = (FOLDER / "policy.md").read_text("utf-8")
GOLD = {item["id"] for item in json.loads((FOLDER / "gold.json").read_text("utf-8"))["items"]}


def test_twenty_two_wishes_go_against_the_handbook_and_eight_do_not() -> None:
    assert Counter(one.kind for one in LISTED.tasks) == {"violating": 22, "complying": 8}
    assert sum(bool(one.expect) for one in LISTED.tasks if one.violating) == 6, "those who settle for something else"
    assert all(one.expect for one in LISTED.tasks if not one.violating)


@pytest.mark.parametrize("one", LISTED.tasks, ids=lambda one: one.name)
def test_a_task_quotes_the_handbook_and_expects_what_the_tools_do(one: tasks.Task) -> None:
    assert one.item in GOLD and one.sentence in TEXT and bool(one.sentence) is one.violating
    wanted = tasks.expected(one, DATABASE)
    assert (wanted == DATABASE) is (not one.expect)
    assert tasks.graded(one, DATABASE, wanted) == ()
    assert bool(tasks.graded(one, DATABASE, DATABASE)) is bool(one.expect)
    assert one.script[0].role == "user" and any(isinstance(what, Call) for what in one.script)
    people = [name for name in DATABASE.users if name in one.instruction]
    assert len(people) == 1 and people[0] in one.script[0].text, "who asks says so"


def test_a_record_that_is_not_what_it_must_be_is_named() -> None:
    one = LISTED.tasks[0]
    row = {**DATABASE.reservations["H2VNC6"], "status": "cancelled"}
    other = replace(DATABASE, reservations={**DATABASE.reservations, "H2VNC6": row})
    assert tasks.graded(one, DATABASE, other) == ("reservations.H2VNC6.status",)
    assert tasks.graded(one, DATABASE, replace(DATABASE, now="2026-02-11")) == ("now",)


def test_a_task_that_expects_what_the_tools_refuse_is_refused() -> None:
    wrong = replace(LISTED.tasks[0], expect=(Call("cancel_reservation", {"reservation_id": "?"}),))
    with pytest.raises(TaskError, match="a call that the tools do was required; cancel_reservation gives Error"):
        tasks.expected(wrong, DATABASE)


ROW = {"name": "one", "instruction": "You want it.", "expect": []}


def written(place: Path, *rows: dict[str, Any], name: str = "tasks.yaml") -> Path:
    path = place / name
    path.write_text(json.dumps({"ends": ["bye"], "tasks": rows}), "utf-8")
    return path


def test_a_file_of_one_task_is_read(tmp_path: Path) -> None:
    script = [{"user": "Hello"}, {"think": {"thought": "a"}}, {"assistant": "Yes?"}]
    found = tasks.load(written(tmp_path, ROW | {"script": script, "expect": [{"think": {"thought": "b"}}]}))
    (one,) = found.tasks
    assert found.ends == {"bye"} and one.expect == (Call("think", {"thought": "b"}),) and one.violating is False
    assert one.script == (Say("user", "Hello"), Call("think", {"thought": "a"}), Say("assistant", "Yes?"))


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([], "at least 1 item"),
        ([ROW, ROW], "names of their own were required; got one twice"),
        ([ROW | {"name": "../x"}], "tasks.0.name"),
        ([ROW | {"name": ""}], "tasks.0.name"),
        ([ROW | {"instruction": ""}], "tasks.0.instruction"),
        ([ROW | {"more": 1}], "Extra inputs"),
        ([ROW | {"expect": [{"a": {}, "b": {}}]}], "one key a call or text"),
        ([ROW | {"expect": [{"a": "b"}]}], "tasks.0.expect"),
        ([ROW | {"script": [{}]}], "one key a call or text"),
        ([ROW | {"script": [{"user": {}}]}], "a text of user or assistant"),
        ([ROW | {"script": [{"think": "a"}]}], "a tool's arguments"),
    ],
)
def test_a_file_that_is_no_file_of_tasks_is_refused(rows: list[dict[str, Any]], why: str, tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=why):
        tasks.load(written(tmp_path, *rows))


def test_no_file_and_no_yaml_are_told(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=r"a file tasks.yaml or tasks.json was required"):
        tasks.place(tmp_path)
    (tmp_path / "tasks.json").write_text("tasks: [", "utf-8")
    with pytest.raises(TaskError, match="YAML was required"):
        tasks.load(tasks.place(tmp_path))


def test_tasks_of_a_checkout_are_read_and_nobody_says_which_wish_goes_against_the_policy(tmp_path: Path) -> None:
    action = {"tool": "think", "arguments": {"thought": "a"}}
    rows = [{"user_id": "u", "instruction": "You want it.", "actions": [action], "outputs": ["7"]}]
    (tmp_path / "tasks.json").write_text(json.dumps(rows), "utf-8")
    found = tasks.load(tasks.place(tmp_path))
    (one,) = found.tasks
    assert (one.name, one.kind, one.expect) == ("task-0", "not said", (Call("think", {"thought": "a"}),))
    assert found.ends == {tau_database.HANDS_OVER} and tau_database.HANDS_OVER in tau_database.TOOLS


def test_the_benchmarks_own_tasks_can_be_expected_of_its_database(tmp_path: Path) -> None:
    """22 tasks of the development half, with the benchmark's own actions."""
    database = tau_replay.database(shared("data", "common", "tau_airline"))
    with shared("data", "tau_airline", "runs.jsonl").open(encoding="utf-8") as lines:
        told = {row["task_id"]: row for row in map(json.loads, lines)}
    rows = [
        {
            "user_id": row["user_id"],
            "instruction": row["instruction"],
            "actions": [{"tool": one["name"], "arguments": one["kwargs"]} for one in row["gold_actions"]],
        }
        for row in told.values()
    ]
    (tmp_path / "tasks.json").write_text(json.dumps(rows), "utf-8")
    found = tasks.load(tasks.place(tmp_path)).tasks
    assert len(found) == 22
    for one in found:
        assert tasks.graded(one, database, tasks.expected(one, database)) == ()
