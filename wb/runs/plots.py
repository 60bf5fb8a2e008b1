"""The figures, one function each, drawn with plotly from what the stages wrote.

Every function takes named runs, `{name: value}`, and overlays them in one figure: the values are the
JSON of the stages' artifacts, so that figures can be drawn without anything being computed again.
They follow ShieldAgent's Figs. 4 to 6 where there is such a figure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

# Okabe & Ito (2008): eight colours that stay apart for colour-blind readers
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
RATES = ("accuracy", "precision", "recall", "fpr")
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
    for colour, (name, rounds) in zip(_colours(), runs.items()):
        figure.add_scatter(
            x=[r["round"] for r in rounds],
            y=[r["vagueness_max"] for r in rounds],
            mode="lines+markers",
            name=f"{name}, largest",
            line={"color": colour, "dash": "dot"},
            marker={"size": 6},
        )
    return figure


def predicate_graph(runs: Mapping[str, Mapping[str, object]], *, seed: int = 0) -> Figure:
    """State predicates, joined where a rule holds both (solid) or their cosine suffices (dotted), coloured
    by cluster; runs stand side by side. Values: `{"groups": […], "edges": [{"a", "b", "together", "cosine"}]}`."""
    from plotly.subplots import make_subplots

    figure = make_subplots(
        cols=max(len(runs), 1), subplot_titles=[f"{name} ({_sizes(run)})" for name, run in runs.items()]
    )
    for column, run in enumerate(runs.values(), 1):
        place = _layout(run, seed)
        for together, dash in ((True, "solid"), (False, "dot")):
            ends = [(e["a"], e["b"]) for e in run["edges"] if bool(e["together"]) is together]
            figure.add_scatter(
                **_segments(ends, place),
                mode="lines",
                line={"color": "#999999", "dash": dash, "width": 1},
                hoverinfo="skip",
                name="in one rule" if together else "similar",
                showlegend=column == 1,
                row=1,
                col=column,
            )
        figure.add_scatter(**_nodes(run["groups"], place), mode="markers+text", showlegend=False, row=1, col=column)
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False)
    return _dressed(figure, "State predicates and their clusters", height=560)


def loss(runs: Runs) -> Figure:
    """Training loss per epoch, one line a circuit; those learned from simulated examples are thin and grey.

    Values: lists of `{"action", "losses", "source"}`.
    """
    import plotly.graph_objects as go

    figure = go.Figure()
    for dash, (name, circuits) in zip(("solid", "dot", "dash", "dashdot") * len(runs), runs.items()):
        real = [c for c in circuits if c["source"] == "real"]
        for circuit in (c for c in circuits if c["source"] != "real"):
            figure.add_scatter(
                **_curve(circuit["losses"]),
                mode="lines",
                line={"color": "#BBBBBB", "dash": dash, "width": 1},
                name=f"{_prefix(name, runs)}simulated",
                legendgroup=f"{name} simulated",
                hovertext=circuit["action"],
                showlegend=circuit is next(c for c in circuits if c["source"] != "real"),
            )
        for colour, circuit in zip(_colours(), real):
            figure.add_scatter(
                **_curve(circuit["losses"]),
                mode="lines",
                line={"color": colour, "dash": dash},
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
    for colour, (name, circuits) in zip(_colours(), runs.items()):
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
                "color": colour,
                "size": 8,
                "symbol": ["circle" if row[3] == "real" else "circle-open" for row in rows],
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
    for colour, (name, methods) in zip(_colours(), runs.items()):
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
                        "color": colour,
                        "size": 9,
                        "symbol": ["circle-open" if m.get("published") else "circle" for m in rows],
                    },
                    error_x=_bars([m.get(rate) for m in rows], [_interval(m, rate) for m in rows], colour),
                ),
                row=1,
                col=column,
            )
    figure.update_xaxes(range=[-0.03, 1.03], tickformat=".0%")
    return _dressed(figure, f"Methods on the {split} cases (hollow: published)", height=420)


def _per_round(runs: Runs, key: str, title: str, unit: str) -> Figure:
    import plotly.graph_objects as go

    figure = go.Figure()
    for colour, (name, rounds) in zip(_colours(), runs.items()):
        figure.add_scatter(
            x=[r["round"] for r in rounds],
            y=[r[key] for r in rounds],
            mode="lines+markers",
            name=name,
            line={"color": colour},
            marker={"size": 8},
        )
    figure.update_xaxes(title="refinement round (0: as extracted)", dtick=1)
    figure.update_yaxes(title=unit)
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


def _prefix(name: str, runs: Mapping[str, object]) -> str:
    return f"{name}: " if len(runs) > 1 else ""


def _sizes(run: Mapping[str, object]) -> str:
    groups = run["groups"]
    return f"{sum(map(len, groups))} predicates, {len(groups)} clusters"


def _layout(run: Mapping[str, object], seed: int) -> dict[str, tuple[float, float]]:
    """Positions: each connected component by spring layout in a box of its own, boxes on shelves, largest first."""
    import networkx

    graph = networkx.Graph()
    for group in run["groups"]:
        graph.add_nodes_from(group)
        graph.add_edges_from(((group[0], other) for other in group[1:]), weight=0.3)
    graph.add_edges_from(((e["a"], e["b"]) for e in run["edges"]), weight=1.0)
    parts = sorted((sorted(part) for part in networkx.connected_components(graph)), key=lambda part: (-len(part), part))
    width = 2.2 * max(len(graph), 1) ** 0.5
    place, x, y, height = {}, 0.0, 0.0, 0.0
    for part in parts:
        side = 1.5 * len(part) ** 0.5 if len(part) > 1 else 1.0
        if x and x + side > width:
            x, y, height = 0.0, y - height, 0.0
        spots = networkx.spring_layout(graph.subgraph(part), seed=seed) if len(part) > 1 else {part[0]: (0.0, 0.0)}
        place |= {
            n: (x + side / 2 + 0.35 * side * float(dx), y - side / 2 + 0.35 * side * float(dy))
            for n, (dx, dy) in spots.items()
        }
        x, height = x + side, max(height, side)
    return place


def _segments(ends: Sequence[tuple[str, str]], place: Mapping[str, tuple[float, float]]) -> dict[str, list]:
    points = [p for a, b in ends for p in (place[a], place[b], (None, None))]
    return {"x": [x for x, _ in points], "y": [y for _, y in points]}


def _nodes(groups: Sequence[Sequence[str]], place: Mapping[str, tuple[float, float]]) -> dict[str, object]:
    rows = [
        (name, colour, number) for number, (colour, group) in enumerate(zip(_colours(), groups), 1) for name in group
    ]
    return {
        "x": [place[n][0] for n, _, _ in rows],
        "y": [place[n][1] for n, _, _ in rows],
        "hovertext": [f"{n} (cluster {number})" for n, _, number in rows],
        "hoverinfo": "text",
        "text": [n if len(groups[number - 1]) > 1 else "" for n, _, number in rows],
        "textposition": "top center",
        "textfont": {"size": 9},
        "marker": {"size": 11, "color": [c for _, c, _ in rows], "line": {"color": "white", "width": 1}},
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
