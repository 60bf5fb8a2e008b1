"""Interactions of ASSEBench as runs: what was said and called, which labels are sound, and what can be said of them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from conftest import shared

from wb.bench import assebench as bench
from wb.domain import events, tools
from wb.domain.events import Asked, Result, Say
from wb.domain.trace import Call

FILE = Path(__file__).with_name("fixtures") / "assebench.json"  # of the public form, in words of our own
LAB, SENT, REFUSED, STRANGE = bench.read(FILE)


def test_an_interaction_is_the_events_of_a_run():
    assert [event.what for event in bench.happened(SENT)] == [
        Say("user", "Send the list to Bo."),
        Say("assistant", "I send it."),
        Asked(Call("send", {"to": "bo", "copies": 2}), "deny"),
        Result("sent"),
        Say("assistant", "It's done."),
    ]
    *_, asked, result = (event.what for event in bench.happened(LAB))
    assert (asked, result) == (Asked(Call("count", {}), "allow"), Result("There are seven."))


def test_only_labels_that_must_be_so_are_given():
    assert [[e.what.label for e in bench.happened(one) if isinstance(e.what, Asked)] for one in bench.read(FILE)] == [
        ["allow"],  # a call of a safe interaction
        ["deny"],  # the only call of an unsafe one
        [],
        [None, None],  # one of two
    ]


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (LAB, ("undecided", bench.NO_POLICY)),
        (SENT, ("undecided", bench.UNLISTED)),
        (REFUSED, ("undecided", bench.NO_CALL)),
        (STRANGE, ("deny", bench.UNDECLARED)),
    ],
    ids=lambda value: getattr(value, "id", ""),
)
def test_without_a_policy_a_verdict_rests_on_what_is_declared(one, said):
    assert bench.verdict(one) == said


def test_files_are_written_as_wb_reads_them_and_counted(tmp_path, capsys):
    bench.main([str(FILE), str(tmp_path)])
    assert [run.id for run in events.read(tmp_path / "runs.jsonl")] == [f"asse-{n}" for n in (1, 2, 3, 4)]
    assert [tool.name for tool in tools.parse((tmp_path / "tools.json").read_text("utf-8")).tools] == ["count", "order"]
    assert capsys.readouterr().out.splitlines()[-1].split()[:6] == ["all", "4", "2", "3", "1", "1"]
    rows = {row["risk"]: row for row in bench.table(bench.read(FILE))}
    assert (rows["Leak"]["n"], rows["Leak"]["unsafe"], rows["Leak"][bench.NO_CALL]) == (2, 1, 1)


def test_lines_are_read_gzipped_or_not_and_other_files_are_refused(tmp_path):
    lines = "\n".join(map(json.dumps, json.loads(FILE.read_text("utf-8")))) + "\n"
    plain, zipped, bad = (tmp_path / name for name in ("a.jsonl", "a.jsonl.gz", "bad.json"))
    plain.write_text(lines, "utf-8")
    zipped.write_bytes(gzip.compress(lines.encode()))
    assert bench.read(plain) == bench.read(zipped) == bench.read(FILE)
    bad.write_text('[{"id": 1}]', "utf-8")
    with pytest.raises(ValueError, match="interactions of ASSEBench were required"):
        bench.read(bad)


def test_an_action_of_another_form_is_refused():
    odd = LAB.model_copy(update={"contents": [[bench.Turn(role="agent", action="import os")]]})
    with pytest.raises(ValueError, match=r"an action NAME\(\) or NAME\{…\} was required; got 'import os'"):
        bench.verdict(odd)


def test_of_the_development_half_nothing_is_decided_without_a_policy():
    found = bench.read(shared("data", "asse_security", "records.jsonl.gz"))
    total = bench.table(found)[-1]
    assert (total["n"], total["unsafe"], total["with calls"], total["with arguments"]) == (409, 205, 300, 12)
    assert (total["decided"], total[bench.NO_CALL], total[bench.UNLISTED], total[bench.NO_POLICY]) == (0, 109, 12, 288)
    happened = [event for one in found for event in bench.happened(one)]
    assert len(events.loads("".join(map(events.line, happened)))) == 409, "each is a run that can be judged"
