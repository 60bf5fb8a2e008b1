"""Decisions of a person: read with the line of every mistake, honoured, reported when stale, drafted."""

import json
import os
import re
import textwrap
from collections.abc import Sequence
from dataclasses import replace

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from wb import paths
from wb.domain import policy
from wb.domain import tools as declared
from wb.domain.tools import Field, Schema, Tool, Toolbox
from wb.logic import cel
from wb.logic.syntax import parse, render
from wb.offline import reader
from wb.rules import decisions, extract, sentences, vocabulary
from wb.rules.decisions import DecisionError, Ruling
from wb.rules.rule import Predicate, Rule, RuleSet

BOX = Toolbox(tools=(Tool("pay_invoice"), Tool("send_letter"), Tool("greet")), state=(Field("approved", "boolean"),))
TEXT = "Never pay by moonlight. Letters go out on Fridays only. You must never hum."
SOURCE = policy.of_text(TEXT, BOX)


def read(source: policy.Policy, made: Sequence[Ruling] = ()) -> sentences.Classified:
    """The sentences of a document as the grammar reads them, under a person's decisions."""
    return sentences.classify(source, reader.extracted(source), made)


OPEN = read(SOURCE).accounts


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "large"])
@pytest.mark.parametrize("name", ["decisions.yaml", "tools.json", "policy.md", "vocabulary.yaml"])
def test_what_is_no_file_is_refused_and_never_waited_for(tmp_path, kind: str, name: str, monkeypatch) -> None:
    (tmp_path / "policy.md").write_text(TEXT)
    (tmp_path / name).unlink(missing_ok=True)
    make = {"pipe": os.mkfifo, "device": lambda path: path.symlink_to("/dev/zero"), "folder": os.mkdir}
    make.get(kind, lambda path: path.write_bytes(b" " * (paths.LARGEST + 1)))(tmp_path / name)
    with pytest.raises(ValueError, match="no regular file|[Ii]s a directory|more than|required|asked for"):
        source = policy.load(tmp_path, document="policy.md")
        decisions.load(tmp_path / "decisions.yaml", source)
        vocabulary.load(tmp_path / "vocabulary.yaml", source.toolbox)


PAY, LETTERS, HUM = OPEN


def entry(reading: sentences.Account, **given: object) -> str:
    return yaml.safe_dump({"decisions": [{"id": reading.id, "text": reading.text, **given}]}, sort_keys=False)


def loaded(text: str) -> tuple[Ruling, ...]:
    return decisions.loads(text, SOURCE)


def own(tool: str = "pay_invoice") -> dict[str, object]:
    return {
        "decision": "rule",
        "why": "by hand",
        "predicates": {"pays": {"kind": "action", "tools": [tool]}, "approved": {"kind": "state"}},
        "rules": [{"formula": "ALWAYS (pays IMPLIES approved)", "modality": "permit_only_if"}],
    }


def classes(*made: Ruling) -> list[str]:
    return [r.cls for r in read(SOURCE, made).accounts]


def test_each_decision_gives_its_class_and_no_other_sentence_changes() -> None:
    assert [r.cls for r in OPEN] == ["open"] * 3
    (waived,) = loaded(entry(HUM, decision="waive", why="the manager listens"))
    assert classes(waived) == ["open", "open", "waived"]
    (plain,) = loaded(entry(LETTERS, decision="not a constraint", why="it tells of the post"))
    assert classes(plain, waived) == ["open", "not a constraint", "waived"]
    (ruled,) = loaded(entry(PAY, **own()))
    assert classes(ruled) == ["rule", "open", "open"]


def test_a_rule_of_a_person_quotes_its_sentence_and_joins_the_predicates_there_are() -> None:
    (made,) = loaded(entry(PAY, **own()))
    (again,) = loaded(entry(HUM, **own("greet")))
    readings, ruleset = read(SOURCE, (made, again))
    assert [render(r.formula) for r in ruleset.rules] == [
        "ALWAYS (pays IMPLIES approved)",
        "ALWAYS (pays_2 IMPLIES approved)",
    ]
    assert [r.quote for r in ruleset.rules] == [PAY.text, HUM.text]
    assert readings[0].rules == (ruleset.rules[0].id,) and readings[0].tools == ("pay_invoice",)
    assert readings[2].tools == ("greet",)


def test_the_example_of_the_module_is_read() -> None:
    text = decisions.__doc__.partition("\n\n")[2].partition("\n\n")[0]
    waived, ruled = loaded(textwrap.dedent(text))
    assert (waived.decision, ruled.decision) == ("waive", "rule")
    assert decisions.fragment(ruled).predicate("manager").test is not None


