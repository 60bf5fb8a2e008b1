"""Recorded runs before a guard: what it says of each call, and how often it is right.

In a recording the calls are facts: what was executed there happened, whatever the guard says of it.  A recording is
taken in by a session (`wb.domain.session.Session.replay`), so that a guard says of a recorded call what it would have
said when it was asked for: later results are not known yet.  A result without an error says that the call was
executed, also where the guard denies it; an error, that it was not.  Where the recording has no result for a call, it
was done only if the guard allows it; with a `call_id` its result may still come, and nobody knows.

Part of a file is held out by the name of the run alone, so that a run is on the same side wherever it is read.

What a recording names or holds that `tools.json` does not allow for is counted while it passes (`Undeclared`).  A
guard refuses a call that does not fit and takes a state field that does not fit, or that nobody declared, as not known;
a lookup that no session asks tells nothing, nor does what is told of a field that comes from elsewhere.  All are safe,
and none is meant: a misspelt name would be counted as a denial that is right.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from wb import paths
from wb.bench import mind2web
from wb.bench.evaluate import Scored
from wb.bench.mind2web import Benchmark, Case, Labelled
from wb.domain import events
from wb.domain import policy as documents
from wb.domain.answers import Answering
from wb.domain.events import Answer, Asked, Event, Label, Lookup, Observation, Recognition, Result, Run, Say, State
from wb.domain.judging import Judge
from wb.domain.lookups import ANSWERED
from wb.domain.schema import got, named
from wb.domain.session import Session, SessionError
from wb.domain.tools import Toolbox
from wb.domain.trace import Call, Step, Trace, Value, Verdict
from wb.domain.validation import Known, Refused, Validator
from wb.logic import facts, formula
from wb.models.client import LLM
from wb.rules.rule import RuleSet

ANSWER_S = 600.0  # for one answer about a recorded conversation, in which nobody waits
EMPTY = Toolbox()
AT_ONCE = 256  # events that are read ahead, so that their turns are recognised together
Split = Literal["learning", "held out"]
SPLITS: tuple[Split, Split] = ("learning", "held out")
Recognise = Callable[[Sequence[Observation]], Sequence[Recognition]]


class RunsError(ValueError):
    """Recorded runs cannot be used as they are; the message says what was required and what was got."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One call of a recording with its verdict. `index` counts the calls of its run from 0; a free-text turn is one
    call, and `tool` is empty where it may be several things or none.  `answers` are those about the conversation that
    it rests on; `queries` and `seconds` are what a baseline's model took for it, None where that is not known."""

    run: str
    index: int
    tool: str
    label: Label | None
    verdict: Verdict
    answers: tuple[Answer, ...] = ()
    queries: float = 0
    seconds: float | None = None

    @property
    def id(self) -> str:
        """The call's name among those of a file."""
        return f"{self.run}#{self.index}"


def judge(
    guard: Judge, happened: Iterable[Event], recognise: Recognise | None = None, answer: Answering | None = None
) -> Iterator[Judged]:
    """The guard's verdict on every call, in the order of the events.

    `recognise` tells what a free-text turn is, `answer` what is asked about a conversation and the events do not tell.

    Raises:
        RunsError: there is a free-text turn and nothing that recognises it.
    """
    going: dict[str, Session] = {}
    counted: Counter[str] = Counter()  # the calls of each run so far
    for some in _read_ahead(happened):
        turns = [event for event in some if isinstance(event.what, Observation)]
        if turns and recognise is None:
            run = f"run {turns[0].run!r}{_line(turns[0])}"
            raise RunsError(f"tools called by name were required; {run} has a free-text turn")
        found = iter(recognise([turn.what for turn in turns]) if turns else ())
        for event in some:
            run = going.get(event.run)
            if run is None:
                run = going[event.run] = Session(guard, run=event.run, answer=answer, answer_timeout_s=ANSWER_S)
            for tool, label, verdict in _verdicts(run, event, found):
                yield Judged(event.run, counted[event.run], tool, label, verdict, run.answers)
                counted[event.run] += 1


def _verdicts(run: Session, event: Event, found: Iterator[Recognition]) -> Iterator[tuple[str, Label | None, Verdict]]:
    """Take in one more event: the tool, label and verdict of a call."""
    if isinstance(event.what, Observation):
        recognition = next(found)
        named = [call.tool for call in recognition.steps[0].calls] if recognition.sure else []
        yield named[0] if len(named) == 1 else "", None, run.turn(recognition)
        return
    try:
        verdicts = run.replay((event,), answering=True)
    except SessionError as error:  # it does not fit to what came before: nothing is allowed from here on
        verdicts = [Verdict("undecided", str(error))] if isinstance(event.what, Asked) else []
    for verdict in verdicts:
        yield event.what.call.tool, event.what.label, verdict


