"""Figures draw what the stages wrote: every run overlaid, nothing lost."""

from __future__ import annotations

import csv
import io
import os
import subprocess
import sys

import pytest
from conftest import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st

from wb import paths
from wb.bench import paired
from wb.bench.paired import Decided
from wb.runs import plots
from wb.runs.figure import Figure

ROUNDS = [
    {"round": i, "rules": 90 - 5 * i, "predicates": 80 - i, "vagueness": 0.6 - 0.02 * i, "vagueness_max": 0.9 - 0.1 * i}
    for i in range(4)
]
GRAPH = {
    "groups": [["a", "b"], ["c"], ["d", "e"], ["f"]],
    "edges": [
        {"a": "a", "b": "b", "together": True, "cosine": 0.3},
        {"a": "d", "b": "e", "together": False, "cosine": 0.9},
    ],
}
CIRCUITS = [
    {"action": "pay", "rules": ["r1", "r2"], "weights": [1.2, 0.3], "losses": [0.4, 0.2, 0.1], "source": "real"},
    {"action": "post", "rules": ["r2"], "weights": [0.9], "losses": [0.5, 0.1], "source": "simulated"},
    {"action": "look", "rules": [], "weights": [], "losses": [0.5, 0.1], "source": "simulated"},
]
COSTS = [
    {"action": "pay", "way": "mention", "rules": 1, "physical": 0, "predicates": 1, "queries": 1},
    {"action": "pay", "way": "cluster", "rules": 3, "physical": 1, "predicates": 2, "queries": 1},
]
RATES = {"accuracy": 0.5, "precision": 0.5, "recall": 0.5, "fpr": 0.5}
METHODS = [
    {"method": "veriguard", "split": "all", **RATES, "model": "m", "intervals": {"accuracy": (0.42, 0.58)}},
    {"method": "veriguard", "split": "tuned", **RATES, "accuracy": 0.25},
    {"method": "direct", "split": "all", "accuracy": None},
    {"method": "guardagent", "model": "GPT-4", "split": "all", **RATES, "fpr": None, "published": True},
]
STAGE = {
    "stage": "generation",
    "violating": 2,
    "ASR": 0.5,
    "complying": 3,
    "run": 1.0,
    "intervals": {"ASR": [0.1, 0.9]},
}
CALLS = [Decided("0", "a", True, "deny"), Decided("1", "b", False, "error")]
FIGURES = [
    (plots.rule_count, ROUNDS),
    (plots.predicate_count, ROUNDS),
    (plots.vagueness, ROUNDS),
    (plots.predicate_graph, GRAPH),
    (plots.circuit_costs, COSTS),
    (plots.loss, CIRCUITS),
    (plots.weights, CIRCUITS),
    (plots.confusion, METHODS),
    (plots.stages, [STAGE, STAGE | {"stage": "+ testing", "ASR": 0.0, "run": None, "intervals": {"ASR": [0, 0.6]}}]),
    (plots.guardrails, paired.table([("asb", "all", {"cedar": CALLS, "ours": CALLS})])["rows"]),
    (plots.pass_k, [{"k": 1, "pass": 0.6}, {"k": 2, "pass": 0.4}]),
]


@pytest.mark.parametrize(("draw", "value"), FIGURES, ids=lambda v: getattr(v, "__name__", ""))
def test_runs_are_overlaid_and_none_at_all_is_an_empty_figure(draw, value) -> None:
    one, two = draw({"first": value}), draw({"first": value, "second": value})
    assert len(two.series) == 2 * len(one.series) > 0 and one.title and not one.empty
    assert draw({}).empty and draw({}).picture().startswith(b"\x89PNG") and not draw({}).plotly().data
    assert "http" not in one.plotly().to_json()


def test_runs_that_lie_on_one_another_differ_in_colour_dash_marker_and_width() -> None:
    looks = [series.look for series in plots.rule_count({str(i): ROUNDS for i in range(9)}).series]
    assert len({look.colour for look in looks[:8]}) == 8 and looks[8].colour == looks[0].colour
    for part in ("dash", "symbol", "width", "size"):
        assert len({getattr(look, part) for look in looks[:4]}) == 4
        assert getattr(looks[4], part) == getattr(looks[0], part)
    assert [look.width for look in looks[:4]] == sorted((look.width for look in looks[:4]), reverse=True)
    assert plots.rule_count({"a": ROUNDS}).series[0].look.dash == "solid"


