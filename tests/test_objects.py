"""Formulas about the same object: their text, their meaning by enumeration, and monitors that agree with it."""

import random

import pytest
from formulas import random_formula
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import enumerated

from wb.logic import formula as F
from wb.logic import objects
from wb.logic.objects import NOBODY, Among, Slices, identity
from wb.logic.semantics import holds
from wb.logic.syntax import STYLES, FormulaError, parse, render

UNARY, BINARY = (F.Not, F.Previously, F.Once, F.Historically), (F.And, F.Or, F.Xor, F.Implies, F.Iff, F.Since)
ARITY = {"p": 0, "a": 1, "b": 1, "c": 2}


def window(rng: random.Random):
    """An operator of a window in time."""
    times, within = rng.choice((1, 1, 2, 3)), rng.choice((0, 2, 5))
    return lambda body: F.Recently(body, times, within)


def times(rng: random.Random, steps: int, gaps: tuple[float, ...] = (0.0, 0.0, 0.2)) -> list[int | None]:
    """Times of steps, in order; as often as one of `gaps` says, one that is missing or before the last."""
    found, now, gaps = [], 100, rng.choice(gaps)
    for _ in range(steps):
        now += rng.choice((0, 1, 1, 2, 3)) if rng.random() > 0.3 * gaps else -1
        found.append(None if rng.random() < gaps else now)
    return found


def past_formula(rng: random.Random, variables: str = "rst", timed: bool = False) -> F.Formula:
    """A formula of past operators over predicates of no, one and two objects; `a` without brackets is of any."""
    names = ["p", "a", *(f"{name}({v})" for name in "ab" for v in variables)]
    names += [f"c({v}, {w})" for v in variables for w in variables]
    return random_formula(rng, rng.choice((3, 4)), names, (*UNARY, *[window(rng) for _ in range(3 * timed)]), BINARY)


def among(named: dict, others: bool | None = False) -> Among:
    """Of which objects something is true; where an object is not known, of some all the same."""
    if others is False and list(named.values()) == [True]:
        return objects.only(*named)
    truths = {*named.values(), *({True} if others is None else ())}
    return Among(named, others, True if True in truths else None if None in truths else False)


def random_step(rng: random.Random, values: list, often: float = 0.5) -> dict:
    """What a step tells of each predicate; now and then an event that does not say which object it names."""
    found: dict = {"p": rng.choice([True, False, None])}
    for name in "abc":
        keys = [tuple(rng.choice(values) for _ in range(ARITY[name])) for _ in range(rng.randint(1, 2))]
        named = {key: rng.choice([True, True, None]) for key in keys}
        found[name] = among(named if rng.random() < often else {}, None if rng.random() < 0.1 * often else False)
    return found


def agree(seeds: range, timed: bool = False, gaps: tuple[float, ...] = (0.0, 0.0, 0.2)) -> int:
    """How many steps of random traces were known, a monitor and the definition saying the same at each."""
    known = 0
    for seed in seeds:
        rng = random.Random(seed)
        formula = past_formula(rng, rng.choice(["r", "rs", "rst"]), timed)
        values, often = [1, 2, "1"][: rng.randint(1, 3)], rng.choice((0.2, 0.5))
        trace = [random_step(rng, values, often) for _ in range(rng.randint(1, 10))]
        if timed:
            trace = [step | {F.TIME: time} for step, time in zip(trace, times(rng, len(trace), gaps), strict=True)]
        slices, found = Slices(formula), []
        for step in trace:
            found.append(slices.peek(step))
            assert found[-1] == slices.peek(step), "looking changes nothing"
            assert slices.step(step) is found[-1]
            if rng.random() < 0.3 and (timed or not slices._same):
                slices._forget()
            kept = {id(group): group.keys for group in (*slices._groups.values(), *slices._at.values())}.values()
            assert all(key in group.keys for key, group in slices._at.items()), "it stands among those of its memory"
            assert all(slices._groups[group.memory] is group for group in slices._at.values()), "of which there is one"
            assert sum(map(len, kept)) == len(slices), "and no other one does"
        assert tuple(found) == enumerated.table(formula, trace), (seed, render(formula))
        known += sum(truth is not None for truth in found)
    return known


