"""What is told at the end of a run: as far as it came, and where everything lies."""

import json
from dataclasses import replace

import pytest
import tiny
from test_cli import INPUTS, METHODS

from wb.runs import closing

READINGS = json.dumps([{"cls": cls} for cls in ("rule", "open", "rule", "duty")])
NO_FIGURES = [
    {"method": name, "n": 0, "accuracy": None, "reason": why, "published": False}
    for name, why in (("a", "no model"), ("b", "no turns"), ("c", "no model"), ("d", ""))
]


@pytest.fixture
def made(tmp_path):
    """Makes a finished stage with these files and this summary, each in a project of its own."""

    def make(stage: str, files: dict[str, str], **summary: object):
        here = tiny.project(tmp_path / str(len(list(tmp_path.iterdir()))))
        found = tiny.version(here, replace(INPUTS, stage=stage), files)
        return replace(found, manifest={**found.manifest, "summary": summary})

    return make


def told(*done) -> list[str]:
    first, *lines = closing.lines(done)
    assert first == ""
    return [" ".join(line.split()) for line in lines]


def test_a_run_that_read_sentences_tells_of_them_and_of_its_rules_and_guards(made) -> None:
    read = made("01_a", {"sentences.json": READINGS, "rules.json": '{"rules": [1, 2, 3]}'})
    refined = made("02_b", {"rules.json": '{"rules": [1, 2]}'}, findings="two of them")
    lines = told(read, refined)
    assert lines[0].startswith("sentences 4: 2 rule, ") and "1 open" in lines[0] and "1 duty" in lines[0]
    assert lines[1:3] == ["rules 3 read, 2 after refinement", "finding 02_b: two of them"]
    assert lines[3] == f"last stage {refined.folder}" and len(lines) == 4
    tried = made("03_c", {"candidates.json": "[]"}, tools=5, proved=0, tested=3, error=2)
    guards = told(read, refined, tried)[2]
    assert guards.startswith("guards 5: 3 tested, 2 error; none is proved before 06_nagini_verification")
    assert told(made("01_a", {"rules.json": "{}"}))[0].startswith("last stage ")


def test_a_draft_of_decisions_is_named_where_sentences_are_open(made) -> None:
    draft = made("01_a", {"sentences.json": READINGS, closing.DRAFT: "x"})
    assert f"to decide {draft.folder / closing.DRAFT} (copy it beside the policy" in "\n".join(told(draft))
    both = made("01_a", {"sentences.json": READINGS, closing.DRAFT: "x"}, read=2, lacking=1)
    found = "of 2 something was read, which one word accepts; of 1 something was read that lacks a field or a part, the"
    assert found in "\n".join(told(both)) and "something was read" not in "\n".join(told(draft))
    closed = made("01_a", {"sentences.json": '[{"cls": "rule"}]', closing.DRAFT: "x"})
    assert "to decide" not in "\n".join(told(closed))


def test_what_was_measured_is_a_table_and_what_was_not_a_line_with_its_reason(made) -> None:
    measured = made("07_e", {"results.json": json.dumps({"methods": METHODS})})
    assert closing.tables([measured]) and closing.reportable([measured]) and closing.reportable([measured, measured])
    assert told(measured) == ["not run direct: it needs a model", f"results {measured.folder / 'results.json'}"]
    nothing = made("07_e", {"results.json": json.dumps({"methods": NO_FIGURES})})
    assert closing.tables([nothing]) == () and closing.reportable([nothing])
    assert told(nothing)[0].startswith("measured nothing: this policy has no labelled runs")
    some = [*NO_FIGURES, {**METHODS[0], "method": "e"}]
    mixed = made("07_e", {"results.json": json.dumps({"methods": some})})
    assert told(mixed)[:2] == ["not run a, c: no model", "not run b: no turns"]
    published = made("07_e", {"results.json": json.dumps({"methods": [{**METHODS[0], "published": True}]})})
    assert closing.tables([published]) == ()
    other = made("07_e", {"results.json": "[1]"})
    assert closing.tables([other]) == () and told(other) == [f"results {other.folder / 'results.json'}"]
    beside = {"guard_tests": [{"guard": "g", "tests": 9, "passed": 8}], "live": {"rows": []}}
    beside["live"]["rows"] = [{"agent": "x", "strategy": "s", "wishes": "complying", "trials": 7, "done": 6}]
    by_hand = made("07_e", {"results.json": json.dumps({"methods": NO_FIGURES, **beside})})
    assert told(by_hand)[1:3] == ["tests by hand g 8 of 9", "live runs 6 of 7 complying (x, s)"]
    early = made("01_a", {"a.json": "1"})
    assert closing.tables([early]) == () and not closing.reportable([early])
    assert closing.tables([measured, early]) == closing.tables([early, measured]) != ()
