"""Recorded airline runs of τ-bench (Yao et al., 2024), labelled ones and those of a whole checkout.

    python -m wb.bench.tau FOLDER > runs.jsonl

reads two files of JSON lines, each plain or gzipped.  `runs.jsonl`: `task_id`, `trial` and `messages` of one run; a
message has a `role` (user, assistant, tool), `content`, the assistant's may have a `tool_call` {name, args} and a
tool's has the `name` of the tool.  What the agent could not see (the simulated user's instruction, the reward, the
benchmark's own actions) is not read.  `calls.jsonl`: one row a call that changes the database: `task_id`, `trial`,
`msg` (its index in `messages`), `tool`, `args`, `label`, `gold_conflict`, `state_before`.

The label becomes `deny` (violating) or `allow` (compliant), or none: *ambiguous*, where the policy can be read both
ways; *api_rejected*, where no rule is broken but the tool itself refuses the call; and *gold_conflict* whatever the
label, where the benchmark's own solution breaks the same rule on the same object, so that the authors of the tasks and
of the labels disagree.

`state_before` becomes a state just before its call, under the names `user` (the profile), `reservation` (the one that
the call names), `flights` (those of the call and its reservation, by "NUMBER|DATE") and `user_reservations` (all of
the user, where the call names none); null where the call has nothing to do with one.  Its `effective_cabin` is left
out: it was inferred from the run for the labels, while the database still held the cabin in `reservation`.
The results of `get_user_details` and `get_reservation_details` on it stand beside it as lookups.

    python -m wb.bench.tau CHECKOUT FOLDER

reads a checkout (`tau_bench/envs/airline` and `historical_trajectories`: policy, tools as schemas, database, tasks,
trajectories) and never runs it: literals are taken from the syntax of its Python files.  It writes `policy.md`,
`tools.json`, `database.json`, `tasks.yaml` and `runs.jsonl` into the folder, beside the `service.yaml` of
`policies/airline`, whose tools are the benchmark's (`wb.bench.service`), does each recorded call again, and prints how
many recorded results that service gives as well; what no run shows (a full flight, an empty gift card, too many
certificates) is compared with nothing.  In `runs.jsonl` a call that changes records has before it the state by that
replay, in the form above.  Which wishes violate the policy is not said there, and what the benchmark wants to hear from
the agent (`outputs`) is not graded by live runs.
"""

from __future__ import annotations

import ast
import gzip
import json
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import pydantic

from wb import paths
from wb.bench import live, service
from wb.bench.service import Service, differences, fitting
from wb.domain import jsonl
from wb.domain.events import Asked, Event, Label, Lookup, Result, Run, Say, State, What, dump
from wb.domain.jsonl import LineError, Strict, checked
from wb.domain.trace import Call, Value

TIME = "2024-05-15T15:00:00-05:00"  # of every event, as the policy says: 15:00 EST
STATE = ("user", "reservation", "flights", "user_reservations")
BEFORE = """(  /* the state in the form of the labelled runs, by the functions of the service */
  $row := $lookup($records.reservations, $string($call.reservation_id));
  $id := $string($exists($call.user_id) ? $call.user_id : $row.user_id);
  $user := $lookup($records.users, $id);
  $rows := $tool = "send_certificate" and $not($exists($row)) ? [$bookings($records, $id)] : [];
  {
    "user": $exists($user) ? $merge([$user, {"user_id": $id}]) : null,
    "reservation": $exists($row) ? $row : null,
    "flights": $flights([$call, $row, $rows]),
    "user_reservations": $count($rows) > 0 ? $rows : null
  })"""
READ = {"user": ("get_user_details", "user_id"), "reservation": ("get_reservation_details", "reservation_id")}
LABELS: Mapping[str, Label | None] = {
    "violating": "deny",
    "compliant": "allow",
    "ambiguous": None,
    "api_rejected": None,
}
HOME, RECORDED = Path("tau_bench", "envs", "airline"), "historical_trajectories"
SERVICE, ENDS = paths.ROOT / "policies" / "airline" / service.FILE, "transfer_to_human_agents"
RECORDS = {"flights": "flight_number", "users": "user_id", "reservations": "reservation_id"}  # a file, its rows' key


