"""Which trees of facts may be built, node by node: what each part may be, how deep, how long; and what a tree holds."""

from __future__ import annotations

import operator
from collections.abc import Callable

import pytest

from wb.logic import cel
from wb.logic import facts as F
from wb.logic.facts import FactError, Path, Scalar, Size, Variable

P, Q = Path(("state", "p")), Path(("call", "q"))
X = Variable("x")
OF = {  # a node of each kind, and one of which nothing is known
    "any": P,
    "number": Size(P),
    "string": F.Function("trim", (P,)),
    "bool": F.Has(P),
    "null": Scalar(None),
    "list": F.Macro("map", P, X, X),
    "timestamp": F.Function("timestamp", (P,)),
    "duration": F.Function("duration", (P,)),
}
EVERY = " ".join(OF)
SLOTS: dict[str, tuple[str, Callable[[F.Node], F.Node]]] = {  # what may stand in a place of a node
    "part of": ("any list", lambda one: F.Part(one, Scalar(0))),
    "part key": ("any number string", lambda one: F.Part(F.Part(P, Scalar(0)), one)),
    "size": ("any list string", Size),
    "list": (EVERY, lambda one: F.List((Scalar(1), one))),
    "minus": ("any number", F.Minus),
    "choice test": ("any bool", lambda one: F.Choice(one, P, P)),
    "choice then": (EVERY, lambda one: F.Choice(P, one, P)),
    "choice then, beside a number": ("any number", lambda one: F.Choice(P, one, Scalar(1))),
    "choice otherwise, beside a number": ("any number", lambda one: F.Choice(P, Scalar(1), one)),
    "macro over": ("any list", lambda one: F.Macro("all", one, X, P)),
    "map": (EVERY, lambda one: F.Macro("map", P, X, one)),
    "all": ("any bool", lambda one: F.Macro("all", P, X, one)),
    "exists": ("any bool", lambda one: F.Macro("exists", P, X, one)),
    "exists_one": ("any bool", lambda one: F.Macro("exists_one", P, X, one)),
    "filter": ("any bool", lambda one: F.Macro("filter", P, X, one)),
    "one of": (EVERY, lambda one: F.OneOf(one, ())),
    "one of numbers": ("any number null", lambda one: F.OneOf(one, (Scalar(1),))),
    "within": (EVERY, lambda one: F.Within(one, P)),
    "within of": ("any list", lambda one: F.Within(P, one)),
    "not": ("any bool", F.Negation),
    "and": ("any bool", lambda one: F.Conjunction((P, one))),
    "or": ("any bool", lambda one: F.Disjunction((one, P))),
    "sum": ("any list", lambda one: F.Function("sum", (one,))),
    "min": ("any list", lambda one: F.Function("min", (one,))),
    "max": ("any list", lambda one: F.Function("max", (one,))),
    "int": ("any number string timestamp", lambda one: F.Function("int", (one,))),
    "double": ("any number string", lambda one: F.Function("double", (one,))),
    "string": ("any number string bool", lambda one: F.Function("string", (one,))),
    "timestamp": ("any string timestamp", lambda one: F.Function("timestamp", (one,))),
    "duration": ("any string duration", lambda one: F.Function("duration", (one,))),
}
for _name in ("startsWith", "endsWith", "contains"):
    SLOTS[_name] = "any string", lambda one, name=_name: F.Function(name, (one, Scalar("a")))
    SLOTS[f"{_name} of"] = "any string", lambda one, name=_name: F.Function(name, (Scalar("a"), one))
for _name in ("lowerAscii", "upperAscii", "trim"):
    SLOTS[_name] = "any string", lambda one, name=_name: F.Function(name, (one,))
for _name in "getFullYear getMonth getDate getDayOfMonth getDayOfWeek getDayOfYear".split():
    SLOTS[_name] = "any timestamp", lambda one, name=_name: F.Function(name, (one,))
    SLOTS[f"{_name} in a zone"] = "any timestamp", lambda one, name=_name: F.Function(name, (one, Scalar("UTC")))
for _name in "getHours getMinutes getSeconds getMilliseconds".split():
    SLOTS[_name] = "any timestamp duration", lambda one, name=_name: F.Function(name, (one,))
    SLOTS[f"{_name} in a zone"] = "any timestamp", lambda one, name=_name: F.Function(name, (one, Scalar("UTC")))
