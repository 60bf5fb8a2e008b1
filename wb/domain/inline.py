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
from functools import partial
from typing import Any, Literal, Never

from wb.domain import jsonl
from wb.domain.schema import resolved
from wb.domain.tools import ToolError
from wb.logic.wording import shortened

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


class Document:
    """A document whose schemas refer to one another, in one dialect; `sent` where they are of OpenAPI's requests."""

    def __init__(self, contents: Any, dialect: Dialect, *, sent: bool = False) -> None:
        self.dialect, self.sent, self._contents = dialect, sent, contents
        self._target = resolved(contents)
        self._left = MOST
        self._known: dict[tuple[str, int], tuple[Any, int]] = {}  # by reference and level: the schema, its values

    def target(self, ref: object, place: str) -> Any:
        """What a reference at that place names."""
        got = jsonl.shown(ref)
        if not (isinstance(ref, str) and (ref == "#" or ref.startswith("#/"))):
            refuse(place, f"a $ref into the same document, '#/…', was required; got {got}: nothing else is fetched")
        try:
            return self._target(ref)
        except LookupError:
            refuse(place, f"a $ref to a part of the document was required; got {got}, and nothing is there")

    def followed(self, part: Any, place: str) -> tuple[Mapping[str, Any], str]:
        """The object at a place, or the one that its `$ref` leads to, with its place."""
        seen: list[str] = []
        while isinstance(part, Mapping) and "$ref" in part:
            part, place = self.target(ref := part["$ref"], below(place, "$ref")), ref
            if ref in seen:
                refuse(place, f"a $ref without a cycle was required; got {_round(seen, ref)}")
            seen.append(ref)
        if not isinstance(part, Mapping):
            refuse(place, f"an object was required; got {jsonl.shown(part)}")
        return part, place

    def schema(self, part: Any, place: str, chain: tuple[str, ...] = (), level: int = 0) -> Any:
        """The schema that stands at a place, without references; `chain` are those that led there.

        Raises:
            Mistake: with the place of what cannot be read.
        """
        self._count(1, place)
        if isinstance(part, bool):
            return part
        if not isinstance(part, Mapping):
            refuse(place, f"a schema, an object, was required; got {jsonl.shown(part)}")
        if level > DEEPEST:
            refuse(place, f"schemas nested at most {DEEPEST} levels were required; got more")
        if "$ref" in part:
            return self._referred(part, place, chain, level)
        made = {}
        whole = part is self._contents
        for key, value in part.items():
            if key in STRANGE and not (whole and key in ("$id", "$schema")):
                refuse(below(place, key), f"references by $ref alone were required; got {key}")
            inner = self._inner(key, value, below(place, key), chain, level + 1)
            if inner is not None:
                made[key] = inner[0]
        return self._sent(merged(_plain(made) if self.dialect == "OpenAPI 3.0" else made))

    def _inner(self, key: str, value: Any, place: str, chain: tuple[str, ...], level: int) -> tuple[Any] | None:
        """What a keyword says, in brackets; None where it says nothing of a value."""
        if key in KEPT or key == "nullable" and self.dialect == "OpenAPI 3.0":
            self._count(_size(value), place)
            return (value,)
        if key in MANY or key == "items" and isinstance(value, list | tuple):
            if not isinstance(value, list | tuple):
                refuse(place, "a list was required")
            return ([self.schema(part, below(place, i), chain, level) for i, part in enumerate(value)],)
        if key in ONE:
            return (self.schema(value, place, chain, level),)
        if key in NAMED:
            if not isinstance(value, Mapping):
                refuse(place, "an object was required")
            names = list | tuple if key == "dependencies" else ()  # draft 7: a list of what must be there as well
            read = partial(self.schema, chain=chain, level=level)
            return ({n: v if isinstance(v, names) else read(v, below(place, n)) for n, v in value.items()},)
        return None

    def _referred(self, part: Mapping[str, Any], place: str, chain: tuple[str, ...], level: int) -> Any:
        """The schema that a reference names, with what stands beside it where the dialect counts that."""
        ref, where = part["$ref"], below(place, "$ref")
        target = self.target(ref, where)
        if ref in chain:
            refuse(where, f"a $ref without a cycle was required; got {_round(chain, ref)}")
        left, known = self._left, self._known.get((ref, level))
        if known is None:
            made = self.schema(target, ref, (*chain, ref), level + 1)
            self._known[ref, level] = made, left - self._left
        else:
            made, size = known
            self._count(size, where)
        beside = {key: value for key, value in part.items() if key != "$ref"}
        if self.dialect != "2020-12" or not beside:
            return made
        own = self.schema(beside, place, chain, level + 1)
        return self._sent(merged({**own, "allOf": [*own.get("allOf", ()), made]})) if own else made

    def _sent(self, made: dict[str, Any]) -> dict[str, Any]:
        """The schema of what is sent: a property that is `readOnly` need not be there, as OpenAPI has it."""
        required, named = made.get("required"), made.get("properties", {})
        if not (self.sent and isinstance(required, list | tuple)):
            return made
        read = [name for name, of in named.items() if isinstance(of, Mapping) and of.get("readOnly") is True]
        kept = [name for name in required if name not in read]
        return {**made, "required": kept} if len(kept) < len(required) else made

    def _count(self, size: int, place: str) -> None:
        self._left -= size
        if self._left < 0:
            refuse(place, f"at most {MOST} values were required, each as often as a $ref repeats it; got more")


