"""Windows in time: their text, their meaning, monitors of them, guards by them, and decisions about them."""

import importlib
import importlib.util
import json
import random
from dataclasses import replace
from itertools import product

import pytest
from formulas import random_formula
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import timed
from test_objects import event, times, window

from wb.bench import recorded
from wb.domain import events
from wb.domain.tools import Field, Source, Tool, Toolbox
from wb.domain.trace import Call, Step, Trace
from wb.guards import contract
from wb.guards.runtime import CallGuard, Guarded
from wb.logic import automaton, decide, facts, objects, semantics
from wb.logic import formula as F
from wb.logic.objects import Slices
from wb.logic.semantics import KLEENE, Past, at, holds, table
from wb.logic.syntax import STYLES, FormulaError, parse, render
from wb.logic.times import SECOND, duration, written
from wb.rules import check, decisions, rulefile
from wb.rules.rule import Predicate, Rule, RuleSet
from wb.shield import circuit
from wb.shield.shield import Shield

HOUR = 3600 * SECOND
UNARY, BINARY = (F.Not, F.Previously, F.Once, F.Historically), (F.And, F.Or, F.Xor, F.Implies, F.Iff, F.Since)


# ---- text ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("ONCE[<= 24h] a(r)", "ONCE[<= 24h] a(r)"),
        ("O[<=1h]a AND b", "ONCE[<= 1h] a AND b"),
        ("⟐[<= 90m] a", "ONCE[<= 1h30m] a"),
        ("H[<= 0.5s] (a OR b)", "HISTORICALLY[<= 500ms] (a OR b)"),
        ("NOT ONCE[<= 1h] NOT a", "HISTORICALLY[<= 1h] a"),
        ("COUNT[<= 3, 24h] a", "COUNT[<= 3, 24h] a"),
        ("COUNT[>=1,24h] a", "ONCE[<= 24h] a"),
        ("COUNT[<= 0, 24h] a", "NOT ONCE[<= 24h] a"),
        ("NOT COUNT[<= 2, 0s] (a AND b)", "NOT COUNT[<= 2, 0s] (a AND b)"),
        ("COUNT[>= 2, 1h] ONCE[<= 2h] a", "COUNT[>= 2, 1h] ONCE[<= 2h] a"),
    ],
)
def test_spellings(text: str, same: str) -> None:
    assert render(parse(text)) == same and parse(same) == parse(text)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(STYLES))
def test_a_window_is_read_back_from_its_text(seed: int, style: str) -> None:
    rng = random.Random(seed)
    windows = [lambda body: F.Recently(body, rng.randint(1, 4), rng.choice((0, 1, 10**6, HOUR, 10**14 + 1)))] * 4
    formula = random_formula(rng, 4, ["a", "b(r)", "c(r, s)"], (*UNARY, *windows), BINARY)
    assert parse(render(formula, style)) == formula


@given(st.integers(0, 2**63 - 1))
def test_a_length_of_time_is_read_back(nanoseconds: int) -> None:
    assert duration(written(nanoseconds)).nanoseconds == nanoseconds


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ONCE[<= 24] a", "a time such as 24h or 1h30m was required; got 24"),
        ("ONCE[<= 1d] a", "a time such as 24h or 1h30m was required; got 1d"),
        ("ONCE[<= 99999999999h] a", "a time such as 24h"),
        ("COUNT[>= 0, 1h] a", "a number from 1"),
        ("COUNT[<= 5000, 1h] a", "a number up to 1000"),
        ("ONCE[>= 24h] a", "LEFT SQUARE BRACKET"),
        ("ONCE[<= -1h] a", "LEFT SQUARE BRACKET"),
        ("PREVIOUSLY[<= 1h] a", "LEFT SQUARE BRACKET"),
        ("a SINCE[<= 1h] b", "LEFT SQUARE BRACKET"),
        ("EVENTUALLY[<= 1h] a", "LEFT SQUARE BRACKET"),
    ],
)
def test_what_is_no_window_says_why(text: str, words: str) -> None:
    with pytest.raises(FormulaError) as caught:
        parse(text)
    assert words in str(caught.value)


def test_windows_differ_by_their_numbers() -> None:
    apart = [parse(text) for text in ("ONCE[<= 1h] a", "ONCE[<= 2h] a", "COUNT[>= 2, 1h] a", "ONCE a")]
    assert len({*apart, *map(repr, apart)}) == 8
    for bad in ((0, 1), (1, -1)):
        with pytest.raises(ValueError, match="a number of times from 1"):
            F.Recently(F.TRUE, *bad)


# ---- meaning ------------------------------------------------------------------------------------

NONE = None


