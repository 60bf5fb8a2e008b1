"""Tests of guards as files that a person reads and runs: one file a tool, one test an example, its sentence beside it.

ToolGuard (Sec. 3.2, App. 7.2) has a model write pytest files from examples, and takes them as they come; a test that
asserts nothing passes on any guard.  Here the files are written by a template from examples that are data: those that
a model wrote from the sentences (`scenes`) and those computed from the rules (`examples`).  Nothing in them was written
by a model but texts and values, each as a Python literal.

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

import jinja2

from wb.domain import tools
from wb.domain.events import Label
from wb.domain.tools import Toolbox
from wb.domain.trace import Open, Quoted
from wb.guards import contract, evidence, examples, sandbox, scenes
from wb.guards.contract import Contract
from wb.guards.examples import Example
from wb.guards.runtime import CallGuard
from wb.guards.sandbox import Argument
from wb.guards.scenes import Scene, Tried
from wb.guards.synthesis import Draft, guarded
from wb.rules import rulefile
from wb.rules.rule import RuleSet

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
TEMPLATE = """{{ head | literal }}
{% for test in tests %}


def test_{{ "%03d" | format(loop.index) }}_{{ test.name }}(tested):
    {{ (test.sentences | join(" / ") ~ " (by " ~ test.author ~ ")") | literal }}
    assert tested.{{ test.method }}({{ test.tool | literal }}, {{ test.values | value }}) == "{{ test.wanted }}"
{% endfor %}
"""


class Test(NamedTuple):
    """A test of a tool's guard: the sentences that it rests on, the author of its example (a model, or the rules from
    which it was computed), its name, the method of `Tested` that it asks, with values, and the decision wanted."""

    tool: str
    sentences: tuple[str, ...]
    author: Literal["a model", "the rules"]
    name: str
    method: Literal["decide", "answer"]
    values: Mapping[str, Any]
    wanted: Label


def of_scene(scene: Scene) -> Test:
    """The test of an example that a model wrote."""
    kind = "compliance" if scene.expect == "allow" else "violation"
    return Test(scene.tool, (scene.sentence,), "a model", f"{kind}_{scene.id}", "decide", scene.given, scene.expect)


def tests(required: Iterable[Contract], judged: Iterable[Tried], ruleset: RuleSet) -> tuple[Test, ...]:
    """All tests, tool by tool: of the sentences by a model, and of the rules.

    Of the scenes those are tests that the rules decide; one that they decide otherwise fails until a person says which
    of the two is right.
    """
    known = [one.scene for one in judged if one.fate in ("agrees", "disagrees")]
    quotes = {rule.id: rule.quote or rule.text for rule in ruleset.rules}
    found: list[Test] = []
    for one in required:
        found += [of_scene(scene) for scene in known if scene.tool == one.tool]
        for case in examples.examples(one):
            sentences, wanted = _broken(one, case, quotes), "allow" if case.allowed else "deny"
            found.append(Test(one.tool, sentences, "the rules", case.kind, "answer", dict(case.arguments), wanted))
    return tuple(found)


def _broken(required: Contract, case: Example, quotes: Mapping[str, str]) -> tuple[str, ...]:
    """The sentences of the rules that an example breaks."""
    if case.allowed:
        return (NOTHING,)
    values = dict(case.arguments)
    broken = [i for i in required.items if not examples.program(required, i.condition).run(**values)[0]]
    return tuple(dict.fromkeys(quotes.get(item.rule) or item.text for item in broken))


# ---- files ----------------------------------------------------------------------------------------------------------


def files(
    found: Iterable[Test], ruleset: RuleSet, toolfile: str, open: Mapping[str, Sequence[Quoted]]
) -> dict[str, object]:
    """The files of the tests by name, texts and JSON values, one a tool that has any, with what they need beside the
    candidates."""
    by_tool: dict[str, list[Test]] = {}
    for test in found:
        by_tool.setdefault(test.tool, []).append(test)
    sentences = {tool: [[one.id, one.text] for one in rows] for tool, rows in open.items()}
    policy = {"rules": rulefile.to_json(ruleset), "tools": toolfile, "open": sentences}
    named = {f"test_{tools.identifier(tool)}.py": _file(rows) for tool, rows in by_tool.items()}
    return {"conftest.py": CONFTEST, POLICY: policy, **named}


def _file(tests: Sequence[Test]) -> str:
    """One test file; each text that came from outside is a literal in it.

    Raises:
        ValueError: it would hold anything but functions of one assertion each.
    """
    tool = tests[0].tool
    environment = jinja2.Environment(trim_blocks=True, undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    environment.filters |= {"literal": _literal, "value": _value}
    head = f"Tests of the guard of {tool}, written before its code: see wb.guards.testfiles for how to run them."
    text = environment.from_string(TEMPLATE).render(head=head, tests=tests)
    doc, *body = ast.parse(text).body
    functions = all(
        isinstance(one, ast.FunctionDef) and [type(part) for part in one.body] == [ast.Expr, ast.Assert] for one in body
    )
    if not isinstance(doc, ast.Expr) or not functions or len(body) != len(tests):
        raise ValueError(f"{tool}: a test file of {len(tests)} functions was required; got another one")
    return text


def _literal(text: str) -> str:
    """A text as a Python literal on one line, with nothing in it that does not show."""
    return repr(text) if text.isprintable() else ascii(text)


def _value(value: object) -> str:
    """A JSON value as a Python literal, over several lines where it is long."""
    return pprint.pformat(value, width=100, sort_dicts=False).replace("\n", "\n        ")


# ---- what they run on -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tested:
    """What test files ask: the guards of a version, or one that answers the same to every call (`constant`)."""

    guard: CallGuard
    constant: str = ""

    @classmethod
    def load(cls, folder: Path, which: str = "version") -> Tested:
        """The guards that the files in a folder are about.

        Raises:
            OSError, ValueError: a file that they need is not there, or is not what it was.
        """
        policy = json.loads((folder / POLICY).read_text(encoding="utf-8"))
        toolbox, ruleset = tools.parse(policy["tools"]), rulefile.from_json(policy["rules"])
        if which != "version":
            return cls(scenes.constant(toolbox, which == "allow"), which)
        rows = json.loads((folder.parent / CANDIDATES).read_text(encoding="utf-8"))
        open = {tool: tuple(Open(*one) for one in rows) for tool, rows in policy["open"].items()}
        guards = evidence.from_rows(rows, contract.contracts(toolbox, ruleset), ruleset, open)
        return cls(CallGuard("version", ruleset, guards, ACCEPTED, toolbox))

    def answer(self, tool: str, values: Mapping[str, Argument]) -> str:
        """The answer of the tool's function: allow, deny, or why it cannot be asked."""
        if self.constant:
            return self.constant
        program = self.guard.programs.get(tool)
        if program is None:
            return f"no guard of {tool} was accepted"
        answered = sandbox.tried(program, dict(values))
        return answered if isinstance(answered, str) else "allow" if answered[0] else "deny"

    def decide(self, tool: str, given: Mapping[str, Any]) -> str:
        """The guards' decision on the call of a scene; open sentences are left out, as the rules know none."""
        verdict = scenes.decided(self.guard, Scene(tool, "", "", "deny", given))
        return f"{verdict.decision}: {verdict.reason}" if verdict.grade == "error" else verdict.decision


