"""VeriGuard: guards proved against the rules' contracts, counterexamples fed back, only proofs deployed.

The verification stage of VeriGuard (Sec. 3.2.2): {C_pre} p {C_post} by Nagini, the counterexample to
the author of the code, until it proves or the budget is spent.  What the author is told is found by
running the code (`counterexamples`), so that the same code is asked about in the same words in every
run.  The contract is never weakened to fit the code.  A proof counts only if the `Refute(False)` probe
shows that the function's body can be reached.  At run time a tool whose guard is missing, unproved or
broken is denied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from wb.domain.trace import Grade
from wb.guards import contract as contracts
from wb.guards import parts, sandbox
from wb.guards.bounded import Bound
from wb.guards.contract import Contract
from wb.guards.nagini import Proof, Verifier
from wb.guards.runtime import DISPUTED, UNSETTLED, Guarded
from wb.guards.synthesis import (
    PROOF,
    SILENT,
    TESTED,
    UNREACHED,
    Attempt,
    Check,
    Complaint,
    Draft,
    Revise,
    checked,
    counterexamples,
    synthesise,
    within,
)


def prove(drafts: Sequence[Draft], revise: Revise, verifier: Verifier, *, max_rounds: int = 3) -> tuple[Draft, ...]:
    """The drafts after checks, tests, proofs and at most `max_rounds` repairs; `synthesis.guarded` grades them.

    A draft of which nothing is known but that the prover timed out or crashed stays as it is: nothing can be repaired.
    """

    def ask(rows: Sequence[Draft]) -> list[Attempt | None]:
        told = [i for i, draft in enumerate(rows) if any(c.message != SILENT for c in draft.complaints)]
        found = dict(zip(told, revise([rows[i] for i in told]) if told else (), strict=True))
        return [found.get(i) for i in range(len(rows))]

    return synthesise(drafts, ask, checks=(*TESTED, proof(verifier)), max_rounds=max_rounds)


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


def again(kept: Sequence[Guarded], verifier: Verifier) -> tuple[Guarded, ...]:
    """Kept guards as the prover sees them today: *proved*, or *bounded* where trying decides, or *tested*, with what it
    says; an `error` stays one, and so does what its author disputes or a person has to decide."""
    able = [e for e in kept if e.grade != "error" and not e.reason.startswith((DISPUTED, UNSETTLED))]
    drafts = [Draft(e.contract, (Attempt(sandbox.strip(e.source)),)) for e in able]
    seen = {draft.contract.tool: draft for draft in checked(drafts, [proof(verifier)])}
    return tuple(_graded(entry, seen.get(entry.contract.tool)) for entry in kept)


def _graded(entry: Guarded, draft: Draft | None) -> Guarded:
    if draft is None:
        return entry
    said = "; ".join(complaint.said or complaint.message for complaint in draft.complaints)
    whole = isinstance(bound := within(draft), Bound)
    said = f"{bound}; {said}" if whole else said
    grade: Grade = "bounded" if whole else "tested" if draft.complaints else "proved"
    items = parts.under(parts.at_most(entry.parts, "bounded" if whole else "tested", said), grade, said)
    return replace(entry, grade=grade, reason=said, parts=items)


def _complaints(draft: Draft, proof_: Proof, probe: Proof) -> tuple[Complaint, ...]:
    if proof_.status == "proved" and probe.status == "proved":
        return ()
    if proof_.status == "proved":
        return (Complaint(PROOF, UNREACHED, said=_said(probe)),)
    (shown,) = counterexamples([(draft.contract, draft.source)], PROOF)
    if shown is not None and shown.arguments:
        return (replace(shown, said=_said(proof_)),)
    if proof_.status in ("timeout", "crash"):
        return (Complaint(PROOF, SILENT, said=_said(proof_)),)
    told = replayed(draft.contract, draft.source, proof_)
    if told is not None and told.arguments:
        return (replace(told, said=_said(proof_)),)
    refused = "; ".join(f.message for f in proof_.findings) if proof_.status == "rejected" else ""
    nothing = "no values that break the rules were found by running the code"
    said = _said(proof_) + ("" if told is None else f"; {told.message}")
    return (Complaint(PROOF, f"not proved{': ' * bool(refused)}{refused}; {nothing}", said=said),)


def replayed(contract: Contract, source: str, proof_: Proof) -> Complaint | None:
    """What comes of a prover's own values where the Python code is run on them, with whatever it did not give: the
    first that break the contract, or, without arguments, that they are spurious; None where it gave none.

    Nagini's values may be those of a state that no run has: it proves function by function, and knows no texts.
    """
    given = [dict(one.counterexample) for one in proof_.findings if one.counterexample]
    found = counterexamples([(contract, source)] * len(given), PROOF, given)
    spurious = Complaint(PROOF, "its values are spurious: there the code decides as its contract says")
    return next((one for one in found if one is not None and one.arguments), spurious) if given else None


def _said(proof_: Proof) -> str:
    """What the prover said, whole: its status and each finding with its branch and values."""
    rows = [
        f"{f'line {f.line}: ' if f.line > 0 else ''}{f.message}{' where ' * bool(f.branch)}{' and '.join(f.branch)}"
        f"{f' {dict(f.counterexample)}' if f.counterexample else ''}"
        for f in proof_.findings
    ]
    return f"{proof_.status}: {'; '.join(rows) or 'no reason given'}"
