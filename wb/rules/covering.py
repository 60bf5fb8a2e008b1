"""That one number covers another one: "it must have enough balance to cover the price" beside `balance >= price`.

The one form of two compared fields that a sentence is read into: the words before "to cover" name the one that has to
be at least as large, those behind it name the other, each in full, and no other number is named by them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from wb.domain.tools import Toolbox
from wb.logic.facts import Comparison, Path
from wb.rules import called
from wb.rules.rule import Predicate

_ENOUGH = re.compile(
    r"\b(?:enough|sufficient) (?P<held>[a-z]+(?: [a-z]+)?) to (?:cover|pay|meet|match) (?:the |its |their |this )?"
    r"(?P<need>[a-z]+(?: [a-z]+){0,2}?)(?=[.,;]?\Z|, )",
    re.I,
)


def covered(text: str, used: Sequence[Predicate], toolbox: Toolbox) -> tuple[str, list[Predicate]]:
    """A sentence without "enough" and "to cover …", and the predicates with the larger number as a truth in place of
    the comparison; both as they are where it says another thing than one of them tests."""
    found = list(_ENOUGH.finditer(text))
    compared = [p for p in used if _compared(p) is not None]
    if len(found) != 1 or len(compared) != 1:
        return text, list(used)
    at, (larger, smaller) = found[0], _compared(compared[0])
    before = called.content(f"{text[: at.start()]} {at['held']}")
    held, need = called.content(at["held"]), called.content(at["need"])
    if _meant(larger, before, held, toolbox) and _meant(smaller, need, need, toolbox):
        told = [replace(p, test=larger) if p in compared else p for p in used]
        return f"{text[: at.start()]}{at['held']}{text[at.end() :]}", told
    return text, list(used)


def _compared(p: Predicate) -> tuple[Path, Path] | None:
    """The larger and the smaller field of the state where a predicate tests that alone."""
    match p.test:
        case Comparison(">=", Path(("state", _)) as larger, Path(("state", _)) as smaller) if larger != smaller:
            return larger, smaller
    return None


def _meant(path: Path, said: frozenset[str], noun: frozenset[str], toolbox: Toolbox) -> bool:
    """Whether words name one number of the state in full, and the noun among them is of its name; of the others none
    that is not a part of its name."""
    names = {f.name: called.content(f.name) for f in toolbox.state if f.type in ("integer", "number")}
    mine = names.get(path.names[1], frozenset())
    rivals = [name for other, name in names.items() if other != path.names[1] and name and name <= said]
    return bool(mine) and mine <= said and noun <= mine and all(name < mine for name in rivals)
