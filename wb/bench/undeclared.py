"""What recorded runs name or hold that `tools.json` does not allow for, counted while the runs pass.

A guard refuses a call that does not fit and takes a state field that does not fit, or that nobody declared, as not
known; a lookup that no session asks tells nothing, nor does what is told of a field that comes from elsewhere.  All
are safe, and none is meant: a misspelt name would be counted as a denial that is right.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from wb.domain.events import Answer, Asked, Event, Lookup, Observation, State
from wb.domain.schema import got, named
from wb.domain.tools import Toolbox
from wb.domain.trace import Call, Value
from wb.domain.validation import Refused, Validator
from wb.logic import facts, formula
from wb.rules.rule import RuleSet

MOST = 8  # names in a line
Kind = Literal["tool", "call", "field", "value", "unread", "lookup", "time"]
TITLES: dict[Kind, str] = {
    "tool": "",
    "call": "calls that do not fit tools.json, and do not run",
    "field": "state fields that are not declared, and count as not told",
    "value": "state fields that do not fit tools.json, and count as not known",
    "unread": "state fields with a source in tools.json, of which what is told is not read",
    "lookup": "lookups that no field of the state comes from, and that tell nothing",
    "time": 'calls without a "time", which rules ask for',
}
What = tuple[Kind, str]  # a name, or what is wrong with it


@dataclass(frozen=True, slots=True)
class Undeclared:
    """Counts what does not fit the toolbox. A state field is declared as well where a rule's predicate without a test
    is told under its name, true or false."""

    toolbox: Toolbox
    rules: RuleSet
    counts: Counter[What] = field(default_factory=Counter, init=False)
    first: dict[What, str] = field(default_factory=dict, init=False)  # where each was met first

    def passing(self, events: Iterable[Event]) -> Iterator[Event]:
        """The events as they come; each is counted."""
        validator = Validator(self.toolbox)
        spoken = {p.name for p in self.rules.predicates if p.kind == "state" and p.test is None}
        spoken -= {one.name for one in self.toolbox.state}
        timed = self._timed()
        for event in events:
            for what in self._problems(event, validator, spoken, timed):
                self.counts[what] += 1
                line = "" if event.line is None else f"line {event.line}, "
                self.first.setdefault(what, f"first in {line}run {named(event.run)}")
            yield event

    def _problems(self, event: Event, validator: Validator, told: Collection[str], timed: bool) -> Iterator[What]:
        """What of an event does not fit."""
        match event.what:
            case Asked(call):
                if call.tool not in validator.tools:
                    yield "tool", call.tool
                elif type(refused := validator.asked(call)) is Refused:
                    yield "call", refused.why
                if timed and event.time is None:
                    yield "time", named(call.tool)
            case Answer(field=name) if self._source(name) != "question":
                yield "lookup", f"{named(name)}: no such question is asked"
            case Lookup(tool, arguments):
                if why := self._unasked(validator, tool, arguments):
                    yield "lookup", why
            case State(values) | Observation(state=values):
                declared = {one.name: one.source for one in self.toolbox.state}
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

    def _source(self, field: str) -> str:
        """What kind of source a state field has."""
        return next((one.source.kind for one in self.toolbox.state if one.name == field and one.source), "")

    def _timed(self) -> bool:
        """Whether a rule reads the clock."""
        tests = [one.test for one in self.rules.predicates if one.test is not None]
        read = {path.names[1] for test in tests for path in facts.paths(test) if path.names[0] == "state"}
        read |= {"now" for rule in self.rules.rules if formula.windows(rule.formula)}
        return any(
            one.name in read and one.source is not None and one.source.kind == "clock" for one in self.toolbox.state
        )

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
