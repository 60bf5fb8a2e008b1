"""What a run found out about its policy: sentences by class, rules, and what each tool's guard can do.

It is read from the files of the run's versions alone, for the report and for the end of `wb run`.  A tool is
*free* where no rule and no open sentence bears on it, *blocked* where its guard can never allow (unproved, open
sentences, or every value denied), else *guarded*.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from wb.guards import sandbox
from wb.rules import rulefile
from wb.rules.rule import RuleSet
from wb.runs.artifact import Version

Run = Mapping[str, Version]
State = Literal["free", "guarded", "blocked"]
CLASSES = ("rule", "open", "duty", "not a constraint", "waived")
STATES: tuple[State, ...] = ("guarded", "blocked", "free")
LISTED = 12  # tools named in a line


@dataclass(frozen=True, slots=True)
class ToolState:
    """One tool: what its guard can do, how well that is known (`claim`), which rules and open sentences bear on it.

    `allows` and `denies` say whether some call can be allowed and denied; None where there are too many to try.
    """

    tool: str
    state: State
    claim: str
    reason: str
    rules: tuple[str, ...]
    open: tuple[str, ...]
    allows: bool | None
    denies: bool | None
    source: str = ""


@dataclass(frozen=True)
class Summary:
    """What a run found out. `sentences` is None where the run kept no classes, `tools` where it made no guards."""

    rules: RuleSet | None
    sentences: tuple[Mapping[str, object], ...] | None
    tools: tuple[ToolState, ...] | None

    @property
    def classes(self) -> dict[str, int]:
        """How many sentences each class has."""
        found = Counter(str(row["cls"]) for row in self.sentences or ())
        return {cls: found[cls] for cls in (*CLASSES, *(c for c in found if c not in CLASSES)) if found[cls]}

    def state(self, *states: State) -> tuple[str, ...]:
        """The tools in these states."""
        return tuple(row.tool for row in self.tools or () if row.state in states)

    @property
    def never_allow(self) -> tuple[str, ...]:
        """The tools of which no call is allowed."""
        return tuple(row.tool for row in self.tools or () if row.allows is False)

    @property
    def never_deny(self) -> tuple[str, ...]:
        """The tools of which every call is allowed."""
        return tuple(row.tool for row in self.tools or () if row.denies is False and row.allows)

    def lines(self) -> tuple[tuple[str, str], ...]:
        """The summary in a few lines: what, and how many or which."""
        rows = []
        if self.sentences is not None:
            rows.append(("sentences", _listed(f"{n} {cls}" for cls, n in self.classes.items())))
        if self.rules is not None:
            rows.append(("rules", str(len(self.rules.rules))))
        if self.tools is not None:
            rows.append(("tools", _listed(f"{len(self.state(state))} {state}" for state in STATES)))
            rows.append(("can never allow", _named(self.never_allow)))
            rows.append(("can never deny", _named(self.never_deny)))
        return tuple(rows)


def of_run(run: Run) -> Summary:
    """The summary of a run, from its versions by stage.

    Raises:
        ArtifactError: a file was changed or lost since it was written.
    """
    read = {(stage.partition("_")[0], name): version for stage, version in run.items() for name in version.digests}
    rows = {
        (stage, name): read[stage, name].read(name)
        for stage, name in (
            ("01", "sentences.json"),
            ("01", "rules.json"),
            ("02", "rules.json"),
            ("06", "guards.json"),
            ("06", "contracts.json"),
        )
        if (stage, name) in read
    }
    rules = rows.get(("02", "rules.json"), rows.get(("01", "rules.json")))
    sentences = rows.get(("01", "sentences.json"))
    guards = rows.get(("06", "guards.json"))
    contracts = {row["tool"]: row for row in rows.get(("06", "contracts.json"), ())}
    known = None if sentences is None else tuple(sentences)
    return Summary(
        None if rules is None else rulefile.from_json(rules),
        known,
        None if guards is None else tuple(_tool(row, contracts.get(row["tool"], {}), known or ()) for row in guards),
    )


def _tool(
    row: Mapping[str, object], contract: Mapping[str, object], sentences: Sequence[Mapping[str, object]]
) -> ToolState:
    """What the proved guard of a tool can do; unproved code never runs."""
    tool, grade = str(row["tool"]), str(row["grade"])
    rules = tuple(dict.fromkeys(contract.get("rules", ())))
    unread = tuple(str(s["id"]) for s in sentences if s["cls"] == "open" and tool in s["tools"])
    allows, denies = answers(str(row["source"])) if grade == "proved" else (False, True)
    if unread and allows:  # what would be allowed is undecided
        allows = False
    state: State = "blocked" if allows is False else "guarded" if rules else "free"
    if unread:
        claim = f"{grade} for {len(rules)} rules, {len(unread)} sentences open"
    else:
        claim = grade if rules else "no rule"
    return ToolState(
        tool,
        state,
        str(row.get("claim") or claim),
        str(row["reason"]),
        rules,
        unread,
        allows,
        denies,
        str(row["source"]),
    )


def answers(source: str) -> tuple[bool | None, bool | None]:
    """Whether a guard's code can allow and can deny, over all values that it tells apart; None: too many to try."""
    try:
        program = sandbox.load(source)
        seen: set[bool] = set()
        for _, (allowed, _) in sandbox.completions(program.run, {}, program.points):
            seen.add(bool(allowed))
            if len(seen) == 2:
                break
    except sandbox.TooMany:
        return (True if True in seen else None), (True if False in seen else None)
    except (sandbox.UnsafeSource, TypeError, NameError, ValueError):
        return False, True  # code that cannot be run denies
    return True in seen, False in seen


def _listed(parts: object) -> str:
    return ", ".join(parts) or "none"


def _named(tools: Sequence[str]) -> str:
    more = len(tools) - LISTED
    named = ", ".join(tools[:LISTED]) + (f" and {more} more" if more > 0 else "")
    return f"{len(tools)}: {named}" if tools else "none"
