"""Traces of one length by SAT, against brute force and the definition."""

import itertools
import random
import time

import pytest
from formulas import random_formula

from wb.logic import decide
from wb.logic import formula as F
from wb.logic.automaton import AutomatonError
from wb.logic.sat import Bounded, OutOfTime
from wb.logic.semantics import holds, parse

STEPS = [frozenset(s) for s in ((), "a", "b", "ab")]


def test_a_trace_of_a_length_is_found_exactly_when_there_is_one():
    rng = random.Random(4)
    with Bounded() as bounded:
        for _ in range(250):
            formulas = [random_formula(rng, 3, "ab") for _ in range(2)]
            for length in (1, 2, 3):
                exists = any(
                    all(holds(f, trace) for f in formulas) for trace in itertools.product(STEPS, repeat=length)
                )
                trace, blamed = bounded.trace(formulas, length)
                assert (trace is not None) == exists, formulas
                assert trace is None or (len(trace) == length and all(holds(f, trace) for f in formulas))
                assert trace is not None or set(blamed) <= set(formulas)


def test_no_predicate_of_a_trace_is_true_without_need():
    with Bounded() as bounded:
        trace, _ = bounded.trace([parse("ALWAYS (a OR b)"), parse("EVENTUALLY c"), parse("d IMPLIES e")], 3)
        assert sum(map(len, trace)) == 4
        for step, names in enumerate(trace):
            for name in names:
                less = [set(s) - ({name} if i == step else set()) for i, s in enumerate(trace)]
                assert not (holds(parse("ALWAYS (a OR b)"), less) and holds(parse("EVENTUALLY c"), less))


def test_the_formulas_to_blame_are_a_minimal_part():
    formulas = [parse(text) for text in ("ALWAYS (a IMPLIES b)", "ALWAYS (c IMPLIES d)", "a", "ALWAYS NOT b", "c")]
    with Bounded() as bounded:
        assert set(bounded.trace(formulas, 2)[1]) == {formulas[0], formulas[2], formulas[3]}


def test_many_formulas_are_decided_as_few_are():
    rng = random.Random(6)
    undecided = 0
    for _ in range(60):
        formulas = [random_formula(rng, 2, "abc") for _ in range(3)]
        padded = formulas + [F.Or(F.Atom(f"q{i}"), F.Not(F.Atom(f"q{i}"))) for i in range(3)]
        few, many = decide.shortest(formulas)[0], decide.shortest(padded)[0]
        assert (few is None) == (many is None)
        assert few is None or len(few) == len(many)
        undecided += few is None
    assert 5 < undecided < 55, "both outcomes occur"


def test_a_set_too_large_to_decide_is_said_to_be_undecided(monkeypatch):
    monkeypatch.setattr(decide, "ALL_EFFORT", 20_000)
    monkeypatch.setattr(decide, "MAX_LENGTH", 8)
    rules = [parse(f"EVENTUALLY (p{i} AND NEXT p{(i + 7) % 40})") for i in range(40)]
    rules += [parse(f"ALWAYS (p{i} IMPLIES EVENTUALLY p{(i + 1) % 40})") for i in range(40)]
    rules += [parse(f"ALWAYS (p{i} IMPLIES WEAK_NEXT NOT p{i})") for i in range(40)]
    rules += [parse(f"ALWAYS (p{i} IMPLIES NEXT p{(i + 1) % 40})") for i in range(40)]
    with pytest.raises(AutomatonError, match="undecided: no trace of up to 8 steps"):
        decide.shortest(rules)


def test_a_long_chain_of_blame_is_followed_to_its_end():
    """Seven rules none of which can be left out: each forces the next, and the last excludes the first."""
    chain = [
        parse(f"ALWAYS (p{i} IMPLIES WEAK_NEXT p{i + 1})" if i % 3 else f"ALWAYS (p{i} IMPLIES EVENTUALLY p{i + 1})")
        for i in range(5)
    ]
    ends = [parse("EVENTUALLY p0 AND NEXT true"), parse("ALWAYS NOT p5"), parse("ALWAYS (NEXT true OR NOT p4)")]
    trace, blamed = decide.shortest([*chain, *ends])
    assert trace is not None and all(holds(one, trace) for one in (*chain, *ends)), (
        "a weak next lets a chain end with its trace"
    )
    strong = [parse(f"ALWAYS (p{i} IMPLIES EVENTUALLY p{i + 1})") for i in range(5)]
    trace, blamed = decide.shortest([*strong, *ends])
    assert trace is None and set(blamed) <= {*strong, *ends} and len(decide.core(blamed)) == 7


def test_formulas_that_hold_together_are_found_in_few_traces_and_no_others():
    rng = random.Random(8)
    shown, true, false = 0, 0, 0
    for _ in range(80):
        rules = [random_formula(rng, 2, "ab") for _ in range(2)]
        wanted = [random_formula(rng, 2, "ab") for _ in range(5)]
        with Bounded() as bounded:
            found = decide.together(wanted, rules, bounded, 2)
        traces = [t for t in itertools.product(STEPS, repeat=2) if all(holds(rule, t) for rule in rules)]
        right = {one for one in wanted if any(holds(one, trace) for trace in traces)}
        assert found <= right
        shown, true, false = shown + len(found), true + len(right), false + len(set(wanted)) - len(right)
    assert 0.8 * true < shown <= true and false > 50, "nearly all are shown, and some do not hold"


def test_past_its_time_a_solver_answers_nothing():
    with Bounded(until=time.monotonic() - 1) as bounded, pytest.raises(OutOfTime, match="time for questions was over"):
        bounded.trace([parse("a")], 1)
    with Bounded(until=time.monotonic() + 60) as bounded:
        assert bounded.trace([parse("a")], 1)[0] == (frozenset("a"),)


def test_all_searches_for_one_answer_have_one_effort_between_them(monkeypatch):
    asked = []

    def too_large(formulas, effort=decide.MAX_EFFORT):
        asked.append(effort)
        raise AutomatonError("too large")

    monkeypatch.setattr(decide, "_product_of", too_large)
    monkeypatch.setattr(decide, "ALL_EFFORT", 3_000)
    monkeypatch.setattr(decide, "MAX_LENGTH", 20)
    rules = [parse("p0"), *(parse(f"ALWAYS (p{i} IMPLIES NEXT p{(i + 1) % 9})") for i in range(9))]
    with pytest.raises(AutomatonError, match="undecided: no trace of up to 20 steps"):
        decide.shortest(rules)
    assert asked[0] == decide.LEAST_EFFORT and asked == sorted(asked) and asked[-1] > asked[0]
    assert sum(asked[:-2]) < 3_000 <= sum(asked), "the last length may take two"
