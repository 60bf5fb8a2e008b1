"""Parts of a document that are read on their own: sections for a model, clauses with what they are read with.

And the parts that must be accounted for: every sentence, and what the reader of documents skipped.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from wb.domain import document
from wb.domain.policy import Clause, Policy
from wb.domain.visible import HIDDEN

_MARKER = re.compile(r"[\s>|*_#+:;,.\-–—•]*(?:[\[(]?(?:[a-z]{1,4}|\d{1,3})[\])][\s|*:.\-]*)*\Z", re.I)
_LISTED = re.compile(r"\A\s*(?:[-*+•–—‣◦]|\(?(?:\d{1,3}|[a-z]|[ivx]{1,5})[.)])\s+", re.I)
_DASHES, _APOSTROPHES = re.compile("[-‐‑‒–—―−]"), re.compile("['’‘]")
_LINE = r"(?<=[^\W\d_])[-‐\u00ad][ \t]*\n[ \t]*(?=[^\W\d_])"  # a word goes on in the next line
_PARTED = re.compile(_LINE)
# A word with its hyphens, apostrophes, sign and decimal signs, or one other sign.
_TOKEN = re.compile(
    rf"(?:(?<!\w)[-‐‑‒–—―−](?=\d))?\w(?:\w|[.,](?=\d)(?<=\d.)|['’‘](?=\w)|[-‐‑‒–—―−](?=\w)|{_LINE})*|\S"
)
_DIGIT = re.compile(r"\s*\d")
_BACK = re.compile(r"\A\W*that\b|\b(?:it|this|these|those|they|them|otherwise|such|instead|however)\b", re.I)
_MARK = re.compile(r"[\"“”„«»*_`-]")
SECTION = 6_000  # characters, about 1,500 tokens: a section fits any model's context many times over


def clause_of(sentence: document.Sentence, id: str = "") -> Clause:
    """A sentence of the document as a clause, with the stems, the label and the row it is read with."""
    context = (*sentence.stems, *([sentence.label] if sentence.label else ()), *(cell for _, cell in sentence.row))
    return Clause(id, sentence.text, sentence.start, sentence.end, sentence.headings, context, said=sentence.said)


def sections(policy: Policy) -> tuple[tuple[int, int], ...]:
    """(start, end) of the sections of the text as it is seen: cut at headings, joined up to `SECTION` characters."""
    text, cuts = policy.seen.text, [0]
    for start in (s.start for s in policy.sentences if s.kind == "heading"):
        at, _ = policy.seen.within(start, start)
        while at and text[at - 1] in "# ":
            at -= 1
        cuts.append(at)
    cuts = sorted(set(cuts))
    parts: list[tuple[int, int]] = []
    for start, end in zip(cuts, [*cuts[1:], len(text)], strict=True):
        if parts and end - parts[-1][0] <= SECTION:
            parts[-1] = (parts[-1][0], end)
        elif end > start:
            parts.append((start, end))
    return tuple(parts)


def occurrences(quote: str, text: str, start: int, end: int) -> tuple[tuple[int, int], ...]:
    """Every place of a quotation in a part of the text, also overlapping ones; blanks and marks may differ."""
    words = [re.sub(r"['’‘]", "['’‘]", re.sub(r'["“”]', '["“”]', re.escape(word))) for word in quote.split()]
    places = re.compile(rf"(?=({r'\s+'.join(words)}))")
    return tuple(m.span(1) for m in places.finditer(text, start, end)) if words else ()


def near(quote: str, text: str, start: int, end: int) -> tuple[tuple[int, int], ...]:
    """Every place of a quotation that differs from the text only in blanks, quotation marks, dashes, case, its own list
    marker, and words that are parted at the end of a line; every word and number, and any other sign, is the same."""
    wanted = _tokens(_LISTED.sub("", quote))
    if not any(c.isalnum() for token, _, _ in wanted for c in token):
        return ()
    there = [(token, start + a, start + b) for token, a, b in _tokens(text[start:end])]
    words = [token for token, _, _ in wanted]
    size, said = len(words), [token for token, _, _ in there]
    return tuple(
        (there[i][1], there[i + size - 1][2]) for i in range(len(said) - size + 1) if said[i : i + size] == words
    )


def _tokens(text: str) -> list[tuple[str, int, int]]:
    """The words, numbers and signs of a text, each as it is compared and with its place; quotation marks, and dashes
    that stand between words, are none, and a word that is parted at the end of a line is one."""
    found: list[tuple[str, int, int]] = []
    quoted = 0
    for one in _TOKEN.finditer(text):
        token = _APOSTROPHES.sub("'", _DASHES.sub("-", _PARTED.sub("", one.group()))).casefold()
        at, end = one.span()
        number = found and found[-1][0][-1].isdigit() and _DIGIT.match(text, end)
        if token == "'" and text[end : end + 1].isalnum() and not text[max(at - 1, 0) : at].isalnum():
            quoted += 1  # it opens a quotation
        elif token == "'" and quoted:
            quoted -= 1
        elif not _MARK.fullmatch(token) or (token == "-" and number):
            found.append((token, at, end))
    return found


def identities(sentences: Iterable[document.Sentence]) -> tuple[str, ...]:
    """The ids of sentences by their words and what these are read with, blanks folded: the titles above, list openings,
    the run-in label, the rest of the row and its columns, and what stands before where that counts (`following`).  The
    same in the same context is numbered in order."""
    every = tuple(sentences)
    seen: Counter[str] = Counter()
    found = []
    for one, before in zip(every, following(every), strict=True):
        read = (one.text, *one.headings), one.stems, (one.label, one.column), *one.row
        read = (*read, (before,)) if before else read
        folded = [[" ".join(text.split()) for text in part] for part in read]
        key = hashlib.sha256(json.dumps(folded).encode("utf-8")).hexdigest()[:12]
        seen[key] += 1
        found.append(key if seen[key] == 1 else f"{key}-{seen[key]}")
    return tuple(found)


def following(every: Sequence[document.Sentence]) -> tuple[str, ...]:
    """The words before each sentence that are not understood without them: the question of an answer, the step before a
    step, and what one that points back ("this", "otherwise") points to; empty for any other."""
    found, last = [], None
    for one in every:
        hidden = one.kind == "gap" and one.label.startswith(HIDDEN)
        near = last is not None and last.headings == one.headings and one.kind not in ("gap", "heading")
        counts = near and (
            last.said.rstrip().endswith("?") or one.kind == last.kind == "step" or _BACK.search(one.said) is not None
        )
        found.append(last.text if last is not None and counts else "")
        last = last if hidden else one
    return tuple(found)


def named(policy: Policy) -> dict[str, str]:
    """The text of every sentence and skipped part of a policy, by its id."""
    every = pieces(policy)
    return dict(zip(identities(every), (one.text for one in every), strict=True))


def standing(sentence: document.Sentence, before: str = "") -> str:
    """Where a sentence stands, in words: the titles above, list openings, the run-in label, row and column, and what it
    follows (`following`)."""
    row = ", ".join(f"{title} “{cell}”" if title else f"“{cell}”" for title, cell in sentence.row if cell.strip())
    parts = (
        f"under {' / '.join(sentence.headings)}" if sentence.headings else "",
        *(f"in the list “{stem}”" for stem in sentence.stems),
        f"after “{sentence.label}:”" if sentence.label and sentence.kind != "gap" else "",
        f"in the column “{sentence.column}”" if sentence.column else "",
        f"in the row with {row}" if row else "",
        f"behind “{before}”" if before else "",
    )
    return " ".join(", ".join(part for part in parts if part).split())


def pieces(policy: Policy) -> tuple[document.Sentence, ...]:
    """The sentences of a policy, and between them what the reader of documents skipped, with its reason as label."""
    told = [s for s in policy.skipped if s.reason not in document.SILENT]
    gaps = [(s.start, s.end, s.reason) for s in told] if policy.skipped else _between(policy)
    places = sorted([*((s.start, s.end, s) for s in policy.sentences), *gaps], key=lambda place: place[:2])
    found: list[document.Sentence] = []
    headings: tuple[str, ...] = ()
    for start, end, what in places:
        if isinstance(what, document.Sentence):
            headings = what.headings
        found.append(
            what
            if isinstance(what, document.Sentence)
            else document.Sentence(policy.text[start:end], start, end, "gap", headings, label=what)
        )
    return tuple(found)


def _between(policy: Policy) -> list[tuple[int, int, str]]:
    """The words between the sentences of a policy that does not say what was skipped."""
    ends = [0, *(s.end for s in policy.sentences)]
    starts = [*(s.start for s in policy.sentences), len(policy.text)]
    found = []
    for i, j in zip(ends, starts, strict=True):
        text = policy.text[i:j]
        if not _MARKER.match(text) and re.search(r"[^\W\d_]{2}", text):
            found.append((i + len(text) - len(text.lstrip()), i + len(text.rstrip()), ""))
    return found
