"""Formulas of linear temporal logic on finite traces (LTLf) with past: the syntax tree alone.

Operators and their names follow De Giacomo & Vardi (IJCAI 2013) and ShieldAgent, Eq. 7; the past
operators are those of Lichtenstein, Pnueli & Zuck (1985).  Text is read and printed by `syntax`,
meaning is given by `semantics`.  Nodes are frozen and compare by structure; a node knows its own hash,
and nothing here recurses, so that a formula may be nested as deeply as memory allows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce

TIME = "@"  # under which a step tells its time, in nanoseconds since 1970; no predicate can be called so
NAME = re.compile(r"[a-z][a-z0-9_]*\Z")
OBJECT = r"(?:[a-z][a-z0-9_]*|call(?:\.[A-Za-z_][A-Za-z0-9_]*)+|[0-9]+)"
ATOM = re.compile(rf"[a-z][a-z0-9_]*(?:\({OBJECT}(?:, {OBJECT})*\))?\Z")


@dataclass(frozen=True, slots=True)
class Constant:
    """`true` or `false`."""

    value: bool


@dataclass(frozen=True, slots=True)
class Atom:
    """A predicate, true or false at each step of a trace; of the objects in brackets, where there are any.

    An object is a variable, as in `cancel(r)`, an argument of the call that is judged, as in `get(call.id)`, or the
    number of one of a few objects that a rule is tried on, as in `get(1)`.  Without brackets it is of any object.
    """

    name: str

    def __post_init__(self) -> None:
        if not ATOM.match(self.name):
            raise ValueError(f"a predicate name must match [a-z][a-z0-9_]*, as in pay or pay(o, c); got {self.name!r}")
        if self.predicate in ("true", "false"):
            raise ValueError(f"{self.name} is a constant, not a predicate name: write Constant({self.name.title()})")

    @property
    def predicate(self) -> str:
        """The name before the brackets."""
        return self.name.partition("(")[0]

    @property
    def objects(self) -> tuple[str, ...]:
        """What stands in the brackets."""
        inside = self.name.partition("(")[2]
        return tuple(inside[:-1].split(", ")) if inside else ()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Unary:
    """One operand."""

    body: Formula
    _hash: int = field(init=False)
    _nodes: tuple[Formula, ...] = field(init=False, default=())  # the subformulas, once they were asked for

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((type(self), self.body)))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return _same(self, other)

    def __reduce__(self) -> tuple:
        return type(self), (self.body,)

    def __repr__(self) -> str:
        return _shown(self)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Binary:
    """Two operands."""

    left: Formula
    right: Formula
    _hash: int = field(init=False)
    _nodes: tuple[Formula, ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((type(self), self.left, self.right)))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return _same(self, other)

    def __reduce__(self) -> tuple:
        return type(self), (self.left, self.right)

    def __repr__(self) -> str:
        return _shown(self)


class Not(Unary):
    """The body does not hold."""

    __slots__ = ()


class And(Binary):
    """Both operands hold."""

    __slots__ = ()


class Or(Binary):
    """At least one operand holds."""

    __slots__ = ()


class Xor(Binary):
    """Exactly one operand holds."""

    __slots__ = ()


class Implies(Binary):
    """The right operand holds wherever the left does."""

    __slots__ = ()


class Iff(Binary):
    """Both operands hold or neither does."""

    __slots__ = ()


class Next(Unary):
    """Strong next: there is a next step, and the body holds there."""

    __slots__ = ()


class WeakNext(Unary):
    """Weak next: the body holds at the next step, if there is one."""

    __slots__ = ()


class Eventually(Unary):
    """The body holds now or at some later step."""

    __slots__ = ()


class Always(Unary):
    """The body holds now and at every later step."""

    __slots__ = ()


class Until(Binary):
    """The right operand holds at some step from now on, the left at every step before it."""

    __slots__ = ()


class Release(Binary):
    """The right operand holds up to and including the step where the left does, or always."""

    __slots__ = ()


class WeakUntil(Binary):
    """`Until`, or the left operand holds always."""

    __slots__ = ()


class Previously(Unary):
    """There is a previous step, and the body held there (false at the first step)."""

    __slots__ = ()


class Once(Unary):
    """The body holds now or held at some earlier step."""

    __slots__ = ()


class Historically(Unary):
    """The body holds now and held at every earlier step."""

    __slots__ = ()


class Since(Binary):
    """The right operand held at some step up to now, the left at every step after it."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Recently(Unary):
    """The body held at `times` steps or more, now or at most `within` nanoseconds ago (MTL's bounded `Once`, counted).

    Where steps have no time, or time runs backwards, `semantics` says what is known of it.
    """

    times: int
    within: int

    def __post_init__(self) -> None:
        if self.times < 1 or self.within < 0:
            got = f"{self.times}, {self.within}"
            raise ValueError(f"a number of times from 1 and a window from 0 were required; got {got}")
        object.__setattr__(self, "_hash", hash((type(self), self.body, self.times, self.within)))

    def __reduce__(self) -> tuple:
        return type(self), (self.body, self.times, self.within)


Formula = Constant | Atom | Unary | Binary

TRUE = Constant(True)
FALSE = Constant(False)
PAST = (Previously, Once, Historically, Since, Recently)
FUTURE = (Next, WeakNext, Eventually, Always, Until, Release, WeakUntil)


def children(formula: Formula) -> tuple[Formula, ...]:
    """The operands of a formula, left to right; none for a constant or a predicate."""
    if isinstance(formula, Binary):
        return formula.left, formula.right
    return (formula.body,) if isinstance(formula, Unary) else ()


