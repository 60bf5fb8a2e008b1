"""Bounds proved of calls: the exact law of split conformal prediction, and a shield that never allows more by them."""

from __future__ import annotations

import json
from itertools import permutations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from test_shield import PREDICATES, RULES, TEXTS, shield, trace

from wb.domain.trace import Trace, permitted
from wb.shield import conformal
from wb.shield import shield as shields
from wb.shield.conformal import Bound, TooFew, Zone

ALPHAS = st.floats(0.01, 0.99)


@pytest.mark.parametrize(("n", "alpha"), [(4, 0.2), (5, 0.4), (6, 0.34), (6, 0.5)])
def test_in_every_order_of_a_few_calls_the_next_is_denied_exactly_as_often_as_is_said(n, alpha):
    """All (n + 1)! orders in which the same calls may come are as likely: exchangeability, enumerated."""
    orders = list(permutations(range(n + 1)))
    denied = sum(last < Bound.of(seen, alpha, "safe").value for *seen, last in orders)
    rank = Bound.of(range(n), alpha, "safe").rank
    assert denied * (n + 1) == rank * len(orders) and rank / (n + 1) <= alpha


@given(st.lists(st.integers(0, 3), min_size=2, max_size=6), ALPHAS, st.booleans())
def test_calls_that_are_alike_only_make_the_bound_safer(scores, alpha, largest):
    """Of scores with ties, over all ways to leave one out, which are as likely."""
    wrong = 0
    for i, last in enumerate(scores):
        try:
            bound = Bound.of([*scores[:i], *scores[i + 1 :]], alpha, "safe", largest=largest)
        except TooFew:
            return
        wrong += last > bound.value if largest else last < bound.value
    assert wrong / len(scores) <= alpha + 1e-9


def test_over_many_draws_the_number_denied_has_the_law_that_is_claimed():
    """Of m further calls, the number below the k-th of n is beta-binomial(m, k, n + 1 - k): chi-square, fixed draws."""
    n, m, alpha, draws = 39, 10, 0.1, 20_000
    rng = np.random.default_rng(3)
    calls = rng.normal(size=(draws, n + m))
    values = [Bound.of(row[:n], alpha, "safe") for row in calls[:200]]
    rank = values[0].rank
    lowest = np.sort(calls[:, :n], axis=1)[:, rank - 1]
    assert [one.value for one in values] == lowest[:200].tolist()
    denied = (calls[:, n:] < lowest[:, None]).sum(axis=1)
    law = stats.betabinom(m, rank, n + 1 - rank).pmf(np.arange(m + 1))
    cells = [0, 1, 2, 3]
    expected = [*(law[i] for i in cells), 1 - law[cells].sum()]
    seen = [*(int((denied == i).sum()) for i in cells), int((denied > 3).sum())]
    assert stats.chisquare(seen, np.array(expected) * draws).pvalue > 0.01
    assert denied.mean() / m == pytest.approx(rank / (n + 1), abs=0.003)
    other = stats.betabinom(m, rank + 1, n - rank).pmf(np.arange(m + 1))  # the law of another rank is told apart
    wrong = [*(other[i] for i in cells), 1 - other[cells].sum()]
    assert stats.chisquare(seen, np.array(wrong) * draws).pvalue < 1e-6


def test_the_law_by_hand_for_the_least_of_nine():
    """P(the next of 10 exchangeable calls is the least) = 1 / 10, and of two more both below it: 1 / C(11, 2)."""
    assert Bound.of(range(9), 0.1, "safe").rank == 1
    assert stats.betabinom(2, 1, 9).pmf(2) == pytest.approx(1 / comb(11, 2))


@given(st.integers(1, 60), ALPHAS)
def test_too_few_calls_are_refused_with_the_number_that_would_do(n, alpha):
    try:
        bound = Bound.of([0.0] * n, alpha, "safe")
    except TooFew as error:
        least = int(str(error).partition(" needs ")[2].split()[0])
        assert n < least and Bound.of([0.0] * least, alpha, "safe").rank == 1
        with pytest.raises(TooFew):
            Bound.of([0.0] * (least - 1), alpha, "safe")
    else:
        assert bound.rank / (n + 1) <= alpha + 1e-9 and (bound.rank + 1) / (n + 1) > alpha - 1e-9


@pytest.mark.parametrize(
    ("scores", "rate", "message"),
    [([0.0] * 9, 0.0, "between 0 and 1"), ([0.0] * 9, 1.0, "between 0 and 1"), ([0.0, float("nan")], 0.5, "nan")],
)
def test_what_is_no_rate_and_no_score_is_refused(scores, rate, message):
    with pytest.raises(ValueError, match=message):
        Bound.of(scores, rate, "safe")


