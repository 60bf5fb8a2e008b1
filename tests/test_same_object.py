"""Rules about the same object, from the rule file to the decision, against an evaluator that tries all values.

`python tests/test_same_object.py 20000` compares as many random rules and traces; a number before it is the first.
"""

import json
import random
import sys
from dataclasses import replace
from functools import lru_cache
from itertools import combinations, product
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from formulas import random_formula  # noqa: E402
from oracles import enumerated, same_object  # noqa: E402

from wb.bench import recorded  # noqa: E402
from wb.domain import events  # noqa: E402
from wb.domain.tools import Field, Tool, Toolbox  # noqa: E402
from wb.domain.trace import Call, Step, Trace  # noqa: E402
from wb.guards import contract, runtime, synthesis  # noqa: E402
from wb.guards.runtime import CallGuard, Guarded  # noqa: E402
from wb.logic import cel, decide, facts, semantics, times  # noqa: E402
from wb.logic import formula as F  # noqa: E402
from wb.logic.automaton import AutomatonError  # noqa: E402
from wb.logic.objects import Among, Slices, grounded, identity  # noqa: E402
from wb.logic.syntax import parse, render  # noqa: E402
from wb.rules import check, decisions, physical, residual, rulefile  # noqa: E402
from wb.rules.rule import Predicate, Rule, RuleSet  # noqa: E402
from wb.rules.truths import among, counting, reader  # noqa: E402
from wb.shield import circuit  # noqa: E402
from wb.shield.shield import Shield  # noqa: E402

X, Y = facts.Path(("call", "x")), facts.Path(("call", "y"))
PREDICATES = (
    Predicate("a", "action", "", tools=("ta",), objects=(X,)),
    Predicate("b", "action", "", tools=("tb",), objects=(X,)),
    Predicate("c", "action", "", tools=("tc",), objects=(X, Y)),
    Predicate("any_b", "action", "", tools=("tb",)),
    Predicate("big", "state", "", tools=("ta",), test=cel.parse("call.n >= 2"), objects=(X,)),
    Predicate("p", "state", "", test=cel.parse("state.p")),
)
TOOLS = (Tool("ta"), Tool("tb"), Tool("tc"))
UNARY, BINARY = (F.Not, F.Previously, F.Once, F.Historically), (F.And, F.Or, F.Implies, F.Since)
TRIGGERS = ("a(r)", "b(r)", "c(r, s)", "a", "any_b", "a(r)", "b(r)")
TRACES = 8  # random ones tried on each random rule
VALUES = ("u", "v", 1, 1.0, "1", True)


def window(rng: random.Random):
    """An operator of a window in time."""
    often, seconds = rng.choice((1, 1, 2, 3)), rng.choice((0, 2, 5))
    return lambda body: F.Recently(body, often, seconds * times.SECOND)


def random_rule(rng: random.Random, timed: bool = False) -> RuleSet:
    """A rule ALWAYS (call and so on IMPLIES past) that a rule set takes, with windows in time if it is `timed`."""
    unary = (*UNARY, *[window(rng) for _ in range(3 * timed)])
    while True:
        used = rng.choice(("r", "r", "rs"))
        names = ["p", "a", "b", "any_b", *(f"{n}({v})" for n in ("a", "b", "big") for v in used)]
        names += ["c(r, s)", "c(s, r)"] if used == "rs" else []
        left, right = (random_formula(rng, rng.randint(0, 2), names, unary, BINARY) for _ in range(2))
        if rng.random() < 0.2:
            right = F.Not(F.at_least(rng.randint(1, 3), F.Atom(rng.choice(names))))
        if timed and rng.random() < 0.4:
            right = rng.choice((F.Not, lambda body: body))(window(rng)(F.Atom(rng.choice(names))))
        trigger = F.Atom(rng.choice(TRIGGERS))
        body = F.Implies(trigger if rng.random() < 0.5 else F.And(trigger, left), right)
        rule = Rule("r1", "", F.Always(body), "forbid", clause=decisions.clause_id("0" * 12))
        if timed and not F.windows(body):
            continue
        try:
            return RuleSet(PREDICATES, (rule,))
        except ValueError:
            continue


def random_call(rng: random.Random, values: list, gaps: float) -> Call:
    tool = rng.choice(("ta", "ta", "tb", "tc"))
    arguments = {"x": rng.choice(values)} | ({"y": rng.choice(values)} if tool == "tc" else {})
    arguments |= {"n": rng.randint(1, 3)} if tool == "ta" else {}
    return Call(tool, {name: value for name, value in arguments.items() if rng.random() >= gaps})


