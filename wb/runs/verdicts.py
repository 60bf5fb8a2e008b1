"""What a guard said of recorded calls, as JSON rows and as tables for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from wb.bench import evaluate, recorded
from wb.bench.recorded import Judged
from wb.domain import events
from wb.domain.events import Label
from wb.domain.judging import Judge
from wb.guards.runtime import CallGuard
from wb.runs.cards import Table, count, listed, shortened

SHOWN = 100  # characters of a sentence in a table
MOST = 8  # reasons of a kind
Denied = tuple[str, Label | None]  # a tool and a label


def row(judged: Judged, quotes: Mapping[str, str], sentences: Mapping[str, str]) -> dict[str, object]:
    """One call as a JSON object; `quotes` are the sentences of rules by rule, `sentences` texts by sentence."""
    verdict = judged.verdict
    label = {} if judged.label is None else {"label": judged.label}
    return {
        "run": judged.run,
        "index": judged.index,
        "tool": judged.tool,
        "decision": verdict.decision,
        "violated": [{"rule": rule, "quote": quotes.get(rule, "")} for rule in verdict.violated],
        "missing": list(verdict.missing),
        "open": [{"sentence": name, "text": sentences.get(name, "")} for name in verdict.open],
        "grade": verdict.grade,
        "reason": verdict.reason,
        **({"answers": [events.to_json(one) for one in judged.answers]} if judged.answers else {}),
        **label,
    }


def tables(
    judged: Iterable[Judged], quotes: Mapping[str, str], sentences: Mapping[str, str], policy: str = ""
) -> tuple[Table, ...]:
    """The decisions by tool, beside the labels where there are any, and what they rest on; the first table names the
    policy."""
    judged = tuple(judged)
    stopped = [j.verdict for j in judged if j.verdict.decision != "allow"]
    size = f"{count(len(judged), 'call')} in {count(len({j.run for j in judged}), 'run')}"
    made = [_by_tool(judged, f"{policy}: {size}" if policy else size)]
    if any(j.label for j in judged):
        rows = ((f"to {label}", [j for j in judged if j.label == label]) for label in ("allow", "deny"))
        made.append(_decisions("label", rows, _right(judged)))
    made += [
        _counted("Rules that were broken", (quotes.get(name, name) for v in stopped for name in v.violated)),
        _counted("Open sentences", (sentences.get(name, name) for v in stopped for name in v.open)),
        _counted("Facts that would decide", (name for v in stopped for name in v.missing)),
    ]
    return tuple(table for table in made if table.rows)


def denied(judged: Judged) -> tuple[Denied, ...]:
    """The tool and the label of a call that was denied; none for another."""
    return ((judged.tool, judged.label),) if judged.verdict.decision == "deny" else ()


def unguarded(denials: Counter[Denied], guard: Judge) -> tuple[str, ...]:
    """A line that says how many denials say nothing of the call, because its tool has no guard that may run."""
    tools = guard.unguarded if isinstance(guard, CallGuard) else frozenset()
    empty = Counter({pair: n for pair, n in denials.items() if pair[0] in tools})
    if not empty:
        return ()
    right = sum(n for (_, label), n in empty.items() if label == "deny")
    labelled = f" ({right} of them labelled deny)" if any(label for _, label in empty) else ""
    says = f"{empty.total()} of {count(denials.total(), 'denial')}{labelled} say nothing of the call: its tool has no "
    return (f"{says}{' or '.join(sorted(guard.accepted, reverse=True))} guard, so that every call of it is denied",)


def _by_tool(judged: Sequence[Judged], title: str) -> Table:
    tools = sorted({j.tool for j in judged})
    rows = [(tool or "(not one for sure)", [j for j in judged if j.tool == tool]) for tool in tools]
    return _decisions("tool", [*rows, ("all", judged)], title)


def _decisions(head: str, rows: Iterable[tuple[str, Sequence[Judged]]], title: str) -> Table:
    numbers = ((name, len(group), Counter(j.verdict.decision for j in group)) for name, group in rows)
    counts = ((name, n, *(of[kind] for kind in ("allow", "deny", "undecided"))) for name, n, of in numbers)
    return listed(f"{head}, calls, allowed, denied, undecided", counts, title)


def _right(judged: Sequence[Judged]) -> str:
    counts = evaluate.confusion(recorded.outcomes(judged))
    value, low, high = evaluate.rates(counts)["accuracy"]
    right = f"{counts.tp + counts.tn} of {count(counts.n, 'labelled call')} decided as labelled"
    unsure = f", {counts.undecided} of them undecided, which does not run" * bool(counts.undecided)
    return f"{right}: {100 * value:.1f} % [{100 * low:.0f}, {100 * high:.0f}]{unsure}"


def _counted(title: str, texts: Iterable[str]) -> Table:
    counts = Counter(texts)
    more = [("", f"and {len(counts) - MOST} more")] if len(counts) > MOST else []
    rows = [(n, shortened(text, SHOWN)) for text, n in counts.most_common(MOST)]
    return listed("times, what", [*rows, *more], title)
