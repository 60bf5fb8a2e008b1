"""Replies that a language model wrote for a retail policy, blind to its gold: read again, and executed on its calls.

    python tests/bench/written.py

The second half of what it prints is the same with `choices.json`: what a person, reading the draft, would take of
it and decide, written down before it was first run.  The document and its gold were known to whoever wrote it.

The replies are in `tests/fixtures/retail_replies`; the document, its tools and its gold are read from `../shared/data`.
"""

from __future__ import annotations

# ruff: noqa: E402
import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1])]

from bench import airline

from wb.domain import events
from wb.domain import policy as documents
from wb.domain.events import Run
from wb.domain.policy import Clause, Policy
from wb.guards.runtime import CallGuard
from wb.models.client import LLM
from wb.models.endpoint import Reply
from wb.models.ledger import ModelError
from wb.models.prompt import Prompt
from wb.offline import norms
from wb.paths import digest
from wb.rules import check, decisions, extract, rulefile, sentences, wording
from wb.rules.rule import RuleSet
from wb.rules.sentences import Account

FILE = airline.ROOT / "tests" / "fixtures" / "retail_replies" / "replies.jsonl"
DOCUMENT = airline.SHARED / "policies" / "retail"
CHOICES = FILE.with_name("choices.json")
CALLS = airline.ROOT / "tests" / "gold" / "calls_retail.jsonl"


@dataclass(frozen=True, slots=True)
class Reading:
    """What became of the replies: all rules as they were written, those that stayed, and each sentence's class."""

    source: Policy
    clauses: tuple[Clause, ...]
    written: RuleSet
    kept: RuleSet
    accounts: tuple[Account, ...]


