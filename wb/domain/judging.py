"""What a guard says of a call, whatever breaks on the way: a verdict, in one type, of one call or of several.

A guard's verdict on a recorded trace is a fold over the same watch that follows a conversation (`session`), so that
both ways agree.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol

from wb.domain import schema
from wb.domain.schema import got, named
from wb.domain.trace import Call, Quoted, Step, Trace, Value, Verdict
from wb.domain.validation import Refused, Validator, fitting
from wb.logic import times

SEVERE = ("deny", "undecided", "allow")
TIMES = re.compile(r"timestamp\(state\.([\w.]+)\)|\bnow\b")  # what is read as a time, as a reason names it
TEXTS = re.compile(r'"(?:[^"\\]|\\.)*"')  # in which nothing is read
said = partial(schema.said, most=200)
NOW = 'a time was required; got none: {"name": "now", "type": "string", "from": "clock"} in tools.json is one'


class Watch(Protocol):
    """What a guard remembers of one conversation."""

    def judge(self, step: Step) -> Verdict:
        """The verdict on the last of the step's calls, given those of the step before it; nothing is remembered."""

    def remember(self, step: Step) -> None:
        """Take in a step that is over: its calls were done."""

    def fork(self) -> Watch:
        """Another watch that remembers the same, to be followed further apart from this one."""


class Judge(Protocol):
    """A guard that can follow a conversation."""

    name: str
    validator: Validator

    def watch(self) -> Watch:
        """A watch on a conversation that has not begun."""

    def evidence(self, tool: str) -> str:
        """The digest (SHA-256, hex) of what decides about the tool; empty where nothing does."""

    def reads(self, tool: str, before: Collection[str] = ()) -> Collection[str]:
        """The fields of the state that it reads when the tool is called, or remembers of that call; `before` are the
        tools of the calls before it in its step."""

    def minds(self, tool: str) -> bool:
        """Whether it may matter to the verdict on another call that the tool was called."""

    def ordered(self, tool: str, other: str) -> bool:
        """Whether a call of the other tool may change the verdict on one of this tool that comes after it."""

    def trusted(self, tool: str) -> tuple[str, ...]:
        """What stands as it is told where a call of the tool is judged, so that nothing proved speaks of it."""


def judged(watch: Watch, step: Step) -> Verdict:
    """The watch's verdict on the step's last call; whatever breaks in it is a verdict too, and does not allow."""
    try:
        verdict = watch.judge(step)
        if type(verdict) is Verdict:
            return verdict
        return _broken(step.calls[-1].tool, f"the decision broke: a verdict was required; got {got(verdict)}")
    except Exception as error:
        return _broken(step.calls[-1].tool, f"the decision broke: {said(error)}")


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
        return _broken("", f"what was done cannot be read: {said(error)}")


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
    words = {"", *re.findall(r"\w+", " ".join(verdict.missing))}
    found = [f"state.{name}: {why}" if name else f"state: {why}" for name, why in strange.items() if name in words]
    found += _untimed(verdict.missing, strange, state)
    return replace(verdict, reason="; ".join((verdict.reason, *found))) if found else verdict


def _untimed(missing: Iterable[str], strange: Mapping[str, str], state: Mapping[str, Value]) -> list[str]:
    """Why texts of the state that are read as times are none, and how it would be known when the call was made."""
    read = [one or "now" for said in missing for one in TIMES.findall(TEXTS.sub("", said))]
    found = []
    for path in dict.fromkeys(read):
        value: Value = state
        for name in path.split("."):
            value = value.get(name) if type(value) is dict else None
        if type(value) is str and (why := times.problem(value)):
            found.append(f"state.{path}: a time such as 2026-01-31T09:00:00Z was required; {got(value)} {why}")
        elif path == "now" and value is None and path not in strange:
            found.append(f"state.now: {NOW}")
    return found


def joined(verdicts: Sequence[Verdict]) -> Verdict:
    """One verdict on several calls: denied if one is, undecided if one is undecided, else allowed."""
    if len(verdicts) == 1:
        return verdicts[0]
    decision = next(d for d in SEVERE if any(v.decision == d for v in verdicts))
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
    return Verdict("deny", f"{named(tool)}: {why}" if tool else why, grade="error")
