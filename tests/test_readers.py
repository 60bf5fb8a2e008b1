"""What readers reply is executed into formulas, or its sentence is open with the reason; what it says is data."""

import copy
import json

import pytest
from bench import airline

from wb.domain import policy as documents
from wb.domain import tools
from wb.domain.tools import schemas
from wb.logic import cel, decide, worlds
from wb.logic import formula as f
from wb.logic.syntax import parse
from wb.models.client import LLM
from wb.models.endpoint import Reply
from wb.models.ledger import ModelError
from wb.rules import agreement, extract, readers, sentences, vocabulary
from wb.rules.readers import Reader
from wb.rules.rule import Predicate, toolbox
from wb.rules.vocabulary import Entry, of_entries

TEXT = """# Boats

Only adults may rent a boat. A boat must not be rented for more than 7 days, unless the guest is a member.

- Check a boat before you sell it.

The lake is deep.
"""
BOX = tools.parse(
    json.dumps(
        {
            "tools": [
                {"name": "rent", "parameters": {"type": "object", "properties": {"days": {"type": "integer"}}}},
                {"name": "sell", "parameters": {"type": "object", "properties": {}}},
                {"name": "check", "mutating": False, "parameters": {"type": "object", "properties": {}}},
            ],
            "state": [{"name": "age", "type": "integer"}, {"name": "member", "type": "boolean"}],
        }
    )
)
SOURCE = documents.of_text(TEXT, BOX)
ADULTS, DAYS, CHECK, DEEP = "s2", "s3", "s4", "s5"


def entry(name: str, kind: str, **more: object) -> Entry:
    return Entry(Predicate(name, kind, name, **more))


WORDS = of_entries(
    [
        entry("rent", "action", tools=("rent",)),
        entry("sell", "action", tools=("sell",)),
        entry("check", "action", tools=("check",)),
        entry("adult", "state", test=cel.parse("state.age >= 18")),
        entry("long", "state", test=cel.parse("call.days > 7"), tools=("rent",)),
        entry("member", "state", test=cel.parse("state.member")),
    ],
    BOX,
)


class Scripted:
    """An engine that answers each prompt with what it was given; what it was asked is kept."""

    name = "scripted"

    def __init__(self, **replies: object) -> None:
        self.replies, self.asked = replies, []

    def answer(self, prompt, inputs, schema, **_):
        self.asked.append((prompt.name, inputs))
        reply = self.replies.get(prompt.name)
        if reply is None:
            raise ModelError(f"no reply to {prompt.name}")
        return Reply(reply(inputs) if callable(reply) else reply)


def statements(**by_id: object) -> dict[str, object]:
    """A reply with one answer for each statement; empty where none is given."""

    def made(inputs):
        return {"statements": [{"id": row["id"], **by_id.get(row["id"], {})} for row in inputs["statements"]]}

    return made


def read(form: str, **by_id: object) -> dict[str, readers.Reading]:
    llm = LLM(Scripted(**{f"read_{form}": statements(**by_id)}))
    return readers.read(SOURCE, WORDS, Reader(llm, form))


def case(act: str, verdict: str, *when: str) -> dict[str, object]:
    return {"act": act, "when": list(when), "verdict": verdict}


@pytest.mark.parametrize(
    ("form", "answer", "formula"),
    [
        ("formulas", {"rules": ["ALWAYS (rent IMPLIES adult)"]}, "ALWAYS (rent IMPLIES adult)"),
        (
            "cases",
            {"cases": [case("rent", "allowed", "adult"), case("rent", "forbidden")]},
            "ALWAYS (rent IMPLIES adult)",
        ),
        ("cases", {"cases": [case("rent", "forbidden", "NOT adult")]}, "ALWAYS (rent IMPLIES adult)"),
        ("conditions", {"conditions": [{"act": "rent", "allowed_if": "adult"}]}, "ALWAYS (rent IMPLIES adult)"),
        (
            "cases",
            {"cases": [case("rent", "allowed", "member"), case("rent", "forbidden", "long")]},
            "ALWAYS ((rent AND long) IMPLIES member)",
        ),
        (
            "cases",
            {"cases": [case("rent", "forbidden", "long"), case("rent", "allowed", "member")]},
            "ALWAYS (rent IMPLIES NOT long)",
        ),
        (
            "conditions",
            {"conditions": [{"act": "sell", "allowed_if": "ONCE check"}]},
            "ALWAYS (sell IMPLIES ONCE check)",
        ),
        ("conditions", {"conditions": [{"act": "rent", "allowed_if": "false"}]}, "ALWAYS NOT rent"),
    ],
)
def test_each_form_is_executed_into_the_formula_that_it_means(form: str, answer: dict, formula: str) -> None:
    found = read(form, s2=answer)[ADULTS]
    assert not found.problem
    (made,) = found.formulas
    assert decide.equivalent(made, parse(formula))


