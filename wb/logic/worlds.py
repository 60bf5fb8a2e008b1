"""Whether two facts are the same: their truths on all values worth trying, and one value on which they differ.

Between two neighbouring literals of a term no comparison changes its truth, so the literals of both facts, what lies
right beside them and what is declared (enumerations, truths, what an object holds) are the values that tell facts
apart.  Lists have up to `ITEMS` items.  Beyond `MOST` worlds a fixed random part of them is tried: what is found to
differ differs, and what is not is the same *as far as tried*.  For facts about one term alone, `samples` are enough
values to meet every combination of their truths.
"""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise, product
from typing import NamedTuple

from wb.logic import facts as F
from wb.logic import times, types
from wb.logic.evaluation import compiled
from wb.logic.facts import Fact, Node
from wb.logic.types import Schema

MOST = 20_000  # worlds that are tried
WIDE = 40  # values of one field that are tried
ITEMS = 2  # of a list; longer ones hold one item over and over
LONGEST = 50  # items of a list, for a size that is compared with a literal
LONGEST_LIST = 10_000  # items of a list among `samples`
OTHER = "another text"
BASE = datetime(2024, 5, 15, 15, tzinfo=UTC)  # any moment does: facts compare times with each other or a literal

Schemas = Mapping[str, Schema]
World = dict[str, dict[str, object]]
Sample = bool | int | float | str | tuple


class Compared(NamedTuple):
    """How two facts compare on all worlds that were tried.

    `same`: they never contradict each other, and both are known together, true in some worlds and false in others;
    where one is unknown, such as for a key that a record does not have, the other may be known.  `apart` is a world on
    which they contradict each other.  `careful` is the one of them that is unknown more often.  `whole`: these were all
    worlds worth trying.
    """

    same: bool
    careful: Fact
    apart: World | None = None
    whole: bool = True


def compare(one: Fact, other: Fact, state: Schemas, call: Schemas) -> Compared:
    """How two facts compare in all worlds; `state` and `call` declare the fields."""
    if canonical(one) == canonical(other):
        return Compared(True, one)
    null = {F.Path(("state", name)): (None,) for name, schema in state.items() if types.nullable(schema)}
    first, second = compiled(one, null), compiled(other, null)
    every, whole = worlds((one, other), state, call)
    unknown, seen = [0, 0], set()
    for world in every:
        truths = first(world["state"], world["call"]), second(world["state"], world["call"])
        unknown[0] += truths[0] is None
        unknown[1] += truths[1] is None
        if None in truths:
            continue
        if truths[0] is not truths[1]:
            return Compared(False, one, world, whole)
        seen.add(truths[0])
    return Compared(len(seen) == 2, other if unknown[1] > unknown[0] else one, None, whole)


def worlds(tests: Sequence[Fact], state: Schemas, call: Schemas) -> tuple[Iterator[World], bool]:
    """The values that the facts may be told, each field also left out, and whether these are all worth trying."""
    nodes = [node for test in tests for node in _nodes(test)]
    values = _Values(nodes)
    fields = dict.fromkeys(node.names[:2] for node in nodes if isinstance(node, F.Path))
    schemas = {"state": state, "call": call}
    choices = [[values.MISSING, *values.of(schemas[root].get(name, {}))] for root, name in fields]
    total = math.prod(map(len, choices))

    def world(chosen: Iterable[object]) -> World:
        found: World = {"state": {}, "call": {}}
        for (root, name), value in zip(fields, chosen, strict=True):
            if value is not values.MISSING:
                found[root][name] = value
        return found

    if total <= MOST:
        return map(world, product(*choices)), values.whole
    draw = random.Random(0)  # the same worlds each time
    drawn = ([draw.choice(some) for some in choices] for _ in range(MOST))
    return map(world, drawn), False


def canonical(node: Node, names: Mapping[str, F.Variable] | None = None, depth: int = 0) -> Node:
    """The node with each macro's variable named by its depth: two nodes that differ in such names alone become one."""
    names = names or {}
    if isinstance(node, F.Variable):
        return names.get(node.name, node)
    if isinstance(node, F.Macro):
        variable = F.Variable(f"v{depth}")
        over = canonical(node.over, names, depth)
        body = canonical(node.body, {**names, node.variable.name: variable}, depth + 1)
        return F.Macro(node.name, over, variable, body)
    changed: dict[str, object] = {}
    for field in dataclasses.fields(node):
        value = getattr(node, field.name)
        if isinstance(value, Node):
            changed[field.name] = canonical(value, names, depth)
        elif isinstance(value, tuple) and value and all(isinstance(part, Node) for part in value):
            changed[field.name] = tuple(canonical(part, names, depth) for part in value)
    return dataclasses.replace(node, **changed) if changed else node


_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def normal(fact: Node, whole: Collection[Node] = ()) -> Node:
    """The fact in a form in which some that mean the same, whatever is told, are the same to the letter: variables by
    their depth, literals behind what they are compared with, negations taken into comparisons and connectives, and of
    what is a `whole` number only `>=` and `<` where a limit is one too."""
    return _turned(canonical(fact), frozenset(whole), positive=True)


