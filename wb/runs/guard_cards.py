"""What a person sees of guards: contracts, code, proofs, counterexamples, planted faults."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from wb.domain.tools import Toolbox
from wb.guards import examples, parts, runtime, synthesis
from wb.guards.contract import Contract
from wb.guards.examples import Example
from wb.guards.faults import JudgedMutant, Planted
from wb.guards.parts import Part
from wb.guards.runtime import CallGuard, Guarded
from wb.guards.scenes import Refusal, Tried, row, said
from wb.guards.synthesis import Complaint, Draft
from wb.logic.syntax import render
from wb.rules.decisions import Struck
from wb.rules.items import Item
from wb.rules.mapper import Map
from wb.rules.residual import Unguarded
from wb.rules.rule import RuleSet
from wb.runs.cards import Badge, Card, Cards, Content, Quote, Source, Stack, Table, mapping, table

NONE: Mapping[str, Sequence[object]] = MappingProxyType({})
UNCHECKED = "not checked yet"
# What tells a field of the state, in the columns of a table.
TOLD = (
    ("to be told", ("told", "clock")),
    ("from other tools", ("result", "lookup")),
    ("from what is said", ("said",)),
    ("from what was done", ("done",)),
)


def guard(entry: Guarded, complaints: Sequence[Complaint] = (), *, claim: str = "") -> Card:
    """A tool's guard: what is claimed of it, its rules, its code, and what speaks against it."""
    said = tuple(dict.fromkeys(f"{item.rule}: {item.text}" for item in entry.contract.items))
    return Card(
        entry.contract.tool,
        claim or entry.grade,
        (
            ("rules", said or ("no rule",)),
            ("code", Source(entry.source, "python")),
            ("taken on trust", tuple(one for p in entry.contract.trusted for one in p.trusts)),
            ("why not better", entry.reason),
            *((f"found by {c.check}", _complaint(c)) for c in complaints),
        ),
    )


def draft(one: Draft, open: int = 0) -> Card:
    """A guard in the making: what may be said of it, its newest code, how often it was written, what is wrong with it.

    `open` is how many open sentences bear on its tool.  Before any check there is nothing to say.
    """
    made = synthesis.guarded(one)
    said = runtime.claimed(made, open) if one.passed or one.complaints else UNCHECKED
    card = guard(made, one.complaints, claim=said)
    return Card(card.title, card.badge, (*card.parts, ("attempts", str(len(one.attempts)))))


def drafts(found: Iterable[Draft], most: int = 2, open: Mapping[str, Sequence[object]] = NONE) -> Cards:
    """Guards in the making, at most `most` of them; `open` holds the open sentences that bear on each tool."""
    found = list(found)
    shown = tuple(draft(one, len(open.get(one.contract.tool, ()))) for one in found[:most])
    return Cards(shown, max(len(found) - most, 0), "there is no guard")


def contracts(found: Iterable[Contract]) -> Cards:
    """What guards must satisfy: signature, statements, and the rules that they come from."""
    return Cards(
        tuple(
            Card(
                one.tool,
                "",
                (
                    (
                        "contract",
                        Source("\n".join((one.signature, *(f"    {line}" for line in one.lines()))), "python"),
                    ),
                    ("rules", tuple(f"{item.rule} from {item.clause}: {item.text}" for item in one.items)),
                ),
            )
            for one in found
        ),
        none="no tool has a rule",
    )


def inputs(found: Iterable[Contract], ruleset: RuleSet, toolbox: Toolbox) -> Table:
    """Where each guard's inputs come from, beside the call itself: what the agent's program has to tell, other tools,
    the conversation, what was done before (ToolGuard, Sec. 3.2: dependent tools)."""
    sources = {field.name: field.source for field in toolbox.state}
    rows = []
    for one in found:
        needed: dict[str, tuple[str, str]] = {}
        waiting = [*runtime.fields(one, ruleset)]
        while waiting:
            name = waiting.pop(0)
            source = sources.get(name)
            if name not in needed:
                needed[name] = ("told", name) if source is None else (source.kind, f"{name} ({source.called})")
                waiting += () if source is None else source.reads
        told = {column: ", ".join(said for kind, said in needed.values() if kind in kinds) for column, kinds in TOLD}
        past = "; ".join(render(p.past) for p in one.parameters if p.past is not None)
        rows.append({"tool": one.tool, **told, "earlier steps": past and Source(past)})
    return table(rows, none="no tool has a rule")


