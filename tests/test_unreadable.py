"""The parts of what a sentence must be accounted for with, each by a table: letters, joints, signs, limits, shapes."""

import pytest

from wb.logic import cel
from wb.logic.syntax import parse
from wb.rules import negations, operators, shapes, signs
from wb.rules.rule import Predicate, Rule

UNREADABLE = {
    "You must go.": "",
    "Must you go?": "a question",
    "You must &lt; go": "written as an entity",
    "You must <b>go</b>": "markup",
    "You must <name> go": "markup",
    "You must ~~not~~ go": "struck out",
    "Go x^2": "raised",
    "You must go²": "raised",
    "H2_0 is 3_4": "",
    "You m\u200bust go": "cannot be seen: zero width space",
    "soft\u00adhyphen": "cannot be seen: soft hyphen",
    "a\ufffdb": "cannot be seen: replacement character",
    "a\x07b": "cannot be seen: 0x7",
    "a\u00a0b": "",
    "Y\u043eu must g\u043e": "look like others: 'Y\\u043eu', 'g\\u043e'",
    "\u1d0dust go": "look like others",  # a small capital
    "s\u1d50all": "look like others",  # a raised letter
    "\u0261o": "look like others",  # of a phonetic alphabet
    "\u041f\u0440\u0438\u0432\u0435\u0442": "",  # a word of another language, beside none in Latin letters
    "Der Kaffee ist für Gäste": "",
    "You müst go": "with its accents",
    "You must go and": "does not end here: its last word is 'and'",
    "You must go if": "does not end here: its last word is 'if'",
    "You must go or else": "'else'",
}


@pytest.mark.parametrize("text", UNREADABLE)
def test_what_is_written_otherwise_than_it_looks_is_told(text: str) -> None:
    found = operators.unreadable(text, ())
    assert bool(found) == bool(UNREADABLE[text]) and UNREADABLE[text] in " ".join(found)


def test_what_a_sentence_is_read_with_counts_and_an_item_may_go_on() -> None:
    assert operators.unreadable("go, or", ("You must",)) == () != operators.unreadable("You must go, or", ())
    assert operators.unreadable("Must you go", ("If?",)) == ()
    assert "entity" in operators.unreadable("go", ("You must &amp;",))[0]
    assert operators.characters("You may give <name>", whole=False) == ()
    assert operators.characters("You may give <!-- a name", whole=False) != ()


@pytest.mark.parametrize(
    ("opening", "items", "wrong"),
    [
        ("You must not go if", ["it rains, or", "it snows"], ""),
        ("You must not go if", ["it rains, and", "it snows"], "and"),
        ("You may go only if", ["it rains, and", "it snows"], ""),
        ("You may go only if", ["it rains; or", "it snows"], "or"),
        ("You must not", ["sing, and", "dance"], ""),
        ("You must not", ["sing, OR", "dance"], ""),
        ("You must not go unless", ["it rains, or", "it snows"], "or"),
        ("You must not go unless", ["it rains; and", "it snows"], ""),
        ("You must not go unless", ["a, and", "b, or", "c"], "or"),
        ("You must not go if", ["it rains", "it snows"], ""),
    ],
)
def test_a_list_says_one_thing_or_each_its_own(opening: str, items: list[str], wrong: str) -> None:
    said = operators.together(opening, items)
    assert bool(said) == bool(wrong) and said.endswith(f"joined by '{wrong}'" if wrong else "")


P = {
    name: Predicate(name, "state", "", test=cel.parse(test) if test else None)
    for name, test in {
        "old": "state.age >= 65",
        "young": "state.age < 18",
        "member": "state.member",
        "guest": "state.guest == true",
        "told": "",
    }.items()
}
P["go"] = Predicate("go", "action", "", tools=("go",))


def rules(*texts: str) -> list[Rule]:
    return [Rule(f"r{k}", "", parse(f"ALWAYS ({text})"), "forbid") for k, text in enumerate(texts)]


def test_a_fact_of_the_past_and_a_duty_done_somehow_are_told() -> None:
    every = P.values()
    assert shapes.past(rules("go IMPLIES ONCE old"), every)
    assert shapes.past(rules("go IMPLIES (NOT go SINCE old)"), every)
    assert not shapes.past(rules("go IMPLIES ONCE go", "go IMPLIES old"), every)
    assert shapes.narrowed(rules("go IMPLIES old", "old IMPLIES EVENTUALLY (go AND member)"))
    assert not shapes.narrowed(rules("old IMPLIES EVENTUALLY go", "go IMPLIES (old AND member)"))


def test_words_of_a_ban_are_told_once_in_small_letters() -> None:
    assert operators.bans("You must NOT go, not now.", "Never go.") == "not, never" and not operators.bans("Go.")


