"""What is said of two sides, of what comes first, of how often and of which one: each beside its turned twin."""

import json
from dataclasses import replace

import pytest

from wb.domain import tools
from wb.logic import cel
from wb.logic.syntax import parse
from wb.rules import accounting, signs
from wb.rules.rule import Predicate, Rule

TEXT = {"type": "string"}


def tool(name: str, description: str, **arguments: dict) -> dict:
    parameters = {"type": "object", "properties": arguments}
    return {"name": name, "description": description, "parameters": parameters}


BOX = tools.parse(
    json.dumps(
        {
            "tools": [
                tool("load_car", "Load a car.", ticket_id=TEXT, deck=TEXT | {"enum": ["upper", "lower"]}),
                tool("check_ticket", "Check a ticket.", ticket_id=TEXT),
                tool("sell_ticket", "Sell a ticket."),
            ],
            "state": [
                {"name": "crew", "type": "boolean"},
                {"name": "season", "type": "string", "enum": ["winter", "summer"]},
                {"name": "weight", "type": "integer", "description": "weight of the car in kg"},
                {"name": "age", "type": "integer"},
            ],
        }
    )
)


def fact(name: str, test: str = "", *of: str) -> Predicate:
    return Predicate(name, "state", "", tools=of, test=cel.parse(test) if test else None)


def act(name: str, of: str, *objects: str) -> Predicate:
    return Predicate(name, "action", "", tools=(of,), objects=tuple(map(cel.parse, objects)))


P = {
    one.name: one
    for one in (
        fact("crew", "state.crew"),
        fact("guest", "state.crew == false"),
        fact("winter", 'state.season == "winter"'),
        fact("cold", 'state.season in ["winter"]'),
        fact("mild", 'state.season != "winter"'),
        fact("heavy", "state.weight > 3000"),
        fact("light", "state.weight <= 3000"),
        fact("adult", "state.age >= 18"),
        fact("high", 'call.deck == "upper"', "load_car"),
        fact("fit", "state.crew && state.age >= 18"),
        fact("told"),
        act("load", "load_car"),
        act("check", "check_ticket"),
        act("sell", "sell_ticket"),
    )
}


def rules(*texts: str) -> list[Rule]:
    return [Rule(f"r{k}", "", parse(text), "forbid") for k, text in enumerate(texts)]


def asked(what: str, act: str = "load") -> str:
    return f"ALWAYS ({act} IMPLIES ({what}))"


