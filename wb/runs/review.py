"""Reviewing a document in JupyterLab: its sentences, what blocks most first.

    review.open(source, found, decisions.place(…))

Shows what is open in groups of what is alike, what was set aside beside it, each sentence by its class, what was
understood of it, and what is decided.  What is shown is made here, as values, and laid out by the page (`show.page`);
what a person decides goes through the same checks as a file that is written by hand, and into the same file
(`rules.decisions`); then all is looked at again, and the calls of the person's own runs are
counted (`verdicts`).  In a run, where nobody clicks, the sentences are given as a table.
"""

from __future__ import annotations

import difflib
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

import pydantic

from wb.bench import recorded
from wb.bench.recorded import Judged
from wb.domain import events
from wb.domain.policy import Policy, pieces
from wb.domain.tools import Toolbox
from wb.logic import syntax
from wb.logic.wording import shortened
from wb.rules import check, decisions, entries, rulefile, sentences, template, understood
from wb.rules.decisions import DecisionError, Offer, Ruling
from wb.rules.extract import Extracted
from wb.rules.rule import Predicate, Rule, RuleSet, toolbox
from wb.rules.rulefile import Form
from wb.rules.sentences import Account
from wb.runs import show, store, verdicts
from wb.runs.cards import count
from wb.runs.show import laid_out, visible

CHECK_S = 5.0  # that the rules are looked at together after each decision
SLOW_S, TOLD_S = 2.0, 0.5  # from when on counting calls is told, and how often
Act = Literal["pick", "preview", "accept", "rule", "reject", "waive", "not a constraint", "take back"]
SEVERAL = ("waive", "not a constraint", "reject", "take back")  # that may be of several sentences at once
BEGINS, TITLE = 100, 50  # characters of a sentence, and of its title, in the list of what is to be decided
QUOTED = re.compile("'[^']*'|“[^”]*”")
KINDS = {"heading": "heading", "item": "list item", "cell": "table cell", "stem": "list opening", "gap": "part"}


@dataclass(frozen=True, slots=True)
class Desk:
    """What is reviewed: a policy, what was extracted from it, where a person's decisions stand, and recorded runs to be
    counted, where there are any."""

    policy: Policy
    found: Extracted
    file: Path
    runs: Path | None = None

    @property
    def known(self) -> tuple[Predicate, ...]:
        """The facts of the vocabulary that a rule may rest on."""
        return tuple(entry.predicate for entry in self.found.words.entries if entry.usable)


@dataclass(frozen=True, slots=True)
class Look:
    """The document as the decisions of the moment leave it; `stamp` tells the file that they were read from."""

    stamp: str
    made: tuple[Ruling, ...]
    stale: tuple[Ruling, ...]
    ruleset: RuleSet
    readings: tuple[Account, ...]
    offered: Mapping[str, Sequence[Offer]]

    def reading(self, name: str) -> Account:
        """The sentence of that id; `DecisionError` where there is none."""
        for one in self.readings:
            if one.id == name:
                return one
        raise DecisionError(f"the id of a sentence of the document was required; got {shortened(name, 40)!r}")


class Asked(Form):
    """What the page sends: an act, and the sentence that it is about, or several that are decided alike."""

    act: Act
    id: str
    also: list[str] = pydantic.Field(default=[], max_length=10_000)
    why: str = pydantic.Field(default="", max_length=10_000)
    choice: int = pydantic.Field(default=1, ge=1, le=3)
    rules: str = pydantic.Field(default="", max_length=100_000)


def look(desk: Desk) -> Look:
    """The document under the decisions that the file holds now; `DecisionError` tells the file's mistakes."""
    stamp = entries.stamp(desk.file)
    made, stale = sentences.settled(desk.policy, decisions.load(desk.file, desk.policy))
    classed = sentences.classify(desk.policy, desk.found, made)
    asked = check.questions(check.suspected(check.check(classed.ruleset, seconds=CHECK_S), classed.ruleset))
    accounts = sentences.questioned(classed.accounts, asked, made, desk.found.toolbox)
    offered = sentences.offered(desk.policy, desk.found, accounts)
    return Look(stamp, made, stale, classed.ruleset, accounts, offered)


def judged(desk: Desk, seen: Look, tell: Callable[[int, int], object] = lambda done, of: None) -> tuple[Judged, ...]:
    """The calls of the runs under the rules as they are decided; `tell` is told how many are done, and of how many.

    Raises:
        ValueError: the runs cannot be read, or have turns that name no tool.
    """
    happened = list(events.stream(desk.runs)) if desk.runs is not None else []
    of = sum(isinstance(event.what, events.Asked) for event in happened)
    found = []
    for one in recorded.judge(verdicts.recounting(desk.found.toolbox, seen.ruleset, seen.readings), happened):
        found.append(one)
        tell(len(found), of)
    return tuple(found)