def random_steps(rng: random.Random, gaps: float, timed: bool = False) -> list[Step]:
    steps, now = untimed_steps(rng, gaps), "2026-03-01T12:00:00+00:00"
    for i, step in enumerate(steps if timed else ()):
        seconds = rng.choice((0, 0.5, 1, 2, 2, 3, 6)) if rng.random() > 0.3 * gaps else -1
        now = same_object.later(now, seconds)
        steps[i] = replace(step, state={**step.state, **({"now": now} if rng.random() >= gaps else {})})
    return steps


def untimed_steps(rng: random.Random, gaps: float) -> list[Step]:
    values = rng.sample(VALUES, rng.randint(1, 3))
    return [
        Step(
            tuple(random_call(rng, values, gaps) for _ in range(rng.choice((0, 1, 1, 1, 2)))),
            {"p": rng.random() < 0.5} if rng.random() >= gaps else {},
        )
        for _ in range(rng.randint(1, 6))
    ]


def generated(rules: RuleSet) -> CallGuard:
    """A guard of the code that is written from the rules alone."""
    made = [contract.contract(tool, rules) for tool in TOOLS]
    sources = [contract.assemble(synthesis.alone(one), one) for one in made]
    guards = tuple(Guarded(one, source, "tested") for one, source in zip(made, sources, strict=True))
    return CallGuard("g", rules, guards, frozenset({"tested"}))


@lru_cache(1)
def ruled(seed: int) -> tuple[RuleSet, CallGuard]:
    """A random rule, with its guard; several traces are tried on each.  Every other rule has windows in time."""
    rules = random_rule(random.Random(-1 - seed), seed % 2 == 1)
    return rules, generated(rules)


def truth(decision: str) -> float:
    return {"allow": 1.0, "deny": 0.0, "undecided": 0.5}[decision]