@pytest.mark.parametrize(
    ("text", "trace", "expected"),
    [
        # (what is true, hours) at each step; the bound belongs to the window
        ("ONCE[<= 24h] a", [("a", 0), ("", 24)], True),
        ("ONCE[<= 24h] a", [("a", 0), ("", 24.0001)], False),
        ("ONCE[<= 24h] a", [("a", 0)], True),
        ("ONCE[<= 24h] a", [("", 0), ("", 1)], False),
        ("HISTORICALLY[<= 1h] a", [("", 0), ("a", 1.5), ("a", 2)], True),
        ("HISTORICALLY[<= 1h] a", [("", 0), ("a", 1)], False),
        ("COUNT[<= 2, 1h] a", [("a", 0), ("a", 0.5), ("a", 1)], False),
        ("COUNT[<= 2, 1h] a", [("a", 0), ("a", 0.5), ("a", 1.1)], True),
        ("COUNT[<= 2, 1h] a", [("a", 0), ("a", 0), ("a", 0)], False),
        ("COUNT[>= 2, 1h] a", [("a", 0), ("", 2), ("a", 2)], False),
        ("PREVIOUSLY ONCE[<= 1h] a", [("a", 0), ("", 1), ("", 9)], True),  # an hour before the step before
        # a step without a time lies between those before and after it
        ("ONCE[<= 1h] a", [("a", 0), ("", NONE)], None),
        ("ONCE[<= 1h] a", [("a", NONE), ("", 0)], None),
        ("ONCE[<= 1h] a", [("a", NONE), ("", 0), ("", 2)], False),
        ("ONCE[<= 1h] a", [("a", 0), ("", 2), ("", NONE)], False),
        ("ONCE[<= 1h] a", [("a", 0), ("a", NONE), ("", 1)], True),
        ("ONCE[<= 1h] a", [("", 0), ("a", NONE), ("", 2)], None),
        ("ONCE[<= 1h] a", [("", NONE), ("a", NONE)], True),
        ("ONCE[<= 1h] a", [("", NONE), ("", NONE)], False),
        ("COUNT[<= 1, 1h] a", [("a", NONE), ("a", NONE)], None),
        ("COUNT[<= 2, 1h] a", [("a", NONE), ("a", NONE)], True),
        # once time has run backwards, windows tell of the present step alone
        ("ONCE[<= 1h] a", [("a", 5), ("", 4)], None),
        ("ONCE[<= 1h] a", [("", 5), ("", 4)], None),
        ("ONCE[<= 1h] a", [("", 5), ("a", 4)], True),
        ("ONCE[<= 1h] a", [("a", 0), ("", 5), ("", 4), ("", 99)], None),
        ("COUNT[<= 1, 1h] a", [("", 5), ("", 4), ("", 99)], None),
    ],
)
def test_meaning_by_hand(text: str, trace: list, expected: bool | None) -> None:
    formula, past = parse(text), Past(parse(text))
    told = [{"a": names == "a"} | ({} if hour is None else {F.TIME: int(hour * HOUR)}) for names, hour in trace]
    for step in told[:-1]:
        past.step(step)
    assert past.peek(told[-1])[0] is past.peek(told[-1])[0] is table(formula, told, KLEENE)[-1] is expected
    assert past.step(told[-1])[0] is expected


@pytest.mark.parametrize("strange", [True, 1.0, "1", float("nan")])
def test_a_time_that_is_no_whole_number_is_none(strange: object) -> None:
    assert table(parse("ONCE[<= 1h] a"), [{"a": True, F.TIME: 0}, {"a": False, F.TIME: strange}], KLEENE)[-1] is None


def random_trace(rng: random.Random, told: list[int | None]) -> list[dict]:
    often = rng.choice((0.3, 0.5))
    steps = [{name: rng.choice((True, False, False, None)) for name in "ab" if rng.random() > 0.1} for _ in told]
    steps = [
        {name: True if truth is None and rng.random() > often else truth for name, truth in s.items()} for s in steps
    ]
    return [step | {F.TIME: time} for step, time in zip(steps, told, strict=True)]


def test_a_monitor_says_what_the_definition_says() -> None:
    known = 0
    for seed in range(400):
        rng = random.Random(seed)
        formula = random_formula(rng, 4, "ab", (*UNARY, *[window(rng) for _ in range(4)]), BINARY)
        past, trace = Past(formula), random_trace(rng, times(rng, rng.randint(1, 10)))
        found = []
        for step in trace:
            assert past.peek(step) == past.peek(step), "looking changes nothing"
            found += past.step(step)
        assert tuple(found) == table(formula, trace, KLEENE), (seed, render(formula))
        known += sum(truth is not None for truth in found)
    assert known > 800