def arguments(schema: Mapping[str, Any], dialect: Dialect = "2020-12") -> dict[str, Any]:
    """The schema of all arguments without references, each as `argument` has it.

    Raises:
        Mistake: with the place of what cannot be read.
    """
    schema = Document(schema, dialect).schema(schema, "#")
    named = schema.get("properties")
    return {**schema, "properties": {name: argument(one) for name, one in named.items()}} if named else dict(schema)


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


def _both(first: Mapping[str, Any], second: Found) -> dict[str, Any] | None:
    """One schema that accepts what both accept; None where that is not said in one."""
    if second is True:
        return dict(first)
    if second is False or not _apart(first, second):
        return None
    made = dict(first)
    for key, value in second.items():
        if key not in first:
            made[key] = value
        elif key == "properties":
            made[key] = {**value, **first[key]}
            for name in first[key].keys() & value.keys():
                made[key][name] = _all((first[key][name], value[name]))
        elif key == "required" and _texts(first[key], value):
            made[key] = list(dict.fromkeys([*first[key], *value]))
        elif key == "type" and (types := _types(first[key], value)):
            made[key] = types
        elif key not in SAID and json.dumps(first[key], sort_keys=True) != json.dumps(value, sort_keys=True):
            return None  # they are not the same JSON, in which true is not 1
    return made


def _apart(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Whether the keywords of the one say the same beside those of the other."""
    for closed, fields in ((first, second), (second, first)):
        if closed.keys() & CLOSING and fields.keys() & (FIELDS | CLOSING):
            return False
        if closed.keys() & {"unevaluatedProperties", "unevaluatedItems"} and fields.keys() - SAID:
            return False
    return not any(first.keys() & group and second.keys() & group for group in TOGETHER)


def _all(schemas: Iterable[Found]) -> Found:
    """What accepts the values that all of these accept."""
    parts = [part for part in schemas if part is not True]
    if False in parts:
        return False
    return merged({"allOf": parts}) if len(parts) > 1 else parts[0] if parts else True


def _types(left: Any, right: Any) -> Any:
    """The types that both allow; nothing where that is none or not said as types."""
    lists = [[kind] if isinstance(kind, str) else kind for kind in (left, right)]
    if not all(isinstance(kinds, list | tuple) for kinds in lists):
        return []
    first, second = lists
    types = [k for k in first if k in second or k == "integer" and "number" in second]
    types += [k for k in second if k == "integer" and "number" in first and k not in types]
    return types[0] if len(types) == 1 else types


def _lifted(made: dict[str, Any], part: Found) -> dict[str, Any]:
    """The schema with what a part of its `allOf` says of type and properties, which holds of its values anyway."""
    if part is False or made.keys() & CLOSING:
        return made
    lifted = dict(made)
    if "type" in part and "type" not in made:
        lifted["type"] = part["type"]
    if "properties" in part:
        lifted["properties"] = {**part["properties"], **made.get("properties", {})}
    if "required" in part and _texts(part["required"], made.get("required", ())):
        lifted["required"] = list(dict.fromkeys([*made.get("required", ()), *part["required"]]))
    return lifted


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


def _texts(*lists: Any) -> bool:
    return all(isinstance(names, list | tuple) and all(isinstance(name, str) for name in names) for names in lists)


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
    return shortened(" -> ".join([*names[names.index(ref) :], ref]), 300)
