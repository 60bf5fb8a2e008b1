"""The language of guards, construct by construct, its bounds to the unit, and unknown values tried out.

`tables/sandbox_*.tsv`: expressions with their type, statements with what is said of them (-: taken), conditions with
the values that stand for all and the parameters for which they do so exactly.
"""

from __future__ import annotations

import ast
import inspect
import itertools

import pytest
from conftest import table
from hypothesis import given
from hypothesis import strategies as st

from wb.guards import sandbox, synthesis
from wb.guards.sandbox import UnsafeSource

TYPES = {"n": "int", "m": "int", "s": "str", "t": "str", "p": "bool", "q": "bool"}
HEADER = f"def policy({', '.join(f'{name}: {kind}' for name, kind in TYPES.items())}) -> Tuple[bool, str]:"
GUARD = '''
from typing import Tuple
from nagini_contracts.contracts import *

def policy_book(age: int, gold: bool, kind: str) -> Tuple[bool, str]:
    """A docstring."""
    Requires(age >= 0)
    Ensures(Implies(Result()[0], age >= 18))
    if age < 18:
        return (False, "too young")
    if kind == "b" and not gold:
        return (False, "not gold")
    return (True, "allowed")
'''


def test_a_contract_is_stripped_before_a_guard_runs() -> None:
    assert "Ensures" not in sandbox.strip(GUARD) and "import" not in sandbox.strip(GUARD)
    assert sandbox.load(GUARD).run(18, True, "a") == (True, "allowed")
    assert sandbox.load(GUARD).run(17, True, "a") == (False, "too young")


def rows(name: str) -> list[list[str]]:
    return [line.split("\t") for (line,) in table(name)]


@pytest.mark.parametrize(("text", "kind"), rows("sandbox_types.tsv"))
def test_an_expression_has_its_type_or_is_refused(text: str, kind: str) -> None:
    node = ast.parse(text, mode="eval").body
    if kind != "-":
        assert sandbox._type(node, TYPES) == kind
        sandbox.load(f"{HEADER}\n    if {text}:\n        return (({text}) == 1, 'a')\n    return (True, 'b')\n")
        return
    with pytest.raises(UnsafeSource, match=r"line 1: .* required; got "):
        sandbox._type(node, TYPES)
    for place in (f"if {text}:\n        pass", f"return ({text}, 'a')", f"return (not ({text}), 'a')"):
        with pytest.raises(UnsafeSource, match="required; got "):
            sandbox.load(f"{HEADER}\n    {place}\n")


@pytest.mark.parametrize(("body", "message"), rows("sandbox_statements.tsv"))
def test_a_statement_is_taken_or_named_with_its_line(body: str, message: str) -> None:
    source = f"{HEADER}\n    {body.replace(chr(92) + 'n', chr(10))}\n"
    if message == "-":
        program = sandbox.load(source)
        assert program.name == "policy" and program.types == tuple(TYPES.items())
        assert program.points.keys() == TYPES.keys()
        return
    with pytest.raises(UnsafeSource) as refused:
        sandbox.load(source)
    assert message in str(refused.value) and str(refused.value).startswith("line ")


HEADERS = [
    ("(n: int, s: str, p: bool) -> Tuple[bool, str]", ""),
    ("(n: int)", ""),
    ("() -> Tuple[bool, str]", ""),
    ("(n: int = 1)", "plain typed parameters"),
    ("(*n: int)", "plain typed parameters"),
    ("(**n: int)", "plain typed parameters"),
    ("(n: int, /)", "plain typed parameters"),
    ("(*, n: int)", "plain typed parameters"),
    ("(*, n: int = 1)", "plain typed parameters"),
    ("(n)", "parameters of the types int, bool, str"),
    ("(n: float)", "parameters of the types int, bool, str"),
    ("(n: 'int')", "parameters of the types int, bool, str"),
    ("(n: int | str)", "parameters of the types int, bool, str"),
    ("(n: int) -> bool", "the answer Tuple[bool, str] was required; got bool"),
    ("(n: int) -> Tuple[str, bool]", "the answer Tuple[bool, str] was required"),
    ("[T](n: int)", "a function without type parameters"),
]


