"""What is in force of a sentence that was read in part: a reading that may be all it says, and nothing else.

The sentences are of no document that anything here was built on.
"""

from __future__ import annotations

import pytest
from bench import gold

from wb.domain import policy
from wb.domain.tools import Field, Tool, Toolbox
from wb.logic.syntax import render
from wb.rules.sentences import Account

BOX = Toolbox(
    (
        Tool("open_sluice", "Open the sluice of a field.", (Field("field", "string"),)),
        Tool("lend_ladder", "Lend a ladder.", (Field("member", "string"),)),
        Tool("print_notice", "Print a notice.", (Field("text", "string"),), mutating=False),
        Tool("change_planting", "Change what is planted.", (Field("bed", "string"), Field("review", "string"))),
    ),
    (
        Field("soil_dry", "boolean", "Whether the soil is dry"),
        Field("supervisor_agreed", "boolean", "the supervising keeper has agreed"),
    ),
)
GEESE = "Employees must not feed the geese."  # stands in each document: one that demands nothing is no policy
NOTHING: tuple[str, ...] = ()
# kind, document, what is right to have in force
TABLE = (
    # a quality of a thing, no act of the one who acts
    ("passive", "The beekeeper's address must be written on the hive.", NOTHING),
    ("passive", "Every jar of honey must be labelled with its weight.", NOTHING),
    ("passive", "A greenhouse must be built of glass.", NOTHING),
    ("passive", "The harvest report shall be signed by the warden.", NOTHING),
    ("passive", "Gates should be painted green.", NOTHING),
    # demands of somebody else
    ("somebody else", "A tenant who wants a second plot must send a letter to the warden.", NOTHING),
    ("somebody else", "The mayor shall open the spring fair.", NOTHING),
    ("somebody else", "Suppliers must deliver the compost to the north gate.", NOTHING),
    ("somebody else", "A valid ticket is required if the fair takes place indoors.", NOTHING),
    # examples and scenes
    ("scene", "Gardener B owns a plot Y outside the fence.", NOTHING),
    ("scene", "These do not count as theft:\n\n- Gardener A takes a plum from tree T.\n- A bird eats it.", NOTHING),
    ("example", "For example, water the beans with rain from the barrel.", NOTHING),
    # advice
    ("advice", "Ideally seedlings should be raised in the cold frame.", NOTHING),
    ("advice", "Try the second tap, on the left of the shed.", NOTHING),
    ("advice", "You may want to cover the roses with straw.", NOTHING),
    ("advice", "Preferably you should mulch the beds with leaves.", NOTHING),
    # pointers
    ("pointer", "Do not water the seedlings in that case.", NOTHING),
    ("pointer", "You must tell the warden about the damage anyway.", NOTHING),
    ("pointer", "Beehives have additional requirements.", NOTHING),
    ("pointer", "You must fence these plots.", NOTHING),
    ("pointer", "You must burn diseased plants as described in section 4.", NOTHING),
    ("pointer", "All employees must ensure the sheds comply with the fire safety rules.", NOTHING),
    # openings read alone
    ("opening", "The following plants are prohibited inside the greenhouse:", NOTHING),
    # exceptions in the next sentence, or behind a semicolon
    ("next", "Do not burn leaves in the garden. However, diseased leaves may be burnt in autumn.", NOTHING),
    ("next", "Do not burn leaves in the garden. This does not apply to diseased leaves.", NOTHING),
    ("next", "Never feed the geese; however, children may throw them bread in winter.", NOTHING),
    # rights
    ("right", "The club reserves the right to inspect a shed before harvest.", NOTHING),
    ("right", "The club reserves the right to:\n\n- inspect a shed before harvest; and\n- remove weeds.", NOTHING),
    # numbers, often, when
    ("number", "A tenant may have only one dog in the garden.", NOTHING),
    ("number", "Before cutting the hedge, wait three weeks for answers from the neighbours.", NOTHING),
    ("often", "You must check the bee boxes at least monthly.", NOTHING),
    ("often", "Employees must sweep the yard every evening.", NOTHING),
    ("often", "You must wear gloves in the nettle bed at all times.", NOTHING),
    ("when", "At the start of the season, you have to prune the apple trees.", NOTHING),
    ("when", "You must report a broken fence within two days.", NOTHING),
    ("where possible", "Wherever possible, plant hedges beside the path.", NOTHING),
    ("where possible", "Where feasible, you must collect rain in the barrel.", NOTHING),
    # acts of titles, tools that only share words
    ("title", "# Fencing and gates\n\nAll posts must have a cap which keeps the rain out.", NOTHING),
    ("shared words", "Planting changes must receive a review by the warden.", NOTHING),
    ("shared words", "Any ladder must carry a clear number plate.", NOTHING),
    # steps of a procedure, whose place among the others no rule says
    ("step", "1. Sharpen the scythes.\n2. You must oil the hinges.", NOTHING),
    ("step", "- Sharpen the scythes.", ("EVENTUALLY sharpen_scythes",)),
    ("step", "1. If a hive falls, call the warden.", ("ALWAYS (hive_falls IMPLIES EVENTUALLY call_warden)",)),
    # how to speak, what somebody is to be, what somebody else does
    ("title", "# Tone and style\n\nKeep the notices short.", NOTHING),
    ("role", "Act as a warden who opens only the north gate.", NOTHING),
    ("of somebody", "The fair requires all tenants to leave through the gate.", NOTHING),
    ("may not", "Plot numbers may not be given.", NOTHING),
    ("may not", "Employees may not leave the gate.", ("ALWAYS (leave_gate IMPLIES NOT employees)",)),
    # a field that says more than its phrase
    ("more", "Employees may not burn leaves without the supervision of a keeper.", NOTHING),
    # what is said completely stays
    ("said", "You must sharpen the scythes.", ("EVENTUALLY sharpen_scythes",)),
    ("said", "If a beehive falls over, call the warden.", ("ALWAYS (beehive_falls IMPLIES EVENTUALLY call_warden)",)),
    ("said", "Do not burn leaves in the garden.", ("ALWAYS NOT burn_leaves_in_garden",)),
    ("said", "Do not burn leaves in the garden. The garden is beside the lake.", ("ALWAYS NOT burn_leaves_in_garden",)),
    (
        "said",
        "A hedge must pass the nesting inspection before cutting.",
        ("ALWAYS (cut IMPLIES ONCE hedge_pass_nesting_inspection)",),
    ),
    (
        "said",
        "No person may cut a hedge in which a bird has not been counted.",
        ("ALWAYS (cut_hedge IMPLIES bird_has_been_counted_hedge)",),
    ),
    (
        "said",
        "Do not lend a ladder without the consent of the warden.",
        ("ALWAYS (lend_ladder IMPLIES consent_warden)",),
    ),
    ("said", "The sluice may only be opened if the soil is dry.", ("ALWAYS (open_sluice IMPLIES soil_dry)",)),
    ("said", "Employees must not touch the bees.", ("ALWAYS (touch_bees IMPLIES NOT employees)",)),
)


