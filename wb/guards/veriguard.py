"""VeriGuard: guards proved against the rules' contracts, counterexamples fed back, only proofs deployed.

The verification stage of VeriGuard (Sec. 3.2.2): {C_pre} p {C_post} by Nagini, the counterexample to
the author of the code, until it proves or the budget is spent.  The contract is never weakened to fit
the code (SPEC 4 u).  A proof counts only if the `Refute(False)` probe shows that the function's body
can be reached.  At run time a tool whose guard is missing, unproved or broken is denied.
"""

from __future__ import annotations

from collections.abc import Sequence

from wb.guards import contract as contracts
from wb.guards import examples, sandbox
from wb.guards.contract import Contract
from wb.guards.nagini import Finding, Proof, Verifier
from wb.guards.runtime import CallGuard, Guarded
from wb.guards.synthesis import PROOF, TESTED, Attempt, Check, Complaint, Draft, Revise, checked, synthesise
from wb.rules.rule import RuleSet


def prove(drafts: Sequence[Draft], revise: Revise, verifier: Verifier, *, max_rounds: int = 3) -> tuple[Draft, ...]:
    """The drafts after checks, tests, proofs and at most `max_rounds` repairs; `synthesis.guarded` grades them."""
    return synthesise(drafts, (*TESTED, proof(verifier)), revise, max_rounds=max_rounds)


def proof(verifier: Verifier) -> Check:
    """The check that Nagini makes of all drafts of a round in one go."""

    def check(drafts: Sequence[Draft]) -> list[tuple[Complaint, ...]]:
        put = [contracts.assemble(d.source, d.contract) for d in drafts]
        proofs = verifier.verify([*put, *(contracts.probe(source) for source in put)])
        return [_complaints(draft, proofs[i], proofs[len(put) + i]) for i, draft in enumerate(drafts)]

    return PROOF, check


def asked(contract: Contract, source: str, verifier: Verifier) -> Draft:
    """A source as the prover alone sees it, untested: a draft with its complaints, none where it proves."""
    (draft,) = checked([Draft(contract, (Attempt(source),))], [proof(verifier)])
    return draft


def proved_guard(ruleset: RuleSet, guards: Sequence[Guarded]) -> CallGuard:
    """The final guard: runs proved code alone, denies the rest."""
    return CallGuard("veriguard", ruleset, tuple(guards), frozenset({"proved"}))


def _complaints(draft: Draft, proof_: Proof, probe: Proof) -> tuple[Complaint, ...]:
    if proof_.status == "unproved":
        return tuple(_complaint(draft, finding) for finding in proof_.findings)
    if proof_.status != "proved":
        return tuple(Complaint(PROOF, f"{proof_.status}: {f.message}") for f in proof_.findings) or (
            Complaint(PROOF, proof_.status),
        )
    if probe.status != "proved":
        what = "; ".join(f.message for f in probe.findings)
        return (Complaint(PROOF, f"nothing was proved: the body cannot be reached ({what or probe.status})"),)
    return ()


def _complaint(draft: Draft, finding: Finding) -> Complaint:
    """Nagini's finding, with arguments on which running the code breaks the contract, where there are any."""
    where = f" where {' and '.join(finding.branch)}" if finding.branch else ""
    shown = confirmed(draft.contract, draft.source, finding)
    if shown is None:
        return Complaint(PROOF, f"{finding.message}{where} No values that show it were found by running the code.")
    arguments, allowed = shown
    return Complaint(PROOF, finding.message + where, arguments, allowed)


def confirmed(
    contract: Contract, source: str, finding: Finding
) -> tuple[tuple[tuple[str, sandbox.Value], ...], bool] | None:
    """Nagini's counterexample completed and replayed: arguments, and the decision the contract demands of them.

    Texts are opaque to Nagini, so every value that it gave none for is tried. None where the code obeys.
    """
    tested, wanted = sandbox.load(source), examples.program(contract, contract.allows)
    given = {n: v for n, v in finding.counterexample if n in dict(tested.types)}
    points = examples.points(contract, contracts.assemble(source, contract))

    def differ(**values: sandbox.Value) -> tuple[bool, str]:
        return bool(tested.run(**values)[0]) != bool(wanted.run(**values)[0]), ""

    try:
        for chosen, (differs, _) in sandbox.completions(
            differ, given, {n: v for n, v in points.items() if n not in given}
        ):
            if differs:
                whole = {**{n: v[0] for n, v in points.items()}, **given, **chosen}
                return tuple(whole.items()), bool(wanted.run(**whole)[0])
    except sandbox.TooMany:
        return None
    return None
