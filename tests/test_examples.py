"""Examples come from the rules before any code, one for each rule and each edge; mutants are told apart by them."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wb.domain.tools import Field, Tool
from wb.guards import contract, examples, faults, sandbox
from wb.guards.contract import assemble
from wb.logic import cel, semantics
from wb.offline import engine
from wb.rules.rule import Predicate, Rule, RuleSet

PREDICATES = (
    Predicate("book", "action", "", tools=("book",)),
    Predicate("adult", "state", "", test=cel.parse("state.age >= 18")),
    Predicate("few", "state", "", tools=("book",), test=cel.parse("size(call.guests) <= 5")),
    Predicate("confirmed", "state", ""),
    Predicate("old", "state", "", test=cel.parse("state.age > 99")),
    Predicate("gold", "state", "", test=cel.parse('state.level == "gold"')),
)
TOOL = Tool("book", arguments=(Field("guests", "array"),))
GUARD = """
def policy_book(age: int, level: str, count_guests: int, confirmed: bool) -> Tuple[bool, str]:
    if age < 18:
        return (False, "young")
    if level != "gold" and count_guests > 5:
        return (False, "many")
    if not confirmed:
        return (False, "unconfirmed")
    return (True, "allowed")
"""


def of(*texts: str) -> contract.Contract:
    rules = tuple(Rule(f"r{i}", t, semantics.parse(t), "forbid") for i, t in enumerate(texts, 1))
    return contract.contract(TOOL, RuleSet(PREDICATES, rules))


CONTRACT = of(
    "ALWAYS (book IMPLIES adult)", "ALWAYS ((book AND NOT gold) IMPLIES few)", "ALWAYS (book IMPLIES confirmed)"
)


def truth(age: int, level: str, count_guests: int, confirmed: bool) -> bool:
    """The rules, said by hand."""
    return age >= 18 and (level == "gold" or count_guests <= 5) and confirmed


@pytest.mark.parametrize("case", examples.examples(CONTRACT), ids=lambda e: f"{e.kind}-{dict(e.arguments)}")
def test_an_example_demands_what_the_rules_say(case: examples.Example) -> None:
    assert case.allowed is truth(**dict(case.arguments))


def test_each_rule_has_a_violation_that_breaks_it_alone() -> None:
    broken = {e.rule: dict(e.arguments) for e in examples.examples(CONTRACT) if e.kind == "violation"}
    assert set(broken) == {"r1", "r2", "r3"}
    assert broken["r1"]["age"] < 18 and broken["r1"]["confirmed"] and broken["r2"]["age"] >= 18


def test_an_example_says_what_it_is_there_for() -> None:
    found = examples.examples(CONTRACT)
    assert [e.kind for e in found][:4] == ["compliance", "violation", "violation", "violation"]
    assert {e.kind for e in found[4:]} == {"boundary"} and not any(e.rule for e in found[4:])


def test_both_sides_of_each_edge_are_there() -> None:
    ages = {
        dict(e.arguments)["age"]: e.allowed
        for e in examples.examples(CONTRACT)
        if dict(e.arguments)["confirmed"] and dict(e.arguments)["level"] == "gold"
    }
    assert ages[17] is False and ages[18] is True


def test_no_example_has_a_negative_count() -> None:
    none = Predicate("none", "state", "", tools=("book",), test=cel.parse("size(call.guests) == 0"))
    empty = RuleSet((*PREDICATES, none), (Rule("r", "", semantics.parse("ALWAYS (book IMPLIES none)"), "forbid"),))
    for made in (CONTRACT, contract.contract(TOOL, empty)):
        assert all(dict(e.arguments)["count_guests"] >= 0 for e in examples.examples(made))
    assert examples.points(made, examples.function(made, made.allows)) == {"count_guests": (0, 1)}


def test_rules_that_allow_nothing_have_no_compliance_example() -> None:
    nothing = examples.examples(of("ALWAYS (book IMPLIES NOT adult)", "ALWAYS (book IMPLIES old)"))
    assert nothing and not any(e.allowed for e in nothing)


def test_a_right_guard_fails_no_example_and_each_wrong_one_does() -> None:
    cases = examples.examples(CONTRACT)
    assert examples.failures(sandbox.load(GUARD), cases) == ()
    for wrong in (
        GUARD.replace("< 18", "<= 18"),
        GUARD.replace("> 5", "> 6"),
        GUARD.replace("not confirmed", "confirmed"),
        GUARD.replace('True, "allowed"', '3, "allowed"'),
        GUARD.replace('(True, "allowed")', '(level, "allowed")'),
    ):
        assert examples.failures(sandbox.load(wrong), cases)


def test_every_mutant_is_another_program_with_one_change() -> None:
    made = faults.mutants(GUARD)
    assert len({m.source for m in made}) == len(made) >= 15
    assert all(sandbox.strip(GUARD) != m.source for m in made)


def test_the_chosen_mutants_have_every_operator() -> None:
    chosen = faults.choose([faults.mutants(GUARD)], 5)
    assert [m.operator for _, m in chosen] == ["comparison", "constant", "dropped rule", "negation", "swapped field"]


@pytest.mark.parametrize("made", faults.mutants(GUARD), ids=lambda m: f"{m.operator}-{m.change}"[:60])
def test_a_difference_is_found_exactly_where_trying_everything_finds_one(made: faults.Mutant) -> None:
    points = examples.points(CONTRACT, assemble(GUARD, CONTRACT), assemble(made.source, CONTRACT))
    one, other = sandbox.load(GUARD), sandbox.load(made.source)
    differs = any(
        one.run(**(v := dict(zip(points, row, strict=True))))[0] != other.run(**v)[0]
        for row in itertools.product(*points.values())
    )
    witness = examples.difference(one, other, points)
    assert (witness is not None) is differs
    assert witness is None or one.run(**witness)[0] != other.run(**witness)[0]


@pytest.mark.parametrize("made", faults.mutants(GUARD), ids=lambda m: f"{m.operator}-{m.change}"[:60])
def test_one_change_is_mended_from_the_examples_unless_a_rule_is_gone(made: faults.Mutant) -> None:
    cases = examples.examples(CONTRACT)
    mended = engine.corrected(made.source, cases)
    left = examples.failures(sandbox.load(mended), cases)
    if made.operator == "dropped rule":
        assert left, "a missing requirement cannot be invented"
    else:
        assert not left


@given(st.integers(0, 30), st.sampled_from(("gold", "tin")), st.integers(0, 9), st.booleans())
def test_a_condition_program_says_what_the_rules_say(age: int, level: str, guests: int, confirmed: bool) -> None:
    allows = examples.program(CONTRACT, CONTRACT.allows)
    assert allows.run(age=age, level=level, count_guests=guests, confirmed=confirmed)[0] is truth(
        age, level, guests, confirmed
    )
