"""State fields that come from somewhere: a tool's result, a read-only tool that is asked, what was said, the clock,
a question about the conversation.

`tools.json` says where (`tools.Source`), so that nobody writes code for it.  A session fills the fields that a call's
guard reads just before it judges the call; the guard sees values alone and asks nobody.  Whatever is missing, does not
fit the field's schema or may have changed is unknown, with the reason.

What was seen stops to count as soon as a tool may run that may change it, and again when that tool's result comes or
its step is over: what was read in between may be from before or after.  What a tool gives for its own change
(`given_by`) counts from then on, unless another change was under way meanwhile.  Of two calls that were under way
together nobody knows which was done later, and of one whose result is still awaited whether it was done at all.  A
lookup of what was not seen asks the tool through a function that the session was made with: in a time limit, each
question once a step, never a tool that may change anything (`tools.parse` refuses it).  The newest answer is what
every field reads.  Nothing is assumed of changes that others make.

A question about the conversation is asked only where the state does not tell the field: of a second function, in a
time limit of its own, again only once something new was said or a result came.  Its answer is typed; where it permits,
it must quote a speaker whose words count (`wb.domain.answers`), also where a recording holds it.

What can be asked is an `operations.Operation`, and whoever fills the fields says which are worth it (`Lookups.fill`).
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from wb.domain import answers, detectors, events, operations, schema, tools, views
from wb.domain.answers import Answering, Conversation, Question
from wb.domain.events import Event, Lookup
from wb.domain.operations import Operation
from wb.domain.provenance import Provenance
from wb.domain.tools import Field, Source
from wb.domain.trace import Call, Value
from wb.domain.validation import Known, Validator
from wb.logic import evaluation, facts, types
from wb.logic.cel import render
from wb.logic.objects import identity
from wb.logic.values import PartialArguments

Ask = Callable[[str, dict[str, Value]], object]  # a read-only tool and its arguments to what it gives
TIMEOUT_S = 2.0
ANSWER_S = 20.0
KEPT = 1024  # results that are kept of each tool, and calls whose result is waited for; beyond it, what is lost is told
QUOTED = 200  # characters of a quotation in a reason; the record has all
TEXTS = 256  # of one speaker that are kept; of more, what is asked of all of them is unknown
TURN = "a turn in free text"
PLAIN = {"string": (str,), "int": (int,), "number": (int, float), "double": (int, float), "bool": (bool,)}
TIMELESS = (
    'no time is told: a recording says it beside the call, "time": "2026-01-31T09:00:00Z"; a session is told it by its '
    "clock, as such a text or a datetime with a zone"
)
ANSWERED = ("question", "detect", "operation")  # kinds of sources whose events are answers
TWICE = "it was recorded twice, with different answers"
UNTOLD = "what is told of it is not read, for it comes from {}"

Named = Callable[[Mapping[str, Value], Mapping[str, Value] | None], Hashable | None]  # the object that a call names


class Filled(NamedTuple):
    """The state that a guard reads, why fields of it are unknown, where each field that was filled came from, and
    what had to be asked; `open` is what can be asked to know more."""

    values: Mapping[str, Value]
    strange: Mapping[str, str]
    origins: Mapping[str, str] = {}
    asked: tuple[Lookup | events.Answer, ...] = ()
    answers: tuple[events.Answer, ...] = ()  # those that the values rest on, asked for now or before
    open: tuple[Operation, ...] = ()


@dataclass(slots=True)
class _Seen:
    """A result, when its call was asked for and when it came, and what came of it for the fields that were read of it.

    `problem` is why it is no value.
    """

    value: Value
    asked: int
    origin: str
    problem: str = ""
    over: int = 0
    read: dict[str, tuple[Value, str]] = field(default_factory=dict)
    tool: str = ""
    arguments: Mapping[str, Value] = field(default_factory=dict)  # of the call whose result it is


@dataclass(slots=True, eq=False)
class _Deed:
    """A call that tells a field by what it was asked for: it was done at some moment between these two.

    It `failed` where its result said so when what was there before was forgotten.
    """

    asked: int
    over: int
    value: Value
    name: int | str
    failed: bool = False


@dataclass(slots=True, eq=False)
class _Field:
    """A field with a source, made ready.

    `changed` is when it last may have changed of any object, `changed_of` of one alone, `newest` the newest of these.
    Where an object's name may be of any type, 1 may be what "1" is: `changed_by_type` tells these apart.
    """

    name: str
    source: Source
    kind: str
    arguments: tuple[tuple[str, str, evaluation.Read], ...]
    named: Named
    path: evaluation.Read | None
    place: str  # the path as an error names it
    otherwise: evaluation.Read | None
    type: str
    objects: Mapping[str, Named]  # by tool, what tells the one object that it changes
    wanted: Mapping[str, types.Type]  # of each argument, as it is declared
    changed: int = 0
    changed_of: dict[Hashable, int] = field(default_factory=dict)
    changed_by_type: dict[tuple[type, ...], int] = field(default_factory=dict)
    newest: int = 0
    lost: str = ""  # why it is not known any more, whatever comes
    before: str = ""  # why what was done before what is known is not known

    def object(self, call: Call) -> Hashable | None:
        """The object that the call changes; None where it may be any."""
        named = self.objects.get(call.tool)
        return None if named is None else named({}, call.arguments)

    def may_be(self, call: Call, key: Hashable) -> bool:
        """Whether the object that the call changes may be that one."""
        named = self.object(call)
        return named is None or named == key or _types(named) != _types(key)

    def change(self, key: Hashable | None, now: int) -> None:
        """It may have changed, of one object or any."""
        self.newest = now
        if key is None:
            self.changed = now
            self.changed_of.clear()
            return
        self.changed_by_type[_types(key)] = now
        self.changed_of.pop(key, None)
        self.changed_of[key] = now
        if len(self.changed_of) > KEPT:  # the oldest ones are no longer told apart from the others
            self.changed = self.changed_of.pop(next(iter(self.changed_of)))

    def last(self, key: Hashable | None) -> int:
        """When it last may have changed of that object; of any where that is None."""
        if key is None:
            return self.newest
        return max([self.changed_of.get(key, self.changed), *self.elsewhere(key)])

    def elsewhere(self, key: Hashable) -> list[int]:
        """When it last may have changed of objects that are named by another type, each such type once."""
        of = _types(key)
        return [now for other, now in self.changed_by_type.items() if other != of]


class Lookups:
    """What one conversation has shown of the fields with a source."""

    def __init__(
        self,
        validator: Validator,
        *,
        ask: Ask | None = None,
        timeout_s: float = TIMEOUT_S,
        answer: Answering | None = None,
        answer_timeout_s: float = ANSWER_S,
        own: Mapping[str, Callable[..., object]] = {},  # noqa: B006 - it is never changed
    ) -> None:
        toolbox = validator.toolbox
        self.ask, self.answer, self.own = ask, answer, own
        self._timeout_s, self._answer_s, self._fits = timeout_s, answer_timeout_s, validator.one
        declared = {tool.name: tools.arguments_of(tool) for tool in toolbox.tools}
        self._schemas = {tool.name: dict(tool.schema.get("properties", {})) for tool in toolbox.tools}
        self._fields = {one.name: _made(one, declared) for one in toolbox.state if one.source is not None}
        fields = tuple(self._fields.values())
        self.timed = any(one.kind == "clock" for one in fields)
        self._speakers = {one.source.of for one in fields if one.kind == "said"}
        self._shown: dict[str, list[str]] = {}  # by who shows pages, the fields that are read there
        for one in fields:
            if one.kind == "seen":
                self._shown.setdefault(one.source.of, []).append(one.name)
        self._untold = {one.name: UNTOLD.format(one.source.called) for one in fields if one.kind != "question"}
        self._asking = {one.name: one for one in toolbox.state if one.source and one.source.kind == "question"}
        self._talk = Conversation()
        self._step: tuple[int, str] = (1, "")  # the calls of the present step so far, and what the agent said in it
        # since something new is known of the conversation, by field, object and the call that is wanted
        self._replies: dict[tuple[str, Hashable, str | None], tuple[int, events.Answer]] = {}
        self._recorded: dict[tuple[str, Hashable], events.Answer] = {}  # what a recording holds for the next call
        self._rests: dict[str, events.Answer] = {}  # by field, those that are read
        self._open: dict[str, Operation] = {}  # by field, what can be asked
        self._silent = False  # whether who answers questions had one of this call and gave no answer in time
        reading = self._reading = {tool.name for tool in toolbox.tools if tool.mutating is False}
        told = {_telling(one): Provenance(one.source, reading) for one in fields if one.kind == "origin"}
        self._provenance = {one.name: told[_telling(one)] for one in fields if one.kind == "origin"}
        self._told_by = tuple(told.values())
        self._changed = {of: tuple([one for one in fields if _changes(one.source, of, reading)]) for of in declared}
        self._stranger = tuple([one for one in fields if _changes(one.source, "", ())])  # changed by unknown tools
        self._results = {  # by tool, the fields that are its newest result
            tool: tuple([one for one in fields if one.kind == "result" and tool in _tools(one.source)])
            for tool in {tool for one in fields for tool in _tools(one.source)}
        }
        self._kept = {tool for one in fields for tool in (*_tools(one.source), *one.source.given_by)}
        self._tells = {tool: bool(changed) or tool in self._kept for tool, changed in self._changed.items()}
        self._closures: dict[frozenset[str], tuple[_Field, ...]] = {}
        self._now = 0  # counts what happened
        self._newest: dict[str, _Seen] = {}  # results, by field
        self._questions = {  # a tool and the names of its arguments, as a session asks it
            (one.source.of, frozenset(dict(one.source.arguments))) for one in fields if one.kind == "lookup"
        }
        self._seen: dict[str, dict[Hashable, _Seen]] = {tool: {} for tool, _ in self._questions}  # by tool, arguments
        self._given: dict[tuple[str, Hashable], _Seen] = {}  # by field and arguments
        self._done: dict[tuple[str, Hashable], list[_Deed]] = {}  # by field and arguments: any of these may be the last
        self._said: dict[str, _Seen] = {}  # all texts of a speaker
        self._running: dict[int | str, tuple[Call, int]] = {}  # calls of this step without a result, and when asked
        self._late: dict[int | str, tuple[Call, int]] = {}  # those of earlier steps whose result may still come
        self._last: int | str = 0  # the last call of all
        self._refused: dict[int | str, tuple[Call, int]] = {}  # those that may not run
        self._forgot = False  # whether there were more of them than are kept
        self._answers: dict[tuple[str, Hashable], _Seen] = {}  # what was asked for in this step
        self._told: dict[tuple[str, Hashable], Lookup] = {}  # answers that a recording holds for the next call
        self._runner = operations.Runner()
        self._telling = {name: self._told_with(one) for name, one in self._fields.items()}

    # ---- what happens ---------------------------------------------------------------------------

    def untold(self, known: Known) -> Known:
        """What was told of the state, without the fields that come from elsewhere, and which of these were told."""
        told = [name for name in self._untold if name in known.values or name in known.strange]
        if not told:
            return known
        values = {name: value for name, value in known.values.items() if name not in self._untold}
        why = {name: self._untold[name] for name in told if known.values.get(name, "") is not None}
        return Known(values, {**known.strange, **why})

    def said(self, role: str, text: str) -> None:
        """Somebody said something."""
        for one in self._told_by:
            one.said(role, text)
        if self._asking:
            self._now += 1
            self._talk.say(role, text, self._now)
            self._replies, self._recorded = {}, {}
        if role in self._shown:
            self._now += 1
            shown = _Seen(text, self._now, f"what {role} showed")
            self._newest |= {name: replace(shown, read={}) for name in self._shown[role]}
        if role in self._speakers:
            before = self._said[role].value if role in self._said else ()
            self._now += 1
            self._said[role] = _Seen((*before[-TEXTS:], (self._now, text)), self._now, f"what {role} said")

    def begin(self) -> None:
        """A step is over: its calls were done, except those whose results will come, and another one may ask again."""
        for one in self._told_by:
            one.begin()
        running, self._running, spare = self._running, {}, len(self._running) - KEPT
        for name, (call, at) in running.items():
            waits = type(name) is str and self.changes(call)
            if waits and spare <= 0:
                self._running[name] = call, at
                continue
            if waits:  # too many are waited for
                self._lose(call)
            spare -= 1
            self._change(call, ended=True)
            self._was_done(name, call, at)
            if type(name) is str or name == self._last:  # no result can name another one
                self._late[name] = call, at
        while len(self._late) > KEPT:
            self._lose(self._late.pop(next(iter(self._late)))[0])
        self._answers = {}
        if self._replies:  # who did not answer may be asked again
            own = {name for name, one in self._fields.items() if one.kind == "operation"}
            each = self._replies.items()
            self._replies = {key: known for key, known in each if known[1].problem is None and key[0] not in own}

    def changes(self, call: Call) -> bool:
        """Whether the call may change anything."""
        return bool(self._changed.get(call.tool, self._stranger))

    def moves(self, tool: str, reads: Collection[str] | None = None) -> bool:
        """Whether a call of the tool may change one of these fields (None: any), or tell it; what a function of yours
        says, any but a tool that only reads may change."""
        told = () if tool in self._reading else self._results.get(tool, ())
        moved = {one.name for one in (*self._changed.get(tool, self._stranger), *told)}
        own = tool not in self._reading
        needed = self._needed(self._fields if reads is None else reads)
        return any(one.name in moved or (own and one.kind == "operation") for one in needed)

    def asked(self, name: int | str, call: Call) -> None:
        """A call runs from here on."""
        for one in self._told_by:
            one.asked(name, call, runs=True)
        if self._late and type(self._last) is int:
            self._late.pop(self._last, None)
        self._last = name
        if self._asking:
            self._talk.call(name, call)
        if not self._tells.get(call.tool, self._stranger):
            return
        self._change(call)
        self._now += 1
        self._running[name] = call, self._now

    def refused(self, name: int | str, call: Call) -> None:
        """A call may not run; if a result is told of it, it ran all the same from here on."""
        for one in self._told_by:
            one.asked(name, call, runs=False)
        self._now += 1
        self._refused[name] = call, self._now
        if len(self._refused) > KEPT:
            del self._refused[next(iter(self._refused))]
            self._forgot = True

    def answered(self, name: int | str, value: object, failed: bool) -> None:
        """What a call gave."""
        for one in self._told_by:
            one.answered(name, value, failed)
        against = self._refused.pop(name, None)
        if self._asking:
            if against is not None:
                self._talk.call(name, against[0])
            self._talk.result(name, value, failed)
            self._replies, self._recorded = {}, {}
        present = against is not None or name in self._running
        found = against or self._running.pop(name, None) or self._late.pop(name, None)
        if found is None:
            if self._forgot:  # it may have been any call
                self.turn(None)
            return
        call, at = found
        changes = self._changed.get(call.tool, ())
        alone = [one for one in changes if one.last(one.object(call)) < at]  # nothing else changed these
        self._change(call, ended=against is None)
        self._contradict(call)
        if present and not failed:
            self._was_done(name, call, at)
        elif failed and not present:  # it counted when its step was over
            self._was_not_done(name, call)
        if failed or call.tool not in self._kept or call.arguments is None:
            return
        seen = _read(value, at, f"the result of {call.tool} (call {name})")
        seen.over = self._now
        self._see(call.tool, call.arguments, seen)
        if alone:
            self._now += 1
            given = replace(seen, asked=self._now, read={})  # its own change is in it
            for one in alone:
                if one in self._results.get(call.tool, ()):
                    self._newest[one.name] = _newer(self._newest.get(one.name), given)
                elif call.tool in one.source.given_by:
                    asked = {name: call.arguments.get(name) for name, _, _ in one.arguments}
                    key = one.object(call) if call.tool in one.objects else _key(asked)
                    if key is not None:
                        _keep(self._given, (one.name, key), given)

    def heard(self, told: Lookup | events.Answer) -> None:
        """What a recording says that a lookup for the next call gave, or a question."""
        key = _key(told.arguments)
        if type(told) is events.Answer:
            one = self._fields.get(told.field)
            if one is None or one.kind not in ANSWERED or key is None or one.wanted.keys() != told.arguments.keys():
                return
            before = self._recorded.get((told.field, key), told)
            if before.problem != told.problem or not _alike(before.value, told.value):
                told = replace(told, value=None, quotation="", problem=TWICE)
            self._recorded[told.field, key] = told
        elif told.tool not in self._reading:  # no session asks it: somebody called it
            self._at_once(Call(told.tool, told.arguments), "recorded as a lookup")
        elif key is not None and (told.tool, frozenset(told.arguments)) in self._questions:
            before = self._told.get((told.tool, key))
            if before is not None and not (before.problem == told.problem and _alike(before.value, told.value)):
                told = replace(told, value=None, problem=TWICE)
                for one in self._fields.values():
                    if told.tool in _tools(one.source):
                        one.change(None, self._now)
            self._told[told.tool, key] = told

    def turn(self, calls: Iterable[Call] | None) -> None:
        """A turn in free text: those calls were done, or, without any list, nobody can tell what was.

        It may have been any call of any tool then.
        """
        self._contradict(None)
        for call in calls or ():
            self._at_once(call, TURN)
        if calls is not None:
            return
        for one in self._told_by:
            one.lost(f"{TURN} may have been any call")
        self._done.clear()
        for one in self._fields.values():
            if one.kind == "done":
                one.before = f"{TURN} may have been such a call"
            elif one.kind != "clock" and one.source.changed_by != ():
                one.change(None, self._now)

    def _at_once(self, call: Call, name: str) -> None:
        """A call that was asked for and done without a word between."""
        for one in self._told_by:
            one.lost(f"what {call.tool} gave, {name}, was not told")
        self._change(call)
        self._now += 1
        at = self._now
        self._change(call, ended=True)
        self._was_done(name, call, at)

    def _contradict(self, call: Call | None) -> None:
        """What was told of the next call's lookups stands before the end of a call, or turn, that may change it."""
        changes = self._fields.values() if call is None else self._changed.get(call.tool, self._stranger)
        for at, told in self._told.items():
            what = TURN if call is None else f"the result of {call.tool}"
            read = [one for one in changes if one.kind in ("lookup", "result") and at[0] in _tools(one.source)]
            if any(call is None or one.may_be(call, at[1]) for one in read):
                why = f"it was recorded before {what}, which may have changed it"
                self._told[at] = replace(told, value=None, problem=why)

    def _take_in(self) -> None:
        """What a recording tells of the lookups for this call is the newest that is known."""
        for (tool, key), told in self._told.items():
            self._answer(tool, key, told)
        self._told = {}
        for (name, key), reply in self._recorded.items():
            self._reply(self._fields[name], key, reply)
        self._recorded = {}

    def _answer(self, tool: str, key: Hashable, asked: Lookup) -> _Seen:
        """An answer, or why there is none, which counts for the whole step unless something newer is seen."""
        origin = f"{tool}({_shown(asked.arguments)}), which was asked"
        self._now += 1
        seen = _Seen(None, self._now, origin, asked.problem) if asked.problem else _read(asked.value, self._now, origin)
        self._answers[tool, key] = seen
        if not seen.problem:
            self._see(tool, asked.arguments, seen)
        return seen

    def _see(self, tool: str, arguments: Mapping[str, Value], seen: _Seen) -> None:
        seen.tool, seen.arguments = tool, arguments
        for one in self._results.get(tool, ()):
            self._newest[one.name] = _newer(self._newest.get(one.name), seen)
        key = _key(arguments) if tool in self._seen else None
        if key is not None:
            _keep(self._seen[tool], key, seen)

    def _was_done(self, name: int | str, call: Call, at: int) -> None:
        """A call that was asked for then was done, as far as anybody knows: what its arguments tell."""
        for one in self._changed.get(call.tool, ()):
            if one.kind != "done":
                continue
            key = _told_of(one, call)
            if key is None:
                one.lost = f"a call of {call.tool} did not tell {', '.join(name for name, _, _ in one.arguments)}"
            elif len(self._done) >= KEPT and (one.name, key) not in self._done:
                one.lost = f"more than {KEPT} calls were done that it depends on"
            else:
                deeds = self._done.setdefault((one.name, key), [])
                deeds.append(_Deed(at, self._now, one.path(None, call.arguments), name))
                deeds[:] = [one for one in deeds if one.over > at]  # what was over before cannot be the last

    def _was_not_done(self, name: int | str, call: Call) -> None:
        """A call failed when its step was over: what it told is not so, and what was told before is forgotten."""
        for one in self._changed.get(call.tool, ()):
            for deed in self._done.get((one.name, _told_of(one, call)), ()):
                deed.failed = deed.failed or deed.name == name

    def _lose(self, call: Call) -> None:
        """The call's result is waited for no longer: what it may change, and what it gives, is unknown for good."""
        why = f"more than {KEPT} calls have no result yet, {call.tool} among them, which may change it"
        for one in (*self._changed.get(call.tool, self._stranger), *self._results.get(call.tool, ())):
            one.lost = one.lost or why

    def _change(self, call: Call, ended: bool = False) -> None:
        """The call may have changed something just now; what was said is used up when it is asked for alone."""
        changed = self._changed.get(call.tool, self._stranger)
        if changed:
            self._now += 1
            for one in changed:
                if not (ended and one.kind in ("said", "question")):
                    one.change(one.object(call), self._now)

    # ---- what is known ----------------------------------------------------------------------------

    def fill(
        self,
        known: Known,
        call: Call,
        reads: Collection[str],
        time: str | None,
        step: tuple[int, str] = (1, ""),
        wanted: Callable[[Filled], Collection[str] | None] = lambda _: None,
        most: int = operations.MOST,
        useful: Mapping[str, float] = MappingProxyType({}),
    ) -> Filled:
        """What was told of the state, with those of its fields that are read as they are for the call at that time.

        `wanted` names, of what is known so far, the fields that are still worth an operation, None for all: as long as
        one can tell such a field, the cheapest is run, at most so many, and all fields are read once more, for what it
        gave is the newest of what they read.  `useful` says how often what is asked was (`workflows`).
        """
        self._take_in()
        self._step, self._silent = step, False
        needed, asked = self._needed(reads), []
        while True:
            filled = self._filled(known, call, needed, time)
            names = wanted(filled)
            one = operations.cheapest(filled.open, names, useful) if filled.open and len(asked) < most else None
            if one is None:
                return filled._replace(asked=tuple(asked)) if asked else filled
            asked.append(one.run())

    def _filled(self, known: Known, call: Call, needed: Iterable[_Field], time: str | None) -> Filled:
        """What is known now, and what can be asked."""
        values, strange, origins = dict(known.values), dict(known.strange), {}
        self._rests, self._open = {}, {}
        for one in needed:
            if one.kind == "question" and (values.get(one.name) is not None or one.name in strange):
                continue  # it was told
            found, why, origin = self._value(one, values, call, time)
            if why:
                why = "; ".join([why, *[strange[name] for name in one.source.reads if name in strange]])
                told = known.strange.get(one.name)
                strange[one.name] = f"{why}; {told}" if told else why
            else:
                values[one.name], origins[one.name] = found, origin
                strange.pop(one.name, None)
        return Filled(values, strange, origins, (), tuple(self._rests.values()), tuple(self._open.values()))

    def _told_with(self, one: _Field) -> frozenset[str]:
        """The fields that may be known by what tells this one: of the same tool, and those that these tell."""
        of = _tools(one.source) if one.kind == "lookup" else ()
        found = {one.name, *[name for name, other in self._fields.items() if set(of) & set(_tools(other.source))]}
        for name, other in self._fields.items():  # a field is told by fields before it
            found |= {name} if found.intersection(other.source.reads) else set()
        return frozenset(found)

    def _can_ask(
        self, kind: operations.Kind, one: _Field, run: Callable[..., Lookup | events.Answer], *given: Any
    ) -> str:
        """Note what can be asked, and say why the field is unknown until then."""
        of = one.source.of if kind == "search" else one.name
        cost = operations.COSTS[kind] if one.source.cost is None else one.source.cost
        self._open[one.name] = Operation(kind, one.name, cost, self._telling[one.name], partial(run, *given), of)
        return f"{one.source.called} was not asked"

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

    def _value(self, one: _Field, state: Mapping[str, Value], call: Call, time: str | None) -> tuple[Value, str, str]:
        """The field's value, or why it is unknown; where it came from."""
        kind, of = one.kind, one.source.of
        if kind == "clock":
            return *self._fitting(one, time, "" if time else TIMELESS), "the clock"
        if kind == "step":
            return *self._fitting(one, self._step[of == "words"], ""), "the present step"
        if kind == "origin":
            return *self._origin(one, call), "what was said and what tools gave"
        key = one.named(state, call.arguments)
        if key is None:
            return None, _nameless(one, state, call), ""
        if kind == "said":
            return *self._text(one, key), f"what {of} said"
        if kind == "question":
            return self._answered_by(one, key, state, call)
        if kind in ANSWERED:
            return self._computed(one, key, state, call)
        if one.lost:
            return None, one.lost, ""
        for running, _ in self._running.values():
            if one in self._changed.get(running.tool, self._stranger) and one.may_be(running, key):
                return None, f"{running.tool}, which may change it, has no result yet", ""
        if kind == "done":
            return *self._newest_done(one, key, state, call), f"the newest call of {of}"
        if kind in ("result", "seen"):
            seen = self._newest.get(one.name)
            why = f"no {f'result of {one.source.called}' if kind == 'result' else f'page of {of}'} was seen"
            if seen is not None:
                why = self._stale(one, seen, key) or self._of_another(seen, call)
        else:
            seen, why = self._looked_up(one, key, state, call)
        if why:
            return None, why, ""
        read = seen.read.get(one.name)
        if read is None:
            read = seen.read[one.name] = self._part(one, seen)
        return *read, seen.origin

    def _origin(self, one: _Field, call: Call) -> tuple[Value, str]:
        """Where an argument of the call comes from; of several the weakest of those that it gives."""
        declared, given = self._schemas.get(call.tool, {}), call.arguments
        asked = [
            (path.names[1], text, read)
            for (_, path), (_, text, read) in zip(one.source.arguments, one.arguments, strict=True)
            if path.names[1] in declared
        ]
        named = ", ".join(text for _, text, _ in asked)
        if not asked:
            return None, f"{call.tool} has no argument {', '.join(text for _, text, _ in one.arguments)}"
        if given is None or (type(given) is PartialArguments and any(given.get(name) is None for name, *_ in asked)):
            return None, f"{named} is not known"
        values = [value for *_, read in asked if (value := read(None, given)) not in (None, (), "")]
        found, why = self._provenance[one.name].origin(values[0] if len(values) == 1 else tuple(values))
        why = f"{named}: {why}" if why else ""
        return self._fitting(one, found, why)

    def _answered_by(
        self, one: _Field, key: Hashable, state: Mapping[str, Value], call: Call
    ) -> tuple[Value, str, str]:
        """What was answered to the question since the conversation is as it is; else it can be asked."""
        used, speakers, text = one.last(key), _tools(one.source), f"“{one.source.text}”"
        wanted = [call.tool] if one.arguments else [call.tool, call.arguments]  # of an object: of each call of the tool
        wanted = json.dumps(wanted, sort_keys=True, default=str)
        if (heard := self._replies.pop((one.name, key, None), None)) is not None:  # recorded for the next call
            self._replies[one.name, key, wanted] = heard
        at, reply = self._replies.get((one.name, key, wanted), (-1, None))  # a yes to one call is none to another
        if reply is not None and at > used:
            if reply.problem is not None:
                return None, f"{text}: {reply.problem}", ""
            self._rests[one.name] = reply
            words = f" (“{reply.quotation[:QUOTED]}”)" if reply.quotation else ""
            return reply.value, "", f"the answer of {reply.by or 'somebody'} to {text}{words}"
        if not any(self._talk.newest.get(role, 0) > used for role in speakers):
            why = f"{' or '.join(speakers)} has said nothing{' since it was used up' * bool(used)}"
        elif self.answer is None:
            why = f"{text} has no answer, and nobody can be asked"
        elif self._talk.full:
            why = f"{text}: at most {answers.KEPT} texts and calls were required to ask; got more"
        else:
            about = {name: read(state, call.arguments) for name, _, read in one.arguments}
            why = self._can_ask("binary-check", one, self._asked_about, one, key, about, wanted, call)
        return None, why, ""

    def _computed(self, one: _Field, key: Hashable, state: Mapping[str, Value], call: Call) -> tuple[Value, str, str]:
        """What a detector or an operation gave for these values; else it can be run."""
        heard = self._replies.pop((one.name, key, None), None)  # recorded for the next call
        if heard is not None:
            self._replies[one.name, key, ""] = heard
        _, reply = self._replies.get((one.name, key, ""), (0, None))
        if reply is not None and reply.problem is not None:
            return None, f"{one.source.called}: {reply.problem}", ""
        if reply is not None:
            self._rests[one.name] = reply
            return reply.value, "", one.source.called
        if one.kind == "operation" and (absent := [name for name in _tools(one.source) if name not in self.own]):
            return None, f"no operation {', '.join(absent)} was given to the session", ""
        given = {name: read(state, call.arguments) for name, _, read in one.arguments}
        return None, self._can_ask(one.kind, one, self._compute, one, key, given), ""

    def _compute(self, one: _Field, key: Hashable, given: Mapping[str, Value]) -> events.Answer:
        """What a detector finds, or every function of an operation gives; of two that disagree nobody knows."""
        names, found = _tools(one.source), {}
        if one.kind == "detect":
            made = partial(detectors.count, names, tuple(given.values()))
            found[", ".join(names)] = self._runner.run("the detector", self._timeout_s, made, ())
        for name in names if one.kind == "operation" else ():
            made = partial(self.own[name], **copy.deepcopy(dict(given)))
            found[name] = self._runner.run(name, self._timeout_s, made, ())
        (value, problem), *others = found.values()
        if one.kind == "detect" and type(value) is int and one.type == "boolean":
            value = value > 0
        problem = problem or next((why for _, why in others if why), "")
        if not problem and any(not _alike(value, other) for other, _ in others):
            problem = f"they disagree: {', '.join(f'{name} gives {schema.got(v)}' for name, (v, _) in found.items())}"
        if not problem and value is None:
            problem = "it is not told"
        by = schema.named(", ".join(found))
        value, problem = (None, problem[:300]) if problem else (value, None)
        return self._reply(one, key, events.Answer(one.name, value, by=by, arguments=given, problem=problem), "")

    def _asked_about(
        self, one: _Field, key: Hashable, about: Mapping[str, Value], wanted: str, call: Call
    ) -> events.Answer:
        """What the function answers to the question, as far as it is believed; at a call it may be silent once."""
        kind, values = self._asking[one.name].type, self._asking[one.name].values
        said = tuple(self._talk.texts), tuple(self._talk.calls)
        question = Question(one.name, one.source.text, kind, values, _tools(one.source), about, *said, call)
        found, problem = None, "the question before it had no answer in time"
        if not self._silent:
            given = [copy.deepcopy(question)]  # nobody changes what is remembered
            found, problem = self._runner.run("who was asked", self._answer_s, self.answer, given)
            self._silent = self._runner.silent
        return self._reply(one, key, _told_by(one.name, about, found, problem), wanted)

    def _reply(self, one: _Field, key: Hashable, told: events.Answer, wanted: str | None = None) -> events.Answer:
        """The answer as it is believed: of its field's type, with the words that it needs (`Source.permits`)."""
        source, used = one.source, one.last(key)
        if told.problem is None:
            value, why = self._fitting(one, told.value, "")
            free = source.permits is not None and not any(schema.same(value, each) for each in source.permits)
            said = told.quotation if type(told.quotation) is str else ""
            if one.kind != "question":
                said = ""
            elif not self._talk.quoted(said, _tools(source), used):
                if not why and not free:
                    words = f"words of {' or '.join(_tools(source))} were required"
                    why = f"{words} that say {schema.got(value)}; got {schema.got(told.quotation)}"
                said = ""
            told = replace(told, value=None if why else value, quotation=said * (not why), problem=why or None)
        self._now += 1
        self._replies[one.name, key, wanted] = self._now, told
        while len(self._replies) > KEPT:
            del self._replies[next(iter(self._replies))]
        return told

    def _part(self, one: _Field, seen: _Seen) -> tuple[Value, str]:
        """What a field is of something seen, or where in it and why it is not known."""
        if seen.problem:
            return None, f"{seen.origin}: {seen.problem}"
        if one.kind == "seen":
            try:
                return self._fits(one.name, views.read(seen.value, one.source.view, one.type)), ""
            except Exception as error:  # whatever a foreign page makes its parser raise
                return None, f"{seen.origin}: {schema.why(error)}"
        found = seen.value if one.path is None else one.path(None, seen.value)
        found, why = self._fitting(one, found, "a value was required; got none" if found is None else "")
        return found, f"{seen.origin}: {one.place}{why}" if why else ""

    def _of_another(self, seen: _Seen, call: Call) -> str:
        """Why a result tells nothing of a call: it speaks of what its own call named, and by an argument that both
        tools declare alike this call names something else."""
        theirs, ours, given = self._schemas.get(seen.tool, {}), self._schemas.get(call.tool, {}), call.arguments or {}
        told = [
            f"{name} {schema.got(value)} and not {schema.got(given[name])}"
            for name, value in seen.arguments.items()
            if name in given and theirs.get(name) == ours.get(name) and not schema.same(value, given[name])
        ]
        return f"{seen.origin} is of {', '.join(told)}" if told else ""

    def _newest_done(self, one: _Field, key: Hashable, state: Mapping[str, Value], call: Call) -> tuple[Value, str]:
        """What the newest call told that was done for the same object, or what counts without one."""
        deeds = self._done.get((one.name, key), ())
        values = [deed.value for deed in deeds]
        why = f"the newest call of {one.source.of} did not tell it"
        if any(not deeds or now > deeds[0].asked for now in one.elsewhere(key)):
            return None, f"{one.source.of} was called of what is named by another type, which may be the same"
        if not deeds:
            if one.before:
                return None, one.before
            values.append(one.otherwise(state, call.arguments) if one.otherwise else None)
            otherwise = f", and {render(one.source.otherwise)} is not known" if one.otherwise else ""
            why = f"no call of {one.source.of} was done{otherwise}"
        for deed in deeds:
            if deed.failed:
                return None, f"{one.source.of} (call {deed.name}) failed after its step was over"
        if not all(schema.same(values[0], value) for value in values[1:]):
            names = [f"call {deed.name}" for deed in deeds]
            return None, f"which of {one.source.of} ({', '.join(names)}) was done later is not known"
        found = values[0]
        return self._fitting(one, found, why if found is None else "")

    def _text(self, one: _Field, key: Hashable) -> tuple[Value, str]:
        """The newest text of a speaker, or all since they were used up."""
        seen, used = self._said.get(one.source.of), one.last(key)
        if seen is None:
            return ((), "") if one.type == "array" else (None, f"{one.source.of} has said nothing")
        if seen.asked <= used:
            return None, f"{one.source.of} has said nothing since it was used up"
        if one.type == "array":
            texts = tuple([text for at, text in seen.value if at > used])
            many = len(texts) > TEXTS
            return self._fitting(one, texts, f"at most {TEXTS} texts of {one.source.of} were required; got more" * many)
        if one.name not in seen.read:
            seen.read[one.name] = self._fitting(one, seen.value[-1][1], "")
        return seen.read[one.name]

    def _looked_up(
        self, one: _Field, key: Hashable, state: Mapping[str, Value], call: Call
    ) -> tuple[_Seen | None, str]:
        tool, changed = one.source.of, one.last(key)
        seen = self._seen[tool].get(key)
        if seen is not None and seen.asked > changed and not self._answers:  # nothing is newer
            return seen, ""
        given = self._given.get((one.name, key))
        if given is not None and (seen is None or given.asked > seen.asked):
            seen = given
        answer = self._answers.get((tool, key))
        if answer is not None and (seen is None or answer.asked >= seen.asked or seen.asked <= changed):
            return answer, self._stale(one, answer, key)
        if seen is not None and seen.asked > changed:
            return seen, ""
        arguments = {name: read(state, call.arguments) for name, _, read in one.arguments}
        gone = f"what {tool} gave may have changed since" if seen is not None else f"no result of {tool} was seen"
        nobody = "nothing can be asked"
        if self.ask is not None:
            nobody = self._can_ask("search", one, self._search, tool, key, arguments)
        return None, f"{gone} for {_shown(arguments)}, and {nobody}"

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

    def _search(self, tool: str, key: Hashable, arguments: dict[str, Value]) -> Lookup:
        """What the function gives in time."""
        value, problem = self._runner.run("the tool", self._timeout_s, self.ask, (tool, dict(arguments)))
        asked = Lookup(tool, arguments, problem=problem) if problem else _kept(Lookup(tool, arguments, value))
        self._answer(tool, key, asked)
        return asked


