"""What names of a vocabulary are bound to: tools, arguments and CEL tests, held against what the toolbox declares.

A test that no value can pass, that reads what nobody declares or compares values of two types is refused with what was
required and what was got; nothing is repaired.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from wb.domain.tools import Field, Tool, Toolbox, schemas
from wb.logic import cel, facts, types
from wb.logic.facts import (
    Comparison,
    Conjunction,
    Disjunction,
    Fact,
    Negation,
    Node,
    OneOf,
    Operand,
    Path,
    Scalar,
    Size,
)
from wb.logic.types import Schema, Type
from wb.rules.rule import Predicate

LEVELS, WITHIN = 4, 120  # of what lies within a field: how deep it is shown, and how many names and values at most


def described(toolbox: Toolbox) -> dict[str, object]:
    """Tools and state fields as a model sees them."""
    return {
        "tools": [_with_optional(tool) for tool in toolbox.tools],
        "state": [field_row(field) for field in toolbox.state],
    }


def _with_optional(tool: Tool) -> dict[str, object]:
    """A tool as a model sees it, and which arguments a call may leave out: then no test of their values is known."""
    rows = [field_row(a) | ({} if a.required else {"optional": True}) for a in tool.arguments]
    return tool_row(tool) | ({"arguments": rows} if rows else {})


def tools(names: Sequence[str], toolbox: Toolbox) -> tuple[str, ...]:
    """The names, each of a tool; `ValueError` names those there are."""
    for name in names:
        try:
            toolbox.tool(name)
        except KeyError as error:
            raise ValueError(error.args[0]) from None
    return tuple(dict.fromkeys(names))


def argument(text: str, names: Sequence[str], toolbox: Toolbox) -> Path:
    """The argument that tells an object, such as `call.order_id`; each of the tools must have it."""
    return _object(text, names, toolbox)


def state(bare: Predicate, text: str, names: Sequence[str], toolbox: Toolbox) -> Predicate:
    """The state predicate with that test, over calls of those tools (of all that have its arguments, where none are
    named), and of the call that is judged; `ValueError` where a field does not exist or does not fit."""
    test = cel.parse(text)
    if not facts.paths(test):
        raise ValueError(f"a test must read a field of the toolbox; got {cel.render(test)}")
    read = any(path.names[0] == "call" for path in facts.paths(test))
    owners = (tools(names, toolbox) or _having(test, toolbox)) if read else ()
    for name in owners or ("",):
        fields = {path: field(path, name, toolbox) for path in facts.paths(test)}
        if _flat(test):
            _fits(test, fields)
            continue
        declared = schemas(toolbox.state), schemas(toolbox.tool(name).arguments) if name else None
        if wrong := types.mistakes(test, *declared):
            raise ValueError(f"a test must fit what tools.json declares; got {cel.render(test)}: {wrong[0]}")
    return replace(bare, tools=owners, test=test)


UNKNOWN = cel.parse("1 / 0 > 0")  # what a division by zero says is unknown, whatever the state holds


def both(tests: Sequence[Fact]) -> Fact:
    """What all of these tests say where they say the same, and unknown elsewhere."""
    first, *others = tests
    same = [Comparison("==", first, other) for other in others]
    return facts.Choice(same[0] if len(same) == 1 else Conjunction(tuple(same)), first, UNKNOWN)


def tool_row(tool: Tool) -> dict[str, object]:
    """A tool as a model sees it."""
    row = {"name": tool.name, "description": tool.description}
    return {**row, "arguments": [field_row(a) for a in tool.arguments]} if tool.arguments else row


def field_row(field: Field) -> dict[str, object]:
    """A field as a model sees it, with what its schema says of the values within it: as deep as `WITHIN` names and
    values tell, at most `LEVELS` deep."""
    row = {"name": field.name, "type": field.type, "description": field.description, "values": list(field.values)}
    row |= {"null": types.nullable(field.schema) and field.source is None}  # then null is a value of it
    told = (_within(types.of_schema(field.schema, ""), levels) for levels in range(LEVELS, 0, -1))
    row |= next((one for one in told if _parts(one) <= WITHIN), {})
    return {name: value for name, value in row.items() if value}


def _within(of: Type, levels: int) -> dict[str, object]:
    """What a value holds: its `properties`, its `items`, and what stands under `others` of its names."""
    if not levels:
        return {}
    fields = {name: _inner(schema, levels - 1) for name, schema in (of.fields or {}).items()}
    row = {"properties": fields, "items": of.items and _inner(of.items, levels - 1)}
    return row | {"others": of.others and _inner(of.others, levels - 1)}


def _inner(schema: Schema, levels: int) -> dict[str, object]:
    """A value within another one, as a model sees it."""
    of = types.of_schema(schema, "")
    said = schema.get("description")
    row = {"type": of.json, "description": said if isinstance(said, str) else "", "values": list(of.values)}
    return {name: value for name, value in (row | _within(of, levels)).items() if value}


def _parts(row: object) -> int:
    """How many names and values a row tells."""
    if isinstance(row, Mapping):
        return len(row) + sum(map(_parts, row.values()))
    return len(row) if isinstance(row, list) else 0


def _object(text: str, tools: Sequence[str], toolbox: Toolbox) -> Path:
    """The argument that tells an object; each of the predicate's tools must have it."""
    path = cel.parse(text)
    if not isinstance(path, Path) or path.names[0] != "call":
        raise ValueError(f"an object is told by an argument such as call.id; got {text!r}")
    for name in tools or ("",):
        field(path, name, toolbox)
    return path


