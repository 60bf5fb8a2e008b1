"""What words stand for: "it" and "them", a defined term, a doer named by its deed, a subject cut off from its modal."""
from __future__ import annotations

import re

from wb import conditions, phrases, restriction
from wb.conditions import ACTOR, Condition

_DEFINITION = re.compile(
    rf"\A\W*(?:(?:the\s+)?(?:term|word|expression)\s+)?(?:an?\s+|the\s+|any\s+)?[\"“']?(?P<term>[\w -]{{2,40}}?)[\"”']?\s+(?:is|are|means?|refers? to|denotes?)\s+(?P<meaning>(?:an?\s+|any\s+|all\s+|the\s+)?"
    rf"(?:[\w-]+\s+)?{ACTOR}\b.*)\Z", re.I | re.S)


def defined(sentence: str) -> tuple[str, Condition] | None:
    """The term that a sentence defines by what it says of a person, and that condition.

    'A "minor" is a user under 18.' gives ("minor", Phrase("under 18")); None for any other sentence.
    """
    found = _DEFINITION.match(sentence.strip().rstrip("."))
    if not found:
        return None
    is_actor, condition = restriction.of_actor(" ".join(found["meaning"].split()))
    return (found["term"].strip(), condition) if is_actor and condition is not None else None


def antecedent(subject: str, rest: str) -> str:
    """What "it" stands for in the rest of a sentence: a thing as subject, else the object."""
    if subject and not restriction.of_actor(subject)[0]:
        return subject
    noun = restriction.head_noun(restriction.of_object(rest)[0]) if rest else ""
    return "" if restriction.of_actor(noun)[0] else noun


def put_in(rest: str, leading: tuple[tuple[str, str], ...]) -> str:
    """The rest of a sentence with a closing "it" replaced by the subject of the clause before it."""
    noun = next((found for _, words in leading if (found := conditions.subject(words))), "")
    if not noun or restriction.of_actor(noun)[0]:
        return rest
    return re.sub(r"\b(?:it|them)\Z", noun, rest, flags=re.I)


def is_doer(subject: str, actions: tuple[str, ...]) -> bool:
    """Whether a subject is only the doer of the action: "applicants" who "apply"."""
    words = [phrases.root(w)[:4] for w in phrases.content(subject)]
    return bool(words) and all(any(phrases.root(w).startswith(head) for a in actions for w in phrases.tokens(a)) for head in words)


def noun_of(subject: str) -> str:
    """The subject without a clause that stands between it and its modal: "the room has been paid, [cannot]"."""
    found = re.match(r"(?P<noun>(?:the|a|an|any|all)\s+[\w'-]+(?:\s(?!who\b|that\b|which\b)[\w'-]+)?)\s+(?:has|have|is|are|was|were)\s+.*,?\Z", subject, re.I)
    return found["noun"] if found else subject
