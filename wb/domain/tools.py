"""The tools an agent may call and the state fields a guard may read: one `tools.json` a domain.

Two shapes of the file are read: a list of tools (JSON-schema function descriptions, with or without
the `{"type": "function", "function": …}` wrapper, or as MCP lists them), or an object
`{"tools": […], "state": […]}` whose state fields are what is known of the user and the session at the
time of a call.  Keys of a tool or a schema that are not read here are ignored; the schema is kept.

A state field may say where it comes from, so that nobody writes code for it (`wb.domain.lookups` fills it):

    "from": "clock"
        the time of the call, ISO 8601
    "from": {"said": "user", "used_by": ["pay"]}
        the newest text of that speaker, until one of these tools is called; of an array, all texts
    "from": {"said": "user", "arguments": {"id": "call.id"}, "used_by": {"pay": {"id": "call.order"}}}
        the same, used up of each object by itself: by calls of these tools that name it
    "from": {"result": "get_user", "path": "level"}
        the newest result of that tool, or of several in a list, or a part of it
    "from": {"lookup": "get_order", "arguments": {"id": "call.id"}}
        what that read-only tool gives for the call, or, with `path`, a part of it
    "from": {"done": "set_level", "arguments": {"id": "call.id"}, "path": "level", "otherwise": "state.order.level"}
        an argument of the newest call of that tool that was done with those arguments; without one, what is there, or
        a literal in CEL that fits the field, such as "0", "false" or "'none'"
    "from": {"step": "calls"}, "from": {"step": "words"}
        how many calls the agent makes in its present turn so far, and what it says in it
    "from": {"question": "Has the customer complained about a delay?", "of": ["user"], "permits": true}
        what a model answers about the conversation, where the state does not tell it; `of` says whose words count,
        never the agent's, and the values in `permits` (all, where it is left out) need a quotation of these words
        (it is left out of numbers without an enum);
        with `arguments` it is of one object, with `used_by` of words since one of these tools was called
    "from": {"detect": ["email", "secret"], "in": "call.body"}
        whether such data stand in a text, or how many of them (`wb.domain.detectors`); `in` may be a list
    "from": {"seen": "page", "css": "#order .status"}, "from": {"seen": "page", "role": "main \"order\" / status"}
        what stands there in the newest page, which the session is told as what `page` says, by a CSS selector in HTML
        (with `attribute`, that of the element) or by roles and names in an accessibility tree (`wb.domain.views`)
    "from": {"origin": "call.payee", "of": ["user"], "directory": {"get_contacts": "[].email"}}
        where that argument comes from, one of `ORIGINS` (`wb.domain.provenance`): `of` says whose words count, never
        the agent's, `directory` at which paths of which tools' results trusted values stand, "" for a whole result,
        `[]` for each of a list and `{}` for the names in an object, `written` the same of texts that they stand in,
        `changed_by` which tools can write there, else all that are not read-only; the field is a text whose enum lists
        the origins, "absent" where it likes
    "from": {"operation": "screen", "arguments": {"name": "call.name"}}
        what a function gives that the session was made with, `operations={"screen": F}`; of several in a list, what
        all of them give, and unknown where two disagree

What can be asked (a lookup, a question, a detector, an operation) may say `"cost": 3`; the cheapest that can still
change the verdict is asked first (`wb.domain.operations`).

A tool may say `"atomic": true`: where it ends in an error of its own, nothing was done.  Every other error of a tool
that may change something leaves open whether it did.

Arguments are CEL over `call` and the state fields before this one; `path` is one in the result.  What was seen counts
until a tool runs that may change it: those that `changed_by` lists, else all but those with `"mutating": false`.
Where it says how the arguments of a lookup follow from a call of such a tool (`{"set": {"id": "call.order"}}`), that
call changes the one object alone; with `{}`, any.  An object is the same where the arguments are; they are held
against the schemas here, so that its names are of one type, and one that no call can tell is refused.
`given_by` lists tools whose own result is the whole new result of the lookup, for their arguments of the same names.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from typing import Annotated, Any, Literal, NamedTuple, Never

import pydantic

from wb.domain import detectors, jsonl, schema, views
from wb.domain.views import View
from wb.logic import cel, facts, types
from wb.logic.cel import render
from wb.logic.facts import FactError
from wb.logic.wording import shortened

FieldType = Literal["boolean", "integer", "number", "string", "array", "object"]
TYPES = ("boolean", "integer", "number", "string", "array", "object")
NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*\Z")
Name = Annotated[str, pydantic.StringConstraints(pattern=r"^[a-zA-Z_][a-zA-Z0-9_]*\z")]

TAKEN = ("state",)  # what rules call something else by


def tool_name(name: str) -> str:
    """The name that a tool can have in `tools.json`: `identifier`, and another one than those that are taken."""
    return f"{made}_" if (made := identifier(name)) in TAKEN else made


def identifier(name: str) -> str:
    """A name as `tools.json` can have it, with _ for each other character and before a digit at the start.

    The same name where it is one already. Whoever writes a changed name into a file says so there, as `x-name`.
    """
    made = re.sub(r"[^a-zA-Z0-9_]", "_", name)
    return f"_{made}" if made[:1].isdigit() else made


class ToolError(ValueError):
    """`tools.json` is not what `wb` reads; the message says where, what was required and what was got."""


class Draft(NamedTuple):
    """A tool as some source gives it: its row of `tools.json` but for names that must change, or why there is none.

    `place` says where it stands in the source, `notes` what a person should know of how the row came about.
    """

    name: str
    row: Any = None
    place: str = ""
    notes: tuple[str, ...] = ()
    mistake: str = ""


class Schema(dict[str, Any]):
    """A JSON mapping that nobody changes; lists in it are tuples."""

    def __init__(self, mapping: Mapping[str, object] = {}) -> None:  # noqa: B006 - it is never changed
        super().__init__({key: _frozen(value) for key, value in mapping.items()})

    def _refuse(self, *_: object, **__: object) -> Never:
        raise TypeError("a schema is never changed: make another one")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse  # type: ignore[assignment]

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[type[Schema], tuple[dict[str, object]]]:
        return Schema, (dict(self),)


Arguments = tuple[tuple[str, facts.Node], ...]  # by name, what each is


@dataclass(frozen=True, slots=True)
class Source:
    """Where a state field comes from.

    `of` is whose text or which tool's result it is, `or_of` which other tools' results count as well.  `path` leads to
    it in a result, which stands for `call` there; `arguments` give those of a lookup.  `changed_by` are the tools that
    may change it, None for all that may change anything, or that use up what was said; `given_by` those whose result is
    what a lookup would give from then on.  Of a call that was done, `path` leads to one of its arguments, and
    `otherwise` tells the field where there was none.  `objects` tell of a tool that changes one object alone which.
    A question has a `text`, counts the words of `of` and of `or_of`, and needs a quotation of them for the values that
    it `permits`, None for every value.  `view` is where it stands in
    a page.  `cost` is that of the operation, None where nothing is said.  `places` say of an origin, by tool, at which
    path of its results trusted values stand, and trusted texts, `arguments` are what it is asked of, and `writers` the
    tools that can write there, None for all that may change anything.
    """

    kind: Literal[
        "clock", "said", "result", "lookup", "done", "question", "step", "detect", "operation", "seen", "origin"
    ]
    of: str = ""
    path: facts.Path | None = None
    arguments: Arguments = ()
    changed_by: tuple[str, ...] | None = None
    given_by: tuple[str, ...] = ()
    otherwise: facts.Node | None = None
    or_of: tuple[str, ...] = ()
    objects: tuple[tuple[str, Arguments], ...] = ()
    text: str = ""
    permits: tuple[bool | int | float | str, ...] | None = None
    view: View | None = None
    cost: float | None = None
    places: tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]] = ((), ())
    writers: tuple[str, ...] | None = None

    @property
    def called(self) -> str:
        """What tells it, as a person calls it: the clock, what somebody says, or the tools."""
        named = " or ".join((self.of, *self.or_of))
        said = {
            "clock": "the clock",
            "step": "the present step",
            "said": f"what {self.of} says",
            "seen": f"what {self.of} shows",
            "question": f"an answer to “{self.text}”",
            "detect": f"a detector of {', '.join((self.of, *self.or_of))}",
            "operation": f"operation {' and '.join((self.of, *self.or_of))}",
            "origin": "what was said and what tools gave",
        }
        return said.get(self.kind, named)

    @property
    def reads(self) -> tuple[str, ...]:
        """The state fields that it is told by."""
        nodes = [node for _, node in self.arguments] + [self.otherwise] * (self.otherwise is not None)
        paths = [path for node in nodes for path in facts.paths(node)]
        return tuple(dict.fromkeys(path.names[1] for path in paths if path.names[0] == "state"))


@dataclass(frozen=True, slots=True)
class Field:
    """One typed value: an argument of a tool, or a field of the state (`state.NAME`).

    `keywords` are other words for it, `values` its enumeration; both are vocabulary for the
    offline engine and context for a model.  `schema` is the JSON schema that it was read from, with
    all that it says of nested values; it does not count when fields are compared.  `source` is where a field of the
    state comes from; None where it is told.
    """

    name: str
    type: FieldType
    description: str = ""
    values: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    required: bool = False
    schema: Schema = dataclass_field(default_factory=Schema, compare=False, repr=False)
    source: Source | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """One action that the agent can take. `examples` are requests that would lead to it.

    `mutating`: whether it changes anything outside the conversation; None where nobody says.  `atomic`: whether nothing
    was done where it ends in an error of its own.  `schema` is the JSON schema of all arguments together, as it was
    read; neither that nor `atomic`, which no rule reads, counts when tools are compared.
    """

    name: str
    description: str = ""
    arguments: tuple[Field, ...] = ()
    keywords: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    mutating: bool | None = None
    schema: Schema = dataclass_field(default_factory=Schema, compare=False, repr=False)
    atomic: bool = dataclass_field(default=False, compare=False, repr=False)


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
    """The tools between which the offline engine can tell free text: those with examples, or all where no tool has any.

    What a turn in free text does with a tool without examples it takes for another one's act; a model is shown all.
    """
    return tuple(t for t in toolbox.tools if t.examples) or toolbox.tools


def schemas(fields: Iterable[Field]) -> dict[str, Mapping[str, object]]:
    """What is declared of each field, by name."""
    return {field.name: field.schema or {"type": field.type} for field in fields}


def arguments_of(tool: Tool) -> dict[str, Mapping[str, object]]:
    """What is declared of each argument of a tool, by name, in its own words."""
    written = tool.schema.get("properties")
    return schemas(tool.arguments) | (dict(written) if isinstance(written, Mapping) else {})


_OPEN = {"additionalProperties", "unevaluatedProperties", "patternProperties", "allOf", "anyOf", "oneOf", "$ref"}


def uncallable(tool: Tool) -> str:
    """Why no call of a tool can fit its schema: it cannot be read, lists no value where one is required, or requires
    what it does not declare.  Empty where that cannot be told."""
    if why := schema.problem(tool.schema):
        return f"its schema {why}"
    waiting: list[object] = [tool.schema]
    while waiting:
        part = waiting.pop()
        waiting += part.values() if isinstance(part, Mapping) else part if isinstance(part, tuple) else ()
        named, required = (part.get(key) if isinstance(part, Mapping) else None for key in ("properties", "required"))
        if isinstance(part, Mapping) and part.get("enum") == ():
            return "its schema lists an 'enum' without a value"
        if isinstance(named, Mapping) and isinstance(required, tuple) and not _OPEN & set(part):
            if unknown := [name for name in required if name not in named]:
                return f"its schema requires {unknown}, which it does not declare"
    return ""


def within(field: Field) -> tuple[Field, ...]:
    """The fields that are declared within an object, or within each item of a list; none where its schema lists none.

    One whose type is left open is a text, as an argument is.
    """
    of = types.of_schema(field.schema, "")
    of = types.of_schema(of.items, "") if of.name == "list" else of
    found = []
    for name, row in (of.fields or {}).items():
        row = row if isinstance(row, Mapping) else {}
        one, said, more = types.of_schema(row, ""), row.get("description"), row.get("keywords")
        kind: FieldType = one.json if one.json in TYPES else "string"  # type: ignore[assignment]
        told, keywords = said if isinstance(said, str) else "", more if isinstance(more, list | tuple) else ()
        words = tuple(map(str, one.values)), tuple(map(str, keywords))
        found.append(Field(name, kind, told, *words, schema=Schema(row)))
    return tuple(found)


DeclaredValues = Mapping[tuple[str, str], tuple[bool | int | float | str | None, ...]]
_OF_TYPE = {"boolean": lambda text: {"True": True, "False": False}[text], "integer": int, "number": float}


def enumerations(toolbox: Toolbox) -> DeclaredValues:
    """The values that fields may have, by owner (`state` or a tool) and name, where they are declared.

    None is among them where a field of the state that is told may be null: then null is a value, else not known.
    """
    fields = [("state", toolbox.state), *((tool.name, tool.arguments) for tool in toolbox.tools)]
    found = {}
    for owner, field in ((owner, field) for owner, several in fields for field in several):
        plain = field.type not in ("array", "object")
        values = tuple(_typed(value, field.type) for value in field.values) if plain else ()
        null = (None,) if owner == "state" and nullable(field) else ()
        if listed := (*values, *null):
            found[owner, field.name] = listed
    return found


def nullable(field: Field) -> bool:
    """Whether null is a value of a field of the state, and not only what is not known: it is told, and may be null."""
    return field.source is None and types.nullable(field.schema)


def _typed(value: str, kind: FieldType) -> bool | int | float | str:
    """A declared value in its field's type; as it is where it is none of that type."""
    try:
        return _OF_TYPE[kind](value)
    except (KeyError, ValueError):
        return value


