"""What lists come to by loops: the loops, their definitions and an evaluator that shares nothing with them agree.

    python tests/test_loops.py [PAIRS] [SEED]

Proofs of loops are in `test_nagini`, and of many random ones in `bench/proofs.py`.
"""

from __future__ import annotations

import ast
import random
import re
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from conftest import table
from oracles import plain as independent
from test_random_facts import FIELDS, ITEM, Facts

from wb.domain.tools import Field, Schema, Tool, Toolbox, schemas
from wb.domain.trace import Call, Step
from wb.guards import contract, loops, sandbox
from wb.guards.contract import Contract
from wb.guards.runtime import CallGuard, Guarded
from wb.logic import cel, evaluation, facts, syntax
from wb.logic.facts import FactError
from wb.rules.rule import Predicate, Rule, RuleSet

NAMES = {"number": "integer", "double": "number", "string": "string", "bool": "boolean", "moment": "string"}
ROW = {"type": "object", "properties": {}}


def schema(kind: str) -> dict:
    match kind:
        case "numbers" | "strings":
            return {"type": "array", "items": schema(kind.removesuffix("s"))}
        case "records":
            return {"type": "array", "items": schema("item")}
        case "item" | "record":
            own = {name: schema(one) for name, one in ITEM.items()}
            inner = {"type": "object", "properties": {"n": schema("number"), "ok": schema("bool")}}
            return {"type": "object", "properties": own if kind == "item" else {**own, "in": inner}}
        case "named":
            return {"type": "object", "additionalProperties": schema("item")}
    return {"type": NAMES.get(kind, "string")}


DECLARED = {name: schema(kind) for name, kind in FIELDS.items()}


def definitions(made: loops.Computed) -> dict[str, object]:
    """The pure functions of the contract, as Python."""
    space: dict[str, object] = {}
    for node in (one for source in made.sources for one in ast.parse(source).body):
        if isinstance(node, ast.FunctionDef) and node.decorator_list:
            node.decorator_list, node.returns = [], None
            node.body = [one for one in node.body if not isinstance(one, ast.Expr)]
            for one in node.args.args:
                one.annotation = None
            exec(compile(ast.fix_missing_locations(ast.Module([node], [])), "<definition>", "exec"), space)
    return space


def compare(pairs: int, seed: int) -> Counter:
    """How many pairs of a fact with a loop and a value were compared, and how; raises where two do not agree."""
    made, counts = Facts(random.Random(seed)), Counter()
    while counts["pairs"] < pairs:
        try:
            fact = made.fact()
        except FactError:
            continue
        known = DECLARED if made.chance.random() < 0.9 else None
        loop = loops.computed("p", fact, "bool", (known, known), {})
        if loop is None:
            counts["facts without a loop"] += 1
            continue
        counts["facts"] += 1
        counts.update({f"a loop {name}": f"{name}_" in "".join(loop.sources) for name in KINDS})
        asked: list[bool] = []
        whole = evaluation.compiled(fact)
        read = loops.reading(loop, lambda state, call: (asked.append(True), whole(state, call))[1], {})  # noqa: B023
        values = made.values()
        for one in (values, made.values(), made.damaged(values), made.damaged(values)):
            asked.clear()
            found, wanted = read(one["state"], one["call"]), independent.truth(fact, one)
            said = f"{cel.render(fact)}\n{one}\nloops {found}, plain {wanted}\n{''.join(loop.sources)}"
            assert found is wanted, said
            counts["pairs"] += 1
            counts["the evaluator was asked" if asked else f"loops say {found}"] += 1
            if not asked:
                given = {i.name: loops.given(i, loop, {})(one["state"], one["call"]) for i in loop.inputs}
                assert eval(loop.meant, definitions(loop), given) is found, said
    return counts


KINDS = ("every", "some", "count", "total", "least", "most")


def test_loops_their_definitions_and_a_plain_evaluator_agree_on_random_facts_and_values() -> None:
    counts = compare(600, 3)
    assert counts["loops say True"] > 40 and counts["loops say False"] > 40 and counts["the evaluator was asked"] > 40
    assert all(counts[f"a loop {name}"] for name in KINDS), counts


