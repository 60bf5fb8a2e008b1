"""Examples of a policy item that a model writes from its sentences: what led to a call, the call, and its decision.

ToolGuard (Sec. 3.1, steps "create examples" and "add examples"; App. 7.2) has a model write examples of compliance and
violation from the policy's text and then tests from these, with what other tools return mocked.  Here an example is
data and never code: what was said, what is known, earlier calls with what they gave, what read-only tools answer, the
call, whether it is to be allowed, and the sentence that it rests on, word for word.  What does not fit `tools.json`,
rests on no sentence of its item or contradicts another example is refused with the reason; nothing is repaired.

Whoever writes them sees the sentences and never the rules.  An example that the rules decide otherwise is a *finding*:
the guard of that tool is *tested* at most, until a person changes the rule or strikes the example
(`decisions.yaml`, `struck`).  What is open, or not known in the scene, says nothing against a rule.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, NamedTuple

import pydantic

from wb.domain import schema
from wb.domain.events import Asked, Event, EventError, Label, Result, Say, State
from wb.domain.judging import Judge, Watch
from wb.domain.schema import Unfit, got
from wb.domain.session import Session, SessionError
from wb.domain.tools import Toolbox
from wb.domain.trace import Call, Quoted, Step, Value, Verdict
from wb.domain.validation import Refused, Validator
from wb.guards.contract import Contract
from wb.guards.examples import Example, function
from wb.guards.runtime import CallGuard, Guarded
from wb.guards.sandbox import Argument
from wb.models.client import LLM, Unanswered
from wb.paths import digest
from wb.rules.decisions import Struck
from wb.rules.extract import field_row, tool_row
from wb.rules.items import Item
from wb.rules.rule import RuleSet

MOST, LONG, HISTORY, WORDS = 24, 2000, 40, 3  # examples an item, letters a text, events before a call, words quoted
LISTED = 200  # entries of a list in a reply; one with more is malformed
Fate = Literal["agrees", "disagrees", "open", "unknown"]
FATES: dict[Fate, str] = {
    "agrees": "the rules decide it as the example says",
    "disagrees": "the rules decide it otherwise: a person has to say which is right",
    "open": "its sentence is open: no rule says it yet",
    "unknown": "what the rules ask about is not known in it",
}


class Done(NamedTuple):
    """A call that was done, and what it gave."""

    call: Call
    result: Value


@dataclass(frozen=True, slots=True)
class Scene:
    """A call and what led to it: `history` in order, the `state` known all along, and what read-only tools answer when
    they are asked (`answers`).  `sentence` is what it rests on, word for word; `now` the time, empty for none."""

    tool: str
    item: str
    sentence: str
    expect: Label
    call: Call
    history: tuple[Say | Done, ...] = ()
    state: Mapping[str, Value] | None = None
    answers: tuple[Done, ...] = ()
    now: str = ""

    @property
    def id(self) -> str:
        """What it is called by: twelve hexadecimal digits of what it says."""
        return digest([self.tool, self.sentence, self.expect, self.situation])[:12]

    @property
    def situation(self) -> str:
        """All of it but the decision and the sentence, as JSON: two of one situation are to be decided alike."""
        return json.dumps([self.tool, row(self)["given"]], sort_keys=True)


class Refusal(NamedTuple):
    """An example that was not taken, or a question without an answer, and why."""

    tool: str
    item: str
    reason: str


class Tried(NamedTuple):
    """A scene, what the rules say of its call, and what becomes of it."""

    scene: Scene
    verdict: Verdict
    fate: Fate


class _Form(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")


def _few(value: object) -> object:
    """A list that is not too long, looked at before what is in it."""
    if isinstance(value, list) and len(value) > LISTED:
        raise ValueError(f"at most {LISTED} were required, got {len(value)}")
    return value


Few = pydantic.BeforeValidator(_few)


class Happened(_Form):
    """One thing that happened before: words of `user` or `assistant`, or a call of a tool with what it gave."""

    user: str | None = None
    assistant: str | None = None
    tool: str | None = None
    arguments: dict[str, Any] = {}
    result: Any = None


class Answer(_Form):
    """What a read-only tool gives for these arguments."""

    tool: str
    arguments: dict[str, Any] = {}
    result: Any = None


class Told(_Form):
    """One example as a model writes it."""

    sentence: str
    expect: Literal["allow", "deny"]
    arguments: dict[str, Any]
    history: Annotated[list[Happened], Few] = []
    state: dict[str, Any] = {}
    answers: Annotated[list[Answer], Few] = []
    now: str = ""


class Examples(_Form):
    """The reply to `write_examples` and `add_examples`."""

    examples: Annotated[list[Told], Few]


# ---- from a model ---------------------------------------------------------------------------------


def written(
    mapped: Sequence[Item], toolbox: Toolbox, llm: LLM, *, rounds: int
) -> tuple[tuple[Scene, ...], tuple[Refusal, ...]]:
    """The examples that a model gives for the items, and those refused.

    Nobody is asked in no round.  The first asks for examples of each item that is not archived, each other one for
    those that are missing: so many questions an item as there are rounds.
    """
    if rounds < 0:
        raise ValueError(f"rounds of examples must be 0 or more; got {rounds}")
    asked = [item for item in mapped if not item.archived and any(t.name == item.tool for t in toolbox.tools)]
    found: dict[int, list[Scene]] = {i: [] for i in range(len(asked))}
    refused: list[Refusal] = []
    validator = Validator(toolbox)
    for number in range(rounds):
        name = "add_examples" if number else "write_examples"
        told = [_asked(item, toolbox) for item in asked]
        if number:
            told = [{**one, "examples": [row(scene) for scene in found[i]]} for i, one in enumerate(told)]
        for i, reply in enumerate(llm.ask_all(name, Examples, told)):
            item = asked[i]
            if isinstance(reply, Unanswered):
                refused.append(Refusal(item.tool, item.name, f"no usable reply: {reply.reason}"))
                continue
            for one in reply.examples:
                try:
                    scene = read(one, item, toolbox, validator)
                except Unfit as error:
                    refused.append(Refusal(item.tool, item.name, str(error)))
                    continue
                if len(found[i]) >= MOST:
                    refused.append(Refusal(item.tool, item.name, f"at most {MOST} examples an item were required"))
                    break
                found[i].append(scene)
    return _agreed([scene for i in found for scene in found[i]], refused)


def _agreed(scenes: Iterable[Scene], refused: list[Refusal]) -> tuple[tuple[Scene, ...], tuple[Refusal, ...]]:
    """The scenes, each once; of those that say opposite things of one situation none is taken."""
    by_situation: dict[str, dict[str, Scene]] = {}
    for scene in scenes:
        by_situation.setdefault(scene.situation, {}).setdefault(scene.expect, scene)
    kept = []
    for ways in by_situation.values():
        if len(ways) == 1:
            kept += ways.values()
            continue
        why = "one decision a situation was required; got an example that allows and one that denies the same call"
        refused += [Refusal(scene.tool, scene.item, why) for scene in ways.values()]
    return tuple(kept), tuple(refused)


def _asked(item: Item, toolbox: Toolbox) -> dict[str, object]:
    """What a model is told: the tool, what it may use in an example, and the sentences of the item."""
    return {
        "tool": tool_row(toolbox.tool(item.tool)),
        "others": [{**tool_row(one), "reads_only": one.mutating is False} for one in toolbox.tools],
        "state": [
            {**field_row(one), **({"comes_from": one.source.kind} if one.source is not None else {})}
            for one in toolbox.state
        ],
        "item": item.name,
        "sentences": [said.text for said in item.references],
    }


def read(told: Told, item: Item, toolbox: Toolbox, validator: Validator) -> Scene:
    """An example of an item as it is taken.

    Raises:
        Unfit: it is not one; the message says what was required and got.
    """
    said = _sentence(told.sentence, item)
    if len(told.history) > HISTORY or len(told.answers) > HISTORY:
        raise Unfit(f"at most {HISTORY} events before a call were required; got more")
    reading = {tool.name for tool in toolbox.tools if tool.mutating is False}
    answers = tuple(_done(one.tool, one.arguments, one.result, validator) for one in told.answers)
    if wrong := [one.call.tool for one in answers if one.call.tool not in reading]:
        raise Unfit(
            f"answers of tools that only read ({', '.join(sorted(reading))}) were required; got {got(wrong[0])}"
        )
    if told.now:
        try:
            Event("scene", Say("", ""), time=told.now)
        except EventError as error:
            raise Unfit(str(error)) from None
    return Scene(
        item.tool,
        item.name,
        said,
        told.expect,
        _call(item.tool, told.arguments, validator),
        tuple(_happened(one, validator) for one in told.history),
        _state(told.state, toolbox, validator),
        answers,
        told.now,
    )


def _sentence(quoted: str, item: Item) -> str:
    """What an example rests on: words that stand in a sentence of its item."""
    said = " ".join(_text(quoted).split())
    if len(said.split()) < WORDS or not any(said in " ".join(one.text.split()) for one in item.references):
        raise Unfit(f"a sentence of the item, word for word, was required; got {got(quoted)}")
    return said


def _text(value: str) -> str:
    """A text as an example may have it: not too long, of letters that can be written."""
    if len(value) > LONG:
        raise Unfit(f"texts of at most {LONG} letters were required; got {len(value)}")
    return schema.text(value)


def _texts(value: object) -> None:
    """Refuse a value that holds a text that is too long."""
    if isinstance(value, str):
        _text(value)
    elif isinstance(value, Mapping):
        for name, one in value.items():
            _text(name)
            _texts(one)
    elif isinstance(value, list | tuple):
        for one in value:
            _texts(one)


def _call(tool: str, arguments: dict[str, Any], validator: Validator) -> Call:
    asked = validator.call(tool, arguments)
    if isinstance(asked, Refused):
        raise Unfit(asked.why)
    if validator.tools is not None and tool not in validator.tools:
        raise Unfit(f"a tool of tools.json was required; got {got(tool)}")
    _texts(asked.arguments)
    return asked


def _done(tool: str, arguments: dict[str, Any], result: object, validator: Validator) -> Done:
    given = schema.plain(result)
    _texts(given)
    return Done(_call(tool, arguments, validator), given)


def _happened(told: Happened, validator: Validator) -> Say | Done:
    given = [name for name in ("user", "assistant", "tool") if getattr(told, name) is not None]
    if len(given) != 1:
        raise Unfit(f"words of user or of assistant, or a tool's call, were required of each event; got {given}")
    if told.tool is not None:
        return _done(told.tool, told.arguments, told.result, validator)
    if told.arguments or told.result is not None:
        raise Unfit("words without arguments and result were required; got both")
    return Say(given[0], _text(getattr(told, given[0])))


def _state(fields: dict[str, Any], toolbox: Toolbox, validator: Validator) -> dict[str, Value]:
    declared = {one.name: one for one in toolbox.state}
    for name in fields:
        if name not in declared:
            raise Unfit(f"fields of the state that tools.json declares were required; got {got(name)}")
        if declared[name].source is not None:
            raise Unfit(f"state.{name} comes from {declared[name].source.kind}: give what it comes from, not itself")
    known = validator.state(fields)
    if known.strange:
        raise Unfit("; ".join(f"state.{name}: {why}" for name, why in known.strange.items()))
    _texts(known.values)
    return dict(known.values)


# ---- what is kept ---------------------------------------------------------------------------------


def row(scene: Scene) -> dict[str, Any]:
    """A scene as a JSON value; `given` is what is told of its situation."""

    def done(one: Done) -> dict[str, Any]:
        return {"tool": one.call.tool, "arguments": dict(one.call.arguments or {}), "result": one.result}

    return {
        "tool": scene.tool,
        "item": scene.item,
        "sentence": scene.sentence,
        "expect": scene.expect,
        "given": {
            "arguments": dict(scene.call.arguments or {}),
            "history": [{one.role: one.text} if isinstance(one, Say) else done(one) for one in scene.history],
            "state": dict(scene.state or {}),
            "answers": [done(one) for one in scene.answers],
            "now": scene.now,
        },
    }


def to_json(judged: Iterable[Tried], refused: Iterable[Refusal]) -> dict[str, object]:
    """What a stage keeps: each scene with its id, its fate and what the rules say, and what was refused."""
    rows = [{"id": one.scene.id, **row(one.scene), "fate": one.fate, "rules say": said(one.verdict)} for one in judged]
    return {"scenes": rows, "refused": [one._asdict() for one in refused]}


def said(verdict: Verdict) -> str:
    """What the rules say of a call, in words."""
    why = verdict.reason.partition(": ")[2] or "no rule is broken"
    return f"{verdict.decision}: {why}"


def counted(judged: Iterable[Tried], findings: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """How many scenes there are and how many of them the rules decide otherwise; nothing where there are none."""
    rows = tuple(judged)
    return {"examples by a model": len(rows), "against the rules": sum(map(len, findings.values()))} if rows else {}


def from_row(told: Mapping[str, Any]) -> Scene:
    """A scene from what `row` gave."""
    given = told["given"]

    def done(one: Mapping[str, Any]) -> Done:
        return Done(Call(one["tool"], schema.plain(one["arguments"])), schema.plain(one["result"]))

    return Scene(
        told["tool"],
        told["item"],
        told["sentence"],
        told["expect"],
        Call(told["tool"], schema.plain(given["arguments"])),
        tuple(done(one) if "tool" in one else Say(*next(iter(one.items()))) for one in given["history"]),
        dict(schema.plain(given["state"])),
        tuple(done(one) for one in given["answers"]),
        given["now"],
    )


# ---- run on a guard -------------------------------------------------------------------------------


def decided(judge: Judge, scene: Scene) -> Verdict:
    """What a judge says of a scene's call, in a session of its own; what came before happened, whatever it says of it.

    A read-only tool that the scene has no answer of gives nothing.
    """

    def ask(tool: str, arguments: dict[str, Value]) -> Value:
        for one in scene.answers:
            if one.call.tool == tool and schema.same(schema.plain(one.call.arguments), schema.plain(arguments)):
                return _open(one.result)
        raise LookupError(f"the scene has no answer of {tool} to these arguments")

    session = Session(judge, run=scene.id, ask=ask, clock=lambda: scene.now)
    try:
        session.replay(_events(scene))
        return session.call(scene.call.tool, _open(scene.call.arguments))
    except SessionError as error:
        return Verdict("undecided", f"the scene cannot be played: {error}")


def _events(scene: Scene) -> list[Event]:
    found: list[Event] = [Event(scene.id, State(_open(scene.state or {})), None, scene.now or None)]
    for step, what in enumerate(scene.history):
        told = [what] if isinstance(what, Say) else [Asked(Call(what.call.tool, _open(what.call.arguments)))]
        told += [] if isinstance(what, Say) else [Result(_open(what.result))]
        found += [Event(scene.id, one, step, scene.now or None) for one in told]
    return found


def _open(value: Any) -> Any:
    """A plain value as JSON gives it, with lists for tuples."""
    if isinstance(value, Mapping):
        return {name: _open(one) for name, one in value.items()}
    return [_open(one) for one in value] if isinstance(value, tuple | list) else value


def constant(toolbox: Toolbox, allowed: bool) -> CallGuard:
    """A guard that allows every call that fits the tools, or denies every call."""
    free = [Contract(tool.name, (), ()) for tool in toolbox.tools]
    entries = [Guarded(c, f"{c.signature}\n    return ({allowed}, 'constant')\n", "tested") for c in free]
    return CallGuard("constant", RuleSet((), ()), tuple(entries), frozenset({"tested"}), toolbox)


def telling(scenes: Iterable[Scene], toolbox: Toolbox) -> tuple[tuple[Scene, ...], tuple[Refusal, ...]]:
    """The scenes that tell guards apart, and those refused: a violation has to be allowed by a guard that allows
    everything, a call that complies denied by one that denies everything."""
    everything, nothing = constant(toolbox, True), constant(toolbox, False)
    kept, refused = [], []
    for scene in scenes:
        allowed, denied = decided(everything, scene), decided(nothing, scene)
        if allowed.decision == "allow" and denied.decision == "deny":
            kept.append(scene)
            continue
        why = allowed.reason if allowed.decision != "allow" else denied.reason
        refused.append(Refusal(scene.tool, scene.item, f"a test that a wrong guard fails was required; got: {why}"))
    return tuple(kept), tuple(refused)


def reference(contract: Contract, ruleset: RuleSet, toolbox: Toolbox) -> CallGuard:
    """What the rules say of a tool's calls, as a guard that nobody wrote; other tools are as if they had no rule."""
    own = Guarded(contract, function(contract, contract.allows), "tested")
    free = [Contract(tool.name, (), ()) for tool in toolbox.tools if tool.name != contract.tool]
    others = [Guarded(c, f"{c.signature}\n    return (True, 'constant')\n", "tested") for c in free]
    return CallGuard("rules", ruleset, (own, *others), frozenset({"tested"}), toolbox)


