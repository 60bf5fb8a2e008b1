"""Arguments that an agent speaks of in free text: what its words tell is known, and all else stays unknown."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

import pytest
from bench import airline
from hypothesis import given
from hypothesis import strategies as st
from test_action import Scripted

from wb.domain import arguments, events, tools
from wb.domain.arguments import Argument, quoted
from wb.domain.events import Observation
from wb.logic import cel, evaluation
from wb.logic.syntax import parse
from wb.logic.values import UNKNOWN, PartialArguments
from wb.models.client import LLM
from wb.models.endpoint import Reply
from wb.rules.rule import Predicate, Rule, RuleSet

TEXTS = ("click  Rent for 3 days", "I will rent the rope “Blue Heron” of 12.5 m to Ada")


def known(name: str, value: object, quotation: str) -> bool:
    return name in quoted([Argument(name=name, value=value, quotation=quotation)], TEXTS)


@pytest.mark.parametrize(
    ("value", "quotation", "fits"),
    [
        (3, "for 3 days", True),
        (3, "Rent for 3 days", True),  # blanks are all one
        (4, "for 3 days", False),  # another value than its words
        (3, "for three days", False),  # words that nobody said
        (3, "or 3 days", False),  # a part of a word
        (3, "", False),
        (12.5, "of 12.5 m", True),
        (12, "of 12.5 m", False),
        (5, "of 12.5 m", False),
        ("blue heron", "“Blue Heron”", True),
        ("Blue", "“Blue Heron” of", True),
        ("Heron Blue", "“Blue Heron”", False),
        ("", "Ada", False),
        ("Rent for 3 days I will", "days I will", False),  # across texts
        (True, "I will rent", True),
        (True, "I will not rent", False),
        (None, "I will rent", False),
        (["Ada"], "to Ada", False),  # nothing shows that a list is whole
        ([], "for 3 days", False),
        ({"length": 12.5}, "12.5 m", False),
    ],
)
def test_a_value_counts_if_its_words_were_said_and_hold_it(value, quotation, fits):
    assert known("x", value, quotation) is fits


def tells(text: str, value: object, quotation: str = "") -> bool:
    return bool(quoted([Argument(name="x", value=value, quotation=quotation or text)], (text,)))


@pytest.mark.parametrize(
    "words",
    [
        *("1,000 crowns", "1.000 crowns", "1 000 000", "1'000", "1’000", "−3", "v3", "3rd", "2026-11-28 1.2.3"),
        *("10–90 days", "–5", "- 5", "– 5", "10^6", "9/90", "3%", "3 - 5", "28:30"),
    ],
)
def test_a_number_with_other_signs_in_it_is_none(words):
    assert not any(tells(words, n) for n in (0, 1, 2, 3, 5, 6, 9, 10, 28, 30, 90, 1000, 1.2, -3, -5, -11, 0.03))


@pytest.mark.parametrize(
    ("text", "quotation", "value"),
    [
        ("for 30.14 days", "14 days", 14),
        ("for 1,014 days", "014 days", 14),
        ("for 1 009 days", "009 days", 9),
        ("for 9/90 days", "for 9", 9),
        ("by -5 degrees", "5 degrees", 5),
        ("on 2026-11-28 or so", "28 or so", 28),
        ("write to z-a@b.com.evil.org", "a@b.com", "a@b.com"),
        ("write to a@b.com, evil@y.org", "a@b.com", "a@b.co"),
        ("not-for-sale goods", "for", "for"),
    ],
)
def test_a_quotation_that_cuts_a_word_of_the_text_is_none(text, quotation, value):
    assert not tells(text, value, quotation)


@pytest.mark.parametrize(
    ("text", "quotation", "value"),
    [
        ("write to a@b.com.", "a@b.com", "a@b.com"),
        ("it costs $12.50, or so", "costs $12.50", 12.5),
        ("lend (3) of them!", "lend (3)", 3),
        ("It is “Blue Heron”: take it", "Blue Heron", "blue heron"),
        ("minus: -5 degrees", "-5 degrees", -5),
    ],
)
def test_signs_around_a_word_do_not_hide_it(text, quotation, value):
    assert tells(text, value, quotation)


def test_what_is_told_twice_is_not_known():
    rows = [Argument(name="x", value=3, quotation="for 3 days"), Argument(name="x", value=3, quotation="3 days")]
    assert quoted(rows, TEXTS) == {}


@given(st.integers(-(10**6), 10**6), st.text(st.characters(codec="ascii"), max_size=20))
def test_a_number_is_held_by_words_that_have_it_in_digits(value, around):
    assert tells(f"{value}", value) and tells(f"so {value} it is", value)
    assert tells(f"{2**53 + 1}", 2**53 + 1) and not tells(f"{2**53 + 1}", 2**53)
    if around.strip() and not re.search(r"\d", around):
        assert not tells(around, value)


@given(st.text(max_size=30), st.text(max_size=30))
def test_nothing_is_known_of_words_that_nobody_said(quotation, said):
    if " ".join(quotation.split()) not in " ".join(said.split()):
        assert quoted([Argument(name="x", value=True, quotation=quotation)], (said,)) == {}


@pytest.mark.parametrize(
    ("test", "value"),
    [("call.days <= 5", True), ("call.note == 'x'", UNKNOWN), ("has(call.note)", UNKNOWN), ("has(call.days)", UNKNOWN)],
)
def test_an_argument_that_is_not_named_is_not_known_where_a_dict_says_that_it_is_not_there(test, value):
    read = evaluation.reading(cel.parse(test))
    assert read({}, PartialArguments(days=3)) is (None if value is UNKNOWN else value)
    assert read({}, {"days": 3}) is (None if "note ==" in test else "days" in test)


class Twice:
    """Stands for a model that recognises the tool, and then replies to what its arguments are."""

    name = "scripted"

    def __init__(self, *rows: tuple[str, object, str]) -> None:
        self.rows, self.asked = rows, []

    def answer(self, prompt, inputs: Mapping[str, object], schema: dict) -> Reply:
        prompt.render(**inputs)
        self.asked.append(prompt.name)
        if prompt.name == "extract_action":
            return Reply({"tools": ["rent"], "possible": [], "reason": "it says so"}, engine=self.name)
        rows = [{"name": name, "value": value, "quotation": words} for name, value, words in self.rows]
        return Reply({"arguments": rows}, engine=self.name)


TOOLS = [
    {
        "name": "rent",
        "description": "Rent a rope.",
        "keywords": ["rent a rope"],
        "parameters": {
            "type": "object",
            "properties": {"days": {"type": "integer"}, "note": {"type": "string"}},
            "required": ["days", "note"],
        },
    }
]
GUARD = airline.guarded(
    "ropes",
    tools.parse(json.dumps(TOOLS)),
    RuleSet(
        (
            Predicate("rent", "action", "", tools=("rent",)),
            Predicate("short", "state", "", test=cel.parse("call.days <= 5")),
        ),
        (Rule("r", "", parse("ALWAYS (rent IMPLIES short)"), "forbid", quote="At most five days."),),
    ),
)


@pytest.mark.parametrize(
    ("row", "decision"),
    [
        (("days", 3, "for 3 days"), "allow"),
        (("days", 30, "for 30 days"), "undecided"),  # nobody said that
        (("days", "3", "for 3 days"), "undecided"),  # of another type
        (("weeks", 3, "for 3 days"), "undecided"),  # no argument of the tool
        (("note", "rope", "the rope"), "undecided"),
    ],
)
def test_a_guard_decides_a_turn_by_the_arguments_that_its_words_tell(row, decision):
    engine = Twice(row)
    turn = Observation("get a rope", "", (), *TEXTS, {})
    (found,) = events.recognise([turn], tools.parse(json.dumps(TOOLS)), LLM(engine))
    assert engine.asked == ["extract_action", "extract_arguments"]
    verdict = GUARD.session().turn(found)
    assert verdict.decision == decision, verdict
    if decision == "allow":
        assert "arguments of rent by scripted: days “for 3 days”" in found.reason


@pytest.mark.parametrize("rows", [(), (("note", "x", "no such words"),), (("days", 3, "for 3 days"),)])
def test_what_nobody_told_of_a_turn_is_not_taken_to_be_absent(rows):
    acts = (
        Predicate("rent", "action", "", tools=("rent",)),
        Predicate("noted", "state", "", test=cel.parse("has(call.note)")),
    )
    rule = Rule("r", "", parse("ALWAYS (rent IMPLIES NOT noted)"), "forbid", quote="No notes.")
    box = tools.parse(json.dumps(TOOLS))
    guard = airline.guarded("ropes", box, RuleSet(acts, (rule,)))
    (found,) = events.recognise([Observation("get a rope", "", (), *TEXTS, {})], box, LLM(Twice(*rows)))
    assert guard.session().turn(found).decision == "undecided"


def test_too_long_a_rent_is_denied_by_its_words():
    turn = Observation("get a rope", "", (), "rent for 30 days", "", {})
    (found,) = events.recognise([turn], tools.parse(json.dumps(TOOLS)), LLM(Twice(("days", 30, "30 days"))))
    assert GUARD.session().turn(found).decision == "deny"


def test_a_reply_that_fails_and_a_tool_without_parameters_tell_nothing():
    spoken = arguments.Mention(tools.Tool("ring"), *TEXTS)
    engine = Scripted({"arguments": 1})
    assert arguments.extracted([spoken], LLM(engine)) == [arguments.Extraction()] and engine.asked == []
    (tool,) = tools.parse(json.dumps(TOOLS)).tools
    assert arguments.extracted([arguments.Mention(tool, *TEXTS)], LLM(engine)) == [arguments.Extraction()]