def test_what_is_asked_of_a_call_and_what_must_follow_are_told_apart() -> None:
    both = "ALWAYS ((rent AND member) IMPLIES adult) AND ALWAYS (rent IMPLIES (adult AND EVENTUALLY check))"
    found = read("formulas", s2={"rules": [both]})[ADULTS]
    assert [agreement.guarding([one], WORDS) != () for one in found.formulas] == [True, True, False]
    right = read("formulas", s2={"rules": ["ALWAYS (rent IMPLIES adult)"]})[ADULTS]
    settled = agreement.settle([found, right], WORDS)
    assert settled.outcome == "agreed"
    kept = f.conjunction(agreement.guarding(settled.formulas, WORDS))
    assert decide.equivalent(kept, parse("ALWAYS (rent IMPLIES adult)"))


def test_what_must_follow_forbids_nothing() -> None:
    for form, answer in (
        ("cases", {"cases": [case("check", "must follow", "adult")]}),
        ("conditions", {"must_follow": [case("check", "must follow", "adult")]}),
    ):
        (made,) = read(form, s2=answer)[ADULTS].formulas
        assert decide.equivalent(made, parse("ALWAYS (adult IMPLIES EVENTUALLY check)"))


@pytest.mark.parametrize(
    ("form", "answer", "why"),
    [
        ("formulas", {"rules": ["ALWAYS (rent IMPLIES tall)"]}, "tall"),
        ("formulas", {"rules": ["rent IMPLIES adult"]}, "at every step"),
        ("formulas", {"rules": ["rent"]}, "at every step"),
        ("formulas", {"rules": ["ALWAYS (rent IMPLIES adult) AND member"]}, "'member' at the first"),
        ("formulas", {"rules": ["ALWAYS ("]}, "cannot be used"),
        ("formulas", {"rules": ["__import__('os').system('true')"]}, "cannot be used"),
        ("formulas", {"rules": ["ALWAYS (rent IMPLIES ONCE[<= 24h] check)"]}, "windows"),
        ("formulas", {"unclear": "two meanings"}, "two meanings"),
        ("formulas", {"missing": [{"kind": "fact", "description": "the weather"}]}, "lacks"),
        ("cases", {"cases": [case("rent OR sell", "forbidden")]}, "one act"),
        ("cases", {"cases": [case("rent", "forbidden", "EVENTUALLY check")]}, "now and earlier"),
        ("conditions", {"conditions": [{"act": "rent", "allowed_if": "ALWAYS adult"}]}, "now and earlier"),
    ],
)
def test_what_cannot_be_executed_is_open_with_its_reason(form: str, answer: dict, why: str) -> None:
    found = read(form, s2=answer)[ADULTS]
    assert not found.formulas and why in found.problem


def test_an_answer_that_is_left_out_or_given_twice_is_no_answer() -> None:
    twice = {"statements": [{"id": "s2"}, {"id": "s2"}, {"id": "s3"}]}
    found = readers.read(SOURCE, WORDS, Reader(LLM(Scripted(read_formulas=twice)), "formulas"))
    assert "got 2" in found["s2"].problem and "got 0" in found["s4"].problem and not found["s3"].problem


def test_the_second_reader_sees_the_statements_in_another_order_and_no_other_readers_answer() -> None:
    engines = [Scripted(read_formulas=statements()), Scripted(read_cases=statements())]
    for engine, form in zip(engines, ("formulas", "cases"), strict=True):
        readers.read(SOURCE, WORDS, Reader(LLM(engine), form))
    orders = [[row["id"] for row in engine.asked[0][1]["statements"]] for engine in engines]
    assert orders[0] == orders[1][::-1] and len(orders[0]) == 5
    assert not any(
        "rules" in str(inputs) or "cases" in str(inputs["statements"]) for e in engines for _, inputs in e.asked
    )


