"""Eq. 3 against a loop that follows its definition, and what the score must do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wb.logic.formula import Always, And, Atom, Implies
from wb.rules import refine
from wb.rules.rule import Predicate, Rule, RuleSet


def unit(rng: np.random.Generator, n: int, d: int = 6) -> np.ndarray:
    rows = rng.normal(size=(n, d))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def by_definition(vectors: np.ndarray, kinds: list[str], k: int) -> list[float]:
    """One predicate at a time, one neighbour at a time."""
    found = []
    for i in range(len(kinds)):
        others = sorted(
            (
                float(np.dot(vectors[i].astype(float), vectors[j].astype(float)))
                for j in range(len(kinds))
                if j != i and kinds[j] == kinds[i]
            ),
            reverse=True,
        )[:k]
        found.append(sum(others) / len(others) if others else 0.0)
    return found


@given(
    seed=st.integers(0, 10_000),
    kinds=st.lists(st.sampled_from(["action", "state"]), max_size=25),
    k=st.integers(1, 8),
    chunk=st.integers(1, 30),
)
def test_scores_follow_the_definition_whatever_the_chunk(seed, kinds, k, chunk):
    vectors = unit(np.random.default_rng(seed), len(kinds))
    assert refine.scores(vectors, kinds, k, chunk=chunk) == pytest.approx(by_definition(vectors, kinds, k), abs=1e-5)


def test_k_is_capped_at_the_other_predicates_of_the_kind():
    vectors = unit(np.random.default_rng(1), 3)
    assert refine.scores(vectors, ["state"] * 3, 50) == pytest.approx(refine.scores(vectors, ["state"] * 3, 2))


def test_a_predicate_alone_in_its_kind_is_not_vague():
    same = np.array([[1, 0], [1, 0], [1, 0]], dtype=np.float32)
    assert refine.scores(same, ["state", "state", "action"], 5).tolist() == [1, 1, 0]


def test_a_predicate_is_not_its_own_neighbour():
    assert refine.scores(np.eye(4, dtype=np.float32), ["state"] * 4, 1).tolist() == [0, 0, 0, 0]


@given(seed=st.integers(0, 1000), n=st.integers(2, 12))
def test_the_order_of_predicates_does_not_matter(seed, n):
    rng = np.random.default_rng(seed)
    vectors, order = unit(rng, n), rng.permutation(n)
    kinds = ["action" if i % 3 else "state" for i in range(n)]
    straight = refine.scores(vectors, kinds)
    assert refine.scores(vectors[order], [kinds[i] for i in order]) == pytest.approx(straight[order], abs=1e-6)


@pytest.mark.parametrize(
    ("vectors", "kinds", "k", "message"),
    [
        (np.ones((2, 2)), ["state", "state"], 5, "norm 1"),
        (np.eye(2), ["state"], 5, "one vector a kind"),
        (np.eye(2), ["state", "state"], 0, "at least 1"),
    ],
)
def test_bad_input_is_refused_with_what_was_required(vectors, kinds, k, message):
    with pytest.raises(ValueError, match=message):
        refine.scores(vectors, kinds, k)


def test_a_rule_is_as_vague_as_its_vaguest_predicate():
    ruleset = RuleSet(
        predicates=(Predicate("act", "action", ""), Predicate("p", "state", ""), Predicate("q", "state", "")),
        rules=(
            Rule("r1", "", Always(Implies(Atom("act"), And(Atom("p"), Atom("q")))), "permit_only_if"),
            Rule("r2", "", Always(Implies(Atom("act"), Atom("p"))), "permit_only_if"),
        ),
    )
    assert refine.of_rules(ruleset, {"act": 0.1, "p": 0.4, "q": 0.7}) == {"r1": 0.7, "r2": 0.4}


def test_the_vaguest_come_first_and_ties_keep_their_order():
    assert refine.vaguest({"a": 0.2, "b": 0.9, "c": 0.9, "d": 0.5}, 3) == ("b", "c", "d")
