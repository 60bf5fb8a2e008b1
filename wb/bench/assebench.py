"""Importer of ASSEBench (Luo et al. 2025): recorded interactions of agents that people judged, as runs.

The public file `ASSEBench/dataset/AgentJudge-security.json` of the checkout `Astarojth/AgentAuditor-ASSEBench` holds
interactions, each with a label (1 is unsafe), a type of risk and what was said and called.  A call stands there as
`NAME()` or `NAME{'key': value}`, most of them without arguments; the tools, where any are listed, in the user's words.
No policy stands beside an interaction, and the label is of all of it: calls of a safe one are to be allowed, the only
call of an unsafe one is to be denied, and no other has a label.

Without a policy `wb` says of these calls no more than whether they are declared (`verdict`); with one of your own,
`wb judge POLICY OUT/runs.jsonl` says the rest.

    python -m wb.bench.assebench AgentJudge-security.json OUT    # runs.jsonl, tools.json; the table by type of risk
"""

from __future__ import annotations

import argparse
import ast
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import pydantic

from wb.domain import events, jsonl
from wb.domain.events import Asked, Event, Result, Say
from wb.domain.trace import Call, Decision

ACTION = re.compile(r"\s*([A-Za-z_][\w.-]*)\s*(?:\(\s*\)|(\{.*\}))\s*", re.DOTALL)
ENDS = "Complete"  # an action that is the agent's last words
TOOLS = '[{"type": "function"'  # how a list of tools begins
NO_CALL, UNDECLARED = "no tool is called", "a tool is called that is not among those listed"
UNLISTED, NO_POLICY = "no tools are listed", "no policy says anything of these calls"
REASONS = (NO_CALL, UNLISTED, NO_POLICY, UNDECLARED)
COLUMNS = ("n", "unsafe", "with calls", "with arguments", "decided", *REASONS)


class Turn(pydantic.BaseModel):
    """What somebody said, or what an agent thought and did."""

    role: Literal["user", "agent", "environment"]
    content: str = ""
    thought: str = ""
    action: str = ""


class Interaction(pydantic.BaseModel):
    """One interaction; `label` 1 is unsafe."""

    id: int
    contents: list[list[Turn]]
    label: Literal[0, 1]
    risk_type: str

    @property
    def turns(self) -> list[Turn]:
        """All turns, in order."""
        return [turn for part in self.contents for turn in part]

    @property
    def calls(self) -> list[Call]:
        """The calls, in order."""
        return [call for turn in self.turns if (call := _call(turn.action)) and call.tool != ENDS]

    @property
    def tools(self) -> dict[str, dict[str, Any]]:
        """The tools that are listed in what was said, by name."""
        texts = [turn.content[at:] for turn in self.turns if (at := turn.content.find(TOOLS)) >= 0]
        rows = [row["function"] for text in texts for row in json.JSONDecoder().raw_decode(text)[0]]
        return {row["name"]: {key: value for key, value in row.items() if value is not None} for row in rows}


def read(path: Path) -> tuple[Interaction, ...]:
    """The interactions of a file: a JSON list, as it is published, or one a line; ValueError for another."""
    try:
        return tuple(map(Interaction.model_validate, jsonl.rows(path)))
    except ValueError as error:
        raise ValueError(f"{path}: interactions of ASSEBench were required; got {error!s:.200}") from None


def verdict(one: Interaction) -> tuple[Decision, str]:
    """What can be said of an interaction without a policy, and why no more."""
    calls, listed = one.calls, one.tools
    if not calls:
        return "undecided", NO_CALL
    if not listed:
        return "undecided", UNLISTED
    return ("undecided", NO_POLICY) if {call.tool for call in calls} <= listed.keys() else ("deny", UNDECLARED)


def happened(one: Interaction) -> Iterator[Event]:
    """The interaction as events; what an agent notes as its observation, and what the environment says, is a result."""
    run, calls, waiting = f"asse-{one.id}", len(one.calls), False
    label = "allow" if not one.label else "deny" if calls == 1 else None
    for turn in one.turns:
        call = _call(turn.action)
        _, seen, observed = turn.thought.partition("[Observation]:")
        if turn.role == "environment" and waiting:
            yield Event(run, Result(turn.content))
        elif text := turn.content or (turn.thought if not seen else ""):
            yield Event(run, Say("assistant" if turn.role == "agent" else turn.role, text))
        waiting = False
        if call and call.tool == ENDS:
            yield Event(run, Say("assistant", str(call.arguments.get("response", ""))))
        elif call:
            yield Event(run, Asked(call, label))
            waiting = not seen
            if seen:
                yield Event(run, Result(observed.strip()))


def table(interactions: Sequence[Interaction]) -> list[dict[str, object]]:
    """By type of risk: interactions, unsafe ones, those with calls and with arguments, and what can be said of them."""
    rows: dict[str, dict[str, Any]] = {}
    for one in interactions:
        (decision, why), given = verdict(one), any(call.arguments for call in one.calls)
        counts = (1, one.label, bool(one.calls), given, decision != "undecided", *(why == reason for reason in REASONS))
        for name in (one.risk_type, "all"):
            row = rows.setdefault(name, {"risk": name, **dict.fromkeys(COLUMNS, 0)})
            row |= {column: row[column] + int(n) for column, n in zip(COLUMNS, counts, strict=True)}
    return sorted(rows.values(), key=lambda row: (row["risk"] == "all", -row["n"]))


def _call(action: str) -> Call | None:
    """The call that an action is; None where there is none."""
    found = ACTION.fullmatch(action)
    if not action.strip():
        return None
    if not found:
        raise ValueError(f"an action NAME() or NAME{{…}} was required; got {action!r:.80}")
    return Call(found[1], ast.literal_eval(found[2]) if found[2] else {})


def main(given: Sequence[str] | None = None) -> None:
    """Write the runs and their tools into a folder, if asked to, and print the table."""
    import pandas as pd

    parser = argparse.ArgumentParser(prog="python -m wb.bench.assebench", description="Judged interactions as runs.")
    parser.add_argument("file", type=Path, help="ASSEBench/dataset/AgentJudge-security.json of a checkout")
    parser.add_argument("out", type=Path, nargs="?", help="a folder for runs.jsonl and tools.json")
    o = parser.parse_args(given)
    found = read(o.file)
    if o.out:
        o.out.mkdir(parents=True, exist_ok=True)
        with (o.out / "runs.jsonl").open("w", encoding="utf-8") as file:
            events.dump((event for one in found for event in happened(one)), file)
        tools = {name: row for one in reversed(found) for name, row in one.tools.items()}
        (o.out / "tools.json").write_text(json.dumps({"tools": list(tools.values())}, indent=1) + "\n", "utf-8")
    print(pd.DataFrame(table(found)).to_string(index=False))


if __name__ == "__main__":
    main()
