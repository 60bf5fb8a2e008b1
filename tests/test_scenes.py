"""Examples that a model writes: taken as data or refused, held against the rules, struck by a person, made tests."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from library import AGREED, BLOCKED, BOX, LOOK, RULES, SHORT

from wb.adapters import functions
from wb.domain.trace import Open
from wb.guards import contract, runtime, scenes, synthesis, toolguard, veriguard
from wb.guards.runtime import CallGuard
from wb.guards.synthesis import Attempt, Draft
from wb.models.client import LLM
from wb.models.endpoint import Reply
from wb.models.ledger import ModelError, Usage
from wb.models.prompt import Prompt
from wb.rules import decisions
from wb.rules.decisions import DecisionError, Struck
from wb.rules.items import Item, Reference
from wb.runs import guard_cards

REQUIRED = contract.contracts(BOX, RULES)
ITEMS = tuple(
    Item(tool, said, "", (Reference(said, 0, len(said)),))
    for tool, said in (("lend_book", SHORT), ("lend_book", BLOCKED), ("pay_fine", LOOK), ("close_card", AGREED))
)
LENT = {"sentence": SHORT, "expect": "allow", "arguments": {"days": 14}, "state": {"card_blocked": False}}
LONG = {**LENT, "expect": "deny", "arguments": {"days": 15}}
PAID = {
    "sentence": LOOK,
    "expect": "allow",
    "arguments": {"reader": "mia"},
    "history": [{"user": "I pay."}, {"tool": "get_reader", "arguments": {"reader": "mia"}, "result": {"fine": 3}}],
}
UNSEEN = {**PAID, "expect": "deny", "history": [{"user": "I pay."}]}
CLOSED = {
    "sentence": AGREED,
    "expect": "allow",
    "arguments": {"reader": "mia"},
    "history": [{"assistant": "Shall I close it?"}, {"user": "yes"}],
}
KEPT = {**CLOSED, "expect": "deny", "history": [{"assistant": "Shall I close it?"}, {"user": "no"}]}
ALL = {SHORT: [LENT, LONG], LOOK: [PAID, UNSEEN], AGREED: [CLOSED, KEPT]}


class Telling:
    """A model that says what it was told to say of each item, by prompt."""

    name = "telling"

    def __init__(self, first: Mapping[str, object], more: Mapping[str, object] = {}) -> None:  # noqa: B006
        self.said = {"write_examples": first, "add_examples": more}
        self.asked: list[tuple[str, dict]] = []

    def answer(self, prompt: Prompt, inputs: Mapping[str, object], schema: dict, **how: bool) -> Reply:
        self.asked.append((prompt.name, dict(inputs)))
        prompt.render(**inputs)
        told = self.said[prompt.name].get(inputs["item"], [])
        if isinstance(told, Exception):
            raise told
        return Reply({"examples": told}, Usage(), None, self.name)


def written(first: Mapping[str, object], more: Mapping[str, object] = {}, rounds: int = 1):  # noqa: B006
    return scenes.written(ITEMS, BOX, LLM(Telling(first, more), workers=1), rounds=rounds)


def judged(found, open: Mapping = {}):  # noqa: B006
    return scenes.tried(found, REQUIRED, RULES, BOX, open)


def test_nobody_is_asked_in_no_round_and_so_often_an_item_as_there_are_rounds() -> None:
    for rounds in (0, 1, 3):
        engine = Telling({})
        assert scenes.written(ITEMS, BOX, LLM(engine, workers=1), rounds=rounds) == ((), ())
        names = [name for name, _ in engine.asked]
        assert len(names) == rounds * len(ITEMS) and names.count("write_examples") == (len(ITEMS) if rounds else 0)
    with pytest.raises(ValueError, match="0 or more"):
        written({}, rounds=-1)


def test_the_author_sees_sentences_and_no_rule_and_is_shown_what_there_is() -> None:
    engine = Telling(ALL)
    scenes.written(ITEMS, BOX, LLM(engine, workers=1), rounds=2)
    told = json.dumps(engine.asked)
    assert "ALWAYS" not in told and "IMPLIES" not in told and "size(call" not in told and "call.days <= 14" not in told
    more = next(inputs for name, inputs in engine.asked if name == "add_examples" and inputs["item"] == SHORT)
    assert [row["expect"] for row in more["examples"]] == ["allow", "deny"]


def test_an_archived_item_is_not_asked_about() -> None:
    engine = Telling(ALL)
    gone = Item("lend_book", SHORT, "", (Reference(SHORT, 0, len(SHORT)),), archived="nobody can tell")
    assert scenes.written((gone,), BOX, LLM(engine, workers=1), rounds=2) == ((), ()) and not engine.asked


def test_what_the_rules_say_of_history_words_and_arguments() -> None:
    found, refused = written(ALL)
    assert not refused and len(found) == 6
    assert {one.fate for one in judged(found)} == {"agrees"}
    assert [one.verdict.decision for one in judged(found)] == ["allow", "deny"] * 3


def test_a_scene_that_the_rules_decide_otherwise_is_a_finding_until_it_is_struck_or_the_rule_changes() -> None:
    found, _ = written({SHORT: [{**LENT, "expect": "deny"}]})
    kept, stale, findings = scenes.settled(judged(found), ())
    assert not stale and [one.fate for one in kept] == ["disagrees"] and findings.keys() == {"lend_book"}
    assert SHORT in findings["lend_book"][0] and found[0].id in findings["lend_book"][0]
    struck = Struck(id=found[0].id, text=SHORT, why="fourteen is let in")
    lost = Struck(id="0" * 12, text=SHORT, why="an old one")
    assert scenes.settled(judged(found), (struck, lost)) == ((), (lost,), {})


def test_an_open_sentence_is_no_finding_and_what_is_not_known_is_none() -> None:
    found, _ = written({BLOCKED: [{**LENT, "sentence": BLOCKED, "expect": "deny"}], SHORT: [{**LENT, "state": {}}]})
    said = judged(found, {"lend_book": (Open("s1", BLOCKED),)})
    assert [one.fate for one in said] == ["unknown", "open"]
    assert scenes.settled(said, ())[2] == {}
    assert [one.fate for one in judged(found)] == ["unknown", "disagrees"], "where it is read, it is one"


def draft(tool: str, **given: object) -> Draft:
    required = next(one for one in REQUIRED if one.tool == tool)
    return Draft(required, (Attempt(f"{required.signature}\n    return ({required.allows}, 'x')\n"),), **given)


def test_a_finding_keeps_a_guard_at_tested_and_survives_being_kept() -> None:
    findings = {"lend_book": ("an example speaks against it",)}
    (doubted,) = toolguard.doubted(synthesis.checked([draft("lend_book")], synthesis.TESTED), findings)
    proved = Draft(doubted.contract, doubted.attempts, (*doubted.passed, synthesis.PROOF), (), doubted.findings)
    entry = synthesis.guarded(proved)
    assert entry.grade == "tested" and entry.reason.startswith(runtime.UNSETTLED)
    rows = json.loads(json.dumps(toolguard.to_rows([doubted], RULES, {}), default=_plain))
    (again,) = toolguard.drafts(rows, [doubted.contract])
    assert again.findings == findings["lend_book"]
    assert veriguard.again((entry,), _Believing()) == (entry,), "a prover does not decide it"


class _Believing:
    def verify(self, sources: list[str]) -> list:
        assert sources == [], "no guard that a person has to decide about is asked of the prover"
        return []


def _plain(value: object) -> object:
    return {name: getattr(value, name) for name in value.__slots__}


def test_scenes_are_examples_of_the_function_where_all_it_reads_is_known() -> None:
    found, _ = written({**ALL, BLOCKED: [{**LENT, "sentence": BLOCKED, "state": {}}]})
    told = scenes.examples(judged(found), REQUIRED, RULES, BOX)
    assert {tool: [one.allowed for one in rows] for tool, rows in told.items()} == {
        "lend_book": [True, False],
        "pay_fine": [True, False],
        "close_card": [True, False],
    }
    assert dict(told["lend_book"][1].arguments) == {"days": 15, "card_blocked": False}
    assert dict(told["pay_fine"][1].arguments) == {"once_get_reader": False}, (
        "what looks back is known from the history"
    )


def test_code_that_is_wrong_on_a_scene_fails_its_tests_with_the_scene_named() -> None:
    found, _ = written({SHORT: [LENT, LONG]})
    told = scenes.examples(judged(found), REQUIRED, RULES, BOX)
    required = next(one for one in REQUIRED if one.tool == "lend_book")
    free = Draft(required, (Attempt(f"{required.signature}\n    return (True, 'x')\n"),))
    (with_scenes,) = synthesis.checked(toolguard.illustrated([free], told), synthesis.TESTED)
    assert any(f"example {found[1].id}" in one.message for one in with_scenes.complaints)
    (right,) = synthesis.checked(toolguard.illustrated([draft("lend_book")], told), synthesis.TESTED)
    assert not right.complaints and right.passed == ("language", "tests")


def test_a_test_that_no_wrong_guard_fails_is_refused() -> None:
    """A call that does not fit is denied whatever the guard says: a test of it would pass on any."""
    found, _ = written({LOOK: [UNSEEN, PAID]})
    kept, refused = scenes.telling(found, BOX)
    assert kept == found and not refused
    other = scenes.Scene("lend_book", "", SHORT, "deny", scenes.Call("lend_book", {"days": "long"}))
    assert scenes.telling([other], BOX)[1][0].reason.startswith("a test that a wrong guard fails was required; got: ")


REFUSED = {
    "no sentence": ({"sentence": "Lend everything."}, "a sentence of the item, word for word"),
    "two words": ({"sentence": "at most"}, "a sentence of the item, word for word"),
    "a sentence of another item": ({"sentence": LOOK}, "a sentence of the item, word for word"),
    "an argument of another type": ({"arguments": {"days": "many"}}, "days"),
    "an argument too many": ({"arguments": {"days": 3, "weight": 2}}, "weight"),
    "no argument": ({"arguments": {}}, "days"),
    "a field that is not declared": ({"state": {"height": 3}}, "fields of the state that tools.json declares"),
    "a field of another type": ({"state": {"age": "old"}}, "state.age"),
    "a field that comes from words": ({"state": {"words": "yes"}}, "comes from said"),
    "an unknown tool before": ({"history": [{"tool": "burn", "arguments": {}}]}, "a tool of tools.json"),
    "a call that does not fit before": ({"history": [{"tool": "pay_fine", "arguments": {}}]}, "reader"),
    "two in one event": ({"history": [{"user": "a", "assistant": "b"}]}, "were required of each event"),
    "nothing in an event": ({"history": [{}]}, "were required of each event"),
    "words with a result": ({"history": [{"user": "a", "result": 3}]}, "without arguments and result"),
    "an answer of a tool that changes": (
        {"answers": [{"tool": "close_card", "arguments": {"reader": "a"}}]},
        "answers of tools that only read",
    ),
    "a time that is none": ({"now": "yesterday"}, "ISO 8601"),
    "too long a history": ({"history": [{"user": "a"}] * 41}, "at most 40"),
    "too long a text": ({"history": [{"user": "a" * 3000}]}, "at most 2000"),
    "a lone surrogate": ({"history": [{"user": "\ud800"}]}, ""),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused_with_its_reason_and_the_rest_is_taken(name: str) -> None:
    change, why = REFUSED[name]
    found, refused = written({SHORT: [{**LENT, **change}, LONG]})
    assert [one.expect for one in found] == ["deny"]
    assert len(refused) == 1 and why in refused[0].reason and (refused[0].tool, refused[0].item) == ("lend_book", SHORT)


def test_two_that_contradict_each_other_are_both_refused_and_the_same_twice_is_one() -> None:
    found, refused = written({SHORT: [LENT, {**LENT, "expect": "deny"}, LONG, LONG]})
    assert [one.expect for one in found] == ["deny"] and len(refused) == 2
    assert all("one decision a situation" in one.reason for one in refused)


def test_a_model_that_gives_no_reply_gives_no_examples_and_says_so() -> None:
    found, refused = written({SHORT: ModelError("gone"), LOOK: [PAID]})
    assert [one.tool for one in found] == ["pay_fine"] and "no usable reply" in refused[0].reason


def test_a_scene_is_the_same_after_it_was_kept() -> None:
    found, _ = written(ALL)
    for one in found:
        kept = json.loads(json.dumps(scenes.row(one), default=lambda value: dict(value)))
        assert scenes.from_row(kept).id == one.id


@pytest.mark.parametrize("verdict", ["allow", "deny", "undecided"])
def test_open_and_failed_guards_never_run_a_call_of_a_scene(verdict: str) -> None:
    """STUB and ERROR refuse: what an open sentence bears on is undecided, what has no accepted code is denied."""
    found, _ = written({SHORT: [LENT]})
    entry = synthesis.guarded(synthesis.checked([draft("lend_book")], synthesis.TESTED)[0])
    grade = "error" if verdict == "deny" else "tested"
    waiting = {"lend_book": (Open("s1", BLOCKED),)} if verdict == "undecided" else {}
    kept = runtime.Guarded(entry.contract, entry.source, grade)
    guard = CallGuard("g", RULES, (kept,), frozenset({"tested"}), BOX, waiting)
    said = scenes.decided(guard, found[0])
    assert said.decision == verdict and (verdict == "allow" or said.reason)


def test_a_person_sees_what_is_against_the_rules_first_what_was_refused_and_what_is_disputed() -> None:
    found, refused = written({SHORT: [LONG, {**LENT, "expect": "deny"}, {**LENT, "state": {"height": 1}}]})
    lost = Struck(id="0" * 12, text=SHORT, why="an old one")
    frame = guard_cards.scenes(judged(found), refused, (lost,)).frame
    assert [one.text for one in frame["fate"]] == ["disagrees", "agrees", "refused", "stale"]
    assert frame["rules say"][0] == "allow: no rule is broken" and SHORT in frame["rules say"][1]
    one = draft("lend_book")
    author = Draft(one.contract, (Attempt(one.source, dissent=("example r1 contradicts the sentence",)),))
    assert list(guard_cards.disputed([one, author]).frame["its author says"]) == ["example r1 contradicts the sentence"]
    assert synthesis.guarded(author).reason.startswith(synthesis.DISPUTED)


@pytest.mark.parametrize("grade", ["stub", "error"])
def test_a_function_under_an_open_or_failed_guard_is_not_run_and_told_why(grade: str) -> None:
    entry = synthesis.guarded(synthesis.checked([draft("lend_book")], synthesis.TESTED)[0])
    kept = runtime.Guarded(entry.contract, entry.source, "tested" if grade == "stub" else "error", "it never passed")
    waiting = {"lend_book": (Open("s1", BLOCKED),)} if grade == "stub" else {}
    session = CallGuard("g", RULES, (kept,), frozenset({"tested"}), BOX, waiting).session()
    session.state({"card_blocked": False})
    ran = []

    @functions.guard(session)
    def lend_book(days: int) -> None:
        ran.append(days)

    with pytest.raises(functions.NotAllowed, match=BLOCKED if grade == "stub" else "it never passed"):
        lend_book(3)
    assert not ran


# ---- struck in the file of decisions --------------------------------------------------------------

STRIKE = 'struck:\n  - {id: "0123456789ab", text: a sentence, why: it is wrong}\n'


def test_struck_examples_stand_beside_decisions(tmp_path) -> None:
    path = tmp_path / "decisions.yaml"
    assert decisions.struck(path) == ()
    path.write_text(STRIKE, "utf-8")
    assert decisions.struck(path) == (Struck(id="0123456789ab", text="a sentence", why="it is wrong"),)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (STRIKE.replace("0123456789ab", "xyz"), "line 2"),
        (STRIKE.replace("it is wrong", '" "'), "a reason 'why' was required"),
        (STRIKE.replace("why", "because"), "line 2"),
        (STRIKE + STRIKE.partition("\n")[2], "one entry an example was required"),
        ("struck: 3\n", "line 1"),
    ],
)
def test_a_mistake_in_them_is_told_with_its_line(tmp_path, text: str, why: str) -> None:
    path = tmp_path / "decisions.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(DecisionError, match=why):
        decisions.struck(path)
