"""A JSON schema closed: an object that lists its `properties`, wherever in it, has no others.

JSON Schema lets through what `properties` does not name, also inside of arguments (Sec. 10.3.2.3 of 2020-12).  A guard
reads what is declared, so what is not must be allowed in so many words: by `additionalProperties`, by
`unevaluatedProperties`, or by a name that fits a pattern of `patternProperties`.  What is declared in any part that
counts for the same object, such as a way of `anyOf`, is declared.  An object without a list of properties stays open,
and so does one of which a way of `anyOf` or `oneOf` has none.

What comes out is in the same dialect, and is meant to be checked beside what came in: closed parts of `oneOf` may let
through what all of it does not.  Inside `not`, `if`, `contains` and `propertyNames` nothing is closed.

The keyword `unevaluatedProperties: false` would spare the union of names alone: where it has to stand is told by the
same walk, and the drafts before 2019-09, which tools still use, do not know it and let everything through.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

OTHERS = ("additionalProperties", "unevaluatedProperties")
WAYS = ("anyOf", "oneOf")
ONE = (*OTHERS, "items", "additionalItems", "unevaluatedItems")  # each, and those of MANY and NAMED, of another value
MANY = ("items", "prefixItems")
NAMED = ("properties", "patternProperties")
SAME = ("allOf", *WAYS)  # of the same value
BRANCHES = ("if", "then", "else")
UNDER = ("dependentSchemas", "dependencies")
DEFINED = ("$defs", "definitions")


class _Listed(NamedTuple):
    """What a schema says of properties: names, patterns, whether these are all, and whether others are allowed."""

    names: frozenset[str] = frozenset()
    patterns: frozenset[str] = frozenset()
    whole: bool = False
    open: bool = False


def closed(schema: Any) -> Any:
    """The schema in which each object that lists its properties has no others; as it is where there is none."""
    return _closed(schema, schema)


def _closed(schema: Any, root: Any) -> Any:
    """The schema of a value: what is in it closed, and itself."""
    if not isinstance(schema, Mapping):
        return schema
    made = _within(schema, root)
    said = _listed(schema, root, ())
    if not said.whole or said.open or schema.get("additionalProperties") is False:
        return made
    only = {"properties": dict.fromkeys(sorted(said.names), {}), "additionalProperties": False}
    if said.patterns:
        only["patternProperties"] = dict.fromkeys(sorted(said.patterns), {})
    if "$ref" in schema:  # to draft 7 nothing beside it counts
        return {"allOf": [made, only]}
    return {**made, "allOf": [*made.get("allOf", ()), only]}


def _within(schema: Any, root: Any) -> Any:
    """The schema with the values inside of its own closed."""
    if not isinstance(schema, Mapping):
        return schema
    made = dict(schema)
    for key, value in schema.items():
        if key in ONE and isinstance(value, Mapping):
            made[key] = _closed(value, root)
        elif key in MANY and isinstance(value, list | tuple):
            made[key] = [_closed(one, root) for one in value]
        elif key in NAMED and isinstance(value, Mapping):
            made[key] = {name: _closed(one, root) for name, one in value.items()}
        elif key in SAME and isinstance(value, list | tuple):
            made[key] = [_within(one, root) for one in value]
        elif key in BRANCHES[1:]:
            made[key] = _within(value, root)
        elif key in (*UNDER, *DEFINED) and isinstance(value, Mapping):
            made[key] = {name: _within(one, root) for name, one in value.items()}
    return made


def _listed(schema: Any, root: Any, seen: tuple[str, ...]) -> _Listed:
    """What a schema and those of the same value say of its properties; `seen` are the references that led there."""
    if not isinstance(schema, Mapping):
        return _Listed()
    named, patterns = (schema.get(key) if isinstance(schema.get(key), Mapping) else None for key in NAMED)
    parts = [
        _Listed(
            frozenset(named or ()),
            frozenset(patterns or ()),
            named is not None,
            any(schema.get(key, False) is not False for key in OTHERS),
        )
    ]
    parts += [_listed(one, root, seen) for one in _beside(schema)]
    for key in WAYS:
        ways = [one for one in _list(schema.get(key)) if _object(one)]
        said = [_listed(one, root, seen) for one in ways]
        parts.append(_joined(said, bool(said) and all(one.whole for one in said)))
    ref = schema.get("$ref")
    if isinstance(ref, str) and ref not in seen:
        parts.append(_listed(_target(ref, root), root, (*seen, ref)))
    return _joined(parts, any(part.whole for part in parts))


def _joined(parts: Iterable[_Listed], whole: bool) -> _Listed:
    parts = tuple(parts)
    return _Listed(
        frozenset().union(*(part.names for part in parts)),
        frozenset().union(*(part.patterns for part in parts)),
        whole,
        any(part.open for part in parts),
    )


def _beside(schema: Mapping[str, Any]) -> Iterator[Any]:
    """The schemas of the same value that count all, or where something holds."""
    yield from _list(schema.get("allOf"))
    yield from (schema[key] for key in BRANCHES if key in schema)
    for key in UNDER:
        yield from schema[key].values() if isinstance(schema.get(key), Mapping) else ()


def _object(schema: Any) -> bool:
    """Whether an object may fit, as far as the type tells."""
    kind = schema.get("type", "object") if isinstance(schema, Mapping) else "object" if schema else ""
    return kind == "object" or (isinstance(kind, list | tuple) and "object" in kind)


def _target(ref: str, root: Any) -> Any:
    """What a reference into the same schema names; nothing where that is not found."""
    found = root
    if not ref.startswith("#"):
        return None
    for part in ref[1:].split("/")[1:]:
        part = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping):
            found = found.get(part)
        elif isinstance(found, list | tuple) and part.isdecimal() and int(part) < len(found):
            found = found[int(part)]
        else:
            return None
    return found


def _list(value: Any) -> Iterable[Any]:
    return value if isinstance(value, list | tuple) else ()
