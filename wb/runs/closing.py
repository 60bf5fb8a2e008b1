"""How a run ends in the terminal: what came of this policy, what was measured, and where to look."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from wb.bench import summary
from wb.guards import runtime
from wb.rules import sentences
from wb.runs import report
from wb.runs.artifact import Version

SUMMARY, RESULTS, DRAFT = "summary.json", "results.json", "decisions.draft.yaml"
SENTENCES, RULES, CANDIDATES = "sentences.json", "rules.json", "candidates.json"
UNPROVED = "none is proved before 06_nagini_verification, which `wb judge` and `wb.build` run where it is missing"
BESIDE = (
    "copy it beside the policy as decisions.yaml, beside a single document as NAME.decisions.yaml; decide, run again"
)
Rows = tuple[tuple[str, ...], ...]


def tables(done: Sequence[Version]) -> tuple[tuple[str, Rows], ...]:
    """The result tables, where something was measured."""
    results = _found(done, RESULTS)
    if results is None:
        return ()
    measured = any(row.get("accuracy") is not None and not row.get("published") for row in _methods(results))
    return report.tables(results.read(RESULTS)) if measured else ()


def lines(done: Sequence[Version]) -> tuple[str, ...]:
    """The policy's summary as far as the run came, findings, and the places of what was made, one a line."""
    told, readings = _found(done, SUMMARY), _found(done, SENTENCES)
    head = tuple(summary.lines(told.read(SUMMARY))) if told else ()
    counts = _counted(readings) if readings else {}
    rows: list[tuple[str, object]] = [] if told or not readings else _so_far(done, counts)
    parts = [row["part"] for row in readings.read(SENTENCES) if row.get("part")] if readings else []
    rows += [("waived in part", f"{len(parts)}: {', '.join(f'“{part}”' for part in parts)}")] if parts else []
    results = _found(done, RESULTS)
    rows += [*_unmeasured(_methods(results)), *_beside(results.read(RESULTS))] if results else []
    rows += [
        ("finding", f"{v.stage}: {v.manifest['summary']['findings']}")
        for v in done
        if "findings" in v.manifest["summary"]
    ]
    draft = _found(done, DRAFT)
    if draft and counts.get("open"):
        rows += _words(draft.manifest["summary"])
        rows.append(("to decide", f"{draft.folder / DRAFT} ({BESIDE})"))
    rows += [("results", results.folder / RESULTS)] if results else [("last stage", done[-1].folder)]
    return ("", *head, *(f"{name:17}{text}" for name, text in rows))


def _counted(readings: Version) -> dict[str, int]:
    found = Counter(row["cls"] for row in readings.read(SENTENCES))
    return {name: found[name] for name in sentences.CLASSES}


def _words(made: Mapping[str, int]) -> list[tuple[str, object]]:
    """How many lines of words, taken by a person, bring how many open sentences into force."""
    lines, brought, read, lacking = (made.get(name, 0) for name in ("lines", "brought", "read", "lacking"))
    said = [f"{lines} lines of words to accept bring {brought} of them into force by the same checks"] if lines else []
    said += [f"of {read} something was read, which one word accepts"] if read else []
    what = "something was read that lacks a field or a part, the draft says what each needs"
    said += [f"of {lacking} {what}"] if lacking else []
    return [("open sentences", "; ".join(said))] if said else []


def _so_far(done: Sequence[Version], counts: Mapping[str, int]) -> list[tuple[str, object]]:
    """What came of the policy in a run that ends before its guards are proved."""
    rows: list[tuple[str, object]] = [("sentences", summary.classes(counts))]
    rules = [len(version.read(RULES)["rules"]) for version in done if RULES in version.digests]
    said = ", ".join(f"{n} {what}" for n, what in zip(rules, ("read", "after refinement"), strict=False))
    rows += [("rules", said)] if said else []
    if tested := _found(done, CANDIDATES):
        kinds = tested.manifest["summary"]
        guards = ", ".join(f"{kinds[kind]} {kind}" for kind in runtime.KINDS if kinds.get(kind))
        rows.append(("guards", f"{kinds['tools']}: {guards}; {UNPROVED}"))
    return rows


def reportable(done: Sequence[Version]) -> bool:
    """Whether the run reached an evaluation, which a report is made of."""
    return _found(done, RESULTS) is not None


def _unmeasured(methods: Sequence[Mapping[str, object]]) -> list[tuple[str, str]]:
    """One line for all methods that have no figures for the same reason."""
    if methods and not any(row.get("accuracy") is not None for row in methods):
        return [("measured", "nothing: this policy has no labelled runs; -p runs=FILE measures it on recorded ones")]
    by_reason: dict[str, list[str]] = {}
    for row in methods:
        if row.get("reason"):
            by_reason.setdefault(str(row["reason"]), []).append(str(row["method"]))
    return [("not run", f"{', '.join(names)}: {reason}") for reason, names in by_reason.items()]


def _beside(results: object) -> list[tuple[str, str]]:
    """What was measured apart from labelled calls: tests by hand and live runs."""
    if not isinstance(results, Mapping):
        return []
    tests = [f"{row['guard']} {row['passed']} of {row['tests']}" for row in results.get("guard_tests", ())]
    live = [
        f"{row['done']} of {row['trials']} {row['wishes']} ({row['agent']}, {row['strategy']})"
        for row in dict(results.get("live", {})).get("rows", ())
    ]
    return [("tests by hand", ", ".join(tests))] * bool(tests) + [("live runs", one) for one in live]


def _methods(results: Version) -> Sequence[Mapping[str, object]]:
    found = results.read(RESULTS)
    return found.get("methods", ()) if isinstance(found, Mapping) else ()


def _found(done: Sequence[Version], name: str) -> Version | None:
    """The last version that wrote a file of that name."""
    return next((version for version in reversed(done) if name in version.digests), None)