def test_what_is_known_without_times_holds_for_all_times() -> None:
    """Every way to put times in is tried, of those that do not run backwards."""
    known = 0
    for seed in range(80):
        rng = random.Random(seed)
        formula = random_formula(rng, 3, "ab", (*UNARY, *[window(rng) for _ in range(4)]), BINARY)
        told = [None if rng.random() < 0.4 else time for time in range(100, 100 + 2 * rng.randint(1, 5), 2)]
        trace = [{"a": rng.random() < 0.5, "b": rng.random() < 0.5, F.TIME: time} for time in told]
        truths = table(formula, trace, KLEENE)
        for filled in product(*[range(98, 112) if time is None else (time,) for time in told]):
            if list(filled) == sorted(filled):
                names = [{n for n in "ab" if step[n]} | {at(time)} for step, time in zip(trace, filled, strict=True)]
                assert all(one in (None, other) for one, other in zip(truths, table(formula, names), strict=True))
        known += sum(truth is not None for truth in truths)
    assert known > 100


def test_two_truths_need_every_time() -> None:
    with pytest.raises(ValueError, match="one at every step"):
        holds(parse("ONCE[<= 1h] a"), [{"a"}], 0)
    with pytest.raises(ValueError, match="followed in three truths"):
        Past(parse("ONCE[<= 1h] a"), truths=semantics.TWO)
    with pytest.raises(automaton.AutomatonError, match="a window in time"):
        automaton.compile(parse("ALWAYS ONCE[<= 1h] a"))


def test_bounded_since_is_since_and_once() -> None:
    """`(a SINCE b) AND ONCE[<= d] b` is MTL's: some step within the time had `b`, and all after it `a`."""
    formula = parse("(a SINCE b) AND ONCE[<= 2ns] b")
    for seed in range(300):
        rng = random.Random(seed)
        told = sorted(rng.choices(range(8), k=6))
        steps = [{"a": rng.random() < 0.6, "b": rng.random() < 0.3, F.TIME: time} for time in told]
        since = any(
            told[-1] - told[j] <= 2 and steps[j]["b"] and all(step["a"] for step in steps[j + 1 :]) for j in range(6)
        )
        assert table(formula, steps, KLEENE)[-1] is since


THEIRS = {  # the same in reelay, whose steps are a second apart
    "cancel(r) IMPLIES ONCE[<= 3s] get(r)": "({tool: cancel, r: *x} -> once[0:3]{tool: get, r: *x})",
    "cancel(r) IMPLIES NOT ONCE[<= 4s] get(r)": "({tool: cancel, r: *x} -> not (once[0:4]{tool: get, r: *x}))",
    "cancel(r) IMPLIES (NOT cancel(r) SINCE get(r)) AND ONCE[<= 5s] get(r)": (
        "({tool: cancel, r: *x} -> ((not {tool: cancel, r: *x}) since[0:5]{tool: get, r: *x}))"
    ),
    "cancel(r) IMPLIES PREVIOUSLY ONCE[<= 2s] get(r)": ("({tool: cancel, r: *x} -> pre (once[0:2]{tool: get, r: *x}))"),
    "cancel(r) AND ONCE[<= 6s] ONCE[<= 2s] get(r) IMPLIES ONCE[<= 7s] get(r)": (
        "(({tool: cancel, r: *x} and once[0:6](once[0:2]{tool: get, r: *x})) -> once[0:7]{tool: get, r: *x})"
    ),
}


if importlib.util.find_spec("reelay"):  # a peer of the benches (`pip install .[bench]`), which the tests do without
    reelay = importlib.import_module("reelay")

    @pytest.mark.parametrize("text", THEIRS)
    def test_reelay_says_the_same_of_steps_a_second_apart(text: str) -> None:
        said = set()
        for seed in range(6):
            rng = random.Random(seed)
            slices, pattern = Slices(parse(text)), f"forall[x]. {THEIRS[text]}"
            theirs = reelay.discrete_timed_monitor(pattern=pattern, semantics="boolean", condense=False)
            for second in range(60):
                tool, which = rng.choice(("get", "cancel", "look")), rng.randint(1, 3)
                named = {"b": which} if tool == "get" else {"a": which} if tool == "cancel" else {}
                ours = {"a": "cancel", "b": "get"}
                step = {ours[name]: truth for name, truth in event(**named).items()} | {F.TIME: second * SECOND}
                found = slices.step(step)
                assert found is theirs.update({"tool": tool, "r": f"o{which}"})["value"], (seed, second)
                said.add(found)
        assert said == {True, False}