JOINED = "exception frees what it excepts: facts joined by AND, or in another form"
SIDES = [  # a sentence; what frees the act by it; and other readings, each with the facts of the wrong sign
    (
        "Do not load a car over 3000 kg unless it is the crew's.",
        ("crew OR NOT heavy", "crew OR light", "crew OR winter", "NOT heavy OR crew", "crew OR adult"),
        {
            "crew OR heavy": "heavy",
            "NOT crew OR light": "crew",
            "guest OR light": "guest",
            "guest OR heavy": "guest, heavy",
            "heavy OR guest OR heavy": "heavy, guest",
        },
    ),
    (
        "Do not load a car in winter unless it is the crew's.",
        ("crew OR NOT winter", "crew OR mild", "crew OR NOT cold", "crew OR NOT ONCE winter"),
        {"crew OR winter": "winter", "crew OR cold": "cold", "NOT crew OR mild": "crew", "crew OR NOT mild": "mild"},
    ),
    (
        "Do not load a car in winter if it is the crew's.",
        ("NOT crew OR NOT winter", "guest OR mild", "crew", "HISTORICALLY crew"),
        {"crew OR NOT winter": "crew", "crew OR winter": "crew, winter", "guest OR winter": "winter"},
    ),
    (
        "If it is winter, load a car of the crew.",
        ("crew OR NOT winter",),
        {"crew OR winter": "winter", "NOT crew OR NOT winter": "crew"},
    ),
    (
        "Unless it is the crew's, do not load a car in winter.",
        ("crew OR NOT winter",),
        {"crew OR winter": "winter", "NOT crew OR NOT winter": "crew"},
    ),
    (
        "Load a car in winter unless its weight is over 3000.",
        ("winter OR heavy", "winter OR NOT light"),
        {"winter OR light": "light", "NOT winter OR heavy": "winter", "NOT winter OR NOT heavy": "winter, heavy"},
    ),
    (
        "Load a car in winter if its weight is at most 3000.",
        ("winter OR heavy",),
        {"winter OR light": "light", "winter OR NOT heavy": "heavy"},
    ),
    (
        "Load a car except when the crew is not at the upper deck.",
        ("NOT crew OR NOT high",),
        {"crew OR NOT high": "crew", "NOT crew OR high": "high"},
    ),
    (
        "Do not load a car in winter unless the crew is at least 18 of age.",
        ("fit OR NOT winter",),
        {"NOT fit OR NOT winter": "fit", "fit OR winter": "winter"},
    ),
    # which side speaks of it is not clear: nothing is told
    ("Load a car of the crew unless it is the crew's.", ("crew OR winter", "NOT crew OR NOT winter"), {}),
    ("Load a car over 3000 kg unless it is over 3000 kg.", ("heavy OR crew", "light OR crew"), {}),
    ("Load a car of 3000 kg unless it is told.", ("heavy OR crew", "light OR crew"), {}),
    ("Load a car over 3000 kg or under 3000 kg unless it is told.", ("heavy OR crew", "light OR crew"), {}),
    # no side, or more of them
    ("Unless it is the crew's do not load a car in winter.", ("crew OR winter",), {}),
    ("Do not load a car in winter unless crew, if told.", ("crew OR winter", "NOT crew OR NOT winter"), {}),
    ("Load only a car in winter unless it is the crew's.", ("NOT crew OR NOT winter",), {}),
    ("Load a car in winter.", ("NOT crew OR NOT winter", "crew AND winter"), {}),
]


@pytest.mark.parametrize(("said", "right", "wrong"), SIDES)
def test_what_stands_on_either_side_of_an_exception_is_held_to_its_side(said: str, right: tuple, wrong: dict) -> None:
    for form in right:
        assert signs.sides(said, rules(asked(form)), P.values(), BOX) == (), form
    for form, names in wrong.items():
        told = (f"another sign than its side of the sentence gives: {names}",)
        assert signs.sides(said, rules(asked(form)), P.values(), BOX) == told, form
        assert signs.sides(said, rules(asked("crew"), asked(form)), P.values(), BOX) == told, "the second rule"
        assert told[0] in accounting.turned(said, (), rules(asked(form)), tuple(P.values()), BOX)


def test_what_is_supposed_is_not_asked_for() -> None:
    told = ("what it supposes is asked for by its rule, joined by AND",)
    for said, form in (
        ("Do not load a car in winter if it is the crew's.", "crew AND NOT winter"),
        ("If it is winter, load a car of the crew.", "winter AND crew"),
        ("If it is winter, load a car of the crew.", "NOT winter AND crew"),
    ):
        assert signs.sides(said, rules(asked(form)), P.values(), BOX) == told, form
    assert signs.sides("If it is heavy, load a car.", rules(asked("crew AND mild")), P.values(), BOX) == ()


def test_what_an_exception_frees_is_not_joined_by_and() -> None:
    said = "Do not load a car in winter unless it is the crew's."
    for form in ("crew AND NOT winter", "HISTORICALLY crew", "crew OR (winter AND heavy)"):
        assert signs.sides(said, rules(asked(form)), P.values(), BOX) == (f"an {JOINED}",)
    assert signs.sides(said, rules("EVENTUALLY load"), P.values(), BOX) == (f"an {JOINED}",)
    assert signs.sides("Load a car.", rules("EVENTUALLY load"), P.values(), BOX) == ()
    # one fact alone has its sign from all that is said
    assert signs.sides(said, rules(asked("NOT crew")), P.values(), BOX) == ()


