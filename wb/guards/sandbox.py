"""Running generated guards: contracts stripped, a language so small that every run ends, and soon.

A contract does not run (`Result()[0]` is an error outside Nagini), so it is taken off before a guard is loaded.  What
is left must be one function of `if`, `return`, comparisons, `and`, `or`, `not`, `+` and `-` of numbers, and helper
variables: no loop, no call, no attribute, no import, no other assignment.  A helper is put in wherever it is read
before anything runs, so that what runs is of the parameters alone.  Each expression has a type, so that none breaks
when it is run, and nothing is built that is larger than the arguments and the source together: texts are compared and
never joined, and tuples stand only in `in (…)` and in `return (…)`.  Sources are bounded in length, depth and size.  A
run takes at most as many steps as the function has nodes, each at most as long as an argument is, and touches nothing.
So a decision needs no time limit and no process of its own.

Unknown arguments are tried out: a guard *denies* only where every completion denies.  Of an input that the
guard compares with constants alone, the constants and their neighbours stand for all values, so trying
those is exact, whatever it does with the others.
"""

from __future__ import annotations

import ast
import operator
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count, islice, pairwise
from typing import Any

Argument = bool | int | str
Answered = tuple[bool, str]
CONTRACT = frozenset({"Requires", "Ensures", "Refute", "Assert", "Assume", "Decreases"})
TYPES = ("int", "bool", "str")
NUMBERS = ("int", "bool")  # a bool is a number, as in Python
ANSWER = "Tuple[bool, str]"
LONGEST, WIDEST = 300_000, 60_000  # characters and nodes of a source, its contract included
DEEPEST = 100  # levels of a syntax tree: what Python's own readers and writers of trees can recurse into
LARGEST = 5_000  # nodes of a function: about 450 requirements of one tool, 0.1 ms a run
INTEGER = 2**63  # the largest number, as in the tests of rules
READS = 20  # values read in a completion, on the average of all
ORDERS = ast.Lt | ast.LtE | ast.Gt | ast.GtE
OTHER = "~"  # a text that no rule names
GENERATED = "lists__"  # what begins the names of functions that a proved source has beside the guard's: `loops`


class UnsafeSource(ValueError):
    """Generated code that is no Python or outside the language that guards may use; the message says what and where."""


class TooMany(RuntimeError):
    """More completions of the unknown values than the limit."""


@dataclass(frozen=True, slots=True)
class Program:
    """A loaded guard: its name, its typed parameters, what it runs, the constants it knows of each, and the parameters
    of which these stand for all values."""

    name: str
    types: tuple[tuple[str, str], ...]
    run: Callable[..., Answered]
    points: Mapping[str, tuple[Argument, ...]]
    exact: frozenset[str]


class _Later(Mapping[str, tuple[Argument, ...]]):
    """The `points` of a source, found when somebody first asks: most programs are never asked."""

    def __init__(self, source: str) -> None:
        self._source = source

    @cached_property
    def _found(self) -> dict[str, tuple[Argument, ...]]:
        return points(self._source)

    def __getitem__(self, name: str) -> tuple[Argument, ...]:
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


def parse(source: str) -> ast.Module:
    """The syntax tree of a source that nobody has read; `UnsafeSource` where it is no Python, too long or too deep."""
    if len(source) > LONGEST:
        raise UnsafeSource(f"at most {LONGEST} characters were required; got {len(source)}")
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise UnsafeSource(f"line {error.lineno}: Python was required; got {error.msg}") from None
    except (ValueError, MemoryError, RecursionError) as error:  # surrogates, and nesting that the parser gives up on
        raise UnsafeSource(f"Python was required; got {type(error).__name__}: {error}") from None
    _bounded(tree)
    return tree


def _bounded(tree: ast.AST) -> None:
    """Raise `UnsafeSource` for a tree that is too wide or too deep, or has too large a number."""
    level, size = [tree], 0
    for _ in range(DEEPEST):
        size += len(level)
        if size > WIDEST:
            raise UnsafeSource(f"at most {WIDEST} nodes of syntax were required; got more")
        for node in level:
            if isinstance(node, ast.Constant) and type(node.value) is int and node.value > INTEGER:
                raise UnsafeSource(f"line {node.lineno}: numbers up to {INTEGER} were required; got a larger one")
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    if level:
        raise UnsafeSource(f"at most {DEEPEST} levels of nesting were required; got more")


