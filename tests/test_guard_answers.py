"""What a guard says of a call, whole: its reason, rules, grade and what is missing; and the small steps to it."""

from __future__ import annotations

import dataclasses
from dataclasses import replace

import pytest
from test_bearing import guard as ordered
from test_bearing import ruleset
from test_guarding import (
    BOOK,
    CONTRACTS,
    FINE,
    GUARD,
    GUARDS,
    LOOK,
    PREDICATES,
    RULES,
    TEXTS,
    TOOLS,
    book,
    entry,
    trace,
)
from test_loops import guard as listed

from wb.domain.trace import Call, Open, Step, Verdict
from wb.guards import contract, runtime, sandbox
from wb.guards.parts import Part
from wb.guards.runtime import CallGuard, Guarded
from wb.logic import cel, facts, syntax
from wb.rules.rule import Predicate, Rule, RuleSet

ADULT, FEW = (f"“{TEXTS[i]}” (r{i + 1})" for i in (0, 1))
SAID = [  # what is told at a call of `book`, how many guests, and the verdict's reason and rules
    (FINE, 1, "allow", "allowed", (), ()),
    ({**FINE, "age": 17}, 1, "deny", ADULT, ("r1",), ()),
    ({**FINE, "age": 17, "level": "tin"}, 3, "deny", f"{ADULT}; {FEW}", ("r1", "r2"), ()),
    ({"age": 17}, 1, "deny", ADULT, ("r1",), ()),
    ({"level": "tin"}, 3, "deny", FEW, ("r2",), ()),
    ({"age": 17, "level": "tin"}, 3, "deny", f"{ADULT}; {FEW}", ("r1", "r2"), ()),
    ({**FINE, "age": None}, 1, "undecided", "state.age", (), ("state.age",)),
    ({"age": 18, "confirmed": True}, 3, "undecided", "state.level", (), ("state.level",)),
    ({"age": 18, "confirmed": True}, 2, "allow", "allowed", (), ()),
    ({"age": 18, "level": "gold"}, 1, "undecided", "ONCE confirmed", (), ("ONCE confirmed",)),
    (
        {},
        3,
        "undecided",
        "state.age, state.level, ONCE confirmed",
        (),
        ("state.age", "state.level", "ONCE confirmed"),
    ),
]


@pytest.mark.parametrize(("state", "guests", "decision", "why", "violated", "missing"), SAID)
def test_a_verdict_says_why(state, guests, decision, why, violated, missing) -> None:
    reason = f"book: {'it depends on what is not known: ' if missing else ''}{why}"
    quotes = tuple(TEXTS[int(rule[1:]) - 1] for rule in violated)
    wanted = Verdict(decision, reason, violated, "proved", quotes, missing)
    calls = trace(book(*"abc"[:guests]), **state)
    assert GUARD.decide(calls) == wanted == GUARD.decide(calls)


def test_what_no_rule_concerns_is_free_and_what_is_no_tool_is_denied() -> None:
    assert GUARD.decide(trace(Call("look", {}))) == Verdict("allow", f"look: {runtime.FREE}", (), "free")
    assert GUARD.decide(trace(Call("nope", {}))) == Verdict("deny", "nope: there is no such tool")
    assert GUARD.evidence("nope") == "" and GUARD.trusted("nope") == ()
    some = CallGuard("g", RULES, GUARDS[:1], frozenset({"proved"}), TOOLS)
    assert some.decide(trace(Call("pay", {}))) == Verdict("deny", "pay: there is no guard for this tool")
    assert some.unguarded == {"pay", "look"} and some.tools == {"book", "pay", "look"} and GUARD.unguarded == set()
    assert some.programs.keys() == {"book"} and some.claims() == {"book": "proved"}


