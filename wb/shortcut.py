"""The short way: a policy to tested guards in one call, without refinement, weights or proofs.

For policies that are looked at beside the main one, such as a handful of bare sentences, and for
asking what a changed sentence changes.  The main way goes through the notebooks.
"""
from __future__ import annotations

from dataclasses import dataclass

from wb import contract, extract, guardcode, synthesis, toolguard
from wb.guarding import CallGuard
from wb.llm import LLM
from wb.policy import Policy
from wb.rule import RuleSet
from wb.synthesis import Draft


@dataclass(frozen=True)
class Shortcut:
    """The rules read from a policy, the guards' drafts with all their attempts, and the guard that runs them."""

    ruleset: RuleSet
    drafts: tuple[Draft, ...]
    guard: CallGuard


def guards(policy: Policy, llm: LLM) -> Shortcut:
    """Rules, contracts, code and tests of a policy, one guard a tool.

    Raises:
        PolicyError: no sentence of the document states a constraint.
        ModelError: a request failed in a way that all further ones would.
    """
    clauses = extract.clauses(policy, llm)
    ruleset = extract.rules(clauses, policy, llm)
    required = contract.contracts(policy.toolbox, ruleset)
    sentences = {c.tool: guardcode.concerning(c, ruleset, clauses) for c in required}
    first = guardcode.write(required, sentences, policy.toolbox, llm)
    drafts = toolguard.candidates(first, guardcode.reviser(sentences, llm))
    return Shortcut(ruleset, drafts, toolguard.tested_guard(ruleset, [synthesis.guarded(draft) for draft in drafts]))
