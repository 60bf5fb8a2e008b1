"""Forty faults planted in guards of our own policies, forty sound guards beside them, and what finds the faults.

    python tests/bench/planted_guards.py [--prove]

The cases stand in `tests/tables/planted_guards.txt`: kind, tool, what is wrong; `~ OLD => NEW` changes a condition of
the contract, `! HOW` forges what is kept of a proof; then the body of the guard.  Each is put through what stage 05
does, with an author who mends a guard so that it fits its contract, whatever that says; what has no complaint goes on
to Nagini, all in one run, with `--prove`.  `--all` says of each whether it were *bounded*, had the prover no time.

A fault is *found* by a **test** that replays it (arguments on which the guard does not do what its contract says), by a
**refusal** that names it, or by a **question** to a person.  A contract that was changed has to become a question or a
refusal: a test that follows the contract blames the sound guard.
"""

from __future__ import annotations

# ruff: noqa: E402
import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from test_loops import guard as of_lists

from wb.domain import policy as documents
from wb.domain.tools import Toolbox
from wb.guards import bounded, evidence, nagini, reading, runtime, scenes, synthesis, veriguard
from wb.guards import contract as contracts
from wb.guards.bounded import Bound
from wb.guards.contract import Contract
from wb.guards.runtime import CallGuard
from wb.guards.synthesis import Attempt, Complaint, Draft
from wb.offline import reader
from wb.rules import decisions, sentences
from wb.rules.rule import RuleSet

CASES = ROOT / "tests" / "tables" / "planted_guards.txt"
EMPTY = RuleSet((), ())
NEEDS = {"reversed contract": "question", "forged proof": "refusal", "endless loop": "refusal"}  # else anything


class Case(NamedTuple):
    """A guard with its contract: what is planted in it, the policy and tool, the name of the case."""

    kind: str
    of: str
    name: str
    contract: Contract
    ruleset: RuleSet
    source: str
    forged: str


class Outcome(NamedTuple):
    """How a fault was found, empty where it was not, at which stage, and what was said."""

    how: str
    stage: str
    said: str
    arguments: tuple = ()


@cache
def required(policy: str) -> tuple[RuleSet, dict[str, Contract]]:
    """The rules and contracts of a policy."""
    source = documents.load(policy)
    ruled = decisions.load(decisions.place(documents.place(policy)), source)
    ruleset = sentences.classify(source, reader.extracted(source), ruled).ruleset
    return ruleset, {one.tool: one for one in contracts.contracts(source.toolbox, ruleset)}


def changed(one: Contract, old: str, new: str) -> Contract:
    """The contract with one condition changed."""
    items = tuple(replace(i, condition=new) if i.condition == old else i for i in one.items)
    if items == one.items:
        raise ValueError(f"one of the conditions {one.conditions} was required; got {old!r}")
    return replace(one, items=items)


def cases() -> tuple[Case, ...]:
    """All cases of the table."""
    found = []
    for block in CASES.read_text("utf-8").split("# ")[1:]:
        head, *lines = block.strip().splitlines()
        kind, of, name = head.split(" | ")
        policy, tool = of.split("/", 1)
        if policy == "lists":
            one, guard = of_lists(tool)
            ruleset = guard.ruleset
        else:
            ruleset, known = required(policy)
            one = known[tool]
        forged = ""
        while lines[0][0] in "~!":
            sign, line = lines[0][0], lines.pop(0)[2:]
            if sign == "~":
                one = changed(one, *line.split(" => "))
            else:
                forged = line
        body = "\n".join(f"    {line}" for line in lines)
        found.append(Case(kind, of, name, one, ruleset, f"{one.signature}\n{body}\n", forged))
    return tuple(found)


def fitting(drafts: Sequence[Draft]) -> list[Attempt]:
    """An author who makes a guard fit, whatever its contract says."""
    return [Attempt(synthesis.of_rules(draft.contract)) for draft in drafts]


def tested(every: Sequence[Case]) -> list[tuple[Draft, Outcome]]:
    """Each guard after stage 05, with what was found there."""
    drafts = [Draft(case.contract, (Attempt(case.source),)) for case in every]
    drafts = synthesis.synthesise(drafts, fitting, checks=synthesis.checks(), max_rounds=1)
    drafts = [one for draft in drafts for one in reading.kept_apart([draft], {}, Toolbox(()))]
    return [
        (draft, outcome(case, draft, draft.attempts[0].complaints)) for case, draft in zip(every, drafts, strict=True)
    ]


