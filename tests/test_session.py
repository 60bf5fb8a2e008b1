"""A call is judged as it comes: like the recorded trace, never with what was not done, and never by raising."""

from __future__ import annotations

import gc
import io
import json
import math
import sys
from functools import partial
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import whole

from wb.domain import events, judging, session
from wb.domain.events import Recognition
from wb.domain.session import Session, SessionError
from wb.domain.tools import Field, Tool, Toolbox
from wb.domain.trace import Call, Open, Step, Trace, permitted
from wb.domain.validation import Validator
from wb.guards.contract import assemble, contracts
from wb.guards.runtime import CallGuard, Guarded, claim
from wb.logic import cel
from wb.logic.syntax import parse
from wb.rules.rule import Predicate, Rule, RuleSet
from wb.shield import circuit
from wb.shield.shield import Shield

ROLES = ("nurse", "physician", "administrator")
TOOLBOX = Toolbox(
    (Tool("email", arguments=(Field("to", "array"),)), Tool("ask"), Tool("file"), Tool("delete"), Tool("look")),
    (Field("role", "string", values=ROLES), Field("agreed", "boolean"), Field("age", "integer")),
)
PREDICATES = (
    *(Predicate(t.name, "action", "", tools=(t.name,)) for t in TOOLBOX.tools),
    Predicate("fly", "action", ""),
    Predicate("few", "state", "", test=cel.parse("size(call.to) <= 10"), tools=("email",)),
    Predicate("nurse", "state", "", test=cel.parse('state.role == "nurse"')),
    Predicate("physician", "state", "", test=cel.parse('state.role == "physician"')),
    Predicate("adult", "state", "", test=cel.parse("state.age >= 18")),
    Predicate("agreed", "state", ""),
)
TEXTS = {
    "few": "ALWAYS (email IMPLIES few)",
    "asked": "ALWAYS (email IMPLIES ONCE ask)",
    "not_both": "ALWAYS NOT (file AND delete)",
    "once": "ALWAYS (file IMPLIES NOT PREVIOUSLY ONCE file)",
    "admin": "ALWAYS (delete IMPLIES (NOT nurse AND NOT physician))",
    "agreed": "ALWAYS (delete IMPLIES (agreed SINCE ask))",
}
RULES = RuleSet(
    PREDICATES,
    tuple(Rule(name, "", parse(text), "forbid", quote=f"Sentence {name}.") for name, text in TEXTS.items()),
)
MANY, SOME = {"to": ["x"] * 50}, {"to": ["x"]}


def guard(rules: RuleSet = RULES, **options: object) -> CallGuard:
    """Code that denies where a condition of the contract fails, for every tool."""
    entries = []
    for made in contracts(TOOLBOX, rules):
        tests = [f"    if not ({item.condition}):\n        return (False, {item.rule!r})\n" for item in made.items]
        code = f"{made.signature}\n{''.join(tests)}    return (True, 'no rule is broken')\n"
        entries.append(Guarded(made, assemble(code, made), "proved"))
    return CallGuard("veriguard", rules, tuple(entries), frozenset({"proved"}), **{"toolbox": TOOLBOX} | options)


def shield(rules: RuleSet = RULES, **options: object) -> Shield:
    """One circuit an action, of all rules that mention it."""
    actions = [p.name for p in rules.predicates if p.kind == "action"]
    by_action = {name: [r.id for r in rules.rules if name in r.predicates] for name in actions}
    built = circuit.build(rules, {name: ids for name, ids in by_action.items() if ids})
    return Shield(rules.predicates, built, **{"toolbox": TOOLBOX} | options)


KINDS = pytest.mark.parametrize("kind", [guard, shield])
GUARD, SHIELD = guard(), shield()
FINE = {"role": "administrator", "agreed": True, "age": 30}


def ready(judge: CallGuard | Shield, **state: object) -> Session:
    """A session in which a question was asked."""
    one = Session(judge)
    one.state({**FINE, **state})
    assert permitted(one.call("ask"))
    return one


