"""Methods side by side on one benchmark: who ran, with what result, and who could not, and why.

Every guard gets the same turns, recognised once, or the same recorded runs; baselines see the same turns in words
and tell for themselves what is done.  A method that needs a model and has none is listed with that reason, never
with figures; so is every method where a policy has no labelled runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

from wb import paths
from wb.bench import baselines, evaluate, mind2web, recorded
from wb.bench.baselines import Baseline
from wb.bench.evaluate import Scored
from wb.bench.mapping import Read
from wb.bench.mind2web import Benchmark
from wb.bench.recorded import Judged
from wb.domain import answers, events, judging
from wb.domain import policy as documents
from wb.domain.events import Event, Observation, Recognition, Run
from wb.domain.judging import Quoted
from wb.domain.policy import Policy
from wb.domain.tools import Toolbox
from wb.domain.trace import Guard, Verdict
from wb.guards import contract, runtime, synthesis, veriguard
from wb.guards.nagini import Verifier
from wb.guards.runtime import CallGuard
from wb.guards.synthesis import Draft
from wb.models.client import LLM, PREFIX
from wb.rules import residual, sentences
from wb.rules.rule import RuleSet

NO_MODEL = "it asks a model about every turn, and none was given (model = 'offline'), or not all has a reply"
ASKING = ("direct", "rule_traverse", "guardagent")  # the methods that ask a model about every turn
Waiting = Mapping[str, Sequence[Quoted]]  # open sentences, by the tools that they hold
NONE: Waiting = {}
NO_RUNS = "this policy has no labelled runs, so nothing can be counted"


@dataclass(frozen=True, slots=True)
class Turns:
    """What the benchmark's turns were recognised as, with the queries and seconds that it took."""

    found: tuple[Recognition, ...]
    queries: int
    seconds: float

    @property
    def sure(self) -> int:
        """How many turns are one thing for sure."""
        return sum(recognition.sure for recognition in self.found)

    def __str__(self) -> str:
        if not self.found:
            return "there is no free-text turn"
        return f"{self.sure} of {len(self.found)} turns are one thing for sure"


@dataclass(frozen=True, slots=True)
class Measured:
    """One method's outcomes on the benchmark, with the queries and seconds of its way from a turn to a verdict."""

    method: str
    outcomes: tuple[Scored, ...]
    queries: int
    seconds: float
    near: tuple[str, ...] | None = None  # its near misses (`recorded.near_misses`), where they are counted


def recognised(benchmark: Benchmark, toolbox: Toolbox, llm: LLM) -> Turns:
    """The free-text turns of a benchmark as steps of the toolbox; calls of recorded runs are told already."""
    texts = [case.observation for case in benchmark.cases]
    if benchmark.runs:
        texts = [event.what for event in _events(benchmark) if isinstance(event.what, Observation)]
    found, queries, seconds = _watched(llm, lambda: events.recognise(texts, toolbox, llm) if texts else ())
    return Turns(found, queries, seconds)


def measured(guard: Guard, benchmark: Benchmark, turns: Turns, answerer: LLM | None = None) -> Measured:
    """A guard's outcomes; the cost of recognising the turns is part of its cost, and so is what `answerer` is asked
    about recorded conversations."""
    began = time.perf_counter()
    if not benchmark.runs:
        outcomes = evaluate.run(guard, benchmark.cases, turns.found)
        return Measured(guard.name, outcomes, turns.queries, turns.seconds + time.perf_counter() - began)
    told, answer = iter(turns.found), answers.about(answerer) if answerer is not None else None

    def calls() -> list[Judged]:  # in the order of the cases
        runs = (
            recorded.judge(guard, run.events, lambda some: [next(told) for _ in some], answer) for run in benchmark.runs
        )
        return [call for run in runs for call in run]

    judged, queries, seconds = _watched(answerer, calls)
    near = recorded.near_misses(guard, _events(benchmark), {call.id: call.verdict for call in judged})
    return Measured(guard.name, recorded.outcomes(judged), turns.queries + queries, turns.seconds + seconds, near)