def _read_ahead(happened: Iterable[Event]) -> Iterator[list[Event]]:
    """The events in parts; where a line is refused, first all that stands before it."""
    some: list[Event] = []
    try:
        for event in happened:
            some.append(event)
            if len(some) == AT_ONCE:
                yield some
                some = []
    except events.EventError:
        yield some
        raise
    yield some


def _line(event: Event) -> str:
    """Where it stands in its file."""
    return "" if event.line is None else f" (line {event.line})"


def near_misses(guard: Judge, happened: Iterable[Event], verdicts: Mapping[str, Verdict]) -> tuple[str, ...]:
    """The calls that came out right although a fact that their rules need had not been looked up, by `Judged.id`.

    A near miss (arXiv 2603.29665) is a call that is labelled *allow*, that the guard allows, and whose result in the
    recording is no error, although when it was asked for a state field that the guard reads at calls of its tool
    (`Judge.reads`), clocks and detectors apart, had no value from the run's own words, states and results: it is
    unknown there once the recorded lookups and answers are taken out and nobody is asked.

    Args:
        happened: the events of whole runs.
        verdicts: what the guard says of each of their calls (`judge`), by `Judged.id`.
    """
    sources = {one.name: one.source.kind for one in guard.validator.toolbox.state if one.source}
    sure = {name for name, kind in sources.items() if kind in ("clock", "detect")}  # told whoever is asked or not
    going: dict[str, tuple[Session, _Echo]] = {}
    counted: Counter[str] = Counter()
    found: dict[str, None] = {}
    asked: dict[tuple[str, str | None], str] = {}  # by run and call_id; under None the last one
    for event in happened:
        if event.run not in going:
            echo = _Echo(guard.validator, guard.reads)
            going[event.run] = Session(echo, run=event.run), echo
        session, echo = going[event.run]
        match event.what:
            case Lookup() | Answer():
                continue
            case Observation():
                session.turn(Recognition((), "nothing recognises free text"))
                counted[event.run] += 1
                continue
            case Asked(label=label, call_id=call_id):
                name = f"{event.run}#{counted[event.run]}"
                counted[event.run] += 1
                asked |= {(event.run, None): name, (event.run, call_id): name}
                echo.verdict = verdicts[name]
                if label == "allow" and echo.verdict.decision == "allow":
                    found[name] = None
            case Result(failed=True, call_id=call_id):
                found.pop(asked.get((event.run, call_id), ""), None)
        try:
            session.replay((event,))
        except SessionError:  # it does not fit to what came before, so that nothing was allowed
            continue
        if isinstance(event.what, Asked) and all(
            echo.asked.state.get(field) is not None for field in guard.reads(event.what.call.tool) if field not in sure
        ):
            found.pop(name, None)
    return tuple(found)


def outcomes(judged: Iterable[Judged]) -> tuple[Scored, ...]:
    """The labelled ones among judged calls, for `evaluate`."""
    return tuple(Scored(j.id, j.label == "deny", j.verdict) for j in judged if j.label is not None)


def read(files: str) -> tuple[Run, ...]:
    """The runs of one file of JSON lines or of several, comma separated; each run stands in one file only.

    Raises:
        EventError: a line is not what it must be.
        RunsError: two files have a run of the same name, or no call has a label.
    """
    runs: dict[str, Run] = {}
    for name in files.split(","):
        for run in events.read(name.strip()):
            if run.id in runs:
                again = f"{run.id!r} again{_line(run.events[0])}"
                raise RunsError(f"{name.strip()}: runs of its own were required; got {again}")
            runs[run.id] = run
    if not any(isinstance(e.what, Asked) and e.what.label for run in runs.values() for e in run.events):
        raise RunsError(f"{files}: at least one call with a label was required; got none in {len(runs)} runs")
    return tuple(runs.values())


def benchmark(policy: str | Path, split: str = "all", *, runs: str = "", seed: int = 0) -> Benchmark:
    """What a policy is measured on: labelled calls of recorded runs (as in `read`, else its own), else its benchmark.

    Raises:
        RunsError: the split is none of the file's: all, learning, held out.
    """
    runs = runs or paths.labelled(documents.place(policy))
    if not runs:
        return mind2web.of_policy(policy, split)
    if split not in ("all", *SPLITS):
        raise RunsError(f"split must be one of {['all', *SPLITS]}; got {split!r}")
    kept = tuple(run for run in read(runs) if split in ("all", part(run.id, seed)))
    box = documents.toolbox(policy)
    cases = [(run, Case(name, turn, denied)) for run in kept for name, turn, denied in seen(run, box)]
    learned = frozenset(case.id for run, case in cases if part(run.id, seed) == "learning")
    return Benchmark(tuple(case for _, case in cases), learned, kept, SPLITS)


