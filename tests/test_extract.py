"""Extraction through the door to models: quotations are checked, replies are refused, nothing is lost."""

import json
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wb.domain import clauses as clauses_of
from wb.domain import policy, tools
from wb.logic import cel
from wb.logic.formula import Always, Atom, Implies
from wb.models.client import LLM
from wb.models.endpoint import Reply
from wb.offline import norms
from wb.offline.engine import Offline
from wb.rules import extract, rulefile, sentences
from wb.rules.rule import Predicate, Rule, RuleDraft, collect

BOX = tools.parse(
    json.dumps(
        {
            "tools": [
                {"name": "open_gate", "description": "Open the gate."},
                {"name": "send_note", "description": "Send a note."},
            ],
            "state": [
                {"name": "age", "type": "integer", "keywords": ["years old"]},
                {"name": "registered", "type": "boolean"},
                {"name": "level", "type": "string", "enum": ["gold", "tin"]},
                {"name": "role", "type": "string", "enum": ["guard", "chief"]},
                {"name": "keys", "type": "array"},
            ],
        }
    )
)
TEXT = """# House rules

A "guest" is a user who is not registered. These rules apply to all gates.

## Gates

A guest may look around. A user under 16 cannot open the gate. Only registered users
may open the gate. Notes are free.

## Notes

Before sending a note, ring the bell. Never say this.
"""
HOUSE = policy.of_text(TEXT, BOX, name="house")


@dataclass
class Scripted:
    """An engine whose replies are written down: by prompt name, in turn, the last one again and again."""

    replies: dict
    name: str = "scripted"
    asked: list = field(default_factory=list)

    def answer(self, prompt, inputs, schema):
        self.asked.append((prompt.name, inputs))
        first = prompt.name.replace("correct_", "extract_")
        reply = self.replies.get(prompt.name, self.replies[first])
        if prompt.name == "extract_rules":
            reply = {"statements": [{"id": row["id"], **reply} for row in inputs["statements"]]}
        return Reply(reply, engine=self.name)


def offline(source=HOUSE):
    return LLM(Offline(source.toolbox), workers=1)


def test_the_constraints_of_a_document_are_its_clauses_in_order():
    found = extract.clauses(HOUSE, offline(), norms.constrains)
    assert [c.text.split()[0] for c in found] == ["A", "Only", "Before", "Never"]
    assert [c.id for c in found] == ["c1", "c2", "c3", "c4"]
    assert all(TEXT[c.start : c.end] == c.text for c in found)
    assert found[1].text == "Only registered users\nmay open the gate."


def test_a_clause_carries_titles_definitions_and_scope():
    clause = extract.clauses(
        policy.of_text(TEXT.replace("A user under 16", "A guest under 16"), BOX), offline(), norms.constrains
    )[0]
    assert clause.headings == ("House rules", "Gates")
    assert clause.definitions == ('A "guest" is a user who is not registered.',)
    assert clause.scope == "These rules apply to all gates."


def test_clauses_become_rules_or_reasons():
    ruleset = extract.rules(extract.clauses(HOUSE, offline(), norms.constrains), HOUSE, offline(), norms.constrains)
    assert [
        (r.id, str(r.formula) and rulefile.to_json(ruleset)["rules"][i]["formula"]) for i, r in enumerate(ruleset.rules)
    ] == [
        ("c1.1", "ALWAYS (open_gate IMPLIES age_at_least_16)"),
        ("c2.1", "ALWAYS (open_gate IMPLIES registered)"),
        ("c3.1", "ALWAYS (send_note IMPLIES ONCE ring_bell)"),
    ]
    assert [(u.clause, u.quote) for u in ruleset.undecided] == [("c4", "Never say this.")]


def test_the_same_document_gives_the_same_rules_twice():
    first, second = (
        extract.rules(extract.clauses(HOUSE, offline(), norms.constrains), HOUSE, offline(), norms.constrains)
        for _ in range(2)
    )
    assert first == second


