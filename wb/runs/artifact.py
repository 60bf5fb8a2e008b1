"""Artifacts on disk: one folder a version of a stage, `artifacts/<stage>/<key>/`, never edited.

A version is finished when it has a `manifest.json`.  It is made in a workplace of its own and renamed
into place with the manifest already in it, so that a process killed at any moment leaves either the
whole version or none.  Every file's digest is in the manifest and is checked when it is read; the manifest
carries its own digest, and a seal by a key outside the project: what another hand wrote is never kept by a run.
What sets one version apart from another is told from their manifests alone.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypedDict

import pydantic

from wb import paths
from wb.paths import Project, digest, write_whole
from wb.runs import key
from wb.runs.key import Inputs

if TYPE_CHECKING:
    from filelock import BaseFileLock

MANIFEST, NOTEBOOK, LEDGER, LOCK, FAILED = "manifest.json", "notebook.ipynb", "ledger.json", ".lock", "failed"
KEY_LENGTH = 12  # hex digits: 48 bits
YOUNG_S = 10  # a workplace younger than this may not have its lock yet


class ArtifactError(ValueError):
    """An artifact is missing, damaged or used in a way that would make it untrue."""


@dataclass(frozen=True, slots=True)
class Version:
    """One finished version of a stage."""

    folder: Path
    manifest: Mapping[str, object]

    @property
    def key(self) -> str:
        """Its name among the versions of its stage."""
        return self.folder.name

    @property
    def stage(self) -> str:
        """The stage that made it."""
        return self.folder.parent.name

    @property
    def digests(self) -> dict[str, str]:
        """The digest of each of its files, as the manifest has it."""
        return {name: row["sha256"] for name, row in self.manifest["outputs"].items()}

    @property
    def ours(self) -> bool:
        """Whether its manifest was sealed with this user's key: what was made elsewhere, or forged, was not."""
        return self.manifest.get("seal") == _seal(self.manifest)

    @property
    def final(self) -> bool:
        """Whether every question that it put, to a model or to the prover, was answered."""
        return not self.manifest.get("failed")

    @property
    def used(self) -> int:
        """When it was made, or used last by a run, in nanoseconds since the epoch."""
        return (self.folder / MANIFEST).stat().st_mtime_ns

    def damaged(self) -> list[str]:
        """Those of its files, the executed notebook among them, that are missing or not what the manifest says."""
        executed = {NOTEBOOK: known} if (known := self.manifest.get("notebook")) else {}
        return [name for name, known in {**self.digests, **executed}.items() if not _is(self.folder / name, known)]

    def read(self, name: str) -> object:
        """A file's value: JSON parsed, other files as text.

        Raises:
            ArtifactError: the stage wrote no such file, or it was changed since.
        """
        path = self.source(name)
        text = path.read_text(encoding="utf-8")
        return json.loads(text) if path.suffix == ".json" else text

    def source(self, name: str) -> Path:
        """Where one of its files is, after checking it; see `read`."""
        if name not in self.digests:
            raise ArtifactError(f"{self.stage} wrote {sorted(self.digests)}; {name!r} was asked for")
        path = self.folder / name
        if not _is(path, self.digests[name]):
            wanted = f"{self.stage}/{self.key}/{name} must have the digest that its manifest says"
            raise ArtifactError(f"{wanted}; it was changed or lost: `wb run` makes it again")
        return path

    def touch(self) -> None:
        """Make it the version used last.  The clock is read here: the file system's own may tick only every few ms,
        in which two versions would be used at once."""
        now = time.time_ns()
        os.utime(self.folder / MANIFEST, ns=(now, now))


def versions(here: Project, stage: str) -> tuple[Version, ...]:
    """Every finished version of a stage, newest (made or used last) first; unreadable ones are left out."""
    found = []
    for path in (here.artifacts / stage).glob(f"[!.]*/{MANIFEST}"):
        manifest = read_manifest(path)
        if manifest is not None:
            touched = path.stat().st_mtime_ns
            known = touched if touched <= time.time_ns() + YOUNG_S * 10**9 else 0  # a date in the future says nothing
            found.append((known, manifest["recorded"]["finished"], Version(path.parent, manifest)))
    return tuple(version for *_, version in sorted(found, key=lambda row: row[:2], reverse=True))


def unreadable(here: Project, stage: str) -> tuple[Path, ...]:
    """Folders of a stage whose manifest is missing or damaged."""
    folders = (path for path in (here.artifacts / stage).glob("[!.]*") if path.is_dir() and path.name != FAILED)
    return tuple(folder for folder in folders if read_manifest(folder / MANIFEST) is None)