def test_rules_of_a_waived_sentence_are_no_longer_enforced() -> None:
    source = policy.of_text("Never greet.", BOX)
    (one,), ruleset = read(source)
    assert one.cls == "rule" and ruleset.rules
    waived = decisions.loads(entry(one, decision="waive", why="moved to the bank"), source)
    assert read(source, waived).ruleset.rules == ()


def test_a_decision_about_other_words_is_stale_and_has_no_effect() -> None:
    (made,) = loaded(entry(replace(HUM, text="You must never whistle."), decision="waive", why="x"))
    (gone,) = loaded(entry(replace(HUM, id="0" * 12), decision="waive", why="x"))
    (kept,) = loaded(entry(PAY, decision="waive", why="x"))
    assert sentences.settled(SOURCE, (made, gone, kept)) == ((kept,), (made, gone))
    assert classes(made, gone) == ["open"] * 3
    folded = replace(PAY, text="Never   pay by\n moonlight.")
    (same,) = loaded(entry(folded, decision="waive", why="x"))
    assert classes(same)[0] == "waived"


def test_a_draft_names_the_worst_first_and_decides_nothing_until_it_is_filled_in() -> None:
    told = [replace(row, tools=("send_letter",)) if row == LETTERS else row for row in OPEN]
    text = decisions.draft(told, BOX)
    rows = yaml.safe_load(text)["decisions"]
    assert [row["text"] for row in rows] == [PAY.text, HUM.text, LETTERS.text]
    assert decisions.loads(text, SOURCE) == ()
    assert "blocks all 3 tools" in text and "blocks 1 of 3 tools: send_letter" in text
    filled = text.replace("decision:\n    why:\n", "decision: waive\n    why: because\n", 1)
    assert [d.id for d in loaded(filled)] == [PAY.id]
    assert loaded(decisions.draft((), BOX)) == ()


@settings(max_examples=60)
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip), st.text())
@example("0", "\x1b \u2028 # : '")
def test_a_draft_of_any_words_is_a_file_that_speaks_of_them(text: str, reason: str) -> None:
    reading = replace(PAY, text=text, reason=reason)
    drafted = decisions.draft((reading,), BOX)
    assert loaded(drafted) == ()
    (made,) = loaded(drafted.replace("decision:\n    why:\n", "decision: waive\n    why: x\n", 1))
    assert made.speaks_of(text)


def test_the_form_of_a_rule_stands_once_in_the_draft_and_is_a_rule_when_it_is_uncommented() -> None:
    drafted = decisions.draft(OPEN, BOX)
    assert drafted.count("predicates:") == drafted.count("formula:") == 1 and drafted.count("  - id:") == 3
    assert sum(line.startswith("  # ") for line in drafted.splitlines()) == 2 * 3, "two remarks an entry"
    form = [line[1:] for line in drafted.splitlines() if line.startswith("#     ")]
    start = next(i for i, line in enumerate(form) if "decision: rule" in line)
    rule = "\n".join(line[1:] for line in form[start:])
    rule = rule.replace("[...]", "[pay_invoice]").replace("state.age >= 18", "state.approved")
    (made,) = loaded(f'decisions:\n  - id: "{PAY.id}"\n    text: {PAY.text}\n    why: by hand\n{rule}\n')
    (joined,) = read(SOURCE, (made,)).ruleset.rules
    assert render(joined.formula) == "ALWAYS (does_it IMPLIES may_do_it)" and joined.quote == PAY.text


TABLE = """# Machines

The assistant must not do any of the following:

- paying at night
- paying twice

| Machine | Age | Longest |
|---|---|---|
| Pen | 8 | 2 hours |
| Saw | 18 | 2 hours |
"""


def test_a_draft_says_where_each_piece_stands() -> None:
    entries = {row.partition("text: ")[2].partition("\n")[0]: row for row in placed(TABLE)}
    assert "in the column “Longest”, in the row with Machine “Saw”, Age “18”" in placed(TABLE)[-1]
    assert "in the column “Age”, in the row with Machine “Pen”, Longest “2 hours”" in entries['"8"']
    assert (
        "# stands under Machines, in the list “The assistant must not do any of the following:”"
        in entries['"paying twice"']
    )


def placed(text: str) -> list[str]:
    """The entries of a draft about every piece of the text, taken as open, in its order."""
    readings = read(policy.of_text(text, BOX)).accounts
    drafted = decisions.draft((replace(r, cls="open", tools=()) for r in readings), BOX)
    return drafted.partition("decisions:\n")[2].split("\n\n")


CONTEXTS = [
    ("The assistant may freely:\n\n- paying at night\n", "may freely", "must not do any of these"),
    ("## Free\n\nPaying at night.\n", "Free", "Forbidden"),
    ("# Free\n\n## Pay\n\nPaying at night.\n", "Free", "Forbidden"),
    ("Allowed: Paying at night.\n", "Allowed", "Forbidden"),
    ("| Act | Allowed |\n|---|---|\n| Paying at night | yes |\n", "yes", "no"),
    ("| Allowed | When |\n|---|---|\n| Paying at night | now |\n", "Allowed", "Forbidden"),
    ("| Act | Allowed |\n|---|---|\n| Paying at night | yes |\n", "Allowed", "Forbidden"),
]


