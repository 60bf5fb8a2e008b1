"""What may be done with the values of facts: compared, computed with, gone through; unknown where it cannot be done.

Values are those of JSON (None is its null), times and durations; `UNKNOWN` is what is not known, and whatever has no
answer, as an integer beyond 64 bits or a double that is not finite.  A value of any other type is asked nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import tzinfo
from functools import partial

from wb.logic import times
from wb.logic.facts import MAX_DEPTH, Kind
from wb.logic.times import Duration, Timestamp

MAX_TEXT = 100_000  # characters of a text that is computed with
SPACE = "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
_LOWER = {upper: upper + 32 for upper in range(65, 91)}
_UPPER = {lower: lower - 32 for lower in range(97, 123)}


class _Unknown:
    """Not known; None is JSON's null here."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "unknown"


UNKNOWN = _Unknown()


class PartialArguments(dict):
    """The arguments of a call of which those that it does not name are not known, where a plain dict says that they
    are not there: what a turn in free text was found to say.  Its parts are read; `has` of another one is unknown."""

    __slots__ = ()


def kind_of(value: object) -> Kind | None:
    """What a value is, of `facts.Kind`; None for what is unknown or foreign.  Asks the value itself nothing."""
    kind = type(value)
    if kind is str:
        return "string"
    if kind is int or (kind is float and math.isfinite(value)):
        return "number"
    if kind is bool:
        return "bool"
    if kind is list or kind is tuple:
        return "list"
    if kind is dict:
        return "record"
    if value is None:
        return "null"
    return "timestamp" if kind is Timestamp else "duration" if kind is Duration else None


def known(value: object) -> object:
    """The value; `UNKNOWN` for None."""
    return UNKNOWN if value is None else value


def named(record: object, name: object) -> object:
    """Whether a record has something under a name."""
    if type(record) is not dict or type(name) is not str:
        return UNKNOWN
    try:
        return name in record
    except Exception:  # a key that is no text may raise when it is compared
        return UNKNOWN


def part(of: object, key: object) -> object:
    """What a record has under a name, or a list at a place from 0."""
    kind = type(of)
    if kind is dict:
        if type(key) is not str:
            return UNKNOWN
        try:
            return of.get(key, UNKNOWN)
        except Exception:
            return UNKNOWN
    if (kind is not list and kind is not tuple) or not is_number(key) or not 0 <= key < len(of):
        return UNKNOWN
    return of[int(key)] if key == int(key) else UNKNOWN


def size(value: object) -> object:
    """How many items a list has; the names of a record are no items, as they would be in CEL."""
    kind = type(value)
    return len(value) if kind is list or kind is tuple else UNKNOWN


def length(value: object) -> object:
    """How many characters a text has, or items anything else."""
    return len(value) if type(value) is str else size(value)


def gone_through(value: object, most: int) -> list | tuple | None:
    """The items of a list; None where it is none, or has too many."""
    kind = type(value)
    return value if (kind is list or kind is tuple) and len(value) <= most else None


def same(one: object, other: object, most: int) -> bool | None:
    """Whether two values are equal, at most so many parts looked at; None for values of different types."""
    left = [most]

    def same(one: object, other: object, depth: int) -> bool | None:
        kind = kind_of(one)
        left[0] -= 1
        if kind is None or kind is not kind_of(other) or left[0] < 0 or depth > MAX_DEPTH:
            return None
        if kind not in ("list", "record"):
            return one == other
        if len(one) != len(other):
            return False
        if kind == "list":
            pairs = zip(one, other, strict=True)
        else:
            if not all(type(name) is str for record in (one, other) for name in record):
                return None
            if one.keys() != other.keys():
                return False
            pairs = ((value, other[name]) for name, value in one.items())
        whole: bool | None = True
        for first, second in pairs:
            found = same(first, second, depth + 1)
            if found is False:
                return False
            whole = None if found is None else whole
            if left[0] < 0:
                return None
        return whole

    return same(one, other, 0)


def within(item: object, of: object, most: int) -> object:
    """Whether an item is in a list of at most so many, or a name in a record."""
    if type(of) is dict:
        return named(of, item)
    found = gone_through(of, most)
    if found is None:
        return UNKNOWN
    whole: object = False
    for one in found:
        equal = same(item, one, most)
        if equal:
            return True
        whole = UNKNOWN if equal is None else whole
    return whole


