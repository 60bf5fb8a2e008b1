"""What narrows a noun: "users who …", "a page that is not …", "more than 20 recipients", "under 18".

Takes the restricting words out of a subject or an object and gives them as a condition, so that an
action phrase keeps only the action.
"""
from __future__ import annotations

import re

from wb import quantities
from wb.conditions import ACTOR, Condition, Negated, Phrase, every, mapped, negate, parse

_DETERMINER = r"(?:(?:a|an|the|any|all|each|every|no|only|such|those|these|some|its|their|his|her|your|both)\s+)*"
_RELATIVE = re.compile(r"[ ,]+(?:to\s+|of\s+|for\s+|in\s+|with\s+|on\s+)?(?P<pronoun>who|that|which|whom|whose)\s+(?P<clause>.+)\Z", re.I | re.S)
_PERSON = re.compile(r"(?:ees?|[cst]ors?|ants?|ists?|ians?|staff|guests?|children|child|adults?|minors?|parents?|students?|managers?|employers?|owners?|holders?|"
                     r"workers?|teachers?|controllers?|processors?|providers?|deployers?|manufacturers?|importers?|publishers?|developers?|reviewers?|visitors?|buyers?|sellers?|suppliers?|senders?|officers?|nurses?|lawyers?|vendors?|directors?)\Z", re.I)
_NO_PERSON = frozenset("fee fees list lists committee guarantee guarantees factor factors sector sectors monitor monitors error errors grant grants variant variants constant relevant".split())
_REDUCED = re.compile(r"\s+(?:not\s+)?(?:\w{3,}ed|given|shown|made|written|sent|held|chosen)\s+(?:by|through|via)\s+.+\Z", re.I | re.S)
_OBJECT_GAP = re.compile(rf"(?:the|an?|any|its|their|our|your|his|her|no|all|{ACTOR})\b\s+", re.I)
_HEAD_ACTOR = re.compile(rf"\A{_DETERMINER}(?P<pre>(?:[\w'/-]+(?:\s*,\s*|\s+(?:or|and)\s+|\s+)){{0,6}}?)(?P<actor>{ACTOR})\b(?P<post>.*)\Z", re.I | re.S)
_FOR_ACTOR = re.compile(rf"\s+(?:for|on behalf of|to|from|by)\s+(?=(?:a|an|any|the|all)?\s*(?:[\w'-]+\s+){{0,3}}?{ACTOR}\b)", re.I)


def of_actor(subject: str) -> tuple[bool, Condition | None]:
    """Whether a subject is a neutral actor ("users", "the agent"), and what narrows it.

    `("Users under 18")` gives `(True, Phrase("under 18"))`; `("An order")` gives `(False, None)`.
    """
    if re.fullmatch(rf"{_DETERMINER}{ACTOR}(?:\s+(?:or|and)\s+{_DETERMINER}{ACTOR})+", subject.strip(), re.I):
        return True, None
    found = _HEAD_ACTOR.match(subject.strip())
    if not found:
        return False, None
    pre, post = found["pre"].strip(" ,"), found["post"].strip(" ,")
    if re.search(r"\b(?:that|which|who|of|in|on|for|to|with|from|by|without|under)\b", pre, re.I) or re.match(r"'s?\b|s?'", post):
        return False, None
    parts: list[Condition] = []
    if pre and pre.lower() not in ("booking", "given", "current", "same", "requesting", "human", "web", "signed-in", "ai"):
        parts.append(parse(pre))
    if post:
        parts.append(_behind_actor(post))
    return True, every(parts)


def is_person(subject: str) -> bool:
    """Whether the head of a subject is a word for somebody who acts: "employees", "a guardian"."""
    head = re.sub(_DETERMINER, "", subject.strip(), count=1, flags=re.I).split(" who ")[0].split(" with")[0].split()
    word = head[-1].lower() if head else ""
    return bool(_PERSON.search(word)) and word not in _NO_PERSON


def of_object(phrase: str) -> tuple[str, list[Condition]]:
    """An action phrase without its relative clause, its narrowed recipient and its comparison, and these."""
    found: list[Condition] = []
    relative = _RELATIVE.search(phrase)
    if relative and not re.search(r"\b(?:so|such|ensure|sure|confirm|verify|check|say|state|tell|inform|know|explain|fact|show|indicate)(?:\s+(?:him|her|them|the user|users))?\s*,?\s*\Z",
                                  phrase[: relative.start()], re.I):
        found.append(_relative(phrase[: relative.start()], relative["clause"], whose=relative["pronoun"].lower() == "whose"))
        phrase = phrase[: relative.start()]
    else:
        reduced = _REDUCED.search(phrase)
        if reduced and " " in phrase[: reduced.start()].strip():
            noun = head_noun(phrase[: reduced.start()])
            found.append(parse(f"{noun} is {reduced.group().strip()}"))
            phrase = phrase[: reduced.start()]
    recipient = _FOR_ACTOR.search(phrase)
    if recipient:
        is_actor, condition = of_actor(phrase[recipient.end():])
        if is_actor and condition is not None:
            found.append(condition)
            phrase = phrase[: recipient.start()]
    return _comparison(phrase, found)


