"""What comes from outside at a decision, held against `tools.json` before any test reads it.

A call of which an argument does not fit, is not declared or is missing does not run; nor does one with a property
inside of an argument that is not declared where others are (`wb.domain.schema`).  A state field that does not fit is
unknown; in the state, and in what tools gave, properties that nobody declared are let through, for an answer often says
more than is asked.  What fits is copied into plain values (`wb.domain.schema`), so that later code sees no others; a
tuple is a list, as in the arguments of Python.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from wb.domain import schema
from wb.domain.schema import Unfit, got
from wb.domain.tools import Field, Tool, Toolbox, enumerations
from wb.domain.trace import Call, Step, Trace, Value
from wb.logic.values import PartialArguments


class Refused(NamedTuple):
    """A call that may not run, and why, with those of its arguments that fit; without a tool where that is no name.

    `given` are all its arguments as JSON values; None where they are none.
    """

    call: Call
    given: Mapping[str, Value] | None
    reason: str

    @property
    def why(self) -> str:
        """The reason, with the tool."""
        return f"{schema.named(self.call.tool)}: {self.reason}" if self.call.tool else self.reason


class Known(NamedTuple):
    """The state fields that fit, and of each other one what was required and got; "" stands for all of them."""

    values: dict[str, Value]
    strange: Mapping[str, str] = {}


class Validator:
    """The checks of a toolbox. Without one nothing is declared, and values need only be JSON."""

    def __init__(self, toolbox: Toolbox | None = None) -> None:
        box = toolbox or Toolbox()
        self.toolbox = box
        self.tools = frozenset(tool.name for tool in box.tools) if toolbox is not None else None
        values = enumerations(box)
        self._tools = {tool.name: _Arguments(tool, values) for tool in box.tools}
        self._read = {name: known.read for name, known in self._tools.items()}
        fields = {field.name: _declared(field, values.get(("state", field.name), ())) for field in box.state}
        self._state = {name: schema.compiled(one) for name, one in fields.items()}
        unknown = {name: {"anyOf": [{"type": "null"}, one]} for name, one in fields.items()}
        self._whole_state = schema.compiled({"type": "object", "properties": unknown})  # the usual way: all fits

    def call(self, tool: object, arguments: object) -> Call | Refused:
        """A call as it is judged, of its arguments by name."""
        if type(tool) is not str:
            return Refused(Call(""), None, stranger(tool, ()))
        try:
            read = self._read.get(tool)
            return Call(tool, _record(tool, arguments) if read is None else read(arguments))
        except Exception:
            return self._fitting(tool, arguments)

    def state(self, fields: object) -> Known:
        """The fields of the state by name."""
        try:
            return Known(self._whole_state(fields))
        except Exception:
            return self._strange(fields)

    def one(self, name: str, value: object) -> Value:
        """The value of one field of the state; `Unfit` where it does not fit."""
        return self._state.get(name, schema.plain)(value)

    def _strange(self, fields: object) -> Known:
        """What fits of the fields, and why the others do not."""
        found: dict[str, Value] = {}
        strange: dict[str, str] = {}
        if type(fields) is not dict:
            return Known(found, {"": f"fields by name, a dict, were required; got {got(fields)}"})
        for name, value in fields.items():
            if type(name) is not str:
                strange[""] = f"the name of a field was required; got {got(name)}"
                continue
            try:
                found[name] = None if value is None else self.one(name, value)
            except Exception as error:
                strange[name] = schema.why(error)
        return Known(found, strange)

    def step(self, step: Step) -> Step:
        """A step that was done: what fits of its calls and its state."""
        return Step(tuple([fitting(self.asked(call)) for call in step.calls]), self.state(step.state).values, step.text)

    def asked(self, call: Call) -> Call | Refused:
        """A call of a step; nothing is required of arguments that nobody told."""
        if call.arguments is None and type(call.tool) is str:
            return Call(call.tool, None)
        if type(call.arguments) is PartialArguments and type(call.tool) is str:
            given = self._fitting(call.tool, dict(call.arguments)).call.arguments
            return Call(call.tool, PartialArguments(given or {}))
        return self.call(call.tool, call.arguments)

    def trace(self, trace: Trace) -> tuple[Trace, str]:
        """What fits of a recorded trace, and why a call of its last step may not run; empty where all may."""
        asked = [self.asked(call) for call in trace.steps[-1].calls]
        reasons = [one.why for one in asked if type(one) is Refused]
        if self.tools is not None:
            strangers = [one.tool for one in asked if type(one) is Call and one.tool not in self.tools]
            reasons += [stranger(tool, self.tools) for tool in strangers]
        return replace(trace, steps=tuple(map(self.step, trace.steps))), "; ".join(reasons)

    def _fitting(self, tool: str, arguments: object) -> Refused:
        """The call with what fits of its arguments, and all that does not."""
        try:
            schema.text(tool)
        except Unfit as error:
            return Refused(Call(""), None, f"the name of a tool: {error}")
        if type(arguments) is not dict:
            return Refused(Call(tool), None, f"arguments by name, a dict, were required; got {got(arguments)}")
        known, fits, given, reasons = self._tools.get(tool), {}, {}, []
        for name, value in arguments.items():
            try:
                given[schema.text(name)] = schema.plain(value)
            except Exception as error:
                named = name[:80] if type(name) is str and name.isascii() else got(name)
                reasons.append(f"{named or got(name)}: {schema.why(error)}")
                continue
            try:
                fits[name] = known.one(name, value) if known is not None else given[name]
            except Exception as error:
                reasons.append(schema.why(error))
        try:
            if known is not None and not reasons:
                known.read(fits)
        except Exception as error:
            reasons.append(schema.why(error))
        whole = given if len(given) == len(arguments) else None
        return Refused(Call(tool, fits), whole, "; ".join(reasons) or "it cannot be checked")


def fitting(asked: Call | Refused) -> Call:
    """The call with what fits of its arguments."""
    return asked if type(asked) is Call else asked.call


class _Arguments:
    """What is required of the arguments of one tool."""

    def __init__(self, tool: Tool, values: Mapping[tuple[str, str], tuple]) -> None:
        root = dict(tool.schema)
        made = {one.name: _declared(one, values.get((tool.name, one.name), ())) for one in tool.arguments}
        self.names = {**made, **root.get("properties", {})}
        self._others = root.get("additionalProperties", "patternProperties" in root)
        fields = {"type": "object", "properties": self.names, "additionalProperties": self._others}
        required = {*root.get("required", ()), *(one.name for one in tool.arguments if one.required)}
        others = root.keys() & {"patternProperties", "$defs", "definitions", "$schema", "$id"}
        beside = {key: root[key] for key in others}
        # what is asked of an argument, whatever the others are
        self._each = schema.compiled({**beside, **fields}, closed=True)
        self.read = schema.compiled({**root, **fields, "required": sorted(required)}, closed=True)

    def one(self, name: str, value: object) -> Value:
        """One argument as it is read."""
        if name not in self.names and self._others is False:
            names = ", ".join(self.names)
            wanted = f"one of the arguments {names:.200}" if names else "no argument"
            raise Unfit(f"{name[:80] if name.isascii() else got(name)}: {wanted} was required")
        return self._each({name: value})[name]


def stranger(tool: object, known: Collection[str]) -> str:
    """Why a name is none of the tools that are known."""
    if type(tool) is not str:
        return f"the name of a tool was required; got {got(tool)}"
    same = [name for name in known if name.casefold() == tool.casefold()]
    return f"{schema.named(tool)}: there is no such tool" + (f"; {same[0]} is spelt otherwise" if same else "")


def _record(tool: str, arguments: object) -> dict[str, Value]:
    """The arguments of a tool of which nothing is declared."""
    if type(arguments) is not dict:
        raise Unfit("arguments by name were required")
    schema.text(tool)
    return {schema.text(name): schema.plain(value) for name, value in arguments.items()}


def _declared(field: Field, values: Iterable[object]) -> dict[str, Any]:
    """The schema of a field; that of its type and declared values where it was made without one."""
    listed = {"enum": list(values)} if values else {}
    return dict(field.schema) if field.schema else {"type": field.type, **listed}
