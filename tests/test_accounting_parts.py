"""What accounting counts, part by part: forms, words, numbers, units, signs; each with what it must not count."""

from __future__ import annotations

import json

import pytest

from wb.domain import tools
from wb.logic import cel
from wb.logic.syntax import parse
from wb.rules import accounting, called, negations, operators, shapes, signs
from wb.rules.rule import Predicate, Rule

TEXT, NUMBER = {"type": "string"}, {"type": "integer"}


def tool(name: str, description: str = "", keywords: tuple[str, ...] = (), **arguments: dict) -> dict:
    properties = {"type": "object", "properties": arguments}
    return {"name": name, "description": description, "keywords": list(keywords), "parameters": properties}


BOX = tools.parse(
    json.dumps(
        {
            "tools": [
                tool(
                    "lend_book",
                    "Lend a book to a reader, for some days.",
                    ("borrow",),
                    days=NUMBER | {"description": "how many days"},
                    weeks_more=NUMBER | {"description": "days to add"},
                    note=TEXT | {"description": "in days"},
                    desk=TEXT | {"enum": ["front", "back"]},
                ),
                tool("lend_book_abroad", "Lend a book abroad."),
                tool("pay", "Pay a fine.", (), amount=NUMBER | {"description": "in dollars"}, reason=TEXT),
                tool("openVault"),
            ],
            "state": [
                {"name": "age", "type": "integer", "description": "age of the reader"},
                {"name": "book_age", "type": "integer", "description": "age of the book"},
                {"name": "resident", "type": "boolean"},
                {"name": "resident_card", "type": "boolean"},
                {"name": "level", "type": "string", "enum": ["gold", "tin"]},
                {"name": "weight", "type": "integer", "description": "in kg"},
            ],
        }
    )
)
ACTS = {name: Predicate(name.lower(), "action", "", tools=(name,)) for name in ("lend_book", "pay", "openVault")}


def fact(name: str, test: str, *of: str) -> Predicate:
    return Predicate(name, "state", "", tools=of, test=cel.parse(test))


FACTS = {
    one.name: one
    for one in (
        fact("adult", "state.age >= 18"),
        fact("young", "!(state.age >= 18)"),
        fact("old", "state.book_age > 50"),
        fact("resident", "state.resident"),
        fact("stranger", "state.resident == false"),
        fact("citizen", "state.resident == true"),
        fact("gold", 'state.level == "gold"'),
        fact("plain", 'state.level != "gold"'),
        fact("listed", 'state.level in ["gold", "tin"]'),
        fact("short", "call.days <= 14", "lend_book"),
        fact("longer", "call.days > 14", "lend_book"),
        fact("small", "call.amount < 5", "pay"),
        fact("given", 'call.reason != ""', "pay"),
        fact("heavy", "state.weight > 3"),
        fact("both", "state.resident && state.age >= 18"),
        fact("either", "state.resident || state.age >= 18"),
        fact("twice", "state.age >= 18 || state.age < 3"),
        fact("range", "state.age >= 18 && state.age < 65"),
        fact("crossed", "state.age > state.book_age"),
        fact("deep", "state.level.name == 1"),
    )
}


def used(*names: str) -> list[Predicate]:
    return [FACTS.get(name) or ACTS[name] for name in names]


def rules(*texts: str) -> list[Rule]:
    return [Rule(f"r{i}", "", parse(text), "forbid") for i, text in enumerate(texts)]


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        ("ALWAYS (pay IMPLIES adult)", True),
        ("ALWAYS (pay IMPLIES ONCE lend_book)", True),
        ("ALWAYS (pay IMPLIES EVENTUALLY lend_book)", True),
        ("ALWAYS EVENTUALLY pay", True),
        ("EVENTUALLY pay", True),
        ("NOT pay UNTIL adult", True),
        ("NOT pay WEAK_UNTIL adult", True),
        ("ALWAYS NOT (pay AND adult)", True),
        ("ALWAYS (pay OR NOT adult)", True),
        ("ALWAYS (pay IMPLIES (adult AND adult))", False),
        ("pay UNTIL pay", False),
        ("ALWAYS (pay IMPLIES ONCE (lend_book AND adult))", False),
        ("ALWAYS (pay IMPLIES EVENTUALLY ONCE lend_book)", False),
        ("ALWAYS (pay IMPLIES HISTORICALLY adult)", False),
        ("ALWAYS (pay IFF adult)", False),
        ("ALWAYS ALWAYS pay", False),
    ],
)
def test_a_formula_of_another_form_is_foreign(text: str, counted: bool) -> None:
    try:
        found = shapes.foreign(rules(text), ())
    except ValueError:
        pytest.fail(text)
    told = f"no sentence is read into this form, a person may write it: {text}"
    assert bool(found) is not counted and (counted or found[0].startswith(told[:60]))