def learning(
    policy: str | Path, toolbox: Toolbox, llm: LLM, *, runs: str = "", seed: int = 0, side: Split = "learning"
) -> Labelled:
    """What weights may be learned from: that part of recorded runs, else the tuned cases; held out: all the others."""
    runs = runs or paths.labelled(documents.place(policy))
    if not runs:
        split = "tuned" if side == "learning" else "other"
        return mind2web.of_cases(mind2web.of_policy(policy, split).cases, toolbox, llm)
    return Labelled(labelled((run for run in read(runs) if part(run.id, seed) == side), toolbox))


def part(run: str, seed: int = 0) -> Split:
    """On which side of the split a run is: half of all names each, told by SHA-256 of the seed and the name."""
    return "learning" if hashlib.sha256(f"{seed}:{run}".encode()).digest()[0] % 2 else "held out"


def halved(some: Labelled, seed: int = 0) -> tuple[Labelled, tuple[Trace, ...]]:
    """What weights are learned from, and the calls of its other half, by run, which are set aside to prove bounds."""
    runs = {one.id: one.id.rpartition("#")[0] or one.id for one in some.traces}
    aside = {name for name, run in runs.items() if part(f"{run} is set aside", seed) == "held out"}
    kept, others = (tuple(t for t in some.traces if (t.id in aside) is away) for away in (False, True))
    return replace(some, traces=kept), others


def labelled(runs: Iterable[Run], toolbox: Toolbox = EMPTY) -> tuple[Trace, ...]:
    """Every labelled call as a trace that ends with it, for learning.

    The steps before it hold what was executed; a call without a result counts as executed unless it is to be denied.
    State fields with a source in the toolbox are what a session knows of them there: from results, answers and words.
    """
    return tuple(
        Trace(f"{run.id}#{number}", (*ideal.before, ideal.asked), label == "deny")
        for run in runs
        for number, label, ideal in _followed(run.id, _told_at_once(run), toolbox)
        if label is not None
    )


def seen(run: Run, toolbox: Toolbox = EMPTY) -> Iterator[tuple[str, Observation, bool]]:
    """Every labelled call of a run as a baseline sees it: its name, the turn in words, whether it is to be denied.

    What others than the user said last stands under their roles: a page in view, a memory.  The previous actions are
    those that were done, with what they gave: one to be denied only where its result says so, none that failed.  State
    fields with a source in the toolbox are what a session knows of them there, as the guards see them; None: unknown.
    """
    known = _sourced(run, toolbox)
    said: dict[str, list[str]] = {}
    state: Mapping[str, Value] = {}
    done: dict[int, str] = {}
    waiting: dict[str | None, tuple[int, str]] = {}  # calls without a result; under None the last one
    number = 0
    for event in run.events:
        match event.what:
            case Say(role, text):
                said.setdefault(role, []).append(text)
            case State(values):
                state = values
            case Asked(call, label, call_id):
                shown = f"{call.tool}({', '.join(f'{name}={value!r}' for name, value in call.arguments.items())})"
                if label is not None:
                    words = "\n".join(said.get("user", ()))
                    last = {role: texts[-1] for role, texts in said.items() if role != "user"}
                    agent = "\n".join(f"{role}: {text}" * (role != "assistant") or text for role, text in last.items())
                    facts = {**state, **known[number]}
                    turn = Observation(words, "", tuple(done.values()), shown, agent, facts)
                    yield f"{run.id}#{number}", turn, label == "deny"
                if label != "deny":
                    done[number] = shown
                waiting |= {None: (number, shown), call_id: (number, shown)}
                number += 1
            case Result(value, failed, call_id) if call_id in waiting:
                place, shown = waiting.pop(call_id)
                shown += f" gave {json.dumps(value, ensure_ascii=False)}" * (value is not None)
                done.pop(place, None)
                if not failed:
                    done = dict(sorted({**done, place: shown}.items()))
            case Observation():
                number += 1


def _sourced(run: Run, toolbox: Toolbox) -> Mapping[int, dict[str, Value]]:
    """By call, what is known of the state fields with a source; nothing from an event on that fits to none before."""
    names, found = [one.name for one in toolbox.state if one.source is not None], {}
    with suppress(SessionError, events.EventError):
        for number, _, ideal in _followed(run.id, run.events, toolbox) if names else ():
            found[number] = {name: ideal.asked.state.get(name) for name in names}
    return defaultdict(lambda: dict.fromkeys(names), found)