def test_what_is_remembered_is_what_may_still_count() -> None:
    past = Past(parse("COUNT[<= 3, 1h] a"))
    for i in range(1000):
        past.step({"a": True, F.TIME: i * SECOND})
    assert [len(times) for times in past._memory[0]] == [4, 4]
    slices = Slices(parse("cancel(r) IMPLIES COUNT[<= 3, 1h] cancel(r)"))
    most = 0
    for i in range(5000):  # each object once: an hour later it is no longer live
        slices.step({"cancel": objects.Among({(i,): True}, False, True), F.TIME: i * 60 * SECOND})
        most = max(most, len(slices), len(slices._groups))
    assert most < 2 * 61 + 3 * objects.FEW


def test_objects_without_a_time_are_dated_by_the_next() -> None:
    slices, rule = Slices(parse("a(r) IMPLIES ONCE[<= 1h] b(r)")), event(a=1)
    slices.step(event(b=1))
    assert slices.peek(rule | {F.TIME: 5 * HOUR}) is None
    slices.step(event() | {F.TIME: 0})
    assert slices.peek(rule | {F.TIME: HOUR}) is None, "it may have been long before"
    assert slices.peek(rule | {F.TIME: HOUR + 1}) is False
    slices.step(event(b=1) | {F.TIME: HOUR})
    assert slices.peek(rule | {F.TIME: 2 * HOUR}) is True
    slices.step(event() | {F.TIME: 3})
    assert slices.peek(rule | {F.TIME: 2 * HOUR}) is None, "time ran backwards"
    assert slices.peek(event() | {F.TIME: 2 * HOUR}) is True, "nothing is asked of what was not done"


# ---- rule files and guards ----------------------------------------------------------------------

FILE = """
predicates:
  cancel: {kind: action, description: the agent cancels, tools: [cancel_order], objects: [call.id]}
  book: {kind: action, description: the agent books, tools: [book_order], objects: [call.id]}
  attempt: {kind: action, tools: [charge], objects: [call.id]}
  send: {kind: action, tools: [send]}
rules:
  - {id: day, text: Cancel within 24 hours of booking., modality: permit_only_if,
     formula: "ALWAYS (cancel(o) IMPLIES ONCE[<= 24h] book(o))"}
  - {id: three, text: At most three attempts in an hour., modality: forbid,
     formula: "ALWAYS (attempt(o) IMPLIES COUNT[<= 3, 1h] attempt(o))"}
  - {id: slow, text: One message a minute., modality: forbid,
     formula: "ALWAYS (send IMPLIES COUNT[<= 1, 1m] send)"}
"""
NAMES = {"cancel": "cancel_order", "book": "book_order", "charge": "charge", "send": "send"}
ID = (Field("id", "string"),)
BOX = Toolbox(
    (Tool("cancel_order", arguments=ID), Tool("book_order", arguments=ID), Tool("charge", arguments=ID), Tool("send")),
    (Field("now", "string"),),
)


def allowing(one: contract.Contract) -> str:
    """The guard that allows exactly what the contract does."""
    return f"{one.signature}\n    return ({one.allows}, 'said')\n"


@pytest.fixture(scope="module")
def rules() -> RuleSet:
    return rulefile.loads(FILE)


@pytest.fixture(scope="module")
def guard(rules: RuleSet) -> CallGuard:
    made = contract.contracts(BOX, rules)
    kept = tuple(Guarded(one, contract.assemble(allowing(one), one), "tested") for one in made)
    return CallGuard("orders", rules, kept, frozenset({"tested"}), BOX)


def moment(clock: str) -> str:
    day, hour = clock.split("T") if "T" in clock else ("01", clock)
    return f"2026-03-{day}T{hour}:00Z"


@pytest.mark.parametrize(
    ("story", "decision"),
    [
        ("10:00 book A; 02T10:00 cancel A", "allow"),
        ("10:00 book A; 02T10:01 cancel A", "deny"),
        ("10:00 book A; 11:00 cancel B", "deny"),
        ("10:00 book A; 02T11:00 book A; 03T10:00 cancel A", "allow"),
        ("10:00 charge A; 10:20 charge A; 10:40 charge A; 11:00 charge A", "deny"),
        ("10:00 charge A; 10:20 charge A; 10:40 charge A; 11:01 charge A", "allow"),
        ("10:00 charge A; 10:20 charge A; 10:40 charge A; 10:50 charge B", "allow"),
        ("10:00 charge A; 10:20 charge A; 10:40 charge A; 10:50 charge A; 11:01 charge A", "allow"),  # denied: not done
        ("10:00 send; 10:01 send", "deny"),
        ("10:00 send; 10:02 send", "allow"),
        ("? send", "allow"),
        ("? send; ? send", "undecided"),
        ("10:00 send; ? send", "undecided"),
        ("? send; 10:00 send", "undecided"),
        ("? book A; 10:00 cancel A", "undecided"),
        ("10:00 book A; ? cancel A", "undecided"),
        ("? cancel A", "deny"),
        ("10:00 book A; 09:00 cancel A", "undecided"),
        ("10:00 book A; 09:00 send; 11:00 cancel A", "undecided"),
        ("10:00 book A; 09:00 send; 11:00 book A; 12:00 cancel A", "undecided"),
    ],
)
def test_a_guard_judges_a_story_by_the_clock(guard: CallGuard, story: str, decision: str) -> None:
    session = guard.session()
    for said in story.split("; "):
        clock, verb, *rest = said.split()
        session.state({} if clock == "?" else {"now": moment(clock)})
        verdict = session.call(NAMES[verb], {"id": rest[0]} if rest else {})
    assert verdict.decision == decision, verdict
    if decision == "undecided":
        assert "by state.now" in verdict.missing[0]