def subformulas(formula: Formula) -> tuple[Formula, ...]:
    """Every distinct subformula, operands before the formulas that hold them."""
    if isinstance(formula, (Constant, Atom)):
        return (formula,)
    if not formula._nodes:
        object.__setattr__(formula, "_nodes", _ordered(formula))
    return formula._nodes


def _ordered(formula: Formula) -> tuple[Formula, ...]:
    found: dict[Formula, None] = {}
    stack: list[tuple[Formula, bool]] = [(formula, False)]
    while stack:
        node, expanded = stack.pop()
        if expanded:
            found[node] = None
        elif node not in found:
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(children(node)))
    return tuple(found)


def fold(formula: Formula, combine: Callable[[Formula, tuple], object]) -> object:
    """`combine(node, values of its operands)` from the leaves up, once for each distinct subformula."""
    values: dict[Formula, object] = {}
    for node in subformulas(formula):
        values[node] = combine(node, tuple(values[child] for child in children(node)))
    return values[formula]


def rebuild(node: Formula, parts: tuple[Formula, ...]) -> Formula:
    """The same operator over other operands; a constant or a predicate as it is."""
    return type(node)(*parts, *_bounds(node)) if parts else node


def _bounds(node: Formula) -> tuple[int, ...]:
    """What an operator has beside its operands."""
    return (node.times, node.within) if isinstance(node, Recently) else ()


def substitute(formula: Formula, by: Mapping[Formula, Formula]) -> Formula:
    """The formula with each subformula that `by` names replaced, outermost first."""
    values: dict[Formula, Formula] = {}
    for node in subformulas(formula):
        values[node] = by[node] if node in by else rebuild(node, tuple(values[child] for child in children(node)))
    return values[formula]


def windows(formula: Formula) -> tuple[Recently, ...]:
    """The parts of a formula that count within a time, inner ones first."""
    return tuple([node for node in subformulas(formula) if isinstance(node, Recently)])


def bodies(formula: Formula) -> tuple[Formula, ...]:
    """What a formula counts: the bodies of its `COUNT`s, of twice or more."""
    found = [counted(node) for node in subformulas(formula)]
    within = [node.body for node in windows(formula) if node.times > 1]
    return tuple(dict.fromkeys([*(one[1] for one in found if one is not None and one[0] > 1), *within]))


def atoms(formula: Formula) -> tuple[str, ...]:
    """The names of the atoms in a formula, with their objects, in order of first appearance."""
    return tuple([node.name for node in subformulas(formula) if isinstance(node, Atom)])


def predicates(formula: Formula) -> tuple[str, ...]:
    """The names of the predicates in a formula, without their objects, in order of first appearance."""
    return tuple(dict.fromkeys(node.predicate for node in subformulas(formula) if isinstance(node, Atom)))


def variables(formula: Formula) -> tuple[str, ...]:
    """The variables of a formula, in order of first appearance; its meaning is that of all their values."""
    objects = (one for node in subformulas(formula) if isinstance(node, Atom) for one in node.objects)
    return tuple(dict.fromkeys(one for one in objects if NAME.match(one)))


def instance(formula: Formula, objects: Mapping[str, str]) -> Formula:
    """The formula with objects in place of others; one that is not listed stays."""
    by = {
        node: Atom(f"{node.predicate}({', '.join(objects.get(one, one) for one in node.objects)})")
        for node in subformulas(formula)
        if isinstance(node, Atom) and node.objects
    }
    return substitute(formula, by) if by else formula


def at_least(times: int, body: Formula) -> Formula:
    """The body held at `times` steps or more, up to now; `times` is 1 or more."""
    if times < 1:
        raise ValueError(f"a number of times from 1 was required; got {times}")
    counted: Formula = Once(body)
    for _ in range(times - 1):
        counted = Once(And(body, Previously(counted)))
    return counted


def counted(formula: Formula) -> tuple[int, Formula] | None:
    """How often something is to have held, at the least, and what; None for what `at_least` does not give.

    Once is no count: it is `ONCE`.
    """
    found, times, node = None, 1, formula
    while isinstance(node, Once) and isinstance(node.body, And) and isinstance(node.body.right, Previously):
        times, node = times + 1, node.body.right.body
        if isinstance(node, Once) and formula == at_least(times, node.body):  # it may count what ends like a count
            found = times, node.body
    return found


def conjunction(parts: tuple[Formula, ...]) -> Formula:
    """All parts joined by `And`, left to right; `true` for none."""
    return reduce(And, parts) if parts else TRUE


def disjunction(parts: tuple[Formula, ...]) -> Formula:
    """All parts joined by `Or`, left to right; `false` for none."""
    return reduce(Or, parts) if parts else FALSE


def _same(first: Formula, second: object) -> bool:
    """Equality of structure without recursion; unequal hashes settle almost every case."""
    pairs: list[tuple] = [(first, second)]
    seen: set[tuple[int, int]] = set()
    while pairs:
        one, two = pairs.pop()
        if one is two or (id(one), id(two)) in seen:
            continue
        if type(one) is not type(two) or hash(one) != hash(two) or _bounds(one) != _bounds(two):
            return False
        if not isinstance(one, (Unary, Binary)):
            if one != two:
                return False
            continue
        seen.add((id(one), id(two)))
        pairs.extend(zip(children(one), children(two), strict=True))
    return True


def _shown(formula: Formula) -> str:
    """The constructor call that builds the formula."""

    def show(node: Formula, parts: tuple) -> str:
        return f"{type(node).__name__}({', '.join((*parts, *map(str, _bounds(node))))})" if parts else repr(node)

    return str(fold(formula, show))
