"""Many runs as one: every policy with every model and every value of the parameters, on the workers of Dask.

What is scheduled are stages, not runs: two points of the grid that agree in all that a stage and those before it are
given share its node, so that it is made once.  A worker carries a stage out as a run does (`pipeline.advance`), under
the same key and lock, so that a worker that dies costs the stage it was at, and the same command goes on where one
ended.  Only this module imports Dask.
"""

from __future__ import annotations

import csv
import io
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from wb.paths import Project, digest
from wb.runs import artifact, pipeline, report, store
from wb.runs.artifact import ArtifactError, Version
from wb.runs.notebook import NotebookError
from wb.runs.pipeline import Planned
from wb.runs.progress import Notice, Tell

if TYPE_CHECKING:
    from distributed import Client

CONNECT_S = 10  # for a scheduler to answer
WHOLE = (*report.TRAITS, *store.FILES)  # a comma is part of such a value
SETTINGS = {
    "distributed.nanny.pre-spawn-environ": {},  # the environment of `wb run`: Dask would set the number of threads
    "distributed.scheduler.http.routes": [],  # nobody is served
    "distributed.worker.http.routes": [],
}


class Point(NamedTuple):
    """One point of the grid: the values in which points differ, by name, and the plan of its run."""

    values: Mapping[str, object]
    steps: tuple[Planned, ...]


class Ended(NamedTuple):
    """How a point ended: with the version of its last stage, or None and why."""

    point: Point
    version: Version | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Node:
    """A stage that is made once for all points that share it. `reads` are the ids of nodes by stage, `name` is the
    stage with the values that set the node apart."""

    id: str
    name: str
    step: Planned
    reads: Mapping[str, str]


def split(name: str, text: str) -> tuple[str, ...]:
    """The values of a parameter that a text with commas gives; policies, models and files stay whole.

    Raises:
        NotebookError: one of several values is empty.
    """
    values = (text,) if name in WHOLE else tuple(text.split(","))
    if len(values) > 1 and "" in values:
        raise NotebookError(f"{name} takes values separated by single commas; got {text!r}")
    return values


def plan(here: Project, values: Mapping[str, Sequence[str]], *, last: str | None = None) -> tuple[Point, ...]:
    """Every combination of the values of each parameter, planned as a run is; see `pipeline.plan`.

    Raises:
        NotebookError: a value fits no notebook, or is there twice.
    """
    several = [name for name, texts in values.items() if len(texts) > 1]
    points = []
    for texts in product(*values.values()):
        steps = pipeline.plan(here, dict(zip(values, texts, strict=True)), last=last)
        given = {name: value for step in steps for name, value in step.parameters.items() if name in several}
        points.append(Point({name: given[name] for name in several}, steps))
    for at, point in enumerate(points):
        if point.values in [other.values for other in points[:at]]:
            raise NotebookError(f"each value may be given once; {named(point.values)} is there twice")
    return tuple(points)


def named(values: Mapping[str, object]) -> str:
    """Values as a run is named by them: `airline, max_rounds = 1`."""
    return ", ".join(str(value) if name in report.TRAITS else f"{name} = {value}" for name, value in values.items())


def nodes(point: Point) -> tuple[Node, ...]:
    """The nodes of a point in the order of its stages."""
    made: dict[str, Node] = {}
    given: dict[str, set[str]] = {}  # the parameters that a stage and those before it are given
    for step in point.steps:
        reads = {stage: made[stage].id for stage in step.notebook.reads}
        given[step.stage] = {*step.parameters}.union(*(given[stage] for stage in reads))
        apart = named({name: value for name, value in point.values.items() if name in given[step.stage]})
        own = digest([sorted((name, repr(value)) for name, value in step.parameters.items()), reads])
        made[step.stage] = Node(f"{step.stage}-{own}", " ".join(filter(None, (step.stage, apart))), step, reads)
    return tuple(made.values())


