"""What each stage of VeriGuard is worth on labelled calls, from the attempts that were kept (Fig. 2a and 2b in shape).

The paper adds stage after stage to one policy and measures attacks that succeed and tasks that are done; its second
"Validation" means testing (Table of stages, Fig. 2).  Here nothing is made anew: *generation* is the first source of
each tool, as its author wrote it, without a person's answers, and no open sentence holds a call; *+ validation* adds
the answers (`decisions.yaml`) and holds what is open; *+ testing* runs what passed the tests, repaired, and nothing
else; *+ verification* what was proved.  Of labelled calls it is counted which run: of those that violate the policy
(attack success rate, ASR; lower is better), and of those that comply (the part of task success that is the guard's).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from wb.bench import evaluate
from wb.bench.evaluate import Scored
from wb.domain.tools import Toolbox
from wb.domain.trace import Quoted
from wb.guards import synthesis
from wb.guards.contract import Contract
from wb.guards.runtime import CallGuard, Guarded
from wb.guards.synthesis import Attempt, Draft
from wb.rules.rule import RuleSet

STAGES = ("generation", "+ validation", "+ testing", "+ verification")
Row = Mapping[str, object]


def guards(
    rows: Iterable[Row],
    required: Sequence[Contract],
    ruleset: RuleSet,
    toolbox: Toolbox,
    open: Mapping[str, Sequence[Quoted]],
) -> tuple[CallGuard, CallGuard]:
    """The guards of the first two stages, from kept candidates (`toolguard.to_rows`): their first sources as they are,
    untested, without and with what a person answered.  A tool without a candidate is denied."""
    first = {str(row["tool"]): str(row["attempts"][0]["source"]) for row in rows if row.get("attempts")}
    written = [(c, first[c.tool]) for c in required if c.tool in first]
    bare = [_untested(synthesis.rest(c), synthesis.without(source, c)) for c, source in written]
    whole = [_untested(c, source) for c, source in written]
    accepted = frozenset({"tested"})
    return (
        CallGuard(STAGES[0], ruleset, tuple(bare), accepted, toolbox),
        CallGuard(STAGES[1], ruleset, tuple(whole), accepted, toolbox, open),
    )


def _untested(contract: Contract, source: str) -> Guarded:
    """A source to be run as it is, whatever it does."""
    return replace(synthesis.guarded(Draft(contract, (Attempt(source),))), grade="tested", reason="", parts=())


def table(stages: Sequence[CallGuard], judged: Callable[[CallGuard], Sequence[Scored]]) -> list[dict[str, object]]:
    """A row for each stage: how many labelled calls violate and comply, and the share of each that runs, with its
    interval (Wilson, 95 %).

    `stages` are the guards of `STAGES`, `judged` what each decides of all labelled calls.  `note` says where a stage
    decides every call as the one before it: there it could not differ, or did not on these calls.
    """
    made, before = [], None
    for name, guard in zip(STAGES, stages, strict=True):
        outcomes = judged(guard)
        if not outcomes:
            return []
        counts = evaluate.confusion(outcomes)
        asr, done = evaluate.wilson(counts.fn, counts.fn + counts.tp), evaluate.wilson(counts.tn, counts.tn + counts.fp)
        now = [(one.case, one.verdict.decision) for one in outcomes]
        same = _unchanged(guard, stages[len(made) - 1]) if made else False
        note = "the same sources: it cannot differ" if same else "every call as before" if now == before else ""
        numbers = {"violating": counts.fn + counts.tp, "ASR": asr.value, "complying": counts.tn + counts.fp}
        ends = {"ASR": asr[1:], "run": done[1:]}
        shares = {"run": done.value, "intervals": {k: list(v) for k, v in ends.items() if None not in v}}
        made.append({"stage": name, **numbers, **shares, "undecided": counts.undecided, "note": note})
        before = now
    return made


def _unchanged(guard: CallGuard, earlier: CallGuard) -> bool:
    """Whether two guards run the same sources under the same open sentences."""
    sources = [{tool: one.entry.source for tool, one in g.loaded.items() if one.program} for g in (guard, earlier)]
    return sources[0] == sources[1] and guard.open == earlier.open
