"""Live runs: an agent, a simulated user and a policy's own tools on its own records (`wb.bench.service`), with its
guards before each call (ToolGuard, Sec. 4).

The user begins the conversation; then the agent says something, which the user answers, or asks for a call, which is
made by the adapter for OpenAI tool calls (`wb.adapters.openai`): the result of a refused call is the refusal, and the
agent may do something else.  It ends when the user says so, when a tool that ends it was done, or at a bound; a task is
done only where one of the first two came, since an agent that breaks off has changed nothing either.

Four strategies (the paper's, in its order): *original* has no guards; the two reminders ask the agent about each call
that it wants to make once more, with the whole policy, or with the items mapped onto the call's tool, in sight, and
its second answer is what happens (the paper says "before each agent action, prompting for reconsideration"); only
*toolguards* holds the agent to the guards.  In the other three they watch and let pass.

Agent and user are functions of the conversation so far.  Those that ask a model are made by `agent` and `user`;
`scripted` makes both of a script, so that the same code runs without a model: a baseline, which reads nothing.

A file `tasks.yaml` beside a policy is an object of `ends`, tools that end a conversation once they are done, and
`tasks`; `labelled` is false where nobody said which of them violate the policy.  A task has a `name`, an `instruction`
for the simulated user, which the agent does not see, and `expect`:
calls, as a list of one-key objects, whose effect on the initial records is what must be there in the end; no call is
no change.  `sentence` is the policy's sentence that the wish violates, word for word; `item` is the item of the gold
that it is about; `script` a conversation for a scripted agent and user, a list of one-key objects in
which `user` and `assistant` are texts and any other key is a tool with its arguments.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import pydantic

from wb.adapters import enforcement, openai
from wb.bench import guard_tests
from wb.bench.guard_tests import History
from wb.bench.service import Service, content, differences, fitting
from wb.domain.events import Say
from wb.domain.jsonl import Strict
from wb.domain.session import Session
from wb.domain.tools import Toolbox
from wb.domain.trace import Call, Value
from wb.models.client import LLM
from wb.models.endpoint import MalformedReply, TruncatedReply
from wb.rules.items import Item

FILE = "tasks.yaml"
Strategy = Literal["original", "policy_reminder", "mapping_reminder", "toolguards"]
End = Literal["user", "handed over", "turns", "time", "tokens", "no reply", "ended"]  # the last by the guard
REGULAR: tuple[End, ...] = ("user", "handed over")  # a task may be done; at any other end it is not
Message = Mapping[str, Any]  # of OpenAI's chat: role, content, tool_calls or tool_call_id
TURNS = 30  # of the agent, at most
SORRY = "I am sorry, I cannot do that."


# ---- tasks -----------------------------------------------------------------------------------------------------------


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
    labelled: bool = True
    tasks: tuple[_Row, ...] = pydantic.Field(min_length=1)


def load(path: str | Path) -> Tasks:
    """The tasks of a file.

    Raises:
        TaskError: it is not of the form above, or a name stands there twice.
        OSError: there is no such file.
    """
    read = fitting(_File, content(path, TaskError), path, TaskError)
    if twice := [name for name, count in Counter(row.name for row in read.tasks).items() if count > 1]:
        raise TaskError(f"{path}: names of their own were required; got {twice[0]} twice")
    made = (Task(violating=bool(row.sentence) if read.labelled else None, **dict(row)) for row in read.tasks)
    return Tasks(tuple(made), frozenset(read.ends))


def expected(task: Task, began: Service) -> Service:
    """The service with the records that must be there in the end.

    Raises:
        TaskError: the tools refuse a call that it expects.
    """
    for call in task.expect:
        answer = began.call(call.tool, call.arguments)
        if answer.failed:
            raise TaskError(f"{task.name}: a call that the tools do was required; {call.tool} gives {answer.value}")
        began = answer.after
    return began


def graded(task: Task, initial: Service, final: Service) -> tuple[str, ...]:
    """The places where the records are not the expected ones; none where the task is done."""
    return tuple(differences(expected(task, initial).records, final.records))


# ---- a conversation --------------------------------------------------------------------------------------------------


class Turn(NamedTuple):
    """The agent's next move: a call, or a text to the user."""

    text: str = ""
    call: Call | None = None


