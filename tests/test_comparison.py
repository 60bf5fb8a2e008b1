"""Methods side by side: who ran has figures on every split, who did not has a reason."""

import json
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import ROOT
from loopback import Say, Scripted
from oracles import code_hosting, shopping
from typer.testing import CliRunner

from wb import build, cli
from wb.bench import compare, mind2web, recall, world
from wb.bench.compare import Measured, Turns
from wb.bench.evaluate import Scored
from wb.bench.mind2web import Benchmark, Case
from wb.domain import events
from wb.domain import policy as documents
from wb.domain.events import Event, Observation, Recognition, Run
from wb.domain.events import Say as Said
from wb.domain.policy import Policy, of_text
from wb.domain.tools import Field, Tool, Toolbox
from wb.domain.trace import Call, Step, Trace, Verdict
from wb.models import client
from wb.models.client import LLM
from wb.models.embeddings import Encoder
from wb.models.endpoint import Endpoint, Replies
from wb.offline import reader
from wb.offline.engine import Offline
from wb.rules import decisions
from wb.runs import report, verdicts

ORACLES = {"code_hosting": code_hosting, "shopping": shopping}

BOX = Toolbox(
    (
        Tool(
            "lend",
            "Lend a book.",
            keywords=("lend", "borrow", "book"),
            examples=("lend me a novel", "I want to borrow two books"),
        ),
        Tool("ring", "Ring the bell.", keywords=("ring", "bell"), examples=("ring the bell", "sound the bell twice")),
    ),
    (Field("card", "boolean", "the user has a card", keywords=("card",)),),
)
TEXT = "# Library\n\nA user without a card cannot lend a book.\n"


def case(number: int, task: str, card: bool, denied: bool) -> Case:
    return Case(f"m2w-{number}", Observation(task, "library", state={"card": card}), denied)


RUNS = Benchmark(
    (
        case(0, "lend me a map", True, False),
        case(1, "please lend me a novel", False, True),
        case(2, "ring the bell now", False, False),
        case(3, "borrow an atlas", False, True),
    ),
    frozenset({"m2w-0", "m2w-1"}),
)


class CardGuard:
    """Denies lending without a card; written down by hand."""

    name = "by hand"

    def decide(self, trace: Trace) -> Verdict:
        step = trace.steps[-1]
        denied = step.calls[0].tool == "lend" and not step.state["card"]
        return Verdict("deny", "no card", ("r1",)) if denied else Verdict("allow", "fine")


@pytest.fixture(scope="module")
def policy() -> Policy:
    return of_text(TEXT, BOX)


@pytest.fixture(scope="module")
def engine(vectors: Path) -> LLM:
    return LLM(Offline(BOX, Encoder(cache=vectors)))


@pytest.fixture(scope="module")
def turns(engine: LLM) -> Turns:
    return compare.recognised(RUNS, BOX, engine)


def test_a_guard_is_measured_on_turns_that_are_recognised_once(turns: Turns) -> None:
    done = compare.measured(CardGuard(), RUNS, turns)
    assert turns.queries == 0 and turns.sure == 4 and done.seconds >= turns.seconds
    assert [outcome.right for outcome in done.outcomes] == [True] * 4


def test_every_split_has_its_row_and_missing_methods_their_reason(policy: Policy, turns: Turns) -> None:
    methods = [compare.measured(CardGuard(), RUNS, turns), compare.keywords(policy, RUNS)]
    rows = compare.table(methods, RUNS)
    assert [(r["split"], r["n"]) for r in rows if r["method"] == "by hand"] == [("all", 4), ("tuned", 2), ("other", 2)]
    assert {r["method"] for r in rows if r.get("reason")} == {"direct", "rule_traverse", "guardagent"}
    assert sum(r["published"] for r in rows) == len(mind2web.PUBLISHED)
    assert json.loads(json.dumps(rows)) == json.loads(json.dumps(rows, default=str)), "plain JSON values"


