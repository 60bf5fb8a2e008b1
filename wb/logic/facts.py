"""Facts: what is said of the state and of the judged call, as text in the Common Expression Language (CEL).

`state.age >= 18`, `size(call.guests) <= 8`, `state.role in ["editor", "owner"]`, `!state.blocked`.  `state` is what
was known just before the call, `call` its arguments.  Supported are paths, `size` of a path, literals, the six
comparisons, `in` a list of literals, `!`, `&&`, `||` and parentheses; all else of CEL is refused by name.
A fact is true, false or unknown: an absent value, one of another type than the comparison needs, and one outside its
declared enumeration are unknown (where CEL has errors, and `false` for equality across types), and unknowns combine
by Kleene's logic, as CEL's `&&` and `||` combine errors.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

ROOTS = ("state", "call")
OPERATORS = ("==", "!=", "<", "<=", ">", ">=")
_MEANING = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
COMPARE = dict(zip(OPERATORS, _MEANING, strict=True))
MIRRORED = {"==": "==", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}  # with the sides exchanged
MAX_DEPTH = 50  # nested operators, and names in a path


class FactError(ValueError):
    """No fact, or none of the supported part; the message says what was required and got, for a text where."""


# ---- the tree -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Path:
    """A value by its names, outermost first: `("state", "age")` is `state.age`; alone, a fact that it is true."""

    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if not 2 <= len(self.names) <= MAX_DEPTH or self.names[0] not in ROOTS or not all(map(_is_text, self.names)):
            raise FactError(f"a path begins with state or call and has 2 to {MAX_DEPTH} names; got {self.names!r:.80}")


@dataclass(frozen=True, slots=True)
class Size:
    """How many items a list holds; unknown of a text, whose characters or parts may be meant."""

    of: Path


@dataclass(frozen=True, slots=True)
class Scalar:
    """A literal: true or false, an integer of 64 bits, a finite double, a string.  `1`, `1.0` and `true` differ."""

    value: bool | int | float | str
    type: str = field(init=False)  # "bool", "int", "double" or "string"

    def __post_init__(self) -> None:
        kind = {bool: "bool", int: "int", float: "double", str: "string"}.get(type(self.value), "")
        if _class(self.value) is None or (kind == "string" and not _is_text(self.value)):
            raise FactError(f"a literal is a bool, an integer, a finite double or Unicode text; got {self.value!r:.80}")
        if kind == "int" and not -(2**63) <= self.value < 2**63:
            raise FactError("an integer has at most 64 bits; got one beyond")
        object.__setattr__(self, "type", kind)


Operand = Path | Size | Scalar


@dataclass(frozen=True, slots=True)
class Comparison:
    """`left OP right`: numbers with numbers, strings by code point, bools with bools (false below true)."""

    op: str
    left: Operand
    right: Operand

    def __post_init__(self) -> None:
        if self.op not in COMPARE:
            raise FactError(f"a comparison is one of {' '.join(COMPARE)}; got {self.op!r}")
        _comparable(self.left, self.right)

    @property
    def limit(self) -> tuple[Path | Size, str, Scalar] | None:
        """What is measured, the operator and the literal, in this order; None where not just one side is a literal."""
        left, op, right = self.left, self.op, self.right
        if isinstance(left, Scalar):
            left, op, right = right, MIRRORED[op], left
        return (left, op, right) if isinstance(right, Scalar) and not isinstance(left, Scalar) else None


@dataclass(frozen=True, slots=True)
class OneOf:
    """`item in [options]`."""

    item: Operand
    options: tuple[Scalar, ...]

    def __post_init__(self) -> None:
        for option in self.options:
            _comparable(self.item, option)
            _comparable(self.options[0], option)


@dataclass(frozen=True, slots=True)
class Negation:
    """`!body`."""

    body: Fact

    def __post_init__(self) -> None:
        _connects(self)


@dataclass(frozen=True, slots=True)
class Conjunction:
    """`a && b && …`, two parts or more."""

    parts: tuple[Fact, ...]

    def __post_init__(self) -> None:
        _connects(self)


@dataclass(frozen=True, slots=True)
class Disjunction:
    """`a || b || …`, two parts or more."""

    parts: tuple[Fact, ...]

    def __post_init__(self) -> None:
        _connects(self)


Fact = Path | Scalar | Comparison | OneOf | Negation | Conjunction | Disjunction
Node = Fact | Size
Read = Callable[[object, object], object]  # of what `state` and `call` stand for
Compiled = Callable[[object, object], bool | None]


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly below a node, left to right."""
    match node:
        case Size(of):
            return (of,)
        case Comparison(_, left, right):
            return (left, right)
        case OneOf(item, options):
            return (item, *options)
        case Negation(body):
            return (body,)
        case Conjunction(parts) | Disjunction(parts):
            return parts
        case _:
            return ()


