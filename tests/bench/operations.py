"""What is asked by the loop of operations beside asking all that a tool's rules read, on recorded calls.

    python tests/bench/operations.py

Recorded runs are followed live: what a recording holds of lookups and answers is given only to whoever asks for it.
The airline's runs hold both (rules by hand with its lookups; blind readings with its answers).  Of the office and of
the web tasks each state field becomes a lookup of its own, and calls are those of the recorded runs, or of the turns
that are recognised for sure.  Each row: calls, operations by asking all and by the loop, decisions that differ (none
may), and denials that name fewer broken rules.  Rows *remembered*: every other run that is allowed throughout is kept
as a workflow; on the rest, operations without and with that memory.
"""

from __future__ import annotations

# ruff: noqa: E402
import contextlib
import io
import json
import runpy
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1])]

from bench import airline, airline_readings
from bench.readings import Mode

from wb.bench import mind2web, world
from wb.domain import answers, events, tools
from wb.domain import policy as documents
from wb.domain.events import Answer, Asked, Event, Lookup, Result, Say, State, recognise
from wb.domain.judging import Judge
from wb.domain.session import Session
from wb.domain.tools import Toolbox
from wb.domain.trace import Call, Verdict
from wb.domain.workflows import Workflows
from wb.models.client import LLM
from wb.models.embeddings import Encoder
from wb.offline import reader
from wb.offline.engine import Offline
from wb.rules import decisions, sentences
from wb.rules.rule import RuleSet
from wb.shield import circuit
from wb.shield.shield import Shield

ROOT = Path(__file__).parents[2]
PASSES = "time_passes"  # a tool after which what was looked up before is looked up again


@dataclass
class Told:
    """What a recording holds for the next call, given to whoever asks, and how often who was asked."""

    held: dict[str, object]
    asked: Counter[str]

    def ask(self, tool: str, arguments: dict) -> object:
        self.asked["search"] += 1
        return self.held[f"{tool} {json.dumps(arguments, sort_keys=True)}"]

    def answer(self, question: answers.Question) -> answers.Answer:
        self.asked["binary-check"] += 1
        found = self.held.get(question.field)
        return found if found is not None else answers.Answer(None, reason="nothing settles it", by="recorded")


def follow(judge: Judge, happened: Iterable[Event], **options: object) -> tuple[list[Verdict], Counter[str]]:
    """The verdicts on the calls of one run, and what was asked for them."""
    told, verdicts, now = Told({}, Counter()), [], [None]
    session = Session(judge, ask=told.ask, answer=told.answer, clock=lambda: now[0], **options)
    for event in happened:
        now[0] = event.time
        match event.what:
            case Say(role, text):
                session.say(role, text)
            case State(values):
                session.state(values)
            case Lookup(tool, arguments, value):
                told.held[f"{tool} {json.dumps(arguments, sort_keys=True)}"] = value
            case Answer(field, value, quotation, by):
                told.held[field] = answers.Answer(value, quotation, by=by)
            case Asked(call, _, call_id):
                verdict = session.call(call.tool, call.arguments, event.step, call_id=call_id)
                verdicts += [verdict] * (call.tool != PASSES)
                told.held = {}
            case Result(value, failed, call_id):
                session.result(value, call_id, failed)
    return verdicts, told.asked


def beside(judge: Judge, runs: Iterable[Iterable[Event]]) -> dict[str, object]:
    """One row: the loop beside asking all."""
    row: Counter[str] = Counter()
    decided: Counter[str] = Counter()
    for run in map(tuple, runs):
        (loop, asked), (whole, everything) = follow(judge, run), follow(judge, run, ask_all=True)
        for one, other in zip(loop, whole, strict=True):
            row["calls"] += 1
            row["decisions that differ"] += one.decision != other.decision
            row["denials that name fewer rules"] += set(one.violated) < set(other.violated)
            decided[one.decision] += 1
        row.update({f"{kind}, all": n for kind, n in everything.items()})
        row.update({f"{kind}, loop": n for kind, n in asked.items()})
    return {**dict(sorted(row.items())), "decided": dict(sorted(decided.items()))}


def remembered(judge: Judge, runs: Iterable[Iterable[Event]], place: Path) -> dict[str, int]:
    """One row: with the workflows of every other run, where all its calls are allowed, beside none, on the rest."""
    runs, kept, row = [tuple(run) for run in runs], Workflows(place), Counter()
    for run in runs[::2]:
        record = io.StringIO()
        follow(judge, run, record=record)
        with contextlib.suppress(ValueError):  # a call of it is not allowed
            (made,) = events.loads(record.getvalue())
            row["calls kept"] += kept.keep(judge, made.events, "done")
    for run in runs[1::2]:
        (plain, asked), (ordered, again) = follow(judge, run), follow(judge, run, memory=kept)
        row["calls"] += len(plain)
        row["decisions that differ"] += sum(a.decision != b.decision for a, b in zip(plain, ordered, strict=True))
        row["operations"] += asked.total()
        row["with memory"] += again.total()
    return dict(row)


