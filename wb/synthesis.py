"""Propose, check, repair: one loop for tested and for proved guards, under a budget of rounds.

ToolGuard's test loop (Sec. 3.2) and VeriGuard's verification loop (Sec. 3.2.2) are the same loop with
other checks.  Checks run in order, each on the drafts that passed all before it and on all of them
together, so that a prover is asked once a round.  A complaint is a value, never an exception.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from wb import contract as contracts
from wb import examples, sandbox, vacuity
from wb.contract import Contract, VacuousContract
from wb.guard import Grade
from wb.guarding import Guarded
from wb.sandbox import UnsafeSource, Value


@dataclass(frozen=True, slots=True)
class Complaint:
    """What a check found wrong: its name, what was required and got, and arguments that show it.

    `allowed` is the decision that those arguments must get; None where the check names none.
    """

    check: str
    message: str
    arguments: tuple[tuple[str, Value], ...] = ()
    allowed: bool | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One source of a tool's guard, and what was wrong with it; nothing, where it passed."""

    source: str
    complaints: tuple[Complaint, ...] = ()


@dataclass(frozen=True, slots=True)
class Draft:
    """A tool's guard in the making: its contract, its attempts (the last one counts), the checks it passed."""

    contract: Contract
    attempts: tuple[Attempt, ...]
    passed: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """The newest source."""
        return self.attempts[-1].source

    @property
    def complaints(self) -> tuple[Complaint, ...]:
        """What is wrong with the newest source."""
        return self.attempts[-1].complaints


PROOF = "proof"
Check = tuple[str, Callable[[Sequence[Draft]], Sequence[tuple[Complaint, ...]]]]
Revise = Callable[[Sequence[Draft]], Sequence[str | None]]


def synthesise(drafts: Sequence[Draft], checks: Sequence[Check], revise: Revise, *, max_rounds: int = 3) -> tuple[Draft, ...]:
    """Each draft after at most `max_rounds` repairs; a draft without complaints passed every check.

    `revise` gives a new source for each draft that has complaints, or None where it has no idea.
    """
    if max_rounds < 0:
        raise ValueError(f"max_rounds must be 0 or more; got {max_rounds}")
    rows = list(checked(drafts, checks))
    for _ in range(max_rounds):
        wrong = [i for i, draft in enumerate(rows) if draft.complaints]
        revised = {i: s for i, s in zip(wrong, revise([rows[i] for i in wrong]) if wrong else [], strict=True)
                   if s is not None and s not in {a.source for a in rows[i].attempts}}
        if not revised:
            break
        fresh = [replace(rows[i], attempts=(*rows[i].attempts, Attempt(s)), passed=()) for i, s in revised.items()]
        for i, draft in zip(revised, checked(fresh, checks), strict=True):
            rows[i] = draft
    return tuple(rows)


def checked(drafts: Sequence[Draft], checks: Sequence[Check]) -> tuple[Draft, ...]:
    """The drafts with the complaints of the first check that each one's newest source fails."""
    rows = list(drafts)
    for name, check in checks:
        open_ = [i for i, draft in enumerate(rows) if not draft.complaints]
        for i, complaints in zip(open_, check([rows[i] for i in open_]) if open_ else [], strict=True):
            newest = replace(rows[i].attempts[-1], complaints=tuple(complaints))
            passed = rows[i].passed if complaints else (*rows[i].passed, name)
            rows[i] = replace(rows[i], attempts=(*rows[i].attempts[:-1], newest), passed=passed)
    return tuple(rows)


def language(drafts: Sequence[Draft]) -> list[tuple[Complaint, ...]]:
    """Whether each source is the function that was asked for, in the language of guards."""
    return [_language(draft) for draft in drafts]


def tests(drafts: Sequence[Draft]) -> list[tuple[Complaint, ...]]:
    """The examples of its contract that each guard gets wrong."""
    found = []
    for draft in drafts:
        failed = examples.failures(sandbox.load(draft.source), examples.examples(draft.contract))
        found.append(tuple(Complaint("tests", f"{'allow' if e.allowed else 'deny'} was required "
                                     f"({e.kind}{' of ' + e.rule if e.rule else ''}); got {got}", e.arguments, e.allowed)
                           for e, got in failed))
    return found


def guarded(draft: Draft) -> Guarded:
    """The draft as it will be kept: `proved`, `tested`, or `error`, with the reason why not better."""
    grade: Grade = "proved" if PROOF in draft.passed else "tested" if "tests" in draft.passed else "error"
    reason = "; ".join(c.message for c in draft.complaints[:2])
    try:
        source = contracts.assemble(draft.source, draft.contract)
    except VacuousContract:
        source = draft.source
    return Guarded(draft.contract, source, grade, reason)


TESTED: tuple[Check, ...] = (("language", language), ("tests", tests))


def _language(draft: Draft) -> tuple[Complaint, ...]:
    wanted = draft.contract.signature
    try:
        got = _signature(sandbox.check(sandbox.strip_or_refuse(draft.source)))
        if got != wanted:
            return (Complaint("language", f"the signature {wanted!r} was required; got {got!r}"),)
        vacuity.refuse(contracts.assemble(draft.source, draft.contract))
    except (UnsafeSource, VacuousContract) as error:
        return (Complaint("language", str(error)),)
    return ()


def _signature(function: ast.FunctionDef) -> str:
    listed = ", ".join(ast.unparse(a) for a in function.args.args)
    returns = ast.unparse(function.returns) if function.returns else "nothing"
    return f"def {function.name}({listed}) -> {returns}:"