ITEMS = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "cents": {"type": "integer"},
            "kind": {"type": "string", "enum": ["card", "cash"]},
            "paid": {"type": "boolean"},
            "at": {"type": "string"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "price": {"type": "number"},
        },
    },
}
TOOL = Tool(
    "pay",
    arguments=(
        Field("items", "array", schema=Schema(ITEMS)),
        Field("ids", "array", schema=Schema({"type": "array", "items": {"type": "string"}})),
        Field("loose", "array", schema=Schema({"type": "array"})),
        Field("id", "string"),
        Field("most", "integer"),
    ),
)
STATE = (
    Field("least", "integer"),
    Field("now", "string"),
    Field("methods", "object", schema=Schema({"type": "object", "additionalProperties": {"type": "object"}})),
)


def guard(*tests: str) -> tuple[Contract, CallGuard]:
    """A guard of tests that must all be true of a call."""
    known = [Predicate("pays", "action", "", tools=("pay",))]
    known += [Predicate(f"p{i}", "state", "", tools=("pay",), test=cel.parse(text)) for i, text in enumerate(tests)]
    rules = [
        Rule(f"r{i}", "", syntax.parse(f"ALWAYS (pays IMPLIES p{i})"), "permit_only_if") for i in range(len(tests))
    ]
    ruleset = RuleSet(tuple(known), tuple(rules))
    made = contract.contract(TOOL, ruleset, STATE)
    source = contract.assemble(f"{made.signature}\n    return ({made.allows}, 'said')\n", made)
    box = Toolbox((TOOL,), STATE)
    return made, CallGuard("g", ruleset, (Guarded(made, source, "proved"),), frozenset({"proved"}), box)


INSIDE = {  # and what the loops read
    "sum(call.items.map(i, i.cents)) <= 500": "call.items.map(i, i.cents)",
    "sum(call.items.filter(i, i.paid).map(j, j.cents)) <= 500": "call.items.map(i, i.paid) call.items.map(j, j.cents)",
    "size(call.items.filter(i, i.kind == 'card')) < call.most": "call.items.map(i, i.kind)",
    "call.items.all(i, i.cents >= state.least)": "call.items.map(i, i.cents) state.least",
    "call.items.exists(i, i.kind in ['card', 'cash'] && i.paid)": "call.items.map(i, i.kind) call.items.map(i, i.paid)",
    "call.items.exists(i, !i.paid && i.kind != 'cash')": "call.items.map(i, i.paid) call.items.map(i, i.kind)",
    "call.items.exists_one(i, i.paid)": "call.items.map(i, i.paid)",
    "min(call.items.map(i, i.cents)) > 0": "call.items.map(i, i.cents)",
    "max(call.items.map(i, i.cents)) < 100": "call.items.map(i, i.cents)",
    "call.id in call.ids": "call.ids call.id",
    "call.id in state.methods": "the names of state.methods call.id",
    "call.ids.all(i, i in state.methods)": "call.ids the names of state.methods",
    "call.items.all(i, call.ids.exists(n, n == i.kind))": "call.items.map(i, i.kind) call.ids",
    "call.items.all(i, now - timestamp(i.at) <= duration('24h'))": "call.items.map(i, now - timestamp(i.at))",
}
OUTSIDE = {  # and the truths that are trusted, where there is a loop at all
    "call.items.all(i, i.tags.exists(t, t == 'x'))": ('call.items.map(i, i.tags.exists(t, t == "x"))',),
    "call.items.all(i, i.price < 2.5)": ("call.items.map(i, i.price < 2.5)",),
    "call.ids.exists(i, i.lowerAscii() < 'b')": ('call.ids.map(i, i.lowerAscii() < "b")',),
    "call.items.exists(i, i == call.items[0])": ("call.items.map(i, i == call.items[0])",),
}


@pytest.mark.parametrize("text", INSIDE)
def test_what_loops_compute_is_not_trusted(text: str) -> None:
    made, _ = guard(text)
    (one,) = made.looped
    assert " ".join(given.said for given in one.loop.inputs).replace("'", '"') == INSIDE[text].replace("'", '"')
    assert made.trusted == () and one in made.measured


@pytest.mark.parametrize("text", OUTSIDE)
def test_what_of_each_item_only_the_evaluator_can_say_is_trusted(text: str) -> None:
    made, _ = guard(text)
    assert tuple(given.said for one in made.looped for given in one.loop.inputs if given.trusted) == OUTSIDE[text]
    assert len(made.trusted) == 1


