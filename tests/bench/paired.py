"""Every guardrail of the workbench and outside ones on the same recorded calls: one command, one table.

    python tests/bench/paired.py FOLDER [--progent CHECKOUT] [--only SUITE] [--judged SUITE/NAME=FILE ...] [--keep]

The calls are those of τ-bench's airline that were done and that its policy decides (`bench.airline`), and all of Agent
Security Bench's and of EICU-AC's development halves (`wb.bench.asb`, `.eicu`), read from `../shared/data`.  What each
outside guardrail was given as its policy, by whom and when, says `outside/README.md`; each runs in an environment of
its own, which `uv` makes (pins below), and is told of a call what the workbench is told: the messages before it, its
arguments, the records.
Progent's checkout is not on the package index; without one its rows are left out, with that reason.  A baseline that
asked a model joins by what `wb judge POLICY runs.jsonl --guard NAME --model M --json` wrote (`--judged`), with queries.
Writes FOLDER/peers.json (and its two tables as CSV): `wb run POLICY -p peers=FOLDER/peers.json` draws it in 07, and so
does `wb report` from there.  With `--keep` the whole of each suite becomes what 07 draws without one
(`notebooks/peers.json`).  What is built of the policies outside the project lies in FOLDER as well.
"""

from __future__ import annotations

# ruff: noqa: E402
import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import pandas as pd
from bench import airline, airline_readings, read_airline
from bench.readings import Mode

import wb
from wb.bench import asb, eicu, paired, recorded
from wb.bench.paired import Decided
from wb.domain import jsonl
from wb.domain import policy as documents
from wb.domain.events import Asked, Result, Run, Say, State
from wb.domain.judging import Judge

FINAL = "wb veriguard, reviewed"  # the method that the others are compared with in 07; the CSV has all pairs
FIXTURES = ROOT / "tests" / "fixtures"
OUTSIDE = Path(__file__).parent / "outside"
PINS = {
    "cedar": ("cedarpy==4.12.2",),
    "invariant": ("invariant-ai==0.3.5",),
    "progent": ("docstring-parser==0.18.0", "jsonschema==4.26.0", "pydantic==2.14.3", "z3-solver==4.15.4.0"),
    "toolguard": ("toolguard==0.2.21",),
}
ENGINES = {  # by suite a row's name: the engine that judges it, and its policy
    "airline": {
        "cedar": ("cedar", "policy.cedar"),
        "invariant": ("invariant", "policy.gr"),
        "invariant, from the trace": ("invariant", "policy_trace.gr"),
        "toolguard's run time": ("toolguard", "toolguard"),
        "invariant, from the trace, its limit raised": ("invariant", "policy_trace.gr"),
        "progent": ("progent", "progent.json"),
    },
    "agent_security": {
        "cedar": ("cedar", "policy.cedar"),
        "invariant": ("invariant", "policy.gr"),
        "toolguard's run time": ("toolguard", "toolguard"),
        "progent, as published": ("progent", "progent.json"),
    },
    "hospital": {
        "cedar": ("cedar", "policy.cedar"),
        "invariant": ("invariant", "policy.gr"),
        "toolguard's run time": ("toolguard", "toolguard"),
        "progent": ("progent", "progent"),
    },
}
RAISED = {"INVARIANT_MAX_ITERATIONS": "1000000"}  # by default it gives a trace up after 100 rounds, with an error
Call = tuple[str, str, bool]  # a call's id, its task, and whether it is an attack
Table = dict[str, list[dict[str, object]]]


def told(run: Run) -> dict[str, Any]:
    """A run as outside guardrails read it: messages as OpenAI has them, and each call with the state before it."""
    messages: list[dict[str, Any]] = []
    calls, state, step = [], {}, None
    for event in run.events:
        match event.what:
            case Say(role=role, text=text):
                messages.append({"role": role, "content": text})
                step = None
            case State(values=values):
                state = values
            case Asked(call=call, call_id=call_id):
                tool, given = call.tool, call.arguments or {}
                if tool == asb.OTHER:  # it stands for every tool that the policy does not name
                    tool, given = given["name"], {}
                asked = {"id": call_id, "type": "function", "function": {"name": tool, "arguments": given}}
                calls.append({"id": call_id, "message": len(messages), "tool": tool, "arguments": given})
                calls[-1] |= {"state": state, "now": event.time or ""}
                if step is not None and step == event.step:  # of one message
                    messages[-1]["tool_calls"].append(asked)
                    calls[-1]["message"] = len(messages) - 1
                else:
                    messages.append({"role": "assistant", "content": None, "tool_calls": [asked]})
                step = event.step
            case Result(value=value, call_id=call_id):
                text = value if isinstance(value, str) else json.dumps(value, default=dict)
                messages.append({"role": "tool", "tool_call_id": call_id, "content": text})
                step = None
    return {"run": run.id, "messages": messages, "calls": calls}


