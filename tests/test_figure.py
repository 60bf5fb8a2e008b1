"""A figure as data, in its two renderings: what plotly is given, and what stands on the picture."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure as Canvas
from matplotlib.image import imread

from wb.runs.figure import GREY, Axis, Figure, Look, Series

BLUE, RED = "#0072b2", "#aa0000"
LINE = Series(Look(BLUE, "dash", "square", 4, 10), [1, 2, 4], [3.0, None, 5.0], "a <b>b</b>")
POINTS = Series(Look(BLUE), [1, 2, 4], [3, 4, 5], "p", "markers")
NASTY = "<img src=x onerror=alert(1)><a href='http://e'>x</a>"


@pytest.fixture
def canvas(monkeypatch):
    """Draws a figure and gives the canvas that was drawn on."""
    saved = []
    draw = Canvas.savefig
    monkeypatch.setattr(Canvas, "savefig", lambda self, *a, **k: (saved.append(self), draw(self, *a, **k)))

    def drawn(figure: Figure) -> Canvas:
        figure.picture()
        return saved[-1]

    return drawn


def rgb(png: bytes) -> np.ndarray:
    """A picture's points, 0..255, of shape (height, width, 3)."""
    return (255 * imread(io.BytesIO(png))[:, :, :3]).round().astype(int)


def test_a_notebook_gets_plotly_and_the_picture_and_of_an_empty_figure_a_sentence() -> None:
    bundle = Figure("Title", (LINE,))._repr_mimebundle_()
    assert rgb(bundle["image/png"]).shape[:2] == (400, 860), "point by point it fits the output of a notebook"
    assert rgb(Figure("T", (LINE,), height=200).picture()).shape[:2] == (200, 860)
    assert json.loads(json.dumps(bundle["application/vnd.plotly.v1+json"]))["data"][0]["x"] == [1, 2, 4]
    assert bundle["text/plain"] == "figure: Title"
    none = Figure("<T>", (replace(LINE, y=[None] * 3),))
    assert none.empty and Figure("", ()).empty and not Figure("", (LINE,)).empty
    assert none._repr_mimebundle_().keys() == {"text/html", "text/plain"}
    assert "<p>&lt;T&gt;: there is nothing to draw.</p>" in none._repr_mimebundle_()["text/html"]


def test_a_line_has_its_points_and_a_missing_one_breaks_it(canvas) -> None:
    (axes,) = canvas(Figure("", (LINE,))).axes
    (line,) = axes.lines
    assert np.array_equal(line.get_data(), [[1, 2, 4], [3, np.nan, 5]], equal_nan=True)
    assert (line.get_color(), line.get_linestyle(), line.get_linewidth()) == (BLUE, "--", 3)
    assert line.get_label() == "a <b>b</b>" and len(axes.collections[0].get_offsets()) == 2
    (trace,) = Figure("", (LINE,)).plotly().data
    assert (trace.line.color, trace.line.dash, trace.line.width) == (BLUE, "dash", 4) and list(trace.y) == [3, None, 5]
    assert (trace.marker.symbol, trace.marker.size, trace.mode) == ("square", 10, "lines+markers")


def test_points_are_hollow_coloured_and_named_as_they_are_told(canvas) -> None:
    series = replace(POINTS, hollow=[False, True, False], colours=[RED, BLUE, BLUE])
    (axes,) = canvas(Figure("", (series,))).axes
    (points,) = axes.collections
    assert not axes.lines and points.get_sizes()[0] == 32 and points.get_label() == "p"
    assert [tuple(map(int, at)) for at in points.get_offsets()] == [(1, 3), (2, 4), (4, 5)]
    assert [to_hex(colour) for colour in points.get_edgecolor()] == [RED, BLUE, BLUE]
    assert [colour[3] for colour in points.get_facecolor()] == [1, 0, 1], "the second is hollow"
    (trace,) = Figure("", (series,)).plotly().data
    assert list(trace.marker.symbol) == ["circle", "circle-open", "circle"] and trace.marker.color == (RED, BLUE, BLUE)
    unlisted = canvas(Figure("", (replace(POINTS, listed=False),)))
    assert not unlisted.legends and not Figure("", (replace(POINTS, listed=False),)).plotly().data[0].showlegend


