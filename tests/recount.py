"""The closing summary of a run, counted again from its files alone: JSON is read, and nothing of `wb` is imported.

    python tests/recount.py ARTIFACTS [KEY]

ARTIFACTS is the folder that a run wrote to, KEY a version of 06_nagini_verification (the newest if it is not given).
What a guard can decide is tried out on every combination of values, where the program reasons.
"""

from __future__ import annotations

import itertools
import json
import re
import sys
from pathlib import Path

CLASSES = ("rule", "open", "not a constraint", "duty", "waived")
FATES = ("free", "guarded", "blocked")


def read(folder: Path, name: str) -> object:
    return json.loads((folder / name).read_text("utf-8"))


def stages(artifacts: Path, key: str | None = None) -> dict[str, Path]:
    """The folders of a run that ended in this version of 06, by the number of the stage."""
    found = sorted((artifacts / "06_nagini_verification").glob("*/manifest.json"), key=lambda p: p.stat().st_mtime)
    last = next(p.parent for p in reversed(found) if key in (None, p.parent.name))
    upstream = read(last, "manifest.json")["upstream"]
    return {"06": last, **{name[:2]: artifacts / name / row["key"] for name, row in upstream.items()}}


def values(row: dict, text: str) -> list:
    """The values of a parameter that the conditions can tell apart."""
    if row["type"] == "bool":
        return [False, True]
    if row["values"]:
        return row["values"]
    if row["type"] == "int":
        met = {int(n) + d for n in re.findall(r"(?<![\w'\"])-?\d+", text) for d in (-1, 0, 1)} or {0}
        return sorted(n for n in met if n >= 0 or not row["count"])
    return [*re.findall(r"'([^']*)'", text), "~ some other text"]


def fate(contract: dict, grade: str, waiting: list[str]) -> tuple[str, str, str]:
    """Whether a tool is free, guarded or blocked; whether it can be allowed; whether it can be denied."""
    conditions = [m.group(1) for line in contract["contract"] if (m := re.fullmatch(IMPLIED, line))]
    never = "Ensures(not Result()[0])" in contract["contract"]
    text, rows = " ; ".join(conditions), contract["parameters"]
    program = compile(" and ".join(f"({c})" for c in conditions) or "True", "conditions", "eval")
    domains = [values(row, text) for row in rows]
    known = [i for i, row in enumerate(rows) if row["told"]]
    allowed: dict[tuple, set[bool]] = {}
    for combination in itertools.product(*domains):
        names = {row["name"]: value for row, value in zip(rows, combination, strict=True)}
        result = bool(eval(program, {}, names)) and not never
        allowed.setdefault(tuple(combination[i] for i in known), set()).add(result)
    outcomes = set().union(*allowed.values())
    allows = "can" if {True} in allowed.values() else "only if told" if True in outcomes else "never"
    denies = "can" if False in outcomes else "never"
    if grade != "proved":
        return "blocked", "never", "can"
    if waiting:
        allows = "never"
    if not contract["rules"] and not waiting:
        return "free", allows, denies
    return ("guarded" if allows == "can" else "blocked"), allows, denies


IMPLIED = r"Ensures\(Implies\(Result\(\)\[0\], (.*)\)\)"


def recount(artifacts: Path, key: str | None = None) -> list[str]:
    """The lines that the run must have ended with, without what stands in brackets behind a tool."""
    run = stages(artifacts, key)
    sentences = read(run["02"], "sentences.json")
    contracts, guards = read(run["06"], "contracts.json"), read(run["06"], "guards.json")
    grades = {row["tool"]: row["grade"] for row in guards}
    waiting = {
        c["tool"]: [s["id"] for s in sentences if s["cls"] == "open" and c["tool"] in s["tools"]] for c in contracts
    }
    fates = {c["tool"]: fate(c, grades[c["tool"]], waiting[c["tool"]]) for c in contracts}
    extracted, refined = (read(run[stage], "rules.json")["rules"] for stage in ("01", "02"))
    inside = {rule for c in contracts for rule in c["rules"]}
    ruled = [c["tool"] for c in contracts if c["rules"]]
    proved = [tool for tool in ruled if grades[tool] == "proved" and not waiting[tool]]

    def named(position: int, word: str) -> str:
        tools = [tool for tool, found in fates.items() if found[position] == word]
        return f"{len(tools)}: {', '.join(tools)}" if tools else "0"

    counts = [(name, sum(s["cls"] == name for s in sentences)) for name in CLASSES]
    by_fate = [(name, sum(found[0] == name for found in fates.values())) for name in FATES]
    rows = {
        "sentences": f"{len(sentences)}: " + ", ".join(f"{n} {name}" for name, n in counts),
        "rules": f"{len(extracted)} read, {len(refined)} after refinement: "
        f"{len(inside)} in guards, {len(refined) - len(inside)} in no guard",
        "tools": f"{len(contracts)}: " + ", ".join(f"{n} {name}" for name, n in by_fate),
        "proved": f"{len(proved)} of {len(ruled)} tools with rules, no open sentence bearing on them"
        + "; rules and code are one grammar's reading" * bool(proved),  # no model was asked
        "can never allow": named(1, "never"),
        "only if told": named(1, "only if told"),
        "can never deny": named(2, "never"),
    }
    return [f"{name:17}{text}" for name, text in rows.items()]


if __name__ == "__main__":
    print(*recount(Path(sys.argv[1]), *sys.argv[2:3]), sep="\n")
