"""Rule sets on disk: YAML and JSON read back, and every malformed file is refused with its place."""

import json

import pytest
import yaml
from conftest import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st
from test_syntax import formulas

from wb.logic import cel
from wb.logic.facts import Comparison, Conjunction, Negation, OneOf, Path, Scalar, Size
from wb.logic.syntax import parse
from wb.rules import rulefile
from wb.rules.rule import Predicate, Rule, RuleSet, Undecided
from wb.rules.rulefile import RuleFileError

EXAMPLE = """\
# A rule set: predicates, then rules.
predicates:
  pays: {kind: action, description: the agent pays, tools: [pay, settle_invoice]}
  of_age: {kind: state, description: the user is of age, test: state.age >= 18}
  few_guests: {kind: state, tools: [book_table], test: size(call.guests) <= 8}
rules:
  - id: r1
    text: Only adults may pay.
    formula: ALWAYS (pays
      IMPLIES of_age)
    modality: permit_only_if
"""
TRAPS = [
    *"yes No on y 1e3 0o17 1_000 012 2026-01-01 ~ null !x &a *a << = # % @ ` {} [ ' \"".split(),
    *("", "- a", "a: b", "a #b", " a ", "a\n\nb\n", "\u2028", "\x85", "\x00", "\ufeff"),
]
texts = st.text(st.characters(codec="utf-8"), max_size=20) | st.sampled_from(TRAPS)
names = st.lists(texts, max_size=3).map(tuple)
scalars = st.builds(
    Scalar, st.integers(-9, 9) | st.floats(allow_nan=False, allow_infinity=False) | texts | st.booleans()
)
state_paths = st.builds(lambda name: Path(("state", name)), texts)
call_paths = st.builds(lambda name: Path(("call", name)), texts)


def facts_over(paths):
    return st.one_of(
        paths,
        st.builds(Comparison, st.sampled_from(["==", "<", ">="]), paths, scalars),
        st.builds(Comparison, st.just("<="), st.builds(Size, paths), st.builds(Scalar, st.integers(0, 9))),
        st.builds(lambda path, options: OneOf(path, tuple(map(Scalar, options))), paths, st.lists(texts, max_size=3)),
        st.builds(lambda one, other: Conjunction((Negation(one), other)), paths, paths),
    )


@st.composite
def predicates(draw, name):
    kind, test, tools = draw(
        st.tuples(st.just("action"), st.none(), names)
        | st.tuples(st.just("state"), st.none() | facts_over(state_paths), st.just(()))
        | st.tuples(st.just("state"), facts_over(call_paths), names)
    )
    return Predicate(name, kind, draw(texts), draw(names), tools, test)


@st.composite
def rulesets(draw):
    ids = draw(st.lists(texts.filter(bool), max_size=3, unique=True))
    modalities, types = st.sampled_from(["forbid", "permit_only_if", "oblige"]), st.sampled_from(["action", "physical"])
    rules = [draw(st.builds(Rule, st.just(i), texts, formulas(), modalities, types, texts, texts, names)) for i in ids]
    undecided = draw(st.lists(st.builds(Undecided, texts, texts, texts.filter(bool)), max_size=2))
    return RuleSet(tuple(draw(predicates(name)) for name in ("a", "b", "c")), tuple(rules), tuple(undecided))


@given(rulesets())
@settings(max_examples=100, deadline=None)
def test_a_rule_set_is_read_back_from_yaml_and_from_json(ruleset):
    text = rulefile.dumps(ruleset)
    assert rulefile.loads(text) == ruleset
    assert rulefile.from_json(json.loads(json.dumps(rulefile.to_json(ruleset)))) == ruleset
    assert rulefile.loads(json.dumps(rulefile.to_json(ruleset))) == ruleset
    other = yaml.safe_load(text)  # a reader that knows numbers and booleans finds the same texts
    assert rulefile.from_json(other) == ruleset


def test_the_documented_example_reads_as_it_says(tmp_path):
    path = tmp_path / "rules.yaml"
    path.write_text(EXAMPLE)
    ruleset = rulefile.load(path)
    assert ruleset.predicate("pays").tools == ("pay", "settle_invoice")
    assert ruleset.predicate("of_age").test == Comparison(">=", Path(("state", "age")), Scalar(18))
    assert ruleset.predicate("few_guests").test == cel.parse("size(call.guests) <= 8")
    assert ruleset.predicate("few_guests").tools == ("book_table",)
    assert ruleset.rules == (
        Rule("r1", "Only adults may pay.", parse("ALWAYS (pays IMPLIES of_age)"), "permit_only_if"),
    )
    shown = "\n".join(line[4:] for line in rulefile.__doc__.split("\n\n")[1].splitlines())
    assert rulefile.loads(shown) == ruleset, "the example of the docstring"


