"""What facts mean: true, false or unknown, of any values, within a number of steps that is known beforehand.

Unknown is whatever is absent, of another type than is needed (where CEL has errors, and `false` for equality across
types), outside its declared enumeration or the range of its type: an integer beyond 64 bits, a double that is not
finite, a division by zero, a time without a zone, a list longer than `facts.items` allows.  It spreads to all that is
computed from it, but where the rest decides:

- `&&` and `||` by Kleene's logic, as CEL's combine errors; `all` and `exists` likewise over their items, and `in`, and
  the equality of lists and records over their parts; `exists_one` is false from the second item that is true;
- `c ? a : b` with an unknown `c` is what `a` and `b` both are;
- `map` knows how many items it has, though not what they are; `filter` is unknown as a whole where it is of one item,
  and so are `sum`, `min` and `max` of a list with an unknown item.

A null of the state is an unknown field, unless None is among its declared values; any other null is a value, equal to
`null` alone, and unknown beside anything else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial

from wb.logic import facts as F
from wb.logic import times
from wb.logic import values as V
from wb.logic.facts import COMPARE, Fact, FactError, Node, Path, Scalar, Size

Read = Callable[[object, object], object]  # of what `state` and `call` stand for
Compiled = Callable[[object, object], bool | None]
Enumerations = Mapping[Path, tuple[bool | int | float | str | None, ...]]
Term = Callable[[object, object, tuple], object]  # of these and of the items that macros are at, innermost last
# ---- facts of one field: what nearly every fact is, so the fast way --------------------------------


def holds(fact: Fact, values: Mapping[str, object], enumerations: Enumerations | None = None) -> bool | None:
    """Whether the fact is true of `values`, a dict from `state` and `call` to dicts of JSON values; None for unknown.

    Raises for no value: only exact bool, int, finite float, str, list, tuple and dict are read, all else is unknown.
    A path in `enumerations` with at least one value has no others: one that it does not list is unknown.  None says
    that the path may be null, and by itself nothing of other values.
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
        case F.Comparison(op, left, Scalar() as limit) if F.measured(left) and limit.type != "null":
            return _limit(COMPARE[op], reading(left, declared), limit)
        case F.Comparison("<" | "<=" | ">" | ">=" as op, left, right) if _plain(left) and _plain(right):
            return _comparison(COMPARE[op], reading(left, declared), reading(right, declared))
        case F.OneOf(item, options) if _plain(item):
            return _one_of(reading(item, declared), options)
        case F.Negation(body):
            return _negation(compiled(body, declared))
        case F.Conjunction(parts):
            return _joined(tuple(compiled(part, declared) for part in parts), decides=False)
        case F.Disjunction(parts):
            return _joined(tuple(compiled(part, declared) for part in parts), decides=True)
        case _ if isinstance(fact, Fact) and F.kind(fact) in ("bool", None):
            return typed(fact, bool, declared)
        case _:
            raise FactError(f"a fact, true or false, was required; got {fact!r:.80}")


def _plain(node: Node) -> bool:
    """Whether a node is a path, the size of one, or a literal other than null."""
    return node.type != "null" if isinstance(node, Scalar) else F.measured(node)


def _class(value: object) -> str | None:
    """What a value can be compared with; None for what is no scalar.  Asks the value itself nothing."""
    kind = type(value)
    if kind is int or (kind is float and math.isfinite(value)):
        return "number"
    return "string" if kind is str else "bool" if kind is bool else None


def reading(node: Node, enumerations: Enumerations | None = None) -> Read:
    """The function that gives a node's value, of `state` and `call`; None where it is unknown, or null."""
    declared = enumerations or {}
    match node:
        case Scalar(value):
            return lambda state, call: value
        case Size(Path() as of):
            inner = reading(of, declared)

            def size(state: object, call: object) -> int | None:
                value = inner(state, call)
                kind = type(value)
                return len(value) if kind is list or kind is tuple else None

            return size
        case Path(names):
            return _listed(_path(names), declared.get(node, ()))
    if unbound := F.free(node):
        raise FactError(f"every variable belongs to a macro; got {', '.join(sorted(unbound))} without one")
    whole = _Terms(declared, F.items(node)).term(node, ())

    def general(state: object, call: object) -> object:
        value = whole(state, call, ())
        return None if value is V.UNKNOWN else value

    return general


