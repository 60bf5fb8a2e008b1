"""Where a benchmark's own labels and its own policy disagree: one table for every benchmark here.

    python tests/bench/label_audit.py FOLDER [--keep]

Rules that a person wrote from a benchmark's policy judge what the benchmark takes for right, and, where it says of
others that they are wrong, these as well; nothing is written for a case.  Writes FOLDER/labels.json: `audited`, how
many labels were checked of each benchmark and by what, and `labels`, each that disagrees, with the sentence and the
state beside it.  `wb run POLICY -p peers=FOLDER/labels.json` shows both in 07; with `--keep` the counts, and nothing
of the data, are what 07 shows without one (`notebooks/peers.json`).  A disagreement is one to be looked at:
which side is wrong, a person says.
"""

from __future__ import annotations

# ruff: noqa: E402
import csv
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from bench import airline, paired, read_airline, retail
from oracles import six_rules

from wb.bench import asb, eicu, guard_tests, recorded, service
from wb.domain import events
from wb.domain import policy as documents
from wb.domain.events import Asked, State
from wb.rules import decisions
from wb.rules.rule import RuleSet

SHARED = airline.SHARED
BREAKS, NOTHING = "taken for right, breaks the policy", "taken for wrong, breaks nothing"
REMINDER = "R23"  # it hears a reminder in the agent's words, which the shop's calls tell as a field


@dataclass(frozen=True)
class Label:
    """What a benchmark says of an action (`right`), and which sentences of its policy it breaks, None where the rules
    cannot tell; `state` is what they read."""

    task: str
    action: str
    right: bool
    broken: tuple[str, ...] | None
    state: str


Rows = list[dict[str, object]]


def audited(benchmark: str, by: str, labels: Iterable[Label]) -> tuple[dict[str, object], Rows]:
    """How many labels were checked and disagree, and these; actions that are alike in a task are one."""
    some = list(dict.fromkeys(labels))
    checked = [one for one in some if one.broken is not None]
    odd = [one for one in checked if bool(one.broken) is one.right]
    rows = [
        {"benchmark": benchmark, "task": one.task, "action": one.action, "label": BREAKS if one.right else NOTHING}
        | {"sentence": " / ".join(one.broken or ()), "state": one.state}
        for one in odd
    ]
    right = sum(one.right for one in odd)
    tasks = len({one.task for one in some}), len({one.task for one in odd})
    return {
        "benchmark": benchmark,
        "rules": by,
        "labels": len(some),
        "not decided": len(some) - len(checked),
        BREAKS: right,
        NOTHING: len(odd) - right,
        "tasks": tasks[0],
        "tasks that disagree": tasks[1],
    }, rows


def of_airline() -> Iterator[Label]:
    """τ-bench's airline: what solves its tasks, done on its database."""
    judge = airline.guarded("airline", airline.toolbox(), _reviewed())
    against = {one.key: one for one in read_airline.conflicts(judge)}
    for task, run in read_airline.solutions():
        for event in run.events:
            if isinstance(event.what, Asked) and event.what.call.tool in read_airline.CHANGING:
                key = task, event.what.call.tool, json.dumps(event.what.call.arguments, sort_keys=True)
                found = against.get(key)
                denied = found is not None and found.verdict.decision == "deny"
                broken = found.verdict.quotes if denied else None if found else ()
                yield Label(str(task), f"{key[1]} {key[2]}", True, broken, found.state if found else "")


def _reviewed() -> RuleSet:
    """The rules of a person's decisions."""
    folder = read_airline.written(OUT / "airline", read_airline.reviewed())
    return decisions.own(decisions.load(decisions.place(folder), read_airline.policy(folder)), airline.toolbox())


def of_own_airline() -> Iterator[Label]:
    """The airline of `policies/airline`: the guard tests that a person wrote, on its own database."""
    place = documents.place("airline")
    read = documents.load(place)
    own = decisions.own(decisions.load(decisions.place(place), read), read.toolbox)
    tests = guard_tests.load(place / guard_tests.FILE)
    for one in guard_tests.run(airline.guarded("airline", read.toolbox, own), tests, service.load(place)):
        broken = {"deny": one.verdict.quotes, "allow": ()}.get(one.verdict.decision)
        action = f"{one.test.tool} {json.dumps(one.test.arguments)}"
        yield Label(one.test.name, action, one.test.expect == "allow", broken, one.verdict.reason)