def queue(desk: Desk, seen: Look, held: Mapping[str, int]) -> list[dict[str, object]]:
    """What is open and what was set aside, in groups of what is alike: of one class and kind, under one title and one
    opening, holding the same tools, with readings to choose from or without, naming facts or none.

    The open ones that block most come first: most calls (`held` by sentence), then most tools; of what was set aside
    those that name facts, for there a permission may hide a condition.
    """
    groups: dict[tuple, list[Account]] = {}
    for account, piece in zip(seen.readings, pieces(desk.policy), strict=True):
        if account.cls in ("open", "not a constraint", "waived"):
            facts = bool(template.facts(account, desk.policy.toolbox, desk.known))
            why = "" if account.cls == "open" else QUOTED.sub("…", account.reason)
            place = piece.kind, piece.headings, piece.stems
            key = account.cls, place, account.tools, facts, account.id in seen.offered, why
            groups.setdefault(key, []).append(account)
    rows = []
    for (cls, (kind, headings, _), tools, facts, offered, _), those in groups.items():
        calls = max(held.get(one.id, 0) for one in those)
        holds = [count(calls, "call")] * bool(calls) + [count(len(tools), "tool")] * bool(tools)
        under = visible(headings[-1]) if headings else ""
        about = (
            f"holds {' and '.join(holds) or 'nothing'}" if cls == "open" else cls,
            f"under “{shortened(under, TITLE)}”" if under else "",
            "names facts" if facts else "",
            "has readings to choose from" if offered else "",
        )
        rows.append(
            {
                "cls": cls,
                "title": count(len(those), KINDS.get(kind, "sentence")),
                "begins": shortened(visible(those[0].text), BEGINS),
                "about": "; ".join(filter(None, about)),
                "under": under,
                "tools": list(tools),
                "calls": calls,
                "facts": facts,
                "why": [visible(why) for why in dict.fromkeys(one.reason for one in those)],
                "sentences": [{"id": one.id, "text": visible(one.text)} for one in those],
            }
        )
    return sorted(rows, key=lambda row: (row["cls"] != "open", -row["calls"], -len(row["tools"]), not row["facts"]))


def document(desk: Desk, seen: Look) -> list[dict[str, object]]:
    """The sentences in the order of the document, each with its class and kind; `breaks` where a new line begins."""
    decided = {ruling.id for ruling in seen.made}
    rows = zip(seen.readings, laid_out(desk.policy), strict=True)
    return [{"id": one.id, "cls": one.cls, "decided": one.id in decided, **laid} for one, (_, laid) in rows]


def sentence(desk: Desk, seen: Look, name: str) -> dict[str, object]:
    """One sentence: its class and why, its rules as understood, what was decided, and a rule to begin with."""
    reading = seen.reading(name)
    own = [one for one in seen.ruleset.rules if one.id in reading.rules]
    decision = next((one for one in seen.made if one.id == name), None)
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
                "by": visible(one.by),
                "idle": visible(one.idle),
                "rules": [
                    rule(each, one.ruleset, toolbox(desk.found.toolbox, one.ruleset), False)
                    for each in one.ruleset.rules
                ],
            }
            for one in seen.offered.get(name, ())
        ],
        "decision": {"decision": decision.decision, "why": visible(decision.why or "")} if decision else None,
        "begin": _begin(decision, own, seen, reading, desk),
    }


