"""What a guard can ever decide, against trying every combination of values by a program of its own."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import recount
from hypothesis import given, settings
from hypothesis import strategies as st

from wb.bench import summary
from wb.domain import tools
from wb.domain.tools import Field, Tool, Toolbox
from wb.guards import contract
from wb.guards.runtime import Guarded
from wb.logic import cel, semantics
from wb.rules.rule import Predicate, Rule, RuleSet
from wb.rules.sentences import Account
from wb.runs import artifact

BOX = Toolbox(
    (Tool("lend", arguments=(Field("books", "array"), Field("shelf", "string", values=("a", "b")))), Tool("ring")),
    (Field("age", "integer"), Field("card", "boolean"), Field("role", "string", values=("guest", "chief"))),
)
PREDICATES = (
    Predicate("lend", "action", "", tools=("lend",)),
    Predicate("ring", "action", "", tools=("ring",)),
    Predicate("sing", "action", ""),
    Predicate("adult", "state", "", test=cel.parse("state.age >= 18")),
    Predicate("old", "state", "", test=cel.parse("state.age >= 65")),
    Predicate("carded", "state", "", test=cel.parse("state.card == true")),
    Predicate("chief", "state", "", test=cel.parse('state.role == "chief"')),
    Predicate("guest", "state", "", test=cel.parse('state.role == "guest"')),
    Predicate("few", "state", "", test=cel.parse("size(call.books) <= 2"), tools=("lend",)),
    Predicate("near", "state", "", test=cel.parse('call.shelf in ["a", "b"]'), tools=("lend",)),
    Predicate("sober", "state", ""),
)
TERMS = (
    "adult",
    "old",
    "carded",
    "chief",
    "guest",
    "few",
    "near",
    "sober",
    "ONCE ring",
    "ONCE sober",
    "ring",
    "ONCE sing",
    "TRUE",
    "FALSE",
)


def ruleset(*bodies: str) -> RuleSet:
    texts = [f"ALWAYS (lend IMPLIES ({body}))" for body in bodies]
    rules = [Rule(f"r{i}", text, semantics.parse(text), "forbid") for i, text in enumerate(texts, 1)]
    return RuleSet(PREDICATES, tuple(rules))


def guarded(rules: RuleSet, grade: str = "proved") -> tuple[Guarded, ...]:
    return tuple(Guarded(c, "", grade) for c in contract.contracts(BOX, rules))


def told(rules: RuleSet, *readings: Account, grade: str = "proved") -> summary.Summary:
    return summary.summary("p", "offline", BOX, readings, rules, rules, guarded(rules, grade))


def opened(name: str, *tools: str) -> Account:
    return Account(name, name, 0, 1, (), "open", "by hand", (), tools)


BODY = st.recursive(
    st.sampled_from(TERMS),
    lambda part: st.one_of(
        part.map(lambda a: f"NOT ({a})"),
        st.tuples(part, st.sampled_from(["AND", "OR", "IMPLIES"]), part).map(lambda p: f"({p[0]}) {p[1]} ({p[2]})"),
    ),
    max_leaves=5,
)


@settings(max_examples=150, deadline=None)
@given(st.lists(BODY, min_size=0, max_size=3), st.booleans())
def test_what_a_guard_can_decide_is_what_trying_all_values_finds(bodies: list[str], waiting: bool) -> None:
    rules = ruleset(*bodies)
    (made,) = (c for c in contract.contracts(BOX, rules) if c.tool == "lend")
    row = {
        "contract": made.lines(),
        "rules": [item.rule for item in made.items],
        "parameters": json.loads(json.dumps(summary.parameters(made, rules, BOX))),
    }
    found = told(rules, *([opened("s1", "lend")] if waiting else [])).tools[0]
    assert (found.fate, found.allows, found.denies) == recount.fate(row, "proved", ["s1"] if waiting else [])


def test_a_tool_without_rules_or_open_sentences_is_free_and_one_that_is_unproved_blocked() -> None:
    rules = ruleset("adult")
    lend, ring = told(rules).tools
    assert (lend.fate, lend.allows, lend.denies) == ("guarded", "can", "can")
    assert (ring.fate, ring.allows, ring.denies) == ("free", "can", "never")
    assert {t.fate for t in told(rules, grade="tested").tools} == {"blocked"}
    assert [t.fate for t in told(rules, opened("s", "ring")).tools] == ["guarded", "blocked"]


UNFIT = (
    ({"x": {"type": "object", "properties": {"y": {"type": "int"}}}}, (), "its schema cannot be read"),
    ({"x": {"$ref": "#/$defs/none"}}, (), "its schema cannot be read"),
    ({"x": {"type": "string", "enum": []}}, (), "its schema lists an 'enum' without a value"),
    ({"x": {"type": "string"}}, ("z",), "its schema requires ['z'], which it does not declare"),
    ({"properties": {"type": "string"}, "enum": {"type": "array"}}, ("properties",), ""),
    ({"x": {"type": "object", "required": ["y"], "properties": {}, "additionalProperties": True}}, (), ""),
    ({}, (), ""),
)


@pytest.mark.parametrize(("properties", "required", "why"), UNFIT)
def test_a_tool_whose_schema_fits_no_call_can_never_be_allowed(properties: dict, required: tuple, why: str) -> None:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    box = tools.parse(json.dumps([{"name": "lend", "parameters": schema}]))
    rules = RuleSet((), ())
    kept = tuple(Guarded(c, "", "proved") for c in contract.contracts(box, rules))
    found = summary.summary("p", "offline", box, (), rules, rules, kept)
    (lend,) = found.tools
    assert lend.unfit.startswith(why) and bool(lend.unfit) is bool(why)
    assert (lend.allows, lend.fate) == (("never", "blocked") if why else ("can", "free"))
    lines = dict(summary.lines(json.loads(artifact.dumps(found, "summary"))))
    assert lines.get("fits no call", "").startswith("lend: its schema") is bool(why)


def test_an_enumeration_has_no_values_but_its_own() -> None:
    """Whoever is neither a guest nor the chief is nobody that the toolbox knows of."""
    assert told(ruleset("NOT chief AND NOT guest")).tools[0].allows == "never"
    assert told(ruleset("chief OR guest")).tools[0].denies == "never"


def test_a_fact_that_nobody_declares_must_be_told() -> None:
    lend = told(ruleset("sober", "adult OR sober")).tools[0]
    assert (lend.fate, lend.allows, lend.needs) == ("blocked", "only if told", ("sober",))
    either = told(ruleset("adult OR sober")).tools[0]
    assert (either.fate, either.allows, either.needs) == ("guarded", "can", ())
    assert told(ruleset("ONCE sing")).tools[0].allows == "only if told", "no tool sings"


def test_too_many_combinations_are_said_to_be_so(monkeypatch) -> None:
    monkeypatch.setattr(summary, "MOST", 2)
    lend = told(ruleset("adult AND carded AND few AND chief AND sober")).tools[0]
    assert lend.allows == "not settled"


def test_the_lines_count_what_the_summary_holds() -> None:
    rules = ruleset("adult", "sober")
    found = json.loads(artifact.dumps(told(rules, opened("s", "ring")), "summary"))
    said = dict(summary.lines(found))
    assert said["sentences"] == "1: 0 rule, 1 open, 0 not a constraint, 0 duty, 0 waived"
    under = replace(opened("s", "ring"), headings=("Bells",))
    title = replace(opened("t"), text="Bells", cls="not a constraint")
    over = json.loads(artifact.dumps(told(rules, title, under), "summary"))
    assert dict(summary.lines(over))["sentences"].startswith("2 (1 of them titles): 0 rule, 1 open, 1 not a constraint")
    assert said["rules"] == "2 read, 2 after refinement: 2 in guards, 0 in no guard"
    assert said["tools"] == "2: 0 free, 0 guarded, 2 blocked"
    assert said["can never allow"] == "1: ring" and said["only if told"] == "1: lend (sober)"
    proved = "1 of 1 tools with rules, no open sentence bearing on them"
    assert said["proved"] == f"{proved}; rules and code are one grammar's reading"
    assert dict(summary.lines(found | {"model": "m"}))["proved"] == proved


def test_a_tool_whose_guard_was_never_made_is_blocked_and_what_is_told_is_told() -> None:
    rules = ruleset("adult")
    found = summary.summary("p", "offline", BOX, (opened("s", "lend"),), rules, rules, guarded(rules)[1:])
    lend, ring = found.tools
    assert lend == summary.ToolFate("lend", "blocked", (), ("s",), "none", "never", "can") and ring.fate == "free"


def test_what_a_declared_field_tells_nobody_has_to_name() -> None:
    for body, telling in (
        ("adult", True),
        ("few", True),
        ("near", True),
        ("sober", False),
        ("ONCE ring", True),
        ("ONCE sing", False),
        ("ONCE carded", True),
        ("ONCE sober", False),
        ("ONCE (ring AND sober)", False),
        ("ONCE few", True),
        ("odd", False),
        ("ONCE odd", False),
        ("apart", True),
    ):
        odd = Predicate("odd", "state", "", test=cel.parse("state.unheard == true"))
        apart = Predicate("apart", "state", "", test=cel.parse("state.age - 3 >= size(call.books)"), tools=("lend",))
        text = f"ALWAYS (lend IMPLIES ({body}))"
        rules = RuleSet((*PREDICATES, odd, apart), (Rule("r", text, semantics.parse(text), "forbid"),))
        (made,) = (one for one in contract.contracts(BOX, rules) if one.tool == "lend")
        assert all(summary.told(p, rules, BOX) for p in made.parameters) == telling, body
