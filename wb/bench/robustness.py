"""How well sentences are mapped onto tools where a document holds other text as well (ToolGuard, Table 3).

Beside a policy's document may stand texts that say nothing of its tools: `added_other_domain.md` and
`added_same_domain.md`.  Each is put behind the document and in front of it; what is read of the whole, without
anybody's decisions, is measured against the same gold.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from wb.bench import mapping
from wb.domain import policy as documents
from wb.domain.policy import Policy
from wb.rules import items, sentences
from wb.rules.extract import Extracted

ADDED = {"other domain": "added_other_domain.md", "same domain": "added_same_domain.md"}


def rows(place: Path, source: Policy, read: Callable[[Policy], Extracted]) -> list[dict[str, object]]:
    """The figures of the document as it stands, and with each text behind it and in front of it; a row for each way of
    matching. None where there is no gold, or no such text.

    Raises:
        ValueError: a reference of the gold stands in an added text, too.
        ModelError: a question got no reply.
    """
    folder = place if place.is_dir() else place.parent
    added = {said: (folder / name).read_text("utf-8") for said, name in ADDED.items() if (folder / name).is_file()}
    if not added or not mapping.gold(place, source.text):
        return []
    texts = {"as it stands": source.text}
    for said, text in added.items():
        texts[f"{said} behind"] = f"{source.text}\n\n{text}"
        texts[f"{said} in front"] = f"{text}\n\n{source.text}"
    return [{"document": said, **row} for said, text in texts.items() for row in _row(place, source, text, read)]


def _row(place: Path, source: Policy, text: str, read: Callable[[Policy], Extracted]) -> list[dict[str, object]]:
    policy = documents.of_text(text, source.toolbox, name=source.name)
    found = items.items(policy, sentences.classify(policy, read(policy)).accounts)
    return mapping.figures(mapping.gold(place, text), found, text)