def test_the_offline_engine_is_no_model(policy: Policy, engine: LLM) -> None:
    assert not compare.is_model(engine) and compare.asked(policy, None, RUNS, engine) == ()


def test_a_policy_without_labelled_runs_has_reasons_and_no_figures(policy: Policy, engine: LLM) -> None:
    none = Benchmark()
    turns = compare.recognised(none, BOX, engine)
    rows = compare.table([compare.measured(CardGuard(), none, turns), compare.keywords(policy, none)], none)
    assert [row["reason"] for row in rows] == [compare.NO_RUNS] * 5 and all(row["accuracy"] is None for row in rows)
    ((name, told),) = report._unmeasured(rows)
    assert name == "measured" and told.startswith("nothing: this policy has no labelled runs; -p runs=FILE")
    assert compare.headline(Measured("by hand", (), 0, 0.0), none) == {"measured": compare.NO_RUNS}
    assert compare.differences([Measured("a", (), 0, 0.0), Measured("b", (), 0, 0.0)]) == []
    assert str(none) == "no labelled runs stand beside this policy"


def test_a_folder_without_ids_has_no_labelled_runs(tmp_path: Path) -> None:
    (tmp_path / "policy.md").write_text(TEXT, "utf-8")
    assert mind2web.of_policy(tmp_path) == Benchmark()
    assert compare.bare(tmp_path, "six_rules.md", RUNS, Turns((), 0, 0.0), None, reader.extracted) == ()


def test_a_shorter_document_beside_the_policy_is_measured_too(tmp_path: Path, engine: LLM, turns: Turns) -> None:
    (tmp_path / "policy.md").write_text(TEXT + "\nRinging the bell requires a card.\n", "utf-8")
    (tmp_path / "short.md").write_text(TEXT, "utf-8")
    tools = [
        {"name": t.name, "description": t.description, "keywords": list(t.keywords), "examples": list(t.examples)}
        for t in BOX.tools
    ]
    state = [{"name": "card", "type": "boolean", "description": "the user has a card", "keywords": ["card"]}]
    (tmp_path / "tools.json").write_text(json.dumps({"tools": tools, "state": state}), "utf-8")
    tested, words = compare.bare(tmp_path, "short.md", RUNS, turns, engine, reader.extracted)
    assert (tested.method, words.method) == ("toolguard", "keywords")
    assert [outcome.right for outcome in tested.outcomes] == [True] * 4
    assert {outcome.verdict.grade for outcome in tested.outcomes} == {"tested", "free"}, "some tool is free"


def test_differences_name_both_methods() -> None:
    deny, allow = Verdict("deny", "x"), Verdict("allow", "x")
    first = Measured("first", (Scored("a", True, deny), Scored("b", True, deny)), 0, 0.0)
    second = Measured("second", (Scored("a", True, allow), Scored("b", True, deny)), 0, 0.0)
    assert compare.differences([first, second]) == [
        {"first": "first", "second": "second", "only_first": 1, "only_second": 0, "p": 1.0}
    ]


def test_a_turn_that_may_be_several_things_is_not_sure() -> None:
    either = Recognition((Step((Call("lend"),)), Step((Call("ring"),))), "either")
    assert Turns((either,), 0, 0.0).sure == 0


def test_the_headline_is_accuracy_and_recall_by_split(turns: Turns) -> None:
    found = compare.headline(compare.measured(CardGuard(), RUNS, turns), RUNS)
    rates = {f"{rate}_{split}" for rate in ("accuracy", "recall") for split in ("all", "tuned", "other")}
    assert set(found) <= rates and {name for name in found if "accuracy" in name} == {n for n in rates if "acc" in n}
    assert set(found.values()) == {1.0}
    wrong = [replace(outcome, verdict=Verdict("allow", "x")) for outcome in turned(turns)]
    assert compare.headline(Measured("x", tuple(wrong), 0, 0.0), RUNS)["recall_all"] == 0.0