class _User(Strict):
    role: Literal["user"]
    content: str


class _ToolCall(Strict):
    name: str
    args: dict[str, Any]


class _Assistant(Strict):
    role: Literal["assistant"]
    content: str | None
    tool_call: _ToolCall | None = None


class _Reply(Strict):
    role: Literal["tool"]
    name: str
    content: str


class _Row(Strict, extra="ignore"):  # the files hold more than a guard may see
    task_id: int
    trial: int

    @property
    def run(self) -> str:
        return f"tau-airline-{self.task_id}-{self.trial}"


class _Recorded(_Row):
    messages: tuple[Annotated[_User | _Assistant | _Reply, pydantic.Field(discriminator="role")], ...]


class _Before(Strict):
    user: dict[str, Any] | None = None
    reservation: dict[str, Any] | None = None
    flights: dict[str, Any] | None = None
    user_reservations: tuple[dict[str, Any], ...] | None = None
    effective_cabin: str | None = None


class _Judged(_Row):
    msg: int
    tool: str
    args: dict[str, Any]
    label: Literal["violating", "compliant", "ambiguous", "api_rejected"]
    gold_conflict: bool
    state_before: _Before


Judged = dict[str, tuple[str, _Judged]]  # by call id: where the row stands, and the row


def runs(folder: str | Path) -> tuple[Run, ...]:
    """The labelled runs of a folder in the order of its file; ids are `tau-airline-TASK-TRIAL`, of calls with `-MSG`.

    `step` is the index of the message; a call's state and result share its step.

    Raises:
        LineError: a row is not what was required, or the two files do not belong together.
    """
    judged: Judged = {}
    for where, row in _rows(Path(folder), "calls", _Judged):
        _once(judged, f"{row.run}-{row.msg}", (where, row), where, "call")
    found: dict[str, Run] = {}
    for where, row in _rows(Path(folder), "runs", _Recorded):
        _once(found, row.run, _run(row, judged, where), where, "run")
    for where, row in judged.values():  # those that no run has taken out
        raise LineError(f"{where}: a call of a recorded run was required; got {row.run}-{row.msg} ({row.tool})")
    return tuple(found.values())


def looked_up(state: State) -> Iterator[Lookup]:
    """The results of the tools that read the database, just before a call."""
    for name, (tool, argument) in READ.items():
        record = state.values[name]
        if record is not None and argument in record:
            yield Lookup(tool, {argument: record[argument]}, record)


def _once[T](rows: dict[str, T], id: str, row: T, where: str, kind: str) -> None:
    if id in rows:
        raise LineError(f"{where}: one row for each {kind} was required; got {id} again")
    rows[id] = row


def _rows[M: _Row](folder: Path, name: str, model: type[M]) -> Iterator[tuple[str, M]]:
    """The rows of one of the two files, each with where it stands."""
    path, lines = _lines(folder, name)
    with closing(lines):
        for number, row in checked(lines, model, str(path)):
            yield f"{path}, line {number}", row


def _lines(folder: Path, name: str) -> tuple[Path, Iterator[bytes]]:
    """A file of lines, plain or gzipped."""
    names = (f"{name}.jsonl", f"{name}.jsonl.gz")
    path = next((folder / each for each in names if (folder / each).is_file()), None)
    if path is None:
        raise LineError(f"{folder}: a file {' or '.join(names)} was required; got neither")

    def lines() -> Iterator[bytes]:
        try:
            with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
                yield from file
        except (OSError, EOFError, zlib.error) as error:
            raise LineError(f"{path}: a readable file was required; got {error}") from None

    return path, lines()


def _run(row: _Recorded, judged: Judged, where: str, prefix: str = "") -> Run:
    name = f"{prefix}{row.run}"
    return Run(name, tuple(Event(name, what, step, TIME) for step, what in _events(row, judged, where)))