def compare(seed: int) -> tuple[int, int]:
    """How many truths of one random rule and trace were compared, and how many of them were known.

    The monitor must say exactly what the evaluator says; a decision must, where nothing is unknown, and elsewhere say
    at least as much, and nothing that some way to fill in the unknown makes wrong.  A decision counts the calls of a
    step one by one, also where the formula asks for what was before; of what happened since what, it need not know.
    """
    rng = random.Random(seed)
    rules, guard = ruled(seed // TRACES)
    steps = random_steps(rng, rng.choice((0.0, 0.0, 0.15)), bool(F.windows(rules.rules[0].formula)))
    body = rules.rules[0].formula.body
    read = {p.name: among(p) if p.objects else reader(p) for p in rules.predicates} | {F.TIME: runtime.time}
    slices, watch = Slices(body), guard.watch()
    compared = known = 0
    for i, step in enumerate(steps):
        so_far = steps[: i + 1]
        expected = same_object.everywhere(body, so_far, rules)
        found = slices.peek({name: one(step, None) for name, one in read.items()})
        assert (0.5 if found is None else float(found)) == expected, (seed, i, "monitor", rules.rules[0], so_far)
        for j in range(len(step.calls)):
            asked = [*steps[:i], Step(step.calls[: j + 1], step.state)]
            got = truth(watch.judge(asked[-1]).decision)
            several, said = any(len(one.calls) > 1 for one in asked), render(body)
            apart, asked = [*one_by_one(body, asked[:-1], rules), asked[-1]], one_by_one(body, asked, rules)
            expected = same_object.at_call(body, asked, rules)
            whole = (seed, i, j, got, expected, rules.rules[0], asked)
            loose = several and ("SINCE" in said or ("COUNT" in said and "PREVIOUSLY" in said))
            loose = loose or (several and len(set(counted_tools(body, rules))) > 1)
            unsure = got == 0.5 and expected == 1.0 and several and same_object.ambiguous(body, apart, rules)
            if expected != 0.5 and identified(rules, step.calls[j]) and not loose:
                assert got == expected or unsure, whole
            if got == 1.0:
                assert same_object.at_call(body, apart, rules, ordered=True) != 0.0, whole
            if got != 0.5 and not (loose and "COUNT" in said):
                values = [*{identity(v): v for s in asked for c in s.calls for v in values_of(c)}.values(), "w"]
                for ended in same_object.completed(asked, values):
                    assert same_object.at_call(body, ended, rules) == got, (whole, ended)
            compared, known = compared + 1, known + (got != 0.5)
        assert slices.step({name: one(step, None) for name, one in read.items()}) is found, (
            "a step tells what a look does"
        )
        watch.remember(step)
        compared += 1
    if all("p" in s.state and all(identified(rules, c) for c in s.calls) for s in steps):
        compared += automata(body, steps, rules)
    return compared, known


def one_by_one(body: F.Formula, steps: list[Step], rules: RuleSet) -> list[Step]:
    """The steps with one call of those that are counted each, the others with the last of these."""
    mine = frozenset().union(*counted_tools(body, rules))
    found = []
    for step in steps:
        first = [call for call in step.calls if call.tool in mine][:-1]
        found += [replace(step, calls=(call,)) for call in first]
        found.append(replace(step, calls=tuple(call for call in step.calls if not any(call is one for one in first))))
    return found


def counted_tools(body: F.Formula, rules: RuleSet) -> list[frozenset[str]]:
    """The tools whose calls each count of a formula counts; a guard takes a step apart for each count by itself."""
    counts = [part for part in F.subformulas(body) if (F.counted(part) or (1,))[0] > 1 or getattr(part, "times", 1) > 1]
    named = [set(F.predicates(part)) for part in counts]
    return [frozenset(tool for p in rules.predicates if p.name in names for tool in p.tools) for names in named]


def values_of(call: Call) -> list:
    return [value for name, value in call.arguments.items() if name in "xy"]


def identified(rules: RuleSet, call: Call) -> bool:
    return all(call.tool not in p.tools or same_object.named(p, call) is not None for p in rules.predicates) and (
        call.tool != "ta" or "n" in call.arguments
    )


def automata(body: F.Formula, steps: list[Step], rules: RuleSet) -> int:
    """The same rule compiled: an automaton of its copies for every value of the trace."""
    keys = list(dict.fromkeys(identity(v) for s in steps for c in s.calls for v in values_of(c)))
    if len(keys) ** len(F.variables(body)) > 3:
        return 0
    try:
        monitor, broken = semantics.Monitor(F.Always(grounded(body, len(keys)))), False
    except AutomatonError:  # it reads too many atoms for an automaton
        return 0
    for i, step in enumerate(steps):
        true = {p.name for p in rules.predicates if not p.objects and reader(p)(step, None)}
        for p in (p for p in rules.predicates if p.objects):
            told = among(p)(step, None)
            if None in told.named.values():
                return 0
            true |= {p.name} if told.some else set()
            ones = [[str(keys.index(one) + 1) for one in key] for key, made in told.named.items() if made]
            true |= {f"{p.name}({', '.join(one)})" for one in ones}
        broken = broken or same_object.everywhere(body, steps[: i + 1], rules) == 0.0
        assert (monitor.step(true) == "permanently_false") >= broken, (body, steps)
        assert monitor.verdict.endswith("true") is not broken, (body, steps)
    return len(steps)


def test_monitor_code_and_automaton_say_what_enumeration_says() -> None:
    found = [compare(seed) for seed in range(240)]
    assert sum(one for one, _ in found) > 1500 and sum(one for _, one in found) > 500


# ---- a rule file, its guards and its shield ---------------------------------------------------------

FILE = """
predicates:
  cancel: {kind: action, description: the agent cancels, tools: [cancel_order], objects: [call.order_id]}
  get: {kind: action, description: the agent looks at it, tools: [get_order], objects: [call.order_id]}
  refund: {kind: action, tools: [refund], objects: [call.order]}
  small: {kind: state, tools: [refund], test: call.amount <= 100, objects: [call.order]}
  attempt: {kind: action, tools: [charge], objects: [call.order]}
  checkout: {kind: action, tools: [checkout]}
  add: {kind: action, tools: [add_item], objects: [call.item]}
  weigh: {kind: action, tools: [weigh_item], objects: [call.item]}
  agreed: {kind: state, tools: [answer], test: call.by == "user" && call.yes, objects: [call.order, call.size]}
  asks: {kind: action, tools: [ask], objects: [call.order]}
  resize: {kind: action, tools: [resize], objects: [call.order, call.size]}
rules:
  - {id: looked, text: Look an order up before you cancel it., modality: permit_only_if,
     formula: ALWAYS (cancel(r) IMPLIES PREVIOUSLY ONCE get(r))}
  - {id: once, text: No two refunds of one order., modality: forbid,
     formula: ALWAYS (refund(o) IMPLIES NOT PREVIOUSLY ONCE refund(o))}
  - {id: small, text: Refund small sums of orders that were looked up., modality: permit_only_if,
     formula: ALWAYS (refund(o) IMPLIES small(o) AND ONCE get(o))}
  - {id: three, text: Three attempts an order., modality: forbid,
     formula: "ALWAYS (attempt(o) IMPLIES COUNT[<= 3] attempt(o))"}
  - {id: weighed, text: Weigh all items before checkout., modality: permit_only_if,
     formula: ALWAYS (checkout AND ONCE add(i) IMPLIES ONCE weigh(i))}
  - {id: consent, text: Only what the user agreed to, modality: permit_only_if,
     formula: "ALWAYS (resize(o, s) IMPLIES PREVIOUSLY ((NOT resize(o, s) AND NOT asks(o)) SINCE agreed(o, s)))"}
"""


def text(*names: str) -> tuple[Field, ...]:
    return tuple(Field(name, "string") for name in names)


ORDERS = Toolbox(
    (
        Tool("cancel_order", arguments=text("order_id")),
        Tool("get_order", arguments=text("order_id")),
        Tool("refund", arguments=(*text("order"), Field("amount", "integer"))),
        Tool("charge", arguments=text("order")),
        Tool("checkout"),
        Tool("add_item", arguments=text("item")),
        Tool("weigh_item", arguments=text("item")),
        Tool("answer", arguments=(*text("order", "size", "by"), Field("yes", "boolean"))),
        Tool("ask", arguments=text("order", "size")),
        Tool("resize", arguments=text("order", "size")),
    )
)


@pytest.fixture(scope="module")
def rules() -> RuleSet:
    return rulefile.loads(FILE)


@pytest.fixture(scope="module")
def guard(rules: RuleSet) -> CallGuard:
    made = contract.contracts(ORDERS, rules)
    code = [f"{one.signature}\n    return ({one.allows}, 'said')\n" for one in made]
    kept = [Guarded(one, contract.assemble(source, one), "tested") for one, source in zip(made, code, strict=True)]
    return CallGuard("orders", rules, tuple(kept), frozenset({"tested"}), ORDERS)


@pytest.fixture(scope="module")
def shield(rules: RuleSet) -> Shield:
    actions = {p.name: [r.id for r in rules.rules if p.name in r.predicates] for p in rules.predicates}
    by_action = {p.name: actions[p.name] for p in rules.predicates if p.kind == "action"}
    return Shield(rules.predicates, circuit.build(rules, by_action), toolbox=ORDERS)


CALLS = {
    "cancel": ("cancel_order", "order_id"),
    "get": ("get_order", "order_id"),
    "charge": ("charge", "order"),
    "add": ("add_item", "item"),
    "weigh": ("weigh_item", "item"),
}


def asked(said: str) -> tuple[str, dict]:
    """A call in few words: `refund A 5`, `resize A big`, `yes A big`."""
    verb, *rest = said.split()
    if verb in CALLS:
        return CALLS[verb][0], {CALLS[verb][1]: rest[0]}
    if verb in ("yes", "no", "echo"):  # an echo is a yes of the agent's own
        by = "assistant" if verb == "echo" else "user"
        return "answer", {"order": rest[0], "size": rest[1], "by": by, "yes": verb != "no"}
    if verb == "refund":
        return "refund", {"order": rest[0], "amount": int(rest[1])}
    return verb, dict(zip(("order", "size"), rest, strict=False))


@pytest.mark.parametrize(
    ("story", "decision"),
    [
        ("cancel A", "deny"),
        ("get A; cancel A", "allow"),
        ("get B; cancel A", "deny"),
        ("get A; get B; cancel A; cancel B", "allow"),
        ("get a; cancel A", "deny"),
        ("get A; refund A 5", "allow"),
        ("get A; refund A 5; refund A 5", "deny"),
        ("get A; refund A 500; refund A 5", "allow"),  # what was denied was not done
        ("get A; get B; refund A 5; refund B 5", "allow"),
        ("get A; refund A 500", "deny"),
        ("charge A; charge A; charge A", "allow"),
        ("charge A; charge A; charge A; charge A", "deny"),
        ("charge A; charge A; charge A; charge A; charge A; charge B", "allow"),
        ("checkout", "allow"),
        ("add x; checkout", "deny"),
        ("add x; weigh x; add y; checkout", "deny"),
        ("add x; weigh x; add y; weigh y; checkout", "allow"),
        # a confirmation belongs to its action and object, and is used up
        ("ask A big; yes A big; resize A big", "allow"),
        ("resize A big", "deny"),
        ("ask A big; no A big; resize A big", "deny"),
        ("ask A big; echo A big; resize A big", "deny"),
        ("ask A big; yes A big; resize A big; resize A big", "deny"),
        ("ask A big; yes A big; resize A big; ask A big; yes A big; resize A big", "allow"),
        ("ask A big; yes A big; resize B big", "deny"),
        ("ask A big; yes A big; resize A small", "deny"),
        ("ask A big; yes A big; ask A small; resize A big", "deny"),
        ("ask A big; yes A big; ask A small; yes A small; resize A big", "deny"),
        ("ask A big; yes A big; ask B big; resize A big", "allow"),
        ("ask A big; yes A big; get A; charge A; resize A big", "allow"),
    ],
)
def test_a_guard_and_a_shield_judge_a_story(guard: CallGuard, shield: Shield, story: str, decision: str) -> None:
    for judge in (guard, shield):
        session = judge.session()
        verdicts = [session.call(*asked(said)) for said in story.split("; ")]
        assert verdicts[-1].decision == decision, verdicts[-1]
        assert decision == "allow" or (verdicts[-1].violated and verdicts[-1].quotes)


def test_who_said_yes_stays_in_the_log(guard: CallGuard, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    session = guard.session(log=log)
    for said in ("yes A big", "echo A big", "resize A big"):
        session.call(*asked(said))
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    assert [row["arguments"].get("by") for row in rows] == ["user", "assistant", None]


def test_a_call_that_failed_names_no_object(guard: CallGuard) -> None:
    session = guard.session()
    session.call(*asked("get A"))
    session.result("not found", error=True)
    assert session.call(*asked("cancel A")).decision == "deny"


def test_calls_of_one_step_are_judged_in_order(guard: CallGuard) -> None:
    session = guard.session()
    assert session.call(*asked("get A"), step=1).decision == "allow"
    assert session.call(*asked("cancel A"), step=1).decision == "deny", "strictly before is a step before"
    assert session.call(*asked("cancel A"), step=2).decision == "allow"
    session.call(*asked("refund A 5"), step=3)
    verdict = session.call(*asked("refund A 500"), step=3)
    assert verdict.violated == ("small",), (
        "the judged call's own sum counts, not that of another call of the same order"
    )


@pytest.mark.parametrize("judge", ["guard", "shield"])
@pytest.mark.parametrize("value", [None, [], {"a": 1}, ("A",)])
def test_an_object_that_cannot_be_told_is_never_allowed(
    guard: CallGuard, shield: Shield, rules: RuleSet, judge: str, value: object
) -> None:
    """Without declared types, so that the value gets as far as the rules."""
    free = CallGuard("free", rules, guard.guarded, guard.accepted) if judge == "guard" else None
    session = (free or Shield(shield.predicates, shield.circuits)).session()
    session.call("get_order", {"order_id": "A"})
    arguments = {} if value is None else {"order_id": value}
    assert session.call("cancel_order", arguments).decision in ("undecided", "deny")
    assert session.call("cancel_order", {"order_id": "A"}).decision == "allow", "the others are not disturbed"


def test_a_missing_object_makes_its_predicate_unknown_of_all(guard: CallGuard, rules: RuleSet) -> None:
    free = CallGuard("free", rules, guard.guarded, guard.accepted)
    known, strange = Step((Call("charge", {"order": "A"}),)), Step((Call("charge", {}),))
    assert free.decide(Trace("t", (strange, known, known))).decision == "allow", "three are surely not exceeded"
    verdict = free.decide(Trace("t", (strange, known, known, known)))
    assert verdict.decision == "undecided", "the first may have been of this order"
    assert verdict.missing == ("COUNT[>= 4] attempt(call.order)",)
    assert free.decide(Trace("t", (strange, known, known, known, known))).decision == "deny"


def test_one_is_not_the_text_of_one(guard: CallGuard, rules: RuleSet) -> None:
    session = CallGuard("free", rules, guard.guarded, guard.accepted).session()
    session.call("get_order", {"order_id": 1})
    assert session.call("cancel_order", {"order_id": "1"}).decision == "deny"
    assert session.call("cancel_order", {"order_id": True}).decision == "deny"
    assert session.call("cancel_order", {"order_id": 1.0}).decision == "allow"


def test_recorded_runs_are_judged_by_object(guard: CallGuard) -> None:
    """What was executed happened, whatever the guard says of it; runs that are interleaved do not mix."""
    told = [
        ("one", "get A", None, "allow"),
        ("two", "cancel A", None, "deny"),
        ("one", "get B", True, "allow"),
        ("one", "cancel A", None, "allow"),
        ("one", "cancel B", None, "deny"),
        ("two", "refund B 5", False, "deny"),
        ("two", "refund B 5", None, "deny"),
    ]
    lines = []
    for run, said, failed, label in told:
        tool, arguments = asked(said)
        lines.append({"run": run, "call": {"tool": tool, "arguments": arguments}, "label": label})
        lines += [] if failed is None else [{"run": run, "result": "", "error": failed}]
    runs = events.loads("\n".join(map(json.dumps, lines)))
    found = [one for run in runs for one in recorded.judge(guard, run.events)]
    assert [one.verdict.decision for one in found] == [one.label for one in found]
    assert found[-1].verdict.violated == ("once", "small"), "the refund that was executed counts"


def test_a_contract_names_what_is_looked_up_and_for_which_object(rules: RuleSet) -> None:
    made = {one.tool: one for one in contract.contracts(ORDERS, rules)}
    (looked,) = made["cancel_order"].parameters
    assert (looked.name, looked.type) == ("previously_once_get", "bool")
    assert looked.about == "over the steps so far, for the same order_id: the agent looks at it"
    assert [item.condition for item in made["refund"].items] == [
        "not previously_once_refund",
        "(amount <= 100) and once_get",
    ], "what the call itself tells stays inside the proof"
    assert [item.condition for item in made["charge"].items] == ["not at_least_4_attempt"]
    (every,) = made["checkout"].parameters
    assert "for every i" in every.about and F.variables(every.past) == ("i",)


def test_objects_that_two_parts_do_not_share_are_looked_up_apart() -> None:
    rules = RuleSet(
        (*PREDICATES, Predicate("go", "action", "", tools=("go",))),
        (Rule("r", "", semantics.parse("ALWAYS NOT (go AND ONCE a(r) AND ONCE b(s) AND p)"), "forbid"),),
    )
    made = contract.contract(Tool("go"), rules)
    assert [p.name for p in made.parameters] == ["not_once_a", "not_once_b", "p"]
    assert made.conditions == ("not_once_a or not_once_b or (not p)",)


def test_an_object_may_lie_inside_an_argument() -> None:
    inside = (facts.Path(("call", "order", "id")),)
    known = (
        Predicate("pay", "action", "", tools=("pay",), objects=inside),
        Predicate("see", "action", "", tools=("see",), objects=inside),
    )
    rules = RuleSet(known, (Rule("r", "", semantics.parse("ALWAYS (pay(o) IMPLIES ONCE see(o))"), "forbid"),))
    made = [contract.contract(Tool(name), rules) for name in ("pay", "see")]
    assert made[0].parameters[0].about.startswith("over the steps so far, for the same order.id")
    sources = [contract.assemble(f"{one.signature}\n    return ({one.allows}, '')\n", one) for one in made]
    kept = tuple(Guarded(one, source, "tested") for one, source in zip(made, sources, strict=True))
    session = CallGuard("g", rules, kept, frozenset({"tested"})).session()
    session.call("see", {"order": {"id": 7, "lines": [1]}})
    asked = ({"id": 7}, {"id": 8}, {"id": "7"}, {"id": None}, {}, 7)
    found = [session.call("pay", {"order": one}).decision for one in asked]
    assert found == ["allow", "deny", "deny", "undecided", "undecided", "undecided"]


def test_two_atoms_of_one_tool_are_both_what_the_call_does() -> None:
    x = facts.Path(("call", "x"))
    known = (
        Predicate("send", "action", "", tools=("send",), objects=(x,)),
        Predicate("writes", "action", "", tools=("send", "save"), objects=(x,)),
        Predicate("seen", "action", "", tools=("see",), objects=(x,)),
    )
    rule = Rule("r", "", semantics.parse("ALWAYS (send(r) AND writes(r) IMPLIES ONCE seen(r))"), "forbid")
    assert residual.bearing(rule, "send", RuleSet(known, (rule,))) == semantics.parse("ONCE seen(call.x)")
    left = residual.bearing(rule, "save", RuleSet(known, (rule,)))
    assert left == semantics.parse("NOT send(call.x) OR ONCE seen(call.x)")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("resize(o, s) IMPLIES", "resize(o, s, t) IMPLIES"), "2 objects of resize were required"),
        (("checkout AND", "checkout(i) AND"), "0 objects of checkout were required"),
        (("ONCE weigh(i))", "ONCE weigh(j))"), "demands something of every j"),
        (("ONCE weigh(i))", "ONCE weigh(call.item))"), "variables such as r were required"),
        (("ONCE weigh(i))", "ONCE weigh(1))"), "variables such as r were required"),
        (("small(o) AND", "small AND"), "the objects of small were required"),
        (("resize(o, s) IMPLIES", "resize(o, o) IMPLIES"), "a variable for each object was required"),
        (("objects: [call.item]", "objects: [state.item]"), "an object is told by an argument"),
        (("objects: [call.item]", "objects: ['call[\"x.y\"]']"), "told by names of letters, digits and _"),
        (("objects: [call.item]", "objects: [call]"), "objects.0"),
        (("objects: [call.item]", "objects: [call.item == 1]"), "an argument such as call.id was required"),
        (("objects: [call.item]", "objects: call.item"), "a list was required"),
        (("tools: [add_item], ", ""), "needs the tools whose calls name them"),
    ],
)
def test_a_rule_file_is_refused_where_its_objects_are_not_clear(change: tuple[str, str], words: str) -> None:
    with pytest.raises(rulefile.RuleFileError) as caught:
        rulefile.loads(FILE.replace(*change))
    assert words in str(caught.value), caught.value


