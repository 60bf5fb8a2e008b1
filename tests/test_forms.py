"""Three forms of one rule agree on every trace, and a planted difference shows its shortest trace."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
from formulas import BINARY, UNARY, random_formula
from oracles import forms
from oracles.forms import FormError, compare, write

from wb.logic import automaton
from wb.logic import formula as F
from wb.logic.semantics import holds, parse
from wb.rules import rulefile
from wb.rules.rule import Rule

PAST = tuple(op for op in UNARY if op not in F.FUTURE), tuple(op for op in BINARY if op not in F.FUTURE)


def rule(text):
    return Rule("r", "", parse(text), "forbid")


def test_random_rules_that_look_back_answer_alike_in_all_forms():
    rng = random.Random(1)
    for _ in range(80):
        made = Rule("r", "", F.Always(random_formula(rng, 3, "abc", *PAST)), "forbid")
        assert compare(made, ("a", "b")), made.formula


def test_the_hand_written_rules_answer_alike_in_all_forms():
    ruleset = rulefile.load(Path(__file__).parent / "rules" / "airline.yaml")
    compared = 0
    for one in ruleset.rules:
        try:
            written = write(one.formula)
        except FormError:
            continue
        compared += 1
        assert compare(one, tuple(p.name for p in ruleset.actions(one)), written)
    assert compared == 16


def test_the_generated_decision_denies_exactly_where_the_rule_first_breaks():
    rng = random.Random(2)
    for _ in range(100):
        body = random_formula(rng, 3, "ab", *PAST)
        written = write(F.Always(body))
        decide, memory = written.function(), written.start
        trace = []
        for _ in range(6):
            trace.append(frozenset(n for n in "ab" if rng.random() < 0.5))
            allowed, memory = decide(tuple(n in trace[-1] for n in written.names), memory)
            assert allowed == holds(body, trace, len(trace) - 1)


@pytest.mark.parametrize(
    "rule_text, other, trace",
    [
        ("ALWAYS (pay IMPLIES adult)", "ALWAYS (pay AND known IMPLIES adult)", [{"pay"}]),
        ("ALWAYS (pay IMPLIES ONCE adult)", "ALWAYS (pay IMPLIES adult)", [{"adult"}, {"pay"}]),
        (
            "ALWAYS (pay IMPLIES NOT PREVIOUSLY ONCE pay)",
            "ALWAYS (pay IMPLIES NOT PREVIOUSLY pay)",
            [{"pay"}, set(), {"pay"}],
        ),
    ],
)
def test_a_decision_of_another_rule_is_told_apart_by_a_shortest_trace(rule_text, other, trace):
    apart = compare(rule(rule_text), ("pay",), write(parse(other)))
    assert not apart and [set(step) for step in apart.trace] == trace
    said = dict(apart.answers)
    assert said["automaton"] == said["circuit"] != said["decision"]


def test_an_automaton_of_another_rule_is_told_apart():
    apart = compare(
        rule("ALWAYS (pay IMPLIES adult)"), ("pay",), machine=automaton.compile(parse("ALWAYS (pay IMPLIES NOT adult)"))
    )
    assert not apart and dict(apart.answers)["automaton"] != dict(apart.answers)["decision"]


def test_a_mutant_of_the_source_is_caught():
    written = write(parse("ALWAYS (pay AND NOT known IMPLIES ONCE adult)"))
    mutants = [
        replace(written, source=written.source.replace(*change))
        for change in (
            ("and (", "or (") if "and (" in written.source else (" and ", " or "),
            ("before[0]", "False"),
            ("(not ", "("),
            (" or not ", " or "),
        )
    ]
    assert all(mutant.source != written.source for mutant in mutants)
    assert not any(
        compare(rule("ALWAYS (pay AND NOT known IMPLIES ONCE adult)"), ("pay",), mutant) for mutant in mutants
    )


@pytest.mark.parametrize(
    "text", ["EVENTUALLY a", "ALWAYS (a IMPLIES NEXT b)", "a", "ALWAYS (a IMPLIES ONCE EVENTUALLY b)"]
)
def test_a_rule_about_later_steps_has_no_decision_at_a_call(text):
    with pytest.raises(FormError, match="looks only back"):
        forms.write(parse(text))


def test_no_name_of_a_rule_enters_the_source():
    source = write(parse("ALWAYS (import_os IMPLIES ONCE exec)")).source
    assert "import_os" not in source and "exec" not in source
