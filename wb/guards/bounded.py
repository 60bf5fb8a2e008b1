"""Guards that no prover decides, decided by trying: the grade between *tested* and *proved*, with its bound.

Nagini is sound and modular: what it does not prove, for want of time or of a construct, need not be wrong (VeriGuard,
Sec. 3.2.2; SPEC, section 4, v).  Where a guard's code and its contract compare each input that they read with constants
of its type alone (`sandbox.simple`), every constant with its neighbours, every declared value and one value elsewhere
stand for all values, so that all combinations of them decide the question.  Where one of the two tells an input apart
by anything else, such as arithmetic, another input, an order of texts or a loop, or where there are more combinations
than `MOST`, nothing is claimed.  It is a finite check by this program and no proof: the interpreter is trusted, and
nothing here lets code run for which a proof is required.
"""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass
from itertools import product

from wb.guards import branches, sandbox
from wb.guards.contract import Contract, Parameter, assemble, function
from wb.guards.examples import points
from wb.guards.sandbox import Argument, UnsafeSource

MOST = 4096  # combinations that are tried


@dataclass(frozen=True, slots=True)
class Bound:
    """What was tried of a guard: the values of each input that it or its contract reads, the inputs that neither reads,
    and the truths that it takes on trust."""

    values: tuple[tuple[str, tuple[Argument, ...]], ...]
    unread: tuple[str, ...] = ()
    trusted: tuple[str, ...] = ()

    @property
    def combinations(self) -> int:
        """How many combinations of the values there are; each was tried."""
        return math.prod(len(values) for _, values in self.values)

    def __str__(self) -> str:
        tried = "; ".join(f"{name}: {', '.join(map(repr, values))}" for name, values in self.values)
        rest = [f"read by neither: {', '.join(self.unread)}"] if self.unread else []
        rest += [f"taken on trust: {', '.join(self.trusted)}"] if self.trusted else []
        return (
            f"bounded, not proved: code and contract decide alike on all {self.combinations} combinations of the "
            f"values that they tell apart ({tried or 'no input is read'}); these are every constant compared with, its "
            "neighbours, every declared value, both truths, and one value elsewhere; what is absent or None is no "
            f"input: it is filled in at run time, and undecided where that matters{''.join(f'; {one}' for one in rest)}"
        )


def tried(required: Contract, guard: str) -> Bound | str:
    """What was tried of a guard's source, all of it right; else why nothing is claimed, in words."""
    try:
        source = sandbox.strip(assemble(guard, required))  # what will run
        wanted = function(required, required.allows)
        codes = [sandbox.check(text) for text in (source, wanted)]
        program, allows = sandbox.load(source), sandbox.load(wanted)
        rules = [sandbox.load(function(required, one)) for one in required.conditions]
    except UnsafeSource as error:
        return f"code and contract in the language of guards were required; got {error}"
    if not required.items:
        return "a rule at least was required; the contract has none"
    names = {node.id for code in codes for node in ast.walk(code) if isinstance(node, ast.Name)}
    read = [one for one in required.parameters if one.name in names]
    strange = [one.name for one in read if one.loop or any(one.name not in sandbox.simple(code) for code in codes)]
    if strange:
        return f"inputs told apart by comparisons with constants alone were required; got {', '.join(strange)}"
    met = points(required, source, wanted)
    values = {one.name: _values(one, met[one.name]) for one in read}
    if (many := math.prod(map(len, values.values()))) > MOST:
        return f"at most {MOST} combinations of values were required; got {many}"
    if said := branches.dead(guard, met):
        return f"branches that some call takes were required; got {'; '.join(said)}"
    rest = {one.name: _values(one, ())[0] for one in required.parameters if one.name not in values}
    kept = [True] * len(rules)
    for chosen in product(*values.values()):
        given = rest | dict(zip(values, chosen, strict=True))
        said, right = sandbox.tried(program, given), bool(allows.run(**given)[0])
        if isinstance(said, str) or said[0] is not right:
            return f"{'allow' if right else 'deny'} was required at {given}; got {said}"
        kept = [all_so_far and bool(rule.run(**given)[0]) for all_so_far, rule in zip(kept, rules, strict=True)]
    if any(kept):
        return f"rules that some call breaks were required; got {required.conditions[kept.index(True)]!r}"
    named = {one.name: f"{one.name} ({_of(one)})" for one in required.parameters}
    trusted = tuple(dict.fromkeys(said for one in required.trusted for said in one.trusts))
    return Bound(tuple((named[n], v) for n, v in values.items()), tuple(named[n] for n in rest), trusted)


def _values(one: Parameter, met: tuple[Argument, ...]) -> tuple[Argument, ...]:
    """The values that stand for all of an input: those that are told apart, those declared, and one where neither is;
    no count is negative."""
    if one.type == "bool":
        return (False, True)
    declared = [value for value in one.values if type(value) is {"int": int, "str": str}[one.type]]
    return tuple(dict.fromkeys((*met, *declared))) or ((0,) if one.type == "int" else (sandbox.OTHER,))


def _of(one: Parameter) -> str:
    """What fills an input, as a person calls it."""
    return (f"size of {one.field}" if one.measure == "count" else one.field) or one.about or one.fact or "looked up"