FIRST, LAST = "ONCE check", "ONCE load"
ORDER = {  # which of the two has to have been done: True for the check before the loading
    "Check the ticket before loading the car.": True,
    "Before loading the car, check the ticket.": True,
    "Prior to loading the car, check the ticket.": True,
    "Load the car after checking the ticket.": True,
    "After checking the ticket, load the car.": True,
    "Once the ticket is checked, load the car.": True,
    "Do not load the car before checking the ticket.": True,
    "Do not load the car unless the ticket is checked.": True,
    "Load the car only if the ticket is checked.": True,
    "Before you check the ticket, load the car.": False,
    "Load the car before checking the ticket.": False,
    "Check the ticket after loading the car.": False,
    "Do not check the ticket before loading the car.": False,
    "Check the ticket only if the car is loaded.": False,
    "Unless the car is loaded, do not check the ticket.": False,
}
# Words that ask for what comes first as something that has been done: no later act meets them.
BEFOREHAND = ("unless", "only if", "before", "prior to")


@pytest.mark.parametrize("said", ORDER)
def test_what_is_said_to_come_first_has_to_have_been_done(said: str) -> None:
    def told(act: str, what: str) -> tuple[str, ...]:
        return signs.order(said, rules(asked(what, act)), P.values(), BOX)

    wrong = ("the act that is said to come first is not the one that has to have been done",)
    assert told("load", FIRST) == (() if ORDER[said] else wrong)
    assert told("check", LAST) == (wrong if ORDER[said] else ())
    later = ("what comes before has to have been done, and its rule asks for it at some time",)
    demand = said.lower()
    first = any(word in demand for word in BEFOREHAND) and "not load the car before" not in demand
    first = (first and "not check the ticket before" not in demand) or "not check the ticket after" in demand
    for act, done in (("load", "check"), ("check", "load")):
        assert told(act, f"EVENTUALLY {done}") == (later if first else ())
    # what is no act, or done by no act, has no order
    assert told("load", "ONCE crew") == told("load", "EVENTUALLY crew") == told("crew", "ONCE check") == ()
    assert signs.order(said, rules("EVENTUALLY load"), P.values(), BOX) == ()


def test_what_may_not_be_done_after_something_does_not_have_to_be_done_before_it() -> None:
    said = "Do not check the ticket after loading the car."
    for form in (asked("ONCE check"), "ALWAYS (check IMPLIES ONCE load)"):
        assert signs.order(said, rules(form), P.values(), BOX), form
    both = "ALWAYS NOT (load AND check)"
    why = ("its rule forbids two acts together, and it says which comes first, or no such thing",)
    for text in ("Check the ticket before loading the car.", "Never load a car whose ticket has not been checked."):
        assert signs.unordered(text, rules(both), P.values()) == why
    assert signs.unordered("Do not check a ticket and load a car in one step.", rules(both), P.values()) == ()


def test_two_acts_are_asked_for_as_one_that_was_done_before_the_other_and_the_sentence_says_which() -> None:
    other = ("it asks for two acts in another form than that one was done before the other",)
    said = "Check the ticket before loading the car."
    for form in ("check", "NOT check", "NOT ONCE check", "crew OR check"):
        assert signs.unordered(said, rules(asked(form)), P.values()) == other, form
    assert signs.unordered(said, rules("ALWAYS (ONCE load IMPLIES check)"), P.values()) == other
    for form in ("ONCE check", "crew OR ONCE check", "EVENTUALLY check", "crew"):
        assert signs.unordered(said, rules(asked(form)), P.values()) == (), form
    assert signs.unordered(said, rules("ALWAYS (load OR check IMPLIES crew)"), P.values()) == ()
    unsaid = ("of two acts it is not said which comes first",)
    for text in (
        "Check the ticket.",
        "Check it before loading, after selling.",
        "Load the car only before checking it.",
    ):
        assert signs.unordered(text, rules(asked("ONCE check")), P.values()) == unsaid
    without = "Do not load a car without checking the ticket."
    assert signs.order(without, rules(asked("ONCE check")), P.values(), BOX) == ()
    assert signs.order("Do not check a ticket without loading the car.", rules(asked("ONCE check")), P.values(), BOX)


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        ("Check the ticket.", False),
        ("Check the ticket before loading, after selling.", False),
        ("Check it before that.", False),
        ("Do it before that.", True),
        ("Do it before loading.", False),
        ("Sell it before checking.", True),
    ],
)
def test_an_order_of_acts_that_is_not_said_is_none(said: str, wrong: bool) -> None:
    found = signs.order(said, rules(asked("ONCE check")), P.values(), BOX)
    assert bool(found) is wrong, found


