"""The language of guards, construct by construct; its bounds to the unit; and what is told of what it may not be."""

from __future__ import annotations

import ast
import inspect

import pytest

from wb.guards import decided, sandbox
from wb.guards.sandbox import UnsafeSource

TYPES = {"n": "int", "m": "int", "s": "str", "t": "str", "p": "bool", "q": "bool"}
HEADER = f"def policy({', '.join(f'{name}: {kind}' for name, kind in TYPES.items())}) -> Tuple[bool, str]:"
NUMBER, TRUTH, TEXT = "int", "bool", "str"
TYPED = {  # an expression, and its type; None where it has none
    "1": NUMBER,
    "True": TRUTH,
    "'a'": TEXT,
    "n": NUMBER,
    "s": TEXT,
    "p": TRUTH,
    "1.5": None,
    "None": None,
    "b'a'": None,
    "...": None,
    "other": None,
    "not n": TRUTH,
    "not s": TRUTH,
    "not other": None,
    "-n": NUMBER,
    "-p": NUMBER,
    "-s": None,
    "+n": None,
    "~n": None,
    "n + m": NUMBER,
    "n - 1": NUMBER,
    "p + q": NUMBER,
    "n + p": NUMBER,
    "s + t": None,
    "n + s": None,
    "s - n": None,
    "n * 2": None,
    "n // 2": None,
    "n % 2": None,
    "n and m": NUMBER,
    "p or q": TRUTH,
    "n and p": NUMBER,
    "p and n": NUMBER,
    "s or t": TEXT,
    "s or n": None,
    "p and s": None,
    "n if p else m": NUMBER,
    "s if n else t": TEXT,
    "p if s else q": TRUTH,
    "n if p else q": NUMBER,
    "n if p else s": None,
    "n if other else m": None,
    "n == m": TRUTH,
    "n == s": TRUTH,
    "n != 'a'": TRUTH,
    "p == 1": TRUTH,
    "n < m": TRUTH,
    "n <= p": TRUTH,
    "s > t": TRUTH,
    "s >= 'a'": TRUTH,
    "n < s": None,
    "s > p": None,
    "0 <= n < 18": TRUTH,
    "0 <= n < s": None,
    "'a' < s == n": TRUTH,
    "n == m == s": TRUTH,
    "n is m": None,
    "n is not m": None,
    "n in (1, 2)": TRUTH,
    "n not in (1, -2)": TRUTH,
    "s in ('a', 1)": TRUTH,
    "n in ()": TRUTH,
    "n + 1 in (1, 2)": TRUTH,
    "other in (1, 2)": None,
    "n in (1, m)": None,
    "n in (1, -m)": None,
    "n in (1, -'a')": None,
    "n in (1, not True)": TRUTH,
    "n in (1, 1 + 1)": None,
    "n in (1, 1.5)": None,
    "s in 'ab'": None,
    "n in [1]": None,
    "n in {1}": None,
    "1 in (1, 2) in (3,)": None,
    "n in (1, 2) == p": None,
    "(n, 1) == 1": None,
    "f'a'": None,
    "n.real": None,
    "n[0]": None,
    "abs(n)": None,
    "[n]": None,
    "lambda: n": None,
    "(n := 1)": None,
}


@pytest.mark.parametrize("text", TYPED)
def test_an_expression_has_its_type_or_is_refused(text: str) -> None:
    node = ast.parse(text, mode="eval").body
    if TYPED[text] is not None:
        assert sandbox._type(node, TYPES) == TYPED[text]
        sandbox.load(f"{HEADER}\n    if {text}:\n        return (({text}) == 1, 'a')\n    return (True, 'b')\n")
    else:
        with pytest.raises(UnsafeSource, match=r"line 1: .* required; got "):
            sandbox._type(node, TYPES)
        for place in (f"if {text}:\n        pass", f"return ({text}, 'a')", f"return (not ({text}), 'a')"):
            with pytest.raises(UnsafeSource, match="required; got "):
                sandbox.load(f"{HEADER}\n    {place}\n")


RUNS = [
    "pass",
    "return (True, 'a')",
    "return (n, s)",
    "return (p, 'a' if p else s)",
    "return ((p, n), 'a')",
    "if p:\n        pass\n    else:\n        return (True, 'a')",
    "if p:\n        return (True, 'a')\n    elif n:\n        return (False, s or t)",
]
REFUSED = [
    ("return", "a decision and a reason to return were required; got Return 'return'"),
    ("return True", "a decision and a reason to return were required; got Constant 'True'"),
    ("return (True,)", "a decision and a reason to return were required; got Tuple '(True,)'"),
    ("return (True, 'a', 'b')", "a decision and a reason to return were required"),
    ("return (True, n)", "a text as the reason was required; got Name 'n'"),
    ("return (other, 'a')", "names of parameters were required; got Name 'other'"),
    ("return ((p, other), 'a')", "names of parameters were required; got Name 'other'"),
    ("return (True, other)", "names of parameters were required; got Name 'other'"),
    ("if other:\n        pass", "names of parameters were required"),
    ("if p:\n        x = 1", "if, return, comparisons and constants were required; got Assign 'x = 1'"),
    (
        "if p:\n        pass\n    else:\n        del n",
        "if, return, comparisons and constants were required; got Delete",
    ),
    ("print(n)", "if, return, comparisons and constants were required; got Expr"),
    ("n + 1", "if, return, comparisons and constants were required; got Expr"),
    ("raise n", "if, return, comparisons and constants were required; got Raise"),
    ("n += 1", "if, return, comparisons and constants were required; got Add"),
    ("match n:\n        case 1:\n            pass", "required; got Match"),
    ("return (n < s, 'a')", "an order of two numbers or of two texts was required; got int and str"),
    ("return (n is m, 'a')", "if, return, comparisons and constants were required; got Is"),
    ("return (-s, 'a')", "a number was required; got str"),
    ("return (n or s, 'a')", "values of one type were required; got int and str"),
    ("return (n in (m,), 'a')", "constants to search in were required"),
]