def _having(test: Fact, toolbox: Toolbox) -> tuple[str, ...]:
    """The tools that have every argument which a test reads; none where it reads none."""
    given = {path.names[1] for path in facts.paths(test) if path.names[0] == "call"}
    return tuple(t.name for t in toolbox.tools if given and given <= {a.name for a in t.arguments})


def field(path: Path, tool: str, toolbox: Toolbox) -> Field:
    """The field of the toolbox that a path reads, in calls of that tool."""
    root, name, *_ = path.names
    mine = next((t.arguments for t in toolbox.tools if t.name == tool), ())
    known = {field.name: field for field in (toolbox.state if root == "state" else mine)}
    if name not in known:
        owner = "the state" if root == "state" else tool or "no tool"
        raise ValueError(
            f"a test must read a field of the toolbox; got {cel.render(path)!r}, where {owner} has {list(known)[:12]}"
        )
    return known[name]


def _flat(node: Node) -> bool:
    """Whether a test compares fields and their sizes with each other and with literals, and nothing else."""
    match node:
        case Path(names):
            return len(names) == 2
        case Scalar(type=kind):
            return kind != "null"
        case Size(of):
            return isinstance(of, Path) and len(of.names) == 2
        case Comparison() | OneOf() | Negation() | Conjunction() | Disjunction():
            return all(map(_flat, facts.children(node)))
    return False


_CLASSES = {"boolean": "a boolean", "integer": "a number", "number": "a number", "string": "a text"}
_LITERALS = {"bool": "a boolean", "int": "a number", "double": "a number", "string": "a text"}


def _fits(test: Fact, fields: dict[Path, Field]) -> None:
    """Refuse a test that no value of its fields can ever pass, or that compares them with something else."""
    match test:
        case Path() if fields[test].type != "boolean":
            raise ValueError(f"{cel.render(test)} is of type {fields[test].type}: compare it with a value")
        case Comparison(op, left, right):
            kinds = {_class(left, fields), _class(right, fields)}
            if len(kinds) > 1:
                raise ValueError(
                    f"values of one type are compared; got {cel.render(test)}: {' and '.join(sorted(map(str, kinds)))}"
                )
            if kinds == {"a boolean"} and op not in ("==", "!="):
                raise ValueError(f"a boolean is compared with == or !=; got {cel.render(test)}")
            if test.limit is not None:
                term, op, limit = test.limit
                _possible(term, (limit,) if op in ("==", "!=") else (), fields)
                if isinstance(term, Size) and limit.type != "int":
                    raise ValueError(f"a size is a whole number; got {cel.render(test)}")
        case OneOf(item, options):
            kinds = {_class(side, fields) for side in (item, *options)}
            if len(kinds) > 1 or not options:
                raise ValueError(
                    f"values of one type are compared; got {cel.render(test)}: {' and '.join(sorted(map(str, kinds)))}"
                )
            _possible(item, options, fields)
        case _:
            for part in facts.children(test):
                _fits(part, fields)


def _possible(term: Operand, values: Sequence[Scalar], fields: dict[Path, Field]) -> None:
    """Refuse values outside the field's enumeration, such as one in another case."""
    listed = fields[term].values if isinstance(term, Path) else ()
    strange = [v.value for v in values if listed and str(v.value) not in listed]
    if strange:
        raise ValueError(f"{cel.render(term)} has the values {list(listed)}; got {strange}")


def _class(operand: Operand, fields: dict[Path, Field]) -> str:
    match operand:
        case Scalar(type=kind):
            return _LITERALS[kind]
        case Size(of):
            if fields[of].type != "array":
                raise ValueError(f"a size is of a list; {cel.render(of)} is of type {fields[of].type}")
            return "a number"
        case Path():
            if fields[operand].type not in _CLASSES:
                raise ValueError(
                    f"a list is compared by its size; {cel.render(operand)} is of type {fields[operand].type}"
                )
            return _CLASSES[fields[operand].type]
