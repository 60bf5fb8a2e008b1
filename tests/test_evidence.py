"""What is kept of a guard shows what it rests on: whatever is edited, it is worth *tested* at most."""

import json
import os
import stat
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import test_guarding as guarding
from test_guarding import BOOK, CONTRACTS, FINE, GUARDS, PREDICATES, RULES, TOOLS, book, trace

from wb import paths
from wb.domain.trace import Open
from wb.guards import contract, evidence, nagini, runtime
from wb.guards.nagini import Proof, Verifier
from wb.logic import cel
from wb.rules.rule import RuleSet

OPEN = {"book": (Open("s7", "Nobody books in vain."),)}
REQUIRED = tuple(CONTRACTS.values())
ROWS = evidence.to_rows(GUARDS, RULES, OPEN)


def loaded(rows: object, rules: RuleSet = RULES, open: dict = OPEN) -> dict[str, runtime.Guarded]:
    required = contract.contracts(TOOLS, rules)
    return {one.contract.tool: one for one in evidence.from_rows(rows, required, rules, open)}


def edited(tool: str = "book", **changes: object) -> list[dict[str, object]]:
    return [{**row, **changes} if row["tool"] == tool else row for row in json.loads(json.dumps(ROWS))]


def test_a_kept_guard_comes_back_as_it_was() -> None:
    assert tuple(loaded(json.loads(json.dumps(ROWS))).values()) == GUARDS


@pytest.mark.parametrize(
    ("before", "after"), [("18", "8"), ("if age < 18", "if age < 8")]
)  # contract and body, body alone
def test_a_kept_guard_whose_source_was_changed_is_no_guard(before: str, after: str) -> None:
    source = GUARDS[0].source.replace(before, after)
    changed = loaded(edited(source=source))["book"]
    assert changed.grade == "error" and "changed after it was judged" in changed.reason
    again = loaded(edited(source=source, sha256=runtime.digest(source)))["book"]
    assert again.grade == "error", "nor where its hash was computed again"


@pytest.mark.parametrize("grade", ["stub", "none", "bound", ""])
def test_a_kept_guard_that_was_never_accepted_is_told_to_be_none(grade: str) -> None:
    kept = loaded(edited(grade=grade, reason=""))["book"]
    assert (kept.grade, kept.reason) == ("error", "it was never accepted")


def test_a_kept_guard_that_was_proved_against_other_rules_is_no_guard() -> None:
    assert loaded(ROWS, RuleSet(PREDICATES, RULES.rules[:2]))["book"].grade == "error"


FORGED = {
    "the grade": edited("look", grade="proved", reason="so they say"),
    "no seal": [{name: value for name, value in row.items() if name != "seal"} for row in ROWS],
    "another seal": edited(seal="0" * 64),
    "the seal of another row": edited(seal=ROWS[1]["seal"]),
    "no evidence": edited(evidence=None),
    "other evidence": edited(evidence={**ROWS[0]["evidence"], "open": {}}),
    "another prover": edited(evidence={**ROWS[0]["evidence"], "prover": "nagini 9"}),
}


@pytest.mark.parametrize("rows", FORGED.values(), ids=FORGED.keys())
def test_a_forged_row_is_worth_tested_at_most(rows: list) -> None:
    found = loaded(rows)
    changed = [tool for tool, row in zip(("book", "pay", "look"), rows, strict=True) if row != ROWS_BY[tool]]
    assert changed
    for tool in ("book", "pay", "look"):
        assert found[tool].grade == ("tested" if tool in changed else "proved"), found[tool].reason
        assert tool not in changed or "wb verify" in found[tool].reason


ROWS_BY = {row["tool"]: row for row in json.loads(json.dumps(ROWS))}


def test_a_proof_is_of_these_open_sentences_and_these_facts() -> None:
    found = loaded(ROWS, open={})
    assert found["book"].grade == "tested" and "the open sentences" in found["book"].reason
    assert found["pay"].grade == "proved", "no sentence bears on it, then or now"
    easier = replace(PREDICATES[2], test=cel.parse("state.age >= 18 || state.age < 9"))
    weaker = RuleSet((*PREDICATES[:2], easier, *PREDICATES[3:]), RULES.rules)
    assert {one.grade for one in loaded(ROWS, weaker).values()} <= {"tested", "error"}


def test_a_guard_that_somebody_proved_elsewhere_is_denied_by_the_final_guard_and_says_why() -> None:
    kept = evidence.from_rows(edited(seal="0" * 64), REQUIRED, RULES, OPEN)
    guard = runtime.accepting("veriguard", RULES, kept, TOOLS, {})
    verdict = guard.decide(trace(book("a"), **FINE))
    assert verdict.decision == "deny" and "its seal is not one of this key" in verdict.reason
    assert runtime.accepting("veriguard", RULES, GUARDS, TOOLS, {}).decide(trace(book("a"), **FINE)).decision == "allow"


def test_a_wrong_body_without_a_seal_is_not_even_tested() -> None:
    wrong = guarding.entry("book", BOOK.replace("age < 18", "age < 8"))
    (row,) = evidence.to_rows([wrong], RULES, OPEN)
    found = loaded([{**row, "seal": ""}])["book"]
    assert found.grade == "error" and "it is wrong on" in found.reason


# ---- the cache of proofs ----------------------------------------------------------------------------

