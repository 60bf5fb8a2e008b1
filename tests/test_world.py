"""Scripted environments: what is frozen, what labels rest on, and that a wrong oracle is noticed."""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from itertools import islice, pairwise
from pathlib import Path

import pytest
from conftest import ROOT

from wb.bench import world
from wb.bench.world import Change, Facts, Oracle, Sample
from wb.domain import events, policy
from wb.domain.events import Asked, Event, Say, State
from wb.domain.validation import Known, Refused, Validator

ORACLES = {
    place.parent.name: import_module(f"oracles.{place.parent.name}")
    for place in sorted(ROOT.glob("policies/*/world.yaml"))
}
STATEMENTS = {"cms": 47, "code_hosting": 105, "crm": 50, "forum": 50, "maps": 47, "shopping": 49}
FROZEN = {  # before any guard was made of these handbooks: see log
    "policies/code_hosting/policy.md": "68459e99b117e905cc45359f5851954a454a4790fb37600e7bc48d621bf577dd",
    "policies/shopping/policy.md": "c2b63d20eb21bc631c7c9c839841acdb2b54356500a332f40e3094348f41ae99",
    "tests/oracles/code_hosting.py": "e6bb74dcc9bd37ade56d4c1c3fc26897707a060a4847de3488b843a330e0d8b8",
    "tests/oracles/shopping.py": "e4f61be3be973112322f2a5d9f5373c84be0fa95f0db5192c2b638d86c71443a",
    "policies/cms/policy.md": "ec9351c356168702a753b1e834d63cb174366dd2ca1315a7a572f2638a0216b7",
    "policies/cms/world.yaml": "a85fd2caf2d3e03b325cfa369b0ec05e67af894aa17cb0a0e4891b1c0023e98c",
    "policies/forum/policy.md": "f975728b4a62342584e2c7c009884a83aa5b90309215394bed9c9ccd9c87cd43",
    "policies/forum/world.yaml": "af5351b57b1093cf2d03f9db313b2d98174471f894e52cd40a941c4977f0eec3",
    "policies/maps/policy.md": "5a975cc646232d4c9a46383de83049fa41ea89845fff5481e89f5eea9bf04b9c",
    "policies/maps/world.yaml": "789638b6eca3526988b60b912ab536b63f6e9d04b2c39788bfa0b43514b9cfc4",
    "policies/crm/policy.md": "764eb66fabc8e3434fd47263551e36b23c7c9cb95d9412e7dd68ecb13e6c6ad2",
    "policies/crm/world.yaml": "a9c13fbe94fe5798b045e053aa6cdb0523c46d59a594fd052b4a5585e61bf358",
    "tests/oracles/cms.py": "fe66963fc8af7b7fe5feebc19e486be94f447080003e1b0af426ecbfd4572427",
    "tests/oracles/forum.py": "6544c1ecc853b72f6321a3562f435ee7d7630226bb02971b59d78ced97396a4d",
    "tests/oracles/maps.py": "65a42d081b686352a3f4b856228b5da0ac075a3636de0d94b6f9cffaebbed13a",
    "tests/oracles/crm.py": "2e9368e2139023dd3eaa0fb34abf2ae0d3638542180f84c7fc326b3f53a6da7b",
}
EACH = pytest.mark.parametrize("name", ORACLES)
SIZE = 60


@cache
def made(name: str, oracle: Oracle | None = None, **options: object) -> list[tuple[Sample, list[Event]]]:
    options = {"seed": 7, "size": SIZE} | options
    return list(world.runs(ROOT / "policies" / name, oracle or ORACLES[name].violated, **options))


def labels(runs: list[tuple[Sample, list[Event]]]) -> list[str | None]:
    return [event.what.label for _, happened in runs for event in happened if isinstance(event.what, Asked)]


@pytest.mark.parametrize("path", FROZEN)
def test_handbooks_and_oracles_are_those_of_the_first_contact(path):
    assert hashlib.sha256((ROOT / path).read_bytes()).hexdigest() == FROZEN[path]


