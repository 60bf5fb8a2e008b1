"""Reviewing a document in JupyterLab: its sentences, and the policy items of its tools.

    review.open(source, found, decisions.place(…))
    review.open_items(source, readings, made, edits.place(…))

The one shows each sentence by its class, what was understood of it, and what is decided; the other the tools, the
document with what is mapped onto one, and its items.  What is shown is made here, as values; the page (`review.js`)
lays texts out, never as markup, and sends back what a person decides.  That goes through the same checks as a file
that is written by hand, and into the same file (`rules.decisions`, `rules.edits`); then all is looked at again.  In a
run, where nobody clicks, the sentences are given as a table, and so is what is in no item.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

import pydantic

from wb.domain.document import Sentence
from wb.domain.policy import Policy, pieces
from wb.domain.tools import Toolbox
from wb.logic import syntax
from wb.rules import check, decisions, edits, entries, items, rulefile, sentences, understood
from wb.rules.decisions import DecisionError, Ruling
from wb.rules.edits import EditError, ItemEdit
from wb.rules.extract import Extracted
from wb.rules.items import Item
from wb.rules.mapper import Map
from wb.rules.rule import Rule, RuleSet, toolbox
from wb.rules.rulefile import Form
from wb.rules.sentences import Account
from wb.runs import show, store
from wb.runs.cards import Badge, Quote

PAGE = Path(__file__).with_suffix(".js")
STYLE = Path(__file__).with_suffix(".css")
CHECK_S = 5.0  # that the rules are looked at together after each decision
Act = Literal["pick", "preview", "accept", "rule", "reject", "waive", "not a constraint", "take back"]
ItemAct = Literal["pick", "add", "edit", "drop", "archive", "bring back", "take back"]
KINDS = {True: "changes something", False: "reads only", None: "may change something"}


@dataclass(frozen=True, slots=True)
class Desk:
    """What is reviewed: a policy, what was extracted from it, and where a person's decisions stand."""

    policy: Policy
    found: Extracted
    file: Path


@dataclass(frozen=True, slots=True)
class Look:
    """The document as the decisions of the moment leave it; `stamp` tells the file that they were read from."""

    stamp: str
    made: tuple[Ruling, ...]
    stale: tuple[Ruling, ...]
    ruleset: RuleSet
    readings: tuple[Account, ...]
    offered: Mapping[str, Sequence[tuple[str, RuleSet]]]

    def reading(self, name: str) -> Account:
        """The sentence of that id; `DecisionError` where there is none."""
        for one in self.readings:
            if one.id == name:
                return one
        raise DecisionError(f"the id of a sentence of the document was required; got {name[:40]!r}")


class Asked(Form):
    """What the page sends: an act, and the sentence that it is about."""

    act: Act
    id: str
    why: str = pydantic.Field(default="", max_length=10_000)
    choice: int = pydantic.Field(default=1, ge=1, le=3)
    rules: str = pydantic.Field(default="", max_length=100_000)


def look(desk: Desk) -> Look:
    """The document under the decisions that the file holds now; `DecisionError` tells the file's mistakes."""
    stamp = entries.stamp(desk.file)
    made, stale = sentences.settled(desk.policy, decisions.load(desk.file, desk.policy))
    classed = sentences.classify(desk.policy, desk.found, made)
    asked = check.questions(check.check(classed.ruleset, seconds=CHECK_S), classed.ruleset)
    accounts = sentences.questioned(classed.accounts, asked, made, desk.found.toolbox)
    offered = sentences.offered(desk.policy, desk.found, accounts)
    return Look(stamp, made, stale, classed.ruleset, accounts, offered)


def document(desk: Desk, seen: Look) -> list[dict[str, object]]:
    """The sentences in the order of the document, each with its class and kind; `breaks` where a new line begins."""
    decided = {ruling.id for ruling in seen.made}
    return [
        {"id": reading.id, "cls": reading.cls, "decided": reading.id in decided, **laid}
        for reading, (_, laid) in zip(seen.readings, _laid_out(desk.policy), strict=True)
    ]


def _laid_out(policy: Policy) -> Iterator[tuple[Sentence, dict[str, object]]]:
    """The pieces of the document, each with its text and how it is laid out."""
    last = None
    for piece in pieces(policy):
        between = policy.text[last.end : piece.start] if last else "\n\n"
        breaks = piece.kind != "prose" or last.kind != "prose" or bool(between.strip()) or between.count("\n") > 1
        text = piece.said if piece.kind != "gap" else piece.text
        yield piece, {"text": visible(text), "kind": piece.kind, "breaks": breaks}
        last = piece


