"""Every figure that must not move: what `tests/figures.toml` wants, measured again.

    python tests/bench/figures.py [NAME ...]
    python tests/bench/figures.py --table    # what is wanted, as the table of LOG.md; nothing is measured

Without names all tables but the slow ones.  What needs `../shared` is skipped where that is absent.  Ends with 1 if a
figure moved.
"""

from __future__ import annotations

# ruff: noqa: E402
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from bench import airline, gold, retail, sessions

from wb.bench import compare, evaluate, guard_tests, mind2web, service
from wb.domain import policy
from wb.domain.trace import permitted
from wb.guards import nagini, synthesis, veriguard
from wb.guards.synthesis import Attempt, Draft
from wb.models.client import LLM
from wb.offline import reader
from wb.offline.engine import Offline
from wb.rules import decisions
from wb.rules import sentences as classes

Figures = dict[str, float]
SLOW = ("proofs", "retail_proofs")
SHARED = ("gold", "airline", "retail", "retail_proofs")


def sentences() -> Figures:
    """The classes of the handbook's sentences."""
    handbook = policy.load("web_tasks")
    return classes.counted(gold.reading(handbook).accounts)


def web_tasks() -> Figures:
    """Guards made from the handbook without a model, on the official cases."""
    handbook, benchmark = policy.load("web_tasks"), mind2web.of_policy("web_tasks")
    llm = LLM(Offline(handbook.toolbox))
    guard = compare.shortcut(handbook, llm, reader.extracted).guard
    result = compare.measured(guard, benchmark, compare.recognised(benchmark, handbook.toolbox, llm))
    found: Figures = {"queries": llm.ledger.total.queries}
    for split, wanted in (("tuned", True), ("other", False)):
        counts = evaluate.confusion(one for one in result.outcomes if (one.case in benchmark.tuned) is wanted)
        found |= {f"{split}_n": counts.n, f"{split}_undecided": counts.undecided}
        found |= {f"{split}_{name}": round(100 * rate.value, 1) for name, rate in evaluate.rates(counts).items()}
    return found


def read_by_gold() -> Figures:
    """Three foreign documents against their gold."""
    found: Counter[str] = Counter()
    for reading in map(gold.read, gold.POLICIES):
        found["inverted"] += sum(row.verdict == "inverted" for row in gold.judge(reading, reading.written))
        found["lost"] += len(gold.lost(reading))
        found["core"] += sum(core for _, core, *_ in gold.gold(reading.source.name))
        found["bound_wrongly"] += [*gold.bound(reading, reading.written).values()].count("wrongly")
        came = gold.in_force(reading)
        found["violating_allowed"] += came.get(("violating", "allow"), 0)
        found["complying_denied"] += came.get(("complying", "deny"), 0)
    return dict(found)


def airline_by_hand() -> Figures:
    """The strict calls of τ-bench's airline."""
    rows = tuple(airline.judged(airline.guard()))
    counts = airline.counted(rows)
    return {
        "violating_denied": counts["violating", "deny"],
        "violating": sum(row.denied for row in rows),
        "compliant_allowed": counts["compliant", "allow"],
        "compliant": sum(not row.denied for row in rows),
        "denied_for_other_rules": sum(tuple(sorted(row.verdict.violated)) != row.rules for row in rows),
    }


def airline_decisions() -> Figures:
    """The guard tests of the airline by a person's decisions."""
    folder = ROOT / "policies" / "airline"
    source = policy.load(folder)
    ruleset = decisions.own(decisions.load(decisions.place(folder), source), source.toolbox)
    guard = airline.guarded("airline", source.toolbox, ruleset)
    tests = guard_tests.load(folder / "guard_tests.yaml")
    rows = guard_tests.run(guard, tests, service.load(folder))
    return {"passed": sum(row.outcome == "passed" for row in rows), "tests": len(tests)}


def retail_by_hand() -> Figures:
    """How much of the shop's policy its rules say, and calls of our own."""
    from test_retail_rules import CALLS, said

    guard, wanted = retail.guard(), retail.guardable()
    rows = [(broken, said(guard, before, calls, words)) for before, calls, words, broken in CALLS]
    return {
        "guardable_said": sum(one in retail.GOLD for one in wanted),
        "guardable": len(wanted),
        "violating_denied": sum(v.decision == "deny" and v.violated == broken for broken, v in rows if broken),
        "violating": sum(bool(broken) for broken, _ in rows),
        "compliant_allowed": sum(verdict.decision == "allow" for broken, verdict in rows if not broken),
        "compliant": sum(not broken for broken, _ in rows),
    }


def ltlf() -> Figures:
    """Five readings of a formula."""
    from test_agreement import compared

    pairs, mismatches = compared()
    return {"pairs": pairs, "mismatches": len(mismatches)}


def hostile() -> Figures:
    """Hostile calls and their benign twins."""
    from test_hostile_calls import CASES, JUDGES, decided, twin

    pairs = [(judge, case) for judge in JUDGES.values() for case in CASES]
    return {
        "allowed": sum(permitted(decided(judge, case)) for judge, case in pairs),
        "benign_denied": sum(not permitted(twin(judge, case)) for judge, case in pairs),
    }


