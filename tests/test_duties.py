"""Duties about a thing as restrictions of the call that tells them; each reading beside what must not be read so."""

from __future__ import annotations

import json

import pytest

from wb.domain import tools
from wb.domain.policy import Clause
from wb.domain.tools import Toolbox
from wb.logic import cel
from wb.logic.syntax import parse, render
from wb.offline import duties, grounding, norms
from wb.rules import accounting
from wb.rules.rule import Predicate, Rule

TEXT = {"type": "string"}
YES = {"type": "boolean"}
NUMBER = {"type": "integer"}


def row(name: str, description: str, **given: dict) -> dict:
    return {
        "name": name,
        "description": description,
        "parameters": {"type": "object", "properties": given},
    }


def field(name: str, type: str, description: str = "", **more: object) -> dict:
    return {"name": name, "type": type, "description": description, **more}


HARBOUR = [
    row(
        "load_crate",
        "Load a crate on a ship.",
        crate_number=TEXT | {"description": "number of the crate"},
        sealed=YES | {"description": "the crate is sealed"},
        rope_cm=NUMBER | {"description": "centimetres from the rope to the deck"},
        teak=YES | {"description": "the crate is made of teak"},
    ),
    row("cancel_berth", "Cancel a berth.", berth_id=TEXT | {"description": "the berth id"}, cause=TEXT),
    row("write_manifest", "Write the manifest of a ship.", captain=TEXT, ship_name=TEXT, sent_by=TEXT),
    row("call_pilot", "Call a pilot.", ship=TEXT),
]
TOLD = [
    field("user_confirmed", "boolean", "the user has explicitly confirmed (yes) the action"),
    field("purse_balance", "number", "what is in the purse"),
    field("harbour_dues", "number", "what the harbour asks for"),
    field("written_leave", "boolean", "the harbour master has given written leave"),
]
BOX = tools.parse(json.dumps({"tools": HARBOUR, "state": TOLD}))


def read(text: str, *headings: str, box: Toolbox = BOX) -> list[tuple[str, dict[str, str]]]:
    """The formulas of a sentence, each with the tests and tools of its predicates."""
    clause = Clause("c", text, 0, len(text), headings, (), ())
    found = {}
    for norm in norms.norms(clause):
        for one in grounding.ground(norm, box).readings:
            told = {p.name: cel.render(p.test) if p.test is not None else " ".join(p.tools) for p in one.predicates}
            found[render(one.formula)] = told
    return list(found.items())


BOUND = [  # a sentence, the title above it, its formula, what its predicates are bound to
    ("A crate must be sealed.", "", "ALWAYS (load_crate IMPLIES sealed)", {"sealed": "call.sealed"}),
    ("The crate must be built of teak.", "", "ALWAYS (load_crate IMPLIES teak)", {"teak": "call.teak"}),
    (
        "The rope must be at least 40 cm from the deck.",
        "",
        "ALWAYS (load_crate IMPLIES rope_cm_at_least_40)",
        {"rope_cm_at_least_40": "call.rope_cm >= 40"},
    ),
    (
        "The rope may not be less than 40 cm from the deck.",
        "",
        "ALWAYS (load_crate IMPLIES rope_cm_at_least_40)",
        {"rope_cm_at_least_40": "call.rope_cm >= 40"},
    ),
    (
        "The user must confirm the berth id and the cause.",
        "Cancel a berth",
        "ALWAYS (cancel_berth IMPLIES user_confirmed)",
        {"user_confirmed": "state.user_confirmed"},
    ),
    (
        "Before cancelling a berth, you must obtain written leave.",
        "",
        "ALWAYS (cancel_berth IMPLIES written_leave)",
        {"written_leave": "state.written_leave"},
    ),
    (
        "The purse must have enough balance to cover the harbour dues.",
        "Cancel a berth",
        "ALWAYS (cancel_berth IMPLIES purse_balance_at_least_harbour_dues)",
        {"purse_balance_at_least_harbour_dues": "state.purse_balance >= state.harbour_dues"},
    ),
    (
        "The manifest must contain the name of the ship.",
        "",
        "ALWAYS (write_manifest IMPLIES ship_name_given)",
        {"ship_name_given": 'call.ship_name != ""'},
    ),
    (
        "The manifest must state the particulars of the captain.",
        "",
        "ALWAYS (write_manifest IMPLIES captain_given)",
        {"captain_given": 'call.captain != ""'},
    ),
    ("The cancel tool can only be called once.", "", "ALWAYS (cancel_berth IMPLIES COUNT[<= 1] cancel_berth)", {}),
    (
        "This action can only be called twice.",
        "Cancel a berth",
        "ALWAYS (cancel_berth IMPLIES COUNT[<= 2] cancel_berth)",
        {},
    ),
]


