"""What guards decide on τ-bench's airline runs when its policy is read, then reviewed, then with consent; and which of
the benchmark's own solutions break the policy.

    python tests/bench/read_airline.py [--proved]
    python tests/bench/read_airline.py --whole FOLDER [--consent]

The policy, the tools and the runs are read from `../shared/data`, and nothing of them is kept.  The decisions of the
reviewer are `tests/fixtures/airline/decisions.yaml`: whoever made them had the policy and the tools, and neither labels
nor runs, but for two things that were added after the first measurement (`late`).  Runs the stages up to the guards,
with `--proved` up to their proofs; what is kept from an earlier run is not made again.

With `--whole` the reviewed policy and the runs are written to a folder outside the project, once, and go through
`wb run` from the document to the evaluation; what its proved guards decide is then told call by call and task by task,
with `--consent` of guards that ask for the user's yes as well.
"""

from __future__ import annotations

# ruff: noqa: E402
import json
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import yaml
from bench import airline, guard_tests

import wb
from wb.bench import recorded, service, tau
from wb.bench.service import Service
from wb.build import Built
from wb.domain import events
from wb.domain import policy as documents
from wb.domain.events import Asked, Event, Result, Run, Say, State
from wb.domain.policy import Policy
from wb.domain.trace import Call, Value, Verdict
from wb.guards import runtime
from wb.guards.runtime import CallGuard
from wb.rules import decisions

DECISIONS = airline.FILES / "decisions.yaml"
POLICY = airline.SHARED / "common" / "tau_airline"
BAGS = ("d8da4c3a00bf", "7c6ab22bb1b8", "1b2f7b843be4")
SAID = {  # what the labels call a violation, and the sentences that say so, by id
    "book_bag_allowance": BAGS,
    "book_payment_mix": ("291e0ca59d24",),
    "book_route_consistent": ("5e9f89970a29",),
    "bags_allowance": BAGS,
    "cancel_grounds": ("02fe2e46fbd0",),
    "cancel_not_flown": ("fe50df45ab17",),
}
CONSENT, TRIP, GROUNDS = "678b8d81046f", "5e9f89970a29", "02fe2e46fbd0"

CHANGING = service.made(tau.SERVICE, {"now": "", "users": {}}).changing


@dataclass(frozen=True)
class Row:
    """A strict call: its task, whether it is to be denied, the labels' reasons, those that the verdict names the
    sentence of, and the verdict."""

    id: str
    task: int
    denied: bool
    wanted: tuple[str, ...]
    named: tuple[str, ...]
    verdict: Verdict

    @property
    def outcome(self) -> str:
        """The decision; of a violating call that is denied, whether it is for a sentence that the label names."""
        right = "" if not self.denied or self.verdict.decision != "deny" else " rightly" if self.named else " otherwise"
        return f"{self.verdict.decision}{right}"


@dataclass(frozen=True)
class Conflict:
    """An action of the benchmark's own solution that a guard denies: of which task, the sentences, and the state."""

    task: int
    call: Call
    verdict: Verdict
    state: str

    @property
    def key(self) -> tuple[int, str, str]:
        """What is the same for each time that it is done."""
        return self.task, self.call.tool, json.dumps(self.call.arguments, sort_keys=True)


def written(folder: Path, ruled: Sequence[Mapping[str, Any]] = ()) -> Path:
    """A folder with the policy, its tools with the state fields of the fixture, and decisions where there are any."""
    folder.mkdir(exist_ok=True)
    own = json.loads((airline.FILES / "state.json").read_text("utf-8"))
    given = json.loads((POLICY / "tools.json").read_text("utf-8"))
    listed = [{**tool, "mutating": tool["name"] not in own["read_only"]} for tool in given]
    (folder / "tools.json").write_text(json.dumps({"tools": listed, "state": own["state"]}), "utf-8")
    (folder / "policy.md").write_text((POLICY / "policy.md").read_text("utf-8"), "utf-8")
    if ruled:
        text = yaml.safe_dump({"decisions": list(ruled)}, allow_unicode=True, sort_keys=False)
        (folder / "decisions.yaml").write_text(text, "utf-8")
    return folder


