"""A figure as data, its two renderings (plotly for a viewer that runs scripts, a picture for one that does not), and
its points as CSV.

nbconvert's HTML, a code host's view of a notebook and a printed page draw no plotly.  So a figure is handed to the
notebook twice, both made from the same series, as the CSV is.  matplotlib draws the picture: plotly's own way,
kaleido, takes three seconds a figure and a browser on the machine.
"""

from __future__ import annotations

import csv
import html
import io
import json
import textwrap
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from wb.runs.cards import Note

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from plotly.graph_objects import Figure as Plotly

PIXELS = 100  # to an inch: plotly's JupyterLab extension shows the picture point by point until it is pointed at
NOTE, LINE = 130, 15  # letters in a line of a note, and its height in pixels
LETTER, ROW = 6.5, 20  # pixels of the legend's letters and rows
WIDTH = 860  # pixels: an output of a notebook is about so wide
DASHES = {"solid": "-", "dot": ":", "dash": "--", "dashdot": "-.", "longdash": (0, (8, 3))}
SYMBOLS = {"circle": "o", "square": "s", "diamond": "D", "cross": "P"}
GREY = "#999999"
TOP = {"yref": "container", "y": 1, "yanchor": "top", "pad": {"t": 14}}
Interval = tuple[float, float]


class Look(NamedTuple):
    """How a series is drawn; widths and sizes in pixels, dashes and symbols by plotly's names."""

    colour: str
    dash: str = "solid"
    symbol: str = "circle"
    width: float = 2
    size: float = 8


class Axis(NamedTuple):
    """A scale: its title, the distance of its ticks, its ends; `zero`: it starts at 0."""

    title: str = ""
    step: float | None = None
    span: Interval | None = None
    zero: bool = False
    percent: bool = False
    slanted: bool = False
    visible: bool = True


@dataclass(frozen=True, slots=True)
class Series:
    """Points of one panel; a point without y breaks the line.

    With the mode "bars" its points are bars along x, beside those of the other series of the panel.  `listed` says
    whether the legend names it.  `hover`, `hollow`, `colours`, `texts` and `intervals` (low and high
    along x) have an entry a point, or none; `links` turn texts into links to places of the page.  `note` stands behind
    the name in the legend.  `data` are the rows that points stand for whose places say nothing: those of a layout.
    """

    look: Look
    x: Sequence[object]
    y: Sequence[object]
    name: str = ""
    mode: str = "lines+markers"
    panel: int = 0
    listed: bool = True
    hover: Sequence[str] = ()
    hollow: Sequence[bool] = ()
    colours: Sequence[str] = ()
    texts: Sequence[str] = ()
    links: Sequence[str] = ()
    intervals: Sequence[Interval | None] = ()
    note: str = ""
    data: Sequence[Mapping[str, object]] = ()

    @property
    def label(self) -> str:
        """What the legend says."""
        return f"{self.name}: {self.note}" if self.note else self.name


