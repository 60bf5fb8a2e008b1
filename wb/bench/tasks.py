"""Tasks for live runs: what a simulated user wants, and what the records must be in the end (ToolGuard, Sec. 4).

A file `tasks.yaml` beside a policy is an object of `ends`, tools that end a conversation once they are done, and
`tasks`.  A task has a `name`, an `instruction` for the simulated user, which the agent does not see, and `expect`:
calls, as a list of one-key objects, whose effect on the database as it is at first is what must be there in the end; no
call is no change.  `sentence` is what the wish goes against, word for word, where it goes against the policy; `item` is
the item of the gold that it is about; `script` a conversation for a scripted agent and user (`wb.bench.live`), a list
of one-key objects in which `user` and `assistant` are texts and any other key is a tool with its arguments.

The `tasks.json` that `wb.bench.tau_replay` writes of a checkout is read as well.  Which of its wishes go against the
policy is not said there; what the benchmark wants to hear from the agent (`outputs`) is not graded here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pydantic

from wb.bench import tau_database
from wb.bench.guard_tests import SPEAKERS
from wb.bench.tau_database import Database
from wb.bench.tau_replay import differences
from wb.domain import toolfile
from wb.domain.events import Say
from wb.domain.jsonl import Strict
from wb.domain.tools import ToolError
from wb.domain.trace import Call

FILES = ("tasks.yaml", "tasks.json")


class TaskError(ValueError):
    """A file of tasks is not what it must be; the message says where, what was required and what was got."""


@dataclass(frozen=True, slots=True)
class Task:
    """A wish and what must come of it. `violating` says whether the wish goes against the policy, None where nobody
    said so; `sentence` is what it goes against."""

    name: str
    instruction: str
    expect: tuple[Call, ...]
    violating: bool | None = None
    item: str = ""
    sentence: str = ""
    script: tuple[Say | Call, ...] = ()

    @property
    def kind(self) -> str:
        """What the wish is to the policy."""
        return {True: "violating", False: "complying", None: "not said"}[self.violating]


@dataclass(frozen=True, slots=True)
class Tasks:
    """The tasks of a policy, and the tools that end a conversation once they are done."""

    tasks: tuple[Task, ...]
    ends: frozenset[str] = frozenset()


class _Row(Strict):
    name: str = pydantic.Field(pattern=r"\A[A-Za-z0-9][A-Za-z0-9_-]{0,79}\z")  # a folder is called so
    instruction: str = pydantic.Field(min_length=1)
    expect: tuple[dict[str, dict[str, Any]], ...]
    item: str = ""
    sentence: str = ""
    script: tuple[dict[str, Any], ...] = ()

    @pydantic.model_validator(mode="after")
    def _checked(self) -> _Row:
        for happened in (*self.expect, *self.script):
            if len(happened) != 1:
                raise ValueError(f"one key a call or text was required; got {sorted(happened)}")
        for ((kind, told),) in (one.items() for one in self.script):
            if type(told) is not (str if kind in SPEAKERS else dict):
                raise ValueError(f"a text of {' or '.join(SPEAKERS)}, or a tool's arguments, was required; got {kind}")
        return self


class _File(Strict):
    ends: tuple[str, ...] = ()
    tasks: tuple[_Row, ...] = pydantic.Field(min_length=1)


class _Action(Strict):
    tool: str
    arguments: dict[str, Any]


class _Imported(Strict):
    user_id: str
    instruction: str = pydantic.Field(min_length=1)
    actions: tuple[_Action, ...]
    outputs: tuple[Any, ...] = ()


class _Checkout(Strict):
    tasks: tuple[_Imported, ...] = pydantic.Field(min_length=1)


def place(folder: Path) -> Path:
    """The file of tasks in a policy's folder.

    Raises:
        TaskError: there is none.
    """
    found = next((folder / name for name in FILES if (folder / name).is_file()), None)
    if found is None:
        raise TaskError(f"{folder}: a file {' or '.join(FILES)} was required, as wb/bench/tasks.py says; got none")
    return found


def load(path: str | Path) -> Tasks:
    """The tasks of a file.

    Raises:
        TaskError: it is not of the form above, or a name stands there twice.
        OSError: there is no such file.
    """
    try:
        found = toolfile.document(Path(path).read_bytes(), str(path))
        if isinstance(found, tuple):
            rows = _Checkout.model_validate({"tasks": found}).tasks
            made = tuple(_imported(number, row) for number, row in enumerate(rows))
            return Tasks(made, frozenset({tau_database.HANDS_OVER}))
        read = _File.model_validate(found)
    except pydantic.ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = ".".join(map(str, problem["loc"]))
        raise TaskError(f"{path}: {where}: {problem['msg']}; got {str(problem['input'])[:80]}") from None
    except ToolError as error:
        raise TaskError(str(error)) from None
    twice = [name for name, many in Counter(row.name for row in read.tasks).items() if many > 1]
    if twice:
        raise TaskError(f"{path}: names of their own were required; got {twice[0]} twice")
    return Tasks(tuple(_task(row) for row in read.tasks), frozenset(read.ends))


def expected(task: Task, database: Database) -> Database:
    """What must be there in the end.

    Raises:
        TaskError: the tools refuse a call that it expects.
    """
    for one in task.expect:
        answer = tau_database.call(database, one.tool, one.arguments or {})
        if answer.failed:
            raise TaskError(f"{task.name}: a call that the tools do was required; {one.tool} gives {answer.value}")
        database = answer.database
    return database


def graded(task: Task, began: Database, ended: Database) -> tuple[str, ...]:
    """The places where the records are not what they must be; none where the task is done."""
    wanted = expected(task, began)
    found = ((each.name, getattr(wanted, each.name), getattr(ended, each.name)) for each in fields(Database))
    return tuple(where for name, one, other in found for where in differences(one, other, name))


def _task(row: _Row) -> Task:
    script = tuple(_happened(one) for one in row.script)
    calls = tuple(_calls(row.expect))
    return Task(row.name, row.instruction, calls, bool(row.sentence), row.item, row.sentence, script)


def _imported(number: int, row: _Imported) -> Task:
    return Task(f"task-{number}", row.instruction, tuple(Call(one.tool, one.arguments) for one in row.actions))


def _calls(rows: tuple[Mapping[str, Any], ...]) -> Iterator[Call]:
    for ((tool, arguments),) in (one.items() for one in rows):
        yield Call(tool, arguments)


def _happened(one: Mapping[str, Any]) -> Say | Call:
    ((kind, told),) = one.items()
    return Say(kind, told) if kind in SPEAKERS else Call(kind, told)