def test_a_test_of_another_tool_s_arguments_and_one_without_lists_have_no_loop() -> None:
    assert not guard("call.most <= 3", "size(call.items) <= 3", "call.id == 'x'")[0].looped
    assert not guard("max(call.items.map(i, 3)) == 3", "call.items.all(i, state.least > 1)")[0].looped
    other = Predicate("p", "state", "", tools=("look",), test=cel.parse("call.ids.all(i, i == 'x')"))
    acts = Predicate("pays", "action", "", tools=("pay",))
    rules = RuleSet((acts, other), (Rule("r", "", syntax.parse("ALWAYS (pays IMPLIES p)"), "permit_only_if"),))
    assert not contract.contract(TOOL, rules, STATE).looped


def test_the_source_that_is_proved_has_the_loops_and_what_runs_of_a_guard_has_not() -> None:
    made, _ = guard("call.items.all(i, i.cents >= 1)", "call.ids.all(i, i in state.methods)")
    code = f"{made.signature}\n    return ({made.allows}, 'said')\n"
    whole, alone = contract.assemble(code, made), contract.stated(code, made)
    assert whole.startswith(alone) and sandbox.strip(whole) == sandbox.strip(alone) == sandbox.strip(code)
    names = [n.name for n in ast.parse(whole).body if isinstance(n, ast.FunctionDef)]
    assert names[0] == "policy_pay" and all(name.startswith(sandbox.GENERATED) for name in names[1:])
    assert names[-1] == "lists__guard" and len(names) == len(set(names)) == 8
    assert sandbox.load(whole).points == sandbox.load(alone).points
    assert contract.probe(whole) == contract.probe(alone)
    with pytest.raises(contract.VacuousContract, match="exactly one function"):
        contract.assemble(whole, made)


def judged(one: CallGuard, call: dict, state: dict) -> str:
    return one.watch().judge(Step((Call("pay", call),), state)).decision


LARGE = 2**62


@pytest.mark.parametrize(
    ("text", "call", "state", "decision"),
    [
        ("sum(call.items.map(i, i.cents)) <= 500", {"items": [{"cents": 200}, {"cents": 300}]}, {}, "allow"),
        ("sum(call.items.map(i, i.cents)) <= 500", {"items": [{"cents": 200}, {"cents": 301}]}, {}, "deny"),
        ("sum(call.items.map(i, i.cents)) <= 500", {"items": []}, {}, "allow"),
        ("sum(call.items.map(i, i.cents)) <= 500", {"items": [{"cents": 200}, {}]}, {}, "undecided"),
        ("sum(call.items.map(i, i.cents)) <= 500", {"items": [{"cents": True}]}, {}, "undecided"),
        ("sum(call.items.map(i, i.cents)) > 0", {"items": [{"cents": LARGE}, {"cents": LARGE}]}, {}, "undecided"),
        ("sum(call.items.map(i, i.cents)) > 0", {"items": [{"cents": LARGE}]}, {}, "allow"),
        ("call.items.all(i, i.cents >= 1)", {"items": [{"cents": 0}, {}]}, {}, "deny"),
        ("call.items.all(i, i.cents >= 1)", {"items": [{"cents": 1}, {}]}, {}, "undecided"),
        ("call.items.exists(i, i.cents >= 1)", {"items": [{"cents": "x"}, {"cents": 1}]}, {}, "allow"),
        ("call.items.all(i, i.cents >= state.least)", {"items": []}, {}, "allow"),
        ("call.items.all(i, i.cents >= state.least)", {"items": [{"cents": 1}]}, {}, "undecided"),
        ("call.items.all(i, i.cents >= state.least)", {"items": [{"cents": 1}]}, {"least": 1}, "allow"),
        ("min(call.items.map(i, i.cents)) > 0", {"items": []}, {}, "undecided"),
        ("size(call.items) == 0 || min(call.items.map(i, i.cents)) > 0", {"items": []}, {}, "allow"),
        ("call.id in state.methods", {"id": "a"}, {"methods": {"a": {}}}, "allow"),
        ("call.id in state.methods", {"id": "a"}, {"methods": {"b": {}}}, "deny"),
        ("call.id in state.methods", {"id": "a"}, {"methods": {"b": {}, 3: {}}}, "deny"),
        ("call.id in state.methods", {"id": "a"}, {}, "undecided"),
        ("call.loose.all(i, i.at <= now)", {"loose": [{"at": 5}]}, {"now": "2026-01-01T00:00:00Z"}, "undecided"),
        ("call.loose.all(i, i.n <= 5)", {"loose": [{"n": 5}]}, {}, "allow"),
        ("call.loose.all(i, i.n <= 5)", {"loose": [{"n": 4.5}]}, {}, "allow"),
        ("call.ids.all(i, i == 'x')", {"ids": ["x"] * 10_001}, {}, "undecided"),
        ("call.ids.all(i, i == 'x')", {"ids": ["x"] * 10_000}, {}, "allow"),
        ("call.ids.all(i, i == 'x')", {"ids": {"x": 1}}, {}, "undecided"),
    ],
)
def test_a_guard_of_lists_decides_as_the_evaluator_does(text: str, call: dict, state: dict, decision: str) -> None:
    made, one = guard(text)
    assert made.looped and judged(one, call, state) == decision
    truth = evaluation.holds(cel.parse(text), {"call": call, "state": state})
    assert decision == {True: "allow", False: "deny", None: "undecided"}[truth]


