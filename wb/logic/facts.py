"""Facts: what is said of the state and of the judged call, as text in the Common Expression Language (CEL).

`state.age >= 18`, `size(call.guests) <= 8`, `call.guests.all(g, g.age >= 18)`, `now - timestamp(state.since) <
duration("24h")`.  `state` is what was known just before the call, `call` its arguments, `now` is the time that the
state's field `now` tells.  Supported are paths through records and lists, literals but maps and bytes, `==` to `>=`,
`in`, `!`, `&&`, `||`, `? :`, `+ - * / %`, the macros `has`, `all`, `exists`, `exists_one`, `filter`, `map`, and the
functions in `FUNCTIONS`, of which `sum`, `min` and `max` of a list are not CEL's; all else of CEL is refused by name.

This module is the tree: what may be built, and how long it may take.  What it means: `evaluation`; its text: `cel`.
"""

from __future__ import annotations

import math
import operator
import re
from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal, NamedTuple

from wb.logic import times

ROOTS = ("state", "call")
OPERATORS = ("==", "!=", "<", "<=", ">", ">=")
_MEANING = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
COMPARE = dict(zip(OPERATORS, _MEANING, strict=True))
MIRRORED = {"==": "==", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}  # with the sides exchanged
ARITHMETIC = ("+", "-", "*", "/", "%")
MACROS = ("all", "exists", "exists_one", "filter", "map")
MAX_DEPTH = 50  # nested operators, and names in a path
MAX_STEPS = 300_000  # of an evaluation; a step is a node or an item of a list
MAX_ITEMS, LEAST_ITEMS = 10_000, 10  # items of a list that is gone through, where the steps allow it
SIZES = [MAX_ITEMS]  # how long lists may be, each a tenth shorter than the one before
while SIZES[-1] > LEAST_ITEMS:
    SIZES.append(max(LEAST_ITEMS, SIZES[-1] * 9 // 10))
NO_NAMES = frozenset(  # keywords, and words that older grammars reserve: after a dot, some parsers refuse them
    "true false null in as break const continue else for function if import let loop package namespace return var void "
    "while".split()
)
_NAME = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
Kind = Literal["number", "string", "bool", "null", "list", "record", "timestamp", "duration"]
_KINDS: dict[str, Kind] = {"int": "number", "double": "number", "string": "string", "bool": "bool", "null": "null"}


class FactError(ValueError):
    """No fact, or none of the supported part; the message says what was required and got, for a text where."""


class Signature(NamedTuple):
    """How a function is written, what each argument may be, what it gives, and how many arguments it needs."""

    method: bool
    takes: tuple[frozenset[Kind], ...]
    gives: Kind
    least: int


def _signature(method: bool, takes: str, gives: Kind, least: int | None = None) -> Signature:
    kinds = tuple(frozenset(one.split("|")) for one in takes.split())
    return Signature(method, kinds, gives, len(kinds) if least is None else least)


_DATED = ("getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear")
_CLOCKED = ("getHours", "getMinutes", "getSeconds", "getMilliseconds")
FUNCTIONS: dict[str, Signature] = {
    **dict.fromkeys(("sum", "min", "max"), _signature(False, "list", "number")),
    "int": _signature(False, "number|string|timestamp", "number"),
    "double": _signature(False, "number|string", "number"),
    "string": _signature(False, "number|string|bool", "string"),
    "timestamp": _signature(False, "string|timestamp", "timestamp"),
    "duration": _signature(False, "string|duration", "duration"),
    **dict.fromkeys(("startsWith", "endsWith", "contains"), _signature(True, "string string", "bool")),
    **dict.fromkeys(("lowerAscii", "upperAscii", "trim"), _signature(True, "string", "string")),
    **dict.fromkeys(_DATED, _signature(True, "timestamp string", "number", 1)),
    **dict.fromkeys(_CLOCKED, _signature(True, "timestamp|duration string", "number", 1)),
}


# ---- the tree: values ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Path:
    """A value by its names, outermost first: `("state", "age")` is `state.age`; alone, a fact that it is true."""

    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if not 2 <= len(self.names) <= MAX_DEPTH or self.names[0] not in ROOTS or not all(map(_is_text, self.names)):
            raise FactError(f"a path begins with state or call and has 2 to {MAX_DEPTH} names; got {self.names!r:.80}")


@dataclass(frozen=True, slots=True)
class Variable:
    """What a macro goes through, by its name."""

    name: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name) or self.name in {*NO_NAMES, *ROOTS, "now"}:
            raise FactError(f"a variable has a name that is no keyword, state, call or now; got {self.name!r:.80}")


@dataclass(frozen=True, slots=True)
class Part:
    """`of[key]`: an item of a list, from 0, or what a record has under a text."""

    of: Node
    key: Node

    def __post_init__(self) -> None:
        if isinstance(self.of, Path) and isinstance(self.key, Scalar) and self.key.type == "string":
            raise FactError(f"a path takes a name in; got {self.key.value!r:.80} beside it")
        _takes(self.of, {"list"}, "what has parts, a list or a record,")
        _takes(self.key, {"number", "string"}, "a number or a text")
        _bounded(self)


@dataclass(frozen=True, slots=True)
class Size:
    """How many items a list holds, or characters a text; of a path that holds a text it is unknown, for
    its characters or its parts may be meant (`size(string(PATH))` says the first)."""

    of: Node

    def __post_init__(self) -> None:
        _takes(self.of, {"list", "string"}, "a list or a text")
        _bounded(self)


@dataclass(frozen=True, slots=True)
class Scalar:
    """A literal: true, false, null, an integer of 64 bits, a finite double, a string.  `1`, `1.0`, `true` differ."""

    value: bool | int | float | str | None
    type: str = field(init=False)  # "bool", "int", "double", "string" or "null"

    def __post_init__(self) -> None:
        kinds = {bool: "bool", int: "int", float: "double", str: "string", type(None): "null"}
        kind = kinds.get(type(self.value), "")
        wrong = not kind or (kind == "double" and not math.isfinite(self.value))
        if wrong or (kind == "string" and not _is_text(self.value)):
            raise FactError(
                f"a literal is a bool, an integer, a finite double, null or Unicode text; got {self.value!r:.80}"
            )
        if kind == "int" and not -(2**63) <= self.value < 2**63:
            raise FactError("an integer has at most 64 bits; got one beyond")
        object.__setattr__(self, "type", kind)


@dataclass(frozen=True, slots=True)
class List:
    """`[a, b, …]`."""

    items: tuple[Node, ...]

    def __post_init__(self) -> None:
        for item in self.items:
            _takes(item, None, "a value")
        _bounded(self)


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`left OP right`: integers of 64 bits with integers, doubles with doubles; `+` of texts and of lists, and sums and
    differences of times and durations."""

    op: str
    left: Node
    right: Node

    def __post_init__(self) -> None:
        if self.op not in ARITHMETIC:
            raise FactError(f"arithmetic is one of {' '.join(ARITHMETIC)}; got {self.op!r}")
        left, right = (_takes(side, None, "a value") for side in (self.left, self.right))
        if not sums(self.op, left, right):
            got = " and ".join(f"a {side}" for side in (left, right) if side)
            raise FactError(f"{self.op} is of two numbers, or of texts, lists, times; got {got}")
        _bounded(self)


_TIMES: tuple[tuple[str, Kind, Kind, Kind], ...] = (
    ("+", "timestamp", "duration", "timestamp"),
    ("+", "duration", "timestamp", "timestamp"),
    ("+", "duration", "duration", "duration"),
    ("-", "timestamp", "timestamp", "duration"),
    ("-", "timestamp", "duration", "timestamp"),
    ("-", "duration", "duration", "duration"),
)
_SUMS: dict[tuple[str, Kind, Kind], Kind] = {
    **{(op, "number", "number"): "number" for op in ARITHMETIC},
    **{("+", kind, kind): kind for kind in ("string", "list")},
    **{(op, left, right): gives for op, left, right, gives in _TIMES},
}


def sums(op: str, left: Kind | None, right: Kind | None) -> set[Kind]:
    """What the operator may give of such sides."""
    return {gives for (o, a, b), gives in _SUMS.items() if o == op and left in (a, None) and right in (b, None)}


@dataclass(frozen=True, slots=True)
class Minus:
    """`-body`, of a number that is no literal."""

    body: Node

    def __post_init__(self) -> None:
        _takes(self.body, {"number"}, "a number")
        if isinstance(self.body, Scalar):
            raise FactError(f"a literal takes its minus in; got {self.body.value!r}")
        _bounded(self)


@dataclass(frozen=True, slots=True)
class Choice:
    """`test ? then : otherwise`."""

    test: Fact
    then: Node
    otherwise: Node

    def __post_init__(self) -> None:
        _takes(self.test, {"bool"}, "a fact, which is true or false,")
        then, otherwise = _takes(self.then, None, "a value"), _takes(self.otherwise, None, "a value")
        if then and otherwise and then != otherwise:
            raise FactError(f"both sides of ? : have one type; got a {then} and a {otherwise}")
        _bounded(self)


@dataclass(frozen=True, slots=True)
class Function:
    """`name(arguments)`, or `argument.name(arguments)` for those that are methods: `FUNCTIONS`."""

    name: str
    arguments: tuple[Node, ...]

    def __post_init__(self) -> None:
        known = FUNCTIONS.get(self.name)
        if known is None:
            raise FactError(f"a function is one of {', '.join(FUNCTIONS)}; got {self.name!r:.80}")
        given = len(self.arguments)
        if not known.least <= given <= len(known.takes):
            raise FactError(f"{self.name} takes {known.least - known.method} arguments; got {given - known.method}")
        for argument, kinds in zip(self.arguments, known.takes, strict=False):
            _takes(argument, kinds, " or ".join(f"a {kind}" for kind in sorted(kinds)))
        _said(self)
        _bounded(self)


@dataclass(frozen=True, slots=True)
class Macro:
    """`over.name(variable, body)`: over the items of a list; unknown of a record."""

    name: str
    over: Node
    variable: Variable
    body: Node

    def __post_init__(self) -> None:
        if self.name not in MACROS:
            raise FactError(f"a macro is one of {', '.join(MACROS)}; got {self.name!r:.80}")
        _takes(self.over, {"list"}, "a list")
        _takes(self.body, None if self.name == "map" else {"bool"}, "a value" if self.name == "map" else "a fact")
        _bounded(self)


# ---- the tree: facts ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Comparison:
    """`left OP right`: numbers with numbers, strings by code point, bools with bools (false below true), times with
    times; lists and records are only equal or not, part by part, and so is anything to null."""

    op: str
    left: Node
    right: Node

    def __post_init__(self) -> None:
        if self.op not in COMPARE:
            raise FactError(f"a comparison is one of {' '.join(COMPARE)}; got {self.op!r}")
        kinds = {kind for kind in _comparable(self.left, self.right) if kind}
        if self.op not in ("==", "!=") and kinds & {"list", "null"}:
            raise FactError(f"a {min(kinds)} is only equal or not; got {self.op}")
        _bounded(self)

    @property
    def limit(self) -> tuple[Path | Size, str, Scalar] | None:
        """What is measured, the operator and the literal, in this order; None where it is not a path, or the size of
        one, with a literal."""
        left, op, right = self.left, self.op, self.right
        if isinstance(left, Scalar):
            left, op, right = right, MIRRORED[op], left
        return (left, op, right) if isinstance(right, Scalar) and right.type != "null" and measured(left) else None


@dataclass(frozen=True, slots=True)
class OneOf:
    """`item in [options]`, of literals of one type."""

    item: Node
    options: tuple[Scalar, ...]

    def __post_init__(self) -> None:
        for option in self.options:
            if not isinstance(option, Scalar) or option.type == "null":
                raise FactError(f"the options are literals other than null; got {option!r:.80}")
            _comparable(self.item, option)
        for one, other in pairwise(self.options):
            _comparable(one, other)
        _takes(self.item, None, "a value")
        _bounded(self)


@dataclass(frozen=True, slots=True)
class Within:
    """`item in of`: an item of a list, or a name of a record."""

    item: Node
    of: Node

    def __post_init__(self) -> None:
        _takes(self.item, None, "a value")
        _takes(self.of, {"list"}, "'in' needs a list or a record, which")
        if isinstance(self.of, List) and all(isinstance(one, Scalar) for one in self.of.items):
            raise FactError("what is no list of literals was required; got one, whose items are options")
        _bounded(self)


@dataclass(frozen=True, slots=True)
class Has:
    """`has(of)`: whether a record has the name.  An argument that the call does not have is not there, nor is a name
    that a known record does not have; a field that the state does not tell is unknown."""

    of: Path | Part

    def __post_init__(self) -> None:
        match self.of:
            case Path(names):
                last: object = names[-1]
            case Part(_, Scalar(value, type="string")):
                last = value
            case _:
                last = None
        if not isinstance(last, str) or not _NAME.fullmatch(last) or last in NO_NAMES:
            raise FactError(f"has() is of a path that ends with a plain name; got {self.of!r:.80}")
        _bounded(self)


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


Operand = Path | Size | Scalar
Value = Path | Variable | Part | Size | Scalar | List | Arithmetic | Minus | Choice | Function | Macro
Fact = (
    Path
    | Variable
    | Part
    | Scalar
    | Choice
    | Function
    | Macro
    | Comparison
    | OneOf
    | Within
    | Has
    | Negation
    | Conjunction
    | Disjunction
)
Node = Value | Fact


# ---- what a tree holds --------------------------------------------------------------------------


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly below a node, left to right."""
    match node:
        case Size(of) | Has(of):
            return (of,)
        case Comparison(_, left, right) | Arithmetic(_, left, right):
            return (left, right)
        case OneOf(item, options):
            return (item, *options)
        case Negation(body) | Minus(body):
            return (body,)
        case Conjunction(parts) | Disjunction(parts) | List(parts) | Function(_, parts):
            return parts
        case Part(first, second) | Within(first, second):
            return (first, second)
        case Choice(test, then, otherwise):
            return (test, then, otherwise)
        case Macro(_, over, _, body):
            return (over, body)
        case _:
            return ()


def measured(node: Node) -> bool:
    """Whether a node is a path or the size of one."""
    return isinstance(node.of if isinstance(node, Size) else node, Path)


def terms(fact: Node) -> tuple[Path | Size, ...]:
    """What the fact measures, each once, in order: paths, and sizes of paths."""
    if measured(fact):
        return (fact,)
    return tuple(dict.fromkeys(term for child in children(fact) for term in terms(child)))


def paths(fact: Node) -> tuple[Path, ...]:
    """The paths that the fact reads, each once, in order."""
    return tuple(dict.fromkeys(term.of if isinstance(term, Size) else term for term in terms(fact)))


def free(node: Node) -> frozenset[str]:
    """The names of the variables that no macro in the node binds."""
    if isinstance(node, Variable):
        return frozenset({node.name})
    if isinstance(node, Macro):
        return free(node.over) | (free(node.body) - {node.variable.name})
    return frozenset().union(*map(free, children(node)))


def kind(node: Node) -> Kind | None:
    """What a node's value is, where it is known before any value; None where it is not: no node is always a record."""
    match node:
        case Scalar(type=name):
            return _KINDS[name]
        case Size() | Minus():
            return "number"
        case List():
            return "list"
        case Function(name):
            return FUNCTIONS[name].gives
        case Macro(name):
            return "list" if name in ("filter", "map") else "bool"
        case Choice(_, then, otherwise):
            return kind(then) or kind(otherwise)
        case Arithmetic(op, left, right):
            found = sums(op, kind(left), kind(right))
            return found.pop() if len(found) == 1 else None
        case Path() | Variable() | Part():
            return None
        case _:
            return "bool"


# ---- how long an evaluation may take ------------------------------------------------------------


def steps(node: Node, items: int) -> int:
    """At most how many steps an evaluation takes where no list that is gone through has more than so many items."""
    if isinstance(node, Macro):
        return 1 + steps(node.over, items) + items * (1 + steps(node.body, items))
    own = 1 + sum(steps(child, items) for child in children(node))
    match node:
        case Within() | Function("sum" | "min" | "max"):
            return own + items
        case Comparison("==" | "!=", left, right) | Arithmetic("+", left, right):
            return own + items * ({kind(left), kind(right)} <= {"list", None})
    return own


def items(node: Node) -> int:
    """How many items a list may have that the node goes through: as many as `MAX_STEPS` allow; of longer lists what is
    asked is unknown."""
    fits = bisect_left(SIZES, True, key=lambda most: steps(node, most) <= MAX_STEPS)
    return SIZES[fits]  # no node is built that takes more steps with the least


# ---- what may be built --------------------------------------------------------------------------


def _is_text(value: object) -> bool:
    return type(value) is str and not any("\ud800" <= char <= "\udfff" for char in value)


def _takes(node: Node, kinds: set[Kind] | frozenset[Kind] | None, wanted: str) -> Kind | None:
    """The kind of a node; refuse what is none, or certainly of another kind."""
    if not isinstance(node, Node):
        raise FactError(f"{wanted} was required; got {node!r:.80}")
    found = kind(node)
    if kinds is not None and found is not None and found not in kinds:
        raise FactError(f"{wanted} was required; got a {found}")
    return found


def _comparable(left: Node, right: Node) -> tuple[Kind | None, Kind | None]:
    one, other = _takes(left, None, "a value"), _takes(right, None, "a value")
    if one and other and one != other and "null" not in (one, other):
        raise FactError(f"values of one type are compared; got a {one} and a {other}")
    return one, other


def _said(node: Function) -> None:
    """Refuse a time or zone that a literal says wrongly, and a zone that is no literal."""
    match node:
        case Function("timestamp" | "duration" as name, (Scalar(str() as text),)):
            if (times.timestamp if name == "timestamp" else times.duration)(text) is None:
                hint = 'a date, T, a time and a zone, as in "2026-01-31T09:00:00+01:00"'
                wanted = hint if name == "timestamp" else 'numbers with h, m, s or ms, as in "1h30m"'
                raise FactError(f"{name} is of {wanted}; got {text!r:.80}")
        case Function(name, (of, zone)) if name.startswith("get"):
            if not isinstance(zone, Scalar) or times.zone(zone.value) is None:
                raise FactError(f'a time zone is a literal, such as "Europe/Paris" or "-05:00"; got {zone!r:.80}')
            if kind(of) == "duration":
                raise FactError(f"{name} of a duration takes no time zone; got {zone.value!r:.80}")


def _connects(node: Negation | Conjunction | Disjunction) -> None:
    """Refuse parts that have no truth, fewer than two, and a tree too deep to walk."""
    parts = children(node)
    if not isinstance(node, Negation) and len(parts) < 2:
        raise FactError(f"&& and || join two facts or more; got {len(parts)}")
    for part in parts:
        if not isinstance(part, Fact) or kind(part) not in ("bool", None):
            raise FactError(f"a fact, which is true or false, was required by !, && and ||; got {part!r:.80}")
    _bounded(node)


def _bounded(node: Node) -> None:
    """Refuse a tree too deep to walk, or too long to evaluate."""
    if _depth(node) > MAX_DEPTH:
        raise FactError(f"at most {MAX_DEPTH} nested operators; got more: split the fact into several predicates")
    if steps(node, LEAST_ITEMS) > MAX_STEPS:
        raise FactError(
            f"at most {MAX_STEPS} steps, with lists of {LEAST_ITEMS} items, were required; got more: nest fewer macros"
        )


def _depth(node: Node) -> int:
    return 1 + max(map(_depth, children(node)), default=0)


NOW = Function("timestamp", (Path(("state", "now")),))  # `now` in a text
