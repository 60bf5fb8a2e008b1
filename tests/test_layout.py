"""The structure itself: one import order, small modules, no domain word, no address, one top level."""
import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# One total order: a module imports only modules before it. The floors are for reading.
ORDER = """
notebook key artifact store prompt ledger replies endpoint llm embeddings
tool trace sentences extraction document policy
formula syntax steps backward automaton ltlf bits bounded decide pairs storm uncertain
predicate rule physical rulefile lint check
phrases quantities conditions restriction reference modality verbs adjuncts exclusive norm templates deontic
vocabulary fields grounding rulebook extract recognise action
vagueness gate refine proposals cluster circuit forms weights pseudo
nagini_worker nagini bearing sandbox contract vacuity examples mutant
guard guarding synthesis guardcode toolguard veriguard shield baseline shortcut
drafting offline
mind2web labels evaluate comparison plots history report kernel pipeline display cli
""".split()

TOP_LEVEL = {
    "notebooks", "wb", "prompts", "policies", "artifacts", "tests", "environment.yml", "README.md", "go.py", "pyproject.toml",
    "requirements.lock", ".python-version", "LICENSE", "LOG.md", ".ci", ".gitignore",
}
MODULES = sorted(p for p in (ROOT / "wb").glob("*.py") if p.stem != "__init__")
DOMAIN = re.compile(
    r"vaccin|\bmember|licen|hotel|flight|movie|passenger|\bticket|\bshop|airline|luggage|baggage|"
    r"\bcar\b|\bcars\b|\bfilm|\bmusic|\bjob\b|reservation|\bcabin\b", re.IGNORECASE)


def tracked() -> list[str]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    return [line for line in listed.stdout.splitlines() if (ROOT / line).exists()]


def imports_of(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "wb":
            parts = (node.module or "").split(".")
            found.update(parts[1:2] or [alias.name for alias in node.names])
        if isinstance(node, ast.Import):
            found.update(alias.name.split(".")[1] for alias in node.names if alias.name.startswith("wb."))
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.stem)
def test_a_module_imports_only_modules_above_it(path: Path) -> None:
    assert path.stem in ORDER, f"give {path.stem} its place in ORDER"
    late = sorted(name for name in imports_of(path) if ORDER.index(name) >= ORDER.index(path.stem))
    assert not late, f"{path.stem} imports {late}, which stand below it"


def test_every_name_in_the_order_is_a_module() -> None:
    assert sorted(ORDER) == [p.stem for p in MODULES]


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.stem)
def test_a_module_is_small_flat_and_explains_itself(path: Path) -> None:
    text = path.read_text("utf-8")
    assert text.count("\n") <= 350, "two nouns share this module: split it by noun"
    assert ast.get_docstring(ast.parse(text)), "a module says what it is for"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.stem)
def test_public_functions_are_annotated_and_documented(path: Path) -> None:
    missing = [
        node.name
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and node.returns is None
    ]
    assert not missing


def test_the_package_is_flat() -> None:
    assert not [p.name for p in (ROOT / "wb").iterdir() if p.is_dir() and p.name != "__pycache__"]


def test_the_top_level_holds_only_what_the_readme_names() -> None:
    assert {line.split("/")[0] for line in tracked()} <= TOP_LEVEL


@pytest.mark.parametrize("folder", ["wb", "prompts"])
def test_no_word_of_a_policy_domain_is_built_in(folder: str) -> None:
    found = [
        f"{path.name}:{number}: {line.strip()}"
        for path in sorted((ROOT / folder).glob("*.*"))
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if DOMAIN.search(line)
    ]
    assert not found, "vocabulary comes from the policy's own folder:\n" + "\n".join(found)


def test_nothing_names_a_machine_or_a_registry() -> None:
    forbidden = re.compile(r"/work/|/root/|/tmp/wb|files\.pythonhosted|download\.pytorch|pypi\.org|registry\.npmjs|deb\.debian")
    found = [
        f"{name}: {match.group()}"
        for name in tracked()
        if name != "tests/test_layout.py" and (ROOT / name).suffix in {".py", ".md", ".toml", ".yml", ".lock", ".ipynb", ".json", ".txt", ""}
        for match in forbidden.finditer((ROOT / name).read_text("utf-8", errors="replace"))
    ]
    assert not found


def test_importing_wb_does_nothing() -> None:
    code = ("import sys; before = set(sys.modules); import wb; "
            "print(sorted(n for n in set(sys.modules) - before if not n.startswith('wb')))")
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
