"""Decisions of a person: read with the line of every mistake, honoured, reported when stale, drafted."""

import json
import textwrap
from dataclasses import replace

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from wb.domain import policy
from wb.domain import tools as declared
from wb.domain.clauses import clause_of, identities, pieces
from wb.domain.tools import Field, Schema, Tool, Toolbox
from wb.logic import cel
from wb.logic.syntax import parse, render
from wb.rules import decisions, sentences
from wb.rules.decisions import DecisionError, Ruling
from wb.rules.rule import Predicate, Rule, RuleSet, Undecided

BOX = Toolbox(tools=(Tool("pay_invoice"), Tool("send_letter"), Tool("greet")), state=(Field("approved", "boolean"),))
TEXT = "Never pay by moonlight. Letters go out on Fridays only. You must never hum."
SOURCE = policy.of_text(TEXT, BOX)
OPEN = sentences.classify(SOURCE, (), RuleSet())
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


def classes(*made: Ruling, ruleset: RuleSet | None = None) -> list[str]:
    joined = decisions.join(ruleset or RuleSet(), made, BOX)
    return [r.cls for r in sentences.classify(SOURCE, (), joined, made)]


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
    ruleset = decisions.join(RuleSet(), (made, again), BOX)
    assert [render(r.formula) for r in ruleset.rules] == [
        "ALWAYS (pays IMPLIES approved)",
        "ALWAYS (pays_2 IMPLIES approved)",
    ]
    assert [r.quote for r in ruleset.rules] == [PAY.text, HUM.text]
    readings = sentences.classify(SOURCE, (), ruleset, (made, again))
    assert readings[0].rules == (ruleset.rules[0].id,) and readings[0].tools == ("pay_invoice",)
    assert readings[2].tools == ("greet",)


def test_the_example_of_the_module_is_read() -> None:
    text = decisions.__doc__.partition("\n\n")[2].partition("\n\n")[0]
    waived, ruled = loaded(textwrap.dedent(text))
    assert (waived.decision, ruled.decision) == ("waive", "rule")
    assert decisions.fragment(ruled).predicate("manager").test is not None


def test_a_rule_that_was_not_joined_leaves_its_sentence_open() -> None:
    (made,) = loaded(entry(PAY, **own()))
    assert sentences.classify(SOURCE, (), RuleSet(), (made,))[0].cls == "open"


def test_rules_of_a_waived_sentence_are_no_longer_enforced() -> None:
    (made,) = loaded(entry(PAY, **own()))
    ruleset = decisions.join(RuleSet(), (made,), BOX)
    kept = sentences.enforced(ruleset, sentences.classify(SOURCE, (), ruleset, (made,)))
    assert kept.rules == ruleset.rules
    (waived,) = loaded(entry(PAY, decision="waive", why="moved to the bank"))
    assert sentences.enforced(ruleset, sentences.classify(SOURCE, (), ruleset, (waived,))).rules == ()


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
    text = decisions.draft(OPEN, BOX)
    rows = yaml.safe_load(text)["decisions"]
    assert [row["text"] for row in rows] == [LETTERS.text, HUM.text, PAY.text]
    assert decisions.loads(text, SOURCE) == ()
    assert "blocks all 3 tools" in text and "blocks 1 of 3 tools: pay_invoice" in text
    filled = text.replace("decision:\n    why:\n", "decision: waive\n    why: because\n", 1)
    assert [d.id for d in loaded(filled)] == [LETTERS.id]
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
    (joined,) = decisions.join(RuleSet(), (made,), BOX).rules
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
    readings = sentences.classify(policy.of_text(text, BOX), (), RuleSet())
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
    reading = next(r for r in sentences.classify(before, (), RuleSet()) if r.text.startswith("aying", 1))
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
    staff = next(r for r in sentences.classify(before, (), RuleSet()) if r.headings == ("Staff",))
    (made,) = decisions.loads(entry(staff, decision="waive", why="staff are trusted"), before)
    parts = text.split("\n\n")
    after = policy.of_text("\n\n".join((parts[2], parts[1], parts[0], parts[3])), BOX)
    found = {r.headings: r.cls for r in sentences.classify(after, (), RuleSet(), (made,)) if r.headings}
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
    joined = decisions.join(RuleSet(), made, source.toolbox)
    return sentences.classify(source, (), joined, made)[0]


