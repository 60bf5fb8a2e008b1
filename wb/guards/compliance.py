"""What a denied call would have to be for its guard to allow it: data for the agent, not a promise.

A guard allows a call only where what each of its rules asks holds, so what the broken ones ask is what is missing.  It
is said in English from the formula and its tests, never from the sentence, and only where the guard itself, asked with
values that it tells apart, is found to allow some call.
"""

from __future__ import annotations

from collections.abc import Collection

from wb.domain.judging import Judge
from wb.guards import examples, sandbox
from wb.guards.runtime import CallGuard, Loaded
from wb.rules import understood

LONGEST = 300  # characters of what a rule asks; a longer text helps nobody


def required(judge: Judge, tool: str, violated: Collection[str]) -> tuple[str, ...]:
    """What each of the broken rules asks of a call of the tool, in their order, each text once, none of over `LONGEST`.

    Empty where the judge has no contract that says it (a shield), where a rule allows no call of the tool at all, or
    where no call was found that the guard's code allows.
    """
    one = judge.loaded.get(tool) if isinstance(judge, CallGuard) else None
    if one is None or one.program is None:
        return ()
    asked = {item.rule: item.residual for item in one.entry.contract.items}
    conditions = {item.rule: item.condition for item in one.entry.contract.items}
    if not asked.keys() >= set(violated) or "False" in {conditions[rule] for rule in violated} or not _allows(one):
        return ()
    where = f" in the call of {tool}"
    said = dict.fromkeys(understood.asked(asked[rule], judge.ruleset).removesuffix(where) for rule in violated)
    return tuple([text for text in said if len(text) <= LONGEST])


def _allows(one: Loaded) -> bool:
    """Whether the guard's code allows a call that its contract allows, of the values that its conditions tell apart."""
    values = examples.allowed(one.entry.contract)
    if values is None:
        return False
    answered = sandbox.tried(one.program, {name: values[name] for name in one.names})
    return not isinstance(answered, str) and answered[0]
