"""Words that a test of yes or no stands for none of: comparison, quantity, possibility, time; each beside what is fine.

The sentences are of no document that anything here was built on.
"""

from __future__ import annotations

import pytest
from bench import gold

from wb.domain import policy
from wb.domain.tools import Field, Tool, Toolbox
from wb.logic import cel
from wb.logic.syntax import parse, render
from wb.rules import negations, operators, senses, signs
from wb.rules.rule import Predicate, Rule

BOX = Toolbox(
    (
        Tool("launch_raft", "Launch a raft.", (Field("passengers", "integer", "how many passengers"),)),
        Tool("check_ropes", "Check the ropes."),
        Tool("close_ramp", "Close the ramp."),
    ),
    (
        Field("raft_patched", "boolean", "the raft is patched"),
        Field("river_high", "boolean", "the river is high"),
        Field("ramp_closed", "boolean", "the ramp is closed"),
        Field("guide_aboard", "boolean", "the raft has a guide aboard"),
        Field("river_level", "integer", "level of the river in cm"),
        Field("passenger_can_swim", "boolean", "the passenger can swim"),
        Field("raft_load", "integer", "load of the raft in percent"),
    ),
)
GEESE = "Employees must not feed the geese."  # stands in each document: one that demands nothing is no policy


def read(text: str, monkeypatch: pytest.MonkeyPatch) -> tuple[str, list[str]]:
    """The class of a sentence and the formulas in force."""
    monkeypatch.setattr(gold.documents, "load", lambda _: policy.of_text(f"{text}\n\n# Geese\n\n{GEESE}", BOX))
    found = gold.read.__wrapped__("")
    return found.accounts[0].cls, [render(rule.formula) for rule in found.kept.rules if rule.text != GEESE]


FINE = (
    "Do not launch patched rafts.",
    "A raft may only be launched if it is patched.",
    "A raft may only be launched if it has a guide aboard.",
    "Do not launch a raft if the river is high.",
    "Do not launch a raft if the level of the river is over 200 cm.",
    "Do not launch a raft with more than 8 passengers!",
    "Do not launch a raft if the load of the raft is over 80 %.",
    "Do not launch a raft if the load of the raft is over 80 percent.",
    "Do not launch a raft with 8 or more passengers.",
    "Never launch a raft with a passenger who cannot swim.",
    "A raft may only be launched if the passenger can swim.",
    "A raft may be launched with at most 8 passengers.",
    "The ropes must be checked before a raft is launched.",
)


@pytest.mark.parametrize("text", FINE)
def test_what_is_compared_and_said_plainly_is_in_force(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cls, force = read(text, monkeypatch)
    assert cls == "rule" and len(force) == 1


NOT_SAID = (
    # more and less
    "Do not launch less patched rafts.",
    "Do not launch the least patched rafts.",
    "Do not launch more patched rafts.",
    "Do not launch the most patched rafts.",
    "Do not launch fewer patched rafts.",
    # some, one
    "Some patched rafts must not be launched.",
    "Only some patched rafts may be launched.",
    "A raft may only be launched for one patched raft.",
    "A raft may only be launched for 1 patched raft.",
    "Do not launch one patched raft.",
    # what may be so
    "Do not launch rafts that could be patched.",
    "Do not launch rafts that might be patched.",
    "Do not launch rafts that may be patched.",
    "Do not launch rafts that can be patched.",
    "Do not launch rafts that cannot be patched.",
    "Never launch a raft with a passenger who may swim.",
    "Do not launch a raft if the river could be high.",
    "Do not launch a raft if the river may be high.",
    "A raft may only be launched if the river should be high.",
    # what was so
    "Do not launch a raft if the river was high.",
    "A raft may only be launched if it had a guide aboard.",
    "Do not launch a raft if the river has been high.",
    # where, and how long
    "Do not launch patched rafts here.",
    "Do not launch patched rafts there.",
    "Do not launch long patched rafts.",
    "Do not launch a raft over a high river.",
    "Do not launch a raft within a high river.",
    "Do not launch a raft within a closed ramp.",
    "Do not launch patched rafts this year.",
    "Do not launch patched rafts any longer.",
    # signs beside a number, and parts of a whole of what is not said to be measured so
    "Do not launch a raft if the level of the river is over 200 %.",
    "Do not launch a raft if the level of the river is over 200 ‰.",
    "Do not launch a raft if the level of the river is over 200°.",
    "Do not launch a raft if the level of the river is over 200†.",
    "Do not launch a raft if the level of the river is over ~200.",
    "Do not launch a raft with more than 8 % passengers.",
    # what was done, and may be undone
    "The ramp must be closed before a raft is launched.",
)


@pytest.mark.parametrize("text", NOT_SAID)
def test_what_no_test_stands_for_stays_open(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read(text, monkeypatch) == ("open", [])


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("as long as it is high", ()),
        ("no longer, and no more than 8", ()),
        ("at most 8, at the least 2, 5 or more, 5 or less", ()),
        ("if there is a guide who has a rope", ()),
        ("if the raft is patched it may be launched", ()),
        ("rafts that may be patched", ("that may",)),
        ("if the raft may not be launched", ()),
        ("for more rafts", ("more",)),
        ("the very most", ("most",)),
    ],
)
def test_words_of_degree(said: str, found: tuple[str, ...]) -> None:
    why = f"not accounted for: {', '.join(map(repr, found))}"
    assert operators.degrees(said, "") == ((why,) if found else ())
    assert operators.degrees(said, said) == ()  # inside of a fact that no field decides


