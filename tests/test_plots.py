"""Figures draw what the stages wrote: every run overlaid, nothing lost, nothing fetched from outside."""

from __future__ import annotations

import pytest

from wb.runs import plots

ROUNDS = [
    {
        "round": i,
        "rules": 90 - 5 * i,
        "predicates": 80 - 7 * i,
        "vagueness": 0.6 - 0.02 * i,
        "vagueness_max": 0.9 - 0.1 * i,
    }
    for i in range(4)
]
GRAPH = {
    "groups": [["a", "b"], ["c"], ["d", "e"]],
    "edges": [
        {"a": "a", "b": "b", "together": True, "cosine": 0.3},
        {"a": "d", "b": "e", "together": False, "cosine": 0.9},
    ],
}
CIRCUITS = [
    {"action": "pay", "rules": ["r1", "r2"], "weights": [1.2, 0.3], "losses": [0.4, 0.2, 0.1], "source": "real"},
    {"action": "post", "rules": ["r2"], "weights": [0.9], "losses": [], "source": "simulated"},
]
METHODS = [
    {
        "method": "veriguard",
        "split": "all",
        "accuracy": 0.96,
        "precision": 0.97,
        "recall": 0.95,
        "fpr": 0.02,
        "published": False,
        "intervals": {"accuracy": (0.92, 0.98)},
    },
    {"method": "veriguard", "split": "tuned", "accuracy": 0.5, "precision": 0.5, "recall": 0.5, "fpr": 0.5},
    {"method": "direct", "split": "all", "accuracy": None, "precision": None, "recall": None, "fpr": None},
    {
        "method": "guardagent",
        "split": "all",
        "accuracy": 0.9,
        "precision": 1.0,
        "recall": 0.8,
        "fpr": None,
        "published": True,
    },
]
FIGURES = [
    (plots.rule_count, ROUNDS),
    (plots.predicate_count, ROUNDS),
    (plots.vagueness, ROUNDS),
    (plots.predicate_graph, GRAPH),
    (plots.loss, CIRCUITS),
    (plots.weights, CIRCUITS),
    (plots.confusion, METHODS),
]


@pytest.mark.parametrize(("draw", "value"), FIGURES, ids=lambda v: getattr(v, "__name__", ""))
def test_a_second_run_is_laid_over_the_first(draw, value):
    one, two = draw({"first": value}), draw({"first": value, "second": value})
    assert len(two.data) == 2 * len(one.data) > 0


@pytest.mark.parametrize(("draw", "value"), FIGURES, ids=lambda v: getattr(v, "__name__", ""))
def test_a_figure_is_json_with_a_title_and_no_address(draw, value):
    text = draw({"first": value}).to_json()
    assert '"title"' in text and "http" not in text


@pytest.mark.parametrize(
    ("draw", "key"),
    [(plots.rule_count, "rules"), (plots.predicate_count, "predicates"), (plots.vagueness, "vagueness")],
)
def test_a_curve_holds_the_count_of_every_round(draw, key):
    curve = draw({"first": ROUNDS}).data[0]
    assert list(curve.x) == [0, 1, 2, 3] and list(curve.y) == [r[key] for r in ROUNDS]


def test_the_graph_marks_every_predicate_once_and_its_cluster_by_colour():
    nodes = plots.predicate_graph({"first": GRAPH}).data[-1]
    colour = dict(zip((t.split()[0] for t in nodes.hovertext), nodes.marker.color, strict=True))
    assert set(colour) == set("abcde") and colour["a"] == colour["b"] != colour["c"] != colour["d"] == colour["e"]


def test_the_confusion_shows_its_split_the_published_and_no_method_that_did_not_run():
    accuracy = plots.confusion({"first": METHODS}).data[0]
    assert list(accuracy.y) == ["veriguard", "guardagent"] and list(accuracy.marker.symbol) == ["circle", "circle-open"]
    assert accuracy.error_x.array[0] == pytest.approx(0.02) and accuracy.error_x.arrayminus[0] == pytest.approx(0.04)
    assert accuracy.error_x.array[1] == 0, "no interval was published"


def test_no_run_at_all_gives_an_empty_figure_and_not_an_error():
    assert len(plots.rule_count({}).data) == 0 and len(plots.predicate_graph({}).data) == 0