def _followed(run: str, happened: Iterable[Event], toolbox: Toolbox) -> Iterator[tuple[int, Label | None, _Echo]]:
    """Each call as a judge meets it that decides as its label says and reads all state fields with a source."""
    sourced = frozenset(one.name for one in toolbox.state if one.source is not None)
    ideal, number = _Echo(_Untyped(toolbox), lambda tool, before=(): sourced), 0
    session = Session(ideal, run=run)
    for event in happened:
        if isinstance(event.what, Observation):
            session.turn(Recognition((), "nothing recognises free text"))
        else:
            label = event.what.label if isinstance(event.what, Asked) else None
            ideal.verdict = Verdict("deny" if label == "deny" else "allow", "so its label says")
            session.replay((event,))
            if isinstance(event.what, Asked):
                yield number, label, ideal
        number += isinstance(event.what, Asked | Observation)


def _told_at_once(run: Run) -> Iterator[Event]:
    """The events of a run, each result straight after its call."""
    calls: dict[str | None, Event] = {}  # by id; under None the last one
    results: dict[int, Event] = {}
    for event in run.events:
        match event.what:
            case Asked(call_id=call_id):
                calls |= {None: event, call_id: event}
            case Result(call_id=call_id):
                results[id(calls[call_id])] = event
    for event in run.events:
        if not isinstance(event.what, Result):
            yield event
        if id(event) in results:
            yield results[id(event)]


class _Untyped:
    """A validator that takes every call and state as it is; `toolbox` says where state fields come from."""

    def __init__(self, toolbox: Toolbox) -> None:
        self.toolbox, self.one = toolbox, Validator(toolbox).one  # what a source gives has the type that is declared

    def call(self, tool: str, arguments: Mapping[str, Value]) -> Call:
        return Call(tool, arguments)

    def state(self, values: Mapping[str, Value]) -> Known:
        return Known(values)


@dataclass(slots=True)
class _Echo:
    """A judge that says what it is to say, and keeps the last step that it was asked about and those before. It is its
    own watch; no call matters to another one, for every result is told at once, or only what is known counts."""

    validator: Validator | _Untyped
    reads: Callable[..., Collection[str]] = lambda tool, before=(): ()
    verdict: Verdict | None = None
    before: list[Step] = field(default_factory=list)
    asked: Step = field(default_factory=Step)
    name: str = "echo"

    def watch(self) -> _Echo:
        return self

    def judge(self, step: Step) -> Verdict:
        self.asked = step
        return self.verdict

    def remember(self, step: Step) -> None:
        self.before.append(step)

    def minds(self, tool: str) -> bool:
        return False


# ---- what does not fit tools.json ------------------------------------------------------------------------------------

MOST = 8  # names in a line
Kind = Literal["tool", "call", "field", "value", "unread", "lookup", "gone", "time"]
TITLES: dict[Kind, str] = {
    "tool": "",
    "call": "calls that do not fit tools.json, and do not run",
    "field": "state fields that are not declared, and count as not told",
    "value": "state fields that do not fit tools.json, and count as not known",
    "unread": "state fields with a source in tools.json, of which what is told is not read",
    "lookup": "lookups that no field of the state comes from, and that tell nothing",
    "gone": "state fields that an earlier state of the run told and a later one leaves out, and count as not told",
    "time": 'calls without a "time", which rules ask for',
}
What = tuple[Kind, str]  # a name, or what is wrong with it