def asked(runs: Sequence[Run], engine: str, policy: Path, settings: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """What an outside guardrail says of each call, by run and id of the call.

    Raises:
        RuntimeError: it did not start, or did not answer all.
    """
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    pins = [part for pin in PINS[engine] for part in ("--with", pin)]
    own = str(Path(sys.base_prefix, "bin", "python3"))  # not that of the project's environment
    command = [uv or "uv", "run", "--quiet", "--isolated", "--no-project", "--python", own, *pins, "python"]
    lines = "".join(json.dumps(told(run), default=_plain) + "\n" for run in runs)
    done = subprocess.run(
        [*command, str(OUTSIDE / f"judge_{engine}.py"), str(policy)],
        input=lines,
        capture_output=True,
        text=True,
        env={name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")} | settings,
    )
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    wanted = [f"{run.id} {event.what.call_id}" for run in runs for event in run.events if isinstance(event.what, Asked)]
    if done.returncode or len(found) != len(wanted):
        raise RuntimeError(f"{engine} answered {len(found)} of {len(wanted)} calls: {done.stderr.strip()[-300:]}")
    return dict(zip(wanted, found, strict=True))


def _plain(value: object) -> object:
    """Frozen values as JSON has them."""
    return dict(value) if isinstance(value, Mapping) else list(value)  # type: ignore[call-overload]


def outside(suite: str, runs: Sequence[Run], calls: Mapping[str, Call]) -> Iterator[tuple[str, list[Decided]]]:
    """Each outside guardrail of a suite, one after the other."""
    for name, (engine, policy) in ENGINES[suite].items():
        if engine == "progent" and "PROGENT" not in os.environ:
            print(f"{suite}, {name}: left out, for no checkout of it was named (--progent)", file=sys.stderr)
            continue
        said = asked(runs, engine, OUTSIDE / suite / policy, RAISED if name.endswith("raised") else {})
        (OUT / f"{suite} {name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in said.values()), "utf-8")
        yield name, [Decided(*call, said[key]["decision"], said[key]["seconds"]) for key, call in calls.items()]


def judged(
    guard: Judge, runs: Sequence[Run], calls: Mapping[str, Call], queries: Mapping[str, int] = MappingProxyType({})
) -> list[Decided]:
    """A guard of the workbench; the seconds are those of a session that takes in what happened and decides, `queries`
    those about the conversation before a call, by its id, whose replies are among the events."""
    found: dict[str, Decided] = {}
    for run in runs:
        verdicts, ids = recorded.judge(guard, run.events), [e.what.call_id for e in run.events if _asks(e.what)]
        for call_id in ids:
            began = time.perf_counter()
            decision = next(verdicts).verdict.decision
            if (key := f"{run.id} {call_id}") in calls:
                seconds = time.perf_counter() - began if not queries else None  # a model's are not known
                found[key] = Decided(*calls[key], decision, seconds, queries.get(str(call_id), 0))
    return [found[key] for key in calls]


def ours(policy: str, runs: Sequence[Run], calls: Mapping[str, Call]) -> Iterator[tuple[str, list[Decided]]]:
    """The guards of a policy of the workbench as it is read, and with the decisions of a person."""
    reviewed = OUT / f"{policy}_reviewed"
    reviewed.mkdir(exist_ok=True)
    places = [documents.place(policy) / name for name in ("policy.md", "tools.json")]
    for path in (*places, FIXTURES / policy / "decisions.yaml"):
        shutil.copy(path, reviewed)
    for title, place in (("as read", policy), ("reviewed", str(reviewed))):
        built = wb.build(place)
        yield from ((f"wb {name}, {title}", judged(built.guard(name), runs, calls)) for name in sorted(built.guards))


def _asks(what: object) -> bool:
    return isinstance(what, Asked)


def read(path: Path, runs: Sequence[Run], calls: Mapping[str, Call]) -> list[Decided]:
    """What `wb judge --json` wrote of the same runs, with its queries; only calls with a label are in it."""
    rows = [jsonl.value(line) for line in path.read_text("utf-8").splitlines()]
    told = {(one["run"], one["index"]): one for one in rows}
    found = {}
    for run in runs:
        for index, call_id in enumerate(e.what.call_id for e in run.events if _asks(e.what)):
            if (key := f"{run.id} {call_id}") in calls:
                one = told[run.id, index]
                found[key] = Decided(*calls[key], one["decision"], one.get("seconds"), one.get("queries") or 0)
    return [found[key] for key in calls]


# ---- the suites -----------------------------------------------------------------------------------------------------


def of_airline(given: Mapping[str, Path]) -> Iterator[tuple[str, str, dict[str, list[Decided]]]]:
    """τ-bench's airline: the strict calls of recorded runs."""
    runs, strict = airline.runs(), airline.labels()
    calls = {
        f"{run.id} {call_id}": (call_id, str(strict[call_id]["task_id"]), strict[call_id]["label"] == "violating")
        for run in runs
        for call_id in (event.what.call_id for event in run.events if _asks(event.what))
        if call_id in strict
    }
    methods = {"no guard": [Decided(*call, "allow") for call in calls.values()]}
    cases = {
        "as read": (),
        "reviewed": read_airline.reviewed(late=False),
        "reviewed again": read_airline.reviewed(),  # with two rules that a first measurement asked for
    }
    for title, ruled in cases.items():
        built = wb.build(read_airline.written(OUT / f"airline_{title.replace(' ', '_')}", ruled))
        methods |= {f"wb {name}, {title}": judged(built.guard(name), runs, calls) for name in sorted(built.guards)}
    told_of = [Run(run.id, airline_readings.told(run)) for run in runs]
    lines = map(json.loads, (airline_readings.FOLDER / "answers.jsonl").read_text("utf-8").splitlines())
    asked_of = Counter(row["id"] for row in lines)
    guard, _ = airline_readings.guard(airline_readings.extracted(Mode("", 3)), labelled=True)
    methods["wb, as three blind readers agree"] = judged(guard, told_of, calls, asked_of)
    methods |= dict(outside("airline", runs, calls))
    yield "airline", "strict calls", methods | {name: read(path, runs, calls) for name, path in given.items()}


def of_agent_security(given: Mapping[str, Path]) -> Iterator[tuple[str, str, dict[str, list[Decided]]]]:
    """Agent Security Bench by attack and model: each call of an attacker's tool is an attack that landed."""
    records = list(asb.read(airline.SHARED / "asb" / "trajectories.jsonl.gz"))
    with (airline.SHARED / "common" / "asb" / "agent_tasks.jsonl").open(encoding="utf-8") as lines:
        tasks = {row["agent_name"]: row["tasks"] for row in map(json.loads, lines)}
    known = asb.shuffled(0)
    runs = [Run(record.id, tuple(asb.happened(record, known))) for record in records]
    calls: dict[str, Call] = {}
    for record, run in zip(records, runs, strict=True):
        told = next((one for one in tasks[record.agent] if one in record.user), record.user)
        for what in (event.what for event in run.events if isinstance(event.what, Asked)):
            key = f"{run.id} {what.call_id}"
            calls[key] = (key, f"{record.agent}: {told}", what.label == "deny")
    methods = {"no guard": [Decided(*call, "allow") for call in calls.values()]}
    listed = {f"{run} {call_id}": decision for run, call_id, decision in _listed(records, runs)}
    methods["list of the role's tools"] = [Decided(*call, listed[key]) for key, call in calls.items()]
    methods |= dict(ours(asb.POLICY, runs, calls))
    methods |= dict(outside("agent_security", runs, calls))
    methods |= {name: read(path, runs, calls) for name, path in given.items()}
    yield asb.POLICY, "all", methods
    parts = {record.id: (record.attack, record.model) for record in records}
    for part in sorted(set(parts.values())):
        own = {key for key in calls if parts[key.rsplit(" ", 1)[0]] == part}
        some = {name: [one for one in found if one.id in own] for name, found in methods.items()}
        yield asb.POLICY, ", ".join(part), some


def _listed(records: Sequence[asb.Record], runs: Sequence[Run]) -> Iterator[tuple[str, str, str]]:
    """What the plain list of each role's tools says: it reads the benchmark's own roles; nothing can be above it."""
    for record, run in zip(records, runs, strict=True):
        ids = [event.what.call_id for event in run.events if isinstance(event.what, Asked)]
        called = [call for step in record.steps for call in step.calls]
        for call_id, tool in zip(ids, called, strict=True):
            yield run.id, call_id, "allow" if tool in record.normal_tools else "deny"


def of_hospital(given: Mapping[str, Path]) -> Iterator[tuple[str, str, dict[str, list[Decided]]]]:
    """EICU-AC: the tables and columns that a real agent's code reads, a task a question; its columns were told by
    `wb.bench.eicu`, for all alike."""
    tables, runs, calls = eicu.schema(), [], {}
    for line in (airline.SHARED / "eicu_ac" / "cases.jsonl").read_text("utf-8").splitlines():
        row = jsonl.value(line)
        sample, happened = eicu.run(eicu.Case.model_validate(row), tables)
        asks = iter(range(len(happened)))
        named = [replace(e, what=replace(e.what, call_id=str(next(asks)))) if _asks(e.what) else e for e in happened]
        runs.append(Run(sample.run, tuple(named)))
        for what in (event.what for event in named if _asks(event.what)):
            key = f"{sample.run} {what.call_id}"
            calls[key] = (key, row["question_id"], what.label == "deny")
    methods = {"no guard": [Decided(*call, "allow") for call in calls.values()]}
    methods |= dict(ours(eicu.POLICY, runs, calls))
    methods |= dict(outside("hospital", runs, calls))
    yield eicu.POLICY, "all", methods | {name: read(path, runs, calls) for name, path in given.items()}


SUITES: dict[str, Callable[..., Iterator[tuple[str, str, dict[str, list[Decided]]]]]] = {
    "airline": of_airline,
    "agent_security": of_agent_security,
    "hospital": of_hospital,
}


def keep(tables: Mapping[str, object]) -> None:
    """Put tables into the file that 07 draws where no other is named; those of another name stay."""
    path = ROOT / "notebooks" / paired.MEASURED
    known = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    path.write_text(json.dumps(known | dict(tables), ensure_ascii=False, indent=1) + "\n", "utf-8")


def main() -> None:
    global OUT
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="a folder outside the project for the table and what is built")
    parser.add_argument("--progent", type=Path, help="a checkout of sunblaze-ucb/progent")
    parser.add_argument("--only", choices=sorted(SUITES), help="one suite alone")
    parser.add_argument(
        "--judged", nargs="*", default=(), metavar="SUITE/NAME=FILE", help="what `wb judge --json` wrote"
    )
    parser.add_argument("--keep", action="store_true", help="write notebooks/peers.json as well")
    o = parser.parse_args()
    OUT = o.folder.resolve()
    if o.progent:
        os.environ["PROGENT"] = str(o.progent.resolve())
    OUT.mkdir(parents=True, exist_ok=True)
    given = [(*name.split("/", 1), Path(path)) for name, _, path in (one.partition("=") for one in o.judged)]
    suites = [o.only] if o.only else list(SUITES)
    found = [one for suite in suites for one in SUITES[suite]({name: path for of, name, path in given if of == suite})]
    made: Table = paired.table(found, FINAL)
    (OUT / "peers.json").write_text(json.dumps(made, ensure_ascii=False, indent=1) + "\n", "utf-8")
    if o.keep:
        keep({name: paired.whole(rows) for name, rows in made.items()})
    for name, rows in {**paired.table(found), "rows": made["rows"]}.items():
        pd.DataFrame(rows).to_csv(OUT / f"peers_{name}.csv", index=False)
    for rows in made.values():
        shown = pd.DataFrame(paired.whole(rows))
        print(shown.to_string(index=False, max_colwidth=34, float_format=lambda one: f"{one:.3f}"))


OUT = Path()

if __name__ == "__main__":
    main()
