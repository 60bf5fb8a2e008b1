"""Decisions of a person: read with the line of every mistake, honoured, reported when stale, drafted."""

import textwrap
from dataclasses import replace

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from wb.domain import policy
from wb.domain.tools import Field, Tool, Toolbox
from wb.logic.syntax import render
from wb.rules import decisions, sentences
from wb.rules.decisions import DecisionError, Ruling
from wb.rules.rule import RuleSet

BOX = Toolbox(tools=(Tool("pay_invoice"), Tool("send_letter"), Tool("greet")), state=(Field("approved", "boolean"),))
TEXT = "Never pay by moonlight. Letters go out on Fridays only. You must never hum."
SOURCE = policy.of_text(TEXT, BOX)
OPEN = sentences.classify(SOURCE, (), RuleSet())
PAY, LETTERS, HUM = OPEN


def entry(reading: sentences.Account, **given: object) -> str:
    return yaml.safe_dump({"decisions": [{"id": reading.id, "text": reading.text, **given}]}, sort_keys=False)


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
    (waived,) = decisions.loads(entry(HUM, decision="waive", why="the manager listens"))
    assert classes(waived) == ["open", "open", "waived"]
    (plain,) = decisions.loads(entry(LETTERS, decision="not a constraint", why="it tells of the post"))
    assert classes(plain, waived) == ["open", "not a constraint", "waived"]
    (ruled,) = decisions.loads(entry(PAY, **own()))
    assert classes(ruled) == ["rule", "open", "open"]


def test_a_rule_of_a_person_quotes_its_sentence_and_joins_the_predicates_there_are() -> None:
    (made,) = decisions.loads(entry(PAY, **own()))
    (again,) = decisions.loads(entry(HUM, **own("greet")))
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
    waived, ruled = decisions.loads(textwrap.dedent(text))
    assert (waived.decision, ruled.decision) == ("waive", "rule")
    assert decisions.fragment(ruled).predicate("manager").test is not None


def test_a_rule_that_was_not_joined_leaves_its_sentence_open() -> None:
    (made,) = decisions.loads(entry(PAY, **own()))
    assert sentences.classify(SOURCE, (), RuleSet(), (made,))[0].cls == "open"


def test_rules_of_a_waived_sentence_are_no_longer_enforced() -> None:
    (made,) = decisions.loads(entry(PAY, **own()))
    ruleset = decisions.join(RuleSet(), (made,), BOX)
    kept = sentences.enforced(ruleset, sentences.classify(SOURCE, (), ruleset, (made,)))
    assert kept.rules == ruleset.rules
    (waived,) = decisions.loads(entry(PAY, decision="waive", why="moved to the bank"))
    assert sentences.enforced(ruleset, sentences.classify(SOURCE, (), ruleset, (waived,))).rules == ()


def test_a_decision_about_other_words_is_stale_and_has_no_effect() -> None:
    (made,) = decisions.loads(entry(replace(HUM, text="You must never whistle."), decision="waive", why="x"))
    (gone,) = decisions.loads(entry(replace(HUM, id="0" * 12), decision="waive", why="x"))
    (kept,) = decisions.loads(entry(PAY, decision="waive", why="x"))
    assert sentences.settled(SOURCE, (made, gone, kept)) == ((kept,), (made, gone))
    assert classes(made, gone) == ["open"] * 3
    folded = replace(PAY, text="Never   pay by\n moonlight.")
    (same,) = decisions.loads(entry(folded, decision="waive", why="x"))
    assert classes(same)[0] == "waived"


def test_a_draft_names_the_worst_first_and_decides_nothing_until_it_is_filled_in() -> None:
    text = decisions.draft(OPEN, BOX)
    rows = yaml.safe_load(text)["decisions"]
    assert [row["text"] for row in rows] == [HUM.text, PAY.text, LETTERS.text]
    assert decisions.loads(text) == ()
    assert "blocks 2 of 3 tools: pay_invoice, send_letter" in text and "blocks 1 of 3 tools: send_letter" in text
    filled = text.replace("decision:\n    why:\n", "decision: waive\n    why: because\n", 1)
    assert [d.id for d in decisions.loads(filled)] == [HUM.id]
    assert decisions.loads(decisions.draft((), BOX)) == ()


@settings(max_examples=60)
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip), st.text())
@example("0", "\x1b \u2028 # : '")
def test_a_draft_of_any_words_is_a_file_that_speaks_of_them(text: str, reason: str) -> None:
    reading = replace(PAY, text=text, reason=reason)
    drafted = decisions.draft((reading,), BOX)
    assert decisions.loads(drafted) == ()
    (made,) = decisions.loads(drafted.replace("decision:\n    why:\n", "decision: waive\n    why: x\n", 1))
    assert made.speaks_of(text)


def test_the_form_of_a_rule_in_the_draft_is_a_rule_when_it_is_uncommented() -> None:
    head, _, form = decisions.draft(OPEN[:1], BOX).partition("    # predicates:\n")
    form = ("    # predicates:\n" + form).replace("# ", "").replace("[...]", "[pay_invoice]")
    (made,) = decisions.loads(head.replace("decision:\n    why:\n", "decision: rule\n    why: by hand\n", 1) + form)
    (rule,) = decisions.join(RuleSet(), (made,), BOX).rules
    assert render(rule.formula) == "ALWAYS (does_it IMPLIES may_do_it)" and rule.quote == PAY.text


def test_the_file_stands_beside_the_policy_and_need_not_exist(tmp_path) -> None:
    assert decisions.place(tmp_path) == tmp_path / "decisions.yaml"
    assert decisions.place(tmp_path / "rules.pdf") == tmp_path / "rules.decisions.yaml"
    assert decisions.load(tmp_path / "decisions.yaml") == ()
    (tmp_path / "decisions.yaml").write_text(entry(PAY, decision="waive", why="x"), "utf-8")
    assert len(decisions.load(tmp_path / "decisions.yaml")) == 1
    (tmp_path / "bad.yaml").write_bytes(b"decisions:\n  - \xff\n")
    with pytest.raises(DecisionError, match=r"bad.yaml, line 2: UTF-8"):
        decisions.load(tmp_path / "bad.yaml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("decisions: [", r"line \d: YAML was required"),
        ("- a\n- b\n", r"line 1: a mapping with the keys \['decisions'\] was required; got \["),
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
        decisions.loads(text)


def test_a_rule_about_a_tool_that_does_not_exist_is_refused() -> None:
    (made,) = decisions.loads(entry(PAY, **own("fly")))
    with pytest.raises(DecisionError, match=r"tools of .* were required; got \['fly'\]"):
        decisions.join(RuleSet(), (made,), BOX)
