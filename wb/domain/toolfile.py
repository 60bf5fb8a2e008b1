"""A `tools.json` made from what somebody has already: for a person to read, edit and keep.

Sources are an OpenAPI document, functions of a Python module, a running MCP server (`wb.domain.sources` says what
becomes of what), and tool schemas as agents use them, which are kept as they are.

Whatever the source, the file is one that `wb.domain.tools` reads, each schema in it can be checked against, and each
name is one of letters, digits and _: another name, `get-pet`, becomes `get_pet`, has the old one beside it as `x-name`,
and a line says so.  Two names that would become one are an error.  This is done here and never when calls are judged:
whoever makes the calls uses the names of the file.  `mutating` is what a source says, and a person should look at it.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import yaml

from wb import paths
from wb.domain import jsonl, schema, sources, tools, yamltext
from wb.domain.tools import Draft, ToolError, identifier, tool_name

Way = Literal["read", "import", "start"]  # what may be done with a source: to import or start one is to run it
ADDRESS = re.compile(r"https?://")
PYTHON = re.compile(r".*\.py(:\w+)?|[\w.]+:\w+")  # a file, with or without a function, or a module with one
SHOWN = 20  # mistakes of one source that are told
# What the root of a schema may say of arguments by name, for their names to be changed.
ROOT = {"type", "properties", "required", "dependentRequired", "additionalProperties", "title", "description"}
ROOT |= {"$schema", "$id", "$defs", "definitions", "strict"}
STRANGE = re.compile(r"[^ -~\n]")  # a letter that need not be visible
NUMBER = re.compile(r"[-+]?[0-9]+\Z")
DECIMAL = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}


class Toolfile(NamedTuple):
    """The text of a `tools.json`, and what a person should know of how it came about."""

    text: str
    notes: tuple[str, ...]


def made(source: str, way: Way = "read", without: Collection[str] = ()) -> Toolfile:
    """The file of a source: a path or an address, read; Python to be imported; the command of a server to be started.

    `without` are names of tools to leave out.

    Raises:
        ToolError: it cannot be read whole; the message says where, what was required and what was got.
        OSError: there is no such file.
    """
    try:
        drafts, state = _drafts(source, way)
        file = written(drafts, source, state=state, without=without)
    except ToolError as error:
        raise ToolError(_visible(str(error))) from None
    return Toolfile(file.text, tuple(map(_visible, file.notes)))


def _drafts(source: str, way: Way) -> tuple[Iterable[Draft], tuple[Any, ...]]:
    """The tools of a source, and the state beside them."""
    if way == "import":
        return sources.functions(source), ()
    if way == "start" or ADDRESS.match(source):
        return sources.served(source if way == "read" else command(source), source), ()
    if PYTHON.fullmatch(source):
        raise ToolError(f"{source}: to know its functions, Python must be imported, which runs it: allow --import")
    data = document(paths.content(Path(source)), source)
    if isinstance(data, dict) and "swagger" in data:
        raise ToolError(f"{source}: #/swagger: OpenAPI 3.0 or 3.1 was required; got Swagger: convert it first")
    if isinstance(data, dict) and "openapi" in data:
        return sources.operations(data, source), ()
    return _schemas(data, source)


def document(content: bytes, source: str) -> Any:
    """What a file of JSON or YAML says; of YAML as JSON could say it (YAML 1.2: `no` and dates are texts)."""
    try:
        text = jsonl.utf8(content)
        if text.lstrip()[:1] in ("{", "["):
            return jsonl.value(text)
        return jsonl.value(json.dumps(yamltext.parse(text, _scalar).data))
    except ValueError as error:
        raise ToolError(f"{source}: {error}") from None


def written(
    drafts: Iterable[Draft], source: str, *, state: Iterable[Any] = (), without: Collection[str] = ()
) -> Toolfile:
    """The file of these tools but those in `without`, who may stand there by either name.

    Raises:
        ToolError: with a line for each tool that there is no row for, and how to leave these out.
    """
    rows, notes, wrong, unread, names = [], [], [], [], {}
    unknown = set(without)
    for draft in drafts:
        if left := {draft.name, tool_name(draft.name)} & set(without):
            unknown -= left
            continue
        where = f"{source}: {draft.name}" + (f" ({draft.place})" if draft.place else "")
        try:
            row, changes = _row(draft, where)
        except ToolError as error:
            wrong.append(str(error))
            unread.append(draft.name)
            continue
        rows.append(row)
        notes += [f"{draft.name}: {text}" for text in changes]
        names.setdefault(tool_name(draft.name), []).append(where)
    wrong += [f"{name!r}: a name of its own was required; got {' and '.join(o)}" for name, o in names.items() if o[1:]]
    if unknown:
        wrong.append(f"{source}: names of tools were required to leave them out; got {sorted(unknown)}")
    if wrong:
        more = [f"and {len(wrong) - SHOWN} more"] if len(wrong) > SHOWN else []
        hint = [f"to leave out what cannot be read: {shlex.join(f'--without={name}' for name in unread)}"]
        raise ToolError("\n".join([*wrong[:SHOWN], *more, *(hint if unread else [])]))
    if not rows:
        raise ToolError(f"{source}: at least one tool was required; got none")
    text = _visible(json.dumps({"tools": rows, "state": list(state)}, indent=1, ensure_ascii=False)) + "\n"
    tools.parse(text, source=source)
    return Toolfile(text, tuple(notes))


def command(source: str) -> list[str]:
    """The words of a command, as a shell reads it."""
    try:
        words = shlex.split(source)
    except ValueError as error:
        raise ToolError(f"{source}: a command as a shell reads it was required; got {error}") from None
    if not any(words):
        raise ToolError("a command that starts an MCP server was required; got none")
    return words


def _schemas(data: Any, source: str) -> tuple[list[Draft], tuple[Any, ...]]:
    """The tools that are schemas already, and the state beside them."""
    file = {"tools": data} if isinstance(data, tuple) else data
    if not isinstance(file, dict) or not isinstance(file.get("tools"), tuple):
        wanted = "an OpenAPI document, a list of tools or an object with such a list at 'tools'"
        raise ToolError(f"{source}: {wanted} was required; got {jsonl.shown(data)}")
    state = file.get("state", ())  # read with the tools, when these have their names
    tools.parse(json.dumps({**file, "tools": [], "state": [] if isinstance(state, tuple) else state}), source=source)
    drafts = [
        Draft(_name(row) or f"tools[{i}]", row, f"tools[{i}]" if _name(row) else "")
        for i, row in enumerate(file["tools"])
    ]
    return drafts, state


# ---- one tool -------------------------------------------------------------------------------------


def _function(row: Any) -> Any:
    """A tool without OpenAI's wrapper."""
    return row["function"] if isinstance(row, Mapping) and isinstance(row.get("function"), Mapping) else row


