"""What was read of a document, as JSON for the stages behind: of every sentence what came of it and all its readings,
and the vocabulary over which they were made, with bindings on which writers differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from wb.domain.policy import Policy
from wb.logic.decide import Word
from wb.logic.formula import Formula
from wb.logic.syntax import parse, render
from wb.rules import extract, rulefile, vocabulary
from wb.rules.extract import Choice, Extract, Extracted
from wb.rules.readers import Reading
from wb.rules.rule import Predicate, RuleSet, toolbox
from wb.rules.vocabulary import Entry, Missing

Row = Mapping[str, Any]


def to_json(found: Extracted) -> dict[str, object]:
    """What was read, as JSON values; `from_json` gives it back, without how agreements came about."""
    return {
        "predicates": _predicates(found.predicates),
        "entries": [_entry(one) for one in found.vocabulary.entries] if found.vocabulary else None,
        "extracts": [_extract(one) for one in found.extracts],
        "readings": {
            who: {name: _reading(one) for name, one in some.items()} for who, some in (found.readings or {}).items()
        },
    }


def from_json(data: Row, policy: Policy) -> Extracted:
    """What `to_json` wrote of this policy.

    Raises:
        ValueError: it was read of another document, or is of another form.
    """
    every, extracts = extract.clauses(policy), tuple(map(_extract_of, data["extracts"]))
    if len(every) != len(extracts):
        raise ValueError(
            f"readings of the {len(every)} sentences of {policy.source} were required; got {len(extracts)}"
        )
    predicates = _predicates_of(data["predicates"])
    rows = data["entries"]
    words = vocabulary.of_entries(list(map(_entry_of, rows)), policy.toolbox) if rows is not None else None
    box = toolbox(words.toolbox if words else policy.toolbox, RuleSet(predicates))
    readings = {who: {name: _reading_of(one) for name, one in some.items()} for who, some in data["readings"].items()}
    return Extracted(extracts, predicates, box, every, words, readings or None)


def _predicates(some: Iterable[Predicate]) -> dict[str, object]:
    return rulefile.to_json(RuleSet(tuple(some)))["predicates"]


def _predicates_of(rows: Row) -> tuple[Predicate, ...]:
    return rulefile.from_json({"predicates": rows, "rules": []}, source="readings.json").predicates


def _entry(one: Entry) -> dict[str, object]:
    others = [_predicates([other]) for other in one.others]
    own = {"does": one.does, "by": one.by, "disputed": one.disputed}
    return {"predicate": _predicates([one.predicate]), **own, "others": others}


def _entry_of(row: Row) -> Entry:
    (predicate,) = _predicates_of(row["predicate"])
    others = tuple(other for some in row["others"] for other in _predicates_of(some))
    return Entry(predicate, row["does"], row["by"], row["disputed"], others)


def _texts(formulas: Iterable[Formula]) -> list[str]:
    return [render(one) for one in formulas]


def _formulas(texts: Iterable[str]) -> tuple[Formula, ...]:
    return tuple(parse(text) for text in texts)


def _extract(one: Extract) -> dict[str, object]:
    return {
        "cls": one.cls,
        "reason": one.reason,
        "grade": one.grade,
        "formulas": _texts(one.formulas),
        "choices": [{"by": choice.by, "formulas": _texts(choice.formulas)} for choice in one.choices],
        "tools": None if one.tools is None else list(one.tools),
        "apart": None if one.apart is None else [sorted(step) for step in one.apart],
    }


def _extract_of(row: Row) -> Extract:
    choices = tuple(Choice(one["by"], _formulas(one["formulas"])) for one in row["choices"])
    tools = None if row["tools"] is None else tuple(row["tools"])
    formulas = _formulas(row["formulas"])
    return Extract(row["cls"], row["reason"], row["grade"], formulas, choices, tools, _word(row["apart"]))


def _word(steps: Sequence[Sequence[str]] | None) -> Word | None:
    return None if steps is None else tuple(frozenset(step) for step in steps)


def _reading(one: Reading) -> dict[str, object]:
    missing = [each.model_dump() for each in one.missing]
    return {"formulas": _texts(one.formulas), "about": list(one.about), "problem": one.problem, "missing": missing}


def _reading_of(row: Row) -> Reading:
    missing = tuple(Missing(**one) for one in row["missing"])
    return Reading(_formulas(row["formulas"]), tuple(row["about"]), row["problem"], missing)