def items(found: Iterable[Item], changes: Mapping[str, bool | None]) -> Table:
    """The policy items of each tool, with what the document says of them, and why those in the archive are there.

    `changes` says of each tool whether it changes anything, None where nobody knows.
    """
    kind = {True: "", False: " (reads only)", None: " (may change something)"}
    rows = (
        {
            "tool": f"{one.tool}{kind[changes.get(one.tool)]}",
            "item": one.name,
            "by": one.by,
            "references": Quote(" … ".join(said.text for said in one.references)),
            "rules": ", ".join(one.rules),
            "complies": Source("; ".join(one.compliance)) if one.compliance else "",
            "violates": Source("; ".join(one.violations)) if one.violations else "",
            "archived": one.archived,
        }
        for one in found
    )
    return table(rows, none="no sentence is policy of a tool")


def mapped(every: Iterable[Item], found: Map, doubts: Mapping[str, Sequence[str]]) -> Stack:
    """What came of mapping sentences onto tools: the items, what a person has to decide, what was refused, and edits
    without effect."""
    return Stack(
        (
            items(every, found.changes),
            table(
                ({"tool": tool, "has to be decided": said} for tool, those in doubts.items() for said in those),
                title="Findings",
                none="every item that a model or a person mapped is held to by a rule, or open",
            ),
            table(found.refused, title="Refused", none="nothing was refused"),
            table(({"edit": one} for one in found.stale), title="Edits without effect", none="no edit is stale"),
        )
    )


def unguarded(found: Iterable[Unguarded], ruleset: RuleSet) -> Table:
    """The rules that no guard of a tool can decide, with their sentences and why."""
    said = {one.id: one.quote or one.text for one in ruleset.rules}
    rows = ({"rule": one.rule, "sentence": said[one.rule], "why no guard": one.reason} for one in found)
    return table(rows, none="every rule is in a guard")


def cases(found: Iterable[Example], title: str = "") -> Table:
    """The examples of a contract: arguments, and the decision that they must get."""
    rows = (
        {
            "kind": one.kind,
            "decision": Badge("allow" if one.allowed else "deny"),
            "arguments": Source(_call(one.arguments)),
            "breaks": one.rule,
        }
        for one in found
    )
    return table(rows, title=title, none="there is no example")


def scenes(judged: Iterable[Tried], refused: Iterable[Refusal] = (), stale: Iterable[Struck] = ()) -> Table:
    """The examples that a model wrote of sentences: what each says and the rules say, those against the rules first;
    then those that were refused, and what a person struck that is not there any more."""
    order = ("disagrees", "unknown", "open", "agrees")
    rows = [
        {
            "tool": one.scene.tool,
            "example": one.scene.id,
            "fate": Badge(one.fate),
            "decision": Badge(one.scene.expect),
            "sentence": Quote(one.scene.sentence),
            "example says": Source(json.dumps(row(one.scene)["given"], ensure_ascii=False)),
            "rules say": said(one.verdict),
        }
        for one in sorted(judged, key=lambda one: order.index(one.fate))
    ]
    rows += [{"tool": one.tool, "fate": Badge("refused"), "rules say": f"{one.item}: {one.reason}"} for one in refused]
    rows += [
        {"example": one.id, "fate": Badge("stale"), "sentence": Quote(one.text), "rules say": f"struck: {one.why}"}
        for one in stale
    ]
    return table(rows, none="no model was asked for examples, or it gave none")


def disputed(found: Iterable[Draft]) -> Table:
    """What the authors of guards say against what was asked of them, for a person to decide."""
    rows = (
        {"tool": one.contract.tool, "its author says": said, "sentences": Quote(" … ".join(_quotes(one)))}
        for one in found
        for said in one.dissent
    )
    return table(rows, none="no author disputes a test or a sentence")


def _quotes(one: Draft) -> Iterable[str]:
    """The sentences that a guard is about."""
    return dict.fromkeys(said for part in one.parts for said in part.sentences)


def candidates(rows: Iterable[Mapping[str, object]], open: Mapping[str, Sequence[object]] = NONE) -> Table:
    """Candidates as they are kept: what may be said of each, and why not better; those with rules first."""
    shown = [
        {
            "tool": row["tool"],
            "claim": Badge(
                runtime.claim(
                    str(row["grade"]),
                    len(row["rules"]),
                    len(open.get(str(row["tool"]), ())),
                    _items(row),
                    bool(row.get("findings")),
                )
            ),
            "items": parts.said(_items(row)),
            **{name: len(row[name]) for name in ("rules", "examples", "attempts")},
            "why not better": row["reason"],
        }
        for row in rows
    ]
    return table(sorted(shown, key=lambda row: not row["rules"]), none="the policy has no tools")


