"""What readers make of documents whose gold and calls were written before: in force, right, allowed and denied.

    python tests/bench/readings.py FOLDER [FOLDER …] [--rules] [--csv FILE --texts NAME]

`--csv` writes the counts for the figure of notebook 01, under a NAME for these texts, after those that FILE has.

A folder holds a text as a policy (`policy.md`, `tools.json`), `replies.jsonl` (of writers, readers and judges), a gold
(`gold.json`, `runs.jsonl`: violating and complying runs of each rule, `index.json`: which is which) and
`answers.jsonl` (what was answered about each run's conversation).  A gold rule is *in force* if a sentence of its own
is, and *right* if its rules alone deny its violating runs and allow its complying ones; *too weak* if they allow a
violating one, *too strict* if they deny a complying one, *inverted* if both.  A denial counted is one by a rule of the
gold rule's own sentences.
"""

from __future__ import annotations

# ruff: noqa: E402
import argparse
import csv
import difflib
import json
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1])]

from bench import airline

from wb import paths
from wb.bench.evaluate import wilson
from wb.domain import events
from wb.domain import policy as documents
from wb.domain.events import Event, Run
from wb.domain.policy import Policy, pieces
from wb.guards.runtime import CallGuard
from wb.models import client
from wb.models.endpoint import MissingReply, Reply
from wb.models.prompt import Prompt
from wb.rules import decisions, extract, sentences
from wb.rules.extract import Extracted, Trust
from wb.rules.rule import RuleSet, toolbox
from wb.rules.sentences import Classified

WRITERS, READERS, JUDGES = ("writer", "binder", "third"), ("anna", "bert", "cleo"), ("jo", "kim")


@dataclass(frozen=True)
class Gold:
    """One guardable rule: the words that its sentences begin with, and its runs."""

    id: str
    sentences: tuple[str, ...]
    violating: tuple[str, ...]
    complying: tuple[str, ...]


@dataclass(frozen=True)
class Text:
    """A document with its gold, and what readers said of it."""

    name: str
    policy: Policy
    gold: tuple[Gold, ...]
    runs: Mapping[str, Run]
    replies: Path


class Recorded:
    """An engine that gives the recorded replies of one writer, reader or judge: `replies.jsonl` holds a line a
    question, with who was asked, the digest of the prompt's name and all its inputs, and the reply."""

    def __init__(self, name: str, replies: Path) -> None:
        rows = map(json.loads, replies.read_text("utf-8").splitlines())
        self.name, self.replies = name, {row["key"]: row["reply"] for row in rows if row["who"] == name}

    def answer(self, prompt: Prompt, inputs: Mapping[str, object], schema: dict, **_: bool) -> Reply:
        """The recorded reply to just this question."""
        asked = {name: value for name, value in inputs.items() if name != "bound" or value}  # as before there was any
        if prompt.name == "judge_rules":  # as before judges saw what tells a fact
            own = ("tests", "question", "fields")
            asked["facts"] = [{k: v for k, v in row.items() if k not in own} for row in asked["facts"]]
        if "state" in asked:  # as before fields said that they may be null, and arguments that they may be left out
            asked |= {"tools": _bare(asked["tools"]), "state": _bare(asked["state"])}
        key = paths.digest([prompt.name, asked])[:32]
        if key not in self.replies:
            raise NotRecorded(f"{self.name} has no recorded reply to this question of {prompt.name}: read it again")
        return Reply(self.replies[key], engine=self.name)


def _bare(rows: object) -> object:
    """What is declared without what readers of old replies did not see."""
    if isinstance(rows, list):
        return [_bare(row) for row in rows]
    return {k: _bare(v) for k, v in rows.items() if k not in ("null", "optional")} if isinstance(rows, dict) else rows


class NotRecorded(MissingReply):
    """A question that nobody was asked, such as after a change of a prompt."""


def text(folder: Path, gold: Path | None = None) -> Text:
    """A text, its recorded replies and its gold."""
    source = documents.load(folder)
    rules, runs = golden(gold or folder)
    return Text(folder.name, source, rules, runs, (gold or folder) / "replies.jsonl")


def panel(replies: Path) -> extract.Panel:
    """Those who wrote, read and judged, each as recorded."""

    def llm(name: str) -> client.LLM:
        return client.LLM(Recorded(f"paste:{name}", replies))

    return extract.Panel([llm(n) for n in WRITERS], [llm(n) for n in READERS], [llm(n) for n in JUDGES])


class Mode(NamedTuple):
    """Who is heard, and what is in force."""

    name: str
    count: int
    trust: Trust = "agreed"
    judged: bool = True
    decided: bool = False  # by a person, in `decisions.yaml` beside the text


MODES = (
    Mode("1 reader", 2, "read", judged=False),
    Mode("2 readers", 2, judged=False),
    Mode("3 readers", 3, judged=False),
    Mode("3 readers and judges", 3),
    Mode("3 readers and judges, assumed", 3, "assumed"),
    Mode("the same as agreed, and 3 minutes of a person", 3, decided=True),
)


