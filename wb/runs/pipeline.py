"""A run: the stages in order, each made once and kept as long as nothing it depends on changes.

Every mistake that can be seen without running is found first (`plan`).  Then each stage's key is
computed from its inputs and the outputs of the stages it reads; a finished, undamaged version with
that key is kept, otherwise the notebook is executed and becomes one.  A lock for each key lets two
runs at once share the work instead of repeating it.

To step through, a person gets copies of the notebooks (`copies`), for the tracked ones are never edited by use.  Those
for a policy lie in `artifacts/lab/<policy>/`, their parameters filled in.  A copy as it was made, whatever its cells
have shown since, is made anew when the notebook or the parameters have changed; the one before goes to `earlier/`.  A
copy whose cells a person changed stays.  What was made stands in `.made.json`: a digest of each copy's cells.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from filelock import FileLock, Timeout

from wb import paths
from wb.domain import policy
from wb.models import client
from wb.paths import Project, write_whole
from wb.rules import decisions, edits, sentences, vocabulary
from wb.runs import artifact, notebook, store
from wb.runs import notebook as kernel
from wb.runs.artifact import ArtifactError, Version
from wb.runs.key import Inputs
from wb.runs.notebook import KernelError, Notebook, NotebookError
from wb.runs.progress import Notice, Tell

MADE, EARLIER = ".made.json", "earlier"  # what was made of the copies, and what they were before


class Stopped(KeyboardInterrupt):
    """A run was stopped by Ctrl-C; the message says what was kept."""


@dataclass(frozen=True, slots=True)
class Planned:
    """One stage of a plan. `parameters` are all its values, `given` those that differ from the
    notebook's own by the caller's wish; `runs` is False for a stage before `--from`."""

    notebook: Notebook
    parameters: Mapping[str, object]
    given: Mapping[str, object]
    runs: bool

    @property
    def stage(self) -> str:
        """The stage's name."""
        return self.notebook.stage


def plan(
    here: Project, values: Mapping[str, str], *, first: str | None = None, last: str | None = None
) -> tuple[Planned, ...]:
    """The stages of a run up to `last`, with typed parameters.

    `values` are texts as given on the command line; each reaches every notebook that declares it.
    `first` and `last` are stages by name or number.

    Raises:
        NotebookError: a notebook is malformed, or a value fits none.
        SourceError: there is no such policy.
        DecisionError: the decisions beside the policy have mistakes; all are told.
        EditError: the edits of its items have mistakes; all are told.
    """
    steps = unread(here, values, first=first, last=last)
    stale(here, steps)  # its mistakes are told before anything runs
    return steps


def unread(
    here: Project, values: Mapping[str, str], *, first: str | None = None, last: str | None = None
) -> tuple[Planned, ...]:
    """A plan before what lies beside its policy was read for mistakes (`stale`)."""
    notebooks = notebook.find(here.notebooks)
    stages = [n.stage for n in notebooks]
    start = stages.index(stage_named(first, stages)) if first else 0
    stop = stages.index(stage_named(last, stages)) if last else len(stages) - 1
    if start > stop:
        raise NotebookError(f"--from must not come after --to; got {stages[start]} and {stages[stop]}")
    used = notebooks[: stop + 1]
    notebook.declared(values, (known for n in used for known in n.defaults))
    return tuple(_planned(here, n, values, position >= start) for position, n in enumerate(used))


def stale(here: Project, steps: Sequence[Planned]) -> tuple[str, ...]:
    """The decisions beside the policies of a run that have no effect, one a line.

    Raises:
        DecisionError: the decisions have mistakes; all are told.
        EditError: the edits of its items have mistakes; all are told.
    """
    found = []
    for path in sorted({source.path for step in steps if (source := store.policy_of(here, step.parameters))}):
        if (beside := edits.place(path)).exists():
            edits.load(beside, policy.load(path))
        if (beside := decisions.place(path)).exists():
            read = policy.load(path)
            _, gone = sentences.settled(read, decisions.load(beside, read))
            texts = {" ".join(text.split()) for text in policy.named(read).values()}
            for one in gone:
                there = " ".join(one.text.split()) in texts
                why = "these words are read with other titles, row, list or sentence before them now"
                said = f"has no effect, for {why if there else 'no such sentence is there'}"
                found.append(f"{beside}: {one.id or 'a decision'} {said}: “{one.text}”")
        if (words := paths.vocabulary(path)).exists():
            vocabulary.load(words, policy.load(path).toolbox)
    return tuple(found)


