"""Nagini proves what is right and refutes what is wrong, without a Java on the path; one warm worker for the file.

Everything that asks the prover is here, so that its start is paid once.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench import proofs as proofs_bench
from test_loops import guard as guard_of_lists

from wb.bench import compare
from wb.domain import policy, tools
from wb.domain.tools import Field, Tool, Toolbox
from wb.guards import contract, faults, nagini, runtime, synthesis, veriguard
from wb.guards.contract import assemble
from wb.guards.examples import examples
from wb.guards.nagini import HEADER, Verifier
from wb.guards.synthesis import Attempt, Draft
from wb.logic import cel, semantics
from wb.models.client import LLM
from wb.offline import engine, reader
from wb.rules import decisions, rulefile, sentences
from wb.rules.rule import Predicate, Rule, RuleSet

PREDICATES = (
    Predicate("book", "action", "", tools=("book",)),
    Predicate("pay", "action", "", tools=("pay",)),
    Predicate("adult", "state", "", test=cel.parse("state.age >= 18")),
    Predicate("few", "state", "", tools=("book",), test=cel.parse("size(call.guests) <= 5")),
    Predicate("special", "state", "", test=cel.parse('state.level in ["gold", "silver"]')),
    Predicate("confirmed", "state", ""),
    Predicate("active", "state", "", test=cel.parse("state.active")),
)
TEXTS = (
    "ALWAYS (book IMPLIES adult)",
    "ALWAYS ((book AND NOT special) IMPLIES few)",
    "ALWAYS (pay IMPLIES ONCE confirmed)",
    "ALWAYS (pay IMPLIES active)",
)
RULES = RuleSet(PREDICATES, tuple(Rule(f"r{i}", t, semantics.parse(t), "forbid") for i, t in enumerate(TEXTS, 1)))
TOOLS = Toolbox((Tool("book", arguments=(Field("guests", "array"),)), Tool("pay"), Tool("look")))
CONTRACTS = {c.tool: c for c in contract.contracts(TOOLS, RULES)}
GUARDS = {
    "book": (
        'def policy_book(age: int, level: str, count_guests: int) -> Tuple[bool, str]:\n    if age < 18:\n        return (False, "young")\n'  # noqa: E501
        '    if level != "gold" and level != "silver" and count_guests >= 6:\n        return (False, "many")\n    return (True, "allowed")\n'  # noqa: E501
    ),
    "pay": (
        'def policy_pay(once_confirmed: bool, active: bool) -> Tuple[bool, str]:\n    if not active:\n        return (False, "inactive")\n'  # noqa: E501
        '    if not once_confirmed:\n        return (False, "unconfirmed")\n    return (True, "allowed")\n'
    ),
    "look": 'def policy_look() -> Tuple[bool, str]:\n    return (True, "no rule")\n',
}
TWINS = {
    "book": GUARDS["book"].replace("age < 18", "age <= 18"),
    "pay": GUARDS["pay"].replace("if not active", "if active"),
    "look": GUARDS["look"].replace("True", "False"),
}


def put(tool: str, source: str) -> str:
    return assemble(source, CONTRACTS[tool])


def renamed(source: str, name: str) -> str:
    return source.replace("def policy_", f"def {name}_policy_")


@pytest.fixture(scope="module")
def verifier(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Verifier]:
    """A worker started where no Java can be found: neither on the path nor by JAVA_HOME."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(tmp_path_factory.mktemp("empty")))
        patch.delenv("JAVA_HOME", raising=False)
        with Verifier(cache=tmp_path_factory.mktemp("proofs")) as found:
            yield found


@pytest.fixture(scope="module")
def proofs(verifier: Verifier) -> dict[str, nagini.Proof]:
    sources = {f"{t}": put(t, g) for t, g in GUARDS.items()} | {
        f"{t} twin": renamed(put(t, g), "twin") for t, g in TWINS.items()
    }
    probes = {f"{t} probe": contract.probe(s) for t, s in sources.items() if t in GUARDS}
    empty = HEADER + (
        "\n\ndef empty(a: int) -> Tuple[bool, str]:\n    Requires(a > 3)\n    Requires(a < 3)\n"
        "    Ensures(Result()[0])\n    return (False, '')\n"
    )
    rows = sources | probes | {"empty": empty, "empty probe": contract.probe(empty)}
    return dict(zip(rows, verifier.verify(tuple(rows.values())), strict=True))


