"""Thirty faults planted in a rule set whose gold a person wrote, and how many of them refinement mends.

    python tests/bench/planted_readings.py FOLDER [--model "offline" | "A,B,C"] [--replies FOLDER] [--record FILE]

The rules are those of `policies/code_hosting/decisions.yaml`.  Fifteen pairs of sentences become one sentence each,
read as one rule; ten rules say a fact or an act by a second name, bound (five) or told by nothing (five); five are
misread.  *Mended* is what is equal to gold, decided: a compound as two rules, a synonym with one of its names.  A right
rule is *lost* where the rules together no more imply it, and *inverted* where a rule of its sentence lets its act
happen only against it.  FOLDER gets the planted policy, what is asked with `--model`, and `planted.json`; `--record`
keeps the replies, a line each, for `Replay`.
"""

from __future__ import annotations

# ruff: noqa: E402
import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT)]

from wb.domain import policy as documents
from wb.domain.policy import Policy
from wb.logic import cel, decide
from wb.logic import formula as f
from wb.logic.syntax import parse
from wb.models import client, embeddings
from wb.models.client import LLM
from wb.models.endpoint import Reply
from wb.models.ledger import ModelError, Unanswered
from wb.offline import engine
from wb.rules import decisions, extract, physical, refine, rereading, sentences, vocabulary
from wb.rules.certify import Change
from wb.rules.extract import Extract, Extracted
from wb.rules.refine import Round
from wb.rules.rereading import State
from wb.rules.rule import Predicate, RuleSet
from wb.rules.vocabulary import Entry

COMPOUND = {  # by how two demands stand in one formula: the numbers of two sentences
    "right": [(1, 2), (5, 8), (15, 17), (35, 36), (42, 44)],
    "denial": [(18, 20), (24, 27), (39, 41), (55, 56), (50, 52)],
    "rules": [(46, 49), (63, 71), (31, 45)],
    "acts": [(22, 34), (47, 64)],
}
SYNONYMS = [  # the number of a sentence, the name that it has, its second name, what that says, its test or tools
    (9, "own_pull_request", "by_the_author", "the author of the pull request asks", "state.own_pull_request == true"),
    (19, "branch_protected", "under_protection", "the branch is a protected one", "!(state.branch_protected == false)"),
    (43, "by_owner", "asked_by_owner", "an owner asks for it", 'state.actor_role in ["owner"]'),
    (30, "made_public", "opened_to_all", "the repository is opened to everybody", 'call.visibility in ["public"]'),
    (68, "post_comment", "write_comment", "a comment is written on an issue", ["post_comment"]),
    (10, "view_diff", "look_at_diff", "somebody looks at the diff of the pull request", []),
    (32, "legal_cleared", "clearance_given", "the legal team has given its clearance", None),
    (33, "by_owner", "requester_is_owner", "whoever makes the request is an owner", None),
    (29, "made_public", "becomes_public", "the repository becomes public by the change", None),
    (60, "by_owner", "has_owner_role", "the one who asks has the role of an owner", None),
]
MISREAD = {  # an exception left out, another number, turned round, "and" for "or", a condition left out
    4: "ALWAYS (merge_pull_request IMPLIES NOT freeze)",
    12: "ALWAYS (approve_pull_request IMPLIES (NOT more_than_100_lines OR limit_waived))",
    26: "ALWAYS (delete_repository IMPLIES legal_hold)",
    40: "ALWAYS (remove_person IMPLIES (NOT on_call AND handed_over))",
    14: "ALWAYS (push_commits IMPLIES NOT force)",
}
OTHER_NUMBER = Predicate(
    "more_than_100_lines", "state", "number of changed lines > 100", test=cel.parse("state.changed_lines > 100")
)


class Golden(NamedTuple):
    """A sentence with its one rule."""

    text: str
    formula: f.Formula


@dataclass(frozen=True)
class Planted:
    """The planted state of a policy; by number, the gold of each sentence and the clause that it is in now."""

    policy: Policy
    state: State
    gold: Sequence[Golden]
    predicates: tuple[Predicate, ...]
    clause: Mapping[int, str]