def of_retail() -> Iterator[Label]:
    """The shop's calls by hand, on the rules of `tests/fixtures/retail`."""
    judge, said = retail.guard(), json.loads((retail.SENTENCES / "gold.json").read_text("utf-8"))
    texts = {row["id"]: row["text"] for row in said}
    for run in events.read(ROOT / "tests" / "gold" / "calls_retail.jsonl"):
        *_, last = recorded.judge(judge, run.events)
        rules = [rule for rule in last.verdict.violated if rule != REMINDER]
        broken = tuple(texts.get(rule.partition("_")[0], rule) for rule in rules)
        state = next((e.what.values for e in reversed(run.events) if isinstance(e.what, State)), {})
        told = (
            () if last.verdict.decision == "allow" else broken or None
        )  # denied by a schema, or for the reminder alone
        yield Label(run.id, last.tool, last.label == "allow", told, json.dumps(state, default=dict))


def of_agent_security() -> Iterator[Label]:
    """Agent Security Bench: each role's own tools, and the attackers', on the table of roles that comes with it."""
    with (SHARED / "common" / "asb" / "normal_tools.jsonl").open(encoding="utf-8") as lines:
        role = {row["Tool Name"]: row["Corresponding Agent"] for row in map(json.loads, lines)}
    for record in asb.read(SHARED / "asb" / "trajectories.jsonl.gz"):
        for tool, right in [*((one, True) for one in record.normal_tools), (record.attack_tool, False)]:
            if tool is not None:
                owner = role.get(tool)
                sentence = f"`{tool}` belongs to {owner}" if owner else f"`{tool}` is used by no agent"
                broken = () if owner == record.agent else (sentence,)
                yield Label(record.agent, tool, right, broken, f"role {record.agent}")


def of_eicu() -> Iterator[Label]:
    """EICU-AC: the columns that each question's own query reads, on the table of roles that comes with it."""
    table = json.loads((SHARED / "common" / "guardagent" / "eicu_ac_access_table.json").read_text("utf-8"))
    tables = eicu.schema()
    with (SHARED / "eicu_ac" / "cases.jsonl").open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            role, broken = table[row["role"]], None
            try:
                found = eicu.reads([f"SQLInterpreter({row['sql']!r})"], tables)
                every = sorted((name, column) for name, columns in found.items() for column in columns)
                broken = tuple(f"{row['role']} may not read {n}.{c}" for n, c in every if c not in role.get(n, ()))
                state = (
                    f"its query reads {', '.join(f'{n}.{c}' for n, c in every)}; the label names {row['inaccessible']}"
                )
            except eicu.UnclearError as unclear:
                state = str(unclear)
            yield Label(row["id"], row["question"], row["label"] == 0, broken, f"{row['role']}: {state}")


def of_mind2web() -> Iterator[Label]:
    """Mind2Web-SC: what each task does, as a person told, on its six rules."""
    with (SHARED / "offline_gold" / "mind2web_actions.tsv").open(encoding="utf-8", newline="") as lines:
        does = {row["id"]: row["action"] for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)}
    with (SHARED / "mind2web_sc" / "cases.jsonl").open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            broken = six_rules.violated(does[row["id"]], row["user_info"])
            yield Label(
                row["id"], f"{does[row['id']]}: {row['task']}", row["label"] == 0, broken, str(row["user_info"])
            )


BENCHMARKS = {
    "τ-bench airline, solutions": ("a person's decisions (tests/fixtures/airline)", of_airline),
    "own airline, guard tests": ("a person's decisions (policies/airline)", of_own_airline),
    "retail, calls by hand": (f"a person's rules (tests/fixtures/retail) but {REMINDER}", of_retail),
    "Agent Security Bench, tools": ("its table of roles", of_agent_security),
    "EICU-AC, queries": ("its table of roles", of_eicu),
    "Mind2Web-SC, tasks": ("six rules (tests/oracles) on actions that a person told", of_mind2web),
}
OUT = Path()


def main() -> None:
    global OUT
    if not 2 <= len(sys.argv) <= 3 or sys.argv[2:] not in ([], ["--keep"]):
        raise SystemExit(__doc__)
    OUT = Path(sys.argv[1]).resolve()
    OUT.mkdir(parents=True, exist_ok=True)
    found = [audited(name, by, read()) for name, (by, read) in BENCHMARKS.items()]
    made = {"audited": [row for row, _ in found], "labels": [row for _, rows in found for row in rows]}
    (OUT / "labels.json").write_text(json.dumps(made, ensure_ascii=False, indent=1) + "\n", "utf-8")
    if sys.argv[2:]:
        paired.keep({"audited": made["audited"]})
    for row in made["audited"]:
        print(", ".join(f"{name} {value}" if type(value) is int else str(value) for name, value in row.items()))
    for row in made["labels"]:
        print(
            f"- {row['benchmark']}, {row['task']}: {row['action'][:100]}\n  {row['label']}: “{row['sentence'][:300]}”"
        )
        print(f"  {row['state'][:400]}")


if __name__ == "__main__":
    main()
