"""Entries of a person's file of decisions, put in and replaced without touching another character of the file.

A file of decisions is a person's own: it holds remarks, an order and a spelling that no program may lose.  So a new
entry is put at the end, or in the place of the one about the same sentence, as text; the remarks within what it
replaces stay above it.  What comes of it is read again before it is written, and must say what was meant and of all
other entries what they said.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import reduce
from itertools import pairwise
from pathlib import Path

import yaml

from wb import paths
from wb.domain.policy import Policy, named
from wb.rules import decisions, rulefile
from wb.rules.decisions import DecisionError, Ruling

REMARK = re.compile(r"(?:\A|(?<=\s))#[^\r\n]*")
HAND = "write the entry by hand"
KEY = "decisions"


def stamp(path: Path) -> str:
    """What tells a file from what it becomes; empty where there is none.

    Raises:
        OSError: it is none that can be read.
    """
    return hashlib.sha256(paths.content(path)).hexdigest() if path.exists() else ""


def save(path: Path, made: Ruling | Sequence[Ruling], policy: Policy, *, seen: str | None = None) -> None:
    """Put a decision, or several, an entry each, into the file of decisions about the policy: all or none.

    `seen` is the stamp of the file that the decision was made before.

    Raises:
        DecisionError: the file has mistakes, was changed since `seen`, cannot be written, or is of a form into which
            no entry can be put; nothing is written.
    """
    several = (made,) if isinstance(made, Ruling) else made

    def whole(text: str) -> str:
        return reduce(lambda kept, one: put(kept, one, policy, source=path.name), several, text)

    rewrite(path, whole, DecisionError, seen=seen)


def rewrite(path: Path, put: Callable[[str], str], error: type[ValueError], *, seen: str | None = None) -> None:
    """Put an entry into a person's file, whole or not at all: `put` gives the text with it.

    Raises:
        error: the file was changed since `seen`, or cannot be read or written; nothing is written.  What `put` raises.
    """
    place = path.resolve()
    if seen is not None and stamp(place) != seen:
        raise error(f"{path.name} was changed meanwhile: look at what it says now, and decide again")
    text = rulefile.decoded(place, error) if place.exists() else ""
    marked = place.exists() and paths.content(place).startswith(b"\xef\xbb\xbf")
    edited = ("\ufeff" if marked else "") + put(text)
    try:
        paths.write_whole(place, edited)
    except OSError as wrong:
        raise error(f"{path}: a file that can be written was required; got {wrong.strerror or wrong}") from None


def put(text: str, made: Ruling, policy: Policy, *, source: str = "decisions.yaml") -> str:
    """The text of a file of decisions with this one in it, for the sentence of its id.

    Raises:
        DecisionError: the text has mistakes, or is of a form into which no entry can be put.
    """
    decisions.loads(text, policy, source=source)
    before = rows(text, source, KEY, DecisionError)
    at = _about(before, made, policy)
    row = made.model_dump(exclude_defaults=True, exclude_none=True)
    after = [*before[:at], row, *before[at + 1 :]]

    def says(new: str) -> bool:
        decisions.loads(new, policy, source=source)
        return rows(new, source, KEY, DecisionError) == after

    if (new := edited(text, row, at if at < len(before) else None, KEY, says)) is not None:
        return new
    raise DecisionError(f"{source}: entries that begin '- id:' on a line of their own were required; {HAND}")


def rows(text: str, source: str, key: str, error: type[ValueError]) -> list[object]:
    """The entries of a text under a key, as they stand in it."""
    data = rulefile.read(text, source, error).data
    return list((data or {}).get(key) or ())


def edited(text: str, row: dict, at: int | None, key: str, says: Callable[[str], bool]) -> str | None:
    """The text with an entry under a key, in the place of the one at `at` or at the end, all remarks kept; None where
    no form of it is one of which `says` is true, or raises no `ValueError`."""
    for new in _tries(text, row, at, key):
        try:
            if says(new) and _remarks(new) >= _remarks(text):
                return new
        except ValueError:
            continue
    return None


def _about(rows: list[object], made: Ruling, policy: Policy) -> int:
    """Where the entry about the same sentence stands; the number of entries where there is none."""
    texts = named(policy)
    for i, row in enumerate(rows):
        if not isinstance(row, dict):
            continue
        if row.get("id") == made.id:
            return i
        said = [name for name, text in texts.items() if str(row.get("text", "")).split() == text.split()]
        if not row.get("id") and said == [made.id]:
            return i
    return len(rows)


def _remarks(text: str) -> Counter[str]:
    """The remarks of a text, and how often each stands there."""
    return Counter(text[start:end].rstrip() for start, end in _places(text))


def _places(text: str, begin: int = 0, stop: int | None = None) -> list[tuple[int, int]]:
    """Where the remarks stand: they are between the tokens of YAML, or in the head of a block of text."""
    tokens = sorted(((t.start_mark.index, t.end_mark.index, t) for t in _tokens(text)), key=lambda one: one[:2])
    found = []
    for (_, left, _), (right, _, _) in pairwise([(0, 0, None), *tokens, (len(text), len(text), None)]):
        found += [(m.start() + left, m.end() + left) for m in REMARK.finditer(text[left:right])] if left < right else []
    for start, _, token in tokens:
        if isinstance(token, yaml.ScalarToken) and token.style in ("|", ">"):
            end = _line_end(text, start)
            found += [(m.start() + start, m.end() + start) for m in REMARK.finditer(text[start:end])]
    stop = len(text) if stop is None else stop
    return sorted({place for place in found if begin <= place[0] < stop})


def _tokens(text: str) -> list[yaml.Token]:
    try:
        return list(yaml.scan(text, Loader=yaml.BaseLoader))
    except yaml.YAMLError:
        return []


def _line_end(text: str, at: int) -> int:
    """The place behind the line break that ends the line, or the end of the text."""
    found = text.find("\n", at)
    return len(text) if found < 0 else found + 1


def _tries(text: str, row: dict, at: int | None, key: str) -> list[str]:
    """Texts with the entry in it, in the order in which they are to be tried; each has to be read again."""
    try:
        root = yaml.compose(text, Loader=yaml.BaseLoader)
    except yaml.YAMLError:
        return []
    ends = "\r\n" if "\r\n" in text else "\n"
    entries = next((v for k, v in root.value if k.value == key), None) if root is not None else None

    def lines(column: int, above: tuple[str, ...] = ()) -> str:
        told = [*above, *rulefile.written([row]).rstrip("\n").split("\n")]
        return "".join(f"{' ' * column}{line}{ends}" for line in told)

    def put_in(begin: int, end: int, new: str) -> str:
        gap = ends if begin and text[begin - 1] != "\n" else ""
        return text[:begin] + gap + new + text[end:]

    if not isinstance(entries, yaml.SequenceNode) or not entries.value:
        return _first(text, entries, lines(2), ends, key)
    column, begins = entries.start_mark.column, []
    for token in _tokens(text):
        if isinstance(token, yaml.BlockEntryToken) and token.start_mark.column == column:
            begins.append(token.start_mark.index)
    if entries.flow_style or len(begins) != len(entries.value):
        return []
    if at is None:
        last = _end(text, entries.value[-1])
        return [put_in(len(text), len(text), lines(column)), put_in(last, last, lines(column))]
    end = _end(text, entries.value[at])
    begin = begins[at] - column
    kept = tuple(text[a:b].rstrip() for a, b in _places(text, begins[at], end))
    return [put_in(begin, end, lines(column, kept))]


def _first(text: str, entries: yaml.Node | None, new: str, ends: str, key: str) -> list[str]:
    """Texts with a first entry, where there is none yet."""
    if entries is None:
        head = text.rstrip(" ") if text.strip() == "" else text
        gap = "" if not head or head.endswith("\n") else ends
        return [f"{head}{gap}{key}:{ends}{new}"]
    begin, end = entries.start_mark.index, entries.end_mark.index
    emptied = text[:begin].rstrip(" ") + text[end:]
    line = _line_end(emptied, len(text[:begin].rstrip(" ")))
    gap = "" if emptied[:line].endswith("\n") else ends
    return [emptied + ("" if emptied.endswith("\n") else ends) + new, emptied[:line] + gap + new + emptied[line:]]


def _end(text: str, node: yaml.Node) -> int:
    """The place behind the last line of a node, where the end of its last word tells it: a block of YAML has none."""
    while isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    at = node.end_mark.index
    return at if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">") else _line_end(text, at)
