"""A conversation that is still going on: what was said, known, asked for and done, each call judged as it comes.

A session asks a judge, which may be any kind of guard (`judging`).  What comes from outside passes the judge's
validator once, before anything reads it: a watch sees plain values that fit what is declared, and a call that does not
fit never reaches it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial, wraps
from itertools import combinations
from pathlib import Path
from threading import TIMEOUT_MAX, RLock
from typing import Any, Literal, NamedTuple, TextIO, get_args

from wb.domain import events, lookups
from wb.domain.answers import Answering
from wb.domain.events import Asked, Event, Lookup, Lost, Recognition, Result, Say, State
from wb.domain.judging import SEVERE, Judge, Watch, explained, judged, refused, said, turn
from wb.domain.lookups import Ask, Filled, Lookups
from wb.domain.operations import MOST, Operation, Remembered, deciding
from wb.domain.schema import got, named, plain
from wb.domain.trace import Call, Step, Value, Verdict
from wb.domain.validation import Known, Refused, fitting

AWAITED = 4  # calls whose results are waited for that a verdict can allow for, in 2 ** AWAITED worlds
WRITTEN = 64  # verdicts whose record is kept as text
LOGGED = ("decision", "reason", "violated", "quotes", "missing", "open", "grade")  # of a verdict
Clock = Callable[[], object]  # the time now: ISO 8601, or a `datetime` with a time zone
STRICT = json.JSONEncoder(allow_nan=False).encode
Strategy = Literal["halt and replan", "replan", "halt", "block", "terminate"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
PASSED = 64  # states told one after the other that are kept; with more, the present step is over
TOGETHER = 256  # calls and states of one step that are told apart: each is judged with all before it
UNANSWERED = 1024  # calls of earlier steps whose results are still waited for; older ones are forgotten


class SessionError(RuntimeError):
    """What was told does not fit to the conversation so far, or cannot be put on record; nothing may run."""


Made = tuple[Call | None, bool]  # a call, None where no record can hold it, and whether it was allowed
Reading = tuple[int, int]  # a turn in free text, and which of the things that it may be it was
Worlds = dict[frozenset[str | Reading], Watch]  # a watch by which of the awaited calls were done, and what turns were


def _alone[**P, R](method: Callable[P, R]) -> Callable[P, R]:
    """A method of a session that no other thread interrupts, and nothing that it calls itself."""

    @wraps(method)
    def locked(self: Any, *args: P.args, **options: P.kwargs) -> R:
        with self._lock:
            if self._busy:  # only the same thread comes here
                own = "got one whose own clock, log, record, ask function or recording calls it"
                raise SessionError(f"{method.__name__}: a session that is not at work was required; {own}")
            self._busy = True
            try:
                return method(self, *args, **options)
            finally:
                self._busy = False

    return locked


class Considered(NamedTuple):
    """A verdict on a call that nobody asked for, what can be asked to know more, and what was asked."""

    verdict: Verdict
    open: tuple[Operation, ...] = ()
    asked: tuple[Lookup | events.Answer, ...] = ()


class Session:
    """One conversation under a judge.

    A step is a turn of the agent: calls with the same `step` that come one after the other share it, a call without
    is a step of its own, and words of the assistant that no call follows are a step without calls.  So is a state in
    which no call was asked for, or not every call of a step.  Every call is judged with the calls of its step before
    it, and with the steps before.

    What counts as done: an allowed call without a `call_id`, from then on; it is taken back if an error is told of it
    while it is the last one and its step goes on.  A `call_id` says that a result will come: until then nobody knows,
    and another call is allowed only if it is whatever comes, of at most `AWAITED` such calls.  Their results may come
    at any time after.  A call that was not allowed was not done, unless a result is told of it: then it ran all the
    same.  Where what was remembered turns out not to be what happened, nothing is allowed from then on.

    A call does not run if its arguments are not plain JSON values (a dict of values of exactly JSON's types) that fit
    `tools.json`; a state field that does not fit is unknown.  The verdict says what was required and got.

    State fields that `tools.json` gives a source are filled for each call (`wb.domain.lookups`): `ask` is what answers
    for a read-only tool, within `timeout_s` seconds, `clock` what tells the time, that of the machine otherwise.
    `answer` is what answers questions about the conversation, within `answer_timeout_s` (`wb.domain.answers.about`).
    They are asked one by one, the cheapest first, while it can still change the verdict, and for what rules that look
    back remember of the call; at most `max_operations` at one call, after which what is undecided stays so.
    `operations` are functions by name, for fields that `tools.json` tells by them, each within `timeout_s`.  With
    `ask_all` everything that rules of the tool read is asked: the decisions are the same, and a denial names every
    rule that is broken, not only those that are by what was known.

    `memory` is what earlier conversations left (`wb.domain.workflows`): it says which of two operations of the same
    cost comes first, and decides nothing.

    With `observe` nobody is held to its verdicts: calls that it does not allow may run, and each line of the log says
    so (`"observed": true`).  It decides as ever; what ran all the same is told by its result.

    `on_refusal` is what adapters do where a call is not allowed (VeriGuard, Section 3.3.2; `wb.adapters.enforcement`).

    `log` is the path of a file, or an open text file, that gets one JSON line a decision before `call` returns.
    `record` gets what happened, one event a line (`wb.domain.events`), before it takes effect; `replay` takes that in.
    Where it cannot be written, what was told takes effect all the same, but a call does not run, nothing more is
    written, and nothing is allowed from then on.  Threads may share a session: each of its methods is done before the
    next one begins.  What it calls itself (clock, log, record, `ask`, `answer`, an operation) must not call it.

    Raises:
        SessionError: by `call` where the decision cannot be logged or the step or id is none, by `result` where no
            such call was made, by `say` where it is told no text; by all where the event cannot be recorded, and
            where a clock, log or record that the session calls calls the session.
        ValueError: a time limit is no number of seconds above 0, `observe` or `ask_all` neither True nor False,
            `max_operations` no whole number from 0, or `on_refusal` none of `STRATEGIES`.
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
        answer: Answering | None = None,
        answer_timeout_s: float = lookups.ANSWER_S,
        observe: bool = False,
        operations: Mapping[str, Callable[..., object]] | None = None,
        max_operations: int = MOST,
        ask_all: bool = False,
        on_refusal: Strategy = "halt and replan",
        memory: Remembered | None = None,
    ) -> None:
        for name, switch in (("observe", observe), ("ask_all", ask_all)):
            if type(switch) is not bool:
                raise ValueError(f"{name}: True or False was required; got {got(switch)}")
        if type(max_operations) is not int or max_operations < 0:
            raise ValueError(f"max_operations: a whole number from 0 was required; got {got(max_operations)}")
        if on_refusal not in STRATEGIES:
            raise ValueError(f"on_refusal: one of {list(STRATEGIES)} was required; got {got(on_refusal)}")
        for name, seconds in (("timeout_s", timeout_s), ("answer_timeout_s", answer_timeout_s)):
            if type(seconds) not in (int, float) or not 0 < seconds <= TIMEOUT_MAX:
                most = f"at most {TIMEOUT_MAX:g}"
                raise ValueError(f"{name}: seconds above 0, {most}, were required; got {got(seconds)}")
        self.judge, self.run, self.observe, self._name = judge, run, observe, json.dumps(run)
        self.on_refusal: Strategy = on_refusal
        self._record_to, self._clock, self._lock = record, clock or partial(datetime.now, UTC), RLock()
        self._most, self._ask_all, self._memory = max_operations, ask_all, memory
        self._busy = False  # whether one of its methods is at work
        self._torn = ""  # why the record is not whole
        self._events = events.Calls()  # the recorded ones
        sources = lookups.needed(judge.validator)
        limits = {"timeout_s": timeout_s, "answer_timeout_s": answer_timeout_s}
        own = dict(operations or {})
        self._lookups = Lookups(judge.validator, ask=ask, answer=answer, own=own, **limits) if sources else None
        self.answers: tuple[events.Answer, ...] = ()  # what the last call was judged by of what a model answered
        self._outside = sources or record is not None  # whether anything but the judge is asked or told at a call
        self._watch, self._validator, self._log = judge.watch(), judge.validator, log  # the watch where there is one
        self._worlds: Worlds = {frozenset(): self._watch}  # by which of the calls in `_awaited` were done
        self._unsure = False  # whether a turn in free text may have been several things
        self._awaited: dict[str, Call] = {}  # calls of earlier steps that matter, whose results will come
        self._waiting: dict[str, Call] = {}  # those of the present step
        self._state: dict[str, Value] = {}
        self._strange: Mapping[str, str] = {}  # the state's fields that do not fit, and why
        self._told = False  # whether the state was told since the last call
        self._passed: list[dict[str, Value]] = []  # states told since then that another one replaced
        self._words: tuple[str, dict[str, Value]] | None = None  # of the assistant, and the state they were said in
        self._present: Step | None = None  # the present step: its calls so far that were allowed and did not fail
        self._step: int | str | None = None
        self._over: int | str | None = None  # the step before, where nothing but words or states ended it
        self._asked: tuple[Step, ...] = ()  # all its calls, in order, each with its state, and states told between
        self._made: dict[int | str, Made] = {}  # its calls without a result
        self._late: dict[int | str, Made] = {}  # those of earlier steps
        self._forgot = False  # whether there were more of these than are kept
        self._last: int | str | None = None
        self._asked_in: Mapping[str, Value] = self._state  # the state of the last call
        self._spoilt = ""
        self._index = 0
        self._written: dict[tuple[str, int], tuple[str, Verdict]] = {}

    @property
    def asks(self) -> bool:
        """Whether a call may have to wait for what a read-only tool or a model answers."""
        seen = self._lookups
        return seen is not None and (seen.ask is not None or seen.answer is not None or bool(seen.own))

    @_alone
    def say(self, role: str, text: str) -> None:
        """Somebody, such as `user` or `assistant`, said something."""
        if type(role) is not str or type(text) is not str:
            raise SessionError(f"two texts, who spoke and what, were required; got {got(role)} and {got(text)}")
        problem = self._happened(Say(role, text))
        if self._lookups is not None:
            self._lookups.said(role, text)
        if self._words is not None:
            self._begin(None)
            self._present = Step((), self._words[1], self._words[0])
            self._told = self._told and self._words[1] is not self._state
        self._words = (text, self._state) if role == "assistant" else None
        if problem:
            raise SessionError(problem)

    @_alone
    def state(self, fields: Mapping[str, Value]) -> None:
        """What is known from here on, in place of what was; a field that is not named is unknown.

        A step whose calls were asked for in different states remembers only what these agree on, whatever came of them.
        """
        known = self._validator.state(fields)
        problem = self._happened(State(known.values))
        if self._lookups is not None:
            known = self._lookups.untold(known)
        before, (self._state, self._strange) = self._state, known
        if self._told and not same(before, self._state):
            self._passed.append(before)
            if len(self._passed) > PASSED:
                self._begin(None)
        self._told = True
        if problem:
            raise SessionError(problem)

    @_alone
    def call(
        self,
        tool: str,
        arguments: Mapping[str, Value] | None = None,
        step: int | str | None = None,
        *,
        call_id: str | None = None,
    ) -> Verdict:
        """The verdict on a call that the agent asks for; only *allow* may run.

        A `call_id`, one of its own, says that the call's result will be told: until then it may or may not be done.
        """
        name = self._index if step is None and call_id is None else self._named(step, call_id)
        now, self.answers = self._present, ()
        step = step if self._record_to is None else self._number(step)
        asked = self._validator.call(tool, {} if arguments is None else arguments)
        fits = type(asked) is Call
        if self._record_to is not None and not fits and asked.given is None:
            return self._unwritable(asked, name, step)  # it is as if it had never been asked for
        if step is None or step != self._step or now is None:
            self._begin(step)
            now = None
        elif self._passed or self._asked_in is not self._state:
            if not self._asked[TOGETHER - 1 :]:
                self._asked += tuple([Step((), state) for state in moments(self._passed, self._state)])
            self._pass((self._asked_in, *self._passed), each=())
        full = self._asked[TOGETHER - 1 :] != ()
        if full and not self._spoilt:
            self._lose(f"at most {TOGETHER} calls and states of one step were required; got more")
        calls, text = (now.calls, now.text) if now is not None else ((), self._words[0] if self._words else "")
        state, strange, origins, time = self._state, self._strange, {}, None
        if self._outside:
            trying = partial(self._tried, asked, calls, text, now)
            filled, time, current, verdict = self._filled(asked, step, (len(calls) + 1, text), trying)
            state, strange, origins, self.answers = filled.values, filled.strange, filled.origins, filled.answers
        else:
            current, verdict = self._tried(asked, calls, text, now, state)
        if verdict.decision == "undecided":
            verdict = explained(verdict, strange, state)
        if self.answers:
            rests = "; ".join([f"state.{one.field} by {origins[one.field]}" for one in self.answers])
            verdict = replace(verdict, reason=f"{verdict.reason}; trusted: {rests}")
        if verdict.decision == "allow" and (self._spoilt or (step is not None and step == self._over)):
            over = f"step {_name(step)} was over before this call, by what was said or known since; name another one"
            verdict = Verdict("undecided", f"{named(asked.tool)}: {self._spoilt or over}", grade=verdict.grade)
        allowed, call = verdict.decision == "allow", current.calls[-1]
        waits = allowed and call_id is not None and self.judge.minds(call.tool)
        if self._log is not None:
            self._record(asked, step, verdict, origins)
        if self._record_to is not None and not self._torn:
            given = asked.arguments if fits else asked.given
            self._written_down(Asked(Call(fitting(asked).tool, given), None, call_id), step, time)
        if allowed and now is None:
            self._present = current
        else:
            known = agreed(now.state, state) if now is not None else state
            self._present = Step(current.calls if allowed else calls, known, text)
        self._asked_in, self._told = self._state, False
        self._made[name] = call, allowed
        if not full:  # with more, nothing is allowed any more
            self._asked += (current if now is None else Step((call,), state, text),)
        if waits:
            self._waiting[call_id] = call
        if self._lookups is not None and allowed:
            self._lookups.asked(name, call)
        elif self._lookups is not None:
            self._lookups.refused(name, call)
        if type(self._last) is int:
            self._late.pop(self._last, None)  # without an id, and no longer the last: no result can name it
        self._words, self._last, self._index = None, name, self._index + 1
        return verdict

    @_alone
    def consider(
        self, tool: str, arguments: Mapping[str, Value] | None = None, run: Collection[str] | None = ()
    ) -> Considered:
        """The verdict that a call would get now, as a step of its own, and what can be asked for it.

        The call is neither asked for nor done: no log has it, and no later verdict rests on it.  Of what can be asked
        only the fields in `run` are, all that a call would ask where it is None; what that gives is on record.

        Raises:
            SessionError: a step that is named goes on, or the last call has no id and its result is not told.
        """
        if self._step is not None or any(type(name) is int for name in self._made):
            raise SessionError("consider: a step that is over was required; got one that goes on: tell its results")
        asked = self._validator.call(tool, {} if arguments is None else arguments)
        self._begin(None)
        text = self._words[0] if self._words else ""
        filled, found = Filled(self._state, self._strange), partial(self._tried, asked, (), text, None)
        if self._lookups is None:
            verdict = found(self._state)[1]
        else:
            filled, _, _, verdict = self._filled(asked, None, (1, text), found, run)
        verdict = explained(verdict, filled.strange, filled.values)
        if verdict.decision == "allow" and self._spoilt:
            verdict = Verdict("undecided", f"{named(fitting(asked).tool)}: {self._spoilt}", grade=verdict.grade)
        return Considered(verdict, filled.open, filled.asked)

    @_alone
    def result(self, value: Value, call_id: str | None = None, error: bool = False) -> None:
        """What a call gave, the last one unless `call_id` names another; with `error` it was not done.

        A result of a call that was not allowed says that it ran all the same.
        """
        if type(error) is not bool or (call_id is not None and type(call_id) is not str):
            raise SessionError(f"a call's id, and whether it failed, were required; got {got(call_id)}, {got(error)}")
        name = self._last if call_id is None else call_id
        if name not in self._made and name not in self._late:
            if (error or self._forgot) and self._index:
                if self._lookups is not None:
                    self._lookups.answered(name, value, error)
                self._lose(f"call {_name(name)} has a result, which is not known any more or never was")
            called = "no call" if name is None else _name(name)
            raise SessionError(f"a call without a result was required; got one of {called}")
        made, problem = self._made if name in self._made else self._late, ""
        call, allowed = made[name]
        if call is not None:
            problem = self._happened(Result(_plain(value) if error else value, error, call_id))
            if self._lookups is not None:
                self._lookups.answered(name, value, error)
        del made[name]
        if made is self._made:
            self._waiting.pop(name, None)
            if allowed is error:
                self._correct(call)
        elif name in self._awaited:
            del self._awaited[name]
            each = self._worlds.items()
            self._worlds = {which - {name}: watch for which, watch in each if (name in which) is not error}
            self._watch = next(iter(self._worlds.values()))
        elif allowed is error and self._matters(name, call, error):
            said = "failed after its step was over" if error else "was not allowed and ran all the same"
            self._spoil(f"call {_name(name)} {said}, so what is remembered did not happen")
        if problem:
            raise SessionError(problem)

    @_alone
    def lost(self, why: str) -> None:
        """What happened is not known from here on, such as whether a tool ran: nothing is allowed, for that reason."""
        if type(why) is not str or not why:
            raise SessionError(f"a reason in words was required; got {got(why)}")
        self._lose(why)

    @_alone
    def replay(self, happened: Iterable[Event], *, answering: bool = False) -> tuple[Verdict, ...]:
        """Take in what was recorded of one conversation, as it was: nothing is asked, logged or recorded again.

        With `answering`, questions about the conversation that it holds no answer to are asked.

        `wb.domain.events.stream(FILE)` gives the events of a record.  What was executed has happened, whatever this
        judge says of it: a call that it does not allow was done if it has a result that is no error.

        Returns:
            What this judge says of each call, in order, by what was known when it was asked for.

        Raises:
            SessionError: an event is none that a session records, or does not fit to those before.  What came before
                it was taken in; from then on nothing is allowed.
        """
        kept, seen = (self._log, self._record_to, self._clock), self._lookups
        asked = (seen.ask, seen.answer, seen.own) if seen is not None else ()
        self._log = self._record_to = None
        if seen is not None:
            seen.ask, seen.answer, seen.own = None, seen.answer if answering else None, {}
        found, run = [], None
        try:
            for event in happened:
                if type(event) is not Event:
                    how = "as wb.domain.events.stream(FILE) reads them"
                    raise SessionError(f"events were required, {how}; got {got(event)}")
                if event.run != (run := event.run if run is None else run):
                    raise SessionError(f"events of one run were required; got one of {got(event.run)} after {got(run)}")
                self._clock, self._busy = partial(getattr, event, "time"), False  # its own methods take it in
                verdict = self._again(event)
                self._busy = True
                if verdict is not None:
                    found.append(verdict)
        except BaseException as error:
            self._spoil(f"what was recorded before could not be taken in: {said(error)}")
            if isinstance(error, SessionError) or not isinstance(error, Exception):
                raise
            raise SessionError(f"events of a session were required; got {said(error)}") from error
        finally:
            self._log, self._record_to, self._clock = kept
            if seen is not None:
                seen.ask, seen.answer, seen.own = asked
        return tuple(found)

    def _again(self, event: Event) -> Verdict | None:
        """Take in one recorded event; the verdict on a call."""
        verdict = None
        if not isinstance(event.what, Asked):
            self._events.follow(event.what)
        match event.what:
            case Say(role, text):
                self.say(role, text)
            case State(values):
                self.state(values)
            case Lookup() | events.Answer() as told:
                if self._lookups is not None:
                    self._lookups.heard(told)
            case Asked(call, _, call_id):
                verdict = self.call(call.tool, call.arguments, event.step, call_id=call_id)
                self._events.follow(event.what)
            case Result(value, failed, call_id):
                self.result(value, call_id, failed)
            case Lost(why):
                self.lost(why)
            case other:
                raise SessionError(f"an event of a session was required; got {got(other)}")
        return verdict

    @_alone
    def turn(self, recognition: Recognition) -> Verdict:
        """The verdict on a turn in free text, which may be several things; done if it is allowed, as one of these.

        A record holds that there was one and no more: what is replayed from it is lost from there on.
        """
        if not all(isinstance(one.state, Mapping) for one in recognition.steps):
            raise SessionError("turns whose state is a mapping of fields were required; got another one")
        self._begin(None)
        if self._told and not all(same(one.state, self._state) for one in recognition.steps):
            self._remember(Step((), self._state, each=()))  # what was known before it
        self._words, self._told = None, False  # words right before it are its own
        if self._lookups is not None:
            told = [self._lookups.untold(Known(dict(one.state))).values for one in recognition.steps]
            steps = [replace(one, state=known) for one, known in zip(recognition.steps, told, strict=True)]
            recognition = replace(recognition, steps=tuple(steps))
        every, validator = self._everywhere, self._validator
        verdict = events.agreed(recognition, lambda step: every(lambda watch, _: turn(watch, validator, step)))
        if self._spoilt and verdict.decision == "allow":
            verdict = Verdict("undecided", self._spoilt, grade=verdict.grade)
        done = recognition.sure and verdict.decision == "allow"
        if self._record_to is not None:  # what it was recognised as is no event: whoever reads the record knows no more
            self._happened(Lost("a turn in free text, which no record holds"))
        if verdict.decision == "allow":
            self._remember_one([self._validator.step(step) for step in recognition.steps])
        if self._lookups is not None and (done or not recognition.sure):
            self._lookups.turn(recognition.steps[0].calls if done else None)
        self._index += 1
        return verdict

    def _apart(self, step: Step) -> Step:
        """The present step with what was asked for in it apart, where that was not all in one state."""
        done = {id(call) for call in step.calls}
        each = [one if done & set(map(id, one.calls)) else Step((), one.state) for one in self._asked]
        if step.calls and not any(call is step.calls[-1] for one in each for call in one.calls):
            each.append(Step(step.calls[-1:], step.state, step.text))
        return step if all(same(one.state, step.state) for one in each) else replace(step, each=tuple(each))

    # ---- what is not known to have been done -------------------------------------------------------

    def _everywhere(self, judge: Callable[[Watch, Collection[Call]], Verdict]) -> Verdict:
        """The verdict in every world: that of all if they agree, else undecided, and which result is awaited."""
        awaited = self._awaited | self._waiting
        called = {name: f"{named(call.tool)} (call {_name(name)})" for name, call in awaited.items()}
        if len(awaited) > AWAITED:
            which = f"{', '.join(called.values())} have no result yet"
            return Verdict("undecided", f"{which}, and at most {AWAITED} may be waited for; tell them with `result`")
        found = {
            before | frozenset(done): judge(watch, [call for name, call in self._waiting.items() if name not in done])
            for before, watch in self._worlds.items()
            for done in _chosen(self._waiting)
        }
        worst = min(found.values(), key=lambda verdict: SEVERE.index(verdict.decision))
        decided = {done: verdict.decision for done, verdict in found.items()}
        telling = [name for name in called if any(decided[done] != decided[done ^ {name}] for done in decided)]
        matter = [f"{called[name]} has no result yet; tell it with `result`" for name in telling]
        if not matter and len(set(decided.values())) > 1:
            matter = ["a turn in free text before it may have been several things"]
        if not matter:
            return worst
        reason = "; ".join((worst.reason, *matter))
        missing = tuple(dict.fromkeys(fact for verdict in found.values() for fact in verdict.missing))
        return replace(worst, decision="undecided", reason=reason, violated=(), quotes=(), missing=missing)

    def _correct(self, call: Call | None) -> None:
        """A call of the present step was not done although it was allowed, or ran although it was not."""
        if call is None:
            self._lose("a call ran that cannot be put on record")
            return
        calls = {id(one) for one in self._present.calls} ^ {id(call)}
        done = [one for step in self._asked for one in step.calls if id(one) in calls]
        self._present = replace(self._present, calls=tuple(done))

    def _remember(self, step: Step) -> None:
        """A step is over, in each world; of its calls that wait for a result, all may have been done or not."""
        try:
            if not (self._waiting or self._awaited or self._unsure):
                self._watch.remember(step)
                return
            worlds: Worlds = {}
            for before, watch in self._worlds.items():
                *others, least = _chosen(self._waiting)
                for done in (*others, least):
                    after = watch if done is least else watch.fork()
                    after.remember(_without(step, [call for name, call in self._waiting.items() if name not in done]))
                    worlds[before | frozenset(done)] = after
            self._worlds = worlds
        except Exception as error:
            self._spoil(f"what was done before cannot be read: {said(error)}")
            self._worlds, self._awaited, self._waiting = {frozenset(): self._watch}, {}, {}
        self._awaited |= self._waiting
        self._waiting = {}

    def _remember_one(self, steps: Sequence[Step]) -> None:
        """One of these steps is over: each of them in worlds of its own, those that a judge tells apart."""
        apart: dict[str, Step] = {}
        for step in steps:
            calls = [(call.tool, call.arguments) for call in step.calls if self.judge.minds(call.tool)]
            apart.setdefault(repr((calls, step.state)), step)
        if len(apart) * len(self._worlds) > 2**AWAITED:
            self._lose(f"turns in free text may have been more than {2**AWAITED} things")
            return
        before, self._worlds = self._worlds, {}
        many = len(apart) > 1
        self._unsure = self._unsure or many
        for which, watch in before.items():
            for number, step in enumerate(apart.values()):
                after = watch if number == len(apart) - 1 else watch.fork()
                try:
                    after.remember(step)
                except Exception as error:
                    self._spoil(f"what was done before cannot be read: {said(error)}")
                self._worlds[which | {(self._index, number)} if many else which] = after

    def minds(self, tool: str) -> bool:
        """Whether a later verdict may rest on it when the tool was called."""
        seen = self._lookups
        return self.judge.minds(tool) or (seen is not None and (seen.changes(Call(tool)) or seen.moves(tool)))

    def ordered(self, tool: str, other: str) -> bool:
        """Whether a call of the other tool may change the verdict on one of this tool that comes after it: what the
        guard says of earlier calls, or a field that it reads."""
        seen = self._lookups
        return self.judge.ordered(tool, other) or (seen is not None and seen.moves(other, self.judge.reads(tool)))

    def _matters(self, name: int | str, call: Call | None, failed: bool) -> bool:
        """Whether it matters that a call of an earlier step was taken for what it was not."""
        if call is None or self.judge.minds(call.tool):
            return True
        return failed and type(name) is int and self._lookups is not None and self._lookups.changes(call)

    def _spoil(self, why: str) -> None:
        """From here on nothing is allowed, for that reason unless there is one already."""
        self._spoilt = self._spoilt or why

    def _lose(self, why: str) -> None:
        """From here on nothing is allowed, for a reason that the other events do not tell."""
        self._spoil(why)
        self._happened(Lost(why))

    # ---- steps ------------------------------------------------------------------------------------

    def _named(self, step: int | str | None, call_id: str | None) -> int | str:
        """What the call is remembered by until its result comes."""
        if step is not None and type(step) is not int and type(step) is not str:
            raise SessionError(f"a step's number or name was required; got {got(step)}")
        if call_id is None:
            return self._index
        used = self._made.keys() | self._late.keys() | self._awaited.keys() | self._events.answered.keys()
        if type(call_id) is not str or call_id in used:
            raise SessionError(f"a call id of its own was required; got {got(call_id)}")
        return call_id

    def _begin(self, step: int | str | None) -> None:
        """The present step is over and remembered; another begins, which has no calls yet."""
        for name, made in self._made.items():
            if type(name) is str or name == self._last:
                self._late[name] = made
        if self._present is not None:
            self._remember(self._apart(self._present) if len(self._asked) > 1 else self._present)
        if self._passed:
            self._pass(self._passed)
        while len(self._late) > UNANSWERED:
            del self._late[next(iter(self._late))]
            self._forgot = True
        self._over = self._step if step is None and self._step is not None else self._over
        if step is not None and step != self._over:
            self._over = None
        self._present, self._step, self._made, self._asked = None, step, {}, ()
        if self._lookups is not None:
            self._lookups.begin()

    def _pass(self, states: Sequence[Mapping[str, Value]], each: tuple[()] | None = None) -> None:
        """Remember what was known for a while, and not as the present step will say it: the states that passed."""
        waiting, self._waiting = self._waiting, {}  # they belong to the present step, which goes on
        for state in moments(states, self._state):
            self._remember(Step((), state, each=each))
        self._passed, self._waiting = [], waiting

    # ---- what is read and written -----------------------------------------------------------------

    def _tried(
        self, asked: Call | Refused, calls: tuple[Call, ...], text: str, now: Step | None, state: Mapping[str, Value]
    ) -> tuple[Step, Verdict]:
        """The step with the call that is asked for in that state, and the verdict, whatever was done before it."""
        if type(asked) is not Call:
            return Step((*calls, asked.call), state, text), refused(asked)
        step = Step((*calls, asked), state, text)
        if now is not None and self._asked:
            step = self._apart(step)
        if self._waiting or self._awaited or self._unsure:
            return step, self._everywhere(lambda watch, undone: judged(watch, _without(step, undone)))
        return step, judged(self._watch, step)

    def _filled(
        self,
        asked: Call | Refused,
        step: int | str | None,
        here: tuple[int, str],
        trying: Callable[[Mapping[str, Value]], tuple[Step, Verdict]],
        run: Collection[str] | None = None,
    ) -> tuple[Filled, str | None, Step, Verdict]:
        """The state that a call is judged in, the time, and the verdict: as much is asked as it takes, and recorded."""
        seen = self._lookups
        time = self._time() if self._record_to is not None or seen.timed else None
        if seen is None:
            return Filled(self._state, self._strange), time, *trying(self._state)
        reads: Collection[str] = ()
        if type(asked) is Call:
            before = [one.tool for one in self._present.calls] if self._present is not None else ()
            reads = self.judge.reads(asked.tool, before) if before else self.judge.reads(asked.tool)
        found: tuple[Step, Verdict] | None = None

        def wanted(known: Filled) -> Collection[str] | None:
            nonlocal found
            if run is None and self._ask_all and known.open:
                return None
            found = trying(known.values)
            if not known.open:
                return ()
            if run is not None:
                return run
            names = deciding(found[1])
            return names if names is None else {*names, *self.judge.reads("")}

        known = Known(self._state, self._strange)
        useful = self._memory.order(self.judge, fitting(asked).tool) if self._memory is not None and self.asks else {}
        filled = seen.fill(known, fitting(asked), reads, time, here, wanted, self._most, useful)
        if self._record_to is not None and not self._torn:
            for what in filled.asked:
                self._written_down(what, step, time)
        return filled, time, *(found or trying(filled.values))

    def _time(self) -> str | None:
        """What the clock says, as an event has it; None where it says nothing that is a time."""
        try:
            now = self._clock()
            return Event("run", Say("", ""), None, now.isoformat() if type(now) is datetime else now).time
        except Exception:
            return None

    def _number(self, step: int | str | None) -> int | None:
        """The step as a record has it."""
        try:
            return Event("run", Say("", ""), step if step is None else int(step)).step
        except ValueError as error:
            raise SessionError(f"a step that a record can hold was required; got {got(step)}") from error

    def _happened(self, what: events.What, step: int | None = None, *time: str | None) -> str:
        """Write an event down before it takes effect, with the time of now unless one is told; why that failed.

        Raises:
            SessionError: it can never be written, so that it does not happen.
        """
        if self._record_to is None or self._torn:
            return self._torn
        try:
            line = events.line(Event(self.run, what, step, *(time or (self._time(),))))
            line.encode()
        except Exception as error:
            raise SessionError(f"what a record can hold was required; got {said(error)}") from error
        try:
            self._events.follow(what)
            _append(self._record_to, line)
        except BaseException as error:  # also what ends the program: half a line may stand there
            self._torn = f"a record that can be written was required; got {said(error)}"
            self._spoil(f"the record is not whole: {said(error)}")
            if not isinstance(error, Exception):
                raise
        return self._torn

    def _written_down(self, what: events.What, step: int | None, time: str | None) -> None:
        """Write down what is to take effect only then."""
        problem = self._happened(what, step, time)
        if problem:
            raise SessionError(problem)

    def _unwritable(self, asked: Refused, name: int | str, step: int | str | None) -> Verdict:
        """The verdict on a call whose arguments no record can hold."""
        verdict = refused(asked)
        if self._log is not None:
            self._record(asked, step, verdict, {})
        if type(self._last) is int:
            self._late.pop(self._last, None)
        self._made[name], self._last, self._index = (None, False), name, self._index + 1
        return verdict

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
            _append(self._log, line)
        except Exception as error:
            raise SessionError(f"a log that can be written was required; got {said(error)}") from error

    def _row(self, tool: str, verdict: Verdict) -> str:
        """What is put on record of a verdict, written once while equal ones follow."""
        key = (tool, id(verdict))
        kept = self._written.get(key)
        if kept is None:
            row = {"tool": tool} | {name: getattr(verdict, name) for name in LOGGED}
            row |= {"guard": self.judge.name, "evidence": self.judge.evidence(tool)}
            row |= {"trusted": self.judge.trusted(tool)} | ({"observed": True} if self.observe else {})
            if len(self._written) >= WRITTEN:
                self._written.clear()
            kept = self._written[key] = STRICT(row)[1:-1], verdict  # which is held, so that its id stays its own
        return kept[0]


