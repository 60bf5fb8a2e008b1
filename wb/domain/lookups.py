"""State fields that come from somewhere: a tool's result, a read-only tool that is asked, what was said, the clock.

`tools.json` says where (`tools.Source`), so that nobody writes code for it.  A session fills the fields that a call's
guard reads just before it judges the call; the guard sees values alone and asks nobody.  Whatever is missing, does not
fit the field's schema or may have changed is unknown, with the reason.

What was seen stops to count as soon as a tool may run that may change it, and again when that tool's result comes or
its step is over: what was read in between may be from before or after.  What a tool gives for its own change
(`given_by`) counts from then on, unless another change was under way meanwhile.  A lookup of what was not seen asks
the tool through a function that the session was made with: in a time limit, each question once a step, never a tool
that may change anything (`tools.parse` refuses it).  Nothing is assumed of changes that others make.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from wb.domain import schema
from wb.domain.events import Lookup
from wb.domain.tools import Field, Source
from wb.domain.trace import Call, Value
from wb.domain.validation import Known, Validator
from wb.logic import evaluation, facts
from wb.logic.cel import render
from wb.logic.objects import identity

Ask = Callable[[str, dict[str, Value]], object]  # a read-only tool and its arguments to what it gives
TIMEOUT_S = 2.0
HANGING = 8  # questions without an answer in time that may still be running; with more, nothing is asked
KEPT = 1024  # results that are kept of each tool, and calls whose result is waited for
TEXTS = 256  # of one speaker that are kept; of more, what is asked of all of them is unknown
UNTOLD = "it comes from {}, so what is told of it is not read"


Named = Callable[[Mapping[str, Value], Mapping[str, Value] | None], Hashable | None]  # the object that a call names


class Filled(NamedTuple):
    """The state that a guard reads, why fields of it are unknown, where each field that was filled came from, and
    what had to be asked."""

    values: Mapping[str, Value]
    strange: Mapping[str, str]
    origins: Mapping[str, str] = {}
    asked: tuple[Lookup, ...] = ()


@dataclass(slots=True)
class _Seen:
    """A result, when its call was asked for, and what came of it for the fields that were read of it.

    `problem` is why it is no value.
    """

    value: Value
    asked: int
    origin: str
    problem: str = ""
    read: dict[str, tuple[Value, str]] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class _Field:
    """A field with a source, made ready.

    `changed` is when it last may have changed of any object, `changed_of` of one alone, `newest` the newest of these.
    """

    name: str
    source: Source
    kind: str
    arguments: tuple[tuple[str, str, evaluation.Read], ...]
    named: Named
    path: evaluation.Read | None
    place: str  # the path as an error names it
    otherwise: evaluation.Read | None
    all: bool  # whether it is of all texts that somebody said
    objects: Mapping[str, Named]  # by tool, what tells the one object that it changes
    changed: int = 0
    changed_of: dict[Hashable, int] = field(default_factory=dict)
    newest: int = 0
    lost: str = ""  # why calls that were done are not known

    def object(self, call: Call) -> Hashable | None:
        """The object that the call changes; None where it may be any."""
        named = self.objects.get(call.tool)
        return None if named is None else named({}, call.arguments)

    def change(self, key: Hashable | None, now: int) -> None:
        """It may have changed, of one object or any."""
        self.newest = now
        if key is None:
            self.changed = now
            self.changed_of.clear()
            return
        self.changed_of.pop(key, None)
        self.changed_of[key] = now
        if len(self.changed_of) > KEPT:  # the oldest ones are no longer told apart from the others
            self.changed = max(self.changed, self.changed_of.pop(next(iter(self.changed_of))))

    def last(self, key: Hashable | None) -> int:
        """When it last may have changed of that object; of any where that is None."""
        if key is None:
            return self.newest
        return max(self.changed, self.changed_of.get(key, 0)) if self.changed_of else self.changed


class Lookups:
    """What one conversation has shown of the fields with a source."""

    def __init__(
        self,
        validator: Validator,
        *,
        ask: Ask | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        toolbox = validator.toolbox
        self.ask = ask
        self._timeout_s, self._fits = timeout_s, validator.one
        self._fields = {one.name: _made(one) for one in toolbox.state if one.source is not None}
        self.timed = any(one.source.kind == "clock" for one in self._fields.values())
        self._speakers = {one.source.of for one in self._fields.values() if one.source.kind == "said"}
        self._untold = {name: UNTOLD.format(_called(one.source)) for name, one in self._fields.items()}
        fields = tuple(self._fields.values())
        reading = {tool.name for tool in toolbox.tools if tool.mutating is False}
        self._changed = {
            tool.name: tuple([one for one in fields if _changes(one.source, tool.name, reading)])
            for tool in toolbox.tools
        }
        self._stranger = tuple([one for one in fields if _changes(one.source, "", ())])  # changed by unknown tools
        self._kept = {tool for one in fields for tool in (one.source.of, *one.source.or_of, *one.source.given_by)}
        self._closures: dict[frozenset[str], tuple[_Field, ...]] = {}
        self._now = 0  # counts what happened
        self._newest: dict[str, _Seen] = {}  # by tool
        self._seen: dict[str, dict[Hashable, _Seen]] = {tool: {} for tool in self._kept}  # by tool and arguments
        self._given: dict[tuple[str, Hashable], _Seen] = {}  # by field and arguments
        self._done: dict[tuple[str, Hashable], Value] = {}  # by field and arguments
        self._done_at: dict[tuple[str, Hashable], int] = {}  # when that call was asked for
        self._said: dict[str, _Seen] = {}  # all texts of a speaker
        self._running: dict[int | str, tuple[Call, int]] = {}  # calls of this step without a result, and when asked
        self._late: dict[int | str, tuple[Call, int]] = {}  # those of earlier steps
        self._refused: dict[int | str, tuple[Call, int]] = {}  # those that may not run
        self._answers: dict[tuple[str, Hashable], _Seen] = {}  # what was asked for in this step
        self._told: dict[tuple[str, Hashable], Lookup] = {}  # answers that a recording holds for the next call
        self._hanging: list[threading.Thread] = []

    # ---- what happens ---------------------------------------------------------------------------

    def untold(self, known: Known) -> Known:
        """What was told of the state, without the fields that come from elsewhere."""
        strange = {name: why for name, why in self._untold.items() if name in known.values}
        if not strange:
            return known
        values = {name: value for name, value in known.values.items() if name not in strange}
        return Known(values, {**known.strange, **strange})

    def said(self, role: str, text: str) -> None:
        """Somebody said something."""
        if role in self._speakers:
            before = self._said[role].value if role in self._said else ()
            self._now += 1
            self._said[role] = _Seen((*before[-TEXTS:], text), self._now, f"what {role} said")

    def begin(self) -> None:
        """A step is over: its calls were done, except those whose results will come, and another one may ask again."""
        running, self._running, spare = self._running, {}, len(self._running) - KEPT
        for name, (call, at) in running.items():
            if type(name) is str and spare <= 0 and self.changes(call):
                self._running[name] = call, at
                continue
            self._change(call, ended=True)
            self._was_done(call, at)
            self._late[name] = call, at
            spare -= 1
        while len(self._late) > KEPT:
            del self._late[next(iter(self._late))]
        self._answers = {}

    def asked(self, name: int | str, call: Call) -> None:
        """A call runs from here on."""
        self._change(call)
        self._now += 1
        self._late.pop(name, None)
        self._running[name] = call, self._now

    def refused(self, name: int | str, call: Call) -> None:
        """A call may not run; if a result is told of it, it ran all the same from here on."""
        self._now += 1
        self._refused[name] = call, self._now
        if len(self._refused) > KEPT:
            del self._refused[next(iter(self._refused))]

    def answered(self, name: int | str, value: object, failed: bool) -> None:
        """What a call gave."""
        against = self._refused.pop(name, None)
        present = against is not None or name in self._running
        found = against or self._running.pop(name, None) or self._late.pop(name, None)
        if found is None:
            return
        call, at = found
        changes = self._changed.get(call.tool, ())
        alone = [one for one in changes if one.last(one.object(call)) < at]  # nothing else changed these
        self._change(call, ended=against is None)
        self._told = {} if changes else self._told  # what was told before it may have changed
        if present and not failed:  # those of earlier steps counted when their step was over
            self._was_done(call, at)
        if failed or call.tool not in self._kept or call.arguments is None:
            return
        seen = _read(value, at, f"the result of {call.tool} (call {name})")
        if changes:
            self._now += 1
            given = replace(seen, asked=self._now, read={})
            self._newest[call.tool] = given if len(alone) == len(changes) else seen
            for one in alone:
                if call.tool in one.source.given_by:
                    key = _key({name: call.arguments.get(name) for name, _, _ in one.arguments})
                    if key is not None:
                        _keep(self._given, (one.name, key), given)
            return
        self._see(call.tool, call.arguments, seen)

    def heard(self, told: Lookup) -> None:
        """What a recording says that a lookup for the next call gave."""
        if (key := _key(told.arguments)) is not None:
            self._told[told.tool, key] = told

    def _see(self, tool: str, arguments: Mapping[str, Value], seen: _Seen) -> None:
        newest = self._newest.get(tool)
        if newest is None or newest.asked <= seen.asked:
            self._newest[tool] = seen
        key = _key(arguments)
        if key is not None:
            _keep(self._seen[tool], key, seen)

    def _was_done(self, call: Call, at: int) -> None:
        """A call was done, as far as anybody knows: what its arguments tell."""
        for one in self._changed.get(call.tool, ()):
            if one.source.kind != "done":
                continue
            given = call.arguments or {}
            key = _key({name: given.get(name) for name, _, _ in one.arguments})
            if key is None:
                one.lost = f"a call of {call.tool} did not tell {', '.join(name for name, _, _ in one.arguments)}"
            elif len(self._done) >= KEPT and (one.name, key) not in self._done:
                one.lost = f"more than {KEPT} calls were done that it depends on"
            elif self._done_at.get((one.name, key), 0) < at:  # a call that was asked for later is the newest one
                self._done[one.name, key], self._done_at[one.name, key] = one.path(None, call.arguments), at

    def changes(self, call: Call) -> bool:
        """Whether the call may change anything."""
        return bool(self._changed.get(call.tool, self._stranger))

    def _change(self, call: Call, ended: bool = False) -> None:
        """The call may have changed something just now; what was said is used up when it is asked for alone."""
        changed = self._changed.get(call.tool, self._stranger)
        if changed:
            self._now += 1
            for one in changed:
                if not (ended and one.source.kind == "said"):
                    one.change(one.object(call), self._now)

    # ---- what is known ----------------------------------------------------------------------------

    def fill(self, known: Known, call: Call, reads: Collection[str], time: str | None) -> Filled:
        """What was told of the state, with those of its fields that are read as they are for the call at that time."""
        values, strange, origins = dict(known.values), dict(known.strange), {}
        questions = []
        for one in self._needed(reads):
            found, why, origin, asked = self._value(one, values, call, time)
            if asked is not None:
                questions.append(asked)
            if why:
                strange[one.name] = why
            else:
                values[one.name], origins[one.name] = found, origin
                strange.pop(one.name, None)
        self._told = {}
        return Filled(values, strange, origins, tuple(questions))

    def _needed(self, reads: Collection[str]) -> tuple[_Field, ...]:
        """Those fields and the ones that their arguments read, in the order of their declaration."""
        names = frozenset(reads)
        found = self._closures.get(names)
        if found is None:
            wanted = set(names)
            for one in reversed(self._fields.values()):
                wanted |= set(one.source.reads) if one.name in wanted else set()
            found = self._closures[names] = tuple([one for name, one in self._fields.items() if name in wanted])
        return found

    def _value(
        self, one: _Field, state: Mapping[str, Value], call: Call, time: str | None
    ) -> tuple[Value, str, str, Lookup | None]:
        """The field's value, or why it is unknown; where it came from; what had to be asked for it."""
        kind, of, asked = one.kind, one.source.of, None
        if kind == "clock":
            return *self._fitting(one, time, "" if time else "the clock tells no time"), "the clock", None
        key = one.named(state, call.arguments)
        if key is None:
            return None, _nameless(one, state, call), "", None
        if kind == "said":
            return *self._text(one, key), f"what {of} said", None
        for running, _ in self._running.values():
            if one in self._changed.get(running.tool, self._stranger) and one.object(running) in (None, key):
                return None, f"{running.tool}, which may change it, has no result yet", "", None
        if kind == "done":
            return *self._newest_done(one, key, state, call), f"the newest call of {of}", None
        if kind == "result":
            seen = self._newest_of(one.source)
            why = f"no result of {_called(one.source)} was seen" if seen is None else self._stale(one, seen, key)
        else:
            seen, why, asked = self._looked_up(one, key, state, call)
        if why:
            return None, why, "", asked
        read = seen.read.get(one.name)
        if read is None:
            read = seen.read[one.name] = self._part(one, seen)
        return *read, seen.origin, asked

    def _part(self, one: _Field, seen: _Seen) -> tuple[Value, str]:
        """What a field is of something seen, or where in it and why it is not known."""
        if seen.problem:
            return None, f"{seen.origin}: {seen.problem}"
        found = seen.value if one.path is None else one.path(None, seen.value)
        found, why = self._fitting(one, found, "a value was required; got none" if found is None else "")
        return found, f"{seen.origin}: {one.place}{why}" if why else ""

    def _newest_of(self, source: Source) -> _Seen | None:
        """The newest result of the source's tools."""
        newest = self._newest.get(source.of)
        for tool in source.or_of:
            other = self._newest.get(tool)
            if newest is None or (other is not None and other.asked > newest.asked):
                newest = other
        return newest

    def _newest_done(self, one: _Field, key: Hashable, state: Mapping[str, Value], call: Call) -> tuple[Value, str]:
        """What the newest call told that was done for the same object, or what counts without one."""
        if one.lost:
            return None, one.lost
        if (one.name, key) in self._done:
            found, why = self._done[one.name, key], f"the newest call of {one.source.of} did not tell it"
        else:
            found = one.otherwise(state, call.arguments) if one.otherwise else None
            why = f"no call of {one.source.of} was done" + (
                f", and {render(one.source.otherwise)} is not known" if one.otherwise else ""
            )
        return self._fitting(one, found, why if found is None else "")

    def _text(self, one: _Field, key: Hashable) -> tuple[Value, str]:
        """The newest text of a speaker, or all of them."""
        seen = self._said.get(one.source.of)
        if seen is None:
            return ((), "") if one.all else (None, f"{one.source.of} has said nothing")
        if seen.asked <= one.last(key):
            return None, f"{one.source.of} has said nothing since it was used up"
        if one.name not in seen.read:
            many = one.all and len(seen.value) > TEXTS
            why = f"at most {TEXTS} texts of {one.source.of} were required; got more" if many else ""
            seen.read[one.name] = self._fitting(one, seen.value if one.all else seen.value[-1], why)
        return seen.read[one.name]

    def _looked_up(
        self, one: _Field, key: Hashable, state: Mapping[str, Value], call: Call
    ) -> tuple[_Seen | None, str, Lookup | None]:
        tool, changed = one.source.of, one.last(key)
        by_tool = self._seen[tool].get(key)
        if by_tool is not None and by_tool.asked > changed:
            return by_tool, "", None
        given = self._given.get((one.name, key))
        if given is not None and given.asked > changed:
            return given, "", None
        before = self._answers.get((tool, key))
        if before is not None:
            return before, self._stale(one, before, key), None
        arguments = {name: read(state, call.arguments) for name, _, read in one.arguments}
        asked = self._told.get((tool, key)) or self._question(tool, arguments)
        if asked is None:
            gone = (
                f"what {tool} gave may have changed since" if by_tool is not None else f"no result of {tool} was seen"
            )
            return None, f"{gone} for {_shown(arguments)}, and nothing can be asked", None
        origin = f"{tool}({_shown(arguments)}), which was asked"
        self._now += 1
        seen = _Seen(None, self._now, origin, asked.problem) if asked.problem else _read(asked.value, self._now, origin)
        self._answers[tool, key] = seen
        if not seen.problem:
            self._see(tool, arguments, seen)
        return seen, "", Lookup(tool, arguments, seen.value, seen.problem or None)

    def _stale(self, one: _Field, seen: _Seen, key: Hashable) -> str:
        """Why what was seen of an object does not count any more; empty where it does."""
        return "" if seen.asked > one.last(key) else f"it may have changed since {seen.origin}"

    def _fitting(self, one: _Field, value: object, why: str) -> tuple[Value, str]:
        if why:
            return None, why
        try:
            return self._fits(one.name, value), ""
        except Exception as error:
            return None, schema.why(error)

    def _question(self, tool: str, arguments: dict[str, Value]) -> Lookup | None:
        """What the function gives in time; None where there is no function."""
        if self.ask is None:
            return None
        self._hanging = [thread for thread in self._hanging if thread.is_alive()]
        if len(self._hanging) >= HANGING:
            return Lookup(tool, arguments, problem=f"{HANGING} questions before it still have no answer")
        answer: queue.SimpleQueue[tuple[object, str]] = queue.SimpleQueue()
        thread = threading.Thread(target=_answer, args=(self.ask, tool, dict(arguments), answer), daemon=True)
        thread.start()
        try:
            value, problem = answer.get(timeout=self._timeout_s)
        except queue.Empty:
            self._hanging.append(thread)
            return Lookup(tool, arguments, problem=f"an answer within {self._timeout_s:g} s was required; got none")
        return Lookup(tool, arguments, problem=problem) if problem else Lookup(tool, arguments, value)