def sentence(desk: Desk, seen: Look, name: str) -> dict[str, object]:
    """One sentence: its class and why, its rules as understood, what was decided, and a rule to begin with."""
    reading = seen.reading(name)
    own = [one for one in seen.ruleset.rules if one.id in reading.rules]
    decision = next((one for one in seen.made if one.id == name), None)
    choices = seen.offered.get(name, ())
    return {
        "id": reading.id,
        "text": visible(reading.text),
        "cls": reading.cls,
        "grade": reading.grade,
        "reason": visible(reading.reason),
        "place": visible(reading.place),
        "tools": list(reading.tools),
        "apart": list(map(visible, reading.apart)),
        "rules": [rule(one, seen.ruleset, desk.found.toolbox) for one in own],
        "choices": [
            {
                "by": visible(by),
                "rules": [rule(one, read, toolbox(desk.found.toolbox, read), False) for one in read.rules],
            }
            for by, read in choices
        ],
        "decision": {"decision": decision.decision, "why": visible(decision.why or "")} if decision else None,
        "begin": _begin(decision, own, seen, reading, desk.policy),
    }


def rule(one: Rule, ruleset: RuleSet, box: Toolbox, in_force: bool = True) -> dict[str, object]:
    """A rule as it was understood: in words and in LTLf, what tells it, a run that it denies and one that it allows."""
    denied = understood.denied(one, ruleset, box)
    allowed = understood.allowed(one, ruleset, box)
    return {
        "id": one.id,
        "in_force": in_force,
        "words": visible(understood.words(one, ruleset)),
        "formula": syntax.render(one.formula),
        "told": [[name, visible(told)] for name, told in understood.bound(one, ruleset, box)],
        "denied": {"steps": list(map(visible, denied.steps)), "reason": denied.reason},
        "allowed": {"steps": list(map(visible, allowed.steps)), "reason": allowed.reason},
    }


def stale(desk: Desk, seen: Look) -> list[dict[str, object]]:
    """The decisions that fit no sentence as the document now is, each with the sentence that is most like its own, and
    with its rules, to be used for that one."""
    texts = {" ".join(one.text.split()): one.id for one in seen.readings}
    found = []
    for one in seen.stale:
        near = difflib.get_close_matches(" ".join(one.text.split()), texts, 1, 0.5)
        found.append(
            {
                "text": visible(one.text),
                "decision": one.decision,
                "why": visible(one.why or ""),
                "near": texts[near[0]] if near else "",
                "says": visible(near[0]) if near else "",
                "rules": _written(one),
            }
        )
    return found


def preview(desk: Desk, seen: Look, name: str, rules: str) -> list[dict[str, object]]:
    """What rules that a person is writing would say; nothing is written.

    Raises:
        DecisionError: they are not rules for that sentence; the lines are those of the text.
    """
    made = decisions.decide(seen.reading(name), "rule", "a preview", rules, desk.policy)
    ruleset = decisions.own([made], desk.found.toolbox)
    return [rule(one, ruleset, toolbox(desk.found.toolbox, ruleset)) for one in ruleset.rules]


def decide(desk: Desk, seen: Look, asked: Asked) -> Look:
    """Write what a person decided into the file, and look again.

    Raises:
        DecisionError: it is no decision, or the file was changed since it was looked at; nothing is written.
    """
    reading, why, rules = seen.reading(asked.id), asked.why.strip(), ""
    decision: str | None = asked.act
    if asked.act == "accept":
        choices = seen.offered.get(reading.id, ())
        if len(choices) < asked.choice:
            raise DecisionError(f"one of {len(choices)} readings was required; got number {asked.choice}: write a rule")
        by, read = choices[asked.choice - 1]
        decision, why, rules = "rule", why or f"{decisions.ACCEPTED} ({by})", written(read.rules, read)
    elif asked.act == "rule":
        rules = asked.rules
    elif asked.act == "take back":
        decision = None
    made = decisions.decide(reading, decision, why, rules, desk.policy)
    entries.save(desk.file, made, desk.policy, seen=seen.stamp)
    return look(desk)


def written(rules: Sequence[Rule], ruleset: RuleSet) -> str:
    """Rules with their predicates as the text of a decision, to be edited."""
    return rulefile.written(decisions.form(replace(ruleset, rules=tuple(rules)).without_unused()))


def begin(reading: Account, policy: Policy) -> str:
    """A rule to begin with, for a sentence of which none was read: its tools, and a field of the state."""
    field = next((one.name for one in policy.toolbox.state if one.type == "boolean"), "FIELD")
    tools = list(reading.tools or [one.name for one in policy.toolbox.tools])
    return rulefile.written(
        {
            "predicates": {
                "does_it": {"kind": "action", "tools": tools},
                "may_do_it": {"kind": "state", "test": f"state.{field}"},
            },
            "rules": [{"formula": "ALWAYS (does_it IMPLIES may_do_it)", "modality": "permit_only_if"}],
        }
    )


