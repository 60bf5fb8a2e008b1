"""What readers make of documents whose gold and calls were written before: in force, right, allowed and denied.

    python tests/bench/readings.py FOLDER [FOLDER …] [--rules]

A folder holds a text as a policy (`policy.md`, `tools.json`), `replies.jsonl` (of two writers and three readers), a
gold (`gold.json`, `runs.jsonl`: violating and complying runs of each rule, `index.json`: which is which) and
`answers.jsonl` (what was answered about each run's conversation).  A gold rule is *in force* if a sentence of its own
`answers.jsonl` (what was answered about the conversations).  A gold rule is *in force* if a sentence of its own
do the opposite.  A denial counted is one by a rule of the gold rule's own sentences.
"""

from __future__ import annotations

# ruff: noqa: E402
import difflib
import json
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1])]

from bench import airline

from wb import paths
from wb.domain import events
from wb.domain import policy as documents
from wb.domain.events import Event, Run
from wb.domain.policy import Policy
from wb.guards.runtime import CallGuard
from wb.models import client
from wb.models.endpoint import Reply, asked
from wb.models.ledger import ModelError
from wb.models.prompt import Prompt
from wb.rules import agreement, extract, readers, sentences, vocabulary
from wb.rules.agreement import Agreement
from wb.rules.extract import Extracted, Trust
from wb.rules.readers import FORMS, Reader, Reading
from wb.rules.rule import RuleSet, toolbox
from wb.rules.sentences import Classified
from wb.rules.vocabulary import Vocabulary

WHO = {"formulas": "paste:anna", "cases": "paste:bert", "conditions": "paste:cleo"}


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
    words: Vocabulary
    by: Mapping[str, Mapping[str, Reading]]


class Recorded:
    """An engine that gives the recorded replies of one writer or reader: `replies.jsonl` holds a line a question, with
    who was asked, the digest of all that was asked, and the reply."""

    def __init__(self, name: str, replies: Path) -> None:
        rows = map(json.loads, replies.read_text("utf-8").splitlines())
        self.name, self.replies = name, {row["digest"]: row["reply"] for row in rows if row["who"] == name}

    def answer(self, prompt: Prompt, inputs: Mapping[str, object], schema: dict, **_: bool) -> Reply:
        """The recorded reply to just this question."""
        key = paths.digest(asked(prompt, inputs, schema, self.name, {"temperature": 0.0}))[:32]
        if key not in self.replies:
            raise NotRecorded(f"{self.name} has no recorded reply to this question of {prompt.name}: read it again")
        return Reply(self.replies[key], engine=self.name)


class NotRecorded(ModelError):
    """A question that nobody was asked, such as after a change of a prompt."""

    fatal = True


def record(folder: Path, replies: Path) -> None:
    """Write the recordings of a folder of replies as `replies.jsonl`, without the questions."""
    rows = []
    for path in sorted(folder.glob("*.json")):
        kept = json.loads(path.read_text("utf-8"))
        reply, key = json.loads(kept["reply"]["text"]), path.name.split(".")[1]
        rows.append(
            {"who": kept["request"]["model"], "prompt": kept["request"]["prompt"], "digest": key, "reply": reply}
        )
    replies.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")


def text(folder: Path, gold: Path | None = None, rounds: int = vocabulary.ROUNDS) -> Text:
    """A text, its recorded replies and its gold."""
    source = documents.load(folder)
    words, by = replayed(source, (gold or folder) / "replies.jsonl", rounds)
    rules, runs = golden(gold or folder)
    return Text(folder.name, source, rules, runs, words, by)


def replayed(
    source: Policy, replies: Path, rounds: int = vocabulary.ROUNDS
) -> tuple[Vocabulary, dict[str, dict[str, Reading]]]:
    """The vocabulary and the readings of each form, from recorded replies alone."""

    def llm(name: str) -> client.LLM:
        return client.LLM(Recorded(name, replies))

    writers = [llm("paste:writer"), llm("paste:binder")]
    words = vocabulary.write(source, readers.statements(source), writers)
    by = {form: readers.read(source, words, Reader(llm(name), form)) for form, name in WHO.items()}
    for _ in range(rounds):
        lacking = [m for reading in by.values() for one in reading.values() for m in one.missing]
        longer = vocabulary.add(words, lacking, writers)
        if len(longer.entries) == len(words.entries):
            break
        words = longer
        again = {name for reading in by.values() for name, one in reading.items() if one.missing}
        for form, name in WHO.items():
            by[form] |= readers.read(source, words, Reader(llm(name), form), again)
    return words, by


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
    return tuple(found), {run.id: run for run in events.read(folder / "runs.jsonl")}


def answers(path: Path) -> dict[str, dict[str, object]]:
    """What was answered about the conversation of each run, by field."""
    found: dict[str, dict[str, object]] = {}
    if path.is_file():
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            found.setdefault(row["run"], {})[row["field"]] = row
    return found


def extracted(one: Text, forms: Sequence[str], trust: Trust) -> Extracted:
    """What these readers come to at a level of trust; a third is heard where the first two differ."""
    first = {form: one.by[form] for form in forms[:2]}
    names = list(one.by[FORMS[0]])
    if len(forms) == 1:
        found = {name: Agreement("unusable", readings=1, reason="one reading alone") for name in names}
    else:
        found = {name: agreement.settle([r[name] for r in first.values()], one.words) for name in names}
    by = dict(first)
    if len(forms) > 2:
        apart = [name for name in names if found[name].outcome != "agreed"]
        by[forms[2]] = {name: one.by[forms[2]][name] for name in apart}
        found |= {name: agreement.settle([one.by[form][name] for form in forms], one.words) for name in apart}
    return extract.settled(one.policy, one.words, by, found, trust)


def places(one: Text, classed: Classified) -> dict[str, list[str]]:
    """The ids of the accounts that each gold rule's sentences stand in; `ValueError` where one stands nowhere."""
    flat = {row.id: _flat(row.text) for row in classed.accounts}
    found: dict[str, list[str]] = {}
    for rule in one.gold:
        for words in map(_flat, rule.sentences):
            here = [k for k, said in flat.items() if words[:60] in said or (said in words and len(said) > 20)]
            near = difflib.get_close_matches(words, [said for said in flat.values() if said], 1, 0.6)
            here = here or [k for k, said in flat.items() if said in near]
            if not here:
                raise ValueError(f"{one.name}: the words of {rule.id} were required in a sentence; got {words!r}")
            found.setdefault(rule.id, []).extend(here)
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


def measure(
    one: Text, forms: Sequence[str], trust: Trust, said: Mapping[str, Mapping[str, object]]
) -> dict[str, object]:
    """The figures of a text for these readers at a level of trust."""
    found = extracted(one, forms, trust)
    classed = sentences.classify(one.policy, found)
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
        "readers": len(forms),
        "trust": trust,
        "gold rules": len(one.gold),
        **dict(rows),
        "sentences": sentences.counted(classed.accounts),
        "rules in force": sum(len(row.rules) for row in in_force),
        "detail": detail,
    }


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


def main() -> None:
    folders = [Path(one) for one in sys.argv[1:] if not one.startswith("--")]
    for folder in folders:
        one = text(folder)
        said = answers(folder / "answers.jsonl")
        for forms, trust in ((FORMS[:2], "agreed"), (FORMS, "agreed"), (FORMS[:1], "read"), (FORMS[:2], "assumed")):
            row = measure(one, forms, trust, said)
            detail = row.pop("detail")
            print(json.dumps(row))
            if "--rules" in sys.argv:
                for line in detail:
                    print("   ", *line)


if __name__ == "__main__":
    main()