@pytest.mark.parametrize(
    ("name", "simple"),
    [
        *(
            (name, True)
            for name in ("adult", "young", "resident", "stranger", "gold", "listed", "both", "either", "range", "deep")
        ),
        *((name, False) for name in ("twice", "crossed")),
    ],
)
def test_a_test_of_another_form_is_foreign(name: str, simple: bool) -> None:
    assert bool(shapes.foreign((), [FACTS[name], ACTS["pay"]])) is not simple
    assert shapes.wider([FACTS[name], ACTS["pay"]]) is (name == "crossed")


@pytest.mark.parametrize(
    ("opening", "items", "why"),
    [
        ("Do not pay:", ["a, or", "b"], ""),
        ("Do not pay if:", ["a, or", "b"], ""),
        ("Do not pay if:", ["a, and", "b"], "'and'"),
        ("Do not pay:", ["a, and", "b"], ""),
        ("Pay only if:", ["a, and", "b"], ""),
        ("Pay only if:", ["a; or", "b"], "'or'"),
        ("Do not pay unless:", ["a OR", "b"], "'or'"),
        ("Do not pay unless:", ["a;", "b."], ""),
        ("Pay:", ["a or", "b and", "c"], "'or'"),
    ],
)
def test_items_of_a_list_are_joined_as_its_opening_asks(opening: str, items: list[str], why: str) -> None:
    told = operators.together(opening, items)
    assert told == (f"its list has to be read as one: its items are joined by {why}" if why else "")


@pytest.mark.parametrize(
    ("text", "past", "narrow"),
    [
        ("ALWAYS (pay IMPLIES ONCE adult)", True, False),
        ("ALWAYS (pay IMPLIES (adult SINCE lend_book))", True, False),
        ("ALWAYS (pay IMPLIES ONCE lend_book)", False, False),
        ("ALWAYS (pay IMPLIES adult)", False, False),
        ("EVENTUALLY pay", False, False),
        ("EVENTUALLY (pay AND adult)", False, True),
    ],
)
def test_what_was_so_once_and_how_a_duty_is_done(text: str, past: bool, narrow: bool) -> None:
    assert shapes.past(rules(text), used("pay", "lend_book", "adult")) is past
    assert shapes.narrowed(rules(text)) is narrow


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("Never pay.", ""),
        ("Pay <b> now", "it has markup that was not read"),
        ("Pay a &amp; b", "it has a character that is written as an entity"),
        ("Pay --> now", "it has markup that was not read"),
        ("Pay ~~not~~", "it has text that is struck out, raised or lowered"),
        ("Pay 5\u00b2", "it has text that is struck out, raised or lowered"),
        ("Pay\u200bnow", "it has characters that cannot be seen: zero width space"),
        (
            "Pay\u0007\u200b\ufffd",
            "it has characters that cannot be seen: 0x7, replacement character, zero width space",
        ),
        ("Pay \u0378 now", "it has characters that cannot be seen: 0x378"),
        ("Pay \ue000 now", "it has characters that cannot be seen: 0xe000"),
        ("Pay\nnow", ""),
        ("P\u0430y now", "it has letters that look like others: 'P\\u0430y'"),
        ("P\u0251y now", "it has letters that look like others: 'P\\u0251y'"),
        ("Pay na\u00efve caf\u00e9", ""),
        ("\u0434\u0430", ""),
        ("Pay \u1d0f", "it has letters that look like others: '\\u1d0f'"),
    ],
)
def test_what_may_not_be_what_it_looks_like(said: str, why: str) -> None:
    assert operators.characters(said) == ((why,) if why else ())
    if "<b>" in said:
        assert operators.characters(said, whole=False) == ()


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("pay if adult", ""),
        ("pay even if adult", "not accounted for: 'even'"),
        ("pay Even, even and twice", "not accounted for: 'even', 'twice'"),
        ("pay only if adult", ""),
        ("pay if and only if adult", ""),
        ("pay only if adult and when old", "more than one exception or condition: 'only', 'when'"),
        ("pay unless adult, except residents", "more than one exception or condition: 'unless', 'except'"),
    ],
)
def test_operators_that_no_reading_stands_for(said: str, why: str) -> None:
    assert operators._operators(said) == ((why,) if why else ())


