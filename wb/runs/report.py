"""What a run made of its policy, for its reader: a few lines at the end in the terminal, and one HTML file.

A run is named by a version of its last stage; the versions that it read, and those they read, are followed through
the manifests.  The page is on one run, or on several laid over one another.  First comes what the reader of a policy
wants to know (`Outcome`): which sentences became rules, which are open, what each tool's guard can do, and the
document itself with every sentence in the colour of its class.  Then the figures, each with a way to what it shows.
The template `report.html` escapes all texts; the file holds plotly's script and forbids itself, by a content security
policy, to ask for anything outside.  To be shared, each figure goes into a folder as SVG, PNG and CSV, of one value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from wb import paths
from wb.bench import summary
from wb.bench.tables import SHARES
from wb.guards import runtime
from wb.logic import cel
from wb.logic.wording import shortened
from wb.models import client
from wb.paths import Project, write_whole
from wb.rules import questions, requirements, rulefile
from wb.rules.rule import RuleSet
from wb.rules.sentences import titles
from wb.runs import artifact, cards, plots, show
from wb.runs.artifact import ArtifactError, Version
from wb.runs.cards import Card, Quote, Source, Table, count
from wb.runs.figure import Figure

if TYPE_CHECKING:
    from jinja2.environment import TemplateModule

CLASSES = ("rule", "open", "duty", "waived", "not a constraint")
FATES = ("guarded", "blocked", "free")
INDEX, FIGURES = "index.html", "figures/"
RESULTS, DRAFT, CANDIDATES = "results.json", "decisions.draft.yaml", "candidates.json"
ASKED, SENTENCES = "questions.json", "sentences.json"
SHOWN = 5  # questions of guards that the end of a run names
TRAITS = ("policy", "model")  # what names a run before its parameters do, without saying what it is
UNPROVED = "none is proved before 06_nagini_verification, which `wb judge` and `wb.build` run where it is missing"
BESIDE = "copy what you decide into decisions.yaml beside the policy (of a document NAME.decisions.yaml); run again"
Versions = Mapping[str, Version]
Row = Mapping[str, object]
Line = tuple[str, object]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run stored of its policy; None where it stored no such file."""

    rules: RuleSet | None = None
    sentences: Sequence[Row] | None = None
    guarding: Row | None = None
    guards: Mapping[str, Row] | None = None
    groups: Sequence[Sequence[str]] = ()
    findings: tuple[str, ...] = ()
    showed: tuple[tuple[str, str], ...] = ()  # by stage
    questions: Table | None = None
    requirements: Table | None = None
    results: Row = MappingProxyType({})
    rule_counts: tuple[int, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """How many sentences each class has; a class without one is left out."""
        numbers = Counter(str(row["cls"]) for row in self.sentences or ())
        return {cls: numbers[cls] for cls in CLASSES if numbers[cls]}

    @property
    def grades(self) -> str:
        """What the sentences in force rest on, and how many of each: `agreed 2 of 2: 26, person: 3`."""
        numbers = Counter(str(row.get("grade", "")) for row in self.sentences or () if row.get("rules"))
        return ", ".join(f"{grade}: {n}" for grade, n in numbers.most_common() if grade)

    @property
    def lines(self) -> tuple[tuple[str, str], ...]:
        """What came of the policy as far as the run came, by heads."""
        if self.guarding is not None:
            return summary.lines(self.guarding)
        stages = zip(self.rule_counts, ("read", "after refinement"), strict=False)
        own = [(str(row["text"]), row["headings"]) for row in self.sentences or ()]
        rows = {
            "sentences": summary.classes(self.counts, titles(own)) if self.sentences is not None else "",
            "rules": ", ".join(f"{n} {stage}" for n, stage in stages),
        }
        return tuple((head, text) for head, text in rows.items() if text)

    def document(self) -> Iterator[tuple[str, Row | None]]:
        """The document in its order: a heading that is no sentence of its own, or a sentence, with "h4" for a title."""
        rows = self.sentences or ()
        titles = {title for row in rows for title in row["headings"]}
        under = ""
        for row in rows:
            if row["headings"] and row["headings"][-1] != under and row["text"] not in titles:
                yield " / ".join(row["headings"]), None
            under = row["text"] if row["text"] in titles else (row["headings"] or [""])[-1]
            yield "h4" if row["text"] in titles else "p", row

    def rules_of(self, row: Row) -> list[str]:
        """The rules that the rules of a sentence live on in."""
        rules = self.rules.rules if self.rules else ()
        heirs = {parent: rule.id for rule in rules for parent in rule.parents} | {rule.id: rule.id for rule in rules}
        return list(dict.fromkeys(heirs.get(name, name) for name in row["rules"]))

    def tools(self) -> Iterator[tuple[Row, str, Card]]:
        """Each tool, guarded ones first: its row, a line that says what its guard can do, and the guard as a card."""
        texts = {str(row["id"]): str(row["text"]) for row in self.sentences or ()}
        quotes = {rule.id: rule.quote or rule.text for rule in (self.rules.rules if self.rules else ())}
        tools = self.guarding["tools"] if self.guarding else ()
        for row in sorted(tools, key=lambda row: (FATES.index(row["fate"]), row["tool"])):
            guard = (self.guards or {}).get(row["tool"], {})
            parts = {
                "rules": tuple((name, Quote(quotes[name])) if name in quotes else name for name in row["rules"]),
                "open": tuple((name, Quote(texts.get(name, ""))) for name in row["open"]),
                "why not better": str(guard.get("reason", "")),
                "code": Source(str(guard.get("source", "")), "python"),
            }
            yield row, _ability(row), Card(str(row["tool"]), str(row["grade"]), tuple(parts.items()))

    def predicates(self) -> Iterator[tuple[object, object, str, list[str]]]:
        """Each predicate with the number of its cluster, what it is read from, and the rules that use it."""
        cluster = {name: number for number, group in enumerate(self.groups, 1) for name in group}
        for p in self.rules.predicates if self.rules else ():
            source = ", ".join(p.tools) if p.kind == "action" else cel.render(p.test) if p.test else "no field"
            source += "".join(f", of {cel.render(path)}" for path in p.objects)
            users = [rule.id for rule in self.rules.rules if p.name in rule.predicates]
            yield p, cluster.get(p.name, ""), source, users

    def rule_cards(self) -> Iterator[tuple[str, str, Card]]:
        """Each rule: its id, its sentence and its card."""
        for rule in self.rules.rules if self.rules else ():
            yield rule.id, rule.quote or rule.text, show.rule(rule, self.rules)


def read(run: Versions) -> Outcome:
    """What a run stored of its policy: the newest stage that wrote a file counts.

    Raises:
        ArtifactError: a file was changed or lost since it was written.
    """

    def versions(name: str, *stages: str) -> list[object]:
        return [v.read(name) for n in stages for stage, v in run.items() if stage.startswith(n) and name in v.digests]

    def newest(name: str, *stages: str) -> object:
        return next(iter(versions(name, *stages)), None)

    rules, graph = versions("rules.json", "02", "01"), newest("graph.json", "03")
    results = next(reversed(versions("results.json", "")), None)
    asked, decided = newest("questions.json", "05", "01"), newest("requirements.json", "05")
    findings = ((stage, version.manifest["summary"].get("findings")) for stage, version in run.items())
    return Outcome(
        rulefile.from_json(rules[0]) if rules else None,
        newest("sentences.json", "02", "01"),
        newest("summary.json", "06"),
        {row["tool"]: row for row in newest("guards.json", "06") or ()},
        graph["groups"] if graph else (),
        tuple(f"{stage}: {text}" for stage, text in findings if text),
        tuple((s, text) for s, v in run.items() if "findings.json" in v.digests for text in v.read("findings.json")),
        show.questions(questions.from_json(asked)) if asked is not None else None,
        show.requirements(requirements.from_json(decided)) if decided is not None else None,
        results if isinstance(results, Mapping) else {},
        tuple(len(each["rules"]) for each in reversed(rules)),
    )


def _ability(row: Row) -> str:
    """What a tool's guard can do, in a line; a grade that counts its rules says it once."""
    grade, rules, waiting = str(row["grade"]), len(row["rules"]), len(row["open"])
    counts = [count(rules, "rule")] * bool(rules) + [f"{waiting} open"] * bool(waiting)
    limits = [
        "never allows" if row["allows"] == "never" else "",
        "never denies" if row["denies"] == "never" else "",
        f"allows only if told {', '.join(row['needs'])}" if row["allows"] == "only if told" else "",
    ]
    return "; ".join(filter(None, (grade, "" if " for " in grade else ", ".join(counts), *limits)))


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


# ---- the end of a run ------------------------------------------------------------------------------------------------


def tables(done: Sequence[Version]) -> tuple[Table, ...]:
    """The result tables, where something was measured; the first names the policy."""
    results = read({version.stage: version for version in done}).results
    measured = any(row.get("accuracy") is not None and not row.get("published") for row in results.get("methods", ()))
    return methods(results, str(done[-1].manifest["policy"]["name"])) if measured else ()


def lines(done: Sequence[Version]) -> tuple[str, ...]:
    """The policy's outcome as far as the run came, findings, and the places of what was made, one a line."""
    run = read({version.stage: version for version in done})
    results, draft = _last(done, RESULTS), _last(done, DRAFT)
    rows: list[Line] = [("policy", done[-1].manifest["policy"]["name"]), *run.lines]
    rows += [] if run.guarding else _guards(done)
    rows += [("in force by", run.grades)] * bool(run.grades)
    rows += [*_unmeasured(run.results.get("methods", ())), *_beside(run.results)]
    rows += [("finding", finding) for finding in run.findings]
    rows += [(f"showed {stage[:2]}", text) for stage, text in run.showed]
    if draft and run.counts.get("open"):
        offered = int(draft.manifest["summary"].get("offered", 0))
        rows += [("open sentences", f"of {offered} there are readings to choose from")] * bool(offered)
        rows += [("to decide", f"{draft.folder / DRAFT} ({BESIDE})")]
    rows += _disputed(done)
    wait = client.awaited(done[-1].folder.parents[1] / "replies", str(done[-1].manifest["model"]))
    rows += [("questions", one) for one in wait]
    rows.append(("results", results.folder / RESULTS) if results else ("last stage", done[-1].folder))
    return ("", *(f"{head:17}{text}" for head, text in rows))


def reportable(done: Sequence[Version]) -> bool:
    """Whether the run reached an evaluation, which a report is made of."""
    return _last(done, RESULTS) is not None


def _disputed(done: Sequence[Version]) -> list[Line]:
    """What guards wait for although their sentences are not open, so that no draft names them; the first few."""
    asked, read = _last(done, ASKED), _last(done, SENTENCES)
    if asked is None or read is None:
        return []
    waiting = {row["id"] for row in read.read(SENTENCES) if row["cls"] == "open"}
    found = [one for one in questions.from_json(asked.read(ASKED)) if one.sentence not in waiting and one.tools]
    more = [("", f"and {len(found) - SHOWN} more in {asked.folder / ASKED}")] * (len(found) > SHOWN)
    shown = [
        (
            "guard waits",
            f"{', '.join(one.tools)}: {shortened(one.asks, 240)}; a rule for “{shortened(one.text, 80)}” decides",
        )
        for one in found[:SHOWN]
    ]
    return [*shown, *more]


def _guards(done: Sequence[Version]) -> list[Line]:
    """The guards of a run that ends before they are proved."""
    tested = _last(done, CANDIDATES)
    if tested is None:
        return []
    kinds = tested.manifest["summary"]
    counts = ", ".join(f"{kinds[kind]} {kind}" for kind in runtime.KINDS if kinds.get(kind))
    return [("guards", f"{kinds['tools']}: {counts}; {UNPROVED}")]


def _unmeasured(methods: Sequence[Mapping[str, object]]) -> list[Line]:
    """One line for all methods that have no figures for the same reason."""
    if methods and not any(row.get("accuracy") is not None for row in methods):
        return [("measured", "nothing: this policy has no labelled runs; -p runs=FILE measures it on recorded ones")]
    return [("not run", f"{', '.join(names)}: {reason}") for reason, names in reasons(methods).items()]


def _beside(results: Mapping[str, object]) -> list[Line]:
    """What was measured apart from labelled calls: tests by hand and live runs."""
    tests = [f"{row['guard']} {row['passed']} of {row['tests']}" for row in results.get("guard_tests", ())]
    rows = dict(results.get("live", {})).get("rows", ())
    live = [f"{row['done']} of {row['trials']} {row['wishes']} ({row['agent']}, {row['strategy']})" for row in rows]
    return [("tests by hand", ", ".join(tests))] * bool(tests) + [("live runs", each) for each in live]


def _last(done: Sequence[Version], name: str) -> Version | None:
    """The last version that wrote a file of that name."""
    return next((version for version in reversed(done) if name in version.digests), None)


# ---- the page --------------------------------------------------------------------------------------------------------


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
    Drawing(plots.left, "02", "rounds.json", "rules"),
    Drawing(plots.vagueness, "02", "rounds.json", "rules"),
    Drawing(plots.predicate_graph, "03", "graph.json", "predicates"),
    Drawing(plots.circuit_costs, "03", "costs.json", "tools"),
    Drawing(plots.loss, "04", "weights.json", "tools"),
    Drawing(plots.weights, "04", "weights.json", "rules"),
    Drawing(plots.confusion, "07", "results.json", "results", "methods"),
    Drawing(plots.risk_bars, "07", "results.json", "results", "bars"),
    Drawing(plots.stages, "07", "results.json", "results", "stages"),
    Drawing(plots.guardrails, "07", "results.json", "results", "guardrails"),
    Drawing(plots.pass_k, "07", "results.json", "results", "live.pass_k"),
)