@KINDS
def test_a_second_call_of_a_step_is_judged_by_its_own_arguments(kind) -> None:
    one = ready(kind())
    assert permitted(one.call("email", SOME, step=1))
    assert one.call("email", MANY, step=1).violated == ("few",)
    last = Step((Call("email", SOME), Call("email", MANY)), FINE)
    assert kind().decide(Trace("t", (Step((Call("ask"),), FINE), last))).violated == ("few",)


def test_what_a_session_is_given_is_of_the_right_kind() -> None:
    with pytest.raises(ValueError, match="observe: True or False was required; got 1"):
        Session(GUARD, observe=1)
    one = Session(GUARD)
    assert not one.asks
    for role, text in ((1, "a"), ("user", None)):
        with pytest.raises(SessionError, match="two texts, who spoke and what, were required"):
            one.say(role, text)
    with pytest.raises(SessionError, match="step's number or name"):
        one.call("look", step=1.5)


@pytest.mark.parametrize(
    "what",
    [{"error": 1}, {"error": None}, {"error": "no"}, {"call_id": 3}, {"call_id": b"a"}, {"call_id": True}],
    ids=str,
)
def test_a_result_of_another_form_is_refused_and_nothing_is_taken_back(what: dict) -> None:
    one = ready(GUARD)
    with pytest.raises(SessionError, match="a call's id, and whether it failed, were required"):
        one.result("done", **what)
    assert permitted(one.call("email", SOME)), "the question was asked"


def test_a_step_in_two_states_remembers_what_they_agree_on() -> None:
    rules = RuleSet(PREDICATES, (Rule("r", "", parse("ALWAYS (file IMPLIES ONCE (ask AND agreed))"), "forbid"),))
    for second, decision in ((True, "allow"), (False, "undecided")):
        one = Session(guard(rules))
        one.state({"agreed": True})
        one.call("ask", step=1)
        one.state({"agreed": second})
        one.call("look", step=1)
        assert one.call("file").decision == decision


# ---- both ways agree ------------------------------------------------------------------------------

CALLS = st.sampled_from(
    [Call("email", SOME), Call("email", MANY), Call("email"), *map(Call, ("ask", "file", "delete"))]
)
STATES = st.fixed_dictionaries(
    {},
    optional={
        "role": st.sampled_from((*ROLES, "visitor", None)),
        "agreed": st.sampled_from((True, False, None)),
    },
)
RUNS = st.lists(st.tuples(STATES, st.lists(CALLS, max_size=3)), max_size=5)


@settings(max_examples=150)
@given(RUNS, st.sampled_from((GUARD, SHIELD)))
def test_a_session_says_what_the_recorded_trace_gets(run: list, judge: CallGuard | Shield) -> None:
    one, done = Session(judge), []
    for number, (state, calls) in enumerate(run):
        one.state(state)
        if not calls:
            one.say("assistant", "")
            one.say("user", "")
        kept: tuple[Call, ...] = ()
        for call in calls:
            verdict = one.call(call.tool, call.arguments, step=number)
            alone = judge.decide(Trace("t", (*done, Step((*kept, call), state))))
            assert (verdict.decision, verdict.violated) == (alone.decision, alone.violated)
            assert kept or verdict == alone, "to the word, where there is one call"
            kept = (*kept, call) if permitted(verdict) else kept
        done.append(Step(kept, state))


@settings(max_examples=150)
@given(RUNS, STATES, CALLS)
def test_monitors_decide_as_the_whole_trace_evaluated_again(run: list, state: dict, call: Call) -> None:
    steps = [Step(tuple(calls[:1]), {**at, "role": "administrator"}) for at, calls in run]
    trace = Trace("t", (*steps, Step((call,), {**state, "role": "administrator"})))
    verdict, old = GUARD.decide(trace), whole.decide(GUARD, trace)
    assert (verdict.decision, verdict.violated) == (old.decision, old.violated)


def test_a_session_remembers_a_bounded_amount() -> None:
    one = ready(GUARD)

    def go(count: int) -> None:
        for i in range(count):
            one.say("assistant", "next")
            one.call("email", SOME if i % 2 else MANY, call_id=f"c{one._index}")
            one.result("ok")

    def blocks() -> int:
        gc.collect()
        return sys.getallocatedblocks()

    go(500)
    before = blocks()
    go(1000)
    assert blocks() - before < 100, "blocks of memory, for a thousand calls"
    for _ in range(session.UNANSWERED + 50):
        one.call("look", call_id=f"c{one._index}")
    assert len(one._late) <= session.UNANSWERED


