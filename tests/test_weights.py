"""Weight learning against finite differences, closed forms and planted bad rules."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from wb.shield import weights
from wb.shield.weights import Examples, Fit


def restarts(examples: Examples, seeds: tuple[int, ...], **options: float) -> tuple[Fit, ...]:
    """One fit of one circuit a seed."""
    return weights.learn_all({"": examples}, seeds, **options)[""]


def learn(examples: Examples, *, seed: int = 0, **options: float) -> Fit:
    return restarts(examples, (seed,), **options)[0]


def examples(rows: list[list[int]], labels: list[int]) -> Examples:
    return Examples(np.array(rows).reshape(len(labels), -1), np.array(labels), "real")


def by_hand(theta, rows, labels, epsilon, margin) -> float:
    """Eq. 6 with the two world weights written out: P1 - P0 from exp(E1) and exp(E0)."""
    total = 0.0
    for row, y in zip(rows, labels, strict=True):
        one, zero = (
            math.exp(sum(t * max(d, 0) for t, d in zip(theta, row, strict=True))),
            math.exp(sum(t * max(-d, 0) for t, d in zip(theta, row, strict=True))),
        )
        total += max(0.0, margin - y * ((one - zero) / (one + zero) - epsilon))
    return total / len(labels)


tables = st.integers(1, 4).flatmap(
    lambda r: st.lists(
        st.tuples(st.lists(st.sampled_from([-1, 0, 1]), min_size=r, max_size=r), st.sampled_from([-1, 1])),
        min_size=1,
        max_size=8,
    )
)


@given(
    table=tables,
    theta=st.lists(st.floats(0.01, 4), min_size=4, max_size=4),
    epsilon=st.floats(-0.5, 0.5),
    margin=st.floats(0, 0.5),
)
def test_the_loss_is_the_papers_hinge_on_two_worlds(table, theta, epsilon, margin):
    rows, labels = [list(r) for r, _ in table], [y for _, y in table]
    theta = theta[: len(rows[0])]
    found = weights.hinge(
        torch.tensor(theta, dtype=torch.float64),
        torch.tensor(rows, dtype=torch.float64),
        torch.tensor(labels, dtype=torch.float64),
        epsilon=epsilon,
        margin=margin,
    )
    assert float(found.mean()) == pytest.approx(by_hand(theta, rows, labels, epsilon, margin), abs=1e-9)


def test_the_gradient_agrees_with_finite_differences():
    rng = np.random.default_rng(0)
    differences = torch.tensor(rng.integers(-1, 2, (12, 5)), dtype=torch.float64)
    labels = torch.tensor(rng.choice([-1, 1], 12), dtype=torch.float64)
    free = torch.tensor(rng.normal(size=5), dtype=torch.float64, requires_grad=True)

    def loss(x):
        return weights.hinge(torch.nn.functional.softplus(x), differences, labels, epsilon=-0.1, margin=0.3).mean()

    assert torch.autograd.gradcheck(loss, (free,))


@pytest.mark.parametrize("margin", [0.55, 0.7, 0.9])
def test_a_single_rule_stops_where_its_margin_is_reached(margin):
    # violated in every unsafe example: the hinge is zero from tanh(w/2) = margin on, and the prior pulls back
    fit = learn(examples([[-1]] * 4, [-1] * 4), margin=margin, l2=1e-2, rate=0.01, epochs=1500)
    assert fit.weights[0] == pytest.approx(2 * math.atanh(margin), abs=0.05)


def test_a_single_rule_under_an_active_hinge_meets_its_stationary_point():
    l2 = 0.05
    fit = learn(examples([[-1]], [-1]), margin=1.0, l2=l2, rate=0.02, epochs=800)
    low, high = 1.0, 20.0  # bisection of d/dw (1 - tanh(w/2) + l2 (w-1)^2) = 0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if 0.5 / math.cosh(middle / 2) ** 2 > 2 * l2 * (middle - 1) else (low, middle)
    assert fit.weights[0] == pytest.approx(low, abs=0.01)


def test_a_rule_that_cries_wolf_loses_its_weight_and_a_good_one_keeps_it():
    good, bad = [-1, 0], [0, -1]
    fit = learn(
        examples([good] * 10 + [bad] * 10 + [[0, 0]] * 10, [-1] * 10 + [1] * 10 + [1] * 10), epsilon=-0.2, epochs=400
    )
    decisions = [math.tanh(-w / 2) >= -0.2 for w in fit.weights]
    assert decisions == [False, True], "the good rule denies, the bad one is tolerated"


def test_autograd_checks_the_gradient_of_the_loss_of_softplus_weights():
    """`torch.autograd.gradcheck`, in double precision, away from the hinge's corner."""
    rng = torch.Generator().manual_seed(4)
    table = torch.randint(-1, 2, (40, 6), generator=rng).double()
    labels = torch.where(torch.rand(40, generator=rng) < 0.5, 1.0, -1.0).double()
    free = torch.randn((6, 3), generator=rng, dtype=torch.float64, requires_grad=True)

    def loss(parameters: torch.Tensor) -> torch.Tensor:
        theta = torch.nn.functional.softplus(parameters)
        return weights.hinge(theta, table, labels, epsilon=-0.4, margin=0.3).mean(dim=0)

    assert torch.autograd.gradcheck(loss, (free,), eps=1e-7, atol=1e-6)


