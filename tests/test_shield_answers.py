"""What a shield says of a call, whole; what it reads, keeps and forgets; and that nothing is worked out twice."""

from __future__ import annotations

import dataclasses
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_guarding import GUARD
from test_shield import PREDICATES, RULES, TEXTS, shield, trace

from wb.adapters import enforcement
from wb.domain import tools as toolboxes
from wb.domain.session import Session
from wb.domain.tools import Tool, Toolbox
from wb.domain.trace import Call, Open, Step, Trace, Verdict
from wb.guards.runtime import CallGuard, CallWatch
from wb.logic import cel, syntax
from wb.rules.rule import Predicate, Rule, RuleSet
from wb.shield import circuit
from wb.shield import shield as shields
from wb.shield.circuit import HARD
from wb.shield.shield import Shield, ShieldWatch

CALM = "0.000, no rule is decisive"
SAID = [  # the steps, and of the last one the decision, what is said, the rules broken and what is missing
    ([("ask", {}), ("pay", {"age": 18})], "allow", f"pay: {CALM}", "", ""),
    ([("ask", {}), ("pay", {"age": 17})], "deny", "pay: -0.462; broken: “sentence 1” (r1)", "r1", ""),
    ([("pay", {"age": 3})], "deny", "pay: -0.762; broken: “sentence 1” (r1); “sentence 2” (r2)", "r1 r2", ""),
    ([("pay", {})], "deny", "pay: -0.762 to -0.462; broken: “sentence 2” (r2)", "r2", ""),
    (
        [("ask", {}), ("pay", {})],
        "undecided",
        "pay: -0.462 to 0.000; not known: “sentence 1” (r1); it depends on what is not known: state.age",
        "",
        "state.age",
    ),
    ([("post", {"agreed": True})], "allow", f"post: {CALM}", "", ""),
    (
        [("post", {})],
        "undecided",
        "post: -0.462 to 0.000; not known: “sentence 3” (r3); it depends on what is not known: agreed",
        "",
        "agreed",
    ),
    (
        [("ask pay post", {"age": 18, "agreed": False})],
        "deny",
        "post: -0.462; ask: 0.462; broken: “sentence 3” (r3)",
        "r3",
        "",
    ),
]


@pytest.mark.parametrize(("steps", "decision", "said", "violated", "missing"), SAID)
def test_a_verdict_says_why(steps: list, decision: str, said: str, violated: str, missing: str) -> None:
    rules = tuple(violated.split())
    quotes = tuple(f"sentence {rule[1]}" for rule in rules)
    wanted = Verdict(decision, f"P1 - P0 against 0: {said}", rules, quotes=quotes, missing=tuple(missing.split()))
    one = shield()
    assert one.decide(trace(*steps)) == wanted == one.decide(trace(*steps))


def test_a_rule_without_a_quotation_is_quoted_by_its_text_or_id() -> None:
    for rule, said in ((Rule("r", "the text", syntax.parse(TEXTS[2]), "forbid"), "the text"),) + (
        (Rule("r", "", syntax.parse(TEXTS[2]), "forbid"), "r"),
    ):
        made = Shield(PREDICATES, circuit.build(RuleSet(PREDICATES, (rule,)), {"post": ["r"]}), -0.25)
        verdict = made.decide(trace(("post", {"agreed": False})))
        assert verdict.reason == f"P1 - P0 against -0.25: post: -0.462; broken: “{said}” (r)"


def test_hard_rules_that_contradict_each_other_leave_it_open() -> None:
    texts = ("ALWAYS (post IMPLIES agreed)", "ALWAYS (post IMPLIES NOT agreed)")
    rules = [Rule(f"h{i}", "", syntax.parse(t), "forbid") for i, t in enumerate(texts)]
    circuits = circuit.build(
        RuleSet(PREDICATES, tuple(rules)), {"post": ["h0", "h1"]}, {"post": {"h0": HARD, "h1": HARD}}
    )
    verdict = Shield(PREDICATES, circuits).decide(trace(("post", {"agreed": True})))
    assert verdict.decision in ("deny", "undecided") and not verdict.missing