def read(text: str, monkeypatch: pytest.MonkeyPatch) -> tuple[tuple[str, ...], tuple[Account, ...]]:
    """The formulas in force, and the sentences, of a document."""
    text = f"{text}\n\n# Geese\n\n{GEESE}"
    monkeypatch.setattr(gold.documents, "load", lambda _: policy.of_text(text, BOX))
    found = gold.read.__wrapped__("")
    force = tuple(render(rule.formula) for rule in found.kept.rules if rule.text != GEESE)
    return force, found.accounts


@pytest.mark.parametrize(("kind", "text", "wanted"), TABLE, ids=[f"{kind}: {text[:40]}" for kind, text, _ in TABLE])
def test_what_is_in_force_of_a_sentence_read_in_part(
    kind: str, text: str, wanted: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    force, accounts = read(text, monkeypatch)
    assert force == wanted, [(one.text, one.cls, one.reason) for one in accounts]


@pytest.mark.parametrize(
    "text", [text for kind, text, _ in TABLE if kind not in ("scene", "right", "example", "advice", "title", "next")]
)
def test_what_is_not_in_force_is_open_and_not_lost(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, accounts = read(text, monkeypatch)
    assert accounts[0].cls in ("open", "rule") and (accounts[0].cls == "rule") == ("sluice" in text)


REASONS = (
    ("The harvest report shall be signed by the warden.", "who must do it is not said"),
    ("Suppliers must deliver the compost.", "somebody else must do it, and what must be done is not tied to a call"),
    ("You must burn these branches.", "it points to what stands elsewhere: 'these branches'"),
    ("You must burn diseased plants in accordance with the rules.", "it points to what stands elsewhere"),
    ("You must water the beans, for example from the barrel.", "it is an example"),
    ("# Examples\n\nYou must water the beans.", "it stands among examples: 'Examples'"),
    ("You must rake the paths where possible.", "it advises, or leaves a choice: 'where possible'"),
    ("The club has the right to burn leaves and must rake the paths.", "it keeps a right, which binds nobody"),
    ("To keep the paths clean:\n\n- Call the warden.\n- Release the ducks.", "it says how to come to an end"),
    ("The following plants are prohibited inside the greenhouse:", "it opens a list, and its items say the rest"),
    ("Do not burn leaves in the garden, although ash is good.", "although"),
    ("You must weed the beds weekly.", "no rule here says how often: 'weekly'"),
    ("Never burn leaves after dark.", "it says when, and its rule does not: 'after dark'"),
    ("You must rake the paths at the end of the season.", "it says when, and its rule does not: 'at the end'"),
    ("You must oil every hinge.", "it is asked for each, and its rule asks for one: 'every'"),
    ("You must prune trees that lean over the path.", "it is asked for those things alone: 'that lean'"),
    ("You must plant four trees.", "a number that no test has: 4"),
    ("You must request a plot before the season is over.", "its act is something that is so"),
    ("# Fencing and gates\n\nAll posts must have a cap.", "its act stands in a title, and no tool does it"),
    ("Bathers must shower before entering the pond.", "not accounted for: 'bathers'"),
    ("Do not burn leaves in the garden. However, twigs may be burnt.", "the next sentence may take something back"),
)


@pytest.mark.parametrize(("text", "reason"), REASONS, ids=[text[:50] for text, _ in REASONS])
def test_the_reason_says_what_is_missing(text: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    force, accounts = read(text, monkeypatch)
    said = [one.reason for one in accounts if one.cls == "open"]
    assert not force and any(reason in one for one in said), said


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Every gardener knows the shed that must be locked.", ()),
        ("You must know what should be done: call the warden.", ()),
        ("Call the warden, who can open the shed.", ("EVENTUALLY call_warden_can_open_shed",)),
        ("You must burn the leaves and rake these leaves.", ("EVENTUALLY burn_leaves_and_rake_leaves",)),
        ("You must burn the leaves and rake these paths.", ()),
        ("Call 1-800-BEES if a hive falls.", ("ALWAYS (hive_falls IMPLIES EVENTUALLY call_1_800_bees)",)),
        ("To keep the paths clean:\n\n- You must call the warden.", ("EVENTUALLY call_warden",)),
    ],
)
def test_what_a_word_belongs_to(text: str, wanted: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    force, accounts = read(text, monkeypatch)
    assert force == wanted, [(one.text, one.reason) for one in accounts]
