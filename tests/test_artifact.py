"""Versions are whole or absent, checked when read, and never replaced."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import sys
import time
from dataclasses import dataclass, replace
from types import MappingProxyType

import filelock  # noqa: F401  (files that an import opens are no steps of a version)
import numpy as np
import pytest
import tiny
from hypothesis import given
from hypothesis import strategies as st

from wb.paths import Project
from wb.runs import artifact, pipeline
from wb.runs.artifact import ArtifactError
from wb.runs.key import Inputs

INPUTS = Inputs("01_a", "batch", {"policy": "rules", "model": "offline"}, "p", ("c",), {}, {})


@pytest.fixture
def here(tmp_path):
    return Project(tmp_path, tmp_path / "artifacts")


def make(here, files=None, inputs=INPUTS):
    """A finished version with these files."""
    return tiny.version(here, inputs, files or {"a.json": "[1]\n"})


def test_a_sealed_version_is_found_with_its_files_and_manifest(here):
    made = make(here, {"a.json": "[1]\n", "deep/b.txt": "text"})
    (found,) = artifact.versions(here, "01_a")
    assert found == made and sorted(found.digests) == ["a.json", "deep/b.txt"] and not found.damaged()
    assert found.read("a.json") == [1] and found.read("deep/b.txt") == "text"
    assert sorted(p.name for p in found.folder.iterdir()) == ["a.json", "deep", "manifest.json"]
    assert found.manifest["static"] == INPUTS.static and found.manifest["summary"] == {"n": 1}


@pytest.mark.parametrize(
    "damage",
    [lambda p: p.write_text("[2]\n"), lambda p: p.unlink(), lambda p: p.write_bytes(b"")],
    ids=["changed", "lost", "emptied"],
)
def test_a_damaged_file_is_found_by_its_digest(here, damage):
    made = make(here)
    damage(made.folder / "a.json")
    assert made.damaged() == ["a.json"]
    with pytest.raises(ArtifactError, match="it was changed or lost"):
        made.read("a.json")


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m | {"summary": {"n": 2}},
        lambda m: m | {"outputs": {}},
        lambda m: {k: v for k, v in m.items() if k != "seal"},
        lambda m: [],
    ],
)
def test_a_manifest_that_was_edited_is_not_believed(here, change):
    made = make(here)
    path = made.folder / "manifest.json"
    path.write_text(json.dumps(change(json.loads(path.read_text("utf-8")))), "utf-8")
    assert artifact.versions(here, "01_a") == () and artifact.unreadable(here, "01_a") == (made.folder,)


def _whole(manifest: dict) -> str:
    """A manifest with its digest made anew."""
    return json.dumps({**manifest, "digest": artifact.digest(manifest)})


KEPT = ("seal", "bytes", "model")  # the seal is looked at apart, the rest is only shown


def _without(value: object, path: tuple = ()) -> list[tuple]:
    """The paths of all that is in a manifest and is read of it."""
    below = [] if path[:1] in (("parameters",), ("summary",)) else list(value.items()) if type(value) is dict else []
    return [path] * bool(path) + [one for name, row in below for one in _without(row, (*path, name))]


def test_a_manifest_without_a_part_or_with_another_kind_of_it_is_none(here):
    before = make(here, inputs=replace(INPUTS, stage="00_z"))
    inputs = replace(INPUTS, upstream={"00_z": before.digests})
    made = tiny.version(here, inputs, {"a.json": "[1]\n"}, upstream={"00_z": before.key})
    path = made.folder / "manifest.json"
    whole = json.loads(path.read_text("utf-8"))
    whole.pop("digest")
    paths = [one for one in _without(whole) if one[-1] not in KEPT]
    assert len(paths) > 15 and artifact.read_manifest(path) is not None
    for where in paths:
        edited = json.loads(json.dumps(whole))
        row = edited
        for name in where[:-1]:
            row = row[name]
        row[where[-1]] = None
        path.write_text(_whole(edited), "utf-8")
        assert artifact.read_manifest(path) is None, where
        if len(where) == 1:
            del edited[where[0]]
            path.write_text(_whole(edited), "utf-8")
            assert artifact.read_manifest(path) is None, where


def test_what_stands_in_the_place_of_a_manifest_and_is_no_file_of_one_is_none(here):
    made = make(here)
    path = made.folder / "manifest.json"
    path.unlink()
    path.symlink_to(path.name)
    assert artifact.unreadable(here, "01_a") == (made.folder,) and artifact.read_manifest(path) is None
    path.unlink()
    path.write_text("[" * 100_000, "utf-8")
    assert artifact.versions(here, "01_a") == ()
    path.unlink()
    path.mkdir()
    assert artifact.versions(here, "01_a") == ()
    assert make(here).key == made.key and len(artifact.versions(here, "01_a")) == 1


def test_a_name_that_is_too_long_for_a_version_is_of_none(here):
    make(here)
    assert artifact.read_manifest(here.artifacts / "01_a" / ("a" * 5000) / "manifest.json") is None
    assert artifact.read_manifest(here.artifacts / "01_a" / "a\0b" / "manifest.json") is None


def test_nothing_that_an_unsealed_manifest_names_is_looked_at(here):
    """A prompt of a name that no file can have, and a reply of one that finds others."""
    made = make(here)
    path = made.folder / "manifest.json"
    whole = json.loads(path.read_text("utf-8"))
    whole.pop("digest")
    told = []
    for part in ({"prompts": {"a" * 5000: ""}}, {"outputs": {"a" * 5000: {"sha256": ""}}}, {"replies": {"/../*": ""}}):
        path.write_text(_whole({**whole, **part}), "utf-8")
        (found,) = artifact.versions(here, "01_a")
        assert not found.ours and pipeline.lookup(here, INPUTS, told.append) is None
    assert [one.note for one in told] == [f"{made.key}: its manifest is not sealed with your key; making it again"] * 3
    path.write_text(_whole(whole), "utf-8")
    assert pipeline.lookup(here, INPUTS, told.append) == made and len(told) == 3


@pytest.mark.parametrize("stage", ["01_a", "02_b"])
def test_a_whole_version_under_the_name_of_another_one_is_none(here, stage):
    weak, strong = make(here), make(here, inputs=replace(INPUTS, stage=stage, policy="strict"))
    shutil.rmtree(strong.folder)
    shutil.copytree(weak.folder, strong.folder)
    assert artifact.unreadable(here, stage) == (strong.folder,) and artifact.versions(here, "01_a") == (weak,)
    again = make(here, inputs=replace(INPUTS, stage=stage, policy="strict"))
    assert again == strong and artifact.read_manifest(again.folder / "manifest.json") == again.manifest


def test_a_file_that_was_not_written_is_named_with_those_that_were(here):
    with pytest.raises(ArtifactError, match=r"01_a wrote \['a.json'\]; 'b.json' was asked for"):
        make(here).read("b.json")


def test_the_same_version_made_twice_keeps_the_first(here):
    first = make(here)
    second = make(here, {"a.json": "[2]\n"})
    assert second == first and first.read("a.json") == [1] and len(artifact.versions(here, "01_a")) == 1


def test_a_damaged_version_is_made_again_and_the_old_one_kept_aside(here):
    first = make(here)
    (first.folder / "a.json").write_text("[9]\n", "utf-8")
    second = make(here)
    assert second.key == first.key and second.read("a.json") == [1]
    (aside,) = (here.artifacts / "01_a").glob(".damaged-*")
    assert (aside / "a.json").read_text("utf-8") == "[9]\n"


def test_what_a_person_stepped_through_never_shares_a_version(here):
    stepped = replace(INPUTS, mode="interactive")
    keys = {make(here).key, make(here, inputs=stepped).key, make(here, {"a.json": "[2]\n"}, stepped).key}
    assert len(keys) == 3


def test_the_newest_is_the_one_used_last(here):
    old, new = make(here), make(here, inputs=replace(INPUTS, parameters={"model": "m"}))
    later = time.time_ns() + 10**9
    os.utime(old.folder / "manifest.json", ns=(later, later))
    assert artifact.newest(here, "01_a") == old and artifact.newest(here, "01_a", model="m") == new
    with pytest.raises(ArtifactError, match="a finished 01_a for model 'other' was required; there is none"):
        artifact.newest(here, "01_a", model="other")


@pytest.mark.parametrize("value", [float("nan"), {"a": object()}, {(1, 2): 3}])
def test_a_value_that_json_cannot_hold_is_refused(value):
    with pytest.raises(ArtifactError, match="a value that JSON can hold was required"):
        artifact.dumps(value, "a.json")


@given(st.frozensets(st.integers()), st.lists(st.text()))
def test_dataclasses_and_sets_become_plain_json(numbers, texts):
    @dataclass(frozen=True)
    class Value:
        numbers: frozenset
        texts: tuple

    assert json.loads(artifact.dumps(Value(numbers, tuple(texts)), "v")) == {"numbers": sorted(numbers), "texts": texts}


# ---- killed at any moment -------------------------------------------------------------------------


FRESH = multiprocessing.get_context("forkserver")  # this process may have threads, which a fork of it would not survive
FRESH.set_forkserver_preload([__name__])


def make_and_die(here, moment):
    """Make a version, killed with -9 at the n-th step on disk."""
    steps = iter(range(moment))

    def step(event, arguments):
        if (
            event in ("open", "os.rename", "os.remove", "os.mkdir", "os.utime", "os.chmod", "shutil.rmtree")
            and next(steps, None) is None
        ):
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(step)
    make(here)
    os._exit(0)


def killed_while_making(here, moment):
    """Make a version in a process that is killed on the way; False where it lived to the end."""
    child = FRESH.Process(target=make_and_die, args=(here, moment))
    child.start()
    child.join()
    assert child.exitcode in (0, -signal.SIGKILL)
    return child.exitcode != 0


def test_killed_at_any_step_a_version_is_whole_or_absent(here):
    moment, seen = 0, set()
    while killed_while_making(here, moment):
        found = artifact.versions(here, "01_a")
        assert all(not v.damaged() and v.read("a.json") == [1] for v in found)
        assert not artifact.unreadable(here, "01_a"), "a half version must not look like one"
        seen.add(len(found))
        again = make(here)
        assert again.read("a.json") == [1] and not list((here.artifacts / "01_a").glob(".damaged-*"))
        shutil.rmtree(again.folder)
        moment += 1
    assert moment > 10 and 0 in seen


def test_workplaces_of_killed_processes_are_swept_and_others_are_not(here):
    killed_while_making(here, 4)
    place = artifact.workplace(here, "01_a")
    folders = list((here.artifacts / "01_a").glob(".making-*"))
    assert len(folders) == 2 and artifact.sweep(here, "01_a") == 0, "a young workplace may not have its lock yet"
    for folder in folders:
        os.utime(folder, (time.time() - 60,) * 2)
    with FRESH.Pool(1) as other:  # a lock keeps other processes out
        assert other.apply(artifact.sweep, (here, "01_a")) == 1
    assert list((here.artifacts / "01_a").glob(".making-*")) == [place.folder]
    place.lock.release()


# ---- prompts and replies, known only after a run ---------------------------------------------------


@pytest.fixture
def asked(here):
    """A version whose ledger says that it used the prompt 'one' and one reply."""
    here.prompts.mkdir(parents=True)
    here.replies.mkdir(parents=True)
    for name in ("one", "two"):
        (here.prompts / f"{name}.md").write_text(name, "utf-8")
    (here.replies / f"one.{'d' * 32}.json").write_text("{}", "utf-8")
    return make(here, {"ledger.json": json.dumps({"prompts": {"one": {}}, "replies": ["d" * 64]})})


def test_a_version_stays_current_while_its_prompts_and_replies_do(here, asked):
    assert sorted(asked.manifest["prompts"]) == ["one"] and artifact.current(here, asked)
    (here.prompts / "two.md").write_text("another", "utf-8")
    assert artifact.current(here, asked)


def test_a_prompt_edited_while_its_stage_ran_makes_the_version_old(here, asked):
    from wb.models.prompt import parse

    text = "---\npurpose: p\nsource: s\ninputs: []\nreply: r\n---\n<!-- system -->\nDo it.\n"
    (here.prompts / "one.md").write_text(text, "utf-8")
    ledger = {"ledger.json": json.dumps({"prompts": {"one": {"digest": parse(text, "one").digest}}, "replies": []})}
    version = make(here, ledger, replace(INPUTS, cells=("d",)))
    assert artifact.current(here, version), "the prompt's own digest is the one that is compared"
    (here.prompts / "one.md").write_text(text + "And that.", "utf-8")
    assert not artifact.current(here, make(here, ledger, replace(INPUTS, cells=("e",))))


@pytest.mark.parametrize("change", ["prompts/one.md", f"artifacts/replies/one.{'d' * 32}.json"])
@pytest.mark.parametrize("lost", [True, False])
def test_a_changed_or_lost_prompt_or_reply_makes_it_old(here, asked, change, lost):
    path = here.root / change
    path.unlink() if lost else path.write_text("changed", "utf-8")
    assert not artifact.current(here, asked)


def test_a_summary_is_a_line_with_short_fractions():
    said = {"rules": 3, "accuracy": 0.123456, "model": "offline", "settled": True}
    assert artifact.summary({"summary": said}) == "rules 3, accuracy 0.123, model offline, settled True"
    assert artifact.summary({"summary": {}}) == ""


def test_mappings_and_arrays_become_plain_json():
    value = {"b": MappingProxyType({"y": 1, "x": 2}), "a": np.array([[1, 2]]), "c": np.float64(0.5), "é": None}
    assert artifact.dumps(value, "x.json") == (
        '{\n "b": {\n  "y": 1,\n  "x": 2\n },\n "a": [\n  [\n   1,\n   2\n  ]\n ],\n "c": 0.5,\n "é": null\n}\n'
    )


BARE = {
    "policy": {"name": "a", "digest": "1"},
    "parameters": {"k": 1},
    "cells": ["x", "y"],
    "modules": {"m": "1"},
    "prompts": {"p": "1"},
    "replies": {"r": "1"},
    "upstream": {"01": {"files": {"f": "1", "g": "1"}}},
    "mode": "batch",
    "recorded": {"packages": {"numpy": "1"}, "python": "3.12.1"},
    "outputs": {"o": {"sha256": "1"}},
}


@pytest.mark.parametrize(
    ("change", "lines"),
    [
        ({}, ()),
        ({"policy": {"name": "b", "digest": "1"}}, ("policy name: a -> b",)),
        ({"parameters": {"k": 2, "n": None}}, ("parameter k: 1 -> 2",)),
        ({"parameters": {"k": "x" * 60}}, (f"parameter k: 1 -> {'x' * 60}",)),
        ({"parameters": {"k": "x" * 61}}, (f"parameter k: 1 -> {'x' * 24}…",)),
        ({"parameters": {}}, ("parameter k: 1 -> None",)),
        ({"cells": ["y", "z", "w"]}, ("code cells: 2 new, 1 gone, 1 the same",)),
        ({"cells": ["y", "x"]}, ("code cells: 0 new, 0 gone, 2 the same",)),
        ({"modules": {"m": "2"}}, ("module m.py: changed",)),
        ({"modules": {"m": "1", "n": "1"}}, ("module n.py: added",)),
        ({"prompts": {}}, ("prompt p.md: removed",)),
        ({"replies": {"r": "2"}}, ("reply r: changed",)),
        ({"upstream": {"01": {"files": {"f": "2"}}}}, ("upstream 01: f, g",)),
        ({"upstream": {}}, ("upstream 01: f, g",)),
        ({"mode": "interactive"}, ("mode: batch -> interactive",)),
        ({"recorded": {"packages": {"numpy": "2"}, "python": "3.12.1"}}, ("package numpy: 1 -> 2",)),
        ({"recorded": {"packages": {"numpy": "1"}, "python": "3.12.2"}}, ("package python: 3.12.1 -> 3.12.2",)),
        ({"outputs": {"o": {"sha256": "2"}}}, ("output o: changed",)),
        ({"outputs": {}, "mode": "x"}, ("mode: batch -> x", "output o: removed")),
    ],
)
def test_what_differs_between_two_manifests_is_a_line_each(change, lines):
    assert artifact.differences(BARE, {**BARE, **change}) == lines


def test_a_stage_read_before_all_its_answers_came_is_followed_by_its_files(here):
    """The answer that was awaited changed no file, so that what was made from the files is as it would be."""

    def read(failed: int, answer: str, files: str) -> artifact.Version:
        ledger = {"prompts": {}, "replies": [answer] if answer else [], "failed": failed}
        return make(here, {"a.json": files, "ledger.json": json.dumps(ledger)})

    def follow(**digests: str) -> artifact.Version:
        inputs = replace(INPUTS, stage="02_b", upstream={"01_a": {"a.json": before.digests["a.json"]} | digests})
        return artifact.followed(here, tiny.version(here, inputs, {}, upstream={"01_a": before.key}))["01_a"]

    here.replies.mkdir(parents=True)
    (here.replies / "count.r.json").write_text("{}", "utf-8")
    before = read(1, "", "[1]\n")
    assert follow() == before, "nothing else is there"
    read(0, "r", "[2]\n")
    assert follow() == before, "the answer changed the file"
    shutil.rmtree(here.artifacts / "01_a")
    before = read(1, "", "[1]\n")
    after = read(0, "r", "[1]\n")
    assert before != after and not artifact.current(here, before) and follow() == after
    assert follow(**{"b.json": "x"}) == before, "of other files than were read"