def test_a_monitor_agrees_with_the_definition() -> None:
    assert agree(range(400)) > 400
    assert agree(range(400), timed=True) > 400
    assert agree(range(60), timed=True, gaps=(0.5,)) > 60
    # objects that were named, and then steps without a time at which what holds of them holds again
    assert all(agree(range(seed, seed + 1), timed=True, gaps=(0.5,)) for seed in (2075, 4359, 4378))


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(STYLES))
def test_a_formula_with_objects_is_read_back_from_its_text(seed: int, style: str) -> None:
    rng = random.Random(seed)
    body = past_formula(rng)
    formula = rng.choice([F.Always, F.Not, F.Once])(F.Implies(F.at_least(rng.randint(1, 4), body), F.Atom("a(r)")))
    assert parse(render(formula, style)) == formula


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("COUNT[<= 1] a(r)", "NOT ONCE (a(r) AND PREVIOUSLY ONCE a(r))"),
        ("COUNT[>= 3] a", "ONCE (a AND PREVIOUSLY ONCE (a AND PREVIOUSLY ONCE a))"),
        ("COUNT[<= 0] a", "NOT ONCE a"),
        ("COUNT[>=1] NOT a AND b", "(ONCE NOT a) AND b"),
        ("c( r,s )", "c(r, s)"),
        ("G(a(r) -> O b(r))", "ALWAYS (a(r) IMPLIES ONCE b(r))"),
        ("a(call.id)", "a(call.id)"),
    ],
)
def test_spellings(text: str, same: str) -> None:
    assert parse(text) == parse(same)


def test_a_count_is_printed_as_it_is_written() -> None:
    for text in (
        "ALWAYS (a(o) IMPLIES COUNT[<= 3] a(o))",
        "COUNT[>= 2] (a AND b)",
        "COUNT[<= 2] (a AND PREVIOUSLY ONCE b)",
        "NOT COUNT[>= 2] COUNT[<= 4] a",
    ):
        assert render(parse(text)) == text.replace("NOT COUNT[>= 2]", "COUNT[<= 1]")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a(R)", "objects are variables in small letters"),
        ("a(", "objects are variables in small letters"),
        ("a()", "objects are variables in small letters"),
        ("a(r s)", "objects are variables in small letters"),
        ("a(state.x)", "FULL STOP"),
        ("a (r)", "expected an operator"),
        ("true(r)", "expected a predicate"),
        ("COUNT[>= 0] a", "a number from 1"),
        ("COUNT[<= 999] a", "at most 200 nested operators"),
        ("COUNT[< 3] a", "LEFT SQUARE BRACKET"),
        ("COUNT a", "expected a predicate"),
    ],
)
def test_what_is_no_formula_says_why(text: str, words: str) -> None:
    with pytest.raises(FormulaError) as caught:
        parse(text)
    assert words in str(caught.value)


@pytest.mark.parametrize("times", range(1, 5))
def test_a_count_counts_steps(times: int) -> None:
    said = [True, False, None, True, True, None, True]
    for i in range(1, len(said) + 1):
        sure, possible = said[:i].count(True), len(said[:i]) - said[:i].count(False)
        expected = True if sure >= times else False if possible < times else None
        assert enumerated.table(F.at_least(times, F.Atom("p")), [{"p": one} for one in said[:i]])[-1] is expected


def test_objects_are_the_same_by_type_and_value() -> None:
    alike = [(1, 1.0), (0.0, -0.0), ("a", "a"), (True, True)]
    apart = [(1, "1"), (1, True), (0, False), ("", False), ("a", "A"), (("bool", True), True)]
    assert all(identity(x) == identity(y) is not None for x, y in alike)
    assert all(identity(x) != identity(y) for x, y in apart)
    for value in (None, [], {}, (1,), float("nan"), float("inf"), b"a", 1j):
        assert identity(value) is None