def null(value: object, *, wanted: bool) -> object:
    """Whether a value is null, or is not, as wanted."""
    return UNKNOWN if kind_of(value) is None else (value is None) is wanted


def ordered(compare: Callable[[object, object], bool]) -> Callable[[object, object], object]:
    """The comparison of two numbers, texts, truths, times or durations."""

    def test(one: object, other: object) -> object:
        kind = kind_of(one)
        if kind is None or kind is not kind_of(other) or kind in ("list", "record", "null"):
            return UNKNOWN
        return compare(one, other)

    return test


# ---- macros ---------------------------------------------------------------------------------------

Items = list | tuple
Body = Callable[[object], object]


def _decided(items: Items, body: Body, *, decides: bool) -> object:
    whole: object = not decides
    for item in items:
        value = body(item)
        if value is decides:
            return decides
        if value is not (not decides):
            whole = UNKNOWN
    return whole


def _exists_one(items: Items, body: Body) -> object:
    count, unsure = 0, False
    for item in items:
        value = body(item)
        count += value is True
        unsure = unsure or type(value) is not bool
        if count > 1:
            return False
    return UNKNOWN if unsure else count == 1


def _filtered(items: Items, body: Body) -> object:
    kept = [(item, body(item)) for item in items]
    if any(type(value) is not bool for _, value in kept):
        return UNKNOWN
    return tuple([item for item, value in kept if value])


MACROS: dict[str, Callable[[Items, Body], object]] = {
    "all": partial(_decided, decides=False),
    "exists": partial(_decided, decides=True),
    "exists_one": _exists_one,
    "filter": _filtered,
    "map": lambda items, body: tuple([body(item) for item in items]),
}


# ---- numbers, texts, times --------------------------------------------------------------------------


def is_number(value: object) -> bool:
    """Whether a value is an integer or a finite double."""
    kind = type(value)
    return kind is int or (kind is float and math.isfinite(value))


def _checked(value: int | float) -> object:
    """The number, where its type has it."""
    if type(value) is int:
        return value if -(2**63) <= value < 2**63 else UNKNOWN
    return value if math.isfinite(value) else UNKNOWN


def _numbers(one: object, other: object) -> type | None:
    """The type of two numbers of one type, both within it; None for anything else."""
    kind = type(one)
    if kind is not type(other) or kind not in (int, float):
        return None
    return kind if _checked(one) is not UNKNOWN and _checked(other) is not UNKNOWN else None


def _plus(one: object, other: object, most: int) -> object:
    kinds = kind_of(one), kind_of(other)
    match kinds:
        case "number", "number":
            return _checked(one + other) if _numbers(one, other) else UNKNOWN
        case "string", "string":
            return one + other if len(one) + len(other) <= MAX_TEXT else UNKNOWN
        case "list", "list":
            return (*one, *other) if len(one) + len(other) <= most else UNKNOWN
        case ("timestamp", "duration") | ("duration", "timestamp"):
            return known(times.moment(one.nanoseconds + other.nanoseconds))
        case "duration", "duration":
            return known(times.length(one.nanoseconds + other.nanoseconds))
    return UNKNOWN


def _less(one: object, other: object) -> object:
    match kind_of(one), kind_of(other):
        case "number", "number":
            return _checked(one - other) if _numbers(one, other) else UNKNOWN
        case ("timestamp", "timestamp") | ("duration", "duration"):
            return known(times.length(one.nanoseconds - other.nanoseconds))
        case "timestamp", "duration":
            return known(times.moment(one.nanoseconds - other.nanoseconds))
    return UNKNOWN


def _times(one: object, other: object) -> object:
    return _checked(one * other) if _numbers(one, other) else UNKNOWN


def _over(one: object, other: object) -> object:
    """Integers are divided towards zero."""
    kind = _numbers(one, other)
    if kind is None or other == 0:
        return UNKNOWN
    if kind is float:
        return _checked(one / other)
    whole = abs(one) // abs(other)
    return _checked(whole if (one < 0) == (other < 0) else -whole)


