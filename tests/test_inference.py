"""Joint inference: what is unknown of several rules and physical rules together, against its enumeration."""

from __future__ import annotations

import json
import random

import pytest
from oracles import worlds

from wb.domain.trace import Call, Step, Trace, permitted
from wb.logic import cel
from wb.logic import formula as F
from wb.logic.formula import Always, Atom, Not
from wb.logic.syntax import parse
from wb.rules.rule import Predicate, Rule, RuleSet
from wb.shield import circuit, elimination
from wb.shield import shield as shields
from wb.shield.circuit import HARD, Circuit
from wb.shield.shield import Shield

BINARY = (F.And, F.Or, F.Implies, F.Implies, F.Iff, F.Xor)


def body(rng: random.Random, names: list[str]) -> F.Formula:
    """A formula over some of the names, each once."""
    if len(names) == 1:
        return Not(Atom(names[0])) if rng.random() < 0.4 else Atom(names[0])
    at = rng.randint(1, len(names) - 1)
    return rng.choice(BINARY)(body(rng, names[:at]), body(rng, names[at:]))


def case(rng: random.Random, hard: bool = True) -> tuple[Circuit, dict, dict, dict]:
    """A circuit over up to 16 predicates, and what is known, likely, and another truth where the action is left."""
    names = [f"p{i}" for i in range(rng.randint(1, 15))]
    rules, laws = [], []
    for i in range(rng.randint(1, 10)):
        some = rng.sample(names, min(len(names), rng.randint(1, 4)))
        rules.append(Rule(f"r{i}", "", Always(body(rng, ["act", *some])), "permit_only_if"))
    for i in range(rng.randint(0, 6)):
        some = rng.sample(names, min(len(names), rng.randint(1, 3)))
        laws.append(Rule(f"law{i}", "", Always(body(rng, some)), "oblige", "physical"))
    weights = [HARD if hard and rng.random() < 0.1 else rng.choice([1.0, rng.random() * 3]) for _ in rules]
    kinds = {name: rng.choice(["known", "unknown", "likely"]) for name in names}
    evidence = {n: rng.random() < 0.5 for n, kind in kinds.items() if kind == "known"}
    likely = {n: rng.choice([0.0, 1.0, rng.random()]) for n, kind in kinds.items() if kind == "likely"}
    left = {n: rng.choice([False, None]) for n in names if rng.random() < 0.1}
    likely = {n: p for n, p in likely.items() if n not in left}
    return Circuit("act", tuple(rules), tuple(weights), tuple(laws)), evidence, likely, left


def said(c: Circuit, evidence: dict, likely: dict, left: dict) -> circuit.Inference:
    rules = (*c.rules, *c.laws)
    machines = circuit.automata(rules)
    fares = {r.id: circuit.faring(machines[r.id], "act", circuit.START, evidence, left) for r in rules}
    return circuit.infer(c, fares, likely)


@pytest.mark.parametrize("soft", [False, True])
def test_inference_is_the_enumeration_of_what_may_be_so(soft):
    rng, seen, undecided = random.Random(7 + soft), 0, 0
    while seen < 500:
        c, evidence, likely, left = case(rng)
        likely = likely if soft else {}
        try:
            expected = worlds.bounds(c, evidence, likely, left)
        except ValueError:
            continue
        found = said(c, evidence, likely, left)
        seen += 1
        assert not found.wide
        if expected is None:
            assert found.state == "contradictory" and circuit.safe(found) is None
            continue
        assert (found.low, found.high) == pytest.approx(expected, abs=1e-9)
        assert (found.state == "undecided") == (expected[1] - expected[0] > 1e-12)
        undecided += found.state == "undecided"
    assert undecided > 50


def test_what_is_looked_up_is_what_is_inferred_and_the_enumeration():
    rng, known = random.Random(5), 0
    for _ in range(400):
        c, _, likely, left = case(rng)
        rules = (*c.rules, *c.laws)
        machines, places = circuit.automata(rules), {rule.id: i for i, rule in enumerate(rules)}
        ready, at = circuit.Compiled(c, machines, places, left), (circuit.START,) * len(rules)
        names = sorted({name for rule in rules for name in rule.predicates} - {"act"})
        for dark in (0.0, 0.0, 0.2):
            evidence = {name: None if rng.random() < dark else rng.random() < 0.7 for name in names}
            for soft in ({}, {name: p for name, p in likely.items() if evidence.get(name) is None}):
                inferred = said(c, evidence, soft, left)
                assert ready.infer(at, evidence, soft) == inferred == ready.infer(at, evidence, soft)
            if dark or left or inferred.state == "contradictory":
                continue
            known += 1
            assert inferred.low == inferred.high == pytest.approx(worlds.bounds(c, evidence, {}, left)[0], abs=1e-9)
    assert known > 100