def _told_by(field: str, about: Mapping[str, Value], found: Any, problem: str) -> events.Answer:
    """What the function answered, whatever that is, or why there is no answer."""
    if not problem and type(found) is not answers.Answer:
        problem = f"an answers.Answer was required; got {schema.got(found)}"
    if problem:
        return events.Answer(field, arguments=about, problem=problem)
    by, why = (each if type(each) is str else schema.got(each) for each in (found.by, found.reason))
    if found.value is None:
        why = why[:200].encode("ascii", "backslashreplace").decode()[:200]
        return events.Answer(field, by=schema.named(by), arguments=about, problem=f"it is not told: {why}")
    return events.Answer(field, found.value, found.quotation, schema.named(by), about)


def _read(value: object, at: int, origin: str) -> _Seen:
    """A result as it is kept, whose call was asked for at that moment."""
    try:
        return _Seen(schema.plain(value), at, origin)
    except Exception as error:
        return _Seen(None, at, origin, schema.why(error))


def _kept(told: Lookup) -> Lookup:
    """What was told, or the problem that no record can hold it."""
    try:
        told = replace(told, value=schema.plain(told.value))
        events.line(Event("run", told)).encode()
        return told
    except Exception as error:
        return replace(told, value=None, problem=schema.why(error)[:300])


