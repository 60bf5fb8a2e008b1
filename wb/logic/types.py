"""Types of facts: what JSON schemas say of the values that a fact reads, and where the fact asks for something else.

A schema that says nothing, or leaves several types open, is no mistake: its values are known when they come.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from wb.logic import facts as F
from wb.logic.cel import render
from wb.logic.facts import FUNCTIONS, Fact, Kind, Node, Scalar

Name = Literal["any", "int", "double", "number", "string", "bool", "null", "list", "record", "timestamp", "duration"]
Schema = Mapping[str, object]
Schemas = Mapping[str, Schema] | None  # of fields by name; None where none are declared
_OF_JSON: dict[str, Name] = {
    "integer": "int",
    "number": "number",
    "string": "string",
    "boolean": "bool",
    "array": "list",
    "object": "record",
}
_KIND: dict[Name, Kind] = {"int": "number", "double": "number"}
_SAID = {
    "int": "an integer",
    "double": "a double",
    "number": "a number",
    "string": "a text",
    "bool": "a truth",
    "null": "null",
    "list": "a list",
    "record": "a record",
    "timestamp": "a time",
    "duration": "a duration",
}


@dataclass(frozen=True, slots=True)
class Type:
    """What a value may be.

    `called` is the path of a declared value, such as `call.guests[].age`, else empty.  A list has `items`, or, where a
    fact makes it, an `item`; a record has `fields`, and `others` that they do not name.  `values` is its enumeration.
    """

    name: Name = "any"
    called: str = ""
    json: str = ""  # its name in the schema
    items: Schema | None = None
    fields: Mapping[str, Schema] | None = None
    others: Schema | None = None
    values: tuple[object, ...] = ()
    item: Type | None = None

    @property
    def kind(self) -> Kind | None:
        """What it can be compared with; None where anything may come."""
        return None if self.name == "any" else _KIND.get(self.name, self.name)


ANY = Type()


def of_schema(schema: object, called: str) -> Type:
    """The type of a declared value, null apart: what is null is not known, or asked for by `== null`."""
    if not isinstance(schema, Mapping):
        return replace(ANY, called=called)
    for several in (schema.get("anyOf"), schema.get("oneOf")):
        options = [one for one in several or () if not isinstance(one, Mapping) or one.get("type") != "null"]
        if "type" not in schema and len(options) == 1:
            return of_schema(options[0], called)
    listed = schema.get("type")
    names = [
        name
        for name in ((listed,) if isinstance(listed, str) else listed if isinstance(listed, (list, tuple)) else ())
        if name != "null"
    ]
    if len(names) != 1 or names[0] not in _OF_JSON or "$ref" in schema:
        return replace(ANY, called=called)
    fields, others = schema.get("properties"), schema.get("additionalProperties")
    inner = schema.get("items")
    return Type(
        _OF_JSON[names[0]],
        called,
        names[0],
        inner if isinstance(inner, Mapping) else None,
        fields if isinstance(fields, Mapping) and fields else None,
        others if isinstance(others, Mapping) else {} if others is True or "patternProperties" in schema else None,
        tuple(value for value in schema.get("enum") or () if value is not None),
    )


def nullable(schema: object) -> bool:
    """Whether a schema says that the value may be null, by its type or one of its alternatives, and nothing in it says
    otherwise; what is put together in other ways, or elsewhere, does not say so."""
    if not isinstance(schema, Mapping) or schema.keys() & {"$ref", "$dynamicRef", "allOf", "not", "if"}:
        return False
    listed = schema.get("type")
    typed = listed == "null" or (isinstance(listed, list | tuple) and "null" in listed)
    parts = [part for key in ("anyOf", "oneOf") if isinstance(part := schema.get(key), list | tuple)]
    one = all(all(map(_types, part)) and sum(map(nullable, part)) == 1 for part in parts)  # `oneOf` allows no second
    listing = any(value is None for value in schema.get("enum") or (None,)) and schema.get("const") is None
    return (typed if listed is not None else bool(parts)) and one and listing


def _types(schema: object) -> bool:
    return isinstance(schema, Mapping) and "type" in schema


def of(node: Node, state: Schemas = None, call: Schemas = None) -> Type:
    """The type of a fact's value, as far as the schemas tell it."""
    return Types(state, call).of(node, {})