def test_what_a_person_keeps_is_what_is_written():
    """Short, in the order of the form, without keys that say nothing."""
    ruleset = rulefile.loads(EXAMPLE)
    assert rulefile.dumps(ruleset).splitlines()[:6] == [
        "predicates:",
        "  pays:",
        "    kind: action",
        "    description: the agent pays",
        "    tools: [pay, settle_invoice]",
        "  of_age:",
    ]
    for name in ("airline", "converse"):
        kept = rulefile.load(ROOT / "tests" / "rules" / f"{name}.yaml")
        assert rulefile.loads(rulefile.dumps(kept)) == kept


@pytest.mark.parametrize(
    ("written", "meant"),
    [("yes", "yes"), ("1e3", "1e3"), ("012", "012"), ("2026-01-01", "2026-01-01"), ("'a #b'", "a #b"), ("a #b", "a")],
)
def test_a_scalar_is_the_text_that_stands_there(written, meant):
    assert rulefile.loads(EXAMPLE.replace("Only adults may pay.", written)).rules[0].text == meant


@pytest.mark.parametrize("nothing", ["", "~", "null"])
def test_a_key_without_a_value_is_absent(nothing):
    assert rulefile.loads(EXAMPLE.replace("Only adults may pay.", nothing)).rules[0].text == ""
    with pytest.raises(RuleFileError, match=r"line 9: rules.0.formula: it was required; got none"):
        rulefile.loads(EXAMPLE.replace("ALWAYS (pays\n      IMPLIES of_age)", nothing))


@pytest.mark.parametrize(
    ("formula", "modality"),
    [
        ("ALWAYS (pays IMPLIES of_age)", "permit_only_if"),
        ("ALWAYS NOT pays", "forbid"),
        ("ALWAYS (of_age IMPLIES NOT pays)", "forbid"),
        ("ALWAYS (of_age IMPLIES EVENTUALLY pays)", "oblige"),
        ("pays IMPLIES of_age", None),
        ("(ALWAYS pays) IMPLIES of_age", None),
    ],
)
def test_a_modality_is_asked_for_only_where_the_formula_does_not_say_it(formula, modality):
    text = EXAMPLE.replace("ALWAYS (pays\n      IMPLIES of_age)", formula)
    assert rulefile.loads(text).rules[0].modality == "permit_only_if", "what stands there counts"
    left = text.replace("    modality: permit_only_if\n", "")
    if modality is not None:
        assert rulefile.loads(left).rules[0].modality == modality
        return
    with pytest.raises(
        RuleFileError, match=r"modality: one of .* was required, for the formula does not say it; got none"
    ):
        rulefile.loads(left)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("permit_only_if", "sometimes"), "line 11: rules.0.modality: one of 'forbid', 'permit_only_if', 'oblige'"),
        (("permit_only_if", "sometimes"), 'was required; got "sometimes"'),
        (("pays\n      IMPLIES of_age)", "pays IMPLIES)"), "line 9: rules.0.formula: "),
        (("of_age)", "adult)"), "rule 'r1' uses predicates that are not declared: ['adult']"),
        (("text: Only", "note: Only"), "line 8: rules.0.note: a key of ['id', 'text', 'formula', 'modality', "),
        (("text: Only", "note: Only"), "was required; got 'note'"),
        (("state.age >= 18", "age is 18"), "line 4: predicates.of_age.test: line 1, column 5: CEL was required"),
        (("state.age >= 18", "state.age.matches('x')"), "the function matches() of a value is not supported"),
        (
            ("state.age >= 18", "!state.minor "),
            "line 4: YAML was required; got a tag, !state.minor: a text that begins",
        ),
        (("state.age >= 18", 'state.role in ["a", "b"]'), "line 4: YAML was required"),
        (("state.age >= 18", "[state.age >= 18]"), "predicates.of_age.test: a text was required; got ["),
        (("tools: [book_table], test: size(call.guests) <= 8", "tools: [t]"), "line 5: predicates.few_guests: a state"),
        (("tools: [pay, settle_invoice]", "tools: pay"), 'predicates.pays.tools: a list was required; got "pay"'),
        (("tools: [pay, settle_invoice]", "test: state.pays"), "an action predicate is tested by its tools alone"),
        (("  of_age:", "  pays:"), "line 4: YAML was required; got the key 'pays' again: each key once was required"),
        (("text: Only", "id: r2\n    text: Only"), "line 8: YAML was required; got the key 'id' again"),
        (("  of_age:", "  Of_Age:"), "line 4: predicates.Of_Age: a predicate name must match [a-z][a-z0-9_]*"),
        (("kind: action", "kind: thing"), "line 3: predicates.pays.kind: one of 'action', 'state' was required"),
        (("predicates:", "predicate:"), "line 2: predicate: a key of ['predicates', 'rules', 'undecided'] was"),
        (("rules:", "rules: &all"), "line 6: YAML was required; got an anchor or alias, all"),
        (("Only adults may pay.", "*pays"), "line 8: YAML was required; got an anchor or alias, pays"),
        (("Only adults may pay.", "!!python/object:os.system x"), "line 8: YAML was required; got a tag, tag:yaml.org"),
        (("Only adults may pay.", "a: b"), "line 8: YAML was required; got mapping values are not allowed"),
        (("id: r1", "? [a]\n    : b\n    id: r1"), "YAML was required; got a key that is no text"),
        (("id: r1", "id:"), "line 7: rules.0.id: it was required; got none"),
        (("id: r1", "id: ''"), "line 7: rules.0.id: a text that is not empty was required"),
        (
            ("  - id: r1", "  - id: r1\n    modality: forbid\n    formula: ALWAYS pays\n  - id: r1"),
            "['r1'] more than once",
        ),
    ],
)
def test_a_malformed_text_is_refused_with_its_place(change, words):
    assert change[0] in EXAMPLE
    with pytest.raises(RuleFileError) as caught:
        rulefile.loads(EXAMPLE.replace(*change, 1), source="my.yaml")
    assert words in str(caught.value) and str(caught.value).startswith("my.yaml")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "JSON was required"),
        ("{}", "rules: rules: it was required; got none"),
        ("[]", "a mapping with the keys ['predicates', 'rules', 'undecided'] was required; got []"),
        ("", "was required; got null"),
        ("rules: []\n---\nrules: []", "line 2: YAML was required"),
        ('{"rules": [1]}', "rules.0: a mapping was required; got 1"),
        ('{"rules": {}}', "rules: a list was required; got {}"),
        ('{"rules": [{"id": "r", "formula": "a", "modality": "forbid"}]}', "not declared: ['a']"),
        ('{"rules": [{"id": "", "formula": "a", "modality": "forbid"}]}', "rules.0.id: a text that is not empty"),
        ('{"rules": [{"id": "r", "formula": 3, "modality": "forbid"}]}', "rules.0.formula: a text was required; got 3"),
        ('{"rules": [], "rules": []}', "['rules'] more than once"),
        ('{"rules": [], "predicates": {"a": {"kind": "state", "test": true}}}', "predicates.a.test: a text was"),
        ('{"rules": ' * 100_000, "nested"),
        ("[" * 100_000, "nested"),
        ("rules: " + "\n" + "".join(" " * i + "- \n" for i in range(3000)), "rules"),
    ],
)
def test_other_data_are_refused(text, words):
    with pytest.raises(RuleFileError) as caught:
        rulefile.loads(text)
    assert words in str(caught.value) and len(str(caught.value)) < 1000


