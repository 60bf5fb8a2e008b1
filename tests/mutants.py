"""Whether the tests would notice: seeded one-place faults of `wb`, each planted in a copy and put to quick tests.

    python tests/mutants.py [--modules fail-closed|all|NAME,NAME...] [--seed N] [--count 100]

Neither known tool draws a seeded sample: mutmut first runs the whole suite to learn which tests reach what, cosmic-ray
has one test command for all modules.  A fault is one node of the syntax: a comparison turned, a number, truth
or word changed, `and` for `or`, a `not` dropped, a result inverted or None, a statement dropped, an `if` made True or
False.  Texts that are shown, annotations and imports are left alone.  A mutant on which a test does not end is killed;
one is not by a test that is red where nothing is planted.
"""

import argparse
import ast
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import ROOT, SHARED

from wb.bench.evaluate import wilson

COPIED = ("wb", "tests", "prompts", "policies", "notebooks", "book", "log", "pyproject.toml", "README.md", "LOG.md")
LIMIT_S = 100  # of processor time for one test; three times that by the clock
MEMORY = 6 << 30  # bytes that they may take
PROFILE = ("-x", "--hypothesis-profile=mutant")
RED = re.compile(r"^(?:FAILED|ERROR) (tests/\w+\.py(?:::\w+)*)", re.M)  # without the values it was tried with
# The modules that stand between a sentence and a verdict, each with the tests that reach it, the quickest first.
FAIL_CLOSED = {
    "adapters/enforcement": "enforcement adapters",
    "adapters/functions": "enforcement adapters",
    "adapters/openai": "enforcement adapters",
    "adapters/langgraph": "langgraph",
    "adapters/mcp": "mcp_proxy",
    "adapters/inspect_ai": "inspect",
    "guards/runtime": "guard_answers bearing values session guarding same_object awaited",
    "guards/evidence": "drafts evidence",
    "guards/sandbox": "sandbox generated_code guarding examples decided",
    "guards/contract": "contract examples decided same_object loops",
    "guards/loops": "loops",
    "guards/veriguard": "drafts veriguard evidence drafting",
    "guards/nagini": "prover_files prover evidence",
    "guards/examples": "drafts examples decided",
    "guards/synthesis": "drafts drafting generated_code decided veriguard",
    "domain/session": "session_told values session recorded awaited untimed lookups",
    "domain/judging": "judging session untimed values hostile_calls",
    "domain/lookups": "lookups_told lookups_recorded lookups_declared lookups lookups_histories session airline_rules "
    "awaited",
    "domain/validation": "schema validation session recorded",
    "domain/schema": "schema validation hostile_calls",
    "domain/trace": "judging values bearing session recorded",
    "shield/shield": "shield_answers shield session same_object hostile_calls",
    "rules/agreement": "readings_agree readers bad_replies",
    "rules/binding": "readers decisions bad_replies",
    "rules/extract": "quantities readers bad_replies",
    "rules/readers": "readers bad_replies",
    "rules/sentences": "entries decisions readers items",
    "rules/vocabulary": "readers bad_replies",
    "logic/worlds": "worlds readers facts physical",
    "logic/semantics": "memory past windows objects steps automaton monitored",
    "logic/objects": "memory objects windows same_object",
    "logic/facts": "facts_trees evaluation facts rulefile",
}
# Modules that no test file names or imports, or of which another one asks more at once: what is tried first.
FIRST = {
    "build": "build",
    "cli": "cli toolfile check build",
    "domain/extraction": "extraction document account",
    "domain/functions_worker": "sources",
    "domain/inline": "inline toolfile",
    "domain/jsonl": "jsonl tau events",
    "domain/sources": "sources toolfile inline sdk",
    "domain/toolfile": "toolfile sources",
    "domain/tools": "tool lookups_declared validation physical",
    "guards/branches": "planted_guards scenes",
    "guards/faults": "contract examples",
    "domain/visible": "visible document",
    "domain/yamltext": "yamltext rulefile decisions toolfile",
    "guards/nagini_worker": "prover",
    "guards/trial": "generated_code drafting",
    "logic/bdd": "steps decide",
    "logic/cel": "facts said evaluation cel_tree",
    "logic/formula": "syntax past decide",
    "logic/types": "types facts",
    "logic/decide": "decide windows check",
    "logic/values": "evaluation times types facts random_facts conformance",
    "rules/rule": "rulefile gate show",
    "rules/truths": "values same_object guarding shield",
    "runs/cards": "cards show report",
    "runs/guard_cards": "guard_cards show report",
    "runs/progress": "display kernel show",
    "runs/pipeline": "lab display store pipeline",
    "runs/figure": "figure plots report",
    "runs/report": "report closing outcome cli",
    "runs/verdicts": "verdicts recount difference undeclared build",
}
# What reads sentences is tried on sentences, whichever of its modules they go through.
READS = "reader reader_laws read_airline".split()
# Test files that take a minute, or look at other things than what the code does.
SLOW = set(
    "browser run faults pipeline monitored nagini planted build policy_web_tasks run_with_model ruff layout "
    "environment claims notebooks readme book handbook".split()
)
RUNNER = """
import contextlib, importlib, json, os, resource, signal, sys
import pytest
class Limited:
    def __init__(self, limit):
        self.limit = limit
    def pytest_runtest_logstart(self):
        signal.setitimer(signal.ITIMER_PROF, self.limit)
        signal.alarm(3 * self.limit)
for name in "hypothesis numpy scipy.stats torch networkx openai pydantic jinja2 filelock".split():
    importlib.import_module(name)  # once for all runs; nothing of the project
from hypothesis import Phase, settings
settings.register_profile("mutant", deadline=None, derandomize=True, phases=(Phase.explicit, Phase.generate))
for line in sys.stdin:
    arguments, output, limit, memory = json.loads(line)
    child = os.fork()
    if child == 0:
        with open(output, "w") as file:
            os.setsid()
            limited = Limited(limit)
            limited.pytest_runtest_logstart()  # what is done before the first test has a limit as well
            resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
            os.dup2(file.fileno(), 1), os.dup2(file.fileno(), 2)
            code = pytest.main(arguments, [limited])
            sys.stdout.flush()
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what it started
    print(code, flush=True)
"""


