"""Live runs: an agent, a simulated user and tools on a database, with a policy's guards before each call (ToolGuard,
Sec. 4).

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
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import pydantic

from wb.adapters import openai
from wb.bench import tau_database
from wb.bench.tasks import Task
from wb.bench.tau_database import Database
from wb.bench.trials import Strategy
from wb.domain.events import Say
from wb.domain.session import Session
from wb.domain.tools import Toolbox
from wb.domain.trace import Call, Value
from wb.models.client import LLM
from wb.models.endpoint import MalformedReply, TruncatedReply
from wb.rules.items import Item

End = Literal["user", "handed over", "turns", "time", "tokens", "no reply"]
REGULAR: tuple[End, ...] = ("user", "handed over")  # a task may be done; at any other end it is not
Message = Mapping[str, Any]  # of OpenAI's chat: role, content, tool_calls or tool_call_id
TURNS = 30  # of the agent, at most
SORRY = "I am sorry, I cannot do that."


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
    """The messages, why the conversation ended (`why` in words, where there is more to say), and the database after
    it. `turns` are those of the agent."""

    messages: tuple[Message, ...]
    end: End
    database: Database
    turns: int
    why: str = ""


class Undone(RuntimeError):
    """A tool refused a call; the message is its answer."""


class World:
    """A database that calls change, as a session and an adapter use it."""

    def __init__(self, began: Database) -> None:
        self.began = self.now = began
        self.done: list[str] = []  # the tools whose calls were done
        self.ask = tau_database.answering(lambda: self.now)

    def time(self) -> str:
        """The clock of the database."""
        return self.now.now

    def function(self, tool: str) -> Callable[..., Value]:
        """The tool as a function of its arguments by name.

        Raises:
            Undone: by the function, where the tool refuses; nothing was changed.
        """

        def made(**arguments: Value) -> Value:
            answer = tau_database.call(self.now, tool, arguments)
            if answer.failed:
                raise Undone(str(answer.value))
            self.now = answer.database
            self.done.append(tool)
            return answer.value

        return made

    def observable(self, asked: Call) -> dict[str, Value]:
        """The state fields at a call, beside the lookups."""
        return tau_database.observable(self.now, self.began, asked)


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
        messages.append(_asking(turn.call, f"call-{number}"))
        session.state({name: value for name, value in world.observable(turn.call).items() if name in declared})
        messages += tools.run(messages)
        if ends.intersection(world.done[done:]):
            return over("handed over", number)
    return over("turns", bounds.turns)


def _asking(call: Call, name: str) -> Message:
    function = {"name": call.tool, "arguments": json.dumps(call.arguments)}
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": name, "type": "function", "function": function}],
    }


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