def parse(text: str, *, source: str = "tools.json") -> Toolbox:
    """The toolbox that a `tools.json` describes; `ToolError` says what was required and what was got."""
    try:
        data = jsonl.value(text)
    except ValueError as error:
        raise ToolError(f"{source}: {error}") from None
    file = {"tools": data} if isinstance(data, tuple) else data
    lists = (file.get("tools"), file.get("state", ())) if isinstance(file, dict) else (None,)
    if not all(isinstance(listed, tuple) for listed in lists):
        wanted = "a list of tools, or an object with lists 'tools' and 'state',"
        raise ToolError(f"{source}: {wanted} was required; got {_shape(data)}")
    strange = sorted(key for key in set(file) - {"tools", "state", "_meta"} if not key.startswith("$"))
    if strange:
        raise ToolError(f"{source}: the keys 'tools' and 'state' were required; got {strange} as well")
    tools = tuple(_tool(row, f"{source}: tools[{i}]") for i, row in enumerate(file["tools"]))
    state: list[Field] = []
    for i, row in enumerate(file.get("state", ())):
        state.append(_state_field(row, tools, state, f"{source}: state[{i}]"))
    return Toolbox(tools, tuple(state))


def with_questions(toolbox: Toolbox, rows: Iterable[Mapping[str, object]]) -> Toolbox:
    """The toolbox with more state fields, each a question about the conversation, written as in `tools.json`.

    Raises:
        ToolError: a field is none or has the name of another one.
    """
    state = list(toolbox.state)
    for i, row in enumerate(rows):
        where = f"questions[{i}]"
        field = _state_field(jsonl.value(json.dumps(row)), toolbox.tools, state, where)
        if field.source is None or field.source.kind not in ("question", "step"):
            raise ToolError(f"{where}: a field with a question or a step as its 'from' was required; got {_shape(row)}")
        state.append(field)
    return replace(toolbox, state=tuple(state))