@KINDS
@pytest.mark.parametrize("arguments", [SOME, MANY], ids=["allow", "deny"])
def test_a_decision_takes_as_many_steps_of_work_late_as_early(kind, arguments) -> None:
    """Counted in function calls, so that no clock is asked; `bench/sessions.py` has the times."""
    one, counts = ready(kind()), []
    for steps in (5, 2000):
        for _ in range(steps):
            one.call("email", arguments)
        events: list[str] = []
        gc.disable()  # what a collection calls is no step of a decision
        sys.setprofile(lambda frame, event, arg, events=events: events.append(event))
        one.call("email", arguments)
        sys.setprofile(None)
        gc.enable()
        counts.append(len(events))
    assert counts[0] == counts[1] < 400


# ---- fail closed ----------------------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize("tool", ["Email", "EMAIL", "e-mail", "", "fly", 7, None, ["email"]])
def test_a_name_that_is_no_tool_is_denied_for_that_reason(kind, tool) -> None:
    verdict = ready(kind()).call(tool, SOME)
    assert verdict.decision == "deny" and ("there is no such tool" in verdict.reason) == (type(tool) is str)
    assert ("email is spelt otherwise" in verdict.reason) == (tool in ("Email", "EMAIL"))


def test_a_tool_without_a_guard_is_denied_for_that_reason() -> None:
    lacking = CallGuard("g", RULES, GUARD.guarded[1:], frozenset({"proved"}), TOOLBOX)
    verdict = Session(lacking).call("email", SOME)
    assert verdict.decision == "deny" and "there is no guard" in verdict.reason


@KINDS
def test_a_value_outside_its_enumeration_is_none_of_the_others(kind) -> None:
    """ "Only the administrator" may have become "not the nurse and not the physician": a visitor is neither."""
    assert permitted(ready(kind()).call("delete"))
    verdict = ready(kind(), role="visitor").call("delete")
    assert verdict.decision == "undecided" and "state.role" in verdict.missing
    assert 'state.role: one of "nurse", "physician", "administrator" was required; got "visitor"' in verdict.reason
    assert ready(kind(), role="nurse").call("delete").violated == ("admin",)
    assert permitted(ready(kind(toolbox=Toolbox(TOOLBOX.tools)), role="visitor").call("delete")), "nothing is declared"


@KINDS
def test_an_action_that_no_tool_performs_is_unknown(kind) -> None:
    rules = RuleSet(PREDICATES, (Rule("r", "", parse("ALWAYS (file IMPLIES NOT fly)"), "forbid"),))
    verdict = ready(kind(rules)).call("file")
    assert (verdict.decision, verdict.missing) == ("undecided", ("fly",))


class Hostile:
    """A value that raises whatever it is asked."""

    def _refuse(self, *_: object) -> None:
        raise RuntimeError(self)

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = __len__ = __iter__ = __bool__ = _refuse
    __repr__ = __str__ = __getitem__ = __contains__ = __int__ = __float__ = keys = _refuse


class Lying(list):
    """A list that raises when it is counted."""

    def __len__(self) -> int:
        raise RecursionError


def nested(depth: int) -> list:
    """A list in a list in a list."""
    found: list = []
    for _ in range(depth):
        found = [found]
    return found


VALUES = [Hostile(), Lying(), nested(100_000), 10**6000, math.nan, math.inf, -math.inf, "\ud800", b"x", {Hostile}, 1j]


