"""Many runs as one: every policy with every model and every value of the parameters, on the workers of Dask.

What is scheduled are stages, not runs: two points of the grid that agree in all that a stage and those before it are
given share its node, so that it is made once.  A worker carries a stage out as a run does, under the same key and lock:
one that dies costs the stage it was at, and the same command goes on where one ended.  Only this module imports Dask.
"""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import astuple
from itertools import product
from typing import NamedTuple

from wb.paths import Project, digest
from wb.runs import artifact, cards, pipeline, report, store
from wb.runs.artifact import ArtifactError, Version
from wb.runs.notebook import NotebookError
from wb.runs.pipeline import Planned
from wb.runs.progress import Notice, Tell

CONNECT_S = 10  # for a scheduler to answer
WHOLE = (*report.TRAITS, *store.FILES)  # a comma is part of such a value
SETTINGS = {
    "distributed.nanny.pre-spawn-environ": {},  # the environment of `wb run`: Dask would set the number of threads
    **{f"distributed.{who}.http.routes": [] for who in ("scheduler", "worker")},  # no pages for whoever is on here
}
# A Ctrl-C in the terminal reaches the workers as well, and it is the sweep that ends them: they are born with it
# blocked, then ignore it; the kernels that they start set what they do on it themselves.
IGNORE = "import signal as s; s.signal(s.SIGINT, s.SIG_IGN); s.pthread_sigmask(s.SIG_UNBLOCK, [s.SIGINT])"


class Node(NamedTuple):
    """A stage that is made once for all points that share it: `name` is the stage with the values that set it apart,
    `reads` are the ids of nodes by stage."""

    id: str
    name: str
    step: Planned
    reads: Mapping[str, str]


class Point(NamedTuple):
    """One point of the grid: the values in which points differ, by name, and the stages of its run in order."""

    values: Mapping[str, object]
    nodes: tuple[Node, ...]


def plan(here: Project, values: Mapping[str, Sequence[str]], *, last: str | None = None) -> tuple[Point, ...]:
    """Every combination of the values of each parameter, planned as a run is; see `pipeline.plan`.

    Raises:
        NotebookError: a value fits no notebook, or is there twice.
    """
    points: list[Point] = []
    for texts in product(*values.values()):
        steps = pipeline.unread(here, dict(zip(values, texts, strict=True)), last=last)
        given = {name: value for step in steps for name, value in step.parameters.items()}
        apart = {name: given[name] for name, texts in values.items() if len(texts) > 1}
        if apart in [point.values for point in points]:
            raise NotebookError(f"each value may be given once; {_named(apart)} is there twice")
        points.append(Point(apart, _nodes(apart, steps)))
    pipeline.stale(here, [node.step for point in points for node in point.nodes])
    return tuple(points)


def _named(values: Mapping[str, object]) -> str:
    """Values as a report names runs by them: `web_tasks, max_rounds = 1`."""
    return ", ".join(str(value) if name in report.TRAITS else f"{name} = {value}" for name, value in values.items())


def _nodes(values: Mapping[str, object], steps: Sequence[Planned]) -> tuple[Node, ...]:
    made: dict[str, Node] = {}
    given: dict[str, set[str]] = {}  # the parameters that a stage and those before it are given
    for step in steps:
        reads = {stage: made[stage].id for stage in step.notebook.reads}
        given[step.stage] = {*step.parameters}.union(*(given[stage] for stage in reads))
        apart = _named({name: value for name, value in values.items() if name in given[step.stage]})
        own = digest([sorted((name, repr(value)) for name, value in step.parameters.items()), reads])
        made[step.stage] = Node(f"{step.stage}-{own}", f"{step.stage} {apart}".strip(), step, reads)
    return tuple(made.values())


