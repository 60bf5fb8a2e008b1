"""Rule weights from labelled or simulated runs (ShieldAgent, Eq. 6 and Alg. 3, lines 26 to 37).

Each example is one invocation of a circuit's action: per rule, how much better the rule fares when the
action is taken than when it is not (+1, 0 or -1), and a label: +1 safe, -1 unsafe.  The loss is the
paper's hinge on P1 - P0 = tanh(D/2), with what the paper leaves open settled here: weights
are softplus of free parameters and so never negative, there is a margin, the distance to the decision
bound epsilon is what is hinged, and a quadratic term pulls every weight towards 1, so that a rule
that no example exercises keeps its say.

Pseudo-labels: simulated runs of a circuit's action where nobody has labelled real ones.

ShieldAgent trains its weights on real or simulated data (Sec. 3.2.4, after the pseudo-learning of
Kang & Li 2024).  Here situations are drawn that keep all rules of a circuit, by random walk from a
random start (WalkSAT, Selman & Kautz 1993), and each is then changed as little as it takes to break
one rule.  The label is what the rules themselves say: such examples can show that learning works
and balance the weights of one circuit, never that a rule is right; they are marked `simulated`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from wb.domain.trace import Trace
from wb.rules.rule import Predicate, Rule
from wb.rules.truths import readers
from wb.shield import circuit
from wb.shield.circuit import Circuit, Kept, Monitor

if TYPE_CHECKING:
    from torch import Tensor

Source = Literal["real", "simulated"]
PRIOR = 1.0  # the weight of a rule before anything is learned


@dataclass(frozen=True, slots=True)
class Examples:
    """Labelled invocations of one action. `differences` has shape (n, rules), values -1, 0, 1; `labels`
    are +1 (safe) or -1 (unsafe); `undecided` counts the invocations left out because a rule was unknown."""

    differences: np.ndarray
    labels: np.ndarray
    source: Source
    undecided: int = 0

    def __post_init__(self) -> None:
        if self.differences.ndim != 2 or len(self.differences) != len(self.labels):
            raise ValueError(
                f"one row of differences a label was required; got {self.differences.shape} for {len(self.labels)}"
            )
        if not np.isin(self.labels, (-1, 1)).all():
            raise ValueError(f"labels must be +1 (safe) or -1 (unsafe); got {sorted(set(self.labels.tolist()))}")


def _examples(
    of: Circuit, rows: Sequence[Sequence[int]], labels: Sequence[int], source: Source, undecided: int = 0
) -> Examples:
    table = np.array(rows, dtype=int).reshape(len(labels), len(of.rules))
    return Examples(table, np.array(labels, dtype=int), source, undecided)


def observed(of: Circuit, predicates: Sequence[Predicate], traces: Iterable[Trace]) -> Examples:
    """The labelled traces whose last step takes the circuit's action, as examples (label -1: to be denied).

    A trace on which some rule of the circuit is unknown teaches nothing about its weights and is
    counted as undecided.
    """
    machines, reads = circuit.automata(of.rules), readers(predicates)
    rows, labels, undecided = [], [], 0
    for trace in traces:
        if trace.denied is None or of.action not in reads or not reads[of.action](trace.steps[-1], None):
            continue
        steps = [{name: read(step, None) for name, read in reads.items()} for step in trace.steps]
        row = differences(of, machines, steps)
        if row is None:
            undecided += 1
            continue
        rows.append(row)
        labels.append(-1 if trace.denied else 1)
    return _examples(of, rows, labels, "real", undecided)


def differences(
    of: Circuit, machines: Mapping[str, Monitor | None], steps: Sequence[Mapping[str, bool | None]]
) -> list[int] | None:
    """Per rule: kept with the action taken minus kept with it left (-1, 0, 1); None where one is unknown."""
    row = []
    for rule in of.rules:
        gains = {int(o.taken) - int(o.left) for o in circuit.outcomes(machines[rule.id], of.action, steps)}
        if len(gains) > 1:
            return None
        row.append(gains.pop())
    return row


@dataclass(frozen=True, slots=True)
class Fit:
    """One training run: the weights after it, and the loss before each epoch and after the last."""

    weights: tuple[float, ...]
    losses: tuple[float, ...]
    seed: int


def hinge(weights: Tensor, differences: Tensor, labels: Tensor, *, epsilon: float, margin: float) -> Tensor:
    """Eq. 6 before its mean, one value an example: max(0, margin - y (tanh(D/2) - epsilon)), D = differences · weights.

    `weights` has shape (rules,), or (rules, runs) for one column a run.  At epsilon = margin = 0 its
    mean is the printed loss.
    """
    relative = (differences @ weights / 2).tanh()
    labels = labels.reshape(-1, *[1] * (relative.ndim - 1))
    return (margin - labels * (relative - epsilon)).clamp(min=0)


def learn_all(
    examples: Mapping[str, Examples],
    seeds: Sequence[int],
    *,
    epsilon: float = 0.0,
    margin: float = 0.1,
    l2: float = 1e-3,
    rate: float = 0.05,
    epochs: int = 200,
    tell: Callable[[int, int], object] = lambda done, of: None,
) -> dict[str, tuple[Fit, ...]]:
    """One fit a circuit and seed: weights by Adam from a random start, log-normal around the prior.

    `epsilon` is the bound that decisions will be held against, in -1..1; `margin` is on the same scale
    as P1 - P0; `l2` is the pull towards the prior.  Without examples the weights are the prior.  All
    fits share their steps and nothing else: each is what it would be alone.  `tell` is told how many
    epochs are done, and of how many.
    """
    import torch
    from threadpoolctl import threadpool_limits

    taught = {name: e for name, e in examples.items() if len(e.labels) and seeds}
    found = {
        name: tuple(Fit((PRIOR,) * e.differences.shape[1], (), seed) for seed in seeds) for name, e in examples.items()
    }
    if not taught:
        return found
    blocks = [_distinct(e) for e in taught.values()]
    differences = torch.block_diag(*(torch.tensor(rows, dtype=torch.float64) for rows, _, _ in blocks))
    labels = torch.tensor(np.concatenate([labels for _, labels, _ in blocks]), dtype=torch.float64)
    shares = torch.block_diag(*(torch.tensor(share[None], dtype=torch.float64) for _, _, share in blocks))
    owners = torch.block_diag(*(torch.ones((1, rows.shape[1]), dtype=torch.float64) for rows, _, _ in blocks))
    starts = [
        torch.cat(
            [
                torch.randn(rows.shape[1], generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
                for rows, _, _ in blocks
            ]
        )
        for seed in seeds
    ]
    free = torch.log(
        torch.expm1(PRIOR * torch.exp(0.25 * torch.stack(starts, dim=1)))
    ).requires_grad_()  # inverse of softplus
    adam, losses = torch.optim.Adam([free], lr=rate), []
    with threadpool_limits(1):  # small products: more threads only wait for one another
        for epoch in range(epochs + 1):
            weights = torch.nn.functional.softplus(free)
            pulled = l2 * (owners @ (weights - PRIOR) ** 2)
            loss = (
                shares @ hinge(weights, differences, labels, epsilon=epsilon, margin=margin) + pulled
            )  # (circuits, seeds)
            losses.append(loss.detach().numpy())
            tell(epoch, epochs)
            if epoch < epochs:
                adam.zero_grad()
                loss.sum().backward()
                adam.step()
    return found | _fits(
        tuple(taught), [rows.shape[1] for rows, _, _ in blocks], weights.detach().numpy(), np.array(losses), seeds
    )


def _distinct(examples: Examples) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The distinct examples: their differences, their labels, and the share of all that each stands for."""
    table, counts = np.unique(np.column_stack([examples.differences, examples.labels]), axis=0, return_counts=True)
    return table[:, :-1], table[:, -1], counts / counts.sum()