@KINDS
@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
@pytest.mark.parametrize("logged", [False, True])
def test_a_hostile_value_ends_in_a_verdict_and_never_raises(kind, value, logged) -> None:
    rules = RuleSet(
        PREDICATES,
        (
            *RULES.rules,
            Rule("adult", "", parse("ALWAYS (delete IMPLIES adult)"), "forbid"),
            Rule("adults", "", parse("ALWAYS (look IMPLIES ONCE (adult AND few))"), "forbid"),
        ),
    )
    log = io.StringIO()
    bad = {**FINE, "age": value, "role": value, "agreed": value}
    for arguments, state in (({"to": value}, bad), (value, bad), ({}, bad)):
        one = Session(kind(rules), log=log if logged else None)
        one.state(FINE)
        one.call("ask")
        one.state(state)
        for tool in ("email", "delete", "look"):
            verdict = one.call(tool, arguments)
            countable = type(value) is list and type(arguments) is dict  # a list of one list is one recipient
            if (tool == "email" and not countable) or (tool == "delete" and type(value) is not int):
                assert not permitted(verdict)
        assert not permitted(one.call(value))
        trace = Trace("t", (Step((Call("email", arguments),), state), Step((Call("look", arguments),), state)))
        assert kind(rules).decide(trace).decision in ("allow", "deny", "undecided")
    assert all(json.loads(line) for line in log.getvalue().splitlines())


def test_a_judge_that_breaks_denies_and_says_so() -> None:
    class Broken:
        name, validator = "broken", Validator()

        def watch(self):
            return self

        def judge(self, step):
            raise KeyError("gone")

        def remember(self, step):
            raise KeyError("gone")

        def evidence(self, tool):
            return ""

    verdict = Session(Broken()).call("email")
    assert (verdict.decision, verdict.grade) == ("deny", "error") and "gone" in verdict.reason
    trace = Trace("t", (Step(), Step((Call("email"),))))
    assert judging.decide(Broken(), trace).grade == "error"


# ---- reasons --------------------------------------------------------------------------------------


@KINDS
def test_the_reason_names_every_rule_that_is_broken_with_its_sentence(kind) -> None:
    one = Session(kind())
    one.state(FINE)
    verdict = one.call("email", MANY)
    assert verdict.violated == ("few", "asked") and verdict.quotes == ("Sentence few.", "Sentence asked.")
    assert all(
        f"“{quote}” ({rule})" in verdict.reason for rule, quote in zip(verdict.violated, verdict.quotes, strict=True)
    )


FACTS = tuple(Predicate(name, "state", "") for name in ("p", "q", "r", "s"))
BODIES = st.recursive(
    st.sampled_from("pqrs"),
    lambda inner: st.one_of(
        st.builds("(NOT {})".format, inner),
        st.builds("({} AND {})".format, inner, inner),
        st.builds("({} OR {})".format, inner, inner),
        st.builds("({} IMPLIES {})".format, inner, inner),
    ),
    max_leaves=6,
)


@settings(max_examples=80)
@given(st.lists(BODIES, min_size=1, max_size=2), st.dictionaries(st.sampled_from("pqrs"), st.booleans()))
@pytest.mark.parametrize("kind", [guard, shield])
def test_what_is_missing_are_exactly_the_facts_that_matter(kind, bodies: list, known: dict) -> None:
    rules = RuleSet(
        (*PREDICATES[:5], *FACTS),
        tuple(Rule(f"r{i}", "", parse(f"ALWAYS (look IMPLIES {body})"), "forbid") for i, body in enumerate(bodies)),
    )
    judge = kind(rules)

    def decision(state: dict) -> str:
        return judge.decide(Trace("t", (Step((Call("look"),), state),))).decision

    free = [name for name in "pqrs" if name not in known]
    filled = [{**known, **dict(zip(free, point, strict=True))} for point in product((False, True), repeat=len(free))]
    answers = {tuple(sorted(state.items())): decision(state) for state in filled}
    matter = {
        name
        for name in free
        for state in filled
        if answers[tuple(sorted(state.items()))] != answers[tuple(sorted({**state, name: not state[name]}.items()))]
    }
    verdict = judge.decide(Trace("t", (Step((Call("look"),), known),)))
    surely = set(answers.values()).pop() if len(set(answers.values())) == 1 else "undecided"
    # a circuit takes its rules' unknowns for independent: it may not know what follows from two rules together
    assert verdict.decision == surely or (kind is shield and verdict.decision == "undecided")
    assert set(verdict.missing) == (matter if verdict.decision == "undecided" else set())


SENTENCES = (Open("a1", "Mail with care."), Open("b2", "Mail politely."))


