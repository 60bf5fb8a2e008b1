"""What examples from sentences find: faults that are put into the limits of rules.

    python tests/bench/boundaries.py

Of the policies that are read offline, each rule whose sentence names one limit gets five faults, one at a time: the
limit one more, one less, ten times as large, its edge on the other side, and its order turned round.  A fault is found
where the rule then has a question.
"""

from __future__ import annotations

# ruff: noqa: E402
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT)]

from wb.domain import policy as documents
from wb.domain.policy import Policy
from wb.guards import boundaries
from wb.logic.facts import Comparison, Scalar
from wb.models import client
from wb.offline import engine as offline
from wb.offline import norms
from wb.rules import extract, sentences
from wb.rules.rule import RuleSet
from wb.rules.sentences import Account

POLICIES = ("policies/web_tasks", "tests/fixtures/short_policy")
EDGE = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def read(place: Path) -> tuple[Policy, tuple[Account, ...], RuleSet]:
    """A policy as it is read offline, without decisions: its sentences, and the rules in force."""
    source = documents.load(place)
    with tempfile.TemporaryDirectory() as replies:
        engine = client.connect("offline", offline=offline.Offline(source.toolbox), replies_dir=Path(replies))
        found = extract.policies(source, engine, norms.constrains)
        ruleset = extract.rules(found.clauses, source, engine, norms.constrains, found.lost)
    classed = sentences.classify(source, found.clauses, ruleset)
    return source, classed, sentences.enforced(ruleset, classed)


def faults(ruleset: RuleSet) -> Iterator[tuple[str, str, RuleSet]]:
    """Each predicate whose test is a limit, with the name of a fault and the rules that have it."""
    for one in ruleset.predicates:
        test = one.test
        if not isinstance(test, Comparison) or test.op not in EDGE:
            continue
        side = "right" if isinstance(test.right, Scalar) else "left"
        limit = getattr(test, side).value
        made = {f"{limit} is {other}": replace(test, **{side: Scalar(other)}) for other in (limit + 1, limit - 1)}
        made |= {f"{limit} ten times": replace(test, **{side: Scalar(limit * 10)})}
        made |= {"its edge": replace(test, op=EDGE[test.op]), "turned round": replace(test, op=TURNED[test.op])}
        for name, wrong in made.items():
            changed = tuple(replace(p, test=wrong) if p is one else p for p in ruleset.predicates)
            yield one.name, name, replace(ruleset, predicates=changed)


def main() -> None:
    for name in POLICIES:
        source, readings, ruleset = read(ROOT / name)
        told = {
            one.id: one
            for one in readings
            for tool in (one.tools if one.cls == "rule" else ())
            if boundaries.apart(one, tool, ruleset, source.toolbox) is not None
        }
        limits = sum(one.cls == "rule" for one in readings)
        questions = boundaries.questions(readings, ruleset, source.toolbox)
        print(f"{name}: {len(told)} of {limits} sentences with rules give examples; {len(questions)} questions")
        put = found = 0
        for predicate, fault, wrong in faults(ruleset):
            for one in told.values():
                mine = {rule.id for rule in ruleset.rules if rule.id in one.rules and predicate in rule.predicates}
                if mine:
                    put += 1
                    seen = mine <= boundaries.questions([one], wrong, source.toolbox).keys()
                    found += seen
                    if not seen:
                        print(f"  not found: {predicate}, {fault}: {one.text}")
        print(f"  {found} of {put} faults in their limits are found")


if __name__ == "__main__":
    main()
