"""The short way: a policy to guards in one call, without refinement or weights.

For policies that are looked at beside the main one, such as a handful of bare sentences, and for
asking what a changed sentence changes.  The main way goes through the notebooks.
"""

from __future__ import annotations

from dataclasses import dataclass

from wb.domain.policy import Policy
from wb.guards import contract, synthesis, toolguard, veriguard
from wb.guards.nagini import Verifier
from wb.guards.runtime import CallGuard
from wb.guards.synthesis import Draft
from wb.models.client import LLM
from wb.rules import extract
from wb.rules.extract import Constrains
from wb.rules.rule import RuleSet


@dataclass(frozen=True)
class Shortcut:
    """The rules read from a policy, the guards' drafts with all their attempts, and the guard that runs them.

    The guard runs proved code alone if there was a prover, else tested code.
    """

    ruleset: RuleSet
    drafts: tuple[Draft, ...]
    guard: CallGuard


def guards(policy: Policy, llm: LLM, constrains: Constrains, verifier: Verifier | None = None) -> Shortcut:
    """Rules, contracts, code and tests of a policy, one guard a tool; with a prover also the proofs.

    Raises:
        PolicyError: no sentence of the document states a constraint.
        ModelError: a request failed in a way that all further ones would.
    """
    clauses = extract.clauses(policy, llm, constrains)
    ruleset = extract.rules(clauses, policy, llm, constrains)
    required = contract.contracts(policy.toolbox, ruleset)
    sentences = {c.tool: synthesis.concerning(c, ruleset, clauses) for c in required}
    revise = synthesis.reviser(sentences, llm)
    drafts = toolguard.candidates(synthesis.write(required, sentences, policy.toolbox, llm), revise)
    if verifier is None:
        return Shortcut(
            ruleset,
            drafts,
            toolguard.tested_guard(ruleset, [synthesis.guarded(draft) for draft in drafts], policy.toolbox),
        )
    drafts = veriguard.prove(drafts, revise, verifier)
    guarded = [synthesis.guarded(draft) for draft in drafts]
    return Shortcut(ruleset, drafts, veriguard.proved_guard(ruleset, guarded, policy.toolbox))
