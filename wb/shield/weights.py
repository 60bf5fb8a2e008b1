"""What rule weights are learned from: labelled or simulated runs (ShieldAgent, Alg. 3, lines 26 to 37).

Each example is one invocation of a circuit's action: per rule, how much better the rule fares when the
action is taken than when it is not (+1, 0 or -1), and a label: +1 safe, -1 unsafe.  With soft evidence an
example is each way in which the rules may fare, with its probability.

Pseudo-labels: simulated runs of a circuit's action where nobody has labelled real ones.

ShieldAgent trains its weights on real or simulated data (Sec. 3.2.4, after the pseudo-learning of
Kang & Li 2024).  Here situations are drawn that keep all rules of a circuit, by random walk from a
random start (WalkSAT, Selman & Kautz 1993), and each is then changed as little as it takes to break
one rule.  The label is what the rules themselves say: such examples can show that learning works
and balance the weights of one circuit, never that a rule is right; they are marked `simulated`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from wb.domain.trace import Trace
from wb.rules.rule import Predicate, Rule
from wb.rules.truths import readers
from wb.shield import circuit
from wb.shield.channel import Channel
from wb.shield.circuit import HARD, Circuit, Kept, Monitor
from wb.shield.descent import Examples, Fit, Source, best, spread
from wb.shield.elimination import TooWide


def _examples(
    of: Circuit, rows: Sequence[Sequence[int]], labels: Sequence[int], source: Source, undecided: int = 0
) -> Examples:
    table = np.array(rows, dtype=int).reshape(len(labels), len(of.rules))
    return Examples(table, np.array(labels, dtype=int), source, undecided)


def observed(
    of: Circuit, predicates: Sequence[Predicate], traces: Iterable[Trace], channel: Channel | None = None
) -> Examples:
    """The labelled traces whose last step takes the circuit's action, as examples (label -1: to be denied).

    A trace on which some rule of the circuit is unknown teaches nothing about its weights and is
    counted as undecided.  With a `channel` what is read of the last step is soft evidence.
    """
    machines, reads = circuit.automata((*of.rules, *of.laws)), readers(predicates)
    read, labels = [], []
    for trace in traces:
        if trace.denied is None or of.action not in reads or not reads[of.action](trace.steps[-1], None):
            continue
        read.append([{name: read(step, None) for name, read in reads.items()} for step in trace.steps])
        labels.append(-1 if trace.denied else 1)
    if channel is not None:
        return _soft(of, machines, read, labels, channel)
    rows = [differences(of, machines, steps) for steps in read]
    kept = [(row, label) for row, label in zip(rows, labels, strict=True) if row is not None]
    return _examples(of, [row for row, _ in kept], [label for _, label in kept], "real", len(rows) - len(kept))


def _soft(
    of: Circuit,
    machines: Mapping[str, Monitor | None],
    read: Sequence[Sequence[Mapping[str, bool | None]]],
    labels: Sequence[int],
    channel: Channel,
) -> Examples:
    """Examples over a channel: those of which the same is certain at once."""
    alike: dict[tuple, list[tuple[int, dict[str, float], list[Mapping]]]] = {}
    for label, (*before, last) in zip(labels, read, strict=True):
        told, likely = channel.soften(last)
        steps = [*before, told]
        alike.setdefault(tuple(tuple(step.values()) for step in steps), []).append((label, likely, steps))
    rows, chances, kept, counts, undecided = [np.zeros((0, len(of.rules)), int)], [np.zeros(0)], [], [], 0
    for group in alike.values():
        fares = {r.id: circuit.fares(machines[r.id], of.action, group[0][2]) for r in (*of.rules, *of.laws)}
        likely = {name: np.array([one[name] for _, one, _ in group]) for name in channel.chances}
        try:
            with np.errstate(invalid="ignore"):
                ways = circuit.ways(of, fares, likely)
        except TooWide:
            ways = {}
        table = np.array([np.broadcast_to(p, len(group)) for p in ways.values()]).reshape(
            -1, len(group)
        )  # (ways, steps)
        possible = np.isfinite(table).all(axis=0) & (len(ways) > 0)
        undecided += int((~possible).sum())
        rows.append(np.tile(np.array(list(ways), dtype=int).reshape(-1, len(of.rules)), (int(possible.sum()), 1)))
        chances.append(table.T[possible].ravel())
        kept += [label for (label, _, _), ok in zip(group, possible, strict=True) if ok]
        counts += [len(ways)] * int(possible.sum())
    starts = np.cumsum(counts, dtype=int) - np.array(counts, dtype=int)
    return Examples(np.concatenate(rows), np.array(kept, dtype=int), "real", undecided, starts, np.concatenate(chances))


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


def row(of: Circuit, examples: Examples, fits: Sequence[Fit]) -> dict[str, object]:
    """The best fit of one circuit as JSON values, with what it was learned from and how far the seeds disagree; hard
    rules learn nothing and are left out."""
    chosen = best(fits)
    return {
        "action": of.action,
        "rules": [rule.id for rule, weight in zip(of.rules, chosen.weights, strict=True) if weight != HARD],
        "weights": [weight for weight in chosen.weights if weight != HARD],
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
    channel: Channel | None = None,
) -> dict[str, Examples]:
    """For each circuit its labelled runs where there are any that are decided, else simulated ones."""
    found, rng = {}, np.random.default_rng(seed)
    for action, of in circuits.items():
        real = observed(of, predicates, traces, channel)
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