def newest(
    here: Project,
    stage: str,
    *,
    policy: str | None = None,
    name: str | None = None,
    model: object = None,
    before: Version | None = None,
) -> Version:
    """The newest version of a stage for a policy (its digest), of that name, and a model, used last before another one;
    None: any.

    Raises:
        ArtifactError: there is none.
    """
    for version in versions(here, stage):
        of = version.manifest["policy"]
        same = policy in (None, of["digest"]) and name in (None, of["name"])
        in_time = before is None or version.used <= before.used
        if same and in_time and model in (None, version.manifest["model"]):
            return version
    wanted = " and ".join(["this policy"] * bool(policy) + [f"model {model!r}"] * bool(model))
    do = f"run its notebook, or `wb run --to {stage}`, first"
    raise ArtifactError(f"a finished {stage}{' for ' * bool(wanted)}{wanted} was required; there is none: {do}")


def followed(here: Project, last: Version) -> dict[str, Version]:
    """A version and all that it was made from, by stage; those that were deleted since are left out.

    Of what is no longer `current`, such as a version some of whose answers came later, the newest that is and has the
    same files as were read stands in its place: with these files a run would make the same again.
    """
    found = {last.stage: last}
    waiting = [last]
    while waiting:
        for stage, row in waiting.pop().manifest["upstream"].items():
            if stage not in found and (read := _read(here, stage, row["key"], row["files"])) is not None:
                found[stage] = read
                waiting.append(read)
    return dict(sorted(found.items()))


def _read(here: Project, stage: str, key: str, files: Mapping[str, str]) -> Version | None:
    """The version of that key, or a current one of the same policy and files (`followed`)."""
    folder = here.artifacts / stage / key
    manifest = read_manifest(folder / MANIFEST)
    if manifest is None or current(here, Version(folder, manifest)):
        return None if manifest is None else Version(folder, manifest)
    for version in versions(here, stage):
        same = version.manifest["policy"] == manifest["policy"] and files.items() <= version.digests.items()
        if same and version.manifest["parameters"] == manifest["parameters"] and current(here, version):
            return version
    return Version(folder, manifest)


def read_manifest(path: Path) -> dict | None:
    """A manifest, or None where there is no such file, or not the one that was written there."""
    try:
        manifest = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
    except (FileNotFoundError, NotADirectoryError, ValueError, RecursionError):
        return None
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        return None  # a key that is none
    whole = isinstance(manifest, dict) and manifest.pop("digest", None) == digest(manifest)
    here = (path.parent.parent.name, path.parent.name)  # a whole version under another one's name is none
    return manifest if whole and (manifest.get("stage"), manifest.get("key")) == here and _shaped(manifest) else None


_DIGESTS = dict[str, str]
_KINDS = {  # of what is read of a manifest, some of it before its seal
    **dict.fromkeys(("stage", "key", "mode", "static", "notebook"), str),
    **dict.fromkeys(("modules", "prompts", "replies"), _DIGESTS),
    **{"failed": int, "cells": list, "parameters": dict, "summary": dict, "model": object},
    "policy": TypedDict("_Policy", {"name": str, "digest": str}),
    "recorded": TypedDict("_Recorded", {"finished": str, "seconds": float, "packages": dict, "python": str}),
    "upstream": dict[str, TypedDict("_Read", {"key": str, "files": _DIGESTS})],
    "outputs": dict[str, TypedDict("_Output", {"sha256": str})],
}
_SHAPE = pydantic.TypeAdapter(TypedDict("_Shape", _KINDS))


def _shaped(manifest: Mapping[str, object]) -> bool:
    """Whether everything in a manifest is of the kind that a stage writes."""
    try:
        return bool(_SHAPE.validate_python(manifest, strict=True))
    except pydantic.ValidationError:
        return False


def _seal(manifest: Mapping[str, object]) -> str:
    return paths.seal({name: value for name, value in manifest.items() if name != "seal"})


class Workplace(NamedTuple):
    """A folder for a version in the making, and the lock that says somebody is at work there."""

    folder: Path
    lock: BaseFileLock


def workplace(here: Project, stage: str) -> Workplace:
    """A new workplace beside the finished versions; its name starts with a dot."""
    from filelock import FileLock  # here, not above: whoever loads guards makes no version

    parent = here.artifacts / stage
    parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=".making-", dir=parent))
    lock = FileLock(folder / LOCK)
    lock.acquire(timeout=YOUNG_S)
    return Workplace(folder, lock)


def sweep(here: Project, stage: str) -> int:
    """Remove the workplaces that killed processes left behind; returns how many."""
    from filelock import FileLock, Timeout

    swept = 0
    for folder in (here.artifacts / stage).glob(".making-*"):
        try:
            if abs(time.time() - folder.stat().st_mtime) < YOUNG_S:
                continue
            with FileLock(folder / LOCK).acquire(timeout=0):
                shutil.rmtree(folder, ignore_errors=True)
                swept += 1
        except (Timeout, FileNotFoundError):  # someone is at work there, or has just finished
            continue
    return swept


