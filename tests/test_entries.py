"""An entry is put into a person's file of decisions, and nothing else in it changes."""

import os
import stat

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from wb.domain import policy
from wb.domain.tools import Field, Tool, Toolbox
from wb.offline import reader
from wb.rules import decisions, entries, sentences
from wb.rules.decisions import DecisionError, Ruling

BOX = Toolbox(tools=(Tool("pay_invoice"), Tool("send_letter"), Tool("greet")), state=(Field("approved", "boolean"),))
SOURCE = policy.of_text("Never pay by moonlight. Letters go out on Fridays only. You must never hum.", BOX)
PAY, LETTERS, HUM = sentences.classify(SOURCE, reader.extracted(SOURCE)).accounts
RULE = """predicates:
  pays: {kind: action, tools: [pay_invoice]}
  approved: {kind: state}
rules:
  - {formula: ALWAYS (pays IMPLIES approved), modality: permit_only_if}
"""
PERSONS = f"""# decided on Monday, with Ann
decisions:   # the list
# Ann asked for this one
- id: "{PAY.id}"   # of the bank
  text: >-   # folded
    Never pay by
    moonlight.
  decision: waive # for now
  why: 'the bank does it'
  # ask again in May

# not decided yet
- text: You must never hum.
  decision:
  why:
# the end
"""
FILES = {
    "a person's": PERSONS,
    "none": "",
    "blank": "\n\n",
    "remarks": "# nothing decided yet\n",
    "empty list": "# head\ndecisions: []  # none\n# tail\n",
    "no list": "decisions:\n# tail\n",
    "no line break at the end": PERSONS.rstrip("\n"),
    "a list far in": f"decisions:\n    -  id: {PAY.id}\n       text: {PAY.text}\n       decision: waive\n       why: x",
    "draft": decisions.draft((PAY, LETTERS, HUM), BOX),
    "an end of the document": f'decisions:\n- id: "{PAY.id}"\n  text: Never pay by moonlight.\n...\n',
    "lines of Windows": PERSONS.replace("\n", "\r\n"),
    "a block": f"decisions:\n- text: {PAY.text}\n  decision: waive\n  why: | # long\n    one\n\n    # two\n\n# tail\n",
}


def waived(reading: sentences.Account, why: str = "x") -> Ruling:
    return decisions.decide(reading, "waive", why, "", SOURCE)


def remarks(text: str) -> list[str]:
    """The remarks of those files, told by hand: in them a number sign is text in one place alone."""
    return sorted(line.partition("#")[2].strip() for line in text.splitlines() if "#" in line and "# two" not in line)


@pytest.mark.parametrize("text", FILES.values(), ids=FILES.keys())
@pytest.mark.parametrize("reading", (PAY, LETTERS, HUM), ids=("pay", "letters", "hum"))
def test_one_entry_changes_and_no_remark_is_lost(text: str, reading: sentences.Account) -> None:
    made = waived(reading, "who: Ann & Bob #1 'x' \\ \u2028 \u202e")
    edited = entries.put(text, made, SOURCE)
    before = {d.id: d for d in decisions.loads(text, SOURCE)}
    assert {d.id: d for d in decisions.loads(edited, SOURCE)} == before | {reading.id: made}
    assert not [one for one in remarks(text) if one not in remarks(edited)]
    assert ("\r\n" in text) == ("\r\n" in edited) and edited.count("\n") == edited.count("\r\n") * ("\r\n" in text) + (
        edited.count("\n") * ("\r\n" not in text)
    )
    again = entries.put(edited, made, SOURCE)
    assert decisions.loads(again, SOURCE) == decisions.loads(edited, SOURCE) and remarks(again) == remarks(edited)


def test_what_is_not_replaced_stays_letter_by_letter() -> None:
    added = entries.put(PERSONS, waived(LETTERS), SOURCE)
    assert added.startswith(PERSONS) and added[len(PERSONS) :].startswith("- id: "), added
    replaced = entries.put(PERSONS, waived(PAY, "another reason"), SOURCE)
    head, tail = PERSONS.partition("- id:")[0], PERSONS[PERSONS.index("  # ask again") :]
    assert replaced.startswith(head) and replaced.endswith(tail) and "the bank does it" not in replaced
    assert [one in replaced for one in ("# of the bank\n", "# folded\n", "# for now\n")] == [True] * 3
    hum = entries.put(PERSONS, waived(HUM), SOURCE)
    assert hum.count("You must never hum.") == 1 and hum.endswith("# the end\n"), "an open entry is filled in"


