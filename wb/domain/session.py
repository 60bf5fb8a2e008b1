"""A conversation that is still going on: what was said, known, asked for and done, each call judged as it comes.

A session asks a judge, which may be any kind of guard.  A guard's verdict on a recorded trace is a fold over the same
watch (`decide`), so that both ways agree.  What comes from outside passes the judge's validator once, before anything
reads it: a watch sees plain values that fit what is declared, and a call that does not fit never reaches it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial, wraps
from pathlib import Path
from threading import RLock
from typing import Any, Protocol, TextIO

from wb.domain import events, lookups
from wb.domain.events import Asked, Event, EventError, Lookup, Result, Say, State
from wb.domain.lookups import Ask, Filled, Lookups
from wb.domain.schema import got
from wb.domain.trace import Call, Quoted, Step, Trace, Value, Verdict
from wb.domain.validation import Known, Refused, Validator, fitting
from wb.logic import times

WRITTEN = 64  # verdicts whose record is kept as text
Clock = Callable[[], object]  # the time now: ISO 8601, or a `datetime` with a time zone
STRICT = json.JSONEncoder(allow_nan=False).encode
PASSED = 64  # states told one after the other that are kept; with more, the present step is over
TIMES = re.compile(r"timestamp\(state\.([\w.]+)\)|\bnow\b")  # what is read as a time, as a reason names it
UNANSWERED = 1024  # calls of earlier steps whose results are still waited for; older ones are forgotten


class SessionError(RuntimeError):
    """What was told does not fit to the conversation so far, or cannot be put on record; nothing may run."""


class Watch(Protocol):
    """What a guard remembers of one conversation."""

    def judge(self, step: Step) -> Verdict:
        """The verdict on the last of the step's calls, given those of the step before it; nothing is remembered."""

    def remember(self, step: Step) -> None:
        """Take in a step that is over: its calls were done."""


class Judge(Protocol):
    """A guard that can follow a conversation."""

    name: str
    validator: Validator

    def watch(self) -> Watch:
        """A watch on a conversation that has not begun."""

    def evidence(self, tool: str) -> str:
        """The digest (SHA-256, hex) of what decides about the tool; empty where nothing does."""

    def reads(self, tool: str) -> Collection[str]:
        """The fields of the state that it reads when the tool is called, or remembers of that call."""


def _alone[**P, R](method: Callable[P, R]) -> Callable[P, R]:
    """A method of a session that no other thread interrupts."""

    @wraps(method)
    def locked(self: Any, *args: P.args, **options: P.kwargs) -> R:
        with self._lock:
            return method(self, *args, **options)

    return locked


