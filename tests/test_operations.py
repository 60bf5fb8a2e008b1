"""The loop of operations: what is asked at a call, in which order, and that it decides as asking all does."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping

import pytest
from bench import airline
from hypothesis import example, given, settings
from hypothesis import strategies as st

from wb.domain import events, tools
from wb.domain.answers import Answer, Question
from wb.domain.session import Session
from wb.logic import cel
from wb.logic.syntax import parse
from wb.rules.rule import Predicate, Rule, RuleSet
from wb.shield import circuit
from wb.shield.shield import Shield

ID = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
NAMES = ("a", "b", "c", "d", "e", "q", "s")  # five lookups, of which one is told by another; a question; a told one


def box(costs: Mapping[str, float]) -> tools.Toolbox:
    def lookup(name: str, of: str = "call.id") -> dict:
        source = {"lookup": f"get_{name}", "arguments": {"id": of}, "changed_by": []}
        return {"name": name, "type": "boolean", "from": {**source, "path": "is", "cost": costs[name]}}

    owner = {"lookup": "get_a", "arguments": {"id": "call.id"}, "changed_by": [], "path": "owner", "cost": costs["a"]}
    asked = {"question": "Did the user agree?", "of": ["user"], "cost": costs["q"], "arguments": {"id": "call.id"}}
    state = [
        lookup("a"),
        {"name": "owner", "type": "string", "from": owner},
        *[lookup(name) for name in "bcd"],
        lookup("e", "state.owner"),
        {"name": "q", "type": "boolean", "from": asked},
        {"name": "s", "type": "boolean"},
    ]
    reads = [{"name": f"get_{name}", "mutating": False, "parameters": ID} for name in "abcde"]
    return tools.parse(json.dumps({"tools": [*reads, *[{"name": n, "parameters": ID} for n in ACTS]], "state": state}))


ACTS = ("pay", "send")
PREDICATES = (
    *(Predicate(name, "action", "", tools=(name,)) for name in ACTS),
    *(Predicate(f"is_{name}", "state", "", test=cel.parse(f"state.{name}")) for name in NAMES),
)
FLAT = st.recursive(
    st.sampled_from([f"is_{name}" for name in NAMES]),
    lambda one: st.one_of(
        one.map(lambda a: f"NOT ({a})"),
        st.tuples(one, st.sampled_from(["AND", "OR", "IMPLIES"]), one).map(lambda t: f"({t[0]}) {t[1]} ({t[2]})"),
    ),
    max_leaves=4,
)
BODY = st.one_of(
    FLAT,
    FLAT.map(lambda one: f"ONCE (send AND ({one}))"),
    st.tuples(FLAT, FLAT).map(lambda two: f"({two[0]}) OR PREVIOUSLY ({two[1]})"),
)
RULE = st.tuples(st.sampled_from(ACTS), BODY).map(lambda two: f"ALWAYS ({two[0]} IMPLIES ({two[1]}))")
CALLS = st.lists(st.tuples(st.sampled_from(ACTS), st.sampled_from("xy")), min_size=1, max_size=4)
WORLD = st.dictionaries(st.tuples(st.sampled_from(NAMES), st.sampled_from("xyz")), st.sampled_from([True, False]))


def judges(rules: list[str], costs: Mapping[str, float]) -> dict:
    ruleset = RuleSet(PREDICATES, tuple(Rule(f"r{i}", "", parse(t), "forbid", quote=t) for i, t in enumerate(rules)))
    by_act = {act: tuple(rule.id for rule in ruleset.rules if act in rule.predicates) for act in ACTS}
    shield = Shield(PREDICATES, circuit.build(ruleset, by_act), toolbox=box(costs))
    return {"guard": airline.guarded("guard", box(costs), ruleset), "shield": shield}


def decided(judge: object, world: Mapping, calls: list, said: bool, told: bool | None, **options) -> tuple:
    """The decisions, what was asked, and the record."""
    asked, record = [], io.StringIO()

    def ask(tool: str, given: dict) -> dict:
        name = tool.removeprefix("get_")
        asked.append(name)
        if (name, given["id"]) not in world:
            raise OSError("down")
        return {"is": world[name, given["id"]], **({"owner": "z"} if name == "a" else {})}

    def answer(question: Question) -> Answer:
        asked.append("q")
        return Answer(world.get(("q", question.about["id"])), "yes" if said else "no such words", by="M")

    session = Session(judge, ask=ask, answer=answer, record=record, **options)
    session.say("user", "yes, do it")
    verdicts = []
    for act, of in calls:
        session.state({} if told is None else {"s": told})
        verdicts.append(session.call(act, {"id": of}))
    return verdicts, asked, record.getvalue()


@pytest.mark.parametrize("kind", ["guard", "shield"])
@settings(max_examples=250, deadline=None)
@given(
    st.lists(RULE, min_size=1, max_size=3),
    CALLS,
    WORLD,
    st.fixed_dictionaries({name: st.sampled_from([0, 0.5, 1, 3, 10]) for name in NAMES}),
    st.booleans(),
    st.sampled_from([True, False, None]),
)
@example(["ALWAYS (pay IMPLIES (ONCE (send AND (is_b))))"], [("send", "x"), ("pay", "x")], {("b", "x"): True},
         dict.fromkeys(NAMES, 1), True, None)  # fmt: skip
def test_the_loop_decides_as_asking_all_does_whatever_the_costs(kind, rules, calls, world, costs, said, told) -> None:
    judge = judges(rules, costs)[kind]
    loop, asked, record = decided(judge, world, calls, said, told)
    whole, everything, _ = decided(judge, world, calls, said, told, ask_all=True)
    assert [one.decision for one in loop] == [one.decision for one in whole]
    assert len(asked) <= len(everything)
    for one, other in zip(loop, whole, strict=True):
        assert set(one.violated) <= set(other.violated)
    happened = [event for run in events.loads(record) for event in run.events]
    assert list(Session(judge).replay(happened)) == loop, "a record decides the same, and nobody is asked"
