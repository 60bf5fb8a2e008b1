"""Bit-parallel evaluation against the definition, for rules of one shape and of many, traces short and long."""

import random

import numpy as np
import pytest
from formulas import random_formula
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import bits
from test_syntax import formulas

from wb.logic import formula as F
from wb.logic.semantics import holds, parse


def random_step(rng, names="abcdefg"):
    return frozenset(name for name in names if rng.random() < 0.5)


def test_batches_of_equal_and_of_different_shapes_agree_with_the_definition():
    rng = random.Random(3)
    single = [random_formula(rng, 4, "abcd") for _ in range(150)]
    many = list(single)
    for _ in range(5):  # the first 30 again over other predicates: shapes that are evaluated together
        other = dict(zip(map(F.Atom, "abcd"), map(F.Atom, rng.sample("abcdefg", 4)), strict=True))
        many += [F.substitute(formula, other) for formula in single[:30]]
    traces = [
        tuple(random_step(rng) for _ in range(length)) for length in (1, 2, 3, 6, 7, 8, 9, 15, 16, 17, 33, 64, 65)
    ]
    got = bits.holds_all(many, traces)
    assert got.shape == (len(traces), len(many)) and got.dtype == bool
    for i, trace in enumerate(traces):
        for j, formula in enumerate(many):
            assert got[i, j] == holds(formula, trace), (formula, trace)


@given(formulas(), st.lists(st.frozensets(st.sampled_from("abc")), min_size=1, max_size=20), st.integers(1, 6))
@settings(max_examples=300, deadline=None)
def test_any_formula_on_any_trace_agrees_with_the_definition(formula, trace, copies):
    assert bits.holds_all([formula] * copies, [trace, trace[::-1]]).tolist() == [
        [holds(formula, trace)] * copies,
        [holds(formula, trace[::-1])] * copies,
    ]


@pytest.mark.parametrize(
    "text",
    [
        "ALWAYS a AND HISTORICALLY a AND NOT EVENTUALLY NOT a",
        "EVENTUALLY NEXT a",
        "EVENTUALLY NEXT NEXT a",
        "true UNTIL NEXT a",
        "NOT ALWAYS WEAK_NEXT a",
        "NEXT a SINCE PREVIOUSLY a",
        "EVENTUALLY (PREVIOUSLY a AND NEXT a)",
        "ONCE PREVIOUSLY a",
    ],
)
def test_a_trace_does_not_leak_into_its_neighbour(text):
    """Fields lie side by side in one integer: what a trace carries out at one end must not enter the next."""
    rng, rule = random.Random(5), parse(text)
    for length in range(1, 20):
        traces = [[{"a"}] * length, [set()] * length] * 2 + [
            [random_step(rng, "a") for _ in range(rng.randint(1, length))] for _ in range(12)
        ]
        assert bits.holds_all([rule] * 5, traces)[:, 0].tolist() == [holds(rule, trace) for trace in traces], length


def test_long_batches_are_cut_into_pieces(monkeypatch):
    rng = random.Random(4)
    rules = [parse("ALWAYS (a IMPLIES EVENTUALLY b)")] * 8
    traces = [[random_step(rng, "ab") for _ in range(rng.randint(1, 9))] for _ in range(50)]
    whole = bits.holds_all(rules, traces)
    monkeypatch.setattr(bits, "CHUNK", 64)
    assert (bits.holds_all(rules, traces) == whole).all()


@pytest.mark.parametrize(
    "array", [np.zeros((0, 2), bool), np.zeros((3, 1), bool), np.zeros((3, 2), int), np.zeros(2, bool)]
)
def test_an_array_of_another_shape_is_refused(array):
    with pytest.raises(ValueError, match=r"shape \(steps >= 1, 2\) was required"):
        bits.Batch([parse("a UNTIL b")]).holds([array])


def test_columns_may_be_named_and_must_be_complete():
    batch = bits.Batch([parse("a UNTIL b")], names=("b", "c", "a"))
    assert batch.holds([bits.matrix([{"a"}, {"b", "z"}], batch.names)]).tolist() == [[True]]
    with pytest.raises(ValueError, match=r"\['b'\] are missing"):
        bits.Batch([parse("a UNTIL b")], names=("a",))
    assert bits.Batch([]).holds([np.zeros((2, 0), bool)]).shape == (1, 0) and batch.holds([]).shape == (0, 1)
