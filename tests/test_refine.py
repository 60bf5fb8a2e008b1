"""Alg. 2 from end to end on a small rule set, with the offline proposals and with a model that lies."""

from __future__ import annotations

import itertools
import zlib

import numpy as np
import pytest
from oracles.told import valuation

from wb.domain.tools import Field, Tool, Toolbox
from wb.domain.trace import Call, Step
from wb.logic import cel, semantics, syntax
from wb.logic.formula import conjunction
from wb.models.client import LLM
from wb.models.endpoint import Reply
from wb.offline import engine as proposals
from wb.rules import certify, physical, refine
from wb.rules.rule import Predicate, Rule, RuleSet

TOOLBOX = Toolbox(
    tools=(Tool("pay", "Pay a bill of the user."), Tool("post", "Publish a comment on a page.")),
    state=(
        Field("age", "integer", "age of the user in years"),
        Field("agreed", "boolean", "the user has agreed to it"),
    ),
)
PREDICATES = (
    Predicate("pay", "action", "do it", tools=("pay",)),
    Predicate("paying", "action", "do it", tools=("pay",)),
    Predicate("post", "action", "do that", tools=("post",)),
    Predicate("grown", "state", "the user", test=cel.parse("state.age >= 18")),
    Predicate("minor", "state", "the user", test=cel.parse("state.age < 18")),
    Predicate("teen", "state", "the user", test=cel.parse("state.age >= 15")),
    Predicate("agreed", "state", "the user", test=cel.parse("state.agreed")),
    Predicate("asked", "state", "the user was asked for it and said yes to it in so many words"),
    Predicate("asked_politely", "state", "the user was asked for it politely and said yes to it in so many words"),
)
TEXTS = (
    "ALWAYS (pay IMPLIES (grown AND agreed))",
    "ALWAYS (paying IMPLIES NOT minor)",
    "ALWAYS (pay IMPLIES teen)",
    "ALWAYS (post IMPLIES asked)",
    "ALWAYS (post IMPLIES asked_politely)",
    "ALWAYS (post IMPLIES (asked_politely AND (teen OR agreed)))",
)
RULES = RuleSet(
    PREDICATES,
    tuple(
        Rule(f"r{i}", f"sentence {i}", syntax.parse(t), "permit_only_if", clause=f"c{i}", quote=f"q{i}")
        for i, t in enumerate(TEXTS, 1)
    ),
)


