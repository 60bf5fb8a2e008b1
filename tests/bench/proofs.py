"""What Nagini says of random small guards, beside what trying all values says.

    python tests/bench/proofs.py [--guards 200] [--seed 0] [--lists]

Each guard is written for the contract of one to three random rules over typed facts: numbers, sums and differences of
them, texts, truths, how many items a list has, what was done before and how often within a time.  Half of them say what
the rules say, in other words; the others were changed in one place.  Rules, guards and the values that are tried are of
this file: it shares nothing with `wb` but the text of rules and the names of parameters.  Nagini must prove a guard
exactly where no value tells guard and rules apart.  Prints one line a disagreement, and the counts.

With `--lists` each rule is over lists: sums, counts, all, exists, exists_one, min, max and membership, of numbers,
truths and texts.  A third of the guards are right; of the others one half has one change in the guard, one in a loop.
"""

from __future__ import annotations

import argparse
import ast
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[2])]

from wb.domain.tools import Field, Schema, Tool  # noqa: E402
from wb.guards import contract, nagini  # noqa: E402
from wb.guards.contract import Parameter  # noqa: E402
from wb.logic import cel, syntax  # noqa: E402
from wb.rules.rule import Predicate, Rule, RuleSet  # noqa: E402

NUMBERS = range(-11, 12)  # beyond every sum and difference of the constants below
VALUES: dict[str, tuple] = {
    "age": tuple(NUMBERS),
    "n": tuple(NUMBERS),
    "items": tuple(range(8)),
    "member": (False, True),
    "vouched": (False, True),
    "kind": ("x", "y", "z", "none of these"),
    "ONCE get": (False, True),
    "ONCE[<= 24h] get": (False, True),
    "COUNT[>= 3, 1h] get": (False, True),
}
IN_CEL = {"age": "state.age", "n": "call.n", "items": "size(call.items)", "member": "state.member", "kind": "call.kind"}
BEFORE = ("ONCE get", "ONCE[<= 24h] get", "COUNT[>= 3, 1h] get")
TOOL = Tool("act", arguments=(Field("n", "integer"), Field("kind", "string"), Field("items", "array")))
STATE = (Field("age", "integer"), Field("member", "boolean"), Field("now", "string"))
OPS: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}
OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


@dataclass(frozen=True)
class Node:
    """A condition: `what` is an operator or the kind of a leaf, `parts` its operands or what the leaf holds."""

    what: str
    parts: tuple


def leaf(rng: random.Random, names: tuple[str, ...]) -> Node:
    """A comparison over one or two of the names, or a truth."""
    name = rng.choice(names)
    if name in ("member", "vouched", *BEFORE):
        return Node("truth", (name,))
    if name == "kind":
        values = tuple(rng.sample(("x", "y", "z"), rng.randint(1, 2)))
        return Node("one of", (name, values)) if len(values) > 1 else Node("==", (name, values[0]))
    other = {"n": "age", "age": "n"}.get(name)
    if other in names and rng.random() < 0.5:
        shape = rng.choice(("plain", "+", "-"))
        if shape == "plain":
            return Node(rng.choice(list(OPS)), (name, (other,)))
        return Node(rng.choice(list(OPS)), ((shape, name, other), rng.randint(0, 4)))
    return Node(rng.choice(list(OPS)), (name, rng.randint(0, 4)))


def condition(rng: random.Random, names: tuple[str, ...], depth: int) -> Node:
    """A random condition over the names."""
    if depth == 0 or rng.random() < 0.25:
        return leaf(rng, names)
    if rng.random() < 0.25:
        return Node("not", (condition(rng, names, depth - 1),))
    return Node(rng.choice(("and", "or")), tuple(condition(rng, names, depth - 1) for _ in range(2)))


def true(node: Node, values: dict[str, Any]) -> bool:
    """What the condition is for those values."""
    match node.what:
        case "truth":
            return values[node.parts[0]]
        case "one of":
            return values[node.parts[0]] in node.parts[1]
        case "not":
            return not true(node.parts[0], values)
        case "and":
            return all(true(part, values) for part in node.parts)
        case "or":
            return any(true(part, values) for part in node.parts)
    left, right = (number(part, values) for part in node.parts)
    return OPS[node.what](left, right)


