"""Each sentence of a policy read by the grammar: a rule, a duty, no constraint, or open with its reason.

A sentence is read if the parse consumes every token and the toolbox takes up every word of its things (`binding`), and
all parses that are so bound say the same.  An item is read as one sentence with the opening of its list, a cell with
the act that its row is about.  That a sentence demands nothing (a heading, a definition, a statement) is
recognised, never inferred: a statement says who or what does, is or has something, and has none of the words of force,
limit, exception, negation or advice that `lexicon.yaml` lists; it names no tool's act, and stands under no opening that
has such words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from wb.domain.document import Sentence
from wb.domain.policy import Policy, identities, pieces
from wb.domain.tools import Toolbox
from wb.domain.visible import HIDDEN
from wb.offline import binding, lexicon, vocabulary
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
        if doubt := reverses([*piece.headings, *beside]) or _narrowed([*piece.headings, *beside], toolbox):
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
        doubt = demands(piece.said)
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
    if not piece.stems and not forbids(above):
        if explains(piece.text, piece.headings):
            return _none("a definition")
        named = "names a thing, says nothing of it" if piece.kind == "cell" else ""
        reasons = [harmless(p, toolbox) or (named if thing(p) else "") for p in piece.said.split("; ")]
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
    if piece.label in ("label", "column title") and not forbids([piece.text]):
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


# ---- whether a sentence demands nothing ----------------------------------------------------------

_DOUBTFUL = lexicon.words("doubtful")
_SINGLE = frozenset(word for word in _DOUBTFUL if "-" not in word)
_SEVERAL = tuple(word.replace("-", " ") for word in _DOUBTFUL if "-" in word)
_FORBIDDING, _TITULAR, _ORDERS = lexicon.words("forbidding"), lexicon.words("titular"), lexicon.words("orders")
_REVERSING, _GLOSSARY = lexicon.words("reversing"), lexicon.words("glossary")
_COPULAS, _OPENING = lexicon.words("copulas"), lexicon.words("opening")
_UNLIKE = re.compile(lexicon.entry("unlike"))
_FORCE = frozenset(
    "MUST MAY CAN NEED NOT NEVER NO NOBODY ONLY FORBIDDEN REQUIRES ONLYIF ONLYAFTER UNLESS UNTIL".split()
)
_MEANS = "|".join(sorted(lexicon.entry("defining"), key=len, reverse=True))
_QUOTED = re.compile(rf"(?:(?:an?|the)\s+)?[\"“”«][^\"“”»]+[\"”»]\s+(?:{_MEANS})\s", re.I)
_COUNTS = re.compile(r"(?:in this [a-z]+,\s+)?[a-z]+ing\b[^,;]*\bcounts as\b[^,;]*", re.I)
_NO_SUCH = re.compile(r"an? [\w-]+ is not an? [\w-]+|[a-z]+ing\b[\w ,-]* is not [a-z]+ing", re.I)
_SIGNS = re.compile(r"[?!$€£%❌✗✘🚫⛔🛑✔✓☐☑:;]|\d\s*\+")


def forbids(openings: Iterable[str]) -> str:
    """A word of the openings (titles, stems, labels, cells) that may forbid, limit or ask for what stands there."""
    return _first(openings, _FORBIDDING | _TITULAR, _FORCE)


def demands(text: str) -> str:
    """A word of a title that demands something by itself, "No smoking"; empty for one that only says what follows."""
    return _first([text], _FORBIDDING, _FORCE)


def reverses(openings: Iterable[str]) -> str:
    """A word of the openings that may make an exception, or the opposite, of a sentence that stands there."""
    return _first(openings, _REVERSING, frozenset("IF NOT NEVER NO ONLYIF ONLY".split()))


def _first(openings: Iterable[str], words: frozenset[str], types: frozenset[str]) -> str:
    tokens = (token for text in openings for token in lexicon.tokenize(text))
    return next((str(token) for token in tokens if token.type in types or words & {*token.split()}), "")


def thing(text: str) -> bool:
    """Whether words only name a thing, as in a cell: no verb of an order, no number, nothing doubtful."""
    words = re.findall(r"[a-z][a-z'-]*", text.lower())
    return (
        bool(words) and len(words) < 6 and words[0] not in _ORDERS and not _doubt(text) and not re.search(r"\d", text)
    )


def explains(text: str, headings: Iterable[str]) -> bool:
    """Whether words say what a term in bold means, in a glossary."""
    listed = any({*lexicon.tokens(heading)} & _GLOSSARY for heading in headings)
    told = re.fullmatch(r"\*\*[^*]+\*\*:?(?P<rest>[^;:]+)", text.strip())
    return listed and told is not None and not _doubt(told["rest"])


def _doubt(text: str) -> bool:
    """Whether words may forbid, limit, except or ask for something."""
    words = re.findall(r"[a-z][a-z'-]*", text.lower().replace("’", "'"))
    said = f" {' '.join(words)} "
    several = any(f" {phrase} " in said for phrase in _SEVERAL)
    force = any(token.type in _FORCE for token in lexicon.tokenize(text))
    return bool({*words} & _SINGLE) or several or force or bool(_SIGNS.search(text) or _UNLIKE.search(said))


def harmless(text: str, toolbox: Toolbox) -> str:
    """Why a sentence demands nothing, "a definition" or "a statement …"; empty where that is doubtful."""
    plain = re.sub(r"[*_`]", "", " ".join(text.split())).rstrip(" .")
    types = {token.type for token in lexicon.tokenize(plain)}
    if _QUOTED.match(plain) or _COUNTS.fullmatch(plain):
        return "" if types & _FORCE else "a definition"
    if _NO_SUCH.fullmatch(plain) and not types & (_FORCE - {"NOT"}):
        return "a definition"
    words = re.findall(r"[a-z][a-z'-]*", plain.lower())
    if not words or _doubt(plain) or not _indicative(words, toolbox) or _named(plain, toolbox):
        return ""
    return "a statement without force, exception or limit"


def _indicative(words: list[str], toolbox: Toolbox) -> bool:
    """Whether words say who or what does something: nobody is told to do it."""
    first = words[0]
    called = {lexicon.root(lexicon.tokens(tool.name)[0]) for tool in toolbox.tools if lexicon.tokens(tool.name)}
    finite = any(word in _COPULAS for word in words[1:]) or any(
        re.fullmatch(r"[a-z]{2,}(?:s|ed)", w) for w in words[1:]
    )
    if first in _OPENING:
        return finite
    if first.endswith("s") and not first.endswith(("ss", "us", "is")) and first not in _ORDERS:
        return len(words) > 2  # "refunds take": what is told to be done has no ending
    return first not in _ORDERS and lexicon.root(first) not in called and any(w in _COPULAS for w in words[1:6])


def _named(plain: str, toolbox: Toolbox) -> bool:
    """Whether a sentence may speak of what a tool does: it has its verb and a thing of its name."""
    said = {*map(lexicon.root, lexicon.tokens(plain))}
    for tool in toolbox.tools:
        known = vocabulary.tool_words(tool)
        verb = lexicon.root(lexicon.tokens(tool.name)[0])
        alike = lexicon.synonyms().get(verb, frozenset()) | {verb}
        if alike & said and (known.name - {verb}) & said - alike:
            return True
    return False