def turned(turns: Turns) -> list[Scored]:
    return list(compare.measured(CardGuard(), RUNS, turns).outcomes)


def test_turns_say_how_many_are_sure(turns: Turns) -> None:
    assert str(turns) == "4 of 4 turns are one thing for sure"
    assert str(Turns((), 0, 0.0)) == "there is no free-text turn"


def test_a_recorded_run_counts_as_right_only_where_each_of_its_calls_is() -> None:
    def scored(case: str, denied: bool, decision: str) -> Scored:
        return Scored(case, denied, Verdict(decision, "so it is"))

    outcomes = (
        scored("a#0", False, "allow"),
        scored("a#3", True, "undecided"),  # it does not run, which is right
        scored("b#0", True, "deny"),
        scored("b#1", True, "allow"),
        scored("c#c#1", False, "undecided"),
        scored("c#c#2", False, "allow"),
        scored("d#0", False, "allow"),
    )
    run = Run("a", (Event("a", Said("user", "hello")),))
    (row,) = compare.by_run([Measured("g", outcomes, 0, 0.0, ("a#0", "b#1", "d#0"))], Benchmark(runs=(run,)))
    assert row == {
        "method": "g",
        **{"runs": 4, "every call right": 2},
        **{"with calls to deny": 2, "every one denied": 1},
        **{"with calls to allow": 3, "every one allowed": 2, "near misses": 3},
    }
    assert compare.by_run([Measured("g", outcomes, 0, 0.0)], RUNS) == []


RECORDED = """{"run": "r", "say": {"role": "user", "text": "a map, please"}}
{"run": "r", "say": {"role": "page", "text": "cards are checked here"}}
{"run": "r", "state": {"card": false}}
{"run": "r", "call": {"tool": "ring", "arguments": {}}}
{"run": "r", "result": "rung"}
{"run": "r", "call": {"tool": "lend", "arguments": {}}, "label": "deny"}
{"run": "s", "state": {"card": true}}
{"run": "s", "call": {"tool": "lend", "arguments": {}}, "label": "allow"}
"""


class Waits(NamedTuple):
    """An open sentence."""

    id: str
    text: str


def carding(request: dict) -> Say:
    """As `carded`, of turns whose card nobody told as well."""
    if request["response_format"]["json_schema"]["name"] != "judge_turns":
        return carded(request)
    runs = json.loads(request["messages"][1]["content"].split('name="turns">')[1].split("</data>")[0])
    rows = [
        {"id": r["id"], "violated": ["s1"] * (r["run"][0]["known"].get("card") is False), "unknown": []} for r in runs
    ]
    return Say(json.dumps({"turns": rows}))


def carded(request: dict) -> Say:
    """A scripted model that looks at the card of the turn, and so for each rule of each turn."""
    form, text = request["response_format"]["json_schema"]["name"], request["messages"][1]["content"]
    if form == "judge_turns":
        runs = json.loads(text.split('name="turns">')[1].split("</data>")[0])
        rows = [{"id": r["id"], "violated": ["s1"] * (not r["run"][0]["known"]["card"]), "unknown": []} for r in runs]
        return Say(json.dumps({"turns": rows}))
    sentence = "A user without a card cannot lend a book."
    return Say(
        json.dumps(
            {
                "direct": {"decision": "deny", "violated": [sentence], "reason": "no card"}
                if '"card": false' in text
                else {"decision": "allow", "violated": [], "reason": "a card"},
                "rule_traverse": {"violated": "yes" if '"card": false' in text else "no", "reason": "card"},
                "guardagent_plan": {"sentences": [sentence], "steps": ["deny if card is false"]},
                "guardagent_code": {
                    "code": "def check(card: bool) -> Tuple[bool, str]:\n    if not card:\n"
                    f'        return (False, "{sentence}")\n    return (True, "allowed")'
                },
            }[form]
        )
    )


