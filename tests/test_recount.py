"""Recorded calls under rules as they stand: decided as the guards of a run decide them, and counted by label."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st

from wb.bench import recorded
from wb.bench.recorded import Judged
from wb.domain import events
from wb.domain import policy as documents
from wb.domain.trace import Verdict
from wb.guards import contract
from wb.offline import reader
from wb.rules import decisions, sentences
from wb.runs import verdicts

VERDICTS = {
    "allow": Verdict("allow", "no rule against it"),
    "deny": Verdict("deny", "it breaks r", ("r",)),
    "undecided": Verdict("undecided", "one sentence is open", open=("s1", "s2")),
}
calls = st.lists(st.tuples(st.sampled_from(["allow", "deny", None]), st.sampled_from(list(VERDICTS))))


@given(calls)
def test_a_tally_counts_each_call_once(made: list[tuple[str | None, str]]) -> None:
    judged = [Judged("a", k, "pay", label, VERDICTS[decision]) for k, (label, decision) in enumerate(made)]
    tally = verdicts.tally(judged)
    for label in ("allow", "deny"):
        assert verdicts.total(tally, label) == sum(of == label for of, _ in made)
        for decision in VERDICTS:
            assert tally[label, decision] == made.count((label, decision))
    words = verdicts.words(tally)
    labelled = [decision for label, decision in made if label is not None]
    first = f"{labelled.count('undecided')} of {len(labelled)} labelled calls undecided; of "
    nobody = f"{made.count((None, 'undecided'))} of {len(made)} calls undecided, none of them labelled"
    assert words.startswith(first) if labelled else words == nobody
    waiting = sum(decision == "undecided" for _, decision in made)
    assert verdicts.held(judged) == ({"s1": waiting, "s2": waiting} if waiting else {})


SWIM = """# Boats

Never rent a boat to a visitor who cannot swim. A boat must not be rented to a visitor under 12. Painting is art.
"""
TOOLS = {
    "tools": [
        {"name": "rent_boat", "description": "Rent a boat.", "keywords": ["rent a boat"]},
        {"name": "paint_boat", "description": "Paint a boat.", "keywords": ["paint a boat"]},
    ],
    "state": [
        {"name": "can_swim", "type": "boolean", "description": "the visitor can swim", "keywords": ["swim"]},
        {"name": "age", "type": "integer", "description": "age of the visitor"},
    ],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "policy.md").write_text(SWIM, "utf-8")
    (tmp_path / "tools.json").write_text(json.dumps(TOOLS), "utf-8")
    return tmp_path


def judged(folder: Path, *states: dict[str, object]) -> list[str]:
    """What is said of renting a boat in each state, under the decisions of the folder."""
    source = documents.load(folder)
    found = reader.extracted(source)
    made, _ = sentences.settled(source, decisions.load(decisions.place(folder), source))
    classed = sentences.classify(source, found, made)
    guard = verdicts.recounting(found.toolbox, classed.ruleset, classed.accounts)
    text = "\n".join(
        json.dumps(row)
        for k, state in enumerate(states)
        for row in ({"run": f"r{k}", "state": state}, {"run": f"r{k}", "call": {"tool": "rent_boat", "arguments": {}}})
    )
    (folder / "runs.jsonl").write_text(text + "\n", "utf-8")
    return [one.verdict.decision for one in recorded.judge(guard, events.stream(folder / "runs.jsonl"))]


STATES = (
    {"can_swim": True, "age": 20},
    {"can_swim": False, "age": 20},
    {"can_swim": True, "age": 11},
    {"can_swim": True},
    {},
)


def test_rules_that_were_read_and_those_of_a_person_decide_alike(folder: Path) -> None:
    """The code is made from all rules, not from those alone that a person wrote."""
    source = documents.load(folder)
    open_ones = [one for one in sentences.classify(source, reader.extracted(source)).accounts if one.cls == "open"]
    for one in open_ones:
        entry = f"decisions:\n  - {{id: '{one.id}', text: {json.dumps(one.text)}, decision: waive, why: x}}\n"
        (folder / "decisions.yaml").write_text(entry, "utf-8")
    assert len(open_ones) <= 1 and judged(folder, *STATES) == ["allow", "deny", "deny", "undecided", "undecided"]


def test_what_an_open_sentence_holds_is_undecided_and_what_breaks_a_rule_is_denied(folder: Path) -> None:
    (folder / "policy.md").write_text(SWIM + "\nBoats rent themselves out on Sundays, more or less.\n", "utf-8")
    assert judged(folder, *STATES[:2]) == ["undecided", "deny"]


def test_on_a_real_recording_the_code_of_the_rules_decides_as_their_conditions_do() -> None:
    """The airline's decisions: every contract's code is one that is run, none is refused."""
    source = documents.load(ROOT / "policies" / "airline")
    found = reader.extracted(source)
    place = decisions.place(ROOT / "policies" / "airline")
    made, _ = sentences.settled(source, decisions.load(place, source))
    classed = sentences.classify(source, found, made)
    guard = verdicts.recounting(found.toolbox, classed.ruleset, classed.accounts)
    ruled = [one for one in contract.contracts(guard.toolbox, classed.ruleset) if one.items]
    assert ruled and all(guard.loaded[one.tool].program is not None for one in ruled)