def _state_field(row: Any, tools: Sequence[Tool], before: Sequence[Field], where: str) -> Field:
    field = _field(_read(_State, row, where), row, where)
    if "from" not in row:
        return field
    source = _sourced(row["from"], field, tools, before, f"{where}.from")
    if source.kind == "origin" and not field.description:
        means = "; ".join(f"{value}: {ORIGINS[value]}" for value in field.values)
        field = replace(field, description=f"where {render(source.path)} comes from: {means}")
    return replace(field, source=replace(source, cost=_cost(row["from"], f"{where}.from.cost")))


def _cost(row: object, where: str) -> float | None:
    """What an operation costs; None where nothing is said."""
    cost = row.get("cost") if isinstance(row, Mapping) else None
    if cost is not None and (type(cost) not in (int, float) or not 0 <= cost < math.inf):
        raise ToolError(f"{where}: a number from 0 was required; got {_shape(cost)}")
    return cost


class Part(pydantic.BaseModel, strict=True, frozen=True, extra="ignore"):
    """What is read of a JSON object: exact types, other keys ignored."""


class _Row(Part):
    """What tools and fields both say."""

    description: str | None = None
    keywords: tuple[str | int | float, ...] = ()


class _Property(_Row):
    """The JSON schema of an argument. Of several types, null apart, it must have one."""

    type: str | tuple[str, ...] | None = None
    enum: tuple[str | int | float | bool | None, ...] = ()
    any_of: tuple[Any, ...] = pydantic.Field((), validation_alias=pydantic.AliasChoices("anyOf", "oneOf"))