def test_what_a_guard_reads_minds_and_trusts() -> None:
    assert GUARD.reads("book") == {"age", "level", "confirmed"}
    assert GUARD.reads("pay") == GUARD.reads("look") == GUARD.reads("nope") == {"confirmed"}, "it is remembered"
    assert [GUARD.minds(tool) for tool in ("book", "pay", "look", "nope")] == [True, True, False, False]
    assert [GUARD.trusted(tool) for tool in ("book", "pay", "look")] == [("confirmed",), (), ()]
    assert GUARD.claims() == {"book": "proved", "pay": "proved", "look": "free"}
    assert GUARD.evidence("book") == runtime.digest(GUARDS[0].source) != GUARD.evidence("pay")
    assert runtime.digest("é\ud800") == runtime.digest("é\ud800") and len(runtime.digest("")) == 64


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def policy_book(age: int) -> Tuple[bool, str]:\n    return (True, 'x')\n", "it has other parameters"),
        (BOOK.replace("age < 18", "open('x')"), "open"),
    ],
)
def test_a_guard_that_cannot_be_run_denies_and_says_so(source: str, reason: str) -> None:
    bad = CallGuard("g", RULES, (Guarded(CONTRACTS["book"], source, "proved"),), frozenset({"proved"}))
    verdict = bad.decide(trace(book("a"), **FINE))
    assert (verdict.decision, verdict.grade) == ("deny", "error")
    assert verdict.reason.startswith("book: its guard cannot be run: ") and reason in verdict.reason
    assert bad.programs == {} and bad.claims() == {"book": "error"}


def test_a_guard_of_another_grade_denies_with_the_reason_that_was_kept() -> None:
    parts = (
        Part("Age", ("Only adults.", "All."), ("r1",), grade="error"),
        Part("Few", ("Few.",), ("r2",), grade="proved"),
    )
    for grade, accepted, kept, items in (
        ("tested", {"proved"}, "", ""),
        ("stub", {"tested", "proved"}, "no idea", ""),
        ("tested", {"proved"}, "slow", "; its item 'Age' is error: “Only adults. All.”"),
        *((grade, {"proved"}, "no proof yet", "") for grade in ("error", "none", "bounded")),
    ):
        one = replace(GUARDS[0], grade=grade, reason=kept, parts=parts if items else ())
        verdict = CallGuard("g", RULES, (one,), frozenset(accepted)).decide(trace(book("a"), **FINE))
        wanted = (
            f"its guard is {grade}, {' or '.join(sorted(accepted))} was required ({kept or 'no reason kept'}){items}"
        )
        assert verdict == Verdict("deny", f"book: {wanted}", grade=grade)
        assert runtime._refused(one, frozenset(accepted)) == wanted and runtime._refused(one, frozenset({grade})) == ""


def test_of_several_guards_of_a_tool_the_first_counts() -> None:
    never = entry("look", LOOK.replace("True", "False"))
    for guards, decision in (((GUARDS[2], never), "allow"), ((never, GUARDS[2]), "deny")):
        verdict = CallGuard("g", RULES, guards, frozenset({"proved"})).decide(trace(Call("look", {})))
        assert verdict.decision == decision
    assert verdict == Verdict("deny", "look: its guard says no rule", (), "free")


def test_what_a_guard_says_beside_its_rules_is_told_where_it_denies_for_no_rule() -> None:
    strict = entry("book", BOOK.replace("age < 18", "age < 21"))
    guard = CallGuard("g", RULES, (strict,), frozenset({"proved"}))
    young = guard.decide(trace(book("a"), **{**FINE, "age": 20}))
    assert young == Verdict("deny", "book: its guard says too young", (), "proved")
    assert guard.decide(trace(book("a"), **{**FINE, "age": 17})).violated == ("r1",)
    assert guard.decide(trace(book("a"), age=20, confirmed=True)) == young, "whatever the level is"
    sad = entry("book", BOOK.replace("if not once_confirmed", "if True"))
    verdict = CallGuard("g", RULES, (sad,), frozenset({"proved"})).decide(trace(book("a"), age=18, level="gold"))
    assert verdict.reason == f"book: whatever is not known, one of “{TEXTS[2]}” (r3)" and verdict.violated == ()