def _events(row: _Recorded, judged: Judged, where: str) -> Iterator[tuple[int, What]]:
    """The events of one run, each with its step; takes the rows of its calls out of `judged`."""
    asked: _ToolCall | None = None  # by the message before
    for index, message in enumerate(row.messages):
        call_id = f"{row.run}-{index}"
        match message:
            case _Reply(name=name, content=content):
                if asked is None or asked.name != name:
                    got = f"a call of {asked.name}" if asked else "no call"
                    raise LineError(f"{where}: a call before the reply of {name} was required; got {got} ({call_id})")
                yield index - 1, Result(_parsed(content), content.startswith("Error"), f"{row.run}-{index - 1}")
                asked = None
            case _User(content=content) | _Assistant(content=str(content), tool_call=None):
                yield index, Say(message.role, content)
                asked = None
            case _Assistant(content=content, tool_call=_ToolCall() as asked):
                if content:
                    yield index, Say(message.role, content)
                label = None
                if call_id in judged:
                    place, verdict = judged.pop(call_id)
                    if (verdict.tool, verdict.args) != (asked.name, asked.args):
                        wanted = f"{place}: the recorded call {call_id} was required, {asked.name} with its arguments"
                        raise LineError(f"{wanted}; got {verdict.tool}")
                    state = State({name: getattr(verdict.state_before, name) for name in STATE})
                    label = None if verdict.gold_conflict else LABELS[verdict.label]
                    yield from ((index, what) for what in (state, *looked_up(state)))
                yield index, Asked(Call(asked.name, asked.args), label, call_id)
            case _:
                raise LineError(f"{where}: a text or a call was required; got neither ({call_id})")


def _parsed(content: str) -> Value:
    """A reply as JSON where it is that, else as it stands."""
    try:
        return jsonl.value(content)
    except ValueError:
        return content


# ---- recorded calls done again --------------------------------------------------------------------------------------


class Replayed(NamedTuple):
    """A call of a recorded run, the service before it, the answer of the replay, and the recorded result if any."""

    event: Event
    before: Service
    answer: service.Answer
    recorded: Result | None

    @property
    def tool(self) -> str:
        return self.event.what.call.tool

    @property
    def differs(self) -> tuple[str, ...]:
        """The places where the replay's result is another one than the recorded."""
        return tuple(differences(self.recorded.value, self.answer.value)) if self.recorded else ()


def replay(began: Service, run: Run) -> Iterator[Replayed]:
    """Every call of a run in order, done as the calls before it left the records."""
    results = {event.what.call_id: event.what for event in run.events if isinstance(event.what, Result)}
    for event in run.events:
        if isinstance(event.what, Asked):
            answer = began.call(event.what.call.tool, event.what.call.arguments)
            yield Replayed(event, began, answer, results.get(event.what.call_id))
            began = answer.after


def with_state(began: Service, run: Run) -> Run:
    """The run with the state before each call that changes records, and the lookups of it."""
    changing = began.changing
    done = [one for one in replay(began, run) if one.tool in changing]
    states = {id(one.event): State(one.before.observable(one.event.what.call, BEFORE)) for one in done}
    events: list[Event] = []
    for event in run.events:
        if state := states.get(id(event)):
            events += [Event(run.id, what, event.step, event.time) for what in (state, *looked_up(state))]
        events.append(event)
    return Run(run.id, tuple(events))


def report(replayed: Iterable[Replayed]) -> Iterator[str]:
    """How many results are equal, all and by tool, and where the others differ."""
    rows = tuple(row for row in replayed if row.recorded)
    for name in ("", *sorted({row.tool for row in rows})):
        some = [row for row in rows if not name or row.tool == name]
        yield f"{name or 'all calls'}: {sum(not row.differs for row in some)} of {len(some)} results are equal"
    for (tool, places), count in sorted(Counter((row.tool, row.differs) for row in rows if row.differs).items()):
        yield f"{tool}: {count} differ in {', '.join(places)}"