class _State(_Property):
    """A state field: a schema with a name."""

    name: Name


class _Annotations(Part):
    """MCP's hints on a tool."""

    read_only: bool | None = pydantic.Field(None, alias="readOnlyHint")


class _Parameters(Part):
    """The JSON schema of a tool's arguments."""

    properties: dict[Name, dict[str, Any]] = {}
    required: tuple[str, ...] = ()


class _Function(_Row):
    """A tool as OpenAI ('parameters'), Anthropic ('input_schema') or MCP ('inputSchema', 'annotations') writes it."""

    name: Name
    examples: tuple[str | int | float, ...] = ()
    parameters: _Parameters | None = pydantic.Field(
        None, validation_alias=pydantic.AliasChoices("parameters", "inputSchema", "input_schema")
    )
    mutating: bool | None = None
    atomic: bool = False
    annotations: _Annotations | None = None


def _tool(row: object, where: str) -> Tool:
    if isinstance(row, dict) and isinstance(row.get("function"), dict):
        row = row["function"]
    read = _read(_Function, row, where)
    if read.name in TAKEN:
        raise ToolError(f"{where}: a tool of another name was required, for rules say {read.name}.FIELD of the session")
    schemas = [key for key in ("parameters", "inputSchema", "input_schema") if key in row]
    if not schemas and (other := sorted(_ARGUMENTS & set(row))):
        raise ToolError(f"{where}: 'parameters' was required for the JSON schema of its arguments; got {other[0]!r}")
    if len(schemas) > 1:
        raise ToolError(f"{where}: one schema of the arguments was required; got {schemas}")
    if schemas and isinstance(row[schemas[0]], Mapping) and "$ref" in row[schemas[0]]:
        why = "got a '$ref', beside which some dialects read nothing: write out what it names"
        raise ToolError(f"{where}: an object with 'properties' was required for the arguments; {why}")
    hint = read.annotations.read_only if read.annotations else None
    if hint is not None and read.mutating is hint:
        raise ToolError(f"{where}: 'mutating' and 'readOnlyHint' must not both be {json.dumps(hint)}: leave one out")
    parameters = read.parameters or _Parameters()
    arguments = []
    for name, told in parameters.properties.items():
        at = f"{where}.{name}"
        arguments.append(_field(_read(_State, {**told, "name": name}, at), told, at, name in parameters.required))
    words = tuple(map(str, read.keywords)), tuple(map(str, read.examples))
    mutating = read.mutating if hint is None else not hint
    whole = Schema(row[schemas[0]]) if schemas and row[schemas[0]] is not None else Schema()
    return Tool(read.name, read.description or "", tuple(arguments), *words, mutating, whole, read.atomic)


def _field(read: _State, row: Mapping[str, object], where: str, required: bool = False) -> Field:
    values, keywords = tuple(str(one) for one in read.enum if one is not None), tuple(map(str, read.keywords))
    return Field(read.name, _type(read, where), read.description or "", values, keywords, required, Schema(row))


_ARGUMENTS = {"arguments", "args", "argument", "params", "parameter", "properties", "inputs", "input", "schema"}
_LISTS = ("changed_by", "given_by", "used_by")
_KEYS = {
    "said": {"used_by", "arguments"},
    "result": {"path", "changed_by"},
    "lookup": {"arguments", "path", "changed_by", "given_by", "cost"},
    "done": {"arguments", "path", "otherwise"},
    "question": {"of", "permits", "arguments", "used_by", "cost"},
    "step": set(),
    "detect": {"in", "cost"},
    "operation": {"arguments", "cost"},
    "seen": {"css", "role", "attribute", "changed_by"},
    "origin": {"of", "directory", "written", "changed_by"},
}
UNNAMED = ("boolean", "object")  # types of values that nobody can name in words
ORIGINS = {  # of a value, strongest first, each with what it means
    "absent": "the call gives no value",
    "user": "the user said it word for word",
    "directory": "it stands in a trusted directory",
    "record": "it is a field of a record that the user named",
    "text": "it stands only in other content that a tool returned",
    "none": "nobody told it",
}
PLACE = re.compile(r"(?:(?:\[\]|\w+|(?=\{))(?:\[\]|\.\w+)*(?:\{\})?)?\Z")  # a path in a result
STEP = {"calls": "integer", "words": "string"}  # what a step tells of itself
SESSION = (  # fields that every conversation can tell
    {
        "name": "calls_in_step",
        "type": "integer",
        "description": "how many calls the agent makes in its present turn so far, the one that is judged included",
        "from": {"step": "calls"},
    },
    {
        "name": "words_in_step",
        "type": "string",
        "description": "what the agent says to the user in the same turn as the call that is judged, empty for nothing",
        "from": {"step": "words"},
    },
)
AGENT = ("agent", "assistant")  # whose words answer no question, for a guard judges what they lead to
ANSWERS = ("boolean", "string", "integer", "number")  # types of what a question asks for


