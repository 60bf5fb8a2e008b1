"""Tests of guards as files that a person reads and runs: one file a tool, one test an example, its sentence beside it.

ToolGuard (Sec. 3.2, App. 7.2) has a model write pytest files from examples, and takes them as they come; a test that
asserts nothing passes on any guard.  Here the files are written from examples that are data: those that a model wrote
from the sentences (`scenes`), those of a sentence's own words (`boundaries`) and those computed from the rules
(`examples`).  Nothing in them was written by a model but texts and values, each as a Python literal.

    pytest tests/test_TOOL.py                 # the guard of this version
    pytest tests/test_TOOL.py --guard allow   # one that allows every call: each violation must fail
    pytest tests/test_TOOL.py --guard deny    # one that denies every call: each compliance must fail
"""

from __future__ import annotations

import ast
import json
import pprint
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from wb.domain import tools
from wb.domain.tools import Toolbox
from wb.domain.trace import Open, Quoted
from wb.guards import boundaries, contract, evidence, examples, sandbox, scenes
from wb.guards.contract import Contract
from wb.guards.examples import Example
from wb.guards.runtime import CallGuard
from wb.guards.sandbox import Argument, TooMany, UnsafeSource
from wb.guards.scenes import Scene, Tried
from wb.guards.synthesis import Draft, guarded
from wb.rules import rulefile
from wb.rules.rule import RuleSet
from wb.rules.sentences import Account

Origin = Literal["rules", "words", "model"]
ACCEPTED = frozenset({"tested", "proved"})
POLICY, CANDIDATES = "policy.json", "candidates.json"
NOTHING = "no rule is broken"
CONFTEST = '''"""What the tests of this folder run on: this version's guards, or one that answers all alike."""

from pathlib import Path

import pytest

from wb.guards import testfiles


def pytest_addoption(parser):
    parser.addoption("--guard", default="version", choices=("version", "allow", "deny"))


@pytest.fixture(scope="session")
def tested(request):
    """What answers: `tested.answer(TOOL, VALUES)` and `tested.decide(TOOL, SCENE)`, each "allow", "deny" or why not."""
    return testfiles.Tested.load(Path(__file__).parent, request.config.getoption("--guard"))
'''


class Test(NamedTuple):
    """A test of a tool's guard: what it rests on, where it comes from, and the example."""

    tool: str
    sentences: tuple[str, ...]
    origin: Origin
    example: Example | Scene

    @property
    def allowed(self) -> bool:
        """Whether the call is to be allowed."""
        return self.example.expect == "allow" if isinstance(self.example, Scene) else self.example.allowed


def tests(
    required: Iterable[Contract],
    judged: Iterable[Tried],
    readings: Sequence[Account],
    ruleset: RuleSet,
    toolbox: Toolbox,
) -> tuple[Test, ...]:
    """All tests, tool by tool: of the sentences by a model, of their own words, and of the rules.

    Of the scenes those are tests that the rules decide; one that they decide otherwise fails until a person says which
    of the two is right.
    """
    scenes_of: dict[str, list[Scene]] = {}
    for scene in (one.scene for one in judged if one.fate in ("agrees", "disagrees")):
        scenes_of.setdefault(scene.tool, []).append(scene)
    quotes = {rule.id: rule.quote or rule.text for rule in ruleset.rules}
    found: list[Test] = []
    for one in required:
        found += [Test(one.tool, (scene.sentence,), "model", scene) for scene in scenes_of.get(one.tool, ())]
        found += _of_words(one, readings, ruleset, toolbox)
        found += [Test(one.tool, _broken(one, case, quotes), "rules", case) for case in examples.examples(one)]
    return tuple(found)


def computed(required: Iterable[Contract]) -> dict[str, tuple[Example, ...]]:
    """The examples of each tool's contract."""
    return {one.tool: examples.examples(one) for one in required}


def noticed(source: str, cases: Sequence[Example]) -> bool:
    """Whether an example is one that a guard's source gets wrong.

    Raises:
        UnsafeSource: it is none.
    """
    return bool(examples.failures(sandbox.load(source), cases))


def _broken(required: Contract, case: Example, quotes: Mapping[str, str]) -> tuple[str, ...]:
    """The sentences of the rules that an example breaks."""
    if case.allowed:
        return (NOTHING,)
    values = dict(case.arguments)
    broken = [i for i in required.items if not examples.program(required, i.condition).run(**values)[0]]
    return tuple(dict.fromkeys(quotes.get(item.rule) or item.text for item in broken))


