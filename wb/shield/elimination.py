"""Sums over what is not known, by variable elimination (Zhang & Poole 1994; bucket elimination, Dechter 1999).

A table gives a value to every way to fill in the few unknowns that it speaks of.  The product of all
tables, summed over all unknowns, is computed one unknown at a time: those tables that speak of it are
multiplied and summed over it.  The cost is 2 to the power of the most unknowns that hang together that
way, not of all of them.  What product and sum mean is an algebra: the least or largest difference of
two worlds, or the mass of every difference that they may have.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from itertools import product
from typing import NamedTuple

WIDTH = 14  # unknowns of one table: more are refused, for it would have more than 2 ** 14 rows

Value = Mapping[Hashable, float]


class TooWide(ValueError):
    """More than `WIDTH` unknowns hang together, or a value has more than 2 ** `WIDTH` entries."""


class Table(NamedTuple):
    """The value of each way to fill in the unknowns in `scope`, in their order; a way without a row is impossible."""

    scope: tuple[str, ...]
    rows: Mapping[tuple[bool, ...], Value]


class Algebra(NamedTuple):
    """How values are multiplied (`key` and `number` of two entries) and added (`join` of two numbers of one key).

    `number` must distribute over `join`; `unit` is the value that changes nothing.  A number may be an array, of many
    steps at once, where `number` and `join` work on arrays.
    """

    key: Callable[[Hashable, Hashable], Hashable]
    number: Callable[[float, float], float]
    join: Callable[[float, float], float]
    unit: Value

    def times(self, one: Value, other: Value) -> Value:
        """The product of two values."""
        found: dict[Hashable, float] = {}
        for (a, x), (b, y) in product(one.items(), other.items()):
            self._add(found, self.key(a, b), self.number(x, y))
        if len(found) > 1 << WIDTH:
            raise TooWide(f"a value of at most {1 << WIDTH} entries was required; got {len(found)}")
        return found

    def sum(self, values: Iterable[Value]) -> Value:
        """The sum of values; empty for none."""
        found: dict[Hashable, float] = {}
        for value in values:
            for key, number in value.items():
                self._add(found, key, number)
        return found

    def _add(self, found: dict[Hashable, float], key: Hashable, number: float) -> None:
        found[key] = self.join(found[key], number) if key in found else number


def eliminate(tables: Iterable[Table], algebra: Algebra, keep: Collection[str] = ()) -> Table:
    """The product of the tables, summed over every unknown that is not kept; its scope is what is kept of theirs.

    The next unknown is the one whose tables speak of the fewest others (min-degree).

    Raises:
        TooWide: a table over more than `WIDTH` unknowns would be needed.
    """
    left = list(tables)
    while names := {name for table in left for name in table.scope}.difference(keep):
        beside = {name: {n for t in left if name in t.scope for n in t.scope} for name in sorted(names)}
        name = min(beside, key=lambda n: len(beside[n]))
        mine = [table for table in left if name in table.scope]
        left = [table for table in left if name not in table.scope]
        left.append(_product(mine, tuple(sorted(beside[name] - {name})), (name,), algebra))
    return _product(left, tuple(sorted({name for table in left for name in table.scope})), (), algebra)


def _product(tables: list[Table], scope: tuple[str, ...], over: tuple[str, ...], algebra: Algebra) -> Table:
    """The product of tables as one over `scope`, summed over the names of `over`."""
    names = (*scope, *over)
    if len(names) > WIDTH:
        raise TooWide(f"at most {WIDTH} unknowns that hang together were required; got {len(names)}: {names}")
    where = [(table.rows, [names.index(name) for name in table.scope]) for table in tables]
    rows: dict[tuple[bool, ...], Value] = {}
    for values in product((False, True), repeat=len(scope)):
        parts = []
        for more in product((False, True), repeat=len(over)):
            full, value = values + more, algebra.unit
            for table, places in where:
                row = table.get(tuple([full[i] for i in places]))
                if not row:
                    break
                value = algebra.times(value, row)
            else:
                parts.append(value)
        if parts:
            rows[values] = algebra.sum(parts)
    return Table(scope, rows)
