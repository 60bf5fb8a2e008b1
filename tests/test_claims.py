"""*Proved* is said only of a tool that has rules and no open sentence, wherever a person or a program reads a grade."""

from __future__ import annotations

import io
import json
import re

from wb.bench import recorded, summary
from wb.domain import events
from wb.domain.tools import Field, Tool, Toolbox
from wb.guards import contract, runtime, synthesis, toolguard
from wb.guards.runtime import CallGuard
from wb.guards.synthesis import Attempt, Draft
from wb.logic import cel, semantics
from wb.rules import sentences
from wb.rules.rule import Predicate, Rule, RuleSet
from wb.rules.sentences import Account
from wb.runs import artifact, cards, guard_cards, report, verdicts
from wb.runs.report import Outcome

BOX = Toolbox(tuple(Tool(name) for name in ("pay", "lend", "look", "rest", "post")), (Field("age", "integer"),))
PREDICATES = (
    *(Predicate(name, "action", "", tools=(name,)) for name in ("pay", "lend", "post")),
    Predicate("adult", "state", "", test=cel.parse("state.age >= 18")),
)
RULES = RuleSet(
    PREDICATES,
    tuple(
        Rule(
            f"c{i}.1",
            f"Only adults {name}.",
            semantics.parse(f"ALWAYS ({name} IMPLIES adult)"),
            "forbid",
            clause=f"c{i}",
        )
        for i, name in enumerate(("pay", "lend", "post"))
    ),
)
READINGS = (Account("0" * 12, "Never at night.", 0, 15, (), "open", "not read", (), ("lend", "look")),)
OPEN = sentences.open_on(READINGS)
CLAIMS = {
    "pay": "proved",
    "lend": "proved for 1 rule, 1 sentence open",
    "look": "no rule",
    "rest": "free",
    "post": "error",
}
CODE = "    if age < 18:\n        return (False, 'c')\n    return (True, 'allowed')\n"


def draft(made: contract.Contract) -> Draft:
    """A guard that proved; none was written for `post`."""
    code = CODE if made.items else "    return (True, 'allowed')\n"
    one = Draft(made, (Attempt(f"{made.signature}\n{code}"),), ("language", "tests", "proof"))
    return (
        one if made.tool != "post" else Draft(made, (Attempt("no code", (synthesis.Complaint("language", "none"),)),))
    )


DRAFTS = tuple(draft(made) for made in contract.contracts(BOX, RULES))
GUARDED = tuple(map(synthesis.guarded, DRAFTS))
GUARD = CallGuard("veriguard", RULES, GUARDED, frozenset({"proved"}), BOX, OPEN)
CALLS = [{"run": tool.name, "call": {"tool": tool.name, "arguments": {}}} for tool in BOX.tools]


def badges(table: cards.Table) -> dict[str, str]:
    return {tool: badge.text for tool, badge in zip(table.frame["tool"], table.frame["claim"], strict=True)}


def test_every_place_that_shows_a_grade_shows_the_claim() -> None:
    told = summary.summary("p", "offline", BOX, READINGS, RULES, RULES, GUARDED)
    runs = events.loads("\n".join(map(json.dumps, CALLS)))
    stream = [event for run in runs for event in run.events]
    log = io.StringIO()
    session = GUARD.session(log=log)
    for tool in BOX.tools:
        session.call(tool.name, {})
    judged = [verdicts.row(one, {}, {}) for one in recorded.judge(GUARD, stream)]
    rows = toolguard.to_rows(DRAFTS, RULES, OPEN)
    places = {
        "the guard": GUARD.claims(),
        "wb judge --json": {row["tool"]: row["grade"] for row in judged},
        "the log of a session": {row["tool"]: row["grade"] for row in map(json.loads, log.getvalue().splitlines())},
        "summary.json": {tool.tool: tool.grade for tool in told.tools},
        "the candidates of 05": badges(guard_cards.candidates(rows, OPEN)),
        "the guards of 06": badges(guard_cards.grades(GUARDED, open=OPEN)),
        "what came of the tools, in 06": badges(guard_cards.abilities(told.tools)),
        "the guards of 07": badges(guard_cards.claims(GUARD)),
        "a card": {
            one.contract.tool: guard_cards.draft(one, len(OPEN.get(one.contract.tool, ()))).badge for one in DRAFTS
        },
    }
    for place, claims in places.items():
        assert claims == CLAIMS, place
    rows_ = json.loads(artifact.dumps(told, "summary"))
    page = report.macros().tools(Outcome(RULES, None, rows_), "")
    parts = dict(re.findall(r'<details id="tool-(\w+)">(.*?)</details>', page, re.DOTALL))
    for tool, part in parts.items():
        words = " ".join(re.sub(r"<[^>]+>", " ", part).split())
        assert re.search(rf"\b{tool} {CLAIMS[tool]}(;| )", words), (tool, words)
        assert ("proved" in words) == (tool in ("pay", "lend")) and "proved;" not in parts["lend"], (tool, words)
    assert parts.keys() == CLAIMS.keys()
    counts = runtime.counted(CLAIMS.values())
    assert (counts["proved"], counts["proved in part"], counts["no rule"], counts["free"], counts["error"]) == (1,) * 5
    assert dict(summary.lines(rows_))["proved"].startswith("1 of 3 tools with rules")


def test_what_no_check_has_seen_is_neither_proved_nor_an_error() -> None:
    unseen = Draft(DRAFTS[2].contract, (Attempt(DRAFTS[2].source),))
    assert guard_cards.draft(unseen).badge == "not checked yet"
    assert guard_cards.draft(DRAFTS[2]).badge == "free" and guard_cards.draft(DRAFTS[2], 2).badge == "no rule"
    assert guard_cards.draft(DRAFTS[4]).badge == "error"