for _op in ("==", "!="):
    for _kind, _one in OF.items():
        SLOTS[f"{_kind} {_op}"] = (
            EVERY if _kind in ("any", "null") else f"any {_kind} null",
            lambda other, op=_op, one=_one: F.Comparison(op, one, other),
        )
for _op in ("<", "<=", ">", ">="):
    for _kind, _one in OF.items():
        if _kind not in ("list", "null"):
            some = "any number string bool timestamp duration" if _kind == "any" else f"any {_kind}"
            SLOTS[f"{_kind} {_op}"] = some, lambda other, op=_op, one=_one: F.Comparison(op, one, other)
        else:
            SLOTS[f"{_kind} {_op}"] = "", lambda other, op=_op, one=_one: F.Comparison(op, one, other)
SUMS = {  # the kind of a sum, where both sides have one
    "+": "number number number, string string string, list list list, timestamp duration timestamp, duration timestamp "
    "timestamp, duration duration duration",
    "-": "number number number, timestamp timestamp duration, timestamp duration timestamp, duration duration duration",
    **dict.fromkeys("*/%", "number number number"),
}


@pytest.mark.parametrize("place", SLOTS)
def test_a_place_takes_some_kinds_and_refuses_the_others(place: str) -> None:
    wanted, build = SLOTS[place]
    for kind, node in OF.items():
        if kind in wanted.split():
            build(node)
        else:
            with pytest.raises(FactError, match="got"):
                build(node)
    for wrong in (None, "p", 1, object()):
        with pytest.raises(FactError, match="got"):
            build(wrong)


@pytest.mark.parametrize("op", SUMS)
def test_arithmetic_is_of_some_kinds(op: str) -> None:
    known = {tuple(row.split()[:2]): row.split()[2] for row in SUMS[op].split(", ")}
    for left, one in OF.items():
        for right, other in OF.items():
            may = {gives for (a, b), gives in known.items() if left in (a, "any") and right in (b, "any")}
            if may:
                assert F.kind(F.Arithmetic(op, one, other)) == (may.pop() if len(may) == 1 else None)
            else:
                with pytest.raises(FactError, match="got"):
                    F.Arithmetic(op, one, other)


def test_what_a_macro_asks_of_each_item_is_named() -> None:
    for name in F.MACROS:
        with pytest.raises(FactError) as caught:
            F.Macro(name, P, X, None)
        assert str(caught.value) == f"{'a value' if name == 'map' else 'a fact'} was required; got None"


def test_every_node_has_its_kind() -> None:
    for kind, node in OF.items():
        assert F.kind(node) == (None if kind == "any" else kind)
        assert F.kind(F.Choice(P, node, P)) == F.kind(F.Choice(P, P, node)) == F.kind(node)
    assert [F.kind(Scalar(one)) for one in (1, 1.5, "a", True, None)] == ["number", "number", "string", "bool", "null"]
    assert [Scalar(one).type for one in (1, 1.5, "a", True, None)] == ["int", "double", "string", "bool", "null"]
    assert F.kind(F.List(())) == "list" and F.kind(F.Minus(P)) == "number"
    assert F.kind(Q) is F.kind(X) is F.kind(F.Part(P, Q)) is None
    given = dict.fromkeys(F.MACROS, "bool") | {"map": "list", "filter": "list"}
    assert {name: F.kind(F.Macro(name, P, X, X)) for name in F.MACROS} == given
    truths = F.Comparison("==", P, Q), F.OneOf(P, ()), F.Within(P, Q), F.Has(P), F.Negation(P), F.Conjunction((P, Q))
    assert {F.kind(one) for one in (*truths, F.Disjunction((P, Q)))} == {"bool"}
    gives = {name: F.kind(F.Function(name, (P, Scalar("UTC"))[: one.least])) for name, one in F.FUNCTIONS.items()}
    numbers = [name for name, kind in gives.items() if kind == "number"]
    assert numbers == [name for name in F.FUNCTIONS if name in ("sum", "min", "max", "int", "double") or "get" in name]
    assert {name for name, kind in gives.items() if kind == "bool"} == {"startsWith", "endsWith", "contains"}
    assert {name for name, kind in gives.items() if kind == "string"} == {"string", "lowerAscii", "upperAscii", "trim"}
    assert (gives["timestamp"], gives["duration"]) == ("timestamp", "duration")