def test_java_is_not_found_by_chance(verifier: Verifier) -> None:
    with pytest.raises(FileNotFoundError):
        subprocess.run(["java", "-version"], check=False)
    assert "JAVA_HOME" not in os.environ


def test_each_guard_of_a_file_is_counted_when_the_prover_is_through_with_it(verifier: Verifier) -> None:
    told: list[tuple[int, int]] = []
    sources = [put(t, g) for guards in (GUARDS, TWINS) for t, g in list(guards.items())[:2]]
    with Verifier(tell=lambda done, of: told.append((done, of))) as fresh:
        once, again = ([proof.status for proof in by.verify(sources)] for by in (fresh, verifier))
        assert once == again and fresh.asked == 1  # counterexamples may be others
    assert [*dict.fromkeys(done for done, _ in told)] == list(range(len(sources) + 1)), "one by one, proved or not"


@pytest.mark.parametrize("tool", GUARDS)
def test_a_right_guard_proves(proofs: dict[str, nagini.Proof], tool: str) -> None:
    assert proofs[tool] and not proofs[tool].findings


@pytest.mark.parametrize("tool", TWINS)
def test_its_wrong_twin_does_not_prove(proofs: dict[str, nagini.Proof], tool: str) -> None:
    assert proofs[f"{tool} twin"].status == "unproved" and proofs[f"{tool} twin"].findings


def test_a_counterexample_shows_the_edge(proofs: dict[str, nagini.Proof]) -> None:
    (finding,) = proofs["book twin"].findings
    assert ("age", 18) in finding.counterexample and finding.code.startswith("postcondition.violated")


@pytest.mark.parametrize("tool", GUARDS)
def test_the_probe_of_a_reachable_guard_passes(proofs: dict[str, nagini.Proof], tool: str) -> None:
    assert proofs[f"{tool} probe"]


def test_a_contradictory_precondition_proves_anything_and_the_probe_finds_it(proofs: dict[str, nagini.Proof]) -> None:
    assert proofs["empty"] and proofs["empty probe"].status == "unproved"
    assert proofs["empty probe"].findings[0].code == "refute.failed:refutation.true"


ORDERS = """
predicates:
  cancel: {kind: action, tools: [cancel_order], objects: [call.order]}
  get: {kind: action, tools: [get_order], objects: [call.order]}
  small: {kind: state, tools: [cancel_order], test: call.amount <= 100, objects: [call.order]}
rules:
  - {id: r1, formula: ALWAYS (cancel(o) IMPLIES small(o) AND ONCE get(o)), modality: permit_only_if}
  - {id: r2, formula: "ALWAYS (cancel(o) IMPLIES COUNT[<= 2] cancel(o))", modality: forbid}
"""


def test_a_guard_of_rules_about_the_same_object_is_proved_and_its_wrong_twin_is_not(verifier: Verifier) -> None:
    tool = Tool("cancel_order", arguments=(Field("order", "string"), Field("amount", "integer")))
    made = contract.contract(tool, rulefile.loads(ORDERS))
    assert [item.condition for item in made.items] == ["(amount <= 100) and once_get", "not at_least_3_cancel"]
    right = (
        f"{made.signature}\n    if amount > 100 or not once_get:\n        return (False, 'r1')\n"
        "    if at_least_3_cancel:\n        return (False, 'r2')\n    return (True, 'allowed')\n"
    )
    assembled = contract.assemble(right, made)
    twin = renamed(contract.assemble(right.replace("or not once_get", "and not once_get"), made), "twin")
    proved, probe, refuted = verifier.verify((assembled, contract.probe(assembled), twin))
    assert proved and probe and refuted.status == "unproved"


SUM = "sum(call.items.filter(i, i.paid).map(i, i.cents)) <= 500"


