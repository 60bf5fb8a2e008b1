"""Readings agree exactly where they allow the same runs; a reader that is wrong in any one place never agrees."""

# ruff: noqa: E501 - the toolbox and the tables of pairs are data
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wb.domain import tools
from wb.domain.trace import Call, Step
from wb.logic import cel, decide
from wb.logic import formula as f
from wb.logic.formula import Formula
from wb.logic.semantics import holds
from wb.logic.syntax import parse, render
from wb.rules import agreement, truths
from wb.rules.readers import Reading
from wb.rules.rule import Predicate
from wb.rules.vocabulary import Entry, of_entries

BOX = tools.parse(
    """{"tools": [
      {"name": "rent", "parameters": {"type": "object", "properties": {"id": {"type": "string"}, "days": {"type": "integer"}}}},
      {"name": "sell", "parameters": {"type": "object", "properties": {"id": {"type": "string"}}}},
      {"name": "check", "mutating": false, "parameters": {"type": "object", "properties": {"id": {"type": "string"}}}}],
    "state": [{"name": "age", "type": "integer"}, {"name": "member", "type": "boolean"}, {"name": "calm", "type": "boolean"}]}"""
)


def act(name: str, *names: str, objects: bool = False) -> Predicate:
    return Predicate(name, "action", name, (), names, None, (cel.parse("call.id"),) if objects else ())


def fact(name: str, test: str, *names: str) -> Predicate:
    return Predicate(name, "state", name, (), names, cel.parse(test))


ENTRIES = (
    act("rent", "rent"),
    act("sell", "sell"),
    act("check", "check"),
    act("greet"),
    act("rent_it", "rent", objects=True),
    act("check_it", "check", objects=True),
    fact("adult", "state.age >= 18"),
    fact("teen", "state.age >= 15"),
    fact("member", "state.member"),
    fact("calm", "state.calm"),
    fact("long", "call.days > 7", "rent"),
)
WORDS = of_entries([Entry(p) for p in ENTRIES], BOX)


def reading(*formulas: str) -> Reading:
    return Reading(tuple(map(parse, formulas)))


def settled(*readings: Reading) -> agreement.Agreement:
    return agreement.settle(readings, WORDS)


