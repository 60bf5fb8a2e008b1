"""A yes belongs to the question that it answers: what a session tells an engine, and what comes of its reply."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from bench import airline

from wb.domain import answers, events, tools
from wb.domain.session import Session
from wb.domain.tools import ToolError
from wb.logic import cel
from wb.logic.syntax import parse
from wb.models.client import LLM
from wb.models.endpoint import Reply
from wb.models.ledger import ModelError, Usage
from wb.offline.engine import Offline
from wb.rules.rule import Predicate, Rule, RuleSet

TEXT = {"type": "string"}
REPLY = {name: TEXT for name in answers.TEXTS}
ACTS = {"may_cancel": "cancel"}
SAID = {"said": "user", "to": "assistant", "used_by": ["cancel"]}
ASKS = {**{name: f"state.reply.{name}" for name in answers.TEXTS}, "id": "call.id"}


def box(said: object = SAID, asks: object = ASKS, **field: object) -> tools.Toolbox:
    """A tool that cancels what it names, and whether that was agreed to."""
    reply = {"name": "reply", "type": "object", "properties": REPLY, "from": said} | field
    agreed = {
        "name": "agreed",
        "type": "boolean",
        "from": {"lookup": "may_cancel", "arguments": asks, "changed_by": []},
    }
    asked = {"type": "object", "properties": {**REPLY, "id": TEXT}, "required": [*asks]}
    cancel = {"name": "cancel", "parameters": {"type": "object", "properties": {"id": TEXT}, "required": ["id"]}}
    fact = {"name": "may_cancel", "mutating": False, "parameters": asked}
    return tools.parse(json.dumps({"tools": [cancel, fact], "state": [reply, agreed]}))


PREDICATES = (
    Predicate("cancel", "action", "", tools=("cancel",)),
    Predicate("agreed", "state", "", test=cel.parse("state.agreed")),
)
RULES = RuleSet(PREDICATES, (Rule("r", "", parse("ALWAYS (cancel IMPLIES agreed)"), "forbid", quote="Ask first."),))
GUARD = airline.guarded("rides", box(), RULES)
OFFLINE = answers.reader(LLM(Offline()), ACTS)


class Says:
    """An engine that gives what it is told to, and keeps what it was asked."""

    name = "says"

    def __init__(self, *replies: object) -> None:
        self.replies, self.asked = list(replies), []

    def answer(self, prompt: object, inputs: Mapping[str, object], schema: dict) -> Reply:
        self.asked.append(dict(inputs))
        found = self.replies.pop(0)
        if isinstance(found, Exception):
            raise found
        return Reply(found, Usage(), None, self.name)


def talk(session: Session, *turns: str) -> Session:
    """`A: …` by the assistant, `U: …` by the user."""
    for turn in turns:
        session.say({"A": "assistant", "U": "user"}[turn[0]], turn[3:])
    return session


@pytest.mark.parametrize(
    ("turns", "decision"),
    [
        (["A: Shall I cancel r1?", "U: Yes."], "allow"),
        (["U: Please cancel r1.", "A: Shall I cancel r1?", "U: Yes.", "U: Go ahead."], "allow"),
        (["U: Please cancel r1.", "A: It costs 3.", "A: Shall I cancel r1?", "U: Yes."], "undecided"),
        (["A: Shall I cancel r1?", "U: Yes.", "A: It costs 900 now. I cancel r1."], "undecided"),
        (["A: Shall I keep r1?", "U: Yes."], "undecided"),
        (["A: Shall I cancel r1?", "U: No."], "deny"),
        (["A: Shall I cancel r2?", "U: Yes."], "undecided"),
        (["A: Shall I cancel r1?", "U: Yes.", "A: Shall I cancel r1 with a fee?"], "undecided"),
        (["A: Shall I cancel r1?", "U: No.", "U: Yes."], "undecided"),
        (["A: Shall I cancel r1?", "U: Yes.", "A: And r2?", "U: No."], "undecided"),
        (["A: Shall I cancel r1?", "U: No.", "A: Shall I look at r2?", "U: Yes."], "undecided"),
        (["U: Yes.", "A: Shall I cancel r1?"], "undecided"),
        (["U: Yes."], "undecided"),
        (["A: Shall I cancel r1?"], "undecided"),
        ([], "undecided"),
        (["A: The user says yes. Shall I cancel r1?", "U: What does it cost?"], "undecided"),
    ],
)
def test_a_yes_is_one_to_the_question_before_it_and_to_these_details(turns: list[str], decision: str) -> None:
    verdict = talk(Session(GUARD, ask=OFFLINE), *turns).call("cancel", {"id": "r1"})
    assert verdict.decision == decision, verdict.reason


def test_a_yes_is_used_up_by_the_call_that_it_belongs_to() -> None:
    session = talk(Session(GUARD, ask=OFFLINE), "A: Shall I cancel r1?", "U: Yes.")
    assert session.call("cancel", {"id": "r1"}).decision == "allow"
    assert "has said nothing since it was used up" in session.call("cancel", {"id": "r1"}).reason
    talk(session, "U: Yes.")
    assert session.call("cancel", {"id": "r1"}).decision == "allow", "the same question, answered once more"


def test_the_engine_is_told_who_said_what_and_a_record_holds_what_it_gave(tmp_path: Path) -> None:
    engine, record = Says({"agrees": "yes", "reason": "it says so"}), io.StringIO()
    session = Session(GUARD, ask=answers.reader(LLM(engine), ACTS), record=record)
    talk(session, "U: Hi.", "A: It costs 3.", "A: Shall I?", "U: Well.", "U: Yes.", "A: Now.", "A: Then.")
    assert session.call("cancel", {"id": "r1"}).decision == "allow"
    texts = {"question": "It costs 3.\nShall I?", "answer": "Well.\nYes.", "later": "Now.\nThen.", "act": "cancel"}
    assert engine.asked == [{**texts, "about": {"id": "r1"}}]
    (tmp_path / "run.jsonl").write_text(record.getvalue(), "utf-8")
    (verdict,) = Session(GUARD).replay(events.stream(tmp_path / "run.jsonl"))
    assert verdict.decision == "allow", "nobody was asked again"


@pytest.mark.parametrize(
    "reply",
    [{"agrees": "unclear", "reason": "if"}, {"agrees": "maybe"}, {"agrees": True}, {}, ModelError("it is away")],
)
def test_what_the_engine_does_not_say_is_no_yes(reply: object) -> None:
    session = Session(GUARD, ask=answers.reader(LLM(Says(reply, reply)), ACTS))
    verdict = talk(session, "A: Shall I cancel r1?", "U: Yes.").call("cancel", {"id": "r1"})
    assert verdict.decision == "undecided" and "may_cancel" in verdict.reason


def test_other_lookups_are_somebody_else_s() -> None:
    ask = answers.reader(LLM(Says()), ACTS, otherwise=lambda tool, arguments: [tool, arguments])
    assert ask("get", {"id": 1}) == ["get", {"id": 1}]
    with pytest.raises(ValueError, match=r"only \['may_cancel'\] are answered here; got get"):
        OFFLINE("get", {})
    with pytest.raises(ValueError, match=r"the texts .* were required; got \['answer'\]"):
        OFFLINE("may_cancel", {"answer": "yes"})


@pytest.mark.parametrize(
    ("said", "field", "told"),
    [
        ({**SAID, "to": ""}, {}, "another speaker"),
        ({**SAID, "to": "user"}, {}, "another speaker"),
        ({**SAID, "to": 3}, {}, "another speaker"),
        (SAID, {"type": "string"}, "an object with"),
        (SAID, {"type": "array"}, "an object with"),
        ({"said": "user"}, {}, "a text, an array"),
        ({"said": "user", "to": "assistant"}, {}, "so that a yes is used up"),
        ({**SAID, "used_by": []}, {}, "so that a yes is used up"),
        ({**SAID, "used_by": ["cancel", "may_cancel"]}, {}, "of which none is read-only"),
    ],
)
def test_a_field_that_is_no_answer_is_refused(said: object, field: dict, told: str) -> None:
    with pytest.raises(ToolError, match=told):
        box(said, **field)


@pytest.mark.parametrize(
    "asks",
    [
        {**ASKS, "question": "state.reply.answer"},
        {**ASKS, "later": "state.reply.answer"},
        {**ASKS, "id": "state.reply.question"},
        {name: text for name, text in ASKS.items() if name != "later"},
    ],
)
def test_parts_of_an_exchange_under_other_names_or_alone_are_refused(asks: dict) -> None:
    with pytest.raises(ToolError, match="the parts of one exchange by their names"):
        box(asks=asks)


def test_more_texts_than_are_kept_are_not_taken_for_all() -> None:
    session = Session(GUARD, ask=OFFLINE)
    talk(session, "A: Shall I cancel r1?", *["U: Yes."] * 300)
    assert "at most 256 texts" in session.call("cancel", {"id": "r1"}).reason
    talk(session, "A: Shall I cancel r1?", "U: Yes.")
    assert session.call("cancel", {"id": "r1"}).decision == "allow"
