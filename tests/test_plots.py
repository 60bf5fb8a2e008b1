"""Figures draw what the stages wrote: every run overlaid, nothing lost, nothing fetched from outside."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wb.runs import picture, plots

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
    "groups": [["a", "b"], ["c"], ["d", "e"], ["f"]],
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
    (plots.pass_k, [{"k": 1, "pass": 0.6}, {"k": 2, "pass": 0.4}]),
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


def test_the_graph_marks_every_tied_predicate_once_and_its_cluster_by_colour():
    nodes, folded = plots.predicate_graph({"first": GRAPH}).data[-2:]
    colour = dict(zip((t.split()[0] for t in nodes.hovertext), nodes.marker.color, strict=True))
    assert set(colour) == set("abde") and colour["a"] == colour["b"] != colour["d"] == colour["e"]
    assert list(folded.text) == ["2 more predicates that nothing ties to another"] and folded.hovertext == ("c, f",)


def test_where_every_predicate_is_tied_no_line_says_that_others_are_not():
    tied = {**GRAPH, "groups": [group for group in GRAPH["groups"] if len(group) > 1]}
    assert "nothing ties" not in plots.predicate_graph({"first": tied}).to_json()


def test_the_table_of_clusters_has_every_predicate_once():
    rows = plots.clusters(GRAPH)
    assert [row["predicate"] for row in rows] == list("abcdef") and [row["cluster"] for row in rows] == [
        1,
        1,
        2,
        3,
        3,
        4,
    ]
    assert [row["tied to"] for row in rows] == ["b", "a", "", "e", "d", ""]


def boxes(figure) -> list[tuple[float, float, float, float]]:
    """Where each name of a graph stands, in pixels: left, right, top, bottom."""
    found = []
    for trace in figure.data:
        if trace.mode == "markers+text":
            column = plots.COLUMN * (3 if trace.xaxis == "x2" else 0)
            for x, y, text in zip(trace.x, trace.y, trace.text, strict=True):
                left, top = column + plots.COLUMN * x, -plots.LINE * y
                found.append((left, left + plots.LETTER * len(text), top - 6, top + 6))
    return found


@given(
    sizes=st.lists(st.integers(1, 12), min_size=1, max_size=12),
    edges=st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=60),
    long=st.integers(1, 80),
)
@settings(max_examples=20, deadline=None)
def test_no_name_of_the_graph_lies_on_another(sizes, edges, long):
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


def test_runs_that_lie_on_one_another_differ_in_colour_dash_marker_and_width():
    one, two = plots.rule_count({"max_rounds=6": ROUNDS, "max_rounds=1": ROUNDS}).data
    for look in (
        lambda t: t.line.color,
        lambda t: t.line.dash,
        lambda t: t.marker.symbol,
        lambda t: -t.line.width,
        lambda t: -t.marker.size,
    ):
        assert look(one) != look(two)
    assert one.line.width > two.line.width, "the first is under the second and stands out beside it"


def ink(png: bytes) -> int:
    """How many points of a picture are coloured."""
    pixels = rgb(png)
    return int((pixels.max(axis=2) - pixels.min(axis=2) > 60).sum())


def rgb(png: bytes) -> np.ndarray:
    """A picture's points, 0..255, of shape (height, width, 3)."""
    from matplotlib.image import imread

    return (255 * imread(io.BytesIO(png))[:, :, :3]).round().astype(int)


@pytest.mark.parametrize(("draw", "value"), FIGURES, ids=lambda v: getattr(v, "__name__", ""))
def test_every_figure_has_a_still_picture_that_is_not_blank(draw, value):
    figure, empty = draw({"first": value}), draw({})
    assert ink(picture.picture(figure)) > 100 and not plots.empty(figure)
    assert ink(picture.picture(empty)) == 0 and plots.empty(empty)


def test_a_still_picture_shows_the_curve_where_its_points_are():
    png = picture.picture(plots.rule_count({"a": ROUNDS}))
    pixels = rgb(png)
    blue = np.argwhere(np.abs(pixels - np.array([0, 0x72, 0xB2])).sum(axis=2) < 30)
    curve = blue[blue[:, 0] < 0.8 * len(pixels)]  # the legend is below
    left, right = curve[curve[:, 1].argmin()], curve[curve[:, 1].argmax()]
    assert left[0] < right[0] and right[1] - left[1] > pixels.shape[1] / 2, "it falls from the left to the right"