def test_a_curve_holds_the_count_of_every_round() -> None:
    for draw, key in (
        (plots.rule_count, "rules"),
        (plots.predicate_count, "predicates"),
        (plots.vagueness, "vagueness"),
    ):
        curve = draw({"first": ROUNDS}).series[0]
        assert (curve.x, curve.y, curve.name) == ([0, 1, 2, 3], [r[key] for r in ROUNDS], "first")
    mean, largest = plots.vagueness({"first": ROUNDS}).series
    assert (largest.name, largest.y) == ("first, largest", [r["vagueness_max"] for r in ROUNDS])
    assert largest.look.dash == "dot" != mean.look.dash and 1 <= largest.look.width < mean.look.width
    assert largest.look[0] == mean.look[0] and largest.look.size < mean.look.size
    curves = plots.pass_k({"a": FIGURES[-1][1]}).series
    assert (curves[0].x, curves[0].y) == ([1, 2], [0.6, 0.4])


@pytest.mark.parametrize(
    ("values", "step"), [([3, 4], 1), ([5], 1), ([0, 8], 1), ([0, 9], 2), ([0, 80], 10), ([0.5, 1], None), ([], None)]
)
def test_counts_have_whole_numbers_on_the_axis_and_at_most_nine_of_them(values, step) -> None:
    assert plots.rule_count({"a": [{"round": i, "rules": v} for i, v in enumerate(values)]}).y.step == step


@pytest.mark.parametrize(
    ("values", "least", "most", "broken"),
    [([86, 84], 0.05, 0.1, True), ([60, 10], 0.7, 0.8, False), ([62, 52], 0.3, 0.6, True), ([5, 5], 0, 0, True)],
)
def test_a_small_change_is_seen_and_no_scale_makes_it_a_collapse(values, least, most, broken) -> None:
    figure = plots.predicate_count({"a": [{"round": i, "predicates": v} for i, v in enumerate(values)]})
    low, high = figure.y.span
    assert low < min(values) and max(values) < high and least <= (values[0] - values[-1]) / (high - low) <= most
    assert ("not at 0" in figure.note) == broken == (low > 0)
    assert figure.series[0].note == {86: "86 to 84 (-2, -2.3%)", 60: "60 to 10 (-50, -83.3%)"}.get(
        values[0], figure.series[0].note
    )


HALVES = [
    {**ROUNDS[0], "refined": None},
    {**ROUNDS[1], "refined": {**ROUNDS[1], "rules": 91, "vagueness": 0.59}},
    {**ROUNDS[2], "refined": {**ROUNDS[2], "rules": 86}},
]


def test_each_round_has_a_hollow_point_after_refinement_and_a_filled_one_after_pruning() -> None:
    (curve,) = plots.rule_count({"a": HALVES}).series
    assert (curve.x, curve.y) == ([0, 0.5, 1, 1.5, 2], [90, 91, 85, 86, 80])
    assert curve.hollow == [False, True, False, True, False]
    assert curve.hover == ["as extracted", *["after refinement", "after pruning"] * 2]


def test_what_is_in_force_and_what_is_left_to_a_person_have_lines_of_their_own() -> None:
    waits = [{**row, "in_force": 80, "open": 5 - row["round"], "unbound": 2} for row in HALVES]
    waits = [
        {**row, "refined": row["refined"] and {**row["refined"], "in_force": 79, "open": 4, "unbound": 2}}
        for row in waits
    ]
    rules, force = plots.rule_count({"a": waits}).series
    assert (force.name, force.y, force.look.dash, rules.look.dash) == (
        "a, in force",
        [80, 79, 80, 79, 80],
        "dot",
        "solid",
    )
    whole = [{**row, "in_force": row["rules"]} for row in ROUNDS]
    assert len(plots.rule_count({"a": whole, "b": waits}).series) == 3, "one line where nothing waits"
    decide, unbound = plots.left({"a": waits}).series
    assert (decide.y, unbound.y) == ([5, 4, 4, 4, 3], [2] * 5) and unbound.look.dash == "dot"


def judged(name: str, measure: str = "e, k = 5") -> list[dict]:
    scores = zip(HALVES, (0.5, 0.4, None), strict=True)
    return [{**row, "measure": measure, "judge": name, "judged": score} for row, score in scores]