PAYS = {"kind": "action", "tools": ["pay_invoice"]}
APPROVED = {"kind": "state", "test": "state.approved"}


def test_a_persons_rule_that_a_guard_keeps_is_a_rule() -> None:
    for told in (APPROVED, {"kind": "state"}):
        found = decided({"pays": PAYS, "approved": told}, "ALWAYS (pays IMPLIES approved)")
        assert (found.cls, found.tools) == (
            "rule",
            ("pay_invoice",),
        ) and found.reason == "the rules of a person: by hand"


@pytest.mark.parametrize(
    ("predicates", "formula", "reason"),
    [
        ({"a": {"kind": "action"}, "t": APPROVED}, "ALWAYS (a IMPLIES t)", "no tool performs 'a'"),
        ({"a": PAYS, "sober": {"kind": "state"}}, "ALWAYS (a IMPLIES sober)", "no field decides 'sober'"),
        (
            {"a": PAYS, "t": APPROVED},
            "ALWAYS (a IMPLIES NEXT t)",
            "ALWAYS (a IMPLIES NEXT t) guards nothing: it asks for a later",
        ),
        ({"a": PAYS, "t": APPROVED}, "ALWAYS (t IMPLIES a)", "ALWAYS (t IMPLIES a) guards nothing: no call of a tool"),
        ({"t": APPROVED}, "ALWAYS t", "ALWAYS t guards nothing: it names no action"),
        (
            {"a": PAYS, "t": {"kind": "state", "test": "true"}},
            "ALWAYS (a IMPLIES t)",
            "ALWAYS (a IMPLIES t) forbids nothing",
        ),
        ({"a": PAYS}, "ALWAYS (a IMPLIES a)", "forbids nothing: it holds whatever happens"),
        (
            {"a": PAYS, "t": {"kind": "state", "test": "state.approved || !state.approved"}},
            "ALWAYS (a IMPLIES t)",
            "forbids nothing",
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
    assert found.cls == "duty" and "no call can break ALWAYS (a IMPLIES EVENTUALLY t)" in found.reason


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
    pen, longest, who = [r for r in sentences.classify(source, (), RuleSet()) if r.place.startswith("in the column")]
    assert longest.cls == who.cls == "open"
    made = decisions.loads(entry(who, decision="not a constraint", why="the door checks it"), source)
    after = {r.id: r.cls for r in sentences.classify(source, (), RuleSet(), made)}
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
        ("- a\n- b\n", r"line 1: a mapping with the keys \['decisions', 'words', 'struck'\] was required; got \["),
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
    ruleset = decisions.join(RuleSet(), made, box)
    assert render(ruleset.rules[0].formula) == "ALWAYS (pays(i) IMPLIES ONCE writes(i))"
    reading = sentences.classify(source, (), ruleset, made)[0]
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


# ---- accepted readings, and parts that are waived ----------------------------------------------

SHOP = Toolbox(
    tools=(Tool("pay_invoice", "Pay an invoice."), Tool("send_letter", "Send a letter.")),
    state=(Field("approved", "boolean", "a manager approved it"), Field("balance", "number", "the balance")),
)
BOTH = "Never pay an invoice unless a manager approved it, and keep the receipt."
READ = {
    "predicates": {
        "pays": {"kind": "action", "tools": ["pay_invoice"]},
        "approved": {"kind": "state", "test": "state.approved"},
        "receipt": {"kind": "state"},
    },
    "rules": [
        {"formula": "ALWAYS (pays IMPLIES approved)", "modality": "permit_only_if"},
        {"formula": "ALWAYS (pays IMPLIES receipt)", "modality": "oblige"},
    ],
}


def named(text: str) -> str:
    """The id of the one sentence of a document."""
    return identities(pieces(policy.of_text(text, SHOP)))[0]


def drafted(text: str, **changed: object) -> dict[str, object]:
    """What was read as a draft has it, with its digest."""
    said = {**READ, **changed}
    return {**said, "digest": decisions.Reading(**said).drafted(named(text), text)}


def account(text: str, *rules: str, **given: object) -> sentences.Account:
    """What becomes of the one sentence, which was read as these rules, under a decision about it."""
    source = policy.of_text(text, SHOP)
    (one,) = source.sentences
    predicates = (
        Predicate("pays", "action", "", (), ("pay_invoice",)),
        Predicate("sends", "action", "", (), ("send_letter",)),
        Predicate("approved", "state", "", (), (), cel.parse("state.approved")),
        Predicate("receipt", "state", ""),
    )
    read = tuple(Rule(f"c.{i}", text, parse(row), "forbid", "action", "c", text) for i, row in enumerate(rules))
    doubts = tuple(Undecided("c", text, str(why)) for why in given.pop("doubts", ()))
    ruleset = RuleSet(predicates, read, doubts)
    row = {"text": text, **given}
    made = decisions.loads(yaml.safe_dump({"decisions": [row]}), source) if given else ()
    joined = decisions.join(ruleset, made, SHOP)
    (found,) = sentences.classify(source, [clause_of(one, "c")], joined, made)
    return found


def test_one_word_accepts_what_a_draft_offers_as_it_then_stands_there() -> None:
    text = "Never pay in haste."
    made = account(text, decision="accept", read=drafted(text, rules=READ["rules"][:1]))
    assert made.cls == "rule" and made.rules == (f"decided-{made.id}.1",) and decisions.ACCEPTED in made.reason
    assert account(text, decision="accept", read=drafted(text)).cls == "open"  # of a fact that no field decides
    for other in ("waive", "not a constraint", "reject"):  # what was read is left aside
        assert account(text, decision=other, why="so", read=READ).rules == ()
    own = {"rules": [{"formula": "ALWAYS NOT pays", "modality": "forbid"}]}
    changed = {**drafted(text), "rules": [{"formula": "ALWAYS (pays IMPLIES NOT approved)", "modality": "forbid"}]}
    other = drafted("Never send in haste.", rules=READ["rules"][:1])  # of another sentence
    for wrong in (
        {},
        {"read": {"rules": []}},
        {"read": drafted(text), **own},
        {"read": READ},
        {"read": changed},
        {"read": other},
    ):
        with pytest.raises(DecisionError, match="'read'"):
            account(text, decision="accept", **wrong)


def test_a_draft_with_what_was_read_decides_nothing_until_it_is_accepted() -> None:
    source = policy.of_text(BOTH, SHOP)
    (waiting,) = sentences.classify(source, (), RuleSet())
    own = decisions.fragment(decisions.decide(waiting, "rule", "so", yaml.safe_dump(READ), source))
    text = decisions.draft([waiting], SHOP, {waiting.id: own})
    assert decisions.loads(text, source) == () and "receipt" in text
    (made,) = decisions.loads(text.replace("    decision:\n", "    decision: accept\n"), source)
    assert (made.decision, made.why) == ("rule", decisions.ACCEPTED)
    assert [one.formula for one in made.rules] == [one["formula"] for one in READ["rules"]]


HALF = "nothing tells 'keep the receipt', nor pay_invoice's 'archive'"


@pytest.mark.parametrize(
    ("undecided", "part", "taken"),
    [
        ([], None, True),
        ([HALF], None, False),
        ([HALF], "an invoice", False),
        ([HALF], ", and keep the receipt", True),
        ([HALF, "'an invoice' may be any"], ", and keep the receipt", False),
        (["it says no more"], None, False),
        (["it says no more"], ", and keep the receipt", False),
        (["'a till' is not known"], ", and keep the receipt", False),
        (["only 'a manager approved it' was read"], "unless a manager approved it", False),
        (["'an invoice' is read"], "an invoice", False),
    ],
)
def test_a_reading_of_half_a_sentence_is_accepted_only_without_the_other_half(
    undecided: list[str], part: str | None, taken: bool
) -> None:
    given = {"decision": "accept", "read": drafted(BOTH, rules=READ["rules"][:1], undecided=undecided)}
    given |= {"part": part, "why": "the till keeps it"} if part else {}
    if not taken:
        with pytest.raises(DecisionError, match="holds what the reader left undecided was required") as told:
            account(BOTH, **given)
        assert undecided[-1] in str(told.value) and "write 'rule'" in str(told.value)
    else:
        made = account(BOTH, **given)
        assert made.cls == "rule" and made.part == (part or "")


def test_a_draft_keeps_what_was_left_undecided_beside_what_was_read() -> None:
    source = policy.of_text(BOTH, SHOP)
    (one,) = source.sentences
    pays = Predicate("pays", "action", "", (), ("pay_invoice",))
    rule = Rule("c.1", BOTH, parse("ALWAYS NOT pays"), "forbid", "action", "c", BOTH)
    doubts = Undecided("c", BOTH, HALF, part=True), Undecided("c", BOTH, "no second reply")
    ruleset, clauses = RuleSet((pays,), (rule,), doubts), [clause_of(one, "c")]
    readings = sentences.classify(source, clauses, ruleset)
    read = sentences.refused(source, clauses, ruleset, readings)
    assert {name: half.undecided for name, half in read.items()} == {readings[0].id: doubts[:1]}
    assert decisions.counted(read, ()) == {"read": 0, "lacking": 1}
    text = decisions.draft(readings, SHOP, read)
    assert f"# to accept the rest, name the `part` that holds what is undecided: {HALF}" in text
    vague = {name: replace(half, undecided=(replace(doubts[0], reason="it is vague"),)) for name, half in read.items()}
    assert "# to accept the rest, write its rules: it is not said" in decisions.draft(readings, SHOP, vague)
    row = yaml.safe_load(text)["decisions"][0]["read"]
    assert row["undecided"] == [HALF] and "no second reply" not in str(row)
    (entry,) = yaml.safe_load(text.replace("    decision:\n", "    decision: accept\n"))["decisions"]
    for wrong in (entry, {**entry, "read": {name: row[name] for name in row if name != "undecided"}}):
        with pytest.raises(DecisionError, match="left undecided was required|as a draft wrote it"):
            decisions.loads(yaml.safe_dump({"decisions": [wrong]}), source)


def test_a_part_that_is_waived_leaves_the_other_rules_of_its_sentence_in_force() -> None:
    rules = "ALWAYS (pays IMPLIES approved)", "ALWAYS (pays IMPLIES receipt)"
    part = {"decision": "waive", "part": ", and keep the receipt", "why": "the till keeps it"}
    assert account(BOTH, *rules).cls == "open"
    made = account(BOTH, *rules, **part)
    assert made.cls == "rule" and made.rules == ("c.0",), made.reason
    assert made.part == part["part"] and account(BOTH, *rules).part == ""
    assert "waived by a person" in made.reason and "keep the receipt" in made.reason and "the till" in made.reason
    assert account(BOTH, rules[1], **part).cls == "open"  # the rest was not read
    assert account(BOTH, "ALWAYS (pays IMPLIES NOT approved)", **part).cls == "open"
    assert account(BOTH, "ALWAYS (sends IMPLIES approved)", **part).cls == "open"
    accepted = account(BOTH, **{**part, "decision": "accept", "read": drafted(BOTH)})
    for other in ("an invoice", "a manager approved it", "keep the"):  # the receipt is not theirs
        assert account(BOTH, **{**part, "part": other, "decision": "accept", "read": drafted(BOTH)}).cls == "open"
    assert accepted.cls == "rule" and len(accepted.rules) == 1 and "keep the receipt" in accepted.reason


def test_a_doubt_about_a_part_goes_with_it_and_any_other_stays() -> None:
    rule, part = "ALWAYS (pays IMPLIES approved)", {"decision": "waive", "part": ", and keep the receipt", "why": "so"}
    assert account(BOTH, rule, **part, doubts=["'keep the receipt' names no act"]).cls == "rule"
    for doubt in ("'manager' may be anybody", "it is not clear", "'keep the receipt' and 'unless' go together"):
        made = account(BOTH, rule, **part, doubts=[doubt])
        assert made.cls == "open" and doubt in made.reason


@pytest.mark.parametrize(
    ("text", "part", "fine"),
    [
        ("Explicit invoices must not be paid.", "must not", False),
        ("Explicit invoices must not be paid.", "not be", False),
        ("It is strictly prohibited to pay explicit invoices.", "It is strictly prohibited", False),
        ("We refuse to pay explicit invoices.", "We refuse", False),
        ("Refrain from paying explicit invoices.", "Refrain from", False),
        ("Do not pay an invoice until it is approved.", "until", False),
        ("Do not pay invoices of another kind than these.", "another kind than", False),
        ("Do not pay an invoice whose rank is below gold.", "is below", False),
        ("Do not pay an invoice of more than 9 pages in haste.", "of more than 9 pages", True),
        ("Never pay anybody who is not a member.", "anybody who is not", False),
        ("Nobody but a member may be paid.", "but a member", False),
        ("Pay the invoice, but do not tell the sender.", "but do not tell the sender", True),
        ("Pay the invoice and never send a letter that is not signed.", "send a letter", True),
        ("Pay the invoice, and do not keep the receipt.", "and do not keep the receipt", True),
        ("Pay an invoice of the same kind but of another amount.", "but of another amount", True),
    ],
)
def test_a_part_that_turns_what_it_stands_beside_is_a_whole_clause(text: str, part: str, fine: bool) -> None:
    entry = {"text": text, "decision": "waive", "part": part, "why": "so"}
    source = policy.of_text(text, SHOP)
    if fine:
        assert decisions.loads(yaml.safe_dump({"decisions": [entry]}), source)[0].part == part
    else:
        with pytest.raises(DecisionError, match="that negates or excepts was required to be a clause"):
            decisions.loads(yaml.safe_dump({"decisions": [entry]}), source)


def test_what_no_draft_offers_is_not_accepted_from_a_file_either() -> None:
    text = "Send a letter before you pay an invoice."
    orders = {"predicates": {"pays": READ["predicates"]["pays"], "sends": {"kind": "action", "tools": ["send_letter"]}}}
    for first, then, fine in (("sends", "pays", True), ("pays", "sends", False)):
        own = {**orders, "rules": [{"formula": f"ALWAYS ({then} IMPLIES ONCE {first})", "modality": "oblige"}]}
        own |= {"digest": decisions.Reading(**own).drafted(named(text), text)}
        if fine:
            assert account(text, decision="accept", read=own).cls == "rule"
        else:
            with pytest.raises(DecisionError, match="that a draft offers was required"):
                account(text, decision="accept", read=own)


def test_a_part_that_leaves_nothing_of_what_was_read_is_told_as_that() -> None:
    text = "Keep a receipt when you pay."
    own = drafted(text, rules=READ["rules"][1:])
    with pytest.raises(DecisionError, match="with this part nothing is left of what was read: write 'rule'"):
        account(text, decision="accept", read=own, part="Keep a receipt", why="the till does")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"part": "burn the receipt"}, "a part was required in the words of the sentence"),
        ({"part": "eep the rece"}, "a part was required in the words of the sentence"),
        ({"part": BOTH}, "less than the whole sentence"),
        ({"part": "Never"}, "that negates or excepts"),
        ({"part": "unless a manager approved it"}, "that negates or excepts"),
        ({"part": "keep the receipt", "decision": "reject"}, "goes with 'waive', 'accept' or 'rule'"),
        ({"part": "keep the receipt", "why": ""}, "a reason 'why' was required"),
    ],
)
def test_a_part_is_some_words_of_the_sentence_that_turn_nothing_round(given: dict[str, str], why: str) -> None:
    with pytest.raises(DecisionError, match=why):
        account(BOTH, "ALWAYS (pays IMPLIES approved)", **{"decision": "waive", "why": "so", **given})


