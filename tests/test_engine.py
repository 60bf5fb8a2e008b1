"""What the engine without a model proposes, piece by piece: parts of a rule, words of a predicate, code of a guard."""

from types import SimpleNamespace

import pytest

from wb.logic import cel
from wb.logic.syntax import parse, render
from wb.offline import engine
from wb.rules.rule import Predicate


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("ALWAYS (a IMPLIES (b AND c))", ["ALWAYS (a IMPLIES b)", "ALWAYS (a IMPLIES c)"]),
        ("ALWAYS (a IMPLIES b) AND ALWAYS (c IMPLIES d)", ["ALWAYS (a IMPLIES b)", "ALWAYS (c IMPLIES d)"]),
        ("ALWAYS NOT (a OR b)", ["ALWAYS NOT a", "ALWAYS NOT b"]),
        ("ALWAYS NOT NOT (a AND b)", ["ALWAYS a", "ALWAYS b"]),
        ("ALWAYS NOT (a IMPLIES b)", ["ALWAYS a", "ALWAYS NOT b"]),
        (
            "ALWAYS (a IMPLIES NOT (b OR NOT (c IMPLIES d)))",
            ["ALWAYS (a IMPLIES NOT b)", "ALWAYS (a IMPLIES (c IMPLIES d))"],
        ),
        ("ALWAYS (a IMPLIES b OR c)", ["ALWAYS (a IMPLIES b OR c)"]),
        ("ALWAYS (a OR b IMPLIES c)", ["ALWAYS (a OR b IMPLIES c)"]),
        ("ALWAYS (a OR b)", ["ALWAYS (a OR b)"]),
        ("EVENTUALLY (a AND b)", ["EVENTUALLY (a AND b)"]),
    ],
)
def test_a_rule_comes_apart_into_its_requirements(text: str, parts: list[str]) -> None:
    assert [render(part) for part in engine.parts(parse(text))] == parts


BILL = [
    {"description": "Pay a bill.", "arguments": ["bill_id", "sum"]},
    {"description": "Pay a bill.", "arguments": ["sum"]},
    {"description": "", "arguments": []},
]
AGE = {"test": "state.age >= 65", "field": {"description": "age of the user."}}
WORDS = [
    ("action", "Do it.", [], {}, "Do it"),
    ("action", "Do it.", [], {"tools": BILL}, "Pay a bill, given bill id, sum"),
    ("state", "The user: is old.", [], {}, "The user: is old"),
    ("state", "pay: is old", ["pay", "post"], {}, "pay or post: is old"),
    ("state", "old", ["a", "b", "c", "d"], AGE, "a or b or c: age of the user is at least 65"),
    ("state", "age of the user is more", ["a"], AGE, "a: age of the user is more"),
    ("state", "old", [], {"test": "state.user_age < 65"}, "user age is less than 65"),
    ("state", "few", [], {"test": "size(state.cards) <= 2"}, "the number of cards is at most 2"),
    ("state", "x", [], {"test": "state.old"}, "old"),
    ("state", "x", [], {"test": "state.kind in ['a', 'b']"}, "kind is one of a, b"),
    ("state", "x", [], {"test": "state.old == true"}, "old is true"),
    ("state", "x", [], {"test": "!(state.old)"}, "old is false"),
    ("state", "", [], {}, ""),
]


@pytest.mark.parametrize(("kind", "description", "used_by", "meaning", "expected"), WORDS)
def test_a_predicate_is_worded_by_what_it_is_bound_to(kind, description, used_by, meaning, expected) -> None:
    row = {"name": "p", "kind": kind, "description": description, "used_by": used_by, "meaning": meaning}
    assert engine.wording(row) == expected
    if kind == "state":
        again = engine.wording({**row, "description": expected})
        assert again == expected, "what is worded once stays as it is"


def test_a_rule_and_words_that_are_fine_are_left_alone() -> None:
    rule = {"text": "Do.", "formula": "ALWAYS (a IMPLIES b)"}
    plain = [{"name": "a", "kind": "action", "description": "Do it.", "used_by": [], "meaning": {}}]
    found = engine.refine({"rule": rule, "predicates": plain})
    assert (found["label"], found["rules"], found["predicates"]) == ("cannot be verified", [], []), "no tool does it"
    told = [{**plain[0], "kind": "state", "description": "a: x", "used_by": ["a"], "meaning": {"test": "state.x"}}]
    assert engine.refine({"rule": rule, "predicates": told})["label"] == "good"
    found = engine.refine({"rule": {**rule, "formula": "ALWAYS (a IMPLIES (b AND c))"}, "predicates": plain})
    assert found["label"] == "needs refinement" and [part["text"] for part in found["rules"]] == [
        "Do. (1 of 2)",
        "Do. (2 of 2)",
    ]
    other = [{**plain[0], "meaning": {"tools": BILL}}]
    found = engine.refine({"rule": rule, "predicates": other})
    described = [{"name": "a", "new_name": "a", "description": "Pay a bill, given bill id, sum"}]
    assert (found["label"], found["rules"], found["predicates"]) == ("needs refinement", [], described)


def state(name: str, test: str = "", **more: tuple[str, ...]) -> Predicate:
    return Predicate(name, "state", "", test=cel.parse(test) if test else None, **more)


