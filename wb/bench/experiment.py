"""Live runs trial by trial on disk, and how reliably tasks were done: pass^k with its n (ToolGuard, Sec. 4).

A trial is one conversation about one task.  A finished one is never lost, and no model is asked the same again:

    FOLDER/results.json                             all finished trials, sealed; written after each one
    FOLDER/runs.jsonl                               their conversations as recorded runs, for `wb judge`
    FOLDER/STRATEGY/AGENT/TASK.NUMBER/run.jsonl     the conversation of one trial
    FOLDER/STRATEGY/AGENT/TASK.NUMBER/replies/      the models' replies in it, one file a question

A folder belongs to all that a conversation depends on: the policy's files, its guards, the models and how they are
asked, the prompts, the bounds.  A trial that was killed is had again from its recorded replies, which give the same
conversation up to the question that was under way.
"""

from __future__ import annotations

import io
import json
import math
import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple, get_args

from wb import paths
from wb.bench import live, service
from wb.bench.live import Agent, Bounds, Strategy, Task, TaskError, Tasks, User, World
from wb.bench.service import Service
from wb.domain import jsonl
from wb.domain.judging import Judge
from wb.domain.policy import Policy
from wb.domain.session import STRATEGIES as REFUSALS
from wb.domain.session import Session
from wb.domain.session import Strategy as Refusing
from wb.models import client, prompt
from wb.models.endpoint import Endpoint
from wb.models.ledger import ModelError
from wb.rules.items import Item

STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)  # in the order of the paper
KINDS = ("violating", "complying", "not said")  # of wishes, see `live.Task.kind`
RESULTS = "results.json"
SOURCES = ("policy.md", "tools.json", "decisions.yaml", "tasks.yaml", "service.yaml", "database.json")
HOW = (
    "no live runs were given: `wb live POLICY --model NAME --trials N` makes some and names its results, "
    "-p live=RESULTS.json shows them here"
)
PLACES = 20  # of differing records that a trial keeps
AGENT_TEMPERATURE, USER_TEMPERATURE = 0.0, 1.0  # what differs between the trials of a task is the user
PROMPTS = ("act", "simulate_user")
GIVES_IN, REFUSES = "script that gives in", "script that refuses"
OFFLINE = "offline"
Progress = Callable[[int, int], object]
Key = tuple[str, str, str, int]  # strategy, agent, task, number


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
    def key(self) -> Key:
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
    files = [paths.folder(place) / name for name in SOURCES] + ([] if place.is_dir() else [place])
    return {one.name: paths.digest(one.read_bytes().hex()) for one in files if one.is_file()}


def read(files: str, place: Path) -> tuple[Trial, ...]:
    """The trials of one file of results or of several, comma separated; none for an empty text.

    `place` is the policy's folder or document: they must be of it as it is now.

    Raises:
        TrialError: a file is no such file, is of another policy, or has a trial of another one again.
    """
    found: dict[Key, Trial] = {}
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


# ---- having trials ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Setting:
    """All that a conversation depends on. `guards` names the version of the guards, `mapped` are the items that the
    mapping reminder is made of; the model "offline" stands for the scripts."""

    policy: Policy
    sources: Mapping[str, str]
    tasks: Tasks
    service: Service
    judge: Judge
    guards: str
    mapped: tuple[Item, ...] = ()
    model: str = OFFLINE
    user_model: str = OFFLINE
    bounds: Bounds = field(default_factory=Bounds)
    on_refusal: Refusing = REFUSALS[0]

    @property
    def about(self) -> dict[str, object]:
        """The setting in JSON values; different settings have different ones."""
        about = {
            "policy": self.policy.name,
            "sources": dict(self.sources),
            "guards": self.guards,
            "model": self.model,
            "user_model": self.user_model,
            "temperatures": [AGENT_TEMPERATURE, USER_TEMPERATURE],
            "bounds": asdict(self.bounds),
            "prompts": {name: prompt.load(name).digest for name in PROMPTS},
            **({"on_refusal": self.on_refusal} if self.on_refusal != REFUSALS[0] else {}),
            "mapped": paths.digest([[one.tool, one.name, [r.text for r in one.references]] for one in self.mapped]),
        }
        return json.loads(json.dumps(about))  # as it will be read