@pytest.mark.parametrize(
    ("name", "batch", "queries"),
    [("direct", 1, 1), ("direct", 2, 0.5), ("rule_traverse", 1, 1), ("rule_traverse", 9, 0.5), ("guardagent", 1, 2)],
)
def test_a_baseline_judges_the_labelled_calls_of_recorded_runs(tmp_path, policy, name, batch, queries) -> None:
    runs, rules = events.loads(RECORDED), reader.extracted(policy).ruleset
    with Scripted(carded) as server:
        llm = LLM(Endpoint("scripted", base_url=server.url, replies=Replies(tmp_path), retries=0))
        judged = compare.judged(name, policy, rules, runs, llm, batch)
    assert [(one.id, one.tool, one.label, one.verdict.decision) for one in judged] == [
        ("r#1", "lend", "deny", "deny"),
        ("s#0", "lend", "allow", "allow"),
    ]
    assert {one.queries for one in judged} == {queries} and all(one.seconds > 0 for one in judged)
    row = verdicts.row(judged[0], {rule.id: rule.quote for rule in rules.rules}, {})
    assert [one["quote"] for one in row["violated"]] == ["A user without a card cannot lend a book."]
    assert row["queries"] == queries
    assert any("page: cards are checked here" in one["messages"][1]["content"] for one in server.requests)
    again = LLM(Endpoint("scripted", replies=Replies(tmp_path, "replay")))
    replayed = compare.judged(name, policy, rules, runs, again, batch)
    assert [one.verdict for one in replayed] == [one.verdict for one in judged]
    assert {(one.queries, one.seconds) for one in replayed} == {(queries, None)}, "no time of replies that were there"


RUNG = """{"run": "r", "call": {"tool": "ring", "arguments": {}}, "label": "allow"}
{"run": "s", "state": {"card": true}}
{"run": "s", "call": {"tool": "lend", "arguments": {}}, "label": "allow"}
{"run": "t", "state": {"card": false}}
{"run": "t", "call": {"tool": "lend", "arguments": {}}, "label": "deny"}
"""


@pytest.mark.parametrize(("name", "batch"), [("rule_traverse", 1), ("rule_traverse", 9), ("direct", 1)])
def test_a_call_that_no_rule_concerns_is_told_apart_and_undecided_where_sentences_are_open(
    tmp_path, policy, name, batch
) -> None:
    runs, rules = events.loads(RUNG), reader.extracted(policy).ruleset
    waiting = {tool: (Waits("s7", "Ring only by day."),) for tool in ("ring", "lend")}
    with Scripted(carding) as server:
        llm = LLM(Endpoint("scripted", base_url=server.url, replies=Replies(tmp_path), retries=0))
        free, held = (compare.judged(name, policy, rules, runs, llm, batch, some) for some in ({}, waiting))
    assert [one.verdict.decision for one in free] == ["allow", "allow", "deny"]
    named = [one.verdict.reason == "ring: no rule concerns it" for one in free]
    assert named == [name == "rule_traverse", False, False]
    assert [one.verdict.decision for one in held] == [
        "undecided" if name == "rule_traverse" else "allow",
        "allow",  # the rules of its tool were asked, as the method is
        "deny",
    ]
    assert held[0].verdict.open == (("s7",) if name == "rule_traverse" else ())


def test_a_baseline_needs_a_model_labels_and_all_replies(tmp_path, policy, engine) -> None:
    runs = events.loads(RECORDED)
    with pytest.raises(ValueError, match="--model NAME were required; got 'direct' and 'offline'"):
        compare.judged("direct", policy, None, runs, engine)
    llm = client.connect("paste:ME", offline=None, replies_dir=tmp_path / "replies")
    with pytest.raises(ValueError, match="2 have none yet"):
        compare.judged("direct", policy, None, runs, llm)
    assert len(list((tmp_path / "questions" / "ME").glob("direct.*.md"))) == 2
    with pytest.raises(ValueError, match="calls with a label were required; got none in 1 runs"):
        compare.judged("direct", policy, None, events.loads('{"run": "x", "lost": "all"}\n'), llm)