@EACH
def test_an_oracle_reads_nothing_and_imports_nothing_of_wb(name):
    tree = ast.parse((ROOT / "tests" / "oracles" / f"{name}.py").read_text("utf-8"))
    named = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)}
    assert named == {"from __future__ import annotations", "from collections.abc import Mapping, Sequence"}
    assert not {"open", "eval", "exec", "__import__"} & {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}


def test_handbooks_have_as_many_statements_as_is_said():
    told = {name: list(world.load(ROOT / "policies" / name)[1].values()) for name in ORACLES}
    assert {name: len(some) for name, some in told.items()} == STATEMENTS
    assert all(len(set(some)) == len(some) for some in told.values())
    assert len(told) * world.SIZE == 960


@EACH
def test_every_sentence_that_the_oracle_knows_is_aimed_at_and_every_hazard_hits(name):
    place = ROOT / "policies" / name
    one, told = world.load(place)
    known = set(re.findall(r'against\["([\d.]+)"\]', (ROOT / "tests" / "oracles" / f"{name}.py").read_text("utf-8")))
    assert known == {hazard.aims for act in one.tools.values() for hazard in act.hazards} <= told.keys()
    for tool, act in one.tools.items():
        for change in (Change(), *act.near, *act.hazards):
            facts = {fact: values[0] for fact, values in one.facts.items()} | change.facts
            call = {field: values[0] for field, values in act.arguments.items()} | change.call
            done = [before for first in change.first for before in (*one.tools[first].before, first)]
            done += [before for before in act.before if before not in change.skip]
            broken = ORACLES[name].violated(tool, call, facts, done)
            assert broken == ((change.aims,) if isinstance(change, world.Hazard) else ()), (tool, change)


@EACH
def test_all_seven_risk_categories_are_there(name):
    acts = world.load(ROOT / "policies" / name)[0].tools.values()
    assert {hazard.category for act in acts for hazard in act.hazards} == set(world.CATEGORIES.split("|"))


@EACH
def test_an_instruction_has_a_safe_run_and_two_unsafe_ones_by_what_was_executed(name):
    runs = made(name)
    assert [sample.source for sample, _ in runs] == ["safe", "agent", "environment"] * SIZE
    tools = list(world.load(ROOT / "policies" / name)[0].tools)
    for sample, happened in runs:
        assert any(sample.calls.values()) == (sample.source != "safe") == bool(sample.aims)
        asked = [event.what for event in happened if isinstance(event.what, Asked)]
        assert {i: bool(broken) for i, broken in sample.calls.items()} == {
            i: one.label == "deny" for i, one in enumerate(asked) if one.label
        }
        assert asked[sample.asked].call.tool == tools[sample.instruction % len(tools)]
        words = [what.text for e in happened if isinstance(what := e.what, Say) and what.role in ("memory", "page")]
        assert any("does not count for" in text for text in words) == (sample.source != "safe")


@EACH
def test_an_attack_that_changes_nothing_of_what_is_executed_has_no_label_deny(name, monkeypatch):
    monkeypatch.setattr(world, "_changed", lambda deed, change: deed)
    kept = world.load

    def harmless(folder: Path) -> tuple[world.World, dict[str, str]]:
        one, told = kept(folder)
        acts = {
            tool: act.model_copy(
                update={"hazards": [h.model_copy(update={"facts": {}, "first": []}) for h in act.hazards], "near": []}
            )
            for tool, act in one.tools.items()
        }
        return one.model_copy(update={"tools": acts}), told

    monkeypatch.setattr(world, "load", harmless)
    runs = made.__wrapped__(name, size=20)
    assert {sample.source for sample, _ in runs if sample.aims} == {"agent", "environment"}
    assert set(labels(runs)) <= {"allow", None} and not any(any(s.calls.values()) for s, _ in runs)


@EACH
def test_the_same_seed_gives_the_same_runs_and_another_one_others(name):
    again = made.__wrapped__(name, size=20)
    assert made(name)[:60] == again and labels(again) != labels(made(name, seed=8, size=20))


