"""What a run says at its end: as far as it came, and where everything lies."""

import json
from dataclasses import replace

import pytest
import tiny
from test_cli import INPUTS, METHODS
from test_report import RULES

from wb.runs import report

OWN = {"text": "Do so.", "headings": []}
READINGS = json.dumps(
    [
        {"cls": "rule", **OWN},
        {"cls": "open", **OWN},
        {"cls": "rule", "part": "on Sundays", **OWN},
        {"cls": "duty", "part": "or not", **OWN},
    ]
)
NO_FIGURES = [
    {"method": name, "n": 0, "accuracy": None, "reason": why, "published": False}
    for name, why in (("a", "no model"), ("b", "no turns"), ("c", "no model"), ("d", ""))
]
BESIDE = {"guard_tests": [{"guard": "g", "tests": 9, "passed": 8}]}
BESIDE["live"] = {"rows": [{"agent": "x", "strategy": "s", "wishes": "complying", "trials": 7, "done": 6}]}


@pytest.fixture
def made(tmp_path):
    """Makes a finished stage with these files and this summary, each in a project of its own."""

    def make(stage: str, files: dict[str, object], **summary: object):
        here = tiny.project(tmp_path / str(len(list(tmp_path.iterdir()))))
        texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in files.items()}
        version = tiny.version(here, replace(INPUTS, stage=stage), texts)
        return replace(version, manifest={**version.manifest, "summary": summary})

    return make


def lines(*done) -> list[str]:
    first, *rest = report.lines(done)
    name, *rest = rest
    assert first == "" and name.split() == ["policy", "rules"]
    return [" ".join(line.split()) for line in rest]


def test_a_run_that_read_sentences_counts_them_its_rules_and_its_guards(made) -> None:
    read = made("01_a", {"sentences.json": READINGS, "rules.json": RULES})
    refined = made("02_b", {"rules.json": RULES}, findings="two of them")
    shown = lines(read, refined)
    assert shown[0] == "sentences 4: 2 rule, 1 open, 1 duty" and shown[1] == "rules 1 read, 1 after refinement"
    assert shown[2:] == [
        "finding 02_b: two of them", f"last stage {refined.folder}"
    ]  # fmt: skip
    tried = made("05_c", {"candidates.json": []}, tools=5, proved=0, tested=3, error=2)
    assert lines(tried)[0].startswith("guards 5: 3 tested, 2 error; none is proved before 06_nagini_verification")


def test_a_draft_of_decisions_is_named_where_sentences_are_open(made) -> None:
    draft = {"sentences.json": READINGS, report.DRAFT: "x"}
    plain, both = made("01_a", draft), made("01_a", draft, offered=2)
    assert f"to decide {plain.folder / report.DRAFT} (copy what you decide into decisions.yaml" in "\n".join(
        lines(plain)
    )
    assert "open sentences of 2 there are readings to choose from" in lines(both)


@pytest.mark.parametrize(
    ("results", "shown", "measured"),
    [
        ({"methods": METHODS}, ["not run direct: it needs a model"], True),
        ({"methods": [*NO_FIGURES, METHODS[0]]}, ["not run a, c: no model", "not run b: no turns"], True),
        ({"methods": NO_FIGURES}, ["measured nothing: this policy has no labelled runs; -p runs=FILE"], False),
        ({"methods": [{**METHODS[0], "published": True}]}, [], False),
        ({"methods": [], **BESIDE}, ["tests by hand g 8 of 9", "live runs 6 of 7 complying (x, s)"], False),
        ([1], [], False),
    ],
)
def test_what_was_measured_is_a_table_and_what_was_not_a_line_with_its_reason(made, results, shown, measured) -> None:
    version, early = made("07_e", {"results.json": results}), made("01_a", {"a.json": "1"})
    found = lines(version)
    assert len(found) == len(shown) + 1 and found[-1] == f"results {version.folder / 'results.json'}"
    assert all(line.startswith(start) for line, start in zip(found, shown, strict=False))
    tables = report.tables([version])
    assert bool(tables) == measured and report.reportable([version, early]) and not report.reportable([early])
    assert not tables or tables[0].title == str(version.manifest["policy"]["name"]) != ""
    assert report.tables([early]) == () and report.tables([early, version]) == report.tables([version])