def reviewed(*, consent: bool = False, late: bool = True) -> list[dict[str, Any]]:
    """The decisions; with the rules on consent, or without what was added after the first measurement (`late`).

    That are the rule that a booking's flights are those of its trip, and two more words for illness.
    """
    rows = {row["id"]: row for row in yaml.safe_load(DECISIONS.read_text("utf-8"))["decisions"]}
    if not late:
        rows[TRIP] = _anew(rows[TRIP], decision="waive", why="the call names the user and the three")
        text = json.dumps(rows[GROUNDS]["rules"])
        rows[GROUNDS]["rules"] = json.loads(text.replace("(covered_reason OR unwell)", "covered_reason"))
        del rows[GROUNDS]["predicates"]["unwell"]
    if consent:
        own = yaml.safe_load((airline.FILES / "consent.yaml").read_text("utf-8"))
        own["rules"] = [{name: said for name, said in rule.items() if name != "id"} for rule in own["rules"]]
        rows[CONSENT] = _anew(rows[CONSENT], decision="rule", why="a yes to that question, used up by the call", **own)
    return list(rows.values())


def _anew(row: Mapping[str, Any], **decided: Any) -> dict[str, Any]:
    """Another decision about the same sentence."""
    return {"id": row["id"], "text": row["text"], **decided}


def guard(folder: Path) -> CallGuard:
    """Guards of the decisions alone, of code that says their rules."""
    read = policy(folder)
    decided = decisions.load(decisions.place(folder), read)
    return airline.guarded("airline", read.toolbox, decisions.own(decided, read.toolbox))


def policy(folder: Path) -> Policy:
    """The policy of a folder."""
    return documents.load(folder)


def sentence(rule: str) -> str:
    """The id of the sentence that a person's rule is of; empty for what was read."""
    clause = rule.rpartition(".")[0]
    return clause.removeprefix(decisions.DECIDED) if decisions.decided(clause) else ""


def judged(judge: CallGuard, saying: Mapping[str, Iterable[str]] = {}, lookups: bool = True) -> Iterator[Row]:  # noqa: B006
    """The verdicts on the strict calls; `saying` are the sentences of rules that were read, by rule."""
    strict = airline.labels()
    for run in airline.runs():
        ids = iter([event.what.call_id for event in run.events if isinstance(event.what, Asked)])
        for one in recorded.judge(judge, airline.seen(run, lookups)):
            if (row := strict.get(next(ids))) is None:
                continue
            broken = {name for rule in one.verdict.violated for name in (sentence(rule), *saying.get(rule, ()))}
            wanted = tuple(row["policy_violations"])
            named = tuple(label for label in wanted if broken & set(SAID[label]))
            yield Row(row["id"], row["task_id"], row["label"] == "violating", wanted, named, one.verdict)


def table(rows: Iterable[Row]) -> dict[str, str]:
    """Of each kind of calls how many were decided how; then in how many tasks all were, and in how many any."""
    found: dict[str, str] = {}
    some = tuple(rows)
    for title, denied in (("violating", True), ("compliant", False)):
        mine = [row for row in some if row.denied is denied]
        by_task: dict[int, list[str]] = defaultdict(list)
        for row in mine:
            by_task[row.task].append(row.verdict.decision)
        right = "deny" if denied else "allow"
        whole = sum(set(one) == {right} for one in by_task.values())
        counts = ", ".join(f"{many} {name}" for name, many in sorted(Counter(row.outcome for row in mine).items()))
        found[f"{len(mine)} {title}"] = f"{counts}; all {right} in {whole} of {len(by_task)} tasks"
    return found


# ---- the benchmark's own solutions ---------------------------------------------------------------------------------


