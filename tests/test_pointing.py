"""What a sentence leaves to another place, takes for granted or joins: read where it can be, else open; each with a
twin that must not be read so."""

from __future__ import annotations

import pytest

from wb.domain import policy, tools
from wb.logic.syntax import render
from wb.models.client import LLM
from wb.offline import norms, vocabulary
from wb.offline.engine import Offline
from wb.rules import accounting, called, extract, sentences

GATES = "open_gate_north", "open_gate_south"
BOX = tools.parse(
    """{"tools": [
      {"name": "close_valve", "description": "Close a valve.", "parameters": {"type": "object", "properties": {
        "permit_number": {"type": "string", "description": "number of the permit"}}, "required": ["permit_number"]}},
      {"name": "flush_pipe_parts", "description": "Flush the parts of a pipe.", "parameters": {}},
      {"name": "open_gate_north", "description": "Open the north gate.", "parameters": {}},
      {"name": "open_gate_south", "description": "Open the south gate.", "parameters": {}},
      {"name": "get_valve_data", "description": "Get the pressure and size of a valve.", "parameters": {}}
    ], "state": [
      {"name": "valve_state", "type": "string", "enum": ["idle", "busy"], "description": "state of the valve"},
      {"name": "crew_warned", "type": "boolean", "description": "the crew was warned of the pressure"},
      {"name": "horn_works", "type": "boolean", "description": "the horn works"}
    ]}"""
)


def read(text: str, title: str = "") -> tuple[list[str], list[str]]:
    """The formulas that are written for a text, and the classes of its sentences."""
    source = policy.of_text(f"# {title}\n\n{text}\n" if title else f"{text}\n", BOX)
    llm = LLM(Offline(BOX))
    found = extract.policies(source, llm, norms.constrains)
    made = extract.rules(found.clauses, source, llm, norms.constrains, found.lost)
    accounts = sentences.classify(source, found.clauses, made)
    return [render(r.formula) for r in made.rules], [one.cls for one in accounts if one.text != title]


@pytest.mark.parametrize(
    ("text", "title", "formulas"),
    [
        # "the action" is that of the title, never any tool
        ("Sound a horn before taking this action.", "Close a valve", ["ALWAYS (close_valve IMPLIES ONCE sound_horn)"]),
        ("You must sound the horn before taking any action.", "", ["ALWAYS (take_action IMPLIES ONCE sound_horn)"]),
        # what is checked is told by the one tool that tells it
        ("Check its pressure before closing a valve.", "", ["ALWAYS (close_valve IMPLIES ONCE get_valve_data)"]),
        ("You must check its colour before closing a valve.", "", ["ALWAYS (close_valve IMPLIES ONCE check_colour)"]),
        # whom the agent serves has something to give before what the title names; without a title it is a duty
        ("The user must provide a permit.", "Close a valve", ["ALWAYS (close_valve IMPLIES ONCE provide_permit)"]),
        ("The user must provide a permit.", "", ["EVENTUALLY provide_permit"]),
        ("The agent must provide a permit.", "Close a valve", ["EVENTUALLY provide_permit"]),
        ("A user must provide a permit number.", "Close valve", ["ALWAYS (close_valve IMPLIES permit_number_given)"]),
        # what a field tells to be done has to be done before what the title names
        ("In particular, warn the crew of the pressure.", "Close valve", ["ALWAYS (close_valve IMPLIES crew_warned)"]),
        ("Warn the crew of the pressure.", "", ["EVENTUALLY warn_crew_pressure"]),
        ("Warn the crew of the storm.", "Close a valve", ["EVENTUALLY warn_crew_storm"]),
        # how much is no purpose
        ("If the user provides a hose, it must have enough pressure to reach the roof.", "Close a valve",
         ["ALWAYS (close_valve IMPLIES NOT provides_hose OR hose_have_enough_pressure_to_reach_roof)"]),
        ("The user must be old enough to close a valve.", "Close a valve", ["ALWAYS (close_valve IMPLIES old_enough)"]),
        # a verb alone is every tool that begins with it
        ("You must not open.", "", ["ALWAYS NOT open"]),
        # one modal for two demands
        ("You must sound the horn and not open the north gate.", "",
         ["EVENTUALLY sound_horn", "ALWAYS NOT open_gate_north"]),
        ("In addition, you must not close the valve.", "", ["ALWAYS NOT close_valve"]),
        ("At most two gates may be opened.", "", ["ALWAYS (open_gates IMPLIES gates_at_most_2)"]),
        ("No more than two gates may be opened.", "", ["ALWAYS (open_gates IMPLIES gates_at_most_2)"]),
        ("Should the horn fail, you must not close a valve.", "", ["ALWAYS (close_valve IMPLIES NOT horn_fail)"]),
    ],
)  # fmt: skip
def test_what_can_be_read_is_read(text: str, title: str, formulas: list[str]) -> None:
    assert read(text, title)[0] == formulas