def test_a_guard_that_reads_where_an_argument_comes_from_is_proved_and_its_wrong_twin_is_not(
    verifier: Verifier,
) -> None:
    origins = ("user", "directory", "record", "text", "none")
    told = {"origin": "call.payee", "of": ["user"], "directory": {"contacts": "[].mail"}}
    payee = {"type": "object", "properties": {"payee": {"type": "string"}}}
    box = tools.parse(
        json.dumps(
            {
                "tools": [{"name": "pay", "parameters": payee}, {"name": "contacts"}],
                "state": [{"name": "payee_from", "type": "string", "enum": origins, "from": told}],
            }
        )
    )
    named = Predicate("named", "state", "", test=cel.parse('state.payee_from in ["user", "directory"]'))
    text = "ALWAYS (pay IMPLIES named)"
    rules = RuleSet((PREDICATES[1], named), (Rule("r1", text, semantics.parse(text), "permit_only_if"),))
    made = contract.contract(box.tools[0], rules, box.state)
    tests = ('payee_from not in ("user", "directory")', 'payee_from in ("text", "none")')
    right, twin = (
        contract.assemble(
            f"{made.signature}\n    if {one}:\n        return (False, 'r1')\n    return (True, '')\n", made
        )
        for one in tests
    )
    proved, probe, refuted = verifier.verify((right, contract.probe(right), renamed(twin, "twin")))
    assert proved and probe and refuted.status == "unproved"


WRONG = {  # each planted once in a proved source, after the definitions
    "the last item is left out": ("while at < len(items_paid):", "while at < len(items_paid) - 1:"),
    "it begins with one": ("    found = 0\n", "    found = 1\n"),
    "the guard's limit is one off": (
        "    if sum_items_filter_paid_cents > 500:",
        "    if sum_items_filter_paid_cents >= 500:",
    ),
}


def test_a_sum_of_a_list_is_proved_and_wrong_twins_of_its_loop_and_of_its_guard_are_not(verifier: Verifier) -> None:
    made, _ = guard_of_lists(SUM)
    assert [p.name for p in made.looped] == ["sum_items_filter_paid_cents"] and not made.trusted
    denies = "    if sum_items_filter_paid_cents > 500:\n        return (False, 'r0')\n"
    code = f"{made.signature}\n{denies}    return (True, '')\n"
    right = contract.assemble(code, made)
    twins = {}
    for name, (before, after) in WRONG.items():
        assert right.count(before) == 1, name
        twins[name] = right.replace(before, after)
    proved, probe, *refuted = verifier.verify((right, contract.probe(right), *twins.values()))
    assert proved and probe, proved.findings
    assert {n: p.status for n, p in zip(twins, refuted, strict=True)} == dict.fromkeys(WRONG, "unproved")
    assert "Loop invariant might not" in refuted[1].findings[0].message


def test_of_random_guards_of_lists_the_right_one_alone_is_proved(verifier: Verifier) -> None:
    """One that is right, one changed in the guard, one in a loop; two hundred by `bench/proofs.py --lists`."""
    made = proofs_bench.cases_of_lists(random.Random(5))
    some = [next(made) for _ in range(3)]
    assert [one.right for one in some] == [True, False, False]
    found = verifier.verify([one.source for one in some])
    assert [one.status for one in found] == ["proved", "unproved", "unproved"]


@pytest.fixture(scope="module")
def six(verifier: Verifier) -> compare.Shortcut:
    """The guards of the six bare sentences, read, written and proved without a hand in between."""
    bare = policy.load("web_tasks", document="six_rules.md")
    return compare.shortcut(bare, LLM(engine.Offline(bare.toolbox)), reader.extracted, verifier)


def test_the_guards_that_the_pipeline_wrote_itself_are_proved(six: compare.Shortcut) -> None:
    grades = {d.contract.tool: synthesis.guarded(d).grade for d in six.drafts}
    assert set(grades.values()) == {"proved"} and sum(bool(d.contract.items) for d in six.drafts) >= 6


RECORDS = Toolbox(
    (
        Tool("delete_record", "Delete a record.", (Field("kind", "string", values=("report", "note")),), ("record",)),
        Tool("write_note", "Write a note."),
        Tool("ring"),
    ),
    (Field("clerk", "boolean", "whether the user is a clerk", keywords=("clerk",)), Field("night", "boolean")),
)
DOCUMENT = """# Records

A record may be deleted only if the user is a clerk. Reports are sacred and must stay.

# Notes

Notes must never be written by moonlight.
"""
DECISIONS = """
decisions:
  - text: Reports are sacred and must stay.
    decision: rule
    why: reports stay
    predicates:
      deletes: {kind: action, tools: [delete_record]}
      report: {kind: state, test: call.kind == "report"}
    rules:
      - {formula: ALWAYS (deletes IMPLIES NOT report), modality: forbid}
  - text: Notes must never be written by moonlight.
    decision: rule
    why: moonlight is night
    predicates:
      writes: {kind: action, tools: [write_note]}
      night: {kind: state}
    rules:
      - {formula: ALWAYS (writes IMPLIES NOT night), modality: forbid}
"""