# ---- from replies to classes --------------------------------------------------------------------

ENTRIES = {
    "acts": [{"name": n, "description": n, "tools": [n]} for n in ("rent", "sell", "check")],
    "facts": [
        {"name": "adult", "description": "at least 18 years old", "test": "state.age >= 18"},
        {"name": "long", "description": "for more than 7 days", "test": "call.days > 7", "tools": ["rent"]},
        {"name": "member", "description": "a member", "test": "state.member"},
    ],
}
FIRST = {
    "s2": {"about": ["rent"], "rules": ["ALWAYS (rent IMPLIES adult)"]},
    "s3": {"about": ["rent"], "rules": ["ALWAYS ((rent AND long) IMPLIES member)"]},
    "s4": {"about": ["sell"], "rules": ["ALWAYS (sell IMPLIES ONCE check)"]},
}
SECOND = {
    "s2": {"about": ["rent"], "cases": [case("rent", "forbidden", "NOT adult")]},
    "s3": {"about": ["rent"], "cases": [case("rent", "forbidden", "long")]},  # without the exception
    "s4": {"about": ["sell"], "cases": [case("sell", "forbidden", "NOT ONCE check")]},
}


def scripted(**changes: object) -> LLM:
    return LLM(
        Scripted(
            **{
                "relate_statements": {"bindings": []},
                "write_vocabulary": ENTRIES,
                "bind_vocabulary": ENTRIES,
                "read_formulas": statements(**FIRST),
                "read_cases": statements(**SECOND),
                "read_conditions": statements(
                    s3={"about": ["rent"], "conditions": [{"act": "rent", "allowed_if": "NOT long OR member"}]}
                ),
                **changes,
            }
        )
    )


def classes(**options: object) -> dict[str, sentences.Account]:
    found = extract.asked(SOURCE, [options.pop("llm", None) or scripted()], **options)
    accounts = sentences.classify(SOURCE, found).accounts
    return {clause.id: account for clause, account in zip(found.clauses, accounts, strict=True)}


def test_what_readers_agree_on_is_in_force_and_what_differs_is_open_with_the_run_that_tells() -> None:
    by = classes(count=2)
    assert [by[k].cls for k in (ADULTS, DAYS, CHECK, DEEP)] == ["rule", "open", "rule", "not a constraint"]
    assert by[ADULTS].grade == "agreed 2 of 2" and by[ADULTS].tools == ("rent",)
    assert by[DAYS].tools == ("rent",) and "rent is called" in by[DAYS].apart[0]


@pytest.mark.parametrize(
    ("trust", "count", "name", "cls", "grade"),
    [
        ("agreed", 3, DAYS, "rule", "agreed 2 of 3"),
        ("read", 2, DAYS, "rule", "read once"),
        ("assumed", 2, DAYS, "open", "assumed"),
        ("person", 2, DAYS, "open", ""),
        ("person", 2, ADULTS, "open", ""),
    ],
)
def test_trust_says_what_is_in_force(trust: str, count: int, name: str, cls: str, grade: str) -> None:
    one = classes(trust=trust, count=count)[name]
    assert (one.cls, one.grade, bool(one.rules)) == (cls, grade, bool(grade))


def test_a_number_that_no_test_has_keeps_an_agreed_sentence_open() -> None:
    facts = [*ENTRIES["facts"][:1], {"name": "long", "description": "long", "test": "call.days > 6", "tools": ["rent"]}]
    entries = {**ENTRIES, "facts": [*facts, ENTRIES["facts"][2]]}
    one = classes(llm=scripted(write_vocabulary=entries, bind_vocabulary=entries), count=3)[DAYS]
    assert one.cls == "open" and "7" in one.reason


def bound(*tests: str | None) -> LLM:
    """A model that binds `adult` so, the k-th time by the k-th test; by a question where that is None."""
    left = list(tests)

    def bind(inputs):
        facts = {row["name"]: dict(row) for row in ENTRIES["facts"]}
        test = left.pop(0)
        told = {"test": test} if test else {"question": "Are they of age?", "of": ["user"]}
        facts["adult"] = {"name": "adult", "description": "at least 18 years old", **told}
        return {**ENTRIES, "facts": list(facts.values())}

    return scripted(write_vocabulary=bind, bind_vocabulary=bind)


