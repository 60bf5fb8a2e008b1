"""Thirty faults planted in readings of a handbook: what is mended by proof alone, and with readers as they replied."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench import planted_readings as planted
from test_refine import Words

from wb.domain import policy as documents
from wb.logic import formula as f
from wb.models.client import LLM
from wb.offline import engine, reader
from wb.rules import decisions, extract, refine, rereading, sentences
from wb.rules.rereading import State
from wb.rules.rule import rename

REPLIES = Path(__file__).parent / "fixtures" / "planted" / "replies.jsonl"
READERS = ("paste:R1", "paste:R2", "paste:R3")


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> planted.Planted:
    return planted.plant(tmp_path_factory.mktemp("planted"))


def test_all_thirty_faults_are_there_and_count_as_faults(faulty) -> None:
    before = planted.measured(faulty, faulty.state.ruleset)
    assert (before["mended"], len(before["missed"]), before["lost"]) == (0, 30, [])
    assert [len(pairs) for pairs in planted.COMPOUND.values()] == [5, 5, 3, 2]
    assert (len(planted.SYNONYMS), len(planted.MISREAD), len(faulty.gold)) == (10, 5, 73)
    assert sum(bound in ([], None) for *_, bound in planted.SYNONYMS) == 5, "five that nothing tells"
    touched = [n for pairs in planted.COMPOUND.values() for pair in pairs for n in pair]
    touched += [*planted.MISREAD, *(number for number, *_ in planted.SYNONYMS)]
    assert len(touched) == len({*touched}) == 45


def test_what_is_lost_and_inverted_is_seen(faulty) -> None:
    """The measure can fail: a rule that is dropped is lost, a mended fault that is dropped is not mended."""
    ruleset = faulty.state.ruleset
    (safe,) = (r for r in ruleset.rules if r.clause == faulty.clause[53])
    without = type(ruleset)(ruleset.predicates, tuple(r for r in ruleset.rules if r is not safe))
    assert planted.measured(faulty, without)["lost"] == [faulty.gold[53].text]
    turned = f.Always(f.Implies(safe.formula.body.left, f.Not(safe.formula.body.right)))
    rules = tuple(
        type(r)(**{**{k: getattr(r, k) for k in r.__slots__}, "formula": turned}) if r is safe else r
        for r in ruleset.rules
    )
    assert faulty.gold[53].text in planted.measured(faulty, type(ruleset)(ruleset.predicates, rules))["inverted"]


def test_by_proof_alone_half_is_mended_and_nothing_lost(faulty) -> None:
    llm = LLM(engine.Offline(faulty.state.found.toolbox), workers=1)
    last = planted.refined(faulty, [llm], Words(), max_rounds=2)[-1]
    found = planted.measured(faulty, last.ruleset)
    assert (found["compound"], found["synonym"], found["misread"], found["lost"]) == (10, 5, 0, [])
    assert len(found["inverted"]) == 1, "the one that was planted"


def test_with_blind_readers_at_least_25_are_mended_none_lost_none_inverted(faulty) -> None:
    """Replies that language models wrote, who saw no gold; none was asked twice, and no prompt changed after them."""
    models = [LLM(planted.Replay(name, REPLIES), workers=1) for name in READERS]
    rounds = planted.refined(faulty, models, Words())
    found = planted.measured(faulty, rounds[-1].ruleset)
    assert found["mended"] >= 25 and (found["lost"], found["inverted"]) == ([], [])
    assert (found["mended"], found["compound"], found["synonym"], found["misread"]) == (30, 15, 10, 5)
    corrected = [change for one in rounds for change in one.changes if change.kind == "correct" and change.accepted]
    assert len(corrected) == 10 and all("blind readers: agreed 2 of 2" in change.certificate for change in corrected)


def test_readers_who_say_what_stands_there_mend_no_misreading(faulty) -> None:
    """The same proposals, and readers who agree on nothing: only what is proved is made."""

    class Silent(planted.Replay):
        def answer(self, prompt, inputs, schema, **how):
            if prompt.name in ("read_formulas", "read_cases", "read_conditions"):
                return planted.Reply(
                    {"statements": [{"id": row["id"], "unclear": "?"} for row in inputs["statements"]]}
                )
            return super().answer(prompt, inputs, schema, **how)

    models = [LLM((Silent if k else planted.Replay)(name, REPLIES), workers=1) for k, name in enumerate(READERS)]
    last = planted.refined(faulty, models, Words(), max_rounds=1)[-1]
    found = planted.measured(faulty, last.ruleset)
    assert (found["compound"], found["misread"], found["lost"]) == (10, 0, [])
    held = [change for change in last.changes if change.kind == "correct"]
    assert held and not any(change.accepted for change in held)


def test_what_the_grammar_left_open_of_the_handbook_is_settled_and_its_one_misreading_corrected() -> None:
    """Figures 4 to 6 of code_hosting: 24 rules in force and 70 sentences to decide become 73 rules, all equal to what a
    person decided, whose decisions nobody saw."""
    policy = documents.load(planted.ROOT / "policies" / "code_hosting")
    rulings = decisions.load(planted.ROOT / "policies" / "code_hosting" / "decisions.yaml", policy)
    found = reader.extracted(policy)
    classed = sentences.classify(policy, found)
    first, *others = [LLM(planted.Replay(name, REPLIES.with_name("grammar.jsonl")), workers=1) for name in READERS]
    options = {"max_rounds": 4, "budget": 40, "policy": policy, "panel": extract.panel(others)}
    start = State(classed.ruleset, found, classed.accounts)
    rounds = refine.refine(start, first, Words(), toolbox=policy.toolbox, **options)
    curve = [one.measures() for one in rounds]
    assert [(row["in_force"], row["open"]) for row in curve[:3]] == [(24, 70), (48, 30), (73, 0)]
    last = rounds[-1].state
    clauses = {" ".join(clause.said.split()): clause.id for clause in found.clauses}
    gold = [one for one in rulings if one.decision == "rule"]
    own = decisions.own(gold, policy.toolbox)
    other = tuple(p.under(f"gold_{p.name}") for p in own.predicates)
    names, equal = {p.name: f"gold_{p.name}" for p in own.predicates}, 0
    for one, said in zip(gold, own.rules, strict=True):
        mine, right = last.demanded(clauses[" ".join(one.text.split())]), rename(said.formula, names)
        equal += rereading.same(mine, [right], (*last.known, *other), last.found.toolbox).outcome == "agreed"
    assert (equal, len(last.ruleset.rules)) == (73, 73)
    (corrected,) = (c for each in rounds for c in each.changes if c.kind == "correct" and c.accepted)
    assert "owner confirmed is false" in corrected.certificate, "made public without the owner's word"
