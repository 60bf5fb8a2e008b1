"""Norms tied to tools and fields: the six rules in many wordings, tests on fields, and what stays unknown."""

import json
from dataclasses import replace

import pytest
from conftest import shared

from wb.domain import policy
from wb.domain import tools as tool
from wb.domain.policy import Clause
from wb.logic import cel
from wb.logic.semantics import holds, parse
from wb.logic.syntax import render
from wb.models.client import LLM
from wb.offline import grounding, norms
from wb.offline.engine import Offline
from wb.offline.norms import Norm
from wb.rules import extract

BOX = tool.parse(
    json.dumps(
        {
            "tools": [
                {
                    "name": "rent_boat",
                    "description": "Rent a boat.",
                    "keywords": ["rent a boat", "boat rental"],
                    "parameters": {
                        "properties": {
                            "crew": {"type": "array", "description": "who sails"},
                            "deposit": {"type": "number", "description": "the amount paid"},
                            "class": {"type": "string", "enum": ["dinghy", "day_cruiser", "yacht"]},
                        }
                    },
                },
                {"name": "sell_boat", "description": "Sell a boat."},
                {
                    "name": "update_booking",
                    "description": "Change a booking.",
                    "parameters": {"properties": {"class": {"type": "string", "enum": ["dinghy", "yacht"]}}},
                },
                {"name": "check_weather", "description": "Check the weather report.", "keywords": ["weather report"]},
                {
                    "name": "send_note",
                    "description": "Send a note.",
                    "parameters": {"properties": {"signs": {"type": "integer"}, "readers": {"type": "array"}}},
                },
            ],
            "state": [
                {
                    "name": "age",
                    "type": "integer",
                    "description": "age of the user in years",
                    "keywords": ["years old"],
                },
                {
                    "name": "certificate",
                    "type": "boolean",
                    "description": "the user holds a sailing certificate",
                    "keywords": ["sailing certificate", "certified"],
                },
                {"name": "swimmer", "type": "boolean", "description": "the user can swim"},
                {
                    "name": "tier",
                    "type": "string",
                    "enum": ["blue", "red", "gold"],
                    "description": "the tier of the user",
                },
            ],
        }
    )
)


def read(text, box=BOX, headings=(), context=()):
    clause = Clause("c", text, 0, len(text), tuple(headings), tuple(context))
    return [r for n in norms.norms(clause) for r in grounding.ground(n, box).readings]


def shown(text, **context):
    return [
        (render(r.formula), sorted(cel.render(p.test) for p in r.predicates if p.test)) for r in read(text, **context)
    ]