class Copy(NamedTuple):
    """A copy of the project, one file of which is changed at a time, and a process that forks one for each run."""

    folder: Path
    runner: subprocess.Popen

    def run(self, *tests: str, options: Sequence[str] = (), limit_s: int = 0) -> tuple[int, str]:
        """Exit code (negative: the signal that ended it) and output of pytest on these tests, each within a limit."""
        output = self.folder.parent / "output.txt"
        always = ["-q", "-rfE", "--tb=short", "-p", "no:cacheprovider", "-o", "addopts=", *options]
        asked = [[*always, *(f"tests/{test}" for test in tests)], str(output), limit_s, MEMORY]
        print(json.dumps(asked), file=self.runner.stdin, flush=True)
        return int(self.runner.stdout.readline()), output.read_text("utf-8", errors="replace")

    @contextmanager
    def planted(self, file: str, text: str) -> Iterator[None]:
        """The file with that text for a while."""
        path = self.folder / file
        kept = path.read_bytes()
        self._write(path, text.encode())
        try:
            yield
        finally:
            self._write(path, kept)

    def _write(self, path: Path, data: bytes) -> None:
        """Bytecode goes by seconds and size, and a mutant may have both of what was there before."""
        path.write_bytes(data)
        for stale in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            stale.unlink()


