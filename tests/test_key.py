"""A key changes with what a result depends on, and with nothing else."""

from __future__ import annotations

import ast
import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wb.domain import policy
from wb.runs import key
from wb.runs.key import Inputs, SourceError

INPUTS = Inputs("01_a", "batch", {"k": 1}, "p", ("c1", "c2"), {"m": "1"}, {"00_z": {"a.json": "1"}})


@pytest.fixture
def package(tmp_path):
    for name, text in {
        "a": "from wb import b\n",
        "b": "def f():\n    from wb.c import g\n",
        "c": '"""c"""\n',
        "d": "import wb.a\nx = ask('one', T)\n",
        "e": "run([python, '-m', 'wb.worker'])\nprompt.load('two')\nllm.ask_all('three', T, [])\nload(name)\n",
        "worker": "",
    }.items():
        (tmp_path / f"{name}.py").write_text(text, "utf-8")
    return tmp_path


@pytest.mark.parametrize(
    "change",
    [
        {"stage": "01_b"},
        {"mode": "interactive"},
        {"parameters": {"k": 2}},
        {"parameters": {"k": True}},
        {"policy": "q"},
        {"cells": ("c2", "c1")},
        {"modules": {"m": "2"}},
        {"upstream": {"00_z": {"a.json": "2"}}},
        {"upstream": {}},
    ],
    ids=str,
)
def test_every_input_counts(change):
    assert replace(INPUTS, **change).static != INPUTS.static


@given(st.dictionaries(st.text(), st.integers() | st.lists(st.text())))
def test_the_order_of_names_does_not_count(parameters):
    backwards = dict(reversed(parameters.items()))
    assert replace(INPUTS, parameters=parameters).static == replace(INPUTS, parameters=backwards).static


def test_a_digest_is_that_of_the_canonical_text():
    assert key.digest({"b": [1, "ü"], "a": None}) == hashlib.sha256('{"a":null,"b":[1,"ü"]}'.encode()).hexdigest()


@pytest.mark.parametrize(
    ("cells", "names"),
    [
        (["from wb import a"], "a b c"),
        (["%matplotlib inline\nimport wb.c"], "c"),
        (["from wb.b import f"], "b c"),
        (["import os", "a = ("], ""),
        (["from wb import d as x, c"], "a b c d"),
        (["from wb import e"], "e worker"),
        (["from wb import absent"], ""),
    ],
)
def test_modules_are_followed_through_imports(package, cells, names):
    assert sorted(key.modules(cells, package)) == names.split()


def test_a_module_counts_by_its_text(package):
    before = key.modules(["from wb import a"], package)
    (package / "c.py").write_text('"""c, changed"""\n', "utf-8")
    after = key.modules(["from wb import a"], package)
    assert {name for name in before if before[name] != after[name]} == {"c"}


@pytest.mark.parametrize("name", ["c.lark", "c.yaml"])
def test_a_module_counts_by_the_data_that_is_named_as_it_is(package, name):
    before = key.modules(["from wb import a"], package)
    (package / "other.yaml").write_text("x: 1\n", "utf-8")
    assert key.modules(["from wb import a"], package) == before
    (package / name).write_text("x: 1\n", "utf-8")
    after = key.modules(["from wb import a"], package)
    assert {n for n in before if before[n] != after[n]} == {"c"} and key.digests(after, package) == after


def test_prompts_are_those_that_the_modules_name(package, tmp_path):
    for name in ("one", "two", "three", "four"):
        (tmp_path / f"{name}.md").write_text(name, "utf-8")
    assert sorted(key.prompts(["a", "d"], package, tmp_path)) == ["one"]
    assert sorted(key.prompts(["e"], package, tmp_path)) == ["three", "two"]


def test_cells_count_without_the_space_around_them():
    assert key.cell_digests(["x = 1\n", "", "  \n"]) == key.cell_digests(["x = 1"]) != key.cell_digests(["x = 2"])


@pytest.fixture
def policies(tmp_path):
    folder = tmp_path / "policies" / "rules"
    folder.mkdir(parents=True)
    (folder / "policy.md").write_text("You must.", "utf-8")
    return tmp_path / "policies"


