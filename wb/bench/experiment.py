"""Live runs trial by trial on disk: what is finished is never lost, and what a model said is never asked again.

    FOLDER/STRATEGY/AGENT/TASK.NUMBER/replies/      what the models said in this trial, one file a question
    FOLDER/STRATEGY/AGENT/TASK.NUMBER/run.jsonl     the conversation as a recorded run, for `wb judge`
    FOLDER/STRATEGY/AGENT/TASK.NUMBER/result.json   written last and sealed: the trial is finished
    FOLDER/results.json, runs.jsonl                 all finished trials together

A folder belongs to all that a conversation depends on: the policy's files, its guards, the models and how they are
asked, the prompts, the bounds.  A trial that was killed is had again from its recorded replies, which give the same
conversation up to the question that was under way.
"""

from __future__ import annotations

import io
import json
import os
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple

from wb import paths
from wb.bench import guard_tests, live, tasks, tau_database, trials
from wb.bench.live import Agent, Bounds, User, World
from wb.bench.tasks import Task, Tasks
from wb.bench.tau_database import Database
from wb.bench.trials import Strategy, Trial
from wb.domain.judging import Judge
from wb.domain.policy import Policy
from wb.domain.session import Session
from wb.models import client, prompt
from wb.models.endpoint import Endpoint
from wb.models.ledger import ModelError
from wb.rules.items import Item

PLACES = 20  # of a difference, that are kept
AGENT_TEMPERATURE, USER_TEMPERATURE = 0.0, 1.0  # what differs between the trials of a task is the user
PROMPTS = ("act", "simulate_user")
GIVES_IN, REFUSES = "script that gives in", "script that refuses"
OFFLINE = "offline"
Tell = Callable[[int, int], object]


@dataclass(frozen=True, slots=True)
class Setting:
    """All that a conversation depends on. `guards` names the version of the guards, `mapped` are the items that the
    mapping reminder is made of; the model "offline" stands for the scripts."""

    policy: Policy
    sources: Mapping[str, str]
    tasks: Tasks
    database: Database
    judge: Judge
    guards: str
    mapped: tuple[Item, ...] = ()
    model: str = OFFLINE
    user_model: str = OFFLINE
    bounds: Bounds = field(default_factory=Bounds)

    @property
    def about(self) -> dict[str, object]:
        """It in JSON values, in which two that differ have other values."""
        return {
            "policy": self.policy.name,
            "sources": dict(self.sources),
            "guards": self.guards,
            "model": self.model,
            "user_model": self.user_model,
            "temperatures": [AGENT_TEMPERATURE, USER_TEMPERATURE],
            "bounds": asdict(self.bounds),
            "prompts": {name: prompt.load(name).digest for name in PROMPTS},
            "mapped": paths.digest([[one.tool, one.name, [r.text for r in one.references]] for one in self.mapped]),
        }


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
) -> Setting:
    """The setting of a policy's folder, with the tasks and the database that stand there.

    Raises:
        TaskError: there are no tasks, or they are not what they must be.
        DatabaseError: the database is not what it must be.
        OSError: there is none.
        ValueError: one of agent and user is to be a model and the other one a script.
    """
    if (model == OFFLINE) is not (user_model == OFFLINE):
        raise ValueError(f"models for agent and user, or for neither, were required; got {model!r} and {user_model!r}")
    here = place if place.is_dir() else place.parent
    listed, database = tasks.load(tasks.place(here)), tau_database.load(here / guard_tests.DATABASE)
    bounds = Bounds(turns=turns)
    return Setting(
        source, trials.sources(place), listed, database, judge, guards, tuple(mapped), model, user_model, bounds
    )


