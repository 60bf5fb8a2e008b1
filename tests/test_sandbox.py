"""Generated guards run stripped, bounded, and unknown values are tried out."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wb.guards import sandbox

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


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ("import os\n    return (True, '')", "Import"),
        ("return (len('a') == 1, '')", "Call"),
        ("while True:\n        pass", "While"),
        ("for x in (1, 2):\n        pass", "For"),
        ("return (a.real == 1, '')", "Attribute"),
        ("return (open, '')", "open"),
        ("return ([1] == a, '')", "List"),
        ("return (9 ** 9 ** 9 == a, '')", "Pow"),
        ("return ('x' * 10 ** 9 == '', '')", "Mult"),
        ("global a\n    return (True, '')", "Global"),
        ("return ((lambda: 1) == a, '')", "Lambda"),
        ("def inner() -> bool:\n        pass\n    return (True, '')", "inner"),
        ("return (a[0] == 1, '')", "Subscript"),
        ("b = a\n    return (b == 1, '')", "Assign"),
        ("a += a\n    return (a == 1, '')", "Add"),
        ("return ('x' + 'y' == 'xy', '')", "a number was required; got str"),
        ("return (-'x' == a, '')", "a number was required; got str"),
        ("return (a < 'x', '')", "two numbers or of two texts was required; got int and str"),
        ("return ((a, 1) == (1, a), '')", "Tuple"),
        ("return (a in (1, a), '')", "constants to search in"),
        ("return ('x' in 'xy', '')", "In"),
        ("return (1 if a else 'x', '')", "values of one type were required; got int and str"),
        ("return (a or 'x', '')", "values of one type"),
        ("return (a == 1.5, '')", "Constant"),
        ("return (a == None, '')", "Constant"),
        ("return (a == 9223372036854775809, '')", "numbers up to"),
        ("return (True, a)", "a text as the reason was required; got Name"),
        ("return True", "a decision and a reason"),
        ("return", "a decision and a reason"),
        ("return (f'{a}' == '', '')", "JoinedStr"),
    ],
)
def test_code_outside_the_language_of_guards_is_refused(body: str, named: str) -> None:
    with pytest.raises(sandbox.UnsafeSource, match=named):
        sandbox.load(f"def policy(a: int) -> Tuple[bool, str]:\n    {body}\n")


@pytest.mark.parametrize("source", ["", "x = 1", "def a(): pass\ndef b(): pass", "def ("])
def test_anything_but_one_function_is_refused(source: str) -> None:
    with pytest.raises(sandbox.UnsafeSource, match="required"):
        sandbox.load(source)


def test_a_default_argument_is_refused() -> None:
    with pytest.raises(sandbox.UnsafeSource, match="plain typed parameters"):
        sandbox.load("def policy(a: int = 3) -> Tuple[bool, str]:\n    return (True, '')\n")


def test_points_are_every_constant_and_its_neighbours() -> None:
    assert sandbox.points(GUARD) == {"age": (-1, 0, 1, 17, 18, 19), "gold": (False, True), "kind": ("b", sandbox.OTHER)}


@pytest.mark.parametrize(
    ("kind", "test", "expected"),
    [
        ("int", "a in (3, 'x')", (2, 3, 4)),
        ("int", "a == -2", (-3, -2, -1, 1, 2, 3)),
        ("int", "a == True", (0,)),
        ("int", "a", (0,)),
        ("str", "a in (3, 'x')", ("x", sandbox.OTHER)),
        ("str", f"a in ('x', '{sandbox.OTHER}')", (*sorted((sandbox.OTHER, "x")), sandbox.OTHER * 2)),
        ("str", "a == ''", ("", sandbox.OTHER)),
        ("bool", "a == 3", (False, True)),
    ],
)
def test_points_are_of_the_type_of_their_parameter_and_hold_one_text_more(
    kind: str, test: str, expected: tuple
) -> None:
    source = (
        f"def p(a: {kind}) -> Tuple[bool, str]:\n    if {test}:\n        return (False, '')\n    return (True, '')\n"
    )
    assert sandbox.points(source) == {"a": expected}
    assert [type(value) for value in sandbox.points(source)["a"]] == [type(value) for value in expected]


@pytest.mark.parametrize(("kind", "shared"), [("int", {-1, 0, 1}), ("str", {sandbox.OTHER, sandbox.OTHER * 2})])
def test_inputs_that_meet_each_other_can_be_equal_and_differ(kind: str, shared: set) -> None:
    met = sandbox.points(f"def p(a: {kind}, b: {kind}, c: {kind}) -> Tuple[bool, str]:\n    return (a == b, '')\n")
    assert set(met["a"]) == set(met["b"]) == shared and len(met["c"]) == 1


def test_a_comparison_of_two_inputs_is_not_simple() -> None:
    assert sandbox.load(GUARD).exact == {"age", "gold", "kind"}
    source = "def p(a: int, b: int, c: int, d: bool) -> Tuple[bool, str]:\n    return (a < b and c < 3 and d, '')\n"
    assert sandbox.load(source).exact == {"c", "d"}


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


def test_too_many_completions_are_an_error_and_not_an_answer() -> None:
    program = sandbox.load("def p(a: bool, b: bool) -> Tuple[bool, str]:\n    return (a == b, '')\n")
    with pytest.raises(sandbox.TooMany, match="at most 2"):
        list(sandbox.completions(program.run, {}, program.points, limit=2))


def test_a_loaded_guard_knows_no_name_but_its_own() -> None:
    program = sandbox.load("def guard(age: int) -> Tuple[bool, str]:\n    return (age >= 18, 'allowed')\n")
    known = program.run.__globals__
    assert known["__builtins__"] == {} and {*known} <= {"__builtins__", "guard"}
