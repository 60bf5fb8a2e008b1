"""Faults that a contract should notice: mutants of guards, and contracts that would prove anything, or nothing.

A proof is worth what its contract refuses.  Five kinds of fault are planted in a guard's code: another comparison,
a constant one off, a dropped rule, a negation, a swapped field.  Each mutant is given to Nagini under the same
contract; one that still proves must decide as the guard does.

Nagini accepts `Requires(False)`, `Assume(False)` and a bare `Ensures(True)`.  Such a contract is refused before it
is asked: a statement is judged by its truth over all values that its constants tell apart, so a tautology is
refused however it is written.  `contract.probe` asks the prover the same question its own way.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from wb.guards import examples, sandbox
from wb.guards.contract import REFUSED, Contract, VacuousContract, stated
from wb.guards.nagini import Verifier
from wb.logic.wording import shortened


def refuse(assembled: str) -> None:
    """Raise `UnsafeSource` for a source whose proof would say nothing.

    Refused: words that assume instead of show, loops, no `Ensures`, an `Ensures` that holds whatever
    the guard answers, and `Requires` that no caller can meet.
    """
    tree = sandbox.parse(assembled)
    words = sorted({n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} & REFUSED)
    if words or any(isinstance(n, ast.While) for n in ast.walk(tree)):
        raise VacuousContract(f"a contract that is shown, not assumed, was required; got {words or 'a loop'}")
    for function in (n for n in tree.body if isinstance(n, ast.FunctionDef)):
        _refuse(function)


def verdict(assembled: str) -> str:
    """`accepted`, or why the source is refused."""
    try:
        refuse(assembled)
    except sandbox.UnsafeSource as error:
        return f"refused: {error}"
    return "accepted"


def _refuse(function: ast.FunctionDef) -> None:
    ensures, requires = _stated(function, "Ensures"), _stated(function, "Requires")
    if not ensures:
        raise VacuousContract(f"an Ensures was required; {function.name} has none")
    met = ast.BoolOp(ast.And(), [*requires, ast.Constant(True)])
    if requires and True not in _truths(function, met):
        got = [ast.unparse(one) for one in requires]
        raise VacuousContract(f"Requires that some caller meets were required; got {got}")
    for condition in ensures:
        if False not in _truths(function, ast.BoolOp(ast.Or(), [ast.UnaryOp(ast.Not(), met), condition])):
            got = ast.unparse(condition)
            raise VacuousContract(f"an Ensures that some answer breaks was required; got Ensures({got})")


def _stated(function: ast.FunctionDef, word: str) -> list[ast.expr]:
    return [n.value.args[0] for n in function.body if sandbox.called(n) == word and n.value.args]


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
        got = ast.unparse(condition)
        raise VacuousContract(f"a condition with a truth value was required; {got}: {error}") from None
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


Operator = Literal["comparison", "constant", "dropped rule", "negation", "swapped field"]
OPERATORS: tuple[Operator, ...] = ("comparison", "constant", "dropped rule", "negation", "swapped field")
Effect = Literal["refuted", "equivalent", "survived", "unsettled"]
FATES: dict[str, tuple[Effect, Effect]] = {  # by the prover's word: with a witness, and without one
    "proved": ("survived", "equivalent"),
    "unproved": ("refuted", "unsettled"),
    "rejected": ("refuted", "equivalent"),  # mypy sees that a branch cannot be reached
}
FLIPS = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}


@dataclass(frozen=True, slots=True)
class Mutant:
    """A guard with one fault: its operator, the line of the guard it is in, what became what."""

    operator: Operator
    line: int
    change: str
    source: str


@dataclass(frozen=True, slots=True)
class JudgedMutant:
    """A mutant's fate: `refuted` (Nagini does not accept it, and a witness decides otherwise), `equivalent` on
    every value, `survived` (proved though a witness decides otherwise: the contract is weak), or `unsettled`."""

    tool: str
    mutant: Mutant
    fate: Effect
    witness: tuple[tuple[str, sandbox.Argument], ...] = ()


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
            if mutated != original and _inside(mutated):
                change = f"{_shown(node)} -> {_shown(replacement)}"
                found.setdefault(mutated, Mutant(operator, node.lineno, change, mutated))
    return tuple(found.values())


def choose(made: Sequence[Sequence[Mutant]], most: int) -> tuple[tuple[int, Mutant], ...]:
    """At most so many mutants of several guards, each with its guard's index: operators in turn, guards in turn."""
    lanes = []
    for operator in OPERATORS:
        each = [[(i, m) for m in mutants_ if m.operator == operator] for i, mutants_ in enumerate(made)]
        lanes.append([lane[k] for k in range(max(map(len, each), default=0)) for lane in each if k < len(lane)])
    turns = [lane[k] for k in range(max(map(len, lanes), default=0)) for lane in lanes if k < len(lane)]
    return tuple(turns[:most])