@pytest.mark.parametrize("name", F.FUNCTIONS)
def test_a_function_takes_so_many_arguments(name: str) -> None:
    two = name in ("startsWith", "endsWith", "contains")
    either = name.startswith("get")
    for many in range(4):
        if many == 1 + two or (either and many == 2):
            F.Function(name, (P, Scalar("UTC"))[:many])
        else:
            with pytest.raises(FactError, match=rf"{name} takes [01] arguments; got -?\d$"):
                F.Function(name, (P, P, P)[:many])
    assert F.FUNCTIONS[name].method == (two or either or name in ("lowerAscii", "upperAscii", "trim"))


def test_what_a_literal_says_is_looked_at() -> None:
    F.Function("timestamp", (Scalar("2026-01-31T09:00:00+01:00"),)), F.Function("duration", (Scalar("1h30m"),))
    for name, text in (("timestamp", "1h30m"), ("timestamp", "2026-13-01T00:00:00Z"), ("duration", "1 hour")):
        with pytest.raises(FactError, match=f"{name} is of .*; got '{text}'"):
            F.Function(name, (Scalar(text),))
    for zone in (Scalar("Nowhere/Else"), P, Scalar("")):
        with pytest.raises(FactError, match="a time zone is a literal"):
            F.Function("getHours", (P, zone))
    F.Function("getHours", (OF["duration"],)), F.Function("contains", (P, Scalar("Nowhere/Else")))
    with pytest.raises(FactError, match="takes no time zone; got 'UTC'"):
        F.Function("getHours", (OF["duration"], Scalar("UTC")))


WRONG: list[Callable[[], object]] = [
    lambda: Path(()),
    lambda: Path(("call",)),
    lambda: Path(("now", "x")),
    lambda: Path(("state", "")) and Path(("state", "a", b"b")),
    lambda: Scalar(2**63),
    lambda: Scalar(-(2**63) - 1),
    lambda: Scalar(float("-inf")),
    lambda: Scalar([1]),
    lambda: F.Arithmetic("", P, P),
    lambda: F.Comparison("<>", P, P),
    lambda: F.Part(P, Scalar("name")),
    lambda: F.Minus(Scalar(1.5)),
    lambda: F.OneOf(P, (Scalar(None),)),
    lambda: F.OneOf(P, (P,)),
    lambda: F.OneOf(P, (Scalar(1), Scalar("1"))),
    lambda: F.OneOf(Size(P), (Scalar("1"),)),
    lambda: F.Within(P, F.List(())),
    lambda: F.Within(P, F.List((Scalar(1), Scalar(2)))),
    lambda: F.Has(Path(("state", "a-b"))),
    lambda: F.Has(Path(("state", "in"))),
    lambda: F.Has(F.Part(F.Part(P, Scalar(0)), Scalar("a b"))),
    lambda: F.Has(F.Part(P, Scalar(0))),
    lambda: F.Has(X),
    lambda: F.Conjunction((P,)),
    lambda: F.Disjunction((P,)),
    lambda: F.Conjunction((P, "q")),
    *[
        lambda name=name: Variable(name)
        for name in (*sorted(F.NO_NAMES), "state", "call", "now", "", "a b", "1", "é", 1)
    ],
]
RIGHT: list[Callable[[], object]] = [
    lambda: Path(("call", "any name at all")),
    lambda: Path(("state", "")),
    lambda: (Scalar(2**63 - 1), Scalar(-(2**63))),
    lambda: F.Part(F.Part(P, Scalar(0)), Scalar("name")),
    lambda: F.Part(P, Scalar(0)),
    lambda: F.Minus(Size(P)),
    lambda: F.OneOf(P, (Scalar(1), Scalar(2.5))),
    lambda: F.Within(P, F.List((Scalar(1), P))),
    lambda: F.Has(Path(("state", "_a1", "B_2"))),
    lambda: F.Has(F.Part(F.Part(P, Scalar(0)), Scalar("name"))),
    *[lambda name=name: Variable(name) for name in ("_", "states", "nows", "calls", "Now", "in_", "a1")],
]


@pytest.mark.parametrize("build", WRONG, ids=range(len(WRONG)))
def test_what_is_no_node_is_refused(build: Callable[[], object]) -> None:
    with pytest.raises(FactError, match="got"):
        build()


@pytest.mark.parametrize("build", RIGHT, ids=range(len(RIGHT)))
def test_what_is_a_node_is_taken(build: Callable[[], object]) -> None:
    assert build()


