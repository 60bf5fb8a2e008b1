"""An airline's policy, written by hand as data, on τ-bench's recorded runs: what its guards decide, and their proofs.

    python tests/bench/airline.py [--prove]

The strict calls are those that were done and that the policy decides: neither ambiguous nor against the benchmark's own
solution.  Rules and sources are in `tests/fixtures/airline`; tools and runs are read from `../shared/data`.
"""

from __future__ import annotations

# ruff: noqa: E402
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import yaml

from wb.bench import recorded, tau
from wb.domain import tools
from wb.domain.events import Asked, Event, Lookup, Run
from wb.domain.tools import Toolbox
from wb.domain.trace import Verdict
from wb.guards import contract, nagini, synthesis, veriguard
from wb.guards.contract import Contract, assemble
from wb.guards.runtime import CallGuard, Guarded
from wb.guards.synthesis import Attempt, Draft
from wb.rules import rulefile
from wb.rules.rule import RuleSet

FILES = ROOT / "tests" / "fixtures" / "airline"
SHARED = ROOT.parent / "shared" / "data"
RULES = {  # what the labels call a violation, and the rules that say so
    "book_bag_allowance": "book_bags",
    "book_payment_mix": "book_certificates",
    "book_route_consistent": "book_route",
    "bags_allowance": "bags_charged",
    "cancel_grounds": "cancel_condition",
    "cancel_not_flown": "cancel_unflown",
}
BOTH = ("rules.yaml", "consent.yaml")


@dataclass(frozen=True)
class Row:
    """A strict call: whether it is to be denied, by which rules, and what the guard says."""

    id: str
    denied: bool
    rules: tuple[str, ...]
    verdict: Verdict


def toolbox() -> Toolbox:
    """The airline's own tools, with the state fields of the fixture and where they come from."""
    own = json.loads((FILES / "state.json").read_text("utf-8"))
    given = json.loads((SHARED / "common" / "tau_airline" / "tools.json").read_text("utf-8"))
    listed = [{**tool, "mutating": tool["name"] not in own["read_only"]} for tool in given]
    return tools.parse(json.dumps({"tools": listed, "state": own["state"]}))


def contracts(*files: str) -> tuple[Contract, ...]:
    """The contract of each tool."""
    return contract.contracts(toolbox(), rules_of(*files or ("rules.yaml",)))


def code(required: Contract) -> str:
    """Code that denies where a condition of the contract fails."""
    tests = [f"    if not ({item.condition}):\n        return (False, {item.rule!r})\n" for item in required.items]
    return f"{required.signature}\n{''.join(tests)}    return (True, 'no rule is broken')\n"


def rules_of(*files: str) -> RuleSet:
    """The rules of some of the files together."""
    sets = [rulefile.load(FILES / file) for file in files]
    known = {one.name: one for each in sets for one in each.predicates}
    return RuleSet(tuple(known.values()), tuple(rule for each in sets for rule in each.rules))


def guard(*files: str) -> CallGuard:
    """Guards of all tools."""
    return guarded("airline", toolbox(), rules_of(*files or ("rules.yaml",)))


def guarded(name: str, box: Toolbox, ruleset: RuleSet) -> CallGuard:
    """Guards of all tools, of code that says the rules."""
    entries = [Guarded(made, assemble(code(made), made), "tested") for made in contract.contracts(box, ruleset)]
    return CallGuard(name, ruleset, tuple(entries), frozenset({"tested"}), box)


def waived() -> list[dict[str, str]]:
    """What the policy demands and `rules.yaml` does not hold, word for word, and why."""
    return yaml.safe_load((FILES / "waived.yaml").read_text("utf-8"))


def runs() -> tuple[Run, ...]:
    """The recorded runs."""
    return tau.runs(SHARED / "tau_airline")


def labels() -> dict[str, dict]:
    """What is said of each strict call, by its id."""
    with (SHARED / "tau_airline" / "calls.jsonl").open(encoding="utf-8") as lines:
        rows = map(json.loads, lines)
        return {
            row["id"]: row
            for row in rows
            if row["executed"] and not row["gold_conflict"] and row["label"] in ("violating", "compliant")
        }


def seen(run: Run, lookups: bool) -> tuple[Event, ...]:
    """The events of a run, with what could have been looked up or without."""
    return tuple(event for event in run.events if lookups or not isinstance(event.what, Lookup))


def judged(judge: CallGuard, lookups: bool = True) -> Iterator[Row]:
    """The verdicts on the strict calls."""
    strict = labels()
    for run in runs():
        ids = iter([event.what.call_id for event in run.events if isinstance(event.what, Asked)])
        for one in recorded.judge(judge, seen(run, lookups)):
            if (row := strict.get(next(ids))) is not None:
                wanted = tuple(sorted(RULES[name] for name in row["policy_violations"]))
                yield Row(row["id"], row["label"] == "violating", wanted, one.verdict)


def counted(rows: Iterable[Row]) -> Counter[tuple[str, str]]:
    """How often each decision came, by what was right."""
    return Counter(("violating" if row.denied else "compliant", row.verdict.decision) for row in rows)


def prove(contracts: Iterable[Contract]) -> None:
    """Print what Nagini says of the guard of each contract, and how many of its inputs are trusted."""
    drafts = [Draft(made, (Attempt(code(made)),)) for made in contracts if made.items]
    with nagini.Verifier() as verifier:
        for draft in veriguard.prove(drafts, lambda rows: [None] * len(rows), verifier, max_rounds=0):
            made, entry = draft.contract, synthesis.guarded(draft)
            print(
                f"{made.tool:30} {entry.grade:7} rules {len(made.items)}, inputs {len(made.parameters)}, "
                f"trusted {len(made.trusted)}, from lists by loops {len(made.looped)} {entry.reason}"
            )


def main() -> None:
    for title, files, lookups in (
        ("lookups and effective state", ("rules.yaml",), True),
        ("recorded results alone", ("rules.yaml",), False),
        ("with consent", BOTH, True),
    ):
        found = tuple(judged(guard(*files), lookups))
        right = sum(set(row.rules) <= set(row.verdict.violated) for row in found if row.denied)
        print(f"{title}: {dict(sorted(counted(found).items()))}; denied for the labelled rules: {right}")
    strict = labels()
    said = Counter((strict[row.id]["confirmation"], row.verdict.decision) for row in judged(guard("consent.yaml")))
    print(f"consent alone: {dict(sorted(said.items()))}")
    for one in waived():
        print(f"waived: {one['text']} ({one['why']})")
    if "--prove" in sys.argv:
        prove(contracts(*BOTH))


if __name__ == "__main__":
    main()
