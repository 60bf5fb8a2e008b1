"""Recorded runs before a guard: what it says of each call, and how often it is right.

In a recording the calls are facts: what was executed there happened, whatever the guard says of it.  A call
counts as executed if its result stands in the recording without an error, and as not executed if that result is
an error.  Where the recording has no result for a call, it was done only if the guard allows it, as in a session.
A result that comes when its step is over and says otherwise cannot be made good: from there on nothing is allowed.
Calls of one step are judged in their order, each with the executed ones of its step before it.
What is read of calls and states passes the guard's validator first, as in a session: a call that does not fit
`tools.json` is refused, and one that was executed all the same is remembered with what fits of its arguments.
State fields that come from somewhere (`wb.domain.lookups`) are filled from what the recording holds: results, lookups
and times, the newest of them; nothing is asked.  Two answers to one question of a call are none, and neither is one
that stands before the end of what may have changed it.  A turn in free text that is not sure may be any call.

Part of a file is held out by the name of the run alone, so that a run is on the same side wherever it is read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from wb.bench import evaluate, mind2web
from wb.bench.evaluate import Scored
from wb.bench.mind2web import Benchmark, Case, Labelled
from wb.domain import events, session
from wb.domain.events import Asked, Event, Label, Lookup, Result, Run, Say, State
from wb.domain.lookups import Filled, Lookups, needed
from wb.domain.session import Judge, Watch
from wb.domain.tools import Toolbox
from wb.domain.trace import Call, Step, Trace, Value, Verdict
from wb.domain.turns import Observation, Recognition
from wb.domain.validation import Known, Refused, Validator, fitting
from wb.models.client import LLM

AT_ONCE = 256  # events that are read ahead, so that their turns are recognised together
Split = Literal["learning", "held out"]
SPLITS: tuple[Split, Split] = ("learning", "held out")
Recognise = Callable[[Sequence[Observation]], Sequence[Recognition]]


class RunsError(ValueError):
    """Recorded runs cannot be used as they are; the message says what was required and what was got."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One call of a recording with its verdict. `index` counts the calls of its run from 0; a free-text turn is one
    call, and `tool` is empty where it may be several things or none."""

    run: str
    index: int
    tool: str
    label: Label | None
    verdict: Verdict

    @property
    def id(self) -> str:
        """The call's name among those of a file."""
        return f"{self.run}#{self.index}"


def judge(guard: Judge, happened: Iterable[Event], recognise: Recognise | None = None) -> Iterator[Judged]:
    """The guard's verdict on every call, run by run as they come; a call comes out once its step is over.

    `recognise` tells what a free-text turn is.

    Raises:
        RunsError: there is a free-text turn and nothing that recognises it.
    """
    going: dict[str, _Going] = {}
    for some in _read_ahead(happened):
        turns = [event.what for event in some if isinstance(event.what, Observation)]
        if turns and recognise is None:
            raise RunsError(f"tools called by name were required; run {some[0].run!r} has free-text turns")
        found = iter(recognise(turns) if turns else ())
        for event in some:
            run = going.get(event.run)
            if run is None:
                run = going[event.run] = _Going(
                    event.run, guard.watch(), guard.validator, reads=lambda tool: guard.reads(tool)
                )
            yield from run.follow(event, next(found) if isinstance(event.what, Observation) else None)
    for run in going.values():
        yield from run.close()


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
                raise RunsError(f"{name.strip()}: runs of its own were required; got {run.id!r} again")
            runs[run.id] = run
    if not any(isinstance(e.what, Asked) and e.what.label for run in runs.values() for e in run.events):
        raise RunsError(f"{files}: at least one call with a label was required; got none in {len(runs)} runs")
    return tuple(runs.values())


def benchmark(policy: str | Path, split: str = "all", *, runs: str = "", seed: int = 0) -> Benchmark:
    """What a policy is measured on: the labelled calls of recorded runs (files as in `read`), else its own benchmark.

    Raises:
        RunsError: the split is none of the file's: all, learning, held out.
    """
    if not runs:
        return mind2web.of_policy(policy, split)
    if split not in ("all", *SPLITS):
        raise RunsError(f"split must be one of {['all', *SPLITS]}; got {split!r}")
    kept = tuple(run for run in read(runs) if split in ("all", part(run.id, seed)))
    cases = [(run, Case(name, turn, denied)) for run in kept for name, turn, denied in seen(run)]
    learned = frozenset(case.id for run, case in cases if part(run.id, seed) == "learning")
    return Benchmark(tuple(case for _, case in cases), learned, kept, SPLITS)


def learning(policy: str | Path, toolbox: Toolbox, llm: LLM, *, runs: str = "", seed: int = 0) -> Labelled:
    """What weights may be learned from: the learning part of recorded runs, else the tuned cases of the benchmark."""
    if not runs:
        return mind2web.runs(policy, toolbox, llm)
    return Labelled(labelled(run for run in read(runs) if part(run.id, seed) == "learning"))


def part(run: str, seed: int = 0) -> Split:
    """On which side of the split a run is: half of all names each, told by SHA-256 of the seed and the name."""
    return "learning" if hashlib.sha256(f"{seed}:{run}".encode()).digest()[0] % 2 else "held out"


