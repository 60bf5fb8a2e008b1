"""Passages: what of a document is read as one, a sentence or a row of a table, and whether it says how to act.

A run-in label in bold stands for what follows it, up to the next label or title.  A passage *binds* if it was read as a
rule or a duty, or may be one: statements of what is so, definitions, plain permissions and what the systems do by
themselves are no policy of anything.  This is for `items` alone; `sentences` leaves all of these open where it must.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from wb.domain.clauses import pieces
from wb.domain.document import Sentence
from wb.domain.policy import Policy
from wb.rules import words
from wb.rules.sentences import Account

_LABEL = re.compile(r"\A\W*?(\*\*|__|<(?:b|strong)>)(?P<said>[^*]{1,60})(\*\*|__|</(?:b|strong)>)\W*\Z", re.S)
_DEFINING = re.compile(r"\b(?:words?|terms?|definitions?|glossary|meanings?|vocabulary|abbreviations?)\b", re.I)
_FOR = re.compile(r"\b(?:is|are) (?:only |meant )*for (?:\w+ ){1,2}(?:who|whose|that|with|in|from)\b", re.I)
_DEPENDS = re.compile(r"\bdepends? on\b", re.I)
_MODAL = re.compile(r"\b(?:can|may|must|shall|should|cannot|will)\b(?: not)?(?: be)? (?P<verb>[a-z]+)", re.I)
_CLAUSE = re.compile(r"\b(?:if|that|when|because|which|who|whose|whether)\b[^,;.]*", re.I)
_PERMITS = re.compile(
    r"\A\W*(?:(?:as|for|once|in|if|when|after) [^,]*, )?(?:you|we|they|agents?|the \w+) (?:can|may)\b", re.I
)
_HAPPENS = re.compile(
    r"\A\W*(?:it|the \w+) \w+s\b(?! not\b)|"
    r"(?:\A|, )\W*(?:the|an?|this|it|its|your|their|all|each|every|any)\b[\w' -]{0,40}? "
    r"will (?:not )?(?:be|receive|get|go|have)\b",
    re.I,
)
_STRONG = re.compile(
    r"\b(?:can|cannot|may|not|no|none|never|only|nothing|nobody|without|unless|so)\b|n't\b",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Passage:
    """A sentence, or the cells of a row: `policy.text[start:end]`.

    `said` has the list openings that it is read with.  `paragraph` and `table` are numbers, the same for those that
    stand in the same one; `table` is 0 outside of any.
    """

    sentence: Sentence
    account: Account
    end: int
    said: str
    label: str
    paragraph: int
    table: int
    binds: bool

    @property
    def start(self) -> int:
        """Where it begins in the document."""
        return self.sentence.start

    @property
    def headings(self) -> tuple[str, ...]:
        """The titles that it stands under, outermost first."""
        return self.sentence.headings

    @property
    def defines(self) -> bool:
        """Whether it stands under a title that announces definitions."""
        return bool(self.headings and _DEFINING.search(self.headings[-1]))

    @property
    def verb(self) -> str:
        """What may or must be done by it: the stem of the verb behind its first modal; empty for none."""
        found = _MODAL.search(self.said)
        return words.stem(found["verb"].lower()) if found else ""


def passages(policy: Policy, accounts: Sequence[Account]) -> tuple[Passage, ...]:
    """The passages of a document in order, titles and labels included, for the accounts of its sentences."""
    found: list[Passage] = []
    label, headings = "", ()
    for one, account in zip(pieces(policy), accounts, strict=True):
        last = found[-1] if found else None
        gap = policy.text[last.end : one.start] if last else ""
        cell = one.kind == "cell" or one.label == "column title"
        if last and last.table and cell and "\n" not in gap:
            found[-1] = _longer(last, one, account)
            continue
        mark = _LABEL.match(one.text)
        label = mark["said"].strip(" .:") if mark else "" if one.headings != headings else label
        headings = one.headings
        paragraph = last.paragraph + (not _beside(last.sentence, one, gap)) if last else 0
        table = 0 if not cell else last.table if last and last.table else one.start + 1
        own = one.label if one.kind != "gap" and one.label else label
        binds = not mark and one.kind not in ("heading", "gap") and _binds(one, account)
        found.append(Passage(one, account, one.end, " ".join((*one.stems, one.said)), own, paragraph, table, binds))
    return tuple(_completed(k, one, found) for k, one in enumerate(found))


def _longer(row: Passage, cell: Sentence, account: Account) -> Passage:
    """A row with one more cell; it binds if one of its cells does, and its account is that of the first that does."""
    binds = cell.kind == "cell" and _binds(cell, account)
    kept = account if binds and not row.binds else row.account
    return replace(row, end=cell.end, said=f"{row.said}, {cell.said}", binds=row.binds or binds, account=kept)


def _beside(last: Sentence, one: Sentence, gap: str) -> bool:
    """Whether a sentence stands in the paragraph of the last one: between them are blanks, and no empty line."""
    return last.kind == one.kind in ("prose", "item", "step") and not gap.strip() and "\n\n" not in gap


def _binds(one: Sentence, account: Account) -> bool:
    """Whether a sentence says how something is to be done, and not what is so, what a word means or what is free."""
    if account.cls in ("rule", "duty"):
        return True
    said = " ".join((*one.stems, one.said))  # an item says what it does under the opening of its list alone
    if account.cls == "waived" or _settled(account) or words.harmless(said):
        return False
    if account.cls == "not a constraint" or _FOR.search(said):
        return bool(_FOR.search(said) or _DEPENDS.search(said))
    main = _CLAUSE.sub("", said)
    forced = words.forced(main)
    if _PERMITS.search(main) and not forced and not words.limit(main):
        return False
    return bool(forced or _STRONG.search(main)) or not _HAPPENS.search(main)


def _settled(account: Account) -> bool:
    """Whether a person said that a sentence is no constraint."""
    return account.cls == "not a constraint" and account.reason.startswith("decided by a person")


def _completed(k: int, one: Passage, every: Sequence[Passage]) -> Passage:
    """The passage, binding as well if it is a permission that is one case of several ("X can be closed only if ….
    Y can be closed at any time."), or the head of a table of values whose rows bind."""
    if one.sentence.label == "column title":
        below = every[k + 1 : k + 2]
        return replace(one, binds=one.said.count(",") >= 2 and any(o.table and o.binds for o in below))
    if one.account.cls == "not a constraint" and one.verb and not _settled(one.account):
        beside = (o for o in every if o.paragraph == one.paragraph and o.binds)
        return replace(one, binds=one.binds or any(o.verb == one.verb for o in beside))
    return one
