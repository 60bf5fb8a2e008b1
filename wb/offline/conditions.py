"""Conditions in English: subordinate clauses peeled off a main clause, and their and/or/not structure.

A condition is a tree of `Phrase`s.  Leaves are positive: one negation is pulled out of each, so that
"is not confirmed" is `Negated(Phrase("is confirmed"))` and a predicate's name never holds a "not".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from wb.offline import lexicon, negation


@dataclass(frozen=True, slots=True)
class Phrase:
    """A leaf: words of the document that state a fact or name an action; `about` is its subject, if any."""

    text: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class Negated:
    """The body does not hold."""

    body: Condition


@dataclass(frozen=True, slots=True)
class Every:
    """All parts hold."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """At least one part holds."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Earlier:
    """The body happened or held at this step or an earlier one."""

    body: Condition


Condition = Phrase | Negated | Every | Either | Earlier

ACTOR = rf"(?:{'|'.join(sorted(lexicon.PERSONS, key=len, reverse=True))}|no one|those)"
_MARKERS = (
    ("iff", r"if and only if|only if and when"),
    ("only_if", r"only (?:if|when|where|while|as long as|provided(?: that)?|in case|so long as)"),
    ("only_after", r"only (?:after|once)"),
    ("unless", r"unless|except (?:if|when|where|after|with|for when|in case)|other than (?:if|when)"),
    ("except", r"except(?: for| in| that| during)?|other than|with the exception of|apart from|excluding"),
    ("provided", r"(?:as|so) long as|provided(?: that)?|providing(?: that)?|on condition that|on the condition that"),
    (
        "if",
        r"if|when(?:ever)?|where(?:ver)?|while|in case(?: of| that)?|in the event (?:of|that)|for as long as|"
        r"in which case",
    ),
    ("without", r"without|in the absence of|absent"),
    ("before", r"before|prior to|ahead of"),
    ("until", r"until|till"),
    ("after", r"after|once|following|upon|as soon as|immediately after"),
    ("regardless", r"regardless of|irrespective of|even (?:if|when|though)|whether or not|no matter"),
)
_MARKER = re.compile("|".join(f"(?P<{name}>\\b(?:{words})\\b)" for name, words in _MARKERS), re.I)
_TIME_SPAN = re.compile(
    rf"\b(?:\d+|{lexicon.COUNT}|an?)\s+(?:business\s+|working\s+|calendar\s+)?{lexicon.DURATION}\s*\Z",
    re.I,
)
_COMPLEMENT = re.compile(
    r"\b(?:ask|asks|check|checks|know|see|confirm|confirms|verify|determine|tell|decide|whether|wonder|sure|"
    r"asked|not|nor)\s*\Z",
    re.I,
)
_PARTICIPLE = re.compile(
    r"\b(?:have|has|had|be|been|is|are|was|were|not|they|that|as|information|details|data)\s*\Z", re.I
)
_MODAL = re.compile(
    r"\b(?:must|shall|should|may|can|cannot|can't|could|will|would|mustn't|shouldn't|won't|is|are|do|does|"
    r"don't|never|need|needs|has to|have to|"
    r"only|no)\b",
    re.I,
)
_FINITE = (
    r"(?:is|are|was|were|has|have|had|does|do|did|can|cannot|may|must|will|holds?|owns?|wants?|asks?|agrees?|"
    r"gives?|gave|lacks?|"
    r"needs?|exists?|applies|apply|contains?|includes?|exceeds?|remains?|requires?|says?|states?|[a-z]{1,}ies|"
    r"[a-z]{3,}(?:ses|tes|res|nes|des|ves|ges|ces|ts|ns|ds|ks|ms|ps|rs|ls)|"
    r"[a-z]{3,}ed)"
)
_NEGATION = re.compile(
    r"\b(?:(?P<aux>is|are|was|were|has|have|had|does|do|did|can|could|will|would|may|must|be|been)\s+"
    r"(?P<not>not|never)|(?P<cannot>cannot)|"
    r"(?P<short>is|are|was|were|has|have|had|does|do|did|ca|could|wo|would)n't)\s+"
    r"(?:yet\s+|already\s+|been able to\s+)?",
    re.I,
)
_LACK = re.compile(
    r"\b(?:(?:has|have|had|having|holds?|holding|carr(?:ies|ying)|with|contains?|there (?:is|are)|is|are)\s+no"
    r"(?:\s+longer)?|lacks?|lacking|has not got(?: any)?|(?<=\w )without(?: any)?)\s+(?=\w)",
    re.I,
)
_NOT = re.compile(
    r"(?<!but )\bnot\s+(?:yet\s+|already\s+|currently\s+)?"
    r"(?!(?:all|every|each|both|only|just|more|less|fewer|necessarily)\b)(?=\w)",
    re.I,
)
_NEITHER = re.compile(r"(?P<before>.*?)\bneither\s+(?P<one>.+?)\s+nor\s+(?P<other>.+)\Z", re.I)
_EMBEDDED = re.compile(
    r"\b(?:that|which|who|whom|whose|whether|says?|said|claims?|claimed|believes?|thinks?)\b", re.I
)  # a negation behind these is not that of the leaf
_VERB = re.compile(r"\b(?:is|are|was|were|be|been|has|have|had|do|does|did|can|may|must|will)\b", re.I)
_OF_A_THING = re.compile(
    r"\b(?:has|have|had|holds?|owns?|contains?|includes?|sends?|uses?|with|of|in|from|by|on|to|for)\b|\s(?:or|and)\s",
    re.I,
)  # "contains unread mail" does not deny that it contains read mail
_LASTING = re.compile(
    r"\bsince\b|\bfor\s+(?:more than\s+|at least\s+|over\s+)?"
    rf"(?:\d+|an?|{lexicon.COUNT})\s+{lexicon.DURATION}",
    re.I,
)