def _name(row: Any) -> str:
    name = _function(row).get("name") if isinstance(_function(row), Mapping) else None
    return name if isinstance(name, str) else ""


def _row(draft: Draft, where: str) -> tuple[Any, list[str]]:
    """A tool with names as `tools.json` has them, each other one kept beside it, and what is to be said of it."""
    if draft.mistake:
        raise ToolError(f"{where}: {draft.mistake}")
    function, name = _function(draft.row), _name(draft.row)
    changed, notes = function, [*draft.notes]
    if name and (new := tool_name(name)) != name:
        _unused(function, where)
        changed = {"name": new, "x-name": name, **{key: value for key, value in function.items() if key != "name"}}
        notes.append(f"this is the tool {new}")
    for key in ("parameters", "inputSchema", "input_schema") if name else ():
        if isinstance(shape := function.get(key), Mapping) and isinstance(shape.get("properties"), Mapping):
            named, changes = _arguments(shape, where)
            changed, notes = {**changed, key: named}, [*notes, *changes]
    row = {**draft.row, "function": changed} if function is not draft.row else changed
    _check(row, where)
    return row, notes


def _arguments(shape: Mapping[str, Any], where: str) -> tuple[Mapping[str, Any], list[str]]:
    """The schema of all arguments with their names as `tools.json` has them."""
    new = {name: identifier(name) for name in shape["properties"]}
    if all(old == made for old, made in new.items()):
        return shape, []
    if strange := sorted(shape.keys() - ROOT):
        raise ToolError(f"{where}: names of arguments in letters, digits and _ were required beside {strange}")
    if len(set(new.values())) < len(new):
        got = [name for name in new if list(new.values()).count(new[name]) > 1]
        raise ToolError(f"{where}: a name of its own was required of each argument; got {got}, which become one")
    changed = {**shape, "properties": {}}
    for old, schema_of in shape["properties"].items():
        if new[old] != old:
            if not isinstance(schema_of, Mapping):
                raise ToolError(f"{where}.{old}: a schema, an object, was required; got {jsonl.shown(schema_of)}")
            _unused(schema_of, f"{where}.{old}")
            schema_of = {**schema_of, "x-name": old}
        changed["properties"][new[old]] = schema_of
    if isinstance(required := shape.get("required"), list | tuple):
        changed["required"] = [_new(name, new) for name in required]
    if isinstance(needed := shape.get("dependentRequired"), Mapping):
        changed["dependentRequired"] = {_new(a, new): [_new(b, new) for b in others] for a, others in needed.items()}
    return changed, [f"{jsonl.shown(old)} is the argument {made}" for old, made in new.items() if old != made]


def _new(name: Any, names: Mapping[str, str]) -> Any:
    return names.get(name, name) if isinstance(name, str) else name


def _unused(part: Mapping[str, Any], where: str) -> None:
    if "x-name" in part:
        raise ToolError(f"{where}: no 'x-name' was required where a name must change; got one")


def _check(row: Any, where: str) -> None:
    """Refuse a row that `wb.domain.tools` does not read, or whose schema nothing could be checked against."""
    try:
        (tool,) = tools.parse(json.dumps([row]), source=where).tools
    except ToolError as error:
        raise ToolError(str(error).replace(f"{where}: tools[0]", where, 1)) from None
    if problem := schema.problem(tool.schema):
        raise ToolError(f"{where}: a JSON schema of its arguments was required; got one that {problem}")


# ---- texts ----------------------------------------------------------------------------------------


def _scalar(event: yaml.ScalarEvent) -> object:
    """A scalar of YAML 1.2's core schema: quoted ones are texts, and so is what is no number and no such word."""
    text = event.value
    if event.style:
        return text
    if text.lower() in WORDS and text in (text.lower(), text.capitalize(), text.upper()):
        return WORDS[text.lower()]
    if NUMBER.match(text):
        if len(text) > jsonl.LONGEST:
            raise yaml.MarkedYAMLError(problem=f"a number of {len(text)} digits", problem_mark=event.start_mark)
        return int(text)
    return float(text) if DECIMAL.match(text) else text


def _visible(text: str) -> str:
    """The text with letters that no eye sees, or a terminal obeys, written by their numbers as in JSON."""
    return STRANGE.sub(lambda match: match[0] if match[0].isprintable() else json.dumps(match[0])[1:-1], text)
