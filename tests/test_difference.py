"""Two versions of a policy: what changed, what follows of it, which recorded calls are decided otherwise."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wb.bench import recorded
from wb.domain import events
from wb.domain.tools import Field, Tool, Toolbox
from wb.guards import contract, synthesis
from wb.guards.runtime import CallGuard
from wb.guards.synthesis import Attempt, Draft
from wb.logic import cel, syntax
from wb.rules import sentences
from wb.rules.rule import Predicate, Rule, RuleSet
from wb.rules.sentences import Account
from wb.runs import verdicts
from wb.runs.verdicts import Side

BOX = Toolbox((Tool("pay"), Tool("lend"), Tool("look")), (Field("age", "integer"),))


def rules(limit: int, *tools: str) -> RuleSet:
    """Each of the tools needs that age."""
    adult = Predicate("adult", "state", "", test=cel.parse(f"state.age >= {limit}"))
    acts = tuple(Predicate(name, "action", "", tools=(name,)) for name in tools)
    made = [
        Rule(f"{name}.1", f"Only adults {name}.", syntax.parse(f"ALWAYS ({name} IMPLIES adult)"), "forbid", clause=name)
        for name in tools
    ]
    return RuleSet((adult, *acts), tuple(made))


def accounts(*texts: str, cls: str = "rule", read: dict[str, str] | None = None) -> tuple[Account, ...]:
    """Sentences named by their words, as those of a document are; `read` gives the rule of a sentence."""
    seen: Counter[str] = Counter()
    found = []
    for text in texts:
        seen[text] += 1
        name = f"{text}-{seen[text]}" if seen[text] > 1 else text
        found.append(Account(name, text, 0, 1, (), cls, "by hand", tuple(filter(None, [(read or {}).get(text)]))))
    return tuple(found)


def guard(ruleset: RuleSet, code: str, waiting: tuple[Account, ...] = ()) -> CallGuard:
    drafts = [
        Draft(
            one, (Attempt(f"{one.signature}\n{code if one.items else ''}    return (True, 'allowed')\n"),), ("proof",)
        )
        for one in contract.contracts(BOX, ruleset)
    ]
    made = tuple(replace(synthesis.guarded(draft), grade="proved") for draft in drafts)
    return CallGuard("veriguard", ruleset, made, frozenset({"proved"}), BOX, sentences.open_on(waiting))


def code(limit: int) -> str:
    return f"    if age < {limit}:\n        return (False, 'c')\n"


OLD = Side(
    accounts("Only adults pay.", "Only adults lend.", "We are old.", read={"Only adults pay.": "pay.1"}),
    rules(18, "pay"),
)
NEW = Side(
    accounts("Only adults pay.", "Only grown adults lend.", "Be kind.", read={"Only adults pay.": "pay.1"}),
    rules(21, "pay"),
)


def test_each_sentence_is_told_by_what_became_of_it_and_what_is_as_it_was_is_not() -> None:
    found = verdicts.sentences(OLD, NEW)
    assert [(c.what, c.old and c.old.text, c.new and c.new.text) for c in found] == [
        ("read otherwise", "Only adults pay.", "Only adults pay."),
        ("changed", "Only adults lend.", "Only grown adults lend."),
        ("new", None, "Be kind."),
        ("gone", "We are old.", None),
    ]
    assert [(c.before, c.after) for c in found[:1]] == [
        (
            ("ALWAYS (pay IMPLIES adult) where adult: state.age >= 18",),
            ("ALWAYS (pay IMPLIES adult) where adult: state.age >= 21",),
        )
    ]
    assert verdicts.sentences(OLD, OLD) == verdicts.sentences(NEW, NEW) == ()


def test_another_class_is_another_reading_and_another_heading_another_place() -> None:
    (waiting,) = accounts("Only adults pay.", cls="open")
    (moved,) = (replace(one, id="under another heading") for one in accounts("Only adults pay."))
    side = Side(accounts("Only adults pay."), RuleSet())
    assert [c.what for c in verdicts.sentences(side, Side((waiting,), RuleSet()))] == ["read otherwise"]
    assert [c.what for c in verdicts.sentences(side, Side((moved,), RuleSet()))] == ["in another place"]


def test_a_rule_that_was_merged_into_another_is_found_by_its_parents() -> None:
    (rule,) = rules(18, "pay").rules
    merged = RuleSet(rules(18, "pay").predicates, (replace(rule, id="merged", parents=("pay.1", "lend.1")),))
    side = Side(accounts("Only adults pay.", "Only adults lend.", read={"Only adults lend.": "lend.1"}), merged)
    assert [side.of(one) for one in side.sentences] == [
        (),
        ("ALWAYS (pay IMPLIES adult) where adult: state.age >= 18",),
    ]


WORDS = st.lists(st.sampled_from(["pay now", "lend books", "never swim", "do not run", "a bell rings"]), max_size=9)


@given(WORDS, WORDS)
def test_every_sentence_of_both_versions_is_as_it_was_or_told_once(old: list[str], new: list[str]) -> None:
    before, after = Side(accounts(*old), RuleSet()), Side(accounts(*new), RuleSet())
    found = verdicts.sentences(before, after)
    for mine, other, side in ((before, after, "old"), (after, before, "new")):
        told = [getattr(change, side).id for change in found if getattr(change, side) is not None]
        kept = {one.id for one in mine.sentences} & {one.id for one in other.sentences}
        assert sorted(told) == sorted({one.id for one in mine.sentences} - kept)
    assert all((c.old is None) is (c.what == "new") and (c.new is None) is (c.what == "gone") for c in found)


def test_of_a_block_too_large_to_compare_only_what_stands_at_the_same_place_is_paired(monkeypatch) -> None:
    monkeypatch.setattr(verdicts, "PAIRS", 1)
    old, new = (
        Side(accounts("Pay in cash.", "Lend books."), RuleSet()),
        Side(accounts("Lend two books.", "Lend no books."), RuleSet()),
    )
    assert [c.what for c in verdicts.sentences(old, new)] == ["new", "changed", "gone"]


def test_guards_that_follow_are_named_with_the_sentences_that_bear_on_them() -> None:
    waiting = accounts("Look twice.", cls="open")
    waiting = tuple(replace(one, tools=("look",)) for one in waiting)
    old, new = guard(rules(18, "pay", "lend"), code(18)), guard(rules(18, "pay"), code(18), waiting)
    assert verdicts.guards(old, new) == (
        verdicts.Followed("lend", "proved", "free", ("Only adults lend.",), ()),
        verdicts.Followed("look", "free", "no rule", (), ("Look twice. (open)",)),
    )
    assert verdicts.guards(old, old) == ()
    raised = verdicts.guards(old, guard(rules(21, "pay", "lend"), code(21)))
    assert [(row.tool, row.gone, row.new) for row in raised] == [
        (tool, (f"Only adults {tool}.",), (f"Only adults {tool}.",)) for tool in ("lend", "pay")
    ]


@pytest.mark.parametrize(
    ("limits", "expected"),
    [((18, 21), [("19", "allow", "deny")]), ((21, 18), [("19", "deny", "allow")]), ((18, 18), [])],
)
def test_recorded_calls_that_are_decided_otherwise_are_named_with_both_verdicts(limits, expected) -> None:
    rows = [
        row
        for age in (17, 19, 22)
        for row in (
            {"run": str(age), "state": {"age": age}},
            {"run": str(age), "call": {"tool": "pay", "arguments": {}}},
        )
    ]
    happened = [event for run in events.loads("\n".join(map(json.dumps, rows))) for event in run.events]
    both = [guard(rules(limit, "pay"), code(limit)) for limit in limits]
    found = verdicts.calls(*(recorded.judge(one, happened) for one in both))
    assert [(row.new.run, row.old.verdict.decision, row.new.verdict.decision) for row in found] == expected
    titles = [table.title for table in verdicts.changed((), verdicts.guards(*both), found)]
    assert titles == (["1 guard not as before", "1 call decided otherwise"] if expected else [])
    told = verdicts.to_json(verdicts.sentences(OLD, NEW), verdicts.guards(*both), found)
    assert json.loads(json.dumps(told))["calls"] == [
        {
            "run": run,
            "index": 0,
            "tool": "pay",
            "label": None,
            "old": {"decision": was, "reason": found[0].old.verdict.reason},
            "new": {"decision": now, "reason": found[0].new.verdict.reason},
        }
        for run, was, now in expected
    ]


def test_what_changed_is_shown_in_tables_with_their_counts_and_as_json() -> None:
    changes = verdicts.sentences(OLD, NEW)
    sentences, rules = verdicts.changed(changes, (), policies="a to b")
    assert sentences.title == "a to b: 4 sentences not as before"
    assert [sentences.columns, *sentences.rows] == [
        ("sentence", "what", "was", "is", "text"),
        ("Only adults pay.", "read otherwise", "rule", "rule", "Only adults pay."),
        ("Only grown adults lend.", "changed", "rule", "rule", "Only grown adults lend."),
        ("Be kind.", "new", "", "rule", "Be kind."),
        ("We are old.", "gone", "rule", "", "We are old."),
    ]
    assert rules.title == "a to b: Rules that went (-) and came (+)" and rules.rows == (
        ("- ALWAYS (pay IMPLIES adult) where adult: state.age >= 18",),
        ("+ ALWAYS (pay IMPLIES adult) where adult: state.age >= 21",),
    )
    same = replace(changes[0], before=("x", "y"), after=("y", "x"))
    assert [table.title for table in verdicts.changed([same], ())] == ["1 sentence not as before"]
    assert verdicts.changed((), ()) == ()
    long = "pay $10 " * 20
    followed = [
        verdicts.Followed("lend", "proved", "free", (long, "b"), ()),
        verdicts.Followed("p", "", "", (), ("w" * verdicts.SHOWN,)),
    ]
    (table,) = verdicts.changed((), followed)
    assert table.title == "2 guards not as before" and table.rows[1][3:] == ("", "w" * verdicts.SHOWN)
    assert table.rows[0] == ("lend", "proved", "free", "pay $10 " * 12 + "pay…", "")
    shown = json.loads(json.dumps(verdicts.to_json(changes, followed)))
    assert [(row["what"], row["old"] and row["old"]["id"]) for row in shown["sentences"]][2:] == [
        ("new", None),
        ("gone", "We are old."),
    ]
    after = ["ALWAYS (pay IMPLIES adult) where adult: state.age >= 21"]
    read = {"id": "Only adults pay.", "text": "Only adults pay.", "class": "rule", "rules": after}
    assert shown["sentences"][0]["new"] == read and shown["calls"] == []
    assert shown["guards"][0] == {"tool": "lend", "before": "proved", "after": "free", "gone": [long, "b"], "new": []}