def _begin(decision: Ruling | None, own: Sequence[Rule], seen: Look, reading: Account, policy: Policy) -> str:
    """What is offered to be edited: a person's rules as they wrote them, else those that were read, else a form."""
    if decision is not None and decision.rules:
        return _written(decision)
    if own:
        return written(own, seen.ruleset)
    if choices := seen.offered.get(reading.id):
        return written(choices[0][1].rules, choices[0][1])
    return begin(reading, policy)


def _written(decision: Ruling) -> str:
    """A person's rules as text, "" where there are none."""
    if not decision.rules:
        return ""
    return rulefile.written(decision.model_dump(include={"predicates", "rules"}, exclude_defaults=True))


def visible(text: str) -> str:
    """A text with blanks folded, and what cannot be seen or turns others round written by its number."""
    return "".join(c if c.isprintable() else f"⟨U+{ord(c):04X}⟩" for c in " ".join(text.split()))


def open(policy: Policy, found: Extracted, file: Path) -> object:
    """The view of a document, to be clicked in JupyterLab; in a run, its sentences as a table.

    `file` is where the decisions stand.
    """
    desk = Desk(policy, found, file)
    return show.sentences(look(desk).readings) if os.environ.get(store.HANDED_OVER) else _pages()["sentences"](desk)


# ---- policy items ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ItemDesk:
    """What is reviewed: the items that were made of a policy, under the edits of that moment, and where edits stand."""

    policy: Policy
    accounts: Sequence[Account]
    made: Map
    file: Path


@dataclass(frozen=True, slots=True)
class ItemLook:
    """The items as the edits of the moment leave them; `stamp` tells the file that these were read from."""

    stamp: str
    every: tuple[ItemEdit, ...]
    items: tuple[Item, ...]
    stale: tuple[str, ...]


class ItemAsked(Form):
    """What the page sends: an act, the tool, and which of its items (or which edit) it is about."""

    act: ItemAct
    tool: str
    at: int = -1
    why: str = pydantic.Field(default="", max_length=10_000)
    name: str = pydantic.Field(default="", max_length=1_000)
    description: str = pydantic.Field(default="", max_length=10_000)
    references: list[str] = pydantic.Field(default=[], max_length=100)


def look_at_items(desk: ItemDesk) -> ItemLook:
    """The items under the edits that the file holds now; `EditError` tells the file's mistakes."""
    stamp = entries.stamp(desk.file)
    every = edits.load(desk.file, desk.policy)
    fresh = tuple(one for one in every if one not in desk.made.edits)
    found = (*desk.made.items, *edits.made_by(fresh, desk.accounts, desk.policy))
    exact = edits.applied(found, fresh, desk.policy)
    done = edits.applied(exact.items, exact.left, desk.policy, renamed=True)
    gone = edits.stale(done.left, desk.policy)
    return ItemLook(
        stamp,
        every,
        tuple(items.informed(one, desk.accounts) if one.by == "person" else one for one in done.items),
        (*desk.made.stale, *gone),
    )


def tools(desk: ItemDesk, seen: ItemLook) -> list[dict[str, object]]:
    """The tools in the order of the toolbox, each with whether it changes anything, and how many items it has."""
    changes = desk.made.changes
    mine = {tool.name: [one for one in seen.items if one.tool == tool.name] for tool in desk.policy.toolbox.tools}
    return [
        {
            "name": name,
            "kind": KINDS[changes.get(name)],
            "items": sum(not one.archived for one in those),
            "archived": sum(bool(one.archived) for one in those),
        }
        for name, those in mine.items()
    ]


def mapped(desk: ItemDesk, seen: ItemLook, tool: str) -> list[dict[str, object]]:
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
        for piece, laid in _laid_out(desk.policy)
    ]


def listed(desk: ItemDesk, seen: ItemLook, tool: str) -> list[dict[str, object]]:
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


def done(seen: ItemLook) -> list[dict[str, object]]:
    """The edits that the file holds."""
    return [
        {"act": one.act, "tool": one.tool, "item": visible(one.item or one.name), "why": visible(one.why)}
        for one in seen.every
    ]


def edit(desk: ItemDesk, seen: ItemLook, asked: ItemAsked) -> ItemLook:
    """Write what a person did into the file, and look again.

    Raises:
        EditError: it is no edit, or the file was changed since it was looked at; nothing is written.
    """
    edits.save(desk.file, _edit(seen, asked), desk.policy, seen=seen.stamp)
    return look_at_items(desk)


def _edit(seen: ItemLook, asked: ItemAsked) -> ItemEdit:
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


