"""The guard's author: sentences of the policy in, a tool's function out, and its corrections.

The author sees the tool, the signature and the sentences; never the contract, which comes from the
formulas (`contract`).  So a proof compares two readings of the policy, not a text with itself.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pydantic

from wb.contract import Contract, Parameter
from wb.examples import examples
from wb.llm import LLM, Unanswered
from wb.policy import Clause
from wb.rule import Rule, RuleSet
from wb.synthesis import Attempt, Draft
from wb.syntax import render
from wb.tool import Toolbox


class GuardCode(pydantic.BaseModel):
    """The reply to `write_guard` and `repair_guard`: a function, and the sentences it leaves out."""

    model_config = pydantic.ConfigDict(extra="forbid")
    code: str
    uncovered: list[str] = []


def write(required: Sequence[Contract], sentences: Mapping[str, Sequence[Clause]], toolbox: Toolbox, llm: LLM) -> tuple[Draft, ...]:
    """A first draft for each contract. `sentences` holds each tool's clauses, as `concerning` finds them.

    An unanswered request gives a draft that every check refuses, so that the tool ends denied.
    """
    batch = [{**_told(c, sentences), "tool": _tool(toolbox, c.tool)} for c in required]
    return tuple(Draft(c, (Attempt(_code(reply)),)) for c, reply in
                 zip(required, llm.ask_all("write_guard", GuardCode, batch), strict=True))


def reviser(sentences: Mapping[str, Sequence[Clause]], llm: LLM) -> Callable[[Sequence[Draft]], list[str | None]]:
    """The author asked again: a corrected source for each draft, None where there is no answer."""
    def revise(drafts: Sequence[Draft]) -> list[str | None]:
        batch = [{**_told(d.contract, sentences), "code": d.source,
                  "complaints": [_row(c.check, c.message, c.arguments, c.allowed) for c in d.complaints],
                  "examples": [_row(e.kind, e.rule, e.arguments, e.allowed) for e in examples(d.contract)]} for d in drafts]
        replies = llm.ask_all("repair_guard", GuardCode, batch)
        return [None if isinstance(reply, Unanswered) else _code(reply) for reply in replies]
    return revise


def concerning(contract: Contract, ruleset: RuleSet, clauses: Sequence[Clause], before: RuleSet | None = None) -> tuple[Clause, ...]:
    """The clauses that the contract's rules were read from, in the document's order.

    A refined rule names its parents; `before` is the rule set they are in.
    """
    ancestors = {rule.id: rule for rule in (*(before.rules if before else ()), *ruleset.rules)}
    wanted: set[str] = set()
    for item in contract.items:
        wanted |= _sources(ancestors[item.rule], ancestors, frozenset())
    return tuple(clause for clause in clauses if clause.id in wanted)


def _sources(rule: Rule, ancestors: Mapping[str, Rule], seen: frozenset[str]) -> set[str]:
    found = {rule.clause} if rule.clause else set()
    for parent in rule.parents:
        if parent in ancestors and parent not in seen:
            found |= _sources(ancestors[parent], ancestors, seen | {rule.id, parent})
    return found


def _told(contract: Contract, sentences: Mapping[str, Sequence[Clause]]) -> dict[str, object]:
    rows = [{"id": c.id, "text": c.text, "headings": list(c.headings), "context": list(c.context),
             "definitions": list(c.definitions), "scope": c.scope} for c in sentences.get(contract.tool, ())]
    return {"signature": contract.signature, "parameters": [_parameter(p) for p in contract.parameters], "sentences": rows}


def _parameter(parameter: Parameter) -> dict[str, object]:
    row: dict[str, object] = {"name": parameter.name, "type": parameter.type, "about": parameter.about}
    if parameter.field is not None:
        return {**row, "field": parameter.field, "measure": parameter.measure}
    row["words"] = list(parameter.words)
    if parameter.past is not None:
        return {**row, "past": render(parameter.past)}
    test = parameter.test
    return {**row, "fact": parameter.fact} | ({} if test is None else {"test": {
        "field": test.field, "op": test.op, "value": test.value, "measure": test.measure}})


def _tool(toolbox: Toolbox, name: str) -> dict[str, object]:
    tool = toolbox.tool(name)
    return {"name": tool.name, "description": tool.description,
            "arguments": [{"name": a.name, "type": a.type, "description": a.description} for a in tool.arguments]}


def _row(kind: str, text: str, arguments: tuple[tuple[str, object], ...], allowed: bool | None) -> dict[str, object]:
    return {"kind": kind, "text": text, "arguments": dict(arguments), "allowed": allowed}


def _code(reply: GuardCode | Unanswered) -> str:
    """The source of a reply; without one, a text that says why and is no function."""
    return reply.code if isinstance(reply, GuardCode) else f"# {reply.reason}\n"