def _planned(here: Project, book: Notebook, values: Mapping[str, str], runs: bool) -> Planned:
    given = {name: notebook.typed(book, name, text) for name, text in values.items() if name in book.defaults}
    parameters = {**book.defaults, **given}
    source = store.policy_of(here, parameters)
    if source:  # the kernel works in another folder
        known = source.path.parent == here.policies.resolve()
        named = source.path.name if known else str(source.path)
        given = given if named == parameters["policy"] else {**given, "policy": named}
    for name in store.FILES:
        if named := store.files(name, parameters, source):
            found = _files(name, named, source.path if source else here.policies)
            given = {**given, name: found} if parameters[name] else given
    return Planned(book, {**parameters, **given}, given, runs)


def _files(kind: str, names: str, policy: Path) -> str:
    """Files of recorded runs, of results of live ones, of samples or verdicts, or of other guardrails, by their full
    paths, read once to find their mistakes before anything runs."""
    from wb.bench import experiment, paired, recorded, tables

    found = ",".join(str(Path(name.strip()).expanduser().resolve()) for name in names.split(","))
    if kind == "live":
        experiment.read(found, policy)
    elif kind == "peers":
        paired.read(found)
    else:
        recorded.read(found) if kind == "runs" else tables.load(**{"samples": "", "judged": ""} | {kind: found})
    return found


def stage_named(name: str, stages: list[str]) -> str:
    """The stage with this name or this number; `NotebookError` lists those there are."""
    found = [stage for stage in stages if stage == name or stage.split("_")[0].lstrip("0") == name.lstrip("0")]
    if len(found) != 1:
        raise NotebookError(f"a stage must be one of {stages}, or its number; got {name!r}")
    return found[0]


def run(here: Project, steps: tuple[Planned, ...], tell: Tell) -> dict[str, Version]:
    """Carry out a plan; the version of each stage that the run ends with.

    Raises:
        KernelError: a notebook failed; finished stages are kept.
        Awaiting: a notebook waits for a pasted reply; the message is what the end of a run would say of it.
        ArtifactError: a stage before the first has no version to take.
        Stopped: Ctrl-C; finished stages are kept.
    """
    done: dict[str, Version] = {}
    spending(here).unlink(missing_ok=True)
    for step in steps:
        try:
            done[step.stage] = advance(here, step, {stage: done[stage] for stage in step.notebook.reads}, tell)
        except KeyboardInterrupt:
            kept = ", ".join(f"{stage} ({version.key})" for stage, version in done.items()) or "nothing was finished"
            asked = f"replies and proofs that were made in {step.stage} are not asked for again"
            why = f"stopped in {step.stage}; kept: {kept}. The same command goes on from there; {asked}."
            raise Stopped(why) from None
    return done


def advance(here: Project, step: Planned, upstream: Mapping[str, Version], tell: Tell) -> Version:
    """One step of a plan: the version of its stage that is made, kept or taken."""
    artifact.sweep(here, step.stage)
    return (_made_or_kept if step.runs else _taken)(here, step, upstream, tell)


def inputs_of(here: Project, step: Planned, upstream: Mapping[str, Version]) -> Inputs:
    """What the result of a step depends on; see `store.of_notebook`."""
    return store.of_notebook(here, step.notebook, step.parameters, upstream)


def _made_or_kept(here: Project, step: Planned, upstream: Mapping[str, Version], tell: Tell) -> Version:
    inputs = inputs_of(here, step, upstream)
    found = lookup(here, inputs, tell)
    if found is None:
        with _lock(here, inputs, tell):
            found = lookup(here, inputs, lambda notice: None)  # another run may have made it meanwhile
            if found is None:
                return _made(here, step, inputs, upstream, tell)
    with suppress(OSError):  # read-only, and then no other version is made either
        found.touch()
    tell(Notice(step.stage, "kept", note=found.key))
    return found


def lookup(here: Project, inputs: Inputs, tell: Tell) -> Version | None:
    """The finished version with these inputs whose prompts, replies and files are as they were."""
    for version in artifact.versions(here, inputs.stage):
        if version.manifest["static"] != inputs.static:
            continue
        if version.ours:  # else nothing of what it names is looked at
            if not artifact.current(here, version):
                continue
            damaged = version.damaged()
            if not damaged:
                return version
        why = f"{', '.join(damaged)} changed or lost" if version.ours else "its manifest is not sealed with your key"
        tell(Notice(inputs.stage, "damaged", note=f"{version.key}: {why}; making it again"))
    for folder in artifact.unreadable(here, inputs.stage):
        tell(Notice(inputs.stage, "damaged", note=f"{folder.name}: its manifest is missing or changed; it is not used"))
    return None


