"""Reader of recorded τ-bench airline runs (Yao et al., τ-bench, 2024) with a policy label on each mutating call.

A folder holds two files of JSON lines, each plain or, where that is absent, gzipped.

`runs.jsonl`: `task_id`, `trial` and `messages` of one run; a message has a `role` (user, assistant, tool), `content`,
the assistant's may have a `tool_call` {name, args} and a tool's has the `name` of the tool.  What the agent could
not see (the simulated user's instruction, the reward, the benchmark's own actions) is not read.

`calls.jsonl`: one row a call that changes the database: `task_id`, `trial`, `msg` (its index in `messages`), `tool`,
`args`, `label`, `gold_conflict`, `state_before`.  The label becomes `deny` (violating) or `allow` (compliant), or none:

- ambiguous: the policy can be read both ways, so that neither decision would be wrong;
- api_rejected: no rule of the policy is broken, but the tool itself refuses the call: to let it pass or not is no
  question to the policy;
- gold_conflict, whatever the label: the benchmark's own solution breaks the same rule on the same object, so that
  whoever wrote the tasks and whoever labelled them disagree.

`state_before` becomes a state just before its call, under the names `user` (the profile), `reservation` (the one that
the call names), `flights` (those of the call and its reservation, by "NUMBER|DATE") and `user_reservations` (all of
the user, where the call names none); null where the call has nothing to do with one.  Its `effective_cabin` is left
out: it was inferred from the run for the labels, while the database still held the cabin in `reservation`.
What `get_user_details` and `get_reservation_details` would have given of them stands beside it as lookups.  Nothing is
known of the state at other calls.
"""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic

from wb.domain.events import Asked, Event, Label, Lookup, Result, Run, Say, State, What, dump
from wb.domain.jsonl import LineError, Strict, checked, value
from wb.domain.trace import Call, Value

TIME = "2024-05-15T15:00:00-05:00"  # of all that happens, as the policy says: 15:00 EST
STATE = ("user", "reservation", "flights", "user_reservations")
READ = {"user": ("get_user_details", "user_id"), "reservation": ("get_reservation_details", "reservation_id")}
LABELS: Mapping[str, Label | None] = {
    "violating": "deny",
    "compliant": "allow",
    "ambiguous": None,
    "api_rejected": None,
}


def runs(folder: str | Path) -> tuple[Run, ...]:
    """The runs of a folder in the order of its file; ids are `tau-airline-TASK-TRIAL`, of calls with `-MSG` behind.

    `step` is the index of the message; a call's state and result share its step.  `LineError` says which file and line
    is not what was required, also where the two files do not belong together.
    """
    folder = Path(folder)
    judged: dict[str, tuple[str, _Judged]] = {}
    for where, row in _rows(folder, "calls", _Judged):
        if row.id in judged:
            raise LineError(f"{where}: one row for each call was required; got {row.id} again")
        judged[row.id] = where, row
    found: dict[str, Run] = {}
    for where, row in _rows(folder, "runs", _Recorded):
        if row.id in found:
            raise LineError(f"{where}: one row for each run was required; got {row.id} again")
        found[row.id] = Run(
            row.id, tuple(Event(row.id, what, step, TIME) for step, what in _happened(row, judged, where))
        )
    for where, row in judged.values():  # those that no run has taken out
        raise LineError(f"{where}: a call of a recorded run was required; got {row.id} ({row.tool})")
    return tuple(found.values())


def recorded(task: object, trial: object, messages: Sequence[object], where: str, prefix: str = "") -> Run:
    """One run of its messages alone, without labels or state; its id begins with the prefix.

    Raises:
        LineError: a message is not what was required, or a reply answers no call.
    """
    try:
        row = _Recorded.model_validate({"task_id": task, "trial": trial, "messages": tuple(messages)})
    except pydantic.ValidationError as error:
        problem = error.errors(include_url=False)[0]
        raise LineError(f"{where}: {'.'.join(map(str, problem['loc']))}: {problem['msg']}") from None
    name = f"{prefix}{row.id}"
    return Run(name, tuple(Event(name, what, step, TIME) for step, what in _happened(row, {}, where)))


