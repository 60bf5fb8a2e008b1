"""Other text around a document: each order, against the same gold, and nothing where there is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench import robust

from wb.bench import mapping
from wb.domain import policy as documents
from wb.domain.policy import Policy
from wb.models.client import LLM
from wb.models.endpoint import Reply
from wb.models.ledger import ModelError
from wb.offline import reader

TEXT = "# Shed\n\n## Lending\n\nNever lend a machine. Do not lend a machine twice.\n"
OTHER = "## Rain\n\nNever lend a machine when it rains.\n"
TOOLS = [
    {
        "name": "lend_machine",
        "description": "Lend a machine to a member.",
        "mutating": True,
        "parameters": {"type": "object", "properties": {"machine_id": {"type": "string"}}},
    }
]
ITEMS = [
    {"name": text, "references": [text], "mutating": ["lend_machine"], "read_only": []}
    for text in ("Never lend a machine.", "Do not lend a machine twice.")
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "policy.md").write_text(TEXT, "utf-8")
    (tmp_path / "tools.json").write_text(json.dumps(TOOLS), "utf-8")
    return tmp_path


def rows(folder: Path) -> list[dict[str, object]]:
    source: Policy = documents.load(folder)
    return mapping.robust(folder, source, reader.extracted)


def test_without_a_gold_or_a_text_to_add_there_is_nothing_to_measure(folder: Path) -> None:
    assert rows(folder) == []
    (folder / "gold.json").write_text(json.dumps({"items": ITEMS}), "utf-8")
    assert rows(folder) == []
    (folder / "gold.json").unlink()
    (folder / "added_other_domain.md").write_text(OTHER, "utf-8")
    assert rows(folder) == []


def test_each_text_stands_behind_and_in_front_and_what_is_found_in_it_costs_precision(folder: Path) -> None:
    (folder / "gold.json").write_text(json.dumps({"items": ITEMS}), "utf-8")
    (folder / "added_other_domain.md").write_text(OTHER, "utf-8")
    found = rows(folder)
    assert [(row["document"], row["matched"]) for row in found] == [
        (said, by)
        for said in ("as it stands", "other domain behind", "other domain in front")
        for by in ("exact", "overlap")
    ]
    alone, behind, front = found[0], found[2], found[4]
    assert (alone["P"], alone["R"], alone["common"]) == (1.0, 1.0, 2)
    assert behind["R"] == front["R"] == 1.0 and behind["P"] < 1.0 > front["P"], "of the tool, and of no item"


def test_a_text_that_says_what_the_document_says_is_refused(folder: Path) -> None:
    (folder / "gold.json").write_text(json.dumps({"items": ITEMS}), "utf-8")
    (folder / "added_same_domain.md").write_text(TEXT, "utf-8")
    with pytest.raises(ValueError, match="stand in the document once"):
        rows(folder)


class Mapper:
    """An engine that maps every sentence of two that it knows, and takes no other step."""

    name = "mapper"

    def answer(self, prompt, inputs, schema, *, anew=False) -> Reply:
        if prompt.name != "create_items":
            raise ModelError("not asked")
        found = [
            text
            for text in ("Never lend a machine.", "Never lend a machine when it rains.")
            if text in inputs["document"]
        ]
        rows = [{"name": text, "description": text, "references": [text]} for text in found]
        return Reply({"tool": inputs["tool"]["name"], "items": rows})


def test_where_a_model_maps_its_items_are_measured_and_not_the_grammar_s(folder: Path) -> None:
    (folder / "gold.json").write_text(json.dumps({"items": ITEMS}), "utf-8")
    (folder / "added_other_domain.md").write_text(OTHER, "utf-8")
    found = mapping.robust(folder, documents.load(folder), reader.extracted, LLM(Mapper(), workers=1))
    by_document = {row["document"]: (row["P"], row["R"]) for row in found if row["matched"] == "exact"}
    assert by_document == {
        "as it stands": (1.0, 0.5),
        "other domain behind": (0.5, 0.5),
        "other domain in front": (0.5, 0.5),
    }


def test_what_a_model_mapped_is_measured_and_nothing_of_it_is_in_the_other_texts() -> None:
    """Replies of blind readers about the airline, `tests/fixtures/mapped`: F1 by exact references in each document."""
    found = {}
    for which, (policy, at) in robust.texts("airline").items():
        made = robust.mapped("airline", which)
        assert robust.strange("airline", which, made.items) == 0
        assert not [one for one in made.refused if "not asked" not in one.reason]
        exact, _ = mapping.figures(robust.moved(robust.gold("airline"), at), made.items, policy.text)
        found[which] = round(exact["F1"], 3)
    assert found == {
        "as it stands": 0.881,
        "other domain behind": 0.812,
        "other domain in front": 0.84,
        "same domain behind": 0.84,
        "same domain in front": 0.881,
    }


def test_every_step_of_a_model_s_mapper_keeps_what_was_found() -> None:
    counts = [len(robust.mapped("airline", "as it stands", robust.STEPS[:n]).items) for n in range(5)]
    assert counts == [63, 64, 72, 71, 71]