def peel(text: str, *, behind: int = 0) -> tuple[str, tuple[tuple[str, str], ...]]:
    """A clause without the subordinate clauses behind a place, and these as (marker, words).

    Markers: iff, only_if, only_after, unless, except, provided, if, without, before, until, after, regardless.
    """
    main, trailing = _trailing(text, behind)
    main = re.sub(r",?\s+(?:or|and)\s*\Z", "", main.rstrip(" ,;"))
    return main.strip(" ,;"), trailing


def parse(text: str, about: str = "") -> Condition:
    """The and/or/not tree of a condition. A comma before `or`/`and` binds last, then `or`, then `and`."""
    text = text.strip(" ,;.")
    text = re.sub(r"^(?:both|either)\s+", "", text, flags=re.I)
    pair = _NEITHER.match(text)
    if pair and not re.search(r",|\b(?:and|or|nor|neither)\b", f"{pair['before']} {pair['one']} {pair['other']}", re.I):
        return Every(tuple(negate(leaf(f"{pair['before']}{pair[side]}", about)) for side in ("one", "other")))
    for joint, build in (
        (r",\s*or\s+", Either),
        (r",\s*and\s+(?:also\s+)?", Every),
        (r"\s+or\s+(?:if\s+|when\s+)?", Either),
        (r"\s+and\s+(?:if\s+|when\s+)?(?:also\s+)?", Every),
    ):
        parts = _split(text, joint)
        if len(parts) > 1:
            shared = subject(parts[0]) or about
            return build(tuple(parse(part, about=shared) for part in parts))
    return leaf(text, about)