@pytest.mark.parametrize(
    ("tests", "third", "by"),
    [
        (("state.age >= 18", "!(state.age < 18)"), "scripted", "agreed"),
        (("state.age >= 18", "state.age > 18", "18 <= state.age"), "scripted", "agreed 2 of 3"),
        (("state.age > 18", "state.age >= 18", "18 <= state.age"), "another", "agreed 2 of 3"),
        (("state.age > 18", "state.age >= 18", "18 <= state.age"), "scripted", "bindings differ"),  # of one model
        (("state.age >= 18", None, "18 <= state.age"), "scripted", "agreed 2 of 3"),
        (("state.age >= 18", "state.age > 18", "state.age > 20"), "another", "bindings differ"),
        (("state.age >= 18", "state.tall", "state.short"), "another", "one writer"),
    ],
)
def test_a_fact_is_bound_twice_and_where_two_bindings_differ_a_third_time(tests: tuple, third: str, by: str) -> None:
    model = bound(*tests)
    engine = copy.copy(model.engine)
    engine.name = third
    entry = extract.asked(SOURCE, extract.Panel([model, model, LLM(engine)], [model], [])).words.entry("adult")
    assert entry.by == by and entry.usable is (by != "one writer")
    if by.startswith("agreed"):
        assert worlds.compare(entry.predicate.test, cel.parse("state.age >= 18"), schemas(BOX.state), {}).same


def test_an_act_is_done_by_the_tools_that_two_of_three_writers_name() -> None:
    named = [["rent", "sell"], ["rent"], ["rent", "check"]]

    def bind(inputs):
        return {**ENTRIES, "acts": [{**ENTRIES["acts"][0], "tools": named.pop(0)}, *ENTRIES["acts"][1:]]}

    models = [scripted(write_vocabulary=bind, bind_vocabulary=bind) for _ in range(3)]
    for model, name in zip(models, ("one", "another", "a third"), strict=True):
        model.engine.name = name
    words = extract.asked(SOURCE, models).words
    assert words.entry("rent").predicate.tools == ("rent",) and words.entry("rent").by == "agreed 2 of 3"


def test_a_test_and_a_question_that_differ_have_to_say_the_same() -> None:
    found = extract.asked(SOURCE, [bound("state.age >= 18", None, "state.tall")])
    assert found.words.entry("adult").by == "bindings differ"
    assert [field.name for field in found.toolbox.state if field.source] == ["adult__2"]


@pytest.mark.parametrize(("age", "decision"), [(17, "deny"), (18, "undecided"), (20, "undecided"), (21, "allow")])
def test_where_three_bindings_differ_a_call_is_decided_on_which_all_say_the_same(age: int, decision: str) -> None:
    found = extract.asked(SOURCE, [bound("state.age >= 18", "state.age > 18", "state.age > 20")])
    accounts, ruleset = sentences.classify(SOURCE, found)
    assert accounts[1].cls == "rule"
    session = airline.guarded("boats", toolbox(found.toolbox, ruleset), ruleset).session()
    session.state({"age": age, "member": True})
    assert session.call("rent", {"days": 1}).decision == decision


@pytest.mark.parametrize(
    ("tests", "third", "usable"),
    [
        (("state.age >= 3", "state.age >= 18", "state.age >= 3"), "scripted", True),  # the first model twice
        (("state.tall", "state.age >= 3", "state.age >= 3"), "another", False),  # one model alone can be used
    ],
)
def test_a_model_that_binds_twice_is_one_voice_beside_another(tests: tuple, third: str, usable: bool) -> None:
    model = bound(*tests)
    other = LLM(copy.copy(model.engine))
    other.engine.name = "another"
    writers = [model, other, model if third == "scripted" else other]
    found = extract.asked(SOURCE, extract.Panel(writers, [model], []))
    entry = found.words.entry("adult")
    assert entry.by != "agreed 2 of 3" and entry.usable is usable
    if usable:
        accounts, ruleset = sentences.classify(SOURCE, found)
        session = airline.guarded("boats", toolbox(found.toolbox, ruleset), ruleset).session()
        session.state({"age": 5, "member": True})
        assert session.call("rent", {"days": 1}).decision == "undecided"


