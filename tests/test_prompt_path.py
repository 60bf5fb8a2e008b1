"""The whole prompt path of a short policy from recorded replies: all prompts, no network, no key."""

import json
import shutil
import subprocess
import sys
from collections import Counter

import prompt_path
import pytest
from loopback import serve_tiny_model, write_tiny_model

from wb.bench import baselines
from wb.domain import events
from wb.guards import scenes, synthesis
from wb.logic.syntax import parse
from wb.models import prompt
from wb.models.endpoint import Endpoint, Replies, TruncatedReply, Unreachable
from wb.rules import mapper, readers, refine, vocabulary

AGAIN = "after a change of prompts or of what they are given, run: python tests/prompt_path.py"


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    """The path walked once in replay, with its ledger."""
    vectors = tmp_path_factory.mktemp("vectors")
    shutil.copytree(prompt_path.FOLDER / "vectors", vectors, dirs_exist_ok=True)
    llm = prompt_path.replaying()
    return prompt_path.walk(llm, vectors), llm.ledger


REFUSED = """
import sys
def refuse(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        raise RuntimeError(f"the network was touched: {event} {args}")
sys.addaudithook(refuse)
sys.path[:0] = [sys.argv[1]]
import json, prompt_path
from pathlib import Path
llm = prompt_path.replaying()
walk = prompt_path.walk(llm, Path(sys.argv[2]))
total = llm.ledger.total
print(json.dumps({"rules": len(walk.rounds[-1].ruleset.rules), "calls": total.calls, "replayed": total.replayed}))
"""


