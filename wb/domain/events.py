"""Recorded runs as JSON lines: what was said, what was known, which calls were asked for, what came back.

One event a line, in the order in which it happened; several runs may be interleaved.  A line is an
object with the text `run` and exactly one of

    "say":    {"role", "text"}          somebody said something
    "state":  {NAME: value, ...}        what is known of the state from here on, in place of what was known before
    "call":   {"tool", "arguments"}     the agent asks for a call; beside it `"label": "allow" | "deny"` where known
    "result": value                     what a call gave; beside it `"error": true` where the call failed
    "lookup": {"tool", "arguments"}     what the session itself asked a read-only tool for the next call, and beside
                                        them "value", what it gave, or "problem", why it gave nothing
    "answer": {"field", "value", "quotation", "by"}
                                        what was answered to the question that a state field is, for the next call; of
                                        one object with its "arguments", and "problem" in place of the value
    "lost":   reason                    what happened is not known from here on, so that nothing is allowed
    "turn":   {"task", "website", "previous_actions", "target_action", "agent_output", "state"}
                                        a free-text turn of a web agent; all but `task` may be left out

and, where known, `step` (a number from 0; the calls of one step share it), `time` (ISO 8601) and, on a call or a
result, `call_id` (which call a result answers; without it the last one).  A call has at most one result, which
stands after it; a `call_id` on a call says that its result will come.  Nothing else is read: an unknown key, a key
given twice, a number that is not finite, null for a key that is not known or an identifier that names no call is an
error, never passed over.  Empty lines are.

A recorded web agent names no tools: it clicks and types.  Which of the policy's tools its turn amounts to is what
`recognise` asks, as shielding starts by extracting the action predicates from the agent's output (ShieldAgent, Alg. 1,
line 2).  The state of the turn is never shown to who answers.  An answer that is not sure keeps every tool that it may
be: a guard must allow them all.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO

import pydantic

from wb.domain import arguments
from wb.domain.jsonl import LineError, Strict, checked, shown
from wb.domain.tools import Toolbox
from wb.domain.trace import Call, Step, Value, Verdict
from wb.models.ledger import Unanswered

if TYPE_CHECKING:
    from wb.models.client import LLM

KINDS = ("say", "state", "call", "result", "lookup", "answer", "lost", "turn")
BESIDE = {"label": ("call",), "error": ("result",), "call_id": ("call", "result")}  # a key and where it says something
TIME = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?", re.ASCII)
Label = Literal["allow", "deny"]


class EventError(LineError):
    """A recorded run is not what `wb` reads; the message says where, what was required and what was got."""


@dataclass(frozen=True, slots=True)
class Say:
    """Somebody, such as `user` or `assistant`, said something."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class State:
    """What is known of the state from here on; a field that is not named, or null, is not known."""

    values: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Asked:
    """The agent asks for a call. `label` says whether it is to be allowed or denied, None where nobody judged it."""

    call: Call
    label: Label | None = None
    call_id: str | None = None

    def __post_init__(self) -> None:
        if self.label not in ("allow", "deny", None):
            raise EventError(f"label: 'allow' or 'deny' was required; got {shown(self.label)}")


@dataclass(frozen=True, slots=True)
class Result:
    """What a call gave. `failed` where it was refused or broke; `call_id` None means the last call before it."""

    value: Value
    failed: bool = False
    call_id: str | None = None


@dataclass(frozen=True, slots=True)
class Lookup:
    """What a read-only tool gave for the next call, asked by the session; `problem` says why it gave nothing."""

    tool: str
    arguments: Mapping[str, Value]
    value: Value = None
    problem: str | None = None

    def __post_init__(self) -> None:
        if self.problem is not None and (self.value is not None or not self.problem):
            raise EventError(f"lookup: a value, or a problem in words, was required; got {shown(self.problem)}")


@dataclass(frozen=True, slots=True)
class Answer:
    """What `by` answered to the question that a state field is, of one object by its `arguments`, and the words of the
    conversation that say so; `problem` says why the field stays unknown."""

    field: str
    value: Value = None
    quotation: str = ""
    by: str = ""
    arguments: Mapping[str, Value] = field(default_factory=dict)
    problem: str | None = None

    def __post_init__(self) -> None:
        if (self.problem is None) == (self.value is None) or self.problem == "":
            raise EventError(f"answer: a value, or a problem in words, was required; got {shown(self.problem)}")


