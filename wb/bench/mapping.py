"""How well sentences are mapped onto tools (ToolGuard, Sec. 4.1), also where a document holds other text as well.

A *reference* is a span (start, end) of the document's text, end exclusive.  Two references are the same by the *exact*
measure if they are equal once blanks and marks at their ends are left out, and by *overlap* if they share at least half
of the characters that either has (intersection over union).  References are matched one to one, as many as can be.

A policy item is a group of references, and a reference may be in several.  How alike two groupings are is told over
the references that both have, each belonging to its groups in equal parts, by the index of Hüllermeier et al. (NDC,
2012): 1 - the mean difference of how alike two references are, which is the Rand index where every one is in one group.

Beside a policy's document may stand texts that say nothing of its tools, `added_other_domain.md` and
`added_same_domain.md`.  Each is put behind the document and in front of it; what is read of the whole, without
anybody's decisions, is measured against the same gold (ToolGuard, Table 3).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import numpy as np

from wb import paths
from wb.domain import policy as documents
from wb.domain.policy import Policy
from wb.models.client import LLM
from wb.rules import mapper, sentences
from wb.rules.extract import Extracted
from wb.rules.items import Item, Reference, items

GOLD = "gold.json"
ADDED = {"other domain": "added_other_domain.md", "same domain": "added_same_domain.md"}
Span = tuple[int, int]
Matching = Literal["exact", "overlap"]
Read = Callable[[Policy], Extracted]  # what reads a document: readers that agree, or the offline grammar
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
    return spans(item for item, _ in _gold(place, text))


def by_hand(place: Path, text: str) -> tuple[Item, ...]:
    """The items of the gold (`gold`), of each tool, without those that no guard of a call can hold to."""
    return tuple(item for item, kind in _gold(place, text) if kind != "archived")


def _gold(place: Path, text: str) -> Iterator[tuple[Item, str]]:
    """The items of the gold, of each tool, each with its kind."""
    path = paths.folder(place) / GOLD
    for row in json.loads(path.read_text("utf-8"))["items"] if path.is_file() else ():
        if wrong := [words for words in row["references"] if text.count(words) != 1]:
            raise ValueError(f"{path}: references that stand in the document once were required; got {wrong}")
        starts = [text.index(words) for words in row["references"]]
        quotes = zip(row["references"], starts, strict=True)
        references = tuple(Reference(words, start, start + len(words)) for words, start in quotes)
        for tool in (*row["mutating"], *row["read_only"]):
            yield Item(tool, row.get("name", ""), row.get("description", ""), references), row.get("kind", "")


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
    means = {name: _mean([getattr(one, name) for one in tools.values()]) for name in ("precision", "recall", "f1")}
    return Mapped(tools, **means, grouping=_mean(groupings), common=common)


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


def grouping(gold: Sequence[frozenset[int]], found: Sequence[frozenset[int]]) -> float | None:
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
    return 1 - sum(abs(_near(gold[a], gold[b]) - _near(found[a], found[b])) for a, b in pairs) / len(pairs)


def robust(place: Path, source: Policy, read: Read, llm: LLM | None = None) -> list[dict[str, object]]:
    """The figures of the document as it stands, and with each text behind it and in front of it; a row for each way of
    matching. None where there is no gold, or no such text.

    The items are those that are read, or where a model maps those that it maps, asked once for what it missed.

    Raises:
        ValueError: a reference of the gold stands in an added text, too.
        ModelError: a question got no reply.
    """
    folder = paths.folder(place)
    added = {kind: (folder / name).read_text("utf-8") for kind, name in ADDED.items() if (folder / name).is_file()}
    if not added or not gold(place, source.text):
        return []
    texts = {"as it stands": source.text}
    for kind, text in added.items():
        texts[f"{kind} behind"] = f"{source.text}\n\n{text}"
        texts[f"{kind} in front"] = f"{text}\n\n{source.text}"
    rows = []
    for which, text in texts.items():
        policy = documents.of_text(text, source.toolbox, name=source.name)
        accounts = sentences.classify(policy, read(policy)).accounts
        found = items(policy, accounts) if llm is None else mapper.mapped(policy, accounts, llm, rounds=1).items
        rows += [{"document": which, **row} for row in figures(gold(place, text), found, text)]
    return rows


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


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