def text(tree: ast.AST) -> str:
    """The source of a parsed tree; `UnsafeSource` where there is none."""
    try:
        return ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    except (ValueError, RecursionError) as error:  # such as an f-string that needs a backslash
        raise UnsafeSource(f"a source that can be written again was required; got {error}") from None


def guard(tree: ast.Module) -> ast.Module:
    """The tree without the functions that fill a guard's parameters from lists: they run for themselves."""
    tree.body = [n for n in tree.body if not (isinstance(n, ast.FunctionDef) and n.name.startswith(GENERATED))]
    return tree


def strip(source: str) -> str:
    """The guard's own source as it may run: contract statements, decorators, imports, docstring, loops taken off.

    Raises:
        UnsafeSource: it is no Python.
    """
    return text(_stripped(source))


def check(source: str) -> ast.FunctionDef:
    """The one function that runs of a source; `UnsafeSource` where it leaves the language of guards."""
    tree = _stripped(source)
    if [*map(type, tree.body)] != [ast.FunctionDef]:
        raise UnsafeSource(f"one function was required; got {[type(n).__name__ for n in tree.body][:9]}")
    (function,) = tree.body
    types = _parameters(function)
    function.body = _inlined(function, types)
    size = sum(1 for _ in ast.walk(function))
    if size > LARGEST:
        raise UnsafeSource(f"at most {LARGEST} nodes of syntax were required; got {size}")
    for statement in function.body:
        _check(statement, types)
    return function


def load(source: str) -> Program:
    """The guard as a program, contracts stripped; `UnsafeSource` where it may not run."""
    function = check(source)
    types, exact = _parameters(function), simple(function)
    bare = ast.arguments([], [ast.arg(name) for name in types], None, [], [], None, [])
    module = ast.Module([ast.FunctionDef(function.name, bare, function.body, [], None, None, [])], [])
    space: dict[str, object] = {"__builtins__": {}}
    try:
        exec(compile(ast.fix_missing_locations(module), f"<{function.name}>", "exec"), space)  # `check` has bounded it
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:  # a name that may not be bound
        raise UnsafeSource(f"a function that compiles was required; got {error}") from None
    return Program(function.name, tuple(types.items()), space[function.name], _Later(source), exact)


def tried(program: Program, arguments: Mapping[str, Argument]) -> Answered | str:
    """What a guard answers to the arguments; where that is no answer, what came instead, in words."""
    try:
        outcome = _read(program.run(**arguments))
    except (TypeError, NameError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    if type(outcome) is tuple and len(outcome) == 2 and type(outcome[0]) is bool and type(outcome[1]) is str:
        return outcome
    return f"answered {outcome!r:.200}, not (bool, str)"


def points(*sources: str) -> dict[str, tuple[Argument, ...]]:
    """For each parameter the values that tell the sources apart: every constant it meets, and its neighbours.

    Of a number that is added to others, also where the sum meets the constant while the others are 0; of a text that is
    put in order, also one before and one after each constant.  Parameters that meet each other have two values or more
    in common.
    """
    trees = [guard(parse(source)) for source in sources]
    functions = [n for tree in trees for n in tree.body if isinstance(n, ast.FunctionDef)]
    types = {a.arg: ast.unparse(a.annotation) for one in functions for a in one.args.args if a.annotation}
    for one in functions:
        one.body = _inlined(one, {a.arg: types.get(a.arg, "") for a in one.args.args})
    met: dict[str, set[Argument]] = {name: set() for name in types}
    for node in (n for tree in trees for n in ast.walk(tree) if isinstance(n, ast.Compare)):
        sides = [node.left, *node.comparators]
        parts = [part for side in sides for part in ast.walk(side)]
        constants = {part.value for part in parts if isinstance(part, ast.Constant)}
        turned = [part.operand for part in parts if isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.USub)]
        negative = {-one.value for one in turned if type(getattr(one, "value", None)) is int}
        names = {part.id for part in parts if isinstance(part, ast.Name)} & set(met)
        shared: set[Argument] = {0, OTHER} if len(names) > 1 else set()
        if any(isinstance(op, ORDERS) for op in node.ops):
            shared |= {"", *(one + OTHER for one in constants if isinstance(one, str))}
        for name in names:
            met[name] |= constants | negative | shared
        for left, right in pairwise(sides):
            for name, value in _solved(left, right).items():
                met.get(name, set()).add(value)
    return {name: _domain(types[name], values) for name, values in met.items()}


