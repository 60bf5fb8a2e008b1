"""Judges: what a sentence says of the very run on which readings part, and whether what readers agree on is all of it.

Two readings that are not the same allow different runs, and a shortest such run is known (`agreement`).  Whether a
sentence forbids one concrete step is a smaller question than what the sentence means, and it is asked of judges who
see neither reading (`settled`).  A reading that all judges contradict on a run is out; if what is left says one thing,
a reader and the judges agree on it.  A judge that is not sure settles nothing.  (Distinguishing inputs, as in the
oracle-guided synthesis of Jha et al., ICSE 2010; the scenarios of arXiv 2511.09008.)

What two readers leave out alike no comparison shows.  So judges see what is agreed beside its sentence (`doubted`), and
where all of them say that it leaves out or changes something the sentence is open again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

import pydantic

from wb.logic import cel, facts
from wb.logic import formula as f
from wb.logic.decide import Word
from wb.logic.formula import Formula
from wb.logic.semantics import holds
from wb.logic.syntax import render
from wb.models.ledger import Unanswered
from wb.rules import agreement, binding, readers
from wb.rules.agreement import Agreement
from wb.rules.readers import Reading
from wb.rules.vocabulary import Vocabulary

if TYPE_CHECKING:
    from wb.domain.policy import Policy
    from wb.models.client import LLM

AGREED = "agreed"
ROUNDS = 2  # runs that are judged of one sentence: enough for three readings that all differ
BATCH = 24  # runs, or statements with their rules, a question


class Judged(pydantic.BaseModel):
    """What a judge says of the last step of a run, by one statement alone."""

    id: str
    verdict: Literal["forbidden", "allowed", "unclear"]
    reason: str = ""


class Verdicts(pydantic.BaseModel):
    """The reply to `judge_runs`."""

    runs: list[Judged]


class Doubt(pydantic.BaseModel):
    """What a judge says of the rules of one statement: whether they say all of it, and what is wrong."""

    id: str
    verdict: Literal["complete", "leaves out", "says otherwise", "adds"]
    problem: str = ""


class Doubts(pydantic.BaseModel):
    """The reply to `judge_rules`."""

    statements: list[Doubt]


@dataclass(frozen=True, slots=True)
class _Open:
    """A sentence on which readings differ: those that no run has ruled out, and how many runs were judged."""

    readings: Mapping[int, Reading]
    runs: int = 0
    reason: str = ""


def settled(
    policy: Policy,
    vocabulary: Vocabulary,
    by: Sequence[Mapping[str, Reading]],
    found: Mapping[str, Agreement],
    judges: Sequence[LLM],
    bound: Mapping[str, Mapping[str, object]] = MappingProxyType({}),
) -> dict[str, Agreement]:
    """The agreements, with those sentences settled on which readings differ and all judges rule out all but one.

    `by` has the readings of each reader by statement, in the order of `Agreement.by`; `bound` what may bind each.

    Raises:
        ModelError: a request failed in a way that all further ones would.
    """
    rows = {str(row["id"]): row for row in readers.statements(policy)}
    usable = {
        name: {k: one[name] for k, one in enumerate(by) if name in one and not agreement.problem(one[name], vocabulary)}
        for name, settled in found.items()
        if settled.outcome == "differ"
    }
    left = {name: _Open(readings) for name, readings in usable.items() if len(readings) > 1}
    for _ in range(ROUNDS):
        runs = {name: run for name, one in left.items() if (run := _apart(one, vocabulary)) is not None}
        if not runs:
            break
        heard = _judged(rows, runs, left, vocabulary, judges, bound)
        left |= {name: _without(left[name], runs[name], heard[name], vocabulary) for name in runs}
    return dict(found) | {name: _agreed(one, found[name], vocabulary) for name, one in left.items() if one.runs}


def _apart(one: _Open, vocabulary: Vocabulary) -> Word | None:
    """A run on which two of the readings part; None where all say the same, none is left or a judge was not sure."""
    first, *rest = one.readings.values() if one.readings and not one.reason else (None,)
    for other in rest:
        if (run := agreement.compare(first, other, vocabulary).apart) is not None:
            return agreement.plainer(first, other, vocabulary) or run
    return None


def _told(run: Word, formulas: Sequence[Formula], vocabulary: Vocabulary) -> list[str]:
    """A run by the descriptions of what is done and of what holds, a text for each step."""
    atoms = dict.fromkeys(name for one in formulas for copy in agreement.copies(one) for name in f.atoms(copy))
    found = []
    for number, step in enumerate(run, 1):
        parts: dict[str, list[str]] = {"done": [], "so": [], "not so": []}
        for atom in map(f.Atom, atoms):
            entry = vocabulary.entry(atom.predicate)
            text = entry.predicate.description or atom.predicate.replace("_", " ")
            text += f" (of thing {' and '.join(atom.objects)})" * bool(atom.objects)
            if entry.predicate.kind == "state":
                parts["so" if atom.name in step else "not so"].append(text)
            elif atom.name in step:
                parts["done"].append(f"{text} [{', '.join(entry.predicate.tools) or entry.does}]")
        parts["done"] = parts["done"] or ["nothing that the statement may speak of"]
        found.append(
            f"step {number}: " + "; ".join(f"{key}: {' | '.join(some)}" for key, some in parts.items() if some)
        )
    return found


def _judged(
    rows: Mapping[str, Mapping[str, object]],
    runs: Mapping[str, Word],
    left: Mapping[str, _Open],
    vocabulary: Vocabulary,
    judges: Sequence[LLM],
    bound: Mapping[str, Mapping[str, object]],
) -> dict[str, str]:
    """The verdict that all judges share on the last step of each run; "unclear" where they do not."""
    asked = []
    for name, run in runs.items():
        guarding = [agreement.guarding(one.formulas, vocabulary) for one in left[name].readings.values()]
        asked.append({**rows[name], "run": _told(run, [one for some in guarding for one in some], vocabulary)})
    document = [f"{row['id']}: {row['text']}" for row in rows.values()]
    groups = readers.batches(asked, bound, BATCH)
    votes: dict[str, set[str]] = {name: set() for name in runs}
    for turn, judge in enumerate(judges):
        batch = [
            {
                "document": readers.around(document, group.rows),
                "runs": group.rows[:: -1 if turn % 2 else 1],
                "bound": group.bound,
            }
            for group in groups
        ]
        for group, reply in zip(groups, judge.ask_all("judge_runs", Verdicts, batch), strict=True):
            said = {} if isinstance(reply, Unanswered) else {one.id: one.verdict for one in reply.runs}
            for name in group.names:
                votes[name].add(said.get(name, "unclear"))
    return {name: some.pop() if len(some) == 1 else "unclear" for name, some in votes.items()}


def _allows(formulas: Sequence[Formula], run: Word) -> bool:
    return all(holds(copy, run) for formula in formulas for copy in agreement.copies(formula))


def _without(one: _Open, run: Word, verdict: str, vocabulary: Vocabulary) -> _Open:
    """The sentence without the readings that decide the run otherwise."""
    if verdict == "unclear":
        return replace(one, runs=one.runs + 1, reason="judges were not sure, or not of one mind, about the run")
    kept = {
        k: reading
        for k, reading in one.readings.items()
        if _allows(agreement.guarding(reading.formulas, vocabulary), run) is (verdict == "allowed")
    }
    return _Open(kept, one.runs + 1, "" if kept else "the judges decide a run otherwise than every reading")


def _agreed(one: _Open, before: Agreement, vocabulary: Vocabulary) -> Agreement:
    """What is left of a sentence after its runs were judged."""
    if one.reason or not one.readings or _apart(one, vocabulary) is not None:
        return replace(before, reason=f"{before.reason}; {one.reason}" if one.reason else before.reason)
    first, *rest = one.readings.values()
    if any(agreement.compare(first, other, vocabulary).outcome != "agreed" for other in rest):
        return before
    formulas = agreement.guarding(first.formulas, vocabulary)
    bounded = any(f.variables(formula) for formula in formulas)
    return Agreement("agreed", formulas, tuple(sorted(one.readings)), before.readings, bounded, judged=one.runs)


# ---- whether what is agreed is all that a sentence says --------------------------------------------------------------


def doubted(
    policy: Policy,
    vocabulary: Vocabulary,
    found: Mapping[str, Agreement],
    judges: Sequence[LLM],
    bound: Mapping[str, Mapping[str, object]] = MappingProxyType({}),
) -> dict[str, Agreement]:
    """The agreements, with those open again of which all judges say that they are not what the sentence says.

    Raises:
        ModelError: a request failed in a way that all further ones would.
    """
    rows = readers.statements(policy)
    asked = [
        {**row, "rules": _rules(found[name].formulas, vocabulary)}
        for row in rows
        if (name := str(row["id"])) in found and found[name].outcome == AGREED and row.get("kind") != "title"
    ]
    document = [f"{row['id']}: {row['text']}" for row in rows]
    groups = readers.batches(asked, bound, BATCH)
    problems: dict[str, list[str]] = {str(row["id"]): [] for row in asked}
    for turn, judge in enumerate(judges):
        batch = [
            {
                **_names(group.rows, found, vocabulary),
                "document": readers.around(document, group.rows),
                "statements": group.rows[:: -1 if turn % 2 else 1],
                "bound": group.bound,
            }
            for group in groups
        ]
        for group, reply in zip(groups, judge.ask_all("judge_rules", Doubts, batch), strict=True):
            said = {} if isinstance(reply, Unanswered) else {one.id: one for one in reply.statements}
            for name in group.names:
                one = said.get(name)
                if one is not None and one.verdict != "complete":
                    problems[one.id].append(f"{one.verdict}: {one.problem}")
    reopened = {name: said for name, said in problems.items() if judges and len(said) == len(judges)}
    return dict(found) | {
        name: replace(found[name], outcome="doubted", by=(), reason=f"judges say that it {said[0]}")
        for name, said in reopened.items()
    }


def _rules(formulas: Sequence[Formula], vocabulary: Vocabulary) -> list[str]:
    return [render(one) for one in formulas] or ["(nothing that a tool does is forbidden by this statement)"]


def _names(
    group: Sequence[Mapping[str, object]], found: Mapping[str, Agreement], vocabulary: Vocabulary
) -> dict[str, object]:
    """What the names in the rules of some statements say and by what they are told, and which acts there are beside."""
    used = {name for row in group for one in found[str(row["id"])].formulas for name in f.predicates(one)}
    rows = vocabulary.rows()
    told = [{**row, **_told_by(str(row["name"]), vocabulary)} for row in rows["facts"] if row["name"] in used]
    return {"acts": rows["acts"], "facts": told}


def _told_by(name: str, vocabulary: Vocabulary) -> dict[str, object]:
    """The tests of a fact, or its question, and what the fields that they read are."""
    entry = vocabulary.entry(name)
    if entry.predicate.question:
        return {"question": entry.predicate.question}
    bindings = [one for one in (entry.predicate, *entry.others) if one.test is not None]
    read = {}
    for one in bindings:
        for path in facts.paths(one.test):
            tool = one.tools[0] if one.tools else ""
            with suppress(ValueError):  # another name than a field's: the test alone tells
                read[".".join(path.names[:2])] = binding.field(path, tool, vocabulary.toolbox).description
    return {"tests": [cel.render(one.test) for one in bindings], "fields": read}
