"""Decisions on recorded calls as rows and tables, counted by hand."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from test_guarding import RULES
from test_undeclared import TOOLS

from wb.bench.recorded import Judged
from wb.domain.trace import Verdict
from wb.guards.runtime import CallGuard
from wb.runs import verdicts

QUOTES = {"r1": "Only adults may book.", "r2": "pay $10/day " * 50}
SENTENCES = {"s1": "Be kind."}
ALLOW = Verdict("allow", "no rule against it")
JUDGED = (
    Judged("a", 0, "book", "allow", ALLOW),
    Judged("a", 1, "book", "deny", Verdict("deny", "it breaks r1", ("r1",), "proved")),
    Judged("b", 0, "book", "allow", Verdict("deny", "it breaks r1 and r2", ("r1", "r2"))),
    Judged("b", 1, "look", None, Verdict("undecided", "not told", missing=("state.age",), open=("s1",))),
    Judged("b", 2, "", None, Verdict("undecided", "no call for sure", open=("s9",))),
)


def test_a_row_says_all_of_a_decision_and_quotes_what_it_rests_on() -> None:
    assert verdicts.row(JUDGED[1], QUOTES, SENTENCES) == {
        "run": "a",
        "index": 1,
        "tool": "book",
        "decision": "deny",
        "violated": [{"rule": "r1", "quote": "Only adults may book."}],
        "missing": [],
        "open": [],
        "grade": "proved",
        "reason": "it breaks r1",
        "label": "deny",
    }
    row = verdicts.row(JUDGED[3], QUOTES, SENTENCES)
    assert row["missing"] == ["state.age"] and row["open"] == [{"sentence": "s1", "text": "Be kind."}]
    assert "label" not in row and verdicts.row(JUDGED[4], {}, {})["open"] == [{"sentence": "s9", "text": ""}]
    assert verdicts.row(JUDGED[2], {}, {})["violated"] == [{"rule": "r1", "quote": ""}, {"rule": "r2", "quote": ""}]


def test_tables_count_decisions_by_tool_by_label_and_by_what_they_rest_on() -> None:
    tool, label, *reasons = verdicts.tables(iter(JUDGED), QUOTES, SENTENCES, "boats")
    assert tool.title == "boats: 5 calls in 2 runs"
    assert tool.columns == ("tool", "calls", "allowed", "denied", "undecided")
    assert tool.rows == (
        ("(not one for sure)", 1, 0, 0, 1),
        ("book", 3, 1, 2, 0),
        ("look", 1, 0, 0, 1),
        ("all", 5, 1, 2, 2),
    )
    assert label.title == "violating denied 1 of 1: 100.0 % [21, 100]; compliant allowed 1 of 2: 50.0 % [9, 91]"
    assert label.rows == (("to deny", 1, 0, 1, 0), ("to allow", 2, 1, 1, 0))
    assert [(table.title, table.rows) for table in reasons] == [
        ("Rules that were broken", ((2, "Only adults may book."), (1, "pay $10/day " * 8 + "pay…"))),
        ("Open sentences", ((1, "Be kind."), (1, "s9"))),
        ("Facts that would decide", ((1, "state.age"),)),
    ]


def test_the_first_line_names_the_policy_and_says_what_is_undecided_first() -> None:
    waiting = Verdict("undecided", "one sentence is open", open=("s1",))
    twenty = [Judged("a", i, "book", "deny" if i < 10 else "allow", waiting) for i in range(20)]
    twenty[0] = replace(twenty[0], verdict=Verdict("deny", "it breaks r1", ("r1",)))
    assert verdicts.headline(twenty, "boats") == (
        "boats: 19 of 20 labelled calls undecided; of 10 violating 1 denied, 0 allowed, 9 undecided; "
        "of 10 compliant 0 allowed, 0 denied, 10 undecided"
    )
    assert verdicts.headline(JUDGED, "boats") == (
        "boats: 0 of 3 labelled calls undecided; of 1 violating 1 denied, 0 allowed, 0 undecided; "
        "of 2 compliant 1 allowed, 1 denied, 0 undecided"
    )
    assert verdicts.headline(JUDGED[3:], "boats") == "boats: 2 of 2 calls undecided, none of them labelled"
    label = verdicts.tables(twenty, {}, {})[1]
    assert label.title == "violating denied 1 of 10: 10.0 % [2, 40]; compliant allowed 0 of 10: 0.0 % [0, 28]"
    assert "50" not in label.title, "a call that is undecided is not decided rightly"


def test_a_table_without_a_row_is_left_out_and_what_is_left_out_of_one_is_counted() -> None:
    (table,) = verdicts.tables([Judged("a", 0, "book", None, ALLOW)], {}, {})
    assert table.title == "1 call in 1 run" and table.rows == (("book", 1, 1, 0, 0), ("all", 1, 1, 0, 0))
    assert verdicts._counted("T", [f"r{i}" for i in range(11)]).rows[8:] == (("", "and 3 more"),)
    assert verdicts._counted("T", ["r"] * 9).rows == ((9, "r"),)


def test_denials_for_want_of_a_guard_are_told_apart() -> None:
    assert verdicts.denied(JUDGED[1]) == (("book", "deny"),) and verdicts.denied(JUDGED[0]) == ()
    guard = CallGuard("x", RULES, (), frozenset({"proved", "tested"}), TOOLS)
    found = verdicts.unguarded(Counter({("book", "deny"): 2, ("look", None): 1, ("other", "allow"): 1}), guard)
    tools = guard.unguarded
    counted = {("book", "deny"): 2, ("look", None): 1, ("other", "allow"): 1}
    total = sum(n for (tool, _), n in counted.items() if tool in tools)
    assert total and found[0].startswith(f"{total} of 4 denials (2 of them labelled deny) say nothing of the call")
    assert "no tested or proved guard" in found[0] and verdicts.unguarded(Counter(), guard) == ()
    (one,) = verdicts.unguarded(Counter({("book", None): 1}), guard)
    assert one.startswith("1 of 1 denial say nothing")
    assert verdicts.unguarded(Counter({("other_tool", "deny"): 1}), guard) == ()


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"decision": "allow", "open": ("s1",)}, "excludes 'allow'"),
        ({"decision": "allow", "violated": ("r1",)}, "imply 'deny'"),
        ({"decision": "undecided", "violated": ("r1",)}, "imply 'deny'"),
        ({"decision": "maybe"}, "must be allow, deny or undecided"),
        ({"decision": "allow", "reason": ""}, "needs a reason"),
    ],
)
def test_a_verdict_that_contradicts_itself_is_none(given: dict, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Verdict(**{"reason": "so", **given})
    for decision in ("deny", "undecided"):
        assert Verdict(decision, "so", open=("s1",)).open == ("s1",)