ONCE = ("Do not launch a raft if it is not patched.", "Never launch a raft that is not patched.")


@pytest.mark.parametrize(
    ("said", "fine"),
    [
        *((text, True) for text in (*FINE, *ONCE)),
        ("No raft without a guide may be launched.", True),
        ("A raft without a guide must not be launched.", True),
        ("Rafts that are not patched cannot be launched.", True),
        ("If the raft has no guide and is not patched, do not launch it.", True),
        ("Do not launch a raft not patched by a member.", True),
        ("Do not launch a raft for not insured passengers.", True),
        ("Do not launch a raft without a guide, and do not close the ramp before noon.", True),
        ("Do not launch a raft unless it is not patched.", True),
        ("Never, never launch a patched raft.", False),
        ("No, do not launch a patched raft.", False),
        ("Do not launch a patched raft, never.", False),
        ("Do not launch a patched raft, no exceptions.", False),
        ("Do not launch a patched raft without exception.", False),
        ("Never launch a patched raft, no matter what.", False),
        ("Never, under no circumstances, launch a patched raft.", False),
        ("You cannot and must not launch a patched raft.", False),
        ("A raft that is patched cannot and must not be launched.", False),
        ("It is forbidden and prohibited to launch a patched raft.", False),
        ("Do not launch a raft, not for patched ones.", False),
        ("Do not and never launch a patched raft.", False),
        ("Do not launch a raft and never do so.", False),
        ("Do not fail to not launch a raft.", False),
        ("Nobody must not launch a raft.", False),
        ("A raft without no guide may be launched.", False),
        ("Do not launch a raft if it is not, never patched.", False),
        ("Rafts that need a patch cannot and must not be launched.", False),
        ("Passengers who owe money may not and must not launch a raft.", False),
        ("Do not launch a raft that is patched and do not.", False),
        ("Do not launch a raft if the river is high and never do so.", False),
        ("Do not launch a raft if its load is over 80 percent and never do so.", False),
        ("A raft must not be launched if it is patched and cannot be.", False),
        ("No raft may be launched if it is patched and never.", False),
        ("If the river is high and is not low, do not launch a raft.", True),
        ("Do not launch a raft if the passenger cannot swim.", True),
        ("Do not launch a raft if no guide is aboard.", True),
        ("Do not launch a raft whose guide is not aboard.", True),
        ("If the raft is not without a guide, launch it.", False),
    ],
)
def test_a_ban_is_said_once(said: str, fine: bool) -> None:
    assert (negations.repeated(said) == ()) is fine


@pytest.mark.parametrize("join", [", ", "/", " & ", " – ", " - ", " plus ", ", then "])
def test_what_narrows_a_ban_twice_is_joined_by_a_word_or_stays_open(join: str) -> None:
    """The readings are both of them that a model could give: both facts together, and either."""
    facts = [Predicate(n, "state", "", test=cel.parse(f"state.{n}")) for n in ("raft_patched", "river_high")]
    used = [Predicate("launch_raft", "action", "", tools=("launch_raft",)), *facts]
    for formula in (
        "(raft_patched AND river_high)",
        "(raft_patched OR river_high)",
        "(raft_patched AND NOT river_high)",
    ):
        rule = Rule("c.1", "", parse(f"ALWAYS NOT (launch_raft AND {formula})"), "forbid", "action", "c", "")
        said = f"Never launch a patched raft{join}a raft on a high river."
        assert senses.together(said, [rule], used, BOX), formula
    said = "Never launch a patched raft on a high river."
    rule = Rule(
        "c.1", "", parse("ALWAYS NOT (launch_raft AND (raft_patched AND river_high))"), "forbid", "action", "c", ""
    )
    assert senses.together(said, [rule], used, BOX) == ()


BANS = "Do not launch a patched raft on the river and do not close the ramp for a high river."


@pytest.mark.parametrize(
    ("act", "fact", "fine"),
    [
        ("launch_raft", "NOT raft_patched", True),
        ("launch_raft", "raft_patched", False),
        ("close_ramp", "NOT river_high", True),
        ("close_ramp", "river_high", False),
    ],
)
def test_each_of_two_bans_gives_its_own_facts_their_signs(act: str, fact: str, fine: bool) -> None:
    named = fact.removeprefix("NOT ")
    used = [Predicate(act, "action", "", tools=(act,)), Predicate(named, "state", "", test=cel.parse(f"state.{named}"))]
    rule = Rule("c.1", "", parse(f"ALWAYS ({act} IMPLIES {fact})"), "forbid", "action", "c", "")
    assert (signs.signed(BANS, [rule], used, frozenset()) == ()) is fine
    both = "Do not launch a raft on the river and do not close a ramp by the river."
    rule = Rule("c.1", "", parse("ALWAYS (other IMPLIES river)"), "forbid", "action", "c", "")
    used = [Predicate("other", "action", ""), Predicate("river", "state", "")]
    assert signs.signed(both, [rule], used, frozenset()) == ("of which of its two bans a rule is cannot be told",)