def test_a_notebook_gets_plotly_and_the_picture():
    bundle = picture.Drawn(plots.rule_count({"a": ROUNDS}))._repr_mimebundle_()
    assert rgb(bundle["image/png"]).shape[:2] == (400, 860), "point by point it fits the output of a notebook"
    assert json.loads(json.dumps(bundle["application/vnd.plotly.v1+json"]))["data"][0]["name"] == "a"
    assert bundle["image/png"].startswith(b"\x89PNG") and bundle["text/plain"] == "figure: Rules per refinement round"


def test_what_cannot_be_drawn_is_refused():
    import plotly.graph_objects as go

    with pytest.raises(picture.NoPicture, match="a scatter trace was required; got 'pie'"):
        picture.picture(go.Figure(go.Pie(values=[1])))


def test_the_confusion_shows_its_split_the_published_and_no_method_that_did_not_run():
    accuracy = plots.confusion({"first": METHODS}).data[0]
    assert list(accuracy.y) == ["veriguard", "guardagent"] and list(accuracy.marker.symbol) == ["circle", "circle-open"]
    assert accuracy.error_x.array[0] == pytest.approx(0.02) and accuracy.error_x.arrayminus[0] == pytest.approx(0.04)
    assert accuracy.error_x.array[1] == 0, "no interval was published"


def test_no_run_at_all_gives_an_empty_figure_and_not_an_error():
    assert len(plots.rule_count({}).data) == 0 and len(plots.predicate_graph({}).data) == 0


def test_curves_are_thinned_and_keep_their_ends():
    for length in (0, 1, 79, 80, 160, 1000):
        losses = [1 / (i + 1) for i in range(length)]
        curve = plots._curve(losses)
        assert curve["y"] == [losses[i] for i in curve["x"]] and len(curve["x"]) <= 162
        assert not losses or (curve["x"][0], curve["x"][-1]) == (0, length - 1)
        assert length > 159 or curve["x"] == list(range(length)), "short curves are whole"
    assert len(plots._curve([0.0] * 1000)["x"]) < 100


def test_losses_of_simulated_circuits_are_grey_and_named_once():
    circuits = [{**CIRCUITS[0], "losses": [0.4, 0.2]}] + [
        {**CIRCUITS[1], "action": action, "losses": [0.5, 0.1]} for action in ("post", "look")
    ]
    figure = plots.loss({"first": circuits})
    grey, other, real = figure.data
    assert (
        (grey.line.color, grey.line.width) == (other.line.color, other.line.width) != (real.line.color, real.line.width)
    )
    assert [t.showlegend for t in figure.data] == [True, False, None] and grey.name == other.name == "simulated"
    assert (grey.hovertext, other.hovertext, real.name) == ("post", "look", "pay")
    assert list(real.y) == [0.4, 0.2] and list(real.x) == [0, 1] and real.line.width > grey.line.width
    assert figure.layout.xaxis.title.text == "epoch" and figure.layout.yaxis.rangemode == "tozero"
    both = plots.loss({"first": circuits, "second": circuits})
    assert [t.name for t in both.data][2::3] == ["first: pay", "second: pay"]
    assert both.data[0].legendgroup != both.data[3].legendgroup


def test_weights_stand_over_their_action_hollow_where_simulated():
    (points,) = plots.weights({"first": CIRCUITS}).data
    assert list(zip(points.x, points.y, points.hovertext, points.marker.symbol, strict=True)) == [
        ("pay", 1.2, "r1", "circle"),
        ("pay", 0.3, "r2", "circle"),
        ("post", 0.9, "r2", "circle-open"),
    ]
    (line,) = plots.weights({"first": CIRCUITS}).layout.shapes
    assert (line.y0, line.y1) == (1, 1), "a weight is 1 before it is learned"


