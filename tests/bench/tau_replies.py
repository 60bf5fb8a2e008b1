"""Replies that a language model wrote for τ-bench's airline policy, blind to its labels: read again, and executed on
the 70 recorded calls whose label is strict.

    python tests/bench/tau_replies.py

Printed are the rules as they were written, what came into force of them without review, and the same after
`choices.json`: the readings that a person would accept with one word, written down before it was first run.  The
replies are in `tests/fixtures/tau_replies`; the policy, its tools and the calls are read from `../shared/data`.
"""

from __future__ import annotations

# ruff: noqa: E402
import json
import sys
import tempfile
from collections import defaultdict
from dataclasses import replace
from functools import cache
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1])]

from bench import airline, gold, read_airline, written
from bench.gold import Reading

from wb.domain import policy as documents
from wb.guards.runtime import CallGuard
from wb.models.client import LLM
from wb.rules import check, sentences
from wb.rules.rule import RuleSet

FIXTURES = airline.ROOT / "tests" / "fixtures"
PASSES = ("tau_replies", "tau_replies_2")  # the folders of the fixtures


@cache
def read(folder: str = PASSES[0]) -> Reading:
    """The replies of a fixture, read as notebook 01 reads them."""
    with tempfile.TemporaryDirectory() as place:
        source = documents.load(read_airline.written(Path(place) / "tau"))
    return gold.reading(source, LLM(written.Reader(source, FIXTURES / folder / "replies.jsonl")))


def chosen(*kinds: str, folder: str = PASSES[0], seconds: float = check.SECONDS) -> Reading:
    """The same after a person's choices of these kinds, else of words and readings to accept.

    `seconds` are given to the check of the rules with each other.
    """
    made = json.loads((FIXTURES / folder / "choices.json").read_text("utf-8"))
    return written.decide(read(folder), made, *(kinds or ("words", "accept")), seconds=seconds)


def saying(one: Reading, ruleset: RuleSet) -> dict[str, list[str]]:
    """The sentences of each rule that was read, by id."""
    found: dict[str, list[str]] = defaultdict(list)
    at = {c.id: c.start for c in one.clauses}
    for rule in ruleset.rules:
        found[rule.id] += [a.id for a in one.accounts if a.start <= at.get(rule.clause, -1) < a.end]
    return found


def guard(one: Reading, *, whole: bool = False) -> CallGuard:
    """Guards of the rules that stayed, held by the open sentences; or all rules as they were written, alone."""
    judge = airline.guarded("airline", one.source.toolbox, one.written if whole else one.kept)
    return judge if whole else replace(judge, open=sentences.open_on(one.accounts))


def unasked(one: Reading) -> Reading:
    """A reading without its rules on the user's yes, which the labels leave out; the reviewed reading has a row so."""

    def rest(ruleset: RuleSet) -> RuleSet:
        said = saying(one, ruleset)
        named = {rule.id: {read_airline.sentence(rule.id), *said[rule.id]} for rule in ruleset.rules}
        keep = tuple(rule for rule in ruleset.rules if read_airline.CONSENT not in named[rule.id])
        return replace(ruleset, rules=keep).without_unused()

    return replace(one, written=rest(one.written), kept=rest(one.kept))


def cases(folder: str) -> dict[str, tuple[Reading, bool]]:
    """The readings that are measured of a fixture, and whether all rules as they were written are."""
    one = read(folder)
    found = {"as written": (one, True), "in force": (one, False)}
    found["in force, accepted"] = (chosen(folder=folder), False)
    if folder == PASSES[1]:
        found["as written, but for the yes"] = (unasked(one), True)
        found["in force, accepted, but for the yes"] = (unasked(found["in force, accepted"][0]), False)
        found["in force, accepted and waived"] = (chosen("words", "accept", "waive", folder=folder), False)
    return found


def main() -> None:
    for folder in PASSES:
        print(folder)
        for title, (case, whole) in cases(folder).items():
            ruleset = case.written if whole else case.kept
            print(f"  {title}: {len(ruleset.rules)} rules, sentences {sentences.counted(case.accounts)}")
            rows = read_airline.judged(guard(case, whole=whole), saying(case, ruleset))
            for calls, said in read_airline.table(rows).items():
                print(f"    {calls}: {said}")


if __name__ == "__main__":
    main()