def find(here: Project, name: str | None) -> Version:
    """The version that a run is named by: a key or its first digits, a folder, or the newest of the last stage.

    Raises:
        ArtifactError: there is none, or several keys start so.
    """
    names = [p.name for p in here.artifacts.glob("[0-9][0-9]_*")]
    stages = sorted((stage for stage in names if artifact.versions(here, stage)), reverse=True)
    if not stages:
        raise ArtifactError(f"a finished stage was required in {here.artifacts}; there is none: run `wb run` first")
    if name is None:
        return artifact.newest(here, stages[0])
    versions = [version for stage in stages for version in artifact.versions(here, stage)]
    matches = [v for v in versions if v.folder == Path(name).resolve() or v.key.startswith(name)]
    if len(matches) != 1:
        known = f"{[v.key for v in artifact.versions(here, stages[0])]} of {stages[0]}"
        wanted = f"a run must be one of {known}, any other version's key, or its folder"
        raise ArtifactError(f"{wanted}; got {name!r}, which fits {len(matches)}")
    return matches[0]


def named(here: Project, versions: Sequence[Version]) -> dict[str, Versions]:
    """Each run, by what sets it apart from the others: policy, model, parameters, else code, else its key."""
    runs = [artifact.followed(here, version) for version in versions]
    return dict(zip(names_of(runs), runs, strict=True))