def allowing(request: dict) -> Say:
    """A scripted model that allows whatever it is asked about."""
    form, text = request["response_format"]["json_schema"]["name"], request["messages"][1]["content"]
    turns = json.loads(text.split('name="turns">')[1].split("</data>")[0]) if form == "judge_turns" else ()
    replies = {
        "direct": {"decision": "allow", "violated": [], "reason": "fine"},
        "judge_turns": {"turns": [{"id": one["id"], "violated": [], "unknown": []} for one in turns]},
        "guardagent_plan": {"sentences": [], "steps": []},
    }
    if form in replies:
        return Say(json.dumps(replies[form]))
    signature = text.split('name="signature">')[1].split("</data>")[0].strip()
    return Say(json.dumps({"code": f'{signature}\n    return (True, "allowed")'}))


@pytest.mark.parametrize("place", ["code_hosting", "shopping"])
@pytest.mark.parametrize(("name", "batch"), [("direct", 1), ("rule_traverse", 50), ("guardagent", 1)])
def test_baselines_judge_runs_of_scripted_environments(tmp_path, place, name, batch) -> None:
    folder = ROOT / "policies" / place
    source = documents.load(folder)
    rules = decisions.own(decisions.load(decisions.place(folder), source), source.toolbox)
    made = list(world.runs(folder, ORACLES[place].violated, seed=3, size=3))
    runs = tuple(Run(sample.run, tuple(happened)) for sample, happened in made)
    with Scripted(allowing) as server:
        llm = LLM(Endpoint("scripted", base_url=server.url, replies=Replies(tmp_path), retries=0))
        judged = compare.judged(name, source, rules, runs, llm, batch)
    assert {(one.run, one.index) for one in judged} == {(s.run, i) for s, _ in made for i in s.calls}
    assert {one.verdict.decision for one in judged} == {"allow"}
    rows = [verdicts.row(one, {}, {}) for one in judged]
    row = recall.rows([sample for sample, _ in made], rows)[0]
    assert row.fpr == 0 and row.accuracy == (row.n - row.unsafe) / row.n


def test_wb_judge_writes_what_a_baseline_says_and_asks_for_a_model(tmp_path, policy, monkeypatch) -> None:
    tool = {"name": "lend", "parameters": {"type": "object", "properties": {}}}
    (tmp_path / "tools.json").write_text(json.dumps({"tools": [tool, tool | {"name": "ring"}]}), "utf-8")
    (tmp_path / "policy.md").write_text(TEXT, "utf-8")
    (tmp_path / "runs.jsonl").write_text(RECORDED, "utf-8")
    built = build.Built(BOX, reader.extracted(policy).ruleset, (), {}, {})
    monkeypatch.setattr(build, "newest", lambda policy, model=None: built)
    monkeypatch.setenv("WB_ARTIFACTS", str(tmp_path / "artifacts"))
    words = ["judge", str(tmp_path), str(tmp_path / "runs.jsonl"), "--guard", "direct", "--json"]
    with pytest.raises(ValueError, match="--model NAME were required; got 'direct' and 'offline'"):
        CliRunner().invoke(cli.app, words, catch_exceptions=False)
    with Scripted(carded) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        words += ["--model", "scripted", "--batch", "2"]
        done = CliRunner().invoke(cli.app, words, catch_exceptions=False)
    first, second = map(json.loads, done.stdout.splitlines())
    assert (first["run"], first["index"], first["decision"]) == ("r", 1, "deny") and second["decision"] == "allow"
    assert first["violated"] == [{"rule": first["violated"][0]["quote"], "quote": TEXT.splitlines()[2]}]
    assert len(server.requests) == 1 and "of 1 violating 1 denied" in done.stderr