class Planned(NamedTuple):
    """A trial that is to be had."""

    strategy: Strategy
    agent: str
    task: Task
    number: int

    @property
    def name(self) -> str:
        """Its folder in that of its setting, and the name of its run."""
        return f"{self.strategy}/{re.sub(r'[^A-Za-z0-9_-]+', '_', self.agent)}/{self.task.name}.{self.number}"


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
        raise tasks.TaskError(f"names of tasks were required, of {sorted(known)}; got {unknown}")
    chosen = [known[name] for name in dict.fromkeys(names)] or list(known.values())
    for one in chosen:
        tasks.expected(one, setting.database)
    if setting.model != OFFLINE:
        order = [(number, strategy) for number in range(1, many + 1) for strategy in strategies]
        return tuple(Planned(strategy, setting.model, one, number) for number, strategy in order for one in chosen)
    if without := [one.name for one in chosen if not one.script]:
        raise tasks.TaskError(f"a model was required (--model NAME) for tasks without a script; got none for {without}")
    kept = [strategy for strategy in strategies if not strategy.endswith("_reminder")]
    scripts = [Planned(strategy, GIVES_IN, one, 1) for strategy in kept for one in chosen]
    return (*scripts, *(Planned("original", REFUSES, one, 1) for one in chosen if "original" in kept))


def workers(environment: Mapping[str, str] | None = None) -> int:
    """How many trials go on at a time: WB_WORKERS, 4 without it.

    Raises:
        ValueError: it is no number from 1.
    """
    said = (os.environ if environment is None else environment).get("WB_WORKERS") or "4"
    if not said.isdecimal() or int(said) < 1:
        raise ValueError(f"WB_WORKERS must be a number from 1; got {said!r}")
    return int(said)


def run(
    setting: Setting,
    place: Path,
    planned: Sequence[Planned],
    *,
    workers: int = 4,
    tell: Tell = lambda done, of: None,
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
        raise trials.TrialError(f"{place}: nobody else at work there was required; another `wb live` is") from None
    with lock:
        given = dict(os.environ if environment is None else environment)
        given.setdefault("WB_SPENDING", str(place / f".spending-{os.getpid()}-{time.time_ns()}.jsonl"))
        try:
            return _all(setting, place, planned, max(1, workers), tell, given)
        finally:
            for left in place.glob(".spending-*"):  # also of those that were killed
                left.unlink(missing_ok=True)


def _finished(about: Mapping[str, object], here: Path) -> Trial | None:
    """The trial of a folder; None where it is not finished, not whole, not sealed or about something else."""
    try:
        told, (found,) = trials.from_json((here / "result.json").read_text("utf-8"), str(here))
        whole = paths.digest((here / "run.jsonl").read_text("utf-8")) == found.run
    except (OSError, ValueError):  # also of text that is none, and results that are none
        return None
    return found if whole and told == about else None


def _all(
    setting: Setting, place: Path, planned: Sequence[Planned], workers: int, tell: Tell, given: Mapping[str, str]
) -> Outcome:
    about = json.loads(json.dumps(setting.about))  # as it is at the beginning, and as it is read
    waiting = [one for one in planned if _kept(about, place, one) is None]
    done, problems = len(planned) - len(waiting), {}
    stop, why = threading.Event(), ""
    pool = ThreadPoolExecutor(max_workers=workers)
    try:
        models = _models(setting, place, given) if waiting else ()
        futures = {pool.submit(_had, setting, place, one, stop, models, about): one for one in waiting}
        tell(done, len(planned))
        for future in as_completed(futures):
            error = future.exception()
            if isinstance(error, ModelError):
                problems[futures[future].name] = str(error)
                if error.fatal:
                    why = str(error)
                    break
            elif error is not None:
                raise error
            done += error is None
            tell(done, len(planned))
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)
        _write(place, about)
    found = [_kept(about, place, one) for one in planned]
    return Outcome(tuple(one for one in found if one is not None), problems, why)


def _kept(about: Mapping[str, object], place: Path, one: Planned) -> Trial | None:
    """The trial, if it is finished; None where it is to be had."""
    found = _finished(about, place / one.name)
    known = None if found is None else (found.strategy, found.agent, found.task, found.number)
    return found if known == (one.strategy, one.agent, one.task.name, one.number) else None