def test_what_is_looked_up_is_of_where_each_automaton_is():
    texts = ["ALWAYS (act IMPLIES ONCE p)", "ALWAYS (act IMPLIES PREVIOUSLY q)", "ALWAYS (p IMPLIES (NOT act) SINCE q)"]
    texts += [
        "ALWAYS (act IMPLIES NOT PREVIOUSLY ONCE act)",
        "NOT act WEAK_UNTIL q",
        "ALWAYS (act IMPLIES EVENTUALLY p)",
    ]
    c, rng, differ = ruled(*texts, weights=(1.0, 0.5, HARD, 0.3, 2.0, 1.0)), random.Random(3), set()
    machines, places = circuit.automata(c.rules), {rule.id: i for i, rule in enumerate(c.rules)}
    ready = circuit.Compiled(c, machines, places)
    for _ in range(60):
        at = [circuit.START] * len(c.rules)
        for _ in range(6):
            step = {name: rng.random() < 0.5 if rng.random() < 0.95 else None for name in ("act", "p", "q")}
            fares = {r.id: circuit.faring(machines[r.id], "act", at[places[r.id]], step) for r in c.rules}
            assert ready.infer(at, step) == circuit.infer(c, fares)
            differ.add(ready.infer(at, step))
            at = [circuit.advanced(machines[r.id], at[places[r.id]], step) for r in c.rules]
    assert len(differ) > 8


@pytest.mark.parametrize("epsilon", [-0.4, 0.0, 0.2])
def test_no_case_is_undecided_that_every_completion_decides_alike(epsilon):
    rng, determined = random.Random(11), 0
    for _ in range(300):
        c, evidence, _, left = case(rng, hard=False)
        expected = worlds.bounds(c, evidence, {}, left)
        if expected is not None and (expected[0] >= epsilon + 1e-9 or expected[1] < epsilon - 1e-9):
            determined += 1
            assert circuit.safe(said(c, evidence, {}, left), epsilon) is (expected[0] >= epsilon)
    assert determined > 40


def ruled(*texts: str, laws: tuple[str, ...] = (), weights: tuple[float, ...] = ()) -> Circuit:
    rules = tuple(Rule(f"r{i}", "", parse(text), "permit_only_if") for i, text in enumerate(texts, 1))
    more = tuple(Rule(f"law{i}", "", parse(text), "oblige", "physical") for i, text in enumerate(laws, 1))
    return Circuit("act", rules, weights or (1.0,) * len(rules), more)


def test_a_physical_rule_settles_what_is_unknown():
    c = ruled("ALWAYS (act IMPLIES q)", laws=("ALWAYS (p IMPLIES q)",))
    assert said(c, {"p": True}, {}, {}).state == "indecisive"
    assert said(c, {"p": False}, {}, {}).state == "undecided"
    turned = ruled("ALWAYS (act IMPLIES NOT q)", laws=("ALWAYS (p IMPLIES q)",))
    assert said(turned, {"p": True}, {}, {}).violated == ("r1",)


def test_rules_that_cannot_both_be_kept_are_broken_together():
    c = ruled("ALWAYS (act IMPLIES q)", "ALWAYS (act IMPLIES NOT q)")
    found = said(c, {}, {}, {})
    assert found.low == found.high == circuit.relative(-1) and found.state == "decisive"
    assert found.violated == () and found.unknown == ("r1", "r2")


@pytest.mark.parametrize(
    "known", [{"p": True, "q": False}, {"p": True, "q": False, "s": True}, {"p": True, "s": False}]
)
def test_evidence_against_a_physical_rule_is_a_state_of_its_own_and_allows_nothing(known):
    c = ruled("ALWAYS (act IMPLIES s)", laws=("ALWAYS (p IMPLIES q)", "ALWAYS (q IMPLIES s)"))
    found = said(c, known, {}, {})
    assert (found.state, found.impossible, circuit.safe(found, -1.0)) == ("contradictory", True, None)


def test_what_another_action_s_hard_rule_forbids_is_no_evidence_that_it_is_not_so():
    """Were it one, two calls of a step would each be allowed for the other's sake, though nobody knows of `grown`."""
    c = ruled("ALWAYS (act IMPLIES grown)", "ALWAYS (other IMPLIES grown)", weights=(HARD, HARD))
    found = said(c, {"other": True}, {}, {})
    assert (found.low, found.high, found.state) == (-1, 0, "undecided")