def test_what_a_shield_reads_minds_and_trusts() -> None:
    one = shield()
    assert [set(one.reads(tool)) for tool in ("pay", "post", "ask", "nope")] == [{"age"}, {"agreed"}, set(), set()]
    assert one.reads("post", ["pay", "ask"]) == {"age", "agreed"}, "all calls of a step are judged with the last one"
    assert [one.minds(tool) for tool in ("pay", "post", "ask", "nope")] == [True, True, True, False]
    assert [one.trusted(tool) for tool in ("pay", "post", "ask", "nope")] == [("state.age",), ("agreed",), (), ()]
    assert one.tools == {"pay", "post", "ask"} and one.name == "shieldagent" and one.epsilon == 0.0
    digests = {tool: one.evidence(tool) for tool in ("pay", "post", "ask")}
    assert len(set(digests.values())) == 3 and all(len(one) == 64 for one in digests.values())
    assert one.evidence("nope") == "" and one.evidence("pay") == digests["pay"]
    assert shield(0.1).evidence("pay") != digests["pay"] != shield(r1=0.5).evidence("pay")
    assert shield(r3=0.5).evidence("pay") == digests["pay"]
    box = Toolbox((Tool("pay"), Tool("look")))
    over = Shield(PREDICATES, shield().circuits, toolbox=box)
    assert over.tools == {"pay", "look"} and over.evidence("look") == "" and over.trusted("look") == ()
    assert over.decide(trace(("look", {}))) == Verdict("allow", "no rule speaks of what it does")
    assert over.decide(trace(("post", {}))).decision == "deny"


def test_an_open_sentence_keeps_what_would_be_allowed_undecided() -> None:
    one = Shield(PREDICATES, shield().circuits, open={"post": (Open("s", "Be nice."),)})
    fine, wrong = (one.decide(trace(("post", {"agreed": agreed}))) for agreed in (True, False))
    assert (fine.decision, wrong.decision) == ("undecided", "deny") and "Be nice." in fine.reason


def test_epsilon_is_a_difference_of_probabilities() -> None:
    assert [shield(value).epsilon for value in (-1, 0.5, 1)] == [-1, 0.5, 1]
    for value in (-1.001, 1.001, float("nan")):
        with pytest.raises(ValueError, match=re.escape(f"must be in -1..1; got {value}")):
            shield(value)


def test_what_a_guard_works_out_for_itself_is_neither_given_nor_shown_nor_compared() -> None:
    own = {Shield: {"tools"}, CallGuard: {"programs", "tools"}}
    given = {
        Shield: "predicates circuits epsilon machines name toolbox open zone channel",
        CallGuard: "name ruleset guarded accepted toolbox open",
    }
    for kind, names in given.items():
        fields = dataclasses.fields(kind)
        assert [f.name for f in fields if f.init] == [f.name for f in fields if f.repr] == names.split()
        assert {f.name for f in fields if f.compare} == {*names.split(), *own[kind]}
    assert repr(shield()).count("Shield(") == 1 and "_seen" not in repr(shield()) and "Loaded" not in repr(GUARD)


def test_what_was_worked_out_is_kept_within_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (shields.KEPT, shields.TRIED) == (4096, 6)
    one, asked = shield(), []
    inferred = ShieldWatch._inferred
    monkeypatch.setattr(ShieldWatch, "_inferred", lambda *given: (asked.append(1), inferred(*given))[1])
    first = one.decide(trace(("pay", {"age": 18})))
    assert one.decide(trace(("pay", {"age": 18}))) is first and len(asked) == 1
    assert one.decide(trace(("pay", {"age": 17}))) != first and len(asked) == 2
    one.decide(trace(("ask", {}), ("pay", {"age": 18})))
    assert len(asked) == 3
    monkeypatch.setattr(shields, "KEPT", 3)
    one = shield()
    cases = [
        (tools, age, agreed) for tools in ("pay", "ask pay", "post") for age in (17, 18) for agreed in (True, None)
    ]
    for tools, age, agreed in cases:
        steps = trace(("ask", {}), (tools, {"age": age, "agreed": agreed}))
        assert one.decide(steps) == shield().decide(steps) and len(one._seen) <= 3


ABOUT = (cel.parse("call.id"),)
ACTS = tuple(Predicate(name, "action", "", tools=(name,), objects=ABOUT) for name in ("pay", "ask", "post"))
TEXT = Predicate("calm", "state", "", test=cel.parse("state.calm"))


