"""The figures, one function each, drawn with plotly from what the stages wrote.

Every function takes named runs, `{name: value}`, and overlays them in one figure: the values are the
JSON of the stages' artifacts, so that figures can be drawn without anything being computed again.
They follow ShieldAgent's Figs. 4 to 6 where there is such a figure.  Runs that lie on one another stay
visible: each has a colour, a dash, a marker and a width of its own, the first the widest.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

# Okabe & Ito (2008): eight colours that stay apart for colour-blind readers
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
RATES = ("accuracy", "precision", "recall", "fpr")
DASHES, SYMBOLS = ("solid", "dash", "dashdot", "longdash"), ("circle", "square", "diamond", "cross")
COLUMN, LETTER, LINE = 330, 6.3, 18  # pixels: a column of the graph, a letter of its labels, a line
Runs = Mapping[str, Sequence[Mapping[str, object]]]


def rule_count(runs: Runs) -> Figure:
    """Rules after each refinement round; round 0 is the extracted rule set. Values: lists of rounds."""
    return _per_round(runs, "rules", "Rules per refinement round", "rules")


def predicate_count(runs: Runs) -> Figure:
    """Predicates after each refinement round, as `rule_count`."""
    return _per_round(runs, "predicates", "Predicates per refinement round", "predicates")


def vagueness(runs: Runs) -> Figure:
    """Mean vagueness V_r of the rules after each round (solid), and the largest (dotted)."""
    figure = _per_round(runs, "vagueness", "Vagueness of the rules per refinement round", "mean of V_r (cosine)")
    for look, name, rounds in _laid(runs):
        figure.add_scatter(
            x=[r["round"] for r in rounds],
            y=[r["vagueness_max"] for r in rounds],
            mode="lines+markers",
            name=f"{name}, largest",
            line={"color": look.colour, "dash": "dot", "width": max(look.width - 1, 1)},
            marker={"size": look.size - 2, "symbol": look.symbol},
        )
    return figure


def predicate_graph(runs: Mapping[str, Mapping[str, object]], *, links: bool = False) -> Figure:
    """State predicates, joined where a rule holds both (solid) or their cosine suffices (dotted), coloured
    by cluster; runs stand side by side. Values: `{"groups": […], "edges": [{"a", "b", "together", "cosine"}]}`.

    The predicates of a component stand in one column, a line each, and edges are arcs beside it, so that no
    name lies on another. Those that nothing ties to another are one line at the end, which lists them.
    With `links`, a name leads to the place `#predicate-NAME` of the page.
    """
    from plotly.subplots import make_subplots

    columns = max(3 // max(len(runs), 1), 1)
    figure = make_subplots(
        cols=max(len(runs), 1),
        subplot_titles=[f"{name} ({_sizes(run)})" for name, run in runs.items()],
        horizontal_spacing=0.02,
    )
    depth = 1
    for number, run in enumerate(runs.values(), 1):
        place = _layout(run, columns)
        bottom = 1 - min((y for _, y in place.values()), default=0)
        depth = max(depth, bottom + 1)
        for together, dash in ((True, "solid"), (False, "dot")):
            ends = [(e["a"], e["b"]) for e in run["edges"] if bool(e["together"]) is together]
            figure.add_scatter(
                **_arcs(ends, place),
                mode="lines",
                line={"color": "#888888", "dash": dash, "width": 1},
                hoverinfo="skip",
                name="in one rule" if together else "similar",
                showlegend=number == 1,
                row=1,
                col=number,
            )
        mode = {"mode": "markers+text", "showlegend": False, "row": 1, "col": number}
        figure.add_scatter(**_nodes(run["groups"], place, links), **mode)
        figure.add_scatter(**_folded(run, place, bottom), **mode)
    figure.update_xaxes(visible=False, range=[-0.3, columns])
    figure.update_yaxes(visible=False, range=[-depth - 0.5, 1])
    return _dressed(figure, "State predicates and their clusters", height=int(150 + LINE * depth), legend=-0.02)


def clusters(run: Mapping[str, object]) -> list[dict[str, object]]:
    """The predicates of a graph, one row each: the cluster's number, and which others it is tied to."""
    rows = [(number, name) for number, group in enumerate(run["groups"], 1) for name in group]
    tied: dict[str, list[str]] = {name: [] for _, name in rows}
    for edge in run["edges"]:
        tied[edge["a"]].append(edge["b"])
        tied[edge["b"]].append(edge["a"])
    return [{"predicate": name, "cluster": number, "tied to": ", ".join(sorted(tied[name]))} for number, name in rows]