class Reader:
    """The model that wrote the replies, as an engine: it says of a statement what it said then, whichever stand beside
    it, and nothing where another question is asked."""

    name = "reader"

    def __init__(self, source: Policy, file: Path = FILE) -> None:
        self.source, self.rows = source, [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        self.said = {
            key: one
            for row in self.rows
            if row["prompt"] == "extract_rules"
            for one in row["reply"]["statements"]
            for key in [row["about"][one["id"]]]
        }

    def answer(self, prompt: Prompt, inputs: Mapping[str, object], schema: dict, *, anew: bool = False) -> Reply:
        """The reply to `extract_policies`, `extract_rules` or `correct_rules`.

        Raises:
            ModelError: nobody wrote a reply to this.
        """
        if prompt.name == "extract_policies":
            rows = [row for row in self.rows if row["prompt"] == prompt.name]
            of = self.source.text.find(str(inputs["section"]).strip().split("\n")[0])
            (row,) = (row for row in rows if row.get("about", of) == of)
            return Reply({"policies": [self._quoted(one) for one in row["reply"]["policies"]]})
        if prompt.name == "extract_rules":
            asked = {statement["id"]: key(statement) for statement in inputs["statements"]}
            return Reply({"statements": [{**self.said[k], "id": i} for i, k in asked.items() if k in self.said]})
        about = {"statement": key(inputs.get("statement", {}))}
        about |= {name: digest(inputs.get(name))[:16] for name in ("answer", "faults")}
        for row in self.rows:
            if row["prompt"] == prompt.name and row.get("about") == about:
                return Reply(row["reply"])
        raise ModelError(f"nobody was asked this when the replies were written: {prompt.name} {about}")

    def _quoted(self, policy: Mapping[str, object]) -> dict[str, object]:
        spans = {name: at for name, at in policy.items() if name in ("description", "scope") and at}
        return {**policy, **{name: self.source.text[start:end] for name, (start, end) in spans.items()}}


def key(statement: Mapping[str, object]) -> str:
    """What a statement is known by: its words and all that it is read with, not its number."""
    return digest({name: value for name, value in statement.items() if name != "id"})[:16]


@cache
def read() -> Reading:
    """The replies for the retail policy, read as notebook 01 reads them."""
    source = documents.load(DOCUMENT)
    return reading(source, Reader(source))


def reading(source: Policy, engine: Reader) -> Reading:
    """What an engine says of a policy, read as notebook 01 reads it."""
    llm = LLM(engine)
    found = extract.policies(source, llm, norms.constrains)
    written = extract.rules(found.clauses, source, llm, norms.constrains, found.lost)
    classed = sentences.classify(source, found.clauses, written)
    kept = sentences.enforced(written, classed)
    accounts = sentences.questioned(classed, check.questions(check.check(kept), kept), (), source.toolbox)
    return Reading(source, found.clauses, written, sentences.enforced(written, accounts), accounts)


def chosen(*kinds: str, seconds: float = check.SECONDS) -> Reading:
    """The same after a person's choices of these kinds: `words`, `accept` …, as a file of decisions says them.

    `seconds` are given to the check of the rules with each other.
    """
    return decide(read(), json.loads(CHOICES.read_text("utf-8")), *kinds, seconds=seconds)


def decide(one: Reading, made: Mapping[str, Any], *kinds: str, seconds: float = check.SECONDS) -> Reading:
    """A reading after these kinds of the choices that a person made."""
    source, home = one.source, {}
    for account in one.accounts:
        home |= {c.id: account for c in one.clauses if account.start <= c.start < account.end}
    offered = sentences.offered(source, one.clauses, one.written, one.accounts)
    entries = {}
    for c, of in home.items():
        row = {"id": of.id, "text": of.text, "decision": "accept"}
        reading = {"read": decisions.offer(offered[of.id])} if of.id in offered else {}
        part, why = made["accept but for a part"].get(c, (None, "as it was read"))
        row |= {"part": part, "why": why} if part else {}
        if reading and (c in made["accept"] or part):
            half = decisions.unsettled(of.text, reading["read"].get("undecided", ()), part)
            if not half and "accept" in kinds:
                entries[of.id] = {**row, **reading}
            elif half and "edit" in kinds:  # what is left undecided is not accepted: the same rules, by hand
                mine = decisions.Ruling.model_validate({**row, **reading}).taken()
                own = mine.model_dump(include={"predicates", "rules"}, exclude_defaults=True)
                entries[of.id] = {**row, "decision": "rule", "why": why, **own}
        if "edit" in kinds and c in made["edit"]:
            entries[of.id] = {**row, "decision": "rule", **made["edit"][c]}
        if "waive" in kinds and c in made["waive"]:
            entries[of.id] = {**row, "decision": "waive", "why": made["waive"][c]}
    for of in one.accounts if "waive" in kinds else ():
        if of.cls == "open" and of.id not in {account.id for account in home.values()}:
            said = made["not a constraint"]
            if why := said if isinstance(said, str) else said.get(of.id):
                entries[of.id] = {"id": of.id, "text": of.text, "decision": "not a constraint", "why": why}
    lines = {(line.say, line.mean): line for line in drafted(one).lines}
    taken = [lines[say, tuple(mean)] for say, mean in made["words"]] if "words" in kinds else []
    text = rulefile.written(
        {
            "decisions": list(entries.values()),
            "words": [{"say": line.say, "mean": list(line.mean), "of": list(line.of)} for line in taken],
        }
    )
    rulings, words = decisions.loads(text, source), wording.loads(text, source)
    ruleset = decisions.join(one.written, rulings, source.toolbox)
    classed = sentences.classify(source, one.clauses, ruleset, rulings, words)
    kept = sentences.enforced(ruleset, classed)
    asked = check.questions(check.check(kept, seconds=seconds), kept)
    accounts = sentences.questioned(classed, asked, rulings, source.toolbox)
    return Reading(source, one.clauses, ruleset, sentences.enforced(ruleset, accounts), accounts)


@cache
def offered_words() -> wording.Draft:
    """The lines of words that are drafted for the sentences that stay open."""
    return drafted(read())


def drafted(one: Reading) -> wording.Draft:
    """The lines of words that are drafted for what a reading leaves open."""
    return sentences.drafted(one.source, one.clauses, one.written, one.accounts)


def gold() -> dict[str, str]:
    """The clause of each gold rule that a guard can hold: `R15.2`, `c13`."""
    rows, clauses = json.loads((DOCUMENT / "gold.json").read_text("utf-8")), read().clauses
    found = {}
    for row in rows:
        text, _, number = row["text"].partition("#")
        those = [c.id for c in clauses if text.strip().lower() in c.text.lower()]
        for n, one in enumerate(row["rules"], 1):
            if one["guardable"]:
                found[f"{row['id']}.{n}"] = those[int(number or 1) - 1] if those else ""
    return found


def alone(ruleset: RuleSet, clauses: Iterable[str]) -> RuleSet:
    """The rules of these clauses."""
    rules = tuple(r for r in ruleset.rules if r.clause in set(clauses))
    return replace(ruleset, rules=rules).without_unused()


@cache
def runs() -> dict[str, Run]:
    """The gold's runs, by name."""
    return {run.id: run for run in events.read(CALLS)}


def decided(guard: CallGuard, *names: str) -> tuple[str, ...]:
    """The decision on the last call of each of these runs."""
    return tuple(guard.session().replay(runs()[name].events)[-1].decision for name in names)


def judged(ruleset: RuleSet, accounts: Iterable[Account] = ()) -> dict[str, str]:
    """Each gold rule that a guard can hold, by the rules of its sentence alone: *right* denies the violating call and
    allows the complying one, *inverted* the other way round, *absent* has no rule, else what came of both calls."""
    sentences_of, found = gold(), {}
    mine_of = {
        c.id: {c.id, decisions.clause_id(a.id)} for a in accounts for c in read().clauses if a.start <= c.start < a.end
    }
    for clause in dict.fromkeys(sentences_of.values()):
        mine = alone(ruleset, mine_of.get(clause, [clause]))
        guard = airline.guarded("retail", read().source.toolbox, mine) if mine.rules else None
        for name in [name for name, of in sentences_of.items() if of == clause]:
            came = decided(guard, f"{name}-violating", f"{name}-complying") if guard else ()
            told = {(): "absent", ("deny", "allow"): "right", ("allow", "deny"): "inverted"}
            found[name] = told.get(came, " / ".join(came))
    return found


def in_force(one: Reading) -> dict[str, str]:
    """The decision on the last call of each run of a gold rule, by the rules that stayed and the open sentences."""
    guard = airline.guarded("retail", one.source.toolbox, one.kept)
    guard = replace(guard, open=sentences.open_on(one.accounts))
    names = [f"{name}-{kind}" for name in gold() for kind in ("violating", "complying")]
    return dict(zip(names, decided(guard, *names), strict=True))


def main() -> None:
    one = read()
    print(f"sentences {sentences.counted(one.accounts)}")
    print(f"rules written {len(one.written.rules)}, kept {len(one.kept.rules)}")
    for name, ruleset in (("as written", one.written), ("kept", one.kept)):
        came = judged(ruleset)
        print(f"{name}: {dict(Counter(came.values()))} of {len(came)} gold rules")
        print("   ", {gold_rule: what for gold_rule, what in came.items() if what not in ("right", "absent")})
    _force(one)
    draft = offered_words()
    print(f"words: {len(draft.lines)} lines, {len(draft.brought)} sentences")
    for kinds in (("accept",), ("accept", "edit"), ("accept", "edit", "waive")):
        now = chosen("words", *kinds)
        came = judged(now.kept, now.accounts)
        print(f"after {', '.join(kinds)}: sentences {sentences.counted(now.accounts)}")
        print(f"kept: {dict(Counter(came.values()))} of {len(came)} gold rules")
        print("   ", {gold_rule: what for gold_rule, what in came.items() if what not in ("right", "absent")})
        _force(now)


def _force(one: Reading) -> None:
    print("in force:", dict(Counter((run.rpartition("-")[2], what) for run, what in in_force(one).items())))


if __name__ == "__main__":
    main()
