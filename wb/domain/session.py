"""A conversation that is still going on: what was said, known, asked for and done, each call judged as it comes.

A session asks a judge, which may be any kind of guard.  A guard's verdict on a recorded trace is a fold over the same
watch (`decide`), so that both ways agree.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol, TextIO

from wb.domain.trace import Call, Quoted, Step, Trace, Value, Verdict

WRITTEN = 64  # verdicts whose record is kept as text
STRICT = json.JSONEncoder(allow_nan=False).encode
PASSED = 64  # states told one after the other that are kept; with more, the present step is over
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

    def watch(self) -> Watch:
        """A watch on a conversation that has not begun."""

    def evidence(self, tool: str) -> str:
        """The digest (SHA-256, hex) of what decides about the tool; empty where nothing does."""


class Session:
    """One conversation under a judge.

    A step is a turn of the agent: calls with the same `step` that come one after the other share it, a call without
    is a step of its own, and words of the assistant that no call follows are a step without calls.  So is a state in
    which no call was asked for, or not every call of a step.  Every call is judged with the calls of its step before
    it.  An allowed call counts as done, and is taken back if its result is an error; a call that was not allowed was
    not done.  A step is remembered when the next one begins.  An error that comes later cannot be taken back: from then
    on nothing is allowed, for what was remembered did not happen.

    `log` is the path of a file, or an open text file, that gets one JSON line a decision before `call` returns.

    Raises:
        SessionError: by `call` where the decision cannot be logged, by `result` where no such call was made.
    """

    def __init__(self, judge: Judge, *, run: str = "session", log: str | Path | TextIO | None = None) -> None:
        self.judge, self.run, self._name = judge, run, json.dumps(run)
        self._watch, self._log = judge.watch(), log
        self._state: dict[str, Value] = {}
        self._told = False  # whether the state was told since the last call
        self._passed: list[dict[str, Value]] = []  # states told since then that another one replaced
        self._words: tuple[str, dict[str, Value]] | None = None  # of the assistant, and the state they were said in
        self._present: Step | None = None  # the present step: its calls so far that were allowed and did not fail
        self._step: int | str | None = None
        self._made: dict[int | str, Call | None] = {}  # its calls without a result; None for one that was not allowed
        self._late: dict[int | str, bool] = {}  # calls of earlier steps without a result, and whether allowed
        self._last: int | str | None = None
        self._asked_in: Mapping[str, Value] = self._state  # the state of the last call
        self._spoilt = ""
        self._index = 0
        self._written: dict[tuple[str | None, int], tuple[str, Verdict]] = {}

    def say(self, role: str, text: str) -> None:
        """Somebody, such as `user` or `assistant`, said something."""
        if self._words is not None:
            self._begin(None)
            self._present = Step((), self._words[1], self._words[0])
            self._told = self._told and self._words[1] is not self._state
        self._words = (text, self._state) if role == "assistant" else None

    def state(self, fields: Mapping[str, Value]) -> None:
        """What is known from here on, in place of what was; a field that is not named is unknown.

        A step whose calls were asked for in different states remembers only what these agree on, whatever came of them.
        """
        before, self._state = self._state, dict(fields)
        if self._told and not same(before, self._state):
            self._passed.append(before)
            if len(self._passed) > PASSED:
                self._begin(None)
        self._told = True

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
        if step is None or step != self._step or now is None:
            self._begin(step)
            now = None
        elif self._passed or self._asked_in is not self._state:
            self._pass(self._asked_in)
        calls, text = (now.calls, now.text) if now is not None else ((), self._words[0] if self._words else "")
        try:
            asked = Call(tool, dict(arguments) if arguments is not None else {})
            verdict = judged(self._watch, Step((*calls, asked), self._state, text))
        except Exception as error:
            asked, verdict = Call(tool), _broken(tool, f"arguments by name were required; got {_said(error)}")
        if self._spoilt and verdict.decision == "allow":
            verdict = Verdict("undecided", f"{tool}: {self._spoilt}", grade=verdict.grade)
        if self._log is not None:
            verdict = self._record(asked, step, verdict)
        allowed = verdict.decision == "allow"
        known = agreed(now.state, self._state) if now is not None else self._state
        self._present = Step((*calls, asked) if allowed else calls, known, text)
        self._asked_in, self._told = self._state, False
        self._made[name] = asked if allowed else None
        if type(self._last) is int:
            self._late.pop(self._last, None)  # without an id, and no longer the last: no result can name it
        self._words, self._last, self._index = None, name, self._index + 1
        return verdict

    def result(self, value: Value, call_id: str | None = None, error: bool = False) -> None:
        """What a call gave, the last one unless `call_id` names another; with `error` it was not done."""
        name = self._last if call_id is None else call_id
        if name in self._made:
            done = self._made.pop(name)
            if error and done is not None:
                now = self._present
                self._present = replace(now, calls=tuple([one for one in now.calls if one is not done]))
        elif name in self._late:
            if self._late.pop(name) and error:
                self._spoilt = f"call {name} failed after its step was over, so what is remembered did not happen"
        else:
            if error and self._index:
                self._spoilt = f"call {name} failed, which is not known any more or never was"
            raise SessionError(
                f"a call without a result was required; got one of {'no call' if name is None else name}"
            )

    def _named(self, step: int | str | None, call_id: str | None) -> int | str:
        """What the call is remembered by until its result comes."""
        if step is not None and type(step) is not int and type(step) is not str:
            raise SessionError(f"a step's number or name was required; got {_said(step)}")
        if call_id is None:
            return self._index
        if type(call_id) is not str or call_id in self._made or call_id in self._late:
            raise SessionError(f"a call id of its own was required; got {_said(call_id)}")
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

    def _record(self, asked: Call, step: int | str | None, verdict: Verdict) -> Verdict:
        """Write the decision down; a call whose arguments cannot be written does not run."""
        try:
            arguments = STRICT(asked.arguments)
        except Exception as error:
            arguments = "null"
            verdict = _broken(asked.tool, f"its arguments cannot be put on record: {_said(error)}")
        try:
            line = (
                f'{{"time": "{datetime.now(UTC).isoformat()}", "run": {self._name}, '
                f'"step": {"null" if step is None else STRICT(step)}, "index": {self._index}, '
                f'{self._row(asked.tool, verdict)}, "arguments": {arguments}}}\n'
            )
            if isinstance(self._log, str | Path):
                with open(self._log, "a", encoding="utf-8") as file:
                    file.write(line)
            else:
                self._log.write(line)
                self._log.flush()
        except Exception as error:
            raise SessionError(f"a log that can be written was required; got {_said(error)}") from error
        return verdict

    def _row(self, tool: object, verdict: Verdict) -> str:
        """What is put on record of a verdict, written once while equal ones follow."""
        named = type(tool) is str
        key = (tool if named else None, id(verdict))
        kept = self._written.get(key)
        if kept is None:
            row = {
                "tool": tool if named else _said(tool),
                "decision": verdict.decision,
                "reason": verdict.reason,
                "violated": verdict.violated,
                "quotes": verdict.quotes,
                "missing": verdict.missing,
                "open": verdict.open,
                "grade": verdict.grade,
                "guard": self.judge.name,
                "evidence": self.judge.evidence(tool) if named else "",
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
        return watch.judge(step)
    except Exception as error:
        return _broken(step.calls[-1].tool, f"the decision broke: {_said(error)}")


def decide(judge: Judge, trace: Trace) -> Verdict:
    """A judge's verdict on the last step of a recorded trace, whose earlier steps were done.

    Each call of the last step is judged with those before it that were allowed.  The step is denied if one call is,
    undecided if one is undecided, else allowed.
    """
    last, watch = trace.steps[-1], judge.watch()
    if not last.calls:
        return Verdict("allow", "the step calls no tool")
    try:
        for step in trace.steps[:-1]:
            watch.remember(step)
    except Exception as error:
        return _broken(last.calls[-1].tool, f"what was done before cannot be read: {_said(error)}")
    verdicts, done = [], ()
    for call in last.calls:
        verdict = judged(watch, replace(last, calls=(*done, call)))
        verdicts.append(verdict)
        done = (*done, call) if verdict.decision == "allow" else done
    return joined(verdicts)


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


def stranger(tool: object, known: Collection[str]) -> str:
    """Why a name is none of the tools that are known."""
    if type(tool) is not str:
        return f"the name of a tool was required; got {type(tool).__name__}"
    same = [name for name in known if name.casefold() == tool.casefold()]
    return f"{tool[:80]}: there is no such tool" + (f"; {same[0]} is spelt otherwise" if same else "")


def _broken(tool: object, why: str) -> Verdict:
    return Verdict("deny", f"{tool[:80] if type(tool) is str else _said(tool)}: {why}", grade="error")


def _said(value: object) -> str:
    """A few words on a value that may refuse to be shown."""
    try:
        return f"{type(value).__name__}: {value}"[:200]
    except Exception:
        return type(value).__name__


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