@dataclass(frozen=True, slots=True)
class Lost:
    """What happened is not known from here on, and why; nothing is allowed then."""

    why: str

    def __post_init__(self) -> None:
        if not self.why:
            raise EventError('lost: a reason was required; got ""')


@dataclass(frozen=True, slots=True)
class Observation:
    """What may be seen of a turn: the texts, and the state fields known before it."""

    task: str
    website: str = ""
    previous_actions: tuple[str, ...] = ()
    target_action: str = ""
    agent_output: str = ""
    state: Mapping[str, Value] = field(default_factory=dict)


WHOLE = {"state": State, "lost": Lost}  # what happened, by the key of its line
OF_FIELDS = {"say": Say, "lookup": Lookup, "answer": Answer, "turn": Observation}
What = Say | State | Asked | Result | Lookup | Answer | Lost | Observation


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened in a run. `step` counts from 0, the calls of one step share it; `time` is ISO 8601;
    `line` is that of the file it was read from, from 1."""

    run: str
    what: What
    step: int | None = None
    time: str | None = None
    line: int | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not self.run:
            raise EventError('run: a text that is not empty was required; got ""')
        if self.step is not None and self.step < 0:
            raise EventError(f"step: a number from 0 was required; got {self.step}")
        if self.time is not None and not _is_time(self.time):
            raise EventError(f"time: ISO 8601 such as 2024-05-15T15:00:00Z was required; got {shown(self.time)}")


@dataclass(frozen=True, slots=True)
class Run:
    """The events of one run, at least one, in order; each result answers one call before it."""

    id: str
    events: tuple[Event, ...]

    def __post_init__(self) -> None:
        if not self.events:
            raise EventError(f"run {self.id!r}: at least one event was required; got none")
        calls = Calls()
        for event in self.events:
            if event.run != self.id:
                raise EventError(f"run {self.id!r}: events of its own were required; got one of {event.run!r}")
            calls.follow(event.what)


def read(path: str | Path) -> tuple[Run, ...]:
    """The runs of a file, in the order of their first event; `EventError` names the line that is refused.

    The file is read line by line and never held as text.
    """
    return _runs(stream(path))


def stream(path: str | Path) -> Iterator[Event]:
    """The events of a file in order, checked as `read` checks them, one at a time: a file of any size fits.

    `EventError` names the line that is refused; what stands before it has been given by then.
    """
    try:
        with open(path, "rb") as lines:
            yield from _events(lines, str(path))
    except OSError as error:
        raise EventError(f"{path}: a readable file was required; got {error.strerror or error}") from None


def loads(text: str, *, source: str = "runs") -> tuple[Run, ...]:
    """The runs of a text, as `read` finds them in a file; `source` names it in errors."""
    return _runs(_events(io.StringIO(text, newline="\n"), source))


def dump(events: Iterable[Event], file: TextIO) -> None:
    """Write events, one a line; `read` gives them back, by run."""
    for event in events:
        file.write(line(event))


def line(event: Event) -> str:
    """The event as a line of a file, its end with it; `ValueError` or `TypeError` where it holds what is no JSON."""
    # A mapping that json does not know becomes a dict; NaN and the infinities are a ValueError.
    return json.dumps(_said(event), ensure_ascii=False, allow_nan=False, default=dict) + "\n"


def to_json(told: Answer) -> dict[str, Value]:
    """The answer as its event has it."""
    known = {name: getattr(told, name) for name in _Answer.model_fields}
    return {name: each for name, each in known.items() if each or (name == "value" and each is not None)}


class _Say(Strict):
    role: str
    text: str


class _Call(Strict):
    tool: str
    arguments: dict[str, Any]


class _Turn(Strict):
    task: str
    website: str = ""
    previous_actions: tuple[str, ...] = ()
    target_action: str = ""
    agent_output: str = ""
    state: dict[str, Any] = {}


class _Lookup(_Call):
    value: Any = None
    problem: str = None


class _Answer(Strict):
    field: str
    value: Any = None
    quotation: str = ""
    by: str = ""
    arguments: dict[str, Any] = {}
    problem: str = None


class _Line(Strict):
    """What a line may hold. The defaults stand for keys that are not there; a null in their place is refused."""

    run: str
    say: _Say = None
    state: dict[str, Any] = None
    call: _Call = None
    result: Any = None
    lookup: _Lookup = None
    answer: _Answer = None
    lost: str = None
    turn: _Turn = None
    label: Label = None
    call_id: str = None
    error: bool = False
    step: int = None
    time: str = None

    @property
    def kind(self) -> str:
        """Which of the things happened."""
        kinds = [kind for kind in KINDS if kind in self.model_fields_set]
        if len(kinds) != 1:
            raise EventError(f"exactly one of {', '.join(KINDS)} was required; got {' and '.join(kinds) or 'none'}")
        for key, owners in BESIDE.items():
            if key in self.model_fields_set and kinds[0] not in owners:
                raise EventError(f"{key}: {' or '.join(owners)} beside it was required; got {kinds[0]}")
        return kinds[0]


def _what(line: _Line) -> What:
    kind = line.kind
    given = getattr(line, kind)
    if kind == "call":
        return Asked(Call(given.tool, given.arguments), line.label, line.call_id)
    if kind == "result":
        return Result(given, line.error, line.call_id)
    if kind in WHOLE:
        return WHOLE[kind](given)
    return OF_FIELDS[kind](**dict(given))


def _said(event: Event) -> dict[str, object]:
    """The event as the object of its line; what is not known is left out."""
    beside: dict[str, object] = {"step": event.step, "time": event.time}
    match event.what:
        case Say(role, text):
            what = {"say": {"role": role, "text": text}}
        case State(values):
            what = {"state": values}
        case Asked(call, label, call_id):
            what = {"call": {"tool": call.tool, "arguments": call.arguments}}
            beside |= {"label": label, "call_id": call_id}
        case Result(value, failed, call_id):
            what = {"result": value}
            beside |= {"call_id": call_id, "error": failed or None}
        case Lookup(tool, arguments, value, problem):
            given = {"value": value} if problem is None else {"problem": problem}
            what = {"lookup": {"tool": tool, "arguments": arguments, **given}}
        case Answer() as told:
            what = {"answer": to_json(told)}
        case Lost(why):
            what = {"lost": why}
        case Observation():
            what = {"turn": {name: getattr(event.what, name) for name in _Turn.model_fields}}
        case other:
            raise TypeError(f"one of {What} was required; got {other!r}")
    return {"run": event.run} | what | {key: known for key, known in beside.items() if known is not None}


def _runs(happened: Iterable[Event]) -> tuple[Run, ...]:
    events: dict[str, list[Event]] = {}
    for event in happened:
        events.setdefault(event.run, []).append(event)
    return tuple(Run(run, tuple(own)) for run, own in events.items())


def _events(lines: Iterable[bytes | str], source: str) -> Iterator[Event]:
    calls: dict[str, Calls] = {}
    try:
        for number, line in checked(lines, _Line, source, of="run"):
            try:
                event = Event(line.run, _what(line), line.step, line.time, number)
                calls.setdefault(event.run, Calls()).follow(event.what)
            except EventError as error:
                raise EventError(f"{source}, line {number}: {error} (run {shown(line.run)})") from None
            yield event
    except LineError as error:
        raise EventError(str(error)) from None


@dataclass(slots=True)
class Calls:
    """The calls of one run so far, by `call_id` or, where there is none, by position: whether each is answered."""

    answered: dict[str | int, bool] = field(default_factory=dict)

    def follow(self, what: What) -> None:
        """Take in one more event; `EventError` where a call or a result does not fit to those before."""
        match what:
            case Asked(call_id=call_id):
                if call_id in self.answered:
                    raise EventError(f"call_id: one of its own was required; got {shown(call_id)} again")
                self.answered[len(self.answered) if call_id is None else call_id] = False
            case Result(call_id=call_id):
                if not self.answered:
                    raise EventError("result: a call before it in its run was required; got none")
                answers = next(reversed(self.answered)) if call_id is None else call_id
                if answers not in self.answered:
                    raise EventError(f"call_id: that of a call before it was required; got {shown(call_id)}")
                if self.answered[answers]:
                    call = "the last call" if call_id is None else f"call {shown(call_id)}"
                    raise EventError(f"result: one a call was required (call_id says of which); got another of {call}")
                self.answered[answers] = True


def _is_time(text: str) -> bool:
    try:
        return TIME.fullmatch(text) is not None and bool(datetime.fromisoformat(text))
    except ValueError:
        return False


# ---- what a turn in free text is ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Recognition:
    """What a turn may be: one step where that is sure, several where it is not, none where nothing can be said."""

    steps: tuple[Step, ...]
    reason: str

    @property
    def sure(self) -> bool:
        """Whether exactly one step is possible."""
        return len(self.steps) == 1


class Extracted(pydantic.BaseModel, extra="forbid"):
    """The reply: `tools` the agent is surely using; where that is unclear none, and `possible` alternatives."""

    tools: list[str]
    possible: list[str]
    reason: str


def recognise(observations: Sequence[Observation], toolbox: Toolbox, llm: LLM) -> tuple[Recognition, ...]:
    """What each turn may be, in order (prompt `extract_action`); one query a turn where the engine is a model, and
    one for each tool with parameters that it may be (`arguments`).

    A reply that names a tool that does not exist, or none, leaves the turn without a step.
    """
    listed = [{"name": t.name, "description": t.description} for t in toolbox.tools]  # also those without examples
    asked = [
        {
            "tools": listed,
            "task": o.task,
            "website": o.website,
            "previous_actions": list(o.previous_actions),
            "target_action": o.target_action,
            "agent_output": o.agent_output,
        }
        for o in observations
    ]
    replies = llm.ask_all("extract_action", Extracted, asked)
    found = [_recognition(o, reply, toolbox) for o, reply in zip(observations, replies, strict=True)]
    return _with_arguments(found, observations, toolbox, llm)


def _with_arguments(
    found: Sequence[Recognition], observations: Sequence[Observation], toolbox: Toolbox, llm: LLM
) -> tuple[Recognition, ...]:
    """What was recognised, with the arguments that the agent's words tell."""
    tools = {tool.name: tool for tool in toolbox.tools}
    named = [dict.fromkeys(call.tool for step in one.steps for call in step.calls) for one in found]
    turns = [
        arguments.Mention(tools[name], o.target_action, o.agent_output)
        for names, o in zip(named, observations, strict=True)
        for name in names
    ]
    told = iter(arguments.extracted(turns, llm))
    made = []
    for one, names in zip(found, named, strict=True):
        known = {name: next(told) for name in names}
        reasons = (one.reason, *(each.by for each in known.values() if each.by))
        steps = [
            replace(step, calls=tuple(Call(call.tool, known[call.tool].arguments) for call in step.calls))
            for step in one.steps
        ]
        made.append(Recognition(tuple(steps), "; ".join(reasons)))
    return tuple(made)