def test_the_time_may_come_from_the_session_s_clock(guard: CallGuard, rules: RuleSet) -> None:
    """Nobody tells the state: the session fills it, for a rule that reads no other field."""
    box = replace(BOX, state=(Field("now", "string", source=Source("clock")),))
    times = iter(["10:00", "10:01", "10:03"])
    one = CallGuard("g", rules, guard.guarded, guard.accepted, box).session(clock=lambda: moment(next(times)))
    assert [one.call("send").decision for _ in range(3)] == ["allow", "deny", "allow"]


def test_the_times_of_events_date_the_calls_of_a_recording(guard: CallGuard, rules: RuleSet) -> None:
    box = replace(BOX, state=(Field("now", "string", source=Source("clock")),))
    clocked = CallGuard("g", rules, guard.guarded, guard.accepted, box)
    rows = []
    for clock, verb in (("10:00", "book"), ("02T10:00", "cancel"), ("02T10:01", "cancel")):
        call = {"tool": NAMES[verb], "arguments": {"id": "A"}}
        rows += [{"run": "r", "call": call, "time": moment(clock)}, {"run": "r", "result": "done"}]
    for dated, expected in ((True, ["allow", "allow", "deny"]), (False, ["allow", "undecided", "undecided"])):
        told = [{key: value for key, value in row.items() if dated or key != "time"} for row in rows]
        (run,) = events.loads("\n".join(map(json.dumps, told)))
        assert [one.verdict.decision for one in recorded.judge(clocked, run.events)] == expected


@pytest.mark.parametrize("now", ["yesterday", "2026-03-01T10:00:00", 5, None, "2026-13-01T10:00:00Z"])
def test_what_is_no_time_is_unknown(guard: CallGuard, rules: RuleSet, now: object) -> None:
    free = CallGuard("free", rules, guard.guarded, guard.accepted)
    booked = Step((Call("book_order", {"id": "A"}),), {"now": "2026-03-01T10:00:00Z"})
    asked = Step((Call("cancel_order", {"id": "A"}),), {"now": now})
    assert free.decide(Trace("t", (booked, asked))).decision == "undecided"


def test_a_step_whose_calls_were_asked_for_at_two_times_lies_between_the_steps_beside_it(guard: CallGuard) -> None:
    session = guard.session()
    session.state({"now": moment("09:00")})
    session.call("send")
    for clock, tool, order in (("10:00", "book_order", "A"), ("10:01", "book_order", "B")):
        session.state({"now": moment(clock)})
        session.call(tool, {"id": order}, step=7)
    decisions = {}
    for clock in ("10:02", "02T10:00", "02T10:01", "02T10:03"):
        session.state({"now": moment(clock)})
        decisions[clock] = session.call("cancel_order", {"id": "A"}).decision
    assert list(decisions.values()) == ["allow", "allow", "undecided", "deny"], decisions


def test_zones_are_heeded(guard: CallGuard) -> None:
    session = guard.session()
    session.state({"now": "2026-03-01T23:30:00-05:00"})
    session.call("book_order", {"id": "A"})
    session.state({"now": "2026-03-03T05:30:00+01:00"})
    assert session.call("cancel_order", {"id": "A"}).decision == "allow", "24 hours to the second"
    session.state({"now": "2026-03-03T05:30:01+01:00"})
    assert session.call("cancel_order", {"id": "A"}).decision == "deny"


