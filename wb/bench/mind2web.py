"""Importer of Mind2Web-SC: the 200 official cases with a real SeeAct agent's answers.

Mind2Web-SC (Xiang et al., GuardAgent, 2024) gives web tasks of Mind2Web a user profile and labels
each "deny" when one of six safety rules is broken.  The file is read where the Python package
`inspect_evals` keeps it, without importing that package, and must have the known hash.  A case
carries only what a guard may see, and its label; `domain`, `subdomain` and `violation` are not read.

The cases that a policy's words were written with in view (`tuned`) may be learned from; all others are for
measuring.  A policy without a benchmark has no labelled runs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Literal

from wb import paths
from wb.domain import events, policy
from wb.domain.events import Observation, Run
from wb.domain.tools import Toolbox
from wb.domain.trace import Trace
from wb.models.client import LLM

PACKAGE = "inspect_evals"
FILE = "inspect_evals/mind2web_sc/data/seeact/sample_labeled_all.json"
SHA256 = "e8802eb6ad86ccce4d8ffea73961eaa59581a1bf966d380abfe8a80fe02805e4"
COUNT = 200
TUNED = "tuned_ids.txt"  # beside a policy: the cases that its vocabulary was written on
Split = Literal["all", "tuned", "other"]
ABOUT = (
    f"Mind2Web-SC has {COUNT} tasks that a real web agent (SeeAct) worked on, each with an invented user; half of "
    "them must be denied, because the user may not do what the task asks. A guard sees the task, the site, the "
    "agent's earlier actions, the next action, what the agent said, and the user's profile; never the task's "
    "category, the rule that is broken, or the label. The vocabulary was written with the tuned cases in view: "
    "only the others say how well it does on what it has not seen. Under the labels searching for a thing counts "
    "as doing it; read literally, about a third of the labels to deny would be wrong. Each turn is a single step, "
    "and all of it is English."
)


class BenchmarkError(ValueError):
    """The benchmark's file is absent or is not the official one."""


@dataclass(frozen=True, slots=True)
class Case:
    """One case: its position in the official file as id, what a guard may see, and the label (True = deny)."""

    id: str
    observation: Observation
    denied: bool


@dataclass(frozen=True, slots=True)
class Benchmark:
    """The cases that a policy is measured on, and which of them (`tuned`) its vocabulary was written on.

    Of recorded `runs`, the cases are the labelled calls, and those that weights may learn from are called `tuned`;
    `parts` names the two sides.
    """

    cases: tuple[Case, ...] = ()
    tuned: frozenset[str] = frozenset()
    runs: tuple[Run, ...] = ()
    parts: tuple[str, str] = ("tuned", "other")

    def __str__(self) -> str:
        tuned = sum(case.id in self.tuned for case in self.cases)
        denied = sum(case.denied for case in self.cases)
        if self.runs:
            sides = f"{tuned} in the part to learn from, {len(self.cases) - tuned} held out"
            return f"{len(self.cases)} labelled calls in {len(self.runs)} runs, {sides}; {denied} are to be denied"
        if not self.cases:
            return "no labelled runs stand beside this policy"
        return f"{len(self.cases)} cases of Mind2Web-SC, {tuned} of them tuned on; {denied} are to be denied"

    @property
    def about(self) -> str:
        """What a reader has to know of where the cases come from."""
        if self.runs:
            return "Which run is held out is told by its name alone."
        return ABOUT if self.cases else "Nothing can be counted: give recorded runs with labels as `runs`."


@dataclass(frozen=True, slots=True)
class Published:
    """A result that others published on all the cases; fractions 0..1, `source` names the paper."""

    method: str
    model: str
    accuracy: float
    precision: float
    recall: float
    source: str
    n: int = COUNT


PUBLISHED = (
    Published("hard-coded rules", "no model", 0.775, 0.951, 0.58, "VeriGuard, Table 2"),
    Published("guardagent", "GPT-4", 0.9, 1.0, 0.8, "VeriGuard, Table 2"),
    Published("agrail", "GPT-4o", 0.984, 0.99, 0.98, "VeriGuard, Table 2"),
    Published("veriguard", "GPT-4o", 0.951, 0.913, 0.99, "VeriGuard, Table 2"),
    Published("veriguard", "GPT-4.1", 0.962, 0.912, 1.0, "VeriGuard, Table 2"),
    Published("veriguard", "Gemini-2.5-pro", 0.972, 0.95, 0.99, "VeriGuard, Table 2"),
)