def needed(validator: Validator) -> bool:
    """Whether any field of the state has a source."""
    return any(one.source is not None for one in validator.toolbox.state)


def _tools(source: Source) -> tuple[str, ...]:
    """The tools whose result it is, or the speakers whose words count."""
    return (source.of, *source.or_of)


def _telling(one: _Field) -> tuple[object, ...]:
    """Whose words and which places tell origins alike."""
    return one.source.of, one.source.or_of, one.source.places, one.source.writers


def _told_of(one: _Field, call: Call) -> Hashable | None:
    """The object that a call tells a field of."""
    given = call.arguments or {}
    return _key({name: given.get(name) for name, _, _ in one.arguments})


def _alike(one: object, other: object) -> bool:
    """Whether two values that were told are surely the same."""
    try:
        return schema.same(schema.plain(one), schema.plain(other))
    except Exception:  # one of them is none
        return False


def _made(one: Field, declared: Mapping[str, Mapping[str, object]]) -> _Field:
    """The field made ready; `declared` is what `tools.json` says of the arguments of each tool."""
    source = one.source
    arguments = tuple([(name, render(node), evaluation.reading(node)) for name, node in source.arguments])
    path = evaluation.reading(source.path) if source.path else None
    place = f"{render(source.path).removeprefix('call.')}: " if source.path else ""
    otherwise = evaluation.reading(source.otherwise) if source.otherwise else None
    of = declared.get(source.of, {}) if source.kind not in ("said", "seen", *ANSWERED) else {}
    wanted = {name: types.of_schema(of.get(name), name) for name, _ in source.arguments}
    objects = {tool: _naming(told, wanted) for tool, told in source.objects}
    if source.kind == "done" and source.arguments:
        objects = {source.of: _naming([(name, facts.Path(("call", name))) for name, _ in source.arguments], wanted)}
    told = arguments, _naming(source.arguments, wanted), path, place, otherwise
    return _Field(one.name, source, source.kind, *told, one.type, objects, wanted)


