"""Values worth trying: for facts about one term, enough values to meet every combination of their truths.

Between two neighbouring limits of a term no fact about it changes, so the limits and one value of every gap decide
whether one fact implies or excludes another.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from wb.logic.facts import Comparison, Conjunction, Disjunction, Fact, Negation, OneOf, Path, Scalar, Size, children

Sample = bool | int | float | str | tuple
MAX_SIZE = 10_000  # items of a list that is made


def samples(term: Path | Size, *facts: Fact, whole: bool = False, among: tuple[Sample, ...] = ()) -> tuple[Sample, ...]:
    """Values of the term that meet every combination of truths that the facts can have.

    Args:
        term: what every fact measures; for a size the samples are lists of that many items.
        whole: whether the term's numbers are integers, so that `x > 17` and `x >= 18` are the same.
        among: the values of its enumeration, which has no others.

    Returns:
        An empty tuple where trying cannot tell: a fact reads another term, or compares the term with itself, or with
        sizes beyond `MAX_SIZE`.
    """
    found: list[Scalar] = []
    for fact in facts:
        limits = _limits(term, fact)
        if limits is None:
            return ()
        found += limits
    if isinstance(term, Size):
        return _lists([limit.value for limit in found])
    if among:
        return among
    by_kind: dict[str, set] = {}
    for limit in found:
        by_kind.setdefault(limit.type.replace("int", "double"), set()).add(limit.value)
    return (
        *((False, True) if "bool" in by_kind else ()),
        *_numbers(by_kind.get("double", ()), whole=whole),
        *_texts(by_kind.get("string", ())),
    )


def assigned(term: Path | Size, value: Sample) -> dict[str, object]:
    """The values for `holds` in which the term has this sample and nothing else is known."""
    for name in reversed((term.of if isinstance(term, Size) else term).names):
        value = {name: value}
    return value


def _limits(term: Path | Size, fact: Fact) -> list[Scalar] | None:
    """The literals that the term is compared with; None where something else is compared."""
    match fact:
        case Path():
            return [Scalar(True)] if fact == term else None
        case Scalar():
            return []
        case Comparison(_, left, right):
            read = [side for side in (left, right) if not isinstance(side, Scalar)]
            if read:
                limits = [side for side in (left, right) if side != term]
                return limits if read == [term] and Scalar(None) not in limits else None
            return []
        case OneOf(item, options):
            return list(options) if item == term else [] if isinstance(item, Scalar) else None
        case Negation() | Conjunction() | Disjunction():
            pass
        case _:
            return None
    found: list[Scalar] = []
    for child in children(fact):
        limits = _limits(term, child)
        if limits is None:
            return None
        found += limits
    return found


def _lists(limits: list) -> tuple[Sample, ...]:
    if any(limit > MAX_SIZE for limit in limits):
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
