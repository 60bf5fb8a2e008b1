"""τ-bench's airline from its document alone: what blind readers agree on, on the strict recorded calls.

    python tests/bench/airline_readings.py [--calls]

No rule is written by hand.  Replies of writers, readers and judges, and what was answered about the conversations, are
recorded in `tests/fixtures/readings/airline`; who gave them saw neither labels nor this project.  The labels leave out
whether the user agreed, so the sentence on that is left out of the first table (`CONSENT`, chosen before any reading)
and has one of its own.  `--calls` tells of each call that is not decided as labelled why.
"""

from __future__ import annotations

# ruff: noqa: E402
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1])]

from bench import airline, read_airline, readings
from bench.readings import Mode

from wb.bench import recorded
from wb.domain import policy as documents
from wb.domain.events import Answer, Asked, Event, Run
from wb.domain.policy import Policy
from wb.domain.trace import Verdict
from wb.guards.runtime import CallGuard
from wb.rules import sentences
from wb.rules.extract import Extracted
from wb.rules.rule import RuleSet, toolbox
from wb.rules.sentences import Account

FOLDER = Path(__file__).parents[1] / "fixtures" / "readings" / "airline"
CONSENT = "explicit user confirmation"


@dataclass(frozen=True)
class Row:
    """A strict call, whether the labels want it denied, and what the guard says."""

    id: str
    denied: bool
    verdict: Verdict


@cache
def policy() -> Policy:
    """The benchmark's policy with its tools, and the state fields of `tools.json`."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "airline"
        folder.mkdir()
        for name, source in (("policy.md", read_airline.POLICY), ("tools.json", FOLDER)):
            (folder / name).write_text((source / name).read_text("utf-8"), "utf-8")
        return documents.load(folder)


@cache
def extracted(mode: Mode) -> Extracted:
    """What the readers come to."""
    return readings.extracted(readings.Text("airline", policy(), (), {}, FOLDER / "replies.jsonl"), mode)


def guard(
    found: Extracted, *, consent: bool = False, open: bool = True, labelled: bool = False
) -> tuple[CallGuard, Sequence[Account]]:
    """Guards of what is in force, held by open sentences or not, with or without the sentence on consent; `labelled`:
    without what the labels do not look at (`waived.yaml`, which is older than any reading)."""
    accounts, ruleset = sentences.classify(policy(), found)
    left = [_flat(row["text"]) for row in airline.waived()] if labelled else []
    kept = [row for row in accounts if consent or CONSENT not in row.text]
    kept = [row for row in kept if not any(one in _flat(row.text) or _flat(row.text) in one for one in left)]
    rules = {name for row in kept for name in row.rules}
    some = RuleSet(ruleset.predicates, tuple(rule for rule in ruleset.rules if rule.id in rules)).without_unused()
    judge = airline.guarded("airline", toolbox(found.toolbox, some), some)
    return (replace(judge, open=sentences.open_on(kept)) if open else judge), kept


def _flat(text: str) -> str:
    return " ".join(text.lower().split()).strip(" .:")


@cache
def answers() -> Mapping[str, Sequence[Answer]]:
    """What was answered about the conversation before each strict call, by the call's id."""
    found: dict[str, list[Answer]] = {}
    for line in (FOLDER / "answers.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        if row["value"] is not None:
            made = Answer(row["field"], row["value"], row["quotation"], "answerer")
            found.setdefault(row["id"], []).append(made)
    return found


def told(run: Run) -> tuple[Event, ...]:
    """The events of a run with what was answered before each strict call."""
    made: list[Event] = []
    for event in run.events:
        if isinstance(event.what, Asked):
            made += [replace(event, what=one) for one in answers().get(str(event.what.call_id), ())]
        made.append(event)
    return tuple(made)


def judged(judge: CallGuard, *, answered: bool = True) -> Iterator[Row]:
    """The verdicts on the strict calls; without `answered` nobody is asked about a conversation."""
    strict = airline.labels()
    for run in airline.runs():
        ids = iter([event.what.call_id for event in run.events if isinstance(event.what, Asked)])
        for one in recorded.judge(judge, told(run) if answered else run.events):
            if (row := strict.get(next(ids))) is not None:
                yield Row(row["id"], row["label"] == "violating", one.verdict)


def counted(rows: Sequence[Row]) -> dict[str, int]:
    """How many violating and compliant calls are decided how."""
    return dict(
        sorted(Counter(f"{'violating' if r.denied else 'compliant'} {r.verdict.decision}" for r in rows).items())
    )


ROWS: tuple[tuple[str, Mode, dict[str, bool], bool], ...] = (
    ("agreed, two readers alone", Mode("", 2, judged=False), {}, True),
    ("agreed", Mode("", 3), {}, True),
    ("agreed, open sentences not counted", Mode("", 3), {"open": False}, True),
    ("agreed, of what the labels look at", Mode("", 3), {"labelled": True}, True),
    ("assumed", Mode("", 3, "assumed"), {}, True),
    ("assumed, of what the labels look at", Mode("", 3, "assumed"), {"labelled": True}, True),
    ("read", Mode("", 2, "read", judged=False), {}, True),
    ("person (nobody decides)", Mode("", 3, "person"), {}, True),
    ("agreed, nobody asked at run time", Mode("", 3), {}, False),
    ("agreed, with consent", Mode("", 3), {"consent": True}, True),
)


def main() -> None:
    for title, mode, options, answered in ROWS:
        judge, accounts = guard(extracted(mode), **options)
        rows = tuple(judged(judge, answered=answered))
        print(f"{title}: {counted(rows)}; sentences {sentences.counted(accounts)}", flush=True)
        if "--calls" in sys.argv and title == "agreed":
            for row in rows:
                if row.verdict.decision != ("deny" if row.denied else "allow"):
                    label = "violating" if row.denied else "compliant"
                    print(f"    {row.id} {label}: {row.verdict.decision}: {row.verdict.reason}")
            for one in accounts:
                if one.cls == "open":
                    print(f"    open {one.id} holds {one.tools}: {one.text[:90]!r}: {one.reason[:200]}")


if __name__ == "__main__":
    main()