@pytest.mark.parametrize("body", RUNS)
def test_a_statement_of_the_language_is_taken(body: str) -> None:
    program = sandbox.load(f"{HEADER}\n    {body}\n")
    assert program.name == "policy" and program.types == tuple(TYPES.items()) and program.points.keys() == TYPES.keys()


@pytest.mark.parametrize(("body", "said"), REFUSED)
def test_a_statement_beside_the_language_is_named_with_its_line(body: str, said: str) -> None:
    with pytest.raises(UnsafeSource) as refused:
        sandbox.load(f"{HEADER}\n    {body}\n")
    assert said in str(refused.value) and str(refused.value).startswith("line ")


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
    assert bounds == (100_000, 20_000, 100, 5_000, 2**63, 20)
    sandbox.parse("#" * 100_000), sandbox.parse(f"x = {2**63}")
    with pytest.raises(UnsafeSource, match="at most 100000 characters were required; got 100001"):
        sandbox.parse("#" * 100_001)
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


POINTS = [  # a condition over HEADER's parameters, and the values of one of them that stand for all
    ("n == 3", "n", (2, 3, 4)),
    ("n in (3, 7)", "n", (2, 3, 4, 6, 7, 8)),
    ("n < -3", "n", (-4, -3, -2, 2, 3, 4)),
    ("n == m", "n", (-1, 0, 1)),
    ("n == m + 5", "m", (-1, 0, 1, 4, 5, 6)),
    ("n == 3 and m == 9", "m", (8, 9, 10)),
    ("n", "n", (0,)),
    ("n == 'a'", "n", (0,)),
    ("n == True", "n", (0,)),
    ("s == 'a'", "s", ("a", "~")),
    ("s in ('b', 'a')", "s", ("a", "b", "~")),
    ("s == '~'", "s", ("~", "~~")),
    ("s == t", "s", ("~", "~~")),
    ("s == 3", "s", ("~",)),
    ("s", "s", ("~",)),
    ("p == 3", "p", (False, True)),
]


@pytest.mark.parametrize(("condition", "name", "points"), POINTS)
def test_the_values_that_stand_for_all(condition: str, name: str, points: tuple) -> None:
    found = sandbox.points(f"{HEADER}\n    return ({condition}, 'a')\n")
    assert found.keys() == TYPES.keys() and found[name] == points
    assert [type(one) for one in found[name]] == [type(one) for one in points]


def test_the_values_of_two_sources_are_those_of_both() -> None:
    one, other = (f"{HEADER}\n    return ({text}, 'a')\n" for text in ("n == 3", "n == 7"))
    assert sandbox.points(one, other)["n"] == (2, 3, 4, 6, 7, 8) and sandbox.points() == {}
    loop = "def lists__a(k: int) -> int:\n    return k == 9\n"
    assert sandbox.points(one + loop) == sandbox.points(one)


EXACT = {  # conditions, and which of their parameters the values above stand for exactly
    "n == 3": "nmstpq",
    "n < 3 and n > -4": "nmstpq",
    "0 <= n < 3": "nmstpq",
    "n in (1, 2)": "nmstpq",
    "n in (1, -2)": "nmstpq",
    "n == m": "stpq",
    "n < m and n == 3": "stpq",
    "n == True": "mstpq",
    "n in (1, True)": "mstpq",
    "n + 1 == 3": "mstpq",
    "-n == 3": "mstpq",
    "n": "mstpq",
    "n == p": "mstpq",
    "s == 'a'": "nmstpq",
    "s in ('a', 'b')": "nmstpq",
    "s < 'a'": "nmtpq",
    "'a' <= s": "nmtpq",
    "'a' < s": "nmtpq",
    "s >= 'a'": "nmtpq",
    "s == 'a' and s > 'b'": "nmtpq",
    "s != t": "nmpq",
    "p == q and p": "nmstpq",
}


@pytest.mark.parametrize("condition", EXACT)
def test_for_which_parameters_some_values_stand_for_all(condition: str) -> None:
    assert sandbox.load(f"{HEADER}\n    return ({condition}, 'a')\n").exact == set(EXACT[condition])


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
        assert decided._decided(node(text)) is yes
    assert decided._decided(node(early.replace("decided-3f2a90c1b7de", "c1"))) is False
