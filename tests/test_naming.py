"""Which tools a text names, by tables: of a bank whose tools speak in every way that tools do."""

import pytest

from wb.domain.tools import Field, Schema, Tool, Toolbox
from wb.rules.naming import Naming

INNER = {"type": "object", "properties": {"homeStreet": {"type": "string"}, "zip_code": {"type": "string"}}}
BANK = Toolbox(
    (
        Tool(
            "open_account",
            "Open or renew a savings account for a client of the bank.",
            (Field("client_id", "string", "the client"), Field("kind", "string", "of account", keywords=("flavour",))),
        ),
        Tool(
            "change_address",
            "Change the postal address in the file of a client.",
            (Field("client_id", "string"), Field("address", "object", "for letters", schema=Schema(INNER))),
        ),
        Tool(
            "transfer_to_adviser",
            "Hand the talk over to an adviser; last resort.",
            (Field("summary", "string", "what was said"),),
            mutating=False,
        ),
        Tool("get_account", "Look up the details of an account.", (Field("account_id", "string"),)),
        Tool(
            "closeAccount",
            "Close an account.",
            (Field("account_id", "string"), Field("fee", "number", "in euros")),
            keywords=("shut down",),
        ),
        Tool(
            "send_statement",
            "Send new account statements, or a yearly overview.",
            (Field("year", "string", values=("2024", "2025")),),
        ),
    )
)
NAMING = Naming(BANK)
KNOWN = {one.tool: one for one in NAMING.known}
OPEN, CHANGE, TALK, GET, CLOSE, SEND = (tool.name for tool in BANK.tools)


def test_a_tool_is_known_by_the_verbs_and_objects_of_its_name_and_its_description() -> None:
    assert KNOWN[OPEN].acts >= {"open", "renew", "creat", "mak"} and not KNOWN[OPEN].acts & {"sav", "clos"}
    assert KNOWN[CHANGE].acts >= {"chang", "updat", "replac"} and KNOWN[CLOSE].acts == {"clos"}
    assert KNOWN[TALK].acts == {"transfer", "hand", "forward", "escalat"}
    assert {name: one.things for name, one in KNOWN.items()} == {
        OPEN: {"account"},
        CHANGE: {"addres", "street", "cod"},  # what is inside of an argument of that name counts
        TALK: {"talk", "adviser"},
        GET: {"account"},  # and no word that says nothing, as "details"
        CLOSE: {"account"},
        SEND: {"stat", "overview"},
    }
    assert {name: one.phrases for name, one in KNOWN.items() if one.phrases} == {
        OPEN: (("sav", "account"),),
        CHANGE: (("postal", "addres"),),
        SEND: (("new", "account", "stat"), ("yearl", "overview")),
    }
    assert {name for name, one in KNOWN.items() if one.changes} == {OPEN, CHANGE, CLOSE, SEND}
    assert "resort" in KNOWN[TALK].told - KNOWN[TALK].words, "the first sentence says what a tool is for"
    assert {"shut", "down"} <= KNOWN[CLOSE].words and "euro" in KNOWN[CLOSE].told - KNOWN[CLOSE].words


def test_what_a_tool_changes_it_says_itself_and_else_its_verb_does() -> None:
    tools = [Tool("get_it", "Get it.", mutating=True), Tool("open_it", "Open it.", mutating=False)]
    tools += [Tool("check_it", "Check it."), Tool("mark_it", "Mark it.")]
    assert Naming(Toolbox(tuple(tools))).changing() == {"get_it", "mark_it"}


def test_a_verb_that_is_some_tool_s_own_means_that_tool_alone() -> None:
    both = Naming(Toolbox((Tool("cancel_order", "Cancel an order."), Tool("delete_order", "Delete an order."))))
    assert both.named("An order can be canceled.") == {"cancel_order"}
    assert both.named("You may revoke an order.") == {"cancel_order", "delete_order"}
    one = Naming(Toolbox((Tool("exchange_item", "Exchange an item."),)))
    assert one.named("You may swap an item.") == {"exchange_item"} and not one.named("You may edit an item.")


