"""Checkouts of τ-bench are read and never run; recorded calls are done again and compared."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest
from conftest import shared

from wb.bench import tau, tau_database, tau_replay
from wb.domain import events, tools
from wb.domain.events import Asked, Event, Lookup, Result, Run, State
from wb.domain.jsonl import LineError
from wb.domain.trace import Call

USER = {"name": {"first_name": "Ann"}, "payment_methods": {}, "membership": "gold", "reservations": ["R1"]}
ROW = {"reservation_id": "R1", "user_id": "ann", "flights": [], "passengers": [{}], "payment_history": []}
TOOL = """raise SystemExit("this file is never run")

class Cancel:
    @staticmethod
    def get_info():
        return {"type": "function", "function": {"name": "cancel_reservation", "parameters": {
            "type": "object", "properties": {"reservation_id": {"type": "string"}}}}}
"""
AIRPORTS = """class List:
    def invoke(data):
        airports = ["BOS", "SEA"]
        cities = ["Boston", "Seattle"]
    def get_info():
        return {"type": "function", "function": {"name": "list_all_airports", "parameters": {"type": "object"}}}
"""
TASKS = """TASKS = [
    Task(annotator="0", user_id="ann", instruction="Cancel it.",
         actions=[Action(name="cancel_reservation", kwargs={"reservation_id": "R1"})], outputs=["12"]),
    Task(user_id="ann", instruction="Ask.", actions=[]),
]
"""


def asks(tool: str, arguments: object) -> dict[str, object]:
    return {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": tool, "arguments": arguments}}]}


def replies(tool: str, content: str) -> dict[str, object]:
    return {"role": "tool", "tool_call_id": "x", "name": tool, "content": content}


CANCELLED = {**ROW, "status": "cancelled"}
TRAJECTORY = [
    {"role": "system", "content": "You are an agent."},
    {"role": "user", "content": "Cancel R1."},
    asks("get_user_details", '{"user_id": "ann"}'),
    replies("get_user_details", json.dumps({**USER, "membership": "silver"})),
    asks("cancel_reservation", '{"reservation_id": "R1"}'),
    replies("cancel_reservation", json.dumps(CANCELLED)),
    asks("cancel_reservation", '{"reservation_id": "R2"}'),
    replies("cancel_reservation", "Error: reservation not found"),
    {"role": "assistant", "content": "Done."},
]


def checkout(place: Path, **files: str) -> Path:
    home = place / tau_replay.HOME
    texts = {
        home / "wiki.md": "# Policy\n",
        home / "tools" / "__init__.py": "raise SystemExit",
        home / "tools" / "cancel_reservation.py": TOOL,
        home / "tools" / "list_all_airports.py": AIRPORTS,
        home / "tasks_test.py": TASKS,
        home / "data" / "users.json": json.dumps({"ann": USER}),
        home / "data" / "reservations.json": json.dumps({"R1": ROW}),
        home / "data" / "flights.json": "{}",
        place / tau_replay.RECORDED / "x-airline.json": json.dumps([{"task_id": 3, "trial": 1, "traj": TRAJECTORY}]),
        place / tau_replay.RECORDED / "x-retail.json": "not read",
    }
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files.get(path.name.replace(".", "_").replace("-", "_"), text), "utf-8")
    return place


def test_a_checkout_is_read_whole(tmp_path: Path) -> None:
    found = tau_replay.read(checkout(tmp_path))
    assert found.policy == "# Policy\n"
    assert [tool["function"]["name"] for tool in found.tools] == ["cancel_reservation", "list_all_airports"]
    assert (
        found.database.airports == {"BOS": "Boston", "SEA": "Seattle"} and found.database.now == "2024-05-15T15:00:00"
    )
    assert dict(found.database.users) == {"ann": {**USER, "reservations": ("R1",)}}
    assert found.tasks == (
        tau_replay.Task("ann", "Cancel it.", (Call("cancel_reservation", {"reservation_id": "R1"}),), ("12",)),
        tau_replay.Task("ann", "Ask.", (), ()),
    )
    assert [run.id for run in found.runs] == ["x-airline-tau-airline-3-1"]


def test_each_recorded_call_is_done_again_and_compared(tmp_path: Path) -> None:
    found = tau_replay.read(checkout(tmp_path))
    rows = list(tau_replay.replay(found.database, found.runs[0]))
    assert [(row.tool, row.differs) for row in rows] == [
        ("get_user_details", ("membership",)),
        ("cancel_reservation", ()),
        ("cancel_reservation", ()),
    ]
    assert list(tau_replay.report(rows)) == [
        "all calls: 2 of 3 results are equal",
        "cancel_reservation: 2 of 2 results are equal",
        "get_user_details: 0 of 1 results are equal",
        "get_user_details: 1 differ in membership",
    ]


def test_a_call_is_told_the_records_as_the_calls_before_it_left_them(tmp_path: Path) -> None:
    found = tau_replay.read(checkout(tmp_path))
    run = tau_replay.told(found.database, found.runs[0])
    states = [event.what.values for event in run.events if isinstance(event.what, State)]
    assert [state["reservation"] and state["reservation"].get("status") for state in states] == [None, None]
    assert states[0]["reservation"]["reservation_id"] == "R1" and states[1]["reservation"] is None
    looked = [event.what for event in run.events if isinstance(event.what, Lookup)]
    assert [one.tool for one in looked] == ["get_user_details", "get_reservation_details"]
    again = Run(run.id, (*run.events, Event(run.id, Asked(Call("cancel_reservation", {"reservation_id": "R1"})))))
    last = [event.what for event in tau_replay.told(found.database, again).events if isinstance(event.what, State)][-1]
    assert last.values["reservation"]["status"] == "cancelled"


def test_what_is_written_is_what_wb_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert tau_replay.main([str(checkout(tmp_path / "in")), str(out)]) == 0
    assert "2 of 3 results are equal" in capsys.readouterr().out
    box = tools.parse((out / "tools.json").read_text("utf-8"))
    assert {tool.name: tool.mutating for tool in box.tools} == {"cancel_reservation": True, "list_all_airports": False}
    assert tau_database.load(out / "database.json").users["ann"]["membership"] == "gold"
    assert json.loads((out / "tasks.json").read_text("utf-8"))[0]["actions"][0]["tool"] == "cancel_reservation"
    (run,) = events.read(out / "runs.jsonl")
    assert sum(isinstance(event.what, Asked) for event in run.events) == 3


@pytest.mark.parametrize(
    ("file", "text", "why"),
    [
        ("wiki_md", "", None),
        ("tasks_test_py", "TASKS = [", "Python was required"),
        ("tasks_test_py", "TASKS = [Task(user_id=name(), instruction='', actions=[])]", "a literal was required"),
        ("tasks_test_py", "TASKS = [Task(user_id='a')]", "user_id, instruction and actions"),
        (
            "tasks_test_py",
            "TASKS = [Task(user_id='a', instruction='', actions=[run()])]",
            "an action of name and kwargs",
        ),
        ("tasks_test_py", "TASKS = [Task(user_id='a', instruction='', actions=[], outputs=5)]", "a list of outputs"),
        ("tasks_test_py", "TASKS = []", "a list of tasks was required"),
        ("x_airline_json", "{}", "a list of runs"),
        ("x_airline_json", '[{"task_id": 1, "trial": 0, "traj": [1]}]', "messages that are objects"),
        ("cancel_reservation_py", "def get_info():\n    return make()", "a literal was required"),
        ("cancel_reservation_py", "def get_info():\n    return {'name': 'x'}", "a tool's schema was required"),
        ("cancel_reservation_py", "x = 1", "a function get_info was required"),
        ("list_all_airports_py", AIRPORTS.replace(', "Seattle"', ""), "two lists, codes and cities"),
        ("users_json", "[]", "an object of records by id"),
        ("users_json", '{"a": 1}', "an object of records by id"),
        ("x_airline_json", '[{"task_id": 1, "trial": 0}]', "a list 'traj'"),
        ("x_airline_json", json.dumps([{"task_id": 1, "trial": 0, "traj": [asks("x", "{")]}]), "JSON arguments"),
        ("x_airline_json", json.dumps([{"task_id": "1", "trial": 0, "traj": []}]), "task_id"),
        (
            "x_airline_json",
            json.dumps([{"task_id": 1, "trial": 0, "traj": [replies("x", "")]}]),
            "a call before the reply",
        ),
    ],
)
def test_a_checkout_of_another_form_is_refused(file: str, text: str, why: str | None, tmp_path: Path) -> None:
    place = checkout(tmp_path, **{file: text})
    if why is None:
        assert tau_replay.read(place).policy == ""
        return
    with pytest.raises(LineError, match=why):
        tau_replay.read(place)


def test_a_folder_without_a_checkout_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tau_replay.main([str(tmp_path), str(tmp_path / "out")]) == 1
    assert "wiki.md: a text in UTF-8 was required" in capsys.readouterr().err
    assert tau_replay.main([]) == 2


def test_records_are_read_from_lines_too(tmp_path: Path) -> None:
    (tmp_path / "users.jsonl").write_text(json.dumps({"user_id": "ann", **USER}), "utf-8")
    (tmp_path / "reservations.jsonl").write_text(json.dumps(ROW), "utf-8")
    with gzip.open(tmp_path / "flights.jsonl.gz", "wt") as file:
        file.write(json.dumps({"flight_number": "A1", "dates": {}}))
    found = tau_replay.database(tmp_path)
    assert "user_id" not in found.users["ann"] and found.flights["A1"]["flight_number"] == "A1"
    assert found.reservations["R1"]["reservation_id"] == "R1"
    (tmp_path / "users.jsonl").write_text("{}", "utf-8")
    with pytest.raises(LineError, match="'user_id' were required"):
        tau_replay.database(tmp_path)
    (tmp_path / "users.jsonl").unlink()
    with pytest.raises(LineError, match="got none"):
        tau_replay.database(tmp_path)


@pytest.mark.parametrize(
    ("one", "other", "places"),
    [
        (1, 1, []),
        (1, 2, ["."]),
        (True, 1, ["."]),
        (True, True, []),
        (2, 2.0, []),
        ({"a": {"b": 1}}, {"a": {"b": 2, "c": 3}}, ["a.b", "a.c"]),
        ({"a": ({"b": 1}, {"b": 2})}, {"a": [{"b": 2}, {"b": 1}]}, ["a.b"]),
        ({"a": (1,)}, {"a": (1, 2)}, ["a"]),
        ((), {}, ["."]),
        ("", None, ["."]),
    ],
)
def test_differences_are_named_by_their_place(one: object, other: object, places: list[str]) -> None:
    assert list(tau_replay.differences(one, other)) == places
    assert list(tau_replay.differences(other, one)) == places


def test_the_recorded_runs_are_reproduced_but_for_a_name_that_the_benchmark_has_changed_since() -> None:
    """The profiles of the recorded runs have a `province` where the database has a `state`; which airports there are
    stands in the code of a checkout, and these data have none."""
    runs = tau.runs(shared("data", "tau_airline"))
    database = tau_replay.database(shared("data", "common", "tau_airline"))
    rows = [row for run in runs for row in tau_replay.replay(database, run)]
    other = Counter((row.tool, len(row.differs) == 2) for row in rows if row.differs)
    assert (len(rows), other) == (486, {("get_user_details", True): 49, ("list_all_airports", False): 1})
    assert {row.differs for row in rows if row.tool == "get_user_details"} == {("address.province", "address.state")}


def test_the_records_before_each_call_are_those_that_its_label_was_made_from() -> None:
    """`state_before` was written by whoever labelled the calls, from a database of their own."""
    database = tau_replay.database(shared("data", "common", "tau_airline"))
    checked = 0
    for run in tau.runs(shared("data", "tau_airline")):
        bare = Run(run.id, tuple(event for event in run.events if not isinstance(event.what, State | Lookup)))
        given, found = [
            [event.what.values for event in one.events if isinstance(event.what, State)]
            for one in (run, tau_replay.told(database, bare))
        ]
        assert [list(tau_replay.differences(*pair)) for pair in zip(given, found, strict=True)] == [[]] * len(given)
        checked += len(given)
    assert checked == 115


def test_a_result_that_answers_no_call_counts_for_nothing(tmp_path: Path) -> None:
    run = Run("r", (Event("r", Asked(Call("think", {"thought": "?"}), None, "a")), Event("r", Result("", False, "a"))))
    assert [row.differs for row in tau_replay.replay(tau_database.Database(""), run)] == [()]
    silent = Run("r", run.events[:1])
    assert list(tau_replay.replay(tau_database.Database(""), silent)) == []
