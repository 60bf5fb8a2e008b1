"""A model's own replies to the mapper's questions about a retail policy: what they are worth beside its gold, pinned.

At first contact the exact figures were lower (LOG.md): quotations of several sentences were one reference each.
Without a model a sentence is in an item only where it names what a tool's name does, so that few are found.
"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from bench import mapped
from conftest import shared

from wb.models import prompt as prompts
from wb.models.ledger import ModelError

shared("data", "policies", "retail")
ROW = {"id": "i1", "name": "One tool call at a time"}
OTHER = {"id": "i2", "name": "No answer together with a call"}


def rounded(of: mapped.Mapped) -> tuple[float, ...]:
    return tuple(round(value, 3) for value in (of.precision, of.recall, of.f1, of.grouping))


def test_the_replies_hold_no_sentence_of_the_document() -> None:
    kept = " ".join(mapped.FILE.read_text("utf-8").split())
    long = [s.text for s in mapped.source().sentences if len(s.text) > 60]
    assert len(long) > 30 and not [text for text in long if " ".join(text.split()) in kept]


def test_every_question_finds_the_reply_that_was_written_for_it_and_nothing_of_it_is_refused() -> None:
    asked = [json.loads(line)["prompt"] for line in mapped.FILE.read_text("utf-8").splitlines()]
    assert [asked.count(step) for step in mapped.STEPS] == [16] * 5
    assert [len(mapped.mapped(n).items) for n in (1, 2, 5)] == [108, 117, 127]
    done = mapped.mapped()
    assert not done.refused and {one.by for one in done.items} == {"model"}
    assert sum(done.changes.values()) == 8 and len(done.changes) == 16
    text = mapped.source().text
    assert all(one.references and all(r.text == text[r.start : r.end] for r in one.references) for one in done.items)


def test_another_wording_of_a_prompt_loses_no_reply_and_other_items_have_none() -> None:
    reader, prompt = mapped.Reader(mapped.source(), mapped.STEPS), prompts.load("split_items")
    reworded = replace(prompt, parts=(("system", "Take apart."), *prompt.parts[1:]), digest="0" * 64)
    inputs = {"tool": {"name": "think"}, "items": [ROW, OTHER]}
    assert reader.answer(reworded, inputs, {}).value == {"tool": "think", "splits": []}
    with pytest.raises(ModelError, match="nobody was asked this"):
        reader.answer(prompt, {**inputs, "items": [ROW]}, {})
    with pytest.raises(ModelError, match="nobody was asked this"):
        mapped.Reader(mapped.source(), mapped.STEPS[:2]).answer(prompt, inputs, {})


def test_what_the_replies_are_worth_beside_the_mapping_without_a_model() -> None:
    without, model = (mapped.figures(found) for found in (mapped.read(), mapped.mapped().items))
    assert {by: rounded(one) for by, one in without.items()} == dict.fromkeys(model, (0.333, 0.034, 0.054, 1.0))
    assert {by: rounded(one) for by, one in model.items()} == {
        "exact": (0.869, 0.843, 0.828, 0.822),
        "overlap": (0.869, 0.843, 0.828, 0.822),
        "sentence": (0.869, 0.843, 0.828, 0.822),
    }
    parts = {
        by: [
            round(mapped.macro(one[by], changing=changing), 3) for one in (without, model) for changing in (True, False)
        ]
        for by in model
    }
    assert parts == {
        "exact": [0.108, 0.0, 0.879, 0.777],
        "overlap": [0.108, 0.0, 0.879, 0.777],
        "sentence": [0.108, 0.0, 0.879, 0.777],
    }


def test_what_each_step_changed() -> None:
    steps = [mapped.figures(mapped.mapped(n).items) for n in (1, 2, 5)]
    assert [rounded(one["exact"]) for one in steps[:2]] == [(0.892, 0.812, 0.825, 0.818), (0.869, 0.843, 0.828, 0.822)]
    assert [round(one["sentence"].f1, 3) for one in steps[:2]] == [0.825, 0.828]
    added, done = ({by: rounded(of) for by, of in one.items()} for one in steps[1:])
    assert added == done  # splitting kept the references, and nothing was merged or archived