TITLES = {
    "Opening an account": {OPEN},
    "Make an account": {OPEN},
    "Open": {OPEN},
    "Making": set(),  # that verb says nothing without a thing
    "Making coffee": set(),
    "Accounts": {OPEN, CLOSE},  # a thing alone: what changes something
    "Adviser": set(),
    "Account talk": set(),
    "1.2 Changing the address": {CHANGE},
    "b) Address": {CHANGE},
    "Closing": {CLOSE},
    "Closing accounts": {CLOSE},
    "Closing doors": set(),
    "Statements": {SEND},
    "Yearly overviews": {SEND},
    "Yearly overviews of the moon": {SEND},  # its full name
    "Overviews of the moon": set(),
    "Deleting an account": set(),  # an act of none
    "Account overview": {SEND},
    "": set(),
}
SENTENCES = {
    "You must not close an account on Sundays.": {CLOSE},
    "You may close it.": set(),
    "An account is fine.": set(),
    "If the client opens an account, be kind.": set(),
    "Whether or not it is late, if the client wants to open an account, be kind.": {OPEN},
    "The desk that closes accounts is on the left.": set(),
    "Make notes, because accounts are closed.": set(),
    "Use the tool to close the account.": {CLOSE},
    "Use the tool to shut or close.": {CLOSE},  # who speaks of a tool may name it by any of its words
    "To shut or close is the same.": set(),
    "Accounts are opened once.": {OPEN},
    "An account opened abroad is fine.": set(),  # no act, without an auxiliary
    "After being opened, the account stays.": set(),
    "The closing of an account": set(),  # a noun
    "Two closings of accounts": set(),
    "Set up an account.": {OPEN},
    "The client called to take the talk over.": {TALK},
    "The mailed overview": set(),
    "The overview can be mailed.": {SEND},
    "The client's overview must be sent.": {SEND},
}
ORDERS = {
    "Close the account.": {CLOSE},
    "Please close the account.": {CLOSE},
    "If it is old, close the account.": {CLOSE},
    "When it is asked for, always look up the account.": {GET},
    "Hand over the talk.": {TALK},
    "Closing the account is free.": set(),
    "Closed accounts": set(),
    "The account is closed.": set(),
    "Close the door.": set(),
    "12": set(),
}
OPENINGS = {
    "Savings accounts are for adults.": {OPEN},
    "The savings account is free.": {OPEN},
    "Each postal address is kept.": {CHANGE},
    "Any yearly overview is free.": {SEND},
    "New account statements cost.": {SEND},
    "Account statements cost.": set(),
    "You see the yearly overview.": set(),
}
THINGS = {
    "flavour": {OPEN},
    "kind of account": {OPEN},
    "kind of address": set(),
    "letters": {CHANGE},
    "street": {CHANGE},
    "account": {OPEN, GET, CLOSE},
    "id": set(),
    "": set(),
}
TABLES = {"titled": TITLES, "named": SENTENCES, "ordered": ORDERS, "opened": OPENINGS, "taking": THINGS}


@pytest.mark.parametrize("asked", TABLES)
def test_a_text_names_the_tools_that_a_person_would_say(asked: str) -> None:
    got = {text: set(getattr(NAMING, asked)(text)) for text in TABLES[asked]}
    assert got == TABLES[asked]


def test_particles_make_another_verb() -> None:
    tools = (Tool("cancel_trip", "Cancel a trip."), Tool("return_item", "Return an item."))
    naming = Naming(Toolbox(tools))
    assert naming.named("You may call the trip off.") == naming.named("Trips are called off.") == {"cancel_trip"}
    assert naming.named("You may call about the trip.") == set()
    assert naming.named("Send back the item.") == {"return_item"} and naming.named("Send the item.") == set()


def test_a_label_is_known_to_tools_that_half_of_its_words_are_told_of() -> None:
    every = list(KNOWN)
    assert NAMING.knowing("Street gold", every) == NAMING.knowing("Street gold", [CHANGE]) == {CHANGE}
    assert NAMING.knowing("Street gold silver", every) == set() == NAMING.knowing("Street", [OPEN])
    assert NAMING.knowing("Number of details", every) == set() == NAMING.knowing("", every)


def test_acts_in_brackets_narrow_what_is_meant_by_every_change() -> None:
    every = {OPEN, CHANGE, CLOSE, SEND}
    assert NAMING.changing() == NAMING.changing("Any change (getting)") == NAMING.changing("close") == every
    assert NAMING.changing("Any change (closing, mailing)") == {CLOSE, SEND}


def test_a_thing_is_handled_by_what_changes_something_and_tells_of_it() -> None:
    assert NAMING.handling("Account") == {OPEN, CLOSE, SEND} and NAMING.handling("talk") == set()


def test_a_tool_is_wordy_that_takes_free_text_alone() -> None:
    assert [tool.name for tool in BANK.tools if NAMING.wordy(tool)] == [TALK]
    listed = Tool("say", "Say.", (Field("how", "string", values=("loud",)),))
    assert not NAMING.wordy(listed) and NAMING.wordy(Tool("wait", "Wait."))