def judged(
    name: str, policy: Policy, ruleset: RuleSet, runs: Sequence[Run], llm: LLM, batch: int = 1, waiting: Waiting = NONE
) -> list[Judged]:
    """A baseline's verdicts on the labelled calls of recorded runs, each with its share of the queries; `waiting` are
    the open sentences of each tool.

    The seconds are those of waiting for the model; None where a reply was recorded before, or pasted.

    Raises:
        ValueError: there is no such baseline, no labelled call, or a question without a reply: nothing is measured by
            halves.
    """
    if name not in ASKING or not is_model(llm):
        raise ValueError(f"a baseline of {list(ASKING)} and --model NAME were required; got {name!r} and {llm.name!r}")
    cases = [(run.id, *case) for run in runs for case in recorded.seen(run, policy.toolbox)]
    if not cases:
        raise ValueError(f"calls with a label were required; got none in {len(runs)} runs")
    seen = [baselines.observed(turn, name=case) for _, case, turn, _ in cases]
    before, failed = llm.ledger.total, llm.ledger.failed
    method = _asking(name, policy, ruleset, llm, batch)
    verdicts = [_apart(method, c[2], v, waiting) for c, v in zip(cases, method.decide_all(seen), strict=True)]
    if missing := llm.ledger.failed - failed:
        raise ValueError(f"a reply to every question was required; {missing} have none yet")
    used = llm.ledger.total
    live = used.replayed == before.replayed and not llm.name.startswith(PREFIX)
    share = (used.queries - before.queries) / len(cases), (used.seconds - before.seconds) / len(cases) if live else None
    return [
        Judged(run, int(case.rpartition("#")[2]), turn.target_action.partition("(")[0], label, verdict, (), *share)
        for (run, case, turn, denied), verdict in zip(cases, verdicts, strict=True)
        for label in ("deny" if denied else "allow",)
    ]


def _asking(name: str, policy: Policy, ruleset: RuleSet, llm: LLM, batch: int = 1) -> Baseline:
    """The baseline of that name, one of `ASKING`."""
    if name == "direct":
        return baselines.Direct(policy, llm, batch)
    if name == "rule_traverse":
        return baselines.RuleTraverse(ruleset, llm, policy.toolbox, batch)
    return baselines.GuardAgent(policy, llm)


def _apart(method: Baseline, turn: Observation, verdict: Verdict, waiting: Waiting) -> Verdict:
    """A verdict on a recorded call; one of rule traversal that allows while no rule in force concerns the tool says
    so, as guards do, and is undecided where open sentences bear on it."""
    tool = turn.target_action.partition("(")[0]
    if not isinstance(method, baselines.RuleTraverse) or verdict.decision != "allow":
        return verdict
    if any(residual.bearing(rule, tool, method.ruleset) is not None for rule in method.ruleset.rules):
        return verdict
    return judging.held(replace(verdict, reason=f"{tool}: {runtime.FREE}"), tool, waiting.get(tool, ()))


def keywords(policy: Policy, benchmark: Benchmark) -> Measured:
    """The plain keyword baseline."""
    return _compared(baselines.Keywords(policy), benchmark)


def asked(
    policy: Policy, ruleset: RuleSet, benchmark: Benchmark, llm: LLM, waiting: Waiting = NONE
) -> tuple[Measured, ...]:
    """The baselines that ask a model about every turn; none with the offline engine, a model whose replies a person
    pastes, or without turns.  One of which a question has no reply was not measured."""
    if not is_model(llm) or llm.name.startswith(PREFIX) or not benchmark.cases:
        return ()
    found = []
    for name in ASKING:
        failed = llm.ledger.failed
        one = _compared(_asking(name, policy, ruleset, llm), benchmark, llm, waiting)
        found += [one] if llm.ledger.failed == failed else []
    return tuple(found)


def _compared(method: Baseline, benchmark: Benchmark, llm: LLM | None = None, waiting: Waiting = NONE) -> Measured:
    """A baseline's outcomes on the turns in words."""
    seen = [baselines.observed(case.observation, name=case.id) for case in benchmark.cases]
    verdicts, queries, seconds = _watched(llm, lambda: method.decide_all(seen))
    if benchmark.runs:  # whose calls name their tool
        verdicts = [_apart(method, c.observation, v, waiting) for c, v in zip(benchmark.cases, verdicts, strict=True)]
    outcomes = (Scored(c.id, c.denied, verdict) for c, verdict in zip(benchmark.cases, verdicts, strict=True))
    return Measured(method.name, tuple(outcomes), queries, seconds)


def bare(
    name_or_path: str | Path,
    document: str,
    benchmark: Benchmark,
    turns: Turns,
    llm: LLM,
    read: Read,
    verifier: Verifier | None = None,
) -> tuple[Measured, ...]:
    """Guards (tested; with a prover also proved) and keywords from a shorter document beside the policy, if any."""
    folder = paths.folder(documents.place(name_or_path))
    if not (folder / document).is_file():
        return ()
    short = documents.load(folder, document=document)
    provers = (None, verifier) if verifier else (None,)
    guards = [shortcut(short, llm, read, prover).guard for prover in provers]
    return *(measured(guard, benchmark, turns) for guard in guards), keywords(short, benchmark)


@dataclass(frozen=True)
class Shortcut:
    """The rules read from a policy, the guards' drafts with all their attempts, and the guard that runs them.

    The guard runs proved code alone if there was a prover, else tested code.
    """

    ruleset: RuleSet
    drafts: tuple[Draft, ...]
    guard: CallGuard


