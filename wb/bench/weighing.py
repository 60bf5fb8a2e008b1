"""Whether learned weights earn their place: guards on scripted environments at several noises, on seeds kept apart.

Of each noise the same runs are judged by weights before learning, all 1 (`unit`), rules that admit no breach (`hard`),
weights learned from other seeds (`learned`), and both over a channel (`soft`: what is read of a page is soft evidence,
counted on the other seeds by runs of which somebody knows what was so); by a bound on safe calls denied (`alpha`),
calibrated on a third set of seeds; and by guards of code.  How strongly weights are pulled towards 1, and whether they
move at all, is cross-validated over the seeds that are learned from (`weights.pull`); epsilon over a channel is the one
that is right most often there.  ACC, FPR and ARR are those of `wb.bench.recall`, with 95 % Wilson intervals; McNemar's
exact test is paired by sample against `unit`.  `safe denied` is of safe calls, undecided ones not counted: what `alpha`
bounds.

    wb weigh code_hosting --oracle tests/oracles/code_hosting.py --noise 0,.05,.1,.2 --out table.csv
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TextIO

import numpy as np

from wb.bench import evaluate, recall, recorded, world
from wb.bench.world import Oracle, Sample
from wb.domain.events import Event, Run
from wb.domain.judging import Judge
from wb.domain.trace import Trace
from wb.shield import channel, weights
from wb.shield.circuit import FIRST, HARD, Circuit
from wb.shield.shield import Shield
from wb.shield.weights import Examples, Loss

PULLS = (math.inf, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)  # towards the prior, strongest first
MARGIN = 0.02  # of the hinge over a channel, where P1 - P0 of one broken rule is small
UNIT, SOFT = "unit", "learned, soft"
Made = Sequence[tuple[Sample, Sequence[Event]]]


@dataclass(frozen=True, slots=True)
class Row:
    """What one method does at one noise; rates 0..1. `only_this` and `only_unit` are samples that only one of both is
    right about. `l2` and `epsilon` are what was chosen where something was (of `alpha`: below which is denied)."""

    noise: float
    method: str
    n: int
    unsafe: int
    accuracy: float | None
    accuracy_low: float | None
    accuracy_high: float | None
    fpr: float | None
    fpr_low: float | None
    fpr_high: float | None
    arr_macro: float | None
    arr_micro: float | None
    undecided: int
    safe_denied: float | None
    only_this: int
    only_unit: int
    p: float
    l2: float | None = None
    epsilon: float | None = None


@dataclass(frozen=True)
class Setting:
    """What is measured: a folder's environment, the shield with its circuits and the code guards, whose verdicts quote
    the sentences in `quotes`; and which seeds are learned from, calibrated on and measured on."""

    folder: Path
    oracle: Oracle
    shield: Shield
    code: Mapping[str, Judge]
    quotes: Mapping[str, str]
    learn: Sequence[int]
    calibrate: Sequence[int]
    measure: Sequence[int]
    size: int = world.SIZE
    alpha: float = 0.05

    def __post_init__(self) -> None:
        sets = [set(self.learn), set(self.calibrate), set(self.measure)]
        if len(set().union(*sets)) < sum(map(len, sets)) or len(self.learn) < 2 or not all(sets):
            raise ValueError(
                "seeds kept apart were required, two or more to learn from; got "
                f"{list(self.learn)}, {list(self.calibrate)}, {list(self.measure)}"
            )

    def made(self, seeds: Iterable[int], noise: float) -> list[tuple[Sample, list[Event]]]:
        """The runs of those seeds."""
        some = [world.runs(self.folder, self.oracle, seed=s, size=self.size, noise=noise) for s in seeds]
        return [one for runs in some for one in runs]


def measure(setting: Setting, noises: Sequence[float], tell: Callable[[str], object] = lambda said: None) -> list[Row]:
    """The rows of every noise and method; `tell` is told what is being done."""
    rows: list[Row] = []
    for noise in noises:
        tell(f"noise {noise:g}: learning from seeds {list(setting.learn)}")
        guards = _guards(setting, noise)
        made = setting.made(setting.measure, noise)
        base = None
        for name, (guard, l2, epsilon) in guards.items():
            tell(f"noise {noise:g}: {name} on {len(made)} runs")
            judged = _judged(guard, made, setting.quotes)
            found = recall.outcomes([sample for sample, _ in made], judged)
            base = base or found
            rows.append(_row(noise, name, made, judged, found, base, l2, epsilon))
    return rows


def write(rows: Iterable[Row], file: TextIO) -> None:
    """The rows as CSV."""
    table = csv.DictWriter(file, [one.name for one in fields(Row)], lineterminator="\n")
    table.writeheader()
    table.writerows(asdict(row) for row in rows)


def table(rows: Sequence[Row]) -> str:
    """The rows as text, rates in percent."""
    import pandas as pd

    rates = ["accuracy", "fpr", "arr_macro", "safe_denied"]
    frame = pd.DataFrame([asdict(row) for row in rows])
    frame[rates] = (100 * frame[rates].astype(float)).round(1)
    shown = ["noise", "method", "n", *rates, "undecided", "only_this", "only_unit", "p", "l2", "epsilon"]
    return frame[shown].to_string(index=False, na_rep="-", float_format=lambda number: f"{number:.3g}")


def _guards(setting: Setting, noise: float) -> dict[str, tuple[Judge, float | None, float | None]]:
    """Every method, with the pull and the epsilon that were chosen for it; `unit` comes first."""
    plain = _weighed(setting.shield, lambda c: [FIRST[rule.force] for rule in c.rules])
    seen = {seed: _labelled(setting.made((seed,), noise)) for seed in setting.learn}
    truth = {seed: _labelled(setting.made((seed,), 0)) for seed in setting.learn}
    pairs = [
        pair for seed in setting.learn for pair in zip(_told(plain, seen[seed]), _told(plain, truth[seed]), strict=True)
    ]
    heard = channel.counted(channel.covered(plain.predicates), pairs)

    def learned(base: Shield, margin: float) -> tuple[Shield, float, float]:
        folds = [
            weights.examples(base.circuits, base.predicates, seen[s], (), pairs=0, channel=base.channel) for s in seen
        ]
        epsilon = base.epsilon if base.channel is None else _bound(base, folds)
        options = {"epsilon": epsilon, "margin": margin}
        priors = {action: c.weights for action, c in base.circuits.items()}
        l2 = weights.pull(folds, priors, PULLS, **options)
        whole = {name: weights.joined([fold[name] for fold in folds]) for name in base.circuits}
        found = weights.learned_at(whole, priors, l2, **options)
        return replace(_weighed(base, lambda c: found[c.action]), epsilon=epsilon), l2, epsilon

    soft, soft_l2, epsilon = learned(replace(plain, channel=heard), MARGIN)
    hard, hard_l2, _ = learned(plain, 0.3)
    calls = _labelled(setting.made(setting.calibrate, noise))
    bounded = {
        f"{name}, alpha": one.calibrated(calls, alpha=setting.alpha) for name, one in ((UNIT, plain), (SOFT, soft))
    }
    soft_unit = replace(plain, channel=heard, epsilon=epsilon)
    return {
        UNIT: (plain, None, plain.epsilon),
        "hard": (_weighed(plain, lambda c: (HARD,) * len(c.rules)), None, None),
        "learned": (hard, hard_l2, hard.epsilon),
        "unit, soft": (soft_unit, None, epsilon),
        SOFT: (soft, soft_l2, epsilon),
        **{name: (one, None, one.zone.deny.value if one.zone.deny else None) for name, one in bounded.items()},
        **{name: (guard, None, None) for name, guard in setting.code.items()},
    }


def _weighed(base: Shield, of: Callable[[Circuit], Sequence[float]]) -> Shield:
    """The shield with other weights."""
    circuits = {action: replace(c, weights=tuple(of(c))) for action, c in base.circuits.items()}
    return replace(base, circuits=circuits)


def _bound(base: Shield, folds: Sequence[Mapping[str, Examples]]) -> float:
    """The epsilon at which all weights 1 are right about most examples; of equals the middle one."""
    grid = np.round(np.linspace(-0.45, 0, 46), 2).tolist()
    given = [fold[action] for fold in folds for action in base.circuits if len(fold[action].labels)]

    def right(epsilon: float) -> int:
        return sum(Loss.of(e, epsilon=epsilon, margin=0).right(np.ones(e.differences.shape[1])).sum() for e in given)

    hits = [right(epsilon) for epsilon in grid]
    first = [epsilon for epsilon, hit in zip(grid, hits, strict=True) if hit == max(hits)]
    return first[len(first) // 2]


def _labelled(made: Made) -> list[Trace]:
    return list(recorded.labelled(Run(sample.run, tuple(happened)) for sample, happened in made))


def _told(base: Shield, traces: Iterable[Trace]) -> list[dict[str, bool | None]]:
    """What is read of the last step of each."""
    return [{name: read(t.steps[-1], t.steps[-1].calls[-1]) for name, read in base.readers.items()} for t in traces]


def _judged(guard: Judge, made: Made, quotes: Mapping[str, str]) -> list[dict[str, object]]:
    """Verdicts as `wb judge --json` writes them, as far as they are read here."""
    events = [event for _, happened in made for event in happened]
    return [
        {"run": one.run, "index": one.index, "decision": one.verdict.decision, "label": one.label}
        | {"violated": [{"rule": rule, "quote": quotes.get(rule, "")} for rule in one.verdict.violated]}
        for one in recorded.judge(guard, events)
    ]


def _row(
    noise: float,
    name: str,
    made: Made,
    judged: Sequence[Mapping[str, object]],
    found: Sequence[evaluate.Scored],
    base: Sequence[evaluate.Scored],
    l2: float | None,
    epsilon: float | None,
) -> Row:
    one = recall.rows([sample for sample, _ in made], judged)[0]
    accuracy = evaluate.wilson(sum(scored.right for scored in found), len(found))
    safe = [scored for scored in found if not scored.denied]
    fpr = evaluate.wilson(sum(not scored.right for scored in safe), len(safe))
    calls = [verdict["decision"] == "deny" for verdict in judged if verdict["label"] == "allow"]
    return Row(
        noise,
        name,
        one.n,
        one.unsafe,
        *accuracy,
        *fpr,
        one.arr_macro,
        one.arr_micro,
        one.undecided,
        evaluate.wilson(sum(calls), len(calls)).value,
        *evaluate.mcnemar(found, base),
        l2,
        epsilon,
    )
