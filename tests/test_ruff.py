"""Lint and format are part of the test run: what `ruff` finds is a failure, with its own words."""

import subprocess
import sys

import pytest
from conftest import ROOT


@pytest.mark.parametrize("words", [("check", "--output-format=concise"), ("format", "--check")], ids=["lint", "format"])
def test_ruff_has_nothing_to_say(words):
    done = subprocess.run([sys.executable, "-m", "ruff", *words, "."], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr
