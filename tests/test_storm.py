"""Storm against the definition: random formulas of past and future on stacked traces."""

import random

import pytest
from formulas import random_formula, random_trace

from wb.logic import formula as F
from wb.logic import storm
from wb.logic.semantics import holds, parse


def test_storm_agrees_with_the_definition_on_random_pairs():
    rng = random.Random(7)
    for _ in range(60):
        formula = random_formula(rng, 4, "abc")
        traces = [random_trace(rng, "abc") for _ in range(20)]
        assert storm.check([formula], traces) == [[holds(formula, trace) for trace in traces]], formula


@pytest.mark.parametrize(
    "text, trace, expected",
    [
        ("NEXT a", [{"a"}], False),
        ("WEAK_NEXT a", [set()], True),
        ("NEXT a", [set(), {"a"}], True),
        ("PREVIOUSLY true", [{"a"}], False),
        ("EVENTUALLY PREVIOUSLY a", [{"a"}, set()], True),
        ("ALWAYS (a IMPLIES ONCE b)", [{"b"}, {"a"}], True),
        ("ALWAYS (a IMPLIES ONCE b)", [{"a"}, {"b"}], False),
        ("ONCE NEXT a", [set(), {"a"}], True),
        ("true", [set()], True),
        ("NOT NOT false", [set()], False),
        ("a WEAK_UNTIL b", [{"a"}, {"a"}], True),
        ("a UNTIL b", [{"a"}, {"a"}], False),
        ("ALWAYS (get(r) IMPLIES ONCE look(r, call.id))", [{"look(r, call.id)"}, {"get(r)"}], True),
        ("ALWAYS (get(r) IMPLIES ONCE look(r, call.id))", [{"get(r)"}, {"look(r, call.id)"}], False),
    ],
)
def test_storm_reads_the_ends_of_a_trace_as_the_definition_does(text, trace, expected):
    assert storm.check([parse(text)], [trace]) == [[expected]] == [[holds(parse(text), trace)]]


def test_every_formula_meets_every_trace_and_empty_traces_are_refused():
    formulas, traces = [parse("a"), parse("NEXT b")], [[{"a"}], [set(), {"b"}], [{"a"}, {"a"}]]
    assert storm.check(formulas, traces) == [[True, False, True], [False, True, False]]
    assert storm.check([], traces) == [] and storm.check(formulas, []) == [[], []]
    with pytest.raises(ValueError, match="at least one step"):
        storm.check(formulas, [[]])


def test_a_predicate_may_have_the_name_of_a_label_that_storm_uses():
    for name in ("alive", "init", "any", "sub0", "deadlock"):
        formula = F.Always(F.Implies(F.Atom(name), F.Once(F.Next(F.Atom(name)))))
        trace = [{name}, set(), {name}]
        assert storm.check([formula], [trace]) == [[holds(formula, trace)]]


def test_a_second_opinion_is_asked_on_a_run_that_breaks_each_formula_and_on_one_that_keeps_it(monkeypatch):
    formulas = [parse("ALWAYS (book IMPLIES ONCE paid)"), parse("EVENTUALLY done"), parse("true")]
    found = storm.opinions(formulas)
    assert [(f.formula, f.ours) for f in found] == [(formulas[0], False), (formulas[0], True)] + [
        (formulas[1], False),
        (formulas[1], True),
        (formulas[2], True),
    ]
    assert all(f.ours == f.theirs for f in found) and found[0].trace == (frozenset({"book"}),)
    monkeypatch.setattr(storm.semantics, "holds", lambda formula, trace: True)
    assert [f.ours != f.theirs for f in storm.opinions(formulas)] == [True, False, True, False, False]


def test_a_formula_with_a_window_in_time_has_no_second_opinion():
    timed, plain = parse("ALWAYS (a IMPLIES ONCE[<= 24h] b)"), parse("ALWAYS (a IMPLIES ONCE b)")
    assert {opinion.formula for opinion in storm.opinions([timed, plain])} == {plain}
