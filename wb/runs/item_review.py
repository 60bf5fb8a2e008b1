"""Reviewing the policy items of a policy's tools in JupyterLab (`items.yaml`).

    item_review.open(source, readings, made, edits.place(…))

Shows the tools, the document with what is mapped onto one, and its items.  What is shown is made here, as values, and
laid out by the page (`show.page`); what a person does goes through the same checks as a file that is written by hand.
In a run, where nobody clicks, what is in no item is given as a table.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

import pydantic

from wb.domain.policy import Policy
from wb.logic.wording import shortened
from wb.rules import edits, entries, items, sentences
from wb.rules.edits import EditError, ItemEdit
from wb.rules.items import Item
from wb.rules.mapper import Map
from wb.rules.rulefile import Form
from wb.rules.sentences import Account
from wb.runs import show, store
from wb.runs.cards import Badge, Quote
from wb.runs.show import laid_out, visible

Act = Literal["pick", "add", "edit", "drop", "archive", "bring back", "take back"]
KINDS = {True: "changes something", False: "reads only", None: "may change something"}


@dataclass(frozen=True, slots=True)
class Desk:
    """What is reviewed: the items that were made of a policy, under the edits of that moment, and where edits stand."""

    policy: Policy
    accounts: Sequence[Account]
    made: Map
    file: Path


@dataclass(frozen=True, slots=True)
class Look:
    """The items as the edits of the moment leave them; `stamp` tells the file that these were read from."""

    stamp: str
    every: tuple[ItemEdit, ...]
    items: tuple[Item, ...]
    stale: tuple[str, ...]


class Asked(Form):
    """What the page sends: an act, the tool, and which of its items (or which edit) it is about."""

    act: Act
    tool: str
    at: int = -1
    why: str = pydantic.Field(default="", max_length=10_000)
    name: str = pydantic.Field(default="", max_length=1_000)
    description: str = pydantic.Field(default="", max_length=10_000)
    references: list[str] = pydantic.Field(default=[], max_length=100)


def look(desk: Desk) -> Look:
    """The items under the edits that the file holds now; `EditError` tells the file's mistakes."""
    stamp = entries.stamp(desk.file)
    every = edits.load(desk.file, desk.policy)
    fresh = tuple(one for one in every if one not in desk.made.edits)
    found = (*desk.made.items, *edits.made_by(fresh, desk.accounts, desk.policy))
    exact = edits.applied(found, fresh, desk.policy)
    done = edits.applied(exact.items, exact.left, desk.policy, renamed=True)
    gone = edits.stale(done.left, desk.policy)
    told = tuple(items.informed(one, desk.accounts) if one.by == "person" else one for one in done.items)
    return Look(stamp, every, told, (*desk.made.stale, *gone))


def tools(desk: Desk, seen: Look) -> list[dict[str, object]]:
    """The tools, those first that most open sentences hold, else in the order of the toolbox: each with how many hold
    it, whether it changes anything, and how many items it has."""
    changes, waiting = desk.made.changes, sentences.open_on(desk.accounts)
    mine = {tool.name: [one for one in seen.items if one.tool == tool.name] for tool in desk.policy.toolbox.tools}
    return [
        {
            "name": name,
            "kind": KINDS[changes.get(name)],
            "items": sum(not one.archived for one in those),
            "archived": sum(bool(one.archived) for one in those),
            "open": len(waiting.get(name, ())),
        }
        for name, those in sorted(mine.items(), key=lambda one: -len(waiting.get(one[0], ())))
    ]


def mapped(desk: Desk, seen: Look, tool: str) -> list[dict[str, object]]:
    """The sentences in the order of the document: which items of the tool have each (`at`), whether those of another
    one do, and whether it says how to act and is in none (`uncovered`); `breaks` where a new line begins."""
    mine = [item.spans for item in seen.items if item.tool == tool]
    every = [span for item in seen.items for span in item.spans]
    bare = items.unmapped(desk.accounts, seen.items)
    return [
        {
            "at": [k for k, spans in enumerate(mine) if _touches(spans, piece.start, piece.end)],
            "elsewhere": _touches(every, piece.start, piece.end),
            "uncovered": any(account.start <= piece.start < account.end for account in bare),
            **laid,
        }
        for piece, laid in laid_out(desk.policy)
    ]