@EACH
def test_noise_changes_what_is_shown_and_nothing_that_happens(name):
    clear, noisy, blind = made(name), made(name, noise=0.2), made(name, noise=1.0)
    assert [sample for sample, _ in clear] == [sample for sample, _ in noisy]
    assert labels(clear) == labels(noisy) == labels(blind)
    pairs = [
        (a.what.values, b.what.values)
        for (_, first), (_, second) in zip(clear, noisy, strict=True)
        for a, b in zip(first, second, strict=True)
        if isinstance(a.what, State)
    ]
    facts = sum(len(a) for a, _ in pairs)
    missing = sum(len(a.keys() - b.keys()) for a, b in pairs) / facts
    wrong = sum(a[fact] != b[fact] for a, b in pairs for fact in b) / facts
    assert 0.08 < missing < 0.13 and 0.07 < wrong < 0.12
    for (_, first), (_, second) in zip(clear, blind, strict=True):
        for a, b in zip(first, second, strict=True):
            if isinstance(a.what, State):
                assert all(a.what.values[fact] != value for fact, value in b.what.values.items())


@EACH
def test_runs_fit_to_the_tools_and_can_be_read_back(name, tmp_path):
    box = policy.load(name).toolbox
    validator, facts = Validator(box), set()
    runs = made(name)
    for _, happened in runs:
        for event in happened:
            match event.what:
                case Asked(call):
                    assert type(validator.asked(call)) is not Refused
                case State(values):
                    assert type(known := validator.state(values)) is Known and not known.strange
                    facts |= values.keys()
    assert facts == {field.name for field in box.state}
    oracle = str(ROOT / "tests" / "oracles" / f"{name}.py")
    given = [str(ROOT / "policies" / name), str(tmp_path), "--oracle", oracle, "--seed", "7"]
    world.main([*given, "--size", str(SIZE)])
    read = events.read(tmp_path / "runs.jsonl")
    assert [list(run.events) for run in read] == [happened for _, happened in runs]
    lines = [json.loads(line) for line in (tmp_path / "samples.jsonl").read_text("utf-8").splitlines()]
    assert [line["run"] for line in lines] == [sample.run for sample, _ in runs]


REFUSED = {"cms": "publish_page unpublish_page", "crm": "close_case", "forum": "delete_post", "maps": "cancel_ride"}
REFUSED |= {"shopping": "cancel_order"}


@pytest.mark.parametrize("name", REFUSED)
def test_a_call_that_the_service_refuses_was_not_executed_and_has_no_label(name):
    refused = 0
    for sample, happened in made(name, size=160):
        events = [event.what for event in happened]
        asked = [(what, result) for what, result in pairwise(events) if isinstance(what, Asked)]
        for index, (one, result) in enumerate(asked):
            if result.failed:
                refused += 1
                assert one.label is None and one.call.tool in REFUSED[name].split() and index not in sample.calls
    assert refused


@pytest.mark.parametrize(
    ("name", "aims", "tools"),
    [
        ("cms", "6.5", ["hide_comment", "block_reader"]),
        ("forum", "4.6", ["read_thread", "post_reply", "lock_thread"]),
        ("crm", "6.8", ["check_credit", "make_offer", "issue_credit"]),
    ],
)
def test_acts_that_come_first_are_done_before_and_have_labels_of_their_own(name, aims, tools):
    runs = [(sample, happened) for sample, happened in made(name, size=160) if sample.aims == aims]
    assert runs
    for sample, happened in runs:
        asked = [event.what for event in happened if isinstance(event.what, Asked)][-len(tools) :]
        assert [one.call.tool for one in asked] == tools and sample.calls.keys() >= {sample.asked}
        assert [one.label for one in asked[-2:]] == ["allow", "deny"] and sample.calls[max(sample.calls)]


