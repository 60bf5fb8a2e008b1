"""Readings that have all words of their sentence in a form that says something else: not in force; right ones are."""

from __future__ import annotations

import pytest

from wb.domain import policy
from wb.domain.clauses import clause_of
from wb.domain.tools import Field, Tool, Toolbox
from wb.logic import cel
from wb.logic.syntax import parse
from wb.rules import called, sentences
from wb.rules.rule import Predicate, Rule, RuleSet

BOX = Toolbox(
    (
        Tool(
            "lease_boat",
            "Lease a boat.",
            (
                Field("days", "integer", "for how many days"),
                Field("length", "integer", "length of the boat in metres"),
                Field("price", "number", "price of the boat in euros"),
                Field("kind", "string", "kind of boat", ("canoe", "yacht")),
            ),
        ),
        Tool("check_boat", "Check a boat."),
        Tool("paint_boat", "Paint a boat."),
    ),
    (
        Field("trained", "boolean", "the sailor is trained"),
        Field("leaking", "boolean", "the boat is leaking"),
        Field("barred", "boolean", "the boat is barred"),
        Field("guests", "integer", "number of guests in the harbour"),
    ),
)
USED = {
    **{tool.name: Predicate(tool.name, "action", "", tools=(tool.name,)) for tool in BOX.tools},
    "trained": Predicate("trained", "state", "", test=cel.parse("state.trained")),
    "leaking": Predicate("leaking", "state", "", test=cel.parse("state.leaking")),
}


def fact(name: str, test: str) -> Predicate:
    return Predicate(name, "state", "", tools=("lease_boat",) if "call." in test else (), test=cel.parse(test))


def cls(text: str, *forms: str, **tests: str) -> str:
    """What becomes of the last sentence of a text that was read as these rules; `tests` are those of further facts."""
    source = policy.of_text(text, BOX)
    one = source.sentences[-1]
    known = USED | {name: fact(name, test) for name, test in tests.items()}
    rules = tuple(Rule(f"c.{i}", text, parse(form), "forbid", "action", "c", one.text) for i, form in enumerate(forms))
    used = tuple(known[name] for name in dict.fromkeys(n for rule in rules for n in rule.predicates))
    accounts = sentences.classify(source, [clause_of(one, "c")], RuleSet(used, rules))
    return next(a.cls for a in accounts if a.start == one.start)


FIRST = "A boat must be checked before it is leased."


@pytest.mark.parametrize(
    "text",
    [
        "Before leasing a boat you must check the boat.",
        "Before you lease a boat you need to check the boat.",
        "Before leasing a boat, check the boat.",
        "Only after checking the boat may you lease a boat.",
        "Only once you have checked a boat may you lease a boat.",
        "Not before checking the boat may you lease a boat.",
        "Without checking the boat you must not lease a boat.",
        "Prior to leasing a boat check the boat.",
        "Check the boat, then lease the boat.",
        "Having checked a boat is required to lease a boat.",
        "You must have checked the boat to lease a boat.",
    ],
)
def test_an_order_that_is_turned_round_is_not_in_force_wherever_it_is_said(text: str) -> None:
    for form in ("ALWAYS (check_boat IMPLIES ONCE lease_boat)", "NOT check_boat WEAK_UNTIL lease_boat"):
        assert cls(text, form) == "open", form
    for form in ("check_boat IMPLIES EVENTUALLY lease_boat", "lease_boat IMPLIES EVENTUALLY check_boat"):
        assert cls(text, f"ALWAYS ({form})") == "open", form


@pytest.mark.parametrize(
    "text", ["Before leasing a boat, check the boat.", "Before leasing a boat you must check the boat.", FIRST]
)
def test_an_order_that_is_told_is_read(text: str) -> None:
    assert cls(text, "ALWAYS (lease_boat IMPLIES ONCE check_boat)") == "rule"


@pytest.mark.parametrize(
    ("text", "first", "second", "found"),
    [
        ("Lease a boat only if the price is at most 90 euros and the length is at most 20 metres.", 90, 20, "rule"),
        ("Lease a boat only if the price is at most 90 euros and the length is at most 20 metres.", 20, 90, "open"),
        ("Lease a boat only if the price is at most 90 and the length is at most 20.", 20, 90, "open"),
    ],
)
def test_each_of_two_numbers_is_of_the_field_that_is_named_beside_it(
    text: str, first: int, second: int, found: str
) -> None:
    tests = {"cheap": f"call.price <= {first}", "short": f"call.length <= {second}"}
    assert cls(text, "ALWAYS (lease_boat IMPLIES (cheap AND short))", **tests) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Do not lease a boat at a price over 7 euros.", "rule"),
        ("Do not lease a boat at a price over 7 people.", "open"),
        ("Do not lease a boat at a price under one euro or over 7 euros.", "open"),
    ],
)
def test_a_number_of_people_or_half_of_a_range_is_no_price(text: str, found: str) -> None:
    assert cls(text, "ALWAYS (lease_boat IMPLIES cheap)", cheap="call.price <= 7") == found


