"""What a tool or a field is called by, what a sentence names, and what it may mean as well; each with its reject."""

import json

import pytest

from wb.domain import tools
from wb.logic import cel
from wb.rules import called
from wb.rules.rule import Predicate

TEXT, NUMBER = {"type": "string"}, {"type": "integer"}


def tool(name: str, description: str = "", keywords: tuple[str, ...] = (), **arguments: dict) -> dict:
    parameters = {"type": "object", "properties": arguments}
    return {"name": name, "description": description, "keywords": list(keywords), "parameters": parameters}


BOX = tools.parse(
    json.dumps(
        {
            "tools": [
                tool(
                    "water_plant",
                    "Water a plant, gently.",
                    ("irrigate",),
                    litres=NUMBER | {"description": "how much"},
                    bed_id=TEXT,
                    kind=TEXT | {"enum": ["fern", "moss"]},
                    note=TEXT,
                ),
                tool("water_plant_pot", "Water a pot."),
                tool("cut_plant", "Cut a plant."),
                tool("cut_plant_root", "Cut a root."),
                tool("get_bed", "Get the layout of a bed."),
                tool("List_seeds", "List the kinds of seeds."),
                tool("sow_rows_now", "Sow.", litres=NUMBER),
                tool("sow_rows_late", "Sow."),
                tool("add_items", "Add."),
                tool("trim", "Trim."),
                tool("trim_items", "Trim."),
                tool("dig_hole", "Dig."),
                tool("dig_hole_deep", "Dig."),
                tool("dig_hole_wide", "Dig."),
                tool("pick", "Pick.", (), days=NUMBER, metres=NUMBER | {"description": "in m"}, pause_days=NUMBER),
                tool("dry", "Dry.", (), rest=NUMBER | {"description": "in days"}, label=TEXT | {"description": "days"}),
                tool("pause", "Pause.", (), days=NUMBER, label=TEXT | {"description": "days"}, yards=NUMBER),
            ],
            "state": [
                {"name": "warm", "type": "boolean", "description": "", "keywords": ["heated house"]},
                {"name": "warm_water", "type": "boolean"},
                {"name": "season", "type": "string", "enum": ["dry", "wet"], "description": "time of the year"},
                {"name": "soil", "type": "string", "enum": ["peat", "wet"]},
                {"name": "acidity", "type": "number"},
                {"name": "tree_age", "type": "integer"},
                {"name": "tree_age_at_move", "type": "integer"},
                {"name": "user_age", "type": "integer"},
                {"name": "length_total", "type": "number"},
                {"name": "member", "type": "boolean"},
                {"name": "member_since", "type": "integer"},
            ],
        }
    )
)


def fact(name: str, test: str, *of: str) -> Predicate:
    return Predicate(name, "state", "", tools=of, test=cel.parse(test))


def act(name: str, *of: str, objects: tuple[str, ...] = ()) -> Predicate:
    return Predicate(name, "action", "", tools=of, objects=tuple(map(cel.parse, objects)))


P = {
    one.name: one
    for one in (
        fact("warm", "state.warm"),
        fact("dry", 'state.season == "dry"'),
        fact("wet", 'state.soil != "wet"'),
        fact("either", 'state.season in ["dry", "wet"]'),
        fact("acid", "state.acidity > 7"),
        fact("old", "state.tree_age > 7"),
        fact("aged", "state.user_age >= 18"),
        fact("long", "state.length_total > 3"),
        fact("much", "call.litres > 2", "water_plant"),
        fact("somewhere", "call.litres > 2"),
        fact("fern", 'call.kind == "fern"', "water_plant"),
        fact("noted", 'call.note != ""', "water_plant"),
        fact("bare", 'call.note == ""', "water_plant"),
        fact("named", 'call.note != "x"', "water_plant"),
        fact("seasonal", 'state.season != ""'),
        fact("member", "state.member"),
        fact("days", "call.days > 3", "pick"),
        fact("metres", "call.metres > 3", "pick"),
        fact("rest", "call.rest > 3", "dry"),
        fact("pausing", "call.days > 3", "pause"),
        fact("label", 'call.label == "3"', "pause"),
        Predicate("vague", "state", ""),
        act("water", "water_plant"),
        act("pot", "water_plant_pot"),
        act("bed", "get_bed"),
        act("seeds", "List_seeds"),
        act("items", "add_items"),
        act("cut", "cut_plant"),
        act("cuts", "cut_plant", "cut_plant_root"),
        act("plants", "water_plant", "cut_plant"),
        act("sow", "sow_rows_now", "sow_rows_late"),
        act("now", "sow_rows_now"),
        act("trim", "trim"),
        act("trims", "trim_items"),
        act("digs", "dig_hole_deep", "dig_hole_wide"),
        fact("sown", "call.litres > 2", "sow_rows_now", "sow_rows_late"),
        act("gone", "gone"),
        act("each", "water_plant", objects=("call.bed_id",)),
    )
}