def listed(desk: Desk, seen: Look, tool: str) -> list[dict[str, object]]:
    """The items of a tool, in the order in which `mapped` counts them."""
    return [
        {
            "name": visible(one.name),
            "description": visible(one.description),
            "references": [visible(r.text) for r in one.references],
            "by": one.by,
            "rules": list(one.rules),
            "archived": visible(one.archived),
        }
        for one in seen.items
        if one.tool == tool
    ]


def done(seen: Look) -> list[dict[str, object]]:
    """The edits that the file holds."""
    return [
        {"act": one.act, "tool": one.tool, "item": visible(one.item or one.name), "why": visible(one.why)}
        for one in seen.every
    ]


def edit(desk: Desk, seen: Look, asked: Asked) -> Look:
    """Write what a person did into the file, and look again.

    Raises:
        EditError: it is no edit, or the file was changed since it was looked at; nothing is written.
    """
    edits.save(desk.file, _edit(seen, asked), desk.policy, seen=seen.stamp)
    return look(desk)


def _edit(seen: Look, asked: Asked) -> ItemEdit:
    """What a person did, as an entry of the file."""
    if asked.act == "take back":
        if not 0 <= asked.at < len(seen.every):
            raise EditError(f"one of the {len(seen.every)} edits of the file was required; got number {asked.at + 1}")
        return seen.every[asked.at].model_copy(update={"act": None})
    said = {"name": asked.name.strip(), "description": asked.description.strip()}
    words = [one.strip() for one in asked.references if one.strip()]
    if asked.act == "add":
        return ItemEdit(tool=asked.tool, act="add", why=asked.why.strip(), **said, references=words)
    mine = [one for one in seen.items if one.tool == asked.tool]
    if not 0 <= asked.at < len(mine):
        raise EditError(f"one of the {len(mine)} items of {asked.tool!r} was required; got number {asked.at + 1}")
    item = mine[asked.at]
    own = next((one for one in seen.every if one.act == "add" and (one.tool, one.name) == (item.tool, item.name)), None)
    if own is not None:
        raise EditError("an item that a person added is changed by its own entry: take that back, and add another one")
    quotes = [" ".join(r.text.split()) for r in item.references]
    change = {"name": "", "description": "", "references": []}
    if asked.act == "edit":
        before = {"name": visible(item.name), "description": visible(item.description)}
        change |= {key: text for key, text in said.items() if text != before[key]}
        change |= {"references": words} if words != [visible(text) for text in quotes] else {}
    return ItemEdit(tool=asked.tool, item=item.name, words=quotes, act=asked.act, why=asked.why.strip(), **change)


def _touches(spans: object, start: int, end: int) -> bool:
    return any(a < end and start < b for a, b in spans)


def open(policy: Policy, accounts: Sequence[Account], made: Map, file: Path) -> object:
    """The view of a policy's items, to be clicked in JupyterLab; in a run, what is in no item as a table."""
    if os.environ.get(store.HANDED_OVER):
        bare = items.unmapped(accounts, made.items)
        rows = ({"in no item": Quote(visible(one.text)), "class": Badge(one.cls)} for one in bare)
        return show.table(rows, none="every sentence that says how to act is in an item")
    return _page()(Desk(policy, tuple(accounts), made, file))


@lru_cache(maxsize=1)
def _page() -> type:
    """The widget that shows a desk in the page and hears what is done there."""
    import traitlets

    class Items(show.page()):
        """The tools, the document, and the items of one tool."""

        looks = staticmethod(look)
        of = traitlets.Unicode("items").tag(sync=True)
        tools = traitlets.List().tag(sync=True)
        done = traitlets.List().tag(sync=True)
        tool = ""  # whose items are shown

        def do(self, content: object) -> None:
            asked = Asked.model_validate(content)
            if asked.tool not in (known := [tool.name for tool in self.desk.policy.toolbox.tools]):
                raise EditError(f"one of the tools {known} was required; got {shortened(asked.tool, 40)!r}")
            self.tool = asked.tool
            self.take(asked, edit)
            if asked.act != "pick":
                self.tell(f"written to {self.desk.file.name}: {asked.act}", True)

        def see(self, seen: Look) -> None:
            desk, self.seen = self.desk, seen
            known = [item.tool for item in desk.made.items] or [tool.name for tool in desk.policy.toolbox.tools]
            self.tool = self.tool or next(iter(known), "")
            self.tools, self.done, self.stale = tools(desk, seen), done(seen), list(seen.stale)
            self.rows = mapped(desk, seen, self.tool)
            self.shown = {"tool": self.tool, "items": listed(desk, seen, self.tool)}

    return Items
