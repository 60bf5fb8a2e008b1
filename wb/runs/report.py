"""One HTML file with the figures and tables of one run, or of several laid over one another.

A run is named by a version of its last stage; the versions that it read, and those they read, are
followed through the manifests.  The file holds plotly's script and forbids itself, by a content
security policy, to ask for anything outside.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wb.paths import Project
from wb.runs import artifact, plots
from wb.runs.artifact import ArtifactError, Version

POLICY = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:"
STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:1140px;margin:2rem auto;padding:0 1rem;color:#222}
table{border-collapse:collapse;font-size:14px;margin:1rem 0}td,th{padding:.25rem .7rem;border-bottom:1px solid #ddd;text-align:right}
td{white-space:nowrap}td:last-child{white-space:normal}
td:first-child,th:first-child{text-align:left}.published td{color:#777}.note{color:#777}h2{margin-top:2.5rem}code{font-size:90%}"""
COLUMNS = ("method", "split", "n", "accuracy", "precision", "recall", "fpr", "undecided", "queries", "seconds")
RATES = ("accuracy", "precision", "recall", "fpr")


@dataclass(frozen=True, slots=True)
class Drawing:
    """One figure: the function that draws it, and the file of a stage (by its number) that it draws."""

    draw: Callable[..., object]
    number: str
    file: str
    pick: Callable[[object], object]


DRAWINGS = (
    Drawing(plots.rule_count, "02", "rounds.json", lambda v: v),
    Drawing(plots.predicate_count, "02", "rounds.json", lambda v: v),
    Drawing(plots.vagueness, "02", "rounds.json", lambda v: v),
    Drawing(plots.predicate_graph, "03", "graph.json", lambda v: v),
    Drawing(plots.loss, "04", "weights.json", lambda v: v),
    Drawing(plots.weights, "04", "weights.json", lambda v: v),
    Drawing(plots.confusion, "07", "results.json", lambda v: v["methods"]),
)

Run = Mapping[str, Version]


def find(here: Project, name: str | None) -> Version:
    """The version that a run is named by: a key or its first digits, a folder, or the newest of the last stage.

    Raises:
        ArtifactError: there is none, or several keys start so.
    """
    stages = sorted(
        (p.name for p in here.artifacts.glob("[0-9][0-9]_*") if artifact.versions(here, p.name)), reverse=True
    )
    if not stages:
        raise ArtifactError(f"a finished stage was required in {here.artifacts}; there is none: run `wb run` first")
    if name is None:
        return artifact.newest(here, stages[0])
    found = [
        v
        for stage in stages
        for v in artifact.versions(here, stage)
        if v.folder == Path(name).resolve() or v.key.startswith(name)
    ]
    if len(found) != 1:
        known = [v.key for v in artifact.versions(here, stages[0])]
        raise ArtifactError(
            f"a run must be one of {known} of {stages[0]}, any other version's key, or its folder; "
            f"got {name!r}, which fits {len(found)}"
        )
    return found[0]


def page(runs: Mapping[str, Run]) -> str:
    """The report on runs by name, as one HTML text."""
    from plotly.offline import get_plotlyjs

    figures = "\n".join(_figure(drawing, runs) for drawing in DRAWINGS)
    tables = "\n".join(_section(name, run) for name, run in runs.items())
    title = "Guards from policies: " + ", ".join(runs)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f"<title>{html.escape(title)}</title><style>{STYLE}</style><script>{get_plotlyjs()}</script></head>\n"
        f"<body><h1>{html.escape(title)}</h1>\n{tables}\n{figures}\n</body></html>\n"
    )


def name_of(version: Version) -> str:
    """What a run is called in figures: its policy, model and key."""
    manifest = version.manifest
    return f"{manifest['policy']['name']}, {manifest['model']} ({version.key[:6]})"


def table(methods: Iterable[Mapping[str, object]]) -> tuple[tuple[str, ...], ...]:
    """The rows of a result table as texts, its head first: rates in percent with their 95 % intervals."""
    return (COLUMNS, *(tuple(_entry(row, column) for column in COLUMNS) for row in methods))


def _entry(row: Mapping[str, object], column: str) -> str:
    value = row.get(column)
    if column == "method":
        model = f" ({row['model']})" if row.get("published") and row.get("model") else ""
        return f"{value}{model}" + (", published" if row.get("published") else "")
    if value is None:
        return "-"
    if column in RATES:
        low, high = (row.get("intervals") or {}).get(column) or (None, None)
        return f"{100 * value:.1f}" + (f" [{100 * low:.0f}, {100 * high:.0f}]" if low is not None else "")
    return f"{value:.1f}" if isinstance(value, float) else str(value)


def tables(results: Mapping[str, object]) -> tuple[tuple[str, tuple[tuple[str, ...], ...]], ...]:
    """The result tables of an evaluation, each with its title: the policy's, and the bare sentences' if measured."""
    parts = (("The policy", results.get("methods", ())), ("The bare sentences alone", results.get("bare", ())))
    rows = [
        (title, [row for row in part if not row.get("reason") and (number == 0 or not row.get("published"))])
        for number, (title, part) in enumerate(parts)
    ]
    return tuple((title, table(part)) for title, part in rows if part)


def not_run(methods: Iterable[Mapping[str, object]]) -> tuple[str, ...]:
    """Methods that have no figures, each with its reason."""
    return tuple(f"{row['method']} was not run: {row['reason']}" for row in methods if row.get("reason"))


def _figure(drawing: Drawing, runs: Mapping[str, Run]) -> str:
    """One figure over all runs that have its data, or a line that says who has none."""
    values = {}
    for name, run in runs.items():
        version = next((v for stage, v in run.items() if stage.startswith(drawing.number)), None)
        if version and drawing.file in version.digests:
            values[name] = drawing.pick(version.read(drawing.file))
    heading = drawing.draw.__name__.replace("_", " ")
    missing = [name for name in runs if name not in values]
    lacking = f"{heading}: no {drawing.file} of stage {drawing.number} in {', '.join(missing)}."
    note = f'<p class="note">{html.escape(lacking)}</p>' if missing else ""
    if not values:
        return note
    drawn = drawing.draw(values).to_html(
        full_html=False,
        include_plotlyjs=False,
        div_id=drawing.draw.__name__,
        config={"displaylogo": False, "plotlyServerURL": "", "responsive": True},
    )
    return drawn + note


def _section(name: str, run: Run) -> str:
    """The tables of one run: its results, and the versions that it consists of."""
    rows = [("stage", "version", "mode", "seconds", "summary")]
    for stage, version in run.items():
        manifest = version.manifest
        rows.append(
            (stage, version.key, manifest["mode"], str(manifest["recorded"]["seconds"]), artifact.summary(manifest))
        )
    last = list(run.values())[-1]
    results = last.read("results.json") if "results.json" in last.digests else {}
    results = results if isinstance(results, dict) else {}
    measured = "".join(f"<h3>{html.escape(title)}</h3>{_html_table(part)}" for title, part in tables(results))
    notes = "".join(f'<p class="note">{html.escape(line)}</p>' for line in not_run(results.get("methods", ())))
    return f"<h2>{html.escape(name)}</h2>{measured}{notes}<h3>Its versions</h3>{_html_table(rows)}"


def _html_table(rows: Sequence[Sequence[str]]) -> str:
    head, *body = rows
    lines = ["<tr>" + "".join(f"<th>{html.escape(cell)}</th>" for cell in head) + "</tr>"]
    for row in body:
        mark = ' class="published"' if "published" in row[0] else ""
        lines.append(f"<tr{mark}>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>")
    return "<table>" + "\n".join(lines) + "</table>"
