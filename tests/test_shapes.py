"""The forms of formulas and of tests: what each says of an act, of how often, of which facts and with which signs."""

import pytest

from wb.logic import cel
from wb.logic.syntax import parse, render
from wb.rules import shapes
from wb.rules.rule import Predicate, Rule

ACTS = {"pay", "lend"}
LIMITED = {  # how often an act may be done
    "ALWAYS (pay IMPLIES NOT NEXT EVENTUALLY pay)": 1,
    "ALWAYS (pay IMPLIES COUNT[<= 1] pay)": 1,
    "ALWAYS (pay IMPLIES COUNT[<= 2] pay)": 2,
    "ALWAYS (pay IMPLIES COUNT[<= 3] pay)": 3,
    "ALWAYS (pay IMPLIES NOT NEXT EVENTUALLY lend)": None,
    "ALWAYS (pay IMPLIES COUNT[<= 3] lend)": None,
    "ALWAYS (pay IMPLIES COUNT[>= 2] pay)": None,
    "ALWAYS (pay IMPLIES NOT ONCE pay)": None,
    "ALWAYS (pay IMPLIES NOT ONCE lend)": None,
    "ALWAYS (pay IMPLIES adult)": None,
    "ALWAYS NOT pay": None,
    "EVENTUALLY pay": None,
}


@pytest.mark.parametrize("text", LIMITED)
def test_how_often_an_act_may_be_done(text: str) -> None:
    often = LIMITED[text]
    assert shapes.limited(parse(text)) == (None if often is None else (often, "pay"))
    assert shapes.bare(parse(text)) == parse(text if often is None else "ALWAYS NOT pay")


def test_a_formula_without_its_objects() -> None:
    assert shapes.bare(parse("ALWAYS (pay(o) IMPLIES ONCE lend(o))")) == parse("ALWAYS (pay IMPLIES ONCE lend)")
    assert shapes.bare(parse("ALWAYS (pay(o) IMPLIES COUNT[<= 2] pay(o))")) == parse("ALWAYS NOT pay")


ASKED = {
    "NOT EVENTUALLY (pay AND NOT adult)": "ALWAYS (pay IMPLIES adult)",
    "ALWAYS (NOT pay OR adult)": "ALWAYS (pay IMPLIES adult)",
    "ALWAYS (adult IMPLIES NOT pay)": "ALWAYS (pay IMPLIES NOT adult)",
    "ALWAYS NOT (pay AND adult AND old)": "ALWAYS (pay IMPLIES NOT adult OR NOT old)",
    "ALWAYS (NOT adult OR NOT pay OR old)": "ALWAYS (pay IMPLIES NOT adult OR old)",
    "ALWAYS (NOT pay OR NOT lend OR old)": "ALWAYS ((pay AND lend) IMPLIES old)",
    "ALWAYS (pay IMPLIES NOT NOT adult)": "ALWAYS (pay IMPLIES adult)",
    "ALWAYS (pay IMPLIES NOT (NOT adult AND old))": "ALWAYS (pay IMPLIES adult OR NOT old)",
    "ALWAYS ((pay AND NOT adult) IMPLIES false)": "ALWAYS (pay IMPLIES adult)",
    "ALWAYS ((pay AND NOT adult) IMPLIES NOT true)": "ALWAYS (pay IMPLIES adult)",
    # as they are: they ask already, or of no act, or nothing else
    "ALWAYS (pay IMPLIES adult)": "",
    "ALWAYS (pay IMPLIES (adult AND old))": "",
    "ALWAYS (pay IMPLIES (adult OR NOT old))": "",
    "ALWAYS (pay IMPLIES (adult IMPLIES old))": "",
    "ALWAYS (pay IMPLIES ONCE lend)": "",
    "ALWAYS (pay IMPLIES EVENTUALLY lend)": "",
    "ALWAYS ((pay AND adult) IMPLIES old)": "",
    "ALWAYS ((adult AND pay) IMPLIES old)": "",
    "ALWAYS (pay OR lend)": "",
    "ALWAYS (adult IMPLIES old)": "",
    "ALWAYS NOT pay": "",
    "EVENTUALLY pay": "",
    "NOT pay UNTIL adult": "",
}


@pytest.mark.parametrize("text", ASKED)
def test_a_formula_as_what_its_act_asks_for(text: str) -> None:
    assert render(shapes.asking(parse(text), ACTS)) == render(parse(ASKED[text] or text))


