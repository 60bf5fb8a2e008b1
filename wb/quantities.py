"""Quantities in English: `under 18`, `at least 15 years`, `no more than ten items`, `$500 or more`.

A quantity is a comparison with a number and a unit; which field it is about is decided in `grounding`.
"""
from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Op = Literal["<", "<=", ">", ">=", "=="]
_WORDS = {word: value for value, word in enumerate(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty".split())}
_WORDS |= {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90, "hundred": 100, "dozen": 12,
           "thousand": 1000, "once": 1, "twice": 2, "single": 1}
NUMBER = (r"(?P<money>[$€£]\s?)?(?P<number>\d[\d,]*(?:\.\d+)?|\b(?:" + "|".join(sorted(_WORDS, key=len, reverse=True)) + r")\b)(?P<percent>\s?%)?")
_BEFORE: tuple[tuple[str, Op], ...] = (
    (r"(?:no|not) (?:more|greater|higher|longer|larger|older|later|bigger) than|not (?:to )?(?:exceed(?:ing)?|over|above)|at (?:the )?most|at a maximum(?: of)?|"
     r"up to|a maximum of|maximum(?: of| is|:)?|limited to|not exceeding", "<="),
    (r"(?:no|not) (?:less|fewer|smaller|younger|lower|shorter|under) than|not (?:under|below|younger than)|at (?:the )?least|a minimum of|minimum(?: of| is|:)?", ">="),
    (r"(?:more|greater|higher|longer|larger|older|bigger|heavier) than|exceed(?:s|ing)?|over(?: the age of)?|above(?: the age of)?|beyond", ">"),
    (r"(?:less|fewer|smaller|younger|lower|shorter|lighter) than|under(?: the age of)?|below(?: the age of)?", "<"),
    (r"exactly|equal to|precisely", "=="),
)
_AFTER: tuple[tuple[str, Op], ...] = (
    (r"or (?:more|older|over|above|greater|higher|later)|and (?:over|older|above|up)", ">="),
    (r"or (?:less|fewer|younger|under|below|lower|smaller|shorter)|and (?:under|younger|below)", "<="),
)
_PATTERNS = tuple((re.compile(rf"\b(?:{cue})\s+(?:the\s+|an?\s+)?{NUMBER}", re.I), op) for cue, op in _BEFORE) + tuple(
    (re.compile(rf"{NUMBER}(?P<unit>(?:\s+[a-zA-Z]+){{0,2}}?)\s+(?:{cue})\b", re.I), op) for cue, op in _AFTER)
_AGE = re.compile(r"\b(?:age|aged|old|older|younger|years?)\b", re.I)
_PERSON = re.compile(r"^\s*(?:(?:the|a|an|any)\s+)?(?:(?:user|person|individual|customer|client|people|users|anyone|someone)s?\s+)?"
                     r"(?:who (?:is|are)\s+|is\s+|are\s+|be\s+|was\s+)*(?:aged\s+)?\Z", re.I)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A comparison found at `text[start:end]`: of `value` (in `unit`, where one is named).

    `person` says that a bare number is compared of a person, which in English is the age in years.
    """

    op: Op
    value: int | float
    start: int
    end: int
    unit: str = ""
    person: bool = False


def find(text: str) -> Quantity | None:
    """The first comparison with a number in a text, the longest cue where several start together."""
    found: list[Quantity] = []
    for pattern, op in _PATTERNS:
        for match in pattern.finditer(text):
            found.append(_quantity(text, match, op))
    if not found:
        return None
    return min(found, key=lambda q: (q.start, -(q.end - q.start)))


def number(text: str) -> int | float | None:
    """The value of a numeral or number word; None for anything else."""
    word = text.strip().lower().replace(",", "")
    if word in _WORDS:
        return _WORDS[word]
    try:
        return float(word) if "." in word else int(word)
    except ValueError:
        return None


def _quantity(text: str, match: re.Match[str], op: Op) -> Quantity:
    value = number(match["number"])
    unit = "$" if match["money"] else "%" if match["percent"] else ""
    before, after = text[: match.start()], text[match.end():]
    if op in ("<=", ">=") and match.re.groupindex.get("unit"):
        unit = (match["unit"] or "").strip() or unit
    counts = re.search(r"\b(?:fewer|less|more|smaller|longer|shorter|heavier|lighter|bigger|larger)\b", match.group(), re.I)
    counts = counts or re.search(r"\b(?:at (?:the )?most|up to|maximum|exactly|exceed\w*|once|twice|limited)\b", match.group(), re.I)
    person = unit.lower() in ("", "year", "years") and not (counts and not _AGE.search(text)) and bool(_AGE.search(match.group()) or _AGE.match(after.strip()) or re.search(r"\b(?:age|aged)\W*(?:is\W*)?\Z", before, re.I)
                               or (_PERSON.match(before) and not re.match(r"\s*[a-zA-Z]", after)))
    return Quantity(op, 0 if value is None else value, match.start(), match.end(), unit, person)