@pytest.mark.parametrize(("header", "said"), HEADERS)
def test_the_parameters_of_a_guard(header: str, said: str) -> None:
    source = f"def policy{header}:\n    return (True, '')\n"
    if said:
        with pytest.raises(UnsafeSource) as refused:
            sandbox.load(source)
        assert said in str(refused.value)
    else:
        assert sandbox.load(source).name == "policy"


@pytest.mark.parametrize("source", ["", "x = 1", "def a(): pass\ndef b(): pass", "def ("])
def test_anything_but_one_function_is_refused(source: str) -> None:
    with pytest.raises(sandbox.UnsafeSource, match="required"):
        sandbox.load(source)


def test_what_is_taken_off_before_a_guard_runs() -> None:
    bare = f"{HEADER}\n    return (p, 'a')\n"
    for word in ("Requires", "Ensures", "Refute", "Assert", "Assume", "Decreases"):
        assert sandbox.strip(bare.replace("    return", f"    {word}(n > 1)\n    return")) == sandbox.strip(bare)
    for more in ("'says'", "'says'\n    'more'"):
        assert sandbox.strip(bare.replace("    return", f"    {more}\n    return")) == sandbox.strip(bare)
    for before in ("import os\n", "from os import *\n", "@Pure\n", "def lists__a() -> int:\n    return 1\n\n\n"):
        assert sandbox.strip(before + bare) == sandbox.strip(bare)
    for kept in ("Other(n)", "n", "1", "Ensures", "a.Ensures(n)"):
        assert sandbox.strip(bare.replace("    return", f"    {kept}\n    return")) != sandbox.strip(bare)
    assert sandbox.strip(f"{HEADER}\n    Ensures(p)\n") == f"{HEADER}\n    pass\n"
    assert sandbox.strip("x = 1\n" + bare) == "x = 1\n\n" + sandbox.strip(bare)
    with pytest.raises(UnsafeSource, match=r"one function was required; got \['Assign', 'FunctionDef'\]"):
        sandbox.load("x = 1\n" + bare)
    with pytest.raises(UnsafeSource, match=r"one function was required; got \['ClassDef'\]"):
        sandbox.load("class A:\n    pass\n")


def test_the_bounds_of_a_source_are_kept_to_the_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    bounds = (sandbox.LONGEST, sandbox.WIDEST, sandbox.DEEPEST, sandbox.LARGEST, sandbox.INTEGER, sandbox.READS)
    assert bounds == (300_000, 60_000, 100, 5_000, 2**63, 20)
    sandbox.parse("#" * 300_000), sandbox.parse(f"x = {2**63}")
    with pytest.raises(UnsafeSource, match="at most 300000 characters were required; got 300001"):
        sandbox.parse("#" * 300_001)
    with pytest.raises(UnsafeSource, match=rf"line 2: numbers up to {2**63} were required; got a larger one"):
        sandbox.parse(f"y = 1\nx = {2**63 + 1}")
    sandbox.parse("x = True\ny = 1.5e300\nz = 'a'")
    source = "x = y"  # a module, a statement, two names and how each is used
    size, deep = sum(1 for _ in ast.walk(ast.parse(source))), 4
    monkeypatch.setattr(sandbox, "WIDEST", size)
    monkeypatch.setattr(sandbox, "DEEPEST", deep)
    sandbox.parse(source)
    monkeypatch.setattr(sandbox, "WIDEST", size - 1)
    with pytest.raises(UnsafeSource, match=f"at most {size - 1} nodes of syntax"):
        sandbox.parse(source)
    monkeypatch.setattr(sandbox, "WIDEST", size)
    monkeypatch.setattr(sandbox, "DEEPEST", deep - 1)
    with pytest.raises(UnsafeSource, match=f"at most {deep - 1} levels of nesting"):
        sandbox.parse(source)