def number(part: Any, values: dict[str, Any]) -> Any:
    """The value of one side of a comparison: a name, a sum or difference of two, or the constant itself."""
    match part:
        case (sign, one, other):
            return values[one] + values[other] if sign == "+" else values[one] - values[other]
        case (name,):
            return values[name]
    return values[part] if part in VALUES else part


def names_of(node: Node) -> set[str]:
    """The names that a condition reads."""
    if node.what in ("not", "and", "or"):
        return set().union(*map(names_of, node.parts))
    flat = [one for part in node.parts for one in (part if type(part) is tuple else (part,))]
    return {one for one in flat if one in VALUES}


def changed(rng: random.Random, node: Node) -> Node:
    """The condition changed in one place."""
    if node.what in ("not", "and", "or") and rng.random() < 0.7:
        at = rng.randrange(len(node.parts))
        return Node(node.what, tuple(changed(rng, p) if i == at else p for i, p in enumerate(node.parts)))
    match node.what:
        case "and" | "or":
            return rng.choice((node.parts[0], Node("or" if node.what == "and" else "and", node.parts)))
        case "not":
            return node.parts[0]
        case "truth":
            return Node("not", (node,))
        case "one of":
            return Node("==", (node.parts[0], node.parts[1][0]))
    left, right = node.parts
    if type(right) is int and rng.random() < 0.5:
        return Node(node.what, (left, right + rng.choice((-1, 1))))
    others = ("==", "!=") if type(right) is str else tuple(OPS)
    return Node(rng.choice([op for op in others if op != node.what]), node.parts)


def reworded(rng: random.Random, node: Node) -> Node:
    """The same condition in other words."""
    if node.what == "not":
        return Node("not", (reworded(rng, node.parts[0]),))
    if node.what in ("and", "or"):
        parts = tuple(reworded(rng, part) for part in node.parts)
        parts = parts[::-1] if rng.random() < 0.5 else parts
        if rng.random() < 0.5:
            other = "or" if node.what == "and" else "and"
            return Node("not", (Node(other, tuple(Node("not", (part,)) for part in parts)),))
        return Node(node.what, parts)
    if node.what in OPS and rng.random() < 0.3:
        return Node("not", (Node(OPPOSITE[node.what], node.parts),))
    return node


def written(node: Node, called: dict[str, str], signs: tuple[str, str, str]) -> str:
    """The condition as text: names as they are called, with the signs of not, and, or."""

    def side(part: Any) -> str:
        match part:
            case (sign, one, other):
                return f"{called[one]} {sign} {called[other]}"
            case (name,):
                return called[name]
        return called[part] if part in VALUES else f'"{part}"' if type(part) is str else str(part)

    match node.what:
        case "truth":
            return called[node.parts[0]]
        case "one of":
            return f"{called[node.parts[0]]} in [{', '.join(map(side, node.parts[1]))}]"
        case "not":
            return f"{signs[0]}({written(node.parts[0], called, signs)})"
        case "and" | "or":
            sign = signs[1 if node.what == "and" else 2]
            return f" {sign} ".join(f"({written(part, called, signs)})" for part in node.parts)
    return f"{side(node.parts[0])} {node.what} {side(node.parts[1])}"


def in_python(node: Node, called: dict[str, str]) -> str:
    """The condition as Nagini reads it: without lists."""
    match node.what:
        case "one of":
            return " or ".join(f'{called[node.parts[0]]} == "{one}"' for one in node.parts[1])
        case "not":
            return f"not ({in_python(node.parts[0], called)})"
        case "and" | "or":
            return f" {node.what} ".join(f"({in_python(part, called)})" for part in node.parts)
    return written(node, called, ("not ", "and", "or"))


@dataclass(frozen=True)
class Case:
    """A guard, what it says, and what the rules say."""

    source: str
    guard: tuple[Node, ...]
    rules: tuple[Node, ...]
    names: tuple[str, ...]

    def right(self) -> bool:
        """Whether guard and rules agree on all values."""
        for point in product(*(VALUES[name] for name in self.names)):
            values = dict(zip(self.names, point, strict=True))
            if all(true(one, values) for one in self.guard) != all(true(one, values) for one in self.rules):
                return False
        return True