def used(names: str) -> list[Predicate]:
    return [P[name] for name in names.split()]


WATER, ASKED, YEAR = "a water plant irrigate", " check view inspect see", "season time of the year"


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ("water", WATER),
        ("pot", "a water plant pot"),
        ("cuts", "a cut plant root"),
        ("bed", "get bed the layout" + ASKED),
        ("seeds", "list seeds the kinds" + ASKED),
        ("gone", ""),
        ("vague", ""),
        ("each", WATER + " bed id same per"),
        ("warm", "warm heated house"),
        ("dry", YEAR + " dry"),
        ("either", YEAR + " dry wet"),
        ("seasonal", YEAR),
        ("acid", "acidity"),
        ("much", WATER + " litres how much"),
        ("somewhere", "litres how much"),
        ("fern", WATER + " kind fern"),
        ("noted", WATER + " note give provide"),
        ("bare", WATER + " note"),
        ("named", WATER + " note x"),
        ("acid warm", "acidity warm heated house"),
    ],
)
def test_what_tools_and_fields_are_called_by(names: str, words: str) -> None:
    assert called.carried(used(names), BOX) == called.stems(words)


@pytest.mark.parametrize(
    ("said", "headings", "names", "why"),
    [
        ("water the plant", (), "water", ""),
        ("irrigate it", (), "water", ""),
        ("water it", (), "water", "water_plant"),
        ("water it", ("Plants",), "water", ""),
        ("it", ("Water", "Plants"), "water", ""),
        ("it", ("Water plants", "Others"), "water", "water_plant"),
        ("water", ("Plants", "Others"), "water", ""),
        ("cut it", (), "cut", "cut_plant"),
        ("cut it", (), "cuts", "cut_plant, cut_plant_root"),
        ("cut a plant", (), "cuts", ""),
        ("the plants", (), "plants", "water_plant, cut_plant"),
        ("sow", (), "sow", "sow_rows_now, sow_rows_late"),
        ("sow rows", (), "sow", ""),
        ("rows", ("Sow",), "sow", ""),
        ("it", ("Sow rows",), "sow", ""),
        ("it", ("Sow rows", "Others"), "sow", "sow_rows_now, sow_rows_late"),
        ("sow rows; water", (), "sow water water", "water_plant"),
        ("check the layout", (), "bed", ""),
        ("the layout", (), "bed", "get_bed"),
        ("see the kinds", (), "seeds", ""),
        ("the kinds", (), "seeds", "List_seeds"),
        ("check a seed", (), "seeds", "List_seeds"),
        ("list seeds", (), "seeds", ""),
        ("add", (), "items", ""),
        ("it", (), "items", "add_items"),
        ("trim", (), "trim", ""),
        ("trim", (), "trims", "trim_items"),
        ("trim items", (), "trims", ""),
        ("dig a hole", (), "digs", "dig_hole_deep, dig_hole_wide"),
        ("sow rows of litres", (), "now sown", "sow_rows_now"),
        ("cut a plant", (), "now cuts", "sow_rows_now"),
        ("check", (), "gone", "gone"),
        ("warm", (), "warm", ""),
        ("heated house", (), "warm", ""),
        ("house", (), "warm", "warm"),
        ("it", ("Warm",), "warm", "warm"),
        ("dry", (), "dry", ""),
        ("wet", (), "dry", ""),
        ("season", (), "dry", ""),
        ("the time of a year", (), "dry", ""),
        ("peat", (), "dry", "season"),
        ("it", (), "dry dry acid", "season, acidity"),
        ("it", (), "long", ""),
        ("it", (), "vague", ""),
        ("fern", (), "fern", ""),
        ("fern", (), "water fern", "water_plant"),
    ],
)
def test_what_a_sentence_names_of_its_rules(said: str, headings: tuple[str, ...], names: str, why: str) -> None:
    found = called.not_said(said, used(names), BOX, headings)
    assert found == ((f"not said by the sentence, but meant by its rule: {why}",) if why else ())
    acts, read = called.unnamed(f"**{said}**", used(names), BOX, headings)
    assert ", ".join((*acts, *(field.name for field in read))) == why