def _changes(source: Source, tool: str, reading: Collection[str]) -> bool:
    """Whether the tool may change what the source gives."""
    if source.kind == "clock":
        return False
    if source.kind == "done":
        return tool == source.of
    if tool in source.given_by:
        return True
    return tool not in reading if source.changed_by is None else tool in source.changed_by


def _naming(arguments: Iterable[tuple[str, facts.Node]], wanted: Mapping[str, types.Type]) -> Named:
    """What tells the arguments of a call apart from others; None for those that are of another type than is wanted."""
    reads = [(name, evaluation.reading(node)) for name, node in arguments]
    kinds = {name: PLAIN.get(wanted[name].name) for name, _ in reads}
    if len(reads) == 1 and kinds[reads[0][0]] is PLAIN["string"]:  # nearly every one
        [(name, read)] = reads

        def alone(state: Mapping[str, Value], call: Mapping[str, Value] | None) -> Hashable | None:
            value = read(state, call)
            return (name, value) if type(value) is str else None

        return alone

    def several(state: Mapping[str, Value], call: Mapping[str, Value] | None) -> Hashable | None:
        found = {name: read(state, call) for name, read in reads}
        if all((kind := kinds[name]) is None or type(value) in kind for name, value in found.items()):
            return _key(found)
        return None

    return several