def tried(
    scenes: Iterable[Scene],
    required: Iterable[Contract],
    ruleset: RuleSet,
    toolbox: Toolbox,
    open: Mapping[str, Sequence[Quoted]],
) -> tuple[Tried, ...]:
    """What the rules say of each scene, before any code is written."""
    contracts = {one.tool: one for one in required}
    judges: dict[str, CallGuard] = {}
    found = []
    for scene in scenes:
        if scene.tool not in judges:
            judges[scene.tool] = reference(contracts[scene.tool], ruleset, toolbox)
        verdict = decided(judges[scene.tool], scene)
        found.append(Tried(scene, verdict, _fate(scene, verdict, open.get(scene.tool, ()))))
    return tuple(found)


def _fate(scene: Scene, verdict: Verdict, open: Iterable[Quoted]) -> Fate:
    if verdict.decision == "undecided" or verdict.grade == "error":
        return "unknown"
    if verdict.decision == scene.expect:
        return "agrees"
    waits = any(scene.sentence in " ".join(one.text.split()) for one in open)
    return "open" if waits and scene.expect == "deny" else "disagrees"


def settled(
    judged: Sequence[Tried], struck: Iterable[Struck]
) -> tuple[tuple[Tried, ...], tuple[Struck, ...], dict[str, tuple[str, ...]]]:
    """The scenes that no person struck, what a person struck that is not there, and the findings, by tool."""
    gone = {one.id: one for one in struck}
    kept = tuple(one for one in judged if one.scene.id not in gone)
    known = {one.scene.id for one in judged}
    stale = tuple(one for name, one in gone.items() if name not in known)
    found: dict[str, tuple[str, ...]] = {}
    for one in kept:
        if one.fate == "disagrees":
            found[one.scene.tool] = (*found.get(one.scene.tool, ()), _finding(one))
    return kept, stale, found