def wrong(tested: Tested, found: Iterable[Test]) -> tuple[Test, ...]:
    """The tests that a guard fails."""
    return tuple(one for one in found if getattr(tested, one.method)(one.tool, one.values) != one.wanted)


def held(drafts: Sequence[Draft], found: Sequence[Test], ruleset: RuleSet, toolbox: Toolbox) -> tuple[Draft, ...]:
    """The drafts; an accepted one that fails a test all the same has that as a finding, for a person to decide.

    What the rules say otherwise than an example is known before any code is (`scenes.settled`) and not said again.
    """
    entries = [guarded(draft) for draft in drafts]
    candidates = Tested(CallGuard("candidates", ruleset, tuple(entries), ACCEPTED, toolbox))
    accepted = {entry.contract.tool for entry in entries if entry.grade in ACCEPTED}
    failed: dict[str, list[str]] = {}
    for test in wrong(candidates, [one for one in found if one.tool in accepted]):
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
    guards = {answer: Tested(scenes.constant(toolbox, answer == "allow"), answer) for answer in ("allow", "deny")}
    failed = {answer: set(map(id, wrong(tested, found))) for answer, tested in guards.items()}
    other = {"allow": "deny", "deny": "allow"}
    return tuple(one for one in found if id(one) not in failed[one.wanted] and id(one) in failed[other[one.wanted]])
