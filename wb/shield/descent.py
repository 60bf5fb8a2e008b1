"""Weights by gradient descent on the paper's hinge (ShieldAgent, Eq. 6), and how far they may move.

The loss is the hinge on P1 - P0 = tanh(D/2), with what the paper leaves open settled here (SPEC section 4, j): weights
are softplus of free parameters and so never negative, there is a margin, the distance to the decision
bound epsilon is what is hinged, and a quadratic term pulls every weight towards what it was, so that a rule
that no example exercises keeps its say.  How strong that pull must be is for the examples to tell (`pull`): where it is
weak, a rule that few of them exercise is let go by one that is mislabelled or misread.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

import numpy as np

from wb.shield.circuit import HARD

Source = Literal["real", "simulated"]
PRIOR = 1.0  # the weight of a rule before anything is learned
SURE = 0.05  # of an exact sign test
BREACH = 60.0  # what a hard rule weighs while others are learned: more than all of them


@dataclass(frozen=True, slots=True)
class Examples:
    """Labelled invocations of one action. `differences` has shape (n, rules), values -1, 0, 1; `labels`
    are +1 (safe) or -1 (unsafe); `undecided` counts the invocations left out because a rule was unknown.

    With soft evidence an example has several rows, those from its entry in `starts` to the next one's, and `chances`
    are their probabilities.
    """

    differences: np.ndarray
    labels: np.ndarray
    source: Source
    undecided: int = 0
    starts: np.ndarray | None = None
    chances: np.ndarray | None = None

    def __post_init__(self) -> None:
        rows = len(self.labels) if self.starts is None else len(self.starts)
        if (
            self.differences.ndim != 2
            or len(self.labels) != rows
            or self.starts is None
            and len(self.differences) != rows
        ):
            raise ValueError(
                f"one row of differences a label was required; got {self.differences.shape} for {len(self.labels)}"
            )
        if not np.isin(self.labels, (-1, 1)).all():
            raise ValueError(f"labels must be +1 (safe) or -1 (unsafe); got {sorted(set(self.labels.tolist()))}")


@dataclass(frozen=True, slots=True)
class Fit:
    """One training run: the weights after it, and the loss before each epoch and after the last."""

    weights: tuple[float, ...]
    losses: tuple[float, ...]
    seed: int


@dataclass(frozen=True, slots=True)
class Loss:
    """Eq. 6 on some examples, as a function of the weights; `shares` is what part of its mean each example is."""

    rows: np.ndarray
    labels: np.ndarray
    shares: np.ndarray
    starts: np.ndarray | None
    chances: np.ndarray | None
    epsilon: float
    margin: float

    @classmethod
    def of(cls, examples: Examples, *, epsilon: float, margin: float, distinct: bool = False) -> Loss:
        """The loss of all examples; of hard ones that are alike but one where they are to be `distinct`."""
        rows, labels, counts = examples.differences, examples.labels, np.ones(len(examples.labels))
        if distinct and examples.starts is None:
            table, counts = np.unique(np.column_stack([rows, labels]), axis=0, return_counts=True)
            rows, labels = table[:, :-1], table[:, -1]
        shares = counts / counts.sum()
        return cls(rows.astype(float), labels.astype(float), shares, examples.starts, examples.chances, epsilon, margin)

    def some(self, picked: np.ndarray) -> Loss:
        """The loss of those examples alone, each with the same share."""
        rows, starts, chances = picked, None, None
        if self.starts is not None:
            ways = np.diff(self.starts, append=len(self.rows))[picked]
            starts = np.cumsum(ways) - ways
            rows = np.arange(ways.sum()) + np.repeat(self.starts[picked] - starts, ways)
            chances = self.chances[rows]
        shares = np.full(len(picked), 1 / len(picked))
        return replace(
            self, rows=self.rows[rows], labels=self.labels[picked], shares=shares, starts=starts, chances=chances
        )

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """The mean of max(0, margin - y (P1 - P0 - epsilon)), and its derivative by each weight.

        P1 - P0 is the expectation of tanh(D/2) over an example's rows, D = row · weights.  At epsilon = margin = 0
        the loss is the printed one.
        """
        ways = np.tanh(self.rows @ weights / 2)
        short = self.margin - self.labels * (self._relative(ways) - self.epsilon)
        pulls = self.shares * self.labels * (short > 0)
        slopes = (ways * ways - 1) / 2
        if self.starts is not None:
            slopes *= self.chances
            pulls = np.repeat(pulls, np.diff(self.starts, append=len(ways)))
        return float(self.shares @ np.maximum(short, 0)), (slopes * pulls) @ self.rows

    def right(self, weights: np.ndarray) -> np.ndarray:
        """Which examples Eq. 5 decides as their labels say: P1 - P0 >= epsilon where they are safe."""
        relative = self._relative(np.tanh(self.rows @ weights / 2))
        return (relative >= self.epsilon) == (self.labels > 0)

    def _relative(self, ways: np.ndarray) -> np.ndarray:
        return ways if self.starts is None else np.add.reduceat(ways * self.chances, self.starts)


def learn_all(
    examples: Mapping[str, Examples],
    seeds: Sequence[int],
    *,
    epsilon: float = 0.0,
    margin: float = 0.1,
    l2: float = 1e-3,
    rate: float = 0.05,
    epochs: int = 200,
    batch: int = 0,
    priors: Mapping[str, Sequence[float]] = MappingProxyType({}),
    tell: Callable[[int, int], object] = lambda done, of: None,
) -> dict[str, tuple[Fit, ...]]:
    """One fit a circuit and seed: weights by Adam from a random start, log-normal around the prior.

    `epsilon` is the bound that decisions will be held against, in -1..1; `margin` is on the same scale
    as P1 - P0; `l2` is the pull towards the prior.  `batch` is how many examples make a step, in an order
    that the seed draws; 0: all of them.  `priors` are the weights before learning, by circuit and rule, 1 where none
    are given: a hard rule keeps its own.  Without examples the weights are the prior.  `tell` is told how many
    circuits are done, and of how many.

    Raises:
        ValueError: the batch is negative.
    """
    if batch < 0:
        raise ValueError(f"a batch of 1 or more examples, or 0 for all, was required; got {batch}")
    found: dict[str, tuple[Fit, ...]] = {}
    for done, (name, given) in enumerate(examples.items(), 1):
        loss = Loss.of(given, epsilon=epsilon, margin=margin, distinct=not batch)
        prior = np.array(priors.get(name, (PRIOR,) * given.differences.shape[1]), dtype=float)
        steps = _Steps(prior, l2, rate, epochs, batch)
        found[name] = tuple([steps.fit(loss, seed) for seed in seeds])
        tell(done, len(examples))
    return found


@dataclass(frozen=True, slots=True)
class _Steps:
    """Gradient descent by Adam (Kingma & Ba 2015) on the free parameters of softplus."""

    prior: np.ndarray
    l2: float
    rate: float
    epochs: int
    batch: int

    def fit(self, loss: Loss, seed: int) -> Fit:
        rng, rules = np.random.default_rng(seed), loss.rows.shape[1]
        if not len(loss.labels):
            return Fit(tuple(self.prior.tolist()), (), seed)
        start = np.minimum(self.prior, BREACH) * np.exp(0.25 * rng.standard_normal(rules))
        free = start + np.log(-np.expm1(-start))  # inverse of softplus
        mean, square, losses, steps = np.zeros(rules), np.zeros(rules), [], 0
        for _ in range(self.epochs):
            if self.batch:
                losses.append(self._penalised(loss, free)[0])
            for part in self._parts(loss, rng):
                value, slope = self._penalised(part, free)
                steps += 1
                mean += 0.1 * (slope - mean)
                square += 0.001 * (slope * slope - square)
                free -= self.rate * mean / (1 - 0.9**steps) / (np.sqrt(square / (1 - 0.999**steps)) + 1e-8)
            if not self.batch:
                losses.append(value)
        losses.append(self._penalised(loss, free)[0])
        weights = np.minimum(np.where(self._hard, HARD, np.logaddexp(0, free)), self._most)
        return Fit(tuple(weights.tolist()), tuple(losses), seed)

    @property
    def _hard(self) -> np.ndarray:
        return np.isinf(self.prior)

    @property
    def _most(self) -> np.ndarray:
        """What each weight may come to: that of a soft rule, whose prior is below others', not over that, so that it
        never decides alone."""
        return np.where(self.prior < PRIOR, self.prior, np.inf)

    def _parts(self, loss: Loss, rng: np.random.Generator) -> Iterator[Loss]:
        """What each step of an epoch learns from: every example once."""
        if not self.batch:
            yield loss
            return
        order = rng.permutation(len(loss.labels))
        for at in range(0, len(order), self.batch):
            yield loss.some(order[at : at + self.batch])

    def _penalised(self, loss: Loss, free: np.ndarray) -> tuple[float, np.ndarray]:
        """The loss with its pull towards the prior, and its derivative by each free parameter."""
        weights = np.where(self._hard, BREACH, np.logaddexp(0, free))
        value, slope = loss(weights)
        away = np.where(self._hard, 0.0, weights - self.prior)
        return value + self.l2 * float(away @ away), -(slope + 2 * self.l2 * away) * np.expm1(-weights) * ~self._hard


def joined(parts: Sequence[Examples]) -> Examples:
    """The examples of several parts, of one circuit and one kind, together."""
    sizes = np.cumsum([0, *(len(part.differences) for part in parts)])
    starts = [part.starts + size for part, size in zip(parts, sizes, strict=False) if part.starts is not None]
    whole = [np.concatenate([getattr(part, name) for part in parts]) for name in ("differences", "labels")]
    undecided = sum(part.undecided for part in parts)
    if not starts:
        return Examples(*whole, parts[0].source, undecided)
    return Examples(
        *whole, parts[0].source, undecided, np.concatenate(starts), np.concatenate([part.chances for part in parts])
    )


def learned_at(
    examples: Mapping[str, Examples], priors: Mapping[str, Sequence[float]], l2: float, **options: float
) -> dict[str, tuple[float, ...]]:
    """The weights of each circuit by that pull, from one start, options as of `learn_all`; the prior where it is
    infinite."""
    if l2 == np.inf:
        return {name: tuple(priors[name]) for name in examples}
    fits = learn_all(examples, (0,), priors=priors, l2=l2, **options)
    return {name: fit.weights for name, (fit,) in fits.items()}


def pull(
    folds: Sequence[Mapping[str, Examples]],
    priors: Mapping[str, Sequence[float]],
    pulls: Sequence[float],
    *,
    epsilon: float,
    margin: float,
    epochs: int = 100,
) -> float:
    """The pull towards the prior by which most examples of a fold come out right, learned from all other folds.

    The first one stands unless another is right so much more often that an exact sign test at 5 % tells; an infinite
    one is the prior itself: nothing is learned.

    Raises:
        ValueError: there are fewer than two folds.
    """
    if len(folds) < 2:
        raise ValueError(f"two folds or more were required, to learn from some and try on another; got {len(folds)}")

    def right(l2: float) -> np.ndarray:
        hits = [np.zeros(0, bool)]
        for i, held in enumerate(folds):
            others = [fold for j, fold in enumerate(folds) if j != i]
            taught = {name: joined([fold[name] for fold in others]) for name in held}
            learned = learned_at(taught, priors, l2, epsilon=epsilon, margin=margin, epochs=epochs)
            losses = {name: Loss.of(given, epsilon=epsilon, margin=margin) for name, given in held.items()}
            hits += [loss.right(np.array(learned[name])) for name, loss in losses.items() if len(loss.labels)]
        return np.concatenate(hits)

    first, *others = pulls
    base = right(first)
    tried = {l2: right(l2) for l2 in others}
    found = max(tried, key=lambda l2: tried[l2].sum(), default=first)
    won, lost = (int(some.sum()) for some in (tried[found] & ~base, base & ~tried[found])) if tried else (0, 0)
    return found if _chance(won, lost) < SURE else first


def _chance(won: int, lost: int) -> float:
    """The probability of so many won or more, of all that differ, if each is as likely won as lost."""
    n = won + lost
    return sum(math.comb(n, k) for k in range(won, n + 1)) / 2**n


def best(fits: Sequence[Fit]) -> Fit:
    """The fit with the lowest final loss; the first of equals."""
    if not fits:
        raise ValueError("at least one fit was required; got none")
    return min(fits, key=lambda fit: fit.losses[-1] if fit.losses else 0.0)


def spread(fits: Sequence[Fit]) -> tuple[float, ...]:
    """Per rule that is not hard, the largest minus the smallest weight over the fits: how much the seed decides."""
    table = np.array([[weight for weight in fit.weights if weight != HARD] for fit in fits])
    return tuple((table.max(axis=0) - table.min(axis=0)).tolist()) if table.size else ()
