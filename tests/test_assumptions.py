"""Answers of a model in the place of a person: in force at trust `read` alone, of what is open alone, never proved."""

from dataclasses import replace

import pytest
import yaml
from test_readers import Scripted, entry, statements

from wb.domain import policy
from wb.domain.tools import Field, Tool, Toolbox
from wb.guards import contract, runtime, synthesis, toolguard
from wb.logic import cel
from wb.models.client import LLM
from wb.offline import reader
from wb.rules import assumptions, decisions, sentences
from wb.rules.decisions import DecisionError, Ruling
from wb.rules.extract import MODEL, TRUST
from wb.rules.vocabulary import of_entries

BOX = Toolbox((Tool("pay_invoice"), Tool("send_letter"), Tool("greet")), (Field("approved", "boolean"),))
SOURCE = policy.of_text("Never pay by moonlight. Letters go out on Fridays only. You must never send a letter.", BOX)
RULE = {
    "predicates": {
        "pays": {"kind": "action", "tools": ["pay_invoice"]},
        "approved": {"kind": "state", "test": "state.approved"},
    },
    "rules": [{"formula": "ALWAYS (pays IMPLIES approved)"}],
}
ASSUMED = {"by": "model", "assumption": "moonlight means unapproved", "why": "nothing tells of the moon"}


def read(made: tuple[Ruling, ...] = ()) -> sentences.Classified:
    return sentences.classify(SOURCE, reader.extracted(SOURCE), made)


PAY, LETTERS, SEND = read().accounts


def text(account: sentences.Account, **given: object) -> str:
    return yaml.safe_dump({"decisions": [{"id": account.id, "text": account.text, **given}]}, sort_keys=False)


@pytest.mark.parametrize("trust", TRUST)
def test_an_assumption_is_in_force_at_trust_read_alone(trust: str) -> None:
    after = read(decisions.loads(text(PAY, decision="rule", **ASSUMED, **RULE), SOURCE, trust))
    if trust == "read":
        assert (after.accounts[0].cls, after.accounts[0].grade) == ("rule", MODEL)
        assert "moonlight means unapproved" in after.accounts[0].reason
    else:
        assert after == read()


def test_without_a_level_of_trust_no_assumption_counts(tmp_path) -> None:
    file = tmp_path / "decisions.yaml"
    file.write_text(text(PAY, decision="rule", **ASSUMED, **RULE))
    assert decisions.load(file, SOURCE) == ()
    assert len(decisions.load(file, SOURCE, "read")) == 1


def test_a_model_changes_no_sentence_that_was_read_and_a_person_does() -> None:
    assert SEND.cls == "rule"
    said = {"decision": "not a constraint", "why": "it is a joke"}
    model = decisions.loads(text(SEND, by="model", assumption="nobody means it", **said), SOURCE, "read")
    assert len(model) == 1 and read(model) == read()
    assert read(decisions.loads(text(SEND, **said), SOURCE)).accounts[2].cls == "not a constraint"


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"by": "model", "why": "x1", "decision": "not a constraint"}, "an 'assumption' was required"),
        ({"assumption": "a1", "why": "x1", "decision": "not a constraint"}, "with it alone"),
        ({"by": "model", "assumption": "a1", "decision": "not a constraint"}, "a reason 'why' was required"),
        ({"by": "model", "assumption": "a1", "why": "x1", "decision": "waive"}, "of a person was required for 'waive'"),
        ({"by": "robot", "assumption": "a1", "why": "x1", "decision": "reject"}, "by"),
    ],
)
def test_what_is_no_assumption_is_refused_at_every_level(given: dict[str, object], wrong: str) -> None:
    for trust in TRUST:
        with pytest.raises(DecisionError, match=wrong):
            decisions.loads(text(PAY, **given), SOURCE, trust)


def test_what_an_assumption_sets_free_keeps_the_tools_that_the_sentence_would_hold() -> None:
    made = decisions.loads(text(PAY, decision="not a constraint", **ASSUMED), SOURCE, "read")
    account = read(made).accounts[0]
    assert (account.cls, account.grade) == ("not a constraint", MODEL)
    assert PAY.tools and set(account.tools) == set(PAY.tools)
    assert set(sentences.assumptions([account], {tool: () for tool in PAY.tools})) == set(PAY.tools)
    assert sentences.assumptions([PAY, SEND], {tool: () for tool in PAY.tools}) == {}