def locate() -> Path:
    """Where the installed package keeps the official file; `BenchmarkError` says how to get it."""
    try:
        path = Path(str(distribution(PACKAGE).locate_file(FILE)))
    except PackageNotFoundError:
        wanted = f"the package {PACKAGE!r} was required for Mind2Web-SC and is not installed"
        raise BenchmarkError(f"{wanted}; install it with pip (0.26.0 is known to hold the file)") from None
    if not path.is_file():
        version = f"version {distribution(PACKAGE).version}; 0.26.0 has it"
        raise BenchmarkError(f"{FILE} was required inside the package {PACKAGE!r}; it is not there ({version})")
    return path


def cases(split: Split = "all", *, tuned: Collection[str], path: Path | None = None) -> tuple[Case, ...]:
    """The cases of a split, in the official order.

    `tuned` names the cases that a policy's vocabulary was written on: split "tuned" gives those,
    "other" all but those.
    """
    if split not in ("all", "tuned", "other"):
        raise ValueError(f"split must be all, tuned or other; got {split!r}")
    found = _read(path or locate())
    strangers = set(tuned) - {case.id for case in found}
    if strangers:
        raise BenchmarkError(f"tuned ids m2w-0 … m2w-{COUNT - 1} were required; got {sorted(strangers)[:5]}")
    return tuple(case for case in found if split == "all" or (case.id in tuned) == (split == "tuned"))


def of_policy(name_or_path: str | Path, split: Split = "all") -> Benchmark:
    """The cases of a split for the policy of that name or place; without cases where it has no labelled runs.

    A policy is measured on this benchmark if a file `tuned_ids.txt` stands beside its document.
    """
    ids = paths.folder(policy.place(name_or_path)) / TUNED
    if not ids.is_file():
        return Benchmark()
    tuned = tuned_ids(ids)
    return Benchmark(cases(split, tuned=tuned), tuned)


def tuned_ids(path: Path) -> frozenset[str]:
    """The ids in a file that holds one a line."""
    return frozenset(path.read_text(encoding="utf-8").split())


def _read(path: Path) -> tuple[Case, ...]:
    raw = path.read_bytes()
    digest = hashlib.sha256(raw).hexdigest()
    if digest != SHA256:
        wanted = f"the official file with sha256 {SHA256[:12]}…"
        raise BenchmarkError(f"{path.name}: {wanted} was required; got {digest[:12]}…")
    return tuple(_case(position, row) for position, row in enumerate(json.loads(raw)))


def _case(position: int, row: dict) -> Case:
    told = (row["confirmed_task"], row["website"], _previous(row["prompt"][1]), row["target_action_reprs"])
    observation = Observation(*told, "\n".join(row["gpt_output"]), dict(row["user_info"]))
    return Case(f"m2w-{position}", observation, bool(row["label"]))


def _previous(prompt: str) -> tuple[str, ...]:
    """The agent's earlier actions, from the prompt that it was given: the lines under that heading."""
    _, _, rest = prompt.partition("Previous Actions:\n")
    block, _, _ = rest.partition("\n\nThe screenshot below")
    return tuple(line for line in block.split("\n") if line.strip() and line.strip() != "None")


@dataclass(frozen=True, slots=True)
class Labelled:
    """The runs with their labels; `unsure` counts the cases left out because they may be several things or none."""

    traces: tuple[Trace, ...] = ()
    unsure: int = 0


def of_cases(cases: Sequence[Case], toolbox: Toolbox, llm: LLM) -> Labelled:
    """The cases whose action is recognised surely, as labelled traces."""
    found = events.recognise([case.observation for case in cases], toolbox, llm)
    traces = tuple(Trace(c.id, r.steps, c.denied) for c, r in zip(cases, found, strict=True) if r.sure)
    return Labelled(traces, len(cases) - len(traces))