def terms(fact: Node) -> tuple[Path | Size, ...]:
    """What the fact measures, each once, in order: paths, and sizes of paths."""
    if isinstance(fact, Path | Size):
        return (fact,)
    return tuple(dict.fromkeys(term for child in children(fact) for term in terms(child)))


def paths(fact: Node) -> tuple[Path, ...]:
    """The paths that the fact reads, each once, in order."""
    return tuple(dict.fromkeys(term.of if isinstance(term, Size) else term for term in terms(fact)))


def _is_text(value: object) -> bool:
    return type(value) is str and not any("\ud800" <= char <= "\udfff" for char in value)


def _kind(operand: Operand) -> str | None:
    """What an operand can be compared with, where it is known before any value."""
    if isinstance(operand, Scalar):
        return _class(operand.value)
    return "number" if isinstance(operand, Size) else None


def _comparable(left: Operand, right: Operand) -> None:
    if not isinstance(left, Operand) or not isinstance(right, Operand):
        raise FactError(f"paths, sizes and literals are compared; got {left!r:.80} and {right!r:.80}")
    one, other = _kind(left), _kind(right)
    if one and other and one != other:
        raise FactError(f"values of one type are compared; got a {one} and a {other}")


def _connects(node: Negation | Conjunction | Disjunction) -> None:
    """Refuse parts that have no truth, fewer than two, and a tree too deep to walk."""
    parts = children(node)
    if not isinstance(node, Negation) and len(parts) < 2:
        raise FactError(f"&& and || join two facts or more; got {len(parts)}")
    for part in parts:
        if not isinstance(part, Fact) or (isinstance(part, Scalar) and part.type != "bool"):
            raise FactError(f"!, && and || need facts, true or false; got {part!r:.80}")
    if _depth(node) > MAX_DEPTH:
        raise FactError(f"at most {MAX_DEPTH} nested operators; got more: split the fact into several predicates")


def _depth(node: Node) -> int:
    return 1 + max(map(_depth, children(node)), default=0)


# ---- meaning ------------------------------------------------------------------------------------

Enumerations = Mapping[Path, tuple[bool | int | float | str, ...]]


def holds(fact: Fact, values: Mapping[str, object], enumerations: Enumerations | None = None) -> bool | None:
    """Whether the fact is true of `values`, a dict from `state` and `call` to dicts of JSON values; None for unknown.

    Raises for no value: only exact bool, int, finite float, str, list, tuple and dict are read, all else is unknown.
    A path in `enumerations` with at least one value has no others: one that it does not list is unknown.
    """
    try:
        state, call = (values.get("state"), values.get("call")) if type(values) is dict else (None, None)
    except Exception:  # a key that is no text may raise when it is compared
        state = call = None
    return compiled(fact, enumerations)(state, call)


def compiled(fact: Fact, enumerations: Enumerations | None = None) -> Compiled:
    """The function `state, call -> holds(fact, {"state": state, "call": call}, enumerations)`, if asked often."""
    declared = enumerations or {}
    match fact:
        case Comparison(op, left, Scalar() as limit):
            return _limit(COMPARE[op], reading(left, declared), limit)
        case Comparison(op, left, right):
            return _comparison(COMPARE[op], reading(left, declared), reading(right, declared))
        case OneOf(item, options):
            return _one_of(reading(item, declared), options)
        case Negation(body):
            return _negation(compiled(body, declared))
        case Conjunction(parts):
            return _joined(tuple(compiled(part, declared) for part in parts), decides=False)
        case Disjunction(parts):
            return _joined(tuple(compiled(part, declared) for part in parts), decides=True)
        case Path() | Scalar(type="bool"):
            return typed(fact, bool, declared)
        case _:
            raise FactError(f"a fact, true or false, was required; got {fact!r:.80}")