def empty(figure: Figure) -> bool:
    """Whether a figure has no point to show."""
    return not any(y is not None for trace in figure.data for y in (trace.y if trace.y is not None else ()))


def loss(runs: Runs) -> Figure:
    """Training loss per epoch, one line a circuit; those learned from simulated examples are thin and grey.

    Values: lists of `{"action", "losses", "source"}`.
    """
    import plotly.graph_objects as go

    figure = go.Figure()
    for look, name, circuits in _laid(runs):
        real = [c for c in circuits if c["source"] == "real"]
        for circuit in (c for c in circuits if c["source"] != "real"):
            figure.add_scatter(
                **_curve(circuit["losses"]),
                mode="lines",
                line={"color": "#BBBBBB", "dash": look.dash, "width": 1},
                name=f"{_prefix(name, runs)}simulated",
                legendgroup=f"{name} simulated",
                hovertext=circuit["action"],
                showlegend=circuit is next(c for c in circuits if c["source"] != "real"),
            )
        for colour, circuit in zip(_colours(), real, strict=False):
            figure.add_scatter(
                **_curve(circuit["losses"]),
                mode="lines",
                line={"color": colour, "dash": look.dash, "width": look.width},
                name=f"{_prefix(name, runs)}{circuit['action']}",
            )
    figure.update_xaxes(title="epoch")
    figure.update_yaxes(title="loss", rangemode="tozero")
    return _dressed(figure, "Loss while weights are learned")


def weights(runs: Runs) -> Figure:
    """Learned weight of every rule in every circuit; hollow where learned from simulated examples, 1 before learning.

    Values: lists of `{"action", "rules", "weights", "source"}`.
    """
    import plotly.graph_objects as go

    figure = go.Figure()
    for look, name, circuits in _laid(runs):
        rows = [
            (c["action"], rule, weight, c["source"])
            for c in circuits
            for rule, weight in zip(c["rules"], c["weights"], strict=True)
        ]
        figure.add_scatter(
            x=[action for action, *_ in rows],
            y=[row[2] for row in rows],
            mode="markers",
            name=name,
            hovertext=[rule for _, rule, *_ in rows],
            marker={
                "color": look.colour,
                "size": look.size,
                "symbol": [look.symbol if row[3] == "real" else f"{look.symbol}-open" for row in rows],
            },
        )
    figure.add_hline(y=1, line={"color": "#999999", "dash": "dot"})
    figure.update_yaxes(title="weight (softplus, ≥ 0)", rangemode="tozero")
    figure.update_xaxes(tickangle=-60, tickfont={"size": 9})
    return _dressed(figure, "Learned rule weights, by circuit (hollow: simulated examples)", height=560, legend=1.06)


def confusion(runs: Runs, *, split: str = "all") -> Figure:
    """Accuracy, precision, recall and FPR of each method on one split, with 95 % intervals where measured.

    Values: lists of method rows; fractions 0..1; `intervals` maps a rate to (low, high). Published rows
    are hollow; a method that did not run has no bar.
    """
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    figure = make_subplots(
        rows=1, cols=len(RATES), shared_yaxes=True, subplot_titles=[r if r != "fpr" else "FPR" for r in RATES]
    )
    for look, name, methods in _laid(runs):
        rows = [m for m in methods if m.get("accuracy") is not None and (m["split"] == split or m.get("published"))]
        labels = [_label(m) for m in rows]
        for column, rate in enumerate(RATES, 1):
            figure.add_trace(
                go.Scatter(
                    x=[m.get(rate) for m in rows],
                    y=labels,
                    mode="markers",
                    name=name,
                    showlegend=column == 1,
                    legendgroup=name,
                    marker={
                        "color": look.colour,
                        "size": look.size,
                        "symbol": [f"{look.symbol}-open" if m.get("published") else look.symbol for m in rows],
                    },
                    error_x=_bars([m.get(rate) for m in rows], [_interval(m, rate) for m in rows], look.colour),
                ),
                row=1,
                col=column,
            )
    figure.update_xaxes(range=[-0.03, 1.03], tickformat=".0%")
    return _dressed(figure, f"Methods on the {split} cases (hollow: published)", height=420)


