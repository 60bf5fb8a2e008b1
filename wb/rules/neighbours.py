"""What a sentence takes from the pieces around it: a cell from its row, an item from its opening, an answer from its
question.  Each function is given all pieces of a document with their fates, in order, and gives the fates anew.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from wb.domain.document import Sentence
from wb.rules import operators, shapes, words
from wb.rules.fates import Class, Fate
from wb.rules.words import Bearing

_MARKED = re.compile(r"\A\W*(?:(?P<upper>[A-Z])|(?P<lower>[a-z]{1,4})|(?P<number>\d{1,2}))[.)]\s")  # "(a) …", "2. …"


def labels(every: Sequence[Sentence], fates: Sequence[Fate], bearing: Bearing) -> list[Fate]:
    """A label that names what a tool does, before words that are no constraint ("Check the badge: “May I see it?”"),
    may be an order: it is open."""
    found = list(fates)
    for k, gap in enumerate(every):
        mere = all(fate.cls == "not a constraint" for fate in fates[k : k + 2])  # it, and what stands behind it
        if gap.kind == "gap" and gap.label == "label" and mere and (acts := bearing.named(gap.text, whole=False)):
            found[k] = Fate("open", f"a label that may say to do what {', '.join(acts)} does", worded=True)
    return found


def enumerated(every: Sequence[Sentence], fates: Sequence[Fate]) -> list[Fate]:
    """Paragraphs marked "(a)", "(b)" behind one that ends in "if:" are the conditions that it announces, like the items
    of a list: none is a statement by its own words.  They end where the next one is marked in another way."""
    found, within, style = list(fates), "", None
    for k, piece in enumerate(every):
        marked = _MARKED.match(piece.said)
        mine = marked.lastgroup if marked and piece.kind == "prose" else None
        if within and mine is not None and style in (None, mine):
            style = mine
            if fates[k].cls == "not a constraint" and not fates[k].decided:
                found[k] = Fate("open", f"a paragraph behind an opening that sets a condition ({within})", worded=True)
        else:
            style, within = None, words.conditional(piece.said) if piece.said.rstrip().endswith(":") else ""
    return found


def under(every: Sequence[Sentence], fates: Sequence[Fate]) -> list[Fate]:
    """What stands behind a short line that forbids by its head alone ("Don'ts") is what it forbids: no item of it is a
    thing that is merely named, and what was read of one without force of its own may say the opposite.  It ends at the
    next title or short line.  Such a line may be an item of three words too: what is nested in it and what stands
    beside it are not told apart."""
    found, within = list(fates), ""
    for k, piece in enumerate(every):
        item, said = piece.kind in ("item", "step"), piece.said
        short = (
            piece.kind == "prose" and not piece.stems and len(said.split()) <= 8 and not re.search(r"[.;]\s*\Z", said)
        )
        if piece.kind == "heading" or short:
            within = words.forbids(said) if short else ""
        elif item and not within and len(said.split()) <= 3:
            within = words.forbids(said)
        elif within and not fates[k].decided and piece.kind not in ("gap", "stem"):
            mere = item and fates[k].worded and fates[k].cls == "not a constraint"
            own = words.forced(said) or words.permissive(said) or shapes.banning(fates[k].rules)
            read = fates[k].rules and not own
            if mere or read:
                why = f"it stands under a line that may forbid it ({within})"
                found[k] = replace(fates[k], cls="open", reason=why, worded=not fates[k].rules, refused=True)
    return found


def answers(every: Sequence[Sentence], fates: Sequence[Fate], bearing: Bearing) -> list[Fate]:
    """What stands behind a question of whether, how long or who may, about what a tool does or handles, answers it: it
    may demand or forbid what the question names."""
    found = list(fates)
    for k, (asks, said) in enumerate(pairwise(every), 1):
        if fates[k].worded and fates[k].cls == "not a constraint" and said.kind != "heading" and words.asked(asks.said):
            if not re.search(r"[:?]\W*\Z", said.said) and bearing.handled(f"{asks.said} {said.said}"):
                found[k] = Fate("open", "the answer to a question of what may or has to be", worded=True)
    return found


def rows(every: Sequence[Sentence], fates: Sequence[Fate]) -> list[Fate]:
    """A cell that words alone tell of goes with the cells of its row that were read; a person decides one cell only."""
    found = list(fates)
    for k, cell in enumerate(every):
        if cell.kind == "cell" and fates[k].worded:
            read = [fates[j] for j in _beside(every, k) if not (fates[j].worded or fates[j].decided)]
            if read:
                found[k] = replace(_joined(read), reason="a cell, read with the rest of its row")
        elif cell.kind == "cell" and fates[k].cls == "duty":
            if unread := [every[j].said for j in _beside(every, k) if fates[j].cls == "open" and not fates[j].rules]:
                why = f"another cell of its row was not read: {unread[0]!r:.40}"
                found[k] = replace(fates[k], cls="open", reason=why, refused=True)
    return found


def _beside(every: Sequence[Sentence], k: int) -> list[int]:
    """The places of the other cells of a cell's row: they stand next to it, one cell after the other."""
    found = []
    for step in (-1, 1):
        j = k + step
        while 0 <= j < len(every) and every[j].kind == "cell":
            same = _same_row(every[k], every[j])
            if not same and every[j].row != every[k].row:
                break
            found += [j] if same else []
            j += step
    return sorted(found)


def _same_row(cell: Sentence, other: Sentence) -> bool:
    """Whether two cells stand in one row: each is among the other's cells."""
    mine, theirs = (tuple(c for _, c in s.row) for s in (cell, other))
    return any(other.said in c for c in mine) and any(cell.said in c for c in theirs)


def stems(every: Sequence[Sentence], fates: Sequence[Fate]) -> list[Fate]:
    """The opening of a list goes with its items, the innermost first; items that say one thing are open together."""
    found = list(fates)
    for k in reversed(range(len(every))):
        if every[k].kind != "stem":
            continue
        said = f"{every[k].said.rstrip(' ,–—-:')}:"
        under = [j for j in range(k + 1, len(every)) if any(u.endswith(said) for u in every[j].stems)]
        direct = [j for j in under if every[j].stems[-1].endswith(said)]
        if why := operators.together(said, (every[j].said for j in direct)):
            for j in direct:
                if not found[j].decided:
                    found[j] = replace(found[j], cls="open", reason=why, refused=True)
        if under and found[k].worded:
            items = [found[j] for j in under]
            found[k] = replace(_joined(items), reason=f"the opening of a list of {len(under)}, read with its items")
    return found


def _joined(fates: Sequence[Fate]) -> Fate:
    """The fate of what several share: open if one is, else a rule, a duty, waived, no constraint."""
    order: tuple[Class, ...] = ("open", "rule", "duty", "waived", "not a constraint")
    cls = min((fate.cls for fate in fates), key=order.index)
    return Fate(
        cls,
        "",
        tuple(dict.fromkeys(r for fate in fates if not fate.refused for r in fate.rules)),
        tuple(dict.fromkeys(p for fate in fates for p in fate.predicates)),
    )
