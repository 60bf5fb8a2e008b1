"""What recorded runs name and nobody declared is told, and what is declared is not."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace

import pytest
from test_guarding import GUARDS, RULES

from wb.bench import recorded
from wb.bench.recorded import Undeclared
from wb.domain import events, tools
from wb.domain.trace import Verdict
from wb.guards.runtime import CallGuard, Guarded
from wb.rules import rulefile
from wb.rules.rule import Predicate, RuleSet
from wb.runs import verdicts

TOOLS = tools.parse(
    json.dumps(
        {
            "tools": [
                {
                    "name": "book",
                    "parameters": {
                        "properties": {
                            "hours": {"type": "integer"},
                            "price": {"type": ["number", "null"]},
                            "guests": {"type": "array"},
                            "note": {},
                            "options": {"type": "object"},
                        }
                    },
                },
                {"name": "look"},
            ],
            "state": [{"name": "age", "type": "integer"}, {"name": "member", "type": "boolean"}],
        }
    )
)
PLACE = re.compile(r", first in line \d+, run a")
TOLD = RuleSet((Predicate("has_badge", "state", ""),))


def call(tool, **arguments):
    return {"call": {"tool": tool, "arguments": arguments}}


def state(**values):
    return {"state": values}


def lines(*happened, rules=TOLD):
    text = "\n".join(json.dumps({"run": "a", **one}) for one in happened)
    strange = Undeclared(TOOLS, rules)
    told = [event for run in events.loads(text) for event in run.events]
    assert list(strange.passing(told)) == told, "every event passes"
    return tuple(PLACE.sub("", line) for line in strange.lines())


@pytest.mark.parametrize(
    ("happened", "line"),
    [
        ([call("bok")], "1 call names no tool of tools.json: bok (1×, book?)"),
        (
            [call("bok"), call("zzz"), call("bok")],
            "3 calls name no tool of tools.json: bok (2×, book?), zzz (1×)",
        ),
        (
            [state(membr=True, agee=1)],
            "state fields that are not declared, and count as not told: membr (1×, member?), agee (1×, age?)",
        ),
        (
            [{"turn": {"task": "t", "state": {"colour": "red"}}}],
            "state fields that are not declared, and count as not told: colour (1×)",
        ),
        (
            [call("book", hour=1), call("look", hours=1), call("look", hours=1)],
            "calls that do not fit tools.json, and do not run: look: hours: no argument was required "
            "(2×), book: hour: one of the arguments hours, price, guests, note, options was required (1×)",
        ),
        (
            [state(age="34"), state(age=34.0), state(age="34", member=1), state(age=3, member=True, has_badge="yes")],
            'state fields that do not fit tools.json, and count as not known: age: integer was required; got "34" '
            '(2×), member: boolean was required; got 1 (1×), has_badge: boolean was required; got "yes" (1×)',
        ),
        (
            [call("book", hours=True, guests={}, options=[])],
            "calls that do not fit tools.json, and do not run: book: hours: integer was required; got true; guests: "
            "array was required; got object; options: object was required; got array (1×)",
        ),
    ],
)
def test_what_is_not_declared_is_told_once(happened, line):
    assert lines(*happened) == (line,)


def test_what_is_declared_is_not_told():
    known = {"hours": 1, "price": 2, "guests": [], "note": 7, "options": {}}
    assert lines(state(age=3, member=None, has_badge=True), call("book", **known), call("book", price=None)) == ()
    assert lines(state(has_badge=True), rules=RuleSet()), "a rule has to read it"


def test_of_many_names_the_most_frequent_are_told():
    (line,) = lines(*(state(**{f"field{i}": 1}) for i in range(10)), state(field9=1))
    assert "told: field9 (2×), field0 (1×)" in line and line.endswith(", and 2 more")


def judged(guard, *happened):
    text = "\n".join(json.dumps({"run": "a", **one}) for one in happened)
    return tuple(recorded.judge(guard, (e for run in events.loads(text) for e in run.events)))


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (["deny", "allow"], "2 of 3 denials (1 of them labelled deny) say nothing of the call"),
        ([None, None], "2 of 3 denials say nothing of the call"),
    ],
)
def test_denials_for_want_of_a_guard_are_told_apart(labels, said):
    book = next(one for one in GUARDS if one.contract.tool == "book")
    rest = tuple(one for one in GUARDS if one.contract.tool != "book")
    guard = CallGuard(
        "g", RULES, (Guarded(book.contract, book.source, "error", "its tests fail"), *rest), frozenset({"proved"})
    )
    happened = [call("book") | ({"label": label} if label else {}) for label in labels]
    found = judged(guard, *happened, call("pay"), call("look"))
    assert [j.verdict.decision for j in found] == ["deny", "deny", "deny", "allow"]
    (line,) = verdicts.unguarded(Counter(pair for one in found for pair in verdicts.denied(one)), guard)
    assert line.startswith(said) and line.endswith("its tool has no proved guard, so that every call of it is denied")


def test_denials_by_a_rule_are_not_called_empty():
    guard = CallGuard("g", RULES, GUARDS, frozenset({"proved"}))
    found = judged(guard, call("pay"), call("no_such_tool"))
    assert [j.verdict.decision for j in found] == ["deny", "deny"]
    assert verdicts.unguarded(Counter(pair for one in found for pair in verdicts.denied(one)), guard) == ()


def test_a_row_says_what_was_decided_and_in_whose_words():
    guard = CallGuard("g", RULES, GUARDS, frozenset({"proved"}))
    (found,) = judged(guard, call("pay") | {"label": "deny"})
    (rule,) = found.verdict.violated
    row = verdicts.row(found, {rule: "Never pay unasked."}, {})
    assert row == {
        "run": "a",
        "index": 0,
        "tool": "pay",
        "decision": "deny",
        "violated": [{"rule": rule, "quote": "Never pay unasked."}],
        "missing": [],
        "open": [],
        "grade": "proved",
        "reason": found.verdict.reason,
        "label": "deny",
    }
    held = replace(found, verdict=Verdict("undecided", "it is open", missing=("age",), open=("s1", "s2")), label=None)
    row = verdicts.row(held, {}, {"s1": "Be kind."})
    assert row["open"] == [{"sentence": "s1", "text": "Be kind."}, {"sentence": "s2", "text": ""}]
    assert row["missing"] == ["age"] and row["violated"] == [] and "label" not in row


def test_one_call_of_one_run_is_in_the_singular():
    guard = CallGuard("g", RULES, GUARDS, frozenset({"proved"}))
    assert verdicts.tables(judged(guard, call("look")), {}, {})[0].title == "1 call in 1 run"
    both = judged(guard, call("pay") | {"label": "deny"}, call("look"))
    titles = [table.title for table in verdicts.tables(both, {}, {})]
    assert titles[0] == "2 calls in 1 run" and titles[1].startswith("violating denied 1 of 1: 100.0 %")


ASKING = tools.parse(
    json.dumps(
        {
            "tools": [
                {
                    "name": "get_patient",
                    "mutating": False,
                    "parameters": {"type": "object", "properties": {"id": {"type": "string"}, "x": {"type": "string"}}},
                },
                {"name": "charge", "parameters": {"properties": {"id": {"type": "string"}}}},
                {"name": "list_all", "mutating": False},
            ],
            "state": [
                {"name": "p", "type": "object", "from": {"lookup": "get_patient", "arguments": {"id": "call.id"}}}
            ],
        }
    )
)


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("get_patient", {"id": "a"}, ""),
        ("get_patientt", {"id": "a"}, '"get_patientt": there is no such tool, get_patient?'),
        ("zzz", {"id": "a"}, '"zzz": there is no such tool'),
        ("charge", {"id": "a"}, 'charge: a tool with "mutating": false was required'),
        ("get_patient", {"x": "a"}, 'get_patient: the arguments (id) were required; got ("x")'),
        ("get_patient", {}, "get_patient: the arguments (id) were required; got ()"),
        ("get_patient", {"id": 1}, "get_patient: id: string was required; got 1"),
        ("list_all", {}, "list_all: no field is looked up there"),
    ],
)
def test_a_lookup_that_no_session_asks_is_told(tool: str, arguments: dict, said: str) -> None:
    text = json.dumps({"run": "a", "lookup": {"tool": tool, "arguments": arguments, "value": {}}})
    strange = Undeclared(ASKING, RuleSet())
    assert len(list(strange.passing(event for run in events.loads(text) for event in run.events))) == 1
    title = "lookups that no field of the state comes from, and that tell nothing"
    assert strange.lines() == ((f"{title}: {said} (1×, first in line 1, run a)",) if said else ())


def test_what_is_told_of_a_field_with_a_source_is_not_read_and_counted() -> None:
    told = [{"p": {"id": "a"}}, {"p": None}, {"p": 3}, {}]
    text = "\n".join(json.dumps({"run": f"run {n}", "state": values}) for n, values in enumerate(told))
    strange = Undeclared(ASKING, RuleSet())
    list(strange.passing(event for run in events.loads(text) for event in run.events))
    title = "state fields with a source in tools.json, of which what is told is not read"
    assert strange.lines() == (f"{title}: p (2×, first in line 1, run run 0)",)


GONE = "state fields that an earlier state of the run told and a later one leaves out, and count as not told"


@pytest.mark.parametrize(
    ("states", "line"),
    [
        ([{"age": 1, "member": True}, {"age": 2}, {"age": 3}], f"{GONE}: member (1×)"),
        ([{"age": 1}, {}, {"age": 1}, {}], f"{GONE}: age (2×)"),
        ([{"age": 1}, {"age": None, "member": True}], ""),  # that it is not known any more was told
        ([{"age": None}, {}], ""),
        ([{"age": 1}, {"member": True, "age": 1}], ""),
    ],
)
def test_what_a_later_state_leaves_out_is_counted(states: list[dict], line: str) -> None:
    assert lines(*(state(**one) for one in states)) == ((line,) if line else ())


def test_a_state_of_another_run_or_of_a_field_with_a_source_leaves_nothing_out() -> None:
    for runs, field in ((("a", "b"), "member"), (("a", "a"), "p")):
        rows = [{"run": run, "state": values} for run, values in zip(runs, ({field: True}, {}), strict=True)]
        strange = Undeclared(ASKING, RuleSet())
        told = events.loads("\n".join(map(json.dumps, rows)))
        list(strange.passing(event for run in told for event in run.events))
        assert not [line for line in strange.lines() if line.startswith(GONE)]


def test_each_thing_has_the_line_and_run_where_it_came_first() -> None:
    rows = [("b", call("look")), ("a", call("bok")), ("b", call("bok")), ("ü", state(agee=1)), ("b", state(agee=2))]
    text = "\n\n".join(json.dumps({"run": run, **row}) for run, row in rows)
    strange = Undeclared(TOOLS, TOLD)
    list(strange.passing(sorted((e for r in events.loads(text) for e in r.events), key=lambda event: event.line)))
    assert strange.lines() == (
        "2 calls name no tool of tools.json: bok (2×, first in line 3, run a, book?)",
        'state fields that are not declared, and count as not told: agee (2×, first in line 7, run "\\u00fc", age?)',
    )


CLOCK = tools.parse('{"tools": [{"name": "pay"}], "state": [{"name": "now", "type": "string", "from": "clock"}]}')
UNTIMED = """
predicates:
  pay: {kind: action, tools: [pay]}
  late: {kind: state, test: 'now > timestamp("2026-01-01T00:00:00Z")'}
rules:
  - {id: r, formula: "FORMULA", modality: forbid}
"""


@pytest.mark.parametrize(
    ("formula", "timed"),
    [("ALWAYS (pay IMPLIES late)", True), ("ALWAYS COUNT[<= 1, 2h] pay", True), ("ALWAYS COUNT[<= 1] pay", False)],
)
@pytest.mark.parametrize("box", [CLOCK, replace(CLOCK, state=())], ids=["a clock", "none"])
def test_calls_without_a_time_are_told_where_a_rule_reads_the_clock(formula: str, timed: bool, box) -> None:
    told = UNTIMED.replace("FORMULA", formula)
    if "late" not in formula:
        told = re.sub("  late: .*\n", "", told)
    rows = [{**call("pay"), "time": "2026-01-01T00:00:00Z"}, call("pay"), call("pay")]
    text = "\n".join(json.dumps({"run": "a", **row}) for row in rows)
    strange = Undeclared(box, rulefile.loads(told))
    list(strange.passing(event for run in events.loads(text) for event in run.events))
    said = 'calls without a "time", which rules ask for: pay (2×, first in line 2, run a)'
    assert strange.lines() == ((said,) if timed and box is CLOCK else ())