def policies(versions: Iterable[Version]) -> str:
    """The policies that versions are of, each once."""
    return ", ".join(dict.fromkeys(str(version.manifest["policy"]["name"] or "no policy") for version in versions))


def names_of(runs: Sequence[Versions]) -> tuple[str, ...]:
    """A short name for each run, no two alike, such as `max_rounds = 1`.

    Named is what differs: policies and models by their names, parameters as `name = value`, with the stage's number
    only where a run has two values of it, and a module that differs alone by its file and the first digits of its
    digest.  Where that leaves two runs alike, the first six digits of the key are added.
    """
    traits = [_traits(run) for run in runs]
    differing = {name for t in traits for name in t if any(other.get(name) != t[name] for other in traits)}
    modules = sorted(name for name in differing if name.startswith("wb/"))
    plain = differing - {*modules} if len(runs) != 1 else {*TRAITS}
    if len({t.get("policy") for t in traits}) == len({(t.get("policy"), t.get("policy text")) for t in traits}):
        plain -= {"policy text"}  # the policy's name says it
    picked = sorted(plain, key=lambda name: (name != "policy", name != "model", name))
    picked += modules if len(modules) == 1 or (not plain and len(modules) <= 2) else []
    names = [", ".join(t[n] if n in TRAITS else f"{n} = {t[n]}" for n in picked if n in t) for t in traits]
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