@pytest.mark.parametrize(
    ("said", "names", "why"),
    [
        ("water a plant", "water", "water_plant_pot"),
        ("water a plant", "water pot", ""),
        ("cut a plant", "cut", "cut_plant_root"),
        ("cut a plant", "cuts", ""),
        ("get a bed", "bed", ""),
        ("warm", "warm", ""),
        ("warm water", "warm", "warm_water"),
        ("heated house", "warm", ""),
        ("heated house with warm water", "warm", "warm_water"),
        ("member or warm", "warm", "member"),
        ("member", "warm", "member"),
        ("dry", "dry", ""),
        ("peat", "dry", "soil"),
        ("soil", "dry", ""),
        ("wet", "dry", "soil"),
        ("wet", "dry wet", ""),
        ("a season", "wet", ""),
        ("wet", "wet", "season"),
        ("dry", "warm", ""),
        ("tree age at move", "old", "tree_age_at_move"),
        ("tree", "old", ""),
        ("member since", "member", "member_since"),
        ("member", "old", ""),
        ("moss", "fern", ""),
        ("kind of a note", "fern", ""),
        ("wet moss", "fern", "season, soil"),
        ("litres", "much", ""),
        ("a bed or a note", "named", "bed_id"),
    ],
)
def test_what_a_sentence_may_mean_as_well(said: str, names: str, why: str) -> None:
    of = [] if any(P[name].kind == "action" for name in names.split()) else [act("other", "get_bed")]
    if "call." in cel.render(P[names.split()[0]].test) if P[names.split()[0]].test else False:
        of = [act("other", "water_plant")]
        why = ", ".join(("water_plant_pot", *filter(None, [why])))
    found = called.others(said, [*used(names), *of], BOX)
    assert found == ((f"it may as well mean {why}",) if why else ())


@pytest.mark.parametrize(
    ("said", "names", "why"),
    [
        ("over 3 days", "days", "it may as well mean pause_days, which is in such a unit too"),
        ("over 3 days of rest", "rest", ""),
        ("over 3 days", "rest", ""),
        ("over 3 metres or 3 m", "metres", ""),
        ("over 3 m", "metres", ""),
        ("over 3 km", "metres", "metres is in m, the sentence in km"),
        ("over 3 km or 3 m", "metres", ""),
        ("over 3 weeks or hours", "days", "days is in day, the sentence in hour, week"),
        ("over 3 weeks", "pausing", "days is in day, the sentence in week"),
        ("over 3 days", "pausing", ""),
        ("over 3 weeks", "label", ""),
        ("over 3 weeks", "warm", ""),
        ("over 3 weeks", "warm rest", "rest is in day, the sentence in week"),
        ("over 3 $", "days", "days is in day, the sentence in dollars"),
    ],
)
def test_another_unit_or_another_field_in_it_is_told(said: str, names: str, why: str) -> None:
    assert called.units(said, used(names), BOX) == ((why,) if why else ())


@pytest.mark.parametrize(
    ("said", "person"),
    [
        ("a person older than 7", True),
        ("people over 7", True),
        ("anyone who is under 7", True),
        ("a customer aged over 7", True),
        ("those above 7", True),
        ("a tree older than 7", False),
        ("a person with a tree over 7", False),
    ],
)
def test_the_age_of_a_person_is_told_from_that_of_a_tree(said: str, person: bool) -> None:
    told = ("it tells the age of a person: tree_age may be that of a thing",) if person else ()
    assert called.aged(said, used("acid aged warm vague old"), BOX) == told
    assert called.aged(said, used("acid aged warm vague"), BOX) == ()
    assert called.aged(said, [fact("grown", "state.tree_age == state.user_age")], BOX) == ()


@pytest.mark.parametrize(
    ("said", "names", "why"),
    [
        ("dry", "dry", ""),
        ("wet", "dry", "'dry'"),
        ("dry", "either", "'wet'"),
        ("it", "either", "'dry', 'wet'"),
        ("it", "either dry", "'dry', 'wet'"),
        ("wet and dry", "either wet", ""),
        ("it", "named warm acid vague", ""),
        ("it", "warm fern", "'fern'"),
    ],
)
def test_the_values_that_rules_mean_are_said(said: str, names: str, why: str) -> None:
    told = (f"not said by the sentence, but meant by its rule: {why}",) if why else ()
    assert called.values(said, used(names), BOX) == told


