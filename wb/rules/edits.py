"""Edits of a person to policy items: one YAML file beside the policy, `items.yaml`.

    items:
      - tool: lend_item
        item: Five at most                 # the name that it has
        words: [You can borrow at most five items.]  # its references, word for word
        act: edit                          # or: add, drop, archive, bring back
        why: five counts those that are at home
        name: At most five at home         # of an edit, what changes; of an item that is added, all three
        description: At most five items at a time, those at home among them.
        references: [You can borrow at most five items.]

An entry without an act changes nothing.  It is about the item of that tool, name and references; where what made the
items calls it otherwise by now, about the only one of those references.  If there is none, or its `words` are
gone from the document, the entry is stale: it has no effect, and that is said.  What a person added, edited, archived
or brought back is neither split nor merged nor archived by a model.  Items block nothing and free nothing; rules and
decisions do (`decisions.yaml`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pydantic

from wb import paths
from wb.domain.policy import Policy
from wb.rules import entries, items, rulefile
from wb.rules.items import Item, Reference
from wb.rules.rulefile import Form, Loc, Written
from wb.rules.sentences import Account

KEY = "items"
Act = Literal["add", "edit", "drop", "archive", "bring back"]
EXPLAINED: tuple[Act, ...] = ("drop", "archive", "bring back")
BY_A_PERSON = "by a person: "
COPY = "copy it from the document, word for word, or take the entry out"


class EditError(ValueError):
    """A file is not one of edits; the message says on which line, what was required and what was got."""


class ItemEdit(Form):
    """What a person did to one item of one tool, and why."""

    tool: str = pydantic.Field(min_length=1)
    item: str = ""
    words: list[str] = []
    act: Act | None = None
    why: str = ""
    name: str = ""
    description: str = ""
    references: list[str] = []

    @property
    def about(self) -> tuple[str, str, tuple[str, ...]]:
        """Which item it is about, by tool, name and references; of one that is added, its own."""
        quotes = self.words or self.references
        return self.tool, self.item or self.name, tuple(sorted(" ".join(quote.split()) for quote in quotes))


class _File(Form):
    items: list[Any] = []  # each an `ItemEdit`


class Applied(NamedTuple):
    """Items with a person's edits in them, and the edits that fit no item."""

    items: tuple[Item, ...]
    left: tuple[ItemEdit, ...]


def place(policy: Path) -> Path:
    """Where the edits of a policy's items stand: in its folder, or beside its single document."""
    return paths.beside(policy, "items.yaml")


def load(path: Path, policy: Policy) -> tuple[ItemEdit, ...]:
    """The edits of a file about a policy; none where there is no file.

    Raises:
        EditError: it cannot be read, is not of the form, or speaks of what the policy does not have.
    """
    return loads(rulefile.decoded(path, EditError), policy, source=path.name) if path.exists() else ()


def loads(text: str, policy: Policy, *, source: str = "items.yaml") -> tuple[ItemEdit, ...]:
    """The edits of a text that have an act.

    Raises:
        EditError: with all mistakes, a line each.
    """
    written = rulefile.read(text, source, EditError)
    if written.data is None:
        return ()
    found: list[ItemEdit] = []
    wrong: list[str] = []
    for i, row in enumerate(written.checked(_File).items):
        one, mistakes = written.form(ItemEdit, row, (KEY, i))
        wrong += mistakes
        if one is None:
            continue
        wrong += _mistakes(one, policy, written, (KEY, i))
        if one.act and one.about in {other.about for other in found if other.act}:
            wrong.append(f"{written.where((KEY, i))}: one entry an item was required; got {one.about[1]!r} again")
        found.append(one)
    if wrong:
        raise EditError("\n".join(wrong))
    return tuple(one for one in found if one.act is not None)


def _mistakes(one: ItemEdit, policy: Policy, written: Written, loc: Loc) -> Iterator[str]:
    """What an entry needs for its act, or has and cannot use, and what of it the policy does not have."""
    known = [tool.name for tool in policy.toolbox.tools]
    if one.tool not in known:
        yield f"{written.where((*loc, 'tool'))}: one of the tools {known} was required; got {one.tool!r}"
    for i, quote in enumerate(one.references if one.act != "edit" or _quoted(one.words, policy) else ()):
        try:
            items.references(quote, policy)
        except ValueError as error:
            yield f"{written.where((*loc, 'references', i))}: {error}: {COPY}"
    if one.act is None:
        return
    given = {key for key in ("item", "words", "name", "description", "references") if getattr(one, key)}
    needed, other = {"add": ({"name", "description", "references"}, set())}.get(
        one.act, ({"item", "words"}, {"name", "description", "references"} if one.act == "edit" else set())
    )
    if missing := sorted(needed - given):
        yield f"{written.where(loc)}: {missing} were required for {one.act!r}; got none"
    if idle := sorted(given - needed - other):
        yield f"{written.where(loc)}: nothing but {sorted(needed | other)} was required for {one.act!r}; got {idle}"
    if one.act == "edit" and not given & other:
        yield f"{written.where(loc)}: another name, description or references were required for 'edit'; got none"
    if one.act in EXPLAINED and not one.why.strip():
        yield f"{written.where(loc)}: a reason why was required for {one.act!r}; got none"
    if given & {"name", "description"} and (bad := items.misnamed(one.name or "-", one.description or "-")):
        yield f"{written.where(loc)}: {bad}"


