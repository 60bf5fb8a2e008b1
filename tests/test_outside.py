"""What outside guardrails are told and answer, and that their policies quote the documents they were written from."""

from __future__ import annotations

import io
import json
import re
import sys

import pytest
from bench import paired
from conftest import ROOT, shared

from wb.bench import asb
from wb.domain.events import Asked, Event, Result, Run, Say, State
from wb.domain.trace import Call

sys.path.append(str(paired.OUTSIDE))
import serve  # noqa: E402

WIKI = ("data", "common", "tau_airline", "policy.md")
DOCUMENTS = {
    "airline": lambda: shared(*WIKI).read_text("utf-8"),
    "agent_security": lambda: (ROOT / "policies" / "agent_security" / "policy.md").read_text("utf-8"),
    "hospital": lambda: (ROOT / "policies" / "hospital" / "policy.md").read_text("utf-8"),
}
RUN = Run(
    "r",
    tuple(
        Event("r", what, step, "2024-05-15T15:00:00")
        for step, what in [
            (0, Say("user", "Cancel A and B.")),
            (1, State({"user": {"id": "u"}, "reservation": None})),
            (1, Asked(Call("look", {"id": "A"}), None, "a")),
            (1, Asked(Call(asb.OTHER, {"name": "Forge"}), None, "b")),
            (1, Result({"id": "A"}, False, "a")),
            (2, Say("assistant", "Done?")),
            (3, Asked(Call("cancel", {"id": "A"}), None, "c")),
        ]
    ),
)


def test_a_call_is_told_with_what_stands_before_it_and_nothing_after():
    made = paired.told(RUN)
    before = {call["id"]: made["messages"][: call["message"]] for call in made["calls"]}
    assert [one["content"] for one in before["a"]] == [one["content"] for one in before["b"]] == ["Cancel A and B."]
    assert [one["role"] for one in before["c"]] == ["user", "assistant", "tool", "assistant"]
    assert [one["id"] for one in before["c"][1]["tool_calls"]] == ["a", "b"], "calls of one step are of one message"
    assert json.loads(before["c"][2]["content"]) == {"id": "A"} and before["c"][2]["tool_call_id"] == "a"
    tools = {call["id"]: (call["tool"], dict(call["arguments"])) for call in made["calls"]}
    assert tools == {"a": ("look", {"id": "A"}), "b": ("Forge", {}), "c": ("cancel", {"id": "A"})}
    assert "label" not in json.dumps(made, default=dict)


def test_what_a_guardrail_raises_is_an_error_and_no_denial(monkeypatch, capsys):
    lines = json.dumps(paired.told(RUN), default=dict)
    monkeypatch.setattr(sys, "stdin", io.StringIO(lines))

    def decide(call, before):
        assert call["state"]["user"] == {"id": "u"} and call["state"]["flights"] == {}
        if call["tool"] == "cancel":
            raise KeyError("cabin")
        return "deny", str(len(before))

    serve.serve(decide)
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["decision"], row["reason"]) for row in rows] == [
        ("deny", "1"),
        ("deny", "1"),
        ("error", "KeyError: 'cabin'"),
    ]
    assert all(row["seconds"] >= 0 for row in rows)


@pytest.mark.parametrize("suite", DOCUMENTS)
def test_the_outside_policies_quote_their_documents_word_for_word(suite):
    document = " ".join(DOCUMENTS[suite]().split())
    found = []
    for path in sorted((paired.OUTSIDE / suite).glob("policy*")):
        comments = re.findall(r"^(?://|#) ?(.*)$", path.read_text("utf-8"), re.M)
        for quote in re.findall(r'"([A-Z\[][^"]*(?:"\w[\w ]*"[^"]*)*)"', " ".join(comments)):
            found += [part.strip(' "') for part in re.split(r"\[\.\.\.\]", quote)]
    parts = [part for part in found if len(part) > 12]
    assert len(parts) >= 2 and [part for part in parts if part not in document] == []


def test_progent_s_published_policy_is_the_benchmark_s_list_of_tools():
    given = json.loads((paired.OUTSIDE / "agent_security" / "progent.json").read_text("utf-8"))
    rows = shared("data", "common", "asb", "normal_tools.jsonl").read_text("utf-8").splitlines()
    assert given.keys() == {json.loads(line)["Tool Name"] for line in rows}
    assert all(row == [[1, 0, {}, 0]] for row in given.values())


def test_every_engine_has_its_pins_and_its_policies_are_there():
    for suite, engines in paired.ENGINES.items():
        for engine, policy in engines.values():
            assert all("==" in pin for pin in paired.PINS[engine])
            assert (paired.OUTSIDE / suite / policy).exists() and (paired.OUTSIDE / f"judge_{engine}.py").is_file()
