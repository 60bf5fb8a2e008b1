"""How well sentences are mapped onto tools (ToolGuard, Sec. 4.1), and how reliably tasks are done (pass^k).

A *reference* is a span (start, end) of the document's text, end exclusive.  Two references are the same by the *exact*
measure if they are equal once blanks and marks at their ends are left out, and by *overlap* if they share at least half
of the characters that either has (intersection over union).  References are matched one to one, as many as can be.

A policy item is a group of references, and a reference may be in several.  How alike two groupings are is told over
the references that both have, each belonging to its groups in equal parts: by the index of Hüllermeier et al. (NDC,
2012), which is 1 - the mean difference of how alike two references are, or Frigui's (2007), which is the share of pairs
that both hold together or both hold apart.  Both are the Rand index where every reference is in one group.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import numpy as np

from wb.rules.items import Item, Reference

GOLD = "gold.json"
Span = tuple[int, int]
Matching = Literal["exact", "overlap"]
HALF = 0.5


class Found(NamedTuple):
    """Counts of references of one tool: those of the gold, those that a mapper found, those that are the same."""

    gold: int
    found: int
    same: int

    @property
    def precision(self) -> float | None:
        """The share of what was found that is in the gold; None where nothing was found."""
        return self.same / self.found if self.found else None

    @property
    def recall(self) -> float | None:
        """The share of the gold that was found; None where the gold has none."""
        return self.same / self.gold if self.gold else None

    @property
    def f1(self) -> float | None:
        """The harmonic mean of both; None where there is neither gold nor anything found."""
        return 2 * self.same / (self.gold + self.found) if self.gold + self.found else None


@dataclass(frozen=True, slots=True)
class Mapped:
    """How a mapper did: the counts by tool, and means over the tools for which a figure is defined (0..1, or None)."""

    tools: Mapping[str, Found]
    precision: float | None
    recall: float | None
    f1: float | None
    grouping: float | None
    common: int


def gold(place: Path, text: str) -> dict[str, list[list[Span]]]:
    """What a person mapped onto each tool, from `gold.json` in a policy's folder or beside its document; nothing where
    there is none.

    Each of its `items` names `references`, word for word as they stand in the text, and the tools that it bears on
    (`mutating`, `read_only`).

    Raises:
        ValueError: a reference does not stand in the text, or more than once.
    """
    path, found = (place if place.is_dir() else place.parent) / GOLD, {}
    for item in json.loads(path.read_text("utf-8"))["items"] if path.is_file() else ():
        wrong = [said for said in item["references"] if text.count(said) != 1]
        if wrong:
            raise ValueError(f"{path}: references that stand in the document once were required; got {wrong}")
        spans = [(text.index(said), text.index(said) + len(said)) for said in item["references"]]
        for tool in (*item["mutating"], *item["read_only"]):
            found.setdefault(tool, []).append(spans)
    return found


def by_hand(place: Path, text: str) -> tuple[Item, ...]:
    """The items of the gold in a policy's folder or beside its document, of each tool, without those that no guard of a
    call can hold to; none where there is no gold.

    Raises:
        ValueError: a reference does not stand in the text, or more than once.
    """
    gold(place, text)  # so that a wrong one is told
    path = (place if place.is_dir() else place.parent) / GOLD
    return tuple(
        Item(
            tool,
            item["name"],
            item["description"],
            tuple(Reference(said, text.index(said), text.index(said) + len(said)) for said in item["references"]),
        )
        for item in (json.loads(path.read_text("utf-8"))["items"] if path.is_file() else ())
        for tool in (*item["mutating"], *item["read_only"])
        if item.get("kind") != "archived"
    )


def spans(items: Iterable[Item]) -> dict[str, list[list[Span]]]:
    """The spans of the references of each tool's items."""
    found: dict[str, list[list[Span]]] = {}
    for item in items:
        found.setdefault(item.tool, []).append([(one.start, one.end) for one in item.references])
    return found


def figures(
    wanted: Mapping[str, Sequence[Sequence[Span]]], items: Sequence[Item], text: str
) -> list[dict[str, object]]:
    """The figures of the paper's Table 2 for a mapper's items beside a gold, a row for each way of matching; none where
    there is no gold."""
    done = [(by, mapped(wanted, spans(items), text, by=by)) for by in get_args(Matching)] if wanted else ()
    names = {"precision": "P", "recall": "R", "f1": "F1", "grouping": "FRI", "common": "common"}
    return [{"matched": by, **{said: getattr(one, name) for name, said in names.items()}} for by, one in done]