def agreed(recognition: Recognition, judged: Callable[[Step], Verdict]) -> Verdict:
    """The verdict on a turn that may be several things: that of all its readings if they agree.

    Readings that disagree, or no reading at all, are undecided, which is not permitted.
    """
    verdicts = [judged(step) for step in recognition.steps]
    if not verdicts:
        return Verdict("undecided", f"no tool recognised: {recognition.reason}")
    if len({verdict.decision for verdict in verdicts}) == 1:
        return verdicts[0]
    return Verdict("undecided", f"the turn may be several things, judged differently: {recognition.reason}")


def _recognition(observation: Observation, reply: Extracted | Unanswered, toolbox: Toolbox) -> Recognition:
    if isinstance(reply, Unanswered):
        return Recognition((), reply.reason)
    named = (*reply.tools, *reply.possible)
    unknown = sorted(set(named) - {tool.name for tool in toolbox.tools})
    if unknown or not named:
        return Recognition((), f"tools {unknown} do not exist" if unknown else reply.reason)
    readings = [reply.tools] if reply.tools else [[tool] for tool in reply.possible]
    return Recognition(tuple(_step(names, observation) for names in readings), reply.reason)


def _step(names: Iterable[str], observation: Observation) -> Step:
    return Step(tuple(Call(name, None) for name in names), dict(observation.state), observation.target_action)