def solutions() -> tuple[tuple[int, Run], ...]:
    """The actions that solve each task, done on the database after its user has said all that it is told to want."""
    database = tau.database(POLICY)
    with (airline.SHARED / "tau_airline" / "runs.jsonl").open(encoding="utf-8") as lines:
        tasks = {row["task_id"]: row for row in map(json.loads, lines)}
    return tuple((task, _solved(f"gold-{task}", row, database)) for task, row in sorted(tasks.items()))


def _solved(name: str, row: Mapping[str, Any], began: Service) -> Run:
    happened: list[Any] = [Say("user", row["instruction"])]
    for number, action in enumerate(row["gold_actions"]):
        call, now = Call(action["name"], action["kwargs"]), f"{name}-{number}"
        if call.tool in began.changing:
            state = State(began.observable(call, tau.BEFORE))
            happened += [state, *tau.looked_up(state)]
        answer = began.call(call.tool, call.arguments)
        happened += [Asked(call, None, now), Result(answer.value, answer.failed, now)]
        began = answer.after
    step, events = 0, []
    for what in happened:
        events.append(Event(name, what, step, tau.TIME))
        step += isinstance(what, Result | Say)
    return Run(name, tuple(events))


def conflicts(judge: CallGuard) -> Iterator[Conflict]:
    """The actions of the benchmark's solutions that the guard denies, told nothing of labels."""
    for task, run in solutions():
        state: Mapping[str, Value] = {}
        verdicts = recorded.judge(judge, run.events)
        for event in run.events:
            if isinstance(event.what, State):
                state = event.what.values
            elif isinstance(event.what, Asked):
                verdict = next(verdicts).verdict
                if event.what.call.tool in CHANGING and verdict.decision != "allow":
                    yield Conflict(task, event.what.call, verdict, shown(state))


def listed() -> dict[tuple[int, str, str], str]:
    """The calls whose label says `gold_conflict`, as the actions of the solutions that they are, and why."""
    with (airline.SHARED / "tau_airline" / "calls.jsonl").open(encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if row["gold_conflict"]]
    said = {name: why for row in rows for name, why in row["why"].items()}
    assert said, "calls against the benchmark's own solution were required"
    return {
        (row["task_id"], row["tool"], json.dumps(row["args"], sort_keys=True)): "; ".join(
            row["why"][name] for name in row["policy_violations"]
        )
        for row in rows
    }


def recorded_conflicts(judge: CallGuard) -> Counter[tuple[str, str]]:
    """Of the recorded calls that were done as a solution has them, how the guard decides, by whether the data list it
    as one against the policy."""
    with (airline.SHARED / "tau_airline" / "calls.jsonl").open(encoding="utf-8") as lines:
        rows = {row["id"]: row for row in map(json.loads, lines)}
    found: Counter[tuple[str, str]] = Counter()
    for run in airline.runs():
        ids = iter([event.what.call_id for event in run.events if isinstance(event.what, Asked)])
        for one in recorded.judge(judge, run.events):
            row = rows.get(next(ids))
            if row is not None and row["executed"] and row["in_gold"]:
                found["listed" if row["gold_conflict"] else "not listed", one.verdict.decision] += 1
    return found


def shown(state: Mapping[str, Any]) -> str:
    """Of a state what the rules on cancelling and certificates read, in a line."""
    flights = state.get("flights") or {}

    def trip(row: Mapping[str, Any]) -> str:
        legs = [f"{leg['flight_number']}|{leg['date']}" for leg in row["flights"]]
        how = ", ".join(str((flights.get(leg) or {}).get("status", "unknown")) for leg in legs)
        return (
            f"{row['reservation_id']}: {row['cabin']}, insurance {row['insurance']}, made {row['created_at']}, "
            f"{len(row['passengers'])} passengers, flights {how}"
        )

    rows = [state["reservation"]] if state.get("reservation") else state.get("user_reservations") or ()
    member = (state.get("user") or {}).get("membership", "unknown")
    return f"member {member}; " + "; ".join(trip(row) for row in rows)