@pytest.mark.parametrize(
    ("one", "other", "outcome"),
    [
        (["ALWAYS (rent IMPLIES adult)"], ["ALWAYS NOT (rent AND NOT adult)"], "agreed"),
        (
            ["ALWAYS (rent IMPLIES adult)", "ALWAYS (rent IMPLIES calm)"],
            ["ALWAYS (rent IMPLIES (calm AND adult))"],
            "agreed",
        ),
        (["ALWAYS (rent IMPLIES adult)", "ALWAYS (rent IMPLIES teen)"], ["ALWAYS (rent IMPLIES adult)"], "agreed"),
        (["ALWAYS (rent IMPLIES ONCE check)"], ["ALWAYS (rent IMPLIES NOT (NOT ONCE check))"], "agreed"),
        (
            ["ALWAYS (rent_it(o) IMPLIES ONCE check_it(o))"],
            ["ALWAYS (NOT ONCE check_it(r) IMPLIES NOT rent_it(r))"],
            "agreed",
        ),
        ([], [], "agreed"),
        (["ALWAYS (adult IMPLIES EVENTUALLY greet)"], [], "agreed"),  # no call breaks either
        (["ALWAYS (rent IMPLIES adult)"], ["ALWAYS (rent IMPLIES teen)"], "differ"),
        (["ALWAYS (rent IMPLIES adult)"], [], "differ"),
        (["ALWAYS (rent IMPLIES adult)"], ["ALWAYS (adult IMPLIES rent)"], "differ"),
        (["ALWAYS (rent IMPLIES adult)"], ["ALWAYS (sell IMPLIES adult)"], "differ"),
        (["ALWAYS ((rent OR sell) IMPLIES adult)"], ["ALWAYS (rent IMPLIES adult)"], "differ"),
        (["ALWAYS (rent IMPLIES (adult OR member))"], ["ALWAYS (rent IMPLIES (adult AND member))"], "differ"),
        (["ALWAYS (rent IMPLIES ONCE check)"], ["ALWAYS (check IMPLIES ONCE rent)"], "differ"),
        (["ALWAYS (rent_it(o) IMPLIES ONCE check_it(o))"], ["ALWAYS (rent IMPLIES ONCE check)"], "differ"),
        (["ALWAYS (rent IMPLIES COUNT[<= 3] rent)"], ["ALWAYS (rent IMPLIES COUNT[<= 2] rent)"], "differ"),
        # a step of several calls adds more than one to a count, so that counts and steps are no substitutes
        (
            ["ALWAYS (rent IMPLIES PREVIOUSLY ONCE check)"],
            ["ALWAYS (rent IMPLIES COUNT[>= 2] (ONCE check AND (check OR NOT check)))"],
            "differ",
        ),
        (
            ["ALWAYS (rent IMPLIES COUNT[<= 1] rent)"],
            ["ALWAYS (rent IMPLIES (COUNT[<= 5] rent AND NOT PREVIOUSLY ONCE rent))"],
            "differ",
        ),
        (
            ["ALWAYS (rent_it(o) IMPLIES COUNT[<= 1] rent_it(o))", "ALWAYS (rent_it IMPLIES COUNT[<= 2] rent_it)"],
            ["ALWAYS (rent_it(o) IMPLIES COUNT[<= 1] rent_it(o))"],
            "differ",
        ),
        (["ALWAYS (rent IMPLIES COUNT[<= 2] rent)"], ["ALWAYS NOT (rent AND COUNT[>= 3] rent)"], "agreed"),
        # the same of whole steps, and not of what the guard of one tool keeps
        (["ALWAYS (sell IMPLIES NOT rent)"], ["ALWAYS (rent IMPLIES HISTORICALLY (sell IMPLIES NOT rent))"], "differ"),
        (["ALWAYS (sell IMPLIES NOT rent)"], ["ALWAYS NOT (rent AND sell)"], "agreed"),
        (
            ["ALWAYS (rent IMPLIES COUNT[<= 2] rent)", "ALWAYS (rent IMPLIES COUNT[<= 3] rent)"],
            ["ALWAYS (rent IMPLIES COUNT[<= 2] rent)"],
            "agreed",
        ),
        (
            ["ALWAYS (rent IMPLIES COUNT[<= 2, 24h] rent)", "ALWAYS (rent IMPLIES COUNT[<= 3, 1h] rent)"],
            ["ALWAYS (rent IMPLIES COUNT[<= 2, 24h] rent)"],
            "agreed",
        ),
        (
            ["ALWAYS ((rent AND adult AND NOT teen) IMPLIES calm)"],
            ["ALWAYS ((rent AND adult AND NOT teen) IMPLIES member)"],
            "differ",
        ),  # vacuous: nobody meant that
    ],
)
def test_readings_agree_where_they_allow_the_same_runs(one: list[str], other: list[str], outcome: str) -> None:
    first, second = reading(*one), reading(*other)
    for found in (settled(first, second), settled(second, first)):
        assert found.outcome == outcome
        if found.apart is not None:
            left, right = (f.conjunction(agreement.guarding(r.formulas, WORDS)) for r in (first, second))
            copies = [f.conjunction(agreement.copies(part)) for part in (left, right)]
            assert holds(copies[0], found.apart) is not holds(copies[1], found.apart), "the run tells them apart"


def test_a_reading_that_cannot_be_used_agrees_with_none() -> None:
    good, bad = reading("ALWAYS (rent IMPLIES adult)"), Reading(problem="no reply")
    assert settled(good, bad).outcome == "unusable"
    assert settled(good, bad, good).grade == "agreed 2 of 3"
    assert settled(good, reading("ALWAYS (rent IMPLIES calm)"), bad).outcome != "agreed"


