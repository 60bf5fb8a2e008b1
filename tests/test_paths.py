"""Where parts of the project lie, and how a file among them is named, sealed and written."""

from __future__ import annotations

import hashlib
import hmac
import os
import stat
from pathlib import Path

import pytest

from wb import paths
from wb.paths import Project


def test_the_parts_of_a_project_lie_in_it(monkeypatch, tmp_path) -> None:
    here = Project(Path("/x"), Path("/y"))
    assert (here.notebooks, here.package, here.prompts) == (Path("/x/notebooks"), Path("/x/wb"), Path("/x/prompts"))
    assert (here.policies, here.replies) == (Path("/x/policies"), Path("/y/replies"))
    monkeypatch.delenv("WB_ARTIFACTS", raising=False)
    found = paths.project()
    assert found.artifacts == found.root / "artifacts" and (found.package / "paths.py").samefile(paths.__file__)
    monkeypatch.setenv("WB_ARTIFACTS", str(tmp_path / "a" / ".." / "b"))
    assert paths.project() == Project(found.root, (tmp_path / "b").resolve())


def test_a_policy_is_a_name_first_and_a_path_then(monkeypatch, tmp_path) -> None:
    policies, local = tmp_path / "policies", tmp_path / "here"
    (policies / "house" / "inner").mkdir(parents=True)
    (local / "house").mkdir(parents=True)
    (local / "rules.md").write_text("x")
    monkeypatch.chdir(local)
    assert paths.policy("house", policies) == policies / "house"
    assert paths.policy("./house", policies).resolve() == (local / "house").resolve()
    assert paths.policy(local / "house", policies) == local / "house"
    assert paths.policy("rules.md", policies) == Path("rules.md")
    assert paths.policy("house/inner", policies) == policies / "house/inner"
    for absent in ("", "no", "no/inner"):
        with pytest.raises(FileNotFoundError, match=rf"one of \['house'\].*got {absent!r}"):
            paths.policy(absent, policies)


def test_a_digest_is_of_the_canonical_form() -> None:
    assert paths.digest({"b": 1, "a": "é"}) == hashlib.sha256('{"a":"é","b":1}'.encode()).hexdigest()
    assert paths.digest({"a": 1, "b": 2}) == paths.digest({"b": 2, "a": 1}) != paths.digest({"a": 2, "b": 1})


def test_a_seal_needs_the_key_and_says_who_wrote(monkeypatch, tmp_path) -> None:
    place = tmp_path / "new" / "folder" / "key"
    monkeypatch.setenv("WB_KEY", str(place))
    seal = paths.seal({"b": 1, "a": "é"})
    key = place.read_text("ascii").strip()
    assert len(key) == 64 and stat.S_IMODE(place.stat().st_mode) == 0o600 and os.listdir(place.parent) == ["key"]
    assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700
    assert seal == hmac.digest(bytes.fromhex(key), '{"a":"é","b":1}'.encode(), "sha256").hex()
    assert paths.seal({"a": "é", "b": 1}) == seal != paths.seal({"a": "e", "b": 1})
    monkeypatch.setenv("WB_KEY", str(tmp_path / "other"))
    assert paths.seal({"b": 1, "a": "é"}) != seal, "another key"
    for number, wrong in enumerate(("ab" * 31, "xy" * 32, "ab" * 33)):
        bad = tmp_path / f"bad{number}"
        bad.write_text(wrong)
        monkeypatch.setenv("WB_KEY", str(bad))
        with pytest.raises(ValueError, match="must hold a key of 64 hex digits; delete it"):
            paths.seal(1)
    monkeypatch.setenv("WB_KEY", str(tmp_path))
    with pytest.raises(ValueError, match="a file for the key .* was required: .*WB_KEY names another one"):
        paths.seal(1)


def test_the_key_lies_outside_the_project(monkeypatch, tmp_path) -> None:
    monkeypatch.delenv("WB_KEY", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert paths.key_place() == (tmp_path / "wb/seal.key").resolve()
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert paths.key_place() == (tmp_path / ".local/state/wb/seal.key").resolve()
    monkeypatch.setenv("WB_ARTIFACTS", str(tmp_path / "kept"))
    for inside in (paths.ROOT / "key", tmp_path / "kept" / "deep" / "key"):
        monkeypatch.setenv("WB_KEY", str(inside))
        with pytest.raises(ValueError, match="outside the project and its artifacts; got"):
            paths.key_place()


def test_a_file_is_there_whole_or_not_at_all(tmp_path, monkeypatch) -> None:
    path = tmp_path / "x.txt"
    paths.write_whole(path, "é")
    assert path.read_bytes() == "é".encode() and stat.S_IMODE(path.stat().st_mode) == 0o644
    paths.write_whole(path, b"\x00\xff")
    assert path.read_bytes() == b"\x00\xff" and os.listdir(tmp_path) == ["x.txt"]

    def broken(*_: object) -> None:
        raise OSError("no room")

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(OSError, match="no room"):
        paths.write_whole(path, "other")
    assert path.read_bytes() == b"\x00\xff" and os.listdir(tmp_path) == ["x.txt"]


def test_a_scratch_folder_goes_with_its_block_and_takes_dead_ones_with_it(tmp_path) -> None:
    dead, foreign = tmp_path / "wb-dead", tmp_path / "wb-foreign"
    dead.mkdir(), foreign.mkdir()
    (dead / ".lock").write_text("")
    (dead / "left").write_text("x")
    with paths.scratch(str(tmp_path)) as one:
        assert not dead.exists() and foreign.exists() and one.parent == tmp_path and one.name.startswith("wb-")
        with paths.scratch(str(tmp_path)) as other:
            assert one.exists() and other.exists() and one != other, "one that lives is left"
        assert one.exists() and not other.exists()
    assert os.listdir(tmp_path) == ["wb-foreign"]


def test_decisions_stand_in_the_folder_or_beside_the_document(tmp_path) -> None:
    assert paths.beside(tmp_path, "decisions.yaml") == tmp_path / "decisions.yaml"
    assert paths.beside(tmp_path / "house.md", "decisions.yaml") == tmp_path / "house.decisions.yaml"