def about(*texts: str) -> Shield:
    rules = RuleSet((*ACTS, TEXT), tuple(Rule(f"r{i}", t, syntax.parse(t), "forbid") for i, t in enumerate(texts)))
    actions = {a.name: [r.id for r in rules.rules if a.name in r.predicates] for a in ACTS}
    return Shield(rules.predicates, circuit.build(rules, {name: ids for name, ids in actions.items() if ids}))


def step(*calls: str, **state: object) -> Step:
    """Calls such as `pay:a`."""
    return Step(tuple(Call(one.partition(":")[0], {"id": one.partition(":")[2]}) for one in calls), state)


def test_only_what_rules_about_objects_speak_of_is_read_for_them_and_once_a_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = about(
        "ALWAYS (pay(o) IMPLIES ONCE ask(o))", "ALWAYS (ask(o) IMPLIES NOT ONCE pay(o))", "ALWAYS (post IMPLIES calm)"
    )
    assert one.about.keys() == {"pay", "ask"} and one.followed.keys() == {"r0", "r1"}
    assert one.readers.keys() == {"pay", "ask", "post", "calm"} and one.rules.keys() == {"r0", "r1", "r2"}
    asked = []
    told = ShieldWatch._told
    monkeypatch.setattr(ShieldWatch, "_told", lambda *given: (asked.append(1), told(*given))[1])
    watch = one.watch()
    watch.remember(step("ask:a"))
    assert len(asked) == 1
    watch.remember(step("pay:a", "ask:b"))
    assert len(asked) == 2
    assert watch.judge(step("pay:b")).decision == "allow" and watch.judge(step("pay:c")).violated == ("r0",)


def test_a_fork_of_a_watch_goes_on_apart() -> None:
    one = about("ALWAYS (pay(o) IMPLIES ONCE ask(o))", "ALWAYS (post IMPLIES ONCE pay)").watch()
    one.remember(step("ask:a"))
    other = one.fork()
    other.remember(step("ask:b", "pay:a"))
    assert [one.judge(step(f"pay:{name}")).decision for name in "ab"] == ["allow", "deny"]
    assert [other.judge(step(f"pay:{name}")).decision for name in "ab"] == ["allow", "allow"]
    assert one.judge(step("post:a")).decision == "deny" and other.judge(step("post:a")).decision == "allow"
    assert one.states.keys() == other.states.keys() == {"r0", "r1"} and one.states != other.states


COUNTED = [  # rules, steps, and the decision on the last one's last call
    ("ALWAYS COUNT[<= 1] pay(o)", ["pay:a"], "pay:b", "allow"),
    ("ALWAYS COUNT[<= 1] pay(o)", ["pay:a"], "pay:a", "deny"),
    ("ALWAYS COUNT[<= 1] pay(o)", [], "pay:a pay:a", "deny"),
    ("ALWAYS COUNT[<= 2] pay(o)", ["pay:a pay:a"], "pay:a", "deny"),
    ("ALWAYS COUNT[<= 2] pay(o)", ["pay:a pay:b"], "pay:a", "allow"),
    ("ALWAYS COUNT[<= 1] pay", ["pay:a"], "pay:b", "deny"),
    ("ALWAYS COUNT[<= 2] pay", ["pay:a pay:b"], "pay:c", "deny"),
    ("ALWAYS COUNT[<= 2] pay", ["pay:a post:b"], "pay:c", "allow"),
    ("ALWAYS COUNT[<= 2] pay", [], "pay:a pay:b pay:c", "deny"),
    ("ALWAYS COUNT[<= 2] pay", [], "pay:a post:x pay:c", "allow"),
    ("ALWAYS (pay IMPLIES ONCE ask)", [], "ask:a pay:a", "allow"),
    ("ALWAYS (pay(o) IMPLIES ONCE ask(o))", [], "ask:b pay:a", "deny"),
]


@pytest.mark.parametrize(("rule", "before", "last", "decision"), COUNTED)
def test_calls_of_one_step_are_counted_one_by_one(rule: str, before: list[str], last: str, decision: str) -> None:
    one = about(rule)
    steps = [step(*calls.split(), calm=True) for calls in (*before, last)]
    watch = one.watch()
    for each in steps[:-1]:
        watch.remember(each)
    assert watch.judge(steps[-1]).decision == decision
    assert bool(one.counted) is ("COUNT" in rule)
    kept = one.verdicts(Trace("t", tuple(steps)))
    assert kept == {"r0": decision == "allow"}
    assert one.infer(Trace("t", tuple(steps))).keys() == {c.tool for c in steps[-1].calls if c.tool in rule}


