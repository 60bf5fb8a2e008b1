"""The versions of a stage: which there are, and what sets one apart from another.

Only manifests are compared, so that nothing has to be kept but what a run records anyway.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from wb.artifact import ArtifactError, Version

RESULTS = "results.json"
Manifest = Mapping[str, object]


def differences(old: Manifest, new: Manifest) -> tuple[str, ...]:
    """What changed from one manifest to another, one line each: first the causes, then the outputs."""
    return (*_values("policy", old["policy"], new["policy"]), *_values("parameter", old["parameters"], new["parameters"]),
            *_cells(old, new), *_digests("module", old["modules"], new["modules"], ".py"),
            *_digests("prompt", old["prompts"], new["prompts"], ".md"), *_digests("reply", old["replies"], new["replies"], ""),
            *_upstream(old["upstream"], new["upstream"]), *_values("mode", {"": old["mode"]}, {"": new["mode"]}),
            *_values("package", _recorded(old), _recorded(new)), *_digests("output", _outputs(old), _outputs(new), ""))


def pair(versions: Sequence[Version], keys: Sequence[str] = ()) -> tuple[Version, ...]:
    """The two versions to compare, older first: those whose keys start so, else the two newest; () if there are no two.

    Raises:
        ArtifactError: not two keys, or one that fits no version or several.
    """
    if not keys:
        return tuple(reversed(versions[:2])) if len(versions) > 1 else ()
    found = [[version for version in versions if version.key.startswith(key)] for key in keys]
    if len(keys) != 2 or any(len(fitting) != 1 for fitting in found):
        raise ArtifactError(f"two keys of {[version.key for version in versions]} were required; got {list(keys)}")
    return found[0][0], found[1][0]


def described(version: Version) -> dict[str, object]:
    """One version in a line: its key, policy, model, mode, when it was finished and how long it took."""
    manifest = version.manifest
    recorded = manifest["recorded"]
    return {"key": version.key, "policy": manifest["policy"]["name"] or "", "model": manifest["model"] or "", "mode": manifest["mode"],
            "finished": recorded["finished"], "seconds": recorded["seconds"], "summary": summary(manifest)}


def summary(manifest: Manifest) -> str:
    """What a stage said of itself at its finish, in a line."""
    return ", ".join(f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}" for name, value in manifest["summary"].items())


def with_results(version: Version) -> dict[str, object]:
    """The manifest and the results of a version, as one JSON value; an evaluation's `methods` stand at the top.

    Raises:
        ArtifactError: the results were changed since they were written.
    """
    results = version.read(RESULTS) if RESULTS in version.digests else None
    methods = {"methods": results["methods"]} if isinstance(results, dict) and "methods" in results else {}
    return {"stage": version.stage, "key": version.key, **methods, "manifest": dict(version.manifest), "results": results}


def _values(kind: str, old: Manifest, new: Manifest) -> Iterator[str]:
    for name in sorted(old.keys() | new.keys()):
        before, after = old.get(name), new.get(name)
        if before != after:
            yield f"{kind} {name}: {_short(before)} -> {_short(after)}".replace(" :", ":")


def _digests(kind: str, old: Manifest, new: Manifest, suffix: str) -> Iterator[str]:
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            how = "added" if name not in old else "removed" if name not in new else "changed"
            yield f"{kind} {name}{suffix}: {how}"


def _cells(old: Manifest, new: Manifest) -> Iterator[str]:
    before, after = old["cells"], new["cells"]
    if before != after:
        same = len(set(before) & set(after))
        yield f"code cells: {len(after) - same} new, {len(before) - same} gone, {same} the same"


def _upstream(old: Manifest, new: Manifest) -> Iterator[str]:
    for stage in sorted(old.keys() | new.keys()):
        before, after = (side.get(stage, {}).get("files", {}) for side in (old, new))
        changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
        if changed:
            yield f"upstream {stage}: {', '.join(changed)}"


def _outputs(manifest: Manifest) -> dict[str, str]:
    return {name: row["sha256"] for name, row in manifest["outputs"].items()}


def _recorded(manifest: Manifest) -> dict[str, object]:
    recorded = manifest["recorded"]
    return {**recorded["packages"], "python": recorded["python"]}


def _short(value: object) -> str:
    text = repr(value) if not isinstance(value, str) else value
    return text if len(text) <= 60 else text[:24] + "…"