def test_one_of_two_rules_is_broken_whatever_is_not_known() -> None:
    predicates = (PREDICATES[0], Predicate("on", "state", "", test=cel.parse("state.on")))
    texts = ("ALWAYS (book IMPLIES on)", "ALWAYS (book IMPLIES NOT on)")
    rules = [Rule(f"r{i}", t, syntax.parse(t), "forbid") for i, t in enumerate(texts, 1)]
    made = contract.contract(TOOLS.tool("book"), RuleSet(predicates, tuple(rules)))
    code = f"{made.signature}\n    return ({made.allows}, 'said')\n"
    guard = CallGuard("g", RuleSet(predicates, tuple(rules)), (Guarded(made, code, "proved"),), frozenset({"proved"}))
    both = "; ".join(f"“{text}” (r{i})" for i, text in enumerate(texts, 1))
    verdict = guard.decide(trace(book()))
    assert verdict == Verdict("deny", f"book: whatever is not known, one of {both}", (), "proved")
    assert guard.decide(trace(book(), on=True)).violated == ("r2",)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("return (1, 'x')", "its guard broke: ValueError: a guard answers (bool, str); got (1, 'x')"),
        ("return (age, 'x')", "its guard broke: ValueError: a guard answers (bool, str); got (18, 'x')"),
        ("return True", "its guard cannot be run: line 2: "),
        ("return (True, 1)", "its guard cannot be run: line 2: "),
        ("return (age < 'a', 'x')", "its guard cannot be run: line 2: "),
        ("return (nothing, 'x')", "its guard "),
        ("pass", "its guard "),
        ("return (later, 'x')\n    later = 1", "its guard "),
        ("import os", "its guard cannot be run: line 2: "),
    ],
)
def test_a_guard_that_breaks_denies(body: str, reason: str) -> None:
    source = f"{BOOK.strip().splitlines()[0]}\n    {body}\n"
    guard = CallGuard("g", RULES, (Guarded(CONTRACTS["book"], source, "proved"),), frozenset({"proved"}))
    verdict = guard.decide(trace(book("a"), **FINE))
    assert (verdict.decision, verdict.grade) == ("deny", "error") and verdict.reason.startswith(f"book: {reason}")


def test_an_answer_is_a_truth_and_a_text() -> None:
    assert runtime._answer((True, "x")) == (True, "x")
    for wrong in (True, (True,), (1, "x"), (True, None), [True, "x"], (True, "x", "y"), None):
        with pytest.raises(ValueError, match=r"a guard answers \(bool, str\); got"):
            runtime._answer(wrong)


CLAIMS = [
    (("proved", 0, 0), "free"),
    (("tested", 0, 2), "no rule"),
    (("proved", 1, 0), "proved"),
    (("bounded", 1, 0), "bounded"),
    (("bounded", 2, 2), "bounded for 2 rules, 2 sentences open"),
    (("tested", 3, 0), "tested"),
    (("proved", 1, 1), "proved for 1 rule, 1 sentence open"),
    (("tested", 2, 3), "tested for 2 rules, 3 sentences open"),
    (("error", 0, 0), "error"),
    (("stub", 2, 1), "stub"),
]


@pytest.mark.parametrize(("given", "said"), CLAIMS)
def test_what_may_be_said_of_a_guard(given: tuple[str, int, int], said: str) -> None:
    assert runtime.claim(*given) == said
    if given[1] == 3:
        assert runtime.claimed(replace(GUARDS[0], grade=given[0]), given[2]) == said, "the contract has three rules"


def test_claims_are_counted_by_kind() -> None:
    found = runtime.counted([said for _, said in CLAIMS])
    assert found == {
        **{"proved": 1, "proved in part": 1, "bounded": 1, "bounded in part": 1, "tested": 1, "tested in part": 1},
        **{"error": 1, "no rule": 1, "free": 1, "stub": 1},
    }
    assert list(found) == [*runtime.KINDS, "stub"] and runtime.counted([]) == dict.fromkeys(runtime.KINDS, 0)
    part = Part("Age", ("Only adults.",), ("r1",), grade="proved")
    assert runtime.claim("proved", 1, 1, (part,)) == "proved for 1 rule, 1 sentence open: 1 item proved"


def test_an_open_sentence_keeps_what_would_be_allowed_undecided() -> None:
    guard = CallGuard("g", RULES, GUARDS, frozenset({"proved"}), TOOLS, {"book": (Open("s1", "Be nice."),)})
    fine, young = (guard.decide(trace(book("a"), **{**FINE, "age": age})) for age in (18, 17))
    assert (fine.decision, young.decision, young.violated) == ("undecided", "deny", ("r1",))
    assert fine.grade == "proved for 3 rules, 1 sentence open" and "Be nice." in fine.reason
    assert guard.decide(trace(Call("look", {}))).decision == "allow"


