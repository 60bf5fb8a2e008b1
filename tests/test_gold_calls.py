"""The labelled calls for two foreign policies: complete, well formed, one labelled call a run, true to their index."""

from __future__ import annotations

import json
import math
from itertools import groupby
from pathlib import Path

import pytest
from conftest import shared
from jsonschema import Draft202012Validator

GOLD = Path(__file__).parent / "gold"
POLICIES = "retail", "handbook"
CALLS = {"retail": 35, "handbook": 10}  # guardable rules in gold.json, each with a violating and a complying run
ESCAPES = 12
INDEX = json.loads((GOLD / "calls_index.json").read_text(encoding="utf-8"))


def runs(file: str) -> dict[str, list[dict]]:
    """The events of each run of a file; a run's events stand together."""
    lines = (GOLD / file).read_text(encoding="utf-8").splitlines()
    grouped = [(run, list(events)) for run, events in groupby(map(json.loads, lines), key=lambda event: event["run"])]
    assert len(grouped) == len(dict(grouped)), f"{file}: the events of a run stand together"
    return dict(grouped)


def misfits(policy: str, events: list[dict]) -> list[str]:
    """What in a run does not fit the policy's tools and state fields: unknown names, wrong types, infinite numbers."""
    declared = json.loads(shared("data", "policies", policy, "tools.json").read_text(encoding="utf-8"))
    tools = {tool["function"]["name"]: tool["function"]["parameters"] for tool in declared["tools"]}
    fields = {
        field["name"]: {key: field[key] for key in ("type", "enum") if key in field} for field in declared["state"]
    }
    found = []
    for event in events:
        if "state" in event:
            found += unfit({"type": "object", "properties": fields}, event["state"])
        if "call" in event and event["call"]["tool"] not in tools:
            found.append(f"no tool is called {event['call']['tool']!r}")
        elif "call" in event:
            found += unfit(tools[event["call"]["tool"]], event["call"]["arguments"])
    return found


def unfit(schema: dict, values: dict) -> list[str]:
    errors = Draft202012Validator(schema | {"additionalProperties": False}).iter_errors(values)
    infinite = [key for key, value in values.items() if isinstance(value, float) and not math.isfinite(value)]
    return [error.message for error in errors] + [f"{key} is not finite" for key in infinite]


FILES = [
    *(f"calls_{policy}.jsonl" for policy in POLICIES),
    *(f"escapes_{policy}.jsonl" for policy in POLICIES),
    "escapes_nan.jsonl",
]


def test_the_index_names_every_run_once():
    assert sorted(run for file in FILES for run in runs(file)) == sorted(INDEX)


@pytest.mark.parametrize("file", FILES)
def test_a_run_ends_in_its_one_labelled_call(file):
    for run, events in runs(file).items():
        assert [event for event in events if "label" in event] == [events[-1]], run
        assert events[-1]["label"] == ("allow" if INDEX[run]["kind"] == "complying" else "deny"), run
        assert all(len(event.keys() & {"say", "state", "call", "result", "turn"}) == 1 for event in events), run


@pytest.mark.parametrize("file", FILES)
def test_runs_fit_the_tools_unless_they_say_that_they_do_not(file):
    for run, events in runs(file).items():
        found = misfits(INDEX[run]["policy"], events)
        assert bool(found) == ("misfit" in INDEX[run]), (run, found)


@pytest.mark.parametrize("policy", POLICIES)
def test_each_guardable_rule_has_a_violating_and_a_complying_call(policy):
    gold = json.loads(shared("data", "policies", policy, "gold.json").read_text(encoding="utf-8"))
    guardable = {f"{row['id']}.{i}" for row in gold for i, rule in enumerate(row["rules"], 1) if rule["guardable"]}
    assert len(guardable) == CALLS[policy]
    assert set(runs(f"calls_{policy}.jsonl")) == {
        f"{rule}-{kind}" for rule in guardable for kind in ("violating", "complying")
    }
    assert all(run == f"{INDEX[run]['gold']}-{INDEX[run]['kind']}" for run in runs(f"calls_{policy}.jsonl"))
    assert all(INDEX[run]["policy"] == policy for run in runs(f"calls_{policy}.jsonl"))


@pytest.mark.parametrize("policy", POLICIES)
def test_there_are_twelve_escapes(policy):
    escapes = runs(f"escapes_{policy}.jsonl")
    assert len(escapes) == ESCAPES
    assert {INDEX[run]["kind"] for run in escapes} == {"escape"}
    assert {INDEX[run]["policy"] for run in escapes} == {policy}


def test_only_the_file_of_its_own_holds_what_json_does_not_know():
    assert [file for file in FILES if not strict(GOLD / file)] == ["escapes_nan.jsonl"]


def strict(path: Path) -> bool:
    refused = []
    for line in path.read_text(encoding="utf-8").splitlines():
        json.loads(line, parse_constant=refused.append)
    return not refused