# ---- a checkout -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Checkout:
    """The airline of a checkout: `tools` are schemas, `tasks` in the form of `wb.bench.live`, `runs` as recorded."""

    policy: str
    tools: tuple[Mapping[str, Any], ...]
    service: Service
    tasks: tuple[Mapping[str, Any], ...]
    runs: tuple[Run, ...]


class _Trajectory(_Row):
    traj: tuple[dict[str, Any], ...]


def read(folder: str | Path) -> Checkout:
    """The airline of a checkout.

    Raises:
        LineError: a file is not there or not what was required.
    """
    home = Path(folder) / HOME
    tools = [_schema(path) for path in sorted((home / "tools").glob("[!_]*.py"))]
    recorded = [run for path in sorted((Path(folder) / RECORDED).glob("*-airline.json")) for run in _trajectories(path)]
    policy, airports = _text(home / "wiki.md"), _airports(home / "tools" / "list_all_airports.py")
    began, tasks = database(home / "data", airports), tuple(_tasks(home / "tasks_test.py"))
    return Checkout(policy, tuple(tools), began, tasks, tuple(recorded))


def database(folder: str | Path, airports: Mapping[str, str] | None = None) -> Service:
    """The tools over a folder of records: `NAME.json` by id, or `NAME.jsonl`, plain or gzipped, a row each.

    Raises:
        LineError: a file is not there or not what was required.
    """
    kinds = {name: _records(Path(folder), name) for name in RECORDS}
    return service.made(SERVICE, {"now": TIME[:19], "airports": airports or {}, **kinds})


def _records(folder: Path, name: str) -> dict[str, Any]:
    """The records of one kind by their ids. Rows of a file of lines name themselves."""
    if (folder / f"{name}.json").is_file():
        path = folder / f"{name}.json"
        return fitting(dict[str, dict[str, Any]], _json(path), path, LineError)
    path, lines = _lines(folder, name)
    try:
        rows = [jsonl.value(line.decode("utf-8")) for line in lines if line.strip()]
    except ValueError as error:
        raise LineError(f"{path}: lines of JSON were required; got {error}") from None
    key = RECORDS[name]
    if not all(isinstance(row, dict) and isinstance(row.get(key), str) for row in rows):
        raise LineError(f"{path}: objects with a text {key!r} were required")
    own = {key} if name == "users" else set()  # a profile does not hold the id that it is kept under
    return {row[key]: {k: v for k, v in row.items() if k not in own} for row in rows}


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LineError(f"{path}: a text in UTF-8 was required; got {error}") from None


def _json(path: Path) -> Value:
    try:
        return jsonl.value(_text(path))
    except ValueError as error:
        raise LineError(f"{path}: {error}") from None


def _nodes[N: ast.AST](path: Path, kind: type[N], wanted: Callable[[N], bool]) -> Iterator[N]:
    """The nodes of a kind in a file of Python."""
    try:
        tree = ast.parse(_text(path))
    except (SyntaxError, ValueError, RecursionError) as error:
        raise LineError(f"{path}: Python was required; got {error}") from None
    return (node for node in ast.walk(tree) if isinstance(node, kind) and wanted(node))


def _literal(node: ast.AST | None, path: Path) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError) as error:
        raise LineError(f"{path}, line {getattr(node, 'lineno', 1)}: a literal was required; got {error}") from None


def _schema(path: Path) -> Mapping[str, Any]:
    """The schema that a tool gives of itself."""
    for function in _nodes(path, ast.FunctionDef, lambda node: node.name == "get_info"):
        returned = next((node.value for node in ast.walk(function) if isinstance(node, ast.Return)), None)
        schema = _literal(returned, path)
        if isinstance(schema, dict) and "name" in schema.get("function", ()):
            return schema
    raise LineError(f"{path}: a function get_info that returns a tool's schema was required; got none")


def _airports(path: Path) -> dict[str, str]:
    """The cities by the codes of their airports, which stand there as two lists."""
    nodes = _nodes(path, ast.Assign, lambda node: isinstance(node.value, ast.List))
    lists = [_literal(node.value, path) for node in nodes]
    if len(lists) != 2 or len(lists[0]) != len(lists[1]):
        raise LineError(f"{path}: two lists, codes and cities, were required; got {len(lists)}")
    return dict(zip(*lists, strict=True))