def event(**named: object) -> dict:
    """A step with these events, each of one object; `...` is an object that is not known."""
    others = {name: NOBODY for name in "ab"}
    return others | {
        name: among({}, None) if one is ... else among({(identity(one),): True}) for name, one in named.items()
    }


@pytest.mark.parametrize(
    ("text", "trace", "expected"),
    [
        ("a(r) IMPLIES ONCE b(r)", [event(b=1), event(a=1)], True),
        ("a(r) IMPLIES ONCE b(r)", [event(b=1), event(a=2)], False),
        ("a(r) IMPLIES ONCE b(r)", [event(b=1), event(a="1")], False),
        ("a(r) IMPLIES ONCE b(r)", [event(b=1), event(a=1.0)], True),
        ("a(r) IMPLIES ONCE b(r)", [event(b=...), event(a=2)], None),
        ("a(r) IMPLIES ONCE b(r)", [event(b=1), event(a=...)], None),
        ("a(r) IMPLIES ONCE b", [event(b=1), event(a=2)], True),
        ("a(r) IMPLIES ONCE b", [event(), event(a=2)], False),
        ("a(r) IMPLIES ONCE b", [event(b=...), event(a=2)], True),
        ("a(r) IMPLIES NOT PREVIOUSLY ONCE a(r)", [event(a=1), event(a=2)], True),
        ("a(r) IMPLIES NOT PREVIOUSLY ONCE a(r)", [event(a=1), event(a=2), event(a=1)], False),
        ("a(r) IMPLIES NOT PREVIOUSLY ONCE a(r)", [event(a=...), event(a=1)], None),
        ("a(r) IMPLIES COUNT[<= 2] a(r)", [event(a=1), event(a=1), event(a=2)], True),
        ("a(r) IMPLIES COUNT[<= 2] a(r)", [event(a=1), event(a=1), event(a=1)], False),
        ("a(r) IMPLIES PREVIOUSLY (NOT a(r) SINCE b(r))", [event(b=1), event(a=1), event(a=1)], False),
        ("a(r) IMPLIES PREVIOUSLY (NOT a(r) SINCE b(r))", [event(b=1), event(a=2), event(a=1)], True),
    ],
)
def test_meaning_by_hand(text: str, trace: list, expected: bool | None) -> None:
    slices = Slices(parse(text))
    for step in trace[:-1]:
        slices.step(step)
    assert slices.peek(trace[-1]) is enumerated.table(parse(text), trace)[-1] is expected


def test_a_memory_is_kept_for_live_objects_alone() -> None:
    slices = Slices(parse("NOT a(r) SINCE b(r)"))
    for i in range(300):
        slices.step(event(b=i))
    assert len(slices) == 300
    for i in range(290):
        slices.step(event(a=i))
    assert len(slices) == 10, "what is as if it had never been named is dropped"
    assert len(slices._groups) <= 2
    copy = slices.fresh()
    assert len(copy) == 0 and len(slices) == 10


def test_objects_that_come_to_remember_the_same_are_still_followed() -> None:
    slices = Slices(parse("PREVIOUSLY PREVIOUSLY a(r)"))
    both = event() | {"a": among({(1,): True, (2,): True})}
    for step in (event(a=1), both, event()):
        slices.step(step)
    assert [slices.peek(event(), {"r": one}) for one in (1, 2, 3)] == [True, True, False]
    slices.step(event())
    assert [slices.peek(event(), {"r": one}) for one in (1, 2, 3)] == [False] * 3
    slices.step(event())
    assert len(slices) == 0


def test_what_is_dropped_of_a_pair_is_not_missed() -> None:
    slices, trace = Slices(parse("NOT a(r) SINCE b(s)")), [event(b=2), event(a=1), event(b=3), event()]
    for step in trace:
        slices.step(step)
        slices._forget()
    pairs = [(1, 2), (1, 3), (4, 2), (4, 3), (1, 4)]
    assert [slices.peek(event(), {"r": r, "s": s}) for r, s in pairs] == [False, True, True, True, False]


