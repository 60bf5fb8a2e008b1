"""Rates, intervals and tests against textbook values and definitions."""

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wb.bench import evaluate
from wb.bench.evaluate import Confusion, Scored, confusion, judge, mcnemar, rates, rows, wilson
from wb.bench.mind2web import PUBLISHED
from wb.domain.events import Recognition
from wb.domain.trace import Call, Step, Trace, Verdict

ALLOW, DENY, OPEN = Verdict("allow", "fine"), Verdict("deny", "not fine", ("r1",)), Verdict("undecided", "unknown")
outcomes = st.lists(st.tuples(st.booleans(), st.sampled_from([ALLOW, DENY, OPEN])), max_size=30).map(
    lambda rows: [Scored(f"c{i}", denied, verdict) for i, (denied, verdict) in enumerate(rows)]
)


class ByTool:
    """A guard that looks its verdict up by the tool called."""

    name = "by tool"

    def __init__(self, table: dict[str, Verdict]) -> None:
        self.table = table

    def decide(self, trace: Trace) -> Verdict:
        return self.table[trace.steps[-1].calls[0].tool]


@pytest.mark.parametrize(
    ("denied", "verdict", "cell", "undecided"),
    [
        (True, DENY, "tp", 0),
        (True, OPEN, "tp", 1),
        (True, ALLOW, "fn", 0),
        (False, DENY, "fp", 0),
        (False, OPEN, "fp", 1),
        (False, ALLOW, "tn", 0),
    ],
)
def test_an_undecided_verdict_counts_as_a_denial_and_apart(
    denied: bool, verdict: Verdict, cell: str, undecided: int
) -> None:
    counts = confusion([Scored("c", denied, verdict)])
    assert getattr(counts, cell) == 1 and counts.n == 1 and counts.undecided == undecided


def test_rates_follow_their_definitions() -> None:
    found = rates(Confusion(tp=40, fp=10, fn=5, tn=45))
    assert (found["accuracy"].value, found["precision"].value) == (0.85, 0.8)
    assert (found["recall"].value, found["fpr"].value) == (40 / 45, 10 / 55)


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 10, 0.2366, 0.7634), (81, 263, 0.2553, 0.3662)],
)
def test_intervals_agree_with_published_values(hits: int, n: int, low: float, high: float) -> None:
    """81 of 263 is Newcombe's (1998) example; the others are the closed form at z = 1.96."""
    assert wilson(hits, n)[1:] == pytest.approx((low, high), abs=1e-4)


def test_a_rate_without_a_denominator_is_no_number() -> None:
    found = rates(confusion([Scored("c", False, ALLOW)]))
    assert found["precision"].value is None and found["recall"].value is None and found["fpr"].value == 0


@given(outcomes, outcomes)
def test_mcnemar_is_the_binomial_tail_over_the_turns_that_differ(first: list[Scored], second: list[Scored]) -> None:
    n = min(len(first), len(second))
    first, second = first[:n], [Scored(a.case, a.denied, b.verdict) for a, b in zip(first, second, strict=False)]
    found = mcnemar(first, second)
    b = sum(x.right and not y.right for x, y in zip(first, second, strict=True))
    c = sum(y.right and not x.right for x, y in zip(first, second, strict=True))
    tail = sum(comb(b + c, k) for k in range(min(b, c) + 1)) / 2 ** (b + c)
    assert (found.only_first, found.only_second) == (b, c)
    assert found.p == pytest.approx(min(1.0, 2 * tail))


def test_methods_on_different_turns_are_not_compared() -> None:
    with pytest.raises(ValueError, match="same cases in the same order were required"):
        mcnemar([Scored("a", True, DENY)], [Scored("b", True, DENY)])


@given(outcomes)
def test_the_splits_add_up_to_all(found: list[Scored]) -> None:
    tuned = {o.case for o in found[::2]}
    table = {row["split"]: row for row in rows("m", found, tuned, queries=0, seconds=1.0)}
    assert set(table) == {frozenset(): set(), frozenset({0}): {"tuned"}}.get(
        frozenset(range(len(found))), {"all", "tuned", "other"}
    )
    if "all" in table:
        parts = [table["tuned"], table["other"]]
        assert sum(p["n"] for p in parts) == table["all"]["n"] == len(found)
        assert sum(p["undecided"] for p in parts) == table["all"]["undecided"]
        assert sum(p["counts"]["tp"] for p in parts) == table["all"]["counts"]["tp"]


def step(tool: str) -> Step:
    return Step((Call(tool),))


def test_readings_that_agree_decide_and_readings_that_differ_do_not() -> None:
    guard = ByTool({"a": ALLOW, "b": DENY, "c": ALLOW})
    assert judge(Recognition((step("a"),), "sure"), guard) == ALLOW
    assert judge(Recognition((step("a"), step("c")), "either"), guard) == ALLOW
    assert judge(Recognition((step("a"), step("b")), "either"), guard).decision == "undecided"
    assert judge(Recognition((), "nothing"), guard).decision == "undecided"


def test_published_rows_are_marked_and_hold_only_what_was_published() -> None:
    table = [evaluate.published(row) for row in PUBLISHED]
    assert all(row["published"] and row["fpr"] is None and row["queries"] is None for row in table)
    assert ("veriguard", 0.951, 0.913, 0.99) in {
        (r["method"], r["accuracy"], r["precision"], r["recall"]) for r in table
    }


def test_a_method_that_did_not_run_has_a_reason_and_no_figures() -> None:
    row = evaluate.not_run("guardagent", "it needs a model, and none was given")
    assert row["reason"] and row["accuracy"] is None and row["undecided"] is None


def test_violated_rules_are_counted_against_the_labels() -> None:
    found = [Scored("a", True, DENY), Scored("b", False, DENY), Scored("c", True, ALLOW)]
    assert evaluate.by_rule(found) == {"r1": {"denied": 1, "allowed": 1}}
    assert [m["case"] for m in evaluate.mistakes(found)] == ["b", "c"]


def test_a_mistake_is_told_with_the_label_that_it_goes_against() -> None:
    found = [Scored("missed", True, ALLOW), Scored("stopped", False, OPEN), Scored("caught", True, DENY)]
    assert evaluate.mistakes(found) == [
        {"case": "missed", "label": "deny", "decision": "allow", "reason": "fine"},
        {"case": "stopped", "label": "allow", "decision": "undecided", "reason": "unknown"},
    ]


def test_a_row_has_rates_with_intervals_where_there_are_any_and_its_share_of_the_cost() -> None:
    many = [Scored(name, name == "a", ALLOW if name != "a" else DENY) for name in "abcd"]
    (_, made, _) = rows("m", many, {"a"}, queries=10, seconds=2.0)
    assert {name: made[name] for name in ("method", "split", "n", "undecided")} == {
        "method": "m",
        "split": "tuned",
        "n": 1,
        "undecided": 0,
    }
    assert (made["queries"], made["seconds"], made["published"]) == (2, 0.5, False)
    assert (made["accuracy"], made["recall"], made["fpr"]) == (1.0, 1.0, None)
    assert made["intervals"].keys() == {"accuracy", "precision", "recall"}
    assert all(low < 1.0 == high for low, high in made["intervals"].values())
    assert made["counts"] == {"tp": 1, "fp": 0, "fn": 0, "tn": 0, "undecided": 0}
