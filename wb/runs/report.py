"""One HTML file on one run, or on several laid over one another: what the policy became, and how good it is.

A run is named by a version of its last stage; the versions that it read, and those they read, are
followed through the manifests.  First comes what the reader of a policy wants to know (`outcome`): which
sentences became rules, which are open, what each tool's guard can do, and the document itself with every
sentence in the colour of its class.  Then the figures, each with a way to what it shows.  The template `report.html`
escapes all texts; the file holds plotly's script and forbids itself, by a content security policy, to ask for anything
outside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from wb import paths
from wb.paths import Project
from wb.runs import artifact, cards, outcome, plots, show
from wb.runs.artifact import ArtifactError, Version
from wb.runs.cards import Table
from wb.runs.figure import Figure
from wb.runs.outcome import Versions

if TYPE_CHECKING:
    from jinja2.environment import TemplateModule

TRAITS = ("policy", "model")  # what names a run before its parameters do, without saying what it is


class Drawing(NamedTuple):
    """One figure: the function that draws it, the file of a stage (by its number) that it draws, the part of that
    file, and the place of the page that tells more."""

    draw: Callable[..., Figure]
    number: str
    file: str
    more: str
    part: str = ""

    @property
    def name(self) -> str:
        """Its name, as in "rule count"."""
        return self.draw.__name__.replace("_", " ")


DRAWINGS = (
    Drawing(plots.rule_count, "02", "rounds.json", "rules"),
    Drawing(plots.predicate_count, "02", "rounds.json", "predicates"),
    Drawing(plots.vagueness, "02", "rounds.json", "rules"),
    Drawing(plots.predicate_graph, "03", "graph.json", "predicates"),
    Drawing(plots.loss, "04", "weights.json", "tools"),
    Drawing(plots.weights, "04", "weights.json", "rules"),
    Drawing(plots.confusion, "07", "results.json", "results", "methods"),
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
    versions = [version for stage in stages for version in artifact.versions(here, stage)]
    matches = [v for v in versions if v.folder == Path(name).resolve() or v.key.startswith(name)]
    if len(matches) != 1:
        raise ArtifactError(
            f"a run must be one of {[v.key for v in artifact.versions(here, stages[0])]} of {stages[0]}, any other "
            f"version's key, or its folder; got {name!r}, which fits {len(matches)}"
        )
    return matches[0]


def named(here: Project, versions: Sequence[Version]) -> dict[str, Versions]:
    """Each run, by what sets it apart from the others: policy, model, parameters, else code, else its key."""
    runs = [artifact.followed(here, version) for version in versions]
    return dict(zip(names_of(runs), runs, strict=True))


def names_of(runs: Sequence[Versions]) -> tuple[str, ...]:
    """A short name for each run, no two alike, such as `max_rounds=1`.

    Named is what differs: policies and models by their names, parameters as `name=value`, with the stage's number
    only where a run has two values of it, and a module that differs alone by its file and the first digits of its
    digest.  Where that leaves two runs alike, the first six digits of the key are added.
    """
    traits = [_traits(run) for run in runs]
    differing = {name for t in traits for name in t if any(other.get(name) != t[name] for other in traits)}
    modules = sorted(name for name in differing if name.startswith("wb/"))
    plain = differing - {*modules} if len(runs) != 1 else {*TRAITS}
    picked = sorted(plain, key=lambda name: (name != "policy", name != "model", name))
    picked += modules if len(modules) == 1 or (not plain and len(modules) <= 2) else []
    names = [", ".join(t[n] if n in TRAITS else f"{n}={t[n]}" for n in picked if n in t) for t in traits]
    keys = [list(run.values())[-1].key[:6] for run in runs]
    pairs = zip(names, keys, strict=True)
    return tuple(name if name and names.count(name) == 1 else f"{name} ({key})".strip() for name, key in pairs)


def _traits(run: Versions) -> dict[str, str]:
    """What a run was made with, by name."""
    values: dict[str, dict[str, str]] = {}
    for stage, version in run.items():
        for name, value in version.manifest["parameters"].items():
            values.setdefault(name, {})[stage.partition("_")[0]] = str(value)
    traits = {}
    for name, by_stage in values.items():
        alike = len(set(by_stage.values())) == 1
        traits |= {name if alike else f"{name} of {number}": value for number, value in by_stage.items()}
    for version in run.values():
        policy, modules = version.manifest["policy"], version.manifest["modules"]
        traits |= {"policy": policy["name"] or traits.get("policy", ""), "policy text": policy["digest"][:4]}
        traits |= {f"wb/{name.replace('.', '/')}.py": digest[:4] for name, digest in modules.items()}
    return traits


def page(runs: Mapping[str, Versions]) -> str:
    """The report on runs by name, as one HTML text."""
    from markupsafe import Markup
    from plotly.offline import get_plotlyjs

    sections = [
        (name, outcome.read(run), _versions(run), f"run{number}-" if number > 1 else "")
        for number, (name, run) in enumerate(runs.items(), 1)
    ]
    figures = [_figure(drawing, runs) for drawing in DRAWINGS]
    return str(macros().page(f"Guards from policies: {', '.join(runs)}", sections, figures, Markup(get_plotlyjs())))


def macros() -> TemplateModule:
    """The parts of a report, as the macros of its template by name."""
    given = {"methods": methods, "reasons": reasons, "table": cards.table}
    return cards.templates().get_template("report.html", globals=given).module


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


def methods(results: Mapping[str, object], policy: str = "The policy") -> tuple[Table, ...]:
    """The result tables of an evaluation: the policy's, under its name, and the bare sentences' if measured."""
    bare = [row for row in results.get("bare", ()) if not row.get("published")]
    tables = show.methods(results.get("methods", ()), policy), show.methods(bare, "The bare sentences alone")
    return tuple(table for table in tables if table.rows)


def reasons(methods: Iterable[Mapping[str, object]]) -> dict[str, list[str]]:
    """The methods that have no figures, by the reason why."""
    names: dict[str, list[str]] = {}
    for row in methods:
        if row.get("reason"):
            names.setdefault(str(row["reason"]), []).append(str(row["method"]))
    return names


def _figure(drawing: Drawing, runs: Mapping[str, Versions]) -> dict[str, object]:
    """One figure over all runs that have its data, with a way to what it shows, or a line that says who has none."""
    from markupsafe import Markup

    values, keys = {}, []
    for name, run in runs.items():
        version = next((v for stage, v in run.items() if stage.startswith(drawing.number)), None)
        if version and drawing.file in version.digests:
            value = version.read(drawing.file)
            values[name] = value[drawing.part] if drawing.part else value
            keys.append(version.key)
    missing, place = [name for name in runs if name not in values], f"{drawing.file} of stage {drawing.number}"
    lacking = f"{drawing.name}: no {place} in {', '.join(missing)}." if missing else ""
    made = drawing.draw(values, **({"links": True} if drawing.draw is plots.predicate_graph else {}))
    if made.empty:
        return {"drawn": "", "lacking": lacking or f"{drawing.name}: not drawn, {place} holds nothing to draw."}
    shown = {"displaylogo": False, "plotlyServerURL": "", "responsive": True}
    drawn = made.plotly().to_html(full_html=False, include_plotlyjs=False, div_id=drawing.draw.__name__, config=shown)
    source = f"From {place}, {', '.join(keys)}."
    return {"drawn": Markup(drawn), "source": source, "more": drawing.more, "lacking": lacking}


def _versions(run: Versions) -> Table:
    rows = (
        (stage, v.key, v.manifest["mode"], v.manifest["recorded"]["seconds"], artifact.summary(v.manifest))
        for stage, v in run.items()
    )
    return cards.listed("stage, version, mode, seconds, summary", rows)