def _of_words(required: Contract, readings: Sequence[Account], ruleset: RuleSet, toolbox: Toolbox) -> list[Test]:
    """What the limits and values that sentences name ask of the whole guard, all else being as it complies."""
    found = []
    for reading in readings:
        told = boundaries.apart(reading, required.tool, ruleset, toolbox) if required.tool in reading.tools else None
        if told is None or told[1] not in required.parameters:
            continue
        try:
            shown = boundaries.illustrated(*told)
            calm = None if shown is None else _calm(required, told[1].name, shown)
        except (TooMany, UnsafeSource):
            continue
        if calm is None or shown is None:
            continue
        sides = ((shown.compliance, True), (shown.violations, False))
        for rows, allowed in sides:
            kind = "compliance" if allowed else "violation"
            for row in rows:
                values = {**calm, told[1].name: dict(row)[told[1].name]}
                case = Example(kind, "", tuple(values.items()), allowed)
                said = " ".join(reading.text.split())
                found.append(Test(required.tool, (said,), "words", case))
    return found


def _calm(required: Contract, name: str, shown: boundaries.Illustrated) -> dict[str, Argument] | None:
    """Values of all inputs at which the whole guard allows what complies, those of the sentence's own as they are."""
    given = dict(shown.compliance[0])
    known = {one: value for one, value in given.items() if one in {p.name for p in required.parameters}}
    program = examples.program(required, required.allows)
    unknown = {one: values for one, values in program.points.items() if one not in known}
    for chosen, (allowed, _) in sandbox.completions(program.run, known, unknown):
        if allowed:
            return {**{one: values[0] for one, values in unknown.items()}, **chosen, **known}
    return None


# ---- files ----------------------------------------------------------------------------------------


def files(
    found: Iterable[Test], ruleset: RuleSet, toolfile: str, open: Mapping[str, Sequence[Quoted]]
) -> dict[str, object]:
    """The files of the tests by name, texts and JSON values, one a tool that has any, with what they need beside the
    candidates."""
    by_tool: dict[str, list[Test]] = {}
    for test in found:
        by_tool.setdefault(test.tool, []).append(test)
    told = {tool: [[one.id, one.text] for one in rows] for tool, rows in open.items()}
    policy = {"rules": rulefile.to_json(ruleset), "tools": toolfile, "open": told}
    named = {f"test_{tools.identifier(tool)}.py": rows for tool, rows in by_tool.items()}
    return {
        "conftest.py": CONFTEST,
        POLICY: policy,
        **{name: _file(rows) for name, rows in named.items()},
    }


def _file(rows: Sequence[Test]) -> str:
    """One test file; each text that came from outside is a literal in it.

    Raises:
        ValueError: it would hold anything but functions of one assertion each.
    """
    head = (
        f"Tests of the guard of {rows[0].tool}, written before its code: see wb.guards.testfiles for how to run them."
    )
    text = "\n\n\n".join([_literal(head), *(_function(i, test) for i, test in enumerate(rows, 1))]) + "\n"
    doc, *body = ast.parse(text).body
    functions = all(
        isinstance(one, ast.FunctionDef) and [type(part) for part in one.body] == [ast.Expr, ast.Assert] for one in body
    )
    if not isinstance(doc, ast.Expr) or not functions or len(body) != len(rows):
        raise ValueError(f"{rows[0].tool}: a test file of {len(rows)} functions was required; got another one")
    return text


def _function(number: int, test: Test) -> str:
    example, wanted = test.example, "allow" if test.allowed else "deny"
    kind = ("compliance" if test.allowed else "violation") if isinstance(example, Scene) else example.kind
    ways: dict[Origin, str] = {"rules": "by the rules", "words": "by its own words", "model": "by a model"}
    said = f"{' / '.join(test.sentences)} ({ways[test.origin]})"
    if isinstance(example, Scene):
        name, call = f"_{example.id}", f"tested.decide({_literal(test.tool)}, {_value(scenes.row(example)['given'])})"
    else:
        name, call = "", f"tested.answer({_literal(test.tool)}, {_value(dict(example.arguments))})"
    return f"def test_{number:03}_{kind}{name}(tested):\n    {_literal(said)}\n    assert {call} == {wanted!r}"


def _literal(text: str) -> str:
    """A text as a Python literal on one line, with nothing in it that does not show."""
    return ascii(text) if not text.isprintable() else repr(text)