def looked_up(state: State) -> Iterator[Lookup]:
    """What the tools that read the database would have given just before a call."""
    for name, (tool, argument) in READ.items():
        record = state.values[name]
        if record is not None and argument in record:
            yield Lookup(tool, {argument: record[argument]}, record)


def main(arguments: Sequence[str] | None = None) -> int:
    """`python -m wb.bench.tau FOLDER > runs.jsonl`: the folder's runs as events; the exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if len(arguments) != 1:
        print("usage: python -m wb.bench.tau FOLDER > runs.jsonl", file=sys.stderr)
        return 2
    try:
        found = runs(arguments[0])
    except LineError as error:
        print(error, file=sys.stderr)
        return 1
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    for run in found:
        dump(run.events, sys.stdout)
    return 0


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


class _Row(Strict):
    model_config = pydantic.ConfigDict(extra="ignore")  # the files hold more than a guard may see

    task_id: int
    trial: int


class _Recorded(_Row):
    messages: tuple[Annotated[_User | _Assistant | _Reply, pydantic.Field(discriminator="role")], ...]

    @property
    def id(self) -> str:
        return f"tau-airline-{self.task_id}-{self.trial}"


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

    @property
    def id(self) -> str:
        return f"tau-airline-{self.task_id}-{self.trial}-{self.msg}"


def _rows[M: _Row](folder: Path, name: str, model: type[M]) -> Iterator[tuple[str, M]]:
    """The rows of one of the two files, each with where it stands."""
    names = (f"{name}.jsonl", f"{name}.jsonl.gz")
    path = next((folder / name for name in names if (folder / name).is_file()), None)
    if path is None:
        raise LineError(f"{folder}: a file {' or '.join(names)} was required; got neither")
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as lines:
            for number, row in checked(lines, model, str(path)):
                yield f"{path}, line {number}", row
    except (OSError, EOFError, zlib.error) as error:
        raise LineError(f"{path}: a readable file was required; got {error}") from None


def _happened(row: _Recorded, judged: dict[str, tuple[str, _Judged]], where: str) -> Iterator[tuple[int, What]]:
    """What happened in one run, each with its step; takes the rows of its calls out of `judged`."""
    asked: _ToolCall | None = None  # by the message before
    for index, message in enumerate(row.messages):
        call_id = f"{row.id}-{index}"
        match message:
            case _Reply(name=name, content=content):
                if asked is None or asked.name != name:
                    before = f"a call of {asked.name}" if asked else "no call"
                    raise LineError(
                        f"{where}: a call before the reply of {name} was required; got {before} ({call_id})"
                    )
                yield index - 1, Result(_parsed(content), content.startswith("Error"), f"{row.id}-{index - 1}")
                asked = None
            case _User(content=content) | _Assistant(content=str(content), tool_call=None):
                yield index, Say(message.role, content)
                asked = None
            case _Assistant(content=content, tool_call=_ToolCall() as asked):
                if content:
                    yield index, Say(message.role, content)
                state, label = _judgement(asked, *judged.pop(call_id, ("", None)))
                if state is not None:
                    yield index, state
                    yield from ((index, one) for one in looked_up(state))
                yield index, Asked(Call(asked.name, asked.args), label, call_id)
            case _:
                raise LineError(f"{where}: a text or a call was required; got neither ({call_id})")


def _judgement(asked: _ToolCall, where: str, row: _Judged | None) -> tuple[State | None, Label | None]:
    if row is None:
        return None, None
    if (row.tool, row.args) != (asked.name, asked.args):
        raise LineError(
            f"{where}: the recorded call {row.id} was required, {asked.name} with its arguments; got {row.tool}"
        )
    state = State({name: getattr(row.state_before, name) for name in STATE})
    return state, None if row.gold_conflict else LABELS[row.label]


def _parsed(content: str) -> Value:
    """A reply as JSON where it is that, else as it stands."""
    try:
        return value(content)
    except ValueError:
        return content


if __name__ == "__main__":
    sys.exit(main())