def test_a_document_without_a_constraint_is_an_error_that_says_so():
    with pytest.raises(
        policy.PolicyError, match="forbids, demands or restricts something was required; got 2 sentences"
    ):
        extract.clauses(policy.of_text("The gate is green. It opens at nine.", BOX), offline(), norms.constrains)


def test_sections_without_a_reply_are_an_error_that_says_why():
    llm = LLM(Scripted({"extract_policies": {"nonsense": 1}}), workers=1)
    with pytest.raises(policy.PolicyError, match="1 sections were asked of 'scripted'; got no reply for 1: "):
        extract.clauses(HOUSE, llm, norms.constrains)


def test_a_quotation_that_is_not_in_the_document_is_left_out_and_its_sentence_reported():
    replies = {
        "extract_policies": {
            "policies": [
                {"description": "Only registered users may open the gate."},
                {"description": "Guests must never open the gate."},
            ]
        }
    }
    llm = LLM(Scripted({**replies, "extract_rules": {"rules": [], "undecided": ["not asked for"]}}), workers=1)
    (clause,) = extract.clauses(HOUSE, llm, norms.constrains)
    assert clause.text == "Only registered users\nmay open the gate."
    reported = {u.quote: u.reason for u in extract.rules((clause,), HOUSE, llm, norms.constrains).undecided}
    assert reported["A user under 16 cannot open the gate."] == "no clause was extracted for this sentence"
    assert reported[clause.text] == "not asked for"


def test_what_the_replies_lose_is_undecided_and_its_sentence_open():
    """A paraphrase stands for the sentence it is nearest to; a section without a reply loses all it says."""
    replies = {
        "extract_policies": {
            "policies": [
                {"description": "Only registered users may open the gate."},
                {"description": "A person under 16 cannot open the gate."},
                {"description": "Elephants are forbidden."},
            ]
        },
        "extract_rules": rule_reply(),
    }
    llm = LLM(Scripted(replies), workers=1)
    found = extract.policies(HOUSE, llm, norms.constrains)
    assert [(u.clause, u.quote) for u in found.lost] == [
        ("", "A user under 16 cannot open the gate."),
        ("", "Elephants are forbidden."),
    ]
    assert all("not in the document" in u.reason for u in found.lost)
    ruleset = extract.rules(found.clauses, HOUSE, llm, norms.constrains, found.lost)
    assert set(found.lost) <= set(ruleset.undecided)
    readings = sentences.classify(HOUSE, found.clauses, ruleset)
    by_text = {" ".join(r.text.split()): r for r in readings}
    assert by_text["Only registered users may open the gate."].cls == "rule"
    assert "not in the document" in by_text["A user under 16 cannot open the gate."].reason


def test_an_invented_quote_stands_for_the_sentence_that_it_is_like_and_never_for_a_heading():
    source = policy.of_text("# Elephants are forbidden\n\nOnly registered users may open the gate.\n", BOX)
    reply = {"extract_policies": {"policies": [{"description": "All elephants are forbidden here."}]}}
    with pytest.raises(policy.PolicyError):  # nothing that was quoted is in the document
        extract.policies(
            policy.of_text("# Elephants are forbidden\n\nThe gate is green.\n", BOX),
            LLM(Scripted(reply)),
            norms.constrains,
        )
    found = extract.policies(source, LLM(Scripted(reply), workers=1), norms.constrains)
    assert [lost.quote for lost in found.lost] == ["All elephants are forbidden here."]


