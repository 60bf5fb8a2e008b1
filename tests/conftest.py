"""What every test shares: no network, few threads, and a skip that cannot hide in CI."""

import json
import os
import subprocess
import sys
import tempfile
from itertools import batched
from pathlib import Path

import pytest
from filelock import FileLock
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
ABSENT = "../shared is absent"
# Runs a command and says how large its largest process was; in a process of its own, since that is a maximum over
# all children.
MEASURED = (
    "import resource, subprocess, sys; code = subprocess.call(sys.argv[1:], stdin=subprocess.DEVNULL); "
    "print('largest', resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(code)"
)

# Set before any heavy library is imported, and inherited by the processes that tests start.
os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")
os.environ.update(JUPYTER_PREFER_ENV_PATH="1", PYDEVD_DISABLE_FILE_VALIDATION="1")
for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):  # no test may reach somebody's paid endpoint
    os.environ.pop(variable, None)

if "PYTEST_XDIST_WORKER" not in os.environ:  # what tests seal, they seal with a key of their own, one for all workers
    KEYS = tempfile.TemporaryDirectory(prefix="wb-keys-")
    os.environ["WB_KEY"] = str(Path(KEYS.name) / "seal.key")

settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")


def shared(*parts: str) -> Path:
    """The path `../shared/<parts>`; skips the test where that folder was not laid beside the project.

    Only the absence of the whole folder skips: a missing file inside it is a failure of the test.
    """
    if not SHARED.is_dir():
        pytest.skip(ABSENT, allow_module_level=True)
    return SHARED.joinpath(*parts)


def table(name: str, lines: int = 1) -> list[tuple[str, ...]]:
    """The rows of a text file in `tests/tables`, of so many lines each."""
    return list(batched((ROOT / "tests" / "tables" / name).read_text("utf-8").splitlines(), lines))


def wb(artifacts: Path, *words: str) -> subprocess.CompletedProcess:
    """A `wb` command on artifacts of its own, from a folder that is not the project's."""
    command = [sys.executable, "-c", MEASURED, sys.executable, "-m", "wb.cli", *words]
    environment = {**os.environ, "WB_ARTIFACTS": str(artifacts), "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=artifacts, capture_output=True, text=True, env=environment)


@pytest.fixture(scope="session")
def handbook(tmp_path_factory):
    """All seven stages on the handbook, from nothing: the artifacts, and how the command ended. The workers of a test
    run share it: whoever comes first makes it."""
    base = tmp_path_factory.getbasetemp()
    artifacts = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "handbook-run"
    artifacts.mkdir(exist_ok=True)
    said = artifacts / ".done.json"
    with FileLock(artifacts / ".made"):
        if not said.exists():
            done = wb(artifacts, "run")
            assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
            said.write_text(json.dumps([done.args, done.returncode, done.stdout, done.stderr]), "utf-8")
    return artifacts, subprocess.CompletedProcess(*json.loads(said.read_text("utf-8")))


@pytest.fixture(scope="session")
def vectors(tmp_path_factory) -> Path:
    """Where all tests keep embeddings, with the run of the handbook: a text is computed once, whoever comes first."""
    base = tmp_path_factory.getbasetemp()
    return (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "handbook-run" / "cache" / "embeddings"


# Files whose tests take minutes, longest first: a worker that starts them late is waited for.
LONG = (
    "test_browser test_airline_run test_planted test_nagini test_build test_faults test_run_with_model "
    "test_policy_web_tasks test_office test_generated_code test_hostile_calls test_sweep test_run"
).split()


def pytest_collection_modifyitems(items):
    """Long files first."""
    items.sort(key=lambda item: LONG.index(item.path.stem) if item.path.stem in LONG else len(LONG))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """In CI a skipped test is a failed one, unless it skipped for want of `../shared`."""
    return failed_if_skipped_in_ci((yield), item.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """The same for a module that skips itself as a whole."""
    return failed_if_skipped_in_ci((yield), collector.nodeid)


def failed_if_skipped_in_ci(report, name: str):
    """The report, turned into a failure where a skip would hide something (an expected failure is no skip)."""
    expected = hasattr(report, "wasxfail") or ABSENT in str(report.longrepr)
    if os.environ.get("CI") and report.skipped and not expected:
        report.outcome = "failed"
        report.longrepr = f"{name} was skipped, and CI allows no skip: {report.longrepr}"
    return report
