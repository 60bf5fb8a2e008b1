"""What was read of a document, as JSON for the stages behind: what came of every sentence, the readings that differ,
and the vocabulary over which they were made, with bindings on which writers differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from wb.domain.policy import Policy
from wb.logic.formula import Formula
from wb.logic.syntax import parse, render
from wb.rules import extract, rulefile, vocabulary
from wb.rules.bounds import Bound
from wb.rules.extract import Choice, Extract, Extracted
from wb.rules.readers import Reading
from wb.rules.rule import Predicate, RuleSet, toolbox
from wb.rules.vocabulary import Entry, Missing

Row = Mapping[str, Any]
KINDS = ("scope", "definitions", "references")


def to_json(found: Extracted) -> dict[str, object]:
    """What was read, as JSON values; of single readings what they found missing, and not how agreements came about."""
    return {
        "predicates": _rows(found.predicates),
        "entries": [_entry(one) for one in found.vocabulary.entries] if found.vocabulary else None,
        "extracts": [_extract(one) for one in found.extracts],
        "missing": {
            who: {name: [each.model_dump() for each in one.missing] for name, one in some.items() if one.missing}
            for who, some in (found.readings or {}).items()
        },
        "binding": {name: asdict(one) for name, one in found.binding.items()},
    }


def from_json(data: Row, policy: Policy) -> Extracted:
    """What `to_json` wrote of this policy.

    Raises:
        ValueError: it was read of another document, or is of another form.
    """
    rows = {
        name: {**row, **{kind: tuple(row[kind]) for kind in KINDS}} for name, row in data.get("binding", {}).items()
    }
    binding = {name: Bound(**row) for name, row in rows.items()}
    every, extracts = extract.bound_clauses(policy, binding), tuple(map(_extract_of, data["extracts"]))
    if len(every) != len(extracts):
        raise ValueError(
            f"readings of the {len(every)} sentences of {policy.source} were required; got {len(extracts)}"
        )
    predicates, entries = _predicates(data["predicates"]), data["entries"]
    words = vocabulary.of_entries([_entry_of(row) for row in entries], policy.toolbox) if entries is not None else None
    box = toolbox(words.toolbox if words else policy.toolbox, RuleSet(predicates))
    missing = {
        who: {name: Reading(missing=tuple(Missing(**one) for one in rows)) for name, rows in some.items()}
        for who, some in data["missing"].items()
    }
    return Extracted(extracts, predicates, box, every, words, missing or None, binding=binding)


def _rows(some: Iterable[Predicate]) -> dict[str, object]:
    return rulefile.to_json(RuleSet(tuple(some)))["predicates"]


def _predicates(rows: Row) -> tuple[Predicate, ...]:
    return rulefile.from_json({"predicates": rows, "rules": []}, source="readings.json").predicates


def _entry(one: Entry) -> dict[str, object]:
    told = {"does": one.does, "by": one.by, "disputed": one.disputed}
    return {"predicate": _rows([one.predicate]), **told, "others": [_rows([other]) for other in one.others]}


def _entry_of(row: Row) -> Entry:
    others = tuple(other for some in row["others"] for other in _predicates(some))
    return Entry(*_predicates(row["predicate"]), row["does"], row["by"], row["disputed"], others)


def _extract(one: Extract) -> dict[str, object]:
    return {
        **{"cls": one.cls, "reason": one.reason, "grade": one.grade, "formulas": [*map(render, one.formulas)]},
        "choices": [{"by": choice.by, "formulas": [*map(render, choice.formulas)]} for choice in one.choices],
        "tools": None if one.tools is None else [*one.tools],
        "apart": None if one.apart is None else [sorted(step) for step in one.apart],
    }


def _extract_of(row: Row) -> Extract:
    choices = tuple(Choice(one["by"], _formulas(one["formulas"])) for one in row["choices"])
    tools = None if row["tools"] is None else tuple(row["tools"])
    apart = None if row["apart"] is None else tuple(map(frozenset, row["apart"]))
    return Extract(row["cls"], row["reason"], row["grade"], _formulas(row["formulas"]), choices, tools, apart)


def _formulas(texts: Iterable[str]) -> tuple[Formula, ...]:
    return tuple(map(parse, texts))
