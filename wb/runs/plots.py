"""The figures, one function each, made from what the stages wrote.

Every function takes named runs, `{name: value}`, and overlays them in one figure: the values are the
JSON of the stages' artifacts, so that figures can be drawn without anything being computed again.
They follow ShieldAgent's Figs. 4 to 6 where there is such a figure.  Runs that lie on one another stay
visible: each has a colour, a dash, a marker and a width of its own, the first the widest.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import cycle
from pathlib import Path

from wb.bench import paired
from wb.bench.evaluate import wilson
from wb.logic.wording import shortened
from wb.runs import cards, show
from wb.runs.figure import GREY, Axis, Figure, Look, Series

# Okabe & Ito (2008): eight colours that stay apart for colour-blind readers
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", GREY)
DASHES, SYMBOLS = ("solid", "dash", "dashdot", "longdash"), ("circle", "square", "diamond", "cross")
COLUMN, LETTER, LINE = 330, 6.3, 18  # pixels: a column of the graph, a letter of its labels, a line
NAMED = 24  # lines of three predicates that are listed at a point of the graph
SCALE = 1 / 3  # of the largest value: as much as a scale of rounds shows at least
POINTS = "Hollow: after refinement; filled: after pruning."
NEAR = "How near predicates are to others (V_r of Eq. 3) per round"
COSINE, JUDGED = "mean cosine to the nearest others", "as a model judges (0 clear, 1 vague)"
NO_JUDGE = (
    "Nearness is no judgement: limits on one number sound alike and are clear. The paper's Fig. 6 is the score of a "
    "judging model and does not compare with it."
)
PERCENT = Axis(span=(-0.03, 1.03), percent=True)
Runs = Mapping[str, Sequence[Mapping[str, object]]]
Place = Mapping[str, tuple[float, float]]


def rule_count(runs: Runs) -> Figure:
    """Rules after each half of a refinement round; round 0 is the extracted rule set. Values: lists of rounds.

    Where readings wait that are not in force, those in force have a line of their own (dotted).
    """
    waiting = [name for name, rows in runs.items() if any(r.get("in_force", r["rules"]) != r["rules"] for r in rows)]
    made = (*_rounds(runs, "rules"), *_dotted(runs, waiting, "in_force", ", in force"))
    return _per_round("Rules per refinement round", "rules", made)


def left(runs: Runs) -> Figure:
    """What is left after each half of a refinement round: sentences that a person has to decide, and predicates that
    nothing tells (dotted)."""
    made = (*_rounds(runs, "open", ", to decide"), *_dotted(runs, list(runs), "unbound", ", unbound"))
    return _per_round("Decisions left to a person, and unbound predicates", "sentences, predicates", made)


def predicate_count(runs: Runs) -> Figure:
    """Predicates after each half of a refinement round, as `rule_count`."""
    return _per_round("Predicates per refinement round", "predicates", _rounds(runs, "predicates"))


def vagueness(runs: Runs) -> Figure:
    """Mean vagueness V_r of the rules after each half of a round (solid), and the largest (dotted); where a model was
    asked, in a second panel what it says of the same rules."""
    asked = {name: rows for name, rows in runs.items() if "judge" in rows[0]}
    dotted = _dotted(runs, list(runs), "vagueness_max", ", largest")
    judged = [replace(each, panel=1, name=f"{each.name}, judged") for each in _rounds(asked, "judged")]
    made = _per_round(NEAR, "score" if asked else COSINE, (*_rounds(runs, "vagueness"), *dotted, *judged))
    measures, judges = ({rows[0].get(by, "") for rows in runs.values()} - {""} for by in ("measure", "judge"))
    words = [f"Of {' and '.join(sorted(many))} values do not compare." for many in (measures, judges) if len(many) > 1]
    words += [f"Judged by {', '.join(sorted(judges))}." if asked else "No model was asked to judge.", NO_JUDGE]
    return replace(made, panels=(COSINE, JUDGED) if asked else ("",), note=" ".join((*words, made.note)))


def loss(runs: Runs) -> Figure:
    """Training loss per epoch, a line a circuit; those learned from simulated examples are thin and grey.

    Values: lists of `{"action", "losses", "source"}`.
    """
    series = []
    for look, name, circuits in _looks(runs):
        prefix = f"{name}: " if len(runs) > 1 else ""
        real = [c for c in circuits if c["source"] == "real"]
        simulated = [c for c in circuits if c["source"] != "real"]
        for i, circuit in enumerate(simulated):
            line = _curve(circuit["losses"])
            hover = [circuit["action"]] * len(line[0])
            thin = Look("#BBBBBB", look.dash, width=1)
            series.append(Series(thin, *line, f"{prefix}simulated", "lines", listed=i == 0, hover=hover))
        for colour, circuit in zip(cycle(COLOURS), real, strict=False):
            line, name = _curve(circuit["losses"]), f"{prefix}{circuit['action']}"
            series.append(Series(look._replace(colour=colour), *line, name, "lines", hover=[name] * len(line[0])))
    return Figure("Loss while weights are learned", tuple(series), Axis("epoch"), Axis("loss", zero=True))


def weights(runs: Runs) -> Figure:
    """Learned weight of every rule in every circuit; hollow where learned from simulated examples, 1 before learning.

    Values: lists of `{"action", "rules", "weights", "source"}`.
    """
    series = []
    for look, name, circuits in _looks(runs):
        rows = [(c, *pair) for c in circuits for pair in zip(c["rules"], c["weights"], strict=True)]
        x, y = [c["action"] for c, _, _ in rows], [weight for *_, weight in rows]
        hollow, hover = [c["source"] != "real" for c, _, _ in rows], [rule for _, rule, _ in rows]
        series.append(Series(look, x, y, name, "markers", hover=hover, hollow=hollow))
    title = "Learned rule weights, by circuit (hollow: simulated examples)"
    scales = Axis(slanted=True), Axis("weight (softplus, ≥ 0)", zero=True)
    return Figure(title, tuple(series), *scales, height=560, level=1)


def confusion(runs: Runs, *, split: str = "all") -> Figure:
    """Accuracy, precision, recall and FPR of each method on one split, with 95 % intervals where measured.

    Values: lists of method rows; fractions 0..1; `intervals` maps a rate to (low, high). Published rows
    are hollow; a method that did not run has no point.
    """
    series = []
    for look, name, methods in _looks(runs):
        rows = [m for m in methods if m.get("accuracy") is not None and (m["split"] == split or m.get("published"))]
        labels, hollow = [show.method_name(m) for m in rows], [bool(m.get("published")) for m in rows]
        for panel, rate in enumerate(show.RATES):
            values, intervals = [m.get(rate) for m in rows], [(m.get("intervals") or {}).get(rate) for m in rows]
            shape = {"panel": panel, "listed": panel == 0, "hollow": hollow, "intervals": intervals}
            series.append(Series(look, values, labels, name, "markers", **shape))
    panels = tuple("FPR" if rate == "fpr" else rate for rate in show.RATES)
    title = f"Methods on {split} cases (hollow: published)"
    return Figure(title, tuple(series), PERCENT, panels=panels, height=420)


def risk_bars(runs: Runs) -> Figure:
    """Accuracy of each method by risk category, a panel a source of attack (ShieldAgent, Fig. 3).

    Values: lists of `{"source", "method", "risk", "accuracy"}` (`tables.tables`); without an attack there is no bar.
    """
    rows = [({"run": name} | dict(row)) for name, found in runs.items() for row in found]
    sources, risks = (list(dict.fromkeys(str(row[key]) for row in rows)) for key in ("source", "risk"))
    methods = list(dict.fromkeys((row["run"], row["method"]) for row in rows))
    series = []
    for panel, source in enumerate(sources):
        for colour, (run, method) in zip(cycle(COLOURS), methods, strict=False):
            own = [row for row in rows if (row["source"], row["run"], row["method"]) == (source, run, method)]
            bars = {row["risk"]: row["accuracy"] for row in own}
            label, shape = f"{run}: {method}" if len(runs) > 1 else str(method), {"panel": panel, "listed": not panel}
            series.append(Series(Look(colour), [bars.get(risk) for risk in risks], risks, label, "bars", **shape))
    panels = tuple(f"attacks by {source}" for source in sources) or ("",)
    return Figure("Accuracy by risk category", tuple(series), PERCENT._replace(span=(0, 1)), panels=panels, height=480)


def stages(runs: Runs) -> Figure:
    """Of labelled calls, which run after each stage, with 95 % intervals and their number (VeriGuard, Fig. 2a and 2b).
    Values: rows of `ablation.table`."""
    panels, series = {"violating calls that run (ASR)": "ASR", "complying calls that run": "run"}, []
    first = {name: rows[0] for name, rows in runs.items() if rows}
    sizes = [f"{of}: n = {row['violating']} violating, {row['complying']} complying" for of, row in first.items()]
    for panel, column in enumerate(panels.values()):
        for colour, (name, rows) in zip(cycle(COLOURS), runs.items(), strict=False):
            ends = [row.get("intervals", {}).get(column) for row in rows]
            bars, shape = [row[column] for row in rows], {"panel": panel, "listed": not panel, "intervals": ends}
            series += [Series(Look(colour), bars, [row["stage"] for row in rows], name, "bars", **shape)] * bool(rows)
    scale, note = PERCENT._replace(span=(0, 1)), "; ".join(sizes)
    return Figure("After each stage", tuple(series), scale, panels=tuple(panels), note=note)


def guardrails(runs: Runs) -> Figure:
    """Guardrails on the same recorded calls: the share of attacks that each holds and of benign calls that it lets run,
    with intervals by task, of the whole of each suite.

    Values: rows of `paired.table`; without an attack there is no point.
    """
    suites = [row["suite"] for rows in runs.values() for row in rows]
    panels = list(dict.fromkeys((suite, rate) for suite in suites for rate in ("held", "ran")))
    series = []
    for look, name, rows in _looks(runs):
        for panel, (suite, rate) in enumerate(panels):
            own = [row for row in paired.whole(rows) if row["suite"] == suite]
            ends = [(row[f"{rate} from"], row[f"{rate} to"]) if row[rate] is not None else None for row in own]
            shape = {"panel": panel, "listed": not panel, "intervals": ends}
            values, methods = [row[rate] for row in own], [row["method"] for row in own]
            series.append(Series(look, values, methods, name, "markers", **shape))
    titles = tuple(f"{suite}: {rate}" for suite, rate in panels) or ("",)
    title = "Guardrails on the same recorded calls: attacks held, benign calls that ran"
    return Figure(title, tuple(series), PERCENT, panels=titles, height=520)


def of_csv(path: Path) -> dict[str, list[dict[str, str]]]:
    """The rows of a CSV by their first column, as runs to be drawn."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    runs: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        runs.setdefault(next(iter(row.values())), []).append(row)
    return runs