def mistakes(fact: Fact, state: Schemas = None, call: Schemas = None) -> tuple[str, ...]:
    """What the fact asks of declared values that they cannot answer, a line each, with the value's path.

    `state` and `call` are the schemas of the state's fields and of the call's arguments by name.
    """
    found = Types(state, call)
    found.of(fact, {}, fact=True)
    return tuple(dict.fromkeys(found.mistakes))


class Types:
    """The types of a fact's nodes, and the mistakes met on the way; in `bound`, the types of variables by name."""

    def __init__(self, state: Schemas, call: Schemas) -> None:
        self._roots = {"state": state, "call": call}
        self.mistakes: list[str] = []

    def of(self, node: Node, bound: Mapping[str, Type], *, fact: bool = False) -> Type:
        """The type of a node, of whose value a fact may be required."""
        found = self._of(node, bound)
        if fact and found.kind not in ("bool", None):
            self._wrong(found, "used as a fact: compare it with a value")
        return found

    def _of(self, node: Node, bound: Mapping[str, Type]) -> Type:
        match node:
            case Scalar(value, type=name):
                return Type(name, values=(value,))
            case F.Path((root, *names)):
                return self._path(root, names)
            case F.Variable(name):
                return bound.get(name, ANY)
            case F.Part(of, key):
                return self._part(self.of(of, bound), key, bound)
            case F.Macro():
                return self._macro(node, bound)
            case F.Has(of):
                self._outer(of, bound)
                return Type("bool")
            case F.Negation() | F.Conjunction() | F.Disjunction():
                for part in F.children(node):
                    self.of(part, bound, fact=True)
                return Type("bool")
            case F.Choice(test, then, otherwise):
                self.of(test, bound, fact=True)
                one, other = self.of(then, bound), self.of(otherwise, bound)
                self._alike(one, other)
                return replace(one, called="", values=()) if one.name == other.name else ANY
        below = [self.of(child, bound) for child in F.children(node)]
        match node, below:
            case F.Comparison(op, _, _), (left, right):
                self._alike(left, right, ordered=op not in ("==", "!="))
            case F.OneOf(), (item, *options):
                for option in options:
                    self._alike(item, option)
            case F.Within(), (item, of):
                self._wants(of, {"list", "record"}, "asked what is in it")
                if of.name == "record":
                    self._wants(item, {"string"}, "looked for among the names of a record")
                else:
                    self._alike(item, self._item(of))
            case F.Size(), (of,):
                called = isinstance(node.of, F.Path | F.Part | F.Variable)
                text = f": size of a text is not known, write size(string({render(node.of)}))" if called else ""
                self._wants(of, {"list"} if called else {"list", "string"}, f"counted{text}")
            case F.Arithmetic(op), (left, right):
                return self._arithmetic(op, left, right)
            case F.Minus(), (of,):
                self._wants(of, {"number"}, "negated")
                return replace(of, called="", values=())
            case F.Function(name), _:
                return self._function(name, below)
            case F.List(), _:
                return Type("list")
        return Type(self._plain(node))

    def _plain(self, node: Node) -> Name:
        if isinstance(node, F.Size):
            return "int"
        return F.kind(node) or "any"

    def _path(self, root: str, names: Sequence[str]) -> Type:
        fields = self._roots[root]
        if fields is None:
            return ANY
        found = Type("record", root, "object", fields=fields)
        for name in names:
            found = self._field(found, name)
        return found

    def _field(self, of: Type, name: str) -> Type:
        """What a record has under a name."""
        if of.name == "any":
            return replace(ANY, called=f"{of.called}.{name}" if of.called else "")
        if of.name != "record":
            self._wrong(of, f"asked for its {name}")
            return ANY
        called = f"{of.called}.{name}" if of.called else ""
        if of.fields is not None and name in of.fields:
            return of_schema(of.fields[name], called)
        if of.others is not None:
            return of_schema(of.others, called)
        if of.fields is not None:
            self.mistakes.append(f"{called}: not declared in tools.json; {of.called} has {list(of.fields)[:12]}")
        return replace(ANY, called=called)

    def _part(self, of: Type, key: Node, bound: Mapping[str, Type]) -> Type:
        if isinstance(key, Scalar) and key.type == "string":
            return self._field(of, key.value)
        at = self.of(key, bound)
        if of.name == "list":
            self._wants(at, {"number"}, "used as a place in a list")
            return self._item(of)
        if of.name == "record":
            self._wants(at, {"string"}, "used as a name in a record")
            return of_schema(of.others, f"{of.called}[]") if of.others and not of.fields else ANY
        self._wants(of, {"list", "record"}, "asked for a part of it")
        return ANY

    def _item(self, of: Type) -> Type:
        """What a macro goes through."""
        if of.name != "list":
            return ANY
        return of.item or of_schema(of.items, f"{of.called}[]" if of.called else "")

    def _macro(self, node: F.Macro, bound: Mapping[str, Type]) -> Type:
        over = self.of(node.over, bound)
        self._wants(over, {"list"}, f"gone through by {node.name}")
        inner = {**bound, node.variable.name: self._item(over)}
        body = self.of(node.body, inner, fact=node.name != "map")
        if node.name == "filter":
            return over if over.name == "list" else Type("list")
        if node.name == "map":
            return Type("list", item=body)
        return Type("bool")

    def _outer(self, of: F.Path | F.Part, bound: Mapping[str, Type]) -> None:
        self.of(of, bound)

    def _arithmetic(self, op: str, left: Type, right: Type) -> Type:
        given = F.sums(op, left.kind, right.kind)
        if not given:
            for one, other in ((left, right), (right, left)):
                if one.called:
                    self._wrong(one, f"computed with by {op} and {_SAID.get(other.name, 'a value')}")
                    break
            return ANY
        if given != {"number"}:
            return Type(given.pop()) if len(given) == 1 else ANY
        names = {left.name, right.name}
        if "any" not in names and names not in ({"int"}, {"double"}):
            one = next((side for side in (left, right) if side.called), left)
            where = f"{one.called}: {one.json} in tools.json" if one.json else _SAID[one.name]
            self.mistakes.append(
                f"{where}; {op} is of two integers or of two doubles: write double(…) for both sides, and 2.0 for 2"
            )
        return Type(names.pop() if len(names) == 1 else "number")

    def _function(self, name: str, below: Sequence[Type]) -> Type:
        for one, kinds in zip(below, FUNCTIONS[name].takes, strict=False):
            self._wants(one, kinds, f"given to {name}")
        if name in ("sum", "min", "max"):
            inner = self._item(below[0])
            self._wants(inner, {"number"}, f"given to {name} in a list")
            return Type(inner.name if inner.kind == "number" else "any")
        gives = FUNCTIONS[name].gives
        if gives == "number":
            return Type("double" if name == "double" else "int")
        return Type(gives)

    def _wants(self, found: Type, kinds: set[Kind] | frozenset[Kind], used: str) -> None:
        if found.kind is not None and found.kind not in kinds:
            self._wrong(found, used)

    def _alike(self, left: Type, right: Type, *, ordered: bool = False, what: str = "compared with") -> None:
        """Two sides of a comparison have one kind, an order where it is asked for, and a value that is listed."""
        for one, other in ((left, right), (right, left)):
            if "null" in (one.kind, other.kind):
                return
            if one.called and one.kind and other.kind and one.kind != other.kind:
                self._wrong(one, f"{what} {_SAID[other.name]}")
                return
            if one.called and ordered and one.kind in ("list", "record"):
                self._wrong(one, "put in order")
                return
            literal = other.values if not other.called else ()
            strange = [value for value in literal if one.called and one.values and value not in one.values]
            if strange:
                listed = list(one.values)
                self.mistakes.append(f"{one.called}: has the values {listed} in tools.json; got {strange}")

    def _wrong(self, found: Type, used: str) -> None:
        where = f"{found.called}: {found.json} in tools.json" if found.called and found.json else _SAID[found.name]
        self.mistakes.append(f"{where}; {used}")