def test_verdicts_that_are_kept_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert runtime.POINTS == 4096
    guard = dataclasses.replace(GUARD)
    kept = guard.loaded["book"].verdicts
    first = [guard.decide(trace(book("a"), **{**FINE, "age": age})) for age in (17, 18, 17, 18)]
    assert len(kept) == 2 and first[0] is first[2] and first[1] is first[3]
    monkeypatch.setattr(runtime, "POINTS", 3)
    for level, guests in (("tin", 3), ("gold", 3), ("tin", 1)):
        for age in (17, 18):
            guard.decide(trace(book(*"abc"[:guests]), **{**FINE, "age": age, "level": level}))
    assert len(kept) == 3


def program(expression: str, **types: str) -> sandbox.Program:
    listed = ", ".join(f"{name}: {kind}" for name, kind in types.items())
    return sandbox.load(f"def policy_x({listed}) -> Tuple[bool, str]:\n    return ({expression}, '')\n")


def test_what_a_condition_may_be_over_unknown_values() -> None:
    both = program("a and b", a="bool", b="bool")
    assert runtime._outcomes(both, {"a": False}, {"a": False, "b": None}, frozenset()) == {False}
    assert runtime._outcomes(both, {"a": True}, {"a": True, "b": None}, frozenset()) == {False, True}
    assert runtime._outcomes(both, {}, {"a": None, "b": None}, frozenset()) == {False, True}
    sums = program("a > 3 or a <= 3", a="int")
    assert runtime._outcomes(sums, {}, {"a": None}, frozenset()) == {True}
    assert runtime._outcomes(sums, {}, {"a": None}, frozenset({"a"})) == {False, True}, "it may be no whole number"
    computed = program("a + a > 3 or a + a <= 3", a="int")
    assert runtime._outcomes(computed, {}, {"a": None}, frozenset()) == {False, True}, "not all values stand for all"


def test_what_of_the_unknown_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    either = program("(a and b) or (a and not b)", a="bool", b="bool")
    points = {"a": (False, True), "b": (False, True)}
    assert runtime._deciding(either, {}, points, frozenset()) == ("a",)
    assert runtime._deciding(either, {"a": True}, {"b": points["b"]}, frozenset()) == ()
    assert runtime._deciding(either, {}, points, frozenset({"b"})) == ("a", "b"), "loosely read"
    assert runtime._deciding(program("a and b", a="bool", b="bool"), {}, points, frozenset()) == ("a", "b")
    assert runtime._deciding(program("b", a="bool", b="bool"), {}, points, frozenset()) == ("b",)
    monkeypatch.setattr(runtime, "POINTS", 4)
    assert runtime._deciding(either, {}, points, frozenset()) == ("a",)
    monkeypatch.setattr(runtime, "POINTS", 3)
    assert runtime._deciding(either, {}, points, frozenset()) == ("a", "b")


def test_steps_begin_alike_where_their_calls_are_the_same_in_the_same_states() -> None:
    state, calls = {"a": 1}, [Call("x", {}), Call("y", {})]
    one, two = Step((calls[0],), state), Step((calls[0], calls[1]), state)
    same, other, elsewhere = Step((calls[0],), state), Step((Call("x", {}),), state), Step((calls[0],), {"a": 1})
    assert runtime._begins((one, two), ()) and runtime._begins((), ()) and runtime._begins((one, two), (same,))
    assert runtime._begins((one, two), (one, two)) and not runtime._begins((one,), (one, two))
    for wrong in (other, elsewhere, two):
        assert not runtime._begins((one, two), (wrong,)) and not runtime._begins((two, one), (two, wrong))
    assert not runtime._begins((), (one,)) and not runtime._begins((two,), (one,))