def test_a_disputed_entry_opens_what_rests_on_it() -> None:
    entries = [Entry(p, disputed="two tests differ" if p.name == "adult" else "") for p in ENTRIES]
    words = of_entries(entries, BOX)
    same = reading("ALWAYS (rent IMPLIES adult)")
    found = agreement.settle((same, same), words)
    assert found.outcome == "unusable" and "two tests differ" in found.reason
    assert agreement.settle((reading("ALWAYS (rent IMPLIES calm)"),) * 2, words).outcome == "agreed"


FACTS = st.sampled_from(["adult", "teen", "member", "calm", "long", "ONCE check"])
CONDITIONS = st.recursive(
    FACTS.map(parse),
    lambda inner: st.one_of(inner.map(f.Not), st.builds(f.And, inner, inner), st.builds(f.Or, inner, inner)),
    max_leaves=4,
)
RULES = st.builds(
    lambda name, body: f.Always(f.Implies(f.Atom(name), body)), st.sampled_from(["rent", "sell"]), CONDITIONS
)


def mutants(formula: Formula) -> Iterator[Formula]:
    """The formula wrong in one place: a negation more, and for or, a part left out, another name, sides swapped."""
    for node in dict.fromkeys(f.subformulas(formula)):
        if isinstance(node, f.Always):
            continue
        new: list[Formula] = [f.Not(node)]
        match node:
            case f.And(left, right):
                new += [f.Or(left, right), left, right]
            case f.Or(left, right):
                new += [f.And(left, right), left, right]
            case f.Implies(left, right):
                new += [f.Implies(right, left)]
            case f.Atom(name):
                pool = (
                    ["adult", "teen", "member", "calm"] if name not in ("rent", "sell", "check") else ["rent", "sell"]
                )
                new += [f.Atom(other) for other in pool if other != name]
        yield from (f.substitute(formula, {node: one}) for one in new)


@given(RULES, st.data())
def test_a_reader_that_is_wrong_in_one_place_never_agrees_but_where_it_says_the_same(
    rule: Formula, data: st.DataObject
) -> None:
    wrong = data.draw(st.sampled_from(list(mutants(rule))))
    found = settled(Reading((rule,)), Reading((wrong,)))
    names = {*f.predicates(rule), *f.predicates(wrong)}
    given = agreement.background([p for p in ENTRIES if p.name in names], BOX, rule, wrong)
    if found.outcome == "agreed":
        left, right = (f.conjunction(agreement.guarding((one,), WORDS)) for one in (rule, wrong))
        assert decide.equivalent(left, right, given), f"{render(rule)} is not {render(wrong)}"


@given(st.lists(RULES, min_size=2, max_size=2))
def test_what_is_assumed_is_known_just_where_all_readings_say_the_same(rules: list[Formula]) -> None:
    (whole,), meant = agreement.assumed([[one] for one in rules], "first_reading")
    names = sorted({name for one in rules for name in f.predicates(one)})
    for bits in range(2 ** len(names)):
        step = frozenset(name for k, name in enumerate(names) if bits >> k & 1)
        truths = [holds(one, [step]) for one in rules]
        said = {holds(whole, [step]), holds(whole, [step | {meant.name}])}
        assert said == set(truths) if truths[0] is truths[1] else said == {True, False}


def test_what_is_agreed_of_a_tool_is_in_force_for_it_and_the_rest_is_held() -> None:
    both = ["ALWAYS ((rent OR sell) IMPLIES adult)"]
    found = agreement.by_tool([reading(*both), reading("ALWAYS (rent IMPLIES NOT (NOT adult))")], WORDS)
    assert found.tools == ("sell",)
    (rule,) = found.formulas
    assert decide.equivalent(rule, parse("ALWAYS (rent IMPLIES adult)"))
    apart = agreement.by_tool(
        [reading(*both), reading("ALWAYS (rent IMPLIES calm)", "ALWAYS (sell IMPLIES calm)")], WORDS
    )
    assert apart == agreement.Partly((), ("rent", "sell"))
    of_objects = ["ALWAYS (rent_it(o) IMPLIES ONCE check_it(o))", "ALWAYS (sell IMPLIES adult)"]
    found = agreement.by_tool([reading(*of_objects), reading(*of_objects[1:])], WORDS)
    assert "rent" in found.tools and len(found.formulas) == 1, "nothing about objects is put in force for one tool"


