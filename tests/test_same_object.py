"""Rules about the same object, from the rule file to the decision, against an evaluator that tries all values.

`python tests/test_same_object.py 20000` compares as many random rules and traces.
"""

import json
import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from formulas import random_formula  # noqa: E402
from oracles import same_object  # noqa: E402

from wb.domain.tools import Field, Tool, Toolbox  # noqa: E402
from wb.domain.trace import Call, Step  # noqa: E402
from wb.guards import contract, decided, synthesis  # noqa: E402
from wb.guards.runtime import CallGuard, Guarded  # noqa: E402
from wb.guards.synthesis import Attempt, Draft  # noqa: E402
from wb.logic import cel, facts, semantics  # noqa: E402
from wb.logic import formula as F  # noqa: E402
from wb.logic.automaton import AutomatonError  # noqa: E402
from wb.logic.objects import NOBODY, Slices, grounded, identity  # noqa: E402
from wb.rules import decisions, residual, rulefile  # noqa: E402
from wb.rules.rule import Predicate, Rule, RuleSet, among, reader  # noqa: E402
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
VALUES = ("u", "v", 1, 1.0, "1", True)


def random_rule(rng: random.Random) -> RuleSet:
    """A rule ALWAYS (call and so on IMPLIES past) that a rule set takes."""
    while True:
        used = rng.choice(("r", "r", "rs"))
        names = ["p", "a", "b", "any_b", *(f"{n}({v})" for n in ("a", "b", "big") for v in used)]
        names += ["c(r, s)", "c(s, r)"] if used == "rs" else []
        left, right = (random_formula(rng, rng.randint(0, 2), names, UNARY, BINARY) for _ in range(2))
        if rng.random() < 0.2:
            right = F.Not(F.at_least(rng.randint(1, 3), F.Atom(rng.choice(names))))
        trigger = F.Atom(rng.choice(TRIGGERS))
        body = F.Implies(trigger if rng.random() < 0.5 else F.And(trigger, left), right)
        rule = Rule("r1", "", F.Always(body), "forbid", clause=decisions.clause_id("0" * 12))
        try:
            return RuleSet(PREDICATES, (rule,))
        except ValueError:
            continue


def random_call(rng: random.Random, values: list, gaps: float) -> Call:
    tool = rng.choice(("ta", "ta", "tb", "tc"))
    arguments = {"x": rng.choice(values)} | ({"y": rng.choice(values)} if tool == "tc" else {})
    arguments |= {"n": rng.randint(1, 3)} if tool == "ta" else {}
    return Call(tool, {name: value for name, value in arguments.items() if rng.random() >= gaps})


def random_steps(rng: random.Random, gaps: float) -> list[Step]:
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
    sources = [contract.assemble(decided.alone(one), one) for one in made]
    guards = tuple(Guarded(one, source, "tested") for one, source in zip(made, sources, strict=True))
    return CallGuard("g", rules, guards, frozenset({"tested"}))


def truth(decision: str) -> float:
    return {"allow": 1.0, "deny": 0.0, "undecided": 0.5}[decision]


def compare(seed: int) -> tuple[int, int]:
    """How many truths of one random rule and trace were compared, and how many of them were known.

    The monitor must say exactly what the evaluator says; a decision must, where nothing is unknown, and elsewhere say
    at least as much, and nothing that some way to fill in the unknown makes wrong.
    """
    rng = random.Random(seed)
    rules, steps = random_rule(rng), random_steps(rng, rng.choice((0.0, 0.0, 0.15)))
    body = rules.rules[0].formula.body
    read = {p.name: among(p) if p.objects else reader(p) for p in rules.predicates}
    slices, watch = Slices(body), generated(rules).watch()
    compared = known = 0
    for i, step in enumerate(steps):
        so_far = steps[: i + 1]
        expected = same_object.everywhere(body, so_far, rules)
        found = slices.peek({name: one(step, None) for name, one in read.items()})
        assert (0.5 if found is None else float(found)) == expected, (seed, i, "monitor", rules.rules[0], so_far)
        for j in range(len(step.calls)):
            asked = [*steps[:i], Step(step.calls[: j + 1], step.state)]
            got, expected = truth(watch.judge(asked[-1]).decision), same_object.at_call(body, asked, rules)
            whole = (seed, i, j, got, expected, rules.rules[0], asked)
            if expected != 0.5 and identified(rules, step.calls[j]):
                assert got == expected, whole
            if got != 0.5:
                values = [*{identity(v): v for s in asked for c in s.calls for v in values_of(c)}.values(), "w"]
                for ended in same_object.completed(asked, values):
                    assert same_object.at_call(body, ended, rules) == got, (whole, ended)
            compared, known = compared + 1, known + (got != 0.5)
        slices.step({name: one(step, None) for name, one in read.items()})
        watch.remember(step)
        compared += 1
    if all("p" in s.state and all(identified(rules, c) for c in s.calls) for s in steps):
        compared += automata(body, steps, rules)
    return compared, known


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
    found = [compare(seed) for seed in range(250)]
    assert sum(one for one, _ in found) > 1500 and sum(one for _, one in found) > 500


if __name__ == "__main__":
    total = [compare(seed) for seed in range(int(sys.argv[1]))]
    print(
        f"{len(total)} rules and traces, {sum(a for a, _ in total)} truths, {sum(b for _, b in total)} decisions known"
    )