def _sourced(row: object, field: Field, tools: Sequence[Tool], before: Sequence[Field], where: str) -> Source:
    """Where a state field comes from, as its `from` says; `before` are the fields that are declared before it."""
    if row == "clock":
        return Source("clock")
    kinds = [kind for kind in _KEYS if isinstance(row, dict) and kind in row]
    if len(kinds) != 1:
        raise ToolError(f"{where}: 'clock', or an object with one of {list(_KEYS)}, was required; got {_shape(row)}")
    kind, listed = kinds[0], row[kinds[0]]
    many = kind in ("result", "detect", "operation", "origin") and isinstance(listed, tuple) and listed
    of, *others = listed if many else (listed,)
    strange = sorted(set(row) - {kind} - _KEYS[kind])
    if strange:
        raise ToolError(f"{where}: beside {kind!r} only {sorted(_KEYS[kind])} was required; got {strange}")
    if not isinstance(of, str) or not of:
        raise ToolError(f"{where}: {kind!r} must be a name; got {_shape(of)}")
    if kind == "step":
        if STEP.get(of) != field.type:
            raise ToolError(f"{where}: one of {STEP} was required, of that type; got {_shape(of)} of type {field.type}")
        return Source("step", of)
    if kind == "origin":
        return _origin(row, field, _Given(tools, before), where)
    if kind in ("detect", "operation"):
        return _operation(kind, (of, *others), row, field, _Given(tools, before), where)
    named = {tool.name: tool for tool in tools}
    of_tool = (("", (of, *others)),) if kind not in ("said", "question", "seen") else ()
    for key, names in (*of_tool, *((key, row.get(key, ())) for key in _LISTS)):
        names = tuple(names) if isinstance(names, dict) else names  # each with what tells the object that it changes
        if not isinstance(names, tuple) or (unknown := [name for name in names if name not in named]):
            got = _shape(names) if not isinstance(names, tuple) else unknown
            raise ToolError(f"{where}: {key or kind!r} must be of tools that are declared; got {got}")
    changed_by = tuple(row["changed_by"]) if "changed_by" in row else None
    if kind == "seen":
        return Source("seen", of, changed_by=changed_by, view=_view(row, field, where))
    given = _Given(tools, before)
    if kind in ("said", "question"):
        said = row.get("arguments", Schema())
        arguments = _each(said, before, f"{where}.arguments")
        hint = ': "arguments": {"id": "call.id"} beside it would say of which object of a call the words are'
        objects = _objects(row.get("used_by", ()), dict(arguments), f"{where}.used_by", hint)
        given.told(arguments, {}, f"{where}.arguments")
        given.apart(arguments, objects, {}, f"{where}.used_by")
        if kind == "question":
            asked = _question(row, field, where)
            return replace(asked, arguments=arguments, changed_by=tuple(row.get("used_by", ())), objects=objects)
        if field.type == "object":
            raise ToolError(f"{where}: a text or an array was required; got {field.type}")
        return Source("said", of, arguments=arguments, changed_by=tuple(row.get("used_by", ())), objects=objects)
    if kind == "lookup" and named[of].mutating is not False:
        raise ToolError(f'{where}: a tool with "mutating": false was required, for nobody asked for it; got {of!r}')
    given_by = tuple(row.get("given_by", ()))
    path = None
    if "path" in row:
        like = "a path in the result, such as level,"
        path = _cel(f"call.{row['path']}", f"{where}.path", like)
        if not isinstance(path, facts.Path):
            raise ToolError(f"{where}.path: {like} was required; got {_shape(row['path'])}")
    if kind == "done" and path is None:
        raise ToolError(f"{where}.path: an argument of {of} was required; got none")
    if kind == "done" and (mistakes := given.type(path, named[of])[1]):
        raise ToolError(f"{where}.path: {mistakes[0]}")
    arguments = _arguments(row.get("arguments", Schema()), named[of], before, where, kind == "lookup")
    otherwise = _otherwise(row["otherwise"], field, before, f"{where}.otherwise") if "otherwise" in row else None
    words = {one.name for one in before if one.source is not None and one.source.kind in ("said", "question")}
    if otherwise is not None and (said := sorted(words.intersection(Source("done", otherwise=otherwise).reads))):
        raise ToolError(f"{where}.otherwise: no field that somebody's words tell was required; got {said}")
    objects = _objects(row.get("changed_by", ()), dict(arguments), f"{where}.changed_by")
    declared = arguments_of(named[of])
    wanted = {name: (types.of_schema(declared.get(name), name), f"{name} of {of}") for name, _ in arguments}
    given.told(arguments, wanted, f"{where}.arguments")
    given.told((("", otherwise),) if otherwise is not None else (), None, f"{where}.otherwise")
    given.apart(arguments, objects, wanted, f"{where}.changed_by")
    for tool in given_by:
        same = tuple((name, facts.Path(("call", name))) for name, _ in arguments if name in arguments_of(named[tool]))
        given.apart((), ((tool, same),), wanted, f"{where}.given_by")
        if tool not in dict(objects):
            _one_object(arguments, named[tool], f"{where}.given_by")
    return Source(kind, of, path, arguments, changed_by, given_by, otherwise, tuple(others), objects)