@pytest.mark.parametrize(
    ("texts", "fine"),
    [
        (("ALWAYS (pay IMPLIES adult)", "ALWAYS (adult IMPLIES EVENTUALLY pay)"), True),
        (("ALWAYS (adult IMPLIES EVENTUALLY pay)", "ALWAYS (pay IMPLIES adult)"), True),
        (("ALWAYS (pay IMPLIES adult)", "ALWAYS (adult IMPLIES pay)"), False),
        (("ALWAYS (pay IMPLIES adult)",), False),
        (("ALWAYS (pay IMPLIES adult)", "ALWAYS (adult IMPLIES EVENTUALLY pay)", "ALWAYS NOT pay"), False),
    ],
)
def test_if_and_only_if_says_two_things(texts: tuple[str, ...], fine: bool) -> None:
    assert signs.one_way("pay if and only if adult", rules(*texts)) == (
        () if fine else ("not accounted for: 'if and only if'",)
    )
    assert signs.one_way("pay only if adult", rules(*texts)) == ()


@pytest.mark.parametrize(
    ("said", "names", "why"),
    [
        ("at least 18", ("adult",), ()),
        ("at least eighteen", ("adult",), ()),
        ("at least 21", ("adult",), ("not accounted for: 21", "not said by the sentence, but meant by its rule: 18")),
        ("18 or 21 or 30", ("adult",), ("not accounted for: 21", "not accounted for: 30")),
        ("one book at 18", ("adult",), ()),
        ("18 and 1.5", ("adult",), ("not accounted for: 1.5",)),
        ("1,000 at 18", ("adult",), ("not accounted for: 1000",)),
        ("1.000 at 18", ("adult",), ("a number that is not plain digits",)),
        ("at 1,8", ("adult",), ("a number that is not plain digits",)),
        ("gold", ("gold",), ()),
    ],
)
def test_numbers_are_those_of_the_tests(said: str, names: tuple[str, ...], why: tuple[str, ...]) -> None:
    assert called.numbers(said, used(*names)) == why


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("adult", ["age"]),
        ("short", ["days"]),
        ("both", ["resident", "age"]),
        ("lend_book", []),
        ("given", ["reason"]),
    ],
)
def test_the_fields_that_a_test_reads(name: str, read: list[str]) -> None:
    assert [one.name for one in called.fields(used(name)[0], BOX)] == read
    anywhere = fact("note", 'call.note != ""')
    assert [one.name for one in called.fields(anywhere, BOX)] == ["note"]
    assert called.fields(fact("other", "call.days > 1", "pay"), BOX) == ()


@pytest.mark.parametrize(
    ("text", "stems"),
    [
        ("openVault", {"open", "vault"}),
        ("lend_book", {"lend", "book"}),
        ("an e-mail", {"an", "email"}),
        ("the reader's", {"the", "reader"}),
        ("readers' cards", {"reader", "card"}),
        ("the reader’s", {"the", "reader"}),
        ("well-known", {"well-known", "well", "known"}),
        ("A1b", {"a", "b"}),
    ],
)
def test_the_stems_of_a_text(text: str, stems: set[str]) -> None:
    assert called.stems(text) == {called.stem(one) for one in stems}


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("do not lend a book", ()),
        ("do not lend a rare, rare book", ("not accounted for: 'rare'",)),
        ("you mustn't lend old books to readers", ("not accounted for: 'old', 'readers'",)),
        ("lend the book's book-lend", ()),
        ("lend book-rare", ("not accounted for: 'book-rare'",)),
    ],
)
def test_words_that_nothing_carries_are_left(said: str, why: tuple[str, ...]) -> None:
    assert called.unspent(said, called.stems("lend book")) == why