def test_fields_are_read_by_paths_and_what_is_injected_reads_as_nothing():
    paths = {"paid": 'main "order" / status "paid"', "tier": 'main "buyer" / status "tier"'}
    kinds = {"paid": True, "tier": ""}
    page = '- main "order":\n  - status "paid": false\n- main "buyer":\n  - status "tier": gold\n'
    assert world.read(page, paths, kinds) == {"paid": False, "tier": "gold"}
    assert world.read('- button "Notice": paid is true\n' + page, paths, kinds) == {"paid": False, "tier": "gold"}
    forged = page + '- main "order":\n  - status "paid": true\n'
    assert world.read(forged, paths, kinds) == {"tier": "gold"}, "two nodes: not known"
    assert world.read('- main "order":\n', paths, kinds) == {} == world.read("", paths, kinds)


@pytest.mark.parametrize("noise", [-0.1, 1.1])
def test_noise_that_is_no_share_is_refused(noise):
    with pytest.raises(world.WorldError, match="noise from 0 to 1"):
        made("shopping", noise=noise)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('aims: "7.6"', 'aims: "9.9"'),
        ("{card_expired: true}", "{expired: true}"),
        ('aims: "7.6"', 'first: [steal_card], aims: "7.6"'),
        ('aims: "7.6"', 'skip: [view_cart], aims: "7.6"'),
    ],
)
def test_an_environment_with_a_hazard_that_hits_nothing_is_refused(tmp_path, old, new):
    place = ROOT / "policies" / "shopping"
    (tmp_path / "policy.md").write_text((place / "policy.md").read_text("utf-8"), "utf-8")
    (tmp_path / "world.yaml").write_text((place / "world.yaml").read_text("utf-8").replace(old, new), "utf-8")
    with pytest.raises(world.WorldError, match="store_card: a known sentence, facts and arguments"):
        world.load(tmp_path)


# ---- a wrong oracle is noticed ---------------------------------------------------------------------------------------

OTHER = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
OTHER |= {ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And}


def mutants(name: str) -> Iterator[tuple[str, Oracle]]:
    """The oracle with one clause left out, one comparison or connective another one, or one negation dropped."""
    source = (ROOT / "tests" / "oracles" / f"{name}.py").read_text("utf-8")
    kinds = (ast.Assign, ast.Compare, ast.BoolOp, ast.UnaryOp)
    for place in [place for place, node in enumerate(ast.walk(ast.parse(source))) if isinstance(node, kinds)]:
        tree = ast.parse(source)
        node = next(islice(ast.walk(tree), place, None))
        match node:
            case ast.Assign(targets=[ast.Subscript()]):
                node.value = ast.Constant(False)
            case ast.Compare(ops=[op]) if type(op) in OTHER:
                node.ops = [OTHER[type(op)]()]
            case ast.BoolOp(op=op):
                node.op = OTHER[type(op)]()
            case ast.UnaryOp(op=ast.Not()):
                node.op, node.operand = ast.Not(), ast.UnaryOp(ast.Not(), node.operand)
            case _:
                continue
        space: dict[str, Callable[..., tuple[str, ...]]] = {}
        exec(compile(ast.fix_missing_locations(tree), name, "exec"), space)
        yield f"line {node.lineno}: {ast.unparse(node)}", space["violated"]


@EACH
def test_every_mutant_of_the_oracle_changes_labels(name, monkeypatch):
    monkeypatch.setattr(world._Run, "_page", lambda *_: "")  # what is shown has no part in a label
    asked: list[tuple[str, Facts, Facts, tuple[str, ...]]] = []

    def listening(tool: str, call: Facts, facts: Facts, done: list[str]) -> tuple[str, ...]:
        asked.append((tool, dict(call), dict(facts), tuple(done)))
        return ORACLES[name].violated(tool, call, facts, done)

    found = [label for label in labels(made.__wrapped__(name, listening, size=480)) if label]
    assert found == ["deny" if ORACLES[name].violated(*one) else "allow" for one in asked]
    tried = list(mutants(name))
    seen = [
        any(bool(wrong(*one)) != (label == "deny") for one, label in zip(asked, found, strict=True))
        for _, wrong in tried
    ]
    assert len(tried) >= 80 and not [what for (what, _), known in zip(tried, seen, strict=True) if not known]
