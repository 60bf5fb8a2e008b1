"""Facts read off their tree, the slow and plain way: a part that has no value raises.

Nothing is shared with `evaluation` but the tree: numbers are fractions, times are `datetime`s (whole microseconds).
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction
from zoneinfo import ZoneInfo

from wb.logic import facts as F


class NoValue(Exception):
    """The part is unknown."""


HIDDEN = object()  # an item of a list that is unknown
SPACES = "".join(map(chr, (*range(9, 14), 32, 133, 160, 5760, *range(8192, 8203), 8232, 8233, 8239, 8287, 12288)))


def truth(fact: F.Fact, values: dict) -> bool | None:
    """True, false or None for unknown."""
    try:
        found = value(fact, values, {})
    except NoValue:
        return None
    return found if isinstance(found, bool) else None


def value(node: F.Node, roots: dict, bound: dict) -> object:
    """The node's value."""
    found = _value(node, roots, bound)
    if found is HIDDEN or (isinstance(found, float) and not math.isfinite(found)):
        raise NoValue
    return found


def _value(node, roots, bound):
    def of(inner):
        return value(inner, roots, bound)

    match node:
        case F.Scalar(literal):
            return literal
        case F.Variable(name):
            return bound[name]
        case F.Path((root, first)):
            found = entry(roots[root], first)
            if found is None and root == "state":
                raise NoValue
            return found
        case F.Path((*names, last)):
            return entry(of(F.Path(tuple(names))), last)
        case F.Part(inner, key):
            return entry(of(inner), of(key))
        case F.Size(inner):
            found = of(inner)
            if isinstance(found, str) and F.kind(inner) != "string" or not isinstance(found, str | list):
                raise NoValue
            return len(found)
        case F.List(items):
            return [maybe(item, roots, bound) for item in items]
        case F.Minus(inner):
            return number(-numeric(of(inner)))
        case F.Arithmetic(op, left, right):
            return computed(op, of(left), of(right))
        case F.Choice(test, then, otherwise):
            chosen = maybe(test, roots, bound)
            if isinstance(chosen, bool):
                return of(then if chosen else otherwise)
            one, other = of(then), of(otherwise)
            if type(one) is type(other) and equal(one, other) is True:
                return one
            raise NoValue
        case F.Function(name, arguments):
            return called(name, [of(one) for one in arguments])
        case F.Has(F.Path(("state", name))):
            if roots["state"].get(name) is None:
                raise NoValue
            return True
        case F.Has(F.Path((*names, last))):
            outer = roots[names[0]] if len(names) == 1 else of(F.Path(tuple(names)))
            return last in record(outer)
        case F.Has(F.Part(inner, F.Scalar(name))):
            return name in record(of(inner))
        case F.Macro():
            return macro(node, roots, bound)
        case F.Negation(inner):
            found = of(inner)
            if isinstance(found, bool):
                return not found
            raise NoValue
        case F.Conjunction(parts):
            return some([maybe(part, roots, bound) for part in parts], False)
        case F.Disjunction(parts):
            return some([maybe(part, roots, bound) for part in parts], True)
        case F.OneOf(item, options):
            found = of(item)
            return some([equal(found, one.value) for one in options], True) if options else sided(found)
        case F.Within(item, whole):
            within = of(whole)
            if isinstance(within, dict):
                name = of(item)
                if not isinstance(name, str):
                    raise NoValue
                return name in within
            sought = maybe(item, roots, bound)
            return some([equal(sought, one) for one in listed(within)], True)
        case F.Comparison(op, left, right) if F.Scalar(None) in (left, right):
            found = of(left if right == F.Scalar(None) else right)
            return (found is None) is (op == "==")
        case F.Comparison("==" | "!=" as op, left, right):
            return known(equal(of(left), of(right))) is (op == "==")
        case F.Comparison(op, left, right):
            one, other = of(left), of(right)
            if kind(one) != kind(other) or kind(one) in ("list", "record", "null"):
                raise NoValue
            one, other = (Fraction(x) if kind(x) == "number" else x for x in (one, other))
            return {"<": one < other, "<=": one <= other, ">": one > other, ">=": one >= other}[op]
    raise AssertionError(node)


def sided(found):
    if kind(found) not in ("number", "string", "bool"):
        raise NoValue
    return False


def maybe(node, roots, bound):
    try:
        return value(node, roots, bound)
    except NoValue:
        return HIDDEN


def known(found):
    if found is None:
        raise NoValue
    return found


def some(found: list, decides: bool) -> bool:
    """Whether one decides; no value where none does and one may."""
    if any(one is decides for one in found):
        return decides
    if all(one is (not decides) for one in found):
        return not decides
    raise NoValue


def kind(found) -> str:
    names = {bool: "bool", int: "number", float: "number", str: "string", list: "list", dict: "record"}
    return names.get(type(found)) or {datetime: "time", timedelta: "duration"}.get(type(found), "null")


def equal(one, other) -> bool | None:
    if one is HIDDEN or other is HIDDEN or kind(one) != kind(other):
        return None
    if kind(one) == "number":
        return Fraction(one) == Fraction(other)
    if kind(one) == "list":
        pairs = list(zip(one, other, strict=False))
    elif kind(one) == "record":
        pairs = [(one[name], other[name]) for name in one if name in other]
    else:
        return one == other
    if len(one) != len(other) or (kind(one) == "record" and set(one) != set(other)):
        return False
    found = [equal(a, b) for a, b in pairs]
    return False if False in found else None if None in found else True


def entry(of, key):
    if isinstance(of, dict) and isinstance(key, str) and key in of:
        return of[key]
    if isinstance(of, list) and kind(key) == "number" and key in range(len(of)):
        return of[int(key)]
    raise NoValue


