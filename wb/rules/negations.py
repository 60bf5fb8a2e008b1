"""How often a sentence negates, of what, and what its negations come to: counted by closed lists, no meaning is read.

A demand and its opposite differ by one "not", and a reader of sentences may lose or add one.  The count is what the
signs of a rule's facts are held to (`signs`): an even number of negations leaves a fact as it is said, an odd one turns
it.  So each is counted where it bears: those of a ban apart from those of another ban beside it, those of what has to
be so before apart from those of the act, and one of a fact apart from one of the act, of which a second would be a
ban that is said again and undoes nothing.  Where the number cannot be told it is None, and whoever holds a rule to it
has to refuse (`UNTOLD`): a rule and its opposite are the same to a sentence without a count.
"""

from __future__ import annotations

import re

from wb.logic import facts
from wb.rules import called, operators, shapes
from wb.rules.rule import Predicate
from wb.rules.words import stem

_AUXILIARIES = "is are was were has have had does do did must may can shall should will".split()
_AUXILIARY = rf"(?:{'|'.join(_AUXILIARIES)})"
_NOUN = rf"(?!(?:{'|'.join((*_AUXILIARIES, 'and', 'or', 'but', 'cannot'))}|[a-z]+n't)\b)[\w'-]+"
_HAS = re.compile(r"\b(?:with|without|has|have|having|had|whose|an?|the|any)\s+\Z", re.I)
_FOR = re.compile(r"\b(?:for|of|by|in|on|at|from)\s+\Z", re.I)
_WHO = re.compile(rf"\b(?:who|that|which|whose {_NOUN})\s+(?:{_AUXILIARY}\s+)?(?:\w+ly\s+)?\Z", re.I)
_WHOSE = re.compile(  # "a file that the user did not name"
    rf"\b(?:that|which|whom)\s+(?:(?:the|an?|its|their|his|her|your|our)\s+{_NOUN}|you|we|they|he|she|it|nobody)\s+"
    r"(?:did|does|do|has|have|had)\s+\Z",
    re.I,
)
_SUPPOSES = r"(?:if|when\w*|where\w*|unless|because|provided|as long as|so long as)"
_SUPPOSED = re.compile(rf"\b{_SUPPOSES}\s+(?:{_NOUN}\s+){{0,5}}?(?:{_AUXILIARY}\s+(?:\w+ly\s+)?)?\Z", re.I)
_LEADS = re.compile(rf"\W*{_SUPPOSES}\b", re.I)
_GOES_ON = re.compile(r"\b(?:and|or)\s+(?:is|are|was|were|has|have|does|do|did)\s+\Z", re.I)
_BEFORE = re.compile(r"\b(?:before|until|prior to)\b", re.I)
_ENDLESS = re.compile(r"\b(?:without|no) (?:any )?exceptions?\b|\bno matter\b", re.I)
_PIECES = re.compile(r"\b(?:and|or|but)\b", re.I)
_APART = re.compile(r"[,;:!?()–—]|\s-\s|\.\s")
_EXCEPTS = ("unless", "except")
_AND_NOT = re.compile(
    r",? and (?=(?:(?:do|does|must|may|can|shall|should|will|is to|are to) ?(?:not|never)|[a-z]+n't|never)\b)",
    re.I,
)
_NONE_OR = re.compile(
    r"\b(?:with|has|have|having|for|of|at|are|is) no [\w' -]+? or\b|\bor (?:with |has |have )?no \w", re.I
)
_WHOLE_BAN = re.compile(rf"(?:{operators.NEGATION.pattern})(?: [\w'$€£-]+){{3}}", re.I)
_NOT_DONE = re.compile(rf"\b(?!(?:so|then|please)\b){_NOUN} \Z", re.I)  # "a way not provided by the tools"
_DONE = re.compile(r" (?:\w+ly )?\w+(?:ed|en|wn|de|ld|id|pt|nt|ght|ung)\b", re.I)
UNTOLD = "how often it negates what it asks for cannot be told"