def test_the_confusion_has_a_column_a_rate_and_one_name_a_run():
    figure = plots.confusion({"first": METHODS, "second": METHODS}, split="tuned")
    assert [a.text for a in figure.layout.annotations] == ["accuracy", "precision", "recall", "FPR"]
    assert len(figure.data) == 8 and [t.showlegend for t in figure.data] == [True, False, False, False] * 2
    assert [list(t.x) for t in figure.data[:4]] == [[0.5, 0.9], [0.5, 1.0], [0.5, 0.8], [0.5, None]]
    assert len({t.xaxis for t in figure.data[:4]}) == 4 and "tuned" in figure.layout.title.text
    assert {t.legendgroup for t in figure.data} == {"first", "second"}
    low, high = figure.layout.xaxis.range
    assert low < 0 and high > 1, "0 and 1 are on the axis"
    named = {**METHODS[3], "model": "GPT-4"}
    assert list(plots.confusion({"a": [named, {**METHODS[0], "model": "m"}]}).data[0].y) == [
        "guardagent (GPT-4)",
        "veriguard",
    ]


def test_counts_have_whole_numbers_on_the_axis_and_at_most_nine_of_them():
    def step(values):
        return plots.rule_count({"a": [{"round": i, "rules": v} for i, v in enumerate(values)]}).layout.yaxis.dtick

    assert step([3, 4]) == 1 == step([5]) == step([0, 8]) and step([0, 9]) == 2 and step([0, 80]) == 10
    assert step([0.5, 1]) is None and step([]) is None
    figure = plots.vagueness({"first": ROUNDS})
    mean, largest = figure.data
    assert list(largest.y) == [r["vagueness_max"] for r in ROUNDS] and largest.line.dash == "dot" != mean.line.dash
    assert largest.name == "first, largest" and list(largest.x) == [0, 1, 2, 3] and figure.layout.xaxis.dtick == 1
    assert 1 <= largest.line.width < mean.line.width and largest.marker.size < mean.marker.size
    assert largest.line.color == mean.line.color and largest.marker.symbol == mean.marker.symbol


def test_the_lines_of_the_graph_join_what_is_tied_and_stay_in_their_column():
    figure = plots.predicate_graph({"first": GRAPH})
    solid, dotted, nodes, folded = figure.data
    place = {text.split()[0]: (x, y) for text, x, y in zip(nodes.hovertext, nodes.x, nodes.y, strict=True)}
    for lines, (a, b), dash in ((solid, "ab", "solid"), (dotted, "de", "dot")):
        assert lines.line.dash == dash and (lines.x[-1], lines.y[-1]) == (None, None) and len(lines.x) == 14
        assert sorted([lines.y[0], lines.y[12]]) == pytest.approx(sorted([place[a][1], place[b][1]]))
        assert lines.x[0] == pytest.approx(place[a][0]) and lines.x[12] == pytest.approx(place[b][0])
        column = place[a][0]
        assert all(column - 0.25 <= x <= column for x in lines.x[:-1]) and min(lines.x[:-1]) < column - 0.05
    assert (solid.name, dotted.name) == ("in one rule", "similar") and solid.showlegend and dotted.showlegend
    assert folded.y[0] < min(nodes.y) and folded.x[0] == 0
    (left, right), (bottom, top) = figure.layout.xaxis.range, figure.layout.yaxis.range
    assert left < min(solid.x[:-1]) and right > max(nodes.x) and bottom < folded.y[0] and top > max(nodes.y)
    assert figure.layout.annotations[0].text == "first (6 predicates, 4 clusters)"
    two = plots.predicate_graph({"first": GRAPH, "second": GRAPH})
    assert [t.showlegend for t in two.data] == [True, True, False, False, False, False, False, False]
    assert {t.xaxis for t in two.data[:4]} == {"x"} and {t.xaxis for t in two.data[4:]} == {"x2"}