def _read(value: object, at: int, origin: str) -> _Seen:
    """A result as it is kept, whose call was asked for at that moment."""
    try:
        return _Seen(schema.plain(value), at, origin)
    except Exception as error:
        return _Seen(None, at, origin, schema.why(error))


def _answer(ask: Ask, tool: str, arguments: dict[str, Value], answer: queue.SimpleQueue) -> None:
    try:
        answer.put((ask(tool, arguments), ""))
    except BaseException as error:  # also what ends a thread: the session gets its reason, not a silence
        answer.put((None, f"the tool failed: {schema.why(error)}"))


def needed(validator: Validator) -> bool:
    """Whether any field of the state has a source."""
    return any(one.source is not None for one in validator.toolbox.state)


def _made(declared: Field) -> _Field:
    source = declared.source
    arguments = tuple([(name, render(node), evaluation.reading(node)) for name, node in source.arguments])
    path = evaluation.reading(source.path) if source.path else None
    place = f"{render(source.path).removeprefix('call.')}: " if source.path else ""
    otherwise = evaluation.reading(source.otherwise) if source.otherwise else None
    objects = {tool: _naming(told) for tool, told in source.objects}
    if source.kind == "done" and source.arguments:
        objects = {source.of: _naming([(name, facts.Path(("call", name))) for name, _ in source.arguments])}
    return _Field(
        declared.name,
        source,
        source.kind,
        arguments,
        _naming(source.arguments),
        path,
        place,
        otherwise,
        declared.type == "array",
        objects,
    )