def parted(entries: Iterable[Guarded]) -> Table:
    """The policy items of all guards, a row each, with what each is worth; those that are not proved come first."""
    rows = [
        {
            "tool": entry.contract.tool,
            "item": one.name,
            "grade": Badge(parts.WORDS[one.grade]),
            "sentences": Quote(" … ".join(one.sentences)),
            "rules": ", ".join(one.rules),
            "why not better": one.reason,
        }
        for entry in entries
        for one in entry.parts
    ]
    return table(sorted(rows, key=lambda row: row["grade"].text == "proved"), none="no tool has a policy item")


def claims(guard: CallGuard) -> Table:
    """What may be said of each tool's guard."""
    return table(({"tool": tool, "claim": Badge(claim)} for tool, claim in guard.claims().items()), none="no tools")


def abilities(tools: Iterable[object]) -> Table:
    """What each tool's guard can decide (`summary.Tool`): its fate, what bears on it, whether it can allow and deny."""
    rows = [mapping(one) for one in tools]
    shown = (
        {
            "tool": row["tool"],
            "fate": Badge(str(row["fate"])),
            "claim": Badge(str(row["grade"])),
            "items": row.get("items", ""),
            "rules": len(row["rules"]),
            "open": len(row["open"]),
            "allows": row["allows"],
            "denies": row["denies"],
            "needs to be told": ", ".join(row["needs"]),
        }
        for row in rows
    )
    return table(shown, none="the policy has no tools")


def grades(entries: Iterable[Guarded], title: str = "", open: Mapping[str, Sequence[object]] = NONE) -> Table:
    """All guards, a row each, with what may be said of them; those that are proved come last."""
    rows = [
        {
            "tool": one.contract.tool,
            "claim": Badge(runtime.claimed(one, len(open.get(one.contract.tool, ())))),
            "items": parts.said(one.parts),
            "rules": len(one.contract.items),
            "trusted": len(one.contract.trusted),
            "why not better": one.reason,
        }
        for one in entries
    ]
    return table(sorted(rows, key=lambda row: row["claim"].text == "proved"), title=title, none="there is no tool")


def fault(planted: Planted | None, broken: Draft | None = None) -> Card:
    """A planted fault and what the verifier says of it, with the values on which the code was run to confirm it."""
    if planted is None:
        return Card("planted fault", "", (("not shown", "there is no proved guard to break"),))
    found = next(iter(broken.complaints), None) if broken else None
    shown = dict(found.arguments) if found else {}
    return Card(
        planted.contract.tool,
        "not proved" if found else "proved",
        (
            ("planted", Source(planted.mutant.change)),
            ("code", Source(planted.mutant.source, "python")),
            ("the verifier says", found.said if found else ""),
            ("so", found.message if found else ""),
            ("counterexample", Source(_call(found.arguments)) if found and found.arguments else ""),
            ("must be", "" if not found or found.allowed is None else "allowed" if found.allowed else "denied"),
            (
                "the planted guard answers",
                str(examples.answer(planted.mutant.source, found.arguments)) if shown else "",
            ),
            ("the guard as it was answers", str(examples.answer(planted.source, found.arguments)) if shown else ""),
        ),
    )


def fates(judged: Iterable[JudgedMutant], title: str = "") -> Table:
    """What became of planted faults, the worst first, with the values that tell each from the guard."""
    order = ("survived", "unsettled", "equivalent", "refuted")
    rows = sorted(judged, key=lambda one: order.index(one.fate))
    return table(
        (
            {
                "fate": Badge(one.fate),
                "fault": one.mutant.operator,
                "tool": one.tool,
                "change": Source(one.mutant.change),
                "differs where": Source(_call(one.witness)) if one.witness else "",
            }
            for one in rows
        ),
        title=title,
        none="no fault was planted",
    )


def _items(row: Mapping[str, object]) -> tuple[Part, ...]:
    """The policy items of a candidate as it is kept."""
    return parts.from_json(row.get("items", ()))


def _complaint(complaint: Complaint) -> Content:
    """What a check found wrong, with the arguments that show it."""
    if not complaint.arguments:
        return complaint.message
    wanted = {True: "must be allowed", False: "must be denied", None: ""}[complaint.allowed]
    return (complaint.message, Source(f"{_call(complaint.arguments)}  {wanted}".rstrip()))


def _call(arguments: Sequence[tuple[str, object]]) -> str:
    """Arguments as they are written in a call."""
    return ", ".join(f"{name}={value!r}" for name, value in arguments)
