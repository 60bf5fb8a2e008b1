"""Policy items: of which tools a sentence is policy, by what was read of it."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from wb.bench import mapping
from wb.domain import policy as documents
from wb.domain import tools as toolboxes
from wb.domain.tools import Toolbox
from wb.offline import reader
from wb.rules import decisions, items, sentences
from wb.rules.items import Item
from wb.rules.sentences import Account

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


def box(*tools: dict) -> Toolbox:
    return toolboxes.parse(json.dumps({"tools": tools or TOOLS}), source="test")


@cache
def accounts(text: str, tools: Toolbox) -> tuple[documents.Policy, tuple[Account, ...]]:
    policy = documents.of_text(text, tools)
    return policy, sentences.classify(policy, reader.extracted(policy)).accounts


ALL = ("lend_machine", "extend_loan", "find_member")  # those that may change something
ROWS = [
    ("rule", ("lend_machine",), ["lend_machine"], ""),
    ("open", ("lend_machine", "call_caretaker"), ["lend_machine", "call_caretaker"], ""),
    ("open", None, [], ""),  # nobody says what it is about
    ("open", ALL, [*ALL], ""),
    ("open", (), [], ""),
    ("duty", ("call_caretaker",), ["call_caretaker"], "it asks for something later"),
    ("waived", ("lend_machine",), [], ""),
    ("not a constraint", ("lend_machine",), [], ""),
]


@pytest.mark.parametrize(("cls", "tools", "expected", "archived"), ROWS)
def test_a_sentence_is_policy_of_the_tools_that_its_readings_are_about(
    cls: str, tools: tuple[str, ...] | None, expected: list[str], archived: str
) -> None:
    policy, told = accounts(SHED, box())
    blank = [replace(one, cls="not a constraint", tools=(), rules=()) for one in told]
    k = next(k for k, one in enumerate(told) if one.text.startswith("Only machines"))
    blank[k] = replace(blank[k], cls=cls, tools=ALL if tools is None else tools, unknown=tools is None, rules=("s1.1",))
    found = items.items(policy, blank)
    assert [one.tool for one in found] == expected
    for one in found:
        assert [r.text for r in one.references] == [told[k].text] and one.rules == ("s1.1",)
        assert archived in one.archived and bool(one.archived) == bool(archived)
    assert bool(items.unmapped(blank, found)) == (cls in ("rule", "open", "duty") and not expected)


@pytest.mark.parametrize(("decision", "kept"), [("waive", False), ("not a constraint", False), ("reject", True)])
def test_a_person_who_frees_a_sentence_frees_its_tools(decision: str, kept: bool) -> None:
    policy, told = accounts("Never call the caretaker.", box(*TOOLS))
    (target,) = told
    assert target.cls == "rule" and [one.tool for one in items.items(policy, told)] == ["call_caretaker"]
    ruling = decisions.Ruling(id=target.id, text=target.text, decision=decision, why="so decided")
    after = sentences.classify(policy, reader.extracted(policy), [ruling]).accounts
    assert bool(items.items(policy, after)) == kept


def test_items_are_of_the_policy_whose_sentences_were_classed() -> None:
    policy, told = accounts(SHED, box())
    for wrong in (told[1:], told[::-1], ()):
        with pytest.raises(ValueError, match="classify the sentences of this policy first"):
            items.items(policy, wrong)
    with pytest.raises(ValueError, match="at least one reference"):
        Item("lend_machine", "x", "x", ())


def test_items_come_back_from_json() -> None:
    found = items.items(*accounts(SHED, box()))
    assert found
    assert items.from_json(json.loads(json.dumps(items.to_json(found)))) == found


def test_a_gold_quotes_its_document(tmp_path: Path) -> None:
    assert mapping.gold(tmp_path, "Ask first.") == {} and mapping.figures({}, (), "Ask first.") == []
    item = {"references": ["Ask first."], "mutating": ["book"], "read_only": ["look"]}
    (tmp_path / mapping.GOLD).write_text(json.dumps({"items": [item]}))
    assert mapping.gold(tmp_path, "Ask first.") == {"book": [[(0, 10)]], "look": [[(0, 10)]]}
    for text in ("Ask later.", "Ask first. Ask first."):
        with pytest.raises(ValueError, match="stand in the document once"):
            mapping.gold(tmp_path, text)