def _finding(one: Tried) -> str:
    wanted = {"allow": "allowed", "deny": "denied"}
    return (
        f"an example of “{one.scene.sentence}” is to be {wanted[one.scene.expect]}, and the rules say "
        f"{one.verdict.decision} (example {one.scene.id}: change the rule, or strike it in decisions.yaml)"
    )


# ---- as examples of the guard's function ----------------------------------------------------------


class _Listening:
    """A judge that says what another one says, and keeps what that one's guard was given at the last call."""

    def __init__(self, judge: CallGuard) -> None:
        self.name, self.validator = judge.name, judge.validator
        self.evidence, self.trusted, self.reads, self.minds = judge.evidence, judge.trusted, judge.reads, judge.minds
        self._judge = judge
        self.heard: dict[str, Argument | None] | None = None

    def watch(self) -> Watch:
        """A watch that tells of its last call."""
        return _Ear(self, self._judge.watch())


class _Ear:
    def __init__(self, listening: _Listening, watch: Any) -> None:
        self._listening, self._watch = listening, watch

    def judge(self, step: Step) -> Verdict:
        self._listening.heard = self._watch.inputs(step)
        return self._watch.judge(step)

    def remember(self, step: Step) -> None:
        self._watch.remember(step)

    def fork(self) -> _Ear:
        return _Ear(self._listening, self._watch.fork())