@pytest.mark.parametrize(("text", "one", "other"), CONTEXTS)
def test_a_decision_is_stale_where_what_its_sentence_is_read_with_has_changed(text: str, one: str, other: str) -> None:
    before, after = (policy.of_text(t, BOX) for t in (text, text.replace(one, other)))
    assert before.text != after.text
    reading = next(r for r in read(before).accounts if r.text.startswith("aying", 1))
    written = entry(reading, decision="not a constraint", why="it is free")
    (made,) = decisions.loads(written, before)
    assert sentences.settled(before, (made,)) == ((made,), ())
    (old,) = decisions.loads(written, after)
    assert sentences.settled(after, (old,)) == ((), (old,))
    spaced = policy.of_text(text.replace(" ", "  ").replace("|  ", "| "), BOX)
    assert sentences.settled(spaced, (made,))[1] == (), "blanks do not count"


def test_equal_sentences_under_exchanged_headings_keep_their_own_decision() -> None:
    text = "## Staff\n\nNever pay at night.\n\n## Guests\n\nNever pay at night.\n"
    before = policy.of_text(text, BOX)
    staff = next(r for r in read(before).accounts if r.headings == ("Staff",))
    (made,) = decisions.loads(entry(staff, decision="waive", why="staff are trusted"), before)
    parts = text.split("\n\n")
    after = policy.of_text("\n\n".join((parts[2], parts[1], parts[0], parts[3])), BOX)
    found = {r.headings: r.cls for r in read(after, (made,)).accounts if r.headings}
    assert found == {("Guests",): "open", ("Staff",): "waived"}


def test_without_an_id_the_text_must_be_that_of_one_sentence() -> None:
    def told(text: str, source: policy.Policy = SOURCE) -> tuple[Ruling, ...]:
        return decisions.loads(f"decisions:\n  - text: {text}\n    decision: waive\n    why: x\n", source)

    assert told(HUM.text) == loaded(entry(HUM, decision="waive", why="x"))
    with pytest.raises(DecisionError, match=r"line 2: decisions.0.text: .*exactly one sentence .* got none that says"):
        told("You must never whistle.")
    twice = policy.of_text("# A\n\nNever pay.\n\n# B\n\nNever pay.\n", BOX)
    with pytest.raises(DecisionError, match=r"exactly one sentence were required; got several, \['\w{12}', '\w{12}'\]"):
        told("Never pay.", twice)
    rows = [{"text": HUM.text, "decision": "waive", "why": "x"}]
    both = yaml.safe_dump({"decisions": [*rows, {"id": HUM.id, **rows[0]}]}, sort_keys=False)
    with pytest.raises(DecisionError, match="line 5: decisions.1: one decision a sentence was required"):
        loaded(both)
    assert loaded("decisions:\n  - text: no such sentence\n") == (), "what decides nothing changes nothing"


def test_every_mistake_of_a_file_is_told_at_once() -> None:
    rows = [
        {"id": PAY.id, "text": PAY.text, "decision": "forget", "why": "x"},
        {"text": "You must never whistle.", "decision": "waive"},
        {"id": HUM.id, "text": HUM.text, **own("fly")},
        {
            "id": LETTERS.id,
            "text": LETTERS.text,
            **own(),
            "predicates": {
                "pays": {"kind": "action", "tools": ["pay_invoice"]},
                "approved": {"kind": "state", "test": "("},
            },
            "rules": [{"formula": "ALWAYS (", "modality": "forbid"}],
        },
    ]
    with pytest.raises(DecisionError) as caught:
        loaded(yaml.safe_dump({"decisions": rows}, sort_keys=False))
    told = [line for line in str(caught.value).splitlines() if line.startswith("decisions.yaml, line ")]
    assert len(told) == 6
    for part in ('got "forget"', "none that says", "'why' was required", "'fly'", "approved.test", "rules.0.formula"):
        assert sum(part in line for line in told) == 1, part


def decided(predicates: dict[str, object], formula: str, source: policy.Policy = SOURCE) -> sentences.Account:
    rows = {"decision": "rule", "why": "by hand", "predicates": predicates}
    rules = [{"formula": formula, "modality": "permit_only_if"}]
    made = decisions.loads(entry(PAY, **rows, rules=rules), source)
    return read(source, made).accounts[0]


PAYS = {"kind": "action", "tools": ["pay_invoice"]}
APPROVED = {"kind": "state", "test": "state.approved"}