def test_a_section_without_a_reply_leaves_all_it_says_open():
    @dataclass
    class Torn(Scripted):
        def answer(self, prompt, inputs, schema):
            if prompt.name == "extract_policies" and "Part 1" in inputs["section"]:
                return Reply({"nonsense": 1}, engine=self.name)
            return Offline(BOX).answer(prompt, inputs, schema)

    text = "".join(
        f"# Part {i}\n\n" + f"The {thing} is green. Do not open the {thing}. " * 120 + "\n\n"
        for i, thing in enumerate(("gate", "door"))
    )
    source = policy.of_text(text, BOX)
    llm = LLM(Torn({}), workers=1)
    found = extract.policies(source, llm, norms.constrains)
    assert len(found.clauses) == 120 and len(found.lost) == 240
    readings = sentences.classify(
        source, found.clauses, extract.rules(*found[:1], source, llm, norms.constrains, found.lost)
    )
    assert sentences.counted(readings) == {"rule": 120, "open": 240, "not a constraint": 122, "duty": 0, "waived": 0}


def rule_reply(**changes):
    row = {
        "text": "t",
        "formula": "ALWAYS (open_gate IMPLIES registered)",
        "modality": "permit_only_if",
        "type": "action",
        "predicates": [
            {"name": "open_gate", "kind": "action", "tools": ["open_gate"]},
            {"name": "registered", "kind": "state", "test": "state.registered"},
        ],
    }
    return {"rules": [row | changes], "undecided": []}


def with_test(test):
    return {
        "predicates": [
            {"name": "open_gate", "kind": "action", "tools": ["open_gate"]},
            {"name": "registered", "kind": "state", "test": test},
        ]
    }


@pytest.mark.parametrize(
    "changes",
    [
        with_test('state.role == "guard"'),
        with_test('state.role in ["guard", "chief"]'),
        with_test("state.age >= 17.5"),
        with_test("size(state.keys) <= 2 && state.registered"),
        {"formula": "(NOT open_gate) WEAK_UNTIL registered"},
        {"formula": "NOT EVENTUALLY (open_gate AND NOT registered)"},
    ],
)
def test_a_fitting_reply_is_taken(changes):
    assert len(rules_of(rule_reply(**changes)).rules) == 1


def rules_of(reply):
    llm = LLM(Scripted({"extract_rules": reply}), workers=1)
    clause = policy.Clause("c1", "A user under 16 cannot open the gate.", 0, 1)
    ruleset = extract.rules((clause,), policy.of_text("x", BOX), llm, norms.constrains)
    return ruleset


