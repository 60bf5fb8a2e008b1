"""Circuits: the closed form against the enumeration of worlds, outcomes against every completion."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import worlds

from wb.logic import semantics
from wb.logic.formula import Always, And, Atom, Eventually, Implies, Not, Once, Or, Until, WeakNext, conjunction
from wb.logic.syntax import parse
from wb.rules import residual
from wb.rules.rule import Predicate, Rule, RuleSet
from wb.shield import circuit
from wb.shield.circuit import HARD, Circuit, Kept

NAMES = ("act", "p", "q", "s")
FEW = NAMES[:3]
leaves = st.sampled_from([Atom(n) for n in NAMES])
few = st.sampled_from([Atom(n) for n in FEW])
bodies = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.builds(And, inner, inner),
        st.builds(Or, inner, inner),
        st.builds(Implies, inner, inner),
    ),
    max_leaves=5,
)
temporal = st.recursive(
    few,
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.builds(Implies, inner, inner),
        st.builds(Always, inner),
        st.builds(Eventually, inner),
        st.builds(Once, inner),
        st.builds(Until, inner, inner),
    ),
    max_leaves=4,
)


def of(*formulas, weights=None) -> Circuit:
    rules = tuple(Rule(f"r{i}", "", f, "permit_only_if") for i, f in enumerate(formulas, 1))
    return Circuit("act", rules, tuple(weights or [1.0] * len(rules)))


def keeps(rule: Rule, world: frozenset[str]) -> bool:
    """A world is a trace of one step."""
    return semantics.holds(rule.formula, [world])


def said(c: Circuit, *steps: dict) -> circuit.Inference:
    machines = circuit.automata(c.rules)
    return circuit.infer(c, {r.id: circuit.outcomes(machines[r.id], c.action, steps) for r in c.rules})


ONLY_IF_P, NEVER_IF_Q = Always(Implies(Atom("act"), Atom("p"))), Always(Implies(Atom("act"), Not(Atom("q"))))


@settings(max_examples=150)
@given(formulas=st.lists(bodies, min_size=1, max_size=4), data=st.data())
def test_the_closed_form_is_the_difference_of_the_two_worlds(formulas, data):
    weights = data.draw(st.lists(st.floats(0, 4), min_size=len(formulas), max_size=len(formulas)))
    c = of(*map(Always, formulas), weights=weights)
    evidence = {n: data.draw(st.booleans()) for n in NAMES[1:]}
    masses = worlds.enumerate_worlds(c, keeps, evidence)
    inference = said(c, evidence)
    assert masses.taken + masses.left == pytest.approx(1)
    assert inference.low == inference.high == pytest.approx(masses.taken - masses.left, abs=1e-9)


@settings(max_examples=80)
@given(
    formulas=st.lists(bodies, min_size=1, max_size=3), known=st.dictionaries(st.sampled_from(NAMES[1:]), st.booleans())
)
def test_with_unknowns_the_interval_holds_every_completion_and_the_marginal(formulas, known):
    c = of(*map(Always, formulas), weights=[0.7, 1.3, 2.1][: len(formulas)])
    inference = said(c, known)
    free = [n for n in NAMES[1:] if n not in known]
    for values in itertools.product((False, True), repeat=len(free)):
        exact = said(c, {**known, **dict(zip(free, values, strict=True))})
        assert inference.low - 1e-12 <= exact.low <= inference.high + 1e-12
    masses = worlds.enumerate_worlds(c, keeps, known)
    assert inference.low - 1e-9 <= masses.taken - masses.left <= inference.high + 1e-9


@settings(max_examples=50)
@given(formula=temporal, steps=st.lists(st.dictionaries(st.sampled_from(FEW), st.booleans()), min_size=1, max_size=2))
def test_outcomes_are_those_of_every_completion_with_every_continuation(formula, steps):
    worlds = [
        frozenset(n for n, v in zip(FEW, values, strict=True) if v) for values in itertools.product((0, 1), repeat=3)
    ]

    def agree(step):
        return [w for w in worlds if all((n in w) == v for n, v in step.items())]

    each = residual.each_step(formula)

    def kept(trace):  # two more steps are enough to mend a formula of this size without NEXT
        if each is not None:  # it asks something of each step by itself
            return semantics.table(each, trace)[-1]
        return any(
            semantics.holds(formula, [*trace, *more]) for n in range(3) for more in itertools.product(worlds, repeat=n)
        )

    last = agree({n: v for n, v in steps[-1].items() if n != "act"} | {"act": False})
    expected = {
        Kept(kept([*past, world | {"act"}]), kept([*past, world]))
        for past in itertools.product(*map(agree, steps[:-1]))
        for world in last
    }
    machine = circuit.automata([Rule("r", "", formula, "oblige")])["r"]
    assert circuit.outcomes(machine, "act", steps) == expected


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (({"p": True},), {Kept(True, True)}),
        (({"p": False},), {Kept(False, True)}),
        (({},), {Kept(True, True), Kept(False, True)}),
        (({"act": True, "p": False}, {"p": True}), {Kept(True, True)}),
        (({"act": True, "p": False}, {"p": False}), {Kept(False, True)}),
        (({"act": None, "p": False}, {"p": None}), {Kept(False, True), Kept(True, True)}),
    ],
)
def test_a_condition_is_kept_or_broken_at_each_step_whatever_was_broken_before(steps, expected):
    rule = Rule("r", "", ONLY_IF_P, "permit_only_if")
    assert circuit.outcomes(circuit.automata([rule])["r"], "act", steps) == expected


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (({"act": True, "p": False}, {"p": True}), {Kept(True, True)}),
        (({"act": True, "p": False}, {"p": False}), {Kept(False, False)}),
        (({"act": True, "p": False}, {"p": False}, {"p": True}), {Kept(False, False)}),
        (({"act": None, "p": False}, {"p": False}, {"p": True}), {Kept(False, False), Kept(True, True)}),
    ],
)
def test_a_rule_about_later_steps_is_kept_broken_or_long_lost(steps, expected):
    rule = Rule("r", "", parse("ALWAYS (act IMPLIES WEAK_NEXT p)"), "oblige")
    assert circuit.outcomes(circuit.automata([rule])["r"], "act", steps) == expected


def test_a_duty_that_can_still_be_done_is_no_breach():
    duty = of(Always(Implies(Atom("act"), Eventually(Atom("p")))))
    assert said(duty, {"p": False}).state == "indecisive"


def test_a_past_condition_reads_the_history():
    ordered = of(Always(Implies(Atom("act"), Once(Atom("p")))))
    assert said(ordered, {"act": False, "p": True}, {"p": False}).state == "indecisive"
    assert said(ordered, {"act": False, "p": False}, {"p": False}).violated == ("r1",)
    assert said(ordered, {"act": False}, {"p": False}).state == "undecided"


def test_one_broken_rule_of_weight_w_gives_tanh_of_half_of_it():
    assert said(of(ONLY_IF_P, weights=[1.7]), {"p": False}).low == pytest.approx(-math.tanh(0.85))


@pytest.mark.parametrize("epsilon", [-0.7, -0.2, 0.0, 0.3])
def test_a_rule_just_above_the_lightest_weight_denies_and_one_at_it_does_not(epsilon):
    weight = circuit.lightest(epsilon)
    assert circuit.safe(said(of(ONLY_IF_P, weights=[weight + 1e-6]), {"p": False}), epsilon) is False
    if epsilon <= 0:
        assert circuit.safe(said(of(ONLY_IF_P, weights=[max(weight - 1e-9, 0)]), {"p": False}), epsilon) is True


def test_that_no_rule_is_decisive_is_not_the_same_as_a_balance():
    neither = said(of(ONLY_IF_P, NEVER_IF_Q), {"p": True, "q": False})
    balance = said(of(ONLY_IF_P, Always(Or(Atom("act"), Atom("p")))), {"p": False})
    assert neither.low == balance.low == 0
    assert (neither.state, balance.state) == ("indecisive", "decisive")


@pytest.mark.parametrize(
    ("low", "high", "epsilon", "expected"),
    [
        (0.0, 0.0, 0.0, True),
        (-0.1, -0.1, 0.0, False),
        (-0.1, -0.1, -0.2, True),
        (0.0, 0.0, 0.1, False),
        (-0.4, 0.0, 0.0, None),
        (-0.4, 0.0, -0.5, True),
        (-0.4, -0.2, -0.1, False),
    ],
)
def test_the_safety_condition_is_sure_only_when_the_whole_interval_is(low, high, epsilon, expected):
    assert circuit.safe(circuit.Inference(low, high, "decisive"), epsilon) is expected


def test_a_hard_rule_outweighs_every_soft_one():
    soft_for = Always(Or(Atom("act"), Atom("p")))
    c = of(ONLY_IF_P, soft_for, weights=[HARD, 50.0])
    inference = said(c, {"p": False})
    assert inference.low == inference.high == -1 and circuit.safe(inference) is False
    masses = worlds.enumerate_worlds(c, keeps, {"p": False})
    assert (masses.taken, masses.left) == (0, 1)


def test_hard_rules_that_forbid_both_worlds_are_reported_and_decide_nothing():
    c = of(ONLY_IF_P, Always(Or(Atom("act"), Atom("p"))), weights=[HARD, HARD])
    inference = said(c, {"p": False})
    assert inference.state == "contradictory" and circuit.safe(inference) is None
    with pytest.raises(ValueError, match="hard rules"):
        worlds.enumerate_worlds(c, keeps, {"p": False})


def test_the_global_partition_makes_circuits_incomparable():
    small, large = of(ONLY_IF_P), of(ONLY_IF_P, Always(Or(Atom("q"), Not(Atom("q")))))
    evidence = {"p": False, "q": True}
    local = [worlds.enumerate_worlds(c, keeps, evidence) for c in (small, large)]
    globe = [worlds.enumerate_worlds(c, keeps, evidence, partition="global") for c in (small, large)]
    assert local[0] == pytest.approx(local[1])
    assert globe[0].taken - globe[0].left != pytest.approx(globe[1].taken - globe[1].left)
    # one rule over act and p: Z = 3e + 1, so the two evidence worlds weigh 1 and e
    assert globe[0] == pytest.approx((1 / (3 * math.e + 1), math.e / (3 * math.e + 1)))


def test_a_rule_over_many_known_predicates_is_decided():
    names = [f"p{i}" for i in range(10)]
    known = dict.fromkeys(names, True)
    plain = Always(Implies(Atom("act"), conjunction(tuple(map(Atom, names)))))
    parts = conjunction(tuple(Always(Implies(Atom("act"), Atom(name))) for name in names))
    past = Always(Implies(Atom("act"), conjunction(tuple(Once(Atom(name)) for name in names))))
    for formula in (plain, parts, past):
        assert said(of(formula), known).state == "indecisive"
        assert said(of(formula), known | {"p9": False}).violated == ("r1",)
        assert said(of(formula), known | {"p9": None}).state == "undecided"
    assert said(of(past), known | {"act": False}, dict.fromkeys(names, False)).state == "indecisive"
    later = Always(Implies(conjunction(tuple(map(Atom, names))), WeakNext(Atom("act"))))
    assert said(of(later), known | {"act": False}, known).state == "decisive"
    assert said(of(later), known | {"act": False, "p9": False}, known).state == "indecisive"


@settings(max_examples=60)
@given(
    formula=temporal,
    steps=st.lists(st.fixed_dictionaries(dict.fromkeys(FEW, st.booleans())), min_size=1, max_size=4),
)
def test_the_automaton_that_remembers_says_what_the_definition_says(formula, steps):
    """The one for many predicates, on rules that have a small one as well."""
    each = residual.each_step(Always(formula))
    if each is None:
        return
    machine, state = circuit._remembering(each), 0
    trace = [frozenset(name for name, true in step.items() if true) for step in steps]
    for i, step in enumerate(trace):
        state = machine.rows[state][sum(1 << j for j, name in enumerate(machine.names) if name in step)]
        assert machine.kept[state] == semantics.table(each, trace[: i + 1])[-1]


def test_a_rule_beyond_every_limit_stays_undecided():
    names = [f"p{i}" for i in range(20)]
    formula = Always(Implies(Atom("act"), conjunction(tuple(Eventually(Atom(name)) for name in names))))
    assert said(of(formula), dict.fromkeys(names, True)).state == "undecided"
    unknown = of(Always(Implies(Atom("act"), conjunction(tuple(Once(Atom(name)) for name in names)))))
    assert said(unknown, {}, dict.fromkeys(names, False)).state == "undecided"


def test_circuits_are_built_with_their_own_weights():
    rule = Rule("r1", "", ONLY_IF_P, "permit_only_if")
    ruleset = RuleSet((Predicate("act", "action", ""), Predicate("p", "state", "")), (rule,))
    built = circuit.build(ruleset, {"act": ("r1",), "other": ("r1",)}, {"act": {"r1": 0.4}})
    assert built["act"].weights == (0.4,) and built["other"].weights == (1.0,)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: of(ONLY_IF_P, weights=[1.0, 2.0]), "one weight a rule"),
        (lambda: of(ONLY_IF_P, weights=[-1.0]), "reward a breach"),
        (lambda: of(ONLY_IF_P, weights=[math.nan]), ">= 0"),
        (lambda: circuit.safe(circuit.Inference(0, 0, "indecisive"), 2.0), "epsilon"),
        (lambda: circuit.infer(of(ONLY_IF_P), {}), "at least one outcome"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
