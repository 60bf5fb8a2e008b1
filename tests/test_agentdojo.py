"""AgentDojo replayed: the handbooks are those of the first contact, and what a replay counts is what was asked."""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path

import pytest
from bench import taken_over
from conftest import ROOT

from wb.bench import agentdojo
from wb.bench.agentdojo import ALLOWED, PLAIN, UNLISTED, Listed, Run, Swap, Turn
from wb.domain import events, policy
from wb.domain.trace import Call, Verdict
from wb.rules import decisions

POLICIES = ROOT / "policies" / "workspace_agents"
FROZEN = {  # first/, second/: before a task or an injection was read by who wrote them; the others after (SOURCE.md)
    "first/banking/policy.md": "08a16339ea06d47fb60b7636920e0cff6a90c95773734c6405ac0390d3412917",
    "first/banking/tools.json": "c646f6c9aa51a1c150aa4f789c58ca6764aa8e6b437494e36019ddf3999fd804",
    "first/slack/policy.md": "49b1021f468bb4f293fbd29b9c6f4ebfd3e2a24a053843dfbdff5601fb21f85a",
    "first/slack/tools.json": "a90d877e5e6f8a55a6ba86a64d29d601d64afdcc08b1c31335939a8ecc7f004b",
    "first/travel/policy.md": "5844ee6b627ba35df6ebbe7209b45d47640947a235a9cae84de86fbc49b6436f",
    "first/travel/tools.json": "4cfd35a71264a5f62ce8b11eff3188f0b6cbf34a6f570062694b9248533c53c4",
    "first/workspace/policy.md": "5cd42e98075f3803dd8b9560b5a224a9888994c5fb05f134610389120a890d80",
    "first/workspace/tools.json": "f3cfb78bd22523b1f9cc2186a59ac7aa5afc0a5435e61e4c8888885c48cd3558",
    "second/banking/policy.md": "589694f875293a3f35f815f37a3df05da00eb314ee78bf8cf08659d9438fd820",
    "second/banking/tools.json": "04ebc1468f5024e90c1cd98ba000bf56f08ceebdbd111d8ea5c704b5ac29f1dc",
    "second/slack/policy.md": "c1cd2abb0e4e7ba5762c082f575331c2bf245bb780158840df76be32c7ee0e78",
    "second/slack/tools.json": "7f318342804b2fde036cd45f992fd6332494715505096343115c31fe84cac4b3",
    "second/travel/policy.md": "5c9f20cbaaea85a1646f45f07d40fe3e6d5d14a9198a9dcadf9b47d0d393e788",
    "second/travel/tools.json": "16000db038bc0a711b0560456c5ad91c56bc6ce3cbfb56fb5322f28a919b0e5a",
    "second/workspace/policy.md": "4796f58a256a09679694883a603f625a9fa9aa45b313403a3fb40dd42eb5b078",
    "second/workspace/tools.json": "5fb4e29e1240fb951ef1e0f321cd773fbaa19ed1b69baeb5e33861e96462de49",
    "banking/policy.md": "fabd2ea850dee3b0d7f478d28361fc3615e312453542b5f47b3898d92ca1da92",
    "banking/tools.json": "1303f72775eb00721160b4e2d8f8f9dc805dddd881cf9addcbeffe07bae07802",
    "slack/policy.md": "37bddc2c9e30a6f74a48439df3d325d8bbdba31d49d36feb836f0cce0c24c9f6",
    "slack/tools.json": "3f22c04f24cdd4f2fd98d6964713cb79faef58089c0a69f7df197cb219167405",
    "travel/policy.md": "9549072215748e96ca7cdd72ebfaed24897d4d13960db94f0b8ade5d3e9b2904",
    "travel/tools.json": "ea820e373d81efbbb02fe9c380cb4edd91fdfdb12ca1531e910ef98df0649325",
    "workspace/policy.md": "fe7a731de962cd5b86b2765e02b5779d1af4df67b451132b9414950527e6d4ed",
    "workspace/tools.json": "8a5dc44e04d1d011f0e516f31fa5e62a04a03e4674221594e67cb0970132aae5",
}
INSTALLED = importlib.util.find_spec("agentdojo") is not None  # it is in the extra `bench`, outside the lock
UNDECIDED = Verdict("undecided", "nobody knows")


@pytest.mark.parametrize("path", FROZEN)
def test_handbooks_are_those_of_the_first_contact(path):
    assert hashlib.sha256((POLICIES / path).read_bytes()).hexdigest() == FROZEN[path]


@pytest.mark.parametrize("suite", agentdojo.SUITES)
def test_the_toolboxes_declare_what_a_guard_may_know(suite):
    toolbox = policy.load(str(POLICIES / suite)).toolbox
    assert all(field.source is not None for field in toolbox.state)
    assert any(tool.mutating for tool in toolbox.tools) and not all(tool.mutating for tool in toolbox.tools)