ONE, THREE = (asked(f"COUNT[<= {n}] load") for n in (1, 3))
OTHERWISE = "how often an act may be done is not what its rule says"


@pytest.mark.parametrize(
    ("said", "often", "rest"),
    [
        ("A car can only be loaded once.", 1, "A car can be loaded."),
        ("Load a car at most three times a day.", 3, "Load a car a day."),
        ("Load a car up to 3 times here.", 3, "Load a car here."),
        ("Load a car only THREE times here.", 3, "Load a car here."),
        ("Load a car no more than 1 time here.", 1, "Load a car here."),
        ("Load a car not more than 1 time here.", 1, "Load a car here."),
        ("Do not load a car more than once.", 1, "Do not load a car."),
        ("Never load a car more than three times.", 3, "Never load a car."),
        ("Load a car at most 13 times.", 0, ""),
        ("Load a car at most twice.", 0, ""),
        ("Load a car.", 0, ""),
        ("Load a car at least once.", 0, ""),
        ("Load a car more than once.", 0, ""),
        ("Do not load a car no more than once.", 0, ""),
        ("Do not load a car at most once.", 0, ""),
        ("Nobody may not load a car more than once.", 0, ""),
        ("Load a car at most once; load it at most once.", 0, ""),
        ("Load a car at most never once.", 0, ""),
    ],
)
def test_how_often_is_said_as_its_rule_says_it(said: str, often: int, rest: str) -> None:
    for rule, times in ((ONE, 1), (THREE, 3)):
        told = (rest, ()) if often == times else (said, (OTHERWISE,))
        assert signs.uncounted(said, rules(rule)) == told
        assert signs.uncounted(said, rules(rule, "ALWAYS NOT load")) == (said, (OTHERWISE,)), "beside another rule"
    assert signs.uncounted(said, rules("ALWAYS NOT load")) == (said, ())


def test_how_often_is_said_once() -> None:
    said = "Load a car at most once, {}."
    assert signs.uncounted(said.format("once"), rules(ONE)) == (said.format("once"), ("how often is said twice",))
    assert signs.uncounted(f"Once, {said.format('now')}", rules(ONE))[1] == ("how often is said twice",)
    assert signs.uncounted("Twelve, load a car at most once.", rules(ONE)) == ("Twelve, load a car .", ())


TICKETS = (act("load", "load_car", "call.ticket_id"), act("check", "check_ticket", "call.ticket_id"))
DECKS = (act("load", "load_car", "call.deck"),)
BARE = (P["load"], P["check"], P["crew"])
NOT_SAID = ("of which object is not said, and its rule is of the same one",)
OF_ANY = ("of which object is said, and its rule is of any",)
BEFORE, OFTEN = "ALWAYS (load(t) IMPLIES ONCE check(t))", "ALWAYS (load(t) IMPLIES COUNT[<= 1] load(t))"
AT_ALL = "ALWAYS (load IMPLIES ONCE check)", "ALWAYS (load IMPLIES COUNT[<= 1] load)"


