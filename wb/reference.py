"""What words stand for: "it" and "them", a doer named by its deed, a subject with a clause in between."""
from __future__ import annotations

import re

from wb import conditions, phrases, restriction


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
