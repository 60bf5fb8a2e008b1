"""Tasks for live runs: the wish of a simulated user, and the expected records in the end (ToolGuard, Sec. 4).

A file `tasks.yaml` beside a policy is an object of `ends`, tools that end a conversation once they are done, and
`tasks`.  A task has a `name`, an `instruction` for the simulated user, which the agent does not see, and `expect`:
calls, as a list of one-key objects, whose effect on the initial database is what must be there in the end; no call is
no change.  `sentence` is the policy's sentence that the wish violates, word for word; `item` is the item of the gold
that it is about; `script` a conversation for a scripted agent and user (`wb.bench.live`), a list of one-key objects in
which `user` and `assistant` are texts and any other key is a tool with its arguments.

The `tasks.json` that `wb.bench.tau` writes of a checkout is read as well.  Which of its wishes violate the policy is
not said there; what the benchmark wants to hear from the agent (`outputs`) is not graded here.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import pydantic

from wb.bench import guard_tests, tau_database
from wb.bench.guard_tests import History
from wb.bench.tau_database import Database
from wb.domain.events import Say
from wb.domain.jsonl import Strict
from wb.domain.trace import Call

FILES = ("tasks.yaml", "tasks.json")


class TaskError(ValueError):
    """A file of tasks is not what it must be; the message says where, what was required and what was got."""


@dataclass(frozen=True, slots=True)
class Task:
    """A wish and the calls whose effect it must have. `violating` says whether it violates the policy, in its
    `sentence`; None where nobody said so."""

    name: str
    instruction: str
    expect: tuple[Call, ...]
    violating: bool | None = None
    item: str = ""
    sentence: str = ""
    script: tuple[Say | Call, ...] = ()

    @property
    def kind(self) -> str:
        """The wish's relation to the policy."""
        return {True: "violating", False: "complying", None: "not said"}[self.violating]


@dataclass(frozen=True, slots=True)
class Tasks:
    """The tasks of a policy, and the tools that end a conversation once they are done."""

    tasks: tuple[Task, ...]
    ends: frozenset[str] = frozenset()


class _Row(Strict):
    name: str = pydantic.Field(pattern=r"\A[A-Za-z0-9][A-Za-z0-9_-]{0,79}\z")  # also the name of a folder
    instruction: str = pydantic.Field(min_length=1)
    expect: tuple[Annotated[Call, pydantic.PlainValidator(guard_tests.as_call)], ...]
    item: str = ""
    sentence: str = ""
    script: History = ()


class _File(Strict):
    ends: tuple[str, ...] = ()
    tasks: tuple[_Row, ...] = pydantic.Field(min_length=1)


class _Imported(Strict, extra="ignore"):
    class Action(Strict):
        tool: str
        arguments: dict[str, Any]

    instruction: str = pydantic.Field(min_length=1)
    actions: tuple[Action, ...]


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
    if isinstance(content := guard_tests.content(path, TaskError), tuple):
        rows = guard_tests.checked(_Checkout, {"tasks": content}, path, TaskError).tasks
        calls = [tuple(Call(one.tool, one.arguments) for one in row.actions) for row in rows]
        made = [Task(f"task-{n}", row.instruction, done) for n, (row, done) in enumerate(zip(rows, calls, strict=True))]
        return Tasks(tuple(made), frozenset({tau_database.HANDS_OVER}))
    read = guard_tests.checked(_File, content, path, TaskError)
    if twice := [name for name, count in Counter(row.name for row in read.tasks).items() if count > 1]:
        raise TaskError(f"{path}: names of their own were required; got {twice[0]} twice")
    return Tasks(tuple(Task(violating=bool(row.sentence), **dict(row)) for row in read.tasks), frozenset(read.ends))


def expected(task: Task, database: Database) -> Database:
    """The records that must be there in the end.

    Raises:
        TaskError: the tools refuse a call that it expects.
    """
    for call in task.expect:
        answer = tau_database.call(database, call.tool, call.arguments)
        if answer.failed:
            raise TaskError(f"{task.name}: a call that the tools do was required; {call.tool} gives {answer.value}")
        database = answer.database
    return database


def graded(task: Task, initial: Database, final: Database) -> tuple[str, ...]:
    """The places where the records are not the expected ones; none where the task is done."""
    wanted = expected(task, initial)
    pairs = ((each.name, getattr(wanted, each.name), getattr(final, each.name)) for each in fields(Database))
    return tuple(where for name, one, other in pairs for where in tau_database.differences(one, other, name))