def _value(value: object) -> str:
    """A JSON value as a Python literal, over several lines where it is long."""
    said = pprint.pformat(_listed(value), width=100, sort_dicts=False)
    return said if "\n" not in said else said.replace("\n", "\n        ")


def _listed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _listed(one) for name, one in value.items()}
    return [_listed(one) for one in value] if isinstance(value, tuple | list) else value


# ---- what they run on -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tested:
    """What test files ask: the guards of a version, or one that answers the same to every call (`constant`)."""

    guard: CallGuard
    constant: str = ""

    @classmethod
    def load(cls, folder: Path, which: str = "version") -> Tested:
        """What the files in a folder are about.

        Raises:
            OSError, ValueError: a file that they need is not there, or is not what it was.
        """
        told = json.loads((folder / POLICY).read_text(encoding="utf-8"))
        toolbox, ruleset = tools.parse(told["tools"]), rulefile.from_json(told["rules"])
        if which != "version":
            return cls(scenes.constant(toolbox, which == "allow"), which)
        rows = json.loads((folder.parent / CANDIDATES).read_text(encoding="utf-8"))
        open = {tool: tuple(Open(*one) for one in rows) for tool, rows in told["open"].items()}
        guards = evidence.from_rows(rows, contract.contracts(toolbox, ruleset), ruleset, open)
        return cls(CallGuard("version", ruleset, guards, ACCEPTED, toolbox))

    def answer(self, tool: str, values: Mapping[str, Argument]) -> str:
        """What the tool's function answers: allow, deny, or why it cannot be asked."""
        if self.constant:
            return self.constant
        program = self.guard.programs.get(tool)
        if program is None:
            return f"no guard of {tool} was accepted"
        said = sandbox.tried(program, dict(values))
        return said if isinstance(said, str) else "allow" if said[0] else "deny"

    def decide(self, tool: str, given: Mapping[str, Any]) -> str:
        """What the guards decide about the call of a scene; open sentences are left out, as the rules know none."""
        scene = scenes.from_row({"tool": tool, "item": "", "sentence": "", "expect": "deny", "given": given})
        verdict = scenes.decided(self.guard, scene)
        return f"{verdict.decision}: {verdict.reason}" if verdict.grade == "error" else verdict.decision


def wrong(tested: Tested, found: Iterable[Test]) -> tuple[Test, ...]:
    """The tests that a guard fails."""
    return tuple(one for one in found if not _passes(tested, one))


def _passes(tested: Tested, test: Test) -> bool:
    wanted, example = "allow" if test.allowed else "deny", test.example
    if isinstance(example, Scene):
        return tested.decide(test.tool, scenes.row(example)["given"]) == wanted
    return tested.answer(test.tool, dict(example.arguments)) == wanted


def held(drafts: Sequence[Draft], found: Sequence[Test], ruleset: RuleSet, toolbox: Toolbox) -> tuple[Draft, ...]:
    """The drafts; against those that were accepted and fail a test all the same, that is found, for a person to decide.

    What the rules say otherwise than an example is known before any code is (`scenes.settled`) and not said again.
    """
    entries = [guarded(draft) for draft in drafts]
    able = Tested(CallGuard("candidates", ruleset, tuple(entries), ACCEPTED, toolbox))
    accepted = {entry.contract.tool for entry in entries if entry.grade in ACCEPTED}
    failed: dict[str, list[str]] = {}
    for test in wrong(able, [one for one in found if one.tool in accepted]):
        failed.setdefault(test.tool, []).append(f"its code fails a test of “{test.sentences[0]}”")
    return tuple(
        replace(draft, findings=tuple(dict.fromkeys(failed[draft.contract.tool])))
        if draft.contract.tool in failed and not draft.findings
        else draft
        for draft in drafts
    )


def telling(found: Sequence[Test], toolbox: Toolbox) -> tuple[Test, ...]:
    """The tests that tell two guards apart which answer the same to every call: each violation fails on the one that
    allows and passes on the one that denies, each compliance the other way round."""
    free = Tested(scenes.constant(toolbox, True), "allow")
    shut = replace(free, guard=scenes.constant(toolbox, False), constant="deny")
    failed = {True: {id(one) for one in wrong(free, found)}, False: {id(one) for one in wrong(shut, found)}}
    return tuple(one for one in found if id(one) not in failed[one.allowed] and id(one) in failed[not one.allowed])