# ---- the source of loops, word by word: Nagini proves what is said where it is there (`test_nagini`) -----------------

READ = schemas(STATE), schemas(TOOL.arguments)


def made(text: str, kind: loops.Type = "bool", **taken: loops.Input | None) -> loops.Computed | None:
    return loops.computed("p", cel.parse(text), kind, READ, taken)


def plain(text: str) -> str:
    """Without the digests that tell loops of one kind apart."""
    return re.sub(r"_[0-9a-f]{6}(?![0-9a-z])", "", text).replace(sandbox.GENERATED, "")


def said(one: loops.Computed) -> tuple[str, str, str]:
    """What is read (of each item: *; on trust: !), what is asked of it, and what the test means in the definitions."""
    inputs = [f"{i.name}:{i.kind}{'*' * i.many}{'!' * i.trusted}" for i in one.inputs]
    asked = [*(f"{a}~{b}" for a, b in one.alike), *(f"{a}+" for a in one.filled), *["added"] * one.added, str(one.most)]
    return " ".join(inputs), " ".join(asked), plain(one.meant)


@pytest.mark.parametrize(("text", "inputs", "meant"), table("loops.txt", 3))
def test_what_loops_read_and_mean(text: str, inputs: str, meant: str) -> None:
    read, asked, means = said(made(text))
    assert f"{read} | {asked}" == inputs.strip() and means == meant.strip()


@pytest.mark.parametrize(("text",), table("loops_none.txt"))
def test_what_has_no_loop(text: str) -> None:
    assert made(text) is None


def test_a_variable_of_no_list_and_what_is_no_whole_number_have_no_loop() -> None:
    stray = facts.Macro("all", facts.Path(("call", "ids")), facts.Variable("i"), facts.Variable("j"))
    assert loops.computed("p", stray, "bool", READ, {}) is None
    for text in ("call.items.map(i, i.price)", "call.items.map(i, i.paid)", "call.ids", "call.id"):
        total = cel.parse(f"sum({text}) == 1").left
        assert loops.computed("p", total, "int", READ, {}) is None
    assert loops.computed("p", cel.parse("sum(call.items.map(i, i.cents)) == 1").left, "int", READ, {}) is not None


@pytest.mark.parametrize("example", "".join(f"{one}\n" for (one,) in table("loops_written.txt")).split("---- ")[1:])
def test_what_is_written_for_the_prover(example: str) -> None:
    text, _, written = example.partition("\n")
    contracted, _ = guard(text)
    whole = contract.assemble(f"{contracted.signature}\n    return (True, '')\n", contracted)
    assert plain(whole).endswith(f"\n\n\n{written.strip()}\n")