def test_a_persons_rules_alone_and_beside_a_read_sentence_are_proved_and_judge(verifier: Verifier) -> None:
    """`delete_record` is a mixture, `write_note` has a person's rule alone, `ring` has nothing."""
    source = policy.of_text(DOCUMENT, RECORDS)
    current, _ = sentences.settled(source, decisions.loads(DECISIONS, source))
    llm, found = LLM(engine.Offline(RECORDS)), reader.extracted(source)
    readings, rules = sentences.classify(source, found, current)
    required = contract.contracts(RECORDS, rules)
    told = {c.tool: synthesis.concerning(c, rules, found.clauses) for c in required}
    assert {tool: [c.text for c in those] for tool, those in told.items()} == {
        "delete_record": ["A record may be deleted only if the user is a clerk."],
        "write_note": [],
        "ring": [],
    }
    drafts = synthesis.synthesise(synthesis.write(required, told, RECORDS, llm), synthesis.reviser(told, llm))
    drafts = veriguard.prove(drafts, synthesis.reviser(told, llm), verifier)
    made = runtime.accepting(
        "veriguard", rules, [*map(synthesis.guarded, drafts)], RECORDS, sentences.open_on(readings)
    )
    assert made.claims() == {"delete_record": "proved", "write_note": "proved", "ring": "free"}

    def judged(tool: str, state: dict[str, bool], **arguments: str) -> tuple[str, tuple[str, ...]]:
        session = made.session()
        session.state(state)
        verdict = session.call(tool, arguments)
        return verdict.decision, verdict.quotes

    stay, clerk = "Reports are sacred and must stay.", "A record may be deleted only if the user is a clerk."
    assert judged("delete_record", {"clerk": True}, kind="note") == ("allow", ())
    assert judged("delete_record", {"clerk": True}, kind="report") == ("deny", (stay,))
    assert judged("delete_record", {"clerk": False}, kind="note") == ("deny", (clerk,))
    assert judged("delete_record", {"clerk": True})[0] == "undecided"
    assert judged("write_note", {"night": False}) == ("allow", ())
    assert judged("write_note", {"night": True}) == ("deny", ("Notes must never be written by moonlight.",))
    assert judged("write_note", {})[0] == "undecided"


def test_their_mutants_are_each_refuted_or_equivalent(six: compare.Shortcut, verifier: Verifier) -> None:
    proved = [(d.contract, d.source) for d in six.drafts if d.contract.items]
    judged = faults.judged([*proved, (CONTRACTS["book"], GUARDS["book"])], verifier, most=12)
    assert sum(j.tool != "book" for j in judged) >= 6
    assert {j.mutant.operator for j in judged} == {
        "comparison",
        "constant",
        "dropped rule",
        "negation",
        "swapped field",
    }
    assert {j.fate for j in judged} <= {"refuted", "equivalent"}, [
        j for j in judged if j.fate not in ("refuted", "equivalent")
    ]
    assert sum(j.fate == "refuted" and bool(j.witness) for j in judged) >= 8


def test_a_weak_contract_lets_a_mutant_survive(verifier: Verifier) -> None:
    """Without its allow side a contract is met by denying more: the survivor is called so, not equivalent."""
    weak = CONTRACTS["book"]

    class OneSided(contract.Contract):
        __slots__ = ()

        def lines(self) -> tuple[str, ...]:
            return super().lines()[:-1]

    judged = faults.judged([(OneSided(weak.tool, weak.parameters, weak.items), GUARDS["book"])], verifier, most=1)
    assert [(j.fate, j.mutant.change) for j in judged] == [("survived", "age < 18 -> age <= 18")]


def revise(drafts: list[Draft]) -> list[Attempt]:
    """The offline author, asked as `guardcode.reviser` asks it."""
    return [
        Attempt(
            engine.repair(
                {
                    "code": d.source,
                    "complaints": [_row(c.arguments, c.allowed) for c in d.complaints],
                    "examples": [_row(e.arguments, e.allowed) for e in examples(d.contract)],
                }
            )["code"]
        )
        for d in drafts
    ]