class Session:
    """One conversation under a judge.

    A step is a turn of the agent: calls with the same `step` that come one after the other share it, a call without
    is a step of its own, and words of the assistant that no call follows are a step without calls.  So is a state in
    which no call was asked for, or not every call of a step.  Every call is judged with the calls of its step before
    it.  An allowed call counts as done, and is taken back if its result is an error; a call that was not allowed was
    not done.  A step is remembered when the next one begins.  An error that comes later cannot be taken back: from then
    on nothing is allowed, for what was remembered did not happen.

    A call does not run if its arguments are not plain JSON values (a dict of values of exactly JSON's types) that fit
    `tools.json`; a state field that does not fit is unknown.  The verdict says what was required and got.

    State fields that `tools.json` gives a source are filled for each call (`wb.domain.lookups`): `ask` is what answers
    for a read-only tool, within `timeout_s` seconds, `clock` what tells the time, that of the machine otherwise.

    `log` is the path of a file, or an open text file, that gets one JSON line a decision before `call` returns.
    `record` gets what happened, one event a line (`wb.domain.events`), before it takes effect; `replay` takes that in.
    Threads may share a session: each of its methods is done before the next one begins.

    Raises:
        SessionError: by `call` where the decision cannot be logged or the step or id is none, by `result` where no
            such call was made, by `say` where it is told no text; by all where the event cannot be recorded.
    """

    def __init__(
        self,
        judge: Judge,
        *,
        run: str = "session",
        log: str | Path | TextIO | None = None,
        record: str | Path | TextIO | None = None,
        ask: Ask | None = None,
        clock: Clock | None = None,
        timeout_s: float = lookups.TIMEOUT_S,
    ) -> None:
        self.judge, self.run, self._name = judge, run, json.dumps(run)
        self.run, self._record_to, self._clock, self._lock = run, record, clock or partial(datetime.now, UTC), RLock()
        self._events = events.Calls()  # the recorded ones
        sources = lookups.needed(judge.validator)
        self._lookups = Lookups(judge.validator, ask=ask, timeout_s=timeout_s) if sources else None
        self._outside = sources or record is not None  # whether anything but the judge is asked or told at a call
        self._watch, self._validator, self._log = judge.watch(), judge.validator, log
        self._state: dict[str, Value] = {}
        self._strange: Mapping[str, str] = {}  # the state's fields that do not fit, and why
        self._told = False  # whether the state was told since the last call
        self._passed: list[dict[str, Value]] = []  # states told since then that another one replaced
        self._words: tuple[str, dict[str, Value]] | None = None  # of the assistant, and the state they were said in
        self._present: Step | None = None  # the present step: its calls so far that were allowed and did not fail
        self._each: tuple[Step, ...] = ()  # each of these calls with the state that it was asked for in
        self._step: int | str | None = None
        self._made: dict[int | str, Call | None] = {}  # its calls without a result; None for one that was not allowed
        self._late: dict[int | str, bool] = {}  # calls of earlier steps without a result, and whether allowed
        self._last: int | str | None = None
        self._asked_in: Mapping[str, Value] = self._state  # the state of the last call
        self._spoilt = ""
        self._index = 0
        self._written: dict[tuple[str, int], tuple[str, Verdict]] = {}

    @_alone
    def say(self, role: str, text: str) -> None:
        """Somebody, such as `user` or `assistant`, said something."""
        if type(role) is not str or type(text) is not str:
            raise SessionError(f"two texts, who spoke and what, were required; got {got(role)} and {got(text)}")
        self._happened(Say(role, text))
        if self._lookups is not None:
            self._lookups.said(role, text)
        if self._words is not None:
            self._begin(None)
            self._present = Step((), self._words[1], self._words[0])
            self._told = self._told and self._words[1] is not self._state
        self._words = (text, self._state) if role == "assistant" else None

    @_alone
    def state(self, fields: Mapping[str, Value]) -> None:
        """What is known from here on, in place of what was; a field that is not named is unknown.

        A step whose calls were asked for in different states remembers only what these agree on, whatever came of them.
        """
        known = self._validator.state(fields)
        self._happened(State(known.values))
        if self._lookups is not None:
            known = self._lookups.untold(known)
        before, (self._state, self._strange) = self._state, known
        if self._told and not same(before, self._state):
            self._passed.append(before)
            if len(self._passed) > PASSED:
                self._begin(None)
        self._told = True

    @_alone
    def call(
        self,
        tool: str,
        arguments: Mapping[str, Value] | None = None,
        step: int | str | None = None,
        *,
        call_id: str | None = None,
    ) -> Verdict:
        """The verdict on a call that the agent asks for; only *allow* may run."""
        name, now = self._named(step, call_id), self._present
        asked = self._validator.call(tool, {} if arguments is None else arguments)
        fits = type(asked) is Call
        if self._record_to is not None and not fits and asked.given is None:
            return refused(asked)  # it cannot be written down, so it is as if it had never been asked for
        if step is None or step != self._step or now is None:
            self._begin(step)
            now = None
        elif self._passed or self._asked_in is not self._state:
            self._pass(self._asked_in)
        calls, text = (now.calls, now.text) if now is not None else ((), self._words[0] if self._words else "")
        state, strange, origins = self._state, self._strange, {}
        if self._outside:
            state, strange, origins, _ = self._filled(asked, step, call_id)
        earlier = apart(self._each, state) if calls else ()
        judging = Step((*calls, asked if fits else asked.call), state, text, earlier)
        verdict = judged(self._watch, judging) if fits else refused(asked)
        if verdict.decision == "undecided":
            verdict = explained(verdict, strange, state)
        if self._spoilt and verdict.decision == "allow":
            verdict = Verdict("undecided", f"{tool}: {self._spoilt}", grade=verdict.grade)
        if self._log is not None:
            self._record(asked, step, verdict, origins)
        allowed = verdict.decision == "allow"
        if allowed:
            self._each = (*(self._each if calls else ()), Step(judging.calls[-1:], state, text))
        if allowed and now is None:
            self._present = judging
        else:
            known = agreed(now.state, state) if now is not None else state
            self._present = Step(judging.calls if allowed else calls, known, text)
        self._asked_in, self._told = self._state, False
        self._made[name] = judging.calls[-1] if allowed else None
        if allowed and self._lookups is not None:
            self._lookups.asked(name, judging.calls[-1])
        if type(self._last) is int:
            self._late.pop(self._last, None)  # without an id, and no longer the last: no result can name it
        self._words, self._last, self._index = None, name, self._index + 1
        return verdict

    @_alone
    def result(self, value: Value, call_id: str | None = None, error: bool = False) -> None:
        """What a call gave, the last one unless `call_id` names another; with `error` it was not done."""
        if type(error) is not bool or (call_id is not None and type(call_id) is not str):
            raise SessionError(f"a call's id, and whether it failed, were required; got {got(call_id)}, {got(error)}")
        name = self._last if call_id is None else call_id
        if name in self._made or name in self._late:
            self._happened(Result(value, error, call_id))
            if self._lookups is not None:
                self._lookups.answered(name, value, error)
        if name in self._made:
            done = self._made.pop(name)
            if error and done is not None:
                now = self._present
                self._present = replace(now, calls=tuple([one for one in now.calls if one is not done]))
                self._each = tuple([one for one in self._each if one.calls[0] is not done])
        elif name in self._late:
            if self._late.pop(name) and error:
                self._spoilt = f"call {name} failed after its step was over, so what is remembered did not happen"
        else:
            if self._lookups is not None:
                self._lookups.answered(name, value, error)
            if error and self._index:
                self._spoilt = f"call {name} failed, which is not known any more or never was"
            raise SessionError(
                f"a call without a result was required; got one of {'no call' if name is None else name}"
            )

    @_alone
    def replay(self, happened: Iterable[Event]) -> None:
        """Take in what was recorded of a conversation, as it was: nothing is asked, logged or recorded again.

        Raises:
            SessionError: an event is none that a session records, or does not fit to those before.
        """
        kept = self._log, self._record_to, self._clock, self._lookups and self._lookups.ask
        self._log = self._record_to = None
        if self._lookups is not None:
            self._lookups.ask = None
        try:
            for event in happened:
                self._clock = partial(getattr, event, "time")
                self._again(event)
        finally:
            self._log, self._record_to, self._clock, ask = kept
            if self._lookups is not None:
                self._lookups.ask = ask

    def _again(self, event: Event) -> None:
        try:
            self._events.follow(event.what)
        except EventError as error:
            raise SessionError(str(error)) from None
        match event.what:
            case Say(role, text):
                self.say(role, text)
            case State(values):
                self.state(values)
            case Lookup() as told:
                if self._lookups is not None:
                    self._lookups.heard(told)
            case Asked(call, _, call_id):
                self.call(call.tool, call.arguments, event.step, call_id=call_id)
            case Result(value, failed, call_id):
                self.result(value, call_id, failed)
            case other:
                raise SessionError(f"an event of a session was required; got {got(other)}")

    def _filled(self, asked: Call | Refused, step: int | str | None, call_id: str | None) -> Filled:
        """The state that a call is judged in; what had to be asked for it is recorded, and the call."""
        seen = self._lookups
        time = self._time() if self._record_to is not None or seen.timed else None
        if seen is None:
            filled = Filled(self._state, self._strange)
        else:
            reads = self.judge.reads(asked.tool) if type(asked) is Call else ()
            filled = seen.fill(Known(self._state, self._strange), fitting(asked), reads, time)
        if self._record_to is not None:
            given = asked.arguments if type(asked) is Call else asked.given
            for what in (*filled.asked, Asked(Call(fitting(asked).tool, given), None, call_id)):
                self._happened(what, step, time)
        return filled

    def _time(self) -> str | None:
        """What the clock says, as an event has it; None where it says nothing that is a time."""
        try:
            now = self._clock()
            return Event("run", Say("", ""), None, now.isoformat() if type(now) is datetime else now).time
        except Exception:
            return None

    def _happened(self, what: events.What, step: int | str | None = None, time: str | None = None) -> None:
        """Write an event down before it takes effect, with the time of now unless it is told."""
        if self._record_to is None:
            return
        try:
            event = Event(self.run, what, step if step is None else int(step), time or self._time())
            self._events.follow(what)
            if isinstance(self._record_to, str | Path):
                with open(self._record_to, "a", encoding="utf-8") as file:
                    events.dump((event,), file)
            else:
                events.dump((event,), self._record_to)
                self._record_to.flush()
        except Exception as error:
            raise SessionError(f"a record that can be written was required; got {_said(error)}") from error

    def _named(self, step: int | str | None, call_id: str | None) -> int | str:
        """What the call is remembered by until its result comes."""
        if step is not None and type(step) is not int and type(step) is not str:
            raise SessionError(f"a step's number or name was required; got {got(step)}")
        if call_id is None:
            return self._index
        if type(call_id) is not str or call_id in self._made or call_id in self._late:
            raise SessionError(f"a call id of its own was required; got {got(call_id)}")
        return call_id

    def _begin(self, step: int | str | None) -> None:
        """The present step is over and remembered; another begins, which has no calls yet."""
        if self._present is not None:
            self._remember(self._present)
        if self._passed:
            self._pass()
        for name, done in self._made.items():
            if type(name) is str or name == self._last:
                self._late[name] = done is not None
        while len(self._late) > UNANSWERED:
            del self._late[next(iter(self._late))]
        self._present, self._step, self._made = None, step, {}
        if self._lookups is not None:
            self._lookups.begin()

    def _pass(self, *before: Mapping[str, Value]) -> None:
        """Remember what was known for a while, and not as the present step will say it: the states that passed."""
        for state in moments((*before, *self._passed), self._state):
            self._remember(Step((), state))
        self._passed = []

    def _remember(self, step: Step) -> None:
        try:
            self._watch.remember(step)
        except Exception as error:
            self._spoilt = f"what was done before cannot be read: {_said(error)}"

    def _record(
        self, asked: Call | Refused, step: int | str | None, verdict: Verdict, origins: Mapping[str, str]
    ) -> None:
        """Write the decision down, with the arguments as they were asked for; null where they are no JSON."""
        given = asked.arguments if type(asked) is Call else asked.given
        try:
            line = (
                f'{{"time": "{datetime.now(UTC).isoformat()}", "run": {self._name}, '
                f'"step": {"null" if step is None else STRICT(step)}, "index": {self._index}, '
                f'{self._row(fitting(asked).tool, verdict)}, "arguments": {STRICT(given)}'
                f"{', "origins": ' + STRICT(dict(origins)) if origins else ''}}}\n"
            )
            if isinstance(self._log, str | Path):
                with open(self._log, "a", encoding="utf-8") as file:
                    file.write(line)
            else:
                self._log.write(line)
                self._log.flush()
        except Exception as error:
            raise SessionError(f"a log that can be written was required; got {_said(error)}") from error

    def _row(self, tool: str, verdict: Verdict) -> str:
        """What is put on record of a verdict, written once while equal ones follow."""
        key = (tool, id(verdict))
        kept = self._written.get(key)
        if kept is None:
            row = {
                "tool": tool,
                "decision": verdict.decision,
                "reason": verdict.reason,
                "violated": verdict.violated,
                "quotes": verdict.quotes,
                "missing": verdict.missing,
                "open": verdict.open,
                "grade": verdict.grade,
                "guard": self.judge.name,
                "evidence": self.judge.evidence(tool),
            }
            if len(self._written) >= WRITTEN:
                self._written.clear()
            kept = self._written[key] = (
                STRICT(row)[1:-1],
                verdict,
            )  # the verdict is held, so that its id stays its own
        return kept[0]