@contextmanager
def copied(folder: Path) -> Iterator[Copy]:
    """A copy of the project in the folder, in which nothing was planted."""
    folder.mkdir()
    left = shutil.ignore_patterns("__pycache__", ".hypothesis", ".ipynb_checkpoints")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=left)
        elif source.exists():
            shutil.copy(source, folder / name)
    if SHARED.is_dir():
        (folder.parent / "shared").symlink_to(SHARED)
    environment = {**os.environ, "PYTHONPATH": str(folder), "CI": "true"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # what is not changed is compiled once
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    command = [sys.executable, "-c", RUNNER]
    with subprocess.Popen(command, cwd=folder, env=environment, text=True, **pipes) as runner:
        yield Copy(folder, runner)


class Mutant(NamedTuple):
    """One place of a module changed: the line, what became what; the bytes from `start` to `end` become `new`."""

    module: str
    line: int
    change: str
    start: int
    end: int
    new: str

    def put(self, text: str) -> str:
        """The module's text with the change; it compiles."""
        data = text.encode()
        changed = (data[: self.start] + self.new.encode() + data[self.end :]).decode()
        compile(changed, self.module, "exec")
        return changed


FLIPS = {
    ast.Lt: (ast.GtE, ast.LtE),
    ast.LtE: (ast.Gt, ast.Lt),
    ast.Gt: (ast.LtE, ast.GtE),
    ast.GtE: (ast.Lt, ast.Gt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
TRUTHS = (ast.Compare, ast.BoolOp, ast.UnaryOp)


def faults(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """What may be put in the place of the node or of one of its parts: each place, and what takes it."""
    truth = ast.Constant(True), ast.Constant(False)
    match node:
        case ast.Compare(left, [op], right) if type(op) in FLIPS:
            yield from ((node, ast.Compare(left, [other()], right)) for other in FLIPS[type(op)])
        case ast.BoolOp(op, values):
            yield node, ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.UnaryOp(ast.Not(), operand):
            yield node, operand
        case ast.Constant(bool(value)):
            yield node, ast.Constant(not value)
        case ast.Constant(int(value) | float(value)):
            yield from ((node, ast.Constant(value + step)) for step in (1, -1))
        case ast.Constant(str(value)) if re.fullmatch(r"[A-Za-z_]+", value):
            yield node, ast.Constant(f"{value}_")
        case ast.Return(value) if value is not None:
            inverted = isinstance(value, TRUTHS)
            if inverted or not (isinstance(value, ast.Constant) and value.value is None):
                yield value, ast.UnaryOp(ast.Not(), value) if inverted else ast.Constant(None)
        case ast.If(test) | ast.IfExp(test):
            yield from ((test, one) for one in truth)
        case ast.While(test) if not isinstance(test, ast.Constant):
            yield test, truth[1]
        case ast.comprehension(ifs=[_, *_] as ifs):
            yield from ((one, truth[0]) for one in ifs)
        case ast.Raise() | ast.AugAssign() | ast.Continue() | ast.Break() | ast.Delete():
            yield node, ast.Pass()
        case ast.Assign([ast.Attribute() | ast.Subscript()]) | ast.Expr(ast.Call() | ast.Await()):
            yield node, ast.Pass()


def left_alone(tree: ast.Module) -> Iterator[ast.AST]:
    """The parts that are shown and not done: annotations, messages, docstrings; and parts of f-strings."""
    for node in ast.walk(tree):
        for name in ("annotation", "returns"):
            yield from ast.walk(getattr(node, name, None) or ast.Pass())
        if isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom | ast.MatchValue | ast.MatchSingleton):
            yield from ast.walk(node)
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Literal":
            yield from ast.walk(node)
        if isinstance(node, ast.Raise) and node.exc is not None:
            yield from ast.walk(node.exc)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield from ast.walk(node)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in ("__slots__", "__all__"):
            yield from ast.walk(node)


def mutants(module: str, text: str) -> list[list[Mutant]]:
    """Every mutant of a module's text, those of one place together."""
    tree, data = ast.parse(text), text.encode()
    lines = [0, *(match.end() for match in re.finditer(rb"\n", data))]
    alone, found = set(left_alone(tree)), []
    for node in ast.walk(tree):
        places = []
        for place, other in faults(node) if node not in alone else ():
            start = lines[place.lineno - 1] + place.col_offset
            end = lines[place.end_lineno - 1] + place.end_col_offset
            new = ast.unparse(ast.fix_missing_locations(other))
            new = f"({new})" if isinstance(other, TRUTHS) else new
            change = f"{' '.join(data[start:end].decode().split())[:70]} -> {new[:70]}"
            places.append(Mutant(module, place.lineno, change, start, end, new))
        if places:
            found.append(places)
    return found


def everything() -> list[str]:
    """Every module of `wb`."""
    return [p.relative_to(ROOT / "wb").with_suffix("").as_posix() for p in sorted((ROOT / "wb").rglob("[!_]*.py"))]


def drawn(modules: Sequence[str], seed: int, count: int) -> list[Mutant]:
    """So many places of the modules, drawn without return, and one mutant of each."""
    chance = random.Random(seed)
    places = [place for m in modules for place in mutants(m, (ROOT / "wb" / f"{m}.py").read_text("utf-8"))]
    return [chance.choice(place) for place in chance.sample(places, min(count, len(places)))]


@cache
def quick() -> dict[Path, str]:
    """The quick test files, and what is in them."""
    files = sorted((ROOT / "tests").glob("test_*.py"))
    return {path: path.read_text("utf-8") for path in files if path.stem.removeprefix("test_") not in SLOW}


def tests_of(module: str) -> list[str]:
    """The test files put to a mutant of the module: those of a table, and but for the fail-closed modules those that
    import it or bear its name, and for the reader of sentences those that have sentences; last those of all values."""
    values = ["test_frozen.py"] if "@dataclass" in (ROOT / "wb" / f"{module}.py").read_text("utf-8") else []
    if module in FAIL_CLOSED:
        return [*(f"test_{name}.py" for name in FAIL_CLOSED[module].split()), *values]
    folder, _, name = module.rpartition("/")
    package = ".".join(["wb", *folder.split("/")]) if folder else "wb"
    used = re.compile(rf"from {package}\.{name} import|from {package} import .*\b{name}\b|import {package}\.{name}\b")
    files = quick()
    found = sorted((path for path, text in files.items() if used.search(text)), key=lambda path: len(files[path]))
    own = [path for path in files if path.stem == f"test_{name}"]
    sentences = [f"test_{name}.py" for name in READS] if folder == "offline" else []
    first = [f"test_{name}.py" for name in FIRST.get(module, "").split()]
    return list(
        dict.fromkeys((*first, *(path.name for path in own), *sentences, *(path.name for path in found), *values))
    )


@cache
def green(copy: Copy, test: str) -> bool:
    """Whether a test that killed a mutant passes where nothing is planted, so that it noticed the mutant."""
    return copy.run(test.removeprefix("tests/"), options=PROFILE, limit_s=LIMIT_S)[0] == 0


def fate(copy: Copy, mutant: Mutant, tests: Sequence[str]) -> str:
    """What became of the mutant: *survived* where no test is red, *killed*, or *overran* a test's time (a kill too);
    *unsure*, and no kill, where the test that is red is so without the mutant as well."""
    if not tests:
        return "survived"
    file = f"wb/{mutant.module}.py"
    with copy.planted(file, mutant.put((copy.folder / file).read_text("utf-8"))):
        code, output = copy.run(*tests, options=PROFILE, limit_s=LIMIT_S)
    for test in RED.findall(output) if code == pytest.ExitCode.TESTS_FAILED else ():
        if not green(copy, test):
            return "unsure"
    if code in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise ValueError(f"tests of {mutant.module} that can be run were required; got {tests}\n{output[-500:]}")
    return {0: "survived", -signal.SIGALRM: "overran", -signal.SIGPROF: "overran"}.get(code, "killed")


def main() -> None:
    """Plant, run, print a line a mutant, and how many were killed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--modules", default="fail-closed", help="fail-closed, all, or names such as domain/visible")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    asked = parser.parse_args()
    modules = {"fail-closed": list(FAIL_CLOSED), "all": everything()}.get(asked.modules) or asked.modules.split(",")
    chosen = drawn(modules, asked.seed, asked.count)
    killed = 0
    with tempfile.TemporaryDirectory(prefix="wb-mutants-") as folder, copied(Path(folder) / "project") as copy:
        for number, mutant in enumerate(chosen, 1):
            started, tests = time.monotonic(), tests_of(mutant.module)
            end = fate(copy, mutant, tests)
            killed += end not in ("survived", "unsure")
            seconds = time.monotonic() - started
            print(f"{number:3} {end:8} {mutant.module}:{mutant.line}  {mutant.change}  ({seconds:.0f} s)", flush=True)
    share = wilson(killed, len(chosen))
    print(f"{killed} of {len(chosen)} killed: {share.value:.0%} (95 % interval {share.low:.0%} to {share.high:.0%})")


if __name__ == "__main__":
    main()