@pytest.mark.parametrize(
    ("phrase", "every"),
    [("take any action", True), ("make a tool call", True), ("call tools", True), ("take action", False)],
)
def test_an_action_is_any_tool_only_where_any_is_said(phrase: str, every: bool) -> None:
    assert vocabulary.tools_for(phrase, BOX).tools == (tuple(t.name for t in BOX.tools) if every else ())


def test_a_verb_alone_is_each_tool_that_it_opens() -> None:
    assert vocabulary.tools_for("open", BOX).tools == ("open_gate_north", "open_gate_south")
    assert vocabulary.tools_for("open north", BOX).tools == ("open_gate_north",)


@pytest.mark.parametrize(
    "text",
    [
        "They must not be closed.",
        "Close it before noon.",
        "You must do it yourself.",
        "In that case, you must not close a valve.",
        "Generally, you must not close a valve.",
        "You should be able to close a valve only if the agent is able.",
        "This rule shall not apply to gates.",
        "You must not move a part, e.g. a valve or a pipe.",
        "You must sound the horn at most three times.",
        "The gate is forbidden to strangers.",
        "They have two sizes and must not be closed.",
        "Paragraph 2 and point (h) require a horn.",
        "The crew must wash and/or paint the gate.",
        "Employees should be aware that gates may be closed.",
    ],
)
def test_what_points_elsewhere_or_says_nothing_of_its_own_is_no_rule(text: str) -> None:
    formulas, classes = read(text)
    assert formulas == [] and classes == ["open"], (formulas, classes)


def test_items_of_a_list_of_examples_are_no_demands_but_its_bans_are() -> None:
    formulas, classes = read("Some strategies include:\n\n- Sound the horn.\n- Do not close a valve.\n")
    assert formulas == ["ALWAYS NOT close_valve"] and "duty" not in classes


TWO = "A valve can only be closed if its state is 'idle', and you must check its pressure before taking the action."


def test_each_main_clause_is_accounted_for_by_its_own_rule() -> None:
    formulas, classes = read(TWO, "Close a valve")
    assert formulas == [
        "ALWAYS (close_valve IMPLIES valve_state_is_idle)",
        "ALWAYS (close_valve IMPLIES ONCE get_valve_data)",
    ]
    assert classes == ["rule"]


@pytest.mark.parametrize(
    "text",
    [
        TWO.replace("pressure", "weight"),  # no tool tells it
        TWO.replace("'idle'", "'idle' or loud"),
        TWO.replace("taking the action", "taking the action on Sundays"),
        TWO.replace("and you must check", "and you must never check"),
    ],
)
def test_a_main_clause_with_a_word_over_leaves_the_sentence_open(text: str) -> None:
    assert read(text, "Close a valve")[1] == ["open"]


def test_rules_exchanged_between_main_clauses_or_left_out_do_not_account_for_them() -> None:
    source = policy.of_text(f"# Close a valve\n\n{TWO}\n", BOX)
    llm = LLM(Offline(BOX))
    clauses = extract.clauses(source, llm, norms.constrains)
    made = extract.rules(clauses, source, llm, norms.constrains)

    def left(rules) -> tuple[str, ...]:
        return accounting.unaccounted(TWO, (), rules, made.predicates, BOX, headings=("Close a valve",))

    assert left(made.rules) == ()
    assert left(made.rules[:1]) and left(made.rules[1:]) and left((made.rules[0], made.rules[0]))


def test_a_tool_that_tells_something_is_named_by_it_only_where_something_is_checked() -> None:
    (get,) = [t for t in BOX.tools if t.name == "get_valve_data"]
    told = called._names(get, BOX, called.stems("check its pressure"))
    assert called.stems("pressure") in told
    assert called.stems("pressure") not in called._names(get, BOX, called.stems("if its pressure is low"))


def test_a_name_may_lack_its_words_of_quantity_and_several_their_differences_if_no_other_tool_is_meant() -> None:
    flush, north, south = (next(t for t in BOX.tools if t.name == n) for n in ("flush_pipe_parts", *GATES))
    assert called._shared((north.name, south.name), BOX) == called.stems("open gate")
    assert called._shared((north.name, flush.name), BOX) == frozenset()
    assert called._shared((north.name,), BOX) == frozenset()
