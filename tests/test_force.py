"""Hard rules, and soft ones of sentences that advise: what outweighs what, and that nothing of it is silent."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wb.domain.trace import Call, Step, Trace
from wb.rules import certify, rulefile
from wb.rules.rulefile import RuleFileError
from wb.shield import circuit
from wb.shield import shield as shields
from wb.shield.circuit import FIRST, HARD
from wb.shield.shield import Shield

TEXT = """
predicates:
  send: {kind: action, tools: [send]}
  short: {kind: state, test: state.short}
  weekday: {kind: state, test: state.weekday}
  cleared: {kind: state, test: state.cleared}
rules:
  - {id: short, formula: ALWAYS (send IMPLIES short), force: soft, quote: Documents should be short.}
  - {id: weekday, formula: ALWAYS (send IMPLIES weekday), force: soft, quote: "As a rule, send on weekdays."}
  - {id: cleared, formula: ALWAYS (send IMPLIES cleared), force: FORCE, quote: What is secret must be cleared.}
"""
FACTS = ("short", "weekday", "cleared")


def shield(force: str = "learned", epsilon: float = -0.4, **weights: float) -> Shield:
    made = rulefile.loads(TEXT.replace("FORCE", force))
    built = circuit.build(made, {"send": FACTS}, {"send": weights})
    return Shield(made.predicates, built, epsilon)


def sent(**facts: bool) -> Trace:
    return Trace("t", (Step((Call("send"),), dict.fromkeys(FACTS, True) | facts),))


@pytest.mark.parametrize(
    ("facts", "decision"),
    [
        ({}, "allow"),
        ({"short": False}, "allow"),
        ({"weekday": False}, "allow"),
        ({"short": False, "weekday": False}, "deny"),
        ({"cleared": False}, "deny"),
        ({"cleared": False, "short": False}, "deny"),
    ],
)
def test_advice_alone_is_outweighed_and_two_pieces_of_it_are_not(facts, decision):
    verdict = shield().decide(sent(**facts))
    assert verdict.decision == decision
    if decision == "deny":
        assert verdict.violated == tuple(name for name in FACTS if name in facts)


def test_what_advice_alone_speaks_against_is_reported():
    verdict = shield().decide(sent(short=False))
    assert "against it: “Documents should be short.” (short)" in verdict.reason and not verdict.violated
    assert "against it" not in shield().decide(sent()).reason


def test_an_unknown_that_advice_alone_asks_for_holds_nothing_up_and_another_one_does():
    missing = Trace("t", (Step((Call("send"),), {"weekday": True, "cleared": True}),))
    assert shield().decide(missing).decision == "allow"
    missing = Trace("t", (Step((Call("send"),), {"weekday": True, "short": True}),))
    assert shield().decide(missing).decision == "undecided"


@given(st.floats(0, 5), st.floats(0, 5))
def test_a_soft_rule_denies_alone_whatever_was_learned_of_it_no_call(a, b):
    made = shield("learned", -0.4, short=a, weekday=b)
    assert max(made.circuits["send"].weights[:2]) <= FIRST["soft"]
    for one in ({"short": False}, {"weekday": False}):
        verdict = made.decide(sent(**one))
        assert verdict.decision == "allow" and (a + b < 1e-9 or "against it" in verdict.reason)


@given(st.floats(0, 5), st.floats(0, 5), st.floats(0, 5), st.floats(-1, 1, exclude_min=True))
def test_no_weights_and_no_epsilon_outweigh_a_hard_rule(a, b, c, epsilon):
    made = shield("hard", epsilon, short=a, weekday=b, cleared=c)
    assert made.circuits["send"].weights[2] == HARD
    assert made.decide(sent(cleared=False)).decision == "deny"


def test_a_force_is_on_record_and_the_default_leaves_files_as_they_were():
    made = shield("hard")
    value = json.loads(json.dumps(shields.to_json(made)))
    value["circuits"]["send"]["cleared"] = 0.01  # whoever lightens a hard rule in a file lightens nothing
    again = shields.from_json(value)
    assert again.circuits["send"].weights == (FIRST["soft"], FIRST["soft"], HARD)
    ruleset = rulefile.loads(TEXT.replace("FORCE", "learned"))
    assert rulefile.loads(rulefile.dumps(ruleset)) == ruleset == rulefile.from_json(rulefile.to_json(ruleset))
    assert [row.get("force") for row in rulefile.to_json(ruleset)["rules"]] == ["soft", "soft", None]
    with pytest.raises(RuleFileError, match="one of 'hard', 'learned', 'soft' was required"):
        rulefile.loads(TEXT.replace("FORCE", "weak"))


@pytest.mark.parametrize(
    ("weak", "strong", "gone"),
    [("soft", "hard", True), ("soft", "soft", True), ("learned", "soft", False), ("hard", "learned", False)],
)
def test_refinement_drops_no_rule_for_one_that_can_be_outweighed(weak, strong, gone):
    made = rulefile.loads(TEXT.replace("FORCE", strong).replace("IMPLIES cleared", "IMPLIES (cleared AND weekday)"))
    rules = {rule.id: replace(rule, force=weak) if rule.id == "weekday" else rule for rule in made.rules}
    made = replace(made, rules=tuple(rules.values()))
    found = certify.prune(made, rules["weekday"], [rules["cleared"]], ())
    assert found.change.accepted is gone
    assert gone or "cleared can be outweighed where weekday cannot" in found.change.certificate