def test_a_contract_names_the_window_and_what_it_rests_on(rules: RuleSet) -> None:
    made = {one.tool: one for one in contract.contracts(BOX, rules)}
    (within,) = made["cancel_order"].parameters
    assert (within.name, within.type, within.timed, within.trusted) == ("once_within_24h_book", "bool", True, True)
    assert within.about == "over the steps of the last 24h, for the same id: the agent books"
    (count,) = made["charge"].parameters
    assert count.name == "at_least_4_within_1h_attempt"
    assert made["charge"].conditions == ("not at_least_4_within_1h_attempt",)
    mixed = contract.over(parse("a SINCE ONCE[<= 1h] COUNT[>= 2, 2h] b"))
    assert mixed == "over the steps so far, and those of the last 2h and of the last 1h"


def test_a_rule_file_is_read_back(rules: RuleSet) -> None:
    assert rulefile.loads(rulefile.dumps(rules)) == rulefile.from_json(rulefile.to_json(rules)) == rules


def test_a_rule_that_only_a_clock_could_keep_of_all_objects_is_refused(rules: RuleSet) -> None:
    for text in ("ALWAYS (send IMPLIES ONCE[<= 1h] book(o))", "ALWAYS (cancel(o) IMPLIES ONCE[<= 1h] book(p))"):
        with pytest.raises(ValueError, match="demands something of every"):
            RuleSet(rules.predicates, (Rule("r", "", parse(text), "forbid"),))
    kept = parse("ALWAYS (send AND ONCE[<= 1h] book(o) IMPLIES COUNT[>= 2, 2h] book(o))")
    assert RuleSet(rules.predicates, (Rule("r", "", kept, "forbid"),))


def test_a_shield_does_not_decide_by_windows(rules: RuleSet) -> None:
    actions = {p.name: [r.id for r in rules.rules if p.name in r.predicates] for p in rules.predicates}
    session = Shield(rules.predicates, circuit.build(rules, actions), toolbox=BOX).session()
    session.state({"now": "2026-03-01T10:00:00Z"})
    assert session.call("send").decision == "undecided"
    assert session.call("charge", {"id": "A"}).decision == "undecided"


# ---- the same object, and what was given before ---------------------------------------------------


def pays(rule: str) -> RuleSet:
    """Rules about payments and refunds: of an order, by a method, of an amount."""
    order, method, agent = (facts.Path(("call", name)) for name in ("order", "method", "agent"))
    known = (
        Predicate("pay", "action", "", tools=("pay",), objects=(order, method)),
        Predicate("refund", "action", "", tools=("refund",), objects=(order, method)),
        Predicate("refunds", "action", "", tools=("refund",), objects=(order,)),
        Predicate("request", "action", "", tools=("request",), objects=(order, agent)),
        Predicate("approve", "action", "", tools=("approve",), objects=(order, agent)),
        Predicate("pays", "action", "", tools=("pay",), objects=(order,)),
        Predicate("certificate", "action", "", tools=("certify",), objects=(order,)),
    )
    return RuleSet(known, (Rule("r", "", parse(f"ALWAYS ({rule})"), "forbid"),)).without_unused()


@pytest.mark.parametrize(
    ("rule", "story", "decision"),
    [
        # no two refunds of one order: ever, and in a day
        ("refunds(o) IMPLIES COUNT[<= 1] refunds(o)", "refund A card; refund B card", "allow"),
        ("refunds(o) IMPLIES COUNT[<= 1] refunds(o)", "refund A card; refund A cash", "deny"),
        ("certificate(r) IMPLIES COUNT[<= 1] certificate(r)", "certify A -; certify A -", "deny"),
        ("certificate(r) IMPLIES COUNT[<= 1] certificate(r)", "certify A -; certify B -", "allow"),
        # the refund goes to a method that the same order was paid by
        ("refund(o, m) IMPLIES ONCE pay(o, m)", "pay A card; refund A card", "allow"),
        ("refund(o, m) IMPLIES ONCE pay(o, m)", "pay A card; refund A cash", "deny"),
        ("refund(o, m) IMPLIES ONCE pay(o, m)", "pay A card; pay B cash; refund B card", "deny"),
        # to the one that it was paid by last
        ("refund(o, m) IMPLIES NOT (pays(o) AND NOT pay(o, m)) AND (NOT pays(o) SINCE pay(o, m))",
         "pay A card; pay A cash; refund A cash", "allow"),
        ("refund(o, m) IMPLIES NOT (pays(o) AND NOT pay(o, m)) AND (NOT pays(o) SINCE pay(o, m))",
         "pay A card; pay A cash; refund A card", "deny"),
        # to the same as every payment before
        ("refund(o, m) AND ONCE pay(o, n) AND NOT ONCE pay(o, m) IMPLIES false", "pay A card; refund A cash", "deny"),
        ("refund(o, m) AND ONCE pay(o, n) AND NOT ONCE pay(o, m) IMPLIES false", "refund A cash", "allow"),
        # four eyes: whoever asked does not approve
        ("approve(o, a) IMPLIES NOT ONCE request(o, a)", "request A ann; approve A ann", "deny"),
        ("approve(o, a) IMPLIES NOT ONCE request(o, a)", "request A ann; approve A bob", "allow"),
    ],
)  # fmt: skip
def test_what_two_objects_have_in_common(rule: str, story: str, decision: str) -> None:
    rules = pays(rule)
    second = {"pay": "method", "refund": "method", "request": "agent", "approve": "agent", "certify": "agent"}
    tools = tuple(dict.fromkeys(tool for p in rules.predicates for tool in p.tools))
    made = [contract.contract(Tool(tool), rules) for tool in dict.fromkeys((*tools, *second))]
    kept = tuple(Guarded(one, contract.assemble(allowing(one), one), "tested") for one in made)
    session = CallGuard("g", rules, kept, frozenset({"tested"})).session()
    for said in story.split("; "):
        tool, order, other = said.split()
        verdict = session.call(tool, {"order": order, second[tool]: other})
    assert verdict.decision == decision, verdict