def test_hard_rules_that_may_contradict_leave_everything_open_and_those_that_do_decide_nothing():
    c = ruled("ALWAYS (act IMPLIES p)", "ALWAYS (act OR p)", weights=(HARD, HARD))
    assert (said(c, {}, {}, {}).low, said(c, {}, {}, {}).high) == (-1, 1)
    for likely in ({}, {"p": 0.0}):
        known = {} if likely else {"p": False}
        assert said(c, known, likely, {}).state == "contradictory"
    half = said(c, {}, {"p": 0.5}, {})
    assert (half.low, half.high) == (-0.5, 0.5), "one half agrees, and in the other either world may be the one"


def test_soft_evidence_is_the_mean_of_both_and_bends_to_physical_rules():
    c = ruled("ALWAYS (act IMPLIES q)", weights=(2.0,))
    found = said(c, {}, {"q": 0.25}, {})
    assert found.low == found.high == pytest.approx(0.75 * circuit.relative(-2))
    lawful = ruled("ALWAYS (act IMPLIES q)", weights=(2.0,), laws=("ALWAYS (p IMPLIES q)",))
    given_p = said(lawful, {}, {"q": 0.25, "p": 0.5}, {})  # of q and p: FF .375, TF .125, TT .125; FT does not occur
    assert given_p.low == given_p.high == pytest.approx(0.375 / 0.625 * circuit.relative(-2))
    heavy = ruled("ALWAYS (act IMPLIES q)", "ALWAYS (other IMPLIES q)", weights=(1.0, 50.0))
    wished = said(heavy, {"other": True}, {"q": 0.25}, {})
    assert wished.low == pytest.approx(0.75 * circuit.relative(-1)), "a heavy rule does not make its facts likely"
    with pytest.raises(ValueError, match=r"0\.\.1"):
        said(c, {}, {"q": 1.5}, {})


def test_more_unknowns_than_fit_leave_bounds_that_are_not_too_narrow_and_say_so():
    names = [f"p{i}" for i in range(elimination.WIDTH + 4)]
    texts = [f"ALWAYS (act IMPLIES ({a} OR NOT {b}))" for i, a in enumerate(names) for b in names[:i]]
    found = said(ruled(*texts), {}, {}, {})
    assert found.wide and found.state == "undecided" and found.high == 0
    law = "ALWAYS (" + " OR ".join(names) + ")"
    assert said(ruled(*texts, laws=(law, *(t.replace("act IMPLIES ", "") for t in texts))), {}, {}, {}).low == -1
    excluding = tuple(f"ALWAYS NOT ({a} AND {b})" for i, a in enumerate(names) for b in names[:i])
    assert said(ruled("ALWAYS (act IMPLIES q)", laws=excluding), {"q": True}, {}, {}).state == "indecisive"
    assert said(ruled("ALWAYS (act IMPLIES p0)", laws=excluding), {}, {}, {}).wide
    some = f"ALWAYS ({' OR '.join(names[:5])})"
    assert said(ruled("ALWAYS (act IMPLIES q)", laws=(*excluding, some)), {"q": True}, {}, {}).low == -1
    chain = [f"ALWAYS (act IMPLIES ({a} OR NOT {b}))" for a, b in zip(names, names[1:], strict=False)]
    assert not said(ruled(*chain), {}, {}, {}).wide, "many unknowns that hang together by twos are few at a time"


PREDICATES = (
    Predicate("pay", "action", "", tools=("pay",)),
    Predicate("over18", "state", "", test=cel.parse("state.age >= 18")),
    Predicate("grown", "state", "", question="Is the customer grown up?"),
)
RULES = RuleSet(
    PREDICATES,
    (
        Rule("r", "", parse("ALWAYS (pay IMPLIES grown)"), "permit_only_if", quote="Only who is grown up pays."),
        Rule("law", "", parse("ALWAYS (over18 IMPLIES grown)"), "oblige", "physical"),
    ),
)


def test_a_shield_decides_by_its_physical_rules_and_comes_back_with_them():
    made = Shield(PREDICATES, circuit.build(RULES, {"pay": ("r", "law")}))
    assert (made.circuits["pay"].laws[0].id, made.circuits["pay"].weights) == ("law", (1.0,))
    back = shields.from_json(json.loads(json.dumps(shields.to_json(made))))
    assert back.circuits == made.circuits and back.evidence("pay") == made.evidence("pay")
    bare = Shield(PREDICATES, circuit.build(RULES, {"pay": ("r",)}))
    assert bare.evidence("pay") != made.evidence("pay") and bare.reads("pay") < made.reads("pay") == {"age", "grown"}
    for state, decision, without in (
        ({"age": 20}, "allow", "undecided"),
        ({"age": 7}, "undecided", "undecided"),
        ({"age": 7, "grown": False}, "deny", "deny"),
        ({"age": 20, "grown": False}, "undecided", "deny"),
    ):
        run = Trace("t", (Step((Call("pay"),), state),))
        assert [one.decide(run).decision for one in (back, bare)] == [decision, without], state
    clash = back.decide(Trace("t", (Step((Call("pay"),), {"age": 20, "grown": False}),)))
    assert "contradict" in clash.reason and not permitted(clash)