@contextmanager
def _lock(here: Project, inputs: Inputs, tell: Tell) -> Iterator[None]:
    """Hold what only one run at a time may make; the system gives it back when a process is killed."""
    folder = here.artifacts / inputs.stage
    folder.mkdir(parents=True, exist_ok=True)
    # 256 locks a stage: few files are left behind, and other versions rarely wait for this one
    lock = FileLock(folder / f".lock-{inputs.static[:2]}")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        tell(Notice(inputs.stage, "waiting", note="another run is at work on it"))
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _made(here: Project, step: Planned, inputs: Inputs, upstream: Mapping[str, Version], tell: Tell) -> Version:
    """Execute a notebook in a new workplace and seal what it wrote."""
    source = store.policy_of(here, step.parameters)
    if source:
        policy.load(source.path)  # a document that cannot be read is found before a kernel starts
    for name in {*str(step.parameters.get("model", "offline")).split(",")} - {"offline"}:
        client.connect(name, offline=None, replies_dir=here.replies)  # and a model that cannot be asked as well
    place = artifact.workplace(here, step.stage)
    started = time.monotonic()
    tell(Notice(step.stage, "running"))
    try:
        done = _executed(here, step, upstream, place.folder, tell)
        sealed = _unless_changed(here, step, inputs, upstream, tell)
        keys, of = {name: version.key for name, version in upstream.items()}, store.described(source)
        version = artifact.seal(here, place.folder, sealed, policy=of, upstream=keys, done=done)
    finally:
        shutil.rmtree(place.folder, ignore_errors=True)  # gone already where it was sealed
        place.lock.release()
    tell(Notice(step.stage, "made", note=f"{version.key} in {time.monotonic() - started:.1f} s"))
    return version


def _executed(
    here: Project, step: Planned, upstream: Mapping[str, Version], folder: Path, tell: Tell
) -> Mapping[str, object]:
    """Run the notebook in a workplace; returns what it said at its finish."""
    folders = {name: str(version.folder) for name, version in upstream.items()}
    handover = {"stage": step.stage, "parameters": step.parameters, "upstream": folders}
    write_whole(folder / store.HANDOVER, artifact.dumps(handover, "handover"))
    path = os.pathsep.join(filter(None, (str(here.root), os.environ.get("PYTHONPATH"))))
    environment = {
        store.HANDED_OVER: str(folder),
        "WB_ARTIFACTS": str(here.artifacts),
        "PYTHONPATH": path,
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        "WB_SPENDING": os.environ.get("WB_SPENDING") or str(spending(here)),
    }
    book, output = step.notebook, folder / artifact.NOTEBOOK
    given = {"parameters": step.given, "environment": environment}
    given["on_cell"] = lambda *cell: tell(Notice(step.stage, "running", *cell))
    try:
        kernel.execute(book.text, book.path, output, **given)
    except kernel.Awaiting as error:
        wait = client.awaited(here.replies, str(step.parameters.get("model", "")))
        tell(Notice(step.stage, "waiting", note="for replies that are pasted"))
        raise kernel.Awaiting("\n".join(f"questions        {one}" for one in wait) or str(error)) from None
    except KernelError as error:
        raise KernelError(f"{error}\nThe notebook up to there: {_kept_apart(here, step, output)}") from None
    if not (folder / store.FINISH).is_file():
        ended = f"{step.notebook.path.name} must call stage.finish(…); it ended without"
        raise NotebookError(f"{ended}. It is at {_kept_apart(here, step, output)}")
    return json.loads((folder / store.FINISH).read_text(encoding="utf-8"))


def spending(here: Project) -> Path:
    """Where the stages of this run keep account of the one budget for models that they share."""
    return here.artifacts / ".spending" / f"{os.getpid()}.jsonl"


def _kept_apart(here: Project, step: Planned, output: Path) -> Path:
    """Save a failed notebook where no finished version is looked for."""
    target = here.artifacts / step.stage / artifact.FAILED / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.ipynb"
    target.parent.mkdir(exist_ok=True)
    if output.is_file():
        os.replace(output, target)
    return target


def _unless_changed(
    here: Project, step: Planned, inputs: Inputs, upstream: Mapping[str, Version], tell: Tell
) -> Inputs:
    """The inputs, or a mark on them that no later run looks for: what ran may not be what was keyed."""
    now = inputs_of(here, step, upstream)
    if now.static == inputs.static:
        return inputs
    modules = [name for name in inputs.modules if now.modules.get(name) != inputs.modules[name]]
    changed = ", ".join(f"wb/{name.replace('.', '/')}.py" for name in modules) or "its policy"
    tell(Notice(step.stage, "changed", note=f"{changed} changed while it ran; the next run makes it again"))
    return replace(inputs, mode="changed")


