"""Mutants of a guard: one small fault each, to see whether the contract would notice.

A proof is worth what its contract refuses.  Five kinds of fault are planted in the guard's code:
another comparison, a constant one off, a dropped rule, a negation, a swapped field.  Each mutant is
given to Nagini under the same contract; one that still proves must decide as the guard does.
"""
from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from wb import examples, sandbox
from wb.contract import Contract, assemble
from wb.nagini import Verifier

Operator = Literal["comparison", "constant", "dropped rule", "negation", "swapped field"]
OPERATORS: tuple[Operator, ...] = ("comparison", "constant", "dropped rule", "negation", "swapped field")
Fate = Literal["refuted", "equivalent", "survived", "unsettled"]
FLIPS = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}


@dataclass(frozen=True, slots=True)
class Mutant:
    """A guard with one fault: its operator, the line of the guard it is in, what became what."""

    operator: Operator
    line: int
    change: str
    source: str


@dataclass(frozen=True, slots=True)
class Judged:
    """A mutant's fate: `refuted` (Nagini does not accept it, and a witness decides otherwise), `equivalent` on
    every value, `survived` (proved though a witness decides otherwise: the contract is weak), or `unsettled`."""

    tool: str
    mutant: Mutant
    fate: Fate
    witness: tuple[tuple[str, sandbox.Value], ...] = ()


@dataclass(frozen=True, slots=True)
class Planted:
    """A proved guard and a mutant of it that decides otherwise somewhere."""

    contract: Contract
    source: str
    mutant: Mutant


def mutants(guard: str) -> tuple[Mutant, ...]:
    """Every mutant of a guard's source."""
    tree = ast.parse(sandbox.strip(guard))
    original = ast.unparse(tree)
    found: dict[str, Mutant] = {}
    for index, node in enumerate(ast.walk(tree)):
        for operator, replacement in _faults(node, tree.body[0]):
            mutated = _replaced(tree, index, replacement)
            if mutated != original:
                found.setdefault(mutated, Mutant(operator, node.lineno, f"{_shown(node)} -> {_shown(replacement)}", mutated))
    return tuple(found.values())


def choose(made: Sequence[Sequence[Mutant]], most: int) -> tuple[tuple[int, Mutant], ...]:
    """At most so many mutants of several guards, each with its guard's index: operators in turn, guards in turn."""
    lanes = []
    for operator in OPERATORS:
        each = [[(i, m) for m in mutants_ if m.operator == operator] for i, mutants_ in enumerate(made)]
        lanes.append([lane[k] for k in range(max(map(len, each), default=0)) for lane in each if k < len(lane)])
    turns = [lane[k] for k in range(max(map(len, lanes), default=0)) for lane in lanes if k < len(lane)]
    return tuple(turns[:most])


def judged(proved: Sequence[tuple[Contract, str]], verifier: Verifier, *, most: int = 40) -> tuple[Judged, ...]:
    """The fate of at most `most` mutants of the proved guards, all given to Nagini together."""
    rows = [(*proved[i], made) for i, made in choose([mutants(guard) for _, guard in proved], most)]
    sources = [assemble(made.source, contract) for contract, _, made in rows]
    return tuple(_fate(contract, guard, made, proof.status)
                 for (contract, guard, made), proof in zip(rows, verifier.verify(sources), strict=True))


def planted(proved: Sequence[tuple[Contract, str]]) -> Planted | None:
    """One fault to show: a limit moved by one where a guard has a limit, else another single place; None without guards."""
    made = [(contract, guard, m) for contract, guard in proved for m in mutants(guard)]
    for operator in ("constant", "comparison", "negation", "dropped rule"):
        for contract, guard, m in made:
            if m.operator == operator and _decides_otherwise(contract, guard, m):
                return Planted(contract, guard, m)
    return None


def table(fates: Sequence[Judged]) -> tuple[tuple[str, ...], ...]:
    """How many mutants of each operator met which fate, with a head and a last row of sums."""
    kinds = ("refuted", "equivalent", "survived", "unsettled")
    rows = [(o, *(sum(j.mutant.operator == o and j.fate == k for j in fates) for k in kinds)) for o in OPERATORS]
    total = ("all", *(sum(j.fate == k for j in fates) for k in kinds))
    return (("operator", *kinds), *(tuple(map(str, row)) for row in (*rows, total)))


def _decides_otherwise(contract: Contract, guard: str, made: Mutant) -> bool:
    try:
        return _witness(contract, guard, made) is not None
    except sandbox.TooMany:
        return False


def _witness(contract: Contract, guard: str, made: Mutant) -> dict[str, sandbox.Value] | None:
    """Arguments on which the mutant decides otherwise than the guard."""
    points = examples.points(contract, assemble(guard, contract), assemble(made.source, contract))
    return examples.difference(sandbox.load(guard), sandbox.load(made.source), points)


def _fate(contract: Contract, guard: str, mutant: Mutant, status: str) -> Judged:
    try:
        witness = _witness(contract, guard, mutant)
    except sandbox.TooMany:
        return Judged(contract.tool, mutant, "unsettled")
    shown = tuple((witness or {}).items())
    if status == "proved":
        return Judged(contract.tool, mutant, "survived" if shown else "equivalent", shown)
    if status in ("unproved", "rejected"):  # rejected: mypy sees that a branch cannot be reached
        return Judged(contract.tool, mutant, "refuted" if shown else "equivalent" if status == "rejected" else "unsettled", shown)
    return Judged(contract.tool, mutant, "unsettled", shown)


def _faults(node: ast.AST, function: ast.FunctionDef) -> Iterator[tuple[Operator, ast.AST | None]]:
    """What may be put in a node's place; None drops it."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in FLIPS:
            yield "comparison", ast.Compare(node.left, [FLIPS[type(op)]()], node.comparators)
            for delta in (1, -1) if _number(node.comparators[0]) else ():
                yield "constant", ast.Compare(node.left, node.ops, [ast.Constant(node.comparators[0].value + delta)])
        case ast.If(test=test):
            yield "negation", ast.If(ast.UnaryOp(ast.Not(), test), node.body, node.orelse)
            yield "dropped rule", None
        case ast.Name(id=name, ctx=ast.Load()):
            for other in _alike(name, function):
                yield "swapped field", ast.Name(other, ast.Load())
        case _:
            return


def _number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def _alike(name: str, function: ast.FunctionDef) -> list[str]:
    """The other parameters of the same type."""
    types = {a.arg: ast.unparse(a.annotation) for a in function.args.args if a.annotation}
    return [other for other, kind in types.items() if name in types and kind == types[name] and other != name]


def _replaced(tree: ast.Module, index: int, replacement: ast.AST | None) -> str:
    fresh = copy.deepcopy(tree)
    target = next(node for i, node in enumerate(ast.walk(fresh)) if i == index)
    return ast.unparse(ast.fix_missing_locations(_Put(target, copy.deepcopy(replacement)).visit(fresh))) + "\n"


class _Put(ast.NodeTransformer):
    """Puts one node in another's place; a dropped statement becomes `pass`."""

    def __init__(self, target: ast.AST, replacement: ast.AST | None) -> None:
        self.target, self.replacement = target, replacement

    def visit(self, node: ast.AST) -> ast.AST:
        """The node, or what takes its place."""
        return (self.replacement or ast.Pass()) if node is self.target else self.generic_visit(node)


def _shown(node: ast.AST | None) -> str:
    if node is None:
        return "nothing"
    text = ast.unparse(node.test if isinstance(node, ast.If) else node)
    return text if len(text) <= 90 else text[:87] + "..."
