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
