"""A reply may say how often, and of the same object; the sentence must say both, and in that direction."""

from __future__ import annotations

import pytest
from test_corrections import Answers

from wb.domain import policy
from wb.domain.tools import Field, Tool, Toolbox
from wb.logic import cel
from wb.logic.syntax import parse, render
from wb.models.client import LLM
from wb.offline import norms
from wb.rules import accounting, extract
from wb.rules.rule import Predicate, Rule

ORDER, SHELF = Field("order_id", "string", "the order"), Field("shelf", "string", "the shelf")
BOX = Toolbox(
    tools=(
        Tool("exchange_order", "Exchange an order.", (ORDER, SHELF)),
        Tool("look_up_order", "Look up an order.", (ORDER,)),
        Tool("note_order", "Note an order.", (ORDER,)),
        Tool("sing", "Sing a song."),
    )
)
NAMES = {"exchange": "exchange_order", "look": "look_up_order", "note": "note_order", "sing": "sing"}


def left(text: str, formula: str, objects: str = "call.order_id") -> tuple[str, ...]:
    """Why a rule does not account for a sentence; its predicates with brackets are about that argument."""
    made = parse(formula)
    rule = Rule("r", text, made, "forbid")
    about = {node for node in rule.predicates if f"{node}(" in render(made)}
    used = [
        Predicate(
            name,
            "action",
            "",
            (),
            (NAMES[name],),
            None,
            (cel.parse(objects),) if name in about else (),
        )
        for name in rule.predicates
    ]
    return accounting.unaccounted(text, (), [rule], used, BOX)


ONCE = "ALWAYS (exchange(o) IMPLIES COUNT[<= 1] exchange(o))"
ANY = "ALWAYS (exchange IMPLIES COUNT[<= 1] exchange)"
THREE = "ALWAYS (exchange(o) IMPLIES COUNT[<= 3] exchange(o))"
BEFORE = "ALWAYS (exchange(o) IMPLIES ONCE look(o))"
SAID = [
    ("An order can only be exchanged once.", ONCE),
    ("Each order may be exchanged at most once.", ONCE),
    ("Each order may be exchanged at most three times.", THREE),
    ("An order must not be exchanged more than three times.", THREE),
    ("An order must not be exchanged more than once.", ONCE),
    ("Before exchanging an order, the agent must look up the order.", BEFORE),
    ("Before exchanging an order, the agent must look up the order.", "ALWAYS (exchange IMPLIES ONCE look)"),
]


@pytest.mark.parametrize(("text", "formula"), SAID)
def test_how_often_and_of_which_object_is_accounted_for(text: str, formula: str) -> None:
    assert left(text, formula) == ()


WRONG = [
    ("Each order may be exchanged at most once.", ANY),  # of each, and not of any
    ("Orders can only be exchanged once.", ONCE),  # of which is not said
    ("An order can only be exchanged twice.", ONCE),
    ("An order can only be exchanged once.", THREE),
    ("An order may be exchanged at least three times.", THREE),
    ("An order may be exchanged more than three times.", THREE),
    ("An order must not be exchanged at most three times.", THREE),
    ("An order may be exchanged at most 2 times.", THREE),
    ("An order may be exchanged at most three times, and once a day.", THREE),
    ("An order may be exchanged once a day.", "ALWAYS NOT exchange"),
    ("An order can only be exchanged once unless it is noted.", ONCE),
    ("An order can only be noted once.", ONCE),  # another act
    ("An order can only be exchanged once.", "ALWAYS (note(o) IMPLIES COUNT[<= 1] note(o))"),
    ("An order can only be exchanged once.", "ALWAYS (note(o) IMPLIES COUNT[<= 1] exchange(o))"),
    ("An order can only be exchanged once.", "ALWAYS (exchange(o) IMPLIES COUNT[>= 1] exchange(o))"),
    ("An order can only be exchanged once.", "ALWAYS (exchange(o) IMPLIES COUNT[>= 2] exchange(o))"),
    ("An order can only be exchanged once.", "ALWAYS NOT exchange(o)"),
    ("Before exchanging an order, the agent must look up the order.", "ALWAYS (look(o) IMPLIES ONCE exchange(o))"),
    ("Before exchanging an order, the agent must look up the order.", "ALWAYS (exchange(o) IMPLIES ONCE look(r))"),
    ("Before exchanging an order, the agent must look up the order.", "ALWAYS (exchange(o) IMPLIES ONCE note(o))"),
    ("Before exchanging, the agent must look it up.", BEFORE),
    ("Before exchanging each order, the agent must look up the same order.", "ALWAYS (exchange IMPLIES ONCE look)"),
]


