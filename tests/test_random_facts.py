"""Random facts of random values: this evaluator, a plain one that shares nothing with it, and CEL in Rust agree.

    python tests/test_random_facts.py [PAIRS] [SEED]

The plain evaluator (`oracles/plain`) has to say the same of every pair, unknowns too.  CEL in Rust has no unknown, and
errors where a value is missing or of another type: where both say true or false, they have to say the same; where all
is there and it says so, so do we, but for doubles that are not finite.
"""

from __future__ import annotations

import random
import sys
from collections import Counter

import cel as peer
from oracles import plain

from wb.logic import facts as F
from wb.logic.cel import parse, render
from wb.logic.evaluation import holds
from wb.logic.facts import FactError, Path, Scalar

ITEM = {"n": "number", "s": "string", "ok": "bool", "xs": "numbers"}
FIELDS = {
    "n": "number",
    "m": "number",
    "d": "double",
    "s": "string",
    "t": "string",
    "p": "bool",
    "q": "bool",
    "xs": "numbers",
    "ss": "strings",
    "rs": "records",
    "r": "record",
    "by": "named",
    "at": "moment",
    "since": "moment",
    "long": "length",
}
TEXTS = ("", "a", "ab", " A ", "b", "card_1", "Zürich", "x y")
MOMENTS = ("2024-05-15T15:00:00-05:00", "2024-05-14T20:00:00Z", "2024-02-29T00:00:00.5+05:45", "1999-12-31T23:59:59Z")
LENGTHS = ("24h", "1h30m", "-90s", "0s", "500ms")
ZONES = ("UTC", "America/New_York", "-05:00", "Asia/Kathmandu")
OTHERS = (
    None,
    0,
    1,
    1.0,
    2.5,
    True,
    "a",
    "7",
    [],
    [1, "a"],
    {},
    {"n": 1},
    2**63 - 1,
    -(2**63),
    "2024-05-15T15:00:00",
    {"a": 2},
)
OURS = ("trim", "lowerAscii", "upperAscii", "int", "double", "string", "sum", "min", "max", "getFullYear")


