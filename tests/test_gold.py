"""The offline reading of three foreign documents, held against their gold; what is asked of the judge itself."""

from __future__ import annotations

import pytest
from bench import gold
from conftest import shared

from wb.logic import syntax
from wb.rules.rule import Rule

shared("data", "policies")


@pytest.fixture(scope="module", params=gold.POLICIES)
def one(request: pytest.FixtureRequest) -> gold.Reading:
    return gold.read(request.param)


def test_no_rule_is_inverted_no_sentence_is_lost_and_nothing_is_bound_to_another_tool(one: gold.Reading) -> None:
    assert not [row for row in gold.judge(one, one.written) if row.verdict == "inverted"]
    assert gold.lost(one) == ()
    assert "wrongly" not in gold.bound(one, one.written).values()
    kept = gold.judge(one, one.kept)
    assert not [row.rule.id for row in kept if row.by == "calls" and row.verdict != "right"]


def test_no_violating_call_is_allowed_and_no_complying_one_denied(one: gold.Reading) -> None:
    came = gold.in_force(one)
    assert not came.get(("violating", "allow")) and not came.get(("complying", "deny"))


def test_what_is_read_of_foreign_law_is_right_and_the_rest_is_open(one: gold.Reading) -> None:
    assert all(row.verdict == "right" for row in gold.judge(one, one.kept))
    assert all(gold.places(one)[id].cls != "not a constraint" for id, core, *_ in gold.gold(one.source.name) if core)
    assert sum(account.cls == "open" for account in one.accounts) >= 40


def test_each_gold_rule_has_a_form_that_tells_a_violation_from_compliance(one: gold.Reading) -> None:
    gold_rules = [rule.id for rule in gold.wanted(one)]
    assert set(gold_rules) <= gold.forms().keys()
    assert all(bad not in goods for bad, goods in (gold.forms()[rule] for rule in gold_rules))


@pytest.mark.parametrize(
    ("formula", "verdict"),
    [
        ("ALWAYS (cancel IMPLIES pending)", "right"),
        ("ALWAYS (cancel IMPLIES NOT pending)", "inverted"),
        ("ALWAYS NOT cancel", "over"),
        ("ALWAYS (pending IMPLIES cancel)", "misread"),  # holds in both
        ("ALWAYS (cancel IMPLIES EVENTUALLY pending)", "misread"),  # what is done later mends nothing
        ("ALWAYS (cancel IMPLIES weather)", "misread"),  # the gold knows of no weather
    ],
)
def test_a_form_tells_right_from_inverted_and_misread(formula: str, verdict: str) -> None:
    rule = Rule("r", "x", syntax.parse(formula), "forbid", "action", "c", "x")
    (one,) = [one for one in gold.wanted(gold.read("retail")) if one.id == "R15.1"]
    assert gold.formed(rule, {p: p for p in rule.predicates}, one) == verdict


@pytest.mark.parametrize(
    ("came", "verdict"),
    [
        ({"a": "right", "b": "misread"}, "right"),
        ({"a": "right", "b": "inverted"}, "inverted"),
        ({"a": "right", "b": "over"}, "misread"),
        ({"a": "misread"}, "misread"),
        ({}, "misread"),
    ],
)
def test_a_rule_is_right_only_if_it_breaks_nothing_beside(came: dict[str, str], verdict: str) -> None:
    rule = Rule("r", "x", syntax.parse("ALWAYS NOT a"), "forbid", "action", "c", "x")
    assert gold.Judged(rule, "calls", came).verdict == verdict
