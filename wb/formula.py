"""Formulas of linear temporal logic on finite traces (LTLf) with past: the syntax tree alone.

Operators and their names follow De Giacomo & Vardi (IJCAI 2013) and ShieldAgent, Eq. 7; the past
operators are those of Lichtenstein, Pnueli & Zuck (1985).  Text is read and printed by `syntax`,
meaning is given by `ltlf`.  Nodes are frozen and compare by structure.
"""
from __future__ import annotations

import re
from dataclasses import dataclass, fields

NAME = re.compile(r"[a-z][a-z0-9_]*\Z")


@dataclass(frozen=True, slots=True)
class Constant:
    """`true` or `false`."""

    value: bool


@dataclass(frozen=True, slots=True)
class Atom:
    """A predicate, true or false at each step of a trace."""

    name: str

    def __post_init__(self) -> None:
        if not NAME.match(self.name):
            raise ValueError(f"a predicate name must match [a-z][a-z0-9_]*; got {self.name!r}")


@dataclass(frozen=True, slots=True)
class Unary:
    """One operand."""

    body: Formula


@dataclass(frozen=True, slots=True)
class Binary:
    """Two operands."""

    left: Formula
    right: Formula


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


Formula = Constant | Atom | Unary | Binary

TRUE = Constant(True)
FALSE = Constant(False)
PAST = (Previously, Once, Historically, Since)
FUTURE = (Next, WeakNext, Eventually, Always, Until, Release, WeakUntil)


def children(formula: Formula) -> tuple[Formula, ...]:
    """The operands of a formula, left to right; none for a constant or a predicate."""
    if isinstance(formula, (Constant, Atom)):
        return ()
    return tuple(getattr(formula, field.name) for field in fields(formula))


def subformulas(formula: Formula) -> tuple[Formula, ...]:
    """Every distinct subformula, operands before the formulas that hold them."""
    found: dict[Formula, None] = {}
    stack = [(formula, False)]
    while stack:
        node, expanded = stack.pop()
        if node in found:
            continue
        if expanded:
            found[node] = None
        else:
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(children(node)))
    return tuple(found)


def atoms(formula: Formula) -> tuple[str, ...]:
    """The names of the predicates in a formula, in order of first appearance."""
    return tuple(node.name for node in subformulas(formula) if isinstance(node, Atom))


def conjunction(parts: tuple[Formula, ...]) -> Formula:
    """All parts joined by `And`, left to right; `true` for none."""
    if not parts:
        return TRUE
    whole = parts[0]
    for part in parts[1:]:
        whole = And(whole, part)
    return whole


def disjunction(parts: tuple[Formula, ...]) -> Formula:
    """All parts joined by `Or`, left to right; `false` for none."""
    if not parts:
        return FALSE
    whole = parts[0]
    for part in parts[1:]:
        whole = Or(whole, part)
    return whole
