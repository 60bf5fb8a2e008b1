"""Recorded runs of τ-bench's airline, done again: each call on the database, its result beside the recorded one.

A checkout of τ-bench (`tau_bench/envs/airline` and `historical_trajectories`) holds everything: the policy, the tools
as schemas, the database, the tasks with the actions that solve them, and recorded runs.  It is read, never run: what
stands in its Python files as a literal is taken from their syntax.

    python -m wb.bench.tau_replay CHECKOUT FOLDER

writes `policy.md`, `tools.json`, `database.json`, `tasks.json` and `runs.jsonl` into the folder, in the forms that `wb`
reads, and prints how many recorded results the tools of `wb.bench.tau_database` give as well.  In `runs.jsonl` a call
that changes records has before it what the records were, by replay, as `wb.bench.tau` has it.
"""

from __future__ import annotations

import ast
import gzip
import json
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from wb.bench import tau, tau_database
from wb.bench.tau_database import Database
from wb.domain import jsonl
from wb.domain.events import Asked, Event, Result, Run, State, dump
from wb.domain.jsonl import LineError
from wb.domain.trace import Call, Value

HOME = Path("tau_bench", "envs", "airline")
RECORDED = "historical_trajectories"
RECORDS = {"flights": "flight_number", "users": "user_id", "reservations": "reservation_id"}  # a file, what names a row
CHANGING = frozenset(
    name
    for name in tau_database.TOOLS
    if name.startswith(("book_", "cancel_", "send_", "update_"))  # of the benchmark's own names
)