def extracted(one: Text, mode: Mode) -> Extracted:
    """What the readers of a text come to."""
    heard = panel(one.replies)
    return extract.asked(
        one.policy, heard if mode.judged else heard._replace(judges=()), count=mode.count, trust=mode.trust
    )


def golden(folder: Path) -> tuple[tuple[Gold, ...], dict[str, Run]]:
    """The guardable rules of a gold, and its runs with the answers about them."""
    texts = {row["n"]: row["text"] for row in json.loads((folder / "sentences.json").read_text("utf-8"))}
    index = json.loads((folder / "index.json").read_text("utf-8"))
    found = []
    for row in json.loads((folder / "gold.json").read_text("utf-8")):
        of = {
            label: tuple(k for k, v in index.items() if v["rule"] == row["id"] and v["label"] == label)
            for label in ("deny", "allow")
        }
        numbers = row["n"] if isinstance(row["n"], list) else [row["n"]]
        found.append(Gold(row["id"], tuple(texts[n] for n in numbers), of["deny"], of["allow"]))
    return tuple(found), {run.id: _timed(run) for run in events.read(folder / "runs.jsonl")}


def _timed(run: Run) -> Run:
    """The run with the time that a state tells as `now`, where the author wrote it there and not beside the events."""
    times = [e.what.values["now"] for e in run.events if isinstance(e.what, events.State) and "now" in e.what.values]
    if not times or run.events[-1].time is not None:
        return run
    now = str(times[0]) + "Z" * (not str(times[0]).endswith("Z"))
    return Run(run.id, tuple(replace(event, time=now) for event in run.events))


def answers(path: Path) -> dict[str, dict[str, object]]:
    """What was answered about the conversation of each run, by field."""
    found: dict[str, dict[str, object]] = {}
    if path.is_file():
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            found.setdefault(row["run"], {})[row["field"]] = row
    return found


def places(one: Text, classed: Classified) -> dict[str, list[str]]:
    """The ids of the accounts that each gold rule's sentences stand in, of the opening of a list those of its items as
    well; `ValueError` where one stands nowhere."""
    flat = {row.id: _flat(row.text) for row in classed.accounts}
    items: dict[str, list[str]] = {}
    for row, piece in zip(classed.accounts, pieces(one.policy), strict=True):
        for stem in piece.stems:
            items.setdefault(_flat(stem), []).append(row.id)
    found: dict[str, list[str]] = {}
    for rule in one.gold:
        for words in map(_flat, rule.sentences):
            here = [k for k, said in flat.items() if words[:60] in said or (said in words and len(said) > 20)]
            near = difflib.get_close_matches(words, [said for said in flat.values() if said], 1, 0.6)
            here = here or [k for k, said in flat.items() if said in near]
            if not here:
                raise ValueError(f"{one.name}: the words of {rule.id} were required in a sentence; got {words!r}")
            found.setdefault(rule.id, []).extend([*here, *(item for k in here for item in items.get(flat[k], ()))])
    return found


def _flat(words: str) -> str:
    """A text in small letters without marks and the number or letter that counts it in a list."""
    plain = re.sub(r"\A\W*(?:\(?\w{1,3}[).])\s+", "", words.strip())
    return " ".join(re.sub(r"[^a-z0-9%$.]+", " ", plain.lower().replace("’", "'")).split())


def guard(one: Text, found: Extracted, classed: Classified, ruleset: RuleSet, *, open: bool) -> CallGuard:
    """Guards of code that says the rules, held by the open sentences or not."""
    box = toolbox(found.toolbox, classed.ruleset)
    judge = airline.guarded(one.name, box, ruleset)
    return replace(judge, open=sentences.open_on(classed.accounts)) if open else judge


def told(run: Run, known: Mapping[str, object]) -> tuple[Event, ...]:
    """The events of a run with what was answered about its conversation before its last call."""
    given = [
        replace(run.events[-1], what=events.Answer(**{k: v for k, v in row.items() if k != "run"}))
        for row in known.values()
    ]
    return (*run.events[:-1], *given, run.events[-1])


def decided(judge: CallGuard, run: Run, known: Mapping[str, object]) -> events.Any:
    """The verdict on a run's last call."""
    return judge.session().replay(told(run, known))[-1]


def measure(one: Text, mode: Mode, said: Mapping[str, Mapping[str, object]]) -> dict[str, object]:
    """The figures of a text."""
    found = extracted(one, mode)
    rulings = decisions.load(one.replies.with_name("decisions.yaml"), one.policy) if mode.decided else ()
    return counted(one, found, sentences.classify(one.policy, found, rulings), said, mode.name)