def typed[T](node: Node, kind: type[T], enumerations: Enumerations | None = None) -> Callable[..., T | None]:
    """`reading`, of a value that is exactly of that type; None for any other.  A time is its nanoseconds, an int."""
    read = reading(node, enumerations)
    if kind is int and not _plain(node):

        def whole(state: object, call: object) -> T | None:
            value = read(state, call)
            value = value.nanoseconds if type(value) is times.Timestamp or type(value) is times.Duration else value
            return value if type(value) is int else None

        return whole

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
            return call.get(first) if type(call) is dict or type(call) is V.PartialArguments else None
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
    """What is read, where it is one of the options; anything, where there are none but null."""
    options = tuple(option for option in options if option is not None)
    if not options:
        return read
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

    return number if _class(limit.value) == "number" else same


def _one_of(item: Read, options: tuple[Scalar, ...]) -> Compiled:
    wanted, kind = frozenset(option.value for option in options), _class(options[0].value) if options else None

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


# ---- facts of any shape ---------------------------------------------------------------------------


class _Terms:
    """Nodes as functions of state, call and the items that macros are at; lists have at most so many items."""

    def __init__(self, declared: Enumerations, items: int) -> None:
        self.declared, self.items = declared, items

    def term(self, node: Node, bound: tuple[str, ...]) -> Term:
        """The node's value, or `values.UNKNOWN`; `bound` are the variables, innermost last."""
        below = [self.term(child, bound) for child in F.children(node)] if not isinstance(node, F.Macro) else []
        match node:
            case Scalar(value):
                return lambda state, call, items: value
            case Path():
                return self._path(node)
            case F.Variable(name):
                at = max(i for i, one in enumerate(bound) if one == name)
                return lambda state, call, items: items[at]
            case F.Part():
                return _applied(V.part, *below)
            case Size(of):
                return _applied(V.length if F.kind(of) == "string" else V.size, *below)
            case F.List():
                return _list(tuple(below))
            case F.Arithmetic(op):
                return _applied(V.computing(op, self.items), *below)
            case F.Minus():
                return _applied(V.minus, *below)
            case F.Choice():
                return self._choice(*below)
            case F.Function(name, arguments):
                return self._function(name, arguments, below)
            case F.Macro():
                return self._macro(node, bound)
            case F.Comparison(op, left, right):
                if Scalar(None) in (left, right):
                    return _applied(partial(V.null, wanted=op == "=="), below[left == Scalar(None)])
                return _applied(self._equal(op == "==") if op in ("==", "!=") else V.ordered(COMPARE[op]), *below)
            case F.OneOf(_, options):
                test = _one_of(lambda value, _: value, options)
                return _applied(lambda value: V.known(test(value, None)), below[0])
            case F.Within():
                return _applied(partial(V.within, most=self.items), *below)
            case F.Has(of):
                return self._has(of, bound)
            case F.Negation():
                return _applied(lambda value: not value if type(value) is bool else V.UNKNOWN, *below)
            case F.Conjunction():
                return _connected(tuple(below), decides=False)
            case F.Disjunction():
                return _connected(tuple(below), decides=True)
            case _:
                raise FactError(f"a fact or a value was required; got {node!r:.80}")

    def _path(self, node: Path) -> Term:
        options = self.declared.get(node, ())
        null = None in options
        read = _deep(node.names, null)
        listed = _listed(read, options)
        if listed is read:
            return lambda state, call, items: read(state, call)

        def one(state: object, call: object, items: tuple) -> object:
            value = read(state, call)
            return None if value is None and null else V.known(listed(state, call))

        return one

    def _choice(self, test: Term, then: Term, otherwise: Term) -> Term:
        def chosen(state: object, call: object, items: tuple) -> object:
            value = test(state, call, items)
            if type(value) is bool:
                return (then if value else otherwise)(state, call, items)
            one, other = then(state, call, items), otherwise(state, call, items)
            return one if type(one) is type(other) and V.same(one, other, self.items) is True else V.UNKNOWN

        return chosen

    def _function(self, name: str, arguments: tuple[Node, ...], below: list[Term]) -> Term:
        if name in ("sum", "min", "max"):
            return _applied(V.aggregating(name, self.items), *below)
        if name.startswith("get"):
            at = times.zone(arguments[1].value) if len(arguments) == 2 else None
            return _applied(partial(V.time_part, name=name, at=at), below[0])
        made = _applied(V.FUNCTIONS[name], *below)
        if all(isinstance(argument, Scalar) for argument in arguments):
            value = made(None, None, ())
            return lambda state, call, items: value
        return made

    def _macro(self, node: F.Macro, bound: tuple[str, ...]) -> Term:
        over, body = self.term(node.over, bound), self.term(node.body, (*bound, node.variable.name))
        gone, most = V.MACROS[node.name], self.items

        def through(state: object, call: object, items: tuple) -> object:
            found = V.gone_through(over(state, call, items), most)
            return V.UNKNOWN if found is None else gone(found, lambda item: body(state, call, (*items, item)))

        return through

    def _equal(self, wanted: bool) -> Callable[[object, object], object]:
        def equal(one: object, other: object) -> object:
            found = V.same(one, other, self.items)
            return V.UNKNOWN if found is None else found is wanted

        return equal

    def _has(self, of: Path | F.Part, bound: tuple[str, ...]) -> Term:
        match of:
            case Path((root, name)):
                told, known = _deep(of.names), root == "state"

                def own(state: object, call: object, items: tuple) -> object:
                    if known:
                        return V.UNKNOWN if told(state, call) is V.UNKNOWN else True
                    return V.named(call, name)

                return own
            case Path((*names, name)):
                outer = self.term(Path(tuple(names)), bound)
            case F.Part(whole, Scalar(name)):
                outer = self.term(whole, bound)
        return _applied(partial(V.named, name=name), outer)