def test_a_persons_rule_that_a_guard_keeps_is_a_rule() -> None:
    for told in (APPROVED, {"kind": "state"}):
        found = decided({"pays": PAYS, "approved": told}, "ALWAYS (pays IMPLIES approved)")
        assert (found.cls, found.tools) == (
            "rule",
            ("pay_invoice",),
        ) and found.reason == "decided by a person: by hand"


@pytest.mark.parametrize(
    ("predicates", "formula", "reason"),
    [
        ({"a": {"kind": "action"}, "t": APPROVED}, "ALWAYS (a IMPLIES t)", "no tool performs 'a'"),
        ({"a": PAYS, "sober": {"kind": "state"}}, "ALWAYS (a IMPLIES sober)", "no field decides 'sober'"),
        (
            {"a": PAYS, "t": APPROVED},
            "ALWAYS (a IMPLIES NEXT t)",
            "guards nothing: it asks for a later",
        ),
        ({"a": PAYS, "t": APPROVED}, "ALWAYS (t IMPLIES a)", "guards nothing: no call of a tool"),
        ({"t": APPROVED}, "ALWAYS t", "guards nothing: it names no action"),
        (
            {"a": PAYS, "t": {"kind": "state", "test": "true"}},
            "ALWAYS (a IMPLIES t)",
            "ALWAYS (a IMPLIES t) holds whatever happens",
        ),
        ({"a": PAYS}, "ALWAYS (a IMPLIES a)", "holds whatever happens"),
        (
            {"a": PAYS, "t": {"kind": "state", "test": "state.approved || !state.approved"}},
            "ALWAYS (a IMPLIES t)",
            "holds whatever happens",
        ),
    ],
)
def test_a_persons_rule_that_guards_nothing_leaves_its_sentence_open(
    predicates: dict[str, object], formula: str, reason: str
) -> None:
    found = decided(predicates, formula)
    assert found.cls == "open" and reason in found.reason and "pay_invoice" in found.tools


def test_a_persons_duty_is_one_and_says_so() -> None:
    found = decided({"a": PAYS, "t": APPROVED}, "ALWAYS (a IMPLIES EVENTUALLY t)")
    assert (found.cls, found.reason) == ("duty", "decided by a person: by hand")


def test_a_rule_of_a_person_without_its_brackets_is_open_and_says_how_it_is_read() -> None:
    """`ALWAYS a IMPLIES t` asks for t only where a is always so, which no call breaks."""
    found = decided({"a": PAYS, "t": APPROVED}, "ALWAYS a IMPLIES t")
    assert found.cls == "open" and "write ALWAYS ( … ) around the whole" in found.reason
    assert decided({"a": PAYS, "t": APPROVED}, "ALWAYS (a IMPLIES t)").cls == "rule"


SCHEMA = {"properties": {"money": {"type": "object", "properties": {"sum": {"type": "integer"}}}}}
DEEP = Toolbox(
    (Tool("pay_invoice", arguments=(Field("bill", "object", schema=Schema(SCHEMA)),)), Tool("greet")), BOX.state
)


@pytest.mark.parametrize(
    ("test", "tools", "got"),
    [
        ("state.nosuch", [], "a field of the state .*\\['approved'\\]; got 'nosuch'"),
        ("call.nosuch == 1", [], "an argument of pay_invoice .*\\['bill'\\]; got 'nosuch'"),
        ("call.nosuch == 1", ["pay_invoice"], "got 'nosuch'"),
        ("call.bill.money.summ == 1", ["pay_invoice"], "got 'bill.money.summ'"),
        ("call.bill.money.sum == 1", ["greet"], "an argument of greet"),
        ("call.bill.money.sum == 1", ["pay_invoice"], None),
        ("call.bill.money.sum == 1", [], None),
        ("state.approved", [], None),
    ],
)
def test_a_field_that_is_not_declared_is_named(test: str, tools: list[str], got: str | None) -> None:
    source = policy.of_text(TEXT, DEEP)
    predicates = {"a": PAYS, "t": {"kind": "state", "test": test, "tools": tools}}
    if got is None:
        assert decided(predicates, "ALWAYS (a IMPLIES t)", source).cls == "rule"
    else:
        with pytest.raises(DecisionError, match=got):
            decided(predicates, "ALWAYS (a IMPLIES t)", source)


def test_a_decided_cell_speaks_for_itself_alone() -> None:
    source = policy.of_text(
        "| Machine | Longest | Who |\n|---|---|---|\n| Pen | 2 hours at most | adults only |\n", BOX
    )
    pen, longest, who = [r for r in read(source).accounts if r.place.startswith("in the column")]
    assert longest.cls == who.cls == "open"
    made = decisions.loads(entry(who, decision="not a constraint", why="the door checks it"), source)
    after = {r.id: r.cls for r in read(source, made).accounts}
    assert (after[longest.id], after[who.id]) == ("open", "not a constraint")