class _Action(Strict):
    name: str
    kwargs: dict[str, Any]


class _Wish(Strict, extra="ignore"):
    instruction: str
    actions: list[_Action]


def _tasks(path: Path) -> Iterator[Mapping[str, Any]]:
    """The user's wish and the calls that solve it, of each `Task(…)` in the first list of them."""
    for tasks in _nodes(path, ast.List, lambda node: bool(node.elts) and all(_is(one, "Task") for one in node.elts)):
        for number, task in enumerate(tasks.elts):
            wish = fitting(_Wish, _keywords(task, path), f"{path}, line {task.lineno}", LineError)
            calls = [{one.name: one.kwargs} for one in wish.actions]
            yield {"name": f"task-{number}", "instruction": wish.instruction, "expect": calls}
        return
    raise LineError(f"{path}: a list of tasks was required; got none")


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _keywords(node: ast.expr, path: Path) -> Any:
    """The keyword arguments of `Task(…)` and, in its lists, of `Action(…)`; anything else must be a literal."""
    if _is(node, "Task") or _is(node, "Action"):
        return {word.arg: _keywords(word.value, path) for word in node.keywords}
    if isinstance(node, ast.List):
        return [_keywords(part, path) for part in node.elts]
    return _literal(node, path)


def _trajectories(path: Path) -> Iterator[Run]:
    """The recorded runs of a file; ids tell the file, the task and the trial."""
    for number, row in enumerate(fitting(tuple[_Trajectory, ...], _json(path), path, LineError)):
        where = f"{path}, run {number}"
        messages = tuple(_message(one, where) for one in row.traj if one.get("role") != "system")
        content = {"task_id": row.task_id, "trial": row.trial, "messages": messages}
        yield _run(fitting(_Recorded, content, where, LineError), {}, where, f"{path.stem}-")


def _message(row: Mapping[str, Any], where: str) -> dict[str, Any]:
    """A message of OpenAI's chat in the form of the labelled runs. Of several calls only the first was done."""
    message = {name: row[name] for name in ("role", "content", "name") if name in row}
    try:
        for call in (row.get("tool_calls") or ())[:1]:
            function = call["function"]
            message["tool_call"] = {"name": function["name"], "args": jsonl.value(function["arguments"])}
    except (KeyError, TypeError, ValueError) as error:
        raise LineError(f"{where}: a call of a function with JSON arguments was required; got {error}") from None
    return message


def _write(checkout: Checkout, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    changing = checkout.service.changing
    tools = [{**tool["function"], "mutating": tool["function"]["name"] in changing} for tool in checkout.tools]
    tasks = {"ends": [ENDS], "labelled": False, "tasks": checkout.tasks}
    files = {"tools.json": {"tools": tools}, service.DATABASE: checkout.service.records, live.FILE: tasks}
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content, indent=1), "utf-8")
    (folder / "policy.md").write_text(checkout.policy, "utf-8")
    (folder / service.FILE).write_text(SERVICE.read_text("utf-8"), "utf-8")
    with (folder / "runs.jsonl").open("w", encoding="utf-8", newline="\n") as file:
        for run in checkout.runs:
            dump(with_state(checkout.service, run).events, file)


def main(arguments: Sequence[str] | None = None) -> int:
    """The two commands above; the exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        match arguments:
            case [folder]:
                found = runs(folder)
                sys.stdout.reconfigure(encoding="utf-8", newline="\n")
                for run in found:
                    dump(run.events, sys.stdout)
            case [checkout, folder]:
                content = read(checkout)
                _write(content, Path(folder))
                print(*report(row for run in content.runs for row in replay(content.service, run)), sep="\n")
            case _:
                print("usage: python -m wb.bench.tau FOLDER > runs.jsonl\n", end="", file=sys.stderr)
                print("       python -m wb.bench.tau CHECKOUT FOLDER", file=sys.stderr)
                return 2
    except LineError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
