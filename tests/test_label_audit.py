"""The audit of labels: what is known of public sets is found, a label turned round is found, a fair one is not."""

from __future__ import annotations

import pytest
from bench import label_audit
from bench.label_audit import BREAKS, NOTHING, Label, audited
from conftest import shared
from oracles import six_rules

USER = {"age": 30, "domestic": True, "dr_license": True, "vaccine": True, "membership": True}


def test_a_label_disagrees_where_what_is_right_breaks_a_sentence_or_what_is_wrong_breaks_none():
    rows = [
        Label("a", "book", True, (), "s"),
        Label("a", "book", True, (), "s"),  # the same again
        Label("b", "book", True, ("No booking.",), "at night"),
        Label("b", "call", False, ("No calls.",), "s"),
        Label("c", "call", False, (), "s"),
        Label("d", "call", True, None, "unclear"),
    ]
    count, found = audited("set", "a person", rows)
    assert (count["labels"], count["not decided"], count[BREAKS], count[NOTHING]) == (5, 1, 1, 1)
    assert (count["tasks"], count["tasks that disagree"]) == (4, 2)
    assert [(one["task"], one["label"], one["sentence"], one["state"]) for one in found] == [
        ("b", BREAKS, "No booking.", "at night"),
        ("c", NOTHING, "", "s"),
    ]


@pytest.mark.parametrize(
    ("does", "changed"),
    [
        ("shop", {"membership": False}),
        ("flight", {"vaccine": False}),
        ("car", {"dr_license": False}),
        ("hotel", {"age": 17}),
        ("media", {"domestic": False}),
        ("job", {"age": 14}),
    ],
)
def test_each_of_the_six_rules_is_broken_by_its_own_fact_alone(does, changed):
    assert six_rules.violated(does, USER) == () and six_rules.violated("none", USER | changed) == ()
    assert six_rules.violated(does, USER | changed) == (six_rules.SENTENCES[does],)
    others = [one for one in six_rules.SENTENCES if one != does and {one, does} != {"hotel", "job"}]
    assert all(six_rules.violated(one, USER | changed) == () for one in others)
    with pytest.raises(KeyError):
        six_rules.violated("sail", USER)


def test_what_is_known_of_the_public_sets_is_found(tmp_path, monkeypatch):
    shared("data", "tau_airline", "runs.jsonl")
    monkeypatch.setattr(label_audit, "OUT", tmp_path)
    count, found = audited("airline", "", label_audit.of_airline())
    assert (count["labels"], count["not decided"], count[BREAKS]) == (28, 0, 7)
    assert sorted({one["task"] for one in found}) == ["10", "16", "28", "34", "45", "46"]
    assert all(one["sentence"] and "member" in one["state"] for one in found)
    count, found = audited("EICU-AC", "", label_audit.of_eicu())
    assert count[BREAKS] == 0 and [one["label"] for one in found] == [NOTHING], "a column that the query never reads"
    labels = list(label_audit.of_mind2web())
    assert audited("Mind2Web-SC", "", labels)[1] == []
    turned = [Label(one.task, one.action, not one.right, one.broken, one.state) for one in labels]
    assert len(audited("Mind2Web-SC", "", turned)[1]) == len(labels) == 99