def _changes(source: Source, tool: str, reading: Collection[str]) -> bool:
    """Whether the tool may change what the source gives."""
    if source.kind == "clock":
        return False
    if source.kind == "done":
        return tool == source.of
    if tool in source.given_by:
        return True
    return tool not in reading if source.changed_by is None else tool in source.changed_by


def _called(source: Source) -> str:
    named = " or ".join((source.of, *source.or_of))
    return {"clock": "the clock", "said": f"what {source.of} says"}.get(source.kind, named)


def _naming(arguments: Iterable[tuple[str, facts.Node]]) -> Named:
    """What tells the arguments of a call apart from others."""
    reads = [(name, evaluation.reading(node)) for name, node in arguments]
    if len(reads) != 1:
        return lambda state, call: _key({name: read(state, call) for name, read in reads})
    [(name, read)] = reads

    def alone(state: Mapping[str, Value], call: Mapping[str, Value] | None) -> Hashable | None:
        value = read(state, call)
        return (name, value) if type(value) is str else _key({name: value})

    return alone


def _nameless(one: _Field, state: Mapping[str, Value], call: Call) -> str:
    """Why the arguments that the call gives a source name nothing."""
    unknown = next((text for _, text, read in one.arguments if read(state, call.arguments) is None), None)
    if unknown is not None:
        return f"{unknown} is not known"
    return f"{', '.join(text for _, text, _ in one.arguments)}: texts, numbers or truths were required"


def _key(arguments: Mapping[str, Value]) -> Hashable | None:
    """What makes arguments the same as others; None where they are not all texts, numbers or truths."""
    if len(arguments) == 1:
        [(name, value)] = arguments.items()
        if type(value) is str:  # nearly every one
            return name, value
    key = tuple(sorted([(name, identity(value)) for name, value in arguments.items()], key=lambda one: one[0]))
    return None if any(value is None for _, value in key) else key


def _keep(kept: dict, key: Hashable, seen: _Seen) -> None:
    """Keep the newest, and so many of them."""
    before = kept.pop(key, None)
    kept[key] = seen if before is None or before.asked <= seen.asked else before
    while len(kept) > KEPT:
        del kept[next(iter(kept))]


def _shown(arguments: Mapping[str, Value]) -> str:
    return ", ".join(f"{name}={schema.got(value)}" for name, value in arguments.items())[:200]