def test_the_file_stands_beside_the_policy_and_need_not_exist(tmp_path) -> None:
    assert decisions.place(tmp_path) == tmp_path / "decisions.yaml"
    assert decisions.place(tmp_path / "rules.pdf") == tmp_path / "rules.decisions.yaml"
    assert decisions.load(tmp_path / "decisions.yaml", SOURCE) == ()
    (tmp_path / "decisions.yaml").write_text(entry(PAY, decision="waive", why="x"), "utf-8")
    assert len(decisions.load(tmp_path / "decisions.yaml", SOURCE)) == 1
    (tmp_path / "bad.yaml").write_bytes(b"decisions:\n  - \xff\n")
    with pytest.raises(DecisionError, match=r"bad.yaml, line 2: UTF-8"):
        decisions.load(tmp_path / "bad.yaml", SOURCE)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("decisions: [", r"line \d: YAML was required"),
        ("- a\n- b\n", r"line 1: a mapping with the keys \['decisions', 'struck', 'examples'\] was required; got \["),
        ("decisions:\n  - id: [1]\n    text: x\n", r"line 2: decisions.0.id: a text was required; got \["),
        ("decisions:\n  - id: 'abc'\n    text: x\n", r"line 2: decisions.0.id: "),
        (entry(PAY, decision="forget", why="x"), r"line 4: decisions.0.decision: .*'waive'.*got \"forget\""),
        (
            entry(PAY, decision="waive", why="x", who="me"),
            r"line 6: decisions.0.who: a key of \['id', 'text', .* was required; got 'who'",
        ),
        (entry(PAY, decision="waive"), r"line 2: decisions.0: a reason 'why' was required for 'waive'; got none"),
        (entry(PAY, decision="waive", why="  "), r"a reason 'why' was required"),
        (entry(PAY, decision="rule", why="x"), r"at least one rule was required for 'rule'; got 0"),
        (entry(PAY, decision="waive", why="x", rules=own()["rules"]), r"no rules was required for 'waive'; got 1"),
        (
            entry(PAY, **{**own(), "rules": [{"formula": "ALWAYS (", "modality": "forbid"}]}),
            r"line 1\d: decisions.0.rules.0.formula: ",
        ),
        (entry(PAY, **{**own(), "predicates": {}}), r"predicates that are not declared"),
        (
            entry(PAY, decision="waive", why="a") + entry(PAY, decision="waive", why="b"),
            r"line 6: YAML was required; got the key 'decisions' again: each key once",
        ),
        (
            "decisions:\n" + "".join(entry(PAY, decision="waive", why="x").partition("\n")[2] for _ in "ab"),
            r"line 6: decisions.1: one decision a sentence was required",
        ),
    ],
)
def test_every_mistake_is_told_with_its_line(text: str, message: str) -> None:
    with pytest.raises(DecisionError, match=message):
        decisions.loads(text, SOURCE)


def test_a_rule_about_a_tool_that_does_not_exist_is_refused() -> None:
    with pytest.raises(DecisionError, match=r"line 7: .*tools of .* were required; got \['fly'\]"):
        loaded(entry(PAY, **own("fly")))


def about_objects(argument: str) -> str:
    return entry(
        PAY,
        decision="rule",
        why="by hand",
        predicates={
            name: {"kind": "action", "tools": [tool], "objects": [f"call.{argument}"]}
            for name, tool in (("pays", "pay_invoice"), ("writes", "send_letter"))
        },
        rules=[{"formula": "ALWAYS (pays(i) IMPLIES ONCE writes(i))", "modality": "permit_only_if"}],
    )


def test_a_person_may_write_rules_about_the_same_object() -> None:
    numbered = (Field("number", "string"),)
    box = Toolbox((Tool("pay_invoice", arguments=numbered), Tool("send_letter", arguments=numbered), Tool("greet")))
    source = policy.of_text(TEXT, box)
    made = decisions.loads(about_objects("number"), source)
    (reading, *_), ruleset = read(source, made)
    assert render(ruleset.rules[0].formula) == "ALWAYS (pays(i) IMPLIES ONCE writes(i))"
    assert (reading.cls, reading.tools) == ("rule", ("pay_invoice",))
    with pytest.raises(DecisionError, match=r"an argument of pay_invoice that tools.json declares was required.*'nr'"):
        decisions.loads(about_objects("nr"), source)


def test_a_count_in_a_line_of_brackets_is_told_to_stand_in_quotes() -> None:
    rule = "{formula: ALWAYS (x(o) IMPLIES COUNT[<= 3] x(o)), modality: forbid}"
    text = f"decisions:\n- {{id: {PAY.id}, rules: [{rule}]}}\n"
    with pytest.raises(DecisionError, match="line 2: YAML was required.*stands in quotes"):
        loaded(text)