def inputs(judge: CallGuard, scene: Scene) -> dict[str, Argument | None]:
    """What a guard's function is given at the call of a scene; None for each value that is not known."""
    listening = _Listening(judge)
    decided(listening, scene)
    return listening.heard or {}


def examples(
    judged: Iterable[Tried], required: Iterable[Contract], ruleset: RuleSet, toolbox: Toolbox
) -> dict[str, tuple[Example, ...]]:
    """The scenes that the rules agree with as examples of each tool's function, where all that it reads is known."""
    contracts = {one.tool: one for one in required}
    found: dict[str, tuple[Example, ...]] = {}
    for one in judged:
        scene = one.scene
        if one.fate != "agrees":
            continue
        told = inputs(reference(contracts[scene.tool], ruleset, toolbox), scene)
        if told and None not in told.values():
            kind = "compliance" if scene.expect == "allow" else "violation"
            example = Example(kind, f"example {scene.id}", tuple(told.items()), scene.expect == "allow")
            found[scene.tool] = (*found.get(scene.tool, ()), example)
    return found


def illustrating(item: Item, scenes: Iterable[Scene]) -> Item:
    """A policy item with the calls of its scenes as examples, in words."""
    own = [one for one in scenes if (one.tool, one.item) == (item.tool, item.name)]
    good, bad = ([_shown(one) for one in own if one.expect == expect] for expect in ("allow", "deny"))
    return replace(item, compliance=(*item.compliance, *good), violations=(*item.violations, *bad))


def _shown(scene: Scene) -> str:
    told = {**{f"state.{k}": v for k, v in (scene.state or {}).items()}, **(scene.call.arguments or {})}
    said = "; ".join(f"{one.role}: {one.text}" for one in scene.history if isinstance(one, Say))
    return ", ".join([*(f"{k}={v!r}" for k, v in told.items()), *([f"“{said}”"] if said else [])]) or "whatever holds"