def of_noun(phrase: str) -> tuple[str, list[Condition]]:
    """A noun phrase that is not an actor, without its relative clause, and this as a condition."""
    found: list[Condition] = []
    relative = _RELATIVE.search(phrase)
    if relative:
        found.append(_relative(f"x {phrase[: relative.start()]}", relative["clause"]))
        phrase = phrase[: relative.start()]
    core, found = _comparison(f"x {phrase}", found)
    return re.sub(r"\Ax\s*", "", core), found


def head_noun(phrase: str) -> str:
    """The noun phrase at the end of a verb phrase, with its article: what a relative clause is about."""
    last = re.split(r"\b(?:to|of|on|in|at|from|with|for|by|into|through|via|and|or)\s+", phrase.strip())[-1]
    article = re.search(r"\b(?:the|a|an|any|all|only|every|each|no|its|their)\s+.*\Z", last, re.I)
    if article:
        return re.sub(r"\A(?:only|no)\s+", "", article.group(), flags=re.I).strip()
    words = last.split()
    if len(words) == 1 and last == phrase.strip():
        return ""
    return " ".join(words[1:] if len(words) > 1 and last == phrase.strip() else words)


def bare(noun: str) -> str:
    """A noun phrase without its determiners."""
    return re.sub(rf"\A{_DETERMINER}", "", noun.strip(), count=1, flags=re.I)


def resolve(condition: Condition, antecedent: str) -> Condition:
    """The condition with "it" and "them" replaced by the noun phrase that they stand for."""
    plain = re.sub(r"\A(?:only|no|each|every|all|any)\s+", "", antecedent, flags=re.I)
    if not plain or re.match(rf"\A{_DETERMINER}{ACTOR}\Z", plain, re.I):
        return condition
    return mapped(condition, lambda leaf: Phrase(re.sub(r"\b(?:it|them)\b", plain, leaf.text, flags=re.I), leaf.about)) or condition


def _behind_actor(post: str) -> Condition:
    """What stands behind an actor: a relative clause, "without …", "under 18", "in the country"."""
    relative = re.match(r"(?:who|that|which|whose)\s+", post, re.I)
    if relative:
        return parse(post[relative.end():], about="the user")
    without = re.match(r"(?:without|lacking|with no)\s+(?:any\s+)?", post, re.I)
    if without:
        return negate(parse(f"has {post[without.end():]}"))
    possessing = re.match(r"(?:with|having|holding)\s+", post, re.I)
    if possessing:
        return parse(f"has {post[possessing.end():]}")
    return parse(post)


def _relative(before: str, clause: str, *, whose: bool = False) -> Condition:
    """A relative clause as a full condition, its noun put back where it is missing."""
    if whose:
        return parse(clause)
    noun = head_noun(before)
    if not _OBJECT_GAP.match(clause):
        return parse(f"{noun} {clause}")
    condition = parse(clause)
    return _with_object(condition, noun)


def _with_object(condition: Condition, noun: str) -> Condition:
    match condition:
        case Phrase(text, about):
            spot = re.search(r"\b(?:as|to|for|in|on|with|from|at|by)\b\s", text)
            at = spot.start() if spot else len(text)
            return Phrase(" ".join(f"{text[:at].strip()} {noun} {text[at:]}".split()), about)
        case Negated(body):
            return Negated(_with_object(body, noun))
    return condition


def _comparison(phrase: str, found: list[Condition]) -> tuple[str, list[Condition]]:
    """Take "above $500", "to more than 20 recipients" out of a phrase."""
    quantity = quantities.find(phrase)
    if quantity is None:
        return phrase.strip(" ,"), found
    before = re.sub(r"\s*\b(?:to|for|of|with|in|by|from|aged|over a|worth|costing|priced at)\s*\Z", "", phrase[: quantity.start].rstrip())
    noun = head_noun(before) if before else ""
    rest = phrase[quantity.start:]
    tail = re.search(r"\s+(?:to|for|from|in|on|at|with|into|by)\s+(?!a time)", rest[quantity.end - quantity.start:])
    counted = re.match(r"\s+(?P<noun>[a-z][\w'-]+)", rest[quantity.end - quantity.start:], re.I)
    if counted and not noun and before and counted["noun"].lower() not in ("to", "for", "from", "in", "on", "at", "with", "per", "into", "by"):
        before = f"{before} {counted['noun']}"
    cut = quantity.end - quantity.start + tail.start() if tail else len(rest)
    found.append(Phrase(rest[:cut].strip(), noun or re.sub(r"\Ax\s*", "", before)))
    return f"{before} {rest[cut:].strip()}".strip(" ,"), found