def _applied(function: Callable[..., object], *arguments: Term) -> Term:
    """The function of the arguments' values."""
    if len(arguments) == 1:
        (only,) = arguments
        return lambda state, call, items: function(only(state, call, items))
    first, second = arguments
    return lambda state, call, items: function(first(state, call, items), second(state, call, items))


def _connected(parts: tuple[Term, ...], *, decides: bool) -> Term:
    """`||` where a true part decides, `&&` where a false one does; else unknown if a part is no truth."""

    def test(state: object, call: object, items: tuple) -> object:
        whole: object = not decides
        for part in parts:
            value = part(state, call, items)
            if value is decides:
                return decides
            if value is not (not decides):
                whole = V.UNKNOWN
        return whole

    return test


def _list(parts: tuple[Term, ...]) -> Term:
    return lambda state, call, items: tuple([part(state, call, items) for part in parts])


def _deep(names: tuple[str, ...], null: bool = False) -> Read:
    """What stands at a path, null too, but at the state's own fields unless it may be there; `values.UNKNOWN` where
    nothing stands."""
    root, first, *deeper = names

    def read(state: object, call: object) -> object:
        value: object = state if root == "state" else call
        try:
            named = type(value) is dict or type(value) is V.PartialArguments
            value = value.get(first, V.UNKNOWN) if named else V.UNKNOWN
            for name in deeper:
                value = value.get(name, V.UNKNOWN) if type(value) is dict else V.UNKNOWN
        except Exception:  # a key that is no text may raise when it is compared
            return V.UNKNOWN
        return V.UNKNOWN if value is None and root == "state" and not deeper and not null else value

    return read