@pytest.mark.parametrize(
    ("rule", "calls", "decision"),
    [
        ("ALWAYS (pay IMPLIES NOT PREVIOUSLY ONCE pay)", "pay:a pay:b", "undecided"),  # after it, it is a second one
        ("ALWAYS (post IMPLIES NOT PREVIOUSLY ONCE pay)", "pay:a post:b", "undecided"),
        ("ALWAYS (post IMPLIES NOT PREVIOUSLY ONCE pay)", "ask:a post:b", "allow"),
        ("ALWAYS (pay IMPLIES NOT ONCE pay)", "pay:a", "deny"),
    ],
)
def test_what_looks_back_within_a_step_is_known_where_the_order_of_its_calls_says_nothing_else(rule, calls, decision):
    assert about(rule).watch().judge(step(*calls.split(), calm=True)).decision == decision


@pytest.mark.parametrize("epsilon", [0.0, -0.5, -1.0])
def test_a_hard_rule_that_is_broken_denies_whatever_epsilon_allows(epsilon):
    rules = RuleSet(PREDICATES, (Rule("h", "", syntax.parse(TEXTS[2]), "forbid", force="hard"),))
    one = Shield(PREDICATES, circuit.build(rules, {"post": ["h"]}), epsilon)
    decided = [one.decide(trace(("post", {"agreed": agreed}))).decision for agreed in (False, True)]
    assert decided == ["deny", "allow"]


def test_a_rule_of_another_call_that_the_judged_one_may_break_is_judged():
    """A fact of the arguments of either tool: the later call is large beside a payment that forbids that."""
    acts = [Predicate(t, "action", "", tools=(t,)) for t in ("pay", "post")]
    large = Predicate("large", "state", "", tools=("pay", "post"), test=cel.parse("call.n > 10"))
    rules = RuleSet((*acts, large), (Rule("r", "", syntax.parse("ALWAYS (pay IMPLIES NOT large)"), "forbid"),))
    one = Shield(rules.predicates, circuit.build(rules, {"pay": ["r"]}), -0.25)
    calls = [Call("pay", {"n": 5}), Call("post", {"n": 50})]
    assert [one.watch().judge(Step(tuple(calls[:k]), {})).decision for k in (1, 2)] == ["allow", "deny"]


@given(st.permutations(["pay", "post", "ask"]), st.lists(st.sampled_from([1, 3, None]), min_size=3, max_size=3))
def test_a_call_is_judged_beside_other_calls_of_its_step_as_alone_where_no_rule_speaks_of_both(tools, amounts):
    """What rules say of the arguments of each of them is known, whichever call is judged."""
    facts = [Predicate(f"{t}_small", "state", "", tools=(t,), test=cel.parse("call.n <= 2")) for t in tools]
    acts = [Predicate(t, "action", "", tools=(t,)) for t in tools]
    texts = {t: f"ALWAYS ({t} IMPLIES {t}_small)" for t in tools}
    rules = RuleSet((*acts, *facts), tuple(Rule(t, "", syntax.parse(text), "forbid") for t, text in texts.items()))
    one = Shield(rules.predicates, circuit.build(rules, {t: [t] for t in tools}), -0.25)
    calls = [Call(t, {} if n is None else {"n": n}) for t, n in zip(tools, amounts, strict=True)]
    for end in (1, 2, 3):
        alone = one.watch().judge(Step((calls[end - 1],), {}))
        assert one.watch().judge(Step(tuple(calls[:end]), {})) == alone
        assert alone.decision == {1: "allow", 3: "deny", None: "undecided"}[amounts[end - 1]]


@pytest.mark.parametrize("turned", [False, True])
def test_what_was_worked_out_of_several_calls_is_not_taken_for_one(turned: bool) -> None:
    """Neither a verdict nor where an automaton is: the two tell the same of which predicates are true."""
    several, once = step("pay:a", "pay:b"), step("pay:a")
    first = about("ALWAYS COUNT[<= 1] pay")
    wanted = [(several, "deny"), (once, "allow")]
    for each, decision in wanted[::-1] if turned else wanted:
        assert first.watch().judge(each).decision == decision
    then = about("ALWAYS COUNT[<= 2] pay")
    for each, decision in wanted[::-1] if turned else wanted:
        watch = then.watch()
        watch.remember(each)
        assert watch.judge(once).decision == decision


