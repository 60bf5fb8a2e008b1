"""Every proposal that is made has one that must be refused; what is accepted means what it meant."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wb.logic import cel, semantics, syntax
from wb.logic.formula import Always, And, Atom, Implies, Not, Or, conjunction
from wb.offline import engine
from wb.rules import certify, physical
from wb.rules.rule import Predicate, Rule, RuleSet

PREDICATES = (
    Predicate("pay", "action", "pay", tools=("pay",)),
    Predicate("settle", "action", "settle a bill", tools=("pay",)),
    Predicate("any_money", "action", "move money", tools=("pay", "transfer")),
    Predicate("asked", "state", "the user was asked"),
    Predicate("agreed", "state", "the user agreed"),
    Predicate("grown", "state", "grown up", ("adult",), test=cel.parse("state.age >= 18")),
    Predicate("of_age", "state", "of age", ("major",), test=cel.parse("state.age >= 18")),
    Predicate("minor", "state", "a minor", test=cel.parse("state.age < 18")),
    Predicate("teen", "state", "15 or more", test=cel.parse("state.age >= 15")),
)


def rule(text: str, name: str = "r1", modality: str = "permit_only_if") -> Rule:
    return Rule(name, text, syntax.parse(text), modality, clause="c1", quote=f"verbatim {name}")


def ruleset(*rules: Rule) -> RuleSet:
    return RuleSet(PREDICATES, rules)


KNOWN = physical.rules(PREDICATES)
BOTH = rule("ALWAYS (pay IMPLIES (asked AND agreed))")


def test_a_rule_is_split_where_its_parts_mean_what_it_means():
    after, change = certify.split(
        ruleset(BOTH), BOTH, [("a", "ALWAYS (pay IMPLIES asked)"), ("b", "ALWAYS (pay IMPLIES agreed)")], KNOWN
    )
    assert change.accepted and change.after == ("r1_1", "r1_2") and "equivalent" in change.certificate
    assert [(r.parents, r.quote, r.clause, r.modality) for r in after.rules] == [
        (("r1",), "verbatim r1", "c1", "permit_only_if")
    ] * 2


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        (["ALWAYS (pay IMPLIES asked)"], "not equivalent: pay, asked|asked, pay"),
        (["ALWAYS (pay IMPLIES asked)", "ALWAYS (pay IMPLIES (NOT agreed))"], "not equivalent"),
        (["ALWAYS ((asked AND agreed) IMPLIES pay)"], "not equivalent"),
        (["ALWAYS (NOT pay)"], "not equivalent"),
        (["ALWAYS (pay IMPLIES asked)", "ALWAYS (pay IMPLIES unheard_of)"], "unheard_of"),
        (["ALWAYS (pay IMPLIES"], "no formula"),
        (["ALWAYS (pay IMPLIES (asked AND agreed))", "ALWAYS (asked OR NOT asked)"], "action predicate"),
        ([], "at least one part"),
    ],
)
def test_a_split_that_changes_the_meaning_is_refused(parts, reason):
    before = ruleset(BOTH)
    after, change = certify.split(before, BOTH, [("", p) for p in parts], KNOWN)
    assert after is before and not change.accepted
    assert any(r in change.certificate for r in reason.split("|"))


def test_a_split_may_use_what_the_fields_imply():
    strict = rule("ALWAYS (pay IMPLIES (grown AND teen))")
    assert certify.split(ruleset(strict), strict, [("", "ALWAYS (pay IMPLIES grown)")], KNOWN).change.accepted
    assert not certify.split(ruleset(strict), strict, [("", "ALWAYS (pay IMPLIES grown)")], ()).change.accepted


def test_new_ids_may_not_take_another_rule_s():
    taken = rule("ALWAYS (pay IMPLIES asked)", "r1_1")
    parts = [("a", "ALWAYS (pay IMPLIES asked)"), ("b", "ALWAYS (pay IMPLIES agreed)")]
    assert "taken" in certify.split(ruleset(BOTH, taken), BOTH, parts, KNOWN).change.certificate


def test_a_predicate_is_renamed_everywhere_and_stays_bound():
    before = ruleset(rule("ALWAYS (pay IMPLIES grown)"))
    after, change = certify.clarify(before, "grown", "at_least_eighteen", "the age is at least 18")
    assert change.accepted and after.rules[0].predicates == ("pay", "at_least_eighteen")
    assert after.predicate("at_least_eighteen").test == before.predicate("grown").test


@pytest.mark.parametrize(
    ("name", "description", "loses"),
    [
        ("grown", "anything at all", False),
        ("asked", "pay: the user was asked", False),
        ("asked", "somebody put the question", True),
    ],
)
def test_new_words_for_what_nothing_binds_are_a_recorded_loss(name, description, loses):
    change = certify.clarify(ruleset(BOTH), name, name, description).change
    assert change.accepted and bool(change.loss) == loses


@pytest.mark.parametrize(
    ("name", "new_name", "description", "reason"),
    [
        ("asked", "asked", "the user wasn't asked", "round"),
        ("asked", "asked", "nobody asked without need", "round"),
        ("grown", "teen", "x", "taken"),
        ("grown", "Grown Up", "x", "does not match"),
        ("grown", "not_grown", "x", "round"),
        ("asked", "unasked", "x", "round"),
        ("grown", "grown", "  ", "description"),
    ],
)
def test_a_wording_that_takes_a_name_or_turns_one_round_is_refused(name, new_name, description, reason):
    before = ruleset(rule("ALWAYS (pay IMPLIES grown)"))
    after, change = certify.clarify(before, name, new_name, description)
    assert after is before and not change.accepted and reason in change.certificate


@pytest.mark.parametrize(
    ("keep", "drop", "negated"), [("grown", "of_age", False), ("grown", "minor", True), ("pay", "settle", False)]
)
def test_predicates_bound_to_the_same_are_merged(keep, drop, negated):
    before = ruleset(rule("ALWAYS (any_money IMPLIES NOT minor)"), rule("ALWAYS (settle IMPLIES of_age)", "r2"))
    after, change = certify.merge(before, keep, drop, negated, KNOWN)
    assert change.accepted and drop not in {p.name for p in after.predicates}
    assert (
        after.predicate(keep).test == before.predicate(keep).test
        and after.predicate(keep).tools == before.predicate(keep).tools
    )
    assert not any("NOT (NOT" in syntax.render(r.formula) for r in after.rules)


@pytest.mark.parametrize(
    ("keep", "drop", "negated"),
    [
        ("grown", "teen", False),
        ("grown", "of_age", True),
        ("grown", "minor", False),
        ("asked", "agreed", False),
        ("pay", "any_money", False),
        ("pay", "grown", False),
        ("pay", "pay", False),
    ],
)
def test_predicates_that_only_sound_alike_are_not_merged(keep, drop, negated):
    before = ruleset(BOTH)
    after, change = certify.merge(before, keep, drop, negated, KNOWN)
    assert after is before and not change.accepted and change.certificate


def test_the_merged_predicate_keeps_both_predicates_words():
    after, _ = certify.merge(ruleset(BOTH), "grown", "of_age", False, KNOWN)
    assert after.predicate("grown").keywords == ("adult", "major")


def test_an_implied_rule_is_absorbed_by_the_one_that_implies_it():
    strong, weak = rule("ALWAYS (any_money IMPLIES grown)"), rule("ALWAYS (pay IMPLIES teen)", "r2")
    after, change = certify.prune(ruleset(strong, weak), weak, [strong], KNOWN)
    assert change.accepted and [(r.id, r.parents) for r in after.rules] == [("r1", ("r2",))]
    assert after.rules[0].formula == strong.formula


@pytest.mark.parametrize(
    ("weak", "strong"),
    [
        ("ALWAYS (any_money IMPLIES grown)", "ALWAYS (pay IMPLIES teen)"),
        ("ALWAYS (pay IMPLIES grown)", "ALWAYS (pay IMPLIES teen)"),
        ("ALWAYS (pay IMPLIES asked)", "ALWAYS (pay IMPLIES NOT asked)"),
        ("ALWAYS (pay IMPLIES asked)", "ALWAYS (asked IMPLIES pay)"),
        ("ALWAYS (pay IMPLIES ONCE asked)", "ALWAYS (pay IMPLIES ONCE agreed)"),
    ],
)
def test_a_rule_that_adds_something_is_not_dropped(weak, strong):
    one, other = rule(weak), rule(strong, "r2")
    before = ruleset(one, other)
    after, change = certify.prune(before, one, [other], KNOWN)
    assert after is before and not change.accepted and "not implied" in change.certificate


def test_a_rule_does_not_support_itself():
    assert not certify.prune(ruleset(BOTH), BOTH, [BOTH], KNOWN).change.accepted


def test_two_rules_together_may_absorb_a_third():
    a, b = rule("ALWAYS (pay IMPLIES asked)", "a"), rule("ALWAYS (pay IMPLIES agreed)", "b")
    after, change = certify.prune(ruleset(BOTH, a, b), BOTH, [a, b], KNOWN)
    assert change.accepted and [r.id for r in after.rules] == ["a", "b"]


names = st.sampled_from(["pay", "asked", "agreed"])
bodies = st.recursive(
    names.map(Atom),
    lambda x: st.one_of(st.builds(Not, x), st.builds(And, x, x), st.builds(Or, x, x), st.builds(Implies, x, x)),
    max_leaves=6,
)
WORLDS = [
    frozenset(n for n, v in zip(("pay", "asked", "agreed"), vs, strict=True) if v)
    for vs in itertools.product((0, 1), repeat=3)
]


@settings(max_examples=120)
@given(body=bodies, outer=bodies)
def test_the_offline_parts_of_a_rule_hold_exactly_where_it_does(body, outer):
    formula = Always(Implies(outer, body))
    whole = conjunction(engine.parts(formula))
    traces = [[w] for w in WORLDS] + [[a, b] for a, b in itertools.product(WORLDS, repeat=2)]
    assert all(semantics.holds(whole, t) == semantics.holds(formula, t) for t in traces)


@pytest.mark.parametrize(
    ("formula", "parts"),
    [
        ("ALWAYS (pay IMPLIES (asked AND agreed))", ["ALWAYS (pay IMPLIES asked)", "ALWAYS (pay IMPLIES agreed)"]),
        (
            "ALWAYS (pay IMPLIES NOT (asked OR minor))",
            ["ALWAYS (pay IMPLIES NOT asked)", "ALWAYS (pay IMPLIES NOT minor)"],
        ),
        ("ALWAYS ((pay OR settle) IMPLIES asked)", ["ALWAYS ((pay OR settle) IMPLIES asked)"]),
        ("ALWAYS (pay IMPLIES (asked OR agreed))", ["ALWAYS (pay IMPLIES (asked OR agreed))"]),
        ("ALWAYS (pay IMPLIES EVENTUALLY (asked AND agreed))", ["ALWAYS (pay IMPLIES EVENTUALLY (asked AND agreed))"]),
        ("(ALWAYS NOT pay) AND (ALWAYS (settle IMPLIES asked))", ["ALWAYS NOT pay", "ALWAYS (settle IMPLIES asked)"]),
    ],
)
def test_a_rule_comes_apart_only_where_it_states_two_things(formula, parts):
    assert engine.parts(syntax.parse(formula)) == tuple(map(syntax.parse, parts))


NEVER = Rule("never", "Never pay.", syntax.parse("ALWAYS NOT pay"), "forbid", quote="Never pay.")


@pytest.mark.parametrize(
    "weak",
    [
        "ALWAYS (pay IMPLIES asked)",
        "ALWAYS ((pay AND asked) IMPLIES ONCE agreed)",
        "(NOT pay) WEAK_UNTIL asked",
        "ALWAYS NOT (pay AND asked)",
    ],
)
def test_a_rule_that_another_never_lets_fire_is_a_conflict_and_stays(weak):
    rule = Rule("weak", "", syntax.parse(weak), "permit_only_if")
    before = ruleset(NEVER, rule)
    after, change = certify.prune(before, rule, [NEVER], KNOWN)
    assert after == before and not change.accepted and "can never fire while never" in change.certificate


def test_a_rule_that_a_fact_is_said_to_imply_stays():
    """A model's "physical" rule is no guard's: what it implies would be enforced by nobody."""
    said = replace(rule("ALWAYS (pay IMPLIES (asked AND agreed))", "said"), type="physical")
    before = ruleset(BOTH, said)
    after, change = certify.prune(before, BOTH, [said], KNOWN)
    assert not change.accepted and after == before
    twin = replace(said, type="action")
    assert certify.prune(ruleset(BOTH, twin), BOTH, [twin], KNOWN).change.accepted


def test_a_prohibition_said_twice_is_pruned():
    again = Rule("again", "", syntax.parse("ALWAYS NOT pay"), "forbid")
    after, change = certify.prune(ruleset(NEVER, again), again, [NEVER], KNOWN)
    assert change.accepted and [r.id for r in after.rules] == ["never"]


def test_predicates_of_which_either_is_about_objects_are_not_merged():
    plain = Predicate("plain", "action", "", tools=("t",))
    about = Predicate("about", "action", "", tools=("t",), objects=(cel.parse("call.id"),))
    for keep, drop in (("plain", "about"), ("about", "plain")):
        after, change = certify.merge(RuleSet((plain, about)), keep, drop, False, (), "alike")
        assert not change.accepted and change.certificate == "predicates without objects were required"
        assert after == RuleSet((plain, about))