def _rest(one: object, other: object) -> object:
    """What an integer division leaves, with the sign of the dividend."""
    if _numbers(one, other) is not int or other == 0 or (one == -(2**63) and other == -1):
        return UNKNOWN
    rest = abs(one) % abs(other)
    return rest if one >= 0 else -rest


def minus(value: object) -> object:
    """The number with the other sign."""
    return _checked(-value) if is_number(value) else UNKNOWN


def computing(op: str, most: int) -> Callable[[object, object], object]:
    """What an operator of `facts.ARITHMETIC` does to two values; a list has at most so many items."""
    return partial(_plus, most=most) if op == "+" else _COMPUTED[op]


def aggregating(name: str, most: int) -> Callable[[object], object]:
    """What sum, min or max does to a list of at most so many items."""
    return partial(_AGGREGATED[name], most=most)


def _counted(value: object, most: int) -> Items | None:
    """The numbers of a list; None where it is none, too long, or holds anything else."""
    if type(value) is not list and type(value) is not tuple:
        return None
    return value if len(value) <= most and all(map(is_number, value)) else None


def _sum(value: object, most: int) -> object:
    """Whole numbers are summed exactly, others rounded once; of both kinds, to a double."""
    numbers = _counted(value, most)
    if numbers is None:
        return UNKNOWN
    if all([type(number) is int for number in numbers]):
        return _checked(sum(numbers))
    try:
        return _checked(math.fsum(numbers))
    except OverflowError:
        return UNKNOWN


def _least(value: object, most: int) -> object:
    return min(_counted(value, most) or (), default=UNKNOWN)


def _most(value: object, most: int) -> object:
    return max(_counted(value, most) or (), default=UNKNOWN)


def time_part(value: object, *, name: str, at: tzinfo | None) -> object:
    """What a function such as getHours gives of a time in a zone (None is UTC), or of a duration."""
    kind = type(value)
    if kind is not Timestamp and (kind is not Duration or at is not None):
        return UNKNOWN
    return known(times.part(value, name) if at is None else times.part(value, name, at))


def _to_int(value: object) -> object:
    match kind_of(value):
        case "number" if type(value) is int or abs(value) < 2**63:
            return _checked(int(value))
        case "string" if len(value) <= 20 and value.isascii() and value.removeprefix("-").isdigit():
            return _checked(int(value))
        case "timestamp":
            return value.nanoseconds // times.SECOND
    return UNKNOWN


def _to_double(value: object) -> object:
    if not is_number(value) and (type(value) is not str or len(value) > 400 or "_" in value or value != value.strip()):
        return UNKNOWN
    try:
        return _checked(float(value))
    except (ValueError, OverflowError):
        return UNKNOWN


def _to_string(value: object) -> object:
    match kind_of(value):
        case "string":
            return value
        case "bool":
            return "true" if value else "false"
        case "number" if type(value) is int and _checked(value) is not UNKNOWN:
            return str(value)
    return UNKNOWN


def _to_timestamp(value: object) -> object:
    return value if type(value) is Timestamp else known(times.timestamp(value)) if type(value) is str else UNKNOWN


def _to_duration(value: object) -> object:
    return value if type(value) is Duration else known(times.duration(value)) if type(value) is str else UNKNOWN


def _text(function: Callable[..., object]) -> Callable[..., object]:
    """The function of texts that are not too long."""

    def of(*values: object) -> object:
        short = all([type(value) is str and len(value) <= MAX_TEXT for value in values])
        return function(*values) if short else UNKNOWN

    return of


_COMPUTED = {"-": _less, "*": _times, "/": _over, "%": _rest}
_AGGREGATED = {"sum": _sum, "min": _least, "max": _most}
FUNCTIONS: dict[str, Callable[..., object]] = {
    "int": _to_int,
    "double": _to_double,
    "string": _to_string,
    "timestamp": _to_timestamp,
    "duration": _to_duration,
    "startsWith": _text(str.startswith),
    "endsWith": _text(str.endswith),
    "contains": _text(str.__contains__),
    "lowerAscii": _text(lambda text: text.translate(_LOWER)),
    "upperAscii": _text(lambda text: text.translate(_UPPER)),
    "trim": _text(lambda text: text.strip(SPACE)),
}
