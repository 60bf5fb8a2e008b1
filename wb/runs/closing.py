"""How a run ends in the terminal: what came of this policy, what was measured, and where to look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wb.guards import runtime
from wb.runs import outcome, report
from wb.runs.artifact import Version
from wb.runs.cards import Table

RESULTS, DRAFT, CANDIDATES = "results.json", "decisions.draft.yaml", "candidates.json"
UNPROVED = "none is proved before 06_nagini_verification, which `wb judge` and `wb.build` run where it is missing"
BESIDE = (
    "copy it beside the policy as decisions.yaml, beside a single document as NAME.decisions.yaml; decide, run again"
)
Row = tuple[str, object]


def tables(done: Sequence[Version]) -> tuple[Table, ...]:
    """The result tables, where something was measured; the first names the policy."""
    results = _results(done)
    measured = any(row.get("accuracy") is not None and not row.get("published") for row in results.get("methods", ()))
    return report.methods(results, str(done[-1].manifest["policy"]["name"])) if measured else ()


def lines(done: Sequence[Version]) -> tuple[str, ...]:
    """The policy's outcome as far as the run came, findings, and the places of what was made, one a line."""
    run = outcome.read({version.stage: version for version in done})
    results, draft = _last(done, RESULTS), _last(done, DRAFT)
    rows: list[Row] = [("policy", done[-1].manifest["policy"]["name"]), *run.lines]
    rows += [] if run.guarding else _guards(done)
    rows += [("in force by", run.grades)] * bool(run.grades)
    rows += [*_unmeasured(run.results.get("methods", ())), *_beside(run.results)]
    rows += [("finding", finding) for finding in run.findings]
    if draft and run.counts.get("open"):
        offered = int(draft.manifest["summary"].get("offered", 0))
        rows += [("open sentences", f"of {offered} there are readings to choose from")] * bool(offered)
        rows += [("to decide", f"{draft.folder / DRAFT} ({BESIDE})")]
    rows.append(("results", results.folder / RESULTS) if results else ("last stage", done[-1].folder))
    return ("", *(f"{head:17}{text}" for head, text in rows))


def reportable(done: Sequence[Version]) -> bool:
    """Whether the run reached an evaluation, which a report is made of."""
    return _last(done, RESULTS) is not None


def _guards(done: Sequence[Version]) -> list[Row]:
    """The guards of a run that ends before they are proved."""
    tested = _last(done, CANDIDATES)
    if tested is None:
        return []
    kinds = tested.manifest["summary"]
    counts = ", ".join(f"{kinds[kind]} {kind}" for kind in runtime.KINDS if kinds.get(kind))
    return [("guards", f"{kinds['tools']}: {counts}; {UNPROVED}")]


def _unmeasured(methods: Sequence[Mapping[str, object]]) -> list[Row]:
    """One line for all methods that have no figures for the same reason."""
    if methods and not any(row.get("accuracy") is not None for row in methods):
        return [("measured", "nothing: this policy has no labelled runs; -p runs=FILE measures it on recorded ones")]
    return [("not run", f"{', '.join(names)}: {reason}") for reason, names in report.reasons(methods).items()]


def _beside(results: Mapping[str, object]) -> list[Row]:
    """What was measured apart from labelled calls: tests by hand and live runs."""
    tests = [f"{row['guard']} {row['passed']} of {row['tests']}" for row in results.get("guard_tests", ())]
    live = [
        f"{row['done']} of {row['trials']} {row['wishes']} ({row['agent']}, {row['strategy']})"
        for row in dict(results.get("live", {})).get("rows", ())
    ]
    return [("tests by hand", ", ".join(tests))] * bool(tests) + [("live runs", each) for each in live]


def _results(done: Sequence[Version]) -> Mapping[str, object]:
    version = _last(done, RESULTS)
    results = version.read(RESULTS) if version else {}
    return results if isinstance(results, Mapping) else {}


def _last(done: Sequence[Version], name: str) -> Version | None:
    """The last version that wrote a file of that name."""
    return next((version for version in reversed(done) if name in version.digests), None)
