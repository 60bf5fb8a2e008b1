"""The negation words of English: where one stands, whether a reading used it up, and what a field's name denies.

Readers use a negation up by turning it into a connective: `Negated`, a prohibition, "at most".  Names of
predicates and the comparison of words leave function words out, so one that is not used up would vanish
and the opposite be read.  Two checks see to it that none does: none is left in a phrase (`inside`), and
none is without effect (`without_each`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from wb.offline import lexicon

WORD = re.compile(
    r"\b(?:cannot|can't|won't|shan't|[a-z]+n't|not|never|none|nobody|no one|nothing|nowhere|neither|nor|"
    r"without|lack(?:s|ed|ing)?|hardly|scarcely|barely|rarely|seldom|"
    r"no(?!\.\s*\d)|non(?=-))(?![\w'])",
    re.I,
)
# Words that negate nothing: fixed adverbs, and names made with "no".
_IDIOM = re.compile(
    r"\bwithout (?:undue |unreasonable |any )?(?:delay|limitation|exception|prejudice)\b|\bwhether or not\b|"
    r"\bnot only\b(?=.*\bbut also\b)|\bno matter\b|\bno-shows?\b|\bnot-for-profit\b",
    re.I,
)
_POSITIVE = {
    "cannot": "can",
    "can't": "can",
    "won't": "will",
    "shan't": "shall",
    "none": "all",
    "nobody": "everybody",
    "no one": "everybody",
    "nothing": "everything",
    "nowhere": "everywhere",
    "neither": "both",
    "nor": "and",
    "without": "with",
    "lack": "have",
    "lacks": "has",
    "lacked": "had",
    "lacking": "having",
}
_OPPOSITE = {
    "invalid": "valid",
    "inactive": "active",
    "incomplete": "complete",
    "ineligible": "eligible",
    "absent": "present",
    "unsafe": "safe",
    "incorrect": "correct",
    "unclear": "clear",
    "illegal": "legal",
    "unable": "able",
    "unpaid": "paid",
    "unfit": "fit",
    "unlawful": "lawful",
    "untrue": "true",
    "insufficient": "sufficient",
}
_OPPOSED = re.compile(
    rf"\b(?:(?P<word>{'|'.join(_OPPOSITE)})\b|non-?(?=[a-z]{{4}})|"
    rf"un(?=[a-z]{{3,}}(?:ed|own|en|able)\b)(?!unless|until|under|united|union|unique))",
    re.I,
)
ABSENCE = frozenset("not missing absent".split())  # what a field says that is true when the thing is not there
_ENDED = re.compile(
    r"withdr[ae]w|revo[kc]|expir|refus|den(?:y|ie|ial)|reject|suspen[ds]|terminat|block|bann|forb[ia]d|"
    r"prohibit|lift|waiv|cancel|remov|cleared|resolv|settl|closed|ended"
)


def inside(text: str) -> str:
    """The first negation word of a phrase outside quantities ("no more than 5") and fixed adverbs; empty for none.

    The prefix of "non-resident" is no such word: names and comparisons keep it.
    """
    plain, quantity = _IDIOM.sub(" ", text), lexicon.find(text)
    if quantity is not None:
        plain = _IDIOM.sub(" ", f"{text[: quantity.start]} , {text[quantity.end :]}")
    return next((m.group().lower() for m in WORD.finditer(plain) if m.group().lower() != "non"), "")


def without_each(text: str) -> Iterator[tuple[str, str, str]]:
    """For each negation word of a sentence: the word, the words that it stands in, the sentence without it."""
    idle = [m.span() for m in _IDIOM.finditer(text)]
    for found in WORD.finditer(text):
        word = found.group().lower()
        if (
            any(start <= found.start() < end for start, end in idle)
            or word == "nor"
            and re.search(r"\bneither\b", text[: found.start()], re.I)
        ):
            continue
        instead = _POSITIVE.get(word, found.group()[:-3] if word.endswith("n't") else "")
        before = re.search(r"(?:[\w'-]+\s+)?\Z", text[: found.start()]).group()
        after = re.match(r"(?:[\s-]+[\w'-]+){0,2}", text[found.end() :]).group()
        rest = text[found.end() :] if instead else text[found.end() :].removeprefix("-")
        changed = f"{text[: found.start()]}{instead}{rest}"
        yield word, " ".join(f"{before}{found.group()}{after}".split()), " ".join(changed.split())


def opposite(text: str) -> str | None:
    """A phrase without the prefix of its first opposite, "valid card" for "invalid card"; None where it has none."""
    found = _OPPOSED.search(text)
    return (
        f"{text[: found.start()]}{_OPPOSITE.get((found['word'] or '').lower(), '')}{text[found.end() :]}".strip()
        if found
        else None
    )


def not_understood(word: str, words: str) -> str:
    """The reason of a sentence with a negation that nothing read."""
    return f"'{word}' in '{words}' was not understood"


def signs(text: str) -> frozenset[str]:
    """What turns the meaning of a phrase or of a field's name around.

    "no_card" has "not", "opted out" has "out", "consent withdrawn" has "wit", its first letters.
    A phrase and a field with the same content words mean the same only if their signs are the same.
    """
    found = set()
    for word in lexicon.tokens(text):
        if WORD.fullmatch(word) or word in ("no", "non") or word != "absent" and _OPPOSED.match(word):
            found.add("not")
        elif word in ABSENCE:
            found.add("missing")
        elif word in ("out", "off", "same", "different"):
            found.add(word)
        elif ended := _ENDED.match(word):
            found.add(ended.group()[:3])
    return frozenset(found)


def denied(name: str) -> frozenset[str]:
    """The roots of what a name denies: of "no_card" and "card_missing" card, of "unpaid_fee" paid and fee."""
    words = (
        opposite(word) or word for word in lexicon.tokens(name) if not WORD.fullmatch(word) and word not in ABSENCE
    )
    return frozenset(lexicon.root(word) for word in words)
