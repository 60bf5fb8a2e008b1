"""A JSON schema compiled into a check: a value from outside in, a plain one that fits out.

A value is copied as it is read: values of exactly JSON's types (lists become tuples), numbers finite and integers of 64
bits, texts of whole characters.  Anything else, such as a subclass, a number of another library or NaN, is told by the
identity of its type and asked nothing: no method of it can raise or lie.  What is left must fit the schema; 1.0 fits an
integer and becomes 1.

What most schemas say (types, enumerations, items, properties, bounds, `anyOf`) is checked here, in a fraction of a
microsecond a value; where a schema says more, the library `jsonschema` reads the value as well, without any network.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from wb.domain import jsonl
from wb.domain.trace import Value

MOST = 100_000  # values in one argument or field, each as often as it is met
LARGEST = 2**63  # integers have 64 bits, as in CEL
NAMES = ((type(None), "null"), (list, "array"), (tuple, "array"), (dict, "object"))
CHECKED = {"type", "enum", "items", "properties", "required", "additionalProperties", "anyOf"}  # here, with LIMITS
SAID = {"title", "description", "default", "examples", "keywords", "name", "format", "deprecated", "$comment"}
SAID |= {"readOnly", "writeOnly", "$schema", "$id", "$defs", "definitions"}  # what asks nothing of a value
Check = Callable[[Any], Value]  # the value as it is read, or `Unfit`
_named = type.__dict__["__name__"].__get__  # a class's name, whatever its own class says


class Unfit(ValueError):
    """A value that is not what was required; the message says where in it, what was required and what was got."""

    def __init__(self, problem: str, place: str = "") -> None:
        super().__init__(f"{place}: {problem}" if place else problem)
        self.problem, self.place = problem, place

    def within(self, place: str) -> Unfit:
        """The same, of a value inside another one."""
        return Unfit(self.problem, place + self.place)


def compiled(schema: Any, root: Mapping[str, Any] | None = None) -> Check:
    """What reads a value from outside by a schema; `root` is the schema that its references name.

    No value fits a schema that cannot be read.
    """
    try:
        check = _check(schema)
        whole = _library(schema, schema if root is None else root) if _beyond(schema) else _same
    except Exception as error:
        return _never(f"its schema cannot be read: {why(error)}")
    if whole is _same and _flat(schema):
        return _quick(schema, check)  # it copies what it reads, so that the value need not be copied first
    return lambda value: whole(check(plain(value)))


def plain(value: object) -> Value:
    """The value as JSON that nobody else holds, lists as tuples; `Unfit` where it is none."""
    return _copied(value, jsonl.DEEPEST, [MOST])


def thawed(value: Any) -> Any:
    """A frozen JSON value with lists, as the library reads it."""
    if isinstance(value, dict):
        return {key: thawed(one) for key, one in value.items()}
    return [thawed(one) for one in value] if isinstance(value, tuple | list) else value


def why(error: Exception) -> str:
    """What is wrong with a value, as its check or what broke in it says."""
    return str(error) if isinstance(error, Unfit) else f"it cannot be checked: {_named(type(error))}: {error}"[:300]


def got(value: object) -> str:
    """What was got, in a few words that ask it nothing: a plain text or number as it is, else its type."""
    kind = type(value)
    if kind is str or kind is float or kind is bool:
        return jsonl.shown(value[: jsonl.SHOWN] if kind is str else value)
    if kind is int:
        return str(value) if -LARGEST <= value < LARGEST else "one of more than 64 bits"
    return next((name for known, name in NAMES if known is kind), _named(kind)[:80])


# ---- plain values ---------------------------------------------------------------------------------


def _copied(value: object, levels: int, left: list[int]) -> Value:
    """A copy of a value of at most so many levels and, with all that came before, so many values."""
    kind = type(value)
    for known, read in SCALARS:
        if kind is known:
            return read(value)
    if kind is not list and kind is not tuple and kind is not dict:
        raise Unfit(f"a JSON value was required; got {got(value)}")
    if not levels:
        raise Unfit(f"JSON nested at most {jsonl.DEEPEST} levels was required; got more")
    left[0] -= len(value)
    if left[0] < 0:
        raise Unfit(f"JSON of at most {MOST} values was required; got more")
    if kind is dict:
        return {text(key): _copied(one, levels - 1, left) for key, one in value.items()}
    if _all_texts(value):
        return tuple(value)
    return tuple([_copied(one, levels - 1, left) for one in value])


def _all_texts(value: list | tuple) -> bool:
    """Whether all items are plain texts of ASCII: the short way for what most lists hold."""
    for one in value:
        if type(one) is not str or not one.isascii():
            return False
    return True


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


def _finite(value: float) -> float:
    if math.isfinite(value):
        return value
    raise Unfit(f"a finite number was required; got {value}")


def _whole(value: float) -> int:
    if _finite(value).is_integer():
        return _integer(int(value))
    raise Unfit(f"an integer was required; got {got(value)}")


def _same[T](value: T) -> T:
    return value


SCALARS: tuple[tuple[type, Check], ...] = (
    (str, text),
    (int, _integer),
    (bool, _same),
    (float, _finite),
    (type(None), _same),
)
ATOMS = tuple(kind for kind, _ in SCALARS)
NUMBERS, LISTS = (int, float), (list, tuple)
LIMITS: dict[str, tuple[tuple[type, ...], Callable[[Any], Any], Callable[[Any, Any], bool]]] = {
    "minimum": (NUMBERS, _same, operator.ge),
    "maximum": (NUMBERS, _same, operator.le),
    "exclusiveMinimum": (NUMBERS, _same, operator.gt),
    "exclusiveMaximum": (NUMBERS, _same, operator.lt),
    "minLength": ((str,), len, operator.ge),
    "maxLength": ((str,), len, operator.le),
    "minItems": (LISTS, len, operator.ge),
    "maxItems": (LISTS, len, operator.le),
}


# ---- checks ---------------------------------------------------------------------------------------


def _quick(schema: Mapping[str, Any], check: Check) -> Check:
    """The same check with a short way for the values that are asked for most: it reads them, and leaves the others."""
    types = _types(schema)
    if schema.keys() & LIMITS.keys() or "anyOf" in schema:
        return check
    if types == ("array",) and _check(schema.get("items")) is text:

        def texts(value: Any) -> Value:
            if type(value) is not list or len(value) > MOST:
                return check(value)
            for one in value:
                if type(one) is not str or not one.isascii():
                    return check(value)
            return tuple(value)

        return texts
    if types == ("string",) and "enum" in schema:
        options = frozenset(option for option in schema["enum"] if type(option) is str)
        return lambda value: value if type(value) is str and value in options else check(value)
    if types == ("boolean",) and "enum" not in schema:
        return lambda value: value if value is True or value is False else check(value)
    if types == ("integer",) and "enum" not in schema:
        return lambda value: value if type(value) is int and -LARGEST <= value < LARGEST else check(value)
    return check


def _flat(schema: Mapping[str, Any]) -> bool:
    """Whether the values that fit are scalars, or lists of one type of scalars."""
    types, scalars = set(_types(schema)), {"string", "boolean", "integer", "number", "null"}
    item = schema.get("items")
    return types <= scalars or (types <= {"array", *scalars} and type(item) is dict and set(_types(item)) <= scalars)


def _check(schema: Any) -> Check:
    """The check of a plain value by the part of a schema that is read here; one that is `_flat` need not be plain."""
    if type(schema) is not dict:
        return _same if schema is True else _never("no value was required; got one")
    if "anyOf" in schema:
        whole, some = _check({key: one for key, one in schema.items() if key != "anyOf"}), schema["anyOf"]
        return _both(whole, _any([_check(one) for one in some]))
    types = _types(schema)
    if types == ("string",) and not schema.keys() & {"enum", *LIMITS}:
        return text
    by_type = tuple({kind: read for name in types for kind, read in _readers(name, schema).items()}.items())
    wanted = " or ".join(types)
    listed = schema.get("enum")
    options = None if listed is None else frozenset((type(o) is bool, o) for o in listed if type(o) in ATOMS)

    def check(value: Any) -> Value:
        given = type(value)
        for kind, read in by_type:
            if given is kind:
                return read(value)
        raise Unfit(f"{wanted} was required; got {got(value)}")

    def one_of(value: Any) -> Value:
        found = check(value)
        if type(found) not in ATOMS or (type(found) is bool, found) not in options:
            shown = ", ".join([got(option) for option in listed])
            raise Unfit(f"one of {shown:.200} was required; got {got(value)}")
        return found

    found = check if options is None else one_of
    for name in LIMITS.keys() & schema.keys():
        found = _both(found, _limit(name, schema[name]))
    return found


def _both(first: Check, second: Check) -> Check:
    return lambda value: second(first(value))


def _limit(name: str, limit: int | float) -> Check:
    kinds, measure, keeps = LIMITS[name]

    def check(value: Any) -> Value:
        if type(value) in kinds and not keeps(measure(value), limit):  # it was checked before: its type is JSON's
            raise Unfit(f"{name} {limit} was required; got {got(value) if measure is _same else measure(value)}")
        return value

    return check


def _any(checks: Sequence[Check]) -> Check:
    """The first check that a value passes."""

    def check(value: Any) -> Value:
        problems = []
        for one in checks:
            try:
                return one(value)
            except Unfit as error:
                problems.append(str(error))
        raise Unfit("; or ".join(problems))

    return check


def _types(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """The types that a schema leaves open."""
    said = schema.get("type", ["null", "boolean", "number", "string", "array", "object"])
    return (said,) if type(said) is str else tuple(said)


def _readers(name: str, schema: Mapping[str, Any]) -> dict[type, Check]:
    match name:
        case "string":
            return {str: text}
        case "boolean":
            return {bool: _same}
        case "null":
            return {type(None): _same}
        case "integer":
            return {int: _integer, float: _whole}
        case "number":
            return {int: _integer, float: _finite}
        case "array":
            return dict.fromkeys(LISTS, _array(schema))
        case "object":
            return {dict: _object(schema)}
        case _:
            raise ValueError(f"a type of JSON was required; got {got(name)}")


def _array(schema: Mapping[str, Any]) -> Check:
    if "items" not in schema or type(schema["items"]) not in (dict, bool) or "prefixItems" in schema:
        return _same
    item = _check(schema["items"])
    texts = item is text

    def items(value: list | tuple) -> tuple:
        if len(value) > MOST:
            raise Unfit(f"JSON of at most {MOST} values was required; got more")
        if texts and _all_texts(value):
            return tuple(value)
        found: list[Value] = []
        try:
            for one in value:
                found.append(item(one))
        except Unfit as error:
            raise error.within(f"[{len(found)}]") from None
        return tuple(found)

    return items


def _object(schema: Mapping[str, Any]) -> Check:
    fields = {name: _check(one) for name, one in schema.get("properties", {}).items()}
    required, others = tuple(schema.get("required", ())), schema.get("additionalProperties", True)
    other = _same if others is True or "patternProperties" in schema else _check(others)
    if not fields and not required and other is _same:
        return _same

    def properties(value: dict) -> dict:
        found: dict[str, Value] = {}
        name = ""
        try:
            for name, one in value.items():
                found[name] = fields.get(name, other)(one)
        except Unfit as error:
            raise error.within(f".{name[:80]}") from None
        for name in required:
            if name not in found:
                raise Unfit("a value was required; got none", f".{name}")
        return found

    return properties


def _never(problem: str) -> Check:
    def check(value: object) -> Value:
        raise Unfit(problem)

    return check


def _beyond(schema: object) -> bool:
    """Whether a schema, or one inside it, asks for what is not checked here."""
    if type(schema) is not dict:
        return False
    values = schema.get("enum", [])
    inner = [*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")]
    return (
        not schema.keys() <= CHECKED | SAID | LIMITS.keys()
        or type(schema.get("items")) is list
        or not all(type(value) in ATOMS for value in values)
        or not all(type(schema[name]) in (int, float) for name in LIMITS.keys() & schema.keys())
        or any(map(_beyond, [*inner, *schema.get("anyOf", ())]))
    )


def _library(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Check:
    """The check of a plain value by the whole of a schema, by the library; a reference to elsewhere is not followed."""
    from jsonschema import Draft202012Validator, validators
    from jsonschema.exceptions import best_match
    from referencing import Registry

    made = validators.validator_for(root, default=Draft202012Validator)(root, registry=Registry()).evolve(schema=schema)

    def check(value: Value) -> Value:
        error = best_match(made.iter_errors(thawed(value)))
        if error is not None:
            place = "".join(f"[{part}]" if type(part) is int else f".{part}" for part in error.absolute_path)
            raise Unfit(f"a value that fits its schema was required; {error.message:.200}", place)
        return value

    return check