def open_items(policy: Policy, accounts: Sequence[Account], made: Map, file: Path) -> object:
    """The view of a policy's items, to be clicked in JupyterLab; in a run, what is in no item as a table."""
    if os.environ.get(store.HANDED_OVER):
        bare = items.unmapped(accounts, made.items)
        rows = ({"in no item": Quote(visible(one.text)), "class": Badge(one.cls)} for one in bare)
        return show.table(rows, none="every sentence that says how to act is in an item")
    return _pages()["items"](ItemDesk(policy, tuple(accounts), made, file))


# ---- the page --------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _pages() -> dict[str, type]:
    """The widgets that show a desk in the page and hear what is done there, by what is reviewed."""
    import anywidget
    import traitlets

    class Page(anywidget.AnyWidget):
        """Texts and classes go to the page, acts come back; both are plain data."""

        _esm = PAGE.read_text("utf-8")
        _css = STYLE.read_text("utf-8")
        rows = traitlets.List().tag(sync=True)
        shown = traitlets.Dict().tag(sync=True)
        stale = traitlets.List().tag(sync=True)
        told = traitlets.Dict().tag(sync=True)
        file = traitlets.Unicode().tag(sync=True)
        heard = traitlets.Int().tag(sync=True)  # how many acts were done or refused

        def __init__(self, desk: Desk | ItemDesk) -> None:
            super().__init__(file=desk.file.name)
            self.desk, self.times = desk, 0
            self.see(self.looks(desk))
            self.on_msg(lambda _widget, content, _buffers: self.hear(content))

        def hear(self, content: object) -> None:
            """Do what the page asks, and tell what came of it."""
            try:
                self.do(content)
            except (ValueError, OSError) as error:
                self.tell(f"refused, nothing was written: {error}", False)
            finally:
                self.heard += 1

        def take(self, asked: Asked | ItemAsked, act: Callable) -> None:
            """Show what is there once an act is done, also where it is refused for what somebody else wrote."""
            try:
                self.see(self.fresh() if asked.act == "pick" else act(self.desk, self.seen, asked))
            except (DecisionError, EditError):
                self.see(self.fresh())
                raise

        def fresh(self) -> Look | ItemLook:
            """What was looked at, or what is there now where the file was changed since."""
            return self.seen if entries.stamp(self.desk.file) == self.seen.stamp else self.looks(self.desk)

        def tell(self, text: str, good: bool) -> None:
            self.times += 1
            self.told = {"text": text, "good": good, "times": self.times}

    class Sentences(Page):
        """The document, and beside it one of its sentences."""

        looks = staticmethod(look)
        of = traitlets.Unicode("sentences").tag(sync=True)
        preview = traitlets.List().tag(sync=True)

        def do(self, content: object) -> None:
            asked = Asked.model_validate(content)
            if asked.act == "preview":
                self.preview = []  # so that the same words, said again, are told again
                self.preview = preview(self.desk, self.seen, asked.id, asked.rules)
                return
            self.take(asked, decide)
            self.preview, self.shown = [], sentence(self.desk, self.seen, asked.id)
            if asked.act != "pick":
                self.tell(f"written to {self.desk.file.name}: this sentence is now {self.shown['cls']}", True)

        def see(self, seen: Look) -> None:
            self.seen = seen
            self.rows, self.stale = document(self.desk, seen), stale(self.desk, seen)

    class Items(Page):
        """The tools, the document, and the items of one tool."""

        looks = staticmethod(look_at_items)
        of = traitlets.Unicode("items").tag(sync=True)
        tools = traitlets.List().tag(sync=True)
        done = traitlets.List().tag(sync=True)
        tool = ""  # whose items are shown

        def do(self, content: object) -> None:
            asked = ItemAsked.model_validate(content)
            if asked.tool not in (known := [tool.name for tool in self.desk.policy.toolbox.tools]):
                raise EditError(f"one of the tools {known} was required; got {asked.tool[:40]!r}")
            self.tool = asked.tool
            self.take(asked, edit)
            if asked.act != "pick":
                self.tell(f"written to {self.desk.file.name}: {asked.act}", True)

        def see(self, seen: ItemLook) -> None:
            desk, self.seen = self.desk, seen
            known = [item.tool for item in desk.made.items] or [tool.name for tool in desk.policy.toolbox.tools]
            self.tool = self.tool or next(iter(known), "")
            self.tools, self.done, self.stale = tools(desk, seen), done(seen), list(seen.stale)
            self.rows = mapped(desk, seen, self.tool)
            self.shown = {"tool": self.tool, "items": listed(desk, seen, self.tool)}

    return {"sentences": Sentences, "items": Items}
