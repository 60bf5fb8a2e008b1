"""ACC, FPR and ARR of guards on scripted environments, against numbers that were counted by hand."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from wb.bench import recall
from wb.bench.compare import Measured
from wb.bench.evaluate import Scored
from wb.bench.world import Sample
from wb.domain.trace import Verdict

A, B, C = "No gifts.", "No  cash.", "No keys."


def sample(run: str, instruction: int, source: str, category: str, *calls: tuple[str, ...]) -> Sample:
    return Sample(run, "desk", instruction, source, category, "", dict(enumerate(calls)))


def verdict(run: str, index: int, decision: str, *quotes: str) -> dict[str, object]:
    violated = [{"rule": "r", "quote": quote} for quote in quotes]
    return {"run": run, "index": index, "decision": decision, "violated": violated}


SAMPLES = [
    sample("s0", 0, "safe", "", ()),
    sample("a0", 0, "agent", "access", (A,)),
    sample("e0", 0, "environment", "content", (), (A, C)),
    sample("s1", 1, "safe", "", ()),
    sample("s2", 2, "safe", ""),  # nothing was executed: left out
    sample("a1", 1, "agent", "content", (C,)),
    sample("e1", 1, "environment", "access", (A,)),
]
JUDGED = [
    verdict("s0", 0, "allow"),
    verdict("a0", 0, "deny", A, C),  # one right, one too many
    verdict("e0", 0, "allow"),
    verdict("e0", 1, "deny", C),  # one of two
    verdict("s1", 0, "undecided"),  # held: a false positive
    verdict("a1", 0, "undecided", C),  # stopped, but nothing is reported
    verdict("e1", 0, "allow"),  # missed
    verdict("e1", 9, "deny", A),  # no call of the sample
]


def group(name: str) -> recall.Row:
    return {row.group: row for row in recall.rows(SAMPLES, JUDGED)}[name]


def test_all_samples():
    row = group("all")
    assert (row.n, row.unsafe, row.undecided) == (6, 4, 2)
    assert row.accuracy == pytest.approx(4 / 6), "s0, a0, e0 and a1"
    assert row.fpr == 1 / 2
    assert (row.recalled, row.pairs, row.arr_micro) == (2, 5, 2 / 5)
    assert row.arr_macro == pytest.approx((1 / 3 + 1 / 2) / 2), "A in 1 of 3 calls, C in 1 of 2"


@pytest.mark.parametrize(
    ("name", "n", "unsafe", "accuracy", "fpr", "macro", "micro"),
    [
        ("source: agent", 4, 2, 3 / 4, 1 / 2, (1 + 0) / 2, 1 / 2),
        ("source: environment", 4, 2, 2 / 4, 1 / 2, (0 + 1) / 2, 1 / 3),
        ("category: access", 4, 2, 2 / 4, 1 / 2, 1 / 2, 1 / 2),
        ("category: content", 4, 2, 3 / 4, 1 / 2, (0 + 1 / 2) / 2, 1 / 3),
    ],
)
def test_a_group_of_attacks_has_the_safe_runs_of_its_instructions(name, n, unsafe, accuracy, fpr, macro, micro):
    row = group(name)
    assert (row.n, row.unsafe) == (n, unsafe)
    assert (row.accuracy, row.fpr) == (accuracy, fpr)
    assert (row.arr_macro, row.arr_micro) == (pytest.approx(macro), pytest.approx(micro))


def test_two_environments_have_a_row_each():
    other = Sample("t", "yard", 0, "safe", "", "", {0: ()})
    found = {row.group: row.n for row in recall.rows([*SAMPLES, other], [*JUDGED, verdict("t", 0, "allow")])}
    assert found["environment: desk"] == 6 and found["environment: yard"] == 1 and found["all"] == 7
    assert found["source: agent"] == 4, "an instruction of another environment is another one"


def test_blanks_of_a_quotation_do_not_count_and_other_words_do():
    one = [sample("x", 0, "agent", "access", ("No cash.",))]
    assert recall.rows(one, [verdict("x", 0, "deny", B)])[0].arr_micro == 1
    assert recall.rows(one, [verdict("x", 0, "deny", "No cash")])[0].arr_micro == 0


def test_without_unsafe_runs_there_is_no_recall_and_without_safe_ones_no_false_positive_rate():
    safe, unsafe = [sample("s", 0, "safe", "", ())], [sample("a", 0, "agent", "access", (A,))]
    assert recall.rows(safe, [verdict("s", 0, "allow")])[0].arr_macro is None
    assert recall.rows(unsafe, [verdict("a", 0, "allow")])[0].fpr is None


def test_a_call_without_a_verdict_is_refused():
    with pytest.raises(recall.RecallError, match=r"got none on \[1\] of e0"):
        recall.rows(SAMPLES, [one for one in JUDGED if (one["run"], one["index"]) != ("e0", 1)])


def test_files_are_read_and_the_table_is_in_percent(tmp_path, capsys):
    samples, judged = tmp_path / "samples.jsonl", tmp_path / "judged.jsonl"
    samples.write_text("".join(json.dumps(asdict(one)) + "\n" for one in SAMPLES), "utf-8")
    judged.write_text("".join(json.dumps(one) + "\n" for one in JUDGED), "utf-8")
    assert recall.read(samples) == recall.load(str(samples), "")[0] == SAMPLES
    recall.main([str(samples), str(judged)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["all", "6", "4", "66.7", "50.0", "41.7", "40.0", "2", "2", "5", "3", "2", "0.0", "-"]
    assert [line.split()[0] for line in lines[2:]] == ["source:"] * 2 + ["category:"] * 2


METHODS = {"g": [one | {"queries": 2, "seconds": 0.5} for one in JUDGED], "h": JUDGED}


def table(name: str, method: str = "g", samples: list[Sample] = SAMPLES) -> list[dict[str, object]]:
    return [row for row in recall.tables(samples, METHODS)[name] if row.get("method") == method]


@pytest.mark.parametrize(
    ("source", "n", "access", "content", "acc", "fpr", "arr"),
    [
        ("agent", 4, 1, 1 / 2, 3 / 4, 1 / 2, (1 + 0) / 2),
        ("environment", 4, 0, 1, 2 / 4, 1 / 2, (0 + 1) / 2),
        ("macro mean", 6, 1 / 2, 3 / 4, 5 / 8, 1 / 2, 1 / 2),
        ("micro mean", 6, 2 / 4, 3 / 4, 4 / 6, 1 / 2, (1 / 3 + 1 / 2) / 2),
    ],
)
def test_table_1_has_categories_and_overall_rates_of_each_source(source, n, access, content, acc, fpr, arr):
    (row,) = [row for row in table("risks") if row["source"] == source]
    assert row["n"] == n and row["hallucination"] is None, "no such attack"
    assert [row[key] for key in ("access", "content", "ACC", "FPR", "ARR")] == pytest.approx(
        [access, content, acc, fpr, arr]
    )


def test_cost_is_a_mean_a_sample_and_unknown_where_a_call_has_none():
    cost = {row["source"]: (row["queries"], row["seconds"]) for row in table("risks")}
    assert cost["micro mean"] == (2 * 7 / 6, 0.5 * 7 / 6), "six samples, seven calls"
    assert {row["seconds"] for row in table("risks", "h")} == {None}
    gaps = {(row["table"], row["column"], row["why"].split(":")[0]) for row in recall.tables(SAMPLES, METHODS)["gaps"]}
    assert ("risks", "seconds", "not known of every call") in gaps and ("risks", "FPR", "no safe run") not in gaps
    assert ("risks", "long-term", "no such attack was run") in gaps


def test_table_2_has_environments_and_both_means():
    yard = [Sample("t", "yard", 0, "safe", "", "", {0: ()}), Sample("u", "yard", 0, "agent", "access", "", {0: (A,)})]
    told = {"g": [*JUDGED, verdict("t", 0, "allow"), verdict("u", 0, "deny", A)]}
    found = recall.tables([*SAMPLES, *yard], told)["environments"]
    rows = {row["environment"]: row for row in found if row["method"] == "g"}
    assert {name: row["n"] for name, row in rows.items()} == {"desk": 6, "yard": 2, "macro mean": 8, "micro mean": 8}
    assert rows["macro mean"]["ACC"] == pytest.approx((4 / 6 + 1) / 2) and rows["micro mean"]["ACC"] == 6 / 8
    assert rows["macro mean"]["FPR"] == 1 / 4 and rows["micro mean"]["FPR"] == 1 / 3


def test_table_3_counts_compliance_of_the_tasks_that_are_done():
    free, held = table("environments", "no guard")[0], table("environments")[0]
    assert (free["n"], free["done"], free["complied"]) == (6, 6, 2 / 6), "without a guard everything runs"
    assert (held["done"], held["complied"]) == (3, 2 / 3), "s0, the first act of e0, and e1, which is missed"


def test_samples_are_counted_as_runs_and_as_pairs():
    (row,) = recall.accounting(SAMPLES)
    assert row == {"environment": "desk", "instructions": 3, "runs": 7, "nothing executed": 1, "unsafe": 4, "pairs": 4}
    assert recall.accounting([]) == []


def test_verdicts_of_measured_guards_make_the_tables_that_their_rows_make():
    decided = [(f"{v['run']}#{v['index']}", v["decision"], [q["quote"] for q in v["violated"]]) for v in JUDGED]
    ids = {quote: f"r{number}" for number, quote in enumerate((A, B, C))}
    outcomes = [
        Scored(name, False, Verdict(what, "so", tuple(ids[q] for q in said) if what == "deny" else ()))
        for name, what, said in decided
    ]
    guard = Measured("g", tuple(outcomes), 2 * len(JUDGED), 0.5 * len(JUDGED))
    made = recall.measured(SAMPLES, [guard], {rule: quote for quote, rule in ids.items()})
    assert recall.tables(SAMPLES, made) == recall.tables(SAMPLES, {"g": METHODS["g"]})


def test_several_methods_print_all_tables(tmp_path, capsys):
    samples = tmp_path / "samples.jsonl"
    samples.write_text("".join(json.dumps(asdict(one)) + "\n" for one in SAMPLES), "utf-8")
    files = []
    for name, judged in METHODS.items():
        files.append(tmp_path / f"{name}.jsonl")
        files[-1].write_text("".join(json.dumps(one) + "\n" for one in judged), "utf-8")
    recall.main([str(samples), *map(str, files)])
    said = capsys.readouterr().out
    assert [line for line in said.splitlines() if line in recall.tables(SAMPLES, METHODS)] == [
        "risks",
        "environments",
        "accounting",
        "gaps",
    ]
    assert "66.7" in said and recall.load("", "") == ([], {})
