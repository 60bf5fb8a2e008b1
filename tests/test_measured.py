"""Guards over measured values: what the proved code compares, filled by the evaluator, says what the fact says."""

import copy
import random

import pytest
from test_said import SAID, values

from wb.domain.tools import Field, Schema, Tool, Toolbox
from wb.domain.trace import Call, Step
from wb.guards.contract import Contract, assemble, contract
from wb.guards.runtime import CallGuard, Guarded
from wb.logic import syntax
from wb.logic.cel import parse
from wb.logic.evaluation import holds
from wb.logic.facts import FactError
from wb.rules.rule import Predicate, Rule, RuleSet


def schema(value: object) -> dict:
    """The schema that a value stands for."""
    match value:
        case bool():
            return {"type": "boolean"}
        case int():
            return {"type": "integer"}
        case float():
            return {"type": "number"}
        case str():
            return {"type": "string"}
        case list():
            return {"type": "array", "items": schema(value[0]) if value else {}}
        case dict():
            return {"type": "object", "properties": {name: schema(inner) for name, inner in value.items()}}
    return {}


def field(name: str, value: object, declared: bool) -> Field:
    row = schema(value)
    return Field(name, row["type"], schema=Schema(row if declared else {"description": name}))


def guard(text: str, declared: bool = True) -> tuple[CallGuard, Contract]:
    """A guard that asks for one fact at each call of `book`, its code what the rule asks."""
    known = values()
    tool = Tool("book", arguments=tuple(field(n, v, declared) for n, v in known["call"].items()))
    state = tuple(field(n, v, declared) for n, v in known["state"].items())
    test = parse(text)
    tools = ("book",) if "call." in text else ()
    predicates = (Predicate("book", "action", "", tools=("book",)), Predicate("p", "state", "", tools=tools, test=test))
    rule = Rule("r", text, syntax.parse("ALWAYS (book IMPLIES p)"), "permit_only_if")
    ruleset = RuleSet(predicates, (rule,))
    made = contract(tool, ruleset, state)
    source = (
        f"{made.signature}\n    if {made.items[0].condition}:\n        return (True, '')\n    return (False, 'no')\n"
    )
    assemble(source, made)
    entry = Guarded(made, source, "proved")
    return CallGuard("guard", ruleset, (entry,), frozenset({"proved"}), Toolbox((tool,), state)), made


DECISION = {True: "allow", False: "deny", None: "undecided"}
OTHERS = (
    0,
    1,
    -5,
    31,
    120,
    2.5,
    "x",
    "",
    "2024-05-15T03:10:19Z",
    "gold",
    True,
    False,
    None,
    [],
    [{}],
    {},
    "1",
    "11",
    2**70,
)


def places(inside: object, at: tuple = ()) -> list[tuple]:
    pairs = inside.items() if isinstance(inside, dict) else enumerate(inside) if isinstance(inside, list) else ()
    return [one for key, inner in pairs for one in ((*at, key), *places(inner, (*at, key)))]


def damaged(chance: random.Random) -> dict:
    """The values, with some of them others, or gone."""
    known = copy.deepcopy(values())
    for _ in range(chance.choice((1, 1, 2))):
        *outer, last = chance.choice([place for place in places(known) if len(place) > 1])
        inside = known
        for key in outer:
            inside = inside[key]
        if chance.random() < 0.3:
            del inside[last]
        else:
            inside[last] = chance.choice(OTHERS)
    return known


def judged(one: CallGuard, known: dict) -> str:
    """The verdict of the code alone: no schema is held against the values, so that the fact meets them all."""
    return one.watch().judge(Step((Call("book", known["call"]),), known["state"])).decision


@pytest.mark.parametrize("text", [row[1] for row in SAID], ids=[row[0] for row in SAID])
def test_a_guard_says_what_its_fact_says(text):
    fact, chance = parse(text), random.Random(text)
    made = [guard(text, declared)[0] for declared in (True, False)]
    met = set()
    for round_ in range(60):
        known = values() if not round_ else damaged(chance)
        truth = holds(fact, known)
        met.add(truth)
        for one in made:
            decision = judged(one, known)
            if decision != "undecided":  # a type that is not the declared one may leave the code without an answer
                assert decision == DECISION[truth], (known, decision)
            else:
                assert truth is None or not fitting(one, known)
    assert True in met


def fitting(one: CallGuard, known: dict) -> bool:
    """Whether every value has its declared type."""
    state = one.validator.state(known["state"])
    return not state.strange and isinstance(one.validator.call("book", known["call"]), Call)


def test_what_is_trusted_and_what_is_measured_is_counted():
    counts = [(len(made.measured), len(made.trusted)) for _, made in (guard(row[1]) for row in SAID)]
    inside = sum(trusted == 0 for _, trusted in counts)
    print(f"{inside} of {len(counts)} facts are compared inside the proof; {sum(t for _, t in counts)} truths trusted")
    assert inside >= 14


if __name__ == "__main__":
    for said, text, *_ in SAID:
        try:
            _, made = guard(text)
        except FactError as error:
            print(said, error)
            continue
        print(f"{said}: {made.items[0].condition}    measured {len(made.measured)}, trusted {len(made.trusted)}")