@KINDS
def test_an_open_sentence_holds_what_would_be_allowed_and_nothing_else(kind) -> None:
    judge = kind(open={"email": SENTENCES})
    verdict = ready(judge).call("email", SOME)
    assert (verdict.decision, verdict.open) == ("undecided", ("a1", "b2"))
    assert "“Mail with care.” (a1)" in verdict.reason and "“Mail politely.” (b2)" in verdict.reason
    assert permitted(ready(kind()).call("email", SOME)) and permitted(ready(judge).call("file"))
    denied = ready(judge).call("email", MANY)
    assert (denied.decision, denied.violated, denied.open) == ("deny", ("few",), ("a1", "b2"))
    unsure = ready(judge).call("email", {})
    assert (unsure.decision, unsure.open) == ("undecided", ("a1", "b2")) and "email.to" in " ".join(unsure.missing)


def test_an_open_sentence_holds_a_tool_that_no_rule_speaks_of() -> None:
    assert permitted(ready(shield()).call("look"))
    assert ready(shield(open={"look": SENTENCES[:1]})).call("look").decision == "undecided"


@pytest.mark.parametrize(
    ("grade", "rules", "open_", "said"),
    [
        ("proved", 2, 0, "proved"),
        ("proved", 2, 1, "proved for 2 rules, 1 sentence open"),
        ("tested", 1, 3, "tested for 1 rule, 3 sentences open"),
        ("tested", 1, 0, "tested"),
        ("proved", 0, 0, "free"),
        ("proved", 0, 2, "no rule"),
        ("error", 2, 0, "error"),
        ("stub", 0, 0, "stub"),
    ],
)
def test_proved_is_said_only_where_there_are_rules_and_no_sentence_is_open(grade, rules, open_, said) -> None:
    assert claim(grade, rules, open_) == said


def test_a_guard_claims_for_each_tool() -> None:
    claims = guard(open={"email": SENTENCES, "look": SENTENCES}).claims()
    assert claims == {
        "email": "proved for 2 rules, 2 sentences open",
        "ask": "free",
        "file": "proved",
        "delete": "proved",
        "look": "no rule",
    }


# ---- the log --------------------------------------------------------------------------------------


@KINDS
def test_every_decision_is_logged_with_its_evidence(kind) -> None:
    log, judge = io.StringIO(), kind(open={"look": SENTENCES[:1]})
    one = judge.session(run="r1", log=log)
    one.state(FINE)
    one.call("ask", step=3)
    one.call("email", MANY)
    one.call("look")
    rows = [json.loads(line) for line in log.getvalue().splitlines()]
    assert [(r["run"], r["step"], r["index"], r["tool"], r["decision"]) for r in rows] == [
        ("r1", 3, 0, "ask", "allow"),
        ("r1", None, 1, "email", "deny"),
        ("r1", None, 2, "look", "undecided"),
    ]
    assert rows[1]["arguments"] == MANY and rows[1]["violated"] == ["few"] and rows[1]["quotes"] == ["Sentence few."]
    assert rows[2]["open"] == ["a1"] and rows[0]["time"] < rows[2]["time"]
    assert [r["evidence"] for r in rows] == [judge.evidence(r["tool"]) for r in rows] and len(rows[1]["evidence"]) == 64
    assert {r["guard"] for r in rows} == {judge.name}
    assert [r["trusted"] for r in rows] == [list(judge.trusted(r["tool"])) for r in rows]


def test_a_log_is_appended_to(tmp_path) -> None:
    for begun in (GUARD.session, partial(Session, GUARD)):
        assert permitted(begun(log=tmp_path / "log.jsonl").call("ask"))
    rows = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text("utf-8").splitlines()]
    assert [row["run"] for row in rows] == ["session", "session"]
    (closed := io.StringIO()).close()
    for log in (str(tmp_path), closed):
        with pytest.raises(SessionError, match="a log that can be written"):
            GUARD.session(log=log).call("ask")


def test_arguments_that_are_no_json_are_put_on_record_as_null() -> None:
    log = io.StringIO()
    one = Session(guard(toolbox=None), log=log)
    assert permitted(one.call("ask", {"x": [1]}))
    verdict = one.call("ask", {"x": math.nan})
    assert (verdict.decision, verdict.grade) == ("deny", "error")
    assert verdict.reason == "ask: x: a finite number was required; got nan"
    assert [json.loads(line)["arguments"] for line in log.getvalue().splitlines()] == [{"x": [1]}, None]