def test_soft_evidence_is_asked_for_by_name_and_decides_nothing():
    made = Shield(PREDICATES, circuit.build(RULES, {"pay": ("r", "law")}))
    run = Trace("t", (Step((Call("pay"),), {"age": 7}),))
    assert made.infer(run)["pay"].state == "undecided" == made.decide(run).decision
    assert made.infer(run, likely={"grown": 0.9})["pay"].low == pytest.approx(0.1 * circuit.relative(-1))


def test_an_unknown_that_a_physical_rule_ties_to_another_is_named():
    made = Shield(PREDICATES, circuit.build(RULES, {"pay": ("r", "law")}))
    assert made.decide(Trace("t", (Step((Call("pay"),), {}),))).missing == ("state.grown",)
    same = RuleSet(
        PREDICATES, (RULES.rules[0], Rule("law", "", parse("ALWAYS (over18 IFF grown)"), "oblige", "physical"))
    )
    tied = Shield(PREDICATES, circuit.build(same, {"pay": ("r", "law")}))
    assert set(tied.decide(Trace("t", (Step((Call("pay"),), {}),))).missing) == {"state.grown", "state.age"}


@pytest.mark.parametrize("many", [10, elimination.WIDTH])
def test_a_rule_about_objects_over_many_predicates_is_decided_where_they_are_known_and_never_allows_else(many):
    done = [f"done{i}" for i in range(many)]
    about = (cel.parse("call.id"),)
    acts = tuple(Predicate(name, "action", "", tools=(name,), objects=about) for name in ("pay", *done))
    told = tuple(Predicate(f"told{i}", "state", "") for i in range(many))
    body = " AND ".join([*(f"ONCE {name}(o)" for name in done), *(one.name for one in told)])
    rules = RuleSet((*acts, *told), (Rule("r", "", parse(f"ALWAYS (pay(o) IMPLIES ({body}))"), "permit_only_if"),))
    made = Shield(rules.predicates, circuit.build(rules, {"pay": ["r"]}))
    known, session, vague = {one.name: True for one in told}, made.session(), made.session()
    for one in (session, vague):
        one.state(known if one is session else {})
        for name in done:
            assert one.call(name, {"id": "a"}).decision == "allow"
    assert session.call("pay", {"id": "b"}).decision == "deny"
    assert session.call("pay", {"id": "a"}).decision == "allow"
    assert vague.call("pay", {"id": "a"}).decision == "undecided"


@pytest.mark.parametrize("about", ["", "(o)"])
def test_what_was_once_too_much_to_follow_is_decided_again_by_a_rule_about_each_step_alone(about):
    told = tuple(Predicate(f"told{i}", "state", "") for i in range(elimination.WIDTH + 2))
    objects = (cel.parse("call.id"),) if about else ()
    pay = Predicate("pay", "action", "", tools=("pay",), objects=objects)
    body = " AND ".join(one.name for one in told)
    rules = RuleSet((pay, *told), (Rule("r", "", parse(f"ALWAYS (pay{about} IMPLIES ({body}))"), "permit_only_if"),))
    session = Shield(rules.predicates, circuit.build(rules, {"pay": ["r"]})).session()
    known = {one.name: True for one in told}
    for state, decision in (({}, "undecided"), (known, "allow"), (known | {"told0": False}, "deny")):
        session.state(state)
        assert session.call("pay", {"id": "a"}).decision == decision
        session.result("done")


def test_a_physical_rule_over_too_many_unknowns_lets_nothing_be_allowed() -> None:
    """It may be against what is known, which nobody can tell."""
    many = " OR ".join(f"q{i}" for i in range(14))
    of = ruled("ALWAYS (act IMPLIES fine)", laws=(f"ALWAYS (known AND ({many}))",))
    dark = said(of, {"known": False, "fine": True}, {}, {})
    assert circuit.safe(dark) is not True
    few = ruled("ALWAYS (act IMPLIES fine)", laws=("ALWAYS (known AND (q0 OR q1))",))
    assert said(few, {"known": False, "fine": True}, {}, {}).state == "contradictory"
    assert circuit.safe(said(few, {"known": True, "fine": True}, {}, {})) is True
