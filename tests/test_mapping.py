"""Measures of a mapper against scikit-learn, a linear program and enumeration."""

import random
from itertools import combinations, permutations

import pytest
from sklearn.metrics import rand_score

from wb.bench.experiment import pass_k
from wb.bench.mapping import grouping, mapped, matched, overlap

TEXT = "Bags: a member pays nothing. Others pay 50. Ask first, then book."
BAGS, OTHERS, ASK = (TEXT.index("a member"), 28), (29, 43), (44, 65)


def test_crisp_groupings_have_the_rand_index() -> None:
    rng = random.Random(1)
    for _ in range(200):
        n = rng.randint(2, 9)
        gold, found = ([rng.randrange(4) for _ in range(n)] for _ in range(2))
        ours = grouping([frozenset([g]) for g in gold], [frozenset([g]) for g in found])
        assert ours == pytest.approx(rand_score(gold, found))


def test_a_grouping_of_two_references_by_hand() -> None:
    both, one, two = frozenset([0, 1]), frozenset([0]), frozenset([1])
    assert grouping([one, both], [one, one]) == pytest.approx(0.5)  # half together beside wholly
    assert grouping([one, both], [one, both]) == 1.0 and grouping([one, two], [one, one]) == 0.0
    assert grouping([both, both], [both, both]) == 1.0, "alike in all of their groups"
    assert grouping([one], [one]) is None
    with pytest.raises(ValueError, match="groups of the same references were required"):
        grouping([one, frozenset()], [one, one])


def test_as_many_references_are_matched_as_can_be() -> None:
    rng = random.Random(2)
    for _ in range(150):
        gold, found = ([(a, a + rng.randint(1, 9)) for a in rng.sample(range(15), rng.randint(0, 4))] for _ in range(2))
        short, long = sorted((gold, found), key=len)
        most = max(
            sum(overlap(a, b) >= 0.5 for a, b in zip(short, chosen, strict=True))
            for chosen in permutations(long, len(short))
        )
        pairs = matched(gold, found, by="overlap")
        assert len(pairs) == most and all(overlap(a, b) >= 0.5 for a, b in pairs)
        assert len({a for a, _ in pairs}) == len({b for _, b in pairs}) == len(pairs)


@pytest.mark.parametrize(
    ("one", "other", "share"),
    [((0, 4), (0, 4), 1.0), ((0, 4), (2, 6), 1 / 3), ((0, 4), (4, 8), 0.0), ((2, 2), (2, 2), 1)],
)
def test_what_two_spans_share(one: tuple, other: tuple, share: float) -> None:
    assert overlap(one, other) == overlap(other, one) == pytest.approx(share)


def test_marks_at_the_ends_of_a_reference_do_not_matter_and_words_do() -> None:
    gold = {"book": [[BAGS, OTHERS], [ASK]], "cancel": [[ASK]]}
    wider, shorter = (BAGS[0] - 2, BAGS[1] + 1), (BAGS[0] + 2, BAGS[1])
    same = mapped(gold, {"book": [[wider, OTHERS, ASK]]}, TEXT)
    assert same.tools["book"] == (3, 3, 3) and same.tools["cancel"] == (1, 0, 0)
    assert (same.precision, same.recall, same.f1) == (1.0, 0.5, 0.5), "of cancel nothing was found"
    assert same.grouping == pytest.approx(1 / 3) and same.common == 3, "one pair of three is held alike"
    other = mapped(gold, {"book": [[shorter]]}, TEXT)
    assert other.tools["book"].same == 0 and mapped(gold, {"book": [[shorter]]}, TEXT, by="overlap").common == 1
    assert mapped({}, {}, TEXT).f1 is None


def test_pass_k_counts_the_choices_of_k_trials() -> None:
    rng = random.Random(3)
    for _ in range(50):
        tasks = [[rng.random() < 0.6 for _ in range(5)] for _ in range(3)]
        for k in range(1, 6):
            chosen = [[all(some) for some in combinations(trials, k)] for trials in tasks]
            mean = sum(sum(one) / len(one) for one in chosen) / len(chosen)
            assert pass_k([(sum(trials), 5) for trials in tasks], k) == pytest.approx(mean)


@pytest.mark.parametrize("done", [[], [(1, 2)], [(4, 3)], [(-1, 3)]])
def test_too_few_trials_are_refused(done: list) -> None:
    with pytest.raises(ValueError, match="trials were required"):
        pass_k(done, 3)