def test_the_bound_of_a_function_is_kept_to_the_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    source = f"{HEADER}\n    return (p, 'a')\n"
    size = sum(1 for _ in ast.walk(ast.parse(source).body[0]))
    monkeypatch.setattr(sandbox, "LARGEST", size)
    sandbox.load(source)
    monkeypatch.setattr(sandbox, "LARGEST", size - 1)
    with pytest.raises(UnsafeSource, match=f"at most {size - 1} nodes of syntax were required; got {size}"):
        sandbox.load(source)


@pytest.mark.parametrize("source", ["def (", "x = \ud800", "(" * 300, "x = 1\0", f"{'-' * 9000}1"])
def test_what_is_no_python_is_refused_with_its_kind(source: str) -> None:
    with pytest.raises(UnsafeSource, match="required; got"):
        sandbox.parse(source)


def test_points_are_every_constant_and_its_neighbours() -> None:
    assert sandbox.points(GUARD) == {"age": (-1, 0, 1, 17, 18, 19), "gold": (False, True), "kind": ("b", sandbox.OTHER)}


@pytest.mark.parametrize(("condition", "name", "points"), rows("sandbox_points.tsv"))
def test_the_values_that_stand_for_all(condition: str, name: str, points: str) -> None:
    found, wanted = sandbox.points(f"{HEADER}\n    return ({condition}, 'a')\n"), ast.literal_eval(points)
    assert found.keys() == TYPES.keys() and found[name] == wanted
    assert [type(one) for one in found[name]] == [type(one) for one in wanted]


def test_the_values_of_two_sources_are_those_of_both() -> None:
    one, other = (f"{HEADER}\n    return ({text}, 'a')\n" for text in ("n == 3", "n == 7"))
    assert sandbox.points(one, other)["n"] == (2, 3, 4, 6, 7, 8) and sandbox.points() == {}
    loop = "def lists__a(k: int) -> int:\n    return k == 9\n"
    assert sandbox.points(one + loop) == sandbox.points(one)


@pytest.mark.parametrize(("condition", "names"), rows("sandbox_exact.tsv"))
def test_for_which_parameters_some_values_stand_for_all(condition: str, names: str) -> None:
    assert sandbox.load(f"{HEADER}\n    return ({condition}, 'a')\n").exact == set(names)


def test_what_is_tried_answers_or_says_what_came_instead() -> None:
    given = {"n": 1, "m": 2, "s": "a", "t": "b", "p": True, "q": False}
    assert sandbox.tried(sandbox.load(f"{HEADER}\n    return (p, s)\n"), given) == (True, "a")
    assert sandbox.tried(sandbox.load(f"{HEADER}\n    return (n, s)\n"), given) == "answered (1, 'a'), not (bool, str)"
    assert sandbox.tried(sandbox.load(f"{HEADER}\n    return ((p, q), s)\n"), given) == (
        "answered ((True, False), 'a'), not (bool, str)"
    )
    assert sandbox.tried(sandbox.load(f"{HEADER}\n    pass\n"), given) == "answered None, not (bool, str)"
    assert sandbox.tried(sandbox.load(f"{HEADER}\n    return (p, s)\n"), {}).startswith("TypeError: ")


def test_completions_are_bounded_to_the_unit() -> None:
    assert inspect.signature(sandbox.completions).parameters["limit"].default == 20_000
    program = sandbox.load(f"{HEADER}\n    return (p == q, s)\n")
    known, unknown = {"n": 1, "m": 2, "s": "a", "t": "b"}, {"p": (False, True), "q": (False, True)}
    found = list(sandbox.completions(program.run, known, unknown, limit=4))
    assert [(chosen["p"], chosen["q"], answer[0]) for chosen, answer in found] == [
        (False, False, True),
        (False, True, False),
        (True, False, False),
        (True, True, True),
    ]
    for limit in (3, 1, 0):
        with pytest.raises(sandbox.TooMany, match=f"at most {limit} completions were allowed; 2 values are unknown"):
            list(sandbox.completions(program.run, known, unknown, limit=limit))
    often = sandbox.load(f"{HEADER}\n    return ({' or '.join(['n == m'] * 10)}, 'a')\n")
    pair = {"s": "a", "t": "b", "p": True, "q": True}
    assert len(list(sandbox.completions(often.run, pair, {"n": (1,), "m": (2,)}, limit=1))) == 1, "twenty are read"
    more = sandbox.load(f"{HEADER}\n    return ({' or '.join(['n == m'] * 10)} or n, 'a')\n")
    with pytest.raises(sandbox.TooMany, match="at most 20 values were to be read; 2 are unknown"):
        list(sandbox.completions(more.run, pair, {"n": (1,), "m": (2,)}, limit=1))