def judged(watch: Watch, step: Step) -> Verdict:
    """The watch's verdict on the step's last call; whatever breaks in it is a verdict too, and does not allow."""
    try:
        verdict = watch.judge(step)
        if type(verdict) is Verdict:
            return verdict
        return _broken(step.calls[-1].tool, f"the decision broke: a verdict was required; got {got(verdict)}")
    except Exception as error:
        return _broken(step.calls[-1].tool, f"the decision broke: {_said(error)}")


def refused(asked: Refused) -> Verdict:
    """The verdict on a call that may not run whatever the rules say."""
    return Verdict("deny", asked.why, grade="error")


def decide(judge: Judge, trace: Trace) -> Verdict:
    """A judge's verdict on the last step of a recorded trace, whose earlier steps were done.

    Each call of the last step is judged with those before it that were allowed.  The step is denied if one call is,
    undecided if one is undecided, else allowed.
    """
    watch, validator = judge.watch(), judge.validator
    try:
        for step in trace.steps[:-1]:
            watch.remember(validator.step(step))
        return turn(watch, validator, trace.steps[-1])
    except Exception as error:
        return _broken("", f"what was done cannot be read: {_said(error)}")


def turn(watch: Watch, validator: Validator, last: Step) -> Verdict:
    """The verdict on a whole step, each of its calls judged with those before it that were allowed."""
    if not last.calls:
        return Verdict("allow", "the step calls no tool")
    known, done, verdicts = validator.state(last.state), (), []
    for call in last.calls:
        asked = validator.asked(call)
        step = Step((*done, fitting(asked)), known.values, last.text)
        verdict = judged(watch, step) if type(asked) is Call else refused(asked)
        verdict = explained(verdict, known.strange, known.values)
        verdicts.append(verdict)
        done = step.calls if verdict.decision == "allow" else done
    return joined(verdicts)


