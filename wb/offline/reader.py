"""Each sentence of a policy read by the grammar: a rule, a duty, no constraint, or open with its reason.

A sentence is read if the parse consumes every token and the toolbox takes up every word of its things (`binding`), and
all parses that are so bound say the same.  An item is read as one sentence with the opening of its list, a cell with
the act that its row is about.  That a sentence demands nothing is recognised, never inferred (`force`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from wb.domain.document import Sentence
from wb.domain.policy import Policy, identities, pieces
from wb.domain.tools import Toolbox
from wb.domain.visible import HIDDEN
from wb.offline import binding, force, lexicon, vocabulary
from wb.offline.binding import Reading
from wb.offline.grammar import Leaf, Unread
from wb.rules import extract
from wb.rules.extract import Extracted, Parse, Trust
from wb.rules.rule import Rule, RuleDraft

if TYPE_CHECKING:
    from wb.models.client import LLM
    from wb.rules.vocabulary import Vocabulary as Words

_UNSEEN = ("comment", "page title", "tag characters", "declaration", "script", "style sheet")
_ENDLESS = frozenset("IF ONLYIF UNLESS AFTER ONLYAFTER BEFORE UNTIL WITHOUT AND OR".split())
_BOLD = re.compile(r"\*\*[^*]+\*\*[.:]?")
_MARKER = re.compile(r"\A\s*(?:[-*+•–—‣◦]|\(?(?:\d{1,3}|[a-z]|[ivx]{1,5})[.)])\s+", re.I)


def extracted(
    policy: Policy, models: Sequence[LLM] = (), *, count: int = 3, trust: Trust = "agreed", own: Words | None = None
) -> Extracted:
    """What each sentence of a policy demands: by `count` blind readers of the models, or, without any, by the grammar.

    Raises:
        ModelError: a request failed in a way that all further ones would.
        ValueError: no such number of readers or level of trust.
    """
    if models:
        return extract.asked(policy, models, count=count, trust=trust, own=own)
    return extract.parsed(policy, read(policy), trust)


def reading(models: Sequence[LLM] = ()) -> Callable[[Policy], Extracted]:
    """What reads a document by these models, or by the grammar."""
    return partial(extracted, models=models)


def read(policy: Policy) -> tuple[Parse, ...]:
    """What was read of each of the pieces of a policy (`clauses.pieces`), in their order."""
    every = pieces(policy)
    first = [sentence(one, id, policy.toolbox) for one, id in zip(every, identities(every), strict=True)]
    return tuple(_opening(k, every, first) for k in range(len(every)))


def readings(piece: Sentence, toolbox: Toolbox) -> tuple[str, tuple[Reading, ...]]:
    """What a piece says, by itself or with what it is read with: its kind and readings, as `binding.read` gives them.

    Raises:
        Unread: it is not read in full, or stands where it may mean something else.
    """
    titles, why = _titles(piece), ""
    own = _act(titles, toolbox)
    beside = [one for one in titles if one != own]
    if piece.kind == "cell" and titles and not own:
        raise Unread("what its row is about is not understood")
    if piece.stems and lexicon.tokenize(piece.stems[-1].strip(" :"))[-1].type in _ENDLESS:
        raise Unread("whether one item of the list, or all of them, is meant is not said")
    for title in (own, ""):
        try:
            found = binding.read(whole(piece), toolbox, title)
        except Unread as error:
            why = why or str(error)
            continue
        if doubt := force.reverses([*piece.headings, *beside]) or _narrowed([*piece.headings, *beside], toolbox):
            raise Unread(f"it stands under {doubt!r}, which may say the opposite, or of whom it is true")
        return found
    raise Unread(why)


def _narrowed(titles: Sequence[str], toolbox: Toolbox) -> str:
    """A title that says of whom, or when, what stands under it is true: a fact that a field decides, or persons."""
    for title in titles:
        plain = re.sub(r"[^a-z ]", " ", title.lower()).strip()
        if plain and not lexicon.content(plain):
            return title
        try:
            vocabulary.literal(Leaf(plain), toolbox)
        except Unread:
            continue
        return title
    return ""


def in_context(text: str, headings: Sequence[str], context: Sequence[str]) -> Sentence:
    """A sentence and what it is read with: the openings of its lists end with a colon, all else is beside it."""
    stems = tuple(one for one in context if one.rstrip().endswith(":"))
    row = tuple(("", one) for one in context if one not in stems)
    return Sentence(text, 0, len(text), "cell" if row else "prose", tuple(headings), stems, row=row)


def drafts(readings: Sequence[Reading], text: str, clause: str) -> tuple[RuleDraft, ...]:
    """The rules of a sentence, each with its predicates."""
    plain = " ".join(text.split())
    return tuple(
        RuleDraft(Rule("", plain, one.formula, one.modality, clause=clause, quote=text), one.predicates)
        for one in readings
    )


def sentence(piece: Sentence, id: str, toolbox: Toolbox) -> Parse:
    """What was read of a piece, by itself or with what it is read with."""
    if piece.kind == "gap":
        return _gap(piece)
    if piece.kind == "heading" or _BOLD.fullmatch(piece.text):
        doubt = force.title(piece.said)
        return Parse("open", f"a heading that may forbid: {doubt!r}") if doubt else _none("a heading")
    try:
        kind, found = readings(piece, toolbox)
    except Unread as error:
        return _unread(piece, toolbox, str(error))
    if not found:
        return _none(f"a{'n' * (kind == 'exemption')} {kind}")
    reason = "read completely" if kind == "rule" else "read completely; no call can break it"
    return Parse("rule" if kind == "rule" else "duty", reason, drafts(found, piece.text, id))


def _unread(piece: Sentence, toolbox: Toolbox, why: str) -> Parse:
    """What no rule was read of: no constraint, where that can be seen, else open."""
    above = [*piece.headings, *([piece.column] if piece.column else []), *_titles(piece)]
    if not piece.stems and not force.forbids(above):
        if force.explains(piece.text, piece.headings):
            return _none("a definition")
        named = "names a thing, says nothing of it" if piece.kind == "cell" else ""
        reasons = [force.harmless(p, toolbox) or (named if force.thing(p) else "") for p in piece.said.split("; ")]
        if all(reasons):
            return _none(reasons[0])
    return Parse("open", why, tools=vocabulary.about(" ".join((whole(piece), *_titles(piece))), toolbox))


def _none(reason: str) -> Parse:
    return Parse("not a constraint", reason)


def _titles(piece: Sentence) -> list[str]:
    return [cell for _, cell in piece.row] if piece.kind == "cell" else [piece.label] if piece.label else []


def _gap(piece: Sentence) -> Parse:
    """What is in no sentence, by the reason why it was skipped."""
    if piece.label.removeprefix(HIDDEN) in _UNSEEN:
        return _none(f"{piece.label}: no reader of the document sees it")
    if piece.label == "image" and not piece.text:
        return _none("an image: what it shows is not read")
    if piece.label in ("label", "column title") and not force.forbids([piece.text]):
        return _none(f"the {piece.label}, read with what stands there")
    return Parse("open", f"{piece.label or 'no sentence'}: what the reader of documents skipped is not read")


def whole(piece: Sentence) -> str:
    """The words of a piece behind the openings of its lists."""
    openings = [stem.strip().rstrip(":").strip() for stem in piece.stems]
    return " ".join((*openings, _MARKER.sub("", piece.said.strip())))


def _act(titles: Sequence[str], toolbox: Toolbox) -> str:
    """The one of the titles that says an act of one tool; empty where none does."""
    for title in titles:
        if re.match(r"\w+ing\b", title, re.I):
            try:
                found = vocabulary.act(title, toolbox)
            except Unread:
                continue
            if not found.rest and len(found.tools) == 1:
                return title
    return ""


def _opening(k: int, every: Sequence[Sentence], read: Sequence[Parse]) -> Parse:
    """The opening of a list, or the act of a row, as what it opens was read; any other piece as it was."""
    piece, flat = every[k], _flat(every[k].said)
    if read[k].cls not in ("open", "not a constraint"):
        return read[k]
    below: list[Parse] = []
    if piece.kind == "stem":
        below = [read[j] for j in range(k + 1, len(every)) if any(_flat(stem) == flat for stem in every[j].stems)]
    elif piece.kind == "cell" and len(piece.row) == 1 and re.match(r"\w+ing\b", piece.said, re.I):
        beside = range(k + 1, min(k + 2, len(every)))
        below = [read[j] for j in beside if any(_flat(cell) == flat for _, cell in every[j].row)]
    if below and all(one.cls == "rule" for one in below):
        return Parse("rule", "read with its items" if piece.kind == "stem" else "read with its row")
    return read[k]


def _flat(text: str) -> str:
    return " ".join(text.split()).rstrip(":")