def _operation(
    kind: Literal["detect", "operation"], names: tuple[Any, ...], row: Any, field: Field, given: _Given, where: str
) -> Source:
    """A detector, of what and in which texts, or functions of the session's, and their arguments."""
    told = row.get("arguments", Schema())
    if kind == "detect":
        listed = row.get("in")
        texts = listed if isinstance(listed, tuple) and listed else (listed,)
        told = {f"text{number}" if number else "text": text for number, text in enumerate(texts)}
        if field.type not in ("boolean", "integer"):
            raise ToolError(f"{where}: a boolean or an integer was required of a detector; got {field.type}")
        for name in names:
            if why := detectors.problem(name):
                raise ToolError(f"{where}: {why}; got {_shape(name)}")
    if not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
        raise ToolError(f"{where}: names of operations, each once, were required; got {_shape(names)}")
    arguments = _each(told, given.before, f"{where}.{'in' if kind == 'detect' else 'arguments'}")
    text = types.of_schema({"type": "string"}, "") if kind == "detect" else types.ANY
    given.told(arguments, {name: (text, "what is searched") for name, _ in arguments}, where)
    return Source(kind, names[0], arguments=arguments, changed_by=(), or_of=names[1:])


def _view(row: Mapping[str, object], field: Field, where: str) -> View:
    """Where a field stands in a page."""
    given = [key for key in ("css", "role") if isinstance(row.get(key), str)]
    attribute = row.get("attribute", "")
    if len(given) != 1 or type(attribute) is not str or ("role" in row and "attribute" in row):
        raise ToolError(f"{where}: a text 'css', which an 'attribute' may stand beside, or 'role' was required")
    if field.type in ("array", "object"):
        raise ToolError(f"{where}: a text, a number or a truth was required of a page; got {field.type}")
    view = View(str(row[given[0]]), attribute, given == ["role"])
    if why := views.problem(view):
        raise ToolError(f"{where}.{given[0]}: {why}; got {_shape(view.path)}")
    return view


def _speakers(row: Mapping[str, object], where: str) -> tuple[str, ...]:
    """Whose words count."""
    speakers = row.get("of")
    names = speakers if isinstance(speakers, tuple) else ()
    if not names or not all(isinstance(name, str) and name for name in names):
        raise ToolError(f'{where}.of: a list of who speaks, such as ["user"], was required; got {_shape(speakers)}')
    if own := [name for name in names if name.casefold() in AGENT]:
        raise ToolError(f"{where}.of: speakers other than the agent were required, whose calls are judged; got {own}")
    return names


def _origin(row: Mapping[str, object], field: Field, given: _Given, where: str) -> Source:
    """Of which argument the origin is, whose words count, and where trusted values stand."""
    told = row["origin"] if isinstance(row["origin"], tuple) else (row["origin"],)
    found = [_argument(one, given, f"{where}.origin") for one in told]
    if not found:
        raise ToolError(f"{where}.origin: an argument, call.NAME, or a list of these, was required; got []")
    names, needed = _speakers(row, where), set(ORIGINS) - {"absent"}
    if field.type != "string" or not needed <= set(field.values) <= set(ORIGINS):
        wanted = f'a string with the enum {sorted(needed)}, and "absent" where it is wanted,'
        raise ToolError(f"{where}: {wanted} was required of an origin; got {field.type} with {sorted(field.values)}")
    places = tuple(_places(row.get(key, {}), given, f"{where}.{key}") for key in ("directory", "written"))
    arguments = tuple((render(path), path) for path in found)
    writers = row.get("changed_by")
    known = {tool.name for tool in given.tools}
    if writers is not None and (not isinstance(writers, tuple) or not all(one in known for one in writers)):
        wanted = "a list of declared tools that can write into the directories"
        raise ToolError(f"{where}.changed_by: {wanted} was required; got {_shape(writers)}")
    rest = {"changed_by": (), "or_of": names[1:], "places": places, "writers": writers}
    return Source("origin", names[0], found[0], arguments, **rest)


def _argument(text: object, given: _Given, where: str) -> facts.Path:
    """An argument that some tool declares, a text, a number or a list of these."""
    path = _cel(text, where, "an argument, call.NAME,")
    if not isinstance(path, facts.Path) or path.names[0] != "call" or len(path.names) < 2:
        raise ToolError(f"{where}: an argument, call.NAME, was required; got {_shape(text)}")
    given.told((("", path),), None, where)
    own = [given.type(path, tool)[0] for tool in given.tools if path.names[1] in arguments_of(tool)]
    kinds = {one.json for kind in own for one in (kind, types.of_schema(kind.items, "")) if one.json in UNNAMED}
    if not own or kinds:
        got = f"one of type {sorted(kinds)[0]}" if kinds else f"{render(path)}, which no tool declares"
        raise ToolError(f"{where}: an argument, a text, a number or a list of these, was required; got {got}")
    return path


def _places(row: object, given: _Given, where: str) -> tuple[tuple[str, str], ...]:
    """Paths in the results of tools, by tool."""
    known = {tool.name for tool in given.tools}
    if not isinstance(row, dict) or (unknown := sorted(set(row) - known)):
        got = unknown if isinstance(row, dict) else _shape(row)
        raise ToolError(f"{where}: paths by the names of tools that are declared were required; got {got}")
    for tool, place in row.items():
        if not isinstance(place, str) or not PLACE.match(place):
            wanted = "a path in its result, such as contacts[].email,"
            raise ToolError(f"{where}.{tool}: {wanted} was required; got {_shape(place)}")
    return tuple(row.items())