def test_of_a_step_whose_calls_are_counted_each_is_read_alone() -> None:
    for rule in ("ALWAYS (COUNT[<= 2] pay AND COUNT[<= 1] post)", "ALWAYS (COUNT[<= 1] post AND COUNT[<= 3] pay)"):
        for calls in ("pay:a post:b", "post:b pay:a", "pay:a"):
            watch = about(rule).watch()
            watch.remember(step(*calls.split()))
            assert watch.judge(step("pay:c")).decision == "allow"
            assert watch.judge(step("post:d")).decision == ("deny" if "post" in calls else "allow")


def test_a_step_of_one_call_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    watch, asked, read = (
        about("ALWAYS COUNT[<= 1] pay", "ALWAYS (post IMPLIES ONCE ask)").watch(),
        [],
        ShieldWatch._read,
    )
    monkeypatch.setattr(ShieldWatch, "_read", lambda *given: (asked.append(1), read(*given))[1])
    watch.remember(step("pay:a")), watch.judge(step("post:a"))
    assert len(asked) == 2


SINCE = [  # steps before, and the decision on a call of post at the next
    ("pay:a", "allow"),
    ("pay:a | ask:a", "deny"),
    ("ask:a | pay:a", "allow"),
    ("pay:a ask:a", "undecided"),
    ("ask:a pay:a", "undecided"),
    ("pay:a pay:b", "allow"),
    ("pay:a ask:a | pay:a", "allow"),
    ("", "deny"),
]


@pytest.mark.parametrize(("before", "decision"), SINCE)
def test_the_calls_of_a_step_have_no_order_for_what_happened_since_what(before: str, decision: str) -> None:
    for rule in ("ALWAYS (post IMPLIES (NOT ask SINCE pay))", "ALWAYS (post IMPLIES (NOT ask SINCE pay) OR ONCE calm)"):
        watch = about(rule).watch()
        for calls in filter(None, before.split(" | ")):
            watch.remember(step(*calls.split(), calm=False))
        assert watch.judge(step("post:a", calm=False)).decision == decision


def test_what_depends_on_the_past_alone_names_no_fact() -> None:
    watch = about("ALWAYS (post IMPLIES ONCE calm)").watch()
    watch.remember(step("ask:a"))
    verdict = watch.judge(step("post:a", calm=False))
    assert (verdict.decision, verdict.missing) == ("undecided", ()) and "depends" not in verdict.reason
    assert verdict.reason.endswith("not known: “ALWAYS (post IMPLIES ONCE calm)” (r0)")
    verdict = watch.judge(step("post:a"))
    assert verdict.missing == ("state.calm",) and verdict.reason.endswith("what is not known: state.calm")


def test_what_is_left_undone_with_a_call_is_all_that_no_earlier_call_does() -> None:
    first = Predicate("first", "action", "", tools=("pay", "post"))
    second = Predicate("second", "action", "", tools=("pay",))
    large = Predicate("large", "state", "", tools=("pay",), test=cel.parse("call.n > 3"))
    alone = Predicate("alone", "action", "", tools=("ask",))
    rule = Rule("r", "", syntax.parse("ALWAYS (first IMPLIES large)"), "forbid")
    rules = RuleSet((first, second, large, alone), (rule,))
    made = Shield(rules.predicates, circuit.build(rules, {"first": ["r"]}))
    assert {tool: [p.name for p in those] for tool, those in made.made.items()} == {"pay": ["first", "second", "large"]}
    left = made.watch()._left
    assert left(step()) == left(step("ask:a")) == left(step("pay:a", "post:a")) == {}
    assert left(step("pay:a")) == {"first": False, "second": False, "large": None}
    assert left(step("post:a", "pay:a")) == {"first": True, "second": False, "large": None}
    assert left(step("pay:a", "ask:a", "pay:b")) == {"first": True, "second": True, "large": None}