def plant(folder: Path) -> Planted:
    """The policy with joined sentences, written to a folder, and its rules with thirty faults."""
    given = documents.load(ROOT / "policies" / "code_hosting")
    rulings = decisions.load(ROOT / "policies" / "code_hosting" / "decisions.yaml", given)
    kept = [one for one in rulings if one.decision == "rule"]
    own = decisions.own(kept, given.toolbox)
    gold = [Golden(one.text, rule.formula) for one, rule in zip(kept, own.rules, strict=True)]
    predicates = tuple(replace(p, description=_described(p, given)) for p in own.predicates)
    folder.mkdir(parents=True, exist_ok=True)
    text, joined = given.text, {}
    for form, pairs in COMPOUND.items():
        for one, other in pairs:
            whole = f"{gold[one].text.removesuffix('.')}, and {gold[other].text[0].lower()}{gold[other].text[1:]}"
            assert text.count(f"{gold[one].text}\n") == text.count(f"{gold[other].text}\n") == 1
            text = text.replace(f"{gold[other].text}\n\n", "").replace(gold[one].text, whole)
            joined[one, other] = whole, form
    (folder / "policy.md").write_text(text, "utf-8")
    (folder / "tools.json").write_bytes((ROOT / "policies" / "code_hosting" / "tools.json").read_bytes())
    policy = documents.load(folder)
    said = {number: golden.text for number, golden in enumerate(gold)}
    formulas = {golden.text: golden.formula for golden in gold}
    for (one, other), (whole, form) in joined.items():
        said |= {one: whole, other: whole}
        formulas[whole] = _together(gold[one].formula, gold[other].formula, form)
    entries = [Entry(p) for p in (*predicates, OTHER_NUMBER)]
    known = {p.name: p for p in predicates}
    for number, name, second, words, bound in SYNONYMS:
        fresh = replace(known[name], name=second, description=words)
        fresh = replace(fresh, tools=tuple(bound)) if isinstance(bound, list) else replace(fresh, test=None, tools=())
        if isinstance(bound, str):
            fresh = replace(fresh, test=cel.parse(bound), tools=known[name].tools)
        idle = "" if bound else "nothing tells it"
        entries.append(Entry(fresh, by="one writer" if idle else "agreed", disputed=idle))
        formulas[gold[number].text] = f.substitute(formulas[gold[number].text], {f.Atom(name): f.Atom(second)})
    formulas |= {gold[number].text: parse(wrong) for number, wrong in MISREAD.items()}
    shared = vocabulary.of_entries(entries, policy.toolbox)
    every = extract.clauses(policy)
    extracts = tuple(_extract(formulas.get(" ".join(clause.said.split()))) for clause in every)
    found = Extracted(extracts, shared.predicates, shared.toolbox, every, shared)
    classed = sentences.classify(policy, found)
    places = {" ".join(clause.said.split()): clause.id for clause in every}
    state = State(classed.ruleset, found, classed.accounts)
    return Planted(policy, state, gold, predicates, {number: places[text] for number, text in said.items()})


def _described(predicate: Predicate, policy: Policy) -> str:
    """An act by the words of its tool, a fact by those of its field and its name."""
    if predicate.kind == "action":
        return policy.toolbox.tool(predicate.tools[0]).description.rstrip(".")
    fields = [one.description for one in physical.bound(predicate, policy.toolbox)]
    return f"{predicate.name.replace('_', ' ')} ({'; '.join(fields)})" if fields else predicate.name.replace("_", " ")


def _together(one: f.Formula, other: f.Formula, form: str) -> f.Formula:
    """Two rules ALWAYS (act IMPLIES condition) as one formula."""
    (act, needs), (second, asks) = ((rule.body.left, rule.body.right) for rule in (one, other))
    if form == "right":
        return f.Always(f.Implies(act, f.And(needs, asks)))
    if form == "denial":
        return f.Always(f.Not(f.And(act, f.Or(f.Not(needs), f.Not(asks)))))
    if form == "rules":
        return f.And(one, other)
    either = f.And(f.Or(f.Not(act), needs), f.Or(f.Not(second), asks))
    return f.Always(f.Implies(f.Or(act, second), either))


def _extract(formula: f.Formula | None) -> Extract:
    if formula is None:
        return Extract("not a constraint", "says nothing that a call can break")
    return Extract("rule", "agreed 2 of 2", "agreed 2 of 2", (formula,))


# ---- what became of the faults -------------------------------------------------------------------


def measured(planted: Planted, ruleset: RuleSet) -> dict[str, object]:
    """Mended faults by kind, those that are not, and right rules that are lost or inverted."""
    box = planted.state.found.toolbox
    joined, _ = decisions.joined(ruleset, RuleSet(planted.predicates), box)
    base = joined.predicates
    of = {name: [r for r in ruleset.rules if r.clause == name] for name in set(planted.clause.values())}
    gold = [one.formula for one in planted.gold]

    def equal(formulas: Sequence[f.Formula], number: int) -> bool:
        return rereading.same(formulas, [gold[number]], base, box).outcome == "agreed"

    def alone(number: int) -> bool:
        return equal([rule.formula for rule in of[planted.clause[number]]], number)

    mended = {}
    for pairs in COMPOUND.values():
        for one, other in pairs:
            own = [rule.formula for rule in of[planted.clause[one]]]
            each = [[k for k in (one, other) if equal([rule], k)] for rule in own]
            mended[f"compound {one}+{other}"] = all(each) and {k for some in each for k in some} == {one, other}
    left = {name for rule in ruleset.rules for name in rule.predicates}
    for number, name, second, *_ in SYNONYMS:
        mended[f"synonym {second}"] = len({name, second} & left) == 1 and alone(number)
    mended |= {f"misread {number}": alone(number) for number in MISREAD}
    faulty = {number for pairs in COMPOUND.values() for pair in pairs for number in pair}
    faulty |= {number for number, *_ in SYNONYMS} | {*MISREAD}
    known = physical.rules(base, box)
    lost, inverted = [], []
    for number, right in enumerate(gold):
        acts = {f.Atom(name).predicate for name in f.predicates(right)}
        some = [rule.formula for rule in ruleset.rules if acts & {*rule.predicates}]
        given = physical.relevant(known, right, *some)
        if number not in faulty and not decide.implies(f.conjunction(tuple(some)), right, given):
            lost.append(planted.gold[number].text)
        does = f.Eventually(right.body.left)
        own = [rule.formula for rule in of[planted.clause[number]]]
        kept = f.conjunction((right, *own))
        if own and decide.contradictory(does, kept, physical.relevant(known, kept)):
            inverted.append(planted.gold[number].text)
    kinds = {
        kind: sum(yes for name, yes in mended.items() if name.startswith(kind))
        for kind in ("compound", "synonym", "misread")
    }
    missed = [name for name, yes in mended.items() if not yes]
    return {"mended": sum(mended.values()), **kinds, "missed": missed, "lost": lost, "inverted": inverted}