@pytest.mark.parametrize(
    "needle",
    [
        "call.days > 3000",
        "call.days / 7 > 1000",
        "call.days * call.days == 1024",
        "string(call.days) == '9'",
        "state.age == 17 && call.days == 9",
    ],
)
def test_where_tests_that_were_the_same_on_all_values_tried_differ_nothing_is_known(needle: str) -> None:
    """A second writer's test lets a value through that nobody tries."""
    again = f"call.days > 7 && !({needle})"

    def bind(inputs):
        facts = [dict(row) for row in ENTRIES["facts"]]
        facts[1]["test"] = again
        return {**ENTRIES, "facts": facts}

    for first, second in ((ENTRIES, bind), (bind, ENTRIES)):
        found = extract.asked(SOURCE, [scripted(write_vocabulary=first, bind_vocabulary=second)], count=3)
        accounts, ruleset = sentences.classify(SOURCE, found)
        judge = airline.guarded("boats", toolbox(found.toolbox, ruleset), ruleset)
        for days in (8, 9, 32, 8000):
            session = judge.session()
            session.state({"age": 17 if "17" in needle else 30, "member": False})
            assert session.call("rent", {"days": days}).decision != "allow", days


def test_a_question_is_asked_as_both_writers_put_it() -> None:
    asked = iter(["Has the user said anything?", "Is the user of age?"])

    def bind(inputs):
        told = {"test": None, "question": next(asked), "of": ["user"]}
        return {**ENTRIES, "facts": [{**ENTRIES["facts"][0], **told}, *ENTRIES["facts"][1:]]}

    words = extract.asked(SOURCE, [scripted(write_vocabulary=bind, bind_vocabulary=bind)]).words
    question = words.entry("adult").predicate.question
    assert "said anything?" in question and "of age?" in question


def test_a_persons_entry_settles_what_bindings_differ_on() -> None:
    llm = bound("state.age >= 18", "state.tall", "state.short")
    person = vocabulary.loads("facts:\n  adult: {test: state.age >= 18}\n", BOX)
    assert classes(llm=llm, own=person)[ADULTS].cls == "rule"
    by = classes(llm=bound("state.age >= 18", "state.tall", "state.short"))
    assert by[ADULTS].cls == "open" and "disputed" in by[ADULTS].reason and by[CHECK].cls == "rule"


def test_a_binding_that_cannot_be_used_is_put_right_once() -> None:
    right = {"facts": [{**ENTRIES["facts"][0], "description": ""}]}
    wrong = {**ENTRIES, "facts": [{**ENTRIES["facts"][0], "test": "state.years >= 18"}, *ENTRIES["facts"][1:]]}
    llm = scripted(write_vocabulary=wrong, correct_bindings=right)
    words = extract.asked(SOURCE, [llm]).words
    assert words.entry("adult").by == "agreed" and words.entry("adult").predicate.description == "at least 18 years old"
    (asked,) = [inputs["entries"] for name, inputs in llm.engine.asked if name == "correct_bindings"]
    assert [row["name"] for row in asked] == ["adult"] and "years" in asked[0]["problem"]


def test_a_reply_that_cannot_be_used_is_asked_for_once_more_with_the_reason() -> None:
    def first(inputs):
        refused = any("refused" in row for row in inputs["statements"])
        return statements(**FIRST if refused else {**FIRST, "s2": {"rules": ["ALWAYS (rent IMPLIES tall)"]}})(inputs)

    llm = scripted(read_formulas=first)
    assert classes(llm=llm)[ADULTS].grade == "agreed 2 of 2"
    again = [inputs["statements"] for name, inputs in llm.engine.asked if name == "read_formulas"][1]
    assert [row["id"] for row in again] == ["s2"] and "tall" in again[0]["refused"]


# ---- judges of the run on which readings part -----------------------------------------------------


