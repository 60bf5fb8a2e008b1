"""Past formulas followed step by step say what the definition says of the steps so far, in two and in three values."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wb.logic import formula as f
from wb.logic import semantics
from wb.logic.semantics import KLEENE, TWO, Past, parse, table

NAMES = "abc"
LEAVES = st.sampled_from([*(f.Atom(name) for name in NAMES), f.TRUE, f.FALSE])
ONE, TWO_ARGUMENTS = (f.Not, f.Previously, f.Once, f.Historically), (f.And, f.Or, f.Xor, f.Implies, f.Iff, f.Since)
PASTS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        *[st.builds(kind, inner) for kind in ONE], *[st.builds(kind, inner, inner) for kind in TWO_ARGUMENTS]
    ),
    max_leaves=8,
)
PARTIAL = st.lists(st.dictionaries(st.sampled_from(NAMES), st.sampled_from((True, False, None))), max_size=6)
WHOLE = st.lists(st.sets(st.sampled_from(NAMES)), max_size=6)


@settings(max_examples=300)
@given(st.lists(PASTS, min_size=1, max_size=3), PARTIAL)
def test_a_monitor_agrees_with_the_definition_on_every_prefix(formulas: list, trace: list) -> None:
    past = Past(*formulas)
    for i, step in enumerate(trace):
        defined = tuple(table(formula, trace[: i + 1], KLEENE)[-1] for formula in formulas)
        assert past.peek(step) == past.peek(step) == defined, "looking changes nothing"
        assert past.step(step) == defined
    assert past.fresh().peek({}) == Past(*formulas).peek({}), "what is shared is no memory"


@settings(max_examples=100)
@given(PASTS, WHOLE)
def test_the_same_monitor_in_two_values(formula: f.Formula, trace: list) -> None:
    past = Past(formula, truths=TWO)
    assert [past.step(step)[0] for step in trace] == list(table(formula, trace) if trace else ())


@settings(max_examples=200)
@given(PASTS, PARTIAL.filter(bool))
def test_what_three_values_know_holds_for_every_completion(formula: f.Formula, trace: list) -> None:
    known = table(formula, trace, KLEENE)[-1]
    for guess in (False, True):
        filled = [{name for name in NAMES if (guess if step.get(name) is None else step[name])} for step in trace]
        assert known in (None, table(formula, filled)[-1])


@settings(max_examples=200)
@given(PASTS, WHOLE.filter(bool))
def test_without_unknowns_three_values_are_two(formula: f.Formula, trace: list) -> None:
    told = [{name: name in step for name in NAMES} for step in trace]
    assert table(formula, told, KLEENE) == table(formula, trace)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        # b starts it, a keeps it up, a gap ends it, and a alone does not start it again
        ((1, 1, 0, 1, 0, 1), (0, 1, 0, 0, 1, 0), (0, 1, 0, 0, 1, 1)),
        ((0, 1, 1, 0, 1), (1, 0, 0, 0, 0), (1, 1, 1, 0, 0)),
        ((1, 1, 1), (0, 0, 0), (0, 0, 0)),
        ((0, 0, 0), (1, 1, 0), (1, 1, 0)),
        ((None, 1, 1), (0, None, 0), (0, None, None)),
        ((0, None, 0), (1, 0, 0), (1, None, 0)),
    ],
)
def test_since_by_hand(a: tuple, b: tuple, expected: tuple) -> None:
    said = [
        {"a": None if x is None else bool(x), "b": None if y is None else bool(y)} for x, y in zip(a, b, strict=True)
    ]
    formula, wanted = parse("a SINCE b"), tuple(None if x is None else bool(x) for x in expected)
    past = Past(formula)
    assert table(formula, said, KLEENE) == wanted == tuple(past.step(step)[0] for step in said)
    if None not in (*a, *b):
        assert table(formula, [{name for name in "ab" if step[name]} for step in said]) == wanted


@pytest.mark.parametrize("text", ["EVENTUALLY a", "ONCE (a AND NEXT b)", "a UNTIL b"])
def test_a_formula_of_later_steps_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="past operators"):
        Past(parse(text))


def test_what_is_remembered_does_not_grow() -> None:
    past = Past(parse("(ONCE a) AND ((NOT b) SINCE c) AND PREVIOUSLY a"))
    sizes = set()
    for i in range(3000):
        past.step({"a": i % 3 == 0, "b": None if i % 5 else True, "c": i % 7 == 0})
        sizes.add(len(past._memory))
    assert sizes == {3} and len(past._seen) <= 3**6


def test_results_that_are_kept_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(semantics, "KEPT", 4)
    past = Past(parse("ONCE (a AND b)"))
    for a in (True, False, None):
        for b in (True, False, None):
            assert past.peek({"a": a, "b": b})[0] == (False if False in (a, b) else None if None in (a, b) else True)
    assert len(past._seen) <= 4


def test_a_deep_formula_is_followed_without_recursion() -> None:
    deep = f.Atom("a")
    for _ in range(5000):
        deep = f.Once(f.Not(deep))
    assert Past(deep).step({"a": True}) in ((True,), (False,))