def _name(of: int | str) -> str:
    """What a call is called by: its id, or its number."""
    return named(of) if type(of) is str else str(of)


def _plain(value: Value) -> Value:
    """What a call failed with, as a record can hold it."""
    try:
        return plain(value)
    except Exception:
        return said(value)


def _append(to: str | Path | TextIO, line: str) -> None:
    """Write a line to a file, by its path or open."""
    if isinstance(to, str | Path):
        with open(to, "a+b") as file:
            if file.tell():
                file.seek(-1, 2)
                if file.read(1) != b"\n":
                    file.write(b"\n")  # what was torn there stays a line of its own
            file.write(line.encode())
    else:
        to.write(line)
        to.flush()


def _chosen(names: Collection[str]) -> Iterator[tuple[str, ...]]:
    """Every choice among names: all of them first, none last."""
    for many in range(len(names), -1, -1):
        yield from combinations(names, many)


def _without(step: Step, undone: Collection[Call]) -> Step:
    """The step without those of its calls."""
    if not undone:
        return step
    out = {id(call) for call in undone}
    calls = tuple([one for one in step.calls if id(one) not in out])
    each = step.each and tuple([Step((), one.state) if out & set(map(id, one.calls)) else one for one in step.each])
    return replace(step, calls=calls, each=each)


def same(one: Mapping[str, Value], other: Mapping[str, Value]) -> bool:
    """Whether two states surely tell the same."""
    return one is other or len(one) == len(other) == len(agreed(one, other))


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