def test_a_draft_says_what_no_guard_keeps_where_words_are_waived_for_want_of_a_field() -> None:
    source = policy.of_text(BOTH, SHOP)
    (waiting,) = sentences.classify(source, (), RuleSet())
    made = decisions.fragment(decisions.decide(waiting, "rule", "so", yaml.safe_dump(READ), source))
    text = decisions.draft([waiting], SHOP, {waiting.id: made})
    said = "decides 'receipt': accepted with a `part` that holds “receipt”, no guard keeps this: Whenever pay_invoice"
    assert said in text and text.count("no guard keeps this") == 1, "a field tells 'approved'"
    assert not decisions.acceptable(made), "the word alone does not accept it"
    whole = replace(made, rules=made.rules[1:], predicates=tuple(p for p in made.predicates if p.name != "approved"))
    alone = decisions.draft([waiting], SHOP, {waiting.id: whole})
    assert "decides 'receipt': `accept` leaves it open: declare such a field, write the rule or waive" in alone
    assert "no guard keeps this" not in alone
    told = replace(made, rules=made.rules[:1], predicates=tuple(p for p in made.predicates if p.name != "receipt"))
    assert decisions.acceptable(told)
    every = {"one": made, "two": told, "three": told, "four": replace(told, rules=())}
    assert decisions.counted(every, ()) == {"read": 2, "lacking": 1}
    ruling = decisions.decide(waiting, "rule", "so", yaml.safe_dump(READ), source)
    assert decisions.counted({**every, ruling.id: told}, [ruling]) == {"read": 2, "lacking": 1}, "it is decided"


