"""Sets of steps as reduced ordered binary decision diagrams (Bryant 1986).

A step is a set of true predicates; a propositional formula says which steps it holds at.  A set of
steps is a number: 0 is none, 1 is all, any other a node (predicate, set without it, set with it), so
that two sets are equal exactly when their numbers are.  Any number of predicates can be read as long
as each set depends on few of them.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence

from wb import formula as F
from wb.formula import Formula

NONE, ALL = 0, 1
MAX_NODES = 200_000


class StepsError(ValueError):
    """The sets of steps of these formulas are too large to be held."""


class Steps:
    """A store of sets of steps over predicates in a fixed order; sets of one store only may be combined."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._level = {name: i for i, name in enumerate(self.names)}
        self._nodes: list[tuple[int, int, int]] = [(len(self.names), 0, 0), (len(self.names), 1, 1)]
        self._known: dict[tuple[int, int, int], int] = {}
        self._chosen: dict[tuple[int, int, int], int] = {}

    def named(self, name: str) -> int:
        """The steps at which the predicate is true."""
        return self._node(self._level[name], NONE, ALL)

    def of(self, formula: Formula) -> int:
        """The steps at which a propositional formula holds."""
        return int(F.fold(formula, self._of))

    def both(self, one: int, two: int) -> int:
        """The steps of both sets."""
        return self.choose(one, two, NONE)

    def either(self, one: int, two: int) -> int:
        """The steps of at least one of the sets."""
        return self.choose(one, ALL, two)

    def without(self, one: int, two: int) -> int:
        """The steps of the first set that are not in the second."""
        return self.choose(two, NONE, one)

    def choose(self, test: int, yes: int, no: int) -> int:
        """The steps of `yes` within `test`, and those of `no` outside it."""
        if test <= 1:
            return yes if test else no
        if yes == no:
            return yes
        if yes == ALL and no == NONE:
            return test
        key = (test, yes, no)
        found = self._chosen.get(key)
        if found is None:
            nodes = [self._nodes[one] for one in key]
            level = min(node[0] for node in nodes)
            low = [node[1] if node[0] == level else one for node, one in zip(nodes, key, strict=True)]
            high = [node[2] if node[0] == level else one for node, one in zip(nodes, key, strict=True)]
            found = self._chosen[key] = self._node(level, self.choose(*low), self.choose(*high))
        return found

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
                return self.without(ALL, parts[0])
            case F.And():
                return self.both(*parts)
            case F.Or():
                return self.either(*parts)
            case F.Implies():
                return self.choose(parts[0], parts[1], ALL)
            case F.Iff():
                return self.choose(parts[0], parts[1], self.without(ALL, parts[1]))
            case F.Xor():
                return self.choose(parts[0], self.without(ALL, parts[1]), parts[1])
        raise ValueError(f"a formula about one step was required; got the operator {type(node).__name__}")

    def _node(self, level: int, low: int, high: int) -> int:
        if low == high:
            return low
        key = (level, low, high)
        if key not in self._known:
            if len(self._nodes) >= MAX_NODES:
                raise StepsError(f"at most {MAX_NODES} diagram nodes are held; these formulas over {len(self.names)} predicates need more")
            self._known[key] = len(self._nodes)
            self._nodes.append(key)
        return self._known[key]


def possible(tests: Iterable[Formula], limit: int = 4096) -> dict[int, frozenset[str]]:
    """The truths that the tests (propositional) can have together: bit i for test i, each with a least step.

    `StepsError` beyond `limit` of them.
    """
    tests = tuple(tests)
    steps = Steps(tuple(dict.fromkeys(name for test in tests for name in F.atoms(test))))
    blocks = {0: ALL}
    for i, test in enumerate(tests):
        inside = steps.of(test)
        halves = [(code | bit << i, (steps.both if bit else steps.without)(block, inside)) for code, block in blocks.items() for bit in (0, 1)]
        blocks = {code: half for code, half in halves if half != NONE}
        if len(blocks) > limit:
            raise StepsError(f"at most {limit} combinations of tests are told apart; these {len(tests)} have more")
    return {code: steps.least(block) for code, block in blocks.items()}