def _fits(
    names: Sequence[str], sizes: Sequence[int], weights: np.ndarray, losses: np.ndarray, seeds: Sequence[int]
) -> dict[str, tuple[Fit, ...]]:
    """The fits of each circuit out of the common arrays: weights (rules, seeds), losses (epochs, circuits, seeds)."""
    parts = np.split(weights, np.cumsum(sizes)[:-1])
    return {
        name: tuple(
            Fit(tuple(part[:, j].tolist()), tuple(losses[:, i, j].tolist()), seed) for j, seed in enumerate(seeds)
        )
        for i, (name, part) in enumerate(zip(names, parts, strict=True))
    }


def best(fits: Sequence[Fit]) -> Fit:
    """The fit with the lowest final loss; the first of equals."""
    if not fits:
        raise ValueError("at least one fit was required; got none")
    return min(fits, key=lambda fit: fit.losses[-1] if fit.losses else 0.0)


def spread(fits: Sequence[Fit]) -> tuple[float, ...]:
    """Per rule, the largest minus the smallest weight over the fits: how much the seed decides."""
    table = np.array([fit.weights for fit in fits])
    return tuple((table.max(axis=0) - table.min(axis=0)).tolist()) if table.size else ()


def row(of: Circuit, examples: Examples, fits: Sequence[Fit]) -> dict[str, object]:
    """The best fit of one circuit as JSON values, with what it was learned from and how far the seeds disagree."""
    chosen = best(fits)
    return {
        "action": of.action,
        "rules": [rule.id for rule in of.rules],
        "weights": list(chosen.weights),
        "losses": list(chosen.losses),
        "seed": chosen.seed,
        "spread": list(spread(fits)),
        "source": examples.source,
        "examples": len(examples.labels),
        "unsafe": int((examples.labels == -1).sum()),
        "undecided": examples.undecided,
    }