class Words:
    """An encoder of hashed words: texts that share words are near, nothing is learned."""

    def encode(self, texts):
        rows = np.zeros((len(texts), 512), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.replace(":", " ").split():
                row[zlib.crc32(word.encode()) % 512] += 1
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class Engine:
    """An engine that answers both refinement prompts by two functions."""

    name = "scripted"

    def __init__(self, verify=proposals.refine, prune=proposals.merge):
        self.by = {"refine_predicates": verify, "merge_predicates": prune}
        self.asked = []

    def answer(self, prompt, inputs, schema):
        prompt.render(**inputs)  # what is asked fits the prompt's declared inputs and is JSON
        self.asked.append((prompt.name, inputs))
        if prompt.name == "merge_predicates":
            return Reply(self.by[prompt.name](inputs), engine=self.name)
        known = {p["name"]: p for p in inputs["predicates"]}
        rows = [{"rule": r, "predicates": [known[name] for name in r["predicates"]]} for r in inputs["rules"]]
        said = [{"id": row["rule"]["id"], **self.by[prompt.name](row)} for row in rows]
        return Reply({"answers": said}, engine=self.name)


def run(engine=None, **options):
    return refine.refine(
        RULES, LLM(engine or Engine(), workers=1), Words(), toolbox=TOOLBOX, **{"similarity": 0.3, **options}
    )


def meaning(rules: RuleSet) -> list[bool]:
    """Whether the whole set holds in each situation of one step: every call and every value of every field."""
    found = []
    for calls, age, agreed, asked, politely in itertools.product(
        itertools.product((0, 1), repeat=2), (14, 15, 17, 18), (0, 1), (0, 1), (0, 1)
    ):
        step = Step(
            tuple(Call(t) for t, c in zip(("pay", "post"), calls, strict=True) if c),
            {"age": age, "agreed": bool(agreed), "asked": bool(asked), "asked_politely": bool(politely)},
        )
        world = frozenset(n for n, v in valuation(rules.predicates, step).items() if v)
        found.append(semantics.holds(conjunction(tuple(r.formula for r in rules.rules)), [world]))
    return found


def test_refinement_leaves_the_same_behaviour_with_fewer_rules_and_less_vagueness():
    rounds = run()
    rows = [r.row() for r in rounds]
    assert meaning(rounds[-1].ruleset) == meaning(RULES)
    assert rows[-1]["rules"] < rows[0]["rules"] and rows[-1]["predicates"] < rows[0]["predicates"]
    assert rows[-1]["vagueness"] < rows[0]["vagueness"]


def test_each_round_is_measured_after_refinement_and_after_pruning():
    rounds = run()
    assert rounds[0].refined is None and rounds[0].row()["refined"] is None
    for before, after in itertools.pairwise(rounds):
        middle, kinds = after.refined, {c.kind for c in after.changes if c.accepted}
        assert meaning(middle.ruleset) == meaning(RULES) and middle.number == after.number
        assert middle.vagueness == refine.of_predicates(middle.ruleset.predicates, Words())
        row = after.row()
        assert row["refined"]["rules"] == len(middle.ruleset.rules) >= row["rules"], "pruning adds no rule"
        assert (middle.ruleset == before.ruleset) == (not kinds & {"split", "clarify"})
        assert (middle.ruleset == after.ruleset) == (not kinds & {"merge", "prune"})
    assert any(one.refined.measures() != one.measures() for one in rounds[1:])


def test_every_accepted_change_has_a_certificate_and_no_loss():
    changes = [c for r in run() for c in r.changes]
    assert {c.kind for c in changes if c.accepted} == {"split", "clarify", "merge", "prune"}
    assert all(c.certificate and not c.loss for c in changes if c.accepted)


def test_predicates_that_sound_alike_are_proposed_and_refused_without_proof():
    refused = [c for r in run() for c in r.changes if not c.accepted and c.kind == "merge"]
    assert any({"asked", "asked_politely"} == set(c.before) and "tells them apart" in c.certificate for c in refused)
    assert len({frozenset(c.before) for c in refused}) == len(refused), "refused once is not proposed again"


def test_no_rule_loses_its_sentence_its_modality_or_its_tests():
    rounds = run()
    first, last = RULES, rounds[-1].ruleset
    named = {i for r in last.rules for i in (r.id, *r.parents)}
    assert {r.id for r in first.rules} <= named, "every extracted rule lives on or is named by its heir"
    origin = {r.id: r for r in first.rules}
    for r in last.rules:
        old = origin[r.id.split("_")[0]]
        assert (r.clause, r.quote, r.modality) == (old.clause, old.quote, old.modality)
    tests = {p.test for p in last.predicates if p.test}
    assert cel.parse("state.agreed") in tests and any(cel.render(t).endswith(" 18") for t in tests)
    assert {t for p in last.predicates for t in p.tools} == {"pay", "post"}


def test_the_budget_is_spent_on_the_vaguest_rules_first_and_one_round_is_less_than_all():
    engine = Engine()
    rounds = run(engine, budget=1)
    scores = refine.of_rules(RULES, rounds[0].vagueness)
    asked = [row["id"] for name, i in engine.asked if name == "refine_predicates" for row in i["rules"]][:1]
    assert tuple(asked) == refine.vaguest(scores, 1)
    assert len(rounds) >= 4, "three rounds or more beside the extracted set"
    one = run(budget=1, max_rounds=1)
    assert len(one) == 2 and one[-1].row() == rounds[1].row()
    assert one[-1].ruleset != rounds[-1].ruleset


def test_it_ends_when_nothing_changes_and_a_second_refinement_finds_nothing():
    rounds = run(max_rounds=9)
    assert len(rounds) < 10 and not any(c.accepted for c in rounds[-1].changes)
    again = refine.refine(rounds[-1].ruleset, LLM(Engine(), workers=1), Words(), toolbox=TOOLBOX, similarity=0.3)
    assert not any(c.accepted and c.kind != "clarify" for r in again for c in r.changes)


def test_refinement_repeats_exactly():
    assert [r.row() for r in run()] == [r.row() for r in run()]


def lying_refine(inputs):
    """A model that weakens, reverses and invents."""
    formula, action = inputs["rule"]["formula"], inputs["predicates"][0]["name"]
    return {
        "label": "needs refinement",
        "rules": [
            {"text": "weaker", "formula": f"({formula}) OR ALWAYS NOT {action}"},
            {"text": "other", "formula": f"ALWAYS ({action} OR NOT {action})"},
        ],
        "predicates": [
            {"name": p["name"], "new_name": "not_" + p["name"], "description": "the opposite"}
            for p in inputs["predicates"]
        ],
    }


def lying_merge(inputs):
    names, rules = [p["name"] for p in inputs["predicates"]], [r["id"] for r in inputs["rules"]]
    return {
        "merges": [{"keep": a, "drop": b, "negated": True} for a, b in itertools.permutations(names, 2)],
        "redundant": [{"rule": r, "because": [s]} for r in rules[:1] for s in rules[1:]]
        + [{"rule": "nowhere", "because": []}],
    }


def test_a_model_that_lies_changes_nothing_that_the_rules_mean():
    rounds = run(Engine(lying_refine, lying_merge))
    assert meaning(rounds[-1].ruleset) == meaning(RULES)
    assert sum(not c.accepted for r in rounds for c in r.changes) > 10


def test_a_reply_that_never_comes_is_on_the_record():
    def silent(inputs):
        return {"nothing": "useful"}

    rounds = run(Engine(verify=silent), max_rounds=1)
    assert any("no reply" in c.certificate for c in rounds[1].changes) and meaning(rounds[-1].ruleset) == meaning(RULES)


def test_a_group_without_a_reply_is_on_the_record_too():
    rounds = run(Engine(prune=lambda inputs: {"merges": "none"}), max_rounds=1)
    assert any(c.kind == "merge" and "no reply" in c.certificate for c in rounds[1].changes)


CLINIC = Toolbox(
    tools=(Tool("open_cabinet", "Open the cabinet."), Tool("write_note", "Write a note.")),
    state=(Field("role", "string", "the role of the user", values=("nurse", "physician", "administrator")),),
)
ROLES = RuleSet(
    (
        Predicate("open", "action", "open the cabinet", tools=("open_cabinet",)),
        Predicate("note", "action", "write a note", tools=("write_note",)),
        Predicate("administrator", "state", "in charge", test=cel.parse('state.role == "administrator"')),
        Predicate("staff", "state", "at the bed", test=cel.parse('state.role in ["nurse", "physician"]')),
    ),
    (
        Rule("a", "", syntax.parse("ALWAYS (open IMPLIES administrator)"), "permit_only_if", quote="A."),
        Rule("b", "", syntax.parse("ALWAYS (note IMPLIES staff)"), "permit_only_if", quote="B."),
        Rule("c", "", syntax.parse("ALWAYS (open IMPLIES NOT staff)"), "forbid", quote="C."),
    ),
)


@pytest.mark.parametrize("engine", [Engine(), Engine(lying_refine, lying_merge)], ids=["offline", "lying"])
def test_a_visitor_may_do_nothing_where_each_action_is_for_named_roles_only(engine):
    last = refine.refine(ROLES, LLM(engine, workers=1), Words(), toolbox=CLINIC, similarity=0.0)[-1].ruleset
    together = conjunction(tuple(r.formula for r in last.rules))
    done = set()
    for tool, role in itertools.product(("open_cabinet", "write_note"), (*CLINIC.state[0].values, "visitor")):
        known = valuation(last.predicates, Step((Call(tool),), {"role": role}))
        if semantics.holds(together, [frozenset(n for n, v in known.items() if v)]):
            done.add((tool, role))
    assert done == {("open_cabinet", "administrator"), ("write_note", "nurse"), ("write_note", "physician")}


def test_a_rule_that_can_never_fire_stays_and_is_named_with_both_sentences():
    never = Rule("never", "", syntax.parse("ALWAYS NOT pay"), "forbid", quote="Never pay.")
    only = Rule("only", "", syntax.parse("ALWAYS (pay IMPLIES agreed)"), "permit_only_if", quote="Pay once agreed.")
    rounds = refine.refine(RuleSet(PREDICATES, (never, only)), LLM(Engine(), workers=1), Words(), toolbox=TOOLBOX)
    assert {r.id for r in rounds[-1].ruleset.rules} == {"never", "only"}
    (conflict,) = rounds[-1].conflicts
    assert (conflict.rule, conflict.by) == ("only", ("never",))
    assert rounds[-1].row()["conflicts"] == [
        {"rule": "only", "by": ["never"], "sentences": ["Pay once agreed.", "Never pay."]}
    ]
    refused = [c for r in rounds for c in r.changes if c.kind == "prune"]
    assert refused and not any(c.accepted for c in refused) and "a conflict" in refused[0].certificate
    assert run()[-1].conflicts == ()


@pytest.mark.parametrize("options", [{"max_rounds": -1}, {"budget": -1}])
def test_bad_limits_are_refused(options):
    with pytest.raises(ValueError, match="0 or more"):
        run(**options)


def test_no_rounds_and_no_budget_are_limits_too():
    (only,) = run(max_rounds=0)
    assert (only.number, only.ruleset, only.changes) == (0, RULES.without_unused(), ())
    rounds = run(budget=0)
    assert [r.number for r in rounds] == [0, 1] and not any(c.kind in ("split", "clarify") for c in rounds[1].changes)
    assert [r.number for r in run(max_rounds=1)] == [0, 1]


def test_the_rounds_that_are_done_are_told():
    told = []
    rounds = run(max_rounds=9, tell=lambda done, of: told.append((done, of)))
    made = len(rounds) - 1
    assert told == [*((done, 9) for done in range(made)), (made, made)]


def test_of_a_group_of_one_predicate_the_later_of_two_equal_rules_is_redundant():
    row = {"background": [], "rules": [{"id": i, "formula": "ALWAYS NOT pay"} for i in ("a", "b", "c")]}
    found = refine._repeated(row).redundant
    assert [(r.rule, r.because) for r in found] == [("c", ["b"]), ("b", ["a"])]
    assert found[0].reason == "already required by b"
    assert refine._repeated({**row, "rules": row["rules"][:1]}).redundant == []


def test_what_is_too_large_to_decide_is_not_implied():
    many = conjunction(tuple(syntax.parse(f"EVENTUALLY x{k} OR NEXT y{k}") for k in range(40)))
    both, one, other = (syntax.parse(text) for text in ("x AND y", "x", "EVENTUALLY z"))
    assert certify.redundant({"both": both, "one": one}, syntax.parse("true")) == {"one": "both"}
    assert certify.redundant({"many": many, "other": other}, syntax.parse("true")) == {}


def test_no_rules_at_all_end_after_one_round():
    rounds = refine.refine(RuleSet(), LLM(Engine(), workers=1), Words())
    assert [r.row()["rules"] for r in rounds] == [0, 0]


def test_physical_rules_of_the_document_are_left_alone():
    fixed = Rule("p1", "", syntax.parse("ALWAYS (grown IMPLIES teen)"), "oblige", "physical")
    rounds = refine.refine(
        RuleSet(PREDICATES, (*RULES.rules, fixed)), LLM(Engine(), workers=1), Words(), toolbox=TOOLBOX
    )
    assert fixed.id in {r.id for r in rounds[-1].ruleset.rules}
    assert physical.rules(PREDICATES, TOOLBOX)


@pytest.mark.parametrize(
    ("second", "kind"),
    [
        ("ALWAYS (pay IMPLIES (agreed AND EVENTUALLY post))", "prune"),
        ("ALWAYS (pay IMPLIES (agreed AND EVENTUALLY pay))", "split"),
    ],
)
def test_no_change_holds_a_call_to_less(second: str, kind: str) -> None:
    """A guard keeps nothing of a rule that asks for something later as well, whatever the rule means as a whole."""
    acts = [Predicate(name, "action", name, tools=(name,)) for name in ("pay", "post")]
    fact = Predicate("agreed", "state", "agreed", test=cel.parse("state.agreed"))
    first = Rule("r1", "", syntax.parse("ALWAYS (pay IMPLIES agreed)"), "oblige")
    other = Rule("r2", "", syntax.parse(second), "oblige")
    if kind == "prune":
        rules = RuleSet((*acts, fact), (first, other))
        gated = certify.prune(rules, first, [other], ())
    else:
        rules = RuleSet((*acts, fact), (first,))
        gated = certify.split(rules, first, [("", second)], ())
    assert not gated.change.accepted and gated.ruleset == rules
    assert kind == "prune" and "held to less" in gated.change.certificate or kind == "split"


def test_a_predicate_that_its_name_binds_keeps_its_name_and_a_count_of_calls_is_no_count_of_steps():
    rule = Rule("r", "r", syntax.parse("ALWAYS (pay IMPLIES (asked AND PREVIOUSLY ONCE post))"), "permit_only_if")
    ruleset = RuleSet(PREDICATES, (rule,))
    assert not certify.clarify(ruleset, "asked", "newsletter", "the user was asked for it and said yes").change.accepted
    assert certify.clarify(
        ruleset, "asked", "asked", "the user was asked for it and said yes to it in so many words, once"
    ).change.accepted
    text = "ALWAYS (pay IMPLIES (asked AND COUNT[>= 2] (ONCE post AND (post OR NOT post))))"
    assert not certify.split(ruleset, rule, [("", text)], ()).change.accepted
    assert certify.split(
        ruleset, rule, [("", "ALWAYS (pay IMPLIES (PREVIOUSLY ONCE post AND asked))")], ()
    ).change.accepted


def test_what_the_guard_of_a_tool_keeps_is_not_given_up_for_what_the_steps_as_wholes_say():
    """Within one step the rule about `post` alone says that `pay` may not come after it."""
    strong = Rule("a", "a", syntax.parse("ALWAYS (pay IMPLIES NOT ONCE post)"), "forbid")
    weak = Rule("b", "b", syntax.parse("ALWAYS (post IMPLIES NOT pay)"), "forbid")
    gated = certify.prune(RuleSet(PREDICATES, (strong, weak)), weak, [strong], ())
    assert not gated.change.accepted and "calls of post would be held to less" in gated.change.certificate
    same = Rule("c", "c", syntax.parse("ALWAYS NOT (post AND pay)"), "forbid")
    assert certify.prune(RuleSet(PREDICATES, (same, weak)), weak, [same], ()).change.accepted