def test_a_bomb_of_aliases_is_refused_before_it_is_built():
    levels = [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9) if i else 'x'}]" for i in range(30)]
    with pytest.raises(RuleFileError, match="line 1: YAML was required; got an anchor or alias, a0"):
        rulefile.loads("\n".join(levels))


def test_a_file_that_is_absent_or_not_text_is_refused(tmp_path):
    with pytest.raises(RuleFileError, match="readable rule file|readable file"):
        rulefile.load(tmp_path / "none.yaml")
    (tmp_path / "bytes.yaml").write_bytes(b"rules: []\n\xff\xfe\x00rule")
    with pytest.raises(RuleFileError, match=r"bytes.yaml, line 2: UTF-8 text was required; got byte 0xff"):
        rulefile.load(tmp_path / "bytes.yaml")


@given(st.text(max_size=80) | st.text(alphabet='predicat ruls:-{}[]&*!"\\,#\n\t', max_size=80))
@settings(max_examples=300, deadline=None)
def test_any_text_is_a_rule_set_or_a_rule_file_error(text):
    try:
        rulefile.loads(text)
    except RuleFileError as error:
        assert str(error)


def test_a_line_of_a_megabyte_is_refused_or_read_within_bounds():
    rule = "rules:\n- id: r\n  modality: forbid\n  "
    for line in (
        "rules: " + "x" * 1_000_000,
        rule + "formula: " + "(" * 1_000_000,
        rule + 'id: "' + "\\" * 1_000_000,
        rule + "parents: " + '"' * 1_000_000,
        "rules: []\npredicates:\n  a: {kind: state, test: " + "a" * 1_000_000 + "}",
    ):
        with pytest.raises(RuleFileError) as caught:
            rulefile.loads(line)
        assert len(str(caught.value)) < 1000


def test_lists_of_texts_stand_in_brackets_and_each_rule_on_lines_of_its_own():
    found = rulefile.written({"rules": [{"id": "r1", "parents": ["a", "b"]}, {"id": "r2", "parents": []}], "none": []})
    assert found.splitlines() == ["rules:", "- id: r1", "  parents: [a, b]", "- id: r2", "  parents: []", "none: []"]