def test_the_names_of_an_act_are_those_of_its_tools() -> None:
    named = {name: called.names_of(P[name], BOX, "it") for name in ("water", "bed", "cuts", "gone", "items")}
    words = {
        "water": "water plant irrigate",
        "bed": "get bed",
        "cuts": "cut plant root",
        "gone": "",
        "items": "add item",
    }
    assert named == {name: called.stems(text) for name, text in words.items()}
    assert called.names_of(P["bed"], BOX, "check it") == called.stems("get bed layout")
    assert called.named_by(BOX.state[0]) == ("warm", "", "heated house")


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("You must water a plant.", ()),
        ("You must water a plant, and you must cut a root.", ("cut", "root")),
        ("Water the soil's e-mail, users' SOIL.", ("soil", "email")),
        ("Don't take this action.", ()),
        ("Don't take an action.", ("take", "action")),
        ("Water a two-litre plant-bed", ("two-litre", "plant-bed")),
        ("plant-water", ()),
        ("plant-the-water", ()),
        ("plant 3 days", ()),
        ("waters and plants", ()),
    ],
)
def test_words_that_are_left_over_are_told_once(said: str, left: tuple[str, ...]) -> None:
    assert called.left_over(said, used("water"), BOX) == left
    told = (f"not accounted for: {', '.join(map(repr, left))}",) if left else ()
    assert called.unspent(said, called.carried(used("water"), BOX)) == told


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("over 7", ()),
        ("over seven", ()),
        ("one over 7", ()),
        ("two over 7", ("not accounted for: 2",)),
        ("one of 7", ()),
        ("one", ("not said by the sentence, but meant by its rule: 7",)),
        ("seven by 8", ("not accounted for: 8", "not said by the sentence, but meant by its rule: 7")),
        ("7 and two of them", ()),
        ("7 or a8", ("a number that is not plain digits",)),
        ("7 or 10.000", ("a number that is not plain digits",)),
        ("7 and 10,000", ("not accounted for: 10000",)),
        ("9, 8 and 7", ("not accounted for: 8", "not accounted for: 9")),
    ],
)
def test_the_numbers_of_a_sentence_are_those_of_its_tests(said: str, why: tuple[str, ...]) -> None:
    assert called.numbers(said, used("old dry warm")) == why
    assert called.numbers("one", [fact("first", "state.tree_age > 1")]) == ()
    told = ("not said by the sentence, but meant by its rule: 1",)
    assert called.numbers("some", [fact("first", "state.tree_age > 1")]) == told


UNITS = ("second minute hour day week month year", "kb mb gb tb", "mg g kg mm cm m km ml l", "dollars euros pounds")


@pytest.mark.parametrize("family", UNITS)
def test_every_unit_is_told_from_the_others_of_its_family(family: str) -> None:
    own = family.split()
    arguments = {f"most_{one}": {"type": kind} for one, kind in zip(own, ["number", "integer"] * 5, strict=False)}
    box = tools.parse(
        json.dumps(
            {
                "tools": [
                    tool(f"use_{one}", "", (), **{of: arguments[of]}) for one, of in zip(own, arguments, strict=True)
                ]
                + [tool("use_any", "", (), **arguments)]
            }
        )
    )
    for one in own:
        (read,) = [fact("most", f"call.most_{one} < 5", f"use_{one}")]
        for other in own:
            told = () if one == other else (f"most_{one} is in {one}, the sentence in {other}",)
            assert called.units(f"at most 5 {other}", [read], box) == told
            assert called.units("at most 5", [read], box) == ()
        (anywhere,) = [fact("most", f"call.most_{one} < 5", "use_any")]
        others = ", ".join(f"most_{unit}" for unit in own if unit != one)
        told = (f"it may as well mean {others}, which is in such a unit too",)
        assert called.units(f"at most 5 {one}", [anywhere], box) == told
        assert called.units(f"at most 5 {one}", [fact("most", f'call.most_{one} == "5"', "use_any")], box) == ()


def test_what_is_said_of_a_given_argument_is_said_of_no_other_fact() -> None:
    of = ('call.note != ""', 'call.note == ""', 'call.note != "x"', 'state.season != ""', "call.litres > 2")
    assert [called._given(cel.parse(text)) for text in of] == [True, False, False, False, False]
    assert called.others("water a plant with litres", used("much"), BOX) == (), "of no act"
