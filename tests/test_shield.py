"""The shield decides as its rules say, and never lets an unknown pass."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.told import valuation

from wb.domain import trace as guard
from wb.domain.trace import Call, Step, Trace
from wb.logic import cel, semantics, syntax
from wb.rules.rule import Predicate, Rule, RuleSet
from wb.shield import circuit, cluster
from wb.shield import shield as shields
from wb.shield.shield import Shield

PREDICATES = (
    Predicate("pay", "action", "", tools=("pay",)),
    Predicate("post", "action", "", tools=("post",)),
    Predicate("ask", "action", "", tools=("ask",)),
    Predicate("grown", "state", "", test=cel.parse("state.age >= 18")),
    Predicate("agreed", "state", ""),
)
TEXTS = (
    "ALWAYS (pay IMPLIES grown)",
    "ALWAYS (pay IMPLIES ONCE ask)",
    "ALWAYS (post IMPLIES agreed)",
    "ALWAYS (ask IMPLIES EVENTUALLY post)",
)
RULES = RuleSet(
    PREDICATES,
    tuple(Rule(f"r{i}", t, syntax.parse(t), "permit_only_if", quote=f"sentence {i}") for i, t in enumerate(TEXTS, 1)),
)
GROUPS = (("grown",), ("agreed",))


def shield(epsilon: float = 0.0, **weights: float) -> Shield:
    by_action = cluster.by_action(RULES, GROUPS)
    return Shield(PREDICATES, circuit.build(RULES, by_action, {a: weights for a in by_action}), epsilon)


def trace(*steps: tuple[str, dict]) -> Trace:
    return Trace("t", tuple(Step(tuple(Call(t) for t in tools.split()), state) for tools, state in steps))


@pytest.mark.parametrize(
    ("steps", "decision", "violated"),
    [
        ([("ask", {}), ("pay", {"age": 18})], "allow", ()),
        ([("ask", {}), ("pay", {"age": 17})], "deny", ("r1",)),
        ([("", {}), ("pay", {"age": 18})], "deny", ("r2",)),
        ([("pay", {"age": 3})], "deny", ("r1", "r2")),
        ([("ask", {}), ("pay", {})], "undecided", ()),
        ([("pay", {})], "deny", ("r2",)),
        ([("post", {"agreed": True})], "allow", ()),
        ([("post", {"agreed": False})], "deny", ("r3",)),
        ([("post", {"agreed": "yes"})], "undecided", ()),
        ([("ask pay", {"age": 18})], "allow", ()),
        ([("unheard_of", {})], "deny", ()),
        ([("Pay", {"age": 18})], "deny", ()),
        ([("", {})], "allow", ()),
    ],
)
def test_the_decision_and_its_reasons(steps, decision, violated):
    verdict = shield().decide(trace(*steps))
    assert (verdict.decision, verdict.violated) == (decision, violated)
    assert guard.permitted(verdict) == (decision == "allow")


def test_a_denial_quotes_the_sentence_and_says_the_margin():
    verdict = shield().decide(trace(("ask", {}), ("pay", {"age": 17})))
    assert (
        "sentence 1" in verdict.reason
        and f"{-math.tanh(0.5):.3f}" in verdict.reason
        and "sentence 2" not in verdict.reason
    )


def test_an_undecided_verdict_names_what_is_not_known():
    assert "sentence 1" in shield().decide(trace(("ask", {}), ("pay", {}))).reason


def test_a_lower_epsilon_tolerates_a_light_rule_and_no_heavy_one():
    young = trace(("ask", {}), ("pay", {"age": 17}))
    assert shield(-0.2, r1=0.1).decide(young).decision == "allow"
    assert shield(-0.2, r1=0.9).decide(young).decision == "deny"
    assert shield(0.0, r1=0.1).decide(young).decision == "deny"


def test_that_no_rule_is_decisive_is_said():
    assert "no rule is decisive" in shield().decide(trace(("post", {"agreed": True}))).reason


def test_several_actions_at_once_need_every_circuit_s_consent():
    assert shield().decide(trace(("ask pay post", {"age": 18, "agreed": False}))).violated == ("r3",)


def test_rule_verdicts_agree_with_the_definition_on_the_whole_trace():
    run = trace(("", {"agreed": False, "age": 30}), ("pay", {"age": 17, "agreed": True}))
    states = [frozenset(n for n, v in valuation(PREDICATES, step).items() if v) for step in run.steps]
    for name, kept in shield().verdicts(run).items():
        formula = next(r.formula for r in RULES.rules if r.id == name)
        assert kept == semantics.holds(formula, states)
    assert shield().verdicts(trace(("ask", {}), ("pay", {})))["r1"] is None


def test_an_epsilon_out_of_range_is_refused():
    with pytest.raises(ValueError, match="epsilon"):
        shield(1.5)


def test_a_shield_comes_back_from_its_json_the_same():
    one = shield(-0.2, r1=0.3, r2=circuit.HARD)
    back = shields.from_json(json.loads(json.dumps(shields.to_json(one), allow_nan=False)))
    assert (back.circuits, back.epsilon) == (one.circuits, one.epsilon)
    for steps in ([("pay", {"age": 17})], [("ask", {}), ("pay", {})], [("post", {"agreed": False})]):
        assert back.decide(trace(*steps)) == one.decide(trace(*steps))


@pytest.mark.parametrize(
    ("change", "message"), [({"epsilon": None}, "missing"), ({"circuits": {"pay": {"r9": 1.0}}}, "r9")]
)
def test_a_shield_with_a_part_missing_is_refused(change, message):
    value = {k: v for k, v in (shields.to_json(shield()) | change).items() if v is not None}
    with pytest.raises(ValueError, match=message):
        shields.from_json(value)


@pytest.mark.parametrize("action", ["pay", "post", "ask"])
def test_a_file_that_leaves_a_rule_out_of_a_circuit_is_no_shield(action):
    value = shields.to_json(shield())
    for left_out in value["circuits"][action]:
        row = {name: weight for name, weight in value["circuits"][action].items() if name != left_out}
        with pytest.raises(ValueError, match=f"bear on {action} .* leaves out .*{left_out}"):
            shields.from_json(value | {"circuits": value["circuits"] | {action: row}})
    rest = {name: row for name, row in value["circuits"].items() if name != action}
    with pytest.raises(ValueError, match=f"bear on {action}"):
        shields.from_json(value | {"circuits": rest})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"circuits": {"age": {"r1": 1.0}}}, "a circuit of an act"),
        ({"laws": {"pay": ["r1"]}}, "of physical rules"),
        ({"laws": {"never": []}}, "a circuit of an act"),
        ({"channel": {"grown": [0.5]}}, "three probabilities"),
        ({"channel": {"grown": [0.5, 0.5, 0.5, 0.5]}}, "three probabilities"),
        ({"channel": {"pay": [1.0, 0.0, 0.5]}}, "that the state tells .*pay"),
    ],
)
def test_a_file_whose_circuits_or_channel_no_rules_give_is_no_shield(change, message):
    value = shields.to_json(shield())
    with pytest.raises(ValueError, match=message):
        shields.from_json(value | change)


@given(st.randoms(use_true_random=False))
def test_what_clusters_put_into_circuits_is_a_shield_again_and_no_less_is(rnd):
    """Whatever the clusters are: any partition, closed under co-occurrence."""
    facts, acts = [f"f{i}" for i in range(6)], ["pay", "post", "ask"]
    said = {i: (rnd.sample(acts, rnd.randint(1, 2)), rnd.sample(facts, rnd.randint(0, 2))) for i in range(6)}
    rules = [
        Rule(
            f"r{i}",
            "",
            syntax.parse(f"ALWAYS (({' AND '.join(does)}) IMPLIES ({' OR '.join([*so, does[0]])}))"),
            "forbid",
        )
        for i, (does, so) in said.items()
    ]
    for i in range(rnd.randint(0, 2)):
        formula = syntax.parse("ALWAYS ({} IMPLIES {})".format(*rnd.sample(facts, 2)))
        rules.append(Rule(f"law{i}", "", formula, "oblige", "physical"))
    predicates = [Predicate(f, "state", "") for f in facts] + [Predicate(a, "action", "", tools=(a,)) for a in acts]
    ruleset = RuleSet(tuple(predicates), tuple(rules))
    homes = {name: rnd.randint(0, 4) for name in facts}
    cut = [[name for name in facts if homes[name] == home] for home in set(homes.values())]
    groups = cluster.close(cut, [tuple(sorted(pair)) for pair in cluster.cooccurring(ruleset)])
    one = Shield(ruleset.predicates, circuit.build(ruleset, cluster.by_action(ruleset, groups)))
    value = json.loads(json.dumps(shields.to_json(one)))
    assert shields.from_json(value).circuits == one.circuits
    action = rnd.choice(list(value["circuits"]))
    lost = rnd.choice(list(value["circuits"][action]))
    del value["circuits"][action][lost]
    named = {
        name
        for row in (*value["circuits"][action], *value["laws"].get(action, ()))
        for name in one.rules[row].predicates
    }
    if named.isdisjoint(set(one.rules[lost].predicates) - set(acts)) and action not in one.rules[lost].predicates:
        assert shields.from_json(value).circuits.keys() == one.circuits.keys(), "other clusters put less into it"
    else:
        with pytest.raises(ValueError, match=f"leaves out .*{lost}"):
            shields.from_json(value)


def test_what_binds_an_act_to_a_fact_is_no_physical_rule():
    value = json.loads(json.dumps(shields.to_json(shield())))
    row = next(row for row in value["rules"]["rules"] if row["id"] == "r1")
    row["type"] = "physical"
    with pytest.raises(ValueError, match="of action rules"):
        shields.from_json(value)
    circuits = {name: {i: w for i, w in row.items() if i != "r1"} for name, row in value["circuits"].items()}
    laws = {name: ["r1"] for name, row in value["circuits"].items() if "r1" in row}
    with pytest.raises(ValueError, match="bind facts or acts to each other"):
        shields.from_json(value | {"circuits": circuits, "laws": laws})


def test_what_a_shield_remembers_makes_it_no_other_one() -> None:
    used, fresh = shield(), shield()
    session = used.session()
    assert session.run == "session" and session.call("pay").decision == "deny"
    assert used.evidence("pay") and used == fresh


RESTATED = {  # rules whose breach does not show in the action's own predicate alone, and what is said of it
    "ALWAYS ((pay OR moves) IMPLIES grown)": "deny",
    "ALWAYS (moves IMPLIES grown)": "deny",
    "ALWAYS (large IMPLIES grown)": "undecided",
    "ALWAYS ((pay AND large) IMPLIES grown)": "deny",
}


@pytest.mark.parametrize(("text", "decision"), RESTATED.items())
@pytest.mark.parametrize("weight", [1.0, circuit.HARD])
def test_leaving_an_action_leaves_all_that_its_call_does(text: str, decision: str, weight: float) -> None:
    more = (
        Predicate("moves", "action", "", tools=("pay", "post")),
        Predicate("large", "state", "", tools=("pay",), test=cel.parse("call.cents > 100")),
    )
    rule = Rule("r", "", syntax.parse(text), "permit_only_if")
    predicates = tuple(p for p in (*PREDICATES, *more) if p.name in ("pay", *rule.predicates))
    rules = RuleSet(predicates, (rule,))
    circuits = circuit.build(rules, {"pay": ["r"]}, {"pay": {"r": weight}})
    one = Shield(predicates, circuits)
    for age, wanted in ((17, decision), (18, "allow")):
        session = one.session()
        session.state({"age": age})
        assert session.call("pay", {"cents": 1000}).decision == wanted
    session = one.session()
    session.state({"age": 17})
    assert session.call("pay", {"cents": 1}).decision == ("allow" if "large" in text else decision)


@pytest.mark.parametrize("text", ["ALWAYS (pay IMPLIES ONCE ask)", "ALWAYS (pay(o) IMPLIES ONCE ask(o))"])
def test_what_was_broken_once_is_not_free_from_then_on(text: str) -> None:
    """A call that was denied ran all the same: the next breach is one, too."""
    about = (cel.parse("call.id"),) if "(o)" in text else ()
    acts = tuple(Predicate(name, "action", "", tools=(name,), objects=about) for name in ("pay", "ask"))
    rules = RuleSet(acts, (Rule("r", "", syntax.parse(text), "permit_only_if"),))
    one = Shield(acts, circuit.build(rules, {"pay": ["r"]})).session()
    for _ in range(3):
        assert one.call("pay", {"id": "a"}).violated == ("r",)
        one.result("it ran all the same")
    assert one.call("ask", {"id": "a"}).decision == "allow"
    assert one.call("pay", {"id": "a"}).decision == "allow"
    assert one.call("pay", {"id": "b"}).decision == ("deny" if about else "allow")


def test_a_call_may_change_what_is_told_of_it_and_of_any_tool():
    """Whatever reads arguments and is of no tool may be told by any call; what reads the state alone by none."""
    test = {"any": "call.x > 1", "state": "state.x > 1"}
    kinds = {name: Predicate(name, "state", "", test=cel.parse(text)) for name, text in test.items()}
    of = Predicate("of", "state", "", test=cel.parse("call.x > 1"), tools=("pay",))
    act = Predicate("act", "action", "", tools=("pay",))
    found = {one.name: [shields._made(one, tool) for tool in ("pay", "see")] for one in (*kinds.values(), of, act)}
    assert found == {"any": [True, True], "state": [False, False], "of": [True, False], "act": [True, False]}
