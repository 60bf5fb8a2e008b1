"""Dead branches: answers of a guard that no call gets, though what stands there is not said elsewhere.

A proof and tests speak of what a guard answers, so they pass one with a branch that can never be taken: two conditions
that exclude each other, or a refusal after an answer that has let those calls through.  Its author meant something by
it, and does not have it (SPEC, on VeriGuard w: vacuity).  Said twice is no fault, nor is a last denial that is never
needed: a dead answer is one that where its conditions hold is never given, and that is contradicted there, or whose
conditions never hold.

Told where trying is exact (`sandbox.simple`): of a guard that compares two of its inputs nothing is said.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from wb.guards import sandbox
from wb.guards.sandbox import Argument

Leaf = tuple[ast.Return, tuple[ast.expr, ...], bool]  # an answer, its conditions, and whether it is what is left over


def dead(source: str, points: Mapping[str, tuple[Argument, ...]]) -> tuple[str, ...]:
    """The dead answers of a guard's source, each with its line; none where they cannot be told."""
    function = sandbox.check(source)
    read = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)} & points.keys()
    if not read <= sandbox.simple(function):
        return ()
    leaves = list(_leaves(function.body, (), True))
    try:
        runs = [(values, number) for values, (_, number) in _answers(function, leaves, points)]
        unmet = [i for i in range(len(leaves)) if str(i) not in {number for _, number in runs}]
        found = [leaves[i] for i in unmet if not _left_over(leaves[i]) and _contradicted(function, leaves[i], points)]
    except (sandbox.TooMany, sandbox.UnsafeSource):
        return ()
    return tuple(f"line {leaf[0].lineno}: `{ast.unparse(leaf[0])}` is never reached" for leaf in found)


def _leaves(body: Sequence[ast.stmt], path: tuple[ast.expr, ...], rest: bool) -> Iterator[Leaf]:
    """The answers of statements under conditions; `rest` where these are all that other branches leave."""
    for statement in body:
        match statement:
            case ast.If(test, inner, orelse):
                yield from _leaves(inner, (*path, test), False)
                yield from _leaves(orelse, (*path, ast.UnaryOp(ast.Not(), test)), True)
            case ast.Return():
                yield statement, path, rest


def _left_over(leaf: Leaf) -> bool:
    """Whether an answer is the denial of all that is left over, which does no harm where nothing is."""
    answer, _, rest = leaf
    return rest and isinstance(answer.value.elts[0], ast.Constant) and not answer.value.elts[0].value


def _answers(
    function: ast.FunctionDef, leaves: Sequence[Leaf], points: Mapping[str, tuple[Argument, ...]]
) -> Iterator[tuple[dict[str, Argument], tuple[bool, str]]]:
    """The outcomes over all values, each with the number of its answer as the reason."""
    numbers = {id(leaf[0]): str(i) for i, leaf in enumerate(leaves)}
    body = _numbered(function.body, numbers)
    return sandbox.completions(sandbox.load(_source(function, body)).run, {}, points)


def _numbered(body: Sequence[ast.stmt], numbers: Mapping[int, str]) -> list[ast.stmt]:
    """Statements whose answers have their numbers as reasons."""
    found: list[ast.stmt] = []
    for one in body:
        match one:
            case ast.If(test, inner, orelse):
                found.append(ast.If(test, _numbered(inner, numbers), _numbered(orelse, numbers)))
            case ast.Return(ast.Tuple([decision, _])):
                found.append(_answer(decision, numbers[id(one)]))
            case _:
                found.append(one)
    return found


def _contradicted(function: ast.FunctionDef, leaf: Leaf, points: Mapping[str, tuple[Argument, ...]]) -> bool:
    """Whether the guard answers otherwise somewhere where the conditions of an answer hold, or they never hold."""
    answer, path, _ = leaf
    here = ast.If(ast.BoolOp(ast.And(), [*path, ast.Constant(True)]), [_answer(answer.value.elts[0], "here")], [])
    there = sandbox.load(_source(function, [here, _answer(ast.Constant(False), "elsewhere")]))
    whole = sandbox.load(_source(function, function.body))

    def both(**values: Argument) -> tuple[bool, str]:
        said, where = there.run(**values)
        return where == "here" and bool(said) != bool(whole.run(**values)[0]), where

    outcomes = [outcome for _, outcome in sandbox.completions(both, {}, points)]
    return any(differs for differs, _ in outcomes) or all(where == "elsewhere" for _, where in outcomes)


def _answer(decision: ast.expr, reason: str) -> ast.Return:
    return ast.Return(ast.Tuple([decision, ast.Constant(reason)], ast.Load()))


def _source(function: ast.FunctionDef, body: Sequence[ast.stmt]) -> str:
    """The source of a function with the parameters of another one."""
    made = ast.FunctionDef(function.name, function.args, list(body), [], function.returns, None, [])
    return sandbox.text(ast.Module([made], []))