def _row(arguments: tuple, allowed: bool | None) -> dict:
    return {"arguments": dict(arguments), "allowed": allowed}


def test_the_loop_repairs_from_examples_and_ends_proved(verifier: Verifier) -> None:
    drafts = veriguard.prove(
        [Draft(CONTRACTS[t], (Attempt(g),)) for t, g in TWINS.items() if t != "look"], revise, verifier
    )
    assert [(len(d.attempts), synthesis.guarded(d).grade) for d in drafts] == [(2, "proved"), (2, "proved")]


def test_the_prover_s_counterexample_is_replayed_and_says_what_is_demanded(verifier: Verifier) -> None:
    _, check = veriguard.proof(verifier)
    ((complaint,),) = check([Draft(CONTRACTS["book"], (Attempt(TWINS["book"]),))])
    assert dict(complaint.arguments)["age"] == 18 and complaint.allowed is True
    assert revise([Draft(CONTRACTS["book"], (Attempt(TWINS["book"], (complaint,)),))])[0].source.count("age < 18") == 1


def test_a_guard_beyond_repair_ends_as_an_error_with_its_reason(verifier: Verifier) -> None:
    lost = Draft(CONTRACTS["pay"], (Attempt("# no reply\n"),))
    (draft,) = veriguard.prove([lost], lambda drafts: [None for _ in drafts], verifier)
    assert synthesis.guarded(draft).grade == "error" and "required" in synthesis.guarded(draft).reason


def test_a_source_of_the_wrong_type_is_rejected_and_its_neighbours_are_proved(verifier: Verifier) -> None:
    wrong = put("look", GUARDS["look"]).replace("(True, 'no rule')", "(3, 'no rule')")
    right = put("look", GUARDS["look"]).replace("no rule", "nothing")
    assert [p.status for p in verifier.verify([wrong, right])] == ["rejected", "proved"]


def test_a_time_out_is_no_proof_is_not_kept_and_the_worker_is_started_anew(verifier: Verifier) -> None:
    source = put("look", GUARDS["look"].replace("no rule", "slow"))
    verifier.verify([source.replace("slow", "warm")])
    pid = verifier._worker.process.pid
    os.kill(pid, signal.SIGSTOP)  # a worker that hangs
    verifier.timeout_s, patience = 0.5, verifier.timeout_s
    (proof,) = verifier.verify([source])
    verifier.timeout_s = patience
    assert proof.status == "timeout" and not proof
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert verifier.verify([source])[0].status == "proved"


def test_the_worker_imports_nothing_of_wb() -> None:
    assert "wb" not in nagini.WORKER.read_text("utf-8").replace("`wb`", "")


def test_a_worker_that_cannot_start_is_tried_once_and_nothing_is_proved(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Here the worker is a program that ends at once, as one without memory or without Java would."""
    (tmp_path / "worker.py").write_text("raise SystemExit(3)", encoding="utf-8")
    monkeypatch.setattr(nagini, "WORKER", tmp_path / "worker.py")
    with Verifier(cache=tmp_path / "proofs") as verifier:
        found = verifier.verify([put(t, g) for t, g in GUARDS.items()])
    assert {p.status for p in found} == {"crash"} and verifier.asked == 1 and not (tmp_path / "proofs").exists()
    assert "exit code 3" in found[0].findings[0].message


def test_the_worker_ends_when_the_process_that_started_it_is_killed() -> None:
    """A killed run must leave no Java behind; the worker's own watch is started here without Java."""
    child = f"import os, sys; sys.path.insert(0, {str(nagini.WORKER.parent)!r}); import nagini_worker; nagini_worker._end_with(os.getppid())"  # noqa: E501
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"import subprocess, sys, time; p = subprocess.Popen([sys.executable, '-c', {child!r}]); "
            "print(p.pid, flush=True); time.sleep(60)",
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    pid = int(parent.stdout.readline())
    time.sleep(1.0)
    os.kill(pid, 0)
    parent.kill()
    parent.wait()
    for _ in range(100):
        if not Path(f"/proc/{pid}").exists() or " Z " in Path(f"/proc/{pid}/stat").read_text("utf-8"):
            return
        time.sleep(0.1)
    pytest.fail(f"the worker {pid} lives on without its parent")