SOURCE = (
    f"{nagini.HEADER}\n\ndef guard(n: int) -> Tuple[bool, str]:\n    Ensures(Result()[0])\n    return (False, '')\n"
)


def test_a_proof_that_was_written_into_the_cache_is_asked_again(tmp_path: Path) -> None:
    verifier = Verifier(cache=tmp_path)
    proof = Proof("proved", (), nagini.digest(SOURCE))
    verifier._remember(SOURCE, proof)
    assert verifier._remembered(SOURCE) == proof
    assert Verifier(cache=tmp_path, again=True)._remembered(SOURCE) is None
    (path,) = tmp_path.iterdir()
    for forged in (
        asdict(proof),
        {**asdict(proof), "seal": ""},
        {**asdict(proof), "seal": paths.digest(asdict(proof))},
    ):
        path.write_text(json.dumps(forged), "utf-8")
        assert verifier._remembered(SOURCE) is None


def test_no_flipped_bit_of_a_kept_proof_is_believed_and_none_is_fatal(tmp_path: Path) -> None:
    verifier = Verifier(cache=tmp_path)
    found = nagini.Objection("c", "it may not hold", 4, (("n", 3), ("b", True)), ("n > 2",))
    proof = Proof("unproved", (found,), nagini.digest(SOURCE))
    verifier._remember(SOURCE, proof)
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    for at in range(8 * len(whole)):
        torn = bytearray(whole)
        torn[at // 8] ^= 1 << at % 8
        path.write_bytes(torn)
        assert verifier._remembered(SOURCE) is None, at


PLACED = {  # what may stand where a kept result belongs; a pipe would be read for ever
    "a folder": lambda path: path.mkdir(),
    "a folder with something in it": lambda path: (path.mkdir(), (path / "x").write_text("x")),
    "a link to a folder": lambda path: path.symlink_to(path.parent.parent, target_is_directory=True),
    "a link to itself": lambda path: path.symlink_to(path),
    "a link to nothing": lambda path: path.symlink_to(path.with_name("gone")),
    "a pipe": os.mkfifo,
}


@pytest.mark.parametrize("place", PLACED.values(), ids=PLACED)
def test_what_stands_in_the_place_of_a_kept_proof_is_asked_again_and_replaced(place, tmp_path: Path) -> None:
    verifier, proof = Verifier(cache=tmp_path / "kept"), Proof("proved", (), nagini.digest(SOURCE))
    (tmp_path / "kept").mkdir()
    (tmp_path / "beside").write_text("stays")
    place(tmp_path / "kept" / f"{proof.digest}.json")
    assert verifier._remembered(SOURCE) is None
    verifier._remember(SOURCE, proof)
    assert verifier._remembered(SOURCE) == proof and len(list((tmp_path / "kept").iterdir())) == 1
    assert (tmp_path / "beside").read_text() == "stays", "a link is removed, not what it leads to"


# ---- the key ----------------------------------------------------------------------------------------


def test_the_key_is_made_once_outside_the_project_and_read_by_its_owner_alone(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.delenv("WB_KEY")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    place = tmp_path / "wb" / "seal.key"
    assert paths.key_place() == place and len(paths.seal([1])) == 64
    assert stat.S_IMODE(place.stat().st_mode) == 0o600 and list(place.parent.iterdir()) == [place]
    mine = paths.seal([1])
    monkeypatch.setenv("WB_KEY", str(tmp_path / "other.key"))
    assert paths.seal([1]) != mine
    monkeypatch.setenv("WB_KEY", str(paths.project().root / "my.key"))
    with pytest.raises(ValueError, match="outside the project and its artifacts"):
        paths.seal([1])


@pytest.mark.parametrize("content", ["", "0" * 63, "g" * 64, "0" * 65])
def test_a_key_that_is_none_is_told(content: str, tmp_path: Path, monkeypatch) -> None:
    place = tmp_path / "bad.key"
    place.write_text(content)
    monkeypatch.setenv("WB_KEY", str(place))
    with pytest.raises(ValueError, match="must hold a key of 64 hex digits"):
        paths.seal("x")


def test_a_place_where_no_key_can_be_made_is_told(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("WB_KEY", str(tmp_path / "file" / "seal.key"))
    with pytest.raises(ValueError, match="WB_KEY names another one"):
        paths.seal("x")


def test_processes_that_start_at_once_share_one_key(tmp_path: Path) -> None:
    line = [sys.executable, "-c", "from wb import paths; print(paths.seal('x'))"]
    environment = {**os.environ, "WB_KEY": str(tmp_path / "new" / "seal.key"), "PYTHONPATH": str(paths.ROOT)}
    started = [subprocess.Popen(line, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(6)]
    assert len({one.communicate()[0] for one in started}) == 1 and not any(one.returncode for one in started)


def test_a_body_that_may_not_run_is_an_error_with_its_reason() -> None:
    """What no seal of this key vouches for is tried, and what cannot be tried is worth nothing."""
    (row,) = evidence.to_rows([guarding.entry("book", BOOK)], RULES, OPEN)
    source = row["source"].replace("    if", "    open('x')\n    if", 1)
    found = loaded([{**row, "source": source, "sha256": runtime.digest(source), "seal": ""}])["book"]
    assert found.grade == "error" and found.source == source and "open" in found.reason
