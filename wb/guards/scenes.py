"""Examples of a policy item that a model writes from its sentences: a call, the history before it, and its decision.

ToolGuard (Sec. 3.1, steps "create examples" and "add examples"; App. 7.2) has a model write examples of compliance and
violation from the policy's text and then tests from these, with the results of other tools mocked.  Here an example is
data and never code: words, known state, earlier calls with their results, answers of read-only tools, the call,
whether it is to be allowed, and the sentence that it rests on, word for word.  What does not fit `tools.json`, rests
on no sentence of its item or contradicts another example is refused with the reason; nothing is repaired.

Whoever writes them sees the sentences and never the rules.  An example that the rules decide otherwise is a *finding*:
the guard of that tool is *tested* at most, until a person changes the rule or strikes the example
(`decisions.yaml`, `struck`).  A person writes examples there too, or edits and keeps a model's (`examples`).  What is
open, or not known in the scene, says nothing against a rule.

Tests of guards are files that a person reads and runs: one file a tool, one test an example, its sentence beside it.
A template writes them from the scenes and from the examples computed from the rules (`examples`).  Nothing in them was
written by a model but texts and values, each as a Python literal.

    pytest tests/test_TOOL.py                 # the guard of this version
    pytest tests/test_TOOL.py --guard allow   # one that allows every call: each violation must fail
    pytest tests/test_TOOL.py --guard deny    # one that denies every call: each compliance must fail
    pytest tests/test_TOOL.py --guard before  # each source that a counterexample broke: those tests must fail
"""

from __future__ import annotations

import ast
import json
import pprint
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple

import jinja2
import pydantic

from wb.domain import schema, tools
from wb.domain.events import Asked, Event, EventError, Label, Result, Say, State
from wb.domain.judging import Judge
from wb.domain.schema import Unfit, got
from wb.domain.session import Session, SessionError
from wb.domain.tools import Toolbox
from wb.domain.trace import Call, Open, Quoted, Step, Value, Verdict
from wb.domain.validation import Refused, Validator
from wb.guards import evidence, sandbox
from wb.guards import examples as computed
from wb.guards.contract import Contract, contracts, function
from wb.guards.examples import Example
from wb.guards.runtime import CallGuard, Guarded
from wb.guards.sandbox import Argument
from wb.guards.synthesis import Draft, guarded
from wb.models.client import LLM, Unanswered
from wb.paths import digest
from wb.rules import rulefile
from wb.rules.binding import field_row, tool_row
from wb.rules.decisions import Shown, Struck
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
    by: Literal["model", "person"] = "model"

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
    return consistent([scene for own in taken for scene in own], refused)


def by_person(
    shown: Iterable[Shown], mapped: Iterable[Item], toolbox: Toolbox
) -> tuple[tuple[Scene, ...], tuple[Refusal, ...]]:
    """The examples that a person wrote (`decisions.yaml`), and those refused: they are checked as a model's are."""
    items, validator = list(mapped), Validator(toolbox)
    found, refused = [], []
    for one in shown:
        words = " ".join(one.text.split())
        near = [item for item in items if item.tool == one.tool]
        whole = [i for i in near if any(words in " ".join(said.text.split()) for said in i.references)]
        try:
            if not whole:
                raise Unfit(f"a sentence of an item of {one.tool} (items.yaml) was required; got {got(one.text)}")
            told = Told(sentence=one.text, expect=one.expect, **{"arguments": {}, **one.given})
            found.append(replace(read(told, whole[0], toolbox, validator), by="person"))
        except (Unfit, pydantic.ValidationError, TypeError) as error:
            refused.append(Refusal(one.tool, whole[0].name if whole else "", f"by a person: {error}"))
    return tuple(found), tuple(refused)


def consistent(scenes: Iterable[Scene], refused: Iterable[Refusal]) -> tuple[tuple[Scene, ...], tuple[Refusal, ...]]:
    """The scenes, each once, and what was refused; of those that say opposite things of one situation a person's is
    taken, and none where a model wrote both."""
    by_situation: dict[str, dict[str, Scene]] = {}
    for scene in scenes:
        by_situation.setdefault(scene.situation, {}).setdefault(scene.expect, scene)
    why = "one decision a situation was required; got an example that allows and one that denies the same call"
    rows = [(one, len(ways) == 1 or one.by == "person") for ways in by_situation.values() for one in ways.values()]
    both = [Refusal(one.tool, one.item, why) for one, taken in rows if not taken]
    return tuple(one for one, taken in rows if taken), (*refused, *both)


