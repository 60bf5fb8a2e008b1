"""What came of live runs, trial by trial, and how reliably tasks were done: pass^k with its n (ToolGuard, Sec. 4).

A trial is one conversation about one task; `wb.bench.experiment` makes them and writes `results.json`, sealed like all
that a run leaves.  Here they are read and counted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from wb import paths
from wb.bench import mapping
from wb.domain import jsonl

Strategy = Literal["original", "policy_reminder", "mapping_reminder", "toolguards"]
STRATEGIES: tuple[Strategy, ...] = ("original", "policy_reminder", "mapping_reminder", "toolguards")  # as in the paper
KINDS = ("violating", "complying", "not said")  # of wishes, see `tasks.Task.kind`
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
    and only watched.  `tokens` and `queries` are those of the recorded replies; `run` is the id of its recorded run,
    `digest` that of its file.
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
    digest: str = ""

    @property
    def key(self) -> tuple[str, str, str, int]:
        """The trial among those of a setting: strategy, agent, task, number."""
        return self.strategy, self.agent, self.task, self.number


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
            if one.key in found:
                raise TrialError(f"{name}: trials of its own were required; got {jsonl.shown(one.key)} again")
            found[one.key] = one
    return tuple(found.values())


def table(trials: Iterable[Trial]) -> list[dict[str, object]]:
    """A row for each agent, strategy and kind of wish: tasks, the fewest trials of one (n), how many trials were done,
    and pass^k for k = 1 and k = n."""
    return [
        {
            "agent": agent,
            "strategy": strategy,
            "wishes": kind,
            "tasks": len(done),
            "n": n,
            "trials": len(some),
            "done": sum(one.done for one in some),
            "pass^1": mapping.pass_k(done, 1),
            "pass^n": mapping.pass_k(done, n),
            "broken off": sum(one.end not in ("user", "handed over") for one in some),
            "calls stopped": sum(one.stopped for one in some),
            "let pass": sum(one.let_pass for one in some),
        }
        for (agent, strategy, kind), some, done, n in _groups(trials)
    ]


def curves(trials: Iterable[Trial], kind: str = "violating") -> dict[str, list[dict[str, float]]]:
    """pass^k for k = 1..n of each agent and strategy, on wishes of one kind, under a name that says n."""
    return {
        f"{strategy}, {agent} (n = {n})": [{"k": k, "pass": mapping.pass_k(done, k)} for k in range(1, n + 1)]
        for (agent, strategy, wishes), _, done, n in _groups(trials)
        if wishes == kind
    }


def _groups(
    trials: Iterable[Trial],
) -> Iterator[tuple[tuple[str, Strategy, str], list[Trial], list[tuple[int, int]], int]]:
    """By agent, by strategy in the paper's order, and by kind of wish: the trials, how many of each task were done and
    of how many, and the fewest of a task."""
    groups: dict[tuple[str, int, int], list[Trial]] = {}
    for one in trials:
        order = one.agent, STRATEGIES.index(one.strategy), KINDS.index(one.kind)
        groups.setdefault(order, []).append(one)
    for (agent, strategy, kind), some in sorted(groups.items()):
        by_task: dict[str, list[bool]] = {}
        for one in some:
            by_task.setdefault(one.task, []).append(one.done)
        done = [(sum(each), len(each)) for each in by_task.values()]
        yield (agent, STRATEGIES[strategy], KINDS[kind]), some, done, min(n for _, n in done)