def test_a_rule_without_examples_keeps_the_prior():
    fit = learn(examples([[-1, 0]] * 5, [-1] * 5), l2=1e-2, epochs=2000)
    assert fit.weights[1] == pytest.approx(weights.PRIOR, abs=0.02)


def test_no_examples_at_all_leave_the_prior():
    fit = learn(Examples(np.zeros((0, 3)), np.zeros(0), "real"))
    assert fit.weights == (1.0, 1.0, 1.0) and fit.losses == ()


@settings(max_examples=15)
@given(table=tables, seed=st.integers(0, 99))
def test_weights_are_never_negative_and_the_loss_does_not_grow(table, seed):
    fit = learn(examples([list(r) for r, _ in table], [y for _, y in table]), epochs=120, seed=seed)
    assert min(fit.weights) > 0
    assert fit.losses[-1] <= fit.losses[0] + 1e-3, "Adam may circle a minimum, within its step"


def test_runs_that_share_their_steps_do_not_touch_each_other():
    data = examples([[-1, 0], [0, -1], [-1, -1]], [-1, 1, -1])
    together = restarts(data, (3, 4), epochs=40)
    alone = [learn(data, seed=seed, epochs=40) for seed in (3, 4)]
    for a, b in zip(together, alone, strict=True):
        assert a.weights == pytest.approx(b.weights, abs=1e-12) and a.losses == pytest.approx(b.losses, abs=1e-12)


def test_circuits_that_share_their_steps_do_not_touch_each_other():
    data = {
        "a": examples([[-1, 0], [0, -1], [-1, -1], [-1, -1]], [-1, 1, -1, -1]),
        "none": Examples(np.zeros((0, 2)), np.zeros(0), "real"),
        "b": examples([[1], [-1], [-1]], [1, -1, 1]),
    }
    together = weights.learn_all(data, (3, 4), epochs=40)
    assert list(together) == ["a", "none", "b"] and together["none"][0].weights == (1.0, 1.0)
    for name in ("a", "b"):
        for a, b in zip(together[name], restarts(data[name], (3, 4), epochs=40), strict=True):
            assert a.weights == pytest.approx(b.weights, abs=1e-12) and a.losses == pytest.approx(b.losses, abs=1e-12)


def test_a_seed_repeats_and_another_starts_elsewhere():
    data = examples([[-1, 0], [0, -1], [-1, -1]], [-1, 1, -1])
    one, same, other = restarts(data, (1, 1, 2), epochs=30)
    assert one == same and one.losses[0] != other.losses[0]
    assert weights.best((one, other)).losses[-1] == min(one.losses[-1], other.losses[-1])
    assert weights.spread((one, same)) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("rows", "labels", "message"),
    [
        (np.zeros((2, 1)), np.array([1]), "one row of differences"),
        (np.zeros((1, 1)), np.array([0]), "labels must be"),
    ],
)
def test_bad_examples_are_refused(rows, labels, message):
    with pytest.raises(ValueError, match=message):
        Examples(rows, labels, "real")


def test_the_best_of_no_fits_is_an_error():
    with pytest.raises(ValueError, match="at least one fit"):
        weights.best(())
