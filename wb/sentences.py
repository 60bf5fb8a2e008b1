"""Where sentences end: a small set of rules over one block of text, offsets native.

A full stop ends a sentence unless it belongs to an abbreviation, an initial, a number or an open
quotation or parenthesis.  Splitting is done inside blocks only; on raw Markdown no splitter works.
"""
from __future__ import annotations

import re

_END = re.compile(r"[.!?]+[\"'”’)\]*_]*(?=\s|\Z)")
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|viz|approx|incl|excl|Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|Inc|Ltd|Co|Corp|Dept|Fig|Eq|Sec|Art|Ch|Vol|pp?|"
    r"no|nos|para|al|U\.S|U\.K|E\.U|a\.m|p\.m)|\b[A-Z])\Z", re.I)
_SOFT = re.compile(r"\b(?:etc|a\.m|p\.m|U\.S|U\.K|E\.U|Inc|Ltd|Co|Corp|Jr|Sr|al)\Z", re.I)
_OPENER = re.compile(r"\s+[\"'“‘(\[*_]*[A-Z0-9]")


def spans(text: str) -> list[tuple[int, int]]:
    """(start, end) of each sentence, without the blanks around it; they never overlap."""
    cuts, start = [], 0
    for mark in _END.finditer(text):
        if _ends(text, mark, start):
            cuts.append((start, mark.end()))
            start = mark.end()
    cuts.append((start, len(text)))
    trimmed = [(i + len(text[i:j]) - len(text[i:j].lstrip()), i + len(text[i:j].rstrip())) for i, j in cuts]
    return [(i, j) for i, j in trimmed if j > i]


def _ends(text: str, mark: re.Match[str], start: int) -> bool:
    """Whether the punctuation at `mark` closes the sentence that began at `start`."""
    rest = text[mark.end():]
    if rest.strip() and not _OPENER.match(rest):
        return False
    before = text[start:mark.start()]
    if _open(text[start:mark.end()]):
        return False
    if mark.group().startswith(".") and _ABBREVIATION.search(before):
        next_word = rest.strip()[:1]
        if _SOFT.search(before):
            return next_word.isupper() or not next_word
        return not rest.strip()
    return True


def _open(text: str) -> bool:
    """Whether a double quotation mark or a parenthesis is still open at the end of the text."""
    if len(text) > 600:  # an unbalanced mark must not swallow a page
        return False
    return text.count('"') % 2 == 1 or text.count("“") > text.count("”") or text.count("(") > text.count(")")
