"""Contracts that would prove anything, or nothing: refused before Nagini is asked (SPEC 4 w).

Nagini accepts `Requires(False)`, `Assume(False)` and a bare `Ensures(True)` (`nagini.md`, Sec. 5).  A
statement is judged by its truth over all values that its constants tell apart, so a tautology is
refused however it is written.  `contract.probe` asks the prover the same question its own way.
"""
from __future__ import annotations

import ast

from wb import sandbox
from wb.contract import REFUSED, VacuousContract


def refuse(assembled: str) -> None:
    """Raise `VacuousContract` for a source whose proof would say nothing.

    Refused: words that assume instead of show, loops, no `Ensures`, an `Ensures` that holds whatever
    the guard answers, and `Requires` that no caller can meet.
    """
    try:
        tree = ast.parse(assembled)
    except SyntaxError as error:
        raise VacuousContract(f"Python was required; got {error.msg} at line {error.lineno}") from None
    words = sorted({n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} & REFUSED)
    if words or any(isinstance(n, ast.While) for n in ast.walk(tree)):
        raise VacuousContract(f"a contract that is shown, not assumed, was required; got {words or 'a loop'}")
    for function in (n for n in tree.body if isinstance(n, ast.FunctionDef)):
        _refuse(function)


def verdict(assembled: str) -> str:
    """`accepted`, or why the source is refused."""
    try:
        refuse(assembled)
    except VacuousContract as error:
        return f"refused: {error}"
    return "accepted"


def _refuse(function: ast.FunctionDef) -> None:
    ensures, requires = _stated(function, "Ensures"), _stated(function, "Requires")
    if not ensures:
        raise VacuousContract(f"an Ensures was required; {function.name} has none")
    met = ast.BoolOp(ast.And(), [*requires, ast.Constant(True)])
    if requires and True not in _truths(function, met):
        raise VacuousContract(f"Requires that some caller meets were required; got {[ast.unparse(r) for r in requires]}")
    for condition in ensures:
        if False not in _truths(function, ast.BoolOp(ast.Or(), [ast.UnaryOp(ast.Not(), met), condition])):
            raise VacuousContract(f"an Ensures that some answer breaks was required; got Ensures({ast.unparse(condition)})")


def _stated(function: ast.FunctionDef, word: str) -> list[ast.expr]:
    return [n.value.args[0] for n in function.body if isinstance(n, ast.Expr) and isinstance(n.value, ast.Call)
            and isinstance(n.value.func, ast.Name) and n.value.func.id == word and n.value.args]


def _truths(function: ast.FunctionDef, condition: ast.expr) -> set[bool]:
    """The truth values a contract's condition takes, over its inputs and any answer."""
    header = ", ".join(ast.unparse(a) for a in (*function.args.args, ast.arg("result_0", ast.Name("bool"))))
    text = ast.unparse(_Plain().visit(ast.parse(ast.unparse(condition), mode="eval")))
    source = f"def condition({header}):\n    return ({text}, '')\n"
    try:
        program = sandbox.load(source)
    except sandbox.UnsafeSource as error:
        raise VacuousContract(f"a contract over plain values was required; {ast.unparse(condition)}: {error}") from None
    seen: set[bool] = set()
    try:
        for _, (truth, _) in sandbox.completions(program.run, {}, program.points):
            seen.add(bool(truth))
            if len(seen) == 2:
                break
    except (TypeError, sandbox.TooMany) as error:
        raise VacuousContract(f"a condition with a truth value was required; {ast.unparse(condition)}: {error}") from None
    return seen


class _Plain(ast.NodeTransformer):
    """Contract expressions as plain Python: `Implies(a, b)` and `Result()[0]`."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """`Implies` as `or`."""
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "Implies":
            return ast.BoolOp(ast.Or(), [ast.UnaryOp(ast.Not(), node.args[0]), node.args[1]])
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """The guard's answer as a parameter."""
        return ast.Name("result_0", ast.Load()) if ast.unparse(node) == "Result()[0]" else node