def about(runs: Mapping[str, Versions]) -> str:
    """Of which policy runs are, where their names do not say it; of several, that only shapes compare."""
    policies = [v.manifest["policy"] for run in runs.values() for v in run.values() if v.manifest["policy"]["name"]]
    names = " and ".join(sorted({row["name"] for row in policies}))
    if len({row["digest"] for row in policies}) > 1:
        return (
            f"Of different policies or texts ({names}) only shapes compare: counts and levels depend on the document."
        )
    return "" if all(names in name for name in runs) else f"{names}."


def page(runs: Mapping[str, Versions]) -> str:
    """The report on runs by name, as one HTML text."""
    from markupsafe import Markup
    from plotly.offline import get_plotlyjs

    sections = [
        (name, read(run), _versions(run), f"run{number}-" if number > 1 else "")
        for number, (name, run) in enumerate(runs.items(), 1)
    ]
    figures = [_figure(drawing, runs) for drawing in DRAWINGS]
    last = [list(run.values())[-1] for run in runs.values()]
    of = policies(v for v, name in zip(last, runs, strict=True) if not name.startswith(policies([v])))
    title = f"Guards from policies: {f'{of}: ' * bool(of)}{', '.join(runs)}"
    return str(macros().page(title, sections, figures, Markup(get_plotlyjs())))


