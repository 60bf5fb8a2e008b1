"""How often an act may be done: "at most three times", "only once per order", "not more than twice".

Only a sentence that says nothing else is read so: without a condition, an exception or a time within which is counted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from wb.offline import conditions, lexicon, modality, phrases

_OFTEN = rf"(?P<often>once|twice|(?:\d{{1,3}}|{lexicon.COUNT}) times)\b"
_AT_MOST = re.compile(
    rf"\b(?:only|at most|no more than|not more than|up to)(?P<kept>(?: be)?(?: [a-z]+)?) {_OFTEN}", re.I
)
_ANY_OF = re.compile(r"\b(?:each|every|a single|the same) (?P<noun>[a-z]+)\b", re.I)
_NO_MORE = re.compile(
    rf"(?<=[a-z])(?<!\bno)(?<!\bnot)(?<!\bmost)(?<!\bonly)(?<!\bto) (?:more than {_OFTEN}|(?P<twice>twice)\b)", re.I
)
_NEGATED = re.compile(r"\b(?:not|cannot|never|[a-z]+n't)\b", re.I)
_EACH = re.compile(r"\s*\b(?:per|for each|for every|each|every) (?P<noun>[a-z]+)\b", re.I)
_ONE = re.compile(r"\b(?:an?|one|each|every|any|a single|the same) (?P<noun>[a-z]+)\b", re.I)
_MORE = re.compile(
    r"\b(?:minutes?|hours?|days?|daily|nights?|weeks?|weekly|months?|years?|times?|once|twice|within|only|row|again|"
    r"consecutive\w*|or|and)\b|[,;:()]",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Limit:
    """At most so many `times` (from 1) the `actions` may be done, of each of what one of the nouns of `each` names."""

    times: int
    actions: tuple[str, ...]
    each: tuple[str, ...]


def limit(sentence: str) -> Limit | None:
    """How often a sentence lets something be done; None where it says more than that, or nothing of the kind."""
    text = re.sub(r"\b(no|not) more than\b", "at most", sentence.strip(" .!"), flags=re.I)
    negated = _NEGATED.search(text) is not None
    found = list((_NO_MORE if negated else _AT_MOST).finditer(text))
    if len(found) != 1:
        return None
    at = found[0]
    often = "once" if negated and at["twice"] else at["often"].lower()  # "not twice" leaves one time
    number = lexicon.number(often.split()[0])
    if number is None or number < 1:
        return None
    behind = _EACH.match(text[at.end() :])
    if text[at.end() + (behind.end() if behind else 0) :].strip():
        return None  # what stands behind it may be a condition, "once it is empty"
    rest = f"{text[: at.start()]}{'' if negated else at['kept']}"
    main, leading = conditions.leading(rest)
    said = modality.split(main)
    if leading or said is None or _MORE.search(rest) or said.force != ("forbid" if negated else "permit"):
        return None
    words, trailing = conditions.peel(said.rest)
    if trailing:
        return None
    actions, narrowed = phrases.actions(said.subject, words)
    told = _ONE if phrases.passive(words) else _ANY_OF  # "you may fire a kiln twice" may mean all kilns together
    nouns = [behind["noun"]] if behind else [m["noun"] for m in told.finditer(rest)]
    return None if narrowed or len(actions) != 1 else Limit(int(number), tuple(actions), tuple(nouns))