def test_names_of_the_graph_are_cut_linked_and_listed():
    long = "p" * 80
    graph = {"groups": [[long, "q"]], "edges": []}
    plain = plots.predicate_graph({"a": graph}).data[2]
    linked = plots.predicate_graph({"a": graph}, links=True).data[2]
    cut = next(text for text in plain.text if text != "q")
    assert cut.endswith("…") and long.startswith(cut[:-1]) and len(cut) == int(0.75 * plots.COLUMN / plots.LETTER)
    assert f'<a href="#predicate-{long}" target="_self">{cut}</a>' in linked.text
    assert set(plain.hovertext) == {f"{long} (cluster 1)", "q (cluster 1)"}
    alone = {"groups": [[f"n{i:03}"] for i in range(75)], "edges": []}
    folded = plots.predicate_graph({"a": alone}).data[3]
    lines = folded.hovertext[0].split("<br>")
    assert folded.text == ("75 more predicates that nothing ties to another",) and lines[0] == "n000, n001, n002"
    assert len(lines) == 25 and lines[-1] == "…" and lines[-2] == "n069, n070, n071"
    alone = {"groups": [[f"n{i:03}"] for i in range(72)], "edges": []}
    assert "…" not in plots.predicate_graph({"a": alone}).data[3].hovertext[0]
    one = plots.predicate_graph({"a": {"groups": [["x"]], "edges": []}}).data[3]
    assert one.text == ("1 more predicate that nothing ties to another",)


def test_eight_runs_differ_in_colour_and_four_in_look():
    looks = [look for look, _, _ in plots._laid({str(i): i for i in range(9)})]
    assert len({look.colour for look in looks[:8]}) == 8 and looks[8].colour == looks[0].colour
    for part in ("dash", "symbol", "width", "size"):
        assert len({getattr(look, part) for look in looks[:4]}) == 4
        assert getattr(looks[4], part) == getattr(looks[0], part)
    assert [look.width for look in looks[:4]] == sorted((look.width for look in looks[:4]), reverse=True)
    (alone,) = plots._laid({"a": 1})
    assert alone[0].dash == "solid" and alone[1:] == ("a", 1)


def test_a_still_picture_has_bars_where_an_interval_was_measured():
    def drawn(**more):
        return ink(picture.picture(plots.confusion({"a": [{**METHODS[1], **more}]}, split="tuned")))

    bare = drawn()
    assert drawn(intervals={"accuracy": (0.1, 0.9)}) > bare + 100, "a line of 80 points of a hundred"
    assert drawn(intervals={"accuracy": (0.5, 0.5)}) == bare and drawn(intervals={"accuracy": None}) == bare


def test_texts_of_a_figure_are_shown_without_their_tags():
    assert picture._words("a<br>b <i>c</i> &lt;d&gt;<br/>e") == "a\nb c <d>\ne"
    assert repr(picture.drawn(plots.rule_count({"a": ROUNDS}))) == "figure: Rules per refinement round"
    assert picture._plain({"a": np.array([1, 2]), "b": (np.float64(0.5), [None])}) == {"a": [1, 2], "b": [0.5, [None]]}
    assert picture._by(["x", "y", "x"], [0, 1, 2]) == {"x": [0, 2], "y": [1]} and picture._by("x", [0, 2]) == {
        "x": [0, 2]
    }
    xs, ys = picture._gaps([1, None, 3], [4, None, 6])
    assert (xs[0], xs[2], ys[0], ys[2]) == (1, 3, 4, 6) and np.isnan(xs[1]) and np.isnan(ys[1])
    assert picture._gaps(["a", None, "b"], [1, 2, None]) == (["a"], [1])


def test_only_straight_lines_over_an_axis_are_drawn():
    import plotly.graph_objects as go

    figure = go.Figure(go.Scatter(x=[0, 1], y=[0, 1], marker={"color": "black"}, line={"color": "black"}))
    plain = ink(picture.picture(figure))
    across, along = go.Figure(figure).add_hline(y=0.5, line={"color": "red"}), go.Figure(figure)
    along.add_vline(x=0.5, line={"color": "red"})
    pixels = [rgb(picture.picture(one)) for one in (across, along)]
    red = [np.argwhere((p[:, :, 0] > 200) & (p[:, :, 1] < 60) & (p[:, :, 2] < 60)) for p in pixels]
    assert np.ptp(red[0][:, 1]) > 10 * np.ptp(red[0][:, 0]) and np.ptp(red[1][:, 0]) > 10 * np.ptp(red[1][:, 1])
    assert ink(picture.picture(across)) > plain
    for shape in (
        {"type": "rect", "x0": 0, "x1": 1, "y0": 0, "y1": 1},
        {"type": "line", "x0": 0, "x1": 1, "y0": 0, "y1": 1},
    ):
        with pytest.raises(picture.NoPicture, match="a straight line over an axis was required"):
            picture.picture(go.Figure(figure).add_shape(shape))