class Word(NamedTuple):
    """The user's next text, and whether the conversation is over for this user."""

    text: str = ""
    over: bool = False


Agent = Callable[[Sequence[Message]], Turn]
User = Callable[[Sequence[Message]], Word]


@dataclass(frozen=True, slots=True)
class Bounds:
    """A conversation ends without being done after so many turns of the agent, seconds, or tokens of prompts and
    replies. The last two are looked at between turns, so that one turn may go beyond them."""

    turns: int = TURNS
    seconds: float = 900.0
    tokens: int = 300_000

    def __post_init__(self) -> None:
        if min(self.turns, self.seconds, self.tokens) <= 0:
            raise ValueError(f"bounds above 0 were required; got {self}")


@dataclass(frozen=True, slots=True)
class Conversation:
    """The messages, why the conversation ended (`why` in words, where there is more to say), and the service after
    it. `turns` are those of the agent."""

    messages: tuple[Message, ...]
    end: End
    service: Service
    turns: int
    why: str = ""


class Undone(RuntimeError):
    """A tool refused a call; the message is its answer."""


class World:
    """A service that calls change, as a session and an adapter use it."""

    def __init__(self, began: Service) -> None:
        self.now = began
        self.done: list[str] = []  # the tools whose calls were done

    def ask(self, tool: str, arguments: dict[str, Value]) -> Value:
        """A lookup of the session."""
        return self.now.ask(tool, arguments)

    def time(self) -> str:
        """The clock of the service."""
        return self.now.now

    def function(self, tool: str) -> Callable[..., Value]:
        """The tool as a function of its arguments by name.

        Raises:
            Undone: by the function, where the tool refuses; nothing was changed.
        """

        def made(**arguments: Value) -> Value:
            answer = self.now.call(tool, arguments)
            if answer.failed:
                raise Undone(str(answer.value))
            self.now = answer.after
            self.done.append(tool)
            return answer.value

        return made


def converse(
    world: World,
    session: Session,
    agent: Agent,
    user: User,
    *,
    ends: Iterable[str] = (),
    bounds: Bounds | None = None,
    tokens: Callable[[], int] = lambda: 0,
) -> Conversation:
    """One conversation, from the user's first words.

    `session` looks up and tells the time by the world.  `tokens` says how many were used so far.

    Raises:
        ModelError: the user's model, or whoever answers for a model, gave nothing: the conversation can be had again.
    """
    bounds, ends, began = bounds or Bounds(), frozenset(ends), time.monotonic()
    box: Toolbox = session.judge.validator.toolbox
    tools = openai.Tools(session, {tool.name: world.function(tool.name) for tool in box.tools})
    declared, messages = {field.name for field in box.state}, []

    def over(end: End, turns: int, why: str = "") -> Conversation:
        tools.run([*messages, {"role": "assistant", "content": ""}])  # so that the session hears the last words
        return Conversation(tuple(messages), end, world.now, turns, why)

    def answered() -> bool:
        word = user(messages)
        if word.text:
            messages.append({"role": "user", "content": word.text})
        return word.over

    if answered():
        return over("user", 0)
    for number in range(1, bounds.turns + 1):
        if time.monotonic() - began > bounds.seconds:
            return over("time", number - 1)
        if tokens() > bounds.tokens:
            return over("tokens", number - 1)
        try:
            turn = agent(messages)
        except (MalformedReply, TruncatedReply) as error:
            return over("no reply", number, str(error)[:500])
        if turn.call is None:
            messages.append({"role": "assistant", "content": turn.text})
            if answered():
                return over("user", number)
            continue
        done = len(world.done)
        function = {"name": turn.call.tool, "arguments": json.dumps(turn.call.arguments)}
        asked = [{"id": f"call-{number}", "type": "function", "function": function}]
        messages.append({"role": "assistant", "content": "", "tool_calls": asked})
        session.state({name: value for name, value in world.now.observable(turn.call).items() if name in declared})
        messages += tools.run(messages)
        if enforcement.enforcer(session).ended:
            return over("ended", number)
        if ends.intersection(world.done[done:]):
            return over("handed over", number)
    return over("turns", bounds.turns)


# ---- agents and users that ask a model ----------------------------------------------------------------------------