def counted(
    one: Text, found: Extracted, classed: Classified, said: Mapping[str, Mapping[str, object]], mode: str
) -> dict[str, object]:
    """The figures of what became of a text."""
    at = places(one, classed)
    accounts = {row.id: row for row in classed.accounts}
    rows: Counter[str] = Counter()
    detail = []
    whole, bare = (guard(one, found, classed, classed.ruleset, open=open) for open in (True, False))
    for rule in one.gold:
        own = [name for k in at[rule.id] for name in accounts[k].rules if accounts[k].cls == "rule"]
        verdict = "not in force"
        if own:
            alone = RuleSet(classed.ruleset.predicates, tuple(r for r in classed.ruleset.rules if r.id in own))
            judge = guard(one, found, classed, alone.without_unused(), open=False)
            bad = [decided(judge, one.runs[k], said.get(k, {})).decision for k in rule.violating]
            good = [decided(judge, one.runs[k], said.get(k, {})).decision for k in rule.complying]
            verdict = _verdict(bad, good)
        cleared = all(accounts[k].cls == "not a constraint" for k in at[rule.id])
        rows["cleared"] += cleared
        rows[verdict] += 1
        for kind, runs in (("violating", rule.violating), ("complying", rule.complying)):
            for k in runs:
                came = decided(whole, one.runs[k], said.get(k, {}))
                free = decided(bare, one.runs[k], said.get(k, {}))
                rows[f"{kind} {came.decision}"] += 1
                rows[f"{kind} {free.decision}, open sentences not counted"] += 1
                rows[f"{kind} denied for its own sentence"] += came.decision == "deny" and bool(
                    {*came.violated} & {*own}
                )
        detail.append((rule.id, verdict, [accounts[k].reason for k in at[rule.id]]))
    in_force = [row for row in classed.accounts if row.cls == "rule"]
    return {
        "text": one.name,
        "mode": mode,
        "gold rules": len(one.gold),
        **dict(rows),
        "sentences": sentences.counted(classed.accounts),
        "rules in force": sum(len(row.rules) for row in in_force),
        "detail": detail,
    }


GRADES = ("right", "undecided", "too weak", "too strict", "inverted")


def _verdict(bad: Sequence[str], good: Sequence[str]) -> str:
    if all(one == "deny" for one in bad) and all(one == "allow" for one in good):
        return "right"
    if any(one == "allow" for one in bad) and any(one == "deny" for one in good):
        return "inverted"
    if any(one == "allow" for one in bad):
        return "too weak"
    if any(one == "deny" for one in good):
        return "too strict"
    return "undecided"


COLUMNS = ("gold rules", "not in force", *GRADES, "cleared") + tuple(
    f"{kind} {decision}{how}"
    for kind in ("violating", "complying")
    for decision in ("deny", "allow", "undecided")
    for how in ("", ", open sentences not counted")
)


def keep(rows: Sequence[Mapping[str, object]], file: Path, texts: str) -> None:
    """Write the counts of these texts to a CSV, in place of those that it has under their name."""
    before = list(csv.DictReader(file.open(encoding="utf-8"))) if file.exists() else []
    made = [
        {"texts": texts, "text": row["text"], "mode": row["mode"], **{name: row.get(name, 0) for name in COLUMNS}}
        for row in rows
    ]
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, ("texts", "text", "mode", *COLUMNS), lineterminator="\n")
        writer.writeheader()
        writer.writerows([row for row in before if row["texts"] != texts] + made)


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("folders", nargs="+", type=Path)
    options.add_argument("--rules", action="store_true")
    options.add_argument("--csv", type=Path)
    options.add_argument("--texts", default="")
    given, every = options.parse_args(), []
    total: dict[str, Counter[str]] = {}
    for folder in given.folders:
        one = text(folder)
        said = answers(folder / "answers.jsonl")
        for mode in MODES if (folder / "decisions.yaml").exists() else MODES[:-1]:
            row = measure(one, mode, said)
            detail = row.pop("detail")
            print(json.dumps(row), flush=True)
            every.append(row)
            if given.rules and mode == MODES[3]:
                for line in detail:
                    print("   ", *line)
            total.setdefault(mode.name, Counter()).update({k: v for k, v in row.items() if type(v) is int})
    if given.csv:
        keep(every, given.csv, given.texts)
    for name, row in total.items():
        force = row["gold rules"] - row["not in force"]
        parts = [f"in force {share(force, row['gold rules'])}", f"right of these {share(row['right'], force)}"]
        parts += [f"{grade} {row[grade]}" for grade in GRADES[1:]] + [f"cleared {row['cleared']}"]
        for kind in ("violating", "complying"):
            runs = sum(row[f"{kind} {decision}"] for decision in ("deny", "allow", "undecided"))
            for decision in ("deny", "allow"):
                key = f"{kind} {decision}"
                bare = row[f"{key}, open sentences not counted"]
                parts.append(f"{key} {share(row[key], runs)} ({bare} without open sentences)")
        print(f"{name}: {'; '.join(parts)}")


def share(hits: int, n: int) -> str:
    """So many of so many, with the Wilson interval of 95 %."""
    if not n:
        return "0 of 0"
    rate = wilson(hits, n)
    return f"{hits} of {n} ({rate.value:.2f} [{rate.low:.2f}, {rate.high:.2f}])"


if __name__ == "__main__":
    main()