PREDICATES = (
    state("old", "state.age >= 65"),
    state("role", "state.role in ['a', 'b']"),
    state("ok", "state.ok"),
    state("few", "size(call.books) <= 2", tools=("lend",)),
    state("named"),
    state("worded", keywords=("deep", "red")),
    state("far", "state.a - state.b >= 3"),
    state("flag", "state.flag == true"),
    state("unknown"),
)
PARAMETERS = (
    {"name": "some", "field": "lend.books", "measure": "value"},
    {"name": "age", "field": "state.age", "measure": "value"},
    {"name": "role", "field": "state.role", "measure": "value"},
    {"name": "ok", "field": "state.ok", "measure": "value"},
    {"name": "n_books", "field": "lend.books", "measure": "count"},
    {"name": "f1", "fact": "named", "words": []},
    {"name": "f2", "fact": "other", "words": ["deep", "red", "x", "y"]},
    {"name": "f3", "fact": "third", "words": ["deep", "red", "x"]},
    {"name": "f4", "fact": "near", "test": "state.a - state.b < 3", "words": []},
    {"name": "f5", "fact": "flagged", "test": "state.flag == true", "words": []},
    {"name": "past1", "past": "ONCE named", "words": []},
    {"name": "past2", "past": "ONCE zzz", "words": ["deep", "red"]},
)
CODE = {
    "old": ("age >= 65", "age < 65"),
    "NOT old": ("age < 65", "age >= 65"),
    "old AND ok": ("(age >= 65) and ok", "(age < 65) or (not ok)"),
    "old OR NOT ok": ("(age >= 65) or (not ok)", "(age < 65) and ok"),
    "role": ("role == 'a' or role == 'b'", "role != 'a' and role != 'b'"),
    "few": ("n_books <= 2", "n_books > 2"),
    "named": ("f1", "not f1"),
    "worded": ("f3", "not f3"),  # has all its words, and fewest others
    "far": ("not f4", "f4"),  # by the opposite of its test
    "flag": ("f5", "not f5"),
    "true": ("True", "False"),
    "ONCE named": ("past1", "not past1"),
    "ONCE worded": ("past2", "not past2"),
}


def test_a_condition_is_said_in_the_words_of_the_signature() -> None:
    words = engine._Words(SimpleNamespace(predicates=PREDICATES), PARAMETERS)
    assert {text: tuple(words.text(parse(text), negated=n) for n in (False, True)) for text in CODE} == CODE
    for text, why in (
        ("unknown", "no parameter has the words"),
        ("ONCE unknown", "no parameter has the words"),
        ("PREVIOUSLY old", "got Previously"),
        ("absent", "got Atom"),
    ):
        with pytest.raises(engine.Unsaid, match=why):
            words.text(parse(text), negated=False)
    with pytest.raises(engine.Unsaid, match="a limit, a flag or one of several values"):
        engine._compared("x", cel.parse("state.a == true"), False)


def test_of_two_opposites_the_one_is_kept_that_is_denied_less() -> None:
    def rules(*texts: str) -> list[dict[str, str]]:
        return [{"formula": f"ALWAYS ({text})"} for text in texts]

    assert engine._positive("x", "y", True, rules("a IMPLIES NOT x", "b IMPLIES y")) == ("y", "x")
    assert engine._positive("x", "y", True, rules("a IMPLIES x", "b IMPLIES NOT y")) == ("x", "y")
    assert engine._positive("x", "y", True, []) == ("x", "y")
    assert engine._positive("x", "y", False, rules("a IMPLIES NOT x", "b IMPLIES y")) == ("x", "y")


def test_a_rule_that_another_one_implies_is_redundant_of_equals_the_later_one() -> None:
    rows = [{"id": f"r{k}", "formula": f"ALWAYS (a IMPLIES {text})"} for k, text in enumerate(("b", "(b AND c)", "b"))]
    found = list(engine._redundant(rows, parse("true")))
    assert [(one["rule"], one["because"]) for one in found] == [("r2", ["r1"]), ("r0", ["r1"])]
    assert found[0]["reason"] == "already required by r1"
    assert list(engine._redundant([rows[0], {"id": "d", "formula": "ALWAYS (a IMPLIES d)"}], parse("true"))) == []
    (one,) = engine._redundant([rows[0], {"id": "d", "formula": "ALWAYS (a IMPLIES d)"}], parse("ALWAYS (b IMPLIES d)"))
    assert (one["rule"], one["because"]) == ("d", ["r0"])


@pytest.mark.parametrize(
    ("term", "test", "same"),
    [
        ("call.ration.grams", "call.ration.grams <= 300", True),
        ("call.ration.kind", 'call.ration.kind in ["hay", "oats"]', True),
        ("state.stall.clean", "state.stall.clean", True),
        ("size(call.ration.parts)", "size(call.ration.parts) > 2", True),
        ("call.ration.grams", "call.feed.grams <= 300", False),
        ("call.ration.grams", "size(call.ration.grams) <= 3", False),
        (None, "call.ration.grams <= 300", False),
    ],
)
def test_what_lies_within_an_object_is_written_by_the_parameter_that_measures_it(term, test, same) -> None:
    assert engine._term({"name": "it", "term": term}, cel.parse(test)) is same
