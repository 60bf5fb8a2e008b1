"""Whether the numbers of a sentence are those of its rules: each is in a test, and no test has another.

Number words are read by `text2num`; an ordinal of a list ("(2)", "3.") is no quantity.  A number counts as said by a
rule if it stands in a test, a count, a name, a description or a question of its predicates, as it is or converted by
one of a few units (days to hours, dollars to cents).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

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
FACTORS = (1, 7, 12, 24, 30, 60, 100, 168, 365, 1000, 1440, 3600, 86400)  # between units of time, money and weight


@cache
def numbers(text: str, least: int = 3) -> frozenset[float]:
    """The quantities of a text, in digits or words; words below `least` count in a larger number alone, for "one" and
    "two" are often none."""
    digits = alpha2digit(_ORDINAL.sub(" ", text), "en", least)
    return frozenset(float(found.replace(",", "")) for found in _NUMBER.findall(digits))


def strange(piece: Sentence, formulas: Sequence[Formula], predicates: Iterable[Predicate]) -> str:
    """Why the numbers of a sentence are not those of its rules; empty where they are, and where there are no rules."""
    if not formulas:
        return ""
    tested, told = _of_rules(formulas, predicates)
    lost = sorted(number for number in numbers(piece.said) if not _among(number, tested | told))
    if lost:
        return f"its rules were required to hold the number {lost[0]:g}; no test has it"
    return added(piece, formulas, predicates)


def added(piece: Sentence, formulas: Sequence[Formula], predicates: Iterable[Predicate]) -> str:
    """Which number of a test stands neither in the sentence nor in what it is read with; empty for none."""
    tested, told = _of_rules(formulas, predicates)
    around = " ".join((piece.said, *piece.stems, piece.label, *piece.headings, *(cell for _, cell in piece.row)))
    odd = sorted(number for number in tested - {0.0, 1.0} if not _among(number, numbers(around, 0) | told))
    return f"a number of the sentence was required; a test has {odd[0]:g}" if odd else ""


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
    return any(abs(number * a - other * b) < 1e-9 for other in others for a, b in ((1, k) for k in FACTORS)) or any(
        abs(number * k - other) < 1e-9 for other in others for k in FACTORS
    )