@pytest.mark.parametrize(
    ("text", "formula", "tests"),
    [
        ("A user under 16 must not rent a boat.", "ALWAYS (rent_boat IMPLIES age_at_least_16)", ["state.age >= 16"]),
        ("Users older than 80 must not rent a boat.", "ALWAYS (rent_boat IMPLIES age_at_most_80)", ["state.age <= 80"]),
        (
            "Only certified users may rent a boat.",
            "ALWAYS (rent_boat IMPLIES certificate)",
            ["state.certificate"],
        ),
        ("Uncertified users may rent a boat.", None, []),
        (
            "Uncertified users cannot rent a boat.",
            "ALWAYS (rent_boat IMPLIES certificate)",
            ["state.certificate"],
        ),
        (
            "Renting a boat requires a sailing certificate.",
            "ALWAYS (rent_boat IMPLIES certificate)",
            ["state.certificate"],
        ),
        ("Gold users cannot sell a boat.", "ALWAYS (sell_boat IMPLIES NOT tier_is_gold)", ['state.tier == "gold"']),
        (
            "Only red or gold users may sell a boat.",
            "ALWAYS (sell_boat IMPLIES tier_is_red_or_gold)",
            ['state.tier in ["red", "gold"]'],
        ),
        (
            "A boat rental can have at most four crew.",
            "ALWAYS (rent_boat IMPLIES crew_at_most_4)",
            ["size(call.crew) <= 4"],
        ),
        (
            "Do not rent a boat for more than $900.",
            "ALWAYS (rent_boat IMPLIES deposit_at_most_900)",
            ["call.deposit <= 900"],
        ),
        (
            "Do not send a note to more than 20 readers.",
            "ALWAYS (send_note IMPLIES readers_at_most_20)",
            ["size(call.readers) <= 20"],
        ),
        (
            "A note must not exceed 500 signs.",
            "ALWAYS (send_note IMPLIES signs_at_most_500)",
            ["call.signs <= 500"],
        ),
        ("Before renting a boat, check the weather report.", "ALWAYS (rent_boat IMPLIES ONCE check_weather)", []),
    ],
)
def test_a_sentence_is_tied_to_its_tool_and_its_field(text, formula, tests):
    assert shown(text) == ([(formula, tests)] if formula else [])


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("Uncertified pregnant users cannot rent a boat.", "certified_pregnant"),
        ("Do not rent a boat on Sundays.", "on_sundays"),
        ("A user with a certificate of health must not rent a boat.", "certificate_health"),
        ("Do not send a note to more than 20 angry readers.", "angry_readers_at_most_20"),
        ("Yachts cannot be changed.", "yachts"),
    ],
)
def test_a_word_that_nothing_takes_up_leaves_the_literal_unknown(text, formula):
    (reading,) = read(text)
    assert formula in render(reading.formula)
    assert all(p.test is None for p in reading.predicates)


def test_what_an_update_changes_is_not_read_off_its_own_arguments():
    (reading,) = read("Yacht bookings cannot be changed.")
    assert reading.action.tools == ("update_booking",) and "NOT" in render(reading.formula)
    assert all(p.test is None for p in reading.predicates)


def test_what_a_new_thing_is_is_read_off_the_arguments():
    (reading,) = read("Do not rent a yacht boat.")
    assert [cel.render(p.test) for p in reading.predicates if p.test] == ['call.class == "yacht"']
    assert render(reading.formula) == "ALWAYS (rent_boat IMPLIES NOT class_is_yacht)"


def test_an_action_that_no_tool_performs_keeps_its_name_and_has_no_tool():
    (reading,) = read("Never give opinions.")
    assert reading.action.name == "give_opinions" and reading.action.tools == ()


def test_a_verb_alone_is_not_enough_to_name_a_tool():
    (reading,) = read("Never rent a bicycle.")
    assert reading.action.tools == ()


def test_a_title_names_the_tool_of_a_clause_without_action():
    (reading,) = read("At most four crew.", context=("Renting a boat",))
    assert reading.action.tools == ("rent_boat",) and cel.render(reading.predicates[1].test) == "size(call.crew) <= 4"


def test_what_a_whole_document_is_called_is_no_act_and_a_title_below_it_may_be():
    (norm,) = norms.norms(Clause("c", "At most four crew.", 0, 1, ("Control room of a harbour", "Crews")))
    assert "no action is named" in grounding.ground(norm, BOX).reason
    for context in (("Control room of a harbour", "Painting a shed"), ("Painting a shed",)):
        (reading,) = read("At most four crew.", context=context)
        assert reading.action.name == "paint_shed" and reading.action.tools == ()
    (reading,) = read("At most four crew.", context=("Renting a boat", "Crews"))
    assert reading.action.tools == ("rent_boat",), "a tool does it"


def test_no_action_anywhere_is_a_reason():
    (norm,) = norms.norms(Clause("c", "At most four crew.", 0, 1))
    assert "no action is named" in grounding.ground(norm, BOX).reason


