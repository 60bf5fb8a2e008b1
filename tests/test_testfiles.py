"""Test files: what a researcher reads and runs, on the guard of a version and on two that are wrong."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys

import pytest
from conftest import ROOT
from library import BOX, RULES, SHORT, TOOLS
from test_scenes import ALL, ITEMS, LENT, REQUIRED, Telling, draft

from wb.guards import scenes, synthesis, testfiles, toolguard
from wb.guards.scenes import Scene
from wb.models.client import LLM
from wb.rules.sentences import Account
from wb.runs import artifact

READ = Account("a" * 12, SHORT, 0, len(SHORT), (), "rule", "", ("r1",), ("lend_book",))
LIMITS = {"compliance": [14, 13], "violation": [15, 16]}


def judged(told=ALL):
    found, _ = scenes.written(ITEMS, BOX, LLM(Telling(told), workers=1), rounds=1)
    return scenes.tried(found, REQUIRED, RULES, BOX, {})


def made(told=ALL):
    return testfiles.tests(REQUIRED, judged(told), (READ,), RULES, BOX)


def folder(place, tests, *, free: str = ""):
    """The files and candidates as a stage writes them; `free` is a tool whose code allows everything."""
    drafts = [draft(tool.name) for tool in BOX.tools]
    drafts = list(synthesis.checked(drafts, synthesis.TESTED))
    rows = json.loads(artifact.dumps(toolguard.to_rows(drafts, RULES, {}), "candidates"))
    if free:
        row = next(row for row in rows if row["tool"] == free)
        row["grade"] = "error"
    (place / "candidates.json").write_text(json.dumps(rows), "utf-8")
    for name, value in testfiles.files(tests, RULES, json.dumps(TOOLS), {}).items():
        path = place / "tests" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(value if isinstance(value, str) else artifact.dumps(value, name), "utf-8")
    return place / "tests"


def ran(place, guard: str) -> dict[str, str]:
    """The outcome of each test, by its name."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-rA",
            "-p",
            "no:cacheprovider",
            "--guard",
            guard,
            "-c",
            "/dev/null",
            ".",
        ],
        cwd=place,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )
    return {name: how for how, name in re.findall(r"^(PASSED|FAILED|ERROR) (\S+::\w+)", done.stdout, re.M)}


def test_tests_come_from_the_sentences_their_words_and_the_rules() -> None:
    found = made()
    lent = [one for one in found if one.tool == "lend_book"]
    assert [one.origin for one in lent[:6]] == ["model"] * 2 + ["words"] * 4
    assert {one.origin for one in lent[6:]} == {"rules"} and len(lent) > 8
    of_words = [one for one in lent if one.origin == "words"]
    shown = {k: [dict(o.example.arguments)["days"] for o in of_words if o.example.kind == k] for k in LIMITS}
    assert shown == LIMITS and {one.sentences for one in of_words} == {(SHORT,)}
    assert testfiles.telling(found, BOX) == found, "each is failed by one of the wrong guards"


def test_a_test_that_a_wrong_guard_passes_is_found_out() -> None:
    """A violation whose call does not fit is denied by every guard, and says nothing of one."""
    idle = Scene("lend_book", "", SHORT, "deny", scenes.Call("lend_book", {"days": "long"}))
    test = testfiles.Test("lend_book", (SHORT,), "model", idle)
    assert testfiles.telling((test,), BOX) == ()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return folder(tmp_path_factory.mktemp("version"), made())


def test_pytest_runs_them_on_the_versions_guard_and_each_fails_on_a_wrong_one(place) -> None:
    outcomes = {guard: ran(place, guard) for guard in ("version", "allow", "deny")}
    names = outcomes["version"].keys()
    assert len(names) == len(made()) > 15 and set(outcomes["version"].values()) == {"PASSED"}
    assert outcomes["allow"].keys() == outcomes["deny"].keys() == names
    for name in names:
        assert {outcomes["allow"][name], outcomes["deny"][name]} == {"PASSED", "FAILED"}, name
        if "violation" in name:
            assert outcomes["allow"][name] == "FAILED"
        if "compliance" in name:
            assert outcomes["deny"][name] == "FAILED"


def test_each_is_one_function_of_one_assertion_with_its_sentence_as_docstring(place) -> None:
    text = (place / "test_lend_book.py").read_text("utf-8")
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    assert len(functions) == sum(one.tool == "lend_book" for one in made())
    assert all(ast.get_docstring(one) for one in functions)
    assert f"{SHORT} (by a model)" in [ast.get_docstring(one) for one in functions]


def test_a_guard_that_was_not_accepted_passes_no_test(tmp_path) -> None:
    place = folder(tmp_path, made({}), free="lend_book")
    tested = testfiles.Tested.load(place)
    assert tested.answer("lend_book", {"days": 3}) == "no guard of lend_book was accepted"
    mine = [one for one in made() if one.tool == "lend_book"]
    assert testfiles.wrong(tested, mine) == tuple(mine)


def test_a_guard_that_fails_a_test_all_the_same_is_held_back() -> None:
    found = made({SHORT: [{**LENT, "expect": "deny"}]})
    drafts = synthesis.checked([draft("lend_book"), draft("pay_fine")], synthesis.TESTED)
    lend, pay = testfiles.held(drafts, found, RULES, BOX)
    assert lend.findings == (f"its code fails a test of “{SHORT}”",) and pay.findings == ()


HOSTILE = ('"""\nimport os', "'); raise SystemExit(0) #", "\\", "\u202e{", "a\nb", "{x!r}", "\0")


@pytest.mark.parametrize("said", HOSTILE, ids=ascii)
def test_a_sentence_or_value_stays_a_literal(said: str) -> None:
    scene = Scene("lend_book", said, said, "allow", scenes.Call("lend_book", {"note": said, said: [said]}))
    test = testfiles.Test("lend_book", (said,), "model", scene)
    text = testfiles.files([test], RULES, "[]", {})["test_lend_book.py"]
    (function,) = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    assert function.body[0].value.value == f"{said} (by a model)"
    given = ast.literal_eval(function.body[1].test.left.args[1])
    assert given["arguments"] == {"note": said, said: [said]}
    assert all(one.isprintable() for line in text.split("\n") for one in line)


def test_a_tools_name_names_a_file_of_this_folder_alone() -> None:
    scene = Scene("../../x", "", SHORT, "allow", scenes.Call("../../x", {}))
    names = testfiles.files([testfiles.Test("../../x", (SHORT,), "model", scene)], RULES, "[]", {})
    assert set(names) == {"conftest.py", "policy.json", "test_______x.py"}
