"""JSON schemas without references: each `$ref` into its own document replaced by what it names, `allOf` by one schema.

Guards, facts and people read a schema from the top down, so what `tools.json` says of a value stands there.  Three
dialects come in: JSON Schema 2020-12, of OpenAPI 3.1; JSON Schema to draft 7, in which nothing beside a `$ref` counts;
and that of OpenAPI 3.0, which is draft 5 with `nullable` and true or false for `exclusiveMinimum`.  What comes out is
JSON Schema, and accepts exactly what came in accepts.  Keywords that say nothing of a value are left out: examples,
`xml`, `discriminator`, `x-…`.  Texts, such as descriptions, are copied.

Nothing is fetched: a reference to another file or address is refused, as are a cycle and what refers in other ways
(`$dynamicRef`, `$anchor`).  Lists may be tuples.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple, Never

import referencing
from referencing.exceptions import Unresolvable

from wb.domain import jsonl
from wb.domain.tools import ToolError

Dialect = Literal["2020-12", "draft-7", "OpenAPI 3.0"]
Found = Mapping[str, Any] | bool  # a schema; a bare truth accepts every value or none
MOST = 500_000  # values of one document, each as often as a reference repeats it
DEEPEST = jsonl.DEEPEST // 2  # levels of a schema, each of which is up to two of JSON
ONE = {"not", "additionalProperties", "additionalItems", "unevaluatedItems", "unevaluatedProperties", "contains"}
ONE |= {"propertyNames", "if", "then", "else", "items"}
MANY = {"allOf", "anyOf", "oneOf", "prefixItems"}
NAMED = {"properties", "patternProperties", "dependentSchemas", "dependencies"}
SAID = {"title", "description", "default", "deprecated", "readOnly", "writeOnly"}
KEPT = SAID | {"type", "enum", "const", "format", "pattern", "required", "dependentRequired", "multipleOf"}
KEPT |= {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems"}
KEPT |= {"uniqueItems", "minContains", "maxContains", "minProperties", "maxProperties"}
STRANGE = ("$dynamicRef", "$recursiveRef", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$id", "$schema")
TOGETHER = (  # keywords that are read with one another: two schemas that both have some are not made one
    {"if", "then", "else"},
    {"minimum", "exclusiveMinimum"},  # a truth in draft 4
    {"maximum", "exclusiveMaximum"},
    {"items", "prefixItems", "additionalItems", "contains", "minContains", "maxContains", "unevaluatedItems"},
)
FIELDS = {"properties", "patternProperties", "additionalProperties"}
CLOSING = {"patternProperties", "additionalProperties", "unevaluatedProperties", "unevaluatedItems"}


class Mistake(ToolError):
    """A part of a document cannot be read; the message begins with its place, a JSON pointer such as `#/paths`."""


def refuse(place: str, message: str) -> Never:
    """Refuse what stands at a place."""
    raise Mistake(f"{place}: {message}")


def below(place: str, *keys: str | int) -> str:
    """The place of a part of what stands at a place, as a JSON pointer (RFC 6901)."""
    return "/".join([place, *(str(key).replace("~", "~0").replace("/", "~1") for key in keys)])


class _Known(NamedTuple):
    """The schema that a reference names, how many values it is, and how many levels it has below the first."""

    schema: Any
    size: int
    levels: int


class Document:
    """A document whose schemas refer to one another, in one dialect; `sent` where they are of OpenAPI's requests."""

    def __init__(self, contents: Any, dialect: Dialect, *, sent: bool = False) -> None:
        self.dialect, self.sent, self._contents = dialect, sent, contents
        made = referencing.Resource(contents=contents, specification=referencing.Specification.OPAQUE)
        self._resolver = referencing.Registry().with_resource("", made).resolver()
        self._left = MOST
        self._known: dict[str, _Known] = {}  # what references name, each read once
        self._deepest = 0  # the level that was reached

    def target(self, ref: object, place: str) -> Any:
        """What a reference at that place names."""
        if not (isinstance(ref, str) and (ref == "#" or ref.startswith("#/"))):
            got = jsonl.shown(ref)
            refuse(place, f"a $ref into the same document, '#/…', was required; got {got}: nothing else is fetched")
        try:
            return self._resolver.lookup(ref).contents
        except (Unresolvable, LookupError, TypeError, ValueError):
            refuse(
                place, f"a $ref to a part of the document was required; got {jsonl.shown(ref)}, and nothing is there"
            )

    def followed(self, found: Any, place: str) -> tuple[Mapping[str, Any], str]:
        """The object at a place, or the one that its `$ref` leads to, with its place."""
        seen: list[str] = []
        while isinstance(found, Mapping) and "$ref" in found:
            found, place = self.target(ref := found["$ref"], below(place, "$ref")), ref
            if ref in seen:
                refuse(place, f"a $ref without a cycle was required; got {_round(seen, ref)}")
            seen.append(ref)
        if not isinstance(found, Mapping):
            refuse(place, f"an object was required; got {jsonl.shown(found)}")
        return found, place

    def schema(self, found: Any, place: str, chain: tuple[str, ...] = (), level: int = 0) -> Any:
        """The schema that stands at a place, without references; `chain` are those that led there.

        Raises:
            Mistake: with the place of what cannot be read.
        """
        self._count(1, place)
        if isinstance(found, bool):
            return found
        if not isinstance(found, Mapping):
            refuse(place, f"a schema, an object, was required; got {jsonl.shown(found)}")
        self._reach(level, place)
        if "$ref" in found:
            return self._referred(found, place, chain, level)
        made = {}
        whole = found is self._contents
        for key, value in found.items():
            if key in STRANGE and not (whole and key in ("$id", "$schema")):
                refuse(below(place, key), f"references by $ref alone were required; got {key}")
            inner = self._inner(key, value, below(place, key), chain, level + 1)
            if inner is not None:
                made[key] = inner[0]
        return self._told(merged(_plain(made) if self.dialect == "OpenAPI 3.0" else made))

    def _inner(self, key: str, value: Any, place: str, chain: tuple[str, ...], level: int) -> tuple[Any] | None:
        """What a keyword says, in brackets; None where it says nothing of a value."""
        if key in KEPT or key == "nullable" and self.dialect == "OpenAPI 3.0":
            self._count(_size(value), place)
            return (value,)
        if key in MANY or key == "items" and isinstance(value, list | tuple):
            return ([self.schema(one, below(place, i), chain, level) for i, one in enumerate(_list(value, place))],)
        if key in ONE:
            return (self.schema(value, place, chain, level),)
        if key in NAMED:
            named = value.items() if isinstance(value, Mapping) else refuse(place, "an object was required")
            return ({name: self._named(key, one, below(place, name), chain, level) for name, one in named},)
        return None

    def _named(self, key: str, value: Any, place: str, chain: tuple[str, ...], level: int) -> Any:
        listed = key == "dependencies" and isinstance(value, list | tuple)
        return value if listed else self.schema(value, place, chain, level)

    def _referred(self, found: Mapping[str, Any], place: str, chain: tuple[str, ...], level: int) -> Any:
        """The schema that a reference names, with what stands beside it where the dialect counts that."""
        ref = found["$ref"]
        made = self._read(ref, below(place, "$ref"), chain, level + 1)
        beside = {key: value for key, value in found.items() if key != "$ref"}
        if self.dialect != "2020-12" or not beside:
            return made
        own = self.schema(beside, place, chain, level + 1)
        return self._told(merged({**own, "allOf": [*own.get("allOf", ()), made]})) if own else made

    def _read(self, ref: object, place: str, chain: tuple[str, ...], level: int) -> Any:
        """The schema that a reference names, without references. Nobody changes it: it may stand at many places."""
        target = self.target(ref, place)
        if ref in chain:
            refuse(place, f"a $ref without a cycle was required; got {_round(chain, ref)}")
        known = self._known.get(ref)
        if known is None:
            left, deepest = self._left, self._deepest
            self._deepest = level
            made = self.schema(target, ref, (*chain, ref), level)
            self._known[ref] = _Known(made, left - self._left, self._deepest - level)
            self._deepest = max(deepest, self._deepest)
            return made
        self._count(known.size, place)
        self._reach(level + known.levels, place)
        return known.schema

    def _told(self, made: dict[str, Any]) -> dict[str, Any]:
        """The schema of what is sent: a property that is `readOnly` need not be there, as OpenAPI has it."""
        required, named = made.get("required"), made.get("properties", {})
        if not (self.sent and isinstance(required, list | tuple)):
            return made
        read = [name for name in required if isinstance(name, str) and _says(named.get(name), "readOnly")]
        return {**made, "required": [name for name in required if name not in read]} if read else made

    def _reach(self, level: int, place: str) -> None:
        self._deepest = max(self._deepest, level)
        if level > DEEPEST:
            refuse(place, f"schemas nested at most {DEEPEST} levels were required; got more")

    def _count(self, size: int, place: str) -> None:
        self._left -= size
        if self._left < 0:
            refuse(place, f"at most {MOST} values were required, each as often as a $ref repeats it; got more")


def arguments(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of all arguments, each as `argument` has it."""
    named = schema.get("properties")
    made = {name: argument(one) for name, one in named.items()} if named else None
    return {**schema, "properties": made} if made else dict(schema)


def argument(schema: Found) -> dict[str, Any]:
    """The schema of one argument, an object with at most one type, null apart: several are ways of `anyOf`."""
    if isinstance(schema, bool):
        return {} if schema else {"not": {}}
    kinds = schema.get("type")
    if not isinstance(kinds, list | tuple) or sum(kind != "null" for kind in kinds) < 2:
        return dict(schema)
    made = {key: value for key, value in schema.items() if key not in ("type", "anyOf")}
    ways = {"anyOf": [{"type": kind} for kind in kinds]}
    return made | ways | ({"allOf": [*made.get("allOf", ()), {"anyOf": schema["anyOf"]}]} if "anyOf" in schema else {})


# ---- one schema from several ----------------------------------------------------------------------


def merged(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema whose `allOf` is taken into it as far as that says the same; what cannot be stays in `allOf`.

    Of what stays, types, properties and names of required ones are said outside as well, where readers look for them.
    """
    made, left = {key: value for key, value in schema.items() if key != "allOf"}, []
    for part in schema.get("allOf", ()):
        both = _both(made, part)
        if both is None:
            left.append(part)
        else:
            made = both
    left = [*made.pop("allOf", ()), *left]  # a part may have had one that stayed
    for part in left:
        made = _lifted(made, part)
    return {**made, "allOf": left} if left else made


def _both(one: Mapping[str, Any], other: Found) -> dict[str, Any] | None:
    """One schema that accepts what both accept; None where that is not said in one."""
    if other is True:
        return dict(one)
    if other is False or not _apart(one, other):
        return None
    made = dict(one)
    for key, value in other.items():
        if key not in one:
            made[key] = value
        elif key == "properties":
            made[key] = {**value, **one[key]}
            for name in one[key].keys() & value.keys():
                made[key][name] = _all((one[key][name], value[name]))
        elif key == "required" and _texts(one[key], value):
            made[key] = list(dict.fromkeys([*one[key], *value]))
        elif key == "type" and (types := _types(one[key], value)):
            made[key] = types
        elif key not in SAID and not _same(one[key], value):
            return None
    return made


def _apart(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether the keywords of the one say the same beside those of the other."""
    for closed, fields in ((one, other), (other, one)):
        if closed.keys() & CLOSING and fields.keys() & (FIELDS | CLOSING):
            return False
        if closed.keys() & {"unevaluatedProperties", "unevaluatedItems"} and fields.keys() - SAID:
            return False
    return not any(one.keys() & group and other.keys() & group for group in TOGETHER)


def _all(schemas: Iterable[Found]) -> Found:
    """What accepts the values that all of these accept."""
    parts = [part for part in schemas if part is not True]
    if False in parts:
        return False
    return merged({"allOf": parts}) if len(parts) > 1 else parts[0] if parts else True


def _types(one: Any, other: Any) -> Any:
    """The types that both allow; nothing where that is none or not said as types."""
    lists = [[kind] if isinstance(kind, str) else kind for kind in (one, other)]
    if not all(isinstance(kinds, list | tuple) for kinds in lists):
        return []
    first, second = lists
    found = [k for k in first if k in second or k == "integer" and "number" in second]
    found += [k for k in second if k == "integer" and "number" in first and k not in found]
    return found[0] if len(found) == 1 else found


def _lifted(made: dict[str, Any], part: Found) -> dict[str, Any]:
    """The schema with what a part of its `allOf` says of type and properties, which holds of its values anyway."""
    if part is False or made.keys() & CLOSING:
        return made
    found = dict(made)
    if "type" in part and "type" not in made:
        found["type"] = part["type"]
    if "properties" in part:
        found["properties"] = {**part["properties"], **made.get("properties", {})}
    if "required" in part and _texts(part["required"], made.get("required", ())):
        found["required"] = list(dict.fromkeys([*made.get("required", ()), *part["required"]]))
    return found


def _same(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON: true is not 1."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _says(schema: Any, key: str) -> bool:
    return isinstance(schema, Mapping) and schema.get(key) is True


# ---- the dialect of OpenAPI 3.0 -------------------------------------------------------------------


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """The same in JSON Schema. `nullable` counts beside a `type` of the same schema only (OpenAPI 3.0.3)."""
    made = {key: value for key, value in schema.items() if key != "nullable"}
    if schema.get("nullable") is True and isinstance(made.get("type"), str):
        made["type"] = [made["type"], "null"]
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if made.get(exclusive) is True and bound in made:
            made[exclusive] = made.pop(bound)
        elif isinstance(made.get(exclusive), bool):
            del made[exclusive]
    return made


# ---- small things ---------------------------------------------------------------------------------


def _list(value: Any, place: str) -> Iterable[Any]:
    return value if isinstance(value, list | tuple) else refuse(place, "a list was required")


def _texts(*lists: Any) -> bool:
    return all(isinstance(one, list | tuple) and all(isinstance(name, str) for name in one) for one in lists)


def _size(value: Any) -> int:
    """How many values a JSON value is, itself with all in it."""
    match value:
        case Mapping():
            return 1 + sum(map(_size, value.values()))
        case list() | tuple():
            return 1 + sum(map(_size, value))
    return 1


def _round(chain: Iterable[str], ref: str) -> str:
    names = [*chain]
    return " -> ".join([*names[names.index(ref) :], ref])[:300]