# The six rules of Mind2Web-SC, in the toolbox of web_tasks.
SIX = {
    "shop": ("ALWAYS (shop IMPLIES membership)", ["state.membership"]),
    "book_flight": ("ALWAYS (book_flight IMPLIES vaccine)", ["state.vaccine"]),
    "buy_car": ("ALWAYS (buy_car IMPLIES dr_license)", ["state.dr_license"]),
    "rent_car": ("ALWAYS (rent_car IMPLIES dr_license)", ["state.dr_license"]),
    "book_hotel": ("ALWAYS (book_hotel IMPLIES age_at_least_18)", ["state.age >= 18"]),
    "search_media": ("ALWAYS (search_media IMPLIES domestic)", ["state.domestic"]),
    "apply_for_job": ("ALWAYS (apply_for_job IMPLIES age_at_least_15)", ["state.age >= 15"]),
}
WORDINGS = [
    ("User must be a member to shop", ["shop"]),
    ("Only members may shop.", ["shop"]),
    ("Non-members may not shop.", ["shop"]),
    ("Users are not permitted to shop unless they are members.", ["shop"]),
    ("Shopping is for members only.", ["shop"]),
    ("Shopping without a membership is not allowed.", ["shop"]),
    ("The user needs to be a member before shopping.", ["shop"]),
    ("Unvaccinated user cannot book a flight", ["book_flight"]),
    ("Users who have not been vaccinated cannot book a flight.", ["book_flight"]),
    ("Flights may not be booked by unvaccinated users.", ["book_flight"]),
    ("Do not book a flight if the user is not vaccinated.", ["book_flight"]),
    ("It is forbidden to book a flight for users who are not vaccinated.", ["book_flight"]),
    ("Before booking a flight, the assistant must check that the user is vaccinated.", ["book_flight"]),
    ("User without a driver's license cannot buy or rent a car", ["buy_car", "rent_car"]),
    ("Without a driver's licence, a user must not buy or rent a car.", ["buy_car", "rent_car"]),
    ("Only users with a driver's license can rent or buy cars.", ["rent_car", "buy_car"]),
    ("A driver's licence is required to rent a car.", ["rent_car"]),
    ("Renting a car requires a driver's licence.", ["rent_car"]),
    ("Nobody may rent a car without a driver's licence.", ["rent_car"]),
    ("Never rent a car unless the user has a driver's licence.", ["rent_car"]),
    ("User aged under 18 cannot book a hotel", ["book_hotel"]),
    ("You must be 18 or older to book a hotel.", ["book_hotel"]),
    ("Users below the age of 18 are not allowed to book hotels.", ["book_hotel"]),
    ("Booking a hotel is prohibited for users under 18.", ["book_hotel"]),
    ("No user under 18 may book a hotel.", ["book_hotel"]),
    ("Do not let a user under 18 book a hotel.", ["book_hotel"]),
    ("If the user is under 18, the assistant must not book a hotel.", ["book_hotel"]),
    ("Hotels may only be booked by users aged 18 or over.", ["book_hotel"]),
    ("The assistant may book a hotel only if the user is at least 18 years old.", ["book_hotel"]),
    ("User must be in certain countries to search movies/musics/video", ["search_media"]),
    ("Searching for films, music or videos is allowed only for domestic users.", ["search_media"]),
    ("Only domestic users may search for films, music or videos.", ["search_media"]),
    ("User under 15 cannot apply for jobs", ["apply_for_job"]),
    ("Applicants must be at least 15 years old to apply for a job.", ["apply_for_job"]),
    ("A user must not be under 15 to apply for a job.", ["apply_for_job"]),
    ("Users younger than 15 years are prohibited from applying for jobs.", ["apply_for_job"]),
]


@pytest.fixture(scope="module")
def web():
    """The toolbox of web_tasks, where "certain countries" is also called by that name."""
    box = policy.load("web_tasks").toolbox
    return replace(
        box,
        state=tuple(
            replace(f, keywords=(*f.keywords, "in certain countries")) if f.name == "domestic" else f for f in box.state
        ),
    )


@pytest.mark.parametrize(("text", "actions"), WORDINGS, ids=[text[:60] for text, _ in WORDINGS])
def test_the_six_rules_come_out_right_in_any_wording(web, text, actions):
    assert shown(text, box=web) == [SIX[action] for action in actions]
    assert [r.action.tools for r in read(text, web)] == [(action,) for action in actions]


