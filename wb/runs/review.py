"""Reviewing a document in JupyterLab: each sentence by its class, what was understood of it, and what is decided.

    review.open(source, found, decisions.place(…))

What is shown is made here, as values; the page (`review.js`) lays texts out, never as markup, and sends back what a
person decides.  That goes through the same checks as a file that is written by hand, and into the same file; the
sentences are then classed again.  In a run, where nobody clicks, the sentences are given as a table.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

import pydantic

from wb.domain.policy import Policy, pieces
from wb.domain.tools import Toolbox
from wb.logic import syntax
from wb.rules import check, decisions, entries, rulefile, sentences, understood
from wb.rules.decisions import DecisionError, Ruling
from wb.rules.extract import Extracted
from wb.rules.rule import Rule, RuleSet, toolbox
from wb.rules.rulefile import Form
from wb.rules.sentences import Account
from wb.runs import show, store

PAGE = Path(__file__).with_suffix(".js")
PARTS = Path(__file__).with_name("page.js")  # of this page, and of that of items
STYLE = Path(__file__).with_suffix(".css")
CHECK_S = 5.0  # that the rules are looked at together after each decision
Act = Literal["pick", "preview", "accept", "rule", "reject", "waive", "not a constraint", "take back"]


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
    found, last = [], None
    decided = {one.id for one in seen.made}
    for reading, piece in zip(seen.readings, pieces(desk.policy), strict=True):
        between = desk.policy.text[last.end : reading.start] if last else "\n\n"
        breaks = piece.kind != "prose" or last.kind != "prose" or bool(between.strip()) or between.count("\n") > 1
        found.append(
            {
                "id": reading.id,
                "text": visible(piece.said if piece.kind != "gap" else reading.text),
                "cls": reading.cls,
                "kind": piece.kind,
                "depth": len(reading.headings),
                "breaks": breaks,
                "decided": reading.id in decided,
            }
        )
        last = piece
    return found


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
    return show.sentences(look(desk).readings) if os.environ.get(store.HANDED_OVER) else _page()(desk)


@lru_cache(maxsize=1)
def _page() -> type:
    """The widget that shows a desk in the page and hears what is done there."""
    import anywidget
    import traitlets

    class Review(anywidget.AnyWidget):
        """Texts and classes go to the page, acts come back; both are plain data."""

        _esm = PARTS.read_text("utf-8") + PAGE.read_text("utf-8")
        _css = STYLE.read_text("utf-8")
        rows = traitlets.List().tag(sync=True)
        shown = traitlets.Dict().tag(sync=True)
        preview = traitlets.List().tag(sync=True)
        stale = traitlets.List().tag(sync=True)
        told = traitlets.Dict().tag(sync=True)
        file = traitlets.Unicode().tag(sync=True)
        heard = traitlets.Int().tag(sync=True)  # how many acts were done or refused

        def __init__(self, desk: Desk) -> None:
            super().__init__(file=desk.file.name)
            self.desk, self.times = desk, 0
            self._see(look(desk))
            self.on_msg(lambda _widget, content, _buffers: self.hear(content))

        def hear(self, content: object) -> None:
            """Do what the page asks, and tell what came of it."""
            try:
                self._do(Asked.model_validate(content))
            except (ValueError, OSError) as error:
                self._tell(f"refused, nothing was written: {error}", False)
            finally:
                self.heard += 1

        def _do(self, asked: Asked) -> None:
            desk = self.desk
            if asked.act == "pick":
                if entries.stamp(desk.file) != self.seen.stamp:
                    self._see(look(desk))
                self.preview, self.shown = [], sentence(desk, self.seen, asked.id)
            elif asked.act == "preview":
                self.preview = []  # so that the same words, said again, are told again
                self.preview = preview(desk, self.seen, asked.id, asked.rules)
            else:
                try:
                    self._see(decide(desk, self.seen, asked))
                except DecisionError:
                    if entries.stamp(desk.file) != self.seen.stamp:
                        self._see(look(desk))
                    raise
                self.preview, self.shown = [], sentence(desk, self.seen, asked.id)
                self._tell(f"written to {desk.file.name}: this sentence is now {self.shown['cls']}", True)

        def _see(self, seen: Look) -> None:
            self.seen = seen
            self.rows, self.stale = document(self.desk, seen), stale(self.desk, seen)

        def _tell(self, text: str, good: bool) -> None:
            self.times += 1
            self.told = {"text": text, "good": good, "times": self.times}

    return Review
