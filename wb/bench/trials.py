"""What came of live runs, trial by trial, and how reliably tasks were done: pass^k with its n (ToolGuard, Sec. 4).

A trial is one conversation about one task; `wb.bench.experiment` makes them and writes `results.json`, sealed like all
that a run leaves.  Here they are read and counted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from wb import paths
from wb.bench import mapping
from wb.domain import jsonl

Strategy = Literal["original", "policy_reminder", "mapping_reminder", "toolguards"]
STRATEGIES: tuple[Strategy, ...] = ("original", "policy_reminder", "mapping_reminder", "toolguards")  # as in the paper
RESULTS = "results.json"
SOURCES = ("policy.md", "tools.json", "decisions.yaml", "tasks.yaml", "tasks.json", "database.json")
HOW = (
    "no live runs were given: `wb live POLICY --model NAME --trials N` makes some and names its results, "
    "-p live=RESULTS.json shows them here"
)


class TrialError(ValueError):
    """Results of live runs cannot be used; the message says what was required and what was got."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One conversation. `agent` is a model's name, or says which script it was; `kind` says what the wish is to the
    policy, `end` why the conversation ended, `differs` where the records are not what they must be.

    `stopped` counts calls that the guards did not allow and that did not run; `let_pass` those that they did not allow
    and only watched.  `tokens` and `queries` are those of the recorded replies.
    """

    task: str
    kind: str
    strategy: Strategy
    agent: str
    number: int
    done: bool
    end: str
    differs: tuple[str, ...]
    turns: int
    calls: int
    stopped: int
    let_pass: int
    queries: int
    tokens: int
    seconds: float
    why: str = ""
    run: str = ""


def to_json(trials: Iterable[Trial], about: Mapping[str, object]) -> str:
    """A file of results, sealed."""
    told = {"about": dict(about), "trials": [asdict(one) for one in trials]}
    told = json.loads(json.dumps(told))  # as it will be read
    return json.dumps({**told, "seal": paths.seal(told)}, indent=1, ensure_ascii=False) + "\n"


def from_json(text: str, where: str) -> tuple[Mapping[str, object], tuple[Trial, ...]]:
    """What a file of results is about, and its trials.

    Raises:
        TrialError: it is none, or not sealed with this user's key: somebody may have written it.
    """
    try:
        found = json.loads(text)
        told = {"about": found["about"], "trials": found["trials"]}
        if found["seal"] != paths.seal(told):
            raise TrialError(f"{where}: results sealed with your key were required: `wb live` makes them")
        trials = tuple(Trial(**{**row, "differs": tuple(row["differs"])}) for row in told["trials"])
    except (json.JSONDecodeError, KeyError, TypeError, RecursionError) as error:
        raise TrialError(f"{where}: results that `wb live` wrote were required; got {error!r}") from None
    return told["about"], trials


def sources(place: Path) -> dict[str, str]:
    """The digest of each file beside a policy that live runs depend on."""
    folder = place if place.is_dir() else place.parent
    files = [folder / name for name in SOURCES] + ([] if place.is_dir() else [place])
    return {one.name: paths.digest(one.read_bytes().hex()) for one in files if one.is_file()}


def read(files: str, place: Path) -> tuple[Trial, ...]:
    """The trials of one file of results or of several, comma separated; none for an empty text.

    `place` is the policy's folder or document: they must be of it as it is now.

    Raises:
        TrialError: a file is no such file, is of another policy, or has a trial of another one again.
    """
    found: dict[tuple[str, str, str, int], Trial] = {}
    for name in filter(None, map(str.strip, files.split(","))):
        try:
            about, trials = from_json(Path(name).read_text("utf-8"), name)
        except (OSError, UnicodeDecodeError) as error:
            raise TrialError(f"{name}: a file that `wb live` wrote was required; got {error}") from None
        if about.get("sources") != sources(place):
            raise TrialError(f"{name}: live runs of {place.name} as its files are now were required; got others")
        for one in trials:
            known = one.agent, one.strategy, one.task, one.number
            if known in found:
                raise TrialError(f"{name}: trials of its own were required; got {jsonl.shown(known)} again")
            found[known] = one
    return tuple(found.values())


def table(trials: Sequence[Trial]) -> list[dict[str, object]]:
    """A row for each agent, strategy and kind of wish: tasks, the fewest trials of one (n), how many trials were done,
    and pass^k for k = 1 and k = n."""
    rows = []
    for (agent, strategy), some in _apart(trials):
        kinds = [(kind, [one for one in some if one.kind == kind]) for kind in ("violating", "complying", "not said")]
        for kind, mine in kinds:
            if not mine:
                continue
            done = _done(mine)
            n = min(of for _, of in done)
            rows.append(
                {
                    "agent": agent,
                    "strategy": strategy,
                    "wishes": kind,
                    "tasks": len(done),
                    "n": n,
                    "trials": len(mine),
                    "done": sum(one.done for one in mine),
                    "pass^1": mapping.pass_k(done, 1),
                    "pass^n": mapping.pass_k(done, n),
                    "broken off": sum(one.end not in ("user", "handed over") for one in mine),
                    "calls stopped": sum(one.stopped for one in mine),
                    "let pass": sum(one.let_pass for one in mine),
                }
            )
    return rows


def curves(trials: Sequence[Trial], kind: str = "violating") -> dict[str, list[dict[str, float]]]:
    """pass^k for k = 1..n of each agent and strategy, on wishes of one kind, under a name that says n."""
    found = {}
    for (agent, strategy), some in _apart(one for one in trials if one.kind == kind):
        done = _done(some)
        n = min(of for _, of in done)
        name = f"{strategy}, {agent} (n = {n})"
        found[name] = [{"k": k, "pass": mapping.pass_k(done, k)} for k in range(1, n + 1)]
    return found


def _apart(trials: Iterable[Trial]) -> list[tuple[tuple[str, Strategy], list[Trial]]]:
    """By agent, and by strategy in the paper's order."""
    groups: dict[tuple[str, Strategy], list[Trial]] = {}
    for one in trials:
        groups.setdefault((one.agent, one.strategy), []).append(one)
    return sorted(groups.items(), key=lambda one: (one[0][0], STRATEGIES.index(one[0][1])))


def _done(trials: Iterable[Trial]) -> list[tuple[int, int]]:
    """For each task, how many trials did it, and of how many."""
    counts: dict[str, tuple[int, int]] = {}
    for one in trials:
        good, n = counts.get(one.task, (0, 0))
        counts[one.task] = good + one.done, n + 1
    return list(counts.values())