def added(edits: Iterable[ItemEdit], policy: Policy) -> tuple[Item, ...]:
    """The items that a person added."""
    return tuple(
        Item(one.tool, one.name, one.description, _references(one.references, policy), by="person")
        for one in edits
        if one.act == "add"
    )


def applied(found: Sequence[Item], edits: Iterable[ItemEdit], policy: Policy, *, renamed: bool = False) -> Applied:
    """The items with what a person did to those of the same name and references, in the order of the edits.

    With `renamed`, an edit that fits none so is about the only item of its tool with its references, whatever that is
    called.  Additions are left alone.
    """
    rows, left = list(found), []
    for one in edits:
        if one.act == "add":
            continue
        try:
            quoted = [{(r.start, r.end) for r in items.references(quote, policy)} for quote in one.words]
        except ValueError:
            left.append(one)
            continue
        same = [k for k, item in enumerate(rows) if item.tool == one.tool and _rests(item, quoted)]
        fits = [k for k in same if rows[k].name == one.item] or (same if renamed else [])
        if len(fits) != 1:
            left.append(one)
            continue
        changed = _changed(rows[fits[0]], one, policy)
        rows[fits[0] : fits[0] + 1] = [] if changed is None else [changed]
    return Applied(tuple(rows), tuple(left))


def stale(edits: Iterable[ItemEdit], policy: Policy) -> list[str]:
    """Why each of these edits has no effect, a line each."""
    found = []
    for one in edits:
        why = "no such item is made now" if _quoted(one.words, policy) else "its words are not in the document any more"
        found.append(f"{one.act} {one.item!r} of {one.tool}: {why}")
    return found


def _quoted(quotes: Iterable[str], policy: Policy) -> bool:
    """Whether all of these words stand in the document: an edit of an item whose words do not is stale."""
    try:
        _references(quotes, policy)
    except ValueError:
        return False
    return True


def save(path: Path, made: ItemEdit, policy: Policy, *, seen: str | None = None) -> None:
    """Put an edit into the file of edits, whole or not at all, in the place of one about the same item.

    `seen` is the stamp (`entries.stamp`) of the file that the edit was made before.

    Raises:
        EditError: the file has mistakes, was changed since `seen`, cannot be written, or is of a form into which no
            entry can be put; or it is no edit; nothing is written.
    """
    entries.rewrite(path, lambda text: put(text, made, policy, source=path.name), EditError, seen=seen)


def put(text: str, made: ItemEdit, policy: Policy, *, source: str = "items.yaml") -> str:
    """The text of a file of edits with this one in it.

    Raises:
        EditError: the text or the edit has mistakes, or the text is of a form into which no entry can be put.
    """
    loads(text, policy, source=source)
    before = entries.rows(text, source, KEY, EditError)
    row = made.model_dump(exclude_defaults=True, exclude_none=True)
    loads(rulefile.written({KEY: [row]}), policy, source="the edit")
    at = next((i for i, old in enumerate(before) if _about(old) == made.about), len(before))
    after = [*before[:at], row, *before[at + 1 :]]

    def says(new: str) -> bool:
        loads(new, policy, source=source)
        return entries.rows(new, source, KEY, EditError) == after

    if (new := entries.edited(text, row, at if at < len(before) else None, KEY, says)) is not None:
        return new
    raise EditError(f"{source}: entries that begin '- tool:' on a line of their own were required; {entries.HAND}")


def _about(row: object) -> tuple | None:
    """Which item an entry of a file is about."""
    try:
        return ItemEdit.model_validate(row).about
    except pydantic.ValidationError:
        return None


def _references(quotes: Iterable[str], policy: Policy) -> tuple[Reference, ...]:
    return tuple(dict.fromkeys(r for quote in quotes for r in items.references(quote, policy)))


def _rests(item: Item, quoted: Sequence[set[tuple[int, int]]]) -> bool:
    """Whether an item has these references and no others; what stands in several places may be in one of them."""
    return all(item.spans & places for places in quoted) and item.spans <= set().union(*quoted)


def _changed(item: Item, one: ItemEdit, policy: Policy) -> Item | None:
    """An item as a person left it; None where they dropped it."""
    match one.act:
        case "drop":
            return None
        case "archive":
            return replace(item, archived=BY_A_PERSON + one.why, by="person")
        case "bring back":
            return replace(item, archived="", by="person")
    return replace(
        item,
        name=one.name or item.name,
        description=one.description or item.description,
        references=_references(one.references, policy) if one.references else item.references,
        by="person",
    )


def made_by(edits: Iterable[ItemEdit], accounts: Sequence[Account], policy: Policy) -> tuple[Item, ...]:
    """The items that a person added, with the rules that their sentences became."""
    return tuple(items.informed(one, accounts) for one in added(edits, policy))