def readers(runs: Runs) -> Figure:
    """How many readers buy how much: of texts with a gold, the share of its rules in force, of these the share that is
    right, and of calls on either side of them the shares allowed, with 95 % intervals.

    Values: lists of counts, a row a text and `mode` (who is heard), as `tests/bench/readings.py --csv` writes them.
    """
    series = []
    for look, name, rows in _looks(runs):
        modes = list(dict.fromkeys(str(row["mode"]) for row in rows))[::-1]
        for panel, (_, hits, of) in enumerate(READ):
            counts = [
                tuple(sum(int(row[key]) for row in rows if row["mode"] == mode for key in keys) for keys in (hits, of))
                for mode in modes
            ]
            rates = [wilson(min(many, n), n) for many, n in counts]
            intervals = [rate[1:] if rate.value is not None else None for rate in rates]
            shape = {"panel": panel, "listed": panel == 0, "intervals": intervals}
            series.append(Series(look, [rate.value for rate in rates], modes, name, "markers", **shape))
    panels = tuple(title for title, *_ in READ)
    return Figure("What more readers buy", tuple(series), PERCENT, panels=panels, height=420)


_FORCE = ("right", "undecided", "too weak", "too strict", "inverted")  # grades of gold rules that are in force
READ: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (  # a panel: title, what is counted, and of what
    ("gold rules in force", _FORCE, ("gold rules",)),
    ("right, of these", ("right",), _FORCE),
    *(
        (f"{kind} allowed", (f"{kind} allow",), tuple(f"{kind} {one}" for one in ("deny", "allow", "undecided")))
        for kind in ("complying", "violating")
    ),
)