@pytest.mark.parametrize(
    ("verdicts", "cls", "formula"),
    [
        (["allowed"], "rule", "ALWAYS ((rent AND long) IMPLIES member)"),
        (["allowed", "allowed"], "rule", "ALWAYS ((rent AND long) IMPLIES member)"),
        (["forbidden"], "rule", "ALWAYS (rent IMPLIES NOT long)"),
        (["unclear"], "open", ""),
        (["allowed", "forbidden"], "open", ""),
        (["allowed", "unclear"], "open", ""),
    ],
)
def test_judges_of_the_run_on_which_readings_part_rule_one_of_them_out(verdicts: list, cls: str, formula: str) -> None:
    """The first reader has the exception and the second has not; the third cannot say."""
    script = scripted(read_conditions=statements(s3={"unclear": "two meanings"})).engine.replies

    def judge(verdict: str) -> LLM:
        made = {"runs": [{"id": "s3", "verdict": verdict}]}
        return LLM(Scripted(**script, judge_runs=made))

    models = [LLM(Scripted(**script))]
    judging = [judge(one) for one in verdicts]
    found = extract.asked(SOURCE, extract.Panel(models, models, judging))
    one = next(e for c, e in zip(found.clauses, found.extracts, strict=True) if c.id == DAYS)
    assert one.cls == cls
    if formula:
        assert one.grade == "agreed by judges" and decide.equivalent(one.formulas[0], parse(formula))
    ((_, inputs),) = [row for row in judging[0].engine.asked if row[0] == "judge_runs"]
    assert [row["id"] for row in inputs["runs"]] == ["s3"] and "done: rent [rent]" in inputs["runs"][0]["run"][0]
    assert "IMPLIES" not in str(inputs), "a judge sees no reading"


@pytest.mark.parametrize(
    ("verdicts", "cls"),
    [
        (["complete", "complete"], "rule"),
        (["leaves out", "complete"], "rule"),
        (["leaves out", "adds"], "open"),
        ([], "rule"),
    ],
)
def test_what_all_judges_object_to_is_open(verdicts: list, cls: str) -> None:
    def judge(verdict: str) -> LLM:
        return LLM(Scripted(judge_rules={"statements": [{"id": "s2", "verdict": verdict, "problem": "not all"}]}))

    judging = [judge(one) for one in verdicts]
    found = extract.asked(SOURCE, extract.Panel([scripted()], [scripted()], judging))
    one = next(e for c, e in zip(found.clauses, found.extracts, strict=True) if c.id == ADULTS)
    assert one.cls == cls and ("not all" in one.reason) is (cls == "open")
    if judging:
        (shown,) = [inputs for name, inputs in judging[0].engine.asked if name == "judge_rules"]
        rows = {row["id"]: row["rules"] for row in shown["statements"]}
        assert rows[ADULTS] == ["ALWAYS (rent IMPLIES adult)"] and "nothing" in rows[DEEP][0] and "s1" not in rows
        adult = next(row for row in shown["facts"] if row["name"] == "adult")
        assert adult["tests"] == ["state.age >= 18"] and list(adult["fields"]) == ["state.age"]


def test_a_missing_entry_is_added_and_only_its_statements_are_read_again() -> None:
    lacking = {"about": ["rent"], "missing": [{"kind": "fact", "description": "the guest can swim"}]}
    swim = {"facts": [{"name": "can_swim", "description": "can swim", "question": "Can they swim?", "of": ["user"]}]}

    def first(inputs):
        known = {row["name"] for row in inputs["facts"]}
        rules = {"about": ["rent"], "rules": ["ALWAYS (rent IMPLIES can_swim)"]}
        return statements(**{**FIRST, "s2": rules if "can_swim" in known else lacking})(inputs)

    def second(inputs):
        known = {row["name"] for row in inputs["facts"]}
        rows = {"about": ["rent"], "cases": [case("rent", "forbidden", "NOT can_swim")]}
        return statements(**{**SECOND, "s2": rows if "can_swim" in known else lacking})(inputs)

    def bind(inputs):
        return swim if [row["name"] for row in inputs["entries"]["facts"]] == ["can_swim"] else ENTRIES

    engine = scripted(read_formulas=first, read_cases=second, add_vocabulary=swim, bind_vocabulary=bind).engine
    by = classes(llm=LLM(engine))
    assert by[ADULTS].cls == "rule" and by[CHECK].cls == "rule"
    asked = [[row["id"] for row in inputs["statements"]] for name, inputs in engine.asked if name == "read_formulas"]
    assert len(asked) == 2 and asked[1] == ["s2"]


def test_an_entry_that_would_ask_what_the_agent_says_is_disputed() -> None:
    """Whose words count is never the agent, whoever writes it; nothing else of the vocabulary is lost."""
    asked = {"name": "agrees", "description": "it agrees", "question": "Did it agree?", "of": ["assistant"]}
    entries = {**ENTRIES, "facts": [*ENTRIES["facts"], asked]}
    words = extract.asked(SOURCE, [scripted(write_vocabulary=entries, bind_vocabulary=entries)]).words
    assert "agent" in words.disputed["agrees"] and not {*words.disputed} - {"agrees"}
