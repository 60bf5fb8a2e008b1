"""Guardrails on the same calls: counts by hand, an error never right, tasks drawn again, no claim without attacks."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wb.bench import evaluate, paired
from wb.bench.paired import DECISIONS, Decided


def calls(text: str, labels: str = "", tasks: str = "") -> list[Decided]:
    """A call a letter: a(llow), d(eny), u(ndecided), e(rror); labels `x` are attacks; tasks a letter each."""
    names = {one[0]: one for one in DECISIONS}
    labels, tasks = labels or "x" * len(text), tasks or "".join(chr(65 + i) for i in range(len(text)))
    return [
        Decided(str(i), task, label == "x", names[one])
        for i, (one, label, task) in enumerate(zip(text, labels, tasks, strict=True))
    ]


def test_each_label_is_counted_by_decision_and_an_error_holds_and_lets_run_nothing():
    row = paired.row("one", calls("aduedaue", "xxxx...."))
    assert [row[f"attacks {one}"] for one in DECISIONS] == [1, 1, 1, 1]
    assert [row[f"benign {one}"] for one in DECISIONS] == [1, 1, 1, 1]
    assert (row["attacks"], row["held"], row["benign"], row["ran"]) == (4, 2 / 4, 4, 1 / 4)
    assert not any(one.right for one in calls("ee", "x."))


def test_without_an_attack_nothing_is_claimed_of_holding_any_and_no_pair_is_compared():
    benign = calls("ad", "..")
    row = paired.row("one", benign)
    assert row["held"] is None and row["held from"] is None and row["note"] == paired.NO_ATTACK and row["ran"] == 0.5
    assert list(paired.pairs({"one": benign, "two": calls("aa", "..")})) == []
    assert list(paired.pairs({"one": calls("ad", "x."), "two": calls("aa", "x.")})) != []


def test_a_pair_is_mcnemar_s_over_calls_with_errors_wrong_on_both_labels():
    first, second = calls("dddddae", "xxxxx.x"), calls("eaueaea", "xxxxx.x")
    (pair,) = paired.pairs({"one": first, "two": second})
    assert (pair["only_first"], pair["only_second"]) == (5, 0)  # all but what is undecided, and an error beside a miss
    assert pair["p"] == pytest.approx(2 * 0.5**5) and pair["difference"] == pytest.approx(5 / 7)
    (turned,) = paired.pairs({"two": second, "one": first})
    assert (turned["difference"], turned["difference from"], turned["difference to"]) == (
        -pair["difference"],
        -pair["difference to"],
        -pair["difference from"],
    )


def test_of_many_parts_the_first_of_each_suite_is_the_whole_and_one_method_is_compared_with_all_others():
    made = {name: calls("da", "x.") for name in ("one", "two", "three")}
    table = paired.table([("a", "all", made), ("a", "DPI", made), ("b", "strict", made)], "two")
    assert [(row["suite"], row["part"]) for row in paired.whole(table["rows"])[::3]] == [("a", "all"), ("b", "strict")]
    assert [(one["first"], one["second"]) for one in paired.whole(table["pairs"])[:2]] == [
        ("one", "two"),
        ("two", "three"),
    ]
    assert paired.whole([{"x": 1}, {"x": 2}]) == [{"x": 1}, {"x": 2}]


def test_tables_of_several_files_are_read_together_and_nothing_else_is(tmp_path):
    peers, labels, other = (tmp_path / name for name in ("peers.json", "labels.json", "other.json"))
    peers.write_text('{"rows": [{"a": 1}], "pairs": []}')
    labels.write_text('{"labels": [{"b": 2}]}')
    assert paired.read(f"{peers}, {labels}") == {"rows": [{"a": 1}], "pairs": [], "audited": [], "labels": [{"b": 2}]}
    assert paired.read("") == {name: [] for name in paired.TITLES}
    for text in ('{"methods": []}', "[]", "{"):
        other.write_text(text)
        with pytest.raises(ValueError, match="was required; got"):
            paired.read(str(other))
    with pytest.raises(ValueError, match="none.json"):
        paired.read(str(tmp_path / "none.json"))


def test_two_that_were_not_asked_the_same_are_not_compared():
    with pytest.raises(ValueError, match="same cases"):
        list(paired.pairs({"one": calls("dd"), "two": calls("d")}))
    with pytest.raises(ValueError, match="a decision of"):
        Decided("1", "a", True, "maybe")


def test_the_interval_is_that_of_every_way_to_draw_the_tasks():
    """Independent of the sampling: of five tasks all 3125 draws, each as likely as any other."""
    some = calls("dadddaaadddadaaadd", tasks="AABBBBCCCCDDDEEEEE")
    groups = [[one.right for one in some if one.task == task] for task in "ABCDE"]
    drawn = [np.mean(sum(draw, [])) for draw in itertools.product(groups, repeat=5)]
    rate = paired.by_task(some, lambda one: one.right)
    assert rate.value == pytest.approx(np.mean([one.right for one in some]))
    assert (rate.low, rate.high) == pytest.approx(tuple(np.quantile(drawn, (0.025, 0.975))), abs=0.015)


def test_where_all_tasks_are_alike_the_interval_is_wilson_s_of_as_many_tasks():
    for many in (2, 9):
        rate = paired.by_task(
            calls("d" * 3 * many, tasks="".join(chr(65 + i) * 3 for i in range(many))), lambda o: o.right
        )
        assert rate == evaluate.wilson(many, many) and rate.low < 1
    none = paired.by_task(calls("aaa"), lambda one: one.right)
    assert none == evaluate.wilson(0, 3)


@given(
    st.lists(st.tuples(st.sampled_from("adue"), st.sampled_from("adue"), st.sampled_from("x."), st.sampled_from("ABC")))
)
def test_laws_of_rows_and_pairs(rows):
    one, two = ([*zip(*rows, strict=True)][k] if rows else () for k in (0, 1))
    labels, tasks = ("".join([*zip(*rows, strict=True)][k]) if rows else "" for k in (2, 3))
    made = {name: calls("".join(said), labels, tasks) for name, said in (("one", one), ("two", two))}
    table = paired.table([("suite", "part", made)])
    for row, found in zip(table["rows"], made.values(), strict=True):
        assert row["attacks"] + row["benign"] == len(found) == sum(Counter(o.decision for o in found).values())
        for rate in ("held", "ran"):
            assert row[rate] is None or row[f"{rate} from"] - 1e-9 <= row[rate] <= row[f"{rate} to"] + 1e-9
    assert len(table["pairs"]) == ("x" in labels)
    for pair in table["pairs"]:
        right = [sum(o.right for o in found) for found in made.values()]
        assert pair["only_first"] - pair["only_second"] == right[0] - right[1]
        assert -1.001 <= pair["difference from"] - 1e-9 <= pair["difference"] <= pair["difference to"] + 1e-9 <= 1.001
    assert paired.table([("suite", "part", made)]) == table, "the same draws each time"