@dataclass(frozen=True, slots=True)
class Undeclared:
    """Counts what does not fit the toolbox. A state field is declared as well where a rule's predicate without a test
    is told under its name, true or false.  A state event tells all that is known: what a later one of the run leaves
    out is counted as well."""

    toolbox: Toolbox
    rules: RuleSet
    counts: Counter[What] = field(default_factory=Counter, init=False)
    first: dict[What, str] = field(default_factory=dict, init=False)  # where each was met first

    def passing(self, events: Iterable[Event]) -> Iterator[Event]:
        """The events as they come; each is counted."""
        validator = Validator(self.toolbox)
        spoken = {p.name for p in self.rules.predicates if p.kind == "state" and p.test is None}
        spoken -= {one.name for one in self.toolbox.state}
        asked = (None, "question")  # what is told of a field that comes from elsewhere is not read
        read = {one.name for one in self.toolbox.state if (one.source and one.source.kind) in asked} | spoken
        timed, before = self._timed(), {}  # what the last state of each run told
        for event in events:
            gone = ()
            if isinstance(event.what, State):
                now = event.what.values
                gone = [("gone", name) for name in before.get(event.run, ()) if name not in now]
                before[event.run] = [name for name in now if name in read and now[name] is not None]
            for what in (*gone, *self._problems(event, validator, spoken, timed)):
                self.counts[what] += 1
                line = "" if event.line is None else f"line {event.line}, "
                self.first.setdefault(what, f"first in {line}run {named(event.run)}")
            yield event

    def _problems(self, event: Event, validator: Validator, told: Collection[str], timed: bool) -> Iterator[What]:
        """What of an event does not fit."""
        declared = {one.name: one.source for one in self.toolbox.state}
        match event.what:
            case Asked(call):
                if call.tool not in validator.tools:
                    yield "tool", call.tool
                elif type(refused := validator.asked(call)) is Refused:
                    yield "call", refused.why
                if timed and event.time is None:
                    yield "time", named(call.tool)
            case Answer(field=name) if not declared.get(name) or declared[name].kind not in ANSWERED:
                yield "lookup", f"{named(name)}: no such question is asked"
            case Lookup(tool, arguments):
                if why := self._unasked(validator, tool, arguments):
                    yield "lookup", why
            case State(values) | Observation(state=values):
                for name, value in values.items():
                    if name not in declared and name not in told:
                        yield "field", name
                    elif name in told and type(value) is not bool and value is not None:
                        yield "value", f"{name}: boolean was required; got {got(value)}"
                    elif declared.get(name) is not None and declared[name].kind != "question" and value is not None:
                        yield "unread", name
                for name, why in validator.state(values).strange.items():
                    if declared.get(name) is None or declared[name].kind == "question":
                        yield "value", f"{name}: {why}" if name else why

    def lines(self) -> tuple[str, ...]:
        """What did not fit, a line for each kind; none where all did."""
        calls = sum(n for (kind, _), n in self.counts.items() if kind == "tool")
        said = f"{calls} call{'s name' if calls != 1 else ' names'} no tool of tools.json"
        return tuple(f"{title or said}: {found}" for kind, title in TITLES.items() if (found := self._listed(kind)))

    def _listed(self, kind: Kind) -> str:
        """What came, how often, where first, and what may have been meant; the most frequent first."""
        declared = {"tool": self.toolbox.tools, "field": self.toolbox.state}.get(kind)
        known = [one.name for one in declared or ()]
        said = []
        for what, n in self.counts.most_common():
            if what[0] == kind:
                beside = filter(None, (f"{n}×", self.first[what], _near(what[1], known)))
                said.append(f"{what[1] if declared is None else named(what[1])} ({', '.join(beside)})")
        return ", ".join([*said[:MOST], *([f"and {len(said) - MOST} more"] if len(said) > MOST else [])])

    def _timed(self) -> bool:
        """Whether a rule reads the clock."""
        tests = [one.test for one in self.rules.predicates if one.test is not None]
        read = {path.names[1] for test in tests for path in facts.paths(test) if path.names[0] == "state"}
        read |= {"now" for rule in self.rules.rules if formula.windows(rule.formula)}
        clocks = {one.name for one in self.toolbox.state if one.source is not None and one.source.kind == "clock"}
        return bool(read & clocks)

    def _unasked(self, validator: Validator, tool: str, arguments: Mapping[str, Value]) -> str:
        """Why a session would not ask that; empty where it would."""
        known = {one.name: one for one in self.toolbox.tools}
        if tool not in known:
            near = _near(tool, list(known))
            return f"{got(tool)}: there is no such tool{f', {near}' if near else ''}"
        if known[tool].mutating is not False:
            return f'{tool}: a tool with "mutating": false was required'
        sources = [one.source for one in self.toolbox.state if one.source is not None]
        asked = {tuple(sorted(dict(one.arguments))): None for one in sources if (one.kind, one.of) == ("lookup", tool)}
        if not asked:
            return f"{tool}: no field is looked up there"
        if tuple(sorted(arguments)) not in asked:
            wanted = " or ".join([f"({', '.join(names)})" for names in asked])
            return f"{tool}: the arguments {wanted} were required; got ({', '.join(map(got, sorted(arguments)))})"
        checked = validator.asked(Call(tool, arguments))
        return checked.why if type(checked) is Refused else ""


def _near(name: str, known: Sequence[str]) -> str:
    """The declared name that a name may have been meant for, as a question; "" where none is close."""
    found = difflib.get_close_matches(name, known, n=1)
    return f"{found[0]}?" if found else ""