def setting(
    source: Policy,
    place: Path,
    judge: Judge,
    guards: str,
    *,
    mapped: Sequence[Item] = (),
    model: str = OFFLINE,
    user_model: str = OFFLINE,
    turns: int = live.TURNS,
    on_refusal: Refusing = REFUSALS[0],
) -> Setting:
    """The setting of a policy's folder, with the tasks, tools and records that stand there.

    Raises:
        TaskError: there are no tasks, or they are not what they must be.
        ServiceError: tools or records are not what they must be.
        OSError: a file is not there.
        ValueError: one of agent and user is to be a model and the other one a script.
    """
    if (model == OFFLINE) is not (user_model == OFFLINE):
        raise ValueError(f"models for agent and user, or for neither, were required; got {model!r} and {user_model!r}")
    here = paths.folder(place)
    if missing := [name for name in (live.FILE, service.FILE, service.DATABASE) if not (here / name).is_file()]:
        raise TaskError(f"{here}: {live.FILE}, {service.FILE} and {service.DATABASE} were required; {missing} missing")
    beside = (tuple(mapped), model, user_model, Bounds(turns=turns), on_refusal)
    listed, began = live.load(here / live.FILE), service.load(here)
    return Setting(source, sources(place), listed, began, judge, guards, *beside)


class Planned(NamedTuple):
    """A trial that is to be had."""

    strategy: Strategy
    agent: str
    task: Task
    number: int

    @property
    def name(self) -> str:
        """Its folder in that of its setting, and the id of its run."""
        return f"{self.strategy}/{re.sub(r'[^A-Za-z0-9_-]+', '_', self.agent)}/{self.task.name}.{self.number}"

    @property
    def key(self) -> Key:
        """As `Trial.key`."""
        return self.strategy, self.agent, self.task.name, self.number


class Outcome(NamedTuple):
    """The finished trials; those that are still open, each with the reason; and why no more were begun, if so."""

    trials: tuple[Trial, ...]
    open: Mapping[str, str]
    stopped: str = ""


class _Stopped(Exception):
    """Nothing more is asked."""


def folder(artifacts: Path, setting: Setting) -> Path:
    """Where the trials of a setting are kept."""
    return artifacts / "live" / f"{setting.policy.name}-{paths.digest(setting.about)[:12]}"


def plan(setting: Setting, strategies: Sequence[Strategy], many: int, names: Sequence[str] = ()) -> tuple[Planned, ...]:
    """The trials: `many` of each task, or of those of these names, by each strategy.

    A script says the same in every trial and minds no reminder: it has one, of *original* and *toolguards* alone, and
    beside it stands what refusing everything is worth.

    Raises:
        TaskError: there is no such task, one expects what the tools refuse, or has no script where one is needed.
    """
    known = {one.name: one for one in setting.tasks.tasks}
    if unknown := [name for name in names if name not in known]:
        raise TaskError(f"names of tasks were required, of {sorted(known)}; got {unknown}")
    chosen = [known[name] for name in dict.fromkeys(names)] or list(known.values())
    for one in chosen:
        live.expected(one, setting.service)
    if setting.model != OFFLINE:
        order = [(number, strategy) for number in range(1, many + 1) for strategy in strategies]
        return tuple(Planned(strategy, setting.model, one, number) for number, strategy in order for one in chosen)
    if without := [one.name for one in chosen if not one.script]:
        raise TaskError(f"a model was required (--model NAME) for tasks without a script; got none for {without}")
    scripts = [(strategy, GIVES_IN) for strategy in strategies if not strategy.endswith("_reminder")]
    scripts += [("original", REFUSES)] * ("original" in strategies)
    return tuple(Planned(strategy, script, one, 1) for strategy, script in scripts for one in chosen)


def workers(environment: Mapping[str, str] | None = None) -> int:
    """How many trials go on at a time: WB_WORKERS, 4 without it.

    Raises:
        ValueError: it is no number from 1.
    """
    text = (os.environ if environment is None else environment).get("WB_WORKERS") or "4"
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"WB_WORKERS must be a number from 1; got {text!r}")
    return int(text)


def run(
    setting: Setting,
    place: Path,
    planned: Sequence[Planned],
    *,
    workers: int = 4,
    tell: Progress = lambda done, of: None,
    environment: Mapping[str, str] | None = None,
) -> Outcome:
    """Have the trials that are not finished yet, `workers` at a time; write down all that are.

    An interrupt, and an error that all further questions would meet (a spent budget, an unknown model), ends it once
    the questions under way are answered.

    Raises:
        TrialError: somebody else is at work in the folder.
    """
    from filelock import FileLock, Timeout

    place.mkdir(parents=True, exist_ok=True)
    try:
        lock = FileLock(place / ".lock").acquire(timeout=0)
    except Timeout:
        raise TrialError(f"{place}: nobody else at work there was required; another `wb live` is") from None
    with lock:
        given = dict(os.environ if environment is None else environment)
        given.setdefault("WB_SPENDING", str(place / f".spending-{os.getpid()}-{time.time_ns()}.jsonl"))
        try:
            return _all(setting, place, planned, max(1, workers), tell, given)
        finally:
            for left in place.glob(".spending-*"):  # also of those that were killed
                left.unlink(missing_ok=True)