def test_nearness_says_that_it_is_no_judgement_and_a_judge_has_a_panel_of_its_own() -> None:
    alone = plots.vagueness({"a": HALVES})
    assert alone.panels == ("",) and "No model was asked to judge." in alone.note and "Fig. 6" in alone.note
    assert "cosine" in alone.y.title and "agueness" not in alone.title
    both = plots.vagueness({"a": HALVES, "b": judged("m")})
    (scores,) = [series for series in both.series if series.panel == 1]
    assert (scores.name, scores.y[0], scores.y[2], scores.y[4]) == ("b, judged", 0.5, 0.4, None)
    assert "cosine" in both.panels[0] and "judges" in both.panels[1] and "Judged by m." in both.note


def test_what_was_measured_or_judged_otherwise_does_not_compare() -> None:
    same = plots.vagueness({"a": judged("m"), "b": judged("m")})
    assert "values do not compare" not in same.note
    for other, words in (
        (judged("n"), "Of m and n values"),
        (judged("m", "e, k = 2"), "Of e, k = 2 and e, k = 5 values"),
    ):
        assert f"{words} do not compare" in plots.vagueness({"a": judged("m"), "b": other}).note


def test_the_csv_of_the_graph_has_its_ties_and_clusters_not_the_places_of_its_layout() -> None:
    rows = list(csv.DictReader(io.StringIO(plots.predicate_graph({"first": GRAPH}).csv())))
    ties = [(row["series"], row["a"], row["b"], row["cosine"]) for row in rows if row["a"]]
    assert ties == [("in one rule", "a", "b", "0.3"), ("similar", "d", "e", "0.9")]
    clusters = {row["predicate"]: row["cluster"] for row in rows if row["predicate"]}
    assert clusters == {"a": "1", "b": "1", "c": "2", "d": "3", "e": "3", "f": "4"}


@given(st.integers(0, 1000))
def test_curves_are_thinned_and_keep_their_ends(length: int) -> None:
    at, values = plots._curve([1 / (i + 1) for i in range(length)])
    assert values == [1 / (i + 1) for i in at] and len(at) <= 162 and at == sorted(set(at))
    assert not length or (at[0], at[-1]) == (0, length - 1)
    assert length > 159 or at == list(range(length)), "short curves are whole"


def test_the_csv_of_long_losses_has_the_points_of_the_thinned_curves() -> None:
    long = [{**one, "losses": [1 / (i + 1) for i in range(1000)]} for one in CIRCUITS]
    figure = plots.loss({"first": long})
    rows = list(csv.DictReader(io.StringIO(figure.csv())))
    assert len(rows) == sum(len(series.x) for series in figure.series) < 3 * 163
    assert {row["point"] for row in rows} == {"pay", "post", "look"} and rows[0]["loss"] == "1.0"


def test_losses_of_simulated_circuits_are_grey_and_listed_once() -> None:
    grey, other, real = plots.loss({"first": CIRCUITS}).series
    assert grey.look == other.look and grey.look.colour != real.look.colour and grey.look.width < real.look.width
    assert [s.listed for s in (grey, other, real)] == [True, False, True] and grey.name == other.name == "simulated"
    assert (grey.hover[0], other.hover[0], real.name) == ("post", "look", "pay")
    assert (real.x, real.y) == ([0, 1, 2], [0.4, 0.2, 0.1])
    both = plots.loss({"first": CIRCUITS, "second": CIRCUITS}).series
    assert [s.name for s in both[2::3]] == ["first: pay", "second: pay"] and both[0].name != both[3].name


def test_weights_stand_over_their_action_hollow_where_simulated() -> None:
    figure = plots.weights({"first": CIRCUITS})
    (points,) = figure.series
    assert list(zip(points.x, points.y, points.hover, points.hollow, strict=True)) == [
        ("pay", 1.2, "r1", False), ("pay", 0.3, "r2", False), ("post", 0.9, "r2", True),
    ]  # fmt: skip
    assert figure.level == 1, "a weight is 1 before it is learned"