def scripted(name: str, noise: float) -> tuple[Judge, list[tuple[Event, ...]]]:
    """A scripted environment whose state fields are lookups, and its rules as given."""
    box, _ = hidden(name, read=False)
    folder = ROOT / "policies" / name
    given = decisions.own(decisions.load(decisions.place(folder), documents.load(folder)), box)
    oracle = runpy.run_path(str(ROOT / "tests" / "oracles" / f"{name}.py"))["violated"]
    made = world.runs(folder, oracle, seed=3, size=80, noise=noise)
    return shield(box, given), [tuple(looked_up(happened)) for _, happened in made]


def hidden(name: str, read: bool = True) -> tuple[Toolbox, RuleSet]:
    """A policy whose state fields are lookups, and the rules that the offline engine reads."""
    source = documents.load(ROOT / "policies" / name)
    rows = json.loads((ROOT / "policies" / name / "tools.json").read_text("utf-8"))
    rows["tools"].append({"name": PASSES, "mutating": True})
    for field in rows["state"]:
        rows["tools"].append({"name": f"read_{field['name']}", "mutating": False})
        field["from"] = {"lookup": f"read_{field['name']}", "changed_by": [PASSES]}
    ruleset = sentences.classify(source, reader.extracted(source)).ruleset if read else RuleSet()
    return tools.parse(json.dumps(rows)), ruleset


def looked_up(happened: Iterable[Event]) -> Iterator[Event]:
    """The events of a run, in which the state is what lookups before each call would give."""
    known: dict[str, object] = {}
    for event in happened:
        if isinstance(event.what, State):
            known = dict(event.what.values)
            yield from (Event(event.run, Asked(Call(PASSES, {}))), Event(event.run, Result(None)))
            continue
        if isinstance(event.what, Asked):
            yield from (Event(event.run, Lookup(f"read_{name}", {}, value)) for name, value in known.items())
        yield event


def recognised() -> Iterator[tuple[Event, ...]]:
    """The turns of the web tasks that are surely calls, each a run of its own."""
    source = documents.load(ROOT / "policies" / "web_tasks")
    cases = mind2web.of_policy("web_tasks", "all").cases
    seen = [case.observation for case in cases]
    each = recognise(seen, source.toolbox, LLM(Offline(source.toolbox, Encoder())))
    for case, found in zip(cases, each, strict=True):
        if found.sure:
            for call in found.steps[0].calls:
                told = Event(case.id, State(dict(case.observation.state)))
                yield tuple(looked_up((told, Event(case.id, Asked(call)))))


def shield(box: Toolbox, ruleset: RuleSet) -> Shield:
    """A shield over the rules, each in the circuits of the actions that it names."""
    acts = [one.name for one in ruleset.predicates if one.kind == "action"]
    guardable = [rule for rule in ruleset.rules if rule.modality != "oblige"]  # a duty decides nothing before a call
    mention = {act: tuple(rule.id for rule in guardable if act in rule.predicates) for act in acts}
    circuits = circuit.build(ruleset, {act: rules for act, rules in mention.items() if rules})
    return Shield(ruleset.predicates, circuits, toolbox=box)


def rows() -> Iterator[tuple[str, dict[str, object]]]:
    box, ruleset = airline.toolbox(), airline.rules_of(*airline.BOTH)
    events_of = [run.events for run in airline.runs()]
    yield "airline, rules by hand, guards", beside(airline.guard(*airline.BOTH), events_of)
    yield "airline, rules by hand, shield", beside(shield(box, ruleset), events_of)
    judge, _ = airline_readings.guard(airline_readings.extracted(Mode("", 3)), consent=True)
    yield "airline, blind readings, guards", beside(judge, map(airline_readings.told, airline.runs()))
    for name in ("office", "web_tasks"):
        box, ruleset = hidden(name)
        read = events.read(ROOT / "policies" / name / "labelled.jsonl") if name == "office" else ()
        followed = [tuple(looked_up(run.events)) for run in read] or list(recognised())
        for judge in (airline.guarded("guards", box, ruleset), shield(box, ruleset)):
            yield f"{name}, {judge.name}", beside(judge, followed)
            with tempfile.TemporaryDirectory() as place:
                yield f"{name}, {judge.name}, remembered", remembered(judge, followed, Path(place) / "kept.sqlite")
    for name, noise in product(("code_hosting", "shopping"), (0.0, 0.1)):
        with tempfile.TemporaryDirectory() as place:
            row = remembered(*scripted(name, noise), Path(place) / "kept.sqlite")
        yield f"{name}, rules as given, noise {noise}, remembered", row


def main() -> None:
    for title, row in rows():
        print(f"{title}: {row}", flush=True)


if __name__ == "__main__":
    main()