@settings(max_examples=25)
@given(st.lists(st.tuples(st.sampled_from((PAY, LETTERS, HUM)), st.text(min_size=1)), max_size=4))
def test_decisions_one_after_the_other_say_what_each_said_last(made: list[tuple[sentences.Account, str]]) -> None:
    text, said = PERSONS, {PAY.id: "the bank does it"}
    for reading, why in made:
        try:
            one = waived(reading, why)
        except DecisionError as error:
            assert not any(letter.isalnum() for letter in why), error
            continue
        text = entries.put(text, one, SOURCE)
        said[reading.id] = why
    assert {d.id: d.why for d in decisions.loads(text, SOURCE)} == said
    assert not [one for one in remarks(PERSONS) if one not in text]


REFUSED = {
    "a mistake of the person's": (
        "decisions:\n- {text: No., decision: waive, why: x}\n",
        r"line 2: decisions.0.text: ",
    ),
    "a remark in brackets": ("decisions: [ # mine\n]\n", "write the entry by hand"),
    "entries in braces": ("decisions: [{text: You must never hum.}]\n", "write the entry by hand"),
    "no YAML": ("decisions: [\n", "YAML was required"),
    "another form": ("- a\n", "a mapping with the keys"),
}


@pytest.mark.parametrize(("text", "why"), REFUSED.values(), ids=REFUSED.keys())
def test_a_file_that_cannot_be_edited_is_left_as_it_is(tmp_path, text: str, why: str) -> None:
    place = tmp_path / "decisions.yaml"
    place.write_text(text, "utf-8")
    with pytest.raises(DecisionError, match=why):
        entries.save(place, waived(PAY), SOURCE)
    assert place.read_text("utf-8") == text and os.listdir(tmp_path) == ["decisions.yaml"]


def test_a_file_that_changed_meanwhile_is_not_written_over(tmp_path) -> None:
    place = tmp_path / "decisions.yaml"
    entries.save(place, waived(PAY), SOURCE, seen="")
    seen = entries.stamp(place)
    place.write_text(place.read_text("utf-8") + "# by hand\n", "utf-8")
    kept = place.read_bytes()
    with pytest.raises(DecisionError, match="was changed meanwhile"):
        entries.save(place, waived(HUM), SOURCE, seen=seen)
    assert place.read_bytes() == kept
    entries.save(place, waived(HUM), SOURCE, seen=entries.stamp(place))
    assert [d.id for d in decisions.load(place, SOURCE)] == [PAY.id, HUM.id] and "# by hand" in place.read_text("utf-8")


def test_a_link_and_a_mark_of_the_byte_order_stay(tmp_path) -> None:
    real, link = tmp_path / "real.yaml", tmp_path / "decisions.yaml"
    real.write_bytes("\ufeff# mine\n".encode())
    link.symlink_to(real)
    entries.save(link, waived(PAY), SOURCE)
    assert link.is_symlink() and stat.S_ISREG(real.lstat().st_mode)
    assert real.read_bytes().startswith("\ufeff# mine\ndecisions:\n".encode())
    assert yaml.safe_load(link.read_text("utf-8-sig"))["decisions"][0]["id"] == PAY.id


def test_a_decision_of_a_form_tells_the_line_of_the_form() -> None:
    made = decisions.decide(PAY, "rule", "by hand", RULE, SOURCE)
    assert decisions.loads(entries.put(PERSONS, made, SOURCE), SOURCE)[0] == made
    for text, why in (
        (RULE.replace("pay_invoice", "pay_bill"), r"the rule, line 2: predicates.pays: tools of .* got \['pay_bill'\]"),
        (RULE.replace("IMPLIES", "IF"), r"the rule, line 5: rules.0.formula: "),
        ("decision: waive\n", r"the keys \['predicates', 'rules'\] was required; got \['decision'\]"),
        ("- a", "a mapping .* got list"),
        ("", "at least one rule was required for 'rule'; got 0"),
        ("rules: [", "the rule, line 2: YAML was required"),
    ):
        with pytest.raises(DecisionError, match=why):
            decisions.decide(PAY, "rule", "by hand", text, SOURCE)
    with pytest.raises(DecisionError, match="a reason 'why' was required for 'waive'; got none"):
        decisions.decide(PAY, "waive", " ", "", SOURCE)
    with pytest.raises(DecisionError, match="decision: one of .*'reject'.* was required; got \"forget\""):
        decisions.decide(PAY, "forget", "x", "", SOURCE)
    assert decisions.decide(PAY, None, "", "", SOURCE).decision is None, "a decision is taken back by an open entry"


def test_a_rejected_reading_is_open_for_all_that_it_bore_on() -> None:
    ruled = decisions.decide(PAY, "rule", "by hand", RULE, SOURCE)
    found = reader.extracted(SOURCE)
    assert sentences.classify(SOURCE, found, (ruled,)).accounts[0].cls == "rule"
    rejected = decisions.decide(PAY, "reject", "moonlight is not approval", "", SOURCE)
    one = sentences.classify(SOURCE, found, (rejected,)).accounts[0]
    assert one.cls == "open" and "as a person says: moonlight is not approval" in one.reason
    assert one.tools == PAY.tools and one.rules == ()
