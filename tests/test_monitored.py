"""Real runs under monitors: an airline's agent under twenty rules written by hand, the web cases under their own."""

import json
from pathlib import Path

import pytest
from conftest import shared
from oracles import bits
from oracles.told import valuation

from wb.bench import mind2web
from wb.domain import policy
from wb.domain.trace import Call, Step
from wb.logic import storm
from wb.logic.semantics import Monitor, holds
from wb.offline import reader
from wb.rules import rulefile
from wb.rules.check import check

RULES = rulefile.load(Path(__file__).parent / "rules" / "airline.yaml")


def steps_of(run: dict) -> tuple[Step, ...]:
    """The agent's turns of one recorded run."""
    steps, said = [], ""
    for message in run["messages"]:
        if message["role"] == "user":
            said = (message["content"] or "").lower()
        elif message["role"] == "assistant":
            call, text = message.get("tool_call"), message["content"] or ""
            state = {
                "agreed": "yes" in said,
                "complains": any(word in said for word in ("compensat", "complain", "certificate")),
                "replies": bool(text),
                "calls": call is not None,
            }
            steps.append(Step((Call(call["name"], call["args"]),) if call else (), state, text))
    return tuple(steps)


def names_of(predicates, steps, unknown=False) -> list[frozenset]:
    """Each step as the set of predicates true in it; what is not known as `unknown`."""
    rows = [valuation(predicates, step) for step in steps]
    return [frozenset(name for name, value in row.items() if (unknown if value is None else value)) for row in rows]


def watched(formulas, traces):
    """The final verdicts by monitors and by bits, which must agree with the definition."""
    single = [Monitor(formula) for formula in formulas]
    by_bits = bits.holds_all(formulas, traces)
    found = []
    for i, trace in enumerate(traces):
        for monitor in single:
            monitor.reset()
            for step in trace:
                monitor.step(step)
        verdicts = tuple(monitor.verdict for monitor in single)
        truths = [holds(formula, trace) for formula in formulas]
        assert truths == [verdict.endswith("true") for verdict in verdicts] == by_bits[i].tolist()
        found.append(verdicts)
    return found


@pytest.fixture(scope="module")
def runs():
    path = shared("data", "tau_airline", "runs.jsonl")
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_twenty_rules_monitor_eighty_eight_real_runs_without_an_error(runs):
    assert len(RULES.rules) == 20 and len(runs) == 88
    formulas = [rule.formula for rule in RULES.rules]
    traces = [names_of(RULES.predicates, steps_of(run)) for run in runs]
    verdicts = watched(formulas, traces)
    assert storm.check(formulas, traces) == [[holds(formula, trace) for trace in traces] for formula in formulas]
    broken = {rule.id: sum(row[i] == "permanently_false" for row in verdicts) for i, rule in enumerate(RULES.rules)}
    assert broken["book_people"] == broken["certificate_single"] == broken["something"] == 0, (
        "the tools themselves see to these"
    )
    assert broken["write_agreed"] > 10 and broken["book_searched"] > 0, "a real agent does break rules"


def test_a_verdict_can_be_followed_to_its_step(runs):
    """The monitor turns false at the very turn that changes the record without a yes before it."""
    rule = next(rule for rule in RULES.rules if rule.id == "write_agreed")
    for run in runs:
        monitor = Monitor(rule.formula)
        seen = [monitor.step(step) for step in names_of(RULES.predicates, steps_of(run))]
        guilty = [("writes" in step and "agreed" not in step) for step in names_of(RULES.predicates, steps_of(run))]
        first = guilty.index(True) if True in guilty else None
        assert (seen.index("permanently_false") if "permanently_false" in seen else None) == first


def test_the_hand_written_rules_can_be_kept_and_say_what_they_forbid():
    report = check(RULES)
    assert report.satisfiable and report.vacuous == report.contradictory == report.conflicts == report.undecided == ()
    assert [blame.rule for blame in report.redundant] == ["write_agreed_once"], (
        "kept all the same: it says who may begin"
    )
    assert report.findings == ()


def test_the_web_rules_monitor_the_two_hundred_cases_without_an_error(vectors):
    """Each user meets every tool, one after the other: whatever the turn is taken for, its rules have been followed."""
    handbook = policy.load("web_tasks")
    ruleset = reader.extracted(handbook).ruleset
    cases = mind2web.of_policy("web_tasks", "all").cases
    runs = [
        tuple(Step((Call(tool.name),), case.observation.state) for tool in handbook.toolbox.tools) for case in cases
    ]
    traces = [names_of(ruleset.predicates, steps, unknown) for steps in runs for unknown in (False, True)]
    assert len(cases) == 200 and len(ruleset.rules) > 50
    verdicts = watched([rule.formula for rule in ruleset.rules], traces)
    assert any("permanently_false" in row for row in verdicts)