def _all(
    setting: Setting, place: Path, planned: Sequence[Planned], workers: int, tell: Progress, given: Mapping[str, str]
) -> Outcome:
    about, stop, why, problems = setting.about, threading.Event(), "", {}
    finished = _finished(place, about)
    waiting = [one for one in planned if one.key not in finished]
    done = len(planned) - len(waiting)
    models = _models(setting, place, given) if waiting else ()
    with ThreadPoolExecutor(max_workers=workers) as pool:
        futures = {pool.submit(_had, setting, place, one, stop, models): one for one in waiting}
        try:
            tell(done, len(planned))
            for future in as_completed(futures):
                error = future.exception()
                if isinstance(error, ModelError):
                    problems[futures[future].name] = str(error)
                    if error.fatal:
                        why = str(error)
                        break
                else:
                    result = future.result()
                    finished[result.key] = result
                    paths.write_whole(place / RESULTS, to_json(finished.values(), about))
                    done += 1
                tell(done, len(planned))
        finally:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            ended = [one for one in futures if one.done() and not one.cancelled() and one.exception() is None]
            finished |= {result.key: result for result in (future.result() for future in ended)}
            paths.write_whole(place / RESULTS, to_json(finished.values(), about))
            texts = [(place / one.run / "run.jsonl").read_text("utf-8") for one in finished.values()]
            paths.write_whole(place / "runs.jsonl", "".join(texts))
    return Outcome(tuple(finished[one.key] for one in planned if one.key in finished), problems, why)


def _finished(place: Path, about: Mapping[str, object]) -> dict[Key, Trial]:
    """The trials of this setting that earlier commands finished, with their conversations as they were."""
    try:
        known, rows = from_json((place / RESULTS).read_text("utf-8"), str(place))
    except (OSError, ValueError):  # none, not whole or not sealed: had again, from the recorded replies
        return {}
    return {one.key: one for one in rows if known == about and _digest(place / one.run / "run.jsonl") == one.digest}


