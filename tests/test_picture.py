"""What the still picture of a figure is made of: lines, points, texts, bars, scales, each as plotly was told."""

import numpy as np
import plotly.graph_objects as go
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from wb.runs import picture


def canvas_of(figure: go.Figure) -> tuple[Figure, list]:
    """The canvas with the figure's traces, and its axes in the order of the traces."""
    canvas = Figure(figsize=(9, 6), layout="constrained")
    FigureCanvasAgg(canvas)
    places = picture._axes(canvas, figure)
    for trace in figure.data:
        picture._scatter(places[picture._place(trace)], trace)
    picture._finish(canvas, places, figure)
    return canvas, list(places.values())


def scatter(**more: object) -> go.Scatter:
    return go.Scatter(**{"x": [1, 2, 4], "y": [3.0, None, 5.0], "line": {"color": "#112233"}} | more)


def test_a_line_has_the_points_of_its_trace_and_a_missing_one_breaks_it() -> None:
    _, (axes,) = canvas_of(
        go.Figure(scatter(mode="lines", name="a <b>b</b>", line={"color": "#112233", "dash": "dash"}))
    )
    (line,) = axes.lines
    assert np.array_equal(line.get_data(), [[1, 2, 4], [3, np.nan, 5]], equal_nan=True) and not axes.collections
    assert (line.get_color(), line.get_linestyle(), line.get_linewidth()) == ("#112233", "--", 1.5)
    assert line.get_label() == "a b"
    _, (axes,) = canvas_of(go.Figure(scatter(x=["p", "q", "r"], mode="lines", line={"color": "#112233", "width": 4})))
    assert [list(part) for part in axes.lines[0].get_data()] == [["p", "r"], [3, 5]]
    assert axes.lines[0].get_linewidth() == 3 and axes.lines[0].get_linestyle() == "-"


def test_points_have_their_shapes_sizes_and_colours() -> None:
    marker = {"symbol": ["circle", "x", "square-open"], "size": [4, 8, 10], "color": ["#aa0000", "#00aa00", "#0000aa"]}
    _, (axes,) = canvas_of(go.Figure(scatter(y=[3, 4, 5], mode="markers", marker=marker, name="p")))
    assert not axes.lines and len(axes.collections) == 3
    assert [tuple(c.get_offsets()[0]) for c in axes.collections] == [(1, 3), (2, 4), (4, 5)]
    assert [c.get_sizes()[0] for c in axes.collections] == [8, 32, 50]
    full, _, hollow = axes.collections
    assert to_hex(full.get_facecolor()[0]) == "#aa0000" and to_hex(full.get_edgecolor()[0]) == "#ffffff"
    assert len(hollow.get_facecolor()) == 0 and to_hex(hollow.get_edgecolor()[0]) == "#0000aa"
    assert (full.get_linewidth()[0], hollow.get_linewidth()[0]) == (0.6, 1.2)
    assert [c.get_label() for c in axes.collections][0] == "p", "named once"
    assert all(c.get_label().startswith("_") for c in axes.collections[1:])
    _, (axes,) = canvas_of(go.Figure(scatter()))
    (points,) = axes.collections
    assert len(points.get_offsets()) == 2 and to_hex(points.get_facecolor()[0]) == "#112233"
    assert points.get_sizes()[0] == 18 and len(axes.lines) == 1, "lines and points, where no mode is told"
    _, (axes,) = canvas_of(go.Figure(scatter(y=[None] * 3, mode="markers")))
    assert not axes.collections


def test_texts_stand_beside_their_points() -> None:
    for position, across, along, shift in (
        ("middle right", "left", "center", (6, 0)),
        ("middle left", "right", "center", (-6, 0)),
        ("top center", "center", "bottom", (0, 5)),
        (None, "center", "bottom", (0, 5)),
    ):
        told = {"mode": "text", "text": ["a<br>b", "no", "c"], "textposition": position}
        _, (axes,) = canvas_of(go.Figure(scatter(**told, textfont={"size": 10, "color": "#00ff00"})))
        first, second = axes.texts
        assert (first.get_text(), first.xy, second.get_text(), second.xy) == ("a\nb", (1, 3), "c", (4, 5))
        assert (first.get_ha(), first.get_va(), first.xyann) == (across, along, shift)
        assert first.get_fontsize() == pytest.approx(7.2) and first.get_color() == "#00ff00"
    _, (axes,) = canvas_of(go.Figure(scatter(mode="text", text="same")))
    assert [one.get_text() for one in axes.texts] == ["same", "same"]
    assert axes.texts[0].get_fontsize() == pytest.approx(8.64) and axes.texts[0].get_color() == "#333333"


