"""The tests can fail: each one-line defect, planted in a copy of the project, turns its named test red."""

import ast
import os
import re
from typing import NamedTuple

import mutants
import pytest
from conftest import ROOT, table

BROKEN = re.compile(r"^E +(?:NameError|SyntaxError|ImportError|ModuleNotFoundError|UnboundLocalError)\b", re.MULTILINE)


class Defect(NamedTuple):
    """One line of `wb` gone wrong: `right` stands once in `file`, `wrong` takes its place, `test` must turn red."""

    name: str
    file: str
    right: str
    wrong: str
    test: str


def defects() -> list[Defect]:
    """Those of `tables/planted.tsv`, one a row, a line break in code as \\n; a row that begins with # is a title."""
    rows = [row for (row,) in table("planted.tsv") if not row.startswith("# ")]
    return [Defect(*(cell.replace("\\n", "\n") for cell in row.split("\t"))) for row in rows]


DEFECTS = defects()


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy that nothing was planted in."""
    with mutants.copied(tmp_path_factory.mktemp("planted") / "project") as made:
        yield made


def test_every_named_test_is_there(copy):
    """And green: the suite that this is a test of runs them all."""
    code, output = copy.run(*sorted({defect.test for defect in DEFECTS}), options=("--collect-only",))
    assert code == 0, output[-3000:]


def planted(folder, defect):
    """The text of the defect's file with it."""
    text = (folder / f"{defect.file}.py").read_text("utf-8")
    assert text.count(defect.right) == 1, (
        f"{defect.right!r} must stand once in {defect.file}.py: name the line that took its place"
    )
    return text.replace(defect.right, defect.wrong)


def test_every_line_that_a_defect_changes_is_there():
    for defect in DEFECTS:
        ast.parse(planted(ROOT, defect))


# each takes seconds: every third one is planted, and all of them with WB_PLANT=all
PLANTED = DEFECTS if os.environ.get("WB_PLANT") == "all" else DEFECTS[::3]


@pytest.mark.parametrize("defect", PLANTED, ids=lambda defect: defect.name.replace(" ", "_"))
def test_a_planted_defect_turns_its_test_red(copy, defect):
    with copy.planted(f"{defect.file}.py", planted(copy.folder, defect)):
        code, output = copy.run(defect.test)
    assert code == 1 and f"FAILED tests/{defect.test}" in output, (
        f"{defect.test} did not notice that {defect.name}:\n{output[-2000:]}"
    )
    assert not BROKEN.search(output), f"the defect must be wrong, not broken code:\n{output[-2000:]}"


QUICK = ("domain/trace", "guards/evidence", "logic/semantics")


@pytest.mark.parametrize("mutant", mutants.drawn(QUICK, seed=1, count=2), ids=lambda m: f"{m.module}:{m.line}")
def test_a_drawn_mutant_is_killed(copy, mutant):
    assert mutants.fate(copy, mutant, mutants.tests_of(mutant.module)) == "killed", mutant.change


def test_what_no_test_notices_is_said_to_survive_and_what_never_ends_to_overrun(copy, monkeypatch):
    def written(new: str) -> mutants.Mutant:
        return mutants.Mutant("domain/trace", 1, "", len(text.encode()), len(text.encode()), new)

    text = (copy.folder / "wb/domain/trace.py").read_text("utf-8")
    tests = ["test_values.py::test_only_allow_runs_the_action"]
    assert mutants.fate(copy, written("\nUNREAD = 1\n"), tests) == "survived"
    assert mutants.fate(copy, written("\nraise ValueError\n"), []) == "survived", "nobody looks"
    with pytest.raises(ValueError, match="can be run were required"):
        mutants.fate(copy, written(""), ["test_that_is_not_there.py"])
    (copy.folder / "tests" / "test_red.py").write_text("def test_red():\n    assert False\n", "utf-8")
    assert mutants.fate(copy, written("\nUNREAD = 1\n"), ["test_red.py"]) == "unsure", "it is red without it too"
    monkeypatch.setattr(mutants, "LIMIT_S", 4)
    assert mutants.fate(copy, written("\nwhile True: pass\n"), tests) == "overran"
    assert (copy.folder / "wb/domain/trace.py").read_text("utf-8") == text


def test_mutants_are_one_place_of_what_is_done_each():
    text = '''"""Said."""
def f(a: int = 3, *, b: "word" = None) -> bool:
    """Said too."""
    if a <= 2 and not b:
        raise ValueError("this is", 7)
    return a == len(f"{a}{1}") or [x for x in b if x > 0]
'''
    made = [mutant for place in mutants.mutants("m", text) for mutant in place]
    found = {mutant.change for mutant in made}
    assert len({mutant.put(text) for mutant in made}) == len(made), "each is another text"
    assert found == {
        "3 -> 4",
        "3 -> 2",
        "a <= 2 and not b -> True",
        "a <= 2 and not b -> False",
        "a <= 2 and not b -> (a <= 2 or not b)",
        "a <= 2 -> (a > 2)",
        "a <= 2 -> (a < 2)",
        "2 -> 3",
        "2 -> 1",
        "not b -> b",
        'raise ValueError("this is", 7) -> pass',
        "a == len(f\"{a}{1}\") or [x for x in b if x > 0] -> (not (a == len(f'{a}{1}') or [x for x in b if x > 0]))",
        "a == len(f\"{a}{1}\") or [x for x in b if x > 0] -> (a == len(f'{a}{1}') and [x for x in b if x > 0])",
        "a == len(f\"{a}{1}\") -> (a != len(f'{a}{1}'))",
        "x > 0 -> True",
        "x > 0 -> (x <= 0)",
        "x > 0 -> (x >= 0)",
        "0 -> 1",
        "0 -> -1",
    }
    assert mutants.drawn(QUICK, 5, 20) == mutants.drawn(QUICK, 5, 20) != mutants.drawn(QUICK, 6, 20)


def test_every_module_has_tests_that_its_mutants_are_put_to():
    assert {*mutants.FAIL_CLOSED, *mutants.FIRST} <= set(mutants.everything())
    for module in mutants.everything():
        tests = mutants.tests_of(module)
        assert tests and all((ROOT / "tests" / name).exists() for name in tests), module