def labelled(runs: Iterable[Run]) -> tuple[Trace, ...]:
    """Every labelled call as a trace that ends with it, for learning.

    The steps before it hold what was executed; a call without a result counts as executed unless it is to be denied.
    """
    return tuple(trace for run in runs for trace in _labelled(run))


def seen(run: Run) -> Iterator[tuple[str, Observation, bool]]:
    """Every labelled call of a run as a baseline sees it: its name, the turn in words, whether it is to be denied.

    The previous actions are those that were done: one to be denied only where its result says so, none that failed.
    """
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
                    agent = (said.get("assistant") or [""])[-1]
                    yield (
                        f"{run.id}#{number}",
                        Observation(words, "", tuple(done.values()), shown, agent, state),
                        label == "deny",
                    )
                if label != "deny":
                    done[number] = shown
                waiting |= {None: (number, shown), call_id: (number, shown)}
                number += 1
            case Result(failed=failed, call_id=call_id) if call_id in waiting:
                place, shown = waiting.pop(call_id)
                done.pop(place, None)
                if not failed:
                    done = dict(sorted({**done, place: shown}.items()))
            case Observation():
                number += 1


@dataclass(frozen=True, slots=True)
class _Asked:
    """A call of the step that is going on, the state before it and those that passed since the call before, its time,
    and what was seen until the next one."""

    asked: Asked
    checked: Call | Refused
    known: Known
    passed: Sequence[Mapping[str, Value]] = ()
    time: str | None = None
    then: list[Callable[[Lookups], None]] = field(default_factory=list)


