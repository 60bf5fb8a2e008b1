"""What recorded runs name or hold that `tools.json` does not allow for, counted while the runs pass.

A guard refuses a call that does not fit and takes a state field that does not fit, or that nobody declared, as not
known; a lookup that no session asks tells nothing.  All are safe, and none is meant: a misspelt name would be counted
as a denial that is right.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from wb.domain.events import Asked, Event, Lookup, State
from wb.domain.schema import got
from wb.domain.tools import Toolbox
from wb.domain.trace import Call, Value
from wb.domain.turns import Observation
from wb.domain.validation import Refused, Validator
from wb.rules.rule import RuleSet

MOST = 8  # names in a line


@dataclass(frozen=True, slots=True)
class Undeclared:
    """Counts what does not fit the toolbox. A state field is declared as well where a rule's predicate without a test
    is told under its name, true or false."""

    toolbox: Toolbox
    rules: RuleSet
    tools: Counter[str] = field(default_factory=Counter, init=False)
    calls: Counter[str] = field(default_factory=Counter, init=False)  # by what is wrong with them
    names: Counter[str] = field(default_factory=Counter, init=False)  # of state fields
    values: Counter[str] = field(default_factory=Counter, init=False)  # of state fields, by what is wrong with them
    lookups: Counter[str] = field(default_factory=Counter, init=False)  # by what is wrong with them

    def passing(self, events: Iterable[Event]) -> Iterator[Event]:
        """The events as they come; each is counted."""
        validator = Validator(self.toolbox)
        told = {p.name for p in self.rules.predicates if p.kind == "state" and p.test is None}
        for event in events:
            match event.what:
                case Asked(call):
                    self._asked(validator, call)
                case Lookup(tool, arguments):
                    if why := self._looked_up(validator, tool, arguments):
                        self.lookups[why] += 1
                case State(values) | Observation(state=values):
                    self._known(validator, values, told - {one.name for one in self.toolbox.state})
            yield event

    def lines(self) -> tuple[str, ...]:
        """What did not fit, a line for each kind; none where all did."""
        calls, known = self.tools.total(), [tool.name for tool in self.toolbox.tools]
        said = f"{calls} call{'s name' if calls != 1 else ' names'} no tool of tools.json"
        fields = [one.name for one in self.toolbox.state]
        rows = (
            (said, ((name, n, _near(name, known)) for name, n in self.tools.most_common())),
            ("calls that do not fit tools.json, and do not run", ((*row, "") for row in self.calls.most_common())),
            (
                "state fields that are not declared, and count as not told",
                ((name, n, _near(name, fields)) for name, n in self.names.most_common()),
            ),
            (
                "state fields that do not fit tools.json, and count as not known",
                ((*row, "") for row in self.values.most_common()),
            ),
            (
                "lookups that no field of the state comes from, and that tell nothing",
                ((*row, "") for row in self.lookups.most_common()),
            ),
        )
        return tuple(f"{title}: {listed}" for title, found in rows if (listed := _listed(found)))

    def _asked(self, validator: Validator, call: Call) -> None:
        if call.tool not in validator.tools:
            self.tools[call.tool] += 1
            return
        asked = validator.asked(call)
        if type(asked) is Refused:
            self.calls[asked.why] += 1

    def _looked_up(self, validator: Validator, tool: str, arguments: Mapping[str, Value]) -> str:
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

    def _known(self, validator: Validator, values: Mapping[str, Value], told: frozenset[str]) -> None:
        declared = {one.name for one in self.toolbox.state}
        for name, value in values.items():
            if name not in declared | told:
                self.names[name] += 1
            elif name in told and type(value) is not bool and value is not None:
                self.values[f"{name}: boolean was required; got {got(value)}"] += 1
        for name, why in validator.state(values).strange.items():
            self.values[f"{name}: {why}" if name else why] += 1


def _near(name: str, known: Sequence[str]) -> str:
    """The declared name that a name may have been meant for, as a question; "" where none is close."""
    found = difflib.get_close_matches(name, known, n=1)
    return f"{found[0]}?" if found else ""


def _listed(rows: Iterable[tuple[str, int, str]]) -> str:
    """Names with how often each came and what is to be said of it; the most frequent first."""
    said = [f"{name} ({', '.join(filter(None, (f'{n}×', more)))})" for name, n, more in rows]
    return ", ".join([*said[:MOST], *([f"and {len(said) - MOST} more"] if len(said) > MOST else [])])