def test_what_tools_and_fields_are_called_by_carries_words() -> None:
    found = called.carried(used("lend_book", "gold", "given"), BOX)
    assert found >= called.stems("lend book borrow level gold reason given provides")
    assert not found & called.stems("days abroad desk reader")
    assert not called.carried(used("gold"), BOX) & called.stems("given")
    missing = Predicate("x", "action", "", tools=("gone",))
    assert called.carried([missing], BOX) == frozenset()


@pytest.mark.parametrize(
    ("said", "names", "headings", "why"),
    [
        ("lend a book", ("lend_book",), (), ""),
        ("borrow it", ("lend_book",), (), ""),
        ("lend it", ("lend_book",), (), "lend_book"),
        ("lend it", ("lend_book",), ("Books",), ""),
        ("it", ("lend_book",), ("Lend", "Books"), ""),
        ("it", ("lend_book",), ("Lend a book", "Other"), "lend_book"),
        ("it", ("lend_book", "pay"), (), "lend_book, pay"),
        ("pay with gold", ("pay", "gold"), (), ""),
        ("pay at a level", ("pay", "gold"), (), ""),
        ("pay", ("pay", "gold"), (), "level"),
        ("pay if resident", ("pay", "resident"), (), ""),
        ("pay", ("pay", "resident", "resident"), (), "resident"),
        ("open the vault", ("openVault",), (), ""),
    ],
)
def test_what_the_rules_mean_is_said(said: str, names: tuple[str, ...], headings: tuple[str, ...], why: str) -> None:
    found = called.not_said(said, used(*names), BOX, headings)
    assert found == ((f"not said by the sentence, but meant by its rule: {why}",) if why else ())


@pytest.mark.parametrize(
    ("said", "names", "why"),
    [
        ("lend a book", ("lend_book",), "lend_book_abroad"),
        ("pay", ("pay",), ""),
        ("pay a resident", ("pay", "resident"), ""),
        ("pay a resident with a card", ("pay", "resident"), "resident_card"),
        ("pay with gold if resident", ("pay", "resident"), ""),
        ("pay with gold at a level", ("pay", "gold"), ""),
    ],
)
def test_what_else_may_be_meant_is_said(said: str, names: tuple[str, ...], why: str) -> None:
    found = called.others(said, used(*names), BOX)
    assert found == ((f"it may as well mean {why}",) if why else ())


@pytest.mark.parametrize(
    ("said", "names", "why"),
    [
        ("at most 14 days", ("short",), "it may as well mean weeks_more, which is in such a unit too"),
        ("at most 14 weeks", ("short",), "days is in day, the sentence in week"),
        ("at most 14", ("short",), ""),
        ("below 5 dollars", ("small",), ""),
        ("below 5 euros", ("small",), "amount is in dollars, the sentence in euros"),
        ("below $5", ("small",), ""),
        ("over 3 kg", ("heavy",), ""),
        ("over 3 g", ("heavy",), "weight is in kg, the sentence in g"),
        ("over 3 mb", ("heavy",), "weight is in kg, the sentence in mb"),
        ("over 3 mb or 3 kg", ("heavy",), ""),
        ("over 3", ("heavy",), ""),
        ("gold for 3 days", ("gold",), ""),
        ("at least 18 years", ("adult",), ""),
    ],
)
def test_units_are_those_of_the_fields(said: str, names: tuple[str, ...], why: str) -> None:
    assert called.units(said, used(*names), BOX) == ((why,) if why else ())


