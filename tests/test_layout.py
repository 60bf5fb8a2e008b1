"""The structure itself: folders in one order, no circle, no domain word, no address, one top level."""

import ast
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ORDER = "paths logic models domain rules guards shield adapters offline bench runs build cli".split()
TOP_LEVEL = {
    "notebooks",
    "wb",
    "prompts",
    "policies",
    "artifacts",
    "book",
    "log",
    "tests",
    "environment.yml",
    "README.md",
    "go.py",
    "pyproject.toml",
    "requirements.lock",
    ".python-version",
    "LICENSE",
    "LOG.md",
    ".ci",
    ".gitignore",
}
MODULES = {
    ".".join(p.relative_to(ROOT / "wb").with_suffix("").parts): p for p in sorted((ROOT / "wb").rglob("[!_]*.py"))
}
DOMAIN = re.compile(
    r"vaccin|\bmember|licen|hotel|flight|movie|passenger|\bticket|\bshop|airline|luggage|baggage|"
    r"\bcar\b|\bcars\b|\bfilm|\bmusic|\bjob\b|reservation|\bcabin\b",
    re.IGNORECASE,
)


def imports(name: str) -> set[str]:
    """The modules of `wb` that a module imports, anywhere in it."""
    froms = [node for node in ast.walk(ast.parse(MODULES[name].read_text("utf-8"))) if isinstance(node, ast.ImportFrom)]
    named = {f"{node.module}.{alias.name}" for node in froms for alias in node.names} | {
        str(node.module) for node in froms
    }
    return {found for found in MODULES if f"wb.{found}" in named}


def test_folders_stand_in_one_order_and_modules_form_no_circle() -> None:
    edges = {name: imports(name) for name in MODULES}
    tuple(TopologicalSorter(edges).static_order())
    for name, used in edges.items():
        own, others = name.split(".")[0], {found.split(".")[0] for found in used}
        assert all(ORDER.index(other) <= ORDER.index(own) for other in others), f"{name} imports {sorted(used)}"
        assert {own, *others} & {"guards", "shield"} != {"guards", "shield"} or own not in ("guards", "shield")
        assert "offline" not in others or own in ("offline", "build", "cli"), f"{name} could not do without offline"


@pytest.mark.parametrize("path", MODULES.values(), ids=MODULES.keys())
def test_a_module_says_what_it_is_for_and_annotates_what_is_public(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    assert ast.get_docstring(tree), "a module says what it is for"
    public = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]
    assert not [node.name for node in public if node.returns is None]


def tracked() -> list[str]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    return [line for line in listed.stdout.splitlines() if (ROOT / line).exists()]


def test_the_top_level_holds_only_what_the_readme_names() -> None:
    assert {line.split("/")[0] for line in tracked()} <= TOP_LEVEL


@pytest.mark.parametrize("folder", ["wb", "prompts"])
def test_no_word_of_a_policy_domain_is_built_in(folder: str) -> None:
    found = [
        f"{path.name}:{number}: {line.strip()}"
        for path in sorted((ROOT / folder).rglob("*.*"))
        if path.suffix in (".py", ".md") and not path.name.startswith("tau")  # a benchmark is named by its domain
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if DOMAIN.search(line)
    ]
    assert not found, "vocabulary comes from the policy's own folder:\n" + "\n".join(found)


def test_nothing_names_a_machine_or_a_registry() -> None:
    forbidden = re.compile(
        r"/work/|/root/|/tmp/wb|files\.pythonhosted|download\.pytorch|pypi\.org|registry\.npmjs|deb\.debian"
    )
    found = [
        f"{name}: {match.group()}"
        for name in tracked()
        if name != "tests/test_layout.py"
        and (ROOT / name).suffix in {".py", ".md", ".toml", ".yml", ".lock", ".ipynb", ".json", ".txt", ""}
        for match in forbidden.finditer((ROOT / name).read_text("utf-8", errors="replace"))
    ]
    assert not found


def test_importing_wb_does_nothing() -> None:
    code = (
        "import sys; before = set(sys.modules); import wb; "
        "print(sorted(n for n in set(sys.modules) - before if not n.startswith('wb')))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