FREEING = {  # what frees the act, "-" before what must not be; None where that cannot be told
    "ALWAYS (pay IMPLIES adult)": "adult",
    "ALWAYS (pay IMPLIES NOT adult)": "-adult",
    "ALWAYS (pay IMPLIES NOT NOT adult)": "adult",
    "ALWAYS ((pay AND lend) IMPLIES adult)": "adult",
    "ALWAYS ((pay AND adult) IMPLIES old)": "-adult old",
    "ALWAYS ((NOT adult AND pay) IMPLIES old)": "adult old",
    "ALWAYS (adult IMPLIES NOT pay)": "-adult -pay",
    "ALWAYS (pay IMPLIES EVENTUALLY lend)": "lend",
    "ALWAYS (pay IMPLIES ONCE lend)": "lend",
    "ALWAYS (pay IMPLIES (adult OR NOT ONCE old))": "adult -old",
    "ALWAYS (pay IMPLIES NOT (NOT adult AND old))": "adult -old",
    "ALWAYS (pay IMPLIES (adult IMPLIES old))": "-adult old",
    "ALWAYS (pay IMPLIES (adult OR false))": "adult",
    "ALWAYS (pay IMPLIES (adult OR true))": None,
    "ALWAYS (pay IMPLIES (adult AND old))": None,
    "ALWAYS (pay IMPLIES (adult OR HISTORICALLY old))": None,
    "ALWAYS (pay IMPLIES (adult OR NOT HISTORICALLY old))": None,
    "ALWAYS (NOT pay OR adult)": None,
    "EVENTUALLY pay": None,
}


@pytest.mark.parametrize("text", FREEING)
def test_what_frees_the_act_of_a_rule(text: str) -> None:
    told = FREEING[text]
    signed = None if told is None else tuple((one[0] != "-", one.lstrip("-")) for one in told.split())
    assert shapes.freeing(parse(text), ACTS) == signed


@pytest.mark.parametrize(
    ("text", "one", "several"),
    [
        ("ALWAYS (pay IMPLIES adult)", "adult", "adult"),
        ("ALWAYS (pay IMPLIES NOT ONCE adult)", "-adult", "-adult"),
        ("ALWAYS (pay IMPLIES ONCE NOT NOT adult)", "adult", "adult"),
        ("ALWAYS (pay IMPLIES (adult AND NOT old))", "", "adult -old"),
        ("ALWAYS (pay IMPLIES NOT (adult OR NOT old))", "", "-adult old"),
        ("ALWAYS ((pay AND adult) IMPLIES old)", "", ""),
        ("ALWAYS (pay IMPLIES EVENTUALLY lend)", "", ""),
        ("EVENTUALLY pay", "", ""),
    ],
)
def test_the_signs_of_what_a_call_asks_for(text: str, one: str, several: str) -> None:
    for all_of_them, told in ((False, one), (True, several)):
        found = shapes.literals_of(parse(text), all_of_them)
        assert " ".join(f"{'' if positive else '-'}{name}" for positive, name in found) == told


@pytest.mark.parametrize(
    ("text", "joins", "sides"),
    [
        ("ALWAYS (pay IMPLIES adult)", False, ["pay", "adult"]),
        ("ALWAYS ((pay AND adult) IMPLIES ONCE old)", False, ["pay AND adult", "ONCE old"]),
        ("NOT (pay AND ONCE (adult OR old))", True, []),
        ("pay AND EVENTUALLY adult", False, []),
        ("pay IMPLIES adult", False, []),
        ("EVENTUALLY (pay IMPLIES adult)", False, []),
    ],
)
def test_literals_and_sides(text: str, joins: bool, sides: list[str]) -> None:
    assert shapes.joins_literals(parse(text)) is joins
    assert [render(one) for pair in shapes.implied(parse(text)) for one in pair] == sides


TESTS = [  # a fact; its number; whether it is a truth, affirms, and may be counted; what it compares a field with
    ("state.a", None, True, True, True, [("a", "")]),
    ('state.a == "x"', None, True, True, True, [("a", "x")]),
    ('state.a != "x"', None, True, False, True, [("a", "x")]),
    ('state.a != ""', None, True, True, True, [("a", "")]),
    ('state.a == ""', None, True, False, True, [("a", "")]),
    ("state.a == true", None, True, True, True, [("a", "")]),
    ("state.a != false", None, True, True, True, [("a", "")]),
    ("state.a == false", None, True, False, True, [("a", "")]),
    ("state.a == 3", ("==", 3.0), False, True, True, [("a", "")]),
    ("state.a != 3.5", ("!=", 3.5), False, False, True, [("a", "")]),
    ("state.a < 3", ("<", 3.0), False, False, True, [("a", "")]),
    ("size(state.a) > 2", (">", 2.0), False, False, True, [("a", "")]),
    ('state.a in ["x", "y", "x"]', None, True, True, True, [("a", "x"), ("a", "y")]),
    ("state.a in [1, 2]", None, True, True, True, [("a", "1"), ("a", "2")]),
    ("state.a == state.b", None, False, True, False, [("a", ""), ("b", "")]),
    ("state.a < state.b", None, False, True, False, [("a", ""), ("b", "")]),
]


