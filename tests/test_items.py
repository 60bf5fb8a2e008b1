"""Policy items of a made-up handbook by hand, laws about them, and the airline's beside its gold.

The airline's gold was written before the mapper; the mapper was developed on it, so that its figures are upper bounds.
"""

import json
import re
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wb.bench import mapping
from wb.domain import policy as documents
from wb.domain import tools as toolboxes
from wb.domain.tools import Toolbox
from wb.models import client
from wb.offline import engine as offline
from wb.offline import norms
from wb.rules import decisions, extract, items, sentences
from wb.rules.items import Item

FIXTURES = documents.place("airline")
SHED = """# Handbook of the machine shed

The shed is open on weekdays.

## Words

- **Loan**: a machine, the member who has it, and the day on which it is due.

| Colour | Meaning |
|---|---|
| green | ready |
| red | broken, and never handed out |

## In general

Be friendly.

Speak first. Before any change is made, tell the member what will be recorded. Go ahead only after the member agreed.

You can lend a machine, or extend a loan.

## Lending

Only machines with a green label may be lent. A member can have at most three machines at a time.

**Training.** Saws are only for members who have passed the course.

**Weekly rates.** What a loan costs depends on the size of the machine:

| Size | First week | Later weeks |
|---|---|---|
| small | 5 | 3 |
| large | 9 | 7 |

The rates are printed on the door.

## Extending a loan

A loan must not be extended twice. In all other cases it depends on the waiting list.

The due day will be set by the system.

If the machine is broken, call the caretaker.

## Parking

Cars must not stand in front of the door.
"""


def tool(called: str, description: str, *, mutating: bool | None = True, **arguments: str) -> dict:
    properties = {k: {"type": "string", "description": text} for k, text in arguments.items()}
    found = {"name": called, "description": description, "parameters": {"type": "object", "properties": properties}}
    return found if mutating is None else {**found, "mutating": mutating}


TOOLS = (
    tool("lend_machine", "Lend a machine to a member.", machine_id="the machine", weekly_rate="euros a week"),
    tool("extend_loan", "Extend the loan of a machine.", loan_id="the loan", rate="weekly rate in euros"),
    tool("find_member", "Look up a member.", mutating=None, member="the name"),
    tool("call_caretaker", "Call the caretaker with a message.", mutating=False, message="what is broken"),
)
CONFIRM = ["Speak first", "Before any change is made", "Go ahead only"]
RATES = ["What a loan costs", "Size |", "small |", "large |"]
EXPECTED = {
    "lend_machine": [CONFIRM, ["red |", "Only machines"], ["A member can"], ["Saws are only"], RATES],
    "extend_loan": [CONFIRM, RATES, ["A loan must not", "In all other cases"]],
    "call_caretaker": [["If the machine is broken"]],
}


def box(*tools: dict) -> Toolbox:
    return toolboxes.parse(json.dumps({"tools": tools or TOOLS}), source="test")


@cache
def accounts(text: str, tools: Toolbox) -> tuple[documents.Policy, tuple[sentences.Account, ...]]:
    policy = documents.of_text(text, tools)
    engine = client.connect("offline", offline=offline.Offline(tools), replies_dir=None)
    clauses = extract.clauses(policy, engine, norms.constrains)
    return policy, sentences.classify(policy, clauses, extract.rules(clauses, policy, engine, norms.constrains))


def mapped(text: str, *tools: dict) -> tuple[Item, ...]:
    return items.items(*accounts(text, box(*tools)))


def by_tool(found: tuple[Item, ...]) -> dict[str, list[list[str]]]:
    tools = dict.fromkeys(one.tool for one in found)
    return {name: [[r.text for r in one.references] for one in found if one.tool == name] for name in tools}


def test_the_items_of_the_shed_are_those_that_a_person_finds() -> None:
    found = by_tool(mapped(SHED))
    assert found.keys() == EXPECTED.keys()
    for name, wanted in EXPECTED.items():
        groups = sorted(found[name])
        assert len(groups) == len(wanted), groups
        for group, begins in zip(groups, sorted(wanted), strict=True):
            assert len(group) == len(begins) and all(map(str.startswith, group, begins)), (group, begins)


SECTIONS = re.split(r"(?m)^(?=## )", SHED)


def pairs(found: tuple[Item, ...]) -> set[tuple[str, str]]:
    return {(one.tool, r.text) for one in found for r in one.references}


