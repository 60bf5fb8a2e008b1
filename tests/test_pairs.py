"""Relations of all pairs against single decisions."""

import random

import pytest
from formulas import random_formula

from wb.logic import decide
from wb.logic import formula as F
from wb.logic.pairs import relations
from wb.logic.semantics import parse


def single(formulas):
    """The same relations, one decision a pair."""
    n = range(len(formulas))
    share = [(i, j) for i in n for j in n if i < j and set(F.atoms(formulas[i])) & set(F.atoms(formulas[j]))]
    implies = {(i, j) for a, b in share for i, j in ((a, b), (b, a)) if decide.implies(formulas[i], formulas[j])}
    same = {(i, j) for i, j in share if {(i, j), (j, i)} <= implies}
    return (
        len(share),
        same,
        implies - same - {(j, i) for i, j in same},
        {(i, j) for i, j in share if decide.contradictory(formulas[i], formulas[j])},
    )


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_relations_of_random_formulas_are_those_of_single_decisions(seed):
    rng = random.Random(seed)
    formulas = [random_formula(rng, 3, rng.sample("abcdef", 3)) for _ in range(22)]
    found = relations(formulas)
    assert (found.compared, set(found.equivalent), set(found.implied), set(found.contradictory)) == single(formulas)
    assert found.undecided == ()


def test_relations_of_invariants_are_those_of_single_decisions():
    rng = random.Random(4)
    plain = (F.Not,), (F.And, F.Or, F.Implies)
    formulas = [F.Always(random_formula(rng, 3, rng.sample("abcde", 3), *plain)) for _ in range(26)]
    found = relations(formulas)
    assert (found.compared, set(found.equivalent), set(found.implied), set(found.contradictory)) == single(formulas)
    assert found.implied and found.contradictory


def test_a_stronger_rule_is_named_first():
    found = relations(
        [
            parse("ALWAYS (a IMPLIES EVENTUALLY b)"),
            parse("ALWAYS (a IMPLIES NEXT b)"),
            parse("ALWAYS (a IMPLIES NEXT NOT b)"),
            parse("ALWAYS (NOT NEXT b IMPLIES NOT a)"),
            parse("EVENTUALLY (a AND NEXT b)"),
            parse("ALWAYS c"),
        ]
    )
    assert found.implied == ((1, 0), (3, 0)) and found.equivalent == ((1, 3),)
    assert found.contradictory == ((2, 4),) and found.compared == 10


def test_a_rule_over_too_many_predicates_is_undecided_and_no_pair_is_no_error():
    wide = F.Always(F.disjunction(tuple(F.Atom(f"p{i}") for i in range(12))))
    found = relations([wide, parse("ALWAYS p0"), parse("ALWAYS p0")])
    assert found.undecided == (0,) and found.equivalent == ((1, 2),)
    assert relations([]).compared == 0 and relations([parse("true"), parse("a")]).compared == 0
