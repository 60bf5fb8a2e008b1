"""What a kept guard rests on, and the seal that shows it: evidence that carries itself.

A guard is judged once and run for months, so what is kept of it binds everything that its grade speaks of: the
source, the contract, the rules with their predicates, the open sentences that bear on the tool, the grade, the policy
items with theirs, and the prover.  The seal over all of it is made with a key that lies outside the project
(`wb.paths.seal`).  A row that does not carry it may have been written by anybody: its guard is tried on the examples
that its contract gives, and is worth *tested* at most; of its items nothing is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from wb import paths
from wb.domain.trace import Quoted
from wb.guards import nagini, parts, sandbox
from wb.guards.contract import Contract, assemble, function
from wb.guards.examples import difference, examples, failures, points
from wb.guards.parts import Part
from wb.guards.runtime import DISPUTED, UNSETTLED, Guarded, digest
from wb.guards.sandbox import UnsafeSource
from wb.rules import rulefile
from wb.rules.rule import RuleSet

Row = Mapping[str, object]
Open = Mapping[str, Sequence[Quoted]]
PARTS = {
    "contract": "its contract",
    "rules": "the rules",
    "open": "the open sentences that bear on its tool",
    "prover": "the prover",
}


def to_rows(guards: Sequence[Guarded], ruleset: RuleSet, open: Open) -> list[dict[str, object]]:
    """Guards as they are kept: tool, grade, reason, source, items, the digests of what they rest on, and the seal."""
    rules = _rules(ruleset)
    return [_sealed(entry, _evidence(entry.contract, rules, open)) for entry in guards]


def from_rows(rows: Sequence[Row], required: Sequence[Contract], ruleset: RuleSet, open: Open) -> tuple[Guarded, ...]:
    """The kept guards for the contracts, rules and open sentences of today; a tool without a row has no guard.

    A source that was changed, or that states another contract, is of grade `error`.  Where the seal does not fit,
    the guard is `tested` if it is right on the examples of its contract, else `error`; the reason says what differs.
    """
    kept, rules = {row["tool"]: row for row in rows}, _rules(ruleset)
    return tuple(_guarded(kept[c.tool], c, _evidence(c, rules, open)) for c in required if c.tool in kept)


def _guarded(row: Row, contract: Contract, evidence: Mapping[str, object]) -> Guarded:
    source, grade = str(row["source"]), row["grade"]
    if digest(source) != row["sha256"]:
        return Guarded(contract, source, "error", "the source was changed after it was judged")
    entry = Guarded(contract, source, grade, str(row["reason"]), _parts(row), str(row.get("second", "")))
    sealed = all(row.get(name) == value for name, value in _sealed(entry, evidence).items())
    if grade not in ("proved", "bounded", "tested"):
        why = entry.reason or "it was never accepted"
        return replace(entry, grade="error", reason=why, parts=entry.parts if sealed else ())
    if not _states(source, contract):
        return Guarded(contract, source, "error", f"it was {grade} against another contract")
    if sealed:
        return entry
    told = row.get("evidence")
    known = told if isinstance(told, Mapping) else {}
    differ = [name for part, name in PARTS.items() if known.get(part) != evidence[part]]
    why = f"changed since it was judged: {', '.join(differ)}" if differ else "its seal is not one of this key"
    why = f"{why}; `wb verify` proves it again"
    if entry.reason.startswith((DISPUTED, UNSETTLED)):  # no proof settles what a person has to decide
        why = f"{entry.reason}; {why}"
    return _tried(Guarded(contract, source, "tested", why))


def _parts(row: Row) -> tuple[Part, ...]:
    """The policy items of a row, none where they are not what they must be: what is not sealed may be anything."""
    try:
        return parts.from_json(row.get("items", ()))
    except (AttributeError, TypeError, ValueError):
        return ()


def _tried(entry: Guarded) -> Guarded:
    """The guard if it is right on every example of its contract, and on the values that its own code tells apart, where
    these can be tried; else one of grade `error`."""
    try:
        tested, wanted = sandbox.load(entry.source), function(entry.contract, entry.contract.allows)
        wrong: Sequence[object] = failures(tested, examples(entry.contract))
        with suppress(sandbox.TooMany):
            met = points(entry.contract, entry.source)
            wrong = wrong or [one for one in (difference(tested, sandbox.load(wanted), met),) if one is not None]
    except UnsafeSource as error:
        return Guarded(entry.contract, entry.source, "error", f"{entry.reason}; {error}")
    if not wrong:
        return entry
    return Guarded(entry.contract, entry.source, "error", f"{entry.reason}; it is wrong on {len(wrong)} examples")


def _sealed(entry: Guarded, evidence: Mapping[str, object]) -> dict[str, object]:
    row = {
        "tool": entry.contract.tool,
        "grade": entry.grade,
        "reason": entry.reason,
        "items": parts.to_json(entry.parts),
        "source": entry.source,
        "sha256": digest(entry.source),
        "evidence": dict(evidence),
        **({"second": entry.second} if entry.second else {}),
    }
    return {**row, "seal": paths.seal(row)}


def _evidence(contract: Contract, rules: str, open: Open) -> dict[str, object]:
    """Digests of what a guard with this contract rests on, beside its source, and what it takes on trust."""
    return {
        "contract": paths.digest([contract.signature, *contract.lines(), *(repr(p) for p in contract.parameters)]),
        "rules": rules,
        "open": {sentence.id: paths.digest(sentence.text) for sentence in open.get(contract.tool, ())},
        "prover": nagini.prover(),
        "trusted": {p.name: list(p.trusts) for p in contract.trusted},
    }


def _rules(ruleset: RuleSet) -> str:
    return paths.digest(rulefile.to_json(ruleset))


def _states(source: str, contract: Contract) -> bool:
    """Whether the source carries exactly the contract's statements."""
    try:
        return assemble(sandbox.strip(source), contract) == source
    except UnsafeSource:
        return False