@pytest.mark.parametrize(("text", "title", "formula", "bound"), BOUND)
def test_a_duty_restricts_the_call_that_tells_it(text: str, title: str, formula: str, bound: dict) -> None:
    ((said, told),) = read(text, *filter(None, [title]))
    assert said == formula and bound.items() <= told.items()
    assert all(told.values())


OPEN = [  # what is near it, and must not be bound so
    ("A barrel must be sealed.", ""),  # no word of a tool
    ("A crate must be sealed with wax.", ""),  # wax
    ("A crate must be painted.", ""),
    ("The crew must be sealed.", ""),
    ("The rope must be at least 40 cm from the mast.", ""),  # the mast
    ("The chain must be at least 40 cm from the deck.", ""),
    ("The user must confirm the weather.", "Cancel a berth"),  # no argument
    ("The user must confirm the crate number.", "Cancel a berth"),  # another tool's
    ("The agent must confirm the berth id.", "Cancel a berth"),  # it checks it, and nobody confirms the act
    ("Confirm the berth id before cancelling a berth.", ""),
    ("The mate must confirm the berth id before a berth is cancelled.", ""),
    ("Before cancelling a berth, you must obtain spoken leave.", ""),
    ("The purse must have enough coins to cover the harbour dues.", "Cancel a berth"),
    ("The purse must have enough balance to cover the fuel.", "Cancel a berth"),
    ("The manifest must contain the name of the port.", ""),
    ("The bill must contain the name of the ship.", ""),
    ("A pilot can only be called once.", ""),  # which pilot, no argument tells
    ("You can call the pilot only once.", ""),
]


@pytest.mark.parametrize(("text", "title"), OPEN)
def test_one_word_that_has_no_place_leaves_it_unbound(text: str, title: str) -> None:
    for _, told in read(text, *filter(None, [title])):
        assert not all(told.values())


def test_a_duty_of_two_tools_is_of_neither() -> None:
    twin = row("weigh_crate", "Weigh a crate.", sealed=YES | {"description": "the crate is sealed"})
    both = tools.parse(json.dumps({"tools": [*HARBOUR, twin], "state": TOLD}))
    for _, told in read("A crate must be sealed.", box=both):
        assert not all(told.values())


def test_a_tool_that_only_reads_is_not_restricted() -> None:
    looks = [{**HARBOUR[0], "mutating": False}, *HARBOUR[1:]]
    box = tools.parse(json.dumps({"tools": looks, "state": TOLD}))
    for text in ("A crate must be sealed.", "The rope must be at least 40 cm from the deck."):
        assert not any("load_crate" in told.values() for _, told in read(text, box=box))


@pytest.mark.parametrize("text", ["A crate must not be sealed.", "The rope must be at most 40 cm from the deck."])
def test_the_opposite_is_never_read_as_the_duty(text: str) -> None:
    assert not any(one in told.values() for _, told in read(text) for one in ("call.sealed", "call.rope_cm >= 40"))
    assert not any("NOT load_crate" in said for said, _ in read(text))


@pytest.mark.parametrize(
    "others",
    [
        [],
        [field("price_confirmed", "boolean", "the price is confirmed")],
        [field("skipper_confirmed", "boolean", "the skipper has confirmed the action")],
    ],
)
def test_what_was_confirmed_is_the_act_and_not_another_thing(others: list) -> None:
    """A field that tells that another thing was confirmed is no confirmation of the act."""
    without = [one for one in TOLD if one["name"] != "user_confirmed"]
    box = tools.parse(json.dumps({"tools": HARBOUR, "state": [*without, *others]}))
    assert duties.confirmed("confirm the berth id", box.tool("cancel_berth"), box) is None


def test_of_two_confirmations_none_is_meant() -> None:
    more = field("berth_confirmed", "boolean", "the user has confirmed the berth")
    box = tools.parse(json.dumps({"tools": HARBOUR, "state": [*TOLD, more]}))
    assert duties.confirmed("confirm the berth id", box.tool("cancel_berth"), box) is None
    assert duties.confirmed("confirm the berth id", BOX.tool("cancel_berth"), BOX) is not None