def test_a_policy_counts_by_its_files_wherever_they_lie(policies, tmp_path):
    (policies / "rules").joinpath("tools.json").write_text("[]", "utf-8")
    by_name, by_path = key.policy("rules", policies), key.policy(str(policies / "rules"), tmp_path)
    (policies / "rules").rename(tmp_path / "rules")
    moved = key.policy(str(tmp_path / "rules"), policies)
    assert by_name.digest == by_path.digest == moved.digest and by_name.name == moved.name == "rules"


@pytest.mark.parametrize("name", ["policy.md", "tools.json", "more.txt"])
def test_a_changed_or_added_policy_file_counts(policies, name):
    before = key.policy("rules", policies).digest
    (policies / "rules" / name).write_text("changed", "utf-8")
    assert key.policy("rules", policies).digest != before


@pytest.mark.parametrize("name", ["decisions.jsonl", ".hidden"])
def test_logs_and_recordings_beside_a_policy_do_not_count(policies, name):
    before = key.policy("rules", policies).digest
    (policies / "rules" / name).write_text("{}", "utf-8")
    assert key.policy("rules", policies).digest == before


def test_a_link_to_a_document_has_the_tools_that_stand_beside_the_link(tmp_path):
    """As everything that reads the policy has it: a guard is made of the tools that its key is made of."""
    for name, tool in (("there", "lend"), ("here", "pay")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "tools.json").write_text(f'[{{"name": "{tool}"}}]', "utf-8")
    (tmp_path / "there" / "real.md").write_text("Pay once.", "utf-8")
    (tmp_path / "here" / "link.md").symlink_to(tmp_path / "there" / "real.md")
    found = key.policy(str(tmp_path / "here" / "link.md"), tmp_path / "none")
    assert found.name == "link" and policy.load(found.path).toolbox.tools[0].name == "pay"
    (tmp_path / "there" / "tools.json").write_text("[]", "utf-8")
    assert key.policy(str(tmp_path / "here" / "link.md"), tmp_path / "none") == found
    (tmp_path / "here" / "tools.json").write_text("[]", "utf-8")
    assert key.policy(str(tmp_path / "here" / "link.md"), tmp_path / "none").digest != found.digest
    (tmp_path / "folder").symlink_to(tmp_path / "here", target_is_directory=True)
    assert key.policy(str(tmp_path / "folder"), tmp_path / "none").name == "folder"


def test_a_document_counts_with_the_tools_beside_it_only(policies):
    path = policies / "rules" / "policy.md"
    before = key.policy(str(path), policies)
    (policies / "rules" / "more.txt").write_text("x", "utf-8")
    assert before.name == "policy" and key.policy(str(path), policies).digest == before.digest
    (policies / "rules" / "tools.json").write_text("[]", "utf-8")
    assert key.policy(str(path), policies).digest != before.digest


@pytest.mark.parametrize("value", ["absent", "", "rules/absent.md"])
def test_a_policy_that_is_not_there_is_an_error_that_names_those_that_are(policies, value):
    with pytest.raises(SourceError, match=rf"one of \['rules'\], a folder or a document; got '{value}'"):
        key.policy(value, policies)


def test_the_quick_reading_of_imports_finds_what_the_syntax_tree_has():
    for path in sorted((Path(__file__).parents[1] / "wb").rglob("*.py")):
        text = path.read_text("utf-8")
        assert key._imported(ast.parse(text)) <= key._used(text, ""), path.name


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("from wb import (\n    a,\n    b as c,\n)\n", "a b"),
        ("def f():\n    from wb.a import x, y\n", "a a.x a.y"),
        ("import os, wb.a, wb.b  # both\n", "a b"),
        ("from wb import a, \\\n    b\n", "a b"),
        ("x = [python, 'wb.a', \"b.py\"]\n", "a b"),
        ("# from wb import a\n", ""),
        ("import webbrowser\n", ""),
    ],
)
def test_imports_in_every_layout_are_found(text, names):
    assert sorted(key._used(text, "")) == names.split()
