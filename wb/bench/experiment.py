"""Live runs trial by trial on disk: a finished trial is never lost, and no model is asked the same again.

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

PLACES = 20  # of differing records that a trial keeps
AGENT_TEMPERATURE, USER_TEMPERATURE = 0.0, 1.0  # what differs between the trials of a task is the user
PROMPTS = ("act", "simulate_user")
GIVES_IN, REFUSES = "script that gives in", "script that refuses"
OFFLINE = "offline"
Progress = Callable[[int, int], object]
Key = tuple[str, str, str, int]  # strategy, agent, task, number


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
    beside = (tuple(mapped), model, user_model, Bounds(turns=turns))
    return Setting(source, trials.sources(place), listed, database, judge, guards, *beside)


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
        raise tasks.TaskError(f"names of tasks were required, of {sorted(known)}; got {unknown}")
    chosen = [known[name] for name in dict.fromkeys(names)] or list(known.values())
    for one in chosen:
        tasks.expected(one, setting.database)
    if setting.model != OFFLINE:
        order = [(number, strategy) for number in range(1, many + 1) for strategy in strategies]
        return tuple(Planned(strategy, setting.model, one, number) for number, strategy in order for one in chosen)
    if without := [one.name for one in chosen if not one.script]:
        raise tasks.TaskError(f"a model was required (--model NAME) for tasks without a script; got none for {without}")
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
        raise trials.TrialError(f"{place}: nobody else at work there was required; another `wb live` is") from None
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
                    paths.write_whole(place / trials.RESULTS, trials.to_json(finished.values(), about))
                    done += 1
                tell(done, len(planned))
        finally:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            ended = [one for one in futures if one.done() and not one.cancelled() and one.exception() is None]
            finished |= {result.key: result for result in (future.result() for future in ended)}
            paths.write_whole(place / trials.RESULTS, trials.to_json(finished.values(), about))
            texts = [(place / one.run / "run.jsonl").read_text("utf-8") for one in finished.values()]
            paths.write_whole(place / "runs.jsonl", "".join(texts))
    return Outcome(tuple(finished[one.key] for one in planned if one.key in finished), problems, why)


def _finished(place: Path, about: Mapping[str, object]) -> dict[Key, Trial]:
    """The trials of this setting that earlier commands finished, with their conversations as they were."""
    try:
        known, rows = trials.from_json((place / trials.RESULTS).read_text("utf-8"), str(place))
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
    connect = [
        client.connect(name, offline=None, replies_dir=place, environment=given, temperature=temperature)
        for name, temperature in wanted
    ]
    return tuple(llm.engine for llm in connect)


def _had(setting: Setting, place: Path, one: Planned, stop: threading.Event, models: Sequence[Endpoint]) -> Trial:
    """One trial from its beginning to its files."""
    if stop.is_set():
        raise _Stopped
    here, began = place / one.name, time.monotonic()
    replies, world, record, log = here / "replies", World(setting.database), io.StringIO(), io.StringIO()
    replies.mkdir(parents=True, exist_ok=True)
    enforced = one.strategy == "toolguards"
    session = Session(
        setting.judge, run=one.name, ask=world.ask, clock=world.time, record=record, log=log, observe=not enforced
    )
    act, say = _speakers(setting, one, replies, stop, models)
    ends, bounds = setting.tasks.ends, setting.bounds
    talk = live.converse(world, session, act, say, ends=ends, bounds=bounds, tokens=lambda: _spent(replies)[1])
    differs = tasks.graded(one.task, setting.database, talk.database)
    decisions = [json.loads(line)["decision"] for line in log.getvalue().splitlines()]
    refused = sum(decision != "allow" for decision in decisions)
    queries, tokens = _spent(replies)
    paths.write_whole(here / "run.jsonl", record.getvalue())
    return Trial(
        task=one.task.name,
        kind=one.task.kind,
        strategy=one.strategy,
        agent=one.agent,
        number=one.number,
        done=talk.end in live.REGULAR and not differs,
        end=talk.end,
        differs=differs[:PLACES],
        turns=talk.turns,
        calls=len(decisions),
        stopped=refused if enforced else 0,
        let_pass=0 if enforced else refused,
        queries=queries,
        tokens=tokens,
        seconds=round(time.monotonic() - began, 3),
        why=talk.why,
        run=one.name,
        digest=paths.digest(record.getvalue()),
    )


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

    def unless_stopped[R](speak: Callable[[Sequence[live.Message]], R]) -> Callable[[Sequence[live.Message]], R]:
        def spoken(messages: Sequence[live.Message]) -> R:
            if stop.is_set():
                raise _Stopped
            return speak(messages)

        return spoken

    return unless_stopped(act), unless_stopped(say)


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