def test_texts_stand_beside_their_points_and_links_lead_to_places_of_the_page(canvas) -> None:
    series = replace(POINTS, mode="markers+text", texts=["a", "<b>", "c"], hover=["x", NASTY, "l1\nl2"])
    texts = canvas(Figure("", (series,))).axes[0].texts
    assert [(t.get_text(), t.xy) for t in texts] == [("a", (1, 3)), ("<b>", (2, 4)), ("c", (4, 5))]
    assert {(t.get_ha(), t.get_va(), t.xyann) for t in texts} == {("left", "center", (6, 0))}
    (trace,) = Figure("", (series,)).plotly().data
    assert trace.text == ("a", "&lt;b&gt;", "c") and trace.hovertext[2] == "l1<br>l2" and "<" not in trace.hovertext[1]
    (linked,) = Figure("", (replace(series, links=["p-a", 'p"b', "p-c"]),)).plotly().data
    assert linked.text[1] == '<a href="#p&quot;b" target="_self">&lt;b&gt;</a>'


def test_bars_reach_as_far_as_the_interval_on_each_side_and_are_left_out_without_one(canvas) -> None:
    series = replace(POINTS, intervals=[(0.75, 1.5), None, (4, 4.5)], x=[1, 2, None])
    (bar,) = canvas(Figure("", (series,))).axes[0].containers
    (((left, y), (right, _)),) = bar.lines[2][0].get_segments()
    assert (left, right, y) == (0.75, 1.5, 3)
    bars = Figure("", (series,)).plotly().data[0].error_x
    assert (bars.array, bars.arrayminus, bars.symmetric) == ((0.5, None, None), (0.25, None, None), False)
    assert Figure("", (POINTS,)).plotly().data[0].error_x.array is None
    thick = replace(series, mode="bars")
    assert [len(one.lines[2][0].get_segments()) for one in canvas(Figure("", (thick,))).axes[0].containers[1:]] == [1]
    assert len(canvas(Figure("", (replace(POINTS, mode="bars"),))).axes[0].containers) == 1
    assert Figure("", (thick,)).plotly().data[0].error_x.arrayminus == (0.25, None, None)


def test_scales_are_alike_in_both_renderings(canvas) -> None:
    across, along = Axis("across", 2, (0, 10)), Axis("along", zero=True, percent=True)
    figure = Figure("", (POINTS,), across, along, level=2)
    (axes,) = canvas(figure).axes
    assert axes.get_xlim() == (0, 10) and axes.get_ylim()[0] == 0 < 5 < axes.get_ylim()[1]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("across", "along")
    assert [at for at in axes.get_xticks() if 0 <= at <= 10] == [0, 2, 4, 6, 8, 10]
    assert axes.yaxis.get_major_formatter()(0.25, 0) == "25%" and list(axes.lines[0].get_ydata()) == [2, 2]
    layout = figure.plotly().layout
    assert (layout.xaxis.range, layout.xaxis.dtick, layout.xaxis.title.text) == ((0, 10), 2, "across")
    assert (layout.yaxis.rangemode, layout.yaxis.tickformat, layout.yaxis.title.text) == ("tozero", ".0%", "along")
    assert (layout.shapes[0].y0, layout.shapes[0].line.color) == (2, GREY) and not Figure(
        "", (), level=2
    ).plotly().layout.shapes
    slanted = Figure("", (POINTS,), Axis(slanted=True), Axis(span=(-4, 8)))
    (axes,) = canvas(slanted).axes
    assert axes.get_ylim() == (-4, 8) and {label.get_rotation() for label in axes.get_xticklabels()} == {60}
    assert slanted.plotly().layout.xaxis.tickangle == -60 and slanted.plotly().layout.legend.y > 1
    below = Figure("", (replace(POINTS, y=[-3, 4, 5]),), y=Axis(zero=True))
    assert canvas(below).axes[0].get_ylim()[0] <= -3
    hidden = Figure("", (POINTS,), Axis(visible=False), Axis(visible=False))
    assert not canvas(hidden).axes[0].axison and hidden.plotly().layout.xaxis.visible is False


def test_panels_stand_beside_one_another_with_their_titles_and_one_scale(canvas) -> None:
    two = Figure("Both", (LINE, replace(POINTS, panel=1, y=[30, 40, 50])), panels=("One", "<Two>"))
    drawn = canvas(two)
    left, right = drawn.axes
    assert (left.get_title(), right.get_title(), drawn.get_suptitle()) == ("One", "<Two>", "Both")
    assert left.get_position().x1 <= right.get_position().x0 and left.get_ylim() == right.get_ylim()
    assert [text.get_text() for text in drawn.legends[0].get_texts()] == ["a <b>b</b>", "p"]
    made = two.plotly()
    assert [trace.xaxis for trace in made.data] == ["x", "x2"] and made.layout.yaxis2.matches == "y"
    assert [note.text for note in made.layout.annotations] == ["One", "&lt;Two&gt;"]