def judged(proved: Sequence[tuple[Contract, str]], verifier: Verifier, *, most: int = 40) -> tuple[JudgedMutant, ...]:
    """The fate of at most `most` mutants of the proved guards, all given to Nagini together."""
    rows = [(*proved[i], made) for i, made in choose([mutants(guard) for _, guard in proved], most)]
    proofs = verifier.verify([stated(made.source, contract) for contract, _, made in rows])
    return tuple(_fate(*row, proof.status) for row, proof in zip(rows, proofs, strict=True))


def planted(proved: Sequence[tuple[Contract, str]]) -> Planted | None:
    """One fault to show: a limit moved by one where a guard has one, else another single place; None without guards."""
    made = [(contract, guard, m) for contract, guard in proved for m in mutants(guard)]
    for operator in ("constant", "comparison", "negation", "dropped rule"):
        for contract, guard, m in made:
            if m.operator == operator and _decides_otherwise(contract, guard, m):
                return Planted(contract, guard, m)
    return None


def table(fates: Sequence[JudgedMutant]) -> tuple[tuple[str, ...], ...]:
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


def _witness(contract: Contract, guard: str, made: Mutant) -> dict[str, sandbox.Argument] | None:
    """Arguments on which the mutant decides otherwise than the guard."""
    points = examples.points(contract, stated(guard, contract), stated(made.source, contract))
    return examples.difference(sandbox.load(guard), sandbox.load(made.source), points)


def _fate(contract: Contract, guard: str, mutant: Mutant, status: str) -> JudgedMutant:
    try:
        shown = tuple((_witness(contract, guard, mutant) or {}).items())
    except sandbox.TooMany:
        return JudgedMutant(contract.tool, mutant, "unsettled")
    differs, alike = FATES.get(status, ("unsettled", "unsettled"))
    return JudgedMutant(contract.tool, mutant, differs if shown else alike, shown)


def _faults(node: ast.AST, function: ast.FunctionDef) -> Iterator[tuple[Operator, ast.AST | None]]:
    """What may be put in a node's place; None drops it."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in FLIPS:
            yield "comparison", ast.Compare(node.left, [FLIPS[type(op)]()], node.comparators)
            limit = getattr(node.comparators[0], "value", None)
            for delta in (1, -1) if type(limit) is int else ():
                yield "constant", ast.Compare(node.left, node.ops, [ast.Constant(limit + delta)])
        case ast.If(test=test):
            yield "negation", ast.If(ast.UnaryOp(ast.Not(), test), node.body, node.orelse)
            yield "dropped rule", None
        case ast.Name(id=name, ctx=ast.Load()):
            for other in _alike(name, function):
                yield "swapped field", ast.Name(other, ast.Load())


def _inside(source: str) -> bool:
    """Whether a mutant is still a guard, whose size and numbers are bounded."""
    try:
        return bool(sandbox.check(source))
    except sandbox.UnsafeSource:
        return False


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
    return shortened(text, 90)
