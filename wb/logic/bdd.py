"""Sets of steps as reduced ordered binary decision diagrams (Bryant 1986).

A step is a set of true predicates; a propositional formula says which steps it holds at.  A set of
steps is a number: 0 is none, 1 is all, any other a node (predicate, set without it, set with it), so
that two sets are equal exactly when their numbers are.  Any number of predicates can be read as long
as each set depends on few of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wb.logic import formula as F
from wb.logic.formula import Formula

NONE, ALL = 0, 1
MAX_NODES = 200_000
MAX_NAMES = 400  # predicates of one store: its functions recurse once for each


class StepsError(ValueError):
    """The sets of steps of these formulas are too large to be held."""


class StepSets:
    """A store of sets of steps over predicates in a fixed order; sets of one store only may be combined."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        if len(self.names) > MAX_NAMES:
            raise StepsError(f"at most {MAX_NAMES} predicates are held in one store; got {len(self.names)}")
        self._level = {name: i for i, name in enumerate(self.names)}
        self._nodes: list[tuple[int, int, int]] = [(len(self.names), 0, 0), (len(self.names), 1, 1)]
        self._known: dict[tuple[int, int, int], int] = {}
        self._met: dict[tuple[int, int], int] = {}
        self._outside: dict[int, int] = {NONE: ALL, ALL: NONE}

    def named(self, name: str) -> int:
        """The steps at which the predicate is true."""
        return self._node(self._level[name], NONE, ALL)

    def of(self, formula: Formula) -> int:
        """The steps at which a propositional formula holds."""
        return int(F.fold(formula, self._of))

    def both(self, one: int, two: int) -> int:
        """The steps of both sets."""
        if one > two:
            one, two = two, one
        if one == NONE or one == two:
            return one
        if one == ALL:
            return two
        found = self._met.get((one, two))
        if found is None:
            level, low, high = self._nodes[one]
            other, low_two, high_two = self._nodes[two]
            if level < other:
                low_two = high_two = two
            elif other < level:
                level, low, high = other, one, one
            found = self._met[one, two] = self._node(level, self.both(low, low_two), self.both(high, high_two))
        return found

    def outside(self, one: int) -> int:
        """The steps that are not in the set."""
        found = self._outside.get(one)
        if found is None:
            level, low, high = self._nodes[one]
            found = self._outside[one] = self._node(level, self.outside(low), self.outside(high))
            self._outside[found] = one
        return found

    def either(self, one: int, two: int) -> int:
        """The steps of at least one of the sets."""
        return self.outside(self.both(self.outside(one), self.outside(two)))

    def without(self, one: int, two: int) -> int:
        """The steps of the first set that are not in the second."""
        return self.both(one, self.outside(two))

    def choose(self, test: int, yes: int, no: int) -> int:
        """The steps of `yes` within `test`, and those of `no` outside it."""
        return self.either(self.both(test, yes), self.without(no, test))

    def least(self, steps: int) -> frozenset[str]:
        """A step of the set with the fewest true predicates; `ValueError` for the empty set."""
        if steps == NONE:
            raise ValueError("a set with a step was required; got the empty one")
        best: dict[int, tuple[int, tuple[int, ...]]] = {ALL: (0, ())}
        todo = [steps]
        while todo:
            node = todo[-1]
            level, low, high = self._nodes[node]
            waiting = [part for part in (low, high) if part != NONE and part not in best and node != ALL]
            todo += waiting
            if not waiting:
                todo.pop()
                ways = [best[low]] if low in best else []
                ways += [(best[high][0] + 1, (*best[high][1], level))] if high in best else []
                best.setdefault(node, min(ways))
        return frozenset(self.names[level] for level in best[steps][1])

    def _of(self, node: Formula, parts: tuple[int, ...]) -> int:
        match node:
            case F.Atom(name):
                return self.named(name)
            case F.Constant(value):
                return ALL if value else NONE
            case F.Not():
                return self.outside(parts[0])
            case F.And():
                return self.both(*parts)
            case F.Or():
                return self.either(*parts)
            case F.Implies():
                return self.choose(parts[0], parts[1], ALL)
            case F.Iff():
                return self.choose(parts[0], parts[1], self.outside(parts[1]))
            case F.Xor():
                return self.choose(parts[0], self.outside(parts[1]), parts[1])
        raise ValueError(f"a formula about one step was required; got the operator {type(node).__name__}")

    def _node(self, level: int, low: int, high: int) -> int:
        if low == high:
            return low
        key = (level, low, high)
        if key not in self._known:
            if len(self._nodes) >= MAX_NODES:
                raise StepsError(
                    f"at most {MAX_NODES} diagram nodes are held; these formulas over {len(self.names)} "
                    "predicates need more"
                )
            self._known[key] = len(self._nodes)
            self._nodes.append(key)
        return self._known[key]


def possible(tests: Iterable[Formula], limit: int = 4096) -> dict[int, frozenset[str]]:
    """The truths that the tests (propositional) can have together: bit i for test i, each with a least step.

    `StepsError` beyond `limit` of them.
    """
    tests = tuple(tests)
    steps = StepSets(tuple(dict.fromkeys(name for test in tests for name in F.atoms(test))))
    blocks = {0: ALL}
    for i, test in enumerate(tests):
        inside = steps.of(test)
        halves = [
            (code | bit << i, (steps.both if bit else steps.without)(block, inside))
            for code, block in blocks.items()
            for bit in (0, 1)
        ]
        blocks = {code: half for code, half in halves if half != NONE}
        if len(blocks) > limit:
            raise StepsError(f"at most {limit} combinations of tests are told apart; these {len(tests)} have more")
    return {code: steps.least(block) for code, block in blocks.items()}
