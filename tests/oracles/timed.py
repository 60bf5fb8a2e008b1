"""Metric temporal logic of the past by the book, on words with times: each operator is what its definition says."""

from collections.abc import Sequence

from wb.logic import formula as F

Timed = Sequence[tuple[frozenset[str], int]]  # what is true at each step, and its time


def held(formula: F.Formula, word: Timed, at: int) -> bool:
    """Whether a formula holds at a step."""

    def of(part: F.Formula, where: int = at) -> bool:
        return held(part, word, where)

    match formula:
        case F.Constant(value):
            return value
        case F.Atom(name):
            return name in word[at][0]
        case F.Not(body):
            return not of(body)
        case F.And(left, right):
            return of(left) and of(right)
        case F.Or(left, right):
            return of(left) or of(right)
        case F.Previously(body):
            return at > 0 and of(body, at - 1)
        case F.Once(body):
            return any(of(body, i) for i in range(at + 1))
        case F.Since(left, right):
            return any(of(right, i) and all(of(left, j) for j in range(i + 1, at + 1)) for i in range(at + 1))
        case F.Recently(body, often, within):
            return sum(word[at][1] - word[i][1] <= within and of(body, i) for i in range(at + 1)) >= often
    raise TypeError(type(formula))