def test_a_rule_file_is_read_back(rules: RuleSet) -> None:
    assert rulefile.loads(rulefile.dumps(rules)) == rulefile.from_json(rulefile.to_json(rules)) == rules


# ---- decisions about rule sets --------------------------------------------------------------------

NAMES = ("a(r)", "b(r)", "a", "b", "p")
SAFE = [
    f"ALWAYS (a(r) IMPLIES {right})" for right in ("ONCE b(r)", "ONCE b", "NOT ONCE b(r)", "COUNT[<= 1] a(r)", "p")
] + ["ALWAYS (b(r) IMPLIES PREVIOUSLY ONCE a(r))", "ALWAYS (p AND ONCE a(r) IMPLIES ONCE b(r))", "ALWAYS NOT a"]


def on_objects(formula: F.Formula, word: tuple) -> bool:
    """Whether a rule is kept on a trace of two objects, by the definition over objects."""
    steps = []
    for step in word:
        named = {name: {(i,): True for i in (1, 2) if f"{name}({i})" in step} for name in "ab"}
        steps.append({"p": "p" in step} | {name: Among(keys, False, bool(keys)) for name, keys in named.items()})
    return all(enumerated.table(formula.body, steps))


def test_decisions_for_two_objects_agree_with_the_definition() -> None:
    given = F.conjunction(tuple(rule.formula for rule in physical.about(PREDICATES[:2], ("1", "2"))))
    words = [w for n in (1, 2) for w in product([frozenset(c) for c in CASES], repeat=n)]
    rules = [semantics.parse(text) for text in SAFE]
    kept = {rule: {w for w in words if on_objects(rule, w)} for rule in rules}
    yes = 0
    for one, other in product(rules, repeat=2):
        answer, apart = decide.implies(grounded(one, 2), grounded(other, 2), given), kept[one] - kept[other]
        if answer:
            yes += 1
            assert not apart
        else:
            assert on_objects(one, answer.witness) and not on_objects(other, answer.witness)
            assert not apart or len(answer.witness) == min(map(len, apart)), "a witness is a shortest"
        both = decide.contradictory(grounded(one, 2), grounded(other, 2), F.And(given, FIRES))
        if both:
            assert not any("a(1)" in step for w in kept[one] & kept[other] for step in w)
        else:
            assert on_objects(one, both.witness) and on_objects(other, both.witness)
    assert 5 < yes < 50