def test_an_act_that_is_disputed_opens_all_that_change_something_and_no_constant_is_an_entry() -> None:
    from wb.rules import extract

    disputed = Entry(act("rent", "check"), by="bindings differ", disputed="writers have it done by two tools")
    words = of_entries([disputed, *(Entry(p) for p in ENTRIES[1:])], BOX)
    one = reading("ALWAYS (rent IMPLIES adult)")
    found = agreement.settle([one, one], words)
    readings = {"A": one, "B": one}
    made = extract._extract(next(iter(_pieces("Only adults may rent."))), readings, found, words, "agreed")
    assert (made.cls, made.tools) == ("open", None), "nobody knows which tool it is about"
    firm = extract._extract(next(iter(_pieces("Only adults may rent."))), readings, settled(one, one), WORDS, "agreed")
    assert firm.cls == "rule"
    for name in ("true", "false"):
        with pytest.raises(ValueError, match="no constant"):
            Predicate(name, "state", "at least 18 years old")


def test_a_part_that_may_say_another_number_holds_its_tool_as_well() -> None:
    from wb.rules import extract

    words = of_entries([*(Entry(p) for p in ENTRIES), Entry(fact("rich", "state.age >= 45"))], BOX)
    one = reading("ALWAYS (rent IMPLIES rich)", "ALWAYS (sell IMPLIES member)")
    other = reading("ALWAYS (rent IMPLIES rich)", "ALWAYS (sell IMPLIES calm)")
    piece = next(iter(_pieces("Boats are rented for up to 7 days and sold to members.")))
    found = agreement.settle([one, other], words)
    made = extract._extract(piece, {"A": one, "B": other}, found, words, "agreed")
    assert (made.cls, made.formulas, set(made.tools or ())) == ("open", (), {"rent", "sell"})
    plain = next(iter(_pieces("Boats are rented to the rich and sold to members.")))
    made = extract._extract(plain, {"A": one, "B": other}, found, words, "agreed")
    assert made.tools == ("sell",) and len(made.formulas) == 1, "of renting they agree, and no number is lost"


def test_nothing_tells_which_binding_or_reading_is_meant() -> None:
    other = fact("adult", "state.age >= 16")
    words = of_entries(
        [Entry(ENTRIES[0]), Entry(ENTRIES[6], by="bindings differ", disputed="x", others=(other, other))], BOX
    )
    meant = next(p for p in words.enforced if p.name.endswith("__first"))
    _, reading_meant = agreement.assumed([[parse("ALWAYS (rent IMPLIES calm)")], []], "s1__first")
    for one in (meant, reading_meant):
        step = Step((Call("rent", {}),), {one.name: True, "age": 20})
        assert truths.reader(one)(step, step.calls[0]) is None
        assert truths.told_by(one) == ()


def _pieces(text: str):
    from wb.domain import policy as documents

    return documents.pieces(documents.of_text(text, BOX))


@pytest.mark.parametrize(
    ("calls", "judged", "truth"),
    [
        ([("rent", 1)], 0, False),
        ([("rent", 9), ("rent", 1)], 1, False),
        ([("rent", 1), ("lease", 50)], 1, None),  # a rule may mean the lease, of which the fact tells nothing
        ([("rent", 1), ("rent", 2)], None, False),
        ([("rent", 1), ("rent", 9)], None, None),
        ([("rent", 1), ("lease", 50)], None, None),
        ([], None, None),
    ],
)
def test_a_fact_of_calls_is_told_by_the_call_in_question_else_by_all_of_the_step(calls, judged, truth) -> None:
    step = Step(tuple(Call(tool, {"days": days}) for tool, days in calls))
    call = step.calls[judged] if judged is not None else None
    assert truths.reader(WORDS.entry("long").predicate)(step, call) is truth
