"""The still picture of a plotly figure: what a viewer shows that cannot run plotly's script.

nbconvert's HTML, a code host's view of a notebook and a printed page draw no plotly.  So a figure is
handed to the notebook twice: as plotly, which JupyterLab draws, and as a PNG, drawn here by matplotlib
from the same traces.  Only what `plots` uses is drawn: scatter traces with lines, markers, texts and
error bars, straight lines over an axis, subplots with titles.  Anything else is refused.
"""

from __future__ import annotations

import html
import io
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wb.runs import plots
from wb.runs.cards import Note

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from plotly.graph_objects import Figure

PIXELS = 100  # to an inch: plotly's JupyterLab extension shows the picture point by point until it is pointed at
WIDTH, HEIGHT = 860, 400  # pixels, where the figure names none: an output of a notebook is about so wide
DASHES = {"solid": "-", "dot": ":", "dash": "--", "dashdot": "-.", "longdash": (0, (8, 3))}
SYMBOLS = {"circle": "o", "square": "s", "diamond": "D", "cross": "P", "x": "X", "triangle-up": "^"}
SIDES = {"right": ("left", "center"), "left": ("right", "center"), "top": ("center", "bottom")}
TICK_PERCENT = ".0%"


class NoPicture(ValueError):
    """The figure holds something that this module does not draw."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A figure as a notebook shows it: a still picture, which plotly makes a living one where it can run."""

    figure: Figure

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, object]:
        plotly = {"application/vnd.plotly.v1+json": self.figure.to_plotly_json() | {"config": {"displaylogo": False}}}
        return _plain(plotly) | {"image/png": picture(self.figure), "text/plain": repr(self)}

    def __repr__(self) -> str:
        return f"figure: {_words(self.figure.layout.title.text or 'untitled')}"


def drawn(figure: Figure) -> Drawn | Note:
    """A figure with its still picture; where it holds no point, a sentence says so instead of empty axes."""
    if plots.empty(figure):
        return Note(f"{_words(figure.layout.title.text or 'figure')}: there is nothing to draw.")
    return Drawn(figure)