CASES = [c for n in range(6) for c in combinations(("a(1)", "a(2)", "b(1)", "b(2)", "p"), n)]
FIRES = semantics.parse("EVENTUALLY a(1)")


@pytest.mark.parametrize(
    ("formulas", "said"),
    [
        (("cancel(r) IMPLIES ONCE get(r)", "cancel(s) IMPLIES ONCE get(s)"), "r0 and r1 say the same"),
        (("cancel(r) IMPLIES ONCE get(r)", "cancel IMPLIES ONCE get"), "r1 is implied by r0"),
        (("cancel IMPLIES ONCE get", "cancel(r) IMPLIES ONCE get(r)"), "r0 is implied by r1"),
        (("attempt(o) IMPLIES COUNT[<= 3] attempt(o)", "attempt(o) IMPLIES COUNT[<= 2] attempt(o)"), "r0 is implied"),
        (
            ("cancel(r) IMPLIES PREVIOUSLY ONCE get(r)", "get(r) IMPLIES PREVIOUSLY ONCE cancel(r)"),
            "r0 can never fire while",
        ),
        (("refund(r) IMPLIES ONCE get(r)",), "nothing to repair"),
        (
            ("refund(r) AND small(r) IMPLIES NOT refund(r)", "refund(r) IMPLIES small(r)"),
            "r1 can never fire while r1, r0",
        ),
        (("refund(r) IMPLIES refund(r)",), "says nothing: it holds whatever happens"),
        (("NOT refund(r) IMPLIES NOT small(r)",), "says nothing"),
    ],
)
def test_a_rule_set_is_decided_for_two_objects(rules: RuleSet, formulas: tuple[str, ...], said: str) -> None:
    made = tuple(
        Rule(f"r{i}", "", semantics.parse(f"ALWAYS ({text})"), "permit_only_if") for i, text in enumerate(formulas)
    )
    report = check.check(replace(rules, rules=made))
    shown = check.render(report)
    assert report.objects == 2 and "rules with variables are decided for 2 objects" in shown
    assert not report.undecided
    assert said in shown, shown