@pytest.mark.parametrize(
    "expression",
    ["n + 2 == 5", "2 + n == 5", "n - 2 == 5", "2 - n == 5", "-n == 3", "n + m == m + n", "n < 3", "n <= 3", "n > 3"]
    + ["n >= 3", "3 > n", "n != 3", "not n", "n and m", "n in (3, 4)", "n - m == 3", "n == m"],
)
def test_an_unknown_value_computes_as_the_value_that_is_chosen(expression: str) -> None:
    program = sandbox.load(f"{HEADER}\n    return (not ({expression}), 'a')\n")
    rest = {"s": "a", "t": "b", "p": True, "q": True}
    points = {"n": tuple(range(-4, 8)), "m": (-3, 0, 3)}
    seen = 0
    for chosen, answer in sandbox.completions(program.run, rest, points):
        for m in points["m"] if "m" not in chosen else (chosen["m"],):
            assert answer == program.run(**rest, **{"n": 0, **chosen, "m": m})
            seen += 1
    assert seen >= 12


def test_what_says_yes_or_no_says_one_of_the_two() -> None:
    def node(text: str) -> ast.stmt:
        return ast.parse(text).body[0]

    for text, yes in (("Ensures(n)", True), ("'says'", True), ("n", False), ("x = 1", False), ("Other(n)", False)):
        assert sandbox._is_contract(node(text)) is yes
    for text, yes in (
        ("1", True),
        ("-1", True),
        ("('a', 2)", True),
        ("True", False),
        ("(1, True)", False),
        ("n", False),
    ):
        assert sandbox._constant(node(text).value) is yes
    early = "if not n:\n    return (False, 'decided-3f2a90c1b7de')"
    for text, yes in (
        (early, True),
        (f"{early}\nelse:\n    pass", False),
        ("pass", False),
        ("return (False, 'c')", False),
    ):
        assert synthesis._decided(node(text)) is yes
    assert synthesis._decided(node(early.replace("decided-3f2a90c1b7de", "c1"))) is False


@given(
    st.integers(-2, 40), st.booleans(), st.sampled_from(("a", "b")), st.sets(st.sampled_from(("age", "gold", "kind")))
)
def test_completions_agree_with_trying_every_value(age: int, gold: bool, kind: str, hidden: set[str]) -> None:
    program, whole = sandbox.load(GUARD), {"age": age, "gold": gold, "kind": kind}
    known = {n: v for n, v in whole.items() if n not in hidden}
    unknown = {n: program.points[n] for n in hidden}
    lazily = {outcome for _, outcome in sandbox.completions(program.run, known, unknown)}
    eagerly = {
        program.run(**known, **dict(zip(unknown, values, strict=True)))
        for values in itertools.product(*unknown.values())
    }
    assert lazily == eagerly


def test_a_chain_of_early_returns_takes_one_run_for_each_value_and_one_more() -> None:
    names = [f"x{i}" for i in range(30)]
    body = "".join(f"    if not {n}:\n        return (False, '{n}')\n" for n in names)
    header = ", ".join(f"{n}: bool" for n in names)
    program = sandbox.load(f"def p({header}) -> Tuple[bool, str]:\n{body}    return (True, '')\n")
    assert len(list(sandbox.completions(program.run, {}, program.points))) == 31


def test_a_loaded_guard_knows_no_name_but_its_own() -> None:
    program = sandbox.load("def guard(age: int) -> Tuple[bool, str]:\n    return (age >= 18, 'allowed')\n")
    known = program.run.__globals__
    assert known["__builtins__"] == {} and {*known} <= {"__builtins__", "guard"}
