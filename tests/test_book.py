"""The book is made by one command, without a network, within a minute; and it stays short."""

import importlib.util
import json
import os
import re
import resource
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import readme
import tiny

from wb.runs.key import Inputs

ROOT = readme.README.parent
BUILD = ROOT / "book" / "build.py"
KILOBYTE = 1000
NOWHERE = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9")
INPUTS = Inputs("02_count", "batch", {"policy": "rules", "model": "offline", "factor": 2}, "p", ("c",), {}, {})


def made(script: Path, out: Path) -> subprocess.CompletedProcess:
    environment = {**os.environ, **NOWHERE, "PYTHONPATH": str(ROOT), "WB_ARTIFACTS": str(out / "none")}
    line = [sys.executable, str(script), str(out)]
    return subprocess.run(line, env=environment, capture_output=True, text=True, timeout=300)


def test_the_book_is_made_of_all_pages_and_notebooks_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = made(BUILD, tmp_path)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 60  # seconds of processor time
    html = tmp_path / "html"
    assert done.stdout == f"{html / 'index.html'}\n"
    names = [page.stem for page in readme.PAGES[1:]] + [f"notebooks/{p.stem}" for p in ROOT.glob("notebooks/*.ipynb")]
    assert len(names) > 15 and all((html / f"{name}.html").is_file() for name in names)
    for page in html.rglob("*.html"):
        loaded = re.findall(r"<(?:script|link|img)[^>]+(?:src|href)=\"([^\"]+)", page.read_text("utf-8"))
        assert not [address for address in loaded if "//" in address.split("data:")[0]], page.name


def test_a_page_that_points_nowhere_is_an_error(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "book", tmp_path / "book")
    faults = {"limits": "[a page](nowhere.md)", "adapters": "[a part](files.md#nothing)", "models": "```{no}\n```"}
    for name, text in faults.items():
        with (tmp_path / "book" / f"{name}.md").open("a") as page:
            page.write(f"\n{text}\n")
    done = made(tmp_path / "book" / "build.py", tmp_path)
    assert done.returncode == 1 and "the book was not made" in done.stdout
    assert all(f"{name}.md:" in done.stderr for name in faults), done.stderr


def test_notebooks_are_those_of_the_policy_that_was_used_last(tmp_path: Path) -> None:
    """Newest first; a damaged one is left out, and so is what was made for another policy."""
    spec = importlib.util.spec_from_file_location("build_under_test", BUILD)
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    here = tiny.project(tmp_path / "p")
    assert build.executed(here) == {}
    kept = {}
    for name, stage, policy, factor in (
        ("old", "02_count", "p", 2),
        ("other", "01_read", "q", 2),
        ("join", "04_join", "p", 2),
        ("new", "02_count", "p", 3),
        ("torn", "02_count", "p", 4),
    ):
        inputs = replace(INPUTS, stage=stage, policy=policy, parameters={**INPUTS.parameters, "factor": factor})
        kept[name] = tiny.version(here, inputs, {"notebook.ipynb": json.dumps({"cells": [], "name": name})})
        kept[name].touch()
    (kept["torn"].folder / "notebook.ipynb").write_text("{", "utf-8")
    assert build.executed(here) == {
        "02_count": kept["new"].folder / "notebook.ipynb",
        "04_join": kept["join"].folder / "notebook.ipynb",
    }


def test_readme_and_book_stay_short() -> None:
    sizes = {page.name: page.stat().st_size for page in readme.PAGES}
    assert sizes["README.md"] <= 12 * KILOBYTE
    assert sum(sizes.values()) <= 58 * KILOBYTE, sizes