@pytest.mark.parametrize(
    ("said", "before", "often", "deck", "at_all"),
    [
        ("Check the ticket before loading.", (), NOT_SAID, NOT_SAID, ()),
        ("Check it before loading.", NOT_SAID, NOT_SAID, NOT_SAID, ()),
        ("Load each ticket at most once.", (), (), NOT_SAID, OF_ANY),
        ("Load per ticket.", (), (), NOT_SAID, OF_ANY),
        ("A ticket may be loaded once.", (), (), NOT_SAID, ()),
        ("The ticket may be loaded once.", (), NOT_SAID, NOT_SAID, ()),
        ("One deck.", NOT_SAID, NOT_SAID, (), ()),
        ("A single deck.", NOT_SAID, NOT_SAID, (), OF_ANY),
        ("Per item.", NOT_SAID, NOT_SAID, NOT_SAID, ()),
        ("Each of it.", NOT_SAID, NOT_SAID, NOT_SAID, ()),
        ("Every ticket, an item.", (), (), NOT_SAID, OF_ANY),
    ],
)
def test_of_which_one_is_said_where_a_rule_is_of_the_same_one(
    said: str, before: tuple, often: tuple, deck: tuple, at_all: tuple
) -> None:
    assert signs.same(said, rules(BEFORE), TICKETS, BOX) == before
    assert signs.same(said, rules(OFTEN), TICKETS, BOX) == often
    assert signs.same(said, rules(OFTEN), DECKS, BOX) == deck
    for form in AT_ALL:
        assert signs.same(said, rules(form), BARE, BOX) == at_all
        assert signs.same(said, rules("ALWAYS (load IMPLIES crew)", form), BARE, BOX) == at_all, "the second rule"
    assert signs.same(said, rules("ALWAYS (load IMPLIES crew)", "ALWAYS (crew IMPLIES ONCE crew)"), BARE, BOX) == ()
    other = "ALWAYS (load(t) IMPLIES ONCE check(u))"
    told = (f"no sentence is read into this form, a person may write it: {other}",)
    assert signs.same(said, rules(other), TICKETS, BOX) == told
    mixed = "ALWAYS (load(t) IMPLIES ONCE check)"
    assert signs.same(said, rules(mixed), (TICKETS[0], P["check"]), BOX) == (told[0].replace(other, mixed),)
    pair = [replace(one, objects=(*one.objects, cel.parse("call.deck"))) for one in TICKETS]
    both = "ALWAYS (load(t, u) IMPLIES ONCE check(t, u))"
    assert signs.same(said, rules(both), pair, BOX) == (told[0].replace(other, both),)


NAMED = [
    Predicate("least_at_least_3", "state", ""),
    Predicate("most_at_most_3", "state", ""),
    Predicate("done_at_least_3", "action", ""),
    fact("read_at_least_3", "state.crew"),
    P["load"],
    P["crew"],
]


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        ("Load at least 3 cars.", ("most", "NOT least", "NOT most")),
        ("Load at most 3 cars.", ("least", "NOT least", "NOT most")),
        ("Do not load at least 3 cars.", ("least", "most", "NOT most")),
        ("Do not load over 3 cars.", ("least", "NOT least", "NOT most")),
        ("Load over 3 cars.", ("least", "most", "NOT least")),
        ("Load 3 cars.", ()),
        ("Load at least 4 cars.", ()),
        ("Load at least 3, at most 3 cars.", ()),
        ("Not only load at most 3 cars.", ()),
    ],
)
def test_a_limit_in_a_name_is_the_one_that_is_said(said: str, wrong: tuple[str, ...]) -> None:
    full = {"least": "least_at_least_3", "most": "most_at_most_3"}
    for form in ("least", "most", "NOT least", "NOT most"):
        sign, _, word = form.rpartition(" ")
        made = f"{sign} {full[word]}".strip()
        names = [full[word]] if form in wrong else []
        for body in (made, f"crew AND ({made})", f"crew OR ONCE ({made})"):
            if sign != "NOT" or "ONCE" not in body:
                assert list(signs.misnamed(said, rules(asked(body)), NAMED)) == names, body
        assert list(signs.misnamed(said, rules("EVENTUALLY load", asked(made)), NAMED)) == names, "the second rule"
        told = f"{signs.NOT_THE_LIMIT}: {full[word]}"
        assert (told in accounting.turned(said, (), rules(asked(made)), NAMED, BOX)) is bool(names)
        for held in (f"{said[:-1]} if asked.", f"{said[:-1]} unless asked."):
            assert told not in accounting.turned(held, (), rules(asked(made)), NAMED, BOX), "what is said is supposed"
    for body in (full["least"], full["most"]):
        assert not list(signs.misnamed(said, rules(f"ALWAYS (NOT load IMPLIES {body})"), NAMED)), "of no act"
        assert not list(signs.misnamed(said, rules(asked(f"HISTORICALLY {body}")), NAMED)), "another form"
    assert not list(signs.misnamed(said, rules(asked("done_at_least_3 AND read_at_least_3")), NAMED)), "no name tells"


