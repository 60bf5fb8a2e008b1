"""How recorded calls come out under rules as they stand, before any guard is written or proved.

The code of each tool is made from its rules alone, one early return a rule, as it is for those that a person wrote: so
a decision about a sentence is seen at once, in the time that judging takes.  What a run makes of the same rules is
judged by its own guards (`wb judge`), after refinement; a guard that is not accepted denies every call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Tally:
    """How many calls of each label were allowed, denied and left undecided, which does not run; label None is of those
    without one."""

    counts: Mapping[tuple[str | None, str], int]

    @classmethod
    def of(cls, judged: Iterable[Judged]) -> Tally:
        """The tally of these calls."""
        return cls(Counter((one.label, one.verdict.decision) for one in judged))

    def number(self, label: str, decision: str) -> int:
        """The calls of that label that were decided so."""
        return self.counts.get((label, decision), 0)

    def total(self, label: str) -> int:
        """The calls of that label."""
        return sum(self.number(label, one) for one in DECISIONS)

    @property
    def words(self) -> str:
        """What is to be known first: how many calls are not decided, then how many of each label came out how."""
        of = {label: self.total(label) for label in LABELS}
        if not any(of.values()):
            waiting, every = self.counts.get((None, "undecided"), 0), sum(self.counts.values())
            return f"{waiting} of {every} calls undecided, none of them labelled"
        waiting = sum(self.number(label, "undecided") for label in LABELS)
        parts = [f"{waiting} of {sum(of.values())} labelled calls undecided"]
        for label, (called, right, wrong) in LABELS.items():
            numbers = (f"{self.number(label, one)} {DECISIONS[one]}" for one in (right, wrong, "undecided"))
            parts.append(f"of {of[label]} {called} {', '.join(numbers)}")
        return "; ".join(parts)


def held(judged: Iterable[Judged]) -> Counter[str]:
    """How many calls each open sentence holds, by its id."""
    return Counter(name for one in judged if one.verdict.decision == "undecided" for name in one.verdict.open)