def test_pairs_of_objects_are_dropped_too() -> None:
    slices = Slices(parse("NOT a(r) SINCE c(r, s)"))
    for i in range(200):
        slices.step(event() | {"c": among({(i % 7, i): True})})
        slices.step(event(a=i % 7) | {"c": NOBODY})
    assert len(slices) <= 2 * objects.FEW


def test_one_object_of_the_judged_call_is_asked_about() -> None:
    slices = Slices(parse("ONCE b(call.id)"))
    slices.step(event(b=1))
    asked = [slices.peek(event(), {"call.id": one}) for one in (1, 2, identity(True), None)]
    assert asked == [True, False, False, None], "without its object nothing is known"


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        ("ALWAYS (a(r) IMPLIES ONCE b(r))", ()),
        ("ALWAYS (p AND ONCE a(r) IMPLIES ONCE b(r))", ()),
        ("ALWAYS (a(r) IMPLIES PREVIOUSLY (NOT a(r) SINCE b(r)))", ()),
        ("ALWAYS (c(r, s) IMPLIES COUNT[<= 3] c(r, s))", ()),
        ("ALWAYS (NOT (a(r) AND ONCE b(r)))", ()),
        ("ALWAYS (a(r) XOR a(r)) OR true", ()),
        ("ALWAYS (p IMPLIES ONCE b(r))", ("r",)),
        ("ALWAYS (a(r) IMPLIES ONCE b(s))", ("s",)),
        ("EVENTUALLY a(r)", ("r",)),
    ],
)
def test_a_rule_may_demand_nothing_of_objects_never_named(text: str, variables: tuple) -> None:
    found = objects.unsafe(parse(text))
    assert found == variables


def test_a_safe_formula_is_true_where_nothing_was_named() -> None:
    """Safety by constants is checked against the definition: with no event of an object, no rule is broken."""
    safe = 0
    for seed in range(600):
        rng = random.Random(seed)
        formula = past_formula(rng, "r")
        if F.variables(formula) and not objects.unsafe(formula):
            safe += 1
            trace = [{"p": rng.random() < 0.5, "a": NOBODY, "b": NOBODY, "c": NOBODY} for _ in range(4)]
            assert enumerated.table(formula, trace) == (True,) * 4
    assert safe > 20


def test_a_formula_without_objects_is_followed_as_the_definition_has_it():
    rng = random.Random(11)
    for _ in range(60):
        formula = random_formula(rng, 3, "pq", UNARY, BINARY)
        slices, trace = Slices(formula), []
        for _ in range(6):
            trace.append(frozenset(name for name in "pq" if rng.random() < 0.5))
            told = {name: name in trace[-1] or rng.choice((False, NOBODY)) for name in "pq"}
            assert slices.step(told) is holds(formula, trace, len(trace) - 1), (formula, trace)


@pytest.mark.parametrize("text", ["NOT a(r) SINCE b(r)", "ONCE[<= 10s] b(r)", "COUNT[<= 2] b(r)"])
@pytest.mark.parametrize("timed", [True, False])
def test_two_are_alike_as_long_as_no_step_tells_them_apart(text: str, timed: bool) -> None:
    """A fork is, until one of the two takes a step that the other does not."""
    if "<= 10s" in text and not timed:
        steps = [event(b=1) | {F.TIME: None}]
    else:
        steps = [event(b=1) | ({F.TIME: 5} if timed else {}), event(b=2) | ({F.TIME: 6} if timed else {})]
    one = Slices(parse(text))
    for step in steps:
        one.step(step)
    other = one.fork()
    assert one.alike(other) and other.alike(one)
    other.step(event(b=3) | {F.TIME: 7 if timed else None})
    assert not one.alike(other) and not other.alike(one)