def ruleset(conditions: tuple[Node, ...], rng: random.Random) -> RuleSet:
    """Rules that demand the conditions of a call: each a predicate of its own, or parts of it as predicates."""
    known = [
        Predicate("act", "action", "", tools=("act",)),
        Predicate("get", "action", "", tools=("get",)),
        Predicate("vouched", "state", ""),
    ]
    rules = []

    def formula(node: Node) -> str:
        if node.what == "truth" and node.parts[0] in ("vouched", *BEFORE):
            return node.parts[0]
        if not names_of(node) & {"vouched", *BEFORE} and (node.what not in ("and", "or", "not") or rng.random() < 0.5):
            name = f"p{len(known)}"
            test = cel.parse(written(node, IN_CEL, ("!", "&&", "||")))
            reads_call = bool(names_of(node) & {"n", "kind", "items"})
            known.append(Predicate(name, "state", "", tools=("act",) if reads_call else (), test=test))
            return name
        parts = [f"({formula(part)})" for part in node.parts]
        return f"NOT {parts[0]}" if node.what == "not" else f" {node.what.upper()} ".join(parts)

    for i, node in enumerate(conditions):
        text = f"ALWAYS (act IMPLIES ({formula(node)}))"
        rules.append(Rule(f"r{i}", "", syntax.parse(text), "permit_only_if"))
    return RuleSet(tuple(known), tuple(rules))


def meant(parameter: Parameter) -> str:
    """Which of the names fills a parameter."""
    if parameter.past is not None:
        return syntax.render(parameter.past)
    return parameter.fact or parameter.field.partition(".")[2]


def cases(rng: random.Random) -> Iterator[Case]:
    """Guards without end, every other one changed."""
    wrong = False
    while True:
        names = tuple(rng.sample(list(VALUES), rng.randint(2, 4)))
        rules = tuple(condition(rng, names, 2) for _ in range(rng.randint(1, 3)))
        required = contract.contract(TOOL, ruleset(rules, rng), STATE)
        called = {meant(p): p.name for p in required.parameters}
        used = set().union(*map(names_of, rules))
        if used != set(called) or not required.items:
            continue  # the rules say less than they read
        guard = list(reworded(rng, one) for one in rules)
        if wrong:
            at = rng.randrange(len(guard))
            guard[at] = changed(rng, guard[at])
        lines = [required.signature]
        for i, one in enumerate(guard):
            lines += [f"    if not ({in_python(one, called)}):", f'        return (False, "r{i}")']
        source = contract.assemble("\n".join([*lines, '    return (True, "ok")', ""]), required)
        yield Case(source, tuple(guard), rules, tuple(sorted(used)))
        wrong = not wrong


# ---- lists --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fact:
    """What is asked of the items of one list: in CEL, as a function of cents, truths and kinds, and the limit of a
    number, None for a truth."""

    text: str
    meaning: Callable[[tuple[tuple[int, bool, str], ...], int], Any]
    limited: bool

    def holds(self, items: tuple, op: str, limit: int, least: int) -> bool:
        """What a rule demands."""
        found = self.meaning(items, least)
        return OPS[op](found, limit) if self.limited else found is True