def seal(
    here: Project,
    folder: Path,
    inputs: Inputs,
    *,
    policy: Mapping[str, object],
    upstream: Mapping[str, str],
    done: Mapping[str, object],
) -> Version:
    """Turn a workplace into a finished version.

    `policy` is its name and digest, `upstream` the key of each version that was read, `done` what the
    stage said at its finish. Where the same version exists undamaged, that one stays and this one goes.
    """
    written = {name: folder / name for name in _written(folder)}
    outputs = {name: {"sha256": key.file_digest(at), "bytes": at.stat().st_size} for name, at in written.items()}
    used = _used(here, folder, inputs)
    used["failed"] += done.get("unanswered", 0)
    # what a person stepped through may differ although the cells are the same: it never replaces another version
    stepped = [outputs] if inputs.mode == "interactive" else []
    name = digest([inputs.static, used["prompts"], used["replies"], *stepped])[:KEY_LENGTH]
    plain = {f.name: getattr(inputs, f.name) for f in fields(inputs) if f.name not in ("upstream", "policy")}
    reads = {stage: {"key": version, "files": inputs.upstream[stage]} for stage, version in upstream.items()}
    manifest = {
        **plain,
        "key": name,
        "static": inputs.static,
        "policy": policy,
        "model": inputs.parameters.get("model"),
        **used,
        "upstream": reads,
        "outputs": outputs,
        "notebook": key.file_digest(folder / NOTEBOOK) if (folder / NOTEBOOK).is_file() else "",
        "summary": done["summary"],
        "recorded": done["recorded"],
    }
    manifest = json.loads(dumps(manifest, MANIFEST))
    manifest["seal"] = _seal(manifest)
    for leftover in folder.glob(".*"):
        leftover.unlink()
    write_whole(folder / MANIFEST, dumps({**manifest, "digest": digest(manifest)}, MANIFEST))
    return _place(folder, folder.parent / name, manifest)


def current(here: Project, version: Version) -> bool:
    """Whether the prompts and replies that a version used are still the same, and no question was left without an
    answer: a failed one is asked again, the recorded ones are not."""
    manifest = version.manifest
    if not version.final:
        return False
    prompts = key.prompt_digests(manifest["prompts"], here.prompts)
    return prompts == manifest["prompts"] and reply_digests(here.replies, manifest["replies"]) == manifest["replies"]


def set_aside(folder: Path) -> Path:
    """Move a damaged version out of the way, kept for a look: its name gets a leading dot."""
    target = Path(tempfile.mkdtemp(prefix=f".damaged-{folder.name}-", dir=folder.parent))
    os.rename(folder, target)
    return target


def reply_digests(folder: Path, replies: Iterable[str]) -> dict[str, str]:
    """For each digest of a request, the digest of the file that holds its reply; "" where there is none."""
    files = {reply: next(folder.glob(f"*{reply[:32]}.json"), None) for reply in replies}
    return {reply: key.file_digest(path) if path and path.is_file() else "" for reply, path in files.items()}


def dumps(value: object, name: str) -> str:
    """A value as JSON text, keys in the order given; `ArtifactError` for what JSON cannot hold."""
    try:
        return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False, default=_plain) + "\n"
    except (TypeError, ValueError) as error:
        raise ArtifactError(
            f"{name}: a value that JSON can hold was required (an unknown number is None); {error}"
        ) from None


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in fields(value)}
    if isinstance(value, frozenset | set):
        return sorted(value)
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"got {type(value).__name__}")


def _is(path: Path, known: str) -> bool:
    return path.is_file() and key.file_digest(path) == known


def _written(folder: Path) -> list[str]:
    """The files of a workplace that are outputs, by relative name."""
    names = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return sorted(name for name in names if name not in (MANIFEST, NOTEBOOK) and not name.startswith("."))


def _used(here: Project, folder: Path, inputs: Inputs) -> dict[str, dict[str, str] | int]:
    """The prompts and recorded replies that the stage used, by the digests of their files, and how many failed."""
    if not (folder / LEDGER).is_file():
        return {"prompts": key.prompts(inputs.modules, here.package, here.prompts), "replies": {}, "failed": 0}
    rows = json.loads((folder / LEDGER).read_text(encoding="utf-8"))
    # the digest that was asked with, should the file have been edited since
    asked = {name: row["digest"] for name, row in rows["prompts"].items() if row.get("digest")}
    return {
        "prompts": key.prompt_digests(rows["prompts"], here.prompts) | asked,
        "replies": reply_digests(here.replies, rows["replies"]),
        "failed": rows.get("failed", 0),
    }


