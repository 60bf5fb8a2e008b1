"""What a guard said of recorded calls, as JSON rows and as tables for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from wb.bench import evaluate, recorded
from wb.bench.recorded import Judged
from wb.domain.events import Label
from wb.domain.judging import Judge
from wb.guards.runtime import CallGuard

SHOWN = 100  # characters of a sentence in a table
MOST = 8  # reasons of a kind
Denied = tuple[str, Label | None]  # a tool and a label
Rows = tuple[tuple[str, ...], ...]


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
        **label,
    }


def tables(
    judged: Iterable[Judged], quotes: Mapping[str, str], sentences: Mapping[str, str]
) -> tuple[tuple[str, Rows], ...]:
    """The decisions by tool, beside the labels where there are any, and what they rest on; each table with a title."""
    judged = tuple(judged)
    found = [(f"{_many(len(judged), 'call')} in {_many(len({j.run for j in judged}), 'run')}", _by_tool(judged))]
    if any(j.label for j in judged):
        found.append((_right(judged), _by_label(judged)))
    stopped = [j.verdict for j in judged if j.verdict.decision != "allow"]
    reasons = (
        ("Rules that were broken", (quotes.get(name, name) for v in stopped for name in v.violated)),
        ("Open sentences", (sentences.get(name, name) for v in stopped for name in v.open)),
        ("Facts that would decide", (name for v in stopped for name in v.missing)),
    )
    found += [(title, _counted(what)) for title, what in reasons]
    return tuple((title, rows) for title, rows in found if len(rows) > 1)


def denied(judged: Judged) -> tuple[Denied, ...]:
    """The tool and the label of a call that was denied; none for another."""
    return ((judged.tool, judged.label),) if judged.verdict.decision == "deny" else ()


def unguarded(denials: Counter[Denied], guard: Judge) -> tuple[str, ...]:
    """A line that says how many denials say nothing of the call, because its tool has no guard that may run."""
    tools = guard.unguarded if isinstance(guard, CallGuard) else frozenset()
    found = Counter({pair: n for pair, n in denials.items() if pair[0] in tools})
    if not found:
        return ()
    right = sum(n for (_, label), n in found.items() if label == "deny")
    labelled = f" ({right} of them labelled deny)" if any(label for _, label in found) else ""
    says = f"{found.total()} of {_many(denials.total(), 'denial')}{labelled} say nothing of the call: its tool has no "
    return (f"{says}{' or '.join(sorted(guard.accepted, reverse=True))} guard, so that every call of it is denied",)


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _by_tool(judged: Sequence[Judged]) -> Rows:
    rows = [("tool", "calls", "allowed", "denied", "undecided")]
    for tool in sorted({j.tool for j in judged}):
        rows.append((tool or "(not one for sure)", *_decisions(j for j in judged if j.tool == tool)))
    return (*rows, ("all", *_decisions(judged)))


def _by_label(judged: Sequence[Judged]) -> Rows:
    rows = [("label", "calls", "allowed", "denied", "undecided")]
    return (
        *rows,
        *((f"to {label}", *_decisions(j for j in judged if j.label == label)) for label in ("allow", "deny")),
    )


def _decisions(judged: Iterable[Judged]) -> tuple[str, ...]:
    found = Counter(j.verdict.decision for j in judged)
    return str(found.total()), *(str(found[decision]) for decision in ("allow", "deny", "undecided"))


def _right(judged: Sequence[Judged]) -> str:
    counts = evaluate.confusion(recorded.outcomes(judged))
    value, low, high = evaluate.rates(counts)["accuracy"]
    right = f"{counts.tp + counts.tn} of {_many(counts.n, 'labelled call')} decided as labelled"
    unsure = f", {counts.undecided} of them undecided, which does not run" * bool(counts.undecided)
    return f"{right}: {100 * value:.1f} % [{100 * low:.0f}, {100 * high:.0f}]{unsure}"


def _counted(what: Iterable[str]) -> Rows:
    found = Counter(what)
    shown = [(str(n), text if len(text) <= SHOWN else text[:SHOWN] + "…") for text, n in found.most_common(MOST)]
    more = [("", f"and {len(found) - MOST} more")] if len(found) > MOST else []
    return (("times", "what"), *shown, *more)