FACTS = (
    Fact("sum(call.items.map(i, i.cents))", lambda items, least: sum(c for c, _, _ in items), True),
    Fact(
        "sum(call.items.filter(i, i.paid).map(i, i.cents))",
        lambda items, least: sum(c for c, paid, _ in items if paid),
        True,
    ),
    Fact(
        'size(call.items.filter(i, i.kind == "x"))', lambda items, least: sum(kind == "x" for _, _, kind in items), True
    ),
    Fact(
        "size(call.items.filter(i, i.cents >= state.age))",
        lambda items, least: sum(c >= least for c, _, _ in items),
        True,
    ),
    Fact("min(call.items.map(i, i.cents))", lambda items, least: min(c for c, _, _ in items), True),
    Fact("max(call.items.map(i, i.cents))", lambda items, least: max(c for c, _, _ in items), True),
    Fact(
        "call.items.all(i, i.cents >= state.age || i.paid)",
        lambda items, least: all(c >= least or paid for c, paid, _ in items),
        False,
    ),
    Fact(
        'call.items.exists(i, i.kind in ["x", "y"] && !i.paid)',
        lambda items, least: any(kind in "xy" and not paid for _, paid, kind in items),
        False,
    ),
    Fact("call.items.exists_one(i, i.paid)", lambda items, least: sum(paid for _, paid, _ in items) == 1, False),
    Fact("state.age in call.numbers", lambda items, least: least in [c for c, _, _ in items[1:]], False),
    Fact(
        "call.items.all(i, i.cents in call.numbers || i.cents > state.age)",
        lambda items, least: all(c in [c for c, _, _ in items[1:]] or c > least for c, _, _ in items),
        False,
    ),
)
ONE = tuple(product(range(-1, 6), (False, True), ("x", "z")))  # items that are tried, alone and together
ALIKE = tuple((one,) * n for one in ONE for n in (4, 5))
LISTS = (*((one,) for one in ONE), *product(ONE, ONE), *product(ONE[::5], repeat=3), *ALIKE)
LEAST = (-1, 0, 2)
SPOILT = (  # what is planted in a loop, after its definition
    ("    found = 0\n", "    found = 1\n"),
    ("    found = True\n    while", "    found = False\n    while"),
    ("    found = False\n    while", "    found = True\n    while"),
    ("        at = at + 1\n    return", "        at = at + 2\n    return"),
    ("            found = True\n", "            found = False\n"),
    ("            found = False\n", "            found = True\n"),
    ("            found = found + 1\n", "            found = found + 2\n"),
    (">= age:", "> age:"),
    (" > found:", " < found:"),
    (" < found:", " > found:"),
)
ROWS = {"cents": {"type": "integer"}, "paid": {"type": "boolean"}, "kind": {"type": "string"}}
PAYS = Tool(
    "act",
    arguments=(
        Field("items", "array", schema=Schema({"type": "array", "items": {"type": "object", "properties": ROWS}})),
        Field("numbers", "array", schema=Schema({"type": "array", "items": {"type": "integer"}})),
    ),
)


@dataclass(frozen=True)
class Listed:
    """A guard over lists, and whether it is right."""

    source: str
    right: bool


def meant_of_lists(required: contract.Contract, source: str) -> Callable[[dict, dict], tuple]:
    """What the whole proved source does when it runs, of a call and a state: its decision, and what each loop finds."""
    bare = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and not node.decorator_list]
    for node in bare:
        for inner in ast.walk(node):
            if isinstance(inner, ast.FunctionDef | ast.While):
                inner.body = [one for one in inner.body if not isinstance(one, ast.Expr)]
            if isinstance(inner, ast.arg | ast.FunctionDef):
                setattr(inner, "returns" if isinstance(inner, ast.FunctionDef) else "annotation", None)
    space: dict[str, Any] = {}
    exec(compile(ast.fix_missing_locations(ast.Module(bare, [])), "<guard>", "exec"), space)
    inputs = {one.name: one for p in required.looped for one in p.loop.inputs}

    def run(call: dict, state: dict) -> tuple:
        given = {p.name: state["age"] for p in required.parameters if p.loop is None}
        for name, one in inputs.items():
            text = one.said.replace("call.", "").replace("state.", "")
            if one.many:
                field_ = text.rpartition("i.")[2].rstrip(")")
                given[name] = [row[field_] for row in call["items"]] if "map(" in text else call["numbers"]
            else:
                given[name] = state[text]
        try:
            found = [space[p.loop.function](*[given[one.name] for one in p.loop.inputs]) for p in required.looped]
            return space["lists__guard"](**given)[0], *found
        except IndexError:
            return ()

    return run