def circuit_costs(runs: Runs) -> Figure:
    """Rules, state predicates and queries of each action: by its circuit, and hollow by an index of the rules
    that mention it. Values: lists of `{"action", "way", "rules", "predicates", "queries"}` (`cluster.costs`)."""
    series = []
    for look, name, rows in _looks(runs):
        hollow = [row["way"] == "mention" for row in rows]
        hover = [f"{row['action']}, by {row['way']}" for row in rows]
        for panel, key in enumerate(("rules", "predicates", "queries")):
            shape = {"panel": panel, "listed": panel == 0, "hover": hover, "hollow": hollow}
            actions, values = [row["action"] for row in rows], [row[key] for row in rows]
            series.append(Series(look, actions, values, name, "markers", **shape))
    title = "What an action looks at: by its circuit, and hollow by an index of the rules that mention it"
    panels = ("rules", "state predicates", "queries")
    return Figure(title, tuple(series), Axis(slanted=True), Axis(zero=True), panels=panels, height=480)


def pass_k(runs: Runs) -> Figure:
    """How likely it is that k trials of a task all succeed (ToolGuard, Fig. 2). Values: lists of `{"k", "pass"}`."""
    series = (Series(look, [r["k"] for r in rows], [r["pass"] for r in rows], of) for look, of, rows in _looks(runs))
    scales = Axis("k trials of one task", step=1), PERCENT._replace(title="all k done")
    return Figure("pass^k on wishes that go against the policy", tuple(series), *scales)