@pytest.mark.parametrize(("text", "number", "truth", "affirms", "counted", "measured"), TESTS)
def test_what_a_fact_says(
    text: str, number: tuple[str, float] | None, truth: bool, affirms: bool, counted: bool, measured: list
) -> None:
    fact = cel.parse(text)
    assert shapes.number(fact) == number and shapes.truth(fact) is truth and shapes.affirms(fact) is affirms
    assert [(path.names[-1], value) for path, value in shapes.measured(fact)] == measured
    assert shapes._leaf(fact) is counted
    one = Predicate("one", "state", "", test=fact)
    assert shapes.wider([one]) is not counted and bool(shapes.foreign((), [one])) is not counted
    within = Predicate("one", "state", "", test=cel.parse(f"state.c || !({text} && state.d)"))
    assert shapes.wider([within]) is not counted and bool(shapes.foreign((), [within])) is not counted
    signed = list(shapes.leaves(within.test, True))
    assert signed == [(True, cel.parse("state.c")), (False, fact), (False, cel.parse("state.d"))]
    assert list(shapes.leaves(within.test, False)) == [(not sign, one) for sign, one in signed]
    assert shapes.measured(within.test)[0][0].names == ("state", "c")


def test_without_a_test_a_predicate_is_a_truth() -> None:
    assert list(shapes.leaves(None, False)) == [(False, None)] and shapes.number(None) is None
    assert shapes.truth(None) is True and shapes.affirms(None) is True
    assert shapes.measured(None) == ()


def test_the_literals_of_a_test() -> None:
    of = {
        'state.a == "x" || !(state.b in [1, 2])': {"x", 1, 2},
        "state.a && size(state.b) > 2.5": {2.5},
        "state.a": set(),
    }
    for text, values in of.items():
        found = [one.value for one in shapes.literals(Predicate("p", "state", "", test=cel.parse(text)))]
        assert set(found) == values and len(found) == len(values)
    assert shapes.literals(Predicate("p", "action", "")) == ()


def test_two_rules_of_one_act() -> None:
    def made(*texts: str) -> list[Rule]:
        return [Rule(f"r{k}", "", parse(text), "forbid") for k, text in enumerate(texts)]

    used = [Predicate(name, "action", "") for name in ACTS] + [Predicate("adult", "state", "")]
    assert shapes.twice(made("ALWAYS NOT pay", "ALWAYS (pay IMPLIES adult)"), used)
    assert shapes.twice(made("ALWAYS NOT lend", "ALWAYS (pay IMPLIES adult)", "EVENTUALLY pay"), used)
    assert not shapes.twice(made("ALWAYS (lend IMPLIES adult)", "ALWAYS (pay IMPLIES adult)"), used)
    assert not shapes.twice(made("ALWAYS NOT pay"), used)


@pytest.mark.parametrize(
    ("text", "fine"),
    [
        ("ALWAYS (load IMPLIES heavy)", True),
        ("ALWAYS (load AND heavy IMPLIES crew)", True),
        ("ALWAYS (load AND ONCE check IMPLIES crew)", True),
        ("ALWAYS ((load OR check) IMPLIES crew)", True),
        ("ALWAYS (load IMPLIES ONCE check)", True),
        ("ALWAYS (load IMPLIES NOT check)", True),
        ("ALWAYS (load IMPLIES NOT ONCE check OR heavy)", True),
        ("ALWAYS (load IMPLIES EVENTUALLY check)", True),
        ("ALWAYS (heavy IMPLIES EVENTUALLY check)", True),
        ("ALWAYS (ONCE load IMPLIES EVENTUALLY check)", True),
        ("ALWAYS NOT (load AND check)", True),
        ("ALWAYS NOT load", True),
        ("EVENTUALLY load", True),
        ("ALWAYS (heavy IMPLIES crew)", True),
        ("ALWAYS (ONCE load IMPLIES heavy)", False),
        ("ALWAYS NOT (ONCE load AND heavy)", False),
        ("ALWAYS (heavy OR load IMPLIES crew)", False),
        ("ALWAYS (load IMPLIES check)", False),
        ("ALWAYS (heavy IMPLIES load)", False),
        ("ALWAYS (load OR heavy)", False),
        ("ALWAYS load", False),
    ],
)
def test_an_act_stands_where_a_sentence_puts_one(text: str, fine: bool) -> None:
    acts = [Predicate(name, "action", "", tools=(name,)) for name in ("load", "check")]
    rule = Rule("c.1", text, parse(text), "forbid", "action", "c", text)
    assert (shapes.foreign([rule], acts) == ()) is fine and shapes.foreign([rule], ()) == ()
