"""What sets one version apart from another is said cause by cause."""

from __future__ import annotations

from dataclasses import replace

import pytest
import tiny

from wb.paths import Project
from wb.runs import artifact
from wb.runs.artifact import ArtifactError
from wb.runs.key import Inputs

INPUTS = Inputs(
    "02_b",
    "batch",
    {"k": 1, "model": "offline"},
    "p",
    ("c1", "c2"),
    {"domain.tools": "1"},
    {"01_a": {"a.json": "1", "b.json": "1"}},
)


def lines(tmp_path, change, files=None, **recorded):
    here = Project(tiny.ROOT, tmp_path / "artifacts")
    old = tiny.version(here, INPUTS, {"a.json": "1"}, upstream={"01_a": "x"})
    new = tiny.version(here, replace(INPUTS, **change), files or {"a.json": "1"}, upstream={"01_a": "x"}, **recorded)
    return artifact.differences(old.manifest, new.manifest)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"parameters": {"k": 2, "model": "offline"}}, "parameter k: 1 -> 2"),
        ({"parameters": {"k": 1, "model": "m"}}, "parameter model: offline -> m"),
        ({"policy": "q"}, "policy digest: p -> q"),
        ({"cells": ("c1", "c3", "c4")}, "code cells: 2 new, 1 gone, 1 the same"),
        ({"modules": {"domain.tools": "2"}}, "module domain.tools.py: changed"),
        ({"upstream": {"01_a": {"a.json": "2", "b.json": "1"}}}, "upstream 01_a: a.json"),
        ({"mode": "interactive"}, "mode: batch -> interactive"),
    ],
)
def test_one_cause_is_one_line(tmp_path, change, line):
    assert lines(tmp_path, change) == (line,)


def test_added_and_removed_modules_are_told_apart(tmp_path):
    assert lines(tmp_path, {"modules": {"domain.trace": "1"}}) == (
        "module domain.tools.py: removed",
        "module domain.trace.py: added",
    )


def test_packages_and_outputs_are_told_too(tmp_path):
    told = lines(tmp_path, {"cells": ("c2", "c1")}, {"a.json": "2", "b.json": "1"}, packages={"numpy": "3"})
    assert told == (
        "code cells: 0 new, 0 gone, 2 the same",
        "package numpy: None -> 3",
        "output a.json: changed",
        "output b.json: added",
    )


def test_nothing_is_said_of_a_version_and_itself(tmp_path):
    assert lines(tmp_path, {}) == ()


def test_a_version_in_a_line_says_what_it_was_made_of(tmp_path):
    here = Project(tiny.ROOT, tmp_path / "artifacts")
    one = tiny.version(here, INPUTS, {"a.json": "1"}, upstream={"01_a": "x"})
    row = artifact.described(one)
    assert (row["key"], row["policy"], row["model"], row["mode"]) == (one.key, "rules", "offline", "batch")
    bare = artifact.described(
        tiny.version(here, replace(INPUTS, parameters={}), {"a.json": "1"}, upstream={"01_a": "x"})
    )
    assert bare["model"] == "" and bare["key"] != one.key


def test_two_versions_are_named_by_the_start_of_their_keys(tmp_path):
    here = Project(tiny.ROOT, tmp_path / "artifacts")
    for k in (1, 2, 3):
        tiny.version(here, replace(INPUTS, parameters={"k": k}), {"a.json": "1"}, upstream={"01_a": "x"})
    third, second, first = artifact.versions(here, "02_b")
    assert artifact.pair((third, second, first)) == (second, third)
    assert artifact.pair((third, second, first), [third.key[:8], first.key]) == (third, first)
    assert artifact.pair((third,)) == ()
    for wrong in ([first.key], [first.key, "zz"], ["", first.key]):
        with pytest.raises(ArtifactError, match="two keys of .* were required"):
            artifact.pair((third, second, first), wrong)


def test_results_stand_beside_the_manifest_and_methods_at_the_top(tmp_path):
    here = Project(tiny.ROOT, tmp_path / "artifacts")
    told = artifact.with_results(
        tiny.version(here, INPUTS, {"results.json": '{"methods": [{"method": "m"}]}'}, upstream={"01_a": "x"})
    )
    assert told["methods"] == [{"method": "m"}] and told["results"] == {"methods": [{"method": "m"}]}
    assert told["manifest"]["static"] == INPUTS.static and told["stage"] == "02_b"
    without = artifact.with_results(
        tiny.version(here, replace(INPUTS, cells=()), {"a.json": "1"}, upstream={"01_a": "x"})
    )
    assert without["results"] is None and "methods" not in without