@pytest.mark.parametrize(
    ("text", "apart"),
    [
        ("ONCE a", False),
        ("HISTORICALLY (a AND PREVIOUSLY b)", False),
        ("a SINCE b", True),
        ("ONCE (a SINCE b)", True),
        ("COUNT[>= 2] a", True),
        ("COUNT[>= 2, 1h] a", True),
        ("ONCE[<= 1h] a", False),
        ("ONCE a(call.x)", True),
        ("ONCE a(p)", True),
    ],
)
def test_which_formulas_are_followed_apart(text: str, apart: bool) -> None:
    assert runtime._followed_apart(syntax.parse(text)) is apart


def test_formulas_that_differ_in_what_they_call_their_objects_are_followed_as_one() -> None:
    one, named = runtime._sliced(syntax.parse("ONCE (a(call.order) AND b(p) AND c(call.item.id))"))
    other, _ = runtime._sliced(syntax.parse("ONCE (a(call.x) AND b(q) AND c(call.y))"))
    assert one.formula == other.formula == syntax.parse("ONCE (a(x1) AND b(x2) AND c(x3))")
    assert [name for name, _ in named] == ["x1", "x3"]
    call = {"order": "o1", "item": {"id": "i1"}}
    assert [read({}, call) for _, read in named] == ["o1", "i1"]
    assert runtime._objects(named, Step((Call("t", {}), Call("t", call)), {})).keys() == {"x1", "x3"}


def parameter(**filled: object) -> contract.Parameter:
    return contract.Parameter("p", filled.pop("type", "bool"), "", **filled)


KNOWN = RuleSet(
    (
        Predicate("acts", "action", "", tools=("pay",)),
        Predicate("told", "state", ""),
        Predicate("tested", "state", "", tools=("pay",), test=cel.parse("call.n < state.m && state.k")),
    ),
    (),
)
SUM = facts.Arithmetic("+", facts.Path(("call", "n")), facts.Path(("state", "m")))
FILLED = [  # what fills a parameter, what a person calls it, and the fields of the state that it reads
    ({"field": "state.a", "type": "int"}, "state.a", ("a",)),
    ({"field": "pay.n", "type": "int"}, "pay.n", ()),
    ({"field": "pay.n", "type": "int", "measure": "count"}, "size(pay.n)", ()),
    ({"field": "state.a", "type": "int", "measure": "count"}, "size(state.a)", ("a",)),
    ({"term": SUM, "type": "int", "tool": "pay"}, "call.n + state.m", ("m",)),
    ({"fact": "told"}, "told", ("told",)),
    ({"fact": "acts"}, "acts", ()),
    ({"fact": "tested"}, "pay.n, state.m, state.k", ("m", "k")),
    ({"past": syntax.parse("ONCE (told AND tested)")}, "ONCE (told AND tested)", ("told", "m", "k")),
    ({"past": syntax.parse("ONCE[<= 1h] told")}, "ONCE[<= 1h] told by state.now", ("told", "now")),
]


@pytest.mark.parametrize(("filled", "said", "read"), FILLED, ids=range(len(FILLED)))
def test_what_fills_a_parameter(filled: dict, said: str, read: tuple[str, ...]) -> None:
    one = parameter(**dict(filled))
    assert (runtime._fact(one, KNOWN), runtime._read(one, KNOWN)) == (said, read)


OWN = [  # what fills a parameter; the value at a call of `pay`, or None where it reads more than that call
    ({"field": "state.a", "type": "int"}, 3),
    ({"field": "state.s", "type": "int", "measure": "count"}, 2),
    ({"field": "pay.n", "type": "int"}, 5),
    ({"field": "other.n", "type": "int"}, None),
    ({"term": SUM, "type": "int", "tool": "pay"}, 12),
    ({"term": facts.Path(("state", "m")), "type": "int"}, 7),
    ({"term": SUM, "type": "int", "tool": "other"}, None),
    ({"fact": "told"}, True),
    ({"fact": "acts"}, None),
    ({"fact": "tested"}, True),
]