@pytest.mark.parametrize(
    ("said", "names", "why"),
    [
        ("a person older than 50", ("old",), "it tells the age of a person: book_age may be that of a thing"),
        ("a book older than 50", ("old",), ""),
        ("a person older than 18", ("adult",), ""),
        ("a person older than 18", ("resident",), ""),
        ("a person older than 50", ("heavy",), ""),
    ],
)
def test_the_age_of_a_person_is_not_that_of_a_thing(said: str, names: tuple[str, ...], why: str) -> None:
    assert called.aged(said, used(*names), BOX) == ((why,) if why else ())


def test_a_keyword_of_small_words_alone_names_no_tool() -> None:
    (named,) = tools.parse(json.dumps([tool("pay", "Pay.", ("of the",))])).tools
    assert called._names(named, BOX, frozenset()) and all(called._names(named, BOX, frozenset()))


ONE, TWO = "ALWAYS (pay IMPLIES adult)", "ALWAYS (pay IMPLIES (adult OR resident))"


@pytest.mark.parametrize(
    ("said", "texts", "names", "why"),
    [
        ("pay if adult", (ONE,), ("pay", "adult"), ""),
        (
            "pay if adult or resident",
            (TWO,),
            ("pay", "adult"),
            "'or' beside a rule that several facts must break together",
        ),
        (
            "pay if adult and resident",
            (TWO,),
            ("pay", "adult"),
            "'and' beside a rule that several facts must break together",
        ),
        ("pay if adult and is resident", (TWO,), ("pay", "adult"), ""),
        ("pay if adult or resident", (ONE,), ("pay", "adult"), ""),
        ("pay 18 or more if adult", (TWO,), ("pay", "adult"), ""),
        ("pay if adult or resident and old", (ONE,), ("pay", "adult"), "'or' and 'and' in one sentence"),
        (
            "pay old adult",
            (ONE, "ALWAYS (pay IMPLIES resident)"),
            ("pay", "adult"),
            "two rules about one act, and nothing in the sentence that joins two demands",
        ),
        ("pay old, adult", (ONE, "ALWAYS (pay IMPLIES resident)"), ("pay", "adult"), ""),
        ("only pay old adult", (ONE, "ALWAYS (pay IMPLIES resident)"), ("pay", "adult"), ""),
        ("pay old adult", (ONE, "ALWAYS (openvault IMPLIES adult)"), ("pay", "openVault", "adult"), ""),
        (
            "pay adult",
            ("ALWAYS (pay IMPLIES (adult OR young))",),
            ("pay", "adult", "young"),
            "one field stands for two things of the sentence",
        ),
        ("pay adult", (TWO,), ("pay", "adult", "resident"), ""),
        ("do not pay only adults", (ONE,), ("pay", "adult"), "'only' under a negation"),
        ("pay if older than him", (ONE,), ("pay", "adult"), "a comparison without a number"),
        ("pay if older than 18", (ONE,), ("pay", "adult"), ""),
        ("you may pay without a card", (ONE,), ("pay", "adult"), "a permission 'without' something"),
        ("pay without a card", (ONE,), ("pay", "adult"), ""),
        (
            "you may pay old adults",
            (TWO,),
            ("pay", "adult", "resident"),
            "a permission with two limits: one of them may only say when the other one holds",
        ),
        ("you may pay adults", (ONE,), ("pay", "adult"), ""),
    ],
)
def test_the_shape_of_a_sentence_is_that_of_its_rules(said: str, texts: tuple, names: tuple, why: str) -> None:
    assert signs.shape(said, rules(*texts), used(*names)) == ((why,) if why else ())


@pytest.mark.parametrize(
    ("text", "several"),
    [
        ("ALWAYS (pay IMPLIES adult)", False),
        ("ALWAYS (pay IMPLIES (adult AND resident))", False),
        ("ALWAYS (pay IMPLIES (adult OR resident))", True),
        ("ALWAYS (pay IMPLIES (adult IMPLIES resident))", True),
        ("ALWAYS (pay IMPLIES NOT (adult AND resident))", True),
        ("ALWAYS (pay IMPLIES NOT adult)", False),
        ("ALWAYS (pay IMPLIES ONCE (adult OR resident))", True),
        ("ALWAYS ((pay AND adult) IMPLIES resident)", True),
        ("ALWAYS NOT (pay AND adult)", True),
        ("ALWAYS NOT pay", False),
        ("EVENTUALLY pay", False),
    ],
)
def test_whether_several_facts_must_break_a_rule_together(text: str, several: bool) -> None:
    assert shapes.disjunctive(parse(text)) is several


