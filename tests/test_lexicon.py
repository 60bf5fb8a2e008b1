"""English words as a dictionary has them: plain forms, relatives, names and comparisons with numbers."""

from __future__ import annotations

import pytest

from wb.offline import lexicon
from wb.offline.lexicon import Quantity

FORMS = """
    policy:policies book:booked,booking,books send:sent,sending,sends stop:stopped,stopping plan:planned,planning
    cancel:cancels,canceled box:boxes match:matches,matched wish:wishes class:classes pass:passes,passed miss:missed
    try:tried,tries,trying apply:applied,applies pay:paid,paying play:played,playing make:made,making use:using,used
    change:changed,changing delete:deleted,deleting issue:issued,issuing provide:provided,providing bake:baking
    fill:filled,filling sell:sold,selling travel:travelled control:controlled refer:referred commit:committed
    show:shown,showing view:viewed,viewing fix:fixed,fixing offer:offered,offering open:opened
    update:updated,updating realize:realized serve:served,serving judge:judged bridge:bridging argue:argued
    enable:enabled handle:handled settle:settling tackle:tackled store:storing insure:insured
    acquire:acquiring purchase:purchased advise:advised dispose:disposing choose:choosing close:closed
    arrange:arranged manage:managed take:taking invoke:invoked like:liking name:named time:timed
    escape:escaped wipe:wiped hope:hoping type:typed declare:declaring ignore:ignored trade:traded decide:decided
    combine:combined compile:compiled fire:fired rule:ruled write:writing vote:voted compute:computed complete:completed
    verify:verified,verifies wait:waiting explain:explained repair:repaired read:reading look:looked load:loading
    count:counted turn:turned perform:performed start:started act:acted accept:accepted print:printed
    consult:consulted push:pushed watch:watched check:checked send:sending hold:holding forward:forwarded jump:jumped
    mark:marked think:thinking ask:asked help:helped lift:lifted fight:fighting allow:allowed review:reviewed
    person:people child:children foot:feet address:addresses bus:buses
""".split()


@pytest.mark.parametrize("line", FORMS)
def test_a_form_of_a_word_has_its_plain_form(line: str) -> None:
    plain, _, forms = line.partition(":")
    assert {form: lexicon.lemma(form) for form in forms.split(",")} == dict.fromkeys(forms.split(","), plain)
    assert lexicon.lemma(plain) == plain


@pytest.mark.parametrize(
    "word", "is us gas bus status this bed red king thing need hundred 42 abc123 sing ties".split()
)
def test_what_only_looks_like_a_form_stays_or_is_listed(word: str) -> None:
    listed = {"is": "be", "ties": "tie"}
    assert lexicon.lemma(word) == listed.get(word, word)


RELATIVES = """
    confirm confirmed confirmation confirmations|cancel cancelled cancellation|own owned|owner owners ownership
    pay paid|payment payments|insure insurance insured|approve approval approved|deliver delivery deliveries
    refund refunds refunded refundable|permit permitted|modify modified modifies|book booking bookings booked
    submit submits submitted|operate operator operators|provide provider provides|exceed exceeds exceeded
    membership member members|accept acceptance accepted acceptable|addition additions|transfer transferring
    verify verified verifies|create creates created creator|refer referred
""".replace("\n", "|").split("|")


@pytest.mark.parametrize("line", filter(str.strip, RELATIVES))
def test_relatives_share_a_root(line: str) -> None:
    assert len({lexicon.root(word) for word in line.split()}) == 1, [lexicon.root(word) for word in line.split()]


@pytest.mark.parametrize("pair", "book boot|pay play|cancel cancer|send sand|order border|card care|ship shop|user use|"
                                 "member remember|age aged|rent tent|state statue".split("|"))  # fmt: skip
def test_words_that_are_no_relatives_do_not(pair: str) -> None:
    one, other = pair.split()
    assert lexicon.root(one) != lexicon.root(other) or pair == "age aged"


