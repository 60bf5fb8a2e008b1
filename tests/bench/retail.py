"""A retail policy, written by hand as data: which sentence each rule says, its guards and their proofs.

    python tests/bench/retail.py [--prove]

Rules and sources are in `tests/fixtures/retail`; the tools and the sentences are read from `../shared/data`.
"""

from __future__ import annotations

# ruff: noqa: E402
import json
import sys
from collections import Counter
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1])]

from bench import airline

from wb.domain import tools
from wb.domain.tools import Toolbox
from wb.guards.contract import contracts
from wb.guards.runtime import CallGuard
from wb.rules import rulefile
from wb.rules.rule import RuleSet

FILES = airline.ROOT / "tests" / "fixtures" / "retail"
SENTENCES = airline.SHARED / "policies" / "retail"
GOLD = {  # by sentence and number, the rules that say each rule which a guard can hold
    ("R02", 1): ("R02",),
    ("R04", 1): ("R04",),
    ("R05", 2): ("R05", "R05_profile"),
    ("R06", 1): ("R06",),
    ("R10", 1): ("R10",),
    ("R12", 1): ("R12",),  # of orders: a profile has no status
    ("R13", 1): ("R13_exchange",),  # once an order
    ("R13", 2): ("R13_modify",),
    ("R15", 1): ("R15",),
    ("R15", 2): ("R15_checked",),
    ("R16", 1): ("R06",),
    ("R16", 2): ("R16",),
    ("R17", 1): ("R17",),
    ("R17", 2): ("R15_checked",),
    ("R19", 1): ("R19",),
    ("R20", 1): ("R20",),
    ("R21", 1): ("R21",),
    ("R21", 2): ("R21_after",),
    ("R22", 1): ("R06",),
    ("R23", 1): ("R23",),
    ("R24", 1): ("R24", "R25"),
    ("R25", 1): ("R25",),
    ("R26", 1): ("R26",),
    ("R27", 1): ("R27",),
    ("R28", 1): ("R28",),
    ("R28", 2): ("R15_checked",),
    ("R29", 1): ("R06",),
    ("R30", 1): ("R30",),
    ("R31", 1): ("R31",),
    ("R31", 2): ("R15_checked",),
    ("R32", 1): ("R23",),
    ("R33", 1): ("R24", "R25"),
    ("R34", 1): ("R25",),
    ("R35", 1): ("R26",),
    ("R36", 1): ("R27",),
}


def toolbox() -> Toolbox:
    """The shop's own tools, with the state fields of the fixture and where they come from."""
    own = json.loads((FILES / "state.json").read_text("utf-8"))
    given = [tool.get("function", tool) for tool in json.loads((SENTENCES / "tools.bare.json").read_text("utf-8"))]
    listed = [{**tool, "mutating": tool["name"] not in own["read_only"]} for tool in given]
    return tools.parse(json.dumps({"tools": listed, "state": own["state"]}))


def rules() -> RuleSet:
    """The rules, as a person wrote them."""
    return rulefile.load(FILES / "rules.yaml")


def guard() -> CallGuard:
    """Guards of all tools."""
    return airline.guarded("retail", toolbox(), rules())


def guardable() -> tuple[tuple[str, int], ...]:
    """The rules of the sentences that a guard can hold, by sentence and number."""
    rows = json.loads((SENTENCES / "gold.json").read_text("utf-8"))
    return tuple((row["id"], n) for row in rows for n, one in enumerate(row["rules"], 1) if one["guardable"])


def main() -> None:
    wanted, made = guardable(), contracts(toolbox(), rules())
    said = sum(one in GOLD for one in wanted)
    print(f"{said} of {len(wanted)} guardable rules are said, by {len(rules().rules)} rules")
    told = Counter(p.test is None for p in rules().predicates if p.kind == "state")
    print(f"{told[False]} facts have a test, {told[True]} are told")
    if "--prove" in sys.argv:
        airline.prove(made)


if __name__ == "__main__":
    main()