def _question(row: Mapping[str, object], field: Field, where: str) -> Source:
    """A question about the conversation: whose words count, and which of the field's values they permit."""
    names = _speakers(row, where)
    if field.type not in ANSWERS or (field.type == "string" and not field.values):
        got = f"{field.type}{'' if field.type != 'string' else ' without an enum'}"
        raise ToolError(f"{where}: a boolean, a number, or a string with an enum was required of a question; got {got}")
    if "permits" not in row:
        return Source("question", names[0], or_of=names[1:], text=row["question"])
    if field.type in ("integer", "number") and not field.values:  # others may let the call through as well
        raise ToolError(f"{where}.permits: a boolean or an enum beside it was required; got {field.type}")
    listed, fits = row["permits"], schema.compiled(dict(field.schema))
    try:
        permits = tuple(map(fits, listed if isinstance(listed, tuple) else (listed,)))
    except schema.Unfit as error:
        raise ToolError(f"{where}.permits: values that fit {field.name} were required: {error}") from None
    return Source("question", names[0], or_of=names[1:], text=row["question"], permits=permits)


def _one_object(arguments: Arguments, tool: Tool, where: str) -> None:
    """Refuse a tool whose own result may be of the object that one of two of its arguments names."""
    known = arguments_of(tool)
    for name, node in arguments:
        others = {path.names[1] for path in facts.paths(node) if path.names[0] == "call"} & known.keys() - {name}
        if name in known and others:
            either = " and ".join([name, *sorted(others)])
            such = f'such as {{"{tool.name}": {{"{name}": "call.{name}"}}}}; got {tool.name}, which has {either}'
            raise ToolError(f"{where}: in changed_by which object the call changes was required, {such}")


Wanted = Mapping[str, tuple[types.Type, str]]  # of arguments by name: of which type one is to be, and what is so
OPEN = (types.ANY, "")


@dataclass(frozen=True, slots=True)
class _Given:
    """What the calls of these tools can tell a source, beside the state fields before it."""

    tools: Sequence[Tool]
    before: Sequence[Field]

    def type(self, node: facts.Node, tool: Tool) -> tuple[types.Type, list[str]]:
        """What a value is at a call of a tool, and what it asks for that the tool has not."""
        own, root = arguments_of(tool), tool.schema
        asked = {path.names[1] for path in facts.paths(node) if path.names[0] == "call"}
        others = root.get("additionalProperties", "patternProperties" in root) is not False
        found = types.Types(schemas(self.before), None if others and not asked <= own.keys() else own)
        return found.of(node, {}), found.mistakes

    def told(self, each: Arguments, wanted: Wanted | None, where: str) -> None:
        """Refuse a value that the calls of no tool tell; it names an object unless `wanted` is None."""
        for name, node in each:
            reasons = [self._why(node, tool, None if wanted is None else wanted.get(name, OPEN)) for tool in self.tools]
            if "" in reasons:
                continue
            asked = {path.names[1] for path in facts.paths(node) if path.names[0] == "call"}
            near = [why for tool, why in zip(self.tools, reasons, strict=True) if asked <= arguments_of(tool).keys()]
            known = sorted({one for tool in self.tools for one in arguments_of(tool)})
            why = near[0] if near else f"arguments of a tool were required, of {known}; got {render(node)}"
            raise ToolError(f"{where}{'.' * bool(name)}{name}: {why}")

    def apart(self, each: Arguments, objects: Iterable[tuple[str, Arguments]], wanted: Wanted, where: str) -> None:
        """Refuse objects that are named by values of several types, which would never be the same."""
        named, seen = {tool.name: tool for tool in self.tools}, {**wanted}
        for tool, told in objects:
            for name, node in told:
                like = [seen.get(name, OPEN)]
                if like[0][0].kind is None:  # then as the call itself names it
                    here = dict(each).get(name, node)
                    like.append((self.type(here, named[tool])[0], render(here)))
                    seen[name] = self.type(node, named[tool])[0], f"{render(node)} of {tool}"
                if why := next(filter(None, [self._why(node, named[tool], one) for one in like]), ""):
                    raise ToolError(f"{where}.{tool}.{name}: {why}")

    def _why(self, node: facts.Node, tool: Tool, wanted: tuple[types.Type, str] | None) -> str:
        """Why a call of a tool does not tell a value that is wanted; empty where it does, or may."""
        found, mistakes = self.type(node, tool)
        if mistakes or wanted is None or found.kind is None:
            return mistakes[0] if mistakes else ""
        if found.kind not in ("string", "number", "bool"):
            return f"{render(node)}: a text, a number or a truth was required; got {found.json or found.name}"
        kind, what = wanted
        if kind.kind is not None and kind.kind != found.kind:
            return f"{render(node)}: {kind.json} was required, as {what} is; got {found.json or found.name}"
        return ""


def _arguments(row: object, tool: Tool, before: Sequence[Field], where: str, all_of: bool) -> Arguments:
    """How the arguments of a tool follow from a call; with `all_of`, of all that it requires."""
    known = {argument.name for argument in tool.arguments}
    required = {argument.name for argument in tool.arguments if all_of and argument.required}
    if not isinstance(row, dict) or not required <= set(row) <= known:
        raise ToolError(f"{where}.arguments: those of {tool.name}, {sorted(known)}, were required; got {_shape(row)}")
    return _each(row, before, f"{where}.arguments")