def test_what_is_not_known_of_many_facts_is_all_named() -> None:
    """Up to six facts are tried; of more all are named, whether they matter or not."""
    for many, named in ((3, 1), (6, 1), (7, 7)):
        facts = [Predicate(f"f{i}", "state", "") for i in range(many)]
        both = " AND ".join(f"(f{i} OR NOT f{i})" for i in range(1, many))
        text = f"ALWAYS (post IMPLIES (f0 AND {both}))"
        rules = RuleSet((PREDICATES[1], *facts), (Rule("r", "", syntax.parse(text), "forbid"),))
        verdict = Shield(rules.predicates, circuit.build(rules, {"post": ["r"]})).decide(trace(("post", {})))
        assert verdict.decision == "undecided" and verdict.missing == tuple(f"f{i}" for i in range(named))


def test_a_shield_as_json() -> None:
    value = shields.to_json(shield(-0.2, r1=0.3, r2=HARD))
    assert value["epsilon"] == -0.2 and [row["id"] for row in value["rules"]["rules"]] == ["r1", "r2", "r3", "r4"]
    assert value["circuits"] == {
        "pay": {"r1": 0.3, "r2": "hard"},
        "post": {"r3": 1.0, "r4": 1.0},
        "ask": {"r2": "hard", "r4": 1.0},
    }
    for entry in ("epsilon", "circuits", "rules"):
        with pytest.raises(ValueError, match=rf"\['{entry}'\] are missing"):
            shields.from_json({name: one for name, one in value.items() if name != entry})
    box = Toolbox((Tool("pay"),))
    back = shields.from_json(value, box, {"pay": (Open("s", "Be nice."),)})
    assert (
        back.toolbox is box and back.open.keys() == {"pay"} and back.circuits == shield(-0.2, r1=0.3, r2=HARD).circuits
    )
    assert back.rules.keys() == {rule.id for rule in RULES.rules}


def test_a_guard_reads_once_a_step_what_it_tells_of_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    from test_bearing import guard, ruleset

    rules = ruleset("ALWAYS ((cancel(o) IMPLIES ONCE get(o)) AND (charge(o) IMPLIES NOT ONCE cancel(o)))")
    watch, asked, tell = guard(rules).watch(), [], CallWatch._tell
    monkeypatch.setattr(CallWatch, "_tell", lambda *given: (asked.append(1), tell(*given))[1])
    watch.remember(Step((Call("get", {"order": "1"}),), {}))
    assert len(asked) == 1


def test_of_a_step_without_a_call_no_circuit_says_anything() -> None:
    assert shield().infer(trace(("", {"age": 3}))) == shield().verdicts(trace(("pay", {}), ("", {}))) == {}


def test_a_refusal_says_what_would_comply() -> None:
    """What the broken rules ask, and nothing where no call can meet them; a call that meets it is allowed."""
    field = [{"name": "age", "type": "integer"}, {"name": "seen", "type": "boolean"}]
    box = toolboxes.parse(json.dumps({"tools": [{"name": "pay"}, {"name": "look"}, {"name": "never"}], "state": field}))
    known = (
        *(Predicate(name, "action", "", tools=(name,)) for name in ("pay", "look", "never")),
        Predicate("adult", "state", "", test=cel.parse("state.age >= 18")),
    )
    texts = ("ALWAYS (pay IMPLIES adult)", "ALWAYS (pay IMPLIES ONCE look)", "ALWAYS NOT never")
    rules = RuleSet(known, tuple(Rule(f"r{i}", t, syntax.parse(t), "forbid", quote=t) for i, t in enumerate(texts)))
    shield = Shield(known, circuit.build(rules, {"pay": ["r0", "r1"], "never": ["r2"]}), toolbox=box)
    assert shield.required("pay", ["r0"]) == ("age is at least 18",)
    assert shield.required("never", ["r2"]) == () and shield.required("look", ["r0"]) == ()
    session = Session(shield)
    enforcer = enforcement.enforcer(session)
    session.state({"age": 12})
    told = enforcer.answer("pay", session.call("pay")).refusal
    assert "It can comply only where this holds: age is at least 18; and " in told and "look" in told
    assert "comply" not in enforcer.answer("never", session.call("never")).refusal
    assert session.call("look").decision == "allow"
    session.state({"age": 18})
    assert session.call("pay").decision == "allow"