@pytest.mark.parametrize(("filled", "value"), OWN, ids=range(len(OWN)))
def test_what_is_read_of_the_state_and_the_judged_call_alone(filled: dict, value: object) -> None:
    state, call = {"a": 3, "s": [1, 2], "m": 7, "k": True, "told": True}, {"n": 5}
    found = runtime._own(parameter(**dict(filled)), "pay", KNOWN, {})
    assert (found is None) is (value is None) and (found is None or found(state, call) == value)
    if filled.get("fact") == "tested":
        assert runtime._own(parameter(**dict(filled)), "look", KNOWN, {}) is None, "it reads calls of another tool"
    step = Step((Call("pay", call),), state)
    if found is not None:
        assert runtime._other(parameter(**dict(filled)), KNOWN, {})(step, step.calls[0]) == value


def test_of_the_same_watch_a_fork_remembers_the_same_and_goes_on_apart() -> None:
    rules = ruleset("ALWAYS ((cancel(o) IMPLIES ONCE get(o)) AND COUNT[<= 1] charge(o))")
    watch = ordered(rules).watch()
    get, cancel, charge = (
        Step((Call(tool, {"order": "1", "how": "card"}),), {}) for tool in ("get", "cancel", "charge")
    )
    assert watch.judge(cancel).decision == "deny" and watch.judge(charge).decision == "allow"
    watch.remember(get), watch.remember(charge)
    other = watch.fork()
    fresh = Step((Call("cancel", {"order": "2"}),), {})
    for one in (watch, other):
        assert [one.judge(step).decision for step in (cancel, charge, fresh)] == ["allow", "deny", "deny"]
    other.remember(Step((Call("get", {"order": "2"}),), {}))
    assert other.judge(fresh).decision == "allow" and watch.judge(fresh).decision == "deny"


def test_a_fork_goes_on_apart_where_rules_are_of_no_object_as_well() -> None:
    watch = ordered(ruleset("ALWAYS (cancel IMPLIES ONCE get)")).watch()
    get, cancel, charge = (
        Step((Call(tool, {"order": "1", "how": "card"}),), {}) for tool in ("get", "cancel", "charge")
    )
    watch.remember(charge)
    other = watch.fork()
    other.remember(get)
    third = other.fork()
    third.remember(charge)
    found = [[one.judge(step).decision for step in (get, cancel, charge)] for one in (watch, other, third)]
    assert [cancelled for _, cancelled, _ in found] == ["deny", "allow", "allow"]
    assert found[0][0] == found[1][0] == "allow"


def test_what_a_fork_reads_ahead_is_its_own() -> None:
    watch = ordered(ruleset("ALWAYS (charge(o) IMPLIES NOT PREVIOUSLY get(o))")).watch()
    calls = tuple(Call(tool, {"order": "1", "how": "card"}) for tool in ("get", "charge"))
    watch.judge(Step(calls, {}))
    other, ahead = watch.fork(), dict(watch._ahead)
    assert ahead and not other._ahead
    other.judge(Step((*calls, calls[1]), {}))
    assert watch._ahead == ahead and len(other._ahead) == 1


def many_truths(code: str) -> CallGuard:
    """A guard of fifteen truths, which it needs an odd number of, and which says what that code comes to."""
    names = [f"p{i}" for i in range(15)]
    known = (PREDICATES[0], *(Predicate(name, "state", "", test=cel.parse(f"state.{name}")) for name in names))
    text = f"ALWAYS (book IMPLIES {' IFF '.join(names)})"
    rules = RuleSet(known, (Rule("r1", text, syntax.parse(text), "forbid"),))
    made = contract.contract(TOOLS.tool("book"), rules)
    each = " and ".join(f"{one.name} == {one.name}" for one in made.parameters)
    source = f"{made.signature}\n    return ({code.format(allows=made.allows, each=each)}, 'said')\n"
    return CallGuard("g", rules, (Guarded(made, source, "proved"),), frozenset({"proved"}))


def test_what_has_more_completions_than_can_be_tried_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "READS", 1)
    missing = tuple(f"state.p{i}" for i in range(15))
    verdict = many_truths("{each}").decide(trace(book()))
    assert verdict == Verdict(
        "undecided",
        "book: at most 20000 values were to be read; 15 are unknown",
        (),
        "proved",
        missing=missing,
    )
    both = many_truths("{allows}")
    verdict = both.decide(trace(book()))
    assert verdict.reason == f"book: it depends on what is not known: {', '.join(missing)}"
    assert (verdict.decision, verdict.missing) == ("undecided", missing)
    told = dict.fromkeys((f"p{i}" for i in range(1, 15)), True)
    assert both.decide(trace(book(), **told)).missing == ("state.p0",)
    assert both.decide(trace(book(), p0=True, **told)).decision == "allow"
    assert both.decide(trace(book(), p0=False, **told)).violated == ("r1",)


