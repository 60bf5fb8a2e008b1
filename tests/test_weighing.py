"""What weights are worth on a scripted environment: seeds kept apart, paired tests, and bounds that hold."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import ROOT
from oracles import shopping
from test_shield import shield
from typer.testing import CliRunner

from wb import cli
from wb.bench import weighing
from wb.bench.weighing import Setting
from wb.domain import policy as documents
from wb.rules import decisions
from wb.shield import circuit
from wb.shield.shield import Shield

FOLDER = ROOT / "policies" / "shopping"


def given() -> tuple[Shield, dict[str, str]]:
    """A shield of the rules that a person wrote for the handbook, in the circuits of the acts that they name, and their
    sentences."""
    source = documents.load(FOLDER)
    rulings = [one for one in decisions.load(decisions.place(FOLDER), source) if one.decision == "rule"]
    made = decisions.own(rulings, source.toolbox)
    acts = [p.name for p in made.predicates if p.kind == "action"]
    by_action = {act: tuple(r.id for r in made.rules if act in r.predicates) for act in acts}
    quotes = {rule.id: rule.quote or rule.text for rule in made.rules}
    return Shield(made.predicates, circuit.build(made, by_action), -0.4, toolbox=source.toolbox), quotes


SHIELD, QUOTES = given()
SETTING = Setting(
    FOLDER, shopping.violated, SHIELD, {"same": SHIELD}, QUOTES, [100, 101], [200], [1], size=24, alpha=0.1
)


@pytest.fixture(scope="module")
def rows() -> dict[tuple[float, str], SimpleNamespace]:
    return {(row["noise"], row["method"]): SimpleNamespace(**row) for row in weighing.measure(SETTING, [0.0, 0.3])}


def test_without_noise_every_method_is_right_and_none_is_better_than_another(rows):
    clean = [row for (noise, _), row in rows.items() if noise == 0]
    assert [row.method for row in clean] == [
        *("unit", "hard", "learned", "unit, soft", "learned, soft"),
        *("unit, alpha", "learned, soft, alpha", "same"),
    ]
    assert {(row.accuracy, row.fpr, row.arr_macro) for row in clean if "alpha" not in row.method} == {(1.0, 0.0, 1.0)}
    assert {(row.only_this, row.only_unit, row.p) for row in clean if "alpha" not in row.method} == {(0, 0, 1.0)}


def test_under_noise_rows_are_paired_with_weights_of_one(rows):
    unit, same, soft = (rows[0.3, name] for name in ("unit", "same", "unit, soft"))
    assert unit.accuracy < 0.95 and unit.accuracy_95[0] < unit.accuracy < unit.accuracy_95[1]
    shown = ("n", "unsafe", "accuracy", "accuracy_95", "fpr", "fpr_95", "arr_macro", "undecided", "safe_denied")
    assert [getattr(same, name) for name in shown] == [getattr(unit, name) for name in shown]
    assert soft.only_this + soft.only_unit > 0 and soft.undecided < unit.undecided
    assert (soft.only_this - soft.only_unit) / soft.n == pytest.approx(soft.accuracy - unit.accuracy)
    assert rows[0.3, "learned"].l2 in weighing.PULLS and -0.45 <= soft.epsilon <= 0


def test_a_bound_denies_fewer_safe_calls_and_lets_no_more_run(rows):
    unit, bounded = rows[0.3, "unit"], rows[0.3, "unit, alpha"]
    assert bounded.safe_denied < unit.safe_denied and bounded.fpr >= unit.fpr and bounded.undecided > unit.undecided


def test_a_table_has_every_row_with_rates_in_percent(rows):
    table = weighing.table([vars(row) for row in rows.values()])
    assert len(table) == len(rows) and table["accuracy"].max() == 100 and math.inf in set(table["l2"])


@pytest.mark.parametrize("seeds", [([1], [2], [3]), ([1, 2], [2], [3]), ([1, 2], [3], [1]), ([1, 2], [3], [])])
def test_seeds_that_are_not_kept_apart_are_refused(seeds):
    with pytest.raises(ValueError, match="seeds kept apart were required"):
        Setting(FOLDER, shopping.violated, shield(), {}, {}, *seeds)


def test_the_command_refuses_seeds_that_are_none(tmp_path: Path):
    answer = CliRunner().invoke(cli.app, ["weigh", "shopping", "--oracle", "x.py", "--out", "t.csv", "--learn", "a"])
    assert isinstance(answer.exception, ValueError)
