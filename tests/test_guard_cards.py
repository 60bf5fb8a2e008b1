"""What is shown of guards, row by row: contracts, items, examples, faults and what may be said of each tool."""

import json
from dataclasses import replace

from test_guard_faults import GUARD, MADE, Answers

from wb.domain import tools
from wb.domain.tools import Tool, Toolbox
from wb.guards import contract, faults
from wb.guards.examples import Example
from wb.guards.runtime import Guarded
from wb.guards.synthesis import Attempt, Complaint, Draft
from wb.logic import cel
from wb.logic.syntax import parse
from wb.rules.items import Item, Reference
from wb.rules.residual import Unguarded
from wb.rules.rule import Predicate, Rule, RuleSet
from wb.runs import guard_cards
from wb.runs.cards import Badge, Quote, Source

BAD = Complaint("proof", "It may be wrong.", (("clerk", False), ("years", 9)), False, "the prover said so")
DRAFT = Draft(MADE, (Attempt("first"), Attempt(GUARD, (BAD,))), ("language", "tests"))

STATE = {
    "blocked": "state.blocked",
    "adult": "state.age >= 18",
    "agreed": 'state.answer == "yes"',
    "asked": "state.age >= 1",
}


def rows(table) -> list[dict]:
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def test_a_guard_shows_its_rules_its_code_and_what_speaks_against_it() -> None:
    card = guard_cards.guard(Guarded(MADE, GUARD, "tested", "not proved yet"), [BAD, replace(BAD, allowed=True)])
    assert (card.title, card.badge) == ("delete_record", "tested")
    parts = list(card.parts)
    assert parts[0] == ("rules", tuple(f"{item.rule}: {item.text}" for item in MADE.items)) and len(MADE.items) == 3
    trusted = tuple(one for parameter in MADE.trusted for one in parameter.trusts)
    assert parts[1:3] == [("code", Source(GUARD, "python")), ("taken on trust", trusted)]
    assert parts[3:] == [
        ("why not better", "not proved yet"),
        ("found by proof", ("It may be wrong.", Source("clerk=False, years=9  must be denied"))),
        ("found by proof", ("It may be wrong.", Source("clerk=False, years=9  must be allowed"))),
    ]
    free = guard_cards.guard(Guarded(replace(MADE, items=()), "", "proved"), [replace(BAD, arguments=())], claim="free")
    assert free.badge == "free" and free.parts[0] == ("rules", ("no rule",))
    assert free.parts[4] == ("found by proof", "It may be wrong.")
    (*_, (_, shown)) = guard_cards.guard(Guarded(MADE, "", "tested"), [replace(BAD, allowed=None)]).parts
    assert shown == ("It may be wrong.", Source("clerk=False, years=9"))


def test_a_draft_says_how_often_it_was_written_and_nothing_before_a_check() -> None:
    assert guard_cards.draft(DRAFT).parts[-1] == ("attempts", "2")
    assert guard_cards.draft(DRAFT).badge == "tested" == guard_cards.draft(DRAFT, 0).badge
    assert guard_cards.draft(DRAFT, 1).badge == "tested for 3 rules, 1 sentence open"
    assert guard_cards.draft(Draft(MADE, (Attempt(GUARD),))).badge == "not checked yet"
    assert guard_cards.draft(Draft(MADE, (Attempt(GUARD, (BAD,)),))).badge == "error"
    assert guard_cards.draft(Draft(MADE, (Attempt(GUARD),), ("language",))).badge == "error"
    few = guard_cards.drafts([DRAFT] * 3, open={"delete_record": ("one",)})
    assert (len(few.cards), few.more) == (2, 1) and few.cards[0].badge.endswith("1 sentence open")
    assert guard_cards.drafts([DRAFT], 2).more == 0


def test_a_contract_shows_its_signature_with_what_it_states_under_it() -> None:
    (card,) = guard_cards.contracts([MADE]).cards
    (_, source), (_, rules) = card.parts
    assert source.text.split("\n")[0] == MADE.signature and len(source.text.split("\n")) > 3
    assert all(line.startswith("    ") for line in source.text.split("\n")[1:]) and source.language == "python"
    assert rules[0] == "c1.1 from c1: c1" and len(rules) == 3


def test_items_and_rules_without_a_guard_are_rows_with_their_words() -> None:
    box = Toolbox((Tool("look", mutating=False), Tool("lend", mutating=True), Tool("ask")))
    found = [
        Item(tool, "A", "A.", (Reference("One.", 0, 4), Reference("Two.", 5, 9)), ("r1", "r2"), "why")
        for tool in ("look", "lend", "ask")
    ]
    shown = rows(guard_cards.items(found, {tool.name: tool.mutating for tool in box.tools}))
    assert [row["tool"] for row in shown] == ["look (reads only)", "lend", "ask (may change something)"]
    expected = {"item": "A", "by": "reading", "references": Quote("One. … Two."), "rules": "r1, r2", "archived": "why"}
    assert expected.items() <= shown[0].items()
    rule = Rule("r1", "Do it.", parse("ALWAYS true"), "forbid", quote="Please do it.")
    lost = [Unguarded("r1", "too late"), Unguarded("r2", "too late")]
    shown = rows(guard_cards.unguarded(lost, RuleSet((), (rule, replace(rule, id="r2", quote="")))))
    assert shown[0] == {"rule": "r1", "sentence": "Please do it.", "why no guard": "too late"}
    assert shown[1]["sentence"] == "Do it."


def test_examples_are_rows_with_their_decision() -> None:
    found = [Example("compliance", "", (("x", "a"),), True), Example("violation", "r1", (("x", 1), ("y", True)), False)]
    assert rows(guard_cards.cases(found)) == [
        {"kind": "compliance", "decision": Badge("allow"), "arguments": Source("x='a'"), "breaks": ""},
        {"kind": "violation", "decision": Badge("deny"), "arguments": Source("x=1, y=True"), "breaks": "r1"},
    ]