@dataclass(frozen=True, slots=True, repr=False)
class Figure:
    """Series over one or more panels that share their scales; a notebook shows it, or says that it is empty."""

    title: str
    series: tuple[Series, ...]
    x: Axis = Axis()
    y: Axis = Axis()
    panels: tuple[str, ...] = ("",)
    height: int = 400
    level: float | None = None  # y of a dotted line over all
    note: str = ""  # what a reader must know to read it right; it stands under the title

    @property
    def empty(self) -> bool:
        """Whether there is no point to show."""
        return not any(y is not None for series in self.series for y in series.y)

    def __repr__(self) -> str:
        return f"{self.title}: there is nothing to draw." if self.empty else f"figure: {self.title}"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, object]:
        if self.empty:
            return {"text/html": Note(repr(self)).html(), "text/plain": repr(self)}
        shown = json.loads(self.plotly().to_json()) | {"config": {"displaylogo": False}}
        return {"application/vnd.plotly.v1+json": shown, "image/png": self.picture(), "text/plain": repr(self)}

    def csv(self) -> str:
        """The points that are drawn, a row each, numbers in full; of a layout the rows that it stands for."""
        x, y = (axis.title.partition(" (")[0] or name for axis, name in ((self.x, "x"), (self.y, "y")))
        rows: list[dict[str, object]] = []
        for series in self.series:
            low, high = ([each and each[end] for each in series.intervals] for end in (0, 1))
            more = {"point": series.hover, "hollow": series.hollow, "low": low, "high": high}
            columns = {x: series.x, y: series.y} | {name: values for name, values in more.items() if values}
            points = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
            which = {"series": series.name} | ({"panel": self.panels[series.panel]} if self.panels[1:] else {})
            rows += [which | row for row in series.data or points if series.data or None not in (row[x], row[y])]
        file = io.StringIO()
        table = csv.DictWriter(file, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
        return file.getvalue()

    def plotly(self) -> Plotly:
        """The figure for plotly, which takes texts for HTML: they are escaped."""
        from plotly.subplots import make_subplots

        titles = [_escaped(panel) for panel in self.panels]
        gap = 0.05 if self.x.visible else 0.02  # room for the ticks at both ends
        made = make_subplots(cols=len(titles), subplot_titles=titles, shared_yaxes=True, horizontal_spacing=gap)
        for series in self.series:
            look, hollow = series.look, series.hollow or [False]
            symbols = [f"{look.symbol}-open" if each else look.symbol for each in hollow]
            texts = [_escaped(text) for text in series.texts]
            if series.links:
                pairs = zip(series.links, texts, strict=True)
                texts = [f'<a href="#{html.escape(to)}" target="_self">{text}</a>' for to, text in pairs]
            y = [_escaped(y) for y in series.y]
            named = {"name": _escaped(series.label), "legendgroup": _escaped(series.name), "showlegend": series.listed}
            place = {"error_x": _error_bars(series), "row": 1, "col": series.panel + 1}
            if series.mode == "bars":
                made.add_bar(x=list(series.x), y=y, orientation="h", marker_color=look.colour, **named, **place)
                continue
            line = {"color": look.colour, "dash": look.dash, "width": look.width}
            marker = {"color": list(series.colours) or look.colour, "size": look.size}
            marker["symbol"] = symbols if series.hollow else symbols[0]
            marker["line"] = {"color": "white", "width": 0 if series.hollow else 1}
            said = {"text": texts or None, "textposition": "middle right", "textfont": {"size": 10}}
            said["hovertext"] = [_escaped(text) for text in series.hover] or None
            silent = series.mode == "lines" and not series.hover
            said["hoverinfo"] = "text" if series.texts else "skip" if silent else "all"
            points = {"x": [_escaped(x) for x in series.x], "y": y, "mode": series.mode}
            made.add_scatter(**points, **named, line=line, marker=marker, **said, **place)
        for axis, update in ((self.x, made.update_xaxes), (self.y, made.update_yaxes)):
            update(visible=axis.visible, range=axis.span, dtick=axis.step, tickformat=".0%" if axis.percent else None)
            update(rangemode="tozero" if axis.zero else None, tickangle=-60 if axis.slanted else None)
        made.update_xaxes(title=self.x.title)
        made.update_yaxes(title=self.y.title, col=1)
        if self.level is not None and self.series:
            made.add_hline(y=self.level, line={"color": GREY, "dash": "dot"})
        lines = "".join(f"<br><span style='font-size:11px'>{_escaped(line)}</span>" for line in self._notes)
        title = {"text": f"{_escaped(self.title)}{lines}", **TOP}
        made.update_layout(title=title, template="plotly_white", height=self._height, showlegend=True)
        top = 1 + 24 / max(self.height - 130, 1) if self.x.slanted else None  # slanted labels leave no room below
        legend = {"orientation": "h", "y": top or -64 / (self.height - 130)}
        made.update_layout(margin={"l": 70, "r": 20, "t": 70 + LINE * len(self._notes), "b": 60}, legend=legend)
        return made

    @property
    def _notes(self) -> list[str]:
        return textwrap.wrap(self.note, NOTE, break_on_hyphens=False)

    @property
    def _legend(self) -> tuple[int, int]:
        """Columns, as many as the longest name leaves room for, and rows."""
        names = {series.label for series in self.series if series.listed} or {""}
        columns = min(max(int(WIDTH / (45 + LETTER * max(map(len, names)))), 1), 4)
        return columns, -(-len(names) // columns)

    @property
    def _height(self) -> int:
        """In pixels: notes, and a legend of more than two rows, take nothing from the panels."""
        return self.height + LINE * len(self._notes) + ROW * max(self._legend[1] - 2, 0)

    def picture(self, form: Literal["png", "svg"] = "png") -> bytes:
        """The figure as a picture, of the same bytes for the same points."""
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure as Canvas

        size = (WIDTH / PIXELS, self._height / PIXELS)
        style = {"text.parse_math": False, "font.size": 9, "svg.hashsalt": self.title}
        with matplotlib.rc_context(style), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph .* missing")  # a letter without a shape is a box
            canvas = Canvas(figsize=size, dpi=PIXELS, layout="constrained", facecolor="white")
            FigureCanvasAgg(canvas)
            panels = canvas.subplots(1, len(self.panels), sharey=True, squeeze=False)[0]
            for number, series in enumerate(self.series):
                beside = [n for n, one in enumerate(self.series) if one.panel == series.panel and one.mode == "bars"]
                if series.mode == "bars":
                    _bars(panels[series.panel], series, beside.index(number), len(beside))
                else:
                    _draw(panels[series.panel], series)
            for title, axes in zip(self.panels, panels, strict=True):
                axes.set_title(title, fontsize=9)
                axes.spines[["top", "right"]].set_visible(False)
                axes.grid(True, color="#E5E5E5", linewidth=0.6)
                axes.set_axisbelow(True)
                _scale(axes, self.x, "x")
                _scale(axes, self.y, "y")
                axes.set_axis_on() if self.x.visible else axes.set_axis_off()
                if self.level is not None and self.series:
                    axes.axhline(self.level, color=GREY, linestyle=":", linewidth=1)
            panels[0].set_ylabel(self.y.title)
            canvas.suptitle(self.title + "\n" * len(self._notes), x=0.01, ha="left", fontsize=11)  # keeps room
            canvas.text(0.01, 1 - 28 / self._height, "\n".join(self._notes), va="top", fontsize=8, color="#555555")
            entries = [zip(*axes.get_legend_handles_labels(), strict=True) for axes in panels]
            if handles := {label: handle for panel in entries for handle, label in panel}:
                place = {"loc": "outside lower left", "ncols": min(len(handles), self._legend[0])}
                canvas.legend(handles.values(), handles, frameon=False, fontsize=8, **place)
            file = io.BytesIO()
            stamp = {"Software": None} if form == "png" else {"Date": None, "Creator": None}
            canvas.savefig(file, format=form, metadata=stamp)
        return file.getvalue()


def _draw(axes: Axes, series: Series) -> None:
    look, label = series.look, series.label if series.listed else None
    points = [i for i, (x, y) in enumerate(zip(series.x, series.y, strict=True)) if x is not None and y is not None]
    if "lines" in series.mode:
        gaps = [[float("nan") if value is None else value for value in values] for values in (series.x, series.y)]
        axes.plot(*gaps, color=look.colour, linestyle=DASHES[look.dash], linewidth=0.75 * look.width, label=label)
        label = None
    if "markers" in series.mode and points:
        x, y = ([values[i] for i in points] for values in (series.x, series.y))
        edges = [series.colours[i] if series.colours else look.colour for i in points]
        faces = ["none" if series.hollow and series.hollow[i] else edge for i, edge in zip(points, edges, strict=True)]
        shape = {"s": 0.5 * look.size**2, "marker": SYMBOLS[look.symbol], "facecolors": faces, "edgecolors": edges}
        axes.scatter(x, y, zorder=3, label=label, **shape)
    for i in points if series.texts else ():
        place = {"textcoords": "offset points", "va": "center", "annotation_clip": False}
        axes.annotate(series.texts[i], (series.x[i], series.y[i]), (6, 0), fontsize=7.2, color="#333333", **place)
    for i in points:
        if series.intervals and series.intervals[i]:
            low, high = series.intervals[i]
            spread = [[max(series.x[i] - low, 0)], [max(high - series.x[i], 0)]]
            axes.errorbar(series.x[i], series.y[i], xerr=spread, color=look.colour, capsize=2, linewidth=1, zorder=2)


def _bars(axes: Axes, series: Series, place: int, of: int) -> None:
    """The bars of one series of several; nothing where there is no value."""
    size = 0.8 / of
    middles = [i + (place - (of - 1) / 2) * size for i in range(len(series.y))]
    values = [float("nan") if x is None else x for x in series.x]
    axes.barh(middles, values, size, color=series.look.colour, label=series.label if series.listed else None)
    for x, y, ends in zip(series.x, middles, series.intervals, strict=False):
        if x is not None and ends:
            spread = [[max(x - ends[0], 0)], [max(ends[1] - x, 0)]]
            axes.errorbar(x, y, xerr=spread, color=GREY, capsize=2, linewidth=1, zorder=3)
    axes.set_yticks(range(len(series.y)), series.y)


def _scale(axes: Axes, axis: Axis, letter: str) -> None:
    from matplotlib.ticker import MultipleLocator

    side, limits = (axes.xaxis, axes.set_xlim) if letter == "x" else (axes.yaxis, axes.set_ylim)
    if letter == "x":
        side.set_label_text(axis.title)
    if axis.span:
        limits(*axis.span)
    elif axis.zero:
        limits(min(*side.get_view_interval(), 0), None)
    if axis.percent:
        side.set_major_formatter(lambda value, _: f"{100 * value:.0f}%")
    if axis.step:
        side.set_major_locator(MultipleLocator(axis.step))
    if axis.slanted:
        side.set_tick_params(labelrotation=60, labelsize=7)
        for label in side.get_ticklabels():
            label.set(ha="right", rotation_mode="anchor")


def _error_bars(series: Series) -> dict[str, object] | None:
    """Bars from the intervals; no bar where there is no value or no interval."""
    if not series.intervals:
        return None
    pairs = zip(series.x, series.intervals, strict=True)
    spread = [(x - i[0], i[1] - x) if x is not None and i else (None, None) for x, i in pairs]
    below, above = zip(*spread, strict=True)
    bars = {"type": "data", "symmetric": False, "array": above, "arrayminus": below, "thickness": 1.2}
    return bars | {"color": GREY if series.mode == "bars" else series.look.colour}


def _escaped(value: object) -> object:
    return html.escape(value, quote=False).replace("\n", "<br>") if isinstance(value, str) else value
