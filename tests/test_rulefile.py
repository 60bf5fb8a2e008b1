"""Rule sets on disk: both forms read back, and every malformed file is refused with its place."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_syntax import formulas

from wb.logic.syntax import parse
from wb.rules import rulefile
from wb.rules.rule import Predicate, Rule, RuleSet, Test, Undecided
from wb.rules.rulefile import RuleFileError

EXAMPLE = """\
# A rule set: predicates first, then rules.
predicate pays (action)
    description: the agent pays
    tools: pay, settle_invoice

predicate of_age (state)
    description: the user is of age
    test: state.age >= 18

rule r1 (permit_only_if)
    text: Only adults may pay.
    formula: ALWAYS (pays
        IMPLIES of_age)
"""
texts = st.text(st.characters(codec="utf-8"), max_size=20)
tests = (
    st.none()
    | st.builds(
        Test,
        st.sampled_from(["state.x", "tool.y"]),
        st.sampled_from(["==", "<", ">="]),
        st.booleans() | st.integers() | texts | st.floats(allow_nan=False, allow_infinity=False),
        st.sampled_from(["value", "count"]),
    )
    | st.builds(lambda values: Test("state.x", "in", tuple(values)), st.lists(texts, min_size=1))
)


@st.composite
def rulesets(draw):
    names = st.lists(texts, max_size=3).map(tuple)
    predicates = tuple(
        draw(st.builds(Predicate, st.just(name), st.just("state"), texts, names, st.just(()), tests)) for name in "abc"
    )
    ids = draw(st.lists(texts.filter(bool), max_size=3, unique=True))
    rules = tuple(
        draw(
            st.builds(
                Rule,
                st.just(i),
                texts,
                formulas(),
                st.sampled_from(rulefile.MODALITIES),
                st.sampled_from(rulefile.TYPES),
                texts,
                texts,
                names,
            )
        )
        for i in ids
    )
    return RuleSet(
        predicates, rules, tuple(draw(st.lists(st.builds(Undecided, texts, texts, texts.filter(bool)), max_size=2)))
    )


@given(rulesets())
@settings(max_examples=150, deadline=None)
def test_a_rule_set_is_read_back_from_json_and_from_text(ruleset):
    assert rulefile.from_json(json.loads(json.dumps(rulefile.to_json(ruleset)))) == ruleset
    assert rulefile.loads(rulefile.dumps_text(ruleset)) == ruleset
    assert rulefile.loads(json.dumps(rulefile.to_json(ruleset))) == ruleset


def test_the_documented_example_reads_as_it_says(tmp_path):
    path = tmp_path / "rules.txt"
    path.write_text(EXAMPLE)
    ruleset = rulefile.load(path)
    assert ruleset.predicate("pays").tools == ("pay", "settle_invoice")
    assert ruleset.predicate("of_age").test == Test("state.age", ">=", 18)
    assert ruleset.rules == (
        Rule("r1", "Only adults may pay.", parse("ALWAYS (pays IMPLIES of_age)"), "permit_only_if"),
    )
    assert "predicate pays (action)" in rulefile.__doc__ and "test: state.age >= 18" in rulefile.__doc__


@pytest.mark.parametrize(
    "change, words",
    [
        (("rule r1 (permit_only_if)", "rule r1 (sometimes)"), "line 10 (rule r1): modality must be one of"),
        (("pays\n        IMPLIES of_age)", "pays IMPLIES)"), "expected a predicate"),
        (("of_age)", "adult)"), "rule 'r1' uses predicates that are not declared: ['adult']"),
        (("    text: Only", "    note: Only"), "line 11: 'key: value' with a key of"),
        (("state.age >= 18", "age is 18"), "a test FIELD OP VALUE was required"),
        (("state.age >= 18", "state.age >= eighteen"), "must be JSON"),
        (("state.age >= 18", "state.age in 18"), "'in' needs a list"),
        (("predicate of_age (state)", "predicate pays (state)"), "['pays'] more than once"),
        (("predicate of_age (state)", "predicate Of_Age (state)"), "[a-z][a-z0-9_]*"),
        (("(action)", "(thing)"), "kind must be one of ['action', 'state']"),
        (("# A rule set: predicates first, then rules.", "    tools: x"), "before indented lines"),
        (("# A rule set: predicates first, then rules.", "rules:"), "was required; got 'rules:'"),
        (("    text: Only adults may pay.", "    text: Only\n    text: twice"), "each key once"),
        (("    text: Only adults may pay.", '    text: "Only'), "must be a JSON string"),
    ],
)
def test_a_malformed_text_is_refused_with_its_place(change, words):
    assert change[0] in EXAMPLE
    with pytest.raises(RuleFileError) as caught:
        rulefile.loads(EXAMPLE.replace(*change))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "text, words",
    [
        ("{", "JSON was required"),
        ("{}", "lists 'predicates' and 'rules'"),
        ('{"rules": [1]}', "list of objects"),
        ('{"rules": [{"id": "r", "formula": "a", "modality": "forbid"}]}', "not declared: ['a']"),
        ('{"rules": [{"id": "", "formula": "a"}]}', "'id' was required"),
        ('{"rules": [{"id": "r", "formula": 3}]}', "'formula' was required"),
        ('{"rules": ' * 100_000, "nested"),
    ],
)
def test_malformed_json_is_refused(text, words):
    with pytest.raises(RuleFileError) as caught:
        rulefile.loads(text)
    assert words in str(caught.value)


def test_a_file_that_is_absent_or_not_text_is_refused(tmp_path):
    with pytest.raises(RuleFileError, match="readable rule file"):
        rulefile.load(tmp_path / "none.txt")
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe\x00rule")
    with pytest.raises(RuleFileError, match="UTF-8 text was required; got byte 0xff at 0"):
        rulefile.load(tmp_path / "bytes.txt")


@given(st.text(max_size=80) | st.text(alphabet='predicat ul(){}"\\:,#\n\t', max_size=80))
@settings(max_examples=300, deadline=None)
def test_any_text_is_a_rule_set_or_a_rule_file_error(text):
    try:
        rulefile.loads(text)
    except RuleFileError as error:
        assert str(error)


def test_a_line_of_a_megabyte_is_refused_or_read_within_bounds():
    for line in (
        "rule " + "x" * 1_000_000,
        "rule r (forbid)\n    formula: " + "(" * 1_000_000,
        'rule "' + "\\" * 1_000_000,
        "rule r (forbid)\n    parents: " + '"' * 1_000_000,
        "predicate a (state)\n    test: " + "a" * 1_000_000,
    ):
        with pytest.raises(RuleFileError) as caught:
            rulefile.loads(line)
        assert len(str(caught.value)) < 1000
