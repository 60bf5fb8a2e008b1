"""What a notebook shows of rules, sentences, verdicts and results, and how it says that something goes on."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from wb.domain.policy import Clause
from wb.domain.trace import Verdict
from wb.logic import cel, syntax
from wb.rules.certify import Change
from wb.rules.rule import Predicate, Rule, RuleSet
from wb.runs import cards, progress, show
from wb.runs.cards import Badge, Card, Quote, Source

ADULT = Predicate("adult", "state", "the user is of age", test=cel.parse("state.age >= 18"))
PAYS = Predicate("pays", "action", "the agent pays", tools=("pay", "settle"), objects=(cel.parse("call.id"),) * 2)
SINGS = Predicate("sings", "action", "the agent sings")
AGREED = Predicate("agreed", "state", "the user agreed")
FORMULAS = [syntax.parse(f"ALWAYS ({text})") for text in ("pays IMPLIES adult", "pays IMPLIES (agreed AND NOT sings)")]
RULES = RuleSet(
    (ADULT, PAYS, AGREED, SINGS),
    (
        Rule("c1.1", "Adults pay.", FORMULAS[0], "permit_only_if", quote="Only adults may pay."),
        Rule("c2.1", "Agree first.", FORMULAS[1], "forbid", quote="Agree first.", parents=("c9.1",)),
    ),
)
READINGS = [
    {"cls": cls, "text": "Pay.", "reason": f"because {i}", "rules": ["c1.1"], "tools": ["a", "b", "c", "d", "e"][:i]}
    for i, cls in enumerate(("rule", "open", "not a constraint", "duty", "waived", "open"))
]
MEASURED = {"method": "veriguard", "split": "all", "n": 200, "accuracy": 0.97, "precision": 1.0, "recall": None}
MEASURED |= {"fpr": 0.0, "undecided": 3, "queries": 0, "seconds": 1.25, "intervals": {"accuracy": [0.92, 0.99]}}
PUBLISHED = {"method": "guardagent", "model": "GPT-4", "split": "all", "n": 200, "accuracy": 0.9, "published": True}


def test_a_rule_card_has_its_sentence_its_words_its_formula_and_what_it_binds() -> None:
    first, second = (dict(show.rule(rule, RULES).filled) for rule in RULES.rules)
    assert first["sentence"] == Quote("Only adults may pay.") and first["words"] == "Adults pay."
    assert first["formula"] == Source("ALWAYS (pays IMPLIES adult)") and first["tools"] == "pay, settle"
    assert first["tests"] == (Source("adult: state.age >= 18"),) and "pay" in str(first["understood"])
    assert second["no field tells"] == ("agreed: the user agreed",) and second["no tool does"] == "sings"
    assert second["made from"] == "c9.1" and second["objects"] == ("pays: call.id, call.id",) and "words" not in second
    assert not {"no field tells", "no tool does", "made from"} & first.keys()
    picked = show.rules(RULES, "c2.1")
    assert [card.title for card in picked.cards] == ["c2.1"] and picked.cards[0].badge == "forbid"
    assert show.rules(RULES, most=1).more == 1 and repr(show.rules(RuleSet())) == "there is no rule"


ROWS = [
    (show.counts("T", fields_of_state=3), [("fields of state",), (3,)]),
    (show.tally("aab", "letter"), [("letter", "how many"), (Badge("a"), 2), (Badge("b"), 1)]),
    (show.findings(["it rose"]), [("finding",), ("it rose",)]),
    (
        show.clauses([Clause("c1", "Pay.", 3, 9, ("Paying", "Cards")), Clause("c2", "Go.", 9, 12, ())]),
        [("clause", "under", "sentence", "place"), ("c1", "Cards", "Pay.", "3–9"), ("c2", "", "Go.", "9–12")],
    ),
    (
        show.changes([Change("merge", ("a", "b"), (), False, "told apart by a=True")]),
        [("change", "of", "certificate"), ("merge", "a, b", "told apart by a=True")],
    ),
    (
        show.weighed(zip(RULES.rules[:1], [0.5], strict=True)),
        [("rule", "weight", "formula"), ("c1.1", 0.5, Source("ALWAYS (pays IMPLIES adult)"))],
    ),
    (
        show.by_rule({"c1.1": {"denied": 3, "allowed": 1}}),
        [("rule", "stopped rightly", "stopped wrongly"), ("c1.1", 3, 1)],
    ),
    (
        show.pairs([{"first": "a", "second": "b", "only_first": 1, "only_second": 2, "p": 0.5}]),
        [("first", "second", "only the first is right", "only the second is right", "p"), ("a", "b", 1, 2, 0.5)],
    ),
    (
        show.sentences(READINGS, "open", "duty"),
        [
            ("class", "sentence", "because", "rules", "bears on"),
            (Badge("open"), "Pay.", "because 1", "c1.1", "a"),
            (Badge("duty"), "Pay.", "because 3", "c1.1", "a, b, c"),
            (Badge("open"), "Pay.", "because 5", "c1.1", "a, b, c, d and 1 more"),
        ],
    ),
    (
        show.methods([MEASURED, PUBLISHED, {"method": "direct", "reason": "it needs a model"}]),
        [
            ("method", "split", "n", "accuracy", "precision", "recall", "FPR", "undecided", "queries", "seconds"),
            ("veriguard", "all", 200, "97.0 [92, 99]", "100.0", "-", "0.0", 3, 0, 1.2),
            ("guardagent (GPT-4), published", "all", 200, "90.0", "-", "-", "-", "-", "-", "-"),
        ],
    ),
]


@pytest.mark.parametrize(("shown", "rows"), ROWS, ids=lambda value: getattr(value, "columns", [""])[0])
def test_a_table_has_these_columns_and_rows(shown: cards.Table, rows: list) -> None:
    assert [shown.columns, *shown.rows] == rows


def test_what_is_empty_is_said_and_what_a_change_loses_has_a_column() -> None:
    nothing = {
        "there is no clause": show.clauses([]),
        "there is none": show.changes([]),
        "there is no rule": show.weighed([]),
        "no rule stopped anything": show.by_rule({}),
        "there are no two methods to compare": show.pairs([]),
        "nothing was found": show.findings([]),
        "no case was judged": show.verdicts([], RULES),
    }
    assert {repr(shown) for shown in nothing.values()} == set(nothing)
    assert show.changes([Change("merge", ("a",), (), True, "ok", loss="less")]).columns[-1] == "lost"
    assert [row[0] for row in show.rule_table(RULES).rows] == ["c1.1", "c2.1"]
    assert show.rule_table(RULES).rows[0][2] == "Only adults may pay." and show.rule_table(RULES).rows[0][5]


def test_a_verdict_card_quotes_the_sentences_of_all_violated_rules() -> None:
    given = Verdict("deny", "no", ("c1.1", "c2.1", "c7"), "proved", quotes=("Its own words.",), open=("s1",))
    card = show.verdict(given, RULES)
    assert (card.title, card.badge) == ("verdict", "deny")
    first, second = ("c1.1", Quote("Its own words.")), ("c2.1", Quote("Agree first."))
    assert dict(card.filled) == {
        "because": "no", "violated": (first, second, "c7"), "open": ("s1",), "evidence": "proved"
    }  # fmt: skip
    few = show.verdicts(((f"case {i}", Verdict("allow", "yes")) for i in range(5)), RULES)
    assert few.cards[0] == Card("case 0", "allow", few.cards[0].parts) and few.more == 2
    assert dict(few.cards[0].filled) == {"because": "yes"}


def test_a_note_and_a_stack_are_what_they_are_given() -> None:
    both = show.stack(show.note("a < b"), show.findings([]))
    assert repr(both) == "a < b\n\nnothing was found" and "<p>a &lt; b</p>" in both.html()


def test_progress_is_one_line_that_ends_in_a_count(monkeypatch) -> None:
    lines = []

    class Line:
        def update(self, bundle, raw):
            lines.append(("again", bundle))

    def display(bundle, raw, display_id):
        lines.append(("new", bundle))
        return Line()

    monkeypatch.setattr("IPython.display.display", display)
    monkeypatch.setattr(progress, "shell", lambda: SimpleNamespace(kernel=object()))
    tell = progress.Progress("<proofs>", every_s=0.0)
    tell(3, 3)
    assert not lines, "nothing had to be waited for"
    for done in range(3):
        tell(done, 2)
    tell(0, 1)
    tell(5, 5)
    assert [how for how, _ in lines] == ["new", "again", "again", "new", "again"]
    assert lines[1][1]["text/plain"].startswith("<proofs>: 1 of 2, ")
    assert "<progress" in lines[1][1]["text/html"] and "&lt;proofs&gt;" in lines[1][1]["text/html"]
    assert lines[2][1]["text/plain"].startswith("<proofs>: 2 in ") and "<progress" not in lines[2][1]["text/html"]


def test_progress_says_nothing_outside_a_notebook(capsys) -> None:
    tell = progress.Progress("proofs")
    tell(0, 2)
    tell(2, 2)
    assert capsys.readouterr() == ("", "")


def test_shares_with_ends_are_one_text_and_what_is_not_known_is_a_dash():
    rows = [
        {"method": "a", "held": 0.5, "held from": 0.25, "held to": 0.75, "goes to": 3, "µs": None},
        {"method": "b", "held": None, "held from": None, "held to": None, "goes to": 4, "µs": 2},
    ]
    shown = show.ranges(rows, "title")
    assert shown.title == "title" and shown.columns == ("method", "held", "goes to", "µs")
    assert [list(row) for row in shown.rows] == [["a", "50.0 [25, 75]", 3, "-"], ["b", "-", 4, 2]]