def test_a_sound_reply_becomes_a_rule():
    ruleset = rules_of(rule_reply())
    assert [r.id for r in ruleset.rules] == ["c1.1"] and not ruleset.undecided
    assert ruleset.predicate("registered").test == cel.parse("state.registered")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"formula": "ALWAYS (open_gate IMPLIES"}, "the reply's rule cannot be used"),
        ({"formula": "ALWAYS (open_gate IMPLIES secret)"}, r"must be described; got none for \['secret'\]"),
        ({"formula": "ALWAYS registered"}, "at least one action predicate"),
        ({"formula": "ALWAYS (registered IMPLIES open_gate)"}, "the converse was written"),
        (
            {
                "predicates": [
                    {"name": "open_gate", "kind": "action", "tools": ["fly"]},
                    {"name": "registered", "kind": "state"},
                ]
            },
            "tool must be one of",
        ),
        (
            {
                "predicates": [
                    {"name": "open_gate", "kind": "action"},
                    {"name": "registered", "kind": "state", "test": "state.nose == 1"},
                ]
            },
            "must read a field of the toolbox; got 'state.nose'",
        ),
        (
            {
                "predicates": [
                    {"name": "open_gate", "kind": "action"},
                    {"name": "registered", "kind": "state", "test": "state.age ~ 1"},
                ]
            },
            "CEL was required, such as state.age >= 18; got",
        ),
        ({"formula": "open_gate IMPLIES registered"}, r"ALWAYS \(\.\.\.\); .* speaks of 'open_gate' at the first"),
        ({"formula": "registered IMPLIES ALWAYS NOT open_gate"}, "speaks of 'registered' at the first"),
        (with_test('state.role == "Guard"'), r"has the values \['guard', 'chief'\]; got \['Guard'\]"),
        (with_test('state.role in ["guard", "cook"]'), r"got \['cook'\]"),
        (with_test('state.role in "guard"'), "'in' needs a list"),
        (with_test('state.role == ["guard"]'), "state.role: string in tools.json; compared with a list"),
        (with_test('state.age == "18"'), "values of one type are compared"),
        (with_test("state.age >= true"), "values of one type are compared"),
        (with_test('state.registered == "yes"'), "values of one type are compared"),
        (with_test("state.registered >= true"), "a boolean is compared with"),
        (with_test("state.age"), "is of type integer: compare it with a value"),
        (with_test('state.keys == "a"'), "compared by its size"),
        (with_test("size(state.age) <= 3"), "a size is of a list"),
        (with_test("size(state.level) <= 3"), "a size is of a list"),
        (with_test("size(state.keys) <= 2.5"), "a whole number"),
        (
            {"predicates": [{"name": "open_gate", "kind": "deed"}, {"name": "registered", "kind": "state"}]},
            "kind: Input should be 'action' or 'state', got 'deed'",
        ),
        (
            {"predicates": [{"name": "open_gate", "kind": "Action"}, {"name": "registered", "kind": "state"}]},
            "kind: Input should be 'action' or 'state', got 'Action'",
        ),
        (
            {
                "predicates": [
                    {"name": "open_gate", "kind": "action"},
                    {"name": "registered", "kind": "state", "test": {"field": "state.age", "op": ">=", "value": 1}},
                ]
            },
            "test: Input should be a valid string",
        ),
        (
            {
                "predicates": [
                    {"name": "open_gate", "kind": "action"},
                    {"name": "registered", "kind": "state", "test": 'state.level == "Gold"'},
                ]
            },
            r"state.level has the values \['gold', 'tin'\]; got \['Gold'\]",
        ),
        (
            {
                "predicates": [
                    {"name": "open_gate", "kind": "action"},
                    {"name": "registered", "kind": "state", "test": '!(state.level in ["tin", "Gold"])'},
                ]
            },
            r"state.level has the values \['gold', 'tin'\]; got \['Gold'\]",
        ),
    ],
)
def test_a_reply_that_cannot_be_used_leaves_the_clause_undecided(changes, reason):
    ruleset = rules_of(rule_reply(**changes))
    assert not ruleset.rules and len(ruleset.undecided) == 1
    import re

    assert re.search(reason, ruleset.undecided[0].reason), ruleset.undecided[0].reason


def test_an_empty_reply_is_a_reason_too():
    assert rules_of({"rules": [], "undecided": []}).undecided[0].reason == extract.NOTHING


def test_a_model_sees_the_section_and_the_glossary_and_never_the_whole_toolbox_as_instructions():
    engine = Scripted({"extract_policies": {"policies": [{"description": "Never say this."}]}})
    extract.clauses(HOUSE, LLM(engine, workers=1), norms.constrains)
    ((name, inputs),) = engine.asked
    assert name == "extract_policies" and inputs["glossary"] == ['A "guest" is a user who is not registered.']
    assert "Never say this." in inputs["section"]


def test_long_documents_are_asked_in_sections_that_cover_all_of_them():
    text = "".join(f"# Part {i}\n\n" + f"Do not open gate {i}. " * 120 + "\n\n" for i in range(6))
    source = policy.of_text(text, BOX)
    parts = clauses_of.sections(source)
    assert len(parts) >= 3 and parts[0][0] == 0 and parts[-1][1] == len(text)
    assert all(a[1] == b[0] for a, b in zip(parts, parts[1:], strict=False))
    assert len(extract.clauses(source, offline(source), norms.constrains)) == 720


@pytest.mark.parametrize(
    ("quote", "spans"),
    [("b  c", ((2, 5),)), ("a b", ((0, 3), (6, 9))), ("c b", ()), ("", ()), ('"x"', ((10, 13),)), ("a.b", ())],
)
def test_a_quotation_is_found_whatever_its_blanks_and_marks(quote, spans):
    assert clauses_of.occurrences(quote, "a b\nc a b “x”", 0, 13) == spans


