"""Recorded airline runs of τ-bench: labelled ones, and a checkout that is read, never run, and done again."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from conftest import ROOT, shared

from wb.bench import live, service, tau
from wb.domain import events, tools
from wb.domain.events import Asked, Event, Lookup, Result, Run, Say, State, loads
from wb.domain.jsonl import LineError
from wb.domain.trace import Call

MESSAGES = [
    {"role": "user", "content": "Cancel R1."},
    {"role": "assistant", "content": None, "tool_call": {"name": "look", "args": {"id": "R1"}}},
    {"role": "tool", "name": "look", "content": '{"legs": [1, 2.5]}'},
    {"role": "assistant", "content": "One moment.", "tool_call": {"name": "cancel", "args": {"id": "R1"}}},
    {"role": "tool", "name": "cancel", "content": "Error: no such card"},
    {"role": "assistant", "content": "It is refused."},
]
RECORDED = {"task_id": 7, "trial": 1, "reward": 0.0, "instruction": "You are angry.", "messages": MESSAGES}
JUDGED = {
    "id": "tau-airline-7-1-3",
    "task_id": 7,
    "trial": 1,
    "msg": 3,
    "tool": "cancel",
    "args": {"id": "R1"},
    "label": "violating",
    "gold_conflict": False,
    "state_before": {"user": {"name": "Ann"}, "reservation": None, "flights": {}, "effective_cabin": "business"},
}
STATE = {"user": {"name": "Ann"}, "reservation": None, "flights": {}, "user_reservations": None}


def folder(place: Path, recorded: list[dict] = [RECORDED], judged: list[dict] = [JUDGED]) -> Path:  # noqa: B006
    for name, rows in (("runs", recorded), ("calls", judged)):
        (place / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return place


def data() -> tuple[Path, list[dict], list[dict]]:
    """The folder of the real runs and the rows of its two files."""
    place = shared("data", "tau_airline")
    rows = [
        [json.loads(line) for line in (place / name).open(encoding="utf-8")] for name in ("runs.jsonl", "calls.jsonl")
    ]
    return place, *rows


def asked(runs: tuple[Run, ...]) -> dict[str, Asked]:
    return {e.what.call_id: e.what for run in runs for e in run.events if isinstance(e.what, Asked)}


def test_messages_become_events_with_the_step_of_their_message(tmp_path: Path) -> None:
    look, cancel = "tau-airline-7-1-1", "tau-airline-7-1-3"
    expected = [
        (0, Say("user", "Cancel R1.")),
        (1, Asked(Call("look", {"id": "R1"}), None, look)),
        (1, Result({"legs": (1, 2.5)}, False, look)),
        (3, Say("assistant", "One moment.")),
        (3, State(STATE)),
        (3, Asked(Call("cancel", {"id": "R1"}), "deny", cancel)),
        (3, Result("Error: no such card", True, cancel)),
        (5, Say("assistant", "It is refused.")),
    ]
    run = "tau-airline-7-1"
    assert tau.runs(folder(tmp_path)) == (Run(run, tuple(Event(run, what, step, tau.TIME) for step, what in expected)),)


@pytest.mark.parametrize(
    ("label", "conflict", "expected"),
    [
        ("violating", False, "deny"),
        ("violating", True, None),
        ("compliant", False, "allow"),
        ("compliant", True, None),
        ("ambiguous", False, None),
        ("api_rejected", False, None),
    ],
)
def test_a_label_is_given_only_where_the_policy_decides(
    tmp_path: Path, label: str, conflict: bool, expected: str
) -> None:
    place = folder(tmp_path, judged=[JUDGED | {"label": label, "gold_conflict": conflict}])
    assert asked(tau.runs(place))["tau-airline-7-1-3"].label == expected


@pytest.mark.parametrize("content", ["", "Certificate added.", "NaN", '{"a": 1, "a": 2}'])
def test_a_reply_that_is_not_json_stays_as_it_is(tmp_path: Path, content: str) -> None:
    messages = MESSAGES[:2] + [{"role": "tool", "name": "look", "content": content}]
    (run,) = tau.runs(folder(tmp_path, [RECORDED | {"messages": messages}], []))
    assert run.events[-1].what == Result(content, False, "tau-airline-7-1-1")


def message(index: int, **changed: object) -> dict:
    return RECORDED | {"messages": MESSAGES[:index] + [MESSAGES[index] | changed] + MESSAGES[index + 1 :]}


WRONG = {
    "a label of another kind": ([RECORDED], [JUDGED | {"label": "bad"}], "calls.jsonl, line 1: label: "),
    "a state of another kind": ([RECORDED], [JUDGED | {"state_before": {"x": 1}}], "got state_before.x"),
    "no conflict known": (
        [RECORDED],
        [{k: v for k, v in JUDGED.items() if k != "gold_conflict"}],
        "gold_conflict was required",
    ),
    "a call twice": ([RECORDED], [JUDGED, JUDGED], "calls.jsonl, line 2: one row for each call was required"),
    "a run twice": ([RECORDED, RECORDED], [], "runs.jsonl, line 2: one row for each run was required"),
    "a call of no run": ([], [JUDGED], "calls.jsonl, line 1: a call of a recorded run was required"),
    "a call at a text": (
        [RECORDED],
        [JUDGED | {"msg": 5}],
        "calls.jsonl, line 1: a call of a recorded run was required",
    ),
    "other arguments": (
        [RECORDED],
        [JUDGED | {"args": {}}],
        "calls.jsonl, line 1: the recorded call tau-airline-7-1-3",
    ),
    "another tool": (
        [RECORDED],
        [JUDGED | {"tool": "look"}],
        "calls.jsonl, line 1: the recorded call tau-airline-7-1-3",
    ),
    "a reply of another tool": (
        [message(2, name="find")],
        [],
        "a call before the reply of find was required; got a call of look",
    ),
    "a reply to no call": (
        [RECORDED | {"messages": MESSAGES[2:3]}],
        [],
        "was required; got no call (tau-airline-7-1-0)",
    ),
    "two replies": ([RECORDED | {"messages": MESSAGES[:3] + MESSAGES[2:3]}], [], "was required; got no call"),
    "a user without a text": ([message(0, content=None)], [], "messages.0.user.content: a valid string was required"),
    "neither text nor call": ([message(5, content=None)], [], "a text or a call was required; got neither"),
    "another role": ([message(0, role="system")], [], "messages.0.role: a known one was required"),
    "a key of another format": ([message(1, tool_calls=[])], [], "got messages.1.assistant.tool_calls"),
}


@pytest.mark.parametrize(("recorded", "judged", "said"), WRONG.values(), ids=WRONG)
def test_what_does_not_fit_is_refused_with_its_place(tmp_path: Path, recorded: list, judged: list, said: str) -> None:
    with pytest.raises(LineError) as caught:
        tau.runs(folder(tmp_path, recorded, judged))
    assert said in str(caught.value) and str(tmp_path) in str(caught.value)


def test_gzipped_files_are_read_where_there_are_no_plain_ones(tmp_path: Path) -> None:
    plain = tau.runs(folder(tmp_path))
    for name in ("runs", "calls"):
        (tmp_path / f"{name}.jsonl.gz").write_bytes(gzip.compress((tmp_path / f"{name}.jsonl").read_bytes()))
        (tmp_path / f"{name}.jsonl").unlink()
    assert tau.runs(tmp_path) == plain
    whole = (tmp_path / "runs.jsonl.gz").read_bytes()
    for broken in (whole[:-9], whole[:12] + b"\xff" * 9 + whole[21:], b"no gzip"):
        (tmp_path / "runs.jsonl.gz").write_bytes(broken)
        with pytest.raises(LineError, match="runs.jsonl.gz"):
            tau.runs(tmp_path)
    (tmp_path / "calls.jsonl.gz").unlink()
    with pytest.raises(LineError, match="a file calls.jsonl or calls.jsonl.gz was required; got neither"):
        tau.runs(tmp_path)


def test_the_command_writes_events_or_says_what_is_wrong(tmp_path: Path) -> None:
    def command(*arguments: object) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", "wb.bench.tau", *map(str, arguments)]
        return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, encoding="utf-8")

    done = command(folder(tmp_path))
    assert done.returncode == 0 and loads(done.stdout) == tau.runs(tmp_path) and not done.stderr
    (tmp_path / "calls.jsonl").write_text("{}\n")
    done = command(tmp_path)
    assert done.returncode == 1 and not done.stdout and "calls.jsonl, line 1: task_id was required" in done.stderr
    done = command()
    assert done.returncode == 2 and not done.stdout and done.stderr.startswith("usage: python -m wb.bench.tau FOLDER")


# ---- the real data --------------------------------------------------------------------------------------------------


def test_all_runs_calls_and_labels_of_the_real_data_are_there(tmp_path: Path) -> None:
    place, recorded, judged = data()
    found = tau.runs(place)
    calls = asked(found)
    assert (len(found), len(judged)) == (88, 115)
    assert [run.id for run in found] == [f"tau-airline-{row['task_id']}-{row['trial']}" for row in recorded]
    words = {"violating": "deny", "compliant": "allow"}
    expected = {row["id"]: None if row["gold_conflict"] else words.get(row["label"]) for row in judged}
    assert {name: calls[name].label for name in expected} == expected
    assert not [name for name in calls if calls[name].label and name not in expected]
    assert Counter(expected.values()) == {"allow": 47, "deny": 35, None: 33}
    failed = {e.what.call_id: e.what.failed for run in found for e in run.events if isinstance(e.what, Result)}
    ran = Counter(call.label for name, call in calls.items() if not failed[name])
    assert (ran["allow"], ran["deny"]) == (47, 23), "the strict calls"
    path = tmp_path / "runs.jsonl"
    with path.open("w", encoding="utf-8") as file:
        tau.dump((event for run in found for event in run.events), file)
    assert loads(path.read_text("utf-8")) == found and "effective_cabin" not in path.read_text("utf-8")


def test_every_message_of_the_real_data_is_told_once_and_in_order() -> None:
    place, recorded, _ = data()
    for run, row in zip(tau.runs(place), recorded, strict=True):
        said = [(e.step, e.what.role, e.what.text) for e in run.events if isinstance(e.what, Say)]
        assert said == [
            (i, m["role"], m["content"]) for i, m in enumerate(row["messages"]) if m["role"] != "tool" and m["content"]
        ]
        calls = [(e.step, e.what.call.tool) for e in run.events if isinstance(e.what, Asked)]
        assert calls == [(i, m["tool_call"]["name"]) for i, m in enumerate(row["messages"]) if m.get("tool_call")]
        replies = [(e.step, e.what.failed) for e in run.events if isinstance(e.what, Result)]
        tools = [(i, m) for i, m in enumerate(row["messages"]) if m["role"] == "tool"]
        assert replies == [(i - 1, m["content"][:5] == "Error") for i, m in tools]


def test_the_state_of_the_real_data_stands_before_its_call_and_is_what_the_agent_was_shown() -> None:
    place, _, judged = data()
    found = tau.runs(place)
    states = {}
    compared = 0
    for run in found:
        shown: dict[str, object] = {}  # the newest of each reservation that a tool has returned
        happened = tuple(event for event in run.events if not isinstance(event.what, Lookup))
        for event, after in zip(happened, happened[1:] + (None,), strict=True):
            if isinstance(event.what, State):
                states[after.what.call_id] = event.what.values
                reserved = event.what.values["reservation"]
                if reserved and reserved["reservation_id"] in shown:
                    assert shown[reserved["reservation_id"]] == reserved
                    compared += 1
            if (
                isinstance(event.what, Result)
                and isinstance(event.what.value, dict)
                and "reservation_id" in event.what.value
            ):
                shown[event.what.value["reservation_id"]] = event.what.value
    assert set(states) == {row["id"] for row in judged}
    assert {tuple(state) for state in states.values()} == {("user", "reservation", "flights", "user_reservations")}
    assert compared == 69  # of 70 calls that name a reservation
    for row in judged:
        assert json.loads(json.dumps(states[row["id"]])) == {n: row["state_before"].get(n) for n in states[row["id"]]}


# ---- a checkout -----------------------------------------------------------------------------------------------------

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
    home = place / tau.HOME
    texts = {
        home / "wiki.md": "# Policy\n",
        home / "tools" / "__init__.py": "raise SystemExit",
        home / "tools" / "cancel_reservation.py": TOOL,
        home / "tools" / "list_all_airports.py": AIRPORTS,
        home / "tasks_test.py": TASKS,
        home / "data" / "users.json": json.dumps({"ann": USER}),
        home / "data" / "reservations.json": json.dumps({"R1": ROW}),
        home / "data" / "flights.json": "{}",
        place / tau.RECORDED / "x-airline.json": json.dumps([{"task_id": 3, "trial": 1, "traj": TRAJECTORY}]),
        place / tau.RECORDED / "x-retail.json": "not read",
    }
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files.get(path.name.replace(".", "_").replace("-", "_"), text), "utf-8")
    return place


def test_a_checkout_is_read_whole(tmp_path: Path) -> None:
    found = tau.read(checkout(tmp_path))
    assert found.policy == "# Policy\n"
    assert [tool["function"]["name"] for tool in found.tools] == ["cancel_reservation", "list_all_airports"]
    assert found.service.records["airports"] == {"BOS": "Boston", "SEA": "Seattle"}
    assert found.service.now == "2024-05-15T15:00:00"
    assert found.service.records["users"] == {"ann": {**USER, "reservations": ["R1"]}}
    assert found.tasks == (
        {"name": "task-0", "instruction": "Cancel it.", "expect": [{"cancel_reservation": {"reservation_id": "R1"}}]},
        {"name": "task-1", "instruction": "Ask.", "expect": []},
    )
    assert [run.id for run in found.runs] == ["x-airline-tau-airline-3-1"]


def test_each_recorded_call_is_done_again_and_compared(tmp_path: Path) -> None:
    found = tau.read(checkout(tmp_path))
    rows = list(tau.replay(found.service, found.runs[0]))
    assert [(row.tool, row.differs) for row in rows] == [
        ("get_user_details", ("membership",)),
        ("cancel_reservation", ()),
        ("cancel_reservation", ()),
    ]
    assert list(tau.report(rows)) == [
        "all calls: 2 of 3 results are equal",
        "cancel_reservation: 2 of 2 results are equal",
        "get_user_details: 0 of 1 results are equal",
        "get_user_details: 1 differ in membership",
    ]


def test_a_call_is_told_the_records_as_the_calls_before_it_left_them(tmp_path: Path) -> None:
    found = tau.read(checkout(tmp_path))
    run = tau.with_state(found.service, found.runs[0])
    states = [event.what.values for event in run.events if isinstance(event.what, State)]
    assert [state["reservation"] and state["reservation"].get("status") for state in states] == [None, None]
    assert states[0]["reservation"]["reservation_id"] == "R1" and states[1]["reservation"] is None
    looked = [event.what for event in run.events if isinstance(event.what, Lookup)]
    assert [one.tool for one in looked] == ["get_user_details", "get_reservation_details"]
    again = Run(run.id, (*run.events, Event(run.id, Asked(Call("cancel_reservation", {"reservation_id": "R1"})))))
    last = [event.what for event in tau.with_state(found.service, again).events if isinstance(event.what, State)][-1]
    assert last.values["reservation"]["status"] == "cancelled"


def test_the_checkout_s_command_writes_what_wb_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert tau.main([str(checkout(tmp_path / "in")), str(out)]) == 0
    assert "2 of 3 results are equal" in capsys.readouterr().out
    box = tools.parse((out / "tools.json").read_text("utf-8"))
    assert {tool.name: tool.mutating for tool in box.tools} == {"cancel_reservation": True, "list_all_airports": False}
    assert service.records(out / "database.json")["users"]["ann"]["membership"] == "gold"
    tasks = live.load(out / "tasks.yaml")
    assert (tasks.tasks[0].expect[0].tool, tasks.tasks[0].kind) == ("cancel_reservation", "not said")
    assert tasks.ends == {"transfer_to_human_agents"}
    assert (out / "service.yaml").read_bytes() == (ROOT / "policies" / "airline" / "service.yaml").read_bytes()
    (run,) = events.read(out / "runs.jsonl")
    assert sum(isinstance(event.what, Asked) for event in run.events) == 3
    assert tau.main([str(tmp_path), str(out)]) == 1
    assert "wiki.md: a text in UTF-8 was required" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("file", "text", "why"),
    [
        ("wiki_md", "", None),
        ("tasks_test_py", "TASKS = [", "Python was required"),
        ("tasks_test_py", "TASKS = [Task(user_id=name(), instruction='', actions=[])]", "a literal was required"),
        ("tasks_test_py", "TASKS = [Task(user_id='a')]", "line 1: instruction: Field required"),
        (
            "tasks_test_py",
            "TASKS = [Task(user_id='a', instruction='', actions=[run()])]",
            "a literal was required",
        ),
        ("tasks_test_py", "TASKS = []", "a list of tasks was required"),
        ("x_airline_json", "{}", "x-airline.json: : Input should be a valid tuple"),
        ("x_airline_json", '[{"task_id": 1, "trial": 0, "traj": [1]}]', "traj.0: Input should be a valid dict"),
        ("cancel_reservation_py", "def get_info():\n    return make()", "a literal was required"),
        ("cancel_reservation_py", "def get_info():\n    return {'name': 'x'}", "a tool's schema was required"),
        ("cancel_reservation_py", "x = 1", "a function get_info that returns"),
        ("list_all_airports_py", AIRPORTS.replace(', "Seattle"', ""), "two lists, codes and cities"),
        ("users_json", "[]", "Input should be a valid dict"),
        ("users_json", '{"a": 1}', "a: Input should be a valid dict"),
        ("x_airline_json", '[{"task_id": 1, "trial": 0}]', "traj: Field required"),
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
        assert tau.read(place).policy == ""
        return
    with pytest.raises(LineError, match=why):
        tau.read(place)


def test_records_are_read_from_lines_too(tmp_path: Path) -> None:
    (tmp_path / "users.jsonl").write_text(json.dumps({"user_id": "ann", **USER}), "utf-8")
    (tmp_path / "reservations.jsonl").write_text(json.dumps(ROW), "utf-8")
    with gzip.open(tmp_path / "flights.jsonl.gz", "wt") as file:
        file.write(json.dumps({"flight_number": "A1", "dates": {}}))
    found = tau.database(tmp_path)
    assert "user_id" not in found.records["users"]["ann"] and found.records["flights"]["A1"]["flight_number"] == "A1"
    assert found.records["reservations"]["R1"]["reservation_id"] == "R1"
    (tmp_path / "users.jsonl").write_text("{}", "utf-8")
    with pytest.raises(LineError, match="'user_id' were required"):
        tau.database(tmp_path)
    (tmp_path / "users.jsonl").unlink()
    with pytest.raises(LineError, match="got neither"):
        tau.database(tmp_path)


def test_the_recorded_runs_are_reproduced_but_for_a_name_that_the_benchmark_has_changed_since() -> None:
    """The profiles of the recorded runs have a `province` where the database has a `state`; which airports there are
    stands in the code of a checkout, and these data have none."""
    runs = tau.runs(shared("data", "tau_airline"))
    database = tau.database(shared("data", "common", "tau_airline"))
    rows = [row for run in runs for row in tau.replay(database, run) if row.recorded]
    other = Counter((row.tool, len(row.differs) == 2) for row in rows if row.differs)
    assert (len(rows), other) == (486, {("get_user_details", True): 49, ("list_all_airports", False): 1})
    assert {row.differs for row in rows if row.tool == "get_user_details"} == {("address.province", "address.state")}


def test_the_records_before_each_call_are_those_that_its_label_was_made_from() -> None:
    """`state_before` was written by whoever labelled the calls, from a database of their own."""
    database = tau.database(shared("data", "common", "tau_airline"))
    checked = 0
    for run in tau.runs(shared("data", "tau_airline")):
        bare = Run(run.id, tuple(event for event in run.events if not isinstance(event.what, State | Lookup)))
        given, found = [
            [event.what.values for event in one.events if isinstance(event.what, State)]
            for one in (run, tau.with_state(database, bare))
        ]
        assert [list(service.differences(*pair)) for pair in zip(given, found, strict=True)] == [[]] * len(given)
        checked += len(given)
    assert checked == 115


def test_a_result_that_answers_no_call_counts_for_nothing(tmp_path: Path) -> None:
    run = Run("r", (Event("r", Asked(Call("think", {"thought": "?"}), None, "a")), Event("r", Result("", False, "a"))))
    empty = service.made(tau.SERVICE, {"now": "", "users": {}})
    assert [row.differs for row in tau.replay(empty, run)] == [()]
    silent = tau.replay(empty, Run("r", run.events[:1]))
    assert list(tau.report(silent)) == ["all calls: 0 of 0 results are equal"]