def whole(place: Path, consent: bool) -> Built:
    """What `wb run` makes of the reviewed policy with the recorded runs, in a folder outside the project."""
    if place.resolve().is_relative_to(ROOT):
        raise SystemExit(f"a folder outside {ROOT} was required, for what is written is not ours; got {place}")
    place.mkdir(parents=True, exist_ok=True)
    folder, happened = place / ("with_consent" if consent else "reviewed"), place / "runs.jsonl"
    written(folder, reviewed(consent=consent))
    with happened.open("w", encoding="utf-8", newline="\n") as file:
        for run in airline.runs():
            events.dump(run.events, file)
    command = [sys.executable, "-m", "wb", "run", "--policy", str(folder), "-p", f"runs={happened}"]
    subprocess.run(command, check=True, cwd=ROOT)
    return wb.load(str(folder))


def print_whole(built: Built, *, conflicts: bool) -> None:
    """What the proved guards of a run say of the strict calls, and, with `conflicts`, of the benchmark's own solutions,
    in which nobody says yes."""
    judge = built.guard()
    print(f"guards {runtime.counted(judge.claims().values())}")
    for lookups in (True, False):
        print("with lookups" if lookups else "from recorded results alone")
        rows = tuple(judged(judge, lookups=lookups))
        for calls, said in table(rows).items():
            print(f"  {calls}: {said}")
        asking = [row for row in rows if any(sentence(rule) == CONSENT for rule in row.verdict.violated)]
        print(f"  denied for the sentence on consent: {sum(not row.denied for row in asking)} of the compliant calls")
    if conflicts:
        _print_conflicts(judge)


def main() -> None:
    if "--whole" in sys.argv:
        consent = "--consent" in sys.argv
        return print_whole(whole(Path(sys.argv[sys.argv.index("--whole") + 1]), consent), conflicts=not consent)
    proved = "--proved" in sys.argv
    with tempfile.TemporaryDirectory() as place:
        cases = {
            "as it is read": (),
            "reviewed": reviewed(),
            "reviewed, at first": reviewed(late=False),
            "reviewed, with consent": reviewed(consent=True),
        }
        for title, ruled in cases.items():
            folder = written(Path(place) / title.replace(",", "").replace(" ", "_"), ruled)
            judge, read = guard_tests.guard(folder, proved)
            saying: dict[str, list[str]] = defaultdict(list)
            for one in read:
                for rule in one.rules:
                    saying[rule].append(one.id)
            print(f"{title}: sentences {dict(Counter(one.cls for one in read))}")
            print(f"  guards {runtime.counted(judge.claims().values())}")
            for lookups in (True, False):
                print(f"  {'with lookups' if lookups else 'from recorded results alone'}")
                for calls, said in table(judged(judge, saying, lookups)).items():
                    print(f"    {calls}: {said}")
            if title == "reviewed":
                _print_conflicts(judge)


def _print_conflicts(judge: CallGuard) -> None:
    known, found = listed(), tuple(conflicts(judge))
    actions = [e for _, run in solutions() for e in run.events if isinstance(e.what, Asked)]
    changing = sum(event.what.call.tool in CHANGING for event in actions)
    print(f"  of {changing} actions of the solutions that change records, {len(found)} are not allowed:")
    for one in found:
        mark = known.get(one.key, "not in the data's list")
        print(f"    task {one.task}: {one.verdict.decision} {one.call.tool} {dict(one.call.arguments)}")
        for quote in one.verdict.quotes or (one.verdict.reason,):
            print(f"      “{quote}”")
        print(f"      {one.state}")
        print(f"      the data say: {mark}")
    missed = known.keys() - {one.key for one in found}
    print(f"  listed by the data and not found: {sorted(missed) or 'none'}")
    for (kind, decision), many in sorted(recorded_conflicts(judge).items()):
        print(f"  recorded calls as in a solution, {kind}: {many} {decision}")


if __name__ == "__main__":
    main()