@settings(max_examples=40)
@given(
    st.lists(
        st.sampled_from(
            [
                "Do not open the gate.",
                "Only registered users may open the gate.",
                "The gate is green.",
                "- Never send a note.\n",
                "\n\n# Gates\n\n",
                "A user under 16 cannot open the gate.",
                "Send notes to nobody, please:",
                "| a | b |\n|---|---|\n| Open the gate | At most two. |\n",
            ]
        ),
        min_size=1,
        max_size=10,
    )
)
def test_spans_are_verbatim_and_every_constraint_is_answered(parts):
    source = policy.of_text(" ".join(parts), BOX)
    try:
        found = extract.clauses(source, offline(source), norms.constrains)
    except policy.PolicyError:
        return
    ruleset = extract.rules(found, source, offline(source), norms.constrains)
    assert all(source.text[c.start : c.end] == c.text for c in found)
    assert {c.id for c in found} == {r.clause for r in ruleset.rules} | {
        u.clause for u in ruleset.undecided if u.clause
    }
    assert not [u for u in ruleset.undecided if not u.clause]


def test_a_quotation_that_overlaps_itself_is_found_where_a_sentence_is():
    """A stem that is repeated is a label and then sentences: the quotation also stands half in the label."""
    stem = "Send notes to nobody, please:"
    source = policy.of_text(f"{stem} {stem}\n\n# Gates\n\n{stem} {stem} {stem}", BOX)
    assert clauses_of.occurrences("a a", "a a a", 0, 5) == ((0, 3), (2, 5))
    found = extract.clauses(source, offline(source), norms.constrains)
    assert [(c.start, c.end) for c in found] == [(s.start, s.end) for s in source.sentences if s.kind != "heading"]


def draft(formula, *predicates, clause="c1"):
    return RuleDraft(Rule("", "t", formula, "permit_only_if", "action", clause, "q"), predicates)


def test_predicates_that_say_the_same_become_one_and_no_two_share_a_name():
    one, two = (Predicate(n, "action", "", (), ("open_gate",)) for n in ("open_gate", "opens"))
    first, second = Predicate("ready", "state", ""), Predicate("ready", "action", "")
    joined = collect(
        [
            draft(Always(Implies(Atom("open_gate"), Atom("ready"))), one, first),
            draft(Always(Implies(Atom("opens"), Atom("ready"))), two, second, clause="c2"),
        ],
        (),
    )
    assert [p.name for p in joined.predicates] == ["open_gate", "ready", "ready_2"]
    assert joined.rules[1].predicates == ("open_gate", "ready_2")


def test_a_rule_that_a_clause_gives_twice_is_kept_once():
    action = Predicate("go", "action", "", (), ("open_gate",))
    assert len(collect([draft(Always(Atom("go")), action)] * 2, ()).rules) == 1


def test_a_prompt_without_a_technique_is_refused():
    from wb.models.ledger import ModelError
    from wb.models.prompt import Prompt

    with pytest.raises(ModelError, match="needs a model"):
        Offline(BOX).answer(Prompt("sing", "", "", frozenset(), "", (), ""), {}, {})


@pytest.mark.parametrize(
    ("span", "found"),
    [
        ((14, 18), (14, 18)),
        ((0, 18), (13, 18)),
        ((11, 18), (13, 18)),
        ((18, 30), (18, 30)),
        ((23, 30), (24, 30)),
        ((23, 24), (23, 24)),
        ((0, 13), (0, 13)),
        ((41, 41), (41, 41)),
    ],
)
def test_a_quotation_begins_no_earlier_than_the_first_sentence_that_it_shares(span: tuple, found: tuple) -> None:
    source = policy.of_text("# Top title\n\nNever pay. Never hum at all.", tools.Toolbox())
    assert [(one.kind, one.start, one.end) for one in source.sentences] == [
        ("heading", 2, 11),
        ("prose", 13, 23),
        ("prose", 24, 41),
    ]
    assert extract._from_sentence(span, source) == found
