"""How sources become files for the prover, and answers findings: cases by hand, and no process at all."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from wb.guards import nagini
from wb.guards.nagini import HEADER, Objection, Proof, Verifier


def guard(name: str, *lines: str) -> str:
    return f"{HEADER}\n\ndef {name}(age: int) -> bool:\n" + "".join(f"    {line}\n" for line in (*lines, "return True"))


class Told(Verifier):
    """A verifier whose prover is a table of words: what a file that has one is answered, and how long it was given."""

    def __init__(self, **words: str) -> None:
        super().__init__()
        self.words, self.given = words, []

    def _ask(self, batch: Sequence[str], timeout_s: float, beat: nagini.Beat) -> dict[str, Proof]:
        self.given.append(([nagini._function(source) for source in batch], timeout_s))
        whole = next((s for w, s in self.words.items() if any(w in b for b in batch) and s != "rejected"), None)
        proofs = {}
        for source in batch:
            own = next((status for word, status in self.words.items() if word in source), None)
            status = whole or ("rejected" if "rejected" in self.words.values() else "proved")
            found = (Objection("code", "said", 1),) if own == "rejected" and whole is None else ()
            if self.words and not any(word in one for one in batch for word in self.words):
                status, found = "proved", ()
            proofs[source] = Proof(status, found, source)
        return proofs


def test_what_a_file_is_lost_on_is_asked_in_halves_with_half_the_time_but_not_too_little() -> None:
    sources = [guard("abcd"[i], f"x = '{word}'") for i, word in enumerate(("one", "hang", "two", "three"))]
    for first, second, third in ((240.0, 120.0, 60.0), (100.0, 50.0, 30.0), (50.0, 30.0, 30.0), (20.0, 20.0, 20.0)):
        told = Told(hang="timeout")
        proofs = told._together(sources, first, list)
        assert [proofs[one].status for one in sources] == ["proved", "timeout", "proved", "proved"]
        assert told.given == [
            (["a", "b", "c", "d"], first),
            (["a", "b"], second),
            (["a"], third),
            (["b"], third),
            (["c", "d"], second),
        ]


def test_what_is_refused_is_left_out_and_the_rest_is_asked_again_in_all_the_time() -> None:
    sources = [guard("abc"[i], f"x = '{word}'") for i, word in enumerate(("one", "untyped", "two"))]
    told = Told(untyped="rejected")
    proofs = told._together(sources, 240.0, list)
    assert [proofs[one].status for one in sources] == ["proved", "rejected", "proved"]
    assert told.given == [(["a", "b", "c"], 240.0), (["a", "c"], 240.0)]


def test_a_prover_that_does_not_start_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(beat: nagini.Beat) -> None:
        raise nagini.WorkerLost("timeout", "it does not start")

    monkeypatch.setattr(nagini, "_Worker", lost)
    sources = [guard("a"), guard("b", "x = 1"), guard("c", "x = 2")]
    with Verifier() as verifier:
        proofs = verifier.verify(sources)
        assert verifier.asked == 1 and verifier.unanswered == 3
    assert {(p.status, p.findings) for p in proofs} == {
        ("timeout", (Objection("worker.not.started", "it does not start", 0),))
    }


def test_what_is_not_said_otherwise() -> None:
    one = Verifier()
    assert (one.timeout_s, one.cache, one.again, one.asked, one.unanswered) == (240.0, None, False, 0, 0)
    assert (nagini.START_S, nagini.LEAST_S, nagini.LINES) == (120.0, 30.0, 400)
    assert Verifier(timeout_s=0.001).timeout_s == 0.001
    for seconds in (0, -1.0):
        with pytest.raises(ValueError, match=re.escape(f"timeout_s must be above 0; got {seconds}")):
            Verifier(timeout_s=seconds)
    assert one.verify([]) == () and one.asked == 0
    assert [bool(Proof(status)) for status in ("proved", "unproved", "rejected", "timeout", "crash")] == [True] + [
        False
    ] * 4


def long(name: str, lines: int) -> str:
    """A source of so many lines."""
    source = guard(name)
    return guard(name, *["x = 1"] * (lines - source.count("\n")))


@pytest.mark.parametrize(
    ("sizes", "files"),
    [
        ((100, 300), [2]),
        ((100, 301), [1, 1]),
        ((399, 10), [1, 1]),
        ((400, 10), [1, 1]),
        ((401, 10), [1, 1]),
        ((500, 100, 300, 10), [1, 2, 1]),
        ((200, 100, 100), [3]),
        ((200, 100, 101), [2, 1]),
    ],
)
def test_sources_share_a_file_up_to_four_hundred_lines(sizes: tuple[int, ...], files: list[int]) -> None:
    sources = [long(f"g{i}", size) for i, size in enumerate(sizes)]
    assert [source.count("\n") for source in sources] == list(sizes)
    batches = nagini._batches(sources)
    assert [len(batch) for batch in batches] == files and [one for batch in batches for one in batch] == sources


def test_loops_count_twice_and_what_is_no_function_is_alone() -> None:
    loop = long("g", 150) + f"\n\ndef {nagini.GENERATED}sum_1() -> int:\n    return 1\n"
    size = loop.count("\n")
    assert nagini._batches([loop, long("h", 400 - 2 * size)]) == [[loop, long("h", 400 - 2 * size)]]
    assert nagini._batches([loop, long("h", 401 - 2 * size)]) == [[loop], [long("h", 401 - 2 * size)]]
    strange = "x = 1\n"
    assert nagini._batches([strange, guard("a"), strange, guard("b")]) == [
        [guard("a"), guard("b")],
        [strange],
        [strange],
    ]


def test_a_file_has_the_header_once_and_every_source_names_of_its_own() -> None:
    loops = f"\n\ndef {nagini.GENERATED}sum_1() -> int:\n    return guard(1) or {nagini.GENERATED}sum_2()\n"
    first, second = guard("guard", "x = guardian"), guard("guard") + loops
    text, starts = nagini._merge([first, second])
    assert text == (
        f"{HEADER}\n\ndef guard_0(age: int) -> bool:\n    x = guardian\n    return True\n"
        "\n\ndef guard_1(age: int) -> bool:\n    return True\n\n\n"
        f"def {nagini.GENERATED}sum_1_1() -> int:\n    return guard_1(1) or {nagini.GENERATED}sum_2_1()\n"
    )
    assert starts == [3, 8] and nagini._merge([first]) == (first, [0])
    assert text.splitlines()[starts[1] :][2].startswith("def guard_1(")


def answer(*rows: dict, translated: bool = True) -> dict:
    return {"translated": translated, "diagnostics": [{"code": "c", "message": "m", **row} for row in rows]}


@pytest.mark.parametrize(("line", "own"), [(8, False), (9, True), (12, True), (13, False)])
def test_a_finding_belongs_to_the_lines_of_its_source(line: int, own: bool) -> None:
    """Of a source after line 8 of a file, up to line 12; its own first line is that of the header."""
    proof = nagini._proof("s", answer({"startLine": line}), 8, 12, False)
    assert [one.line for one in proof.findings] == [line - 8 + HEADER.count("\n")] * own
    assert proof.status == ("unproved" if own else "proved") and proof.digest == nagini.digest("s")
    refused = nagini._proof("s", answer({"startLine": line}, translated=False), 8, 12, False)
    assert (refused.status, refused.findings) == ("rejected", proof.findings)
    alone = nagini._proof("s", answer({"startLine": line}), 0, 1, True)
    assert [one.line for one in alone.findings] == [line]
    lost = nagini._proof("s", {"crash": 7}, 8, 12, False)
    assert (lost.status, lost.findings) == ("crash", (Objection("crash", "7", 0),))


HEAP = "Store\n  age -> 17,\n  vip -> True,\n  low -> -3,\n  no -> False\n  name -> T@4,\n  odd -> 1.5,\n"
HEAP += "Old heap\n  b -> 1,\n"
FINDINGS = [
    ({"startLine": 7}, Objection("c", "m", 4)),
    ({"startLine": "7", "reason": "as said", "code": 3}, Objection("3", "m as said", 4)),
    ({"startLine": 7, "reason": "", "message": None}, Objection("c", "", 4)),
    (
        {"startLine": 7, "counterexample": HEAP},
        Objection("c", "m", 4, (("age", 17), ("vip", True), ("low", -3), ("no", False))),
    ),
    ({"startLine": 7, "counterexample": None, "branchConditions": None}, Objection("c", "m", 4)),
    (
        {"startLine": 7, "branchConditions": ["not not a at 3.4", "not b at x:1", "c"]},
        Objection("c", "m", 4, (), ("a", "not b", "c")),
    ),
    (
        {"startLine": 7, "message": f"guard_12 calls {nagini.GENERATED}sum_abc123_12; guard_x, my_guard_1"},
        Objection("c", f"guard calls {nagini.GENERATED}sum_abc123; guard_x, my_guard_1", 4),
    ),
]


@pytest.mark.parametrize(("row", "found"), FINDINGS, ids=range(len(FINDINGS)))
def test_a_finding_says_what_the_prover_said(row: dict, found: Objection) -> None:
    assert nagini._finding({"code": "c", "message": "m", **row}, 3) == found


def test_the_function_of_a_source_and_its_canonical_text() -> None:
    assert nagini.canonical(guard("policy_pay", "x = policy_pay")) == guard("guard", "x = guard")
    for strange in (
        "x = 1\n",
        guard("a") + guard("b").removeprefix(HEADER),
        HEADER,
        HEADER + "def (",
        HEADER + "x = 1",
    ):
        assert nagini.canonical(strange) == strange and nagini._function(strange) is None
    assert nagini._function(guard("a") + "x = 1\n") is None
    assert nagini.digest("a") != nagini.digest("b") and len(nagini.digest("a")) == 64
    assert nagini.prover().startswith("nagini ") and nagini.prover().endswith(" 1")


def test_what_is_remembered_of_a_source_is_an_answer(tmp_path: Path) -> None:
    verifier, source = Verifier(cache=tmp_path / "a" / "b"), guard("guard")
    for status in ("timeout", "crash"):
        verifier._remember(source, Proof(status, (), nagini.digest(source)))
        assert not (tmp_path / "a").exists()
    for status in ("proved", "unproved", "rejected"):
        proof = Proof(status, (Objection("c", "m", 1, (("n", 3),), ("b",)),), nagini.digest(source))
        verifier._remember(source, proof)
        assert verifier._remembered(source) == proof
        assert Verifier(cache=tmp_path / "a" / "b", again=True)._remembered(source) is None
    verifier._remember(source, Proof("proved", (), "another"))
    assert Verifier()._remembered(source) is None
    Verifier()._remember(source, proof)
