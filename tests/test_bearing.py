"""Which calls a rule bears on: also those that break it through what has happened so far, a call that is made now being
among it; and what is decided where the calls of one step say another thing one after the other than together."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from oracles import same_object
from test_same_object import BINARY, PREDICATES, TOOLS, UNARY, generated, random_formula, random_steps, render

from wb.domain.tools import Field, Tool, Toolbox
from wb.domain.trace import Call, Step
from wb.guards import contract, synthesis
from wb.guards.runtime import CallGuard, Guarded
from wb.logic import cel, decide, facts
from wb.logic import formula as F
from wb.logic.syntax import parse
from wb.rules import decisions as rule_decisions
from wb.rules import residual
from wb.rules.rule import Predicate, Rule, RuleSet

BY_HAND = rule_decisions.clause_id("0" * 12)
ORDER = facts.Path(("call", "order"))
ACTS = {"cancel": "cancel", "charge": "charge", "get": "get"}
TESTS = {  # predicates told by a test: of arguments of `charge`, of the state at a call of `get`, of the state alone
    "card": ("charge", 'call.how == "card"'),
    "voucher": ("charge", 'call.how == "voucher"'),
    "approved": ("get", 'state.level == "manager" && call.order != ""'),
    "blocked": ("", "state.blocked"),
}
BOX = Toolbox(
    (
        Tool("cancel", arguments=(Field("order", "string"),)),
        Tool("charge", arguments=(Field("order", "string"), Field("how", "string"))),
        Tool("get", arguments=(Field("order", "string"),)),
    ),
    (Field("level", "string"), Field("blocked", "boolean"), Field("now", "string")),
)


def ruleset(text: str) -> RuleSet:
    made = Rule("r", "", parse(text), "forbid", clause=BY_HAND)
    acts = [Predicate(name, "action", "", tools=(tool,), objects=(ORDER,)) for name, tool in ACTS.items()]
    tests = [
        Predicate(
            name, "state", "", tools=(tool,) if tool else (), test=cel.parse(test), objects=(ORDER,) if tool else ()
        )
        for name, (tool, test) in TESTS.items()
    ]
    return RuleSet(tuple(p for p in (*acts, *tests) if p.name in made.predicates), (made,))


def guard(rules: RuleSet) -> CallGuard:
    """A guard of the code that is written from the rules alone."""
    made = [contract.contract(tool, rules, BOX.state) for tool in BOX.tools]
    sources = [contract.assemble(synthesis.alone(one), one) for one in made]
    guards = tuple(Guarded(one, source, "tested") for one, source in zip(made, sources, strict=True))
    return CallGuard("g", rules, guards, frozenset({"tested"}), BOX)


def decisions(rules: RuleSet, story: str) -> list[tuple[str, str]]:
    """What was decided and what the story says, call by call: `|` begins a step, `level=x` tells the state."""
    session, state, found = guard(rules).session(), {"level": "clerk", "blocked": False}, []
    session.state(state)
    for number, step in enumerate(story.split(" | ")):
        for said in step.split(", "):
            if "=" in said:
                name, _, value = said.partition("=")
                state |= {name: value == "yes" if name == "blocked" else value}
                session.state(state)
                continue
            tool, order, *how, wanted = said.split()
            arguments = {"order": order} | ({"how": (how or ["card"])[0]} if tool == "charge" else {})
            found.append((session.call(tool, arguments, number).decision, wanted))
    return found


THROUGH_THE_PAST = [
    # a rule, decisions of calls by it, and the tools that it bears on
    ("ALWAYS COUNT[<= 1] charge(o)", "charge 1 allow | charge 1 deny | charge 2 allow", "charge"),
    (
        "ALWAYS ((cancel(o) IMPLIES ONCE get(o)) AND COUNT[<= 1] charge(o))",
        "charge 1 allow | charge 1 deny | cancel 1 deny | get 1 allow | cancel 1 allow",
        "cancel charge",
    ),
    (
        "ALWAYS (cancel(o) IMPLIES ONCE get(o)) AND ALWAYS COUNT[<= 1] charge(o)",
        "charge 1 allow | charge 1 deny | cancel 2 deny",
        "cancel charge",
    ),
    (
        "ALWAYS NOT (ONCE cancel(o) AND ONCE charge(o))",
        "cancel 1 allow | charge 1 deny | charge 2 allow | cancel 2 deny",
        "cancel charge",
    ),
    ("ALWAYS (ONCE charge(o) IMPLIES ONCE cancel(o))", "charge 1 deny | cancel 1 allow | charge 1 allow", "charge"),
    (
        "ALWAYS ((cancel(o) OR blocked) IMPLIES NOT ONCE charge(o))",
        "charge 1 allow | cancel 1 deny | cancel 2 allow | blocked=yes, charge 2 deny",
        "cancel charge",
    ),
    (
        "ALWAYS ((get(o) IMPLIES blocked) AND NOT (NOT cancel(o) SINCE charge(o)))",
        "charge 1 deny | get 1 deny | cancel 1 allow",
        "charge get",
    ),
    ("ALWAYS NOT (ONCE voucher(o) AND ONCE card(o))", "charge 1 voucher allow | charge 1 card deny", "charge"),
    (
        "ALWAYS ((get(o) OR voucher(o)) IMPLIES ONCE cancel(o))",
        "charge 1 card allow | charge 1 voucher deny",
        "charge get",
    ),
    ("ALWAYS (cancel(o) IMPLIES ONCE charge(o))", "charge 1 allow | cancel 1 allow | cancel 2 deny", "cancel"),
    ("ALWAYS (cancel(o) IMPLIES NOT ONCE charge(o))", "charge 1 allow | cancel 1 deny | cancel 2 allow", "cancel"),
    ("ALWAYS (cancel(o) IMPLIES NOT PREVIOUSLY ONCE charge(o))", "charge 1 allow | cancel 1 deny", "cancel"),
    (
        "ALWAYS (cancel(o) IMPLIES NOT NEXT EVENTUALLY cancel(o))",
        "cancel 1 allow | cancel 2 allow | charge 1 allow | cancel 1 deny | cancel 1 deny",
        "cancel",
    ),
]


@pytest.mark.parametrize(("rule", "story", "tools"), THROUGH_THE_PAST)
def test_a_call_that_breaks_a_rule_through_its_past_part_is_guarded(rule: str, story: str, tools: str) -> None:
    rules = ruleset(rule)
    assert [t.name for t in BOX.tools if residual.bearing(rules.rules[0], t.name, rules) is not None] == tools.split()
    assert residual.unguarded(BOX, rules) == ()
    assert [(got, wanted) for got, wanted in decisions(rules, story) if got != wanted] == []


def test_a_rule_about_later_steps_is_guarded_only_where_its_past_form_says_the_same() -> None:
    once = parse("ALWAYS (cancel IMPLIES NOT NEXT EVENTUALLY cancel)")
    assert decide.equivalent(once, F.Always(residual.each_step(once)))
    for other in ("NOT NEXT cancel", "NOT NEXT EVENTUALLY charge", "NEXT ALWAYS NOT cancel", "NEXT EVENTUALLY cancel"):
        assert residual.each_step(parse(f"ALWAYS (cancel IMPLIES {other})")) is None


@pytest.mark.parametrize(
    ("rule", "part"),
    [
        (
            "ALWAYS ((cancel(o) IMPLIES blocked) AND NOT PREVIOUSLY charge(o))",
            "of ALWAYS NOT PREVIOUSLY charge(o): what it asks of a call shows only at the step after",
        ),
        ("ALWAYS (cancel(o) IMPLIES blocked) AND ALWAYS (charge(o) IMPLIES EVENTUALLY get(o))", "EVENTUALLY"),
    ],
)
def test_a_part_that_no_guard_decides_is_told(rule: str, part: str) -> None:
    rules = ruleset(rule)
    [told] = residual.unguarded(BOX, rules)
    assert told.rule == "r" and part in told.reason


@pytest.mark.parametrize(
    ("rule", "arguments", "why"),
    [
        ("ALWAYS ((cancel OR big) IMPLIES blocked)", {}, "big reads calls of any tool: say in its `tools` of which"),
        ("ALWAYS (cancel IMPLIES NOT big)", {}, ""),
        ("ALWAYS (cancel(o) IMPLIES NOT ONCE charge(o))", {"cancel": "integer"}, "which are never the same"),
        ("ALWAYS (cancel(o) IMPLIES NOT ONCE charge(o))", {"cancel": "boolean"}, "which are never the same"),
        ("ALWAYS (cancel(o) IMPLIES NOT ONCE charge(o))", {"cancel": "number", "charge": "integer"}, ""),
        ("ALWAYS (cancel(o) IMPLIES NOT ONCE charge(o))", {"get": "integer"}, ""),
        ("ALWAYS (cancel(o) IMPLIES NOT ONCE charge)", {"cancel": "integer"}, ""),
        ("ALWAYS COUNT[<= 1] (cancel(o) AND PREVIOUSLY charge(o))", {}, "not told of several calls of one step"),
        ("ALWAYS COUNT[<= 1] (cancel(o) AND ONCE charge(o))", {}, ""),
    ],
)
def test_what_any_call_or_none_can_break_is_told(rule: str, arguments: dict, why: str) -> None:
    big = Predicate("big", "state", "", test=cel.parse("call.amount > 100"))
    made = Rule("r", "", parse(rule), "forbid", clause=BY_HAND)
    known = (*(p for p in ruleset("ALWAYS (cancel IMPLIES NOT ONCE charge AND blocked)").predicates), big)
    box = Toolbox(
        tuple(Tool(tool.name, arguments=(Field("order", arguments.get(tool.name, "string")),)) for tool in BOX.tools)
    )
    told = residual.unguarded(box, RuleSet(tuple(p for p in known if p.name in made.predicates), (made,)))
    assert [one.reason for one in told if why in one.reason] == [one.reason for one in told] and bool(told) == bool(why)


def test_a_part_that_can_be_guarded_is_where_another_cannot() -> None:
    rules = ruleset("(ALWAYS NOT cancel(o)) AND (ALWAYS (charge(o) IMPLIES EVENTUALLY get(o)))")
    assert decisions(rules, "cancel 1 deny | charge 1 allow") == [("deny", "deny"), ("allow", "allow")]
    [told] = residual.unguarded(BOX, rules)
    assert "charge" in told.reason


def test_no_call_is_allowed_that_breaks_a_random_rule() -> None:
    """Whatever a rule asks: a call without which the step would keep it, and with which it does not, is not allowed."""
    broken = allowed = rules_tried = 0
    for seed in range(900):
        rng = random.Random(seed)
        names = ["p", "a", "b", "any_b", "a(r)", "b(r)", "big(r)"]
        body = random_formula(rng, rng.randint(1, 3), names, UNARY, BINARY)
        try:
            rules = RuleSet(PREDICATES, (Rule("r1", "", F.Always(body), "forbid", clause=BY_HAND),))
        except ValueError:
            continue
        if residual.unguarded(Toolbox(TOOLS), rules):
            continue
        watch, done = generated(rules).watch(), []
        rules_tried += 1
        for step in random_steps(rng, 0.0):
            step = replace(step, calls=step.calls[:1])
            kept = same_object.everywhere(body, [*done, replace(step, calls=())], rules) if step.calls else 0.0
            if kept == 1.0 and same_object.everywhere(body, [*done, step], rules) == 0.0:
                broken += 1
                assert watch.judge(step).decision != "allow", (seed, render(body), done, step)
            elif step.calls:
                allowed += watch.judge(step).decision == "allow"
            if not step.calls or watch.judge(step).decision == "allow":
                watch.remember(step)
                done.append(step)
    assert rules_tried > 100 and broken > 50 and allowed > 100, (rules_tried, broken, allowed)


IN_ORDER = [
    # a second call of a tool does not hide the first; each call is read in the state that it was asked for in
    ("ALWAYS ((charge(o) AND card(o)) IMPLIES NOT ONCE voucher(o))", "charge 1 voucher allow, charge 1 card undecided"),
    ("ALWAYS ((charge(o) AND card(o)) IMPLIES NOT ONCE voucher(o))", "charge 1 voucher allow | charge 1 card deny"),
    ("ALWAYS ((charge(o) AND card(o)) IMPLIES NOT ONCE voucher(o))", "charge 1 voucher allow, charge 2 card allow"),
    (
        "ALWAYS ((charge(o) AND card(o)) IMPLIES HISTORICALLY NOT voucher(o))",
        "charge 1 voucher allow, charge 1 card undecided",
    ),
    (
        "ALWAYS ((charge(o) AND card(o)) IMPLIES COUNT[<= 0] voucher(o))",
        "charge 1 voucher allow, charge 1 card undecided",
    ),
    (
        "ALWAYS ((charge(o) AND card(o)) IMPLIES NOT ONCE[<= 24h] voucher(o))",
        "now=2026-01-01T00:00:00Z, charge 1 voucher allow, charge 1 card undecided",
    ),
    ("ALWAYS (charge(o) IMPLIES ONCE approved(o))", "get 1 allow, level=manager, charge 1 undecided"),
    (
        "ALWAYS (charge(o) IMPLIES ONCE approved(o))",
        "level=manager, get 1 allow, charge 1 allow, level=clerk, charge 1 undecided",
    ),
    ("ALWAYS (charge(o) IMPLIES ONCE approved(o))", "level=manager, get 1 allow | level=clerk, charge 1 allow"),
    (
        "ALWAYS (charge(o) IMPLIES ONCE[<= 24h] get(o))",
        "now=2026-01-01T00:00:00Z, get 1 allow, now=2026-01-02T06:00:00Z, charge 1 undecided",
    ),
    (
        "ALWAYS (charge(o) IMPLIES ONCE[<= 24h] get(o))",
        "now=2026-01-01T00:00:00Z, get 1 allow, now=2026-01-01T00:00:01Z, charge 1 allow",
    ),
]


IN_ORDER += [
    # what is said of no object, alone and beside what is
    ("ALWAYS (charge IMPLIES NOT PREVIOUSLY get)", "get 1 allow, charge 1 undecided | charge 1 deny"),
    ("ALWAYS (charge IMPLIES NOT PREVIOUSLY get)", "get 1 allow | charge 1 deny | charge 1 allow"),
    (
        "ALWAYS (charge(o) IMPLIES NOT ONCE cancel(o) AND NOT PREVIOUSLY get)",
        "get 1 allow, charge 1 undecided | cancel 2 allow | charge 1 allow | charge 2 deny",
    ),
    # the order in a step that is over, and states in the middle of one
    ("ALWAYS (charge(o) IMPLIES ONCE (get(o) AND ONCE cancel(o)))", "get 1 allow, cancel 1 allow | charge 1 undecided"),
    ("ALWAYS (charge(o) IMPLIES ONCE (get(o) AND ONCE cancel(o)))", "cancel 1 allow, get 1 allow | charge 1 allow"),
    ("ALWAYS (charge(o) IMPLIES ONCE (get(o) AND ONCE cancel(o)))", "get 1 allow | cancel 1 allow | charge 1 deny"),
    (
        "ALWAYS (charge(o) IMPLIES (NOT blocked SINCE cancel(o)))",
        "cancel 1 allow, blocked=yes, get 2 allow, blocked=no | charge 1 undecided",
    ),
    (
        "ALWAYS (charge(o) IMPLIES (NOT blocked SINCE cancel(o)))",
        "cancel 1 allow | blocked=yes, get 2 allow | blocked=no, charge 1 deny",
    ),
    (
        "ALWAYS (charge(o) IMPLIES (NOT blocked SINCE cancel(o)))",
        "cancel 1 allow, blocked=yes, blocked=no, charge 1 undecided",
    ),
    (
        "ALWAYS (charge(o) IMPLIES (NOT blocked SINCE cancel(o)))",
        "cancel 1 allow, blocked=yes, blocked=no, get 2 allow | charge 1 undecided",
    ),
    ("ALWAYS (charge(o) IMPLIES (NOT blocked SINCE cancel(o)))", "cancel 1 allow, get 2 allow | charge 1 allow"),
    # a state that passed within a step was not so before its calls
    (
        "ALWAYS (charge(o) IMPLIES ONCE (cancel(o) AND ONCE blocked))",
        "cancel 1 allow, blocked=yes, blocked=no, get 1 allow, charge 1 undecided",
    ),
    (
        "ALWAYS (charge(o) IMPLIES ONCE (cancel(o) AND ONCE blocked))",
        "cancel 1 allow, blocked=yes, blocked=no, get 1 allow | charge 1 undecided",
    ),
    (
        "ALWAYS (charge(o) IMPLIES ONCE (cancel(o) AND ONCE blocked))",
        "blocked=yes, get 1 allow | blocked=no, cancel 1 allow, get 1 allow | charge 1 allow",
    ),
    # together with what was done before it in its step
    ("ALWAYS (cancel(o) IMPLIES NOT card(o))", "cancel 1 allow, charge 1 deny, charge 1 voucher allow"),
    ("ALWAYS (cancel(o) IMPLIES NOT card(o))", "cancel 1 allow | charge 1 allow"),
]


@pytest.mark.parametrize(("rule", "story"), IN_ORDER)
def test_what_the_calls_of_a_step_say_only_together_is_not_known(rule: str, story: str) -> None:
    assert [(got, wanted) for got, wanted in decisions(ruleset(rule), story) if got != wanted] == []


def test_the_reason_says_that_it_is_the_calls_of_one_step() -> None:
    session = guard(ruleset(IN_ORDER[0][0])).session()
    session.call("charge", {"order": "1", "how": "voucher"}, 1)
    verdict = session.call("charge", {"order": "1", "how": "card"}, 1)
    assert verdict.reason.endswith("the calls of this step do not say it one after the other as together")


def test_a_call_that_failed_is_not_in_its_step_any_more() -> None:
    session = guard(ruleset(IN_ORDER[0][0])).session()
    assert session.call("charge", {"order": "1", "how": "voucher"}, 1, call_id="a").decision == "allow"
    session.result("no such card", call_id="a", error=True)
    assert session.call("charge", {"order": "1", "how": "card"}, 1).decision == "allow"


REJOINED = [
    # steps, and how many of these it takes until their calls are no longer followed apart
    ("ALWAYS (charge(o) IMPLIES ONCE get(o))", ["get 1, get 2"], 1),
    ("ALWAYS (charge(o) IMPLIES PREVIOUSLY get(o))", ["get 1, cancel 1", "get 2", "get 3", "get 4"], 2),
    ("ALWAYS (charge(o) IMPLIES PREVIOUSLY get(o))", [*["get 1, cancel 1"] * 5, "get 2", "get 3", "get 4"], 6),
    ("ALWAYS (charge IMPLIES PREVIOUSLY get)", [*["get 1, cancel 1"] * 5, "get 2", "get 3", "get 4"], 6),
    ("ALWAYS (charge(o) IMPLIES ONCE (get(o) AND ONCE cancel(o)))", ["get 1, cancel 1", *["get 2"] * 9], None),
    ("ALWAYS (charge(o) IMPLIES ONCE (get(o) AND ONCE cancel(o)))", ["get 1, cancel 1", *["cancel 1", "get 1"] * 2], 4),
]


@pytest.mark.parametrize(("rule", "steps", "many"), REJOINED)
def test_calls_are_followed_apart_until_it_does_not_matter_in_which_order(
    rule: str, steps: list[str], many: int | None
) -> None:
    watch, apart = guard(ruleset(rule)).watch(), 0
    for number, step in enumerate(steps, 1):
        calls = [Call(tool, {"order": order}) for tool, order in (said.split() for said in step.split(", "))]
        watch.remember(Step(tuple(calls), {"blocked": False, "level": "clerk"}))
        if watch._ordered:
            apart = number
    assert apart == (len(steps) if many is None else many - 1)
