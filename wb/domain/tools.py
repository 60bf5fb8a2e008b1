"""The tools an agent may call and the state fields a guard may read: one `tools.json` a domain.

Two shapes of the file are read: a list of tools (JSON-schema function descriptions, with or without
the `{"type": "function", "function": …}` wrapper), or an object `{"tools": […], "state": […]}` whose
state fields are what is known of the user and the session at the time of a call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Type = Literal["boolean", "integer", "number", "string", "array", "object"]
TYPES = ("boolean", "integer", "number", "string", "array", "object")
NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*\Z")


class ToolError(ValueError):
    """`tools.json` is not what `wb` reads; the message says where, what was required and what was got."""


@dataclass(frozen=True, slots=True)
class Field:
    """One typed value: an argument of a tool, or a field of the state (`state.NAME`).

    `keywords` are other words for it, `values` its enumeration; both are vocabulary for the
    offline engine and context for a model.
    """

    name: str
    type: Type
    description: str = ""
    values: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    required: bool = False


@dataclass(frozen=True, slots=True)
class Tool:
    """One action that the agent can take. `examples` are requests that would lead to it."""

    name: str
    description: str = ""
    arguments: tuple[Field, ...] = ()
    keywords: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Toolbox:
    """All tools of a domain, and the state fields that guards may read beside the arguments."""

    tools: tuple[Tool, ...] = ()
    state: tuple[Field, ...] = ()

    def __post_init__(self) -> None:
        for kind, names in (("tool", [t.name for t in self.tools]), ("state field", [f.name for f in self.state])):
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise ToolError(f"every {kind} needs a name of its own; got {twice} more than once")

    def tool(self, name: str) -> Tool:
        """The tool of that name; `KeyError` names those that exist."""
        for tool in self.tools:
            if tool.name == name:
                return tool
        raise KeyError(f"tool must be one of {[t.name for t in self.tools]}; got {name!r}")


def candidates(toolbox: Toolbox) -> tuple[Tool, ...]:
    """The tools that free text can amount to: those with examples, or all where no tool has any.

    A tool without examples beside tools that have some is one that agents call by its name.
    """
    return tuple(t for t in toolbox.tools if t.examples) or toolbox.tools


def parse(text: str, *, source: str = "tools.json") -> Toolbox:
    """The toolbox that a `tools.json` describes; `ToolError` says what was required and what was got."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise ToolError(
            f"{source}: JSON was required; got {error.msg} at line {error.lineno}, column {error.colno}"
        ) from None
    rows = data.get("tools") if isinstance(data, dict) else data
    state = data.get("state", []) if isinstance(data, dict) else []
    if not isinstance(rows, list) or not isinstance(state, list):
        raise ToolError(
            f"{source}: a list of tools, or an object with lists 'tools' and 'state', was required; got {_shape(data)}"
        )
    return Toolbox(
        tools=tuple(_tool(row, f"{source}: tools[{i}]") for i, row in enumerate(rows)),
        state=tuple(
            _field(row.get("name") if isinstance(row, dict) else None, row, False, f"{source}: state[{i}]")
            for i, row in enumerate(state)
        ),
    )


def _tool(row: object, where: str) -> Tool:
    if isinstance(row, dict) and isinstance(row.get("function"), dict):
        row = row["function"]
    if not isinstance(row, dict) or not NAME.match(str(row.get("name", ""))):
        raise ToolError(f"{where}: an object with a 'name' of letters, digits and _ was required; got {_shape(row)}")
    schema = row.get("parameters") or {}
    properties = schema.get("properties", {}) if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        raise ToolError(f"{where}: 'parameters' must be a JSON schema with 'properties'; got {_shape(schema)}")
    required = schema.get("required", [])
    return Tool(
        name=row["name"],
        description=_text(row, "description", where),
        arguments=tuple(_field(name, value, name in required, f"{where}.{name}") for name, value in properties.items()),
        keywords=_texts(row, "keywords", where),
        examples=_texts(row, "examples", where),
    )


def _field(name: object, row: object, required: bool, where: str) -> Field:
    if not isinstance(row, dict) or not NAME.match(str(name or "")):
        raise ToolError(f"{where}: an object with a 'name' and a 'type' was required; got {_shape(row)}")
    kind = row.get("type", "string")
    if kind not in TYPES:
        raise ToolError(f"{where}: 'type' must be one of {list(TYPES)}; got {kind!r}")
    return Field(
        str(name),
        kind,
        _text(row, "description", where),
        _texts(row, "enum", where),
        _texts(row, "keywords", where),
        required,
    )


def _text(row: Mapping[str, object], key: str, where: str) -> str:
    value = row.get(key, "")
    if not isinstance(value, str):
        raise ToolError(f"{where}: {key!r} must be a text; got {_shape(value)}")
    return value


def _texts(row: Mapping[str, object], key: str, where: str) -> tuple[str, ...]:
    value = row.get(key, [])
    if not isinstance(value, list) or not all(isinstance(v, (str, int, float)) for v in value):
        raise ToolError(f"{where}: {key!r} must be a list of texts; got {_shape(value)}")
    return tuple(str(v) for v in value)


def _shape(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return f"{type(value).__name__} {text[:80]}"