KEPT: list[dict] = []  # what models replied, in order


class Replay:
    """The model of that name as it was recorded: what it said of each reading, statement or name is given again for
    those that a question has, so that neither the order of the queue nor a cosine matters."""

    def __init__(self, name: str, file: Path) -> None:
        rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        self.name, self.rows = name, [row for row in rows if row["who"] == name]

    def answer(self, prompt, inputs, schema, **_):
        """The recorded reply."""
        replies = [row["reply"] for row in self.rows if row["prompt"] == prompt.name]
        if prompt.name == "merge_predicates":
            names = {row["name"] for row in inputs["predicates"]}
            pairs = [pair for one in replies for pair in one.get("merges", ())]
            return Reply({"merges": [pair for pair in pairs if {pair["keep"], pair["drop"]} <= names]})
        if prompt.name == "bind_vocabulary":
            wanted = {row["name"] for rows in inputs["entries"].values() for row in rows}
            return Reply({k: self._of(replies, k, "name", wanted) for k in ("acts", "facts")})
        given, said = ("rules", "answers") if prompt.name == "refine_predicates" else ("statements", "statements")
        found = self._of(replies, said, "id", {row["id"] for row in inputs[given]})
        if not found:
            raise ModelError(f"{self.name} was not asked this question of {prompt.name}: read it again")
        return Reply({said: found})

    def _of(self, replies, kind, name, wanted):
        rows = {row[name]: row for one in reversed(replies) for row in one.get(kind, ())}
        return [row for which, row in rows.items() if which in wanted]


class Patient(LLM):
    """A model that stops where pasted replies are awaited, so that nothing is asked that rests on missing ones, and
    keeps what it was told."""

    def ask_all(self, prompt_name, reply_type, batch):
        replies = super().ask_all(prompt_name, reply_type, batch)
        KEPT.extend(
            {
                "who": self.name,
                "prompt": prompt_name,
                "reply": one.model_dump(exclude_defaults=True),
            }
            for one in replies
            if not isinstance(one, Unanswered)
        )
        if any(isinstance(one, Unanswered) and "paste the reply" in one.reason for one in replies):
            raise client.NotPasted("replies are awaited")
        return replies


def refined(planted: Planted, models: Sequence[LLM], encoder: object, **options: int) -> tuple[Round, ...]:
    """The rounds of Alg. 2: the first model proposes, the others read; with one that is offline nobody does."""
    offline = models[0].name == "offline"
    panel = None if offline else extract.panel(models[1:] or models)
    wanted = {"max_rounds": 3, "budget": 120} | options
    box = planted.state.found.toolbox
    return refine.refine(planted.state, models[0], encoder, toolbox=box, policy=planted.policy, panel=panel, **wanted)


def told(changes: Sequence[Change]) -> list[str]:
    """Changes, a line each."""
    return [f"{c.kind} {'yes' if c.accepted else 'no '} {c.before} {c.certificate}" for c in changes]


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", default="offline")
    parser.add_argument("--replies", type=Path, default=None)
    parser.add_argument("--record", type=Path, default=None)
    asked = parser.parse_args()
    planted = plant(asked.folder / "policy")
    encoder = embeddings.Encoder(cache=asked.folder / "embeddings")
    place = asked.replies or asked.folder / "replies"
    models = [
        Patient(client.connect(name, offline=engine.Offline(planted.policy.toolbox, encoder), replies_dir=place).engine)
        for name in asked.model.split(",")
    ]
    try:
        rounds = refined(planted, models, encoder)
    except client.NotPasted as waits:
        raise SystemExit(f"{waits}: {len(client.waiting(place, asked.model))} questions wait") from None
    if asked.record:
        kept = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in KEPT)
        asked.record.write_text(kept, "utf-8")
    rows = [{**one.row(), "measured": measured(planted, one.ruleset)} for one in rounds]
    (asked.folder / "planted.json").write_text(json.dumps(rows, indent=1, ensure_ascii=False), "utf-8")
    for one, row in zip(rounds, rows, strict=True):
        print(
            row["round"], {k: row[k] for k in ("rules", "in_force", "open", "predicates", "unbound")}, row["measured"]
        )
        print("\n".join(told([c for c in one.changes if c.kind != "clarify"])))


if __name__ == "__main__":
    main()