CRANES = tools.parse(
    json.dumps(
        {
            "tools": [
                row(
                    "rent_crane",
                    "Rent a crane.",
                    crane={
                        "type": "object",
                        "properties": {"load_kg": NUMBER, "kind": TEXT | {"enum": ["tower", "truck"]}},
                    },
                    payment={
                        "type": "object",
                        "properties": {"amount": NUMBER, "way": TEXT | {"enum": ["cash", "card"]}},
                    },
                ),
                row("close_contract", "Close a contract.", id=TEXT),
            ],
            "state": [
                field(
                    "contract",
                    "object",
                    properties={"status": TEXT | {"enum": ["open", "disputed"]}, "signed": YES, "days": NUMBER},
                ),
                field(
                    "deposit",
                    "object",
                    properties={"status": TEXT | {"enum": ["open", "paid"]}, "signed": YES, "amount": NUMBER},
                ),
            ],
        }
    )
)
WITHIN = [
    ("A contract may only be closed if its status is disputed.", 'state.contract.status == "disputed"'),
    ("Only disputed contracts can be closed.", 'state.contract.status == "disputed"'),
    ("A contract can only be closed if it is signed.", "state.contract.signed"),
    ("A contract can only be closed if the deposit is signed.", "state.deposit.signed"),
    ("A contract can only be closed if the deposit is open.", 'state.deposit.status == "open"'),
    ("A contract can only be closed if the contract is open.", 'state.contract.status == "open"'),
    ("A crane may only be rented if the deposit amount is at least 100.", "state.deposit.amount >= 100"),
    ("A crane must not be rented if the payment amount exceeds 500.", "call.payment.amount <= 500"),
    ("A crane may only be rented if payment is in cash.", 'call.payment.way == "cash"'),
    ("A crane may only be rented if the load of the crane is at most 300 kg.", "call.crane.load_kg <= 300"),
]


@pytest.mark.parametrize(("text", "test"), WITHIN)
def test_what_lies_within_an_object_is_read_where_the_object_is_said(text: str, test: str) -> None:
    ((_, told),) = read(text, box=CRANES)
    assert test in told.values() and all(told.values())


@pytest.mark.parametrize(
    "text",
    [
        "A crane may only be rented if the status is open.",  # of the contract, or of the deposit
        "A crane may only be rented if it is signed.",
        "A crane must not be rented if the amount exceeds 500.",  # of the deposit, or of the payment
        "A contract can only be closed if the crane is signed.",
        "A contract can only be closed if the invoice is open.",
        "A contract can only be closed if the letter of the deposit is signed.",
    ],
)
def test_what_lies_within_an_object_that_is_not_said_is_not_read(text: str) -> None:
    for _, told in read(text, box=CRANES):
        assert not all(told.values())


BEACONS = tools.parse(
    json.dumps(
        {
            "tools": [
                row("light_beacon", "Light a beacon.", id=TEXT),
                row("request_changes", "Ask for changes.", id=TEXT),
            ],
            "state": [
                field("beacon_permission", "boolean", "the warden has permitted the beacon"),
                field("raft_permission", "boolean", "the warden has given permission for the raft"),
                field("breaking_change", "boolean", "the change is a breaking one"),
                field("asked_colour", "string", "colour that was asked for", enum=["red", "green"]),
                field("agreed_colour", "string", "colour that was agreed on", enum=["red", "green"]),
            ],
        }
    )
)


@pytest.mark.parametrize(
    "text",
    [
        "A barge must not be left without the warden's permission.",  # of the beacon, or of the raft
        "The change cannot proceed without a vote.",  # a change is not a breaking one
        "Breaking changes must be voted on by all keepers.",  # `request_changes` knows of no breaking
        "A lamp may only be lit if it is red.",  # which colour: the one asked for, or the one agreed on
    ],
)
def test_half_of_a_name_is_not_enough_where_nothing_is_said_of_it(text: str) -> None:
    for _, told in read(text, box=BEACONS):
        assert not set(told.values()) - {""}


def test_of_two_fields_with_one_value_the_one_that_is_said_is_meant() -> None:
    ((_, told),) = read("A beacon may only be lit if the agreed colour is red.", box=BEACONS)
    assert 'state.agreed_colour == "red"' in told.values()


CANCEL = Predicate("cancel", "action", "", (), ("cancel_berth",))
YES_SAID = Predicate("yes", "state", "", (), (), cel.parse("state.user_confirmed"))
LEAVE = Predicate("leave", "state", "", (), (), cel.parse("state.written_leave"))
ASKED = "ALWAYS (cancel IMPLIES yes)"


def left(text: str, formula: str = ASKED, *used: Predicate) -> tuple[str, ...]:
    rule = Rule("r", text, parse(formula), "permit_only_if")
    return accounting.unaccounted(
        text, (), [rule], used or (CANCEL, YES_SAID), BOX, headings=("Harbour", "Cancel a berth")
    )


