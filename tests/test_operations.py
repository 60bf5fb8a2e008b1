"""The loop of operations: what is asked at a call, in which order, and that it decides as asking all does."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace

import pytest
from bench import airline
from bench import operations as beside
from conftest import ROOT
from hypothesis import example, given, settings
from hypothesis import strategies as st

from wb.domain import detectors, events, tools
from wb.domain.answers import Answer, Question
from wb.domain.session import Session, SessionError
from wb.domain.tools import ToolError
from wb.domain.trace import Verdict
from wb.guards.runtime import CallGuard
from wb.logic import cel
from wb.logic.syntax import parse
from wb.rules.rule import Predicate, Rule, RuleSet
from wb.shield import circuit
from wb.shield.shield import Shield

ID = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
NAMES = ("a", "b", "c", "d", "e", "q", "s")  # five lookups, of which one is told by another; a question; a told one


def box(costs: Mapping[str, float]) -> tools.Toolbox:
    def lookup(name: str, of: str = "call.id") -> dict:
        source = {"lookup": f"get_{name}", "arguments": {"id": of}, "changed_by": []}
        return {"name": name, "type": "boolean", "from": {**source, "path": "is", "cost": costs[name]}}

    owner = {"lookup": "get_a", "arguments": {"id": "call.id"}, "changed_by": [], "path": "owner", "cost": costs["a"]}
    asked = {"question": "Did the user agree?", "of": ["user"], "cost": costs["q"], "arguments": {"id": "call.id"}}
    state = [
        lookup("a"),
        {"name": "owner", "type": "string", "from": owner},
        *[lookup(name) for name in "bcd"],
        lookup("e", "state.owner"),
        {"name": "q", "type": "boolean", "from": asked},
        {"name": "s", "type": "boolean"},
    ]
    reads = [{"name": f"get_{name}", "mutating": False, "parameters": ID} for name in "abcde"]
    return tools.parse(json.dumps({"tools": [*reads, *[{"name": n, "parameters": ID} for n in ACTS]], "state": state}))


ACTS = ("pay", "send")
PREDICATES = (
    *(Predicate(name, "action", "", tools=(name,)) for name in ACTS),
    *(Predicate(f"is_{name}", "state", "", test=cel.parse(f"state.{name}")) for name in NAMES),
)
FLAT = st.recursive(
    st.sampled_from([f"is_{name}" for name in NAMES]),
    lambda one: st.one_of(
        one.map(lambda a: f"NOT ({a})"),
        st.tuples(one, st.sampled_from(["AND", "OR", "IMPLIES"]), one).map(lambda t: f"({t[0]}) {t[1]} ({t[2]})"),
    ),
    max_leaves=4,
)
BODY = st.one_of(
    FLAT,
    FLAT.map(lambda one: f"ONCE (send AND ({one}))"),
    st.tuples(FLAT, FLAT).map(lambda two: f"({two[0]}) OR PREVIOUSLY ({two[1]})"),
)
RULE = st.tuples(st.sampled_from(ACTS), BODY).map(lambda two: f"ALWAYS ({two[0]} IMPLIES ({two[1]}))")
ENDS = st.sampled_from(["done", "awaited", "late", "failed"])  # what is told of a call's result, and when
CALLS = st.lists(
    st.tuples(st.sampled_from(ACTS), st.sampled_from("xy"), st.sampled_from([None, 1, 2]), ENDS), min_size=1, max_size=4
)
WORLD = st.dictionaries(st.tuples(st.sampled_from(NAMES), st.sampled_from("xyz")), st.sampled_from([True, False]))


def judges(rules: list[str], costs: Mapping[str, float]) -> dict:
    ruleset = RuleSet(PREDICATES, tuple(Rule(f"r{i}", "", parse(t), "forbid", quote=t) for i, t in enumerate(rules)))
    by_act = {act: tuple(rule.id for rule in ruleset.rules if act in rule.predicates) for act in ACTS}
    shield = Shield(PREDICATES, circuit.build(ruleset, by_act), toolbox=box(costs))
    return {"guard": airline.guarded("guard", box(costs), ruleset), "shield": shield}


def decided(
    judge: object, world: Mapping, calls: list, said: bool, told: bool | None, considered: list | None = None, **options
) -> tuple:
    """The decisions, what was asked, and the record; with a list, each call is considered before, and found there."""
    asked, record = [], io.StringIO()

    def ask(tool: str, given: dict) -> dict:
        name = tool.removeprefix("get_")
        asked.append(name)
        if (name, given["id"]) not in world:
            raise OSError("down")
        return {"is": world[name, given["id"]], **({"owner": "z"} if name == "a" else {})}

    def answer(question: Question) -> Answer:
        asked.append("q")
        return Answer(world.get(("q", question.about["id"])), "yes" if said else "no such words", by="M")

    session = Session(judge, ask=ask, answer=answer, record=record, **options)
    session.say("user", "yes, do it")
    verdicts, late = [], []
    for number, (act, of, *more) in enumerate(calls):
        step, end = more or (None, "done")
        if told is not None or number:
            session.state({} if told is None else {"s": told})
        if considered is not None:
            considered.append(session.consider(act, {"id": of}, None).verdict)
        verdicts.append(session.call(act, {"id": of}, step, call_id=None if end == "done" else f"c{number}"))
        if end == "failed" and verdicts[-1].decision == "allow":
            session.result("no", f"c{number}", True)
        for one in late:
            session.result("fine", one)
        late = [f"c{number}"] * (end == "late" and verdicts[-1].decision == "allow")
    return verdicts, asked, record.getvalue()


@pytest.mark.parametrize("kind", ["guard", "shield"])
@settings(max_examples=100, deadline=None)
@given(
    st.lists(RULE, min_size=1, max_size=3),
    CALLS,
    WORLD,
    st.fixed_dictionaries({name: st.sampled_from([0, 0.5, 1, 3, 10]) for name in NAMES}),
    st.booleans(),
    st.sampled_from([True, False, None]),
)
@example(
    ["ALWAYS (pay IMPLIES (ONCE (send AND (is_b))))"],
    [("send", "x", None, "done"), ("pay", "x", None, "awaited")],
    {("b", "x"): True},
    dict.fromkeys(NAMES, 1),
    True,
    None,
)
def test_the_loop_decides_as_asking_all_does_whatever_the_costs(kind, rules, calls, world, costs, said, told) -> None:
    judge = judges(rules, costs)[kind]
    loop, asked, record = decided(judge, world, calls, said, told)
    whole, everything, _ = decided(judge, world, calls, said, told, ask_all=True)
    assert [one.decision for one in loop] == [one.decision for one in whole]
    assert len(asked) <= len(everything)
    for one, other in zip(loop, whole, strict=True):
        assert set(one.violated) <= set(other.violated)
    happened = [event for run in events.loads(record) for event in run.events]
    assert list(Session(judge).replay(happened)) == loop, "a record decides the same, and nobody is asked"


class Told:
    """A memory that says whatever it is given of what was useful."""

    def __init__(self, useful: Mapping[str, float]) -> None:
        self.order = lambda judge, tool: useful


@pytest.mark.parametrize("kind", ["guard", "shield"])
@settings(max_examples=60, deadline=None)
@given(
    st.lists(RULE, min_size=1, max_size=3),
    CALLS,
    WORLD,
    st.dictionaries(st.sampled_from([*(f"get_{name}" for name in "abcde"), "q"]), st.floats(0, 1)),
    st.booleans(),
)
def test_no_memory_changes_a_verdict(kind, rules, calls, world, useful, said) -> None:
    """Whatever it holds, also what an attacker put there: it is an order of what costs the same."""
    judge = judges(rules, dict.fromkeys(NAMES, 1))[kind]
    without, _, _ = decided(judge, world, calls, said, None)
    ordered, _, _ = decided(judge, world, calls, said, None, memory=Told(useful))
    assert [one.decision for one in without] == [one.decision for one in ordered]


@pytest.mark.parametrize("kind", ["guard", "shield"])
@settings(max_examples=60, deadline=None)
@given(st.lists(RULE, min_size=1, max_size=3), CALLS, WORLD, st.booleans())
def test_to_consider_a_call_changes_no_verdict_and_says_what_the_call_would_get(
    kind, rules, calls, world, said
) -> None:
    judge = judges(rules, dict.fromkeys(NAMES, 1))[kind]
    calls = [(act, of, None, "awaited" if end == "done" else end) for act, of, _, end in calls]
    alone, asked, _ = decided(judge, world, calls, said, None)
    considered: list[Verdict] = []
    after, again, record = decided(judge, world, calls, said, None, considered)
    assert [one.decision for one in alone] == [one.decision for one in after] == [one.decision for one in considered]
    happened = [event for run in events.loads(record) for event in run.events]
    assert [one.decision for one in Session(judge).replay(happened)] == [one.decision for one in after]


def test_what_was_useful_is_asked_first_among_equals_and_never_before_what_is_cheaper() -> None:
    world = {("b", "x"): False, ("c", "x"): True}
    judge = judges(["ALWAYS (pay IMPLIES (is_b OR is_c))"], dict.fromkeys(NAMES, 1))["guard"]
    for memory, asked in ((None, "bc"), (Told({"get_b": 0.2}), "c"), (Told({"get_c": 0.2}), "bc")):
        assert "".join(decided(judge, world, [("pay", "x")], True, None, memory=memory)[1]) == asked
    judge = judges(["ALWAYS (pay IMPLIES (is_b OR is_c))"], {**dict.fromkeys(NAMES, 1), "c": 2})["guard"]
    assert "".join(decided(judge, world, [("pay", "x")], True, None, memory=Told({"get_b": 0.0}))[1]) == "bc"


# ---- which is next, and when it ends -------------------------------------------------------------

LEVEL = {"a": 1, "b": 3, "c": 2, "d": 0, "e": 1, "q": 10}


def asked_for(rule: str, world: Mapping, **options) -> tuple[Verdict, list[str]]:
    judge = judges([f"ALWAYS (pay IMPLIES ({rule}))"], LEVEL)["guard"]
    (verdict,), asked, _ = decided(judge, world, [("pay", "x")], True, None, **options)
    return verdict, asked


@pytest.mark.parametrize(
    ("rule", "true", "asked", "decision"),
    [
        ("is_b AND is_c", "bc", "cb", "allow"),
        ("is_b AND is_c", "b", "c", "deny"),
        ("is_b OR is_c", "bc", "c", "allow"),
        ("is_q AND is_b", "q", "b", "deny"),
        ("is_b OR NOT is_b OR is_c", "", "", "allow"),
        ("is_e OR is_d", "", "dae", "deny"),  # what tells whom to ask about is asked as well
    ],
)
def test_the_cheapest_that_can_still_change_the_verdict_is_asked(rule, true, asked, decision) -> None:
    world = {(name, of): name in true for name in NAMES for of in "xyz"}
    verdict, got = asked_for(rule, world)
    assert (verdict.decision, "".join(got)) == (decision, asked)


@pytest.mark.parametrize(("most", "decision"), [(0, "undecided"), (1, "undecided"), (2, "allow")])
def test_at_the_cap_it_is_undecided_with_what_was_not_asked(most: int, decision: str) -> None:
    world = dict.fromkeys([("b", "x"), ("c", "x")], True)
    verdict, asked = asked_for("is_b AND is_c", world, max_operations=most)
    assert (verdict.decision, len(asked)) == (decision, most)
    assert ("get_b was not asked" in verdict.reason) == (most < 2)


@pytest.mark.parametrize(("name", "value"), [("max_operations", -1), ("max_operations", True), ("ask_all", 1)])
def test_a_cap_that_is_none_is_refused(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"{name}: .* required"):
        Session(judges(["ALWAYS (pay IMPLIES is_a)"], LEVEL)["guard"], **{name: value})


def test_what_an_open_sentence_keeps_undecided_is_not_asked_about() -> None:
    judge = judges(["ALWAYS (pay IMPLIES (is_s OR is_b))"], LEVEL)["guard"]
    judge = replace(judge, open={"pay": (SimpleNamespace(id="s1", text="It may be forbidden."),)})
    (verdict,), asked, _ = decided(judge, {}, [("pay", "x")], True, True)
    assert verdict.decision == "undecided" and verdict.open and asked == []


# ---- detectors and operations of one's own -------------------------------------------------------

NOTE = {"type": "object", "properties": {"to": {"type": "string"}, "text": {"type": "string"}}, "required": ["text"]}


def sends(*state: dict, rule: str = "NOT is_x") -> CallGuard:
    """A guard of one tool, whose call is forbidden by a field `x`."""
    box = tools.parse(json.dumps({"tools": [{"name": "send", "parameters": NOTE}], "state": list(state)}))
    known = (
        Predicate("send", "action", "", tools=("send",)),
        Predicate("is_x", "state", "", test=cel.parse("state.x")),
    )
    ruleset = RuleSet(known, (Rule("r", "", parse(f"ALWAYS (send IMPLIES {rule})"), "forbid", quote="No."),))
    return airline.guarded("mail", box, ruleset)


@pytest.mark.parametrize(
    ("kind", "text", "count"),
    [
        ("email", "write to ann@example.org, or to ann@example.org", 1),
        ("email", "an @ alone, a@b, @c.de", 0),
        ("phone", "call +41 44 668 18 00", 1),
        ("phone", "call 650-253-0000", 0),
        ("phone:US", "call 650-253-0000 or (650) 253-0001", 2),
        ("phone:US", "room 650-253", 0),
        ("card", "4111 1111 1111 1111", 1),
        ("card", "4111 1111 1111 1112", 0),
        ("iban", "to DE89 3704 0044 0532 0130 00 please", 1),
        ("iban", "to DE89 3704 0044 0532 0130 01 please", 0),
        ("card", "4111 1111 1111 1111 12/29 123, then 5500-0055-5555-5559", 2),
        ("card", "order 12 4111 1111 1111 1111", 1),
        ("card", "41111111111111111", 0),
        ("iban", "from DE89370400440532013000 GB29NWBK60161331926819", 2),
        ("secret", "password = 'hunter2hunter'\nghp_16C7e42F292c6912E7710c838347Ae178B4a", 2),
        ("secret", "ghp_16C7e42F292c6912E7710c838347Ae178B4a  # pragma: allowlist secret", 1),
        ("secret", f"{'a ' * 3990}ghp_16C7e42F292c6912E7710c838347Ae178B4a", 1),
        ("email", f"{'a' * 50_000}@ {'a@' * 20_000} zoë@bücher.example", 1),
        ("secret", "reservation ZFA04Y of mia_li_3668 for 450 dollars", 0),
    ],
)
def test_what_is_detected_and_what_is_not(kind: str, text: str, count: int) -> None:
    assert detectors.count([kind], [text]) == count
    field = {"name": "x", "type": "boolean", "from": {"detect": kind, "in": "call.text"}}
    record = io.StringIO()
    verdict = Session(sends(field), record=record).call("send", {"text": text})
    assert verdict.decision == ("deny" if count else "allow")
    assert ("trusted: state.x by a detector of" in verdict.reason) is True
    happened = [event for run in events.loads(record.getvalue()) for event in run.events]
    assert [type(event.what).__name__ for event in happened] == ["Answer", "Asked"]
    assert Session(sends(field)).replay(happened) == (verdict,)


def test_a_detector_that_cannot_read_its_text_leaves_it_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    field = {"name": "x", "type": "boolean", "from": {"detect": ["email", "card"], "in": ["call.text", "call.to"]}}
    guard = sends(field)
    verdict = Session(guard).call("send", {"text": "fine"})
    assert verdict.decision == "undecided" and "call.to is not known" in verdict.reason
    assert Session(guard).call("send", {"text": "fine", "to": "a@b.de"}).decision == "deny"
    monkeypatch.setattr(detectors, "LONGEST", 3)
    verdict = Session(guard).call("send", {"text": "fine", "to": "you"})
    assert verdict.decision == "undecided" and "at most 3 characters were required" in verdict.reason


def hangs(**_: object) -> bool:
    threading.Event().wait(1)
    return False


def raises(**_: object) -> bool:
    raise OSError("down")


@pytest.mark.parametrize(
    ("given", "decision", "why"),
    [
        ({"p": lambda text: False, "q": lambda text: False}, "allow", "trusted: state.x by operation p and q"),
        ({"p": lambda text: True, "q": lambda text: True}, "deny", "No."),
        ({"p": lambda text: True, "q": lambda text: False}, "undecided", "they disagree: p gives true, q gives false"),
        ({"p": lambda text: False, "q": raises}, "undecided", "q failed: "),
        ({"p": hangs, "q": lambda text: False}, "undecided", "an answer within 0.05 s was required"),
        ({"p": lambda text: None, "q": lambda text: None}, "undecided", "it is not told"),
        ({"p": lambda text: 0, "q": lambda text: 0}, "undecided", "boolean"),
        ({"p": lambda text: object(), "q": lambda text: object()}, "undecided", "they disagree"),
        ({"p": lambda: False, "q": lambda text: False}, "undecided", "p failed"),
        ({"p": lambda text: False}, "undecided", "no operation q was given to the session"),
        ({}, "undecided", "no operation p, q was given to the session"),
    ],
)
def test_operations_of_ones_own_count_where_they_agree(given: dict, decision: str, why: str) -> None:
    source = {"operation": ["p", "q"], "arguments": {"text": "call.text"}}
    guard, record = sends({"name": "x", "type": "boolean", "from": source}), io.StringIO()
    session = Session(guard, operations=given, timeout_s=0.05, record=record)
    verdict = session.call("send", {"text": "hello"})
    assert verdict.decision == decision and why in verdict.reason and session.asks == bool(given)
    happened = [event for run in events.loads(record.getvalue()) for event in run.events]
    assert Session(guard).replay(happened)[0].decision == decision
    assert ("disagree" in record.getvalue()) == ("disagree" in why), "it is on record"


def test_an_operation_of_ones_own_counts_for_its_step_alone() -> None:
    answers_ = iter([False, True])
    source = {"operation": "p", "arguments": {"text": "call.text"}}
    guard = sends({"name": "x", "type": "boolean", "from": source})
    session = Session(guard, operations={"p": lambda text: next(answers_)})
    found = [session.call("send", {"text": "hello"}, step).decision for step in (1, 1, 2)]
    assert found == ["allow", "allow", "deny"]


@pytest.mark.parametrize(
    ("source", "type_", "why"),
    [
        ({"detect": "names", "in": "call.text"}, "boolean", "one of .* was required; got"),
        ({"detect": "phone:us", "in": "call.text"}, "boolean", "a phone of a region such as phone:US"),
        ({"detect": "email"}, "boolean", "from.in.text: .* was required"),
        ({"detect": "email", "in": "call.text"}, "string", "a boolean or an integer was required"),
        ({"detect": "email", "in": "call.body"}, "boolean", "arguments of a tool were required"),
        ({"operation": []}, "boolean", "must be a name|names of operations"),
        ({"operation": ["p", "p"]}, "boolean", "names of operations, each once, were required"),
        ({"operation": "p", "in": "call.text"}, "boolean", "only .* was required; got"),
        ({"operation": "p", "cost": -1}, "boolean", "cost: a number from 0 was required; got"),
        ({"operation": "p", "cost": True}, "boolean", "cost: a number from 0 was required; got"),
    ],
)
def test_a_source_that_is_none_is_refused(source: dict, type_: str, why: str) -> None:
    with pytest.raises(ToolError, match=why):
        sends({"name": "x", "type": type_, "from": source})


# ---- on recorded calls ---------------------------------------------------------------------------


@pytest.mark.parametrize(("policy", "most"), [("airline", 0.6), ("office", 0.8)])
def test_on_recorded_calls_fewer_are_asked_and_the_decisions_are_the_same(policy: str, most: float) -> None:
    if policy == "airline":
        judge, runs = airline.guard(*airline.BOTH), [run.events for run in airline.runs()[:60]]
    else:
        box, ruleset = beside.hidden("office")
        judge, read = airline.guarded("office", box, ruleset), events.read(ROOT / "policies/office/labelled.jsonl")
        runs = [tuple(beside.looked_up(run.events)) for run in read[:60]]
    row = beside.beside(judge, runs)
    assert row["decisions that differ"] == 0 and min(row["decided"].values()) > 0
    assert 0 < row["search, loop"] < most * row["search, all"]


@pytest.mark.parametrize("text", ["x a\uff20b.com", "a@\u200bb.com", "a\u00ad@b.com", "to a@b.com now"])
def test_what_looks_like_an_address_is_found_whatever_its_characters(text: str) -> None:
    assert detectors.count(["email"], [text]) >= 1
    assert detectors.count(["card"], ["4111\u00a01111\u00a01111\u00a01111"]) == 1
    assert detectors.count(["email"], ["a at b, c@d"]) == 0
    with pytest.raises(ValueError, match="as it looks"):
        detectors.count(["email"], ["\ufdfa" * 50_000])


PARTS = (
    "  ",
    "\u2011",
    "\u2013",
    ".",
    "/",
    "_",
    " - ",
    "\n",
    "\t",
    "\u00a0",
    "\u034f",
    "\ufe0f",
    "\u3164",
    "\u200b",
)
CARDS = ("4111 1111 1111 1111", "3782 822463 10005", "3056 930902 5904", "2223 0031 2200 3222")
ACCOUNTS = ("DE89 3704 0044 0532 0130 00", "GB29 NWBK 6016 1331 9268 19", "NO93 8601 1117 947")


def written(number: str, zero: int) -> str:
    """The number in the digits of another script, whose 0 that is."""
    return "".join([chr(zero + int(one)) if one.isdecimal() else one for one in number])


@given(
    st.sampled_from([("card", one) for one in CARDS] + [("iban", one) for one in ACCOUNTS]),
    st.lists(st.sampled_from(PARTS), min_size=5, max_size=5),
    st.sampled_from([0x30, 0x660, 0x6F0, 0x966, 0xFF10, 0x1D7CE]),
    st.sampled_from(["{}", "to {} please", "({})", "账号{}", '{{"a": "{}"}}']),
    st.integers(0, 3),
)
def test_a_number_is_found_however_its_groups_are_parted_and_its_digits_written(of, parts, zero, around, nested):
    kind, number = of
    *groups, last = number.split(" ")
    start = "".join(map("".join, zip(groups, parts, strict=False)))
    for end, count in ((last, 1), (last[:-1] + str((int(last[-1]) + 1) % 10), 0)):
        text = escaped = around.format(written(start + end, zero))
        for _ in range(nested):
            text, escaped = json.dumps(text, ensure_ascii=False), json.dumps(escaped)
        assert detectors.count([kind], [text]) == count, text
        assert detectors.count([kind], [escaped]) >= count, "the digits of an escape may make up another number"


@given(st.randoms(use_true_random=False))
def test_ordinary_numbers_are_no_cards_and_accounts(rnd):
    """Whose check digits one in ten has by chance."""

    def digits(many: int) -> str:
        return "".join([rnd.choice("0123456789") for _ in range(many)])

    for text in (
        ", ".join([f"+{digits(2)} {digits(2)} {digits(4)} {digits(4)}" for _ in range(4)]),
        ", ".join([f"({digits(3)}) {digits(3)}-{digits(4)}" for _ in range(4)]),
        "; ".join([f"order W{digits(7)}, tracking {digits(12)}" for _ in range(4)]),
        ", ".join([f"20{digits(2)}-{rnd.randint(1, 12):02}-{rnd.randint(1, 28):02} 10:{digits(2)}" for _ in range(4)]),
        ", ".join([str(rnd.randint(100, 9999)) for _ in range(9)]),
        ", ".join([".".join([str(rnd.randint(0, 255)) for _ in range(4)]) for _ in range(4)]),
        ", ".join([f"${digits(3)}.{digits(2)}" for _ in range(6)]),
        json.dumps(json.dumps({"id": int("1" + digits(8)), "paid": [f"{digits(3)}.{digits(2)}", digits(10)]})),
    ):
        assert detectors.count(["card", "iban"], [text]) == 0, text


def test_a_text_that_nests_json_too_deep_cannot_be_read() -> None:
    key, text = "ghp_16C7e42F292c6912E7710c838347Ae178B4a", '"\\u0067hp_16C7e42F292c6912E7710c838347Ae178B4a"'
    assert detectors.count(["secret"], [key]) == 1
    for _ in range(4):
        assert detectors.count(["secret"], [text]) == 1
        text = json.dumps(text)
    assert detectors.count(["secret"], [json.dumps({"path": "C:\\users", "said": "\U0001f600"})]) == 0
    with pytest.raises(ValueError, match="levels deep was required"):
        detectors.count(["secret"], ["\\u005c" + "u005c" * 20])


# ---- what is considered -------------------------------------------------------------------------


def test_a_call_is_considered_only_where_no_step_goes_on_and_never_allowed_where_nothing_is() -> None:
    judge = judges(["ALWAYS (pay IMPLIES is_s)"], dict.fromkeys(NAMES, 1))["guard"]
    session = Session(judge)
    session.state({"s": True})
    assert session.consider("pay", {"id": "x"}).verdict.decision == "allow"
    assert session.consider("pay", {"id": 3}).verdict.decision == "deny"
    session.call("pay", {"id": "x"}, step=1)
    with pytest.raises(SessionError, match="a step that is over was required"):
        session.consider("pay", {"id": "x"})
    session.call("pay", {"id": "x"})
    with pytest.raises(SessionError, match="tell its results"):
        session.consider("pay", {"id": "x"})
    session.result("paid")
    assert session.consider("pay", {"id": "x"}).verdict.decision == "allow"
    session.lost("the line broke")
    verdict = session.consider("pay", {"id": "x"}).verdict
    assert verdict.decision == "undecided" and "the line broke" in verdict.reason


@pytest.mark.parametrize(
    ("told", "missing"),
    [
        ({"level": 1}, {"state.agreed"}),
        ({"agreed": True}, {"state.level"}),
        ({}, {"state.level", "state.agreed"}),
        ({"level": "high"}, {"state.level", "state.agreed"}),  # what does not fit is not known
        ({"level": 1, "agreed": True}, set()),
    ],
)
@pytest.mark.parametrize("kind", ["guard", "shield"])
def test_a_field_that_the_state_tells_is_not_listed_as_unknown(kind: str, told: dict, missing: set[str]) -> None:
    state = [{"name": "level", "type": "integer"}, {"name": "agreed", "type": "boolean"}]
    here = tools.parse(json.dumps({"tools": [{"name": "pay", "parameters": ID}], "state": state}))
    both = Predicate("both", "state", "", test=cel.parse("state.level > 0 && state.agreed"))
    rule = Rule("r", "Pay so.", parse("ALWAYS (pay IMPLIES both)"), "forbid", quote="Pay so.")
    rules = RuleSet((PREDICATES[0], both), (rule,))
    made = airline.guarded("guard", here, rules)
    judge = made if kind == "guard" else Shield(rules.predicates, circuit.build(rules, {"pay": ("r",)}), toolbox=here)
    session = Session(judge)
    session.state(told)
    verdict = session.consider("pay", {"id": "x"}).verdict
    assert verdict.decision == ("undecided" if missing else "allow")
    assert set(", ".join(verdict.missing).split(", ")) - {""} == missing