def _question(item: Item, toolbox: Toolbox) -> dict[str, object]:
    """The inputs of the prompt: the tool, what may be used in an example, and the sentences of the item."""
    return {
        "tool": tool_row(toolbox.tool(item.tool)),
        "others": [{**tool_row(one), "reads_only": one.mutating is False} for one in toolbox.tools],
        "state": [
            {**field_row(one), **({"comes_from": one.source.kind} if one.source is not None else {})}
            for one in toolbox.state
        ],
        "item": f"{item.name}: {item.description}" if item.by == "person" else item.name,
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
    names = ("tool", "item", "sentence", "expect", "given", *(("by",) if scene.by == "person" else ()))
    return {name: getattr(scene, name) for name in names}


def to_json(judged: Iterable[Tried], refused: Iterable[Refusal]) -> dict[str, object]:
    """What a stage keeps: each scene with its id, its fate and the verdict of the rules; and what was refused."""
    rows = [{"id": one.scene.id, **row(one.scene), "fate": one.fate, "rules say": said(one.verdict)} for one in judged]
    return {"scenes": rows, "refused": [one._asdict() for one in refused]}


def said(verdict: Verdict) -> str:
    """The verdict of the rules in words."""
    return f"{verdict.decision}: {verdict.reason.partition(': ')[2] or 'no rule is broken'}"


def counted(
    judged: Sequence[Tried], findings: Mapping[str, Sequence[str]], tests: Sequence[Test], replayed: Sequence[Test]
) -> dict[str, int]:
    """How many tests there are, of them those that repeat the rules and those of whoever wrote examples, how many of
    these the rules decide otherwise, and how many counterexamples are kept."""
    by = {f"examples by a {who}": sum(one.scene.by == who for one in judged) for who in ("model", "person")}
    against = {"against the rules": sum(map(len, findings.values()))} if judged else {}
    found = {"tests": len(tests), "tests that repeat the rules": sum(one.author == ECHO for one in tests)}
    return {**found, **{name: n for name, n in by.items() if n}, **against, "counterexamples": len(replayed)}


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
    session = Session(judge, run=scene.id, ask=ask, clock=lambda: given["now"], ask_all=True)
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
    act = "it" if one.scene.by == "person" else "strike it"
    do = f"example {one.scene.id}: change the rule, or {act} in decisions.yaml"
    asked = f"an example of “{one.scene.sentence}” is to be {wanted[one.scene.expect]}"
    return f"{asked}, and the rules say {one.verdict.decision} ({do})"


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


# ---- as files of tests ----------------------------------------------------------------------------------------------


ACCEPTED = frozenset({"tested", "bounded", "proved"})
POLICY, KEPT = "policy.json", ("candidates.json", "guards.json")  # of which the first is there
ECHO = "the rules; it repeats them and says nothing of how they were read"
Broken = tuple[Mapping[str, Argument], str]  # values on which a source broke its contract, and the source
NOTHING = "no rule is broken"
CONFTEST = '''"""What the tests of this folder run on: this version's guards, or one that answers all alike."""

from pathlib import Path

import pytest

from wb.guards import scenes


def pytest_addoption(parser):
    parser.addoption("--guard", default="version", choices=("version", "allow", "deny", "before"))


@pytest.fixture(scope="session")
def tested(request):
    """What answers: `tested.answer(TOOL, VALUES)`, `tested.decide(TOOL, SCENE)` and, open sentences counted,
    `tested.runs(TOOL, SCENE)`, each "allow", "deny" or why not."""
    return scenes.Tested.load(Path(__file__).parent, request.config.getoption("--guard"))
'''
TEMPLATE = """{{ head | literal }}
{% if tests | selectattr("waits") | list %}

import pytest
{% endif %}
{% for test in tests %}


{% if test.waits %}
@pytest.mark.xfail(reason={{ test.waits | literal }})
{% endif %}
def test_{{ "%03d" | format(loop.index) }}_{{ test.name }}(tested):
    {{ (test.sentences | join(" / ") ~ " (by " ~ test.author ~ ")") | literal }}
    assert tested.{{ test.method }}({{ test.tool | literal }}, {{ test.values | value }}) == "{{ test.wanted }}"
{% endfor %}
"""


class Test(NamedTuple):
    """A test of a tool's guard: the sentences that it rests on, the author of its example, its name, the method of
    `Tested` that it asks, with values, and the decision wanted.

    What was computed from the rules is an `ECHO` of them: it tells of the code, and not whether they were read right.
    `waits` says why the rules cannot decide it yet, so that it is kept and may fail; empty for all others.
    """

    tool: str
    sentences: tuple[str, ...]
    author: str
    name: str
    method: Literal["decide", "answer", "runs"]
    values: Mapping[str, Any]
    wanted: Label
    waits: str = ""


def of_scene(scene: Scene, fate: Fate = "agrees", why: str = "") -> Test:
    """The test of an example that a model or a person wrote.

    One that the rules leave open or undecided is a test too: a violation must not run, whatever holds it; a call that
    complies waits for what is not known (`why`).
    """
    kind, left = "compliance" if scene.expect == "allow" else "violation", fate in ("open", "unknown")
    method = "runs" if left and scene.expect == "deny" else "decide"
    waits = why if left and scene.expect == "allow" else ""
    name = f"{kind}_{scene.id}"
    return Test(scene.tool, (scene.sentence,), f"a {scene.by}", name, method, scene.given, scene.expect, waits)


def tests(required: Iterable[Contract], judged: Iterable[Tried], ruleset: RuleSet) -> tuple[Test, ...]:
    """All tests, tool by tool: of the sentences by a model or a person, and of the rules.

    No scene is left out; one that the rules decide otherwise fails until a person says which of the two is right.
    """
    rows, found = list(judged), []
    for one in required:
        found += [of_scene(scene, fate, said(verdict)) for scene, verdict, fate in rows if scene.tool == one.tool]
        found += [_computed(one, case, case.kind, ECHO, ruleset) for case in computed.examples(one)]
    return tuple(found)


def _computed(one: Contract, case: Example, name: str, author: str, ruleset: RuleSet) -> Test:
    """The test of an example that was computed."""
    quotes = {rule.id: rule.quote or rule.text for rule in ruleset.rules}
    wanted = "allow" if case.allowed else "deny"
    return Test(one.tool, _broken(one, case, quotes), author, name, "answer", dict(case.arguments), wanted)


def replays(drafts: Iterable[Draft], ruleset: RuleSet) -> tuple[tuple[Test, ...], dict[str, list[Broken]]]:
    """The counterexamples that were met on the way to each guard, as tests, and by tool the sources that they broke:
    each test fails on that source (`--guard before`), and passes where it was repaired."""
    found: list[Test] = []
    before: dict[str, list[Broken]] = {}
    for draft in drafts:
        met: dict[tuple, str] = {}
        for attempt in draft.attempts:
            for one in (one for one in attempt.complaints if one.arguments and one.allowed is not None):
                if one.arguments not in met:
                    case = Example("boundary", "", one.arguments, one.allowed)
                    name, by = f"counterexample_{len(met) + 1}", f"{one.check}, which broke an attempt; {ECHO}"
                    found.append(_computed(draft.contract, case, name, by, ruleset))
                    met[one.arguments] = attempt.source
        if met:
            before[draft.contract.tool] = [(dict(values), source) for values, source in met.items()]
    return tuple(found), before


def _broken(required: Contract, case: Example, quotes: Mapping[str, str]) -> tuple[str, ...]:
    """The sentences of the rules that an example breaks."""
    if case.allowed:
        return (NOTHING,)
    values = dict(case.arguments)
    broken = [i for i in required.items if not computed.program(required, i.condition).run(**values)[0]]
    return tuple(dict.fromkeys(quotes.get(item.rule) or item.text for item in broken))


def files(
    found: Iterable[Test],
    ruleset: RuleSet,
    toolfile: str,
    open: Mapping[str, Sequence[Quoted]],
    before: Mapping[str, Sequence[Broken]] = MappingProxyType({}),
) -> dict[str, object]:
    """The files of the tests by name, texts and JSON values, one a tool that has any, with what they need beside the
    guards; `before` as `replays` gives it."""
    by_tool: dict[str, list[Test]] = {}
    for test in found:
        by_tool.setdefault(test.tool, []).append(test)
    sentences = {tool: [[one.id, one.text] for one in rows] for tool, rows in open.items()}
    policy = {"rules": rulefile.to_json(ruleset), "tools": toolfile, "open": sentences, "before": before}
    named = {f"test_{tools.identifier(tool)}.py": _file(rows) for tool, rows in by_tool.items()}
    return {"conftest.py": CONFTEST, POLICY: policy, **named}


def _file(tests: Sequence[Test]) -> str:
    """One test file; each text that came from outside is a literal in it.

    Raises:
        ValueError: it would hold anything but functions of one assertion each.
    """
    tool = tests[0].tool
    environment = jinja2.Environment(trim_blocks=True, undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    environment.filters |= {"literal": _literal, "value": _value}
    head = f"Tests of the guard of {tool}, written before its code: see wb.guards.scenes for how to run them."
    text = environment.from_string(TEMPLATE).render(head=head, tests=tests)
    doc, *body = ast.parse(text).body
    body = body[any(test.waits for test in tests) :]  # `import pytest`
    functions = all(
        isinstance(one, ast.FunctionDef) and [type(part) for part in one.body] == [ast.Expr, ast.Assert] for one in body
    )
    if not isinstance(doc, ast.Expr) or not functions or len(body) != len(tests):
        raise ValueError(f"{tool}: a test file of {len(tests)} functions was required; got another one")
    return text


def _literal(text: str) -> str:
    """A text as a Python literal on one line, with nothing in it that does not show."""
    return repr(text) if text.isprintable() else ascii(text)


def _value(value: object) -> str:
    """A JSON value as a Python literal, over several lines where it is long."""
    return pprint.pformat(value, width=100, sort_dicts=False).replace("\n", "\n        ")


# ---- what they run on -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tested:
    """What test files ask: the guards of a version, or one that answers the same to every call (`constant`); and of
    the counterexamples the sources that they broke, where those are asked for (`before`)."""

    guard: CallGuard
    constant: str = ""
    open: Mapping[str, Sequence[Quoted]] = MappingProxyType({})
    before: Mapping[str, Sequence[Broken]] = MappingProxyType({})

    @classmethod
    def load(cls, folder: Path, which: str = "version") -> Tested:
        """The guards that the files in a folder are about.

        Raises:
            OSError, ValueError: a file that they need is not there, or is not what it was.
        """
        policy = json.loads((folder / POLICY).read_text(encoding="utf-8"))
        toolbox, ruleset = tools.parse(policy["tools"]), rulefile.from_json(policy["rules"])
        if which in ("allow", "deny"):
            return cls(constant(toolbox, which == "allow"), which)
        kept = next((one for name in KEPT if (one := folder.parent / name).exists()), folder.parent / KEPT[0])
        rows = json.loads(kept.read_text(encoding="utf-8"))
        open = {tool: tuple(Open(*one) for one in rows) for tool, rows in policy["open"].items()}
        guards = evidence.from_rows(rows, contracts(toolbox, ruleset), ruleset, open)
        before = policy["before"] if which == "before" else {}
        return cls(CallGuard("version", ruleset, guards, ACCEPTED, toolbox), "", open, before)

    def answer(self, tool: str, values: Mapping[str, Argument]) -> str:
        """The answer of the tool's function: allow, deny, or why it cannot be asked."""
        if self.constant:
            return self.constant
        broken = [source for arguments, source in self.before.get(tool, ()) if arguments == values]
        program = sandbox.load(broken[0]) if broken else self.guard.programs.get(tool)
        if program is None:
            return f"no guard of {tool} was accepted"
        answered = sandbox.tried(program, dict(values))
        return answered if isinstance(answered, str) else "allow" if answered[0] else "deny"

    def decide(self, tool: str, given: Mapping[str, Any]) -> str:
        """The guards' decision on the call of a scene; open sentences are left out, as the rules know none."""
        verdict = decided(self.guard, Scene(tool, "", "", "deny", given))
        return f"{verdict.decision}: {verdict.reason}" if verdict.grade == "error" else verdict.decision

    def runs(self, tool: str, given: Mapping[str, Any]) -> str:
        """Whether the call of a scene runs, "allow", or is held back, "deny", be it by an open sentence."""
        whole = replace(self.guard, open=self.open)
        return "allow" if decided(whole, Scene(tool, "", "", "deny", given)).decision == "allow" else "deny"


def wrong(tested: Tested, found: Iterable[Test]) -> tuple[Test, ...]:
    """The tests that a guard fails; those that wait are failed by guards alone that answer all alike."""
    due = [one for one in found if tested.constant or not one.waits]
    return tuple(one for one in due if getattr(tested, one.method)(one.tool, one.values) != one.wanted)


def held(
    drafts: Sequence[Draft],
    found: Sequence[Test],
    ruleset: RuleSet,
    toolbox: Toolbox,
    open: Mapping[str, Sequence[Quoted]] = MappingProxyType({}),
) -> tuple[Draft, ...]:
    """The drafts; an accepted one that fails a test all the same has that as a finding, for a person to decide.

    What the rules say otherwise than an example is known before any code is (`settled`) and not said again.
    """
    entries = [guarded(draft) for draft in drafts]
    candidates = Tested(CallGuard("candidates", ruleset, tuple(entries), ACCEPTED, toolbox), open=open)
    accepted = {entry.contract.tool for entry in entries if entry.grade in ACCEPTED}
    failed: dict[str, dict[str, None]] = {}
    for test in wrong(candidates, [one for one in found if one.tool in accepted]):
        failed.setdefault(test.tool, {})[f"its code fails a test of “{test.sentences[0]}”"] = None
    return tuple(replace(one, findings=one.findings or tuple(failed.get(one.contract.tool, ()))) for one in drafts)


def discerning(found: Sequence[Test], toolbox: Toolbox) -> tuple[Test, ...]:
    """The tests that tell two guards apart which answer the same to every call: each violation fails on the one that
    allows and passes on the one that denies, each compliance the other way round."""
    guards = {answer: Tested(constant(toolbox, answer == "allow"), answer) for answer in ("allow", "deny")}
    failed = {answer: set(map(id, wrong(tested, found))) for answer, tested in guards.items()}
    by = [(one, {answer for answer, tests in failed.items() if id(one) in tests}) for one in found]
    return tuple(one for one, on in by if on == failed.keys() - {one.wanted})
