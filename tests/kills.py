"""The generation of guards (05 and 06), killed at any step, or with a model or test runner that fails at it.

    python tests/kills.py [FOLDER] [--every N]

A run is made in forked processes that execute the notebooks' cells themselves, with the store, the lock and the seal
of `wb run`.  A *step* is a cell that begins, an answer of an engine, a run of the tests, a file that is written or a
version that is sealed.  Each row of JSON says what was done at which step, what was found there and what came of the
next run.  The prover and the type checker are stood in for: what they say is not what is tried here.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from wb import paths  # noqa: E402
from wb.domain import policy as documents  # noqa: E402
from wb.domain.trace import Call, Step, Trace  # noqa: E402
from wb.guards import contract, evidence, nagini, runtime, trial  # noqa: E402
from wb.guards.nagini import Proof  # noqa: E402
from wb.models.endpoint import Reply  # noqa: E402
from wb.models.ledger import ModelError, Usage  # noqa: E402
from wb.offline import engine  # noqa: E402
from wb.rules import rulefile, sentences  # noqa: E402
from wb.runs import artifact, pipeline, store  # noqa: E402

POLICY = Path(__file__).resolve().parent / "fixtures" / "short_policy"
STAGES = ("01", "02", "05", "06")
MADE = ("05_tool_guards", "06_nagini_verification")
COMPARED = ("candidates.json", "scenes.json", "guards.json", "items.json")
VALUES = {"policy": str(POLICY), "model": "offline", "max_repairs": "1", "max_rounds": "1"}


class Prover:
    """Says that the first source of each function is proved and no other one: it is asked nothing in earnest here."""

    unanswered = 0

    def __init__(self, *_: object, **__: object) -> None:
        self.asked, self._first = 0, {}

    def close(self) -> None:
        pass

    def __enter__(self) -> Prover:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def verify(self, sources):
        self.asked += len(sources)
        found = []
        for source in sources:
            name = source.partition("def ")[2].partition("(")[0]
            right = "Refute(False)" in source or self._first.setdefault(name, source) == source
            found.append(Proof("proved" if right else "unproved"))
        return found


class Steps:
    """Counts the steps of a run, and does something at one of them."""

    def __init__(self, at: int = -1, deed: Callable[[], None] = lambda: None) -> None:
        self.at, self.deed, self.names = at, deed, []

    def __call__(self, name: str) -> None:
        if len(self.names) == self.at:
            self.deed()
        self.names.append(name)

    def before(self, owner: object, name: str) -> None:
        """Count each call of a function as a step."""
        own = getattr(owner, name)

        def counted(*given: object, **named: object) -> object:
            self(f"{name} {given[1]}" if name == "write" else name)
            return own(*given, **named)

        setattr(owner, name, counted)


def execute(steps: Steps, text: str, path: Path, output: Path, *, parameters, environment, on_cell) -> None:
    """A notebook's cells in this process, as its kernel would execute them."""
    os.environ.update(environment)
    os.chdir(path.parent)
    space: dict[str, object] = {"__name__": "__main__", "display": lambda *shown: None}
    for i, cell in enumerate(json.loads(text)["cells"]):
        if cell["cell_type"] == "code":
            steps(f"{path.stem[:2]} cell {i}")
            exec(compile("".join(cell["source"]), f"{path.name}:{i}", "exec"), space)
            if "parameters" in cell["metadata"].get("tags", []):
                space.update(parameters)
    output.write_text(text, encoding="utf-8")


def made(steps: Steps, stages: tuple[str, ...] = STAGES) -> None:
    """A run of those stages."""
    pipeline.kernel.execute = lambda *given, **named: execute(steps, *given, **named)
    nagini.Verifier = Prover
    trial.typed = lambda sources, *_: {source: () for source in sources}
    for owner, name in (
        (store.Stage, "write"),
        (artifact, "seal"),
        (trial, "_run"),
        (engine.Offline, "answer"),
        (os, "replace"),
    ):
        steps.before(owner, name)
    here = paths.project()
    planned = [step for step in pipeline.plan(here, VALUES, last="6") if step.stage[:2] in stages]
    pipeline.run(here, planned, lambda notice: None)


def forked(work: Callable[[], None]) -> int:
    """The end of a process that does the work: 0, 1 where it raised, or minus the signal that killed it."""
    child = os.fork()
    if child == 0:
        quiet = os.open(os.devnull, os.O_WRONLY)
        if not os.environ.get("LOUD"):
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            if os.environ.get("LOUD"):
                traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def kept() -> dict[str, str]:
    """What the finished versions of 05 and 06 hold, as far as it is not of this run alone."""
    found = {}
    for stage in MADE:
        for version in artifact.versions(paths.project(), stage):
            if artifact.current(paths.project(), version):
                assert not version.damaged() and version.ours
                files = [name for name in version.digests if name in COMPARED or name.startswith("tests/")]
                found[stage] = "".join(version.digests[name] for name in sorted(files))
    return found