def mapped(
    gold: Mapping[str, Sequence[Sequence[Span]]],
    found: Mapping[str, Sequence[Sequence[Span]]],
    text: str,
    *,
    by: Matching = "exact",
) -> Mapped:
    """A mapper's items (each the spans of its references) for each tool, beside the gold's.

    The figures are means over the tools, as in the paper's Table 2; the grouping is that of `grouping` over each tool's
    common references, and `common` their number over all tools.
    """
    tools, groupings, common = {}, [], 0
    for tool in dict.fromkeys((*gold, *found)):
        ours, theirs = (_references(items.get(tool, ()), text) for items in (gold, found))
        pairs = matched(list(ours), list(theirs), by=by)
        tools[tool] = Found(len(ours), len(theirs), len(pairs))
        common += len(pairs)
        groupings.append(grouping([ours[a] for a, _ in pairs], [theirs[b] for _, b in pairs]))
    return Mapped(
        tools,
        _mean([one.precision for one in tools.values()]),
        _mean([one.recall for one in tools.values()]),
        _mean([one.f1 for one in tools.values()]),
        _mean(groupings),
        common,
    )


def matched(gold: Sequence[Span], found: Sequence[Span], *, by: Matching = "exact") -> list[tuple[Span, Span]]:
    """The largest set of pairs that are the same, each span in one of them."""
    if by == "exact":
        return [(span, span) for span in gold if span in set(found)]
    if not gold or not found:
        return []
    from scipy.optimize import linear_sum_assignment

    alike = np.array([[overlap(a, b) for b in found] for a in gold])
    alike[alike < HALF] = 0.0
    enough = alike > 0.0  # first as many pairs as can be, then the most alike
    rows, columns = linear_sum_assignment(enough + alike / (len(gold) * len(found) + 1), maximize=True)
    return [(gold[i], found[j]) for i, j in zip(rows, columns, strict=True) if enough[i, j]]


def overlap(one: Span, other: Span) -> float:
    """The characters that both have, as a share of those that either has."""
    both = max(0, min(one[1], other[1]) - max(one[0], other[0]))
    either = one[1] - one[0] + other[1] - other[0] - both
    return both / either if either else float(one == other)


def grouping(
    gold: Sequence[frozenset[int]], found: Sequence[frozenset[int]], *, index: Literal["ndc", "frigui"] = "ndc"
) -> float | None:
    """How alike two groupings of the same references are, 0..1: for each reference, the groups that it is in.

    None for fewer than two references.

    Raises:
        ValueError: the groupings are of different references, or one is in no group.
    """
    if len(gold) != len(found) or not all((*gold, *found)):
        raise ValueError(f"groups of the same references were required; got {len(gold)} and {len(found)}")
    if len(gold) < 2:
        return None
    pairs = list(combinations(range(len(gold)), 2))
    if index == "ndc":
        return 1 - sum(abs(_near(gold[a], gold[b]) - _near(found[a], found[b])) for a, b in pairs) / len(pairs)
    together = [(_together(gold[a], gold[b]), _together(found[a], found[b])) for a, b in pairs]
    return sum(u * v + (1 - u) * (1 - v) for u, v in together) / len(pairs)


def pass_k(done: Sequence[tuple[int, int]], k: int) -> float:
    """pass^k: how likely it is that k trials of a task, drawn without putting back, all succeed; the mean over tasks.

    `done` has for each task how many trials succeeded, and of how many (Yao et al. 2024, Sec. 3).

    Raises:
        ValueError: there is no task, k is no number from 1, or a task has fewer trials than k or than succeeded.
    """
    wrong = [(good, n) for good, n in done if not 0 <= good <= n or n < k]
    if not done or k < 1 or wrong:
        raise ValueError(f"tasks with at least k = {k} >= 1 trials were required; got {wrong[:3] or list(done)[:3]}")
    return sum(math.comb(good, k) / math.comb(n, k) for good, n in done) / len(done)


def _references(items: Sequence[Sequence[Span]], text: str) -> dict[Span, frozenset[int]]:
    """By reference, the items that it is in."""
    groups: dict[Span, set[int]] = {}
    for number, references in enumerate(items):
        for span in references:
            groups.setdefault(_trimmed(span, text), set()).add(number)
    return {span: frozenset(found) for span, found in groups.items()}


def _trimmed(span: Span, text: str) -> Span:
    """The span without blanks and marks at its ends."""
    start, end = span
    while start < end and not text[start].isalnum():
        start += 1
    while start < end and not text[end - 1].isalnum():
        end -= 1
    return (start, end) if start < end else span


def _near(one: frozenset[int], other: frozenset[int]) -> float:
    """How alike what two references belong to is: 1 - half the sum of their differences."""
    return 1 - sum(abs((g in one) / len(one) - (g in other) / len(other)) for g in one | other) / 2


def _together(one: frozenset[int], other: frozenset[int]) -> float:
    """How likely it is that a group of the one, drawn at random, is that of the other."""
    return len(one & other) / (len(one) * len(other))


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
