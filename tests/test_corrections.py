"""A fault in an answer goes back once, with what is wrong; the second answer is the last. And what asking costs."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import prompt_path
import pytest
from loopback import Say, Scripted
from test_bad_replies import AGE, AGED, ANSWERED, BOX, GOLD, GOLDEN, HOUSE, QUOTED, action, rule, state
from test_quotations import Answers

from wb.domain import policy, tools
from wb.logic import syntax
from wb.models import client
from wb.models.client import LLM
from wb.models.endpoint import Endpoint, Replies, Reply
from wb.models.forecast import BYTES, Forecast
from wb.offline import norms
from wb.offline.engine import Offline
from wb.rules import decisions, extract, refine, sentences
from wb.rules.rule import RuleSet

ROOT = Path(__file__).resolve().parents[1]


def told(*rules: dict) -> dict:
    return {"statements": [{"id": f"c{i}", "rules": [one]} for i, one in enumerate(rules, 1)]}


def asked(second: dict, first: dict, **options: int) -> tuple[dict[str, str], list[dict], RuleSet]:
    """The classes of both sentences, what the second questions held, and the rules."""
    engine = Answers(extract_policies=QUOTED, extract_rules=first, correct_rules=second)
    llm = LLM(engine, workers=1)
    clauses, lost = extract.policies(HOUSE, llm, norms.constrains)
    rules = extract.rules(clauses, HOUSE, llm, norms.constrains, lost, **options)
    classes = {one.text: one.cls for one in sentences.classify(HOUSE, clauses, rules)}
    return classes, [inputs for name, inputs in engine.asked if name == "correct_rules"], rules


CLAUSES = tuple(
    policy.Clause(f"c{i}", text, HOUSE.text.index(text), HOUSE.text.index(text) + len(text))
    for i, text in enumerate((AGE, GOLD), 1)
)
WRONG = {**AGED, "predicates": [AGED["predicates"][0], state("age_at_least_16", "state.age >= 21")]}
CONVERSE = {**AGED, "formula": "ALWAYS (age_at_least_16 IMPLIES open_gate)"}


@pytest.mark.parametrize(
    ("wrong", "fault"),
    [
        (WRONG, "not accounted for: 16"),
        (CONVERSE, "the converse was written"),
        ({**AGED, "formula": "open_gate IMPLIES age_at_least_16"}, "at the first"),
        ({**AGED, "formula": "ALWAYS (open_gate IMPLIES adult)"}, "must be described; got none for ['adult']"),
    ],
)
def test_a_fault_is_asked_once_more_in_one_question_that_names_it(wrong: dict, fault: str) -> None:
    classes, questions, _ = asked({"rules": [AGED]}, told(wrong, GOLDEN))
    assert classes[AGE] == classes[GOLD] == "rule"
    (question,) = questions
    assert question["statement"]["clause"] == AGE and question["answer"]["rules"][0]["formula"] == wrong["formula"]
    assert fault in " ".join(question["faults"])


def test_the_second_answer_is_the_last_one_and_then_the_sentence_is_open() -> None:
    classes, questions, rules = asked({"rules": [CONVERSE]}, told(WRONG, GOLDEN))
    assert classes[AGE] == "open" and classes[GOLD] == "rule" and len(questions) == 1
    assert [one.clause for one in rules.rules] == ["c2"] and "converse" in rules.undecided[0].reason
    doubt = asked({"undecided": ["the sentence does not say who counts the years"]}, told(WRONG, GOLDEN))
    assert doubt[0][AGE] == "open" and "who counts the years" in doubt[2].undecided[0].reason


def several(first: dict, *more: dict) -> tuple[dict[str, str], list[list[str]], RuleSet, tuple[policy.Clause, ...]]:
    """The classes of both sentences where each further answer is another one, and the faults that were asked about."""
    left = iter(more)

    class Answering(Answers):
        def answer(self, prompt, inputs, schema):
            if prompt.name == "correct_rules":
                self.replies[prompt.name] = next(left)
            return super().answer(prompt, inputs, schema)

    engine = Answering(extract_policies=QUOTED, extract_rules=first)
    llm = LLM(engine, workers=1)
    clauses, lost = extract.policies(HOUSE, llm, norms.constrains)
    rules = extract.rules(clauses, HOUSE, llm, norms.constrains, lost)
    classes = {one.text: one.cls for one in sentences.classify(HOUSE, clauses, rules)}
    return classes, [inputs["faults"] for name, inputs in engine.asked if name == "correct_rules"], rules, clauses


def test_a_mended_slip_of_form_leaves_one_more_question_for_what_can_only_then_be_seen() -> None:
    classes, faults, rules, _ = several(told(CONVERSE, GOLDEN), {"rules": [WRONG]}, {"rules": [AGED]})
    assert classes[AGE] == "rule" and len(faults) == 2 and not rules.undecided
    assert "converse" in faults[0][0] and "not accounted for: 16" in faults[1]
    for more in (
        [{"rules": [WRONG]}, {"rules": [WRONG]}],  # the third answer is the last one
        [{"rules": [CONVERSE]}],  # no form was mended
        [{"rules": []}],  # nor where nothing is left
        [{"rules": [WRONG], "undecided": ["who counts?"]}],  # or where the model cannot tell
    ):
        classes, faults, _, _ = several(told(CONVERSE, GOLDEN), *more)
        assert classes[AGE] == "open" and len(faults) == len(more)
    classes, faults, _, _ = several(told(WRONG, GOLDEN), {"rules": [WRONG]})
    assert classes[AGE] == "open" and len(faults) == 1, "what was asked once is not asked again"


def test_a_disputed_fault_is_told_as_the_models_and_its_reading_is_offered() -> None:
    said = "sixteen is another way to say it"
    classes, _, rules, clauses = several(told(WRONG, GOLDEN), {"rules": [WRONG], "undecided": [said]})
    (why,) = (one.reason for one in rules.undecided)
    assert classes[AGE] == "open" and why.startswith("the model disputes what was found (") and why.endswith(said)
    assert "not accounted for: 16" in why
    readings = sentences.classify(HOUSE, clauses, rules)
    assert not [one for one in sentences.enforced(rules, readings).rules if one.clause == "c1"]
    waiting = next(one for one in readings if one.text == AGE)
    drafted = decisions.draft(readings, BOX, sentences.refused(HOUSE, clauses, rules, readings))
    assert (
        f"open because: {why}" in drafted and "# read as: Whenever open_gate is called, age is at least 21." in drafted
    )
    made = decisions.loads(drafted.replace("    decision:\n", "    decision: accept\n"), HOUSE)
    joined = decisions.join(rules, made, BOX)
    (now,) = (one for one in sentences.classify(HOUSE, clauses, joined, made) if one.text == AGE)
    assert (now.id, now.cls) == (waiting.id, "rule"), "a person took it"
    other = several(told(WRONG, GOLDEN), {"rules": [AGED], "undecided": [said]})[2]
    assert [one.reason for one in other.undecided] == [said], "other rules are no dispute"
    assert [one.part for one in (*rules.undecided, *other.undecided)] == [False, True], "a doubt is no part left out"


def test_a_rule_of_the_world_is_named_as_the_reason_why_its_sentence_is_open() -> None:
    classes, questions, rules = asked({}, told({**AGED, "type": "physical"}, GOLDEN))
    (found,) = (one for one in sentences.classify(HOUSE, CLAUSES, rules) if one.text == AGE)
    assert found.cls == classes[AGE] == "open" and not found.rules
    assert "of type 'physical'" in found.reason and "open_gate IMPLIES age_at_least_16" in found.reason
    both = {
        "statements": [{"id": "c1", "rules": [AGED, {**AGED, "type": "physical"}]}, {"id": "c2", "rules": [GOLDEN]}]
    }
    assert asked({}, both)[0][AGE] == "rule"


def test_nothing_is_asked_again_where_nothing_is_wrong_or_nobody_wants_it() -> None:
    assert asked({}, ANSWERED)[1] == []
    classes, questions, _ = asked({}, told(WRONG, GOLDEN), corrections=0)
    assert classes[AGE] == "open" and questions == []
    with pytest.raises(ValueError, match="corrections must be 0 or 1: .* got 2"):
        asked({}, ANSWERED, corrections=2)


def test_nothing_is_asked_again_where_no_answer_could_help_or_the_model_has_said_that_it_cannot() -> None:
    odd = policy.of_text("A user under 16 must not open the gate, save for twins.", BOX)
    engine = Answers(extract_rules=told(AGED))
    clause = policy.Clause("c1", odd.text, 0, len(odd.text))
    extract.rules([clause], odd, LLM(engine, workers=1), norms.constrains)
    assert [name for name, _ in engine.asked] == ["extract_rules"], "'save' has no reading, whatever the rules are"
    two = {**AGED, "predicates": [AGED["predicates"][0], state("age_at_least_16", "state.age >= state.limit")]}
    box = replace(BOX, state=(*BOX.state, tools.Field("limit", "integer", "the limit")))
    engine, house = Answers(extract_rules=told(two)), policy.of_text(AGE, box)
    found = extract.rules([policy.Clause("c1", AGE, 0, len(AGE))], house, LLM(engine, workers=1), norms.constrains)
    assert [name for name, _ in engine.asked] == ["extract_rules"] and len(found.rules) == 1, "no other test says it"
    (one,) = sentences.classify(house, [policy.Clause("c1", AGE, 0, len(AGE))], found)
    assert one.cls == "open" and "a person may write it: state.age >= state.limit" in one.reason
    doubt = {
        "statements": [
            {"id": "c1", "rules": [WRONG], "undecided": ["I do not know"]},
            told(AGED, GOLDEN)["statements"][1],
        ]
    }
    assert asked({}, doubt)[1] == []


GATE, NOTE = "If a note is sent, the gate must be opened.", "If the gate is opened, a note must be sent."
GATED, NOTED = (
    rule(f"ALWAYS ({first} IMPLIES EVENTUALLY {then})", action("open_gate"), action("send_note"), modality="oblige")
    for first, then in (("send_note", "open_gate"), ("open_gate", "send_note"))
)


def test_answers_that_would_do_for_each_other_are_asked_for_one_by_one() -> None:
    """No word tells which of the two sentences an answer is for: what was taken for each other is not in force."""
    source = policy.of_text(f"{GATE} {NOTE} {AGE} {GOLD}", BOX)
    right = {GATE: GATED, NOTE: NOTED, AGE: AGED, GOLD: GOLDEN}

    class Exchanging(Answers):
        def answer(self, prompt, inputs, schema):
            self.asked.append((prompt.name, inputs))
            if prompt.name == "correct_rules":
                return Reply(self.replies["again"](inputs["statement"]["clause"]))
            said = {s["clause"]: s["id"] for s in inputs["statements"]}
            other = {GATE: NOTE, NOTE: GATE}
            return Reply({"statements": [{"id": said[one], "rules": [right[other.get(one, one)]]} for one in said]})

    def read(again: Callable[[str], dict], **options: int) -> tuple[dict[str, tuple[str, set[str]]], list[str]]:
        engine = Exchanging(again=again)
        llm, clauses = LLM(engine, workers=1), extract.clauses(source, LLM(Offline(BOX)), norms.constrains)
        rules = extract.rules(clauses, source, llm, norms.constrains, **options)
        readings = sentences.classify(source, clauses, rules)
        kept = {one.id: syntax.render(one.formula) for one in sentences.enforced(rules, readings).rules}
        asked = [inputs["statement"]["clause"] for name, inputs in engine.asked if name == "correct_rules"]
        assert all("asked about beside it" in str(i["faults"]) for name, i in engine.asked if name == "correct_rules")
        return {one.text: (one.cls, {kept[name] for name in one.rules}) for one in readings}, asked

    found, asked = read(lambda said: {"rules": [right[said]]})
    assert asked == [GATE, NOTE]
    cls = {GATE: "duty", NOTE: "duty", AGE: "rule", GOLD: "rule"}
    assert found == {said: (cls[said], {right[said]["formula"]}) for said in right}
    doubted, _ = read(lambda said: {"undecided": ["I do not know"]})
    unasked, nobody = read(lambda said: {}, corrections=0)
    assert nobody == []
    for found in (doubted, unasked):
        assert [found[said] for said in (GATE, NOTE)] == [("open", set())] * 2
        assert [found[said][0] for said in (AGE, GOLD)] == ["rule"] * 2


def test_a_doubt_of_the_first_answer_stands() -> None:
    """Also beside a rule that cannot be used, which a second answer might give without the doubt."""
    doubtful = told(CONVERSE, GOLDEN)
    doubtful["statements"][0]["undecided"] = ["it may mean trained users"]
    classes, questions, rules = asked({"rules": [AGED]}, doubtful)
    assert classes[AGE] == "open" and questions == []
    assert "trained users" in " ".join(one.reason for one in rules.undecided)
    source = policy.of_text(f"{GATE} {NOTE}", BOX)
    both = {"statements": [{"id": "c1", "rules": [NOTED], "undecided": ["or the other way"]}, {"id": "c2"}]}
    engine = Answers(extract_rules=both)
    clauses = extract.clauses(source, LLM(Offline(BOX)), norms.constrains)
    extract.rules(clauses, source, LLM(engine, workers=1), norms.constrains)
    assert [name for name, _ in engine.asked] == ["extract_rules"], "nor where it would do for another statement"


def test_a_predicate_that_is_described_twice_is_none() -> None:
    twice = {**AGED, "predicates": [*AGED["predicates"], state("age_at_least_16", "state.age >= 15")]}
    classes, questions, _ = asked({"rules": [twice]}, told(twice, GOLDEN))
    assert classes[AGE] == "open" and "described once" in str(questions[0]["faults"])
    same = {**AGED, "predicates": [*AGED["predicates"], AGED["predicates"][1]]}
    assert asked({}, told(same, GOLDEN))[0][AGE] == "rule"


def test_what_all_questions_share_stands_first() -> None:
    """So that a service that keeps what it has read of a prompt reads tools and fields once."""
    text = " ".join(f"A user under {n} must not open the gate." for n in range(5, 15))
    source = policy.of_text(text, BOX)
    sent: list[str] = []

    class Rendered(Offline):
        def answer(self, prompt, inputs, schema):
            sent.append(
                "".join(m["content"] for m in prompt.render(**inputs)) if prompt.name == "extract_rules" else ""
            )
            return super().answer(prompt, inputs, schema)

    llm = LLM(Rendered(BOX), workers=1)
    extract.rules(extract.clauses(source, llm, norms.constrains), source, llm, norms.constrains)
    questions = [one for one in sent if one]
    shared = os.path.commonprefix(questions)
    assert len(questions) == 3 and "state.age" not in shared.partition("Fields of the state")[0][-200:]
    assert all(name in shared for name in ("send_note", "age of the user in years", "whether the user is registered"))
    assert "must not open the gate" not in shared


def test_a_group_of_one_predicate_is_settled_without_a_question() -> None:
    """Two rules that say the same of one act and one fact: the later one goes, and nobody is asked about pairs."""
    from test_refine import Words

    llm = LLM(Offline(BOX), workers=1)
    source = policy.of_text(f"{AGE} Users under 16 must not open the gate.", BOX)
    rules = extract.rules(extract.clauses(source, llm, norms.constrains), source, llm, norms.constrains)
    assert len(rules.rules) == 2
    engine = Answers(refine_predicates={"answers": [{"id": r.id, "verifiable": True} for r in rules.rules]})
    rounds = refine.refine(rules, LLM(engine, workers=1), Words(), toolbox=BOX, similarity=1.1)
    assert [r.id for r in rounds[-1].ruleset.rules] == ["c1.1"]
    assert {name for name, _ in engine.asked} == {"refine_predicates"}


def test_a_rule_without_an_answer_of_its_own_stays_as_it_is() -> None:
    from test_refine import RULES, TOOLBOX, Words

    engine = Answers(refine_predicates={"answers": []}, merge_predicates={})
    rounds = refine.refine(RULES, LLM(engine, workers=1), Words(), toolbox=TOOLBOX, similarity=1.1, max_rounds=1)
    said = [c.certificate for c in rounds[1].changes if c.kind == "split"]
    assert len(said) == len(RULES.rules) and set(said) == {"no reply: one answer a rule was required"}


def test_the_forecast_is_what_an_endpoint_would_be_asked(tmp_path) -> None:
    source = policy.load(prompt_path.FOLDER)

    def extracted(engine: object) -> None:
        llm = LLM(engine, workers=1)
        clauses, lost = extract.policies(source, llm, norms.constrains)
        extract.rules(clauses, source, llm, norms.constrains, lost, corrections=0)

    offline = Offline(source.toolbox)

    def step(request: dict) -> Say:
        blocks = dict(prompt_path.BLOCK.findall(request["messages"][1]["content"]))
        if "statements" in blocks:
            rows = json.loads(blocks["statements"])
            return Say(json.dumps(offline.techniques()["extract_rules"]({"statements": rows})))
        told = {name: blocks[name].splitlines() for name in ("glossary", "scopes")}
        return Say(json.dumps(offline.techniques()["extract_policies"](blocks | told)))

    with Scripted(step) as server:
        endpoint = Endpoint("scripted", base_url=server.url, api_key="sk-x", replies=Replies(tmp_path / "r"), retries=0)
        forecast = Forecast(endpoint, offline)
        extracted(forecast)
        assert not server.requests, "nobody was asked"
        expected = forecast.rows
        extracted(endpoint)
        sent = [sum(-(-len(m["content"].encode()) // BYTES) for m in r["messages"]) for r in server.requests]
        assert (forecast.total.calls, forecast.total.prompt_tokens) == (len(sent), sum(sent)) == (3, sum(sent))
        again = Forecast(endpoint, offline)
        extracted(again)
        assert again.total.calls == 0 and again.total.replayed == 3, "what is recorded is not asked"
    assert set(expected) == {"extract_policies", "extract_rules"} and forecast.total.completion_tokens > 0


def dry(tmp_path: Path, *more: str, **environment: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "wb.cli", "run", "--dry-run", "--policy", str(prompt_path.FOLDER), *more]
    settings = {"WB_ARTIFACTS": str(tmp_path), "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=os.environ | settings | environment)


def test_a_dry_run_says_what_would_be_asked_and_asks_nobody(tmp_path) -> None:
    done = dry(tmp_path, "--model", "any", "--to", "1", WB_PRICE="1000,2000")
    assert done.returncode == 0, done.stderr
    rows = {row.split()[0]: row.split()[1:] for row in done.stdout.splitlines() if row.strip()}
    calls, recorded, prompt, reply, money = rows["all"]
    assert (calls, recorded) == ("3", "0") and int(prompt) > 1000 and int(reply) > 100
    assert float(money) == pytest.approx((1000 * int(prompt) + 2000 * int(reply)) / 1e6, abs=0.01)
    assert "an estimate, nobody was asked" in done.stdout and not (tmp_path / "01_policy_extraction").exists()


def test_a_dry_run_without_a_model_says_that_nobody_is_asked(tmp_path) -> None:
    done = dry(tmp_path)
    assert done.returncode == 2 and "--dry-run needs --model NAME" in done.stderr


def test_the_number_of_workers_is_a_setting(tmp_path) -> None:
    env = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "WB_WORKERS": "7"}
    assert client.connect("m", offline=Offline(BOX), replies_dir=tmp_path, environment=env).workers == 7
    for wrong, message in (("0", "workers must be 1 or more; got 0"), ("many", "WB_WORKERS must be a number")):
        with pytest.raises(ValueError, match=message):
            client.connect("m", offline=Offline(BOX), replies_dir=tmp_path, environment=env | {"WB_WORKERS": wrong})