@pytest.mark.parametrize(
    ("names", "part"),
    [
        (["receipt"], "receipt"),
        (["keep_receipt"], "keep the receipt"),
        (["receipt", "keeps"], "keep the receipt"),
        (["manager_receipt"], "manager approved it, and keep the receipt"),
        (["pay_receipt"], ""),  # all of the sentence
        (["flown"], ""),  # none of its words
        ([], ""),
    ],
)
def test_the_words_that_a_part_has_to_hold_are_those_of_the_facts_without_a_field(names: list[str], part: str) -> None:
    assert decisions.holding(BOTH, names) == part
    if part:
        assert decisions.within(part, BOTH, names)
        less = [part.partition(" ")[2], part.rpartition(" ")[0]]
        assert not any(decisions.within(one, BOTH, names) for one in less if one)


def test_a_reading_whose_act_no_tool_does_is_told_and_not_offered_for_one_word() -> None:
    source = policy.of_text(BOTH, SHOP)
    (waiting,) = sentences.classify(source, (), RuleSet())
    made = decisions.fragment(decisions.decide(waiting, "rule", "so", yaml.safe_dump(READ), source))
    known = tuple(replace(p, tools=()) for p in made.predicates)
    own = replace(made, predicates=known)
    text = decisions.draft([waiting], SHOP, {waiting.id: own})
    assert "it needs a tool that does 'pays'" in text and "read:" not in text
    with pytest.raises(DecisionError, match="'read'"):
        decisions.loads(text.replace("    decision:\n", "    decision: accept\n"), source)