def test_candidates_with_rules_come_first_and_abilities_are_counted() -> None:
    kept = [
        {"tool": tool, "grade": "tested", "rules": rules, "examples": [1, 2], "attempts": [1], "reason": "why"}
        for tool, rules in (("look", []), ("pay", ["c1.1"]))
    ]
    first, second = rows(guard_cards.candidates(kept, {"look": ("s1",)}))
    assert first == {
        "tool": "pay", "claim": Badge("tested"), "items": "", "second reading": "", "rules": 1, "examples": 2,
        "attempts": 1, "why not better": "why",
    }  # fmt: skip
    assert (second["tool"], second["claim"]) == ("look", Badge("no rule"))
    tool = {"tool": "pay", "fate": "free", "grade": "proved", "rules": (), "open": ("x",), "allows": "can"}
    (shown,) = rows(guard_cards.abilities([{**tool, "denies": "never", "needs": ("agreed", "adult")}]))
    assert shown == {
        "tool": "pay", "fate": Badge("free"), "claim": Badge("proved"), "items": "", "rules": 0, "open": 1,
        "allows": "can", "denies": "never", "needs to be told": "agreed, adult",
    }  # fmt: skip


def test_a_planted_fault_is_shown_with_both_answers() -> None:
    planted = faults.planted([(MADE, GUARD)])
    shown = (("clerk", True), ("kind", "note"), ("years", 7), ("night", False))
    broken = Draft(MADE, (Attempt(planted.mutant.source, (replace(BAD, arguments=shown, allowed=True),)),))
    card = guard_cards.fault(planted, broken)
    parts = dict(card.parts)
    assert (card.title, card.badge) == ("delete_record", "not proved")
    assert parts["planted"] == Source("years < 7 -> years < 8") and parts["must be"] == "allowed"
    assert parts["the verifier says"] == "the prover said so" and parts["so"] == "It may be wrong."
    assert parts["counterexample"] == Source("clerk=True, kind='note', years=7, night=False")
    assert "(False" in parts["the planted guard answers"] and "(True" in parts["the guard as it was answers"]
    for allowed, wanted in ((False, "denied"), (None, "")):
        again = Draft(MADE, (Attempt(GUARD, (replace(BAD, arguments=(), allowed=allowed),)),))
        parts = dict(guard_cards.fault(planted, again).filled)
        assert parts.get("must be", "") == wanted and not {"counterexample", "the planted guard answers"} & parts.keys()
    passed = guard_cards.fault(planted, Draft(MADE, (Attempt(GUARD),)))
    assert passed.badge == "proved" and [name for name, _ in passed.filled] == ["planted", "code"]
    assert "there is no proved guard to break" in repr(guard_cards.fault(None))


def test_fates_are_shown_worst_first_and_proved_guards_last() -> None:
    fates = faults.judged([(MADE, GUARD)], Answers("unproved", "proved", "timeout"), most=3)
    shown = rows(guard_cards.fates(fates, "Fates"))
    assert [row["fate"].text for row in shown] == ["survived", "unsettled", "refuted"]
    assert shown[0]["tool"] == "delete_record" and shown[0]["differs where"].text.startswith("clerk=")
    assert {"fault": "constant", "change": Source("years < 7 -> years < 8")}.items() <= shown[0].items()
    assert rows(guard_cards.fates([replace(fates[0], witness=())]))[0]["differs where"] == ""
    entries = [Guarded(MADE, GUARD, grade, "why") for grade in ("proved", "error", "tested")]
    shown = rows(guard_cards.grades(entries, open={"delete_record": ("a", "b")}))
    assert [row["claim"].text for row in shown][1:] == ["error", "tested for 3 rules, 2 sentences open"]
    shown = rows(guard_cards.grades(entries))
    assert [row["claim"].text for row in shown] == ["error", "tested", "proved"]
    assert shown[0]["rules"] == 3 and shown[0]["why not better"] == "why"


def test_the_inputs_of_a_guard_are_said_with_what_tells_each() -> None:
    text = {"type": "string"}
    box = tools.parse(
        json.dumps(
            {
                "tools": [
                    {"name": "lend", "mutating": True, "parameters": {"type": "object", "properties": {"id": text}}},
                    {"name": "card", "mutating": False, "parameters": {"type": "object", "properties": {"who": text}}},
                ],
                "state": [
                    {"name": "age", "type": "integer"},
                    {"name": "who", "type": "string"},
                    {"name": "answer", "type": "string", "from": {"said": "user"}},
                    {
                        "name": "blocked",
                        "type": "boolean",
                        "from": {"lookup": "card", "arguments": {"who": "state.who"}, "changed_by": []},
                    },
                ],
            }
        )
    )
    lend = Predicate("lend", "action", "", tools=("lend",))
    state = [Predicate(name, "state", "", test=cel.parse(test)) for name, test in STATE.items()]
    said = "ALWAYS (lend IMPLIES (NOT blocked AND adult AND agreed AND ONCE asked))"
    rules = RuleSet((lend, *state), (Rule("r1", "", parse(said), "forbid"),))
    (row,) = rows(guard_cards.inputs(contract.contracts(box, rules)[:1], rules, box))
    assert row["tool"] == "lend" and row["to be told"] == "age, who" and row["from other tools"] == "blocked (card)"
    assert row["from what is said"] == "answer (what user says)" and row["from what was done"] == ""
    assert row["earlier steps"] == Source("ONCE asked") and not rows(guard_cards.inputs([], rules, box))
