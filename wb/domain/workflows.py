"""What is kept of conversations that ended well: which operations were useful, and what was answered.

ShieldAgent's long-term memory of workflows (Section 3.3, Algorithm 1 line 4): one SQLite table, a row a call, by the
action's tool and the evidence that judges it (the digest of its rules: another version of the policy has no rows yet).
Of operations that cost the same those come first that were seldom asked in vain, and who answers a question is shown
which words once answered it.  No value of the state is kept, and nothing here makes a verdict.  What one session has
looked up or was answered, its short-term memory, ends with it.

    memory = Workflows("workflows.sqlite")
    session = guards.session(memory=memory, record="run.jsonl", answer=answers.about(llm, memory.examples(judge)))
    memory.keep(judge, events.stream("run.jsonl"), outcome="the loan was paid back")
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from wb.domain.answers import Question
from wb.domain.events import Answer, Asked, Event, Lookup, Lost
from wb.domain.session import Session

if TYPE_CHECKING:
    from wb.domain.judging import Judge
    from wb.models.embeddings import Encoder

NEWEST = 256  # workflows of one action that are read
SHOWN = 3  # examples of a question
TABLE = """CREATE TABLE IF NOT EXISTS workflows
    (evidence TEXT, tool TEXT, operations TEXT, answers TEXT, outcome TEXT, kept REAL)"""
READ = "SELECT operations, answers FROM workflows WHERE evidence = ? AND tool = ? ORDER BY kept DESC LIMIT ?"


class Workflows:
    """Workflows in a file, shared by sessions of any process; without an `encoder` the newest examples are nearest."""

    def __init__(self, place: str | Path, encoder: Encoder | None = None) -> None:
        self.place, self.encoder = place, encoder
        with closing(sqlite3.connect(place)) as table, table:
            table.execute(TABLE)

    def keep(self, judge: Judge, happened: Iterable[Event], outcome: str) -> int:
        """Keep the calls of one recorded conversation that ended well, as somebody who is not the agent says.

        Returns:
            How many calls were kept: those that something was asked for.

        Raises:
            ValueError: no outcome is said, the record lost something, or a call of it is not allowed.
            SessionError: it is no record of one session.
        """
        run = tuple(happened)
        if not outcome.strip():
            raise ValueError("what came of the conversation was required, in words; got nothing")
        if lost := next((event.what.why for event in run if isinstance(event.what, Lost)), ""):
            raise ValueError(f"a conversation of which all is known was required; got one that lost it: {lost}")
        verdicts = iter(Session(judge).replay(run))
        rows, asked = [], []
        for end, event in enumerate(run, 1):
            if isinstance(event.what, Lookup | Answer):
                asked.append(event)
            elif isinstance(event.what, Asked):
                tool, verdict = event.what.call.tool, next(verdicts)
                if verdict.decision != "allow":
                    raise ValueError(f"calls that are all allowed were required; got {tool}, {verdict.decision}")
                if asked and (evidence := judge.evidence(tool)):
                    needed = [[_named(one), _needed(judge, run[:end], one)] for one in asked]
                    said = [one.what for one in asked if isinstance(one.what, Answer) and one.what.quotation]
                    told = [[one.field, one.quotation, one.value] for one in said]
                    rows.append((evidence, tool, json.dumps(needed), json.dumps(told), outcome, time.time()))
                asked = []
        with closing(sqlite3.connect(self.place)) as table, table:
            table.executemany("INSERT INTO workflows VALUES (?, ?, ?, ?, ?, ?)", rows)
        return len(rows)

    def _read(self, judge: Judge, tool: str) -> list[tuple[list[list], list[list]]]:
        """What was asked and answered in kept workflows, newest first; nothing where the file cannot be read."""
        try:
            with closing(sqlite3.connect(self.place)) as table:
                rows = table.execute(READ, (judge.evidence(tool), tool, NEWEST)).fetchall()
            return [(json.loads(needed), json.loads(told)) for needed, told in rows]
        except (sqlite3.Error, ValueError):
            return []

    def order(self, judge: Judge, tool: str) -> Mapping[str, float]:
        """How often, 0..1, a call of the tool would not have been decided without what was asked, by its name."""
        found: dict[str, list[bool]] = {}
        for needed, _ in self._read(judge, tool):
            for name, one in needed:
                found.setdefault(name, []).append(one)
        return {name: sum(each) / len(each) for name, each in found.items()}

    def examples(self, judge: Judge) -> Callable[[Question], list[dict[str, object]]]:
        """What shows words that answered a question in kept workflows, those nearest to what was said last first."""

        def found(question: Question) -> list[dict[str, object]]:
            tool = question.call.tool if question.call is not None else ""
            kept = [row for _, told in self._read(judge, tool) for row in told if row[0] == question.field]
            rows = list({json.dumps(row[1:]): {"words": row[1], "value": row[2]} for row in kept}.values())
            last = next((text for who, text in reversed(question.texts) if who in question.of), "")
            if self.encoder is not None and rows and last:
                near = self.encoder.similarity([last], [str(row["words"]) for row in rows])[0]
                rows = [rows[k] for k in sorted(range(len(rows)), key=lambda k: -near[k])]
            return rows[:SHOWN]

        return found


def _named(asked: Event) -> str:
    """The tool that was asked, or the field."""
    return asked.what.tool if isinstance(asked.what, Lookup) else asked.what.field


def _needed(judge: Judge, run: Sequence[Event], asked: Event) -> bool:
    """Whether the last call of a run is not allowed without what was asked."""
    return Session(judge).replay(one for one in run if one is not asked)[-1].decision != "allow"