@settings(max_examples=5, deadline=None)
@given(st.permutations(SECTIONS[1:]), st.permutations(TOOLS))
def test_the_order_of_sections_and_tools_changes_no_sentence_s_tools(parts: list, tools: list) -> None:
    text = SECTIONS[0] + "".join(part.rstrip() + "\n\n" for part in parts)
    found = mapped(text, *tools)
    assert all(text[r.start : r.end] == r.text for one in found for r in one.references)
    assert pairs(found) == pairs(mapped(SHED)) and len(found) == len(mapped(SHED))


@pytest.mark.parametrize("gone", [one["name"] for one in TOOLS])
def test_a_removed_tool_removes_no_item_of_another(gone: str) -> None:
    found, before = mapped(SHED, *(one for one in TOOLS if one["name"] != gone)), mapped(SHED)
    mine = {r.text for one in before for r in one.references if one.tool == gone}
    kept = {one for one in before if one.tool != gone}
    assert kept <= set(found) and all(r.text in mine for one in set(found) - kept for r in one.references)


MARK = tool("mark_drill", "Mark a power drill.", drill_id="the drill")
LEND, CLOSE = TOOLS[0], tool("close_account", "Close the account of a member.", member_id="the member")
CASES = [
    ("Lending", "Machines must be clean.", ["lend_machine"]),
    ("Fire", "Machines must be clean.", []),
    ("Fire", "A machine must not be lent to a child.", ["lend_machine"]),
    ("Fire", "A machine must not be washed.", []),
    ("Fire", "Ask the member who lent the machine.", []),  # what befell a thing is not the call
    ("Lending", "The machine goes back in the evening.", []),
    ("Lending", "The machine must go back in the evening.", ["lend_machine"]),
    ("Lending", "The deposit goes back within five days.", []),  # what happens by itself
    ("Lending", "The deposit must go back within five days.", ["lend_machine"]),
    ("Closing the account of a member", "You need the reason.", ["close_account"]),
    ("Closing the door", "You need the key.", []),  # an act of no tool's thing
    ("Before you close", "Before any change, ask for the reason.", ["close_account", "lend_machine", "mark_drill"]),
    ("Lending", "Before any change, ask for the reason.", ["lend_machine"]),
    ("Machines", "They must be clean.", ["lend_machine"]),
    ("Power drills", "They must be clean.", ["mark_drill"]),
    ("Deleting a power drill", "It must be broken.", []),  # the thing of a tool, and the act of none
    ("Caretakers", "They must be clean.", []),  # a bare thing names only what changes something
    ("Lending", "If it burns, close the account of the member.", ["close_account"]),
    ("Definitions", "Machines must be lent with care.", []),
    ("Fire", "You must confirm actions on a machine.", ["lend_machine"]),  # of the tools on it, those that change
    ("Lending", "You must confirm actions on an account.", ["lend_machine"]),  # a title says what it is about
    ("Fire", "You must confirm actions on a chair.", []),
]


@pytest.mark.parametrize(("title", "said", "expected"), CASES)
def test_a_sentence_is_policy_of_what_it_or_its_title_names(title: str, said: str, expected: list[str]) -> None:
    text = f"# Handbook\n\n## {title}\n\n{said}\n\n## Parking\n\nCars must not stand here.\n"
    found = mapped(text, LEND, CLOSE, MARK, TOOLS[3])
    assert sorted(one.tool for one in found) == expected
    assert {r.text for one in found for r in one.references} <= {said}


def test_a_label_narrows_its_title_to_the_tools_that_know_most_of_it() -> None:
    day = tool("change_day", "Change the day of a loan.", loan_id="the loan", pay="means of payment")
    place = tool("change_place", "Change the place of a loan.", loan_id="the loan", pay="means of payment")
    text = "# A\n\n## Changing a loan\n\n**{}.** You must ask first.\n"
    for label, expected in (
        ("Paying for later days", ["change_day"]),
        ("Places", ["change_place"]),
        ("Note", ["change_day", "change_place"]),
    ):
        assert [one.tool for one in mapped(text.format(label), day, place)] == expected, label


def test_what_points_back_is_policy_of_what_it_points_to() -> None:
    text = "# A\n\n- Before any change, ask for the reason. This has to be done at night, too.\n- {}\n"
    (one,) = mapped(text.format("Doors have to be shut at night."), LEND)
    assert len(one.references) == 2 and one.references[1].text.startswith("This")
    (one,) = mapped(text.format("This has to be shut."), LEND)
    assert len(one.references) == 2, "it points to nothing in another paragraph"


