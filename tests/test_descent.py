"""Weight learning against finite differences, closed forms and planted bad rules."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from wb.shield import descent
from wb.shield.descent import Examples, Fit, Loss


def restarts(examples: Examples, seeds: tuple[int, ...], **options: float) -> tuple[Fit, ...]:
    """One fit of one circuit a seed."""
    return descent.learn_all({"": examples}, seeds, **options)[""]


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
    for distinct in (False, True):
        loss = Loss.of(examples(rows, labels), epsilon=epsilon, margin=margin, distinct=distinct)
        found, _ = loss(np.array(theta))
        assert found == pytest.approx(by_hand(theta, rows, labels, epsilon, margin), abs=1e-9)


class ByHand(torch.autograd.Function):
    """The loss with the derivative that `Loss` gives it, for `gradcheck`."""

    @staticmethod
    def forward(context, theta, loss):
        value, slope = loss(theta.detach().numpy())
        context.slope = torch.tensor(slope)
        return torch.tensor(value, dtype=torch.float64)

    @staticmethod
    def backward(context, above):
        return above * context.slope, None


def soft(seed: int) -> Examples:
    """Twelve examples of one to four ways each over five rules."""
    rng = np.random.default_rng(seed)
    ways = rng.integers(1, 5, 12)
    starts = np.cumsum(ways) - ways
    chances = np.concatenate([rng.dirichlet(np.ones(n)) for n in ways])
    return Examples(rng.integers(-1, 2, (ways.sum(), 5)), rng.choice([-1, 1], 12), "real", 0, starts, chances)


@pytest.mark.parametrize("given", [soft(0), examples(soft(1).differences[:12].tolist(), soft(1).labels.tolist())])
def test_autograd_checks_the_gradient_of_the_loss_of_softplus_weights(given):
    """`torch.autograd.gradcheck`, in double precision, away from the hinge's corner."""
    free = torch.tensor(np.random.default_rng(0).normal(size=5), requires_grad=True)
    loss = Loss.of(given, epsilon=-0.1, margin=0.3)
    assert torch.autograd.gradcheck(lambda x: ByHand.apply(torch.nn.functional.softplus(x), loss), (free,), atol=1e-6)
    wrong = replace(loss, labels=-loss.labels)
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        torch.autograd.gradcheck(lambda x: Turned.apply(x, loss, wrong), (free,), atol=1e-6)


class Turned(ByHand):
    """One loss with the derivative of another."""

    @staticmethod
    def forward(context, theta, loss, other):
        value = ByHand.forward(context, theta, loss)
        context.slope = torch.tensor(other(theta.detach().numpy())[1])
        return value

    @staticmethod
    def backward(context, above):
        return above * context.slope, None, None


def test_the_loss_of_soft_evidence_is_the_hinge_on_the_expectation():
    given, theta = soft(2), np.array([0.3, 1.0, 2.0, 0.1, 1.4])
    total = 0.0
    for i, label in enumerate(given.labels):
        ways = range(given.starts[i], given.starts[i + 1] if i + 1 < len(given.starts) else len(given.differences))
        mean = sum(given.chances[j] * math.tanh(float(given.differences[j] @ theta) / 2) for j in ways)
        total += max(0.0, 0.2 - label * (mean + 0.4))
    assert Loss.of(given, epsilon=-0.4, margin=0.2)(theta)[0] == pytest.approx(total / 12, abs=1e-12)


def test_parts_of_the_examples_are_the_whole_together():
    for some in (soft(3), examples(soft(4).differences[:12].tolist(), soft(4).labels.tolist())):
        loss, theta = Loss.of(some, epsilon=-0.4, margin=0.2), np.full(5, 1.3)
        parts = [loss.some(np.array(part))(theta) for part in ([3, 0, 7, 11], [1, 2, 10, 4], [9, 8, 6, 5])]
        assert loss(theta)[0] == pytest.approx(sum(value for value, _ in parts) / 3, abs=1e-12)
        assert loss(theta)[1] == pytest.approx(sum(slope for _, slope in parts) / 3, abs=1e-12)


def test_minibatches_find_the_weights_of_the_whole():
    data = examples([[-1, 0]] * 20 + [[0, -1]] * 20 + [[0, 0]] * 20, [-1] * 20 + [1] * 20 + [1] * 20)
    whole = learn(data, epsilon=-0.4, margin=0.3, epochs=300)
    parts = learn(data, epsilon=-0.4, margin=0.3, epochs=300, batch=7)
    assert parts.weights != whole.weights and parts.weights == pytest.approx(whole.weights, abs=0.15)
    assert parts.losses[-1] == pytest.approx(whole.losses[-1], abs=5e-3) and len(parts.losses) == 301
    with pytest.raises(ValueError, match="a batch of 1 or more"):
        learn(data, batch=-1)


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


def test_a_rule_without_examples_keeps_the_prior():
    fit = learn(examples([[-1, 0]] * 5, [-1] * 5), l2=1e-2, epochs=2000)
    assert fit.weights[1] == pytest.approx(descent.PRIOR, abs=0.02)


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
    together = descent.learn_all(data, (3, 4), epochs=40)
    assert list(together) == ["a", "none", "b"] and together["none"][0].weights == (1.0, 1.0)
    for name in ("a", "b"):
        for a, b in zip(together[name], restarts(data[name], (3, 4), epochs=40), strict=True):
            assert a.weights == pytest.approx(b.weights, abs=1e-12) and a.losses == pytest.approx(b.losses, abs=1e-12)


def test_a_seed_repeats_and_another_starts_elsewhere():
    data = examples([[-1, 0], [0, -1], [-1, -1]], [-1, 1, -1])
    one, same, other = restarts(data, (1, 1, 2), epochs=30)
    assert one == same and one.losses[0] != other.losses[0]
    assert descent.best((one, other)).losses[-1] == min(one.losses[-1], other.losses[-1])
    assert descent.spread((one, same)) == (0.0, 0.0)


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
        descent.best(())


def test_a_hard_rule_keeps_its_weight_and_a_soft_one_is_pulled_to_its_own():
    data = examples([[-1, 0, 0], [0, -1, 0], [0, 0, -1], [-1, -1, 0]], [1, 1, 1, 1])
    (fit,) = descent.learn_all({"": data}, (0,), priors={"": (math.inf, 0.5, 1.0)}, l2=10.0, epochs=800)[""]
    assert fit.weights[0] == math.inf and fit.weights[1:] == pytest.approx((0.5, 1.0), abs=0.05)
    (free,) = descent.learn_all({"": data}, (0,), priors={"": (math.inf, 0.5, 1.0)}, epsilon=-0.4, margin=0.3)[""]
    assert free.weights[0] == math.inf and max(free.weights[1:]) < 0.5, "labels that say they are fine let both go"
    priors, unsafe = {"": (1.0, 0.5, 1.0)}, examples([[-1, 0, 0], [0, -1, 0], [0, 0, -1]], [-1, -1, 1])
    (pushed,) = descent.learn_all({"": unsafe}, (0,), priors=priors, epsilon=-0.8)[""]
    assert pushed.weights[0] > 1 and pushed.weights[1] <= 0.5, "a soft one never grows: it would decide alone"
    nothing = Examples(np.zeros((0, 2)), np.zeros(0), "real")
    assert learn(nothing, priors={"": (math.inf, 0.5)}).weights == (math.inf, 0.5)