def no(wanted: str, count: int = 1) -> str:
    denied = "denies something (negations: 1)" if count else "denies nothing"
    return f"the sentence {denied}, but its rule wants {wanted}"


@pytest.mark.parametrize(
    ("said", "text", "names", "why"),
    [
        ("pay if resident", "ALWAYS (pay IMPLIES resident)", ("resident",), ()),
        ("do not pay if resident", "ALWAYS (pay IMPLIES resident)", ("resident",), (no("resident to hold"),)),
        ("do not pay if resident", "ALWAYS (pay IMPLIES NOT resident)", ("resident",), ()),
        ("pay if resident", "ALWAYS (pay IMPLIES NOT resident)", ("resident",), (no("resident not to hold", 0),)),
        ("never pay unless resident", "ALWAYS (pay IMPLIES resident)", ("resident",), ()),
        ("do not pay if resident", "ALWAYS (pay IMPLIES stranger)", ("stranger",), ()),
        ("pay if resident", "ALWAYS (pay IMPLIES stranger)", ("stranger",), (no("stranger to hold", 0),)),
        ("pay if resident", "ALWAYS (pay IMPLIES citizen)", ("citizen",), ()),
        ("pay with gold", "ALWAYS (pay IMPLIES gold)", ("gold",), ()),
        ("pay with gold", "ALWAYS (pay IMPLIES plain)", ("plain",), (no("plain to hold", 0),)),
        ("do not pay with gold", "ALWAYS (pay IMPLIES plain)", ("plain",), ()),
        ("pay with gold", "ALWAYS (pay IMPLIES NOT listed)", ("listed",), (no("listed not to hold", 0),)),
        ("pay only if resident", "ALWAYS (pay IMPLIES ONCE lend_book)", ("lend_book",), ()),
        ("do not pay before lending", "ALWAYS (pay IMPLIES ONCE lend_book)", ("lend_book",), ()),
        ("do not pay if a reason is given", "ALWAYS (pay IMPLIES given)", ("given",), (no("given to hold"),)),
        ("pay if a reason is given", "ALWAYS (pay IMPLIES given)", ("given",), ()),
        ("pay at least 18", "ALWAYS (pay IMPLIES adult)", ("adult",), ()),
        ("pay at most 18", "ALWAYS (pay IMPLIES adult)", ("adult",), ("not the limit that is said: 18",)),
        ("do not pay under 18", "ALWAYS (pay IMPLIES adult)", ("adult",), ()),
        ("do not pay over 18", "ALWAYS (pay IMPLIES adult)", ("adult",), ("not the limit that is said: 18",)),
        ("pay under 18", "ALWAYS (pay IMPLIES young)", ("young",), ()),
        ("pay at eighteen or older", "ALWAYS (pay IMPLIES young)", ("young",), ("not the limit that is said: 18",)),
        ("pay 18", "ALWAYS (pay IMPLIES young)", ("young",), ("not the limit that is said: 18",)),
        (
            "do not pay if resident and adult",
            "ALWAYS (pay IMPLIES (NOT resident AND citizen))",
            ("resident", "citizen"),
            (no("citizen to hold"),),
        ),
        ("pay if resident and adult", "ALWAYS (pay IMPLIES (NOT resident AND citizen))", ("resident", "citizen"), ()),
        ("do not pay unresident", "ALWAYS (pay IMPLIES resident)", ("resident",), (negations.UNTOLD,)),
        ("not only pay if resident", "ALWAYS (pay IMPLIES NOT resident)", ("resident",), (negations.UNTOLD,)),
        ("pay, and do not pay if resident", "ALWAYS (pay IMPLIES resident)", ("resident",), (negations.UNTOLD,)),
    ],
)
def test_facts_have_the_signs_that_the_negations_give_them(said: str, text: str, names: tuple, why: tuple) -> None:
    predicates = used("pay", *names)
    carried = called.carried(predicates, BOX)
    assert signs.signed(said, rules(text), predicates, carried) == why