def test_another_number_another_rule_and_another_predicate_tell_nothing() -> None:
    assert signs.compared("at most five", 3) == set() != signs.compared("at most five", 5)
    one = rules(asked("crew OR adult"))
    assert signs.shape("Load a car.", one, [P["crew"], P["adult"], P["fit"]]) == (), "a field of no part of the rule"
    assert signs.shape("Load a car.", rules(asked("crew OR fit")), [P["crew"], P["fit"]]) != ()
    assert signs.signed("Load a car.", rules(asked("stranger")), tuple(P.values()), frozenset()) == ()
    assert signs.same("Check the ticket before loading.", rules(AT_ALL[0]), TICKETS, BOX) == (), "of any, as it is said"


@pytest.mark.parametrize("count", range(4))
def test_each_negation_turns_what_is_said_once_more(count: int) -> None:
    """The law of double negation, for a truth, a limit, a limit in a name, a side and an order."""
    never, odd = "never " * count, bool(count % 2)
    every = tuple(P.values())

    def signed(said: str, form: str) -> tuple[str, ...]:
        return signs.signed(said, rules(asked(form)), every, frozenset())

    denied = (
        f"{'denies something' if odd else 'takes a denial back'} (negations: {count})" if count else "denies nothing"
    )
    told = (f"the sentence {denied}, but its rule wants crew {'to' if odd else 'not to'} hold",)
    joined = (("crew AND heavy", odd), ("NOT crew AND NOT heavy", not count))
    for form, turned in (("crew", odd), ("NOT crew", not odd), *joined):
        assert signed(f"You {never}load a car of the crew.", form) == (told if turned else ())
    limit = (f"{signs.NOT_THE_LIMIT}: 3000",)
    for form, turned in (("heavy", odd), ("light", not odd), ("NOT light", odd), ("NOT heavy", not odd)):
        assert signed(f"You {never}load a car over 3000 kg.", form) == (limit if turned else ())
    for name, turned in (("least_at_least_3", odd), ("NOT least_at_least_3", True)):
        found = list(signs.misnamed(f"You {never}load at least 3 cars.", rules(asked(name)), NAMED))
        assert bool(found) is (turned if name[0] == "l" else not odd)
    side = f"You {never}load a car in winter unless it is the crew's."
    for form, turned in (("crew OR winter", odd), ("crew OR NOT winter", not odd)):
        assert bool(signs.sides(side, rules(asked(form)), every, BOX)) is turned
    side = f"You {never}load a car over 3000 kg unless it is the crew's."
    for form, turned in (("crew OR heavy", odd), ("crew OR light", not odd)):
        assert bool(signs.sides(side, rules(asked(form)), every, BOX)) is turned
    said = f"You {never}load the car before checking the ticket."
    for act, what, turned in (("load", "ONCE check", not odd), ("check", "ONCE load", odd)):
        assert bool(signs.order(said, rules(asked(what, act)), every, BOX)) is turned