def checked(source: str) -> dict[str, Callable]:
    """The functions as they run, with each statement to the prover as an assertion: of what is given, of every round of
    a loop, of the result."""
    lines, ensured = ["from __future__ import annotations"], "True"
    for line in source.splitlines():
        indent, statement, said, returned = re.fullmatch(
            r"( *)(?:(Requires|Ensures|Invariant|Decreases)\((.*)\)|return (.*)|.*)", line
        ).groups()
        if line.startswith("def "):
            ensured = "True"
        match statement:
            case "Ensures":
                ensured += f" and ({said.replace('Result()', 'result')})"
            case "Decreases":
                lines.append(f"{indent}assert 0 <= {said}")
            case "Requires" | "Invariant":
                lines.append(f"{indent}assert {said}")
            case _ if returned is not None:
                lines.append(f"{indent}result = {returned}\n{indent}assert {ensured}\n{indent}return result")
            case _ if line != "@Pure":
                lines.append(line)
    space: dict[str, Callable] = {"Implies": lambda one, other: not one or other}
    exec(compile("\n".join(lines), "<checked>", "exec"), space)
    return space


def items(chance: random.Random) -> list[dict]:
    return [
        {
            "cents": chance.randrange(-1, 4),
            "kind": chance.choice(("card", "cash", "x")),
            "paid": chance.random() < 0.7,
            "price": 1.5,
            "tags": ["x"] * chance.randrange(3),
            "at": f"202{chance.randrange(4, 8)}-01-01T00:00:00Z",
            "n": chance.randrange(4),
            "m": 2,
            "ok": chance.random() < 0.5,
        }
        for _ in range(chance.randrange(4))
    ]


@pytest.mark.parametrize("text", [text for text, *_ in table("loops.txt", 3) if "now" not in text])
def test_all_that_is_said_to_the_prover_is_true_of_lists(text: str) -> None:
    loop, chance, met = made(text), random.Random(1), Counter()
    functions, whole = checked("\n\n".join(loop.sources)), evaluation.compiled(cel.parse(text))
    for _ in range(40):
        loose = chance.choice((items(chance), chance.choices((1, 4, 9), k=2), chance.choices((False, True), k=2)))
        call = {"items": items(chance), "loose": loose, "ids": chance.choices("xyz", k=chance.randrange(4))}
        call |= {"id": chance.choice("xy"), "most": chance.randrange(4)}
        state = {"least": chance.randrange(3)}
        given = [loops.given(one, loop, {})(state, call) for one in loop.inputs]
        if None not in given and all(given[[i.name for i in loop.inputs].index(name)] for name in loop.filled):
            truth = functions[loop.function](*given)
            assert truth is whole(state, call)
            met[truth] += 1
    assert set(met) <= {True, False} and met.total()


MOST = 2**40
NUMBERS, PLAIN = "sum(call.loose) == 0", "call.loose.all(n, n >= 0)"
PAIRS = "sum(call.items.filter(i, i.paid).map(i, i.cents)) == 0"


@pytest.mark.parametrize(
    ("text", "call", "asked"),
    [
        (NUMBERS, {"loose": [MOST, -MOST]}, False),
        (NUMBERS, {"loose": [MOST + 1, -MOST]}, True),
        (NUMBERS, {"loose": [MOST, -MOST - 1]}, True),
        (NUMBERS, {"loose": (1, -1)}, False),
        (NUMBERS, {"loose": [True]}, True),
        (NUMBERS, {"loose": [1.0]}, True),
        (NUMBERS, {"loose": "12"}, True),
        (NUMBERS, {"loose": None}, True),
        (PLAIN, {"loose": [MOST + 1, 2**62]}, False),
        (PLAIN, {"loose": [0] * 10_000}, False),
        (PLAIN, {"loose": [0] * 10_001}, True),
        ("call.most + 1 in call.loose", {"loose": [3], "most": MOST}, False),
        ("call.most + 1 in call.loose", {"loose": [3], "most": MOST + 1}, True),
        ("call.most + 1 in call.loose", {"loose": [3], "most": -MOST}, False),
        ("call.most + 1 in call.loose", {"loose": [3], "most": -MOST - 1}, True),
        ("call.most in call.loose", {"loose": [3], "most": MOST + 1}, False),
        ("call.most in call.loose", {"loose": [3], "most": True}, True),
        ("call.loose.all(t, timestamp(t) < now)", {"loose": ["2025-01-01T00:00:00Z"]}, False),
        ("call.loose.all(t, timestamp(t) < now)", {"loose": ["2025-01-01"]}, True),
        ("call.id in state.methods", {"id": "a"}, False),
        ("call.id in state.many", {"id": "a"}, False),
        ("call.id in state.too_many", {"id": "a"}, True),
        ("call.id in state.listed", {"id": "a"}, True),
        ("min(call.loose.map(n, n.n)) > 0", {"loose": [{"n": 1}]}, False),
        ("min(call.loose.map(n, n.n)) > 0", {"loose": []}, True),
        ("max(call.loose.map(n, n.n)) > 0", {"loose": []}, True),
    ],
)
def test_loops_are_asked_only_of_what_they_hold_for(text: str, call: dict, asked: bool) -> None:
    """The evaluator is asked beside: of other types, of longer lists, of larger numbers where numbers are added."""
    record = Field("", "object", schema=Schema({"type": "object", "additionalProperties": {"type": "object"}}))
    state = (*STATE, *(replace(record, name=name) for name in ("many", "too_many", "listed")))
    loop = loops.computed("p", cel.parse(text), "bool", (schemas(state), schemas(TOOL.arguments)), {})
    told = {"now": "2026-01-01T00:00:00Z", "methods": {"a": {}}, "listed": ["a"]}
    told |= {"many": dict.fromkeys(map(str, range(10_000)), {}), "too_many": dict.fromkeys(map(str, range(10_001)), {})}
    answer = object()
    found = loops.reading(loop, lambda state, call: answer, {})(told, call)
    assert (found is answer) is asked and (asked or found is evaluation.compiled(cel.parse(text))(told, call))