def predicate_graph(runs: Mapping[str, Mapping[str, object]], *, links: bool = False) -> Figure:
    """State predicates, joined where a rule holds both (solid) or their cosine suffices (dotted), coloured
    by cluster; runs stand side by side. Values: `{"groups": […], "edges": [{"a", "b", "together", "cosine"}]}`.

    The predicates of a component stand in one column, a line each, and edges are arcs beside it, so that no
    name lies on another. Those that nothing ties to another are one line at the end, which lists them.
    With `links`, a name leads to the place `predicate-NAME` of the page.
    """
    columns = max(3 // max(len(runs), 1), 1)
    series, titles, depth = [], [], 1
    for panel, (name, run) in enumerate(runs.items()):
        place = _layout(run, columns)
        bottom = 1 - min((y for _, y in place.values()), default=0)
        depth = max(depth, bottom + 1)
        for together, dash, what in ((True, "solid", "in one rule"), (False, "dot", "similar")):
            tied = [e for e in run["edges"] if bool(e["together"]) is together]
            lines, arcs = Look("#888888", dash, width=1), _arcs([(e["a"], e["b"]) for e in tied], place)
            series.append(Series(lines, *arcs, what, "lines", panel, listed=panel == 0, data=tied))
        series += [_nodes(run["groups"], place, panel, links), *_isolated(run, -float(bottom), panel)]
        titles.append(f"{name} ({sum(map(len, run['groups']))} predicates, {len(run['groups'])} clusters)")
    scales = Axis(span=(-0.3, columns), visible=False), Axis(span=(-depth - 0.5, 1), visible=False)
    panels, height = tuple(titles) or ("",), int(150 + LINE * depth)
    return Figure("State predicates and their clusters", tuple(series), *scales, panels=panels, height=height)


def clusters(run: Mapping[str, object]) -> list[dict[str, object]]:
    """The predicates of a graph, one row each: the cluster's number, and which others it is tied to."""
    rows = [(number, name) for number, group in enumerate(run["groups"], 1) for name in group]
    tied: dict[str, list[str]] = {name: [] for _, name in rows}
    for edge in run["edges"]:
        tied[edge["a"]].append(edge["b"])
        tied[edge["b"]].append(edge["a"])
    return [{"predicate": name, "cluster": number, "tied to": ", ".join(sorted(tied[name]))} for number, name in rows]


def _rounds(runs: Runs, key: str, suffix: str = "") -> tuple[Series, ...]:
    """A curve a run, with a hollow point after refinement, at half a round, and a filled one after pruning; what came
    of it all stands in the legend, where it is read whatever the scale."""
    made = []
    for look, name, rows in _looks(runs):
        middles = [(row["round"] - 0.5, row["refined"], "after refinement") for row in rows if row.get("refined")]
        ends = [(row["round"], row, "after pruning" if row["round"] else "as extracted") for row in rows]
        points = sorted(middles + ends, key=lambda point: point[0])
        x, y = [at for at, *_ in points], [row.get(key) for _, row, _ in points]
        shape = {"hover": [what for *_, what in points], "hollow": [at % 1 > 0 for at in x], "note": _change(y)}
        made.append(Series(look, x, y, f"{name}{suffix}", **shape))
    return tuple(made)


def _dotted(runs: Runs, names: Sequence[str], key: str, suffix: str) -> tuple[Series, ...]:
    """A thinner, dotted curve of those runs, in their colours."""
    return tuple(
        replace(each, look=Look(look.colour, "dot", look.symbol, max(look.width - 1, 1), look.size - 2))
        for each, (look, name, _) in zip(_rounds(runs, key, suffix), _looks(runs), strict=True)
        if name in names
    )


def _change(values: Sequence[float | None]) -> str:
    """From a curve's first value to its last."""
    if len(values) < 2 or None in (values[0], values[-1]):
        return ""
    first, last, form = values[0], values[-1], "d" if isinstance(values[0], int) else ".3f"
    part = f" ({last - first:+{form}}, {(last - first) / first:+.1%})" if first and last != first else ""
    return f"{first:{form}} to {last:{form}}{part}"


def _per_round(title: str, unit: str, series: tuple[Series, ...]) -> Figure:
    """Curves by round on a scale of at least a third of the largest value: a change of 2 in 86 is seen, and seen to
    be small. Difference axes would hide how many there are, an axis from 0 that anything changed; the break is said."""
    values = [value for each in series for value in each.y if value is not None]
    low, high = min(values, default=0), max(values, default=0)
    middle, room = (low + high) / 2, max(1.2 * (high - low), SCALE * abs(high))
    start, end = middle - room / 2, middle + room / 2
    start = -0.03 * high if 0 <= low and start < high / 4 else start
    whole = values and all(isinstance(value, int) for value in values)  # no half rules on the axis
    step = max(math.ceil(int(end - start) / 9), 1) if whole else None
    scale = Axis(unit, step, (start, end) if start < end else None)
    note = f"{POINTS} The scale starts at {start:.2g}, not at 0." if start > 0 else POINTS
    return Figure(title, series, Axis("refinement round (0: as extracted)", step=1), scale, note=note)


def _curve(losses: Sequence[float]) -> tuple[list[int], list[float]]:
    """A curve thinned to about 80 points, with its last one."""
    at = sorted({*range(0, len(losses), max(len(losses) // 80, 1)), *([len(losses) - 1] if losses else [])})
    return at, [losses[i] for i in at]


def _looks[V](runs: Mapping[str, V]) -> Iterator[tuple[Look, str, V]]:
    """Each run with its look: the first is the widest, so that it shows beside those drawn over it."""
    for number, (name, value) in enumerate(runs.items()):
        step, colour = number % len(DASHES), COLOURS[number % len(COLOURS)]
        width, size = ((5, 3, 2, 1.5)[step], (12, 9, 7, 5)[step]) if len(runs) > 1 else (2, 8)
        yield Look(colour, DASHES[step], SYMBOLS[step], width, size), name, value


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
        # neighbours stand close together, clusters in one piece; by numbers, for a set of texts has an order of its own
        # in each process
        number = {name: i for i, name in enumerate(sorted(part))}
        ties = sorted(sorted((number[a], number[b])) for a, b in graph.subgraph(part).edges)
        near = {i: at for at, i in enumerate(networkx.utils.reverse_cuthill_mckee_ordering(networkx.Graph(ties)))}
        for line, name in enumerate(sorted(part, key=lambda name: (home[name], near[number[name]]))):
            place[name] = (float(column), -float(filled[column] + line))
        filled[column] += len(part) + 1
    return place


def _arcs(ends: Sequence[tuple[str, str]], place: Place) -> tuple[list, list]:
    points = [point for a, b in ends for point in (*_arc(place[a], place[b]), (None, None))]
    return [x for x, _ in points], [y for _, y in points]


def _arc(a: tuple[float, float], b: tuple[float, float], pieces: int = 12) -> Iterator[tuple[float, float]]:
    """Half an ellipse to the left of two lines of one column, the wider the further they are apart."""
    out = min(0.05 + 0.015 * abs(a[1] - b[1]), 0.24)
    for i in range(pieces + 1):
        turn = math.pi * i / pieces
        yield a[0] - out * math.sin(turn), (a[1] + b[1]) / 2 + (a[1] - b[1]) / 2 * math.cos(turn)


def _nodes(groups: Sequence[Sequence[str]], place: Place, panel: int, links: bool) -> Series:
    """The predicates that are tied to another, with a colour a cluster."""
    tied = [(number, group) for number, group in enumerate(groups, 1) if place.keys() & set(group)]
    rows = [(name, colour, i) for colour, (i, group) in zip(cycle(COLOURS), tied, strict=False) for name in group]
    names, colours = [name for name, *_ in rows], [colour for _, colour, _ in rows]
    texts = [shortened(name, int(0.75 * COLUMN / LETTER)) for name in names]
    shape = {"colours": colours, "texts": texts, "hover": [f"{name} (cluster {i})" for name, _, i in rows]}
    shape["data"] = [{"predicate": name, "cluster": i} for name, _, i in rows]
    shape["links"] = [f"predicate-{cards.anchor(name)}" for name in names] if links else ()
    x, y = ([place[name][at] for name in names] for at in (0, 1))
    return Series(Look(COLOURS[0], size=10), x, y, mode="markers+text", panel=panel, listed=False, **shape)


def _isolated(run: Mapping[str, object], line: float, panel: int) -> Iterator[Series]:
    """One point for the predicates that nothing ties to another; it lists them when it is pointed at."""
    tied = {end for edge in run["edges"] for end in (edge["a"], edge["b"])}
    alone = sorted({group[0] for group in run["groups"] if len(group) == 1} - tied)
    if alone:
        text = f"{cards.count(len(alone), 'more predicate')} that nothing ties to another"
        lines = [", ".join(alone[i : i + 3]) for i in range(0, len(alone), 3)]
        names = "\n".join(lines[:NAMED] + ["…"] * (len(lines) > NAMED))
        shape = {"mode": "markers+text", "panel": panel, "listed": False, "texts": [text], "hover": [names]}
        shape["data"] = [{"predicate": name, "cluster": run["groups"].index([name]) + 1} for name in alone]
        yield Series(Look(GREY, symbol="square", size=10), [0.0], [line], **shape)
