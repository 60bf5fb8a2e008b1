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
from wb.guards.sandbox import Argument, Program

Leaf = tuple[ast.Return, tuple[ast.expr, ...], bool]  # an answer, its conditions, and whether it is what is left over


def dead(source: str, points: Mapping[str, tuple[Argument, ...]]) -> tuple[str, ...]:
    """The dead answers of a guard's source, each with its line; none where they cannot be told."""
    function = sandbox.check(source)
    read = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)} & points.keys()
    if not read <= sandbox.simple(function):
        return ()
    leaves = [leaf for leaf in _leaves(function.body, (), True) if not _left_over(leaf)]
    try:
        found = [leaf[0] for leaf in leaves if _dead(function, leaf, points)]
    except (sandbox.TooMany, sandbox.UnsafeSource):
        return ()
    return tuple(f"line {answer.lineno}: `{ast.unparse(answer)}` is never reached" for answer in found)


def taken(source: str, values: Mapping[str, Argument]) -> str:
    """The answer that a guard's source gives to the values: its line and the branch it stands in; empty where the
    source gives none."""
    function = sandbox.check(source)
    leaves = list(_leaves(function.body, (), True))
    told = [ast.unparse(answer) for answer, _, _ in leaves]
    for i, (answer, _, _) in enumerate(leaves):
        answer.value.elts[1] = ast.Constant(str(i))
    said = sandbox.tried(_load(function, function.body), values)
    if isinstance(said, str):
        return ""
    answer, path, _ = leaves[int(said[1])]
    branch = " and ".join(f"({ast.unparse(one)})" for one in path)
    where = f"in the branch {branch}" if branch else "after all branches"
    return f"line {answer.lineno}, `{told[int(said[1])]}`, {where}"


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


def _dead(function: ast.FunctionDef, leaf: Leaf, points: Mapping[str, tuple[Argument, ...]]) -> bool:
    """Whether the opposite answer would change nothing, and the guard answers otherwise somewhere where its conditions
    hold, or they never hold."""
    answer, path, _ = leaf
    decision, reason = parts = answer.value.elts
    here = ast.If(ast.BoolOp(ast.And(), [*path, ast.Constant(True)]), [_answer(decision, "here")], [])
    there, whole = _load(function, [here, _answer(ast.Constant(False), "")]), _load(function, function.body)
    parts[:] = [ast.UnaryOp(ast.Not(), decision), reason]
    turned = _load(function, function.body)
    parts[:] = [decision, reason]

    def all_three(**values: Argument) -> tuple[tuple[bool, bool], str]:
        said, where = there.run(**values)
        got = bool(whole.run(**values)[0])
        return (got != bool(turned.run(**values)[0]), bool(said) != got), where

    met: set[bool] = set()
    for _, ((reached, differs), where) in sandbox.completions(all_three, {}, points):
        if reached:
            return False
        met |= {differs} if where else set()
    return met != {False}


def _answer(decision: ast.expr, reason: str) -> ast.Return:
    return ast.Return(ast.Tuple([decision, ast.Constant(reason)], ast.Load()))


def _load(function: ast.FunctionDef, body: Sequence[ast.stmt]) -> Program:
    """A function with the parameters of another one."""
    made = ast.FunctionDef(function.name, function.args, list(body), [], function.returns, None, [])
    return sandbox.load(sandbox.text(ast.Module([made], [])))
