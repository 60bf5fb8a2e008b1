"""Parts of a document that are read on their own: sections for a model, clauses with what they are read with."""

from __future__ import annotations

import re

from wb.domain import document
from wb.domain.policy import Clause, Policy

SECTION = 6_000  # characters, about 1,500 tokens: a section fits any model's context many times over


def clause_of(sentence: document.Sentence, id: str = "") -> Clause:
    """A sentence of the document as a clause, with the stems, the label and the row it is read with."""
    context = (*sentence.stems, *([sentence.label] if sentence.label else ()), *(cell for _, cell in sentence.row))
    return Clause(id, sentence.text, sentence.start, sentence.end, sentence.headings, context)


def sections(policy: Policy) -> tuple[tuple[int, int], ...]:
    """(start, end) of the document's sections: cut at headings, joined up to `SECTION` characters."""
    cuts = [
        0,
        *(
            s.start - (len(policy.text[: s.start]) - len(policy.text[: s.start].rstrip("# ")))
            for s in policy.sentences
            if s.kind == "heading" and s.start
        ),
    ]
    cuts = sorted(set(cuts))
    parts: list[tuple[int, int]] = []
    for start, end in zip(cuts, [*cuts[1:], len(policy.text)], strict=True):
        if parts and end - parts[-1][0] <= SECTION:
            parts[-1] = (parts[-1][0], end)
        elif end > start:
            parts.append((start, end))
    return tuple(parts)


def occurrences(quote: str, text: str, start: int, end: int) -> tuple[tuple[int, int], ...]:
    """Every place of a quotation in a part of the text, blanks and the shape of quotation marks aside."""
    words = [re.sub(r"['’‘]", "['’‘]", re.sub(r'["“”]', '["“”]', re.escape(word))) for word in quote.split()]
    return tuple(m.span() for m in re.compile(r"\s+".join(words)).finditer(text, start, end)) if words else ()