def test_rules_without_variables_are_decided_as_before(rules: RuleSet) -> None:
    made = replace(rules, rules=(Rule("r", "", semantics.parse("ALWAYS (cancel IMPLIES ONCE get)"), "forbid"),))
    report = check.check(made)
    assert report.objects == 0 and "objects" not in check.render(report)


if __name__ == "__main__":
    first, last = [0, *map(int, sys.argv[1:])][-2:]
    truths = known = 0
    for seed in range(first, last):
        one, other = compare(seed)
        truths, known = truths + one, known + other
        if (seed + 1) % 500 == 0 or seed + 1 == last:
            done = f"{seed + 1 - first} rules and traces from seed {first}"
            print(f"{done}: {truths} truths agree, {known} decisions are known", flush=True)


def told(judge: CallGuard | Shield, *steps: str) -> list[str]:
    """The decisions of the calls of each step, such as "charge 1, charge 2"; what is not denied was done."""
    session, found = judge.session(), []
    for number, step in enumerate(steps):
        for said in step.split(", "):
            tool, order = said.split()
            found.append(session.call(*asked(f"{tool} {order}"), number).decision)
    return found


@pytest.mark.parametrize("kind", ["guard", "shield"])
def test_several_calls_of_one_step_are_not_counted_as_one(kind: str, guard: CallGuard, shield: Shield) -> None:
    """A formula that counts takes them one by one."""
    judge = {"guard": guard, "shield": shield}[kind]
    assert told(judge, "charge 1", "charge 1", "charge 1", "charge 1") == ["allow", "allow", "allow", "deny"]
    assert told(judge, "charge 1, charge 1, charge 1, charge 1", "charge 1") == ["allow"] * 3 + ["deny"] * 2
    assert told(judge, "charge 1, charge 2, charge 1", "charge 2, charge 1, charge 1") == ["allow"] * 5 + ["deny"]