def test_replay_runs_end_to_end_with_the_network_refused_and_no_key(tmp_path) -> None:
    shutil.copytree(prompt_path.FOLDER / "vectors", tmp_path, dirs_exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", REFUSED, str(prompt_path.FOLDER.parents[1]), str(tmp_path)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{done.stderr[-1500:]}\n{AGAIN}"
    found = json.loads(done.stdout)
    assert (found["rules"], found["calls"]) == (8, 0) and found["replayed"] >= 40


def test_the_recordings_cover_every_prompt_and_each_is_used(walked) -> None:
    files = {path.name for path in (prompt_path.FOLDER / "replies").glob("*.json")}
    assert {name.split(".")[0] for name in files} == {path.stem for path in prompt.FOLDER.glob("*.md")}
    used = {digest[:32] for digest in walked[1].replies}
    unused = {name for name in files if name.split(".")[1] not in used}
    assert all(name.startswith("repair_guard.") for name in unused), (
        f"only repairs after a proof are the notebooks' own; {AGAIN}"
    )
    assert not [name for name in files if "sk-" in (prompt_path.FOLDER / "replies" / name).read_text("utf-8")]


def test_what_is_open_is_assumed_by_name_of_the_model(walked) -> None:
    (one,) = walked[0].assumed
    assert (one.by, one.decision) == ("model", "not a constraint") and one.text == "The desk closes at eight."


def test_every_constraint_of_the_document_became_a_rule_with_its_verbatim_text(walked) -> None:
    walk, _ = walked
    text = (prompt_path.FOLDER / "policy.md").read_text("utf-8")
    assert len(walk.clauses) == 12 and all(text[c.start : c.end] == c.text for c in walk.clauses)
    assert [rule.quote for rule in walk.rules.rules] == [c.text for c in walk.clauses[3:11]]
    assert Counter(one.grade for one in walk.agreements) == {"agreed 2 of 2": 11, "agreed by judges": 1}
    assert parse("ALWAYS (waive_fee IMPLIES ONCE ask_librarian)") in [rule.formula for rule in walk.rules.rules]


def test_a_conversation_is_begun_and_an_answer_read(walked) -> None:
    assert walked[0].talk == ("I should like to borrow an atlas.", "lend_item") and walked[0].agreed


def test_items_were_found_corrected_split_merged_and_archived(walked) -> None:
    found = walked[0].mapped
    names = {name: [one.name for one in found.items if one.tool == name] for name in found.changes}
    assert names["lend_item"] == ["Valid card to borrow", "Restricted items from 16 on", "Five items at most"]
    assert names["reserve_room"] == ["Valid card to reserve", "Fines of 20 euros at most"]
    (waits,) = (one for one in found.items if one.tool == "renew_loan")
    assert waits.name == "Nobody waits for it" and len(waits.references) == 2
    assert [one.tool for one in found.items if one.archived] == ["delete_history"] and not found.refused


def test_a_malformed_reply_of_the_recording_was_asked_for_again(walked) -> None:
    asked_again = [event for event in walked[1].events if "asked again" in event]
    assert len(asked_again) == 1 and "read_formulas" in asked_again[0] and "valid list" in asked_again[0]


def test_refinement_takes_what_is_exact_and_refuses_what_is_not(walked) -> None:
    fates = {change.kind: change for round_ in walked[0].rounds for change in round_.changes}
    assert fates["split"].accepted and fates["split"].after == ("s4.1_1", "s4.1_2")
    assert fates["prune"].accepted and "s8.1" in fates["prune"].before
    assert not fates["clarify"].accepted and "vagueness" in fates["clarify"].reason


def test_a_guard_that_lets_six_items_through_is_repaired_from_its_test(walked) -> None:
    drafts = {draft.contract.tool: draft for draft in walked[0].drafts}
    assert all(draft.passed[:2] == ("language", "tests") for draft in drafts.values())
    first, *_, last = drafts["lend_item"].attempts
    assert (
        "count_items > 6" in first.source
        and first.complaints
        and "count_items > 5" in last.source
        and not last.complaints
    )
    assert {tool: len(draft.attempts) for tool, draft in drafts.items() if tool != "lend_item"} == dict.fromkeys(
        drafts.keys() - {"lend_item"}, 1
    )


def test_examples_are_written_and_added_and_what_rests_on_nothing_is_refused(walked) -> None:
    found, refused = walked[0].examples
    assert [(one.tool, one.expect) for one in found].count(("lend_item", "deny")) == 3 and len(found) == 11
    assert found[0].sentence == "must not borrow anything" and len({one.id for one in found}) == 11
    assert [one.reason.partition(" was required")[0].partition(" were")[0] for one in refused] == [
        "a sentence of the item, word for word,",
        "fields of the state that tools.json declares",
    ]


def test_turns_are_recognised_and_judged(walked) -> None:
    walk, _ = walked
    assert [sorted({call.tool for step in r.steps for call in step.calls}) for r in walk.recognised] == [
        ["lend_item"],
        ["renew_loan"],
        ["lend_item", "reserve_room"],
    ]
    (lent,) = walk.recognised[0].steps[0].calls
    assert lent.arguments == {"restricted": False} and "lend_item by scripted: restricted “lend the atlas”" in (
        walk.recognised[0].reason
    ), "nothing shows that the list of items is whole"
    assert walk.recognised[1].steps[0].calls[0].arguments is None, "nothing tells which loan"
    decisions = {name: [verdict.decision for verdict in verdicts] for name, verdicts in walk.verdicts.items()}
    assert decisions == {
        "direct": ["deny", "allow", "allow"],
        "rule_traverse": ["deny", "undecided", "allow"],
        "guardagent": ["deny", "allow", "allow"],
        "together": ["deny", "undecided", "allow"],
    }
    assert walk.verdicts["rule_traverse"][0].violated == ("s4.1_1",)


@pytest.mark.parametrize(
    "reply_type",
    [
        vocabulary.Entries,
        readers.Formulas,
        readers.Cases,
        readers.Conditions,
        refine.Refinements,
        refine.Merged,
        scenes.Examples,
        synthesis.GuardCode,
        mapper.ToolsReply,
        mapper.ItemsReply,
        mapper.SplitsReply,
        events.Extracted,
        baselines.Judged,
        baselines.RuleJudged,
        baselines.Turns,
        baselines.Plan,
        baselines.Code,
    ],
    ids=lambda kind: kind.__name__,
)
def test_a_real_server_takes_the_schema_of_every_reply_type(tmp_path, tiny, reply_type) -> None:
    engine = Endpoint(
        "tiny",
        base_url=f"{tiny.listening_address}/v1",
        api_key="sk-tiny",
        replies=Replies(tmp_path),
        max_tokens=300,
        retries=0,
    )
    question = prompt.parse(
        "---\npurpose: p\nsource: s\ninputs: []\nreply: r\n---\n<!-- system -->\nAnswer.\n<!-- user -->\nNow.\n", "ask"
    )
    try:
        value = engine.answer(question, {}, reply_type.model_json_schema()).value
    except (
        TruncatedReply,
        Unreachable,
    ) as error:  # a random model talks without end, and no UTF-8; a schema that is not taken is `Rejected`
        assert "cut at 300 tokens" in str(error) or "does not match the expected" in str(error)
        return
    reply_type.model_validate(value)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """llama.cpp's server with a random model."""
    path = tmp_path_factory.mktemp("tiny") / "tiny.gguf"
    write_tiny_model(path)
    return serve_tiny_model(path, "sk-tiny")
