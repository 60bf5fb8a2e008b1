"""Running generated guards: contracts stripped, a language so small that every run ends.

A contract does not run (`Result()[0]` is an error outside Nagini), so it is taken off before a guard is
loaded.  What is left must be one function of `if`, `return`, assignments, comparisons, `and`, `or`,
`not`, `+`, `-` and constants: no loop, no call, no attribute, no import.  Such a function ends within
as many steps as it has nodes and touches nothing, so it needs no time limit and no process of its own.

Unknown arguments are tried out: a guard *denies* only where every completion denies.  For a guard that
compares its inputs with constants alone, the constants and their neighbours stand for all values, so
trying those is exact.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

Argument = bool | int | str
Answered = tuple[bool, str]
CONTRACT = frozenset({"Requires", "Ensures", "Refute", "Assert", "Assume", "Decreases"})
TYPES = {"int": int, "bool": bool, "str": str}
ALLOWED = (
    ast.Module,
    ast.FunctionDef,
    ast.arguments,
    ast.arg,
    ast.Return,
    ast.If,
    ast.IfExp,
    ast.Assign,
    ast.Pass,
    ast.BoolOp,
    ast.And,
    ast.Or,
    ast.UnaryOp,
    ast.Not,
    ast.USub,
    ast.BinOp,
    ast.Add,
    ast.Sub,
    ast.Compare,
    ast.Eq,
    ast.NotEq,
    ast.Lt,
    ast.LtE,
    ast.Gt,
    ast.GtE,
    ast.In,
    ast.NotIn,
    ast.Constant,
    ast.Name,
    ast.Load,
    ast.Store,
    ast.Tuple,
    ast.Subscript,
)
OTHER = "~"  # a text that no rule names


class UnsafeSource(ValueError):
    """Generated code outside the language that guards may use; the message says what and where."""


class TooMany(RuntimeError):
    """More completions of the unknown values than the limit."""


@dataclass(frozen=True, slots=True)
class Program:
    """A loaded guard: its name, its typed parameters, what it runs, and the constants it knows of each."""

    name: str
    types: tuple[tuple[str, str], ...]
    run: Callable[..., Answered]
    points: Mapping[str, tuple[Argument, ...]]
    exact: bool


def strip(source: str) -> str:
    """The source as it may run: contract statements, decorators, imports and docstring taken off."""
    tree = ast.parse(source)
    tree.body = [node for node in tree.body if not isinstance(node, (ast.Import, ast.ImportFrom))]
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.decorator_list = []
            node.body = [s for s in node.body if not _is_contract(s)] or [ast.Pass()]
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def check(source: str) -> ast.FunctionDef:
    """The one function of a stripped source; `UnsafeSource` where it leaves the language of guards."""
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise UnsafeSource(f"line {error.lineno}: Python was required; got {error.msg}") from None
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.FunctionDef):
        raise UnsafeSource(f"one function was required; got {[type(n).__name__ for n in tree.body]}")
    function = tree.body[0]
    for node in ast.walk(tree):
        if not isinstance(node, ALLOWED):
            raise UnsafeSource(
                f"line {getattr(node, 'lineno', '?')}: if, return, comparisons and constants were required; "
                f"got {type(node).__name__}"
            )
    _check_names(function)
    return function


def load(source: str) -> Program:
    """The guard as a program, contracts stripped; `UnsafeSource` where it may not run."""
    stripped = strip_or_refuse(source)
    function = check(stripped)
    space: dict[str, object] = {"__builtins__": {}, "Tuple": tuple, "bool": bool, "str": str, "int": int}
    exec(compile(stripped, f"<{function.name}>", "exec"), space)  # `check` has bounded what this can be
    types = tuple((a.arg, ast.unparse(a.annotation) if a.annotation else "?") for a in function.args.args)
    return Program(function.name, types, space[function.name], points(source), simple(function))


def strip_or_refuse(source: str) -> str:
    """`strip`, with `UnsafeSource` for what is not Python."""
    try:
        return strip(source)
    except SyntaxError as error:
        raise UnsafeSource(f"line {error.lineno}: Python was required; got {error.msg}") from None


def points(*sources: str) -> dict[str, tuple[Argument, ...]]:
    """For each parameter the values that tell the sources apart: every constant it meets, and its neighbours."""
    trees = [ast.parse(source) for source in sources]
    types = {
        a.arg: ast.unparse(a.annotation)
        for t in trees
        for n in ast.walk(t)
        if isinstance(n, ast.FunctionDef)
        for a in n.args.args
        if a.annotation
    }
    met: dict[str, set[Argument]] = {name: set() for name in types}
    for node in (n for tree in trees for n in ast.walk(tree) if isinstance(n, ast.Compare)):
        sides = [node.left, *node.comparators]
        constants = {c.value for s in sides for c in ast.walk(s) if isinstance(c, ast.Constant)}
        negative = {
            -c.operand.value
            for s in sides
            for c in ast.walk(s)
            if isinstance(c, ast.UnaryOp) and isinstance(c.op, ast.USub) and isinstance(c.operand, ast.Constant)
        }
        for name in {n.id for s in sides for n in ast.walk(s) if isinstance(n, ast.Name)} & set(met):
            met[name] |= constants | negative
    return {name: _domain(types[name], values) for name, values in met.items()}


def simple(function: ast.FunctionDef) -> bool:
    """Whether numbers and texts meet constants alone, so that `points` stand for all values."""
    truths = {a.arg for a in function.args.args if a.annotation and ast.unparse(a.annotation) == "bool"}
    for node in ast.walk(function):
        if isinstance(node, (ast.BinOp, ast.Assign)):
            return False
        if (
            isinstance(node, ast.Compare)
            and sum(isinstance(s, ast.Name) and s.id not in truths for s in (node.left, *node.comparators)) > 1
        ):
            return False
    return True


def completions(
    run: Callable[..., Answered],
    known: Mapping[str, Argument],
    unknown: Mapping[str, tuple[Argument, ...]],
    *,
    limit: int = 20_000,
) -> Iterator[tuple[dict[str, Argument], Answered]]:
    """Every outcome over the unknown values, with the unknown values that it read.

    A value is chosen only when the program reads it, so a chain of early returns over n unknown
    booleans takes n + 1 runs, not 2 ** n.  `TooMany` after `limit` runs.
    """
    path: list[list[object]] = []
    for _ in range(limit):
        chosen: dict[str, Argument] = {}
        depth = iter(range(1_000_000))

        def choose(name: str) -> Argument:  # it is used before the next turn of the loop
            if name not in chosen:  # noqa: B023
                level = next(depth)  # noqa: B023
                if level == len(path):
                    path.append([name, 0])
                chosen[name] = unknown[name][path[level][1]]  # noqa: B023
            return chosen[name]  # noqa: B023

        outcome = run(**known, **{name: _Unknown(name, choose) for name in unknown})
        yield dict(chosen), outcome
        while path and path[-1][1] + 1 == len(unknown[path[-1][0]]):
            path.pop()
        if not path:
            return
        path[-1][1] += 1
    raise TooMany(f"at most {limit} completions were allowed; {len(unknown)} values are unknown")


def _reading(operation: Callable[..., object]) -> Callable[..., object]:
    def read(self: _Unknown, *others: object) -> object:
        return operation(self.read(), *(o.read() if isinstance(o, _Unknown) else o for o in others))

    return read


class _Unknown:
    """A value that is chosen when it is read."""

    __slots__ = ("choose", "name")
    __hash__ = None

    def __init__(self, name: str, choose: Callable[[str], Argument]) -> None:
        self.name, self.choose = name, choose

    def read(self) -> Argument:
        """The chosen value."""
        return self.choose(self.name)

    __bool__ = _reading(bool)
    __eq__, __ne__ = _reading(operator.eq), _reading(operator.ne)
    __lt__, __le__, __gt__, __ge__ = map(_reading, (operator.lt, operator.le, operator.gt, operator.ge))
    __add__, __sub__, __neg__ = map(_reading, (operator.add, operator.sub, operator.neg))
    __radd__, __rsub__ = _reading(lambda mine, other: other + mine), _reading(lambda mine, other: other - mine)


def _is_contract(node: ast.stmt) -> bool:
    match node:
        case ast.Expr(value=ast.Call(func=ast.Name(id=name))):
            return name in CONTRACT
        case ast.Expr(value=ast.Constant(value=str())):
            return True
        case _:
            return False


def _check_names(function: ast.FunctionDef) -> None:
    args = function.args
    if args.vararg or args.kwarg or args.defaults or args.posonlyargs or args.kwonlyargs or args.kw_defaults:
        raise UnsafeSource(f"plain typed parameters were required; got {ast.unparse(args)}")
    known = {a.arg for a in args.args} | {"bool", "str", "int", "Tuple"}
    known |= {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and node.id not in known:
            raise UnsafeSource(f"line {node.lineno}: parameters and local names were required; got {node.id!r}")
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) != "Tuple":
            raise UnsafeSource(f"line {node.lineno}: no subscript may be used; got {ast.unparse(node)}")
        if isinstance(node, ast.FunctionDef) and node is not function:
            raise UnsafeSource(f"line {node.lineno}: one function was required; got {node.name!r} inside it")


def _domain(kind: str, met: set[Argument]) -> tuple[Argument, ...]:
    if kind == "bool":
        return (False, True)
    if kind == "str":
        return (*sorted(v for v in met if isinstance(v, str)), OTHER)
    numbers = {v for v in met if isinstance(v, int) and not isinstance(v, bool)}
    return tuple(sorted({n + d for n in numbers for d in (-1, 0, 1)} or {0}))