@pytest.mark.parametrize(
    ("text", "form", "found"),
    [
        (FIRST, "ALWAYS (lease_boat IMPLIES ONCE check_boat)", "rule"),
        (FIRST, "NOT lease_boat WEAK_UNTIL check_boat", "rule"),
        (FIRST, "NOT check_boat WEAK_UNTIL lease_boat", "open"),
        (FIRST, "NOT check_boat UNTIL lease_boat", "open"),
        (FIRST, "NOT lease_boat UNTIL check_boat", "open"),  # it would also have to be checked some time
        ("Never lease a boat that has not been checked.", "NOT check_boat WEAK_UNTIL lease_boat", "open"),
        ("Lease a boat only if the sailor is trained.", "ALWAYS (lease_boat IMPLIES trained)", "rule"),
        ("Lease a boat only if the sailor is trained.", "NOT lease_boat WEAK_UNTIL trained", "open"),  # once, not now
        ("Do not lease a boat if it is leaking.", "NOT lease_boat WEAK_UNTIL leaking", "open"),
        ("Lease a boat only if the sailor is trained.", "EVENTUALLY (lease_boat IMPLIES trained)", "open"),
        (
            "Leasing a boat requires that the sailor is trained.",
            "ALWAYS (lease_boat IMPLIES EVENTUALLY trained)",
            "open",
        ),
        (
            "Leasing a boat requires a prior check of the boat.",
            "ALWAYS (lease_boat IMPLIES EVENTUALLY check_boat)",
            "open",
        ),
        ("A boat must be trained when it is painted.", "ALWAYS (paint_boat IMPLIES EVENTUALLY trained)", "open"),
        ("When a boat is leaking, check the boat.", "ALWAYS (leaking IMPLIES EVENTUALLY check_boat)", "duty"),
    ],
)
def test_an_order_or_a_duty_in_another_form(text: str, form: str, found: str) -> None:
    assert cls(text, form) == found


REFUSING = Toolbox(
    (Tool("accept_boat", "Accept a boat."), Tool("reject_boat", "Reject a boat.")),
    (Field("leaking", "boolean", "the boat is leaking"),),
)


@pytest.mark.parametrize(
    ("text", "form", "found"),
    [
        ("Reject a boat if it is leaking.", "ALWAYS (reject_boat IMPLIES leaking)", "open"),
        ("Reject a boat that is leaking.", "ALWAYS (reject_boat IMPLIES leaking)", "open"),
        ("Reject a boat if it is leaking.", "ALWAYS (leaking IMPLIES EVENTUALLY reject_boat)", "open"),
        ("Reject a boat only if it is leaking.", "ALWAYS (reject_boat IMPLIES leaking)", "rule"),
        ("Do not reject a boat if it is leaking.", "ALWAYS (reject_boat IMPLIES NOT leaking)", "rule"),
    ],
)
def test_a_duty_to_turn_down_is_not_said_by_when_it_may_be_turned_down(text: str, form: str, found: str) -> None:
    source = policy.of_text(text, REFUSING)
    (one,) = source.sentences
    used = tuple(Predicate(t.name, "action", "", tools=(t.name,)) for t in REFUSING.tools if t.name in form)
    read = (Rule("c.1", text, parse(form), "forbid", "action", "c", text),)
    ruleset = RuleSet((*used, fact("leaking", "state.leaking")), read)
    (account,) = sentences.classify(source, [clause_of(one, "c")], ruleset)
    assert account.cls == found, account.reason
    if found == "open":
        assert account.tools == ("accept_boat", "reject_boat")
        assert not sentences.offered(source, [clause_of(one, "c")], ruleset, [account])


TWO = "Do not lease a boat or paint a boat if it is leaking."


@pytest.mark.parametrize(
    ("second", "found"),
    [
        ("ALWAYS (paint_boat IMPLIES NOT leaking)", "rule"),
        ("EVENTUALLY (paint_boat IMPLIES NOT leaking)", "open"),
        ("EVENTUALLY NOT (paint_boat AND leaking)", "open"),
        ("ALWAYS EVENTUALLY (paint_boat IMPLIES NOT leaking)", "open"),
        ("ALWAYS (paint_boat IMPLIES EVENTUALLY NOT leaking)", "open"),
        ("EVENTUALLY paint_boat", "open"),
    ],
)
def test_one_of_two_bans_that_no_call_can_break(second: str, found: str) -> None:
    assert cls(TWO, "ALWAYS (lease_boat IMPLIES NOT leaking)", second) == found


LENT = "A boat must not be leased for longer than 7 days."


