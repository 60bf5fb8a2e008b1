"""What recorded runs name and nobody declared: tools, arguments and state fields, or values of another type.

A guard denies a tool that it does not know, and takes a field that it does not know, or one of another type, as not
known.  Both are safe, and neither is meant: a misspelt name would be counted as a denial that is right.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from wb.domain.events import Asked, Event, State
from wb.domain.tools import Field, Toolbox
from wb.domain.trace import Value
from wb.domain.turns import Observation
from wb.rules.rule import RuleSet

MOST = 8  # names in a line
KINDS = {bool: "boolean", int: "integer", float: "number", str: "string", tuple: "array", list: "array"}


@dataclass(frozen=True, slots=True)
class Undeclared:
    """Counts what events name beyond the toolbox while they pass. A state field is declared as well where a rule's
    predicate without a test is told under its name."""

    toolbox: Toolbox
    rules: RuleSet
    tools: Counter[str] = field(default_factory=Counter, init=False)
    names: Counter[tuple[str, str]] = field(default_factory=Counter, init=False)  # by owner ("" is the state) and name
    types: Counter[tuple[str, str, str]] = field(default_factory=Counter, init=False)  # and what was got instead

    def passing(self, events: Iterable[Event]) -> Iterator[Event]:
        """The events as they come; each is counted."""
        arguments = {tool.name: tool.arguments for tool in self.toolbox.tools}
        told = tuple(Field(p.name, "boolean") for p in self.rules.predicates if p.kind == "state" and p.test is None)
        state = (*self.toolbox.state, *told)
        for event in events:
            match event.what:
                case Asked(call) if call.tool not in arguments:
                    self.tools[call.tool] += 1
                case Asked(call):
                    self._follow(call.tool, call.arguments, arguments[call.tool])
                case State(values) | Observation(state=values):
                    self._follow("", values, state)
            yield event

    def lines(self) -> tuple[str, ...]:
        """What was named and not declared, a line for each kind; none where all was declared."""
        return tuple(line for line in (self._tools(), *self._names(), *self._types()) if line)

    def _follow(self, owner: str, values: Mapping[str, Value], declared: Sequence[Field]) -> None:
        fields = {one.name: one for one in declared}
        for name, value in values.items():
            if name not in fields:
                self.names[owner, name] += 1
            elif found := _another(fields[name], value):
                self.types[owner, name, found] += 1

    def _tools(self) -> str:
        known = [tool.name for tool in self.toolbox.tools]
        calls = self.tools.total()
        named = _listed((name, n, _near(name, known)) for name, n in self.tools.most_common())
        return f"{calls} call{'s name' if calls != 1 else ' names'} no tool of tools.json: {named}" if calls else ""

    def _names(self) -> Iterator[str]:
        state = [one.name for one in self.toolbox.state]
        by_tool = {tool.name: [one.name for one in tool.arguments] for tool in self.toolbox.tools}
        for what, mine in (("state fields", True), ("arguments", False)):
            found = [(owner, name, n) for (owner, name), n in self.names.most_common() if (owner == "") is mine]
            rows = ((_full(owner, name), n, _near(name, by_tool.get(owner, state))) for owner, name, n in found)
            if found:
                yield f"{what} that are not declared, and count as not told: {_listed(rows)}"

    def _types(self) -> Iterator[str]:
        fields = {("", one.name): one for one in self.toolbox.state}
        fields |= {(tool.name, one.name): one for tool in self.toolbox.tools for one in tool.arguments}
        for what, mine in (("state fields", True), ("arguments", False)):
            found = [(*key, n) for key, n in self.types.most_common() if (key[0] == "") is mine]
            rows = (
                (
                    _full(owner, name),
                    n,
                    f"{got}, {fields[owner, name].type if (owner, name) in fields else 'boolean'} is declared",
                )
                for owner, name, got, n in found
            )
            if found:
                yield f"{what} of another type than declared, which count as not known: {_listed(rows)}"


def _another(declared: Field, value: Value) -> str:
    """The type of a value where it is not of the declared one; "" where it is, where null says that it is not known, or
    where the schema leaves the type open."""
    if value is None or (declared.type == "string" and "type" not in declared.schema):
        return ""
    found = "object" if isinstance(value, Mapping) else KINDS.get(type(value), type(value).__name__)
    return "" if found == declared.type or (found, declared.type) == ("integer", "number") else found


def _near(name: str, known: Sequence[str]) -> str:
    """The declared name that a name may have been meant for, as a question; "" where none is close."""
    found = difflib.get_close_matches(name, known, n=1)
    return f"{found[0]}?" if found else ""


def _full(owner: str, name: str) -> str:
    return f"{owner}.{name}" if owner else name


def _listed(rows: Iterable[tuple[str, int, str]]) -> str:
    """Names with how often each came and what is to be said of it; the most frequent first."""
    said = [f"{name} ({', '.join(filter(None, (f'{n}×', more)))})" for name, n, more in rows]
    return ", ".join([*said[:MOST], *([f"and {len(said) - MOST} more"] if len(said) > MOST else [])])