def explained(verdict: Verdict, strange: Mapping[str, str], state: Mapping[str, Value]) -> Verdict:
    """The verdict with the reason why what it misses is unknown, where the state tells it and it does not fit, or is
    no time where one is read."""
    if verdict.decision != "undecided":
        return verdict
    words = set(re.findall(r"\w+", " ".join(verdict.missing)))
    found = [
        f"state.{name}: {why}" if name else f"state: {why}" for name, why in strange.items() if name in {"", *words}
    ]
    found += _untimed(verdict.missing, state)
    return replace(verdict, reason="; ".join((verdict.reason, *found))) if found else verdict


def _untimed(missing: Iterable[str], state: Mapping[str, Value]) -> list[str]:
    """Why texts of the state that are read as times are none."""
    read = [one or "now" for said in missing for one in TIMES.findall(said)]
    found = []
    for path in dict.fromkeys(read):
        value: Value = state
        for name in path.split("."):
            value = value.get(name) if type(value) is dict else None
        if type(value) is str and (why := times.problem(value)):
            found.append(f"state.{path}: a time such as 2026-01-31T09:00:00Z was required; {got(value)} {why}")
    return found


def joined(verdicts: Sequence[Verdict]) -> Verdict:
    """One verdict on several calls: denied if one is, undecided if one is undecided, else allowed."""
    if len(verdicts) == 1:
        return verdicts[0]
    decision = next(d for d in ("deny", "undecided", "allow") if any(v.decision == d for v in verdicts))
    found = [v for v in verdicts if v.decision == decision]
    broken = {rule: quote for v in found for rule, quote in zip(v.violated, v.quotes or v.violated, strict=True)}
    return Verdict(
        decision,
        "; ".join(dict.fromkeys(v.reason for v in found)),
        tuple(broken),
        next((v.grade for v in found if v.grade == "error"), found[0].grade),
        tuple(broken.values()) if any(v.quotes for v in found) else (),
        tuple(dict.fromkeys(fact for v in found for fact in v.missing)),
        tuple(dict.fromkeys(name for v in found for name in v.open)),
    )