def leaf(text: str, about: str = "") -> Condition:
    """One phrase, its own negation pulled out; another's stays in it, for `negation.inside` to find."""
    text = text.strip(" ,;.")
    about = "" if subject(text) else about
    found = _NEGATION.search(text)
    if found:
        return (
            Phrase(text, about)
            if _EMBEDDED.search(text[: found.start()])
            else Negated(Phrase(_without_negation(text, found), about))
        )
    lack = _LACK.search(text)
    if lack:
        verb = re.match(r"\w+(?:\s+(?:is|are))?", lack.group()).group()
        done = verb.lower() == "without" and _VERB.search(
            text[: lack.start()]
        )  # "approved without a review": how, not whether
        verb = "has" if verb.lower().startswith(("lack", "without", "having")) else verb
        return (
            Phrase(text, about)
            if done or _EMBEDDED.search(text[: lack.start()])
            else Negated(Phrase(f"{text[: lack.start()]}{verb} {text[lack.end() :]}".strip(), about))
        )
    none = re.match(r"(?:(none of|neither of)|(nobody|no one)|nothing)\b\s*", text, re.I)
    if none:
        return Negated(
            Phrase(
                f"{'any of' if none.group(1) else 'anyone' if none.group(2) else 'anything'} {text[none.end() :]}",
                about,
            )
        )
    if re.match(r"(?:not|no|never|without)\s+", text, re.I):
        return Negated(
            Phrase(re.sub(r"^(?:not|no longer|no|never|without)\s+(?:any\s+|having\s+)?", "", text, flags=re.I), about)
        )
    bare = _NOT.search(text)
    if bare and not _EMBEDDED.search(text[: bare.start()]) and not _VERB.search(text[: bare.start()]):
        return Negated(Phrase(f"{text[: bare.start()]}{text[bare.end() :]}", about))
    if _LASTING.search(text):  # "inactive for two years" is not the opposite of "active for two years"
        return Phrase(text, about)
    opposite = None if _OF_A_THING.search(text) else negation.opposite(text)
    return Negated(Phrase(opposite, about)) if opposite else Phrase(text, about)


def negate(condition: Condition) -> Condition:
    """The opposite, without a double negation."""
    return condition.body if isinstance(condition, Negated) else Negated(condition)


def every(parts: list[Condition] | tuple[Condition, ...]) -> Condition | None:
    """All of the parts; the part itself for one, None for none."""
    return None if not parts else parts[0] if len(parts) == 1 else Every(tuple(parts))


def mapped(condition: Condition | None, change: Callable[[Phrase], Condition]) -> Condition | None:
    """The condition with each leaf replaced by what `change` makes of it."""
    match condition:
        case Phrase():
            return change(condition)
        case Negated(body):
            return negate(mapped(body, change))
        case Earlier(body):
            return Earlier(mapped(body, change))
        case Every(parts) | Either(parts):
            return type(condition)(tuple(mapped(part, change) for part in parts))
    return condition


def phrases_of(condition: Condition | None) -> tuple[Phrase, ...]:
    """The leaves of a condition, left to right."""
    match condition:
        case None:
            return ()
        case Phrase():
            return (condition,)
        case Negated(body) | Earlier(body):
            return phrases_of(body)
        case Every(parts) | Either(parts):
            return tuple(leaf for part in parts for leaf in phrases_of(part))


def _without_negation(text: str, found: re.Match[str]) -> str:
    """The text with its verb made positive: `has not paid` -> `has paid`, `did not name` -> `named`-like `name`."""
    auxiliary = (found["aux"] or found["short"] or "").lower()
    keep = auxiliary in ("is", "are", "was", "were", "has", "have", "had", "be", "been")
    able = "can" if found["cannot"] or auxiliary in ("can", "ca", "could") else ""
    return " ".join(f"{text[: found.start()]} {auxiliary if keep else able} {text[found.end() :]}".split())