class Facts:
    """Facts and values from a source of chance, typed so that most have an answer."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def values(self) -> dict:
        return {root: {name: self.value(kind) for name, kind in FIELDS.items()} for root in F.ROOTS}

    def value(self, kind: str) -> object:
        chance = self.chance
        match kind:
            case "number":
                return chance.choice((0, 1, 2, 3, -1, -7, chance.randint(-50, 50), chance.choice((10**9, 2**53))))
            case "double":
                return chance.choice((0.5, -2.25, 1.0, 3.0, 100.125))
            case "string":
                return chance.choice(TEXTS)
            case "bool":
                return chance.random() < 0.5
            case "moment":
                return chance.choice(MOMENTS)
            case "length":
                return chance.choice(LENGTHS)
            case "numbers" | "strings" | "records":
                inner = {"numbers": "number", "strings": "string", "records": "item"}[kind]
                return [self.value(inner) for _ in range(chance.randint(0, 3))]
            case "item" | "record":
                row = {name: self.value(one) for name, one in ITEM.items()}
                return row if kind == "item" else {**row, "in": {"n": self.value("number"), "ok": self.value("bool")}}
            case "named":
                return {name: self.value("item") for name in chance.sample(TEXTS[1:4], chance.randint(0, 3))}
        raise AssertionError(kind)

    def fact(self, depth: int = 3, bound: tuple[tuple[str, str], ...] = ()) -> F.Node:
        """A fact; `bound` are the variables with their kinds."""
        chance, deeper = self.chance, depth - 1
        pick = chance.random()
        if depth <= 0 or pick < 0.08:
            return self.of("bool", 0, bound)
        if pick < 0.4:
            kind = chance.choice(("number", "number", "string", "bool", "double", "moment", "length"))
            op = chance.choice(F.OPERATORS)
            right = "number" if kind == "double" and chance.random() < 0.2 else kind
            return F.Comparison(op, self.of(kind, deeper, bound), self.of(right, deeper, bound))
        if pick < 0.44:
            kind = chance.choice(("numbers", "strings", "record"))
            return F.Comparison(chance.choice(("==", "!=")), self.of(kind, deeper, bound), self.of(kind, deeper, bound))
        if pick < 0.5:
            options = tuple(Scalar(self.value("string")) for _ in range(chance.randint(0, 3)))
            return F.OneOf(self.of("string", deeper, bound), options)
        if pick < 0.56:
            kind, of = chance.choice((("number", "numbers"), ("string", "strings"), ("string", "named")))
            return F.Within(self.of(kind, deeper, bound), self.of(of, 0 if of == "named" else 1, bound, literal=False))
        if pick < 0.6:
            return F.Has(
                chance.choice((Path(("call", "n")), Path(("call", "r", "in", "ok")), Path(("state", "r", "zz"))))
            )
        if pick < 0.63:
            return F.Comparison(chance.choice(("==", "!=")), self.of("number", deeper, bound), Scalar(None))
        if pick < 0.73:
            parts = tuple(self.fact(deeper, bound) for _ in range(chance.randint(2, 3)))
            return chance.choice((F.Conjunction, F.Disjunction))(parts)
        if pick < 0.78:
            return F.Negation(self.fact(deeper, bound))
        if pick < 0.94:
            over, inner = self.over(bound)
            name, variable = chance.choice(("all", "exists", "exists_one")), f"v{len(bound)}"
            body = self.fact(deeper, (*bound, (variable, inner)))
            return F.Macro(name, over, F.Variable(variable), body)
        if pick < 0.97:
            name = chance.choice(("startsWith", "endsWith", "contains"))
            return F.Function(name, (self.of("string", deeper, bound), self.of("string", deeper, bound)))
        return F.Choice(*(self.fact(deeper, bound) for _ in range(3)))

    def over(self, bound: tuple[tuple[str, str], ...]) -> tuple[F.Node, str]:
        """What a macro goes through, and the kind of its items."""
        kind = self.chance.choice(("numbers", "strings", "records", "records", "named"))
        inner = {"numbers": "number", "strings": "string", "records": "item", "named": "string"}[kind]
        return self.of(kind, 0 if kind == "named" else 1, bound, literal=False), inner

    def of(self, kind: str, depth: int, bound: tuple[tuple[str, str], ...], literal: bool = True) -> F.Node:
        """A node of that kind."""
        chance, deeper = self.chance, depth - 1
        if depth > 0 and chance.random() < 0.5:
            made = self.made(kind, deeper, bound)
            if made is not None:
                return made
        if literal and chance.random() < 0.3:
            if kind in ("number", "double", "string", "bool"):
                return Scalar(self.value(kind))
            if kind in ("moment", "length"):
                return F.Function({"moment": "timestamp", "length": "duration"}[kind], (Scalar(self.value(kind)),))
            if kind in ("numbers", "strings"):
                inner = kind.removesuffix("s")
                return F.List(tuple(self.of(inner, 0, bound) for _ in range(chance.randint(0, 3))))
        found = self.stored(kind, bound)
        if kind in ("moment", "length"):
            return F.Function({"moment": "timestamp", "length": "duration"}[kind], (found,))
        return found

    def stored(self, kind: str, bound: tuple[tuple[str, str], ...]) -> F.Node:
        """A value as it is stored: a path, a variable, a part of either."""
        chance = self.chance
        own = [F.Variable(name) for name, one in bound if one == kind]
        own += [
            F.Part(F.Variable(v), Scalar(name))
            for v, one in bound
            if one == "item"
            for name, k in ITEM.items()
            if k == kind
        ]
        if own and chance.random() < 0.6:
            return chance.choice(own)
        root = chance.choice(F.ROOTS)
        found = [Path((root, name)) for name, one in FIELDS.items() if one == kind]
        found += [Path((root, "r", name)) for name, one in ITEM.items() if one == kind]
        found += [F.Part(F.Part(Path((root, "rs")), Scalar(0)), Scalar(n)) for n, k in ITEM.items() if k == kind]
        found += [
            F.Part(F.Part(Path((root, "by")), Path((root, "s"))), Scalar(n)) for n, k in ITEM.items() if k == kind
        ]
        if kind == "number":
            found += [F.Part(Path((root, "xs")), chance.choice((Scalar(1), Path(("call", "n")))))]
        return chance.choice(found)

    def made(self, kind: str, depth: int, bound: tuple[tuple[str, str], ...]) -> F.Node | None:
        """A value that is computed; None where none is of that kind."""
        chance = self.chance
        pick = chance.random()
        match kind:
            case "number":
                if pick < 0.45:
                    sides = (self.of(kind, depth, bound), self.of(kind, depth, bound))
                    return F.Arithmetic(chance.choice(F.ARITHMETIC), *sides)
                if pick < 0.55:
                    return F.Size(self.of(chance.choice(("numbers", "records")), depth, bound, literal=False))
                if pick < 0.7:
                    return F.Function(chance.choice(("sum", "min", "max")), (self.of("numbers", depth, bound),))
                if pick < 0.8:
                    found = self.stored(kind, bound)
                    return F.Minus(found)
                if pick < 0.86:
                    zone = () if chance.random() < 0.3 else (Scalar(chance.choice(ZONES)),)
                    name = chance.choice([name for name in F.FUNCTIONS if name.startswith("get")])
                    return F.Function(name, (self.of("moment", depth, bound), *zone))
                if pick < 0.9:
                    return F.Function("int", (self.of(chance.choice(("double", "string", "moment")), depth, bound),))
            case "double":
                if pick < 0.7:
                    sides = (self.of(kind, depth, bound), self.of(kind, depth, bound))
                    return F.Arithmetic(chance.choice("+-*/"), *sides)
                if pick < 0.9:
                    return F.Function("double", (self.of(chance.choice(("number", "string")), depth, bound),))
                return None
            case "string":
                if pick < 0.3:
                    return F.Arithmetic("+", self.of(kind, depth, bound), self.of(kind, depth, bound))
                if pick < 0.75:
                    return F.Function(
                        chance.choice(("trim", "lowerAscii", "upperAscii")), (self.of(kind, depth, bound),)
                    )
                if pick < 0.85:
                    return F.Function("string", (self.of(chance.choice(("number", "bool", "string")), depth, bound),))
            case "bool":
                return self.fact(depth, bound)
            case "numbers" | "records" | "strings":
                over, inner = self.over(bound)
                variable = F.Variable(f"v{len(bound)}")
                inside = (*bound, (variable.name, inner))
                if pick < 0.5 and kind != "records":
                    return F.Macro("map", over, variable, self.of(kind.removesuffix("s"), depth, inside))
                source = self.of(kind, 0, bound, literal=False)
                inner = {"numbers": "number", "strings": "string", "records": "item"}[kind]
                return F.Macro("filter", source, variable, self.fact(depth, (*bound, (variable.name, inner))))
            case "moment":
                sides = [self.of("moment", depth, bound), self.of("length", depth, bound)]
                return F.Arithmetic(chance.choice("+-"), *sides)
            case "length":
                one = chance.choice(("moment", "length"))
                return F.Arithmetic("-", self.of(one, depth, bound), self.of(one, depth, bound))
            case _:
                return None
        return F.Choice(self.fact(depth, bound), self.of(kind, depth, bound), self.of(kind, depth, bound))

    def damaged(self, values: dict) -> dict:
        """The values with up to three of them gone, or others."""

        def copied(one: object) -> object:
            if isinstance(one, dict):
                return {name: copied(inner) for name, inner in one.items()}
            return [copied(inner) for inner in one] if isinstance(one, list) else one

        known = copied(values)
        for _ in range(self.chance.randint(1, 3)):
            inside: object = known[self.chance.choice(F.ROOTS)]
            while True:
                keys = list(inside) if isinstance(inside, dict) else list(range(len(inside)))
                if not keys:
                    break
                key = self.chance.choice(keys)
                if isinstance(inside[key], dict | list) and self.chance.random() < 0.6:
                    inside = inside[key]
                    continue
                if self.chance.random() < 0.5 and isinstance(inside, dict):
                    del inside[key]
                else:
                    inside[key] = copied(self.chance.choice(OTHERS))  # a cycle ends CEL in Rust, and Python with it
                break
        return known


def of_peer(fact: F.Node, values: dict) -> bool | None | str:
    """What CEL in Rust says: true, false, None for an error, or why it is not asked."""
    if any(isinstance(node, F.Function) and (node.name in OURS or node.name.startswith("get")) for node in nodes(fact)):
        return "has functions that it lacks"
    try:
        found = peer.evaluate(render(fact), values)
    except Exception:
        return None
    return found if isinstance(found, bool) else None


def nodes(node: F.Node) -> list[F.Node]:
    return [node, *(inner for child in F.children(node) for inner in nodes(child))]


def compare(pairs: int, seed: int, every: int = 1) -> Counter:
    """How many pairs were compared, in which way; raises at the first on which two do not agree."""
    made, counts = Facts(random.Random(seed)), Counter()
    while counts["pairs"] < pairs:
        try:
            fact = made.fact()
        except FactError:  # a literal where none may be
            counts["not built"] += 1
            continue
        values = made.values()
        if counts["facts"] % every == 0:
            assert parse(render(fact)) == fact, render(fact)
        counts["facts"] += 1
        for whole, known in ((True, values), (False, made.damaged(values)), (False, made.damaged(values))):
            ours, independent, foreign = holds(fact, known), plain.truth(fact, known), of_peer(fact, known)
            said = f"{render(fact)}\n{known}\nours {ours}, plain {independent}, CEL in Rust {foreign}"
            assert ours is independent, said
            counts["pairs"] += 1
            counts[f"we say {ours}"] += 1
            if isinstance(foreign, str):
                counts["CEL in Rust not asked: " + foreign] += 1
            elif foreign is None:
                counts["CEL in Rust errs" + (", the rest decides" if ours is not None else "")] += 1
            elif ours is None:
                counts[f"CEL in Rust answers, we do not ({'all is there' if whole else 'damaged'})"] += 1
                assert not whole or odd(fact), said
            else:
                counts["CEL in Rust agrees"] += 1
                assert ours is foreign, said
    return counts


def odd(fact: F.Node) -> bool:
    """Whether a fact may have a double that is not finite, or a null beside a value."""
    divided = any(isinstance(node, F.Arithmetic) and node.op == "/" for node in nodes(fact))
    counted = [
        node.of if isinstance(node, F.Size) else node.over for node in nodes(fact) if isinstance(node, F.Size | F.Macro)
    ]
    records = any(isinstance(of, Path) and of.names[-1] in ("r", "by", "in") for of in counted)  # no items here
    return divided or records or any(node == Path(("state", "r", "zz")) for node in nodes(fact))


def test_random_facts_of_random_values_agree() -> None:
    counts = compare(1500, 8)
    assert min(counts[f"we say {truth}"] for truth in (True, False, None)) > 150 and counts["CEL in Rust agrees"] > 500


if __name__ == "__main__":
    pairs, seed = (int(text) for text in (*sys.argv[1:], "100000", "1")[:2])
    for name, count in sorted(compare(pairs, seed, every=10).items()):
        print(f"{count:8} {name}")
