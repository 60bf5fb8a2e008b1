"""Examples of a policy item that a model writes from its sentences: a call, the history before it, and its decision.

ToolGuard (Sec. 3.1, steps "create examples" and "add examples"; App. 7.2) has a model write examples of compliance and
violation from the policy's text and then tests from these, with the results of other tools mocked.  Here an example is
data and never code: words, known state, earlier calls with their results, answers of read-only tools, the call,
whether it is to be allowed, and the sentence that it rests on, word for word.  What does not fit `tools.json`, rests
on no sentence of its item or contradicts another example is refused with the reason; nothing is repaired.

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
from wb.domain.judging import Judge
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
from wb.rules.binding import field_row, tool_row
from wb.rules.decisions import Struck
from wb.rules.items import Item
from wb.rules.rule import RuleSet

MOST, LONG, HISTORY, WORDS = 24, 2000, 40, 3  # examples an item, letters a text, events before a call, words quoted
LISTED = 200  # entries of a list in a reply; one with more is malformed
# The rules decide it as the example says, or otherwise; its sentence is open; what they ask about is not known in it.
Fate = Literal["agrees", "disagrees", "open", "unknown"]


@dataclass(frozen=True, slots=True)
class Scene:
    """A call of a tool in its situation, and the decision that a sentence demands of it, word for word.

    `given` are JSON values: the `arguments` of the call; the `history` in order, each words by `user` or `assistant`
    or a done call (`tool`, `arguments`, `result`); the `state` known all along; the `answers` of read-only tools; `now`
    is the time, empty for none.
    """

    tool: str
    item: str
    sentence: str
    expect: Label
    given: Mapping[str, Any]

    @property
    def id(self) -> str:
        """Twelve hexadecimal digits of its content."""
        return digest([self.tool, self.sentence, self.expect, self.situation])[:12]

    @property
    def situation(self) -> str:
        """All of it but the decision and the sentence, as JSON: scenes of one situation are to be decided alike."""
        return json.dumps([self.tool, self.given], sort_keys=True)


class Refusal(NamedTuple):
    """An example that was not taken, or a question without an answer, and why."""

    tool: str
    item: str
    reason: str


class Tried(NamedTuple):
    """A scene, the verdict of the rules on its call, and what becomes of it."""

    scene: Scene
    verdict: Verdict
    fate: Fate


class _Form(pydantic.BaseModel, extra="forbid"):
    """A part of a reply."""


def _few(value: object) -> object:
    """A list that is not too long, looked at before its entries."""
    if isinstance(value, list) and len(value) > LISTED:
        raise ValueError(f"at most {LISTED} were required, got {len(value)}")
    return value


Few = pydantic.BeforeValidator(_few)


# A reply's names and docstrings are in its schema, and so in the name of each recorded reply.


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


# ---- from a model ---------------------------------------------------------------------------------------------------


def written(
    mapped: Sequence[Item], toolbox: Toolbox, llm: LLM, *, rounds: int
) -> tuple[tuple[Scene, ...], tuple[Refusal, ...]]:
    """The examples that a model gives for the items, and those refused.

    Nobody is asked in no round.  The first asks for examples of each item that is not archived, each other one for
    those that are missing: so many questions an item as there are rounds.
    """
    if rounds < 0:
        raise ValueError(f"rounds of examples must be 0 or more; got {rounds}")
    names = {tool.name for tool in toolbox.tools}
    items = [item for item in mapped if not item.archived and item.tool in names]
    taken: list[list[Scene]] = [[] for _ in items]
    refused: list[Refusal] = []
    validator = Validator(toolbox)
    for number in range(rounds):
        questions = [_question(item, toolbox) for item in items]
        if number:
            questions = [{**one, "examples": list(map(row, own))} for one, own in zip(questions, taken, strict=True)]
        replies = llm.ask_all("add_examples" if number else "write_examples", Examples, questions)
        for item, own, reply in zip(items, taken, replies, strict=True):
            if isinstance(reply, Unanswered):
                refused.append(Refusal(item.tool, item.name, f"no usable reply: {reply.reason}"))
                continue
            for example in reply.examples:
                try:
                    scene = read(example, item, toolbox, validator)
                except Unfit as error:
                    refused.append(Refusal(item.tool, item.name, str(error)))
                    continue
                if len(own) >= MOST:
                    refused.append(Refusal(item.tool, item.name, f"at most {MOST} examples an item were required"))
                    break
                own.append(scene)
    return _consistent([scene for own in taken for scene in own], refused)


def _consistent(scenes: Iterable[Scene], refused: list[Refusal]) -> tuple[tuple[Scene, ...], tuple[Refusal, ...]]:
    """The scenes, each once; of those that say opposite things of one situation none is taken."""
    by_situation: dict[str, dict[str, Scene]] = {}
    for scene in scenes:
        by_situation.setdefault(scene.situation, {}).setdefault(scene.expect, scene)
    why = "one decision a situation was required; got an example that allows and one that denies the same call"
    both = [scene for ways in by_situation.values() if len(ways) > 1 for scene in ways.values()]
    single = [scene for ways in by_situation.values() if len(ways) == 1 for scene in ways.values()]
    return tuple(single), (*refused, *(Refusal(scene.tool, scene.item, why) for scene in both))


def _question(item: Item, toolbox: Toolbox) -> dict[str, object]:
    """The inputs of the prompt: the tool, what may be used in an example, and the sentences of the item."""
    return {
        "tool": tool_row(toolbox.tool(item.tool)),
        "others": [{**tool_row(one), "reads_only": one.mutating is False} for one in toolbox.tools],
        "state": [
            {**field_row(one), **({"comes_from": one.source.kind} if one.source is not None else {})}
            for one in toolbox.state
        ],
        "item": item.name,
        "sentences": [reference.text for reference in item.references],
    }


def read(example: Told, item: Item, toolbox: Toolbox, validator: Validator) -> Scene:
    """An example of an item, checked.

    Raises:
        Unfit: it is not one; the message says what was required and got.
    """
    sentence = " ".join(_text(example.sentence).split())
    quoted = any(sentence in " ".join(reference.text.split()) for reference in item.references)
    if len(sentence.split()) < WORDS or not quoted:
        raise Unfit(f"a sentence of the item, word for word, was required; got {got(example.sentence)}")
    if len(example.history) > HISTORY or len(example.answers) > HISTORY:
        raise Unfit(f"at most {HISTORY} events before a call were required; got more")
    reading = {tool.name for tool in toolbox.tools if tool.mutating is False}
    answers = [_done(one, validator) for one in example.answers]
    if wrong := [one["tool"] for one in answers if one["tool"] not in reading]:
        raise Unfit(
            f"answers of tools that only read ({', '.join(sorted(reading))}) were required; got {got(wrong[0])}"
        )
    if example.now:
        try:
            Event("scene", Say("", ""), time=example.now)
        except EventError as error:
            raise Unfit(str(error)) from None
    given = {
        "arguments": _arguments(item.tool, example.arguments, validator),
        "history": [_happened(one, validator) for one in example.history],
        "state": _state(example.state, toolbox, validator),
        "answers": answers,
        "now": example.now,
    }
    return Scene(item.tool, item.name, sentence, example.expect, given)


def _text(value: str) -> str:
    """A text as an example may have it: not too long, of letters that can be written."""
    if len(value) > LONG:
        raise Unfit(f"texts of at most {LONG} letters were required; got {len(value)}")
    return schema.text(value)


def _json(value: Any) -> Any:
    """A plain value as JSON has it, with lists for tuples, if none of its texts is too long."""
    if isinstance(value, Mapping):
        return {_text(name): _json(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_json(part) for part in value]
    return _text(value) if isinstance(value, str) else value


def _arguments(tool: str, arguments: dict[str, Any], validator: Validator) -> dict[str, Any]:
    call = validator.call(tool, arguments)
    if isinstance(call, Refused):
        raise Unfit(call.why)
    if validator.tools is not None and tool not in validator.tools:
        raise Unfit(f"a tool of tools.json was required; got {got(tool)}")
    return _json(call.arguments or {})


def _done(one: Answer, validator: Validator) -> dict[str, Any]:
    result = _json(schema.plain(one.result))
    return {"tool": one.tool, "arguments": _arguments(one.tool, one.arguments, validator), "result": result}


def _happened(one: Happened, validator: Validator) -> dict[str, Any]:
    kinds = [name for name in ("user", "assistant", "tool") if getattr(one, name) is not None]
    if len(kinds) != 1:
        raise Unfit(f"words of user or of assistant, or a tool's call, were required of each event; got {kinds}")
    if one.tool is not None:
        return _done(Answer(tool=one.tool, arguments=one.arguments, result=one.result), validator)
    if one.arguments or one.result is not None:
        raise Unfit("words without arguments and result were required; got both")
    return {kinds[0]: _text(getattr(one, kinds[0]))}


def _state(fields: dict[str, Any], toolbox: Toolbox, validator: Validator) -> dict[str, Any]:
    declared = {one.name: one for one in toolbox.state}
    for name in fields:
        if name not in declared:
            raise Unfit(f"fields of the state that tools.json declares were required; got {got(name)}")
        if declared[name].source is not None:
            raise Unfit(f"state.{name} comes from {declared[name].source.kind}: give what it comes from, not itself")
    known = validator.state(fields)
    if known.strange:
        raise Unfit("; ".join(f"state.{name}: {why}" for name, why in known.strange.items()))
    return _json(known.values)


def row(scene: Scene) -> dict[str, Any]:
    """A scene as a JSON value."""
    return {name: getattr(scene, name) for name in ("tool", "item", "sentence", "expect", "given")}


def to_json(judged: Iterable[Tried], refused: Iterable[Refusal]) -> dict[str, object]:
    """What a stage keeps: each scene with its id, its fate and the verdict of the rules; and what was refused."""
    rows = [{"id": one.scene.id, **row(one.scene), "fate": one.fate, "rules say": said(one.verdict)} for one in judged]
    return {"scenes": rows, "refused": [one._asdict() for one in refused]}


def said(verdict: Verdict) -> str:
    """The verdict of the rules in words."""
    return f"{verdict.decision}: {verdict.reason.partition(': ')[2] or 'no rule is broken'}"


def counted(judged: Sequence[Tried], findings: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """How many scenes there are and how many of them the rules decide otherwise; nothing where there are none."""
    found = sum(map(len, findings.values()))
    return {"examples by a model": len(judged), "against the rules": found} if judged else {}


# ---- run on a guard -------------------------------------------------------------------------------------------------


def decided(judge: Judge, scene: Scene) -> Verdict:
    """A judge's verdict on a scene's call, in a session of its own; the history happened whatever the judge says.

    A lookup that the scene has no answer to gives nothing.
    """
    given = {"arguments": {}, "history": (), "state": {}, "answers": (), "now": "", **scene.given}

    def ask(tool: str, arguments: dict[str, Value]) -> Value:
        for one in given["answers"]:
            if one["tool"] == tool and schema.same(schema.plain(one["arguments"]), schema.plain(arguments)):
                return one["result"]
        raise LookupError(f"the scene has no answer of {tool} to these arguments")

    now = given["now"] or None
    events = [Event(scene.id, State(given["state"]), None, now)]
    for step, one in enumerate(given["history"]):
        done = [Asked(Call(one["tool"], one["arguments"])), Result(one["result"])] if "tool" in one else ()
        events += [Event(scene.id, what, step, now) for what in done or [Say(*next(iter(one.items())))]]
    session = Session(judge, run=scene.id, ask=ask, clock=lambda: given["now"])
    try:
        session.replay(events)
        return session.call(scene.tool, given["arguments"])
    except SessionError as error:
        return Verdict("undecided", f"the scene cannot be played: {error}")


def constant(toolbox: Toolbox, allowed: bool) -> CallGuard:
    """A guard that allows every call that fits the tools, or denies every call."""
    return CallGuard("constant", RuleSet((), ()), _constant(toolbox, allowed), frozenset({"tested"}), toolbox)


def _constant(toolbox: Toolbox, allowed: bool, without: str = "") -> tuple[Guarded, ...]:
    free = [Contract(tool.name, (), ()) for tool in toolbox.tools if tool.name != without]
    return tuple(Guarded(one, f"{one.signature}\n    return ({allowed}, 'constant')\n", "tested") for one in free)


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
    """The rules of a tool as a guard that nobody wrote; other tools are as if they had no rule."""
    own = Guarded(contract, function(contract, contract.allows), "tested")
    guards = (own, *_constant(toolbox, True, contract.tool))
    return CallGuard("rules", ruleset, guards, frozenset({"tested"}), toolbox)


def tried(
    scenes: Iterable[Scene],
    required: Iterable[Contract],
    ruleset: RuleSet,
    toolbox: Toolbox,
    open: Mapping[str, Sequence[Quoted]],
) -> tuple[Tried, ...]:
    """The verdict of the rules on each scene, before any code is written."""
    judges = {one.tool: reference(one, ruleset, toolbox) for one in required}
    pairs = [(scene, decided(judges[scene.tool], scene)) for scene in scenes]
    return tuple(Tried(scene, verdict, _fate(scene, verdict, open.get(scene.tool, ()))) for scene, verdict in pairs)


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
    gone, known = {one.id: one for one in struck}, {one.scene.id for one in judged}
    kept = tuple(one for one in judged if one.scene.id not in gone)
    findings: dict[str, tuple[str, ...]] = {}
    for one in kept:
        if one.fate == "disagrees":
            findings[one.scene.tool] = (*findings.get(one.scene.tool, ()), _finding(one))
    return kept, tuple(one for id, one in gone.items() if id not in known), findings


def _finding(one: Tried) -> str:
    wanted = {"allow": "allowed", "deny": "denied"}
    return (
        f"an example of “{one.scene.sentence}” is to be {wanted[one.scene.expect]}, and the rules say "
        f"{one.verdict.decision} (example {one.scene.id}: change the rule, or strike it in decisions.yaml)"
    )


# ---- as examples of the guard's function ----------------------------------------------------------------------------


class _Listening:
    """A guard, or its watch, that keeps the inputs of the guard's function at the last call."""

    def __init__(self, inner: Any, inputs: dict[str, Argument | None]) -> None:
        self._inner, self._inputs = inner, inputs

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def watch(self) -> _Listening:
        return _Listening(self._inner.watch(), self._inputs)

    def fork(self) -> _Listening:
        return _Listening(self._inner.fork(), self._inputs)

    def judge(self, step: Step) -> Verdict:
        self._inputs.clear()
        self._inputs |= self._inner.inputs(step)
        return self._inner.judge(step)