DEEPER: list[Callable[[F.Node], F.Node]] = [  # one operator more
    lambda one: F.Part(one, Scalar(0)),
    lambda one: F.Part(F.Part(P, Scalar(0)), one),
    lambda one: F.List((P, one)),
    lambda one: F.Arithmetic("-", one, P),
    lambda one: F.Arithmetic("-", P, one),
    F.Minus,
    lambda one: F.Choice(P, one, P),
    lambda one: F.Choice(P, P, one),
    lambda one: F.Choice(one, P, P),
    lambda one: F.Function("contains", (one, P)),
    lambda one: F.Function("contains", (P, one)),
    lambda one: F.Macro("map", one, X, X),
    lambda one: F.Comparison("==", one, P),
    lambda one: F.Comparison("<", P, one),
    lambda one: F.OneOf(one, (Scalar(True),)),
    lambda one: F.Within(one, P),
    lambda one: F.Within(P, one),
    lambda one: F.Has(F.Part(one, Scalar("a"))),
    lambda one: F.Conjunction((P, one)),
    lambda one: F.Disjunction((one, P)),
    F.Negation,
    Size,
]


def nested(deep: int) -> F.Node:
    """An item of an item and so on, of which nothing is known."""
    node: F.Node = P
    for _ in range(deep - 1):
        node = F.Part(node, Scalar(0))
    return node


@pytest.mark.parametrize("deeper", DEEPER, ids=range(len(DEEPER)))
def test_fifty_operators_may_be_nested_and_no_more(deeper: Callable[[F.Node], F.Node]) -> None:
    assert F.MAX_DEPTH == 50
    more = 1 if isinstance(deeper(nested(2)), F.Has) else 0
    deeper(nested(49 - more))
    with pytest.raises(FactError, match="at most 50 nested operators; got more"):
        deeper(nested(50))
    with pytest.raises(FactError, match="got"):
        deeper(nested(50 - more))


def test_a_path_has_fifty_names_at_most() -> None:
    assert Path(("state", *"a" * 49)).names[-1] == "a"
    with pytest.raises(FactError, match="2 to 50 names"):
        Path(("state", *"a" * 50))


ITEM = F.Comparison(">", X, Scalar(1))  # three steps
STEPS = [  # of a node, where lists have so many items
    (P, 7, 1),
    (Scalar(1), 7, 1),
    (Size(P), 7, 2),
    (ITEM, 7, 3),
    (F.Comparison("==", P, Q), 7, 10),
    (F.Comparison("!=", F.List(()), P), 7, 10),
    (F.Comparison("==", P, Scalar(1)), 7, 3),
    (F.Comparison("==", Size(P), P), 7, 4),
    (F.Comparison("<", P, Q), 7, 3),
    (F.Arithmetic("+", P, Q), 7, 10),
    (F.Arithmetic("+", P, Scalar("a")), 7, 3),
    (F.Arithmetic("-", P, Q), 7, 3),
    (F.Within(P, Q), 7, 10),
    (F.OneOf(P, (Scalar(1), Scalar(2))), 7, 4),
    (F.Function("sum", (P,)), 7, 9),
    (F.Function("min", (P,)), 7, 9),
    (F.Function("max", (P,)), 7, 9),
    (F.Function("trim", (P,)), 7, 2),
    (F.Macro("all", P, X, ITEM), 7, 1 + 1 + 7 * 4),
    (F.Macro("map", F.Macro("filter", P, X, ITEM), X, X), 7, 1 + (1 + 1 + 7 * 4) + 7 * 2),
    (F.Macro("all", P, X, F.Macro("exists", Q, X, ITEM)), 7, 2 + 7 * (1 + 2 + 7 * 4)),
]


@pytest.mark.parametrize(("node", "items", "steps"), STEPS, ids=range(len(STEPS)))
def test_the_steps_of_an_evaluation_are_counted(node: F.Node, items: int, steps: int) -> None:
    assert F.steps(node, items) == steps