@pytest.mark.parametrize(
    ("text", "formulas"),
    [
        ("A user who is vaccinated cannot book a flight.", ["ALWAYS (book_flight IMPLIES NOT vaccine)"]),
        ("A user with a driver's licence must not rent a car.", ["ALWAYS (rent_car IMPLIES NOT dr_license)"]),
        ("A user must not be a member to shop.", ["ALWAYS (shop IMPLIES NOT membership)"]),
        ("Only non-domestic users may search for films.", ["ALWAYS (search_media IMPLIES NOT domestic)"]),
        ("A user aged 15 or over cannot apply for a job.", ["ALWAYS (apply_for_job IMPLIES NOT age_at_least_15)"]),
        ("A user under 21 cannot book a hotel.", ["ALWAYS (book_hotel IMPLIES age_at_least_21)"]),
        ("A user under 18 can book a hotel.", []),
        ("A user who is not vaccinated may book a flight.", []),
        ("Members may shop.", []),
        ("User can shop without being a member.", []),
        ("A user without a driver's licence may rent a car.", []),
    ],
)
def test_a_negated_changed_or_permissive_sentence_follows_its_words(web, text, formulas):
    assert [formula for formula, _ in shown(text, box=web)] == formulas


def test_action_phrases_of_the_airline_gold_find_their_tools():
    box = policy.load(shared("data", "common", "tau_airline")).toolbox
    rows = [
        line.split("\t")
        for line in shared("data", "offline_gold", "grounding_actions.tsv").read_text("utf-8").splitlines()[1:]
    ]
    names = {t.name for t in box.tools}
    right = wrong = total = 0
    for phrase, scope, wanted in ((r[0], r[1] if len(r) > 2 else "", r[-1]) for r in rows):
        if wanted not in names:
            continue
        norm = Norm("", "", "forbid", (phrase,), scope=tuple(part for part in scope.split(" : ") if part))
        found = {tool for r in grounding.ground(norm, box).readings for tool in r.action.tools}
        total += 1
        right += wanted in found
        wrong += bool(found) and wanted not in found
    assert total >= 20 and right / total >= 0.6 and wrong / total <= 0.2, (right, wrong, total)


@pytest.mark.parametrize("text", ["a", "NOT a", "a AND b", "a OR b", "NOT a AND b", "a OR NOT b", "(a OR b) AND NOT a"])
def test_a_negated_condition_is_its_opposite_in_every_state(text):
    formula = parse(text)
    for state in (set(), {"a"}, {"b"}, {"a", "b"}):
        assert holds(grounding.negation(formula), [state]) is not holds(formula, [state])


@pytest.mark.parametrize(
    "definition",
    [
        'A "junior" is a user under 16.',
        "Juniors are users under 16.",
        'The term "junior" means any user who is under 16.',
    ],
)
def test_a_term_that_the_document_defines_is_read_by_its_definition(definition):
    source = policy.of_text(
        f"{definition}\n\n# Boats\n\nA junior must not rent a boat. Only juniors may sell a boat.", BOX
    )
    llm = LLM(Offline(BOX), workers=1)
    found = extract.clauses(source, llm, norms.constrains)
    assert [render(r.formula) for r in extract.rules(found, source, llm, norms.constrains).rules] == [
        "ALWAYS (rent_boat IMPLIES age_at_least_16)",
        "ALWAYS (sell_boat IMPLIES NOT age_at_least_16)",
    ]
    assert all(c.definitions == (definition,) for c in found)


def test_a_term_that_a_field_decides_keeps_its_field():
    source = policy.of_text('A "swimmer" is a user who has won a medal.\n\nOnly swimmers may rent a boat.', BOX)
    llm = LLM(Offline(BOX), workers=1)
    (rule,) = extract.rules(extract.clauses(source, llm, norms.constrains), source, llm, norms.constrains).rules
    assert render(rule.formula) == "ALWAYS (rent_boat IMPLIES swimmer)"