def test_a_test_of_the_time_needs_a_clock_and_is_told_how_it_is_declared() -> None:
    test = 'now - timestamp(state.since) < duration("24h")'
    row = {"early": {"kind": "state", "test": test}, "pays": {"kind": "action", "tools": ["pay_invoice"]}}
    rules = [{"formula": "ALWAYS (pays IMPLIES early)", "modality": "permit_only_if"}]
    made = entry(PAY, decision="rule", why="by hand", predicates=row, rules=rules)
    box = Toolbox((Tool("pay_invoice"),), (Field("since", "string"),))
    with pytest.raises(DecisionError, match='got \'now\', which is declared as .*"from": "clock"'):
        decisions.loads(made, policy.of_text(TEXT, box))
    clock = Toolbox(box.tools, (*box.state, Field("now", "string")))
    assert decisions.loads(made, policy.of_text(TEXT, clock))


LETTER = {"type": "object", "properties": {"number": {"type": "string"}, "of": {"type": "string"}}}
ASKED = {
    "tools": [
        {"name": "pay_invoice", "parameters": LETTER},
        {"name": "send_letter", "parameters": {"type": "object", "properties": {"to": {"type": "string"}}}},
        {"name": "read", "mutating": False, "parameters": {"type": "object", "properties": {"id": {"type": "string"}}}},
    ],
    "state": [],
}


@pytest.mark.parametrize(
    ("argument", "tools", "why"),
    [
        ("call.number", ["pay_invoice"], ""),
        (
            "call.to",
            ["pay_invoice"],
            r"argument of pay_invoice .* \['number', 'of'\]; got 'to', which tells state.first",
        ),
        ("call.to", [], r"got 'to', which tells state.first"),
        ("call.number", [], ""),
    ],
)
def test_what_tells_a_field_of_a_test_is_an_argument_of_the_calls_that_are_tested(
    argument: str, tools: list[str], why: str
) -> None:
    """Of a field that is told by another one as well."""
    state = [
        {"name": "first", "type": "string", "from": {"lookup": "read", "arguments": {"id": argument}}},
        {"name": "second", "type": "string", "from": {"lookup": "read", "arguments": {"id": "state.first"}}},
    ]
    box = declared.parse(json.dumps(ASKED | {"state": state}))
    row = {"pays": {"kind": "action", "tools": ["pay_invoice"]}}
    test = "state.second == call.number" if tools else 'state.second == "x"'
    row["good"] = {"kind": "state", "test": test} | ({"tools": tools} if tools else {})
    rules = [{"formula": "ALWAYS (pays IMPLIES good)", "modality": "permit_only_if"}]
    made = entry(PAY, decision="rule", why="by hand", predicates=row, rules=rules)
    if not why:
        assert decisions.loads(made, policy.of_text(TEXT, box))
        return
    with pytest.raises(DecisionError, match=why):
        decisions.loads(made, policy.of_text(TEXT, box))


@pytest.mark.parametrize(
    ("tool", "required", "why"),
    [
        ("pay_invoice", [], ""),  # it has no `to`, so that the other side tells
        ("send_letter", ["to"], ""),
        ("send_letter", [], r"argument of send_letter .* \['to'\]; got 'number', which tells state.first"),
        ("read", [], r"argument of read .* \['id'\]; got 'number', which tells state.first"),
    ],
)
def test_what_tells_a_field_where_an_argument_is_not_there_is_asked_of_the_calls_without_it(
    tool: str, required: list[str], why: str
) -> None:
    state = [
        {"name": "first", "type": "string", "from": {"lookup": "read", "arguments": {"id": "call.number"}}},
        {
            "name": "second",
            "type": "string",
            "from": {"lookup": "read", "arguments": {"id": "has(call.to) ? call.to : state.first"}},
        },
    ]
    letter = {"type": "object", "properties": {"to": {"type": "string"}}, "required": required}
    rows = [{**row, "parameters": letter} if row["name"] == "send_letter" else row for row in ASKED["tools"]]
    box = declared.parse(json.dumps({"tools": rows, "state": state}))
    row = {"does": {"kind": "action", "tools": [tool]}, "good": {"kind": "state", "test": 'state.second == "x"'}}
    rules = [{"formula": "ALWAYS (does IMPLIES good)", "modality": "permit_only_if"}]
    made = entry(PAY, decision="rule", why="by hand", predicates=row, rules=rules)
    if not why:
        assert decisions.loads(made, policy.of_text(TEXT, box))
        return
    with pytest.raises(DecisionError, match=why):
        decisions.loads(made, policy.of_text(TEXT, box))


# ---- readings that a draft offers ---------------------------------------------------------------