def test_what_has_no_order_within_a_step_is_unknown_to_what_happened_since(guard: CallGuard, shield: Shield) -> None:
    """A yes and what uses it up, in one step; of another object it does not matter."""
    for judge in (guard, shield):
        for order, decision in (
            ("ask A big; yes A big", "undecided"),
            ("yes A big; ask A big", "undecided"),
            ("yes A big; ask B big", "allow"),
            ("yes A big; get A", "allow"),
            ("no A big; ask A big", "deny"),
        ):
            session = judge.session()
            assert {session.call(*asked(said), 0).decision for said in order.split("; ")} == {"allow"}
            assert session.call(*asked("resize A big"), 1).decision == decision, (judge.name, order)


def test_what_is_counted_only_where_two_calls_come_together_is_not_taken_apart() -> None:
    known = {name: Predicate(name, "action", "", tools=(name,)) for name in ("refund", "flag")}
    known["small"] = Predicate("small", "state", "", tools=("refund",), test=cel.parse("call.amount <= 3"))
    for text, tools in (
        ("COUNT[<= 1] refund", {"refund"}),
        ("COUNT[<= 1] (refund OR flag)", {"refund", "flag"}),
        ("COUNT[<= 1] (refund AND small)", {"refund"}),
        ("COUNT[<= 1] (refund AND flag)", set()),
        ("COUNT[<= 1, 1h] (refund AND flag)", set()),
        ("ONCE refund", set()),
    ):
        assert counting(parse(f"ALWAYS (flag IMPLIES {text})"), known) == tools, text