def allowed() -> list[str]:
    """The tools of which a call that the rules forbid, or any call of a tool whose guard is not whole, would run."""
    here, found = paths.project(), []
    rules = {v.stage[:2]: v for stage in ("02_vagueness_scoring",) for v in artifact.versions(here, stage)}["02"]
    ruleset = rulefile.from_json(rules.read("rules.json"))
    waiting = sentences.open_on(sentences.from_json(rules.read("sentences.json")))
    box = documents.toolbox(str(POLICY))
    required = contract.contracts(box, ruleset)
    for stage, name in zip(MADE, ("candidates.json", "guards.json"), strict=True):
        for folder in (here.artifacts / stage).glob("*/" + name) if (here.artifacts / stage).is_dir() else ():
            finished = [v for v in artifact.versions(here, stage) if v.folder == folder.parent]
            rows = json.loads(folder.read_text("utf-8")) if finished else []
            guards = evidence.from_rows(rows, required, ruleset, waiting)
            judge = runtime.CallGuard("g", ruleset, guards, frozenset({"tested", "proved"}), box, waiting)
            for tool, call in (("lend_item", {"items": ["x"] * 9}), ("waive_fee", {"amount": 3})):
                state = {"age": 30, "card_valid": True}
                if judge.decide(Trace("t", (Step((Call(tool, call),), state),))).decision == "allow":
                    found.append(f"{folder.parent.name}: {tool}")
    return found


def shut() -> None:
    """End this process as a machine that loses power would."""
    os.kill(os.getpid(), signal.SIGKILL)


def failing(*_: object, **__: object) -> None:
    """A model that drops its connection."""
    raise ModelError("the connection was lost")


def main(place: Path, every: int) -> int:
    """Try all steps; a row of JSON for each."""
    base = place / "base"
    vectors = base / "cache" / "embeddings"
    vectors.parent.mkdir(parents=True)
    shutil.copytree(POLICY / "vectors", vectors)
    os.environ["WB_ARTIFACTS"] = str(base)
    assert forked(lambda: made(Steps(), ("01", "02"))) == 0, "LOUD=1 says why"
    whole = place / "whole"
    shutil.copytree(base, whole)
    os.environ["WB_ARTIFACTS"] = str(whole)
    steps, log = Steps(), place / "steps"

    def count() -> None:
        made(steps)
        log.write_text(json.dumps(steps.names), "utf-8")

    assert forked(count) == 0, "LOUD=1 says why"
    names, reference = json.loads(log.read_text("utf-8")), kept()
    assert set(reference) == set(MADE)
    print(json.dumps({"steps": len(names), "allowed": allowed(), "stages": sorted(reference)}), flush=True)

    def again(name: str, deed: str, work: Callable[[], None], rerun: bool) -> None:
        folder = place / "now"
        shutil.copytree(base, folder, dirs_exist_ok=True)
        os.environ["WB_ARTIFACTS"] = str(folder)
        began, ended = time.monotonic(), forked(work)
        row = {"step": name, "deed": deed, "ended": ended, "left": sorted(kept()), "allowed": allowed()}
        row["same"] = all(reference[stage] == held for stage, held in kept().items())
        if rerun:
            row["next"], row["right"] = forked(lambda: made(Steps())), kept() == reference
        print(json.dumps({**row, "seconds": round(time.monotonic() - began, 2)}), flush=True)
        shutil.rmtree(folder)

    for at in range(0, len(names), every):
        again(f"{at}: {names[at]}", "killed", lambda at=at: made(Steps(at, shut)), at % (5 * every) == 0)

    def without_runner() -> None:
        trial.COMMAND = ("/bin/sh", "-c", "kill -9 $$")
        made(Steps())

    def without_model() -> None:
        engine.Offline.answer = failing
        made(Steps())

    def garbled() -> None:
        own = engine.Offline.answer

        def answer(self, prompt, inputs, schema):
            if "guard" in prompt.name:
                return Reply({"code": "}{ import os"}, Usage(), None, self.name)
            return own(self, prompt, inputs, schema)

        engine.Offline.answer = answer
        made(Steps())

    again("the test runner", "killed at each start", without_runner, True)
    again("the model", "drops each connection", without_model, True)
    again("the model", "says no code", garbled, False)
    return 0


if __name__ == "__main__":
    arguments = [one for one in sys.argv[1:] if not one.startswith("--")]
    stride = int(sys.argv[sys.argv.index("--every") + 1]) if "--every" in sys.argv else 1
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        sys.exit(main(Path(arguments[0] if arguments and arguments[0] != str(stride) else folder), stride))