def run(
    here: Project, points: Sequence[Point], tell: Tell, *, workers: int = 2, scheduler: str | None = None
) -> tuple[Version | str, ...]:
    """Carry out all points on so many worker processes of this machine, or on those of a scheduler, which need this
    project and its artifacts at the same place, and its environment. Of each point: its last version, or why there is
    none; one that fails leaves the others alone.

    Raises:
        ArtifactError: Dask is not installed, or no scheduler answers.
        Stopped: Ctrl-C; finished stages are kept.
    """
    graph, done = {node.id: node for point in points for node in point.nodes}, 0
    account, topic = pipeline.spending(here), f"wb-{digest([*os.urandom(16)])}"  # a scheduler may serve other sweeps
    account.unlink(missing_ok=True)
    tell(Notice("sweep", "running", note="starting workers"))
    try:
        with _client(workers, scheduler) as client:
            client.subscribe_topic(topic, lambda event: tell(Notice(*event[1])))
            futures: dict[str, object] = {}
            for order, node in enumerate(graph.values()):
                reads = {stage: futures[name] for stage, name in node.reads.items()}
                given = (here, node, reads, topic, str(account))
                futures[node.id] = client.submit(_advance, *given, key=f"{node.id}-{topic}", priority=-order)
            from dask.distributed import as_completed

            for done, _ in enumerate(as_completed(futures.values()), 1):
                tell(Notice("sweep", "running", note=f"stages: {done} of {len(graph)}"))
            return tuple(_ended([futures[node.id] for node in point.nodes]) for point in points)
    except KeyboardInterrupt:
        asked = "replies and proofs that were made in others are not asked for again"
        why = f"stopped after {done} of {len(graph)} stages, which are kept. The same command goes on from there"
        raise pipeline.Stopped(f"{why}; {asked}.") from None


def _advance(here: Project, node: Node, upstream: Mapping[str, Version], topic: str, account: str) -> Version:
    """A stage on a worker, which tells the sweep how far it is; the sweep's stages have one budget for models."""
    from dask.distributed import get_worker

    worker, os.environ["WB_SPENDING"] = get_worker(), account
    return pipeline.advance(here, node.step, upstream, lambda n: worker.log_event(topic, (node.name, *astuple(n)[1:])))


@contextmanager
def _client(workers: int, scheduler: str | None) -> Iterator[object]:
    """Who takes stages. Workers execute what they are sent: our own listen to the sweep's own certificate alone."""
    try:
        import dask
        from dask import distributed
    except ImportError as error:
        raise ArtifactError(f"a sweep needs dask and distributed; {error}: run `python3 go.py run`") from None
    options = {"threads_per_worker": 1, "security": True, "silence_logs": logging.CRITICAL, "preload": [IGNORE]}
    options |= {"memory_limit": 0, "dashboard_address": "127.0.0.1:0"}  # what needs memory are kernels, not workers
    with dask.config.set(SETTINGS):
        held = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # the cluster's threads and workers inherit it
        try:
            ours = nullcontext(scheduler) if scheduler else distributed.LocalCluster(workers, **options)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, held)
        with ours as place:
            try:
                client = distributed.Client(place, timeout=CONNECT_S)
            except (OSError, ValueError) as error:
                raise ArtifactError(f"--scheduler: a running one was required at {scheduler}; {error}") from None
            with client:
                yield client


def _ended(futures: Sequence[object]) -> Version | str:
    """The version of the last stage, or why there is none; of several failures the first counts."""
    if why := next((f"{type(error).__name__}: {error}" for one in futures if (error := one.exception())), ""):
        return why
    version = futures[-1].result()
    whole = version.ours and artifact.read_manifest(version.folder / artifact.MANIFEST)
    needed = "must lie here, sealed with your key: workers need this folder and your WB_KEY"
    return version if whole else f"{version.folder} {needed}"


def table(points: Sequence[Point], ended: Sequence[Version | str]) -> cards.Table:
    """A row a point: what differs, the key of its last stage, and the numbers that this stage tells of itself."""
    told = [{"failed": v.split("\n")[0]} if type(v) is str else {"key": v.key, **v.manifest["summary"]} for v in ended]
    return cards.table(({**point.values, **row} for point, row in zip(points, told, strict=True)), title="sweep")