def test_items_of_one_list_that_are_read_apart_are_as_many() -> None:
    """Two reads of one list cannot differ in length; where they did, the evaluator would be asked."""
    loop = made(PAIRS)
    apart = replace(loop, inputs=(loop.inputs[0], replace(loop.inputs[1], node=cel.parse("call.loose"))))
    read = loops.reading(apart, lambda state, call: None, {})
    paid = [{"paid": True}, {"paid": False}]
    assert read({}, {"items": paid, "loose": [0, 5]}) is True and read({}, {"items": paid, "loose": [0, 5, 5]}) is None
    assert read({}, {"items": paid, "loose": [0]}) is None


def test_what_is_taken_has_its_meaning_and_an_input_keeps_its_name() -> None:
    first = made("call.items.all(i, i.paid)", items_paid=None)
    assert [one.name for one in first.inputs] == ["items_paid_2"]
    again = made("call.items.exists(i, i.paid)", items_paid=None, items_paid_2=first.inputs[0])
    assert again.inputs == first.inputs
    other = made("call.items.exists(i, i.cents > 1)", items_cents=first.inputs[0])
    assert [one.name for one in other.inputs] == ["items_cents_2"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("sum(call.items.map(i, i.cents))", "sum_items_cents"),
        ("call.items[0].cents", "items_0_cents"),
        ("call.items.filter(i, i.kind == 'x')", "items_filter_kind_x"),
        ("'é'", "value"),
        ("'__a__'", "a"),
        ("'_7_'", "value_7"),
        ("string(call.n)", "n"),
        ("2", "value_2"),
        ("timestamp(state.at) - timestamp(call.at)", "at"),
        ("[call.a, call.a, call.b]", "a_b"),
        ("call." + "x" * 47 + "_y", "x" * 47),
        ("call." + "x" * 48, "x" * 48),
        ("call." + "x" * 49, "x" * 48),
    ],
)
def test_a_name_is_made_of_the_words_of_a_text(text: str, name: str) -> None:
    assert loops.named(cel.parse(f"[{text}] == []").left.items[0]) == name


@pytest.mark.parametrize("word", ["at", "found", "len", "class", "part_3", "items_here"])
def test_no_input_has_a_name_that_loops_use(word: str) -> None:
    listed = {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}}
    tool = schemas((Field(word, "array", schema=Schema({"type": "array", "items": {"type": "integer"}})),))
    loop = loops.computed("p", cel.parse(f"call.{word}.all(n, n > 0)"), "bool", ({}, tool), {})
    assert [one.name for one in loop.inputs] == [f"{word}_2"]
    tool = schemas((Field("part_no", "array", schema=Schema(listed)),))
    loop = loops.computed("p", cel.parse("call.part_no.all(i, i.n > 0)"), "bool", ({}, tool), {})
    assert [one.name for one in loop.inputs] == ["part_no_n"]


if __name__ == "__main__":
    pairs, seed = (int(text) for text in (*sys.argv[1:], "20000", "1")[:2])
    for name, count in sorted(compare(pairs, seed).items()):
        print(f"{count:8} {name}")