def _nameless(one: _Field, state: Mapping[str, Value], call: Call) -> str:
    """Why the arguments that the call gives a source name nothing."""
    found = [(name, text, read(state, call.arguments)) for name, text, read in one.arguments]
    for name, text, value in found:
        if value is None:
            return f"{text} is not known"
        if type(value) not in PLAIN.get(one.wanted[name].name, (type(value),)):
            return f"{text}: {one.wanted[name].json} was required; got {schema.got(value)}"
    return f"{', '.join(text for _, text, _ in found)}: texts, numbers or truths were required"


def _types(key: Hashable) -> tuple[type, ...]:
    """The types of the values that name an object: a text, a truth, which is kept in a tuple, or a number."""
    pairs = (key,) if key and type(key[0]) is str else key
    return tuple([kind if (kind := type(value)) in (str, tuple) else float for _, value in pairs])


def _key(arguments: Mapping[str, Value]) -> Hashable | None:
    """What makes arguments the same as others; None where they are not all texts, numbers or truths."""
    if len(arguments) == 1:
        [(name, value)] = arguments.items()
        if type(value) is str:  # nearly every one
            return name, value
    key = tuple(sorted([(name, identity(value)) for name, value in arguments.items()], key=lambda one: one[0]))
    return None if any(value is None for _, value in key) else key


def _newer(before: _Seen | None, seen: _Seen) -> _Seen:
    """Of two results that which was asked for later; of calls that were under way together and gave different values
    nobody knows which is."""
    if before is None:
        return seen
    early, late = (before, seen) if before.asked <= seen.asked else (seen, before)
    if early.over < late.asked:
        return late
    if not early.problem and not late.problem and schema.same(early.value, late.value):
        late.over = max(early.over, late.over)
        return late
    why = f"a call under way together with it gave another value ({early.origin})"
    return replace(late, problem=why, over=max(early.over, late.over), read={})


def _keep(kept: dict, key: Hashable, seen: _Seen) -> None:
    """Keep the newest, and so many of them."""
    kept[key] = _newer(kept.pop(key, None), seen)
    while len(kept) > KEPT:
        del kept[next(iter(kept))]


def _shown(arguments: Mapping[str, Value]) -> str:
    return ", ".join(f"{name}={schema.got(value)}" for name, value in arguments.items())[:200]