Steps = tuple[dict[str, bool], ...]
LENGTH = 2  # steps: one past and the present, the least in which "before" has a meaning
FLIPS = 400  # of the random walk, after which a start is given up


def examples(
    circuits: Mapping[str, Circuit],
    predicates: Sequence[Predicate],
    traces: Sequence[Trace],
    known: Sequence[Rule],
    *,
    seed: int = 0,
    pairs: int = 100,
) -> dict[str, Examples]:
    """For each circuit its labelled runs where there are any that are decided, else simulated ones."""
    found, rng = {}, np.random.default_rng(seed)
    for action, of in circuits.items():
        real = observed(of, predicates, traces)
        found[action] = real if len(real.labels) else simulated(of, known, rng, pairs=pairs)
    return found


def simulated(of: Circuit, known: Sequence[Rule], rng: np.random.Generator, *, pairs: int = 100) -> Examples:
    """Up to `pairs` safe situations and as many with one rule broken, consistent with the `known` physical rules.

    The broken rule goes round the rules that mention the action.  Situations that the walk does not
    find (rules that cannot be kept together) are left out.
    """
    focus = [rule for rule in of.rules if of.action in rule.predicates]
    names = sorted({name for rule in of.rules for name in rule.predicates} | {of.action})
    laws = [rule for rule in known if set(rule.predicates) <= set(names)]
    machines = circuit.automata((*of.rules, *laws))
    if not focus or any(machine is None for machine in machines.values()):
        return _examples(of, (), (), "simulated")
    rows, labels = [], []
    for i in range(pairs):
        start = tuple({name: bool(rng.integers(2)) for name in names} for _ in range(LENGTH))
        safe = _walk(start, lambda steps: _broken(of, machines, laws, steps), of.action, rng)
        rule = focus[i % len(focus)]
        unsafe = safe and _walk(safe, lambda steps, rule=rule: _held(of, machines, laws, rule, steps), of.action, rng)
        for steps, label in ((safe, 1), (unsafe, -1)):
            if steps:
                rows.append(differences(of, machines, steps))
                labels.append(label)
    return _examples(of, rows, labels, "simulated")


def _walk(steps: Steps, wrong: Callable[[Steps], list[Rule]], action: str, rng: np.random.Generator) -> Steps | None:
    """Flip one predicate of one wrong rule at a time until nothing is wrong; None if that takes too long."""
    for _ in range(FLIPS):
        rules = wrong(steps)
        if not rules:
            return steps
        rule = rules[rng.integers(len(rules))]
        at, name = rng.integers(LENGTH), rule.predicates[rng.integers(len(rule.predicates))]
        if at == LENGTH - 1 and name == action:
            continue
        steps = tuple({**step, name: not step[name]} if i == at else step for i, step in enumerate(steps))
    return None


def _broken(of: Circuit, machines: Mapping[str, Monitor | None], laws: Sequence[Rule], steps: Steps) -> list[Rule]:
    """The rules broken by taking the action here, and the physical rules broken at all."""
    return [r for r in (*of.rules, *laws) if not all(o.taken for o in _outcomes(of, machines, r, steps))]


def _held(
    of: Circuit, machines: Mapping[str, Monitor | None], laws: Sequence[Rule], focus: Rule, steps: Steps
) -> list[Rule]:
    """The focus rule while taking the action does not break it, and the physical rules that are broken."""
    held = [focus] if _outcomes(of, machines, focus, steps) != {Kept(False, True)} else []
    return held + [r for r in laws if not all(o.taken for o in _outcomes(of, machines, r, steps))]


def _outcomes(of: Circuit, machines: Mapping[str, Monitor | None], rule: Rule, steps: Steps) -> frozenset[Kept]:
    return circuit.outcomes(machines[rule.id], of.action, steps)