# ---- decisions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "first", "second", "yes"),
    [
        ("implies", "ALWAYS (a IMPLIES COUNT[<= 2, 24h] a)", "ALWAYS (a IMPLIES COUNT[<= 3, 24h] a)", True),
        ("implies", "ALWAYS (a IMPLIES COUNT[<= 3, 24h] a)", "ALWAYS (a IMPLIES COUNT[<= 2, 24h] a)", False),
        ("implies", "ALWAYS (a IMPLIES COUNT[<= 3, 24h] a)", "ALWAYS (a IMPLIES COUNT[<= 3, 1h] a)", True),
        ("implies", "ALWAYS (a IMPLIES COUNT[<= 3, 1h] a)", "ALWAYS (a IMPLIES COUNT[<= 3, 24h] a)", False),
        ("implies", "ALWAYS (a IMPLIES COUNT[<= 3] a)", "ALWAYS (a IMPLIES COUNT[<= 3, 24h] a)", True),
        ("implies", "ALWAYS (a IMPLIES COUNT[<= 3, 24h] a)", "ALWAYS (a IMPLIES COUNT[<= 3] a)", False),
        ("implies", "ALWAYS (a IMPLIES ONCE[<= 1h] b)", "ALWAYS (a IMPLIES ONCE b)", True),
        ("implies", "ALWAYS (a IMPLIES ONCE b)", "ALWAYS (a IMPLIES ONCE[<= 1h] b)", False),
        ("contradictory", "EVENTUALLY (a AND ONCE[<= 1h] b)", "ALWAYS (a IMPLIES NOT ONCE b)", True),
        ("contradictory", "EVENTUALLY (a AND ONCE[<= 2h] b)", "ALWAYS (a IMPLIES NOT ONCE[<= 1h] b)", False),
        ("contradictory", "EVENTUALLY (a AND ONCE[<= 1h] b)", "ALWAYS (a IMPLIES NOT ONCE[<= 1h] (b OR a))", True),
        ("equivalent", "ALWAYS (a IMPLIES NOT COUNT[>= 2, 1h] a)", "ALWAYS (a IMPLIES COUNT[<= 1, 1h] a)", True),
        ("implies", "ALWAYS COUNT[<= 1, 1h] a", "ALWAYS COUNT[<= 1, 1h] (a AND b)", True),
    ],
)  # fmt: skip
def test_decisions_by_hand(question: str, first: str, second: str, yes: bool) -> None:
    answer = getattr(decide, question)(parse(first), parse(second))
    assert answer.yes is yes
    if answer.witness is not None:
        assert all(any(name.startswith("@") for name in step) for step in answer.witness), "it tells its times"


def test_what_is_not_decided_says_so() -> None:
    with pytest.raises(automaton.AutomatonError, match="undecided: no times were found"):
        decide.valid(parse("ALWAYS (ONCE[<= 1h] ONCE[<= 1h] a IMPLIES ONCE[<= 2h] a)"))
    with pytest.raises(automaton.AutomatonError, match="undecided: a window that counts to at most 32"):
        decide.satisfiable(parse("ALWAYS COUNT[<= 999, 1h] a"))


WORDS = [  # every trace of up to three steps over two predicates at times of up to four seconds
    tuple((step, second * SECOND) for step, second in zip(steps, seconds, strict=True))
    for length in (1, 2, 3)
    for steps in product([frozenset(), frozenset("a"), frozenset("b"), frozenset("ab")], repeat=length)
    for seconds in product(range(5), repeat=length)
    if seconds[0] == 0 and list(seconds) == sorted(seconds)
]


