"""ToolGuard: per tool, examples first, then code, then tests, repaired until they pass (Sec. 3.2).

A candidate is *tested*: it is right on every example computed from the rules, which is evidence and no
proof.  `veriguard` takes the candidates on to proofs.  A guard that is not accepted as a whole is judged item by
item: one function a policy item, and the tool's guard their conjunction (Sec. 3.2).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from wb.domain.policy import Clause
from wb.domain.tools import Toolbox
from wb.guards import evidence, parts
from wb.guards.contract import Contract
from wb.guards.evidence import Open
from wb.guards.examples import Example, examples
from wb.guards.parts import Part
from wb.guards.reading import APART, Reading, finding
from wb.guards.sandbox import UnsafeSource
from wb.guards.scenes import Tried
from wb.guards.synthesis import SILENT, UNABLE, Attempt, Draft, Settle, guarded, reviser, write
from wb.models.client import LLM
from wb.rules import questions as asked
from wb.rules.items import Item
from wb.rules.questions import Question
from wb.rules.rule import RuleSet
from wb.rules.sentences import Account

Concerning = Callable[[Contract], Sequence[Clause]]


def divided(drafts: Sequence[Draft], mapped: Sequence[Item], readings: Sequence[Account]) -> tuple[Draft, ...]:
    """The drafts with their policy items, nothing judged of these yet."""
    return tuple(replace(one, parts=parts.parts(one.contract, mapped, readings)) for one in drafts)


def doubted(drafts: Sequence[Draft], findings: Mapping[str, Sequence[str]]) -> tuple[Draft, ...]:
    """The drafts with what was found against each tool's guard, by tool: none of these is proved until a person has
    decided it."""
    return tuple(replace(one, findings=(*one.findings, *findings.get(one.contract.tool, ()))) for one in drafts)


def questions(
    judged: Iterable[Tried],
    drafts: Iterable[Draft],
    accounts: Sequence[Account],
    read: Iterable[Sequence[Reading]] = (),
) -> tuple[Question, ...]:
    """What guards ask of sentences: an example that the rules decide otherwise is a counterexample to one of the two,
    with its situation as the run; what an author cannot express presupposes it, what it disputes contradicts it; where
    its first code and the rules part, one of the two is a logic error; where a first source that is blind to the
    contract does (`reading`), the sentence can be read in two ways, and the values tell them apart."""
    found = []
    for scene, verdict, _ in (one for one in judged if one.fate == "disagrees"):
        why = f"example {scene.id} is to be {scene.expect}, the rules say {verdict.decision}: {verdict.reason}"
        given = tuple(f"{k}: {json.dumps(v, ensure_ascii=False)}" for k, v in scene.given.items() if v)
        id = asked.sentence(scene.sentence, accounts)
        found.append(Question(id, scene.sentence, "counter-example", why, (scene.tool,), given))
    for draft in drafts:
        said = tuple(dict.fromkeys(text for part in draft.parts for text in part.sentences))
        id = asked.sentence(said[0], accounts) if len(said) == 1 else ""
        for one in (one for one in draft.findings if one.startswith(APART)):
            found.append(Question(id, " … ".join(said), "logic error", one, (draft.contract.tool,)))
        for one in draft.dissent:
            kind = "presupposition" if one.startswith(UNABLE) else "contradiction"
            why = f"the author of its guard says: {one}"
            found.append(Question(id, " … ".join(said), kind, why, (draft.contract.tool,)))
    for one in filter(finding, read):
        first, values = one[0], tuple(f"{name}={value!r}" for name, value in one[0].arguments)
        id = asked.sentence(first.sentences[0], accounts) if len(first.sentences) == 1 else ""
        found.append(Question(id, " … ".join(first.sentences), "ambiguity", finding(one), (first.tool,), values))
    return tuple(found)


def illustrated(drafts: Sequence[Draft], found: Mapping[str, Sequence[Example]]) -> tuple[Draft, ...]:
    """The drafts with examples of the sentences of each tool, by tool: tests beside those of the contract."""
    return tuple(replace(one, examples=(*one.examples, *found.get(one.contract.tool, ()))) for one in drafts)


def item_by_item(
    drafts: Sequence[Draft], concerning: Concerning, toolbox: Toolbox, llm: LLM, settle: Settle
) -> tuple[Draft, ...]:
    """The drafts; of those that were not accepted, each item judged apart, and what is accepted put together again.

    An item has the contract of its rules alone; its function is written from its sentences (`concerning`) and settled
    as a whole guard is.  Where all items are accepted, their conjunction is settled in the guard's place.  A guard of
    one item is what was judged already; of one that the prover alone gave no answer on, nobody is asked again.
    """
    return tuple(_apart(one, concerning, toolbox, llm, settle) if _divides(one) else one for one in drafts)


def _divides(draft: Draft) -> bool:
    judged = any(c.message != SILENT for c in draft.complaints)
    return judged and sum(bool(part.rules) for part in draft.parts) > 1


def _apart(draft: Draft, concerning: Concerning, toolbox: Toolbox, llm: LLM, settle: Settle) -> Draft:
    """A draft whose items were judged apart; with their conjunction as its newest attempt, where that is accepted."""
    judged: list[Part] = []
    settled: list[Draft] = []
    for part in draft.parts:
        if part.rules:
            required = parts.alone(draft.contract, part.rules)
            told = {required.tool: concerning(required)}
            (own,) = settle(write([required], told, toolbox, llm), reviser(told, llm))
            entry = guarded(own)
            settled.append(own)
            (part,) = parts.under([part], entry.grade, entry.reason)
        judged.append(part)
    draft = replace(draft, parts=tuple(judged))
    if any(one.complaints for one in settled):
        return draft
    try:
        source = parts.conjunction(draft.contract, [one.source for one in settled])
    except UnsafeSource:
        return draft
    dissent = tuple(dict.fromkeys(said for one in settled for said in one.dissent))
    again = replace(draft, attempts=(*draft.attempts, Attempt(source, dissent=dissent)), passed=())
    (whole,) = settle([again], lambda rows: [None] * len(rows))
    return draft if whole.complaints else whole


def drafts(rows: Sequence[Mapping[str, object]], required: Sequence[Contract]) -> tuple[Draft, ...]:
    """What `to_rows` kept, as drafts for the contracts of today; a tool without one gets an empty draft."""
    kept, none = {row["tool"]: row for row in rows}, {"code": "# there is no candidate\n"}
    return tuple(_draft(kept.get(c.tool, none), c) for c in required)


def _draft(row: Mapping[str, object], required: Contract) -> Draft:
    """A kept candidate as a draft."""
    attempt, told = Attempt(str(row["code"]), dissent=_dissent(row)), tuple(map(_example, row.get("told", ())))
    findings, second = tuple(row.get("findings", ())), str(row.get("second", ""))
    return Draft(required, (attempt,), findings=findings, examples=told, second=second)


def _example(row: Mapping[str, object]) -> Example:
    """A kept example of a sentence."""
    return Example(row["kind"], row["rule"], tuple((name, value) for name, value in row["arguments"]), row["allowed"])


def _dissent(row: Mapping[str, object]) -> tuple[str, ...]:
    """What the author of a kept candidate says against what is asked of it."""
    newest = row["attempts"][-1] if row.get("attempts") else {}
    return newest.dissent if isinstance(newest, Attempt) else tuple(newest.get("dissent", ()))


def to_rows(drafts: Sequence[Draft], ruleset: RuleSet, open: Open) -> list[dict[str, object]]:
    """Candidates as they are kept: what `evidence.from_rows` reads, the bare code, the examples and every attempt."""
    kept = evidence.to_rows([guarded(draft) for draft in drafts], ruleset, open)
    return [
        {
            **row,
            "code": draft.source,
            "rules": [item.rule for item in draft.contract.items],
            "examples": examples(draft.contract),
            "attempts": draft.attempts,
            "findings": list(draft.findings),
            "told": draft.examples,
        }
        for row, draft in zip(kept, drafts, strict=True)
    ]
