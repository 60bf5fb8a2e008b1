"""A JSON schema compiled into a check: a value from outside in, a plain one that fits out.

A value is copied as it is read: values of exactly JSON's types (lists become tuples), numbers finite, whole numbers of
64 bits and as integers (1.0 is 1, as in JSON Schema), texts of whole characters.  Anything else, such as a subclass, a
number of another library or NaN, is told by the identity of its type and asked nothing: no method of it can raise or
lie.  What is left must fit the schema, which the library `jsonschema_rs` reads: without a network, and patterns within
a limit of steps.

JSON Schema lets through what `properties` does not name, also inside of arguments (Sec. 10.3.2.3 of 2020-12).  A guard
reads what is declared, so what is not must be allowed in so many words: by `additionalProperties`, by
`unevaluatedProperties`, or by a name that fits a pattern of `patternProperties`.  What is declared in any part that
counts for the same object, such as a way of `anyOf`, is declared.  An object without a list of properties stays open,
and so does one of which a way of `anyOf` or `oneOf` has none.

A closed schema is in the same dialect, and is meant to be checked beside what it was: closed parts of `oneOf` may let
through what all of it does not.  Inside `not`, `if`, `contains` and `propertyNames` nothing is closed.  The keyword
`unevaluatedProperties: false` would spare the union of names alone: where it has to stand is told by the same walk, and
the drafts before 2019-09, which tools still use, do not know it and let everything through.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import jsonschema_rs

from wb.domain import jsonl
from wb.domain.trace import Value

MOST = 100_000  # values in one argument or field, each as often as it is met
LARGEST = 2**63  # integers have 64 bits, as in CEL
NAMES = ((type(None), "null"), (list, "array"), (tuple, "array"), (dict, "object"))
UNDECLARED = " (tools.json declares none: name it in `properties` there, or allow others by `additionalProperties`)"
PATTERNS = jsonschema_rs.FancyRegexOptions(backtrack_limit=10_000, size_limit=1_000_000)
OTHERS = ("additionalProperties", "unevaluatedProperties")
WAYS = ("anyOf", "oneOf")
ONE = (*OTHERS, "items", "additionalItems", "unevaluatedItems")  # each, and those of MANY and NAMED, of another value
MANY = ("items", "prefixItems")
NAMED = ("properties", "patternProperties")
SAME = ("allOf", *WAYS)  # of the same value
BRANCHES = ("if", "then", "else")
UNDER = ("dependentSchemas", "dependencies")
DEFINED = ("$defs", "definitions")
Check = Callable[[Any], Value]  # the value as it is read, or `Unfit`
_named = type.__dict__["__name__"].__get__  # a class's name, whatever its own class says


class Unfit(ValueError):
    """A value that is not what was required; the message says where in it, what was required and what was got."""


def problem(schema: Any) -> str:
    """Why a schema cannot be read; empty where it can."""
    made = _made(schema)
    return made if isinstance(made, str) else ""


def _made(schema: Any) -> Any:
    """The validator of a schema, or why there is none."""
    try:
        return jsonschema_rs.validator_for(schema, offline=True, pattern_options=PATTERNS)
    except jsonschema_rs.ValidationError as error:
        place = "".join(f"/{part}" for part in error.instance_path)
        return f"cannot be read: {f'#{place}: ' if place else ''}{error.message:.200}"
    except Exception as error:
        return f"cannot be read: {str(error).partition(chr(10))[0]:.200}"


def compiled(schema: Any, *, closed: bool = False) -> Check:
    """What reads a value from outside by a schema. No value fits a schema that cannot be read.

    With `closed`, no value fits either that has properties in it which the schema does not declare.
    """
    made, only = _made(schema), closing(schema) if closed else schema
    strict = made if only == schema else _made(only)
    for one in (made, strict):
        if isinstance(one, str):
            return _never(f"its schema {one}")
    fits, alone = made.is_valid, None if strict is made else strict.is_valid

    def check(value: object) -> Value:
        found = plain(value)
        if fits(found):
            if alone is None or alone(found):
                return found
            raise Unfit(f"{_all(strict, found)}{UNDECLARED}")
        raise Unfit(_all(made, found))

    return check


def _all(made: Any, found: Value) -> str:
    """What a schema requires of a value that does not fit it."""
    return "; ".join([_told(error) for error in made.iter_errors(found)])[:400] or "it does not fit"


def _told(error: jsonschema_rs.ValidationError) -> str:
    """What a schema required of a value inside the one that was checked, and what was got."""
    parts = [f"[{part}]" if type(part) is int else f".{part:.80}" for part in error.instance_path]
    place = "".join(parts).removeprefix(".")
    wanted, found = error.kind.value, error.instance
    match error.kind.name:
        case "type":
            said = f"{' or '.join(wanted)} was required; got {got(found)}"
        case "enum":
            said = f"one of {', '.join(map(got, wanted)):.200} was required; got {got(found)}"
        case "required":
            place, said = f"{place}.{wanted:.80}".removeprefix("."), "a value was required; got none"
        case "falseSchema":
            said = f"no value was required; got {got(found)}"
        case "anyOf":
            said = "; or ".join([_told(one) for way in wanted for one in way][:4])
        case "additionalProperties":
            said = f"no {', '.join(map(got, wanted)):.200} was required; got one"
        case name:
            size = f" of size {len(found)}" if type(found) in (list, dict) else ""
            said = f"{name} {str(wanted):.100} was required; got {got(found)}{size}"
    return f"{place}: {said}" if place else said


def plain(value: object) -> Value:
    """The value as JSON that nobody else holds, lists as tuples; `Unfit` where it is none."""
    return _copied(value, jsonl.DEEPEST, [MOST])


def same(one: Value, other: Value) -> bool:
    """Whether two plain values are the same in JSON: 1 is neither true nor "1"."""
    kind = type(one)
    if kind is not type(other):
        return False
    if kind is dict:
        return one.keys() == other.keys() and all(same(value, other[name]) for name, value in one.items())
    if kind is tuple:
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


def why(error: Exception) -> str:
    """What is wrong with a value, as its check or what broke in it says."""
    return str(error) if type(error) is Unfit else f"it cannot be checked: {said(error)}"[:300]


def said(value: object, most: int = 500) -> str:
    """What was raised or got, in a few words, whatever it says of itself: its kind alone where its own text breaks."""
    kind = _named(type(value))[:80]
    try:
        return f"{kind}: {value}"[:most].encode("utf-8", "backslashreplace").decode()
    except BaseException:  # also what ends a thread
        return kind


def got(value: object) -> str:
    """What was got, in a few words that ask it nothing: a plain text or number as it is, else its type."""
    kind = type(value)
    if kind is str or kind is float or kind is bool:
        return jsonl.shown(value[: jsonl.SHOWN] if kind is str else value)
    if kind is int:
        return str(value) if -LARGEST <= value < LARGEST else "one of more than 64 bits"
    return next((name for known, name in NAMES if known is kind), _named(kind)[:80])


def named(name: str) -> str:
    """A name that a stranger may have chosen, in a message: as it is where it is plain ASCII, else quoted, escaped."""
    return name if name.isascii() and name.isprintable() and len(name) <= jsonl.SHOWN else got(name)


# ---- plain values ---------------------------------------------------------------------------------


def _copied(value: object, levels: int, left: list[int]) -> Value:
    """A copy of a value of at most so many levels and, with all that came before, so many values."""
    kind = type(value)
    if kind is str:
        return value if value.isascii() else text(value)
    if kind is bool or value is None:
        return value
    if kind is int:
        return _integer(value)
    if kind is float:
        return _number(value)
    if kind is not list and kind is not tuple and kind is not dict:
        raise Unfit(f"a JSON value was required; got {got(value)}")
    if not levels:
        raise Unfit(f"JSON nested at most {jsonl.DEEPEST} levels was required; got more")
    left[0] -= len(value)
    if left[0] < 0:
        raise Unfit(f"JSON of at most {MOST} values was required; got more")
    if kind is dict:
        return {text(key): _copied(one, levels - 1, left) for key, one in value.items()}
    return tuple([_copied(one, levels - 1, left) for one in value])


def text(value: object) -> str:
    """A text of whole characters."""
    if type(value) is not str:
        raise Unfit(f"string was required; got {got(value)}")
    try:
        value.isascii() or value.encode()
    except UnicodeEncodeError:
        raise Unfit(f"whole Unicode characters were required; got {got(value)}") from None
    return value


def _integer(value: int) -> int:
    if -LARGEST <= value < LARGEST:
        return value
    raise Unfit(f"an integer of at most 64 bits was required; got {got(value)}")


def _number(value: float) -> int | float:
    if not math.isfinite(value):
        raise Unfit(f"a finite number was required; got {value}")
    return _integer(int(value)) if value.is_integer() else value


def _never(problem: str) -> Check:
    def check(value: object) -> Value:
        raise Unfit(problem)

    return check


# ---- closed schemas ----------------------------------------------------------------------------------


class _Listed(NamedTuple):
    """What a schema says of properties: names, patterns, whether these are all, and whether others are allowed."""

    names: frozenset[str] = frozenset()
    patterns: frozenset[str] = frozenset()
    whole: bool = False
    open: bool = False


def closing(schema: Any) -> Any:
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
    open_ = any(schema.get(key, False) is not False for key in OTHERS)
    parts = [_Listed(frozenset(named or ()), frozenset(patterns or ()), named is not None, open_)]
    parts += [_listed(one, root, seen) for one in _beside(schema)]
    for key in WAYS:
        ways = [one for one in _list(schema.get(key)) if _object(one)]
        said = [_listed(one, root, seen) for one in ways]
        parts.append(_joined(said, bool(said) and all(one.whole for one in said)))
    ref = schema.get("$ref")
    if isinstance(ref, str) and ref not in seen:
        try:
            parts.append(_listed(resolved(root)(ref), root, (*seen, ref)))
        except LookupError:  # what cannot be followed declares nothing
            parts.append(_Listed(whole=True))
    return _joined(parts, any(part.whole for part in parts))


def _joined(parts: Iterable[_Listed], whole: bool) -> _Listed:
    parts = tuple(parts)
    names, patterns = (frozenset().union(*(part[at] for part in parts)) for at in (0, 1))
    return _Listed(names, patterns, whole, any(part.open for part in parts))


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


def resolved(contents: Any) -> Callable[[str], Any]:
    """What finds the part of a document that a reference into it names, fetching nothing; `LookupError` where none."""
    import referencing
    from referencing.exceptions import Unresolvable

    made = referencing.Resource(contents=contents, specification=referencing.Specification.OPAQUE)
    resolver = referencing.Registry().with_resource("", made).resolver()

    def target(ref: str) -> Any:
        try:
            return resolver.lookup(ref).contents
        except (Unresolvable, LookupError, TypeError, ValueError):
            raise LookupError(ref) from None

    return target


def _list(value: Any) -> Iterable[Any]:
    return value if isinstance(value, list | tuple) else ()
