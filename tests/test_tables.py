"""The paper's tables of guards on scripted environments, against numbers that were counted by hand."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from test_recall import JUDGED, SAMPLES, A, B, C, verdict

from wb.bench import tables
from wb.bench.compare import Measured
from wb.bench.evaluate import Scored
from wb.bench.world import Sample
from wb.domain.trace import Verdict

METHODS = {"g": [one | {"queries": 2, "seconds": 0.5} for one in JUDGED], "h": JUDGED}


def of(name: str, method: str = "g", samples: list[Sample] = SAMPLES) -> list[dict[str, object]]:
    return [row for row in tables.tables(samples, METHODS)[name] if row.get("method") == method]


@pytest.mark.parametrize(
    ("source", "n", "access", "content", "acc", "fpr", "arr", "micro"),
    [
        ("agent", 4, 1, 1 / 2, 3 / 4, 1 / 2, (1 + 0) / 2, 1 / 2),
        ("environment", 4, 0, 1, 2 / 4, 1 / 2, (0 + 1) / 2, 1 / 3),
        ("macro mean", 6, 1 / 2, 3 / 4, 5 / 8, 1 / 2, 1 / 2, 5 / 12),
        ("micro mean", 6, 2 / 4, 3 / 4, 4 / 6, 1 / 2, (1 / 3 + 1 / 2) / 2, 2 / 5),
    ],
)
def test_table_1_has_categories_and_overall_rates_of_each_source(source, n, access, content, acc, fpr, arr, micro):
    (row,) = [row for row in of("risks") if row["source"] == source]
    assert row["n"] == n and row["hallucination"] is None, "no such attack"
    assert [row[key] for key in ("access", "content", "ACC", "FPR", "ARR", "ARR micro")] == pytest.approx(
        [access, content, acc, fpr, arr, micro]
    )


def test_cost_is_a_mean_a_sample_and_unknown_where_a_call_has_none():
    cost = {row["source"]: (row["queries"], row["seconds"]) for row in of("risks")}
    assert cost["micro mean"] == (2 * 7 / 6, 0.5 * 7 / 6), "six samples, seven calls"
    assert {row["seconds"] for row in of("risks", "h")} == {None}
    gaps = {(row["table"], row["column"], row["why"].split(":")[0]) for row in tables.tables(SAMPLES, METHODS)["gaps"]}
    assert ("risks", "seconds", "not measured") in gaps and ("risks", "FPR", "no safe run") not in gaps
    assert ("risks", "long-term", "no such attack was run") in gaps


def test_table_2_has_environments_and_both_means():
    yard = [Sample("t", "yard", 0, "safe", "", "", {0: ()}), Sample("u", "yard", 0, "agent", "access", "", {0: (A,)})]
    told = {"g": [*JUDGED, verdict("t", 0, "allow"), verdict("u", 0, "deny", A)]}
    found = tables.tables([*SAMPLES, *yard], told)["environments"]
    rows = {row["environment"]: row for row in found if row["method"] == "g"}
    assert {name: row["n"] for name, row in rows.items()} == {"desk": 6, "yard": 2, "macro mean": 8, "micro mean": 8}
    assert rows["macro mean"]["ACC"] == pytest.approx((4 / 6 + 1) / 2) and rows["micro mean"]["ACC"] == 6 / 8
    assert rows["macro mean"]["FPR"] == 1 / 4 and rows["micro mean"]["FPR"] == 1 / 3


def test_table_3_counts_compliance_of_the_tasks_that_are_done():
    free, held = of("environments", "no guard")[0], of("environments")[0]
    assert (free["n"], free["done"], free["complied"]) == (6, 6, 2 / 6), "without a guard everything runs"
    assert (held["done"], held["complied"]) == (3, 2 / 3), "s0, the first act of e0, and e1, which is missed"


def test_samples_are_counted_as_runs_and_as_pairs():
    (row,) = tables.accounting(SAMPLES)
    assert row == {"environment": "desk", "instructions": 3, "runs": 7, "nothing executed": 1, "unsafe": 4, "pairs": 4}
    assert tables.accounting([]) == []


def test_verdicts_of_measured_guards_make_the_tables_that_their_rows_make():
    decided = [(f"{v['run']}#{v['index']}", v["decision"], [q["quote"] for q in v["violated"]]) for v in JUDGED]
    ids = {quote: f"r{number}" for number, quote in enumerate((A, B, C))}
    outcomes = [
        Scored(name, False, Verdict(what, "so", tuple(ids[q] for q in said) if what == "deny" else ()))
        for name, what, said in decided
    ]
    guard = Measured("g", tuple(outcomes), 2 * len(JUDGED), 0.5 * len(JUDGED))
    made = tables.measured(SAMPLES, [guard], {rule: quote for quote, rule in ids.items()})
    assert tables.tables(SAMPLES, made) == tables.tables(SAMPLES, {"g": METHODS["g"]})


def test_several_methods_print_all_tables(tmp_path, capsys):
    samples = tmp_path / "samples.jsonl"
    samples.write_text("".join(json.dumps(asdict(one)) + "\n" for one in SAMPLES), "utf-8")
    files = []
    for name, judged in METHODS.items():
        files.append(tmp_path / f"{name}.jsonl")
        files[-1].write_text("".join(json.dumps(one) + "\n" for one in judged), "utf-8")
    tables.main([str(samples), *map(str, files)])
    said = capsys.readouterr().out
    assert [line for line in said.splitlines() if line in tables.TITLES.values()] == [*tables.TITLES.values()]
    assert "66.7" in said and tables.load("", "") == ([], {})


REPLIED = Path(__file__).with_name("fixtures") / "scripted_runs"  # 40 runs of seed 23


@pytest.mark.parametrize(
    ("noise", "acc", "fpr", "done", "arr"),
    [("0.0", 1.0, 0.0, 21, (1.0, 1.0)), ("0.1", 37 / 40, 3 / 14, 15, (21 / 23, 20 / 23))],
)
def test_what_a_blind_model_replied_to_the_baselines(noise, acc, fpr, done, arr):
    folders = [REPLIED / f"noise_{noise}" / name for name in ("code_hosting", "shopping")]
    samples = ",".join(str(folder / "samples.jsonl") for folder in folders)
    judged = [str(folder / f"{method}.jsonl") for folder in folders for method in ("direct", "rule_traverse")]
    found = tables.tables(*tables.load(samples, ",".join(judged)))
    for method, recalled in zip(("direct", "rule_traverse"), arr, strict=True):
        (row,) = [one for one in found["environments"] if (one["environment"], one["method"]) == ("micro mean", method)]
        assert (row["n"], row["done"], row["complied"]) == (40, done, 1.0)
        assert (row["ACC"], row["FPR"], row["ARR"]) == pytest.approx((acc, fpr, recalled))
    (cost,) = [r for r in found["risks"] if (r["source"], r["method"]) == ("micro mean", "rule_traverse")]
    assert 0 < cost["queries"] < 1 and cost["seconds"] is None, "many a question, pasted"