def held(verdict: Verdict, tool: str, sentences: Sequence[Quoted]) -> Verdict:
    """The verdict with the open sentences that bear on the tool: what would be allowed becomes undecided."""
    if not sentences:
        return verdict
    names = tuple([sentence.id for sentence in sentences])
    if verdict.decision == "deny":
        return replace(verdict, open=names)
    texts = "; ".join([f"“{sentence.text}” ({sentence.id})" for sentence in sentences])
    told = f"{verdict.reason}; " if verdict.decision == "undecided" else f"{tool}: "
    many = f"{len(names)} sentences that may forbid it are" if len(names) > 1 else "a sentence that may forbid it is"
    return replace(verdict, decision="undecided", reason=f"{told}{many} open: {texts}", open=names)


def _broken(tool: str, why: str) -> Verdict:
    return Verdict("deny", f"{tool[:80]}: {why}" if tool else why, grade="error")


def _said(value: object) -> str:
    """A few words on a value that may refuse to be shown."""
    try:
        return f"{type(value).__name__}: {value}"[:200]
    except Exception:
        return type(value).__name__


def same(one: Mapping[str, Value], other: Mapping[str, Value]) -> bool:
    """Whether two states surely tell the same."""
    return one is other or len(one) == len(other) == len(agreed(one, other))


def apart(each: tuple[Step, ...], state: Mapping[str, Value]) -> tuple[Step, ...]:
    """A step's calls so far, each with its own state; none where all of them surely had this one."""
    return () if all(same(one.state, state) for one in each) else each


def moments(passed: Sequence[Mapping[str, Value]], present: Mapping[str, Value]) -> list[Mapping[str, Value]]:
    """The states that passed before the present one, without those that tell the same as the next."""
    return [one for one, following in zip(passed, (*passed, present)[1:], strict=True) if not same(one, following)]


def agreed(one: Mapping[str, Value], other: Mapping[str, Value]) -> Mapping[str, Value]:
    """The fields that surely have the same value in both; of lists and mappings only the very same one counts."""
    if one is other:
        return one
    known: dict[str, Value] = {}
    try:
        for name in one.keys() & other.keys():
            left, right = one[name], other[name]
            if left is right or (type(left) is type(right) and type(left) in (bool, int, float, str) and left == right):
                known[name] = left
    except Exception:  # a key that is no text may raise when it is compared: then nothing is sure
        return {}
    return known