def shortcut(policy: Policy, llm: LLM, read: Read, verifier: Verifier | None = None) -> Shortcut:
    """A policy to guards without refinement or weights, to look at it beside the main one; with a prover also proved.

    Raises:
        PolicyError: no sentence of the document states a constraint.
        ModelError: a request failed in a way that all further ones would.
    """
    found = read(policy)
    classed = sentences.classify(policy, found)
    required = contract.contracts(found.toolbox, classed.ruleset)
    concerning = {c.tool: synthesis.concerning(c, classed.ruleset, found.clauses) for c in required}
    revise = synthesis.reviser(concerning, llm)
    drafts = synthesis.synthesise(synthesis.write(required, concerning, found.toolbox, llm), revise)
    if verifier is not None:
        drafts = veriguard.prove(drafts, revise, verifier)
    guarded = [synthesis.guarded(draft) for draft in drafts]
    waiting = sentences.open_on(classed.accounts)
    name = "toolguard" if verifier is None else "veriguard"
    return Shortcut(classed.ruleset, drafts, runtime.accepting(name, classed.ruleset, guarded, found.toolbox, waiting))


def table(methods: Sequence[Measured], benchmark: Benchmark) -> list[dict[str, object]]:
    """All rows of the result table: the methods that ran on every split, those that did not, and published ones."""
    others = [name for name in ASKING if name not in {method.method for method in methods}]
    if not benchmark.cases:
        return [evaluate.not_run(name, NO_RUNS) for name in (*(method.method for method in methods), *others)]
    rows = counted(methods, benchmark) + [evaluate.not_run(name, NO_MODEL) for name in others]
    return rows + [evaluate.published(row) for row in mind2web.PUBLISHED if not benchmark.runs]


def counted(methods: Sequence[Measured], benchmark: Benchmark) -> list[dict[str, object]]:
    """The rows of the methods that ran, one a split; none without labelled runs."""
    return [row for m in methods for row in _rows(m, benchmark)]


def differences(methods: Sequence[Measured]) -> list[dict[str, object]]:
    """McNemar's exact test for each pair of methods that judged the same turns."""
    pairs = [(a, b) for a, b in combinations(methods, 2) if a.outcomes]
    tests = [evaluate.mcnemar(a.outcomes, b.outcomes)._asdict() for a, b in pairs]
    return [{"first": a.method, "second": b.method, **test} for (a, b), test in zip(pairs, tests, strict=True)]


def by_run(methods: Sequence[Measured], benchmark: Benchmark) -> list[dict[str, object]]:
    """How many recorded runs each method is right about as a whole: in all their labelled calls, in all that are to be
    denied, in all that are to be allowed; and how many calls came out right without the facts that their rules need
    (near misses); none without recorded runs."""
    rows: list[dict[str, object]] = []
    for method in methods if benchmark.runs else ():
        runs: dict[str, list[Scored]] = {}
        for outcome in method.outcomes:
            runs.setdefault(outcome.case.rpartition("#")[0], []).append(outcome)
        row: dict[str, object] = {"method": method.method, **_whole(runs.values(), "runs", "every call right")}
        for denied, what, right in ((True, "to deny", "every one denied"), (False, "to allow", "every one allowed")):
            some = [found for run in runs.values() if (found := [one for one in run if one.denied is denied])]
            row |= _whole(some, f"with calls {what}", right)
        rows.append(row | {"near misses": None if method.near is None else len(method.near)})
    return rows


def _whole(runs: Collection[Sequence[Scored]], what: str, right: str) -> dict[str, object]:
    return {what: len(runs), right: sum(all(one.right for one in run) for run in runs)}


def headline(final: Measured, benchmark: Benchmark) -> dict[str, object]:
    """The final guard's result in a few numbers, for the stage's summary: accuracy and recall by split."""
    if not benchmark.cases:
        return {"measured": NO_RUNS}
    rows = [(row["split"].replace(" ", "_"), row) for row in _rows(final, benchmark)]
    rates = {f"{rate}_{split}": row[rate] for split, row in rows for rate in ("accuracy", "recall")}
    return {name: round(value, 4) for name, value in rates.items() if value is not None}


def is_model(llm: LLM) -> bool:
    """Whether the engine is a model that can be asked anything; the offline engine answers its own roles only."""
    return llm.name != "offline"


def _watched[T](llm: LLM | None, work: Callable[[], T]) -> tuple[T, int, float]:
    """A result, the queries it took and the seconds."""
    before, began = llm.ledger.total.queries if llm else 0, time.perf_counter()
    result = work()
    return result, llm.ledger.total.queries - before if llm else 0, time.perf_counter() - began


def _rows(m: Measured, benchmark: Benchmark) -> list[dict[str, object]]:
    cost = {"queries": m.queries, "seconds": m.seconds}
    return evaluate.rows(m.method, m.outcomes, benchmark.tuned, **cost, parts=benchmark.parts)


def _events(benchmark: Benchmark) -> Iterator[Event]:
    return (event for run in benchmark.runs for event in run.events)
