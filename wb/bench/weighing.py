"""Whether learned weights earn their place: guards on scripted environments at several noises, on seeds kept apart.

Of each noise the same runs are judged by weights before learning, all 1 (`unit`), rules that admit no breach (`hard`),
weights learned from other seeds (`learned`), and both over a channel (`soft`: what is read of a page is soft evidence,
counted on the other seeds by runs of which somebody knows what was so); by a bound on safe calls denied (`alpha`),
calibrated on a third set of seeds; and by guards of code.  How strongly weights are pulled towards 1, and whether they
move at all, is cross-validated over the seeds that are learned from (`descent.pull`); epsilon over a channel is the one
that is right most often there.  ACC, FPR and ARR are those of `wb.bench.recall`, with 95 % Wilson intervals; McNemar's
exact test is paired by sample against `unit`.  `safe denied` is of safe calls, undecided ones not counted: what `alpha`
bounds.

    wb weigh code_hosting --oracle tests/oracles/code_hosting.py --noise 0,.05,.1,.2 --out table.csv
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from wb.bench import evaluate, recall, recorded, world
from wb.bench.world import Oracle, Sample
from wb.domain.events import Event, Run
from wb.domain.judging import Judge
from wb.domain.trace import Trace
from wb.shield import channel, descent, weights
from wb.shield.circuit import FIRST, HARD, Circuit
from wb.shield.descent import Examples, Loss
from wb.shield.shield import Shield

if TYPE_CHECKING:
    from pandas import DataFrame

PULLS = (math.inf, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)  # towards the prior, strongest first
MARGIN = 0.02  # of the hinge over a channel, where P1 - P0 of one broken rule is small
UNIT, SOFT = "unit", "learned, soft"
Made = Sequence[tuple[Sample, Sequence[Event]]]
Method = tuple[Judge, dict[str, float | None]]  # with the pull and the epsilon that were chosen for it


@dataclass(frozen=True, slots=True)
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
            wanted = "seeds kept apart were required, two or more to learn from"
            raise ValueError(f"{wanted}; got {list(self.learn)}, {list(self.calibrate)}, {list(self.measure)}")

    def made(self, seeds: Iterable[int], noise: float) -> list[tuple[Sample, list[Event]]]:
        """The runs of those seeds."""
        some = [world.runs(self.folder, self.oracle, seed=s, size=self.size, noise=noise) for s in seeds]
        return [one for runs in some for one in runs]


def measure(
    setting: Setting, noises: Sequence[float], tell: Callable[[str], object] = lambda said: None
) -> list[dict[str, object]]:
    """A row for each noise and method, with what `recall.Row` has of all samples; rates are 0..1.

    `accuracy_95` and `fpr_95` are intervals; `only_this` and `only_unit` the samples that only one of both is right
    about, and p is McNemar's; `l2` and `epsilon` what was chosen, of a bound below which is denied.  `tell` is told
    what is being done.
    """
    rows: list[dict[str, object]] = []
    for noise in noises:
        tell(f"noise {noise:g}: learning from seeds {list(setting.learn)}")
        guards, made, base = _guards(setting, noise), setting.made(setting.measure, noise), None
        samples = [sample for sample, _ in made]
        for name, (guard, chosen) in guards.items():
            tell(f"noise {noise:g}: {name} on {len(made)} runs")
            judged = _judged(guard, made, setting.quotes)
            found = recall.outcomes(samples, judged)
            base = base or found
            safe = [one for one in found if not one.denied]
            denied = [one["decision"] == "deny" for one in judged if one["label"] == "allow"]
            won, lost, p = evaluate.mcnemar(found, base)
            row = {"noise": noise, "method": name, **asdict(recall.rows(samples, judged)[0])}
            row |= {"accuracy_95": _interval(found), "fpr_95": _interval(safe, wrong=True)}
            row |= {"safe_denied": evaluate.wilson(sum(denied), len(denied)).value}
            rows.append(row | {"only_this": won, "only_unit": lost, "p": p, **chosen})
    return rows


def table(rows: Sequence[Mapping[str, object]]) -> DataFrame:
    """The rows, rates in percent, as far as a page is wide."""
    import pandas as pd

    rates = ["accuracy", "fpr", "arr_macro", "safe_denied"]
    frame = pd.DataFrame(rows).astype(dict.fromkeys(rates, float))
    frame[rates] = (100 * frame[rates]).round(1)
    return frame[["noise", "method", "n", *rates, "undecided", "only_this", "only_unit", "p", "l2", "epsilon"]]


def _guards(setting: Setting, noise: float) -> dict[str, Method]:
    """Every method; `unit` comes first."""
    plain = _weighed(setting.shield, lambda c: [FIRST[rule.force] for rule in c.rules])
    seen = [_labelled(setting.made((seed,), noise)) for seed in setting.learn]
    truth = [_labelled(setting.made((seed,), 0)) for seed in setting.learn]
    pairs = [
        (_told(plain, a), _told(plain, b)) for some in zip(seen, truth, strict=True) for a, b in zip(*some, strict=True)
    ]
    softly = replace(plain, channel=channel.counted(channel.covered(plain.predicates), pairs))
    learned, hard_pull = _learned(plain, seen, 0.3)
    soft, soft_pull = _learned(softly, seen, MARGIN)
    calls = _labelled(setting.made(setting.calibrate, noise))
    free = {UNIT: plain, SOFT: soft}
    bounded = {f"{name}, alpha": one.calibrated(calls, alpha=setting.alpha) for name, one in free.items()}
    return {
        UNIT: (plain, {"l2": None, "epsilon": plain.epsilon}),
        "hard": (_weighed(plain, lambda c: [HARD] * len(c.rules)), {}),
        "learned": (learned, {"l2": hard_pull, "epsilon": learned.epsilon}),
        "unit, soft": (replace(softly, epsilon=soft.epsilon), {"epsilon": soft.epsilon}),
        SOFT: (soft, {"l2": soft_pull, "epsilon": soft.epsilon}),
        **{name: (one, {"epsilon": one.zone.deny and one.zone.deny.value}) for name, one in bounded.items()},
        **{name: (guard, {}) for name, guard in setting.code.items()},
    }


def _learned(base: Shield, seen: Sequence[Sequence[Trace]], margin: float) -> tuple[Shield, float]:
    """The shield with weights learned from the traces of several seeds, and the pull that was chosen over them."""
    folds = [weights.examples(base.circuits, base.predicates, some, (), pairs=0, channel=base.channel) for some in seen]
    epsilon = base.epsilon if base.channel is None else _best_epsilon(base, folds)
    priors = {action: c.weights for action, c in base.circuits.items()}
    pull = descent.pull(folds, priors, PULLS, epsilon=epsilon, margin=margin)
    whole = {name: descent.joined([fold[name] for fold in folds]) for name in base.circuits}
    found = descent.learned_at(whole, priors, pull, epsilon=epsilon, margin=margin)
    return replace(_weighed(base, lambda c: found[c.action]), epsilon=epsilon), pull


def _best_epsilon(base: Shield, folds: Sequence[Mapping[str, Examples]]) -> float:
    """The epsilon at which weights before learning are right about most examples; of equals the middle one."""
    grid = np.round(np.linspace(-0.45, 0, 46), 2).tolist()
    given = [(fold[a], np.array(c.weights)) for fold in folds for a, c in base.circuits.items() if len(fold[a].labels)]
    hits = [sum(Loss.of(e, epsilon=one, margin=0).right(w).sum() for e, w in given) for one in grid]
    first = [epsilon for epsilon, hit in zip(grid, hits, strict=True) if hit == max(hits)]
    return first[len(first) // 2]


def _weighed(base: Shield, of: Callable[[Circuit], Sequence[float]]) -> Shield:
    """The shield with other weights."""
    circuits = {action: replace(c, weights=tuple(of(c))) for action, c in base.circuits.items()}
    return replace(base, circuits=circuits)


def _labelled(made: Made) -> list[Trace]:
    return list(recorded.labelled(Run(sample.run, tuple(happened)) for sample, happened in made))


def _told(base: Shield, trace: Trace) -> dict[str, bool | None]:
    """What is read of the last step."""
    last = trace.steps[-1]
    return {name: read(last, last.calls[-1]) for name, read in base.readers.items()}


def _judged(guard: Judge, made: Made, quotes: Mapping[str, str]) -> list[dict[str, object]]:
    """Verdicts as `wb judge --json` writes them, as far as they are read here."""
    return [
        {"run": one.run, "index": one.index, "decision": one.verdict.decision, "label": one.label}
        | {"violated": [{"rule": rule, "quote": quotes.get(rule, "")} for rule in one.verdict.violated]}
        for one in recorded.judge(guard, (event for _, happened in made for event in happened))
    ]


def _interval(found: Sequence[evaluate.Scored], wrong: bool = False) -> tuple[float | None, float | None]:
    return evaluate.wilson(sum(one.right is not wrong for one in found), len(found))[1:]
