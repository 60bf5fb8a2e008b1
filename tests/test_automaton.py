"""Automata and monitors against the definition."""

import itertools
import random

import pytest
from formulas import random_formula, random_trace

from wb.logic import formula as F
from wb.logic.automaton import AutomatonError, compile
from wb.logic.semantics import Monitor, holds, parse


def random_cases(seed, count, depth=3):
    rng = random.Random(seed)
    for _ in range(count):
        formula = random_formula(rng, depth, "abc")
        yield formula, [random_trace(rng, "abc") for _ in range(5)]


def test_automaton_and_monitor_agree_with_the_definition_on_every_prefix():
    for formula, traces in random_cases(11, 600):
        automaton = compile(formula)
        for trace in traces:
            monitor = Monitor(formula)
            for length in range(1, len(trace) + 1):
                expected = holds(formula, trace[:length])
                assert automaton.accepts(trace[:length]) == expected, (formula, trace[:length])
                assert monitor.step(trace[length - 1]).endswith(str(expected).lower()), (formula, trace[:length])


def test_a_permanent_verdict_is_exactly_one_that_no_continuation_changes():
    steps = [frozenset(s) for s in ((), "a", "b", "ab")]
    longer = [tail for n in (1, 2, 3) for tail in itertools.product(steps, repeat=n)]
    rng = random.Random(5)
    for _ in range(60):
        formula = random_formula(rng, 2, "ab")
        start = random_trace(rng, "ab", 3)
        monitor = Monitor(formula)
        for step in start:
            monitor.step(step)
        outcomes = {holds(formula, start)} | {holds(formula, start + tail) for tail in longer}
        assert monitor.verdict.startswith("permanently") == (len(outcomes) == 1), (formula, start, monitor.verdict)


@pytest.mark.parametrize(
    "text, verdict",
    [
        ("true", "permanently_true"),
        ("a AND NOT a", "permanently_false"),
        ("a", "currently_false"),
        ("ALWAYS a", "currently_false"),
    ],
)
def test_before_the_first_step_only_a_settled_formula_has_a_verdict(text, verdict):
    assert Monitor(parse(text)).verdict == verdict


@pytest.mark.parametrize(
    "text, states",
    [
        ("ALWAYS a", 3),
        ("EVENTUALLY a", 2),
        ("ALWAYS (a IMPLIES EVENTUALLY b)", 3),
        ("NEXT NEXT a", 5),
        ("ALWAYS (a IMPLIES ONCE b)", 4),
        ("true", 2),
        ("ONCE NEXT a", 4),
        ("a OR NOT a", 2),
    ],
)
def test_automata_are_minimal(text, states):
    assert len(compile(parse(text)).rows) == states


@pytest.mark.parametrize(
    "one, two",
    [
        ("ALWAYS a", "NOT EVENTUALLY NOT a"),
        ("a WEAK_UNTIL b", "(a UNTIL b) OR ALWAYS a"),
        ("a RELEASE b", "NOT (NOT a UNTIL NOT b)"),
        ("WEAK_NEXT a", "NOT NEXT NOT a"),
        ("EVENTUALLY (a AND ONCE b)", "EVENTUALLY (b AND EVENTUALLY a)"),
        ("ALWAYS (a IMPLIES ONCE b)", "b RELEASE (a IMPLIES b)"),
        ("EVENTUALLY PREVIOUSLY a", "EVENTUALLY (a AND NEXT true)"),
    ],
)
def test_formulas_of_one_meaning_have_equal_automata(one, two):
    first, second = parse(one), parse(two)
    names = sorted(set(F.atoms(first)) | set(F.atoms(second)))
    assert compile(first, names) == compile(second, names)


def test_names_must_hold_every_predicate():
    with pytest.raises(ValueError, match=r"\['b'\] are missing"):
        compile(parse("a AND b"), ["a"])


def test_too_many_states_or_vectors_are_a_clear_error():
    with pytest.raises(AutomatonError, match="at most"):
        compile(parse(f"EVENTUALLY (a AND {'NEXT ' * 14} b)"))


def test_a_formula_of_many_predicates_is_read_through_its_propositional_parts():
    rng = random.Random(8)
    many = " OR ".join(f"t{i}" for i in range(30))
    texts = [
        f"ALWAYS (({many}) IMPLIES ONCE z)",
        f"ALWAYS (({many}) AND z IMPLIES NEXT NOT ({many}))",
        f"EVENTUALLY ({many}) UNTIL (z AND NOT t0)",
        f"{many}",
        f"ALWAYS NOT ({many.replace('OR', 'AND')})",
    ]
    names = [f"t{i}" for i in range(30)] + ["z"]
    for text in texts:
        formula = parse(text)
        automaton = compile(formula)
        assert len(automaton.tests) <= 3 and set(automaton.names) == set(F.atoms(formula))
        for _ in range(40):
            trace = [frozenset(n for n in names if rng.random() < 0.05) for _ in range(6)]
            assert automaton.accepts(trace) == holds(formula, trace), (text, trace)


def test_parts_that_exclude_each_other_settle_a_verdict():
    some, all_ = (f" {op} ".join(f"t{i}" for i in range(10)) for op in ("OR", "AND"))
    assert Monitor(parse(f"NOT EVENTUALLY (({all_}) AND NEXT true AND NOT ({some}))")).verdict == "permanently_true"


def test_too_many_parts_are_a_clear_error():
    with pytest.raises(
        AutomatonError, match="at most 8 predicates or propositional parts; got 12 predicates in 12 parts"
    ):
        compile(F.conjunction(tuple(F.Eventually(F.Atom(f"p{i}")) for i in range(12))))