def test_a_guard_is_given_what_fills_its_parameters_in_their_order() -> None:
    watch = GUARD.watch()
    step = trace(book("a", "b"), **FINE).steps[-1]
    found = watch.inputs(step)
    assert list(found) == [one.name for one in CONTRACTS["book"].parameters]
    assert found == {"age": FINE["age"], "level": FINE["level"], "count_guests": 2, "once_confirmed": True}
    assert watch.inputs(trace(book("a")).steps[-1]) == dict.fromkeys(found) | {"count_guests": 1}
    assert watch.inputs(trace(Call("nope", {})).steps[-1]) == {} == watch.inputs(trace(Call("look", {})).steps[-1])
    refused = CallGuard("g", RULES, (replace(GUARDS[0], grade="tested"),), frozenset({"proved"}))
    assert refused.watch().inputs(step) == {}


def test_what_is_told_of_a_fact_is_held_to_no_values_that_a_field_of_its_name_may_have() -> None:
    values = {("state", "told"): (True,), ("state", "k"): (True,)}
    told = runtime._own(parameter(fact="told"), "pay", KNOWN, values)
    assert [told({"told": one}, {}) for one in (True, False)] == [True, False]
    tested = runtime._own(parameter(fact="tested"), "pay", KNOWN, values)
    assert [tested({"m": 7, "k": one}, {"n": 5}) for one in (True, False)] == [True, None]


def test_what_runs_of_a_loop_is_what_is_proved() -> None:
    """Its own source says what a list comes to: another one, of the same inputs, says another thing."""
    made, guard = listed("sum(call.items.map(i, i.cents)) <= 500")
    step = Step((Call("pay", {"items": [{"cents": 300}, {"cents": 300}]}),), {})
    assert guard.watch().judge(step).decision == "deny"
    (one,) = made.parameters
    halved = tuple(source.replace("found = found + ", "found = found + 0 * ") for source in one.loop.sources)
    other = replace(made, parameters=(replace(one, loop=replace(one.loop, sources=halved)),))
    (entry_,) = guard.guarded
    assert replace(guard, guarded=(replace(entry_, contract=other),)).watch().judge(step).decision == "allow"


def test_a_verdict_that_hangs_on_a_clock_that_ran_backwards_says_so() -> None:
    def told(rule: str, **times: str) -> list[str]:
        watch, found = ordered(ruleset(rule)).watch(), []
        for tool, day in times.items():
            call = Call(tool.strip("_"), {"order": "1", "how": "card"})
            step = Step((call,), {"now": f"2026-01-{day}T00:00:00Z", "level": "manager"})
            verdict = watch.judge(step)
            found.append(f"{verdict.decision}{' backwards' * (runtime.BACKWARDS in verdict.reason)}")
            watch.remember(step)
        return found

    window = "ALWAYS (cancel(o) IMPLIES ONCE[<= 48h] get(o))"
    assert told(window, get="03", cancel="04") == ["allow", "allow"]
    assert told(window, get="03", cancel="02") == ["allow", "undecided backwards"]
    assert told(window, get="03", charge="02", cancel="04") == ["allow", "allow", "undecided backwards"]
    assert told("ALWAYS (cancel(o) IMPLIES ONCE get(o))", get="03", cancel="02") == ["allow", "allow"]
    both = "ALWAYS ((cancel(o) IMPLIES ONCE[<= 48h] get(o)) AND (cancel(o) IMPLIES blocked))"
    assert told(both, get="03", cancel="02") == ["allow", "undecided backwards"]
    plain = "ALWAYS (cancel IMPLIES ONCE[<= 48h] get)"
    assert told(plain, get="03", cancel="02") == ["allow", "undecided backwards"]
    assert told(plain, get="03", cancel="04") == ["allow", "allow"]