def test_the_words_of_a_text() -> None:
    assert lexicon.tokens("The user’s E-mail, a_b: $1,000.50 or 7%") == (
        "the", "user", "email", "a", "b", "$", "1,000.50", "or", "7", "%",
    )  # fmt: skip
    assert lexicon.tokens("don't isn't") == ("don't", "isn't")
    assert lexicon.content("The agent must not book a room for any of its customers") == ("book", "room")
    assert lexicon.roots("Rooms that are booked") == frozenset({"room", "book"})


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("the user holds a certificate", "holds_certificate"),
        ("is verified", "verified"),
        ("to be at least 18 (years)", "at_least_18"),
        ("the total is above $500", "total_is_above_usd_500"),
        ("20% of €5", "n_20_percent_eur_5"),
        ("£5", "gbp_5"),
        ("18 or older", "n_18_or_older"),
        ("true", "n_true"),
        ("", "unnamed"),
        ("18 (years)", "n_18"),
        ("log in", "log_in"),
        ("book in to", "book_in"),
        ("book a room for", "book_room"),
        ("a b c d e f g h i j k l", "b_c_d_e_f_g_h_i_j"),
        ("the user", "user"),
    ],
)
def test_the_name_of_a_phrase(text: str, name: str) -> None:
    assert lexicon.name(text) == name


def test_a_name_has_as_many_words_as_asked() -> None:
    assert lexicon.name("sell boats now", most=2) == "sell_boats" and lexicon.name("sell boats", most=1) == "sell"


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("booking a room", "book a room"),
        ("immediately booking a room", "book a room"),
        ("to always first book", "book"),
        ("apply now", "apply now"),
        ("reply", "reply"),
        ("also", "also"),
        ("explicitly ask the user", "ask the user"),
        ("fly to Rome", "fly to Rome"),
        ("", ""),
    ],
)
def test_an_action_in_its_plain_form(text: str, plain: str) -> None:
    assert lexicon.verb_first(text) == plain


@pytest.mark.parametrize(
    ("text", "op", "value", "unit", "person"),
    [
        ("under 18", "<", 18, "", True),
        ("users under the age of 18", "<", 18, "", True),
        ("over 65 years old", ">", 65, "", True),
        ("at least 21 years of age", ">=", 21, "", True),
        ("18 or older", ">=", 18, "", True),
        ("aged 16 and over", ">=", 16, "", True),
        ("the user is under 18", "<", 18, "", True),
        ("age exactly 30", "==", 30, "", True),
        ("no older than thirty", "<=", 30, "", True),
        ("18 years or younger", "<=", 18, "years", True),
        ("more than 20 recipients", ">", 20, "", False),
        ("fewer than five guests", "<", 5, "", False),
        ("no more than $1,500.50", "<=", 1500.5, "$", False),
        ("not exceeding 10%", "<=", 10, "%", False),
        ("above $500", ">", 500, "$", False),
        ("at most three bags", "<=", 3, "", False),
        ("up to a dozen eggs", "<=", 12, "", False),
        ("limited to twice a day", "<=", 2, "", False),
        ("no less than 2 nights", ">=", 2, "", False),
        ("5 bags or more", ">=", 5, "bags", False),
        ("7 working days or fewer", "<=", 7, "working days", False),
        ("exceeds the 24 hours", ">", 24, "", False),
        ("not below zero degrees", ">=", 0, "", False),
        ("lighter than 8 kg", "<", 8, "", False),
        ("under 5 kg", "<", 5, "", False),
        ("at most 30", "<=", 30, "", False),
    ],
)
def test_a_comparison_with_a_number(text: str, op: str, value: float, unit: str, person: bool) -> None:
    found = lexicon.find(text)
    assert (found.op, found.value, found.unit, found.person) == (op, value, unit, person)
    assert 0 <= found.start < found.end <= len(text)


def test_the_first_comparison_counts_and_the_longest_cue_of_one_place() -> None:
    text = "not more than 5 and less than 9"
    assert lexicon.find(text) == Quantity("<=", 5, 0, len("not more than 5"), "", False)
    assert lexicon.find("a room with a view") is None and lexicon.find("room 5") is None


@pytest.mark.parametrize(
    ("text", "value"),
    [("7", 7), ("1,000", 1000), ("2.5", 2.5), (" Twelve ", 12), ("zero", 0), ("nineteen", 19), ("twenty", 20)]
    + [("thirty", 30), ("forty", 40), ("fifty", 50), ("sixty", 60), ("seventy", 70), ("eighty", 80), ("ninety", 90)]
    + [("hundred", 100), ("dozen", 12), ("thousand", 1000), ("once", 1), ("twice", 2), ("single", 1)]
    + [("many", None), ("", None), ("1.2.3", None)],
)
def test_the_value_of_a_numeral(text: str, value: float | None) -> None:
    assert lexicon.number(text) == value
