"""Five readings of one formula agree (definition, monitor, bits, automaton, Storm), and the laws hold."""

import itertools
import random

import pytest
from formulas import random_formula, random_trace
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import bits
from test_syntax import formulas

from wb.logic import automaton, storm
from wb.logic import formula as F
from wb.logic.semantics import Monitor, holds, parse, table

NAMES = "abc"
FORMULAS, TRACES = 1000, 20
traces = st.lists(st.frozensets(st.sampled_from(NAMES)), min_size=1, max_size=7)


def compared():
    """How many random pairs of a formula and a trace were read in all five ways, and those read differently."""
    rng = random.Random(2026)
    made = [random_formula(rng, 3, NAMES) for _ in range(FORMULAS)]
    assert sum(any(isinstance(node, F.PAST) for node in F.subformulas(one)) for one in made) > FORMULAS / 3
    pool = [[random_trace(rng, NAMES) for _ in range(TRACES)] for _ in range(10)]
    batch = bits.Batch(made)
    packed = [batch.holds([bits.matrix(trace, batch.names) for trace in some]) for some in pool]
    pairs, mismatches = 0, []
    for i, formula in enumerate(made):
        some = pool[i % len(pool)]
        compiled, monitor = automaton.compile(formula), Monitor(formula)
        by_storm = storm.check([formula], some)[0]
        for j, trace in enumerate(some):
            monitor.reset()
            for step in trace:
                monitor.step(step)
            said = {
                holds(formula, trace),
                monitor.verdict.endswith("true"),
                bool(packed[i % len(pool)][j, i]),
                compiled.accepts(trace),
                by_storm[j],
            }
            pairs += 1
            mismatches += [(formula, trace)] if len(said) > 1 else []
    return pairs, mismatches


def test_twenty_thousand_random_pairs_have_no_mismatch():
    assert compared() == (20_000, [])


@pytest.mark.parametrize(
    "text, rows",
    [
        ("NOT a", "1010"),
        ("a AND b", "0001"),
        ("a OR b", "0111"),
        ("a XOR b", "0110"),
        ("a IMPLIES b", "1101"),
        ("a IFF b", "1001"),
        ("true", "1111"),
        ("false", "0000"),
    ],
)
def test_a_connective_has_its_truth_table(text, rows):
    """Rows for (a, b) = 00, 01, 10, 11; `NOT a` reads a as the second of them."""
    formula = parse(text)
    for row, (a, b) in zip(rows, itertools.product((False, True), repeat=2), strict=True):
        step = {name for name, true in (("a", b if text == "NOT a" else a), ("b", b)) if true}
        expected = row == "1"
        assert holds(formula, [step]) == expected == automaton.compile(formula).accepts([step])
        assert bits.holds_all([formula], [[step]])[0, 0] == expected and storm.check([formula], [[step]]) == [
            [expected]
        ]


@pytest.mark.parametrize(
    "text, trace, expected",
    [
        ("NEXT a", "-a", "10"),
        ("WEAK_NEXT a", "-a", "11"),
        ("PREVIOUSLY a", "a-", "01"),
        ("EVENTUALLY a", "-a-", "110"),
        ("ALWAYS a", "-aa", "011"),
        ("ONCE a", "-a-", "011"),
        ("HISTORICALLY a", "aa-", "110"),
        ("a UNTIL b", "aab-", "1110"),
        ("a WEAK_UNTIL b", "aa-b-aa", "0001011"),
        ("b RELEASE a", "aaba", "0001"),
        ("a SINCE b", "abaa-", "01110"),
    ],
)
def test_a_temporal_operator_has_its_row_of_truths(text, trace, expected):
    steps = [set() if step == "-" else {step} for step in trace]
    assert "".join(str(int(true)) for true in table(parse(text), steps)) == expected


LAWS = [
    ("NOT ALWAYS x", "EVENTUALLY NOT x"),
    ("NOT NEXT x", "WEAK_NEXT NOT x"),
    ("NOT (x UNTIL y)", "NOT x RELEASE NOT y"),
    ("NOT HISTORICALLY x", "ONCE NOT x"),
    ("EVENTUALLY x", "true UNTIL x"),
    ("ALWAYS x", "false RELEASE x"),
    ("ONCE x", "true SINCE x"),
    ("x UNTIL y", "y OR (x AND NEXT (x UNTIL y))"),
    ("x RELEASE y", "y AND (x OR WEAK_NEXT (x RELEASE y))"),
    ("x SINCE y", "y OR (x AND PREVIOUSLY (x SINCE y))"),
    ("x WEAK_UNTIL y", "(x UNTIL y) OR ALWAYS x"),
    ("ALWAYS (x AND y)", "ALWAYS x AND ALWAYS y"),
    ("EVENTUALLY (x OR y)", "EVENTUALLY x OR EVENTUALLY y"),
    ("x IMPLIES y", "NOT x OR y"),
    ("x XOR y", "NOT (x IFF y)"),
    ("NEXT (x AND y)", "NEXT x AND NEXT y"),
    ("PREVIOUSLY (x OR y)", "PREVIOUSLY x OR PREVIOUSLY y"),
    ("EVENTUALLY EVENTUALLY x", "EVENTUALLY x"),
]


@pytest.mark.parametrize("left, right", LAWS, ids=[left for left, _ in LAWS])
def test_laws_hold_for_all_formulas_at_every_step(left, right):
    @given(formulas(NAMES), formulas(NAMES), traces)
    @settings(max_examples=60, deadline=None)
    def law(x, y, trace):
        by = {F.Atom("x"): x, F.Atom("y"): y}
        assert table(F.substitute(parse(left), by), trace) == table(F.substitute(parse(right), by), trace)

    law()


@given(formulas(NAMES), traces)
@settings(max_examples=200, deadline=None)
def test_the_past_is_the_future_of_the_reversed_trace(formula, trace):
    mirror = {F.Previously: F.Next, F.Once: F.Eventually, F.Historically: F.Always, F.Since: F.Until}
    mirror |= {future: past for past, future in mirror.items()}
    kinds = {type(node) for node in F.subformulas(formula)}
    if kinds <= {F.Atom, F.Constant, F.Not, F.And, F.Or, F.Xor, F.Implies, F.Iff, *mirror}:
        mirrored = F.fold(formula, lambda node, parts: mirror.get(type(node), type(node))(*parts) if parts else node)
        assert table(formula, trace) == table(mirrored, trace[::-1])[::-1]


@given(formulas("ab"), formulas("ab"))
@settings(max_examples=100, deadline=None)
def test_equal_automata_mean_equal_formulas(one, two):
    same = automaton.compile(one, "ab") == automaton.compile(two, "ab")
    steps = [frozenset(s) for s in ((), "a", "b", "ab")]
    short = [trace for n in (1, 2, 3) for trace in itertools.product(steps, repeat=n)]
    assert not same or all(holds(one, trace) == holds(two, trace) for trace in short)


def test_a_trace_without_steps_or_a_step_outside_it_is_refused():
    with pytest.raises(ValueError, match="at least one step"):
        holds(parse("a"), [])
    with pytest.raises(ValueError, match="0 to 1; got 2"):
        holds(parse("a"), [{"a"}, set()], at=2)