def test_the_same_sentence_twice_is_one_item_with_two_references() -> None:
    said = "A saw must be clean."
    one, other = mapped(f"# A\n\n## Lending\n\n{said}\n\nGloves must be worn.\n\n{said}\n", LEND)
    assert [r.text for r in one.references] == [said, said] and len(other.references) == 1
    assert one.references[0] != one.references[1]


@pytest.mark.parametrize(("decision", "kept"), [("waive", False), ("not a constraint", False), ("reject", True)])
@pytest.mark.parametrize("said", ["A machine must not be lent to a child.", "Machines are for members who have paid."])
def test_a_person_who_frees_a_sentence_frees_its_tools(said: str, decision: str, kept: bool) -> None:
    policy, told = accounts(f"# A\n\n## Lending\n\n{said}\n\n## Parking\n\nCars must not stand here.\n", box(LEND))
    target = next(one for one in told if one.text == said)
    ruling = decisions.Ruling(id=target.id, text=target.text, decision=decision, why="so decided")
    engine = client.connect("offline", offline=offline.Offline(policy.toolbox), replies_dir=None)
    clauses = extract.clauses(policy, engine, norms.constrains)
    ruleset = extract.rules(clauses, policy, engine, norms.constrains)
    assert items.items(policy, told)
    assert bool(items.items(policy, sentences.classify(policy, clauses, ruleset, [ruling]))) == kept


ARCHIVED = [
    ("If it burns, call the caretaker.", "it orders the call"),
    ("Call the caretaker only for a broken machine.", "free text alone"),
    ("Call the caretaker only after the member has agreed.", ""),
    ("You must check the machine yourself.", "it orders to check"),
    ("You must check the machine.", ""),
]


@pytest.mark.parametrize(("said", "why"), ARCHIVED)
def test_an_item_that_no_guard_can_hold_to_says_why(said: str, why: str) -> None:
    title = "Lending" if said.startswith("You") else "Fire"
    (one,) = mapped(f"# A\n\n## {title}\n\n{said}\n", LEND, TOOLS[3])
    assert why in one.archived and bool(one.archived) == bool(why)


def test_items_are_of_the_policy_whose_sentences_were_classed() -> None:
    policy, told = accounts(SHED, box())
    for wrong in (told[1:], told[::-1], ()):
        with pytest.raises(ValueError, match="classify the sentences of this policy first"):
            items.items(policy, wrong)
    with pytest.raises(ValueError, match="at least one reference"):
        Item("lend_machine", "x", "x", ())


def test_items_come_back_from_json() -> None:
    found = mapped(SHED)
    assert items.from_json(json.loads(json.dumps(items.to_json(found)))) == found


AIRLINE = documents.load("airline")
TITLE, *PARTS = re.split(r"(?m)^(?=## )", AIRLINE.text)
OTHER, SAME = ((FIXTURES / name).read_text("utf-8") for name in ("added_other_domain.md", "added_same_domain.md"))
TABLE_3 = {
    "plain": (TITLE, *PARTS),
    "other domain behind": (TITLE, *PARTS, "\n", OTHER),
    "same domain in front": (TITLE.split("\n")[0], "\n\n", SAME, "\n", TITLE.split("\n", 1)[1], *PARTS),
    "reversed": (TITLE, *(part.rstrip() + "\n\n" for part in PARTS[::-1])),
}


@pytest.mark.parametrize("parts", TABLE_3.values(), ids=TABLE_3.keys())
def test_the_airline_is_mapped_as_its_gold_whatever_stands_around_it(parts: tuple[str, ...]) -> None:
    text = "".join(parts)
    found = items.items(*accounts(text, AIRLINE.toolbox))
    wanted = mapping.gold(documents.place("airline"), text)
    exact, overlap = mapping.figures(wanted, found, text)
    assert exact["F1"] >= 0.93 and overlap["F1"] >= 0.93 and exact["FRI"] >= 0.97 and exact["common"] >= 72, exact


def test_a_gold_quotes_its_document(tmp_path: Path) -> None:
    assert mapping.gold(tmp_path, "Ask first.") == {} and mapping.figures({}, (), "Ask first.") == []
    item = {"references": ["Ask first."], "mutating": ["book"], "read_only": ["look"]}
    (tmp_path / mapping.GOLD).write_text(json.dumps({"items": [item]}))
    assert mapping.gold(tmp_path, "Ask first.") == {"book": [[(0, 10)]], "look": [[(0, 10)]]}
    for text in ("Ask later.", "Ask first. Ask first."):
        with pytest.raises(ValueError, match="stand in the document once"):
            mapping.gold(tmp_path, text)