def _turned(fact: Node, whole: frozenset[Node], positive: bool) -> Node:
    match fact:
        case F.Negation(body):
            return _turned(body, whole, not positive)
        case F.Conjunction(parts) | F.Disjunction(parts):
            made = sorted({_turned(part, whole, positive) for part in parts}, key=repr)
            kind = F.Conjunction if isinstance(fact, F.Conjunction) is positive else F.Disjunction
            return made[0] if len(made) == 1 else kind(tuple(made))
        case F.Comparison(op, left, right):
            if isinstance(left, F.Scalar) and not isinstance(right, F.Scalar):
                op, left, right = F.MIRRORED[op], right, left
            op = op if positive else _NEGATED[op]
            limit = right.value if isinstance(right, F.Scalar) and left in whole else None
            if op in (">", "<=") and type(limit) is int and limit < 2**63 - 1:
                op, right = {">": ">=", "<=": "<"}[op], F.Scalar(limit + 1)
            return F.Comparison(op, left, right)
    return fact if positive else F.Negation(fact)


def _nodes(node: Node) -> Iterator[Node]:
    yield node
    for child in F.children(node):
        yield from _nodes(child)


class _Values:
    """Values worth trying for a schema, by the literals and names of some facts."""

    MISSING = object()

    def __init__(self, nodes: Sequence[Node]) -> None:
        keys = {n.key.value for n in nodes if isinstance(n, F.Part) and isinstance(n.key, F.Scalar)}
        literals = [node for node in nodes if isinstance(node, F.Scalar) and node.value not in keys]
        self.numbers = sorted({n.value for n in literals if n.type in ("int", "double")})
        self.texts = sorted({n.value for n in literals if n.type == "string"})
        listed = {o.value for n in nodes if isinstance(n, F.OneOf) for o in n.options}
        self.texts = sorted({*self.texts, *(text for text in listed if type(text) is str)})
        self.numbers = sorted({*self.numbers, *(n for n in listed if type(n) in (int, float))})
        joins = [text for text in self.texts if any(isinstance(n, F.Arithmetic) for n in nodes)]
        self.texts += [f"{OTHER}{join}{OTHER}" for join in joins]  # a key that is put together of two texts
        self.names = {name for n in nodes if isinstance(n, F.Path) for name in n.names[2:]} | set(self.texts) | keys
        self.keys = sorted(key for key in keys if type(key) is str)  # names of records of which nothing is declared
        self.spans = [d for text in self.texts if (d := _duration(text)) is not None]
        self.dated = any(text.startswith("T") for text in self.texts)  # a time of day is put behind a date
        self.timed = any(isinstance(n, F.Function) and n.name in ("timestamp", "duration") for n in nodes) or any(
            isinstance(n, F.Path) and n.names[-1] == "now" for n in nodes
        )
        self.whole, self._draw = not self.timed, random.Random(0)  # the same values each time

    def of(self, schema: Schema, depth: int = 4) -> list[object]:
        """The values worth trying of what is declared so; few, and of each kind where nothing is declared."""
        return [*self._of(schema, depth), *([None] if types.nullable(schema) else ())]

    def _of(self, schema: Schema, depth: int) -> list[object]:
        kind = types.of_schema(schema, "")
        if kind.values:
            return list(kind.values)
        match kind.name:
            case "bool":
                return [False, True]
            case "int" | "double" | "number":
                return self._numbers(kind.name == "int")
            case "string":
                return self._texts()
            case "list" if depth:
                items = self._first(self.of(kind.items or {}, depth - 1))
                sizes = {n + step for n in self.numbers for step in (-1, 0, 1) if type(n) is int and n < LONGEST}
                longer = ([item] * size for size in sorted(sizes) for item in items[:3] if size > ITEMS)
                return [[], *([item] for item in items), *map(list, self._some([items] * ITEMS)), *longer]
            case "record" if depth:
                return self._records(kind, depth)
        self.whole = False
        plain = [*self._texts(), False, True, *(self._numbers(False) if self.numbers else ())]
        return [*self._made(dict.fromkeys(self.keys, plain)), *plain] if depth and self.keys else plain

    def _records(self, kind: types.Type, depth: int) -> list[object]:
        known = dict(kind.fields or {})
        others = {name: kind.others for name in self.texts if kind.others and name not in known}
        used = {name: schema for name, schema in (known | others).items() if name in self.names or not self.names}
        return self._made({name: self._first(self.of(schema, depth - 1)) for name, schema in used.items()})

    def _made(self, fields: Mapping[str, Sequence[object]]) -> list[object]:
        """Records of such fields, each also left out."""
        choices = [[self.MISSING, *values] for values in fields.values()]
        return [
            {name: v for name, v in zip(fields, values, strict=True) if v is not self.MISSING}
            for values in self._some(choices)
        ]

    def _first(self, values: list[object]) -> list[object]:
        self.whole = self.whole and len(values) <= WIDE
        return values[:WIDE]

    def _numbers(self, whole: bool) -> list[object]:
        near = {n + step for n in self.numbers for step in (-1, 0, 1)} or {0, 1, 2}
        between = {(a + b) / 2 for a, b in pairwise(self.numbers)}
        kept = {int(n) for n in near} if whole else {*near, *between, *(n + 0.5 for n in self.numbers)}
        return sorted(kept)

    def _texts(self) -> list[object]:
        if not self.timed:
            return [*self.texts, "", OTHER]
        steps = {timedelta(seconds=s + edge) for s in (0, *self.spans) for edge in (-1, 0, 1)}
        moments = sorted({BASE - step for step in steps} | {BASE + step for step in steps})
        days = {moment + timedelta(days=k) for moment in moments for k in (-1, 0, 1)} if self.dated else ()
        dates = sorted({day.strftime("%Y-%m-%d") for day in days})
        times_of_day = [moment.strftime("%Y-%m-%dT%H:%M:%SZ") for moment in moments]
        some = dates[:: len(dates) // 8 or 1]  # and when they begin, for what is just so long ago
        return [*some, *(f"{day}T00:00:00Z" for day in some), *times_of_day, *self.texts]

    def _some(self, choices: Sequence[Sequence[object]]) -> list[tuple[object, ...]]:
        """Every choice of one value each, or as many of them as are tried."""
        if math.prod(map(len, choices)) <= WIDE:
            return list(product(*choices))
        self.whole = False
        return [tuple(self._draw.choice(some) for some in choices) for _ in range(WIDE)]


def _duration(text: str) -> float | None:
    """The seconds of a duration such as `36h`; None for another text."""
    length = times.duration(text)
    return None if length is None else length.nanoseconds / times.SECOND


# ---- of one term ---------------------------------------------------------------------------------


def samples(term: F.Path | F.Size, *facts: Fact, whole: bool = False) -> tuple[Sample, ...]:
    """Values of the term that meet every combination of truths that the facts can have.

    Args:
        term: what every fact measures; for a size the samples are lists of that many items.
        whole: whether the term's numbers are integers, so that `x > 17` and `x >= 18` are the same.

    Returns:
        An empty tuple where trying cannot tell: a fact reads another term, or compares the term with itself, or with
        sizes beyond `LONGEST_LIST`.
    """
    found: list[F.Scalar] = []
    for fact in facts:
        limits = _limits(term, fact)
        if limits is None:
            return ()
        found += limits
    if isinstance(term, F.Size):
        return _lists([limit.value for limit in found])
    by_kind: dict[str, set] = {}
    for limit in found:
        by_kind.setdefault(limit.type.replace("int", "double"), set()).add(limit.value)
    return (
        *((False, True) if "bool" in by_kind else ()),
        *_numbers(by_kind.get("double", ()), whole=whole),
        *_texts(by_kind.get("string", ())),
    )


def assigned(term: F.Path | F.Size, value: Sample) -> dict[str, object]:
    """The values for `holds` in which the term has this sample and nothing else is known."""
    for name in reversed((term.of if isinstance(term, F.Size) else term).names):
        value = {name: value}
    return value


def _limits(term: F.Path | F.Size, fact: Fact) -> list[F.Scalar] | None:
    """The literals that the term is compared with; None where something else is compared."""
    match fact:
        case F.Path():
            return [F.Scalar(True)] if fact == term else None
        case F.Scalar():
            return []
        case F.Comparison(_, left, right):
            read = [side for side in (left, right) if not isinstance(side, F.Scalar)]
            if read:
                limits = [side for side in (left, right) if side != term]
                return limits if read == [term] and F.Scalar(None) not in limits else None
            return []
        case F.OneOf(item, options):
            return list(options) if item == term else [] if isinstance(item, F.Scalar) else None
        case F.Negation() | F.Conjunction() | F.Disjunction():
            pass
        case _:
            return None
    found: list[F.Scalar] = []
    for child in F.children(fact):
        limits = _limits(term, child)
        if limits is None:
            return None
        found += limits
    return found


def _lists(limits: list) -> tuple[Sample, ...]:
    if any(limit > LONGEST_LIST for limit in limits):
        return ()
    near = {math.floor(limit) + step for limit in limits for step in (0, 1)}
    return tuple((None,) * count for count in sorted({n for n in near if n > 0} | {0}))


def _numbers(limits: Iterable[float], *, whole: bool) -> Iterator[float]:
    """Integers at and around each limit, and the limit with the double that follows it unless all are whole."""
    for limit in sorted(limits):
        yield from (math.floor(limit) + step for step in (-1, 0, 1))
        if not whole:
            yield from filter(math.isfinite, (limit, math.nextafter(float(limit), math.inf)))


def _texts(limits: Iterable[str]) -> Iterator[str]:
    """The least text, and each limit with the text that follows it directly in the order of code points."""
    if limits:
        yield ""
    for limit in sorted(limits):
        yield from (limit, f"{limit}\0")
