"""Tables and cards say all of what they show, in three forms, and what comes from outside never becomes markup."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wb.domain.policy import Clause
from wb.domain.tools import Field, Tool, Toolbox
from wb.domain.trace import Verdict
from wb.guards import contract, examples, runtime
from wb.guards.faults import JudgedMutant, Mutant, Planted
from wb.guards.synthesis import Attempt, Complaint, Draft
from wb.logic import cel, syntax
from wb.rules import residual
from wb.rules.certify import Change
from wb.rules.rule import Predicate, Rule, RuleSet
from wb.runs import cards, guard_cards, picture, progress, show

NASTY = "<script>alert(1)</script> & \"x\" 'y' `z` *b* [l](http://e) | $x$ <img src=x onerror=alert(1)>"
ADULT = Predicate("adult", "state", "the user is of age", test=cel.parse("state.age >= 18"))
PAYS = Predicate("pays", "action", "the agent pays", tools=("pay", "settle"))
AGREED = Predicate("agreed", "state", "the user agreed")
RULES = RuleSet(
    (ADULT, PAYS, AGREED),
    (
        Rule(
            "c1.1",
            "Adults pay.",
            syntax.parse("ALWAYS (pays IMPLIES adult)"),
            "permit_only_if",
            quote="Only adults may pay.",
        ),
        Rule("c2.1", NASTY, syntax.parse("ALWAYS (pays IMPLIES agreed)"), "forbid", quote=NASTY, parents=("c9.1",)),
    ),
)
READINGS = [
    {
        "id": f"id{i}",
        "text": NASTY,
        "start": 0,
        "end": 3,
        "headings": ["Paying"],
        "cls": cls,
        "reason": f"because {i}",
        "rules": ["c1.1"],
        "tools": ["pay"],
    }
    for i, cls in enumerate(("rule", "open", "not a constraint", "duty", "waived"))
]
METHODS = [
    {
        "method": "veriguard",
        "split": "all",
        "n": 200,
        "accuracy": 0.97,
        "precision": 1.0,
        "recall": None,
        "fpr": 0.0,
        "undecided": 3,
        "queries": 0,
        "seconds": 1.25,
        "intervals": {"accuracy": [0.92, 0.99]},
    },
    {"method": "guardagent", "model": "GPT-4", "split": "all", "n": 200, "accuracy": 0.9, "published": True},
    {"method": "direct", "split": "all", "n": 0, "reason": "it needs a model"},
]


def guarded(source: str = "") -> runtime.Guarded:
    required = contract.contracts(Toolbox((Tool("pay"),), (Field("age", "integer"),)), RULES)
    return runtime.Guarded(required[0], source or "def f(x: bool):\n    return (x, 'no')\n", "tested", NASTY)


SHOWN = [
    show.rule(RULES.rules[1], RULES),
    show.rules(RULES),
    show.rule_table(RULES, NASTY),
    show.sentence(READINGS[1]),
    show.sentences(READINGS, title=NASTY),
    show.verdict(Verdict("deny", NASTY, ("c2.1",), "proved"), RULES, of=NASTY),
    guard_cards.guard(guarded(f"# {NASTY}\n"), [Complaint("proof", NASTY, (("x", NASTY),), False)]),
    show.table([{NASTY: NASTY}], title=NASTY),
]


@pytest.mark.parametrize("shown", SHOWN, ids=lambda s: type(s).__name__)
def test_what_comes_from_outside_never_becomes_markup(shown):
    page = shown._repr_html_().replace(cards.STYLE, "").replace(cards.SORT, "")
    assert not re.search(r"<(script|img|a)\b", page) and "&lt;script&gt;" in page
    assert not re.search(r"<(?!progress)[a-z]+[^>]*\bonerror", page)
    text = re.sub(r"`[^`]*`|```.*?```", "", shown._repr_markdown_(), flags=re.DOTALL)
    assert "<script" not in text and "<img" not in text and not re.search(r"(?<!\\)\]\(", text)


@pytest.mark.parametrize("shown", SHOWN, ids=lambda s: type(s).__name__)
def test_everything_has_a_plain_text(shown):
    assert "alert(1)" in repr(shown) and "wb.runs" not in repr(shown)


@given(st.text(max_size=40))
@settings(max_examples=40, deadline=None)
def test_no_text_breaks_out_of_a_cell(text):
    page = show.table([{"a": text, "b": 1}])._repr_html_().replace(cards.STYLE, "").replace(cards.SORT, "")
    assert len(re.findall(r"<td", page)) == 2 and page.count("<") == page.count("</") * 2 - page.count("</div><div")
    lines = show.table([{"a": text, "b": 1}])._repr_markdown_().splitlines()
    assert len(lines) == 3 and len(re.findall(r"(?<!\\)(?:\\\\)*\|", lines[2])) == 3


def test_a_rule_card_says_sentence_words_formula_and_what_it_binds():
    first, second = (repr(show.rule(rule, RULES)) for rule in RULES.rules)
    for said in (
        "Only adults may pay.",
        "Adults pay.",
        "ALWAYS (pays IMPLIES adult)",
        "pay, settle",
        "state.age >= 18",
    ):
        assert said in first
    assert "no field tells: agreed: the user agreed" in second and "made from: c9.1" in second
    assert "no field tells" not in first, "a part that has nothing to say is left out"


def test_a_guard_card_says_claim_rules_code_and_the_counterexample():
    card = guard_cards.guard(
        guarded(), [Complaint("proof", "might not hold", (("age", 17),), False)], claim="proved for 1 rule"
    )
    assert card.badge == "proved for 1 rule"
    page = card._repr_html_()
    assert "<pre" in page and "c1.1: Adults pay." in page and "age=17  must be denied" in page
    assert "```python" in card._repr_markdown_()


def proofs() -> tuple[Draft, Planted]:
    """A broken guard as the prover left it, and what was planted in it."""
    required = guarded().contract
    head = "def policy_pay(age: int) -> Tuple[bool, str]:\n"
    good = f"{head}    if age < 18:\n        return (False, 'c1')\n    return (True, '')\n"
    bad = good.replace("18", "17")
    complaint = Complaint("proof", "Postcondition might not hold", (("age", 17),), False)
    return Draft(required, (Attempt(bad, (complaint,)),)), Planted(
        required, good, Mutant("constant", 2, "18 -> 17", bad)
    )


def test_a_planted_fault_is_shown_with_the_values_on_which_both_guards_were_run():
    broken, planted = proofs()
    said = repr(guard_cards.fault(planted, broken))
    for words in (
        "18 -> 17",
        "age=17",
        "must be: denied",
        "planted guard answers: (True, '')",
        "it was answers: (False, 'c1')",
    ):
        assert words in said
    assert guard_cards.fault(planted, broken).badge == "not proved"
    assert guard_cards.fault(planted, Draft(broken.contract, (Attempt("x"),))).badge == "proved"
    assert "there is no proved guard to break" in repr(guard_cards.fault(None, None))


def test_drafts_say_how_often_they_were_written_and_grades_put_the_worst_first():
    broken, _ = proofs()
    assert "attempts: 1" in repr(guard_cards.draft(broken)) and "1 more" in repr(
        guard_cards.drafts([broken] * 2, most=1)
    )
    entries = [replace(guarded(), grade=grade) for grade in ("proved", "error", "tested")]
    assert [badge.text for badge in guard_cards.grades(entries).frame["claim"]] == ["error", "tested", "proved"]


def test_contracts_examples_candidates_and_abilities_are_tables():
    found = residual.Unguarded("c2.1", "it speaks of later steps")
    assert NASTY in repr(guard_cards.unguarded([found], RULES)) and "later steps" in repr(
        guard_cards.unguarded([found], RULES)
    )
    case = examples.Example("violation", "c1.1", (("age", 17),), False)
    assert "age=17" in repr(guard_cards.cases([case])) and "deny" in repr(guard_cards.cases([case]))
    rows = [
        {"tool": tool, "grade": "tested", "rules": rules, "examples": [1, 2], "attempts": [1], "reason": ""}
        for tool, rules in (("look", []), ("pay", ["c1.1"]))
    ]
    assert list(guard_cards.candidates(rows).frame["tool"]) == ["pay", "look"]
    tool = {"tool": "pay", "fate": "free", "grade": "proved", "rules": (), "open": ("x",), "allows": "can"}
    shown = guard_cards.abilities([{**tool, "denies": "never", "needs": ("agreed",)}]).frame
    assert list(shown.iloc[0][["rules", "open", "allows", "denies", "needs to be told"]]) == [
        0,
        1,
        "can",
        "never",
        "agreed",
    ]


def test_fates_put_what_survived_first_and_keep_every_fault():
    _, planted = proofs()
    told = ("refuted", "survived", "equivalent")
    fates = [JudgedMutant("pay", planted.mutant, fate, (("age", 17),)) for fate in told]
    shown = guard_cards.fates(fates).frame
    assert [badge.text for badge in shown["fate"]] == ["survived", "equivalent", "refuted"]
    assert shown["differs where"][0].text == "age=17" and "no fault was planted" in repr(guard_cards.fates([]))


def test_what_nothing_tells_stands_first_in_the_vocabulary():
    shown = show.predicates(RULES).frame
    assert list(shown["predicate"]) == ["agreed", "adult", "pays"]
    assert [cards.to_text(value) for value in shown["told by"]] == ["no field", "state.age >= 18", "pay, settle"]


def test_values_are_tallied_and_changes_and_clauses_keep_their_words():
    assert repr(show.tally("aab", "letter")).split()[-4:] == ["a", "2", "b", "1"]
    change = Change("merge", ("a", "b"), (), False, "told apart by a=True")
    assert "told apart by a=True" in repr(show.changes([change])) and "there is none" in repr(show.changes([]))
    clause = Clause("c1", NASTY, 3, 9, ("Paying", "Cards"))
    assert "Cards" in repr(show.clauses([clause])) and "3–9" in repr(show.clauses([clause]))
    assert "ALWAYS" not in repr(guard_cards.contracts([guarded().contract])) and "Ensures" in repr(
        guard_cards.contracts([guarded().contract])
    )
    given = [(f"case {i}", Verdict("deny", "no", ("c1.1",))) for i in range(5)]
    assert "case 0 [deny]" in repr(show.verdicts(given, RULES)) and "and 2 more" in repr(show.verdicts(given, RULES))
    assert list(show.weighed(zip(RULES.rules, (0.5, 2.0), strict=True)).frame["weight"]) == [0.5, 2.0]
    assert list(show.by_rule({"c1.1": {"denied": 3, "allowed": 1}}).frame.iloc[0]) == ["c1.1", 3, 1]
    assert "no two methods" in repr(show.pairs([])) and "it rose" in repr(show.findings(["it rose"]))
    rows = [{"first": "a", "second": "b", "only_first": 1, "only_second": 2, "p": 0.5}]
    assert list(show.pairs(rows).frame.columns)[2:4] == ["only the first is right", "only the second is right"]
    assert show.note(NASTY)._repr_html_().count("<") == 2


def test_a_verdict_card_quotes_the_sentences_of_all_violated_rules():
    card = show.verdict(Verdict("deny", "no", ("c1.1", "c2.1"), "proved"), RULES)
    assert card.badge == "deny" and "“Only adults may pay.”" in card._repr_markdown_()
    assert "c1.1" in repr(card) and "c2.1" in repr(card) and "proved" in repr(card)


def test_sentences_of_a_class_alone_can_be_shown():
    assert list(show.sentences(READINGS, "open", "duty").frame["because"]) == ["because 1", "because 3"]
    assert show.sentence(READINGS[1]).badge == "open"


def test_rates_carry_their_intervals_and_what_did_not_run_is_left_out():
    shown = show.methods(METHODS)
    assert list(shown.frame["method"]) == ["veriguard", "guardagent (GPT-4), published"]
    assert list(shown.frame["accuracy"]) == ["97.0 [92, 99]", "90.0"] and list(shown.frame["recall"]) == ["-", "-"]
    assert list(shown.frame.columns)[:4] == ["method", "split", "n", "accuracy"] and "FPR" in shown.frame.columns


def test_a_long_table_scrolls_and_its_plain_forms_say_how_much_they_leave_out():
    shown = show.table([{"n": i} for i in range(40)])
    assert cards.TALL in shown._repr_html_() and shown._repr_html_().count("<tr>") == 41
    assert "… and 28 more rows" in shown._repr_markdown_() and len(repr(shown).splitlines()) < 20


@pytest.mark.parametrize("shown", SHOWN, ids=lambda s: type(s).__name__)
def test_a_viewer_that_drops_style_sheets_and_scripts_still_breaks_no_row(shown):
    page = shown._repr_html_().replace(cards.STYLE, "").replace(cards.SORT, "")
    cells = re.findall(r"<t[dh]\b[^>]*>", page)
    assert cells and all("white-space:" in cell and "text-align:" in cell for cell in cells)
    assert all("nowrap" in cell for cell in cells if "<th" in cell or 'class="number"' in cell or 'class=""' in cell)
    assert all(
        "background-color:" in badge and "color:#ffffff" in badge for badge in re.findall("<span class[^>]*>", page)
    )


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ((1, -2, 3.5), "number"),
        (("97.0 [92, 99]", "-"), "number"),
        (("01_policy", "02_rules"), ""),
        (("3–9",), ""),
        (("place_order, show_total", "-"), ""),
        ((None, ""), ""),
        (("x" * 60, 3), "prose"),
    ],
)
def test_numbers_stand_to_the_right_and_nothing_else(values, kind):
    page = show.table({"a": value} for value in values)._repr_html_()
    assert page.count(f'<td class="{kind}"') == len(values)


def test_a_claim_with_open_sentences_has_not_the_colour_of_a_proof():
    proved, waiting = map(cards.badge_colour, ("proved for 2 rules", "proved for 2 rules, 1 sentence open"))
    assert proved == cards.badge_colour("proved") != waiting == cards.badge_colour("undecided")


def test_a_column_may_mix_texts_numbers_and_code():
    page = show.table(
        [{"a": "x"}, {"a": show.Source("y" * 90)}, {"a": 3}, {"a": None}, {"a": show.Badge("z")}]
    )._repr_html_()
    assert page.count('<td class="prose"') == 5 and 'data-value="3"' in page


def test_columns_are_picked_ordered_and_named():
    shown = show.table([{"theta": 0.5, "k": 3}], "k", "theta", theta="θ")
    assert list(shown.frame.columns) == ["k", "θ"] and "0.5" in repr(shown)
    assert (
        "<caption" not in shown.html() and ">What it is</caption>" in show.table([{"k": 3}], title="What it is").html()
    )
    assert "nothing to show" in repr(show.table([])) and "there is no rule" in repr(show.rules(RuleSet()))
    assert cards.Cards((), none="<no> card").html() == "<em>&lt;no&gt; card</em>"


def test_a_figure_without_a_point_is_a_sentence():
    from wb.runs import plots

    assert "there is nothing to draw" in repr(picture.drawn(plots.rule_count({})))
    assert repr(picture.drawn(plots.loss({"a": []}))).startswith("Loss while weights are learned")


def test_progress_is_one_line_that_ends_in_a_count(monkeypatch):
    said = []

    class Line:
        def update(self, bundle, raw):
            said.append(("again", bundle))

    def display(bundle, raw, display_id):
        said.append(("new", bundle))
        return Line()

    monkeypatch.setattr("IPython.display.display", display)
    monkeypatch.setattr(progress, "_shell", lambda: object())
    tell = progress.Progress("<proofs>", every_s=0.0)
    for done in range(3):
        tell(done, 2)
    tell(0, 1)
    tell(5, 5)
    assert [how for how, _ in said] == ["new", "again", "again", "new", "again"]
    assert said[1][1]["text/plain"].startswith("<proofs>: 1 of 2, ")
    assert "<progress" in said[1][1]["text/html"] and "&lt;proofs&gt;" in said[1][1]["text/html"]
    assert said[2][1]["text/plain"].startswith("<proofs>: 2 in ") and "<progress" not in said[2][1]["text/html"]


def test_progress_says_nothing_outside_a_notebook(capsys):
    tell = progress.Progress("proofs")
    tell(0, 2)
    tell(2, 2)
    assert capsys.readouterr() == ("", "")


def test_progress_says_nothing_where_nothing_had_to_be_waited_for(monkeypatch):
    monkeypatch.setattr(progress, "_shell", lambda: pytest.fail("it spoke"))
    progress.Progress("proofs")(3, 3)