def inputs(judge: CallGuard, scene: Scene) -> dict[str, Argument | None]:
    """The inputs of a guard's function at the call of a scene; None for each value that is not known."""
    found: dict[str, Argument | None] = {}
    decided(_Listening(judge, found), scene)
    return found


def examples(
    judged: Iterable[Tried], required: Iterable[Contract], ruleset: RuleSet, toolbox: Toolbox
) -> dict[str, tuple[Example, ...]]:
    """The scenes that the rules agree with as examples of each tool's function, where all its inputs are known."""
    judges = {one.tool: reference(one, ruleset, toolbox) for one in required}
    found: dict[str, tuple[Example, ...]] = {}
    for scene in (one.scene for one in judged if one.fate == "agrees"):
        values, allowed = inputs(judges[scene.tool], scene), scene.expect == "allow"
        if values and None not in values.values():
            kind = "compliance" if allowed else "violation"
            example = Example(kind, f"example {scene.id}", tuple(values.items()), allowed)
            found[scene.tool] = (*found.get(scene.tool, ()), example)
    return found


def illustrating(item: Item, scenes: Iterable[Scene]) -> Item:
    """A policy item with the calls of its scenes as examples, in words."""
    own = [one for one in scenes if (one.tool, one.item) == (item.tool, item.name)]
    good, bad = ([_in_words(one) for one in own if one.expect == expect] for expect in ("allow", "deny"))
    return replace(item, compliance=(*item.compliance, *good), violations=(*item.violations, *bad))


def _in_words(scene: Scene) -> str:
    given = scene.given
    values = {**{f"state.{k}": v for k, v in given["state"].items()}, **given["arguments"]}
    texts = "; ".join(f"{k}: {v}" for one in given["history"] if "tool" not in one for k, v in one.items())
    return ", ".join([*(f"{k}={v!r}" for k, v in values.items()), *([f"“{texts}”"] if texts else [])]) or "any"