CHECKED, UNSOLD = "EVENTUALLY check", "ALWAYS NOT sell"
TWO = "You must check the ticket, and you must not sell a ticket."


@pytest.mark.parametrize(
    ("said", "texts", "why"),
    [
        (TWO, (CHECKED, UNSOLD), ()),
        (TWO, (UNSOLD, CHECKED), ()),
        (TWO, (CHECKED,), ("not accounted for: 'sell'",)),
        (TWO, (), ("not accounted for: 'check', 'ticket', 'sell'",)),
        (
            TWO,
            ("EVENTUALLY sell", "ALWAYS NOT check"),
            ("it asks for an act, and its rule forbids one", "it forbids, and its rule asks for an act"),
        ),
        (TWO, (CHECKED, UNSOLD, "ALWAYS NOT load"), ("not said by the sentence, but meant by its rule: load_car",)),
        (
            TWO,
            ("EVENTUALLY sell", *["ALWAYS NOT check"] * 6),
            ("its rules could not be divided between its two demands",),
        ),
        ("You may check the ticket, but must not sell a ticket.", (UNSOLD,), ()),
        (
            "You may check the ticket, but must not sell a ticket.",
            ("EVENTUALLY sell",),
            ("it forbids, and its rule asks for an act",),
        ),
        ("You must check the ticket, and you must sell it.", (CHECKED, "EVENTUALLY sell"), ()),
        ("You must check a ticket.", (CHECKED,), ()),
        ("You must check a ticket.", ("ALWAYS NOT check",), ("it asks for an act, and its rule forbids one",)),
        ("You must not check a ticket.", (CHECKED,), ("it forbids, and its rule asks for an act",)),
        ("You must not check a ticket.", ("ALWAYS " + CHECKED,), ("it forbids, and its rule asks for an act",)),
        ("You must not check a ticket.", ("NOT " + CHECKED,), ()),
    ],
)
def test_each_demand_is_met_by_rules_of_its_own(said: str, texts: tuple[str, ...], why: tuple[str, ...]) -> None:
    assert accounting.unaccounted(said, (), rules(*texts), tuple(P.values()), BOX) == why


def test_what_stands_above_may_forbid() -> None:
    def left(text: str, context: tuple[str, ...], headings: tuple[str, ...]) -> tuple[str, ...]:
        of = rules("ALWAYS NOT check")
        return accounting.unaccounted(text, context, of, tuple(P.values()), BOX, headings=headings)

    assert left("check a ticket;", ("You must never:",), ()) == ()
    assert left("Check a ticket.", (), ("Prohibited",)) == ()
    assert left("check a ticket;", ("You must:",), ()) == ("it asks for an act, and its rule forbids one",)


@pytest.mark.parametrize(
    ("said", "form", "right"),
    [
        ("A car of more than 150 kg must not be loaded.", "car_at_most_150", True),
        ("A car of at least 150 kg must not be loaded.", "car_at_most_150", False),
        ("A car of more than 150 kg must be loaded.", "car_at_most_150", False),
        ("A car of more than 150 kg must be loaded.", "NOT car_at_most_150", True),
        ("A car of less than 150 kg must not be loaded.", "car_at_least_150", True),
        ("A car of less than 150 kg must not be loaded.", "NOT car_at_least_150", False),
        ("A car of 150 kg must not be loaded.", "car_at_most_150", False),
    ],
)
def test_a_limit_in_the_name_of_a_fact_without_a_field_is_compared_as_a_limit(
    said: str, form: str, right: bool
) -> None:
    named = [Predicate(name, "state", name) for name in ("car_at_most_150", "car_at_least_150")]
    told = signs.signed(said, rules(asked(form)), [*P.values(), *named], frozenset())
    assert (told == ()) is right, told