@pytest.mark.parametrize(
    "text",
    [
        "The user must confirm the berth id.",
        "The user needs to confirm the berth id and the cause.",
        "Customers have to explicitly confirm the cause, and the berth id.",
    ],
)
def test_what_has_to_be_confirmed_is_counted_against_the_arguments_of_the_call(text: str) -> None:
    assert left(text) == ()


@pytest.mark.parametrize(
    "text",
    [
        "The user must confirm the weather.",
        "The user must confirm the berth id and the weather.",
        "The user must confirm the berth id if the cause is a storm.",
        "The user must confirm the berth id unless the cause is a storm.",
        "The user must confirm the berth id or the cause.",
        "The user must confirm the berth id before the cause.",
        "The user must not confirm the berth id.",
        "The user need not confirm the berth id.",
        "The mate must confirm the berth id.",
        "The user must provide the berth id.",
        "The user must confirm no berth id.",
        "The user must confirm both berth ids twice.",
        "The user must confirm the berth id and pay the dues.",
    ],
)
def test_what_else_a_confirmation_says_stays_to_be_accounted_for(text: str) -> None:
    assert left(text)


@pytest.mark.parametrize(
    ("formula", "used"),
    [
        ("ALWAYS (cancel IMPLIES NOT yes)", (CANCEL, YES_SAID)),
        ("ALWAYS (cancel IMPLIES leave)", (CANCEL, LEAVE)),
        ("ALWAYS (yes IMPLIES EVENTUALLY cancel)", (CANCEL, YES_SAID)),
        ("ALWAYS (cancel IMPLIES yes OR leave)", (CANCEL, YES_SAID, LEAVE)),
        ("ALWAYS NOT cancel", (CANCEL,)),
    ],
)
def test_another_rule_than_that_it_is_confirmed_is_not_accounted_for(formula: str, used: tuple) -> None:
    assert left("The user must confirm the berth id.", formula, *used)


YARD = tools.parse(
    json.dumps(
        {
            "tools": [
                row(
                    "release_for_flooding", "Let a flooding begin: the dock may be filled.", dock_id=TEXT, ship_id=TEXT
                ),
                row("reserve_dock", "Reserve a dock.", dock_id=TEXT, size=TEXT | {"enum": ["small", "large"]}),
                row("release_guard", "End the assignment of an employee who guards a dock.", dock_id=TEXT),
                row("add_tag", "Put a tag on a ship.", ship_id=TEXT),
                row("remove_tag", "Take a tag off a ship.", ship_id=TEXT),
            ],
            "state": [
                field("gate_closed", "boolean", "the gate is closed"),
                field("fee_paid", "boolean", "the fee is paid"),
            ],
        }
    )
)
NOUNS = [
    ("A dock must not be flooded unless the gate is closed.", "", "ALWAYS (release_for_flooding IMPLIES gate_closed)"),
    ("A flooding may only begin if the gate is closed.", "", "ALWAYS (release_for_flooding IMPLIES gate_closed)"),
    ("You must not tag a ship unless the fee is paid.", "", "ALWAYS (add_tag IMPLIES fee_paid)"),
    ("Reservations may only be accepted if the fee is paid.", "", "ALWAYS (reserve_dock IMPLIES fee_paid)"),
    ("The fee must be paid.", "3. Reservation of docks", "ALWAYS (reserve_dock IMPLIES fee_paid)"),
]


@pytest.mark.parametrize(("text", "title", "formula"), NOUNS)
def test_an_act_is_known_by_the_noun_of_its_verb(text: str, title: str, formula: str) -> None:
    ((said, told),) = read(text, *filter(None, [title]), box=YARD)
    tool = formula.split()[1].strip("(")
    assert tool in told.values() and said.endswith(formula.rpartition(" ")[2]) and all(told.values())


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("A street must not be flooded unless the gate is closed.", ""),  # no dock
        ("A dock must not be drained unless the gate is closed.", ""),
        ("You must not guard a dock unless the gate is closed.", ""),  # to end it is no guarding
        ("A repair may only begin if the gate is closed.", ""),
        ("Reservations may only be refused if the fee is paid.", ""),
        ("Complaints may only be accepted if the fee is paid.", ""),
        ("The fee must be paid.", "3. Reservation of cranes"),
        ("The fee must be paid.", "3. Reservation"),
        ("The fee must be paid.", "3. Docks"),
    ],
)
def test_a_noun_of_another_verb_or_thing_names_no_act(text: str, title: str) -> None:
    known = {tool.name for tool in YARD.tools}
    for _, told in read(text, *filter(None, [title]), box=YARD):
        assert not known & set(" ".join(told.values()).split())
