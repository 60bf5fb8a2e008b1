"""What a person's rules demand, as code: one early return on each condition, written from the rules themselves.

A rule of `decisions.yaml` is no reading of its sentence that could be compared with another one: the person has said
what the sentence demands.  So its part of a guard is not asked of the author, who is told of the other sentences
alone; tests and proof treat the whole as any guard.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from wb.guards import sandbox
from wb.guards.contract import Contract, Item, bracketed
from wb.rules import decisions


def rest(contract: Contract) -> Contract:
    """The contract without what a person decided: what an author is asked for."""
    return replace(contract, items=tuple(item for item in contract.items if not decisions.decided(item.clause)))


def authored(contract: Contract) -> bool:
    """Whether a guard needs an author: a read sentence demands something, and no person forbids the tool outright."""
    return bool(rest(contract).items) and not any(item.condition == "False" for item in _own(contract))


def alone(contract: Contract) -> str:
    """The guard that needs no author."""
    allowed = f"{contract.signature}\n    return (True, 'allowed')\n"
    return joined(allowed, contract)


def joined(source: str, contract: Contract) -> str:
    """An author's source with a person's part at its head; as it is where it is no function, which a check tells."""
    own = {item.condition: item.clause for item in reversed(_own(contract))}
    if not own:
        return source
    if "False" in own:
        return f"{contract.signature}\n    return (False, {own['False']!r})\n"
    tree, function = _function(source)
    if function is None:
        return source
    returns = [f"if not {bracketed(c)}:\n    return (False, {clause!r})" for c, clause in reversed(own.items())]
    first = 1 if ast.get_docstring(function) is not None else 0
    try:
        function.body[first:first] = sandbox.parse("\n".join(returns)).body
    except sandbox.UnsafeSource:
        return source
    return _text(tree, source)


def without(source: str, contract: Contract) -> str:
    """The author's part of what `joined` gave, whatever became of the person's part."""
    tree, function = _function(source) if _own(contract) else (None, None)
    if function is None:
        return source
    function.body = [statement for statement in function.body if not _decided(statement)] or [ast.Pass()]
    return _text(tree, source)


def _own(contract: Contract) -> tuple[Item, ...]:
    """The items that a person decided."""
    return tuple(item for item in contract.items if decisions.decided(item.clause))


def _function(source: str) -> tuple[ast.Module, ast.FunctionDef | None]:
    """The one function of a source, with the module that it stands in; None where there is not exactly one."""
    try:
        tree = sandbox.parse(source)
    except sandbox.UnsafeSource:
        return ast.Module([], []), None
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    match found:
        case [function]:
            return tree, function
    return tree, None


def _text(tree: ast.Module, source: str) -> str:
    """The changed tree as source; the source as it was where the tree cannot be written, which a check tells too."""
    try:
        return sandbox.text(tree)
    except sandbox.UnsafeSource:
        return source


def _decided(statement: ast.stmt) -> bool:
    """Whether a statement is an early return that names a person's rules as its reason."""
    match statement:
        case ast.If(body=[ast.Return(value=ast.Tuple(elts=[_, ast.Constant(value=str(reason))]))], orelse=[]):
            return decisions.decided(reason)
    return False