@dataclass(slots=True)
class _Going:
    """One run as far as it has been read. Its steps are those of a session (`wb.domain.session`).

    Without a validator calls and states are taken as they are.
    """

    run: str
    watch: Watch
    validator: Validator | None = None
    state: Mapping[str, Value] = field(default_factory=dict)
    strange: Mapping[str, str] = field(default_factory=dict)  # the state's fields that do not fit, and why
    told: bool = False  # whether the state was told since the last call
    passed: list[Mapping[str, Value]] = field(default_factory=list)  # told since then, and replaced
    words: Step | None = None  # of the assistant, which may belong to the next call
    present: Step | None = None  # the present step as it began
    number: int | None = None
    index: int = 0
    calls: list[_Asked] = field(default_factory=list)
    failed: dict[int, bool] = field(default_factory=dict)  # by position in the step: whether the result is an error
    late: dict[str | None, bool] = field(default_factory=dict)  # calls without a result: whether they count as done
    spoilt: str = ""
    reads: Callable[[str], Collection[str]] = tuple  # by tool, the fields of the state that the guard reads
    lookups: Lookups | None = None  # what was seen of the fields that come from somewhere
    last: int | str | None = None  # what the last call is remembered by

    def __post_init__(self) -> None:
        if self.validator is not None and needed(self.validator):
            self.lookups = Lookups(self.validator)

    def follow(self, event: Event, recognition: Recognition | None) -> Iterator[Judged]:
        """Take in one more event; the verdicts on the calls of a step that is over with it."""
        match event.what:
            case Say(role, text):
                if self.words is not None:
                    yield from self._begin(None, self.words)
                    self.told = self.told and self.words.state is not self.state
                self.words = Step((), self.state, text) if role == "assistant" else None
                self._seen(lambda seen: seen.said(role, text))
            case State(values):
                known = self.validator.state(values) if self.validator is not None else Known(values)
                known = self.lookups.untold(known) if self.lookups is not None else known
                before, (self.state, self.strange) = self.state, known
                if self.told and not session.same(before, self.state):
                    self.passed.append(before)
                    if len(self.passed) > session.PASSED:
                        yield from self._begin(None)
                self.told = True
            case Asked() as asked:
                if event.step is None or event.step != self.number or self.present is None:
                    text = self.words.text if self.words is not None else ""
                    yield from self._begin(event.step, Step((), self.state, text))
                self.words, self.told = None, False
                call = asked.call
                checked = call if self.validator is None else self.validator.asked(call)
                self.last = self.index + len(self.calls) if asked.call_id is None else asked.call_id
                known = Known(self.state, self.strange)
                self.calls.append(_Asked(asked, checked, known, self.passed, event.time))
                self.passed = []
            case Lookup() as told:
                self._seen(lambda seen: seen.heard(told))
            case Result(value, failed, call_id):
                names = [call.asked.call_id for call in self.calls]
                name = self.last if call_id is None else call_id
                self._seen(lambda seen: seen.answered(name, value, failed))
                if names and (call_id is None or call_id in names):
                    self.failed[len(names) - 1 if call_id is None else names.index(call_id)] = failed
                elif self.late.pop(call_id, failed) == failed:  # its step is over, and it was taken otherwise
                    self.spoilt = "a call's result came after its step was over, so what is remembered did not happen"
            case Observation():
                yield from self.close()
                yield self._turn(recognition or Recognition((), "nothing recognises free text"))

    def close(self) -> Iterator[Judged]:
        """Judge the calls of the present step and remember what was done, and the states that passed."""
        step, before, each = self.present, None, ()
        for position, call in enumerate(self.calls):
            asked, checked, state = call.asked, call.checked, call.known.values
            if before is not None:
                self._pass((before, *call.passed), state)
            known, fits = self._filled(call), type(checked) is Call
            now = Step((*step.calls, fitting(checked)), known.values, step.text, session.apart(each, known.values))
            verdict = session.judged(self.watch, now) if fits else session.refused(checked)
            verdict = session.explained(verdict, known.strange, known.values)
            if self.spoilt and verdict.decision == "allow":
                verdict = Verdict("undecided", f"{asked.call.tool}: {self.spoilt}", grade=verdict.grade)
            yield Judged(self.run, self.index, asked.call.tool, asked.label, verdict)
            self.index, before = self.index + 1, state
            done = not self.failed.get(position, verdict.decision != "allow")
            if position not in self.failed and asked.call_id is not None:
                self.late[asked.call_id] = done
            if position == len(self.calls) - 1:
                self.late.pop(None, None)
                if position not in self.failed:
                    self.late[None] = done
            if self.lookups is not None:
                if done or position in self.failed:
                    name = self.index - 1 if asked.call_id is None else asked.call_id
                    self.lookups.asked(name, fitting(checked))
                for happened in call.then:
                    happened(self.lookups)
            agreed = session.agreed(step.state, known.values) if position else known.values
            step = Step(now.calls if done else step.calls, agreed, step.text)
            each = (*each, Step(now.calls[-1:], known.values, step.text)) if done else each
        if self.lookups is not None:
            self.lookups.begin()
        while len(self.late) > session.UNANSWERED:
            del self.late[next(iter(self.late))]
        if step is not None:
            self._remember(step)
        self.present, self.number, self.calls, self.failed = None, None, [], {}

    def _seen(self, happened: Callable[[Lookups], None]) -> None:
        """Something was seen: told to the lookups in its turn, after the calls of the step before it."""
        if self.lookups is not None and self.calls:
            self.calls[-1].then.append(happened)
        elif self.lookups is not None:
            happened(self.lookups)

    def _filled(self, call: _Asked) -> Known | Filled:
        """The state that a call is judged in."""
        if self.lookups is None:
            return call.known
        reads = self.reads(call.asked.call.tool) if type(call.checked) is Call else ()
        return self.lookups.fill(call.known, fitting(call.checked), reads, call.time)

    def _begin(self, number: int | None, step: Step | None = None) -> Iterator[Judged]:
        yield from self.close()
        self._pass(self.passed, self.state)
        self.present, self.number, self.passed = step, number, []

    def _pass(self, passed: Sequence[Mapping[str, Value]], present: Mapping[str, Value]) -> None:
        for state in session.moments(passed, present):
            self._remember(Step((), state))

    def _remember(self, step: Step) -> None:
        try:
            self.watch.remember(step)
        except Exception as error:
            self.spoilt = f"what was done before cannot be read: {type(error).__name__}"

    def _turn(self, recognition: Recognition) -> Judged:
        validator = self.validator or Validator()
        recognition = self._told_alone(recognition)
        verdict = evaluate.agreed(recognition, lambda step: session.turn(self.watch, validator, step))
        if self.spoilt and verdict.decision == "allow":
            verdict = Verdict("undecided", self.spoilt, grade=verdict.grade)
        step = recognition.steps[0] if recognition.sure else None
        done = step is not None and verdict.decision == "allow"
        if done:
            self._remember(validator.step(step))
        if self.lookups is not None and (done or step is None):
            self.lookups.turn(step.calls if step is not None else None)
        self.index += 1
        tool = step.calls[0].tool if step is not None and len(step.calls) == 1 else ""
        return Judged(self.run, self.index - 1, tool, None, verdict)

    def _told_alone(self, recognition: Recognition) -> Recognition:
        """The turn without what it tells of fields that come from elsewhere."""
        if self.lookups is None:
            return recognition
        steps = [replace(one, state=self.lookups.untold(Known(dict(one.state))).values) for one in recognition.steps]
        return replace(recognition, steps=tuple(steps))


def _labelled(run: Run) -> Iterator[Trace]:
    calls = (event.what for event in run.events if isinstance(event.what, Asked))
    watch = _Ideal(frozenset(id(asked.call) for asked in calls if asked.label == "deny"))
    going = _Going(run.id, watch)
    for judged in (j for event in (*run.events, None) for j in (going.follow(event, None) if event else going.close())):
        if judged.label is not None:
            yield Trace(judged.id, (*watch.before, watch.asked), judged.label == "deny")


@dataclass(slots=True)
class _Ideal:
    """A watch that knows the calls to be denied; it keeps the last step that it was asked about and those before."""

    denied: frozenset[int]
    before: tuple[Step, ...] = ()
    asked: Step = field(default_factory=Step)

    def judge(self, step: Step) -> Verdict:
        self.asked = step
        return Verdict("deny" if id(step.calls[-1]) in self.denied else "allow", "so its label says")

    def remember(self, step: Step) -> None:
        self.before = (*self.before, step)