def test_no_text_becomes_markup_or_mathematics(canvas) -> None:
    nasty = f"$x$ {NASTY}"
    series = Series(Look(BLUE), [nasty, "b"], [1, 2], nasty, "markers+text", texts=[nasty, ""], hover=[nasty, ""])
    figure = Figure(nasty, (series,), panels=(nasty,))
    made = figure.plotly()
    (trace,) = made.data
    shown = (trace.name, trace.text[0], trace.hovertext[0], trace.x[0], made.layout.title.text)
    assert not any("<" in text for text in (*shown, made.layout.annotations[0].text)) and "&lt;img" in shown[0]
    assert "<img" not in made.to_html(full_html=False, include_plotlyjs=False)
    assert canvas(figure).get_suptitle() == nasty


def test_the_curve_stands_where_its_points_are() -> None:
    falling = Figure("", (Series(Look(BLUE), [0, 1, 2, 3], [9, 5, 4, 1], "a"),))
    pixels = rgb(falling.picture())
    blue = np.argwhere(np.abs(pixels - np.array([0, 0x72, 0xB2])).sum(axis=2) < 30)
    curve = blue[blue[:, 0] < 0.8 * len(pixels)]  # the legend is below
    left, right = curve[curve[:, 1].argmin()], curve[curve[:, 1].argmax()]
    assert left[0] < right[0] and right[1] - left[1] > pixels.shape[1] / 2, "it falls from the left to the right"


def points(figure: Figure) -> list[tuple]:
    """What plotly is given, point by point."""
    return [
        (trace.name.split(":")[0], str(x), str(y))
        for trace in figure.plotly().data
        for x, y in zip(trace.x, trace.y, strict=True)
        if x is not None and y is not None
    ]


def test_the_csv_has_the_points_that_are_drawn_in_full_and_no_other() -> None:
    series = replace(POINTS, y=[1 / 3, None, 5], hover=["x", "y, z", "w"], intervals=[(0.75, 1.5), None, None])
    figure = Figure("T", (LINE, series), Axis("round (0: first)"), Axis("rules"))
    rows = list(csv.DictReader(io.StringIO(figure.csv())))
    assert [(row["series"].replace("<", "&lt;").replace(">", "&gt;"), row["round"], row["rules"]) for row in rows] == (
        points(figure)
    )
    assert (
        rows[2]["rules"] == repr(1 / 3) and rows[2]["point"] == "x" and (rows[2]["low"], rows[3]["low"]) == ("0.75", "")
    )
    laid = replace(POINTS, data=[{"predicate": "a"}, {"predicate": "b", "cluster": 2}])
    assert Figure("T", (laid,), panels=("P", "Q")).csv() == "series,panel,predicate,cluster\np,P,a,\np,P,b,2\n"
    assert Figure("T", ()).csv().strip() == ""


def test_a_note_stands_in_both_renderings_under_the_title_and_behind_the_name_in_the_legend(canvas) -> None:
    figure = Figure("Title", (replace(LINE, note="9 to 7"),), note=f"{'long words ' * 30}<b>do not compare")
    drawn = canvas(figure)
    (note,) = [text.get_text() for text in drawn.texts if "compare" in text.get_text()]
    assert "<b>do not compare" in note.replace("\n", " ") and len(note.splitlines()) == 3
    assert drawn.legends[0].get_texts()[0].get_text() == "a <b>b</b>: 9 to 7"
    made = figure.plotly()
    assert made.data[0].name == "a &lt;b&gt;b&lt;/b&gt;: 9 to 7" and "&lt;b&gt;do not" in made.layout.title.text
    assert made.layout.height == 445 and made.layout.margin.t == 115, "three lines of 15 pixels more"
    many = tuple(replace(LINE, name=f"{'a long name ' * 8}{number}") for number in range(5))
    assert Figure("T", many).plotly().layout.height == 460, "a legend of five rows takes nothing from the panel"
    names = [text.get_window_extent() for text in canvas(Figure("T", many)).legends[0].get_texts()]
    assert max(box.x1 for box in names) < 860


def test_a_picture_is_of_the_same_bytes_for_the_same_points() -> None:
    figure = Figure("Title", (LINE,), note="a note")
    for form, start in (("svg", b"<?xml"), ("png", b"\x89PNG")):
        assert figure.picture(form) == figure.picture(form) and figure.picture(form).startswith(start)
    assert figure.picture("svg") != Figure("Title", (POINTS,), note="a note").picture("svg")
