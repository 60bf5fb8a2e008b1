"""How recorded calls come out under rules as they stand, before any guard is written or proved.

The code of each tool is made from its rules alone, one early return a rule, as it is for those that a person wrote: so
a decision about a sentence is seen at once, in the time that judging takes.  What a run makes of the same rules is
judged by its own guards (`wb judge`), after refinement; a guard that is not accepted denies every call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from wb.bench.recorded import Judged
from wb.domain.tools import Toolbox
from wb.guards import contract, synthesis
from wb.guards.runtime import CallGuard, Guarded
from wb.rules import rule, sentences
from wb.rules.rule import RuleSet
from wb.rules.sentences import Account

LABELS = {"deny": ("violating", "deny", "allow"), "allow": ("compliant", "allow", "deny")}  # called; right, wrong
DECISIONS = {"allow": "allowed", "deny": "denied", "undecided": "undecided"}


def guard(toolbox: Toolbox, ruleset: RuleSet, accounts: Iterable[Account]) -> CallGuard:
    """A guard that decides as the rules do; what open sentences hold is undecided."""
    box = rule.toolbox(toolbox, ruleset)
    required = contract.contracts(box, ruleset)
    guards = tuple(Guarded(one, contract.assemble(synthesis.of_rules(one), one), "tested") for one in required)
    return CallGuard("recount", ruleset, guards, frozenset({"tested"}), box, sentences.open_on(accounts))


def tally(judged: Iterable[Judged]) -> Counter[tuple[str | None, str]]:
    """How many calls there are of each label, None where there is none, and decision."""
    return Counter((one.label, one.verdict.decision) for one in judged)


def words(counts: Counter[tuple[str | None, str]]) -> str:
    """A tally in one line: how many of the labelled calls are undecided, which do not run, then how those of each label
    came out; of calls without any label how many are undecided."""
    of = {label: total(counts, label) for label in LABELS}
    if not any(of.values()):
        return f"{counts[None, 'undecided']} of {counts.total()} calls undecided, none of them labelled"
    parts = [f"{sum(counts[label, 'undecided'] for label in of)} of {sum(of.values())} labelled calls undecided"]
    for label, (called, right, wrong) in LABELS.items():
        numbers = (f"{counts[label, one]} {DECISIONS[one]}" for one in (right, wrong, "undecided"))
        parts.append(f"of {of[label]} {called} {', '.join(numbers)}")
    return "; ".join(parts)


def total(counts: Counter[tuple[str | None, str]], label: str) -> int:
    """The calls of that label."""
    return sum(counts[label, one] for one in DECISIONS)


def held(judged: Iterable[Judged]) -> Counter[str]:
    """How many calls each open sentence holds, by its id."""
    return Counter(name for one in judged if one.verdict.decision == "undecided" for name in one.verdict.open)