def _write(place: Path, about: Mapping[str, object]) -> None:
    """All finished trials of this setting together, also those of earlier commands."""
    folders = [path.parent for path in sorted(place.glob("*/*/*/result.json"))]
    whole = [(here, found) for here in folders if (found := _finished(about, here))]
    texts = [(here / "run.jsonl").read_text("utf-8") for here, _ in whole]
    paths.write_whole(place / trials.RESULTS, trials.to_json([found for _, found in whole], about))
    paths.write_whole(place / "runs.jsonl", "".join(texts))


def _models(setting: Setting, place: Path, given: Mapping[str, str]) -> tuple[Endpoint, ...]:
    """The agent's model and the user's; none for scripts."""
    if setting.model == OFFLINE:
        return ()
    wanted = ((setting.model, AGENT_TEMPERATURE), (setting.user_model, USER_TEMPERATURE))
    made = [
        client.connect(name, offline=None, replies_dir=place, environment=given, temperature=heat)
        for name, heat in wanted
    ]
    return tuple(one.engine for one in made)


def _had(
    setting: Setting,
    place: Path,
    one: Planned,
    stop: threading.Event,
    models: Sequence[Endpoint],
    about: Mapping[str, object],
) -> Trial:
    """One trial from its beginning to its files."""
    if stop.is_set():
        raise _Stopped
    here, began = place / one.name, time.monotonic()
    (here / "replies").mkdir(parents=True, exist_ok=True)
    world, record, log = World(setting.database), io.StringIO(), io.StringIO()
    held = one.strategy == "toolguards"
    session = Session(
        setting.judge, run=one.name, ask=world.ask, clock=world.time, record=record, log=log, observe=not held
    )
    act, say = _speakers(setting, one, here / "replies", stop, models)
    talk = live.converse(
        world, session, act, say, ends=setting.tasks.ends, bounds=setting.bounds, tokens=lambda: _spent(here)[1]
    )
    differs = tasks.graded(one.task, setting.database, talk.database)
    decided = [json.loads(line)["decision"] for line in log.getvalue().splitlines()]
    refused = sum(decision != "allow" for decision in decided)
    queries, tokens = _spent(here)
    result = Trial(
        task=one.task.name,
        kind=one.task.kind,
        strategy=one.strategy,
        agent=one.agent,
        number=one.number,
        done=talk.end in live.REGULAR and not differs,
        end=talk.end,
        differs=differs[:PLACES],
        turns=talk.turns,
        calls=len(decided),
        stopped=refused if held else 0,
        let_pass=0 if held else refused,
        queries=queries,
        tokens=tokens,
        seconds=round(time.monotonic() - began, 3),
        why=talk.why,
        run=paths.digest(record.getvalue()),
    )
    paths.write_whole(here / "run.jsonl", record.getvalue())
    paths.write_whole(here / "result.json", trials.to_json([result], about))
    return result


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
    act = live.agent(ours, source.text, source.toolbox, setting.database.now, remind)
    say = live.user(theirs, one.task.instruction)

    def going[*A, R](speak: Callable[[*A], R]) -> Callable[[*A], R]:
        def spoken(*heard: *A) -> R:
            if stop.is_set():
                raise _Stopped
            return speak(*heard)

        return spoken

    return going(act), going(say)


def _spent(here: Path) -> tuple[int, int]:
    """How many replies a trial has, and their tokens, also where they were recorded by a process before; a service that
    does not count them has a token for four bytes."""
    queries = tokens = 0
    for path in (here / "replies").glob("*.json"):
        text = path.read_text("utf-8")
        try:
            used = json.loads(text)["reply"]["usage"]
            counted = [used[name] for name in ("prompt_tokens", "completion_tokens")]
        except (ValueError, KeyError, TypeError):
            counted = [None]
        queries += 1
        tokens += sum(counted) if None not in counted else len(text.encode()) // 4
    return queries, tokens
