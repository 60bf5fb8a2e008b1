"""One HTML file on one run, or on several laid over one another: what the policy became, and how good it is.

A run is named by a version of its last stage; the versions that it read, and those they read, are
followed through the manifests.  First comes what the reader of a policy wants to know (`outcome`): which
sentences became rules, which are open, what each tool's guard can do, and the document itself with every
sentence in the colour of its class.  Then the figures, each with a way to what it shows.  The file holds plotly's
script and forbids itself, by a content security policy, to ask for anything outside.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from wb import paths
from wb.paths import Project
from wb.runs import artifact, cards, outcome, plots, show
from wb.runs.artifact import ArtifactError, Version
from wb.runs.outcome import Versions

POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:"
)
STYLE = """:root{color-scheme:light dark}
body{font:16px/1.55 system-ui,sans-serif;max-width:1140px;margin:2rem auto;padding:0 1rem;color:#1f2328;background:#fff}
@media(prefers-color-scheme:dark){body{color:#d8dee4;background:#15181c}a{color:#79b8ff}}
h2{margin-top:3rem;border-bottom:1px solid rgba(128,128,128,.4)}h3{margin-top:2rem}
.note{opacity:.7}.scroll{overflow-x:auto}figure{margin:2rem 0}figcaption{font-size:14px;opacity:.8}
.wb{font-size:14px}.js-plotly-plot{background:#fff}
.document{line-height:1.75;border:1px solid rgba(128,128,128,.4);border-radius:6px;padding:.5rem 1.2rem;
max-height:70vh;overflow-y:auto}
.document h4{margin:1.1rem 0 .2rem}.document p{margin:.2rem 0}.document a{text-decoration:none;font-size:12px}
.document span{border-radius:3px;padding:.05em .15em;border-bottom:2px solid transparent}
.document .rule{background:rgba(26,127,55,.16);border-color:#1a7f37}
.document .open{background:rgba(191,135,0,.25);border-color:#bf8700}
.document .duty{background:rgba(11,92,173,.16);border-color:#0b5cad}
.document .waived{background:rgba(110,64,201,.16);border-color:#6e40c9}
details{margin:.3rem 0}summary{cursor:pointer}:target{outline:2px solid #bf8700;outline-offset:3px}"""
COLUMNS = ("method", "split", "n", "accuracy", "precision", "recall", "fpr", "undecided", "queries", "seconds")
RATES = ("accuracy", "precision", "recall", "fpr")
BESIDE = {  # what else an evaluation found, by where it stands in its results: its title, and what is to be known of it
    "runs": ("Whole recorded runs", "One wrong call makes a run wrong; an undecided call does not run."),
    "mapping": (
        "Sentences mapped onto tools, as decided, beside what a person wrote down",
        "P, R, F1: precision, recall and F1 of the references, means over tools; FRI: fuzzy Rand index of how the "
        "references that both have (common) are grouped. A sentence that somebody waived or called no constraint is "
        "mapped onto nothing: R tells of these decisions too.",
    ),
    "robustness": (
        "Sentences mapped onto tools without decisions, with other text around the document",
        "How well the document is read by itself; text that says nothing of its tools should change nothing.",
    ),
    "guard_tests": ("Tests by hand", "TPR: the share of a tool's tests that pass; failures by what was right."),
    "live": (
        "Live runs",
        "pass^k: how likely it is that k trials of a task all succeed, for k = 1 and k = n, the trials of each task. "
        "Wishes are violating or complying: whoever refuses everything does most of the former, none of the latter.",
    ),
}


@dataclass(frozen=True, slots=True)
class Drawing:
    """One figure: the function that draws it, the file of a stage (by its number) that it draws, and the place of
    the page that tells more."""

    draw: Callable[..., object]
    number: str
    file: str
    pick: Callable[[object], object]
    more: str
    options: Mapping[str, object] = field(default_factory=dict)


DRAWINGS = (
    Drawing(plots.rule_count, "02", "rounds.json", lambda v: v, "rules"),
    Drawing(plots.predicate_count, "02", "rounds.json", lambda v: v, "predicates"),
    Drawing(plots.vagueness, "02", "rounds.json", lambda v: v, "rules"),
    Drawing(plots.predicate_graph, "03", "graph.json", lambda v: v, "predicates", {"links": True}),
    Drawing(plots.loss, "04", "weights.json", lambda v: v, "tools"),
    Drawing(plots.weights, "04", "weights.json", lambda v: v, "rules"),
    Drawing(plots.confusion, "07", "results.json", lambda v: v["methods"], "results"),
)


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


def named(here: Project, versions: Sequence[Version]) -> dict[str, Versions]:
    """Each run, by what sets it apart from the others: policy, model, parameters, else code, else its key."""
    runs = [artifact.followed(here, version) for version in versions]
    names = names_of(runs)
    return dict(zip(names, runs, strict=True))


def names_of(runs: Sequence[Versions]) -> tuple[str, ...]:
    """A short name for each run, no two alike, such as `max_rounds=1`.

    Named is what differs: policies and models by their names, parameters as `name=value`, with the stage's number
    only where a run has two values of it, and a module that differs alone by its file and the first digits of its
    digest.  Where that leaves two runs alike, the first six digits of the key are added.
    """
    traits = [_traits(run) for run in runs]
    shared = {name for name in traits[0] if all(t.get(name) == traits[0][name] for t in traits)} if traits else set()
    modules = {name for t in traits for name in t if name.startswith("wb/")} - shared
    plain = {name for t in traits for name in t if not name.startswith("wb/")} - shared
    if len(runs) == 1:
        plain = {"policy", "model"}
    wanted = sorted(plain, key=lambda name: (name != "policy", name != "model", name))
    wanted += sorted(modules) if len(modules) == 1 or (not plain and len(modules) <= 2) else []
    made = [", ".join(_trait(name, t[name]) for name in wanted if name in t) for t in traits]
    keys = [list(run.values())[-1].key[:6] for run in runs]
    return tuple(
        name if name and made.count(name) == 1 else f"{name} ({key})".strip()
        for name, key in zip(made, keys, strict=True)
    )


def _traits(run: Versions) -> dict[str, str]:
    """What a run was made with, by name."""
    values: dict[str, dict[str, str]] = {}
    for stage, version in run.items():
        for name, value in version.manifest["parameters"].items():
            values.setdefault(name, {})[stage.partition("_")[0]] = str(value)
    found = {}
    for name, each in values.items():
        found |= (
            {name: next(iter(each.values()))}
            if len(set(each.values())) == 1
            else {f"{name} of {number}": value for number, value in each.items()}
        )
    for version in run.values():
        found["policy"] = version.manifest["policy"]["name"] or found.get("policy", "")
        found["policy text"] = version.manifest["policy"]["digest"][:4]
        found |= {f"wb/{name.replace('.', '/')}.py": digest[:4] for name, digest in version.manifest["modules"].items()}
    return found


def _trait(name: str, value: str) -> str:
    return value if name in ("policy", "model") else f"{name}={value}"


def page(runs: Mapping[str, Versions]) -> str:
    """The report on runs by name, as one HTML text."""
    from plotly.offline import get_plotlyjs

    sections = "\n".join(
        _section(name, run, "" if i == 0 else f"run{i + 1}-") for i, (name, run) in enumerate(runs.items())
    )
    figures = "\n".join(_figure(drawing, runs) for drawing in DRAWINGS)
    title = "Guards from policies: " + ", ".join(runs)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f"<title>{html.escape(title)}</title>{cards.STYLE}<style>{STYLE}</style>{cards.SORT}"
        f"<script>{get_plotlyjs()}</script></head>\n"
        f"<body><h1>{html.escape(title)}</h1>\n{sections}\n<h2>Figures</h2>\n{figures}\n</body></html>\n"
    )


def sealed(page: str) -> str:
    """The page with a last line that seals what stands before it."""
    return f"{page}\n<!-- seal {paths.seal(page)} -->\n"


def whole(path: Path) -> bool:
    """Whether a page that `sealed` made is there as it was made."""
    try:
        page, _, last = path.read_text("utf-8").rpartition("\n<!-- seal ")
    except (OSError, UnicodeError):
        return False
    return bool(page) and last == f"{paths.seal(page)} -->\n"


def table(methods: Iterable[Mapping[str, object]]) -> tuple[tuple[str, ...], ...]:
    """The rows of a result table as texts, its head first: rates in percent with their 95 % intervals."""
    return (COLUMNS, *(tuple(_entry(row, column) for column in COLUMNS) for row in methods))


def _entry(row: Mapping[str, object], column: str) -> str:
    value = show.method_entry(row, column)
    return "-" if value is None else str(value)


def tables(results: Mapping[str, object]) -> tuple[tuple[str, tuple[tuple[str, ...], ...]], ...]:
    """The result tables of an evaluation, each with its title: the policy's, and the bare sentences' if measured."""
    return tuple((title, table(part)) for title, part in _measured(results))


def _measured(results: Mapping[str, object]) -> list[tuple[str, list[Mapping[str, object]]]]:
    parts = (("The policy", results.get("methods", ())), ("The bare sentences alone", results.get("bare", ())))
    rows = [
        (title, [row for row in part if not row.get("reason") and (number == 0 or not row.get("published"))])
        for number, (title, part) in enumerate(parts)
    ]
    return [(title, part) for title, part in rows if part]


def beside(results: Mapping[str, object]) -> dict[str, list[Mapping[str, object]]]:
    """What an evaluation found apart from the table of methods, as rows by name; only what was measured."""
    found = {**results, "live": dict(results.get("live", {})).get("rows", ())}
    return {name: list(found[name]) for name in BESIDE if found.get(name)}


def not_run(methods: Iterable[Mapping[str, object]]) -> tuple[str, ...]:
    """Methods that have no figures, each with its reason."""
    return tuple(f"{row['method']} was not run: {row['reason']}" for row in methods if row.get("reason"))


def _figure(drawing: Drawing, runs: Mapping[str, Versions]) -> str:
    """One figure over all runs that have its data, with a way to what it shows, or a line that says who has none."""
    values, keys = {}, []
    for name, run in runs.items():
        version = next((v for stage, v in run.items() if stage.startswith(drawing.number)), None)
        if version and drawing.file in version.digests:
            values[name] = drawing.pick(version.read(drawing.file))
            keys.append(version.key)
    heading = drawing.draw.__name__.replace("_", " ")
    missing = [name for name in runs if name not in values]
    lacking = f"{heading}: no {drawing.file} of stage {drawing.number} in {', '.join(missing)}."
    note = outcome.note(lacking) if missing else ""
    if not values:
        return note
    figure = drawing.draw(values, **drawing.options)
    if plots.empty(figure):
        return note + outcome.note(
            f"{heading}: not drawn, {drawing.file} of stage {drawing.number} holds nothing to draw."
        )
    drawn = figure.to_html(
        full_html=False,
        include_plotlyjs=False,
        div_id=drawing.draw.__name__,
        config={"displaylogo": False, "plotlyServerURL": "", "responsive": True},
    )
    source = html.escape(f"From {drawing.file} of stage {drawing.number}, {', '.join(keys)}. ")
    return f'<figure>{drawn}<figcaption>{source}<a href="#{drawing.more}">What it shows</a></figcaption></figure>{note}'


def _section(name: str, run: Versions, anchor: str) -> str:
    """What one run found out, its rules, guards and results, and the versions that it consists of."""
    kept = outcome.read(run)
    findings = "".join(f"<p><b>Finding.</b> {html.escape(line)}</p>" for line in kept.findings)
    return "\n".join(
        (
            f"<h2>{html.escape(name)}</h2>",
            outcome.lines(kept),
            findings,
            _results(run, anchor),
            f'<h3 id="{anchor}document">The document, sentence by sentence</h3>{outcome.document(kept, anchor)}',
            f'<h3 id="{anchor}tools">What each tool\'s guard can do</h3>{outcome.tools(kept, anchor)}',
            f'<h3 id="{anchor}rules">Rules</h3>{outcome.rules(kept, anchor)}',
            f'<h3 id="{anchor}predicates">Predicates</h3>{outcome.predicates(kept, anchor)}',
            f"<h3>Its versions</h3>{_versions(run)}",
        )
    )


def _results(run: Versions, anchor: str) -> str:
    last = list(run.values())[-1]
    results = last.read("results.json") if "results.json" in last.digests else {}
    results = results if isinstance(results, dict) else {}
    measured = "".join(f"<h3>{html.escape(t)}</h3>{_bare(show.methods(part))}" for t, part in _measured(results))
    reasons: dict[str, list[str]] = {}
    for row in results.get("methods", ()):
        if row.get("reason"):
            reasons.setdefault(str(row["reason"]), []).append(str(row["method"]))
    notes = "".join(outcome.note(f"Not run: {', '.join(names)}; {why}.") for why, names in reasons.items())
    for name, part in beside(results).items():
        title, note = BESIDE[name]
        measured += f"<h3>{html.escape(title)}</h3>{_bare(cards.table(part))}{outcome.note(note)}"
    return f'<div id="{anchor}results">{measured}{notes}</div>' if measured or notes else ""


def _versions(run: Versions) -> str:
    rows = [
        {
            "stage": stage,
            "version": version.key,
            "mode": version.manifest["mode"],
            "seconds": version.manifest["recorded"]["seconds"],
            "summary": artifact.summary(version.manifest),
        }
        for stage, version in run.items()
    ]
    return _bare(cards.table(rows))


def _bare(table: cards.Table) -> str:
    """A table without the style and the script, which the page has once."""
    return table.html().replace(cards.STYLE, "").replace(cards.SORT, "")
