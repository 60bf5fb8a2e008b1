"""Hostile formulas and rule files end in an answer or a clear error, in bounded time and memory."""

import random
import resource
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import bits

from wb.logic import automaton, decide
from wb.logic import formula as F
from wb.logic.automaton import AutomatonError
from wb.logic.semantics import Monitor, holds, parse, render
from wb.rules import check, rulefile
from wb.rules.rulefile import RuleFileError

PLAIN = (F.And, F.Or, F.Xor, F.Implies, F.Iff)
TEMPORAL = (F.Until, F.Since, F.Release, F.WeakUntil, F.And)


def balanced(rng, depth, names, ops):
    """A full tree of binary operators: as many nodes as a text of the greatest length can hold."""
    if depth == 0:
        return F.Atom(f"p{rng.randrange(names)}")
    return rng.choice(ops)(balanced(rng, depth - 1, names, ops), balanced(rng, depth - 1, names, ops))


@pytest.mark.parametrize(
    "depth, names, ops",
    [
        (11, 3000, PLAIN),
        (11, 300, PLAIN),
        (12, 60, PLAIN),
        (12, 8, PLAIN),
        (11, 3, TEMPORAL),
        (4, 3, TEMPORAL),
        (5, 12, TEMPORAL),
        (10, 60, (F.And, F.Or, F.Xor)),
    ],
)
def test_a_formula_of_any_size_is_compiled_or_refused_within_bounds(depth, names, ops):
    formula = balanced(random.Random(depth * names), depth, names, ops)
    assert parse(render(formula)) == formula
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    trace = [{"p1", "p2"}, {"p0"}, set()] * 5
    truth = holds(formula, trace)
    assert bits.holds_all([formula], [trace])[0, 0] == truth
    try:
        assert automaton.compile(formula).accepts(trace) == truth
    except AutomatonError as error:
        assert "at most" in str(error)
    try:
        assert decide.satisfiable(formula).question == "satisfiable"
    except AutomatonError as error:
        assert "at most" in str(error) or "undecided" in str(error)
    assert time.process_time() - start < 30
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 700_000, "kilobytes"


def test_a_wide_formula_is_still_satisfied_by_a_solver():
    wide = F.conjunction(tuple(F.Eventually(F.Atom(f"p{i}")) for i in range(40)))
    rule = F.Not(F.Or(F.Not(wide), F.FALSE))  # one formula, not a conjunction that could be taken apart
    with pytest.raises(AutomatonError):
        Monitor(rule)
    answer = decide.satisfiable(rule)
    assert answer and answer.witness == (frozenset(f"p{i}" for i in range(40)),)


def test_a_rule_too_large_to_decide_is_undecided_in_a_report_and_stops_nothing():
    """Not false and not clean: it is listed with its reason, and the other rules are decided."""
    body = balanced(random.Random(3), 6, 12, TEMPORAL)
    wide, narrower = (render(F.Always(F.Implies(act, body))) for act in (F.Atom("act"), parse("act AND other")))
    formulas = {
        "wide": wide,
        "plain": "ALWAYS (act IMPLIES other)",
        "narrower": narrower,
        "weaker": "ALWAYS (act AND p0 IMPLIES other)",
    }
    states = {name: {"kind": "state"} for name in ("other", *(f"p{i}" for i in range(12)))}
    rules = [{"id": name, "formula": text, "modality": "permit_only_if"} for name, text in formulas.items()]
    data = {"predicates": {"act": {"kind": "action", "tools": ["act"]}, **states}, "rules": rules}
    report = check.check(rulefile.from_json(data))
    assert not report.clean and ("plain", "weaker") in report.implied
    assert ("wide, narrower" in dict(report.undecided)) and all(reason for _, reason in report.undecided)
    assert "narrower" not in [blame.rule for blame in report.redundant], "not shown, so not said"


@given(st.binary(max_size=200))
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_a_rule_file_or_an_error(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "bytes.rules"
    path.write_bytes(data)
    try:
        ruleset = rulefile.load(path)
    except RuleFileError as error:
        assert str(error) and len(str(error)) < 1000
    else:
        assert ruleset.rules == () or check.check(ruleset) is not None


@pytest.mark.parametrize(
    "letter, name",
    [
        ("\u0430", "CYRILLIC"),
        ("\u03b1", "GREEK"),
        ("\uff41", "FULLWIDTH"),
        ("\u200b", "ZERO WIDTH"),
        ("\u202e", "RIGHT-TO-LEFT"),
        ("\u00e9", "ACUTE"),
        ("\u2028", "LINE SEPARATOR"),
        ("\ud800", "unnamed"),
    ],
)
def test_letters_that_look_alike_or_hide_are_named(letter, name):
    with pytest.raises(ValueError, match=name):
        parse(f"ALWAYS (pay IMPLIES {letter}dult)")