class Task(NamedTuple):
    """What a simulated user is told to want, and the calls that solve it."""

    user_id: str
    instruction: str
    actions: tuple[Call, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Checkout:
    """What a checkout holds of the airline: `tools` are schemas, `runs` as they were recorded."""

    policy: str
    tools: tuple[Mapping[str, Any], ...]
    database: Database
    tasks: tuple[Task, ...]
    runs: tuple[Run, ...]


class Replayed(NamedTuple):
    """A recorded call with its recorded result and that of the replay; `differs` are the places where these do."""

    id: str
    tool: str
    recorded: Value
    given: Value
    differs: tuple[str, ...]


def read(folder: str | Path) -> Checkout:
    """What a checkout holds.

    Raises:
        LineError: a file is not there or not what was required.
    """
    home = Path(folder) / HOME
    tools = [_info(path) for path in sorted((home / "tools").glob("[!_]*.py"))]
    runs = [run for path in sorted((Path(folder) / RECORDED).glob("*-airline.json")) for run in _trajectories(path)]
    return Checkout(
        _text(home / "wiki.md"),
        tuple(tools),
        database(home / "data", _airports(home / "tools" / "list_all_airports.py")),
        tuple(_tasks(home / "tasks_test.py")),
        tuple(runs),
    )


def database(folder: str | Path, airports: Mapping[str, str] = {}) -> Database:  # noqa: B006 - it is never changed
    """The database of a folder of records: `NAME.json` by id, or `NAME.jsonl`, plain or gzipped, a row each.

    Raises:
        LineError: a file is not there or not what was required.
    """
    return Database(tau.TIME[:19], airports=airports, **{name: _records(Path(folder), name) for name in RECORDS})


def replay(database: Database, run: Run) -> Iterator[Replayed]:
    """Each call of a run that has a result, done on the database as the calls before it left it."""
    for event, answer, recorded, _ in _done(database, run):
        if recorded is not None:
            yield Replayed(
                event.what.call_id or run.id,
                event.what.call.tool,
                recorded.value,
                answer.value,
                tuple(differences(recorded.value, answer.value)),
            )


def told(database: Database, run: Run) -> Run:
    """The run with what the records were before each call that changes some, and what could be looked up of it."""
    known = {
        id(event): State(tau_database.before(at, event.what.call))
        for event, _, _, at in _done(database, run)
        if event.what.call.tool in CHANGING
    }
    found: list[Event] = []
    for event in run.events:
        if state := known.get(id(event)):
            found += [Event(run.id, what, event.step, event.time) for what in (state, *tau.looked_up(state))]
        found.append(event)
    return Run(run.id, tuple(found))


def differences(one: Value, other: Value, place: str = "") -> Iterator[str]:
    """The places where two JSON values are not the same; the items of lists have no place of their own."""
    if one is other:
        return
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for name in sorted(one.keys() | other.keys()):
            inner = f"{place}.{name}" if place else name
            if name not in one or name not in other:
                yield inner
            else:
                yield from differences(one[name], other[name], inner)
    elif isinstance(one, tuple | list) and isinstance(other, tuple | list) and len(one) == len(other):
        found = [where for left, right in zip(one, other, strict=True) for where in differences(left, right, place)]
        yield from dict.fromkeys(found)
    elif one != other or isinstance(one, bool) is not isinstance(other, bool):
        yield place or "."


def main(arguments: Sequence[str] | None = None) -> int:
    """`python -m wb.bench.tau_replay CHECKOUT FOLDER`; the exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if len(arguments) != 2:
        print("usage: python -m wb.bench.tau_replay CHECKOUT FOLDER", file=sys.stderr)
        return 2
    try:
        found = read(arguments[0])
    except LineError as error:
        print(error, file=sys.stderr)
        return 1
    _write(found, Path(arguments[1]))
    for line in report(one for run in found.runs for one in replay(found.database, run)):
        print(line)
    return 0


def report(replayed: Iterable[Replayed]) -> Iterator[str]:
    """How many results are equal, all and by tool, and where the others differ."""
    rows = tuple(replayed)
    for name in ("", *sorted({row.tool for row in rows})):
        some = [row for row in rows if not name or row.tool == name]
        yield f"{name or 'all calls'}: {sum(not row.differs for row in some)} of {len(some)} results are equal"
    for (tool, places), many in sorted(Counter((row.tool, row.differs) for row in rows if row.differs).items()):
        yield f"{tool}: {many} differ in {', '.join(places)}"


class _Step(NamedTuple):
    event: Event
    answer: tau_database.Answer
    recorded: Result | None
    before: Database


def _done(database: Database, run: Run) -> Iterator[_Step]:
    """Every call of a run in order, with the recorded result where there is one."""
    results = {event.what.call_id: event.what for event in run.events if isinstance(event.what, Result)}
    for event in run.events:
        if isinstance(event.what, Asked):
            call, was = event.what.call, database
            answer = tau_database.call(database, call.tool, call.arguments or {})
            database = answer.database
            yield _Step(event, answer, results.get(event.what.call_id), was)


def _write(found: Checkout, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "policy.md").write_text(found.policy, "utf-8")
    tools = [{**tool["function"], "mutating": tool["function"]["name"] in CHANGING} for tool in found.tools]
    (folder / "tools.json").write_text(json.dumps({"tools": tools}, indent=1), "utf-8")
    records = {name: getattr(found.database, name) for name in ("now", "airports", *RECORDS)}
    (folder / "database.json").write_text(json.dumps(records), "utf-8")
    tasks = [
        {
            "user_id": task.user_id,
            "instruction": task.instruction,
            "actions": [{"tool": one.tool, "arguments": one.arguments} for one in task.actions],
            "outputs": task.outputs,
        }
        for task in found.tasks
    ]
    (folder / "tasks.json").write_text(json.dumps(tasks, indent=1), "utf-8")
    with (folder / "runs.jsonl").open("w", encoding="utf-8", newline="\n") as file:
        for run in found.runs:
            dump(told(found.database, run).events, file)


# ---- what stands in the files -----------------------------------------------------------------------------------


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


def _records(folder: Path, name: str) -> dict[str, Any]:
    """The records of one kind by their ids. Rows of a file of lines name themselves."""
    if (folder / f"{name}.json").is_file():
        found = _json(folder / f"{name}.json")
        if not isinstance(found, dict) or not all(isinstance(row, dict) for row in found.values()):
            raise LineError(f"{folder / name}.json: an object of records by id was required; got {jsonl.shown(found)}")
        return found
    path = next((p for p in (folder / f"{name}.jsonl", folder / f"{name}.jsonl.gz") if p.is_file()), None)
    if path is None:
        raise LineError(f"{folder}: {name}.json, {name}.jsonl or {name}.jsonl.gz was required; got none")
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as lines:
            rows = [jsonl.value(line) for line in lines if line.strip()]
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise LineError(f"{path}: lines of JSON were required; got {error}") from None
    key = RECORDS[name]
    if not all(isinstance(row, dict) and isinstance(row.get(key), str) for row in rows):
        raise LineError(f"{path}: objects with a text {key!r} were required")
    own = {key} if name == "users" else set()  # the profile does not hold the id that it is kept under
    return {row[key]: {k: v for k, v in row.items() if k not in own} for row in rows}


def _syntax(path: Path) -> ast.Module:
    try:
        return ast.parse(_text(path))
    except (SyntaxError, ValueError, RecursionError) as error:
        raise LineError(f"{path}: Python was required; got {error}") from None


def _literal(node: ast.AST, path: Path) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError) as error:
        raise LineError(f"{path}, line {getattr(node, 'lineno', 1)}: a literal was required; got {error}") from None


def _first[N: ast.AST](path: Path, kind: type[N], wanted: Callable[[N], bool], what: str) -> N:
    found = next((node for node in ast.walk(_syntax(path)) if isinstance(node, kind) and wanted(node)), None)
    if found is None:
        raise LineError(f"{path}: {what} was required; got none")
    return found


def _info(path: Path) -> Mapping[str, Any]:
    """The schema that a tool gives of itself."""
    function = _first(path, ast.FunctionDef, lambda node: node.name == "get_info", "a function get_info")
    given = [node.value for node in ast.walk(function) if isinstance(node, ast.Return) and node.value is not None]
    info = _literal(given[0], path) if given else None
    if not isinstance(info, dict) or not isinstance(info.get("function"), dict) or "name" not in info["function"]:
        raise LineError(f"{path}: get_info that returns a tool's schema was required; got {jsonl.shown(info)}")
    return info


def _airports(path: Path) -> dict[str, str]:
    """The cities by the codes of their airports, which stand there as two lists."""
    lists = [
        _literal(node.value, path)
        for node in ast.walk(_syntax(path))
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.List)
    ]
    if len(lists) != 2 or len(lists[0]) != len(lists[1]):
        raise LineError(f"{path}: two lists, codes and cities, were required; got {len(lists)}")
    return dict(zip(*lists, strict=True))


def _tasks(path: Path) -> Iterator[Task]:
    listed = _first(path, ast.List, _listed, "a list of tasks")
    for one in listed.elts:
        given = {word.arg: word.value for word in one.keywords}
        if not {"user_id", "instruction", "actions"} <= given.keys() or not isinstance(given["actions"], ast.List):
            raise LineError(f"{path}, line {one.lineno}: user_id, instruction and actions were required")
        actions = []
        for action in given["actions"].elts:
            words = {w.arg: _literal(w.value, path) for w in action.keywords} if _calls(action, "Action") else {}
            if words.keys() != {"name", "kwargs"}:
                raise LineError(f"{path}, line {action.lineno}: an action of name and kwargs was required")
            actions.append(Call(words["name"], words["kwargs"]))
        outputs = _literal(given["outputs"], path) if "outputs" in given else []
        if not isinstance(outputs, list):
            raise LineError(f"{path}, line {one.lineno}: a list of outputs was required; got {jsonl.shown(outputs)}")
        user, wish = [_literal(given[name], path) for name in ("user_id", "instruction")]
        yield Task(user, wish, tuple(actions), tuple(outputs))


def _listed(node: ast.List) -> bool:
    return bool(node.elts) and all(_calls(one, "Task") for one in node.elts)


def _calls(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _trajectories(path: Path) -> Iterator[Run]:
    """The recorded runs of a file; ids tell the file, the task and the trial."""
    rows = _json(path)
    if not isinstance(rows, tuple):
        raise LineError(f"{path}: a list of runs was required; got {jsonl.shown(rows)}")
    for number, row in enumerate(rows):
        where = f"{path}, run {number}"
        if not isinstance(row, dict) or not isinstance(row.get("traj"), tuple):
            raise LineError(f"{where}: an object with a list 'traj' was required; got {jsonl.shown(row)}")
        if not all(isinstance(one, dict) for one in row["traj"]):
            raise LineError(f"{where}: messages that are objects were required; got {jsonl.shown(row['traj'])}")
        messages = [_message(one, where) for one in row["traj"] if one.get("role") != "system"]
        yield tau.recorded(row.get("task_id"), row.get("trial"), messages, where, f"{path.stem}-")


def _message(row: Mapping[str, Any], where: str) -> dict[str, Any]:
    """A message of OpenAI's chat as `wb.bench.tau` reads it. Of several calls only the first was done."""
    kept = {name: row[name] for name in ("role", "content", "name") if name in row}
    if not row.get("tool_calls"):
        return kept
    try:
        function = row["tool_calls"][0]["function"]
        return {**kept, "tool_call": {"name": function["name"], "args": jsonl.value(function["arguments"])}}
    except (KeyError, TypeError, ValueError) as error:
        raise LineError(f"{where}: a call of a function with JSON arguments was required; got {error}") from None


if __name__ == "__main__":
    sys.exit(main())