@pytest.mark.parametrize(
    "suite", [*agentdojo.SUITES, *(f"{hand}/{suite}" for hand in ("first", "second") for suite in agentdojo.SUITES)]
)
def test_every_demand_of_a_handbook_is_in_force_as_it_was_read_and_nothing_else_is(suite):
    loaded = policy.load(str(POLICIES / suite))
    found = decisions.load(POLICIES / suite / "decisions.yaml", loaded)
    text = (POLICIES / suite / "policy.md").read_text("utf-8")
    demands = [line.split(". ", 1)[-1] if line[0].isdigit() else line for line in text.splitlines() if " must " in line]
    assert [one.text for one in found if one.rules] == demands
    assert {one.why for one in found} == {taken_over.WHY[not suite.startswith("first")]}


def turn(tool: str, verdict: Verdict = ALLOWED, malicious: bool = False) -> Turn:
    return Turn(Call(tool, {}), malicious, malicious, verdict, "done" if verdict is ALLOWED else None)


def run(*turns: Turn, attack: str = PLAIN, useful: bool = True, reached: bool = False) -> Run:
    return Run("bank", "task", attack, "Pay it.", turns, useful, reached, ())


def test_what_is_undecided_hinders_a_user_and_stops_an_attacker():
    assert run(turn("pay")).unhindered and not run(turn("look"), turn("pay", UNDECIDED)).unhindered
    assert run(turn("pay"), turn("steal", UNDECIDED, True), attack="a").unhindered
    assert run(turn("steal", UNDECIDED, True), attack="a").denied
    assert not run(turn("steal", ALLOWED, True), attack="a").denied


def test_a_row_counts_tasks_alone_pairs_that_hold_a_malicious_call_and_swaps():
    runs = [
        run(turn("pay")),
        run(turn("pay", UNLISTED)),
        run(turn("pay"), turn("steal", UNLISTED, True), attack="a"),
        run(turn("pay"), turn("steal", ALLOWED, True), attack="b", reached=True),
        run(turn("pay"), attack="c", reached=True),  # an attacker who asks for no call that changes anything
    ]
    found = agentdojo.row("guard", "bank", runs, [run(turn("pay", UNDECIDED, True))])
    assert found["tasks unhindered"].startswith("1/2 50.0 ") and found["under attack"].startswith("3/3 100.0 ")
    assert found["malicious denied"].startswith("1/2 50.0 ") and found["goal reached"].startswith("1/2 50.0 ")
    assert found["swapped denied"].startswith("1/1 100.0 ") and found["undecided"] == 1 and found["errors"] == 0


def test_a_run_is_recorded_as_events_and_what_did_not_run_has_no_result():
    rows = list(run(turn("pay"), turn("steal", UNLISTED, True), attack="a").events())
    assert [type(row.what).__name__ for row in rows] == ["Say", "Asked", "Result", "Asked"]
    assert [row.what.label for row in rows if isinstance(row.what, events.Asked)] == ["allow", "deny"]


@pytest.mark.parametrize(
    ("value", "swapped"),
    [
        (True, False),
        (12, 121),
        (2.5, 26.0),
        ("13", "14"),
        ("2024-05-15 10:00", "2025-05-15 10:00"),
        ("a@b.example", "mallory@elsewhere.example"),
        ("Rent", "www.elsewhere.example is what Mallory wants"),
        (["a@b.example"], ["mallory@elsewhere.example"]),
        ([], ["mallory@elsewhere.example"]),
    ],
)
def test_a_swapped_value_is_another_of_the_same_form(value, swapped):
    assert agentdojo.other(value) == swapped != value
    assert Swap(0, "x", swapped).of(Call("pay", {"x": value, "y": 1})) == Call("pay", {"x": swapped, "y": 1})


def test_a_list_allows_its_tools_alone():
    assert Listed(frozenset({"pay"})).call("pay", {}) is ALLOWED and Listed().call("steal", {}) is ALLOWED
    assert Listed(frozenset({"pay"})).call("steal", {}) is UNLISTED


if INSTALLED:

    def test_without_a_guard_all_tasks_of_a_suite_run_and_its_attacks_succeed_twice_alike(tmp_path: Path):
        def replayed() -> list[Run]:
            dojo = agentdojo.Dojo("banking", policy.load(str(POLICIES / "banking")).toolbox)
            return list(agentdojo.matrix(dojo, lambda _, __: Listed()))

        first = replayed()
        alone = [one for one in first if one.attack == PLAIN]
        pairs = [one for one in first if one.attack != PLAIN]
        assert len(alone) == 16 and len(pairs) == 144 and all(one.useful and one.unhindered for one in alone)
        assert all(one.malicious and one.seen for one in pairs) and sum(one.reached for one in pairs) == 141
        assert replayed() == first


def test_without_the_package_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "agentdojo", None)
    with pytest.raises(ModuleNotFoundError, match="install the extra `bench`"):
        agentdojo.Dojo("banking", policy.load(str(POLICIES / "banking")).toolbox)