BOTH = "Letters go out on Fridays only."
SENT = Predicate("sends", "action", "", (), ("send_letter",))
OKAY = Predicate("approved", "state", "", (), (), cel.parse("state.approved"))


def reading(*formulas: str) -> RuleSet:
    rules = (Rule(f"s.{k}", BOTH, parse(row), "permit_only_if", quote=BOTH) for k, row in enumerate(formulas, 1))
    return RuleSet((SENT, OKAY), tuple(rules)).without_unused()


TWO = (
    decisions.Offer("one reader", reading("ALWAYS (sends IMPLIES approved)")),
    decisions.Offer("another", reading("ALWAYS NOT sends")),
)


def drafted(decision: str, change: tuple[str, str] = ("", "")) -> str:
    """The draft of the sentence with two readings, decided in one word, with one text changed."""
    text = decisions.draft((LETTERS,), BOX, {LETTERS.id: TWO})
    assert decisions.loads(text, SOURCE) == (), "until it is decided, it decides nothing"
    text = text.replace("    decision:\n", f"    decision: {decision}\n")
    return text.replace(*change, 1)


def test_one_word_takes_a_reading_as_a_draft_offers_it() -> None:
    text = drafted("accept")
    assert "# 1 says (one reader): " in text and "# 2 says (another): " in text
    for decision, (_, wanted, _) in zip(("accept", "accept 2"), TWO, strict=True):
        (made,) = loaded(drafted(decision))
        accounts, ruleset = read(SOURCE, (made,))
        assert (made.decision, made.why, made.readings) == ("rule", decisions.ACCEPTED, [])
        assert [one.formula for one in ruleset.rules] == [one.formula for one in wanted.rules]
        assert (accounts[1].cls, accounts[1].grade) == ("rule", "person")
    (left,) = loaded(drafted("waive", ("    why:\n", "    why: the post does it\n")))
    assert read(SOURCE, (left,)).accounts[1].cls == "waived", "every other decision leaves readings aside"


ACCEPTING = {
    "no such reading": ("accept 3", ("", ""), "a reading under 'readings' was required for 'accept 3'; got 2"),
    "another formula": ("accept", ("IMPLIES approved", "IMPLIES NOT approved"), "with its digest; it was changed"),
    "another tool": ("accept", ("send_letter]", "greet]"), "with its digest; it was changed"),
    "another test": ("accept", ("test: state.approved", "test: '!state.approved'"), "with its digest; it was changed"),
    "the words of another sentence": ("accept", (LETTERS.text, "Letters go out."), "with its digest; it was changed"),
    "the id of another sentence": ("accept", (LETTERS.id, HUM.id), "with its digest; it was changed"),
    "no digest": ("accept", ("digest:", "by:"), "the key 'by' again"),
    "rules of one's own beside it": (
        "accept",
        ("    readings:", "    rules: [{formula: ALWAYS NOT sends, modality: forbid}]\n    readings:"),
        "no rules beside 'readings' were required for 'accept'",
    ),
    "a fourth": ("accept 4", ("", ""), "decision: one of .*'accept 3'.* was required; got \"accept 4\""),
}


@pytest.mark.parametrize(("decision", "change", "why"), ACCEPTING.values(), ids=ACCEPTING.keys())
def test_what_no_draft_offered_is_not_accepted(decision: str, change: tuple[str, str], why: str) -> None:
    with pytest.raises(DecisionError, match=why):
        loaded(drafted(decision, change))


def test_an_accepted_reading_that_guards_nothing_leaves_its_sentence_open() -> None:
    hollow = reading("ALWAYS (sends IMPLIES sends)")
    row = {"decision": "accept", "readings": [decisions.offer("a reader", hollow, LETTERS.id, LETTERS.text)]}
    assert read(SOURCE, loaded(entry(LETTERS, **row))).accounts[1].cls == "open"


@pytest.mark.parametrize("old", [{"part": "on Fridays"}, {"read": {"rules": []}}, {"part": "x", "read": {}}])
def test_a_file_of_the_older_form_is_refused_by_its_keys(old: dict[str, object]) -> None:
    text = entry(LETTERS, decision="waive", why="x", **old)
    with pytest.raises(DecisionError, match=rf"line 2: decisions.0: .*today's form .* got \{sorted(old)}: take it"):
        loaded(text)
    with pytest.raises(DecisionError, match="no key 'words' was required: .*vocabulary.yaml"):
        loaded("words: {hum: greet}\n" + entry(LETTERS, decision="waive", why="x"))