def pass_k(runs: Runs) -> Figure:
    """How likely it is that k trials of a task all succeed (ToolGuard, Fig. 2). Values: lists of `{"k", "pass"}`."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for look, name, points in _laid(runs):
        figure.add_scatter(
            x=[point["k"] for point in points],
            y=[point["pass"] for point in points],
            mode="lines+markers",
            name=name,
            line={"color": look.colour, "dash": look.dash, "width": look.width},
            marker={"size": look.size, "symbol": look.symbol},
        )
    figure.update_xaxes(title="k trials of one task", dtick=1)
    figure.update_yaxes(title="all k done", range=[-0.03, 1.03], tickformat=".0%")
    return _dressed(figure, "pass^k on wishes that go against the policy")


def _per_round(runs: Runs, key: str, title: str, unit: str) -> Figure:
    import plotly.graph_objects as go

    figure = go.Figure()
    for look, name, rounds in _laid(runs):
        figure.add_scatter(
            x=[r["round"] for r in rounds],
            y=[r[key] for r in rounds],
            mode="lines+markers",
            name=name,
            line={"color": look.colour, "dash": look.dash, "width": look.width},
            marker={"size": look.size, "symbol": look.symbol},
        )
    figure.update_xaxes(title="refinement round (0: as extracted)", dtick=1)
    values = [r[key] for rounds in runs.values() for r in rounds]
    whole = values and all(isinstance(value, int) for value in values)  # no half rules on the axis
    step = max(math.ceil((max(values) - min(values)) / 8), 1) if whole else None
    figure.update_yaxes(title=unit, dtick=step)
    return _dressed(figure, title)


def _curve(losses: Sequence[float], points: int = 80) -> dict[str, list]:
    """A curve thinned to about `points` points, its last one kept."""
    at = sorted({*range(0, len(losses), max(len(losses) // points, 1)), *([len(losses) - 1] if losses else [])})
    return {"x": at, "y": [losses[i] for i in at]}


def _dressed(figure: Figure, title: str, height: int = 400, legend: float = -0.2) -> Figure:
    figure.update_layout(
        title=title,
        template="plotly_white",
        height=height,
        margin={"l": 70, "r": 20, "t": 70, "b": 60},
        legend={"orientation": "h", "y": legend},
        showlegend=True,
    )
    return figure


def _colours() -> tuple[str, ...]:
    return COLOURS * 40


class _Look(NamedTuple):
    """How one run is drawn; widths and sizes in pixels."""

    colour: str
    dash: str
    symbol: str
    width: float
    size: float


def _laid[V](runs: Mapping[str, V]) -> Iterator[tuple[_Look, str, V]]:
    """Each run with its look: the first is the widest, so that it shows beside those drawn over it."""
    for number, (name, value) in enumerate(runs.items()):
        step = number % len(DASHES)
        colour = COLOURS[number % len(COLOURS)]
        width, size = ((5, 3, 2, 1.5)[step], (12, 9, 7, 5)[step]) if len(runs) > 1 else (2, 8)
        yield _Look(colour, DASHES[step], SYMBOLS[step], width, size), name, value


def _prefix(name: str, runs: Mapping[str, object]) -> str:
    return f"{name}: " if len(runs) > 1 else ""


def _sizes(run: Mapping[str, object]) -> str:
    groups = run["groups"]
    return f"{sum(map(len, groups))} predicates, {len(groups)} clusters"


def _alone(run: Mapping[str, object]) -> set[str]:
    """The predicates that nothing ties to another: no edge, and a cluster of their own."""
    tied = {end for edge in run["edges"] for end in (edge["a"], edge["b"])}
    return {group[0] for group in run["groups"] if len(group) == 1} - tied


def _layout(run: Mapping[str, object], columns: int) -> dict[str, tuple[float, float]]:
    """Positions: (column, minus the line). Each component is a block of lines, put where there is most room."""
    import networkx

    graph, home = networkx.Graph(), {}
    for number, group in enumerate(run["groups"]):
        home |= dict.fromkeys(group, number)
        graph.add_edges_from((group[0], other) for other in group[1:])
    graph.add_edges_from((e["a"], e["b"]) for e in run["edges"])
    parts = sorted(networkx.connected_components(graph), key=lambda part: (-len(part), min(part)))
    filled, place = [0] * columns, {}
    for part in parts:
        column = filled.index(min(filled))
        # neighbours stand close together, clusters in one piece
        near = {name: i for i, name in enumerate(networkx.utils.reverse_cuthill_mckee_ordering(graph.subgraph(part)))}
        for line, name in enumerate(sorted(part, key=lambda name: (home[name], near[name]))):
            place[name] = (float(column), -float(filled[column] + line))
        filled[column] += len(part) + 1
    return place


def _arcs(ends: Sequence[tuple[str, str]], place: Mapping[str, tuple[float, float]]) -> dict[str, list]:
    points = [point for a, b in ends for point in (*_arc(place[a], place[b]), (None, None))]
    return {"x": [x for x, _ in points], "y": [y for _, y in points]}


def _arc(a: tuple[float, float], b: tuple[float, float], pieces: int = 12) -> Iterator[tuple[float, float]]:
    """Half an ellipse to the left of two lines of one column, the wider the further they are apart."""
    out = min(0.05 + 0.015 * abs(a[1] - b[1]), 0.24)
    for i in range(pieces + 1):
        turn = math.pi * i / pieces
        yield a[0] - out * math.sin(turn), (a[1] + b[1]) / 2 + (a[1] - b[1]) / 2 * math.cos(turn)


def _nodes(groups: Sequence[Sequence[str]], place: Mapping[str, tuple[float, float]], links: bool) -> dict[str, object]:
    joined = [(number, group) for number, group in enumerate(groups, 1) if place.keys() & set(group)]
    rows = [
        (name, colour, number) for colour, (number, group) in zip(_colours(), joined, strict=False) for name in group
    ]
    letters = int(0.75 * COLUMN / LETTER)
    texts = [n if len(n) <= letters else n[: letters - 1] + "…" for n, _, _ in rows]
    if links:
        texts = [f'<a href="#predicate-{n}" target="_self">{t}</a>' for t, (n, _, _) in zip(texts, rows, strict=True)]
    return {
        "x": [place[n][0] for n, _, _ in rows],
        "y": [place[n][1] for n, _, _ in rows],
        "hovertext": [f"{n} (cluster {number})" for n, _, number in rows],
        "hoverinfo": "text",
        "text": texts,
        "textposition": "middle right",
        "textfont": {"size": 10},
        "marker": {"size": 10, "color": [c for _, c, _ in rows], "line": {"color": "white", "width": 1}},
    }


def _folded(run: Mapping[str, object], place: Mapping[str, object], bottom: float) -> dict[str, object]:
    """One line for the predicates that nothing ties to another; it lists them when it is pointed at."""
    alone = sorted(_alone(run))
    listed = [", ".join(alone[i : i + 3]) for i in range(0, len(alone), 3)]
    said = [f"{len(alone)} more predicate{'s' * (len(alone) != 1)} that nothing ties to another"] if alone else []
    return {
        "x": [0.0] * len(said),
        "y": [-float(bottom)] * len(said),
        "text": said,
        "hovertext": ["<br>".join(listed[:24] + ["…"] * (len(listed) > 24))] * len(said),
        "hoverinfo": "text",
        "textposition": "middle right",
        "textfont": {"size": 10},
        "marker": {"size": 10, "color": "#999999", "symbol": "square"},
    }


def _label(method: Mapping[str, object]) -> str:
    model = method.get("model")
    return f"{method['method']} ({model})" if method.get("published") and model else str(method["method"])


def _interval(method: Mapping[str, object], rate: str) -> tuple[float, float] | None:
    return (method.get("intervals") or {}).get(rate)


def _bars(
    values: Sequence[float | None], intervals: Sequence[tuple[float, float] | None], colour: str
) -> dict[str, object]:
    """Asymmetric error bars; none where there is no value or no interval."""
    pairs = [(v, i) if v is not None and i else (0.0, (0.0, 0.0)) for v, i in zip(values, intervals, strict=True)]
    return {
        "type": "data",
        "symmetric": False,
        "array": [i[1] - v for v, i in pairs],
        "arrayminus": [v - i[0] for v, i in pairs],
        "color": colour,
        "thickness": 1.2,
    }