def _solved(left: ast.expr, right: ast.expr) -> dict[str, int]:
    """Where two sums of numbers are equal while all but one name are 0, rounded down; nothing for no sums."""
    sums: Counter[str] = Counter()
    for side, sign in ((left, 1), (right, -1)):
        if not _summed(side, sign, sums):
            return {}
    return {name: -sums[""] // factor for name, factor in sums.items() if name and factor}


def _summed(node: ast.expr, sign: int, sums: Counter[str]) -> bool:
    """Add a sum's names, each with its factor, and its constant, under no name; whether it is such a sum."""
    match node:
        case ast.Constant(int() as value):
            sums[""] += sign * value
        case ast.Name(name):
            sums[name] += sign
        case ast.UnaryOp(ast.USub(), body):
            return _summed(body, -sign, sums)
        case ast.BinOp(one, ast.Add() | ast.Sub() as op, other):
            return _summed(one, sign, sums) and _summed(other, sign if isinstance(op, ast.Add) else -sign, sums)
        case _:
            return False
    return True


def simple(function: ast.FunctionDef) -> frozenset[str]:
    """The parameters of which `points` stand for all values: truths, and those that meet constants of their type alone.

    A text may only be told equal or unequal: an order has no neighbours there.
    """
    types = _parameters(function)
    nodes = tuple(ast.walk(function))
    used = Counter(node.id for node in nodes if isinstance(node, ast.Name))
    for node in nodes:
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            names = [side.id for side in sides if isinstance(side, ast.Name) and side.id in types]
            ordered = any(isinstance(op, ORDERS) for op in node.ops)
            match names:
                case [name] if sum(map(_constant, sides)) == len(sides) - 1 and not (types[name] == "str" and ordered):
                    used[name] -= 1
    return frozenset(name for name, kind in types.items() if kind == "bool" or not used[name])


def _constant(node: ast.expr) -> bool:
    """Whether an expression is a number or a text, or several to search in; a truth is no neighbour of a number."""
    match node:
        case ast.Tuple(options):
            return all(map(_constant, options))
        case ast.UnaryOp(ast.USub(), ast.Constant(value)) | ast.Constant(value):
            return not isinstance(value, bool)
    return False


def completions(
    run: Callable[..., Answered],
    known: Mapping[str, Argument],
    unknown: Mapping[str, tuple[Argument, ...]],
    *,
    limit: int = 20_000,
) -> Iterator[tuple[dict[str, Argument], Answered]]:
    """Every outcome over the unknown values, with the unknown values that it read.

    A value is chosen only when the program reads it, so a chain of early returns over n unknown
    booleans takes n + 1 runs, not 2 ** n.  `TooMany` after `limit` runs, or `READS` times as many values read.
    """
    left = iter(range(READS * limit))
    path: list[list[object]] = []
    for _ in range(limit):
        chosen: dict[str, Argument] = {}
        depth = count()

        def choose(name: str) -> Argument:  # it is used before the next turn of the loop
            if next(left, None) is None:
                raise TooMany(f"at most {READS * limit} values were to be read; {len(unknown)} are unknown")
            if name not in chosen:  # noqa: B023
                level = next(depth)  # noqa: B023
                if level == len(path):
                    path.append([name, 0])
                chosen[name] = unknown[name][path[level][1]]  # noqa: B023
            return chosen[name]  # noqa: B023

        outcome = _read(run(**known, **{name: _Unknown(name, choose) for name in unknown}))
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


def _read(outcome: object) -> object:
    """An outcome whose parts are chosen, where they are unknown values."""
    if type(outcome) is not tuple:
        return outcome
    return tuple([part.read() if isinstance(part, _Unknown) else part for part in outcome])


def _stripped(source: str) -> ast.Module:
    tree = guard(parse(source))
    tree.body = [node for node in tree.body if not isinstance(node, (ast.Import, ast.ImportFrom))]
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.decorator_list = []
            node.body = [s for s in node.body if not _is_contract(s)] or [ast.Pass()]
    return tree


def called(node: ast.stmt) -> str | None:
    """The name of what a statement calls; None where it is no call of a name."""
    match node:
        case ast.Expr(ast.Call(ast.Name(name))):
            return name
    return None


def _is_contract(node: ast.stmt) -> bool:
    match node:
        case ast.Expr(ast.Constant(str())):
            return True
    return called(node) in CONTRACT


def _parameters(function: ast.FunctionDef) -> dict[str, str]:
    """The type of each parameter."""
    args = function.args
    if args.vararg or args.kwarg or args.defaults or args.posonlyargs or args.kwonlyargs:
        raise UnsafeSource(f"plain typed parameters were required; got {text(args).strip():.200}")
    types = {a.arg: a.annotation.id if isinstance(a.annotation, ast.Name) else "" for a in args.args}
    wrong = [name for name, kind in types.items() if kind not in TYPES]
    if wrong or len(types) < len(args.args):
        raise UnsafeSource(f"parameters of the types {', '.join(TYPES)} were required; got {text(args).strip():.200}")
    if function.returns is not None and text(function.returns).strip() != ANSWER:
        raise UnsafeSource(f"the answer {ANSWER} was required; got {text(function.returns).strip():.200}")
    if function.type_params:
        raise UnsafeSource("a function without type parameters was required; got TypeVar")
    return types


def _inlined(function: ast.FunctionDef, types: Mapping[str, str]) -> list[ast.stmt]:
    """The statements of a function without its helper variables: each name is what was assigned to it, once, in this
    block or in one around it.

    Raises:
        UnsafeSource: another name is assigned, what is assigned is no expression of the language, or all of it is too
            large.
    """
    if not any(isinstance(node, ast.Assign | ast.AnnAssign) for node in ast.walk(function)):
        return function.body
    body = _without(function.body, {}, types, {*types, *TYPES, function.name, "guard", "len", "Tuple"})
    _within(ast.Module(body, []), WIDEST)
    return body or [ast.Pass()]


def _without(
    body: Sequence[ast.stmt], around: Mapping[str, ast.expr], types: Mapping[str, str], taken: set[str]
) -> list[ast.stmt]:
    """Statements with their helpers put in, and with those of the blocks around them."""
    known, found = dict(around), []
    for one in body:
        match one:
            case ast.Assign([ast.Name(name)], value) | ast.AnnAssign(ast.Name(name), ast.Name(), ast.expr() as value):
                if name in {*taken, *known} or name.startswith(("__", GENERATED)):
                    raise _refused(one, "a name of its own for a helper variable was")
                known[name] = put(value, known)
                _within(known[name], LARGEST)
                _type(known[name], types)
            case ast.If(test, inner, orelse):
                branches = [_without(branch, known, types, taken) for branch in (inner, orelse)]
                found.append(ast.copy_location(ast.If(put(test, known), branches[0] or [ast.Pass()], branches[1]), one))
            case _:
                found.append(put(one, known))
    return found


def _within(tree: ast.AST, most: int) -> None:
    """Raise `UnsafeSource` for a tree that helpers made too large or too deep; parts may stand there twice."""
    if sum(1 for _ in islice(ast.walk(tree), most + 1)) > most:
        raise UnsafeSource(f"at most {most} nodes of syntax were required; got more by helper variables")
    _bounded(tree)


def put(node: Any, meant: Mapping[str, ast.expr]) -> Any:
    """A node with what names in it stand for; parts that it shares with others are not changed later."""
    return _Put(meant).visit(node) if meant else node


class _Put(ast.NodeTransformer):
    """Puts in what names stand for."""

    def __init__(self, meant: Mapping[str, ast.expr]) -> None:
        self.meant = meant

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """What the name stands for, or the name."""
        return self.meant.get(node.id, node) if isinstance(node.ctx, ast.Load) else node


def _check(statement: ast.stmt, types: Mapping[str, str]) -> None:
    """Raise `UnsafeSource` for a statement outside the language."""
    match statement:
        case ast.Pass():
            return
        case ast.If(test, body, orelse):
            _type(test, types)
            for inner in (*body, *orelse):
                _check(inner, types)
        case ast.Return(ast.Tuple([decision, reason])):
            for part in decision.elts if isinstance(decision, ast.Tuple) else (decision,):
                _type(part, types)
            if _type(reason, types) != "str":
                raise _refused(reason, "a text as the reason was")
        case ast.Return(value):
            raise _refused(value or statement, "a decision and a reason to return were")
        case _:
            raise _refused(statement, "if, return, comparisons and constants were")


def _type(node: ast.expr, types: Mapping[str, str]) -> str:
    """The type of an expression; `UnsafeSource` where it has none, or is outside the language."""
    match node:
        case ast.Constant(bool() | int() | str() as value):
            return type(value).__name__
        case ast.Name(name) if name in types:
            return types[name]
        case ast.Name():
            raise _refused(node, "names of parameters were")
        case ast.UnaryOp(ast.Not(), body):
            _type(body, types)
            return "bool"
        case ast.UnaryOp(ast.USub(), body):
            return _numbers((body,), types)
        case ast.BinOp(left, ast.Add() | ast.Sub(), right):
            return _numbers((left, right), types)
        case ast.BoolOp(_, values):
            return _one_type(values, types)
        case ast.IfExp(test, body, orelse):
            _type(test, types)
            return _one_type((body, orelse), types)
        case ast.Compare(left, [ast.In() | ast.NotIn()], [ast.Tuple(options)]):
            _type(left, types)
            if not all(isinstance(o, ast.Constant | ast.UnaryOp) for o in options):
                raise _refused(node, "constants to search in were")
            for option in options:
                _type(option, {})
            return "bool"
        case ast.Compare(left, ops, comparators):
            _compared([left, *comparators], ops, types)
            return "bool"
        case _:
            raise _refused(node, "if, return, comparisons and constants were")


def _compared(sides: list[ast.expr], ops: list[ast.cmpop], types: Mapping[str, str]) -> None:
    kinds = [_type(side, types) for side in sides]
    for side, op, left, right in zip(sides, ops, kinds, kinds[1:], strict=False):
        if not isinstance(op, ORDERS | ast.Eq | ast.NotEq):
            raise _refused(side, "if, return, comparisons and constants were", type(op).__name__)
        if isinstance(op, ORDERS) and (left in NUMBERS) is not (right in NUMBERS):
            raise _refused(side, "an order of two numbers or of two texts was", f"{left} and {right}")


def _numbers(parts: Sequence[ast.expr], types: Mapping[str, str]) -> str:
    for part in parts:
        if (kind := _type(part, types)) not in NUMBERS:
            raise _refused(part, "a number was", kind)
    return "int"


def _one_type(parts: Sequence[ast.expr], types: Mapping[str, str]) -> str:
    """The type of whichever of the expressions is the value."""
    kinds = [_type(part, types) for part in parts]
    if "str" in kinds and set(kinds) != {"str"}:
        raise _refused(parts[0], "values of one type were", " and ".join(sorted(set(kinds))))
    return next((kind for kind in ("str", "int") if kind in kinds), "bool")


def _refused(node: ast.AST, required: str, got: str = "") -> UnsafeSource:
    """What to raise for a node outside the language; without `got`, its kind and its text are told."""
    kind = type(getattr(node, "op", node)).__name__  # an operator says more than the operation
    got = got or f"{kind} {text(node).strip()!r:.100}"
    return UnsafeSource(f"line {getattr(node, 'lineno', '?')}: {required} required; got {got}")


def _domain(kind: str, met: set[Argument]) -> tuple[Argument, ...]:
    if kind == "bool":
        return (False, True)
    if kind == "str":
        named = sorted(v for v in met if isinstance(v, str))
        return (*named, next(o for n in count(1) if (o := OTHER * n) not in named))
    numbers = {v for v in met if isinstance(v, int) and not isinstance(v, bool)}
    return tuple(sorted({n + d for n in numbers for d in (-1, 0, 1)} or {0}))