def test_the_confusion_has_a_panel_a_rate_its_split_and_the_published() -> None:
    figure = plots.confusion({"first": METHODS, "second": METHODS}, split="tuned")
    assert figure.panels == ("accuracy", "precision", "recall", "FPR") and "tuned" in figure.title
    assert [s.panel for s in figure.series] == [0, 1, 2, 3] * 2
    assert [s.listed for s in figure.series] == [True, False, False, False] * 2
    assert [s.x for s in figure.series[:4]] == [[0.25, 0.5], [0.5, 0.5], [0.5, 0.5], [0.5, None]]
    accuracy, *_, fpr = plots.confusion({"first": METHODS}).series
    assert accuracy.y == ["veriguard", "guardagent (GPT-4)"] and accuracy.hollow == [False, True]
    assert accuracy.intervals == [(0.42, 0.58), None] == [*accuracy.intervals] and fpr.intervals == [None, None]
    low, high = figure.x.span
    assert low < 0 and high > 1, "0 and 1 are on the axis"


BARS = [
    {"source": source, "method": method, "risk": risk, "accuracy": rate}
    for source, method, risk, rate in (
        ("agent", "direct", "access", 0.5), ("agent", "direct", "content", None), ("agent", "ours", "access", 1.0),
        ("agent", "ours", "content", 0.75), ("environment", "direct", "access", 0.25),
    )
]  # fmt: skip


def test_bars_have_a_panel_a_source_and_a_colour_a_method() -> None:
    figure = plots.risk_bars({"first": BARS})
    assert figure.panels == ("attacks by agent", "attacks by environment")
    shown = [(s.panel, s.name, s.x, list(s.y), s.listed) for s in figure.series]
    assert shown == [
        (0, "direct", [0.5, None], ["access", "content"], True),
        (0, "ours", [1.0, 0.75], ["access", "content"], True),
        (1, "direct", [0.25, None], ["access", "content"], False),
        (1, "ours", [None, None], ["access", "content"], False),
    ]
    assert figure.series[0].look.colour == figure.series[2].look.colour != figure.series[1].look.colour
    assert [bar.orientation for bar in figure.plotly().data] == ["h"] * 4 and figure.picture()[:4] == b"\x89PNG"
    assert "direct,attacks by agent,0.5,access" in figure.csv() and "None" not in figure.csv()
    assert plots.risk_bars({"first": []}).empty and plots.risk_bars({}).empty
    assert [s.name for s in plots.risk_bars({"a": BARS, "b": BARS}).series][:2] == ["a: direct", "a: ours"]


def test_the_table_of_clusters_has_every_predicate_once() -> None:
    rows = [(row["predicate"], row["cluster"], row["tied to"]) for row in plots.clusters(GRAPH)]
    assert rows == [("a", 1, "b"), ("b", 1, "a"), ("c", 2, ""), ("d", 3, "e"), ("e", 3, "d"), ("f", 4, "")]


def test_the_lines_of_the_graph_join_what_is_tied_and_stay_in_their_column() -> None:
    figure = plots.predicate_graph({"first": GRAPH})
    solid, dotted, nodes, isolated = figure.series
    place = dict(zip(nodes.texts, zip(nodes.x, nodes.y, strict=True), strict=True))
    for lines, (a, b), dash in ((solid, "ab", "solid"), (dotted, "de", "dot")):
        assert lines.look.dash == dash and (lines.x[-1], lines.y[-1]) == (None, None) and len(lines.x) == 14
        assert sorted([lines.y[0], lines.y[12]]) == pytest.approx(sorted([place[a][1], place[b][1]]))
        assert lines.x[0] == pytest.approx(place[a][0]) and lines.x[12] == pytest.approx(place[b][0])
        column = place[a][0]
        assert all(column - 0.25 <= x <= column for x in lines.x[:-1]) and min(lines.x[:-1]) < column - 0.05
    assert (solid.name, dotted.name) == ("in one rule", "similar") and solid.listed and dotted.listed
    colour = dict(zip(nodes.texts, nodes.colours, strict=True))
    assert set(colour) == set("abde") and colour["a"] == colour["b"] != colour["d"] == colour["e"]
    assert nodes.hover[0].endswith("(cluster 1)") and isolated.y[0] < min(nodes.y) and isolated.x == [0]
    assert (isolated.texts, isolated.hover) == (["2 more predicates that nothing ties to another"], ["c, f"])
    (left, right), (bottom, top) = figure.x.span, figure.y.span
    assert left < min(solid.x[:-1]) and right > max(nodes.x) and bottom < isolated.y[0] and top > max(nodes.y)
    assert figure.panels == ("first (6 predicates, 4 clusters)",)
    two = plots.predicate_graph({"first": GRAPH, "second": GRAPH})
    assert [s.listed for s in two.series] == [True, True, *[False] * 6] and [s.panel for s in two.series] == [0] * 4 + [
        1
    ] * 4
    tied = {**GRAPH, "groups": [group for group in GRAPH["groups"] if len(group) > 1]}
    assert len(plots.predicate_graph({"first": tied}).series) == 3, "no line says that others are not tied"


