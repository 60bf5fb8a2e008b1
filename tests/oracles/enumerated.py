"""Formulas about objects by their definition: for each choice of objects that a trace names, and of a new one."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from itertools import product

from wb.logic import formula as F
from wb.logic import semantics
from wb.logic.formula import Formula
from wb.logic.objects import FRESH, Among, Told, all_of
from wb.logic.semantics import KLEENE


def table(formula: Formula, trace: Sequence[Told]) -> tuple[bool | None, ...]:
    """The truth of a formula of past operators at every step, for all objects."""
    names = F.variables(formula)
    among = [truth for step in trace for truth in step.values() if type(truth) is Among]
    values = [FRESH, *dict.fromkeys(one for truth in among for objects in truth.named for one in objects)]
    rows = []
    for objects in product(values, repeat=len(names)):
        bound = dict(zip(names, objects, strict=True))
        truths = replace(
            KLEENE, told=lambda step, atoms, bound=bound: tuple([told(step, F.Atom(name), bound) for name in atoms])
        )
        rows.append(semantics.table(formula, trace, truths))
    return tuple(map(all_of, zip(*rows, strict=True)))


def told(step: Told, atom: F.Atom, objects: Mapping[str, Hashable]) -> bool | None:
    """The truth of an atom at a step, for those objects by what stands in its brackets."""
    truth = step.get(atom.predicate)
    if not atom.objects:
        return truth.some if type(truth) is Among else truth
    if type(truth) is not Among:
        return None
    key = tuple(objects[one] for one in atom.objects)
    return truth.others if FRESH in key else truth.named.get(key, truth.others)