def counted(said: str, carried: frozenset[str]) -> int | None:
    """How often a sentence negates what it asks for; None where that cannot be told."""
    count = len(operators.NEGATION.findall(said))
    if count and _BEFORE.search(said):
        count += 1
    prefixed = re.findall(r"\b(?:un|in|im|ir|il|non-?|dis)([a-z]{4,})", said.lower())
    if any(stem(rest) in carried for rest in prefixed) or re.search(r"\bnot only\b", said, re.I):
        return None  # "untrained" beside a field "trained" may or may not negate it, and so may "discard" a card
    if _AND_NOT.search(said) or _NONE_OR.search(said):
        return None  # two sentences in one, or a number that is said as "no"
    return count


def bearing(said: str, whole: int, p: Predicate) -> int | None:
    """How many of a sentence's negations bear on one fact: "before" counts as one where the fact stands behind it ("do
    not open it before it is dry"), and as none for what has to be so before ("it must not be wet before it is opened").
    None where that cannot be told."""
    found = list(_BEFORE.finditer(said))
    if not found or not operators.NEGATION.search(said) or p.kind == "action":  # of two acts `order` tells
        return whole
    (at, *more) = found
    leading = not said[: at.start()].strip(" ,")
    behind = said[at.end() :].partition(",")[0] if leading else said[at.end() :]
    rest = f"{said[: at.start()]} {said[at.end() + len(behind) :]}"
    here, there = called.stems(rest), called.stems(behind)
    paths = facts.paths(p.test) if p.test is not None else ()
    told = (
        [*(path.names[-1] for path in paths), *(value for _, value in shapes.measured(p.test))],
        [p.name, p.description, *(name for path in paths for name in path.names[1:])],
    )
    for words_of in (called.content(" ".join(texts)) for texts in told):
        one, other = len(words_of & here - there), len(words_of & there - here)
        if one != other:
            return None if more else whole if other > one else whole - 1
    return None


def denial(count: int) -> str:
    """What so many negations of a sentence come to."""
    if not count:
        return "the sentence denies nothing"
    return f"the sentence {'denies something' if count % 2 else 'takes a denial back'} (negations: {count})"


def repeated(said: str) -> tuple[str, ...]:
    """Whether a sentence says its "no" twice: of a ban that is repeated, the negations do not undo each other.

    A negation is of a fact where it is the first verb of a condition or a relative clause, or stands behind "with",
    "has" or an article; any other one is of the act, and there may be one of these, as there may be one of each fact.
    """
    if found := _ENDLESS.search(said):
        return (f"not accounted for: {found.group().lower()!r}",)
    if both := bans(said):
        return repeated(both[0]) or repeated(both[1])
    of_act: list[str] = []
    for part in _APART.split(said):
        start = 0
        for piece in _PIECES.split(part):
            start = part.index(piece, start)
            of_fact: list[str] = []
            for one in operators.NEGATION.finditer(piece):
                word, before = one.group().lower(), part[: start + one.start()]
                if not word.startswith(_EXCEPTS):
                    (of_fact if _of_a_fact(before, word, piece[one.end() :]) else of_act).append(word)
            start += len(piece)
            if len(of_fact) > 1:
                return (f"it negates one thing twice: {', '.join(map(repr, of_fact))}",)
    return (f"it says no twice: {', '.join(map(repr, of_act))}",) if len(of_act) > 1 else ()


def bans(said: str) -> tuple[str, ...] | None:
    """The two whole bans that a sentence joins by "and"; empty where it joins none, or one to a demand that negates
    nothing; None where what it joins are not two whole bans."""
    parts = tuple(_AND_NOT.split(said))
    if len(parts) == 2 and all(map(_WHOLE_BAN.search, parts)):
        return parts
    return None if len(parts) > 1 and len(operators.NEGATION.findall(said)) > 1 else ()


def _of_a_fact(before: str, negation: str, behind: str) -> bool:
    """Whether a negation between these words, from the last comma on, is of a fact and not of the act."""
    if negation.startswith(("without", "lack")) or _HAS.search(before):
        return True
    if negation != "no" and _FOR.search(before):  # "for not insured customers", "in prohibited areas"
        return True
    if negation == "not" and _DONE.match(behind) and _NOT_DONE.search(before):
        return True
    if _WHO.search(before) or _WHOSE.search(before) or (_LEADS.match(before) and _GOES_ON.search(before)):
        return True
    return _SUPPOSED.search(before) is not None
