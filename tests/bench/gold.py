"""Three foreign documents read offline, against their gold: what is right, inverted, misread, lost and bound.

    python tests/bench/gold.py [--rules]

The documents, their tools as shipped and their gold are read from `../shared/data/policies`; nothing is reviewed.
A rule whose predicates all have a tool or a field is *executed*: right if its guard denies the violating call of a gold
rule of its sentence and allows the complying calls, inverted if it allows a violating one and denies the complying one.
A rule that no call can decide, a gold rule without calls and a document without tools are judged by *form*: on the
situations of `tests/gold/forms.tsv`, which give truths to predicates by the words of their names.  What is neither is
misread: also a rule of a sentence that demands nothing, and one with a predicate that the gold knows nothing of.
The form is the weaker judge: it believes that a predicate means what its name says.
"""

from __future__ import annotations

# ruff: noqa: E402
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1])]

from bench import airline

from wb.domain import events
from wb.domain import policy as documents
from wb.domain.events import Run
from wb.domain.policy import Clause, Policy
from wb.logic import facts, semantics
from wb.logic.syntax import render
from wb.offline import reader
from wb.rules import check, decisions, sentences
from wb.rules.rule import Predicate, Rule, RuleSet
from wb.rules.sentences import Account

POLICIES = ("retail", "handbook", "ai_act")
GOLD = Path(__file__).parents[1] / "gold"
VERDICTS = ("right", "inverted", "misread")
Situation = tuple[tuple[str, bool], ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A gold rule: its sentence, whether that is normative, whether a call can break it, whether it restricts (what is
    done later cannot mend it), and what it binds."""

    id: str
    sentence: str
    core: bool
    guardable: bool
    restricts: bool
    tools: frozenset[str]
    fields: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """What was made of a document: all rules as written, those in force, and each sentence's class."""

    source: Policy
    clauses: tuple[Clause, ...]
    written: RuleSet
    kept: RuleSet
    accounts: tuple[Account, ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """A rule, the gold rules of its sentence, how it was judged (*calls* or *form*), and what came of each of them."""

    rule: Rule
    by: str
    came: Mapping[str, str]

    @property
    def verdict(self) -> str:
        found = set(self.came.values())
        return "inverted" if "inverted" in found else "right" if "right" in found and "over" not in found else "misread"


@cache
def read(name: str) -> Reading:
    """A document, as the offline engine reads it."""
    return reading(documents.load(airline.SHARED / "policies" / name))


def reading(source: Policy) -> Reading:
    """What the offline engine makes of a document, as notebook 01 reads it."""
    found = reader.extracted(source)
    classed = sentences.classify(source, found)
    questions = check.questions(check.suspected(check.check(classed.ruleset), classed.ruleset))
    accounts = sentences.questioned(classed.accounts, questions, (), found.toolbox)
    return Reading(source, found.clauses, classed.ruleset, classed.ruleset, accounts)


@cache
def gold(name: str) -> tuple[tuple[str, bool, str, int], ...]:
    """The gold's sentences: id, whether normative, words, and which of the sentences with these words is meant."""
    rows = json.loads((airline.SHARED / "policies" / name / "gold.json").read_text("utf-8"))
    return tuple(
        (row["id"], row["cls"] == "core", text.strip(), int(number or 1))
        for row in rows
        for text, _, number in [
            row["text"].partition("#") if re.search(r"#\d+\Z", row["text"]) else (row["text"], "", "")
        ]
    )


@cache
def wanted(of: Reading) -> tuple[Wanted, ...]:
    """All gold rules of a document."""
    rows = json.loads((airline.SHARED / "policies" / of.source.name / "gold.json").read_text("utf-8"))
    every = frozenset(tool.name for tool in of.source.toolbox.tools)
    return tuple(
        Wanted(
            f"{row['id']}.{n}",
            row["id"],
            row["cls"] == "core",
            bool(one["guardable"]),
            one["polarity"] in ("forbid", "limit", "require-before"),
            every if one["tools"] == "all" else _named(one["tools"], every),
            frozenset(filter(None, map(str.strip, one["fields"].split(",")))),
        )
        for row in rows
        for n, one in enumerate(row["rules"], 1)
    )


def _named(told: str, every: Iterable[str]) -> frozenset[str]:
    parts = [part.strip().replace("*", ".*") for part in told.split(",") if part.strip()]
    return frozenset(tool for tool in every if any(re.fullmatch(part, tool) for part in parts))


@cache
def places(of: Reading) -> dict[str, Account]:
    """The sentence of the document that each gold sentence stands in.

    Raises:
        ValueError: a gold sentence stands nowhere in the document.
    """
    found = {}
    for id, _, words, number in gold(of.source.name):
        those = [one for one in of.accounts if _flat(words) in _flat(one.text)]
        if len(those) < number:
            raise ValueError(
                f"{of.source.name}: the words of {id} were required in a sentence; got none with {words!r}"
            )
        found[id] = those[number - 1]
    return found


def _flat(text: str) -> str:
    return " ".join(re.sub(r"[*_`]", "", text.replace("’", "'")).lower().split())


@cache
def mine(of: Reading) -> dict[str, tuple[str, ...]]:
    """The gold sentences that each clause reads, and each decision of a person on a sentence."""
    found: dict[str, list[str]] = {}
    for id, account in places(of).items():
        found.setdefault(decisions.clause_id(account.id), []).append(id)
        for clause in of.clauses:
            if clause.start < account.end and account.start < clause.end:
                found.setdefault(clause.id, []).append(id)
    return {clause: tuple(ids) for clause, ids in found.items()}


@cache
def forms() -> dict[str, tuple[Situation, tuple[Situation, ...]]]:
    """The violating and the complying situations of each gold rule."""
    rows = [row.split("\t") for row in (GOLD / "forms.tsv").read_text("utf-8").splitlines() if not row.startswith("#")]
    return {id: (_situation(bad), tuple(map(_situation, good.split(" | ")))) for id, bad, good in rows}


def _situation(text: str) -> Situation:
    """Truths by name: "!confirm|yes;cancel" makes what is named like confirm or yes false, what like cancel true."""
    return tuple((part.strip().removeprefix("!"), not part.strip().startswith("!")) for part in text.split(";"))


def formed(rule: Rule, called: Mapping[str, str], one: Wanted) -> str:
    """What the form of a rule says of a gold rule: *right*, *inverted*, *over* (breaks in both), *misread*.

    What restricts is broken by the violating situation even if the complying one follows it.
    """
    bad, *goods = (_step(called, situation) for situation in (forms()[one.id][0], *forms()[one.id][1]))
    if bad is None or None in goods:
        return "misread"
    denied = [not semantics.holds(rule.formula, steps) for steps in ([bad], *([bad, good] for good in goods))]
    allowed = [semantics.holds(rule.formula, [good]) for good in goods]
    return _came(all(denied) if one.restricts else denied[0], allowed)


def _step(called: Mapping[str, str], situation: Situation) -> frozenset[str] | None:
    """The predicates of a rule that are true in a situation; None where the gold knows nothing of one."""
    told = {p: [truth for words, truth in situation if re.search(words, text)] for p, text in called.items()}
    return frozenset(p for p, truths in told.items() if truths[0]) if all(told.values()) else None


def _called(predicates: Iterable[Predicate]) -> dict[str, str]:
    """What predicates are called: by their names, which are cut, and by the words they stand for where no tool does."""
    return {p.name: p.name if grounded([p]) else f"{p.name} {_flat(p.description)}" for p in predicates}


def _came(denied: bool, allowed: Sequence[bool]) -> str:
    if denied:
        return "right" if all(allowed) else "over"
    return "inverted" if not any(allowed) else "misread"


@cache
def runs(name: str) -> dict[str, Run]:
    """The gold's runs by name; none for a document without tools."""
    path = GOLD / f"calls_{name}.jsonl"
    return {run.id: run for run in events.read(path)} if path.exists() else {}


def executed(of: Reading, ruleset: RuleSet, id: str) -> str:
    """What the guards of some rules decide on the two calls of a gold rule."""
    name = of.source.name
    guard = airline.guarded(name, of.source.toolbox, ruleset)
    bad, good = (
        guard.session().replay(runs(name)[f"{id}-{k}"].events)[-1].decision for k in ("violating", "complying")
    )
    told = {("deny", "allow"): "right", ("allow", "deny"): "inverted", ("deny", "deny"): "over"}
    return told.get((bad, good), "misread")


def grounded(predicates: Iterable[Predicate]) -> bool:
    """Whether each predicate has its tools or its field."""
    return all(p.tools if p.kind == "action" else p.test is not None for p in predicates)


def used(ruleset: RuleSet, rule: Rule) -> tuple[Predicate, ...]:
    return tuple(p for p in ruleset.predicates if p.name in rule.predicates)


@cache
def judge(of: Reading, ruleset: RuleSet) -> tuple[Judged, ...]:
    """Each rule: by calls where all of it is bound, as far as the gold has calls, else by its form."""
    found = []
    for rule in ruleset.rules:
        if rule.type != "action":
            continue
        here = [one for one in wanted(of) if one.sentence in mine(of).get(rule.clause, ())]
        alone = replace(ruleset, rules=(rule,)).without_unused()
        said = _called(alone.predicates)
        executable = runs(of.source.name) if grounded(alone.predicates) else {}
        called = [one.id for one in here if f"{one.id}-violating" in executable]
        came = {one.id: executed(of, alone, one.id) if one.id in called else formed(rule, said, one) for one in here}
        told = {came[id] for id in called} - {"misread"}
        found.append(Judged(rule, "calls" if told else "form", came))
    return tuple(found)


def bound(of: Reading, ruleset: RuleSet) -> dict[str, str]:
    """Each guardable rule of a normative sentence: *rightly* bound to its tools and fields, *wrongly*, *not*."""
    found = {}
    for one in wanted(of):
        if not (one.guardable and one.core):
            continue
        beside = [other for other in wanted(of) if other.sentence == one.sentence]
        rules = [r for r in ruleset.rules if one.sentence in mine(of).get(r.clause, ())]
        touched = [_touches(used(ruleset, rule)) for rule in rules]
        known = one.tools | one.fields | frozenset(n for o in beside for n in (*o.tools, *o.fields))
        strange = frozenset(n for tools, fields, _ in touched for n in tools | fields) - known
        whole = [(tools, fields) for tools, fields, complete in touched if complete]
        same = [tools for tools, fields in whole if one.fields <= fields | tools and tools & one.tools]
        all_of_them = one.tools <= frozenset(n for tools in same for n in tools)
        found[one.id] = "wrongly" if strange else "rightly" if same and all_of_them else "not"
    return found


def _touches(predicates: Sequence[Predicate]) -> tuple[frozenset[str], frozenset[str], bool]:
    """The tools and the fields that predicates are bound to, and whether all are bound."""
    tools = frozenset(tool for p in predicates if p.kind == "action" for tool in p.tools)
    paths = [path for p in predicates if p.test is not None for path in facts.paths(p.test)]
    return tools, frozenset(path.names[1] for path in paths), grounded(predicates)


def lost(of: Reading) -> tuple[str, ...]:
    """The normative sentences that are neither read nor open."""
    return tuple(id for id, core, *_ in gold(of.source.name) if core and places(of)[id].cls == "not a constraint")


def decided(of: Reading) -> dict[str, str]:
    """The decision on the last call of each run of the gold, by the rules in force and the open sentences together."""
    name = of.source.name
    guard = replace(airline.guarded(name, of.source.toolbox, of.kept), open=sentences.open_on(of.accounts))
    return {run: guard.session().replay(one.events)[-1].decision for run, one in runs(name).items()}


def in_force(of: Reading) -> dict[tuple[str, str], int]:
    """How often each of these decisions came on the violating and the complying calls."""
    return dict(Counter((run.rpartition("-")[2], decision) for run, decision in decided(of).items()))


def figures(of: Reading, ruleset: RuleSet) -> dict[str, object]:
    """The figures of a document for some rules of it."""
    rows = judge(of, ruleset)
    those = {one.id for one in wanted(of)}
    right = {id for row in rows if row.verdict == "right" for id, came in row.came.items() if came == "right"}
    calls = {
        id for row in rows if row.verdict == "right" and row.by == "calls" for id, c in row.came.items() if c == "right"
    }
    return {
        "rules": len(rows),
        **{verdict: sum(row.verdict == verdict for row in rows) for verdict in VERDICTS},
        "by calls": dict(Counter(row.verdict for row in rows if row.by == "calls")),
        "gold right": f"{len(right)} of {len(those)} ({len(calls)} by calls)",
        "guardable core rules bound": dict(Counter(bound(of, ruleset).values())),
        "predicates without a tool or field": sum(not grounded([p]) for p in ruleset.predicates),
    }


def report(of: Reading) -> None:
    """Print the figures of a reading; with `--rules` also each rule and what came of it."""
    name, gone = of.source.name, lost(of)
    core = sum(core for _, core, *_ in gold(name))
    print(f"{name}: sentences {sentences.counted(of.accounts)}; lost {len(gone)} of {core} {list(gone)}")
    print(f"  in force: {figures(of, of.kept)}")
    print(f"  calls, with the open sentences: {in_force(of)}")
    if "--rules" in sys.argv:
        for row in judge(of, of.kept):
            said = f"{render(row.rule.formula)} <- {row.rule.text[:70]}"
            print(f"  {row.verdict:8} {row.by:5} {dict(row.came)} {said}")
        print(f"  bound: {bound(of, of.kept)}")


def main() -> None:
    for name in POLICIES:
        report(read(name))


if __name__ == "__main__":
    main()