def run(
    here: Project, points: Sequence[Point], tell: Tell, *, workers: int = 2, scheduler: str | None = None
) -> tuple[Ended, ...]:
    """Carry out all points on so many worker processes of this machine, or on those of a scheduler, which need this
    project and its artifacts at the same place, and its environment; a point that fails leaves the others alone.

    Raises:
        ArtifactError: Dask is not installed, or no scheduler answers.
        Stopped: Ctrl-C; finished stages are kept.
    """
    graph = {node.id: node for point in points for node in nodes(point)}
    account = pipeline.spending(here)
    account.unlink(missing_ok=True)
    done = 0
    tell(Notice("sweep", "running", note="starting workers"))
    try:
        with _client(workers, scheduler) as client:
            from dask import distributed

            topic = f"wb-{digest([os.getpid(), *os.urandom(8)])}"  # no other sweep's results under the same scheduler
            client.subscribe_topic(topic, lambda event: tell(Notice(*event[1])))
            futures = {}
            for node in graph.values():
                reads = {stage: futures[name] for stage, name in node.reads.items()}
                given = (here, node.step, node.name, reads, topic, str(account))
                futures[node.id] = client.submit(_advance, *given, key=f"{node.id}-{topic}", pure=False)
            tell(Notice("sweep", "running", note=f"stages: 0 of {len(graph)}"))
            for done, _ in enumerate(distributed.as_completed(futures.values()), 1):
                tell(Notice("sweep", "running", note=f"stages: {done} of {len(graph)}"))
            return tuple(_ended(point, [futures[node.id] for node in nodes(point)]) for point in points)
    except KeyboardInterrupt:
        raise pipeline.Stopped(
            f"stopped after {done} of {len(graph)} stages, which are kept. The same command goes on from there; "
            "replies and proofs that were made in others are not asked for again."
        ) from None


def _advance(
    here: Project, step: Planned, name: str, upstream: Mapping[str, Version], topic: str, account: str
) -> Version:
    """A stage on a worker, which tells the sweep how far it is; the sweep's stages have one budget for models."""
    from dask import distributed

    worker = distributed.get_worker()
    os.environ["WB_SPENDING"] = account
    return pipeline.advance(
        here, step, upstream, lambda event: worker.log_event(topic, astuple(replace(event, stage=name)))
    )


@contextmanager
def _client(workers: int, scheduler: str | None) -> Iterator[Client]:
    """Somebody to submit stages to. Workers of our own listen on this machine to who has the sweep's own certificate:
    they execute what they are sent."""
    try:
        import dask
        from dask import distributed
    except ImportError as error:
        raise ArtifactError(f"a sweep needs dask[distributed]; {error}: run `python3 go.py run`") from None
    if scheduler:
        try:
            with distributed.Client(scheduler, timeout=CONNECT_S) as client:
                yield client
        except OSError as error:
            raise ArtifactError(f"--scheduler: a running scheduler was required at {scheduler}; {error}") from None
        return
    with (
        dask.config.set(SETTINGS),
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            security=True,
            memory_limit=0,  # what needs memory are the kernels, which it does not see
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def _ended(point: Point, futures: Sequence[object]) -> Ended:
    """How a point ended; of several failures the first counts."""
    why = next((f"{type(error).__name__}: {error}" for future in futures if (error := future.exception())), "")
    version = None if why else futures[-1].result()
    if version and not (version.ours and artifact.read_manifest(version.folder / artifact.MANIFEST)):
        sealed = "must lie here and be sealed with your key; workers elsewhere need this folder and your WB_KEY"
        return Ended(point, None, f"{version.folder} {sealed}")
    return Ended(point, version, why)


def table(ended: Sequence[Ended]) -> list[dict[str, object]]:
    """A row a point: what differs, the key of its last stage, and the numbers that this stage tells of itself."""
    rows = []
    for point, version, why in ended:
        told = version.manifest["summary"] if version else {"failed": why.partition("\n")[0]}
        rows.append({**point.values, "key": version.key if version else "", **told})
    names = dict.fromkeys(name for row in rows for name in row)
    return [{name: row.get(name, "") for name in names} for row in rows]


def to_csv(rows: Sequence[Mapping[str, object]]) -> str:
    """The rows as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