def small(rng: random.Random) -> F.Formula:
    """A small formula with windows of one and two seconds, which some step is to satisfy."""
    windows = [lambda body: F.Recently(body, rng.choice((1, 1, 2)), rng.choice((1, 2)) * SECOND)] * 3
    unary, binary = (F.Not, F.Once, F.Previously, *windows), (F.And, F.Or, F.Since)
    one, other = (random_formula(rng, 2, "ab", unary, binary) for _ in "12")
    if rng.random() < 0.5:
        return F.Eventually(F.And(one, other))
    return F.Eventually(F.And(windows[0](one), F.Not(windows[0](F.Or(one, other)))))


def decided_rightly(seeds: range) -> tuple[int, int, int]:
    """How often no trace was said to satisfy a random formula, how often one was shown, and how often neither.

    The traces are tried by the evaluator that shares nothing with `wb` but the syntax tree.
    """
    none = shown = neither = 0
    for seed in seeds:
        formula = small(random.Random(seed))
        if not F.windows(formula):
            continue
        try:
            answer = decide.satisfiable(formula)
        except automaton.AutomatonError:
            neither += 1
            continue
        if answer.witness is None:
            none += 1
            assert not any(satisfies(formula.body, word) for word in WORDS), (seed, render(formula))
        else:
            shown += 1
            told = [duration(name[1:]).nanoseconds for step in answer.witness for name in step if name.startswith("@")]
            assert satisfies(formula.body, tuple(zip(answer.witness, told, strict=True))), (seed, render(formula))
    return none, shown, neither


def satisfies(body: F.Formula, word: timed.Timed) -> bool:
    """Whether some step of a word with times satisfies a formula."""
    return any(timed.held(body, word, i) for i in range(len(word)))


def test_decisions_agree_with_trying_all_small_traces() -> None:
    none, shown, neither = decided_rightly(range(40))
    assert none > 5 and shown > 15 and neither < 4


def test_a_rule_set_with_windows_is_checked(rules: RuleSet) -> None:
    more = [
        ("two", "ALWAYS (attempt(o) IMPLIES COUNT[<= 2, 1h] attempt(o))"),
        ("ever", "ALWAYS (cancel(o) IMPLIES ONCE book(o))"),
    ]
    made = [Rule(name, "", parse(text), "forbid") for name, text in more]
    report = check.check(replace(rules, rules=(*rules.rules, *made)))
    shown = check.render(report)
    assert report.objects == 2 and report.satisfiable and not report.undecided, shown
    assert "three is implied by two" in shown and "ever is implied by day" in shown
    assert any(name.startswith("@") for step in report.witness for name in step)


def test_rules_with_windows_that_exclude_each_other_are_found(rules: RuleSet) -> None:
    late = Rule("late", "", parse("ALWAYS (cancel(o) IMPLIES NOT ONCE[<= 24h] book(o))"), "forbid")
    report = check.check(replace(rules, rules=(rules.rules[0], late)))
    assert "can never fire while" in check.render(report), check.render(report)


# ---- who may write them ---------------------------------------------------------------------------


def test_a_persons_window_needs_a_clock(rules: RuleSet) -> None:
    entry = decisions.Ruling(
        id="0" * 12,
        text="Cancel within 24 hours.",
        decision="rule",
        why="by hand",
        predicates={"send": {"kind": "action", "tools": ["send"]}},
        rules=[{"formula": "ALWAYS (send IMPLIES COUNT[<= 1, 1m] send)", "modality": "forbid"}],
    )
    own = decisions.fragment(entry)
    written = rulefile.Written(None, {}, "decisions.yaml", decisions.DecisionError)
    assert not list(decisions._undeclared(own, BOX, written, ()))
    (wrong,) = decisions._undeclared(own, replace(BOX, state=()), written, ())
    assert "a field now of the state, the time, was required; got []" in wrong


@pytest.mark.parametrize("text", ["COUNT[<3] a", "COUNT[about 3] a", "ONCE[24h] a"])
def test_another_form_of_a_count_or_a_time_is_told_the_right_one(text: str) -> None:
    with pytest.raises(FormulaError, match=r"COUNT\[<= 3\], ONCE\[<= 24h\]"):
        parse(text)


def test_what_changes_nothing_at_any_time_is_told_beside_windows_too() -> None:
    past = Past(parse("ONCE a OR ONCE[<= 1h] b"))
    quiet = (False,) * len(past.names)
    assert not past.still(past.start, quiet), "not true yet"
    _, memory = past.after(past.start, tuple(name == "a" for name in past.names), 0, True)
    assert past.still(memory, quiet), "true for good, and no window counts anything"
    assert not past.still(memory, tuple(name == "b" for name in past.names)), "a window counts it"