def picture(figure: Figure) -> bytes:
    """A plotly figure as a PNG.

    Raises:
        NoPicture: a trace or a shape of a kind that is not drawn here.
    """
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    other = [trace.type for trace in figure.data if trace.type != "scatter"]
    if other:
        raise NoPicture(f"a scatter trace was required; got {other[0]!r}")
    layout = figure.layout
    size = ((layout.width or WIDTH) / PIXELS, (layout.height or HEIGHT) / PIXELS)
    with matplotlib.rc_context({"text.parse_math": False, "font.size": 9}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # a letter without a shape is a box
        canvas = Canvas(figsize=size, dpi=PIXELS, layout="constrained", facecolor="white")
        FigureCanvasAgg(canvas)
        places = _axes(canvas, figure)
        for trace in figure.data:
            _scatter(places[_place(trace)], trace)
        _finish(canvas, places, figure)
        file = io.BytesIO()
        canvas.savefig(file, format="png", metadata={"Software": None})
    return file.getvalue()


def _axes(canvas: object, figure: Figure) -> dict[tuple[str, str], Axes]:
    """An axes for each pair of plotly axes, in the rows and columns of their domains."""
    pairs = list(dict.fromkeys(_place(trace) for trace in figure.data)) or [("x", "y")]
    domains = {pair: (_domain(figure, pair[0], "x"), _domain(figure, pair[1], "y")) for pair in pairs}
    columns = sorted({x for x, _ in domains.values()})
    rows = sorted({y for _, y in domains.values()}, reverse=True)
    grid = canvas.subplots(len(rows), len(columns), squeeze=False, sharey="row" if _shared(figure) else False)
    used = {pair: grid[rows.index(y), columns.index(x)] for pair, (x, y) in domains.items()}
    for spare in set(grid.flat) - set(used.values()):
        spare.set_visible(False)
    return used


def _place(trace: object) -> tuple[str, str]:
    return trace.xaxis or "x", trace.yaxis or "y"


def _axis(figure: Figure, name: str, letter: str) -> object:
    return figure.layout[f"{letter}axis{name[1:]}"]


def _domain(figure: Figure, name: str, letter: str) -> tuple[float, float]:
    return tuple(_axis(figure, name, letter).domain or (0.0, 1.0))


def _shared(figure: Figure) -> bool:
    return any(_axis(figure, name, "y").matches for _, name in map(_place, figure.data))


def _scatter(axes: Axes, trace: object) -> None:
    mode = (trace.mode or "lines+markers").split("+")
    xs, ys, marker = _list(trace.x), _list(trace.y), trace.marker
    label = _words(trace.name or "") if trace.showlegend is not False else None
    points = [i for i, (x, y) in enumerate(zip(xs, ys, strict=True)) if x is not None and y is not None]
    if "lines" in mode:
        style = {"color": trace.line.color, "linestyle": DASHES[trace.line.dash or "solid"]}
        axes.plot(*_gaps(xs, ys), linewidth=0.75 * (trace.line.width or 2), label=label, **style)
        label = None
    if "markers" in mode and points:
        for symbol, chosen in _by(marker.symbol or "circle", points).items():
            name, hollow = symbol.removesuffix("-open"), symbol.endswith("-open")
            colours = [_each(marker.color, i) or trace.line.color for i in chosen]
            axes.scatter(
                [xs[i] for i in chosen],
                [ys[i] for i in chosen],
                s=[0.5 * (_each(marker.size, i) or 6) ** 2 for i in chosen],
                marker=SYMBOLS[name],
                facecolors="none" if hollow else colours,
                edgecolors=colours if hollow else "white",
                linewidths=1.2 if hollow else 0.6,
                zorder=3,
                label=label,
            )
            label = None
    for i in points if "text" in mode else ():
        _text(axes, xs[i], ys[i], _words(_each(trace.text, i) or ""), trace)
    _error_bars(axes, trace, points)


def _gaps(xs: Sequence[object], ys: Sequence[object]) -> tuple[list, list]:
    """The points of a line; a missing one breaks it."""
    if any(isinstance(v, str) for v in (*xs, *ys)):
        kept = [(x, y) for x, y in zip(xs, ys, strict=True) if x is not None and y is not None]
        return [x for x, _ in kept], [y for _, y in kept]
    return [_number(v) for v in xs], [_number(v) for v in ys]


def _text(axes: Axes, x: object, y: object, text: str, trace: object) -> None:
    side = next((s for s in SIDES if s in (trace.textposition or "")), "top")
    across, along = SIDES[side]
    shift = {"right": (6, 0), "left": (-6, 0), "top": (0, 5)}[side]
    size = 0.72 * (trace.textfont.size or 12)
    style = {"ha": across, "va": along, "fontsize": size, "color": trace.textfont.color or "#333333"}
    axes.annotate(text, (x, y), shift, textcoords="offset points", annotation_clip=False, **style)


def _error_bars(axes: Axes, trace: object, points: Sequence[int]) -> None:
    bars = trace.error_x
    if bars.array is None:
        return
    plus, minus = _list(bars.array), _list(bars.arrayminus if bars.arrayminus is not None else bars.array)
    for i in points:
        if plus[i] or minus[i]:
            spread = [[max(minus[i], 0)], [max(plus[i], 0)]]
            axes.errorbar(trace.x[i], trace.y[i], xerr=spread, color=bars.color, capsize=2, linewidth=1, zorder=2)


def _finish(canvas: object, places: Mapping[tuple[str, str], Axes], figure: Figure) -> None:
    """Titles, scales, lines over an axis and the legend."""
    for (across, along), axes in places.items():
        _scale(axes, _axis(figure, across, "x"), "x")
        _scale(axes, _axis(figure, along, "y"), "y")
        for shape in figure.layout.shapes:
            if shape.type != "line" or (shape.y0 != shape.y1 and shape.x0 != shape.x1):
                raise NoPicture(f"a straight line over an axis was required; got the shape {shape.type!r}")
            draw, at = (axes.axhline, shape.y0) if shape.y0 == shape.y1 else (axes.axvline, shape.x0)
            draw(at, color=shape.line.color, linestyle=DASHES[shape.line.dash or "solid"], linewidth=1)
        middle = sum(_domain(figure, across, "x")) / 2
        for note in figure.layout.annotations:
            if note.xref == "paper" and abs(note.x - middle) < 0.01:
                axes.set_title(_words(note.text), fontsize=9)
    if figure.layout.title.text:
        canvas.suptitle(_words(figure.layout.title.text), x=0.01, ha="left", fontsize=11)
    named = {}
    for axes in places.values():
        handles, labels = axes.get_legend_handles_labels()
        named |= dict(zip(labels, handles, strict=True))
    if named and figure.layout.showlegend is not False:
        columns = min(len(named), 4)
        canvas.legend(named.values(), named, loc="outside lower left", ncols=columns, frameon=False, fontsize=8)


def _scale(axes: Axes, scale: object, letter: str) -> None:
    side = axes.xaxis if letter == "x" else axes.yaxis
    if scale.visible is False:
        side.set_visible(False)
        axes.spines[:].set_visible(False)
    if scale.title.text:
        side.set_label_text(_words(scale.title.text))
    if scale.range:
        (axes.set_xlim if letter == "x" else axes.set_ylim)(*scale.range)
    elif scale.rangemode == "tozero":
        low, high = axes.get_xlim() if letter == "x" else axes.get_ylim()
        (axes.set_xlim if letter == "x" else axes.set_ylim)(min(low, 0), high)
    if scale.tickformat == TICK_PERCENT:
        side.set_major_formatter(lambda value, _: f"{100 * value:.0f}%")
    if scale.dtick:
        from matplotlib.ticker import MultipleLocator

        side.set_major_locator(MultipleLocator(scale.dtick))
    if scale.tickangle and letter == "x":
        axes.tick_params("x", labelrotation=-scale.tickangle, labelsize=7)
        for label in axes.get_xticklabels():
            label.set(ha="right", rotation_mode="anchor")
    axes.spines[["top", "right"]].set_visible(False)
    if scale.visible is not False:
        side.grid(True, color="#E5E5E5", linewidth=0.6)
    axes.set_axisbelow(True)


def _by(value: object, points: Sequence[int]) -> dict[str, list[int]]:
    """The points by the value that each of them has."""
    found: dict[str, list[int]] = {}
    for i in points:
        found.setdefault(_each(value, i), []).append(i)
    return found


def _each(value: object, i: int) -> object:
    """The value of one point, where a trace gives one for all or one for each."""
    return value if value is None or isinstance(value, str | int | float) else value[i]


def _number(value: object) -> float:
    return float("nan") if value is None else value


def _list(values: object) -> list:
    return [] if values is None else list(values)


def _words(text: str) -> str:
    """Plotly's text without its tags."""
    return html.unescape(re.sub(r"<[^>]+>", "", re.sub(r"<br ?/?>", "\n", text)))


def _plain(value: object) -> object:
    """Arrays as lists, so that the notebook's file can hold them."""
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value.tolist() if hasattr(value, "tolist") else value