# ---- turns that may be several things -------------------------------------------------------------


def either(*tools: str) -> Recognition:
    return Recognition(tuple(Step((Call(tool),), FINE) for tool in tools), "it may be any of these")


@KINDS
def test_an_unsure_turn_that_was_allowed_counts_as_each_thing_that_it_may_have_been(kind) -> None:
    rules = RuleSet(PREDICATES, (Rule("r", "", parse("ALWAYS (file IMPLIES NOT ONCE ask)"), "forbid"),))
    for turns, decision in (((), "allow"), (("ask",), "deny"), (("look",), "allow"), (("ask", "look"), "undecided")):
        one = Session(kind(rules))
        one.state(FINE)
        if turns:
            assert one.turn(either(*turns)).decision == "allow"
        verdict = one.call("file")
        assert verdict.decision == decision, verdict.reason
    assert "a turn in free text before it may have been several things" in verdict.reason


@KINDS
@pytest.mark.parametrize("before", ["words", "state", "both", "nothing"])
def test_what_was_said_or_known_before_a_turn_is_no_step_after_it(kind, before: str) -> None:
    """The turn is the step before the next call, whatever came between the two."""
    for turned, decision in (("ask", "deny"), ("look", "allow")):
        rule = Rule("r", "", parse("ALWAYS (file IMPLIES NOT PREVIOUSLY ask)"), "forbid")
        one = Session(kind(RuleSet(PREDICATES, (rule,))))
        one.state({**FINE, "age": 3} if before in ("state", "both") else FINE)
        if before in ("words", "both"):
            one.say("assistant", "I see to it.")
        assert one.turn(either(turned)).decision == "allow"
        one.say("user", "Good.")
        one.state(FINE)
        verdict = one.call("file")
        assert verdict.decision == decision, verdict.reason


@KINDS
def test_a_state_right_before_a_turn_counts(kind) -> None:
    rules = RuleSet(PREDICATES, (Rule("r", "", parse("ALWAYS (file IMPLIES HISTORICALLY adult)"), "forbid"),))
    for age, decision in ((30, "allow"), (3, "deny")):
        one = Session(kind(rules))
        one.state({**FINE, "age": age})
        assert one.turn(either("ask")).decision == "allow"
        one.state(FINE)
        verdict = one.call("file")
        assert (verdict.decision == "allow") is (decision == "allow"), verdict.reason


@KINDS
def test_a_record_of_a_turn_in_free_text_holds_that_there_was_one(kind, tmp_path) -> None:
    """What it was taken for is no event: a session that goes on from the record allows nothing."""
    record = tmp_path / "run.jsonl"
    one = Session(kind(), record=record)
    one.state(FINE)
    assert one.turn(either("ask")).decision == "allow" and one.call("look").decision == "allow"
    other = Session(kind())
    (verdict,) = other.replay(events.stream(record))
    assert verdict.decision == "undecided" and "a turn in free text" in verdict.reason


def test_a_turn_whose_state_is_none_is_refused() -> None:
    with pytest.raises(SessionError, match="a mapping of fields"):
        Session(GUARD).turn(Recognition((Step((), [1]),), ""))


def test_what_a_judge_takes_on_trust_is_told_of_each_tool() -> None:
    """A truth that is told stands as it is, what the code compares itself does not."""
    assert GUARD.trusted("delete") == ("file", "agreed") and GUARD.trusted("email") == () == GUARD.trusted("strange")
    assert {"agreed", "state.role"} <= {*SHIELD.trusted("delete")} and SHIELD.trusted("strange") == ()


def test_a_turn_counts_once_among_what_is_logged(tmp_path) -> None:
    one = Session(GUARD, log=tmp_path / "log.jsonl")
    one.call("look")
    one.turn(either("ask"))
    one.call("look")
    lines = (tmp_path / "log.jsonl").read_text("utf-8").splitlines()
    first, last = (json.loads(line)["index"] for line in (lines[0], lines[-1]))
    assert last == first + 2
