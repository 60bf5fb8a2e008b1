"""Workflows that ended well: what is kept, who may use it, and that a session's own memory ends with it."""

import io
import json
import sqlite3

import pytest
from bench import airline
from test_operations import NAMES, PREDICATES, box

from wb.domain import answers, events
from wb.domain.answers import Answer, Question
from wb.domain.events import Event, Lost
from wb.domain.session import Session
from wb.domain.workflows import Workflows
from wb.logic.syntax import parse
from wb.models.client import LLM
from wb.models.endpoint import Reply
from wb.rules.rule import Rule, RuleSet

EQUAL = dict.fromkeys(NAMES, 1)


def guard(text: str = "ALWAYS (pay IMPLIES ((is_b OR is_c) AND is_q))"):
    return airline.guarded("kept", box(EQUAL), RuleSet(PREDICATES, (Rule("r", "", parse(text), "oblige", quote=text),)))


def run(judge, b: bool, c: bool, agreed: bool = True, **options) -> tuple[list[str], list[Event], str]:
    """One payment: what was asked, the record, and the decision."""
    asked, record = [], io.StringIO()

    def ask(tool: str, given: dict) -> dict:
        asked.append(tool)
        return {"is": {"get_b": b, "get_c": c}[tool]}

    def answer(question: Question) -> Answer:
        asked.append("q")
        return Answer(agreed, "go ahead", by="M")

    session = Session(judge, ask=ask, answer=answer, record=record, **options)
    session.say("user", "Fine, go ahead with it.")
    decision = session.call("pay", {"id": "x"}).decision
    return asked, [event for run in events.loads(record.getvalue()) for event in run.events], decision


def test_what_was_asked_in_vain_comes_later_and_the_session_after_asks_less(tmp_path) -> None:
    judge, kept = guard(), Workflows(tmp_path / "kept.sqlite")
    asked, record, decision = run(judge, b=False, c=True)
    assert (asked, decision) == (["get_b", "get_c", "q"], "allow")
    assert kept.keep(judge, record, "the bill was paid") == 1
    assert kept.order(judge, "pay") == {"get_b": 0.0, "get_c": 1.0, "q": 1.0}
    again = Workflows(tmp_path / "kept.sqlite")  # another process
    assert run(judge, b=False, c=True, memory=again)[0] == ["get_c", "q"]
    assert run(judge, b=True, c=False, memory=again)[::2] == (["get_c", "q", "get_b"], "allow")


def test_only_an_allowed_whole_conversation_with_a_stated_outcome_is_kept(tmp_path) -> None:
    judge, kept = guard(), Workflows(tmp_path / "kept.sqlite")
    _, good, _ = run(judge, b=True, c=True)
    _, denied, decision = run(judge, b=False, c=False)
    assert decision == "deny"
    for record, outcome, why in (
        (good, " ", "in words"),
        (denied, "paid", "pay, deny"),
        ([*good, Event(good[0].run, Lost("the line broke"))], "paid", "the line broke"),
    ):
        with pytest.raises(ValueError, match=why):
            kept.keep(judge, record, outcome)
    assert kept.order(judge, "pay") == {}
    nothing_asked = [
        event for event in good if not isinstance(event.what, events.Lookup | events.Answer | events.Asked)
    ]
    assert kept.keep(judge, nothing_asked, "talked") == 0


def test_another_version_of_the_rules_and_another_action_have_none_of_it(tmp_path) -> None:
    judge, kept = guard(), Workflows(tmp_path / "kept.sqlite")
    kept.keep(judge, run(judge, b=False, c=True)[1], "paid")
    changed = guard("ALWAYS (pay IMPLIES ((is_c OR is_b) AND is_q))")
    assert kept.order(judge, "pay") and not kept.order(changed, "pay") and not kept.order(judge, "send")


@pytest.mark.parametrize("damage", ["gone", "no database", "no table", "no JSON"])
def test_a_damaged_memory_orders_nothing_and_breaks_no_call(tmp_path, damage: str) -> None:
    judge, place = guard(), tmp_path / "kept.sqlite"
    kept = Workflows(place)
    kept.keep(judge, run(judge, b=False, c=True)[1], "paid")
    place.unlink() if damage in ("gone", "no database") else None
    if damage == "no database":
        place.write_bytes(b"not a database, but long enough to be taken for one" * 100)
    if damage in ("no table", "no JSON"):
        with sqlite3.connect(place) as table:
            table.execute("DROP TABLE workflows" if damage == "no table" else "UPDATE workflows SET operations = '['")
        table.close()
    assert run(judge, b=False, c=True, memory=kept)[::2] == (["get_b", "get_c", "q"], "allow")


def test_a_session_knows_nothing_of_what_another_one_looked_up_or_was_answered(tmp_path) -> None:
    judge, kept = guard(), Workflows(tmp_path / "kept.sqlite")
    for _ in range(2):
        asked, record, _ = run(judge, b=True, c=True, memory=kept)
        assert asked == ["get_b", "q"], "its short-term memory ended with the session before"
        kept.keep(judge, record, "paid")
    assert b'"is"' not in (tmp_path / "kept.sqlite").read_bytes(), "no value of the state is kept"


class Nearest:
    """An encoder by the words that two texts share."""

    def similarity(self, left, right):
        return [[len({*one.split()} & {*other.split()}) for other in right] for one in left]


def test_who_answers_is_shown_the_nearest_words_that_answered_before_and_needs_words_of_now(tmp_path) -> None:
    judge, kept = guard(), Workflows(tmp_path / "kept.sqlite", Nearest())
    with sqlite3.connect(kept.place) as table:
        for number, words in enumerate(("do it", "go ahead", "please pay now", "yes", "go on")):
            row = (judge.evidence("pay"), "pay", "[]", json.dumps([["q", words, True]]), "paid", number)
            table.execute("INSERT INTO workflows VALUES (?, ?, ?, ?, ?, ?)", row)
    table.close()

    class Engine:
        name, shown = "M", None

        def answer(self, prompt, inputs, schema, **_):
            self.shown = inputs["examples"]
            self.text = prompt.render(**inputs)[-1]["content"]
            return Reply({"value": True, "quotation": "please pay now", "speaker": "user", "reason": "as before"})

    engine = Engine()
    session = Session(
        judge, ask=lambda *_: {"is": True}, answer=answers.about(LLM(engine), kept.examples(judge)), memory=kept
    )
    session.say("user", "go ahead then")
    verdict = session.call("pay", {"id": "x"})
    assert engine.shown[:2] == [{"words": "go ahead", "value": True}, {"words": "go on", "value": True}]
    assert len(engine.shown) == 3 and "these words are not part of this one" in engine.text
    assert verdict.decision == "undecided", "words of another conversation answer nothing in this one"
    answers.about(LLM(engine))(Question("q", "?", "boolean", (), ("user",), {}, (), ()))
    assert engine.shown == [] and engine.text.endswith("</data>"), "without examples the question is as it was"
