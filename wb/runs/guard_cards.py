"""What a person sees of guards: contracts, code, proofs, counterexamples, planted faults."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wb.guards import examples, synthesis
from wb.guards.contract import Contract
from wb.guards.faults import Judged, Planted
from wb.guards.runtime import Guarded
from wb.guards.synthesis import Complaint, Draft
from wb.runs.cards import Badge, Card, Cards, Code, Part, Table, table


def guard(entry: Guarded, complaints: Sequence[Complaint] = (), *, claim: str = "") -> Card:
    """A tool's guard: what is claimed of it, its rules, its code, and what speaks against it."""
    said = tuple(dict.fromkeys(f"{item.rule}: {item.text}" for item in entry.contract.items))
    return Card(
        entry.contract.tool,
        claim or entry.grade,
        (
            ("rules", said or ("no rule",)),
            ("code", Code(entry.source, "python")),
            ("why not better", entry.reason),
            *((f"found by {c.check}", _complaint(c)) for c in complaints),
        ),
    )


def draft(one: Draft) -> Card:
    """A guard in the making: its grade, its newest code, how often it was written, and what is wrong with it."""
    card = guard(synthesis.guarded(one), one.complaints)
    return Card(card.title, card.badge, (*card.parts, ("attempts", str(len(one.attempts)))))


def drafts(found: Iterable[Draft], most: int = 2) -> Cards:
    """Guards in the making, at most `most` of them."""
    found = list(found)
    return Cards(tuple(map(draft, found[:most])), max(len(found) - most, 0), "there is no guard")


def contracts(found: Iterable[Contract]) -> Cards:
    """What guards must satisfy: signature, statements, and the rules that they come from."""
    return Cards(
        tuple(
            Card(
                one.tool,
                "",
                (
                    ("contract", Code("\n".join((one.signature, *(f"    {line}" for line in one.lines()))), "python")),
                    ("rules", tuple(f"{item.rule} from {item.clause}: {item.text}" for item in one.items)),
                ),
            )
            for one in found
        ),
        none="no tool has a rule",
    )


def grades(entries: Iterable[Guarded], title: str = "") -> Table:
    """All guards, a row each, those without the best grade first."""
    rows = [
        {
            "tool": one.contract.tool,
            "grade": Badge(one.grade),
            "rules": len(one.contract.items),
            "why not better": one.reason,
        }
        for one in entries
    ]
    return table(sorted(rows, key=lambda row: row["grade"].text == "proved"), title=title, none="there is no tool")


def fault(planted: Planted | None, broken: Draft | None) -> Card:
    """A planted fault and what the verifier says of it, with the values on which the code was run to confirm it."""
    if planted is None:
        return Card("planted fault", "", (("not shown", "there is no proved guard to break"),))
    found = next(iter(broken.complaints), None) if broken else None
    shown = dict(found.arguments) if found else {}
    return Card(
        planted.contract.tool,
        "not proved" if found else "proved",
        (
            ("planted", Code(planted.mutant.change)),
            ("code", Code(planted.mutant.source, "python")),
            ("the verifier says", found.message if found else ""),
            ("counterexample", Code(_call(found.arguments)) if found and found.arguments else ""),
            ("must be", "" if not found or found.allowed is None else "allowed" if found.allowed else "denied"),
            (
                "the planted guard answers",
                str(examples.answer(planted.mutant.source, found.arguments)) if shown else "",
            ),
            ("the guard as it was answers", str(examples.answer(planted.source, found.arguments)) if shown else ""),
        ),
    )


def fates(judged: Iterable[Judged], title: str = "") -> Table:
    """What became of planted faults, the worst first, with the values that tell each from the guard."""
    order = ("survived", "unsettled", "equivalent", "refuted")
    rows = sorted(judged, key=lambda one: order.index(one.fate))
    return table(
        (
            {
                "fate": Badge(one.fate),
                "fault": one.mutant.operator,
                "tool": one.tool,
                "change": Code(one.mutant.change),
                "differs where": Code(_call(one.witness)) if one.witness else "",
            }
            for one in rows
        ),
        title=title,
        none="no fault was planted",
    )


def _complaint(complaint: Complaint) -> Part:
    """What a check found wrong, with the arguments that show it."""
    if not complaint.arguments:
        return complaint.message
    wanted = {True: "must be allowed", False: "must be denied", None: ""}[complaint.allowed]
    return (complaint.message, Code(f"{_call(complaint.arguments)}  {wanted}".rstrip()))


def _call(arguments: Sequence[tuple[str, object]]) -> str:
    """Arguments as they are written in a call."""
    return ", ".join(f"{name}={value!r}" for name, value in arguments)