def test_the_readings_that_a_person_may_choose_from_are_those_of_open_sentences() -> None:
    first, second, third = reader.read(SOURCE)
    choices = [extract.Choice(one.by, tuple(r.formula for r in one.ruleset.rules)) for one in TWO]
    found = extract.parsed(SOURCE, (first, second, third))
    extracts = [replace(one, choices=tuple(choices) * (k == 1)) for k, one in enumerate(found.extracts)]
    found = replace(found, extracts=tuple(extracts), predicates=(SENT, OKAY))
    accounts = sentences.classify(SOURCE, found).accounts
    offered = sentences.offered(SOURCE, found, accounts)
    assert {name: [(one.by, one.idle) for one in rows] for name, rows in offered.items()} == {
        LETTERS.id: [(one.by, "") for one in TWO]
    }
    (made,) = loaded(drafted("accept 2"))
    after = sentences.classify(SOURCE, found, (made,))
    assert after.accounts[1].cls == "rule" and [render(r.formula) for r in after.ruleset.rules] == ["ALWAYS NOT sends"]
    assert sentences.offered(SOURCE, found, after.accounts) == {}


HOLLOW = {
    "says nothing": (
        ("ALWAYS (sends IMPLIES sends)",),
        {},
        "guards nothing: ALWAYS \\(sends IMPLIES sends\\) holds whatever",
    ),
    "a field that nobody declared": (
        ("ALWAYS (sends IMPLIES approved)",),
        {"test": cel.parse("state.hue")},
        "got 'hue'",
    ),
    "no field": (("ALWAYS (sends IMPLIES seen)",), {"name": "seen", "test": None}, "no field decides 'seen'"),
}


@pytest.mark.parametrize(("formulas", "change", "why"), HOLLOW.values(), ids=HOLLOW.keys())
def test_a_reading_is_offered_only_where_it_settles_its_sentence(formulas: tuple, change: dict, why: str) -> None:
    found = extract.parsed(SOURCE, reader.read(SOURCE))
    choices = (
        extract.Choice("a reader", tuple(map(parse, formulas))),
        extract.Choice("another", (parse("ALWAYS NOT sends"),)),
    )
    extracts = [replace(one, choices=choices * (k == 1)) for k, one in enumerate(found.extracts)]
    found = replace(found, extracts=tuple(extracts), predicates=(SENT, replace(OKAY, **change)))
    accounts = sentences.classify(SOURCE, found).accounts
    idle, good = sentences.offered(SOURCE, found, accounts)[LETTERS.id]
    assert re.search(why, idle.idle) and not good.idle
    text = decisions.draft(accounts, BOX, {LETTERS.id: [idle, good]})
    assert "not to be accepted, for the sentence would stay open, " in text and "# 1 says (another): " in text
    (made,) = loaded(text.replace('Fridays only."\n    decision:\n', 'Fridays only."\n    decision: accept\n'))
    after = sentences.classify(SOURCE, found, (made,))
    assert [render(rule.formula) for rule in after.ruleset.rules] == ["ALWAYS NOT sends"]


def test_a_draft_says_what_was_set_aside_behind_what_is_open() -> None:
    hidden = "May be sent by letter\n writers  in good\u202e standing: {x}"
    aside = replace(HUM, cls="not a constraint", reason="a permission", text=hidden)
    text = decisions.draft((LETTERS, aside, replace(PAY, cls="rule")), BOX)
    assert loaded(text) == () and PAY.text not in text
    *_, head, last = text.rstrip("\n").split("\n")
    assert head == "# Set aside; a permission among them may hide a condition:"
    assert last == "# not a constraint (a permission): May be sent by letter writers in good  standing: {x}"
    assert "Set aside" not in decisions.draft((LETTERS,), BOX)
    assert decisions.draft((aside,), BOX).rstrip().endswith(last) and loaded(decisions.draft((aside,), BOX)) == ()


def test_two_questions_of_one_name_stay_two_and_are_asked_of_their_own_speakers() -> None:
    """A yes of the customer to one thing is none of the owner to another."""
    box = Toolbox((Tool("rent"), Tool("paint")))
    of = {"rent": ("Did the customer agree to rent a boat?", "user"), "paint": ("Did the owner agree?", "owner")}
    made = []
    for tool, (question, speaker) in of.items():
        agreed = Predicate("agreed", "state", "agreed", question=question, speakers=(speaker,))
        act = Predicate(tool, "action", tool, tools=(tool,))
        rule = Rule(tool, tool, parse(f"ALWAYS ({tool} IMPLIES agreed)"), "permit_only_if")
        made.append(RuleSet((act, agreed), (rule,)))
    ruleset, rules = decisions.joined(made[0], made[1], box)
    found = {p.name: (p.question, p.speakers) for p in ruleset.predicates if p.kind == "state"}
    assert found == {"agreed": (of["rent"][0], ("user",)), "agreed_2": (of["paint"][0], ("owner",))}
    assert render(rules[0].formula) == "ALWAYS (paint IMPLIES agreed_2)"
    same, _ = decisions.joined(made[0], made[0], box)
    assert len(same.predicates) == 2