@pytest.mark.parametrize(
    ("text", "test", "found"),
    [
        (LENT, "call.days <= 7", "rule"),
        (LENT, "call.length <= 7", "open"),  # in metres
        ("Lease a boat only if its length is at most 7 metres.", "call.length <= 7", "rule"),
        ("Lease a boat only if its length is at most 7 km.", "call.length <= 7", "open"),
        ('Lease a boat only if its kind is "canoe".', 'call.kind == "canoe"', "rule"),
        ('Lease a boat only if its kind is "canoe".', '"canoe" == call.kind', "open"),  # a field stands first
        ('Lease a boat only if its kind is "canoe".', 'call.kind <= "canoe"', "open"),
        ('Lease a boat only if its kind is "canoe".', 'call.kind < "yacht"', "open"),
        ("Do not lease a boat at a price under 1 euro or over 9 euros.", "call.price <= 9", "open"),
        ("Lease a boat only if the number of guests in the harbour is 80.", "state.guests == 80", "open"),  # or more?
    ],
)
def test_a_limit_of_another_field_in_another_order_or_half_of_it(text: str, test: str, found: str) -> None:
    assert cls(text, "ALWAYS (lease_boat IMPLIES few)", few=test) == found


@pytest.mark.parametrize(
    ("test", "found"),
    [
        ("state.leaking", "open"),
        ("state.leaking == false", "rule"),
        ("!state.leaking", "rule"),
        ("state.leaking in [false]", "open"),
        ("state.leaking in [true, false]", "open"),
        ("state.leaking < true", "open"),
        ("state.leaking <= false", "open"),
    ],
)
def test_a_truth_stands_in_no_order_and_in_no_list(test: str, found: str) -> None:
    assert cls("Do not lease a boat if it is leaking.", "ALWAYS (lease_boat IMPLIES dry)", dry=test) == found


def test_a_number_that_is_reached_is_not_that_number_alone() -> None:
    for said, told in (
        ("once there are 80 guests", True),
        ("if there are 80 guests", True),
        ("if the guests are 80", False),
        ("until 80 guests came", True),
    ):
        for test in ("state.guests != 80", "state.guests == 80", "state.guests in [80]"):
            assert bool(called.reached(said, [fact("few", test)])) is told
        assert not called.reached(said, [fact("few", "state.guests < 80")])


UNDER = "Leasing a boat that is leaking."


@pytest.mark.parametrize(
    "head",
    [
        "## Never",
        "## Don'ts",
        "## Prohibited\n\n### Boats",
        "## Red lines",
        "**Never**",
        "Don'ts",
        "Don'ts:",
        "We refuse",
    ],
)
@pytest.mark.parametrize("form", ["lease_boat IMPLIES leaking", "lease_boat IMPLIES NOT leaking"])
@pytest.mark.parametrize("item", [True, False])
def test_what_stands_under_a_head_that_forbids_is_told_by_no_sign(head: str, form: str, item: bool) -> None:
    assert cls(f"{head}\n\n{'- ' * item}{UNDER}\n", f"ALWAYS ({form})") == "open"


@pytest.mark.parametrize(
    "head", ["## Boats", "## Never", "## We turn away", "We turn away:", "| We turn away |\n|---|"]
)
def test_a_relative_clause_or_a_limit_has_no_force_over_the_act_that_it_is_about(head: str) -> None:
    start, end = ("| ", " |") if head.startswith("|") else ("\n", "")
    for item, test in (
        ("Leasing a boat of more than 9 metres length.", "call.length <= 9"),
        ("Leasing a boat of more than 9 metres length.", "call.length > 9"),
        ("Leasing a boat that is barred.", "state.barred"),
        ("Leasing a boat that is barred.", "!state.barred"),
    ):
        found = cls(f"{head}\n{start}{item}{end}\n", "ALWAYS (lease_boat IMPLIES few)", few=test)
        assert found == "open", (head, item, test)
    whole = "Leasing a boat that is leaking is forbidden."
    assert cls(f"## Boats\n\n{whole}", "ALWAYS (lease_boat IMPLIES NOT leaking)") == "rule"


def test_under_a_head_that_forbids_an_act_alone_is_forbidden_and_a_sentence_of_force_is_read() -> None:
    assert (
        cls("## Limits\n\nA boat must not be leased if it is leaking.", "ALWAYS (lease_boat IMPLIES NOT leaking)")
        == "rule"
    )
    assert (
        cls("## Boats\n\nA boat must not be leased if it is leaking.", "ALWAYS (lease_boat IMPLIES NOT leaking)")
        == "rule"
    )
    ban = cls("## Never\n\n- Leasing a boat.\n", "ALWAYS NOT lease_boat")
    assert ban == cls("## Boats\n\nDo not lease a boat.\n", "ALWAYS NOT lease_boat") == "rule"


def test_a_field_of_some_is_not_named_by_all() -> None:
    box = Toolbox((Tool("admit", "Admit guests."),), (Field("banned_guests", "integer", "banned guests of the group"),))
    admit, few = Predicate("admit", "action", "", tools=("admit",)), fact("few", "state.banned_guests <= 30")
    for said, named in (("No more than 30 banned guests may be admitted.", True), ("No more than 30 guests.", False)):
        assert bool(called.not_said(said, [admit, few], box, ())) is not named