def test_bars_reach_as_far_as_they_are_told_on_each_side() -> None:
    bars = {"array": [0.5, 9, 0], "arrayminus": [0.25, 9, 0], "color": "#aa00aa"}
    for told, low in ((bars, 0.75), ({"array": [0.5, 9, 0], "color": "#aa00aa"}, 0.5)):
        _, (axes,) = canvas_of(go.Figure(scatter(mode="markers", error_x=told)))
        (bar,) = axes.containers
        (((left, y), (right, _)),) = bar.lines[2][0].get_segments()
        assert (left, right, y) == (low, 1.5, 3)


def test_axes_have_the_scales_that_they_are_told() -> None:
    figure = go.Figure(scatter(y=[3, 4, 5], mode="markers"))
    figure.update_xaxes(range=[0, 10], title="across", dtick=2)
    figure.update_yaxes(rangemode="tozero", tickformat=".0%", title="<i>along</i>")
    _, (axes,) = canvas_of(figure)
    assert axes.get_xlim() == (0, 10) and axes.get_ylim()[0] == 0 < 5 < axes.get_ylim()[1]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("across", "along")
    assert [at for at in axes.get_xticks() if 0 <= at <= 10] == [0, 2, 4, 6, 8, 10]
    assert axes.yaxis.get_major_formatter()(0.25, 0) == "25%"
    assert not axes.spines["top"].get_visible() and axes.spines["left"].get_visible()
    other = go.Figure(scatter(y=[-3, 4, 5], mode="markers"))
    other.update_xaxes(rangemode="tozero", tickangle=-30)
    other.update_yaxes(rangemode="tozero", range=[-4, 8])
    _, (axes,) = canvas_of(other)
    assert axes.get_xlim()[0] == 0 and axes.get_ylim() == (-4, 8)
    assert {(label.get_rotation(), label.get_ha()) for label in axes.get_xticklabels()} == {(30, "right")}
    below = go.Figure(scatter(y=[-3, 4, 5], mode="markers"))
    below.update_yaxes(rangemode="tozero", visible=False)
    _, (axes,) = canvas_of(below)
    assert axes.get_ylim()[0] < -3 and axes.xaxis.get_visible() and not axes.yaxis.get_visible()
    assert not any(spine.get_visible() for spine in axes.spines.values())


def test_subplots_stand_in_rows_and_columns_with_their_titles() -> None:
    from plotly.subplots import make_subplots

    figure = make_subplots(rows=1, cols=2, subplot_titles=("One", "Two"), shared_yaxes=True)
    figure.add_trace(scatter(name="p"), row=1, col=1)
    figure.add_trace(scatter(name="q", y=[30, 40, 50]), row=1, col=2)
    figure.update_layout(title="Both")
    canvas, (left, right) = canvas_of(figure)
    canvas.canvas.draw()
    assert (left.get_title(), right.get_title()) == ("One", "Two") and canvas.get_suptitle() == "Both"
    assert left.get_position().x1 <= right.get_position().x0 and left.get_ylim() == right.get_ylim()
    assert [text.get_text() for text in canvas.legends[0].get_texts()] == ["p", "q"]
    three = make_subplots(rows=2, cols=2)
    for row, col in ((1, 1), (1, 2), (2, 1)):
        three.add_trace(scatter(showlegend=False, y=[0, row, 10 * row + col]), row=row, col=col)
    canvas, (first, second, third) = canvas_of(three)
    canvas.canvas.draw()
    assert first.get_position().y0 > third.get_position().y1 and first.get_ylim() != second.get_ylim()
    assert [axes.get_visible() for axes in canvas.axes].count(False) == 1 and not canvas.legends
    hidden = go.Figure(scatter(name="p"))
    hidden.update_layout(showlegend=False)
    assert not canvas_of(hidden)[0].legends and len(canvas_of(go.Figure())[1]) == 1


def test_straight_lines_over_an_axis_are_drawn_and_other_shapes_refused() -> None:
    figure = go.Figure(scatter(mode="markers"))
    figure.add_hline(y=2, line={"color": "#aa0000", "dash": "dot"})
    figure.add_vline(x=3, line={"color": "#00aa00"})
    _, (axes,) = canvas_of(figure)
    across, along = axes.lines
    assert list(across.get_ydata()) == [2, 2] and list(along.get_xdata()) == [3, 3]
    assert (across.get_color(), across.get_linestyle(), along.get_linestyle()) == ("#aa0000", ":", "-")
    for shape in ({"type": "rect"}, {"type": "line"}):
        wrong = go.Figure(scatter())
        wrong.add_shape(**shape, x0=1, x1=2, y0=1, y1=2)
        with pytest.raises(picture.NoPicture, match="a straight line over an axis was required"):
            picture.picture(wrong)


def test_a_picture_is_as_large_as_its_figure() -> None:
    def size(**layout: int) -> tuple[int, int]:
        figure = go.Figure(scatter())
        figure.update_layout(**layout)
        data = picture.picture(figure)
        return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")

    assert size() == (860, 400) and size(width=300, height=200) == (300, 200)
