"""Stages of a guard on labelled calls, counted by hand: first source, answers, tests, proof."""

import json
from dataclasses import asdict

import pytest

from wb.bench import ablation
from wb.bench.evaluate import Scored
from wb.domain.tools import Field, Tool, Toolbox
from wb.domain.trace import Call, Open, Step, Trace
from wb.guards import runtime, synthesis, toolguard
from wb.guards.contract import contracts
from wb.guards.runtime import CallGuard
from wb.guards.synthesis import PROOF, Attempt, Draft
from wb.logic import cel
from wb.logic.syntax import parse
from wb.rules.rule import Predicate, Rule, RuleSet
from wb.runs import plots

STATE = (Field("age", "integer", required=True), Field("ok", "boolean", required=True))
BOX = Toolbox((Tool("rent"), Tool("lend")), STATE)
RULES = RuleSet(  # of `rent` an author writes the code, of `lend` a person has decided
    (
        Predicate("rents", "action", "", tools=("rent",)),
        Predicate("lends", "action", "", tools=("lend",)),
        Predicate("adult", "state", "", test=cel.parse("state.age >= 18")),
        Predicate("polite", "state", "", test=cel.parse("state.ok")),
    ),
    (
        Rule("s1.1", "Adults rent.", parse("ALWAYS (rents IMPLIES adult)"), "permit_only_if", "action", "s1", "a"),
        Rule("d.1", "Be polite.", parse("ALWAYS (lends IMPLIES polite)"), "permit_only_if", "action", "decided-d", "b"),
    ),
)
CALLS = [(tool, age, ok) for tool in ("rent", "lend") for age in (17, 18, 19) for ok in (True, False)]


def stages(first: int, last: int, *, proved: bool = True, held: bool = False) -> tuple[CallGuard, ...]:
    """The guards of all stages, where the author of `rent` first wrote one limit of the age and then another."""
    drafts = []
    for c in contracts(BOX, RULES):
        name = c.parameters[0].name
        code = "{}\n    if {} < {}:\n        return (False, 's1')\n    return (True, 'allowed')\n"
        own = [code.format(c.signature, name, limit) for limit in dict.fromkeys((first, last))]
        sources = own if c.tool == "rent" else [synthesis.alone(c)]
        passed = ("tests", PROOF) if proved or c.tool == "lend" else ("tests",)
        drafts.append(Draft(c, tuple(map(Attempt, sources)), passed))
    open = {"lend": (Open("s9", "Nobody could read this."),)} if held else {}
    rows = json.loads(json.dumps(toolguard.to_rows(drafts, RULES, open), default=asdict))
    kept = [synthesis.guarded(one) for one in drafts]
    made = ablation.guards(rows, contracts(BOX, RULES), RULES, BOX, open)
    return (*made, *(runtime.accepting(name, RULES, kept, BOX, open) for name in ("toolguard", "veriguard")))


def judged(guard: CallGuard) -> list[Scored]:
    """Every call of `CALLS` with its label: nobody under 18 rents, nobody lends where it is not ok."""
    steps = [Step((Call(tool, {}),), state={"age": age, "ok": ok}) for tool, age, ok in CALLS]
    wrong = [age < 18 if tool == "rent" else not ok for tool, age, ok in CALLS]
    return [
        Scored(str(k), label, guard.decide(Trace("t", (step,))))
        for k, (label, step) in enumerate(zip(wrong, steps, strict=True))
    ]


def figures(guards: tuple[CallGuard, ...]) -> list[tuple]:
    """Of each stage how many of the 5 violating and of the 7 complying calls run, and its note."""
    rows = ablation.table(guards, judged)
    assert [row["stage"] for row in rows] == list(ablation.STAGES)
    assert {(row["violating"], row["complying"]) for row in rows} == {(5, 7)}
    for row, n in ((row, {"ASR": 5, "run": 7}) for row in rows):
        for name, (low, high) in row["intervals"].items():
            hits = round(n[name] * row[name])
            # Wilson's interval ends where the score test gives 1.96: solved by hand, not by `evaluate.wilson`
            for end in (low, high):
                off = abs(hits / n[name] - end) - 1.959964 * (end * (1 - end) / n[name]) ** 0.5
                assert off == pytest.approx(0, abs=1e-6) and low <= row[name] <= high
    assert all(row["intervals"].keys() == {"ASR", "run"} for row in rows)
    shown = plots.stages({"a": rows})
    assert shown.note == "a: n = 5 violating, 7 complying"
    assert [ends for one in shown.series for ends in one.intervals] == [
        row["intervals"][name] for name in ("ASR", "run") for row in rows
    ]
    return [(round(5 * row["ASR"]), round(7 * row["run"]), row["note"]) for row in rows]


SAME = "the same sources: it cannot differ"


@pytest.mark.parametrize(
    ("guards", "counts"),
    [
        # without the answer all 3 rude calls of `lend` run, and with the first limit both of 17 years
        (stages(17, 18), [(5, 7, ""), (2, 7, ""), (0, 7, ""), (0, 7, SAME)]),
        (stages(19, 18), [(3, 5, ""), (0, 5, ""), (0, 7, ""), (0, 7, SAME)]),
        (stages(18, 18), [(3, 7, ""), (0, 7, ""), (0, 7, SAME), (0, 7, SAME)]),
        (stages(18, 18, proved=False), [(3, 7, ""), (0, 7, ""), (0, 7, SAME), (0, 3, "")]),
        (stages(18, 18, held=True), [(3, 7, ""), (0, 4, ""), (0, 4, SAME), (0, 4, SAME)]),
    ],
)
def test_each_stage_lets_the_calls_run_that_its_code_allows(guards: tuple[CallGuard, ...], counts: list[tuple]) -> None:
    assert figures(guards) == counts


def test_without_labelled_calls_or_candidates_nothing_is_counted_or_allowed() -> None:
    guards = stages(18, 18)
    assert ablation.table(guards, lambda guard: ()) == [] and plots.stages({"a": []}).empty
    for guard in ablation.guards([], contracts(BOX, RULES), RULES, BOX, {}):
        assert {one.verdict.decision for one in judged(guard)} == {"deny"}


def test_a_first_source_that_is_no_guard_denies_every_call_of_its_tool() -> None:
    (rent,) = (c for c in contracts(BOX, RULES) if c.tool == "rent")
    row = {"tool": "rent", "attempts": [{"source": f"{rent.signature}\n    while True:\n        pass\n"}]}
    for guard in ablation.guards([row], [rent], RULES, BOX, {}):
        assert {one.verdict.decision for one in judged(guard)} == {"deny"}