def record(found) -> dict:
    if not isinstance(found, dict):
        raise NoValue
    return found


def listed(found) -> list:
    if not isinstance(found, list):
        raise NoValue
    return found


def numeric(found):
    if kind(found) != "number":
        raise NoValue
    return found


def number(found):
    """A number of its type, or none."""
    if isinstance(found, int) and not -(2**63) <= found < 2**63:
        raise NoValue
    return found


def computed(op, one, other):
    kinds = kind(one), kind(other)
    if kinds in (("string", "string"), ("list", "list")) and op == "+":
        return one + other
    if kinds == ("number", "number"):
        if type(one) is not type(other) or (op in "/%" and other == 0):
            raise NoValue
        number(one), number(other)
        if isinstance(one, float):
            if op == "%":
                raise NoValue
            return {
                "+": lambda: one + other,
                "-": lambda: one - other,
                "*": lambda: one * other,
                "/": lambda: one / other,
            }[op]()
        if op in "/%":
            whole = number(math.trunc(Fraction(one, other)))
            return whole if op == "/" else one - whole * other
        return number({"+": one + other, "-": one - other, "*": one * other}[op])
    try:
        if kinds in (("time", "duration"), ("duration", "time"), ("duration", "duration")) and op == "+":
            return one + other
        if kinds in (("time", "time"), ("time", "duration"), ("duration", "duration")) and op == "-":
            return one - other
    except OverflowError:
        pass
    raise NoValue


def called(name, given):
    first = given[0]
    if name in ("sum", "min", "max"):
        if not isinstance(first, list) or any(one is HIDDEN or kind(one) != "number" for one in first):
            raise NoValue
        if name == "sum":
            whole = sum(map(Fraction, first), Fraction(0))
            return number(int(whole)) if all(isinstance(one, int) for one in first) else float(whole)
        if not first:
            raise NoValue
        return (min if name == "min" else max)(first)
    if name == "timestamp":
        if not isinstance(first, str) or not re.search(r"T.*(Z|[+-]\d\d:\d\d)$", first):
            raise NoValue
        try:
            return datetime.fromisoformat(first).astimezone(UTC)
        except (ValueError, OverflowError):
            raise NoValue from None
    if name == "duration":
        if not isinstance(first, str) or not re.fullmatch(r"-?(\d+(h|m|s|ms))+", first):
            raise NoValue
        unit = {"h": "hours", "m": "minutes", "s": "seconds", "ms": "milliseconds"}
        parts = re.findall(r"(\d+)(ms|h|m|s)", first)
        whole = sum((timedelta(**{unit[u]: int(n)}) for n, u in parts), timedelta())
        return -whole if first[0] == "-" else whole
    if name.startswith("get"):
        return dated(name, *given)
    if name == "string":
        if isinstance(first, bool):
            return str(first).lower()
        if isinstance(first, str) or type(first) is int:
            return str(first)
        raise NoValue
    if name == "int":
        if kind(first) == "number":
            return number(math.trunc(first))
        if isinstance(first, str) and re.fullmatch(r"-?[0-9]{1,19}", first):
            return number(int(first))
        if isinstance(first, datetime):
            return (first - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)
        raise NoValue
    if name == "double":
        if kind(first) == "number" or (isinstance(first, str) and re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", first)):
            return float(first)
        raise NoValue
    if not all(isinstance(one, str) for one in given):
        raise NoValue
    return {
        "startsWith": lambda a, b: a[: len(b)] == b,
        "endsWith": lambda a, b: not b or a[-len(b) :] == b,
        "contains": lambda a, b: b in a,
        "lowerAscii": lambda a: "".join(c.lower() if c.isascii() else c for c in a),
        "upperAscii": lambda a: "".join(c.upper() if c.isascii() else c for c in a),
        "trim": lambda a: a.strip(SPACES),
    }[name](*given)


def dated(name, found, zone="UTC"):
    if isinstance(found, timedelta):
        unit = {"getHours": 3600, "getMinutes": 60, "getSeconds": 1}
        return (
            math.trunc(found / timedelta(seconds=unit[name]))
            if name in unit
            else int(found / timedelta(seconds=1) * 1000) % 1000
        )
    if not isinstance(found, datetime):
        raise NoValue
    if offset := re.fullmatch(r"([+-])(\d\d):(\d\d)", zone):
        shift = timedelta(hours=int(offset[2]), minutes=int(offset[3]))
        local = found.astimezone(timezone(-shift if offset[1] == "-" else shift))
    else:
        local = found.astimezone(ZoneInfo(zone))
    return {
        "getFullYear": local.year,
        "getMonth": local.month - 1,
        "getDate": local.day,
        "getDayOfMonth": local.day - 1,
        "getDayOfWeek": (local.weekday() + 1) % 7,
        "getDayOfYear": (local.date() - local.date().replace(month=1, day=1)).days,
        "getHours": local.hour,
        "getMinutes": local.minute,
        "getSeconds": local.second,
        "getMilliseconds": local.microsecond // 1000,
    }[name]


def macro(node, roots, bound):
    items = listed(value(node.over, roots, bound))

    def said(item):
        return maybe(node.body, roots, {**bound, node.variable.name: item})

    found = [said(item) for item in items]
    match node.name:
        case "map":
            return found
        case "all":
            return some(found, False)
        case "exists":
            return some(found, True)
        case "filter":
            if not all(isinstance(one, bool) for one in found):
                raise NoValue
            return [item for item, kept in zip(items, found, strict=True) if kept]
        case "exists_one":
            if sum(one is True for one in found) > 1:
                return False
            if not all(isinstance(one, bool) for one in found):
                raise NoValue
            return True in found
