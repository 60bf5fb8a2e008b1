"""The grammar of deontic English: what each form demands, and what demands nothing."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wb.domain.policy import Clause
from wb.domain.tools import Toolbox
from wb.logic.syntax import render
from wb.offline import grounding, lexicon, modality
from wb.offline import norms as deontic
from wb.offline.conditions import Earlier, Either, Every, Negated, Phrase, parse, peel


def formulas(text, *, headings=(), context=()):
    clause = Clause("c", text, 0, len(text), tuple(headings), tuple(context))
    readings = [r for n in deontic.norms(clause) for r in grounding.ground(n, Toolbox()).readings]
    return [render(r.formula) for r in readings]


FORMS = [
    # prohibition
    ("Never open the valve.", ["ALWAYS NOT open_valve"]),
    ("Do not open the valve if the pump is running.", ["ALWAYS (open_valve IMPLIES NOT pump_is_running)"]),
    ("It is forbidden to open the valve.", ["ALWAYS NOT open_valve"]),
    ("Opening the valve is prohibited.", ["ALWAYS NOT open_valve"]),
    ("No valve may be opened without a permit.", ["ALWAYS (open_valve IMPLIES permit)"]),
    ("The operator must not open or close the valve.", ["ALWAYS NOT open_valve", "ALWAYS NOT close_valve"]),
    (
        "Visitors who are not registered cannot enter the plant.",
        ["ALWAYS (enter_plant IMPLIES NOT visitors OR visitors_are_registered)"],
    ),
    (
        "The agent must not share a report that contains names.",
        ["ALWAYS (share_report IMPLIES NOT report_contains_names)"],
    ),
    (
        "The agent must not share a report that the owner has not released.",
        ["ALWAYS (share_report IMPLIES owner_has_released_report)"],
    ),
    ("Under no circumstances may the agent delete logs.", ["ALWAYS NOT delete_logs"]),
    ("The user can add but not remove seats.", ["ALWAYS NOT remove_seats"]),
    ("Do not let users who are not registered enter the plant.", ["ALWAYS (enter_plant IMPLIES registered)"]),
    # exception
    ("Do not open the valve unless the pressure is low.", ["ALWAYS (open_valve IMPLIES pressure_is_low)"]),
    ("Unless the user objects, the agent may store the report.", ["ALWAYS (store_report IMPLIES NOT objects)"]),
    ("Reports may not be sent, except during the audit.", ["ALWAYS (send_reports IMPLIES audit)"]),
    # only
    ("Only registered users may enter the plant.", ["ALWAYS (enter_plant IMPLIES registered)"]),
    ("The agent may open the valve only if the pressure is low.", ["ALWAYS (open_valve IMPLIES pressure_is_low)"]),
    ("The agent may only open the valve if the pressure is low.", ["ALWAYS (open_valve IMPLIES pressure_is_low)"]),
    ("Entering the plant is allowed only for registered users.", ["ALWAYS (enter_plant IMPLIES registered)"]),
    ("The plant is for registered users only.", ["ALWAYS (plant IMPLIES registered)"]),
    (
        "Read only the fields that the form marks as public.",
        ["ALWAYS (read_fields IMPLIES form_marks_fields_as_public)"],
    ),
    ("Opening the valve requires a permit.", ["ALWAYS (open_valve IMPLIES permit)"]),
    ("A permit is required to open the valve.", ["ALWAYS (open_valve IMPLIES permit)"]),
    ("The user must be registered to enter the plant.", ["ALWAYS (enter_plant IMPLIES registered)"]),
    ("The user must not be a guest to enter the plant.", ["ALWAYS (enter_plant IMPLIES NOT guest)"]),
    ("Files may be opened provided that the disk is encrypted.", ["ALWAYS (open_files IMPLIES disk_is_encrypted)"]),
    (
        "Calls are forwarded if and only if the user asks for help.",
        ["ALWAYS (forward_calls IMPLIES asks_for_help)", "ALWAYS (asks_for_help IMPLIES EVENTUALLY forward_calls)"],
    ),
    # sequence
    ("Before opening the valve, the agent must sound the horn.", ["ALWAYS (open_valve IMPLIES ONCE sound_horn)"]),
    ("Sound the horn first, then open the valve.", ["ALWAYS (open_valve IMPLIES ONCE sound_horn)"]),
    ("The agent may open the valve only after sounding the horn.", ["ALWAYS (open_valve IMPLIES ONCE sound_horn)"]),
    ("Do not open the valve until the horn has sounded.", ["ALWAYS (open_valve IMPLIES ONCE horn_has_sounded)"]),
    (
        "Make sure that the horn works before opening the valve.",
        ["ALWAYS (open_valve IMPLIES ONCE make_sure_horn_works)"],
    ),
    ("Ensure that the horn is working before opening the valve.", ["ALWAYS (open_valve IMPLIES horn_is_working)"]),
    # limit
    ("A crate can contain at most ten bottles.", []),
    ("The agent may send at most three reports.", ["ALWAYS (send_reports IMPLIES reports_at_most_3)"]),
    ("A report may be kept for up to 30 days.", ["ALWAYS (keep_report IMPLIES days_at_most_30)"]),
    ("Do not transfer more than $1,000.", ["ALWAYS (transfer IMPLIES transfer_at_most_1000_usd)"]),
    ("A user under 18 must not enter the plant.", ["ALWAYS (enter_plant IMPLIES age_at_least_18)"]),
    ("Users aged 65 or over may not enter the plant.", ["ALWAYS (enter_plant IMPLIES NOT age_at_least_65)"]),
    # obligation
    ("The agent must answer every letter.", ["EVENTUALLY answer_letter"]),
    (
        "If the alarm rings, the agent must stop and call the owner.",
        ["ALWAYS (alarm_rings IMPLIES EVENTUALLY stop)", "ALWAYS (alarm_rings IMPLIES EVENTUALLY call_owner)"],
    ),
    ("Reports must be deleted.", ["EVENTUALLY delete_reports"]),
    ("If the alarm rings, do not open the valve.", ["ALWAYS (open_valve IMPLIES NOT alarm_rings)"]),
]


@pytest.mark.parametrize(("text", "expected"), FORMS, ids=[text[:50] for text, _ in FORMS])
def test_a_form_has_its_reading(text, expected):
    assert formulas(text) == expected


GOLD = [
    line.split("\t")
    for line in (Path(__file__).parent / "gold" / "sentences.tsv").read_text("utf-8").splitlines()
    if not line.startswith("#")
]


@pytest.mark.parametrize(("text", "expected"), GOLD, ids=[text[:50] for text, _ in GOLD])
def test_sentences_of_many_fields_keep_the_readings_that_were_judged_right(text, expected):
    clause = Clause("c", text, 0, len(text))
    groundings = [grounding.ground(n, Toolbox()) for n in deontic.norms(clause)]
    found = [render(r.formula) for g in groundings for r in g.readings] + ["undecided" for g in groundings if g.reason]
    assert (" ; ".join(dict.fromkeys(found)) or "nothing") == expected


NOTHING = [
    "The plant opens at nine.",
    "The agent may open the window.",
    "You need not lock the gate.",
    "Users can enter without being registered.",
    '"Valve" means any device that stops a flow.',
    "Prices may vary.",
    "The status can be open or closed.",
    "Fees are not due.",
    "The plant is old.",
    "Registered users may enter.",
    "The agent does not know the owner.",
    "Repairs take five to seven days.",
]


@pytest.mark.parametrize("text", NOTHING)
def test_facts_definitions_and_permissions_demand_nothing(text):
    clause = Clause("c", text, 0, len(text))
    assert deontic.norms(clause) == () and not deontic.constrains(clause)


OPPOSITES = [
    ("A user who is registered may not enter.", "A user who is not registered may not enter."),
    ("Do not enter if the gate is open.", "Do not enter unless the gate is open."),
    ("Only registered users may enter.", "Only unregistered users may enter."),
    ("The user must be registered to enter.", "The user must not be registered to enter."),
    ("A user under 18 cannot enter.", "A user aged 18 or over cannot enter."),
    ("No user with a badge may enter.", "No user without a badge may enter."),
]


@pytest.mark.parametrize(("text", "opposite"), OPPOSITES)
def test_a_negated_sentence_has_the_opposite_condition(text, opposite):
    (one,), (other,) = formulas(text), formulas(opposite)
    assert one != other and one.replace("NOT ", "") == other.replace("NOT ", "")
    assert (one.count("NOT") + other.count("NOT")) % 2 == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("You must not do this.", "points back"),
        ("This must not be shared.", "points back"),
        ("A report can be read or copied, but not both.", "not both"),
        ("A visit may be moved up to two days before arrival.", "no reading"),
    ],
)
def test_what_cannot_be_read_is_undecided_with_its_reason(text, reason):
    norms = deontic.norms(Clause("c", text, 0, len(text)))
    assert norms and all(reason in n.reason for n in norms)


def test_titles_name_the_action_of_a_clause_that_has_none():
    assert formulas("At most two bottles.", context=("Shipping a crate",)) == [
        "ALWAYS (ship_crate IMPLIES bottles_at_most_2)"
    ]
    assert formulas("The user must first show a badge.", headings=("Open the gate",)) == [
        "ALWAYS (open_gate IMPLIES ONCE show_badge)"
    ]
    assert formulas("A crate can contain at most ten bottles.", headings=("Ship crates",)) == [
        "ALWAYS (ship_crates IMPLIES bottles_at_most_10)"
    ]


def test_a_list_item_is_read_under_its_stem():
    assert formulas("passwords;", context=("The agent must not disclose:",)) == ["ALWAYS NOT disclose_passwords"]
    assert formulas("tell the owner.", context=("If the alarm rings, the agent must:",)) == [
        "ALWAYS (alarm_rings IMPLIES EVENTUALLY tell_owner)"
    ]
    assert formulas("the use of force;", context=("The following practices shall be prohibited:",)) == [
        "ALWAYS NOT use_force"
    ]


def test_the_norms_of_a_clause_name_it():
    clause = Clause("c7", "Never run.", 3, 13, ("House",), ("Label",))
    (norm,) = deontic.norms(clause)
    assert (norm.clause, norm.quote, norm.scope) == ("c7", "Never run.", ("House", "Label"))


@settings(max_examples=200)
@given(
    st.lists(
        st.sampled_from(
            """
        the a user agent must not may only if unless before after without cannot never no at most five 18 under valve
        open close opened is are be who that and or , ; : . first then requires allowed prohibited until it this "x" (
        ) make sure to for
    """.split()
        ),
        max_size=18,
    )
)
def test_any_words_are_read_without_failing_and_the_same_way_twice(words):
    clause = Clause("c", " ".join(words), 0, 0, ("Open the valve",))
    assert deontic.norms(clause) == deontic.norms(clause)
    for norm in deontic.norms(clause):
        assert grounding.ground(norm, Toolbox()) == grounding.ground(norm, Toolbox())


@settings(max_examples=100)
@given(st.text(max_size=80))
def test_any_text_is_read_without_failing(text):
    for norm in deontic.norms(Clause("c", text, 0, len(text))):
        grounding.ground(norm, Toolbox())


@pytest.mark.parametrize(
    ("text", "main", "adjuncts"),
    [
        ("open it unless the gate is shut", "open it", [("unless", "the gate is shut")]),
        ("open it only if a is b, except when c is d", "open it", [("only_if", "a is b"), ("unless", "c is d")]),
        ("ask if the gate is shut", "ask if the gate is shut", []),
        ("use the details provided by the user", "use the details provided by the user", []),
        ("act without undue delay", "act without undue delay", []),
    ],
)
def test_subordinate_clauses_are_peeled(text, main, adjuncts):
    assert peel(text) == (main, tuple(adjuncts))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the gate is not open", Negated(Phrase("the gate is open"))),
        ("has no badge", Negated(Phrase("has badge"))),
        ("unregistered", Negated(Phrase("registered"))),
        ("non-members", Negated(Phrase("members"))),
        ("under the bridge", Phrase("under the bridge")),
        ("the gate is open and the horn is silent", Every((Phrase("the gate is open"), Phrase("the horn is silent")))),
        ("silver or gold", Phrase("silver or gold")),
    ],
)
def test_conditions_have_positive_leaves(text, expected):
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("text", "op", "value", "person"),
    [
        ("under 18", "<", 18, True),
        ("at least 15 years old", ">=", 15, True),
        ("18 or older", ">=", 18, True),
        ("at most five crates", "<=", 5, False),
        ("no more than 2,000 signs", "<=", 2000, False),
        ("above $500", ">", 500, False),
        ("fewer than ten", "<", 10, False),
        ("exceed 3.5 tons", ">", 3.5, False),
        ("younger than 21", "<", 21, True),
        ("smaller than 25 MB", "<", 25, False),
    ],
)
def test_quantities(text, op, value, person):
    found = lexicon.find(text)
    assert (found.op, found.value, found.person) == (op, value, person)


def test_a_text_without_a_comparison_has_no_quantity():
    assert lexicon.find("in 2015 there were five") is None and lexicon.find("") is None


@pytest.mark.parametrize(
    ("words", "same"),
    [
        ("confirmed confirmation confirming", True),
        ("books booking booked", True),
        ("policies policy", True),
        ("copy copied copier", True),
        ("deletion deleted", True),
        ("open close", False),
        ("use user", False),
    ],
)
def test_relatives_share_a_root_and_strangers_do_not(words, same):
    assert (len({lexicon.root(w) for w in words.split()}) == 1) is same


@settings(max_examples=100)
@given(st.text(max_size=60))
def test_every_phrase_has_a_valid_name(text):
    from wb.logic.formula import NAME

    assert NAME.match(lexicon.name(text))


def test_main_clauses_share_their_condition_and_subject():
    assert modality.main_clauses("If it rains, the agent must stop and must not start again") == (
        "If it rains, the agent must stop",
        "If it rains, the agent must not start again",
    )


def test_exceptions_join_requirements_as_alternatives():
    (norm,) = deontic.norms(Clause("c", "Do not send it by post without a stamp unless the sender is a friend.", 0, 1))
    assert isinstance(norm.requires, Either)


def test_an_earlier_event_is_kept_apart_from_a_state():
    (norm,) = deontic.norms(Clause("c", "Before sending the letter, the agent must seal the envelope.", 0, 1))
    assert isinstance(norm.requires, Earlier)


@pytest.mark.parametrize("word", ["four", "eleven", "twenty"])
@pytest.mark.parametrize(
    "text",
    [
        "Users may only book three rooms.",
        "Only three guests may be invited.",
        "Do not cancel an order three days before the delivery.",
    ],
)
def test_every_number_word_is_read_alike(text: str, word: str) -> None:
    three, other = (
        repr(deontic.norms(Clause("c", said, 0, len(said)))) for said in (text, text.replace("three", word))
    )
    assert other == three.replace("three", word)


def test_somebody_is_someone() -> None:
    said = "Someone under 18 must not order wine."
    other = deontic.norms(Clause("c", said.replace("Someone", "Somebody"), 0, len(said) + 1))
    assert repr(other) == repr(deontic.norms(Clause("c", said, 0, len(said)))).replace("Someone", "Somebody")