def _taken(here: Project, step: Planned, upstream: Mapping[str, Version], tell: Tell) -> Version:
    """The version of a stage that is not to be run: the exact one, else the newest with the same parameters."""
    inputs = inputs_of(here, step, upstream)
    found = lookup(here, inputs, tell)
    if found is None:
        wanted = ("batch", inputs.parameters, inputs.policy)
        made = [v for v in artifact.versions(here, step.stage) if v.ours and not v.damaged()]
        same = [
            v for v in made if (v.manifest["mode"], v.manifest["parameters"], v.manifest["policy"]["digest"]) == wanted
        ]
        if not same:
            raise ArtifactError(
                f"--from needs a finished {step.stage} with these parameters; there is none: run without --from"
            )
        found = same[0]
        tell(Notice(step.stage, "taken", note=f"{found.key}, though code, prompts or inputs have changed since"))
    return found


# ---- copies to step through -----------------------------------------------------------------------------------------


class Copies(NamedTuple):
    """The folder of the copies, the policy that they name, and what a person should know of them, a line each."""

    folder: Path
    policy: str
    lines: tuple[str, ...]


def copies(here: Project, values: Mapping[str, str]) -> Copies:
    """Copies of all notebooks with these parameters (texts, as `wb run` takes them), made or brought up to date.

    Raises:
        ValueError: whatever `wb run` refuses of the parameters, before anything is written.
    """
    steps = plan(here, values)
    source = next(filter(None, (store.policy_of(here, step.parameters) for step in steps)), None)
    name = source.name if source else "no policy"
    away = f"-{paths.digest(str(source.path))[:6]}" if source and source.path.parent != here.policies.resolve() else ""
    folder = here.artifacts / "lab" / f"{name}{away}"
    folder.mkdir(parents=True, exist_ok=True)
    record = folder / MADE
    made = json.loads(record.read_text("utf-8")) if record.is_file() else {}
    lines = [_copied(folder, step.notebook, notebook.filled(step.notebook, step.given), made) for step in steps]
    write_whole(record, json.dumps(made, indent=1))
    return Copies(folder, name, tuple(filter(None, lines)))


def _copied(folder: Path, book: Notebook, wanted: str, made: dict[str, str]) -> str:
    """Bring one copy up to date, and what there is to say of it; `made` is what the record says, and is kept so."""
    path, new = folder / book.path.name, _kinds(wanted)
    before = path.read_text("utf-8") if path.exists() else None
    mine = None if before is None else _kinds(before)
    if mine == new:
        made[path.name] = paths.digest(new)
        return ""
    if mine is not None and made.get(path.name) != paths.digest(mine):
        differing = [n for n, (one, other) in enumerate(zip_longest(mine, new), 1) if one != other]
        where = f"in cell {', '.join(map(str, differing))} it is not {book.path} with these parameters"
        return f"{path}: kept as you changed it: {where}; rename it to get the new one"
    if before is not None:
        old = folder / EARLIER / f"{path.stem}-{paths.digest(before)[:8]}.ipynb"
        old.parent.mkdir(exist_ok=True)
        os.replace(path, old)
    write_whole(path, wanted)
    made[path.name] = paths.digest(new)
    return f"{path}: made anew, {book.path.name} or its parameters changed; the one before: {old}" if before else ""


def _kinds(text: str) -> list[list[object]]:
    """What a person may change of a notebook, kind and text of each cell; [] where it is none, so that it is kept."""
    try:
        return [[cell["cell_type"], notebook.source(cell).rstrip()] for cell in json.loads(text)["cells"]]
    except (ValueError, KeyError, TypeError, AttributeError):
        return []


def command(here: Project, folder: Path, options: Sequence[str]) -> list[str]:
    """The arguments of JupyterLab for a folder of copies, in a workspace of its own, with further options of it.

    Raises:
        NotebookError: an option that JupyterLab does not have.
    """
    from jupyterlab.labapp import LabApp

    known = {name for names in (*LabApp.aliases, *LabApp.flags) for name in ([names] if type(names) is str else names)}
    for option in options:
        name = option.lstrip("-").partition("=")[0]
        if option.startswith("-") and "." not in name and name not in {*known, "help", "help-all", "version"}:
            raise NotebookError(
                f"--policy, --model, -p NAME=VALUE or an option of `jupyter lab` was required; got {option!r}"
            )
    root = here.root if folder.is_relative_to(here.root) else here.artifacts
    place = f"/lab/workspaces/{quote(folder.name)}/tree/{quote(folder.relative_to(root).as_posix())}"
    hidden = "--ContentsManager.hide_globs=['notebooks', '__pycache__', '*.pyc', '*~']"  # the tracked ones
    return [f"--ServerApp.root_dir={root}", f"--LabApp.default_url={place}", hidden, *options]