def macros() -> TemplateModule:
    """The parts of a report, as the macros of its template by name."""
    given = {"methods": methods, "reasons": reasons, "table": partial(show.shares, columns=SHARES)}
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


def drawn(drawing: Drawing, runs: Mapping[str, Versions], **options: object) -> tuple[Figure, str, str]:
    """One figure over all runs that have its data, with what of them does not compare; where they are from, and which
    runs have none."""
    values, keys = {}, []
    for name, run in runs.items():
        version = next((v for stage, v in run.items() if stage.startswith(drawing.number)), None)
        if version and drawing.file in version.digests:
            value = version.read(drawing.file)
            for part in drawing.part.split(".") if drawing.part else ():
                value = value.get(part, {})
            values |= {f"{name}: {k}": v for k, v in value.items()} if drawing.draw is plots.pass_k else {name: value}
            keys.append((name, version.key))
    missing, place = [name for name in runs if name not in dict(keys)], f"{drawing.file} of stage {drawing.number}"
    figure = drawing.draw(values, **options)
    figure = replace(figure, note=" ".join(filter(None, (about(runs), figure.note))))
    lacking = f"{drawing.name}: no {place} in {', '.join(missing)}." if missing else ""
    if figure.empty:
        lacking = lacking or f"{drawing.name}: not drawn, {place} holds nothing to draw."
    return figure, f"From {place}, {', '.join(key for _, key in keys)}.", lacking


def _figure(drawing: Drawing, runs: Mapping[str, Versions]) -> dict[str, object]:
    """One figure with a way to what it shows, or a line that says who has none."""
    from markupsafe import Markup

    made, source, lacking = drawn(drawing, runs, **({"links": True} if drawing.draw is plots.predicate_graph else {}))
    if made.empty:
        return {"drawn": "", "lacking": lacking}
    shown = {"displaylogo": False, "plotlyServerURL": "", "responsive": True}
    page = made.plotly().to_html(full_html=False, include_plotlyjs=False, div_id=drawing.draw.__name__, config=shown)
    return {"drawn": Markup(page), "source": source, "more": drawing.more, "lacking": lacking}


def _versions(run: Versions) -> Table:
    made = ((stage, v.key, v.manifest) for stage, v in run.items())
    rows = ((stage, key, m["mode"], m["recorded"]["seconds"], artifact.summary(m)) for stage, key, m in made)
    return cards.listed("stage, version, mode, seconds, summary", rows)


# ---- figures to share -----------------------------------------------------------------------------------------------


def export(runs: Mapping[str, Versions], folder: Path) -> Path:
    """Write the figures of runs by name, laid over one another; returns the place of the index, which says of which
    policy, parameters and versions they are. What a notebook drew of no file of a stage is there as the CSV it kept.

    Raises:
        ArtifactError: a file was changed or lost since it was written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    parts, names = [], set()
    for drawing in DRAWINGS:
        figure, source, lacking = drawn(drawing, runs)
        names.add(name := drawing.draw.__name__)
        if not figure.empty:
            for end, content in (("svg", figure.picture("svg")), ("png", figure.picture()), ("csv", figure.csv())):
                write_whole(folder / f"{name}.{end}", content)
            links = f'<img src="{name}.svg" style="max-width:100%" alt=""><br><a href="{name}.csv">{name}.csv</a>'
            parts.append(f"{links}{cards.Note(source).inner()}")
        parts += [str(cards.Note(lacking).inner())] * bool(lacking)
    made_of = [(run, version) for run, versions in runs.items() for version in versions.values()]
    for _, version in made_of:
        for file in version.digests:
            if file.startswith(FIGURES) and Path(file).stem not in names:
                write_whole(folder / f"{Path(file).stem}-{version.key}.csv", version.read(file))
    rows = ((run, version.stage, version.key, *_made_with(version.manifest)) for run, version in made_of)
    table = cards.listed("run, stage, key, policy, its digest, model, parameters", rows)
    write_whole(folder / INDEX, f'<!doctype html><meta charset="utf-8">{table.html()}{"".join(parts)}')
    return folder / INDEX


def _made_with(manifest: Mapping) -> tuple[str, str, str, str]:
    values = (f"{name} = {value}" for name, value in manifest["parameters"].items() if name not in TRAITS)
    return manifest["policy"]["name"], manifest["policy"]["digest"][:12], str(manifest["model"]), ", ".join(values)