SHAPES = [
    ("Go if a or b.", ["go IMPLIES (NOT old OR member)"], "'or' beside a rule"),
    ("Go if a or b.", ["go IMPLIES NOT old"], ""),
    ("Go if a or b and c.", ["go IMPLIES NOT old"], "'or' and 'and' in one"),
    ("Go if a and b.", ["go IMPLIES (NOT old OR member)"], "'and' beside a rule"),
    ("Go if a and is b.", ["go IMPLIES (NOT old OR member)"], ""),
    ("Go and sing.", ["go IMPLIES NOT old"], ""),
    ("Go if a b.", ["go IMPLIES old", "go IMPLIES member"], "two rules about one act"),
    ("Go if a, b.", ["go IMPLIES old", "go IMPLIES member"], ""),
    ("Go unless a b.", ["go IMPLIES old", "go IMPLIES member"], ""),
    ("Go if a b.", ["go IMPLIES (NOT old OR young)"], "one field stands for two"),
    ("Go if a b.", ["(go AND old) IMPLIES member"], ""),
    ("Do not go only now.", ["go IMPLIES old"], "'only' under a negation"),
    ("Only do not go.", ["go IMPLIES old"], ""),
    ("Go with fewer than some.", ["go IMPLIES old"], "a comparison without a number"),
    ("Go with fewer than 3.", ["go IMPLIES old"], ""),
    ("You may go without a card.", ["go IMPLIES old"], "a permission 'without'"),
    ("You must go without a card.", ["go IMPLIES old"], ""),
    ("You may go if old.", ["go IMPLIES (old AND member)"], "a permission with two limits"),
    ("You may go if old.", ["go IMPLIES old"], ""),
]


@pytest.mark.parametrize(("said", "forms", "why"), SHAPES)
def test_joints_of_a_sentence_are_those_of_its_rules(said: str, forms: list[str], why: str) -> None:
    made = rules(*forms)
    used = [P[name] for name in dict.fromkeys(n for rule in made for n in rule.predicates)]
    found = signs.shape(said, made, used)
    assert (len(found), bool(why)) in ((0, False), (1, True)) and why in " ".join(found)


def test_a_rule_that_several_facts_break_together() -> None:
    for text, several in {
        "go IMPLIES old": False,
        "go IMPLIES (old AND member)": False,
        "go IMPLIES (old OR member)": True,
        "go IMPLIES (old IMPLIES member)": True,
        "go IMPLIES NOT (old AND member)": True,
        "go IMPLIES NOT old": False,
        "(go AND old) IMPLIES member": True,
        "NOT (go AND old)": True,
        "NOT go": False,
    }.items():
        assert shapes.disjunctive(rules(text)[0].formula) == several, text


NEGATIONS = {
    "You must go": 0,
    "You must not go": 1,
    "You must go before noon": 0,  # nothing is negated that comes before
    "Do not go before noon": 2,
    "Never go without a card unless asked": 3,
    "Go with no more than three": 0,
    "He is untrained and must not go": None,
    "It is unfair not to go": 1,
    "Not only he must go": None,
    "You must not go and must not sing": None,
    "You must go and must sing": 0,
}
LIMITS = {
    ("at least 3 cards", 3): {">="},
    ("at most three cards", 3): {"<="},
    ("under 18", 18): {"<"},
    ("18 or older", 18): {">="},
    ("over 1,000 euros", 1000): {">"},
    ("no more than 3", 3): {"<="},
    ("more than 3, under 7", 3): {">"},
    ("more than 3, under 7", 7): {"<"},
    ("more than 4", 3): set(),
    ("more than 3.5", 3): set(),
    ("3 cards", 3): set(),
}


def test_negations_and_limits_are_counted_in_the_words() -> None:
    assert {said: negations.counted(said, frozenset({"train"})) for said in NEGATIONS} == NEGATIONS
    assert {key: signs.compared(*key) for key in LIMITS} == LIMITS


SIGNS = [
    ("Go if a member.", "go IMPLIES member", ""),
    ("Go if a member.", "go IMPLIES NOT member", "denies nothing, but its rule wants member not to hold"),
    ("Do not go if a member.", "go IMPLIES NOT member", ""),
    (
        "Do not go if a member.",
        "go IMPLIES member",
        "denies something (negations: 1), but its rule wants member to hold",
    ),
    ("Do not go unless a guest.", "go IMPLIES guest", ""),
    (
        "Do not go unless a guest.",
        "go IMPLIES NOT guest",
        "takes a denial back (negations: 2), but its rule wants guest not to hold",
    ),
    ("Do not go if told.", "go IMPLIES ONCE told", "(negations: 1), but its rule wants told to hold"),
    ("Go if told.", "go IMPLIES ONCE told", ""),
    ("Go at 65 or older.", "go IMPLIES old", ""),
    ("Go under 65.", "go IMPLIES old", "not the limit that is said: 65"),
    ("Do not go under 65.", "go IMPLIES old", ""),
    ("Do not go at 65 or older.", "go IMPLIES old", "not the limit that is said: 65"),
    ("Do not go at 65.", "go IMPLIES old", "not the limit that is said: 65"),
    ("Do not go within 65.", "go IMPLIES old", "not the limit that is said: 65"),  # it says one age alone
    (
        "Do not go if a member and told.",
        "go IMPLIES (member AND NOT told)",
        "(negations: 1), but its rule wants member to hold",
    ),
    ("Do not go if a member and told.", "go IMPLIES (NOT member AND NOT told)", ""),
    ("He may not only go if a member.", "go IMPLIES NOT member", negations.UNTOLD),
]


@pytest.mark.parametrize(("said", "form", "why"), SIGNS)
def test_facts_have_the_signs_and_limits_that_are_said(said: str, form: str, why: str) -> None:
    found = signs.signed(said, rules(form), tuple(P.values()), frozenset())
    assert (len(found), bool(why)) in ((0, False), (1, True)) and why in " ".join(found)