def _each(row: object, before: Sequence[Field], where: str) -> Arguments:
    """Values by name."""
    if not isinstance(row, dict):
        raise ToolError(f'{where}: an object such as {{"id": "call.id"}} was required; got {_shape(row)}')
    return tuple((name, _of_state(text, before, f"{where}.{name}")) for name, text in row.items())


def _objects(
    row: object, arguments: Mapping[str, object], where: str, hint: str = ""
) -> tuple[tuple[str, Arguments], ...]:
    """What tells the one object that a call of each tool changes; nothing of tools that may change any. `hint` says
    what to do where no arguments stand beside it."""
    if not isinstance(row, dict):
        return ()
    found = []
    for tool, given in row.items():
        told = _each(given, (), f"{where}.{tool}")
        if told and dict(told).keys() != arguments.keys():
            wanted = f'the names in "arguments" beside it, {sorted(arguments)}, were required, or {{}} for any object'
            raise ToolError(f"{where}.{tool}: {wanted}; got {_shape(given)}{'' if arguments else hint}")
        found += [(tool, told)] if told else []
    return tuple(found)


def _otherwise(text: object, field: Field, before: Sequence[Field], where: str) -> facts.Node:
    """What a field is where nothing was done: a value as `_of_state` reads it, or a literal that fits the field."""
    try:
        node = cel.value(text)
    except FactError:
        node = None
    if not isinstance(node, facts.Scalar) or node.value is None:
        return _of_state(text, before, where, """, or a literal in CEL, such as "0", "false" or "'none'",""")
    try:
        return facts.Scalar(schema.compiled(dict(field.schema))(node.value))
    except schema.Unfit as error:
        raise ToolError(f"{where}: a literal that fits {field.name} was required: {error}") from None


def _of_state(text: object, before: Sequence[Field], where: str, also: str = "") -> facts.Node:
    """A value of the call and of fields that are declared before this one."""
    names = [field.name for field in before]
    node = _cel(text, where, f"call.NAME, or state.NAME of a field before it{also}")
    strange = [path.names[1] for path in facts.paths(node) if path.names[0] == "state" and path.names[1] not in names]
    if strange:
        raise ToolError(f"{where}: state fields declared before, {names}, were required; got {strange}")
    return node


def _cel(text: object, where: str, wanted: str) -> facts.Node:
    """What a text names."""
    if not isinstance(text, str):
        raise ToolError(f"{where}: {wanted} was required, as a text; got {_shape(text)}")
    try:
        node = cel.value(text)
    except FactError as error:
        raise ToolError(f"{where}: {wanted} was required; got {_shape(text)}: {error}") from None
    if not isinstance(node, facts.Fact) or facts.kind(node) is not None:
        found = "fact" if facts.kind(node) == "bool" else "computation"
        got = "a literal" if isinstance(node, facts.Scalar) else f"a {found}"
        raise ToolError(f"{where}: {wanted} was required; got {got}: {_shape(text)}")
    return node


def _type(read: _Property, where: str) -> FieldType:
    """The one type of a value, null apart; a text where its schema says nothing of it or leaves several open."""
    listed = (read.type,) if isinstance(read.type, str) else read.type
    inner = [kind for option in read.any_of if isinstance(option, dict) for kind in _kinds(option.get("type"))]
    found = set(inner if listed is None else listed) - {"null"}
    if listed is None and (len(found) != 1 or not found <= set(TYPES)):
        return "string"
    if len(found) != 1 or not found <= set(TYPES):
        wanted = f"one of {list(TYPES)}, with 'null' or without"
        raise ToolError(f"{where}: 'type' must be {wanted}; got {json.dumps(read.type)}")
    return found.pop()


def _kinds(kind: object) -> tuple[object, ...]:
    """The types that one way of several allows; None for what is no type."""
    listed = kind if isinstance(kind, list | tuple) and kind else (kind,)
    return tuple(one if isinstance(one, str) else None for one in listed)


def _read[M: pydantic.BaseModel](model: type[M], row: object, where: str) -> M:
    """A JSON object checked by a model; the first problem as an error that names its place."""
    try:
        return model.model_validate_json(json.dumps(row))
    except pydantic.ValidationError as error:
        problem = error.errors(include_url=False)[0]
    kinds = ("constrained-", "str", "int", "float", "bool", "tuple[")  # what pydantic names in a place beside keys
    place = [str(part) for part in problem["loc"] if not str(part).startswith(kinds)]
    if problem["type"] == "missing" or place in (["name"], []):
        raise ToolError(f"{where}: an object with a 'name' of letters, digits and _ was required; got {_shape(row)}")
    if place[-1] == "[key]":
        raise ToolError(f"{where}: the name of an argument must be of letters, digits and _; got {place[-2]!r}")
    listed = {"keywords", "examples", "enum", "required"} & set(place)
    wanted = "a list of texts" if listed else problem["msg"].removeprefix("Input should be ")
    got = row[place[0]] if place[0] in listed else problem["input"]
    key = ".".join(part for part in place if not part.isdigit())
    raise ToolError(f"{where}: {key!r} must be {wanted}; got {_shape(got)}")


def _frozen(value: object) -> object:
    if isinstance(value, Mapping):
        return Schema(value)
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value


def _shape(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    kind = "list" if isinstance(value, tuple) else type(value).__name__
    return f"{kind} {shortened(text, 80)}"