def cases_of_lists(rng: random.Random) -> Iterator[Listed]:
    """Guards over lists without end: right, changed in the guard, changed in a loop, in turn."""
    turn = 0
    while True:
        both = (
            FACTS[2],
            rng.choice((FACTS[0], *FACTS[4:6])),
        )  # of different parts of items: one tells nothing of the other
        asked = both if rng.random() < 0.3 else (rng.choice(FACTS),)
        chosen = [(f, rng.choice(list(OPS)), rng.randint(1, 4 - len(asked))) for f in asked]
        tests = [f"{f.text} {op} {limit}" if f.limited else f.text for f, op, limit in chosen]
        known = [Predicate("act", "action", "", tools=("act",))]
        known += [Predicate(f"p{i}", "state", "", tools=("act",), test=cel.parse(t)) for i, t in enumerate(tests)]
        texts = [syntax.parse(f"ALWAYS (act IMPLIES p{i})") for i in range(len(tests))]
        rules = tuple(Rule(f"r{i}", "", one, "permit_only_if") for i, one in enumerate(texts))
        required = contract.contract(PAYS, RuleSet(tuple(known), rules), STATE)
        lines, at = [required.signature], rng.randrange(len(tests))
        for i, item in enumerate(required.items):
            name = item.condition.partition(" ")[0]
            f, op, limit = chosen[i]
            if turn % 3 == 1 and i == at:
                limit, op = (limit + 1, op) if rng.random() < 0.5 else (limit, OPPOSITE[op])
                said = f"{name} {op} {limit}" if f.limited else f"not {name}"
            elif rng.random() < 0.5:
                said = f"not ({name} {OPPOSITE[op]} {limit})" if f.limited else name
            else:
                said = item.condition
            lines += [f"    if not ({said}):", f'        return (False, "r{i}")']
        source = contract.assemble("\n".join([*lines, '    return (True, "ok")', ""]), required)
        if turn % 3 == 2:
            fits = [(before, after) for before, after in SPOILT if source.count(before)]
            before, after = rng.choice(fits)
            head, _, tail = source.partition(before)
            source = head + after + tail
        run = meant_of_lists(required, source)
        right = True
        for items, least in product(LISTS, LEAST):
            rows = [{"cents": c, "paid": paid, "kind": kind} for c, paid, kind in items]
            call = {"items": rows, "numbers": [c for c, _, _ in items[1:]]}
            decided = all(f.holds(items, op, limit, least) for f, op, limit in chosen)
            if run(call, {"age": least}) != (decided, *[f.meaning(items, least) for f, _, _ in chosen]):
                right = False
                break
        yield Listed(source, right)
        turn += 1


def compare_lists(count: int, seed: int) -> tuple[Counter, list[str]]:
    """As `compare`, of guards over lists."""
    made, found, differ = cases_of_lists(random.Random(seed)), Counter(), []
    tried = [next(made) for _ in range(count)]
    with nagini.Verifier(timeout_s=900) as verifier:
        for start in range(0, count, 10):
            some = tried[start : start + 10]
            for one, proof in zip(some, verifier.verify([one.source for one in some]), strict=True):
                truth = "right" if one.right else "wrong"
                found[truth, proof.status] += 1
                if (truth, proof.status) not in (("right", "proved"), ("wrong", "unproved")):
                    differ.append(f"{truth}, but {proof.status}: {proof.findings}\n{one.source}")
            print(f"{start + len(some)} asked, {len(differ)} disagreements", file=sys.stderr, flush=True)
    return found, differ


def compare(count: int, seed: int) -> tuple[Counter, list[str]]:
    """How often each verdict met each truth, and the sources where they differ, of that many guards with a verdict.

    A guard that is rejected before it is proved, such as one of which the type checker says that a line of it is never
    reached, or that got no answer in time, has none.
    """
    made, found, differ = cases(random.Random(seed)), Counter(), []
    with nagini.Verifier() as verifier:
        while (left := count - sum(n for (_, status), n in found.items() if status in ("proved", "unproved"))) > 0:
            tried = [next(made) for _ in range(left)]
            for one, proof in zip(tried, verifier.verify([one.source for one in tried]), strict=True):
                truth = "right" if one.right() else "wrong"
                found[truth, proof.status] += 1
                if (truth, proof.status) in (("right", "unproved"), ("wrong", "proved")):
                    differ.append(f"{truth}, but {proof.status}: {proof.findings}\n{one.source}")
    return found, differ


def main() -> None:
    """Compare, and print what came of it."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--guards", type=int, default=200)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--lists", action="store_true")
    chosen = options.parse_args()
    begun = time.monotonic()
    found, differ = (compare_lists if chosen.lists else compare)(chosen.guards, chosen.seed)
    print(*differ, sep="\n")
    counts = ", ".join(f"{count} {truth} and {status}" for (truth, status), count in sorted(found.items()))
    print(f"{chosen.guards} verdicts, {len(differ)} disagreements: {counts}; {time.monotonic() - begun:.0f} s")
    sys.exit(bool(differ))


if __name__ == "__main__":
    main()