@pytest.mark.parametrize("assumed", [True, False])
def test_a_guard_that_rests_on_an_assumption_is_never_proved(assumed: bool) -> None:
    by = ASSUMED if assumed else {"why": "by hand"}
    after = read(decisions.loads(text(PAY, decision="rule", **by, **RULE), SOURCE, "read"))
    (required,) = contract.contracts(Toolbox((Tool("pay_invoice"),), BOX.state), after.ruleset)
    draft = synthesis.Draft(required, (synthesis.Attempt(synthesis.alone(required)),), ("tests", synthesis.PROOF))
    bearing = {required.tool: [item.rule for item in required.items]}
    (held,) = toolguard.doubted([draft], sentences.assumptions(after.accounts, bearing))
    guard = synthesis.guarded(held)
    assert guard.grade == ("tested" if assumed else "proved")
    assert guard.reason.startswith(runtime.UNSETTLED) == assumed


def test_a_question_of_the_rules_opens_what_a_model_decided_again() -> None:
    made = decisions.loads(text(PAY, decision="rule", **ASSUMED, **RULE), SOURCE, "read")
    after = read(made)
    asked = {after.accounts[0].rules[0]: "it says something else"}
    assert sentences.questioned(after.accounts, asked, made, BOX)[0].cls == "open"
    person = decisions.loads(text(PAY, decision="rule", why="by hand", **RULE), SOURCE)
    assert sentences.questioned(read(person).accounts, asked, person, BOX)[0].cls == "rule"


PAYS = entry("pays", "action", tools=("pay_invoice",))
WORDS = of_entries([PAYS, entry("approved", "state", test=cel.parse("state.approved"))], BOX)
READ = reader.extracted(SOURCE)
FOUND = replace(READ, vocabulary=WORDS, predicates=(*READ.predicates, *WORDS.enforced))
OPEN = {one.id: f"s{k}" for k, one in enumerate((PAY, LETTERS, SEND), 1) if one.cls == "open"}
SAYS = {"assumption": "moonlight means unapproved", "why": "nothing tells of the moon"}


def assumed(decided: tuple[Ruling, ...] = (), **by_id: object) -> tuple[tuple[Ruling, ...], Scripted]:
    """What a model that answers so assumes, and what it was asked."""
    engine = Scripted(assume=statements(**by_id))
    return assumptions.assumed(SOURCE, FOUND, (PAY, LETTERS, SEND), decided, LLM(engine)), engine


def test_a_model_is_asked_about_what_is_open_alone_and_its_entry_is_in_force_at_trust_read() -> None:
    made, engine = assumed(s1={"rules": ["ALWAYS (pays IMPLIES approved)"], **SAYS})
    assert [row["id"] for _, inputs in engine.asked for row in inputs["statements"]] == list(OPEN.values())
    assert engine.asked[0][1]["statements"][0]["open because"] == PAY.reason
    assert [(one.id, one.by, one.decision, one.assumption) for one in made] == [
        (PAY.id, "model", "rule", SAYS["assumption"])
    ]
    written = assumptions.to_text(made, SOURCE)
    assert decisions.loads(written, SOURCE, "read") == made and decisions.loads(written, SOURCE) == ()
    assert sentences.classify(SOURCE, FOUND, made).accounts[0].grade == MODEL


@pytest.mark.parametrize(
    "answer",
    [
        {},  # no assumption: it would be set free for no reason
        {"rules": ["ALWAYS (pays IMPLIES approved)"], "assumption": "", "why": "x1"},
        {"rules": ["ALWAYS (pays IMPLIES approved)"], "assumption": "a1", "why": " "},
        {"rules": ["ALWAYS (pays IMPLIES moonlit)"], **SAYS},
        {"rules": ["pays IMPLIES approved"], **SAYS},
        {"rules": ["ALWAYS (pays"], **SAYS},
        {"rules": [], "unclear": "which moon", **SAYS},
        {"rules": [], "missing": [{"kind": "fact", "description": "the moon"}], **SAYS},
    ],
)
def test_an_answer_that_cannot_be_used_leaves_its_sentence_open(answer: dict[str, object]) -> None:
    assert assumed(s1=answer)[0] == ()


def test_an_answer_to_what_was_not_asked_is_none_and_what_a_person_decided_is_not_asked() -> None:
    assert assumed(s3={"rules": ["ALWAYS NOT pays"], **SAYS})[0] == ()
    by_hand = decisions.loads(text(PAY, decision="reject", why="not so"), SOURCE)
    made, engine = assumed(by_hand, s1={"rules": ["ALWAYS (pays IMPLIES approved)"], **SAYS})
    assert made == () and PAY.id in OPEN
    assert all(row["id"] != "s1" for _, inputs in engine.asked for row in inputs["statements"])


@pytest.mark.parametrize(("trust", "model"), [("agreed", "m"), ("assumed", "m"), ("read", "offline")])
def test_to_assume_where_it_would_not_count_is_refused(trust: str, model: str) -> None:
    with pytest.raises(ValueError, match="trust 'read' and a model were required"):
        assumptions.required(True, trust, model)
    assumptions.required(False, trust, model)
    assumptions.required(True, "read", "m")