def _digest(path: Path) -> str:
    try:
        return paths.digest(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        return ""


def _models(setting: Setting, place: Path, given: Mapping[str, str]) -> tuple[Endpoint, ...]:
    """The agent's model and the user's; none for scripts."""
    if setting.model == OFFLINE:
        return ()
    wanted = ((setting.model, AGENT_TEMPERATURE), (setting.user_model, USER_TEMPERATURE))
    asked = place.parent.parent / "replies"  # beside which the questions stand that wait for a pasted reply
    found = []
    for name, temperature in wanted:
        where = asked if name.startswith(client.PREFIX) else place
        made = client.connect(name, offline=None, replies_dir=where, environment=given, temperature=temperature)
        found.append(made.engine)
    return tuple(found)


def _had(setting: Setting, place: Path, one: Planned, stop: threading.Event, models: Sequence[Endpoint]) -> Trial:
    """One trial from its beginning to its files."""
    if stop.is_set():
        raise _Stopped
    here, began = place / one.name, time.monotonic()
    replies, world, record, log = here / "replies", World(setting.service), io.StringIO(), io.StringIO()
    replies.mkdir(parents=True, exist_ok=True)
    enforced = one.strategy == "toolguards"
    told = {"record": record, "log": log, "observe": not enforced, "on_refusal": setting.on_refusal}
    session = Session(setting.judge, run=one.name, ask=world.ask, clock=world.time, **told)
    act, say = _speakers(setting, one, replies, stop, models)
    ends, bounds = setting.tasks.ends, setting.bounds
    talk = live.converse(world, session, act, say, ends=ends, bounds=bounds, tokens=lambda: _spent(replies)[1])
    differs = live.graded(one.task, setting.service, talk.service)
    decisions = [json.loads(line)["decision"] for line in log.getvalue().splitlines()]
    refused = sum(decision != "allow" for decision in decisions)
    queries, tokens = _spent(replies)
    paths.write_whole(here / "run.jsonl", record.getvalue())
    of = (one.task.name, one.task.kind, one.strategy, one.agent, one.number)
    ended = {"done": talk.end in live.REGULAR and not differs, "end": talk.end, "why": talk.why, "turns": talk.turns}
    asked = {"calls": len(decisions), "stopped": refused * enforced, "let_pass": refused * (not enforced)}
    cost = {"queries": queries, "tokens": tokens, "seconds": round(time.monotonic() - began, 3)}
    kept = {"differs": differs[:PLACES], "run": one.name, "digest": paths.digest(record.getvalue())}
    return Trial(*of, **ended, **asked, **cost, **kept)


def _speakers(
    setting: Setting, one: Planned, replies: Path, stop: threading.Event, models: Sequence[Endpoint]
) -> tuple[Agent, User]:
    if one.agent == GIVES_IN:
        return live.scripted(one.task.script)
    if one.agent == REFUSES:
        return live.refusing(one.task)
    ours, theirs = (client.LLM(model.recording_in(replies)) for model in models)
    source = setting.policy
    remind = live.reminder(one.strategy, source.text, setting.mapped)
    act = live.agent(ours, source.text, source.toolbox, setting.service.now, remind)
    say = live.user(theirs, one.task.instruction)

    def unless_stopped[R](speak: Callable[[Sequence[live.Message]], R], messages: Sequence[live.Message]) -> R:
        if stop.is_set():
            raise _Stopped
        return speak(messages)

    return partial(unless_stopped, act), partial(unless_stopped, say)


def _spent(replies: Path) -> tuple[int, int]:
    """How many replies a trial has, and their tokens, also where they were recorded by a process before; a service that
    does not count them has a token for four bytes."""
    queries = tokens = 0
    for path in replies.glob("*.json"):
        text = path.read_text("utf-8")
        try:
            used = json.loads(text)["reply"]["usage"]
            tokens += used["prompt_tokens"] + used["completion_tokens"]
        except (ValueError, KeyError, TypeError):
            tokens += len(text.encode()) // 4
        queries += 1
    return queries, tokens


# ---- counting them ---------------------------------------------------------------------------------------------------


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
            "pass^1": pass_k(done, 1),
            "pass^n": pass_k(done, n),
            "broken off": sum(one.end not in ("user", "handed over") for one in some),
            "calls stopped": sum(one.stopped for one in some),
            "let pass": sum(one.let_pass for one in some),
        }
        for (agent, strategy, kind), some, done, n in _groups(trials)
    ]


def compliance(trials: Iterable[Trial], environment: str) -> list[dict[str, object]]:
    """Table 3's row of an environment for each agent and strategy: of the tasks that were done, the share in which no
    call ran that the guards do not allow (ShieldAgent, Section 5.2, policy compliance conditional on success).

    It is what the guards say, no person: None where they held the agent, for then it is so by construction.
    """
    groups: dict[tuple[str, int], list[Trial]] = {}
    for one in trials:
        groups.setdefault((one.agent, STRATEGIES.index(one.strategy)), []).append(one)
    rows = []
    for (agent, order), some in sorted(groups.items()):
        strategy, done = STRATEGIES[order], [one for one in some if one.done]
        complied = sum(not one.let_pass for one in done) / len(done) if done and strategy != "toolguards" else None
        row = {"environment": environment, "agent": agent, "strategy": strategy, "n": len(some), "done": len(done)}
        rows.append(row | {"complied": complied, "seconds": sum(one.seconds for one in some) / len(some)})
    return rows


def curves(trials: Iterable[Trial], kind: str = "violating") -> dict[str, list[dict[str, float]]]:
    """pass^k for k = 1..n of each agent and strategy, on wishes of one kind, under a name that says n."""
    return {
        f"{strategy}, {agent} (n = {n})": [{"k": k, "pass": pass_k(done, k)} for k in range(1, n + 1)]
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


def pass_k(done: Sequence[tuple[int, int]], k: int) -> float:
    """pass^k: how likely it is that k trials of a task, drawn without putting back, all succeed; the mean over tasks.

    `done` has for each task how many trials succeeded, and of how many (Yao et al. 2024, Sec. 3).

    Raises:
        ValueError: there is no task, k is no number from 1, or a task has fewer trials than k or than succeeded.
    """
    wrong = [(good, n) for good, n in done if not 0 <= good <= n or n < k]
    if not done or k < 1 or wrong:
        raise ValueError(f"tasks with at least k = {k} >= 1 trials were required; got {wrong[:3] or list(done)[:3]}")
    return sum(math.comb(good, k) / math.comb(n, k) for good, n in done) / len(done)