def _place(folder: Path, target: Path, manifest: dict) -> Version:
    """Rename a sealed workplace to its final name, unless an undamaged version has it that is as good."""
    present = read_manifest(target / MANIFEST)
    made, there = Version(target, manifest), Version(target, present or {})
    if present is not None and there.ours and (there.final or not made.final) and not there.damaged():
        shutil.rmtree(folder)
        there.touch()
        return there
    if target.exists():
        set_aside(target)
    os.chmod(folder, 0o755)
    os.rename(folder, target)
    return made


RESULTS = "results.json"
Manifest = Mapping[str, object]


def differences(old: Manifest, new: Manifest) -> tuple[str, ...]:
    """What changed from one manifest to another, one line each: first the causes, then the outputs."""
    packages = [{**each["recorded"]["packages"], "python": each["recorded"]["python"]} for each in (old, new)]
    outputs = [{name: row["sha256"] for name, row in each["outputs"].items()} for each in (old, new)]
    return (
        *_changed("policy", old["policy"], new["policy"]),
        *_changed("parameter", old["parameters"], new["parameters"]),
        *_cells(old["cells"], new["cells"]),
        *_changed("module", old["modules"], new["modules"], ".py"),
        *_changed("prompt", old["prompts"], new["prompts"], ".md"),
        *_changed("reply", old["replies"], new["replies"], ""),
        *_upstream(old["upstream"], new["upstream"]),
        *_changed("mode", {"": old["mode"]}, {"": new["mode"]}),
        *_changed("package", *packages),
        *_changed("output", *outputs, ""),
    )


def pair(versions: Sequence[Version], keys: Sequence[str] = ()) -> tuple[Version, ...]:
    """The two versions to compare, older first: those whose keys start so, else the newest and the one before it of the
    same policy; () if there are no two.

    Raises:
        ArtifactError: not two keys, or one that fits no version or several.
    """
    if not keys:
        same = [v for v in versions if v.manifest["policy"]["name"] == versions[0].manifest["policy"]["name"]]
        return (same[1], same[0]) if len(same) > 1 else ()
    found = [[version for version in versions if version.key.startswith(key)] for key in keys]
    if len(keys) != 2 or any(len(fitting) != 1 for fitting in found):
        raise ArtifactError(f"two keys of {[version.key for version in versions]} were required; got {list(keys)}")
    return found[0][0], found[1][0]


def described(version: Version) -> dict[str, object]:
    """One version in a line: its key, policy, model, mode, when it was finished and how long it took."""
    manifest = version.manifest
    recorded = manifest["recorded"]
    return {
        "key": version.key,
        "policy": manifest["policy"]["name"] or "",
        "model": manifest["model"] or "",
        "mode": manifest["mode"],
        "finished": recorded["finished"],
        "seconds": recorded["seconds"],
        "summary": summary(manifest),
    }


def summary(manifest: Manifest) -> str:
    """What a stage said of itself at its finish, in a line."""
    said = manifest["summary"].items()
    return ", ".join(f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}" for name, value in said)


def with_results(version: Version) -> dict[str, object]:
    """The manifest and the results of a version, as one JSON value; an evaluation's `methods` stand at the top.

    Raises:
        ArtifactError: the results were changed since they were written.
    """
    results = version.read(RESULTS) if RESULTS in version.digests else None
    methods = {"methods": results["methods"]} if isinstance(results, dict) and "methods" in results else {}
    head = {"stage": version.stage, "key": version.key, **methods}
    return head | {"manifest": dict(version.manifest), "results": results}


def _changed(kind: str, old: Manifest, new: Manifest, suffix: str | None = None) -> Iterator[str]:
    """What has another value: both values; of files (names with a suffix), whose digests tell nobody anything, how."""
    for name in sorted(old.keys() | new.keys()):
        before, after = old.get(name), new.get(name)
        if before == after:
            continue
        if suffix is None:
            yield f"{kind} {name}: {_short(before)} -> {_short(after)}".replace(" :", ":")
        else:
            how = "added" if name not in old else "removed" if name not in new else "changed"
            yield f"{kind} {name}{suffix}: {how}"


def _cells(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    if before != after:
        same = len(set(before) & set(after))
        yield f"code cells: {len(after) - same} new, {len(before) - same} gone, {same} the same"


def _upstream(old: Manifest, new: Manifest) -> Iterator[str]:
    for stage in sorted(old.keys() | new.keys()):
        before, after = (side.get(stage, {}).get("files", {}) for side in (old, new))
        changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
        if changed:
            yield f"upstream {stage}: {', '.join(changed)}"


def _short(value: object) -> str:
    text = repr(value) if not isinstance(value, str) else value
    return text if len(text) <= 60 else text[:24] + "…"