@pytest.mark.parametrize(("text", "formula"), WRONG)
def test_another_count_another_object_or_another_act_stays_open(text: str, formula: str) -> None:
    assert left(text, formula)


def test_an_object_that_the_sentence_does_not_name_is_not_said() -> None:
    text = "An order can only be exchanged once."
    assert left(text, ONCE) == () and "of which object" in left(text, ONCE, "call.shelf")[0]


def test_an_object_that_two_arguments_may_tell_is_not_counted() -> None:
    pair = (Field("order_id", "string", "the order"), Field("other_order", "string", "another order"))
    box = Toolbox((Tool("exchange_order", "Exchange an order.", pair),))
    act = Predicate("exchange", "action", "", (), ("exchange_order",), None, (cel.parse("call.order_id"),))
    rule = Rule("r", "x", parse(ONCE), "forbid")
    why = accounting.unaccounted("An order can only be exchanged once.", (), [rule], [act], box)
    assert "several arguments may tell it" in why[0]


def reply(formula: str, objects: list[str], tool: str = "exchange_order") -> dict[str, object]:
    predicate = {"name": "exchange", "kind": "action", "tools": [tool], "objects": objects}
    rule = {"text": "once", "formula": formula, "modality": "forbid", "type": "action", "predicates": [predicate]}
    return {"statements": [{"id": "c1", "rules": [rule], "undecided": []}]}


def read(formula: str, objects: list[str], tool: str = "exchange_order") -> extract.RuleSet:
    text = "An order can only be exchanged once."
    quoted = {"policies": [{"description": text, "definitions": [], "scope": None}]}
    source = policy.of_text(text, BOX)
    engine = LLM(Answers(extract_policies=quoted, extract_rules=reply(formula, objects, tool)))
    found = extract.policies(source, engine, norms.constrains)
    return extract.rules(found.clauses, source, engine, norms.constrains, found.lost, corrections=0)


def test_a_reply_may_name_objects_and_how_often() -> None:
    made = read(ONCE, ["call.order_id"])
    assert [render(rule.formula) for rule in made.rules] == [ONCE] and not made.undecided
    assert made.predicates[0].objects == (cel.parse("call.order_id"),)


@pytest.mark.parametrize(
    ("formula", "objects", "tool", "why"),
    [
        (ONCE, [], "exchange_order", "objects"),
        (ONCE, ["call.order_id", "call.shelf"], "exchange_order", "2 objects"),
        (ONCE, ["state.order_id"], "exchange_order", "an argument such as call.id"),
        (ONCE, ["call.colour"], "exchange_order", "must read a field"),
        (ONCE, ["call.order_id"], "sing", "must read a field"),
        (ONCE, ["size(call.order_id)"], "exchange_order", "was required"),
        ("ALWAYS (exchange(o) IMPLIES COUNT[<= 1, 24h] exchange(o))", ["call.order_id"], "exchange_order", "windows"),
        ("ALWAYS (exchange(o) IMPLIES ONCE paint(o))", ["call.order_id"], "exchange_order", "must be described"),
    ],
)
def test_objects_that_are_none_leave_the_statement_undecided(
    formula: str, objects: list[str], tool: str, why: str
) -> None:
    made = read(formula, objects, tool)
    assert not made.rules and len(made.undecided) == 1 and why in made.undecided[0].reason