def test_as_many_items_as_the_steps_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (F.MAX_STEPS, F.MAX_ITEMS, F.LEAST_ITEMS) == (300_000, 10_000, 10)
    twice = F.Macro("all", P, X, F.Macro("exists", Q, X, ITEM))
    allowed = F.steps(twice, 10)
    assert F.items(ITEM) == 10_000 and F.items(twice) == 246 >= 10
    assert F.steps(twice, 246) <= F.MAX_STEPS < F.steps(twice, 246 * 10 // 9 + 1)
    monkeypatch.setattr(F, "MAX_STEPS", F.steps(twice, 9000))
    assert F.items(twice) == 9000
    monkeypatch.setattr(F, "MAX_STEPS", F.steps(twice, 9000) - 1)
    assert F.items(twice) == 8100
    monkeypatch.setattr(F, "MAX_STEPS", allowed)
    assert F.items(twice) == 10 and F.Macro("all", P, X, F.Macro("exists", Q, X, ITEM)) == twice
    monkeypatch.setattr(F, "MAX_STEPS", allowed - 1)
    with pytest.raises(FactError, match=f"at most {allowed - 1} steps"):
        F.Macro("all", P, X, F.Macro("exists", Q, X, ITEM))


HELD = [  # a text, what it measures, the variables that nothing binds, and what stands directly below it
    ("size(state.a) > state.b", "size(state.a) state.b", 2),
    ("state.a == state.a", "state.a", 2),
    ("size(call.a.b[0]) == 1", "call.a.b", 2),
    ("state.a.all(i, i > call.b)", "state.a call.b", 2),
    ("state.a ? state.b : !state.c", "state.a state.b state.c", 3),
    ("state.a && state.b && state.c", "state.a state.b state.c", 3),
    ("state.a || state.b", "state.a state.b", 2),
    ("state.a in [1, 2]", "state.a", 3),
    ("state.a in call.b", "state.a call.b", 2),
    ("[state.a, call.b] == []", "state.a call.b", 2),
    ("has(state.a)", "state.a", 1),
    ("!state.a", "state.a", 1),
    ("state.a.startsWith(call.b)", "state.a call.b", 2),
    ("-state.a < 1", "state.a", 2),
    ("true", "", 0),
]


@pytest.mark.parametrize(("text", "terms", "below"), HELD)
def test_what_a_tree_holds(text: str, terms: str, below: int) -> None:
    fact = cel.parse(text)
    assert " ".join(cel.render(one) for one in F.terms(fact)) == terms
    assert F.paths(fact) == tuple(dict.fromkeys(one.of if isinstance(one, Size) else one for one in F.terms(fact)))
    assert len(F.children(fact)) == below and not F.free(fact)


def test_a_variable_is_free_where_no_macro_binds_it() -> None:
    y = Variable("y")
    both = F.Comparison("==", X, y)
    assert F.free(both) == {"x", "y"} and F.free(F.Macro("all", P, X, both)) == {"y"}
    assert F.free(F.Macro("all", X, X, F.Negation(X))) == {"x"}
    assert F.free(F.Conjunction((F.Macro("all", P, X, X), X))) == {"x"}
    assert F.free(F.Macro("all", P, y, F.Macro("all", y, X, both))) == frozenset()
    assert F.measured(P) and F.measured(Size(P)) and not F.measured(X) and not F.measured(Size(F.Part(P, Q)))


LIMITS = [
    ("state.a >= 18", "state.a >= 18"),
    ("18 >= state.a", "state.a <= 18"),
    ("18 > state.a", "state.a < 18"),
    ("18 < state.a", "state.a > 18"),
    ("18 <= state.a", "state.a >= 18"),
    ("'x' == state.a", 'state.a == "x"'),
    ("3 != size(state.a)", "size(state.a) != 3"),
    ("state.a == null", None),
    ("null == state.a", None),
    ("state.a == state.b", None),
    ("1 == 2", None),
    ("state.a[0] == 2", None),
]


@pytest.mark.parametrize(("text", "limit"), LIMITS)
def test_a_limit_is_a_path_or_size_beside_a_literal(text: str, limit: str | None) -> None:
    fact = cel.parse(text)
    found = fact.limit if isinstance(fact, F.Comparison) else None
    said = None if found is None else f"{cel.render(found[0])} {found[1]} {cel.render(found[2])}"
    assert said == limit


def test_operators_have_their_meaning() -> None:
    meant = {"==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le}
    assert F.COMPARE == meant | {">": operator.gt, ">=": operator.ge}
    for op, other in F.MIRRORED.items():
        assert all(F.COMPARE[op](a, b) == F.COMPARE[other](b, a) for a, b in ((0, 0), (0, 1), (1, 0)))