class _Act(pydantic.BaseModel, extra="forbid"):
    """The reply of an agent."""

    thought: str = ""
    say: str = ""
    tool: str = ""
    arguments: dict[str, Any] = {}

    @pydantic.model_validator(mode="after")
    def _one(self) -> _Act:
        if bool(self.say.strip()) is bool(self.tool):
            raise ValueError("either `say` or `tool` was required, and not both")
        return self


class _Say(pydantic.BaseModel, extra="forbid"):
    """The reply of a simulated user."""

    say: str = ""
    over: bool = False

    @pydantic.model_validator(mode="after")
    def _something(self) -> _Say:
        if not self.say.strip() and not self.over:
            raise ValueError("`say`, or `over` as true, was required")
        return self


def agent(llm: LLM, policy: str, toolbox: Toolbox, now: str, remind: Callable[[str], str] = lambda tool: "") -> Agent:
    """An agent that asks a model what to do next (prompt `act`).

    `remind` gives what it is reminded of when it wants to call a tool; where that is something, it is asked once more.
    """
    listed = [{"name": one.name, "description": one.description, "parameters": one.schema} for one in toolbox.tools]

    def act(messages: Sequence[Message]) -> Turn:
        same = {"policy": policy, "tools": listed, "now": now, "conversation": list(_shown(messages, "you", "user"))}
        reply = llm.ask("act", _Act, **same, proposed="", reminder="")
        reminder = remind(reply.tool) if reply.tool else ""
        if reminder:
            proposed = {"tool": reply.tool, "arguments": reply.arguments}
            reply = llm.ask("act", _Act, **same, proposed=proposed, reminder=reminder)
        return Turn(call=Call(reply.tool, reply.arguments)) if reply.tool else Turn(reply.say)

    return act


def user(llm: LLM, instruction: str) -> User:
    """A simulated user that asks a model what to say next (prompt `simulate_user`); it sees no calls."""

    def say(messages: Sequence[Message]) -> Word:
        heard = [one for one in messages if one["role"] != "tool" and not one.get("tool_calls")]
        rows = list(_shown(heard, "agent", "you"))
        reply = llm.ask("simulate_user", _Say, instruction=instruction, conversation=rows)
        return Word(reply.say.strip(), reply.over)

    return say


def reminder(strategy: Strategy, policy: str, mapped: Sequence[Item]) -> Callable[[str], str]:
    """What an agent is reminded of when it wants to call a tool: nothing, the policy, or the tool's items in short."""
    if strategy == "policy_reminder":
        return lambda tool: policy
    if strategy != "mapping_reminder":
        return lambda tool: ""
    rows: dict[str, list[str]] = {}
    for item in mapped:
        said = " ".join(dict.fromkeys(one.text for one in item.references))
        rows.setdefault(item.tool, []).append(f"- {item.name}: {said}")
    return lambda tool: "\n".join(rows.get(tool, ()))


def _shown(messages: Sequence[Message], assistant: str, user: str) -> Iterator[dict[str, object]]:
    """The messages as a prompt shows them, with the names that its reader has for the two."""
    for one in messages:
        if one["role"] == "tool":
            yield {"result": one["content"]}
        elif one.get("tool_calls"):
            function = one["tool_calls"][0]["function"]
            yield {"call": function["name"], "arguments": json.loads(function["arguments"])}
        else:
            yield {assistant if one["role"] == "assistant" else user: one["content"]}


# ---- agents and users without a model -----------------------------------------------------------------------------


def scripted(script: Sequence[Say | Call]) -> tuple[Agent, User]:
    """An agent and a user that each say and do what is theirs in a script, whatever came before; then they end."""
    ours = iter([one for one in script if isinstance(one, Call) or one.role != "user"])
    theirs = iter([one for one in script if isinstance(one, Say) and one.role == "user"])

    def act(messages: Sequence[Message]) -> Turn:
        one = next(ours, Say("assistant", "That is all that I can do."))
        return Turn(call=one) if isinstance(one, Call) else Turn(one.text)

    def say(messages: Sequence[Message]) -> Word:
        one = next(theirs, None)
        return Word("", True) if one is None else Word(one.text)

    return act, say


def refusing(task: Task) -> tuple[Agent, User]:
    """An agent that declines whatever it is asked for, and a user who then goes: what doing nothing is worth."""
    words = iter([Word(task.instruction), Word("", True)])
    return (lambda messages: Turn(SORRY)), (lambda messages: next(words))