def forged() -> Figures:
    """Rows of kept guards, edited."""
    from test_evidence import FORGED, ROWS_BY, loaded

    grades = [
        (loaded(rows)[row["tool"]].grade, row != ROWS_BY[row["tool"]]) for rows in FORGED.values() for row in rows
    ]
    return {
        "proved": sum(changed and grade == "proved" for grade, changed in grades),
        "untouched_lost": sum(not changed and grade != "proved" for grade, changed in grades),
    }


def flat() -> Figures:
    """The cost of a decision late in a session over that at its beginning."""
    guard, found = sessions.guard(), {}
    for kind, state in sessions.KINDS.items():
        cost = []
        for steps in (1, 10_000):
            one = sessions.session(guard, steps)
            one.state(state)
            cost.append(sessions.best(lambda one=one: one.call("book", sessions.ARGUMENTS), 9, 1000))
        found[kind] = round(cost[1] / cost[0], 2)
    return found


def proofs() -> Figures:
    """Guards of whole runs, proved again by `wb verify` that believes no earlier proof; planted faults."""
    found: Figures = {}
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "WB_ARTIFACTS": folder, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-m", "wb.cli"]
        for name, last in (("web_tasks", ()), ("airline", ("--to", "06"))):  # the faults are planted in 07
            subprocess.run([*command, "run", "--policy", name, *last], env=environment, check=True)
            told = subprocess.run(
                [*command, "verify", name, "--json"], env=environment, stdout=subprocess.PIPE, text=True
            )
            rows = [json.loads(line) for line in told.stdout.splitlines()]
            found[f"{name}_guards"] = len(rows)
            found[f"{name}_hold"] = sum(row["holds"] for row in rows)
            found[f"{name}_proved"] = sum(row["again"] == "proved" for row in rows)
            if name == "web_tasks":
                (path,) = Path(folder).glob("07*/*/mutants.json")
                fates = Counter(row["fate"] for row in json.loads(path.read_text("utf-8")))
                found |= {f"{name}_mutants_{fate}": count for fate, count in fates.items()}
    return found


def retail_proofs() -> Figures:
    """The guards of the shop's rules, proved."""
    required = [one for one in retail.contracts(retail.toolbox(), retail.rules()) if one.items]
    drafts = [Draft(one, (Attempt(airline.code(one)),)) for one in required]
    with nagini.Verifier() as verifier:
        made = veriguard.prove(drafts, lambda rows: [None] * len(rows), verifier, max_rounds=0)
    grades = [synthesis.guarded(draft).grade for draft in made]
    return {"proved": grades.count("proved"), "guards": len(grades)}


MEASURES: dict[str, Callable[[], Figures]] = {
    "sentences": sentences,
    "web_tasks": web_tasks,
    "gold": read_by_gold,
    "airline": airline_by_hand,
    "airline_decisions": airline_decisions,
    "retail": retail_by_hand,
    "ltlf": ltlf,
    "hostile": hostile,
    "forged": forged,
    "flat": flat,
    "proofs": proofs,
    "retail_proofs": retail_proofs,
}


def stands(wanted: object, got: float | None) -> bool:
    """Whether a figure is the one that is wanted, or within its bound."""
    if got is None:
        return False
    return got <= wanted["most"] if isinstance(wanted, dict) else got == wanted


def tables() -> dict[str, dict[str, object]]:
    """What `figures.toml` says, by table and figure."""
    return tomllib.loads((ROOT / "tests" / "figures.toml").read_text("utf-8"))


def table() -> str:
    """The figures that are wanted, one row a table of them."""
    rows = ["| `figures.py` | what | figures |", "|---|---|---|"]
    for name, figures in tables().items():
        what = (MEASURES[name].__doc__ or "").partition("\n")[0].rstrip(".")
        said = (
            f"{key.replace('_', ' ')} {f'≤ {value["most"]}' if isinstance(value, dict) else value}"
            for key, value in figures.items()
        )
        rows.append(f"| {name} | {what} | {', '.join(said)} |")
    return "\n".join(rows) + "\n"


def main() -> None:
    wanted_by = tables()
    assert wanted_by.keys() == MEASURES.keys(), "each table of figures.toml has its function"
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(MEASURES)}; not alone: {SLOW}")
    parser.add_argument("--table", action="store_true", help="print what is wanted as a table; measure nothing")
    given = parser.parse_args()
    if given.table:
        print(table(), end="")
        return
    names = given.names or [name for name in MEASURES if name not in SLOW]
    if unknown := set(names) - MEASURES.keys():
        parser.error(f"one of {', '.join(MEASURES)} was required; got {', '.join(sorted(unknown))}")
    moved = 0
    for name in names:
        if name in SHARED and not airline.SHARED.is_dir():
            print(f"{name}: skipped, ../shared is absent")
            continue
        begun = time.monotonic()
        got = MEASURES[name]()
        print(f"{name} ({time.monotonic() - begun:.0f} s)")
        for figure, wanted in wanted_by[name].items():
            right = stands(wanted, got.get(figure))
            moved += not right
            print(f"  {'' if right else 'MOVED '}{figure}: wanted {wanted}, got {got.get(figure)}", flush=True)
    sys.exit(bool(moved))


if __name__ == "__main__":
    main()