def _class(value: object) -> str | None:
    """What a value can be compared with; None for what is no scalar.  Asks the value itself nothing."""
    kind = type(value)
    if kind is int or (kind is float and math.isfinite(value)):
        return "number"
    return "string" if kind is str else "bool" if kind is bool else None


def reading(operand: Operand, enumerations: Enumerations | None = None) -> Read:
    """The function that gives an operand's value, of `state` and `call`; None where it is unknown."""
    declared = enumerations or {}
    match operand:
        case Scalar(value):
            return lambda state, call: value
        case Size(of):
            inner = reading(of, declared)

            def size(state: object, call: object) -> int | None:
                value = inner(state, call)
                kind = type(value)
                return len(value) if kind is list or kind is tuple else None

            return size
        case Path(names):
            options = declared.get(operand)
            return _listed(_path(names), options) if options else _path(names)


def typed[T](operand: Operand, kind: type[T], enumerations: Enumerations | None = None) -> Callable[..., T | None]:
    """`reading`, of a value that is exactly of that type; None for any other."""
    read = reading(operand, enumerations)

    def one(state: object, call: object) -> T | None:
        value = read(state, call)
        return value if type(value) is kind else None

    return one


def _path(names: tuple[str, ...]) -> Read:
    root, first, *deeper = names

    def known(state: object, call: object) -> object:
        try:
            return state.get(first) if type(state) is dict else None
        except Exception:  # a key that is no text may raise when it is compared
            return None

    def given(state: object, call: object) -> object:
        try:
            return call.get(first) if type(call) is dict else None
        except Exception:
            return None

    outer = known if root == "state" else given

    def read(state: object, call: object) -> object:
        value = outer(state, call)
        try:
            for name in deeper:
                value = value.get(name) if type(value) is dict else None
        except Exception:
            return None
        return value

    return read if deeper else outer


def _listed(read: Read, options: tuple) -> Read:
    if all(type(option) is str for option in options):
        texts = frozenset(options)

        def text(state: object, call: object) -> str | None:
            value = read(state, call)
            return value if type(value) is str and value in texts else None

        return text
    allowed = frozenset((_class(option), option) for option in options)

    def one(state: object, call: object) -> object:
        value = read(state, call)
        kind = _class(value)
        return value if kind is not None and (kind, value) in allowed else None

    return one


def _comparison(compare: Callable[[object, object], bool], left: Read, right: Read) -> Compiled:
    def test(state: object, call: object) -> bool | None:
        one, other = left(state, call), right(state, call)
        kind = _class(one)
        return compare(one, other) if kind is not None and kind is _class(other) else None

    return test


def _limit(compare: Callable[[object, object], bool], read: Read, limit: Scalar) -> Compiled:
    """The same where the right side is known: what nearly every fact is, so the fast way."""
    bound, wanted = limit.value, type(limit.value)

    def same(state: object, call: object) -> bool | None:
        value = read(state, call)
        return compare(value, bound) if type(value) is wanted else None

    def number(state: object, call: object) -> bool | None:
        value = read(state, call)
        kind = type(value)
        return compare(value, bound) if kind is int or (kind is float and math.isfinite(value)) else None

    return number if _kind(limit) == "number" else same


def _one_of(item: Read, options: tuple[Scalar, ...]) -> Compiled:
    wanted, kind = frozenset(option.value for option in options), _kind(options[0]) if options else None

    def test(state: object, call: object) -> bool | None:
        value = item(state, call)
        found = _class(value)
        return value in wanted if found is not None and kind in (None, found) else None

    return test


def _negation(body: Compiled) -> Compiled:
    def test(state: object, call: object) -> bool | None:
        value = body(state, call)
        return None if value is None else not value

    return test


def _joined(parts: tuple[Compiled, ...], *, decides: bool) -> Compiled:
    """`||` where a true part decides, `&&` where a false one does; else unknown if a part is."""

    def test(state: object, call: object) -> bool | None:
        whole: bool | None = not decides
        for part in parts:
            value = part(state, call)
            if value is decides:
                return decides
            if value is None:
                whole = None
        return whole

    return test