def rule(one: Rule, ruleset: RuleSet, box: Toolbox, in_force: bool = True) -> dict[str, object]:
    """A rule as it was understood: in words and in LTLf, what tells it, a run that it denies and one that it allows."""
    runs = {"denied": understood.denied(one, ruleset, box), "allowed": understood.allowed(one, ruleset, box)}
    return {
        "id": one.id,
        "in_force": in_force,
        "words": visible(understood.words(one, ruleset)),
        "formula": syntax.render(one.formula),
        "told": [[name, visible(told)] for name, told in understood.bound(one, ruleset, box)],
        **{name: {"steps": list(map(visible, run.steps)), "reason": run.reason} for name, run in runs.items()},
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
    """Write what a person decided into the file, an entry for each sentence, and look again.

    Raises:
        DecisionError: it is no decision, or the file was changed since it was looked at; nothing is written.
    """
    those = [seen.reading(name) for name in dict.fromkeys((asked.id, *asked.also))]
    if len(those) > 1 and asked.act not in SEVERAL:
        raise DecisionError(f"one sentence was required for {asked.act!r}; got {len(those)}")
    why, rules = asked.why.strip(), asked.rules if asked.act == "rule" else ""
    decision: str | None = asked.act if asked.act != "take back" else None
    if asked.act == "accept":
        choices = seen.offered.get(asked.id, ())
        if len(choices) < asked.choice:
            raise DecisionError(f"one of {len(choices)} readings was required; got number {asked.choice}: write a rule")
        chosen = choices[asked.choice - 1]
        if chosen.idle:
            raise DecisionError(f"a reading that settles the sentence was required; it would stay open: {chosen.idle}")
        decision, why = "rule", why or f"{decisions.ACCEPTED} ({chosen.by})"
        rules = decisions.to_text(chosen.ruleset)
    made = [decisions.decide(one, decision, why, rules, desk.policy) for one in those]
    entries.save(desk.file, made, desk.policy, seen=seen.stamp)
    return look(desk)


def _begin(decision: Ruling | None, own: Sequence[Rule], seen: Look, reading: Account, desk: Desk) -> str:
    """What is offered to be edited: a person's rules as they wrote them, else those that were read, else a template."""
    if decision is not None and decision.rules:
        return _written(decision)
    if own:
        return decisions.to_text(RuleSet(seen.ruleset.predicates, tuple(own)).without_unused())
    if choices := seen.offered.get(reading.id):
        return decisions.to_text(choices[0].ruleset)
    return template.template(reading, desk.policy.toolbox, desk.known)


def _written(decision: Ruling) -> str:
    """A person's rules as text, "" where there are none."""
    if not decision.rules:
        return ""
    return rulefile.written(decision.model_dump(include={"predicates", "rules"}, exclude_defaults=True))


def open(policy: Policy, found: Extracted, file: Path, runs: str | Path = "") -> object:
    """The view of a document, to be clicked in JupyterLab; in a run, its sentences as a table.

    `file` is where the decisions stand; `runs` are recorded runs whose calls are counted after each decision, else
    the policy's own (`labelled.jsonl` beside it), where there are any.
    """
    beside = file.with_name(file.name.replace("decisions.yaml", "labelled.jsonl"))
    desk = Desk(policy, found, file, Path(runs) if runs else beside if beside.is_file() else None)
    return show.sentences(look(desk).readings) if os.environ.get(store.HANDED_OVER) else _page()(desk)


@lru_cache(maxsize=1)
def _page() -> type:
    """The widget that shows a desk in the page and hears what is done there."""
    import traitlets

    class Sentences(show.page()):
        """What is to be decided, the document, and beside it one of its sentences."""

        looks = staticmethod(look)
        of = traitlets.Unicode("sentences").tag(sync=True)
        preview = traitlets.List().tag(sync=True)
        queue = traitlets.List().tag(sync=True)
        counted = traitlets.Dict().tag(sync=True)
        held: Mapping[str, int] = {}  # calls, by open sentence
        seen: Look | None = None

        def do(self, content: object) -> None:
            asked = Asked.model_validate(content)
            if asked.act == "preview":
                self.preview = []  # so that the same words, said again, are told again
                self.preview = preview(self.desk, self.seen, asked.id, asked.rules)
                return
            self.take(asked, decide)
            self.preview, self.shown = [], sentence(self.desk, self.seen, asked.id)
            if asked.act != "pick":
                many = len({asked.id, *asked.also})
                what = "this sentence is" if many == 1 else f"{many} sentences are"
                self.tell(f"written to {self.desk.file.name}: {what} now {self.shown['cls']}", True)

        def see(self, seen: Look) -> None:
            again, self.seen = self.seen is None or self.seen.stamp != seen.stamp, seen
            self.rows, self.stale = document(self.desk, seen), stale(self.desk, seen)
            if again:
                self.count()
            self.queue = queue(self.desk, seen, self.held)

        def count(self) -> None:
            """Count the calls of the runs again, and tell how far it is where that takes long."""
            if self.desk.runs is None:
                return
            begun, before = time.monotonic(), self.counted.get("words", "")

            def tell(done: int, of: int) -> None:
                nonlocal begun
                if time.monotonic() - begun > SLOW_S:
                    begun += TOLD_S
                    self.counted = {"words": f"counting: {done} of {of} calls", "before": before}

            try:
                found = judged(self.desk, self.seen, tell)
                self.held, words = verdicts.held(found), verdicts.words(verdicts.tally(found))
            except (ValueError, OSError) as error:
                self.held, words = Counter(), f"not counted: {error}"
            self.counted = {"words": words, "before": before if before != words else ""}

    return Sentences