@pytest.mark.parametrize(
    ("said", "count"),
    [
        ("pay", 0),
        ("do not pay", 1),
        ("never pay nobody", 2),
        ("pay before noon", 0),
        ("do not pay before noon", 2),
        ("not only pay", None),
        ("unresident", None),
        ("unread", 0),
        ("pay and do not lend", None),
        ("no more than 5", 0),
    ],
)
def test_negations_are_counted_where_they_can_be_told(said: str, count: int | None) -> None:
    assert negations.counted(said, called.stems("resident")) == count


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("over 5", {">"}),
        ("under 5", {"<"}),
        ("at least 5", {">="}),
        ("no less than 5", {">="}),
        ("at most five", {"<="}),
        ("no more than 5", {"<="}),
        ("5 or more", {">="}),
        ("5 years or younger", {"<="}),
        ("over 5, under 5", {">", "<"}),
        ("exactly 5", set()),
        ("over 6", set()),
        ("over $5", {">"}),
    ],
)
def test_how_a_sentence_compares_a_number(said: str, found: set[str]) -> None:
    assert signs.compared(said, 5) == found


def test_what_a_text_forbids_by_is_said_once() -> None:
    assert operators.bans("Never pay; never lend, only read.", "No.") == "never, only, no"
    assert operators.bans("Pay.") == ""


@pytest.mark.parametrize(
    ("text", "context", "why"),
    [
        ("Pay now.", (), ""),
        ("Is it paid?", (), "it is a question"),
        ("Pay if", (), "it does not end here: its last word is 'if'"),
        ("a letter, and", (), "it does not end here: its last word is 'and'"),
        ("a letter, and", ("Never send:",), ""),
        ("a letter to", ("Never send:",), "it does not end here: its last word is 'to'"),
        ("Pay even so.", (), "not accounted for: 'even'"),
        ("Pay so.", ("Even if:",), "not accounted for: 'even'"),
        ("Please remember to pay.", (), ""),
        ("Pay <b>.", (), "it has markup that was not read"),
    ],
)
def test_what_no_rules_would_account_for(text: str, context: tuple[str, ...], why: str) -> None:
    assert operators.unreadable(text, context) == ((why,) if why else ())


FORMS = (
    "ALWAYS ({a} IMPLIES {x})",
    "ALWAYS (NOT {a} OR {x})",
    "ALWAYS ({x} OR NOT {a})",
    "ALWAYS NOT ({a} AND NOT {x})",
    "ALWAYS NOT (NOT {x} AND {a})",
    "NOT EVENTUALLY ({a} AND NOT {x})",
    "NOT EVENTUALLY NOT ({a} IMPLIES {x})",
    "ALWAYS (NOT {x} IMPLIES NOT {a})",
    "ALWAYS (({a} AND NOT {x}) IMPLIES false)",
    "ALWAYS ({a} IMPLIES NOT NOT {x})",
)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("said", "act", "name", "right"),
    [
        ("Only a resident may pay.", "pay", "resident", True),
        ("Do not pay unless resident.", "pay", "resident", True),
        ("A resident must not pay.", "pay", "resident", False),
        ("Do not pay an amount over 5 dollars.", "pay", "small", True),
        ("You must not pay an amount of less than 5 dollars.", "pay", "small", False),
    ],
)
def test_in_whichever_form_a_rule_is_said_its_turned_twin_is_refused(
    said: str, act: str, name: str, right: bool, form: str
) -> None:
    facts = (ACTS[act], FACTS[name] if name in FACTS else fact(name, f"state.{name}"))
    if name == "small":
        facts = (ACTS[act], fact("small", "call.amount <= 5", "pay"))

    def left(x: str) -> tuple[str, ...]:
        formula = parse(form.format(a=facts[0].name, x=x))
        one = Rule("r", "", formula, "forbid")
        return accounting.unaccounted(said, (), (one,), facts, BOX)

    mine, turned = (name, f"(NOT {name})") if right else (f"(NOT {name})", name)
    assert left(turned) and (name == "small" or not left(mine))
