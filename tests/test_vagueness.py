"""Eq. 3 against a loop that follows its definition, and what the score must do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wb.logic.formula import Always, And, Atom, Implies
from wb.models.client import LLM
from wb.models.endpoint import Reply
from wb.models.ledger import ModelError
from wb.rules import refine, vagueness
from wb.rules.refine import Round
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


class Judge:
    """A judge that says what it is told by a rule's words; what is missing it leaves out, `None` it refuses."""

    name = "scripted"

    def __init__(self, scores: dict[str, list[int] | None]) -> None:
        self.scores, self.asked = scores, []

    def answer(self, prompt, inputs, schema):
        prompt.render(**inputs)
        self.asked += inputs["rules"]
        if any(self.scores.get(row["rule"], []) is None for row in inputs["rules"]):
            raise ModelError("refused")
        pairs = [(row["id"], score) for row in inputs["rules"] for score in self.scores.get(row["rule"], [])]
        return Reply({"rules": [{"id": id, "score": score} for id, score in pairs]}, engine=self.name)


def round_of(number: int, *texts: str, middle: Round | None = None) -> Round:
    """A round of rules over one fact each, vaguer with each rule."""
    states = tuple(Predicate(f"p{i}", "state", text) for i, text in enumerate(texts))
    rules = tuple(
        Rule(f"r{i}", text, Always(Implies(Atom("act"), Atom(f"p{i}"))), "permit_only_if")
        for i, text in enumerate(texts)
    )
    near = {"act": 0.0} | {state.name: 0.1 * i for i, state in enumerate(states)}
    return Round(number, RuleSet((Predicate("act", "action", ""), *states), rules), near, refined=middle)


def test_each_distinct_rule_is_judged_once_and_means_are_over_those_with_a_score():
    rounds = (round_of(0, "a", "b"), round_of(1, "a", "c", middle=round_of(1, "a", "b", "c")))
    judge = Judge({"a": [1], "b": [5], "c": [3]})
    scores = vagueness.judged(rounds, LLM(judge, workers=1))
    # the formula of c is another one in the middle, where it is the third rule
    assert [row["rule"] for row in judge.asked] == ["a", "b", "c", "c"] and "round" not in str(judge.asked)
    assert not {"nearness", "vagueness"} & {key for row in judge.asked for key in row}
    assert sorted(scores.values()) == [0, 0.5, 0.5, 1]
    first, last = vagueness.rows(rounds, scores, judge="m", measure="e")
    assert (first["judged"], last["refined"]["judged"], last["judged"]) == (0.5, 0.5, 0.25)
    assert first["judge"] == last["judge"] == "m" and first["measure"] == "e" and first["refined"] is None


def test_a_rule_with_no_answer_or_with_two_has_no_score():
    rounds = [round_of(0, "a", "b", "c")]
    scores = vagueness.judged(rounds, LLM(Judge({"a": [2], "b": [1, 4]}), workers=1))
    assert list(scores.values()) == [0.25]
    assert [row["judged"] for row in vagueness.beside(rounds[0], scores)] == [None, None, 0.25], "the nearest first"
    refused = vagueness.judged(rounds, LLM(Judge({"a": None}), workers=1))
    assert refused == {} and vagueness.agreement(vagueness.beside(rounds[0], refused)) == "no model asked"


@pytest.mark.parametrize("score", [0, 6, 2.5, "3 of 5"])
def test_a_score_off_the_scale_is_no_answer(score):
    assert vagueness.judged([round_of(0, "a")], LLM(Judge({"a": [score]}), workers=1)) == {}


def test_where_no_model_is_asked_there_is_no_column_and_it_says_so():
    rounds = [round_of(0, "a", "b")]
    scores = vagueness.judged(rounds, None)
    rows, compared = vagueness.rows(rounds, scores, judge="offline", measure="e"), vagueness.beside(rounds[0], scores)
    assert scores == {} and not {"judged", "judge"} & rows[0].keys() and "judged" not in compared[0]
    assert vagueness.agreement(compared) == "no model asked"


def test_the_rank_correlation_is_that_of_the_ranks():
    def words(*scores):
        return vagueness.agreement({"nearness": i / 10, "judged": score} for i, score in enumerate(scores))

    assert "+1.00" in words(0, 0.25, 0.5, 1) and "-1.00" in words(1, 0.5, 0.25, 0) and "4 rules" in words(0, 0, 0.5, 1)
    ranks = np.array([0, 1, 2, 3, 4]), np.array([1, 0, 2, 4, 3])  # by the definition: Pearson's, of ranks
    assert f"{np.corrcoef(*ranks)[0, 1]:+.2f}" in words(0.25, 0, 0.5, 1, 0.75)
    assert words(0.5, None, None).startswith("no rank correlation") and "3 rules" in words(0.5, 0.5, 0.5)