def test_the_graph_stands_alike_in_each_process() -> None:
    """Sets of texts are read in another order where hashes have another seed."""
    groups = [[f"p{k + i}" for i in range(4)] for k in range(0, 24, 4)]
    edges = [{"a": group[i - 1], "b": group[i], "together": True, "cosine": 1} for group in groups for i in range(4)]
    code = f"from wb.runs import plots; print(plots._layout({dict(groups=groups, edges=edges)!r}, 2))"
    seeds = [{**os.environ, "PYTHONHASHSEED": seed} for seed in "123"]
    command = [sys.executable, "-c", code]
    found = {subprocess.run(command, env=env, cwd=ROOT, check=True, capture_output=True).stdout for env in seeds}
    assert len(found) == 1 and b"p11" in found.pop()


def test_names_of_the_graph_are_shortened_linked_and_listed() -> None:
    long = "_".join(["part"] * 20)
    graph = {"groups": [[long, "q<"]], "edges": []}
    plain, linked = (plots.predicate_graph({"a": graph}, links=links).series[2] for links in (False, True))
    at = plain.hover.index(f"{long} (cluster 1)")
    assert plain.texts[at].endswith("part…") and len(plain.texts[at]) <= plots.COLUMN * 0.75 / plots.LETTER
    assert linked.links[at] == f"predicate-{long}" and linked.links[1 - at] == "predicate-q_" and not plain.links
    for number, cut in ((75, True), (72, False), (1, False)):
        alone = {"groups": [[f"n{i:03}"] for i in range(number)], "edges": []}
        listed = plots.predicate_graph({"a": alone}).series[3]
        lines = listed.hover[0].split("\n")
        assert listed.texts[0].startswith(f"{number} more predicate{'s' * (number > 1)} that")
        assert (lines[-1] == "…") == cut and lines[0].startswith("n000") and len(lines) == min(-(-number // 3), 25)


def boxes(figure: Figure) -> list[tuple[float, float, float, float]]:
    """Where each name of a graph stands, in pixels: left, right, top, bottom."""
    named = [series for series in figure.series if series.texts]
    return [
        (plots.COLUMN * x, plots.COLUMN * x + plots.LETTER * len(text), -plots.LINE * y - 6, -plots.LINE * y + 6)
        for series in named
        for x, y, text in zip(series.x, series.y, series.texts, strict=True)
    ]


@given(
    sizes=st.lists(st.integers(1, 12), min_size=1, max_size=12),
    edges=st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=60),
    long=st.integers(1, 80),
)
@settings(max_examples=20, deadline=None)
def test_no_name_of_the_graph_lies_on_another(sizes, edges, long) -> None:
    names = [[f"p{i}_{k}_{'x' * long}" for k in range(size)] for i, size in enumerate(sizes)]
    flat = [name for group in names for name in group]
    ties = [
        {"a": flat[a % len(flat)], "b": flat[b % len(flat)], "together": True, "cosine": 0.0}
        for a, b in edges
        if a % len(flat) != b % len(flat)
    ]
    shown = boxes(plots.predicate_graph({"first": {"groups": names, "edges": ties}}))
    for i, (left, right, top, bottom) in enumerate(shown):
        for other in shown[:i]:
            assert right <= other[0] or other[1] <= left or bottom <= other[2] or other[3] <= top


def test_what_more_readers_buy_is_counted_from_the_csv_beside_the_notebook() -> None:
    runs = plots.of_csv(paths.project().notebooks / "readers.csv")
    figure = plots.readers(runs)
    assert figure.panels[0] == "gold rules in force" and len(figure.series) == 4 * len(runs)
    (first,) = [one for one in figure.series if one.panel == 0 and one.name == "five texts at first contact"]
    shares = dict(zip(first.y, first.x, strict=True))
    assert shares["3 readers and judges"] == 129 / 143 and shares["2 readers"] == 92 / 143
    assert all(low <= share <= high for share, (low, high) in zip(first.x, first.intervals, strict=True))