INTERVALS = st.tuples(st.floats(-1, 1), st.floats(-1, 1)).map(sorted)
BOUNDS = st.none() | st.floats(-1, 1).map(lambda value: Bound(value, 0.1, 1, 9))


@given(BOUNDS, BOUNDS, INTERVALS, st.floats(-1, 1))
def test_a_zone_allows_nothing_that_epsilon_does_not(deny, allow, interval, epsilon):
    plain, zone = Zone().safe(*interval, epsilon), Zone(deny, allow).safe(*interval, epsilon)
    assert zone is not True or plain is True
    if zone is False and deny is not None:
        assert interval[1] < deny.value


def calls(count: int, age: int, denied: bool, name: str) -> list[Trace]:
    rows = [trace(("ask", {}), ("pay", {"age": age})) for _ in range(count)]
    return [Trace(f"{name}{i}#1", row.steps, denied) for i, row in enumerate(rows)]


def test_a_shield_denies_by_the_bound_and_leaves_what_lies_between_undecided():
    """18 of 20 safe calls break nothing, two break one rule: at alpha = 0.1 none more is denied, at 0.2 they are."""
    plain = shield(-0.4)
    runs = [*calls(18, 20, False, "a"), *calls(2, 3, False, "b"), *calls(20, 3, True, "c")]
    odd = trace(("ask", {}), ("pay", {"age": 3}))
    assert plain.decide(odd).decision == "deny"
    lax = plain.calibrated(runs, alpha=0.1)
    assert lax.decide(odd).decision == "undecided" and "a safe call is denied" in lax.decide(odd).reason
    assert lax.zone.deny.n == 20 and lax.zone.deny.value < -0.4
    strict = plain.calibrated(runs, alpha=0.2)
    assert strict.decide(odd).decision == "deny" and strict.zone.deny.value == 0
    asked = shield(-1.0).calibrated(runs, alpha=0.1)  # who wants the bound alone asks for it
    assert asked.decide(odd).decision == "allow"
    fine = trace(("ask", {}), ("pay", {"age": 18}))
    assert plain.calibrated(runs, alpha=0.1, beta=0.1).decide(fine).decision == "allow"
    missed = [*runs, *calls(20, 20, True, "d")]  # half of the unsafe calls break no rule: none can be allowed
    held = plain.calibrated(missed, beta=0.1)
    assert held.decide(fine).decision == "undecided" and held.zone.allow.value == 0
    assert held.decide(trace(("look", {}))).decision == "deny", "an unknown tool stays denied"


def test_what_no_circuit_speaks_of_runs_only_where_the_bound_lets_it():
    made = shields.Shield(PREDICATES, {}, -0.4)
    assert made.decide(trace(("pay", {}))).decision == "allow"
    bound = Bound(0.0, 0.1, 1, 9)
    held = shields.Shield(PREDICATES, {}, -0.4, zone=Zone(allow=bound))
    assert held.decide(trace(("pay", {}))).decision == "undecided"


def test_a_zone_is_on_record_and_changes_the_evidence():
    plain = shield(-0.4)
    made = plain.calibrated(calls(20, 20, False, "a"), alpha=0.1)
    value = json.loads(json.dumps(shields.to_json(made)))
    again = shields.from_json(value)
    assert again.zone == made.zone and value["zone"]["deny"] == {"value": 0.0, "rate": 0.1, "rank": 2, "n": 20}
    assert made.evidence("pay") == again.evidence("pay") != plain.evidence("pay")
    assert "zone" not in shields.to_json(plain)
    odd = trace(("ask", {}), ("pay", {"age": 3}))
    assert again.decide(odd) == made.decide(odd) and not permitted(again.decide(odd))


def test_one_call_of_each_run_is_drawn_by_the_seed():
    names = [f"r{i}#{j}" for i in range(30) for j in range(4)]
    one, other = conformal.drawn(names), conformal.drawn(names, 1)
    assert [name.partition("#")[0] for name in one] == [f"r{i}" for i in range(30)] and one != other
    assert conformal.drawn(reversed(names)) == tuple(reversed(one)) and len(TEXTS) == len(RULES.rules)


def test_too_few_runs_refuse_the_bound_and_say_how_many_are_needed():
    with pytest.raises(TooFew, match="needs 19 safe calls to calibrate with, one of a run; got 6"):
        shield(-0.4).calibrated(calls(6, 20, False, "a"), alpha=0.05)