def leading(text: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The main clause behind `If …, main`, and the adjunct: cut at the first comma that leaves a main clause."""
    opening = _MARKER.match(text)
    if not opening or opening.lastgroup in ("only_if", "only_after", "iff"):
        return text, ()
    for comma in re.finditer(r",\s*(?:then\s+)?", text):
        rest = text[comma.end() :]
        if re.match(r"(?:and|or|but)\b", rest, re.I) or _depth(text, comma.start()):
            continue
        if _MODAL.search(rest) or re.match(r"[a-z]+\b", rest, re.I):
            if _MARKER.match(rest) and _MARKER.match(rest).lastgroup in ("if", "unless"):
                inner, more = leading(rest)
                return inner, (*_adjunct(opening.lastgroup, text[opening.end() : comma.start()]), *more)
            if not _is_main(rest):
                continue
            return rest, _adjunct(opening.lastgroup, text[opening.end() : comma.start()])
    return text, ()


def _is_main(rest: str) -> bool:
    """Whether the words after a comma can stand as a main clause: a modal, or a verb to begin with."""
    return (
        bool(_MODAL.search(rest))
        or bool(
            re.match(
                r"(?:please\s+)?[a-z]{2,}\s+(?:the|a|an|for|to|it|them|him|her|until|and|any|all|its|their|his|\w+)\b",
                rest,
                re.I,
            )
        )
        and not re.match(r"(?:a|an|the|or|and|of|in|to|by)\b", rest, re.I)
    )


def _trailing(text: str, behind: int = 0) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Peel from the first marker behind the verb; what follows may hold further markers."""
    for found in _MARKER.finditer(text):
        if found.start() < behind or not _peelable(text, found):
            continue
        rest, more = _trailing(text[found.end() :].strip())
        return text[: found.start()], (*_adjunct(found.lastgroup, rest), *more)
    return text, ()


def _adjunct(marker: str, words: str) -> tuple[tuple[str, str], ...]:
    return ((marker, words.strip(" ,;.")),)


def _peelable(text: str, found: re.Match[str]) -> bool:
    before, after = text[: found.start()], text[found.end() :]
    if _depth(text, found.start()) or not after.strip(" ,.;"):
        return False
    if found.lastgroup == "if" and _COMPLEMENT.search(before):
        return False
    if found.lastgroup == "provided" and (_PARTICIPLE.search(before) or re.match(r"\s*(?:by|in|before|to)\b", after)):
        return False
    if found.lastgroup in ("before", "after") and re.match(r"\s*(?:\d{4}|it was|they were)\b", after):
        return False
    if found.lastgroup in ("before", "after") and _TIME_SPAN.search(before):
        return False
    if found.lastgroup in ("before", "after") and re.match(r"\s*(?:at (?:the )?(?:most|least)|no more than)\b", after):
        return False
    if found.group().lower() == "once" and re.match(
        r"\s*(?:an?|per|every|each)\s+(?:\w+ly\s+)?(?:minute|hour|day|week|month|year|session|request|order)\b",
        after,
        re.I,
    ):
        return False
    if (
        found.lastgroup == "after"
        and found.group().lower() == "once"
        and not re.match(r"\s*(?:the|a|an|you|they|it|he|she|\w+ (?:is|has|are|have))\b", after)
    ):
        return False
    if found.lastgroup == "without" and re.match(r"\s*(?:undue|delay|limitation|exception)\b", after):
        return False
    if found.group().lower() in ("following", "where", "upon") and re.match(r"\s*(?:\w+\s*)?:", after):
        return False
    if found.group().lower() == "following" and re.search(r"\b(?:the|of|these)\s*\Z", before, re.I):
        return False
    return True


def _depth(text: str, at: int) -> int:
    """How many parentheses or quotations are open at a place."""
    head = text[:at]
    return max(0, head.count("(") - head.count(")")) + head.count('"') % 2 + max(0, head.count("“") - head.count("”"))


def _split(text: str, joint: str) -> list[str]:
    """The parts of a coordination, only where each right part is a clause or a predicate of its own."""
    parts, start = [], 0
    for found in re.finditer(joint, text, re.I):
        right = text[found.end() :]
        if _depth(text, found.start()) or not text[start : found.start()].strip():
            continue
        if _predicate(right):
            parts.append(text[start : found.start()])
            start = found.end()
    parts.append(text[start:])
    return parts


_PREDICATE = re.compile(
    rf"[\w-]+\s+(?:is|are|has|have)\b|(?:(?:none|all|any|each|one) of \w+\s+)?"
    rf"(?:(?:the|a|an|any|its|their|his|her|your|no|all)\s+(?:[\w'-]+\s+){{1,4}}?)?(?:{ACTOR}\s+)?"
    rf"(?:\w+ly\s+)?{_FINITE}\b",
    re.I,
)
_PREPOSED = re.compile(
    r"(?:within|under|over|at least|at most|no more than|more than|less than|without|not|in|from|with|during|"
    r"before|after|only|by|on|at)\s+\w+",
    re.I,
)


def _predicate(right: str) -> bool:
    return bool(_PREDICATE.match(right) or _PREPOSED.match(right) or re.match(r"(?:if|when|unless)\b", right))


def subject(text: str) -> str:
    """The subject of a finite clause: what stands before its first verb; empty for a bare predicate."""
    found = re.match(rf"(?P<s>(?:(?:the|a|an|any|its|their)\s+)?(?:[\w'-]+\s+){{1,4}}?)(?:{_FINITE})\b", text, re.I)
    return found["s"].strip() if found else ""
