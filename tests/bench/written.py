"""Replies that a language model wrote for two documents, blind to their gold: read again, and executed on its calls.

    python tests/bench/written.py [retail | handbook] [--rules]

First come the figures that `tests/bench/gold.py` prints of a document read offline.  The second half is the same
after `choices.json`: what a person, reading the draft, would take of it and decide, written down before it was first
run.  The document and its gold were known to whoever wrote it.

The replies are in `tests/fixtures/retail_replies` and `handbook_replies`; the documents, their tools and their gold
are read from `../shared/data`.
"""

from __future__ import annotations

# ruff: noqa: E402
import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1])]

from bench import airline, gold
from bench.gold import Reading

from wb.domain import policy as documents
from wb.domain.policy import Policy
from wb.models.client import LLM
from wb.models.endpoint import Reply
from wb.models.ledger import ModelError
from wb.models.prompt import Prompt
from wb.paths import digest
from wb.rules import check, decisions, rulefile, sentences, wording
from wb.rules.rule import RuleSet

DOCUMENTS = ("retail", "handbook")


class Reader:
    """The model that wrote the replies, as an engine: it says of a statement what it said then, whichever stand beside
    it, and nothing where another question is asked."""

    name = "reader"

    def __init__(self, source: Policy, file: Path) -> None:
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
            of = self.source.seen.text.find(str(inputs["section"]))
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


def file(name: str, kind: str) -> Path:
    """A file of the fixture of a document: `replies.jsonl`, `choices.json`."""
    return airline.ROOT / "tests" / "fixtures" / f"{name}_replies" / kind


@cache
def read(name: str) -> Reading:
    """The replies for a document, read as notebook 01 reads them."""
    source = documents.load(airline.SHARED / "policies" / name)
    return gold.reading(source, LLM(Reader(source, file(name, "replies.jsonl"))))


def choices(name: str) -> Mapping[str, Any]:
    """What a person would take of the draft of a document and decide."""
    return json.loads(file(name, "choices.json").read_text("utf-8"))


def chosen(name: str, *kinds: str, seconds: float = check.SECONDS) -> Reading:
    """The same after a person's choices of these kinds: `words`, `accept` …, as a file of decisions says them.

    `seconds` are given to the check of the rules with each other.
    """
    return decide(read(name), choices(name), *kinds, seconds=seconds)


def decide(one: Reading, made: Mapping[str, Any], *kinds: str, seconds: float = check.SECONDS) -> Reading:
    """A reading after these kinds of the choices that a person made."""
    source, home = one.source, {}
    for account in one.accounts:
        home |= {c.id: account for c in one.clauses if account.start <= c.start < account.end}
    offered = sentences.offered(source, one.clauses, one.written, one.accounts)
    entries = {}
    for c, of in home.items():
        row = {"id": of.id, "text": of.text, "decision": "accept"}
        reading = {"read": decisions.offer(offered[of.id], of.id, of.text)} if of.id in offered else {}
        part, why = made["accept but for a part"].get(c, (None, "as it was read"))
        row |= {"part": part, "why": why} if part else {}
        if reading and (c in made["accept"] or part):
            half = decisions.unsettled(
                of.text, reading["read"].get("undecided", ()), part, offered[of.id], source.toolbox
            )
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


def drafted(one: Reading) -> wording.Draft:
    """The lines of words that are drafted for what a reading leaves open."""
    return sentences.drafted(one.source, one.clauses, one.written, one.accounts)


def alone(ruleset: RuleSet, clauses: Iterable[str]) -> RuleSet:
    """The rules of these clauses."""
    rules = tuple(r for r in ruleset.rules if r.clause in set(clauses))
    return replace(ruleset, rules=rules).without_unused()


def judged(of: Reading, ruleset: RuleSet) -> dict[str, str]:
    """Each gold rule that a guard can hold, by the rules of its sentence alone: *right* denies the violating call and
    allows the complying one, *inverted* the other way round, *absent* has no rule, else what came of both calls."""
    found, runs, reads = {}, gold.runs(of.source.name), gold.mine(of)
    for one in gold.wanted(of):
        if not one.guardable:
            continue
        mine = alone(ruleset, [clause for clause, those in reads.items() if one.sentence in those])
        guard = airline.guarded(of.source.name, of.source.toolbox, mine) if mine.rules else None
        calls = [runs[f"{one.id}-{kind}"].events for kind in ("violating", "complying")]
        came = tuple(guard.session().replay(events)[-1].decision for events in calls) if guard else ()
        told = {(): "absent", ("deny", "allow"): "right", ("allow", "deny"): "inverted"}
        found[one.id] = told.get(came, " / ".join(came))
    return found


def main() -> None:
    for name in [name for name in sys.argv[1:] if name in DOCUMENTS] or DOCUMENTS:
        one, made = read(name), choices(name)
        draft = drafted(one)
        _print(one, {"as written": one.written, "in force": one.kept})
        print(f"  words: {len(draft.lines)} lines, {len(draft.brought)} sentences")
        kinds = [kind for kind in ("accept", "edit", "waive") if made[kind]]
        for many in range(1, len(kinds) + 1):
            print(f"after {', '.join(kinds[:many])}:")
            now = chosen(name, "words", *kinds[:many])
            _print(now, {"in force": now.kept})


def _print(one: Reading, cases: Mapping[str, RuleSet]) -> None:
    gold.report(one)
    for said, ruleset in cases.items():
        came = judged(one, ruleset)
        print(f"  {said}, the rules of a sentence alone: {dict(Counter(came.values()))} of {len(came)} gold rules")
        print("   ", {rule: what for rule, what in came.items() if what not in ("right", "absent")})


if __name__ == "__main__":
    main()
