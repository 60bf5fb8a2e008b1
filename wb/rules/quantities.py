"""Whether the numbers of a sentence are those of its rules, or a test has another one in the place of one of them.

Number words are read by `text2num`; an ordinal of a list ("(2)", "3.") is no quantity.  A number counts as said by a
rule if it stands in a test, a count, a name, a description or a question of its predicates, as it is or converted by
one of a few units (days to hours, dollars to cents).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from text_to_num import alpha2digit

from wb.logic import cel
from wb.logic import formula as f
from wb.logic.formula import Formula
from wb.logic.syntax import render
from wb.rules.rule import Predicate

if TYPE_CHECKING:
    from wb.domain.document import Sentence

_NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})+(?:\.\d+)?(?!\w)|\d+(?:\.\d+)?")
_ORDINAL = re.compile(r"\A\W*(?:\(?\d+[.)]|\(\w\))\s|\(\d{1,2}\)|\b\d+(?:st|nd|rd|th)\b")
# § 12.3 and 640.4(e) name a place of a document
_REFERENCE = re.compile(r"§+\s*\d[\d.–-]*(?:\(\w{1,3}\))*|\b\d+(?:\.\d+)*(?:\(\w{1,3}\))+")
FACTORS = (1, 7, 12, 24, 30, 60, 100, 168, 365, 1000, 1440, 3600, 86400)  # between units of time, money and weight
SPANS = ((28, 32), (28 * 24, 32 * 24), (365, 367), (365 * 24, 367 * 24))  # a month and a year in days and hours


@cache
def numbers(text: str, least: int = 3) -> frozenset[float]:
    """The quantities of a text, in digits or words; words below `least` count in a larger number alone, for "one" and
    "two" are often none."""
    digits = alpha2digit(_ORDINAL.sub(" ", _REFERENCE.sub(" ", text)), "en", least)
    return frozenset(float(found.replace(",", "")) for found in _NUMBER.findall(digits))


class Numbers(NamedTuple):
    """Numbers of a sentence that its rules do not have, and numbers of their tests that stand nowhere near it."""

    lost: tuple[float, ...] = ()
    added: tuple[float, ...] = ()

    @property
    def swapped(self) -> str:
        """Why the rules may say another number than the sentence; empty where they may not.

        One of the two alone is seldom a mistake: a year is counted in hours, a share of a hundred; a number names a
        section, or how many things are listed.
        """
        if not self.lost or not self.added:
            return ""
        return f"its rules were required to hold the number {self.lost[0]:g}; a test has {self.added[0]:g}"

    @property
    def note(self) -> str:
        """What a person may want to look at; empty for nothing."""
        said = [f"no test has its number {number:g}" for number in self.lost[:1]]
        return "; ".join(said + [f"a test has {number:g}, which it does not say" for number in self.added[:1]])


def compared(piece: Sentence, formulas: Sequence[Formula], predicates: Iterable[Predicate]) -> Numbers:
    """The numbers of a sentence beside those of its rules; none where there are no rules."""
    if not formulas:
        return Numbers()
    tested, named = _of_rules(formulas, predicates)
    around = " ".join((piece.said, *piece.stems, piece.label, *piece.headings, *(cell for _, cell in piece.row)))
    lost = sorted(number for number in numbers(piece.said) if not _among(number, tested | named))
    added = sorted(number for number in tested - {0.0, 1.0} if not _among(number, numbers(around, 0) | named))
    return Numbers(tuple(lost), tuple(added))


def _of_rules(
    formulas: Sequence[Formula], predicates: Iterable[Predicate]
) -> tuple[frozenset[float], frozenset[float]]:
    """The numbers of the formulas and of their predicates' tests, and those of names, descriptions and questions."""
    used = {name for one in formulas for name in f.predicates(one)}
    own = [p for p in predicates if p.name in used]
    tested = " ".join([*map(render, formulas), *(cel.render(p.test) for p in own if p.test is not None)])
    return numbers(tested), numbers(" ".join(f"{p.name.replace('_', ' ')} {p.description} {p.question}" for p in own))


def _among(number: float, others: Iterable[float]) -> bool:
    """Whether a number is one of others, in some unit."""
    return any(
        abs(number - other * k) < 1e-9 or abs(number * k - other) < 1e-9 for other in others for k in FACTORS
    ) or any(
        low * a <= b <= high * a for x in others for a, b in ((number, x), (x, number)) for low, high in SPANS if a
    )