def outcome(case: Case, draft: Draft, complaints: Sequence[Complaint], stage: str = "") -> Outcome:
    """How what was said of a guard finds its fault."""
    shown = [one for one in complaints if one.arguments]
    if shown and case.kind != "reversed contract" and replays(case, draft):
        return Outcome("test", stage or f"05 {shown[0].check}", shown[0].message, shown[0].arguments)
    if draft.findings:
        return Outcome("question", stage or "05", synthesis.guarded(draft).reason)
    named = [one for one in complaints if not one.arguments]
    return Outcome("refusal", stage or f"05 {named[0].check}", named[0].message) if named else Outcome("", "", "")


def replays(case: Case, draft: Draft) -> bool:
    """Whether tests were kept of what broke a guard, each of which fails on it and passes on the mended one."""
    kept, before = scenes.replays([draft], case.ruleset)
    guard = CallGuard("mended", case.ruleset, (synthesis.guarded(draft),), scenes.ACCEPTED)
    failed = scenes.wrong(scenes.Tested(guard, before=before), kept)
    mended = len(draft.attempts) > 1
    return bool(kept) and failed == kept and (not mended or not scenes.wrong(scenes.Tested(guard), kept))


def forged(case: Case, folder: Path, verifier: nagini.Verifier) -> Outcome:
    """What becomes of kept evidence that was forged."""
    sound = contracts.assemble(synthesis.of_rules(case.contract), case.contract)
    wrong = contracts.assemble(case.source, case.contract)
    if case.forged == "proof":
        told = nagini.Proof("proved", (), nagini.digest(nagini.canonical(wrong)))
        row = {"status": told.status, "findings": [], "digest": told.digest, "seal": "0" * 64}
        (folder / f"{told.digest}.json").write_text(json.dumps(row), "utf-8")
        draft = veriguard.asked(case.contract, case.source, verifier)
        return Outcome("refusal" * bool(draft.complaints), "06 proof", synthesis.guarded(draft).reason)
    grade = "error" if case.forged == "grade" else "proved"
    source = wrong if case.forged == "grade" else sound
    (row,) = evidence.to_rows(
        [runtime.Guarded(case.contract, source, grade, "it failed" * (grade == "error"))], EMPTY, {}
    )
    row |= {"grade": {"grade": "proved", "reason": ""}, "source": {"source": wrong}}.get(
        case.forged, {"source": wrong, "sha256": runtime.digest(wrong)}
    )
    (entry,) = evidence.from_rows([row], [case.contract], EMPTY, {})
    return Outcome("refusal" if entry.grade == "error" else "", "load", entry.reason)


def main() -> int:
    """Print one line a case that is not as it should be, then the counts."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--prove", action="store_true")
    parser.add_argument("--all", action="store_true", help="a line each case")
    args = parser.parse_args()
    every = cases()
    found: dict[int, Outcome] = {}
    with tempfile.TemporaryDirectory() as place, nagini.Verifier(cache=Path(place)) as verifier:
        for i, case in enumerate(every):
            if case.forged and (case.forged != "proof" or args.prove):
                found[i] = forged(case, Path(place), verifier)
        rest = [i for i, case in enumerate(every) if not case.forged]
        drafts = dict(zip(rest, tested([every[i] for i in rest]), strict=True))
        found |= {i: one for i, (_, one) in drafts.items()}
        waiting = [(i, draft) for i, (draft, _) in drafts.items() if draft.passed[-1:] == (synthesis.BRANCHES,)]
        if args.prove:
            proofs = veriguard.proof(verifier)[1]([draft for _, draft in waiting])
            for (i, draft), complaints in zip(waiting, proofs, strict=True):
                last = replace(draft.attempts[-1], complaints=complaints)
                if complaints:
                    draft = replace(draft, attempts=(*draft.attempts[:-1], last))
                    found[i] = outcome(every[i], draft, complaints, "06 proof")
    trying = {
        i: "a person has to decide" if draft.findings else bounded.tried(every[i].contract, every[i].source)
        for i, (draft, _) in drafts.items()
    }
    table = Counter()
    for i, case in enumerate(every):
        how, stage, said, arguments = found.get(i, Outcome("", "", "not asked"))
        sound = case.kind == "sound"
        right = not how if sound else bool(how) and how == NEEDS.get(case.kind, how)
        table[case.kind, f"{how or 'not found'} {stage}".strip()] += 1
        bound = trying.get(i, "forged")
        table[case.kind, f"{'' if isinstance(bound, Bound) else 'not '}bounded"] += 1
        if args.all:
            print(f"    {str(bound):.220}")
        if isinstance(bound, Bound) and not sound:
            print(f"BAD {case.kind} | {case.of} | {case.name}: {bound}")
        if not right or args.all:
            where = f"{'ok ' if right else 'BAD'} {case.kind} | {case.of} | {case.name}"
            print(f"{where}: {how or '-'} {stage} {said[:110]} {dict(arguments)}")
    for (kind, how), n in sorted(table.items()):
        print(f"{kind:20} {how:25} {n}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
